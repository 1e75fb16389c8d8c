//! The detectors: six deterministic readings of one turn of an agent.
//!
//! In: the turn's text, what is authorized, how sensitive each detector is. Out: a [`TurnReading`] with what
//! each of them saw. No model judges another here: the same text gives the same reading, for ever, and
//! nothing is decided yet; what a reading means in which phase is the phase machine's business.
//!
//! Begin with [`read`]. Each detector has a file, whose top comment says what its sensitivities mean;
//! `page.rs` prepares the text for all of them. Words that only stand in fenced code are shown rather
//! than said, and count nowhere except in a confirmation.

mod banned_phrases;
mod blocker;
mod completion;
mod confirmation;
mod decide;
mod destructive;
mod destructive_rules;
mod fences;
mod page;
mod phase_marker;
mod plain;
mod sensitivity;
mod words;

/// Returns the categories that a recorded reading of the destructive detector says were announced without being
/// authorized.
#[must_use]
pub fn announced(payload: &Value) -> Vec<String> {
    let acts = match payload.get("actions").and_then(Value::as_array) {
        Some(acts) => acts.iter().collect(),
        None => vec![payload],
    };
    let open = acts.into_iter().filter(|act| act.get("authorized") != Some(&Value::Bool(true)));
    open.filter_map(|act| act.get("action").and_then(Value::as_str).map(str::to_owned)).collect()
}

#[cfg(test)]
mod tests;

use page::Page;
use serde::Serialize;
use serde_json::Value;

use crate::words::Category;

pub use banned_phrases::BannedPhrases;
pub use blocker::{Blocker, REASON_LINES_MAX, REASON_UNITS_MAX};
pub use completion::Completion;
pub use confirmation::{Confirmation, SummarySections};
pub use decide::decide;
pub use destructive::{Destructive, DestructiveAct};
pub use phase_marker::{DeclaredPhase, PhaseMarker};
pub use sensitivity::{Detector, Sensitivities, Sensitivity, UnknownDetector, UnknownSensitivity};

/// Findings of the six detectors in one turn.
///
/// A detector that is disabled and not critical to safety has not looked: its entry is absent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TurnReading {
    /// Finding about a confirmation of the brief.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confirmation: Option<Confirmation>,
    /// Finding about an agent that can't go on.
    pub blocker: Blocker,
    /// Finding about destructive acts that are announced.
    pub destructive: Destructive,
    /// Phrases that no agent shall use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub banned_phrases: Option<BannedPhrases>,
    /// The phases that are declared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase_marker: Option<PhaseMarker>,
    /// Finding about a report that the brief is done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completion: Option<Completion>,
    /// One entry for every detector whose sensitivity is not the default.
    pub consultations: Vec<Consultation>,
}

/// A record that a detector's sensitivity was set by someone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Consultation {
    /// The detector.
    pub detector: Detector,
    /// Sensitivity that was asked for, even where safety overrules it.
    pub sensitivity: Sensitivity,
    /// True if the detector fired.
    pub fired: bool,
    /// True if the detector did not look at all.
    pub bypassed: bool,
}

/// Reads one turn with all six detectors.
///
/// `authorized` is the brief's `authorized_costs`; it only marks what is announced as authorized or not.
/// A detector that halts a run can't be disabled: it reads as by default.
#[must_use]
pub fn read(text: &str, authorized: &[Category], sensitivities: &Sensitivities) -> TurnReading {
    let page = Page::new(text);
    let of = |detector| sensitivities.of(detector);
    let looks = |detector: Detector| of(detector) != Sensitivity::Disabled || detector.always_looks();
    let mut reading = TurnReading {
        confirmation: looks(Detector::Confirmation).then(|| confirmation::read(&page, of(Detector::Confirmation))),
        blocker: blocker::read(&page, of(Detector::Blocker)),
        destructive: destructive::read(&page, authorized, of(Detector::Destructive)),
        banned_phrases: looks(Detector::BannedPhrases)
            .then(|| banned_phrases::read(&page, of(Detector::BannedPhrases))),
        phase_marker: looks(Detector::PhaseMarker).then(|| phase_marker::read(&page, of(Detector::PhaseMarker))),
        completion: looks(Detector::Completion).then(|| completion::read(&page, of(Detector::Completion))),
        consultations: Vec::new(),
    };
    for (detector, sensitivity) in sensitivities.set() {
        let bypassed = sensitivity == Sensitivity::Disabled && !detector.always_looks();
        reading.consultations.push(Consultation {
            detector,
            sensitivity,
            fired: reading.has_fired(detector),
            bypassed,
        });
    }
    reading
}

/// One turn as a session reads it.
#[derive(Debug, Clone, Copy)]
pub struct Spoken<'a> {
    /// The text.
    pub text: &'a str,
    /// The thinking, where it is shown and where calls follow it; else empty. Models of today announce between two
    /// calls there what they used to say, while thinking before an answer weighs what is not done in the end.
    pub between_calls: &'a str,
}

impl<'a> Spoken<'a> {
    /// Returns a reply with this text and thinking.
    #[must_use]
    pub fn of(text: &'a str, thinking: &'a str, has_calls: bool) -> Self {
        Self { text, between_calls: if has_calls { thinking } else { "" } }
    }
}

/// Reads one turn of a session: as [`read`], but that no detector which a session needs is ever left out. What was
/// asked for is in the consultations all the same. Whether the agent is blocked or announces something destructive is
/// read in what it thinks between calls, too, if it doesn't say so.
#[must_use]
pub fn read_in_session(spoken: Spoken<'_>, authorized: &[Category], sensitivities: &Sensitivities) -> TurnReading {
    let needed = sensitivities.in_session();
    let mut reading = read(spoken.text, authorized, &needed);
    if !spoken.between_calls.is_empty() {
        let page = Page::new(spoken.between_calls);
        if !reading.blocker.blocked {
            reading.blocker = blocker::read(&page, needed.of(Detector::Blocker));
        }
        if !reading.destructive.destructive {
            reading.destructive = destructive::read(&page, authorized, needed.of(Detector::Destructive));
        }
    }
    let consulted = sensitivities.set().map(|(detector, sensitivity)| Consultation {
        detector,
        sensitivity,
        fired: reading.has_fired(detector),
        bypassed: sensitivity == Sensitivity::Disabled && !detector.is_safety_critical(),
    });
    reading.consultations = consulted.collect();
    reading
}

impl TurnReading {
    /// Returns true if `detector` found the thing that it looks for.
    #[must_use]
    pub fn has_fired(&self, detector: Detector) -> bool {
        match detector {
            Detector::Confirmation => self.confirmation.as_ref().is_some_and(|confirmation| confirmation.found),
            Detector::Blocker => self.blocker.blocked,
            Detector::Destructive => self.destructive.destructive,
            Detector::BannedPhrases => self.banned_phrases.as_ref().is_some_and(|banned| banned.count > 0),
            Detector::PhaseMarker => self.phase_marker.as_ref().is_some_and(|marker| !marker.declared.is_empty()),
            Detector::Completion => self.completion.as_ref().is_some_and(|completion| completion.complete),
        }
    }

    /// Returns the detectors that fired, in the order of [`Detector::ALL`], each with its payload as recorded.
    pub fn fired(&self) -> impl Iterator<Item = (Detector, Value)> + '_ {
        Detector::ALL
            .into_iter()
            .filter(|detector| self.has_fired(*detector))
            .map(|detector| (detector, self.payload(detector)))
    }

    /// Returns the finding of `detector`, as it is recorded; `null` if it did not look.
    #[must_use]
    pub fn payload(&self, detector: Detector) -> Value {
        let payload = match detector {
            Detector::Confirmation => serde_json::to_value(&self.confirmation),
            Detector::Blocker => serde_json::to_value(&self.blocker),
            Detector::Destructive => serde_json::to_value(&self.destructive),
            Detector::BannedPhrases => serde_json::to_value(&self.banned_phrases),
            Detector::PhaseMarker => serde_json::to_value(&self.phase_marker),
            Detector::Completion => serde_json::to_value(&self.completion),
        };
        // Strings, numbers and lists under string keys: there is nothing in a payload that JSON can't hold.
        payload.unwrap_or(Value::Null)
    }
}
