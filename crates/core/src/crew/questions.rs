//! The questions of a crew to its operator.

use super::scope_warning::ScopeWarning;
use super::state::{SessionOutcome, SubTaskState};
use crate::gate::custom_role::Member;
use crate::handoff::{Handoff, Review, WorkPlan};
use crate::words::visible::visible_text;
use crate::words::{Choice, Offer, Question, QuestionKind};

/// Longest text that is shown inside a question, in characters.
const EXCERPT_CHARS_MAX: usize = 1_500;

/// Longest id or title that is shown, in characters.
const NAME_CHARS_MAX: usize = 80;

/// Asks if this plan is right. Only asked if the operator is asked between steps.
pub(super) fn plan(plan: &WorkPlan, warnings: &[ScopeWarning]) -> Question {
    let lines: String = plan
        .subtasks
        .iter()
        .enumerate()
        .map(|(index, task)| {
            let criteria = excerpt(&task.acceptance_criteria.join("; "));
            format!(
                "\n{}. {}\n   {}\n   done when: {criteria}",
                index + 1,
                name(&task.title),
                excerpt(&task.instruction)
            )
        })
        .collect();
    let warned: String = warnings.iter().map(|warning| format!("\n! {}", warned(warning))).collect();
    Question {
        kind: QuestionKind::Confirmation,
        text: visible_text(&format!("Is this plan what you want?{lines}{warned}")).into_owned(),
        options: vec![
            Offer::new(Choice::Accept, "go", "the sub-tasks are worked on in this order"),
            Offer::new(Choice::AcceptAuto, "auto", "the same, and you are not asked between steps any more"),
            Offer::new(Choice::Correct, "<anything else>", "the planner gets it and plans again"),
            Offer::new(Choice::Decline, "no", "the run ends here"),
        ],
        default: Choice::Decline,
        deadline_ms: None,
        acts: 0,
    }
}

/// Returns a line about a category that a plan seems to need and that nothing authorizes.
#[must_use]
pub fn warned(warning: &ScopeWarning) -> String {
    let ScopeWarning { subtask, category, word } = warning;
    format!(
        "sub-task `{}` speaks of `{word}`, and `{category}` is not authorized: it will be asked about",
        name(subtask)
    )
}

/// Asks about judges that disagree: both views side by side.
pub(super) fn disagreement(subtask: Option<&SubTaskState>) -> Question {
    let who = subtask.map(|subtask| disagreeing(&subtask.judged)).unwrap_or_default();
    let text = format!("{who} disagree about {}.{}", named(subtask), views(subtask));
    Question {
        kind: QuestionKind::Disagreement,
        text: visible_text(&text).into_owned(),
        options: offers(),
        default: Choice::Decline,
        deadline_ms: None,
        acts: 0,
    }
}

/// Asks about a crew that can't go on by itself.
pub(super) fn escalation(subtask: Option<&SubTaskState>, reason: Option<&str>) -> Question {
    let views = views(subtask);
    let why = reason.map(|reason| format!("\n{}", excerpt(reason))).unwrap_or_default();
    let text = match subtask {
        None => format!("There is no plan to work on.{why}"),
        Some(_) => format!("The crew can't go on with {}.{why}{views}", named(subtask)),
    };
    let mut options = offers();
    if subtask.is_none() {
        options.retain(|offer| offer.choice != Choice::Accept);
    }
    Question {
        kind: QuestionKind::Escalation,
        text: visible_text(&text).into_owned(),
        options,
        default: Choice::Decline,
        deadline_ms: None,
        acts: 0,
    }
}

/// Asks about work that passed its judges and fails the brief's checks.
pub(super) fn checks_failed(failed: &[String]) -> Question {
    let failed: String = failed.iter().map(|check| format!("\n- {}", excerpt(check))).collect();
    let text = format!("Every sub-task passed, and checks of the brief fail:{failed}");
    Question {
        kind: QuestionKind::Escalation,
        text: visible_text(&text).into_owned(),
        options: vec![
            Offer::new(Choice::Accept, "pass", "the run is completed as it is, by your word"),
            Offer::new(Choice::Retry, "retry", "the planner plans again; `retry: ...` or anything else is told to it"),
            Offer::new(Choice::Decline, "stop", "the run is stopped"),
        ],
        default: Choice::Decline,
        deadline_ms: None,
        acts: 0,
    }
}

/// Returns the judges that disagree, as the subject of a sentence.
fn disagreeing(judged: &[(Member, SessionOutcome)]) -> String {
    let names: Vec<&str> = judged.iter().map(|(judge, _)| judge.name.as_str()).collect();
    let (last, others) = names.split_last().map_or(("The judges", &[][..]), |(last, others)| (*last, others));
    let mut who = if others.is_empty() { last.to_owned() } else { format!("{} and {last}", others.join(", ")) };
    if let Some(first) = who.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    who
}

/// Returns the view of each judge, a line each.
fn views(subtask: Option<&SubTaskState>) -> String {
    let judged = subtask.into_iter().flat_map(|subtask| &subtask.judged);
    let views = judged.filter_map(|(judge, came)| match came {
        SessionOutcome::Well(Handoff::Review(review)) => Some(format!("\n{}: {}", judge.name, judgement(review))),
        SessionOutcome::Well(_) | SessionOutcome::Declined | SessionOutcome::Enough | SessionOutcome::Failed(_) => None,
    });
    views.collect()
}

fn offers() -> Vec<Offer> {
    vec![
        Offer::new(Choice::Accept, "pass", "the sub-task counts as done, as it is; the next one begins"),
        Offer::new(
            Choice::Retry,
            "retry",
            "another attempt; `retry: ...` or anything else is told to whoever makes it",
        ),
        Offer::new(Choice::Decline, "stop", "the run is stopped"),
    ]
}

/// Returns an id or a title on one line, shortened.
fn name(text: &str) -> String {
    let line: String =
        text.chars().take(NAME_CHARS_MAX).map(|c| if c.is_control() || c == '`' { ' ' } else { c }).collect();
    if line.len() < text.len() { format!("{line} ...") } else { line }
}

fn judgement(review: &Review) -> String {
    let verdict = serde_json::to_value(review.verdict).ok();
    let verdict = verdict.as_ref().and_then(|verdict| verdict.as_str()).unwrap_or_default().to_owned();
    let revision = review.suggested_revision.as_deref().map(|text| format!("\n  suggests: {}", excerpt(text)));
    format!("{verdict}: {}{}", excerpt(&review.rationale), revision.unwrap_or_default())
}

fn named(subtask: Option<&SubTaskState>) -> String {
    subtask.map_or_else(
        || "the work".to_owned(),
        |subtask| {
            format!(
                "sub-task `{}` ({}), attempt {}",
                name(&subtask.task.id),
                name(&subtask.task.title),
                subtask.attempts
            )
        },
    )
}

/// Returns an agent's text with each of its further lines marked, so that none looks like one of ours.
fn excerpt(text: &str) -> String {
    let mut shown: String = text.chars().take(EXCERPT_CHARS_MAX).collect();
    if shown.len() < text.len() {
        shown.push_str(" ...");
    }
    shown.replace('\r', " ").replace('\n', "\n  | ")
}
