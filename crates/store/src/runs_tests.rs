use std::fs;

use adjutant_core::inbox::mailbox::{Closing, First};
use adjutant_core::trace::{
    AskEvent, Body, Entry, HostEvent, PartEvent, RunEvent, RunOptions, RunStart, TRACE_VERSION, Versions,
};
use adjutant_core::view::list::Asks;
use adjutant_core::words::{Choice, Key, Outcome, Part, PhaseName, Question, QuestionKind, Slot, What};
use adjutant_ports::{Durability, Journal as _};

use super::*;
use crate::FileJournal;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + second).expect("a time")
}

fn home() -> (tempfile::TempDir, Home) {
    let temp = tempfile::tempdir().expect("a folder");
    let home = Home::new(temp.path(), None);
    (temp, home)
}

fn brief(id: &str) -> BriefId {
    id.parse().expect("a name")
}

/// The next run of a brief, begun at a second, with a header, a start and `more` on record.
fn run(home: &Home, brief_id: &str, second: i64, more: Vec<Body>) -> FileJournal {
    let (run_id, mut journal) =
        FileJournal::create_next(home, &brief(brief_id), &Owner::current(), at(second)).expect("created");
    let start = RunStart {
        run_id,
        brief_id: brief(brief_id),
        project: "orchard".into(),
        brief_path: None,
        brief: "a brief".into(),
        tools: Vec::new(),
        offered: None,
        options: RunOptions::default(),
        versions: Versions { adjutant: "0".into(), standing_orders: 1, rules: 0 },
    };
    let header = Body::Run(RunEvent::TraceVersion {
        version: TRACE_VERSION,
        adjutant_version: "0".into(),
        brief_id: brief_id.into(),
    });
    for body in [header, Body::Run(RunEvent::RunStart(Box::new(start)))].into_iter().chain(more) {
        journal.append(Entry { part: Part::root(), body }, at(second), Durability::Written).expect("appended");
    }
    journal
}

fn question() -> Body {
    let question = Question {
        kind: QuestionKind::Confirmation,
        text: "?".into(),
        options: Vec::new(),
        default: Choice::Decline,
        deadline_ms: None,
        acts: 0,
    };
    Body::Ask(AskEvent::Question { slot: Slot::first(What::Ask, 1), question })
}

fn summaries(home: &Home) -> Vec<RunSummary> {
    let listed = list(home, &Owner::current(), at(1)).expect("listed");
    listed.into_iter().filter_map(|listed| if let Listed::Run(run) = listed { Some(run) } else { None }).collect()
}

#[test]
fn a_run_is_summarised_by_where_it_stands() {
    let (_temp, home) = home();
    let intake = Body::Part(PartEvent::PhaseEnter { phase: PhaseName::Intake, reason: None });
    let answer = Body::Ask(AskEvent::Expired { slot: Slot::first(What::Ask, 1) });
    drop(run(&home, "a", 0, vec![intake.clone(), question()]));
    drop(run(
        &home,
        "b",
        5,
        vec![intake.clone(), question(), answer, Body::Run(RunEvent::RunEnd { outcome: Outcome::Stopped })],
    ));
    let driven = run(&home, "c", 3, vec![]);
    let found: Vec<_> = summaries(&home)
        .into_iter()
        .map(|run| (run.run_id.to_string(), run.phase, run.outcome, run.asks, run.driver_alive, run.damaged))
        .collect();
    assert_eq!(
        found,
        [
            ("b".to_owned(), Some(PhaseName::Intake), Some(Outcome::Stopped), Asks::Nothing, false, 0),
            ("c".to_owned(), None, None, Asks::Nothing, true, 0),
            ("a".to_owned(), Some(PhaseName::Intake), None, Asks::Waiting(QuestionKind::Confirmation), false, 0),
        ]
    );
    drop(driven);
    let first = summaries(&home).pop().expect("a run");
    assert_eq!((first.brief_id.as_str(), first.project.as_deref()), ("a", Some("orchard")));
    assert_eq!((first.started_at, first.updated_at), (at(0), at(0)));
}

#[test]
fn only_the_ends_of_a_long_journal_are_read() {
    let (_temp, home) = home();
    let filler = || vec![Body::Host(HostEvent::Warning { text: "x".repeat(40_000) }); 60];
    let mut more = vec![Body::Part(PartEvent::PhaseEnter { phase: PhaseName::Intake, reason: None })];
    more.extend(filler());
    more.extend([Body::Part(PartEvent::PhaseEnter { phase: PhaseName::Execute, reason: None }), question()]);
    drop(run(&home, "long", 0, more));
    let found = &summaries(&home)[0];
    assert_eq!((found.phase, found.asks), (Some(PhaseName::Execute), Asks::Waiting(QuestionKind::Confirmation)));
    assert_eq!((found.project.as_deref(), found.damaged), (Some("orchard"), 0));
}

#[test]
fn what_cant_be_read_is_listed_as_such_and_never_fatal() {
    let (_temp, home) = home();
    drop(run(&home, "a", 0, vec![]));
    let put = |name: &str, bytes: &[u8]| fs::write(home.sessions().join(name), bytes).expect("written");
    put("empty.trace.ndjson", b"");
    put("null.trace.ndjson", b"null\n5\n\"x\"\n");
    put("binary.trace.ndjson", &[0xff; 100]);
    put("no name.trace.ndjson", b"{}\n");
    put("broken.json", b"{");
    put("notes.txt", b"hello");
    fs::create_dir(home.sessions().join("folder.trace.ndjson")).expect("made");
    let listed = list(&home, &Owner::current(), at(1)).expect("listed");
    let names: Vec<_> =
        listed.iter().map(|listed| (listed.name(), matches!(listed, Listed::Unreadable { .. }))).collect();
    assert_eq!(
        names,
        [("a", false), ("binary", true), ("broken", false), ("folder", true), ("no name", true), ("null", true)]
    );
}

#[test]
fn fault_a_run_that_was_killed_at_its_birth_is_none() {
    let (_temp, home) = home();
    drop(run(&home, "whole", 0, vec![]));
    let whole = fs::read(home.sessions().join("whole.trace.ndjson")).expect("readable");
    let first_line = memchr::memchr(b'\n', &whole).expect("a line");
    let path = home.sessions().join("a.trace.ndjson");
    let me = Owner::current();
    let next = |now| next_run_id(&home, &brief("a"), &me, now).expect("readable").expect("a name").to_string();
    // With its header alone nobody knows what it was to do.
    let beginnings = (0..=first_line + 1).map(|cut| whole[..cut].to_vec());
    let more = [vec![0; 300], [&whole[..=first_line], b"{\"seq\":1,"].concat()];
    let beginnings = beginnings.chain(more);
    for bytes in beginnings {
        fs::write(&path, &bytes).expect("written");
        assert_eq!(list(&home, &me, at(1)).expect("listed").len(), 1, "{bytes:?}");
        assert!(matches!(find(&home, "a"), Err(FindError::Unknown { .. })), "{bytes:?}");
        assert_eq!(next(at(1)), "a", "{bytes:?}");
        let journal = run(&home, "a", 1, vec![]);
        assert_eq!(summaries(&home).len(), 2, "{bytes:?}");
        assert_eq!(next(at(1)), "a-r2", "{bytes:?}");
        drop(journal);
        let (journal, recovered) =
            FileJournal::take_over(&home, &"a".parse().expect("a name"), &me, at(2), crate::Damage::Refuse)
                .expect("sound");
        assert_eq!((recovered.events.len(), recovered.torn_bytes), (2, 0), "{bytes:?}");
        drop(journal);
        fs::remove_file(home.sessions().join("a.lease")).expect("removed");
    }
    // One that was longer, as its lease says, is a run of which something is gone.
    drop(run(&home, "cut", 1, vec![]));
    for cut in [0, first_line + 1] {
        fs::write(home.sessions().join("cut.trace.ndjson"), &whole[..cut]).expect("written");
        let listed = list(&home, &me, at(1)).expect("listed");
        assert!(listed.iter().any(|listed| listed.name() == "cut"), "{cut}: {listed:?}");
        assert_eq!(
            next_run_id(&home, &brief("cut"), &me, at(1)).expect("readable").expect("a name").as_str(),
            "cut-r2"
        );
    }
}

#[test]
fn what_another_is_beginning_or_wrote_is_never_taken() {
    let (_temp, home) = home();
    let me = Owner::current();
    let next = || next_run_id(&home, &brief("a"), &me, at(1)).expect("readable").expect("a name").to_string();
    let (begun, journal) = FileJournal::create_next(&home, &brief("a"), &me, at(0)).expect("created");
    assert_eq!((begun.as_str(), next().as_str()), ("a", "a-r2"), "it is being begun");
    drop(journal);
    assert_eq!(next(), "a", "nobody begins it any more");
    let path = home.journal(&begun);
    for bytes in [&b"\n"[..], b"{}", b"{\"seq\":1,\"at\":\"", &[0xff; 9], &[0; 5000], b"{\"seq\":0,\"at\":\"x\"}\n"] {
        fs::write(&path, bytes).expect("written");
        assert_eq!(next(), "a-r2", "{bytes:?}");
        let refused = FileJournal::create(&home, &begun, &me, at(1)).expect_err("taken");
        assert!(matches!(refused, crate::CreateError::Exists { .. }), "{bytes:?}: {refused}");
        assert_eq!(fs::read(&path).expect("readable"), bytes);
    }
    // The peer's name for a session.
    fs::write(&path, b"").expect("written");
    fs::write(home.sessions().join("a.json"), "{}").expect("written");
    assert_eq!(next(), "a-r2");
}

#[test]
fn damaged_lines_are_counted() {
    let (_temp, home) = home();
    drop(run(&home, "a", 0, vec![question()]));
    let path = home.sessions().join("a.trace.ndjson");
    let mut text = fs::read_to_string(&path).expect("readable");
    text.push_str(
        "null\n{\"seq\":9,\"at\":\"2026-01-02T03:04:05.678Z\",\"type\":\"warning\",\"text\":\"w\"}\n{\"seq\":10,\"at",
    );
    fs::write(&path, text).expect("written");
    let found = &summaries(&home)[0];
    assert_eq!((found.damaged, found.asks), (2, Asks::Waiting(QuestionKind::Confirmation)));
    assert_eq!(found.updated_at, "2026-01-02T03:04:05.678Z".parse().expect("a time"));
}

#[test]
fn sessions_of_the_peer_are_recognised() {
    let vectors = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/vectors/openwar/inspect/input-inspect/sessions");
    let (temp, _) = home();
    let home = Home::new(temp.path(), Some(vectors.into()));
    let listed = list(&home, &Owner::current(), at(1)).expect("listed");
    let peers: Vec<&PeerSummary> =
        listed.iter().filter_map(|listed| if let Listed::Peer(peer) = listed { Some(peer) } else { None }).collect();
    assert_eq!(peers.len(), listed.len(), "{listed:?}");
    let all = peers.iter().find(|peer| peer.name == "2024-04-05-ALL").expect("listed");
    assert!(all.trace.is_some() && all.session.is_some());
    assert_eq!((all.project.as_deref(), all.phase.as_deref()), (Some("orchard"), Some("done")));
    assert!(peers.iter().any(|peer| peer.name == "2025-04-06-NOTRACE" && peer.trace.is_none()));
    assert_eq!(find(&home, "2024").expect("found"), Found::Peer("2024-04-05-ALL".into()));
    assert_eq!(named(&home, "2024-04-05-ALL"), Some(Found::Peer("2024-04-05-ALL".into())));
    for name in ["2024-09-01-M", "2024-09-01-m"] {
        fs::write(temp.path().join(format!("{name}.json")), "{}").expect("written");
        fs::write(temp.path().join(format!("{name}.trace.ndjson")), "").expect("written");
    }
    let both = Home::new(temp.path(), Some(temp.path().into()));
    for name in ["2024-09-01-M", "2024-09-01-m"] {
        assert_eq!(find(&both, name).expect("found"), Found::Peer(name.into()));
    }
    for not_whole in ["2024", "../sessions/2024-04-05-ALL", ""] {
        assert_eq!(named(&home, not_whole), None, "{not_whole}");
    }
}

#[test]
fn runs_of_a_brief_are_numbered_and_a_number_is_not_used_again() {
    let (_temp, home) = home();
    let next = |id: &str| {
        next_run_id(&home, &brief(id), &Owner::current(), at(0)).expect("readable").expect("a name").to_string()
    };
    assert_eq!(next("a"), "a");
    for _ in 0..3 {
        drop(run(&home, "a", 0, vec![]));
    }
    assert_eq!(next("a"), "a-r4");
    assert_eq!(next("A"), "A-r4");
    fs::remove_file(home.sessions().join("a-r2.trace.ndjson")).expect("removed");
    assert_eq!(next("a"), "a-r4");
    fs::write(home.sessions().join("p.json"), "{}").expect("written");
    assert_eq!(next("p"), "p-r2");
    for (name, number) in
        [("a", Some(1)), ("a-r12", Some(12)), ("a-r01", None), ("a-r", None), ("a-rx", None), ("ab", None)]
    {
        assert_eq!(run_number(name, "a"), number, "{name}");
    }
}

#[test]
fn a_name_that_differs_only_in_case_is_taken() {
    let (_temp, home) = home();
    drop(run(&home, "Brief", 0, vec![]));
    let run_id: RunId = "bRIEF".parse().expect("a name");
    let error = FileJournal::create(&home, &run_id, &Owner::current(), at(0)).expect_err("taken");
    assert!(matches!(error, crate::CreateError::Exists { run_id } if run_id == "Brief"));
}

#[test]
fn a_few_letters_find_the_run_that_is_meant() {
    let (_temp, home) = home();
    for id in ["2026-01-P1", "2026-01-P1", "2026-01-P1", "2026-02-P2", "other", "other-r7", "2026-01-P10"] {
        drop(run(&home, id, 0, vec![]));
    }
    let check = |given: &str, expected: Result<&str, &[&str]>| match (find(&home, given), expected) {
        (Ok(Found::Run(run)), Ok(expected)) => assert_eq!(run.as_str(), expected, "{given}"),
        (Err(FindError::Ambiguous { candidates, .. }), Err(expected)) => assert_eq!(candidates, expected, "{given}"),
        (Err(FindError::Unknown { nearest, .. }), Err(expected)) => assert_eq!(nearest, expected, "{given}"),
        (found, _) => panic!("{given}: {found:?}"),
    };
    check("2026-01-P1", Ok("2026-01-P1-r3"));
    let exactly = named(&home, "2026-01-P1");
    assert!(matches!(exactly, Some(Found::Run(run)) if run.as_str() == "2026-01-P1"));
    assert_eq!(named(&home, "2026-01-p1"), None);
    check("2026-01-p1", Ok("2026-01-P1-r3"));
    check("2026-01-P1-r1", Ok("2026-01-P1"));
    check("2026-01-P1-r2", Ok("2026-01-P1-r2"));
    check("2026-01-P1-", Ok("2026-01-P1-r3"));
    check("2026-02", Ok("2026-02-P2"));
    check("ot", Err(&["other", "other-r7"]));
    check("other", Ok("other"));
    check("other-r7", Ok("other-r7"));
    check("2026-01", Err(&["2026-01-P1", "2026-01-P1-r2", "2026-01-P1-r3", "2026-01-P10"]));
    check("othre", Err(&["other"]));
    check("", Err(&[]));
    check("\u{e9}", Err(&[]));
    // `-r1` is no beginning of `-r12`.
    for _ in 0..12 {
        drop(run(&home, "many", 0, vec![]));
    }
    fs::remove_file(home.sessions().join("many.trace.ndjson")).expect("removed");
    assert!(matches!(find(&home, "many-r1"), Err(FindError::Unknown { .. })));
    check("many-r12", Ok("many-r12"));
    check("many", Ok("many-r12"));
}

#[test]
fn open_questions_come_from_every_run_that_is_not_over_with_what_its_mailbox_says() {
    use adjutant_core::inbox::mailbox::{Answer, First};
    use adjutant_core::words::Key;

    let (_temp, home) = home();
    let end = Body::Run(RunEvent::RunEnd { outcome: Outcome::Stopped });
    drop(run(&home, "asked", 0, vec![question()]));
    drop(run(&home, "over", 0, vec![end.clone()]));
    drop(run(&home, "quiet", 0, vec![]));
    // A question that lies far before the end is found too.
    let filler = vec![Body::Host(HostEvent::Warning { text: "x".repeat(40_000) }); 60];
    let driven = run(&home, "driven", 0, [vec![question()], filler].concat());
    fs::write(home.sessions().join("odd.trace.ndjson"), b"\xff\n{\n").expect("written");
    fs::write(home.sessions().join("asked.mailbox.jsonl.x"), b"").expect("written");

    let key = Key { part: Part::root(), slot: Slot::first(What::Ask, 1) };
    let first = First::Answer(Answer {
        key,
        kind: QuestionKind::Confirmation,
        choice: Choice::Accept,
        text: None,
        by: "operator".into(),
        whence: "inbox".into(),
        at: at(5),
        id: "1".into(),
    });
    let mailbox = crate::Mailbox::of(&home, &"asked".parse().expect("a name"));
    assert_eq!(mailbox.claim(&first).expect("claimed"), crate::mailbox::AnswerClaim::First);

    let all = open_questions(&home, &Owner::current(), at(1)).expect("read");
    let found: Vec<_> = all
        .runs
        .iter()
        .map(|run| (run.run_id.as_str(), run.driver_alive, run.questions.len(), run.questions[0].1.clone()))
        .collect();
    assert_eq!(found, [("asked", false, 1, Some(first)), ("driven", true, 1, None)]);
    assert_eq!(all.runs[0].project.as_deref(), Some("orchard"));
    assert!(all.runs.iter().all(|run| run.breaks == 0));
    let journal = home.journal(&"asked".parse().expect("a name"));
    let written = fs::read_to_string(&journal).expect("read");
    fs::write(&journal, written.replace("orchard", "harbour")).expect("written");
    let all = open_questions(&home, &Owner::current(), at(1)).expect("read");
    assert_eq!((all.runs[0].breaks, all.runs[0].questions.len()), (1, 1), "it is shown, and doubted");
    fs::write(&journal, written).expect("written");
    drop(driven);
    // No mailbox is listed as a run or as a session of the peer.
    let names: Vec<String> =
        list(&home, &Owner::current(), at(1)).expect("listed").iter().map(|one| one.name().to_owned()).collect();
    assert!(!names.iter().any(|name| name.contains("mailbox")), "{names:?}");
}

/// A pipe would be waited for, a link would have two names for one journal.
#[test]
fn what_is_no_plain_file_is_no_journal() {
    let (_temp, home) = home();
    drop(run(&home, "real", 1, vec![question()]));
    let place = |name: &str| home.journal(&name.parse().expect("a name"));
    rustix::fs::mkfifoat(rustix::fs::CWD, place("pipe"), rustix::fs::Mode::RWXU).expect("made");
    std::os::unix::fs::symlink(place("real"), place("link")).expect("made");
    std::os::unix::fs::symlink("/dev/zero", place("zeros")).expect("made");
    fs::create_dir(place("folder")).expect("made");
    let names = ["folder", "link", "pipe", "zeros"];

    let listed = list(&home, &Owner::current(), at(1)).expect("listed");
    let mut unreadable: Vec<&str> =
        listed.iter().filter(|listed| matches!(listed, Listed::Unreadable { .. })).map(Listed::name).collect();
    unreadable.sort_unstable();
    assert_eq!(unreadable, names);
    let asking = open_questions(&home, &Owner::current(), at(1)).expect("looked");
    assert_eq!((asking.runs.len(), asking.unreadable.len()), (1, names.len()));
    assert_eq!(idle(&home, &Owner::current(), at(1)).expect("looked").unreadable.len(), names.len());
    let before = fs::read(place("real")).expect("there");
    for name in names {
        let run_id = name.parse().expect("a name");
        let error = crate::journal::read_only(&home, &run_id).expect_err(name);
        assert!(matches!(error, crate::OpenError::Unusable { .. }), "{name}: {error}");
        let taken = FileJournal::take_over(&home, &run_id, &Owner::current(), at(9), crate::Damage::Refuse);
        assert!(matches!(taken.map(drop), Err(crate::OpenError::Unusable { .. })), "{name}");
    }
    assert_eq!(fs::read(place("real")).expect("there"), before);
}

#[test]
fn the_catalogue_has_what_the_list_has_after_every_change() {
    let (_temp, home) = home();
    let mut catalogue = Catalogue::default();
    let mut check = |what: &str| {
        let kept = catalogue.refresh(&home, &Owner::current(), at(1)).expect("listed");
        let kept: Vec<Listed> = kept.iter().map(|entry| entry.listed.as_ref().clone()).collect();
        assert_eq!(kept, list(&home, &Owner::current(), at(1)).expect("listed"), "{what}");
        kept
    };
    check("nothing");
    // More than one thread's share.
    for number in 0..150 {
        drop(run(&home, &format!("b{number}"), 0, vec![question()]));
    }
    fs::write(home.sessions().join("peer.json"), r#"{"meta":{"phase":"execute"}}"#).expect("written");
    fs::write(home.sessions().join(format!("odd{JOURNAL_ENDING}")), "{\n").expect("written");
    // This one never began.
    fs::write(home.sessions().join(format!("empty{JOURNAL_ENDING}")), "").expect("written");
    assert_eq!(check("many").len(), 152);
    check("again");
    let mut driven = run(&home, "late", 9, Vec::new());
    assert_eq!(check("a new one")[0].state(), Some(RunState::Running));
    let end = Entry { part: Part::root(), body: Body::Run(RunEvent::RunEnd { outcome: Outcome::Stopped }) };
    driven.append(end, at(20), Durability::Written).expect("appended");
    drop(driven);
    assert_eq!(check("its end")[0].state(), Some(RunState::Ended(Outcome::Stopped)));
    // An answer changes no journal.
    let asked: RunId = "b3".parse().expect("a name");
    let key = Key { part: Part::root(), slot: Slot::first(What::Ask, 1) };
    let first = First::Closed { key, kind: QuestionKind::Confirmation, why: Closing::Expired, at: at(21) };
    assert_eq!(crate::Mailbox::of(&home, &asked).claim(&first).expect("written"), crate::mailbox::AnswerClaim::First);
    let states = check("one answered");
    let states: Vec<_> = states.iter().filter(|listed| listed.name() == "b3").map(Listed::state).collect();
    assert_eq!(states, [Some(RunState::Answered)]);
    fs::write(home.sessions().join("peer.json"), r#"{"meta":{"phase":"done"}}"#).expect("written");
    fs::remove_file(home.journal(&"b7".parse().expect("a name"))).expect("removed");
    check("one changed, one gone");
}
