//! Facts about a tool that core needs: its name, the needs of a call, and the meaning of an interruption.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::words::Category;

/// A tool as it is offered to an agent and judged by the gate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// The name an agent calls it by, such as `read_file`.
    pub name: String,
    /// Description for the agent.
    pub description: String,
    /// The categories that every call to it needs.
    #[serde(default)]
    pub categories: Vec<Category>,
    /// Effect of a call on the world.
    pub effect: ToolEffect,
    /// The JSON Schema of its arguments.
    pub schema: Value,
}

/// The tools that are offered to the agents of a run, as they are put on record: a resume, a replay and a question about
/// a call judge by what was offered then, whatever a later version of a tool needs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OfferedTools {
    /// [`content_hash`] of the tools as they are written: another list has another hash.
    pub hash: String,
    /// The tools, in the order in which they are offered.
    pub tools: Vec<ToolSpec>,
}

impl OfferedTools {
    /// Returns these tools with their hash.
    #[must_use]
    pub fn of(tools: &[ToolSpec]) -> Self {
        let written = serde_json::to_vec(tools).unwrap_or_default();
        Self { hash: content_hash(&written), tools: tools.to_vec() }
    }

    /// Returns the tools, to be shared.
    #[must_use]
    pub fn specs(&self) -> ToolSpecs {
        self.tools.clone().into()
    }
}

/// Effect of a call on the world, which decides what may be done about an interrupted one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolEffect {
    /// Merely reads: may run beside other reads, and is repeated after an interruption.
    Reads,
    /// Writes files whose hashes before and after are recorded with the intent, so that an
    /// interruption can be settled by looking.
    WritesFiles,
    /// Adds something of which a second writing is recognised and changes nothing: repeated after an interruption,
    /// but never beside another call.
    WritesOnce,
    /// Waits for something: merely reads, and is repeated after an interruption, unless its arguments have a command
    /// ([`wait::runs_command`](super::wait::runs_command)), which may do anything. Never runs beside another call: what
    /// follows a wait is meant to come after it.
    Waits,
    /// Anything else: an interrupted call has an unknown effect and is never repeated for the agent.
    Anything,
}

impl ToolEffect {
    /// Returns true if an interrupted call may simply be repeated; of a wait, if it runs no command.
    #[must_use]
    pub const fn is_repeatable(self) -> bool {
        match self {
            Self::Reads | Self::WritesOnce | Self::Waits => true,
            Self::WritesFiles | Self::Anything => false,
        }
    }
}

/// One call that an agent asked for in a turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The agent's own name for the call; unique within a turn at best.
    pub call_id: String,
    /// The tool's name as the agent gave it.
    pub name: String,
    /// The arguments; `null` if `malformed` says why they could not be read.
    #[serde(default)]
    pub args: Value,
    /// The parser's error and the arguments as text, if those were not valid JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub malformed: Option<String>,
    /// True if a secret in the arguments was masked: such a call is never made from the journal.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub masked: bool,
    /// The paths of the call that really are elsewhere, as they were when the call was asked for: a fact of the
    /// driver's, whatever an agent says. A path that is not listed is where its text says.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resolved: Vec<ResolvedPath>,
}

/// Real place of a path that a call names: behind links, or in a folder that has a second name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResolvedPath {
    /// The path as the call names it, relative to the workdir and in plain form.
    pub path: String,
    /// The path without links, relative to the workdir: what the tool opens.
    pub place: String,
    /// Another name of that place by which it is judged too: `.git/config` where a repository's own folder has
    /// another name, or is mounted elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known_as: Option<String>,
}

/// Result of a call: the text for the agent, and how it went.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolOutput {
    /// True if the call did what it was asked to.
    pub success: bool,
    /// Text for the agent.
    pub content: String,
    /// A stable name for the fault, such as `PATH_ESCAPE` or `HUNK_FAILED`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// Numbers about the call.
    #[serde(default)]
    pub meta: ToolMeta,
}

/// Numbers about a call; what does not apply is absent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ToolMeta {
    /// Bytes, characters or entries, as the tool defines it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// True if the content was cut.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub truncated: Option<bool>,
    /// The exit status of a process; -1 if a signal ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// The signal that ended a process, such as `SIGKILL`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<String>,
    /// The file that was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<Box<FileSeen>>,
}

/// A file as an agent knows it: its state when the agent last read or wrote it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileSeen {
    /// The file, relative to the workdir, without links.
    pub path: String,
    /// The short hash of its whole content.
    pub hash: String,
    /// Number of its bytes that were shown as others, because they are no text or a secret; a lower bound.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub replaced: u64,
    /// The lines that were shown, where those were not all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<SeenPart>,
}

/// Lines of a file that were shown. Where the last comes before the first, none was shown as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenPart {
    /// The first, from 1.
    pub first: u64,
    /// The last.
    pub last: u64,
    /// Number of lines in the file.
    pub lines: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl ToolOutput {
    /// Returns a result that says the call did not work, with a stable code.
    #[must_use]
    pub fn failed(code: &str, content: impl Into<String>) -> Self {
        Self { success: false, content: content.into(), code: Some(code.to_owned()), meta: ToolMeta::default() }
    }

    /// Returns a result that says the call worked.
    #[must_use]
    pub fn worked(content: impl Into<String>) -> Self {
        Self { success: true, content: content.into(), code: None, meta: ToolMeta::default() }
    }
}

/// Change that one call will make to one file: recorded before the call, so that an interrupted call can be settled by
/// looking at the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileChange {
    /// The file, relative to the workdir, with `/` between its segments.
    pub path: String,
    /// The short hash of the content before; absent if there is no such file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// The short hash of the content after; absent if the file will be gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

/// Returns the short hash of a file's content: the first 32 hexadecimal digits of its BLAKE3.
#[must_use]
pub fn content_hash(content: &[u8]) -> String {
    let mut hasher = ContentHasher::default();
    hasher.update(content);
    hasher.finish()
}

/// Returns the whole hash of a content: all 64 hexadecimal digits of its BLAKE3. For what must not be forged, where
/// [`content_hash`] is for what must be told apart.
#[must_use]
pub fn whole_hash(content: &[u8]) -> String {
    blake3::hash(content).to_hex().to_string()
}

/// Computes [`content_hash`] piece by piece, for content too large to hold.
#[derive(Debug, Clone, Default)]
pub struct ContentHasher(blake3::Hasher);

impl ContentHasher {
    /// Takes what comes next.
    pub fn update(&mut self, piece: &[u8]) {
        self.0.update(piece);
    }

    /// Returns the hash of everything taken.
    #[must_use]
    pub fn finish(&self) -> String {
        let mut hash = self.0.finalize().to_hex().to_string();
        hash.truncate(32);
        hash
    }
}

/// The tools of a session, shared between its copies.
pub type ToolSpecs = Arc<[ToolSpec]>;
