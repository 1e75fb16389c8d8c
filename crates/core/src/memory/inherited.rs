//! Entries that a run takes from its project's memory when it begins: the newest live entries, cut to a size.
//!
//! It is recorded as an event, so that the run can be resumed and replayed after the files have changed.

use super::contradiction::{Contradiction, contradictions};
use super::log::Log;
use super::record::{MemoryCategory, Record};
use super::render::entry;

/// Number of entries of a category that a run takes (the peer's number).
pub const INHERITED_MAX: usize = 20;
/// Number of bytes that it takes in all, as an agent is shown them: some 8000 tokens, a small part of any window of
/// today.
pub const INHERITED_BYTES_MAX: usize = 32 * 1024;
/// Longest part of one text that is taken, in characters. The whole can be read with a tool.
const TEXT_CHARS_MAX: usize = 2_000;

/// Entries that a run took from its project's memory.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Inherited {
    /// The project.
    pub project: String,
    /// The entries as they are shown, category by category, newest first.
    pub records: Vec<Record>,
    /// Number of further live entries.
    pub left_out: u64,
    /// Contradictions among the entries that are shown.
    pub contradictions: Vec<Contradiction>,
}

/// In which order room is given, should there be too little: what must hold comes first.
const BY_WEIGHT: [MemoryCategory; 3] =
    [MemoryCategory::Constraints, MemoryCategory::Decisions, MemoryCategory::Knowledge];

impl Inherited {
    /// Takes from `logs`, which has the file of each category.
    #[must_use]
    pub fn of<'l>(project: &str, logs: impl Fn(MemoryCategory) -> &'l Log) -> Self {
        let mut room = INHERITED_BYTES_MAX;
        let mut taken: Vec<Record> = Vec::new();
        let mut left_out = 0;
        for category in BY_WEIGHT {
            let live = logs(category).live();
            let shown: Vec<Record> = live.iter().take(INHERITED_MAX).map(|record| shortened(record)).collect();
            let mut count = 0;
            for record in shown {
                // Newest first without gaps: what comes after one that does not fit is older.
                let Some(rest) = room.checked_sub(entry(&record).len()) else { break };
                room = rest;
                count += 1;
                taken.push(record);
            }
            left_out += (live.len() - count) as u64;
        }
        taken.sort_by_key(|record| record.said.category());
        let contradictions = contradictions(&taken);
        Self { project: project.to_owned(), records: taken, left_out, contradictions }
    }

    /// Returns true if there is nothing to show.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }
}

/// Returns the entry as it is shown: long texts cut, fields that are never shown left out.
fn shortened(record: &Record) -> Record {
    let cut = |text: &str| match text.char_indices().nth(TEXT_CHARS_MAX) {
        None => text.to_owned(),
        Some((cut, _)) => format!("{}\u{2026} ({} bytes in all)", &text[..cut], text.len()),
    };
    Record { said: record.said.map(cut), rest: serde_json::Map::new(), ..record.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(category: MemoryCategory, count: usize, text: &str) -> Log {
        let field = match category {
            MemoryCategory::Decisions => format!("\"summary\":\"s\",\"rationale\":\"{text}\""),
            MemoryCategory::Knowledge => format!("\"content\":\"{text}\""),
            MemoryCategory::Constraints => format!("\"rule\":\"{text}\""),
        };
        let line = |place: usize| {
            format!(
                "{{\"id\":\"{category}-{place}\",\"at\":\"2024-05-06T{:02}:{:02}:00Z\",\"category\":\"{category}\",{field},\"metadata\":\"m\"}}\n",
                place / 60,
                place % 60
            )
        };
        Log::read(category, (0..count).map(line).collect::<String>().as_bytes())
    }

    fn inherited(counts: [usize; 3], text: &str) -> Inherited {
        let logs = [0, 1, 2].map(|place| log(MemoryCategory::ALL[place], counts[place], text));
        Inherited::of("orchard", |category| &logs[category as usize])
    }

    fn count(inherited: &Inherited, category: MemoryCategory) -> usize {
        inherited.records.iter().filter(|record| record.said.category() == category).count()
    }

    #[test]
    fn the_newest_twenty_of_each_category_are_taken() {
        let inherited = inherited([25, 3, 20], "t");
        assert_eq!(MemoryCategory::ALL.map(|category| count(&inherited, category)), [20, 3, 20]);
        assert_eq!(inherited.left_out, 5);
        assert_eq!(inherited.records[0].id.as_str(), "decisions-24");
        assert!(inherited.records.iter().all(|record| record.rest.is_empty()));
        assert!(inherited.records.is_sorted_by_key(|record| record.said.category()));
    }

    #[test]
    fn what_must_hold_comes_first_where_there_is_no_room_for_all() {
        let inherited = inherited([20, 20, 20], &"x".repeat(4_000));
        let shown = MemoryCategory::ALL.map(|category| count(&inherited, category));
        assert_eq!((shown, inherited.left_out), ([0, 0, 15], 45));
        let bytes: usize = inherited.records.iter().map(|record| record.said.text().len()).sum();
        assert!(bytes <= INHERITED_BYTES_MAX, "{bytes}");
        let first = inherited.records[0].said.text();
        assert!(first.ends_with("\u{2026} (4000 bytes in all)"), "{first}");
    }

    #[test]
    fn what_is_longer_when_it_is_shown_counts_as_it_is_shown() {
        let inherited = inherited([0, 0, 20], &"\\n\\u001bx".repeat(600));
        let shown: usize = inherited.records.iter().map(|record| entry(record).len()).sum();
        assert!(shown <= INHERITED_BYTES_MAX && !inherited.records.is_empty(), "{shown}");
        assert!(shown > 3 * inherited.records.iter().map(|record| record.said.text().len()).sum::<usize>(), "{shown}");
    }

    #[test]
    fn nothing_comes_of_nothing() {
        assert!(inherited([0, 0, 0], "t").is_empty());
    }
}
