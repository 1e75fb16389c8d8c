//! Selects the ended runs that are too old, or too much, to be kept.
//!
//! In: the runs that may be removed, with their age and size, and the contents that several may name. Out: those of
//! them to remove, and the bytes that this frees. The caller, who knows the runs, decides which may be removed at all.
//!
//! Begin with [`select`].

use jiff::Timestamp;

/// Something that may be removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prunable {
    /// Time of its last change.
    pub updated_at: Timestamp,
    /// Number of bytes that only this one needs.
    pub bytes: u64,
    /// The places of the contents that it names.
    pub contents: Vec<usize>,
}

/// Something that several may name, and that goes with the last of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SharedContent {
    /// Its length in bytes.
    pub bytes: u64,
    /// Number of those that name it, including those that may not be removed.
    pub named_by: u64,
}

/// The limit of age or size that decides which go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// Those that last changed before this moment go.
    OlderThan(Timestamp),
    /// The oldest go, until no more than so many bytes are left in all.
    KeepBytes(u64),
}

/// One that goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Goes {
    /// Its place.
    pub index: usize,
    /// Number of bytes that its removal frees, once those before it are gone.
    pub bytes: u64,
    /// Number of contents that go with it.
    pub contents: u64,
}

/// Those that go, the oldest first. `others` is how many bytes stay whatever is removed.
#[must_use]
pub fn select(all: &[Prunable], contents: &[SharedContent], others: u64, limit: Limit) -> Vec<Goes> {
    let mut oldest: Vec<usize> = (0..all.len()).collect();
    oldest.sort_by_key(|index| (all[*index].updated_at, *index));
    let own = all.iter().map(|one| one.bytes);
    let mut kept = own.chain(contents.iter().map(|content| content.bytes)).fold(others, u64::saturating_add);
    let mut named_by: Vec<u64> = contents.iter().map(|content| content.named_by).collect();
    let mut goes = Vec::new();
    for index in oldest {
        let is_over = match limit {
            Limit::OlderThan(moment) => all[index].updated_at < moment,
            Limit::KeepBytes(bytes) => kept > bytes,
        };
        if !is_over {
            break;
        }
        let mut one = Goes { index, bytes: all[index].bytes, contents: 0 };
        for place in &all[index].contents {
            named_by[*place] = named_by[*place].saturating_sub(1);
            if named_by[*place] == 0 {
                one.bytes = one.bytes.saturating_add(contents[*place].bytes);
                one.contents += 1;
            }
        }
        kept = kept.saturating_sub(one.bytes);
        goes.push(one);
    }
    goes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).expect("a time")
    }

    fn three() -> [Prunable; 3] {
        [(30, 5), (10, 7), (20, 1)].map(|(second, bytes)| Prunable {
            updated_at: at(second),
            bytes,
            contents: Vec::new(),
        })
    }

    #[track_caller]
    fn check(limit: Limit, others: u64, expected: &[usize]) {
        let goes: Vec<usize> = select(&three(), &[], others, limit).iter().map(|one| one.index).collect();
        assert_eq!(goes, expected);
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

    #[test]
    fn a_content_counts_once_and_is_free_with_the_last_that_names_it() {
        let mut all = three();
        all[1].contents = vec![0, 1];
        all[2].contents = vec![0];
        all[0].contents = vec![1];
        let contents = [SharedContent { bytes: 100, named_by: 2 }, SharedContent { bytes: 1000, named_by: 3 }];
        let goes = |bytes| select(&all, &contents, 0, Limit::KeepBytes(bytes));
        let (first, second) = (Goes { index: 1, bytes: 7, contents: 0 }, Goes { index: 2, bytes: 101, contents: 1 });
        assert_eq!(goes(1113), []);
        assert_eq!(goes(1112), [first]);
        assert_eq!(goes(1106), [first]);
        assert_eq!(goes(1105), [first, second]);
        // Somebody who stays names the other one.
        assert_eq!(goes(0), [first, second, Goes { index: 0, bytes: 5, contents: 0 }]);
    }
}
