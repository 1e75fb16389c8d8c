//! A text that an operator names, read only so far: `/dev/zero` is a file too.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// The text of the file at `path`, which is at most `bytes_max` long.
///
/// # Errors
///
/// The system's error; also for a longer file, and for one that is no UTF-8.
pub fn read(path: &Path, bytes_max: u64) -> io::Result<String> {
    read_from(File::open(path)?, bytes_max)
}

/// The text that `source` gives, at most `bytes_max` long.
///
/// # Errors
///
/// As for [`read`].
pub fn read_from(source: impl Read, bytes_max: u64) -> io::Result<String> {
    let mut bytes = Vec::new();
    source.take(bytes_max.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > bytes_max {
        let why = format!("it is longer than {bytes_max} bytes");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, why));
    }
    String::from_utf8(bytes).map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8 text"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_never_ends_is_read_no_further_than_it_may_be() {
        assert_eq!(read_from(&b"four"[..], 4).expect("read"), "four");
        assert_eq!(read_from(&b"four"[..], 3).expect_err("longer").kind(), io::ErrorKind::FileTooLarge);
        assert_eq!(read_from(io::repeat(b'a'), 1000).expect_err("longer").kind(), io::ErrorKind::FileTooLarge);
        assert_eq!(read_from(&b"\xff"[..], 3).expect_err("no text").kind(), io::ErrorKind::InvalidData);
    }
}
