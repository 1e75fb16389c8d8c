//! Sentences that an agent reads about its calls where the driver has no output of a tool.
//!
//! In: facts that the driver found. Out: text for a tool result or a message. The driver records or sends it as it is
//! and makes none of its own.

use crate::words::tool::{FileChange, ToolOutput};

/// Stands in for the content of a result that was kept outside the journal and is gone: an agent must not take silence
/// for an empty result.
pub const CONTENT_GONE: &str = "(the content of this result is no longer there)";

/// Answers a call whose arguments are masked in the journal and no longer known.
pub const ARGUMENTS_GONE: &str =
    "The arguments held a secret that was masked before the run was resumed. Make the call again.";

/// Returns the answer to an interrupted call whose files show that it was made.
#[must_use]
pub fn changes_were_made(changes: &[FileChange]) -> String {
    let paths: Vec<&str> = changes.iter().map(|change| change.path.as_str()).collect();
    format!("The call was interrupted, but its changes were made: {}.", paths.join(", "))
}

/// Returns the result of a call that is not made, because what it may destroy could not be kept: `why` is half a sentence.
#[must_use]
pub fn not_rescued(why: &str) -> ToolOutput {
    ToolOutput::failed(
        "NOT_RESCUED",
        format!(
            "Nothing was done: what the call may destroy could not be kept beforehand ({why}). The operator has to \
             make room or repair this; until then use calls that destroy nothing."
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_that_was_made_names_its_files() {
        let change = |path: &str| FileChange { path: path.to_owned(), before: None, after: None };
        let said = changes_were_made(&[change("a"), change("b/c")]);
        assert_eq!(said, "The call was interrupted, but its changes were made: a, b/c.");
    }

    #[test]
    fn a_call_that_is_not_made_says_why_and_who_can_help() {
        let output = not_rescued("the disk is full");
        assert_eq!(output.code.as_deref(), Some("NOT_RESCUED"));
        assert!(output.content.contains("(the disk is full). The operator has to"), "{}", output.content);
    }
}
