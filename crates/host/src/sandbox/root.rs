//! A root folder of its own: put together of what the policy names, everything else is not there.
//!
//! Readable paths are mounted read-only, writable ones are not; hidden places are covered by nothing, protected ones
//! are mounted on themselves read-only, and every folder above them that may be changed on itself, so that it can't be
//! moved away: what is mounted below does not keep a folder in its place. The temporary folders are ours.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{CStr, OsStr};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::{Component, Path, PathBuf};

use rustix::mount::{
    MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_bind, mount_bind_recursive, mount_change, unmount,
};

use super::caches::WorkdirCache;
use super::policy::Policy;

/// Number of links that a path may lead through, as in the kernel.
const LINKS_MAX: usize = 40;
/// Devices that are no way out.
const DEVICES: [&str; 6] = ["null", "zero", "full", "random", "urandom", "tty"];
/// Links that programs expect beside them.
const DEVICE_LINKS: [(&str, &str); 5] = [
    ("fd", "/proc/self/fd"),
    ("stdin", "/proc/self/fd/0"),
    ("stdout", "/proc/self/fd/1"),
    ("stderr", "/proc/self/fd/2"),
    ("ptmx", "pts/ptmx"),
];
/// Attributes that restrict a mount.
const READ_ONLY: u64 = libc::MOUNT_ATTR_RDONLY;
const NO_DEVICES: u64 = libc::MOUNT_ATTR_NODEV | libc::MOUNT_ATTR_NOSUID;

/// Makes the root and goes there; the working folder is lost.
pub(super) fn build(policy: &Policy, has_processes: bool) -> io::Result<()> {
    // Nothing that is mounted from here on is seen outside.
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
    let stage = policy.stage();
    in_memory(&stage, c"mode=0755,size=1m")?;
    let root = Root { stage: &stage };
    root.processes(policy, has_processes)?;
    root.devices()?;
    root.show(Path::new("/sys"), READ_ONLY | NO_DEVICES)?;
    for (path, show) in shown(policy)? {
        let done = match show {
            MountKind::Cache(cache) => root.cache(cache),
            MountKind::Temporary => root.mount_at(&policy.temp(), path, NO_DEVICES),
            MountKind::ReadOnly => root.show(path, READ_ONLY | NO_DEVICES),
            MountKind::Writable => root.show(path, NO_DEVICES),
        };
        done.map_err(|error| at(path, &error))?;
    }
    for path in &policy.hidden {
        root.hide(path, policy).map_err(|error| at(path, &error))?;
    }
    for copy in &policy.copies {
        root.resolve(&copy.path).map_err(|error| at(&copy.path, &error))?;
        root.mount_at(&copy.copy, &copy.at, READ_ONLY | NO_DEVICES).map_err(|error| at(&copy.at, &error))?;
    }
    // A folder is kept in its place before what lies in it.
    for path in policy.kept_in_place.iter().collect::<BTreeSet<_>>() {
        root.keep_in_place(path, policy).map_err(|error| at(path, &error))?;
    }
    for path in policy.protected.iter().collect::<BTreeSet<_>>() {
        root.protect(path, policy).map_err(|error| at(path, &error))?;
    }
    go_to(&stage)
}

/// The kind of mount by which a path is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MountKind<'a> {
    /// A cache is there that is the working folder's.
    Cache(&'a WorkdirCache),
    ReadOnly,
    Writable,
    /// Our own temporary folder is there.
    Temporary,
}

/// Every path with how it is shown. A folder comes before what lies in it, so that the inner rule is the one
/// that holds.
fn shown(policy: &Policy) -> io::Result<BTreeMap<&Path, MountKind<'_>>> {
    let mut shown =
        BTreeMap::from([(Path::new("/tmp"), MountKind::Temporary), (Path::new("/var/tmp"), MountKind::Temporary)]);
    let is_cache = |path: &&PathBuf| policy.caches.iter().any(|cache| cache.path == **path || cache.at == **path);
    let read = policy.read.iter().filter(|path| !is_cache(path));
    shown.extend(read.map(|path| (path.as_path(), MountKind::ReadOnly)));
    shown.extend(policy.caches.iter().map(|cache| (cache.at.as_path(), MountKind::Cache(cache))));
    shown.extend(policy.write.iter().map(|path| (path.as_path(), MountKind::Writable)));
    if shown.contains_key(Path::new("/")) {
        return Err(io::Error::other("a root of its own can't hold all of `/`"));
    }
    Ok(shown)
}

fn at(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("`{}`: {error}", path.display()))
}

fn go_to(stage: &Path) -> io::Result<()> {
    std::env::set_current_dir(stage)?;
    // Both names are one folder: the old root lies on top of the new one, until it is taken off.
    rustix::process::pivot_root(".", ".")?;
    unmount(".", UnmountFlags::DETACH)?;
    std::env::set_current_dir("/")?;
    restrict(Path::new("/"), READ_ONLY, false)
}

struct Root<'a> {
    stage: &'a Path,
}

impl Root<'_> {
    /// Returns the place of `path` while the root is put together.
    fn staged(&self, path: &Path) -> PathBuf {
        self.stage.join(path.strip_prefix("/").unwrap_or(path))
    }

    /// Shows what is at `path`, and the links that lead to it. What is not there is left out.
    fn show(&self, path: &Path, attributes: u64) -> io::Result<()> {
        match self.resolve(path)? {
            Some(real) => self.mount_at(&real, &real, attributes),
            None => Ok(()),
        }
    }

    /// The path without links; each link that is met is made in the new root too, if it is not there.
    fn resolve(&self, path: &Path) -> io::Result<Option<PathBuf>> {
        let mut rest: Vec<PathBuf> = path.components().rev().map(|part| PathBuf::from(part.as_os_str())).collect();
        let (mut real, mut links) = (PathBuf::from("/"), 0);
        while let Some(part) = rest.pop() {
            match part.components().next() {
                Some(Component::Normal(name)) => real.push(name),
                Some(Component::ParentDir) => {
                    real.pop();
                    continue;
                }
                Some(Component::RootDir) => {
                    real = PathBuf::from("/");
                    continue;
                }
                Some(Component::CurDir | Component::Prefix(_)) | None => continue,
            }
            let kind = match fs::symlink_metadata(&real) {
                Ok(found) => found.file_type(),
                Err(_) => return Ok(None),
            };
            if !kind.is_symlink() {
                continue;
            }
            links += 1;
            if links > LINKS_MAX {
                return Ok(None);
            }
            let target = fs::read_link(&real)?;
            self.link(&target, &real)?;
            real.pop();
            rest.extend(target.components().rev().map(|part| PathBuf::from(part.as_os_str())));
        }
        Ok(Some(real))
    }

    fn link(&self, target: &Path, path: &Path) -> io::Result<()> {
        let staged = self.staged(path);
        if fs::symlink_metadata(&staged).is_ok() {
            return Ok(());
        }
        make_parent(&staged)?;
        symlink(target, &staged)
    }

    /// Mounts `source` of the old root at `real` of the new one.
    fn mount_at(&self, source: &Path, real: &Path, attributes: u64) -> io::Result<()> {
        let Ok(found) = fs::symlink_metadata(source) else { return Ok(()) };
        let staged = self.staged(real);
        make_place(&staged, found.is_dir())?;
        if found.is_dir() {
            mount_bind_recursive(source, &staged)?;
        } else {
            mount_bind(source, &staged)?;
        }
        restrict(&staged, attributes, found.is_dir())
    }

    /// Shows a cache in its place, over the operator's own where that may be read. Where the kernel can't layer them,
    /// the operator's own is there as it is.
    fn cache(&self, cache: &WorkdirCache) -> io::Result<()> {
        self.resolve(&cache.path)?;
        let Some(layered) = &cache.layered else { return self.mount_at(&cache.kept, &cache.at, NO_DEVICES) };
        let staged = self.staged(&cache.at);
        make_place(&staged, true)?;
        let mut options = Vec::new();
        for (name, path) in [("lowerdir", &layered.below), (",upperdir", &cache.kept), (",workdir", &layered.workspace)]
        {
            options.extend_from_slice(name.as_bytes());
            options.push(b'=');
            options.extend(path.as_os_str().as_bytes().iter().flat_map(|byte| match byte {
                b':' | b',' | b'\\' => vec![b'\\', *byte],
                byte => vec![*byte],
            }));
        }
        options.extend_from_slice(b",userxattr\0");
        let options = CStr::from_bytes_with_nul(&options).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
        match mount("overlay", &staged, "overlay", MountFlags::NOSUID | MountFlags::NODEV, options) {
            Ok(()) => restrict(&staged, NO_DEVICES, false),
            Err(_) => self.mount_at(&cache.at, &cache.at, READ_ONLY | NO_DEVICES),
        }
    }

    /// `/proc`, of this pid namespace where that may be mounted.
    fn processes(&self, policy: &Policy, has_processes: bool) -> io::Result<()> {
        let staged = self.staged(Path::new("/proc"));
        make_place(&staged, true)?;
        let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
        if has_processes && mount("proc", &staged, "proc", flags, None::<&CStr>).is_ok() {
            if numbers_are_its_own() {
                // There are no more processes than numbers. Beside the limit of the user's processes, which
                // does not hold for root.
                fs::write(staged.join("sys/kernel/pid_max"), policy.limits.processes.to_string()).ok();
            }
        } else {
            mount_bind_recursive("/proc", &staged)?;
        }
        // Root may otherwise change the kernel's settings by its user id alone.
        restrict(&staged, READ_ONLY, true)
    }

    fn devices(&self) -> io::Result<()> {
        let staged = self.staged(Path::new("/dev"));
        make_place(&staged, true)?;
        for name in DEVICES {
            let source = Path::new("/dev").join(name);
            if source.exists() {
                let place = staged.join(name);
                make_place(&place, false)?;
                mount_bind(&source, &place)?;
            }
        }
        for (name, target) in DEVICE_LINKS {
            symlink(target, staged.join(name))?;
        }
        let shared = staged.join("shm");
        make_place(&shared, true)?;
        in_memory(&shared, c"mode=1777,size=512m")?;
        let terminals = staged.join("pts");
        make_place(&terminals, true)?;
        let flags = MountFlags::NOSUID | MountFlags::NOEXEC;
        // Some containers allow none: then there are no terminals.
        mount("devpts", &terminals, "devpts", flags, c"newinstance,ptmxmode=0666,mode=0620").ok();
        Ok(())
    }

    /// Covers what is at `path` by nothing.
    fn hide(&self, path: &Path, policy: &Policy) -> io::Result<()> {
        let staged = self.staged(path);
        let Ok(found) = fs::symlink_metadata(&staged) else { return Ok(()) };
        if found.is_symlink() || !leads_nowhere_else(&staged)? {
            return Ok(());
        }
        let nothing = if found.is_dir() { policy.no_folder() } else { policy.no_file() };
        mount_bind(&nothing, &staged)?;
        restrict(&staged, READ_ONLY | NO_DEVICES, false)
    }

    /// Mounts what is at `path` on itself, read-only, and keeps the folders that it lies in where they are.
    fn protect(&self, path: &Path, policy: &Policy) -> io::Result<()> {
        let staged = self.staged(path);
        let Ok(found) = fs::symlink_metadata(&staged) else { return Ok(()) };
        if found.is_symlink() || !leads_nowhere_else(&staged)? {
            return Ok(());
        }
        if let Some(parent) = path.parent() {
            self.keep_in_place(parent, policy)?;
        }
        mount_bind(&staged, &staged)?;
        restrict(&staged, READ_ONLY | NO_DEVICES, false)
    }

    /// Mounts the folder at `path` on itself, and each above it up to the one that may be changed: a mount can be
    /// neither moved nor removed.
    fn keep_in_place(&self, path: &Path, policy: &Policy) -> io::Result<()> {
        let above: Vec<&Path> = path.ancestors().collect();
        for folder in above.into_iter().rev() {
            if !policy.write.iter().any(|root| folder.starts_with(root)) {
                continue;
            }
            let staged = self.staged(folder);
            let Ok(found) = fs::symlink_metadata(&staged) else { return Ok(()) };
            if !found.is_dir() || !leads_nowhere_else(&staged)? {
                return Ok(());
            }
            if !is_mounted(&staged)? {
                mount_bind_recursive(&staged, &staged)?;
            }
        }
        Ok(())
    }
}

/// Returns true if the highest process number is a pid namespace's own: since Linux 6.14. Before, it was the machine's.
fn numbers_are_its_own() -> bool {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(str::parse::<u32>);
    matches!((numbers.next(), numbers.next()), (Some(Ok(major)), Some(Ok(minor))) if (major, minor) >= (6, 14))
}

/// Returns true if no part of the path is a link: a mount follows links, and an agent may turn what it may change into
/// one.
fn leads_nowhere_else(path: &Path) -> io::Result<bool> {
    Ok(fs::canonicalize(path)? == path)
}

/// Returns true if something is mounted at `path` itself.
fn is_mounted(path: &Path) -> io::Result<bool> {
    use rustix::fs::{AtFlags, CWD, StatxAttributes, StatxFlags, statx};
    let found = statx(CWD, path, AtFlags::SYMLINK_NOFOLLOW, StatxFlags::BASIC_STATS)?;
    Ok(found.stx_attributes.contains(StatxAttributes::MOUNT_ROOT))
}

fn in_memory(place: &Path, options: &CStr) -> io::Result<()> {
    mount("tmpfs", place, "tmpfs", MountFlags::NOSUID | MountFlags::NODEV, options)?;
    Ok(())
}

fn make_parent(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), fs::create_dir_all)
}

/// Something to mount on: what is there already, or a new empty folder or file.
fn make_place(path: &Path, is_folder: bool) -> io::Result<()> {
    if fs::symlink_metadata(path).is_ok() {
        return Ok(());
    }
    if is_folder {
        return fs::create_dir_all(path);
    }
    make_parent(path)?;
    fs::File::create_new(path).map(drop)
}

/// Takes rights from the mount at `path`, and from those below it.
fn restrict(path: &Path, attributes: u64, is_recursive: bool) -> io::Result<()> {
    let mut bytes = OsStr::as_bytes(path.as_os_str()).to_vec();
    bytes.push(0);
    let path = CStr::from_bytes_with_nul(&bytes).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
    let attributes = libc::mount_attr { attr_set: attributes, attr_clr: 0, propagation: 0, userns_fd: 0 };
    let flags = if is_recursive { libc::AT_RECURSIVE } else { 0 };
    #[expect(unsafe_code, reason = "no crate of ours has this call")]
    // SAFETY: the path is a C string and the attributes are a whole `mount_attr` of the size that is said; both
    // outlive the call, which keeps neither.
    let done = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            libc::AT_FDCWD,
            path.as_ptr(),
            flags,
            &attributes,
            size_of::<libc::mount_attr>(),
        )
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
