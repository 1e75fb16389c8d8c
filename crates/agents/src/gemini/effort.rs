//! Effort and budget for thinking that each model of Gemini takes.
//!
//! From the provider's page on thinking: levels from Gemini 3 on, budgets with 2.5; one request has one of the two. The
//! budgets for an effort are those that its page on compatibility with OpenAI names for `reasoning_effort`.

use adjutant_core::words::effort::Effort;

use super::model;
use crate::api::{Levels, TO_HIGH, Terms, level, note_on_effort, note_on_tokens};

/// Settings that are sent, and the notes on them.
#[derive(Debug, Default, PartialEq)]
pub(super) struct GeminiEffort {
    pub(super) amount: ThinkingAmount,
    pub(super) notes: Vec<String>,
}

/// Amount of thinking that a request asks for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum ThinkingAmount {
    /// As much as it sees fit.
    #[default]
    Unsaid,
    Level(&'static str),
    Budget(u32),
}

/// The budgets of 2.5, least and most, by how a name begins.
const BUDGETS: &[(&str, u32, u32)] =
    &[("gemini-2.5-pro", 128, 32_768), ("gemini-2.5-flash-lite", 512, 24_576), ("gemini-2.5", 1, 24_576)];

/// Returns the settings to send on these terms.
pub(super) fn of(terms: &Terms<'_>) -> GeminiEffort {
    let (model, mut sent) = (terms.model, GeminiEffort::default());
    let name = model.strip_prefix("models/").unwrap_or(model);
    let (effort, tokens) = (terms.thinking.effort, terms.thinking.tokens);
    if let Some((_, least, most)) = BUDGETS.iter().find(|(begin, ..)| name.starts_with(begin)) {
        if let Some(budget) = tokens.or(effort.map(|effort| budget(effort, *most))) {
            let within = budget.clamp(*least, *most);
            sent.amount = ThinkingAmount::Budget(within);
            if tokens.is_some() && within != budget {
                let why = format!("{model} takes {least} to {most}");
                sent.notes.push(format!("{within} thinking_tokens are sent, not {budget}: {why}"));
            }
        }
        if effort.is_some() && tokens.is_some() {
            sent.notes.push(format!("effort is not sent: {model} takes one of both, and thinking_tokens are set"));
        }
        return sent;
    }
    if let Some(effort) = effort {
        let level = level(levels(name), effort);
        sent.notes.extend(note_on_effort(model, effort, level));
        sent.amount = level.map_or(ThinkingAmount::Unsaid, ThinkingAmount::Level);
    }
    if tokens.is_some() {
        sent.notes.push(note_on_tokens(model));
    }
    sent
}

fn levels(name: &str) -> Levels {
    match name {
        _ if !model::insists_on_signatures(name) => &[],
        _ if name.starts_with("gemini-3-pro") => &["low", "high"],
        _ => TO_HIGH,
    }
}

fn budget(effort: Effort, most: u32) -> u32 {
    match effort {
        Effort::Low => 1024,
        Effort::Medium => 8192,
        Effort::High => 24_576,
        Effort::Max => most,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::Thinking;

    #[track_caller]
    fn check(model: &str, effort: Option<Effort>, tokens: Option<u32>, expected: (ThinkingAmount, usize)) {
        let terms = Terms { thinking: Thinking { effort, tokens }, ..Terms::new(model, 16_384) };
        let GeminiEffort { amount, notes } = of(&terms);
        assert_eq!((amount, notes.len()), expected, "{model}: {notes:?}");
    }

    #[test]
    fn each_model_gets_what_it_takes_and_the_rest_is_told() {
        use Effort::{High, Low, Max, Medium};
        use ThinkingAmount::{Budget, Level, Unsaid};
        check("gemini-3.8-flash", Some(Medium), None, (Level("medium"), 0));
        check("models/gemini-3.8-flash", Some(Max), None, (Level("high"), 1));
        check("gemini-3.8-flash", Some(High), Some(100), (Level("high"), 1));
        check("gemini-3-pro-preview", Some(Medium), None, (Level("high"), 1));
        check("gemini-3.1-pro", Some(Medium), None, (Level("medium"), 0));
        check("gemini-2.5-pro", Some(Low), None, (Budget(1024), 0));
        check("gemini-2.5-pro", Some(Max), None, (Budget(32_768), 0));
        check("models/gemini-2.5-flash", Some(Max), None, (Budget(24_576), 0));
        check("gemini-2.5-pro", None, Some(1), (Budget(128), 1));
        check("gemini-2.5-flash-lite", Some(High), Some(100), (Budget(512), 2));
        check("gemini-2.5-flash", None, None, (Unsaid, 0));
        check("gemini-2.0-flash", Some(High), Some(100), (Unsaid, 2));
        check("gemma-3-27b-it", Some(High), None, (Unsaid, 1));
    }
}
