//! The way back: the files of the working tree as they were at a checkpoint.
//!
//! The present content is kept first. What differs between the two is then put back, file by file, through the guarded
//! handle on the workdir, which follows no link. Nothing else is touched: not the index, HEAD, ignored files or
//! submodules. A rewind that was killed can be done again.

use std::io;
use std::path::Path;
use std::time::Instant;

use super::index::SUBMODULE_MODE;
use super::keep::{find, keep_as, open, refs};
use super::shadow::{NewObjects, Shadow, path_of};
use super::{Checkpoint, CheckpointError, CheckpointName, TreeLimits};
use crate::rescue::NotRestored;
use crate::workdir::name::text_of;
use crate::workdir::{Kind, WorkPath, Workdir, kept_path};

/// The most bytes of files that are held in memory at a time.
const HELD_BYTES_MAX: u64 = 64 << 20;
/// The largest file that is put back: it is held in memory as a whole.
const FILE_BYTES_MAX: u64 = 1 << 30;

/// The result of going back to a checkpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rewound {
    /// The checkpoint of the content as it was before.
    pub before: Checkpoint,
    /// The paths that were written or removed, in byte order.
    pub changed: Vec<String>,
    /// The paths that are not as they were at the checkpoint, with the reason.
    pub not_restored: Vec<NotRestored>,
    /// Submodules whose commit was another at the checkpoint. They are left alone.
    pub submodules: Vec<String>,
}

/// A path that differs, and the content that the checkpoint has there.
#[derive(Debug)]
struct Wanted {
    path: String,
    /// Mode and object at the checkpoint; `None` if the path is not in it.
    target: Option<(String, String)>,
    /// The mode that the path has now; `None` if it is not there, or is ignored.
    present: Option<String>,
    is_same_content: bool,
}

const LINK_MODE: &str = "120000";
const RUNNABLE_MODE: &str = "100755";

/// Brings the files below `workdir` back to the checkpoint `name` of `run`, after keeping the present content as the
/// checkpoint `before-rewind-<n>`.
///
/// # Errors
///
/// [`CheckpointError`]; then no file was touched. A file that can't be put back is no error, but is named.
pub fn rewind(
    workdir: &Path,
    run: &str,
    name: CheckpointName,
    limits: &TreeLimits,
) -> Result<Rewound, CheckpointError> {
    let until = Instant::now() + limits.time;
    let shadow = open(workdir, NewObjects::Kept, until)?;
    let gone = || CheckpointError::Gone { run: run.to_owned(), name };
    let target = find(&shadow, run, name)?.ok_or_else(gone)?;
    let taken = refs(&shadow, run)?.into_iter().filter_map(|checkpoint| match checkpoint.name {
        CheckpointName::BeforeRewind(number) => Some(number),
        CheckpointName::Iteration(_) => None,
    });
    let next = CheckpointName::BeforeRewind(taken.max().unwrap_or(0).saturating_add(1));
    let (before, _) = keep_as(workdir, &shadow, run, next, limits, until)?;
    let all = wanted(&shadow, &before.commit, &target.commit)?;
    let is_submodule = |mode: Option<&str>| mode == Some(SUBMODULE_MODE);
    let (submodules, all): (Vec<Wanted>, Vec<Wanted>) = all.into_iter().partition(|wanted| {
        is_submodule(wanted.present.as_deref()) || is_submodule(wanted.target.as_ref().map(|(mode, _)| mode.as_str()))
    });
    let mut work =
        Restoration { workdir: Workdir::open(workdir)?, shadow: &shadow, changed: Vec::new(), failed: vec![] };
    // What is gone makes room for a folder of its name, and the last path of a folder lets that go too.
    for wanted in all.iter().rev().filter(|wanted| wanted.target.is_none()) {
        work.note(&wanted.path, |workdir, at| remove(workdir, at).map(|()| true));
    }
    work.write_all(&all)?;
    work.changed.sort_unstable();
    Ok(Rewound {
        before,
        changed: work.changed,
        not_restored: work.failed,
        submodules: submodules.into_iter().map(|wanted| wanted.path).collect(),
    })
}

/// The paths at which two commits differ, in byte order.
fn wanted(shadow: &Shadow, present: &str, target: &str) -> io::Result<Vec<Wanted>> {
    let mut git = shadow.command();
    git.args(["diff-tree", "-r", "-z", "--raw", "--no-abbrev", "--no-renames", "--no-ext-diff", "--end-of-options"]);
    let told = shadow.run(git.args([present, target]), &[])?;
    let mut parts = told.split(|byte| *byte == 0);
    let mut all = Vec::new();
    // `:mode mode object object status`, then the path.
    while let (Some(facts), Some(path)) = (parts.next(), parts.next()) {
        let facts = String::from_utf8_lossy(facts).into_owned();
        let [old_mode, new_mode, old, new, ..] = facts.trim_start_matches(':').split(' ').collect::<Vec<_>>()[..]
        else {
            return Err(io::Error::other("git told differences in a way that is not known"));
        };
        let is_there = |mode: &str| mode.bytes().any(|byte| byte != b'0');
        all.push(Wanted {
            path: text_of(path_of(path).as_os_str()),
            target: is_there(new_mode).then(|| (new_mode.to_owned(), new.to_owned())),
            present: is_there(old_mode).then(|| old_mode.to_owned()),
            is_same_content: old == new,
        });
    }
    Ok(all)
}

struct Restoration<'a> {
    workdir: Workdir,
    shadow: &'a Shadow,
    changed: Vec<String>,
    failed: Vec<NotRestored>,
}

impl Restoration<'_> {
    /// Does one thing to a path. It says whether something was changed.
    fn note(&mut self, path: &str, act: impl FnOnce(&Workdir, &WorkPath) -> io::Result<bool>) {
        let done = match kept_path(path) {
            Some(at) => act(&self.workdir, &at),
            None => Err(io::Error::other("its path can't be used")),
        };
        match done {
            Ok(true) => self.changed.push(path.to_owned()),
            Ok(false) => {}
            Err(error) => self.failed.push(NotRestored { path: path.to_owned(), why: error.to_string() }),
        }
    }

    /// Writes what the checkpoint has, as much at a time as is held.
    fn write_all(&mut self, all: &[Wanted]) -> io::Result<()> {
        let to_write: Vec<(&Wanted, &str, &str)> = all
            .iter()
            .filter_map(|wanted| wanted.target.as_ref().map(|(mode, object)| (wanted, mode.as_str(), object.as_str())))
            .collect();
        let sizes = self.sizes(to_write.iter().map(|(.., object)| *object))?;
        let mut held: Vec<(&Wanted, &str, &str)> = Vec::new();
        let mut bytes = 0;
        for (one, size) in to_write.into_iter().zip(sizes) {
            if size > FILE_BYTES_MAX {
                let why = || Err(io::Error::other(format!("it has {size} bytes, too many to be put back")));
                self.note(&one.0.path, |_, _| why());
                continue;
            }
            if !held.is_empty() && size.saturating_add(bytes) > HELD_BYTES_MAX {
                self.write(&std::mem::take(&mut held))?;
                bytes = 0;
            }
            bytes += size;
            held.push(one);
        }
        self.write(&held)
    }

    fn write(&mut self, files: &[(&Wanted, &str, &str)]) -> io::Result<()> {
        let contents = self.contents(files.iter().map(|(.., object)| *object))?;
        for ((wanted, mode, _), content) in files.iter().zip(contents) {
            self.note(&wanted.path, |workdir, at| put(workdir, at, wanted, mode, &content));
        }
        Ok(())
    }

    /// The lengths of objects.
    fn sizes<'o>(&self, objects: impl Iterator<Item = &'o str>) -> io::Result<Vec<u64>> {
        let asked: String = objects.flat_map(|object| [object, "\n"]).collect();
        let mut git = self.shadow.command();
        let told = self.shadow.run(git.args(["cat-file", "--batch-check=%(objectsize)"]), asked.as_bytes())?;
        let read = |line: &str| line.parse().map_err(|_| io::Error::other(format!("the repository lacks {line}")));
        String::from_utf8_lossy(&told).lines().map(read).collect()
    }

    /// The contents of objects.
    fn contents<'o>(&self, objects: impl Iterator<Item = &'o str>) -> io::Result<Vec<Vec<u8>>> {
        let asked: String = objects.flat_map(|object| [object, "\n"]).collect();
        if asked.is_empty() {
            return Ok(Vec::new());
        }
        let mut git = self.shadow.command();
        let told = self.shadow.run(git.args(["cat-file", "--batch=%(objectsize)"]), asked.as_bytes())?;
        let mut rest = told.as_slice();
        let mut contents = Vec::new();
        while !rest.is_empty() {
            let broken = || io::Error::other("git gave content in a way that is not known");
            let end = rest.iter().position(|byte| *byte == b'\n').ok_or_else(broken)?;
            let (size, behind) = (&rest[..end], &rest[end + 1..]);
            let size: usize = String::from_utf8_lossy(size).parse().map_err(|_| broken())?;
            contents.push(behind.get(..size).ok_or_else(broken)?.to_vec());
            rest = behind.get(size + 1..).ok_or_else(broken)?;
        }
        Ok(contents)
    }
}

/// Puts one file or link as the checkpoint has it; returns false if it was so already.
fn put(workdir: &Workdir, at: &WorkPath, wanted: &Wanted, mode: &str, content: &[u8]) -> io::Result<bool> {
    let found = workdir.kind(at).map_err(explained)?;
    if wanted.present.is_none() && found.is_some() {
        return if is_so(workdir, at, mode, content)? {
            Ok(false)
        } else {
            Err(io::Error::other("an ignored file or a folder with ignored files stands there, and was left alone"))
        };
    }
    let runnable = |bits: u32| if mode == RUNNABLE_MODE { bits | (bits & 0o444) >> 2 } else { bits & !0o111 };
    match (found, mode) {
        (Some(Kind::Folder | Kind::Special), _) => {
            Err(io::Error::other("a folder or a special file stands there, and was left alone"))
        }
        (Some(_), LINK_MODE) => {
            workdir.remove_file(at).map_err(explained)?;
            workdir.create_link(at, &text_of(path_of(content).as_os_str())).map_err(explained).map(|()| true)
        }
        (None, LINK_MODE) => {
            workdir.create_link(at, &text_of(path_of(content).as_os_str())).map_err(explained).map(|()| true)
        }
        (Some(Kind::File { mode: bits, .. }), _) => {
            if !wanted.is_same_content {
                workdir.write(at, content, Some(runnable(bits))).map_err(explained)?;
            }
            workdir.set_mode(at, runnable(bits)).map_err(explained).map(|()| true)
        }
        (Some(Kind::Link) | None, _) => {
            if found.is_some() {
                workdir.remove_file(at).map_err(explained)?;
            }
            workdir.write(at, content, None).map_err(explained)?;
            let bits = workdir.mode(at).map_err(explained)?;
            workdir.set_mode(at, runnable(bits)).map_err(explained).map(|()| true)
        }
    }
}

/// True if a path has this content already.
fn is_so(workdir: &Workdir, at: &WorkPath, mode: &str, content: &[u8]) -> io::Result<bool> {
    match workdir.kind(at).map_err(explained)? {
        Some(Kind::Link) if mode == LINK_MODE => {
            Ok(workdir.read_link(at).map_err(explained)? == text_of(path_of(content).as_os_str()))
        }
        Some(Kind::File { mode: bits, bytes }) if mode != LINK_MODE => Ok(bytes == content.len() as u64
            && (bits & 0o100 != 0) == (mode == RUNNABLE_MODE)
            && workdir.read(at, bytes).map_err(explained)?.bytes == content),
        _ => Ok(false),
    }
}

/// Removes a file or link, and the folders above it that are empty then.
fn remove(workdir: &Workdir, at: &WorkPath) -> io::Result<()> {
    match workdir.kind(at).map_err(explained)? {
        Some(Kind::File { .. } | Kind::Link) => workdir.remove_file(at).map_err(explained)?,
        Some(Kind::Folder | Kind::Special) => {
            return Err(io::Error::other("it is no file any more, and was left alone"));
        }
        None => {}
    }
    let mut path = at.as_str();
    while let Some((folder, _)) = path.rsplit_once('/') {
        // One that is not empty has more to keep.
        if kept_path(folder).is_none_or(|folder| workdir.remove_empty_folder(&folder).is_err()) {
            break;
        }
        path = folder;
    }
    Ok(())
}

fn explained(error: crate::workdir::WorkdirError) -> io::Error {
    io::Error::other(error.explained())
}
