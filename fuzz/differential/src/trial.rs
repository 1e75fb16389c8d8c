//! The messages between the process outside and the one in the sandbox.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// The shell that runs a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TrialShell {
    /// bash.
    Bash,
    /// dash, for what POSIX says of sh.
    Dash,
}

impl TrialShell {
    /// The program.
    pub fn program(self) -> &'static str {
        match self {
            Self::Bash => "bash",
            Self::Dash => "dash",
        }
    }
}

/// Files of the workdir that are kept for undo before a line runs, so that their loss doesn't count.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UndoScope {
    /// Nothing.
    Nothing,
    /// These files and folders with all below.
    Paths(Vec<String>),
    /// All of it.
    Everything,
}

impl UndoScope {
    /// Returns true if the file at `path`, relative to the workdir, is kept.
    pub fn covers(&self, path: &str) -> bool {
        match self {
            Self::Nothing => false,
            Self::Everything => true,
            Self::Paths(paths) => paths.iter().any(|kept| {
                path.strip_prefix(kept.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            }),
        }
    }
}

/// A line to run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trial {
    /// Shell that runs the line.
    pub shell: TrialShell,
    /// The line.
    pub line: String,
    /// Files of the workdir kept before it runs.
    pub kept: UndoScope,
    /// Slow programs end at once: few lines are about them, and they would take most of the time.
    pub skips_slow: bool,
}

/// Orders to the process in the sandbox.
#[derive(Debug, Serialize, Deserialize)]
pub struct TrialOrders {
    /// The folder that everything lies in.
    pub root: PathBuf,
    /// The folder of the stand-ins for programs.
    pub stand_ins: PathBuf,
    /// The folder of what is run for a slow program that is skipped.
    pub slow: PathBuf,
    /// Longest time that each line may run.
    pub limit_ms: u64,
    /// The lines, in order.
    pub trials: Vec<Trial>,
}

/// Report of the process in the sandbox, a line each.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TrialReport {
    /// The line with this number begins.
    Begun(usize),
    /// This line took these canaries.
    Lost(usize, Vec<String>),
    /// All lines were run.
    Done,
    /// It can't go on, and why.
    Failed(String),
}
