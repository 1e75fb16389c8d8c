//! Whose configuration is believed: the operator's own, and a project's once its content was trusted.

use std::path::{Path, PathBuf};

use super::{ConfigError, PROJECT_CONFIG, Whose, content, keys, project_config};
use crate::home::Home;
use crate::trust::{Standing, Trust};

/// What was trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trusted {
    /// The file.
    pub path: PathBuf,
    /// The hash of what it says, 64 hexadecimal digits.
    pub hash: String,
}

/// Trusts what the configuration of the project in `folder` says now. A mistake in it is told at once.
///
/// # Errors
///
/// [`ConfigError`] if there is none, it has a mistake, or the store can't be written.
pub fn trust(home: &Home, folder: &Path) -> Result<Trusted, ConfigError> {
    let path = project_config(folder);
    let Some(text) = content(&path)? else { return Err(ConfigError::Absent { path }) };
    keys::read(&path, &text, Whose::Projects)?;
    let hash = Trust::load(home)?.add(home, &real(&path), PROJECT_CONFIG, text.as_bytes())?;
    Ok(Trusted { path, hash })
}

/// Whether a project's configuration at `path` that says `text` can be used, if it is trusted.
///
/// # Errors
///
/// [`ConfigError`] about the first mistake in it.
pub fn check(path: &Path, text: &str) -> Result<(), ConfigError> {
    keys::read(path, text, Whose::Projects).map(drop)
}

/// How the configuration at `path`, which says `text`, stands.
pub(super) fn standing(home: &Home, path: &Path, text: &str) -> Result<Standing, ConfigError> {
    Ok(Trust::load(home)?.standing(&real(path), PROJECT_CONFIG, text.as_bytes()))
}

/// Where a file really is, so that it is called the same from wherever it is named.
fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}
