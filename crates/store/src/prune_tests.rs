use adjutant_core::procedure::{Part, Slot, What};
use adjutant_core::trace::{Entry, TRACE_VERSION};
use adjutant_ports::{Durability, Journal as _};

use super::*;
use crate::artifacts::NAMED_WITHIN;

const STEPS: [Step; 7] =
    [Step::Note, Step::Journal, Step::Mailbox, Step::Elsewhere, Step::Artifacts, Step::Lease, Step::Done];

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + second).expect("a time")
}

struct Place {
    _temp: tempfile::TempDir,
    home: Home,
}

impl Place {
    fn new() -> Self {
        let temp = tempfile::tempdir().expect("a folder");
        Self { home: Home::new(temp.path(), None), _temp: temp }
    }

    /// A run that named these contents, with all that a run may have beside its journal.
    fn run(&self, brief_id: &str, contents: &[&str], outcome: Option<Outcome>) -> RunId {
        let brief_id = brief_id.parse().expect("a name");
        let (run_id, mut journal) =
            FileJournal::create_next(&self.home, &brief_id, &Owner::current(), at(0)).expect("created");
        let mut bodies = vec![Body::TraceVersion {
            version: TRACE_VERSION,
            adjutant_version: "0".into(),
            brief_id: brief_id.to_string(),
        }];
        for (number, content) in (1..).zip(contents) {
            let hash = journal.keep(content.as_bytes()).expect("kept");
            self.age(&hash);
            let slot = Slot::first(What::Call, number);
            bodies.push(Body::ToolCall {
                slot,
                call_id: "c".into(),
                name: "read_file".into(),
                args: serde_json::json!({}),
                auth_decision: "allow".into(),
                changes: Vec::new(),
                network: false,
            });
            bodies.push(Body::ToolResult {
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
            });
        }
        bodies.extend(outcome.map(|outcome| Body::RunEnd { outcome }));
        for body in bodies {
            journal.append(Entry { part: Part::root(), body }, at(0), Durability::Written).expect("appended");
        }
        journal.close().expect("closed");
        fs::write(self.home.mailbox(&run_id), "").expect("a mailbox");
        fs::write(self.home.sessions().join(format!("{run_id}.torn-3")), "x").expect("torn");
        fs::create_dir_all(self.elsewhere(&run_id).join("call")).expect("a folder");
        fs::write(self.elsewhere(&run_id).join("call/file"), "kept").expect("written");
        run_id
    }

    fn age(&self, hash: &str) {
        let (path, _) = Artifacts::new(self.home.artifacts()).find(hash).expect("there");
        let file = File::options().append(true).open(path).expect("opened");
        file.set_modified(std::time::SystemTime::now() - NAMED_WITHIN * 2).expect("aged");
    }

    fn elsewhere(&self, run_id: &RunId) -> PathBuf {
        self.home.root().join("rescue").join(run_id.as_str())
    }

    fn begin(&self) -> (Pruning, Survey) {
        Pruning::begin(&self.home, &Owner::current(), at(9), |run_id| self.elsewhere(run_id)).expect("the right")
    }

    fn runs(&self) -> Vec<String> {
        let listed = runs::list(&self.home, &Owner::current(), at(9)).expect("listed");
        listed.iter().map(|listed| listed.name().to_owned()).collect()
    }

    /// What there is of a run besides its journal and its note.
    fn rest(&self, run_id: &RunId) -> usize {
        let beside = beside(&self.home, run_id).expect("listed").len();
        beside + usize::from(exists(&self.elsewhere(run_id)))
    }

    fn has(&self, content: &str) -> bool {
        Artifacts::new(self.home.artifacts()).kept(blake3::hash(content.as_bytes()).to_hex().as_str()).is_some()
    }
}

#[test]
fn a_run_goes_with_all_that_is_its_own_and_its_name_stays_taken() {
    let place = Place::new();
    let one = place.run("a", &["own", "shared"], Some(Outcome::Completed));
    let other = place.run("b", &["shared"], Some(Outcome::Failed));
    let (mut pruning, survey) = place.begin();
    let found = survey.prunable.iter().find(|ended| ended.whose.name() == "a").expect("it has ended");
    assert_eq!(found.artifacts, 1);
    pruning.remove(&one, &place.elsewhere(&one), &Owner::current(), at(9)).expect("removed");
    assert_eq!((place.runs(), place.rest(&one)), (vec!["b".to_owned()], 0));
    assert_eq!((place.has("own"), place.has("shared"), place.rest(&other)), (false, true, 4));
    pruning.remove(&other, &place.elsewhere(&other), &Owner::current(), at(9)).expect("removed");
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
        let place = Place::new();
        let run_id = place.run("a", &["own", "shared"], Some(Outcome::Completed));
        place.run("b", &["shared"], Some(Outcome::Completed));
        let (mut pruning, _) = place.begin();
        let mut steps = Vec::new();
        let ended = pruning.remove_by(&run_id, &place.elsewhere(&run_id), &Owner::current(), at(9), &mut |step| {
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
            assert_eq!((place.rest(&run_id), place.has("own"), place.has("shared")), (4, true, true));
            let report = crate::verify::verify(&place.home, &run_id, &Owner::current(), at(9)).expect("read");
            // The sample has outcomes without intents; nothing else is wrong with it.
            let lost = |kind| matches!(kind, adjutant_core::trace::verify::FindingKind::NoIntent);
            assert!(report.findings.iter().all(|finding| lost(finding.kind)), "{report:?}");
        }

        let (mut pruning, survey) = place.begin();
        assert_eq!(survey.unfinished.is_empty(), is_run, "before {broken:?}");
        if is_run {
            pruning.remove(&run_id, &place.elsewhere(&run_id), &Owner::current(), at(9)).expect("removed");
        } else {
            pruning.finish(&run_id, &place.elsewhere(&run_id)).expect("finished");
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
    let place = Place::new();
    let waits = place.run("waits", &[], None);
    let ended = place.run("driven", &[], Some(Outcome::Completed));
    let damaged = place.run("damaged", &["x"], Some(Outcome::Completed));
    let path = place.home.journal(&damaged);
    let text = fs::read_to_string(&path).expect("read");
    fs::write(&path, text.replacen(r#""bytes":1"#, r#""bytes":2"#, 1)).expect("changed");
    fs::write(place.home.journal(&"other".parse().expect("a name")), "no journal\n").expect("written");

    let (mut pruning, survey) = place.begin();
    let kept: Vec<&str> = survey.kept.iter().map(|(name, _)| name.as_str()).collect();
    assert!(kept.contains(&"waits") && kept.contains(&"other") && survey.kept_bytes > 0, "{kept:?}");
    let driver = FileJournal::take_over(&place.home, &ended, &Owner::current(), at(9), Damage::Refuse).expect("driven");
    for run_id in [&waits, &ended, &damaged] {
        assert!(pruning.remove(run_id, &place.elsewhere(run_id), &Owner::current(), at(9)).is_err(), "{run_id}");
        assert!(exists(&place.home.journal(run_id)) && place.rest(run_id) == 4, "{run_id}");
        assert!(!exists(&place.home.pruned(run_id)), "{run_id}");
    }
    assert!(place.has("x"));
    drop(driver);
    pruning.remove(&ended, &place.elsewhere(&ended), &Owner::current(), at(9)).expect("it is let go");
}

#[test]
fn whoever_opened_the_journal_before_it_went_finds_no_run() {
    let place = Place::new();
    let run_id = place.run("a", &[], Some(Outcome::Completed));
    let (mut pruning, _) = place.begin();
    let mut raced = None;
    pruning
        .remove_by(&run_id, &place.elsewhere(&run_id), &Owner::current(), at(9), &mut |step| {
            // Before the journal is gone and after: neither gets the run.
            if matches!(step, Step::Journal | Step::Lease) {
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
    let place = Place::new();
    let run_id = place.run("a", &["own"], Some(Outcome::Completed));
    Artifacts::new(place.home.artifacts()).keep(b"own").expect("somebody is about to name it");
    let (mut pruning, _) = place.begin();
    pruning.remove(&run_id, &place.elsewhere(&run_id), &Owner::current(), at(9)).expect("removed");
    assert!(place.has("own"));
    drop(pruning);
    place.age(blake3::hash(b"own").to_hex().as_str());
    let (mut pruning, survey) = place.begin();
    assert_eq!(survey.unfinished, std::slice::from_ref(&run_id));
    pruning.finish(&run_id, &place.elsewhere(&run_id)).expect("finished");
    assert!(!place.has("own"));
}

#[test]
fn two_do_not_prune_at_once() {
    let place = Place::new();
    let first = place.begin();
    let second = Pruning::begin(&place.home, &Owner::current(), at(9), |run_id| place.elsewhere(run_id));
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
    let place = Place::new();
    let other = Home::new(place.home.root(), Some(place.home.root().join("other-sessions")));
    let away = Place { home: other, ..Place::new() };
    let here = place.run("here", &["shared"], Some(Outcome::Completed));
    let there = away.run("there", &["shared"], Some(Outcome::Completed));
    // A run of the same name waits in the other folder; what is kept for its undo lies in the same place.
    let both = away.run("here", &["more"], None);
    assert_eq!((&both, place.elsewhere(&here)), (&here, away.elsewhere(&both)));
    for (pruned, run_id) in [(&place, &here), (&away, &there)] {
        let (mut pruning, survey) = pruned.begin();
        assert!(survey.contents_stay && survey.undo_stays);
        assert_eq!(survey.prunable[0].artifacts, 0, "none of its contents goes");
        pruning.remove(run_id, &pruned.elsewhere(run_id), &Owner::current(), at(9)).expect("removed");
        drop(pruning);
        assert!(place.has("shared") && exists(&pruned.elsewhere(run_id)), "{run_id}");
        assert_eq!(pruned.begin().1.unfinished, [], "nothing can be finished of it");
    }
}

#[test]
fn a_note_under_another_name_costs_no_run_its_files() {
    let place = Place::new();
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
    pruning.finish(&"forged".parse().expect("a name"), &place.elsewhere(&waits)).expect("nothing to do");
    assert_eq!(place.rest(&waits), before);
}

#[test]
fn a_journal_that_was_changed_stays_and_looking_writes_nothing() {
    let place = Place::new();
    let run_id = place.run("changed", &["own"], Some(Outcome::Completed));
    let path = place.home.journal(&run_id);
    let written = fs::read_to_string(&path).expect("read");
    fs::write(&path, written.replacen("\"brief_id\":\"changed\"", "\"brief_id\":\"chanted\"", 1)).expect("written");
    let survey =
        || Pruning::look(&place.home, &Owner::current(), at(9), |run_id| place.elsewhere(run_id)).expect("seen");
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
    let place = Place::new();
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
    let used = Pruning::look(&place.home, &Owner::current(), at(9), |run_id| place.elsewhere(run_id)).expect("seen");
    assert!(used.prunable.is_empty() && used.kept.contains(&("P".to_owned(), Kept::InUse)), "{used:?}");
    // One that does not say which trace it uses may use any.
    fs::write(&other, "{\"meta\":{\"brief_id\":\"P\"").expect("written");
    let used = Pruning::look(&place.home, &Owner::current(), at(9), |run_id| place.elsewhere(run_id)).expect("seen");
    assert!(used.prunable.is_empty(), "{used:?}");

    fs::remove_file(other).expect("removed");
    pruning.remove_peers(files).expect("removed");
    assert!(place.runs().is_empty());
}
