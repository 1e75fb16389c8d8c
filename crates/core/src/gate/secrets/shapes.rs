//! The looks of secrets: marks of their own, assignments, headers, pairs.
//!
//! Everything here looks at one *run*, an unbroken string of the characters that secrets are made of,
//! and at a bounded piece of the text before it. The marks of providers are in `prefixes.rs`.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::base64::{decoded, is_base64};
use super::prefixes;

/// The kind of a value that something called a password, a token or the like is set to.
pub(super) const ASSIGNED: &str = "assigned_secret";
/// No secret with a mark is shorter than this in base64.
const ENCODED_BYTES_MIN: usize = 24;
/// The shortest text that is called random.
const RANDOM_BYTES_MIN: usize = 16;
/// The most marks within words that may hide a key in one run.
const RESTARTS_MAX: u32 = 8;
/// The kind of the body of a PEM block.
pub(super) const PRIVATE_KEY: &str = "private_key";

fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the pattern is a constant that a test compiles")
}

/// The marks as they look inside base64 data. Some are as short as three characters, so a match is always decoded and
/// looked at.
static ENCODED: LazyLock<Regex> = LazyLock::new(|| {
    regex(&prefixes::encoded_marks().map(|anchor| regex::escape(&anchor)).collect::<Vec<_>>().join("|"))
});

/// One bit for each way in which a mark, plain or encoded, may begin.
static BEGINNINGS: LazyLock<Vec<u64>> = LazyLock::new(|| {
    let mut bits = vec![0_u64; 1 << 12];
    for mark in prefixes::marks() {
        if let Some([first, second, third]) = mark.as_bytes().first_chunk() {
            let bit = beginning(*first, *second, *third);
            bits[bit / 64] |= 1 << (bit % 64);
        }
    }
    bits
});

/// The bit of three bytes: the lower six of each, enough to tell most of them apart.
fn beginning(first: u8, second: u8, third: u8) -> usize {
    let six = |byte: u8| usize::from(byte & 63);
    (six(first) << 12) | (six(second) << 6) | six(third)
}

/// True if a prefix may begin in `run`. True is wrong now and then, false never.
pub(super) fn may_have_prefix(run: &str) -> bool {
    let beginnings = BEGINNINGS.as_slice();
    run.as_bytes().windows(3).any(|bytes| {
        let bit = beginning(bytes[0], bytes[1], bytes[2]);
        beginnings[bit / 64] & (1 << (bit % 64)) != 0
    })
}

/// The text right before an assigned value: a telling name, then `=` or `:`, quotes allowed.
static NAME: LazyLock<Regex> = LazyLock::new(|| {
    regex(concat!(
        "(?i-u:password|passwd|passphrase|pwd|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|credential",
        "|(?:signing|encryption|account|service|auth)[_-]?key)",
        r#"[A-Za-z0-9_-]{0,24}["'\\]{0,2}[ \t]{0,4}(?:=>|:=|=|:)[ \t]{0,4}["'`\\]{0,2}$"#
    ))
});

/// The id of a bot in base64, and two more parts.
static DISCORD_TOKEN: LazyLock<Regex> =
    LazyLock::new(|| regex(r"(?:^|[^A-Za-z0-9])([MNO][A-Za-z0-9]{22,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,})"));
/// The same where a word may stand right before it and other text right behind it.
static DISCORD_TOKEN_JOINED: LazyLock<Regex> =
    LazyLock::new(|| regex(r"[MNO][A-Za-z0-9]{22,30}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40}"));
static TELEGRAM_TOKEN: LazyLock<Regex> = LazyLock::new(|| regex("[0-9]{8,10}:AA[A-Za-z0-9_-]{31}"));
static ACCOUNT_KEY: LazyLock<Regex> = LazyLock::new(|| regex("AccountKey=[A-Za-z0-9+/]{40}"));
static USER_OF_URL: LazyLock<Regex> =
    LazyLock::new(|| regex(r"://[A-Za-z0-9_.%+-]{0,64}:(?:[A-Za-z0-9_.%+-]{0,64}:)?$"));
static AWS_KEY_ID: LazyLock<Regex> = LazyLock::new(|| regex("(?:AKIA|ASIA)[A-Z0-9]{16}"));
static PEM_HEADER: LazyLock<Regex> = LazyLock::new(|| regex("-----BEGIN [A-Z0-9 ]{0,32}PRIVATE KEY(?: BLOCK)?-----"));

/// The secrets in one run, in order, apart from each other. `context` is the text before the run, `after` what follows.
pub(super) fn secrets(context: &str, run: &str, after: Option<u8>) -> Vec<(Range<usize>, &'static str)> {
    let mut found: Vec<(Range<usize>, &'static str)> = Vec::new();
    if may_have_prefix(run) {
        prefixed(context, run, &mut found);
        in_base64(run, &mut found);
    }
    if run.len() >= 40 {
        pem_body(context, run, &mut found);
        aws_secret(context, run, &mut found);
    }
    if let Some(end) = telegram_token(context, run) {
        found.push((0..end, "telegram_token"));
    }
    if let Some(end) = asana_token(context, run) {
        found.push((0..end, "asana_token"));
    }
    if run.len() >= 50 {
        let tokens = DISCORD_TOKEN.captures_iter(run).filter_map(|found| found.get(1));
        found.extend(tokens.map(|token| (token.range(), "discord_token")));
        discord_in_base64(run, &mut found);
    }
    if let Some(kind) = named_beside(context, run) {
        found.push((0..run.len(), kind));
    }
    if is_signature(context, run) {
        found.push((0..run.len(), "azure_signature"));
    }
    if let Some(end) = url_password(context, run) {
        found.push((0..end, "url_password"));
    } else if is_authorization(context, run) {
        found.push((0..run.len(), "authorization"));
    } else if is_assigned(context, run)
        && !(after == Some(b'(') && is_identifier(run))
        && found.iter().all(|(range, _)| *range != (0..run.len()))
    {
        found.push((0..run.len(), ASSIGNED));
    }
    apart(found)
}

/// True if `run`, whose rest is missing, may be the beginning of a secret.
pub(super) fn begins_secret(context: &str, run: &str) -> bool {
    if run.is_empty() {
        return false;
    }
    let is_word_start = |at: usize| !run[..at].bytes().last().is_some_and(|byte| byte.is_ascii_alphanumeric());
    let has_mark = (0..run.len()).filter(|at| is_word_start(*at)).any(|at| prefixes::begins_with_mark(&run[at..]));
    let is_assigned = NAME.is_match(tail(context, 96)) || USER_OF_URL.is_match(tail(context, 80));
    let is_pem = run.contains("-----BEGIN") || follows_header(tail(context, 320), "");
    has_mark || is_assigned || is_pem
}

/// Of secrets that overlap keeps the one that begins first; of two that begin together, the longer.
pub(super) fn apart(mut found: Vec<(Range<usize>, &'static str)>) -> Vec<(Range<usize>, &'static str)> {
    found.sort_by_key(|(range, _)| (range.start, usize::MAX - range.end));
    let mut apart: Vec<(Range<usize>, &'static str)> = Vec::new();
    for (range, kind) in found {
        match apart.last_mut() {
            Some((last, _)) if range.start < last.end => last.end = last.end.max(range.end),
            Some(_) | None => apart.push((range, kind)),
        }
    }
    apart
}

fn prefixed(context: &str, run: &str, found: &mut Vec<(Range<usize>, &'static str)>) {
    let (mut at, mut last_end, mut restarts) = (0, None, 0);
    while let Some(key) = prefixes::next(run, at) {
        at = key.end;
        let before = run[..key.start].bytes().last().or(context.bytes().last());
        let is_within_word = run.as_bytes()[key.start].is_ascii_alphanumeric()
            && before.is_some_and(|byte| byte.is_ascii_alphanumeric());
        if !is_within_word || last_end == Some(key.start) {
            let end = if key.length.is_some() { key.end } else { goes_on_to(run, key.end) };
            at = end;
            last_end = Some(end);
            found.push((key.start..end, key.kind));
        } else if restarts < RESTARTS_MAX {
            // In `task-sk-...` a key begins within what only looks like one.
            restarts += 1;
            at = key.start + 1;
        }
    }
}

/// Returns the end of a key without a fixed length: behind what its shape knows come parts that look random.
fn goes_on_to(run: &str, from: usize) -> usize {
    let mut end = from;
    while let Some(rest) = run[end..].strip_prefix(['.', '+', '~']) {
        let length =
            rest.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')).count();
        let has = |is: fn(&u8) -> bool| rest.as_bytes()[..length].iter().any(is);
        let is_mixed = has(u8::is_ascii_digit) && has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase);
        if length < RANDOM_BYTES_MIN || !is_mixed {
            break;
        }
        end += 1 + length;
    }
    end
}

/// A token without a mark, in base64: looked for in what isn't much longer than one.
fn discord_in_base64(run: &str, found: &mut Vec<(Range<usize>, &'static str)>) {
    let mut from = 0;
    for part in run.split(|c: char| !c.is_ascii() || !is_base64(c as u8)) {
        let bytes = part.as_bytes();
        if (76..=600).contains(&bytes.len())
            && (0..4).any(|offset| DISCORD_TOKEN_JOINED.is_match(&decoded(&bytes[offset..])))
        {
            found.push((from..from + bytes.len(), "discord_token"));
        }
        from += bytes.len() + 1;
    }
}

/// A key that nothing tells but its length, and what is named right before it.
fn named_beside(context: &str, run: &str) -> Option<&'static str> {
    if !(32..=50).contains(&run.len()) {
        return None;
    }
    let bytes = run.as_bytes();
    let is_hex = |part: &[u8]| part.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let is_word = || bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'='));
    let parts = |lengths: &[usize]| {
        let mut parts = run.split('-');
        lengths.iter().all(|length| parts.next().is_some_and(|part| part.len() == *length && is_hex(part.as_bytes())))
            && parts.next().is_none()
    };
    let (names, kind): (&[&str], _) = match bytes.len() {
        42 if run.starts_with("00") && is_word() => (&["okta", "ssws"], "okta_token"),
        32 if is_hex(bytes) => (&["codecov"], "codecov_token"),
        36 if is_uuid(run) => (&["codecov"], "codecov_token"),
        50 if parts(&[32, 8, 8]) => (&["mailgun"], "mailgun_key"),
        46 if run.starts_with("b_") && is_word() => (&["beamer"], "beamer_key"),
        40 if run.get(4..).is_some_and(is_uuid) => (&["launchdarkly"], "launchdarkly_key"),
        40 | 43 if is_word() && !is_hex(bytes) => (&["cohere"], "cohere_key"),
        _ => return None,
    };
    let near = tail(context, 64).to_ascii_lowercase();
    names.iter().any(|name| near.contains(name)).then_some(kind)
}

fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

/// Returns whether `text` is put together of words as the names in programs are: `tokenFromCookie1`.
fn is_identifier(text: &str) -> bool {
    let mut rest = text;
    while !rest.is_empty() {
        let bytes = rest.as_bytes();
        let capital = usize::from(bytes[0].is_ascii_uppercase());
        let small = bytes[capital..].iter().take_while(|byte| byte.is_ascii_lowercase()).count();
        let word = capital + small;
        let digits = bytes[word..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let ends = bytes[word + digits..].iter().take_while(|byte| matches!(byte, b'_' | b'.')).count();
        if small < 2 || word > 14 || digits > 3 {
            return false;
        }
        rest = &rest[word + digits + ends..];
    }
    true
}

pub(super) fn in_base64(run: &str, found: &mut Vec<(Range<usize>, &'static str)>) {
    let bytes = run.as_bytes();
    let mut read_to = 0;
    for anchor in ENCODED.find_iter(run) {
        if anchor.start() < read_to {
            continue;
        }
        let from = bytes[..anchor.start()].iter().rposition(|byte| !is_base64(*byte)).map_or(0, |at| at + 1);
        let length = bytes[from..].iter().take_while(|byte| is_base64(**byte)).count();
        read_to = from + length;
        if length < ENCODED_BYTES_MIN {
            continue;
        }
        let kind = (0..4).find_map(|offset| {
            let plain = decoded(bytes.get(from + offset..read_to)?);
            if plain.contains("-----BEGIN ") && plain.contains("PRIVATE KEY") {
                return Some(PRIVATE_KEY);
            }
            if plain.contains("AccountKey=") && ACCOUNT_KEY.is_match(&plain) {
                return Some("azure_key");
            }
            if plain.contains(":AA") && TELEGRAM_TOKEN.is_match(&plain) {
                return Some("telegram_token");
            }
            prefixes::next(&plain, 0).map(|key| key.kind)
        });
        found.extend(kind.map(|kind| (from..read_to, kind)));
    }
}

/// The body of a PEM block begins with a long piece of base64 soon after a header.
fn pem_body(context: &str, run: &str, found: &mut Vec<(Range<usize>, &'static str)>) {
    let is_body = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    let bytes = run.as_bytes();
    // Of an escaped newline the `n` stands in the run.
    let mut at = usize::from(context.ends_with('\\') && run.starts_with(['n', 'r']));
    while at < bytes.len() {
        let length = bytes[at..].iter().take_while(|byte| is_body(byte)).count();
        if length >= 40 && follows_header(context, &run[..at]) {
            found.push((at..at + length, PRIVATE_KEY));
            return;
        }
        at += length + 1;
    }
}

fn follows_header(context: &str, run_before: &str) -> bool {
    if !context.contains("PRIVATE") {
        return false;
    }
    let before = format!("{context}{run_before}");
    let header = PEM_HEADER.find_iter(&before).last();
    header.is_some_and(|header| !before[header.end()..].contains("-----END"))
}

/// The secret of a pair is 40 characters without a mark of its own: its key's id stands before it.
fn aws_secret(context: &str, run: &str, found: &mut Vec<(Range<usize>, &'static str)>) {
    let is_secret = run.len() == 40
        && run.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/'))
        && run.bytes().any(|byte| byte.is_ascii_uppercase())
        && run.bytes().any(|byte| byte.is_ascii_lowercase());
    if is_secret && AWS_KEY_ID.is_match(context) {
        found.push((0..run.len(), "aws_secret_key"));
    }
}

/// The keys without a mark in `text`, which a break goes through somewhere. `context` is what stands before it.
pub(super) fn unmarked(context: &str, text: &str, found: &mut Vec<(Range<usize>, &'static str)>) {
    // Whatever follows a token may be put together with it: it has 35 characters.
    found.extend(telegram_token(context, text).map(|end| (0..end.min(35), "telegram_token")));
    if context.ends_with("AccountKey=") {
        let is_key = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
        let length = text.bytes().take(86).take_while(is_key).count();
        found.extend((length == 86).then_some((0..length, "azure_key")));
    }
    if text.len() >= 50 {
        found.extend(DISCORD_TOKEN_JOINED.find_iter(text).map(|token| (token.range(), "discord_token")));
    }
}

/// Returns the end of a token of Asana: behind the number of a user.
fn asana_token(context: &str, run: &str) -> Option<usize> {
    let number = context.strip_suffix(':')?;
    let digits = number.bytes().rev().take_while(u8::is_ascii_digit).count();
    let is_hex = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let is_user = (15..=17).contains(&digits) && number[..number.len() - digits].ends_with('/');
    Some(run.bytes().take_while(is_hex).count()).filter(|length| is_user && *length == 32)
}

/// Returns the end of a bot's token: behind its number and a colon.
fn telegram_token(context: &str, run: &str) -> Option<usize> {
    let number = context.strip_suffix(':')?;
    let digits = number.bytes().rev().take_while(u8::is_ascii_digit).count();
    let is_token = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let length = run.bytes().take_while(is_token).count();
    ((8..=10).contains(&digits) && run.starts_with("AA") && length >= 33).then_some(length)
}

/// The signature in an address that gives access to storage of Azure.
fn is_signature(context: &str, run: &str) -> bool {
    let is_named = ["?sig=", "&sig=", ";sig=", "&amp;sig="].iter().any(|name| context.ends_with(name));
    is_named && run.len() >= 40 && run.bytes().any(|byte| byte.is_ascii_uppercase())
}

/// Returns the end of the URL password that `run` begins with.
fn url_password(context: &str, run: &str) -> Option<usize> {
    if !context.ends_with(':') {
        return None;
    }
    let authority = run.split('/').next().unwrap_or(run);
    let end = authority.rfind('@').filter(|end| *end >= 3)?;
    USER_OF_URL.is_match(tail(context, 80)).then_some(end)
}

fn is_authorization(context: &str, run: &str) -> bool {
    let Some(before) = context.strip_suffix([' ', '\t']) else { return false };
    let before = tail(before, 6).as_bytes();
    let follows = |scheme: &[u8]| {
        before.len() >= scheme.len() && before[before.len() - scheme.len()..].eq_ignore_ascii_case(scheme)
    };
    let has = |is: fn(&u8) -> bool| run.as_bytes().iter().any(is);
    let is_random =
        || has(u8::is_ascii_digit) || (has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase) && run.len() >= 20);
    run.len() >= RANDOM_BYTES_MIN
        && (follows(b"bearer") || (follows(b"basic") && !prefixes::is_words(run)))
        && is_random()
}

/// True if `context` assigns `value` to something called a password, a token or the like, and `value` looks random
/// enough to be one: at least 16 characters, with both cases and a digit, or with three digits and a letter, and at
/// least eight different ones.
pub(super) fn is_assigned(context: &str, value: &str) -> bool {
    let bare = context.trim_end_matches([' ', '\t', '"', '\'', '`', '\\']);
    if !bare.ends_with(['=', ':', '>']) || value.len() < RANDOM_BYTES_MIN || value.contains(char::is_whitespace) {
        return false;
    }
    let count = |is: fn(&u8) -> bool| value.as_bytes().iter().filter(|byte| is(byte)).count();
    let digits = count(u8::is_ascii_digit);
    let (upper, lower) = (count(u8::is_ascii_uppercase), count(u8::is_ascii_lowercase));
    let is_mixed = (upper > 0 && lower > 0 && digits > 0) || (digits >= 3 && upper + lower > 0);
    let mut seen = [false; 256];
    value.bytes().for_each(|byte| seen[usize::from(byte)] = true);
    if !is_mixed || seen.iter().filter(|seen| **seen).count() < 8 {
        return false;
    }
    let context = tail(context, 96);
    NAME.is_match(context) && !is_named(context, value) && !is_placeholder(value)
}

/// Returns whether `value` is but the name of a secret, or the id of a token, and what it is set to says so.
fn is_named(context: &str, value: &str) -> bool {
    let name = context.trim_end_matches(|c: char| !c.is_ascii_alphanumeric()).as_bytes();
    let ends_with = |end: &[u8]| name.len() >= end.len() && name[name.len() - end.len()..].eq_ignore_ascii_case(end);
    let is_name = ends_with(b"secretname") || ends_with(b"secret_name") || ends_with(b"secret-name");
    let is_id = ends_with(b"token_id") || ends_with(b"tokenid") || ends_with(b"token-id");
    (is_name && prefixes::is_words(value)) || (is_id && is_uuid(value))
}

/// Returns whether `value` says what is to be put in its place: `YOUR_KEY_GOES_HERE_123`.
fn is_placeholder(value: &str) -> bool {
    let has_start = value.get(..4).is_some_and(|start| start.eq_ignore_ascii_case("your"));
    has_start && value[4..].starts_with(['-', '_']) && prefixes::is_words(value)
}

/// The last `bytes` of a text, a little less where that would cut a character.
fn tail(text: &str, bytes: usize) -> &str {
    let mut from = text.len().saturating_sub(bytes);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    &text[from..]
}
