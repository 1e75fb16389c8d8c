use std::fs;
use std::sync::{Arc, Barrier};

use adjutant_core::trace::{AskEvent, Body, HostEvent, RunEvent, TRACE_VERSION};
use adjutant_core::words::id::{BriefId, RunId};
use adjutant_core::words::{Outcome, Part, Slot, What};
use proptest::prelude::*;

use super::*;
use crate::disk::FileStatus;
use crate::home::Home;
use crate::lease::{LeaseError, Owner};
use crate::recover::Foreign;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + second).expect("a time")
}

fn entry(body: Body) -> Entry {
    Entry { part: Part::root(), body }
}

fn header() -> Entry {
    entry(Body::Run(RunEvent::TraceVersion {
        version: TRACE_VERSION,
        adjutant_version: "0".into(),
        brief_id: "b".into(),
    }))
}

fn said(text: &str) -> Entry {
    entry(Body::Host(HostEvent::Warning { text: text.into() }))
}

fn intent(number: u32) -> Entry {
    entry(Body::Ask(AskEvent::Timer { slot: Slot::first(What::Wait, number), length_ms: 1 }))
}

struct Bench {
    temp: tempfile::TempDir,
    home: Home,
    run_id: RunId,
}

impl Bench {
    fn new() -> Self {
        let temp = tempfile::tempdir().expect("a folder");
        let home = Home::new(temp.path(), None);
        Self { temp, home, run_id: "b".parse().expect("a name") }
    }

    fn create(&self) -> FileJournal {
        FileJournal::create(&self.home, &self.run_id, &Owner::current(), at(0)).expect("created")
    }

    fn take_over(&self, second: i64, damage: Damage) -> Result<(FileJournal, Recovered), OpenError> {
        FileJournal::take_over(&self.home, &self.run_id, &Owner::current(), at(second), damage)
    }

    fn bytes(&self) -> Vec<u8> {
        fs::read(self.home.journal(&self.run_id)).expect("readable")
    }

    fn put(&self, bytes: &[u8]) {
        fs::create_dir_all(self.home.sessions()).expect("made");
        fs::write(self.home.journal(&self.run_id), bytes).expect("written");
    }

    /// A journal of five events, closed: its bytes and events.
    fn sample(&self) -> (Vec<u8>, Vec<Event>) {
        let mut journal = self.create();
        let mut events = Vec::new();
        for entry in [
            header(),
            said("one\n\u{e9}"),
            intent(1),
            said(""),
            entry(Body::Run(RunEvent::RunEnd { outcome: Outcome::Completed })),
        ] {
            events.push(journal.append(entry, at(events.len() as i64), Durability::Written).expect("appended"));
        }
        journal.close().expect("closed");
        (self.bytes(), events)
    }
}

#[test]
fn what_is_appended_is_read_back_by_the_next_driver() {
    let bench = Bench::new();
    let (bytes, events) = bench.sample();
    let (mut journal, recovered) = bench.take_over(9, Damage::Refuse).expect("taken over");
    assert_eq!(recovered.events, events);
    assert_eq!((recovered.torn_bytes, recovered.damaged.len(), journal.next_seq()), (0, 0, 5));
    assert_eq!(journal.lease().token(), 2);
    assert_eq!(bench.bytes(), bytes);
    let event = journal.append(said("more"), at(10), Durability::Synced).expect("appended");
    assert_eq!(event.seq, 5);
    journal.close().expect("closed");
    let (_journal, recovered) = bench.take_over(11, Damage::Refuse).expect("taken over");
    assert_eq!(recovered.events.last(), Some(&event));
}

#[test]
fn an_event_is_returned_as_it_will_be_read_back() {
    let bench = Bench::new();
    let mut journal = bench.create();
    let exact = Timestamp::new(1_800_000_000, 123_999_999).expect("a time");
    let event = journal.append(header(), exact, Durability::Written).expect("appended");
    assert_eq!(event.at.subsec_nanosecond(), 123_000_000);
    drop(journal);
    assert_eq!(bench.take_over(1, Damage::Refuse).expect("taken over").1.events, [event]);
}

#[test]
fn a_journal_is_for_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt as _;

    let bench = Bench::new();
    let journal = bench.create();
    for path in [journal.path().to_owned(), bench.home.lease(&bench.run_id)] {
        let mode = path.metadata().expect("there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{}", path.display());
    }
}

#[test]
fn a_run_begins_once_and_has_one_driver() {
    let bench = Bench::new();
    assert!(matches!(bench.take_over(0, Damage::Refuse), Err(OpenError::NoSuchRun { .. })));
    let journal = bench.create();
    let again = FileJournal::create(&bench.home, &bench.run_id, &Owner::current(), at(0));
    assert!(matches!(again, Err(CreateError::Exists { .. })));
    let error = bench.take_over(1, Damage::Refuse).expect_err("held");
    assert!(
        matches!(&error, OpenError::Lease(LeaseError::Held { holder, .. }) if holder.pid == std::process::id()),
        "{error}"
    );
    drop(journal);
    assert!(bench.take_over(1, Damage::Refuse).is_ok());
}

#[test]
fn a_driver_that_slept_through_its_lease_writes_not_one_line_more() {
    let bench = Bench::new();
    let mut asleep = bench.create();
    asleep.append(header(), at(0), Durability::Written).expect("appended");
    assert!(matches!(bench.take_over(29, Damage::Refuse), Err(OpenError::Lease(LeaseError::Held { .. }))));
    let (mut awake, recovered) = bench.take_over(30, Damage::Refuse).expect("taken over");
    assert_eq!(recovered.events.len(), 1);
    for _ in 0..3 {
        let error = asleep.append(said("I am back"), at(31), Durability::Synced).expect_err("fenced");
        assert!(matches!(error, AppendError::Fenced { .. }), "{error}");
    }
    awake.append(said("mine"), at(32), Durability::Written).expect("appended");
    assert!(matches!(asleep.append(said("again"), at(33), Durability::Written), Err(AppendError::Fenced { .. })));
    asleep.close().expect("closed");
    awake.append(said("mine still"), at(34), Durability::Written).expect("appended");
    assert_eq!(String::from_utf8(bench.bytes()).expect("text").matches("mine").count(), 2);
    assert_eq!(bench.bytes().iter().filter(|byte| **byte == b'\n').count(), 3);
}

#[test]
fn appending_and_the_heartbeat_keep_the_lease_alive() {
    let bench = Bench::new();
    let mut journal = bench.create();
    journal.append(header(), at(25), Durability::Written).expect("appended");
    assert!(bench.take_over(50, Damage::Refuse).is_err());
    journal.heartbeat().expect("a heartbeat").renew(at(50)).expect("renewed");
    assert!(bench.take_over(79, Damage::Refuse).is_err());
    journal.keep_alive(at(75)).expect("alive");
    assert!(bench.take_over(104, Damage::Refuse).is_err());
    let (_taken, _) = bench.take_over(105, Damage::Refuse).expect("expired");
    assert!(matches!(journal.keep_alive(at(106)), Err(AppendError::Fenced { .. })));
}

#[test]
fn without_its_lease_a_driver_stops() {
    let bench = Bench::new();
    let mut journal = bench.create();
    fs::remove_file(bench.home.lease(&bench.run_id)).expect("removed");
    assert!(matches!(journal.append(header(), at(0), Durability::Written), Err(AppendError::Unwritable { .. })));
    assert_eq!(bench.bytes(), b"");
}

#[test]
fn of_twenty_that_race_exactly_one_drives() {
    let bench = Arc::new(Bench::new());
    bench.sample();
    let barrier = Arc::new(Barrier::new(20));
    let racers: Vec<_> = (0..20)
        .map(|_| {
            let (bench, barrier) = (Arc::clone(&bench), Arc::clone(&barrier));
            thread::spawn(move || {
                barrier.wait();
                bench.take_over(9, Damage::Refuse)
            })
        })
        .collect();
    // Kept until all are done: a lease that is let go could be taken again.
    let ended: Vec<_> = racers.into_iter().map(|racer| racer.join().expect("no panic")).collect();
    assert_eq!(ended.iter().filter(|ended| ended.is_ok()).count(), 1);
    assert!(ended.iter().flat_map(Result::as_ref).all(|(journal, _)| journal.lease().token() == 2));
}

#[test]
fn of_many_that_begin_a_run_of_one_brief_each_gets_its_own() {
    let bench = Arc::new(Bench::new());
    let barrier = Arc::new(Barrier::new(12));
    let racers: Vec<_> = (0..12)
        .map(|racer| {
            let (bench, barrier) = (Arc::clone(&bench), Arc::clone(&barrier));
            let brief_id: BriefId = if racer % 2 == 0 { "same" } else { "SAME" }.parse().expect("a name");
            thread::spawn(move || {
                barrier.wait();
                FileJournal::create_next(&bench.home, &brief_id, &Owner::current(), at(0)).expect("created")
            })
        })
        .collect();
    // All are still held: the name of one that was let go before its header was written is free again.
    let begun: Vec<(RunId, FileJournal)> = racers.into_iter().map(|racer| racer.join().expect("no panic")).collect();
    let mut names: Vec<String> = begun.iter().map(|(run_id, _)| run_id.to_string().to_ascii_lowercase()).collect();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), 12);
}

#[test]
fn a_journal_cut_anywhere_goes_on_from_a_prefix_of_its_events() {
    let bench = Bench::new();
    let (bytes, events) = bench.sample();
    for cut in 0..=bytes.len() {
        let bench = Bench::new();
        bench.put(&bytes[..cut]);
        let (mut journal, recovered) = bench.take_over(9, Damage::Refuse).expect("taken over");
        let kept = recovered.events.len();
        assert_eq!(recovered.events, events[..kept], "cut at {cut}");
        if let Some(torn) = &recovered.torn_kept {
            let torn = fs::read(torn).expect("kept");
            assert_eq!(torn.len() as u64, recovered.torn_bytes);
            assert!(bytes[..cut].ends_with(&torn));
        }
        let entry = if kept == 0 { header() } else { said("on") };
        let appended = journal.append(entry, at(10), Durability::Written).expect("appended");
        assert_eq!(appended.seq, kept as u64, "cut at {cut}");
        drop(journal);
        let again = bench.take_over(11, Damage::Refuse).expect("whole").1;
        assert_eq!((again.events.len(), again.events.last()), (kept + 1, Some(&appended)), "cut at {cut}");
    }
}

#[test]
fn torn_bytes_are_never_lost_twice_under_one_name() {
    let bench = Bench::new();
    let (bytes, _) = bench.sample();
    let mut kept = Vec::new();
    for torn in ["first", "second", "third"] {
        bench.put(&[bytes.as_slice(), torn.as_bytes()].concat());
        let recovered = bench.take_over(9, Damage::Refuse).expect("taken over").1;
        kept.push(recovered.torn_kept.expect("kept"));
    }
    let said: Vec<_> = kept.iter().map(|path| fs::read_to_string(path).expect("there")).collect();
    assert_eq!(said, ["first", "second", "third"]);
    assert!(kept[1].ends_with("b.torn-5.2"), "{kept:?}");
}

#[test]
fn damage_stops_a_driver_until_it_is_accepted_and_is_told_once() {
    let bench = Bench::new();
    let (bytes, _) = bench.sample();
    let broken = String::from_utf8(bytes).expect("text").replacen("one", "two", 1);
    bench.put(broken.as_bytes());
    let error = bench.take_over(9, Damage::Refuse).expect_err("damaged");
    assert!(error.to_string().contains("line 3: its `prev` is not the hash"), "{error}");
    assert!(error.hint().is_some_and(|hint| hint.contains("--accept-damage")));
    assert_eq!(bench.bytes(), broken.as_bytes());

    let (mut journal, recovered) = bench.take_over(9, Damage::Accept).expect("taken over");
    assert_eq!((recovered.accepted_damage(), recovered.events.len()), (vec![3], 5));
    let resume =
        Body::Run(RunEvent::RunResume { options: None, accepted_damage: recovered.accepted_damage(), offered: None });
    assert_eq!(journal.append(entry(resume), at(9), Durability::Synced).expect("appended").seq, 5);
    drop(journal);
    let recovered = bench.take_over(10, Damage::Refuse).expect("accepted").1;
    assert_eq!((recovered.accepted_before, recovered.events.len()), (vec![3], 6));
}

#[test]
fn lines_that_are_gone_from_the_end_are_damage() {
    let bench = Bench::new();
    let (bytes, _) = bench.sample();
    let last_line = bytes[..bytes.len() - 1].iter().rposition(|byte| *byte == b'\n').expect("lines") + 1;
    bench.put(&bytes[..last_line]);
    let error = bench.take_over(9, Damage::Refuse).expect_err("damaged");
    assert!(error.to_string().contains("line 5: the lines up to `seq` 4 were written and are gone"), "{error}");
    // Accepting is only on record once it was recorded: a kill before that hides nothing.
    drop(bench.take_over(9, Damage::Accept).expect("taken over"));
    assert!(matches!(bench.take_over(9, Damage::Refuse), Err(OpenError::Damaged { .. })));
    let (mut journal, recovered) = bench.take_over(9, Damage::Accept).expect("taken over");
    let resume =
        Body::Run(RunEvent::RunResume { options: None, accepted_damage: recovered.accepted_damage(), offered: None });
    journal.append(entry(resume), at(9), Durability::Written).expect("appended");
    drop(journal);
    assert!(bench.take_over(10, Damage::Refuse).is_ok());
}

#[test]
fn whoever_writes_into_the_journal_is_noticed() {
    let bench = Bench::new();
    let mut journal = bench.create();
    journal.append(header(), at(0), Durability::Written).expect("appended");
    let mut bytes = bench.bytes();
    bytes.push(b'x');
    bench.put(&bytes);
    assert!(matches!(journal.append(said("on"), at(0), Durability::Written), Err(AppendError::Changed { .. })));
    assert_eq!(bench.bytes(), bytes);
}

#[test]
fn a_trace_of_the_peer_is_not_gone_on_with() {
    let bench = Bench::new();
    bench.put(b"{\"type\":\"trace_version\",\"version\":5,\"brief_id\":\"b\",\"at\":\"2024-04-05T06:07:08.009Z\"}\n");
    assert!(matches!(bench.take_over(0, Damage::Accept), Err(OpenError::Foreign { source: Foreign::Peer, .. })));
}

#[test]
fn looking_at_a_journal_takes_nothing_from_its_driver() {
    let bench = Bench::new();
    let mut journal = bench.create();
    journal.append(header(), at(0), Durability::Written).expect("appended");
    assert_eq!(read_only(&bench.home, &bench.run_id).expect("readable").events.len(), 1);
    journal.append(said("on"), at(0), Durability::Written).expect("appended");
}

#[test]
fn large_contents_are_kept_beside_the_journal() {
    let bench = Bench::new();
    let mut journal = bench.create();
    let content = vec![b'x'; crate::artifacts::INLINE_BYTES_MAX + 1];
    let hash = journal.keep(&content).expect("kept");
    assert_eq!(journal.kept(&hash), Some(content));
    assert!(bench.temp.path().join("artifacts").join(&hash[..2]).join(&hash).is_file());
}

/// A disk that fails as it is told to.
struct Failing {
    file: File,
    /// Bytes that may still be written before the disk is full.
    free: u64,
    /// Syncs that still succeed.
    syncs: u32,
    /// True if reserving works; what is reserved then counts against what is free.
    reserves: bool,
    reserved: Arc<std::sync::Mutex<Vec<u64>>>,
    truncates: bool,
}

impl Failing {
    fn never(file: File) -> Self {
        Self { file, free: u64::MAX, syncs: u32::MAX, reserves: false, reserved: Arc::default(), truncates: true }
    }
}

impl Disk for Failing {
    fn try_lock(&self) -> io::Result<bool> {
        self.file.try_lock_for_tests()
    }

    fn unlock(&self) -> io::Result<()> {
        Disk::unlock(&self.file)
    }

    fn status(&self) -> io::Result<FileStatus> {
        self.file.status()
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(usize::try_from(self.free).unwrap_or(usize::MAX));
        if taken == 0 {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.free -= taken as u64;
        Disk::write(&mut self.file, &bytes[..taken])
    }

    fn truncate(&mut self, bytes: u64) -> io::Result<()> {
        if self.truncates { self.file.truncate(bytes) } else { Err(io::Error::from_raw_os_error(5)) }
    }

    fn reserve(&mut self, from: u64, bytes: u64) -> io::Result<()> {
        if !self.reserves {
            return Err(io::ErrorKind::Unsupported.into());
        }
        if bytes > self.free {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.reserved.lock().expect("no panic").push(from + bytes);
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        if self.syncs == 0 {
            return Err(io::Error::from_raw_os_error(5));
        }
        self.syncs -= 1;
        self.file.sync()
    }
}

trait TryLock {
    fn try_lock_for_tests(&self) -> io::Result<bool>;
}

impl TryLock for File {
    fn try_lock_for_tests(&self) -> io::Result<bool> {
        Disk::try_lock(self)
    }
}

#[test]
fn a_full_disk_stops_a_run_and_leaves_whole_lines() {
    for free in 0..400 {
        let bench = Bench::new();
        let mut journal = bench.create().on(|file| Failing { free, ..Failing::never(file) });
        let mut appended = Vec::new();
        let error = loop {
            let entry = if appended.is_empty() { header() } else { said("something to say") };
            match journal.append(entry, at(0), Durability::Written) {
                Ok(event) => appended.push(event),
                Err(error) => break error,
            }
        };
        assert!(
            matches!(&error, AppendError::Unwritable { source, .. } if source.kind() == io::ErrorKind::StorageFull),
            "{free}: {error:?}"
        );
        assert!(bench.bytes().is_empty() || bench.bytes().ends_with(b"\n"), "{free}");
        drop(journal);
        let recovered = bench.take_over(1, Damage::Refuse).expect("whole").1;
        assert_eq!((recovered.events, recovered.torn_bytes), (appended, 0), "{free}");
    }
}

#[test]
fn a_line_that_cant_be_cut_off_again_ends_the_journal() {
    let bench = Bench::new();
    let mut journal = bench.create();
    let first = journal.append(header(), at(0), Durability::Written).expect("appended");
    let mut journal = journal.on(|file| Failing { free: 10, truncates: false, ..Failing::never(file) });
    assert!(journal.append(said("x"), at(0), Durability::Written).is_err());
    let mut journal = journal.on(|disk| Failing { free: u64::MAX, ..disk });
    let error = journal.append(said("x"), at(0), Durability::Written).expect_err("spoiled");
    assert!(matches!(error, AppendError::Unwritable { .. }));
    drop(journal);
    let recovered = bench.take_over(1, Damage::Refuse).expect("taken over").1;
    assert_eq!((recovered.events, recovered.torn_bytes), (vec![first], 10));
}

#[test]
fn after_a_failed_flush_the_journal_is_not_used_again() {
    let bench = Bench::new();
    let mut journal = bench.create().on(|file| Failing { syncs: 1, ..Failing::never(file) });
    let first = journal.append(header(), at(0), Durability::Synced).expect("appended");
    assert!(journal.append(said("x"), at(0), Durability::Synced).is_err());
    let mut journal = journal.on(|disk| Failing { syncs: u32::MAX, ..disk });
    for durability in [Durability::Written, Durability::Synced] {
        let error = journal.append(said("y"), at(0), durability).expect_err("spoiled");
        assert!(matches!(error, AppendError::Unwritable { .. }), "{error}");
    }
    drop(journal);
    assert_eq!(bench.take_over(1, Damage::Refuse).expect("whole").1.events, [first]);
}

#[test]
fn room_for_an_outcome_is_there_before_anything_begins() {
    let bench = Bench::new();
    let reserved: Arc<std::sync::Mutex<Vec<u64>>> = Arc::default();
    let mut journal = bench.create().on(|file| Failing {
        reserves: true,
        reserved: Arc::clone(&reserved),
        free: ROOM_BYTES_MIN + 4096,
        ..Failing::never(file)
    });
    journal.append(header(), at(0), Durability::Written).expect("appended");
    assert!(reserved.lock().expect("no panic").is_empty());
    // A step is too much for this disk, the minimum is not.
    journal.append(intent(1), at(0), Durability::Written).expect("appended");
    let until = *reserved.lock().expect("no panic").last().expect("reserved");
    assert_eq!(until, bench.bytes().len() as u64 + ROOM_BYTES_MIN);

    let mut journal = journal.on(|disk| Failing { free: ROOM_BYTES_MIN, ..disk });
    let before = bench.bytes();
    let error = journal.append(intent(2), at(0), Durability::Written).expect_err("full");
    assert!(matches!(&error, AppendError::Unwritable { source, .. } if source.kind() == io::ErrorKind::StorageFull));
    assert_eq!(bench.bytes(), before);
    journal.append(said("the outcome of the first"), at(0), Durability::Written).expect("there is room for it");
}

#[test]
fn room_is_reserved_rarely() {
    let bench = Bench::new();
    let reserved: Arc<std::sync::Mutex<Vec<u64>>> = Arc::default();
    let mut journal =
        bench.create().on(|file| Failing { reserves: true, reserved: Arc::clone(&reserved), ..Failing::never(file) });
    journal.append(header(), at(0), Durability::Written).expect("appended");
    for number in 1..200 {
        journal.append(intent(number), at(0), Durability::Written).expect("appended");
    }
    assert_eq!(reserved.lock().expect("no panic").len(), 1);
}

#[test]
fn what_was_reserved_is_given_back_at_the_end() {
    use std::os::unix::fs::MetadataExt as _;

    let bench = Bench::new();
    let mut journal = bench.create();
    journal.append(header(), at(0), Durability::Written).expect("appended");
    journal.append(intent(1), at(0), Durability::Written).expect("appended");
    let path = journal.path().to_owned();
    journal.close().expect("closed");
    let blocks = path.metadata().expect("there").blocks();
    assert!(blocks * 512 < ROOM_BYTES_MIN, "{blocks}");
}

#[test]
fn a_read_only_journal_cant_be_written() {
    let bench = Bench::new();
    let journal = bench.create();
    let path = journal.path().to_owned();
    let mut journal = journal.on(|_| File::open(path).expect("readable"));
    let error = journal.append(header(), at(0), Durability::Written).expect_err("read-only");
    assert!(matches!(error, AppendError::Unwritable { .. }));
    assert_eq!(bench.bytes(), b"");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Drivers come and go; each writes, and dies whole, torn, or with the disk full.
    #[test]
    fn what_was_appended_is_there_whatever_became_of_its_drivers(
        drivers in proptest::collection::vec((proptest::collection::vec(".{0,40}", 0..5), 0u64..600, 0usize..40), 1..6)
    ) {
        let bench = Bench::new();
        let mut journal = Some(bench.create());
        let mut appended: Vec<Event> = Vec::new();
        for (texts, free, torn) in drivers {
            let own = match journal.take() {
                Some(journal) => journal,
                None => {
                    let (journal, recovered) = bench.take_over(1, Damage::Refuse).expect("whole");
                    prop_assert_eq!(&recovered.events, &appended);
                    journal
                }
            };
            let mut own = own.on(|file| Failing { free, ..Failing::never(file) });
            for text in &texts {
                let entry = if appended.is_empty() { header() } else { said(text) };
                match own.append(entry, at(1), Durability::Written) {
                    Ok(event) => appended.push(event),
                    Err(_) => break,
                }
            }
            drop(own);
            let mut bytes = bench.bytes();
            bytes.extend(std::iter::repeat_n(b'{', torn));
            bench.put(&bytes);
        }
        prop_assert_eq!(bench.take_over(2, Damage::Refuse).expect("whole").1.events, appended);
    }
}

/// Not a test of behaviour: prints what an append and a takeover cost. Run it in release.
#[test]
#[ignore = "measures: run it alone, in release, with --nocapture"]
fn cost_of_appending_and_taking_over() {
    let bench = Bench::new();
    let mut journal = bench.create();
    journal.append(header(), at(0), Durability::Written).expect("appended");
    let text = "x".repeat(200);
    let events: u32 = 100_000;
    let begun = std::time::Instant::now();
    for _ in 0..events {
        journal.append(said(&text), at(1), Durability::Written).expect("appended");
    }
    println!("append (written): {:?}", begun.elapsed() / events);
    let begun = std::time::Instant::now();
    for number in 1..=1_000 {
        journal.append(intent(number), at(1), Durability::Written).expect("appended");
    }
    println!("append (intent, written): {:?}", begun.elapsed() / 1_000);
    let begun = std::time::Instant::now();
    for _ in 0..200 {
        journal.append(said(&text), at(1), Durability::Synced).expect("appended");
    }
    println!("append (synced): {:?}", begun.elapsed() / 200);
    journal.close().expect("closed");
    let begun = std::time::Instant::now();
    let recovered = bench.take_over(2, Damage::Refuse).expect("taken over").1;
    println!("take over {} events: {:?}", recovered.events.len(), begun.elapsed());
}
