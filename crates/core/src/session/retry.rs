//! Decides what follows a turn that failed: another attempt, now or after a wait, another agent, or a question.

use jiff::Timestamp;

use super::setup::TURN_ATTEMPTS_MAX;
use crate::words::tool::content_hash;
use crate::words::{FailureKind, Part, Slot};

/// Longest wait for a provider that can't be reached, is busy or breaks off, in milliseconds, if nothing else is set
/// and no operator is there to be asked. It outlasts most outages of a network and of a provider.
pub const PATIENCE_ALONE_MS: u64 = 30 * 60 * 1_000;
/// The same if the operator sits at the terminal: they would rather be asked soon.
pub const PATIENCE_ATTENDED_MS: u64 = 2 * 60 * 1_000;
/// The first wait, in milliseconds; each further one is twice as long. The official clients begin with half a
/// second to a second.
pub const WAIT_FIRST_MS: u64 = 1_000;
/// The longest wait that is not asked for, in milliseconds.
pub const WAIT_MAX_MS: u64 = 60_000;

/// Number of attempts at a turn whose reply may not be as long as asked for, if the provider doesn't say how long it
/// may be: halved each time, the usual allowance of 16,384 tokens gets down to 1,024.
pub const REPLY_ATTEMPTS_MAX: u32 = 5;

/// Last failure of a turn.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Failed {
    pub(super) kind: FailureKind,
    pub(super) message: String,
    pub(super) retry_after_ms: Option<u64>,
    pub(super) at: Timestamp,
    /// Time of the first of the failures in a row.
    pub(super) since: Timestamp,
}

/// Limits of waiting for a provider, or of asking it for something else.
#[derive(Debug, Clone, Copy)]
pub(super) struct Patience {
    /// Longest time in all, in milliseconds, from the first failure in a row.
    pub(super) ms: u64,
    /// True if no agent is left to fall back on: only then is the provider waited for at length.
    pub(super) is_last: bool,
    /// True if the next request may be shorter: something can be left out, or was left out since.
    pub(super) can_shrink: bool,
    /// True if the request may have been too long, can be shorter, and was not yet made shorter for that.
    pub(super) may_shrink: bool,
    /// Time that the run's limit of minutes leaves, in milliseconds, if there is one.
    pub(super) limit_ms: Option<u64>,
}

impl Failed {
    /// Returns true if this agent is not asked again after `failures` failures in a row.
    pub(super) fn is_final(&self, failures: u32, patience: Patience) -> bool {
        let left = self.patience_left_ms(patience);
        let asks_too_much = self.asked_beyond(patience).is_some();
        match self.kind {
            FailureKind::Permanent => true,
            FailureKind::Rejected => !patience.may_shrink,
            // The same request again is the same answer again.
            FailureKind::TooLong => failures >= TURN_ATTEMPTS_MAX || !patience.can_shrink,
            FailureKind::ReplyTooLong => failures >= REPLY_ATTEMPTS_MAX,
            // Out of reach, overloaded, rate-limited, broken off: one kind of waiting.
            FailureKind::Busy | FailureKind::Transient | FailureKind::Unreached if patience.is_last => {
                left == 0 || asks_too_much
            }
            // One that comes whole and is thrown away is paid for each time.
            FailureKind::Busy
            | FailureKind::Transient
            | FailureKind::Unreadable
            | FailureKind::Unreached
            | FailureKind::Cancelled => failures >= TURN_ATTEMPTS_MAX || asks_too_much,
        }
    }

    /// Returns the wait that the provider asks for, in milliseconds, if that is longer than what is left of the
    /// patience.
    pub(super) fn asked_beyond(&self, patience: Patience) -> Option<u64> {
        self.retry_after_ms.filter(|asked| *asked > self.patience_left_ms(patience))
    }

    /// Returns the rest of the patience since the first of these failures.
    fn patience_left_ms(&self, patience: Patience) -> u64 {
        let waited = self.at.as_millisecond().saturating_sub(self.since.as_millisecond());
        patience.ms.saturating_sub(u64::try_from(waited).unwrap_or(0))
    }

    /// Returns the wait before the next attempt, in milliseconds, after `failures` failures in a row. If the provider
    /// asks for a wait, it is kept to; else the wait doubles. Neither is exact, so that many who were turned away
    /// together don't come back together: the difference comes from where and when it failed. No wait is longer than
    /// the patience, so that the last attempt is at its end, or than the rest of a limit of minutes.
    pub(super) fn wait_ms(&self, part: &Part, slot: Slot, failures: u32, patience: Patience) -> u64 {
        let wait = self.unlimited_wait_ms(part, slot, failures);
        // A wait that a provider asks for at the very end is kept to.
        let left = self.patience_left_ms(patience).max(self.retry_after_ms.unwrap_or(0));
        wait.min(left).min(patience.limit_ms.unwrap_or(u64::MAX))
    }

    fn unlimited_wait_ms(&self, part: &Part, slot: Slot, failures: u32) -> u64 {
        // The next request is another one: shorter, or for a shorter reply.
        if matches!(self.kind, FailureKind::TooLong | FailureKind::ReplyTooLong | FailureKind::Rejected) {
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

/// Returns a number from 0 to 1,023 that the same text always gives.
fn spread(text: &str) -> u64 {
    u64::from_str_radix(&content_hash(text.as_bytes())[..3], 16).unwrap_or(0) % 1_024
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::What;

    const PATIENCE: Patience =
        Patience { ms: PATIENCE_ALONE_MS, is_last: true, can_shrink: true, may_shrink: false, limit_ms: None };

    fn failed(kind: FailureKind, retry_after_ms: Option<u64>) -> Failed {
        let (at, since) = (Timestamp::UNIX_EPOCH, Timestamp::UNIX_EPOCH);
        Failed { kind, message: String::new(), retry_after_ms, at, since }
    }

    /// Returns the same failure after so many milliseconds of failures.
    fn later(failed: &Failed, ms: u64) -> Failed {
        let at = Timestamp::from_millisecond(i64::try_from(ms).expect("a small number")).expect("a time");
        Failed { at, ..failed.clone() }
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
            let wait = failed.wait_ms(&Part::root(), slot(failures), failures, PATIENCE);
            assert!((whole / 2..=whole).contains(&wait), "{failures}: {wait} of {whole}");
            different.insert(wait);
        }
        assert!(different.len() > 20, "{different:?}");
    }

    #[test]
    fn what_the_provider_asks_for_is_the_least() {
        for asked in [0, 1, 7_000, 600_000] {
            let failed = failed(FailureKind::Busy, Some(asked));
            for attempt in 1..50 {
                let wait = failed.wait_ms(&Part::root(), slot(attempt), attempt, PATIENCE);
                assert!((asked..=asked + asked / 10).contains(&wait), "{wait} for {asked}");
            }
        }
    }

    #[test]
    fn no_wait_is_longer_than_the_patience_or_the_limit_of_minutes() {
        let failed = later(&failed(FailureKind::Unreached, None), PATIENCE_ALONE_MS - 5_000);
        let wait = |patience| failed.wait_ms(&Part::root(), slot(9), 9, patience);
        assert_eq!(wait(PATIENCE), 5_000);
        assert_eq!(wait(Patience { limit_ms: Some(700), ..PATIENCE }), 700);
        assert_eq!(wait(Patience { limit_ms: Some(0), ..PATIENCE }), 0);
    }

    #[test]
    fn who_is_given_up_depends_on_who_is_left_and_on_time() {
        let late = PATIENCE_ALONE_MS;
        for (kind, retry_after_ms, failures, at, is_last, expected) in [
            // If no other agent is left, time alone counts.
            (FailureKind::Transient, None, 99, late - 1, true, false),
            (FailureKind::Unreached, None, 99, late - 1, true, false),
            (FailureKind::Busy, None, 99, late - 1, true, false),
            (FailureKind::Transient, None, 1, late, true, true),
            (FailureKind::Unreached, None, 1, late, true, true),
            (FailureKind::Busy, None, 1, late, true, true),
            // Another agent is asked sooner.
            (FailureKind::Busy, None, 2, 5_000, false, false),
            (FailureKind::Busy, None, 3, 5_000, false, true),
            (FailureKind::Unreached, None, 3, 5_000, false, true),
            // What the provider asks for must fit.
            (FailureKind::Busy, Some(late), 1, 0, true, false),
            (FailureKind::Busy, Some(late + 1), 1, 0, true, true),
            (FailureKind::Busy, Some(10_000), 1, late - 9_999, true, true),
            (FailureKind::Permanent, None, 1, 0, true, true),
            (FailureKind::Unreadable, None, 2, 0, true, false),
            (FailureKind::Unreadable, None, 3, 0, true, true),
            (FailureKind::TooLong, None, 2, late, true, false),
            (FailureKind::TooLong, None, 3, 0, true, true),
            (FailureKind::ReplyTooLong, None, 4, 0, false, false),
            (FailureKind::ReplyTooLong, None, 5, 0, true, true),
            (FailureKind::Rejected, None, 1, 0, true, true),
        ] {
            let failed = later(&failed(kind, retry_after_ms), at);
            let patience = Patience { is_last, ..PATIENCE };
            assert_eq!(failed.is_final(failures, patience), expected, "{kind:?} {failures} at {at}");
        }
        let may_shrink = Patience { may_shrink: true, ..PATIENCE };
        assert!(!failed(FailureKind::Rejected, None).is_final(5, may_shrink), "a shorter request is another one");
        let cannot = Patience { can_shrink: false, ..PATIENCE };
        assert!(failed(FailureKind::TooLong, None).is_final(1, cannot), "nothing can be left out");
    }
}
