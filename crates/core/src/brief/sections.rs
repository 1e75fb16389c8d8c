//! The body of a brief: its sections, by their headings.

use indexmap::IndexMap;

use super::problem::{At, Problem, Problems};
use super::whitespace::{is_space, trim, trim_end};
use crate::words::nearest::nearest;

/// The sections of a brief. A section that is missing is empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sections {
    /// The goal.
    pub objective: String,
    /// The things that are to exist afterwards.
    pub deliverables: String,
    /// The things that must not happen, and those that must hold.
    pub constraints: String,
    /// The tools that are needed.
    pub tools_required: String,
    /// Everything else worth knowing, and what is not known.
    pub notes: String,
    /// All other sections by heading as it is written, in source order.
    pub extra: IndexMap<String, String>,
}

/// A section that OpenWar knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum KnownSection {
    Objective,
    Deliverables,
    Constraints,
    ToolsRequired,
    Notes,
}

/// The headings by which a section is known, in lower case.
const HEADINGS: [(&str, KnownSection); 15] = [
    ("objective", KnownSection::Objective),
    ("objectives", KnownSection::Objective),
    ("goal", KnownSection::Objective),
    ("goals", KnownSection::Objective),
    ("deliverables", KnownSection::Deliverables),
    ("deliverable", KnownSection::Deliverables),
    ("constraints", KnownSection::Constraints),
    ("constraint", KnownSection::Constraints),
    ("tools required", KnownSection::ToolsRequired),
    ("tools", KnownSection::ToolsRequired),
    ("tools needed", KnownSection::ToolsRequired),
    ("notes / unknowns", KnownSection::Notes),
    ("notes/unknowns", KnownSection::Notes),
    ("notes", KnownSection::Notes),
    ("unknowns", KnownSection::Notes),
];

/// The places of the known sections' headings.
pub(super) type Headings = IndexMap<KnownSection, At>;

/// Reads the sections of `body`, a range of the problems' text.
///
/// A text keeps its blank lines at the beginning and loses whitespace at its end; lines end with a line
/// feed. Of several headings with one meaning the last wins, with a warning.
pub(super) fn read_sections(body: At, problems: &mut Problems<'_>) -> (Sections, Headings) {
    let mut sections = Sections::default();
    let mut headings = Headings::new();
    let mut open: Option<(SectionSlot, String)> = None;
    let mut fenced = CodeFence::default();
    let mut warned_of_preface = false;
    let mut start = body.start;
    let mut extras: IndexMap<String, At> = IndexMap::new();
    for whole in problems.text_at(body).split_inclusive('\n') {
        let line = without_ending(whole);
        let at = At { start, end: start + line.len() };
        start += whole.len();
        if let Some(title) = heading(line) {
            close(&mut sections, open.take());
            if fenced.is_open() {
                let inside = Problem::warning("body", "a heading inside a code fence begins a section all the same")
                    .found(line)
                    .fix("indent the line by a space if it is not meant as a heading".to_owned());
                problems.push(inside, Some(at));
            }
            let slot = SectionSlot::of(title);
            let before = match &slot {
                SectionSlot::Known(known) => headings.insert(*known, at),
                SectionSlot::Extra(title) => extras.insert(title.clone(), at),
            };
            if before.is_some() {
                let repeated = Problem::warning("body", "this section appears twice; the last one counts").found(title);
                problems.push(repeated, Some(at));
            }
            if let SectionSlot::Extra(title) = &slot {
                warn_of_near_miss(title, at, problems);
            }
            open = Some((slot, String::new()));
        } else if let Some((_, text)) = &mut open {
            text.push_str(line);
            text.push('\n');
        } else if !warned_of_preface && !trim(line).is_empty() {
            warned_of_preface = true;
            let preface = Problem::warning("body", "text before the first heading is ignored")
                .fix("put it under a heading, such as `# Notes`".to_owned());
            problems.push(preface, Some(at));
        }
        fenced.pass(line);
    }
    close(&mut sections, open);
    (sections, headings)
}

/// True if `line` is a heading of a known section.
pub(super) fn is_known_heading(line: &str) -> bool {
    heading(without_ending(line)).is_some_and(|title| known(title).is_some())
}

enum SectionSlot {
    Known(KnownSection),
    Extra(String),
}

impl SectionSlot {
    fn of(title: &str) -> Self {
        known(title).map_or_else(|| Self::Extra(title.to_owned()), Self::Known)
    }
}

fn known(title: &str) -> Option<KnownSection> {
    let title = title.to_lowercase();
    HEADINGS.iter().find(|(name, _)| *name == title).map(|(_, known)| *known)
}

/// The title of a heading: one to three `#`, whitespace, text.
fn heading(line: &str) -> Option<&str> {
    let after = line.trim_start_matches('#');
    let marks = line.len() - after.len();
    let title = trim(after);
    ((1..=3).contains(&marks) && after.starts_with(is_space) && !title.is_empty()).then_some(title)
}

fn close(sections: &mut Sections, open: Option<(SectionSlot, String)>) {
    let Some((slot, text)) = open else { return };
    let text = trim_end(&text).to_owned();
    match slot {
        SectionSlot::Known(KnownSection::Objective) => sections.objective = text,
        SectionSlot::Known(KnownSection::Deliverables) => sections.deliverables = text,
        SectionSlot::Known(KnownSection::Constraints) => sections.constraints = text,
        SectionSlot::Known(KnownSection::ToolsRequired) => sections.tools_required = text,
        SectionSlot::Known(KnownSection::Notes) => sections.notes = text,
        SectionSlot::Extra(title) => {
            sections.extra.insert(title, text);
        }
    }
}

fn warn_of_near_miss(title: &str, at: At, problems: &mut Problems<'_>) {
    let names = HEADINGS.iter().map(|(name, _)| *name);
    let plain = trim(title.trim_end_matches(':'));
    let meant = if known(plain).is_some() { Some(plain) } else { nearest(plain, names).first().copied() };
    if let Some(meant) = meant {
        let unknown = Problem::warning("body", "this heading is not one of the known sections")
            .found(title)
            .fix(format!("did you mean `# {meant}`?"));
        problems.push(unknown, Some(at));
    }
}

fn without_ending(line: &str) -> &str {
    let line = line.strip_suffix('\n').unwrap_or(line);
    line.strip_suffix('\r').unwrap_or(line)
}

/// The code fence that the lines so far leave open.
#[derive(Default)]
struct CodeFence {
    open: Option<(char, usize)>,
}

impl CodeFence {
    fn is_open(&self) -> bool {
        self.open.is_some()
    }

    fn pass(&mut self, line: &str) {
        let line = line.trim_start_matches(' ');
        let Some(mark @ ('`' | '~')) = line.chars().next() else {
            return;
        };
        let rest = line.trim_start_matches(mark);
        let length = line.len() - rest.len();
        match self.open {
            None if length >= 3 => self.open = Some((mark, length)),
            Some((opened, at_least)) if opened == mark && length >= at_least && trim(rest).is_empty() => {
                self.open = None
            }
            None | Some(_) => {}
        }
    }
}
