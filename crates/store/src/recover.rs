//! Reads a journal whole and says what still holds: every line has the next number and the hash of the
//! line before.
//!
//! In: the bytes of a journal, and how far its last driver says it wrote. Out: the events, what could not
//! be understood, and what is damaged, by line. Keeps the events and a few megabytes of lines, never the
//! file. Changes no file and refuses no damage: whether to go on is for whoever asked.
//!
//! Begin with [`read`]. Decoding is done in parallel, a batch at a time (`decoders.rs`), comparing in order.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::thread;

use adjutant_core::trace::wire::{self, LineReader, ShortHash};
use adjutant_core::trace::{Body, Event, EventKind, Line, RunEvent, TRACE_VERSION};
use thiserror::Error;

use crate::batches::{Batch, Batches, TooLong};
use crate::decoders::{Decoded, Decoders, decode, too_long};
use crate::lease::Seal;

/// Number of bytes of a journal for which room for one event is made at once. Lines are longer; room that isn't used
/// is never touched, and events that had to move would be.
const EVENT_BYTES_MIN: u64 = 256;

/// The most events for which room is made at once.
const EVENTS_AT_ONCE_MAX: u64 = 1 << 20;

/// The content of a journal.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct JournalReading {
    /// The events that could be read, in the order of their lines.
    pub events: Vec<Event>,
    /// Lines of types that this version does not know.
    pub unknown: Vec<UnknownLine>,
    /// Damage that no operator has accepted yet.
    pub damaged: Vec<DamagedLine>,
    /// The numbers of damaged lines that an operator accepted when the run was last taken over.
    pub accepted_before: Vec<u64>,
    /// The state of the end, after the last whole line.
    pub tail: JournalEnd,
    /// The sequence number of the next line.
    pub next_seq: u64,
    /// The hash of the last line; `None` if there is none.
    pub last_hash: Option<String>,
    /// Number of bytes of the whole lines.
    pub whole_bytes: u64,
    /// Number of whole lines.
    pub lines: u64,
}

/// A line of a type that this version does not know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownLine {
    /// Its number, from 1.
    pub line: u64,
    /// Its type.
    pub kind: String,
}

/// A line that is not what it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DamagedLine {
    /// Its number, from 1.
    pub line: u64,
    /// The fault.
    pub why: Why,
}

impl fmt::Display for DamagedLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.why)
    }
}

/// The fault of a damaged line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Why {
    /// It can't be read as an event: the reason.
    Unreadable(String),
    /// It does not have the number after that of the line before.
    Gap {
        /// The number that it should have.
        expected: u64,
        /// The number that it has.
        found: u64,
    },
    /// It does not carry the hash of the line before.
    BrokenLink,
    /// It has the number that the last driver says it wrote last, and is another line.
    NotAsWritten,
    /// The run was let go before it: nobody has driven it since.
    Added,
    /// Lines were written from here on, and are gone.
    Missing {
        /// The number of the last line that was written.
        written: u64,
    },
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(why) => f.write_str(why),
            Self::Gap { expected, found } => write!(f, "its `seq` is {found} where {expected} should follow"),
            Self::BrokenLink => {
                f.write_str("its `prev` is not the hash of the line before: one of the two was changed, or lines between them are gone")
            }
            Self::NotAsWritten => f.write_str("it is not the line that its driver wrote: it was changed"),
            Self::Added => f.write_str("it was added: the run had been let go before, and nobody has driven it since"),
            Self::Missing { written } => write!(f, "the lines up to `seq` {written} were written and are gone"),
        }
    }
}

/// The state of a journal's end, after its last line feed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum JournalEnd {
    /// Nothing.
    #[default]
    Clean,
    /// A whole line that lacks only its line feed; it counts as a line.
    Unterminated,
    /// So many bytes of a line that was being written when its driver died.
    Torn {
        /// Number of bytes.
        bytes: u64,
    },
}

/// The possibility that written lines are gone without having been removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loss {
    /// The machine went down since: what was not flushed may be lost, and nothing depended on it.
    MayBe,
    /// It did not: what was written is there, or was removed.
    CantBe,
}

/// Reason why a journal is not read at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Foreign {
    /// It is a trace of the peer, which has no sequence numbers.
    #[error("it is a trace of the peer: it can be looked at, not gone on with")]
    Peer,
    /// It is of a later format.
    #[error("it has format {version}, and this program knows formats up to {TRACE_VERSION}")]
    Newer {
        /// Its format version.
        version: u32,
    },
}

/// Reason why a journal could not be read.
#[derive(Debug, Error)]
pub enum JournalReadError {
    /// It is not one of ours.
    #[error(transparent)]
    Foreign(#[from] Foreign),
    /// Its file can't be read.
    #[error(transparent)]
    Unreadable(#[from] io::Error),
}

/// Reads the journal `from`. `seal` is its last driver's.
///
/// A line that can't be read takes the number that it should have had; after a gap the numbers are taken as they are
/// found. A line that is longer than [`LINE_BYTES_MAX`](crate::scan::LINE_BYTES_MAX) counts as one that can't be read, and is not kept either.
///
/// # Errors
///
/// [`JournalReadError::Foreign`] if its header says that it is not one of ours, [`JournalReadError::Unreadable`] if
/// `from` fails.
pub fn read(from: impl Read, seal: Option<&Seal>, loss: Loss) -> Result<JournalReading, JournalReadError> {
    read_into(Vec::new(), from, seal, loss)
}

/// Reads the journal in `file`, as [`read`] does.
///
/// # Errors
///
/// As [`read`].
pub(crate) fn read_file(file: &File, seal: Option<&Seal>, loss: Loss) -> Result<JournalReading, JournalReadError> {
    let events = (file.metadata()?.len() / EVENT_BYTES_MIN).min(EVENTS_AT_ONCE_MAX);
    read_into(Vec::with_capacity(usize::try_from(events).unwrap_or(0)), file, seal, loss)
}

fn read_into(
    mut events: Vec<Event>,
    from: impl Read,
    seal: Option<&Seal>,
    loss: Loss,
) -> Result<JournalReading, JournalReadError> {
    let reading = read_each(from, seal, loss, |_, event| events.push(event))?;
    Ok(JournalReading { events, ..reading })
}

/// The same, with each event handed to `each` as it comes, after the number of its line: so that none is kept. There
/// are none in what is returned.
///
/// # Errors
///
/// As [`read`].
pub fn read_each(
    from: impl Read,
    seal: Option<&Seal>,
    loss: Loss,
    each: impl FnMut(u64, Event),
) -> Result<JournalReading, JournalReadError> {
    let mut batches = Batches::new(from);
    let mut fold = ReadingFold {
        reading: JournalReading::default(),
        line: 0,
        last_hash: None,
        accepted: Vec::new(),
        seal,
        unsealed: None,
        behind_seal: None,
        each,
    };
    thread::scope(|scope| {
        let mut decoders = Decoders::new(scope);
        let read = read_batches(&mut batches, &mut decoders, &mut fold);
        decoders.end();
        read
    })?;
    Ok(fold.end(loss))
}

fn read_batches<E: FnMut(u64, Event)>(
    batches: &mut Batches<impl Read>,
    decoders: &mut Decoders<'_, '_>,
    fold: &mut ReadingFold<'_, E>,
) -> Result<(), JournalReadError> {
    let mut is_first = true;
    while let Some(batch) = batches.next()? {
        if std::mem::take(&mut is_first) {
            check_header(&batch)?;
        }
        if let Batch::Lines(bytes) = batch {
            fold.reading.whole_bytes += bytes.len() as u64;
            let lines = batches.take_lines(decoders.spare());
            decoders.put(lines);
            while let Some(decoded) = decoders.take_if_full() {
                fold.lines(decoded);
            }
            continue;
        }
        fold.rest_of(decoders);
        match batch {
            Batch::Lines(_) => {}
            Batch::TooLong(line) if line.is_terminated => {
                fold.reading.whole_bytes += line.bytes + 1;
                fold.line(passed_over(&line));
            }
            Batch::TooLong(line) => fold.rest(passed_over(&line), line.bytes),
            Batch::Rest(rest) => fold.rest(decode(&mut LineReader::default(), rest), rest.len() as u64),
        }
    }
    fold.rest_of(decoders);
    Ok(())
}

/// Checks that the first line doesn't make the journal one of the peer or of a later format. A damaged line passes.
fn check_header(batch: &Batch<'_>) -> Result<(), Foreign> {
    let first = match batch {
        Batch::Lines(bytes) | Batch::Rest(bytes) => bytes.split(|byte| *byte == b'\n').next().unwrap_or(bytes),
        Batch::TooLong(_) => return Ok(()),
    };
    let Some(head) = std::str::from_utf8(first).ok().and_then(|line| wire::head(line).ok()) else {
        return Ok(());
    };
    if head.seq.is_none() {
        return if EventKind::named(&head.kind) == Some(EventKind::TraceVersion) { Err(Foreign::Peer) } else { Ok(()) };
    }
    match wire::decode(std::str::from_utf8(first).unwrap_or("")) {
        Ok(Line::Event(Event { body: Body::Run(RunEvent::TraceVersion { version, .. }), .. }))
            if version > TRACE_VERSION =>
        {
            Err(Foreign::Newer { version })
        }
        _ => Ok(()),
    }
}

/// A line that is too long: only its hash counts, to which the next one is linked.
fn passed_over(line: &TooLong) -> Decoded {
    Decoded { hash: ShortHash::of(&line.hash), prev: None, line: Err(too_long()) }
}

/// Puts decoded lines together in their order.
struct ReadingFold<'s, E> {
    reading: JournalReading,
    line: u64,
    last_hash: Option<ShortHash>,
    accepted: Vec<u64>,
    seal: Option<&'s Seal>,
    /// The line that has the number of the seal and another hash. It need not be the last: a driver that died between a
    /// line and its seal leaves the seal behind, and whoever adds lines may have changed those before.
    unsealed: Option<u64>,
    /// The first line behind the one that has the number of the seal.
    behind_seal: Option<u64>,
    each: E,
}

impl<E: FnMut(u64, Event)> ReadingFold<'_, E> {
    /// Takes what the decoders still have.
    fn rest_of(&mut self, decoders: &mut Decoders<'_, '_>) {
        while let Some(decoded) = decoders.take() {
            self.lines(decoded);
        }
    }

    fn lines(&mut self, decoded: Vec<Decoded>) {
        decoded.into_iter().for_each(|line| self.line(line));
    }

    fn line(&mut self, decoded: Decoded) {
        self.line += 1;
        if let Some(why) = self.why_damaged(&decoded) {
            self.reading.damaged.push(DamagedLine { line: self.line, why });
        }
        let seq = match &decoded.line {
            Ok(Line::Event(Event { seq, .. }) | Line::Unknown { seq, .. }) => *seq,
            Err(unreadable) => unreadable.seq.unwrap_or(self.reading.next_seq),
        };
        if self.seal.is_some_and(|seal| seal.seq == seq && seal.hash != decoded.hash.as_str()) {
            self.unsealed = Some(self.line);
        }
        if self.seal.is_some_and(|seal| seal.seq < seq) && self.behind_seal.is_none() {
            self.behind_seal = Some(self.line);
        }
        self.reading.next_seq = seq.saturating_add(1);
        self.last_hash = Some(decoded.hash);
        match decoded.line {
            Ok(Line::Event(event)) => {
                if let Body::Run(RunEvent::RunResume { accepted_damage, .. }) = &event.body {
                    self.accepted.extend(accepted_damage.iter().filter(|line| **line < self.line));
                }
                (self.each)(self.line, event);
            }
            Ok(Line::Unknown { kind, .. }) => self.reading.unknown.push(UnknownLine { line: self.line, kind }),
            Err(_) => {}
        }
    }

    fn why_damaged(&self, decoded: &Decoded) -> Option<Why> {
        let expected = self.reading.next_seq;
        match &decoded.line {
            Err(unreadable) => Some(Why::Unreadable(unreadable.why.clone())),
            Ok(Line::Event(Event { seq: found, .. }) | Line::Unknown { seq: found, .. }) => {
                if *found != expected {
                    return Some(Why::Gap { expected, found: *found });
                }
                let linked = decoded.prev == self.last_hash;
                (!linked).then_some(Why::BrokenLink)
            }
        }
    }

    /// Handles the bytes after the last line feed. They are a whole line if they are exactly the line that should
    /// follow. Otherwise they are torn: a line is written with its line feed in one call.
    fn rest(&mut self, last: Decoded, bytes: u64) {
        let sealed = self.seal.is_some_and(|seal| seal.hash == last.hash.as_str());
        if last.line.is_ok() && (sealed || self.why_damaged(&last).is_none()) {
            self.reading.tail = JournalEnd::Unterminated;
            self.reading.whole_bytes += bytes;
            self.line(last);
        } else {
            self.reading.tail = JournalEnd::Torn { bytes };
        }
    }

    fn end(mut self, loss: Loss) -> JournalReading {
        self.reading.damaged.extend(self.not_as_sealed(loss));
        self.reading.damaged.sort_by_key(|damaged| damaged.line);
        self.reading.lines = self.line;
        self.reading.last_hash = self.last_hash.map(|hash| hash.as_str().to_owned());
        let accepted = self.accepted;
        self.reading.damaged.retain(|damaged| {
            let known = accepted.contains(&damaged.line);
            if known {
                self.reading.accepted_before.push(damaged.line);
            }
            !known
        });
        self.reading
    }

    fn not_as_sealed(&self, loss: Loss) -> Option<DamagedLine> {
        let seal = self.seal?;
        if self.reading.next_seq <= seal.seq {
            let why = Why::Missing { written: seal.seq };
            return (loss == Loss::CantBe).then_some(DamagedLine { line: self.line + 1, why });
        }
        let added = self.behind_seal.filter(|_| seal.is_final).map(|line| (line, Why::Added));
        let (line, why) = self.unsealed.map(|line| (line, Why::NotAsWritten)).or(added)?;
        let is_told = self.reading.damaged.iter().any(|damaged| damaged.line == line);
        (!is_told).then_some(DamagedLine { line, why })
    }
}

#[cfg(test)]
mod tests {
    use adjutant_core::trace::{Entry, HostEvent, PartEvent, TurnEvent};
    use adjutant_core::words::{MessageKind, MessageRole, Outcome, Part, PhaseName};
    use jiff::Timestamp;
    use proptest::prelude::*;

    use super::*;

    fn read_bytes(bytes: &[u8], seal: Option<&Seal>, loss: Loss) -> Result<JournalReading, Foreign> {
        read(bytes, seal, loss).map_err(|error| match error {
            JournalReadError::Foreign(foreign) => foreign,
            JournalReadError::Unreadable(error) => panic!("bytes in memory can be read: {error}"),
        })
    }

    pub(super) fn bodies() -> Vec<Body> {
        let message = |text: &str| {
            Body::Turn(TurnEvent::Message {
                role: MessageRole::User,
                kind: MessageKind::Intake,
                phase: PhaseName::Intake,
                step: 0,
                text: text.to_owned(),
            })
        };
        vec![
            Body::Run(RunEvent::TraceVersion {
                version: TRACE_VERSION,
                adjutant_version: "0".into(),
                brief_id: "b".into(),
            }),
            Body::Part(PartEvent::PhaseEnter { phase: PhaseName::Intake, reason: None }),
            message("first\nsecond \"quoted\" \u{e9}"),
            Body::Host(HostEvent::Warning { text: r#","prev":"0123456789abcdef"}"#.into() }),
            message(""),
            Body::Run(RunEvent::RunEnd { outcome: Outcome::Completed }),
        ]
    }

    /// A journal of `bodies`: its bytes, its events, its seal.
    fn written(bodies: Vec<Body>) -> (Vec<u8>, Vec<Event>, Seal) {
        let (mut bytes, mut events) = (Vec::new(), Vec::new());
        let mut seal = Seal { seq: 0, hash: String::new(), is_final: false };
        for (seq, body) in bodies.into_iter().enumerate() {
            let event = Entry { part: Part::root(), body }
                .at(seq as u64, Timestamp::from_second(1_800_000_000 + seq as i64).expect("a time"));
            let line = wire::encode(&event, (seq > 0).then_some(seal.hash.as_str()));
            seal = Seal { seq: seq as u64, hash: wire::line_hash(line.as_bytes()), is_final: false };
            bytes.extend_from_slice(line.as_bytes());
            bytes.push(b'\n');
            events.push(event);
        }
        (bytes, events, seal)
    }

    fn lines(bytes: &[u8]) -> Vec<Vec<u8>> {
        let without_end = |line: &[u8]| line.strip_suffix(b"\n").unwrap_or(line).to_vec();
        bytes.split_inclusive(|byte| *byte == b'\n').map(without_end).collect()
    }

    fn joined(lines: &[Vec<u8>]) -> Vec<u8> {
        lines.iter().flat_map(|line| [line.as_slice(), b"\n"].concat()).collect()
    }

    /// Checks the faults of the sample journal after `change` was done to its lines.
    #[track_caller]
    fn check(change: impl FnOnce(&mut Vec<Vec<u8>>), expected: &[(u64, &str)]) {
        let (bytes, _, seal) = written(bodies());
        let mut lines = lines(&bytes);
        change(&mut lines);
        let reading = read_bytes(&joined(&lines), Some(&seal), Loss::CantBe).expect("ours");
        let found: Vec<_> = reading.damaged.iter().map(|damaged| (damaged.line, damaged.why.to_string())).collect();
        assert_eq!(found.len(), expected.len(), "{found:?}");
        for ((line, why), (expected_line, part)) in found.iter().zip(expected) {
            assert!(line == expected_line && why.contains(part), "{found:?}");
        }
    }

    #[test]
    fn damage_is_found_and_named_by_its_line() {
        check(|_| {}, &[]);
        check(|lines| drop(lines.remove(2)), &[(3, "`seq` is 3 where 2")]);
        check(|lines| lines[2] = b"null".to_vec(), &[(3, "not a JSON object"), (4, "hash of the line before")]);
        check(|lines| lines[2] = vec![0xff], &[(3, "not UTF-8 after 0 bytes"), (4, "hash of the line before")]);
        check(|lines| lines[2][60] ^= 1, &[(3, ""), (4, "hash of the line before")]);
        check(|lines| lines[4].push(b' '), &[(5, "hash of the line before"), (6, "hash of the line before")]);
        check(|lines| lines[5].push(b' '), &[(6, "hash of the line before")]);
        check(|lines| lines.truncate(4), &[(5, "up to `seq` 5 were written and are gone")]);
        check(
            |lines| lines[5] = String::from_utf8_lossy(&lines[5]).replace("completed", "stopped").into(),
            &[(6, "was changed")],
        );
    }

    #[test]
    fn lines_that_were_never_flushed_may_be_gone_after_a_power_cut() {
        let (bytes, events, seal) = written(bodies());
        let part = joined(&lines(&bytes)[..4]);
        let reading = read_bytes(&part, Some(&seal), Loss::MayBe).expect("ours");
        assert_eq!((reading.events.as_slice(), reading.damaged.len()), (&events[..4], 0));
    }

    #[test]
    fn a_seal_that_is_behind_is_no_damage() {
        let (bytes, events, _) = written(bodies());
        let (_, _, behind) = written(bodies()[..5].to_vec());
        let reading = read_bytes(&bytes, Some(&behind), Loss::CantBe).expect("ours");
        assert_eq!((reading.events, reading.damaged), (events, Vec::new()));
    }

    #[test]
    fn every_prefix_of_a_journal_holds_a_prefix_of_its_events() {
        let (bytes, events, _) = written(bodies());
        for cut in 0..=bytes.len() {
            let reading = read_bytes(&bytes[..cut], None, Loss::MayBe).expect("ours");
            assert_eq!(reading.events, events[..reading.events.len()], "cut at {cut}");
            assert_eq!(reading.next_seq, reading.events.len() as u64, "cut at {cut}");
            assert!(reading.damaged.is_empty(), "cut at {cut}: {:?}", reading.damaged);
            let torn = if let JournalEnd::Torn { bytes } = reading.tail { bytes } else { 0 };
            assert_eq!(reading.whole_bytes + torn, cut as u64);
        }
    }

    #[test]
    fn every_changed_byte_is_found_or_changes_nothing() {
        let (bytes, events, seal) = written(bodies());
        for at in 0..bytes.len() {
            for flip in [1, 2, 4, 8, 16, 32, 64, 128] {
                let mut changed = bytes.clone();
                changed[at] ^= flip;
                let Ok(reading) = read_bytes(&changed, Some(&seal), Loss::CantBe) else { continue };
                let found = !reading.damaged.is_empty() || !reading.unknown.is_empty() && reading.events != events;
                assert!(found || reading.events == events, "byte {at} ^ {flip}: {reading:?}");
                assert!(!reading.damaged.is_empty() || reading.events == events, "byte {at} ^ {flip}");
            }
        }
    }

    #[test]
    fn a_journal_that_is_read_by_several_threads_holds_the_same() {
        let mut bodies = bodies();
        bodies.splice(
            1..1,
            (0..3000).map(|n| Body::Host(HostEvent::Warning { text: format!("{n} {}", "x".repeat(1000)) })),
        );
        let (mut bytes, mut events, seal) = written(bodies);
        assert!(bytes.len() > 3 * 1024 * 1024, "several batches");
        let reading = read_bytes(&bytes, Some(&seal), Loss::CantBe).expect("ours");
        assert_eq!((&reading.events, reading.damaged.len()), (&events, 0));
        let line = memchr::memchr_iter(b'\n', &bytes).nth(1499).expect("lines") + 1;
        bytes[line] = b'x';
        let reading = read_bytes(&bytes, Some(&seal), Loss::CantBe).expect("ours");
        let numbers: Vec<u64> = reading.damaged.iter().map(|damaged| damaged.line).collect();
        events.remove(1500);
        assert_eq!((reading.events, numbers), (events, vec![1501, 1502]));
    }

    #[test]
    fn accepted_damage_is_not_told_again() {
        let (bytes, _, _) = written(bodies()[..4].to_vec());
        let mut lines = lines(&bytes);
        lines[2] = b"5".to_vec();
        let reading = read_bytes(&joined(&lines), None, Loss::MayBe).expect("ours");
        let numbers: Vec<u64> = reading.damaged.iter().map(|damaged| damaged.line).collect();
        assert_eq!(numbers, [3, 4]);
        let resume = Entry {
            part: Part::root(),
            body: Body::Run(RunEvent::RunResume { options: None, accepted_damage: numbers.clone(), offered: None }),
        }
        .at(reading.next_seq, Timestamp::UNIX_EPOCH);
        lines.push(wire::encode(&resume, reading.last_hash.as_deref()).into());
        let reading = read_bytes(&joined(&lines), None, Loss::MayBe).expect("ours");
        assert_eq!((reading.damaged, reading.accepted_before, reading.next_seq), (Vec::new(), numbers, 5));
    }

    #[test]
    fn a_trace_of_the_peer_or_of_the_future_is_not_taken_for_ours() {
        let peer = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../tests/vectors/openwar/inspect/input-inspect/sessions/2024-04-05-ALL.trace.ndjson"
        );
        let peer = std::fs::read(peer).expect("the vector");
        assert_eq!(read_bytes(&peer, None, Loss::MayBe), Err(Foreign::Peer));
        let header = Body::Run(RunEvent::TraceVersion {
            version: TRACE_VERSION + 1,
            adjutant_version: "9".into(),
            brief_id: "b".into(),
        });
        let (bytes, ..) = written(vec![header]);
        assert_eq!(read_bytes(&bytes, None, Loss::MayBe), Err(Foreign::Newer { version: TRACE_VERSION + 1 }));
    }

    #[test]
    fn a_line_of_an_unknown_type_keeps_its_place_in_the_chain() {
        let (bytes, _, _) = written(bodies()[..2].to_vec());
        let mut lines = lines(&bytes);
        let prev = wire::line_hash(&lines[1]);
        lines.push(
            format!(r#"{{"seq":2,"at":"2026-01-02T03:04:05.678Z","type":"later","x":1,"prev":"{prev}"}}"#).into(),
        );
        let reading = read_bytes(&joined(&lines), None, Loss::MayBe).expect("ours");
        assert_eq!(reading.unknown, [UnknownLine { line: 3, kind: "later".into() }]);
        assert_eq!((reading.damaged.len(), reading.next_seq), (0, 3));
    }

    proptest! {
        #[test]
        fn any_bytes_at_all_are_read_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400), cut in 0usize..600) {
            let (mut journal, ..) = written(bodies());
            journal.truncate(cut);
            journal.extend_from_slice(&bytes);
            let reading = read_bytes(&journal, None, Loss::CantBe);
            prop_assert!(reading.is_ok() || bytes.len() > 20);
        }
    }
}
