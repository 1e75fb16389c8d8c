//! Names of checkpoints, and the refs that they are kept under.

use std::fmt;
use std::str::FromStr;

use super::CheckpointError;

/// The name of a checkpoint within its run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CheckpointName {
    /// The content at the end of an iteration: `12`.
    Iteration(u64),
    /// The content before the files were brought back to a checkpoint: `before-rewind-1`.
    BeforeRewind(u64),
}

const BEFORE_REWIND: &str = "before-rewind-";

impl fmt::Display for CheckpointName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Iteration(number) => write!(f, "{number}"),
            Self::BeforeRewind(number) => write!(f, "{BEFORE_REWIND}{number}"),
        }
    }
}

impl FromStr for CheckpointName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (number, name): (&str, fn(u64) -> Self) = match text.strip_prefix(BEFORE_REWIND) {
            Some(number) => (number, Self::BeforeRewind),
            None => (text, Self::Iteration),
        };
        // As it is written, so that no two texts are one name: no `+1`, no `01`.
        let read = number.parse::<u64>().ok().map(name).filter(|name| name.to_string() == text);
        read.ok_or_else(|| format!("`{text}` is no checkpoint: give the number of an iteration, or `{BEFORE_REWIND}1`"))
    }
}

/// The folder of refs of a run, with `/` at its end.
///
/// # Errors
///
/// [`CheckpointError::RunName`] if Git takes no such name.
pub(super) fn refs_of(run: &str) -> Result<String, CheckpointError> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let is_usable = !run.is_empty()
        && run.len() <= 200
        && run.chars().all(is_plain)
        && !run.starts_with(['.', '-'])
        && !run.ends_with('.')
        && !run.contains("..")
        && !run.to_ascii_lowercase().ends_with(".lock");
    if is_usable { Ok(format!("refs/adjutant/loop/{run}/")) } else { Err(CheckpointError::RunName(run.to_owned())) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checkpoints_name_is_read_as_it_is_written_and_in_no_other_way() {
        for name in [CheckpointName::Iteration(0), CheckpointName::Iteration(12), CheckpointName::BeforeRewind(3)] {
            assert_eq!(name.to_string().parse::<CheckpointName>().expect("a name"), name);
        }
        for text in ["", "-1", "+1", "01", "1 ", "before-rewind-", "before-rewind-x", "../1", "99999999999999999999"] {
            assert!(text.parse::<CheckpointName>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_run_whose_name_git_would_not_take_has_no_refs() {
        assert_eq!(refs_of("2026-a_b.c").expect("refs"), "refs/adjutant/loop/2026-a_b.c/");
        for run in ["", ".", "a..b", "a/b", "-x", ".x", "x.", "x.lock", "a b", "ä", "a*", "a\n"] {
            assert!(refs_of(run).is_err(), "{run}");
        }
    }
}
