//! Walks over the lines of one trace, in the order of the file, and counts.
//!
//! In: lines, ours or the peer's, a few at a time or all at once. Out: [`RunRecord`]s. What was walked over can
//! be put away and taken up again where new lines were appended, so that a second look costs nothing.
//!
//! A trace of the peer is cut into runs: at a header, where phase 0 is entered again, and where a phase is entered
//! although the one before was never left: the process in between had ended, and somebody resumed. A journal of
//! ours is one run, however often a driver took it up.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::hot::{self, Hot, HotKind};
use super::judged::{JudgedFire, PendingFires};
use super::record::{NO_PHASE, RunRecord, SessionRecord, count, entry, found};
use crate::trace::read::{self, Fields, Read};
use crate::trace::{EventKind, PeerKind, TraceLineKind};
use crate::view::cost::{self, Askers};

/// Categories of what can't be taken back. A call that needs one and that an operator denied should have been
/// announced.
const IRREVERSIBLE: [&str; 3] = ["filesystem_delete", "git_push", "database_write"];

/// A trace as far as it was walked over.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Walk {
    /// Its runs; the last may go on.
    runs: Vec<RunRecord>,
    /// Number of lines that are JSON and still can't be used.
    mistyped: u64,
    /// Number of lines that can't be read at all.
    unreadable: u64,
    /// Number of lines that hold only white space.
    white: u64,
    /// Number of the unusable lines that the peer silently skips.
    passed: u64,
    /// True if one of our drivers wrote it.
    is_ours: bool,
    /// The project, where the trace itself says it.
    #[serde(skip_serializing_if = "Option::is_none")]
    project: Option<String>,
    /// The run, where the trace itself says it.
    #[serde(skip_serializing_if = "Option::is_none")]
    run_id: Option<String>,
    /// State of each session, by part.
    standing: BTreeMap<String, WalkedSession>,
    /// The questions that are open, by part and slot.
    open: BTreeMap<String, PendingQuestion>,
    /// Agents that are asked for turns, with their prices.
    askers: Askers,
}

/// State of one session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct WalkedSession {
    /// The phase entered last; absent before the first.
    phase: Option<String>,
    /// True if it has not been left.
    is_inside: bool,
    /// True if a line since it was entered was unusable, so that it may have been left unseen.
    is_doubtful: bool,
    pending: PendingFires,
}

/// A question that is open.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct PendingQuestion {
    kind: String,
    since: Option<Timestamp>,
}

impl Walk {
    /// Goes on with one line. Blank lines are nothing.
    pub fn line(&mut self, line: &str) {
        match hot::read(line) {
            Some(hot) => self.see_hot(&hot),
            None => self.line_at_length(line),
        }
    }

    /// Goes on with one line by way of all its fields.
    fn line_at_length(&mut self, line: &str) {
        match read::read_one(line) {
            Read::Blank => {}
            Read::Line(line) => {
                self.is_ours |= line.is_ours();
                let at = line.at.as_deref().filter(|at| !at.is_empty());
                self.see(&line.kind, at, &line.part, &line.fields, &line);
            }
            Read::Mistyped => {
                self.mistyped += 1;
                self.passed += u64::from(says_nothing_counted(line));
                self.doubt();
            }
            Read::NotJson => self.unreadable(),
        }
    }

    /// Goes on with a line that could not even be handed out: too long, or not UTF-8.
    pub fn unreadable(&mut self) {
        self.unreadable += 1;
        self.doubt();
    }

    /// Takes note of lines that have nothing but white space on them, which only the peer minds.
    pub fn white_lines(&mut self, lines: u64) {
        self.white += lines;
    }

    /// Returns the number of such lines.
    #[must_use]
    pub fn white(&self) -> u64 {
        self.white
    }

    /// Takes note of so many unreadable lines that are JSON lists, in which the peer looks for an event and finds none.
    pub fn lists(&mut self, lines: u64) {
        self.passed += lines;
    }

    /// Returns the number of damaged lines that the peer doesn't count as damage: it checks only the fields that it
    /// counts.
    #[must_use]
    pub fn passed(&self) -> u64 {
        self.passed
    }

    fn doubt(&mut self) {
        for standing in self.standing.values_mut() {
            standing.is_doubtful = true;
        }
    }

    /// Returns the number of lines that can't be used.
    #[must_use]
    pub fn damaged(&self) -> u64 {
        self.mistyped + self.unreadable
    }

    /// Returns true if there was nothing in it, not even damage.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty() && self.damaged() == 0
    }

    /// Returns true if one of our drivers wrote it.
    #[must_use]
    pub fn is_ours(&self) -> bool {
        self.is_ours
    }

    /// Returns the project, where the trace itself says it.
    #[must_use]
    pub fn project(&self) -> Option<&str> {
        self.project.as_deref()
    }

    /// Returns the run, where the trace itself says it.
    #[must_use]
    pub fn run_id(&self) -> Option<&str> {
        self.run_id.as_deref()
    }

    /// Its runs, each fire judged by what is known now.
    #[must_use]
    pub fn into_runs(mut self) -> Vec<RunRecord> {
        let mut decided = Vec::new();
        // A trace of the peer has no last word: what it says is all there is.
        let is_over = !self.is_ours || self.runs.last().is_some_and(|run| run.outcome.is_some());
        for standing in self.standing.values_mut() {
            standing.pending.end(is_over, &mut decided);
        }
        self.judge(decided);
        let open = self.open.len() as u64;
        if let Some(run) = self.runs.last_mut() {
            run.open = open;
        }
        self.runs
    }

    fn judge(&mut self, decided: Vec<JudgedFire>) {
        for (run, detector, verdict) in decided {
            if let Some(run) = self.runs.get_mut(run) {
                entry(&mut run.judged, detector).add(verdict);
            }
        }
    }

    fn see_hot(&mut self, hot: &Hot<'_>) {
        self.is_ours |= hot.is_ours;
        let (kind, phase) = match hot.what {
            HotKind::Entered(phase) => (Some(EventKind::PhaseEnter), phase),
            HotKind::Left(..) | HotKind::Called(_) | HotKind::Returned | HotKind::Fired(_) => (None, ""),
        };
        if let Some(continues) = self.begins_run(kind, hot.part, phase) {
            self.begin_run(continues);
        }
        self.clock(hot.at.filter(|at| !at.is_empty()));
        match hot.what {
            HotKind::Entered(phase) => self.entered(hot.part, phase),
            HotKind::Left(phase, duration_ms) => self.left(hot.part, phase, duration_ms),
            HotKind::Called(tool) => self.called(hot.part, tool),
            HotKind::Returned => {}
            HotKind::Fired(detector) => self.fired(hot.part, detector),
        }
    }

    fn see(
        &mut self,
        kind: &TraceLineKind<'_>,
        at: Option<&str>,
        part: &str,
        fields: &Fields<'_>,
        line: &read::TraceLine<'_>,
    ) {
        let phase = if *kind == EventKind::PhaseEnter { fields.word("phase") } else { std::borrow::Cow::Borrowed("") };
        if let Some(continues) = self.begins_run(kind.known(), part, &phase) {
            self.begin_run(continues);
        }
        self.clock(at);
        let run = self.run();
        let mut decided = Vec::new();
        match kind {
            TraceLineKind::Known(EventKind::PhaseEnter) => self.entered(part, &phase),
            TraceLineKind::Known(EventKind::PhaseExit) => {
                self.left(part, &fields.word("phase"), fields.count("duration_ms"))
            }
            TraceLineKind::Known(EventKind::ToolCall) => self.called(part, &fields.word("name")),
            TraceLineKind::Known(EventKind::DetectorFired) => self.fired(part, &fields.word("detector")),
            TraceLineKind::Known(EventKind::AuthPrompt) => self.prompted(part, fields, &mut decided),
            TraceLineKind::Known(EventKind::AgentRequest) => {
                self.askers.see(line);
                entry(&mut self.standing, part).pending.turn();
            }
            TraceLineKind::Known(EventKind::AgentReply) | TraceLineKind::Peer(PeerKind::RoleInvoke) => self.turn(line),
            TraceLineKind::Known(EventKind::AgentFailed) => run.failed_turns += 1,
            TraceLineKind::Known(EventKind::RunStart) => {
                run.offered = fields.texts("tools").into_iter().map(std::borrow::Cow::into_owned).collect();
                self.askers.see(line);
                self.project = fields.text("project").map(std::borrow::Cow::into_owned);
                self.run_id = fields.text("run_id").map(std::borrow::Cow::into_owned);
            }
            TraceLineKind::Known(EventKind::RunResume) => self.askers.see(line),
            TraceLineKind::Known(EventKind::RunEnd) => {
                run.outcome = fields.text("outcome").map(std::borrow::Cow::into_owned)
            }
            TraceLineKind::Known(EventKind::Question) => self.asked(at, part, fields),
            TraceLineKind::Known(kind @ (EventKind::Answer | EventKind::Expired | EventKind::Withdrawn)) => {
                self.closed(*kind, at, part, fields);
            }
            TraceLineKind::Known(EventKind::ToolRejected) if fields.word("rejection") == "retry_cap" => {
                count(&mut run.stuck, "retry_cap");
                // It went on against a wall, and nobody heard it say so.
                if !found(&self.standing, part).is_some_and(|standing| standing.pending.is_blocked()) {
                    entry(&mut self.run().missed, "blocker").times += 1;
                }
            }
            TraceLineKind::Known(EventKind::BudgetHalt) => count(&mut run.stuck, "limit"),
            TraceLineKind::Known(EventKind::CoordinatorState) if fields.word("state") == "retry" => {
                run.retried_subtasks += 1
            }
            _ => {}
        }
        self.judge(decided);
    }

    /// Takes note of the time of a line.
    fn clock(&mut self, at: Option<&str>) {
        let Some(at) = at else { return };
        let run = self.run();
        let ended_at = run.ended_at.get_or_insert_default();
        ended_at.clear();
        ended_at.push_str(at);
        if run.started_at.is_none() {
            run.started_at = Some(at.to_owned());
        }
    }

    fn entered(&mut self, part: &str, phase: &str) {
        let mut decided = Vec::new();
        let standing = entry(&mut self.standing, part);
        standing.pending.entered(phase, &mut decided);
        let entered = standing.phase.get_or_insert_default();
        entered.clear();
        entered.push_str(phase);
        (standing.is_inside, standing.is_doubtful) = (true, false);
        let run = self.run();
        entry(&mut entry(&mut run.sessions, part).phases, phase).entered += 1;
        if phase == "blocker" {
            count(&mut run.stuck, "blocker");
        }
        let last_phase = run.last_phase.get_or_insert_default();
        last_phase.clear();
        last_phase.push_str(phase);
        self.judge(decided);
    }

    fn left(&mut self, part: &str, phase: &str, duration_ms: u64) {
        entry(&mut self.standing, part).is_inside = false;
        let record = entry(&mut entry(&mut self.run().sessions, part).phases, phase);
        record.left += 1;
        record.duration_ms = record.duration_ms.saturating_add(duration_ms);
    }

    fn called(&mut self, part: &str, tool: &str) {
        let Some(run) = self.runs.last_mut() else { return };
        count(&mut run.tools, tool);
        let phase = found(&self.standing, part).and_then(|standing| standing.phase.as_deref()).unwrap_or(NO_PHASE);
        entry(&mut entry(&mut run.sessions, part).phases, phase).calls += 1;
    }

    fn fired(&mut self, part: &str, detector: &str) {
        let mut decided = Vec::new();
        let index = self.runs.len().saturating_sub(1);
        count(&mut self.run().fires, detector);
        entry(&mut self.standing, part).pending.fired(index, detector, &mut decided);
        self.judge(decided);
    }

    /// Returns `Some` if a line begins another run than the one before it, with true if that run continues the one
    /// before.
    fn begins_run(&self, kind: Option<EventKind>, part: &str, phase: &str) -> Option<bool> {
        let Some(run) = self.runs.last() else { return Some(false) };
        if self.is_ours {
            return None;
        }
        match kind {
            Some(EventKind::TraceVersion) => (run.started_at.is_some() || !run.sessions.is_empty()).then_some(false),
            Some(EventKind::PhaseEnter) if phase == "intake" => run.last_phase.is_some().then_some(false),
            Some(EventKind::PhaseEnter) => {
                let standing = found(&self.standing, part)?;
                (standing.is_inside && !standing.is_doubtful).then_some(true)
            }
            _ => None,
        }
    }

    fn begin_run(&mut self, continues: bool) {
        let mut decided = Vec::new();
        for standing in self.standing.values_mut() {
            standing.pending.run_over(&mut decided);
            standing.is_inside = false;
        }
        self.judge(decided);
        let number = u32::try_from(self.runs.len() + 1).unwrap_or(u32::MAX);
        self.runs.push(RunRecord { number, continues, ..RunRecord::default() });
    }

    fn run(&mut self) -> &mut RunRecord {
        self.runs.last_mut().expect("a line is seen only after a run began")
    }

    /// Takes note of the operator's answer on an act that phase 3 held.
    fn prompted(&mut self, part: &str, fields: &Fields<'_>, decided: &mut Vec<JudgedFire>) {
        let is_yes = matches!(fields.word("response").as_ref(), "y" | "Y");
        let announced = !fields.texts("acts").is_empty();
        let categories = fields.texts("categories");
        let standing = entry(&mut self.standing, part);
        if announced {
            standing.pending.answered(is_yes, decided);
        } else if !fields.texts("denied_acts").is_empty() {
            standing.pending.answered(false, decided);
        } else if !is_yes
            && standing.pending.is_unannounced()
            && categories.iter().any(|category| IRREVERSIBLE.contains(&category.as_ref()))
        {
            entry(&mut self.run().missed, "destructive").times += 1;
        }
    }

    fn turn(&mut self, line: &read::TraceLine<'_>) {
        let Some(turn) = cost::turn(line, &self.askers) else { return };
        let session: &mut SessionRecord = entry(&mut self.run().sessions, &line.part);
        session.turns += 1;
        session.turns_without_tokens += u64::from(!turn.is_counted);
        session.turns_by_list += u64::from(turn.is_by_list);
        session.tokens_in = session.tokens_in.saturating_add(turn.tokens_in);
        session.tokens_out = session.tokens_out.saturating_add(turn.tokens_out);
        match turn.nano_dollars {
            Some(cost) => session.nano_dollars = session.nano_dollars.saturating_add(cost),
            None => session.turns_without_cost += 1,
        }
    }

    fn asked(&mut self, at: Option<&str>, part: &str, fields: &Fields<'_>) {
        let kind = fields.object("question").word("kind").into_owned();
        if matches!(kind.as_str(), "escalation" | "disagreement") {
            count(&mut self.run().stuck, &kind);
        }
        entry(&mut self.run().questions, &kind).asked += 1;
        let since = at.and_then(|at| at.parse().ok());
        self.open.insert(key(part, fields), PendingQuestion { kind, since });
    }

    fn closed(&mut self, how: EventKind, at: Option<&str>, part: &str, fields: &Fields<'_>) {
        let Some(PendingQuestion { kind, since }) = self.open.remove(&key(part, fields)) else { return };
        let until: Option<Timestamp> = at.and_then(|at| at.parse().ok());
        let waited = since.zip(until).map_or(0, |(since, until)| until.as_millisecond() - since.as_millisecond());
        let waited = u64::try_from(waited).unwrap_or(0);
        let asked = entry(&mut self.run().questions, &kind);
        match how {
            EventKind::Answer => asked.answered += 1,
            EventKind::Expired => asked.expired += 1,
            _ => asked.withdrawn += 1,
        }
        asked.waiting_ms = asked.waiting_ms.saturating_add(waited);
        asked.longest_ms = asked.longest_ms.max(waited);
    }
}

/// Returns true if an object is of no type that the peer counts, so that its faults don't matter to the peer.
fn says_nothing_counted(line: &str) -> bool {
    use EventKind::{DetectorFired, PhaseEnter, PhaseExit, ToolCall};
    let kind = |fields: Fields<'_>| EventKind::named(&fields.word("type"));
    read::object_of(line)
        .is_some_and(|fields| !matches!(kind(fields), Some(PhaseEnter | PhaseExit | ToolCall | DetectorFired)))
}

fn key(part: &str, fields: &Fields<'_>) -> String {
    format!("{part} {}", fields.word("slot"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A value that may or may not be what its field has.
    fn value() -> impl Strategy<Value = String> {
        prop_oneof![
            Just("\"execute\"".to_owned()),
            Just("\"intake\"".to_owned()),
            Just("\"call/1.1\"".to_owned()),
            Just("\"2026-02-01T10:00:00.000Z\"".to_owned()),
            Just("\"a\\u00e9\\n\"".to_owned()),
            Just("\"\"".to_owned()),
            "[0-9]{1,3}",
            Just("-3".to_owned()),
            Just("4.6".to_owned()),
            Just("18446744073709551616".to_owned()),
            Just("null".to_owned()),
            Just("true".to_owned()),
            Just("{\"a\":[1]}".to_owned()),
        ]
    }

    fn line() -> impl Strategy<Value = String> {
        let kind = prop_oneof!["phase_enter", "phase_exit", "tool_call", "tool_result", "detector_fired", "turn_read"];
        let name = prop_oneof![
            "at", "part", "seq", "prev", "phase", "duration_ms", "to", "reason", "call_id", "name", "auth_decision",
            "slot", "success", "bytes", "content", "artifact", "code", "settled", "detector", "turn", "type",
        ];
        // What the type needs, so that most lines are whole, and then anything.
        let whole = r#""phase":"execute","duration_ms":3,"call_id":"c","name":"x","auth_decision":"allow","success":true,"bytes":1,"detector":"blocker""#;
        (kind, proptest::collection::vec((name, value()), 0..3)).prop_map(move |(kind, more)| {
            let more: String = more.iter().map(|(name, value)| format!(r#","{name}":{value}"#)).collect();
            format!(r#"{{"type":"{kind}",{whole}{more}}}"#)
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        /// The quick reader says what the thorough one says.
        #[test]
        fn both_readers_say_the_same(lines in proptest::collection::vec(line(), 1..6)) {
            let (mut quick, mut thorough) = (Walk::default(), Walk::default());
            for line in &lines {
                quick.line(line);
                thorough.line_at_length(line);
            }
            prop_assert_eq!(quick, thorough);
        }
    }
}
