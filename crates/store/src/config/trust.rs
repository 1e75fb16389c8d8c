//! Whose configuration is believed: the operator's own, and a project's once its content was trusted.
//!
//! A project's file can be changed by whoever can change the project, an agent included. So it is trusted
//! by the hash of what it says: any change makes it untrusted again.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use super::{ConfigError, Whose, content, keys, project_config};
use crate::home::{Home, make_folder};

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
/// [`ConfigError`] if there is none, it has a mistake, or the list can't be written.
pub fn trust(home: &Home, folder: &Path) -> Result<Trusted, ConfigError> {
    let path = project_config(folder);
    let Some(text) = content(&path)? else { return Err(ConfigError::Absent { path }) };
    keys::read(&path, &text, Whose::Projects)?;
    let hash = hash_of(&text);
    if !is_trusted(home, &text)? {
        let list = home.trusted_projects();
        add(home, &format!("{hash} {}\n", path.display().to_string().replace('\n', " ")))
            .map_err(|source| ConfigError::Unusable { path: list, source })?;
    }
    Ok(Trusted { path, hash })
}

/// Whether the operator has trusted a configuration that says `text`.
pub(super) fn is_trusted(home: &Home, text: &str) -> Result<bool, ConfigError> {
    let list = home.trusted_projects();
    let trusted = match fs::read_to_string(&list) {
        Ok(trusted) => trusted,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(source) => return Err(ConfigError::Unusable { path: list, source }),
    };
    let hash = hash_of(text);
    Ok(trusted.lines().any(|line| line.split(' ').next() == Some(&hash)))
}

fn hash_of(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex().to_string()
}

fn add(home: &Home, line: &str) -> io::Result<()> {
    make_folder(home.root())?;
    let mut list = OpenOptions::new().append(true).create(true).mode(0o600).open(home.trusted_projects())?;
    list.write_all(line.as_bytes())
}
