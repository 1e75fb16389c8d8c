//! Queries of a memory: filters first, then the limit.

use jiff::Timestamp;

use super::log::Log;
use super::record::{Record, RecordId};
use super::search;

/// The most entries that one question is answered with (the peer's number).
pub const LIMIT_MAX: usize = 500;

/// Query of a memory. An absent field doesn't filter.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Query {
    /// The one entry of this id.
    pub id: Option<RecordId>,
    /// Entries that hold this text in any of their fields, in any case.
    pub text: Option<String>,
    /// Entries that hold any of these words, best first.
    pub words: Option<String>,
    /// Entries from this time on.
    pub since: Option<Timestamp>,
    /// True if superseded entries are left out.
    pub live_only: bool,
    /// Most entries to return; all if absent.
    pub limit: Option<usize>,
}

/// Entries that a query found.
#[derive(Debug, Clone, PartialEq)]
pub struct QueryResult<'l> {
    /// The entries: newest first, or best first where words were asked for.
    pub records: Vec<&'l Record>,
    /// Number of entries before the limit.
    pub total: usize,
}

impl Query {
    /// Returns the entries of `logs` that are asked for, all of them together.
    #[must_use]
    pub fn find<'l>(&self, logs: &[&'l Log]) -> QueryResult<'l> {
        let of_log = |log: &&'l Log| if self.live_only { log.live() } else { log.newest_first() };
        let mut records: Vec<&Record> = logs.iter().flat_map(of_log).collect();
        if logs.len() > 1 {
            records.sort_by_key(|record| std::cmp::Reverse(record.at));
        }
        let text = self.text.as_ref().map(|text| text.to_lowercase());
        records.retain(|record| {
            let holds = |text: &String| record.said.fields().iter().any(|(_, said)| said.to_lowercase().contains(text));
            self.id.as_ref().is_none_or(|id| record.id == *id)
                && self.since.is_none_or(|since| record.at >= since)
                && text.as_ref().is_none_or(holds)
        });
        if let Some(words) = &self.words {
            records = search::rank(&records, words).into_iter().map(|hit| hit.record).collect();
        }
        let total = records.len();
        records.truncate(self.limit.unwrap_or(total));
        QueryResult { records, total }
    }
}

#[cfg(test)]
mod tests {
    use super::super::record::MemoryCategory;
    use super::*;
    use crate::words::moment::since;

    fn log(category: MemoryCategory) -> Log {
        let field = if category == MemoryCategory::Knowledge { "content" } else { "rule" };
        let line = |id: &str, day: u32, text: &str, more: &str| {
            format!(
                "{{\"id\":\"{id}\",\"at\":\"2024-05-{day:02}T12:00:00Z\",\"category\":\"{category}\",\"{field}\":\"{text}\"{more}}}\n"
            )
        };
        let prefix = &field[..1];
        let file = [
            line(&format!("{prefix}1"), 1, "The Cache is cold", ""),
            line(&format!("{prefix}2"), 2, "deploy on Tuesdays", ""),
            line(&format!("{prefix}3"), 3, "cache and deploy", &format!(",\"supersedes\":\"{prefix}1\"")),
        ];
        Log::read(category, file.concat().as_bytes())
    }

    #[track_caller]
    fn check(query: Query, expected: &[&str], total: usize) {
        let log = log(MemoryCategory::Knowledge);
        let found = query.find(&[&log]);
        let ids: Vec<&str> = found.records.iter().map(|record| record.id.as_str()).collect();
        assert_eq!((ids.as_slice(), found.total), (expected, total), "{query:?}");
    }

    #[test]
    fn filters_come_before_the_limit() {
        let text = |text: &str| Some(text.to_owned());
        check(Query::default(), &["c3", "c2", "c1"], 3);
        check(Query { limit: Some(1), ..Query::default() }, &["c3"], 3);
        check(Query { limit: Some(1), text: text("COLD"), ..Query::default() }, &["c1"], 1);
        check(Query { limit: Some(1), id: "c1".parse().ok(), ..Query::default() }, &["c1"], 1);
        check(Query { limit: Some(2), since: since("2024-05-02"), ..Query::default() }, &["c3", "c2"], 2);
        check(Query { since: since("2024-05-02T12:00:01Z"), ..Query::default() }, &["c3"], 1);
        check(Query { live_only: true, ..Query::default() }, &["c3", "c2"], 2);
        check(Query { words: text("cold cache"), ..Query::default() }, &["c1", "c3"], 2);
        check(Query { words: text("cold cache"), limit: Some(1), live_only: true, ..Query::default() }, &["c3"], 1);
        check(Query { text: text("nothing"), ..Query::default() }, &[], 0);
    }

    #[test]
    fn several_categories_are_one_list() {
        let logs = [log(MemoryCategory::Knowledge), log(MemoryCategory::Constraints)];
        let found = Query::default().find(&logs.iter().collect::<Vec<_>>());
        let ids: Vec<&str> = found.records.iter().map(|record| record.id.as_str()).collect();
        assert_eq!(ids, ["c3", "r3", "c2", "r2", "c1", "r1"]);
    }
}
