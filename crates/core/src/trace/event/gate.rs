//! The gate: its decisions on calls, permissions and grants, guard hooks, looks at the working tree.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Role, is_zero};
use crate::gate::custody::Look;
use crate::gate::{Answer, Grant, HookFault, Lasts};
use crate::moment;
use crate::procedure::Slot;
use crate::words::Bound;

/// A call was judged, or something was asked or learned that judging rests on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GateEvent {
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
    /// What the project keeps of grants, read when a driver took the run up: in place of what was read before.
    GrantsLoaded {
        /// Those that are neither revoked nor over.
        grants: Vec<Grant>,
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
}

impl GateEvent {
    /// Returns what the event is to the ledger.
    pub(super) fn role(&self) -> Role<'_> {
        match self {
            Self::HookCall { slot, .. } | Self::TreeLook { slot, .. } => Role::Intent(slot),
            Self::HookResult { slot, .. } | Self::TreeSeen { slot, .. } => Role::Outcome(slot),
            Self::GrantsLoaded { .. } | Self::PermissionRevoked { .. } => Role::Fact,
            Self::AuthCheckFired { .. }
            | Self::AuthPrompt { .. }
            | Self::PermissionRequested { .. }
            | Self::PermissionGranted { .. }
            | Self::PermissionDenied { .. }
            | Self::PermissionGrantConsumed { .. } => Role::Decision,
        }
    }
}
