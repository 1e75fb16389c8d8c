//! Caches of package managers, kept for a working folder: a command may fill them, and nothing that it leaves there
//! reaches the operator's own.
//!
//! A tool that has its cache in the home finds a cache of the working folder there. If the operator's own is shown too,
//! both are layered: a command can read what the operator fetched, and its writes land in ours.
//!
//! In our home a working folder has `cache/NAME`, where `NAME` is made of its path; `files` has what was written in
//! places of its own, `layers` what was written over the operator's. One sandbox at a time holds it; another has
//! caches that last as long as the run.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use adjutant_core::words::tool::ContentHasher;
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use super::home::Around;
use super::watch::make_usable;

/// The folder in our home.
const FOLDER: &str = "cache";
/// Places in a home where tools keep what they fetched and built.
const IN_HOME: [&str; 27] = [
    ".bun/install/cache",
    ".bundle/cache",
    ".cabal/packages",
    ".cache",
    ".cargo/git",
    ".cargo/registry",
    ".composer/cache",
    ".conan2/p",
    ".gem/specs",
    ".gradle",
    ".hex/packages",
    ".ivy2/cache",
    ".ivy2/local",
    ".julia/compiled",
    ".julia/packages",
    ".konan",
    ".local/share/gem/specs",
    ".local/share/pnpm/store",
    ".local/state/pnpm",
    ".m2/repository",
    ".node-gyp",
    ".npm",
    ".nuget/packages",
    ".pnpm-store",
    ".sbt/boot",
    ".yarn/berry",
    "go/pkg",
];

/// A cache of a working folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkdirCache {
    /// The path at which tools look for it.
    pub path: PathBuf,
    /// The same without links.
    pub at: PathBuf,
    /// The folder it is kept in.
    pub kept: PathBuf,
    /// The operator's own, if that may be read, and an empty folder that the layering needs.
    pub layered: Option<Layered>,
}

/// The lower layer of a cache.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layered {
    /// The operator's own.
    pub below: PathBuf,
    /// For the kernel, on the disk that the cache is kept on.
    pub workspace: PathBuf,
}

/// The caches of a working folder, held while it exists.
#[derive(Debug, Default)]
pub(super) struct Caches {
    caches: Vec<WorkdirCache>,
    _lock: Option<File>,
}

impl Caches {
    /// Makes the folders for caches of `workdir`: below our home, or in `passing` if there is none or another sandbox
    /// holds them. `shown` is what may be read of the operator's home and toolchains.
    ///
    /// # Errors
    ///
    /// The system's, if a folder can't be made.
    pub(super) fn make(
        workdir: &Path,
        home: &Path,
        runtime_home: Option<&Path>,
        (shown, folders): (&[PathBuf], &[PathBuf]),
        passing: &Path,
    ) -> io::Result<Self> {
        let lasting = runtime_home.map(|runtime_home| folder_of(runtime_home, workdir));
        let lock = lasting.as_deref().and_then(|folder| held(folder, workdir).ok().flatten());
        let root = lasting.filter(|_| lock.is_some()).unwrap_or_else(|| passing.join(FOLDER));
        let mut places: Vec<PathBuf> =
            IN_HOME.iter().map(|name| home.join(name)).chain(folders.iter().cloned()).collect();
        places.sort();
        places.dedup();
        let is_within = |path: &Path, all: &[PathBuf]| all.iter().any(|other| path.starts_with(other));
        let below = shown.iter().filter(|path| is_within(path, &places));
        let whole = places.iter().filter(|place| is_within(place, shown));
        let mut layered: Vec<PathBuf> = below.chain(whole).filter(|path| path.is_dir()).cloned().collect();
        layered.sort();
        layered.dedup();
        let mut caches = Vec::new();
        for path in &layered {
            let Ok(at) = fs::canonicalize(path) else { continue };
            let name = one_name(path);
            let (kept, workspace) = (root.join("layers").join(&name), root.join("workspaces").join(&name));
            make_private(&kept)?;
            make_private(&workspace)?;
            let layered = Some(Layered { below: at.clone(), workspace });
            caches.push(WorkdirCache { path: path.clone(), at, kept, layered });
        }
        for path in places.into_iter().filter(|path| !layered.contains(path)) {
            let kept = root.join("files").join(one_name(&path));
            make_private(&kept)?;
            caches.push(WorkdirCache { at: without_links(&path), path, kept, layered: None });
        }
        let home = Around::of(home);
        caches.retain(|cache| !home.shows(&cache.at));
        Ok(Self { caches, _lock: lock })
    }

    /// Those that lie in nothing that may be changed anyway.
    pub(super) fn besides(&self, write: &[PathBuf]) -> Vec<WorkdirCache> {
        let is_needed = |cache: &&WorkdirCache| !write.iter().any(|path| cache.at.starts_with(path));
        self.caches.iter().filter(is_needed).cloned().collect()
    }
}

impl Drop for Caches {
    /// Makes what the kernel left in its workspaces removable: the owner has no rights to it.
    fn drop(&mut self) {
        for layered in self.caches.iter().filter_map(|cache| cache.layered.as_ref()) {
            make_usable(&layered.workspace.join("work"));
        }
    }
}

/// The folder in our home with the caches of `workdir`: the end of its path, and a hash of all of it.
pub(super) fn folder_of(runtime_home: &Path, workdir: &Path) -> PathBuf {
    let mut hasher = ContentHasher::default();
    hasher.update(workdir.as_os_str().as_bytes());
    let name = workdir.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let plain: String = name.chars().filter(|c| c.is_ascii_alphanumeric() || "-_.".contains(*c)).take(40).collect();
    let plain = plain.trim_start_matches('.');
    runtime_home.join(FOLDER).join(format!("{plain}-{}", hasher.finish()))
}

/// Makes the folder and holds it; `None` if another sandbox does.
fn held(folder: &Path, workdir: &Path) -> io::Result<Option<File>> {
    make_private(folder)?;
    fs::write(folder.join("workdir"), [workdir.as_os_str().as_bytes(), b"\n"].concat())?;
    let lock = File::options().create(true).append(true).open(folder.join("lock"))?;
    Ok(flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok().then_some(lock))
}

fn make_private(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// A path as the name of one folder.
fn one_name(path: &Path) -> PathBuf {
    let name: Vec<u8> = path
        .as_os_str()
        .as_bytes()
        .iter()
        .flat_map(|byte| match byte {
            b'/' => b"%".to_vec(),
            // An option of a mount ends at a comma, a path in it at a colon.
            b'%' | b',' | b':' | b'\\' => format!("%{byte:02x}").into_bytes(),
            byte => vec![*byte],
        })
        .collect();
    PathBuf::from(std::ffi::OsString::from(String::from_utf8_lossy(&name).into_owned()))
}

/// The path without links, as far as it is there.
fn without_links(path: &Path) -> PathBuf {
    for above in path.ancestors() {
        if let (Ok(real), Ok(rest)) = (fs::canonicalize(above), path.strip_prefix(above)) {
            return if rest.as_os_str().is_empty() { real } else { real.join(rest) };
        }
    }
    path.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cache_is_layered_over_what_is_shown_and_kept_for_one_sandbox_at_a_time() {
        let place = tempfile::tempdir().expect("a folder");
        let root = fs::canonicalize(place.path()).expect("there");
        let home = root.join("home");
        fs::create_dir_all(home.join(".cache/pip")).expect("made");
        let shown = [home.join(".cache/pip"), home.join(".local/bin")];
        let make = || {
            let made = Caches::make(&root.join("w"), &home, Some(&root.join("a")), (&shown, &[]), &root.join("p"));
            made.expect("made")
        };
        let first = make();
        let layered: Vec<_> = first.caches.iter().filter(|cache| cache.layered.is_some()).map(|c| &c.at).collect();
        assert_eq!(layered, [&home.join(".cache/pip")]);
        assert!(first.caches.iter().any(|cache| cache.at == home.join(".cache") && cache.layered.is_none()));
        assert!(first.caches.iter().all(|cache| cache.kept.starts_with(root.join("a/cache")) && cache.kept.is_dir()));
        let first_kept = first.caches[0].kept.clone();
        let second = make();
        assert!(second.caches.iter().all(|cache| cache.kept.starts_with(root.join("p/cache"))));
        drop(first);
        assert_eq!(make().caches[0].kept, first_kept);
        assert!(!make().besides(&[home.join(".cache")]).iter().any(|cache| cache.at.starts_with(home.join(".cache"))));
    }
}
