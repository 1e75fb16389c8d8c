//! The identity of a workdir that is in no repository: a hash over path, mode and content of every file.

use std::io;
use std::path::Path;
use std::time::Instant;

use adjutant_core::words::tool::ContentHasher;

use super::index::NoTree;
use super::shadow::left;
use super::{OWN_FOLDER, TreeLimits};
use crate::workdir::{Kind, WorkPath, Workdir, kept_path};

/// Git's own folders, which its commands change.
const GIT_FOLDER: &str = ".git";

/// Returns `files:` and the hash of all files below `workdir`; folders of their own don't count, as for Git.
pub(super) fn id(workdir: &Path, limits: &TreeLimits, until: Instant) -> Result<String, NoTree> {
    let workdir = Workdir::open(workdir)?;
    let root = kept_path(".").ok_or_else(|| io::Error::other("the workdir has no path"))?;
    let mut walk = FileWalk { workdir: &workdir, limits, until, hasher: ContentHasher::default(), files: 0, bytes: 0 };
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        let entries = workdir.entries(&folder).map_err(explained)?;
        // By path they are in order, since folders are taken in the order of their names.
        let mut below = Vec::new();
        for entry in entries {
            let is_own = folder == root && entry.name == OWN_FOLDER;
            let Some(path) = folder.join(&entry.name).filter(|_| !is_own && entry.name != GIT_FOLDER) else { continue };
            if entry.kind == Kind::Folder {
                below.push(path);
            } else {
                walk.take(&path, entry.kind)?;
            }
        }
        folders.extend(below.into_iter().rev());
    }
    Ok(format!("files:{}", walk.hasher.finish()))
}

struct FileWalk<'a> {
    workdir: &'a Workdir,
    limits: &'a TreeLimits,
    until: Instant,
    hasher: ContentHasher,
    files: usize,
    bytes: u64,
}

impl FileWalk<'_> {
    fn take(&mut self, path: &WorkPath, kind: Kind) -> Result<(), NoTree> {
        left(self.until)?;
        self.files += 1;
        if self.files > self.limits.files {
            return Err(NoTree::TooLarge(format!("it has more than {} files", self.limits.files)));
        }
        let mut content = ContentHasher::default();
        let mode: &[u8] = match kind {
            Kind::File { bytes, mode } => {
                self.bytes = self.bytes.saturating_add(bytes);
                if self.bytes > self.limits.bytes {
                    return Err(NoTree::TooLarge(format!("it has more than {} bytes", self.limits.bytes)));
                }
                self.workdir.read_through(path, &mut |piece| content.update(piece)).map_err(explained)?;
                if mode & 0o100 == 0 { b"100644" } else { b"100755" }
            }
            Kind::Link => {
                content.update(self.workdir.read_link(path).map_err(explained)?.as_bytes());
                b"120000"
            }
            // Nothing can be read of it.
            Kind::Special | Kind::Folder => b"special",
        };
        for part in [path.as_str().as_bytes(), mode, content.finish().as_bytes()] {
            self.hasher.update(&(part.len() as u64).to_le_bytes());
            self.hasher.update(part);
        }
        Ok(())
    }
}

fn explained(error: crate::workdir::WorkdirError) -> NoTree {
    NoTree::Failed(io::Error::other(error.explained()))
}
