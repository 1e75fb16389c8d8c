//! The profiles that operators applied: one file for each project, replaced as a whole.

use std::fs;
use std::io::{self, Write as _};
use std::path::PathBuf;

use adjutant_core::learn::profile::{BadProfile, FILE_NAME, Profile};
use adjutant_core::learn::sorted_json;
use adjutant_core::words::id::Slug;
use thiserror::Error;

use crate::fresh;
use crate::home::{self, Home};

/// The largest file that is read, in bytes: every run by name, and room.
const BYTES_MAX: u64 = 16 << 20;

/// Reason why a profile can't be used or changed.
#[derive(Debug, Error)]
pub enum ProfileError {
    /// The disk said no.
    #[error("can't {act} the profile `{}`", path.display())]
    Io {
        /// The act that failed.
        act: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The file is not a profile that can be used.
    #[error("the profile `{}` can't be used", path.display())]
    Bad {
        /// The file.
        path: PathBuf,
        /// The content of the file.
        text: String,
        /// The mistake in it.
        source: BadProfile,
    },
}

impl ProfileError {
    /// Returns a hint at what to do about it.
    #[must_use]
    pub fn hint(&self, project: &Slug) -> Option<String> {
        match self {
            Self::Bad { .. } => {
                Some(format!("`adjutant learn {project} --reset` removes it; `--apply` then makes it anew"))
            }
            Self::Io { .. } => None,
        }
    }
}

/// The file of a project's profile.
#[must_use]
pub fn path(home: &Home, project: &Slug) -> PathBuf {
    home.project(project).join(FILE_NAME)
}

/// The profile of a project; none if none was applied.
///
/// # Errors
///
/// [`ProfileError`] if there is something in its place that can't be used.
pub fn read(home: &Home, project: &Slug) -> Result<Option<Profile>, ProfileError> {
    read_file(path(home, project))
}

/// The profile in a file; none if there is no such file.
///
/// # Errors
///
/// [`ProfileError`] if there is something in its place that can't be used.
pub fn read_file(path: PathBuf) -> Result<Option<Profile>, ProfileError> {
    let failed = |source| ProfileError::Io { act: "read", path: path.clone(), source };
    let metadata = match fs::metadata(&path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    if !metadata.is_file() || metadata.len() > BYTES_MAX {
        return Err(failed(io::Error::other("it is no file of a profile's size")));
    }
    let text = fs::read_to_string(&path).map_err(failed)?;
    Profile::read(&text).map(Some).map_err(|source| ProfileError::Bad { path, text, source })
}

/// Puts a profile in the place of the one before, all of it or nothing.
///
/// # Errors
///
/// [`ProfileError::Io`]; the one before is still there then.
pub fn write(home: &Home, project: &Slug, profile: &Profile) -> Result<PathBuf, ProfileError> {
    let path = path(home, project);
    let folder = home.project(project);
    let write = || -> io::Result<()> {
        home::make_folder(&folder)?;
        let mut file = fresh::beside(&path)?;
        file.write_all(sorted_json(profile).as_bytes())?;
        file.as_file().sync_data()?;
        file.persist(&path)?;
        Ok(())
    };
    write().map_err(|source| ProfileError::Io { act: "write", path: path.clone(), source })?;
    Ok(path)
}

/// Removes a profile; whether there was one.
///
/// # Errors
///
/// [`ProfileError::Io`].
pub fn remove(home: &Home, project: &Slug) -> Result<bool, ProfileError> {
    let path = path(home, project);
    match fs::remove_file(&path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(source) => Err(ProfileError::Io { act: "remove", path, source }),
    }
}
