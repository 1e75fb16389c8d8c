//! Problems of a brief: each with its place and a remedy.

use serde::{Deserialize, Serialize};

/// The severity of a problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The brief can be run, though perhaps not as it was meant.
    Warning,
    /// The brief can't be run.
    Error,
}

impl Severity {
    /// The word the operator and the JSON output see.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// A place in the text of a brief.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct BriefSpan {
    /// The line, from 1; line feeds end lines.
    pub line: u32,
    /// The column of the first character, from 1, in characters.
    pub column: u32,
    /// The offset of the first byte in the text.
    pub start: usize,
    /// The length in bytes; 0 for a place between two characters.
    pub len: usize,
}

/// One thing that is wrong with a brief, or may not be what was meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The severity: a brief with an error can't be run.
    pub severity: Severity,
    /// The part that it is about: a field (`budgets.max_tokens`), a section (`Objective`), or `front_matter`, `body`,
    /// `brief` for the text itself.
    pub field: String,
    /// The problem, in one line.
    pub message: String,
    /// The values that the field takes.
    pub expected: Option<String>,
    /// The text as written, cut to a length that can be shown.
    pub found: Option<String>,
    /// The text to write instead.
    pub fix: Option<String>,
    /// The place; absent if something is missing.
    pub span: Option<BriefSpan>,
}

impl Problem {
    pub(super) fn error(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(Severity::Error, field.into(), message.into())
    }

    pub(super) fn warning(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, field.into(), message.into())
    }

    fn new(severity: Severity, field: String, message: String) -> Self {
        Self { severity, field: shown(&field), message, expected: None, found: None, fix: None, span: None }
    }

    pub(super) fn expected(mut self, expected: impl Into<String>) -> Self {
        self.expected = Some(expected.into());
        self
    }

    pub(super) fn found(mut self, found: &str) -> Self {
        self.found = Some(shown(found));
        self
    }

    pub(super) fn fix(mut self, fix: impl Into<Option<String>>) -> Self {
        self.fix = fix.into();
        self
    }
}

/// `text` as it can stand in a message: at most 80 characters, control characters escaped.
pub(super) fn shown(text: &str) -> String {
    let mut shown = String::new();
    for (i, c) in text.chars().enumerate() {
        if i == 80 {
            shown.push('…');
            break;
        }
        if c.is_control() {
            shown.extend(c.escape_default());
        } else {
            shown.push(c);
        }
    }
    shown
}

/// A range of bytes in the text of a brief.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct At {
    pub(super) start: usize,
    pub(super) end: usize,
}

/// The most errors, and the most warnings, that are reported one by one; the others are only counted.
const TOLD_MAX: usize = 500;

/// Collects problems, and knows the text they are about.
pub(super) struct Problems<'a> {
    text: &'a str,
    line_starts: Vec<usize>,
    told: Vec<Problem>,
    errors: usize,
    warnings: usize,
}

impl<'a> Problems<'a> {
    pub(super) fn in_text(text: &'a str) -> Self {
        let after_feeds = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1);
        Self {
            text,
            line_starts: std::iter::once(0).chain(after_feeds).collect(),
            told: Vec::new(),
            errors: 0,
            warnings: 0,
        }
    }

    /// The text at `at`.
    pub(super) fn text_at(&self, at: At) -> &'a str {
        self.text.get(at.start..at.end).unwrap_or_default()
    }

    /// Takes note of a problem at a place, or of something that is missing.
    pub(super) fn push(&mut self, mut problem: Problem, at: Option<At>) {
        let count = match problem.severity {
            Severity::Error => &mut self.errors,
            Severity::Warning => &mut self.warnings,
        };
        *count += 1;
        if *count <= TOLD_MAX {
            problem.span = at.map(|at| self.span(at));
            self.told.push(problem);
        }
    }

    pub(super) fn has_errors(&self) -> bool {
        self.errors > 0
    }

    /// The reported problems, and the number of the others.
    pub(super) fn into_told(mut self) -> Vec<Problem> {
        for (count, severity) in [(self.errors, Severity::Error), (self.warnings, Severity::Warning)] {
            if let Some(untold @ 1..) = count.checked_sub(TOLD_MAX) {
                let message = format!("{untold} more of severity {} are not shown", severity.as_str());
                self.told.push(Problem::new(severity, "brief".to_owned(), message));
            }
        }
        self.told
    }

    fn span(&self, at: At) -> BriefSpan {
        let line = self.line_starts.partition_point(|start| *start <= at.start).max(1);
        let line_start = self.line_starts[line - 1];
        let column = self.text_at(At { start: line_start, end: at.start }).chars().count() + 1;
        BriefSpan {
            line: u32::try_from(line).unwrap_or(u32::MAX),
            column: u32::try_from(column).unwrap_or(u32::MAX),
            start: at.start,
            len: at.end.saturating_sub(at.start),
        }
    }
}
