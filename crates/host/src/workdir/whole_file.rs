//! A file with all that belongs to it, for whoever keeps it and puts it back.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, StatxFlags, XattrFlags, mknodat, statx};

use super::beneath::open_file;
use super::{WorkPath, Workdir, WorkdirError, kind_of_std, plain};

/// All permission bits, set-id and sticky among them.
const MODE_BITS: u32 = 0o7777;
/// The most bytes of names of attributes that are read, and of one's value: what Linux allows.
const ATTRIBUTE_BYTES_MAX: usize = 64 << 10;

/// A plain file as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WholeFile {
    pub(crate) content: Vec<u8>,
    /// Its permission bits, set-id and sticky among them.
    pub(crate) mode: u32,
    /// Number of its names.
    pub(crate) names: u64,
    /// Its extended attributes, access lists among them; those that can't be read are left out.
    pub(crate) attributes: BTreeMap<String, Vec<u8>>,
}

impl Workdir {
    /// Reads a plain file with all that belongs to it; `None` if it has more than `bytes_max`.
    pub(crate) fn read_whole(&self, path: &WorkPath, bytes_max: u64) -> Result<Option<WholeFile>, WorkdirError> {
        let failed = |error| WorkdirError::io(path, error);
        let (parent, name) = self.open_parent(path)?;
        plain(path, super::kind_of(&parent.symlink_metadata(&name).map_err(failed)?))?;
        let file = open_file(&parent, &name, OFlags::RDONLY).map_err(failed)?;
        let found = file.metadata().map_err(failed)?;
        plain(path, kind_of_std(&found))?;
        let mut content = Vec::new();
        let read = (&file).take(bytes_max.saturating_add(1)).read_to_end(&mut content).map_err(failed)?;
        let (mode, names) = (found.mode() & MODE_BITS, found.nlink());
        let is_whole = read as u64 <= bytes_max;
        Ok(is_whole.then(|| WholeFile { content, mode, names, attributes: attributes_of(&file) }))
    }

    /// Gives a file these attributes; returns the names of those that it can't be given.
    pub(crate) fn set_attributes(&self, path: &WorkPath, attributes: &BTreeMap<String, Vec<u8>>) -> Vec<String> {
        let opened = self.open_parent(path).and_then(|(parent, name)| {
            open_file(&parent, &name, OFlags::RDONLY).map_err(|error| WorkdirError::io(path, error))
        });
        let can_not = |(name, value): (&String, &Vec<u8>)| {
            let set = opened
                .as_ref()
                .is_ok_and(|file| rustix::fs::fsetxattr(file, name.as_str(), value, XattrFlags::empty()).is_ok());
            (!set).then(|| name.clone())
        };
        attributes.iter().filter_map(can_not).collect()
    }

    /// Returns a stamp that differs once anything at `path` changes: another file, its content, its permissions. `None`
    /// if nothing is there, or the system doesn't say.
    pub(crate) fn stamp(&self, path: &WorkPath) -> Option<String> {
        let (parent, name) = self.open_parent(path).ok()?;
        let wanted = StatxFlags::BASIC_STATS;
        let found = statx(&parent, &*name, AtFlags::SYMLINK_NOFOLLOW, wanted).ok()?;
        let (changed, written) = (found.stx_ctime, found.stx_mtime);
        let is_folder = FileType::from_raw_mode(found.stx_mode.into()) == FileType::Directory;
        // What comes and goes in a folder is no change of the folder.
        Some(if is_folder {
            format!("{}-{:o}", found.stx_ino, found.stx_mode)
        } else {
            let times = format!("{}.{}-{}.{}", changed.tv_sec, changed.tv_nsec, written.tv_sec, written.tv_nsec);
            format!("{}-{:o}-{}-{times}", found.stx_ino, found.stx_mode, found.stx_size)
        })
    }

    /// Returns true if a pipe with a name is there.
    pub(crate) fn is_pipe(&self, path: &WorkPath) -> bool {
        let found = self
            .open_parent(path)
            .ok()
            .and_then(|(parent, name)| statx(&parent, &*name, AtFlags::SYMLINK_NOFOLLOW, StatxFlags::TYPE).ok());
        found.is_some_and(|found| FileType::from_raw_mode(found.stx_mode.into()) == FileType::Fifo)
    }

    /// Makes a pipe with a name, and the folders above it.
    pub(crate) fn create_pipe(&self, path: &WorkPath, mode: u32) -> Result<(), WorkdirError> {
        self.create_parents(path)?;
        let (parent, name) = self.open_parent(path)?;
        mknodat(&parent, &*name, FileType::Fifo, Mode::from_raw_mode(0o600), 0)
            .map_err(|error| WorkdirError::io(path, io::Error::from(error)))?;
        self.set_mode(path, mode)
    }
}

fn attributes_of(file: &File) -> BTreeMap<String, Vec<u8>> {
    // Most files have none, and some file systems know none.
    let Ok(1..) = rustix::fs::flistxattr_query(file) else { return BTreeMap::new() };
    let mut names = vec![0; ATTRIBUTE_BYTES_MAX];
    let Ok(length) = rustix::fs::flistxattr(file, &mut names[..]) else { return BTreeMap::new() };
    let listed = names.get(..length).unwrap_or_default();
    let names = listed.split(|byte| *byte == 0).filter_map(|name| std::str::from_utf8(name).ok());
    let kept = |name: &&str| !name.is_empty() && !name.starts_with("security.selinux");
    let value = |name: &str| {
        let mut value = vec![0; ATTRIBUTE_BYTES_MAX];
        let length = rustix::fs::fgetxattr(file, name, &mut value[..]).ok()?;
        value.truncate(length);
        Some((name.to_owned(), value))
    };
    names.filter(kept).filter_map(value).collect()
}

/// The path that a text from a list of what was kept stands for.
pub(crate) fn kept_path(path: &str) -> Option<WorkPath> {
    let is_plain = |name: &str| !matches!(name, "" | "." | "..") && !name.contains('\0');
    let text = if path == "." { "" } else { path };
    (text.is_empty() || text.split('/').all(is_plain)).then(|| WorkPath(text.to_owned()))
}
