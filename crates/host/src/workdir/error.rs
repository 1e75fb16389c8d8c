//! Errors about paths that can't be used, with the stable name that a tool result carries.

use std::io;

use thiserror::Error;

use super::WorkPath;

/// Reason why a path could not be used.
#[derive(Debug, Error)]
pub enum WorkdirError {
    /// It leads out of the workdir, as text or through a symbolic link.
    #[error("`{path}` leads out of the working directory")]
    Escapes {
        /// The path as given.
        path: String,
    },
    /// It can't be a path.
    #[error("`{path}` can't be a path: {why}")]
    Unusable {
        /// The path as given, cut.
        path: String,
        /// The reason.
        why: &'static str,
        /// The stable code.
        code: &'static str,
    },
    /// It is a folder where a file is needed.
    #[error("`{path}` is a folder")]
    IsFolder {
        /// The path.
        path: String,
    },
    /// It is neither a plain file nor a folder.
    #[error("`{path}` is {what}, not a plain file")]
    NotPlain {
        /// The path.
        path: String,
        /// The kind of thing it is.
        what: &'static str,
    },
    /// It has a second name elsewhere, and is too large to be written anew.
    #[error("`{path}` has a second name (a hard link), through which another file would change too")]
    SecondName {
        /// The path.
        path: String,
    },
    /// The system refused.
    #[error("can't use `{path}`")]
    Io {
        /// The path.
        path: String,
        /// The system's error.
        source: io::Error,
    },
}

impl WorkdirError {
    /// The stable name that a tool result carries; the system's own where it has one.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Escapes { .. } => "PATH_ESCAPE",
            Self::Unusable { code, .. } => code,
            Self::IsFolder { .. } => "EISDIR",
            Self::NotPlain { .. } => "NOT_REGULAR",
            Self::SecondName { .. } => "EMLINK",
            Self::Io { source, .. } => errno_name(source),
        }
    }

    /// The message with its cause.
    #[must_use]
    pub fn explained(&self) -> String {
        match self {
            Self::Io { source, .. } => format!("{self}: {source}"),
            Self::Escapes { .. }
            | Self::Unusable { .. }
            | Self::IsFolder { .. }
            | Self::NotPlain { .. }
            | Self::SecondName { .. } => self.to_string(),
        }
    }

    pub(super) fn io(path: &WorkPath, source: io::Error) -> Self {
        let path = path.as_str().to_owned();
        // The handle reports a way out as a refusal of its own, without a number of the system's.
        let is_escape = source.kind() == io::ErrorKind::PermissionDenied && source.raw_os_error().is_none();
        if is_escape || source.raw_os_error() == Some(rustix::io::Errno::XDEV.raw_os_error()) {
            return Self::Escapes { path };
        }
        Self::Io { path, source }
    }
}

/// The system's name for an error, `EIO` for those that need no name of their own.
fn errno_name(error: &io::Error) -> &'static str {
    use rustix::io::Errno;
    const NAMES: [(Errno, &str); 16] = [
        (Errno::NOENT, "ENOENT"),
        (Errno::ACCESS, "EACCES"),
        (Errno::PERM, "EPERM"),
        (Errno::EXIST, "EEXIST"),
        (Errno::NOTDIR, "ENOTDIR"),
        (Errno::ISDIR, "EISDIR"),
        (Errno::NOTEMPTY, "ENOTEMPTY"),
        (Errno::LOOP, "ELOOP"),
        (Errno::NAMETOOLONG, "ENAMETOOLONG"),
        (Errno::NOSPC, "ENOSPC"),
        (Errno::DQUOT, "EDQUOT"),
        (Errno::ROFS, "EROFS"),
        (Errno::FBIG, "EFBIG"),
        (Errno::MFILE, "EMFILE"),
        (Errno::BUSY, "EBUSY"),
        (Errno::NXIO, "ENXIO"),
    ];
    let number = error.raw_os_error();
    NAMES.iter().find(|(errno, _)| Some(errno.raw_os_error()) == number).map_or("EIO", |(_, name)| name)
}
