//! The brief reader: total, its problems point into the text, and a valid brief can be shown.

use adjutant_core::brief::{BRIEF_BYTES_MAX, read};

pub(crate) fn check(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let reading = read(&text);
    let lines = text.split('\n').count();
    for problem in &reading.problems {
        if let Some(span) = &problem.span {
            assert!(span.line >= 1 && span.line as usize <= lines, "a problem outside the text: {problem:?}");
        }
    }
    assert!(reading.is_valid() || !reading.problems.is_empty(), "invalid without a reason");
    assert!(text.len() <= BRIEF_BYTES_MAX || !reading.is_valid(), "a text that is too long was read");
    // Neither what is shown of it nor what it is judged by may fail.
    drop(reading.verdict());
    if let Some(brief) = &reading.brief {
        assert!(!brief.render().is_empty(), "a valid brief shows nothing");
    }
    drop(adjutant_core::brief::summary(&reading));
}
