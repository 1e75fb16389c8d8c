//! Effort and budget for thinking that each model of Anthropic takes.
//!
//! From the provider's pages on effort, on adaptive and on extended thinking: `output_config.effort` since Claude Opus
//! 4.5, `max` since the 4.6 models; `thinking` with a budget up to the 4.6 models, adaptive since then. Of a model that
//! takes both, the pages call the budget deprecated.

use crate::api::{Levels, NO_LEVELS, TO_HIGH, TO_MAX, Terms, level, note_on_effort, note_on_tokens};

/// The least that a budget may be, by the page on extended thinking.
const BUDGET_TOKENS_MIN: u32 = 1024;

/// Settings that are sent, and the notes on them.
#[derive(Debug, Default, PartialEq)]
pub(super) struct MessagesEffort {
    pub(super) effort: Option<&'static str>,
    pub(super) thinking: ThinkingMode,
    pub(super) notes: Vec<String>,
}

/// Mode of thinking that a request asks for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum ThinkingMode {
    /// As it does by itself.
    #[default]
    Unsaid,
    /// As it sees fit, within its effort.
    Adaptive,
    /// Within so many tokens.
    Budget(u32),
}

/// Modes that a model takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Modes {
    None,
    Budget,
    Both,
    Adaptive,
}

/// Beginning of a name behind `claude-`, with the levels and modes that such models take.
const ROWS: &[(&str, Levels, Modes)] = &[
    ("", TO_MAX, Modes::Adaptive),
    ("instant", NO_LEVELS, Modes::None),
    ("2", NO_LEVELS, Modes::None),
    ("3", NO_LEVELS, Modes::None),
    ("3-7", NO_LEVELS, Modes::Budget),
    ("opus-4-0", NO_LEVELS, Modes::Budget),
    ("opus-4-1", NO_LEVELS, Modes::Budget),
    // The first ones have their date here.
    ("opus-4-2", NO_LEVELS, Modes::Budget),
    ("opus-4-5", TO_HIGH, Modes::Budget),
    ("opus-4-6", TO_MAX, Modes::Both),
    ("sonnet-4-0", NO_LEVELS, Modes::Budget),
    ("sonnet-4-2", NO_LEVELS, Modes::Budget),
    ("sonnet-4-5", NO_LEVELS, Modes::Budget),
    ("sonnet-4-6", TO_MAX, Modes::Both),
    ("haiku-4-5", NO_LEVELS, Modes::Budget),
];

/// Settings of other providers that serve this API, by their own pages: a budget, and the field for effort.
const OTHERS: (Levels, Modes) = (TO_MAX, Modes::Budget);

/// Returns the settings to send on these terms.
pub(super) fn of(terms: &Terms<'_>) -> MessagesEffort {
    let model = terms.model;
    let (levels, modes) = row(model);
    let mut sent = MessagesEffort::default();
    if let Some(effort) = terms.thinking.effort {
        sent.effort = level(levels, effort);
        sent.notes.extend(note_on_effort(model, effort, sent.effort));
        if sent.effort.is_some() && matches!(modes, Modes::Both | Modes::Adaptive) {
            sent.thinking = ThinkingMode::Adaptive;
        }
    }
    if let Some(tokens) = terms.thinking.tokens {
        match modes {
            Modes::None | Modes::Adaptive => sent.notes.push(note_on_tokens(model)),
            Modes::Budget | Modes::Both => {
                let most = terms.output_tokens_max.saturating_sub(1);
                let budget = tokens.max(BUDGET_TOKENS_MIN).min(most);
                if most < BUDGET_TOKENS_MIN {
                    let least = BUDGET_TOKENS_MIN + 1;
                    sent.notes.push(format!("thinking_tokens is not sent: a reply must have {least} tokens for it"));
                } else {
                    sent.thinking = ThinkingMode::Budget(budget);
                    if budget != tokens {
                        let why = "at least 1024, and fewer than the reply may have";
                        sent.notes.push(format!("{budget} thinking_tokens are sent, not {tokens}: {why}"));
                    }
                }
            }
        }
    }
    sent
}

fn row(model: &str) -> (Levels, Modes) {
    // Others write `anthropic/claude-opus-4.6`, `us.anthropic.claude-opus-4-6-v1:0` or `claude-opus-4@20250514`.
    let Some((_, name)) = model.split_once("claude-") else { return OTHERS };
    let name = name.replace(['.', '@'], "-");
    let rows = ROWS.iter().filter(|(begin, ..)| name.starts_with(begin));
    rows.max_by_key(|(begin, ..)| begin.len()).map_or(OTHERS, |(_, levels, modes)| (*levels, *modes))
}

#[cfg(test)]
mod tests {
    use adjutant_core::words::effort::Effort;

    use super::*;
    use crate::api::Thinking;

    #[track_caller]
    fn check(model: &str, thinking: (Option<Effort>, Option<u32>), expected: (Option<&str>, ThinkingMode, usize)) {
        let (effort, tokens) = thinking;
        let terms = Terms { thinking: Thinking { effort, tokens }, ..Terms::new(model, 16_384) };
        let MessagesEffort { effort, thinking, notes } = of(&terms);
        assert_eq!((effort, thinking, notes.len()), expected, "{model}: {notes:?}");
    }

    #[test]
    fn each_model_gets_what_it_takes_and_the_rest_is_told() {
        use Effort::{High, Low, Max};
        let adaptive = ThinkingMode::Adaptive;
        for model in ["claude-opus-5-5", "claude-sonnet-5-5", "claude-haiku-5-5", "claude-fable-5", "claude-opus-4-8"] {
            check(model, (Some(Max), None), (Some("max"), adaptive, 0));
            check(model, (Some(Low), Some(2000)), (Some("low"), adaptive, 1));
            check(model, (None, Some(2000)), (None, ThinkingMode::Unsaid, 1));
            check(model, (None, None), (None, ThinkingMode::Unsaid, 0));
        }
        for model in ["claude-opus-4-6", "anthropic/claude-sonnet-4.6", "us.anthropic.claude-opus-4-6-v1:0"] {
            check(model, (Some(Max), None), (Some("max"), adaptive, 0));
            check(model, (Some(High), Some(2000)), (Some("high"), ThinkingMode::Budget(2000), 0));
        }
        check("claude-opus-4-5-20251101", (Some(Max), Some(2000)), (Some("high"), ThinkingMode::Budget(2000), 1));
        for model in ["claude-haiku-4-5", "claude-sonnet-4-5-20250929", "claude-opus-4-20250514", "claude-3-7-sonnet"] {
            check(model, (Some(High), None), (None, ThinkingMode::Unsaid, 1));
            check(model, (None, Some(2000)), (None, ThinkingMode::Budget(2000), 0));
        }
        for model in ["claude-sonnet-4-5@20250929", "claude-opus-4@20250514", "claude-opus-4-1@20250805"] {
            check(model, (Some(High), Some(2000)), (None, ThinkingMode::Budget(2000), 1));
        }
        check("claude-opus-4-5@20251101", (Some(High), None), (Some("high"), ThinkingMode::Unsaid, 0));
        check("claude-3-5-sonnet-v2@20241022", (Some(High), None), (None, ThinkingMode::Unsaid, 1));
        check("claude-3-5-haiku-latest", (Some(High), Some(2000)), (None, ThinkingMode::Unsaid, 2));
        check("kimi-k3", (Some(High), Some(2000)), (Some("high"), ThinkingMode::Budget(2000), 0));
    }

    #[test]
    fn a_budget_is_within_the_bounds_of_the_api() {
        let model = "claude-haiku-4-5";
        check(model, (None, Some(1)), (None, ThinkingMode::Budget(1024), 1));
        check(model, (None, Some(1024)), (None, ThinkingMode::Budget(1024), 0));
        check(model, (None, Some(16_383)), (None, ThinkingMode::Budget(16_383), 0));
        check(model, (None, Some(16_384)), (None, ThinkingMode::Budget(16_383), 1));
        let thinking = Thinking { effort: None, tokens: Some(2000) };
        let sent = |most| of(&Terms { thinking, ..Terms::new(model, most) }).thinking;
        assert_eq!(
            [1024, 1025, 2000].map(sent),
            [ThinkingMode::Unsaid, ThinkingMode::Budget(1024), ThinkingMode::Budget(1999)]
        );
    }
}
