//! Tests of the waits that answers ask for, in all the forms that providers use.

use serde_json::json;

use super::*;

/// A Sunday, at noon in UTC and at one o'clock in Berlin.
const NOW: &str = "2026-11-29T12:00:00Z";

fn waits(status: u16, headers: &[(&str, &str)], body: &str) -> Option<u64> {
    let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    match judge(ExchangeFailure::Status { status, headers: &headers, body }, NOW.parse().expect("a time")) {
        FailureVerdict::Retry { after, .. } => after.map(|after| u64::try_from(after.as_millis()).expect("a wait")),
        other => panic!("no attempt follows: {other:?}"),
    }
}

#[test]
fn sentences_say_how_long() {
    for (sentence, expected) in [
        ("Rate limit reached. Please try again in 1.5s. Visit us.", Some(1_500)),
        ("Please try again in 345ms.", Some(345)),
        ("Please try again in 20s.", Some(20_000)),
        ("Please try again in 1m2.5s. Need more tokens?", Some(62_500)),
        (
            "Rate limit reached for gpt-x on tokens per min (TPM): Limit 9, Used 9. Please try again in 6m0s.",
            Some(360_000),
        ),
        ("Please try again in 14m22.5s", Some(862_500)),
        ("Please retry in 19h1m8.430387596s.", Some(68_468_430)),
        ("Please retry in 361.532506ms", Some(361)),
        ("Please retry after 20 seconds.", Some(20_000)),
        ("Requests have exceeded the rate limit. Please retry after 1 second.", Some(1_000)),
        ("retry after 20", Some(20_000)),
        ("Retry after 20.", Some(20_000)),
        ("Try again in about 5 minutes", Some(300_000)),
        ("Try again in 1 hour and 30 minutes.", Some(5_400_000)),
        ("Your quota resets in 2h 10m", Some(7_800_000)),
        ("Resets in ~3h.", Some(10_800_000)),
        ("Please wait 30 seconds before the next request", Some(30_000)),
        ("try again in 2 days", Some(172_800_000)),
        ("try again in 1m30s", Some(90_000)),
        ("Please retry after the reset time.", None),
        ("Please try again in a while.", None),
        ("Please try again later.", None),
        ("Please wait before trying again.", None),
        ("try again in 99999999999999999999 days", Some(31_536_000_000)),
        ("try again in 0s", None),
        ("try again in ", None),
        ("try again in é", None),
    ] {
        let body = json!({ "error": { "message": sentence } }).to_string();
        assert_eq!(waits(429, &[], &body), expected, "{sentence}");
    }
}

#[test]
fn times_of_day_are_the_next_ones_in_utc_or_in_the_zone_that_is_said() {
    let (minute, hour) = (60_000, 3_600_000);
    for (sentence, expected) in [
        ("The limit resets at 16:00", Some(4 * hour)),
        ("resets at 16:00.", Some(4 * hour)),
        ("resets at 16:00 UTC", Some(4 * hour)),
        ("resets at 16:00:30 GMT", Some(4 * hour + 30_000)),
        ("resets at 16:00 (Europe/Berlin)", Some(3 * hour)),
        ("Your limit will reset at 4pm (Europe/Berlin).", Some(3 * hour)),
        ("You've hit your limit · resets 6:30pm (Asia/Seoul)", Some(21 * hour + 30 * minute)),
        ("resets at 16:00 +02:00", Some(2 * hour)),
        ("resets at 16:00 UTC+8", Some(20 * hour)),
        ("resets at 11:00", Some(23 * hour)),
        ("resets at 12:00", Some(24 * hour)),
        ("resets at 12am", Some(12 * hour)),
        ("resets at 12:30 pm, as always", Some(30 * minute)),
        ("try again at 16:00 on Sunday", Some(4 * hour)),
        ("Your limit will reset at 2026-11-30 12:00:00", Some(24 * hour)),
        ("resets at 2026-11-29T12:00:05Z", Some(5_000)),
        ("resets at 2026-11-29T14:00:00.250+01:00", Some(hour)),
        ("resets at 2026-11-28T12:00:00Z", None),
        ("retry after 2026-11-29T12:01:00Z", Some(minute)),
        // These names mean another zone elsewhere, or none.
        ("resets at 16:00 PST", None),
        ("resets at 16:00 (Nowhere/Land)", None),
        ("resets at 25:00", None),
        ("resets at 16", None),
        ("resets Monday at 9am", None),
    ] {
        let body = json!({ "error": { "message": sentence } }).to_string();
        assert_eq!(waits(429, &[], &body), expected, "{sentence}");
    }
}

#[test]
fn headers_say_when_the_limits_start_anew() {
    for (headers, expected) in [
        (&[("x-ratelimit-reset-requests", "1s")][..], Some(1_000)),
        (&[("x-ratelimit-reset-tokens", "6m0s")], Some(360_000)),
        (&[("x-ratelimit-reset-tokens", "120ms")], Some(120)),
        (&[("x-ratelimit-reset-tokens-minute", "59.70")], Some(59_700)),
        (&[("x-ratelimit-reset", "1795953610")], Some(10_000)),
        (&[("x-ratelimit-reset", "1795953600250")], Some(250)),
        (&[("ratelimit-reset", "30")], Some(30_000)),
        (&[("anthropic-ratelimit-tokens-reset", "2026-11-29T12:00:30Z")], Some(30_000)),
        (&[("anthropic-ratelimit-tokens-reset", "2026-11-29T11:00:30Z")], None),
        // The one that is used up counts, else the nearest.
        (
            &[
                ("x-ratelimit-remaining-requests", "59"),
                ("x-ratelimit-remaining-tokens", "0"),
                ("x-ratelimit-reset-requests", "1s"),
                ("x-ratelimit-reset-tokens", "6m0s"),
            ],
            Some(360_000),
        ),
        (
            &[
                ("anthropic-ratelimit-requests-remaining", "0"),
                ("anthropic-ratelimit-requests-reset", "2026-11-29T12:00:30Z"),
                ("anthropic-ratelimit-tokens-reset", "2026-11-29T12:00:10Z"),
            ],
            Some(30_000),
        ),
        (&[("x-ratelimit-reset-requests", "1s"), ("x-ratelimit-reset-tokens", "6m0s")], Some(1_000)),
        // What is meant for the wait comes first.
        (&[("retry-after", "7"), ("x-ratelimit-reset-tokens", "6m0s")], Some(7_000)),
        (&[("x-ratelimit-reset-tokens", "soon")], None),
        (&[("x-ratelimit-reset-tokens", "-5")], None),
        (&[("x-ratelimit-limit-tokens", "30")], None),
    ] {
        assert_eq!(waits(429, headers, ""), expected, "{headers:?}");
    }
    assert_eq!(waits(503, &[("x-ratelimit-reset-tokens", "6m0s")], ""), None, "an overload is no rate limit");
}

#[test]
fn a_field_and_headers_inside_an_error_say_it_too() {
    let retry = |delay: &str| {
        json!({ "error": { "code": 429, "status": "RESOURCE_EXHAUSTED", "message": "Please retry in 50s.", "details": [
            { "@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay },
        ] } })
        .to_string()
    };
    assert_eq!(waits(429, &[], &retry("13.5s")), Some(13_500));
    assert_eq!(waits(429, &[], &retry("soon")), Some(50_000));
    let inside = json!({ "error": { "code": 429, "message": "Provider returned error", "metadata": {
        "raw": retry("2s"), "headers": { "X-RateLimit-Reset": "1795953604000", "X-RateLimit-Remaining": "0" },
    } } });
    assert_eq!(waits(429, &[], &inside.to_string()), Some(2_000));
    let passed_on = json!({ "error": { "code": 429, "message": "Rate limit exceeded: free-models-per-min.", "metadata": {
        "headers": { "X-RateLimit-Limit": "20", "X-RateLimit-Reset": "1795953604000", "X-RateLimit-Remaining": "0" },
    } } });
    assert_eq!(waits(429, &[], &passed_on.to_string()), Some(4_000));
}
