//! Shows a run while it goes on: lines for a person, or one JSON object per event for a program.
//!
//! In: events and text as it arrives. Out: stdout. Computes no fact of its own, and lets no text from
//! outside drive the terminal.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal, Write};
use std::time::Instant;

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
use adjutant_core::words::visible::{visible_json, visible_line, visible_prose, visible_text};
use adjutant_core::words::{
    Applied, GateAnswer, Key, LimitMetric, MessageKind, PhaseName, Question, Rejection, Stop, What,
};
use adjutant_host::sandbox::Wall;
use adjutant_ports::{Delta, Progress};
use serde::Serialize;

/// The most that a line shows of a call's arguments, in characters (the peer's number).
const ARGS_CHARS_MAX: usize = 120;

/// Shows a run.
pub struct Renderer {
    look: RenderStyle,
    out: Box<dyn Write + Send>,
    /// True if text of a turn stands on the last line.
    mid_line: bool,
    /// True if the turn's text was shown as it arrived.
    streamed: bool,
    status: StatusLine,
    /// The run that each line of JSON is of, where a program may read those of several.
    run: Option<RunId>,
}

/// Work in flight, for the last line of a terminal.
#[derive(Debug, Default)]
struct StatusLine {
    /// Start and description of each piece of work, by its slot.
    in_flight: BTreeMap<String, (Instant, String)>,
    is_shown: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RenderStyle {
    Coloured,
    Plain,
    Json,
}

#[derive(Debug, Clone, Copy)]
enum TextTone {
    Heading,
    Dim,
    Good,
    Bad,
    Warning,
}

/// The word that a journal has for `value`.
fn word(value: &impl Serialize) -> String {
    let value = serde_json::to_value(value).unwrap_or_default();
    value.as_str().unwrap_or_default().to_owned()
}

impl Renderer {
    /// A renderer on stdout: coloured on a terminal unless `NO_COLOR` is set, plain when piped, or JSON.
    #[must_use]
    pub fn on_stdout(json: bool) -> Self {
        let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let look = match json {
            true => RenderStyle::Json,
            false if std::io::stdout().is_terminal() && !no_color => RenderStyle::Coloured,
            false => RenderStyle::Plain,
        };
        let out = Box::new(std::io::stdout());
        Self { look, out, mid_line: false, streamed: false, status: StatusLine::default(), run: None }
    }

    /// The same for a run that a worker goes on with: each line of JSON names the run. With `several` at once each line
    /// of text does too, and is written whole.
    #[must_use]
    pub fn of_worker(json: bool, run: &RunId, several: bool) -> Self {
        let renderer = Self { run: Some(run.clone()), ..Self::on_stdout(json) };
        if json || !several {
            return renderer;
        }
        let out = Box::new(LabelledStdout { label: format!("{run} | "), line: Vec::new() });
        Self { look: RenderStyle::Plain, out, ..renderer }
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

    /// Shows that an answer may be typed now.
    pub fn prompt(&mut self) {
        if self.look != RenderStyle::Json {
            self.write("> ");
            self.flush();
            self.mid_line = false;
        }
    }

    /// Shows that an answer may be typed now to one of several questions, with how to name it.
    pub fn numbered_prompt(&mut self, forms: &str) {
        if self.look != RenderStyle::Json {
            self.fresh_line();
            self.write(&format!("Answer with the number: {forms} > "));
            self.flush();
            self.mid_line = true;
        }
    }

    /// Takes note that Enter was typed: what follows is on a new line.
    pub fn entered(&mut self) {
        self.mid_line = false;
    }

    /// Shows an event that asks a question, for programs; the question itself is shown for a person later.
    pub fn show_without_question(&mut self, progress: &Progress<'_>) {
        if self.look == RenderStyle::Json {
            self.show(progress);
        }
    }

    /// Shows what happened.
    pub fn show(&mut self, progress: &Progress<'_>) {
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
            (_, Progress::Turn(_, Delta::Text(text))) if !text.is_empty() => {
                self.streamed = true;
                self.mid_line = !text.ends_with('\n');
                self.write(&visible_prose(text));
                self.flush();
            }
            (_, Progress::Turn(..)) => {}
        }
    }

    /// Brings the line that says what is in flight up to date; on a terminal only, and never in the
    /// middle of a text.
    pub fn tick(&mut self) {
        let oldest = self.status.in_flight.values().min();
        if self.look != RenderStyle::Coloured || self.mid_line {
            return;
        }
        let Some((since, what)) = oldest else { return };
        let others = match self.status.in_flight.len() {
            0 | 1 => String::new(),
            count => format!(" and {} more", count - 1),
        };
        let line = format!("\r\u{1b}[2K\u{1b}[2m\u{2026} {what}{others}, {} s\u{1b}[0m", since.elapsed().as_secs());
        self.out.write_all(line.as_bytes()).ok();
        self.status.is_shown = true;
        self.flush();
    }

    fn track(&mut self, event: &Event) {
        let what = match &event.body {
            Body::Turn(TurnEvent::AgentRequest { slot, .. }) => Some((slot, format!("turn {}", slot.number))),
            Body::Call(CallEvent::ToolCall { slot, name, .. }) => Some((slot, visible_line(name).into_owned())),
            _ => None,
        };
        if let Some((slot, what)) = what {
            self.status.in_flight.insert(format!("{}:{slot}", event.part), (Instant::now(), what));
        }
        if let Some(slot) = event.body.outcome() {
            self.status.in_flight.remove(&format!("{}:{slot}", event.part));
        }
    }

    fn event(&mut self, event: &Event) {
        self.track(event);
        if !matches!(event.body, Body::Turn(TurnEvent::AgentReply { .. })) {
            self.fresh_line();
        }
        match &event.body {
            // A piece of a run ends with what it hands off.
            Body::Part(PartEvent::PhaseEnter { phase: PhaseName::Done, .. }) if event.part.as_str().contains('/') => {}
            Body::Part(PartEvent::PhaseEnter { phase, reason }) => self.phase(*phase, reason.as_deref()),
            Body::Turn(TurnEvent::AgentRequest { .. }) => self.streamed = false,
            Body::Turn(TurnEvent::AgentReply { text, stop, .. }) => {
                if !self.streamed && !text.is_empty() {
                    self.write(&visible_prose(text));
                    self.mid_line = true;
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
            Body::Call(CallEvent::ToolCall { name, args, .. }) => {
                let args = args.to_string();
                let args = match args.char_indices().nth(ARGS_CHARS_MAX) {
                    Some((end, _)) => format!("{}\u{2026}", &args[..end]),
                    None => args,
                };
                self.line(TextTone::Heading, &format!("  \u{2192} {} {}", visible_line(name), visible_line(&args)));
            }
            Body::Call(CallEvent::ToolResult { success, duration_ms, bytes, code, content, settled, .. }) => {
                let how = if *settled { ", found out after an interruption" } else { "" };
                if *success {
                    self.line(TextTone::Good, &format!("  \u{2713} ok, {duration_ms} ms, {bytes} bytes{how}"));
                } else {
                    let code = code.as_deref().unwrap_or("failed");
                    let first = content.as_deref().and_then(|content| content.lines().next()).unwrap_or_default();
                    self.line(TextTone::Bad, &format!("  \u{2717} {code}, {duration_ms} ms: {}", visible_line(first)));
                }
            }
            Body::Call(CallEvent::ToolCancelled { .. }) => self.line(TextTone::Warning, "  \u{2717} cancelled"),
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
            Body::Ask(AskEvent::Question { question, .. }) => self.question(question),
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
    pub fn question(&mut self, question: &Question) {
        if self.look != RenderStyle::Json {
            self.question_under("", question);
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
        self.fresh_line();
        self.question_under(&format!("question {number}{part}: "), question);
    }

    fn question_under(&mut self, heading: &str, question: &Question) {
        self.write("\n");
        self.line(TextTone::Warning, &format!("? {heading}{}", visible_text(&question.text)));
        let width = question.options.iter().map(|offer| offer.reply.chars().count()).max().unwrap_or(0);
        for offer in &question.options {
            let reply = format!("{:width$}", offer.reply);
            self.line(TextTone::Dim, &format!("    {reply}  {}", visible_line(&offer.changes)));
        }
    }

    fn fresh_line(&mut self) {
        if self.mid_line {
            self.write("\n");
            self.mid_line = false;
        }
    }

    fn line(&mut self, tone: TextTone, text: &str) {
        self.fresh_line();
        if self.look == RenderStyle::Coloured {
            let code = match tone {
                TextTone::Heading => "1",
                TextTone::Dim => "2",
                TextTone::Good => "32",
                TextTone::Bad => "31",
                TextTone::Warning => "33",
            };
            self.write(&format!("\u{1b}[{code}m{text}\u{1b}[0m\n"));
        } else {
            self.write(text);
            self.write("\n");
        }
        self.flush();
    }

    /// Writes to the output. Its reader may have gone away: the run goes on, and its journal says all of this too.
    fn write(&mut self, text: &str) {
        if std::mem::take(&mut self.status.is_shown) {
            self.out.write_all(b"\r\x1b[2K").ok();
        }
        self.out.write_all(text.as_bytes()).ok();
    }

    fn flush(&mut self) {
        self.out.flush().ok();
    }
}

/// Stdout for one of several runs: whole lines, each with the run's name in front.
struct LabelledStdout {
    label: String,
    /// Text since the last line feed.
    line: Vec<u8>,
}

impl Write for LabelledStdout {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        for byte in text {
            if *byte != b'\n' {
                self.line.push(*byte);
                continue;
            }
            self.say()?;
        }
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stdout().flush()
    }
}

impl LabelledStdout {
    fn say(&mut self) -> io::Result<()> {
        let mut line = std::mem::take(&mut self.line);
        line.splice(..0, self.label.bytes());
        let kept = line.trim_ascii_end().len();
        line.truncate(kept);
        line.push(b'\n');
        io::stdout().lock().write_all(&line)
    }
}

impl Drop for LabelledStdout {
    fn drop(&mut self) {
        if !self.line.is_empty() {
            self.say().ok();
        }
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
