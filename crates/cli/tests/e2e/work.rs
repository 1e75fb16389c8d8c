//! A worker goes on with what nobody drives: what was answered, and what was killed; never with what an operator left
//! standing.

use std::fs::{self, File};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use adjutant_core::trace::wire;
use jiff::{SignedDuration, Timestamp};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::home::{RUN, Running, SUMMARY, TestHome};

const REPORT: &str = "## Phase 4\n\nDone.\n\n- Delivered: all of it.\n- Unresolved: nothing.\n";
const FIELDS: &str = "mode: auto\nauthorized_costs: ['*']";

/// A turn that runs a command.
fn turn(cmd: &str) -> Value {
    json!({"text": "I do it.", "calls": [{"tool": "shell_exec", "args": {"cmd": cmd}}]})
}

/// A pipe in a folder that commands see, and what a command does to wait at it until the test lets it go on: not for ever.
fn gate(home: &TestHome, name: &str) -> String {
    home.effects();
    pipe(home, name);
    format!("test ! -p '{0}' || timeout 60 cat '{0}'", place(home, name).display())
}

fn place(home: &TestHome, name: &str) -> PathBuf {
    home.path(&format!("shared/{name}"))
}

fn pipe(home: &TestHome, name: &str) {
    assert!(Command::new("mkfifo").arg(place(home, name)).status().expect("mkfifo").success());
}

/// Waits until a command is at the gate. What is given holds it there.
fn reached(home: &TestHome, name: &str) -> File {
    let without_waiting = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).expect("a flag");
    let open = || File::options().write(true).custom_flags(without_waiting).open(place(home, name)).ok();
    until(&format!("no command came to the gate `{name}`"), open)
}

/// Returns what `look` finds at last; looks for a minute at most.
pub fn until<T>(never: &str, look: impl Fn() -> Option<T>) -> T {
    let limit = Instant::now() + Duration::from_secs(60);
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < limit, "{never}");
        std::thread::yield_now();
    }
}

fn events(home: &TestHome, run: &str, kind: &str) -> Vec<Value> {
    home.journal(run).into_iter().filter(|event| event["type"] == kind).collect()
}

fn end(home: &TestHome, run: &str) -> Value {
    home.journal(run).last().expect("events")["type"].clone()
}

/// A run whose command waits at the gate `gate`, begun and answered; its process.
fn at_work(home: &TestHome, command: &str) -> (Running, File) {
    home.scripted(
        FIELDS,
        &json!([SUMMARY, turn(command), turn(command), turn(command), turn(command), {"repeat": 9, "text": REPORT}]),
    );
    let mut running = home.start(&["run", "../brief.md"]);
    running.until("? Is this summary what you want?");
    running.type_line("go");
    (running, reached(home, "gate"))
}

/// A run that was killed while its command waited at a gate that is gone.
fn killed() -> TestHome {
    let home = TestHome::new();
    let command = gate(&home, "gate");
    let (running, _held) = at_work(&home, &command);
    running.kill();
    fs::remove_file(place(&home, "gate")).expect("removed");
    home
}

/// Fails unless a worker leaves the journal as it is, and says what it says.
#[track_caller]
fn check_left(home: &TestHome, code: i32, said: &str) {
    let before = fs::read(home.journal_path(RUN)).expect("a journal");
    let worked = home.run(&["work", "--once"]).expect_code(code).expect_text(said);
    assert!(code != 0 || worked.stdout.is_empty() && worked.stderr.is_empty(), "{worked:?}");
    assert_eq!(fs::read(home.journal_path(RUN)).expect("a journal"), before);
}

#[test]
fn a_run_whose_process_was_killed_is_taken_up_by_a_worker() {
    let home = killed();
    home.run(&["work", "--once"]).expect_code(0).expect_text(&format!("run {RUN}: completed"));
    assert_eq!(events(&home, RUN, "interrupted").len(), 1);
    assert_eq!(events(&home, RUN, "run_resume").len(), 1);
    home.run(&["work", "--once"]).expect_code(0);
    assert_eq!(events(&home, RUN, "run_end").len(), 1);
    home.run(&["replay", RUN]).expect_code(0);
}

#[test]
fn what_an_operator_paused_stands_until_they_resume_it() {
    let home = TestHome::new();
    home.scripted("mode: auto", &json!([SUMMARY, {"repeat": 9, "text": REPORT}]));
    let mut running = home.start(&["run", "../brief.md"]);
    running.until("? Is this summary what you want?");
    running.until("no ");
    home.run(&["pause", RUN]).expect_code(0).expect_text("it stands still");
    // Its input stays open: it ends by what it was told.
    running.until("says (inbox): pause");
    running.finish().expect_code(130);
    check_left(&home, 0, "");
    home.run(&["resume", RUN]).expect_code(4);
    // It waits now, and an answer alone would have a worker go on with it.
    home.run(&["pause", RUN]).expect_code(0).expect_text("no worker goes on with it");
    home.run(&["inbox", "answer", RUN, "go"]).expect_code(0);
    check_left(&home, 0, "");
    home.run(&["resume", RUN]).expect_code(0).expect_text("answered by operator, inbox");
}

#[test]
fn what_nobody_drives_can_be_paused_too() {
    let home = killed();
    home.run(&["pause", RUN]).expect_code(0).expect_text("no worker goes on with it");
    check_left(&home, 0, "");
    home.run(&["resume", RUN]).expect_code(0).expect_text("completed");
}

#[test]
fn what_ctrl_c_interrupted_is_the_operators_to_resume() {
    let home = TestHome::new();
    let command = gate(&home, "gate");
    let (mut running, held) = at_work(&home, &command);
    running.signal(Signal::TERM);
    let interrupted = events_until_end(&mut running);
    drop(held);
    fs::remove_file(place(&home, "gate")).expect("removed");
    running.finish().expect_code(130);
    assert!(interrupted.contains("interrupted"), "{interrupted}");
    check_left(&home, 0, "");
    home.run(&["resume", RUN]).expect_code(0);
}

fn events_until_end(running: &mut Running) -> String {
    std::iter::from_fn(|| running.line()).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_run_at_its_limit_waits_for_more() {
    let home = TestHome::new();
    let more = "Not yet.";
    home.scripted(&format!("{FIELDS}\nmax_steps: 1"), &json!([SUMMARY, more, more, REPORT, REPORT]));
    home.run_with(&["run", "../brief.md"], b"go\n").expect_code(5);
    check_left(&home, 0, "");
}

#[test]
fn a_damaged_journal_is_left_and_said() {
    let home = killed();
    let text = fs::read_to_string(home.journal_path(RUN)).expect("a journal");
    let third = text.lines().nth(2).expect("a line");
    fs::write(home.journal_path(RUN), text.replacen(third, &third.replacen(':', ";", 1), 1)).expect("written");
    check_left(&home, 1, "is damaged: line 3: ");
}

#[test]
fn a_run_whose_folder_is_gone_is_left_and_said() {
    let home = killed();
    fs::rename(home.path("work"), home.path("moved")).expect("moved");
    fs::create_dir(home.path("other")).expect("made");
    let before = fs::read(home.journal_path(RUN)).expect("a journal");
    let mut command = home.adjutant(&["work", "--once"]);
    let worked = command.current_dir(home.path("other")).output().expect("it starts");
    let said = String::from_utf8_lossy(&worked.stderr).into_owned();
    assert_eq!(worked.status.code(), Some(1), "{said}");
    assert!(said.starts_with(&format!("error: run {RUN}: ")) && said.lines().count() == 1, "{said}");
    assert_eq!(fs::read(home.journal_path(RUN)).expect("a journal"), before);
}

#[test]
fn a_run_that_ends_its_worker_each_time_is_left_after_three() {
    let home = TestHome::new();
    let command = gate(&home, "gate");
    let (running, held) = at_work(&home, &command);
    running.kill();
    drop(held);
    for _ in 0..3 {
        let mut worker = home.start(&["work", "--once"]);
        // The command waits at the gate; what the worker before had there may not be gone yet.
        worker.until("\u{2192} shell_exec");
        worker.kill();
    }
    fs::remove_file(place(&home, "gate")).expect("removed");
    check_left(&home, 1, &format!("run {RUN} is left: the process that ran it died 3 times in a row"));
    home.run(&["resume", RUN]).expect_code(0).expect_text("completed");
}

/// Three parked and answered runs of one brief, each with a command and a folder of its own.
fn three_answered(home: &TestHome, commands: [&str; 3]) -> [String; 3] {
    home.scripted(FIELDS, &json!([]));
    for (number, command) in (1..).zip(commands) {
        let script = json!([SUMMARY, turn(command), {"repeat": 9, "text": REPORT}]);
        home.write(&format!("script-{number}.json"), script.to_string());
        let workdir = home.path(&format!("work-{number}"));
        fs::create_dir(&workdir).expect("a folder");
        let (script, workdir) = (format!("../script-{number}.json"), workdir.display().to_string());
        home.run(&["run", "../brief.md", "--new", "--workdir", &workdir, "--script", &script]).expect_code(4);
    }
    answered(home)
}

/// The three runs of one brief, each with its summary answered.
fn answered(home: &TestHome) -> [String; 3] {
    let runs = [RUN.to_owned(), format!("{RUN}-r2"), format!("{RUN}-r3")];
    for run in &runs {
        home.run(&["inbox", "answer", &format!("{run}:session:ask/1.1"), "go"]).expect_code(0);
    }
    runs
}

/// Three commands that wait for each other in a ring: none of them ends unless all are there at once.
fn barrier(home: &TestHome) -> [String; 3] {
    home.effects();
    let at = |name: &str| place(home, name).display().to_string();
    for name in ["1", "2", "3"] {
        pipe(home, name);
    }
    let (one, two, three) = (at("1"), at("2"), at("3"));
    [
        format!("timeout 60 sh -c 'echo on > {one}; cat {three}'"),
        format!("timeout 60 sh -c 'cat {one}; echo on > {two}'"),
        format!("timeout 60 sh -c 'cat {two}; echo on > {three}'"),
    ]
}

#[test]
fn a_worker_with_three_jobs_drives_three_runs_at_once() {
    let home = TestHome::new();
    let commands = barrier(&home);
    let runs = three_answered(&home, [&commands[0], &commands[1], &commands[2]]);
    let worked = home.run(&["work", "--once", "--jobs", "3"]).expect_code(0);
    for run in &runs {
        assert_eq!(end(&home, run), "run_end");
        assert_eq!(events(&home, run, "tool_result")[0]["success"], true, "{run}");
        assert!(worked.stdout.contains(&format!("\n{run} | run {run}: completed\n")), "{}", worked.stdout);
    }
    for line in worked.stdout.lines() {
        assert!(runs.iter().any(|run| line.starts_with(&format!("{run} |"))), "{line}");
    }
    for run in &runs {
        home.run(&["replay", run]).expect_code(0);
    }
}

#[test]
fn a_worker_goes_on_with_the_runs_of_one_folder_one_after_the_other() {
    let home = TestHome::new();
    home.scripted(FIELDS, &json!([SUMMARY, turn("true"), {"repeat": 9, "text": REPORT}]));
    for _ in 0..3 {
        home.run(&["run", "../brief.md", "--new"]).expect_code(4);
    }
    let runs = answered(&home);
    home.run(&["work", "--once", "--jobs", "3"]).expect_code(0);
    let at = |run: &str, kind: &str| events(&home, run, kind)[0]["at"].as_str().expect("a time").to_owned();
    let mut sittings = runs.map(|run| (at(&run, "run_resume"), at(&run, "run_end")));
    sittings.sort();
    for pair in sittings.windows(2) {
        assert!(pair[0].1 <= pair[1].0, "{sittings:?}");
    }
}

/// Makes all that is in a journal so much older.
fn age(home: &TestHome, run: &str, by: SignedDuration) {
    let path = home.journal_path(run);
    let mut lines: Vec<String> = Vec::new();
    for line in fs::read_to_string(&path).expect("a journal").lines() {
        let (before, rest) = line.split_once(r#""at":""#).expect("a time");
        let (at, rest) = rest.split_once('"').expect("its end");
        let at: Timestamp = at.parse().expect("a time");
        let mut line = format!(r#"{before}"at":"{}"{rest}"#, adjutant_core::words::moment::timestamp(at - by));
        if let Some(last) = lines.last() {
            let (kept, _) = line.rsplit_once(r#","prev":""#).expect("the hash of the line before");
            line = format!(r#"{kept},"prev":"{}"}}"#, wire::line_hash(last.as_bytes()));
        }
        lines.push(line);
    }
    let whole = fs::read_to_string(&path).expect("a journal");
    fs::write(&path, lines.join("\n") + "\n").expect("written");
    // How far its driver wrote is beside it.
    let lease = format!("home/sessions/{run}.lease");
    let hash_of_last = |text: &str| wire::line_hash(text.lines().last().expect("a line").as_bytes());
    home.write(&lease, home.read(&lease).replace(&hash_of_last(&whole), &hash_of_last(&lines.join("\n"))));
}

#[test]
fn a_run_that_waits_long_for_its_provider_leaves_its_place_to_others_until_the_wait_is_over() {
    let home = TestHome::new();
    let busy = json!({"kind": "busy", "message": "no room", "times": 1, "after_ms": 600_000});
    home.scripted(FIELDS, &json!([SUMMARY, {"fail": busy, "text": "On with it."}, {"repeat": 9, "text": REPORT}]));
    home.run(&["run", "../brief.md"]).expect_code(4);
    let quick = json!([SUMMARY, {"repeat": 9, "text": REPORT}]);
    home.write("quick.json", quick.to_string());
    fs::create_dir(home.path("elsewhere")).expect("a folder");
    let other = ["run", "../brief.md", "--new", "--workdir", "../elsewhere", "--script", "../quick.json"];
    home.run(&other).expect_code(4);
    let second = format!("{RUN}-r2");
    for run in [RUN, &second] {
        home.run(&["inbox", "answer", &format!("{run}:session:ask/1.1"), "go"]).expect_code(0);
    }

    home.run(&["work", "--once"])
        .expect_code(0)
        .expect_text(&format!("run {RUN}: sleeps until "))
        .expect_text(&format!("run {second}: completed"));
    assert_eq!(end(&home, RUN), "timer");
    home.run(&["list"]).expect_code(0).expect_text("sleeps until ");
    let first = format!("{RUN}-r1");
    home.run(&["inspect", &first]).expect_code(0).expect_text("Waits for:  its provider, until ");

    let before = home.journal(RUN);
    home.run(&["work", "--once"]).expect_code(0);
    assert_eq!(home.journal(RUN), before, "it is not taken up before the wait is over");

    age(&home, RUN, SignedDuration::from_mins(15));
    home.run(&["work", "--once"]).expect_code(0).expect_text(&format!("run {RUN}: completed"));
    assert_eq!(events(&home, RUN, "expired").len(), 1);
    assert_eq!(events(&home, RUN, "agent_failed").len(), 1);
}

#[test]
fn what_sleeps_or_waits_is_stopped_by_the_next_worker() {
    for (is_answered, stood_at) in [(true, "timer"), (false, "question")] {
        let home = TestHome::new();
        let busy = json!({"kind": "busy", "message": "no room", "times": 1, "after_ms": 600_000});
        home.scripted(FIELDS, &json!([SUMMARY, {"fail": busy, "text": "On with it."}]));
        home.run(&["run", "../brief.md"]).expect_code(4);
        if is_answered {
            home.run(&["inbox", "answer", &format!("{RUN}:session:ask/1.1"), "go"]).expect_code(0);
        }
        home.run(&["work", "--once"]).expect_code(0);
        assert_eq!(end(&home, RUN), stood_at);
        home.run(&["stop", RUN]).expect_code(0);
        home.run(&["work", "--once"]).expect_code(0).expect_text(&format!("run {RUN}: stopped"));
        assert_eq!(events(&home, RUN, "run_end")[0]["outcome"], "stopped");
    }
}

#[test]
fn lines_of_json_name_their_run() {
    let home = TestHome::new();
    let runs = three_answered(&home, ["true", "true", "true"]);
    let worked = home.run(&["work", "--once", "--jobs", "2", "--json"]).expect_code(0);
    let lines: Vec<Value> = worked.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    for run in &runs {
        let of_run: Vec<u64> = lines
            .iter()
            .filter(|line| line["run"] == **run && line["type"] != "sitting_end")
            .map(|line| line["seq"].as_u64().expect("a number"))
            .collect();
        let resumed = events(&home, run, "run_resume")[0]["seq"].as_u64().expect("a number");
        let last = home.journal(run).last().expect("events")["seq"].as_u64().expect("a number");
        assert_eq!(of_run, (resumed..=last).collect::<Vec<_>>());
    }
    home.run(&["work", "--jobs", "0"]).expect_code(2);
}

#[test]
fn ctrl_c_stops_all_that_a_worker_drives_and_the_next_worker_goes_on() {
    let home = TestHome::new();
    let (first, second) = (gate(&home, "first"), gate(&home, "second"));
    let runs = three_answered(&home, [&first, &second, "true"]);
    let worker = home.start(&["work", "--jobs", "2"]);
    let held = (reached(&home, "first"), reached(&home, "second"));
    worker.signal(Signal::INT);
    worker.finish().expect_code(130);
    drop(held);
    for run in &runs[..2] {
        let said = &events(&home, run, "operator_message");
        assert_eq!(
            (said.len(), &said[0]["message"], &said[0]["by"]),
            (1, &json!("interrupt"), &json!("worker")),
            "{run}"
        );
        assert_eq!(events(&home, run, "tool_cancelled").len() + events(&home, run, "tool_result").len(), 1, "{run}");
    }
    assert_eq!(events(&home, &runs[2], "run_resume").len(), 0, "it was never begun");
    for name in ["first", "second"] {
        fs::remove_file(place(&home, name)).expect("removed");
    }
    home.run(&["work", "--once", "--jobs", "3"]).expect_code(0);
    for run in &runs {
        assert_eq!(end(&home, run), "run_end", "{run}");
    }
}

#[test]
fn a_pause_of_one_run_leaves_the_worker_to_the_others() {
    let home = TestHome::new();
    let (first, second) = (gate(&home, "first"), gate(&home, "second"));
    let runs = three_answered(&home, [&first, &second, "true"]);
    let worker = home.start(&["work"]);
    let held = reached(&home, "first");
    home.run(&["pause", &format!("{RUN}-r1"), "--now"]).expect_code(0);
    // The second is taken up only when the first was let go.
    let held_too = reached(&home, "second");
    drop(held);
    fs::remove_file(place(&home, "first")).expect("removed");
    worker.signal(Signal::INT);
    worker.finish().expect_code(130);
    drop(held_too);
    fs::remove_file(place(&home, "second")).expect("removed");
    home.run(&["work", "--once"]).expect_code(0);
    let ends = runs.each_ref().map(|run| events(&home, run, "run_end").len());
    assert_eq!(ends, [0, 1, 1], "what was paused stands, what the worker let go does not");
}

#[test]
fn fault_a_run_that_was_killed_at_its_birth_is_no_run() {
    let home = TestHome::new();
    home.scripted("mode: auto", &json!([SUMMARY, {"repeat": 9, "text": REPORT}]));
    home.run(&["run", "../brief.md"]).expect_code(4);
    let whole = fs::read(home.journal_path(RUN)).expect("a journal");
    let first_line = whole.iter().position(|byte| *byte == b'\n').expect("a line");
    // With its header alone nobody knows what it was to do.
    for cut in [0, 1, first_line / 2, first_line, first_line + 1, first_line + 9] {
        fs::write(home.journal_path(RUN), &whole[..cut]).expect("cut");
        // Whoever is killed there has named no line behind the header.
        fs::remove_file(home.path(&format!("home/sessions/{RUN}.lease"))).expect("removed");
        assert_eq!(home.run(&["list", "--json"]).expect_code(0).stdout.trim(), "[]", "{cut}");
        home.run(&["inbox"]).expect_code(0);
        let worked = home.run(&["work", "--once"]).expect_code(0);
        assert_eq!(worked.stdout + &worked.stderr, "", "{cut}");
        home.run(&["resume", RUN]).expect_code(1).expect_text(&format!("there is no run `{RUN}`"));
        home.run(&["run", "../brief.md"]).expect_code(4).expect_text(&format!("run {RUN}: waiting"));
        assert_eq!(home.journal(RUN)[0]["type"], "trace_version", "{cut}");
    }
    home.run_with(&["resume", RUN], b"go\n").expect_code(0);
}

#[test]
fn an_answer_that_was_claimed_when_its_driver_was_killed_is_used_by_the_next() {
    let home = TestHome::new();
    home.scripted("mode: auto", &json!([SUMMARY, {"repeat": 9, "text": REPORT}]));
    let mut running = home.start(&["run", "../brief.md"]);
    running.until("<anything else>");
    running.until("no ");
    // Nothing can be recorded from here on, so that the kill comes after the claim and before the record.
    let journal = File::open(home.journal_path(RUN)).expect("a journal");
    journal.lock().expect("locked");
    running.type_line("two files");
    let mailbox = format!("home/sessions/{RUN}.mailbox.jsonl");
    until("the claim never came", || home.read(&mailbox).ends_with('\n').then_some(()));
    running.kill();
    drop(journal);
    let claimed: Value = serde_json::from_str(home.read(&mailbox).trim()).expect("one line");
    assert_eq!((&claimed["whence"], &claimed["text"]), (&json!("terminal"), &json!("two files")));
    assert_eq!(events(&home, RUN, "answer").len(), 0, "it is not on record yet");
    // The next driver is a worker: nobody has to say it again.
    home.run(&["work", "--once"]).expect_code(0);
    let recorded = events(&home, RUN, "answer");
    assert_eq!((recorded.len(), &recorded[0]["id"], &recorded[0]["text"]), (1, &claimed["id"], &claimed["text"]));
    assert_eq!(home.read(&mailbox).lines().count(), 1);
}
