//! Built-in script of the scripted agent, for a run without a script: it tells the truth, in the form that a session
//! asks for.
//!
//! It confirms without pretending to have read the brief, does nothing, and completes with a report that says so. It
//! never calls a tool.

use super::script::{Repeat, Script, ScriptTurn};

const CONFIRMATION: &str = "\
## Confirmation Summary

This is Adjutant's built-in script. No model is connected, so nobody has read your brief and nobody will work on it.

**Objective**: as your brief has it; not understood, not restated.
**Deliverables**: none will be made.
**Constraints**: met, because no tool is called and no file is touched.
**Tools required**: none.
**Unknowns**: everything in the brief.

Per-step or auto-pilot? Either ends the same way. To see work done without a model, give the run a script.";

const REPORT: &str = "\
## Phase 4

Nothing was done. No model is connected: these lines come from Adjutant's built-in script.

- Delivered: nothing. No file was read or written, no command was run.
- Unresolved: the whole brief.
- Open: choose a script (or, where one is built, an adapter that speaks to a model) and run the brief again.";

/// Returns the built-in script: a confirmation, then the report for as long as anybody asks.
pub(super) fn script() -> Script {
    let confirmation = ScriptTurn { text: CONFIRMATION.to_owned(), ..ScriptTurn::default() };
    let report = ScriptTurn { text: REPORT.to_owned(), repeat: Repeat::Forever, ..ScriptTurn::default() };
    Script { name: "builtin".to_owned(), turns: vec![confirmation, report], parts: Vec::new() }
}
