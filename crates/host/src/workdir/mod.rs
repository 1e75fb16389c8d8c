//! A handle on the workdir through which nothing outside can be reached.
//!
//! A path is first resolved as text ([`Workdir::resolve`]): relative, or absolute below the workdir, `..`
//! only as far as it stays inside. Every access then goes through an open folder handle, so that no
//! symbolic link in any component leads out, even if it is put there between two steps. Only plain files
//! are read, and never more than asked for: a fifo or device can't make us wait.

mod error;
mod path;

use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, File, MetadataExt, OpenOptions, OpenOptionsExt, Permissions, PermissionsExt};

pub use error::WorkdirError;
pub use path::{WorkPath, resolve_below};

/// The mode bits that a rewritten file keeps: permissions, not set-uid and its like.
const KEPT_MODE_BITS: u32 = 0o777;

/// What stands at a path; a symbolic link is not followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A plain file.
    File {
        /// Its length in bytes.
        bytes: u64,
        /// Its permission bits.
        mode: u32,
    },
    /// A folder.
    Folder,
    /// A symbolic link.
    Link,
    /// A fifo, socket or device.
    Special,
}

/// What was read of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contents {
    /// The first bytes, as many as were allowed.
    pub bytes: Vec<u8>,
    /// How many the file has.
    pub total: u64,
}

/// An entry of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its name; entries whose names are not UTF-8 are left out.
    pub name: String,
    /// What it is.
    pub kind: Kind,
}

/// What a write did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// The folders that were created for it, outermost first.
    pub created_folders: Vec<WorkPath>,
}

/// The workdir.
#[derive(Debug)]
pub struct Workdir {
    dir: Dir,
    given: PathBuf,
    root: PathBuf,
}

/// How the name of a temporary file begins; the number of the process that writes it follows.
const TEMPORARY: &str = ".adjutant-tmp-";

/// Makes names of temporary files unique within the process; the process id does it between processes.
static TEMPORARY_FILES: AtomicU64 = AtomicU64::new(0);

impl Workdir {
    /// Opens the workdir. Links in `path` itself are followed: it is the operator's word.
    ///
    /// # Errors
    ///
    /// The system's error, if there is no such folder.
    pub fn open(path: &Path) -> io::Result<Self> {
        let root = path.canonicalize()?;
        let dir = Dir::open_ambient_dir(&root, ambient_authority())?;
        Ok(Self { dir, given: path.to_owned(), root })
    }

    /// Where it is, without links.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The path that an agent means by `given`.
    ///
    /// # Errors
    ///
    /// [`WorkdirError::Escapes`] if it leaves the workdir as text, [`WorkdirError::Unusable`] if it holds a
    /// NUL (`PATH_INVALID`) or is too long (`ENAMETOOLONG`).
    pub fn resolve(&self, given: &str) -> Result<WorkPath, WorkdirError> {
        resolve_below(&self.root, given).or_else(|refused| {
            if self.given.is_absolute() { resolve_below(&self.given, given).map_err(|_| refused) } else { Err(refused) }
        })
    }

    /// What stands at `path`, none if nothing does.
    ///
    /// # Errors
    ///
    /// As the system or the guard says; a missing parent is "nothing".
    pub fn kind(&self, path: &WorkPath) -> Result<Option<Kind>, WorkdirError> {
        match self.dir.symlink_metadata(path.as_str()) {
            Ok(found) => Ok(Some(kind_of(&found))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(WorkdirError::io(path, error)),
        }
    }

    /// Reads at most `bytes_max` bytes of a plain file.
    ///
    /// # Errors
    ///
    /// [`WorkdirError::IsFolder`], [`WorkdirError::NotPlain`], or what the system or the guard says.
    pub fn read(&self, path: &WorkPath, bytes_max: u64) -> Result<Contents, WorkdirError> {
        let (file, total) = self.open_plain(path)?;
        let mut bytes = Vec::with_capacity(usize::try_from(total.min(bytes_max)).unwrap_or(0).min(1 << 20));
        file.take(bytes_max).read_to_end(&mut bytes).map_err(|error| WorkdirError::io(path, error))?;
        let total = total.max(bytes.len() as u64);
        Ok(Contents { bytes, total })
    }

    /// Reads a whole plain file piece by piece, for one that may be too large to hold.
    ///
    /// # Errors
    ///
    /// As [`Workdir::read`].
    pub fn read_through(&self, path: &WorkPath, take: &mut dyn FnMut(&[u8])) -> Result<(), WorkdirError> {
        let (mut file, _) = self.open_plain(path)?;
        let mut buffer = vec![0; 256 << 10];
        loop {
            match file.read(&mut buffer) {
                Ok(0) => return Ok(()),
                Ok(read) => take(buffer.get(..read).unwrap_or(&[])),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(WorkdirError::io(path, error)),
            }
        }
    }

    fn open_plain(&self, path: &WorkPath) -> Result<(File, u64), WorkdirError> {
        // Looked at before it is opened, because opening some devices has effects, and again afterwards,
        // because another file may have been put there in between.
        let found = self.dir.metadata(path.as_str()).map_err(|error| WorkdirError::io(path, error))?;
        plain(path, &found)?;
        let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY;
        let mut options = OpenOptions::new();
        options.read(true).custom_flags(flags.bits().cast_signed());
        let file = self.dir.open_with(path.as_str(), &options).map_err(|error| WorkdirError::io(path, error))?;
        let opened = file.metadata().map_err(|error| WorkdirError::io(path, error))?;
        plain(path, &opened)?;
        Ok((file, opened.len()))
    }

    /// The entries of a folder in byte order of their names.
    ///
    /// # Errors
    ///
    /// `ENOTDIR` or `ENOENT`, or what the system or the guard says.
    pub fn entries(&self, path: &WorkPath) -> Result<Vec<Entry>, WorkdirError> {
        let mut entries = Vec::new();
        for entry in self.dir.read_dir(path.as_str()).map_err(|error| WorkdirError::io(path, error))? {
            let entry = entry.map_err(|error| WorkdirError::io(path, error))?;
            // An entry that vanished since, or has no name we could say, is no entry.
            if let (Ok(name), Ok(found)) = (entry.file_name().into_string(), entry.metadata()) {
                entries.push(Entry { name, kind: kind_of(&found) });
            }
        }
        entries.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(entries)
    }

    /// How many entries a folder has, those included whose names are not UTF-8.
    ///
    /// # Errors
    ///
    /// As [`Workdir::entries`].
    pub fn count(&self, path: &WorkPath) -> Result<usize, WorkdirError> {
        let entries = self.dir.read_dir(path.as_str()).map_err(|error| WorkdirError::io(path, error))?;
        Ok(entries.count())
    }

    /// Where a symbolic link leads, as it is written.
    ///
    /// # Errors
    ///
    /// What the system says; `PATH_INVALID` if it is not UTF-8.
    pub fn read_link(&self, path: &WorkPath) -> Result<String, WorkdirError> {
        let (parent, name) = self.open_parent(path)?;
        let target = parent.read_link_contents(name).map_err(|error| WorkdirError::io(path, error))?;
        target.to_str().map(str::to_owned).ok_or_else(|| WorkdirError::Unusable {
            path: path.to_string(),
            why: "its target's name is not UTF-8",
            code: "PATH_INVALID",
        })
    }

    /// The permission bits of a file or folder.
    ///
    /// # Errors
    ///
    /// What the system or the guard says.
    pub fn mode(&self, path: &WorkPath) -> Result<u32, WorkdirError> {
        let found = self.dir.symlink_metadata(path.as_str()).map_err(|error| WorkdirError::io(path, error))?;
        Ok(found.mode() & KEPT_MODE_BITS)
    }

    /// Gives a file or folder these permission bits.
    ///
    /// # Errors
    ///
    /// What the system or the guard says.
    pub fn set_mode(&self, path: &WorkPath, mode: u32) -> Result<(), WorkdirError> {
        let mode = Permissions::from_mode(mode & KEPT_MODE_BITS);
        self.dir.set_permissions(path.as_str(), mode).map_err(|error| WorkdirError::io(path, error))
    }

    /// Creates a folder, and those above it, if it is not there; then it has these permission bits.
    ///
    /// # Errors
    ///
    /// What the system or the guard says; `ENOTDIR` if a file is in the way.
    pub fn create_folder(&self, path: &WorkPath, mode: u32) -> Result<(), WorkdirError> {
        self.create_parents(path)?;
        self.dir.create_dir(path.as_str()).map_err(|error| WorkdirError::io(path, error))?;
        self.set_mode(path, mode)
    }

    /// Creates a symbolic link to `target`, written as it is, and the folders above it. It may lead anywhere:
    /// nothing is ever written through one that leads out.
    ///
    /// # Errors
    ///
    /// What the system or the guard says.
    pub fn create_link(&self, path: &WorkPath, target: &str) -> Result<(), WorkdirError> {
        self.create_parents(path)?;
        let (parent, name) = self.open_parent(path)?;
        parent.symlink_contents(target, name).map_err(|error| WorkdirError::io(path, error))
    }

    /// Writes a whole file at once: through a temporary file beside it, so that there is never half of it.
    ///
    /// A file that was there keeps its permission bits unless `mode` gives others. A symbolic link is
    /// written through, if it stays inside. Missing folders are created.
    ///
    /// # Errors
    ///
    /// What the system or the guard says; then the file is as it was and no temporary file is left.
    pub fn write(&self, path: &WorkPath, content: &[u8], mode: Option<u32>) -> Result<Written, WorkdirError> {
        let path = &self.through_links(path)?;
        let kept = match self.kind(path)? {
            Some(Kind::File { mode, .. }) => Some(mode),
            Some(Kind::Folder) => {
                return Err(WorkdirError::IsFolder { path: path.to_string() });
            }
            Some(Kind::Link | Kind::Special) => {
                return Err(WorkdirError::NotPlain { path: path.to_string(), what: "a link or a special file" });
            }
            None => None,
        };
        let created_folders = self.create_parents(path)?;
        let (parent, name) = self.open_parent(path)?;
        let temporary =
            write_temporary(&parent, content, mode.or(kept)).map_err(|error| WorkdirError::io(path, error))?;
        if let Err(error) = parent.rename(&temporary, &parent, name) {
            remove_quietly(&parent, &temporary);
            return Err(WorkdirError::io(path, error));
        }
        Ok(Written { created_folders })
    }

    /// Adds to the end of a file, which is created if it isn't there.
    ///
    /// # Errors
    ///
    /// What the system or the guard says.
    pub fn append(&self, path: &WorkPath, content: &[u8]) -> Result<Written, WorkdirError> {
        let path = &self.through_links(path)?;
        if let Some(kind) = self.kind(path)? {
            match kind {
                Kind::File { .. } => {}
                Kind::Folder => {
                    return Err(WorkdirError::IsFolder { path: path.to_string() });
                }
                Kind::Link | Kind::Special => {
                    return Err(WorkdirError::NotPlain { path: path.to_string(), what: "a link or a special file" });
                }
            }
        }
        let created_folders = self.create_parents(path)?;
        let mut options = OpenOptions::new();
        options.append(true).create(true).custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
        let mut file = self.dir.open_with(path.as_str(), &options).map_err(|error| WorkdirError::io(path, error))?;
        plain(path, &file.metadata().map_err(|error| WorkdirError::io(path, error))?)?;
        file.write_all(content).and_then(|()| file.sync_data()).map_err(|error| WorkdirError::io(path, error))?;
        Ok(Written { created_folders })
    }

    /// Removes a file or a link; a link's target stays.
    ///
    /// # Errors
    ///
    /// What the system or the guard says.
    pub fn remove_file(&self, path: &WorkPath) -> Result<(), WorkdirError> {
        self.dir.remove_file(path.as_str()).map_err(|error| WorkdirError::io(path, error))
    }

    /// Removes the temporary files beside `path` that a writer left behind when it was killed. Those of a
    /// process that lives stay.
    ///
    /// # Errors
    ///
    /// What the system or the guard says; a folder that is not there has none.
    pub fn sweep_leftovers(&self, path: &WorkPath) -> Result<(), WorkdirError> {
        let target = self.through_links(path)?;
        let folder = target.as_str().rsplit_once('/').map_or(".", |(folder, _)| folder);
        let Ok(entries) = self.dir.read_dir(folder) else { return Ok(()) };
        for entry in entries.flatten() {
            let Ok(name) = entry.file_name().into_string() else { continue };
            let writer = name.strip_prefix(TEMPORARY).and_then(|rest| rest.split('-').next()?.parse::<u32>().ok());
            let is_left = writer.is_some_and(|writer| !Path::new("/proc").join(writer.to_string()).exists());
            if is_left && entry.metadata().is_ok_and(|found| found.is_file()) {
                entry.remove_file().map_err(|error| WorkdirError::io(&target, error))?;
            }
        }
        Ok(())
    }

    /// Removes a folder if it is empty.
    ///
    /// # Errors
    ///
    /// What the system or the guard says, `ENOTEMPTY` among it.
    pub fn remove_empty_folder(&self, path: &WorkPath) -> Result<(), WorkdirError> {
        self.dir.remove_dir(path.as_str()).map_err(|error| WorkdirError::io(path, error))
    }

    /// Renames a file within the workdir, over one that is there.
    ///
    /// # Errors
    ///
    /// What the system or the guard says.
    pub fn rename(&self, from: &WorkPath, to: &WorkPath) -> Result<(), WorkdirError> {
        self.dir.rename(from.as_str(), &self.dir, to.as_str()).map_err(|error| WorkdirError::io(from, error))
    }

    /// Creates the folders above `path`; returns those that were not there, outermost first.
    ///
    /// # Errors
    ///
    /// What the system or the guard says; `ENOTDIR` if a file is in the way.
    pub fn create_parents(&self, path: &WorkPath) -> Result<Vec<WorkPath>, WorkdirError> {
        let mut created = Vec::new();
        for (at, _) in path.0.match_indices('/') {
            let folder = WorkPath(path.0[..at].to_owned());
            match self.dir.create_dir(folder.as_str()) {
                Ok(()) => created.push(folder),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(WorkdirError::io(&folder, error)),
            }
        }
        Ok(created)
    }

    /// Opens a folder, for a command to run in.
    ///
    /// # Errors
    ///
    /// `ENOTDIR` or `ENOENT`, or what the system or the guard says.
    pub fn open_folder(&self, path: &WorkPath) -> Result<OwnedFd, WorkdirError> {
        let dir = self.dir.open_dir(path.as_str()).map_err(|error| WorkdirError::io(path, error))?;
        Ok(dir.into_std_file().into())
    }

    /// The path itself, or where it leads if it is a link that stays inside.
    fn through_links(&self, path: &WorkPath) -> Result<WorkPath, WorkdirError> {
        if self.kind(path)? != Some(Kind::Link) {
            return Ok(path.clone());
        }
        let target = self.dir.canonicalize(path.as_str()).map_err(|error| match error.kind() {
            // A link to nothing: writing would create its target, wherever that is.
            io::ErrorKind::NotFound => WorkdirError::NotPlain { path: path.to_string(), what: "a link to nothing" },
            _ => WorkdirError::io(path, error),
        })?;
        let target = target.to_str().ok_or_else(|| WorkdirError::Unusable {
            path: path.to_string(),
            why: "its target's name is not UTF-8",
            code: "PATH_INVALID",
        })?;
        Ok(WorkPath(target.to_owned()))
    }

    fn open_parent<'p>(&self, path: &'p WorkPath) -> Result<(Dir, &'p str), WorkdirError> {
        let (parent, name) = path.split();
        let parent = self
            .dir
            .open_dir(if parent.is_empty() { "." } else { parent })
            .map_err(|error| WorkdirError::io(path, error))?;
        Ok((parent, name))
    }
}

fn kind_of(found: &cap_std::fs::Metadata) -> Kind {
    let kind = found.file_type();
    if kind.is_file() {
        Kind::File { bytes: found.len(), mode: found.mode() & KEPT_MODE_BITS }
    } else if kind.is_dir() {
        Kind::Folder
    } else if kind.is_symlink() {
        Kind::Link
    } else {
        Kind::Special
    }
}

fn plain(path: &WorkPath, found: &cap_std::fs::Metadata) -> Result<(), WorkdirError> {
    match kind_of(found) {
        Kind::File { .. } => Ok(()),
        Kind::Folder => Err(WorkdirError::IsFolder { path: path.to_string() }),
        Kind::Link => Err(WorkdirError::NotPlain { path: path.to_string(), what: "a link" }),
        Kind::Special => Err(WorkdirError::NotPlain { path: path.to_string(), what: "a fifo, socket or device" }),
    }
}

/// Writes a new file in `parent` and returns its name; nothing is left of it after an error.
fn write_temporary(parent: &Dir, content: &[u8], mode: Option<u32>) -> io::Result<String> {
    let number = TEMPORARY_FILES.fetch_add(1, Ordering::Relaxed);
    let mut attempt = 0u32;
    let (mut file, name) = loop {
        let name = format!("{TEMPORARY}{}-{number}-{attempt}", std::process::id());
        match parent.open_with(&name, OpenOptions::new().write(true).create_new(true)) {
            Ok(file) => break (file, name),
            // Left by a process of this number that was killed.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && attempt < 100 => attempt += 1,
            Err(error) => return Err(error),
        }
    };
    let written = file
        .write_all(content)
        .and_then(|()| mode.map_or(Ok(()), |mode| file.set_permissions(Permissions::from_mode(mode))))
        .and_then(|()| file.sync_all());
    if let Err(error) = written {
        remove_quietly(parent, &name);
        return Err(error);
    }
    Ok(name)
}

/// Removes a temporary file after a failure, which is the error worth telling.
fn remove_quietly(parent: &Dir, name: &str) {
    parent.remove_file(name).ok();
}
