//! A journal whose lines are longer than the memory that reading it may take.
//!
//! The peak is that of the whole process. Under `cargo test` the other tests of this executable add to it, and all
//! together stay below the bound.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};

use adjutant_core::trace::{Body, Entry, HostEvent, RunEvent, TRACE_VERSION, wire};
use adjutant_core::words::Part;
use adjutant_core::words::id::RunId;
use adjutant_store::journal::read_only;
use adjutant_store::recover::JournalEnd;
use adjutant_store::{Damage, FileJournal, Home, Owner};
use jiff::Timestamp;

const LONG_BYTES: u64 = 100 * 1024 * 1024;

#[test]
fn a_line_of_a_hundred_megabytes_is_one_damaged_line_in_bounded_memory() {
    let temp = tempfile::tempdir().expect("a folder");
    let home = Home::new(temp.path(), None);
    let run_id: RunId = "b".parse().expect("a name");
    fs::create_dir_all(home.sessions()).expect("made");
    let hash = write_journal(&mut File::create(home.journal(&run_id)).expect("made"));

    let reading = read_only(&home, &run_id).expect("ours");
    let damaged: Vec<_> = reading.damaged.iter().map(ToString::to_string).collect();
    assert_eq!(damaged, ["line 2: it is longer than 16 MiB"]);
    assert_eq!((reading.events.len(), reading.next_seq, reading.tail), (2, 3, JournalEnd::Torn { bytes: LONG_BYTES }));
    assert_eq!(reading.last_hash, Some(hash));

    let taken = FileJournal::take_over(&home, &run_id, &Owner::current(), Timestamp::UNIX_EPOCH, Damage::Accept);
    let (_journal, recovered) = taken.expect("taken over");
    assert_eq!((&recovered.events, recovered.accepted_damage()), (&reading.events, vec![2]));
    assert_eq!(recovered.torn_bytes, LONG_BYTES);
    assert_eq!(recovered.torn_kept.expect("kept").metadata().expect("there").len(), LONG_BYTES);
    assert_eq!(home.journal(&run_id).metadata().expect("there").len(), reading.whole_bytes);
    if let Some(peak_kib) = peak_kib() {
        println!("{peak_kib} KiB at most");
        assert!(peak_kib < 64 * 1024, "{peak_kib} KiB");
    }
}

/// Writes a header, a long line, a line that is linked to it, and a long torn one; returns the hash of
/// the last whole line.
fn write_journal(file: &mut File) -> String {
    let line = |seq, body, prev: Option<&str>| {
        wire::encode(&Entry { part: Part::root(), body }.at(seq, Timestamp::UNIX_EPOCH), prev)
    };
    let long = || io::repeat(b'x').take(LONG_BYTES);
    let header = Body::Run(RunEvent::TraceVersion {
        version: TRACE_VERSION,
        adjutant_version: "0".into(),
        brief_id: "b".into(),
    });
    writeln!(file, "{}", line(0, header, None)).expect("written");
    io::copy(&mut long(), file).expect("written");
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(long()).expect("hashed");
    let hash = &hasher.finalize().to_hex()[..wire::PREV_CHARS];
    let linked = line(2, Body::Host(HostEvent::Warning { text: "after".into() }), Some(hash));
    write!(file, "\n{linked}\n").expect("written");
    io::copy(&mut long(), file).expect("written");
    wire::line_hash(linked.as_bytes())
}

/// The most memory that this process ever had at once, where the system says so.
fn peak_kib() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_ascii_whitespace().nth(1)?.parse().ok()
}
