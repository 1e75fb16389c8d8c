//! The files in which a loop tells people and scripts how it stands, and the receipt of its evidence. They follow from
//! the journal and are never read back.

use serde_json::{Value, json};

use super::prompts::signs;
use super::setup::LoopSetup;
use super::state::{FilesSeen, LoopProgress, Pending, StuckCause};
use super::stuck::Evaluation;
use crate::trace::LoopEvent;
use crate::words::deed::{FileContent, StatusFile};
use crate::words::tool::whole_hash;

/// Version of the state files: the one of their first publication.
const SCHEMA_VERSION: &str = "1.0.0";
/// The marker of an escalation.
const MARKER: &str = "signals/UNCERTAINTY_ESCALATION";
/// The most paths that a handoff names.
const PATHS_MAX: usize = 200;

/// Returns the files after the round that was closed last. With the escalation switched off there is none about it.
pub(super) fn files(state: &LoopProgress, setup: &LoopSetup) -> Vec<StatusFile> {
    let mut files = vec![file("state/convergence.log", state.lines.iter().map(|line| format!("{line}\n")).collect())];
    if setup.knobs().is_enabled {
        files.push(file("state/uncertainty.json", pretty(&uncertainty(state))));
    }
    files.push(match &state.refused {
        Some(_) => file("state/evidence-block.json", pretty(&refusal(state))),
        None => StatusFile { path: "state/evidence-block.json".to_owned(), content: FileContent::Gone(None) },
    });
    match (&state.pending, &state.told) {
        (Some(pending), _) if !pending.is_told => files.extend(escalation(pending, state, setup)),
        // Somebody has answered: a `PAUSE` of theirs stays.
        (None, Some(told)) => {
            let by = marker(state, told.round);
            for path in ["PAUSE", MARKER] {
                files.push(StatusFile { path: path.to_owned(), content: FileContent::Gone(Some(by.clone())) });
            }
        }
        _ if state.is_stalled => {
            let cause = StuckCause::Signals(state.signals.unwrap_or_default());
            files.extend(handoff(&Pending { round: state.rounds, cause, is_told: false }, state));
        }
        _ => {}
    }
    files
}

/// Returns the files by which a person learns that the loop is stuck: the handoff, a marker, and the file whose removal
/// lets a loop go on that stands still.
fn escalation(pending: &Pending, state: &LoopProgress, setup: &LoopSetup) -> Vec<StatusFile> {
    let mut files = handoff(pending, state);
    let by = marker(state, pending.round);
    files.push(file(MARKER, by.clone()));
    if setup.halts() {
        files.push(StatusFile { path: "PAUSE".to_owned(), content: FileContent::Unless(by) });
    }
    files
}

/// Returns the content of the marker of an escalation, and of the `PAUSE` that comes with it.
fn marker(state: &LoopProgress, round: u32) -> String {
    pretty(&json!({"by": "supervisor", "run": state.run, "round": round}))
}

/// Returns the handoff of a round to a person, for programs and for people.
fn handoff(pending: &Pending, state: &LoopProgress) -> Vec<StatusFile> {
    let name = format!("handoffs/{}-round-{}", state.run, pending.round);
    let signals = state.signals.unwrap_or_default();
    let (reason, said) = match &pending.cause {
        StuckCause::Signals(_) => ("uncertainty_escalation", None),
        StuckCause::Agent(said) => ("agent_escalation", Some(said.clone())),
    };
    let changed: Vec<&String> = state.changed_since_begin.iter().take(PATHS_MAX).collect();
    let questions = match &state.last_end {
        Some(super::state::IterationEnd::Report(report)) => report.open_questions.clone(),
        _ => Vec::new(),
    };
    let evaluations: Vec<Value> =
        state.stuck.evaluations.iter().map(|(round, one)| json!({"round": round, "said": said_of(one)})).collect();
    let value = json!({
        "schema_version": SCHEMA_VERSION,
        "timestamp": state.closed_at.to_string(),
        "reason": reason,
        "run": state.run,
        "iteration": pending.round,
        "signals": signals,
        "agent_said": said,
        "window": state.stuck.ring,
        "evaluations": evaluations,
        "refused_by": state.refused.as_ref().map(|refused| &refused.gate),
        "blockers": state.refused.as_ref().map(|refused| refused.reasons.clone()).unwrap_or_default(),
        "open_questions": questions,
        "files_modified": changed,
    });
    let mut text = format!("# Run {} needs you\n\nAfter round {}:\n", state.run, pending.round);
    match &pending.cause {
        StuckCause::Signals(signals) => text.extend(signs(signals).iter().map(|sign| format!("\n- {sign}"))),
        StuckCause::Agent(said) => text.push_str(&format!("\n{}", quoted(said))),
    }
    if let Some(refused) = &state.refused {
        text.push_str(&format!(
            "\n\n## Completion was refused by {}\n\n{}",
            refused.gate,
            quoted(&refused.reasons.join("\n"))
        ));
    }
    if !questions.is_empty() {
        text.push_str("\n\n## Open questions\n\n");
        text.push_str(&quoted(&questions.join("\n")));
    }
    text.push_str("\n\n## Files that changed since the loop began\n\n");
    text.push_str(&quoted(&changed.iter().map(|path| path.as_str()).collect::<Vec<_>>().join("\n")));
    text.push_str(&format!(
        "\n\n## How to go on\n\nAnswer the question in the inbox (`adjutant inbox`), or remove the file `.adjutant/PAUSE`. \
         `adjutant show {}` says more.\n",
        state.run
    ));
    vec![file(&format!("{name}.json"), pretty(&value)), file(&format!("{name}.md"), text)]
}

/// Returns the state of the escalation as its first publication writes it, with the run that it is about.
fn uncertainty(state: &LoopProgress) -> Value {
    let stuck = &state.stuck;
    json!({
        "schema_version": SCHEMA_VERSION,
        "consecutive_co_occur": stuck.streak,
        "escalated_episode": stuck.is_escalated,
        "escalated_at_iteration": stuck.escalated_at,
        "diff_hash_ring": stuck.ring,
        "last_round_iteration": stuck.last_round,
        "last_proxies": {
            "p1": stuck.signals.no_change,
            "p2": stuck.signals.revisit,
            "p3": stuck.signals.refused,
        },
        "run": state.run,
    })
}

/// Returns what refused completion last.
fn refusal(state: &LoopProgress) -> Value {
    let refused = state.refused.as_ref();
    json!({
        "status": "blocked",
        "blocked": true,
        "blocked_at": state.closed_at.to_string(),
        "iteration": state.rounds,
        "reason": refused.map(|refused| &refused.gate),
        "failures": refused.map(|refused| &refused.reasons),
        "run": state.run,
    })
}

/// Returns the receipt of verified completion.
pub(super) fn receipt(state: &LoopProgress, tree: &FilesSeen, has_council: bool) -> LoopEvent {
    let id = tree.tree.clone().unwrap_or_default();
    let checks: Vec<String> = state.checks.iter().map(|check| check.command.clone()).collect();
    let approve = has_council.then_some(state.approvals);
    let hash = receipt_hash(state.iteration, &id, tree.head.as_deref(), tree.kept.as_deref(), &checks, approve);
    let (head, kept) = (tree.head.clone(), tree.kept.clone());
    LoopEvent::EvidenceReceipt { iteration: state.iteration, tree: id, head, kept, checks, approve, hash }
}

/// Computes the hash of a receipt from what it says, so that whoever has it can tell whether it was changed.
#[must_use]
pub fn receipt_hash(
    iteration: u32,
    tree: &str,
    head: Option<&str>,
    kept: Option<&str>,
    checks: &[String],
    approve: Option<u32>,
) -> String {
    let told = json!([iteration, tree, head, kept, checks, approve]);
    whole_hash(told.to_string().as_bytes())
}

fn said_of(evaluation: &Evaluation) -> String {
    match evaluation {
        Evaluation::Vote { approve, is_approved: true } => format!("approved by {approve}"),
        Evaluation::Vote { approve, is_approved: false } => format!("refused, with {approve} for it"),
        Evaluation::Blocked { gate, .. } => format!("refused by {gate}"),
    }
}

/// Returns text of others as a block of code in markdown: data, whatever it says.
fn quoted(text: &str) -> String {
    text.lines().map(|line| format!("    {line}\n")).collect()
}

fn file(path: &str, text: String) -> StatusFile {
    StatusFile { path: path.to_owned(), content: FileContent::Text(text) }
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default() + "\n"
}
