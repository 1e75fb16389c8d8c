//! The operator at this terminal, at the other end of a pipe, in a file of answers, or elsewhere by way of the run's
//! mailbox; or no operator.
//!
//! Lines that come through a pipe were written for the questions in order: one thread reads them into a queue. Text
//! typed at a terminal answers a question only if that stood on the screen before it; the rest is reported and ignored.
//! The end of the input means that no operator is there: the question waits.
//!
//! Of several questions that are open at once, one reads for all: it shows what changed, and hands each line to the
//! question that the line names. When it has its own answer, another one reads on.

use std::io::{BufRead, IsTerminal};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use adjutant_core::gate::secrets;
use adjutant_core::inbox::mailbox::Closing;
use adjutant_core::inbox::naming::{self, LineSource, NamedLine, NumbersShown};
use adjutant_core::inbox::reply;
use adjutant_core::inbox::reply::Reply;
use adjutant_core::trace::{AskEvent, Body, Event};
use adjutant_core::words::visible::visible_line;
use adjutant_core::words::{Choice, Key, Message, Question, QuestionKind, Slot};
use adjutant_ports::{Answered, CancellationToken, Heard, Operator, Pending, Progress};
use adjutant_runtime::Correspondence;
use adjutant_runtime::mail::OPERATOR;
use adjutant_store::Mailbox;
use jiff::Timestamp;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{Mutex as AsyncMutex, Notify, mpsc};

use crate::answers::Answers;
use crate::keyboard::{self, Keyboard, KeyboardHandlers, LineEditing, TypedEntry};
use crate::questions_here::QuestionsHere;
use crate::render::Renderer;
use crate::screen::Screen;

mod typed_command;

#[cfg(test)]
mod tests;

use self::typed_command::TypedCommand;

/// Within how long a second Ctrl-C means the run and not the call (the peer's window).
const TWICE: Duration = Duration::from_secs(2);

/// The most that is shown of typed text that is not taken, in characters.
const SHOWN_CHARS_MAX: usize = 200;

/// The most lines of the input that are looked at for what was not used: it may have no end.
const UNUSED_LINES_MAX: usize = 1_000;

/// Number of unused answers that are shown.
const UNUSED_SHOWN_MAX: usize = 5;

/// The operator's side of a run.
pub struct Console {
    screen: Arc<Screen>,
    correspondence: Correspondence,
    answers: Mutex<Answers>,
    /// The terminal, if lines come from one.
    keyboard: Option<Keyboard>,
    /// Held by whoever reads for all questions that are open.
    input: AsyncMutex<InputSource>,
    questions: Mutex<QuestionsHere>,
    /// Told when a question came or went.
    changed: Notify,
    signals: AsyncMutex<Signals>,
    reads_input: bool,
}

enum InputSource {
    Terminal {
        /// Heard when the run is in the foreground again.
        continued: Signal,
    },
    Pipe(mpsc::UnboundedReceiver<String>),
    /// Nobody is there, or the input ended.
    Nobody,
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
        let keyboard = (reads_input && is_terminal).then(|| attended_keyboard(&screen, commands_in));
        let input = match (reads_input, is_terminal) {
            (false, _) => InputSource::Nobody,
            (true, true) => InputSource::Terminal {
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
            keyboard,
            input: AsyncMutex::new(input),
            questions: Mutex::default(),
            changed: Notify::new(),
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

    fn questions(&self) -> MutexGuard<'_, QuestionsHere> {
        self.questions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes what was begun or typed at the terminal for a question that was answered elsewhere, so that it answers no
    /// other one and isn't left for the shell. What comes through a pipe was written for later questions, and stays.
    fn forget_typed(&self) {
        // Where others are open, a line names the one that it is for.
        if self.questions().is_empty() {
            self.ignore_typed("typed for a question that was answered elsewhere");
        }
    }

    /// Takes all that was typed so far. While something is asked that is what answers it.
    fn ignore_typed(&self, why: &str) {
        if let Some(keyboard) = &self.keyboard {
            self.say_ignored(why, keyboard.drain().into_texts());
        }
    }

    /// Says which prepared answers and piped lines were not used, once the run asks nothing more in this sitting.
    pub async fn say_unused(&self) {
        let prepared = self.answers.lock().unwrap_or_else(PoisonError::into_inner).take_rest();
        self.say_left("the answers", &prepared);
        if let InputSource::Pipe(lines) = &mut *self.input.lock().await {
            let mut left = Vec::new();
            while left.len() < UNUSED_LINES_MAX
                && let Ok(line) = lines.try_recv()
            {
                left.push(line);
            }
            left.retain(|line| !line.trim().is_empty());
            self.say_left("the input", &left);
        }
    }

    fn say_left(&self, source: &str, left: &[String]) {
        if left.is_empty() {
            return;
        }
        let mut shown: Vec<String> = left.iter().take(UNUSED_SHOWN_MAX).map(|text| quoted(text)).collect();
        if left.len() > shown.len() {
            shown.push(format!("and {} more", left.len() - shown.len()));
        }
        self.screen.note(&format!("not used from {source}, no question came that it fits: {}", shown.join(", ")));
    }

    /// Shows a question that was put before and still waits.
    pub fn show_question(&self, key: &Key, question: &Question) {
        if self.questions().announce(key) {
            self.ignore_typed(BEFORE);
            self.screen.with_renderer(|renderer| renderer.question(key, question));
        }
    }

    /// Shows a question that another one had precedence over, now that it is known that it needs no number.
    fn show_unseen(&self, key: &Key, question: &Question) {
        if self.questions().take_unseen(key) {
            self.screen.with_renderer(|renderer| renderer.question(key, question));
        }
    }

    /// Returns true if a part of the question was not shown yet.
    fn has_more(&self, key: &Key) -> bool {
        self.screen.with_renderer(|renderer| renderer.has_more(key))
    }

    fn say_ignored(&self, why: &str, typed: impl IntoIterator<Item = String>) {
        for text in typed {
            self.screen.note(&ignored(why, &text));
        }
    }

    /// The prepared answer to a question, if there is one that can be read as such.
    fn prepared(&self, key: &Key, question: &Question) -> Option<Reply> {
        loop {
            let typed = self.answers.lock().unwrap_or_else(PoisonError::into_inner).take(question)?;
            self.show_unseen(key, question);
            let slip = reply::slip(question.kind, &typed, Timestamp::now());
            match reply::read_to(question, &typed).filter(|_| slip.is_none()) {
                Some(reply) => {
                    self.screen.with_renderer(|renderer| {
                        renderer.show_rest(key);
                        renderer.echo(&typed, "from the answers");
                    });
                    self.say_taken(question, &reply, &typed);
                    return Some(reply);
                }
                None => {
                    let why = slip.unwrap_or_else(|| "not one of the options above".to_owned());
                    self.screen.note(&format!("not taken from the answers: {}: {why}", quoted(&typed)));
                }
            }
        }
    }

    /// The answer to a question that is typed or piped; `None` if it is left open.
    async fn typed(&self, key: &Key, question: &Question) -> Option<Reply> {
        let mut answer = self.questions().open(key, question);
        self.changed.notify_one();
        tokio::select! {
            biased;
            given = &mut answer => return given.ok().flatten(),
            () = self.read_for_all(key) => {}
        }
        let given = answer.try_recv().ok().flatten();
        if given.is_none() {
            self.show_unseen(key, question);
        }
        given
    }

    /// Reads lines for all questions that are open, until that of `key` is closed.
    async fn read_for_all(&self, key: &Key) {
        let mut input = self.input.lock().await;
        let is_over = match (&mut *input, &self.keyboard) {
            (InputSource::Terminal { continued }, Some(keyboard)) => self.read_keyboard(key, keyboard, continued).await,
            (InputSource::Pipe(lines), _) => self.read_pipe(key, lines).await,
            (InputSource::Terminal { .. } | InputSource::Nobody, _) => InputEnd::Reached,
        };
        if is_over == InputEnd::Reached {
            *input = InputSource::Nobody;
            self.questions().leave_all();
        }
    }

    async fn read_keyboard(&self, key: &Key, keyboard: &Keyboard, continued: &mut Signal) -> InputEnd {
        if !self.questions().is_open(key) {
            return InputEnd::Ahead;
        }
        let asking = keyboard.ask();
        let mut is_prompted = false;
        loop {
            {
                let mut questions = self.questions();
                loop {
                    is_prompted &= !questions.is_outdated();
                    if self.bring_up_to_date(&mut questions) == InputEnd::Reached {
                        return InputEnd::Reached;
                    }
                    if !questions.is_open(key) {
                        return InputEnd::Ahead;
                    }
                    if !std::mem::replace(&mut is_prompted, true) {
                        self.prompt(&questions);
                    }
                    let Some(entry) = keyboard.take() else { break };
                    self.echo_typed(&entry);
                    match self.take_entry(&mut questions, entry) {
                        EntryOutcome::End => return InputEnd::Reached,
                        EntryOutcome::Answered | EntryOutcome::Refused => is_prompted = false,
                    }
                }
            }
            tokio::select! {
                () = keyboard.came() => {}
                () = self.changed.notified() => {}
                Some(()) = continued.recv() => asking.mark_again(),
            }
        }
    }

    async fn read_pipe(&self, key: &Key, lines: &mut mpsc::UnboundedReceiver<String>) -> InputEnd {
        loop {
            self.bring_up_to_date(&mut self.questions());
            if !self.questions().is_open(key) {
                return InputEnd::Ahead;
            }
            tokio::select! {
                line = lines.recv() => {
                    let mut questions = self.questions();
                    self.bring_up_to_date(&mut questions);
                    let entry = line.map_or(TypedEntry::End, TypedEntry::Line);
                    if let TypedEntry::Line(line) = &entry {
                        self.screen.with_renderer(|renderer| renderer.echo(line, "from the input"));
                    }
                    if let EntryOutcome::End = self.take_entry(&mut questions, entry) {
                        return InputEnd::Reached;
                    }
                }
                () = self.changed.notified() => {}
            }
        }
    }

    /// Shows the questions as they are open now, if others stand on the screen. What was typed up to now was typed at
    /// those, and is taken so; a line that was begun there is not.
    fn bring_up_to_date(&self, questions: &mut QuestionsHere) -> InputEnd {
        while questions.is_outdated() {
            let typed = self.keyboard.as_ref().map(Keyboard::drain).unwrap_or_default();
            let mut is_refused = false;
            for entry in typed.entries {
                if is_refused || questions.seen().is_empty() {
                    self.say_ignored(BEFORE, entry.into_text());
                    continue;
                }
                self.echo_typed(&entry);
                match self.take_entry(questions, entry) {
                    EntryOutcome::Answered => {}
                    EntryOutcome::Refused => is_refused = true,
                    EntryOutcome::End => return InputEnd::Reached,
                }
            }
            self.say_ignored(BEFORE, typed.begun);
            self.screen.with_renderer(Renderer::unprompt);
            for shown in questions.take_changes() {
                self.screen.with_renderer(|renderer| match shown.number {
                    Some(number) => renderer.numbered_question(number, &shown.key, &shown.question),
                    None => renderer.question(&shown.key, &shown.question),
                });
            }
        }
        InputEnd::Ahead
    }

    fn prompt(&self, questions: &QuestionsHere) {
        match questions.numbers() {
            NumbersShown::All { .. } => {
                let forms = naming::forms(&questions.seen());
                self.screen.with_renderer(|renderer| renderer.numbered_prompt(&forms));
            }
            NumbersShown::Never | NumbersShown::Before { .. } => self.screen.with_renderer(Renderer::prompt),
        }
    }

    /// Shows an entry that was typed where a line is edited here; a terminal that edits lines by itself has shown it.
    fn echo_typed(&self, entry: &TypedEntry) {
        let text = entry.text().unwrap_or_default();
        self.screen.with_renderer(|renderer| renderer.entered(&text));
    }

    /// Gives an entry to the question that it is for.
    fn take_entry(&self, questions: &mut QuestionsHere, entry: TypedEntry) -> EntryOutcome {
        let seen = questions.seen();
        // What can't be taken for any question counts against the only one.
        let only = if let [only] = seen.as_slice() { Some(only.number) } else { None };
        let (text, source) = match entry {
            TypedEntry::Line(text) if self.keyboard.is_some() => (text, LineSource::Typed),
            TypedEntry::Line(text) => (text, LineSource::Piped),
            TypedEntry::Paste(text) => (text, LineSource::Pasted),
            TypedEntry::Early(text) => {
                self.say_ignored(BEFORE, [text]);
                only.into_iter().for_each(|number| questions.refuse(number));
                return EntryOutcome::Refused;
            }
            TypedEntry::Cut(text) => {
                self.refuse(&format!("Not taken, the terminal gave only a part of it: {}", quoted(&text)));
                only.into_iter().for_each(|number| questions.refuse(number));
                return EntryOutcome::Refused;
            }
            TypedEntry::End => {
                self.screen.with_renderer(|renderer| renderer.echo("", "end of input: the question stays open"));
                return EntryOutcome::End;
            }
        };
        let more = seen.iter().filter_map(|one| questions.key(one.number)).find(|key| self.has_more(key));
        if let Some(key) = more.filter(|_| text.trim().is_empty() && source == LineSource::Typed) {
            self.ignore_typed(BEFORE);
            self.screen.with_renderer(|renderer| renderer.next_page(key));
            return EntryOutcome::Refused;
        }
        let named = naming::read(&text, source, &seen, questions.numbers());
        let is_paste = source == LineSource::Pasted;
        let NamedLine::Answer { number, text: said } = named else {
            let shown = if is_paste { format!(" Pasted: {}", quoted(&text)) } else { String::new() };
            self.refuse(&format!("{}{shown}", naming::refusal(named, &seen).unwrap_or_default()));
            return EntryOutcome::Refused;
        };
        let Some(question) = questions.question(number).cloned() else { return EntryOutcome::Refused };
        let kind = question.kind;
        if reply::is_help(said) {
            self.ignore_typed(BEFORE);
            let Some(key) = questions.key(number) else { return EntryOutcome::Refused };
            self.screen.with_renderer(|renderer| match questions.numbers() {
                NumbersShown::All { .. } => renderer.numbered_question(number, key, &question),
                NumbersShown::Never | NumbersShown::Before { .. } => renderer.question(key, &question),
            });
            return EntryOutcome::Refused;
        }
        if let Some(slip) = reply::slip(kind, said, Timestamp::now()) {
            self.refuse(&slip);
            questions.refuse(number);
            return EntryOutcome::Refused;
        }
        // Whatever is typed at some questions and is no yes is a no; a paste may have been meant for another place.
        let is_meant = !is_paste || reply::is_word_to(&question, said);
        let reply = reply::read_to(&question, said).filter(|_| is_meant);
        let is_yes = reply.as_ref().is_some_and(|reply| reply.choice != Choice::Deny);
        if is_yes && questions.key(number).is_some_and(|key| self.has_more(key)) {
            self.refuse("Not taken yet: the question goes on. Enter shows the rest; a no can be given now.");
            return EntryOutcome::Refused;
        }
        // An empty line leaves a blocked run as it is; anywhere else it is asked again.
        let is_left = reply.is_none() && !is_paste && matches!(kind, QuestionKind::Blocker | QuestionKind::Failure);
        if reply.is_some() || is_left {
            if let Some(reply) = &reply {
                self.say_taken(&question, reply, said);
            }
            questions.answer(number, reply);
            return EntryOutcome::Answered;
        }
        let options = match questions.numbers() {
            NumbersShown::All { .. } => format!("of question {number}"),
            NumbersShown::Never | NumbersShown::Before { .. } => "above".to_owned(),
        };
        self.refuse(&match is_paste {
            true => format!("Pasted, and not one of the options {options}: {}", quoted(said)),
            false if question.acts > 0 => {
                format!(
                    "Not one of the options {options}. Say to which of the {} acts: `1`, `1,2`, `all` or `none`.",
                    question.acts
                )
            }
            false if kind == QuestionKind::Destructive => {
                format!("Not one of the options {options}. `n: <why>` tells the agent; `?` shows the question again.")
            }
            false => format!("Not one of the options {options}. `?` shows the question again."),
        });
        questions.refuse(number);
        EntryOutcome::Refused
    }

    /// Says how a reply was taken, where its words don't say that themselves.
    fn say_taken(&self, question: &Question, reply: &Reply, said: &str) {
        let is_about_acts = matches!(question.kind, QuestionKind::Destructive | QuestionKind::Permission);
        if said.trim().is_empty() && is_about_acts && reply.choice == Choice::Deny {
            return self.screen.note("an empty line, taken as a no");
        }
        if let Some(how) = reply::taken_as(question.kind, &question.options, reply) {
            let text = reply.text.as_deref().map(|text| format!(": {}", quoted(text))).unwrap_or_default();
            self.screen.note(&format!("{how}{text}"));
        }
    }

    /// Says why an entry was not taken. What came together with it is not taken either.
    fn refuse(&self, why: &str) {
        self.ignore_typed(BEFORE);
        self.screen.note(why);
    }
}

/// Outcome of one entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EntryOutcome {
    Answered,
    Refused,
    End,
}

/// End of the input: lines may come before it, or nothing comes any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum InputEnd {
    Ahead,
    Reached,
}

/// A question while it is asked. Dropping it closes the question here, whatever ended it.
struct AskedQuestion<'c> {
    console: &'c Console,
    key: &'c Key,
}

impl Drop for AskedQuestion<'_> {
    fn drop(&mut self) {
        let mut questions = self.console.questions();
        questions.close(self.key);
        self.console.screen.with_renderer(|renderer| renderer.forget_pages(self.key));
        self.console.screen.set_asking(!questions.is_empty());
        if questions.is_empty() {
            self.console.screen.with_renderer(Renderer::unprompt);
        }
        self.console.changed.notify_one();
    }
}

impl Operator for Console {
    fn show(&self, progress: Progress<'_>) {
        if let Progress::Event(Event { part, body, .. }) = progress {
            let key = |slot: &Slot| Key { part: part.clone(), slot: *slot };
            match body {
                Body::Ask(AskEvent::Question { slot, .. }) if self.questions().announce(&key(slot)) => {
                    self.ignore_typed(BEFORE);
                }
                Body::Ask(AskEvent::Question { .. }) => {
                    self.screen.with_renderer(|renderer| renderer.show_without_question(&progress));
                    return;
                }
                _ => body.outcome().into_iter().for_each(|slot| self.questions().forget(&key(slot))),
            }
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
            let asked = AskedQuestion { console: self, key };
            if self.correspondence.has_answer(key, question) {
                self.show_unseen(key, question);
            }
            if let Some(found) = self.correspondence.found(key, question) {
                return Some(found);
            }
            if let Some(reply) = self.prepared(key, question) {
                return Some(self.correspondence.give(key, question, reply, "answers"));
            }
            if !self.reads_input {
                self.show_unseen(key, question);
                return None;
            }
            self.screen.set_asking(true);
            let typed = tokio::select! {
                reply = self.typed(key, question) => reply.map(Typed::Here),
                answered = self.correspondence.elsewhere(key, question) => Some(Typed::Elsewhere(answered)),
                () = cancel.cancelled() => None,
            };
            drop(asked);
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
                            self.screen.with_renderer(|renderer| renderer.note_ending("stopping; the run can be resumed"));
                            return Message::Interrupt.into();
                        }
                        let note = "cancelling what is in flight (Ctrl-C again interrupts the run; `adjutant resume` goes on)";
                        self.screen.with_renderer(|renderer| renderer.note_ending(note));
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
        more => format!("\"{shown}\" and {more} more characters"),
    }
}

/// Reads this terminal for a run: commands at any time, and what else is typed for the questions.
fn attended_keyboard(screen: &Arc<Screen>, commands: mpsc::UnboundedSender<Message>) -> Keyboard {
    let has_screen = screen.with_renderer(|renderer| {
        renderer.show_in_pages();
        renderer.has_screen()
    });
    let editing = if has_screen { LineEditing::Own } else { LineEditing::Terminal };
    let (for_commands, for_messages, for_lines) = (screen.clone(), screen.clone(), screen.clone());
    let messages = commands.clone();
    Keyboard::attend(
        editing,
        KeyboardHandlers {
            take: Box::new(move |line| {
                let Some(command) = TypedCommand::read(line) else { return false };
                command.carry_out(&for_commands, &commands)
            }),
            send: Box::new(move |lines| {
                let (count, text) = (lines.len(), lines.join("\n"));
                let how_many = if count == 1 { String::new() } else { format!(", {count} lines in one message") };
                for_messages.note(&format!("sent to the agent{how_many}: {}", quoted(&text)));
                // Nobody listens any more only if the run is over.
                messages.send(Message::Steer(text)).ok();
            }),
            complete: typed_command::completed,
            show: Box::new(move |typed| for_lines.with_renderer(|renderer| renderer.show_typed(typed))),
        },
    )
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
