//! Levels of effort that OpenAI's models take.
//!
//! From the provider's guide on reasoning and the reference of `reasoning.effort`: `xhigh` since GPT-5.2 and 5.1 Codex
//! Max, `max` since GPT-5.6; the first `pro` models take little else than `high`.

use super::responses::thinks;
use crate::api::{Levels, NO_LEVELS, TO_HIGH, TO_XHIGH};

const TO_MAX: Levels = &["low", "medium", "high", "xhigh", "max"];

const ROWS: &[(&str, Levels)] = &[
    // Newer ones.
    ("gpt-", TO_MAX),
    ("gpt-oss", TO_HIGH),
    ("gpt-5", TO_HIGH),
    ("gpt-5-pro", &["high"]),
    ("gpt-5.1", TO_HIGH),
    ("gpt-5.1-codex-max", TO_XHIGH),
    ("gpt-5.2", TO_XHIGH),
    ("gpt-5.2-pro", &["medium", "high", "xhigh"]),
    ("gpt-5.3", TO_XHIGH),
    ("gpt-5.4", TO_XHIGH),
    ("gpt-5.4-pro", &["medium", "high", "xhigh"]),
    ("gpt-5.5", TO_XHIGH),
    ("gpt-5.5-pro", &["medium", "high", "xhigh"]),
    ("gpt-5.6", TO_MAX),
    ("o1-mini", NO_LEVELS),
    ("o1-preview", NO_LEVELS),
];

/// Returns the levels of a model. Of a name that is not known, such as that of a deployment, those that all have.
pub(super) fn of(model: &str) -> Levels {
    if !thinks(model) {
        return NO_LEVELS;
    }
    let name = model.strip_prefix("ft:").unwrap_or(model);
    let rows = ROWS.iter().filter(|(begin, _)| name.starts_with(begin));
    // `gpt-5` is no beginning of `gpt-5.7`, which is newer than all that are listed.
    let rows = rows.filter(|(begin, _)| *begin == "gpt-" || !name[begin.len()..].starts_with('.'));
    rows.max_by_key(|(begin, _)| begin.len()).map_or(TO_HIGH, |(_, levels)| levels)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_model_has_its_levels() {
        for (model, highest) in [
            ("gpt-6-luna", Some("max")),
            ("gpt-6.2-sol", Some("max")),
            ("gpt-5.7", Some("max")),
            ("gpt-5.6-terra", Some("max")),
            ("gpt-5.5", Some("xhigh")),
            ("gpt-5.2-codex", Some("xhigh")),
            ("gpt-5.1-codex-max", Some("xhigh")),
            ("gpt-5.1-codex-mini", Some("high")),
            ("gpt-5-mini", Some("high")),
            ("gpt-5-pro-2025-10-06", Some("high")),
            ("o4-mini", Some("high")),
            ("my-deployment", Some("high")),
            ("o1-mini", None),
            ("gpt-4.1", None),
            ("gpt-5-chat-latest", None),
        ] {
            assert_eq!(of(model).last().copied(), highest, "{model}");
        }
    }
}
