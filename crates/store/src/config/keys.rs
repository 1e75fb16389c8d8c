//! Every key of a configuration, and what it takes.

use std::ops::Range;
use std::path::Path;

use adjutant_core::nearest::nearest;
use adjutant_core::session::Mode;
use adjutant_core::session::detect::{Detector, Sensitivity};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{Config, ConfigError, Origin, Setting};

/// The keys of a configuration.
pub const KEYS: &[&str] = &["adapter", "model", "mode", "max_steps", "no_shell", "detectors"];

/// The configuration `text`, which was read from `path`.
pub(super) fn read(path: &Path, text: &str) -> Result<Config, ConfigError> {
    let file = ConfigFile { path, text };
    let table = DeTable::parse(text).map_err(|error| ConfigError::NotToml {
        at: file.origin(&error.span().unwrap_or(0..0)),
        why: error.message().to_owned(),
    })?;
    let mut config = Config::default();
    for (name, value) in table.get_ref() {
        let key = Key { file: &file, name: name.get_ref(), value };
        match name.get_ref().as_ref() {
            "adapter" => config.adapter = Some(key.text("the name of an adapter")?),
            "model" => config.model = Some(key.text("the name of a model")?),
            "mode" => config.mode = Some(key.mode()?),
            "max_steps" => config.max_steps = Some(key.count()?),
            "no_shell" => config.no_shell = Some(key.switch()?),
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
                    let key = Key { file: &file, name: &full, value };
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

struct ConfigFile<'a> {
    path: &'a Path,
    text: &'a str,
}

impl ConfigFile<'_> {
    fn origin(&self, span: &Range<usize>) -> Origin {
        Origin::of(self.path, self.text, span.start)
    }

    fn unknown(&self, span: &Range<usize>, given: &str, key: String, known: Vec<&'static str>) -> ConfigError {
        let nearest = nearest(given, known.iter().copied());
        ConfigError::UnknownKey { at: self.origin(span), key, nearest, known }
    }
}

/// A key with its value.
struct Key<'a, 't> {
    file: &'a ConfigFile<'a>,
    name: &'a str,
    value: &'a Spanned<DeValue<'t>>,
}

impl Key<'_, '_> {
    fn set<T>(&self, value: T) -> Setting<T> {
        Setting { value, from: self.file.origin(&self.value.span()) }
    }

    fn bad(&self, expected: &'static str) -> ConfigError {
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

    fn text(&self, expected: &'static str) -> Result<Setting<String>, ConfigError> {
        let text = self.value.get_ref().as_str().map(str::trim).filter(|text| !text.is_empty());
        text.map(|text| self.set(text.to_owned())).ok_or_else(|| self.bad(expected))
    }

    fn mode(&self) -> Result<Setting<Mode>, ConfigError> {
        let given = self.value.get_ref().as_str();
        let mode = [Mode::Gated, Mode::Auto].into_iter().find(|mode| given == Some(mode.as_str()));
        mode.map(|mode| self.set(mode)).ok_or_else(|| self.bad("`gated` or `auto`"))
    }

    fn count(&self) -> Result<Setting<u32>, ConfigError> {
        let integer = self.value.get_ref().as_integer();
        let count = integer.and_then(|given| u32::from_str_radix(given.as_str(), given.radix()).ok());
        count.filter(|count| *count > 0).map(|count| self.set(count)).ok_or_else(|| self.bad("a number from 1 on"))
    }

    fn switch(&self) -> Result<Setting<bool>, ConfigError> {
        self.value.get_ref().as_bool().map(|on| self.set(on)).ok_or_else(|| self.bad("`true` or `false`"))
    }

    fn sensitivity(&self) -> Result<Setting<Sensitivity>, ConfigError> {
        let given = self.value.get_ref().as_str().and_then(|given| given.parse().ok());
        given
            .map(|sensitivity| self.set(sensitivity))
            .ok_or_else(|| self.bad("`default`, `strict`, `loose` or `disabled`"))
    }
}
