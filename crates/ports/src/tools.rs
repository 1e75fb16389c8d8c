//! The tools port: a call goes in, its result comes out.

use std::collections::BTreeMap;
use std::path::PathBuf;

use adjutant_core::gate::custody::FolderChange;
use adjutant_core::words::Look;
use adjutant_core::words::deed::StatusFile;
use adjutant_core::words::tool::{FileChange, FileSeen, ResolvedPath, ToolCall, ToolOutput, ToolSpecs};

use crate::{CancellationToken, Pending};

/// Whatever carries out tool calls.
///
/// What looks at files or keeps them takes time, so it is waited for and blocks nobody.
pub trait Tools: Send + Sync {
    /// Returns the tools there are, in the order they are offered.
    fn specs(&self) -> ToolSpecs;

    /// Looks where the paths that `call` names really are, so that the call is judged by that too. Only those that are
    /// not where their text says are listed. A call whose paths have moved by the time it is made fails.
    fn resolve<'a>(&'a self, call: &'a ToolCall) -> Pending<'a, Vec<ResolvedPath>> {
        let _ = call;
        Box::pin(std::future::ready(Vec::new()))
    }

    /// Looks at what `call` would do to files, without doing it. Empty for a tool that writes none, and
    /// for a call that will fail before it writes anything.
    fn prepare<'a>(&'a self, call: &'a ToolCall) -> Pending<'a, Prepared>;

    /// Keeps the files of the workdir that `call` may destroy, on the disk when this returns, so that an operator can
    /// undo the call. `None` if it destroys nothing that is there. Tools that destroy nothing of a workdir keep
    /// nothing.
    ///
    /// # Errors
    ///
    /// The reason why it could not be kept, as a sentence: then the call must not be made.
    fn rescue<'a>(
        &'a self,
        name: RescueName<'a>,
        call: &'a ToolCall,
        prepared: &'a Prepared,
    ) -> Pending<'a, Result<Option<Rescued>, String>> {
        let _ = (name, call, prepared);
        Box::pin(std::future::ready(Ok(None)))
    }

    /// Puts on record what the call that the rescue `name` was made before has changed of it, now that the call has
    /// ended. What can't be put on record is not known later, and undoing says so.
    fn call_ended<'a>(&'a self, name: RescueName<'a>) -> Pending<'a, ()> {
        let _ = name;
        Box::pin(std::future::ready(()))
    }

    /// Carries out one call. Never fails: every fault is a result that the agent can act on.
    ///
    /// If `cancel` fires, the call ends soon with code `CANCELLED`, its partial output kept in the content, and nothing
    /// of it left running.
    fn call<'a>(
        &'a self,
        call: &'a ToolCall,
        prepared: &'a Prepared,
        cancel: CancellationToken,
    ) -> Pending<'a, ToolOutput>;

    /// Looks at the workdir as a whole, for the run `run`. [`Look::Before`] keeps its state, on the disk when this
    /// returns, and finds nothing; [`Look::After`] gives every path that differs from that, in plain form.
    ///
    /// # Errors
    ///
    /// The reason why it can't tell, as half a sentence: there is too much, or the kept state is gone.
    fn look<'a>(&'a self, run: &'a str, look: Look) -> Pending<'a, Result<Vec<String>, String>> {
        let _ = (run, look);
        Box::pin(std::future::ready(Err("these tools have no working tree".to_owned())))
    }

    /// Identifies the content of the workdir, for the run of the ask, and keeps it if that is asked for.
    fn identify<'a>(&'a self, ask: TreeAsk<'a>) -> Pending<'a, TreeSight> {
        let _ = ask;
        let error = Some("these tools have no working tree".to_owned());
        Box::pin(std::future::ready(TreeSight { error, ..TreeSight::default() }))
    }

    /// Writes files in the folder `.adjutant` of the workdir, each as a whole.
    ///
    /// # Errors
    ///
    /// The reason why it could not be done, as half a sentence.
    fn write_state<'a>(&'a self, files: &'a [StatusFile]) -> Pending<'a, Result<(), String>> {
        let _ = files;
        Box::pin(std::future::ready(Err("these tools have no working tree".to_owned())))
    }

    /// Keeps how the workdir is, since the run `run` stands still from now on. What can't be kept is not compared.
    fn stand_still<'a>(&'a self, run: &'a str) -> Pending<'a, ()> {
        let _ = run;
        Box::pin(std::future::ready(()))
    }

    /// Returns the changes that others made in the workdir since the run `run` stood still, and forgets its state of
    /// then. `None` if nothing changed, or if that state is unknown: the run's last process was killed while it worked.
    fn go_on<'a>(&'a self, run: &'a str) -> Pending<'a, Option<FolderChange>> {
        let _ = run;
        Box::pin(std::future::ready(None))
    }

    /// Returns the branch and commit checked out in the workdir; `None` if there is no repository. Cheap: it is called
    /// before each turn and after it.
    fn checked_out(&self) -> Option<String> {
        None
    }

    /// Looks at the files of an interrupted call and says whether its changes were made.
    fn settle<'a>(&'a self, changes: &'a [FileChange]) -> Pending<'a, Settled>;
}

/// A request to identify the content of a workdir.
#[derive(Debug, Clone, Copy)]
pub struct TreeAsk<'a> {
    /// The run.
    pub run: &'a str,
    /// Name under which the content is kept; `None` if it is only identified.
    pub keep: Option<&'a str>,
    /// Files of which those that aren't there are told.
    pub files: &'a [String],
    /// Patterns of files that are told one by one; empty for those that are tests by their name.
    pub tests: &'a [String],
}

/// The content of a workdir at a moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TreeSight {
    /// Identity of everything that is or could be committed.
    pub tree: Option<String>,
    /// The commit that is checked out.
    pub head: Option<String>,
    /// The ref under which the content is kept.
    pub kept: Option<String>,
    /// Paths that differ from what was kept before.
    pub changed: Vec<String>,
    /// Number of such paths that are not listed.
    pub more: u64,
    /// Files that aren't there.
    pub absent: Vec<String>,
    /// The tests, by path, each with a hash of its content.
    pub tests: BTreeMap<String, String>,
    /// Reason why something of this can't be told.
    pub error: Option<String>,
}

/// Facts about a call before it begins.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Prepared {
    /// One entry per file that will be written, created or deleted.
    pub changes: Vec<FileChange>,
    /// True if a command that it runs may use the network; set by the driver, from the decision.
    pub network: bool,
    /// Those of its files that the agent knows, as it knows them; set by the driver, from the record.
    pub seen: Vec<FileSeen>,
}

/// Key by which a rescue is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RescueName<'a> {
    /// The run's id.
    pub run: &'a str,
    /// The call, as a name for a folder: `call-3.1`.
    pub call: &'a str,
}

/// Files kept before a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rescued {
    /// The ref of the repository that holds it; absent if all was copied.
    pub reference: Option<String>,
    /// The folder with the copies and the list of everything.
    pub folder: PathBuf,
    /// Number of files and links that were kept.
    pub files: u64,
    /// Their size in bytes.
    pub bytes: u64,
    /// Number of files and folders that were not kept.
    pub left_out: u64,
}

/// Outcome of looking at the files of an interrupted call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settled {
    /// Every file is as it should be afterwards: the call happened.
    Made,
    /// Every file is as it was before: the call did not happen and may be made now.
    NotMade,
    /// Some files are neither, or some are one and some the other.
    Unknown,
}
