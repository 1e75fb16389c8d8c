//! Facts that a model's name tells of what it takes.

/// Beginnings of the names of OpenAI's models that don't think: from its list of models.
const PLAIN: &[&str] = &["gpt-3", "gpt-4", "chatgpt-", "gpt-5-chat", "gpt-5.1-chat", "gpt-5.2-chat"];

/// Returns true if a model's thinking may be asked for: others refuse such a request ("Encrypted content is not
/// supported with this model"). A name that is not known is taken for a newer one, and those think.
pub(in crate::openai) fn thinks(model: &str) -> bool {
    // A fine-tuned model has its base behind `ft:`.
    let name = model.strip_prefix("ft:").unwrap_or(model);
    !PLAIN.iter().any(|plain| name.starts_with(plain))
}

#[cfg(test)]
mod tests {
    use super::thinks;

    #[test]
    fn only_models_that_think_are_asked_for_it() {
        for (model, expected) in [
            ("gpt-6-luna", true),
            ("gpt-5.2", true),
            ("o4-mini", true),
            ("codex-mini-latest", true),
            ("gpt-4o-mini", false),
            ("gpt-4.1", false),
            ("ft:gpt-4.1-mini:org::id", false),
            ("gpt-5-chat-latest", false),
            ("chatgpt-4o-latest", false),
        ] {
            assert_eq!(thinks(model), expected, "{model}");
        }
    }
}
