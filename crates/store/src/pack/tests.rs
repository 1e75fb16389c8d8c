use adjutant_core::trace::verify::JournalVerdict;
use adjutant_core::trace::{Body, CallEvent, Entry, HostEvent, RunEvent, TRACE_VERSION};
use adjutant_core::words::{Outcome, Part, Slot, What};
use adjutant_ports::{Durability, Journal as _};
use jiff::Timestamp;
use proptest::prelude::*;

use super::*;
use crate::{FileJournal, Owner};

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + second).expect("a time")
}

/// A run with a content beside its journal.
fn run(home: &Home) -> RunId {
    let brief_id = "a".parse().expect("a name");
    let (run_id, mut journal) = FileJournal::create_next(home, &brief_id, &Owner::current(), at(0)).expect("created");
    let hash = journal.keep(b"a content").expect("kept");
    let slot = Slot::first(What::Call, 1);
    let result = Body::Call(CallEvent::ToolResult {
        slot,
        call_id: "c".into(),
        success: true,
        duration_ms: 1,
        bytes: 9,
        content: None,
        artifact: Some(hash),
        code: None,
        exit_code: None,
        settled: false,
        seen: None,
    });
    let call = Body::Call(CallEvent::ToolCall {
        slot,
        call_id: "c".into(),
        name: "read_file".into(),
        args: serde_json::json!({ "path": "SECRET" }),
        auth_decision: "allow".into(),
        changes: Vec::new(),
        network: false,
        workspace: None,
    });
    let header = Body::Run(RunEvent::TraceVersion {
        version: TRACE_VERSION,
        adjutant_version: "0".into(),
        brief_id: "a".into(),
    });
    let end = Body::Run(RunEvent::RunEnd { outcome: Outcome::Completed });
    for body in [header, call, result, Body::Host(HostEvent::Warning { text: "SECRET words".into() }), end] {
        journal.append(Entry { part: Part::root(), body }, at(0), Durability::Written).expect("appended");
    }
    journal.close().expect("closed");
    run_id
}

struct PackFixture {
    temp: tempfile::TempDir,
    home: Home,
    run_id: RunId,
}

impl PackFixture {
    fn new() -> Self {
        let temp = tempfile::tempdir().expect("a folder");
        let home = Home::new(temp.path().join("home"), None);
        let run_id = run(&home);
        Self { temp, home, run_id }
    }

    fn packing(&self, content: PackContent) -> Packing {
        Packing::of(&self.home, &self.run_id, content, &Owner::current(), at(9)).expect("packed")
    }

    fn tar(&self, content: PackContent) -> Vec<u8> {
        let mut tar = Vec::new();
        self.packing(content).write_tar(&mut tar).expect("written");
        tar
    }

    fn verify(&self, tar: &[u8]) -> PackReport {
        let path = self.temp.path().join("pack.tar");
        fs::write(&path, tar).expect("written");
        verify_pack(&path).expect("readable")
    }
}

/// The files of an archive of ours.
fn files(tar: &[u8]) -> Vec<(String, Vec<u8>)> {
    let mut archive = tar::Archive::new(tar, tar.len() as u64);
    let mut files = Vec::new();
    while let Some((name, _)) = archive.next().expect("ours") {
        let mut content = Vec::new();
        archive.read_to_end(&mut content).expect("readable");
        files.push((name, content));
    }
    files
}

fn joined(files: &[(String, Vec<u8>)]) -> Vec<u8> {
    let mut tar = Vec::new();
    for (name, content) in files {
        tar.extend(tar::header(name, content.len() as u64).expect("it fits"));
        tar.extend(content);
        tar.extend(tar::padding(content.len() as u64));
    }
    tar.extend(tar::END);
    tar
}

#[test]
fn a_pack_is_whole_the_same_each_time_and_writes_nothing_when_it_is_verified() {
    let place = PackFixture::new();
    for content in [PackContent::Whole, PackContent::Redacted] {
        let tar = place.tar(content);
        assert_eq!(tar, place.tar(content), "{content:?}");
        assert_eq!(joined(&files(&tar)), tar);
        let report = place.verify(&tar);
        assert_eq!(
            (report.verdict, &report.faults, report.lines),
            (JournalVerdict::Whole, &Vec::new(), 5),
            "{report:?}"
        );
        let is_redacted = content == PackContent::Redacted;
        assert_eq!((report.redacted, report.unchanged_lines), (is_redacted, if is_redacted { 3 } else { 5 }));
        assert_eq!(memchr::memmem::find(&tar, b"SECRET").is_none(), is_redacted);
        assert_eq!(memchr::memmem::find(&tar, b"a content").is_none(), is_redacted);
        let told = place.packing(content).packed();
        assert_eq!(report.manifest_sha256, Some(told.manifest_sha256));
        assert_eq!(told.files as usize, files(&tar).len());
    }
    let mut there: Vec<_> =
        fs::read_dir(place.temp.path()).expect("a folder").flatten().map(|e| e.file_name()).collect();
    there.sort();
    assert_eq!(there, ["home", "pack.tar"]);
}

#[test]
fn a_folder_is_as_good_as_a_file_and_what_is_no_plain_file_in_it_is_refused() {
    let place = PackFixture::new();
    let folder = place.temp.path().join("pack");
    for (content, name) in [(PackContent::Whole, "pack"), (PackContent::Redacted, "redacted")] {
        let packing = place.packing(content);
        packing.write_folder(&place.temp.path().join(name)).expect("written");
        let report = verify_pack(&place.temp.path().join(name)).expect("readable");
        assert_eq!(report.verdict, JournalVerdict::Whole, "{report:?}");
    }
    let page = folder.join("VERIFY.md");
    let text = fs::read(&page).expect("read");
    fs::remove_file(&page).expect("removed");
    std::os::unix::fs::symlink(place.temp.path().join("redacted/VERIFY.md"), &page).expect("a link");
    assert!(verify_pack(&folder).expect("readable").faults[0].contains("no plain file"));
    fs::remove_file(&page).expect("removed");
    rustix::fs::mknodat(rustix::fs::CWD, &page, rustix::fs::FileType::Fifo, rustix::fs::Mode::from_raw_mode(0o600), 0)
        .expect("a pipe");
    assert!(verify_pack(&folder).expect("readable").faults[0].contains("no plain file"));
    fs::remove_file(&page).expect("removed");
    fs::write(&page, text).expect("written");
    assert_eq!(verify_pack(&folder).expect("readable").verdict, JournalVerdict::Whole);
    fs::create_dir(folder.join("more")).expect("a folder");
    assert_eq!(verify_pack(&folder).expect("readable").verdict, JournalVerdict::NotWhole);
}

#[test]
fn every_file_that_is_changed_removed_added_or_moved_is_found() {
    let place = PackFixture::new();
    for content in [PackContent::Whole, PackContent::Redacted] {
        let good = files(&place.tar(content));
        let refused = |files: &[(String, Vec<u8>)], what: &str| {
            let report = place.verify(&joined(files));
            assert_eq!(report.verdict, JournalVerdict::NotWhole, "{what}");
            assert!(!report.faults.is_empty(), "{what}");
        };
        for at in 0..good.len() {
            let name = &good[at].0;
            let mut changed = good.clone();
            let middle = changed[at].1.len() / 2;
            changed[at].1[middle] ^= 1;
            // In the middle of the manifest stands a hash, a name or a count.
            refused(&changed, &format!("{name} changed"));
            let mut longer = good.clone();
            longer[at].1.push(b'\n');
            if name != MANIFEST {
                refused(&longer, &format!("{name} longer"));
            }
            let mut removed = good.clone();
            removed.remove(at);
            refused(&removed, &format!("{name} removed"));
            let mut moved = good.clone();
            moved.swap(at, (at + 1) % good.len());
            refused(&moved, &format!("{name} moved"));
            let mut twice = good.clone();
            twice.insert(at, good[at].clone());
            refused(&twice, &format!("{name} twice"));
            for added in ["../../etc/x", "/etc/x", "artifacts/../x", "VERIFY.md.exe", "artifacts/"] {
                let mut more = good.clone();
                more.insert(at, (added.to_owned(), b"x".to_vec()));
                refused(&more, &format!("{added} added before {name}"));
            }
        }
    }
}

/// A pack whose manifest was made anew for a changed journal: what its makers can't do without another chain.
#[test]
fn a_journal_that_was_changed_with_its_manifest_is_found_by_its_chain() {
    let place = PackFixture::new();
    for content in [PackContent::Whole, PackContent::Redacted] {
        let mut files = files(&place.tar(content));
        let mut manifest = Manifest::read(&files[0].1).expect("ours");
        let at = files.iter().position(|(name, _)| name == JOURNAL).expect("a journal");
        let text = String::from_utf8(files[at].1.clone()).expect("text");
        let changed = text.replacen(r#""success":true"#, r#""success":null"#, 1).into_bytes();
        assert_eq!(changed.len(), text.len());
        files[at].1 = changed;
        manifest.files.insert(JOURNAL.to_owned(), facts_of(&mut &files[at].1[..]).expect("read"));
        files[0].1 = manifest.text().into_bytes();
        let report = place.verify(&joined(&files));
        assert!(report.faults.is_empty() && report.verdict == JournalVerdict::NotWhole, "{report:?}");
        assert!(report.findings.iter().any(|finding| finding.is_fault && finding.line == Some(3)), "{report:?}");
    }
}

#[test]
fn what_is_no_plain_file_of_ours_is_refused_before_it_is_read() {
    let place = PackFixture::new();
    let good = place.tar(PackContent::Whole);
    let second = {
        let manifest = files(&good)[0].1.len();
        tar::BLOCK + manifest + tar::padding(manifest as u64).len()
    };
    let with_sum = |header: &mut [u8]| {
        header[148..156].copy_from_slice(b"        ");
        let sum: u64 = header.iter().map(|byte| u64::from(*byte)).sum();
        header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    };
    for (what, at, bytes) in [
        ("a link", 156, &b"2"[..]),
        ("a hard link", 156, b"1"),
        ("a folder", 156, b"5"),
        ("a device", 156, b"3"),
        ("a long name", 156, b"L"),
        ("other fields", 156, b"x"),
        ("a prefix", 345, b"../../"),
        ("a target", 157, b"/etc/passwd"),
        ("an owner", 108, b"0001750\0"),
        ("a mode", 100, b"0004755\0"),
        ("eight gigabytes", 124, b"77777777777\0"),
        ("a binary length", 124, b"\x80\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff"),
        ("a sparse file", 156, b"S"),
        ("a time", 136, b"14000000000\0"),
    ] {
        let mut tar = good.clone();
        tar[second + at..second + at + bytes.len()].copy_from_slice(bytes);
        with_sum(&mut tar[second..second + tar::BLOCK]);
        let report = place.verify(&tar);
        let said = report.faults.concat();
        assert!(said.contains("no plain file") || said.contains("length is not true"), "{what}: {said}");
    }
    for cut in (0..good.len()).step_by(101) {
        assert_eq!(place.verify(&good[..cut]).verdict, JournalVerdict::NotWhole, "cut at {cut}");
    }
    let longer = [&good[..], &[0; 512]].concat();
    assert_eq!(place.verify(&longer).verdict, JournalVerdict::NotWhole);
}

#[test]
fn what_the_lease_shows_of_a_journal_its_pack_says_too() {
    let place = PackFixture::new();
    let path = place.home.journal(&place.run_id);
    let written = fs::read_to_string(&path).expect("read");
    let lines: Vec<&str> = written.split_inclusive('\n').collect();
    for (what, changed) in [
        ("lines are gone", lines[..lines.len() - 1].concat()),
        ("the last is another", written.replace("completed", "declined")),
        ("the last is torn", written[..written.len() - 20].to_owned()),
    ] {
        assert_ne!(changed, written, "{what}");
        fs::write(&path, changed).expect("written");
        for content in [PackContent::Whole, PackContent::Redacted] {
            let report = place.verify(&place.tar(content));
            assert_eq!(report.verdict, JournalVerdict::NotWhole, "{what}, {content:?}");
        }
    }
    fs::write(&path, written).expect("written");
    assert_eq!(place.verify(&place.tar(PackContent::Whole)).verdict, JournalVerdict::Whole);
}

#[test]
fn a_redacted_pack_says_of_every_content_that_it_was_left_out() {
    let place = PackFixture::new();
    let tar = place.tar(PackContent::Redacted);
    let hash = blake3::hash(b"a content").to_hex().to_string();
    let mut files = files(&tar);
    let manifest = files.iter_mut().find(|(name, _)| name == MANIFEST).expect("a manifest");
    let text = String::from_utf8(manifest.1.clone()).expect("text");
    let other = text.replace(&format!("\"hash\": \"{hash}\""), &format!("\"hash\": \"{}\"", "0".repeat(64)));
    assert_ne!(other, text);
    manifest.1 = other.into_bytes();
    let report = place.verify(&joined(&files));
    assert!(report.faults.concat().contains("not said to be left out"), "{report:?}");
}

#[test]
fn a_folder_that_could_not_be_written_whole_is_not_there() {
    let place = PackFixture::new();
    let folder = place.temp.path().join("half");
    let packing = place.packing(PackContent::Whole);
    let hash = blake3::hash(b"a content").to_hex().to_string();
    fs::remove_file(Artifacts::new(place.home.artifacts()).find(&hash).expect("there").0).expect("removed");
    packing.write_folder(&folder).expect_err("a content is gone");
    assert!(!folder.exists());
}

#[test]
fn a_journal_that_is_not_whole_or_lacks_a_content_says_so() {
    let place = PackFixture::new();
    let hash = blake3::hash(b"a content").to_hex().to_string();
    let (path, _) = Artifacts::new(place.home.artifacts()).find(&hash).expect("there");
    fs::remove_file(path).expect("removed");
    let report = place.verify(&place.tar(PackContent::Whole));
    assert!(report.faults[0].contains("not whole when the pack was made"), "{report:?}");
    assert_eq!(report.left_out, 1);

    let path = place.home.journal(&place.run_id);
    let mut bytes = fs::read(&path).expect("read");
    bytes.extend(b"{\"torn");
    fs::write(&path, bytes).expect("written");
    let manifest = place.packing(PackContent::Redacted).manifest().clone();
    assert!(manifest.left_out.iter().any(|left_out| left_out.what.contains("6 bytes")));
    assert_eq!(place.verify(&place.tar(PackContent::Redacted)).lines, 5);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn any_other_byte_of_a_pack_is_found(at in any::<proptest::sample::Index>(), flip in 1u8..=255, is_redacted in any::<bool>()) {
        let place = PackFixture::new();
        let mut tar = place.tar(if is_redacted { PackContent::Redacted } else { PackContent::Whole });
        let good = place.verify(&tar);
        let at = at.index(tar.len());
        tar[at] ^= flip;
        let report = place.verify(&tar);
        // A manifest that says something else of what no file depends on is another manifest: its hash says so.
        prop_assert!(report.verdict == JournalVerdict::NotWhole || report.manifest_sha256 != good.manifest_sha256, "byte {}", at);
    }

    #[test]
    fn any_bytes_are_read_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..3000)) {
        let place = tempfile::tempdir().expect("a folder");
        fs::write(place.path().join("p"), &bytes).expect("written");
        prop_assert_eq!(verify_pack(&place.path().join("p")).expect("readable").verdict, JournalVerdict::NotWhole);
    }
}
