//! Reads a run of the peer again: what would today's detectors see in what its agent said?
//!
//! In: what was said, the trace, and the detectors as a function of a text. Out: per turn what fires now,
//! where that differs from what was recorded, and how often. Stops at the first blocker or completion, as
//! the run did.
//!
//! The peer's trace doesn't say which turn an event belongs to, so the events are taken in order, as many
//! as fire now. Where it is known to be silent (turns in a tool round, which were never read; crews, which
//! record no events; what follows the first phase 3 question about a tool), nothing is compared, since a
//! difference would say nothing. Our own journals name the turn, and are compared exactly elsewhere.

use serde::Serialize;

use super::peer_session::{PeerMessage, PeerSession};
use crate::detect::TurnReading;
use crate::trace::EventKind;
use crate::trace::read::Trace;
use crate::words::visible::visible_line;

/// The findings of the detectors in one text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fired {
    /// Those that fire, by their names on the wire, in reading order.
    pub detectors: Vec<&'static str>,
    /// The reason that the blocker detector finds; absent if it doesn't fire.
    pub blocker_reason: Option<String>,
}

/// The findings of today's detectors, as one reading of all of them has it.
impl From<&TurnReading> for Fired {
    fn from(reading: &TurnReading) -> Self {
        let detectors = reading.fired().map(|(detector, _)| detector.name()).collect();
        Self { detectors, blocker_reason: reading.blocker.reason.clone() }
    }
}

/// The findings of reading a run again.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Replay {
    /// The brief's id.
    pub brief_id: String,
    /// The brief's project.
    pub project: Option<String>,
    /// Time of the replay.
    pub replayed_at: String,
    /// The turns, up to where it stopped.
    pub turns: Vec<ReplayedTurn>,
    /// Number of detectors that fired in all.
    pub detectors_fired: u64,
    /// Reason why the agent could not go on, at the last turn, if that is where it stopped.
    pub blocker_reason: Option<String>,
    /// True if it stopped because the brief was said to be done.
    pub completed: bool,
    /// Number of turns that differ from the record.
    pub drift_count: u64,
}

/// One turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ReplayedTurn {
    /// Its number, from 1.
    pub turn: u64,
    /// The detectors that fire now.
    pub fired: Vec<&'static str>,
    /// The comparison with the record.
    pub comparison: Comparison,
}

/// The comparison of the detectors that fire now with the record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Comparison {
    /// It is the same.
    Same,
    /// It is not.
    Drift {
        /// The detectors that fire now and are not on record.
        now_fires: Vec<String>,
        /// The detectors that are on record and do not fire now.
        no_longer_fires: Vec<String>,
    },
    /// The turn belongs to a phase whose turns are not on record.
    OtherPhase,
    /// The turn only made tool calls, and was not read when it was taken.
    ToolRound,
    /// The trace says nothing of this turn.
    NothingRecorded,
}

/// Reads `messages` again, as of `replayed_at`. `detect` is today's detectors, at the sensitivities and
/// with the authorization that the caller chose.
#[must_use]
pub fn of(
    session: &PeerSession,
    messages: &[PeerMessage],
    trace: &Trace<'_>,
    replayed_at: &str,
    detect: &dyn Fn(&str) -> Fired,
) -> Replay {
    let mut replay = Replay {
        brief_id: session.brief_id.clone(),
        project: session.project.clone(),
        replayed_at: replayed_at.to_owned(),
        ..Replay::default()
    };
    let mut record = DetectorRecord::of(trace);
    for (turn, (message, next)) in turns(messages) {
        if is_tool_round(message, next) {
            replay.turns.push(ReplayedTurn { turn, fired: Vec::new(), comparison: Comparison::ToolRound });
            continue;
        }
        let Fired { detectors: fired, blocker_reason } = detect(&message.content);
        let is_execute = message.phase.as_deref() == Some("execute");
        let comparison = if is_execute { record.compare(&fired) } else { Comparison::OtherPhase };
        replay.drift_count += u64::from(matches!(comparison, Comparison::Drift { .. }));
        replay.detectors_fired += fired.len() as u64;
        let (is_blocked, is_complete) = (fired.contains(&"blocker"), fired.contains(&"completion"));
        replay.turns.push(ReplayedTurn { turn, fired, comparison });
        if is_blocked {
            replay.blocker_reason = Some(blocker_reason.unwrap_or_default());
            break;
        }
        if is_complete {
            replay.completed = true;
            break;
        }
    }
    replay
}

/// The turns of the agent, numbered from 1, each with the message behind it.
fn turns(messages: &[PeerMessage]) -> impl Iterator<Item = (u64, (&PeerMessage, Option<&PeerMessage>))> {
    let with_next = messages.iter().zip(messages.iter().skip(1).map(Some).chain([None]));
    (1..).zip(with_next.filter(|(message, _)| message.role == "assistant"))
}

/// Returns the texts of the turns that the agent's detectors read, numbered as in a replay.
pub fn turns_read(messages: &[PeerMessage]) -> impl Iterator<Item = (u32, &str)> {
    let read = turns(messages).filter(|(_, (message, next))| !is_tool_round(message, *next));
    read.map(|(turn, (message, _))| (u32::try_from(turn).unwrap_or(u32::MAX), message.content.as_str()))
}

/// Returns true if the turn only made tool calls: the peer stores their results right after it.
fn is_tool_round(message: &PeerMessage, next: Option<&PeerMessage>) -> bool {
    message.phase.as_deref() == Some("execute")
        && next.is_some_and(|next| next.role == "user" && next.content.starts_with("[tool_result "))
}

/// The detectors that fired when the run was taken, and whether the record can be trusted to be whole.
struct DetectorRecord<'t> {
    fired: Vec<std::borrow::Cow<'t, str>>,
    used: usize,
    /// True if there is no record of this run's turns at all.
    is_silent: bool,
    /// True if the record may end before the run did.
    may_break_off: bool,
}

impl<'t> DetectorRecord<'t> {
    fn of(trace: &'t Trace<'_>) -> Self {
        let has = |kind: EventKind| trace.lines.iter().any(|line| line.kind == kind);
        let fired: Vec<_> = (trace.lines.iter())
            .filter(|line| line.kind == EventKind::DetectorFired)
            .map(|line| line.fields.word("detector"))
            .collect();
        let is_silent = trace.is_empty() || (has(EventKind::CoordinatorState) && fired.is_empty());
        Self { fired, used: 0, is_silent, may_break_off: has(EventKind::AuthPrompt) }
    }

    /// Compares what fires now with as many of the next events on record.
    fn compare(&mut self, fired: &[&str]) -> Comparison {
        let rest = &self.fired[self.used..];
        if self.is_silent || (self.may_break_off && rest.is_empty() && !fired.is_empty()) {
            return Comparison::NothingRecorded;
        }
        let then = &rest[..fired.len().min(rest.len())];
        self.used += then.len();
        let now_fires: Vec<String> =
            fired.iter().filter(|now| then.iter().all(|then| then != *now)).map(|now| (*now).to_owned()).collect();
        let mut no_longer_fires: Vec<String> = Vec::new();
        for then in then.iter().filter(|then| !fired.contains(&then.as_ref())) {
            if !no_longer_fires.iter().any(|known| known == then) {
                no_longer_fires.push(then.to_string());
            }
        }
        if now_fires.is_empty() && no_longer_fires.is_empty() {
            return Comparison::Same;
        }
        Comparison::Drift { now_fires, no_longer_fires }
    }
}

/// Its text.
#[must_use]
pub fn text(replay: &Replay) -> String {
    let mut text = String::new();
    let mut push = |line: &str| {
        let line = if line.is_empty() { String::new() } else { format!("[replay] {line}") };
        text.push_str(visible_line(&line).trim_end());
        text.push('\n');
    };
    push(&format!("Session {}", replay.brief_id));
    push(&format!("Project: {}", replay.project.as_deref().unwrap_or("-")));
    push(&format!("Replayed at: {}", replay.replayed_at));
    push("Detectors will be re-run against the current code; original results in trace.ndjson");
    push("");
    for turn in &replay.turns {
        let fired = if turn.fired.is_empty() { "no detector".to_owned() } else { turn.fired.join(", ") };
        match &turn.comparison {
            Comparison::ToolRound => push(&format!("turn {}: tool round, not read", turn.turn)),
            Comparison::NothingRecorded => push(&format!("turn {}: {fired} (not recorded, not compared)", turn.turn)),
            Comparison::Same | Comparison::OtherPhase => push(&format!("turn {}: {fired}", turn.turn)),
            Comparison::Drift { now_fires, no_longer_fires } => {
                push(&format!("turn {}: {fired}", turn.turn));
                if !now_fires.is_empty() {
                    push(&format!("  drift: now fires {} (was not in original trace)", now_fires.join(", ")));
                }
                if !no_longer_fires.is_empty() {
                    push(&format!("  drift: no longer fires {} (was in original trace)", no_longer_fires.join(", ")));
                }
            }
        }
    }
    let last = replay.turns.len();
    if let Some(reason) = &replay.blocker_reason {
        push(&format!("Phase 2 detected at turn {last}: {reason}"));
        push("HALT (matches original run shape)");
    }
    if replay.completed {
        push(&format!("Phase 4 detected at turn {last}"));
    }
    push("");
    push("summary");
    push(&format!("  assistant_turns:  {last}"));
    push(&format!("  detectors_fired:  {}", replay.detectors_fired));
    push(&format!("  halted_at_blocker: {}", replay.blocker_reason.is_some()));
    push(&format!("  completed:        {}", replay.completed));
    let disagree = if replay.drift_count > 0 { "  (current detectors disagree with recorded trace)" } else { "" };
    push(&format!("  drift_count:      {}{disagree}", replay.drift_count));
    text
}
