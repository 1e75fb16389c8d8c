//! The manifest of a rescue: one file, written last.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// The version of the format that is written; others are not read.
const VERSION: u32 = 1;
/// The manifest's name in the folder of its rescue.
pub(super) const FILE: &str = "manifest.json";

/// The list of everything that was kept, with its origin and its place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// The version of the format.
    pub version: u32,
    /// Its name, such as `call-3.1` or `undo-1`.
    pub name: String,
    /// The time it was made, in milliseconds since 1970.
    pub made_at_ms: u64,
    /// The act it was made before: a tool's name, or `undo`.
    pub before: String,
    /// The workdir.
    pub workdir: String,
    /// The paths that were to be kept with all below them; absent if that was the whole workdir.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paths: Option<Vec<String>>,
    /// The repository that holds the commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub git_dir: Option<String>,
    /// The ref under which the commit is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// The commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Everything that was kept.
    pub entries: Vec<RescueEntry>,
    /// Paths that were there and were not kept; a folder stands for all below it and ends with `/`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
    /// True if everything that was there is in one of these two lists.
    pub is_complete: bool,
}

/// One thing that was kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RescueEntry {
    /// Its path, relative to the workdir.
    pub path: String,
    /// The permission bits of a file, folder or pipe, set-id and sticky among them; 0 for a link.
    pub mode: u32,
    /// The short hash of a file's content; absent for what is no file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
    /// The bytes of a file.
    #[serde(default)]
    pub bytes: u64,
    /// The place of its content.
    pub store: Store,
    /// Its extended attributes, each value in hexadecimal digits.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub attributes: BTreeMap<String, String>,
    /// True if it had other names (hard links): it comes back as a file of its own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub had_other_names: bool,
    /// Stamp that tells whether it was changed after it was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stamp: Option<String>,
}

impl RescueEntry {
    /// Its extended attributes; one that can't be read back is left out.
    pub(super) fn attributes(&self) -> BTreeMap<String, Vec<u8>> {
        let bytes = |digits: &String| {
            let pair = |at: usize| u8::from_str_radix(digits.get(at..at + 2)?, 16).ok();
            (0..digits.len()).step_by(2).map(pair).collect::<Option<Vec<u8>>>()
        };
        self.attributes.iter().filter_map(|(name, digits)| Some((name.clone(), bytes(digits)?))).collect()
    }
}

/// The place of an entry's content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Store {
    /// In the commit, under its path.
    Git,
    /// In the file of this number beside the manifest.
    Copy(u64),
    /// Here: it is a link to this.
    Link(String),
    /// It is a folder; what was in it has entries of its own.
    Folder,
    /// It is a pipe with a name.
    Pipe,
}

/// The entries of a rescue that had changed when the call it was made before had ended.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Touched {
    /// The paths of those that the call changed, moved or deleted.
    pub paths: BTreeSet<String>,
}

/// The name of the file with what the call touched.
const TOUCHED: &str = "touched.json";

impl Touched {
    /// Reads the paths that the call of the rescue in `folder` touched; `None` if they are not on record.
    #[must_use]
    pub fn read(folder: &Path) -> Option<Self> {
        serde_json::from_slice(&std::fs::read(folder.join(TOUCHED)).ok()?).ok()
    }

    pub(super) fn write(&self, folder: &Path) -> io::Result<()> {
        let unfinished = folder.join(".touched");
        std::fs::write(&unfinished, serde_json::to_vec(self).map_err(io::Error::from)?)?;
        std::fs::rename(unfinished, folder.join(TOUCHED))
    }
}

impl Manifest {
    /// The manifest in the folder of a rescue.
    ///
    /// # Errors
    ///
    /// If it is not there or not of this version: then there is no rescue.
    pub fn read(folder: &Path) -> io::Result<Self> {
        let manifest: Self = serde_json::from_slice(&std::fs::read(folder.join(FILE))?)?;
        if manifest.version != VERSION {
            return Err(io::Error::other(format!("the rescue is of version {}, not {VERSION}", manifest.version)));
        }
        Ok(manifest)
    }

    /// A manifest that holds nothing yet.
    pub(super) fn empty(name: &str, before: &str, workdir: String, made_at_ms: u64) -> Self {
        Self {
            version: VERSION,
            name: name.to_owned(),
            made_at_ms,
            before: before.to_owned(),
            workdir,
            paths: None,
            git_dir: None,
            reference: None,
            commit: None,
            entries: Vec::new(),
            left_out: Vec::new(),
            is_complete: true,
        }
    }

    /// Returns the number of files and links it holds, and the number of bytes.
    #[must_use]
    pub fn size(&self) -> (u64, u64) {
        let files = self.entries.iter().filter(|entry| entry.store != Store::Folder);
        files.fold((0, 0), |(files, bytes), entry| (files + 1, bytes + entry.bytes))
    }
}
