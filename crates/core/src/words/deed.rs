//! Effects of the runtime that are no tool calls: a look at what the files are, a check of the work, files that say how
//! a run stands.

use serde::{Deserialize, Serialize};

/// An effect that the runtime is asked for and that is no tool call.
///
/// Each of them may be done again after an interruption: a look changes nothing, a check is a command that its operator
/// declared to be run at any time, and files are replaced as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Deed {
    /// Identify the content of the working tree.
    Tree {
        /// Name under which the content is kept so that it can be brought back; `None` if it is only identified.
        keep: Option<String>,
        /// Files that the brief declares: those that aren't there are told.
        files: Vec<String>,
        /// Patterns of files whose content is told one by one; empty for those that are tests by their name.
        tests: Vec<String>,
    },
    /// Run a command by which the brief says that its work is checked.
    Check {
        /// The command line.
        command: String,
    },
    /// Write files in the folder `.adjutant` of the workdir, for people and scripts.
    Files(Vec<StatusFile>),
}

/// A file in the folder `.adjutant` of a workdir, as it is to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusFile {
    /// Its path below that folder.
    pub path: String,
    /// Its content.
    pub content: FileContent,
}

/// The content of a state file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileContent {
    /// Exactly this.
    Text(String),
    /// This, unless there is such a file already.
    Unless(String),
    /// None: the file is removed; with a text only if that is its content.
    Gone(Option<String>),
}

/// Kind of a deed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeedKind {
    /// The content of the working tree is identified.
    Tree,
    /// A check is run.
    Check,
    /// Files are written that say how the run stands.
    Files,
}

impl DeedKind {
    /// Its name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Tree => "tree",
            Self::Check => "check",
            Self::Files => "files",
        }
    }
}

impl Deed {
    /// Returns its kind.
    #[must_use]
    pub const fn kind(&self) -> DeedKind {
        match self {
            Self::Tree { .. } => DeedKind::Tree,
            Self::Check { .. } => DeedKind::Check,
            Self::Files(_) => DeedKind::Files,
        }
    }

    /// Returns its objects by name: the command, the files, the name under which content is kept.
    #[must_use]
    pub fn objects(&self) -> Vec<String> {
        match self {
            Self::Tree { keep, .. } => keep.iter().cloned().collect(),
            Self::Check { command } => vec![command.clone()],
            Self::Files(files) => files.iter().map(|file| file.path.clone()).collect(),
        }
    }
}
