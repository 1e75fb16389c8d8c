//! The questions of a loop to its operator.

use super::prompts::signs;
use super::state::{LoopProgress, Pending, StuckCause};
use crate::words::visible::visible_text;
use crate::words::{Choice, Offer, Question, QuestionKind};

/// Longest text of others that is shown inside a question, in characters.
const EXCERPT_CHARS_MAX: usize = 1_500;

/// Asks a person, because the loop gets nowhere or its agent can't go on. `halts` is false for a loop that goes on
/// meanwhile.
pub(super) fn stuck(pending: &Pending, state: &LoopProgress, halts: bool) -> Question {
    let mut text = match &pending.cause {
        StuckCause::Signals(signals) => {
            format!("The loop gets nowhere. After round {}:", pending.round)
                + &signs(signals).iter().map(|sign| format!("\n- {sign}")).collect::<String>()
        }
        StuckCause::Agent(reason) => {
            format!("The agent can't go on. After round {} it says:\n  | {}", pending.round, excerpt(reason))
        }
    };
    if let Some(refused) = &state.refused {
        text.push_str(&format!(
            "\nCompletion was refused last by {}:\n  | {}",
            refused.gate,
            excerpt(&refused.reasons.join("\n"))
        ));
    }
    if matches!(pending.cause, StuckCause::Signals(_)) {
        text.push_str("\n(`ADJUTANT_UNCERTAINTY_ESCALATION=0` switches this question off for later loops.)");
    }
    if !halts {
        text.push_str("\nThe loop goes on meanwhile: this is a notice, and your answer reaches the next iteration.");
    }
    Question {
        kind: QuestionKind::Stuck,
        text: visible_text(&text).into_owned(),
        options: vec![
            Offer::new(Choice::Say, "<a hint>", "the next iteration gets your words, and what was counted begins anew"),
            Offer::new(
                Choice::Continue,
                "continue",
                "the next iteration begins as it is; what was counted begins anew",
            ),
            Offer::new(Choice::Done, "done", "it is enough: the run ends, by your word and without verified evidence"),
            Offer::new(Choice::Decline, "stop", "the run is stopped"),
        ],
        default: Choice::Decline,
        deadline_ms: None,
        acts: 0,
    }
}

/// Asks for more iterations.
pub(super) fn iterations_used(limit: u32, is_judged: bool) -> Question {
    let judged = if is_judged { ", and its goal is not verified" } else { "" };
    Question {
        kind: QuestionKind::Limit,
        text: format!("The loop took all of its {limit} iterations{judged}. How many more?"),
        options: vec![Offer::new(Choice::Extend, "<a number>", "the loop goes on for so many more iterations")],
        default: Choice::Extend,
        deadline_ms: None,
        acts: 0,
    }
}

/// Returns a text of others with each of its further lines marked, so that none looks like one of ours.
fn excerpt(text: &str) -> String {
    let mut shown: String = text.trim().chars().take(EXCERPT_CHARS_MAX).collect();
    if shown.len() < text.trim().len() {
        shown.push_str(" ...");
    }
    shown.replace('\r', " ").replace('\n', "\n  | ")
}
