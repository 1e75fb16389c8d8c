//! The settings of single adapters: the tables `[adapters.<id>]`.

use std::collections::BTreeMap;
use std::fmt;

use adjutant_core::words::effort::Effort;
use adjutant_core::words::price;
use adjutant_core::words::price::Prices;

use serde_json::Value;
use toml::de::DeValue;

use super::keys::ConfigKey;
use super::{ConfigError, ConfigOwner, Setting};

/// The keys of an adapter.
pub const ADAPTER_KEYS: &[&str] = &[
    "model", "base_url", "window", "output_tokens_max", "effort", "thinking_tokens", "tier", "idle_seconds",
    "price_input", "price_cache_read", "price_cache_write", "price_output", "headers", "body", "token_command",
    "prompt_cache_key", "cache",
];

/// The longest silence that can be set, in seconds: a day, after which nobody waits for a turn.
pub const IDLE_SECONDS_MAX: u64 = 24 * 60 * 60;

/// The settings of one adapter. All are optional.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AdapterConfig {
    /// The model, where nothing else names one.
    pub model: Option<Setting<String>>,
    /// Address of its API. Taken from the operator's own configuration only, never from a project's: it decides where a
    /// key goes.
    pub base_url: Option<Setting<String>>,
    /// Number of tokens that its model takes in, from 1.
    pub window: Option<Setting<u64>>,
    /// The most tokens of one reply, from 1.
    pub output_tokens_max: Option<Setting<u32>>,
    /// Reasoning effort of its model.
    pub effort: Option<Setting<Effort>>,
    /// The most tokens that its model may think for in one reply, from 1.
    pub thinking_tokens: Option<Setting<u32>>,
    /// Billing of its turns: free or paid.
    pub tier: Option<Setting<Tier>>,
    /// The longest silence before a turn counts as broken, in seconds, from 1 to [`IDLE_SECONDS_MAX`].
    pub idle_seconds: Option<Setting<u64>>,
    /// Price of an input token, in nano-dollars.
    pub price_input: Option<Setting<u64>>,
    /// The same for one read from a cache.
    pub price_cache_read: Option<Setting<u64>>,
    /// The same for one written to a cache.
    pub price_cache_write: Option<Setting<u64>>,
    /// The same for one of a reply.
    pub price_output: Option<Setting<u64>>,
    /// Headers of every request, by their names in lower case. This and the rest are the operator's own word only.
    pub headers: BTreeMap<String, Setting<Added>>,
    /// Fields of the body of every request for a turn.
    pub body: BTreeMap<String, Setting<Added>>,
    /// A command that prints a bearer token, with its arguments; never empty.
    pub token_command: Option<Setting<Vec<String>>>,
    /// True if `prompt_cache_key` is sent.
    pub prompt_cache_key: Option<Setting<bool>>,
    /// Time for which a provider's cache keeps what is marked for it.
    pub cache: Option<Setting<CacheTime>>,
}

/// A value that is added to requests. There may be secrets in it by the names of their variables, never themselves.
#[derive(Debug, Clone, PartialEq)]
pub enum Added {
    /// As it is written.
    Plain(Value),
    /// The value of an environment variable, by the variable's name.
    Variable(String),
    /// Values by their names.
    Table(BTreeMap<String, Added>),
    /// Values in a row.
    List(Vec<Added>),
}

/// Time for which a provider's cache keeps what is marked for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CacheTime {
    /// Five minutes.
    FiveMinutes,
    /// An hour.
    Hour,
}

impl CacheTime {
    /// Its word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::FiveMinutes => "5m",
            Self::Hour => "1h",
        }
    }
}

/// Billing of an adapter's turns: free or paid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tier {
    /// They don't.
    Free,
    /// They do.
    Paid,
}

impl Tier {
    /// Its name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Free => "free",
            Self::Paid => "paid",
        }
    }
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl AdapterConfig {
    /// The prices that are set.
    #[must_use]
    pub fn prices(&self) -> Prices {
        let value = |setting: &Option<Setting<u64>>| setting.as_ref().map(|setting| setting.value);
        Prices {
            input: value(&self.price_input),
            cache_read: value(&self.price_cache_read),
            cache_write: value(&self.price_cache_write),
            output: value(&self.price_output),
        }
    }

    /// This, with what it lacks taken from `other`.
    pub(super) fn or(self, other: Self) -> Self {
        Self {
            model: self.model.or(other.model),
            base_url: self.base_url.or(other.base_url),
            window: self.window.or(other.window),
            output_tokens_max: self.output_tokens_max.or(other.output_tokens_max),
            effort: self.effort.or(other.effort),
            thinking_tokens: self.thinking_tokens.or(other.thinking_tokens),
            tier: self.tier.or(other.tier),
            idle_seconds: self.idle_seconds.or(other.idle_seconds),
            price_input: self.price_input.or(other.price_input),
            price_cache_read: self.price_cache_read.or(other.price_cache_read),
            price_cache_write: self.price_cache_write.or(other.price_cache_write),
            price_output: self.price_output.or(other.price_output),
            // A project has none of these, so one of both is empty.
            headers: if self.headers.is_empty() { other.headers } else { self.headers },
            body: if self.body.is_empty() { other.body } else { self.body },
            token_command: self.token_command.or(other.token_command),
            prompt_cache_key: self.prompt_cache_key.or(other.prompt_cache_key),
            cache: self.cache.or(other.cache),
        }
    }
}

/// The tables of all adapters, from the key `adapters`.
pub(super) fn read(adapters: &ConfigKey<'_, '_>) -> Result<BTreeMap<String, Setting<AdapterConfig>>, ConfigError> {
    let table = adapters.value.get_ref().as_table();
    let table = table.ok_or_else(|| adapters.bad("a table for each adapter, such as `[adapters.anthropic]`"))?;
    let mut found = BTreeMap::new();
    for (id, value) in table {
        let name = format!("adapters.{}", id.get_ref());
        let value = adapter(&ConfigKey { file: adapters.file, name: &name, value })?;
        found.insert(id.get_ref().to_string(), Setting { value, from: adapters.file.origin(&id.span()) });
    }
    Ok(found)
}

fn adapter(adapter: &ConfigKey<'_, '_>) -> Result<AdapterConfig, ConfigError> {
    let table = adapter.value.get_ref().as_table().ok_or_else(|| adapter.bad("a table"))?;
    let file = adapter.file;
    let mut config = AdapterConfig::default();
    for (name, value) in table {
        let full = format!("{}.{}", adapter.name, name.get_ref());
        let key = ConfigKey { file, name: &full, value };
        let price = || {
            key.decimal(
                price::price,
                "dollars for a million tokens, from 0 to 1000000 with at most three decimals, such as `0.25`",
            )
        };
        match name.get_ref().as_ref() {
            "model" => config.model = Some(key.text("the name of a model")?),
            "base_url" if file.whose == ConfigOwner::Projects => {
                return Err(ConfigError::NotOfAProject {
                    at: file.origin(&name.span()),
                    key: full,
                    what: "which host a key goes to",
                });
            }
            "base_url" => config.base_url = Some(key.text("the address of an API")?),
            "headers" | "body" | "token_command" | "prompt_cache_key" | "cache"
                if file.whose == ConfigOwner::Projects =>
            {
                return Err(ConfigError::NotOfAProject {
                    at: file.origin(&name.span()),
                    key: full,
                    what: "what is sent to a provider in your name",
                });
            }
            "headers" => config.headers = headers(&key)?,
            "body" => config.body = fields(&key)?,
            "token_command" => {
                let expected = "a list: the program, then its arguments";
                let command = key.texts(expected)?;
                if command.value.is_empty() {
                    return Err(key.bad(expected));
                }
                config.token_command = Some(command);
            }
            "prompt_cache_key" => config.prompt_cache_key = Some(key.switch()?),
            "cache" => config.cache = Some(cache(&key)?),
            "window" => config.window = Some(key.whole(u64::MAX, "a number of tokens from 1 on")?),
            "output_tokens_max" => config.output_tokens_max = Some(key.tokens()?),
            "effort" => config.effort = Some(key.effort()?),
            "thinking_tokens" => config.thinking_tokens = Some(key.tokens()?),
            "tier" => config.tier = Some(tier(&key)?),
            "idle_seconds" => {
                config.idle_seconds = Some(key.whole(IDLE_SECONDS_MAX, "a number of seconds from 1 to 86400")?);
            }
            "price_input" => config.price_input = Some(price()?),
            "price_cache_read" => config.price_cache_read = Some(price()?),
            "price_cache_write" => config.price_cache_write = Some(price()?),
            "price_output" => config.price_output = Some(price()?),
            other => return Err(file.unknown(&name.span(), other, full.clone(), ADAPTER_KEYS.to_vec())),
        }
    }
    Ok(config)
}

fn cache(key: &ConfigKey<'_, '_>) -> Result<Setting<CacheTime>, ConfigError> {
    let expected = "`5m` or `1h`";
    let given = key.text(expected)?;
    let time = [CacheTime::FiveMinutes, CacheTime::Hour].into_iter().find(|time| time.as_str() == given.value);
    time.map(|value| Setting { value, from: given.from }).ok_or_else(|| key.bad(expected))
}

/// Headers that can't be set: they belong to the connection and to the length of the body.
const HEADERS_REFUSED: &[&str] = &["content-length", "transfer-encoding", "host", "connection"];

/// Fields of a body that can't be set: the journal says what was asked of whom, and the reply is read as a stream.
const FIELDS_REFUSED: &[&str] =
    &["model", "messages", "input", "contents", "system", "instructions", "systemInstruction", "tools", "stream"];

fn headers(key: &ConfigKey<'_, '_>) -> Result<BTreeMap<String, Setting<Added>>, ConfigError> {
    let table = key.value.get_ref().as_table();
    let table = table.ok_or_else(|| key.bad("a table of headers, such as `x-team = \"one\"`"))?;
    let mut headers = BTreeMap::new();
    for (name, value) in table {
        let lower = name.get_ref().to_ascii_lowercase();
        let full = format!("{}.{}", key.name, name.get_ref());
        let key = ConfigKey { file: key.file, name: &full, value };
        let is_name = lower.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
        if lower.is_empty() || !is_name || HEADERS_REFUSED.contains(&lower.as_str()) {
            return Err(key.bad("left out: no header of this name can be set"));
        }
        let value = added(&key)?;
        let is_text = match &value {
            Added::Plain(Value::String(text)) => text.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic()),
            Added::Variable(_) => true,
            Added::Plain(_) | Added::Table(_) | Added::List(_) => false,
        };
        if !is_text {
            return Err(key.bad("plain text, or `{ variable = \"NAME\" }` for a secret"));
        }
        headers.insert(lower, Setting { value, from: key.file.origin(&name.span()) });
    }
    Ok(headers)
}

fn fields(key: &ConfigKey<'_, '_>) -> Result<BTreeMap<String, Setting<Added>>, ConfigError> {
    let table = key.value.get_ref().as_table();
    let table = table.ok_or_else(|| key.bad("a table of fields, such as `temperature = 0.2`"))?;
    let mut fields = BTreeMap::new();
    for (name, value) in table {
        let full = format!("{}.{}", key.name, name.get_ref());
        let key = ConfigKey { file: key.file, name: &full, value };
        if FIELDS_REFUSED.contains(&name.get_ref().as_ref()) {
            return Err(key.bad("left out: what a model is asked is for the run to say"));
        }
        fields.insert(name.get_ref().to_string(), Setting { value: added(&key)?, from: key.file.origin(&name.span()) });
    }
    Ok(fields)
}

/// A value that is added to requests: TOML as JSON, and a table `{ variable = "NAME" }` for what a variable holds.
fn added(key: &ConfigKey<'_, '_>) -> Result<Added, ConfigError> {
    let inner = |value| added(&ConfigKey { file: key.file, name: key.name, value });
    let plain = |value: Option<Value>| value.map(Added::Plain).ok_or_else(|| key.bad("a number that JSON can hold"));
    match key.value.get_ref() {
        DeValue::String(text) => Ok(Added::Plain(Value::String(text.to_string()))),
        DeValue::Boolean(yes) => Ok(Added::Plain(Value::Bool(*yes))),
        DeValue::Integer(given) => plain(i64::from_str_radix(given.as_str(), given.radix()).ok().map(Value::from)),
        DeValue::Float(given) => {
            plain(given.as_str().parse().ok().and_then(serde_json::Number::from_f64).map(Value::Number))
        }
        DeValue::Array(items) => Ok(Added::List(items.iter().map(inner).collect::<Result<_, _>>()?)),
        DeValue::Table(table) => {
            let named = table.iter().next().filter(|(name, _)| table.len() == 1 && name.get_ref() == "variable");
            if let Some((_, variable)) = named {
                let name = variable.get_ref().as_str().filter(|name| !name.is_empty());
                return name
                    .map(|name| Added::Variable(name.to_owned()))
                    .ok_or_else(|| key.bad("`{ variable = \"NAME\" }` with the name of a variable"));
            }
            let values = table.iter().map(|(name, value)| Ok((name.get_ref().to_string(), inner(value)?)));
            Ok(Added::Table(values.collect::<Result<_, ConfigError>>()?))
        }
        DeValue::Datetime(_) => Err(key.bad("text, a number, `true`, `false`, a list or a table")),
    }
}

fn tier(key: &ConfigKey<'_, '_>) -> Result<Setting<Tier>, ConfigError> {
    let expected = "`free` or `paid`";
    let given = key.text(expected)?;
    let tier = [Tier::Free, Tier::Paid].into_iter().find(|tier| tier.as_str() == given.value);
    tier.map(|value| Setting { value, from: given.from }).ok_or_else(|| key.bad(expected))
}
