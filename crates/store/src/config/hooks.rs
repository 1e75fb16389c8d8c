//! The guard hooks of a configuration: `[[hooks]]`, each with a command, and where wanted tools and a time limit.

use std::path::{Component, Path, PathBuf};

use adjutant_core::gate::guard_hook::{TIMEOUT_MS_DEFAULT, TIMEOUT_MS_MAX};
use adjutant_core::gate::{GuardHook, HookFile};
use toml::de::DeValue;

use super::keys::ConfigKey;
use super::{ConfigError, Setting};
use crate::trust::{self, Standing, Trust, TrustError};

/// The keys of a hook.
pub const HOOK_KEYS: &[&str] = &["command", "tools", "timeout_ms"];

/// The hooks that a key holds.
pub(super) fn read(key: &ConfigKey<'_, '_>) -> Result<Vec<Setting<GuardHook>>, ConfigError> {
    let expected = "a list of hooks, each as `[[hooks]]` with its `command`";
    let items = key.value.get_ref().as_array().ok_or_else(|| key.bad(expected))?;
    items.iter().map(|item| hook(&ConfigKey { file: key.file, name: key.name, value: item })).collect()
}

fn hook(key: &ConfigKey<'_, '_>) -> Result<Setting<GuardHook>, ConfigError> {
    let DeValue::Table(table) = key.value.get_ref() else {
        return Err(key.bad("a table with the `command` of a hook"));
    };
    let mut hook = GuardHook { timeout_ms: TIMEOUT_MS_DEFAULT, ..GuardHook::default() };
    for (name, value) in table {
        let full = format!("hooks.{}", name.get_ref());
        let key = ConfigKey { file: key.file, name: &full, value };
        match name.get_ref().as_ref() {
            "command" => hook.command = key.texts("a list: the program, then its arguments")?.value,
            "tools" => hook.tools = key.texts("a list of tools")?.value,
            "timeout_ms" => {
                hook.timeout_ms = key.whole(TIMEOUT_MS_MAX, "a number of milliseconds from 1 to 60000")?.value;
            }
            other => return Err(key.file.unknown(&name.span(), other, full.clone(), HOOK_KEYS.to_vec())),
        }
    }
    if hook.command.is_empty() {
        return Err(key.bad("a table with the `command` of a hook"));
    }
    Ok(Setting { value: hook, from: key.file.origin(&key.value.span()) })
}

/// The project that a hook runs for, which decides what the words of the hook's command mean.
#[derive(Debug, Clone, Copy)]
pub(super) struct Project<'a> {
    /// The folder of the project.
    pub(super) folder: &'a Path,
    /// True if the project itself defines the hook, so that its relative paths lie in the project's folder.
    pub(super) is_own: bool,
}

/// Ties a hook to the files of the project that it names: with absolute paths, and the hash of what was trusted.
/// Returns those that are not trusted as they are.
pub(super) fn tie(hook: &mut GuardHook, project: Project<'_>, trusted: &Trust) -> Result<Vec<PathBuf>, TrustError> {
    let mut untrusted = Vec::new();
    for word in &mut hook.command {
        let (path, name) = match in_project(word, project) {
            HookWord::Elsewhere => continue,
            // Whoever can change the project can have the link lead to something else tomorrow.
            HookWord::Link(path) => {
                hook.files.push(HookFile { path: path.display().to_string(), hash: String::new() });
                untrusted.push(path);
                continue;
            }
            HookWord::File { path, name } => (path, name),
        };
        let Some(content) = trust::content(&path)? else { continue };
        let hash = match trusted.standing(&path, &name, &content) {
            Standing::Trusted => trust::hash_of(&content),
            Standing::New | Standing::Changed { .. } => {
                untrusted.push(path.clone());
                String::new()
            }
        };
        *word = path.display().to_string();
        hook.files.push(HookFile { path: word.clone(), hash });
    }
    Ok(untrusted)
}

/// The thing that a word of a command names.
enum HookWord {
    /// No file, or one that is not the project's.
    Elsewhere,
    /// A file of the project, where it really is, with its name in the project.
    File { path: PathBuf, name: String },
    /// Something in the project that leads out of it.
    Link(PathBuf),
}

fn in_project(word: &str, project: Project<'_>) -> HookWord {
    let path = Path::new(word);
    if path.is_relative() && !project.is_own {
        return HookWord::Elsewhere;
    }
    let path: PathBuf = project.folder.join(path).components().filter(|part| *part != Component::CurDir).collect();
    let (Ok(real), Ok(folder)) = (path.canonicalize(), project.folder.canonicalize()) else {
        return HookWord::Elsewhere;
    };
    if !real.is_file() {
        return HookWord::Elsewhere;
    }
    match real.strip_prefix(&folder) {
        Ok(name) => HookWord::File { name: name.display().to_string(), path: real },
        Err(_) if path.starts_with(project.folder) || path.starts_with(&folder) => HookWord::Link(path),
        Err(_) => HookWord::Elsewhere,
    }
}
