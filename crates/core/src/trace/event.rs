//! The vocabulary: everything that can happen in a run, as one enum.
//!
//! These types are the wire format on purpose, names and field order included: what a journal says
//! must not change when a decision's inner types do. Those inner types live elsewhere and are converted.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::crew::states::{CrewState, Signal};
use crate::gate::custody::Look;
use crate::gate::{Answer, Grant, HookFault, Lasts};
use crate::inbox::{Choice, Question};
use crate::learn::profile::Applied;
use crate::memory::{Contradiction, Record};
use crate::moment;
use crate::procedure::{Part, Slot};
use crate::provider_data::ProviderData;
use crate::session::Mode;
pub use crate::tool::ToolCall as Call;
use crate::tool::{FileChange, FileSeen};
use crate::trace::options::{RunOptions, RunStart};

/// The version in the header of a journal. The peer's traces end at 5; from 6 on lines carry `seq`.
pub const TRACE_VERSION: u32 = 6;

/// One thing that happened, where and when: a line of the journal.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// Its place in the journal, from 0, without gaps.
    pub seq: u64,
    /// When it was recorded, to the millisecond.
    pub at: Timestamp,
    /// Where in the run it belongs.
    pub part: Part,
    /// What happened.
    pub body: Body,
}

/// An event before it has a place and a time: what a procedure decided, or an outcome that came in.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// Where in the run it belongs.
    pub part: Part,
    /// What happened.
    pub body: Body,
}

impl Entry {
    /// The event that this becomes at a place and a time.
    #[must_use]
    pub fn at(self, seq: u64, at: Timestamp) -> Event {
        Event { seq, at, part: self.part, body: self.body }
    }
}

/// A line of a journal as it was read: the event, or what could not be understood.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "nearly every line is an event: a box would be an allocation for each")]
pub enum Line {
    /// An event of our vocabulary.
    Event(Event),
    /// A line of a type or with fields that this version does not know: skipped, never fatal.
    Unknown {
        /// The line's sequence number.
        seq: u64,
        /// Its type.
        kind: String,
    },
}

/// What happened. Variants are in the order in which a run first says them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Body {
    /// The header: the first line of every journal.
    TraceVersion {
        /// [`TRACE_VERSION`].
        version: u32,
        /// The version of the program that began the journal.
        adjutant_version: String,
        /// The brief's id.
        brief_id: String,
    },
    /// A run began: everything needed to begin it again.
    RunStart(Box<RunStart>),
    /// A driver took the run over where its journal stood.
    RunResume {
        /// Options that the operator changed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        options: Option<Box<RunOptions>>,
        /// Damage that the operator accepted, by line number.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        accepted_damage: Vec<u64>,
    },
    /// A run came to its end; nothing follows.
    RunEnd {
        /// How.
        outcome: Outcome,
    },
    /// A part began.
    PartStart {
        /// What it is: `session`, later `crew`, `stage`, `iteration`.
        kind: String,
    },
    /// A part came to its end; nothing under it is open.
    PartEnd {
        /// How.
        outcome: Outcome,
    },
    /// A phase was entered.
    PhaseEnter {
        /// Which.
        phase: PhaseName,
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// A phase was left.
    PhaseExit {
        /// Which.
        phase: PhaseName,
        /// How long it lasted, in milliseconds of the journal's clock.
        duration_ms: u64,
        /// Where to.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        to: Option<PhaseName>,
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// Who decides how far the session goes alone was settled.
    ModeSet {
        /// The mode from here on.
        mode: Mode,
    },
    /// Something was said to the agent; what the agent says is in `agent_reply`.
    Message {
        /// Who speaks.
        role: MessageRole,
        /// What it is for.
        kind: MessageKind,
        /// The phase it was said in.
        phase: PhaseName,
        /// The step it belongs to, from 1; 0 before the first.
        step: u32,
        /// The text.
        text: String,
    },
    /// A turn was asked for (intent).
    AgentRequest {
        /// The slot that its outcome will name.
        slot: Slot,
        /// The messages sent, as the first and last number in the part's transcript.
        messages: (u32, u32),
        /// How many tools were described.
        tools: u32,
        /// Whether none of them could be called, as in every phase but the one of the work.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        no_calls: bool,
        /// Who was asked: the place in the run's options, where 0 is the adapter of the run and what follows are
        /// those to fall back on.
        #[serde(default, skip_serializing_if = "is_zero")]
        agent: u32,
        /// About how many tokens were sent.
        #[serde(default, skip_serializing_if = "is_zero")]
        input_tokens: u64,
        /// The most tokens that the reply was allowed.
        #[serde(default, skip_serializing_if = "is_zero")]
        output_max: u32,
        /// The short hash of what was sent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        hash: Option<String>,
    },
    /// A turn was taken (outcome).
    AgentReply {
        /// The slot of its request.
        slot: Slot,
        /// What was said.
        text: String,
        /// What the agent thought, as far as its provider shows it.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        thinking: String,
        /// The calls asked for, in order.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        calls: Vec<Call>,
        /// What the provider wants to be given back with it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider_data: Option<Box<ProviderData>>,
        /// What it cost, where the provider said so.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<Usage>,
        /// Why the turn ended.
        stop: Stop,
        /// How long it took.
        duration_ms: u64,
    },
    /// A turn failed (outcome).
    AgentFailed {
        /// The slot of its request.
        slot: Slot,
        /// What kind of failure.
        kind: FailureKind,
        /// What happened.
        message: String,
        /// How long the provider asked to wait, in milliseconds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry_after_ms: Option<u64>,
        /// How many bytes of the reply had arrived.
        #[serde(default, skip_serializing_if = "is_zero")]
        received: u64,
        /// The most tokens that a reply may have, where the provider said so.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output_max: Option<u32>,
    },
    /// Another agent takes the turns from here on, because the one before could not.
    AgentChanged {
        /// Who: the place in the run's options.
        agent: u32,
        /// Its adapter, and its model if one is fixed.
        name: String,
        /// Why.
        reason: String,
    },
    /// The results of old calls are no longer sent, to make room in the agent's window. The journal keeps them.
    ContextFolded {
        /// Their numbers in the part's transcript.
        messages: Vec<u32>,
        /// About how many tokens a request had before.
        before: u64,
        /// About how many it has now.
        after: u64,
    },
    /// Old messages are no longer sent, to make room in the agent's window. The journal keeps them, and a message
    /// of the kind `runtime_state` follows, which says what must not be lost of them.
    ContextCut {
        /// The first message that is still sent besides the standing orders.
        first: u32,
        /// About how many tokens a request had before.
        before: u64,
        /// About how many it has now, that message not counted.
        after: u64,
    },
    /// What the run takes from the learned profile that its brief names. What that is in full is in its options.
    LearnedProfileApplied {
        /// The project whose profile it is.
        slug: String,
        /// The version of the profile's format.
        schema_version: u64,
        /// How much of it holds: detectors not at their default, phases with a budget, dead tools.
        applied: Applied,
    },
    /// A phase was entered, and this is how many tools may be called in it.
    LearnedBudgetConsulted {
        /// The phase.
        phase: PhaseName,
        /// What the profile has for it, or for the session's role; 0 for nothing.
        recommended: u64,
        /// What is in force, with what the operator added; 0 for no limit.
        active: u64,
        /// Where that comes from.
        source: LimitSource,
    },
    /// A detector that is not at its default read a turn.
    LearnedSensitivityConsulted {
        /// Its name.
        detector: String,
        /// Its sensitivity.
        sensitivity: String,
        /// Whether it fired.
        fired: bool,
        /// Whether it was not run at all.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        bypassed: bool,
        /// The turn that was read.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        turn: Option<u32>,
    },
    /// A detector fired.
    DetectorFired {
        /// Its name.
        detector: String,
        /// What it saw.
        payload: Value,
        /// The turn that was read.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        turn: Option<u32>,
    },
    /// All detectors have read a turn.
    TurnRead {
        /// The turn.
        turn: u32,
        /// The detectors that fired, in reading order.
        fired: Vec<String>,
    },
    /// The agent announced a phase that the session is not in.
    PhaseDrift {
        /// The turn.
        turn: u32,
        /// What it announced.
        declared: PhaseName,
        /// Where the session stands.
        phase: PhaseName,
    },
    /// The gate decided on a call. `decision` is the peer's word: everything but allow is deny.
    AuthCheckFired {
        /// The layer whose reason is told: `role`, `call`, `protected`, `scope`, `brief`, `approval`, `grant`,
        /// `sandbox`, `untrusted`, `hook`, `default`.
        layer: String,
        /// The tool.
        tool: String,
        /// `allow` or `deny`.
        decision: String,
        /// Why.
        reason: String,
        /// Ours: `allow`, `ask` or `refuse`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        answer: Option<String>,
        /// The call's number in its part.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<u32>,
        /// The categories that nothing covers.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        missing: Vec<String>,
        /// What would allow it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        would_allow: Option<String>,
        /// Whether what it brings back is text from outside.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        untrusted: bool,
        /// The text from outside that its agent had read before: the latest calls that brought it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        after_untrusted: Vec<String>,
    },
    /// What the project keeps of grants, read when a driver took the run up: in place of what was read before.
    GrantsLoaded {
        /// Those that are neither revoked nor over.
        grants: Vec<Grant>,
    },
    /// What the run takes from its project's memory: it is shown after the standing orders.
    MemoryInherited {
        /// The project.
        project: String,
        /// The entries as they are shown, category by category, newest first.
        records: Vec<Record>,
        /// How many live entries there are besides.
        #[serde(default, skip_serializing_if = "is_zero")]
        left_out: u64,
        /// What contradicts what among them.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        contradictions: Vec<Contradiction>,
    },
    /// The agent asked for a permission beforehand.
    PermissionRequested {
        /// The id of the request, and of the grant that may answer it.
        grant_id: String,
        /// What is to be done.
        action: String,
        /// The first category that it needs.
        category: Option<String>,
        /// How long it was asked for.
        scope_requested: Lasts,
        /// Why.
        reasoning: String,
        /// What happens without it.
        fallback: Option<String>,
        /// The call that asked, by its number in its part.
        call: u32,
        /// All categories that it needs.
        categories: Vec<String>,
        /// What it is bound to.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        bound: Option<Box<Bound>>,
    },
    /// The operator said yes.
    PermissionGranted {
        /// The id of the request.
        grant_id: String,
        /// How long it lasts.
        scope_granted: Lasts,
        /// What the operator said with it.
        operator_note: Option<String>,
        /// The call that asked.
        call: u32,
        /// What was granted.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        grant: Option<Box<Grant>>,
    },
    /// The operator said no.
    PermissionDenied {
        /// The id of the request.
        grant_id: String,
        /// What the operator said with it.
        operator_note: Option<String>,
        /// The call that asked.
        call: u32,
    },
    /// A use of a grant was made.
    PermissionGrantConsumed {
        /// The grant.
        grant_id: String,
        /// The agent's own name for the call that it was used for.
        consuming_tool_call_id: String,
        /// That call's number in its part.
        call: u32,
    },
    /// A grant was taken back.
    PermissionRevoked {
        /// The grant.
        grant_id: String,
        /// When.
        #[serde(with = "moment::milliseconds")]
        revoked_at: Timestamp,
    },
    /// A guard hook was asked about a call (intent).
    HookCall {
        /// The slot that its outcome will name.
        slot: Slot,
        /// Its name: the program without the folder.
        hook: String,
        /// Its place among the hooks in the run's options, from 0.
        place: u32,
        /// The number of the call in its part.
        call: u32,
    },
    /// A guard hook answered, or gave no answer (outcome).
    HookResult {
        /// The slot of the hook.
        slot: Slot,
        /// `allow`, `ask` or `refuse`: it makes the gate's word stricter and never milder. `ask` where it gave no
        /// answer.
        decision: Answer,
        /// Why, in its words or in ours.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// Why there is no answer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fault: Option<HookFault>,
        /// How long it took.
        duration_ms: u64,
    },
    /// The working tree is looked at (intent).
    TreeLook {
        /// The slot that its outcome will name.
        slot: Slot,
        /// What for.
        look: Look,
    },
    /// The working tree was looked at (outcome).
    TreeSeen {
        /// The slot of the look.
        slot: Slot,
        /// What for.
        look: Look,
        /// The paths that differ from how they were before the first call and that nobody answered for.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        outside: Vec<String>,
        /// How many such paths there are besides.
        #[serde(default, skip_serializing_if = "is_zero")]
        more: u64,
        /// Why nothing can be said.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
        /// How long it took.
        duration_ms: u64,
    },
    /// Something was put to the operator (intent).
    Question {
        /// The slot that its answer will name.
        slot: Slot,
        /// What was asked.
        question: Question,
    },
    /// The operator answered (outcome).
    Answer {
        /// The slot of the question.
        slot: Slot,
        /// The message's own id: a second delivery changes nothing.
        id: String,
        /// What was chosen.
        choice: Choice,
        /// What was said with it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
        /// Who answered.
        by: String,
        /// Whence: `terminal`, `answers`, `resume`, `inbox`, `dashboard`.
        whence: String,
    },
    /// A question's or timer's deadline passed (outcome).
    Expired {
        /// The slot of the question or timer.
        slot: Slot,
    },
    /// A question or timer was taken back (outcome).
    Withdrawn {
        /// The slot of the question or timer.
        slot: Slot,
    },
    /// An answer came to a question that was gone.
    AnswerIgnored {
        /// The slot that was answered.
        slot: Slot,
        /// The message's own id.
        id: String,
    },
    /// The operator's word on what was held in phase 3.
    AuthPrompt {
        /// The categories in question.
        categories: Vec<String>,
        /// `y` this once, `Y` for the run, `n` no.
        response: String,
        /// The calls in question, by number.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        calls: Vec<u32>,
        /// What the agent had announced: categories, or `out_of_scope` for a declared phase 3.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        acts: Vec<String>,
    },
    /// A call began (intent).
    ToolCall {
        /// The slot that its outcome will name.
        slot: Slot,
        /// The agent's own name for it.
        call_id: String,
        /// The tool.
        name: String,
        /// The arguments.
        args: Value,
        /// `allow`: a call that is not allowed never begins.
        auth_decision: String,
        /// What it will make of files.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        changes: Vec<FileChange>,
        /// Whether a command that it runs may use the network.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        network: bool,
    },
    /// What the next call may destroy was kept beforehand. It says nothing of whether the call was made.
    RescueMade {
        /// The slot of the call.
        slot: Slot,
        /// Where most of it is: `git`, `copy`, or `none` if nothing could be kept.
        kind: RescueKind,
        /// The name by which `adjutant undo` finds it; absent if there is nothing to find.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rescue: Option<String>,
        /// The ref of the repository that holds it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reference: Option<String>,
        /// The folder with the copies, and with the list of all that was kept.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        path: Option<String>,
        /// How many files and links were kept.
        files: u64,
        /// How many bytes they have.
        bytes: u64,
        /// How many files and folders were not kept, because of a limit or because they can't be read.
        #[serde(default, skip_serializing_if = "is_zero")]
        left_out: u64,
        /// Why nothing could be kept; then the call is not made.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    /// A call ended (outcome).
    ToolResult {
        /// The slot of the call.
        slot: Slot,
        /// The agent's own name for it.
        call_id: String,
        /// Whether it did what it was asked to.
        success: bool,
        /// How long it took.
        duration_ms: u64,
        /// The bytes of the content.
        bytes: u64,
        /// What the agent is told; absent where `artifact` holds it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        content: Option<String>,
        /// The hash of a content too large for a line.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        artifact: Option<String>,
        /// A stable name for what went wrong.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        code: Option<String>,
        /// The exit status of a process.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exit_code: Option<i32>,
        /// Whether this was found out by looking at the files after an interruption.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        settled: bool,
        /// The file that was read, as it was.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        seen: Option<Box<FileSeen>>,
    },
    /// A call was cancelled (outcome).
    ToolCancelled {
        /// The slot of the call.
        slot: Slot,
        /// The agent's own name for it.
        call_id: String,
        /// The tool.
        tool_name: String,
        /// `operator_signal`, `timeout`, `runtime_shutdown`, or `limit` for the run's limit of minutes.
        cancellation_source: String,
        /// What it had said until then.
        partial_output: String,
    },
    /// A call got its answer without being carried out.
    ToolRejected {
        /// The call's number in its part.
        call: u32,
        /// The agent's own name for it.
        call_id: String,
        /// The tool.
        name: String,
        /// Why.
        rejection: Rejection,
        /// What the agent is told.
        content: String,
    },
    /// Whether something was still going on when its driver died (outcome).
    Interrupted {
        /// The slot of the request or call.
        slot: Slot,
        /// What is known of its effect.
        effect: Effect,
    },
    /// A wait began (intent).
    Timer {
        /// The slot that its end will name.
        slot: Slot,
        /// Its length in milliseconds.
        length_ms: u64,
    },
    /// The operator said something that no question asked for.
    OperatorMessage {
        /// The message's own id: a second delivery changes nothing.
        id: String,
        /// What.
        message: crate::inbox::Message,
        /// Who.
        by: String,
    },
    /// What the sandbox of commands is worth on this machine: tried, not promised.
    SandboxReport {
        /// How much was to be there: `off`, `best` or `required`.
        mode: String,
        /// The walls that held.
        held: Vec<String>,
        /// The walls that are missing.
        missing: Vec<String>,
        /// The layers that could be set up.
        layers: Vec<String>,
        /// The layers that could not, each with its reason.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        absent: BTreeMap<String, String>,
    },
    /// Most of a limit is used.
    BudgetWarn {
        /// Which, as in `budget_halt`.
        metric: String,
        /// How much was used.
        used: u64,
        /// How much there is.
        limit: u64,
        /// The role whose own limit it is; absent for the run's.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        role: Option<String>,
        /// The phase whose own limit it is.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        phase: Option<PhaseName>,
        /// The project from whose learned profile the limit comes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        learned: Option<String>,
    },
    /// A limit was reached.
    BudgetHalt {
        /// Which: `steps`, `turns`, `wall_clock_ms`, `tokens`, `nano_dollars` or `tool_calls`.
        metric: String,
        /// How much was used.
        used: u64,
        /// How much there was.
        limit: u64,
        /// The role whose own limit it is; absent for the run's.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        role: Option<String>,
        /// The phase whose own limit it is.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        phase: Option<PhaseName>,
        /// The project from whose learned profile the limit comes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        learned: Option<String>,
    },
    /// What a session that is a piece of a run handed off with a turn, or what was wrong with it.
    HandoffRead {
        /// The turn's number.
        turn: u32,
        /// What was to be handed off: `plan`, `execution` or `review`.
        expected: String,
        /// The handoff, as it was read; absent if it was none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        handoff: Option<Value>,
        /// What was wrong with it, a line each.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        faults: Vec<String>,
    },
    /// A sub-task of a plan speaks of what nothing authorizes.
    ScopeWarning {
        /// The sub-task's id.
        subtask: String,
        /// What it seems to need.
        category: crate::gate::Category,
        /// The word that speaks of it.
        word: String,
    },
    /// A crew moved on.
    CoordinatorState {
        /// Where it stands from here on.
        state: CrewState,
        /// What led there.
        signal: Signal,
        /// The id of the sub-task that it is about.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        subtask: Option<String>,
        /// Why, where the signal doesn't say it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// The brief's deadline passed while the session worked.
    DeadlinePassed {
        /// The deadline as the brief has it.
        deadline: String,
    },
    /// Somebody else changed the workdir while the run stood still: it waited for its operator, or nobody drove it.
    FolderChanged {
        /// The paths that were added, changed or removed.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        paths: Vec<String>,
        /// How many there are besides.
        #[serde(default, skip_serializing_if = "is_zero")]
        more: u64,
        /// What was checked out when the run stopped; absent if it still is, or if there was no repository.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        head_before: Option<String>,
        /// What is checked out now; absent if nothing changed about it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        head_now: Option<String>,
    },
    /// Something the operator should know.
    Warning {
        /// What.
        text: String,
    },
    /// Something failed.
    Error {
        /// What.
        error: String,
        /// The phase it happened in.
        phase: PhaseName,
    },
}

/// What a permission is bound to, as far as it is: the words are those of a grant.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bound {
    /// The tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The command line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The pattern of paths or hosts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// For how many calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uses: Option<u32>,
}

/// Where the number of tools that may be called comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LimitSource {
    /// A learned profile.
    Learned,
    /// The brief's own limit.
    Brief,
    /// Neither.
    Default,
}

/// The phases, by their names on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PhaseName {
    /// 0: the agent restates the brief, the operator confirms.
    Intake,
    /// 1: work.
    Execute,
    /// 2: the agent can't go on.
    Blocker,
    /// 3: something destructive or out of scope waits for the operator.
    Destructive,
    /// 4: the report.
    Completion,
    /// It is over.
    Done,
}

impl PhaseName {
    /// Its name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Intake => "intake",
            Self::Execute => "execute",
            Self::Blocker => "blocker",
            Self::Destructive => "destructive",
            Self::Completion => "completion",
            Self::Done => "done",
        }
    }

    /// The phase of a name on the wire.
    #[must_use]
    pub fn named(word: &str) -> Option<Self> {
        let all = [Self::Intake, Self::Execute, Self::Blocker, Self::Destructive, Self::Completion, Self::Done];
        all.into_iter().find(|phase| phase.as_str() == word)
    }

    /// Its number, as people and agents say it.
    #[must_use]
    pub const fn number(self) -> Option<u8> {
        match self {
            Self::Intake => Some(0),
            Self::Execute => Some(1),
            Self::Blocker => Some(2),
            Self::Destructive => Some(3),
            Self::Completion => Some(4),
            Self::Done => None,
        }
    }
}

/// How a part or a run came to its end. What waits for someone has not ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The work was done and reported, or the operator said that it is enough.
    Completed,
    /// The operator said no to the confirmation summary.
    Declined,
    /// The operator stopped it.
    Stopped,
    /// Something failed for good.
    Failed,
    /// It was not needed any more: what it worked for was settled without it.
    Superseded,
}

impl Outcome {
    const ALL: [Self; 5] = [Self::Completed, Self::Declined, Self::Stopped, Self::Failed, Self::Superseded];

    /// The outcome of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.as_str() == name)
    }

    /// Its name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Declined => "declined",
            Self::Stopped => "stopped",
            Self::Failed => "failed",
            Self::Superseded => "superseded",
        }
    }
}

/// Who speaks in a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MessageRole {
    /// The standing orders.
    System,
    /// The runtime or the operator.
    User,
}

/// What a message is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MessageKind {
    /// The standing orders.
    StandingOrders,
    /// The brief, and the request for a confirmation summary.
    Intake,
    /// A second request for a confirmation summary.
    Nudge,
    /// What the operator wants changed in the summary.
    Correction,
    /// The summary is accepted: begin.
    KickOff,
    /// Go on.
    Continue,
    /// What the operator says between steps.
    Redirect,
    /// What the operator says without being asked.
    Steer,
    /// What was announced may be done.
    Approval,
    /// What was announced may not be done.
    Denial,
    /// What the operator adds so that a blocked session can go on.
    Context,
    /// What must not be lost of messages that are no longer sent: brief, confirmed summary, the operator's words.
    RuntimeState,
    /// What is wrong with a handoff.
    Handoff,
    /// The request for the final report.
    Report,
}

/// Why a call got its answer without being carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rejection {
    /// There is no such tool.
    UnknownTool,
    /// The arguments are not JSON.
    BadArguments,
    /// A rule refuses it.
    Refused,
    /// The operator denied it.
    Denied,
    /// The same call failed too often.
    RetryCap,
    /// No tool may be called in this phase.
    Phase,
    /// The turn that asked for it also declared a blocker, or was denied.
    Skipped,
    /// It was going on when its driver died; what it did is unknown.
    EffectUnknown,
    /// It asked the operator for a permission, and this is the answer.
    Answered,
}

/// Where what a call may destroy was kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RescueKind {
    /// In the repository of the workdir, under a ref of ours.
    Git,
    /// As copies in our home.
    Copy,
    /// Nowhere.
    None,
}

/// What is known of the effect of something that was interrupted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// It had none, or none that a repetition would change.
    None,
    /// Nobody knows.
    Unknown,
}

/// Why a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// The agent had said what it wanted to say.
    EndTurn,
    /// The agent waits for its tool calls.
    ToolUse,
    /// The reply was cut at the length limit.
    MaxTokens,
    /// The model refused.
    Refusal,
}

/// What kind of failure a turn ended with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// Another attempt may work: a broken stream, a time limit, a mishap at the provider.
    Transient,
    /// The reply came and is thrown away: it can't be read, or asks for more than is taken. Another attempt may work,
    /// and costs as much.
    Unreadable,
    /// The provider was not reached, so that nothing can have come of the request.
    Unreached,
    /// The provider has no room now: a rate limit or overload. Never a sign that the agent is stuck.
    Busy,
    /// The request is longer than the model's window: a shorter one may work.
    TooLong,
    /// The request asks for a longer reply than the model gives: one that asks for less may work.
    ReplyTooLong,
    /// The provider rejects the request and says nothing known of why: if it is a long one, a shorter one may
    /// work.
    Rejected,
    /// Another attempt will not work: a missing key, an unknown model, a malformed script.
    Permanent,
    /// The turn was cancelled.
    Cancelled,
}

/// Tokens, in one normal form. What a provider does not say stays unknown, never zero.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Input that was not read from a cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u64>,
    /// Input read from a cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_read_tokens: Option<u64>,
    /// Input written to a cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write_tokens: Option<u64>,
    /// Output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u64>,
    /// Output spent on thinking.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning_tokens: Option<u64>,
}

impl Body {
    /// The slot, if this begins something that will have an outcome.
    #[must_use]
    pub fn intent(&self) -> Option<&Slot> {
        match self {
            Self::AgentRequest { slot, .. }
            | Self::Question { slot, .. }
            | Self::ToolCall { slot, .. }
            | Self::HookCall { slot, .. }
            | Self::TreeLook { slot, .. }
            | Self::Timer { slot, .. } => Some(slot),
            _ => None,
        }
    }

    /// The slot, if this is the outcome of something that had begun.
    #[must_use]
    pub fn outcome(&self) -> Option<&Slot> {
        match self {
            Self::AgentReply { slot, .. }
            | Self::AgentFailed { slot, .. }
            | Self::Answer { slot, .. }
            | Self::Expired { slot }
            | Self::Withdrawn { slot }
            | Self::HookResult { slot, .. }
            | Self::TreeSeen { slot, .. }
            | Self::ToolResult { slot, .. }
            | Self::ToolCancelled { slot, .. }
            | Self::Interrupted { slot, .. } => Some(slot),
            _ => None,
        }
    }

    /// The id of the message from outside that this is, if it is one.
    #[must_use]
    pub fn outside_id(&self) -> Option<&str> {
        match self {
            Self::Answer { id, .. } | Self::AnswerIgnored { id, .. } | Self::OperatorMessage { id, .. } => Some(id),
            _ => None,
        }
    }

    /// Whether a procedure decided this, as opposed to the world having done it.
    #[must_use]
    pub fn is_decision(&self) -> bool {
        self.intent().is_none()
            && self.outcome().is_none()
            && !matches!(
                self,
                Self::TraceVersion { .. }
                    | Self::RunStart(_)
                    | Self::RunResume { .. }
                    | Self::GrantsLoaded { .. }
                    | Self::LearnedProfileApplied { .. }
                    | Self::MemoryInherited { .. }
                    | Self::PermissionRevoked { .. }
                    | Self::RescueMade { .. }
                    | Self::AnswerIgnored { .. }
                    | Self::OperatorMessage { .. }
                    | Self::FolderChanged { .. }
                    | Self::SandboxReport { .. }
            )
    }
}

/// For fields that say nothing where they are zero.
fn is_zero<T: Default + PartialEq>(number: &T) -> bool {
    *number == T::default()
}
