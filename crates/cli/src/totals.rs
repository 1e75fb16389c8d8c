//! The totals of a run at the end of a sitting: what it took, and the files that it changed.
//!
//! In: what the run spent and what it did, as its driver has both. Out: [`SittingTotals`], in lines for a person or in
//! JSON for a program.

use adjutant_core::budget::Spending;
use adjutant_core::words::Metric;
use adjutant_core::words::price::sum_rounded;
use adjutant_core::words::visible::visible_line;
use adjutant_runtime::RunEffects;
use serde::Serialize;

/// The most files that are named.
const FILES_SHOWN_MAX: usize = 20;

/// The time, turns, tokens and money that a run took, and the files that it changed.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub struct SittingTotals {
    /// Time for which anything was in flight, in milliseconds; waits for the operator don't count.
    pub worked_ms: u64,
    /// Number of turns.
    pub turns: u64,
    /// Tokens that went in and came out, those of a cache included.
    pub tokens: u64,
    /// True if tokens were guessed: a provider did not count those of a turn.
    pub has_guesses: bool,
    /// Those that came from a provider's cache.
    pub cached_tokens: u64,
    /// Cost in nano-dollars; absent where no price is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nano_dollars: Option<u64>,
    /// True if the cost rests on a provider's list of prices.
    pub is_estimate: bool,
    /// True if the cost is the most that it may have been: a turn was not counted, or something in it has no price.
    pub is_bound: bool,
    /// Files that file tools changed, compared with how they were before the run.
    pub files: Vec<FileTotal>,
    /// True if commands ran: they may have changed more.
    pub has_commands: bool,
}

/// The change to one file over a whole run.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct FileTotal {
    /// The file, relative to the working folder.
    pub path: String,
    /// The kind of change.
    pub change: FileFate,
    /// Lines that came; absent where they can't be counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub added: Option<usize>,
    /// Lines that went.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub removed: Option<usize>,
}

/// The end of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FileFate {
    /// It is new.
    Created,
    /// It has other content.
    Changed,
    /// It is gone.
    Deleted,
}

impl SittingTotals {
    /// The totals of a run by what it spent and did; `files` are compared with how they were.
    pub fn of(spending: &Spending, effects: &RunEffects, files: Vec<FileTotal>) -> Self {
        let nano_dollars = spending.spent(Metric::Money);
        Self {
            worked_ms: spending.spent(Metric::WallClock),
            turns: spending.spent(Metric::Turns),
            tokens: spending.spent(Metric::Tokens).saturating_add(spending.cache_reads()),
            has_guesses: spending.has_guesses(),
            cached_tokens: spending.cache_reads(),
            // Tokens without a price are counted as free.
            nano_dollars: (nano_dollars > 0).then_some(nano_dollars),
            is_estimate: spending.is_estimate(Metric::Money),
            is_bound: spending.is_bound(),
            files,
            has_commands: effects.has_commands,
        }
    }

    /// Returns them in lines for a person.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = vec![self.usage()];
        let shown = self.files.iter().take(FILES_SHOWN_MAX).map(FileTotal::line);
        match self.files.len() {
            0 => {}
            1 => lines.push("1 file changed:".to_owned()),
            count => lines.push(format!("{count} files changed:")),
        }
        lines.extend(shown);
        let more = self.files.len().saturating_sub(FILES_SHOWN_MAX);
        if more > 0 {
            lines.push(format!("  and {more} more"));
        }
        if self.has_commands {
            lines.push("commands ran; what they changed is not counted here".to_owned());
        }
        lines
    }

    /// Returns what the run took, on a line.
    pub fn usage(&self) -> String {
        let mut said = vec![format!("{} at work", duration(self.worked_ms)), counted(self.turns, "turn")];
        if self.tokens > 0 {
            let cached = match self.cached_tokens {
                0 => String::new(),
                cached => format!(" ({} from cache)", grouped(cached)),
            };
            let about = if self.has_guesses { "about " } else { "" };
            said.push(format!("{about}{} tokens{cached}", grouped(self.tokens)));
        }
        if let Some(nano_dollars) = self.nano_dollars {
            let about = match (self.is_bound, self.is_estimate) {
                (true, _) => "at most ",
                (false, true) => "about ",
                (false, false) => "",
            };
            said.push(format!("{about}${}", sum_rounded(nano_dollars)));
        }
        said.join(" \u{b7} ")
    }
}

impl FileTotal {
    fn line(&self) -> String {
        let change = match self.change {
            FileFate::Created => " (new)",
            FileFate::Changed => "",
            FileFate::Deleted => " (deleted)",
        };
        let counts = match (self.added, self.removed) {
            (Some(added), Some(removed)) => format!("  +{added} -{removed}"),
            _ => "  (lines not counted)".to_owned(),
        };
        format!("  {}{change}{counts}", visible_line(&self.path))
    }
}

fn counted(count: u64, what: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{} {what}{plural}", grouped(count))
}

/// Returns a number with a comma after each three digits.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Returns a duration as people say it: `0.4 s`, `12 s`, `3 m 5 s`, `2 h 7 m`.
pub fn duration(ms: u64) -> String {
    let seconds = ms / 1000;
    match seconds {
        0..10 => format!("{seconds}.{} s", ms % 1000 / 100),
        10..60 => format!("{seconds} s"),
        60..3600 => format!("{} m {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} m", seconds / 3600, seconds % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_run_took_and_changed_is_a_few_lines() {
        let file = |path: &str, change, counts: Option<(usize, usize)>| FileTotal {
            path: path.to_owned(),
            change,
            added: counts.map(|counts| counts.0),
            removed: counts.map(|counts| counts.1),
        };
        let totals = SittingTotals {
            worked_ms: 72_300,
            turns: 9,
            tokens: 12_345,
            has_guesses: false,
            cached_tokens: 9_100,
            nano_dollars: Some(123_400_000),
            is_estimate: true,
            is_bound: false,
            files: vec![
                file("a.awk", FileFate::Changed, Some((1, 1))),
                file("b\u{1b}", FileFate::Created, Some((3, 0))),
                file("c", FileFate::Deleted, None),
            ],
            has_commands: true,
        };
        assert_eq!(
            totals.lines().join("\n"),
            "1 m 12 s at work \u{b7} 9 turns \u{b7} 12,345 tokens (9,100 from cache) \u{b7} about $0.1234\n\
             3 files changed:\n  a.awk  +1 -1\n  b\\u{1b} (new)  +3 -0\n  c (deleted)  (lines not counted)\n\
             commands ran; what they changed is not counted here"
        );
        assert_eq!(SittingTotals { turns: 1, ..SittingTotals::default() }.lines(), ["0.0 s at work \u{b7} 1 turn"]);
        let bound = SittingTotals { is_bound: true, has_guesses: true, ..totals };
        assert!(bound.usage().contains("about 12,345 tokens"), "{}", bound.usage());
        assert!(bound.usage().ends_with("at most $0.1234"), "{}", bound.usage());
    }

    #[test]
    fn long_lists_of_files_are_cut() {
        let file = |number: usize| FileTotal {
            path: number.to_string(),
            change: FileFate::Created,
            added: Some(1),
            removed: Some(0),
        };
        let totals = SittingTotals { files: (0..25).map(file).collect(), ..SittingTotals::default() };
        assert_eq!(totals.lines().last().map(String::as_str), Some("  and 5 more"));
    }

    #[test]
    fn durations_and_numbers_are_said_as_people_do() {
        for (ms, said) in [(430, "0.4 s"), (12_999, "12 s"), (185_000, "3 m 5 s"), (7_620_000, "2 h 7 m")] {
            assert_eq!(duration(ms), said);
        }
        assert_eq!((grouped(0), grouped(1234), grouped(1_234_567)), ("0".into(), "1,234".into(), "1,234,567".into()));
    }
}
