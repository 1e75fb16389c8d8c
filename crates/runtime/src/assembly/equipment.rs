//! Finds what an adapter has to work with here: its key, its model, the address of its API, and the operator's settings
//! for it.
//!
//! In: settings, the environment and the key file. Out: an [`Equipment`], which says what it lacks before anything begins.
//! Begin with [`Supplies::equip`].

use std::collections::BTreeMap;
use std::time::Duration;

use adjutant_agents::Adapter;
use adjutant_agents::api::{self, CacheLasts, Caching, Extras, Thinking};
use adjutant_agents::models::{self, Model};
use adjutant_core::words::price::Prices;
use adjutant_host::http::{Hosts, Proxies, is_local};
use adjutant_host::token_command::TokenCommand;
use adjutant_store::Home;
use adjutant_store::config::{AdapterConfig, Added, CacheTime, Setting, Tier};
use adjutant_store::keys::{self, Keys, KeysError};
use serde_json::{Map, Value};
use thiserror::Error;

use super::sourced::{Sourced, configured, first, set};
use super::surroundings::{Environment, Surroundings};

/// The key that signs what is sent to a webhook, by its name in the key file.
pub const NOTIFY_KEY: &str = "notify";

/// A base URL as it may be, for an adapter without one of its own.
const BASE_URL_EXAMPLE: &str = "http://127.0.0.1:8080/v1";

/// The keys and configurations of all adapters.
pub struct Supplies {
    /// The keys of the key file, with the secrets that configurations name.
    pub keys: Keys,
    /// The configurations of single adapters.
    pub adapters: BTreeMap<String, Setting<AdapterConfig>>,
    home: Home,
    surroundings: Surroundings,
}

/// The key of an adapter, and where it came from. There is no `Debug`, so that it can't be shown by accident.
pub struct ApiKey {
    /// The key itself.
    pub secret: String,
    /// Such as `ANTHROPIC_API_KEY` or `the key file ~/.adjutant/keys.toml`.
    pub source: String,
}

/// The equipment of one adapter. There is no `Debug`, because of the key.
pub struct Equipment {
    /// The adapter.
    pub adapter: Adapter,
    /// Its key, if there is one.
    pub key: Option<ApiKey>,
    /// Its model, if one is named.
    pub model: Option<Sourced<String>>,
    /// The address of its API.
    pub base_url: Option<Sourced<String>>,
    /// The tokens that the model takes in, if anybody said so.
    pub window: Option<Sourced<u64>>,
    /// The longest reply that is asked for.
    pub output_tokens_max: Sourced<u32>,
    /// The seconds that it may be silent.
    pub idle_seconds: Sourced<u64>,
    /// The thinking that is asked for; nothing unless it was said for the run.
    pub thinking: Thinking,
    /// The tier: whether its tokens cost something.
    pub tier: Sourced<Tier>,
    /// The prices of its tokens.
    pub prices: Prices,
    /// The day of the list that the prices are from, unless they are the operator's own.
    pub prices_listed: Option<&'static str>,
    /// The operator's additions to requests, or the variable that they lack.
    extras: Result<Extras, String>,
    key_file: String,
}

/// Something that an adapter lacks.
#[derive(Debug, Error)]
#[error("the adapter {sentence}")]
pub struct Lack {
    /// The part that is missing, for a table: `OPENAI_API_KEY is not set`.
    pub what: String,
    /// The same as a sentence that begins with the adapter's id.
    pub sentence: String,
    /// The hint for the operator.
    pub hint: String,
}

impl Supplies {
    /// Collects what there is, with the keys of the key file.
    ///
    /// # Errors
    ///
    /// If the key file can't be relied on.
    pub fn new(
        home: &Home,
        adapters: BTreeMap<String, Setting<AdapterConfig>>,
        surroundings: &Surroundings,
    ) -> Result<Self, KeysError> {
        let keys = keys::load(home)?.with(secrets(&adapters, &surroundings.environment));
        Ok(Self { keys, adapters, home: home.clone(), surroundings: surroundings.clone() })
    }

    /// Collects what there is, without the keys of a key file that can't be relied on; then also why not.
    pub fn as_far_as(
        home: &Home,
        adapters: BTreeMap<String, Setting<AdapterConfig>>,
        surroundings: &Surroundings,
    ) -> (Self, Option<KeysError>) {
        let (keys, refused) = match keys::load(home) {
            Ok(keys) => (keys, None),
            Err(refused) => (Keys::default(), Some(refused)),
        };
        (Self { keys, adapters, home: home.clone(), surroundings: surroundings.clone() }, refused)
    }

    /// Lists the keys of the key file that no adapter uses, in a sentence each.
    #[must_use]
    pub fn strangers(&self) -> Vec<String> {
        let adapters = adjutant_agents::adapters();
        let takers = adapters.iter().filter(|adapter| !adapter.key_variables.is_empty()).map(|adapter| adapter.id);
        let known: Vec<&str> = takers.chain([NOTIFY_KEY]).collect();
        self.keys.strangers(&known)
    }

    /// The key of an adapter: from the first of its variables that is set, else from the key file.
    fn key_of(&self, adapter: &Adapter) -> Option<ApiKey> {
        let from_variable = adapter.key_variables.iter().find_map(|name| {
            let secret = self.surroundings.environment.variable(name)?;
            Some(ApiKey { secret, source: (*name).to_owned() })
        });
        from_variable.or_else(|| {
            let secret = self.keys.get(adapter.id)?.to_owned();
            Some(ApiKey { secret, source: format!("the key file {}", self.key_file()) })
        })
    }

    /// The key file, as it is shown.
    fn key_file(&self) -> String {
        self.surroundings.shown(&self.home.keys()).display().to_string()
    }

    /// Equips `adapter`, with the model and the base URL that were named for it, if any were.
    pub fn equip(
        &self,
        adapter: Adapter,
        model: Option<Sourced<String>>,
        base_url: Option<Sourced<String>>,
    ) -> Equipment {
        let none = AdapterConfig::default();
        let config = self.adapters.get(adapter.id).map_or(&none, |setting| &setting.value);
        let by_default = "the default".to_owned();
        let environment = &self.surroundings.environment;
        let of_variable =
            adapter.base_url_variable.and_then(|name| Some((environment.variable(name)?, name.to_owned())));
        let tier = if adapter.is_paid { Tier::Paid } else { Tier::Free };
        let model = model.or_else(|| {
            first([configured(config.model.as_ref()), set(adapter.model.map(str::to_owned), "the default")])
        });
        let known = known_model(&adapter, model.as_ref().map(|model| model.value.as_str()));
        let (prices, prices_listed) = prices(config, known.as_ref());
        let output = output_tokens_max(known.as_ref());
        Equipment {
            key: self.key_of(&adapter),
            model,
            base_url: base_url.or_else(|| {
                first([
                    of_variable,
                    configured(config.base_url.as_ref()),
                    set(adapter.base_url.map(str::to_owned), "the default"),
                ])
            }),
            window: first([
                configured(config.window.as_ref()),
                set(known.and_then(|known| known.window), "the model's name"),
            ]),
            output_tokens_max: first([configured(config.output_tokens_max.as_ref()), set(output, "the model's name")])
                .unwrap_or(Sourced { value: api::OUTPUT_TOKENS_MAX, from: by_default.clone() }),
            idle_seconds: or_else(config.idle_seconds.as_ref(), api::IDLE_MAX.as_secs()),
            thinking: Thinking::default(),
            tier: first([configured(config.tier.as_ref())]).unwrap_or(Sourced { value: tier, from: by_default }),
            prices,
            prices_listed,
            extras: extras(config, environment),
            key_file: self.key_file(),
            adapter,
        }
    }
}

/// Returns the facts about a provider's own model, by its name. A model that others serve under that name may be
/// another.
pub(super) fn known_model(adapter: &Adapter, model: Option<&str>) -> Option<Model> {
    model.filter(|_| adapter.base_url.is_some()).and_then(models::known)
}

/// The longest reply of a model that gives less than is asked for by default.
pub(super) fn output_tokens_max(known: Option<&Model>) -> Option<u32> {
    known?.output_tokens_max.filter(|most| *most < api::OUTPUT_TOKENS_MAX)
}

/// The operator's prices, else those of the provider's list with its day. What is configured is not mixed with a
/// list: an operator whose prices differ has another list.
pub(super) fn prices(config: &AdapterConfig, known: Option<&Model>) -> (Prices, Option<&'static str>) {
    let own = config.prices();
    match known.map(|known| known.prices).filter(|listed| own.is_empty() && !listed.is_empty()) {
        Some(listed) => (listed, Some(models::AS_OF)),
        None => (own, None),
    }
}

/// Collects what a configuration adds to an adapter's requests; an error is the first variable that isn't set.
fn extras(config: &AdapterConfig, environment: &Environment) -> Result<Extras, String> {
    let mut secrets = Vec::new();
    let mut headers = BTreeMap::new();
    for (name, added) in &config.headers {
        if let Value::String(value) = filled(&added.value, environment, &mut secrets)? {
            headers.insert(name.clone(), value);
        }
    }
    let body =
        config.body.iter().map(|(name, added)| Ok((name.clone(), filled(&added.value, environment, &mut secrets)?)));
    let body = body.collect::<Result<Map<String, Value>, String>>()?;
    let token_command = config
        .token_command
        .as_ref()
        .map(|command| TokenCommand { command: command.value.clone(), environment: environment.all().collect() });
    let lasts = config.cache.as_ref().map(|cache| match cache.value {
        CacheTime::FiveMinutes => CacheLasts::FiveMinutes,
        CacheTime::Hour => CacheLasts::Hour,
    });
    let without_key = config.prompt_cache_key.as_ref().is_some_and(|key| !key.value);
    Ok(Extras { headers, body, secrets, token_command, caching: Caching { lasts, without_key } })
}

/// A value with what its variables hold, which is added to `secrets`; an error is the variable that isn't set.
fn filled(added: &Added, environment: &Environment, secrets: &mut Vec<String>) -> Result<Value, String> {
    Ok(match added {
        Added::Plain(value) => value.clone(),
        Added::Variable(name) => {
            let value = environment.variable(name).ok_or_else(|| name.clone())?;
            secrets.push(value.clone());
            Value::String(value)
        }
        Added::Table(values) => {
            let values = values.iter().map(|(name, value)| Ok((name.clone(), filled(value, environment, secrets)?)));
            Value::Object(values.collect::<Result<_, String>>()?)
        }
        Added::List(values) => {
            Value::Array(values.iter().map(|value| filled(value, environment, secrets)).collect::<Result<_, String>>()?)
        }
    })
}

/// Returns the values of the variables that configurations name: masked wherever they turn up, whatever the variable is
/// called.
fn secrets(adapters: &BTreeMap<String, Setting<AdapterConfig>>, environment: &Environment) -> Vec<String> {
    let mut secrets = Vec::new();
    let configs = adapters.values().map(|setting| &setting.value);
    for added in configs.flat_map(|config| config.headers.values().chain(config.body.values())) {
        // One that isn't set is said where the adapter is used.
        filled(&added.value, environment, &mut secrets).ok();
    }
    secrets
}

fn or_else<T: Clone>(setting: Option<&Setting<T>>, default: T) -> Sourced<T> {
    first([configured(setting)]).unwrap_or(Sourced { value: default, from: "the default".to_owned() })
}

impl Equipment {
    /// Returns true if nothing goes without a key. A server on the own machine or network wants none, unless the
    /// adapter is that of a provider with an API of its own.
    pub fn needs_key(&self) -> bool {
        let is_of_provider = self.adapter.base_url.is_some_and(|url| !is_local(url));
        let is_here = self.base_url.as_ref().is_some_and(|url| is_local(&url.value));
        let has_own = self.extras.as_ref().is_ok_and(Extras::has_key);
        !self.adapter.key_variables.is_empty() && (is_of_provider || !is_here) && !has_own
    }

    /// True if the base URL is another than the adapter's own.
    pub fn has_other_base_url(&self) -> bool {
        self.base_url.as_ref().is_some_and(|url| Some(url.value.as_str()) != self.adapter.base_url)
    }

    /// True if there is an API behind it.
    pub fn speaks_to_an_api(&self) -> bool {
        self.adapter.base_url_variable.is_some() || self.adapter.base_url.is_some()
    }

    /// The first thing that is missing, and the model if it is missing, too; `None` if the adapter is ready. Nothing is
    /// asked for over the network.
    pub fn lack(&self) -> Option<Lack> {
        let id = self.adapter.id;
        let is_model_missing = self.model.is_none() && self.speaks_to_an_api();
        match self.lack_to_ask() {
            Some(lack) if is_model_missing => {
                Some(Lack { hint: format!("{}; name a model with --model, too", lack.hint), ..lack })
            }
            Some(lack) => Some(lack),
            None => is_model_missing.then(|| {
                let what = "it has no default model".to_owned();
                let hint = format!("name one with --model, or `model` under `[adapters.{id}]`");
                Lack { sentence: format!("`{id}` can't be used: {what}"), what, hint }
            }),
        }
    }

    /// The first thing that is missing to ask its API for anything: for a turn, a model is needed besides.
    pub fn lack_to_ask(&self) -> Option<Lack> {
        let adapter = &self.adapter;
        if !self.speaks_to_an_api() {
            return None;
        }
        let id = adapter.id;
        let example = adapter.base_url.unwrap_or(BASE_URL_EXAMPLE);
        let unusable =
            |what: String, hint: String| Some(Lack { sentence: format!("`{id}` can't be used: {what}"), what, hint });
        let variable = adapter.base_url_variable.map(|name| format!(", {name}")).unwrap_or_default();
        let places = format!("--base-url{variable} or `base_url` under `[adapters.{id}]`");
        let Some(base_url) = &self.base_url else {
            return unusable("no base URL is set".to_owned(), format!("set {places} to something like {example}"));
        };
        if let Err(bad) = Hosts::only(&base_url.value) {
            return unusable(bad.to_string(), format!("{places} must be like {example}"));
        }
        if let Err(variable) = &self.extras {
            let hint = format!("set {variable}, or take it out of `[adapters.{id}]` in the `config.toml` of the home");
            return unusable(format!("{variable} is not set, which its headers or body name"), hint);
        }
        if self.key.is_none() && self.needs_key() {
            if api::wants_token(&base_url.value) {
                let hint = format!(
                    "set `token_command = [\"gcloud\", \"auth\", \"print-access-token\"]` under `[adapters.{id}]` in \
                     the `config.toml` of the home"
                );
                return unusable("Vertex AI takes a token, and no `token_command` is set".to_owned(), hint);
            }
            let names = adapter.key_variables;
            return Some(Lack {
                what: format!("{} is not set", names.join(" or ")),
                sentence: format!("`{id}` needs a key, and `{}` is not set", names.join("` or `")),
                hint: format!(
                    "set {} or put the key into {}; or play turns from a file, without any model, with --adapter \
                     scripted --script FILE",
                    names.first().copied().unwrap_or_default(),
                    self.key_file
                ),
            });
        }
        if let Some(key) = &self.key
            && !key.secret.bytes().all(|byte| byte.is_ascii_graphic())
        {
            let what =
                format!("the key from {} holds a space, a line break or another character that no key has", key.source);
            return unusable(what, "copy the key anew, as one line".to_owned());
        }
        None
    }

    /// Makes the settings by which the adapter's API is reached, through these proxies.
    ///
    /// # Errors
    ///
    /// [`Lack`] if something is missing.
    pub fn for_api(self, proxies: Proxies) -> Result<api::Settings, Lack> {
        if let Some(lack) = self.lack() {
            return Err(lack);
        }
        let model = self.model.as_ref().expect("an adapter that lacks nothing has a model").value.clone();
        self.settings(model, proxies)
    }

    /// Makes the settings by which its API is reached for something that needs no model.
    ///
    /// # Errors
    ///
    /// [`Lack`] if something is missing.
    pub fn for_questions(self, proxies: Proxies) -> Result<api::Settings, Lack> {
        self.settings(String::new(), proxies)
    }

    fn settings(self, model: String, proxies: Proxies) -> Result<api::Settings, Lack> {
        if let Some(lack) = self.lack_to_ask() {
            return Err(lack);
        }
        let extras = self.extras.expect("an adapter that lacks nothing has its variables");
        let (key, key_source) = match self.key {
            // The token takes the place of a key that is there for other addresses.
            _ if extras.token_command.is_some() => (String::new(), "token_command".to_owned()),
            Some(key) => (key.secret, key.source),
            None => (String::new(), self.adapter.key_variables.join(" or ")),
        };
        Ok(api::Settings {
            model,
            key,
            key_source,
            base_url: self.base_url.expect("an adapter that lacks nothing has a base URL").value,
            output_tokens_max: self.output_tokens_max.value,
            thinking: self.thinking,
            idle_max: Duration::from_secs(self.idle_seconds.value),
            proxies,
            extras,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks what an adapter with this address of its own lacks when its base URL is `base_url`.
    #[track_caller]
    fn check(own: Option<&'static str>, base_url: Option<&str>, lacks: Option<&str>) {
        let adapter = Adapter {
            id: "x",
            name: "X",
            about: "",
            key_variables: &["ADJUTANT_TEST_NO_SUCH_KEY", "ADJUTANT_TEST_NOR_THIS"],
            base_url_variable: Some("ADJUTANT_TEST_NO_SUCH_URL"),
            base_url: own,
            model: Some("m"),
            is_paid: false,
        };
        let surroundings = Surroundings { environment: Environment::default(), folder: "/".into(), home_folder: None };
        let (keys, home) = (Keys::default(), Home::new("/h", None));
        let supplies = Supplies { keys, adapters: BTreeMap::new(), home, surroundings };
        let base_url = base_url.map(|url| Sourced { value: url.to_owned(), from: "--base-url".to_owned() });
        let shown = format!("{own:?} {:?}", base_url.as_ref().map(|url| &url.value));
        let lack = supplies.equip(adapter, None, base_url).lack().map(|lack| lack.what);
        assert_eq!(lack.as_deref(), lacks, "{shown}");
    }

    #[test]
    fn only_a_server_of_ones_own_needs_no_key() {
        let no_key = Some("ADJUTANT_TEST_NO_SUCH_KEY or ADJUTANT_TEST_NOR_THIS is not set");
        check(None, Some("http://127.0.0.1:11434/v1"), None);
        check(None, Some("http://192.168.1.5/v1"), None);
        check(None, Some("https://openrouter.example/api/v1"), no_key);
        check(Some("http://localhost:11434/v1"), None, None);
        check(Some("https://api.example.com"), None, no_key);
        check(Some("https://api.example.com"), Some("http://127.0.0.1:1"), no_key);
    }

    #[test]
    fn on_vertex_ai_a_token_is_missing_and_no_key() {
        let own = Some("https://api.example.com");
        let no_token = Some("Vertex AI takes a token, and no `token_command` is set");
        let project = "https://aiplatform.googleapis.com/v1/projects/p/locations/global/publishers";
        check(own, Some(&format!("{project}/anthropic")), no_token);
        check(own, Some(&format!("{project}/google/models")), no_token);
        let no_key = Some("ADJUTANT_TEST_NO_SUCH_KEY or ADJUTANT_TEST_NOR_THIS is not set");
        check(own, Some("https://aiplatform.googleapis.com/v1/publishers/google"), no_key);
    }

    #[test]
    fn an_address_that_is_missing_or_none_is_told_before_the_key() {
        check(None, None, Some("no base URL is set"));
        check(None, Some("nowhere"), Some("`nowhere` is not a web address"));
    }
}
