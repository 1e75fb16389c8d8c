//! What a rescue holds: one file, written last.

use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// The version of the format that is written; others are not read.
const VERSION: u32 = 1;
/// The manifest's name in the folder of its rescue.
pub(super) const FILE: &str = "manifest.json";

/// What was kept, whence and where.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// The version of the format.
    pub version: u32,
    /// Its name, such as `call-3.1` or `undo-1`.
    pub name: String,
    /// When it was made, in milliseconds since 1970.
    pub made_at_ms: u64,
    /// What it was made before: a tool's name, or `undo`.
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
    pub entries: Vec<Entry>,
    /// What was there and was not kept; a folder stands for all below it and ends with `/`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
    /// Whether all that was there is in one of these two lists.
    pub is_complete: bool,
}

/// One thing that was kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Its path, relative to the workdir.
    pub path: String,
    /// The permission bits of a file or folder; 0 for a link.
    pub mode: u32,
    /// The short hash of a file's content; absent for what is no file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
    /// The bytes of a file.
    #[serde(default)]
    pub bytes: u64,
    /// Where its content is.
    pub store: Store,
}

/// Where the content of an entry is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Store {
    /// In the commit, under its path.
    Git,
    /// In the file of this number beside the manifest.
    Copy(u64),
    /// Here: it is a link to this.
    Link(String),
    /// It is a folder with nothing in it.
    Folder,
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

    /// How many files and links it holds, and how many bytes.
    #[must_use]
    pub fn size(&self) -> (u64, u64) {
        let files = self.entries.iter().filter(|entry| entry.store != Store::Folder);
        files.fold((0, 0), |(files, bytes), entry| (files + 1, bytes + entry.bytes))
    }
}
