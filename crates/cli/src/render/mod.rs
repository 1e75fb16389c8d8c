//! Shows a run while it goes on: lines for a person, or one JSON object per event for a program.
//!
//! In: events and text as it arrives. Out: stdout. Computes no fact of its own, and lets no text from
//! outside drive the terminal.
//!
//! Begin with [`Renderer::show`]. `events.rs` has the lines of each event, `acts.rs` what a call changes, `drawing.rs` how
//! anything gets to the terminal, `paging.rs` questions that are longer than the screen. Whatever is computed to be shown is in files that know no terminal: `prose.rs` has an
//! agent's words, `call.rs` calls and their results, `diff.rs` changes, `status.rs` and `footer.rs` the last line, `wrap.rs`
//! lines of a width.

mod acts;
mod call;
mod changed;
mod diff;
mod drawing;
mod events;
mod folder_view;
mod footer;
mod labelled;
mod looped;
mod markdown;
mod paging;
mod prose;
mod status;
#[cfg(test)]
mod tests;
mod wrap;

use std::collections::BTreeMap;
use std::io::{IsTerminal, Write};
use std::time::Instant;

use adjutant_core::budget::Spending;
use adjutant_core::gate::secrets;
use adjutant_core::trace::{Body, CallEvent, Event, wire};
use adjutant_core::words::id::RunId;
use adjutant_core::words::visible::{visible_json, visible_line, visible_text};
use adjutant_core::words::{Key, Part, Question, QuestionKind, Slot};
use adjutant_ports::{Delta, Progress};
use adjutant_runtime::{LastReply, RunEffects};

use self::acts::{CallShown, RepliedCalls};
use self::changed::ChangedFiles;
pub use self::drawing::fitted_to_stderr;
use self::drawing::{Footer, Surface, size_of_stdout};
pub use self::folder_view::FolderView;
use self::labelled::LabelledStdout;
use self::paging::Pages;
use self::prose::{Prose, ProseForm};
use self::status::RunStatus;
use self::wrap::{Styled, TextTone, wrapped};
use crate::keyboard::TypedView;
use crate::totals::{FileTotal, SittingTotals};

/// Shows a run.
pub struct Renderer {
    look: RenderStyle,
    out: Box<dyn Write + Send>,
    surface: Surface,
    /// Returns the lines and columns of the terminal, if it says them.
    measure: fn() -> Option<(usize, usize)>,
    /// True if an answer is being typed on a line that the terminal edits.
    is_prompted: bool,
    /// The prompt of the line that is edited here, while something is asked.
    prompt: Option<String>,
    /// Text that is being typed on that line.
    typed: TypedView,
    /// True if something stands on the last line that is no reply.
    mid_line: bool,
    /// The reply that is being shown, and the part whose agent gives it.
    reply: Option<(Part, Prose)>,
    /// Notes that are to stand below it.
    below_reply: Vec<String>,
    /// True if the turn's text was shown as it arrived.
    streamed: bool,
    /// Replies of an earlier sitting that are still to be shown, each before the question of its part.
    recalled: BTreeMap<Part, String>,
    pages: Pages,
    /// The parts in phase 4, each with whether its latest turn there was empty.
    unreported: BTreeMap<Part, bool>,
    /// The calls of each part's latest reply.
    replied: BTreeMap<Part, RepliedCalls>,
    /// The calls in flight.
    calls: BTreeMap<(Part, Slot), CallShown>,
    changed: ChangedFiles,
    status: RunStatus,
    footer: Option<Footer>,
    /// Column that was written to last.
    column: usize,
    /// Number of lines of the screen that were ended so far.
    lines_ended: usize,
    /// True if text of a reply came since the footer was last looked at.
    has_text_come: bool,
    /// The run that each line of JSON is of, where a program may read those of several.
    run: Option<RunId>,
    /// The run and its folder, once they are known.
    attended: Option<(RunId, FolderView)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RenderStyle {
    Coloured,
    Plain,
    Json,
}

/// Returns true if a question of this kind is about what the agent said last; others say all that they are about.
const fn is_about_reply(kind: QuestionKind) -> bool {
    match kind {
        QuestionKind::Confirmation
        | QuestionKind::Step
        | QuestionKind::Destructive
        | QuestionKind::Blocker
        | QuestionKind::Scope => true,
        QuestionKind::Limit
        | QuestionKind::Deadline
        | QuestionKind::Failure
        | QuestionKind::Permission
        | QuestionKind::Escalation
        | QuestionKind::Disagreement
        | QuestionKind::Stuck => false,
    }
}

impl Renderer {
    /// A renderer on stdout: coloured on a terminal unless `NO_COLOR` is set or `TERM` is `dumb`, plain when piped, or JSON.
    #[must_use]
    pub fn on_stdout(json: bool) -> Self {
        let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let surface = Surface::of_stdout();
        let look = match json {
            true => RenderStyle::Json,
            false if surface == Surface::Screen && !no_color => RenderStyle::Coloured,
            false => RenderStyle::Plain,
        };
        Self {
            look,
            out: Box::new(std::io::stdout()),
            surface: if json { Surface::Stream } else { surface },
            measure: size_of_stdout,
            is_prompted: false,
            prompt: None,
            typed: TypedView::default(),
            mid_line: false,
            reply: None,
            below_reply: Vec::new(),
            streamed: false,
            recalled: BTreeMap::new(),
            pages: Pages::default(),
            unreported: BTreeMap::new(),
            replied: BTreeMap::new(),
            calls: BTreeMap::new(),
            changed: ChangedFiles::default(),
            status: RunStatus::new(Instant::now()),
            footer: None,
            column: 0,
            lines_ended: 0,
            has_text_come: false,
            run: None,
            attended: None,
        }
    }

    /// Shows what calls of `run` change in its folder from here on.
    pub fn attend(&mut self, run: RunId, folder: FolderView) {
        self.attended = Some((run, folder));
    }

    /// The same for a run that a worker goes on with: each line of JSON names the run. With `several` at once each line
    /// of text does too, and is written whole.
    #[must_use]
    pub fn of_worker(json: bool, run: &RunId, several: bool) -> Self {
        let renderer = Self { run: Some(run.clone()), ..Self::on_stdout(json) };
        if json || !several {
            return renderer;
        }
        let out = Box::new(LabelledStdout::new(format!("{run} | ")));
        Self { look: RenderStyle::Plain, out, surface: Surface::Stream, ..renderer }
    }

    /// Returns the files that the run changed, compared with how they were: `first_hashes` has the hash that each had
    /// before the run, or none.
    pub fn file_totals(&self, first_hashes: &BTreeMap<String, Option<String>>) -> Vec<FileTotal> {
        self.attended.as_ref().map_or_else(Vec::new, |(_, folder)| self.changed.totals(first_hashes, folder))
    }

    /// Shows the end of a sitting: lines for a person, or one JSON object for a program, which also gets the lines that say
    /// how to go on, on stderr.
    pub fn close(&mut self, lines: &[String], totals: &serde_json::Value) {
        self.note("");
        if self.look == RenderStyle::Json {
            self.write(&format!("{totals}\n"));
            self.flush();
        }
        for line in lines {
            self.note(line);
        }
    }

    /// Says something about the run that is no event.
    pub fn note(&mut self, text: &str) {
        if self.look == RenderStyle::Json {
            let run = self.run.as_ref().map(|run| format!("{run} | ")).unwrap_or_default();
            tell!("{run}{text}");
        } else {
            self.line(TextTone::Dim, &visible_line(text));
        }
    }

    /// Says that what is in flight is to end: below a reply that is being given, whose last words are still to come.
    pub fn note_ending(&mut self, text: &str) {
        self.status.note_ending();
        if self.look == RenderStyle::Json || self.reply.is_none() {
            self.note(text);
        } else {
            self.below_reply.push(text.to_owned());
            self.has_text_come = false;
            self.tick();
        }
    }

    /// Shows that an answer was taken from somewhere else than this terminal.
    pub fn echo(&mut self, answer: &str, from: &str) {
        if self.look != RenderStyle::Json {
            self.fresh_line();
            self.line(TextTone::Dim, &format!("> {}  ({from})", visible_line(&secrets::mask(answer))));
        }
    }

    /// Returns true if this is a screen on which a line can be edited.
    pub fn has_screen(&self) -> bool {
        self.surface == Surface::Screen
    }

    /// Shows that an answer may be typed now.
    pub fn prompt(&mut self) {
        self.prompt_with("> ");
    }

    /// Shows that an answer may be typed now to one of several questions, with how to name it.
    pub fn numbered_prompt(&mut self, forms: &str) {
        self.prompt_with(&format!("Answer with the number: {forms} > "));
    }

    fn prompt_with(&mut self, prompt: &str) {
        if self.look == RenderStyle::Json {
            return;
        }
        self.fresh_line();
        if self.has_screen() {
            self.prompt = Some(prompt.to_owned());
            self.tick();
        } else {
            self.write(prompt);
            self.is_prompted = true;
            self.flush();
        }
    }

    /// Takes note that Enter was typed, and what was given with it: what follows is on a new line.
    pub fn entered(&mut self, text: &str) {
        self.is_prompted = false;
        if let Some(prompt) = self.prompt.take() {
            self.raw_line(TextTone::Plain, &format!("{prompt}{}", visible_text(&secrets::mask(text))));
            self.flush();
        }
        self.column = 0;
    }

    /// Takes the prompt away: nothing is asked any more.
    pub fn unprompt(&mut self) {
        if self.prompt.take().is_some() {
            self.erase_footer();
            self.flush();
        }
    }

    /// Shows what is being typed from now on.
    pub fn show_typed(&mut self, typed: TypedView) {
        if typed != self.typed {
            self.typed = typed;
            self.has_text_come = false;
            self.tick();
        }
    }

    /// Shows what the run took so far.
    pub fn show_cost(&mut self) {
        let totals = SittingTotals::of(self.status.spending(), &RunEffects::default(), Vec::new());
        self.line(TextTone::Dim, &totals.usage());
    }

    /// Shows an event that asks a question, for programs; the question itself is shown for a person later.
    pub fn show_without_question(&mut self, progress: &Progress<'_>) {
        if self.look == RenderStyle::Json {
            self.show(progress);
        }
    }

    /// Shows what happened.
    pub fn show(&mut self, progress: &Progress<'_>) {
        // Its calls have not begun: their files are as they were before.
        if let (
            Progress::Event(Event { body: Body::Call(CallEvent::ToolCall { changes, .. }), .. }),
            Some((_, folder)),
        ) = (progress, &self.attended)
        {
            self.changed.note(changes, folder);
        }
        match (self.look, progress) {
            (RenderStyle::Json, Progress::Event(event)) => {
                let line = wire::encode(event, None);
                let line = if std::io::stdout().is_terminal() { visible_json(&line).into_owned() } else { line };
                let line = match (&self.run, line.strip_prefix('{')) {
                    // A run's name needs no escapes.
                    (Some(run), Some(rest)) => format!("{{\"run\":\"{run}\",{rest}\n"),
                    _ => line + "\n",
                };
                self.write(&line);
                self.flush();
            }
            (RenderStyle::Json, _) => {}
            (_, Progress::Event(event)) => self.event(event),
            (_, Progress::Turn(part, Delta::Text(text))) if !text.is_empty() => {
                self.streamed = true;
                self.say(part, Prose::say, text);
            }
            (_, Progress::Turn(part, Delta::Thinking(text))) if !text.is_empty() => self.say(part, Prose::think, text),
            (_, Progress::Turn(..)) => {}
        }
    }

    /// Takes over what the run took before this sitting, for the line that says so.
    pub fn seed(&mut self, spending: Spending) {
        self.status.seed(spending);
    }

    /// Shows a piece of what the agent of a part says or thinks.
    fn say(&mut self, part: &Part, how: impl FnOnce(&mut Prose, &str, ProseForm) -> Styled, text: &str) {
        if self.mid_line || self.reply.as_ref().is_some_and(|(speaker, _)| speaker != part) {
            self.fresh_line();
        }
        let form = self.prose_form();
        let (_, prose) = self.reply.get_or_insert_with(|| (part.clone(), Prose::default()));
        let said = how(prose, text, form);
        self.has_text_come = true;
        self.paint(&said);
        self.flush();
    }

    /// Takes note of what is asked about: the agent's last reply, which is shown before the question of its part, and the
    /// calls that wait for an answer.
    pub fn recall(&mut self, part: &Part, reply: &LastReply<'_>) {
        let (asked, all) = (reply.open_calls.clone(), reply.open_calls.clone());
        self.replied.insert(part.clone(), RepliedCalls { asked, all, ..RepliedCalls::default() });
        if self.look != RenderStyle::Json && !reply.text.trim().is_empty() {
            self.recalled.insert(part.clone(), reply.text.to_owned());
        }
    }

    /// Shows a question that is put now, or that was put before and still waits.
    pub fn question(&mut self, key: &Key, question: &Question) {
        if self.look != RenderStyle::Json {
            self.question_under("", key, question);
        }
    }

    /// Shows one of several questions that are open: its number, and the part that asks.
    pub fn numbered_question(&mut self, number: u32, key: &Key, question: &Question) {
        if self.look == RenderStyle::Json {
            // Its lines on stdout are a promise; who answers needs the number all the same.
            tell!("question {number}: {key}");
            return;
        }
        let part = if key.part.is_root() { String::new() } else { format!(" ({})", visible_line(key.part.as_str())) };
        self.question_under(&format!("question {number}{part}: "), key, question);
    }

    fn question_under(&mut self, heading: &str, key: &Key, question: &Question) {
        self.fresh_line();
        if is_about_reply(question.kind)
            && let Some(said) = self.recalled.remove(&key.part)
        {
            self.line(TextTone::Dim, "\nthe agent said:");
            self.say(&key.part, Prose::say, &said);
            self.fresh_line();
        }
        let (text, changes) = self.asked_about(key, question);
        let width = question.options.iter().map(|offer| offer.reply.chars().count()).max().unwrap_or(0);
        let asked = (TextTone::Warning, format!("? {heading}{}", visible_text(&text)), 2);
        let offers = question.options.iter().map(|offer| {
            let reply = format!("{:width$}", offer.reply);
            // What goes on stands below what it says.
            (TextTone::Dim, format!("    {reply}  {}", visible_line(&offer.changes)), width + 2)
        });
        let columns = self.columns();
        let asked: Vec<Styled> = std::iter::once(asked)
            .chain(offers)
            .map(|(tone, text, hanging)| wrapped(tone, &text, columns, hanging))
            .collect();
        let lines_asked = asked.iter().map(|line| line.rows(columns.unwrap_or(usize::MAX))).sum();
        let mut lines = self.changes_asked_about(&changes, lines_asked);
        lines.push(Styled::default());
        lines.extend(asked);
        if self.first_page(key, question.kind, &lines) {
            self.flush();
            return;
        }
        let lines_before = self.lines_ended;
        lines.iter().for_each(|line| self.styled_line(line));
        self.flush();
        // The prompt needs a line too.
        let lines = self.lines_ended - lines_before + 1;
        if self.size().is_some_and(|(lines_max, _)| lines > lines_max) {
            let elsewhere =
                self.attended.as_ref().map(|(run, _)| format!(", or type `adjutant inbox show {run}` elsewhere"));
            let how = format!("! This question is longer than the screen: scroll up{}.", elsewhere.unwrap_or_default());
            self.line(TextTone::Warning, &how);
        }
    }
}
