//! Does the agent say that the brief is done?
//!
//! Markers (a heading `Phase 4` or `Completion`, a line `Phase 4:`) and the peer's phrases. Unlike the
//! peer's, what stands in a closed fence is shown and not said (C32), and a phrase right behind `not`
//! says the opposite: a run must not end on "not all deliverables are complete".
//!
//! | sensitivity | fires on |
//! | --- | --- |
//! | default | markers and phrases |
//! | loose | markers |
//! | strict | markers, and not in a fence that was never closed either |

use std::sync::LazyLock;

use regex::Regex;
use serde::Serialize;

use super::Sensitivity;
use super::page::Page;
use super::words::{after, after_ws, ends_word, is_word, is_ws, ws};

/// Finding about a turn that may say that the brief is done.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Completion {
    /// True if it does.
    pub complete: bool,
    /// The id of the rule that matched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub matched_pattern: Option<&'static str>,
}

static PHRASES: LazyLock<[(&str, Regex); 2]> = LazyLock::new(|| {
    let regex = |pattern| Regex::new(pattern).expect("the pattern is a constant that a test compiles");
    let deliverables =
        concat!("all", ws!(), "+deliverables?", ws!(), "+(?:are", ws!(), r"+)?(?:complete|delivered|shipped)(?-u:\b)");
    [("all_deliverables", regex(deliverables)), ("brief_complete", regex(r"brief (?:is )?complete(?-u:\b)"))]
});

pub(super) fn read(page: &Page<'_>, sensitivity: Sensitivity) -> Completion {
    let found = match sensitivity {
        Sensitivity::Default | Sensitivity::Disabled => marker(page, false).or_else(|| said(page)),
        Sensitivity::Loose => marker(page, false),
        Sensitivity::Strict => marker(page, true),
    };
    Completion { complete: found.is_some(), matched_pattern: found }
}

fn marker(page: &Page<'_>, strict: bool) -> Option<&'static str> {
    let lower = page.lower.as_str();
    let is_shown = |at| if strict { page.fences.hide(at) } else { page.fences.hide_marker(at) };
    page.heads.iter().filter(|head| !is_shown(head.word)).find_map(|head| {
        let is_phase_4 = |found: Option<(u8, usize)>| found.filter(|(number, _)| *number == 4).map(|(_, end)| end);
        if head.is_heading() && is_phase_4(head.whole_phase(lower)).is_some() {
            return Some("phase_4_heading");
        }
        if head.is_heading() && after(lower, head.word, "completion").is_some_and(|end| ends_word(lower, end)) {
            return Some("completion_heading");
        }
        let labelled = |end| lower[after_ws(lower, end)..].starts_with([':', '-']);
        (head.is_bare() && is_phase_4(head.phase(lower)).is_some_and(labelled)).then_some("phase_4_label")
    })
}

fn said(page: &Page<'_>) -> Option<&'static str> {
    PHRASES.iter().find_map(|(id, regex)| {
        let mut occurrences = regex.find_iter(&page.lower);
        occurrences
            .any(|phrase| !page.fences.hide(phrase.start()) && !follows_not(&page.lower[..phrase.start()]))
            .then_some(*id)
    })
}

fn follows_not(before: &str) -> bool {
    let Some(rest) = before.trim_end_matches(is_ws).strip_suffix("not") else { return false };
    before.ends_with(is_ws) && rest.as_bytes().last().is_none_or(|byte| !is_word(*byte))
}
