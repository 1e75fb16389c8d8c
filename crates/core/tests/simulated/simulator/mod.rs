//! Carries out what a procedure wants in a world of fakes, kills the driver wherever it is told to, and
//! checks at every tick what must always hold. Deterministic: a seed repeats a run.
//!
//! In: a way to make the procedure, a [`World`] and a [`Plan`]. Out: how it ended and the whole journal, or
//! the [`Violation`] that was caught. The world survives a kill, the driver does not.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use adjutant_core::detect::Sensitivities;
use adjutant_core::gate::checks::Checks;
use adjutant_core::gate::custody::Outside;
use adjutant_core::gate::shell::Programs;
use adjutant_core::gate::{HookAnswer, Places, Scope, Untrusted};
use adjutant_core::inbox::reply;
use adjutant_core::procedure::run::Run;
use adjutant_core::procedure::{Begun, Breach, Command, Drive, Orphan, Procedure, Step};
use adjutant_core::session::{PATIENCE_ALONE_MS, Session, Setup, Task};
use adjutant_core::trace::{AskEvent, Body, CallEvent, DeedEvent, Entry, Event, GateEvent, RunEvent, TurnEvent};
use adjutant_core::words::deed::{Deed, FileContent};
use adjutant_core::words::tool::{FileChange, OfferedTools, ToolCall, ToolEffect, ToolSpec};
use adjutant_core::words::{
    Budget, CancelledBy, Category, Choice, FailureKind, InterruptedEffect, Key, Look, Mode, Outcome, Part, Question,
    QuestionKind, Slot, Stop, Usage,
};
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

/// The longest content that the journal holds itself, in bytes, as the runtime has it; what is longer is kept
/// by its hash.
const INLINE_BYTES_MAX: usize = 64 * 1024;

/// The fold of a run that is killed is checked each time its journal has so many events more.
const CHECKED_EVERY: usize = 16;

/// Returns a session's setup, with nothing authorized and no tools; tests change what they are about.
pub fn setup() -> Setup {
    Setup {
        standing_orders: "orders".to_owned(),
        brief: "brief".to_owned(),
        authorized: Vec::new(),
        places: Places::default(),
        scope: Scope::default(),
        scope_locked: false,
        deadline: None,
        mode: Some(Mode::Auto),
        max_steps: 30,
        sensitivities: Sensitivities::default(),
        shell_disabled: false,
        untrusted: Untrusted::default(),
        programs: Arc::clone(Programs::builtin()),
        hooks: Vec::new(),
        role: None,
        checks: None,
        end_checks: Checks::default(),
        task: Task::Brief,
        only_reads: false,
        tools: Vec::new().into(),
        result_bytes_max: None,
        agents: Vec::new(),
        answer_within_ms: None,
        patience_ms: PATIENCE_ALONE_MS,
        budget: Budget::default(),
        is_free_in_calls: false,
        role_budget: Budget::default(),
        learned: None,
    }
}

/// Returns a tool that needs one category.
pub fn tool(name: &str, category: &str, effect: ToolEffect) -> ToolSpec {
    ToolSpec {
        name: name.to_owned(),
        description: String::new(),
        categories: vec![Category::new(category)],
        schema: serde_json::json!({}),
        effect,
    }
}

/// Returns a run of one session.
pub fn alone(setup: &Arc<Setup>) -> Run<Session> {
    let part = Part::root().child("session");
    Run::new(Session::new(setup.clone(), part.clone()), part)
}

/// Turn of a scripted agent.
#[derive(Debug, Clone)]
pub enum Said {
    /// Text and calls.
    Turn { text: String, calls: Vec<ToolCall> },
    /// Text that ends at its length limit.
    Cut(String),
    /// The turn fails.
    Fails(FailureKind),
}

impl Said {
    pub fn text(text: &str) -> Self {
        Self::Turn { text: text.to_owned(), calls: Vec::new() }
    }

    pub fn calls(text: &str, calls: Vec<ToolCall>) -> Self {
        Self::Turn { text: text.to_owned(), calls }
    }
}

/// Returns a call for a script.
pub fn call(id: &str, name: &str, args: Value) -> ToolCall {
    ToolCall {
        call_id: id.to_owned(),
        name: name.to_owned(),
        args,
        malformed: None,
        masked: false,
        resolved: Vec::new(),
    }
}

/// Everything outside: survives the death of a driver.
#[derive(Debug, Clone, Default)]
pub struct World {
    /// Turns of each part's agent, by the number of turns it has taken.
    pub scripts: BTreeMap<String, Vec<Said>>,
    /// Replies of the operator, by kind of question, in order.
    pub answers: BTreeMap<&'static str, Vec<String>>,
    /// Replies of the operator to all questions of a kind that one part asks; before those in order.
    pub answers_to: BTreeMap<(&'static str, &'static str), String>,
    /// The tools that merely read.
    pub reads: BTreeSet<&'static str>,
    /// The tools that write files, whose changes are recorded with the intent.
    pub writes: BTreeSet<&'static str>,
    /// The files.
    pub files: BTreeMap<String, String>,
    /// Every effect that was had, in order: never taken back, written by the fakes themselves.
    pub effects: Vec<(Key, String)>,
    /// The contents too large for the journal, by hash: kept before a result names it.
    pub artifacts: BTreeMap<String, String>,
    /// Results of tools, by name, if they differ from the fakes' own.
    pub results: BTreeMap<&'static str, String>,
    /// State of the files in the look before the first call.
    pub tree: Option<BTreeMap<String, String>>,
    /// Edits that others make before the files are identified for the so-manieth time, from 1.
    pub edits: BTreeMap<usize, (&'static str, &'static str)>,
    /// State of the files when they were identified last.
    pub identified: Option<BTreeMap<String, String>>,
    /// The files in `.adjutant`, and how often each was written.
    pub state_files: BTreeMap<String, (String, u32)>,
    /// True if they can't be written.
    pub is_read_only: bool,
    /// True if that look gets lost.
    pub forgets_tree: bool,
    /// Output of guard hooks, by their place.
    pub hooks: BTreeMap<u32, String>,
    /// The usage that a provider counts for each reply.
    pub usage: Option<Usage>,
    /// The part that messages are for; the whole run if absent.
    pub to: Option<&'static str>,
    /// The tools that are offered from the first resume on, if those are others.
    pub offers: Option<Vec<ToolSpec>>,
    /// Messages from outside, delivered once the journal is this long.
    pub messages: Vec<(usize, adjutant_core::words::Message)>,
}

/// Plan of a simulated run: when to kill, and in which order things happen.
#[derive(Debug, Clone, Default)]
pub struct Plan {
    /// The ticks at which the driver dies: a tick is one append or one effect.
    pub kills: BTreeSet<u64>,
    /// The place of an event that the first kill takes out of the journal, as damage does that an operator
    /// accepts.
    pub loses: Option<usize>,
    /// Decides which of several things in flight moves next.
    pub seed: u64,
    /// A fault planted in the driver.
    pub fault: Option<DriverFault>,
}

/// A fault planted in the driver, which the checks must catch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DriverFault {
    /// An interrupted call of unknown effect is repeated under its own key.
    RepeatsOrphans,
    /// The outcome is appended before the effect's intent.
    OutcomeBeforeIntent,
    /// An answer goes to the first open question of its kind, whichever was asked.
    AnswersByKind,
    /// After a kill the operator's messages are delivered again under other ids.
    LosesMessageIds,
}

/// Violation that the checks found.
#[derive(Debug, Clone, PartialEq)]
pub enum Violation {
    /// The journal would have held what no journal may hold.
    Breach(Breach),
    /// The procedure asked for what no journal may hold.
    Broken(Breach),
    /// Folding the journal gives another decision than the one just made.
    Recomputed { events: usize },
    /// An effect was had twice.
    EffectTwice(Key),
    /// An effect was had without its intent in the journal.
    EffectWithoutIntent(Key),
    /// An answer came to another question than the one that was put.
    WrongQuestion(Key),
    /// One message from outside changed the run twice.
    MessageTwice,
    /// It goes on and on.
    Endless,
}

/// Result of a simulated run.
#[derive(Debug, Clone, PartialEq)]
pub struct Ended {
    /// Its outcome; `None` if it waits for an operator who says nothing more.
    pub outcome: Option<Outcome>,
    /// The questions that are open.
    pub open: Vec<(Key, QuestionKind)>,
    /// The journal.
    pub journal: Vec<Event>,
    /// The files.
    pub files: BTreeMap<String, String>,
    /// The effects, in order.
    pub effects: Vec<(Key, String)>,
    /// The contents too large for the journal, by hash.
    pub artifacts: BTreeMap<String, String>,
    /// The files in `.adjutant`, and how often each was written.
    pub state_files: BTreeMap<String, (String, u32)>,
    /// Number of ticks it took.
    pub ticks: u64,
}

impl Ended {
    /// Returns the types of the events, without what a kill adds.
    pub fn kinds(&self) -> Vec<String> {
        self.journal.iter().map(|event| format!("{}:{}", event.part, kind(&event.body))).collect()
    }
}

/// Returns the name of an event's type.
pub fn kind(body: &Body) -> String {
    let value = serde_json::to_value(body).expect("a body serializes");
    match value {
        Value::Object(map) => map.keys().next().cloned().unwrap_or_default(),
        Value::String(name) => name,
        _ => String::new(),
    }
}

/// Runs what `make` makes until it ends or waits.
pub fn simulate<P: Procedure>(make: &dyn Fn() -> Run<P>, world: &World, plan: &Plan) -> Result<Ended, Violation> {
    Simulation {
        make,
        world: world.clone(),
        plan,
        journal: Vec::new(),
        ticks: 0,
        random: plan.seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1,
    }
    .run()
}

struct Simulation<'a, P: Procedure> {
    make: &'a dyn Fn() -> Run<P>,
    world: World,
    plan: &'a Plan,
    journal: Vec<Event>,
    ticks: u64,
    random: u64,
}

/// Something in flight in a driver that lives.
struct Flight {
    command: Command,
    done: Option<Body>,
    aborting: bool,
}

/// End of a driver's life: a kill, or a check that failed.
enum Stopped {
    Killed,
    Violation(Violation),
}

impl From<Violation> for Stopped {
    fn from(violation: Violation) -> Self {
        Self::Violation(violation)
    }
}

impl<P: Procedure> Simulation<'_, P> {
    fn run(mut self) -> Result<Ended, Violation> {
        let mut lost = self.plan.loses;
        loop {
            match self.life() {
                Ok(ended) => return Ok(ended),
                Err(Stopped::Killed) => {
                    if let Some(place) = lost.take().filter(|place| *place < self.journal.len()) {
                        self.journal.remove(place);
                    }
                }
                Err(Stopped::Violation(violation)) => return Err(violation),
            }
        }
    }

    /// Runs one driver's life, from folding the journal to the end of the run or its own.
    fn life(&mut self) -> Result<Ended, Stopped> {
        let mut drive = Drive::new((self.make)());
        for event in &self.journal {
            drive.apply(event);
        }
        let mut flight: BTreeMap<Key, Flight> = BTreeMap::new();
        if !self.journal.is_empty() {
            if drive.ledger().open().next().is_none() && matches!(drive.step(), Step::Finished(_)) {
                return Ok(self.ended(&drive));
            }
            let offered = self.world.offers.as_deref().map(|tools| Box::new(OfferedTools::of(tools)));
            let resume = RunEvent::RunResume { options: None, accepted_damage: Vec::new(), offered };
            self.append(&mut drive, Entry { part: Part::root(), body: Body::Run(resume) })?;
            self.recover(&mut drive, &mut flight)?;
        }
        for _ in 0..20_000 {
            self.deliver(&mut drive)?;
            match drive.step() {
                Step::Record(entry) => self.append(&mut drive, entry)?,
                Step::Begin(want) => {
                    let mut intent = want.intent();
                    if let (Body::Call(CallEvent::ToolCall { changes, .. }), Command::Call { call, .. }) =
                        (&mut intent.body, &want.command)
                    {
                        *changes = self.changes(call);
                    }
                    if self.plan.fault == Some(DriverFault::OutcomeBeforeIntent)
                        && matches!(want.command, Command::Call { .. })
                    {
                        let mut early = Flight { command: want.command.clone(), done: None, aborting: false };
                        self.carry_out(&want.key, &mut early)?;
                        let body = early.done.expect("it was carried out");
                        self.append(&mut drive, Entry { part: want.key.part.clone(), body })?;
                    }
                    self.append(&mut drive, intent)?;
                    flight.insert(want.key, Flight { command: want.command, done: None, aborting: false });
                }
                Step::Abort(key) => {
                    drive.aborted(key.clone());
                    if let Some(flying) = flight.get_mut(&key) {
                        flying.aborting = true;
                    }
                }
                Step::Await => match self.pick(&flight) {
                    None => return Ok(self.ended(&drive)),
                    Some(key) => self.advance(&mut drive, &mut flight, &key)?,
                },
                Step::Finished(_) => return Ok(self.ended(&drive)),
                Step::Broken(breach) => return Err(Violation::Broken(breach).into()),
            }
        }
        Err(Violation::Endless.into())
    }

    fn append(&mut self, drive: &mut Drive<P>, entry: Entry) -> Result<(), Stopped> {
        drive.ledger().check(&entry).map_err(Violation::Breach)?;
        let at = self.time_of(&entry);
        let seq = self.journal.last().map_or(0, |last| last.seq + 1);
        let event = entry.at(seq, at);
        self.journal.push(event.clone());
        drive.apply(&event);
        // A run that is not killed is checked after every event. One that is takes the same steps, and is checked where
        // it is killed, and now and then: folding all of it after every event makes most of a test's time.
        let dies = self.plan.kills.contains(&(self.ticks + 1));
        if self.plan.kills.is_empty() || dies || self.journal.len().is_multiple_of(CHECKED_EVERY) {
            self.check_fold(drive)?;
        }
        self.tick()
    }

    /// Returns the time of an event: a second after the one before. A wait ends when its length is over.
    fn time_of(&self, entry: &Entry) -> Timestamp {
        let next = self.journal.last().map_or(Timestamp::UNIX_EPOCH, |last| last.at + SignedDuration::from_secs(1));
        let Body::Ask(AskEvent::Expired { slot: ended }) = &entry.body else { return next };
        let begun = self.journal.iter().rev().find_map(|event| match &event.body {
            Body::Ask(AskEvent::Timer { slot, length_ms }) if slot == ended && event.part == entry.part => {
                Some((event.at, *length_ms))
            }
            _ => None,
        });
        begun.map_or(next, |(at, ms)| next.max(at + SignedDuration::from_millis(ms.try_into().expect("a short wait"))))
    }

    /// Checks that a fresh procedure decides the same after folding the journal as the living one does.
    fn check_fold(&self, drive: &Drive<P>) -> Result<(), Violation> {
        let mut fresh = (self.make)();
        for event in &self.journal {
            fresh.apply(event);
        }
        if fresh.next() == drive.run().next() {
            Ok(())
        } else {
            Err(Violation::Recomputed { events: self.journal.len() })
        }
    }

    fn tick(&mut self) -> Result<(), Stopped> {
        self.ticks += 1;
        if self.plan.kills.contains(&self.ticks) { Err(Stopped::Killed) } else { Ok(()) }
    }

    /// Reattaches, settles or gives up what an earlier driver left in flight.
    fn recover(&mut self, drive: &mut Drive<P>, flight: &mut BTreeMap<Key, Flight>) -> Result<(), Stopped> {
        let reads = self.world.reads.clone();
        for (key, orphan) in drive.orphans(|_, name| reads.contains(name)) {
            let body = match orphan {
                Orphan::Reattach => {
                    let open = drive.ledger().get(&key).expect("an orphan is open");
                    let command = match &open.begun {
                        Begun::Question(question) => Command::Ask(Arc::new(question.clone())),
                        _ => Command::Wait { length_ms: 0 },
                    };
                    flight.insert(key, Flight { command, done: None, aborting: false });
                    continue;
                }
                Orphan::Repeatable => {
                    Body::Call(CallEvent::Interrupted { slot: key.slot, effect: InterruptedEffect::None })
                }
                Orphan::Settle { changes, .. } => match self.settle(&changes) {
                    Some(true) => Body::Call(CallEvent::ToolResult {
                        slot: key.slot,
                        call_id: String::new(),
                        success: true,
                        duration_ms: 0,
                        bytes: 0,
                        content: Some("settled".to_owned()),
                        artifact: None,
                        code: None,
                        exit_code: None,
                        settled: true,
                        seen: None,
                    }),
                    Some(false) => {
                        Body::Call(CallEvent::Interrupted { slot: key.slot, effect: InterruptedEffect::None })
                    }
                    None => Body::Call(CallEvent::Interrupted { slot: key.slot, effect: InterruptedEffect::Unknown }),
                },
                Orphan::Unknown if self.plan.fault == Some(DriverFault::RepeatsOrphans) => {
                    let intent = self
                        .journal
                        .iter()
                        .rfind(|event| event.part == key.part && event.body.intent() == Some(&key.slot));
                    let Some(Body::Call(CallEvent::ToolCall { call_id, name, args, network, .. })) =
                        intent.map(|event| event.body.clone())
                    else {
                        continue;
                    };
                    let call = Arc::new(ToolCall {
                        call_id,
                        name,
                        args,
                        malformed: None,
                        masked: false,
                        resolved: Vec::new(),
                    });
                    let command = Command::Call { call, workspace: None, network, limit_ms: None };
                    flight.insert(key, Flight { command, done: None, aborting: false });
                    continue;
                }
                Orphan::Unknown => {
                    Body::Call(CallEvent::Interrupted { slot: key.slot, effect: InterruptedEffect::Unknown })
                }
            };
            self.append(drive, Entry { part: key.part, body })?;
        }
        Ok(())
    }

    fn settle(&self, changes: &[FileChange]) -> Option<bool> {
        let is = |want: fn(&FileChange) -> &Option<String>| {
            changes.iter().all(|change| self.world.files.get(&change.path) == want(change).as_ref())
        };
        if is(|change| &change.after) {
            Some(true)
        } else if is(|change| &change.before) {
            Some(false)
        } else {
            None
        }
    }

    fn changes(&self, call: &ToolCall) -> Vec<FileChange> {
        if !self.world.writes.contains(call.name.as_str()) {
            return Vec::new();
        }
        let (path, content) = path_and_content(call);
        vec![FileChange { before: self.world.files.get(&path).cloned(), after: Some(content), path }]
    }

    /// Returns one of the things in flight that can move; questions only if the operator has something to say.
    fn pick(&mut self, flight: &BTreeMap<Key, Flight>) -> Option<Key> {
        let movable: Vec<&Key> = flight
            .iter()
            .filter(|(key, flying)| match &flying.command {
                Command::Ask(question) => {
                    flying.aborting || flying.done.is_some() || self.answer(key, question).is_some()
                }
                _ => true,
            })
            .map(|(key, _)| key)
            .collect();
        if movable.is_empty() {
            return None;
        }
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        Some(movable[(self.random % movable.len() as u64) as usize].clone())
    }

    /// Moves one thing in flight: first its effect, then its outcome.
    fn advance(&mut self, drive: &mut Drive<P>, flight: &mut BTreeMap<Key, Flight>, key: &Key) -> Result<(), Stopped> {
        let flying = flight.get_mut(key).expect("it was picked");
        if flying.done.is_none() {
            if flying.aborting {
                flying.done = Some(aborted(key, &flying.command));
                return Ok(());
            }
            self.carry_out(key, flying)?;
            return self.tick();
        }
        let mut done = flight.remove(key).expect("it was picked").done.expect("it is done");
        let mut to = key.clone();
        if self.plan.fault == Some(DriverFault::AnswersByKind)
            && let Body::Ask(AskEvent::Answer { slot, .. }) = &mut done
            && let Some((other, _)) = drive.ledger().open().find(|(_, open)| matches!(open.begun, Begun::Question(_)))
        {
            *slot = other.slot;
            to = other.clone();
        }
        if to != *key {
            return Err(Violation::WrongQuestion(to).into());
        }
        self.append(drive, Entry { part: to.part, body: done })
    }

    fn carry_out(&mut self, key: &Key, flying: &mut Flight) -> Result<(), Violation> {
        let slot = key.slot;
        flying.done = Some(match &flying.command {
            Command::Turn { .. } => match self.said(key) {
                Said::Turn { text, calls } => {
                    let (thinking, provider_data, stop) = (String::new(), None, Stop::EndTurn);
                    let usage = self.world.usage;
                    Body::Turn(TurnEvent::AgentReply {
                        slot,
                        text,
                        thinking,
                        calls,
                        provider_data,
                        usage,
                        stop,
                        duration_ms: 0,
                    })
                }
                Said::Cut(text) => Body::Turn(TurnEvent::AgentReply {
                    slot,
                    text,
                    thinking: String::new(),
                    calls: Vec::new(),
                    provider_data: None,
                    usage: None,
                    stop: Stop::MaxTokens,
                    duration_ms: 0,
                }),
                Said::Fails(kind) => {
                    let (message, retry_after_ms) = ("the script says so".to_owned(), None);
                    Body::Turn(TurnEvent::AgentFailed {
                        slot,
                        kind,
                        message,
                        retry_after_ms,
                        received: 0,
                        output_max: None,
                    })
                }
            },
            Command::Call { call, .. } => self.tool(key, &call.clone())?,
            Command::Hook(asked) => {
                if self.world.effects.iter().any(|(had, _)| had == key) {
                    return Err(Violation::EffectTwice(key.clone()));
                }
                self.world.effects.push((key.clone(), format!("hook {}", asked.input)));
                let said = self.world.hooks.get(&asked.place).cloned().unwrap_or_default();
                let HookAnswer { answer, reason, fault } = HookAnswer::read(&said);
                Body::Gate(GateEvent::HookResult { slot, decision: answer, reason, fault, duration_ms: 0 })
            }
            Command::Look { look, custody, .. } => {
                let found = self.look(*look).map(|changed| custody.outside(changed));
                let (Outside { paths, more }, error) = match found {
                    Ok(outside) => (outside, None),
                    Err(error) => (Outside::default(), Some(error)),
                };
                Body::Gate(GateEvent::TreeSeen { slot, look: *look, outside: paths, more, error, duration_ms: 0 })
            }
            Command::Keep(_) => Body::Gate(GateEvent::GrantKept { slot, error: None }),
            Command::Do(deed) => Body::Deed(self.deed(slot, &deed.clone())),
            Command::Ask(question) => {
                let typed = self.answer(key, question).expect("it was picked because there is an answer");
                let reply =
                    reply::read_to(question, &typed).unwrap_or(reply::Reply { choice: Choice::Deny, text: None });
                // The id names the question, as a real inbox's would: a lost one shows as a second use.
                Body::Ask(AskEvent::Answer {
                    slot,
                    id: format!("answer-{key}"),
                    choice: reply.choice,
                    text: reply.text,
                    by: "operator".into(),
                    whence: "simulator".into(),
                })
            }
            Command::Wait { .. } => Body::Ask(AskEvent::Expired { slot }),
        });
        Ok(())
    }

    /// Returns the agent's next turn in a part, by the number of turns it has taken in the journal.
    fn said(&self, key: &Key) -> Said {
        let taken = self
            .journal
            .iter()
            .filter(|event| {
                event.part == key.part
                    && match &event.body {
                        Body::Turn(TurnEvent::AgentReply { .. }) => true,
                        Body::Turn(TurnEvent::AgentFailed { kind, .. }) => *kind != FailureKind::Cancelled,
                        _ => false,
                    }
            })
            .count();
        let script = self.world.scripts.get(key.part.as_str());
        script.and_then(|script| script.get(taken)).cloned().unwrap_or_else(|| Said::text(""))
    }

    fn answer(&self, key: &Key, question: &Question) -> Option<String> {
        let kind = question.kind.as_str();
        let to_part = self.world.answers_to.iter().find(|((part, of), _)| *part == key.part.as_str() && *of == kind);
        if let Some((_, answer)) = to_part {
            return Some(answer.clone());
        }
        let given = self
            .journal
            .iter()
            .filter(|event| match &event.body {
                Body::Ask(AskEvent::Answer { slot, .. }) => self.journal.iter().any(|asked| {
                    asked.part == event.part
                        && matches!(&asked.body, Body::Ask(AskEvent::Question { slot: other, question: put }) if other == slot && put.kind == question.kind)
                }),
                _ => false,
            })
            .count();
        self.world.answers.get(kind).and_then(|answers| answers.get(given)).cloned()
    }

    /// Keeps how the files are, or says which differ from that.
    fn look(&mut self, look: Look) -> Result<Vec<String>, String> {
        if look == Look::Before {
            self.world.tree = Some(self.world.files.clone());
            return Ok(Vec::new());
        }
        let Some(before) = self.world.tree.as_ref().filter(|_| !self.world.forgets_tree) else {
            return Err("it is gone".to_owned());
        };
        let now = &self.world.files;
        let paths: BTreeSet<&String> = before.keys().chain(now.keys()).collect();
        Ok(paths.into_iter().filter(|path| before.get(*path) != now.get(*path)).cloned().collect())
    }

    /// Does what is no tool call. A check is `has PATH TEXT`; `touches PATH` changes a file as well.
    fn deed(&mut self, slot: Slot, deed: &Deed) -> DeedEvent {
        match deed {
            Deed::Tree { keep, files, tests } => {
                let looks = self.journal.iter().filter(|event| kind(&event.body) == "tree_kept").count();
                if let Some((path, text)) = self.world.edits.get(&(looks + 1)) {
                    self.world.files.insert((*path).to_owned(), (*text).to_owned());
                }
                let now = self.world.files.clone();
                let before = self.world.identified.replace(now.clone()).unwrap_or_default();
                let paths: BTreeSet<&String> = before.keys().chain(now.keys()).collect();
                let is_test = |path: &str| {
                    if tests.is_empty() {
                        path.contains("test")
                    } else {
                        tests.iter().any(|test| path.starts_with(test))
                    }
                };
                let hash = |text: &str| blake3::hash(text.as_bytes()).to_hex().to_string()[..16].to_owned();
                DeedEvent::TreeKept {
                    slot,
                    tree: Some(hash(&format!("{now:?}"))),
                    head: None,
                    kept: keep.clone(),
                    changed: paths.into_iter().filter(|path| before.get(*path) != now.get(*path)).cloned().collect(),
                    more: 0,
                    absent: files.iter().filter(|path| !now.contains_key(*path)).cloned().collect(),
                    tests: now
                        .iter()
                        .filter(|(path, _)| is_test(path))
                        .map(|(path, text)| (path.clone(), hash(text)))
                        .collect(),
                    error: None,
                }
            }
            Deed::Check { command } => {
                let words: Vec<&str> = command.split(' ').collect();
                let passed = match words.as_slice() {
                    ["has", path, text] => self.world.files.get(*path).is_some_and(|content| content.contains(text)),
                    ["touches", path] => {
                        let content = format!("{}.", self.world.files.get(*path).cloned().unwrap_or_default());
                        self.world.files.insert((*path).to_owned(), content);
                        true
                    }
                    ["builds", path] => {
                        self.world.files.insert((*path).to_owned(), "built".to_owned());
                        true
                    }
                    _ => false,
                };
                let exit_code = Some(i32::from(!passed));
                DeedEvent::CheckRun { slot, passed, exit_code, output: format!("ran {command}"), duration_ms: 0 }
            }
            Deed::Files(_) if self.world.is_read_only => {
                DeedEvent::FilesWritten { slot, error: Some("it is read-only".to_owned()) }
            }
            Deed::Files(files) => {
                for file in files {
                    let had = self.world.state_files.get(&file.path).cloned();
                    let (text, count) = match (&file.content, had) {
                        (FileContent::Text(text), had) => (text, had.map_or(0, |(_, count)| count)),
                        (FileContent::Unless(text), None) => (text, 0),
                        (FileContent::Unless(_), Some(_)) => continue,
                        (FileContent::Gone(content), had) => {
                            if content.as_ref().is_none_or(|content| had.is_some_and(|(had, _)| had == *content)) {
                                self.world.state_files.remove(&file.path);
                            }
                            continue;
                        }
                    };
                    self.world.state_files.insert(file.path.clone(), (text.clone(), count + 1));
                }
                DeedEvent::FilesWritten { slot, error: None }
            }
        }
    }

    fn tool(&mut self, key: &Key, call: &ToolCall) -> Result<Body, Violation> {
        if !self.journal.iter().any(|event| event.part == key.part && event.body.intent() == Some(&key.slot)) {
            return Err(Violation::EffectWithoutIntent(key.clone()));
        }
        let mut content = format!("{} worked", call.name);
        let mut success = true;
        if self.world.writes.contains(call.name.as_str()) {
            let (path, text) = path_and_content(call);
            self.world.files.insert(path, text);
        }
        if let Some(path) = call.args["script"].as_str() {
            let text = call.args["content"].as_str().map(str::to_owned);
            match text {
                Some(text) => drop(self.world.files.insert(path.to_owned(), text)),
                None => drop(self.world.files.remove(path)),
            }
        }
        if self.world.reads.contains(call.name.as_str()) {
            content = format!("{:?}", self.world.files);
        } else {
            if self.world.effects.iter().any(|(had, _)| had == key) {
                return Err(Violation::EffectTwice(key.clone()));
            }
            self.world.effects.push((key.clone(), format!("{} {}", call.name, call.args)));
        }
        if call.name == "fails" {
            success = false;
            content = "it failed".to_owned();
        }
        if call.args["prints"] == "much" {
            content = format!("{content}: {}", "much ".repeat(INLINE_BYTES_MAX / 4));
        }
        if let Some(result) = self.world.results.get(call.name.as_str()) {
            content.clone_from(result);
        }
        let bytes = content.len() as u64;
        let (content, artifact) = if content.len() > INLINE_BYTES_MAX {
            let hash = blake3::hash(content.as_bytes()).to_hex().to_string();
            self.world.artifacts.insert(hash.clone(), content);
            (None, Some(hash))
        } else {
            (Some(content), None)
        };
        Ok(Body::Call(CallEvent::ToolResult {
            slot: key.slot,
            call_id: call.call_id.clone(),
            success,
            duration_ms: 0,
            bytes,
            content,
            artifact,
            code: None,
            exit_code: None,
            settled: false,
            seen: None,
        }))
    }

    /// Delivers the messages from outside whose time has come, each once.
    fn deliver(&mut self, drive: &mut Drive<P>) -> Result<(), Stopped> {
        for (number, (length, message)) in self.world.messages.clone().into_iter().enumerate() {
            let id = if self.plan.fault == Some(DriverFault::LosesMessageIds) {
                format!("message-{number}-{}", self.journal.len())
            } else {
                format!("message-{number}")
            };
            let over = matches!(self.journal.last(), Some(Event { body: Body::Run(RunEvent::RunEnd { .. }), .. }));
            if !over && self.journal.len() >= length && !drive.ledger().has_used(&id) {
                let seen = self.journal.iter().filter(|event| matches!(&event.body, Body::Ask(AskEvent::OperatorMessage { id, .. }) if id.starts_with(&format!("message-{number}")))).count();
                if seen > 0 {
                    return Err(Violation::MessageTwice.into());
                }
                self.append(
                    drive,
                    Entry {
                        part: self.world.to.map_or_else(Part::root, |part| part.parse().expect("a part")),
                        body: Body::Ask(AskEvent::OperatorMessage { id, message, by: "operator".to_owned() }),
                    },
                )?;
            }
        }
        Ok(())
    }

    fn ended(&self, drive: &Drive<P>) -> Ended {
        let open = drive.ledger().open().filter_map(|(key, open)| match &open.begun {
            Begun::Question(question) => Some((key.clone(), question.kind)),
            _ => None,
        });
        Ended {
            outcome: match drive.step() {
                Step::Finished(outcome) => Some(outcome),
                _ => None,
            },
            open: open.collect(),
            journal: self.journal.clone(),
            files: self.world.files.clone(),
            effects: self.world.effects.clone(),
            artifacts: self.world.artifacts.clone(),
            state_files: self.world.state_files.clone(),
            ticks: self.ticks,
        }
    }
}

fn aborted(key: &Key, command: &Command) -> Body {
    let slot = key.slot;
    match command {
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

fn path_and_content(call: &ToolCall) -> (String, String) {
    let text = |name: &str| call.args.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    (text("path"), text("content"))
}
