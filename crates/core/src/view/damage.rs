//! Says which lines of a trace can't be read.

use std::fmt::Write as _;

/// Number of line numbers that are spelled out. Ours: a file that is no trace at all has one per line.
const NUMBERS_MAX: usize = 50;

/// The line that announces damage, in the peer's words; empty if there is none.
#[must_use]
pub(super) fn announced(damaged: &[u64]) -> String {
    if damaged.is_empty() {
        return String::new();
    }
    let numbers: Vec<String> = damaged.iter().take(NUMBERS_MAX).map(u64::to_string).collect();
    let mut text = format!("({} corrupted trace line(s) skipped: {}", damaged.len(), numbers.join(", "));
    if damaged.len() > NUMBERS_MAX {
        // Writing to a string can't fail.
        let _: Result<(), std::fmt::Error> = write!(text, " and {} more", damaged.len() - NUMBERS_MAX);
    }
    text.push_str(")\n");
    text
}
