//! The key file: `keys.toml` in the home, one key for each adapter.
//!
//! In: a home. Out: keys, or why the file can't be trusted to have kept them: it must be a plain file of its
//! owner's that nobody else can read or write. All of that is asked of the open file, not of its path, so
//! that nobody can change it in between. No error and no `Debug` has a value, or the file's text.
//!
//! Begin with [`load`].

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use adjutant_core::words::nearest::did_you_mean;
use rustix::fs::OFlags;
use thiserror::Error;
use toml::de::DeTable;

use crate::config::Origin;
use crate::home::Home;

/// The longest key file that is read, in bytes: anything longer is something else.
pub const KEYS_BYTES_MAX: u64 = 64 * 1024;

/// The mode bits that a key file must not have: any permission of its group and of others.
const OTHERS: u32 = 0o077;

/// The keys of a key file; none if there is no such file. `Debug` shows whose they are, not which.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Keys {
    keys: BTreeMap<String, AdapterKey>,
    /// Secrets that the configuration names and that are no adapter's key.
    besides: Vec<String>,
}

#[derive(Clone, PartialEq, Eq)]
struct AdapterKey {
    value: String,
    at: Origin,
}

impl Keys {
    /// The key of an adapter.
    #[must_use]
    pub fn get(&self, adapter: &str) -> Option<&str> {
        self.keys.get(adapter).map(|key| key.value.as_str())
    }

    /// Every key, also of adapters that nobody knows: what must not be shown or kept anywhere else.
    pub fn values(&self) -> impl Iterator<Item = &str> {
        self.keys.values().map(|key| key.value.as_str()).chain(self.besides.iter().map(String::as_str))
    }

    /// These, and secrets that are no adapter's key: they are among [`Self::values`].
    #[must_use]
    pub fn with(mut self, secrets: impl IntoIterator<Item = String>) -> Self {
        self.besides.extend(secrets);
        self
    }

    /// Returns a notice for each key of an adapter that is not among `known`, those that take a key, in the order of
    /// their names.
    #[must_use]
    pub fn strangers(&self, known: &[&str]) -> Vec<String> {
        let strangers = self.keys.iter().filter(|(adapter, _)| !known.contains(&adapter.as_str()));
        strangers
            .map(|(adapter, key)| {
                let what_else = did_you_mean(adapter, known)
                    .unwrap_or_else(|| format!("those that take one are {}", known.join(", ")));
                format!("no adapter of this version takes the key `{adapter}` in {}; {what_else}", key.at)
            })
            .collect()
    }
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.keys.keys()).finish()
    }
}

/// Reason why a key file can't be used.
#[derive(Debug, Error)]
pub enum KeysError {
    /// It can't be opened or read.
    #[error("can't read the key file `{path}`", path = path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// It is a link, a folder, a pipe or the like.
    #[error("the key file `{path}` is {what}, and must be a plain file", path = path.display())]
    NotAFile {
        /// The file.
        path: PathBuf,
        /// The kind of file it is.
        what: &'static str,
    },
    /// It is somebody else's.
    #[error("the key file `{path}` belongs to the user {owner}, not to you (user {user})", path = path.display())]
    OfSomebodyElse {
        /// The file.
        path: PathBuf,
        /// The number of its owner.
        owner: u32,
        /// The number of the user that this process acts for.
        user: u32,
    },
    /// Others may read or write it.
    #[error("the key file `{path}` is open to others (mode {mode:03o})", path = path.display())]
    OpenToOthers {
        /// The file.
        path: PathBuf,
        /// Its mode, without the kind of file.
        mode: u32,
    },
    /// It is longer than a key file can be.
    #[error("the key file `{path}` is longer than {KEYS_BYTES_MAX} bytes", path = path.display())]
    TooLong {
        /// The file.
        path: PathBuf,
    },
    /// It is not TOML.
    #[error("can't read the key file at {at}")]
    NotToml {
        /// The place of the mistake.
        at: Origin,
    },
    /// A key is no text, or an empty one.
    #[error("`{adapter}` in {at} is no key")]
    NoKey {
        /// The place of the value.
        at: Origin,
        /// The adapter.
        adapter: String,
    },
}

impl KeysError {
    /// Returns a hint at what to do about it: a command where one repairs it.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Unreadable { .. } => None,
            Self::NotAFile { .. } => Some("put the file itself there; a link to it is not followed".to_owned()),
            Self::OfSomebodyElse { path, user, .. } => {
                Some(format!("as its owner or root: `chown {user} {}`", quoted(path)))
            }
            Self::OpenToOthers { path, .. } => {
                Some(format!("`chmod 600 {}`; if others could read it, get a new key", quoted(path)))
            }
            Self::TooLong { .. } | Self::NotToml { .. } | Self::NoKey { .. } => {
                Some("a line has an adapter and its key, such as `anthropic = \"...\"`".to_owned())
            }
        }
    }
}

/// A path as a shell takes it.
fn quoted(path: &Path) -> String {
    let path = path.display().to_string();
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+@".contains(c);
    if path.chars().all(is_plain) { path } else { format!("'{}'", path.replace('\'', r"'\''")) }
}

/// The keys in the home's key file; none if there is no such file.
///
/// # Errors
///
/// [`KeysError`] if the file is not its owner's alone (this user's or root's), or holds anything but a flat
/// table of texts.
pub fn load(home: &Home) -> Result<Keys, KeysError> {
    let path = home.keys();
    let unreadable = |source| KeysError::Unreadable { path: path.clone(), source };
    // Opening a pipe would wait for whoever writes into it.
    let flags = i32::try_from((OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC).bits()).unwrap_or(0);
    let file = match OpenOptions::new().read(true).custom_flags(flags).open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Keys::default()),
        Err(error) if error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) => {
            return Err(KeysError::NotAFile { path, what: "a link" });
        }
        Err(error) => return Err(unreadable(error)),
    };
    judge(&path, &file.metadata().map_err(unreadable)?, rustix::process::geteuid().as_raw())?;
    read(&path, &content(&path, &file)?)
}

/// Checks that a file is readable by its owner alone, and that the owner is `user` or root.
fn judge(path: &Path, found: &Metadata, user: u32) -> Result<(), KeysError> {
    let path = || path.to_owned();
    if !found.is_file() {
        let what = if found.is_dir() { "a folder" } else { "a pipe, a socket or a device" };
        return Err(KeysError::NotAFile { path: path(), what });
    }
    if found.uid() != user && found.uid() != 0 {
        return Err(KeysError::OfSomebodyElse { path: path(), owner: found.uid(), user });
    }
    // The bits of the group include whatever an access list grants to anybody.
    if found.mode() & OTHERS != 0 {
        return Err(KeysError::OpenToOthers { path: path(), mode: found.mode() & 0o777 });
    }
    Ok(())
}

fn content(path: &Path, file: &File) -> Result<String, KeysError> {
    let mut text = String::new();
    file.take(KEYS_BYTES_MAX + 1)
        .read_to_string(&mut text)
        .map_err(|source| KeysError::Unreadable { path: path.to_owned(), source })?;
    if text.len() as u64 > KEYS_BYTES_MAX {
        return Err(KeysError::TooLong { path: path.to_owned() });
    }
    Ok(text)
}

fn read(path: &Path, text: &str) -> Result<Keys, KeysError> {
    let at = |span: std::ops::Range<usize>| Origin::of(path, text, span.start);
    // What the grammar says may quote the text, so only the place is told.
    let table =
        DeTable::parse(text).map_err(|error| KeysError::NotToml { at: at(error.span().unwrap_or_default()) })?;
    let mut keys = BTreeMap::new();
    for (adapter, value) in table.get_ref() {
        let name = adapter.get_ref().to_string();
        let at = at(adapter.span());
        let key = value.get_ref().as_str().map(str::trim).filter(|key| !key.is_empty());
        match key {
            Some(key) => keys.insert(name, AdapterKey { value: key.to_owned(), at }),
            None => return Err(KeysError::NoKey { at, adapter: name }),
        };
    }
    Ok(Keys { keys, besides: Vec::new() })
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    const KEY: &str = "canary-4f1c9b7ae2d05836";

    fn home_with(text: &str, mode: u32) -> (tempfile::TempDir, Home) {
        let temp = tempfile::tempdir().expect("a folder");
        let home = Home::new(temp.path(), None);
        fs::write(home.keys(), text).expect("written");
        fs::set_permissions(home.keys(), Permissions::from_mode(mode)).expect("set");
        (temp, home)
    }

    /// The message and the hint about a key file with this text and mode; neither has the key.
    #[track_caller]
    fn check(text: &str, mode: u32, message: &str, hint: &str) {
        let (_temp, home) = home_with(text, mode);
        let error = load(&home).expect_err(message);
        assert!(!format!("{error:?}").contains(KEY), "{error:?}");
        let told = |text: String| text.replace(&home.root().display().to_string(), "~");
        assert_eq!((told(error.to_string()), told(error.hint().expect("a hint"))), (message.into(), hint.into()));
    }

    #[test]
    fn a_file_that_is_its_owners_alone_has_a_key_for_each_adapter() {
        for mode in [0o600, 0o400] {
            let (_temp, home) = home_with(&format!("# mine\nanthropic = \" {KEY}\\n\"\nopenai = 'other'\n"), mode);
            let keys = load(&home).expect("loaded");
            assert_eq!((keys.get("anthropic"), keys.get("gemini")), (Some(KEY), None));
            assert_eq!(keys.values().collect::<Vec<_>>(), [KEY, "other"]);
            assert_eq!(format!("{keys:?}"), r#"{"anthropic", "openai"}"#);
        }
    }

    #[test]
    fn no_file_is_no_key() {
        let temp = tempfile::tempdir().expect("a folder");
        assert_eq!(load(&Home::new(temp.path().join("nowhere"), None)).expect("loaded"), Keys::default());
    }

    #[test]
    fn what_others_can_read_or_write_is_refused_with_the_command_that_mends_it() {
        let mend = "`chmod 600 ~/keys.toml`; if others could read it, get a new key";
        for mode in [0o640, 0o604, 0o620, 0o602, 0o610, 0o644, 0o666] {
            let message = format!("the key file `~/keys.toml` is open to others (mode {mode:03o})");
            check(&format!("anthropic = '{KEY}'"), mode, &message, mend);
        }
    }

    #[test]
    fn what_is_no_flat_table_of_texts_is_refused_by_its_place_alone() {
        let hint = "a line has an adapter and its key, such as `anthropic = \"...\"`";
        check(&format!("\nanthropic = {KEY}"), 0o600, "can't read the key file at ~/keys.toml:2:13", hint);
        check(&format!("a = '1'\na = '{KEY}'"), 0o600, "can't read the key file at ~/keys.toml:2:1", hint);
        check("anthropic = ' '", 0o600, "`anthropic` in ~/keys.toml:1:1 is no key", hint);
        check("[anthropic]\nkey = 'x'", 0o600, "`anthropic` in ~/keys.toml:1:2 is no key", hint);
        let long = format!("# {}", "x".repeat(usize::try_from(KEYS_BYTES_MAX).expect("small")));
        check(&long, 0o600, "the key file `~/keys.toml` is longer than 65536 bytes", hint);
    }

    #[test]
    fn what_is_no_plain_file_is_refused_and_a_link_is_not_followed() {
        let (_temp, home) = home_with(&format!("anthropic = '{KEY}'"), 0o600);
        let elsewhere = home.root().join("elsewhere");
        fs::rename(home.keys(), &elsewhere).expect("moved");
        symlink(&elsewhere, home.keys()).expect("linked");
        assert!(matches!(load(&home), Err(KeysError::NotAFile { what: "a link", .. })));
        fs::remove_file(home.keys()).expect("removed");
        fs::create_dir(home.keys()).expect("made");
        assert!(matches!(load(&home), Err(KeysError::NotAFile { what: "a folder", .. })));
        fs::remove_dir(home.keys()).expect("removed");
        rustix::fs::mkfifoat(rustix::fs::CWD, home.keys(), rustix::fs::Mode::RUSR).expect("made");
        assert!(matches!(load(&home), Err(KeysError::NotAFile { what: "a pipe, a socket or a device", .. })));
    }

    #[test]
    fn the_owner_must_be_this_user_or_root() {
        let (_temp, home) = home_with("", 0o600);
        let found = home.keys().metadata().expect("there");
        assert!(judge(&home.keys(), &found, found.uid()).is_ok());
        let stranger = found.uid() + 1;
        match judge(&home.keys(), &found, stranger) {
            // The tests may be run by root, whose file anybody may rely on.
            Ok(()) => assert_eq!(found.uid(), 0),
            Err(error) => {
                assert!(error.hint().expect("a hint").contains(&format!("chown {stranger} ")), "{error}");
            }
        }
    }

    #[test]
    fn a_key_of_no_adapter_is_told_with_what_was_meant() {
        let (_temp, home) = home_with("antropic = 'x'\nopenai = 'y'\nzzz = 'w'", 0o600);
        let told = load(&home).expect("loaded").strangers(&["anthropic", "openai"]);
        let told: Vec<String> = told.iter().map(|said| said.replace(&home.root().display().to_string(), "~")).collect();
        assert_eq!(
            told,
            [
                "no adapter of this version takes the key `antropic` in ~/keys.toml:1:1; did you mean `anthropic`?",
                "no adapter of this version takes the key `zzz` in ~/keys.toml:3:1; those that take one are anthropic, openai",
            ]
        );
    }

    #[test]
    fn a_path_is_quoted_for_a_shell_where_it_must_be() {
        for (path, shell) in [("/a/.b-c/d.toml", "/a/.b-c/d.toml"), ("/a b", "'/a b'"), ("/it's", r"'/it'\''s'")] {
            assert_eq!(quoted(Path::new(path)), shell);
        }
    }
}
