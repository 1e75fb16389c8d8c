//! The settings of loops: the table `[loop]`. Their values are kept as they are written: what can't be read is told
//! where a loop begins, and the default holds.

use std::collections::BTreeMap;

use toml::de::DeValue;

use super::keys::ConfigKey;
use super::{ConfigError, Setting};

/// The keys of a loop.
pub const LOOP_KEYS: &[&str] = &[
    "iterations", "check_interval", "min_iterations", "council", "stagnation_limit", "done_signal_limit",
    "checkpoints", "on_stuck", "escalation", "rounds", "nochange_min", "split_rounds", "evaluation_age", "cooldown",
];

/// The settings of loops by their names, as they are written.
pub type LoopConfig = BTreeMap<String, Setting<String>>;

/// The table of loops, from the key `loop`.
pub(super) fn read(looped: &ConfigKey<'_, '_>) -> Result<LoopConfig, ConfigError> {
    let file = looped.file;
    let table = looped.value.get_ref().as_table().ok_or_else(|| looped.bad("a table"))?;
    let mut config = LoopConfig::new();
    for (name, value) in table {
        let full = format!("loop.{}", name.get_ref());
        let known: &str = name.get_ref().as_ref();
        if !LOOP_KEYS.contains(&known) {
            return Err(file.unknown(&name.span(), known, full, LOOP_KEYS.to_vec()));
        }
        let key = ConfigKey { file, name: &full, value };
        let text = match value.get_ref() {
            DeValue::String(text) => text.to_string(),
            DeValue::Integer(number) => number.as_str().to_owned(),
            DeValue::Float(number) => number.as_str().to_owned(),
            DeValue::Boolean(is_on) => is_on.to_string(),
            DeValue::Datetime(_) | DeValue::Array(_) | DeValue::Table(_) => {
                return Err(key.bad("a number, a word or `true` or `false`"));
            }
        };
        config.insert(known.to_owned(), key.set(text));
    }
    Ok(config)
}
