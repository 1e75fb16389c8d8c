//! Terms of a request besides its messages: the model, the limit of its reply, and its thinking.

use adjutant_core::words::effort::Effort;

use super::Caching;

/// Terms of a request.
#[derive(Debug, Clone, Copy)]
pub struct Terms<'a> {
    /// The model, as the API names it.
    pub model: &'a str,
    /// The most tokens of the reply, thinking included.
    pub output_tokens_max: u32,
    /// Settings of thinking.
    pub thinking: Thinking,
    /// Settings of the provider's cache.
    pub caching: Caching,
}

impl<'a> Terms<'a> {
    /// Creates a reply of at most `output_tokens_max` tokens by `model`, everything else left to it.
    #[must_use]
    pub fn new(model: &'a str, output_tokens_max: u32) -> Self {
        Self { model, output_tokens_max, thinking: Thinking::default(), caching: Caching::default() }
    }
}

/// Thinking that a model is asked for, as far as the operator set it. An absent setting is left to the model.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Thinking {
    /// In a word.
    pub effort: Option<Effort>,
    /// The most tokens that it thinks for in one reply.
    pub tokens: Option<u32>,
}

/// Levels that a model takes, from little to much, all of them among [`ORDER`].
pub(crate) type Levels = &'static [&'static str];

/// All levels of all providers, from little to much.
const ORDER: Levels = &["low", "medium", "high", "xhigh", "max"];

pub(crate) const NO_LEVELS: Levels = &[];
pub(crate) const TO_HIGH: Levels = &["low", "medium", "high"];
pub(crate) const TO_XHIGH: Levels = &["low", "medium", "high", "xhigh"];
pub(crate) const TO_MAX: Levels = &["low", "medium", "high", "max"];

/// Returns the level for an effort: its own, else the next above it, else the highest; `None` if there are none.
pub(crate) fn level(levels: Levels, effort: Effort) -> Option<&'static str> {
    let place = |level: &str| ORDER.iter().position(|other| *other == level);
    let wanted = place(effort.as_str());
    levels.iter().find(|level| place(level) >= wanted).or(levels.last()).copied()
}

/// Returns the note for the operator if `sent`, made from an effort, differs from it.
pub(crate) fn note_on_effort(model: &str, effort: Effort, sent: Option<&str>) -> Option<String> {
    match sent {
        Some(sent) if sent == effort.as_str() => None,
        Some(sent) => Some(format!("{model} has no effort `{effort}`: `{sent}` is sent")),
        None => Some(format!("effort is left to {model}, which takes none")),
    }
}

/// Returns the note for the operator on a number of tokens that is not sent.
pub(crate) fn note_on_tokens(model: &str) -> String {
    format!("thinking_tokens is not sent: {model} takes no such number; set effort instead")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_effort_is_its_own_level_or_the_next_or_the_highest() {
        for (levels, expected) in [
            (NO_LEVELS, [None; 4]),
            (TO_HIGH, [Some("low"), Some("medium"), Some("high"), Some("high")]),
            (TO_XHIGH, [Some("low"), Some("medium"), Some("high"), Some("xhigh")]),
            (TO_MAX, [Some("low"), Some("medium"), Some("high"), Some("max")]),
            (&["low", "high"], [Some("low"), Some("high"), Some("high"), Some("high")]),
            (&["high"], [Some("high"); 4]),
        ] {
            assert_eq!(Effort::ALL.map(|effort| level(levels, effort)), expected, "{levels:?}");
        }
    }
}
