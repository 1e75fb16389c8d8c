//! The files of projects that the operator trusts to run something: a configuration with hooks, a hook's script,
//! a list of tool servers.
//!
//! Such a file comes with the project and can be changed by whoever can change the project, an agent included. So
//! what is trusted is its very content, by hash, under its name in the project: any change makes it untrusted
//! again, and what was trusted is kept, so that the change can be shown. A copy of the project elsewhere is the
//! same to trust.
//!
//! In: a home. Out: [`Trust`]. The store is one file, a line of JSON for each path. A line that can't be read
//! trusts nothing, and each path has one line only, so that no damage brings back what was replaced.

use std::fs::OpenOptions;
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use adjutant_core::words::line_diff;
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::home::{Home, make_folder};
use crate::plain_file;

/// The longest file that can be trusted, in bytes.
pub const TRUSTED_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// The longest text that is kept to show a change by, in bytes.
const KEPT_BYTES_MAX: usize = 256 * 1024;
/// The longest store that is read, in bytes.
const STORE_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// The files that the operator trusts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trust {
    files: Vec<TrustedFile>,
    /// Number of lines of the store that could not be read: the files they named are not trusted.
    pub skipped: usize,
}

/// One file that was trusted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrustedFile {
    /// Its path.
    pub path: String,
    /// Its name in its project, such as `.adjutant/config.toml`.
    pub name: String,
    /// The hash of its content, 64 hexadecimal digits.
    pub hash: String,
    /// The content, where it is text and not too long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// The standing of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// Its content is trusted.
    Trusted,
    /// Nothing at this path was ever trusted.
    New,
    /// Something else was trusted at this path: this, where it was kept.
    Changed {
        /// The content that was trusted.
        before: Option<String>,
    },
}

/// Reason why the store can't be used. Nothing is trusted then.
#[derive(Debug, Error)]
pub enum TrustError {
    /// It can't be read or written.
    #[error("can't use the trust store `{path}`", path = path.display())]
    Unusable {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// Others could have written it.
    #[error("the trust store `{path}` can be written by others than you (mode {mode:03o})", path = path.display())]
    OpenToOthers {
        /// The file.
        path: PathBuf,
        /// Its mode, without the kind of file.
        mode: u32,
    },
    /// A file that is to be trusted can't be read.
    #[error("can't read `{path}`", path = path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

impl TrustError {
    /// Returns a hint at what to do about it.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::OpenToOthers { path, .. } => {
                Some(format!("look at what it says, then `chmod 600 {}`", path.display()))
            }
            Self::Unusable { .. } | Self::Unreadable { .. } => None,
        }
    }
}

impl Trust {
    /// Loads the store; empty if there is no file.
    ///
    /// # Errors
    ///
    /// [`TrustError`] if it is there and can't be relied on.
    pub fn load(home: &Home) -> Result<Self, TrustError> {
        let path = home.trust();
        let unusable = |source| TrustError::Unusable { path: path.clone(), source };
        let flags = i32::try_from((OFlags::NONBLOCK | OFlags::NOFOLLOW).bits()).unwrap_or(0);
        let file = match OpenOptions::new().read(true).custom_flags(flags).open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(unusable(error)),
        };
        let found = file.metadata().map_err(unusable)?;
        if !found.is_file() {
            return Err(unusable(io::Error::new(io::ErrorKind::InvalidInput, "it is not a file")));
        }
        let mode = found.mode() & 0o777;
        if mode & 0o022 != 0 || found.uid() != rustix::process::geteuid().as_raw() {
            return Err(TrustError::OpenToOthers { path, mode });
        }
        let mut bytes = Vec::new();
        file.take(STORE_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(unusable)?;
        if bytes.len() as u64 > STORE_BYTES_MAX {
            return Err(unusable(io::Error::new(io::ErrorKind::FileTooLarge, "it is longer than a store can be")));
        }
        let mut trust = Self::default();
        for line in bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            match serde_json::from_slice::<TrustedFile>(line) {
                Ok(file) if is_hash(&file.hash) && !trust.files.iter().any(|known| known.path == file.path) => {
                    trust.files.push(file);
                }
                Ok(_) | Err(_) => trust.skipped += 1,
            }
        }
        Ok(trust)
    }

    /// Everything that is trusted, in the order in which it was.
    #[must_use]
    pub fn files(&self) -> &[TrustedFile] {
        &self.files
    }

    /// Returns the standing of a file that is called `name` in its project and has the content `content`.
    #[must_use]
    pub fn standing(&self, path: &Path, name: &str, content: &[u8]) -> Standing {
        let hash = hash_of(content);
        if self.files.iter().any(|file| file.name == name && file.hash == hash) {
            return Standing::Trusted;
        }
        match self.files.iter().find(|file| Path::new(&file.path) == path) {
            Some(file) => Standing::Changed { before: file.text.clone() },
            None => Standing::New,
        }
    }

    /// Trusts what the file says now; what was trusted at its path before is not any more. Returns its hash.
    ///
    /// # Errors
    ///
    /// [`TrustError`] if the store can't be written.
    pub fn add(&mut self, home: &Home, path: &Path, name: &str, content: &[u8]) -> Result<String, TrustError> {
        let hash = hash_of(content);
        let path = path.display().to_string();
        let text = std::str::from_utf8(content).ok().filter(|text| text.len() <= KEPT_BYTES_MAX).map(str::to_owned);
        self.files.retain(|file| file.path != path);
        self.files.push(TrustedFile { path, name: name.to_owned(), hash: hash.clone(), text });
        self.write(home)?;
        Ok(hash)
    }

    /// Trusts the file at `path` no more; whether it was.
    ///
    /// # Errors
    ///
    /// [`TrustError`] if the store can't be written.
    pub fn remove(&mut self, home: &Home, path: &Path) -> Result<bool, TrustError> {
        let before = self.files.len();
        self.files.retain(|file| Path::new(&file.path) != path);
        let is_gone = self.files.len() < before;
        if is_gone {
            self.write(home)?;
        }
        Ok(is_gone)
    }

    /// Replaces the store as a whole.
    fn write(&self, home: &Home) -> Result<(), TrustError> {
        let path = home.trust();
        let written = || -> io::Result<()> {
            make_folder(home.root())?;
            // Made for its owner alone.
            let mut file = tempfile::NamedTempFile::new_in(home.root())?;
            for trusted in &self.files {
                serde_json::to_writer(&mut file, trusted)?;
                file.write_all(b"\n")?;
            }
            file.as_file().sync_all()?;
            file.persist(&path)?;
            Ok(())
        };
        written().map_err(|source| TrustError::Unusable { path: path.clone(), source })
    }
}

/// Remembers that the operator was asked about this content and said no, so that nobody asks again.
///
/// # Errors
///
/// [`TrustError`] if that can't be written.
pub fn decline(home: &Home, content: &[u8]) -> Result<(), TrustError> {
    let path = home.declined();
    let written = || -> io::Result<()> {
        make_folder(home.root())?;
        let mut file = OpenOptions::new().append(true).create(true).mode(0o600).open(&path)?;
        file.write_all(format!("{}\n", hash_of(content)).as_bytes())
    };
    written().map_err(|source| TrustError::Unusable { path: path.clone(), source })
}

/// Returns true if the operator was asked about this content and declined. It only spares a question: nothing is
/// trusted by it.
///
/// # Errors
///
/// [`TrustError`] if the record of declined contents is there and can't be read.
pub fn was_declined(home: &Home, content: &[u8]) -> Result<bool, TrustError> {
    let path = home.declined();
    let read = plain_file::read(&path, STORE_BYTES_MAX, "it is longer than a store can be");
    let declined = read.map_err(|source| TrustError::Unusable { path, source })?.unwrap_or_default();
    let hash = hash_of(content);
    Ok(declined.split(|byte| *byte == b'\n').any(|line| line == hash.as_bytes()))
}

/// The content of a file that may be trusted; `None` if there is none.
///
/// # Errors
///
/// [`TrustError::Unreadable`]; also for what is no plain file, or too long to be trusted.
pub fn content(path: &Path) -> Result<Option<Vec<u8>>, TrustError> {
    plain_file::read(path, TRUSTED_BYTES_MAX, "it is too long to be trusted")
        .map_err(|source| TrustError::Unreadable { path: path.to_owned(), source })
}

/// The hash that a content is trusted by.
#[must_use]
pub fn hash_of(content: &[u8]) -> String {
    blake3::hash(content).to_hex().to_string()
}

/// Returns the change of a file since it was trusted, as a unified diff.
#[must_use]
pub fn change(before: &str, now: &str) -> String {
    line_diff::unified(before, now, "trusted", "now")
}

fn is_hash(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    const NAME: &str = ".adjutant/config.toml";

    fn home() -> (tempfile::TempDir, Home) {
        let temp = tempfile::tempdir().expect("a folder");
        let home = Home::new(temp.path().join("home"), None);
        (temp, home)
    }

    fn standing(home: &Home, path: &str, name: &str, content: &str) -> Standing {
        Trust::load(home).expect("loaded").standing(Path::new(path), name, content.as_bytes())
    }

    #[test]
    fn a_content_is_trusted_under_its_name_until_it_changes() {
        let (_temp, home) = home();
        assert_eq!(standing(&home, "/p/.adjutant/config.toml", NAME, "a = 1\n"), Standing::New);
        let mut trust = Trust::load(&home).expect("loaded");
        trust.add(&home, Path::new("/p/.adjutant/config.toml"), NAME, b"a = 1\n").expect("added");
        for (path, name, content, expected) in [
            ("/p/.adjutant/config.toml", NAME, "a = 1\n", Standing::Trusted),
            ("/copy/.adjutant/config.toml", NAME, "a = 1\n", Standing::Trusted),
            ("/p/.mcp.json", ".mcp.json", "a = 1\n", Standing::New),
            ("/copy/.adjutant/config.toml", NAME, "a = 2\n", Standing::New),
            ("/p/.adjutant/config.toml", NAME, "a = 2\n", Standing::Changed { before: Some("a = 1\n".to_owned()) }),
        ] {
            assert_eq!(standing(&home, path, name, content), expected, "{path} {name} {content}");
        }
        let mode = fs::metadata(home.trust()).expect("there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn what_is_replaced_or_removed_is_trusted_no_more() {
        let (_temp, home) = home();
        let path = Path::new("/p/.mcp.json");
        let mut trust = Trust::default();
        trust.add(&home, path, ".mcp.json", b"one").expect("added");
        trust.add(&home, path, ".mcp.json", b"two").expect("added");
        assert_eq!(Trust::load(&home).expect("loaded").files().len(), 1);
        assert_eq!(
            standing(&home, "/p/.mcp.json", ".mcp.json", "one"),
            Standing::Changed { before: Some("two".into()) }
        );
        assert!(trust.remove(&home, path).expect("removed") && !trust.remove(&home, path).expect("nothing there"));
        assert_eq!(standing(&home, "/p/.mcp.json", ".mcp.json", "two"), Standing::New);
    }

    #[test]
    fn fail_closed_trust_store_damaged() {
        let (_temp, home) = home();
        let mut trust = Trust::default();
        for (path, name, content) in [("/a", "a", "1"), ("/b", "b", "2"), ("/c", "c", "3")] {
            trust.add(&home, Path::new(path), name, content.as_bytes()).expect("added");
        }
        let whole = fs::read(home.trust()).expect("read");
        // Whatever one byte becomes, nothing is trusted that was not, and nothing is an error or a panic.
        for at in 0..whole.len() {
            for byte in [b'\n', b'"', b'0', b'}', 0, 0xff] {
                let mut damaged = whole.clone();
                damaged[at] = byte;
                fs::write(home.trust(), &damaged).expect("written");
                let trust = Trust::load(&home).expect("loaded");
                for file in trust.files() {
                    let known = [("a", "1"), ("b", "2"), ("c", "3")];
                    let is_known = known.iter().any(|(_, content)| hash_of(content.as_bytes()) == file.hash);
                    assert!(is_known || at > 0, "{file:?}");
                }
                assert!(trust.files().len() <= 3);
                assert_ne!(trust.standing(Path::new("/a"), "a", b"evil"), Standing::Trusted);
            }
        }
        // A store that others can write, or that is no file, is not used at all.
        fs::write(home.trust(), &whole).expect("written");
        fs::set_permissions(home.trust(), fs::Permissions::from_mode(0o666)).expect("set");
        assert!(matches!(Trust::load(&home), Err(TrustError::OpenToOthers { .. })));
        fs::remove_file(home.trust()).expect("removed");
        fs::create_dir(home.trust()).expect("made");
        assert!(matches!(Trust::load(&home), Err(TrustError::Unusable { .. })));
        fs::remove_dir(home.trust()).expect("removed");
        std::os::unix::fs::symlink("/dev/null", home.trust()).expect("linked");
        assert!(matches!(Trust::load(&home), Err(TrustError::Unusable { .. })));
    }

    #[test]
    fn a_change_is_shown_line_by_line() {
        let shown = change("a\nb\n", "a\nc\n");
        assert_eq!(shown, "--- trusted\n+++ now\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n");
    }
}
