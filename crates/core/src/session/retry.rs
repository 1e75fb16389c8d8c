//! What follows a turn that failed: another attempt, now or after a wait, another agent, or a question.

use jiff::Timestamp;

use super::setup::TURN_ATTEMPTS_MAX;
use crate::procedure::{Part, Slot};
use crate::tool::content_hash;
use crate::trace::FailureKind;

/// How often a turn is asked for while the provider is busy and nobody else is there to ask: with the waits
/// below about four minutes, which outlasts most overloads.
pub const BUSY_ATTEMPTS_MAX: u32 = 8;
/// The first wait, in milliseconds; each further one is twice as long. The official clients begin with half a
/// second to a second.
pub const WAIT_FIRST_MS: u64 = 1_000;
/// The longest wait that is not asked for, in milliseconds.
pub const WAIT_MAX_MS: u64 = 60_000;
/// The longest wait that a provider may ask for, in milliseconds: what asks for more is the operator's, or
/// another agent's.
pub const WAIT_ASKED_MAX_MS: u64 = 10 * 60 * 1_000;

/// How a turn failed the last time.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Failed {
    pub(super) kind: FailureKind,
    pub(super) message: String,
    pub(super) retry_after_ms: Option<u64>,
    pub(super) at: Timestamp,
}

impl Failed {
    /// Whether this agent is not asked again after `failures` failures in a row. `is_last`: nobody is left to fall
    /// back on.
    pub(super) fn is_final(&self, failures: u32, is_last: bool) -> bool {
        let most = match self.kind {
            FailureKind::Permanent => 0,
            FailureKind::Busy if is_last => BUSY_ATTEMPTS_MAX,
            FailureKind::Busy
            | FailureKind::Transient
            | FailureKind::Unreached
            | FailureKind::TooLong
            | FailureKind::Cancelled => TURN_ATTEMPTS_MAX,
        };
        failures >= most || self.retry_after_ms.is_some_and(|asked| asked > WAIT_ASKED_MAX_MS)
    }

    /// How long to wait before the next attempt, in milliseconds, after `failures` failures in a row. What the
    /// provider asks for is kept to; else the wait doubles. Neither is exact, so that many who were turned away
    /// together don't come back together: the difference comes from where and when it failed.
    pub(super) fn wait_ms(&self, part: &Part, slot: Slot, failures: u32) -> u64 {
        // A request that was too long is another one now.
        if self.kind == FailureKind::TooLong {
            return 0;
        }
        let spread = spread(&format!("{part} {slot} {}", self.at.as_millisecond()));
        match self.retry_after_ms {
            // Never less than asked for, and up to a tenth more.
            Some(asked) => asked + asked * spread / 10_240,
            None => {
                let doubled = WAIT_FIRST_MS.saturating_mul(1 << failures.saturating_sub(1).min(16)).min(WAIT_MAX_MS);
                // Between half of it and all of it.
                doubled / 2 + doubled * spread / 2_048
            }
        }
    }
}

/// A number from 0 to 1,023 that the same text always gives.
fn spread(text: &str) -> u64 {
    u64::from_str_radix(&content_hash(text.as_bytes())[..3], 16).unwrap_or(0) % 1_024
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::procedure::What;

    fn failed(kind: FailureKind, retry_after_ms: Option<u64>) -> Failed {
        Failed { kind, message: String::new(), retry_after_ms, at: Timestamp::UNIX_EPOCH }
    }

    fn slot(attempt: u32) -> Slot {
        Slot { what: What::Turn, number: 1, attempt }
    }

    #[test]
    fn waits_double_up_to_a_limit_and_lie_between_half_and_all() {
        let failed = failed(FailureKind::Transient, None);
        let mut different = std::collections::BTreeSet::new();
        for failures in 1..40 {
            let whole = (1_000 << (failures - 1).min(10)).min(60_000);
            let wait = failed.wait_ms(&Part::root(), slot(failures), failures);
            assert!((whole / 2..=whole).contains(&wait), "{failures}: {wait} of {whole}");
            different.insert(wait);
        }
        assert!(different.len() > 20, "{different:?}");
    }

    #[test]
    fn what_the_provider_asks_for_is_the_least() {
        for asked in [0, 1, 7_000, WAIT_ASKED_MAX_MS] {
            let failed = failed(FailureKind::Busy, Some(asked));
            for attempt in 1..50 {
                let wait = failed.wait_ms(&Part::root(), slot(attempt), attempt);
                assert!((asked..=asked + asked / 10).contains(&wait), "{wait} for {asked}");
            }
        }
    }

    #[test]
    fn who_is_given_up_depends_on_who_is_left() {
        for (kind, retry_after_ms, failures, is_last, expected) in [
            (FailureKind::Transient, None, 2, true, false),
            (FailureKind::Transient, None, 3, true, true),
            (FailureKind::Busy, None, 7, true, false),
            (FailureKind::Busy, None, 8, true, true),
            (FailureKind::Busy, None, 3, false, true),
            (FailureKind::Busy, Some(WAIT_ASKED_MAX_MS + 1), 1, true, true),
            (FailureKind::Permanent, None, 0, true, true),
            (FailureKind::TooLong, None, 2, true, false),
        ] {
            assert_eq!(failed(kind, retry_after_ms).is_final(failures, is_last), expected, "{kind:?} {failures}");
        }
    }
}
