//! One file of a project's memory, as it is read: its entries, its damaged lines, and the entries that are superseded.

use std::collections::BTreeMap;

use serde::Serialize;

use super::record::{MemoryCategory, Record, RecordId};

/// A line that can't be read. It stays in its file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Damaged {
    /// Its number, from 1.
    pub line: u64,
    /// Fault of the line, as half a sentence.
    pub why: String,
}

/// All entries of one category, in the order in which they were written.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Log {
    records: Vec<Record>,
    damaged: Vec<Damaged>,
    places: BTreeMap<RecordId, usize>,
    superseded: BTreeMap<RecordId, RecordId>,
}

impl Log {
    /// Reads a whole file. Blank lines are nothing; a line that can't be read is named, and the rest holds.
    ///
    /// An entry supersedes only what stands before it, so that no line can do away with what is written later.
    #[must_use]
    pub fn read(category: MemoryCategory, file: &[u8]) -> Self {
        let mut log = Self::default();
        for (number, line) in (1..).zip(lines(file)) {
            let taken = match std::str::from_utf8(line) {
                Ok(line) if line.trim().is_empty() => continue,
                Ok(line) => Record::read(line, category),
                Err(_) => Err("it is not UTF-8".to_owned()),
            };
            if let Err(why) = taken.and_then(|record| log.take(record)) {
                log.damaged.push(Damaged { line: number, why });
            }
        }
        log
    }

    fn take(&mut self, record: Record) -> Result<(), String> {
        if self.get(&record.id).is_some() {
            return Err(format!("the id {} was used before", record.id));
        }
        if let Some(older) = record.supersedes.as_ref().filter(|older| self.get(older).is_some()) {
            self.superseded.insert(older.clone(), record.id.clone());
        }
        if let Some(newer) = &record.superseded_by {
            self.superseded.insert(record.id.clone(), newer.clone());
        }
        self.places.insert(record.id.clone(), self.records.len());
        self.records.push(record);
        Ok(())
    }

    /// Returns every entry, in the order of the file.
    #[must_use]
    pub fn records(&self) -> &[Record] {
        &self.records
    }

    /// Returns the lines that can't be read.
    #[must_use]
    pub fn damaged(&self) -> &[Damaged] {
        &self.damaged
    }

    /// Returns the entry of that id.
    #[must_use]
    pub fn get(&self, id: &RecordId) -> Option<&Record> {
        self.records.get(*self.places.get(id)?)
    }

    /// Returns the entry that took the place of that one, if any did.
    #[must_use]
    pub fn superseded_by(&self, id: &RecordId) -> Option<&RecordId> {
        self.superseded.get(id)
    }

    /// Returns every entry, newest first.
    #[must_use]
    pub fn newest_first(&self) -> Vec<&Record> {
        let mut records: Vec<&Record> = self.records.iter().rev().collect();
        // A stable sort: of two of the same moment the one that stands later comes first.
        records.sort_by_key(|record| std::cmp::Reverse(record.at));
        records
    }

    /// Returns the entries that nothing supersedes, newest first.
    #[must_use]
    pub fn live(&self) -> Vec<&Record> {
        let mut records = self.newest_first();
        records.retain(|record| self.superseded_by(&record.id).is_none());
        records
    }
}

/// Returns the lines of a file: without their ends, and without what follows the last one.
pub(super) fn lines(file: &[u8]) -> impl Iterator<Item = &[u8]> {
    let whole = file.strip_suffix(b"\n").unwrap_or(file);
    whole.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(id: &str, at: u32, more: &str) -> String {
        format!(
            "{{\"id\":\"{id}\",\"at\":\"2024-05-06T08:00:{at:02}.000Z\",\"category\":\"constraints\",\"rule\":\"{id}\"{more}}}\n"
        )
    }

    fn ids(records: &[&Record]) -> Vec<String> {
        records.iter().map(|record| record.id.to_string()).collect()
    }

    #[test]
    fn damaged_lines_are_named_and_the_rest_holds() {
        let mut file = line("a", 1, "").into_bytes();
        file.extend(b"\n  \n{torn\n[]\n\xff\xfe\n");
        file.extend(line("a", 2, "").bytes());
        file.extend(line("b", 3, "").trim_end().bytes());
        let log = Log::read(MemoryCategory::Constraints, &file);
        assert_eq!(ids(&log.newest_first()), ["b", "a"]);
        assert_eq!(log.damaged().iter().map(|damaged| damaged.line).collect::<Vec<_>>(), [4, 5, 6, 7]);
    }

    #[test]
    fn the_newest_comes_first_and_what_is_superseded_is_not_live() {
        let file = [
            line("old", 1, ""),
            line("peers", 2, ",\"superseded_by\":\"mem-x-1\""),
            line("late", 9, ""),
            line("new", 5, ",\"supersedes\":\"old\""),
            line("same", 5, ""),
        ];
        let log = Log::read(MemoryCategory::Constraints, file.concat().as_bytes());
        assert_eq!(ids(&log.newest_first()), ["late", "same", "new", "peers", "old"]);
        assert_eq!(ids(&log.live()), ["late", "same", "new"]);
        let old: RecordId = "old".parse().expect("an id");
        assert_eq!(log.superseded_by(&old).map(RecordId::as_str), Some("new"));
    }

    #[test]
    fn nothing_supersedes_itself_or_what_comes_later() {
        let file = [line("a", 1, ",\"supersedes\":\"b\""), line("b", 2, ",\"supersedes\":\"b\"")];
        let log = Log::read(MemoryCategory::Constraints, file.concat().as_bytes());
        assert_eq!(ids(&log.live()), ["b", "a"]);
    }

    #[test]
    fn nothing_is_an_empty_log() {
        for file in [&b""[..], b"\n", b"\n\n  \r\n"] {
            assert_eq!(Log::read(MemoryCategory::Decisions, file), Log::default());
        }
    }
}
