//! Opening what lies below the workdir without following a link anywhere.
//!
//! Each folder of a path is opened from the one above it, and the last name is used from there. So what is opened is
//! what its path says, or nothing: a link that was put in place of a folder is no folder. Where links lead is looked
//! up beforehand, once, by [`Workdir::real_place`].

use std::borrow::Cow;
use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use cap_std::fs::Dir;
use rustix::fs::{Mode, OFlags, openat};

use super::name::name_of;
use super::{WorkPath, Workdir, WorkdirError};

/// Opens one folder by its name in another; a link is an error.
pub(super) fn enter(folder: impl AsFd, name: &OsStr) -> io::Result<OwnedFd> {
    // To go through a folder the right to list it is not needed.
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(openat(folder, name, flags, Mode::empty())?)
}

/// Opens a file by its name in a folder; a link is an error. A fifo or device doesn't make us wait.
pub(super) fn open_file(folder: &Dir, name: &OsStr, flags: OFlags) -> io::Result<std::fs::File> {
    let flags = flags | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    // As any program creates a file: what the operator's mask leaves of it.
    Ok(openat(folder, name, flags, Mode::from_raw_mode(0o666))?.into())
}

fn folder_of(fd: OwnedFd) -> Dir {
    Dir::from_std_file(std::fs::File::from(fd))
}

impl Workdir {
    /// The folder that `path` lies in, for the name it has there; `.` in the workdir for the workdir itself.
    pub(super) fn open_parent<'p>(&self, path: &'p WorkPath) -> Result<(Dir, Cow<'p, OsStr>), WorkdirError> {
        let (parent, name) = path.split();
        let folder = self.pass_through(parent).map_err(|error| WorkdirError::io(path, error))?;
        Ok((folder, name_of(if name.is_empty() { "." } else { name })))
    }

    /// A folder, so that files in it can be reached; it can't be listed.
    pub(super) fn pass_through(&self, path: &str) -> io::Result<Dir> {
        let mut at = folder_of(enter(&self.dir, OsStr::new("."))?);
        for name in path.split('/').filter(|name| !name.is_empty()) {
            at = folder_of(enter(&at, &name_of(name))?);
        }
        Ok(at)
    }

    /// A folder to be listed, or for a command to run in.
    pub(super) fn open_folder_at(&self, path: &WorkPath) -> Result<OwnedFd, WorkdirError> {
        let (parent, name) = self.open_parent(path)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        openat(&parent, &*name, flags, Mode::empty()).map_err(|error| WorkdirError::io(path, error.into()))
    }

    /// Creates the folders above `path`; returns those that were not there, outermost first.
    ///
    /// # Errors
    ///
    /// The error of the system or the guard; `ENOTDIR` if a file or a link is in the way.
    pub fn create_parents(&self, path: &WorkPath) -> Result<Vec<WorkPath>, WorkdirError> {
        let mut created = Vec::new();
        let mut folder = self.pass_through("").map_err(|error| WorkdirError::io(path, error))?;
        for (at, _) in path.0.match_indices('/') {
            let below = WorkPath(path.0[..at].to_owned());
            let name = name_of(below.name());
            match folder.create_dir(&*name) {
                Ok(()) => created.push(below.clone()),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(WorkdirError::io(&below, error)),
            }
            folder = folder_of(enter(&folder, &name).map_err(|error| WorkdirError::io(&below, error))?);
        }
        Ok(created)
    }
}
