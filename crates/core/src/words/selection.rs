//! An answer to several acts at once: yes to some of them, no to the others, each with its own word.
//!
//! In: a line such as `1,3`, `1 again, 2` or `1; no 2: use git mv`. Out: the word on each act that it names. Whatever is not
//! named is a no, and so is an act of which something is said without a yes: doubt refuses.
//!
//! Begin with [`Selection::read`].

use std::collections::BTreeMap;
use std::fmt;

/// The highest number of an act that is read: more are never asked about at once.
const NUMBER_MAX: u32 = 999;

/// Words that change nothing before numbers, and behind them.
const YES_BEFORE: [&str; 6] = ["yes ", "yes, ", "y ", "ok ", "only ", "just "];
const YES_BEHIND: [&str; 2] = [" please", " only"];

/// The operator's word on one act.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ActWord {
    /// Yes, this once.
    Once,
    /// Yes, and to the same act again for the rest of the run.
    Again,
    /// No, with what the agent is told.
    No {
        /// The operator's words on it.
        note: Option<String>,
    },
}

/// The words on the acts that a line names, by number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selection(BTreeMap<u32, ActWord>);

impl Selection {
    /// Reads a line; `None` if it is no selection. Clauses stand between semicolons: numbers are a yes (`1,3`, `2-4`), with
    /// `again` behind them to the same act again, and with `no` before them or words behind a colon a no.
    #[must_use]
    pub fn read(line: &str) -> Option<Self> {
        let mut words = BTreeMap::new();
        for clause in line.split(';').map(str::trim).filter(|clause| !clause.is_empty()) {
            let (named, note) = match clause.split_once(':') {
                Some((named, note)) => (named, Some(note.trim()).filter(|note| !note.is_empty())),
                None => (clause, None),
            };
            let named = named.trim().to_lowercase();
            let refused = ["no ", "n "].iter().find_map(|no| named.strip_prefix(no));
            let is_no = refused.is_some() || clause.contains(':');
            let named = refused.unwrap_or(&named);
            let named = YES_BEFORE.iter().find_map(|yes| named.strip_prefix(yes)).filter(|_| !is_no).unwrap_or(named);
            let named = YES_BEHIND.iter().find_map(|word| named.strip_suffix(word)).unwrap_or(named);
            for item in named.replace(" and ", ",").replace('&', ",").split(',') {
                let (numbers, is_again) = match item.trim().strip_suffix(" again") {
                    Some(numbers) => (numbers.trim(), true),
                    None => (item.trim(), false),
                };
                let word = match (is_no, is_again) {
                    (true, false) => ActWord::No { note: note.map(str::to_owned) },
                    (false, true) => ActWord::Again,
                    (false, false) => ActWord::Once,
                    (true, true) => return None,
                };
                for number in range(numbers)? {
                    // Said twice and not the same is no answer.
                    if words.insert(number, word.clone()).is_some_and(|before| before != word) {
                        return None;
                    }
                }
            }
        }
        (!words.is_empty()).then_some(Self(words))
    }

    /// Returns the highest number that is named.
    #[must_use]
    pub fn max(&self) -> u32 {
        self.0.keys().next_back().copied().unwrap_or(0)
    }

    /// Returns the word on the act with this number.
    #[must_use]
    pub fn word(&self, number: u32) -> ActWord {
        self.0.get(&number).cloned().unwrap_or(ActWord::No { note: None })
    }

    /// Returns true if it is a yes to the same act again, for any of the acts.
    #[must_use]
    pub fn has_again(&self) -> bool {
        self.0.values().any(|word| *word == ActWord::Again)
    }
}

/// The numbers from `2` or `2-4`; `None` if they are none.
fn range(text: &str) -> Option<std::ops::RangeInclusive<u32>> {
    let number = |text: &str| {
        let text = text.trim();
        let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse().ok().filter(|number| is_number && (1..=NUMBER_MAX).contains(number))
    };
    let (first, last) = match text.split_once('-') {
        Some((first, last)) => (number(first)?, number(last)?),
        None => (number(text)?, number(text)?),
    };
    (first <= last).then_some(first..=last)
}

impl fmt::Display for Selection {
    /// As it may be typed: the numbers with a yes first, then each no that was named.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut clauses: Vec<String> = Vec::new();
        let yes: Vec<String> = self
            .0
            .iter()
            .filter_map(|(number, word)| match word {
                ActWord::Once => Some(number.to_string()),
                ActWord::Again => Some(format!("{number} again")),
                ActWord::No { .. } => None,
            })
            .collect();
        if !yes.is_empty() {
            clauses.push(yes.join(", "));
        }
        for (number, word) in &self.0 {
            match word {
                ActWord::No { note: Some(note) } => clauses.push(format!("no {number}: {note}")),
                ActWord::No { note: None } => clauses.push(format!("no {number}")),
                ActWord::Once | ActWord::Again => {}
            }
        }
        f.write_str(&clauses.join("; "))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_line_names_acts_and_whatever_it_does_not_name_is_a_no() {
        for (line, expected) in [
            ("1", Some("1")),
            (" 1 , 3 ", Some("1, 3")),
            ("2-4", Some("2, 3, 4")),
            ("1 again, 3", Some("1 again, 3")),
            ("1 AGAIN", Some("1 again")),
            ("1; no 2: use git mv", Some("1; no 2: use git mv")),
            ("1,3; 2: use `a; b`", None),
            ("2: keep the first line", Some("no 2: keep the first line")),
            ("no 1, 2", Some("no 1; no 2")),
            ("n 3", Some("no 3")),
            ("1, 1", Some("1")),
            ("1 and 3", Some("1, 3")),
            ("1, 2 and 4", Some("1, 2, 4")),
            ("1 & 2", Some("1, 2")),
            ("yes 1", Some("1")),
            ("Only 2", Some("2")),
            ("1 please", Some("1")),
            ("1 2 again", None),
            ("yes, both", None),
            ("no only 1", None),
            (",", None),
            ("1; no 1", None),
            ("no 1 again", None),
            ("", None),
            (";", None),
            ("0", None),
            ("1000", None),
            ("4-2", None),
            ("1 2", None),
            ("+1", None),
            ("1,", None),
            ("y", None),
            ("1 file is enough", None),
        ] {
            assert_eq!(Selection::read(line).map(|read| read.to_string()).as_deref(), expected, "{line:?}");
        }
        let read = Selection::read("1 again, 3").expect("a selection");
        assert_eq!(
            (read.word(1), read.word(2), read.word(3)),
            (ActWord::Again, ActWord::No { note: None }, ActWord::Once)
        );
        assert_eq!((read.max(), read.has_again()), (3, true));
    }

    proptest! {
        #[test]
        fn what_is_written_reads_the_same(line in "[1-9]( again)?(, [1-9]{1,2})?(; (no )?[1-9]: [a-z ]{1,9})?") {
            if let Some(read) = Selection::read(&line) {
                prop_assert_eq!(Selection::read(&read.to_string()), Some(read));
            }
        }
    }
}
