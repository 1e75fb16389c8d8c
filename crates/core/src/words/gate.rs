//! Names for the decisions of the gate, and for what they rest on.

use serde::{Deserialize, Serialize};

/// The gate's answer to one tool call, from mild to strict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GateAnswer {
    /// The call may be made.
    Allow,
    /// An operator is asked first.
    Ask,
    /// The call is not made, whatever an operator says.
    Refuse,
}

impl GateAnswer {
    /// Returns the answer on record; a line that has none of ours has the peer's word, whose `deny` may be an *ask*.
    #[must_use]
    pub fn on_record(answer: Option<Self>, decision: &str) -> Self {
        answer.unwrap_or(if decision == "allow" { Self::Allow } else { Self::Ask })
    }

    /// Its name, as on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Refuse => "refuse",
        }
    }
}

/// The check that a finding comes from: the place to repair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Layer {
    /// The categories that a role may ever hold.
    Role,
    /// The categories that the brief or the role's definition grants it.
    RoleGrant,
    /// The call itself: its effects, whether its text can be read, and whether that kind of call is possible in this
    /// run at all.
    Call,
    /// The places that may be deleted or overwritten only after a yes to this very call.
    Protected,
    /// The brief's `scope`.
    Scope,
    /// The brief's `authorized_costs`.
    Brief,
    /// An operator's yes, to this call or for the run.
    Approval,
    /// A yes that was asked for beforehand.
    Grant,
    /// The accesses that the kernel blocks for commands.
    Sandbox,
    /// That the call follows text from outside.
    Untrusted,
    /// An operator's own guard hook.
    Hook,
    /// The rule that holds when nothing else applies.
    Default,
}

impl Layer {
    /// Its name, as on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Role => "role",
            Self::RoleGrant => "role_grant",
            Self::Call => "call",
            Self::Protected => "protected",
            Self::Scope => "scope",
            Self::Brief => "brief",
            Self::Approval => "approval",
            Self::Grant => "grant",
            Self::Sandbox => "sandbox",
            Self::Untrusted => "untrusted",
            Self::Hook => "hook",
            Self::Default => "default",
        }
    }
}

/// The time for which a grant holds. The words are OpenWar's, which calls a run a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lasts {
    /// For one call.
    ThisCall,
    /// For the rest of the run.
    #[serde(rename = "this_session")]
    ThisRun,
    /// For later runs of the project too, until a day.
    Persistent,
}

impl Lasts {
    /// Every one, with its word on the wire.
    pub const WORDS: [&str; 3] = ["this_call", "this_session", "persistent"];

    /// Its word on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ThisCall => "this_call",
            Self::ThisRun => "this_session",
            Self::Persistent => "persistent",
        }
    }

    /// What it says to an operator.
    #[must_use]
    pub const fn in_words(self) -> &'static str {
        match self {
            Self::ThisCall => "for this call",
            Self::ThisRun => "for the rest of the run",
            Self::Persistent => "for later runs of the project too",
        }
    }
}

/// The reason why a hook gave no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HookFault {
    /// It could not be started.
    NotStarted,
    /// It took too long.
    Timeout,
    /// It ended with a code other than 0, or by a signal.
    Exit,
    /// Its output is no answer.
    Nonsense,
    /// A file of the project that it runs is not what the operator trusted.
    Untrusted,
    /// It was going on when its driver died or was interrupted.
    Interrupted,
}

impl HookFault {
    /// Returns the fault as words that follow the hook's name.
    #[must_use]
    pub const fn said(self) -> &'static str {
        match self {
            Self::NotStarted => "could not be started",
            Self::Timeout => "took too long",
            Self::Exit => "failed",
            Self::Nonsense => "gave no answer that can be read",
            Self::Untrusted => "runs a file of the project that is not trusted as it is now",
            Self::Interrupted => "was interrupted",
        }
    }
}

/// The purpose of a look at the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Look {
    /// To keep how the tree is before the first call.
    Before,
    /// To compare it with that.
    After,
}

impl Look {
    /// Its name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Before => "before",
            Self::After => "after",
        }
    }
}

/// The operator's word on what was held in phase 3. The letters are the peer's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum OperatorWord {
    /// Yes, this once.
    #[serde(rename = "y")]
    Once,
    /// Yes, for the rest of the run.
    #[serde(rename = "Y")]
    ForRun,
    /// No.
    #[serde(rename = "n")]
    No,
}

impl OperatorWord {
    /// Its letter on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Once => "y",
            Self::ForRun => "Y",
            Self::No => "n",
        }
    }
}
