//! The texts that the sessions of a loop read beyond the standing orders and the brief. Text of other sessions stands in
//! a fence: it is data.

use super::setup::{GOAL, LoopSetup};
use super::state::{IterationEnd, LoopProgress};
use crate::handoff::{Iteration, IterationStatus};
use crate::session::prompts::how_to_hand_off;
use crate::trace::StuckValues;
use crate::words::HandoffKind;
use crate::words::fence::fenced;

/// Number of paths of changed files that a voter is shown.
const PATHS_MAX: usize = 100;

/// Instruction of a session that is one iteration.
pub(super) const ITERATION: &str = "You work on the goal of the brief in one of several iterations. Each begins with a \
     fresh mind: you know what the brief says, what the iteration before handed off, and what is in the files. Take the \
     next sensible piece of work, do it, see that it holds, and hand off what the next iteration must know. Report \
     `complete` only when the whole goal is reached: then it is verified by commands and by others, and what they find \
     missing comes back to you.";

/// Returns the standing orders of a session of a loop: those of every agent, the brief, and what the session is for.
pub(super) fn standing_orders(orders: &str, brief: &str, name: &str, instruction: &str) -> String {
    format!("{}\n\n---\n\n{}\n\n---\n\n# Your part: {name}\n\n{instruction}", orders.trim_end(), brief.trim_end())
}

/// Returns the request to the next iteration.
pub(super) fn iteration(setup: &LoopSetup, state: &LoopProgress) -> String {
    let number = state.iteration + 1;
    let mut parts = vec![format!("# Iteration {number} of at most {}", state.iterations_max(&setup.options))];
    match &state.last_end {
        None => parts.push("This is the first iteration.".to_owned()),
        Some(IterationEnd::Report(report)) => parts.push(fenced("the iteration before, handed off", &told(report))),
        Some(IterationEnd::Blocked(reason)) => {
            parts.push(fenced("the iteration before, which could not go on", reason));
        }
        Some(IterationEnd::Failed(reason)) => parts.push(fenced("the iteration before, which failed", reason)),
        Some(IterationEnd::Declined | IterationEnd::Enough) => {}
    }
    if let Some(refused) = &state.refused {
        parts.push(format!(
            "Completion was refused by {}. Mend this first:\n\n{}",
            refused.gate,
            fenced("reasons of the refusal", &refused.reasons.join("\n"))
        ));
    }
    if let Some(signals) = state.signals.filter(|signals| signals.streak > 0) {
        parts.push(nudge(&signals));
    }
    if let Some(said) = state.hint.as_deref().filter(|said| !said.trim().is_empty()) {
        parts.push(format!("The operator says:\n\n{}", said.trim()));
    }
    if !setup.checks.is_empty() {
        parts.push(format!("The work is checked by these commands:\n\n{}", setup.checks.listed()));
    }
    parts.join("\n\n")
}

/// Tells an agent that the work seems to get nowhere, with what shows it.
fn nudge(signals: &StuckValues) -> String {
    format!(
        "The work seems to get nowhere: {}. Do something else than the iterations before, or hand off an escalation that \
         says what you need.",
        signs(signals).join("; ")
    )
}

/// Returns the signals that hold, in words.
pub(super) fn signs(signals: &StuckValues) -> Vec<String> {
    let mut signs = Vec::new();
    if signals.no_change {
        signs.push(format!("the files have stayed as they are for {} rounds", signals.rounds_unchanged));
    }
    if signals.revisit {
        signs.push("the files came back to a state that they had before".to_owned());
    }
    if signals.refused {
        signs.push("completion was refused again and again".to_owned());
    }
    signs
}

fn told(report: &Iteration) -> String {
    let status = match report.status {
        IterationStatus::Continue => "there is more to do",
        IterationStatus::Complete => "it said that the goal is reached",
    };
    let mut text = format!("{}\n\n({status})", report.summary.trim());
    for (heading, lines) in [("Next steps", &report.next_steps), ("Open questions", &report.open_questions)] {
        if !lines.is_empty() {
            let lines: String = lines.iter().map(|line| format!("\n- {line}")).collect();
            text.push_str(&format!("\n\n{heading}:{lines}"));
        }
    }
    text
}

/// Returns the request to a voter. It is blind to the other voters and to what the agents say of their work.
pub(super) fn vote(setup: &LoopSetup, state: &LoopProgress, may_run: bool) -> String {
    let mut parts = vec![format!(
        "Is the goal of the brief reached? Judge what is there. In your handoff `subtask_id` is `{GOAL}`; `pass` is a \
         vote for completion, `needs_retry` and `fail` are votes against it, with what is missing."
    )];
    let ran: String = state.checks.iter().map(|check| format!("\n- {}", check.described())).collect();
    parts.push(match ran.as_str() {
        "" => "The brief declares no commands that check the work.".to_owned(),
        ran => format!("The program ran the brief's checks on the files as they are now:\n{ran}"),
    });
    let changed = &state.changed_since_begin;
    if !changed.is_empty() {
        let mut paths: Vec<&str> = changed.iter().map(String::as_str).take(PATHS_MAX).collect();
        if changed.len() > PATHS_MAX {
            paths.push("and more");
        }
        parts.push(fenced("files that changed since the loop began", &paths.join("\n")));
    }
    if may_run {
        parts.push(format!(
            "With `shell_exec` you may run these checks of the brief, letter for letter, and no other command:\n\n{}",
            setup.checks.listed()
        ));
    }
    parts.push(how_to_hand_off(HandoffKind::Review));
    parts.join("\n\n")
}
