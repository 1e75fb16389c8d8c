//! Finds the real place of a path: behind the links in it, and the other name by which that place is known.
//!
//! Looked up before a call is judged, and again before it is made; the call then opens the place that was found,
//! without another look at the links (`beneath.rs`). A link that leads out of the workdir is refused. So is a link to
//! nothing: a write through it would land wherever it points.

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;

use rustix::fs::{AtFlags, FileType, Statx, StatxFlags, readlinkat, statx};

use super::beneath::enter;
use super::mounts;
use super::name::{name_of, text_of};
use super::{WorkPath, Workdir, WorkdirError};

/// The most links that are followed for one path: as many as Linux does.
const LINKS_MAX: u32 = 40;

/// The real place of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RealPlace {
    /// The path without links. What is not there yet has the name that it was given.
    pub path: WorkPath,
    /// Another name of the place that says more of what it is: `.git/config` where a repository's own folder is called
    /// otherwise, `src/x` where `src` is mounted elsewhere in the workdir too.
    pub known_as: Option<String>,
}

impl Workdir {
    /// Looks up where `path` really is.
    ///
    /// # Errors
    ///
    /// [`WorkdirError::Escapes`] if a link leads out, [`WorkdirError::NotPlain`] if one leads to nothing, `ELOOP` for
    /// too many of them, or what the system says; `ENOTDIR` if a file stands where a folder should be.
    pub fn real_place(&self, path: &WorkPath) -> Result<RealPlace, WorkdirError> {
        let own_mount = look(&self.dir, ".").ok().and_then(|found| mount_of(&found));
        let mut walk = LinkWalk { workdir: self, given: path, passed: Vec::new(), links: 0, own_mount, other: None };
        let names = walk.follow()?;
        let known_as = walk.known_as(&names);
        Ok(RealPlace { path: WorkPath(names.join("/")), known_as })
    }
}

/// A folder that was gone through.
struct PassedFolder {
    name: String,
    fd: OwnedFd,
    is_repository: bool,
}

/// A path being followed.
struct LinkWalk<'w> {
    workdir: &'w Workdir,
    given: &'w WorkPath,
    passed: Vec<PassedFolder>,
    links: u32,
    own_mount: Option<u64>,
    /// The mount that was entered last, and how many names lead to it.
    other: Option<(u64, usize)>,
}

impl LinkWalk<'_> {
    /// Follows the path to its end; returns the names that it has without links.
    fn follow(&mut self) -> Result<Vec<String>, WorkdirError> {
        let mut left: VecDeque<String> =
            self.given.0.split('/').filter(|name| !name.is_empty()).map(str::to_owned).collect();
        // How many of those to come are the path's own, behind what a link says.
        let mut own = left.len();
        while let Some(name) = left.pop_front() {
            let is_own = left.len() < own;
            own = own.min(left.len());
            match name.as_str() {
                "" | "." => continue,
                ".." => {
                    self.leave()?;
                    continue;
                }
                _ => {}
            }
            let found = match look(self.folder(), &name) {
                Ok(found) => found,
                Err(error) if error.kind() == io::ErrorKind::NotFound && is_own => return Ok(self.ending(name, left)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    return Err(WorkdirError::NotPlain { path: self.given.to_string(), what: "a link to nothing" });
                }
                Err(error) => return Err(self.failed(error)),
            };
            match FileType::from_raw_mode(found.stx_mode.into()) {
                FileType::Symlink => self.follow_link(&name, &mut left)?,
                FileType::Directory => self.pass(name, &found)?,
                _ if left.iter().any(|name| !matches!(name.as_str(), "" | ".")) => {
                    return Err(self.failed(rustix::io::Errno::NOTDIR.into()));
                }
                _ => {
                    self.note_mount(&found, self.passed.len() + 1);
                    return Ok(self.ending(name, VecDeque::new()));
                }
            }
        }
        Ok(self.names())
    }

    fn folder(&self) -> &dyn AsFd {
        self.passed.last().map_or(&self.workdir.dir as &dyn AsFd, |passed| &passed.fd)
    }

    fn names(&self) -> Vec<String> {
        self.passed.iter().map(|passed| passed.name.clone()).collect()
    }

    fn ending(&self, name: String, left: VecDeque<String>) -> Vec<String> {
        let mut names = self.names();
        names.push(name);
        names.extend(left);
        names
    }

    fn pass(&mut self, name: String, found: &Statx) -> Result<(), WorkdirError> {
        let fd = enter(self.folder(), &name_of(&name)).map_err(|error| self.failed(error))?;
        let is_repository = looks_like_a_repository(&fd);
        self.passed.push(PassedFolder { name, fd, is_repository });
        self.note_mount(found, self.passed.len());
        Ok(())
    }

    fn leave(&mut self) -> Result<(), WorkdirError> {
        if self.passed.pop().is_none() {
            return Err(WorkdirError::Escapes { path: self.given.to_string() });
        }
        self.other = self.other.filter(|(_, length)| *length <= self.passed.len());
        Ok(())
    }

    fn follow_link(&mut self, name: &str, left: &mut VecDeque<String>) -> Result<(), WorkdirError> {
        self.links += 1;
        if self.links > LINKS_MAX {
            return Err(self.failed(rustix::io::Errno::LOOP.into()));
        }
        let name = name_of(name);
        let target = readlinkat(self.folder(), &*name, Vec::new()).map_err(|error| self.failed(error.into()))?;
        let target = text_of(OsStr::from_bytes(target.as_bytes()));
        if target.starts_with('/') {
            return Err(WorkdirError::Escapes { path: self.given.to_string() });
        }
        for name in target.rsplit('/') {
            left.push_front(name.to_owned());
        }
        Ok(())
    }

    fn note_mount(&mut self, found: &Statx, length: usize) {
        if let (Some(own), Some(mount)) = (self.own_mount, mount_of(found)) {
            let before = self.other.map_or(own, |(before, _)| before);
            if mount != before {
                self.other = (mount != own).then_some((mount, length));
            }
        }
    }

    /// Another name of the place that `names` lead to.
    fn known_as(&self, names: &[String]) -> Option<String> {
        let by_mount = self.other.and_then(|(mount, length)| {
            let below = names.get(length..).unwrap_or_default().join("/");
            mounts::place_in(self.workdir.root(), self.own_mount?, mount, &below)
        });
        let is_named = |name: &String| name.eq_ignore_ascii_case(".git");
        let by_shape = || {
            let at = self.passed.iter().position(|passed| passed.is_repository)?;
            if names.iter().take(at + 1).any(is_named) {
                return None;
            }
            let mut names = names.to_vec();
            ".git".clone_into(names.get_mut(at)?);
            Some(names.join("/"))
        };
        by_mount.or_else(by_shape)
    }

    fn failed(&self, error: io::Error) -> WorkdirError {
        WorkdirError::io(self.given, error)
    }
}

/// Returns the status of a name in a folder, without following it.
fn look(folder: impl AsFd, name: &str) -> io::Result<Statx> {
    let wanted = StatxFlags::BASIC_STATS | StatxFlags::MNT_ID;
    Ok(statx(folder, &*name_of(name), AtFlags::SYMLINK_NOFOLLOW, wanted)?)
}

/// The mount that it is on; none where the kernel doesn't say.
fn mount_of(found: &Statx) -> Option<u64> {
    StatxFlags::from_bits_retain(found.stx_mask).contains(StatxFlags::MNT_ID).then_some(found.stx_mnt_id)
}

/// Returns true if git would take a folder for a repository's own, whatever it is called: of a repository whose folder
/// is elsewhere, of a linked worktree, of one without a worktree.
fn looks_like_a_repository(folder: &OwnedFd) -> bool {
    let is = |name: &str, kind: FileType| {
        look(folder, name).is_ok_and(|found| FileType::from_raw_mode(found.stx_mode.into()) == kind)
    };
    // HEAD may be a link, and so may the others.
    let has_head = is("HEAD", FileType::RegularFile) || is("HEAD", FileType::Symlink);
    let has = |name: &str| is(name, FileType::Directory) || is(name, FileType::Symlink);
    has_head && ((has("objects") && has("refs")) || is("commondir", FileType::RegularFile))
}
