//! Did the agent confirm the brief? A marker, or the sections of a confirmation summary.
//!
//! The rules are the peer's (its `confirmation` detector): a marker is a heading `Phase 0` or
//! `Confirmation Summary`, or a line `Confirmation summary:`; a section is a line that begins with its
//! label. Fences are not looked at: some models fence their whole summary, and all that hangs on this
//! reading is whether the agent is asked once more, since the operator judges the summary in any case.
//!
//! | sensitivity | found means |
//! | --- | --- |
//! | default | a marker, or objective, deliverables, constraints and tools required |
//! | loose | a marker |
//! | strict | all five sections and the question for the mode, none of it inside a fence |

use std::sync::LazyLock;

use regex::Regex;
use serde::Serialize;

use super::Sensitivity;
use super::page::{HeadOfLine, Page};
use super::words::{after, after_noun, after_ws, ends_word, is_ws, ws};

/// Contents of a turn that is read as a confirmation summary.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Confirmation {
    /// True if it counts as one.
    pub found: bool,
    /// The sections seen.
    pub sections: SummarySections,
    /// True if it asks which mode to run in: a mode is named, and there is a question mark.
    pub asked_for_mode: bool,
}

/// The text of each section, as written; absent where its label was not seen.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct SummarySections {
    /// Aim of the operator.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub objective: Option<String>,
    /// Things that will exist at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deliverables: Option<String>,
    /// Limits that must be respected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub constraints: Option<String>,
    /// Tools that the work needs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools_required: Option<String>,
    /// Points that are unclear.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unknowns: Option<String>,
}

static MODE: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = concat!(
        "per(?:-|",
        ws!(),
        ")?step|auto(?:-|",
        ws!(),
        ")?pilot|which",
        ws!(),
        "+(?:execution",
        ws!(),
        "+)?mode"
    );
    Regex::new(pattern).expect("the pattern is a constant that a test compiles")
});

pub(super) fn read(page: &Page<'_>, sensitivity: Sensitivity) -> Confirmation {
    let lower = page.lower.as_str();
    let strict = sensitivity == Sensitivity::Strict;
    let mut sections = SummarySections::default();
    let mut marked = false;
    for head in page.heads.iter().filter(|head| !strict || !page.fences.hide(head.word)) {
        marked = marked || is_marker(lower, head);
        let Some((label, end)) = label(lower, head) else { continue };
        let slot = sections.slot(label);
        if slot.is_none() {
            let label_end = end + lower[end..].bytes().take(2).take_while(|byte| *byte == b'*').count();
            let from = after_ws(lower, label_end);
            let from = after(lower, from, ":").or_else(|| after(lower, from, "-")).unwrap_or(from);
            *slot = Some(page.original(from, section_end(page, label_end)).trim_matches(is_ws).to_owned());
        }
    }
    let asked_for_mode = memchr::memchr(b'?', lower.as_bytes()).is_some() && MODE.is_match(lower);
    let four = sections.objective.is_some()
        && sections.deliverables.is_some()
        && sections.constraints.is_some()
        && sections.tools_required.is_some();
    let found = match sensitivity {
        Sensitivity::Default | Sensitivity::Disabled => marked || four,
        Sensitivity::Loose => marked,
        Sensitivity::Strict => four && sections.unknowns.is_some() && asked_for_mode,
    };
    Confirmation { found, sections, asked_for_mode }
}

fn is_marker(lower: &str, head: &HeadOfLine) -> bool {
    let summary = || {
        let confirmation = after(lower, head.word, "confirmation")?;
        let at = after_ws(lower, confirmation);
        (at > confirmation).then(|| after(lower, at, "summary")).flatten()
    };
    if head.is_heading() {
        return head.whole_phase(lower).is_some_and(|(number, _)| number == 0)
            || summary().is_some_and(|end| ends_word(lower, end));
    }
    head.is_bare() && summary().is_some_and(|end| lower[after_ws(lower, end)..].starts_with([':', '-']))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Label {
    Objective,
    Deliverables,
    Constraints,
    ToolsRequired,
    Unknowns,
}

impl SummarySections {
    fn slot(&mut self, label: Label) -> &mut Option<String> {
        match label {
            Label::Objective => &mut self.objective,
            Label::Deliverables => &mut self.deliverables,
            Label::Constraints => &mut self.constraints,
            Label::ToolsRequired => &mut self.tools_required,
            Label::Unknowns => &mut self.unknowns,
        }
    }
}

/// Returns the section that `head` labels, and the offset behind the label's words.
fn label(lower: &str, head: &HeadOfLine) -> Option<(Label, usize)> {
    if head.hashes > 4 || head.stars > 2 {
        return None;
    }
    let at = head.word;
    let noun = |word| after_noun(lower, at, word);
    match lower.as_bytes().get(at)? {
        b'o' => {
            let objective = noun("objective").map(|end| (Label::Objective, end));
            objective.or_else(|| Some((Label::Unknowns, open_questions(lower, at)?)))
        }
        b'g' => Some((Label::Objective, noun("goal")?)),
        b'd' => Some((Label::Deliverables, noun("deliverable")?)),
        b'c' => Some((Label::Constraints, noun("constraint")?)),
        b't' => {
            let tools = noun("tool")?;
            let required = after_ws(lower, tools);
            let end = after(lower, required, "required").filter(|end| required > tools && ends_word(lower, *end));
            Some((Label::ToolsRequired, end.unwrap_or(tools)))
        }
        b'u' => Some((Label::Unknowns, noun("unknown")?)),
        b'n' => {
            let notes = after(lower, at, "note")?;
            let notes = after(lower, notes, "s").unwrap_or(notes);
            let slash = after(lower, after_ws(lower, notes), "/")?;
            Some((Label::Unknowns, after_noun(lower, after_ws(lower, slash), "unknown")?))
        }
        _ => None,
    }
}

fn open_questions(lower: &str, at: usize) -> Option<usize> {
    let open = after(lower, at, "open")?;
    let at = after_ws(lower, open);
    (at > open).then(|| after_noun(lower, at, "question")).flatten()
}

/// Returns the end of the section whose label ends at `from`: at the next line that is a heading, hashes first.
fn section_end(page: &Page<'_>, from: usize) -> usize {
    let is_end = |head: &&HeadOfLine| {
        let marks = head.line + head.hashes;
        head.is_heading()
            && page.lower[head.line..].starts_with('#')
            && head.word > marks
            && head.word < page.lower.len()
    };
    let next = page.heads.iter().filter(|head| head.line > from).find(is_end);
    next.map_or(page.lower.len(), |head| head.line - 1)
}
