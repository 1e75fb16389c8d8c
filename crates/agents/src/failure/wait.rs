//! Reads how long a provider asks to wait: from headers, from a field of the error, from its sentences.
//!
//! In: the headers and the texts of an answer, and the time. Out: a length of time, or `None` where nothing is
//! asked for. Nothing waits here, and nothing is limited but to a year.
//!
//! Begin with [`asked`].

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::civil::{Date, DateTime, Time};
use jiff::fmt::rfc2822;
use jiff::tz::{Offset, TimeZone};
use jiff::{Timestamp, ToSpan};

use super::said::ErrorBody;

/// The longest wait that is told apart from a longer one: a year.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// A number from which on a header means seconds since 1970, not seconds from now: longer ago than any API.
const EPOCH_SECONDS_MIN: f64 = 1e9;
/// The same for milliseconds.
const EPOCH_MILLISECONDS_MIN: f64 = 1e12;

/// Returns the wait that an answer asks for. The headers made for it come first, then the error's text, and last, after
/// a rate limit (`is_limited`), the time at which the limits reset.
pub(super) fn asked(
    headers: &BTreeMap<String, String>,
    said: &ErrorBody,
    is_limited: bool,
    now: Timestamp,
) -> Option<Duration> {
    let passed_on: BTreeMap<String, String> = said.headers.iter().cloned().collect();
    let wait = retry_after(headers, now)
        .or_else(|| retry_after(&passed_on, now))
        .or_else(|| said.delay().and_then(length))
        .or_else(|| said.texts().into_iter().find_map(|text| in_sentence(text, now)))
        .or_else(|| is_limited.then(|| reset(headers, now).or_else(|| reset(&passed_on, now)))?);
    // No wait at all is no wish: the usual one follows.
    wait.filter(|wait| !wait.is_zero()).map(|wait| wait.min(LONGEST))
}

/// `retry-after-ms`, else `retry-after` in seconds or as a date.
fn retry_after(headers: &BTreeMap<String, String>, now: Timestamp) -> Option<Duration> {
    let exact = headers.get("retry-after-ms").and_then(|text| seconds(text)).map(|wait| wait / 1000);
    exact.or_else(|| {
        let text = headers.get("retry-after")?.trim();
        seconds(text).or_else(|| {
            let date = rfc2822::DateTimeParser::new().parse_timestamp(text).ok()?;
            // A date that has passed asks for no wait.
            Some(until(date, now))
        })
    })
}

/// Returns the time until the limits reset. Of those that are used up the last counts; if none is known to be, the
/// first, since an attempt that comes too early costs little. OpenAI and its kin have `x-ratelimit-reset-requests:
/// 6m0s` beside `x-ratelimit-remaining-requests: 0`, Anthropic `anthropic-ratelimit-tokens-reset` with a date.
fn reset(headers: &BTreeMap<String, String>, now: Timestamp) -> Option<Duration> {
    let resets = headers.iter().filter(|(name, _)| name.contains("ratelimit") && name.contains("reset"));
    let waits: Vec<(bool, Duration)> = resets
        .filter_map(|(name, value)| {
            let left =
                headers.get(&name.replace("reset", "remaining")).and_then(|left| left.trim().parse::<f64>().ok());
            Some((left.is_some_and(|left| left <= 0.0), moment(value, now)?))
        })
        .collect();
    let used_up = waits.iter().filter(|(is_used_up, _)| *is_used_up).map(|(_, wait)| *wait).max();
    used_up.or_else(|| waits.iter().map(|(_, wait)| *wait).filter(|wait| !wait.is_zero()).min())
}

/// Returns the value of such a header: a length, seconds, a time since 1970, or a date.
fn moment(value: &str, now: Timestamp) -> Option<Duration> {
    let value = value.trim();
    if let Ok(number) = value.parse::<f64>() {
        let since_1970 = |millis: f64| {
            // As exact as needed: milliseconds since 1970 are whole numbers below 2^53.
            #[expect(clippy::cast_possible_truncation, reason = "what is out of range is no moment that jiff knows")]
            let moment = Timestamp::from_millisecond(millis as i64).ok()?;
            Some(until(moment, now))
        };
        return match number {
            number if number >= EPOCH_MILLISECONDS_MIN => since_1970(number),
            number if number >= EPOCH_SECONDS_MIN => since_1970(number * 1000.0),
            _ => seconds(value),
        };
    }
    let date =
        || value.parse::<Timestamp>().ok().or_else(|| rfc2822::DateTimeParser::new().parse_timestamp(value).ok());
    length(value).or_else(|| Some(until(date()?, now)))
}

fn until(moment: Timestamp, now: Timestamp) -> Duration {
    Duration::try_from(moment.duration_since(now)).unwrap_or(Duration::ZERO)
}

/// Behind which words a length or a time stands, in small letters.
const BEFORE_A_LENGTH: &[&str] = &[
    "try again in ", "try again after ", "retry in ", "retry after ", "retry-after: ", "retrying in ", "please wait ",
    "wait for ", "resets in ", "reset in ", "resets after ", "reset after ", "available in ",
];
const BEFORE_A_TIME: &[&str] = &[
    "resets at ", "reset at ", "resets on ", "reset on ", "resets ", "try again at ", "retry at ", "available at ",
    "retry after ",
];

/// Returns the wait that a sentence asks for: `Please try again in 1m2.5s`, `retry after 20 seconds`, `resets at
/// 16:00`.
fn in_sentence(text: &str, now: Timestamp) -> Option<Duration> {
    let text = text.to_lowercase();
    let behind = |words: &str| {
        let begin = text.find(words)? + words.len();
        Some(text[begin..].trim_start_matches(['~', ' ', ':']))
    };
    let length = BEFORE_A_LENGTH.iter().find_map(|words| begin_length(behind(words)?));
    length.or_else(|| BEFORE_A_TIME.iter().find_map(|words| time_of_day(behind(words)?, now)))
}

/// Returns a length of time that is the whole of `text`.
fn length(text: &str) -> Option<Duration> {
    let text = text.trim().to_lowercase();
    let (length, rest) = leading_length(&text)?;
    rest.trim().is_empty().then_some(length)
}

/// Returns the length of time that `text` begins with. A number without a unit is one of seconds, unless a time of day
/// or a date goes on behind it.
fn begin_length(text: &str) -> Option<Duration> {
    let text = ["about ", "approximately ", "another ", "at least "]
        .iter()
        .fold(text, |text, word| text.strip_prefix(word).unwrap_or(text));
    if let Some((length, _)) = leading_length(text) {
        return Some(length);
    }
    let (number, rest) = leading_number(text)?;
    let is_over = rest.chars().next().is_none_or(|next| matches!(next, '.' | ',' | ';' | ')' | '"'));
    is_over.then(|| seconds(number)).flatten()
}

/// Returns the length of time that `text` begins with, made of numbers with units, and what follows it.
fn leading_length(text: &str) -> Option<(Duration, &str)> {
    let mut sum: Option<Duration> = None;
    let mut rest = text;
    loop {
        let next = rest.trim_start_matches([' ', ',']);
        let next = next.strip_prefix("and ").unwrap_or(next);
        let Some((length, behind)) = number_with_unit(next) else { return sum.map(|sum| (sum, rest)) };
        sum = Some(sum.unwrap_or_default().saturating_add(length));
        rest = behind;
    }
}

fn number_with_unit(text: &str) -> Option<(Duration, &str)> {
    let (number, rest) = leading_number(text)?;
    let rest = rest.trim_start_matches([' ', '-']);
    let end = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
    let (unit, rest) = rest.split_at(end);
    let (thousandths, unit_seconds) = match unit {
        "ms" | "msec" | "msecs" | "millisecond" | "milliseconds" => (true, 1),
        "s" | "sec" | "secs" | "second" | "seconds" => (false, 1),
        "m" | "min" | "mins" | "minute" | "minutes" => (false, 60),
        "h" | "hr" | "hrs" | "hour" | "hours" => (false, 60 * 60),
        "d" | "day" | "days" => (false, 24 * 60 * 60),
        _ => return None,
    };
    let number = seconds(number)?;
    let length = if thousandths { number / 1000 } else { number.saturating_mul(unit_seconds) };
    Some((length.min(LONGEST), rest))
}

fn leading_number(text: &str) -> Option<(&str, &str)> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let fraction = text[digits..].strip_prefix('.').map_or(0, |rest| {
        let more = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        if more == 0 { 0 } else { more + 1 }
    });
    (digits > 0).then(|| text.split_at(digits + fraction))
}

/// Returns the time left until the one that `text` begins with: `16:00`, `4:30 pm (europe/berlin)`, `2026-11-29
/// 16:00:00 utc`, `2026-11-29t16:00:00z`. A time without a date is the next one; one without a zone is UTC.
fn time_of_day(text: &str, now: Timestamp) -> Option<Duration> {
    let (date, rest) = match leading_date(text) {
        Some((date, rest)) => (Some(date), rest.trim_start_matches(['t', ' ', ','])),
        None => (None, text),
    };
    let (time, rest) = leading_time(rest)?;
    let zone = leading_zone(rest)?;
    let moment = |date: Date| zone.to_timestamp(DateTime::from_parts(date, time)).ok();
    if let Some(date) = date {
        return Some(until(moment(date)?, now));
    }
    let today = zone.to_datetime(now).date();
    let coming = moment(today).filter(|moment| *moment > now);
    Some(until(coming.or_else(|| moment(today.checked_add(1.day()).ok()?))?, now))
}

fn leading_date(text: &str) -> Option<(Date, &str)> {
    let date = text.get(..10)?.parse().ok()?;
    Some((date, &text[10..]))
}

fn leading_time(text: &str) -> Option<(Time, &str)> {
    let (hour, rest) = leading_digits(text)?;
    let part = |rest: &'_ str| -> Option<(i8, usize)> {
        let (number, behind) = leading_digits(rest.strip_prefix(':')?)?;
        Some((number, rest.len() - behind.len()))
    };
    let (minute, rest) = part(rest).map_or((None, rest), |(number, used)| (Some(number), &rest[used..]));
    let (second, rest) = part(rest).map_or((0, rest), |(number, used)| (number, &rest[used..]));
    let rest = rest.strip_prefix('.').map_or(rest, |rest| rest.trim_start_matches(|c: char| c.is_ascii_digit()));
    let half = rest.trim_start();
    let (hour, rest) = match half.get(..2) {
        Some("am") if (1..=12).contains(&hour) => (hour % 12, &half[2..]),
        Some("pm") if (1..=12).contains(&hour) => (hour % 12 + 12, &half[2..]),
        // A number alone is no time of day.
        Some(_) | None => (hour, minute.map(|_| rest)?),
    };
    Some((Time::new(hour, minute.unwrap_or(0), second, 0).ok()?, rest))
}

fn leading_digits(text: &str) -> Option<(i8, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    Some((digits.parse().ok()?, rest))
}

/// Returns the zone that `text` begins with: UTC if it names none, `None` if it names an unknown one.
fn leading_zone(text: &str) -> Option<TimeZone> {
    let text = text.trim_start();
    let (text, is_named) = text.strip_prefix('(').map_or((text, false), |inner| (inner, true));
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '/' | '_' | '+' | '-' | ':'));
    let name = text[..end.unwrap_or(text.len())].trim_end_matches(['-', ':']);
    if name.is_empty() || (!is_named && is_ordinary_word(name)) {
        return Some(TimeZone::UTC);
    }
    let offset = ["utc", "gmt"].iter().find_map(|zone| name.strip_prefix(zone)).unwrap_or(name);
    if matches!(offset, "" | "z") {
        return Some(TimeZone::UTC);
    }
    leading_offset(offset).map(TimeZone::fixed).or_else(|| TimeZone::get(name).ok())
}

/// Short names of zones that providers and their users write. Most mean a zone in one country and another
/// elsewhere: these are no names that can be looked up, and so a time behind which one stands can't be read.
const SHORT_ZONES: &[&str] = &[
    "est", "edt", "cst", "cdt", "mst", "mdt", "pst", "pdt", "et", "ct", "mt", "pt", "cet", "cest", "bst", "ist", "jst",
    "kst", "hkt", "sgt", "aest", "aedt",
];

/// Returns true if a word behind a time is no zone, but the sentence going on.
fn is_ordinary_word(name: &str) -> bool {
    let is_zone = name.starts_with(['+', '-'])
        || name.contains('/')
        || name.starts_with("utc")
        || name.starts_with("gmt")
        || name == "z"
        || SHORT_ZONES.contains(&name);
    !is_zone
}

/// `+8`, `+08:00` or `-0730`.
fn leading_offset(text: &str) -> Option<Offset> {
    let sign = if text.starts_with('-') { -1 } else { 1 };
    let digits: String = text.strip_prefix(['+', '-'])?.chars().filter(|c| *c != ':').collect();
    let (hours, minutes) = if digits.len() > 2 { digits.split_at_checked(digits.len() - 2)? } else { (&*digits, "0") };
    let (hours, minutes): (i32, i32) = (hours.parse().ok()?, minutes.parse().ok()?);
    Offset::from_seconds(sign * (hours * 60 + minutes) * 60).ok()
}

/// Returns a number of seconds, which may have a fraction; `None` if it is no length of time.
fn seconds(text: &str) -> Option<Duration> {
    let seconds: f64 = text.trim().parse().ok()?;
    // Longer than any length of time is at least as long as the longest.
    if seconds.is_finite() && seconds > LONGEST.as_secs_f64() {
        return Some(LONGEST);
    }
    Duration::try_from_secs_f64(seconds).ok()
}
