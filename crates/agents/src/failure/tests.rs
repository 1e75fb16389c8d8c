use super::*;

const NOW: &str = "1994-11-06T08:49:00Z";

fn status(status: u16, headers: &[(&str, &str)], body: &str) -> FailureVerdict {
    let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    judge(ExchangeFailure::Status { status, headers: &headers, body }, NOW.parse().unwrap())
}

/// Verdict that a test expects, without its words.
#[derive(Debug, PartialEq)]
enum ExpectedVerdict {
    Busy(Option<u64>),
    Mishap,
    TooLong,
    Unclear,
    Operator(Fix),
    Refused,
}

fn is(verdict: &FailureVerdict) -> ExpectedVerdict {
    match verdict {
        FailureVerdict::Retry { is_busy: false, .. } => ExpectedVerdict::Mishap,
        FailureVerdict::Retry { is_busy: true, after, .. } => {
            ExpectedVerdict::Busy(after.map(|after| u64::try_from(after.as_millis()).unwrap()))
        }
        FailureVerdict::TooLong { .. } => ExpectedVerdict::TooLong,
        FailureVerdict::ReplyTooLong { .. } | FailureVerdict::Unreadable { .. } => {
            panic!("{verdict:?} has a table of its own")
        }
        FailureVerdict::Unclear { .. } => ExpectedVerdict::Unclear,
        FailureVerdict::Operator { fix, .. } => ExpectedVerdict::Operator(*fix),
        FailureVerdict::Refused { .. } => ExpectedVerdict::Refused,
    }
}

#[track_caller]
fn check(code: u16, body: &str, expected: ExpectedVerdict) {
    assert_eq!(is(&status(code, &[], body)), expected, "{code} {body}");
}

#[track_caller]
fn check_stream(body: &str, expected: ExpectedVerdict) {
    let verdict = judge(ExchangeFailure::InStream { body }, NOW.parse().unwrap());
    assert_eq!(is(&verdict), expected, "{body}");
}

#[test]
fn anthropic_errors_are_told_apart() {
    let error = |kind: &str, message: &str| {
        format!(r#"{{"type":"error","error":{{"type":"{kind}","message":"{message}"}},"request_id":"req_1"}}"#)
    };
    check(400, &error("invalid_request_error", "max_tokens: Field required"), ExpectedVerdict::Unclear);
    check(
        400,
        &error("invalid_request_error", "Your credit balance is too low to access the API."),
        ExpectedVerdict::Operator(Fix::Quota),
    );
    check(401, &error("authentication_error", "invalid x-api-key"), ExpectedVerdict::Operator(Fix::Key));
    check(402, &error("billing_error", "no payment"), ExpectedVerdict::Operator(Fix::Quota));
    check(403, &error("permission_error", "not allowed"), ExpectedVerdict::Operator(Fix::Permission));
    check(404, &error("not_found_error", "model: claude-0"), ExpectedVerdict::Operator(Fix::Model));
    check(413, &error("request_too_large", "too large"), ExpectedVerdict::TooLong);
    check(400, &error("invalid_request_error", "prompt is too long: 9 tokens > 8 maximum"), ExpectedVerdict::TooLong);
    check(429, &error("rate_limit_error", "slow down"), ExpectedVerdict::Busy(None));
    check(500, &error("api_error", "internal"), ExpectedVerdict::Mishap);
    check(504, &error("timeout_error", "too long"), ExpectedVerdict::Mishap);
    check(529, &error("overloaded_error", "Overloaded"), ExpectedVerdict::Busy(None));
    check_stream(&error("overloaded_error", "Overloaded"), ExpectedVerdict::Busy(None));
    check_stream(&error("invalid_request_error", "no"), ExpectedVerdict::Unclear);
    check_stream(&error("authentication_error", "revoked"), ExpectedVerdict::Operator(Fix::Key));
    check_stream(&error("something_new", "?"), ExpectedVerdict::Mishap);
}

#[test]
fn openai_errors_are_told_apart() {
    let error = |kind: &str, code: &str| {
        format!(r#"{{"error":{{"message":"text","type":"{kind}","param":null,"code":{code}}}}}"#)
    };
    check(400, &error("invalid_request_error", r#""context_length_exceeded""#), ExpectedVerdict::TooLong);
    check(401, &error("invalid_request_error", r#""invalid_api_key""#), ExpectedVerdict::Operator(Fix::Key));
    check(401, &error("invalid_request_error", "null"), ExpectedVerdict::Operator(Fix::Key));
    check(403, &error("invalid_request_error", r#""model_not_found""#), ExpectedVerdict::Operator(Fix::Model));
    check(404, &error("invalid_request_error", r#""model_not_found""#), ExpectedVerdict::Operator(Fix::Model));
    check(429, &error("requests", r#""rate_limit_exceeded""#), ExpectedVerdict::Busy(None));
    check(429, &error("insufficient_quota", r#""insufficient_quota""#), ExpectedVerdict::Operator(Fix::Quota));
    check(500, &error("server_error", "null"), ExpectedVerdict::Mishap);
    check_stream(&error("server_error", r#""server_error""#), ExpectedVerdict::Mishap);
    check_stream(&error("invalid_request_error", "null"), ExpectedVerdict::Unclear);
    let failed = |code: &str, message: &str| format!(r#"{{"error":{{"code":"{code}","message":"{message}"}}}}"#);
    check_stream(&failed("server_is_overloaded", "later"), ExpectedVerdict::Busy(None));
    check_stream(&failed("invalid_prompt", "no"), ExpectedVerdict::Refused);
    check_stream(&failed("vector_store_timeout", "late"), ExpectedVerdict::Mishap);
    check_stream(&failed("context_length_exceeded", "Your input exceeds the context window"), ExpectedVerdict::TooLong);
    let wait = |words: &str| failed("rate_limit_exceeded", &format!("Rate limit reached. Please try again in {words}"));
    check_stream(&wait("1.5s. Visit us."), ExpectedVerdict::Busy(Some(1_500)));
    check_stream(&wait("28ms."), ExpectedVerdict::Busy(Some(28)));
    check_stream(&wait("20 seconds"), ExpectedVerdict::Busy(Some(20_000)));
    check_stream(&wait("1m30s"), ExpectedVerdict::Busy(Some(90_000)));
    check_stream(&wait("a while"), ExpectedVerdict::Busy(None));
    let large = "Request too large for gpt-x on tokens per min (TPM): Limit 9, Requested 10.";
    check(429, &failed("rate_limit_exceeded", large), ExpectedVerdict::TooLong);
}

#[test]
fn errors_of_vertex_ai_are_told_apart() {
    // Those of streams come in an array.
    let error = |status: &str, message: &str| format!(r#"[{{"error":{{"message":"{message}","status":"{status}"}}}}]"#);
    let model = "projects/p/locations/l/publishers/anthropic/models/m";
    let refused = format!("Project `1` is not allowed to use Publisher Model `{model}`");
    check(400, &error("FAILED_PRECONDITION", &refused), ExpectedVerdict::Operator(Fix::Permission));
    let missing = format!("Publisher Model `{model}` was not found or your project does not have access to it.");
    check(404, &error("NOT_FOUND", &missing), ExpectedVerdict::Operator(Fix::Model));
    check(
        401,
        &error("UNAUTHENTICATED", "Request had invalid authentication credentials."),
        ExpectedVerdict::Operator(Fix::Key),
    );
    let quota = "Quota exceeded for aiplatform.googleapis.com/online_prediction_requests_per_base_model";
    check(429, &error("RESOURCE_EXHAUSTED", quota), ExpectedVerdict::Busy(None));
}

#[test]
fn errors_of_compatible_servers_are_told_apart() {
    // xAI, whose error is a text beside a code in words.
    let xai = |error: &str| format!(r#"{{"code":"Client specified an invalid argument","error":"{error}"}}"#);
    check(400, &xai("Incorrect API key provided: xa***y."), ExpectedVerdict::Operator(Fix::Key));
    let spent = "Your team t has either used all available credits or reached its monthly spending limit.";
    check(403, &xai(spent), ExpectedVerdict::Operator(Fix::Quota));
    check(429, &xai(spent), ExpectedVerdict::Operator(Fix::Quota));
    check(
        400,
        &xai("This model's maximum prompt length is 9 but the request contains 10 tokens."),
        ExpectedVerdict::TooLong,
    );
    check(400, &xai("something else"), ExpectedVerdict::Unclear);
    // OpenRouter and vLLM, with a status for a code; the older vLLM has no `error` around it.
    let numbered = |code: u16| format!(r#"{{"error":{{"code":{code},"message":"text"}}}}"#);
    check_stream(&numbered(429), ExpectedVerdict::Busy(None));
    check_stream(&numbered(502), ExpectedVerdict::Mishap);
    check_stream(&numbered(402), ExpectedVerdict::Operator(Fix::Quota));
    check_stream(&numbered(7), ExpectedVerdict::Mishap);
    check(502, &numbered(400), ExpectedVerdict::Mishap);
    check_stream(
        r#"{"object":"error","message":"text","type":"BadRequestError","code":400}"#,
        ExpectedVerdict::Unclear,
    );
    let full = "This model's maximum context length is 9 tokens. However, you requested 10 tokens.";
    check(400, &format!(r#"{{"object":"error","message":"{full}","code":400}}"#), ExpectedVerdict::TooLong);
    // Groq.
    let groq =
        r#"{"error":{"message":"text","type":"invalid_request_error","code":"tool_use_failed","status_code":400}}"#;
    check(400, groq, ExpectedVerdict::Mishap);
    check_stream(groq, ExpectedVerdict::Mishap);
    check(
        413,
        r#"{"error":{"message":"Request too large for model `m`","code":"rate_limit_exceeded"}}"#,
        ExpectedVerdict::TooLong,
    );
    // llama.cpp, its two forms; LM Studio; Ollama.
    let llama = |kind: &str| {
        format!(
            r#"{{"error":{{"code":400,"message":"the request exceeds the available context size","type":"{kind}"}}}}"#
        )
    };
    check(400, &llama("exceed_context_size_error"), ExpectedVerdict::TooLong);
    check_stream(&llama("invalid_request_error"), ExpectedVerdict::TooLong);
    let kept = "The number of tokens to keep from the initial prompt is greater than the context length.";
    check_stream(&format!(r#"{{"error":{{"message":"{kept}"}},"message":"{kept}"}}"#), ExpectedVerdict::TooLong);
    check_stream(r#"{"error":"an error was encountered while running the model"}"#, ExpectedVerdict::Mishap);
    check(
        404,
        r#"{"error":{"message":"model `m` not found","type":"not_found_error"}}"#,
        ExpectedVerdict::Operator(Fix::Model),
    );
}

#[test]
fn gemini_errors_are_told_apart() {
    let error = |code: u16, status: &str, details: &str| {
        format!(r#"{{"error":{{"code":{code},"message":"text","status":"{status}","details":[{details}]}}}}"#)
    };
    let reason = r#"{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID"}"#;
    let delay = r#"{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"13.5s"}"#;
    let quota = |id: &str| {
        format!(
            r#"{{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{{"quotaId":"{id}"}}]}},{delay}"#
        )
    };
    check(400, &error(400, "INVALID_ARGUMENT", reason), ExpectedVerdict::Operator(Fix::Key));
    check(400, &error(400, "INVALID_ARGUMENT", ""), ExpectedVerdict::Unclear);
    check(403, &error(403, "PERMISSION_DENIED", ""), ExpectedVerdict::Operator(Fix::Permission));
    check(404, &error(404, "NOT_FOUND", ""), ExpectedVerdict::Operator(Fix::Model));
    check(429, &error(429, "RESOURCE_EXHAUSTED", delay), ExpectedVerdict::Busy(Some(13_500)));
    check(
        429,
        &error(429, "RESOURCE_EXHAUSTED", &quota("RequestsPerMinutePerProject")),
        ExpectedVerdict::Busy(Some(13_500)),
    );
    check(
        429,
        &error(429, "RESOURCE_EXHAUSTED", &quota("RequestsPerDayPerProject")),
        ExpectedVerdict::Operator(Fix::Quota),
    );
    check(503, &error(503, "UNAVAILABLE", ""), ExpectedVerdict::Busy(None));
    check(503, &format!("[{}]", error(503, "UNAVAILABLE", "")), ExpectedVerdict::Busy(None));
    check_stream(&error(503, "UNAVAILABLE", ""), ExpectedVerdict::Busy(None));
    check_stream(&error(429, "RESOURCE_EXHAUSTED", delay), ExpectedVerdict::Busy(Some(13_500)));
    check_stream(&error(500, "INTERNAL", ""), ExpectedVerdict::Mishap);
    check(400, &format!("[{}]", error(400, "INVALID_ARGUMENT", reason)), ExpectedVerdict::Operator(Fix::Key));
}

#[test]
fn without_a_word_the_status_decides() {
    for body in ["", "<html>Bad Gateway</html>", "null", "[]", r#""text""#, r#"{"error":"text"}"#] {
        check(502, body, ExpectedVerdict::Mishap);
        check(408, body, ExpectedVerdict::Mishap);
        check(503, body, ExpectedVerdict::Busy(None));
        check(501, body, ExpectedVerdict::Refused);
        check(418, body, ExpectedVerdict::Refused);
        check(302, body, ExpectedVerdict::Refused);
        check(401, body, ExpectedVerdict::Operator(Fix::Key));
        check_stream(body, ExpectedVerdict::Mishap);
    }
}

#[test]
fn the_wait_is_read_in_every_form() {
    let wait = |headers: &[(&str, &str)]| is(&status(429, headers, ""));
    for (headers, expected) in [
        (&[("retry-after", "7")][..], Some(7_000)),
        (&[("retry-after", " 0.25 ")], Some(250)),
        (&[("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT")], Some(37_000)),
        (&[("retry-after", "Sun, 06 Nov 1994 08:48:00 GMT")], None),
        (&[("retry-after", "0")], None),
        (&[("retry-after", "7"), ("retry-after-ms", "1500")], Some(1_500)),
        (&[("retry-after", "7"), ("retry-after-ms", "soon")], Some(7_000)),
        (&[("retry-after", "-1")], None),
        (&[("retry-after", "NaN")], None),
        (&[("retry-after", "1e300")], Some(31_536_000_000)),
        (&[("retry-after", "99999999999999999999999")], Some(31_536_000_000)),
        (&[("retry-after", "soon")], None),
        (&[("retry-after", "")], None),
        (&[], None),
    ] {
        assert_eq!(wait(headers), ExpectedVerdict::Busy(expected), "{headers:?}");
    }
}

#[test]
fn a_server_may_overrule_its_status_but_not_its_word() {
    let with = |code, value, body| is(&status(code, &[("x-should-retry", value)], body));
    assert_eq!(with(400, "true", ""), ExpectedVerdict::Mishap);
    assert_eq!(with(429, "true", ""), ExpectedVerdict::Busy(None));
    assert_eq!(with(503, "false", ""), ExpectedVerdict::Refused);
    assert_eq!(with(401, "false", ""), ExpectedVerdict::Operator(Fix::Key));
    assert_eq!(with(429, "true", r#"{"error":{"code":"insufficient_quota"}}"#), ExpectedVerdict::Operator(Fix::Quota));
}

#[test]
fn a_break_is_worth_another_attempt_and_says_whether_something_had_come() {
    for (had_content, said) in [(false, "no reply came: reset"), (true, "the reply broke off: reset")] {
        let verdict = judge(ExchangeFailure::Broken { had_content, why: "reset" }, NOW.parse().unwrap());
        assert_eq!(verdict, FailureVerdict::Retry { is_busy: false, after: None, why: said.to_owned() });
    }
    for (had_content, said) in [(false, "no reply came: no index"), (true, "the reply can't be used: no index")] {
        let verdict = judge(ExchangeFailure::Unreadable { had_content, why: "no index" }, NOW.parse().unwrap());
        assert_eq!(verdict.into_failure("Example", "KEY").kind, adjutant_ports::FailureKind::Unreadable, "{said}");
        let verdict = judge(ExchangeFailure::Unreadable { had_content, why: "no index" }, NOW.parse().unwrap());
        assert_eq!(verdict, FailureVerdict::Unreadable { why: said.to_owned() });
    }
}

#[test]
fn a_failure_says_what_happened_and_what_to_do() {
    let failure = |code, headers: &[(&str, &str)], body| {
        let failure = status(code, headers, body).into_failure("Example", "EXAMPLE_KEY");
        (failure.kind, failure.message)
    };
    let unauthorized = r#"{"error":{"type":"authentication_error","message":"invalid key"}}"#;
    let said = "Example: authentication_error: invalid key (status 401); check the key in EXAMPLE_KEY";
    assert_eq!(failure(401, &[], unauthorized), (FailureKind::Permanent, said.to_owned()));
    let said = "Example: an error without a word (status 503); it asks to wait 2.0 s";
    assert_eq!(failure(503, &[("retry-after", "2")], ""), (FailureKind::Busy, said.to_owned()));
    let said = "Example: no (status 400)";
    assert_eq!(failure(400, &[], "no"), (FailureKind::Rejected, said.to_owned()));
}

#[test]
fn a_long_body_is_cut_between_characters() {
    let (long, shown) = ("é".repeat(600), "é".repeat(MESSAGE_CHARS_MAX));
    let expected = FailureVerdict::Retry { is_busy: false, after: None, why: format!("{shown}… (status 502)") };
    assert_eq!(status(502, &[], &long), expected);
}
