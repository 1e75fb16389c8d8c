//! Effort over the Responses API: `reasoning.effort`, with a summary of the thinking, since the API shows nothing else
//! of it. The API takes no number of tokens.

use crate::api::{Terms, level, note_on_effort, note_on_tokens};
use crate::openai::levels;

/// Settings that are sent, and the notes on them.
#[derive(Debug, Default, PartialEq)]
pub(super) struct ResponsesEffort {
    pub(super) effort: Option<&'static str>,
    pub(super) notes: Vec<String>,
}

/// Returns the settings to send on these terms.
pub(super) fn of(terms: &Terms<'_>) -> ResponsesEffort {
    let (model, thinking) = (terms.model, terms.thinking);
    let effort = thinking.effort.and_then(|effort| level(levels::of(model), effort));
    let told = thinking.effort.and_then(|asked| note_on_effort(model, asked, effort));
    let tokens = thinking.tokens.map(|_| note_on_tokens(model));
    ResponsesEffort { effort, notes: told.into_iter().chain(tokens).collect() }
}

#[cfg(test)]
mod tests {
    use adjutant_core::words::effort::Effort;

    use super::*;
    use crate::api::Thinking;

    #[test]
    fn each_model_gets_what_it_takes_and_the_rest_is_told() {
        for (model, effort, tokens, expected) in [
            ("gpt-6-luna", Some(Effort::Max), None, (Some("max"), 0)),
            ("gpt-5.2", Some(Effort::Max), None, (Some("xhigh"), 1)),
            ("gpt-5.1", Some(Effort::Max), Some(5), (Some("high"), 2)),
            ("gpt-5.1", Some(Effort::Low), None, (Some("low"), 0)),
            ("gpt-4.1", Some(Effort::High), None, (None, 1)),
            ("gpt-6-luna", None, Some(5), (None, 1)),
            ("gpt-6-luna", None, None, (None, 0)),
        ] {
            let sent = of(&Terms { thinking: Thinking { effort, tokens }, ..Terms::new(model, 99) });
            assert_eq!((sent.effort, sent.notes.len()), expected, "{model}: {:?}", sent.notes);
        }
    }
}
