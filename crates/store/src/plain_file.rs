//! A file that somebody else may have put there: read only if it is a plain one, and only so far.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// The file at `path`, opened for reading: never waited for, as a pipe would have it, and no link to another.
///
/// # Errors
///
/// The system's error; also for what is no plain file.
pub fn open(path: &Path) -> io::Result<File> {
    Ok(open_with_metadata(path)?.0)
}

/// The same, with what was found out about it.
///
/// # Errors
///
/// As above.
pub(crate) fn open_with_metadata(path: &Path) -> io::Result<(File, Metadata)> {
    plain(OpenOptions::new().read(true).custom_flags(flags(rustix::fs::OFlags::NOFOLLOW)).open(path))
}

/// The same for appending, its owner's alone if it is made.
///
/// # Errors
///
/// As above; also if it is to be made and is there.
pub(crate) fn open_for_append(path: &Path, create: bool) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).append(true).create_new(create).mode(0o600);
    Ok(plain(options.custom_flags(flags(rustix::fs::OFlags::NOFOLLOW)).open(path))?.0)
}

fn plain(opened: io::Result<File>) -> io::Result<(File, Metadata)> {
    let no_file = |why| io::Error::new(io::ErrorKind::InvalidInput, why);
    let file = match opened {
        Ok(file) => file,
        Err(error) if error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) => {
            return Err(no_file("it is a link, not a file"));
        }
        // A pipe that nobody reads.
        Err(error) if error.raw_os_error() == Some(rustix::io::Errno::NXIO.raw_os_error()) => {
            return Err(no_file("it is not a file"));
        }
        Err(error) => return Err(error),
    };
    let found = file.metadata()?;
    if found.is_file() { Ok((file, found)) } else { Err(no_file("it is not a file")) }
}

fn flags(more: rustix::fs::OFlags) -> i32 {
    // Opening a pipe would wait for whoever writes into it.
    i32::try_from((rustix::fs::OFlags::NONBLOCK | more).bits()).unwrap_or(0)
}

/// The content of the file at `path`, at most `bytes_max` long; `None` if there is none.
///
/// # Errors
///
/// The system's error; also for what is no plain file, and `too_long` for a longer one.
pub(crate) fn read(path: &Path, bytes_max: u64, too_long: &'static str) -> io::Result<Option<Vec<u8>>> {
    let file = match OpenOptions::new().read(true).custom_flags(flags(rustix::fs::OFlags::empty())).open(path) {
        Ok(file) => file,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a file"));
    }
    let mut content = Vec::new();
    file.take(bytes_max + 1).read_to_end(&mut content)?;
    if content.len() as u64 > bytes_max {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, too_long));
    }
    Ok(Some(content))
}
