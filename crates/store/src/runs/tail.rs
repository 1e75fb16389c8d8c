//! Reads the lines that a journal gained since it was last looked at.
//!
//! In: the file of a trace, ours or the peer's. Out: its whole lines, a few megabytes at a time. A line without its
//! line feed is still being written, and is handed out once it has one.

use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::summary::part;
use crate::plain_file;
use crate::scan::LINE_BYTES_MAX;

/// Number of bytes read at once; more only where one line needs it.
const PIECE_BYTES: u64 = 4 * 1024 * 1024;

/// A journal that is followed.
#[derive(Debug)]
pub struct Tail {
    path: PathBuf,
    file: File,
    inode: u64,
    /// Number of bytes that were handed out.
    given: u64,
    piece_bytes: u64,
}

/// The result of looking for new lines.
#[derive(Debug, PartialEq, Eq)]
pub enum Gained {
    /// Whole lines, each with its line feed; there may be more.
    Lines(Vec<u8>),
    /// Nothing.
    Nothing,
    /// The file is another than it was, or shorter: who follows must begin anew.
    Replaced,
}

impl Tail {
    /// Follows the file at `path` from its beginning.
    ///
    /// # Errors
    ///
    /// If it can't be opened.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = plain_file::open(path)?;
        let inode = file.metadata()?.ino();
        Ok(Self { path: path.to_owned(), file, inode, given: 0, piece_bytes: PIECE_BYTES })
    }

    /// The next lines, if there are any.
    ///
    /// # Errors
    ///
    /// If it can't be read, or a line is longer than any that a journal has.
    pub fn gained(&mut self) -> io::Result<Gained> {
        let bytes = match std::fs::metadata(&self.path) {
            Ok(found) if found.ino() == self.inode => found.len(),
            Ok(_) => return Ok(Gained::Replaced),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Gained::Replaced),
            Err(error) => return Err(error),
        };
        if bytes < self.given {
            return Ok(Gained::Replaced);
        }
        let mut wanted = self.piece_bytes;
        loop {
            let mut piece = part(&self.file, self.given, wanted.min(bytes - self.given))?;
            if let Some(end) = memchr::memrchr(b'\n', &piece) {
                piece.truncate(end + 1);
                self.given += piece.len() as u64;
                return Ok(Gained::Lines(piece));
            }
            if piece.len() as u64 >= bytes - self.given {
                return Ok(Gained::Nothing);
            }
            if piece.len() > LINE_BYTES_MAX {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "a line is longer than a journal's can be"));
            }
            wanted = wanted.saturating_mul(4);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn all(tail: &mut Tail) -> (Vec<u8>, Gained) {
        let mut lines = Vec::new();
        loop {
            match tail.gained().expect("readable") {
                Gained::Lines(more) => {
                    assert!(more.ends_with(b"\n"));
                    lines.extend(more);
                }
                end => return (lines, end),
            }
        }
    }

    #[test]
    fn what_is_written_comes_once_and_only_as_whole_lines() {
        let mut file = tempfile::NamedTempFile::new().expect("a file");
        let mut tail = Tail::open(file.path()).expect("opened");
        tail.piece_bytes = 3;
        assert_eq!(all(&mut tail), (Vec::new(), Gained::Nothing));
        file.write_all(b"a\nlonger than a piece\nto").expect("written");
        assert_eq!(all(&mut tail), (b"a\nlonger than a piece\n".to_vec(), Gained::Nothing));
        file.write_all(b"rn\n\nx").expect("written");
        assert_eq!(all(&mut tail), (b"torn\n\n".to_vec(), Gained::Nothing));
        // A driver that takes the run over cuts off what is torn: nothing of that was handed out.
        file.as_file().set_len(file.as_file().metadata().expect("there").len() - 1).expect("cut");
        assert_eq!(all(&mut tail), (Vec::new(), Gained::Nothing));
        file.as_file().set_len(2).expect("cut");
        assert_eq!(all(&mut tail).1, Gained::Replaced);
    }

    #[test]
    fn another_file_of_the_name_is_noticed() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("x");
        std::fs::write(&path, "a\n").expect("written");
        let mut tail = Tail::open(&path).expect("opened");
        assert_eq!(all(&mut tail).0, b"a\n");
        std::fs::write(folder.path().join("y"), "a\nb\n").expect("written");
        std::fs::rename(folder.path().join("y"), &path).expect("moved");
        assert_eq!(all(&mut tail).1, Gained::Replaced);
        std::fs::remove_file(&path).expect("removed");
        assert_eq!(all(&mut tail).1, Gained::Replaced);
    }
}
