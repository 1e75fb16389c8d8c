//! A repository of ours in a temporary folder that sees the files and objects of the user's.
//!
//! Git decides by the settings, attributes and hooks of the repository that it works on, and these may be the agent's.
//! So it works on this one: it has no settings but ours, its attributes switch off every conversion of content, and
//! its index is a file of its own. The user's objects are an alternate, so that only what is new is written: to a
//! folder that goes away with it, or for a checkpoint to the user's objects.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::fs::OFlags;
use tempfile::TempDir;

use crate::rescue::git;

/// Beginning of the names of the temporary folders.
const PLACE: &str = "adjutant-tree-";

/// The most bytes of ignore rules that are taken from the repository's `info/exclude`.
const EXCLUDE_BYTES_MAX: u64 = 1 << 20;

/// The place that new objects are written to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NewObjects {
    /// A temporary folder: nothing of the user's changes.
    Apart,
    /// The user's repository: they are to stay.
    Kept,
}

/// The user's repository as seen from a workdir in it, with a temporary one over it.
#[derive(Debug)]
pub(super) struct Shadow {
    place: TempDir,
    objects: NewObjects,
    /// The user's: the folder with `HEAD` and the index, and the one with objects and refs.
    git_dir: PathBuf,
    common_dir: PathBuf,
    toplevel: PathBuf,
    /// The path of the workdir below `toplevel`, with `/` at its end; empty if they are one.
    pub(super) prefix: Vec<u8>,
    /// The commit that is checked out, if there is one.
    pub(super) head: Option<String>,
    until: Instant,
}

impl Shadow {
    /// Opens the repository that `workdir` is in; `None` if it is in none.
    ///
    /// # Errors
    ///
    /// If Git can't be started, or won't work with the repository: it belongs to somebody else, say.
    pub(super) fn open(workdir: &Path, objects: NewObjects, until: Instant) -> io::Result<Option<Self>> {
        let workdir = workdir.canonicalize()?;
        if !git::may_be_in_one(&workdir) {
            return Ok(None);
        }
        let asked = ["rev-parse", "--is-inside-work-tree", "--absolute-git-dir", "--git-common-dir"];
        let mut ask = git::command(&workdir, None);
        let told = match git::run_within(ask.args(asked).arg("--show-object-format"), left(until)?, |_| Ok(())) {
            Ok(told) => told,
            Err(error) if error.to_string().contains("not a git repository") => return Ok(None),
            Err(error) => return Err(error),
        };
        let lines: Vec<&[u8]> = told.strip_suffix(b"\n").unwrap_or(&told).split(|byte| *byte == b'\n').collect();
        let [is_inside, git_dir, common_dir, format] = lines.as_slice() else {
            return Err(io::Error::other("the path of the repository holds a line break"));
        };
        if *is_inside != b"true" {
            return Ok(None);
        }
        let mut ask = git::command(&workdir, None);
        let top = git::run_within(ask.args(["rev-parse", "--show-toplevel"]), left(until)?, |_| Ok(()))?;
        let toplevel = path_of(top.strip_suffix(b"\n").unwrap_or(&top)).canonicalize()?;
        let prefix = workdir.strip_prefix(&toplevel).map_err(|_| io::Error::other("the workdir is not in its tree"))?;
        let mut prefix = prefix.as_os_str().as_bytes().to_vec();
        if !prefix.is_empty() {
            prefix.push(b'/');
        }
        let mut ask = git::command(&workdir, None);
        ask.args(["rev-parse", "--quiet", "--verify", "--end-of-options", "HEAD^{commit}"]);
        let head = git::run_within(&mut ask, left(until)?, |_| Ok(())).ok();
        let head = head.map(|head| String::from_utf8_lossy(&head).trim().to_owned()).filter(|head| is_object(head));
        let shadow = Self {
            place: tempfile::Builder::new().prefix(PLACE).tempdir()?,
            objects,
            git_dir: path_of(git_dir),
            common_dir: workdir.join(path_of(common_dir)),
            toplevel,
            prefix,
            head,
            until,
        };
        shadow.set_up(format)?;
        Ok(Some(shadow))
    }

    fn set_up(&self, format: &[u8]) -> io::Result<()> {
        let at = self.place.path();
        for folder in ["refs", "info", "objects/info"] {
            fs::create_dir_all(at.join(folder))?;
        }
        fs::write(at.join("HEAD"), "ref: refs/heads/none\n")?;
        let format = String::from_utf8_lossy(format);
        let of_format = if format == "sha1" {
            "[core]\nrepositoryformatversion = 0\n".to_owned()
        } else {
            format!("[core]\nrepositoryformatversion = 1\n[extensions]\nobjectformat = {format}\n")
        };
        fs::write(at.join("config"), of_format)?;
        // Stronger than any file of attributes in the tree.
        fs::write(at.join("info/attributes"), "* -text -eol -crlf -filter -ident -working-tree-encoding\n")?;
        let mut rules = read_plain(&self.common_dir.join("info/exclude"), EXCLUDE_BYTES_MAX)?.unwrap_or_default();
        // Temporary files may lie in the tree: this folder, and those of others at the same time, are no part of it.
        let place = at.canonicalize()?;
        if let Some(Ok(within)) = place.parent().map(|parent| parent.strip_prefix(&self.toplevel)) {
            rules.extend_from_slice(&ignore_rule(within.as_os_str().as_bytes()));
        }
        fs::write(at.join("info/exclude"), rules)?;
        let objects = self.common_dir.join("objects");
        let path = objects.as_os_str().as_bytes();
        if path.contains(&b'\n') || path.first().is_some_and(|first| matches!(first, b'"' | b'#')) {
            return Err(io::Error::other("the path of the repository can't be an alternate"));
        }
        fs::write(at.join("objects/info/alternates"), [path, b"\n"].concat())
    }

    /// Git on the temporary repository, at the top of the user's tree.
    pub(super) fn command(&self) -> Command {
        let mut git = git::command(&self.toplevel, Some(self.place.path()));
        git.args([OsStr::new("--work-tree"), self.toplevel.as_os_str()]);
        git.env("GIT_INDEX_FILE", self.index());
        // Only what is to stay needs to be on the disk and small.
        let settings = match self.objects {
            NewObjects::Apart => ["core.fsync=none", "core.compression=0", "core.looseCompression=0"],
            NewObjects::Kept => ["core.fsync=all", "core.fsyncMethod=batch", "core.looseCompression=1"],
        };
        for setting in settings {
            git.args(["-c", setting]);
        }
        if self.objects == NewObjects::Kept {
            git.env("GIT_OBJECT_DIRECTORY", self.common_dir.join("objects"));
        }
        git
    }

    /// Runs `git` in the time that is left, with `input`; returns what it said.
    pub(super) fn run(&self, git: &mut Command, input: &[u8]) -> io::Result<Vec<u8>> {
        git::run_within(git, left(self.until)?, |stdin| stdin.write_all(input))
    }

    /// Runs `git` and returns the name of the object that it said.
    pub(super) fn object(&self, git: &mut Command, input: &[u8]) -> io::Result<String> {
        let said = self.run(git, input)?;
        let name = String::from_utf8_lossy(&said).trim().to_owned();
        if is_object(&name) { Ok(name) } else { Err(io::Error::other("git named no object")) }
    }

    /// Git on the user's own repository, for its refs.
    pub(super) fn of_user(&self) -> Command {
        let mut git = git::command(&self.toplevel, Some(&self.git_dir));
        git.args(["-c", "core.logAllRefUpdates=false"]);
        git
    }

    pub(super) fn index(&self) -> PathBuf {
        self.place.path().join("index")
    }

    /// Begins the index as a copy of the user's, with the time of its last change: by that time Git tells which of its
    /// entries may be older than their files.
    pub(super) fn copy_index(&self) -> io::Result<()> {
        let Some((mut from, found)) = open_plain(&self.git_dir.join("index"))? else { return Ok(()) };
        let mut to = File::create(self.index())?;
        io::copy(&mut from, &mut to)?;
        to.set_modified(found.modified()?)?;
        // An index that is split names another file beside it.
        for entry in fs::read_dir(&self.git_dir)?.flatten() {
            let name = entry.file_name();
            if name.as_bytes().starts_with(b"sharedindex.")
                && let Some((mut from, _)) = open_plain(&entry.path())?
            {
                io::copy(&mut from, &mut File::create(self.place.path().join(&name))?)?;
            }
        }
        Ok(())
    }

    /// The file at a path of the tree.
    pub(super) fn at(&self, path: &[u8]) -> PathBuf {
        self.toplevel.join(path_of(path))
    }

    /// True if the repository has attributes or settings by which files and what is kept of them differ.
    pub(super) fn converts(&self) -> io::Result<bool> {
        if read_plain(&self.common_dir.join("info/attributes"), 1)?.is_some_and(|text| !text.is_empty()) {
            return Ok(true);
        }
        let names = ["core.autocrlf", "core.eol", "core.attributesfile"];
        let names_set = self.run(self.of_user().args(["config", "--null", "--name-only", "--list"]), &[])?;
        Ok(names_set.split(|byte| *byte == 0).any(|set| names.iter().any(|name| name.as_bytes() == set)))
    }
}

/// The time that is left.
pub(super) fn left(until: Instant) -> io::Result<Duration> {
    let left = until.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(io::Error::new(io::ErrorKind::TimedOut, "it took too long")) } else { Ok(left) }
}

/// True for the name of an object.
pub(super) fn is_object(name: &str) -> bool {
    matches!(name.len(), 40 | 64) && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}

pub(super) fn path_of(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsString::from_vec(bytes.to_vec()))
}

/// The line by which Git ignores the temporary folders in `folder`, whose path is relative to the tree.
fn ignore_rule(folder: &[u8]) -> Vec<u8> {
    let mut rule = b"\n/".to_vec();
    for byte in folder {
        if !byte.is_ascii_alphanumeric() && byte.is_ascii() && *byte != b'/' {
            rule.push(b'\\');
        }
        rule.push(*byte);
    }
    if !folder.is_empty() {
        rule.push(b'/');
    }
    rule.extend_from_slice(format!("{PLACE}*/\n").as_bytes());
    rule
}

/// Opens a plain file; `None` if there is none. A fifo doesn't make us wait.
fn open_plain(path: &Path) -> io::Result<Option<(File, fs::Metadata)>> {
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or(0);
    match File::options().read(true).custom_flags(flags).open(path) {
        Ok(file) => {
            let found = file.metadata()?;
            if found.is_file() { Ok(Some((file, found))) } else { Err(io::Error::other("it is not a plain file")) }
        }
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(None),
        Err(error) => Err(error),
    }
}

fn read_plain(path: &Path, bytes_max: u64) -> io::Result<Option<Vec<u8>>> {
    let Some((file, _)) = open_plain(path)? else { return Ok(None) };
    let mut bytes = Vec::new();
    file.take(bytes_max).read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn temporary_folders_in_the_tree_are_ignored_whatever_their_path_is_called() {
        let rule = |folder: &[u8]| String::from_utf8(ignore_rule(folder)).expect("text");
        assert_eq!(rule(b""), "\n/adjutant-tree-*/\n");
        assert_eq!(rule(b"tmp/[a] *"), "\n/tmp/\\[a\\]\\ \\*/adjutant-tree-*/\n");
    }
}
