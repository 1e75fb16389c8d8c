//! Every key of a configuration, and what it takes.

use std::ops::Range;
use std::ops::RangeInclusive;
use std::path::Path;

use adjutant_core::detect::{Detector, Sensitivity};
use adjutant_core::gate::AfterUntrusted;
use adjutant_core::words::effort::Effort;
use adjutant_core::words::nearest::nearest;
use adjutant_core::words::{Mode, price};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{
    Config, ConfigError, ConfigOwner, Origin, Setting, adapters, hooks, looped, notify, programs, roles, sandbox,
};

/// The keys of a configuration.
pub const KEYS: &[&str] = &[
    "adapter", "model", "mode", "max_steps", "no_shell", "fallback", "max_tokens", "max_minutes", "max_dollars",
    "max_turns", "patience", "effort", "thinking_tokens", "after_untrusted", "untrusted_tools", "plain_results",
    "result_bytes_max", "hooks", "programs", "shell_allow", "shell_deny", "deny_read", "detectors", "adapters",
    "sandbox", "notify", "roles", "loop",
];

/// The configuration `text`, which was read from `path`.
pub(super) fn read(path: &Path, text: &str, whose: ConfigOwner) -> Result<Config, ConfigError> {
    let file = ConfigFile { path, text, whose };
    let table = DeTable::parse(text).map_err(|error| ConfigError::NotToml {
        at: file.origin(&error.span().unwrap_or(0..0)),
        why: error.message().to_owned(),
    })?;
    let mut config = Config::default();
    for (name, value) in table.get_ref() {
        let key = ConfigKey { file: &file, name: name.get_ref(), value };
        match name.get_ref().as_ref() {
            "adapter" => config.adapter = Some(key.text("the name of an adapter")?),
            "model" => config.model = Some(key.text("the name of a model")?),
            "mode" => config.mode = Some(key.mode()?),
            "max_steps" => config.max_steps = Some(key.count()?),
            "no_shell" => config.no_shell = Some(key.switch()?),
            "fallback" => config.fallback = Some(key.texts("a list of adapters, each with or without `:model`")?),
            "max_tokens" => config.max_tokens = Some(key.whole(u64::MAX, "a number from 1 on")?),
            "max_minutes" => config.max_minutes = Some(key.whole(u64::MAX, "a number from 1 on")?),
            "max_turns" => config.max_turns = Some(key.whole(u64::MAX, "a number from 1 on")?),
            "patience" => config.patience_minutes = Some(key.whole_within(0..=u64::MAX, "a number of minutes")?),
            "effort" => config.effort = Some(key.effort()?),
            "thinking_tokens" => config.thinking_tokens = Some(key.tokens()?),
            "max_dollars" => {
                let expected = "dollars above 0 with at most nine decimals, such as `2.50`";
                config.max_nano_dollars = Some(key.decimal(price::sum, expected)?);
            }
            "after_untrusted" | "untrusted_tools" | "plain_results" if file.whose == ConfigOwner::Projects => {
                return Err(ConfigError::NotOfAProject {
                    at: file.origin(&name.span()),
                    key: name.get_ref().to_string(),
                    what: "how far text of strangers is believed",
                });
            }
            "after_untrusted" => config.after_untrusted = Some(key.after_untrusted()?),
            "untrusted_tools" => config.untrusted_tools = Some(key.texts("a list of tools")?),
            "plain_results" => config.plain_results = Some(key.switch()?),
            "result_bytes_max" => {
                config.result_bytes_max = Some(key.whole(u64::MAX, "a number of bytes from 1 on")?);
            }
            "hooks" => config.hooks = hooks::read(&key)?,
            "programs" if file.whose == ConfigOwner::Projects => {
                return Err(ConfigError::NotOfAProject {
                    at: file.origin(&name.span()),
                    key: name.get_ref().to_string(),
                    what: "what command lines count as",
                });
            }
            "programs" => config.programs = programs::read(&key)?,
            "shell_allow" => config.shell_allow = programs::rules(&key)?,
            "shell_deny" => config.shell_deny = programs::rules(&key)?,
            "deny_read" => config.deny_read = programs::deny_read(&key)?,
            "adapters" => config.adapters = adapters::read(&key)?,
            "sandbox" => config.sandbox = sandbox::read(&key)?,
            "roles" => config.roles = roles::read(&key)?,
            "loop" => config.looped = looped::read(&key)?,
            "notify" => config.notify = notify::read(&key)?,
            "detectors" => {
                let Some(detectors) = value.get_ref().as_table() else {
                    return Err(key.bad("a table of detectors and sensitivities"));
                };
                for (name, value) in detectors {
                    let full = format!("detectors.{}", name.get_ref());
                    let Ok(detector) = name.get_ref().parse::<Detector>() else {
                        let known = Detector::ALL.iter().map(|detector| detector.name()).collect();
                        return Err(file.unknown(&name.span(), name.get_ref(), full, known));
                    };
                    let key = ConfigKey { file: &file, name: &full, value };
                    config.detectors.insert(detector, key.sensitivity()?);
                }
            }
            other => {
                return Err(file.unknown(&name.span(), other, other.to_owned(), KEYS.to_vec()));
            }
        }
    }
    Ok(config)
}

pub(super) struct ConfigFile<'a> {
    path: &'a Path,
    text: &'a str,
    pub(super) whose: ConfigOwner,
}

impl ConfigFile<'_> {
    pub(super) fn origin(&self, span: &Range<usize>) -> Origin {
        Origin::of(self.path, self.text, span.start)
    }

    pub(super) fn unknown(
        &self,
        span: &Range<usize>,
        given: &str,
        key: String,
        known: Vec<&'static str>,
    ) -> ConfigError {
        let nearest = nearest(given, known.iter().copied());
        ConfigError::UnknownKey { at: self.origin(span), key, nearest, known }
    }
}

/// A key with its value.
pub(super) struct ConfigKey<'a, 't> {
    pub(super) file: &'a ConfigFile<'a>,
    pub(super) name: &'a str,
    pub(super) value: &'a Spanned<DeValue<'t>>,
}

impl ConfigKey<'_, '_> {
    pub(super) fn set<T>(&self, value: T) -> Setting<T> {
        Setting { value, from: self.file.origin(&self.value.span()) }
    }

    pub(super) fn bad(&self, expected: &'static str) -> ConfigError {
        let written = self.file.text.get(self.value.span()).unwrap_or("").trim();
        let found = match self.value.get_ref() {
            DeValue::Table(_) => "a table".to_owned(),
            DeValue::Array(_) => "a list".to_owned(),
            DeValue::String(_)
            | DeValue::Integer(_)
            | DeValue::Float(_)
            | DeValue::Boolean(_)
            | DeValue::Datetime(_) => format!("`{}`", written.chars().take(80).collect::<String>()),
        };
        ConfigError::BadValue { at: self.file.origin(&self.value.span()), key: self.name.to_owned(), expected, found }
    }

    pub(super) fn text(&self, expected: &'static str) -> Result<Setting<String>, ConfigError> {
        let text = self.value.get_ref().as_str().map(str::trim).filter(|text| !text.is_empty());
        text.map(|text| self.set(text.to_owned())).ok_or_else(|| self.bad(expected))
    }

    fn mode(&self) -> Result<Setting<Mode>, ConfigError> {
        let given = self.value.get_ref().as_str();
        let mode = [Mode::Gated, Mode::Auto].into_iter().find(|mode| given == Some(mode.as_str()));
        mode.map(|mode| self.set(mode)).ok_or_else(|| self.bad("`gated` or `auto`"))
    }

    /// A whole number from 1 to `most`.
    pub(super) fn whole(&self, most: u64, expected: &'static str) -> Result<Setting<u64>, ConfigError> {
        self.whole_within(1..=most, expected)
    }

    /// A whole number within bounds.
    pub(super) fn whole_within(
        &self,
        bounds: RangeInclusive<u64>,
        expected: &'static str,
    ) -> Result<Setting<u64>, ConfigError> {
        let integer = self.value.get_ref().as_integer();
        let whole = integer.and_then(|given| u64::from_str_radix(given.as_str(), given.radix()).ok());
        let whole = whole.filter(|whole| bounds.contains(whole));
        whole.map(|whole| self.set(whole)).ok_or_else(|| self.bad(expected))
    }

    /// A decimal number, which `read` takes as it is written.
    pub(super) fn decimal(
        &self,
        read: fn(&str) -> Option<u64>,
        expected: &'static str,
    ) -> Result<Setting<u64>, ConfigError> {
        let number = match self.value.get_ref() {
            DeValue::Integer(given) if given.radix() == 10 => read(given.as_str()),
            DeValue::Float(given) => read(given.as_str()),
            DeValue::Integer(_)
            | DeValue::String(_)
            | DeValue::Boolean(_)
            | DeValue::Datetime(_)
            | DeValue::Array(_)
            | DeValue::Table(_) => None,
        };
        number.map(|number| self.set(number)).ok_or_else(|| self.bad(expected))
    }

    pub(super) fn effort(&self) -> Result<Setting<Effort>, ConfigError> {
        let given = self.value.get_ref().as_str().and_then(|given| given.parse().ok());
        given.map(|effort| self.set(effort)).ok_or_else(|| self.bad("`low`, `medium`, `high` or `max`"))
    }

    /// A number of tokens from 1 on.
    pub(super) fn tokens(&self) -> Result<Setting<u32>, ConfigError> {
        let set = self.whole(u32::MAX.into(), "a number of tokens from 1 on")?;
        Ok(Setting { value: u32::try_from(set.value).unwrap_or(u32::MAX), from: set.from })
    }

    fn after_untrusted(&self) -> Result<Setting<AfterUntrusted>, ConfigError> {
        let given = self.value.get_ref().as_str().and_then(|given| given.parse().ok());
        given.map(|after| self.set(after)).ok_or_else(|| self.bad("`record`, `named` or `ask`"))
    }

    pub(super) fn texts(&self, expected: &'static str) -> Result<Setting<Vec<String>>, ConfigError> {
        let items = self.value.get_ref().as_array().ok_or_else(|| self.bad(expected))?;
        let texts = items.iter().map(|item| {
            let text = item.get_ref().as_str().map(str::trim).filter(|text| !text.is_empty());
            let item = ConfigKey { file: self.file, name: self.name, value: item };
            text.map(str::to_owned).ok_or_else(|| item.bad(expected))
        });
        Ok(self.set(texts.collect::<Result<_, _>>()?))
    }

    fn count(&self) -> Result<Setting<u32>, ConfigError> {
        let integer = self.value.get_ref().as_integer();
        let count = integer.and_then(|given| u32::from_str_radix(given.as_str(), given.radix()).ok());
        count.filter(|count| *count > 0).map(|count| self.set(count)).ok_or_else(|| self.bad("a number from 1 on"))
    }

    pub(super) fn switch(&self) -> Result<Setting<bool>, ConfigError> {
        self.value.get_ref().as_bool().map(|on| self.set(on)).ok_or_else(|| self.bad("`true` or `false`"))
    }

    fn sensitivity(&self) -> Result<Setting<Sensitivity>, ConfigError> {
        let given = self.value.get_ref().as_str().and_then(|given| given.parse().ok());
        given
            .map(|sensitivity| self.set(sensitivity))
            .ok_or_else(|| self.bad("`default`, `strict`, `loose` or `disabled`"))
    }
}
