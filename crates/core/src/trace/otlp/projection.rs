//! Events become spans: the run and its parts are invocations of agents, turns are chats, calls executions of tools;
//! what happened at a moment is an event of the part that it happened in.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde::Serialize;
use serde_json::json;

use super::{Attribute, SPAN_EVENTS_MAX, Span, SpanEvent, SpanKind, Traces, Value, names};
use crate::trace::redact::word;
use crate::trace::{
    AgentOptions, AskEvent, Body, BudgetEvent, CallEvent, CrewEvent, Event, GateEvent, HostEvent, PartEvent, RunEvent,
    RunOptions, TurnEvent,
};
use crate::words::{GateAnswer, Key, LimitMetric, MessageRole, Outcome, Part, Usage};

/// The choice to include or leave out the contents of what was said, written and read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    /// It is not.
    LeftOut,
    /// It is: prompts, replies, arguments, results, and the texts of warnings.
    Included,
}

/// Makes spans of the events of one journal, taken in their order.
#[derive(Debug)]
pub struct Projection {
    content: Content,
    run: String,
    trace_id: [u8; 16],
    spans: Vec<Span>,
    /// The span of each part that has one.
    parts: BTreeMap<String, usize>,
    /// The span of each thing that was asked for.
    asked: BTreeMap<Key, usize>,
    /// Those that have not ended, by their place.
    open: BTreeSet<usize>,
    agents: Vec<AgentOptions>,
    /// The messages to the agent of a part since its last turn.
    said: BTreeMap<String, Vec<(MessageRole, String)>>,
    last: u64,
    version: Option<String>,
}

impl Projection {
    /// For the run of this name.
    #[must_use]
    pub fn new(run: &str, content: Content) -> Self {
        Self {
            content,
            run: run.to_owned(),
            trace_id: [0; 16],
            spans: Vec::new(),
            parts: BTreeMap::new(),
            asked: BTreeMap::new(),
            open: BTreeSet::new(),
            agents: Vec::new(),
            said: BTreeMap::new(),
            last: 0,
            version: None,
        }
    }

    /// Takes the next event.
    pub fn event(&mut self, event: &Event) {
        let at = nanoseconds(event.at);
        if self.spans.is_empty() {
            self.begin(event.at, at);
        }
        self.last = self.last.max(at);
        let part = self.part(&event.part, at);
        match &event.body {
            Body::Run(RunEvent::TraceVersion { adjutant_version, .. }) => self.version = Some(adjutant_version.clone()),
            Body::Run(RunEvent::RunStart(start)) => {
                self.agents = start.options.agents();
                let name = word(start.brief_id.as_str()).into_owned();
                let root = &mut self.spans[0];
                root.name = format!("{} {name}", names::INVOKE_AGENT);
                root.attributes.push(text(names::AGENT_NAME, name));
                root.attributes.push(text("adjutant.project", word(&start.project)));
                self.described(0, &start.options);
                if self.content == Content::Included {
                    self.spans[0].attributes.push(text("adjutant.brief", start.brief.as_str()));
                }
            }
            Body::Run(RunEvent::RunResume { options, .. }) => {
                if let Some(options) = options {
                    self.agents = options.agents();
                }
                self.happened(part, at, "adjutant.run_resume", Vec::new());
            }
            Body::Run(RunEvent::RunEnd { outcome }) => self.over(0, at, *outcome),
            Body::Part(PartEvent::PartEnd { outcome }) => self.over(part, at, *outcome),
            Body::Turn(TurnEvent::AgentRequest { slot, agent, output_max, .. }) => {
                let mut attributes =
                    vec![text(names::OPERATION, names::CHAT), text(names::CONVERSATION_ID, &*self.run)];
                let mut name = "unknown".to_owned();
                if let Some(agent) = self.agents.get(*agent as usize) {
                    let model = agent.model.as_deref().unwrap_or(&agent.adapter);
                    name = word(model).into_owned();
                    attributes.push(text(names::PROVIDER, names::provider(&word(&agent.adapter))));
                    attributes.push(text(names::REQUEST_MODEL, &*name));
                }
                if *output_max > 0 {
                    attributes.push(number(names::REQUEST_MAX_TOKENS, u64::from(*output_max)));
                }
                if self.content == Content::Included {
                    attributes.extend(messages(self.said.remove(event.part.as_str()).unwrap_or_default()));
                }
                attributes.push(text("adjutant.slot", slot.to_string()));
                let key = Key { part: event.part.clone(), slot: *slot };
                self.asked(key, part, at, format!("{} {name}", names::CHAT), SpanKind::Client, attributes);
            }
            Body::Turn(TurnEvent::AgentReply { text: reply, calls, usage, stop, .. }) => {
                let mut more = usage.map(|usage| tokens(&usage)).unwrap_or_default();
                let stop = wire_word(stop);
                if self.content == Content::Included {
                    let mut parts = vec![json!({ "type": "text", "content": reply })];
                    parts.extend(calls.iter().map(|call| {
                        json!({ "type": "tool_call", "id": call.call_id, "name": call.name, "arguments": call.args })
                    }));
                    let said = json!([{ "role": "assistant", "parts": parts, "finish_reason": stop }]);
                    more.push(text(names::OUTPUT_MESSAGES, said.to_string()));
                }
                more.push(Attribute { key: names::FINISH_REASONS, value: Value::Texts(vec![stop]) });
                self.ended(event, at, more, None);
            }
            Body::Turn(TurnEvent::AgentFailed { kind, .. }) => self.ended(event, at, Vec::new(), Some(wire_word(kind))),
            Body::Call(CallEvent::ToolCall { slot, call_id, name, args, network, .. }) => {
                let tool = word(name).into_owned();
                let mut attributes = vec![
                    text(names::OPERATION, names::EXECUTE_TOOL),
                    text(names::CONVERSATION_ID, &*self.run),
                    text(names::TOOL_NAME, &*tool),
                    text(names::TOOL_TYPE, "function"),
                    text(names::TOOL_CALL_ID, word(call_id)),
                ];
                if self.content == Content::Included {
                    attributes.push(text(names::TOOL_ARGUMENTS, args.to_string()));
                }
                if *network {
                    attributes.push(Attribute { key: "adjutant.network", value: Value::Flag(true) });
                }
                attributes.push(text("adjutant.slot", slot.to_string()));
                let key = Key { part: event.part.clone(), slot: *slot };
                self.asked(key, part, at, format!("{} {tool}", names::EXECUTE_TOOL), SpanKind::Internal, attributes);
            }
            Body::Call(CallEvent::ToolResult { success, bytes, content, artifact, code, exit_code, .. }) => {
                let mut more = vec![number("adjutant.result_bytes", *bytes)];
                more.extend(
                    exit_code
                        .map(|code| Attribute { key: "adjutant.exit_code", value: Value::Number(i64::from(code)) }),
                );
                more.extend(artifact.as_deref().map(|hash| text("adjutant.artifact", word(hash))));
                if let (Content::Included, Some(content)) = (self.content, content) {
                    more.push(text(names::TOOL_RESULT, content.as_str()));
                }
                let error =
                    (!success).then(|| code.as_deref().map_or("failed".to_owned(), |code| word(code).into_owned()));
                self.ended(event, at, more, error);
            }
            Body::Call(CallEvent::ToolCancelled { cancellation_source, .. }) => {
                self.ended(event, at, Vec::new(), Some(cancellation_source.as_str().to_owned()));
            }
            Body::Call(CallEvent::Interrupted { effect, .. }) => {
                let more = vec![text("adjutant.effect", wire_word(effect))];
                self.ended(event, at, more, Some("interrupted".to_owned()));
            }
            Body::Turn(TurnEvent::Message { role, text, .. }) => {
                if self.content == Content::Included {
                    let said = self.said.entry(event.part.to_string()).or_default();
                    said.push((*role, text.clone()));
                }
            }
            other => {
                if let Some((name, attributes)) = moment(other, self.content) {
                    self.happened(part, at, name, attributes);
                }
            }
        }
    }

    /// The spans of the run as far as its events went. What had not ended goes to the last of them, and says so.
    #[must_use]
    pub fn finish(mut self) -> Traces {
        for index in std::mem::take(&mut self.open) {
            self.spans[index].end = self.last;
            self.spans[index].attributes.push(Attribute { key: "adjutant.unfinished", value: Value::Flag(true) });
        }
        self.nest();
        let mut resource = vec![text(names::SERVICE_NAME, "adjutant")];
        resource.extend(self.version.as_deref().map(|version| text(names::SERVICE_VERSION, word(version))));
        Traces { trace_id: self.trace_id, resource, scope_version: env!("CARGO_PKG_VERSION"), spans: self.spans }
    }

    /// The run itself: its id says which run of that name it is by when it began.
    fn begin(&mut self, began: Timestamp, at: u64) {
        let hash = blake3::hash(format!("adjutant run\n{}\n{}", self.run, began.as_millisecond()).as_bytes());
        self.trace_id.copy_from_slice(&hash.as_bytes()[..16]);
        let attributes = vec![text(names::OPERATION, names::INVOKE_AGENT), text(names::CONVERSATION_ID, &*self.run)];
        let name = format!("{} {}", names::INVOKE_AGENT, self.run);
        let root = self.span("", None, at, name, SpanKind::Internal, attributes);
        self.parts.insert(String::new(), root);
    }

    /// The span of a part, which begins now if it has not.
    fn part(&mut self, part: &Part, at: u64) -> usize {
        if let Some(known) = self.parts.get(part.as_str()) {
            return *known;
        }
        let path = part.as_str();
        let parent = path.rsplit_once('/').map_or("", |(above, _)| above);
        let parent = self.part(&Part::from_checked(parent), at);
        let name = path.rsplit('/').next().unwrap_or(path);
        let attributes = vec![
            text(names::OPERATION, names::INVOKE_AGENT),
            text(names::CONVERSATION_ID, &*self.run),
            text(names::AGENT_NAME, name),
            text("adjutant.part", path),
        ];
        let name = format!("{} {name}", names::INVOKE_AGENT);
        let index = self.span(path, Some(parent), at, name, SpanKind::Internal, attributes);
        self.parts.insert(path.to_owned(), index);
        index
    }

    fn asked(&mut self, key: Key, part: usize, at: u64, name: String, kind: SpanKind, attributes: Vec<Attribute>) {
        // A line that is there twice is damage: ids stay unique.
        if !self.asked.contains_key(&key) {
            let of = format!("{}\n{}", key.part, key.slot);
            let index = self.span(&of, Some(part), at, name, kind, attributes);
            self.asked.insert(key, index);
        }
    }

    fn span(
        &mut self,
        of: &str,
        parent: Option<usize>,
        at: u64,
        name: String,
        kind: SpanKind,
        attributes: Vec<Attribute>,
    ) -> usize {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&self.trace_id).update(of.as_bytes());
        let mut id = [0; 8];
        id.copy_from_slice(&hasher.finalize().as_bytes()[..8]);
        if id == [0; 8] {
            id[7] = 1;
        }
        let parent = parent.map(|parent| self.spans[parent].id);
        let (events, dropped_events, error) = (Vec::new(), 0, None);
        self.spans.push(Span { id, parent, name, kind, start: at, end: at, attributes, events, dropped_events, error });
        let index = self.spans.len() - 1;
        self.open.insert(index);
        index
    }

    fn ended(&mut self, event: &Event, at: u64, more: Vec<Attribute>, error: Option<String>) {
        let Some(slot) = event.body.outcome() else { return };
        let key = Key { part: event.part.clone(), slot: *slot };
        if let Some(index) = self.asked.get(&key).copied().filter(|index| self.open.contains(index)) {
            self.open.remove(&index);
            let span = &mut self.spans[index];
            span.end = at;
            span.attributes.extend(more);
            span.attributes.extend(error.as_deref().map(|error| text(names::ERROR_TYPE, error)));
            span.error = error;
        }
    }

    fn over(&mut self, index: usize, at: u64, outcome: Outcome) {
        if self.open.remove(&index) {
            let span = &mut self.spans[index];
            span.end = at;
            span.attributes.push(text("adjutant.outcome", wire_word(&outcome)));
            if outcome == Outcome::Failed {
                span.attributes.push(text(names::ERROR_TYPE, "failed"));
                span.error = Some("failed".to_owned());
            }
        }
    }

    fn happened(&mut self, index: usize, at: u64, name: &'static str, attributes: Vec<Attribute>) {
        let span = &mut self.spans[index];
        if span.events.len() < SPAN_EVENTS_MAX {
            span.events.push(SpanEvent { at, name, attributes });
        } else {
            span.dropped_events = span.dropped_events.saturating_add(1);
        }
    }

    fn described(&mut self, index: usize, options: &RunOptions) {
        let of_agent = [
            text(names::PROVIDER, names::provider(&word(&options.agent.adapter))),
            text(names::REQUEST_MODEL, word(options.agent.model.as_deref().unwrap_or(&options.agent.adapter))),
        ];
        let span = &mut self.spans[index];
        span.attributes.extend(of_agent);
        span.attributes.push(number("adjutant.max_steps", u64::from(options.max_steps)));
    }

    /// Clocks are set, and a run goes on elsewhere: whatever times say, a span lies in its parent, and what happened
    /// in it in the span.
    fn nest(&mut self) {
        let places: BTreeMap<[u8; 8], usize> =
            self.spans.iter().enumerate().map(|(index, span)| (span.id, index)).collect();
        let parent = |span: &Span| span.parent.and_then(|parent| places.get(&parent).copied());
        for index in 0..self.spans.len() {
            // Parents come before their children.
            let begun = parent(&self.spans[index]).map_or(0, |parent| self.spans[parent].start);
            let span = &mut self.spans[index];
            span.start = span.start.max(begun);
            span.end = span.end.max(span.start);
            let latest = span.events.iter().map(|event| event.at).max().unwrap_or(0);
            if !span.events.is_empty() {
                span.end = span.end.max(latest);
            }
            for event in &mut span.events {
                event.at = event.at.max(span.start);
            }
        }
        for index in (0..self.spans.len()).rev() {
            let end = self.spans[index].end;
            if let Some(parent) = parent(&self.spans[index]) {
                self.spans[parent].end = self.spans[parent].end.max(end);
            }
        }
    }
}

/// Returns the messages to an agent as attributes.
fn messages(said: Vec<(MessageRole, String)>) -> Vec<Attribute> {
    let (system, user): (Vec<_>, Vec<_>) = said.into_iter().partition(|(role, _)| *role == MessageRole::System);
    let part = |text: String| json!({ "type": "text", "content": text });
    let mut attributes = Vec::new();
    if !system.is_empty() {
        let parts: Vec<_> = system.into_iter().map(|(_, text)| part(text)).collect();
        attributes.push(text(names::SYSTEM_INSTRUCTIONS, json!(parts).to_string()));
    }
    if !user.is_empty() {
        let messages = user.into_iter().map(|(_, text)| json!({ "role": "user", "parts": [part(text)] }));
        attributes.push(text(names::INPUT_MESSAGES, json!(messages.collect::<Vec<_>>()).to_string()));
    }
    attributes
}

/// Returns the name and the attributes of an event that marks a moment. `None` for an event that a span shows, or that
/// only has content.
fn moment(body: &Body, content: Content) -> Option<(&'static str, Vec<Attribute>)> {
    let with = |mut attributes: Vec<Attribute>, key: &'static str, said: &str| {
        if content == Content::Included {
            attributes.push(text(key, said));
        }
        attributes
    };
    Some(match body {
        Body::Part(PartEvent::PartStart { kind, .. }) => {
            ("adjutant.part_start", vec![text("adjutant.kind", kind.as_str())])
        }
        Body::Part(PartEvent::PhaseEnter { phase, .. }) => {
            ("adjutant.phase_enter", vec![text("adjutant.phase", phase.as_str())])
        }
        Body::Part(PartEvent::PhaseExit { phase, duration_ms, to, .. }) => {
            let mut attributes =
                vec![text("adjutant.phase", phase.as_str()), number("adjutant.duration_ms", *duration_ms)];
            attributes.extend(to.map(|to| text("adjutant.phase.to", to.as_str())));
            ("adjutant.phase_exit", attributes)
        }
        Body::Part(PartEvent::ModeSet { mode }) => ("adjutant.mode_set", vec![text("adjutant.mode", wire_word(mode))]),
        Body::Gate(GateEvent::AuthCheckFired { layer, tool, decision, reason, answer, call, missing, .. }) => {
            let mut attributes = vec![
                text("adjutant.gate.layer", layer.as_str()),
                text("adjutant.gate.answer", GateAnswer::on_record(*answer, decision).as_str()),
                text(names::TOOL_NAME, word(tool)),
            ];
            attributes.extend(call.map(|call| number("adjutant.call", u64::from(call))));
            if !missing.is_empty() {
                let missing = missing.iter().map(|category| word(category).into_owned()).collect();
                attributes.push(Attribute { key: "adjutant.gate.missing", value: Value::Texts(missing) });
            }
            ("adjutant.gate_decision", with(attributes, "adjutant.gate.reason", reason))
        }
        Body::Turn(TurnEvent::DetectorFired { detector, payload, turn }) => {
            let mut attributes = vec![text("adjutant.detector", word(detector))];
            attributes.extend(turn.map(|turn| number("adjutant.turn", u64::from(turn))));
            ("adjutant.detector_fired", with(attributes, "adjutant.detector.payload", &payload.to_string()))
        }
        Body::Part(PartEvent::PhaseDrift { turn, declared, phase }) => (
            "adjutant.phase_drift",
            vec![
                number("adjutant.turn", u64::from(*turn)),
                text("adjutant.phase.declared", declared.as_str()),
                text("adjutant.phase", phase.as_str()),
            ],
        ),
        Body::Ask(AskEvent::Question { slot, question }) => {
            let attributes =
                vec![text("adjutant.slot", slot.to_string()), text("adjutant.question", wire_word(&question.kind))];
            ("adjutant.question", with(attributes, "adjutant.question.text", &question.text))
        }
        Body::Ask(AskEvent::Answer { slot, choice, whence, text: said, .. }) => {
            let attributes = vec![
                text("adjutant.slot", slot.to_string()),
                text("adjutant.choice", choice.as_str()),
                text("adjutant.whence", word(whence)),
            ];
            ("adjutant.answer", with(attributes, "adjutant.answer.text", said.as_deref().unwrap_or_default()))
        }
        Body::Ask(AskEvent::Expired { slot }) => ("adjutant.expired", vec![text("adjutant.slot", slot.to_string())]),
        Body::Ask(AskEvent::Withdrawn { slot }) => {
            ("adjutant.withdrawn", vec![text("adjutant.slot", slot.to_string())])
        }
        Body::Call(CallEvent::ToolRejected { call, name, rejection, .. }) => (
            "adjutant.tool_rejected",
            vec![
                text(names::TOOL_NAME, word(name)),
                number("adjutant.call", u64::from(*call)),
                text("adjutant.rejection", wire_word(rejection)),
            ],
        ),
        Body::Gate(GateEvent::HookResult { decision, duration_ms, .. }) => (
            "adjutant.hook_result",
            vec![text("adjutant.gate.answer", wire_word(decision)), number("adjutant.duration_ms", *duration_ms)],
        ),
        Body::Turn(TurnEvent::AgentChanged { agent, name, .. }) => (
            "adjutant.agent_changed",
            vec![number("adjutant.agent", u64::from(*agent)), text("adjutant.agent.name", word(name))],
        ),
        Body::Turn(TurnEvent::ContextFolded { before, after, .. } | TurnEvent::ContextCut { before, after, .. }) => (
            "adjutant.context_shortened",
            vec![number("adjutant.tokens.before", *before), number("adjutant.tokens.after", *after)],
        ),
        Body::Budget(BudgetEvent::BudgetWarn { metric, used, limit, .. }) => {
            ("adjutant.budget_warn", budget(*metric, *used, *limit))
        }
        Body::Budget(BudgetEvent::BudgetHalt { metric, used, limit, .. }) => {
            ("adjutant.budget_halt", budget(*metric, *used, *limit))
        }
        Body::Gate(GateEvent::PermissionRequested { grant_id, .. }) => {
            ("adjutant.permission_requested", granted(grant_id))
        }
        Body::Gate(GateEvent::PermissionGranted { grant_id, .. }) => ("adjutant.permission_granted", granted(grant_id)),
        Body::Gate(GateEvent::PermissionDenied { grant_id, .. }) => ("adjutant.permission_denied", granted(grant_id)),
        Body::Gate(GateEvent::PermissionGrantConsumed { grant_id, .. }) => {
            ("adjutant.permission_grant_consumed", granted(grant_id))
        }
        Body::Gate(GateEvent::PermissionRevoked { grant_id, .. }) => ("adjutant.permission_revoked", granted(grant_id)),
        Body::Crew(CrewEvent::CoordinatorState { state, signal, subtask, .. }) => {
            let mut attributes =
                vec![text("adjutant.crew.state", wire_word(state)), text("adjutant.crew.signal", wire_word(signal))];
            attributes.extend(subtask.as_deref().map(|subtask| text("adjutant.crew.subtask", word(subtask))));
            ("adjutant.coordinator_state", attributes)
        }
        Body::Part(PartEvent::DeadlinePassed { .. }) => ("adjutant.deadline_passed", Vec::new()),
        Body::Host(HostEvent::FolderChanged { .. }) => ("adjutant.folder_changed", Vec::new()),
        Body::Host(HostEvent::Warning { text: said }) => ("adjutant.warning", with(Vec::new(), "adjutant.text", said)),
        Body::Host(HostEvent::Error { error, phase }) => {
            let attributes = vec![text("adjutant.phase", phase.as_str())];
            ("adjutant.error", with(attributes, "adjutant.text", error))
        }
        Body::Ask(AskEvent::OperatorMessage { .. }) => ("adjutant.operator_message", Vec::new()),
        Body::Call(CallEvent::RescueMade { kind, files, bytes, .. }) => (
            "adjutant.rescue_made",
            vec![
                text("adjutant.rescue", wire_word(kind)),
                number("adjutant.files", *files),
                number("adjutant.bytes", *bytes),
            ],
        ),
        // Spans, or what only says how the machine is set up or how another line came about.
        _ => return None,
    })
}

fn budget(metric: LimitMetric, used: u64, limit: u64) -> Vec<Attribute> {
    vec![
        text("adjutant.budget.metric", metric.as_str()),
        number("adjutant.budget.used", used),
        number("adjutant.budget.limit", limit),
    ]
}

fn granted(grant_id: &str) -> Vec<Attribute> {
    vec![text("adjutant.grant", word(grant_id))]
}

/// Tokens by the convention's names, where those of a cache are part of the input.
fn tokens(usage: &Usage) -> Vec<Attribute> {
    let cached = usage.cache_read_tokens.unwrap_or(0).saturating_add(usage.cache_write_tokens.unwrap_or(0));
    let input = usage.input_tokens.map(|input| input.saturating_add(cached));
    let named = [
        (names::INPUT_TOKENS, input),
        (names::CACHE_READ_TOKENS, usage.cache_read_tokens),
        (names::CACHE_WRITE_TOKENS, usage.cache_write_tokens),
        (names::OUTPUT_TOKENS, usage.output_tokens),
    ];
    named.into_iter().filter_map(|(key, count)| Some(number(key, count?))).collect()
}

fn text(key: &'static str, value: impl Into<String>) -> Attribute {
    Attribute { key, value: Value::Text(value.into()) }
}

fn number(key: &'static str, value: u64) -> Attribute {
    Attribute { key, value: Value::Number(i64::try_from(value).unwrap_or(i64::MAX)) }
}

/// A word of ours as it is on the wire.
fn wire_word(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => word,
        _ => "unknown".to_owned(),
    }
}

/// Nanoseconds since 1970; 0 for what is before.
fn nanoseconds(at: Timestamp) -> u64 {
    u64::try_from(at.as_nanosecond()).unwrap_or(0)
}
