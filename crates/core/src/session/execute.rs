//! Phase 1: step by step, every turn read, every call judged.

use std::borrow::Cow;
use std::sync::Arc;

use jiff::Timestamp;

use super::due;
use super::machine::{Decider, OPERATOR_ENDED, ROLE_VIOLATED};
use super::prompts;
use super::setup::{RETRIES_MAX, SAME_TURNS_MAX, SILENCES_MAX, TOOL_ROUNDS_MAX, Task};
use super::state::{Call, CallProgress, CallVerdict, ReadTurn, same_call};
use crate::gate::grant::Subject;
use crate::gate::permission::REQUEST_PERMISSION;
use crate::gate::{self, RoleLimit, authorization};
use crate::procedure::{Command, Next, On, Want};
use crate::trace::{Body, BudgetEvent, CallEvent, GateEvent, HostEvent, PartEvent};
use crate::words::category::{
    DEPLOY, EXTERNAL_MESSAGE, GIT_PUSH, HTTP_FETCH, PACKAGE_CHANGE, PAID_API_CALL, SHELL_EXEC,
};
use crate::words::tool::{ToolCall, ToolEffect, ToolSpec};
use crate::words::wait::WAIT_FOR;
use crate::words::{
    Category, Choice, Key, LimitMetric, MessageKind, Metric, Mode, OperatorWord, PhaseName, QuestionKind, Rejection,
    Slot, What,
};

/// Categories that imply network access: allowing one for a call also opens the network for it.
const NETWORKED: [&str; 6] = [HTTP_FETCH, GIT_PUSH, EXTERNAL_MESSAGE, DEPLOY, PACKAGE_CHANGE, PAID_API_CALL];

/// Rights by which a call is judged.
struct Rights<'a> {
    role: Option<&'a RoleLimit>,
    authorized: Cow<'a, [Category]>,
    approved: Cow<'a, [Category]>,
}

impl Call {
    /// Returns a decision on it, tightened by what guard hooks have said.
    pub(super) fn tightened(&self, decision: gate::Decision) -> gate::Decision {
        let answered = self.hooks.iter().filter_map(|asked| Some((asked, asked.answer.as_ref()?)));
        answered.fold(decision, |decision, (asked, answer)| decision.tightened_by(answer.finding(&asked.name)))
    }

    /// Returns true if it has begun and not ended.
    fn is_in_flight(&self) -> bool {
        matches!(self.progress, CallProgress::InFlight { .. })
    }

    /// Returns true if nothing has been done about it and nothing is under way.
    pub(super) fn is_idle(&self) -> bool {
        matches!(self.progress, CallProgress::Waiting { .. } | CallProgress::EffectUnknown)
    }
}

impl Decider<'_> {
    pub(super) fn execute(&self) -> Next {
        let state = &self.state;
        if state.steps.number == 0
            && let Some(begun) = self.begin()
        {
            return begun;
        }
        if state.speech.owed {
            return self.steered().unwrap_or_else(|| self.new_turn());
        }
        let Some(turn) = &state.turns.latest else { return self.new_turn() };
        let Some(taken) = &turn.taken else {
            return if state.given.is_held { self.step_over() } else { self.pursue(turn) };
        };
        self.due(due::EXECUTE, taken)
    }

    /// Leaves for phase 2 if the agent says that it is blocked; its calls are answered first.
    pub(super) fn blocked(&self, taken: &ReadTurn) -> Option<Next> {
        let payload = taken.payload("blocker")?;
        let reason = payload.get("reason").and_then(|reason| reason.as_str()).unwrap_or("blocked");
        Some(self.reject_all(taken, Rejection::Skipped).unwrap_or_else(|| self.leave(PhaseName::Blocker, reason)))
    }

    /// Leaves for phase 3 if acts wait for the operator, unless another part asks about the same already.
    pub(super) fn hold(&self, taken: &ReadTurn) -> Option<Next> {
        let held = self.held(taken);
        if held.is_empty() {
            return None;
        }
        // What has begun is not taken back for the sake of another call: it is asked about that once this is over.
        if taken.calls.iter().any(Call::is_in_flight) {
            return Some(self.await_calls(taken));
        }
        let categories: Vec<Category> = held.categories().iter().map(Category::new).collect();
        Some(match self.run.asks_about(&self.part, &categories) {
            Some(other) => Next::Wait(On::Part(other.clone())),
            None => self.leave(PhaseName::Destructive, "destructive intent detected"),
        })
    }

    /// Asks for another turn of the same step after calls, as many times as a step may have.
    pub(super) fn next_round(&self, taken: &ReadTurn) -> Option<Next> {
        let state = &self.state;
        let rounds =
            if self.run.asks_before_messages() { state.steps.rounds } else { state.steps.rounds_since_message };
        let goes_on = !taken.calls.is_empty() && rounds < TOOL_ROUNDS_MAX && !state.given.is_held;
        goes_on.then(|| self.new_turn())
    }

    /// Tells an agent that said nothing to go on: the same request again would bring the same again. An agent that owes a
    /// handoff is told its faults instead.
    pub(super) fn break_silence(&self, _: &ReadTurn) -> Option<Next> {
        let state = &self.state;
        let owes_handoff = matches!(self.setup.task, Task::Piece(_));
        let is_silent = (1..=SILENCES_MAX).contains(&state.speech.silences) && !state.given.is_held;
        (is_silent && !owes_handoff).then(|| self.say(MessageKind::Nudge, state.steps.number, prompts::nothing_said()))
    }

    /// Leaves for phase 4 if the agent says that all is done.
    pub(super) fn completed(&self, taken: &ReadTurn) -> Option<Next> {
        if !taken.calls.is_empty() || taken.payload("completion").is_none() {
            return None;
        }
        let due = self.look_after().or_else(|| self.check_work());
        Some(due.unwrap_or_else(|| self.leave(PhaseName::Completion, "completion detected")))
    }

    /// Returns the next thing before the first turn of phase 1; `None` if the handoff is there already.
    fn begin(&self) -> Option<Next> {
        let text = match &self.setup.task {
            Task::Brief | Task::Intake => prompts::kick_off(self.mode(), self.setup.scope_locked),
            Task::Piece(_) if self.state.taken().is_some_and(|taken| self.holds_handoff(taken)) => return None,
            Task::Piece(piece) if piece.is_work => prompts::kick_off_piece(piece.handoff),
            Task::Piece(_) if self.state.speech.said.is_none() => {
                return Some(self.say(MessageKind::StandingOrders, 0, self.orders()));
            }
            Task::Piece(piece) => piece.request.clone(),
        };
        Some(self.look_before().unwrap_or_else(|| self.say(MessageKind::KickOff, 1, text)))
    }

    /// Tells the agent what the operator wants it told, one thing after another.
    pub(super) fn steered(&self) -> Option<Next> {
        let said = self.run.to_tell(&self.part)?;
        Some(self.say(MessageKind::Steer, self.state.steps.number, prompts::said(said)))
    }

    /// Tells the agent what the operator wants it told, unless the step ends here and the operator is asked before the next:
    /// then it is told with that one.
    pub(super) fn steered_before_stop(&self, taken: &ReadTurn) -> Option<Next> {
        let told = self.steered()?;
        let is_asked_first = self.run.asks_before_messages()
            && self.mode() == Mode::Gated
            && self.next_round(taken).is_none()
            && self.break_silence(taken).is_none()
            && self.hand_off(taken).is_none()
            && self.completed(taken).is_none();
        (!is_asked_first).then_some(told)
    }

    /// Returns true if the agent's announcements count as acts: a role that can only read announces none.
    pub(super) fn may_act(&self) -> bool {
        match &self.setup.task {
            Task::Brief | Task::Intake => true,
            Task::Piece(piece) => piece.is_work,
        }
    }

    fn mode(&self) -> Mode {
        self.settled_mode().unwrap_or(Mode::Gated)
    }

    /// Puts on record, once, that the agent announced another phase or used phrases that no agent shall.
    pub(super) fn report_oddities(&self, taken: &ReadTurn) -> Option<Next> {
        let declared = taken.declared();
        let expected = match declared {
            None | Some(PhaseName::Execute) => true,
            Some(PhaseName::Blocker) => taken.payload("blocker").is_some(),
            Some(PhaseName::Completion) => taken.payload("completion").is_some(),
            Some(PhaseName::Destructive) => true,
            Some(PhaseName::Intake | PhaseName::Done) => false,
        };
        if let (Some(declared), false, false) = (declared, expected, taken.drift_told) {
            return Some(self.record(Body::Part(PartEvent::PhaseDrift {
                turn: self.state.turns.count,
                declared,
                phase: PhaseName::Execute,
            })));
        }
        let phrases = taken.payload("banned_phrases").filter(|_| !taken.phrases_told)?;
        Some(self.record(Body::Host(HostEvent::Warning { text: prompts::banned_phrases(phrases) })))
    }

    /// Judges each call on its own, and answers those that will not be carried out.
    pub(super) fn judge(&self, taken: &ReadTurn) -> Option<Next> {
        taken.calls.iter().filter(|call| call.is_idle()).find_map(|call| self.judge_one(call, taken))
    }

    fn judge_one(&self, call: &Call, taken: &ReadTurn) -> Option<Next> {
        let reject = |rejection, note: Option<&str>| {
            Some(self.reject(call, rejection, prompts::rejected(rejection, &call.call.name, note)))
        };
        if call.progress == CallProgress::EffectUnknown {
            return reject(Rejection::EffectUnknown, None);
        }
        let Some(tool) = self.tool(&call.call.name) else {
            let known: Vec<&str> = self.setup.tools.iter().map(|tool| tool.name.as_str()).collect();
            return reject(Rejection::UnknownTool, Some(&known.join(", ")));
        };
        if let Some(malformed) = &call.call.malformed {
            return reject(Rejection::BadArguments, Some(malformed));
        }
        if let Some(judge) = self.setup.checks.as_ref().filter(|_| call.call.name == SHELL_EXEC)
            && judge.checks.place_of(&call.call.name, &call.call.args).is_none()
        {
            return reject(Rejection::Refused, Some(&prompts::no_check(&judge.checks)));
        }
        match &call.verdict {
            Some(CallVerdict::Allowed) if taken.act == Some(OperatorWord::No) => reject(Rejection::Skipped, None),
            Some(CallVerdict::Allowed | CallVerdict::Approved) if self.is_worn_out(call) => {
                reject(Rejection::RetryCap, None)
            }
            Some(CallVerdict::Allowed) if call.call.name == REQUEST_PERMISSION => Some(self.permission(call)),
            Some(CallVerdict::Asked { missing, .. }) if self.is_allowed_by_now(call, tool, missing) => {
                Some(self.check(call, tool))
            }
            Some(CallVerdict::Allowed | CallVerdict::Approved | CallVerdict::Asked { .. }) => None,
            Some(CallVerdict::Denied { note }) => reject(Rejection::Denied, note.as_deref()),
            Some(CallVerdict::Refused { layer, .. }) if *layer == crate::words::Layer::Role => {
                Some(self.leave(PhaseName::Done, ROLE_VIOLATED))
            }
            Some(CallVerdict::Refused { reason, would_allow, .. }) => {
                let note = would_allow.as_ref().map_or_else(|| reason.clone(), |way| format!("{reason}. {way}"));
                reject(Rejection::Refused, Some(&note))
            }
            None if self.is_worn_out(call) => reject(Rejection::RetryCap, None),
            None => Some(self.check(call, tool)),
        }
    }

    /// Returns true if what a call was to be asked about was allowed meanwhile, to another part that asked first.
    fn is_allowed_by_now(&self, call: &Call, tool: &ToolSpec, missing: &[String]) -> bool {
        let missing: Vec<Category> = missing.iter().map(Category::new).collect();
        let rights = self.rights(&call.call);
        // An approval of a category doesn't answer a question that has another reason.
        !missing.is_empty()
            && authorization::check(&missing, &rights.authorized, &rights.approved).allowed
            && call.tightened(self.decision(call, tool)).answer == crate::words::GateAnswer::Allow
    }

    /// Returns the number of times in a row that the same call failed.
    fn failures(&self, call: &Call) -> u32 {
        self.state.calls.failures(&call.call)
    }

    fn is_worn_out(&self, call: &Call) -> bool {
        self.failures(call) >= RETRIES_MAX
    }

    /// Returns the effects of a call beyond those that its tool declares.
    pub(super) fn effects(&self, call: &ToolCall) -> Vec<gate::Effect> {
        gate::effects_of_call(call, &self.setup.places, &self.setup.programs)
    }

    /// Records the gate's decision on one call; before it the uses of the grants that it rests on, each as an event.
    fn check(&self, call: &Call, tool: &ToolSpec) -> Next {
        let effects = self.effects(&call.call);
        let mut decision = self.judged(call, tool, &effects, self.now());
        // What is refused is refused: no hook could say more.
        if decision.answer != crate::words::GateAnswer::Refuse {
            if let Some(asking) = self.ask_hooks(call, tool, &effects, &decision) {
                return asking;
            }
            decision = call.tightened(decision);
        }
        if let Some(grant_id) = decision.grants.iter().find(|id| !call.paid.contains(id)) {
            return self.record(Body::Gate(GateEvent::PermissionGrantConsumed {
                grant_id: grant_id.clone(),
                consuming_tool_call_id: call.call.call_id.clone(),
                call: call.number,
            }));
        }
        let allowed = decision.answer == crate::words::GateAnswer::Allow;
        self.record(Body::Gate(GateEvent::AuthCheckFired {
            layer: decision.layer,
            tool: tool.name.clone(),
            decision: if allowed { "allow" } else { "deny" }.to_owned(),
            reason: decision.reason,
            answer: Some(decision.answer),
            call: Some(call.number),
            missing: decision.missing.iter().map(ToString::to_string).collect(),
            would_allow: decision.would_allow,
            untrusted: self.setup.untrusted.is_brought_by(&tool.name, &tool.categories, &effects),
            after_untrusted: self.read_from_outside().to_vec(),
        }))
    }

    /// Returns the gate's decision on a call, by the rights that hold now.
    pub(super) fn decision(&self, call: &Call, tool: &ToolSpec) -> gate::Decision {
        self.decision_at(call, tool, self.now())
    }

    /// Returns the moment of the last event.
    fn now(&self) -> Timestamp {
        self.state.now.unwrap_or(Timestamp::MAX)
    }

    /// Returns the gate's decision on a call by the facts known, at a given moment.
    pub(super) fn decision_at(&self, call: &Call, tool: &ToolSpec, now: Timestamp) -> gate::Decision {
        self.judged(call, tool, &self.effects(&call.call), now)
    }

    /// Returns the gate's decision on a call whose effects were read already.
    fn judged(&self, call: &Call, tool: &ToolSpec, effects: &[gate::Effect], now: Timestamp) -> gate::Decision {
        let subject = Subject { tool: &tool.name, args: &call.call.args, effects };
        let rights = self.rights(&call.call);
        let decision = gate::judge(&gate::GateRequest {
            tool: &tool.name,
            categories: &tool.categories,
            effects,
            role: rights.role,
            authorized: &rights.authorized,
            approved_for_run: &rights.approved,
            grants: &self.run.grants().for_call(&self.part, &call.paid, &subject, now),
            call_is_approved: false,
            shell_is_disabled: self.setup.shell_disabled,
            missing_walls: if self.mode() == Mode::Auto { self.run.missing_walls() } else { &[] },
            places: &self.setup.places,
            scope: &self.setup.scope,
            scope_locked: self.setup.scope_locked,
        });
        let named = rights.authorized.iter().chain(rights.approved.iter());
        match self.setup.untrusted.finding(self.read_from_outside(), &tool.categories, effects, named) {
            Some(finding) => decision.tightened_by(finding),
            None => decision,
        }
    }

    /// Returns the rights by which a call is judged: for a call that runs a check, the brief's authorization for it.
    fn rights(&self, call: &ToolCall) -> Rights<'_> {
        let judge = self.setup.checks.as_ref();
        match judge.filter(|judge| judge.checks.place_of(&call.name, &call.args).is_some()) {
            Some(judge) => Rights {
                role: Some(&judge.role),
                authorized: Cow::Owned(judge.role.narrow(&self.setup.authorized)),
                approved: Cow::Owned(judge.role.narrow(self.run.approved())),
            },
            None => Rights { role: self.setup.role.as_ref(), authorized: self.authorized(), approved: self.approved() },
        }
    }

    /// Returns the text from outside that the agent read: the latest calls that brought it.
    fn read_from_outside(&self) -> &[String] {
        let all = &self.state.calls.untrusted;
        &all[all.len().saturating_sub(gate::SOURCES_MAX)..]
    }

    /// Returns true if a command that was allowed may use the network: because the brief or an approval for the run
    /// says so, or because this very call was allowed for a category that implies network access.
    fn may_use_network(&self, call: &ToolCall) -> bool {
        let Some(tool) = self.tool(&call.name) else { return false };
        let effects = self.effects(call);
        // A wait is no command by its tool, but by its arguments.
        let runs_command = tool.categories.iter().chain(effects.iter().map(|effect| &effect.category));
        let runs_command = runs_command.into_iter().any(|category| category.as_str() == SHELL_EXEC);
        let is_read = effects.iter().any(|effect| NETWORKED.contains(&effect.category.as_str()));
        let http_fetch = [Category::new(HTTP_FETCH)];
        let rights = self.rights(call);
        let by_rule = authorization::check(&http_fetch, &rights.authorized, &rights.approved).allowed;
        runs_command && (is_read || by_rule)
    }

    /// Returns the grants that hold for calls such as this one.
    pub(super) fn grants_of(&self, call: &Call) -> Vec<gate::Grant> {
        let args = &call.call.args;
        let effects = self.effects(&call.call);
        let subject = Subject { tool: &call.call.name, args, effects: &effects };
        self.run.grants().for_call(&self.part, &call.paid, &subject, self.now()).into_iter().cloned().collect()
    }

    /// Asks the next guard hook that has not answered about a call; `None` if there is none.
    fn ask_hooks(
        &self,
        call: &Call,
        tool: &ToolSpec,
        effects: &[gate::Effect],
        decision: &gate::Decision,
    ) -> Option<Next> {
        for (place, hook) in (0..).zip(&self.setup.hooks).filter(|(_, hook)| hook.is_for(&tool.name)) {
            let slot = match call.hooks.iter().find(|asked| asked.place == place) {
                Some(asked) if asked.answer.is_some() => continue,
                Some(asked) => asked.slot,
                None => Slot::first(What::Hook, self.state.calls.hooks + 1),
            };
            let input = gate::guard_hook::input(&gate::guard_hook::HookSubject {
                tool: &tool.name,
                call: call.number,
                args: &call.call.args,
                effects,
                decision,
                workdir: &self.setup.places.workdir,
                after_untrusted: &self.state.calls.untrusted,
            });
            let asked = gate::HookCall { hook: hook.clone(), place, call: call.number, input };
            return Some(self.want(slot, Command::Hook(Arc::new(asked))));
        }
        None
    }

    pub(super) fn reject(&self, call: &Call, rejection: Rejection, content: String) -> Next {
        self.record(Body::Call(CallEvent::ToolRejected {
            call: call.number,
            call_id: call.call.call_id.clone(),
            name: call.call.name.clone(),
            rejection,
            content,
        }))
    }

    /// Tells the agent the operator's word on what it announced, if no call carries it.
    pub(super) fn after_the_word(&self, taken: &ReadTurn) -> Option<Next> {
        match taken.act? {
            OperatorWord::Once | OperatorWord::ForRun if taken.calls.is_empty() => {
                Some(self.say(MessageKind::Approval, self.state.steps.number, prompts::approved()))
            }
            OperatorWord::No if taken.calls.is_empty() => Some(self.say(
                MessageKind::Denial,
                self.state.steps.number,
                prompts::denied(self.state.given.note.as_deref()),
            )),
            OperatorWord::Once | OperatorWord::ForRun | OperatorWord::No => None,
        }
    }

    /// Tells the agent, after the calls that were approved, that what it announced beside them was denied.
    pub(super) fn denied_beside_calls(&self, taken: &ReadTurn) -> Option<Next> {
        let is_approved = |call: &Call| call.verdict == Some(CallVerdict::Approved);
        let is_due = taken.act == Some(OperatorWord::No) && taken.calls.iter().any(is_approved);
        is_due.then(|| {
            let note = self.state.given.note.as_deref();
            self.say(MessageKind::Denial, self.state.steps.number, prompts::denied(note))
        })
    }

    /// Returns the calls that should be in flight now: all reads of a run of reads, else one.
    pub(super) fn run_calls(&self, taken: &ReadTurn) -> Option<Next> {
        let first = taken.calls.iter().position(|call| call.progress != CallProgress::Finished)?;
        let is_new = matches!(taken.calls[first].progress, CallProgress::Waiting { .. });
        let (mut left, whose) = self.calls_left();
        if is_new && left == 0 {
            return Some(self.over(Metric::ToolCalls, whose));
        }
        // A call that began now would be cancelled at once, at a point that nobody could know.
        if let (true, Some((0, whose))) = (is_new, self.left(Metric::WallClock)) {
            return Some(self.over(Metric::WallClock, whose));
        }
        let reads = |call: &&Call| self.tool(&call.call.name).is_some_and(|tool| tool.effect == ToolEffect::Reads);
        let rest = &taken.calls[first..];
        let reads = rest.iter().take_while(reads).count().max(1);
        // Calls in flight are counted already; only one that begins needs room.
        let fits = |call: &&Call| {
            let is_new = matches!(call.progress, CallProgress::Waiting { .. });
            let fits = !is_new || left > 0;
            left = left.saturating_sub(u64::from(is_new));
            fits
        };
        let batch = rest[..reads].iter().take_while(fits).count();
        let wants = rest[..batch].iter().enumerate().filter_map(|(place, call)| {
            // Calls that are all the same wait for one another, so that the retry cap holds for them too.
            let same = rest[..place].iter().filter(|other| same_call(&other.call) == same_call(&call.call)).count();
            if self.failures(call) + u32::try_from(same).unwrap_or(u32::MAX) >= RETRIES_MAX && same > 0 {
                return None;
            }
            let attempt = match call.progress {
                CallProgress::InFlight { .. } if self.is_woken(call) => return None,
                CallProgress::Waiting { attempts } => attempts + 1,
                CallProgress::InFlight { attempt, cancelled: false } => attempt,
                // Cancelled: not wanted any more, its end is awaited.
                CallProgress::InFlight { cancelled: true, .. }
                | CallProgress::EffectUnknown
                | CallProgress::Finished => {
                    return None;
                }
            };
            Some(self.wanted(call, attempt))
        });
        Some(Next::Want(wants.collect()))
    }

    /// Returns a call as it is wanted.
    fn wanted(&self, call: &Call, attempt: u32) -> Want {
        let slot = Slot { what: What::Call, number: call.number, attempt };
        let (network, limit_ms) = (self.may_use_network(&call.call), self.time_left_ms());
        let command = Command::Call { call: call.call.clone(), workspace: self.workspace(), network, limit_ms };
        Want { key: Key { part: self.part.clone(), slot }, command }
    }

    /// Returns the calls in flight that nobody cancelled, and no others.
    fn await_calls(&self, taken: &ReadTurn) -> Next {
        let wants = taken.calls.iter().filter_map(|call| match call.progress {
            CallProgress::InFlight { attempt, cancelled: false } if !self.is_woken(call) => {
                Some(self.wanted(call, attempt))
            }
            _ => None,
        });
        Next::Want(wants.collect())
    }

    /// Returns true if a call waits, and the operator has said something: a word ends every wait.
    fn is_woken(&self, call: &Call) -> bool {
        call.call.name == WAIT_FOR && self.run.to_tell(&self.part).is_some()
    }

    /// Decides what follows a step: a limit, a deadline, the operator, or simply the next one.
    pub(super) fn step_over(&self) -> Next {
        if let Some(due) = self.look_after() {
            return due;
        }
        let state = &self.state;
        if let (Some((deadline, ends)), Some(now)) = (&self.setup.deadline, state.now)
            && now >= *ends
            && !self.run.is_deadline_waived()
        {
            return match (self.run.asks_about_deadline(), state.answer(QuestionKind::Deadline)) {
                (None, _) => self.record(Body::Part(PartEvent::DeadlinePassed { deadline: deadline.clone() })),
                (Some(other), _) if *other != self.part => Next::Wait(On::Part(other.clone())),
                (Some(_), Some(_)) => self.leave(PhaseName::Completion, OPERATOR_ENDED),
                (Some(_), None) => self.ask(prompts::deadline_passed(deadline)),
            };
        }
        if state.steps.number >= self.step_limit() {
            if !state.steps.are_out {
                let limit = u64::from(self.step_limit());
                return self.record(Body::Budget(BudgetEvent::BudgetHalt {
                    metric: LimitMetric::Steps,
                    used: u64::from(state.steps.number),
                    limit,
                    role: None,
                    phase: None,
                    learned: None,
                }));
            }
            return self.leave(PhaseName::Blocker, "max_steps");
        }
        let next = state.steps.number + 1;
        let stop = match () {
            () if state.given.is_held => Some(prompts::HaltReason::Cancelled),
            () if state.speech.silences > SILENCES_MAX => Some(prompts::HaltReason::Silent),
            () if state.speech.same_turns > SAME_TURNS_MAX => {
                Some(prompts::HaltReason::Same { times: state.speech.same_turns })
            }
            () => None,
        };
        if self.mode() == Mode::Auto && stop.is_none() {
            return self.say(MessageKind::Continue, next, self.go_on(Mode::Auto));
        }
        match state.answer(QuestionKind::Step) {
            None => self.ask(prompts::step(state.steps.number, self.step_limit(), stop)),
            Some((Choice::Done, _)) => self.leave(PhaseName::Completion, OPERATOR_ENDED),
            Some((Choice::Say, text)) => {
                let text = prompts::redirect(text.unwrap_or_default(), self.setup.scope_locked);
                self.say(MessageKind::Redirect, next, text)
            }
            Some((Choice::ContinueAuto, _)) if self.mode() == Mode::Gated => {
                self.record(Body::Part(PartEvent::ModeSet { mode: Mode::Auto }))
            }
            Some(_) => self.say(MessageKind::Continue, next, self.go_on(self.mode())),
        }
    }

    /// Returns the words with which the agent is told to go on.
    fn go_on(&self, mode: Mode) -> String {
        match &self.setup.task {
            Task::Piece(_) => prompts::go_on_with_piece(self.was_cut()),
            Task::Brief | Task::Intake => prompts::go_on(mode, self.was_cut()),
        }
    }

    /// Returns true if the last reply ended at its length limit.
    fn was_cut(&self) -> bool {
        self.state.taken().is_some_and(|taken| taken.is_cut)
    }

    pub(super) fn tool(&self, name: &str) -> Option<&ToolSpec> {
        self.setup.tools.iter().find(|tool| tool.name == name)
    }
}
