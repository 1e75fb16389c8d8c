//! Making a rescue.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, DirBuilder, File};
use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use adjutant_core::gate::rescue::Extent;
use adjutant_core::words::tool::content_hash;

use super::git::{Git, Importing};
use super::listing::{ExtentListing, list};
use super::manifest::{self, Manifest, RescueEntry, Store, Touched};
use super::{COPY_BYTES_MAX, COPY_FILES_MAX, FILE_BYTES_MAX, GIT_BYTES_MAX, GIT_FILES_MAX, Rescues};
use crate::removal::remove_tree;
use crate::workdir::{Kind, WholeFile, Workdir, kept_path};

/// The occasion of a rescue.
#[derive(Debug, Clone, Copy)]
pub struct Occasion<'a> {
    /// Its name: letters, digits, `-`, `_` and `.`.
    pub name: &'a str,
    /// The act that is about to happen: a tool's name, or `undo`.
    pub before: &'a str,
    /// True if it is recorded even if there is nothing to keep: the record then says that nothing was there.
    pub even_if_empty: bool,
}

/// A rescue that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptRescue {
    /// Its folder.
    pub folder: PathBuf,
    /// Its manifest.
    pub manifest: Manifest,
}

impl Rescues {
    /// Keeps what `extent` is about, on the disk when this returns. One of that name is replaced: it was made
    /// before something that never began. `None` if there is nothing to keep, unless `occasion` says otherwise.
    ///
    /// # Errors
    ///
    /// If our home can't be written to. A repository that git can't work with is copied instead.
    pub fn keep(&self, workdir: &Workdir, extent: &Extent, occasion: Occasion<'_>) -> io::Result<Option<KeptRescue>> {
        let home = self.home.canonicalize().unwrap_or_else(|_| self.home.clone());
        let except = home.strip_prefix(workdir.root()).ok().and_then(Path::to_str).filter(|path| !path.is_empty());
        let git = Git::around(workdir.root());
        let (git, listing) = match git.as_ref().map(|git| list(workdir, Some(git), extent, except)) {
            Some(Ok(listing)) => (git, listing),
            Some(Err(_)) | None => (None, list(workdir, None, extent, except)?),
        };
        let is_empty = listing.for_git.is_empty() && listing.to_copy.is_empty() && listing.left_out.is_empty();
        if is_empty && !occasion.even_if_empty {
            return Ok(None);
        }
        match self.make(workdir, git.as_ref(), listing, extent, occasion) {
            // A repository that takes no commit: on a disk of its own that is full, owned by another, damaged.
            Err(RescueFailure::Git) => {
                let listing = list(workdir, None, extent, except)?;
                self.make(workdir, None, listing, extent, occasion).map(Some).map_err(RescueFailure::into_error)
            }
            made => made.map(Some).map_err(RescueFailure::into_error),
        }
    }

    /// Puts on record which entries of the rescue `name` the call that it was made before has changed, now that it has
    /// ended: what changes later was changed by somebody else.
    ///
    /// # Errors
    ///
    /// If there is no such rescue, or our home can't be written to.
    pub fn note_end(&self, workdir: &Workdir, name: &str) -> io::Result<()> {
        let folder = self.folder().join(name);
        let manifest = Manifest::read(&folder)?;
        let now = |entry: &RescueEntry| kept_path(&entry.path).and_then(|path| workdir.stamp(&path));
        let touched = manifest.entries.iter().filter(|entry| entry.stamp.is_none() || entry.stamp != now(entry));
        Touched { paths: touched.map(|entry| entry.path.clone()).collect() }.write(&folder)
    }

    /// Removes what whoever was killed while keeping left behind. Only one keeps at a time: who has the run's lease.
    fn sweep(&self) -> io::Result<()> {
        for entry in fs::read_dir(self.folder()).into_iter().flatten().flatten() {
            if entry.file_name().as_encoded_bytes().starts_with(b".") {
                remove(&entry.path())?;
            }
        }
        Ok(())
    }

    fn make(
        &self,
        workdir: &Workdir,
        git: Option<&Git>,
        listing: ExtentListing,
        extent: &Extent,
        occasion: Occasion<'_>,
    ) -> Result<KeptRescue, RescueFailure> {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let made_at_ms = u64::try_from(now.as_millis()).unwrap_or(u64::MAX);
        let root = workdir.root().to_string_lossy().into_owned();
        let mut manifest = Manifest::empty(occasion.name, occasion.before, root, made_at_ms);
        manifest.paths = match extent {
            Extent::Whole => None,
            Extent::Paths(paths) => Some(paths.clone()),
        };
        manifest.is_complete = listing.is_complete;
        manifest.left_out = listing.left_out;

        let folder = self.folder().join(occasion.name);
        self.sweep()?;
        let unfinished = self.folder().join(format!(".{}", occasion.name));
        DirBuilder::new().recursive(true).mode(0o700).create(&unfinished)?;
        let store = match git {
            // What is kept has to outlive the call, and so lies outside of what the call may destroy.
            Some(_) if may_reach_git(extent) => {
                Some(Git::store(workdir.root(), &self.folder().join(STORE)).map_err(|_| RescueFailure::Git)?)
            }
            Some(_) | None => None,
        };
        if let (Some(git), false) = (store.as_ref().or(git), listing.for_git.is_empty()) {
            let reference = format!("refs/adjutant/{}/{}", ref_name(&self.run), ref_name(occasion.name));
            let message = format!("What was there before {} of run {}", occasion.name, self.run);
            let commit = git.commit(&reference, &message, |importing| {
                hand_to_git(workdir, &listing.for_git, importing, &mut manifest);
                Ok(())
            });
            manifest.commit = Some(commit.map_err(|_| RescueFailure::Git)?);
            manifest.git_dir = git.dir().to_str().map(str::to_owned);
            manifest.reference = Some(reference);
        }
        copy(workdir, &listing.to_copy, &unfinished, &mut manifest)?;
        add_folders(workdir, extent, &mut manifest);
        for entry in &mut manifest.entries {
            entry.stamp = kept_path(&entry.path).and_then(|path| workdir.stamp(&path));
        }

        let mut file = File::create(unfinished.join(manifest::FILE))?;
        file.write_all(&serde_json::to_vec(&manifest).map_err(io::Error::from)?)?;
        sync(&file, &manifest, &unfinished)?;
        remove(&folder)?;
        fs::rename(&unfinished, &folder)?;
        File::open(self.folder())?.sync_all()?;
        Ok(KeptRescue { folder, manifest })
    }
}

/// Reason why a rescue was not made.
enum RescueFailure {
    /// Git did not take it: it can be copied instead.
    Git,
    /// Our own home can't be written to.
    Home(io::Error),
}

impl From<io::Error> for RescueFailure {
    fn from(error: io::Error) -> Self {
        Self::Home(error)
    }
}

impl RescueFailure {
    fn into_error(self) -> io::Error {
        match self {
            Self::Git => io::Error::other("git failed"),
            Self::Home(error) => error,
        }
    }
}

/// The repository of a run for what has to outlive its calls, in the folder of its rescues.
const STORE: &str = "store.git";

/// Returns true if the copies for `extent` can't lie in the repository: the call may destroy the repository, or can't
/// be read.
fn may_reach_git(extent: &Extent) -> bool {
    let reaches = |path: &String| path == "." || path.split('/').any(|name| name.eq_ignore_ascii_case(".git"));
    match extent {
        Extent::Whole => true,
        Extent::Paths(paths) => paths.iter().any(reaches),
    }
}

/// Adds the folders of what was kept, for their permissions: those that the call may take with it.
fn add_folders(workdir: &Workdir, extent: &Extent, manifest: &mut Manifest) {
    let is_meant = |folder: &str| match extent {
        Extent::Whole => true,
        Extent::Paths(paths) => paths.iter().any(|path| {
            path == "."
                || folder.strip_prefix(path.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        }),
    };
    let known: BTreeSet<&str> = manifest.entries.iter().map(|entry| entry.path.as_str()).collect();
    let above = |path: &'_ str| path.match_indices('/').map(|(at, _)| path[..at].to_owned()).collect::<Vec<_>>();
    let folders: BTreeSet<String> = manifest.entries.iter().flat_map(|entry| above(&entry.path)).collect();
    let new = folders.iter().filter(|folder| !known.contains(folder.as_str()) && is_meant(folder));
    let entry_of = |folder: &String| {
        let mode = workdir.mode(&kept_path(folder)?).ok()?;
        Some(no_file(folder, mode, Store::Folder))
    };
    let entries: Vec<RescueEntry> = new.filter_map(entry_of).collect();
    manifest.entries.extend(entries);
}

/// The thing at a path, read whole.
enum PathSnapshot {
    File(WholeFile),
    Link(String),
    EmptyFolder { mode: u32 },
    Pipe { mode: u32 },
    Gone,
    Unkept,
}

fn look(workdir: &Workdir, path: &str) -> PathSnapshot {
    let Some(path) = kept_path(path) else { return PathSnapshot::Unkept };
    match workdir.kind(&path) {
        Ok(Some(Kind::File { bytes, .. })) if bytes <= FILE_BYTES_MAX => {
            match workdir.read_whole(&path, FILE_BYTES_MAX) {
                Ok(Some(file)) => PathSnapshot::File(file),
                Ok(None) | Err(_) => PathSnapshot::Unkept,
            }
        }
        Ok(Some(Kind::Link)) => workdir.read_link(&path).map_or(PathSnapshot::Unkept, PathSnapshot::Link),
        Ok(Some(Kind::Folder)) => {
            workdir.mode(&path).map_or(PathSnapshot::Unkept, |mode| PathSnapshot::EmptyFolder { mode })
        }
        Ok(Some(Kind::Special)) if workdir.is_pipe(&path) => {
            workdir.mode(&path).map_or(PathSnapshot::Unkept, |mode| PathSnapshot::Pipe { mode })
        }
        Ok(None) => PathSnapshot::Gone,
        Ok(Some(Kind::File { .. } | Kind::Special)) | Err(_) => PathSnapshot::Unkept,
    }
}

/// Hands the files to git, as far as the limit goes. A failure to write shows in how git ends.
fn hand_to_git(workdir: &Workdir, paths: &[String], importing: &mut Importing<'_>, manifest: &mut Manifest) {
    let (mut files, mut bytes) = (0, 0);
    for path in paths {
        match look(workdir, path) {
            PathSnapshot::File(file) => {
                let size = file.content.len() as u64;
                let fits = files < GIT_FILES_MAX && bytes + size <= GIT_BYTES_MAX;
                if fits && importing.file(path, file.mode, &file.content).is_ok() {
                    (files, bytes) = (files + 1, bytes + size);
                    manifest.entries.push(entry(path, &file, Store::Git));
                } else {
                    manifest.left_out.push(path.clone());
                }
            }
            PathSnapshot::Link(to) => manifest.entries.push(no_file(path, 0, Store::Link(to))),
            PathSnapshot::EmptyFolder { .. } | PathSnapshot::Pipe { .. } | PathSnapshot::Gone => {}
            PathSnapshot::Unkept => manifest.left_out.push(path.clone()),
        }
    }
}

/// Copies files into `folder`, as far as the limit goes.
fn copy(workdir: &Workdir, paths: &[String], folder: &Path, manifest: &mut Manifest) -> io::Result<()> {
    let (mut files, mut bytes) = (0, 0);
    for path in paths {
        match look(workdir, path) {
            PathSnapshot::File(file) => {
                let size = file.content.len() as u64;
                if files >= COPY_FILES_MAX || bytes + size > COPY_BYTES_MAX {
                    manifest.left_out.push(path.clone());
                    continue;
                }
                (files, bytes) = (files + 1, bytes + size);
                fs::write(folder.join(files.to_string()), &file.content)?;
                manifest.entries.push(entry(path, &file, Store::Copy(files)));
            }
            PathSnapshot::Link(to) => manifest.entries.push(no_file(path, 0, Store::Link(to))),
            PathSnapshot::EmptyFolder { mode } => manifest.entries.push(no_file(path, mode, Store::Folder)),
            PathSnapshot::Pipe { mode } => manifest.entries.push(no_file(path, mode, Store::Pipe)),
            PathSnapshot::Gone => {}
            PathSnapshot::Unkept => manifest.left_out.push(path.clone()),
        }
    }
    Ok(())
}

fn entry(path: &str, file: &WholeFile, store: Store) -> RescueEntry {
    let hex = |value: &Vec<u8>| value.iter().map(|byte| format!("{byte:02x}")).collect();
    RescueEntry {
        hash: Some(content_hash(&file.content)),
        bytes: file.content.len() as u64,
        attributes: file.attributes.iter().map(|(name, value)| (name.clone(), hex(value))).collect(),
        had_other_names: file.names > 1,
        ..no_file(path, file.mode, store)
    }
}

fn no_file(path: &str, mode: u32, store: Store) -> RescueEntry {
    RescueEntry {
        path: path.to_owned(),
        mode,
        hash: None,
        bytes: 0,
        store,
        attributes: BTreeMap::new(),
        had_other_names: false,
        stamp: None,
    }
}

/// From how many copies on the whole file system is written out at once: one by one would take longer, fewer
/// should not wait for what others write.
const SYNC_ALL_FROM: u64 = 200;

/// Has the manifest and the copies on the disk when it returns. Git has seen to its own.
fn sync(written: &File, manifest: &Manifest, folder: &Path) -> io::Result<()> {
    let copies = manifest.entries.iter().filter_map(|entry| match entry.store {
        Store::Copy(number) => Some(number),
        Store::Git | Store::Link(_) | Store::Folder | Store::Pipe => None,
    });
    let copies: Vec<u64> = copies.collect();
    if copies.len() as u64 >= SYNC_ALL_FROM {
        return rustix::fs::syncfs(written).map_err(io::Error::from);
    }
    for number in copies {
        File::open(folder.join(number.to_string()))?.sync_data()?;
    }
    written.sync_all()
}

/// `name` as a part of a ref: git takes dots only where they can't be misread.
fn ref_name(name: &str) -> String {
    let is_plain = !name.contains("..") && !name.starts_with('.') && !name.ends_with('.') && !name.ends_with(".lock");
    if is_plain { name.to_owned() } else { name.replace('.', "%2e") }
}

fn remove(folder: &Path) -> io::Result<()> {
    match remove_tree(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}
