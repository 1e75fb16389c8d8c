//! The settings of the sandbox of commands: the table `[sandbox]`. Taken from the operator's own configuration only,
//! never from a project's: it decides what commands can reach.

use super::keys::ConfigKey;
use super::{ConfigError, ConfigOwner, Setting};

/// The keys of the sandbox.
pub const SANDBOX_KEYS: &[&str] = &["mode", "read", "write", "environment", "memory_mb", "without"];

/// The settings of the sandbox. All are optional. Words and paths are checked where the sandbox is set up.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SandboxConfig {
    /// The strictness: how much of the sandbox must be there.
    pub mode: Option<Setting<String>>,
    /// More paths that commands may read.
    pub read: Option<Setting<Vec<String>>>,
    /// More paths that commands may change.
    pub write: Option<Setting<Vec<String>>>,
    /// Variables of the environment that they get besides the usual ones.
    pub environment: Option<Setting<Vec<String>>>,
    /// The memory of one process, in MiB, from 1.
    pub memory_mb: Option<Setting<u64>>,
    /// Layers that are not set up, to see what a kernel without them would do.
    pub without: Option<Setting<Vec<String>>>,
}

/// The table of the sandbox, from the key `sandbox`.
pub(super) fn read(sandbox: &ConfigKey<'_, '_>) -> Result<SandboxConfig, ConfigError> {
    let file = sandbox.file;
    if file.whose == ConfigOwner::Projects {
        return Err(ConfigError::NotOfAProject {
            at: file.origin(&sandbox.value.span()),
            key: sandbox.name.to_owned(),
            what: "what commands can reach",
        });
    }
    let table = sandbox.value.get_ref().as_table().ok_or_else(|| sandbox.bad("a table"))?;
    let mut config = SandboxConfig::default();
    for (name, value) in table {
        let full = format!("sandbox.{}", name.get_ref());
        let key = ConfigKey { file, name: &full, value };
        match name.get_ref().as_ref() {
            "mode" => config.mode = Some(key.text("`off`, `best` or `required`")?),
            "read" => config.read = Some(key.texts("a list of paths")?),
            "write" => config.write = Some(key.texts("a list of paths")?),
            "environment" => config.environment = Some(key.texts("a list of names of variables")?),
            "memory_mb" => config.memory_mb = Some(key.whole(u64::MAX >> 20, "a number of MiB from 1 on")?),
            "without" => config.without = Some(key.texts("a list of layers")?),
            other => return Err(file.unknown(&name.span(), other, full.clone(), SANDBOX_KEYS.to_vec())),
        }
    }
    Ok(config)
}
