//! The summary of a run, with the questions that it waits for, from its journal.
//!
//! A trace of the peer without a session file can be summarized too; it says less.

use std::borrow::Cow;
use std::collections::HashMap;

use serde::Serialize;

use super::damage;
use super::phase::Phase;
use crate::trace::EventKind;
use crate::trace::read::{Fields, Trace, TraceLine};
use crate::words::moment::after;
use crate::words::text::cut;
use crate::words::visible::visible_line;

/// The hint after the number of messages (the peer's words).
pub(super) const MESSAGES_HINT: &str = "(use --transcript to print full transcript, or \
    --trace/--timing/--cost/--detectors/--tools/--mcp/--permissions for focused views)";

/// A question in a summary, in UTF-16 units. Ours: the whole of it is the inbox's to show.
const QUESTION_UNITS_MAX: usize = 160;

/// A run at a glance.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// The lines that can't be read.
    pub damaged: Vec<u64>,
    /// The run's name.
    pub run_id: Option<String>,
    /// The brief's id.
    pub brief_id: Option<String>,
    /// The brief's project.
    pub project: Option<String>,
    /// Time of the first event.
    pub started_at: Option<String>,
    /// Time of the last event.
    pub updated_at: Option<String>,
    /// The phase that was entered last, in any part.
    pub phase: Option<Phase>,
    /// The mode: how far it goes without asking.
    pub mode: Option<String>,
    /// Its outcome, in the words of [`Outcome`](crate::words::Outcome); absent until it has ended.
    pub outcome: Option<String>,
    /// The questions that are open.
    pub waiting: Vec<OpenQuestionRow>,
    /// Other things that have begun and not ended: in flight, or interrupted. The journal alone can't tell.
    pub unfinished: Vec<Unfinished>,
    /// The operator's answers in phase 3.
    pub approvals: Vec<PhaseApproval>,
    /// The changes of phase.
    pub transitions: Vec<PhaseChange>,
    /// Number of turns that the agents took.
    pub turns: u64,
    /// Numbers of tool calls.
    pub tool_calls: ToolCallCounts,
    /// Number of messages, turns included.
    pub messages: u64,
}

/// An open question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OpenQuestionRow {
    /// The part of the run.
    pub part: String,
    /// The slot that its answer will name.
    pub slot: String,
    /// The kind of question.
    pub kind: String,
    /// The text of the question.
    pub text: String,
    /// The replies that may be typed.
    pub replies: Vec<String>,
    /// Since when.
    pub at: Option<String>,
}

/// Something that has begun and not ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Unfinished {
    /// The part of the run.
    pub part: String,
    /// The slot that its end will name.
    pub slot: String,
    /// The type of the event that began it.
    pub kind: String,
    /// Since when.
    pub at: Option<String>,
    /// The time at which it ends by itself: a wait for a provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
}

/// One answer of the operator in phase 3.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PhaseApproval {
    /// Time of the answer.
    pub at: Option<String>,
    /// The categories in question.
    pub categories: Vec<String>,
    /// The acts that the agent had announced.
    pub acts: Vec<String>,
    /// True if the operator allowed it.
    pub approved: bool,
    /// True if it holds for the rest of the run.
    pub for_run: bool,
}

/// One change of phase.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PhaseChange {
    /// Time of the change.
    pub at: Option<String>,
    /// In which part.
    pub part: String,
    /// Whence; absent for the first of its part.
    pub from: Option<Phase>,
    /// The phase that follows.
    pub to: Phase,
    /// Reason for the change.
    pub reason: Option<String>,
}

/// Numbers of tool calls, by their end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct ToolCallCounts {
    /// Began.
    pub begun: u64,
    /// Did what they were asked to.
    pub ok: u64,
    /// Failed.
    pub failed: u64,
    /// Were cancelled.
    pub cancelled: u64,
    /// Never began, but got an answer.
    pub rejected: u64,
}

/// The run that `trace` tells of.
#[must_use]
pub fn of(trace: &Trace<'_>) -> Summary {
    let mut fold =
        Fold { summary: Summary { damaged: trace.damaged.clone(), ..Summary::default() }, ..Fold::default() };
    for line in &trace.lines {
        fold.apply(line);
    }
    let Fold { mut summary, open, .. } = fold;
    if summary.outcome.is_none() {
        for began in open.into_iter().flatten() {
            let (part, slot, at) = (began.part.to_string(), began.fields.word("slot").into_owned(), at(began));
            if began.kind == EventKind::Question {
                let question = began.fields.object("question");
                let replies =
                    question.objects("options").iter().map(|option| option.word("reply").into_owned()).collect();
                let (kind, text) = (question.word("kind").into_owned(), question.word("text").into_owned());
                summary.waiting.push(OpenQuestionRow { part, slot, kind, text, replies, at });
            } else {
                let until = began.fields.number("length_ms").filter(|_| began.kind == EventKind::Timer);
                let until = until.zip(at.as_deref().and_then(|at| at.parse().ok()));
                let until = until.map(|(length_ms, at)| crate::words::moment::timestamp(after(at, length_ms)));
                summary.unfinished.push(Unfinished { part, slot, kind: began.kind.to_string(), at, until });
            }
        }
    }
    summary
}

#[derive(Default)]
struct Fold<'t, 'a> {
    summary: Summary,
    /// The events that began something, in order; `None` where it has ended.
    open: Vec<Option<&'t TraceLine<'a>>>,
    /// Their places in `open`, by part and slot.
    places: HashMap<(String, String), usize>,
    /// The phase that each part is in.
    phases: HashMap<String, Phase>,
    /// The reason why each part left the phase it was in.
    reasons: HashMap<String, String>,
}

impl<'t, 'a> Fold<'t, 'a> {
    fn apply(&mut self, line: &'t TraceLine<'a>) {
        let f = &line.fields;
        let summary = &mut self.summary;
        if line.at.is_some() {
            summary.started_at = summary.started_at.take().or_else(|| at(line));
            summary.updated_at = at(line);
        }
        match line.kind.known() {
            Some(EventKind::TraceVersion) if summary.brief_id.is_none() => summary.brief_id = owned(f, "brief_id"),
            Some(EventKind::RunStart) => {
                summary.run_id = owned(f, "run_id");
                summary.brief_id = owned(f, "brief_id");
                summary.project = owned(f, "project");
                summary.mode = owned(&f.object("options"), "mode");
            }
            Some(EventKind::RunEnd) => summary.outcome = owned(f, "outcome"),
            Some(EventKind::ModeSet) => summary.mode = owned(f, "mode"),
            Some(EventKind::PhaseExit) => {
                if let Some(reason) = owned(f, "reason") {
                    self.reasons.insert(line.part.to_string(), reason);
                }
            }
            Some(EventKind::PhaseEnter) => self.enter(line),
            Some(EventKind::AuthPrompt) => {
                let response = f.word("response");
                let words = |name: &str| f.texts(name).into_iter().map(Cow::into_owned).collect();
                let approved = response.eq_ignore_ascii_case("y");
                summary.approvals.push(PhaseApproval {
                    at: at(line),
                    categories: words("categories"),
                    acts: words("acts"),
                    approved,
                    for_run: response == "Y",
                });
            }
            Some(EventKind::Message) => summary.messages += 1,
            Some(EventKind::AgentReply) => {
                summary.messages += 1;
                summary.turns += 1;
            }
            Some(EventKind::ToolCall) => summary.tool_calls.begun += 1,
            Some(EventKind::ToolResult) if f.flag("success") => summary.tool_calls.ok += 1,
            Some(EventKind::ToolResult) => summary.tool_calls.failed += 1,
            Some(EventKind::ToolCancelled) => summary.tool_calls.cancelled += 1,
            Some(EventKind::ToolRejected) => summary.tool_calls.rejected += 1,
            _ => {}
        }
        let Some(slot) = f.text("slot").filter(|_| line.kind.known().is_some()) else { return };
        let key = (line.part.to_string(), slot.into_owned());
        match line.kind.known() {
            Some(EventKind::AgentRequest | EventKind::Question | EventKind::ToolCall | EventKind::Timer) => {
                self.places.insert(key, self.open.len());
                self.open.push(Some(line));
            }
            Some(EventKind::AnswerIgnored) => {}
            _ => {
                if let Some(began) = self.places.remove(&key).and_then(|place| self.open.get_mut(place)) {
                    *began = None;
                }
            }
        }
    }

    fn enter(&mut self, line: &TraceLine<'_>) {
        let to = Phase::named(&line.fields.word("phase"));
        let part = line.part.to_string();
        let from = self.phases.insert(part.clone(), to.clone());
        let left_for = self.reasons.remove(&part);
        let reason = owned(&line.fields, "reason").or(left_for);
        self.summary.phase = Some(to.clone());
        self.summary.transitions.push(PhaseChange { at: at(line), part, from, to, reason });
    }
}

fn at(line: &TraceLine<'_>) -> Option<String> {
    line.at.as_deref().map(str::to_owned)
}

fn owned(fields: &Fields<'_>, name: &str) -> Option<String> {
    fields.text(name).map(Cow::into_owned)
}

/// Its text.
#[must_use]
pub fn text(summary: &Summary) -> String {
    format!("{}\nMessages: {} {MESSAGES_HINT}\n", head(summary), summary.messages)
}

/// The part of the text that also stands before a transcript.
#[must_use]
pub fn head(summary: &Summary) -> String {
    let mut text = damage::announced(&summary.damaged);
    let mut push = |line: String| {
        text.push_str(visible_line(&line).trim_end());
        text.push('\n');
    };
    let or_dash = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
    let several = summary.transitions.iter().any(|change| change.part != summary.transitions[0].part);
    let within = |part: &str| if several && !part.is_empty() { format!("  @{part}") } else { String::new() };
    push(format!("Run:        {}", or_dash(&summary.run_id)));
    push(format!("Brief:      {}", or_dash(&summary.brief_id)));
    push(format!("Project:    {}", or_dash(&summary.project)));
    push(format!("Started:    {}", or_dash(&summary.started_at)));
    push(format!("Updated:    {}", or_dash(&summary.updated_at)));
    push(format!("Phase:      {}", or_dash(&summary.phase.as_ref().map(Phase::to_string))));
    push(format!("Mode:       {}", or_dash(&summary.mode)));
    push(format!("Outcome:    {}", summary.outcome.as_deref().unwrap_or("none yet")));
    let until = summary.unfinished.iter().find_map(|begun| begun.until.as_deref());
    push(format!(
        "Waits for:  {}",
        match until {
            _ if !summary.waiting.is_empty() => "the operator".to_owned(),
            Some(until) => format!("its provider, until {until}"),
            None => "nobody".to_owned(),
        }
    ));
    for question in &summary.waiting {
        let said = cut(&question.text, QUESTION_UNITS_MAX);
        push(format!("  {}  {}  {said}{}", question.slot, question.kind, within(&question.part)));
        if !question.replies.is_empty() {
            let replies: Vec<&str> =
                question.replies.iter().map(|reply| if reply.is_empty() { "(empty)" } else { reply }).collect();
            push(format!("    replies: {}", replies.join(" | ")));
        }
    }
    if !summary.unfinished.is_empty() {
        push(format!("Unfinished: {}", summary.unfinished.len()));
    }
    for begun in &summary.unfinished {
        let until = begun.until.as_ref().map(|until| format!(" until {until}")).unwrap_or_default();
        push(format!("  {}  {}  since {}{until}{}", begun.slot, begun.kind, or_dash(&begun.at), within(&begun.part)));
    }
    push(format!("Turns:      {}", summary.turns));
    let calls = summary.tool_calls;
    push(format!(
        "Tool calls: {} ({} ok, {} failed, {} cancelled), {} rejected",
        calls.begun, calls.ok, calls.failed, calls.cancelled, calls.rejected
    ));
    push(format!("Approvals:  {}", summary.approvals.len()));
    for approval in &summary.approvals {
        let word = if approval.approved { "APPROVED" } else { "DENIED" };
        let reach = if approval.for_run { "  (for the run)" } else { "" };
        let mut asked: Vec<&str> = approval.categories.iter().map(String::as_str).collect();
        asked.extend(
            approval.acts.iter().map(String::as_str).filter(|act| !approval.categories.iter().any(|c| c == act)),
        );
        push(format!("  {}  {word}  {}{reach}", or_dash(&approval.at), asked.join(", ")));
    }
    push("Transitions:".to_owned());
    for change in &summary.transitions {
        let from = change.from.as_ref().map_or_else(|| "start".to_owned(), Phase::to_string);
        let reason = change.reason.as_ref().map(|reason| format!("  ({reason})")).unwrap_or_default();
        push(format!("  {}  {from} -> {}{reason}{}", or_dash(&change.at), change.to, within(&change.part)));
    }
    text
}
