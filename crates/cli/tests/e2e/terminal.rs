//! A terminal with the program in it, for tests: what it shows, and what is typed at it.

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
use serde_json::Value;

use crate::first_run;
use crate::home::TestHome;
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
    terminal.expect("Phase 3: needs approval");
    terminal.expect("? The agent says it is about to delete files. Your brief doesn't allow that:");
    for option in [
        "y         yes, this once",
        "(n: <why>, or any sentence, tells it why)",
        "category  yes, and for the rest of the run everything",
    ] {
        terminal.expect(option);
    }
    terminal.expect("> ");
    terminal
}
