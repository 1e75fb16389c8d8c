//! Effort and number of tokens for thinking that each server of Chat Completions takes.
//!
//! From the pages of the servers on reasoning: OpenAI, xAI, Groq, Mistral, Ollama and vLLM have `reasoning_effort`,
//! each with other values; OpenRouter has `reasoning`, with an effort or a number; llama.cpp passes it to the template
//! of the model. Models of OpenAI since GPT-5.4 take no effort together with tools over this format.

use serde_json::{Map, Value, json};

use crate::api::{Levels, NO_LEVELS, TO_HIGH, TO_XHIGH, Terms, level, note_on_effort, note_on_tokens};
use crate::openai::levels;

/// Field that tells a server how hard its model is to think.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EffortField {
    /// OpenAI's `reasoning_effort`, by its models.
    OpenAi,
    /// The same by the models of xAI.
    Xai,
    /// The same for the models of Groq that have it.
    Groq,
    /// The same with `high` alone, of Mistral.
    Mistral,
    /// The same with the three values that all have.
    Plain,
    /// `reasoning`, of OpenRouter.
    OpenRouter,
    /// An argument of the template, of llama.cpp.
    Template,
}

/// Settings that are sent, and the notes on them.
#[derive(Debug, Default, PartialEq)]
pub(super) struct ChatEffort {
    /// Fields of the request.
    pub(super) fields: Map<String, Value>,
    pub(super) notes: Vec<String>,
}

/// Beginnings of the names of OpenAI's models that refuse an effort beside tools: from its deployment checklist and
/// the refusal that names `/v1/responses` instead.
const RESPONSES_ONLY: &[&str] = &["gpt-5.4", "gpt-5.5", "gpt-5.6", "gpt-6"];

/// Returns the settings to send on these terms.
pub(super) fn of(field: EffortField, terms: &Terms<'_>) -> ChatEffort {
    let (model, thinking, mut sent) = (terms.model, terms.thinking, ChatEffort::default());
    if field == EffortField::OpenRouter
        && let Some(tokens) = thinking.tokens
    {
        sent.fields.insert("reasoning".to_owned(), json!({ "max_tokens": tokens }));
        if thinking.effort.is_some() {
            let why = "OpenRouter takes one of both, and thinking_tokens are set";
            sent.notes.push(format!("effort is not sent: {why}"));
        }
        return sent;
    }
    if let Some(effort) = thinking.effort {
        let level = level(levels_of(field, model), effort);
        if level.is_none() && field == EffortField::OpenAi && RESPONSES_ONLY.iter().any(|it| model.starts_with(it)) {
            let instead = "the adapter `openai` takes both";
            sent.notes.push(format!("effort is not sent: {model} takes none beside tools here; {instead}"));
        } else {
            sent.notes.extend(note_on_effort(model, effort, level));
        }
        if let Some(level) = level {
            let (name, value) = match field {
                EffortField::OpenAi
                | EffortField::Xai
                | EffortField::Groq
                | EffortField::Mistral
                | EffortField::Plain => ("reasoning_effort", json!(level)),
                EffortField::OpenRouter => ("reasoning", json!({ "effort": level })),
                EffortField::Template => ("chat_template_kwargs", json!({ "reasoning_effort": level })),
            };
            sent.fields.insert(name.to_owned(), value);
        }
    }
    if thinking.tokens.is_some() {
        sent.notes.push(note_on_tokens(model));
    }
    sent
}

fn levels_of(field: EffortField, model: &str) -> Levels {
    let begins = |names: &[&str]| names.iter().any(|name| model.starts_with(name));
    match field {
        EffortField::OpenAi if begins(RESPONSES_ONLY) => NO_LEVELS,
        EffortField::OpenAi => levels::of(model),
        EffortField::Xai if begins(&["grok-3-mini"]) => &["low", "high"],
        // Their thinking is chosen by their names.
        EffortField::Xai if begins(&["grok-2", "grok-3", "grok-4-", "grok-4.20", "grok-code"]) => NO_LEVELS,
        EffortField::Xai if model == "grok-4" => NO_LEVELS,
        EffortField::Groq if !model.contains("gpt-oss") => NO_LEVELS,
        EffortField::Mistral => &["high"],
        EffortField::OpenRouter => TO_XHIGH,
        EffortField::Xai | EffortField::Groq | EffortField::Plain | EffortField::Template => TO_HIGH,
    }
}

#[cfg(test)]
mod tests {
    use adjutant_core::words::effort::Effort;

    use super::*;
    use crate::api::Thinking;

    #[track_caller]
    fn check(asked: (EffortField, &str), effort: Option<Effort>, tokens: Option<u32>, expected: (Value, usize)) {
        let (field, model) = asked;
        let sent = of(field, &Terms { thinking: Thinking { effort, tokens }, ..Terms::new(model, 99) });
        assert_eq!((Value::Object(sent.fields), sent.notes.len()), expected, "{asked:?}: {:?}", sent.notes);
    }

    #[test]
    fn each_server_gets_what_it_takes_and_the_rest_is_told() {
        use Effort::{High, Low, Max, Medium};
        use EffortField::{Groq, Mistral, OpenAi, OpenRouter, Plain, Template, Xai};
        let effort = |level: &str| json!({ "reasoning_effort": level });
        check((OpenAi, "gpt-5.2"), Some(Max), None, (effort("xhigh"), 1));
        check((OpenAi, "o4-mini"), Some(Medium), Some(5), (effort("medium"), 1));
        check((OpenAi, "gpt-6-luna"), Some(High), None, (json!({}), 1));
        check((OpenAi, "gpt-4.1"), Some(High), None, (json!({}), 1));
        check((Xai, "grok-4.7"), Some(Max), None, (effort("high"), 1));
        check((Xai, "grok-4.3"), Some(Low), None, (effort("low"), 0));
        check((Xai, "grok-4-fast"), Some(Low), None, (json!({}), 1));
        check((Xai, "grok-4"), Some(Low), None, (json!({}), 1));
        check((Xai, "grok-3-mini"), Some(Medium), None, (effort("high"), 1));
        check((Groq, "openai/gpt-oss-120b"), Some(Low), None, (effort("low"), 0));
        check((Groq, "llama-3.3-70b-versatile"), Some(Low), None, (json!({}), 1));
        check((Mistral, "mistral-medium-latest"), Some(Low), None, (effort("high"), 1));
        check((Plain, "m"), Some(High), Some(5), (effort("high"), 1));
        check((OpenRouter, "x/y"), Some(Max), None, (json!({ "reasoning": { "effort": "xhigh" } }), 1));
        check((OpenRouter, "x/y"), Some(Low), Some(5), (json!({ "reasoning": { "max_tokens": 5 } }), 1));
        check((OpenRouter, "x/y"), None, Some(5), (json!({ "reasoning": { "max_tokens": 5 } }), 0));
        check((Template, "m"), Some(Low), None, (json!({ "chat_template_kwargs": { "reasoning_effort": "low" } }), 0));
        check((Plain, "m"), None, None, (json!({}), 0));
    }
}
