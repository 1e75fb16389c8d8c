//! The run as a whole: its header, its beginning, its taking over, its end.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::LedgerRole;
use crate::trace::options::{RunOptions, RunStart};
use crate::trace::spec::RedactionRule::{MapOf, Object, Objects, Plain};
use crate::trace::spec::{
    Field, Spec, Weight, any, joined, number, numbers, object, outcome_tone, plain, text, texts, typed,
};
use crate::words::tool::OfferedTools;
use crate::words::{Mode, Outcome};

/// An event of the run as a whole.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunEvent {
    /// The header: the first line of every journal.
    TraceVersion {
        /// [`TRACE_VERSION`](super::TRACE_VERSION).
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
        /// All tools of the run as they are offered from here on, if they are others than before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        offered: Option<Box<OfferedTools>>,
    },
    /// A run came to its end; nothing follows.
    RunEnd {
        /// The run's outcome.
        outcome: Outcome,
    },
}

impl RunEvent {
    /// Returns the tools that are offered from this event on, if it says so.
    #[must_use]
    pub fn offered(&self) -> Option<&OfferedTools> {
        match self {
            Self::RunStart(start) => start.offered.as_deref(),
            Self::RunResume { offered, .. } => offered.as_deref(),
            Self::TraceVersion { .. } | Self::RunEnd { .. } => None,
        }
    }

    /// Returns what the event is to the ledger.
    pub(super) fn role(&self) -> LedgerRole<'_> {
        match self {
            Self::TraceVersion { .. } | Self::RunStart(_) | Self::RunResume { .. } => LedgerRole::Fact,
            Self::RunEnd { .. } => LedgerRole::Decision,
        }
    }
}

pub(super) static TRACE_VERSION: Spec = Spec {
    label: "trace_version",
    weight: Weight::Detail,
    tone: plain,
    fields: &[
        number("version"),
        text("adjutant_version").or_absent(),
        text("brief_id"),
        text("openwar_version").or_absent().undecided(),
    ],
    detail: |line| {
        let program = match (line.text("adjutant_version"), line.text("openwar_version")) {
            (Some(version), _) => format!("adjutant={version}"),
            (None, version) => format!("openwar={}", version.unwrap_or(Cow::Borrowed("-"))),
        };
        format!("{}  {program}  brief={}", line.count("version"), line.word("brief_id"))
    },
};

pub(super) static RUN_START: Spec = Spec {
    label: "run_start",
    weight: Weight::Turning,
    tone: plain,
    fields: &[
        text("run_id"),
        text("brief_id"),
        text("project"),
        any("brief_path").content(),
        text("brief").content(),
        object("options", OPTIONS_FIELDS),
        texts("tools").or_absent(),
        any("offered").redacted(Object(OFFERED_FIELDS)),
        any("versions").redacted(MapOf(&Plain)),
    ],
    detail: |line| {
        let options = line.object("options");
        let model = options.text("model").map(|model| format!("model={model}")).unwrap_or_default();
        let (run, brief, project) = (line.word("run_id"), line.word("brief_id"), line.word("project"));
        let detail = format!("run={run}  brief={brief}  project={project}");
        joined(&[&detail, &format!("adapter={}", options.word("adapter")), &model])
    },
};

pub(super) static RUN_RESUME: Spec = Spec {
    label: "run_resume",
    weight: Weight::Turning,
    tone: plain,
    fields: &[
        any("options").redacted(Object(OPTIONS_FIELDS)),
        numbers("accepted_damage").or_absent(),
        any("offered").redacted(Object(OFFERED_FIELDS)),
    ],
    detail: |line| {
        let accepted: Vec<String> = line.numbers("accepted_damage").iter().map(u64::to_string).collect();
        if accepted.is_empty() { String::new() } else { format!("accepted_damage={}", accepted.join(",")) }
    },
};

pub(super) static RUN_END: Spec = Spec {
    label: "run_end",
    weight: Weight::Turning,
    tone: outcome_tone,
    fields: &[typed::<Outcome>("outcome")],
    detail: |line| line.word("outcome").into_owned(),
};

/// Fields of the tools that are offered: which, and what they may do, stays when redacted.
static OFFERED_FIELDS: &[Field] = &[any("hash"), any("tools").redacted(Objects(TOOL_FIELDS))];

/// Fields of a tool.
static TOOL_FIELDS: &[Field] =
    &[any("name"), any("description").content(), any("categories"), any("effect"), any("schema").whole()];

/// Fields of an agent among the options.
static AGENT_FIELDS: &[Field] = &[
    any("adapter"),
    any("model"),
    any("base_url").content(),
    any("window"),
    any("output_tokens_max"),
    any("effort"),
    any("thinking_tokens"),
    any("prices").redacted(MapOf(&Plain)),
    any("prices_listed"),
];

/// Fields of the options: who, how much and how strictly stays when redacted; where, and what the operator wrote, goes.
static OPTIONS_FIELDS: &[Field] = &[
    text("adapter"),
    text("model").or_absent(),
    any("base_url").content(),
    any("window"),
    any("output_tokens_max"),
    any("effort"),
    any("thinking_tokens"),
    any("prices").redacted(MapOf(&Plain)),
    any("prices_listed"),
    typed::<Mode>("mode").or_absent(),
    any("workdir").content(),
    any("copied_from").content(),
    any("home").content(),
    any("runtime_home").content(),
    any("no_shell"),
    any("max_steps"),
    any("fallback").redacted(Objects(AGENT_FIELDS)),
    any("roles"),
    any("custom_roles").gone(),
    any("role_agents").redacted(MapOf(&Object(AGENT_FIELDS))),
    any("role_budgets").redacted(MapOf(&MapOf(&Plain))),
    any("retries_max"),
    any("blind_critic"),
    any("plans_only"),
    any("answer_within_ms"),
    any("patience_ms"),
    any("unattended"),
    any("budget").redacted(MapOf(&Plain)),
    any("script").content(),
    any("after_untrusted"),
    any("untrusted_tools"),
    any("plain_results"),
    any("result_bytes_max"),
    any("hooks").gone(),
    any("programs").gone(),
    any("shell_allow").gone(),
    any("shell_deny").gone(),
    any("deny_read").gone(),
    any("detectors").redacted(MapOf(&Plain)),
    any("learned").redacted(Object(LEARNED_FIELDS)),
];

/// Fields of what was learned, among the options.
static LEARNED_FIELDS: &[Field] =
    &[any("slug"), any("phase_calls").redacted(MapOf(&Plain)), any("roles").redacted(MapOf(&MapOf(&Plain)))];
