//! A person at a terminal: what they see, what they type, and what Ctrl-C does.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use pty_process::blocking::{Command, Pty, open};
use rustix::process::{Pid, Signal, kill_process};
use rustix::termios::LocalModes;
use serde_json::{Value, json};

use crate::first_run::{self, workdir};
use crate::home::{RUN, SUMMARY, TestHome, files};
use crate::transcript::{Transcript, TypedText};

pub const FIRST: &str = "2026-01-15-FIRST";
pub const CTRL_C: &str = "\u{3}";
pub const REPORT: &str = "## Phase 4\n\nDone.\n\n- Delivered: all of it.\n- Unresolved: nothing.\n";

/// Longest wait for output that must come before the test gives up.
const GIVE_UP: Duration = Duration::from_secs(60);

/// A terminal with the binary in it.
///
/// Whatever ends it, what was answered at it is checked: see [`Transcript`].
pub struct Terminal {
    child: Child,
    typing: Pty,
    shown: Receiver<Vec<u8>>,
    /// Everything seen so far, and how much of it was asked about.
    seen: String,
    read_to: usize,
    /// The beginning of a character of which the rest is to come.
    begun: Vec<u8>,
    /// Sizes in lines and columns, each from some place in what was seen.
    sizes: Vec<(usize, Size)>,
    /// Everything that was typed.
    typed: Vec<TypedText>,
    /// The folder of the journals, if a run is driven here, and the number of events in each when it started.
    journals: Option<(PathBuf, BTreeMap<PathBuf, usize>)>,
}

/// Lines and columns of a terminal.
pub type Size = (u16, u16);

const SIZE: Size = (40, 120);

impl Terminal {
    pub fn start(home: &TestHome, args: &[&str], extra: &[(&str, &str)]) -> Self {
        Self::start_behind(home, args, extra, "")
    }

    /// The same in a terminal in which `typed` was typed before.
    pub fn start_behind(home: &TestHome, args: &[&str], extra: &[(&str, &str)], typed: &str) -> Self {
        Self::start_sized(home, args, extra, typed, SIZE)
    }

    /// The same in a terminal of some size.
    pub fn start_sized(home: &TestHome, args: &[&str], extra: &[(&str, &str)], typed: &str, size: Size) -> Self {
        let folder = home.path("home/sessions");
        let events_before = journals(&folder).map(|path| (path.clone(), events(&path).len())).collect();
        let (mut pty, pts) = open().expect("a terminal");
        pty.resize(pty_process::Size::new(size.0, size.1)).expect("resized");
        pty.write_all(typed.as_bytes()).expect("it can be typed");
        let mut command = Command::new(env!("CARGO_BIN_EXE_adjutant")).args(args).env_clear();
        command = command.envs(home.environment()).env("TERM", "xterm-256color").current_dir(home.path("work"));
        command = command.envs(extra.iter().copied());
        let child = command.spawn(pts).expect("it starts");
        let (send, shown) = channel();
        let reader = rustix::io::dup(&pty).expect("another handle");
        let mut reader = std::fs::File::from(reader);
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            // A terminal whose last user is gone reads as an error.
            while let Ok(count) = reader.read(&mut bytes) {
                if count == 0 || send.send(bytes[..count].to_vec()).is_err() {
                    return;
                }
            }
        });
        let drives = args.first().is_some_and(|command| ["run", "resume"].contains(command));
        Self {
            child,
            typing: pty,
            shown,
            seen: String::new(),
            read_to: 0,
            begun: Vec::new(),
            sizes: vec![(0, size)],
            typed: vec![TypedText { text: typed.to_owned(), shown_bytes: 0 }],
            journals: drives.then_some((folder, events_before)),
        }
    }

    /// Changes the size from what was waited for on.
    pub fn resize(&mut self, size: Size) {
        self.typing.resize(pty_process::Size::new(size.0, size.1)).expect("resized");
        self.sizes.push((self.read_to, size));
    }

    /// Returns the lines and columns as they are now.
    pub fn size(&self) -> Size {
        self.sizes.last().map_or(SIZE, |(_, size)| *size)
    }

    /// Returns what stands on the screen after what was waited for.
    pub fn screen(&self) -> String {
        let some = |number| std::num::NonZero::new(number).expect("some");
        let (lines, columns) = self.sizes[0].1;
        let mut terminal = vt100::Parser::new(some(lines), some(columns), 0);
        let ends = self.sizes.iter().skip(1).map(|(from, _)| *from).chain([self.read_to]);
        for ((from, size), to) in self.sizes.iter().zip(ends) {
            terminal.screen_mut().set_size(some(size.0), some(size.1));
            terminal.process(&self.seen.as_bytes()[*from..to]);
        }
        let shown = terminal.screen().contents();
        shown.lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
    }

    /// Takes in bytes; a character may come in pieces.
    fn take_in(&mut self, bytes: &[u8]) {
        self.begun.extend_from_slice(bytes);
        let whole = match std::str::from_utf8(&self.begun) {
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            Ok(_) | Err(_) => self.begun.len(),
        };
        let rest = self.begun.split_off(whole);
        self.seen.push_str(&String::from_utf8_lossy(&self.begun));
        self.begun = rest;
    }

    /// Waits until `text` is shown after what was waited for before.
    #[track_caller]
    pub fn expect(&mut self, text: &str) {
        loop {
            if let Some(at) = self.seen[self.read_to..].find(text) {
                self.read_to += at + text.len();
                return;
            }
            match self.shown.recv_timeout(GIVE_UP) {
                Ok(bytes) => self.take_in(&bytes),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    panic!("`{text}` never came after {:?} in:\n{}", &self.seen[..self.read_to], self.seen)
                }
            }
        }
    }

    pub fn type_text(&mut self, text: &str) {
        while let Ok(bytes) = self.shown.try_recv() {
            self.take_in(&bytes);
        }
        self.typed.push(TypedText { text: text.to_owned(), shown_bytes: self.seen.len() });
        self.typing.write_all(text.as_bytes()).expect("it can be typed");
    }

    /// Kills it, and gives what was shown.
    pub fn kill(mut self) -> String {
        let pid = Pid::from_raw(i32::try_from(self.child.id()).expect("a pid")).expect("a pid");
        kill_process(pid, Signal::KILL).expect("it is there");
        self.child.wait().expect("it ends");
        self.rest()
    }

    /// Returns true if the terminal hands out whole lines and shows what is typed, as a shell expects it.
    pub fn is_in_line_mode(&self) -> bool {
        let modes = rustix::termios::tcgetattr(&self.typing).expect("it is a terminal").local_modes;
        modes.contains(LocalModes::ICANON | LocalModes::ECHO)
    }

    /// Waits for the end.
    pub fn wait(&mut self) {
        self.child.wait().expect("it ends");
    }

    /// Waits for the end, and gives the exit code and what was shown.
    pub fn finish(mut self) -> (i32, String) {
        let code = self.child.wait().expect("it ends").code().unwrap_or(-1);
        (code, self.rest())
    }

    fn rest(mut self) -> String {
        while let Ok(bytes) = self.shown.recv_timeout(GIVE_UP) {
            self.take_in(&bytes);
        }
        self.check_answers();
        std::mem::take(&mut self.seen)
    }

    /// Fails if an answer that was given here was typed before its question was on the screen. Returns the numbers of answers
    /// and acts that were looked at.
    #[track_caller]
    pub fn check_answers(&self) -> (usize, usize) {
        let Some((folder, events_before)) = &self.journals else { return (0, 0) };
        let columns = self.sizes.iter().map(|(_, (_, columns))| *columns).max().unwrap_or_default();
        let transcript = Transcript { shown: &self.seen, columns, typed: &self.typed };
        let mut looked_at = (0, 0);
        for path in journals(folder) {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            // Another terminal may drive another run.
            if self.seen.contains(name.split('.').next().unwrap_or_default()) {
                let checked = transcript.check(&events(&path), events_before.get(&path).copied().unwrap_or_default());
                assert_eq!(checked.faults, [""; 0], "{name}, with {:?} typed at:\n{}", self.typed, self.seen);
                looked_at = (looked_at.0 + checked.answers, looked_at.1 + checked.acts);
            }
        }
        looked_at
    }
}

/// A session that is given up before its end is checked too.
impl Drop for Terminal {
    fn drop(&mut self) {
        if !self.seen.is_empty() && !std::thread::panicking() {
            self.check_answers();
        }
    }
}

/// Returns the journals in a folder.
fn journals(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(|path| path.to_string_lossy().ends_with(".trace.ndjson"))
}

/// Returns the events of a journal, also of one that is written to.
fn events(journal: &Path) -> Vec<Value> {
    let text = fs::read(journal).unwrap_or_default();
    String::from_utf8_lossy(&text).lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// Runs the example up to its phase 3 question.
pub fn at_the_question(home: &TestHome) -> Terminal {
    let mut terminal = Terminal::start(home, first_run::ARGS, &[]);
    terminal.expect("a script, no model is talking");
    terminal.expect("Phase 0: intake");
    terminal.expect("? Is this summary what you want?");
    for option in ["go ", "auto ", "gated ", "<anything else>", "no "] {
        terminal.expect(option);
    }
    terminal.expect("> ");
    terminal.type_text("go\n");
    terminal.expect("Phase 1: execute");
    terminal.expect("Phase 3: destructive");
    terminal.expect("? The agent announces something that nothing authorizes (filesystem_delete):");
    for option in
        ["y         yes, this once", "category  yes, and for the rest of the run everything", "(n: <why> tells it why)"]
    {
        terminal.expect(option);
    }
    terminal.expect("> ");
    terminal
}

#[test]
fn what_a_project_would_run_is_asked_about_once_for_each_content() {
    let home = TestHome::with_examples();
    let config = "examples/first-run/project/.adjutant/config.toml";
    home.write(config, "max_steps = 31\n");
    let mut args = first_run::ARGS.to_vec();
    args.push("--new");
    let run = || Terminal::start(&home, &args, &[]);

    let mut terminal = run();
    terminal.expect("max_steps = 31");
    terminal.expect("as it is now? It is not asked again. (y/N) ");
    terminal.type_text("n\n");
    terminal.expect("is ignored: nobody has trusted what it says now");
    terminal.expect("? Is this summary what you want?");
    terminal.kill();

    let mut terminal = run();
    terminal.expect("is ignored: nobody has trusted what it says now");
    terminal.expect("? Is this summary what you want?");
    assert!(!terminal.kill().contains("(y/N)"), "nobody asks twice");

    home.write(config, "max_steps = 32\n");
    let mut terminal = run();
    terminal.expect("max_steps = 32");
    terminal.expect("(y/N) ");
    terminal.type_text("y\n");
    terminal.expect("trusted: ");
    terminal.expect("? Is this summary what you want?");
    terminal.kill();

    home.write(config, "max_steps = 33\n");
    let mut terminal = run();
    for change in ["-max_steps = 32", "+max_steps = 33", "(y/N) "] {
        terminal.expect(change);
    }
    terminal.kill();
}

#[test]
fn an_operator_approves_the_deletion() {
    let home = TestHome::with_examples();
    let mut terminal = at_the_question(&home);
    terminal.type_text("y\n");
    // The announcement named no command: the call itself is asked for with what it would do.
    terminal.expect("`rm -r build`: deletes folders with all that is in them");
    terminal.expect("> ");
    terminal.type_text("y\n");
    terminal.wait();
    assert_eq!(terminal.check_answers(), (3, 1), "the answers and the acts of this session are those that are checked");
    let (code, seen) = terminal.finish();
    assert_eq!(code, 0, "{seen}");
    assert!(seen.contains("run 2026-01-15-FIRST: completed"), "{seen}");
    assert!(!workdir(&home, FIRST).join("build").exists());
}

#[test]
fn an_operator_denies_the_deletion() {
    let home = TestHome::with_examples();
    let mut terminal = at_the_question(&home);
    terminal.type_text("n\n");
    terminal.expect("Then it stays.");
    let (code, seen) = terminal.finish();
    assert_eq!(code, 0, "{seen}");
    assert!(!seen.contains("rm -r build"), "{seen}");
    assert!(workdir(&home, FIRST).join("build/VERSION").exists());
}

#[test]
fn a_question_that_was_open_at_a_kill_is_asked_again() {
    let home = TestHome::with_examples();
    at_the_question(&home).kill();
    let before = home.journal(FIRST).len();
    let mut again = Terminal::start(&home, &["resume", FIRST], &[]);
    again.expect("resuming 2026-01-15-FIRST");
    again.expect("All tests pass, and no program uses the left-overs. I'll delete the build folder.");
    again.expect("? The agent announces something that nothing authorizes (filesystem_delete):");
    again.expect("y         yes, this once");
    again.expect("> ");
    again.type_text("n\n");
    let (code, seen) = again.finish();
    assert_eq!(code, 0, "{seen}");
    assert_eq!(seen.matches("? The agent announces").count(), 1, "{seen}");
    let journal = home.journal(FIRST);
    assert!(journal.len() > before);
    let questions = journal.iter().filter(|event| event["type"] == "question").count();
    assert_eq!(questions, 2, "it is the same question, on record once");
    assert!(files(&workdir(&home, FIRST)).contains_key("build/VERSION"));
}

#[test]
fn colour_is_for_terminals_and_no_color_is_honoured() {
    let home = TestHome::with_examples();
    let answers = ["--answers", "../examples/first-run/answers.yaml"];
    let args = [first_run::ARGS, &answers].concat();
    let (code, coloured) = Terminal::start(&home, &args, &[]).finish();
    assert_eq!(code, 0, "{coloured}");
    assert!(coloured.contains("\u{1b}[1m"), "{coloured}");
    let (code, plain) = Terminal::start(&home, &args, &[("NO_COLOR", "1")]).finish();
    assert_eq!(code, 0, "{plain}");
    let colours = regex::Regex::new("\u{1b}\\[[0-9;]*m").expect("a pattern");
    assert!(!colours.is_match(&plain), "{plain:?}");
    let piped = home.run(&args).expect_code(0);
    assert!(!piped.stdout.contains('\u{1b}') && !piped.stderr.contains('\u{1b}'), "{piped:?}");
}

#[test]
fn a_dumb_terminal_gets_no_escapes_at_all() {
    let home = TestHome::with_examples();
    let mut terminal = Terminal::start(&home, first_run::ARGS, &[("TERM", "dumb")]);
    terminal.expect("no               the run ends here");
    terminal.expect("> ");
    terminal.type_text("go\n");
    terminal.expect("(n: <why> tells it why)");
    terminal.expect("> ");
    terminal.type_text("n\n");
    let (code, seen) = terminal.finish();
    assert_eq!(code, 0, "{seen}");
    assert!(!seen.contains('\u{1b}'), "{seen:?}");
    // Nothing is written over: each line is said once.
    assert!(!seen.replace("\r\n", "").contains('\r'), "{seen:?}");
}

/// A run whose first command does not end by itself.
fn endless() -> TestHome {
    let home = TestHome::new();
    home.scripted(
        "mode: auto\nauthorized_costs:\n  - shell_exec",
        &json!([
            SUMMARY,
            {"text": "This may take long.", "calls": [{"tool": "shell_exec", "args": {"cmd": "echo begun; sleep 600"}}]},
            {"text": "It was cancelled.", "calls": [{"tool": "shell_exec", "args": {"cmd": "echo short"}}]},
            {"repeat": 2, "text": REPORT},
        ]),
    );
    home.write("go.json", json!(["go"]).to_string());
    home
}

const RUN_ARGS: &[&str] = &["run", "../brief.md", "--answers", "../go.json"];

#[test]
fn ctrl_c_once_cancels_the_call_and_the_run_goes_on() {
    let home = endless();
    let mut terminal = Terminal::start(&home, RUN_ARGS, &[]);
    terminal.expect("sleep 600");
    terminal.type_text(CTRL_C);
    terminal.expect("cancelling what is in flight");
    terminal.expect("cancelled");
    terminal.expect("It was cancelled.");
    let (code, seen) = terminal.finish();
    assert_eq!(code, 0, "{seen}");
    let journal = home.journal(RUN);
    assert_eq!(journal.iter().filter(|event| event["type"] == "tool_cancelled").count(), 1);
}

#[test]
fn ctrl_c_at_a_question_stops_the_run_which_can_be_resumed() {
    let home = endless();
    let mut terminal = Terminal::start(&home, &["run", "../brief.md"], &[]);
    terminal.expect("? Is this summary what you want?");
    terminal.expect("> ");
    terminal.type_text(CTRL_C);
    terminal.expect("stopping; the run can be resumed");
    let (code, seen) = terminal.finish();
    assert_eq!(code, 130, "{seen}");
    let mut again = Terminal::start(&home, &["resume", RUN], &[]);
    again.expect("? Is this summary what you want?");
    again.expect("> ");
    again.type_text("no\n");
    assert_eq!(again.finish().0, 6);
}

#[test]
fn ctrl_c_twice_stops_a_run_at_work_which_can_be_resumed() {
    let home = TestHome::new();
    let command = "test -e resumed || sleep 600";
    let endless_call = |text: &str| json!({"text": text, "calls": [{"tool": "shell_exec", "args": {"cmd": command}}]});
    home.scripted(
        "mode: auto\nauthorized_costs:\n  - shell_exec",
        &json!([SUMMARY, endless_call("First."), endless_call("Second."), {"repeat": 3, "text": REPORT}]),
    );
    home.write("go.json", json!(["go"]).to_string());
    let mut terminal = Terminal::start(&home, RUN_ARGS, &[]);
    terminal.expect("sleep 600");
    terminal.type_text(CTRL_C);
    terminal.expect("cancelling what is in flight");
    terminal.type_text(CTRL_C);
    terminal.expect("stopping; the run can be resumed");
    let (code, seen) = terminal.finish();
    assert_eq!(code, 130, "{seen}");
    assert!(seen.contains("go on: adjutant resume"), "{seen}");
    // The second command may have begun or not: the agent is told, or it is made now.
    home.write("work/resumed", "");
    home.run(&["resume", RUN, "--answers", "../go.json"]).expect_code(0).expect_text("completed");
}

#[test]
fn what_is_asked_at_one_terminal_is_answered_at_another_and_the_run_goes_on() {
    let home = TestHome::with_examples();
    let mut terminal = at_the_question(&home);
    let mut other = Terminal::start(&home, &["inbox"], &[]);
    other.expect("needs approval: delete files");
    other.expect("2026-01-15-FIRST");
    let (code, listed) = other.finish();
    assert_eq!(code, 0, "{listed}");
    // Half a line that was begun for this question must answer no later one.
    terminal.type_text("y");
    let mut other = Terminal::start(&home, &["inbox", "answer", FIRST, "n"], &[]);
    other.expect("answered: 2026-01-15-FIRST:session:ask/2.1");
    assert_eq!(other.finish().0, 0);
    terminal.expect("(answered by operator, inbox, at ");
    terminal.expect("Then it stays.");
    let (code, seen) = terminal.finish();
    assert_eq!(code, 0, "{seen}");
    assert!(workdir(&home, FIRST).join("build/VERSION").exists());
    let answers: Vec<_> = home.journal(FIRST).into_iter().filter(|event| event["type"] == "answer").collect();
    assert_eq!((&answers[0]["whence"], &answers[1]["whence"]), (&json!("terminal"), &json!("inbox")));
    assert_eq!(answers[1]["choice"], "deny");
}

#[test]
fn a_watcher_is_told_of_a_question_when_it_comes_and_ends_with_ctrl_c() {
    let home = TestHome::with_examples();
    let mut watching = Terminal::start(&home, &["inbox", "watch"], &[]);
    let terminal = at_the_question(&home);
    watching.expect("needs approval: delete files");
    watching.type_text(CTRL_C);
    assert_eq!(watching.finish().0, 130);
    terminal.kill();
}

#[test]
fn a_worker_at_a_terminal_asks_nobody_and_goes_on_with_what_is_answered_elsewhere() {
    let home = TestHome::new();
    home.scripted("mode: auto", &json!([SUMMARY, {"repeat": 2, "text": REPORT}]));
    home.run(&["run", "../brief.md"]).expect_code(4);
    let mut worker = Terminal::start(&home, &["work"], &[]);
    // What is typed at a worker answers nothing.
    worker.type_text("no\n");
    home.run(&["inbox", "answer", RUN, "correct this"]).expect_code(0);
    worker.expect("resuming");
    worker.expect("answered by operator, inbox");
    worker.expect("waiting (confirmation)");
    home.run(&["inbox", "answer", RUN, "no"]).expect_code(0);
    worker.expect("run 2026-02-03-E2E: declined");
    worker.type_text(CTRL_C);
    assert_eq!(worker.finish().0, 130);
    let choices: Vec<_> = home
        .journal(RUN)
        .into_iter()
        .filter(|event| event["type"] == "answer")
        .map(|event| event["choice"].clone())
        .collect();
    assert_eq!(choices, ["correct", "decline"]);
}
