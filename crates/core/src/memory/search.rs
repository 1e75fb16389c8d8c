//! Ranks entries by how well they fit a few words: Okapi BM25 over the words of each entry.
//!
//! Our own, because it is one formula over a few thousand short texts: no crate that does only this is among those that
//! this project builds with, and those that do more bring an index and a tokenizer for it.

use std::collections::BTreeMap;

use super::record::Record;

/// Saturation: the lower, the sooner repetitions of a word stop counting (the usual value).
const K1: f64 = 1.2;
/// Length normalization: the higher, the more long entries are held back (the usual value).
const B: f64 = 0.75;

/// An entry that fits, and how well.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hit<'r> {
    /// The entry.
    pub record: &'r Record,
    /// Goodness of the fit: only comparable within the same search.
    pub score: f64,
}

/// Returns the entries of `records` that hold any of the words of `query`, best first; of two that fit equally well,
/// the newer one. Words are letters and digits, in any case; a text without spaces between its words is one word.
#[must_use]
pub fn rank<'r>(records: &[&'r Record], query: &str) -> Vec<Hit<'r>> {
    let mut sought: Vec<String> = words(query).collect();
    sought.sort();
    sought.dedup();
    let counted: Vec<(BTreeMap<String, u32>, u32)> = records.iter().map(|record| count(record)).collect();
    let total = counted.len() as f64;
    let average = counted.iter().map(|(_, length)| f64::from(*length)).sum::<f64>() / total.max(1.0);
    let weights: Vec<(String, f64)> = sought
        .into_iter()
        .map(|word| {
            let holding = counted.iter().filter(|(words, _)| words.contains_key(&word)).count() as f64;
            let weight = (1.0 + (total - holding + 0.5) / (holding + 0.5)).ln();
            (word, weight)
        })
        .collect();
    let score = |(words, length): &(BTreeMap<String, u32>, u32)| -> f64 {
        let held_back = K1 * (1.0 - B + B * f64::from(*length) / average.max(1.0));
        let of = |(word, weight): &(String, f64)| {
            let often = f64::from(words.get(word).copied().unwrap_or(0));
            weight * often * (K1 + 1.0) / (often + held_back)
        };
        weights.iter().map(of).sum()
    };
    let scored = records.iter().zip(&counted).map(|(record, counted)| Hit { record, score: score(counted) });
    let mut hits: Vec<Hit<'r>> = scored.filter(|hit| hit.score > 0.0).collect();
    hits.sort_by(|one, other| {
        let by_score = other.score.total_cmp(&one.score);
        by_score.then_with(|| other.record.at.cmp(&one.record.at)).then_with(|| one.record.id.cmp(&other.record.id))
    });
    hits
}

fn count(record: &Record) -> (BTreeMap<String, u32>, u32) {
    let mut counted: BTreeMap<String, u32> = BTreeMap::new();
    let mut length = 0;
    for word in record.said.fields().into_iter().flat_map(|(_, text)| words(text)) {
        *counted.entry(word).or_default() += 1;
        length += 1;
    }
    (counted, length)
}

fn words(text: &str) -> impl Iterator<Item = String> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_lowercase)
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use proptest::prelude::*;

    use super::super::record::RecordContent;
    use super::*;

    fn record(place: i64, content: &str) -> Record {
        Record {
            id: format!("r{place}").parse().expect("an id"),
            at: Timestamp::from_second(place).expect("a time"),
            said: RecordContent::Knowledge { content: content.to_owned() },
            brief_id: None,
            supersedes: None,
            superseded_by: None,
            rest: serde_json::Map::new(),
        }
    }

    #[track_caller]
    fn check(texts: &[&str], query: &str, expected: &[&str]) {
        let records: Vec<Record> = (0..).zip(texts).map(|(place, text)| record(place, text)).collect();
        let hits = rank(&records.iter().collect::<Vec<_>>(), query);
        assert_eq!(hits.iter().map(|hit| hit.record.said.text()).collect::<Vec<_>>(), expected, "{query}");
    }

    #[test]
    fn the_best_fit_comes_first() {
        let texts = ["the cache is cold after a deploy", "deploy on Tuesdays", "the parser is slow", "the the the"];
        check(&texts, "Deploy cache", &[texts[0], texts[1]]);
        check(&texts, "slow parser", &[texts[2]]);
        check(&texts, "nothing of this", &[]);
        check(&texts, "  ", &[]);
        check(&[], "deploy", &[]);
    }

    #[test]
    fn rare_words_weigh_more_and_long_texts_less() {
        let texts = ["cache cache", "rare cold", "cache warm", "cache key"];
        check(&texts, "cache rare", &["rare cold", "cache cache", "cache key", "cache warm"]);
        let long = format!("cache {}", "word ".repeat(50));
        check(&[&long, "cache word"], "cache", &["cache word", &long]);
    }

    #[test]
    fn of_equals_the_newer_comes_first() {
        let records = [record(1, "same"), record(3, "same"), record(2, "same")];
        let hits = rank(&records.iter().collect::<Vec<_>>(), "same");
        assert_eq!(hits.iter().map(|hit| hit.record.id.as_str()).collect::<Vec<_>>(), ["r3", "r2", "r1"]);
    }

    proptest! {
        #[test]
        fn whatever_is_found_holds_a_word(texts in proptest::collection::vec("[a-d ]{0,12}", 0..12), query in "[a-f ]{0,8}") {
            let records: Vec<Record> = (0..).zip(&texts).map(|(place, text)| record(place, text)).collect();
            let hits = rank(&records.iter().collect::<Vec<_>>(), &query);
            let holds = |text: &str| words(text).any(|word| words(&query).any(|sought| sought == word));
            prop_assert_eq!(hits.len(), texts.iter().filter(|text| holds(text)).count());
            prop_assert!(hits.iter().all(|hit| hit.score.is_finite() && holds(hit.record.said.text())));
            prop_assert!(hits.is_sorted_by(|one, next| one.score >= next.score));
        }
    }
}
