//! Does the agent say that it can't go on?
//!
//! Explicit markers come first (a heading `Phase 2`, a line `Phase 2:` or `Blocker:`), then the peer's
//! eight phrases in its order. Unlike the peer's, a marker inside a closed fence is shown and not said;
//! every occurrence of a phrase is tested, so that one inside a fence doesn't hide a real one after it
//! (C32); and the typographic apostrophe counts (S12).
//!
//! | sensitivity | fires on |
//! | --- | --- |
//! | default | markers and phrases |
//! | loose | markers |
//! | strict | also on the milder phrases of [`STRICT`], such as `unable to proceed` and `blocked by` |

use std::sync::LazyLock;

use regex::Regex;
use serde::Serialize;

use super::Sensitivity;
use super::page::{HeadOfLine, Page};
use super::words::{after, after_ws, cut_to_units, is_ws, ws};

/// The longest reason, in UTF-16 units (the peer's rule).
pub const REASON_UNITS_MAX: usize = 600;
/// The most lines of a reason (the peer's rule).
pub const REASON_LINES_MAX: usize = 8;

/// Finding about a turn that may say that its agent is blocked.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Blocker {
    /// True if it does.
    pub blocked: bool,
    /// The agent's words from the match on, at most [`REASON_LINES_MAX`] lines and
    /// [`REASON_UNITS_MAX`] units.
    pub reason: Option<String>,
    /// The id of the rule that matched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub matched_pattern: Option<&'static str>,
}

/// A phrase and the id of its rule.
struct Phrase {
    id: &'static str,
    regex: Regex,
}

impl Phrase {
    fn new(id: &'static str, pattern: &str) -> Self {
        let regex = Regex::new(pattern).expect("the pattern is a constant that a test compiles");
        Self { id, regex }
    }
}

static PHRASES: LazyLock<[Phrase; 8]> = LazyLock::new(|| {
    [
        Phrase::new("hit_a_wall", r"(?-u:\b)hit a wall(?-u:\b)"),
        Phrase::new("i_am_blocked", concat!(r"(?-u:\b)(?:i'm|i am)", ws!(), r"+blocked(?-u:\b)")),
        Phrase::new("cannot_proceed", concat!(r"(?-u:\b)i", ws!(), "+(?:cannot|can't)", ws!(), r"+proceed(?-u:\b)")),
        Phrase::new("cannot_continue", concat!(r"(?-u:\b)i", ws!(), "+cannot", ws!(), r"+continue(?-u:\b)")),
        Phrase::new("cannot_resolve", concat!(r"(?-u:\b)cannot", ws!(), "+resolve", ws!(), r"+this(?-u:\b)")),
        Phrase::new(
            "need_operator",
            concat!(r"(?-u:\b)need (?:the operator|your|operator)", ws!(), "+(?:input|call|decision|help)"),
        ),
        Phrase::new("stopping", r"(?-u:\b)stopping (?:here|until)(?-u:\b)"),
        Phrase::new(
            "waiting_for_operator",
            concat!(r"(?-u:\b)waiting (?:for|on)", ws!(), "+(?:operator|your", ws!(), "+(?:call|input))"),
        ),
    ]
});

/// Phrases that `strict` adds: they may only report a nuisance, and sometimes report a halt.
static STRICT: LazyLock<[Phrase; 4]> = LazyLock::new(|| {
    [
        Phrase::new(
            "unable_to",
            concat!(r"(?-u:\b)unable to", ws!(), r"+(?:proceed|continue|complete|resolve|finish)(?-u:\b)"),
        ),
        Phrase::new("blocked_by", r"(?-u:\b)blocked (?:by|on|until)(?-u:\b)"),
        Phrase::new(
            "can_not_go_on",
            concat!(r"(?-u:\b)(?:cannot|can't|can not)", ws!(), r"+(?:proceed|continue|go on|be resolved)(?-u:\b)"),
        ),
        Phrase::new("stuck", r"(?-u:\b)(?:i'm|i am) stuck(?-u:\b)"),
    ]
});

pub(super) fn read(page: &Page<'_>, sensitivity: Sensitivity) -> Blocker {
    let phrases = || said(page, &*PHRASES);
    let found = match sensitivity {
        Sensitivity::Default | Sensitivity::Disabled => marker(page).or_else(phrases),
        Sensitivity::Loose => marker(page),
        Sensitivity::Strict => marker(page).or_else(phrases).or_else(|| said(page, &*STRICT)),
    };
    match found {
        Some((id, at)) => {
            Blocker { blocked: true, reason: Some(reason(page.original_from(at))), matched_pattern: Some(id) }
        }
        None => Blocker::default(),
    }
}

/// Returns the first explicit marker in the order of the rules, and the beginning of its match.
fn marker(page: &Page<'_>) -> Option<(&'static str, usize)> {
    let lower = page.lower.as_str();
    let first = |id, is_it: &dyn Fn(&HeadOfLine) -> bool| {
        let head = page.heads.iter().find(|head| is_it(head) && !page.fences.hide_marker(head.word))?;
        Some((id, head.from))
    };
    let labelled = |end: usize| lower[after_ws(lower, end)..].starts_with([':', '-']);
    let is_phase_2 = |found: Option<(u8, usize)>| found.filter(|(number, _)| *number == 2).map(|(_, end)| end);
    first("phase_2_heading", &|head| head.is_heading() && is_phase_2(head.whole_phase(lower)).is_some())
        .or_else(|| {
            first("phase_2_label", &|head| head.is_bare() && is_phase_2(head.phase(lower)).is_some_and(labelled))
        })
        .or_else(|| {
            first("blocker_label", &|head| head.is_bare() && after(lower, head.word, "blocker").is_some_and(labelled))
        })
}

/// Returns the first phrase in the order of the rules that is said outside a fence, and its place.
fn said(page: &Page<'_>, phrases: &[Phrase]) -> Option<(&'static str, usize)> {
    phrases.iter().find_map(|phrase| {
        let mut occurrences = phrase.regex.find_iter(&page.lower);
        let found = occurrences.find(|occurrence| !page.fences.hide(occurrence.start()))?;
        Some((phrase.id, found.start()))
    })
}

fn reason(from_match: &str) -> String {
    let lines =
        from_match.match_indices('\n').nth(REASON_LINES_MAX - 1).map_or(from_match, |(end, _)| &from_match[..end]);
    cut_to_units(lines.trim_matches(is_ws), REASON_UNITS_MAX).to_owned()
}
