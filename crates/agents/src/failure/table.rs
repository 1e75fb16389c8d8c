//! Table of the meanings of providers' words and sentences.
//!
//! One table serves all of them: none uses another's word in another sense. Words are compared whole; sentences are
//! looked for in every text of an error, whatever its capitals. The numbers in a sentence are read with it, so that a
//! request that only asks for too long a reply is told from one that is too long itself.
//!
//! The sentences are those of the servers' sources where these are public (vLLM, SGLang, llama.cpp, Ollama, Text
//! Generation Inference, LiteLLM), else those of the providers' error references and of the answers that people
//! reported in the issues of clients.

use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::{Fix, Meaning};

/// Words that mean the same with whatever status. From the error references of the Anthropic, OpenAI and
/// Gemini APIs.
pub(super) const EXACT: &[(&str, Meaning)] = &[
    ("API_KEY_INVALID", Meaning::Mend(Fix::Key)),
    ("UNAUTHENTICATED", Meaning::Mend(Fix::Key)),
    ("authentication_error", Meaning::Mend(Fix::Key)),
    ("invalid_api_key", Meaning::Mend(Fix::Key)),
    ("billing_error", Meaning::Mend(Fix::Quota)),
    ("billing_hard_limit_reached", Meaning::Mend(Fix::Quota)),
    ("insufficient_quota", Meaning::Mend(Fix::Quota)),
    ("PERMISSION_DENIED", Meaning::Mend(Fix::Permission)),
    ("permission_error", Meaning::Mend(Fix::Permission)),
    ("model_not_found", Meaning::Mend(Fix::Model)),
    ("context_length_exceeded", Meaning::TooLong),
    // llama.cpp's server.
    ("exceed_context_size_error", Meaning::TooLong),
    // GitHub Copilot.
    ("model_max_prompt_tokens_exceeded", Meaning::TooLong),
    ("request_too_large", Meaning::TooLong),
    ("overloaded_error", Meaning::Busy),
    ("rate_limit_error", Meaning::Busy),
    ("rate_limit_exceeded", Meaning::Busy),
    // Overload, as OpenAI's own coding client knows it.
    ("server_is_overloaded", Meaning::Busy),
    ("slow_down", Meaning::Busy),
    // Groq: its model wrote a call that can't be read; another attempt writes another.
    ("tool_use_failed", Meaning::Mishap),
    // What a failed response of OpenAI is about, of the codes in its Python client.
    ("invalid_prompt", Meaning::Request),
    ("data_residency_mismatch", Meaning::Request),
    ("bio_policy", Meaning::Request),
    ("misalignment_policy_violation", Meaning::Request),
];

/// Words too general to overrule a status: OpenAI calls a missing key an `invalid_request_error`, and a quota
/// of Gemini's may be of a minute or of a day.
pub(super) const GENERAL: &[(&str, Meaning)] = &[
    ("UNAVAILABLE", Meaning::Busy),
    ("RESOURCE_EXHAUSTED", Meaning::Busy),
    ("INVALID_ARGUMENT", Meaning::Unclear),
    ("invalid_request_error", Meaning::Unclear),
    ("NOT_FOUND", Meaning::Mend(Fix::Model)),
    ("not_found_error", Meaning::Mend(Fix::Model)),
];

/// Returns the meaning of a status where no word says more.
pub(super) fn by_status(status: u16) -> Meaning {
    match status {
        // Servers that check what they get before they read it answer 422.
        400 | 422 => Meaning::Unclear,
        401 => Meaning::Mend(Fix::Key),
        402 => Meaning::Mend(Fix::Quota),
        403 => Meaning::Mend(Fix::Permission),
        404 => Meaning::Mend(Fix::Model),
        // Of the API, or of the proxy before it, whose answer is a page of HTML.
        413 => Meaning::TooLong,
        // The official clients ask again after 408, 409, 429 and every 5xx; 501 and 505 are no mishaps.
        429 | 503 | 529 => Meaning::Busy,
        501 | 505 => Meaning::Request,
        408 | 409 | 425 | 500.. => Meaning::Mishap,
        _ => Meaning::Request,
    }
}

/// Message of a sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Says {
    /// One thing, whatever its numbers.
    Plain(Meaning),
    /// The reply may not be so long: at most `most`, or less than `below`, where the sentence says so.
    Reply,
    /// Input and reply don't fit together: `window`, `input` (or `total`, the sum) and `output`.
    Together,
    /// The same, where the sentence blames the length of the reply.
    TogetherByReply,
}

/// Sentences that say more than the word and the status beside them. The first that is found counts.
const SENTENCES: &[(&str, Says)] = &[
    // vLLM: 0.7 to 0.15; since 0.18; 0.16; when more is asked for than the window has.
    (
        r"is too large: (?<output>\d+)\. This model's maximum context length is (?<window>\d+) tokens and your request has (?<input>\d+) input tokens",
        Says::TogetherByReply,
    ),
    (
        r"maximum context length is (?<window>\d+) tokens\. However, you requested (?<output>\d+) output tokens and your prompt contains (?:at least )?(?<input>\d+) input tokens",
        Says::Together,
    ),
    (
        r"You passed (?<input>\d+) input tokens and requested (?<output>\d+) output tokens\. However, the model's context length is only (?<window>\d+) tokens",
        Says::Together,
    ),
    (r"max_tokens=\d+ cannot be greater than max_model_len=(?<most>\d+)", Says::Reply),
    // OpenAI's older models, DeepSeek, the older vLLM; OpenRouter.
    (
        r"maximum context length is (?<window>\d+) tokens\. However, you requested (?:about )?(?<total>\d+) tokens \([^)]*?(?<output>\d+) in the (?:completion|output)",
        Says::Together,
    ),
    // Anthropic, whose newer models end the reply instead.
    (r"exceed context limit: (?<input>\d+) \+ (?<output>\d+) > (?<window>\d+)", Says::Together),
    // SGLang.
    (
        r"maximum context length of (?<window>\d+) tokens\. You requested a total of \d+ tokens: (?<input>\d+) tokens from the input messages and (?<output>\d+) tokens",
        Says::Together,
    ),
    // Text Generation Inference, and Together where it is behind it.
    (
        r"`inputs` tokens \+ `max_new_tokens` must be <= (?<window>\d+)\. Given: (?<input>\d+) `inputs` tokens and (?<output>\d+)",
        Says::Together,
    ),
    // Too long a reply: Anthropic; OpenAI, in its two APIs.
    (r"max_tokens: \d+ > (?<most>\d+), which is the maximum allowed number of output tokens", Says::Reply),
    (r"tokens is too large: \d+\. This model supports at most (?<most>\d+) completion tokens", Says::Reply),
    (
        r"'max_(?:output_|completion_)?tokens': integer above maximum value\. Expected a value <= (?<most>\d+)",
        Says::Reply,
    ),
    // DeepSeek; DashScope; z.ai; Bedrock; Vertex AI; Gemini.
    (r"valid range of max_tokens is \[\d+, ?(?<most>\d+)\]", Says::Reply),
    (r"Range of max_(?:completion_)?tokens should be \[\d+, ?(?<most>\d+)\]", Says::Reply),
    (r"max_tokens parameter is illegal[^\[]*\[\d+, ?(?<most>\d+)\]", Says::Reply),
    (r"maximum tokens you requested exceeds the model limit of (?<most>\d+)", Says::Reply),
    (r"exceeds the maximum output tokens limit: (?<most>\d+)", Says::Reply),
    (
        r"maxOutputTokens value of \d+ but the supported range is from \d+ \(inclusive\) to (?<below>\d+) \(exclusive\)",
        Says::Reply,
    ),
    // Moonshot and Novita; Novita; Ollama's cloud.
    (r"max_tokens`? \(current value: \d+\) must be between \d+ and (?<most>\d+)", Says::Reply),
    (r"max_tokens: \d+ exceeds maximum (?<most>\d+)", Says::Reply),
    (r"max_tokens \(\d+\) exceeds model's maximum output tokens \((?<most>\d+)\)", Says::Reply),
    // Groq, Cohere, Baseten, and servers that check with pydantic.
    (r"max[_ ](?:completion_|output_|new_)?tokens\b[^.]{0,80}less than or equal to `?(?<most>\d+)", Says::Reply),
    (r"max_(?:completion_|output_)?tokens\b'? (?:is too large|exceeds the (?:model limit|maximum))", Says::Reply),
    // Too long: Anthropic and, in front of it, Bedrock, Vertex AI and gateways.
    (r"prompt is too long", Says::Plain(Meaning::TooLong)),
    (r"input length and `?max_tokens`? exceed context limit", Says::Plain(Meaning::TooLong)),
    (r"Request exceeds the maximum size", Says::Plain(Meaning::TooLong)),
    // Gemini; OpenAI, in its three sentences.
    (r"exceeds the maximum number of tokens", Says::Plain(Meaning::TooLong)),
    (r"exceeds the context window", Says::Plain(Meaning::TooLong)),
    (r"maximum context length is", Says::Plain(Meaning::TooLong)),
    (r"input tokens exceed the configured limit", Says::Plain(Meaning::TooLong)),
    // vLLM: its chat front end, its engine, and its older ones, which took what was left for the reply.
    (r"model's context length is only", Says::Plain(Meaning::TooLong)),
    (r"is longer than the maximum model length", Says::Plain(Meaning::TooLong)),
    (r"is too long to fit into the model", Says::Plain(Meaning::TooLong)),
    (r"max_tokens must be at least 1, got -\d", Says::Plain(Meaning::TooLong)),
    // SGLang: the reply counted, without it, and in its scheduler. The second is Together's, too.
    (r"exceeds the model's maximum context length", Says::Plain(Meaning::TooLong)),
    (r"is longer than the model's context length", Says::Plain(Meaning::TooLong)),
    (r"Input length \(\d+ tokens\) exceeds the maximum allowed length", Says::Plain(Meaning::TooLong)),
    // llama.cpp, older and newer.
    (r"exceeds the available context size", Says::Plain(Meaning::TooLong)),
    (r"is larger than the max context size", Says::Plain(Meaning::TooLong)),
    // Ollama.
    (r"exceeded (?:max )?context length", Says::Plain(Meaning::TooLong)),
    (r"input length exceeds the context length", Says::Plain(Meaning::TooLong)),
    (r"is longer than the context length currently available", Says::Plain(Meaning::TooLong)),
    // LM Studio, in its engines.
    (r"is greater than the context length", Says::Plain(Meaning::TooLong)),
    (r"Context size has been exceeded", Says::Plain(Meaning::TooLong)),
    (r"when context the overflows", Says::Plain(Meaning::TooLong)),
    // Text Generation Inference.
    (r"`inputs` tokens \+ `max_new_tokens` must be", Says::Plain(Meaning::TooLong)),
    (r"`inputs` must have less than \d+ tokens", Says::Plain(Meaning::TooLong)),
    // Mistral; Moonshot; z.ai and its Chinese platform; MiniMax; DashScope; Groq and Cerebras; xAI.
    (r"too large for model with \d+ maximum context length", Says::Plain(Meaning::TooLong)),
    (r"exceeded model token limit", Says::Plain(Meaning::TooLong)),
    (r"total message size \d+ exceeds limit", Says::Plain(Meaning::TooLong)),
    (r"Prompt (?:exceeds max length|超长)", Says::Plain(Meaning::TooLong)),
    (r"context window exceeds limit", Says::Plain(Meaning::TooLong)),
    (r"Range of input length should be", Says::Plain(Meaning::TooLong)),
    (r"reduce the length of the (?:messages|input)", Says::Plain(Meaning::TooLong)),
    (r"maximum prompt length is", Says::Plain(Meaning::TooLong)),
    // GitHub Copilot; Bedrock; LiteLLM, without a cause; Volcengine; what OpenRouter passes on of Poolside.
    (r"prompt token count of \d+ exceeds the limit of", Says::Plain(Meaning::TooLong)),
    (r"Input is too long for requested model", Says::Plain(Meaning::TooLong)),
    (r"ContextWindowExceededError", Says::Plain(Meaning::TooLong)),
    (r"Input exceeds the context limit", Says::Plain(Meaning::TooLong)),
    (r"exceeds the maximum allowed input length", Says::Plain(Meaning::TooLong)),
    // OpenAI and Groq call a request that no minute has room for a `rate_limit_exceeded`.
    (r"Request too large for", Says::Plain(Meaning::TooLong)),
    // Anthropic has no word of its own for an empty account: it is an `invalid_request_error`.
    (r"credit balance is too low", Says::Plain(Meaning::Mend(Fix::Quota))),
    // Vertex AI, with 400, until the model is enabled for the project.
    (r"is not allowed to use Publisher Model", Says::Plain(Meaning::Mend(Fix::Permission))),
    // xAI, with 400, and with 403 or 429.
    (r"Incorrect API key provided", Says::Plain(Meaning::Mend(Fix::Key))),
    (r"used all available credits or reached its monthly spending limit", Says::Plain(Meaning::Mend(Fix::Quota))),
];

/// The part of a window that a reply may have: one in so many, as a session keeps it free.
const REPLY_SHARE: u64 = 4;

/// A reply of fewer tokens is hardly one: there room is to be made instead.
const REPLY_TOKENS_MIN: u64 = 1_024;

/// The sentences, ready to be looked for.
static READY: LazyLock<Vec<(Regex, Says)>> = LazyLock::new(|| {
    let ready = |(sentence, says): &(&str, Says)| {
        (Regex::new(&format!("(?i){sentence}")).expect("a sentence of the table is a pattern"), *says)
    };
    SENTENCES.iter().map(ready).collect()
});

/// Returns the message of `text`, if a sentence of the table is in it.
pub(super) fn by_sentence(text: &str) -> Option<Meaning> {
    READY.iter().find_map(|(sentence, says)| Some(says.meaning(&sentence.captures(text)?)))
}

impl Says {
    fn meaning(self, found: &Captures<'_>) -> Meaning {
        let number = |name: &str| found.name(name)?.as_str().parse::<u64>().ok();
        match self {
            Self::Plain(meaning) => meaning,
            Self::Reply => {
                let most = number("most").or_else(|| Some(number("below")?.saturating_sub(1)));
                Meaning::ReplyTooLong { most: most.and_then(tokens) }
            }
            Self::Together | Self::TogetherByReply => {
                let output = number("output").unwrap_or(0);
                let input = number("input").or_else(|| Some(number("total")?.saturating_sub(output)));
                let (Some(window), Some(input)) = (number("window"), input) else { return Meaning::TooLong };
                let share = window / REPLY_SHARE;
                // vLLM stops counting as soon as the reply doesn't fit: then nobody knows how long the input is.
                let room = if input.saturating_add(output) == window.saturating_add(1) {
                    if output > share { share } else { 0 }
                } else {
                    window.saturating_sub(input)
                };
                let least = if self == Self::Together { share } else { share.min(REPLY_TOKENS_MIN) };
                match tokens(room) {
                    Some(most) if room >= least && room < output => Meaning::ReplyTooLong { most: Some(most) },
                    Some(_) | None => Meaning::TooLong,
                }
            }
        }
    }
}

/// Returns a number of tokens that a reply can be held to.
fn tokens(most: u64) -> Option<u32> {
    u32::try_from(most).ok().filter(|most| *most > 0)
}
