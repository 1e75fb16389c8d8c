//! The line or lines that each event is worth, for a person.

use std::collections::BTreeMap;
use std::time::Instant;

use adjutant_core::crew::ScopeWarning;
use adjutant_core::crew::questions::warned as scope_warned;
use adjutant_core::gate::custody::FolderChange;
use adjutant_core::session::prompts::changed_by_others;
use adjutant_core::trace::{
    AskEvent, Body, BudgetEvent, CallEvent, CrewEvent, Event, GateEvent, HandoffEvent, HostEvent, LearnedEvent,
    PartEvent, TurnEvent,
};
use adjutant_core::words::text::{count_of, short_name};
use adjutant_core::words::visible::visible_line;
use adjutant_core::words::{
    Applied, GateAnswer, Key, LimitMetric, MessageKind, Part, PartSegment, PhaseName, Rejection, Stop, What,
};
use adjutant_host::sandbox::Wall;
use serde::Serialize;

use super::acts::CallShown;
use super::drawing::Surface;
use super::prose::Prose;
use super::wrap::TextTone;
use super::{Renderer, call};

impl Renderer {
    pub(super) fn event(&mut self, event: &Event) {
        if self.surface != Surface::Stream {
            self.status.apply(event, Instant::now());
        }
        // Of a reply that is cancelled the last words are still to come.
        let is_shown_below = matches!(
            event.body,
            Body::Turn(TurnEvent::AgentReply { .. }) | Body::Ask(AskEvent::OperatorMessage { .. })
        );
        if !is_shown_below {
            self.fresh_line();
        }
        // Which call is judged is known before it counts as judged.
        let judged = match &event.body {
            Body::Gate(GateEvent::AuthCheckFired { tool, .. }) => self.judged_subject(&event.part, tool),
            _ => String::new(),
        };
        self.note_calls(event);
        self.note_report(event);
        match &event.body {
            // A piece of a run ends with what it hands off.
            Body::Part(PartEvent::PhaseEnter { phase: PhaseName::Done, .. }) if event.part.as_str().contains('/') => {}
            Body::Part(PartEvent::PhaseEnter { phase, reason }) => self.phase(&event.part, *phase, reason.as_deref()),
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
            Body::Turn(TurnEvent::Message { kind: MessageKind::Nudge, phase: PhaseName::Intake, .. }) => {
                self.line(TextTone::Warning, "! no Confirmation Summary; the agent is asked again");
            }
            Body::Turn(TurnEvent::Message { kind: MessageKind::Nudge, text, .. }) => {
                let first = text.split_inclusive(['.', ';']).next().unwrap_or_default();
                let first = first.trim_end_matches(['.', ';']);
                self.line(TextTone::Warning, &format!("! the agent is told: {}", visible_line(first)));
            }
            Body::Turn(TurnEvent::Message { kind: MessageKind::Evidence, .. }) => {
                self.line(TextTone::Warning, "! the checks of the brief fail; the agent is told");
            }
            Body::Part(PartEvent::PhaseDrift { declared, phase, .. }) => self.line(
                TextTone::Warning,
                &format!("! the agent announces phase {} while the session is in {}", declared.said(), phase.said()),
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
                    &format!(
                        "memory of {}: {} shown to the agent{more}",
                        visible_line(project),
                        count_of(count as u64, "entry is", "entries are")
                    ),
                );
                for found in contradictions {
                    let (newer, older) = (&found.newer, &found.older);
                    self.line(TextTone::Warning, &format!("! {newer} contradicts {older}: {}", found.rule.said()));
                }
            }
            Body::Host(HostEvent::Error { error, .. }) => {
                self.line(TextTone::Bad, &format!("! {}", visible_line(error)))
            }
            Body::Gate(GateEvent::AuthCheckFired { decision, reason, answer, .. }) if decision != "allow" => {
                // Why it asks stands in the question.
                let (answer, why) = match answer {
                    Some(GateAnswer::Ask) => (GateAnswer::Ask.as_str(), String::new()),
                    answer => (answer.map_or("deny", GateAnswer::as_str), format!(": {}", visible_line(reason))),
                };
                self.line(TextTone::Warning, &format!("  {answer} {judged}{why}"));
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
                    "! kept before the call: {}; {left_out} could not be kept, `undo --list` names what",
                    count_of(*files, "file", "files")
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
                        &format!(
                            "  \u{2713} {subject}: ok, {duration_ms} ms, {}{how}",
                            count_of(*bytes, "byte", "bytes")
                        ),
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
                self.line(TextTone::Good, &format!("  \u{2713} allowed {}", scope_granted.in_words()));
            }
            Body::Gate(GateEvent::PermissionDenied { .. }) => self.line(TextTone::Warning, "  \u{2717} not allowed"),
            Body::Gate(GateEvent::PermissionRevoked { grant_id, .. }) => {
                self.line(TextTone::Warning, &format!("! the grant {} was revoked", visible_line(grant_id)));
            }
            Body::Gate(GateEvent::GrantKept { error: Some(error), .. }) => {
                self.line(TextTone::Warning, &format!("! {}", visible_line(error)));
            }
            // The answer was shown when it was given.
            Body::Call(CallEvent::ToolRejected { rejection: Rejection::Answered, .. }) => {}
            Body::Call(CallEvent::ToolRejected { call_id, name, rejection, .. }) => {
                let subject = self.rejected_subject(&event.part, call_id, name);
                let why = not_called(*rejection, self.status.phase());
                self.line(TextTone::Warning, &format!("  \u{2717} {subject} {why}"));
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
                } else if let Some(PartSegment::Numbered { kind: kind @ ("iteration" | "voter"), number }) =
                    event.part.segments().last()
                {
                    self.line(TextTone::Heading, &format!("\n== {kind} {} ==", visible_line(number)));
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
            Body::Deed(deed) => self.deed(deed),
            Body::Loop(decided) => self.of_loop(decided),
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

    /// Says that no report was made where phase 4 ends after nothing but empty turns.
    fn note_report(&mut self, event: &Event) {
        let is_exit = matches!(event.body, Body::Part(PartEvent::PhaseExit { phase: PhaseName::Completion, .. }));
        if is_exit && self.unreported.remove(&event.part) == Some(true) {
            let said = "! no report was made: the agent's turns in phase 4 were empty. A script needs a turn for it.";
            self.line(TextTone::Warning, said);
        }
        match &event.body {
            Body::Part(PartEvent::PhaseEnter { phase: PhaseName::Completion, .. }) => {
                self.unreported.insert(event.part.clone(), false);
            }
            Body::Turn(TurnEvent::AgentReply { text, .. }) => {
                if let Some(is_silent) = self.unreported.get_mut(&event.part) {
                    *is_silent = text.trim().is_empty();
                }
            }
            _ => {}
        }
    }

    /// Shows the state of the sandbox: one line if it is whole, otherwise one for each thing that is missing.
    pub(super) fn sandbox(&mut self, missing: &[String], layers: &[String], absent: &BTreeMap<String, String>) {
        if missing.is_empty() && absent.is_empty() {
            let layers = visible_line(&layers.join(", ")).into_owned();
            self.line(TextTone::Dim, &format!("sandbox: fully active ({layers})"));
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
    pub(super) fn handoff(&mut self, handoff: &serde_json::Value) {
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
            Some("iteration") => {
                let claim = if handoff["status"] == "complete" { " (says that the goal is reached)" } else { "" };
                self.line(TextTone::Good, &format!("  handed off{claim}: {}", text(&handoff["summary"])));
            }
            Some("escalation") => self.line(TextTone::Warning, &format!("  ! escalates: {}", text(&handoff["reason"]))),
            _ => self.line(TextTone::Good, &format!("  done: {}", text(&handoff["output"]))),
        }
    }

    pub(super) fn phase(&mut self, part: &Part, phase: PhaseName, reason: Option<&str>) {
        let said = match phase {
            PhaseName::Destructive => self.approval_needed(part),
            PhaseName::Intake | PhaseName::Execute | PhaseName::Blocker | PhaseName::Completion | PhaseName::Done => {
                phase.said().to_owned()
            }
        };
        let number = phase.number().map(|number| format!("Phase {number}: ")).unwrap_or_default();
        let reason = match phase {
            PhaseName::Blocker => reason.and_then(|reason| reason.lines().next()).map(|reason| format!(" ({reason})")),
            _ => None,
        };
        let reason = reason.unwrap_or_default();
        self.write("\n");
        self.line(
            TextTone::Heading,
            &format!("\u{2500}\u{2500} {number}{}{} \u{2500}\u{2500}", visible_line(&said), visible_line(&reason)),
        );
    }
}

/// Says in an operator's words that a call was answered without being made, and why.
fn not_called(rejection: Rejection, phase: Option<PhaseName>) -> String {
    let why = match rejection {
        Rejection::Phase if phase == Some(PhaseName::Intake) => {
            return "blocked: no tools until you accept the summary".to_owned();
        }
        Rejection::Phase => return "blocked: no tools in this phase".to_owned(),
        Rejection::UnknownTool => "there is no such tool",
        Rejection::BadArguments => "its arguments can't be read",
        Rejection::Refused => "refused by a rule",
        Rejection::Denied => "denied",
        Rejection::RetryCap => "the same call failed too often",
        Rejection::Skipped => "the same turn stopped or was denied",
        Rejection::EffectUnknown => "it was cut off before, and its effect is unknown",
        Rejection::Answered => "answered",
    };
    format!("was not called: {why}")
}

/// The word that a journal has for `value`.
fn word(value: &impl Serialize) -> String {
    let value = serde_json::to_value(value).unwrap_or_default();
    value.as_str().unwrap_or_default().to_owned()
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
