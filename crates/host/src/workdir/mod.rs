//! A handle on the workdir through which nothing outside can be reached.
//!
//! A path is first resolved as text ([`Workdir::resolve`]): relative, or absolute below the workdir, `..`
//! only as far as it stays inside. Where it really is, behind links, is looked up once ([`Workdir::real_place`]). Every
//! access then goes from one open folder to the next and follows no link, so that what is read or written is the place
//! that was found, even if a link is put there between two steps. Only plain files are read, and never more than asked
//! for: a fifo or device can't make us wait.

mod beneath;
mod error;
mod mounts;
pub(crate) mod name;
mod path;
mod real_place;
mod whole_file;

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, MetadataExt, OpenOptions, Permissions, PermissionsExt};
use rustix::fs::OFlags;

use beneath::open_file;
pub use error::WorkdirError;
pub use name::{is_text, shown};
use name::{name_of, text_of};
pub use path::{WorkPath, resolve_below};
pub use real_place::RealPlace;
pub(crate) use whole_file::{WholeFile, kept_path};

/// The mode bits that a rewritten file keeps: permissions, not set-uid and its like.
const KEPT_MODE_BITS: u32 = 0o777;
/// All that [`Workdir::set_mode`] sets.
const MODE_BITS: u32 = 0o7777;

/// The largest file with a second name that is written anew to add to it: 64 MiB, since it is held in memory.
const REWRITTEN_BYTES_MAX: u64 = 64 << 20;

/// The kind of thing at a path; a symbolic link is not followed.
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

/// The bytes that were read of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contents {
    /// The first bytes, as many as were allowed.
    pub bytes: Vec<u8>,
    /// Number of bytes of the file.
    pub total: u64,
}

/// An entry of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FolderEntry {
    /// Its name; of one that is not UTF-8 a text that stands for it ([`is_text`]).
    pub name: String,
    /// The kind of thing it is.
    pub kind: Kind,
}

/// The outcome of a write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriteOutcome {
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

/// Beginning of the name of a temporary file; the number of the process that writes it follows.
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

    /// Returns its path, without links.
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

    /// Returns the kind of thing at `path`; `None` if nothing is there.
    ///
    /// # Errors
    ///
    /// As the system or the guard says; a missing parent is "nothing".
    pub fn kind(&self, path: &WorkPath) -> Result<Option<Kind>, WorkdirError> {
        let found = match self.open_parent(path) {
            Ok((parent, name)) => parent.symlink_metadata(&*name).map_err(|error| WorkdirError::io(path, error)),
            Err(error) => Err(error),
        };
        match found {
            Ok(found) => Ok(Some(kind_of(&found))),
            Err(error) if error.code() == "ENOENT" => Ok(None),
            Err(error) => Err(error),
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
        let (parent, name) = self.open_parent(path)?;
        let found = parent.symlink_metadata(&*name).map_err(|error| WorkdirError::io(path, error))?;
        plain(path, kind_of(&found))?;
        let file = open_file(&parent, &name, OFlags::RDONLY).map_err(|error| WorkdirError::io(path, error))?;
        let opened = file.metadata().map_err(|error| WorkdirError::io(path, error))?;
        plain(path, kind_of_std(&opened))?;
        Ok((file, opened.len()))
    }

    /// The entries of a folder in byte order of their names.
    ///
    /// # Errors
    ///
    /// `ENOTDIR` or `ENOENT`, or what the system or the guard says.
    pub fn entries(&self, path: &WorkPath) -> Result<Vec<FolderEntry>, WorkdirError> {
        let mut entries = Vec::new();
        let folder = Dir::from_std_file(self.open_folder_at(path)?.into());
        for entry in folder.entries().map_err(|error| WorkdirError::io(path, error))? {
            let entry = entry.map_err(|error| WorkdirError::io(path, error))?;
            // An entry that vanished since is no entry.
            if let Ok(found) = entry.metadata() {
                entries.push(FolderEntry { name: text_of(&entry.file_name()), kind: kind_of(&found) });
            }
        }
        entries.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(entries)
    }

    /// Returns the target of a symbolic link, as it is written; what is not UTF-8 in it is a text that stands for it.
    ///
    /// # Errors
    ///
    /// The system's error.
    pub fn read_link(&self, path: &WorkPath) -> Result<String, WorkdirError> {
        let (parent, name) = self.open_parent(path)?;
        let target = parent.read_link_contents(&*name).map_err(|error| WorkdirError::io(path, error))?;
        Ok(text_of(target.as_os_str()))
    }

    /// The permission bits of a file or folder, set-id and sticky among them.
    ///
    /// # Errors
    ///
    /// The error of the system or the guard.
    pub fn mode(&self, path: &WorkPath) -> Result<u32, WorkdirError> {
        let (parent, name) = self.open_parent(path)?;
        let found = parent.symlink_metadata(&*name).map_err(|error| WorkdirError::io(path, error))?;
        Ok(found.mode() & MODE_BITS)
    }

    /// Gives a file or folder these permission bits, set-id and sticky among them.
    ///
    /// # Errors
    ///
    /// The error of the system or the guard.
    pub fn set_mode(&self, path: &WorkPath, mode: u32) -> Result<(), WorkdirError> {
        let (parent, name) = self.open_parent(path)?;
        // By the open file itself: a link in its place would be followed.
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let set = rustix::fs::openat(&parent, &*name, flags, rustix::fs::Mode::empty()).map_err(io::Error::from);
        let set = set.and_then(|file| {
            if rustix::fs::FileType::from_raw_mode(rustix::fs::fstat(&file)?.st_mode).is_symlink() {
                return Err(rustix::io::Errno::LOOP.into());
            }
            let opened = format!("/proc/self/fd/{}", file.as_raw_fd());
            Ok(rustix::fs::chmod(opened, rustix::fs::Mode::from_raw_mode(mode & MODE_BITS))?)
        });
        set.map_err(|error| WorkdirError::io(path, error))
    }

    /// Creates a folder, and those above it, if it is not there; then it has these permission bits.
    ///
    /// # Errors
    ///
    /// The error of the system or the guard; `ENOTDIR` if a file is in the way.
    pub fn create_folder(&self, path: &WorkPath, mode: u32) -> Result<(), WorkdirError> {
        self.create_parents(path)?;
        let (parent, name) = self.open_parent(path)?;
        parent.create_dir(&*name).map_err(|error| WorkdirError::io(path, error))?;
        self.set_mode(path, mode)
    }

    /// Creates a symbolic link to `target`, written as it is, and the folders above it. It may lead anywhere:
    /// nothing is ever written through one that leads out.
    ///
    /// # Errors
    ///
    /// The error of the system or the guard.
    pub fn create_link(&self, path: &WorkPath, target: &str) -> Result<(), WorkdirError> {
        self.create_parents(path)?;
        let (parent, name) = self.open_parent(path)?;
        parent.symlink_contents(&*name_of(target), &*name).map_err(|error| WorkdirError::io(path, error))
    }

    /// Writes a whole file at once: through a temporary file beside it, so that there is never half of it.
    ///
    /// A file that was there keeps its permission bits unless `mode` gives others; a second name that it has elsewhere
    /// keeps the old content. A link is never written through. Missing folders are created.
    ///
    /// # Errors
    ///
    /// The error of the system or the guard; then the file is as it was and no temporary file is left.
    pub fn write(&self, path: &WorkPath, content: &[u8], mode: Option<u32>) -> Result<WriteOutcome, WorkdirError> {
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
        if let Err(error) = parent.rename(&temporary, &parent, &*name) {
            remove_quietly(&parent, &temporary);
            return Err(WorkdirError::io(path, error));
        }
        Ok(WriteOutcome { created_folders })
    }

    /// Adds to the end of a file, which is created if it isn't there. One with a second name elsewhere is written anew
    /// as a whole, so that what has that name stays as it was.
    ///
    /// # Errors
    ///
    /// The error of the system or the guard; [`WorkdirError::SecondName`] for a file with a second name that is too
    /// large to be written anew.
    pub fn append(&self, path: &WorkPath, content: &[u8]) -> Result<WriteOutcome, WorkdirError> {
        if let Some(kind) = self.kind(path)? {
            plain(path, kind)?;
        }
        let created_folders = self.create_parents(path)?;
        let (parent, name) = self.open_parent(path)?;
        let failed = |error| WorkdirError::io(path, error);
        let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE;
        let mut file = open_file(&parent, &name, flags).map_err(failed)?;
        let found = file.metadata().map_err(failed)?;
        plain(path, kind_of_std(&found))?;
        if std::os::unix::fs::MetadataExt::nlink(&found) > 1 {
            return self.append_anew(path, content);
        }
        file.write_all(content).and_then(|()| file.sync_data()).map_err(failed)?;
        Ok(WriteOutcome { created_folders })
    }

    fn append_anew(&self, path: &WorkPath, content: &[u8]) -> Result<WriteOutcome, WorkdirError> {
        let Contents { mut bytes, total } = self.read(path, REWRITTEN_BYTES_MAX)?;
        if total > bytes.len() as u64 {
            return Err(WorkdirError::SecondName { path: path.to_string() });
        }
        bytes.extend_from_slice(content);
        self.write(path, &bytes, None)
    }

    /// Removes a file or a link; a link's target stays.
    ///
    /// # Errors
    ///
    /// The error of the system or the guard.
    pub fn remove_file(&self, path: &WorkPath) -> Result<(), WorkdirError> {
        let (parent, name) = self.open_parent(path)?;
        parent.remove_file(&*name).map_err(|error| WorkdirError::io(path, error))
    }

    /// Removes the temporary files beside `path` that a writer left behind when it was killed. Those of a
    /// process that lives stay.
    ///
    /// # Errors
    ///
    /// The error of the system or the guard; a folder that is not there has no leftovers.
    pub fn sweep_leftovers(&self, path: &WorkPath) -> Result<(), WorkdirError> {
        let folder = WorkPath(path.split().0.to_owned());
        let Ok(folder) = self.open_folder_at(&folder) else { return Ok(()) };
        let Ok(entries) = Dir::from_std_file(folder.into()).entries() else { return Ok(()) };
        for entry in entries.flatten() {
            let Ok(name) = entry.file_name().into_string() else { continue };
            let writer = name.strip_prefix(TEMPORARY).and_then(|rest| rest.split('-').next()?.parse::<u32>().ok());
            let is_left = writer.is_some_and(|writer| !Path::new("/proc").join(writer.to_string()).exists());
            if is_left && entry.metadata().is_ok_and(|found| found.is_file()) {
                entry.remove_file().map_err(|error| WorkdirError::io(path, error))?;
            }
        }
        Ok(())
    }

    /// Removes a folder if it is empty.
    ///
    /// # Errors
    ///
    /// The error of the system or the guard, `ENOTEMPTY` among them.
    pub fn remove_empty_folder(&self, path: &WorkPath) -> Result<(), WorkdirError> {
        let (parent, name) = self.open_parent(path)?;
        parent.remove_dir(&*name).map_err(|error| WorkdirError::io(path, error))
    }

    /// Renames a file within the workdir, over one that is there.
    ///
    /// # Errors
    ///
    /// The error of the system or the guard.
    pub fn rename(&self, from: &WorkPath, to: &WorkPath) -> Result<(), WorkdirError> {
        let ((old, from_name), (new, to_name)) = (self.open_parent(from)?, self.open_parent(to)?);
        old.rename(&*from_name, &new, &*to_name).map_err(|error| WorkdirError::io(from, error))
    }

    /// Opens a folder, for a command to run in.
    ///
    /// # Errors
    ///
    /// `ENOTDIR` or `ENOENT`, or what the system or the guard says.
    pub fn open_folder(&self, path: &WorkPath) -> Result<OwnedFd, WorkdirError> {
        self.open_folder_at(path)
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

/// The same of a file that is open.
fn kind_of_std(found: &std::fs::Metadata) -> Kind {
    let kind = found.file_type();
    if kind.is_file() {
        Kind::File { bytes: found.len(), mode: std::os::unix::fs::MetadataExt::mode(found) & KEPT_MODE_BITS }
    } else if kind.is_dir() {
        Kind::Folder
    } else {
        Kind::Special
    }
}

fn plain(path: &WorkPath, kind: Kind) -> Result<(), WorkdirError> {
    match kind {
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
