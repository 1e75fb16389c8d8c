//! Verifies a journal where it lies: its chain, what its lease says of its length, and the contents that it names.
//!
//! In: a home and a name, or any bytes with what is known of their end. Out: core's report. Takes no right to the run
//! and changes nothing; a driver may be at work.
//!
//! Begin with [`verify`].

use std::io::Read;
use std::path::Path;

use adjutant_core::trace::read::read_bytes;
use adjutant_core::trace::verify::{Artifact, FindingKind, JournalReport, Verifier, VerifierFacts};
use adjutant_core::words::id::RunId;
use jiff::Timestamp;

use crate::artifacts::Artifacts;
use crate::home::Home;
use crate::journal::OpenError;
use crate::lease::{LeaseContent, Owner, Seal};
use crate::recover::{self, JournalEnd, JournalReadError, JournalReading, Loss, Why};

/// Verifies the journal of `run_id`. `seer` and `now` are for telling whether its driver is alive.
///
/// # Errors
///
/// [`OpenError`] if it is not there, can't be read, or is not one of ours.
pub fn verify(home: &Home, run_id: &RunId, seer: &Owner, now: Timestamp) -> Result<JournalReport, OpenError> {
    let path = home.journal(run_id);
    let look = |sealed: &Sealed| {
        let report = verify_file(home, run_id, &path, sealed)?;
        let is_added = has_lines_added(&report);
        Ok((report, is_added))
    };
    by_its_lease(home, run_id, seer, now, look)
}

/// Calls `look` with the seal of a journal's lease. If `look` finds added lines and a driver has taken the run up
/// meanwhile, those lines are the driver's, and it looks again.
pub(crate) fn by_its_lease<T>(
    home: &Home,
    run_id: &RunId,
    seer: &Owner,
    now: Timestamp,
    look: impl Fn(&Sealed) -> Result<(T, bool), OpenError>,
) -> Result<T, OpenError> {
    let sealed = Sealed::of(home, run_id, seer, now);
    let (seen, is_added) = look(&sealed)?;
    if !is_added {
        return Ok(seen);
    }
    let again = Sealed::of(home, run_id, seer, now);
    if again == sealed { Ok(seen) } else { Ok(look(&again)?.0) }
}

pub(crate) fn has_lines_added(report: &JournalReport) -> bool {
    report.findings.iter().any(|finding| finding.kind == FindingKind::LinesAdded)
}

fn verify_file(home: &Home, run_id: &RunId, path: &Path, sealed: &Sealed) -> Result<JournalReport, OpenError> {
    let file = crate::plain_file::open(path).map_err(|error| OpenError::unopened(run_id, path, error))?;
    let artifacts = Artifacts::new(home.artifacts());
    verify_bytes(run_id.as_str(), file, sealed, |hash| artifacts.state(hash))
        .map_err(|error| OpenError::unread(path, error))
}

/// The facts that a lease gives about the end of a journal and about its driver.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sealed {
    /// The seal of the last line.
    pub seal: Option<Seal>,
    /// True if the machine was started anew since.
    pub is_rebooted: bool,
    /// True if a process is writing it now.
    pub driver_alive: bool,
}

impl Sealed {
    /// Reads the facts from the lease of `run_id`. To be called before the journal is opened: a driver writes a line
    /// first and then the seal, so every line that the seal names is in the journal.
    fn of(home: &Home, run_id: &RunId, seer: &Owner, now: Timestamp) -> Self {
        let lease = LeaseContent::read(&home.lease(run_id)).ok().flatten();
        Self {
            seal: lease.as_ref().and_then(|lease| lease.seal(seer)),
            is_rebooted: lease.as_ref().is_some_and(|lease| lease.owner.boot_id != seer.boot_id),
            driver_alive: lease.is_some_and(|lease| lease.is_alive(seer, now)),
        }
    }
}

/// Verifies the journal `from`. `artifact` returns the state of a content.
///
/// # Errors
///
/// [`JournalReadError`] if it can't be read, or is not one of ours.
pub fn verify_bytes(
    run: &str,
    from: impl Read,
    sealed: &Sealed,
    artifact: impl FnMut(&str) -> Artifact,
) -> Result<JournalReport, JournalReadError> {
    let mut verifier = Verifier::default();
    // Lines that are gone are told in any case; whether the machine lost them is for the report to say.
    let reading = recover::read_each(from, sealed.seal.as_ref(), Loss::CantBe, |line, event| {
        verifier.event(line, &event);
    })?;
    Ok(verifier.report(run, facts(reading, sealed), artifact))
}

/// Reports on a trace of the peer: nothing in it proves anything.
///
/// # Errors
///
/// If it can't be read.
pub fn verify_peer(name: &str, trace: &Path) -> std::io::Result<JournalReport> {
    let mut bytes = Vec::new();
    crate::plain_file::open(trace)?.read_to_end(&mut bytes)?;
    Ok(JournalReport::of_peer(name, &read_bytes(&bytes)))
}

/// Turns the result of reading into the facts that core needs.
pub(crate) fn facts(reading: JournalReading, sealed: &Sealed) -> VerifierFacts {
    let damaged = reading.damaged.into_iter().map(|damaged| {
        let kind = match damaged.why {
            Why::Unreadable(_) => FindingKind::Unreadable,
            Why::Gap { .. } => FindingKind::Gap,
            Why::BrokenLink => FindingKind::BrokenLink,
            Why::NotAsWritten => FindingKind::LastLineChanged,
            Why::Added => FindingKind::LinesAdded,
            Why::Missing { .. } => FindingKind::LinesMissing,
        };
        (damaged.line, kind, damaged.why.to_string())
    });
    let last_seq = reading.last_hash.as_ref().and_then(|_| reading.next_seq.checked_sub(1));
    VerifierFacts {
        damaged: damaged.collect(),
        unknown: reading.unknown.into_iter().map(|unknown| (unknown.line, unknown.kind)).collect(),
        torn_bytes: if let JournalEnd::Torn { bytes } = reading.tail { bytes } else { 0 },
        is_unterminated: reading.tail == JournalEnd::Unterminated,
        lines: reading.lines,
        last_seq,
        last_hash: reading.last_hash,
        is_sealed: sealed.seal.as_ref().is_some_and(|seal| Some(seal.seq) >= last_seq),
        is_rebooted: sealed.is_rebooted,
        driver_alive: sealed.driver_alive,
    }
}

#[cfg(test)]
mod tests {
    use adjutant_core::trace::verify::{JournalFinding, JournalVerdict, Length};
    use adjutant_core::trace::{Body, Entry, HostEvent, Line, PartEvent, RunEvent, TRACE_VERSION, TurnEvent, wire};
    use adjutant_core::words::{Outcome, Part, PhaseName};
    use proptest::prelude::*;

    use super::*;

    /// A journal of 40 lines: its lines, and what its driver said of its end.
    fn journal() -> (Vec<Vec<u8>>, Sealed) {
        let mut bodies = vec![Body::Run(RunEvent::TraceVersion {
            version: TRACE_VERSION,
            adjutant_version: "0".into(),
            brief_id: "b".into(),
        })];
        for number in 0..38 {
            bodies.push(match number % 3 {
                0 => Body::Part(PartEvent::PhaseEnter { phase: PhaseName::Execute, reason: Some("why \u{e9}".into()) }),
                1 => Body::Host(HostEvent::Warning { text: format!("\"quoted\" {number}\n") }),
                _ => Body::Turn(TurnEvent::TurnRead { turn: number, fired: vec!["blocker".into()] }),
            });
        }
        bodies.push(Body::Run(RunEvent::RunEnd { outcome: Outcome::Completed }));
        let mut lines: Vec<Vec<u8>> = Vec::new();
        for (seq, body) in (0..).zip(bodies) {
            let event = Entry { part: Part::root(), body }.at(seq, Timestamp::from_second(seq as i64).expect("a time"));
            let prev = lines.last().map(|line| wire::line_hash(line));
            lines.push(wire::encode(&event, prev.as_deref()).into_bytes());
        }
        let hash = wire::line_hash(lines.last().expect("lines"));
        let seal = Some(Seal { seq: lines.len() as u64 - 1, hash, is_final: false });
        (lines, Sealed { seal, ..Sealed::default() })
    }

    fn joined(lines: &[Vec<u8>]) -> Vec<u8> {
        lines.iter().flat_map(|line| [line, &b"\n"[..]].concat()).collect()
    }

    fn verdict(bytes: &[u8], sealed: &Sealed) -> Option<JournalVerdict> {
        // What is taken for somebody else's is not taken for whole either.
        verify_bytes("r", bytes, sealed, |_| Artifact::Whole).ok().map(|report| report.verdict)
    }

    #[test]
    fn a_whole_journal_is_whole() {
        let (lines, sealed) = journal();
        let report = verify_bytes("r", &*joined(&lines), &sealed, |_| Artifact::Whole).expect("ours");
        assert_eq!(
            (report.verdict, report.length, report.findings),
            (JournalVerdict::Whole, Length::Sealed, Vec::new())
        );
        assert_eq!(
            (report.lines, report.last_seq, report.last_hash),
            (40, Some(39), sealed.seal.map(|seal| seal.hash))
        );
    }

    #[test]
    fn dropped_swapped_and_doubled_lines_are_found() {
        let (lines, sealed) = journal();
        for at in 0..lines.len() {
            let mut dropped = lines.clone();
            dropped.remove(at);
            assert_ne!(verdict(&joined(&dropped), &sealed), Some(JournalVerdict::Whole), "{at} dropped");
            let mut doubled = lines.clone();
            doubled.insert(at, lines[at].clone());
            assert_ne!(verdict(&joined(&doubled), &sealed), Some(JournalVerdict::Whole), "{at} doubled");
            for other in at + 1..lines.len() {
                let mut swapped = lines.clone();
                swapped.swap(at, other);
                assert_ne!(
                    verdict(&joined(&swapped), &sealed),
                    Some(JournalVerdict::Whole),
                    "{at} and {other} swapped"
                );
            }
        }
    }

    #[test]
    fn a_cut_is_found_wherever_something_says_how_long_the_journal_was() {
        let (lines, sealed) = journal();
        let bytes = joined(&lines);
        let nobody = Sealed::default();
        for cut in 0..bytes.len() - 1 {
            assert_ne!(verdict(&bytes[..cut], &sealed), Some(JournalVerdict::Whole), "cut at {cut}");
            // Without a seal a cut between two lines can't be told from a run that is not over, and the report says so.
            let report = verify_bytes("r", &bytes[..cut], &nobody, |_| Artifact::Whole).expect("ours");
            let is_between = cut == 0 || bytes[cut - 1] == b'\n' || bytes[cut] == b'\n';
            assert_eq!(report.verdict == JournalVerdict::Whole, is_between, "cut at {cut}: {report:?}");
            assert_eq!(report.length, Length::Unknown, "cut at {cut}");
        }
    }

    #[test]
    fn damage_that_was_accepted_is_told_when_nothing_shows_it_any_more() {
        let bodies = [
            Body::Run(RunEvent::TraceVersion {
                version: TRACE_VERSION,
                adjutant_version: "0".into(),
                brief_id: "b".into(),
            }),
            Body::Run(RunEvent::RunResume { options: None, accepted_damage: vec![2], offered: None }),
            Body::Run(RunEvent::RunEnd { outcome: Outcome::Completed }),
        ];
        let mut lines: Vec<Vec<u8>> = Vec::new();
        for (seq, body) in (0..).zip(bodies) {
            let event = Entry { part: Part::root(), body }.at(seq, Timestamp::UNIX_EPOCH);
            let prev = lines.last().map(|line| wire::line_hash(line));
            lines.push(wire::encode(&event, prev.as_deref()).into_bytes());
        }
        let report = verify_bytes("r", &*joined(&lines), &Sealed::default(), |_| Artifact::Whole).expect("ours");
        let [JournalFinding { line: Some(2), kind: FindingKind::AcceptedDamage, is_fault: true, .. }] =
            &report.findings[..]
        else {
            panic!("{report:?}");
        };
    }

    #[test]
    fn a_forgery_that_is_longer_than_the_lease_says_is_found() {
        let (lines, sealed) = journal();
        for changed in [1, 20, 38, 39] {
            let mut forged: Vec<Vec<u8>> = Vec::new();
            for (at, line) in lines.iter().chain([&lines[1]]).enumerate() {
                let line = String::from_utf8(line.clone()).expect("text");
                let Ok(Line::Event(mut event)) = wire::decode(&line) else { panic!("{line}") };
                event.seq = at as u64;
                if at == changed {
                    event.body = Body::Host(HostEvent::Warning { text: "forged".into() });
                }
                let prev = forged.last().map(|line| wire::line_hash(line));
                forged.push(wire::encode(&event, prev.as_deref()).into_bytes());
            }
            let report = verify_bytes("r", &*joined(&forged), &sealed, |_| Artifact::Whole).expect("ours");
            let found = report.findings.iter().find(|finding| finding.kind == FindingKind::LastLineChanged);
            assert_eq!(found.and_then(|finding| finding.line), Some(40), "{changed}: {report:?}");
        }
        // A driver that was killed between a line and its seal leaves the seal behind, and that is all right.
        let behind = |is_final| {
            let seal = Some(Seal { seq: 38, hash: wire::line_hash(&lines[38]), is_final });
            let sealed = Sealed { seal, ..Sealed::default() };
            verify_bytes("r", &*joined(&lines), &sealed, |_| Artifact::Whole).expect("ours")
        };
        // The run's end still says how long it was, and the lease does not.
        assert_eq!((behind(false).verdict, behind(false).length), (JournalVerdict::Whole, Length::Ended));
        // One that let it go says that nothing follows.
        let [JournalFinding { line: Some(40), kind: FindingKind::LinesAdded, .. }] = &behind(true).findings[..] else {
            panic!("{:?}", behind(true));
        };
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn any_other_byte_anywhere_is_found(at in any::<proptest::sample::Index>(), byte in any::<u8>()) {
            let (lines, sealed) = journal();
            let bytes = joined(&lines);
            let at = at.index(bytes.len());
            let mut changed = bytes.clone();
            changed[at] = byte;
            // All that has no effect is the last line feed, in whose place anything is a line that is not written whole.
            prop_assert_eq!(verdict(&changed, &sealed) == Some(JournalVerdict::Whole), changed == bytes, "byte {}", at);
            // Without a seal only the last line can be changed unnoticed: nothing has its hash.
            let unsealed = verdict(&changed, &Sealed::default()) == Some(JournalVerdict::Whole);
            let is_last = at >= bytes.len() - 1 - lines[39].len();
            prop_assert!(!unsealed || changed == bytes || is_last, "byte {}", at);
        }

        #[test]
        fn bytes_put_in_or_taken_out_are_found(at in any::<proptest::sample::Index>(), more in proptest::collection::vec(any::<u8>(), 1..5)) {
            let (lines, sealed) = journal();
            let bytes = joined(&lines);
            let at = at.index(bytes.len());
            let longer = [&bytes[..at], &more, &bytes[at..]].concat();
            prop_assert_ne!(verdict(&longer, &sealed), Some(JournalVerdict::Whole));
            let until = (at + more.len()).min(bytes.len() - 1).max(at);
            let shorter = [&bytes[..at], &bytes[until..]].concat();
            prop_assert!(shorter == bytes || verdict(&shorter, &sealed) != Some(JournalVerdict::Whole));
        }
    }
}
