//! An operator's entries about programs: `[[programs]]`, each an entry of the table that command lines are read by;
//! `shell_allow` and `shell_deny`, rules about single commands; and `deny_read`, the files that no agent may read.

use adjutant_core::gate::deny_read::DenyRead;
use adjutant_core::gate::shell::{CommandRule, ProgramEntry, Programs};
use serde::Deserialize as _;
use toml::Spanned;
use toml::de::{DeValue, ValueDeserializer};

use super::keys::ConfigKey;
use super::{ConfigError, Setting};

/// The entries that a key holds, whose examples hold.
pub(super) fn read(key: &ConfigKey<'_, '_>) -> Result<Vec<Setting<ProgramEntry>>, ConfigError> {
    let expected = "a list of programs, each as `[[programs]]` with its `names`, `verdict` and `examples`";
    let items = key.value.get_ref().as_array().ok_or_else(|| key.bad(expected))?;
    let mut entries: Vec<ProgramEntry> = Vec::new();
    let mut settings = Vec::new();
    for item in items {
        let bad = |at, why: String| ConfigError::BadProgram { at: key.file.origin(&at), why };
        let entry = ProgramEntry::deserialize(ValueDeserializer::from(item.clone()))
            .map_err(|error| bad(error.span().unwrap_or(item.span()), error.message().to_owned()))?;
        entries.push(entry.clone());
        // With those before it: they may speak of the same program.
        Programs::builtin().with(&entries).map_err(|error| bad(item.span(), error.to_string()))?;
        settings.push(Setting { value: entry, from: key.file.origin(&item.span()) });
    }
    Ok(settings)
}

/// The rules that a key lists, each of which can be used.
pub(super) fn rules(key: &ConfigKey<'_, '_>) -> Result<Vec<Setting<String>>, ConfigError> {
    let expected = "a list of commands, each with its words and `*` or a last `**` for others, such as `make docs **`";
    texts(key, expected, |text| CommandRule::parse(text).map(drop).map_err(|error| error.to_string()))
}

/// The paths and patterns that a key lists, each of which names something in a working folder.
pub(super) fn deny_read(key: &ConfigKey<'_, '_>) -> Result<Vec<Setting<String>>, ConfigError> {
    let expected = "a list of paths and patterns in the working folder, such as `.env`, `**/*.pem` or `secrets/`";
    let check = |text: &str| DenyRead::parse(&[text.to_owned()]).map(drop).map_err(|error| error.to_string());
    texts(key, expected, check)
}

/// The texts that a key lists; `check` says why one can't be used.
fn texts(
    key: &ConfigKey<'_, '_>,
    expected: &'static str,
    check: impl Fn(&str) -> Result<(), String>,
) -> Result<Vec<Setting<String>>, ConfigError> {
    let items = key.value.get_ref().as_array().ok_or_else(|| key.bad(expected))?;
    let text = |item: &Spanned<DeValue<'_>>| {
        let key = ConfigKey { file: key.file, name: key.name, value: item };
        let text = key.text(expected)?;
        check(&text.value).map_err(|why| ConfigError::BadRule {
            at: text.from.clone(),
            key: key.name.to_owned(),
            why,
        })?;
        Ok(text)
    };
    items.iter().map(text).collect()
}
