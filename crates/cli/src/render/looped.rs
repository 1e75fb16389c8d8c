//! Lines about loops: the checks that the program runs, what refuses completion, how each round ends.

use adjutant_core::trace::{DeedEvent, LoopEvent};
use adjutant_core::words::deed::DeedKind;
use adjutant_core::words::visible::visible_line;

use super::{Renderer, TextTone};

/// Number of reasons of a refusal that are shown.
const REASONS_MAX: usize = 4;

impl Renderer {
    /// Shows a deed, if it is one that a person wants to see.
    pub(super) fn deed(&mut self, deed: &DeedEvent) {
        match deed {
            DeedEvent::DeedBegin { deed: DeedKind::Check, objects, .. } => {
                let command = objects.first().map(String::as_str).unwrap_or_default();
                self.line(TextTone::Plain, &format!("  \u{2192} check: {}", visible_line(command)));
            }
            DeedEvent::CheckRun { passed: true, duration_ms, .. } => {
                self.line(TextTone::Good, &format!("  \u{2713} passed, {duration_ms} ms"));
            }
            DeedEvent::CheckRun { exit_code, duration_ms, output, .. } => {
                let how = exit_code.map_or("it could not be run".to_owned(), |code| format!("exit code {code}"));
                self.line(TextTone::Warning, &format!("  \u{2717} failed: {how}, {duration_ms} ms"));
                for line in output.lines().rev().take(REASONS_MAX).collect::<Vec<_>>().into_iter().rev() {
                    self.line(TextTone::Dim, &format!("    {}", visible_line(line)));
                }
            }
            DeedEvent::TreeKept { error: Some(error), .. } | DeedEvent::FilesWritten { error: Some(error), .. } => {
                self.line(TextTone::Warning, &format!("! {}", visible_line(error)));
            }
            DeedEvent::DeedBegin { .. } | DeedEvent::TreeKept { .. } | DeedEvent::FilesWritten { .. } => {}
        }
    }

    /// Shows what a loop decided.
    pub(super) fn of_loop(&mut self, decided: &LoopEvent) {
        match decided {
            LoopEvent::Evidence { refused_by: None, .. } => self.line(TextTone::Good, "  the evidence is complete"),
            LoopEvent::Evidence { refused_by: Some(gate), reasons, .. } => {
                self.line(TextTone::Warning, &format!("! completion is refused by {}", visible_line(gate)));
                for reason in reasons.iter().take(REASONS_MAX) {
                    let first = reason.lines().next().unwrap_or_default();
                    self.line(TextTone::Dim, &format!("    {}", visible_line(first.trim_end_matches(':'))));
                }
            }
            LoopEvent::CouncilVerdict { approve, reject, threshold, is_approved, .. } => {
                let (tone, what) =
                    if *is_approved { (TextTone::Good, "approves") } else { (TextTone::Warning, "refuses") };
                let votes = format!("{approve} for, {reject} against, {threshold} needed");
                self.line(tone, &format!("  the council {what}: {votes}"));
            }
            LoopEvent::RoundClosed { round, answer, .. } => {
                let (tone, what) = match answer.as_str() {
                    "completed" => (TextTone::Good, "the goal is verified"),
                    "escalate" => (TextTone::Warning, "it gets nowhere: you are asked"),
                    "stalled" => (TextTone::Warning, "it has stalled, and is ended"),
                    "skipped" => (TextTone::Dim, "no agent came to a handoff, so nothing is counted"),
                    _ => (TextTone::Dim, "it goes on"),
                };
                self.line(tone, &format!("  round {round}: {what}"));
            }
            LoopEvent::EvidenceReceipt { tree, .. } => {
                let tree: String = tree.chars().take(20).collect();
                self.line(TextTone::Dim, &format!("  receipt for {}", visible_line(&tree)));
            }
        }
    }
}
