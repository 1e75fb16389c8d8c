//! The evidence without which no goal counts as reached: what must hold of the files, and the gate that refuses.
//!
//! In: the files before the loop and now, and how the brief's checks came out on them. Out: the evidence, with the gates
//! that refuse and their reasons, or with none. What can't be told refuses: nothing is reached by not looking.

use std::collections::BTreeMap;

use super::setup::LoopSetup;
use super::state::FilesSeen;
use crate::procedure::CheckCame;
use crate::trace::{EvidenceCheck, LoopEvent};

/// The most paths that a reason names.
const PATHS_MAX: usize = 10;

/// Everything that evidence is made from.
pub(super) struct Gathered<'a> {
    pub(super) iteration: u32,
    /// The files before the first iteration.
    pub(super) baseline: &'a FilesSeen,
    /// The files that the checks ran on.
    pub(super) tree: &'a FilesSeen,
    /// The files after the checks.
    pub(super) after: &'a FilesSeen,
    pub(super) checks: &'a [CheckCame],
}

/// Judges what was gathered.
pub(super) fn judge(setup: &LoopSetup, gathered: &Gathered<'_>) -> LoopEvent {
    let refusals = refusals(setup, gathered);
    let checks = gathered.checks.iter().map(|check| EvidenceCheck {
        command: check.command.clone(),
        passed: check.passed,
        exit_code: check.exit_code,
    });
    let gates: Vec<&str> = refusals.iter().map(|(gate, _)| *gate).collect();
    let refused_by = (!gates.is_empty()).then(|| gates.join(", "));
    let reasons = refusals.into_iter().flat_map(|(_, reasons)| reasons).collect();
    LoopEvent::Evidence {
        iteration: gathered.iteration,
        tree: gathered.after.tree.clone(),
        checks: checks.collect(),
        refused_by,
        reasons,
    }
}

/// Returns the gates that refuse, each with its reasons: all of them, so that one iteration can mend them all.
fn refusals(setup: &LoopSetup, gathered: &Gathered<'_>) -> Vec<(&'static str, Vec<String>)> {
    let Gathered { baseline, tree, after, checks, .. } = gathered;
    let mut refusals = Vec::new();
    let mut refuse = |gate, reasons: Vec<String>| {
        if !reasons.is_empty() {
            refusals.push((gate, reasons));
        }
    };
    match &after.tree {
        None => {
            let why = after.error.as_deref().unwrap_or("no reason was given");
            refuse("files", vec![format!("it can't be told what the files are: {why}")]);
        }
        Some(id) if baseline.tree.as_ref() == Some(id) => {
            refuse("changes", vec!["nothing has changed since the loop began".to_owned()]);
        }
        Some(_) if tree.tree != after.tree => {
            let why = "the checks changed files each time that they ran: what they say holds for files that are gone";
            refuse("files", vec![why.to_owned()]);
        }
        Some(_) => {}
    }
    refuse("expected_files", after.absent.iter().map(|path| format!("{path} isn't there, or is empty")).collect());
    refuse("tests", test_faults(&baseline.tests, &after.tests, !setup.protected_tests.is_empty()));
    refuse("checks", checks.iter().filter(|check| !check.passed).map(CheckCame::described).collect());
    refusals
}

/// Returns the faults of tests that were there when the loop began: those that are gone, and where they are protected
/// those that changed.
fn test_faults(before: &BTreeMap<String, String>, now: &BTreeMap<String, String>, are_protected: bool) -> Vec<String> {
    let mut faults: Vec<String> = Vec::new();
    for (path, hash) in before {
        match now.get(path) {
            None => faults.push(format!("the test {path} was removed or emptied")),
            Some(now) if are_protected && now != hash => faults.push(format!("the test {path} was changed")),
            Some(_) => {}
        }
    }
    let more = faults.len().saturating_sub(PATHS_MAX);
    faults.truncate(PATHS_MAX);
    if more > 0 {
        faults.push(format!("and {more} more"));
    }
    faults
}
