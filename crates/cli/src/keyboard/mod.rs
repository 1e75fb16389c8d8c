//! Reads what is typed at the terminal that stdin is, and nothing that was typed before it was asked for.
//!
//! In: the terminal. Out: one [`TypedEntry`] after the other, and at any time all that was typed so far
//! ([`Keyboard::drain`]): entries in the queue, lines that the kernel still has, and the line that was begun without
//! Enter. `tcflush` would lose the text, and what was read already is beyond it. So one lock is around everything
//! that is read, and leaving the line mode for a moment makes the kernel give the begun line.
//!
//! Begin with [`Keyboard::attend`]; [`typed_after`] is for questions outside of any run. What an entry is, is read
//! in `entries.rs`.

mod entries;

use std::collections::VecDeque;
use std::io::{IsTerminal, Stdin, Write, stderr, stdin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::getpgrp;
use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcgetpgrp, tcsetattr};
use tokio::sync::Notify;

use entries::Entries;
pub use entries::TypedEntry;

/// Longest silence within a paste before its end is no longer waited for: it may have been erased by hand.
const PASTE_SILENCE: Timespec = Timespec { tv_sec: 2, tv_nsec: 0 };

const AT_ONCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };

/// Bytes read at once: more than a terminal holds.
const READ_BYTES: usize = 8192;

/// Input from this terminal. Dropping it gives the terminal its line mode back.
pub struct Keyboard {
    input: Arc<Mutex<KeyboardState>>,
    came: Arc<Notify>,
}

impl Keyboard {
    /// Reads what is typed from now on, in a thread of its own. `is_taken` may take a line at any time, as a command.
    pub fn attend(is_taken: impl Fn(&str) -> bool + Send + 'static) -> Self {
        let input = Arc::new(Mutex::new(KeyboardState::new(is_taken)));
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
        locked(&self.input).is_asked = true;
        switch_marks(b"\x1b[?2004h");
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
            PollOutcome::Nothing => input.give_up_paste(),
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
    let mut input = KeyboardState::new(|_| false);
    input.is_asked = true;
    said(&input.drain().into_texts());
    write!(stderr(), "{question}").and_then(|()| stderr().flush()).ok()?;
    loop {
        match wait(input.patience().as_ref()) {
            PollOutcome::Nothing => input.give_up_paste(),
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
    entries: Entries,
    queue: VecDeque<TypedEntry>,
    is_taken: Box<dyn Fn(&str) -> bool + Send>,
    /// The terminal's settings in its line mode, while it is out of it.
    line_mode: Option<Termios>,
    is_asked: bool,
    /// True once nothing is read any more: the terminal or the reader is gone.
    is_over: bool,
}

impl KeyboardState {
    fn new(is_taken: impl Fn(&str) -> bool + Send + 'static) -> Self {
        Self {
            terminal: stdin(),
            entries: Entries::default(),
            queue: VecDeque::new(),
            is_taken: Box::new(is_taken),
            line_mode: None,
            is_asked: false,
            is_over: false,
        }
    }

    fn next(&mut self) -> Option<TypedEntry> {
        self.queue.pop_front().or_else(|| self.is_over.then_some(TypedEntry::End))
    }

    /// Returns how long to wait for more; for ever unless a paste is open.
    fn patience(&self) -> Option<Timespec> {
        self.entries.is_in_paste().then_some(PASTE_SILENCE)
    }

    fn give_up_paste(&mut self) {
        self.queue.extend(self.entries.give_up_paste());
        self.choose_mode();
    }

    /// Reads what is there, if anything.
    fn read(&mut self) {
        self.read_some();
        self.choose_mode();
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
                for entry in self.entries.push(&bytes[..count]) {
                    match &entry {
                        TypedEntry::Line(line) if (self.is_taken)(line) => {}
                        _ => self.queue.push_back(entry),
                    }
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
        let begun = self.entries.take_begun();
        self.choose_mode();
        DrainedInput { entries, begun }
    }

    fn is_in_foreground(&self) -> bool {
        tcgetpgrp(&self.terminal).is_ok_and(|group| group == getpgrp())
    }

    /// In its line mode the terminal keeps the end of a paste until Enter, so an open paste is read out of it.
    fn choose_mode(&mut self) {
        if self.entries.is_in_paste() && self.is_asked && !self.is_over {
            self.leave_line_mode();
        } else {
            self.enter_line_mode();
        }
    }

    fn leave_line_mode(&mut self) {
        if self.line_mode.is_some() {
            return;
        }
        let Ok(before) = tcgetattr(&self.terminal) else { return };
        let mut out_of_it = before.clone();
        out_of_it.local_modes.remove(LocalModes::ICANON);
        out_of_it.special_codes[SpecialCodeIndex::VMIN] = 0;
        out_of_it.special_codes[SpecialCodeIndex::VTIME] = 0;
        if tcsetattr(&self.terminal, OptionalActions::Now, &out_of_it).is_ok() {
            self.line_mode = Some(before);
        }
    }

    fn enter_line_mode(&mut self) {
        if let Some(before) = self.line_mode.take() {
            // A terminal that is gone needs no mode.
            tcsetattr(&self.terminal, OptionalActions::Now, &before).ok();
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

/// A question to the operator: while it lives, the terminal marks pastes if it may know how to. Afterwards the terminal
/// is in its line mode, whatever was being pasted.
pub struct KeyboardPrompt<'k>(&'k Keyboard);

impl KeyboardPrompt<'_> {
    /// Has pastes marked once more: a shell that had the terminal meanwhile switched that off.
    pub fn mark_again(&self) {
        switch_marks(b"\x1b[?2004h");
    }
}

impl Drop for KeyboardPrompt<'_> {
    fn drop(&mut self) {
        let mut input = locked(&self.0.input);
        input.is_asked = false;
        input.enter_line_mode();
        switch_marks(b"\x1b[?2004l");
    }
}

fn switch_marks(sequence: &[u8]) {
    let knows = std::env::var_os("TERM").is_some_and(|name| !name.is_empty() && name != "dumb");
    if knows && stderr().is_terminal() {
        stderr().write_all(sequence).ok();
    }
}
