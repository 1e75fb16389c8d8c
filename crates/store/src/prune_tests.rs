use std::os::unix::ffi::OsStrExt as _;

use adjutant_core::trace::{Entry, TRACE_VERSION};
use adjutant_core::words::{Part, Slot, What};
use adjutant_ports::{Durability, Journal as _};

use super::survey::{CHUNK_BYTES, named_in};
use super::*;
use crate::artifacts::NAMED_WITHIN;
use crate::runs;

const STEPS: [PruneStep; 7] = [
    PruneStep::Note,
    PruneStep::Journal,
    PruneStep::Mailbox,
    PruneStep::Folders,
    PruneStep::Artifacts,
    PruneStep::Lease,
    PruneStep::Done,
];

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + second).expect("a time")
}

struct PruneFixture {
    _temp: tempfile::TempDir,
    home: Home,
}

impl PruneFixture {
    fn new() -> Self {
        let temp = tempfile::tempdir().expect("a folder");
        Self { home: Home::new(temp.path(), None), _temp: temp }
    }

    /// A run that named these contents, with all that a run may have beside its journal.
    fn run(&self, brief_id: &str, contents: &[&str], outcome: Option<Outcome>) -> RunId {
        let brief_id = brief_id.parse().expect("a name");
        let (run_id, mut journal) =
            FileJournal::create_next(&self.home, &brief_id, &Owner::current(), at(0)).expect("created");
        let mut bodies = vec![Body::Run(RunEvent::TraceVersion {
            version: TRACE_VERSION,
            adjutant_version: "0".into(),
            brief_id: brief_id.to_string(),
        })];
        for (number, content) in (1..).zip(contents) {
            let hash = journal.keep(content.as_bytes()).expect("kept");
            self.age(&hash);
            let slot = Slot::first(What::Call, number);
            bodies.push(Body::Call(CallEvent::ToolCall {
                slot,
                call_id: "c".into(),
                name: "read_file".into(),
                args: serde_json::json!({}),
                auth_decision: "allow".into(),
                changes: Vec::new(),
                network: false,
                workspace: None,
            }));
            bodies.push(Body::Call(CallEvent::ToolResult {
                slot,
                call_id: "c".into(),
                success: true,
                duration_ms: 1,
                bytes: 1,
                content: None,
                artifact: Some(hash),
                code: None,
                exit_code: None,
                settled: false,
                seen: None,
            }));
        }
        bodies.extend(outcome.map(|outcome| Body::Run(RunEvent::RunEnd { outcome })));
        for body in bodies {
            journal.append(Entry { part: Part::root(), body }, at(0), Durability::Written).expect("appended");
        }
        journal.close().expect("closed");
        fs::write(self.home.mailbox(&run_id), "").expect("a mailbox");
        fs::write(self.home.sessions().join(format!("{run_id}.torn-3")), "x").expect("torn");
        fs::create_dir_all(self.elsewhere(&run_id).join("call")).expect("a folder");
        fs::write(self.elsewhere(&run_id).join("call/file"), "kept").expect("written");
        fs::create_dir_all(self.standstills()).expect("made");
        fs::write(self.standstills().join(run_id.as_str()), "how it was").expect("written");
        run_id
    }

    fn age(&self, hash: &str) {
        let (path, _) = Artifacts::new(self.home.artifacts()).find(hash).expect("there");
        let file = File::options().append(true).open(path).expect("opened");
        file.set_modified(std::time::SystemTime::now() - NAMED_WITHIN * 2).expect("aged");
    }

    fn elsewhere(&self, run_id: &RunId) -> PathBuf {
        self.rescues().join(run_id.as_str())
    }

    fn rescues(&self) -> PathBuf {
        self.home.root().join("rescue")
    }

    fn standstills(&self) -> PathBuf {
        self.home.root().join("standstill")
    }

    fn folders(&self) -> [PathBuf; 2] {
        [self.rescues(), self.standstills()]
    }

    fn begin(&self) -> (Pruning, Survey) {
        Pruning::begin(&self.home, &Owner::current(), at(9), &self.folders()).expect("the right")
    }

    fn look(&self) -> Survey {
        Pruning::look(&self.home, &Owner::current(), at(9), &self.folders()).expect("seen")
    }

    /// Returns the number of contents that go with a run, if nothing else goes.
    fn contents(&self, survey: &Survey, name: &str) -> usize {
        let ended = survey.prunable.iter().find(|ended| ended.whose.name() == name).expect("it has ended");
        ended.contents.iter().filter(|place| survey.contents[**place].named_by == 1).count()
    }

    fn runs(&self) -> Vec<String> {
        let listed = runs::list(&self.home, &Owner::current(), at(9)).expect("listed");
        listed.iter().map(|listed| listed.name().to_owned()).collect()
    }

    /// Returns the number of files of a run besides its journal and its note.
    fn rest(&self, run_id: &RunId) -> usize {
        let beside = beside(&self.home, run_id).expect("listed").len();
        beside
            + usize::from(exists(&self.elsewhere(run_id)))
            + usize::from(exists(&self.standstills().join(run_id.as_str())))
    }

    fn has(&self, content: &str) -> bool {
        Artifacts::new(self.home.artifacts()).kept(blake3::hash(content.as_bytes()).to_hex().as_str()).is_some()
    }
}

#[test]
fn a_run_goes_with_all_that_is_its_own_and_its_name_stays_taken() {
    let place = PruneFixture::new();
    let one = place.run("a", &["own", "shared"], Some(Outcome::Completed));
    let other = place.run("b", &["shared"], Some(Outcome::Failed));
    let (mut pruning, survey) = place.begin();
    assert_eq!(place.contents(&survey, "a"), 1);
    pruning.remove(&one, &Owner::current(), at(9)).expect("removed");
    assert_eq!((place.runs(), place.rest(&one)), (vec!["b".to_owned()], 0));
    assert_eq!((place.has("own"), place.has("shared"), place.rest(&other)), (false, true, 5));
    pruning.remove(&other, &Owner::current(), at(9)).expect("removed");
    assert!(!place.has("shared") && place.runs().is_empty());
    assert_eq!(place.run("a", &[], None).as_str(), "a-r2");
    assert!(matches!(
        FileJournal::take_over(&place.home, &one, &Owner::current(), at(9), Damage::Refuse),
        Err(OpenError::NoSuchRun { .. })
    ));
}

#[test]
fn whatever_step_it_breaks_off_before_there_is_a_whole_run_or_none_and_the_next_pruning_finishes() {
    for broken in STEPS {
        let place = PruneFixture::new();
        let run_id = place.run("a", &["own", "shared"], Some(Outcome::Completed));
        place.run("b", &["shared"], Some(Outcome::Completed));
        let (mut pruning, _) = place.begin();
        let mut steps = Vec::new();
        let ended = pruning.remove_by(&run_id, &Owner::current(), at(9), &mut |step| {
            steps.push(step);
            if step == broken { Err(io::Error::other("killed")) } else { Ok(()) }
        });
        assert!(ended.is_err(), "{broken:?}");
        let done = STEPS.iter().position(|step| *step == broken).expect("a step");
        assert_eq!(steps, STEPS[..=done]);
        drop(pruning);
        let is_run = place.runs().contains(&"a".to_owned());
        assert_eq!(is_run, done <= 1, "before {broken:?}");
        if is_run {
            assert_eq!((place.rest(&run_id), place.has("own"), place.has("shared")), (5, true, true));
            let report = crate::verify::verify(&place.home, &run_id, &Owner::current(), at(9)).expect("read");
            // The sample has outcomes without intents; nothing else is wrong with it.
            let lost = |kind| matches!(kind, adjutant_core::trace::verify::FindingKind::NoIntent);
            assert!(report.findings.iter().all(|finding| lost(finding.kind)), "{report:?}");
        }

        let (mut pruning, survey) = place.begin();
        let is_all_gone = broken == PruneStep::Done;
        assert_eq!(survey.unfinished.is_empty(), is_run || is_all_gone, "before {broken:?}");
        if is_run {
            pruning.remove(&run_id, &Owner::current(), at(9)).expect("removed");
        } else {
            pruning.finish(&run_id).expect("finished");
        }
        assert_eq!((place.runs(), place.rest(&run_id)), (vec!["b".to_owned()], 0), "before {broken:?}");
        assert_eq!((place.has("own"), place.has("shared")), (false, true), "before {broken:?}");
        drop(pruning);
        assert!(place.begin().1.unfinished.is_empty(), "before {broken:?}");
        assert_eq!(place.run("a", &[], None).as_str(), "a-r2");
    }
}

#[test]
fn what_has_not_ended_is_driven_or_damaged_is_not_touched() {
    let place = PruneFixture::new();
    let waits = place.run("waits", &["w"], None);
    let ended = place.run("driven", &[], Some(Outcome::Completed));
    let damaged = place.run("damaged", &["x"], Some(Outcome::Completed));
    let path = place.home.journal(&damaged);
    let text = fs::read_to_string(&path).expect("read");
    fs::write(&path, text.replacen(r#""bytes":1"#, r#""bytes":2"#, 1)).expect("changed");
    fs::write(place.home.journal(&"other".parse().expect("a name")), "no journal\n").expect("written");

    let (mut pruning, survey) = place.begin();
    let kept: Vec<&str> = survey.kept.iter().map(|(name, _)| name.as_str()).collect();
    assert!(kept.contains(&"waits") && kept.contains(&"other") && survey.other_bytes > 0, "{kept:?}");
    let driver = FileJournal::take_over(&place.home, &ended, &Owner::current(), at(9), Damage::Refuse).expect("driven");
    for run_id in [&waits, &ended, &damaged] {
        assert!(pruning.remove(run_id, &Owner::current(), at(9)).is_err(), "{run_id}");
        assert!(exists(&place.home.journal(run_id)) && place.rest(run_id) == 5, "{run_id}");
        assert!(!exists(&place.home.pruned(run_id)), "{run_id}");
    }
    assert!(place.has("x"));
    drop(driver);
    pruning.remove(&ended, &Owner::current(), at(9)).expect("it is let go");
}

#[test]
fn whoever_opened_the_journal_before_it_went_finds_no_run() {
    let place = PruneFixture::new();
    let run_id = place.run("a", &[], Some(Outcome::Completed));
    let (mut pruning, _) = place.begin();
    let mut raced = None;
    pruning
        .remove_by(&run_id, &Owner::current(), at(9), &mut |step| {
            // Before the journal is gone and after: neither gets the run.
            if matches!(step, PruneStep::Journal | PruneStep::Lease) {
                let home = place.home.clone();
                let run_id = run_id.clone();
                let racer = std::thread::spawn(move || {
                    FileJournal::take_over(&home, &run_id, &Owner::current(), at(9), Damage::Refuse).map(drop).is_err()
                });
                raced.get_or_insert(Vec::new()).push(racer);
            }
            Ok(())
        })
        .expect("removed");
    for racer in raced.expect("they raced") {
        assert!(racer.join().expect("no panic"));
    }
    assert_eq!((place.runs(), place.rest(&run_id)), (Vec::<String>::new(), 0), "nothing was made anew");
}

#[test]
fn contents_kept_a_moment_ago_stay_until_a_later_pruning() {
    let place = PruneFixture::new();
    let run_id = place.run("a", &["own"], Some(Outcome::Completed));
    Artifacts::new(place.home.artifacts()).keep(b"own").expect("somebody is about to name it");
    let (mut pruning, _) = place.begin();
    pruning.remove(&run_id, &Owner::current(), at(9)).expect("removed");
    assert!(place.has("own"));
    drop(pruning);
    place.age(blake3::hash(b"own").to_hex().as_str());
    let (mut pruning, survey) = place.begin();
    assert_eq!(survey.unfinished, [Leftover { run_id: run_id.clone(), bytes: 3 }]);
    pruning.finish(&run_id).expect("finished");
    assert!(!place.has("own"));
}

#[test]
fn two_do_not_prune_at_once() {
    let place = PruneFixture::new();
    let first = place.begin();
    let second = Pruning::begin(&place.home, &Owner::current(), at(9), &place.folders());
    assert!(matches!(second, Err(PruneError::Busy)));
    drop(first);
    place.begin();
}

#[test]
fn a_content_is_found_wherever_a_piece_ends() {
    let temp = tempfile::tempdir().expect("a folder");
    let path = temp.path().join("j");
    let hash = "ab".repeat(32);
    for at in [0, 1, CHUNK_BYTES - 70, CHUNK_BYTES - 40, CHUNK_BYTES - 1, CHUNK_BYTES, CHUNK_BYTES + 3] {
        fs::write(&path, format!("{}\"artifact\":\"{hash}\"}}\n", " ".repeat(at))).expect("written");
        assert_eq!(named_in(&path).expect("read").into_iter().collect::<Vec<_>>(), [hash.as_str()], "{at}");
    }
}

#[test]
fn what_a_run_of_another_folder_of_sessions_may_need_stays() {
    let place = PruneFixture::new();
    let other = Home::new(place.home.root(), Some(place.home.root().join("other-sessions")));
    let away = PruneFixture { home: other, ..PruneFixture::new() };
    let here = place.run("here", &["shared"], Some(Outcome::Completed));
    let there = away.run("there", &["shared"], Some(Outcome::Completed));
    // What is kept for undo and much else is found by the run's name, so a name is one run's in the whole home.
    let waits = away.run("here", &["more"], None);
    assert_eq!(waits.as_str(), "here-r2");
    assert_eq!(place.run("there", &[], None).as_str(), "there-r2");
    for (pruned, run_id) in [(&place, &here), (&away, &there)] {
        let (mut pruning, survey) = pruned.begin();
        assert!(survey.contents_stay && survey.contents.is_empty(), "none of its contents goes");
        pruning.remove(run_id, &Owner::current(), at(9)).expect("removed");
        drop(pruning);
        assert!(place.has("shared") && !exists(&pruned.elsewhere(run_id)), "{run_id}");
        assert_eq!(pruned.begin().1.unfinished, [], "nothing can be finished of it");
    }
    assert_eq!((away.rest(&waits), away.run("there", &[], None).as_str()), (5, "there-r3"));
    // Two of one name, begun before names were kept: what may be either's stays.
    let both = place.run("both", &[], Some(Outcome::Completed));
    fs::write(place.home.elsewhere().join("both"), "").expect("written");
    let (mut pruning, survey) = place.begin();
    assert!(survey.prunable.iter().any(|ended| ended.whose.name() == "both" && ended.undo_stays), "{survey:?}");
    pruning.remove(&both, &Owner::current(), at(9)).expect("removed");
    assert!(exists(&place.elsewhere(&both)));
}

#[test]
fn one_folder_is_no_other_however_it_is_written_and_a_link_is() {
    let place = PruneFixture::new();
    let root = place.home.root();
    for written in ["sessions", "sessions/", "./sessions", "sessions/../sessions", "sessions/."] {
        let same = Home::new(root, Some(root.join(written)));
        FileJournal::create_next(&same, &"a".parse().expect("a name"), &Owner::current(), at(0)).expect("created");
        assert!(!same.has_sessions_elsewhere() && !root.join("sessions-elsewhere").exists(), "{written}");
    }
    fs::rename(root.join("sessions"), root.join("moved")).expect("moved");
    std::os::unix::fs::symlink(root.join("moved"), root.join("sessions")).expect("a link");
    assert!(place.home.has_sessions_elsewhere());
    let run_id = place.run("b", &["own"], Some(Outcome::Completed));
    fs::remove_file(root.join("sessions")).expect("removed");
    assert_ne!(place.run("b", &["own"], Some(Outcome::Completed)), run_id);
    let survey = place.look();
    assert!(survey.contents_stay && survey.contents.is_empty(), "{survey:?}");
}

#[test]
fn contents_stay_while_a_journal_may_have_named_them_on_lines_that_are_gone() {
    let place = PruneFixture::new();
    let ended = place.run("ended", &["shared"], Some(Outcome::Completed));
    let killed = place.run("killed", &["shared"], None);
    assert_eq!(place.look().contents.len(), 1);
    let path = place.home.journal(&killed);
    let written = fs::read_to_string(&path).expect("read");
    let cut: String = written.split_inclusive('\n').take(1).collect();
    for changed in [cut.as_str(), "garbage\n", "no line"] {
        fs::write(&path, changed).expect("written");
        let survey = place.look();
        assert!(survey.contents_stay && survey.contents.is_empty(), "{changed}: {survey:?}");
    }
    // A name that is no text hides none of what it names.
    let odd = std::ffi::OsStr::from_bytes(b"\xff.trace.ndjson");
    fs::write(place.home.sessions().join(odd), &written).expect("written");
    fs::remove_file(&path).expect("removed");
    let (mut pruning, _) = place.begin();
    pruning.remove(&ended, &Owner::current(), at(9)).expect("removed");
    assert!(place.has("shared"));
}

#[test]
fn all_bytes_of_a_home_count_and_what_was_left_half_written_is_swept() {
    let place = PruneFixture::new();
    let one = place.run("one", &["shared", "own"], Some(Outcome::Completed));
    place.run("two", &["shared"], Some(Outcome::Completed));
    place.run("waits", &["fresh"], None);
    Artifacts::new(place.home.artifacts()).keep(b"fresh").expect("kept");
    let survey = place.look();
    let total = |survey: &Survey| {
        let own = survey.prunable.iter().map(|ended| ended.bytes).sum::<u64>();
        survey.other_bytes + own + survey.contents.iter().map(|content| content.bytes).sum::<u64>()
    };
    let everything = || {
        let folders = [place.home.sessions().to_owned(), place.home.artifacts(), place.rescues(), place.standstills()];
        folders.iter().map(|folder| bytes_of(folder)).sum::<u64>()
    };
    assert_eq!(total(&survey), everything());
    let found = survey.prunable.iter().find(|ended| ended.whose.name() == "one").expect("it has ended");
    let frees = found.bytes + 3;
    assert_eq!(place.contents(&survey, "one"), 1);
    let (mut pruning, _) = place.begin();
    pruning.remove(&one, &Owner::current(), at(9)).expect("removed");
    let note = bytes_of(&place.home.pruned(&one));
    assert_eq!(everything(), total(&survey) - frees + note);

    for (name, is_old) in [(".pruned-abc", true), (".lease-abc", true), (".lease-new", false), (".other", true)] {
        let file = File::create(place.home.sessions().join(name)).expect("made");
        if is_old {
            file.set_modified(std::time::SystemTime::now() - NAMED_WITHIN * 2).expect("aged");
        }
    }
    pruning.sweep().expect("swept");
    let left = |name: &str| place.home.sessions().join(name).exists();
    assert_eq!([".pruned-abc", ".lease-abc", ".lease-new", ".other"].map(left), [false, false, true, true]);
}

#[test]
fn a_note_under_another_name_costs_no_run_its_files() {
    let place = PruneFixture::new();
    let waits = place.run("waits", &["own"], None);
    let note = Note {
        run_id: waits.clone(),
        pruned_at: at(1),
        outcome: Some(Outcome::Completed),
        lines: 1,
        artifacts: Vec::new(),
        is_done: false,
    };
    let forged = place.home.sessions().join("forged.pruned");
    fs::write(&forged, serde_json::to_string(&note).expect("JSON")).expect("written");
    let (mut pruning, survey) = place.begin();
    assert_eq!(survey.unfinished, []);
    assert!(matches!(&survey.kept[..], [_, (name, Kept::Unreadable(_))] if name == "forged"), "{survey:?}");
    let before = place.rest(&waits);
    pruning.finish(&"forged".parse().expect("a name")).expect("nothing to do");
    assert_eq!(place.rest(&waits), before);
}

#[test]
fn a_journal_that_was_changed_stays_and_looking_writes_nothing() {
    let place = PruneFixture::new();
    let run_id = place.run("changed", &["own"], Some(Outcome::Completed));
    let path = place.home.journal(&run_id);
    let written = fs::read_to_string(&path).expect("read");
    fs::write(&path, written.replacen("\"brief_id\":\"changed\"", "\"brief_id\":\"chanted\"", 1)).expect("written");
    let survey = || place.look();
    let is_kept = || {
        assert_eq!(
            (survey().prunable.len(), survey().kept.as_slice()),
            (0, &[("changed".to_owned(), Kept::Damaged)][..])
        )
    };
    is_kept();
    // The last line has nothing behind it that would show it; the lease does.
    fs::write(&path, written.replace("\"outcome\":\"completed\"", "\"outcome\":\"stopped\"")).expect("written");
    is_kept();
    // A content that is not what its name says.
    fs::write(&path, &written).expect("written");
    let (content, _) =
        Artifacts::new(place.home.artifacts()).find(blake3::hash(b"own").to_hex().as_str()).expect("there");
    let own = fs::read(&content).expect("read");
    fs::write(&content, "other").expect("written");
    is_kept();
    fs::write(&content, own).expect("written");
    place.age(blake3::hash(b"own").to_hex().as_str());
    assert_eq!(survey().prunable.len(), 1, "it is whole again");
    assert!(!place.home.root().join("prune.lock").exists());
}

#[test]
fn a_trace_stays_while_any_session_of_the_peer_uses_it() {
    let place = PruneFixture::new();
    fs::create_dir_all(place.home.sessions()).expect("a folder");
    let session = |phase: &str| {
        let meta = serde_json::json!({
            "brief_id": "P", "project": "orchard", "phase": phase, "updated_at": "2026-01-01T00:00:00.000Z",
        });
        serde_json::json!({ "schema_version": 3, "meta": meta }).to_string()
    };
    fs::write(place.home.sessions().join("P.json"), session("done")).expect("written");
    fs::write(place.home.sessions().join("P.trace.ndjson"), "{\"type\":\"phase_enter\",\"phase\":\"done\"}\n")
        .expect("written");
    let (mut pruning, survey) = place.begin();
    let [Ended { whose: Whose::Peer(name, files), .. }] = survey.prunable.as_slice() else { panic!("{survey:?}") };
    assert_eq!((name.as_str(), files.len()), ("P", 2));

    let other = place.home.sessions().join("other.json");
    fs::write(&other, session("execute")).expect("written");
    let used = place.look();
    assert!(used.prunable.is_empty() && used.kept.contains(&("P".to_owned(), Kept::InUse)), "{used:?}");
    // One that does not say which trace it uses may use any.
    fs::write(&other, "{\"meta\":{\"brief_id\":\"P\"").expect("written");
    let used = place.look();
    assert!(used.prunable.is_empty(), "{used:?}");

    fs::remove_file(other).expect("removed");
    pruning.remove_peers(files).expect("removed");
    assert!(place.runs().is_empty());
}
