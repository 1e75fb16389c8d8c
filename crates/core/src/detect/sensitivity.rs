//! The six detectors by name, and how sensitive each of them is.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// One of the six detectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Detector {
    /// Was the brief confirmed?
    Confirmation,
    /// Can the agent not go on?
    Blocker,
    /// Is something destructive announced?
    Destructive,
    /// Are there phrases that no agent shall use?
    BannedPhrases,
    /// Looks for declared phases.
    PhaseMarker,
    /// Is the brief said to be done?
    Completion,
}

impl Detector {
    /// All of them, in the order in which they read and are recorded (the peer's order).
    pub const ALL: [Self; 6] = [
        Self::Confirmation,
        Self::Blocker,
        Self::Destructive,
        Self::BannedPhrases,
        Self::PhaseMarker,
        Self::Completion,
    ];

    /// Its name, as on the wire.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Confirmation => "confirmation",
            Self::Blocker => "blocker",
            Self::Destructive => "destructive",
            Self::BannedPhrases => "banned_phrases",
            Self::PhaseMarker => "phase_marker",
            Self::Completion => "completion",
        }
    }

    /// Returns true if it looks even when it is disabled: without it nothing would halt a run.
    #[must_use]
    pub fn always_looks(self) -> bool {
        matches!(self, Self::Blocker | Self::Destructive)
    }

    /// Returns true if no session runs without it: the session could not halt, or would never end (C3). A reading on
    /// its own may leave out those that need not always look.
    #[must_use]
    pub fn is_safety_critical(self) -> bool {
        match self {
            Self::Confirmation | Self::Blocker | Self::Destructive | Self::Completion => true,
            Self::BannedPhrases | Self::PhaseMarker => false,
        }
    }
}

impl fmt::Display for Detector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Error for an unknown name of a detector.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "`{given}` is no detector: there are confirmation, blocker, destructive, banned_phrases, phase_marker and completion"
)]
pub struct UnknownDetector {
    /// The name as given.
    pub given: String,
}

impl FromStr for Detector {
    type Err = UnknownDetector;

    fn from_str(given: &str) -> Result<Self, UnknownDetector> {
        let found = Self::ALL.into_iter().find(|detector| detector.name() == given);
        found.ok_or_else(|| UnknownDetector { given: given.to_owned() })
    }
}

/// Readiness of a detector to fire. The meaning of each value is said at the top of the detector's file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sensitivity {
    /// As it comes.
    #[default]
    Default,
    /// Only on what is explicit.
    Loose,
    /// On the safe side: more readily for what halts a run, less readily for what lets it go on or end.
    Strict,
    /// Not at all, if it is not critical to safety; as by default if it is.
    Disabled,
}

impl Sensitivity {
    /// All values.
    pub const ALL: [Self; 4] = [Self::Default, Self::Loose, Self::Strict, Self::Disabled];

    /// Its name, as on the wire.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Loose => "loose",
            Self::Strict => "strict",
            Self::Disabled => "disabled",
        }
    }
}

impl fmt::Display for Sensitivity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Error for an unknown sensitivity.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{given}` is no sensitivity: there are default, loose, strict and disabled")]
pub struct UnknownSensitivity {
    /// The value as given.
    pub given: String,
}

impl FromStr for Sensitivity {
    type Err = UnknownSensitivity;

    fn from_str(given: &str) -> Result<Self, UnknownSensitivity> {
        let found = Self::ALL.into_iter().find(|sensitivity| sensitivity.name() == given);
        found.ok_or_else(|| UnknownSensitivity { given: given.to_owned() })
    }
}

/// The sensitivity of every detector; [`Sensitivity::Default`] unless set.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sensitivities([Sensitivity; Detector::ALL.len()]);

impl Sensitivities {
    /// Returns the same with one detector's sensitivity changed.
    #[must_use]
    pub fn with(mut self, detector: Detector, sensitivity: Sensitivity) -> Self {
        self.0[detector as usize] = sensitivity;
        self
    }

    /// Returns the sensitivity of `detector`.
    #[must_use]
    pub fn of(&self, detector: Detector) -> Sensitivity {
        self.0[detector as usize]
    }

    /// Returns the same as it holds in a session: a detector that no session runs without is at its default even if it
    /// was to be disabled.
    #[must_use]
    pub fn in_session(&self) -> Self {
        let disabled = |(detector, sensitivity): &(Detector, Sensitivity)| {
            *sensitivity == Sensitivity::Disabled && detector.is_safety_critical()
        };
        self.set().filter(|set| !disabled(set)).collect()
    }

    /// Returns the detectors whose sensitivity is not the default, in the order of [`Detector::ALL`].
    pub fn set(&self) -> impl Iterator<Item = (Detector, Sensitivity)> + '_ {
        let all = Detector::ALL.into_iter().map(|detector| (detector, self.of(detector)));
        all.filter(|(_, sensitivity)| *sensitivity != Sensitivity::Default)
    }
}

impl FromIterator<(Detector, Sensitivity)> for Sensitivities {
    fn from_iter<I: IntoIterator<Item = (Detector, Sensitivity)>>(given: I) -> Self {
        given.into_iter().fold(Self::default(), |all, (detector, sensitivity)| all.with(detector, sensitivity))
    }
}
