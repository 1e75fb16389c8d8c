//! A file of lines that several processes of one user append to, and nobody else: read only if that is so, and
//! written whole lines at a time under a lock.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::thread;
use std::time::Duration;

use rustix::fs::{FlockOperation, OFlags};
use rustix::io::Errno;
use thiserror::Error;

use crate::artifacts::sync_folder;
use crate::home::make_folder;

/// Number of tries for the lock, a millisecond apart: others hold it for as long as one line takes to the disk, and
/// many may wait for it.
const LOCK_TRIES: u32 = 30_000;

/// A file as it was read under its lock, which ends with this value.
pub(crate) struct Locked {
    file: File,
    /// All that it says.
    pub(crate) bytes: Vec<u8>,
    folder_to_sync: Option<std::path::PathBuf>,
}

/// Reason why a file can't be this user's alone: its content may come from others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub(crate) enum NotOurs {
    /// A link, which may lead to what somebody else writes.
    #[error("it is a link, not a file itself")]
    Link,
    /// A folder, a pipe or the like.
    #[error("it is not a plain file")]
    NotPlain,
    /// Somebody else's.
    #[error("it belongs to the user {owner}, not to you (user {user})")]
    Owner {
        /// The user who owns the file.
        owner: u32,
        /// The user that this process acts for.
        user: u32,
    },
    /// Others can write it.
    #[error("it can be written by others than you (mode {mode:03o})")]
    Writable {
        /// Its mode.
        mode: u32,
    },
    /// It has a second name.
    #[error("it has another name elsewhere")]
    OtherName,
}

impl NotOurs {
    /// The reason in an error of this module, if it is one.
    pub(crate) fn of(error: &io::Error) -> Option<Self> {
        error.get_ref()?.downcast_ref().copied()
    }
}

impl From<NotOurs> for io::Error {
    fn from(why: NotOurs) -> Self {
        Self::new(io::ErrorKind::PermissionDenied, why)
    }
}

/// Reads the file at `path`, at most `bytes_max`; `None` if it doesn't exist.
///
/// # Errors
///
/// The system's error; also if it is not a plain file of this user that only they can write, or is longer.
pub(crate) fn read(path: &Path, bytes_max: u64) -> io::Result<Option<Vec<u8>>> {
    match OpenOptions::new().read(true).custom_flags(flags()).open(path) {
        Ok(file) => content(&file, bytes_max).map(Some),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(not_opened(error)),
    }
}

/// Opens the file at `path`, made if it is not there, and reads it under its lock.
///
/// # Errors
///
/// As [`read`]; [`io::ErrorKind::TimedOut`] if a process that does not go on has the lock.
pub(crate) fn lock(path: &Path, bytes_max: u64) -> io::Result<Locked> {
    let folder = path.parent().unwrap_or(Path::new("."));
    make_folder(folder)?;
    let is_new = !path.exists();
    let options = || {
        let mut options = OpenOptions::new();
        options.read(true).append(true).mode(0o600).custom_flags(flags());
        options
    };
    let file = options().create(true).open(path).map_err(not_opened)?;
    // Others may not even make this user wait for their lock.
    check(&file)?;
    for attempt in 0.. {
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => break,
            Err(rustix::io::Errno::WOULDBLOCK | rustix::io::Errno::INTR) if attempt < LOCK_TRIES => {}
            Err(rustix::io::Errno::WOULDBLOCK | rustix::io::Errno::INTR) => {
                return Err(io::Error::new(
                    io::ErrorKind::TimedOut,
                    "its lock is held by a process that does not go on",
                ));
            }
            Err(error) => return Err(error.into()),
        }
        if attempt < 20 { thread::yield_now() } else { thread::sleep(Duration::from_millis(1)) }
    }
    let bytes = content(&file, bytes_max)?;
    Ok(Locked { file, bytes, folder_to_sync: is_new.then(|| folder.to_owned()) })
}

impl Locked {
    /// Appends `lines`, each without its end, and returns when they are on the disk. A line that a crash tore is
    /// closed first, so that it takes none of these with it.
    ///
    /// # Errors
    ///
    /// If they are not on the disk: what was written in part is cut off again where that can be done.
    pub(crate) fn append(&mut self, lines: &[String]) -> io::Result<()> {
        let before = self.bytes.len() as u64;
        let mut whole =
            if self.bytes.last().is_some_and(|last| *last != b'\n') { "\n".to_owned() } else { String::new() };
        for line in lines {
            whole.push_str(line);
            whole.push('\n');
        }
        if let Err(error) = self.file.write_all(whole.as_bytes()) {
            self.file.set_len(before).ok();
            return Err(error);
        }
        self.file.sync_data()?;
        self.bytes.extend_from_slice(whole.as_bytes());
        match self.folder_to_sync.take() {
            Some(folder) => sync_folder(&folder),
            None => Ok(()),
        }
    }
}

fn flags() -> i32 {
    // Opening a pipe would wait for whoever writes into it, and a link may lead to what somebody else writes.
    i32::try_from((OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC).bits()).unwrap_or(0)
}

/// Explains a failure to open a file, in our words where the system's would mislead.
fn not_opened(error: io::Error) -> io::Error {
    match Errno::from_io_error(&error) {
        Some(Errno::LOOP) => NotOurs::Link.into(),
        Some(Errno::ISDIR | Errno::NXIO) => NotOurs::NotPlain.into(),
        _ => error,
    }
}

/// Checks that the open file is a plain one of this user that no other user can write.
fn check(file: &File) -> io::Result<()> {
    let found = file.metadata()?;
    if !found.is_file() {
        return Err(NotOurs::NotPlain.into());
    }
    let (owner, user) = (found.uid(), rustix::process::geteuid().as_raw());
    if owner != user {
        return Err(NotOurs::Owner { owner, user }.into());
    }
    let mode = found.mode() & 0o777;
    if mode & 0o022 != 0 {
        return Err(NotOurs::Writable { mode }.into());
    }
    if found.nlink() > 1 {
        return Err(NotOurs::OtherName.into());
    }
    Ok(())
}

fn content(file: &File, bytes_max: u64) -> io::Result<Vec<u8>> {
    check(file)?;
    let mut bytes = Vec::new();
    // By place, since the handle may be one that appends.
    let mut from = 0;
    let mut piece = vec![0; 64 * 1024];
    loop {
        match file.read_at(&mut piece, from) {
            Ok(0) => return Ok(bytes),
            Ok(read) => {
                bytes.extend_from_slice(piece.get(..read).unwrap_or_default());
                from += read as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        if from > bytes_max {
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, "it is longer than it can be"));
        }
    }
}
