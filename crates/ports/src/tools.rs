//! The tools port: a call goes in, what came of it comes out.

use adjutant_core::tool::{FileChange, ToolCall, ToolOutput, ToolSpecs};

use crate::{CancellationToken, Pending};

/// Whatever carries out tool calls.
pub trait Tools: Send + Sync {
    /// The tools there are, in the order they are offered.
    fn specs(&self) -> ToolSpecs;

    /// Looks at what `call` would do to files, without doing it. Empty for a tool that writes none, and
    /// for a call that will fail before it writes anything.
    fn prepare(&self, call: &ToolCall) -> Prepared;

    /// Carries out one call. Never fails: whatever goes wrong is a result the agent can act on.
    ///
    /// When `cancel` fires the call ends soon with code `CANCELLED`, its partial output kept in the content,
    /// and nothing of it left running.
    fn call<'a>(
        &'a self,
        call: &'a ToolCall,
        prepared: &'a Prepared,
        cancel: CancellationToken,
    ) -> Pending<'a, ToolOutput>;

    /// Looks at the files of an interrupted call and says whether its changes were made.
    fn settle(&self, changes: &[FileChange]) -> Settled;
}

/// What is known of a call before it begins.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Prepared {
    /// One entry per file that will be written, created or deleted.
    pub changes: Vec<FileChange>,
    /// Whether a command that it runs may use the network: the driver's to say, from what was decided.
    pub network: bool,
}

/// What looking at the files of an interrupted call showed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settled {
    /// Every file is as it should be afterwards: the call happened.
    Made,
    /// Every file is as it was before: the call did not happen and may be made now.
    NotMade,
    /// Some files are neither, or some are one and some the other.
    Unknown,
}
