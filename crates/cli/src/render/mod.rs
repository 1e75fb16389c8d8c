//! Shows a run while it goes on: lines for a person, or one JSON object per event for a program.
//!
//! In: events and text as it arrives. Out: stdout. Computes no fact of its own, and lets no text from
//! outside drive the terminal.
//!
//! Begin with [`Renderer::show`]. What is computed to be shown is in files of its own, which know no terminal: `prose.rs`
//! has an agent's words, `call.rs` calls and their results, `diff.rs` what a call changes, `wrap.rs` lines of a width.

mod call;
mod changed;
mod diff;
mod folder_view;
mod footer;
mod labelled;
mod markdown;
mod prose;
mod status;
#[cfg(test)]
mod tests;
mod wrap;

use std::collections::BTreeMap;
use std::io::{IsTerminal, Write};
use std::time::Instant;

use adjutant_core::budget::Spending;
use adjutant_core::crew::ScopeWarning;
use adjutant_core::crew::questions::warned as scope_warned;
use adjutant_core::gate::custody::FolderChange;
use adjutant_core::gate::secrets;
use adjutant_core::session::prompts::changed_by_others;
use adjutant_core::trace::{
    AskEvent, Body, BudgetEvent, CallEvent, CrewEvent, Event, GateEvent, HandoffEvent, HostEvent, LearnedEvent,
    PartEvent, TurnEvent, wire,
};
use adjutant_core::words::id::RunId;
use adjutant_core::words::text::short_name;
use adjutant_core::words::tool::{ResolvedPath, ToolCall};
use adjutant_core::words::visible::{visible_json, visible_line, visible_text};
use adjutant_core::words::{
    Applied, GateAnswer, Key, LimitMetric, MessageKind, Part, PhaseName, Question, QuestionKind, Rejection, Slot, Stop,
    What,
};
use adjutant_host::sandbox::Wall;
use adjutant_ports::{Delta, Progress};
use adjutant_runtime::LastReply;
use serde::Serialize;

use self::changed::ChangedFiles;
use self::diff::ShownDiff;
pub use self::folder_view::FolderView;
use self::footer::FooterLine;
use self::labelled::LabelledStdout;
use self::prose::{Prose, ProseForm};
use self::status::RunStatus;
use self::wrap::{Styled, StyledText, TextTone, head_of, width_of, wrapped};

use crate::keyboard::TypedView;
use crate::totals::{FileTotal, JournalTotals, SittingTotals};

/// The size of a terminal that doesn't say its own.
const SIZE: (usize, usize) = (24, 80);

/// The narrowest terminal that text is broken for: at fewer columns the terminal does it.
const COLUMNS_MIN: usize = 20;

/// The most lines of a diff where no screen has to hold it.
const DIFF_LINES_MAX: usize = 200;

/// The most columns of a line of a tool's output.
const OUTPUT_COLUMNS_MAX: usize = 400;

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
    /// True if the turn's text was shown as it arrived.
    streamed: bool,
    /// The calls of each part's latest reply.
    replied: BTreeMap<Part, RepliedCalls>,
    /// The calls in flight.
    calls: BTreeMap<(Part, Slot), CallShown>,
    changed: ChangedFiles,
    status: RunStatus,
    footer: Option<Footer>,
    /// Column that was written to last.
    column: usize,
    /// True if text of a reply came since the footer was last looked at.
    has_text_come: bool,
    /// The run that each line of JSON is of, where a program may read those of several.
    run: Option<RunId>,
    /// The run and its folder, once they are known.
    attended: Option<(RunId, FolderView)>,
}

/// The calls of a reply, as far as the gate has judged them.
#[derive(Debug, Default)]
struct RepliedCalls {
    /// Those that are not judged, in order.
    unjudged: Vec<ToolCall>,
    /// Those that the operator is asked about.
    asked: Vec<ToolCall>,
}

impl RepliedCalls {
    /// Takes note that a call of `tool` was judged. Calls are judged in order.
    fn judge(&mut self, tool: &str, answer: GateAnswer) {
        let Some(at) = self.unjudged.iter().position(|call| call.name == tool) else { return };
        let call = self.unjudged.remove(at);
        if answer == GateAnswer::Ask {
            self.asked.push(call);
        }
    }
}

/// A call that has begun.
#[derive(Debug)]
struct CallShown {
    /// The name by which its result is told from others.
    subject: String,
    change: Option<ShownDiff>,
}

/// The last line of a screen, while it is shown.
#[derive(Debug, Clone, Copy)]
struct Footer {
    /// Column at which the text above it goes on; `None` if that has ended.
    text_column: Option<usize>,
}

/// Abilities of the place that is written to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Surface {
    /// A pipe or a file.
    Stream,
    /// A terminal that only knows lines: `TERM=dumb`.
    Lines,
    /// A terminal whose last line can be written anew.
    Screen,
}

impl Surface {
    fn of_stdout() -> Self {
        let is_dumb = std::env::var_os("TERM").is_none_or(|name| name.is_empty() || name == "dumb");
        match (std::io::stdout().is_terminal(), is_dumb) {
            (false, _) => Self::Stream,
            (true, true) => Self::Lines,
            (true, false) => Self::Screen,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RenderStyle {
    Coloured,
    Plain,
    Json,
}

fn size_of_stdout() -> Option<(usize, usize)> {
    let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok()?;
    (size.ws_row > 0 && size.ws_col > 0).then(|| (size.ws_row.into(), size.ws_col.into()))
}

/// The word that a journal has for `value`.
fn word(value: &impl Serialize) -> String {
    let value = serde_json::to_value(value).unwrap_or_default();
    value.as_str().unwrap_or_default().to_owned()
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
            streamed: false,
            replied: BTreeMap::new(),
            calls: BTreeMap::new(),
            changed: ChangedFiles::default(),
            status: RunStatus::new(Instant::now()),
            footer: None,
            column: 0,
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
        let totals = SittingTotals::of(self.status.spending(), &JournalTotals::default(), Vec::new());
        self.line(TextTone::Dim, &totals.usage());
    }

    /// Shows what calls of this sitting changed so far, compared with what is in the folder.
    pub fn show_changes(&mut self) {
        let changes = self.attended.as_ref().map_or_else(Vec::new, |(_, folder)| self.changed.diffs(folder));
        if changes.is_empty() {
            self.line(TextTone::Dim, "No file was changed by a file tool in this sitting.");
        }
        for change in &changes {
            self.diff(change, self.diff_lines_max(2));
        }
        self.flush();
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

    /// Brings the line that says what is in flight up to date, on a terminal that can. Below a reply it waits until
    /// nothing has come for a while, so that it doesn't flicker.
    pub fn tick(&mut self) {
        if self.surface != Surface::Screen || (std::mem::take(&mut self.has_text_come) && !self.is_typed_on()) {
            return;
        }
        let columns = self.columns().unwrap_or(COLUMNS_MIN);
        let status = self.status.line(Instant::now(), columns - 1);
        match footer::footer_line(self.prompt.as_deref(), &self.typed, status, columns) {
            Some(line) => self.draw_footer(&line, columns),
            None => self.erase_footer(),
        }
        self.out.flush().ok();
    }

    /// Returns true if the last line is the operator's: it is asked something, or types.
    fn is_typed_on(&self) -> bool {
        self.prompt.is_some() || !self.typed.line.text.is_empty()
    }

    /// Draws the footer. What stands above it is left as it is, also in the middle of a line.
    fn draw_footer(&mut self, FooterLine { text, cursor }: &FooterLine, columns: usize) {
        let is_mid_line = self.mid_line || self.reply.as_ref().is_some_and(|(_, reply)| reply.is_mid_line());
        // At the very end of a line nobody knows which line the terminal is on.
        if is_mid_line && (self.column == 0 || self.column >= columns) && self.footer.is_none() {
            return;
        }
        let begin = match (self.footer, is_mid_line) {
            (Some(_), _) | (None, false) => "\r\u{1b}[2K",
            (None, true) => "\r\n",
        };
        let text_column = if is_mid_line { Some(self.column) } else { None };
        self.footer = Some(self.footer.unwrap_or(Footer { text_column }));
        let is_dim = self.look == RenderStyle::Coloured && cursor.is_none();
        let (dim, plain) = if is_dim { ("\u{1b}[2m", "\u{1b}[0m") } else { ("", "") };
        let cursor = cursor.map(|column| format!("\u{1b}[{}G", column + 1)).unwrap_or_default();
        self.out.write_all(format!("{begin}{dim}{text}{plain}{cursor}").as_bytes()).ok();
    }

    /// Takes the footer away, and goes back to where the text goes on.
    fn erase_footer(&mut self) {
        let back = match self.footer.take() {
            None => return,
            Some(Footer { text_column: None }) => String::new(),
            Some(Footer { text_column: Some(column) }) => format!("\u{1b}[1A\u{1b}[{}G", column + 1),
        };
        self.out.write_all(format!("\r\u{1b}[2K{back}").as_bytes()).ok();
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

    /// Shows what is asked about: the agent's last reply, and what the calls would change that wait for an answer.
    pub fn recall(&mut self, part: &Part, reply: &LastReply<'_>) {
        self.replied.insert(part.clone(), RepliedCalls { unjudged: Vec::new(), asked: reply.open_calls.clone() });
        if self.look == RenderStyle::Json || reply.text.trim().is_empty() {
            return;
        }
        self.line(TextTone::Dim, "\nthe agent said:");
        self.say(part, Prose::say, reply.text);
        self.fresh_line();
    }

    fn prose_form(&self) -> ProseForm {
        match (self.look, self.columns()) {
            (_, None) => ProseForm::AsIs,
            (RenderStyle::Coloured, Some(width)) => ProseForm::Rendered { width },
            (RenderStyle::Plain | RenderStyle::Json, Some(width)) => ProseForm::Wrapped { width },
        }
    }

    /// Returns the lines and columns of the terminal as it is now; `None` where there is no terminal.
    fn size(&self) -> Option<(usize, usize)> {
        (self.surface != Surface::Stream).then(|| (self.measure)().unwrap_or(SIZE))
    }

    /// Returns the width that lines are broken at; `None` if nobody says how wide a line may be.
    fn columns(&self) -> Option<usize> {
        self.size().map(|(_, columns)| columns).filter(|columns| *columns >= COLUMNS_MIN)
    }

    fn event(&mut self, event: &Event) {
        if self.surface != Surface::Stream {
            self.status.apply(event, Instant::now());
        }
        if !matches!(event.body, Body::Turn(TurnEvent::AgentReply { .. })) {
            self.fresh_line();
        }
        self.note_calls(event);
        match &event.body {
            // A piece of a run ends with what it hands off.
            Body::Part(PartEvent::PhaseEnter { phase: PhaseName::Done, .. }) if event.part.as_str().contains('/') => {}
            Body::Part(PartEvent::PhaseEnter { phase, reason }) => self.phase(*phase, reason.as_deref()),
            Body::Turn(TurnEvent::AgentRequest { .. }) => self.streamed = false,
            Body::Turn(TurnEvent::AgentReply { text, stop, .. }) => {
                if !self.streamed && !text.is_empty() {
                    self.say(&event.part, Prose::say, text);
                }
                self.fresh_line();
                if *stop == Stop::MaxTokens {
                    self.line(TextTone::Warning, "! the reply was cut at its length limit");
                }
            }
            Body::Turn(TurnEvent::AgentFailed { kind, message, .. }) => {
                self.line(TextTone::Bad, &format!("! the turn failed ({}): {}", word(kind), visible_line(message)));
            }
            Body::Ask(AskEvent::Timer { length_ms, .. }) => {
                self.line(
                    TextTone::Dim,
                    &format!("  the next attempt follows in {}.{} s", length_ms / 1000, length_ms % 1000 / 100),
                );
            }
            Body::Turn(TurnEvent::AgentChanged { name, .. }) => {
                self.line(TextTone::Warning, &format!("! {} takes the turns from here on", visible_line(name)));
            }
            Body::Turn(TurnEvent::ContextFolded { messages, before, after }) => self.line(
                TextTone::Dim,
                &format!("  {} old results are folded: about {before} tokens become {after}", messages.len()),
            ),
            Body::Turn(TurnEvent::ContextCut { before, after, .. }) => self.line(
                TextTone::Dim,
                &format!("  old messages are left out: about {before} tokens become {after} and the runtime state"),
            ),
            Body::Turn(TurnEvent::Message { kind: MessageKind::Nudge, .. }) => {
                self.line(TextTone::Warning, "! no Confirmation Summary; the agent is asked again");
            }
            Body::Part(PartEvent::PhaseDrift { declared, phase, .. }) => self.line(
                TextTone::Warning,
                &format!(
                    "! the agent announces phase {} while the session is in {}",
                    declared.as_str(),
                    phase.as_str()
                ),
            ),
            Body::Host(HostEvent::Warning { text }) => {
                self.line(TextTone::Warning, &format!("! {}", visible_line(text)))
            }
            Body::Host(HostEvent::FolderChanged { paths, more, head_before, head_now }) => {
                let (head_before, head_now) = (head_before.clone(), head_now.clone());
                let change = FolderChange { paths: paths.clone(), more: *more, head_before, head_now };
                let facts = changed_by_others(&change).join(" ");
                let said = format!("! somebody else changed the folder while the run stood still. {facts}");
                self.line(TextTone::Warning, &visible_line(&said));
            }
            Body::Learned(LearnedEvent::LearnedProfileApplied { slug, applied, .. }) => {
                let Applied { detectors, phase_budgets, tool_callouts } = applied;
                let what = format!("{detectors} detectors, {phase_budgets} phase budgets, {tool_callouts} dead tools");
                self.line(TextTone::Dim, &format!("  learned profile {}: {what}", visible_line(slug)));
            }
            Body::Host(HostEvent::SandboxReport { missing, layers, absent, .. }) => {
                self.sandbox(missing, layers, absent)
            }
            Body::Learned(LearnedEvent::MemoryInherited { project, records, left_out, contradictions }) => {
                let more = if *left_out > 0 { format!("; {left_out} older ones are not") } else { String::new() };
                let count = records.len();
                self.line(
                    TextTone::Dim,
                    &format!("memory of {}: {count} entries are shown to the agent{more}", visible_line(project)),
                );
                for found in contradictions {
                    let (newer, older) = (&found.newer, &found.older);
                    self.line(TextTone::Warning, &format!("! {newer} contradicts {older}: {}", found.rule.said()));
                }
            }
            Body::Host(HostEvent::Error { error, .. }) => {
                self.line(TextTone::Bad, &format!("! {}", visible_line(error)))
            }
            Body::Gate(GateEvent::AuthCheckFired { decision, tool, reason, answer, .. }) if decision != "allow" => {
                let answer = answer.map_or("deny", GateAnswer::as_str);
                self.line(TextTone::Warning, &format!("  {answer} {}: {}", visible_line(tool), visible_line(reason)));
            }
            Body::Gate(GateEvent::HookResult { fault: Some(fault), reason, .. }) => {
                let why = reason.as_deref().map(|reason| format!(": {reason}")).unwrap_or_default();
                let said = format!("! a guard hook {}{why}", fault.said());
                self.line(TextTone::Warning, &visible_line(&said));
            }
            Body::Call(CallEvent::RescueMade { error: Some(error), .. }) => {
                self.line(
                    TextTone::Bad,
                    &format!("! what the call may destroy could not be kept: {}", visible_line(error)),
                );
            }
            Body::Call(CallEvent::RescueMade { left_out, files, .. }) if *left_out > 0 => self.line(
                TextTone::Warning,
                &format!(
                    "! kept before the call: {files} files; {left_out} could not be kept, `undo --list` names them"
                ),
            ),
            Body::Call(CallEvent::ToolCall { slot, name, args, .. }) => {
                self.line(TextTone::Heading, &format!("  \u{2192} {}", call::called(name, args)));
                // It has not begun yet: the file is as it was before.
                let change = self.change(name, args, &[]);
                let shown = CallShown { subject: call::subject(name, args), change };
                self.calls.insert((event.part.clone(), *slot), shown);
            }
            Body::Call(CallEvent::ToolResult { slot, success, duration_ms, bytes, code, content, settled, .. }) => {
                let begun = self.calls.remove(&(event.part.clone(), *slot));
                let (subject, change) =
                    begun.map_or_else(|| (slot.to_string(), None), |begun| (begun.subject, begun.change));
                let how = if *settled { ", found out after an interruption" } else { "" };
                if *success {
                    self.line(
                        TextTone::Good,
                        &format!("  \u{2713} {subject}: ok, {duration_ms} ms, {bytes} bytes{how}"),
                    );
                    if let Some(change) = change {
                        self.diff(&change, self.diff_lines_max(2));
                    }
                } else {
                    let code = code.as_deref().unwrap_or("failed");
                    let content = content.as_deref().unwrap_or_default();
                    let first = visible_line(content.lines().next().unwrap_or_default());
                    self.line(TextTone::Bad, &format!("  \u{2717} {subject}: {code}, {duration_ms} ms: {first}"));
                    self.output(content);
                }
            }
            Body::Call(CallEvent::ToolCancelled { slot, .. }) => {
                let begun = self.calls.remove(&(event.part.clone(), *slot));
                let subject = begun.map_or_else(|| slot.to_string(), |begun| begun.subject);
                self.line(TextTone::Warning, &format!("  \u{2717} {subject}: cancelled"));
            }
            Body::Gate(GateEvent::PermissionGranted { scope_granted, .. }) => {
                self.line(TextTone::Good, &format!("  \u{2713} granted ({})", scope_granted.as_str()));
            }
            Body::Gate(GateEvent::PermissionDenied { .. }) => self.line(TextTone::Warning, "  \u{2717} not granted"),
            Body::Gate(GateEvent::PermissionRevoked { grant_id, .. }) => {
                self.line(TextTone::Warning, &format!("! the grant {} was revoked", visible_line(grant_id)));
            }
            Body::Gate(GateEvent::GrantKept { error: Some(error), .. }) => {
                self.line(TextTone::Warning, &format!("! {}", visible_line(error)));
            }
            // The answer was shown when it was given.
            Body::Call(CallEvent::ToolRejected { rejection: Rejection::Answered, .. }) => {}
            Body::Call(CallEvent::ToolRejected { name, rejection, .. }) => {
                self.line(
                    TextTone::Warning,
                    &format!("  \u{2717} {} was not called: {}", visible_line(name), word(rejection)),
                );
            }
            Body::Call(CallEvent::Interrupted { slot, effect }) => {
                self.line(TextTone::Warning, &format!("! {slot} was interrupted; its effect: {}", word(effect)));
            }
            Body::Ask(AskEvent::Question { slot, question }) => {
                self.question(&Key { part: event.part.clone(), slot: *slot }, question);
            }
            Body::Ask(AskEvent::Expired { slot }) if slot.what == What::Ask => {
                self.line(TextTone::Warning, &format!("! the deadline of {slot} passed"))
            }
            Body::Part(PartEvent::ModeSet { mode }) => self.line(TextTone::Dim, &format!("  mode: {mode}")),
            Body::Budget(BudgetEvent::BudgetWarn { metric, used, limit, role, phase, learned }) => {
                let by = role.as_deref().map(|role| format!(" by the {}", visible_line(role))).unwrap_or_default();
                let whence = whence(*phase, learned.as_deref());
                self.line(TextTone::Warning, &format!("! {} used{by}{whence}", of_limit(*metric, *used, *limit)));
            }
            Body::Crew(CrewEvent::ScopeWarning { subtask, category, word }) => {
                let (subtask, category, word) = (subtask.clone(), category.clone(), word.clone());
                let warned = scope_warned(&ScopeWarning { subtask, category, word });
                self.line(TextTone::Warning, &format!("! {}", visible_line(&warned)));
            }
            Body::Budget(BudgetEvent::BudgetHalt { metric, used, limit, role, phase, learned }) => {
                let whose = role.as_deref().map(|role| format!(" of the {}", visible_line(role))).unwrap_or_default();
                let (reached, whence) = (of_limit(*metric, *used, *limit), whence(*phase, learned.as_deref()));
                self.line(TextTone::Warning, &format!("! limit{whose} reached: {reached}{whence}"));
            }
            Body::Part(PartEvent::PartStart { .. }) => {
                if let Some(role) = event.part.role() {
                    self.line(TextTone::Heading, &format!("\n== {role} ({}) ==", visible_line(event.part.as_str())));
                }
            }
            Body::Handoff(HandoffEvent::HandoffRead { expected, handoff: None, faults, .. }) => {
                self.line(
                    TextTone::Warning,
                    &format!("! no `{expected}` handoff: {}", visible_line(&faults.join("; "))),
                );
            }
            Body::Handoff(HandoffEvent::HandoffRead { handoff: Some(handoff), .. }) => self.handoff(handoff),
            Body::Crew(CrewEvent::CoordinatorState { state, subtask, reason, .. }) => {
                let subtask =
                    subtask.as_deref().map(|id| format!(" `{}`", visible_line(&short_name(id)))).unwrap_or_default();
                let reason = reason.as_deref().map(|reason| format!(": {}", visible_line(reason))).unwrap_or_default();
                self.line(TextTone::Dim, &format!("  crew: {}{subtask}{reason}", word(state)));
            }
            Body::Part(PartEvent::DeadlinePassed { deadline }) => {
                self.line(
                    TextTone::Warning,
                    &format!("! the brief's deadline, {}, has passed", visible_line(deadline)),
                );
            }
            _ => {}
        }
        self.tick();
    }

    /// Takes note of calls that the operator may be asked about.
    fn note_calls(&mut self, event: &Event) {
        match &event.body {
            Body::Turn(TurnEvent::AgentReply { calls, .. }) => {
                let replied = RepliedCalls { unjudged: calls.clone(), asked: Vec::new() };
                self.replied.insert(event.part.clone(), replied);
            }
            Body::Gate(GateEvent::AuthCheckFired { tool, answer: Some(answer), .. }) => {
                if let Some(replied) = self.replied.get_mut(&event.part) {
                    replied.judge(tool, *answer);
                }
            }
            _ => {}
        }
    }

    /// Returns the change that a call would make to files as they are now; `None` for a call that writes none, and where
    /// the folder is not known. `resolved` says where paths really are.
    fn change(&self, name: &str, args: &serde_json::Value, resolved: &[ResolvedPath]) -> Option<ShownDiff> {
        let (_, folder) = self.attended.as_ref()?;
        match name {
            "apply_patch" => Some(diff::patched(args["diff"].as_str()?)),
            "write_file" => {
                let (path, content) = (args["path"].as_str()?, args["content"].as_str()?);
                let shown = visible_line(path);
                if args["append"].as_bool() == Some(true) {
                    return Some(diff::appended(&shown, content));
                }
                let place = resolved.iter().find(|found| found.path == path).map_or(path, |found| &found.place);
                Some(diff::written(&shown, &folder.read(place), content))
            }
            _ => None,
        }
    }

    /// Returns the number of lines that a diff may take: a part of the screen, so that what belongs to it is seen too.
    fn diff_lines_max(&self, part: usize) -> usize {
        self.size().map_or(DIFF_LINES_MAX, |(lines, _)| (lines / part).clamp(8, DIFF_LINES_MAX))
    }

    /// Shows a change, and how to see what is left out of it.
    fn diff(&mut self, change: &ShownDiff, lines_max: usize) {
        self.line(TextTone::Heading, &format!("    {}  {}", change.title, change.counts()));
        let (lines, left) = change.cut(lines_max);
        for (sign, text) in lines {
            let (tone, sign) = match sign {
                '+' => (TextTone::Good, "+"),
                '-' => (TextTone::Bad, "-"),
                '@' => (TextTone::Dim, ""),
                _ => (TextTone::Plain, " "),
            };
            self.raw_line(tone, &format!("    {sign}{text}"));
        }
        self.left_out(left);
    }

    fn left_out(&mut self, lines: usize) {
        if lines > 0 {
            let how = self.attended.as_ref().map(|(run, _)| format!(": adjutant inspect {run} --transcript"));
            self.line(TextTone::Dim, &format!("    \u{2026} {lines} lines more{}", how.unwrap_or_default()));
        }
    }

    /// Shows the first and the last lines of what a failed call put out.
    fn output(&mut self, content: &str) {
        let call::Ends { first, left_out, last } = call::ends(content);
        let shown = |line: &&str| {
            let line = visible_text(line);
            let head = head_of(&line, OUTPUT_COLUMNS_MAX);
            let more = if head.len() < line.len() { "\u{2026}" } else { "" };
            format!("    | {head}{more}")
        };
        for line in first.iter().map(shown) {
            self.raw_line(TextTone::Plain, &line);
        }
        self.left_out(left_out);
        for line in last.iter().map(shown) {
            self.raw_line(TextTone::Plain, &line);
        }
    }

    /// Shows the state of the sandbox: one line if it is whole, otherwise one for each thing that is missing.
    fn sandbox(&mut self, missing: &[String], layers: &[String], absent: &BTreeMap<String, String>) {
        if missing.is_empty() && absent.is_empty() {
            let layers = visible_line(&layers.join(", ")).into_owned();
            self.line(TextTone::Dim, &format!("sandbox: every wall held ({layers})"));
        }
        for (layer, why) in absent {
            let why = visible_line(why);
            self.line(TextTone::Warning, &format!("! sandbox: the layer `{}` is missing: {why}", visible_line(layer)));
        }
        for wall in missing {
            let known = Wall::ALL.into_iter().find(|known| known.as_str() == wall);
            let without = known.map_or("commands are not kept from something", Wall::without);
            self.line(TextTone::Warning, &format!("! sandbox: no wall `{}`: {without}", visible_line(wall)));
        }
    }

    /// Shows the handoff of a role, in a line or a few.
    fn handoff(&mut self, handoff: &serde_json::Value) {
        let text = |value: &serde_json::Value| visible_line(value.as_str().unwrap_or_default()).into_owned();
        match handoff["kind"].as_str() {
            Some("plan") => {
                for (index, subtask) in handoff["subtasks"].as_array().into_iter().flatten().enumerate() {
                    self.line(TextTone::Good, &format!("  {}. {}", index + 1, short_name(&text(&subtask["title"]))));
                }
            }
            Some("review") => {
                self.line(TextTone::Good, &format!("  {}: {}", text(&handoff["verdict"]), text(&handoff["rationale"])));
            }
            Some("escalation") => self.line(TextTone::Warning, &format!("  ! escalates: {}", text(&handoff["reason"]))),
            _ => self.line(TextTone::Good, &format!("  done: {}", text(&handoff["output"]))),
        }
    }

    fn phase(&mut self, phase: PhaseName, reason: Option<&str>) {
        let number = phase.number().map(|number| format!("Phase {number}: ")).unwrap_or_default();
        let reason = match phase {
            PhaseName::Blocker => reason.and_then(|reason| reason.lines().next()).map(|reason| format!(" ({reason})")),
            _ => None,
        };
        let reason = reason.unwrap_or_default();
        self.write("\n");
        self.line(
            TextTone::Heading,
            &format!("\u{2500}\u{2500} {number}{}{} \u{2500}\u{2500}", phase.as_str(), visible_line(&reason)),
        );
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
        self.changes_asked_about(key, question);
        self.write("\n");
        self.line(TextTone::Warning, &format!("? {heading}{}", visible_text(&question.text)));
        let width = question.options.iter().map(|offer| offer.reply.chars().count()).max().unwrap_or(0);
        for offer in &question.options {
            let reply = format!("{:width$}", offer.reply);
            // What goes on stands below what it says.
            self.hanging_line(TextTone::Dim, &format!("    {reply}  {}", visible_line(&offer.changes)), width + 2);
        }
    }

    /// Shows what the calls that a question is about would change.
    fn changes_asked_about(&mut self, key: &Key, question: &Question) {
        if question.kind != QuestionKind::Destructive {
            return;
        }
        let Some(replied) = self.replied.get(&key.part) else { return };
        let changes = replied.asked.iter().filter_map(|call| self.change(&call.name, &call.args, &call.resolved));
        let changes: Vec<ShownDiff> = changes.collect();
        // The question itself needs the rest of the screen.
        let lines_max = self.diff_lines_max(2) / changes.len().max(1);
        for change in &changes {
            self.line(TextTone::Plain, "");
            self.diff(change, lines_max.max(4));
        }
    }

    fn fresh_line(&mut self) {
        if let Some((_, mut prose)) = self.reply.take() {
            let mut rest = Styled::default();
            prose.end_line(self.prose_form(), &mut rest);
            self.paint(&rest);
        }
        self.is_prompted = false;
        if std::mem::take(&mut self.mid_line) {
            self.write("\n");
        }
    }

    /// Shows a text on lines of its own, broken between words at the width of the terminal.
    fn line(&mut self, tone: TextTone, text: &str) {
        self.hanging_line(tone, text, 2);
    }

    /// The same with lines that go on so many columns further to the right.
    fn hanging_line(&mut self, tone: TextTone, text: &str, hanging: usize) {
        self.fresh_line();
        let broken = wrapped(tone, text, self.columns(), hanging);
        self.paint(&broken);
        self.write("\n");
        self.flush();
    }

    /// Shows a line as it is, whatever its width: code, output.
    fn raw_line(&mut self, tone: TextTone, text: &str) {
        self.fresh_line();
        self.paint(&Styled(vec![StyledText { tone, text: text.to_owned() }]));
        self.write("\n");
    }

    fn paint(&mut self, styled: &Styled) {
        for StyledText { tone, text } in &styled.0 {
            let code = match tone {
                _ if self.look != RenderStyle::Coloured => "",
                TextTone::Plain => "",
                TextTone::Heading => "1",
                TextTone::Dim => "2",
                TextTone::Code => "36",
                TextTone::Good => "32",
                TextTone::Bad => "31",
                TextTone::Warning => "33",
            };
            if code.is_empty() {
                self.write(text);
            } else {
                self.erase_footer();
                self.out.write_all(format!("\u{1b}[{code}m").as_bytes()).ok();
                self.write(text);
                self.out.write_all(b"\x1b[0m").ok();
            }
        }
    }

    /// Writes to the output. Its reader may have gone away: the run goes on, and its journal says all of this too.
    fn write(&mut self, text: &str) {
        self.erase_footer();
        self.out.write_all(text.as_bytes()).ok();
        let (before, last) = text.rsplit_once('\n').map_or((self.column, text), |(_, last)| (0, last));
        self.column = before + width_of(last);
        if let Some(columns) = self.columns().filter(|columns| self.column > *columns) {
            self.column %= columns;
        }
    }

    fn flush(&mut self) {
        // The line that is typed on is there at once again.
        if self.has_screen() && self.footer.is_none() && self.is_typed_on() {
            self.tick();
        }
        self.out.flush().ok();
    }
}

/// Returns the source of a limit, if not flags, brief or configuration.
fn whence(phase: Option<PhaseName>, learned: Option<&str>) -> String {
    let phase = phase.map(|phase| format!(" in phase {}", phase.as_str())).unwrap_or_default();
    let learned = learned.map(|slug| format!(" (learned profile {})", visible_line(slug))).unwrap_or_default();
    format!("{phase}{learned}")
}

/// Returns how much of a limit is used, in a person's unit.
fn of_limit(metric: LimitMetric, used: u64, limit: u64) -> String {
    match metric.counted() {
        Some(metric) => format!("{} of {}", metric.shown(used), metric.shown(limit)),
        None => format!("{used} of {limit} {}", metric.as_str()),
    }
}
