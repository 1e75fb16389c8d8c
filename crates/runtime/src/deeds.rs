//! Deeds: effects that are no tool calls, and how each goes on record.

use std::time::Instant;

use adjutant_core::trace::{Body, DeedEvent};
use adjutant_core::words::Slot;
use adjutant_core::words::category::SHELL_EXEC;
use adjutant_core::words::deed::{Deed, DeedKind};
use adjutant_core::words::tool::ToolCall;
use adjutant_ports::{CancellationToken, Prepared, Tools, TreeAsk, TreeSight};
use serde_json::json;

use crate::masking::Masks;

/// Longest end of a check's output that is kept, in characters. The faults of a build or of tests stand at its end.
const OUTPUT_CHARS_MAX: usize = 4_000;
/// Longest time that a check may take, in milliseconds: the longest that a command may.
const CHECK_MS_MAX: u64 = 600_000;

/// A deed that has ended.
pub(crate) enum DeedDone {
    /// The files are these.
    Tree(TreeSight),
    /// A check came out so.
    Check { passed: bool, exit_code: Option<i32>, output: String, duration_ms: u64 },
    /// Files were written, or the reason why not.
    Files(Result<(), String>),
}

impl DeedDone {
    /// Does a deed. Secrets in what a check printed are masked.
    pub(crate) async fn of(
        run: &str,
        deed: &Deed,
        tools: &dyn Tools,
        masks: &Masks,
        cancel: CancellationToken,
    ) -> Self {
        match deed {
            Deed::Tree { keep, files, tests } => {
                Self::Tree(tools.identify(TreeAsk { run, keep: keep.as_deref(), files, tests }).await)
            }
            Deed::Check { command } => check(command, tools, masks, cancel).await,
            Deed::Files(files) => Self::Files(tools.write_state(files).await),
        }
    }

    /// The end of a deed whose task panicked.
    pub(crate) fn broken(kind: DeedKind, said: &str) -> Self {
        let why = format!("it panicked: {said}");
        match kind {
            DeedKind::Tree => Self::Tree(TreeSight { error: Some(why), ..TreeSight::default() }),
            DeedKind::Check => Self::Check { passed: false, exit_code: None, output: why, duration_ms: 0 },
            DeedKind::Files => Self::Files(Err(why)),
        }
    }

    /// Returns its outcome for the journal.
    pub(crate) fn on_record(self, slot: Slot, masks: &Masks) -> Body {
        let masked = |error: Option<String>| error.map(|error| masks.mask(&error));
        Body::Deed(match self {
            Self::Tree(TreeSight { tree, head, kept, changed, more, absent, tests, error }) => DeedEvent::TreeKept {
                slot,
                tree,
                head,
                kept,
                changed: changed.iter().map(|path| masks.mask(path)).collect(),
                more,
                absent,
                tests,
                error: masked(error),
            },
            Self::Check { passed, exit_code, output, duration_ms } => {
                DeedEvent::CheckRun { slot, passed, exit_code, output, duration_ms }
            }
            Self::Files(written) => DeedEvent::FilesWritten { slot, error: masked(written.err()) },
        })
    }
}

/// Runs a check as `shell_exec` runs a command: in the same sandbox, without the network.
async fn check(command: &str, tools: &dyn Tools, masks: &Masks, cancel: CancellationToken) -> DeedDone {
    let began = Instant::now();
    let call = ToolCall {
        call_id: "check".to_owned(),
        name: SHELL_EXEC.to_owned(),
        args: json!({"cmd": command, "timeout_ms": CHECK_MS_MAX}),
        malformed: None,
        masked: false,
        resolved: Vec::new(),
    };
    let came = tools.call(&call, &Prepared::default(), cancel).await;
    let output = told(&masks.mask_output(&came));
    let skipped = output.chars().count().saturating_sub(OUTPUT_CHARS_MAX);
    let output: String = output.chars().skip(skipped).collect();
    let exit_code = came.meta.exit_code;
    // A command that is switched off, or that failed to start, has no exit code.
    let passed = came.success && exit_code.is_none_or(|code| code == 0);
    let duration_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    DeedDone::Check { passed, exit_code, output, duration_ms }
}

/// Returns the output of a command without what `shell_exec` says around it, and without empty lines.
fn told(output: &str) -> String {
    let is_frame = |line: &&str| {
        line.trim().is_empty() || matches!(*line, "stdout:" | "stderr:") || line.starts_with("Exited with code ")
    };
    output.lines().filter(|line| !is_frame(line)).map(|line| format!("{line}\n")).collect()
}
