//! Names for calls that were not carried out, and for what is kept before they are.

use serde::{Deserialize, Serialize};

/// The reason why a call got its answer without being carried out.
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

/// The place where the files were kept that a call may destroy.
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

/// The cause of a cancelled call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CancelledBy {
    /// The operator, or a decision that it is not wanted any more.
    OperatorSignal,
    /// A time limit of its own.
    Timeout,
    /// The program ended.
    RuntimeShutdown,
    /// The run's limit of minutes.
    Limit,
}

impl CancelledBy {
    /// Its name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::OperatorSignal => "operator_signal",
            Self::Timeout => "timeout",
            Self::RuntimeShutdown => "runtime_shutdown",
            Self::Limit => "limit",
        }
    }
}
