//! Checks that a journal is as it was written: nothing changed, missing, added or out of order.
//!
//! In: the events with the numbers of their lines, the damage that reading found in lines, and whether artifacts are
//! still what their names say. Out: a [`JournalReport`] with a verdict, and each finding with its line and advice. The
//! reader of the file compares hashes; the conclusion for the run is drawn here.
//!
//! Begin with [`Verifier`]. A trace of the peer has no chain: [`JournalReport::of_peer`] says so.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::read::Trace;
use super::{Body, CallEvent, Event, RunEvent};
use crate::words::{Key, What};

/// The findings about a journal, and its verdict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct JournalReport {
    /// The run.
    pub run: String,
    /// The answer in a word.
    pub verdict: JournalVerdict,
    /// Number of lines, without a torn one.
    pub lines: u64,
    /// The number that the last line has; absent where lines have none.
    pub last_seq: Option<u64>,
    /// The short hash of the last line.
    pub last_hash: Option<String>,
    /// The evidence for its length.
    pub length: Length,
    /// True if a process is writing it.
    pub driver_alive: bool,
    /// Number of contents that it names and that lie beside it.
    pub artifacts: u64,
    /// The findings, by line.
    pub findings: Vec<JournalFinding>,
}

/// The answer in a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum JournalVerdict {
    /// Every line is what was written, as far as the chain reaches, and nothing that it names is gone.
    Whole,
    /// Something is not as it was written.
    NotWhole,
    /// Its lines can be read, but nothing in them proves anything.
    Unprovable,
}

/// The evidence for a journal's length: a chain alone can't show that lines at its end are gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Length {
    /// Its lease, or the manifest of a pack, names its last line.
    Sealed,
    /// The run's end is on record, and nothing follows that.
    Ended,
    /// Nothing: lines that stood at its end may be gone.
    Unknown,
}

/// One thing that was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct JournalFinding {
    /// The line, from 1; absent where it is about no line.
    pub line: Option<u64>,
    /// Its stable name.
    pub kind: FindingKind,
    /// True if this makes the journal not whole.
    pub is_fault: bool,
    /// Description of the finding.
    pub what: String,
    /// Advice, where something can be done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// The kinds of findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FindingKind {
    /// A line can't be read as an event.
    Unreadable,
    /// A line does not have the number after that of the line before.
    Gap,
    /// A line does not carry the hash of the line before.
    BrokenLink,
    /// The last line is not the one that was written last.
    LastLineChanged,
    /// Lines were added behind the one after which the run was let go.
    LinesAdded,
    /// Lines at the end are gone.
    LinesMissing,
    /// Damage that an operator accepted when the run went on.
    AcceptedDamage,
    /// The last line was not written to its end.
    TornTail,
    /// The last line lacks its line feed only.
    NoLineFeed,
    /// A line of a type that this version does not know.
    UnknownType,
    /// Something began, and has no outcome.
    NoOutcome,
    /// An outcome of something that never began.
    NoIntent,
    /// Lines after the run's end.
    AfterEnd,
    /// The journal is of another run than its name says.
    AnotherRun,
    /// A content is not where it was kept.
    ArtifactMissing,
    /// A content is not what its name says.
    ArtifactChanged,
}

/// Facts found by reading a journal, besides its events.
#[derive(Debug, Clone, Default)]
pub struct VerifierFacts {
    /// Number of whole lines.
    pub lines: u64,
    /// The number of the last line.
    pub last_seq: Option<u64>,
    /// The short hash of the last line.
    pub last_hash: Option<String>,
    /// Damaged lines: number, kind of damage, description.
    pub damaged: Vec<(u64, FindingKind, String)>,
    /// Lines of unknown types.
    pub unknown: Vec<(u64, String)>,
    /// Number of bytes of an unfinished line behind the last whole one.
    pub torn_bytes: u64,
    /// True if the last line lacks its line feed.
    pub is_unterminated: bool,
    /// True if a lease or a manifest says how far the journal was written.
    pub is_sealed: bool,
    /// True if the machine was started anew since that was said: lines that were not flushed may be lost.
    pub is_rebooted: bool,
    /// True if a process is writing it now.
    pub driver_alive: bool,
}

/// The state of a content, compared with its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Artifact {
    /// It is, and is what its name says.
    Whole,
    /// It is not there.
    Missing,
    /// It is something else, or can't be read.
    Changed,
    /// It was left out on purpose.
    LeftOut,
}

/// Takes the events of one journal, in their order.
#[derive(Debug, Default)]
pub struct Verifier {
    open: BTreeMap<Key, u64>,
    orphans: Vec<(u64, Key)>,
    artifacts: BTreeMap<String, u64>,
    ended: Option<u64>,
    after_end: Option<u64>,
    /// The damaged lines that an operator accepted, as the journal has it: what came after may hide the damage.
    accepted: BTreeSet<u64>,
    /// The run that the journal says it is of, and on which line.
    run: Option<(u64, String)>,
}

impl Verifier {
    /// Takes note of the event on `line`.
    pub fn event(&mut self, line: u64, event: &Event) {
        if self.ended.is_some() {
            self.after_end.get_or_insert(line);
        }
        if let Some(slot) = event.body.intent() {
            self.open.insert(Key { part: event.part.clone(), slot: *slot }, line);
        }
        if let Some(slot) = event.body.outcome() {
            let key = Key { part: event.part.clone(), slot: *slot };
            if self.open.remove(&key).is_none() {
                self.orphans.push((line, key));
            }
        }
        match &event.body {
            Body::Call(CallEvent::ToolResult { artifact: Some(hash), .. }) => {
                self.artifacts.entry(hash.clone()).or_insert(line);
            }
            Body::Run(RunEvent::RunEnd { .. }) => self.ended = Some(line),
            Body::Run(RunEvent::RunResume { accepted_damage, .. }) => self.accepted.extend(accepted_damage),
            Body::Run(RunEvent::RunStart(start)) => self.run = Some((line, start.run_id.to_string())),
            _ => {}
        }
    }

    /// The contents that the journal names, each with the first line that does.
    pub fn artifacts(&self) -> impl Iterator<Item = (&str, u64)> {
        self.artifacts.iter().map(|(hash, line)| (hash.as_str(), *line))
    }

    /// Returns the findings about the journal of `run`. `artifact` returns the state of a content by its hash.
    pub fn report(self, run: &str, facts: VerifierFacts, mut artifact: impl FnMut(&str) -> Artifact) -> JournalReport {
        let mut findings: Vec<JournalFinding> =
            facts.damaged.iter().map(|damage| damaged(run, damage, &facts)).collect();
        findings.extend(self.accepted.iter().map(|line| {
            JournalFinding {
                line: Some(*line),
                kind: FindingKind::AcceptedDamage,
                is_fault: true,
                what: "it was damaged, or what stood there is gone, which an operator accepted when the run went on"
                    .to_owned(),
                next: None,
            }
        }));
        findings.extend(facts.unknown.iter().map(|(line, kind)| JournalFinding {
            line: Some(*line),
            kind: FindingKind::UnknownType,
            is_fault: false,
            what: format!("its type `{kind}` is not known here: it is part of the chain, what it says was not checked"),
            next: Some("verify with the version of the program that wrote it".to_owned()),
        }));
        findings.extend(tail(run, &facts));
        // What stood on a line that can't be read may be what is missing.
        let is_read_whole = facts.damaged.is_empty() && self.accepted.is_empty() && facts.unknown.is_empty();
        findings.extend(self.open.iter().map(|(key, line)| {
            let finding = no_outcome(run, key, *line, self.ended.is_some(), &facts);
            JournalFinding { is_fault: finding.is_fault && is_read_whole, ..finding }
        }));
        if is_read_whole {
            findings.extend(self.orphans.iter().map(|(line, key)| JournalFinding {
                line: Some(*line),
                kind: FindingKind::NoIntent,
                is_fault: true,
                what: format!("it is the outcome of {} ({}), which never began", what(key), shown(key)),
                next: None,
            }));
        }
        findings.extend(self.after_end.map(|line| JournalFinding {
            line: Some(line),
            kind: FindingKind::AfterEnd,
            is_fault: true,
            what: "it comes after the run's end, after which nothing is written".to_owned(),
            next: None,
        }));
        findings.extend(self.run.as_ref().filter(|(_, its)| its != run).map(|(line, its)| JournalFinding {
            line: Some(*line),
            kind: FindingKind::AnotherRun,
            is_fault: true,
            what: format!("it is of the run `{its}`: the journal was copied or renamed"),
            next: Some("move a copy out of the folder of sessions, or give the file its run's name again".to_owned()),
        }));
        for (hash, line) in &self.artifacts {
            findings.extend(lost(hash, *line, artifact(hash)));
        }
        findings.sort_by_key(|finding| (finding.line.unwrap_or(u64::MAX), finding.kind));
        let is_whole = !findings.iter().any(|finding| finding.is_fault);
        JournalReport {
            run: run.to_owned(),
            verdict: if is_whole { JournalVerdict::Whole } else { JournalVerdict::NotWhole },
            lines: facts.lines,
            last_seq: facts.last_seq,
            last_hash: facts.last_hash,
            length: match (facts.is_sealed, self.ended) {
                (true, _) => Length::Sealed,
                (false, Some(_)) => Length::Ended,
                (false, None) => Length::Unknown,
            },
            driver_alive: facts.driver_alive,
            artifacts: self.artifacts.len() as u64,
            findings,
        }
    }
}

impl JournalReport {
    /// Has its hints call the run `called`, where its name alone means a later run of its brief.
    pub fn call_run(&mut self, called: &str) {
        for next in self.findings.iter_mut().filter_map(|finding| finding.next.as_mut()) {
            *next = next.replace(&self.run, called);
        }
    }

    /// Returns the findings about a trace of the peer: they say only whether its lines can be read.
    #[must_use]
    pub fn of_peer(name: &str, trace: &Trace<'_>) -> Self {
        let findings = trace.damaged.iter().map(|line| JournalFinding {
            line: Some(*line),
            kind: FindingKind::Unreadable,
            is_fault: true,
            what: "it can't be read as an event".to_owned(),
            next: None,
        });
        let findings: Vec<JournalFinding> = findings.collect();
        Self {
            run: name.to_owned(),
            verdict: if findings.is_empty() { JournalVerdict::Unprovable } else { JournalVerdict::NotWhole },
            lines: (trace.lines.len() + trace.damaged.len()) as u64,
            last_seq: None,
            last_hash: None,
            length: Length::Unknown,
            driver_alive: false,
            artifacts: 0,
            findings,
        }
    }
}

fn damaged(run: &str, (line, kind, why): &(u64, FindingKind, String), facts: &VerifierFacts) -> JournalFinding {
    let rebooted = match kind {
        FindingKind::LinesMissing if facts.is_rebooted => {
            "; the machine was started anew since, so that what was not flushed may be lost"
        }
        _ => "",
    };
    JournalFinding {
        line: Some(*line),
        kind: *kind,
        is_fault: true,
        what: format!("{why}{rebooted}"),
        next: Some(format!(
            "put back a copy of the file if you have one; `adjutant inspect {run} --trace` shows what can be read, \
             `adjutant resume {run} --accept-damage` goes on with that"
        )),
    }
}

fn tail(run: &str, facts: &VerifierFacts) -> Option<JournalFinding> {
    let line = Some(facts.lines + 1);
    if facts.torn_bytes > 0 {
        return Some(JournalFinding {
            line,
            kind: FindingKind::TornTail,
            // Whoever writes it may be in the middle of a line.
            is_fault: !facts.driver_alive,
            what: format!("{} bytes of a line that was not written to its end", facts.torn_bytes),
            // Where its lease names that line nobody goes on without a word.
            next: (!facts.driver_alive && facts.damaged.is_empty()).then(|| {
                format!("`adjutant resume {run}` keeps them beside the journal, and goes on from the last whole line")
            }),
        });
    }
    facts.is_unterminated.then(|| JournalFinding {
        line: Some(facts.lines),
        kind: FindingKind::NoLineFeed,
        is_fault: false,
        what: "it is whole but for its line feed: it counts".to_owned(),
        next: None,
    })
}

fn no_outcome(run: &str, key: &Key, line: u64, has_ended: bool, facts: &VerifierFacts) -> JournalFinding {
    let why = if has_ended {
        "although the run has ended: what came of it is not known"
    } else if facts.driver_alive {
        "yet: a process drives the run"
    } else {
        "yet: it waits, or its driver was killed"
    };
    let resumes = !has_ended && !facts.driver_alive && key.slot.what != What::Ask;
    JournalFinding {
        line: Some(line),
        kind: FindingKind::NoOutcome,
        is_fault: has_ended,
        what: format!("{} ({}) began here and has no outcome {why}", what(key), shown(key)),
        next: resumes.then(|| format!("`adjutant resume {run}` finds out, repeats what merely reads, and goes on")),
    }
}

fn lost(hash: &str, line: u64, artifact: Artifact) -> Option<JournalFinding> {
    let (kind, is_fault, what, next) = match artifact {
        Artifact::Whole => return None,
        Artifact::Missing => (
            FindingKind::ArtifactMissing,
            true,
            format!("the content {hash} that it names is not there"),
            Some("put it back from a copy of the folder `artifacts` of the home, or from a pack".to_owned()),
        ),
        Artifact::Changed => (
            FindingKind::ArtifactChanged,
            true,
            format!("the content {hash} that it names is not what was kept"),
            Some("put it back from a copy of the folder `artifacts` of the home, or from a pack".to_owned()),
        ),
        Artifact::LeftOut => {
            let what = format!("the content {hash} that it names was left out");
            (FindingKind::ArtifactMissing, false, what, None)
        }
    };
    Some(JournalFinding { line: Some(line), kind, is_fault, what, next })
}

fn what(key: &Key) -> &'static str {
    match key.slot.what {
        What::Turn => "a turn",
        What::Call => "a tool call",
        What::Ask => "a question",
        What::Wait => "a wait",
        What::Hook => "a guard hook",
        What::Look => "a look at the working tree",
        What::Keep => "the keeping of a grant",
        What::Deed => "something that the program did by itself",
    }
}

fn shown(key: &Key) -> String {
    if key.part.is_root() { key.slot.to_string() } else { format!("{} of {}", key.slot, key.part) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::read::read_lines;
    use crate::trace::{Line, wire};

    fn events(lines: &[&str]) -> Vec<Event> {
        let whole = lines.iter().enumerate().map(|(seq, rest)| {
            let line = format!(r#"{{"seq":{seq},"at":"2026-01-02T03:04:05.678Z",{rest}}}"#);
            match wire::decode(&line) {
                Ok(Line::Event(event)) => event,
                other => panic!("{line}: {other:?}"),
            }
        });
        whole.collect()
    }

    const CALL: &str = r#""type":"tool_call","part":"session","slot":"call/1.1","call_id":"c","name":"n","args":{},"auth_decision":"allow""#;
    const RESULT: &str = r#""type":"tool_result","part":"session","slot":"call/1.1","call_id":"c","success":true,"duration_ms":1,"bytes":9,"artifact":"ab""#;
    const END: &str = r#""type":"run_end","outcome":"completed""#;

    #[track_caller]
    fn check(
        lines: &[&str],
        facts: VerifierFacts,
        artifact: Artifact,
        verdict: JournalVerdict,
        found: &[(u64, FindingKind, bool)],
    ) {
        let mut verifier = Verifier::default();
        for (line, event) in (1..).zip(events(lines)) {
            verifier.event(line, &event);
        }
        let report = verifier.report("r", VerifierFacts { lines: lines.len() as u64, ..facts }, |_| artifact);
        let kinds: Vec<_> = report.findings.iter().map(|f| (f.line.unwrap_or(0), f.kind, f.is_fault)).collect();
        assert_eq!((report.verdict, kinds.as_slice()), (verdict, found), "{:?}", report.findings);
    }

    #[test]
    fn what_began_has_one_outcome_and_what_is_named_is_there() {
        use FindingKind::{AfterEnd, ArtifactChanged, ArtifactMissing, NoIntent, NoOutcome, TornTail};
        let none = VerifierFacts::default;
        check(&[CALL, RESULT, END], none(), Artifact::Whole, JournalVerdict::Whole, &[]);
        check(&[CALL, RESULT], none(), Artifact::LeftOut, JournalVerdict::Whole, &[(2, ArtifactMissing, false)]);
        check(&[CALL, RESULT], none(), Artifact::Missing, JournalVerdict::NotWhole, &[(2, ArtifactMissing, true)]);
        check(&[CALL, RESULT], none(), Artifact::Changed, JournalVerdict::NotWhole, &[(2, ArtifactChanged, true)]);
        check(&[CALL], none(), Artifact::Whole, JournalVerdict::Whole, &[(1, NoOutcome, false)]);
        check(&[CALL, END], none(), Artifact::Whole, JournalVerdict::NotWhole, &[(1, NoOutcome, true)]);
        check(&[RESULT], none(), Artifact::Whole, JournalVerdict::NotWhole, &[(1, NoIntent, true)]);
        check(&[CALL, RESULT, RESULT], none(), Artifact::Whole, JournalVerdict::NotWhole, &[(3, NoIntent, true)]);
        check(&[END, CALL, RESULT], none(), Artifact::Whole, JournalVerdict::NotWhole, &[(2, AfterEnd, true)]);
        let torn = || VerifierFacts { torn_bytes: 7, ..VerifierFacts::default() };
        check(&[END], torn(), Artifact::Whole, JournalVerdict::NotWhole, &[(2, TornTail, true)]);
        let written = VerifierFacts { driver_alive: true, ..torn() };
        check(&[CALL, RESULT], written, Artifact::Whole, JournalVerdict::Whole, &[(3, TornTail, false)]);
    }

    #[test]
    fn an_outcome_whose_intent_may_be_on_a_damaged_line_is_not_held_against_it() {
        let facts =
            VerifierFacts { damaged: vec![(1, FindingKind::Unreadable, "x".to_owned())], ..VerifierFacts::default() };
        let damaged = (1, FindingKind::Unreadable, true);
        check(&[RESULT], facts, Artifact::Whole, JournalVerdict::NotWhole, &[damaged]);
    }

    #[test]
    fn what_says_how_long_a_journal_was_is_told() {
        let length = |lines: &[&str], is_sealed| {
            let mut verifier = Verifier::default();
            events(lines).iter().for_each(|event| verifier.event(1, event));
            verifier.report("r", VerifierFacts { is_sealed, ..VerifierFacts::default() }, |_| Artifact::Whole).length
        };
        assert_eq!(length(&[CALL], false), Length::Unknown);
        assert_eq!(length(&[CALL, RESULT, END], false), Length::Ended);
        assert_eq!(length(&[CALL], true), Length::Sealed);
    }

    #[test]
    fn a_trace_of_the_peer_proves_nothing() {
        let line = r#"{"type":"phase_enter","phase":"execute","at":"2026-01-02T03:04:05.678Z"}"#;
        let report = JournalReport::of_peer("p", &read_lines([(1, line)]));
        assert_eq!((report.verdict, report.lines), (JournalVerdict::Unprovable, 1));
        let report = JournalReport::of_peer("p", &read_lines([(1, line), (2, "{")]));
        assert_eq!((report.verdict, report.findings[0].line), (JournalVerdict::NotWhole, Some(2)));
    }
}
