//! The reader of a project's memory: total, what it reads is written as one line and read back, and what an agent is
//! shown of it has a bound, drives no terminal and says nothing that a detector reads.

use adjutant_core::detect::{Sensitivities, read};
use adjutant_core::memory::{INHERITED_BYTES_MAX, Inherited, Log, MemoryCategory, Query, Record, View, block};

pub(crate) fn check(bytes: &[u8]) {
    let logs = MemoryCategory::ALL.map(|category| Log::read(category, bytes));
    for (category, log) in MemoryCategory::ALL.into_iter().zip(&logs) {
        let lines = bytes.split(|byte| *byte == b'\n').count();
        assert!(log.records().len() + log.damaged().len() <= lines, "more than there are lines");
        for record in log.records() {
            let line = record.line();
            assert!(!line.contains('\n'), "a line of two: {line}");
            // Times are written to the millisecond.
            let again = Record::read(&line, category).expect("what is written is read");
            assert_eq!((&again.id, &again.said, &again.rest), (&record.id, &record.said, &record.rest));
        }
        assert!(log.live().iter().all(|record| log.superseded_by(&record.id).is_none()));
        let found = Query { words: Some(String::from_utf8_lossy(bytes).into_owned()), ..Query::default() }.find(&[log]);
        assert!(found.total <= log.records().len(), "found twice");
    }
    let inherited = Inherited::of("orchard", |category| &logs[category as usize]);
    for view in [View::Whole, View::WithoutDecisions] {
        let Some(text) = block(&inherited, view) else { continue };
        // Headings, fences and what breaks long runs of backticks come to the entries.
        assert!(text.len() <= INHERITED_BYTES_MAX / 4 * 5, "{} bytes are shown", text.len());
        assert!(!text.contains(|c: char| c.is_control() && c != '\n'), "what is shown drives a terminal");
        let reading = read(&text, &[], &Sensitivities::default());
        assert_eq!(reading.fired().count(), 0, "a detector reads what is shown");
    }
}
