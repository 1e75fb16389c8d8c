//! Tests that a question which waits for an operator is answered from anywhere, once.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use adjutant_core::inbox::open::short_names;
use adjutant_core::trace::{AskEvent, Body, Entry, RunEvent, RunOptions, RunStart, TRACE_VERSION, Versions};
use adjutant_core::words::{Choice, Key, Offer, Part, Question, QuestionKind, Slot, What};
use adjutant_ports::{Durability, Journal};
use adjutant_store::{FileJournal, Home, Owner};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::home::{RUN, SUMMARY, TestHome};

const REPORT: &str = "## Phase 4\n\nDone.\n\n- Delivered: all of it.\n- Unresolved: nothing.\n";

/// A run that waits for the word on its summary, and nobody is there.
fn parked() -> TestHome {
    let home = TestHome::new();
    home.scripted("mode: auto", &json!([SUMMARY, {"repeat": 2, "text": REPORT}]));
    home.run(&["run", "../brief.md"]).expect_code(4).expect_text("waiting (confirmation)");
    home
}

fn list(home: &TestHome) -> Vec<Value> {
    let listed = home.run(&["inbox", "list", "--json"]).expect_code(0);
    serde_json::from_str(&listed.stdout).expect("JSON")
}

fn answers(home: &TestHome, run: &str) -> Vec<Value> {
    home.journal(run).into_iter().filter(|event| event["type"] == "answer").collect()
}

fn mailbox(run: &str) -> String {
    format!("home/sessions/{run}.mailbox.jsonl")
}

#[test]
fn a_parked_run_is_answered_in_the_inbox_and_goes_on_with_resume() {
    let home = parked();
    let rows = list(&home);
    assert_eq!(rows.len(), 1);
    assert_eq!((&rows[0]["kind"], &rows[0]["default"]), (&json!("confirmation"), &json!("no")));
    let id = rows[0]["id"].as_str().expect("an id");
    assert_eq!(id, format!("{RUN}:session:ask/1.1"));
    home.run(&["inbox", "show", id]).expect_code(0).expect_text("Is this summary what you want?").expect_text("go ");
    home.run(&["inbox"]).expect_code(0).expect_text(rows[0]["short"].as_str().expect("a short id"));

    home.run(&["inbox", "answer", id]).expect_code(2);
    home.run(&["inbox", "answer", "nothing", "go"]).expect_code(1);
    home.run(&["inbox", "answer", id, ""]).expect_code(2).expect_text("can't be read as an answer");
    home.run(&["inbox", "answer", id, "go"]).expect_code(0).expect_text("adjutant resume");
    let second = home.run(&["inbox", "answer", RUN, "no"]).expect_code(4);
    assert!(
        second.stdout.contains("answered before: ") && second.stdout.contains("`go` by operator, inbox"),
        "{second:?}"
    );

    home.run(&["resume", RUN]).expect_code(0).expect_text("answered by operator, inbox").expect_text("completed");
    let recorded = answers(&home, RUN);
    assert_eq!(recorded.len(), 1);
    assert_eq!((&recorded[0]["choice"], &recorded[0]["whence"]), (&json!("accept"), &json!("inbox")));
    let line: Value = serde_json::from_str(home.read(&mailbox(RUN)).trim()).expect("one line");
    assert_eq!((&line["id"], &line["by"]), (&recorded[0]["id"], &recorded[0]["by"]));
    assert!(list(&home).is_empty());
    home.run(&["replay", RUN]).expect_code(0);
    let runs = home.run(&["list", "--json"]).expect_code(0);
    assert_eq!(serde_json::from_str::<Vec<Value>>(&runs.stdout).expect("JSON").len(), 1, "a mailbox is no run");
}

#[test]
fn what_is_answered_here_is_in_the_mailbox_too() {
    let home = parked();
    home.run_with(&["resume", RUN], b"go\n").expect_code(0);
    let line: Value = serde_json::from_str(home.read(&mailbox(RUN)).trim()).expect("one line");
    assert_eq!((&line["whence"], &line["choice"]), (&json!("terminal"), &json!("accept")));
    assert_eq!(answers(&home, RUN)[0]["id"], line["id"]);
}

#[test]
fn a_worker_goes_on_with_what_was_answered_and_leaves_the_rest() {
    let home = parked();
    home.run(&["run", "../brief.md", "--new"]).expect_code(4);
    let other = format!("{RUN}-r2");
    let before = home.journal(RUN);
    home.run(&["work", "--once"]).expect_code(0);
    assert_eq!(home.journal(RUN), before, "nobody answered");
    home.run(&["inbox", "answer", &format!("{other}:session:ask/1.1"), "go"]).expect_code(0);
    home.run(&["work", "--once"]).expect_code(0).expect_text(&format!("run {other}: completed"));
    assert_eq!(home.journal(RUN), before);
    assert_eq!(home.journal(&other).last().expect("events")["type"], "run_end");
    home.run(&["work", "--once"]).expect_code(0);
}

#[test]
fn a_worker_takes_runs_up_within_its_hours_only() {
    let home = parked();
    home.run(&["inbox", "answer", RUN, "go"]).expect_code(0);
    let now = jiff::Timestamp::now();
    let hours = |from: i64, to: i64| {
        let at = |hours: i64| {
            let local = jiff::tz::TimeZone::UTC.to_datetime(now + jiff::SignedDuration::from_hours(hours));
            format!("{:02}:{:02}", local.hour(), local.minute())
        };
        format!("{}-{}", at(from), at(to))
    };
    let before = home.journal(RUN);
    home.run(&["work", "--once", "--hours", &hours(2, 4), "--zone", "UTC"]).expect_code(0);
    assert_eq!(home.journal(RUN), before, "it is not the hour");
    for (nonsense, zone) in
        [("9-18", "UTC"), ("09:00-09:00", "UTC"), ("25:00-26:00", "UTC"), ("09:00-18:00", "Mars/Base")]
    {
        home.run(&["work", "--once", "--hours", nonsense, "--zone", zone]).expect_code(2);
    }
    home.run(&["work", "--once", "--hours", &hours(-2, 2), "--zone", "UTC"]).expect_code(0).expect_text("completed");
}

#[test]
fn a_worker_leaves_a_run_alone_that_somebody_drives() {
    let home = TestHome::new();
    home.scripted("mode: auto", &json!([SUMMARY, {"repeat": 2, "text": REPORT}]));
    let mut driven = home.start(&["run", "../brief.md"]);
    driven.until("<anything else>");
    driven.until("no ");
    driven.signal(rustix::process::Signal::STOP);
    home.run(&["inbox", "answer", RUN, "go"]).expect_code(0);
    let before = home.journal(RUN);
    home.run(&["work", "--once"]).expect_code(0);
    assert_eq!(home.journal(RUN), before);
    driven.signal(rustix::process::Signal::CONT);
    // Its input is still open: it learns of the answer by itself.
    driven.until("answered by operator, inbox");
    driven.finish().expect_code(0);
}

#[test]
fn an_answer_that_was_claimed_and_not_recorded_is_used_after_a_kill() {
    let home = parked();
    // As if a driver had been killed between the two: the claim is there, the journal knows nothing of it.
    let line = json!({"v": 1, "type": "answer", "part": "session", "slot": "ask/1.1", "kind": "confirmation",
        "choice": "correct", "text": "two files", "by": "operator", "whence": "terminal",
        "at": "2026-02-03T04:05:06.789Z", "id": "claimed"});
    home.write(&mailbox(RUN), format!("{line}\n"));
    fs::set_permissions(home.path(&mailbox(RUN)), fs::Permissions::from_mode(0o600)).expect("set");
    home.run_with(&["resume", RUN], b"no\n").expect_code(6).expect_text("answered by operator, terminal");
    let recorded = answers(&home, RUN);
    assert_eq!((&recorded[0]["id"], &recorded[0]["text"]), (&json!("claimed"), &json!("two files")));
    // The line at the input was for the next question.
    assert_eq!(recorded[1]["choice"], "decline");
}

#[test]
fn hostile_lines_of_a_mailbox_answer_nothing_and_drive_no_terminal() {
    let home = parked();
    let good = json!({"v": 1, "type": "answer", "part": "session", "slot": "ask/1.1", "kind": "confirmation",
        "choice": "accept", "by": "operator", "whence": "inbox", "at": "2026-02-03T04:05:06.789Z", "id": "x"});
    let with = |field: &str, value: Value| {
        let mut line = good.clone();
        line[field] = value;
        line.to_string()
    };
    let lines = [
        "\u{1b}[2J\u{1b}]0;owned\u{7}".to_owned(),
        with("kind", json!("step")),
        with("choice", json!("for_run")),
        with("by", json!("\u{1b}[31mroot")),
        with("slot", json!("call/1.1")),
        with("part", json!("../../etc")),
        with("v", json!(99)),
        "[".repeat(100_000),
        good.to_string()[..60].to_owned(),
    ];
    home.write(&mailbox(RUN), lines.join("\n"));
    fs::set_permissions(home.path(&mailbox(RUN)), fs::Permissions::from_mode(0o600)).expect("set");
    let listed = home.run(&["inbox"]).expect_code(0).expect_text("is skipped");
    let resumed = home.run(&["resume", RUN]).expect_code(4).expect_text("is skipped");
    for said in [&listed.stdout, &listed.stderr, &resumed.stdout, &resumed.stderr] {
        assert!(!said.contains('\u{1b}') && !said.contains('\u{7}'), "{said:?}");
    }
    assert!(answers(&home, RUN).is_empty());
    // An answer after them counts, the torn line is closed.
    home.run(&["inbox", "answer", RUN, "no"]).expect_code(0);
    home.run(&["resume", RUN]).expect_code(6);
    assert_eq!(answers(&home, RUN).len(), 1);
}

#[test]
fn a_mailbox_that_others_can_write_answers_nothing() {
    let home = parked();
    home.run(&["inbox", "answer", RUN, "go"]).expect_code(0);
    fs::set_permissions(home.path(&mailbox(RUN)), fs::Permissions::from_mode(0o666)).expect("set");
    home.run(&["inbox", "answer", RUN, "no"]).expect_code(1).expect_text("chmod 600");
    home.run(&["work", "--once"]).expect_code(0);
    assert!(answers(&home, RUN).is_empty());
    let resumed = home.run_with(&["resume", RUN], b"no\n").expect_code(6);
    assert_eq!(resumed.stdout.matches("no answer from elsewhere counts").count(), 1, "{}", resumed.stdout);
    assert_eq!(answers(&home, RUN)[0]["whence"], "terminal");
}

#[test]
fn what_is_wrong_with_a_mailbox_is_said_once_and_mended_by_what_is_said() {
    let said = |spoil: &dyn Fn(&std::path::Path)| {
        let home = parked();
        home.run(&["inbox", "answer", RUN, "go"]).expect_code(0);
        spoil(&home.path(&mailbox(RUN)));
        let answered = home.run(&["inbox", "answer", RUN, "no"]);
        let stopped = home.run(&["stop", RUN]);
        let resumed = home.run(&["resume", RUN]);
        let warned: Vec<&str> = resumed.stdout.lines().filter(|line| line.contains("warning: ")).collect();
        let ways = [("inbox answer", &answered), ("stop", &stopped)];
        let ways = ways.map(|(way, said)| format!("{way}: exit code {}\n{}{}", said.code, said.stdout, said.stderr));
        let text = format!("{}resume: exit code {}\n{}\n", ways.concat(), resumed.code, warned.join("\n"));
        home.settled(&text)
    };
    let mode = |mode: u32| {
        move |path: &std::path::Path| {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("set");
        }
    };
    let replaced = |make: fn(&std::path::Path)| {
        move |path: &std::path::Path| {
            fs::rename(path, path.with_extension("away")).expect("moved");
            make(path);
        }
    };
    let pipe = replaced(|path| {
        assert!(std::process::Command::new("mkfifo").arg(path).status().expect("mkfifo").success());
    });
    let link = replaced(|path| std::os::unix::fs::symlink(path.with_extension("away"), path).expect("linked"));
    let torn = |path: &std::path::Path| {
        let whole = fs::read_to_string(path).expect("a mailbox");
        fs::write(path, &whole[..60]).expect("written");
    };
    insta::assert_snapshot!("mailbox_is_a_pipe", said(&pipe));
    insta::assert_snapshot!("mailbox_is_a_link", said(&link));
    insta::assert_snapshot!("mailbox_is_writable_by_the_group", said(&mode(0o620)));
    insta::assert_snapshot!("mailbox_has_a_torn_line", said(&torn));
}

/// A run with open questions, that never had a driver: enough for the inbox.
fn asking(home: &TestHome, run: &str, questions: &[Question]) {
    let keys = (1..).map(|number| Key { part: Part::root(), slot: Slot::first(What::Ask, number) });
    asking_at(home, run, &keys.zip(questions.iter().cloned()).collect::<Vec<_>>());
}

/// The same with questions at these places of the run.
fn asking_at(home: &TestHome, run: &str, questions: &[(Key, Question)]) {
    let place = Home::new(home.path("home"), None);
    let brief_id = run.parse().expect("a name");
    let at = Timestamp::from_second(1_700_000_000).expect("a time");
    let (run_id, mut journal) = FileJournal::create_next(&place, &brief_id, &Owner::current(), at).expect("a journal");
    let start = RunStart {
        run_id,
        brief_id,
        project: "e2e".to_owned(),
        brief_path: None,
        brief: crate::home::brief(""),
        tools: Vec::new(),
        offered: None,
        options: RunOptions::default(),
        versions: Versions { adjutant: "0".to_owned(), standing_orders: 1, rules: 0 },
    };
    let header = Body::Run(RunEvent::TraceVersion {
        version: TRACE_VERSION,
        adjutant_version: "0".to_owned(),
        brief_id: run.to_owned(),
    });
    let asked = questions.iter().map(|(key, question)| {
        (key.part.clone(), Body::Ask(AskEvent::Question { slot: key.slot, question: question.clone() }))
    });
    let begun = [header, Body::Run(RunEvent::RunStart(Box::new(start)))].map(|body| (Part::root(), body));
    for (part, body) in begun.into_iter().chain(asked) {
        journal.append(Entry { part, body }, at, Durability::Written).expect("appended");
    }
    journal.close().expect("closed");
}

fn question(kind: QuestionKind, text: &str, options: &[(Choice, &str)], deadline_ms: Option<u64>) -> Question {
    Question {
        kind,
        text: text.to_owned(),
        options: options.iter().map(|(choice, reply)| Offer::new(*choice, reply, "something changes")).collect(),
        default: options.last().expect("an option").0,
        deadline_ms,
        acts: 0,
    }
}

/// Place of a question of a voter, two levels down in a run.
fn of_voter(voter: u32, number: u32) -> Key {
    Key { part: Part::root().child("council").child(&voter.to_string()), slot: Slot::first(What::Ask, number) }
}

#[test]
fn two_questions_of_one_run_get_each_their_own_answer_in_either_order() {
    let home = TestHome::new();
    let options = [(Choice::Once, "y"), (Choice::Deny, "n")];
    let asked = [1, 2].map(|voter| {
        (of_voter(voter, 1), question(QuestionKind::Destructive, &format!("Voter {voter} asks."), &options, None))
    });
    for (run, order) in [("both-a", [1, 2]), ("both-b", [2, 1])] {
        asking_at(&home, run, &asked);
        let ids = [1, 2].map(|voter| format!("{run}:{}", of_voter(voter, 1)));
        // The run alone may be either: both are named, and neither is answered.
        let refused = home.run(&["inbox", "answer", run, "y"]).expect_code(2).expect_text("may be several questions");
        assert!(ids.iter().all(|id| refused.stderr.contains(id)), "{}", refused.stderr);
        for voter in order {
            let word = if voter == 1 { "y" } else { "n: not yours" };
            home.run(&["inbox", "answer", &ids[voter - 1], word]).expect_code(0).expect_text(&ids[voter - 1]);
        }
        let rows: Vec<Value> = list(&home).into_iter().filter(|row| row["run_id"] == run).collect();
        let given = |id: &String| {
            let row = rows.iter().find(|row| row["id"] == id.as_str()).expect("a row");
            row["answered"]["what"].as_str().map(str::to_owned)
        };
        assert_eq!(ids.each_ref().map(given), [Some("y".to_owned()), Some("n: not yours".to_owned())], "{run}");
        let lines: Vec<Value> =
            home.read(&mailbox(run)).lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        let parts: Vec<&str> = lines.iter().filter_map(|line| line["part"].as_str()).collect();
        assert_eq!(parts, order.map(|voter| format!("council/{voter}")), "{run}");
        // The answer to one counts for nothing at the other.
        home.run(&["inbox", "answer", &ids[0], "n"]).expect_code(4).expect_text("answered before: ");
    }
}

#[test]
fn a_short_id_that_may_be_two_questions_answers_neither_and_names_both() {
    let home = TestHome::new();
    let keys: Vec<Key> = (1..3_000).map(|number| of_voter(1, number)).collect();
    let ids: Vec<String> = keys.iter().map(|key| format!("short:{key}")).collect();
    let names = short_names(ids.iter().map(String::as_str));
    // Two of so many have the first digits of their names in common.
    let common = |index: &usize| names[*index].get(..5).filter(|_| names[*index].len() > 5);
    let first = (0..names.len()).find(|index| common(index).is_some()).expect("a long name");
    let second = (first + 1..names.len()).find(|index| common(index) == common(&first)).expect("its like");
    let begun = common(&first).expect("a long name");
    let options = [(Choice::Once, "y"), (Choice::Deny, "n")];
    let asked = [first, second]
        .map(|index| (keys[index].clone(), question(QuestionKind::Destructive, "May it?", &options, None)));
    asking_at(&home, "short", &asked);
    let refused = home.run(&["inbox", "answer", begun, "y"]).expect_code(2);
    assert!([first, second].iter().all(|index| refused.stderr.contains(&ids[*index])), "{}", refused.stderr);
    assert!(list(&home).iter().all(|row| row["answered"].is_null()));
    let rows = list(&home);
    let short = rows.iter().find(|row| row["id"] == ids[second].as_str()).expect("a row")["short"].as_str();
    home.run(&["inbox", "answer", short.expect("a short id"), "n"]).expect_code(0).expect_text(&ids[second]);
    assert_eq!(list(&home).iter().filter(|row| !row["answered"].is_null()).count(), 1);
}

#[test]
fn fifty_processes_answer_two_hundred_questions_once_each() {
    let home = TestHome::new();
    let options = [(Choice::Continue, "ok"), (Choice::Done, "done")];
    let step = |number: usize| question(QuestionKind::Step, &format!("Step {number}. Go on?"), &options, None);
    for run in 0..4 {
        let questions: Vec<Question> = (0..50).map(step).collect();
        asking(&home, &format!("many-{run}"), &questions);
    }
    assert_eq!(list(&home).len(), 200);
    let processes: Vec<_> = (0..50)
        .map(|number| {
            let word = format!("said by {number}");
            let mut command = home.adjutant(&["inbox", "answer", "--kind", "step", "--yes", "--json", &word]);
            command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it starts")
        })
        .collect();
    let mut won: BTreeMap<String, String> = BTreeMap::new();
    for (number, process) in processes.into_iter().enumerate() {
        let output = process.wait_with_output().expect("it ends");
        let came: Vec<Value> = serde_json::from_slice(&output.stdout).expect("JSON");
        assert_eq!(came.len(), 200);
        let ours: Vec<&Value> = came.iter().filter(|came| came["is_ours"] == true).collect();
        assert_eq!(output.status.code(), Some(if ours.is_empty() { 4 } else { 0 }), "{number}");
        for came in ours {
            let id = came["id"].as_str().expect("an id").to_owned();
            let before = won.insert(id.clone(), format!("said by {number}"));
            assert_eq!(before, None, "{id} was answered twice");
        }
    }
    assert_eq!(won.len(), 200);
    // What each was told is what the mailboxes say.
    for row in list(&home) {
        let id = row["id"].as_str().expect("an id");
        assert_eq!(row["answered"]["what"].as_str(), won.get(id).map(|word| format!("say: {word}")).as_deref(), "{id}");
    }
    for run in 0..4 {
        assert_eq!(home.read(&mailbox(&format!("many-{run}"))).lines().count(), 50);
    }
}

#[test]
fn a_batch_shows_every_act_and_asks_and_reaches_no_other_category() {
    let home = TestHome::new();
    let options = [(Choice::Once, "y"), (Choice::Deny, "n")];
    let held = |act: &str| question(QuestionKind::Destructive, &format!("May it?\n  `{act}`"), &options, None);
    asking(&home, "batch", &[held("rm -r build"), held("rm -r dist\u{1b}[2J")]);
    let batch = ["inbox", "answer", "--kind", "destructive", "y"];
    // Nobody is there to agree, and nothing is answered in silence.
    let refused = home.run(&batch).expect_code(2);
    for act in ["rm -r build", "rm -r dist\\u{1b}"] {
        assert!(refused.stderr.contains(act), "{}", refused.stderr);
    }
    assert!(list(&home).iter().all(|row| row["answered"].is_null()));
    home.run(&[&batch[..], &["--yes", "--category", "filesystem_delete"]].concat()).expect_code(1);
    // A word that is none for this kind would be a no to all of them.
    home.run(&["inbox", "answer", "--kind", "destructive", "--yes", "yess"]).expect_code(2);
    let agreed = home.run(&[&batch[..], &["--yes"]].concat()).expect_code(0);
    assert!(agreed.stderr.contains("rm -r build") && agreed.stderr.contains("rm -r dist"), "{}", agreed.stderr);
    assert!(list(&home).iter().all(|row| row["answered"]["what"] == "y"));
}

#[test]
fn a_question_past_its_deadline_gets_its_default_from_a_worker() {
    let home = parked();
    // The same run, with its question asked under a deadline of a second, long ago.
    let at = |event: &Value| event["at"].as_str().expect("a time").parse::<Timestamp>().expect("a time");
    let events = home.journal(RUN);
    let place = Home::new(home.path("home"), None);
    for ending in ["trace.ndjson", "lease"] {
        fs::remove_file(home.path(&format!("home/sessions/{RUN}.{ending}"))).expect("removed");
    }
    let mut journal = FileJournal::create(&place, &RUN.parse().expect("a name"), &Owner::current(), at(&events[0]))
        .expect("a journal");
    for mut event in events {
        let time = at(&event);
        if event["type"] == "question" {
            event["question"]["deadline_ms"] = json!(1);
        }
        let line = serde_json::to_string(&reordered(&event)).expect("JSON");
        let adjutant_core::trace::Line::Event(event) = adjutant_core::trace::wire::decode(&line).expect("an event")
        else {
            panic!("{line}")
        };
        journal.append(Entry { part: event.part, body: event.body }, time, Durability::Written).expect("appended");
    }
    journal.close().expect("closed");
    home.run(&["inbox", "answer", RUN, "go"]).expect_code(4).expect_text("its deadline passed");
    home.run(&["work", "--once"]).expect_code(0).expect_text("declined");
    let journal = home.journal(RUN);
    assert_eq!(journal.iter().filter(|event| event["type"] == "expired").count(), 1);
    assert!(answers(&home, RUN).is_empty());
    home.run(&["replay", RUN]).expect_code(0);
}

/// The event without what the journal adds to it.
fn reordered(event: &Value) -> Value {
    let mut event = event.as_object().expect("an object").clone();
    event.remove("prev");
    Value::Object(event)
}

/// Returns the notices that the operator's program got: a title and a text each time.
fn told(home: &TestHome) -> Vec<(String, String)> {
    let text = home.read("told");
    let words: Vec<&str> = text.split_terminator('\0').collect();
    words.chunks(2).map(|pair| (pair[0].to_owned(), pair[1].to_owned())).collect()
}

/// A configuration whose program writes down what it is told.
fn telling(home: &TestHome, more: &str) {
    let script = "#!/bin/sh\nprintf '%s\\0%s\\0' \"$1\" \"$2\" >> \"${0%tell.sh}told\"\n";
    let program = home.write("tell.sh", script);
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("set");
    home.write("home/config.toml", format!("[notify]\ncommand = ['{}']\n{more}", program.display()));
}

#[test]
fn a_parked_run_is_told_of_once_and_in_quiet_hours_only_if_critical() {
    let home = TestHome::new();
    let options = [(Choice::Once, "y"), (Choice::Deny, "n")];
    let held = question(QuestionKind::Destructive, "May it?\u{1b}[2J\n  `rm -r $(touch owned)`", &options, None);
    let step = question(QuestionKind::Step, "Go on?", &[(Choice::Done, "done")], None);
    asking(&home, "told", &[held, step]);
    let hour = jiff::tz::TimeZone::UTC.to_datetime(Timestamp::now()).hour();
    let (from, to) = ((hour + 23) % 24, (hour + 2) % 24);
    let quiet = format!("{{from = '{from:02}:00', to = '{to:02}:00', zone = 'UTC', critical = ['destructive']}}");
    telling(&home, &format!("quiet = {quiet}\n"));
    home.run(&["work", "--once"]).expect_code(0);
    let first = told(&home);
    assert_eq!(first.len(), 1, "{first:?}");
    assert_eq!(first[0].0, "Adjutant waits for you: destructive");
    assert!(first[0].1.starts_with("told (destructive): May it?\\u{1b}[2J\n"), "{first:?}");
    assert!(!first[0].1.contains("rm -r"), "no more than the first line: {first:?}");
    home.run(&["work", "--once"]).expect_code(0);
    assert_eq!(told(&home).len(), 1, "once");
    telling(&home, "");
    home.run(&["work", "--once"]).expect_code(0);
    let all = told(&home);
    assert_eq!((all.len(), all[1].0.as_str()), (2, "Adjutant waits for you: step"));
    // What a project says of it is an error, not a program that runs.
    home.write("work/.adjutant/config.toml", "[notify]\ncommand = ['./evil']\n");
    home.run(&["trust", "add", "--yes"]).expect_code(2).expect_text("is not taken from a project");
}

#[test]
fn a_webhook_is_told_signed_and_what_fails_is_told_again() {
    use std::io::Write as _;
    use std::sync::mpsc::channel;

    let home = TestHome::new();
    let options = [(Choice::Continue, "ok"), (Choice::Done, "done")];
    asking(&home, "hook", &[question(QuestionKind::Step, "Go on?", &options, None)]);
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let (send, asked) = channel();
    std::thread::spawn(move || {
        for (stream, status) in listener.incoming().zip(["403 No", "200 OK"]) {
            let mut stream = stream.expect("a connection");
            send.send(crate::loopback::request(&stream)).expect("somebody reads");
            let answer = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
            stream.write_all(answer.as_bytes()).expect("the client reads");
        }
    });
    home.write("home/config.toml", format!("[notify]\nwebhook = 'http://127.0.0.1:{port}/secret-path'\n"));
    home.write("home/keys.toml", "notify = 'hook-secret-4711'\n");
    fs::set_permissions(home.path("home/keys.toml"), fs::Permissions::from_mode(0o600)).expect("set");
    // A machine of one's own is reached only where the operator lists it.
    let guarded = home.run(&["work", "--once"]).expect_code(0).expect_text("only https is");
    assert!(!guarded.stderr.contains("secret-path"), "{}", guarded.stderr);
    home.write("home/http-allow.json", r#"["private:127.0.0.1"]"#);
    home.run(&["work", "--once"]).expect_code(0).expect_text("status 403");
    home.run(&["work", "--once"]).expect_code(0);
    let _refused = asked.recv().expect("asked");
    let (head, body) = asked.recv().expect("asked again");
    assert_eq!((&body["version"], &body["questions"][0]["kind"]), (&json!(1), &json!("step")));
    let header = |name: &str| {
        let line = head.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_else(|| panic!("{name} in {head}"));
        line.trim().to_owned()
    };
    let seconds: i64 = header("x-adjutant-timestamp:").parse().expect("a number");
    let expected = adjutant_host::webhook::signature("hook-secret-4711", seconds, &body.to_string());
    assert_eq!(Some(header("x-adjutant-signature:")), expected);
    home.run(&["work", "--once"]).expect_code(0);
    assert!(asked.try_recv().is_err(), "told once");
}
