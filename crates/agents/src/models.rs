//! Facts about the providers' own models: windows, limits of a reply, and list prices, as of [`AS_OF`].
//!
//! A model is known by how its name begins, and the longest beginning counts. Models, sizes and prices change from
//! month to month: a name that no row has is unknown, and so is a figure for which no public page was found. The
//! operator's configuration always wins, and a cost computed from these prices is an estimate.
//!
//! Prices are those of a short prompt at the standard speed. Some providers charge more for a long one (OpenAI above
//! 272,000 tokens, xAI and Gemini's Pro above 200,000, Claude Haiku 5.5 above 100,000), for a longer cache, or for
//! speed; batches cost less. None of that is counted.
//!
//! Begin with [`known`].

use adjutant_core::words::price::Prices;

/// The day on which the table was last held against the providers' pages.
pub const AS_OF: &str = "2026-11-29";

/// Facts about a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Model {
    /// The tokens of its window.
    pub window: Option<u64>,
    /// The most tokens of one reply, thinking included.
    pub output_tokens_max: Option<u32>,
    /// Prices by the provider's list.
    pub prices: Prices,
}

/// A row: the beginning of a name, the window, the longest reply, and dollars for a million tokens times a thousand:
/// input, input from a cache, input into a cache, output.
struct KnownModel(&'static str, Option<u64>, Option<u32>, [Option<u64>; 4]);

const NOTHING: [Option<u64>; 4] = [None; 4];

/// Input, input from a cache, and output, where writing to a cache has no price of its own.
const fn three(input: u64, cache_read: u64, output: u64) -> [Option<u64>; 4] {
    [Some(input), Some(cache_read), None, Some(output)]
}

/// All four.
const fn four(input: u64, cache_read: u64, cache_write: u64, output: u64) -> [Option<u64>; 4] {
    [Some(input), Some(cache_read), Some(cache_write), Some(output)]
}

/// The windows of the newer models.
const MILLION: Option<u64> = Some(1_000_000);
const OPENAI_MILLION: Option<u64> = Some(1_050_000);
const GEMINI_MILLION: Option<u64> = Some(1_048_576);
/// The longest replies of theirs.
const K128: Option<u32> = Some(128_000);
const K64: Option<u32> = Some(64_000);
const GEMINI_K64: Option<u32> = Some(65_536);

const ROWS: &[KnownModel] = &[
    // Anthropic: the pages of its models and its price list (platform.claude.com). Cache writes are those of five
    // minutes. The cache prices of Fable 5.2 were on no page that was found.
    KnownModel("claude-fable-5-2", MILLION, K128, [Some(8_000), None, None, Some(40_000)]),
    KnownModel("claude-fable-5-1", MILLION, K128, four(10_000, 250, 12_500, 50_000)),
    KnownModel("claude-fable-5", MILLION, K128, four(10_000, 1_000, 12_500, 50_000)),
    KnownModel("claude-opus-5-5", MILLION, K128, four(4_000, 200, 5_000, 20_000)),
    KnownModel("claude-opus-5", MILLION, K128, four(5_000, 500, 6_250, 25_000)),
    KnownModel("claude-opus-4-8", MILLION, K128, four(5_000, 500, 6_250, 25_000)),
    KnownModel("claude-opus-4-7", MILLION, K128, four(5_000, 500, 6_250, 25_000)),
    KnownModel("claude-opus-4-6", MILLION, K128, four(5_000, 500, 6_250, 25_000)),
    KnownModel("claude-opus-4-5", Some(200_000), K64, four(5_000, 500, 6_250, 25_000)),
    KnownModel("claude-sonnet-5-5", MILLION, K128, four(2_000, 100, 2_500, 10_000)),
    KnownModel("claude-sonnet-5", MILLION, K128, four(2_000, 200, 2_500, 10_000)),
    KnownModel("claude-sonnet-4-6", MILLION, K128, four(3_000, 300, 3_750, 15_000)),
    // A million only with a header that is not sent.
    KnownModel("claude-sonnet-4-5", Some(200_000), K64, four(3_000, 300, 3_750, 15_000)),
    KnownModel("claude-haiku-5-5", MILLION, K128, four(100, 10, 125, 500)),
    KnownModel("claude-haiku-4-5", Some(200_000), K64, four(1_000, 100, 1_250, 5_000)),
    // Of the others it is known that they take as much as every Claude model since the second.
    KnownModel("claude-", Some(200_000), None, NOTHING),
    // OpenAI: the pages of its models and its price list (developers.openai.com). Since 5.6 writing to a cache has a
    // price. The cache prices of 6.2 Astra were on no page that was found.
    KnownModel("gpt-6.2-astra", OPENAI_MILLION, K128, [Some(8_000), None, None, Some(40_000)]),
    KnownModel("gpt-6.2-sol", OPENAI_MILLION, K128, four(2_000, 100, 2_500, 10_000)),
    KnownModel("gpt-6.1-sol", OPENAI_MILLION, K128, four(2_000, 100, 2_500, 10_000)),
    KnownModel("gpt-6.1-terra", OPENAI_MILLION, K128, four(1_000, 50, 1_250, 5_000)),
    KnownModel("gpt-6-astra", OPENAI_MILLION, K128, four(10_000, 1_000, 12_500, 50_000)),
    KnownModel("gpt-6-sol", OPENAI_MILLION, K128, four(2_000, 200, 2_500, 10_000)),
    KnownModel("gpt-6-luna", OPENAI_MILLION, K128, four(100, 10, 125, 500)),
    // Pages disagree on what 5.6 Sol costs since it was made cheaper.
    KnownModel("gpt-5.6", OPENAI_MILLION, K128, NOTHING),
    KnownModel("gpt-5.6-terra", OPENAI_MILLION, K128, four(2_000, 200, 2_500, 12_000)),
    KnownModel("gpt-5.6-luna", OPENAI_MILLION, K128, four(200, 20, 250, 1_200)),
    KnownModel("gpt-5.5", OPENAI_MILLION, K128, three(5_000, 500, 30_000)),
    KnownModel("gpt-5.4", OPENAI_MILLION, K128, three(2_500, 250, 15_000)),
    KnownModel("gpt-5.2", Some(400_000), K128, three(1_750, 175, 14_000)),
    KnownModel("gpt-5.1", Some(400_000), K128, three(1_250, 125, 10_000)),
    KnownModel("gpt-5", Some(400_000), K128, three(1_250, 125, 10_000)),
    KnownModel("gpt-5-mini", Some(400_000), K128, three(250, 25, 2_000)),
    // Variants whose figures differ from those of the model that they are named for.
    KnownModel("gpt-5.5-pro", OPENAI_MILLION, K128, NOTHING),
    KnownModel("gpt-5.4-pro", OPENAI_MILLION, K128, NOTHING),
    KnownModel("gpt-5.4-mini", None, None, NOTHING),
    KnownModel("gpt-5.4-nano", None, None, NOTHING),
    KnownModel("gpt-5.2-pro", Some(400_000), K128, NOTHING),
    KnownModel("gpt-5.1-codex-mini", Some(400_000), K128, NOTHING),
    KnownModel("gpt-5-pro", Some(400_000), None, NOTHING),
    KnownModel("gpt-5-nano", Some(400_000), K128, NOTHING),
    KnownModel("gpt-4.1", Some(1_047_576), Some(32_768), NOTHING),
    KnownModel("gpt-4o", Some(128_000), Some(16_384), NOTHING),
    KnownModel("gpt-4-turbo", Some(128_000), Some(4_096), NOTHING),
    KnownModel("o1", Some(200_000), Some(100_000), NOTHING),
    KnownModel("o3", Some(200_000), Some(100_000), NOTHING),
    KnownModel("o4-mini", Some(200_000), Some(100_000), NOTHING),
    // Gemini: the pages of its models and its price list (ai.google.dev). 3.8 Flash is at half its price until the
    // end of 2026. What a cache costs by the hour is not counted.
    KnownModel("gemini-3.8-flash", GEMINI_MILLION, GEMINI_K64, three(750, 75, 3_750)),
    KnownModel("gemini-3.8-flash-lite", GEMINI_MILLION, None, NOTHING),
    KnownModel("gemini-3.7-flash", GEMINI_MILLION, GEMINI_K64, three(1_500, 150, 7_500)),
    KnownModel("gemini-3.5-flash", GEMINI_MILLION, GEMINI_K64, three(1_500, 150, 9_000)),
    KnownModel("gemini-3.5-flash-lite", GEMINI_MILLION, None, NOTHING),
    KnownModel("gemini-3.1-pro", GEMINI_MILLION, GEMINI_K64, three(2_000, 200, 12_000)),
    KnownModel("gemini-3.1-flash-lite", GEMINI_MILLION, GEMINI_K64, three(250, 25, 1_500)),
    KnownModel("gemini-2.5-pro", GEMINI_MILLION, GEMINI_K64, three(1_250, 125, 10_000)),
    KnownModel("gemini-2.5-flash", GEMINI_MILLION, GEMINI_K64, three(300, 30, 2_500)),
    KnownModel("gemini-2.5-flash-lite", GEMINI_MILLION, GEMINI_K64, NOTHING),
    KnownModel("gemini-2.0", GEMINI_MILLION, Some(8_192), NOTHING),
    KnownModel("gemini-2.5", GEMINI_MILLION, None, NOTHING),
    KnownModel("gemini-3", GEMINI_MILLION, None, NOTHING),
    KnownModel("gemini-3.", GEMINI_MILLION, None, NOTHING),
    // xAI: the pages of its models and its price list (docs.x.ai), which name no longest reply. Pages disagree on the
    // window of 4.20, so the smaller counts.
    KnownModel("grok-4.7", Some(500_000), None, three(2_000, 500, 6_000)),
    KnownModel("grok-4.6", Some(500_000), None, three(2_000, 500, 6_000)),
    KnownModel("grok-4.5", Some(500_000), None, three(2_000, 500, 6_000)),
    KnownModel("grok-4.3", MILLION, None, three(1_250, 200, 2_500)),
    KnownModel("grok-4.20", MILLION, None, three(1_250, 200, 2_500)),
    KnownModel("grok-4-fast", Some(2_000_000), None, three(200, 50, 500)),
    KnownModel("grok-4-1-fast", Some(2_000_000), None, NOTHING),
    KnownModel("grok-4", Some(256_000), None, NOTHING),
    KnownModel("grok-3", Some(131_072), None, NOTHING),
    KnownModel("grok-2", Some(131_072), None, NOTHING),
];

/// Returns the facts about the provider's model of this name.
#[must_use]
pub fn known(model: &str) -> Option<Model> {
    // `o1` is not the beginning of `o10` or `o1.5`, but of `o1-mini`.
    let begins = |KnownModel(begin, ..): &&KnownModel| {
        let is_open = begin.ends_with(['-', '.']);
        // Vertex AI has the version behind an `@`.
        let is_end = |rest: &str| rest.is_empty() || rest.starts_with(['-', '@']);
        model.strip_prefix(begin).is_some_and(|rest| is_open || is_end(rest))
    };
    let KnownModel(_, window, output_tokens_max, [input, cache_read, cache_write, output]) =
        ROWS.iter().filter(begins).max_by_key(|KnownModel(begin, ..)| begin.len())?;
    let prices = Prices { input: *input, cache_read: *cache_read, cache_write: *cache_write, output: *output };
    Some(Model { window: *window, output_tokens_max: *output_tokens_max, prices })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_model_is_known_by_the_longest_beginning_of_its_name() {
        for (model, window, output, input) in [
            ("claude-sonnet-5-5", Some(1_000_000), Some(128_000), Some(2_000)),
            ("claude-sonnet-5-5-20261001", Some(1_000_000), Some(128_000), Some(2_000)),
            ("claude-opus-5", Some(1_000_000), Some(128_000), Some(5_000)),
            ("claude-opus-5-5", Some(1_000_000), Some(128_000), Some(4_000)),
            ("claude-haiku-4-5-20251001", Some(200_000), Some(64_000), Some(1_000)),
            ("claude-sonnet-4-5@20250929", Some(200_000), Some(64_000), Some(3_000)),
            ("claude-opus-5@20260801", Some(1_000_000), Some(128_000), Some(5_000)),
            ("claude-sonnet-4@20250514", Some(200_000), None, None),
            ("claude-x", Some(200_000), None, None),
            ("gpt-4o-mini", Some(128_000), Some(16_384), None),
            ("gpt-4.1-nano", Some(1_047_576), Some(32_768), None),
            ("gpt-5", Some(400_000), Some(128_000), Some(1_250)),
            ("gpt-5.9", None, None, None),
            ("gpt-6-luna", Some(1_050_000), Some(128_000), Some(100)),
            ("gpt-6.2-sol", Some(1_050_000), Some(128_000), Some(2_000)),
            ("gpt-4", None, None, None),
            ("o1", Some(200_000), Some(100_000), None),
            ("o10", None, None, None),
            ("o1.5-mini", None, None, None),
            ("grok-4.3", Some(1_000_000), None, Some(1_250)),
            ("grok-4.7", Some(500_000), None, Some(2_000)),
            ("grok-4.9", None, None, None),
            ("gemini-3.8-flash", Some(1_048_576), Some(65_536), Some(750)),
            ("gemini-3.9-pro", Some(1_048_576), None, None),
            ("gemini-2.0-flash", Some(1_048_576), Some(8_192), None),
            ("qwen3-coder", None, None, None),
            ("", None, None, None),
        ] {
            let found = known(model);
            let figures = found.map(|known| (known.window, known.output_tokens_max, known.prices.input));
            assert_eq!(figures.unwrap_or_default(), (window, output, input), "{model}");
        }
    }

    #[test]
    fn every_default_model_has_a_window_and_prices_that_a_limit_of_dollars_needs() {
        for adapter in crate::adapters() {
            if let Some(model) = adapter.model {
                let known = known(model).unwrap_or_else(|| panic!("{model} is in no row"));
                assert!(known.window.is_some(), "{model}");
                assert!(known.prices.input.is_some() && known.prices.output.is_some(), "{model}");
            }
        }
    }

    #[test]
    fn rows_are_unique_and_plausible() {
        let mut begins = BTreeSet::new();
        for KnownModel(begin, window, output, [input, cache_read, _, price_output]) in ROWS {
            assert!(begins.insert(begin), "{begin} is there twice");
            assert!(window.zip(*output).is_none_or(|(window, output)| u64::from(output) < window), "{begin}");
            assert!(input.zip(*cache_read).is_none_or(|(input, read)| read < input), "{begin}");
            assert!(input.zip(*price_output).is_none_or(|(input, output)| input < output), "{begin}");
        }
        assert!(AS_OF.parse::<jiff::civil::Date>().is_ok());
    }
}
