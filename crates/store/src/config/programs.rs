//! What programs do, as an operator says it: `[[programs]]`, each an entry of the table that command lines are read by.

use adjutant_core::gate::shell::{ProgramEntry, Programs};
use serde::Deserialize as _;
use toml::de::ValueDeserializer;

use super::keys::Key;
use super::{ConfigError, Setting};

/// The entries that a key holds, whose examples hold.
pub(super) fn read(key: &Key<'_, '_>) -> Result<Vec<Setting<ProgramEntry>>, ConfigError> {
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
