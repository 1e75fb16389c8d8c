//! The gate: its decisions on calls, permissions and grants, guard hooks, looks at the working tree.

use std::borrow::Cow;
use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{LedgerRole, is_zero};
use crate::gate::Grant;
use crate::trace::read::Fields;
use crate::trace::spec::RedactionRule::{MapOf, Object, Objects, Text};
use crate::trace::spec::{ACTION_UNITS_MAX, SAID_UNITS_MAX};
use crate::trace::spec::{Field, Spec, Tone, Weight, any, joined, number, numbers, plain, text, texts, typed, warns};
use crate::words::id::WorkspaceId;
use crate::words::text::cut;
use crate::words::{Bound, GateAnswer, HookFault, Lasts, Layer, Look, OperatorWord, Slot, moment};

/// A call was judged, or something was asked or learned that judging rests on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GateEvent {
    /// The gate decided on a call. `decision` is the peer's word: everything but allow is deny.
    AuthCheckFired {
        /// The layer whose reason is told: `role`, `call`, `protected`, `scope`, `brief`, `approval`, `grant`,
        /// `sandbox`, `untrusted`, `hook`, `default`.
        layer: Layer,
        /// The tool.
        tool: String,
        /// `allow` or `deny`.
        decision: String,
        /// Reason for the decision.
        reason: String,
        /// Ours: `allow`, `ask` or `refuse`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        answer: Option<GateAnswer>,
        /// The call's number in its part.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<u32>,
        /// The categories that nothing covers.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        missing: Vec<String>,
        /// The step that would allow it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        would_allow: Option<String>,
        /// True if the call brings back text from outside.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        untrusted: bool,
        /// The text from outside that its agent had read before: the latest calls that brought it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        after_untrusted: Vec<String>,
    },
    /// The operator's word on what was held in phase 3.
    AuthPrompt {
        /// The categories in question.
        categories: Vec<String>,
        /// The word.
        response: OperatorWord,
        /// The calls in question, by number.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        calls: Vec<u32>,
        /// The acts that the agent had announced: categories, or `out_of_scope` for a declared phase 3.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        acts: Vec<String>,
        /// The calls in question that were denied while others were approved.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        denied: Vec<u32>,
        /// The announced acts that were denied while calls were approved.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        denied_acts: Vec<String>,
        /// The calls that were approved for the same act again: each is followed by its grant.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        again: Vec<u32>,
        /// The operator's words on single calls that were denied, by number.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        notes: BTreeMap<u32, String>,
    },
    /// The grants that the project keeps, read when a driver took the run up: they replace those read before.
    GrantsLoaded {
        /// Those that are neither revoked nor over.
        grants: Vec<Grant>,
    },
    /// The agent asked for a permission beforehand.
    PermissionRequested {
        /// The id of the request, and of the grant that may answer it.
        grant_id: String,
        /// The act that the permission is for.
        action: String,
        /// The first category that it needs.
        category: Option<String>,
        /// The time that was asked for.
        scope_requested: Lasts,
        /// The agent's reason.
        reasoning: String,
        /// The agent's alternative if the permission is denied.
        fallback: Option<String>,
        /// The call that asked, by its number in its part.
        call: u32,
        /// All categories that it needs.
        categories: Vec<String>,
        /// The bounds of the permission.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        bound: Option<Box<Bound>>,
    },
    /// The operator said yes.
    PermissionGranted {
        /// The id of the request.
        grant_id: String,
        /// The time for which it holds.
        scope_granted: Lasts,
        /// The operator's own words with it.
        operator_note: Option<String>,
        /// The call that asked.
        call: u32,
        /// The grant that this made.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        grant: Option<Box<Grant>>,
    },
    /// The operator said no.
    PermissionDenied {
        /// The id of the request.
        grant_id: String,
        /// The operator's own words with it.
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
        /// Time of the revocation.
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
        decision: GateAnswer,
        /// Reason for the decision, in the hook's words or in the program's.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// Reason why there is no answer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fault: Option<HookFault>,
        /// The hook's duration in milliseconds.
        duration_ms: u64,
    },
    /// The working tree is looked at (intent).
    TreeLook {
        /// The slot that its outcome will name.
        slot: Slot,
        /// Purpose of the look.
        look: Look,
        /// The workspace whose tree it is; absent for the run's own.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        workspace: Option<WorkspaceId>,
    },
    /// The working tree was looked at (outcome).
    TreeSeen {
        /// The slot of the look.
        slot: Slot,
        /// Purpose of the look.
        look: Look,
        /// The paths that differ from how they were before the first call and that no call answers for.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        outside: Vec<String>,
        /// Number of such paths that are not listed.
        #[serde(default, skip_serializing_if = "is_zero")]
        more: u64,
        /// Reason why nothing can be said.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
        /// The look's duration in milliseconds.
        duration_ms: u64,
    },
    /// A grant is to be kept for later runs (intent).
    GrantKeep {
        /// The slot that its outcome will name; its number is that of the call that asked.
        slot: Slot,
        /// The grant.
        grant_id: String,
    },
    /// A grant was kept for later runs, or could not be (outcome).
    GrantKept {
        /// The slot of the keeping.
        slot: Slot,
        /// Reason why the grant could not be kept, so that it holds for this run only.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
}

impl GateEvent {
    /// Returns what the event is to the ledger.
    pub(super) fn role(&self) -> LedgerRole<'_> {
        match self {
            Self::HookCall { slot, .. } | Self::TreeLook { slot, .. } | Self::GrantKeep { slot, .. } => {
                LedgerRole::Intent(slot)
            }
            Self::HookResult { slot, .. } | Self::TreeSeen { slot, .. } | Self::GrantKept { slot, .. } => {
                LedgerRole::Outcome(slot)
            }
            Self::GrantsLoaded { .. } | Self::PermissionRevoked { .. } => LedgerRole::Fact,
            Self::AuthCheckFired { .. }
            | Self::AuthPrompt { .. }
            | Self::PermissionRequested { .. }
            | Self::PermissionGranted { .. }
            | Self::PermissionDenied { .. }
            | Self::PermissionGrantConsumed { .. } => LedgerRole::Decision,
        }
    }
}

pub(super) static AUTH_CHECK_FIRED: Spec = Spec {
    label: "auth_check",
    weight: Weight::Main,
    tone: decision_tone,
    fields: &[
        text("layer"),
        text("tool"),
        text("decision"),
        text("reason").content(),
        text("answer").or_absent(),
        number("call").or_absent(),
        texts("missing").or_absent(),
        text("would_allow").or_absent().content(),
        any("untrusted"),
        any("after_untrusted").content(),
    ],
    detail: |line| {
        // Ours asks where the peer denies; its word is the better one to read.
        let decision = line.text("answer").unwrap_or_else(|| line.word("decision"));
        let said = format!("{}/{}  {decision}  ({})", line.word("layer"), line.word("tool"), line.word("reason"));
        if !line.is_ours {
            return said;
        }
        let would_allow = line.text("would_allow").map(|way| format!("would_allow={way}")).unwrap_or_default();
        joined(&[&said, &line.tagged("call"), &would_allow])
    },
};

pub(super) static AUTH_PROMPT: Spec = Spec {
    label: "auth_prompt",
    weight: Weight::Main,
    tone: plain,
    fields: &[
        texts("categories"),
        text("response"),
        numbers("calls").or_absent(),
        texts("acts").or_absent(),
        numbers("denied").or_absent(),
        texts("denied_acts").or_absent(),
        numbers("again").or_absent(),
        any("notes").redacted(MapOf(&Text)),
    ],
    detail: |line| {
        let said = format!("[{}]  response={}", line.texts("categories").join(","), line.word("response"));
        if !line.is_ours {
            return said;
        }
        let listed = |name: &str, what: String| if what.is_empty() { what } else { format!("{name}={what}") };
        let numbers = |name: &str| {
            let numbers: Vec<String> = line.numbers(name).iter().map(u64::to_string).collect();
            listed(name, numbers.join(","))
        };
        let texts = |name: &str| listed(name, line.texts(name).join(","));
        joined(&[
            &said,
            &numbers("calls"),
            &texts("acts"),
            &numbers("denied"),
            &texts("denied_acts"),
            &numbers("again"),
        ])
    },
};

pub(super) static GRANTS_LOADED: Spec = Spec {
    label: "grants",
    weight: Weight::Detail,
    tone: plain,
    fields: &[typed::<Vec<Grant>>("grants").redacted(Objects(GRANT_FIELDS))],
    detail: |line| format!("{} kept by the project", line.objects("grants").len()),
};

pub(super) static PERMISSION_REQUESTED: Spec = Spec {
    label: "perm_req",
    weight: Weight::Main,
    tone: warns,
    fields: &[
        text("grant_id"),
        text("action").content(),
        text("category").or_absent(),
        text("scope_requested"),
        any("reasoning").content(),
        any("fallback").content(),
        number("call").or_absent(),
        texts("categories").or_absent(),
        typed::<Bound>("bound").or_absent().redacted(Object(BOUND_FIELDS)),
    ],
    detail: |line| {
        let category = line.text("category").unwrap_or(Cow::Borrowed("-"));
        let (grant, scope, action) =
            (line.word("grant_id"), line.word("scope_requested"), cut(&line.word("action"), ACTION_UNITS_MAX));
        format!("grant={grant}  scope={scope}  cat={category}  action={action}")
    },
};

pub(super) static PERMISSION_GRANTED: Spec = Spec {
    label: "perm_grant",
    weight: Weight::Main,
    tone: plain,
    fields: &[
        text("grant_id"),
        text("scope_granted"),
        text("operator_note").or_absent().content(),
        number("call").or_absent(),
        typed::<Grant>("grant").or_absent().redacted(Object(GRANT_FIELDS)),
    ],
    detail: |line| format!("grant={}  scope={}{}", line.word("grant_id"), line.word("scope_granted"), line.note()),
};

pub(super) static PERMISSION_DENIED: Spec = Spec {
    label: "perm_deny",
    weight: Weight::Main,
    tone: plain,
    fields: &[text("grant_id"), text("operator_note").or_absent().content(), number("call").or_absent()],
    detail: |line| format!("grant={}{}", line.word("grant_id"), line.note()),
};

pub(super) static PERMISSION_GRANT_CONSUMED: Spec = Spec {
    label: "perm_use",
    weight: Weight::Detail,
    tone: plain,
    fields: &[text("grant_id"), text("consuming_tool_call_id"), number("call").or_absent()],
    detail: |line| format!("grant={}  by_call={}", line.word("grant_id"), line.word("consuming_tool_call_id")),
};

pub(super) static PERMISSION_REVOKED: Spec = Spec {
    label: "perm_revoke",
    weight: Weight::Main,
    tone: plain,
    fields: &[text("grant_id"), text("revoked_at")],
    detail: |line| format!("grant={}", line.word("grant_id")),
};

pub(super) static HOOK_CALL: Spec = Spec {
    label: "hook_call",
    weight: Weight::Detail,
    tone: plain,
    fields: &[any("slot"), any("hook"), any("place"), any("call")],
    detail: |line| format!("{}  call={}", line.word("hook"), line.count("call")),
};

pub(super) static HOOK_RESULT: Spec = Spec {
    label: "hook_result",
    weight: Weight::Detail,
    tone: plain,
    fields: &[any("slot"), any("decision"), any("reason").content(), any("fault"), any("duration_ms")],
    detail: |line| {
        let detail = format!("{}  {}ms", line.word("decision"), line.count("duration_ms"));
        let fault = line.text("fault").map(|fault| format!("fault={fault}")).unwrap_or_default();
        joined(&[&detail, &fault, &line.word("reason")])
    },
};

pub(super) static TREE_LOOK: Spec = Spec {
    label: "tree_look",
    weight: Weight::Detail,
    tone: plain,
    fields: &[any("slot"), any("look"), text("workspace").or_absent()],
    detail: |line| format!("{}  {}", line.word("slot"), line.word("look")),
};

pub(super) static TREE_SEEN: Spec = Spec {
    label: "tree_seen",
    weight: Weight::Detail,
    tone: plain,
    fields: &[
        any("slot"),
        any("look"),
        any("outside").content(),
        any("more"),
        any("error").content(),
        any("duration_ms"),
    ],
    detail: |line| {
        let more = line.number("more").map(|count| format!("more={count}")).unwrap_or_default();
        let detail = format!("{}  {}  {}ms", line.word("slot"), line.word("look"), line.count("duration_ms"));
        let outside = format!("outside=[{}]", cut(&line.texts("outside").join(","), SAID_UNITS_MAX));
        joined(&[&detail, &outside, &more, &line.word("error")])
    },
};

pub(super) static GRANT_KEEP: Spec = Spec {
    label: "grant_keep",
    weight: Weight::Detail,
    tone: plain,
    fields: &[any("slot"), any("grant_id")],
    detail: |line| format!("{}  grant={}", line.word("slot"), line.word("grant_id")),
};

pub(super) static GRANT_KEPT: Spec = Spec {
    label: "grant_kept",
    weight: Weight::Detail,
    tone: |fields| if fields.text("error").is_some() { Tone::Warn } else { Tone::Plain },
    fields: &[any("slot"), any("error").content()],
    detail: |line| joined(&[&line.word("slot"), &line.word("error")]),
};

/// Fields of a grant.
static GRANT_FIELDS: &[Field] = &[
    any("grant_id"),
    any("action").content(),
    any("reasoning").content(),
    any("categories"),
    any("tool"),
    any("command").content(),
    any("path").content(),
    any("act").redacted(Object(ACT_FIELDS)),
    any("scope"),
    any("until"),
    any("uses"),
    any("granted_at"),
];

/// Fields of the bounds of an act.
static ACT_FIELDS: &[Field] =
    &[any("program").content(), any("places").content(), any("host").content(), any("command").content()];

/// Fields of the bounds of a permission.
static BOUND_FIELDS: &[Field] = &[any("tool"), any("command").content(), any("path").content(), any("uses")];

fn decision_tone(fields: &Fields<'_>) -> Tone {
    match fields.text("answer").unwrap_or_else(|| fields.word("decision")).as_ref() {
        "allow" => Tone::Good,
        "ask" => Tone::Warn,
        _ => Tone::Bad,
    }
}
