//! Sessions of the labelled set: an agent that repeats itself in four ways, and agents that look like it and don't.
//!
//! Begin with [`all`].

use std::collections::BTreeMap;

use adjutant_core::trace::WorkOptions;
use adjutant_core::words::{CancelledBy, Choice, FailureKind, QuestionKind};
use serde_json::{Value, json};

use super::script::{ScriptedCall, ScriptedEnd, ScriptedFiles, ScriptedRun, ScriptedTurn};
use super::{LabelledRun, LabelledSignal, ScenarioClass};
use crate::world;

const DONE: &str = "## Phase 4\n\nDelivered: the fix and its test.";
const REPORT: &str = "## Phase 4\n\nReport: all is delivered.";
const PART: &str = "session";

/// Words that no two turns share.
const WORDS: [&str; 30] = [
    "amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heron", "inlet", "jade", "kelp", "lotus", "maple",
    "nadir", "ocean", "pearl", "quartz", "raven", "slate", "thorn", "umber", "vale", "willow", "xenon", "yarrow",
    "zephyr", "acorn", "basil", "coral", "dune",
];

/// All sessions of the set.
pub fn all() -> Vec<LabelledRun> {
    [same_calls(), alternating(), same_error(), polling(), fine(), waiting(), infrastructure()].concat()
}

/// Returns a session whose agent takes these turns between its summary and its report.
fn session(turns: Vec<ScriptedTurn>) -> ScriptedRun {
    let says = |text: &str| ScriptedTurn::Says(text.to_owned());
    let script = [vec![says(world::SUMMARY)], turns, vec![says(DONE), says(REPORT)]].concat();
    ScriptedRun {
        work: WorkOptions::default(),
        turns: BTreeMap::from([(PART.to_owned(), script)]),
        answers: Vec::new(),
        messages: Vec::new(),
        files: ScriptedFiles { tree: Some("before".to_owned()), passes: true },
    }
}

fn labelled(
    class: ScenarioClass,
    way: &'static str,
    name: impl Into<String>,
    shows: &[LabelledSignal],
    run: ScriptedRun,
) -> LabelledRun {
    LabelledRun { class, way, name: name.into(), shows: shows.to_vec(), run }
}

fn call(tool: &'static str, args: Value, end: ScriptedEnd) -> ScriptedCall {
    ScriptedCall { tool, args, end, leaves: None }
}

fn turn(call: ScriptedCall) -> ScriptedTurn {
    ScriptedTurn::Calls(vec![call])
}

/// Returns the text of a process that ended, as the tool words it.
fn process(exit_code: i32, stdout: &str, stderr: &str) -> String {
    format!("Exited with code {exit_code}.\n\nstdout:\n{stdout}\n\nstderr:\n{stderr}")
}

fn ran(command: &str, stdout: &str) -> ScriptedCall {
    call("shell_exec", json!({"cmd": command}), ScriptedEnd::Works(process(0, stdout, "")))
}

fn ran_in_vain(command: &str, exit_code: i32, stdout: &str, stderr: &str) -> ScriptedCall {
    let end = ScriptedEnd::Fails(None, Some(exit_code), process(exit_code, stdout, stderr));
    call("shell_exec", json!({"cmd": command}), end)
}

fn read(path: &str, content: &str) -> ScriptedCall {
    call("read_file", json!({"path": path}), ScriptedEnd::Works(content.to_owned()))
}

fn write(path: &str, content: &str) -> ScriptedCall {
    let end = ScriptedEnd::Works(format!("Replaced {path}: wrote {} bytes.", content.len()));
    call("write_file", json!({"path": path, "content": content}), end)
}

fn waited(args: Value) -> ScriptedCall {
    call("wait_for", args, ScriptedEnd::Works("30 s are over.".to_owned()))
}

fn waited_in_vain(args: Value) -> ScriptedCall {
    let text = "The limit of 600 s was over before the port was open.";
    call("wait_for", args, ScriptedEnd::Fails(Some("WAIT_OVER"), None, text.to_owned()))
}

fn fetched_in_vain(page: &str, code: &'static str) -> ScriptedCall {
    let end = ScriptedEnd::Fails(Some(code), None, "no answer from example.org".to_owned());
    call("http_fetch", json!({"url": format!("https://example.org/{page}")}), end)
}

/// Returns turns of work that each brings something new.
fn work(turns: usize) -> Vec<ScriptedTurn> {
    work_from(0, turns)
}

/// Returns turns of work after so many others.
fn work_from(first: usize, turns: usize) -> Vec<ScriptedTurn> {
    let one = |number: usize| turn(read(&format!("src/{}.rs", WORDS[number % 30]), WORDS[(number + 7) % 30]));
    (first..first + turns).map(one).collect()
}

/// Returns the turns that `one` makes of the numbers from 0.
fn times(count: usize, one: impl Fn(usize) -> ScriptedTurn) -> Vec<ScriptedTurn> {
    (0..count).map(one).collect()
}

/// Returns a run whose operator says something after so many turns, the summary among them.
fn hinted(mut run: ScriptedRun, after: usize) -> ScriptedRun {
    run.messages.push((PART.to_owned(), after, "look at the callers first"));
    run
}

/// Returns a run whose operator answers the first question with a hint.
fn answered(mut run: ScriptedRun) -> ScriptedRun {
    run.answers.push((QuestionKind::Stuck, Choice::Say, "look at the callers first"));
    run
}

fn same_calls() -> Vec<LabelledRun> {
    let stuck = |name: String, run| {
        let way = "equal successful calls";
        labelled(ScenarioClass::Stuck, way, name, &[LabelledSignal::SameCalls], run)
    };
    let equal = |_| turn(read("src/price.rs", "fn price() {}"));
    let cosmetic = |number: usize| {
        let args = json!({"cmd": "cat src/price.rs", "description": WORDS[number]});
        turn(call("shell_exec", args, ScriptedEnd::Works(process(0, "fn price() {}", ""))))
    };
    let two = |_| ScriptedTurn::Calls(vec![read("src/a.rs", "a"), read("src/b.rs", "b")]);
    // The same tests pass again and again, in another time each.
    let timed = |number: usize| {
        turn(ran("cargo test", &format!("test result: ok. 12 passed; 0 failed; finished in 0.{number:02}s")))
    };
    let mut set: Vec<LabelledRun> =
        [12, 20, 40].map(|count| stuck(format!("one read, {count} times"), session(times(count, equal)))).into();
    set.push(stuck("a command with another description each time".to_owned(), session(times(16, cosmetic))));
    set.push(stuck("two reads in each turn".to_owned(), session(times(14, two))));
    set.push(stuck("after eight turns of work".to_owned(), session([work(8), times(14, equal)].concat())));
    for after in [3, 7] {
        set.push(stuck(format!("a hint after turn {after}"), hinted(session(times(20, equal)), after)));
    }
    set.push(stuck("a hint at the question".to_owned(), answered(session(times(24, equal)))));
    set.push(stuck("tests that pass, in another time each".to_owned(), session(times(20, timed))));
    set
}

fn alternating() -> Vec<LabelledRun> {
    let stuck = |name: String, run| {
        let way = "states in turn in a session";
        labelled(ScenarioClass::Stuck, way, name, &[LabelledSignal::Alternating], run)
    };
    let reads = |period: usize| times(24, |number| turn(read(&format!("src/{}.rs", WORDS[number % period]), "it")));
    let writes = |period: usize| times(24, |number| turn(write("src/price.rs", WORDS[number % period])));
    let mut set = Vec::new();
    for period in 2..=5 {
        set.push(stuck(format!("{period} reads in turn"), session(reads(period))));
        set.push(stuck(format!("one file in {period} states in turn"), session(writes(period))));
    }
    set.push(stuck("after six turns of work".to_owned(), session([work(6), writes(2)].concat())));
    set.push(stuck("a hint after turn 6".to_owned(), hinted(session(writes(3)), 6)));
    set
}

fn same_error() -> Vec<LabelledRun> {
    let stuck = |name: String, run| {
        let way = "one error, other arguments";
        labelled(ScenarioClass::Stuck, way, name, &[LabelledSignal::SameError], run)
    };
    let fails = |tool, args, code, text: String| turn(call(tool, args, ScriptedEnd::Fails(Some(code), None, text)));
    // The error names the path, which is another each time.
    let missing = |number: usize| {
        let path = format!("src/{}.rs", WORDS[number]);
        let text = format!("can't use `{path}`: No such file or directory (os error 2)");
        fails("read_file", json!({"path": path}), "ENOENT", text)
    };
    let numbered = |number: usize| {
        let path = format!("src/part_{number}.rs");
        let text = format!("can't use `{path}`: No such file or directory (os error 2)");
        fails("read_file", json!({"path": path}), "ENOENT", text)
    };
    let locked = |number: usize| {
        let stderr = "error: could not lock the index: Permission denied";
        turn(ran_in_vain(&format!("make {}", WORDS[number]), 2, "", stderr))
    };
    let unknown = |number: usize| {
        let stderr = format!("cat: src/{}.rs: No such file or directory", WORDS[number]);
        turn(ran_in_vain(&format!("cat src/{}.rs", WORDS[number]), 1, "", &stderr))
    };
    let hunks = |number: usize| {
        let diff = format!("--- a/price.rs\n+++ b/price.rs\n@@ -{number},1 +{number},1 @@\n-{}\n+it\n", WORDS[number]);
        fails(
            "apply_patch",
            json!({"diff": diff}),
            "HUNK_FAILED",
            format!("price.rs: hunk 1 (line {number} of the patch)"),
        )
    };
    let escapes = |number: usize| {
        let path = format!("link/{}.rs", WORDS[number]);
        let text = "It leads out of the working folder.".to_owned();
        fails("write_file", json!({"path": path, "content": "it"}), "PATH_ESCAPE", text)
    };
    let mut set: Vec<LabelledRun> =
        [11, 24].map(|count| stuck(format!("a lock that stays, {count} times"), session(times(count, locked)))).into();
    set.push(stuck("missing files with numbers".to_owned(), session(times(16, numbered))));
    set.push(stuck("missing files with names".to_owned(), session(times(16, missing))));
    set.push(stuck("missing files, in a shell".to_owned(), session(times(16, unknown))));
    set.push(stuck("a patch that does not fit".to_owned(), session(times(16, hunks))));
    set.push(stuck("a way out of the folder".to_owned(), session(times(16, escapes))));
    set.push(stuck("after five turns of work".to_owned(), session([work(5), times(14, locked)].concat())));
    set.push(stuck("a hint after turn 5".to_owned(), hinted(session(times(20, locked)), 5)));
    set
}

fn polling() -> Vec<LabelledRun> {
    let stuck = |name: String, signal, run| labelled(ScenarioClass::Stuck, "busy polling", name, &[signal], run);
    let status = |_| turn(ran("tail -n 1 build.log", "linking"));
    let sleeping = |_| turn(ran("sleep 5", ""));
    let listed = |_| {
        let end = ScriptedEnd::Works("main.rs\nprice.rs".to_owned());
        turn(call("list_dir", json!({"path": "out"}), end))
    };
    let in_turn = |number: usize| if number.is_multiple_of(2) { status(number) } else { sleeping(number) };
    // The wait says how long it has been, so that no two results are equal.
    let clocked = |number: usize| turn(ran("tail -n 1 build.log", &format!("linking, {} s", 5 * number)));
    let absent = |_| turn(ran_in_vain("test -f out/done", 1, "", ""));
    let mut set: Vec<LabelledRun> = [12, 30]
        .map(|count| stuck(format!("a log, {count} times"), LabelledSignal::SameCalls, session(times(count, status))))
        .into();
    set.push(stuck("a folder".to_owned(), LabelledSignal::SameCalls, session(times(14, listed))));
    set.push(stuck("a file that is not there".to_owned(), LabelledSignal::SameCalls, session(times(14, absent))));
    set.push(stuck("a log and a sleep in turn".to_owned(), LabelledSignal::Alternating, session(times(24, in_turn))));
    let hint = hinted(session(times(20, status)), 4);
    set.push(stuck("a hint after turn 4".to_owned(), LabelledSignal::SameCalls, hint));
    set.push(stuck("a log with a clock in it".to_owned(), LabelledSignal::SameCalls, session(times(24, clocked))));
    // After three failures the same call is not made any more, and the agent goes on asking for it.
    let run = session(times(16, |_| turn(fetched_in_vain("spec", "FETCH_ERROR"))));
    set.push(stuck("a page out of reach".to_owned(), LabelledSignal::SameCalls, run));
    set
}

fn fine() -> Vec<LabelledRun> {
    let fine = |way, name: String, run| labelled(ScenarioClass::Fine, way, name, &[], run);
    let mut set = Vec::new();
    for files in [15, 30] {
        let edits = times(files, |number| turn(write(&format!("src/{}.rs", WORDS[number]), "renamed")));
        set.push(fine("long refactoring", format!("{files} files"), session(edits)));
    }
    let rewrites = times(25, |number| turn(write("src/price.rs", &WORDS[..=number].join("\n"))));
    set.push(fine("long refactoring", "one file, 25 edits".to_owned(), session(rewrites)));
    for reads in [20, 30] {
        set.push(fine("many different reads", format!("{reads} files"), session(work(reads))));
    }
    let parts = times(24, |number| {
        let args = json!({"path": "src/price.rs", "offset": 100 * number, "limit": 100});
        turn(call("read_file", args, ScriptedEnd::Works(format!("part {}", WORDS[number]))))
    });
    set.push(fine("many different reads", "one file in 24 parts".to_owned(), session(parts)));
    let searches = times(14, |number| turn(ran_in_vain(&format!("grep -rn {} src", WORDS[number]), 1, "", "")));
    set.push(fine("many different reads", "14 searches without a match".to_owned(), session(searches)));
    let edit = |number: usize| turn(write("src/price.rs", WORDS[number]));
    let passes = || turn(ran("cargo test", "test result: ok. 12 passed"));
    let fails = || turn(ran_in_vain("cargo test", 101, "test ten_pieces ... FAILED", "error: test failed"));
    for cycles in [8, 20] {
        let run: Vec<ScriptedTurn> = (0..cycles).flat_map(|number| [edit(number), passes()]).collect();
        set.push(fine("the same test after each edit", format!("{cycles} times, passes"), session(run)));
        let run: Vec<ScriptedTurn> = (0..cycles).flat_map(|number| [edit(number), fails()]).collect();
        set.push(fine("the same test after each edit", format!("{cycles} times, fails"), session(run)));
    }
    let at_once = times(16, |number| {
        let test = ran_in_vain("cargo test", 101, "test ten_pieces ... FAILED", "error: test failed");
        ScriptedTurn::Calls(vec![write("src/price.rs", WORDS[number]), test])
    });
    set.push(fine("the same test after each edit", "in the same turn".to_owned(), session(at_once)));
    let looked = (0..10).flat_map(|number| [edit(number), turn(read("src/lib.rs", "mod price;")), fails()]);
    set.push(fine("the same test after each edit", "a read between".to_owned(), session(looked.collect())));
    // Each test fails for a reason of its own, and nothing is edited until all are known.
    let triage = times(14, |number| {
        let word = WORDS[number];
        let reason = WORDS[(number + 11) % 30];
        let stdout = format!("running 1 test\ntest {word} ... FAILED\n\nassertion failed: {reason}.is_empty()");
        turn(ran_in_vain(&format!("cargo test {word}"), 101, &stdout, "error: test failed"))
    });
    set.push(fine("failing tests one by one", "14 tests".to_owned(), session(triage)));
    let sources = times(12, |number| {
        let stderr = format!("error[E0425]: cannot find value `{}` in this scope", WORDS[number]);
        turn(ran_in_vain(&format!("cargo check -p {}", WORDS[number + 5]), 101, "", &stderr))
    });
    set.push(fine("failing tests one by one", "12 crates that do not compile".to_owned(), session(sources)));
    for looks in [4, 8] {
        let again = times(looks, |_| turn(read("src/price.rs", "fn price() {}")));
        let run = session([work(4), again, work_from(4, 6)].concat());
        set.push(fine("a moment of doubt", format!("one read {looks} times, then goes on"), run));
    }
    set
}

fn waiting() -> Vec<LabelledRun> {
    let waiting = |way, name: String, run| labelled(ScenarioClass::Waiting, way, name, &[], run);
    let mut set = Vec::new();
    for count in [5, 12, 30] {
        let run = session(times(count, |_| turn(waited(json!({"seconds": 30})))));
        set.push(waiting("declared by wait_for", format!("30 seconds, {count} times"), run));
    }
    let in_vain = times(14, |_| turn(waited_in_vain(json!({"port": 8080, "limit_seconds": 600}))));
    set.push(waiting("declared by wait_for", "a port that stays closed, 14 times".to_owned(), session(in_vain)));
    let look = || ran("tail -n 1 build.log", "linking");
    let beside = times(14, |_| ScriptedTurn::Calls(vec![waited(json!({"seconds": 30})), look()]));
    set.push(waiting("declared by wait_for", "a wait and a look in each turn".to_owned(), session(beside)));
    let between = (0..14).flat_map(|_| [turn(waited(json!({"seconds": 30}))), turn(look())]).collect();
    set.push(waiting("declared by wait_for", "a wait and a look in turn".to_owned(), session(between)));
    let blocked = vec![ScriptedTurn::Says(
        "## Phase 2\n\nI am blocked: the key for the test server is missing. Tried: the one in the brief. Needed: a new \
         one."
            .to_owned(),
    )];
    let answered = |mut run: ScriptedRun| {
        run.answers.push((QuestionKind::Blocker, Choice::Context, "the key is in the safe"));
        run
    };
    set.push(waiting("an operator's answer", "never given".to_owned(), session([work(3), blocked.clone()].concat())));
    let run = answered(session([work(3), blocked, work_from(3, 3)].concat()));
    set.push(waiting("an operator's answer", "given after a blocker".to_owned(), run));
    for (failures, asked_ms) in [(3, Some(60_000)), (8, None), (12, Some(30_000))] {
        let busy = times(failures, |_| ScriptedTurn::Fails(FailureKind::Busy, asked_ms));
        let run = session([work(2), busy, work_from(2, 2)].concat());
        set.push(waiting("a provider that is busy", format!("{failures} times"), run));
    }
    set
}

fn infrastructure() -> Vec<LabelledRun> {
    let down = |way, name: String, run| labelled(ScenarioClass::Infrastructure, way, name, &[], run);
    let mut set = Vec::new();
    for (kind, failures) in [(FailureKind::Unreached, 6), (FailureKind::Transient, 4), (FailureKind::Unreached, 60)] {
        let failed = times(failures, |_| ScriptedTurn::Fails(kind, None));
        let run = session([work(2), failed, work_from(2, 2)].concat());
        set.push(down("provider down", format!("{failures} failures ({kind:?})"), run));
    }
    for (by, count) in [(CancelledBy::Timeout, 12), (CancelledBy::OperatorSignal, 14)] {
        let run = times(count, |_| turn(call("shell_exec", json!({"cmd": "make all"}), ScriptedEnd::Cancelled(by))));
        set.push(down("tool cancelled", format!("{count} times ({by:?})"), session(run)));
    }
    let killed = times(12, |number| {
        let args = json!({"path": format!("src/{}.rs", WORDS[number])});
        turn(call("read_file", args, ScriptedEnd::Interrupted("it".to_owned())))
    });
    set.push(down("tool cancelled", "12 times by the end of the program".to_owned(), session(killed)));
    let network = "network errors that pass";
    // The same call is made three times at most.
    let page = call("http_fetch", json!({"url": "https://example.org/spec"}), ScriptedEnd::Works("it".to_owned()));
    let run = [times(2, |_| turn(fetched_in_vain("spec", "FETCH_ERROR"))), vec![turn(page)], work(3)].concat();
    set.push(down(network, "one page, twice".to_owned(), session(run)));
    for code in ["FETCH_ERROR", "TIMEOUT"] {
        let pages = times(14, |number| turn(fetched_in_vain(WORDS[number], code)));
        set.push(down(network, format!("14 pages ({code})"), session([pages, work(3)].concat())));
    }
    let commands = times(8, |number| {
        let stderr = "curl: (6) Could not resolve host: example.org";
        turn(ran_in_vain(&format!("curl -sS https://example.org/{}", WORDS[number]), 6, "", stderr))
    });
    set.push(down(network, "8 commands".to_owned(), session([commands, work(3)].concat())));
    let full = times(12, |number| {
        let path = format!("src/{}.rs", WORDS[number]);
        let end = ScriptedEnd::Fails(Some("ENOSPC"), None, "can't write: No space left on device".to_owned());
        turn(call("write_file", json!({"path": path, "content": "it"}), end))
    });
    set.push(down("disk full", "12 writes".to_owned(), session([full, work(2)].concat())));
    set
}
