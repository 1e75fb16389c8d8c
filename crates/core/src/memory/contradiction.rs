//! Finds entries that contradict each other, by two simple rules.
//!
//! In: entries. Out: pairs of ids, for an agent to put under its unknowns and an operator to settle. It decides nothing
//! and leaves out no entry: a pair too many costs a question, and a pair too few leaves things as they were.
//!
//! - *Opposite*: one says that something must or always shall be, the other that it must not or never shall, of the
//!   same words. Small words, order and plurals don't count; the words of one may be among those of the other, if they
//!   are at least two.
//! - *Value*: both set the same key, as `key: value`, `key = value` or `use VALUE for KEY`, to values of which neither
//!   is the other with more said.
//!
//! Only English markers are known. A rule without a marker (`Tabs are bad`), other words for the same thing (`ship`,
//! `deploy`), conditions and numbers (`at most 80`, `at least 100`) are not understood.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::record::{MemoryCategory, Record, RecordId};

/// Most contradictions that are reported; a memory with more has to be tidied up first.
const CONTRADICTIONS_MAX: usize = 10;
/// Number of sentences of an entry that are read.
const SENTENCES_MAX: usize = 20;
/// The most words of a key. What stands before a colon and is longer is a sentence.
const KEY_WORDS_MAX: usize = 5;
/// The most words of a value.
const VALUE_WORDS_MAX: usize = 8;

/// Two entries that can't both hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contradiction {
    /// The one that was written later.
    pub newer: RecordId,
    /// The other.
    pub older: RecordId,
    /// By which rule.
    pub rule: ContradictionRule,
}

/// By which rule two entries contradict each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ContradictionRule {
    /// One demands what the other forbids.
    Opposite,
    /// They set the same key to different values.
    Value,
}

impl ContradictionRule {
    /// Describes how two entries contradict each other, as half a sentence.
    #[must_use]
    pub const fn said(self) -> &'static str {
        match self {
            Self::Opposite => "one demands what the other forbids",
            Self::Value => "they set the same thing to different values",
        }
    }
}

/// Returns the contradictions among `records`: pairs of which at least one is a decision or a constraint, the first
/// ten.
#[must_use]
pub fn contradictions(records: &[Record]) -> Vec<Contradiction> {
    let claims: Vec<Vec<Claim>> = records.iter().map(|record| claims(record.said.text())).collect();
    let binds = |record: &Record| record.said.category() != MemoryCategory::Knowledge;
    let mut found = Vec::new();
    for (place, (one, said)) in records.iter().zip(&claims).enumerate() {
        for (other, others) in records.iter().zip(&claims).skip(place + 1) {
            if found.len() == CONTRADICTIONS_MAX {
                return found;
            }
            if !binds(one) && !binds(other) {
                continue;
            }
            if let Some(rule) = said.iter().find_map(|claim| others.iter().find_map(|other| claim.against(other))) {
                let (newer, older) = if one.at < other.at { (other, one) } else { (one, other) };
                found.push(Contradiction { newer: newer.id.clone(), older: older.id.clone(), rule });
            }
        }
    }
    found
}

type ClaimWords = BTreeSet<String>;

/// Claim of a sentence, as far as the rules understand it.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Claim {
    /// Something must be, or must not.
    Demand { forbids: bool, subject: ClaimWords },
    /// Something is set to a value.
    Value { key: ClaimWords, value: ClaimWords },
}

impl Claim {
    fn against(&self, other: &Self) -> Option<ContradictionRule> {
        match (self, other) {
            (Self::Demand { forbids, subject }, Self::Demand { forbids: others, subject: others_subject }) => {
                (forbids != others && is_same(subject, others_subject)).then_some(ContradictionRule::Opposite)
            }
            (Self::Value { key, value }, Self::Value { key: others_key, value: others_value }) => {
                let differs = !value.is_subset(others_value) && !others_value.is_subset(value);
                (key == others_key && differs).then_some(ContradictionRule::Value)
            }
            (Self::Demand { .. }, Self::Value { .. }) | (Self::Value { .. }, Self::Demand { .. }) => None,
        }
    }
}

/// Returns true if two subjects are the same.
fn is_same(one: &ClaimWords, other: &ClaimWords) -> bool {
    let (fewer, more) = if one.len() <= other.len() { (one, other) } else { (other, one) };
    one == other || (fewer.len() >= 2 && fewer.is_subset(more))
}

fn claims(text: &str) -> Vec<Claim> {
    let mut claims: Vec<Claim> = Vec::new();
    for sentence in sentences(text).take(SENTENCES_MAX) {
        claims.extend(demand(sentence));
        claims.extend(value(sentence));
    }
    claims
}

/// Returns the sentences of a text: up to a line's end, a semicolon, or a full stop before a space.
fn sentences(text: &str) -> impl Iterator<Item = &str> {
    let by_line = text.split(['\n', '\r', ';']);
    by_line
        .flat_map(|line| line.split(". "))
        .map(|sentence| sentence.trim_matches(['.', '!', ' ', '-', '*']))
        .filter(|sentence| !sentence.is_empty())
}

/// Words that forbid and words that demand, longest first, so that `must not` is no `must`.
const MARKERS: [(&[&str], bool); 19] = [
    (&["must", "not"], true),
    (&["may", "not"], true),
    (&["do", "not"], true),
    (&["shall", "not"], true),
    (&["should", "not"], true),
    (&["can", "not"], true),
    (&["no", "longer"], true),
    (&["mustn't"], true),
    (&["don't"], true),
    (&["shouldn't"], true),
    (&["can't"], true),
    (&["cannot"], true),
    (&["never"], true),
    (&["avoid"], true),
    (&["always"], false),
    (&["must"], false),
    (&["shall"], false),
    (&["should"], false),
    (&["required"], false),
];

/// Words that say nothing of what a sentence is about.
const SMALL: [&str; 34] = [
    "a", "an", "the", "to", "be", "is", "are", "was", "we", "you", "it", "its", "in", "on", "at", "of", "for", "and",
    "or", "with", "this", "that", "these", "by", "from", "as", "not", "no", "any", "all", "our", "their", "there",
    "so",
];

/// Words before a colon that are no key.
const NO_KEYS: [&str; 12] =
    ["note", "todo", "warning", "tip", "hint", "example", "fix", "reason", "see", "important", "http", "https"];

fn demand(sentence: &str) -> Option<Claim> {
    let words = words(sentence);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    // A marker that forbids speaks for the whole sentence: `must never` forbids.
    let (marker, forbids) = MARKERS.into_iter().find(|(marker, _)| find(&words, marker).is_some())?;
    let is_marker = |word: &str| marker.contains(&word) || MARKERS.iter().any(|(one, _)| one == &[word]);
    let subject = meaning(words.iter().copied().filter(|word| !is_marker(word)));
    (!subject.is_empty()).then_some(Claim::Demand { forbids, subject })
}

fn find(words: &[&str], marker: &[&str]) -> Option<usize> {
    words.windows(marker.len()).position(|window| window == marker)
}

fn value(sentence: &str) -> Option<Claim> {
    let (key, value) = assigned(sentence).or_else(|| used_for(sentence))?;
    let (key, value) = (words(key), words(value));
    let fits = (1..=KEY_WORDS_MAX).contains(&key.len()) && (1..=VALUE_WORDS_MAX).contains(&value.len());
    if !fits || key.iter().any(|word| NO_KEYS.contains(&word.as_str())) {
        return None;
    }
    let (key, value) = (meaning(key.iter().map(String::as_str)), meaning(value.iter().map(String::as_str)));
    (!key.is_empty() && !value.is_empty()).then_some(Claim::Value { key, value })
}

/// `key: value` and `key = value`. A colon without a space is part of an address or a path, `==` and the like compare.
fn assigned(sentence: &str) -> Option<(&str, &str)> {
    if let Some(split) = sentence.split_once(": ") {
        return Some(split);
    }
    let (key, value) = sentence.split_once('=')?;
    let compares = key.ends_with(['!', '<', '>', '=']) || value.starts_with(['=', '>', '~']);
    (!compares).then_some((key, value))
}

/// `use VALUE for KEY`.
fn used_for(sentence: &str) -> Option<(&str, &str)> {
    let rest = sentence.get(..4).filter(|begin| begin.eq_ignore_ascii_case("use ")).and(sentence.get(4..))?;
    let (value, key) = rest.split_once(" for ")?;
    Some((key, value))
}

/// Returns the words of a text in lower case; an apostrophe, a hyphen, a dot, a slash or an underscore within a word
/// belongs to it.
fn words(text: &str) -> Vec<String> {
    let text = text.to_lowercase().replace('\u{2019}', "'");
    let is_part = |c: char| c.is_alphanumeric() || "'-._/".contains(c);
    let split = text.split(|c: char| !is_part(c));
    split
        .map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()).to_owned())
        .filter(|word| !word.is_empty())
        .collect()
}

/// Reduces words to their meaning: small ones dropped, plurals as singulars.
fn meaning<'a>(words: impl Iterator<Item = &'a str>) -> ClaimWords {
    let large = words.filter(|word| !SMALL.contains(word));
    large
        .map(|word| match word.strip_suffix('s') {
            Some(one) if one.len() >= 3 && !one.ends_with('s') => one.to_owned(),
            _ => word.to_owned(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use proptest::prelude::*;

    use super::super::record::RecordContent;
    use super::*;

    fn record(place: usize, said: RecordContent) -> Record {
        Record {
            id: format!("r{place}").parse().expect("an id"),
            at: Timestamp::from_second(i64::try_from(place).expect("small")).expect("a time"),
            said,
            brief_id: None,
            supersedes: None,
            superseded_by: None,
            rest: serde_json::Map::new(),
        }
    }

    fn constraint(rule: &str) -> RecordContent {
        RecordContent::Constraint { rule: rule.to_owned(), rationale: None }
    }

    #[track_caller]
    fn check(one: &str, other: &str, expected: Option<ContradictionRule>) {
        for (one, other) in [(one, other), (other, one)] {
            let found = contradictions(&[record(1, constraint(one)), record(2, constraint(other))]);
            assert_eq!(found.first().map(|found| found.rule), expected, "{one:?} {other:?}");
            for found in found {
                assert_eq!((found.newer.as_str(), found.older.as_str()), ("r2", "r1"));
            }
        }
    }

    #[test]
    fn what_one_demands_and_the_other_forbids_is_one() {
        let opposite = Some(ContradictionRule::Opposite);
        check("Never force-push to main.", "Always force-push to main", opposite);
        check("Releases must be signed", "A release must not be signed!", opposite);
        check("You must never edit the lock file", "The lock file should be edited.", None);
        check("You must never edit the lock file", "You should edit the lock file.", opposite);
        check("Don\u{2019}t mock the database", "Tests are slow. Always mock the database in unit tests", opposite);
        check("never deploy", "always deploy", opposite);
        check("never deploy", "always deploy on Fridays", None);
        check("Never deploy", "Never deploy on Fridays", None);
        check("Always run the tests", "Never push to main", None);
        check("Tabs are bad", "Tabs are good", None);
    }

    #[test]
    fn one_key_with_two_values_is_one() {
        let value = Some(ContradictionRule::Value);
        check("Line width: 100", "line width = 120", value);
        check("Use Postgres for storage", "use SQLite for the storage.", value);
        check("Storage: SQLite", "Use Postgres for storage", value);
        check("Use Postgres for storage", "Use Postgres 16 for storage", None);
        check("Line width: 100", "Line width: 100.", None);
        check("Line width: 100", "Tab width: 4", None);
        check("Note: the API is slow", "Note: the docs are old", None);
        check("See https://a.example/x", "See https://b.example/y", None);
        check("if a == b", "if a == c", None);
    }

    #[test]
    fn what_was_only_found_out_contradicts_only_what_binds() {
        let found_out = |content: &str| RecordContent::Knowledge { content: content.to_owned() };
        let decided = RecordContent::Decision { summary: "Port: 8080".to_owned(), rationale: "r".to_owned() };
        let known = [record(1, found_out("Port: 80")), record(2, found_out("Port: 443"))];
        assert_eq!(contradictions(&known), []);
        let [one, other] = known;
        assert_eq!(contradictions(&[one, other, record(3, decided)]).len(), 2);
    }

    #[test]
    fn a_memory_full_of_contradictions_is_told_up_to_a_number() {
        let rules = (0..20).map(|place| record(place, constraint(&format!("port: {place}"))));
        assert_eq!(contradictions(&rules.collect::<Vec<_>>()).len(), CONTRADICTIONS_MAX);
    }

    proptest! {
        #[test]
        fn no_entry_contradicts_itself(text in "[a-z:=.; \n']{0,80}") {
            let pair = [record(1, constraint(&text)), record(2, constraint(&text))];
            // Unless it does so within itself.
            let said = claims(&text);
            let within = said.iter().any(|one| said.iter().any(|other| one.against(other).is_some()));
            prop_assert_eq!(contradictions(&pair).is_empty(), !within);
        }

        #[test]
        fn any_text_is_read(one in ".{0,120}", other in ".{0,120}") {
            let found = contradictions(&[record(1, constraint(&one)), record(2, constraint(&other))]);
            prop_assert!(found.len() <= 1);
        }
    }
}
