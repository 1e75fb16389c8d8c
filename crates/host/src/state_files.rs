//! Small files below `.adjutant/` of a workdir, written so that a reader sees the old content or the new.
//!
//! They are for shell scripts and for people with only a shell: what a loop says of itself, and what a person puts
//! there for it. The agent can write there too, so no link is followed, in any folder of a path, and only plain small
//! files are read. Each folder is opened from the one above it.
//!
//! A file is written beside its place, brought to the disk, and renamed; then its folder is brought to the disk. A
//! process that is killed in between leaves a temporary file that nobody reads.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, RenameFlags};
use rustix::io::Errno;
use thiserror::Error;

/// The most bytes that are read or written: 64 KiB to read, 1 MiB to write.
pub const READ_BYTES_MAX: u64 = 64 << 10;
const WRITTEN_BYTES_MAX: usize = 1 << 20;

/// The folder that all of it lies in.
pub const FOLDER: &str = ".adjutant";
/// The folder in it for what was taken away.
const TAKEN: &str = "logs";
/// The most numbers that are tried for a name that is not taken yet.
const NUMBERS_MAX: u32 = 1_000;

/// Makes names of temporary files unique within the process; the process id does it between processes.
static TEMPORARY_FILES: AtomicU64 = AtomicU64::new(0);

/// A file below `.adjutant/`, and the change to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateFile {
    /// Its path below `.adjutant/`, with `/` between names.
    pub path: String,
    /// The change.
    pub change: StateFileChange,
}

/// Files and folders below `.adjutant/` that a loop, or the person who has a hand on it, puts there.
const OF_LOOPS: [&str; 7] = ["PAUSE", "STOP", "MESSAGE", "state", "handoffs", "signals", "logs"];

/// Returns true if `path`, relative to a workdir, is the folder of these files or one of them: no change of a run's.
#[must_use]
pub fn is_own(path: &str) -> bool {
    let mut names = path.trim_end_matches('/').split('/');
    names.next() == Some(FOLDER) && names.next().is_none_or(|name| OF_LOOPS.contains(&name))
}

/// A change to a file below `.adjutant/`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StateFileChange {
    /// Writes it, in place of one that is there.
    Replace(Vec<u8>),
    /// Writes it if there is nothing yet.
    CreateNew(Vec<u8>),
    /// Removes it.
    Remove,
}

/// The outcome of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StateFileOutcome {
    /// It has the new content, on the disk.
    Written,
    /// Something was there already, and stays.
    LeftAlone,
    /// It is gone.
    Removed,
    /// There was nothing to remove.
    Absent,
}

/// Reason why a file below `.adjutant/` can't be used.
#[derive(Debug, Error)]
#[error("can't use .adjutant/{path}: {why}")]
pub struct StateFileError {
    /// The path below `.adjutant/`.
    pub path: String,
    /// The reason.
    pub why: String,
}

/// Makes the changes, in order. Each is made or fails for itself.
#[must_use]
pub fn apply(workdir: &Path, files: &[StateFile]) -> Vec<Result<StateFileOutcome, StateFileError>> {
    let one = |file: &StateFile| change(workdir, file).map_err(|why| StateFileError { path: file.path.clone(), why });
    files.iter().map(one).collect()
}

/// Reads a file below `.adjutant/`; `None` if there is none.
///
/// # Errors
///
/// If it is longer than [`READ_BYTES_MAX`], is no plain file, lies behind a link, or can't be read.
pub fn read(workdir: &Path, path: &str) -> Result<Option<Vec<u8>>, StateFileError> {
    read_plain(workdir, path).map_err(|why| StateFileError { path: path.to_owned(), why })
}

/// Takes the file `name` of `.adjutant/` away: moves it to `logs/<name>-<at_s>`, or with a number behind that if there
/// is one. Returns its path below `.adjutant/`, or `None` if there was nothing.
///
/// It is moved, whatever it is: a link is not followed.
///
/// # Errors
///
/// If a folder can't be made or is a link, or the system refuses.
pub fn take_away(workdir: &Path, name: &str, at_s: u64) -> Result<Option<String>, StateFileError> {
    move_away(workdir, name, at_s).map_err(|why| StateFileError { path: name.to_owned(), why })
}

fn change(workdir: &Path, file: &StateFile) -> Result<StateFileOutcome, String> {
    let (folders, name) = names(&file.path)?;
    match &file.change {
        StateFileChange::Replace(content) => {
            let folder = made(workdir, &folders)?;
            write(&folder, name, content, true)
        }
        StateFileChange::CreateNew(content) => {
            let folder = made(workdir, &folders)?;
            if is_there(&folder, name) {
                return Ok(StateFileOutcome::LeftAlone);
            }
            write(&folder, name, content, false)
        }
        StateFileChange::Remove => {
            let Some(folder) = opened(workdir, &folders)? else { return Ok(StateFileOutcome::Absent) };
            match rustix::fs::unlinkat(&folder, name, AtFlags::empty()) {
                Ok(()) => sync(&folder).map(|()| StateFileOutcome::Removed),
                Err(Errno::NOENT) => Ok(StateFileOutcome::Absent),
                Err(error) => Err(told(error)),
            }
        }
    }
}

/// The folders of a path, `.adjutant` among them, and the name in the last.
fn names(path: &str) -> Result<(Vec<&str>, &str), String> {
    let is_plain = |name: &str| !matches!(name, "" | "." | "..") && name.len() <= 255 && !name.contains('\0');
    if !path.split('/').all(is_plain) {
        return Err("it is no path below a folder".to_owned());
    }
    match path.rsplit_once('/') {
        Some((folders, name)) => Ok(([FOLDER].into_iter().chain(folders.split('/')).collect(), name)),
        None => Ok((vec![FOLDER], path)),
    }
}

const FOLDER_FLAGS: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

fn root(workdir: &Path) -> Result<OwnedFd, String> {
    rustix::fs::openat(CWD, workdir, FOLDER_FLAGS, Mode::empty()).map_err(told)
}

/// Opens one folder in another; `None` if it is not there.
fn enter(folder: &OwnedFd, name: &str) -> Result<Option<OwnedFd>, String> {
    match rustix::fs::openat(folder, name, FOLDER_FLAGS | OFlags::NOFOLLOW, Mode::empty()) {
        Ok(entered) => Ok(Some(entered)),
        Err(Errno::NOENT) => Ok(None),
        Err(Errno::NOTDIR | Errno::LOOP) => {
            let found = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).map_err(told)?;
            let what = if FileType::from_raw_mode(found.st_mode) == FileType::Symlink { "a link" } else { "no folder" };
            Err(format!("`{name}` is {what}, and nothing is done through it: remove it"))
        }
        Err(error) => Err(told(error)),
    }
}

fn opened(workdir: &Path, folders: &[&str]) -> Result<Option<OwnedFd>, String> {
    let mut at = root(workdir)?;
    for name in folders {
        match enter(&at, name)? {
            Some(entered) => at = entered,
            None => return Ok(None),
        }
    }
    Ok(Some(at))
}

/// Opens the last of the folders; those that are not there are made, for the owner alone.
fn made(workdir: &Path, folders: &[&str]) -> Result<OwnedFd, String> {
    let mut at = root(workdir)?;
    for name in folders {
        let entered = match enter(&at, name)? {
            Some(entered) => Some(entered),
            None => {
                match rustix::fs::mkdirat(&at, *name, Mode::RWXU) {
                    Ok(()) => sync(&at)?,
                    Err(Errno::EXIST) => {}
                    Err(error) => return Err(told(error)),
                }
                enter(&at, name)?
            }
        };
        at = entered.ok_or_else(|| format!("`{name}` was removed meanwhile"))?;
    }
    Ok(at)
}

fn write(folder: &OwnedFd, name: &str, content: &[u8], replaces: bool) -> Result<StateFileOutcome, String> {
    if content.len() > WRITTEN_BYTES_MAX {
        return Err(format!("it would have {} bytes, more than {WRITTEN_BYTES_MAX}", content.len()));
    }
    let (mut file, temporary) = temporary(folder)?;
    let done =
        file.write_all(content).and_then(|()| file.sync_all()).map_err(|error| error.to_string()).and_then(|()| {
            if replaces { replace(folder, &temporary, name) } else { put_new(folder, &temporary, name) }
        });
    if !matches!(done, Ok(StateFileOutcome::Written)) {
        // The failure is what is worth telling; the file does no harm.
        rustix::fs::unlinkat(folder, &temporary, AtFlags::empty()).ok();
    }
    let outcome = done?;
    sync(folder)?;
    Ok(outcome)
}

fn replace(folder: &OwnedFd, temporary: &str, name: &str) -> Result<StateFileOutcome, String> {
    rustix::fs::renameat(folder, temporary, folder, name).map(|()| StateFileOutcome::Written).map_err(told)
}

fn put_new(folder: &OwnedFd, temporary: &str, name: &str) -> Result<StateFileOutcome, String> {
    match rename_to_new(folder, temporary, folder, name) {
        Ok(()) => Ok(StateFileOutcome::Written),
        Err(Errno::EXIST) => Ok(StateFileOutcome::LeftAlone),
        Err(error) => Err(told(error)),
    }
}

/// Renames, unless something has the new name.
fn rename_to_new(from: &OwnedFd, name: &str, to: &OwnedFd, new_name: &str) -> Result<(), Errno> {
    match rustix::fs::renameat_with(from, name, to, new_name, RenameFlags::NOREPLACE) {
        // Some file systems don't know the flag, but all that know a second name refuse one that is taken.
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
            rustix::fs::linkat(from, name, to, new_name, AtFlags::empty())?;
            rustix::fs::unlinkat(from, name, AtFlags::empty())
        }
        renamed => renamed,
    }
}

fn temporary(folder: &OwnedFd) -> Result<(File, String), String> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    for _ in 0..NUMBERS_MAX {
        let number = TEMPORARY_FILES.fetch_add(1, Ordering::Relaxed);
        let name = format!(".adjutant-tmp-{}-{number}", std::process::id());
        match rustix::fs::openat(folder, &name, flags, Mode::from_raw_mode(0o666)) {
            Ok(file) => return Ok((file.into(), name)),
            // Left by a process of this number that was killed.
            Err(Errno::EXIST) => {}
            Err(error) => return Err(told(error)),
        }
    }
    Err("too many temporary files are left beside it".to_owned())
}

fn read_plain(workdir: &Path, path: &str) -> Result<Option<Vec<u8>>, String> {
    let (folders, name) = names(path)?;
    let Some(folder) = opened(workdir, &folders)? else { return Ok(None) };
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = match rustix::fs::openat(&folder, name, flags, Mode::empty()) {
        Ok(file) => File::from(file),
        Err(Errno::NOENT) => return Ok(None),
        Err(Errno::LOOP) => return Err("it is a link, and none is followed".to_owned()),
        Err(error) => return Err(told(error)),
    };
    if !file.metadata().map_err(|error| error.to_string())?.is_file() {
        return Err("it is no plain file".to_owned());
    }
    let mut content = Vec::new();
    file.take(READ_BYTES_MAX + 1).read_to_end(&mut content).map_err(|error| error.to_string())?;
    if content.len() as u64 > READ_BYTES_MAX {
        return Err(format!("it has more than {READ_BYTES_MAX} bytes"));
    }
    Ok(Some(content))
}

fn move_away(workdir: &Path, name: &str, at_s: u64) -> Result<Option<String>, String> {
    let (folders, plain) = names(name)?;
    let Some(folder) = opened(workdir, &folders)? else { return Ok(None) };
    if !is_there(&folder, plain) {
        return Ok(None);
    }
    let to = made(workdir, &[FOLDER, TAKEN])?;
    for number in 0..NUMBERS_MAX {
        let new_name = if number == 0 { format!("{plain}-{at_s}") } else { format!("{plain}-{at_s}-{}", number + 1) };
        match rename_to_new(&folder, plain, &to, &new_name) {
            Ok(()) => {
                sync(&to)?;
                sync(&folder)?;
                return Ok(Some(format!("{TAKEN}/{new_name}")));
            }
            Err(Errno::EXIST) => {}
            // Whoever put it there took it back.
            Err(Errno::NOENT) => return Ok(None),
            Err(error) => return Err(told(error)),
        }
    }
    Err(format!("too many files of its name are in .adjutant/{TAKEN}"))
}

fn is_there(folder: &OwnedFd, name: &str) -> bool {
    !matches!(rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW), Err(Errno::NOENT))
}

fn sync(folder: impl AsFd) -> Result<(), String> {
    match rustix::fs::fsync(folder) {
        // A file system that can't bring a folder to the disk by itself.
        Ok(()) | Err(Errno::INVAL) => Ok(()),
        Err(error) => Err(told(error)),
    }
}

fn told(error: Errno) -> String {
    io::Error::from(error).to_string()
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn one(path: &str, change: StateFileChange) -> StateFile {
        StateFile { path: path.to_owned(), change }
    }

    fn made_of(workdir: &Path, path: &str, change: StateFileChange) -> Result<StateFileOutcome, String> {
        let mut outcomes = apply(workdir, &[one(path, change)]);
        outcomes.pop().expect("an outcome").map_err(|error| error.to_string())
    }

    fn replaced(workdir: &Path, path: &str, content: &str) -> Result<StateFileOutcome, String> {
        made_of(workdir, path, StateFileChange::Replace(content.as_bytes().to_vec()))
    }

    fn text(workdir: &Path, path: &str) -> String {
        String::from_utf8(read(workdir, path).expect("read").expect("there")).expect("text")
    }

    #[test]
    fn a_set_of_files_is_written_replaced_created_and_removed() {
        let place = tempfile::tempdir().expect("a folder");
        let dir = place.path();
        let files = [
            one("state/a.json", StateFileChange::Replace(b"1".to_vec())),
            one("PAUSE", StateFileChange::CreateNew(b"first".to_vec())),
            one("PAUSE", StateFileChange::CreateNew(b"second".to_vec())),
            one("state/a.json", StateFileChange::Replace(b"22".to_vec())),
            one("gone", StateFileChange::Remove),
            one("none/gone", StateFileChange::Remove),
        ];
        let outcomes: Vec<StateFileOutcome> = apply(dir, &files).into_iter().map(|done| done.expect("done")).collect();
        use StateFileOutcome::{Absent, LeftAlone, Removed, Written};
        assert_eq!(outcomes, [Written, Written, LeftAlone, Written, Absent, Absent]);
        assert_eq!((text(dir, "state/a.json").as_str(), text(dir, "PAUSE").as_str()), ("22", "first"));
        assert_eq!(made_of(dir, "PAUSE", StateFileChange::Remove), Ok(Removed));
        assert!(read(dir, "PAUSE").expect("read").is_none());
        assert!(!dir.join(".adjutant/none").exists() && !dir.join(".adjutant/.gitignore").exists());
        let mode = fs::metadata(dir.join(".adjutant/state")).expect("there").permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        // No temporary file is left.
        assert_eq!(fs::read_dir(dir.join(".adjutant/state")).expect("listed").count(), 1);
    }

    #[test]
    fn nothing_is_written_read_or_removed_through_a_link() {
        let place = tempfile::tempdir().expect("a folder");
        let (dir, outside) = (place.path().join("w"), place.path().join("outside"));
        fs::create_dir_all(dir.join(".adjutant")).expect("made");
        fs::create_dir(&outside).expect("made");
        fs::write(outside.join("a"), "outside").expect("written");
        symlink(&outside, dir.join(".adjutant/state")).expect("linked");
        for change in [
            StateFileChange::Replace(b"x".to_vec()),
            StateFileChange::CreateNew(b"x".to_vec()),
            StateFileChange::Remove,
        ] {
            let why = made_of(&dir, "state/a", change).expect_err("through a link");
            assert!(why.contains("`state` is a link"), "{why}");
        }
        assert!(read(&dir, "state/a").is_err());
        symlink(outside.join("a"), dir.join(".adjutant/STOP")).expect("linked");
        let why = read(&dir, "STOP").expect_err("a link").to_string();
        assert!(why.contains("it is a link"), "{why}");
        // The link itself makes way.
        assert_eq!(replaced(&dir, "STOP", "mine"), Ok(StateFileOutcome::Written));
        assert_eq!(text(&dir, "STOP"), "mine");
        assert_eq!(fs::read_to_string(outside.join("a")).expect("there"), "outside");
        assert_eq!(fs::read_dir(&outside).expect("listed").count(), 1);

        let other = place.path().join("w2");
        fs::create_dir(&other).expect("made");
        symlink(&outside, other.join(".adjutant")).expect("linked");
        assert!(replaced(&other, "a", "x").expect_err("through a link").contains("`.adjutant` is a link"));
    }

    #[test]
    fn paths_that_lead_elsewhere_are_refused() {
        let place = tempfile::tempdir().expect("a folder");
        for path in ["", "/etc/x", "../x", "a/../../x", "a//b", "a/", ".", "a\0b"] {
            assert!(replaced(place.path(), path, "x").is_err(), "{path:?}");
            assert!(read(place.path(), path).is_err(), "{path:?}");
        }
        assert_eq!(fs::read_dir(place.path()).expect("listed").count(), 0);
    }

    #[test]
    fn only_small_plain_files_are_read() {
        let place = tempfile::tempdir().expect("a folder");
        let folder = place.path().join(".adjutant");
        fs::create_dir(&folder).expect("made");
        fs::write(folder.join("full"), vec![b'x'; READ_BYTES_MAX as usize]).expect("written");
        fs::write(folder.join("over"), vec![b'x'; READ_BYTES_MAX as usize + 1]).expect("written");
        fs::create_dir(folder.join("folder")).expect("made");
        rustix::fs::mknodat(CWD, folder.join("fifo"), FileType::Fifo, Mode::RWXU, 0).expect("a fifo");
        assert_eq!(text(place.path(), "full").len() as u64, READ_BYTES_MAX);
        for name in ["over", "folder", "fifo"] {
            assert!(read(place.path(), name).is_err(), "{name}");
        }
        assert!(read(place.path(), "absent").expect("read").is_none());
    }

    #[test]
    fn a_temporary_file_that_was_left_does_no_harm() {
        let place = tempfile::tempdir().expect("a folder");
        replaced(place.path(), "state/a", "old").expect("written");
        let folder = place.path().join(".adjutant/state");
        let next = TEMPORARY_FILES.load(Ordering::Relaxed);
        for number in next..next + 20 {
            fs::write(folder.join(format!(".adjutant-tmp-{}-{number}", std::process::id())), "half").expect("written");
        }
        replaced(place.path(), "state/a", "new").expect("written");
        assert_eq!(text(place.path(), "state/a"), "new");
    }

    #[test]
    fn a_folder_that_can_not_be_written_is_told_and_the_rest_is_done() {
        let place = tempfile::tempdir().expect("a folder");
        replaced(place.path(), "state/a", "old").expect("written");
        fs::write(place.path().join(".adjutant/logs"), "a file").expect("written");
        let outcomes = apply(
            place.path(),
            &[
                one("logs/x", StateFileChange::Replace(b"x".to_vec())),
                one("state/a", StateFileChange::Replace(b"new".to_vec())),
            ],
        );
        let why = outcomes[0].as_ref().expect_err("no folder").to_string();
        assert!(why.contains("logs/x") && why.contains("no folder"), "{why}");
        assert!(outcomes[1].is_ok());
        // Whoever may do everything isn't stopped by permissions.
        fs::set_permissions(place.path().join(".adjutant/state"), Permissions::from_mode(0o500)).expect("set");
        let written = replaced(place.path(), "state/a", "newer");
        assert_eq!(written.is_err(), !rustix::process::geteuid().is_root());
        fs::set_permissions(place.path().join(".adjutant/state"), Permissions::from_mode(0o700)).expect("set");
    }

    #[test]
    fn what_a_person_put_there_is_moved_and_nothing_is_overwritten() {
        let place = tempfile::tempdir().expect("a folder");
        let dir = place.path();
        assert_eq!(take_away(dir, "MESSAGE", 7).expect("looked"), None);
        for (content, expected) in
            [("one", "logs/MESSAGE-7"), ("two", "logs/MESSAGE-7-2"), ("three", "logs/MESSAGE-7-3")]
        {
            replaced(dir, "MESSAGE", content).expect("written");
            assert_eq!(take_away(dir, "MESSAGE", 7).expect("taken").as_deref(), Some(expected));
            assert_eq!(text(dir, expected), content);
        }
        assert!(read(dir, "MESSAGE").expect("read").is_none());
        // A link to nothing is there too, and goes.
        symlink("nowhere", dir.join(".adjutant/PAUSE")).expect("linked");
        assert_eq!(take_away(dir, "PAUSE", 8).expect("taken").as_deref(), Some("logs/PAUSE-8"));
    }
}
