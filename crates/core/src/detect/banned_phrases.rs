//! The phrases that no agent shall use: a matter of voice, a warning and never a gate.
//!
//! Fenced blocks and inline code are taken out first, an unclosed fence is not (the peer's rule), and
//! the rest is searched for the peer's list. Typographic apostrophes count (S12).
//!
//! | sensitivity | fires on |
//! | --- | --- |
//! | default | one hit |
//! | loose | two hits |
//! | strict | one hit, in inline code too |

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;
use serde::Serialize;

use super::Sensitivity;
use super::page::Page;

/// The banned phrases of a turn.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct BannedPhrases {
    /// All hits.
    pub count: usize,
    /// The distinct hits in lower case with plain quotes, in the order of the rules.
    pub phrases: Vec<String>,
}

/// Beginning of each rule's hits, in the order of the rules: enough to tell them apart.
const RULES: [&str; 11] =
    ["certainly", "absolutely", "great", "of", "i", "as", "it", "feel", "leverage", "utilize", "facilitate"];

static PHRASES: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = concat!(
        r"(?-u:\b)(?:certainly|absolutely|great question|of course|i(?:'d| would) be happy to|as an ai",
        r"|it(?:'s| is) important to note|feel free to|leverage|utilize|facilitate)(?-u:\b)"
    );
    Regex::new(pattern).expect("the pattern is a constant that a test compiles")
});

pub(super) fn read(page: &Page<'_>, sensitivity: Sensitivity) -> BannedPhrases {
    let prose = without_fences(page);
    let prose = if sensitivity == Sensitivity::Strict { prose } else { without_inline_code(prose) };
    let hits: Vec<&str> = PHRASES.find_iter(&prose).map(|hit| hit.as_str()).collect();
    if sensitivity == Sensitivity::Loose && hits.len() < 2 {
        return BannedPhrases::default();
    }
    let rule = |hit: &str| RULES.iter().rposition(|start| hit.starts_with(start)).unwrap_or(RULES.len());
    let mut in_order = hits.clone();
    in_order.sort_by_key(|hit| rule(hit));
    let mut phrases: Vec<String> = Vec::new();
    for hit in in_order {
        if !phrases.iter().any(|phrase| phrase == hit) {
            phrases.push(hit.to_owned());
        }
    }
    BannedPhrases { count: hits.len(), phrases }
}

fn without_fences<'p>(page: &'p Page<'_>) -> Cow<'p, str> {
    if page.fences.closed.is_empty() {
        return Cow::Borrowed(&page.lower);
    }
    let mut prose = String::with_capacity(page.lower.len());
    let mut from = 0;
    for fence in &page.fences.closed {
        prose.push_str(&page.lower[from..fence.start]);
        from = fence.end;
    }
    prose.push_str(&page.lower[from..]);
    Cow::Owned(prose)
}

/// Takes out what stands between two backticks of one line.
fn without_inline_code(prose: Cow<'_, str>) -> Cow<'_, str> {
    if memchr::memchr(b'`', prose.as_bytes()).is_none() {
        return prose;
    }
    let mut kept = String::with_capacity(prose.len());
    let mut rest: &str = &prose;
    while let Some(open) = memchr::memchr(b'`', rest.as_bytes()) {
        let (before, code) = rest.split_at(open);
        kept.push_str(before);
        match memchr::memchr2(b'`', b'\n', &code.as_bytes()[1..]) {
            Some(end) if code.as_bytes()[1 + end] == b'`' => rest = &code[end + 2..],
            Some(_) | None => {
                kept.push('`');
                rest = &code[1..];
            }
        }
    }
    kept.push_str(rest);
    Cow::Owned(kept)
}
