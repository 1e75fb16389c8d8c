//! How many tokens the models of the providers take in, as far as their own pages say so.
//!
//! Sizes are of 2026 and grow from one model to the next; so a model is known by how its name begins, the
//! longest beginning counts, and a name that is not known has no size: the provider's refusal will show it.

/// The beginning of a model's name, and its window in tokens. From the providers' lists of models; where a larger
/// window must be asked for, the one that need not be.
const WINDOWS: &[(&str, u64)] = &[
    ("claude-", 200_000),
    ("gpt-4o", 128_000),
    ("gpt-4-turbo", 128_000),
    ("gpt-4.1", 1_047_576),
    ("gpt-5", 400_000),
    ("gpt-6-luna", 1_050_000),
    ("o1", 200_000),
    ("o3", 200_000),
    ("o4-mini", 200_000),
    ("gemini-2.0", 1_048_576),
    ("gemini-2.5", 1_048_576),
    ("gemini-3", 1_048_576),
    ("grok-2", 131_072),
    ("grok-3", 131_072),
    ("grok-4", 256_000),
    ("grok-4.3", 1_000_000),
];

/// The window of a provider's model, in tokens, if it is known.
#[must_use]
pub fn window(model: &str) -> Option<u64> {
    // `o1` is not the beginning of `o10` or `o1.5`, but of `o1-mini`.
    let begins = |(begin, _): &&(&str, u64)| {
        model.strip_prefix(begin).is_some_and(|rest| begin.ends_with('-') || rest.is_empty() || rest.starts_with('-'))
    };
    WINDOWS.iter().filter(begins).max_by_key(|(begin, _)| begin.len()).map(|(_, window)| *window)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_is_known_by_the_longest_beginning_of_its_name() {
        for (model, expected) in [
            ("claude-sonnet-4-6", Some(200_000)),
            ("gpt-4o-mini", Some(128_000)),
            ("gpt-4.1-nano", Some(1_047_576)),
            ("gpt-4", None),
            ("o1", Some(200_000)),
            ("o10", None),
            ("o1.5-mini", None),
            ("grok-4.3", Some(1_000_000)),
            ("grok-4.7", None),
            ("gpt-6-luna", Some(1_050_000)),
            ("gemini-2.0-flash", Some(1_048_576)),
            ("qwen3-coder", None),
            ("", None),
        ] {
            assert_eq!(window(model), expected, "{model}");
        }
    }
}
