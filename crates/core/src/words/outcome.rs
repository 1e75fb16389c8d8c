//! The end of a part or a run, and the effect of something that was interrupted.

use serde::{Deserialize, Serialize};

/// The end of a part or a run. A part that waits for someone has not ended.
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
    /// It went on without getting anywhere, and was ended for that. Never an approval.
    Stalled,
}

impl Outcome {
    const ALL: [Self; 6] =
        [Self::Completed, Self::Declined, Self::Stopped, Self::Failed, Self::Superseded, Self::Stalled];

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
            Self::Stalled => "stalled",
        }
    }
}

/// The effect of something that was interrupted, as far as that is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InterruptedEffect {
    /// It had none, or none that a repetition would change.
    None,
    /// Not known.
    Unknown,
}
