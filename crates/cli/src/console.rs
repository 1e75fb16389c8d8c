//! The operator at this terminal, at the other end of a pipe, in a file of answers, or elsewhere by way of the run's
//! mailbox; or no operator.
//!
//! Lines that come through a pipe were written for the questions in order: one thread reads them into a queue. Text
//! typed at a terminal answers a question only if that stood on the screen before it; the rest is reported and ignored.
//! The end of the input means that no operator is there: the question waits.

use std::io::{BufRead, IsTerminal};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use adjutant_core::gate::secrets;
use adjutant_core::inbox::mailbox::Closing;
use adjutant_core::inbox::reply;
use adjutant_core::inbox::reply::Reply;
use adjutant_core::trace::{AskEvent, Body, Event};
use adjutant_core::words::visible::visible_line;
use adjutant_core::words::{Key, Message, Mode, Question, QuestionKind};
use adjutant_ports::{Answered, CancellationToken, Heard, Operator, Pending, Progress};
use adjutant_runtime::Correspondence;
use adjutant_runtime::mail::OPERATOR;
use adjutant_store::Mailbox;
use jiff::Timestamp;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{Mutex as AsyncMutex, mpsc};

use crate::answers::Answers;
use crate::keyboard::{self, Keyboard, KeyboardPrompt, TypedEntry};
use crate::render::Renderer;
use crate::screen::Screen;

/// Within how long a second Ctrl-C means the run and not the call (the peer's window).
const TWICE: Duration = Duration::from_secs(2);

/// Number of unreadable replies after which the question is left open.
const REPLIES_MAX: u32 = 5;

/// The most that is shown of typed text that is not taken, in characters.
const SHOWN_CHARS_MAX: usize = 200;

/// The operator's side of a run.
pub struct Console {
    screen: Arc<Screen>,
    correspondence: Correspondence,
    answers: Mutex<Answers>,
    lines: AsyncMutex<InputLines>,
    signals: AsyncMutex<Signals>,
    reads_input: bool,
}

/// Lines typed or piped as answers to questions.
struct InputLines {
    source: InputSource,
    ended: bool,
}

enum InputSource {
    Terminal {
        keyboard: Keyboard,
        /// Heard when the run is in the foreground again.
        continued: Signal,
    },
    Pipe(mpsc::UnboundedReceiver<String>),
    Nobody,
}

/// The terminal or pipe that a question is put to.
enum PromptTarget<'l> {
    Terminal { keyboard: &'l Keyboard, continued: &'l mut Signal, asking: KeyboardPrompt<'l> },
    Pipe(&'l mut mpsc::UnboundedReceiver<String>),
}

struct Signals {
    interrupt: Signal,
    terminate: Signal,
    last: Option<Instant>,
    commands: mpsc::UnboundedReceiver<Message>,
    commands_ended: bool,
}

impl Console {
    /// A console on `screen` that answers from `answers` first, and takes answers from `mailbox` too, if there is one.
    /// Must be made inside the runtime, since it listens for signals.
    ///
    /// # Errors
    ///
    /// If signals can't be listened for.
    pub fn new(screen: Arc<Screen>, answers: Option<Answers>, mailbox: Option<Mailbox>) -> std::io::Result<Self> {
        let is_terminal = std::io::stdin().is_terminal();
        // With answers from a file and no terminal there is nobody else to ask.
        let reads_input = is_terminal || answers.is_none();
        let (commands_in, commands) = mpsc::unbounded_channel();
        let source = match (reads_input, is_terminal) {
            (false, _) => InputSource::Nobody,
            (true, true) => InputSource::Terminal {
                keyboard: Keyboard::attend(move |line| {
                    command(line).is_some_and(|said| commands_in.send(said).is_ok())
                }),
                continued: signal(SignalKind::from_raw(rustix::process::Signal::CONT.as_raw()))?,
            },
            (true, false) => {
                let (typed_in, typed) = mpsc::unbounded_channel();
                std::thread::spawn(move || read_lines(&typed_in));
                InputSource::Pipe(typed)
            }
        };
        Ok(Self {
            correspondence: Correspondence::new(mailbox, Timestamp::now(), screen.show()),
            screen,
            answers: Mutex::new(answers.unwrap_or_default()),
            lines: AsyncMutex::new(InputLines { source, ended: false }),
            signals: AsyncMutex::new(Signals {
                interrupt: signal(SignalKind::interrupt())?,
                terminate: signal(SignalKind::terminate())?,
                last: None,
                commands,
                commands_ended: false,
            }),
            reads_input,
        })
    }

    /// Returns what comes by the run's mailbox.
    pub fn correspondence(&self) -> &Correspondence {
        &self.correspondence
    }

    /// Takes what was begun or typed at the terminal for a question that was answered elsewhere, so that it answers no
    /// other one and isn't left for the shell. What comes through a pipe was written for later questions, and stays.
    fn forget_typed(&self) {
        self.ignore_typed("typed for a question that was answered elsewhere");
    }

    /// Takes all that was typed so far. While something is asked that is what answers it.
    fn ignore_typed(&self, why: &str) {
        if let Ok(lines) = self.lines.try_lock()
            && let InputSource::Terminal { keyboard, .. } = &lines.source
        {
            self.say_ignored(why, &keyboard.drain());
        }
    }

    /// Shows a question that was put before and still waits.
    pub fn show_question(&self, question: &Question) {
        self.ignore_typed(BEFORE);
        self.screen.with_renderer(|renderer| renderer.question(question));
    }

    fn say_ignored(&self, why: &str, typed: &[String]) {
        for text in typed {
            self.screen.note(&ignored(why, text));
        }
    }

    /// The prepared answer to a question, if there is one that can be read as such.
    fn prepared(&self, kind: QuestionKind) -> Option<Reply> {
        loop {
            let typed = self.answers.lock().unwrap_or_else(PoisonError::into_inner).take(kind)?;
            if let Some(reply) = reply::read(kind, &typed) {
                self.screen.with_renderer(|renderer| renderer.echo(&typed, "from the answers"));
                return Some(reply);
            }
        }
    }

    async fn typed(&self, kind: QuestionKind) -> Option<Reply> {
        // A question that was shown while another one was answered is one of which nothing was typed yet.
        let (mut lines, is_fresh) = match self.lines.try_lock() {
            Ok(lines) => (lines, true),
            Err(_) => (self.lines.lock().await, false),
        };
        let InputLines { source, ended } = &mut *lines;
        if *ended {
            return None;
        }
        if let (InputSource::Terminal { keyboard, .. }, false) = (&*source, is_fresh) {
            self.say_ignored(BEFORE, &keyboard.drain());
        }
        let mut asked = match source {
            InputSource::Terminal { keyboard, continued } => {
                let keyboard: &Keyboard = keyboard;
                PromptTarget::Terminal { keyboard, continued, asking: keyboard.ask() }
            }
            InputSource::Pipe(lines) => PromptTarget::Pipe(lines),
            InputSource::Nobody => return None,
        };
        for _ in 0..REPLIES_MAX {
            let entry = self.entry(&mut asked).await;
            let (text, is_paste) = match &entry {
                TypedEntry::Line(text) => (text, false),
                TypedEntry::Paste(text) => (text, true),
                TypedEntry::Early(text) => {
                    self.say_ignored(BEFORE, std::slice::from_ref(text));
                    continue;
                }
                TypedEntry::Cut(text) => {
                    let why = format!("Not taken, the terminal gave only a part of it: {}", quoted(text));
                    self.refuse(&asked, &why);
                    continue;
                }
                TypedEntry::End => {
                    *ended = true;
                    self.screen.with_renderer(|renderer| renderer.echo("", "end of input"));
                    return None;
                }
            };
            // Whatever is typed at some questions and is no yes is a no; a paste may have been meant for another place.
            let is_meant = !is_paste || reply::is_word_for(kind, text);
            match reply::read(kind, text).filter(|_| is_meant) {
                Some(reply) => return Some(reply),
                // An empty line leaves a blocked run as it is; anywhere else it is asked again.
                None if !is_paste && matches!(kind, QuestionKind::Blocker | QuestionKind::Failure) => return None,
                None if is_paste => {
                    self.refuse(&asked, &format!("Pasted, and not one of the options above: {}", quoted(text)));
                }
                None => self.refuse(&asked, "Not one of the options above."),
            }
        }
        None
    }

    /// Says why an entry was not taken. What came together with it is not taken either.
    fn refuse(&self, asked: &PromptTarget<'_>, why: &str) {
        if let PromptTarget::Terminal { keyboard, .. } = asked {
            self.say_ignored(BEFORE, &keyboard.drain());
        }
        self.screen.note(why);
    }

    /// The next thing that is typed or piped.
    async fn entry(&self, asked: &mut PromptTarget<'_>) -> TypedEntry {
        match asked {
            PromptTarget::Terminal { keyboard, continued, asking } => {
                self.screen.with_renderer(Renderer::prompt);
                loop {
                    tokio::select! {
                        entry = keyboard.next() => return entry,
                        Some(()) = continued.recv() => asking.mark_again(),
                    }
                }
            }
            PromptTarget::Pipe(lines) => {
                let Some(line) = lines.recv().await else { return TypedEntry::End };
                self.screen.with_renderer(|renderer| renderer.echo(&line, "from the input"));
                TypedEntry::Line(line)
            }
        }
    }
}

impl Operator for Console {
    fn show(&self, progress: Progress<'_>) {
        if let Progress::Event(Event { body: Body::Ask(AskEvent::Question { .. }), .. }) = progress {
            self.ignore_typed(BEFORE);
        }
        self.screen.with_renderer(|renderer| renderer.show(&progress));
    }

    fn ask<'a>(
        &'a self,
        key: &'a Key,
        question: &'a Question,
        cancel: CancellationToken,
    ) -> Pending<'a, Option<Answered>> {
        Box::pin(async move {
            if let Some(found) = self.correspondence.found(key, question) {
                return Some(found);
            }
            if let Some(reply) = self.prepared(question.kind) {
                return Some(self.correspondence.give(key, question, reply, "answers"));
            }
            if !self.reads_input {
                return None;
            }
            self.screen.set_asking(true);
            let typed = tokio::select! {
                reply = self.typed(question.kind) => reply.map(Typed::Here),
                answered = self.correspondence.elsewhere(key, question) => Some(Typed::Elsewhere(answered)),
                () = cancel.cancelled() => None,
            };
            self.screen.set_asking(false);
            Some(match typed? {
                Typed::Here(reply) => self.correspondence.give(key, question, reply, "terminal"),
                Typed::Elsewhere(answered) => {
                    self.forget_typed();
                    answered
                }
            })
        })
    }

    fn close(&self, key: &Key, kind: QuestionKind, why: Closing) -> Option<Answered> {
        self.correspondence.close(key, kind, why)
    }

    fn message(&self) -> Pending<'_, Heard> {
        Box::pin(async move {
            let mut signals = self.signals.lock().await;
            let Signals { interrupt, terminate, last, commands, commands_ended } = &mut *signals;
            loop {
                tokio::select! {
                    _ = interrupt.recv() => {
                        let twice = last.is_some_and(|last| last.elapsed() < TWICE);
                        *last = Some(Instant::now());
                        if twice || self.screen.is_asking() {
                            self.screen.note("stopping; the run can be resumed");
                            return Message::Interrupt.into();
                        }
                        let note = "cancelling what is in flight (once more to stop the run)";
                        self.screen.note(note);
                        return Message::Cancel.into();
                    }
                    _ = terminate.recv() => return Message::Interrupt.into(),
                    heard = self.correspondence.letter() => return heard,
                    command = commands.recv(), if !*commands_ended => match command {
                        Some(message) => return message.into(),
                        None => *commands_ended = true,
                    },
                }
            }
        })
    }

    fn name(&self) -> String {
        OPERATOR.to_owned()
    }
}

/// Place where a question asked here was answered.
enum Typed {
    Here(Reply),
    Elsewhere(Answered),
}

/// Reason why typed text is ignored.
const BEFORE: &str = "typed before the question";

/// Returns the message about typed text that answers nothing.
fn ignored(why: &str, text: &str) -> String {
    format!("ignored, {why}: {}", quoted(text))
}

/// Returns the typed text in quotes and masked, with the number of characters left out.
fn quoted(text: &str) -> String {
    let masked = secrets::mask(text);
    let shown: String = masked.chars().take(SHOWN_CHARS_MAX).collect();
    let left_out = masked.chars().count() - shown.chars().count();
    let shown = visible_line(&shown);
    match left_out {
        0 => format!("\"{shown}\""),
        more => format!("\"{shown}\" and {more} characters more"),
    }
}

/// Returns the message of a line that is a command at any time, whatever is asked.
fn command(line: &str) -> Option<Message> {
    match line.trim() {
        "/auto" => Some(Message::Mode(Mode::Auto)),
        "/gated" => Some(Message::Mode(Mode::Gated)),
        "/stop" => Some(Message::Stop),
        _ => None,
    }
}

/// Reads lines from a pipe until it ends.
fn read_lines(typed: &mpsc::UnboundedSender<String>) {
    let mut input = std::io::stdin().lock();
    let mut bytes = Vec::new();
    loop {
        bytes.clear();
        match input.read_until(b'\n', &mut bytes) {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        let line = String::from_utf8_lossy(&bytes);
        if typed.send(line.trim_end_matches(['\n', '\r']).to_owned()).is_err() {
            return;
        }
    }
}

/// Asks a yes-or-no question outside of any run. Returns true only if an operator at the terminal answers with one yes.
pub fn confirm(text: &str) -> bool {
    if !std::io::stdin().is_terminal() {
        return false;
    }
    let said = |early: &[String]| early.iter().for_each(|text| tell!("{}", ignored(BEFORE, text)));
    let typed = keyboard::typed_after(&format!("{} (y/N) ", visible_line(text)), said);
    typed.is_some_and(|typed| matches!(typed.trim().to_lowercase().as_str(), "y" | "yes"))
}
