//! Tests what must not get through: secrets, terminal escapes, bytes that are no text, lines without an end.

use std::fs::File;
use std::io::Write;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::home::{RUN, SUMMARY, Said, TestHome, brief, files};

const AUTHORIZED: &str = "mode: auto\nauthorized_costs:\n  - shell_exec\n  - filesystem_write";
const REPORT: &str = "## Phase 4\n\nDone.\n\n- Delivered: all of it.\n- Unresolved: nothing.\n";

/// Secrets by their shape, put together so that no scanner of this repository finds them.
fn shaped() -> [String; 2] {
    let tail = "Zx9Qw8Er7Ty6Ui5Op4As3Df2Gh1Jk0Lz";
    [format!("{}-{}-api03-{tail}{tail}", "sk", "ant"), format!("{}_{tail}a1B2", "ghp")]
}

/// The value of a variable of the runtime's own environment.
const OWN: &str = "mellow-quartz-canary-7731-lantern";

/// `text` in base64.
fn base64(text: &str) -> String {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digit = |bits: u32| char::from(DIGITS[(bits & 63) as usize]);
    text.as_bytes()
        .chunks(3)
        .flat_map(|chunk| {
            let bits = chunk.iter().fold(0, |bits, byte| (bits << 8) | u32::from(*byte)) << (8 * (3 - chunk.len()));
            let mut four = [digit(bits >> 18), digit(bits >> 12), digit(bits >> 6), digit(bits)];
            for pad in &mut four[chunk.len() + 1..] {
                *pad = '=';
            }
            four
        })
        .collect()
}

#[test]
fn base64_is_what_others_write() {
    for (text, expected) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")] {
        assert_eq!(base64(text), expected);
    }
}

/// Every form in which the secrets must not turn up anywhere.
fn canaries() -> Vec<String> {
    let [model, forge] = shaped();
    let plain = [model, forge, OWN.to_owned()];
    plain.iter().map(String::clone).chain(plain.iter().map(|secret| base64(secret))).collect()
}

/// A run whose agent says every canary, passes each to a tool and reads each back from a file.
fn leaky(flags: &[&str]) -> (TestHome, Said) {
    let home = TestHome::new();
    let said = canaries().join(" and ");
    // What a tool reads is long enough to be kept as an artifact.
    let filler = "0123456789 abcdef\n".repeat(5000);
    home.write("work/notes", format!("{filler}{said}\n{filler}"));
    let turns = json!([
        {"chunk_chars": 3, "text": format!("{SUMMARY}\n{said}\n")},
        {"chunk_chars": 7, "text": format!("The keys are {said}."), "calls": [
            {"tool": "shell_exec", "args": {"cmd": format!("echo '{said}' > copied; cat notes; cat notes >&2; echo '{said}'")}},
            {"tool": "read_file", "args": {"path": "notes"}},
            {"tool": "write_file", "args": {"path": "written", "content": said}},
            {"tool": "shell_exec", "args": {"cmd": "cat written; env"}},
        ]},
        {"repeat": 2, "text": format!("{REPORT}\n{said}\n")},
    ]);
    home.scripted(AUTHORIZED, &turns);
    // What was masked can't be read by the gate, so that it is asked about.
    home.write("go.json", json!(["go", "y"]).to_string());
    let args = [&["run", "../brief.md", "--answers", "../go.json"], flags].concat();
    let mut command = home.adjutant(&args);
    let output = command.env("MY_API_KEY", OWN).stdout(Stdio::piped()).output().expect("it starts");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    let found =
        Said { code: output.status.code().unwrap_or(-1), stdout: text(output.stdout), stderr: text(output.stderr) };
    (home, found.expect_code(0))
}

/// Fails if a canary is in `text`.
#[track_caller]
fn check_clean(place: &str, text: &str) {
    for canary in canaries() {
        assert!(!text.contains(&canary), "{place} has {canary}: ...{}", &text[text.len().saturating_sub(600)..]);
    }
}

#[test]
fn canaries_reach_neither_screen_nor_journal_nor_artifacts() {
    for flags in [&[][..], &["--json"]] {
        let (home, said) = leaky(flags);
        check_clean("stdout", &said.stdout);
        check_clean("stderr", &said.stderr);
        let kept = files(&home.path("home"));
        assert!(kept.keys().any(|name| name.contains("artifacts")), "{:?}", kept.keys());
        // What is kept of the working folder before a command is as it is there: it would be no rescue otherwise.
        for (name, bytes) in kept.iter().filter(|(name, _)| !name.starts_with("rescue/")) {
            check_clean(name, &String::from_utf8_lossy(bytes));
        }
        // The tools themselves had the real thing: masking is for what is kept and shown.
        assert!(home.read("work/written").contains(OWN) && home.read("work/copied").contains(OWN));
        for args in [&["inspect", RUN, "--transcript"][..], &["inspect", RUN, "--trace", "--full"], &["inspect", RUN]] {
            check_clean("inspect", &home.run(args).expect_code(0).stdout);
        }
    }
}

#[test]
fn escapes_of_an_agent_or_a_tool_do_not_drive_the_terminal() {
    let home = TestHome::new();
    let evil = "\u{1b}[2J\u{1b}]0;owned\u{7}\u{1b}[31mred\u{9b}1m\u{8}\r";
    let turns = json!([
        {"chunk_chars": 1, "text": format!("{SUMMARY}\n{evil}\n")},
        {"text": format!("I'll delete {evil} the build folder.")},
        {"text": evil, "calls": [
            {"tool": "shell_exec", "args": {"cmd": "printf '\\033[2J\\033]0;owned\\007'; exit 1"}},
            {"tool": format!("no{evil}tool"), "args": {"path": evil}},
        ]},
        {"repeat": 2, "text": format!("{REPORT}\n{evil}")},
    ]);
    home.scripted(AUTHORIZED, &turns);
    home.write("go.json", json!(["go", "n"]).to_string());
    let ran = home.run(&["run", "../brief.md", "--answers", "../go.json"]);
    let views: [&[&str]; 5] = [
        &["inspect", RUN],
        &["inspect", RUN, "--transcript"],
        &["inspect", RUN, "--trace", "--full"],
        &["inspect", RUN, "--tools"],
        &["list"],
    ];
    for said in views.iter().map(|args| home.run(args).expect_code(0)).chain([ran.expect_code(0)]) {
        let text = format!("{}{}", said.stdout, said.stderr);
        let bad: Vec<char> = text.chars().filter(|c| c.is_control() && !matches!(c, '\n' | '\t')).collect();
        assert!(bad.is_empty(), "{bad:?} in {text}");
    }
}

/// Runs the binary with at most `kib` of memory of its own.
fn limited(home: &TestHome, kib: u32, args: &[&str], input: Option<&str>) -> Said {
    let mut command = Command::new("sh");
    let script = format!("ulimit -d {kib}; exec \"$0\" \"$@\"");
    command.args(["-c", &script, env!("CARGO_BIN_EXE_adjutant")]).args(args);
    command.env_clear().envs(home.environment()).current_dir(home.path("work"));
    let stdin = input.map_or(Stdio::null(), |name| File::open(home.path(name)).expect("there").into());
    let output = command.stdin(stdin).output().expect("a shell");
    Said {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

#[test]
fn a_line_of_100_megabytes_is_read_within_64() {
    const LIMIT_KIB: u32 = 64 * 1024;
    let home = TestHome::new();
    home.scripted(AUTHORIZED, &json!([SUMMARY, {"repeat": 2, "text": REPORT}]));
    home.write("go.json", json!(["go"]).to_string());
    home.run(&["run", "../brief.md", "--answers", "../go.json"]).expect_code(0);
    let journal = home.path(&format!("home/sessions/{RUN}.trace.ndjson"));
    let mut file = File::options().append(true).open(journal).expect("a journal");
    let mut lines = File::create(home.path("lines")).expect("a file");
    let piece = "x".repeat(1 << 20);
    let begin = "{\"seq\":1,\"at\":\"2026-01-01T00:00:00.000Z\",\"type\":\"warning\",\"text\":\"";
    for out in [&mut file, &mut lines] {
        out.write_all(begin.as_bytes()).expect("written");
        for _ in 0..100 {
            out.write_all(piece.as_bytes()).expect("written");
        }
        out.write_all(b"\"}\n").expect("written");
    }
    lines.write_all(b"{\"text\":\"## Phase 4\"}\n").expect("written");

    for args in [&["inspect", RUN][..], &["inspect", RUN, "--trace", "--full"], &["list"]] {
        limited(&home, LIMIT_KIB, args, None).expect_code(0).expect_text(RUN);
    }
    for what in ["brief", "detect", "gate", "patch"] {
        let said = limited(&home, LIMIT_KIB, &["decide", what], Some("lines")).expect_code(0);
        let answers: Vec<Value> = said.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        assert_eq!(answers.len(), 2, "{what}");
        assert!(answers[0]["error"].is_string(), "{what}: {}", answers[0]);
    }
    // The limit binds: with hardly any memory the same command fails.
    assert_ne!(limited(&home, 64, &["list"], None).code, 0);
}

#[test]
fn bytes_that_are_no_text_are_told_and_not_passed_on() {
    let home = TestHome::new();
    home.scripted(AUTHORIZED, &json!([SUMMARY, {"repeat": 2, "text": REPORT}]));
    home.write("go.json", json!(["go"]).to_string());
    home.write("bytes", b"- go \xff\xfe\n");
    home.write("bytes.md", [brief("mode: auto").as_bytes(), b"\xff\xfe\n"].concat());
    for args in [
        &["run", "../bytes.md"][..],
        &["validate", "../bytes.md"],
        &["run", "../brief.md", "--script", "../bytes"],
        &["run", "../brief.md", "--answers", "../bytes"],
    ] {
        let said = home.run(args).expect_code(2);
        let text = format!("{}{}", said.stdout, said.stderr);
        assert!(text.contains("../bytes"), "{args:?}: {text}");
        assert!(text.contains("UTF-8"), "{args:?}: {text}");
    }
    home.run(&["run", "../brief.md", "--answers", "../go.json"]).expect_code(0);
    let journal = home.path(&format!("home/sessions/{RUN}.trace.ndjson"));
    let whole = std::fs::read(&journal).expect("a journal");
    let lines = whole.iter().filter(|byte| **byte == b'\n').count();
    std::fs::write(&journal, [&whole[..], b"{\"seq\":\xff}\n"].concat()).expect("written");
    let said = home.run(&["inspect", RUN, "--trace"]).expect_code(0);
    said.expect_text(&format!("line(s) skipped: {}", lines + 1));
    home.run(&["list"]).expect_code(0).expect_text(RUN);
}

/// Text that a person types and the brief's own text are recorded too.
#[test]
fn a_secret_in_a_brief_or_an_answer_is_masked_like_any_other() {
    let home = TestHome::new();
    let secret = "ghp_0123456789abcdefghijABCDEFGHIJ456789";
    let brief = format!(
        "---\nproject: p\nbrief_id: 2026-01-01-A\nmode: auto\n---\n# Objective\nuse {secret}\n# Deliverables\n- x\n# Constraints\n- y\n"
    );
    home.write("brief.md", brief);
    home.write("script.json", serde_json::json!(["## Phase 0", "## Phase 0 again", "## Phase 4", "bye"]).to_string());
    home.write("answers.json", serde_json::json!([format!("use {secret} instead"), "go"]).to_string());
    home.run(&["run", "../brief.md", "--script", "../script.json", "--answers", "../answers.json"]).expect_code(0);
    let journal: String = home.journal("2026-01-01-A").iter().map(ToString::to_string).collect();
    assert!(journal.contains("[masked:"), "{journal}");
    assert!(!journal.contains(secret), "{journal}");
}
