//! Reads what is typed at the terminal that stdin is, and nothing that was typed before it was asked for.
//!
//! In: the terminal. Out: one [`TypedEntry`] after the other, and at any time all that was typed so far
//! ([`Keyboard::drain`]): entries in the queue, lines that the kernel still has, and the line that was begun without
//! Enter. `tcflush` would lose the text, and what was read already is beyond it. So one lock is around everything
//! that is read, and leaving the line mode for a moment makes the kernel give the begun line.
//!
//! A terminal that can draw a line anew gives each key at once, and `editor.rs` makes entries of them; any other one edits
//! its lines by itself, and `entries.rs` reads them. What is typed while nothing is asked waits in the queue: Tab sends it to
//! the agent as a message, Esc drops it, and a question drops it too. No other key does anything with it.
//!
//! Begin with [`Keyboard::attend`]; [`typed_after`] is for questions outside of any run.

mod editor;
mod entries;

use std::collections::VecDeque;
use std::io::{IsTerminal, Stdin, Write, stderr, stdin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use adjutant_core::inbox::reply::is_help;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::getpgrp;
use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcgetpgrp, tcsetattr};
use tokio::sync::Notify;

pub use editor::LineView;
use editor::{Editor, KeyOutcome};
use entries::Entries;
pub use entries::TypedEntry;

/// Longest silence within a paste before its end is no longer waited for: it may have been erased by hand.
const PASTE_SILENCE: Timespec = Timespec { tv_sec: 2, tv_nsec: 0 };

/// Silence after which Esc is a key and not the beginning of another one.
const ESCAPE_SILENCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

/// The command that shows what may be typed.
const HELP: &str = "/help";

const AT_ONCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };

/// Bytes read at once: more than a terminal holds.
const READ_BYTES: usize = 8192;

/// Input from this terminal. Dropping it gives the terminal its line mode back.
pub struct Keyboard {
    input: Arc<Mutex<KeyboardState>>,
    came: Arc<Notify>,
}

/// Editor of the lines that are typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineEditing {
    /// The terminal's own.
    Terminal,
    /// Ours: the line is drawn by whoever is shown it.
    Own,
}

/// Receivers of what is typed. They are called with the keyboard held, so they must not ask it for anything.
pub struct KeyboardHandlers {
    /// May take a line at any time, as a command; returns true if it did.
    pub take: Box<dyn Fn(&str) -> bool + Send>,
    /// Sends lines to the agent that were typed while nothing was asked, as one message.
    pub send: Box<dyn Fn(Vec<String>) + Send>,
    /// Completes the beginning of a command.
    pub complete: fn(&str) -> Option<String>,
    /// Shows what is being typed.
    pub show: Box<dyn Fn(TypedView) + Send>,
}

impl KeyboardHandlers {
    fn none() -> Self {
        Self { take: Box::new(|_| false), send: Box::new(|_| {}), complete: |_| None, show: Box::new(|_| {}) }
    }
}

/// Text that is being typed, as it is to be shown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TypedView {
    /// The line.
    pub line: LineView,
    /// Texts that were given while nothing was asked, and that nothing was done with.
    pub unsent: Vec<String>,
}

impl Keyboard {
    /// Reads what is typed from now on, in a thread of its own.
    pub fn attend(editing: LineEditing, handlers: KeyboardHandlers) -> Self {
        let input = Arc::new(Mutex::new(KeyboardState::new(editing, handlers)));
        locked(&input).choose_mode();
        if editing == LineEditing::Own {
            // A paste while nothing is asked is no keys either.
            switch_marks(MARKS_ON);
        }
        let came = Arc::new(Notify::new());
        let attended = (input.clone(), came.clone());
        std::thread::spawn(move || read_on(&attended.0, &attended.1));
        Self { input, came }
    }

    /// The next entry, if there is one; [`TypedEntry::End`] at the end of the input.
    pub fn take(&self) -> Option<TypedEntry> {
        locked(&self.input).next()
    }

    /// Waits until something was typed since the last wait.
    pub async fn came(&self) {
        self.came.notified().await;
    }

    /// To be called when a question is put, and kept for as long as it stands.
    pub fn ask(&self) -> KeyboardPrompt<'_> {
        let mut input = locked(&self.input);
        input.is_asked = true;
        input.choose_mode();
        switch_marks(MARKS_ON);
        drop(input);
        KeyboardPrompt(self)
    }

    /// Takes all that was typed so far, whole lines or not, so that none of it is an entry any more.
    pub fn drain(&self) -> DrainedInput {
        locked(&self.input).drain()
    }
}

impl Drop for Keyboard {
    fn drop(&mut self) {
        let mut input = locked(&self.input);
        input.is_over = true;
        input.enter_line_mode();
        if matches!(input.reading, Reading::Keys(_)) {
            switch_marks(MARKS_OFF);
        }
    }
}

/// Everything that was typed up to one moment.
#[derive(Debug, Default)]
pub struct DrainedInput {
    /// What was given with Enter.
    pub entries: Vec<TypedEntry>,
    /// What was begun.
    pub begun: Option<String>,
}

impl DrainedInput {
    /// Returns the texts, in order.
    pub fn into_texts(self) -> Vec<String> {
        self.entries.into_iter().filter_map(TypedEntry::into_text).chain(self.begun).collect()
    }
}

fn locked(input: &Mutex<KeyboardState>) -> MutexGuard<'_, KeyboardState> {
    input.lock().unwrap_or_else(PoisonError::into_inner)
}

fn read_on(input: &Mutex<KeyboardState>, came: &Notify) {
    loop {
        let patience = locked(input).patience();
        let came_in = wait(patience.as_ref());
        let mut input = locked(input);
        match came_in {
            PollOutcome::Nothing => input.give_up(),
            PollOutcome::Something | PollOutcome::HangUp => input.read(),
        }
        came.notify_one();
        if input.is_over {
            return;
        }
    }
}

/// Writes `question` to stderr and gives the line that is typed behind it. `None` at the end of the input, and if
/// more came with the line than one answer; what was typed before is not taken, and `said` is told of it.
pub fn typed_after(question: &str, said: impl Fn(&[String])) -> Option<String> {
    let mut input = KeyboardState::new(LineEditing::Terminal, KeyboardHandlers::none());
    input.is_asked = true;
    said(&input.drain().into_texts());
    write!(stderr(), "{question}").and_then(|()| stderr().flush()).ok()?;
    loop {
        match wait(input.patience().as_ref()) {
            PollOutcome::Nothing => input.give_up(),
            PollOutcome::Something | PollOutcome::HangUp => input.read(),
        }
        let Some(entry) = input.next() else { continue };
        let more = input.drain().into_texts();
        return match entry {
            TypedEntry::Line(line) | TypedEntry::Paste(line) if more.is_empty() => Some(line),
            TypedEntry::Line(_)
            | TypedEntry::Paste(_)
            | TypedEntry::Cut(_)
            | TypedEntry::Early(_)
            | TypedEntry::End => None,
        };
    }
}

/// State of the reading, held by one reader at a time.
struct KeyboardState {
    terminal: Stdin,
    reading: Reading,
    queue: VecDeque<TypedEntry>,
    handlers: KeyboardHandlers,
    /// The terminal's settings in its line mode, while it is out of it.
    line_mode: Option<Termios>,
    is_asked: bool,
    /// True once nothing is read any more: the terminal or the reader is gone.
    is_over: bool,
}

/// Form in which a terminal gives what is typed.
enum Reading {
    /// As lines.
    Lines(Entries),
    /// Key by key.
    Keys(Box<Editor>),
}

impl KeyboardState {
    fn new(editing: LineEditing, handlers: KeyboardHandlers) -> Self {
        Self {
            terminal: stdin(),
            reading: match editing {
                LineEditing::Terminal => Reading::Lines(Entries::default()),
                LineEditing::Own => Reading::Keys(Box::default()),
            },
            queue: VecDeque::new(),
            handlers,
            line_mode: None,
            is_asked: false,
            is_over: false,
        }
    }

    fn next(&mut self) -> Option<TypedEntry> {
        self.queue.pop_front().or_else(|| self.is_over.then_some(TypedEntry::End))
    }

    /// Returns how long to wait for more; for ever unless something is begun that may never end.
    fn patience(&self) -> Option<Timespec> {
        match &self.reading {
            reading if reading.is_in_paste() => Some(PASTE_SILENCE),
            Reading::Keys(editor) if editor.may_be_escape() => Some(ESCAPE_SILENCE),
            Reading::Lines(_) | Reading::Keys(_) => None,
        }
    }

    /// Gives up waiting for the end of what was begun.
    fn give_up(&mut self) {
        match &mut self.reading {
            Reading::Lines(entries) => self.queue.extend(entries.give_up_paste()),
            Reading::Keys(editor) if editor.is_in_paste() => self.queue.extend(editor.give_up_paste()),
            Reading::Keys(editor) => {
                if let Some(key) = editor.give_up_sequence() {
                    self.take_key(key);
                }
            }
        }
        self.choose_mode();
        self.show();
    }

    fn take_byte(&mut self, byte: u8) {
        let key = match &mut self.reading {
            Reading::Lines(entries) => entries.push(byte).map(KeyOutcome::Entry),
            Reading::Keys(editor) => editor.push(byte),
        };
        if let Some(key) = key {
            self.take_key(key);
        }
    }

    /// Takes an entry or another key.
    fn take_key(&mut self, key: KeyOutcome) {
        match key {
            // At a question it is for the question, which shows itself again.
            KeyOutcome::Entry(TypedEntry::Line(line)) if !self.is_asked && is_help(&line) => self.show_help(),
            KeyOutcome::Entry(TypedEntry::Line(line)) if (self.handlers.take)(&line) => {}
            KeyOutcome::Entry(entry) => self.queue.push_back(entry),
            KeyOutcome::Tab => self.tab(),
            KeyOutcome::Escape => {
                if !self.is_asked {
                    self.queue.clear();
                }
                if let Reading::Keys(editor) = &mut self.reading {
                    editor.set(String::new());
                }
            }
        }
    }

    /// Completes a command, or sends what was typed while nothing was asked.
    fn tab(&mut self) {
        let Reading::Keys(editor) = &mut self.reading else { return };
        let typed = editor.view().text;
        if typed.starts_with('/') {
            if let Some(whole) = (self.handlers.complete)(&typed) {
                editor.set(whole);
            }
        } else if !self.is_asked {
            editor.set(String::new());
            if is_help(&typed) {
                self.show_help();
                return;
            }
            let given = std::mem::take(&mut self.queue).into_iter().filter_map(TypedEntry::into_text);
            let texts: Vec<String> = given.chain([typed]).filter(|text| !text.trim().is_empty()).collect();
            if !texts.is_empty() {
                (self.handlers.send)(texts);
            }
        }
    }

    fn show_help(&self) {
        (self.handlers.take)(HELP);
    }

    /// Shows what is being typed, if nobody else does.
    fn show(&self) {
        let Reading::Keys(editor) = &self.reading else { return };
        let unsent = if self.is_asked { Vec::new() } else { self.queue.iter().filter_map(TypedEntry::text).collect() };
        (self.handlers.show)(TypedView { line: editor.view(), unsent });
    }

    /// Reads what is there, if anything.
    fn read(&mut self) {
        self.read_some();
        self.choose_mode();
        self.show();
    }

    /// Reads once without waiting. Whether there was something.
    fn read_some(&mut self) -> bool {
        let came = wait(Some(&AT_ONCE));
        if came == PollOutcome::Nothing {
            return false;
        }
        let mut bytes = [0; READ_BYTES];
        match rustix::io::read(&self.terminal, &mut bytes) {
            Ok(0) => {
                self.is_over |= came == PollOutcome::HangUp;
                // In its line mode a terminal gives nothing for a Ctrl-D.
                if self.line_mode.is_none() {
                    self.queue.push_back(TypedEntry::End);
                }
                false
            }
            Ok(count) => {
                // One by one: what a key does may change what the next one means.
                for byte in &bytes[..count] {
                    self.take_byte(*byte);
                }
                true
            }
            Err(Errno::INTR | Errno::AGAIN) => false,
            Err(_) => {
                self.is_over = true;
                false
            }
        }
    }

    fn drain(&mut self) -> DrainedInput {
        // What is typed while another job has the terminal is not ours.
        if self.is_in_foreground() {
            self.leave_line_mode();
            while self.read_some() {}
        }
        let entries = std::mem::take(&mut self.queue).into();
        let begun = match &mut self.reading {
            Reading::Lines(reading) => reading.take_begun(),
            Reading::Keys(editor) => editor.take_begun(),
        };
        self.choose_mode();
        self.show();
        DrainedInput { entries, begun }
    }

    fn is_in_foreground(&self) -> bool {
        tcgetpgrp(&self.terminal).is_ok_and(|group| group == getpgrp())
    }

    /// In its line mode the terminal keeps the end of a paste until Enter, so an open paste is read out of it; and keys are
    /// read out of it always. Whoever has the terminal in the background leaves its mode alone.
    fn choose_mode(&mut self) {
        let wants_keys = match &self.reading {
            Reading::Lines(entries) => entries.is_in_paste() && self.is_asked,
            Reading::Keys(_) => self.is_in_foreground(),
        };
        if wants_keys && !self.is_over {
            if self.is_in_keys_no_more() {
                self.line_mode = None;
            }
            self.leave_line_mode();
        } else {
            self.enter_line_mode();
        }
    }

    /// Returns true if somebody else put the terminal back into its line mode: a shell that had it meanwhile.
    fn is_in_keys_no_more(&self) -> bool {
        let is_lines = || tcgetattr(&self.terminal).is_ok_and(|now| now.local_modes.contains(LocalModes::ICANON));
        matches!(self.reading, Reading::Keys(_)) && self.line_mode.is_some() && is_lines()
    }

    fn leave_line_mode(&mut self) {
        if self.line_mode.is_some() {
            return;
        }
        let Ok(before) = tcgetattr(&self.terminal) else { return };
        if tcsetattr(&self.terminal, OptionalActions::Now, &self.out_of_line_mode(&before)).is_ok() {
            self.line_mode = Some(before);
        }
    }

    /// Returns settings in which what is typed is given at once; signals such as that of Ctrl-C stay.
    fn out_of_line_mode(&self, before: &Termios) -> Termios {
        let mut out_of_it = before.clone();
        out_of_it.local_modes.remove(LocalModes::ICANON);
        if let Reading::Keys(_) = self.reading {
            // The editor's line is drawn elsewhere.
            out_of_it.local_modes.remove(LocalModes::ECHO | LocalModes::IEXTEN);
            // Else a Ctrl-C throws away what is said about it, if that is said before the kernel is done.
            out_of_it.local_modes.insert(LocalModes::NOFLSH);
        }
        out_of_it.special_codes[SpecialCodeIndex::VMIN] = 0;
        out_of_it.special_codes[SpecialCodeIndex::VTIME] = 0;
        out_of_it
    }

    fn enter_line_mode(&mut self) {
        if let Some(before) = self.line_mode.take() {
            // A terminal that is gone needs no mode.
            tcsetattr(&self.terminal, OptionalActions::Now, &before).ok();
        }
    }
}

impl Reading {
    const fn is_in_paste(&self) -> bool {
        match self {
            Self::Lines(entries) => entries.is_in_paste(),
            Self::Keys(editor) => editor.is_in_paste(),
        }
    }
}

impl Drop for KeyboardState {
    fn drop(&mut self) {
        self.enter_line_mode();
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PollOutcome {
    Nothing,
    Something,
    HangUp,
}

/// Waits until something is typed, or for `patience`.
fn wait(patience: Option<&Timespec>) -> PollOutcome {
    let terminal = stdin();
    let mut terminal = [PollFd::new(&terminal, PollFlags::IN)];
    loop {
        match poll(&mut terminal, patience) {
            Ok(0) => return PollOutcome::Nothing,
            Err(Errno::INTR) => {}
            Ok(_) if terminal[0].revents().intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL) => {
                return PollOutcome::HangUp;
            }
            Ok(_) => return PollOutcome::Something,
            Err(_) => return PollOutcome::HangUp,
        }
    }
}

/// A question to the operator: while it lives, the terminal marks pastes if it may know how to. Afterwards a terminal that
/// edits its lines is in its line mode, whatever was being pasted.
pub struct KeyboardPrompt<'k>(&'k Keyboard);

impl KeyboardPrompt<'_> {
    /// Has pastes marked once more: a shell that had the terminal meanwhile switched that off.
    pub fn mark_again(&self) {
        locked(&self.0.input).choose_mode();
        switch_marks(MARKS_ON);
    }
}

impl Drop for KeyboardPrompt<'_> {
    fn drop(&mut self) {
        let mut input = locked(&self.0.input);
        input.is_asked = false;
        if let Reading::Lines(_) = input.reading {
            input.enter_line_mode();
            switch_marks(MARKS_OFF);
        }
    }
}

const MARKS_ON: &[u8] = b"\x1b[?2004h";
const MARKS_OFF: &[u8] = b"\x1b[?2004l";

fn switch_marks(sequence: &[u8]) {
    let knows = std::env::var_os("TERM").is_some_and(|name| !name.is_empty() && name != "dumb");
    if knows && stderr().is_terminal() {
        stderr().write_all(sequence).ok();
    }
}
