//! Contents that are too large for a line of a journal, named by their hash.
//!
//! In: bytes. Out: their blake3 hash, under which they are found again. What was kept never changes;
//! what no longer is what its name says is not handed out.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use adjutant_core::trace::verify::Artifact;

use crate::home::make_folder;
use crate::plain_file;

/// The longest content that stays in its line, in bytes; anything longer is kept here (design section 4).
pub const INLINE_BYTES_MAX: usize = 64 * 1024;

/// The longest time between keeping a content and recording the line that names it. A driver does both within moments.
pub const NAMED_WITHIN: Duration = Duration::from_secs(3600);

/// The folder of contents: `<2 digits>/<hash>`.
#[derive(Debug, Clone)]
pub struct Artifacts {
    folder: PathBuf,
}

impl Artifacts {
    /// The contents in `folder`, which need not exist yet.
    #[must_use]
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    /// Keeps `content` and returns its hash, 64 hexadecimal digits. When this returns it is on the disk,
    /// so that a line that names it never survives it.
    ///
    /// # Errors
    ///
    /// If it can't be written.
    pub fn keep(&self, content: &[u8]) -> io::Result<String> {
        let hash = blake3::hash(content).to_hex().to_string();
        let path = self.path(&hash);
        let folder = path.parent().unwrap_or(&self.folder);
        make_folder(folder)?;
        // Whoever prunes holds it while they look and remove: what is found stays long enough to be named.
        let _lock = lock(folder)?;
        let touch = || File::options().append(true).open(&path)?.set_modified(SystemTime::now());
        if self.kept(&hash).is_some() && touch().is_ok() {
            return Ok(hash);
        }
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(content)?;
        file.as_file().sync_data()?;
        // A damaged file of that name is replaced: the content is known now.
        file.persist(&path)?;
        sync_folder(folder)?;
        Ok(hash)
    }

    /// The content that was kept under `hash`; `None` if it isn't there, can't be read, or isn't what its
    /// name says any more.
    #[must_use]
    pub fn kept(&self, hash: &str) -> Option<Vec<u8>> {
        if !is_hash(hash) {
            return None;
        }
        let mut content = Vec::new();
        plain_file::open(&self.path(hash)).ok()?.read_to_end(&mut content).ok()?;
        (blake3::hash(&content).to_hex().as_str() == hash).then_some(content)
    }

    /// Returns the state of the content that was kept under `hash`.
    #[must_use]
    pub fn state(&self, hash: &str) -> Artifact {
        match is_hash(hash).then(|| self.path(hash).symlink_metadata()) {
            None | Some(Err(_)) => Artifact::Missing,
            Some(Ok(_)) if self.kept(hash).is_some() => Artifact::Whole,
            Some(Ok(_)) => Artifact::Changed,
        }
    }

    /// Returns the path and the length of the content with this hash, if it is there.
    #[must_use]
    pub fn find(&self, hash: &str) -> Option<(PathBuf, u64)> {
        let path = is_hash(hash).then(|| self.path(hash))?;
        let found = path.symlink_metadata().ok().filter(std::fs::Metadata::is_file)?;
        Some((path, found.len()))
    }

    /// Returns true if the content at `path` was kept within the last [`NAMED_WITHIN`]; false if it is gone.
    ///
    /// # Errors
    ///
    /// If the file system doesn't say.
    pub fn is_fresh(path: &Path) -> io::Result<bool> {
        match path.symlink_metadata() {
            Ok(found) => Ok(found.modified()?.elapsed().is_ok_and(|age| age < NAMED_WITHIN)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Removes the content that was kept under `hash`, unless somebody kept it within the last [`NAMED_WITHIN`]: a line
    /// may be about to name it. Says whether it is gone.
    ///
    /// # Errors
    ///
    /// If it can't be removed.
    pub fn remove(&self, hash: &str) -> io::Result<bool> {
        let Some((path, _)) = self.find(hash) else { return Ok(true) };
        let folder = path.parent().unwrap_or(&self.folder);
        let _lock = lock(folder)?;
        if Self::is_fresh(&path)? {
            return Ok(false);
        }
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(true),
        }
    }

    fn path(&self, hash: &str) -> PathBuf {
        self.folder.join(&hash[..2]).join(hash)
    }
}

fn is_hash(hash: &str) -> bool {
    hash.len() == 64 && hash.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

/// Holds the lock of a folder of contents until it is dropped.
fn lock(folder: &Path) -> io::Result<File> {
    let folder = File::open(folder)?;
    loop {
        match rustix::fs::flock(&folder, rustix::fs::FlockOperation::LockExclusive) {
            Ok(()) => return Ok(folder),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Returns when the names in `folder` are on the disk.
pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_found_by_its_hash() {
        let temp = tempfile::tempdir().expect("a folder");
        let artifacts = Artifacts::new(temp.path().join("artifacts"));
        for content in [&b""[..], b"x", &[7; INLINE_BYTES_MAX + 1]] {
            let hash = artifacts.keep(content).expect("kept");
            assert_eq!(artifacts.keep(content).expect("kept again"), hash);
            assert_eq!(artifacts.kept(&hash).as_deref(), Some(content));
            assert!(temp.path().join("artifacts").join(&hash[..2]).join(&hash).is_file());
        }
    }

    #[test]
    fn what_is_damaged_is_not_handed_out_and_can_be_kept_again() {
        let temp = tempfile::tempdir().expect("a folder");
        let artifacts = Artifacts::new(temp.path());
        let hash = artifacts.keep(b"whole").expect("kept");
        fs::write(temp.path().join(&hash[..2]).join(&hash), b"wh").expect("damaged");
        assert_eq!(artifacts.kept(&hash), None);
        assert_eq!(artifacts.keep(b"whole").expect("kept again"), hash);
        assert_eq!(artifacts.kept(&hash).as_deref(), Some(&b"whole"[..]));
    }

    #[test]
    fn what_was_kept_a_moment_ago_is_not_removed() {
        let temp = tempfile::tempdir().expect("a folder");
        let artifacts = Artifacts::new(temp.path());
        let hash = artifacts.keep(b"content").expect("kept");
        assert!(!artifacts.remove(&hash).expect("looked"));
        let age = |hash: &str| {
            let (path, _) = artifacts.find(hash).expect("there");
            let file = File::options().append(true).open(path).expect("opened");
            file.set_modified(SystemTime::now() - NAMED_WITHIN * 2).expect("aged");
        };
        age(&hash);
        artifacts.keep(b"content").expect("kept again");
        assert!(!artifacts.remove(&hash).expect("looked"), "keeping it again makes it new");
        age(&hash);
        assert!(artifacts.remove(&hash).expect("removed") && artifacts.find(&hash).is_none());
        assert!(artifacts.remove(&hash).expect("gone already"));
    }

    #[test]
    fn a_name_that_is_no_hash_leads_nowhere() {
        let temp = tempfile::tempdir().expect("a folder");
        let artifacts = Artifacts::new(temp.path().join("artifacts"));
        fs::write(temp.path().join("secret"), b"s").expect("written");
        for name in ["", "a", "../secret", "..", "é", &"A".repeat(64), &"../".repeat(30)] {
            assert_eq!(artifacts.kept(name), None, "{name}");
        }
    }
}
