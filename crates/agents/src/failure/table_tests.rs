//! Answers of providers and servers as they send them: which of them are about the length of a request, and which
//! about that of its reply.

use serde_json::json;

use super::*;

/// Verdict that an answer should get.
#[derive(Debug, Clone, Copy, PartialEq)]
enum LimitKind {
    TooLong,
    /// With the limit that it says.
    ReplyTooLong(Option<u32>),
    Unclear,
    /// Whatever else.
    Other,
}

fn judged(code: u16, body: &str) -> LimitKind {
    let now = "2026-11-29T12:00:00Z".parse().expect("a time");
    let verdict = match code {
        200 => judge(ExchangeFailure::InStream { body }, now),
        status => judge(ExchangeFailure::Status { status, headers: &BTreeMap::new(), body }, now),
    };
    match verdict {
        FailureVerdict::TooLong { .. } => LimitKind::TooLong,
        FailureVerdict::ReplyTooLong { most, .. } => LimitKind::ReplyTooLong(most),
        FailureVerdict::Unclear { .. } => LimitKind::Unclear,
        FailureVerdict::Retry { .. }
        | FailureVerdict::Unreadable { .. }
        | FailureVerdict::Operator { .. }
        | FailureVerdict::Refused { .. } => LimitKind::Other,
    }
}

#[track_caller]
fn check(rows: &[(&str, u16, String, LimitKind)]) {
    for (who, code, body, expected) in rows {
        assert_eq!(judged(*code, body), *expected, "{who}: {code} {body}");
    }
}

fn anthropic(kind: &str, message: &str) -> String {
    json!({ "type": "error", "error": { "type": kind, "message": message }, "request_id": "req_1" }).to_string()
}

fn openai(message: &str, code: Option<&str>) -> String {
    let (kind, param) = ("invalid_request_error", "messages");
    json!({ "error": { "message": message, "type": kind, "param": param, "code": code } }).to_string()
}

/// vLLM of today and SGLang behind a router.
fn vllm(message: &str) -> String {
    json!({ "error": { "message": message, "type": "BadRequestError", "param": null, "code": 400 } }).to_string()
}

/// Older vLLM, and SGLang.
fn bare(message: &str) -> String {
    json!({ "object": "error", "message": message, "type": "BadRequestError", "param": null, "code": 400 }).to_string()
}

const PAGE: &str = "<html>\r\n<head><title>413 Request Entity Too Large</title></head>\r\n<body>\r\n\
                    <center><h1>413 Request Entity Too Large</h1></center>\r\n<hr><center>cloudflare</center>\r\n\
                    </body>\r\n</html>\r\n";

#[test]
fn a_request_that_is_too_long_is_recognised_whoever_says_it() {
    let invalid = "invalid_request_error";
    check(&[
        (
            "Anthropic",
            400,
            anthropic(invalid, "prompt is too long: 213462 tokens > 200000 maximum"),
            LimitKind::TooLong,
        ),
        (
            "Anthropic, with the reply",
            400,
            anthropic(
                invalid,
                "input length and `max_tokens` exceed context limit: 199211 + 16384 > 200000, decrease input length \
                 or `max_tokens` and try again",
            ),
            LimitKind::TooLong,
        ),
        (
            "Anthropic, bytes",
            413,
            anthropic("request_too_large", "Request exceeds the maximum size"),
            LimitKind::TooLong,
        ),
        ("Anthropic, the proxy before it", 413, PAGE.to_owned(), LimitKind::TooLong),
        ("a proxy without a word", 413, String::new(), LimitKind::TooLong),
        (
            "OpenAI",
            400,
            openai(
                "Your input exceeds the context window of this model. Please adjust your input and try again.",
                Some("context_length_exceeded"),
            ),
            LimitKind::TooLong,
        ),
        (
            "OpenAI, without a code",
            400,
            openai("Your input exceeds the context window of this model. Please adjust your input and try again.", None),
            LimitKind::TooLong,
        ),
        (
            "OpenAI, a configured limit",
            400,
            openai(
                "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 509178 tokens. \
                 Please reduce the length of the messages.",
                Some("context_length_exceeded"),
            ),
            LimitKind::TooLong,
        ),
        (
            "OpenAI, older models, without a code",
            400,
            openai(
                "This model's maximum context length is 128000 tokens. However, your messages resulted in 156847 \
                 tokens (152000 in the messages, 4847 in the functions). Please reduce the length of the messages or \
                 functions.",
                None,
            ),
            LimitKind::TooLong,
        ),
        (
            "OpenAI, in the stream",
            200,
            json!({ "error": { "code": "context_length_exceeded", "message": "Your input exceeds the context window" } })
                .to_string(),
            LimitKind::TooLong,
        ),
        (
            "Gemini",
            400,
            json!({ "error": { "code": 400, "status": "INVALID_ARGUMENT", "message":
                "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575)." } })
            .to_string(),
            LimitKind::TooLong,
        ),
        (
            "vLLM",
            400,
            vllm(
                "This model's maximum context length is 131072 tokens. However, you requested 16384 output tokens and \
                 your prompt contains at least 114689 input tokens, for a total of at least 131073 tokens. Please \
                 reduce the length of the input prompt or the number of requested output tokens.",
            ),
            LimitKind::TooLong,
        ),
        (
            "vLLM 0.16",
            400,
            vllm(
                "You passed 114689 input tokens and requested 16384 output tokens. However, the model's context length \
                 is only 131072 tokens, resulting in a maximum input length of 114688 tokens. Please reduce the length \
                 of the input prompt. (parameter=input_tokens, value=114689)",
            ),
            LimitKind::TooLong,
        ),
        (
            "vLLM 0.11",
            400,
            vllm(
                "This model's maximum context length is 32768 tokens. However, your request has 40000 input tokens. \
                 Please reduce the length of the input messages.",
            ),
            LimitKind::TooLong,
        ),
        (
            "vLLM 0.11, with the reply",
            400,
            vllm(
                "'max_tokens' or 'max_completion_tokens' is too large: 16384. This model's maximum context length is \
                 32768 tokens and your request has 32000 input tokens (16384 > 32768 - 32000).",
            ),
            LimitKind::TooLong,
        ),
        (
            "older vLLM",
            400,
            bare(
                "This model's maximum context length is 32768 tokens. However, you requested 46384 tokens (30000 in \
                 the messages, 16384 in the completion). Please reduce the length of the messages or completion.",
            ),
            LimitKind::TooLong,
        ),
        (
            "vLLM's engine",
            400,
            bare(
                "The decoder prompt (length 16849) is longer than the maximum model length of 16384. Make sure that \
                 `max_model_len` is no smaller than the number of text tokens.",
            ),
            LimitKind::TooLong,
        ),
        ("vLLM without room for a reply", 400, bare("max_tokens must be at least 1, got -4096."), LimitKind::TooLong),
        (
            "SGLang",
            400,
            bare(
                "Requested token count exceeds the model's maximum context length of 131072 tokens. You requested a \
                 total of 136384 tokens: 120000 tokens from the input messages and 16384 tokens for the completion. \
                 Please reduce the number of tokens in the input messages or the completion to fit within the limit.",
            ),
            LimitKind::TooLong,
        ),
        (
            "SGLang, the input alone",
            400,
            bare("The input (140000 tokens) is longer than the model's context length (131072 tokens)."),
            LimitKind::TooLong,
        ),
        (
            "SGLang, in the stream",
            200,
            vllm("The input (8391 tokens) is longer than the model's context length (8192 tokens)."),
            LimitKind::TooLong,
        ),
        (
            "llama.cpp",
            400,
            json!({ "error": { "code": 400, "type": "exceed_context_size_error", "n_prompt_tokens": 9000, "n_ctx": 8192,
                "message": "request (9000 tokens) exceeds the available context size (8192 tokens), try increasing it" } })
            .to_string(),
            LimitKind::TooLong,
        ),
        (
            "older llama.cpp",
            200,
            json!({ "error": { "code": 400, "type": "invalid_request_error", "message":
                "the request exceeds the available context size. try increasing the context size or enable context shift" } })
            .to_string(),
            LimitKind::TooLong,
        ),
        (
            "Ollama",
            400,
            json!({ "StatusCode": 400, "Status": "400 Bad Request",
                "error": "prompt too long; exceeded max context length by 100918 tokens" })
            .to_string(),
            LimitKind::TooLong,
        ),
        (
            "Ollama, its compatible API",
            400,
            openai(
                "the prompt is longer than the context length currently available to the model; shorten the prompt, \
                 adjust the context length in settings, or use a model with a longer context length",
                None,
            ),
            LimitKind::TooLong,
        ),
        (
            "LM Studio",
            400,
            json!({ "error": "Trying to keep the first 50785 tokens when context the overflows. However, the model is \
                loaded with context length of only 45217 tokens, which is not enough. Try to load the model with a \
                larger context length, or provide a shorter input" })
            .to_string(),
            LimitKind::TooLong,
        ),
        (
            "LM Studio, in the stream",
            200,
            json!({ "error": { "message":
                "The number of tokens to keep from the initial prompt is greater than the context length." } })
            .to_string(),
            LimitKind::TooLong,
        ),
        (
            "LM Studio, its other engine",
            400,
            json!({ "error": "Context size has been exceeded." }).to_string(),
            LimitKind::TooLong,
        ),
        (
            "TGI",
            422,
            json!({ "error_type": "validation", "error": "Input validation error: `inputs` tokens + `max_new_tokens` \
                must be <= 16384. Given: 15790 `inputs` tokens and 1024 `max_new_tokens`" })
            .to_string(),
            LimitKind::TooLong,
        ),
        (
            "TGI, the input alone",
            422,
            json!({ "error_type": "validation",
                "error": "Input validation error: `inputs` must have less than 8191 tokens. Given: 10500" })
            .to_string(),
            LimitKind::TooLong,
        ),
        (
            "Mistral",
            400,
            json!({ "object": "error", "type": "invalid_request_message_order", "code": "3051", "message":
                "Prompt contains 140000 tokens and 0 draft tokens, too large for model with 131072 maximum context length" })
            .to_string(),
            LimitKind::TooLong,
        ),
        (
            "Moonshot",
            400,
            openai("Invalid request: Your request exceeded model token limit: 262144 (requested: 291351)", None),
            LimitKind::TooLong,
        ),
        ("Moonshot, bytes", 400, openai("total message size 2306631 exceeds limit 2097152", None), LimitKind::TooLong),
        (
            "z.ai",
            400,
            json!({ "error": { "code": "1261", "message": "Prompt exceeds max length" } }).to_string(),
            LimitKind::TooLong,
        ),
        (
            "MiniMax",
            400,
            json!({ "type": "error", "error": { "type": "bad_request_error", "http_code": "400",
                "message": "invalid params, context window exceeds limit (2013)" } })
            .to_string(),
            LimitKind::TooLong,
        ),
        (
            "DashScope",
            400,
            json!({ "error": { "code": "invalid_parameter_error", "param": null, "type": "invalid_request_error",
                "message": "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 983616]" } })
            .to_string(),
            LimitKind::TooLong,
        ),
        (
            "Groq",
            400,
            openai("Please reduce the length of the messages or completion.", Some("context_length_exceeded")),
            LimitKind::TooLong,
        ),
        (
            "Groq, more than a minute has",
            413,
            json!({ "error": { "type": "tokens", "code": "rate_limit_exceeded", "message":
                "Request too large for model `m` in organization `o` service tier `on_demand` on tokens per minute \
                 (TPM): Limit 6000, Requested 8123, please reduce your message size and try again." } })
            .to_string(),
            LimitKind::TooLong,
        ),
        (
            "xAI",
            400,
            json!({ "code": "Client specified an invalid argument", "error":
                "This model's maximum prompt length is 131072 but the request contains 537812 tokens." })
            .to_string(),
            LimitKind::TooLong,
        ),
        (
            "GitHub Copilot",
            400,
            json!({ "error": { "message": "prompt token count of 391491 exceeds the limit of 128000",
                "code": "model_max_prompt_tokens_exceeded" } })
            .to_string(),
            LimitKind::TooLong,
        ),
        (
            "Together",
            400,
            openai("The input (516368 tokens) is longer than the model's context length (262144 tokens).", None),
            LimitKind::TooLong,
        ),
        (
            "Cerebras",
            400,
            openai(
                "Please reduce the length of the messages or completion. Current length is 140000 while limit is 131072",
                Some("context_length_exceeded"),
            ),
            LimitKind::TooLong,
        ),
        (
            "Bedrock",
            400,
            json!({ "message": "Input is too long for requested model." }).to_string(),
            LimitKind::TooLong,
        ),
        (
            "Bedrock, of Claude",
            400,
            json!({ "message": "The model returned the following errors: prompt is too long: 213462 tokens > 200000 maximum" })
                .to_string(),
            LimitKind::TooLong,
        ),
        (
            "LiteLLM",
            400,
            json!({ "error": { "type": null, "param": null, "code": "400", "message":
                "litellm.ContextWindowExceededError: litellm.BadRequestError: ContextWindowExceededError: \
                 OpenAIException - {\"error\":{\"message\":\"Input too long\",\"code\":null}}. Received Model Group=m" } })
            .to_string(),
            LimitKind::TooLong,
        ),
        (
            "LiteLLM, with the cause inside",
            500,
            json!({ "error": { "type": null, "code": "500", "message":
                "litellm.APIError: XException - {\"error\":{\"message\":\"no\",\"code\":\"context_length_exceeded\"}}. \
                 Received Model Group=m" } })
            .to_string(),
            LimitKind::TooLong,
        ),
        (
            "OpenRouter",
            400,
            json!({ "error": { "code": 400, "message":
                "This endpoint's maximum context length is 131072 tokens. However, you requested about 150000 tokens \
                 (133616 of text input, 16384 in the output). Please reduce the length of either one, or use the \
                 \"middle-out\" transform to compress your prompt automatically." }, "user_id": "u" })
            .to_string(),
            LimitKind::TooLong,
        ),
        (
            "OpenRouter, with the cause inside",
            400,
            json!({ "error": { "code": 400, "message": "Provider returned error", "metadata": { "provider_name": "X",
                "raw": anthropic("invalid_request_error", "prompt is too long: 213462 tokens > 200000 maximum") } } })
            .to_string(),
            LimitKind::TooLong,
        ),
        (
            "OpenRouter, with a code inside",
            400,
            json!({ "error": { "code": 400, "message": "Provider returned error", "metadata": { "provider_name": "X",
                "raw": openai("no", Some("context_length_exceeded")) } } })
            .to_string(),
            LimitKind::TooLong,
        ),
        (
            "OpenRouter, with words inside, in the stream",
            200,
            json!({ "error": { "code": 400, "message": "Provider returned error", "metadata": { "provider_name": "X",
                "raw": "Input length 131393 exceeds the maximum allowed input length of 131040 tokens." } } })
            .to_string(),
            LimitKind::TooLong,
        ),
        (
            "Volcengine",
            400,
            openai("Input exceeds the context limit (1048566 tokens)", Some("InvalidParameter")),
            LimitKind::TooLong,
        ),
        ("in words alone", 400, "Error: prompt is too long".to_owned(), LimitKind::TooLong),
    ]);
}

#[test]
fn a_reply_that_may_not_be_so_long_is_told_from_that() {
    let most = |most| LimitKind::ReplyTooLong(Some(most));
    let named = |message: &str| {
        json!({ "error": { "message": message, "type": "invalid_request_error", "param": "max_tokens", "code": null } })
            .to_string()
    };
    check(&[
        (
            "Anthropic",
            400,
            anthropic(
                "invalid_request_error",
                "max_tokens: 16384 > 8192, which is the maximum allowed number of output tokens for claude-x",
            ),
            most(8_192),
        ),
        (
            "Anthropic, the reply's part",
            400,
            anthropic(
                "invalid_request_error",
                "input length and `max_tokens` exceed context limit: 1200 + 250000 > 200000, decrease input length or \
                 `max_tokens` and try again",
            ),
            most(198_800),
        ),
        (
            "OpenAI",
            400,
            named(
                "max_tokens is too large: 16384. This model supports at most 4096 completion tokens, whereas you \
                 provided 16384.",
            ),
            most(4_096),
        ),
        (
            "OpenAI, the newer field",
            400,
            named("max_completion_tokens is too large: 200000. This model supports at most 100000 completion tokens"),
            most(100_000),
        ),
        (
            "OpenAI, Responses",
            400,
            named(
                "Invalid 'max_output_tokens': integer above maximum value. Expected a value <= 128000, but got 200000 \
                 instead.",
            ),
            most(128_000),
        ),
        (
            "vLLM",
            400,
            vllm(
                "'max_tokens' or 'max_completion_tokens' is too large: 8000. This model's maximum context length is \
                 4096 tokens and your request has 2778 input tokens (8000 > 4096 - 2778). None",
            ),
            most(1_318),
        ),
        (
            "vLLM, which stopped counting",
            400,
            vllm(
                "This model's maximum context length is 32768 tokens. However, you requested 32000 output tokens and \
                 your prompt contains at least 769 input tokens, for a total of at least 32769 tokens.",
            ),
            most(8_192),
        ),
        (
            "vLLM, more than the window",
            400,
            vllm("max_tokens=200000 cannot be greater than max_model_len=8192. Please request fewer output tokens."),
            most(8_192),
        ),
        (
            "older vLLM",
            400,
            bare(
                "This model's maximum context length is 4097 tokens. However, you requested 4467 tokens (371 in the \
                 messages, 4096 in the completion). Please reduce the length of the messages or completion.",
            ),
            most(3_726),
        ),
        (
            "TGI",
            422,
            json!({ "error": "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4097. Given: 371 \
                `inputs` tokens and 4096 `max_new_tokens`" })
            .to_string(),
            most(3_726),
        ),
        (
            "OpenRouter",
            400,
            named(
                "This endpoint's maximum context length is 32768 tokens. However, you requested about 65544 tokens (8 \
                 of text input, 65536 in the output). Please reduce the length of either one.",
            ),
            most(32_760),
        ),
        ("DeepSeek", 400, named("Invalid max_tokens value, the valid range of max_tokens is [1, 8192]"), most(8_192)),
        (
            "DashScope",
            400,
            named("<400> InternalError.Algo.InvalidParameter: Range of max_tokens should be [1, 8192]"),
            most(8_192),
        ),
        ("z.ai", 400, named("The max_tokens parameter is illegal.：限制数值范围[1,131072]"), most(131_072)),
        (
            "Groq",
            400,
            named(
                "`max_completion_tokens` must be less than or equal to `8192`, the maximum value for \
                 `max_completion_tokens` is less than the `context_window` for this model",
            ),
            most(8_192),
        ),
        (
            "Bedrock",
            400,
            json!({ "message": "The maximum tokens you requested exceeds the model limit of 10000. Try again with a \
                maximum tokens value that is lower than 10000." })
            .to_string(),
            most(10_000),
        ),
        (
            "Gemini, by OpenRouter",
            400,
            json!({ "error": { "code": 400, "message": "Provider returned error", "metadata": { "raw":
                "[{\n  \"error\": {\n    \"code\": 400,\n    \"message\": \"Requested maximum tokens of 227043 exceeds \
                 the maximum output tokens limit: 102400.\",\n    \"status\": \"INVALID_ARGUMENT\"\n  }\n}\n]" } } })
            .to_string(),
            most(102_400),
        ),
        (
            "Gemini",
            400,
            json!({ "error": { "code": 400, "status": "INVALID_ARGUMENT", "message": "Unable to submit request because \
                it has a maxOutputTokens value of 16384 but the supported range is from 1 (inclusive) to 8193 (exclusive)" } })
            .to_string(),
            most(8_192),
        ),
        (
            "Novita",
            400,
            json!({ "code": 400, "reason": "INVALID_REQUEST_BODY",
                "message": "max_tokens (current value: 95972) must be between 0 and 32768 " })
            .to_string(),
            most(32_768),
        ),
        (
            "Ollama's cloud",
            400,
            named("max_tokens (128000) exceeds model's maximum output tokens (65536) for model m"),
            most(65_536),
        ),
        (
            "Baseten",
            400,
            named("Invalid request: ['max_tokens (943710): Input should be less than or equal to 384000']"),
            most(384_000),
        ),
        (
            "a server that checks fields",
            422,
            json!({ "detail": [{ "type": "less_than_equal", "loc": ["body", "max_tokens"],
                "msg": "Input should be less than or equal to 4096", "input": 16384 }] })
            .to_string(),
            most(4_096),
        ),
        ("without a number", 400, named("max_tokens is too large"), LimitKind::ReplyTooLong(None)),
    ]);
}

#[test]
fn what_is_about_neither_stays_what_it_was() {
    let wrapped = |raw: &str| {
        json!({ "error": { "code": 400, "message": "Provider returned error", "metadata": { "raw": raw } } })
            .to_string()
    };
    check(&[
        (
            "a field is missing",
            400,
            anthropic("invalid_request_error", "max_tokens: Field required"),
            LimitKind::Unclear,
        ),
        ("an odd field", 400, openai("Unsupported parameter: 'max_tokens' is not supported", None), LimitKind::Unclear),
        ("nothing is said", 400, String::new(), LimitKind::Unclear),
        ("a page", 400, "<html><body>prompt is too long</body></html>".to_owned(), LimitKind::Unclear),
        ("a reason in nobody's words", 422, r#"{"detail":"no"}"#.to_owned(), LimitKind::Unclear),
        ("in the stream", 200, anthropic("invalid_request_error", "no"), LimitKind::Unclear),
        ("a rate limit", 429, openai("Rate limit reached", Some("rate_limit_exceeded")), LimitKind::Other),
        (
            "Bedrock is busy",
            429,
            r#"{"message":"Too many tokens, please wait before trying again."}"#.to_owned(),
            LimitKind::Other,
        ),
        ("a limit inside", 400, wrapped(&anthropic("rate_limit_error", "slow down")), LimitKind::Other),
        ("no words inside", 400, wrapped("no"), LimitKind::Unclear),
        ("a known reason", 400, openai("no", Some("invalid_prompt")), LimitKind::Other),
        ("the key", 401, String::new(), LimitKind::Other),
        (
            "numbers out of range",
            400,
            bare("max_tokens is too large: 9. This model supports at most 99999999999 completion tokens"),
            LimitKind::ReplyTooLong(None),
        ),
    ]);
}

#[test]
fn the_cause_inside_is_shown_and_answers_in_answers_have_an_end() {
    let raw = anthropic("invalid_request_error", "thinking: no");
    let body = json!({ "error": { "code": 400, "message": "Provider returned error", "metadata": { "raw": raw } } });
    let now = "2026-11-29T12:00:00Z".parse().expect("a time");
    let verdict =
        judge(ExchangeFailure::Status { status: 400, headers: &BTreeMap::new(), body: &body.to_string() }, now);
    let said = "Provider returned error: invalid_request_error: thinking: no (status 400)";
    assert_eq!(verdict, FailureVerdict::Unclear { why: said.to_owned() });
    let mut deep = r#"{"error":{"message":"prompt is too long"}}"#.to_owned();
    for _ in 0..50 {
        deep = json!({ "error": { "message": "Provider returned error", "metadata": { "raw": deep } } }).to_string();
        if deep.len() > 1_000_000 {
            break;
        }
    }
    assert_eq!(judged(400, &deep), LimitKind::Unclear);
}
