//! Carries out a scripted run through the decisions of `core`, without the runtime and without a disk.
//!
//! In: a [`ScriptedRun`], which says the turns of each part's agent, how each call ends, how the files are and what the
//! operator answers. Out: the journal, a [`ScriptedJournal`]. Every decision in it is that of the real `Drive` over the
//! real procedure, with the real tools' names, needs and effects; time is counted, so a script always makes the same
//! journal.
//!
//! Begin with [`ScriptedRun::journal`].

use std::collections::BTreeMap;
use std::path::Path;

use adjutant_core::brief;
use adjutant_core::gate::custody::Outside;
use adjutant_core::procedure::{Command, Drive, Step, Want};
use adjutant_core::trace::{
    AskEvent, Body, CallEvent, DeedEvent, Entry, Event, GateEvent, RunOptions, TurnEvent, WorkOptions,
};
use adjutant_core::words::deed::Deed;
use adjutant_core::words::tool::{ToolCall, content_hash};
use adjutant_core::words::{
    CancelledBy, Choice, FailureKind, InterruptedEffect, Key, Message, Mode, Outcome, Part, QuestionKind, Slot, Stop,
};
use adjutant_core::work::Work;
use adjutant_runtime::work;
use anyhow::{Context, bail};
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use crate::world;

const BRIEF: &str = "---\nproject: bench\nbrief_id: 2026-01-15-BENCH\nmode: auto\n\
    authorized_costs: [filesystem_write, shell_exec, http_fetch]\nchecks: [\"sh tests/run.sh\"]\n---\n\n# Objective\n\n\
    Orders of ten pieces get the discount.\n\n# Deliverables\n\n- The fix.\n\n# Constraints\n\n- None.\n\n\
    # Tools required\n\n- write_file\n- shell_exec\n";

/// The most steps of a run: beyond them a script goes in a circle that no decision ends.
const STEPS_MAX: usize = 50_000;

/// Turn of a scripted agent.
#[derive(Debug, Clone)]
pub enum ScriptedTurn {
    /// Text alone.
    Says(String),
    /// Calls.
    Calls(Vec<ScriptedCall>),
    /// A failure, with the wait in milliseconds that the provider asks for.
    Fails(FailureKind, Option<u64>),
}

/// Call of a scripted agent, with its end.
#[derive(Debug, Clone)]
pub struct ScriptedCall {
    pub tool: &'static str,
    pub args: Value,
    pub end: ScriptedEnd,
    /// The files afterwards, if it changes them.
    pub leaves: Option<ScriptedFiles>,
}

/// End of a scripted call.
#[derive(Debug, Clone)]
pub enum ScriptedEnd {
    /// It worked, and says this.
    Works(String),
    /// It failed: the fault's stable name if it has one, the exit code if it is a process, and the text.
    Fails(Option<&'static str>, Option<i32>, String),
    /// It was cancelled.
    Cancelled(CancelledBy),
    /// The program ended while it was at work; it is repeated, and says this.
    Interrupted(String),
}

/// The files of a scripted run, as far as a loop sees them.
#[derive(Debug, Clone)]
pub struct ScriptedFiles {
    /// A name for their state; `None` if they can't be identified.
    pub tree: Option<String>,
    /// True if the brief's check passes on them.
    pub passes: bool,
}

/// A run as a script.
#[derive(Debug, Clone)]
pub struct ScriptedRun {
    pub work: WorkOptions,
    /// Turns of each part's agent, by the name of the part.
    pub turns: BTreeMap<String, Vec<ScriptedTurn>>,
    /// Answers of the operator: each to the next question of its kind.
    pub answers: Vec<(QuestionKind, Choice, &'static str)>,
    /// Messages of the operator to the run, each once a part has taken so many turns.
    pub messages: Vec<(String, usize, &'static str)>,
    /// The files before the run.
    pub files: ScriptedFiles,
}

/// Journal of a scripted run.
pub struct ScriptedJournal {
    pub events: Vec<Event>,
    /// Its outcome; `None` if it waits for the operator.
    pub outcome: Option<Outcome>,
}

impl ScriptedRun {
    /// Carries the run out until it ends, or waits for an operator who says nothing more.
    ///
    /// # Errors
    ///
    /// If the script has no turn for an agent that is asked for one, or asks for something that the decisions refuse.
    pub fn journal(&self) -> anyhow::Result<ScriptedJournal> {
        let options = world::options(Path::new("/work"), Mode::Auto);
        let options = RunOptions { work: self.work.clone(), unattended: true, ..options };
        let brief = brief::read(BRIEF).brief.context("the brief of the scripted runs can't be read")?;
        let mut stage = Stage {
            drive: Drive::new(work(&brief, &options, adjutant_tools::catalog())),
            script: self.clone(),
            seen: String::new(),
            taken: BTreeMap::new(),
            ends: BTreeMap::new(),
            timers: BTreeMap::new(),
            flights: Vec::new(),
            events: Vec::new(),
        };
        for entry in world::beginning_of(BRIEF, &options)? {
            stage.append(entry);
        }
        let outcome = stage.run()?;
        Ok(ScriptedJournal { events: stage.events, outcome })
    }
}

/// A run that is carried out, with the rest of its script.
struct Stage {
    drive: Drive<Work>,
    script: ScriptedRun,
    /// The files when they were identified last.
    seen: String,
    /// Number of turns that each part's agent has taken.
    taken: BTreeMap<Part, usize>,
    /// Ends of the calls that were asked for, by the agent's own names for them.
    ends: BTreeMap<String, ScriptedCall>,
    timers: BTreeMap<Key, (Timestamp, u64)>,
    /// Everything in flight, with true for what is asked to end.
    flights: Vec<(Want, bool)>,
    events: Vec<Event>,
}

impl Stage {
    fn run(&mut self) -> anyhow::Result<Option<Outcome>> {
        for _ in 0..STEPS_MAX {
            match self.drive.step() {
                Step::Record(entry) => self.append(entry),
                Step::Begin(want) => {
                    self.append(want.intent());
                    if let Command::Wait { length_ms } = want.command {
                        self.timers.insert(want.key.clone(), (self.now(), length_ms));
                    }
                    self.flights.push((want, false));
                }
                Step::Abort(key) => {
                    self.drive.aborted(key.clone());
                    self.flights.iter_mut().filter(|(want, _)| want.key == key).for_each(|(_, ends)| *ends = true);
                }
                Step::Await => {
                    let can_end = |(want, ends): &(Want, bool)| *ends || self.can_end(want);
                    let Some(place) = self.flights.iter().position(can_end) else { return Ok(None) };
                    let (want, ends) = self.flights.remove(place);
                    let body = if ends { aborted(&want) } else { self.outcome(&want)? };
                    self.append(Entry { part: want.key.part.clone(), body });
                    self.deliver(&want);
                }
                Step::Finished(outcome) => return Ok(Some(outcome)),
                Step::Broken(breach) => bail!("the run broke a rule: {breach:?}"),
            }
        }
        bail!("the run has no end")
    }

    fn now(&self) -> Timestamp {
        self.events.last().map_or(Timestamp::UNIX_EPOCH, |event| event.at)
    }

    fn append(&mut self, entry: Entry) {
        let mut at = self.now() + SignedDuration::from_secs(1);
        if let Body::Ask(AskEvent::Expired { slot }) = &entry.body
            && let Some((begun, length_ms)) = self.timers.get(&Key { part: entry.part.clone(), slot: *slot })
        {
            at = at.max(*begun + SignedDuration::from_millis(i64::try_from(*length_ms).unwrap_or(i64::MAX)));
        }
        let event = entry.at(self.drive.next_seq(), at);
        self.drive.apply(&event);
        self.events.push(event);
    }

    /// Returns true if it comes to an end by itself: a question does if the operator has an answer.
    fn can_end(&self, want: &Want) -> bool {
        match &want.command {
            Command::Ask(question) => {
                question.kind == QuestionKind::Confirmation
                    || self.script.answers.iter().any(|(kind, _, _)| *kind == question.kind)
            }
            _ => true,
        }
    }

    /// Delivers the operator's message that is due after a turn.
    fn deliver(&mut self, want: &Want) {
        if !matches!(want.command, Command::Turn { .. }) {
            return;
        }
        let part = &want.key.part;
        let taken = self.taken.get(part).copied().unwrap_or_default();
        let is_due = |(to, after, _): &(String, usize, &str)| to == part.as_str() && *after == taken;
        if let Some(place) = self.script.messages.iter().position(is_due) {
            let (_, _, text) = self.script.messages.remove(place);
            let (id, by) = (format!("message-{}", self.drive.next_seq()), "operator".to_owned());
            let body = Body::Ask(AskEvent::OperatorMessage { id, message: Message::Steer(text.to_owned()), by });
            self.append(Entry { part: Part::root(), body });
        }
    }

    fn outcome(&mut self, want: &Want) -> anyhow::Result<Body> {
        let slot = want.key.slot;
        Ok(match &want.command {
            Command::Turn { .. } => self.turn(&want.key)?,
            Command::Call { call, .. } => self.call(slot, &call.call_id)?,
            Command::Ask(question) => {
                let place = self.script.answers.iter().position(|(kind, _, _)| *kind == question.kind);
                let (choice, text) = match place.map(|place| self.script.answers.remove(place)) {
                    None => (Choice::Accept, ""),
                    Some((_, choice, text)) => (choice, text),
                };
                Body::Ask(AskEvent::Answer {
                    slot,
                    id: format!("answer-{}", self.drive.next_seq()),
                    choice,
                    text: (!text.is_empty()).then(|| text.to_owned()),
                    by: "operator".to_owned(),
                    whence: "answers".to_owned(),
                })
            }
            Command::Do(deed) => Body::Deed(self.deed(slot, deed)),
            Command::Wait { .. } => Body::Ask(AskEvent::Expired { slot }),
            Command::Look { look, .. } => {
                let Outside { paths, more } = Outside::default();
                let (look, outside) = (*look, paths);
                Body::Gate(GateEvent::TreeSeen { slot, look, outside, more, error: None, duration_ms: 0 })
            }
            Command::Keep(_) => Body::Gate(GateEvent::GrantKept { slot, error: None }),
            Command::Hook(asked) => bail!("nobody answers for the hook {}", asked.hook.name()),
        })
    }

    fn turn(&mut self, key: &Key) -> anyhow::Result<Body> {
        let slot = key.slot;
        let taken = self.taken.entry(key.part.clone()).or_default();
        let turns = self.script.turns.get(key.part.as_str());
        let turn = turns.and_then(|turns| turns.get(*taken)).cloned();
        let turn = turn.with_context(|| format!("the script has no turn {} for {}", *taken + 1, key.part))?;
        *taken += 1;
        let (text, scripted) = match turn {
            ScriptedTurn::Says(text) => (text, Vec::new()),
            ScriptedTurn::Calls(calls) => ("I look at it.".to_owned(), calls),
            ScriptedTurn::Fails(kind, retry_after_ms) => {
                let message = "the provider does not answer".to_owned();
                let (received, output_max) = (0, None);
                return Ok(Body::Turn(TurnEvent::AgentFailed {
                    slot,
                    kind,
                    message,
                    retry_after_ms,
                    received,
                    output_max,
                }));
            }
        };
        let mut calls = Vec::new();
        for (number, call) in scripted.into_iter().enumerate() {
            let call_id = format!("{} {slot} {number}", key.part);
            calls.push(ToolCall {
                call_id: call_id.clone(),
                name: call.tool.to_owned(),
                args: call.args.clone(),
                malformed: None,
                masked: false,
                resolved: Vec::new(),
            });
            self.ends.insert(call_id, call);
        }
        let (thinking, provider_data, usage, stop) = (String::new(), None, None, Stop::EndTurn);
        let duration_ms = 1;
        Ok(Body::Turn(TurnEvent::AgentReply { slot, text, thinking, calls, provider_data, usage, stop, duration_ms }))
    }

    fn call(&mut self, slot: Slot, call_id: &str) -> anyhow::Result<Body> {
        let call = self.ends.remove(call_id).with_context(|| format!("the script has no call {call_id}"))?;
        if let ScriptedEnd::Interrupted(text) = call.end {
            let end = ScriptedEnd::Works(text);
            self.ends.insert(call_id.to_owned(), ScriptedCall { end, ..call });
            return Ok(Body::Call(CallEvent::Interrupted { slot, effect: InterruptedEffect::None }));
        }
        if let Some(files) = call.leaves {
            self.script.files = files;
        }
        let (success, code, exit_code, content) = match call.end {
            ScriptedEnd::Works(content) => (true, None, (call.tool == "shell_exec").then_some(0), content),
            ScriptedEnd::Fails(code, exit_code, content) => (false, code.map(str::to_owned), exit_code, content),
            ScriptedEnd::Cancelled(cancellation_source) => {
                return Ok(Body::Call(CallEvent::ToolCancelled {
                    slot,
                    call_id: call_id.to_owned(),
                    tool_name: call.tool.to_owned(),
                    cancellation_source,
                    partial_output: String::new(),
                }));
            }
            ScriptedEnd::Interrupted(_) => bail!("the call {call_id} was interrupted twice"),
        };
        Ok(Body::Call(CallEvent::ToolResult {
            slot,
            call_id: call_id.to_owned(),
            success,
            duration_ms: 1,
            bytes: content.len() as u64,
            content: Some(content),
            artifact: None,
            code,
            exit_code,
            settled: false,
            seen: None,
        }))
    }

    fn deed(&mut self, slot: Slot, deed: &Deed) -> DeedEvent {
        let files = &self.script.files;
        match deed {
            Deed::Tree { .. } => {
                let tree = files.tree.as_ref().map(|tree| content_hash(tree.as_bytes()));
                let error = tree.is_none().then(|| "git did not answer".to_owned());
                let now = tree.clone().unwrap_or_default();
                let is_changed = tree.is_some() && self.seen != now;
                self.seen = now;
                DeedEvent::TreeKept {
                    slot,
                    tree,
                    head: None,
                    kept: None,
                    changed: is_changed.then(|| "price.rs".to_owned()).into_iter().collect(),
                    more: 0,
                    absent: Vec::new(),
                    tests: BTreeMap::new(),
                    error,
                }
            }
            Deed::Check { .. } => {
                let (passed, exit_code) = (files.passes, Some(i32::from(!files.passes)));
                // A runner of tests says how long it took: no two outputs are equal.
                let output = format!("ran 12 tests in {} ms", 400 + self.drive.next_seq() % 97);
                DeedEvent::CheckRun { slot, passed, exit_code, output, duration_ms: 1 }
            }
            Deed::Files(_) => DeedEvent::FilesWritten { slot, error: None },
        }
    }
}

/// Returns the outcome of something that was asked to end.
fn aborted(want: &Want) -> Body {
    let slot = want.key.slot;
    match &want.command {
        Command::Turn { .. } => Body::Turn(TurnEvent::AgentFailed {
            slot,
            kind: FailureKind::Cancelled,
            message: "cancelled".to_owned(),
            retry_after_ms: None,
            received: 0,
            output_max: None,
        }),
        Command::Call { call, .. } => Body::Call(CallEvent::ToolCancelled {
            slot,
            call_id: call.call_id.clone(),
            tool_name: call.name.clone(),
            cancellation_source: CancelledBy::OperatorSignal,
            partial_output: String::new(),
        }),
        Command::Hook(_) => Body::Call(CallEvent::Interrupted { slot, effect: InterruptedEffect::Unknown }),
        Command::Look { .. } | Command::Keep(_) | Command::Do(_) => {
            Body::Call(CallEvent::Interrupted { slot, effect: InterruptedEffect::None })
        }
        Command::Ask(_) | Command::Wait { .. } => Body::Ask(AskEvent::Withdrawn { slot }),
    }
}
