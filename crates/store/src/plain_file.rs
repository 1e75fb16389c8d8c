//! A file that somebody else may have put there: read only if it is a plain one, and only so far.

use std::fs::OpenOptions;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// The content of the file at `path`, at most `bytes_max` long; `None` if there is none.
///
/// # Errors
///
/// The system's error; also for what is no plain file, and `too_long` for a longer one.
pub(crate) fn read(path: &Path, bytes_max: u64, too_long: &'static str) -> io::Result<Option<Vec<u8>>> {
    // Opening a pipe would wait for whoever writes into it.
    let flags = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap_or(0);
    let file = match OpenOptions::new().read(true).custom_flags(flags).open(path) {
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
