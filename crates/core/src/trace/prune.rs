//! Which ended runs are old enough, or too much, to be kept.
//!
//! In: what may be removed, with its age and size. Out: which of it goes. What may be removed at all is for whoever
//! knows the runs.
//!
//! Begin with [`select`].

use jiff::Timestamp;

/// Something that may be removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prunable {
    /// When it last changed.
    pub updated_at: Timestamp,
    /// How many bytes are free without it.
    pub bytes: u64,
}

/// What is too old, or too much.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// What last changed before this moment.
    OlderThan(Timestamp),
    /// What is more than so many bytes in all, the oldest first.
    KeepBytes(u64),
}

/// The places of those that go, the oldest first. `others` is how many bytes stay whatever is removed.
#[must_use]
pub fn select(all: &[Prunable], others: u64, limit: Limit) -> Vec<usize> {
    let mut oldest: Vec<usize> = (0..all.len()).collect();
    oldest.sort_by_key(|index| (all[*index].updated_at, *index));
    match limit {
        Limit::OlderThan(moment) => oldest.retain(|index| all[*index].updated_at < moment),
        Limit::KeepBytes(bytes) => {
            let mut kept = all.iter().fold(others, |sum, one| sum.saturating_add(one.bytes));
            let goes = oldest.iter().take_while(|index| {
                let is_too_much = kept > bytes;
                if is_too_much {
                    kept = kept.saturating_sub(all[**index].bytes);
                }
                is_too_much
            });
            let goes = goes.count();
            oldest.truncate(goes);
        }
    }
    oldest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).expect("a time")
    }

    #[track_caller]
    fn check(limit: Limit, others: u64, expected: &[usize]) {
        let all = [(30, 5), (10, 7), (20, 1)].map(|(second, bytes)| Prunable { updated_at: at(second), bytes });
        assert_eq!(select(&all, others, limit), expected);
    }

    #[test]
    fn the_old_go_and_no_more_than_must() {
        check(Limit::OlderThan(at(10)), 0, &[]);
        check(Limit::OlderThan(at(11)), 0, &[1]);
        check(Limit::OlderThan(at(99)), 0, &[1, 2, 0]);
        check(Limit::KeepBytes(13), 0, &[]);
        check(Limit::KeepBytes(12), 0, &[1]);
        check(Limit::KeepBytes(6), 0, &[1]);
        check(Limit::KeepBytes(5), 0, &[1, 2]);
        check(Limit::KeepBytes(0), 0, &[1, 2, 0]);
        check(Limit::KeepBytes(13), 1, &[1]);
        check(Limit::KeepBytes(1), u64::MAX, &[1, 2, 0]);
    }
}
