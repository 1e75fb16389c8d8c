//! Trust in configurations: the operator's own is always used, a project's only once its content was trusted.

use std::path::{Path, PathBuf};

use super::{ConfigError, ConfigOwner, PROJECT_CONFIG, content, keys, project_config};
use crate::home::Home;
use crate::trust::{Standing, Trust};

/// A configuration that was trusted.
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
    keys::read(&path, &text, ConfigOwner::Projects)?;
    let hash = Trust::load(home)?.add(home, &real(&path), PROJECT_CONFIG, text.as_bytes())?;
    Ok(Trusted { path, hash })
}

/// Checks that a project's configuration at `path` with the content `text` can be used once it is trusted.
///
/// # Errors
///
/// [`ConfigError`] about the first mistake in it.
pub fn check(path: &Path, text: &str) -> Result<(), ConfigError> {
    keys::read(path, text, ConfigOwner::Projects).map(drop)
}

/// Returns the standing of the configuration at `path` with the content `text`.
pub(super) fn standing(home: &Home, path: &Path, text: &str) -> Result<Standing, ConfigError> {
    Ok(Trust::load(home)?.standing(&real(path), PROJECT_CONFIG, text.as_bytes()))
}

/// Returns the real path of a file, so that it has one name from wherever it is reached.
fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}
