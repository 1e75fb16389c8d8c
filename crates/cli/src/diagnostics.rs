//! Shows what is wrong with a text the operator wrote: the one module that knows `miette`.
//!
//! In: problems and the text they are about. Out: a text for the terminal, with the lines in question drawn; or plain
//! lines if the output is no terminal. Both say the same.
//!
//! Begin with [`render`].

use std::fmt::{self, Write};

use adjutant_core::brief::{Problem, Severity};
use adjutant_core::words::visible::{visible_line, visible_text};
use miette::{Diagnostic, GraphicalReportHandler, GraphicalTheme, LabeledSpan, NamedSource, SourceCode};

/// The text that problems are about.
#[derive(Debug, Clone, Copy)]
pub struct SourceText<'a> {
    /// The name of the file, for the operator.
    pub name: &'a str,
    /// Its text.
    pub text: &'a str,
}

/// Style in which problems are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProblemStyle {
    /// One line for each problem, and one for each hint.
    Plain,
    /// With colour, and the lines of the text drawn.
    Drawn,
}

impl ProblemStyle {
    /// Returns the style for a stream: drawn on a terminal, unless `NO_COLOR` is set and not empty.
    #[must_use]
    pub fn of(stream_is_terminal: bool, no_color: Option<&std::ffi::OsStr>) -> Self {
        let colourless = no_color.is_some_and(|value| !value.is_empty());
        if stream_is_terminal && !colourless { Self::Drawn } else { Self::Plain }
    }
}

/// The problems as a text that ends in a line feed; empty if there are none. They come in the order of the
/// text, and what is missing from it comes last.
#[must_use]
pub fn render(problems: &[Problem], source: SourceText<'_>, look: ProblemStyle) -> String {
    let mut problems: Vec<&Problem> = problems.iter().collect();
    problems.sort_by_key(|problem| problem.span.map_or(usize::MAX, |span| span.start));
    match look {
        ProblemStyle::Plain => problems.into_iter().map(plain).collect(),
        ProblemStyle::Drawn => drawn(&problems, source),
    }
}

/// Two spaces, `[error]` or `[warning]`, field, colon, message, as the peer has it; then the place.
fn plain(problem: &Problem) -> String {
    let (field, message) = (visible_line(&problem.field), visible_text(&problem.message));
    let mut text = format!("  [{}] {field}: {message}", problem.severity.as_str());
    if let Some(span) = problem.span {
        text.push_str(&format!(" (line {}, column {})", span.line, span.column));
    }
    text.push('\n');
    for line in help(problem) {
        text.push_str(&format!("    {line}\n"));
    }
    text
}

/// Returns what was expected and found, and what to write instead; a line each.
fn help(problem: &Problem) -> Vec<String> {
    let comparison = match (&problem.expected, &problem.found) {
        (Some(expected), Some(found)) => Some(format!("expected {expected}, found `{found}`")),
        (Some(expected), None) => Some(format!("expected {expected}")),
        (None, Some(found)) => Some(format!("found `{found}`")),
        (None, None) => None,
    };
    let hint = problem.fix.as_ref().map(|fix| format!("hint: {fix}"));
    comparison.into_iter().chain(hint).map(|line| visible_text(&line).into_owned()).collect()
}

fn drawn(problems: &[&Problem], source: SourceText<'_>) -> String {
    let handler = GraphicalReportHandler::new_themed(GraphicalTheme::unicode()).with_links(false).with_context_lines(1);
    let source = NamedSource::new(harmless(source.name), harmless(source.text));
    let mut text = String::new();
    for problem in problems {
        let shown = MietteProblem { problem, source: &source };
        let before = text.len();
        if handler.render_report(&mut text, &shown).is_err() {
            // The lines could not be drawn; what is said about them is still worth reading.
            text.truncate(before);
            text.push_str(&plain(problem));
        }
    }
    text
}

/// `text` with a question mark for each byte of a character that could steer a terminal, so that places
/// stay where they are.
fn harmless(text: &str) -> String {
    let mut harmless = String::with_capacity(text.len());
    for c in text.chars() {
        let reorders = matches!(c, '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}');
        if reorders || c.is_control() && !matches!(c, '\n' | '\t' | '\r') {
            harmless.extend(std::iter::repeat_n('?', c.len_utf8()));
        } else {
            harmless.push(c);
        }
    }
    harmless
}

/// A problem as `miette` wants it.
#[derive(Debug)]
struct MietteProblem<'a> {
    problem: &'a Problem,
    source: &'a NamedSource<String>,
}

impl fmt::Display for MietteProblem<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", visible_line(&self.problem.field), visible_text(&self.problem.message))
    }
}

impl std::error::Error for MietteProblem<'_> {}

impl Diagnostic for MietteProblem<'_> {
    fn severity(&self) -> Option<miette::Severity> {
        Some(match self.problem.severity {
            Severity::Warning => miette::Severity::Warning,
            Severity::Error => miette::Severity::Error,
        })
    }

    fn help<'h>(&'h self) -> Option<Box<dyn fmt::Display + 'h>> {
        let mut text = String::new();
        for line in help(self.problem) {
            let line = line.strip_prefix("hint: ").unwrap_or(&line).to_owned();
            // Writing to a text can't fail.
            writeln!(text, "{line}").ok();
        }
        let text = text.trim_end().to_owned();
        (!text.is_empty()).then(|| Box::new(text) as Box<dyn fmt::Display>)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.problem.span.map(|_| self.source as &dyn SourceCode)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let span = self.problem.span?;
        Some(Box::new(std::iter::once(LabeledSpan::new(None, span.start, span.len))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, look: ProblemStyle) -> String {
        let reading = adjutant_core::brief::read(text);
        render(&reading.problems, SourceText { name: "x.md", text }, look)
    }

    #[test]
    fn a_terminal_gets_a_drawing_unless_colour_is_unwanted() {
        let set = |value: &'static str| Some(std::ffi::OsStr::new(value));
        assert_eq!(ProblemStyle::of(true, None), ProblemStyle::Drawn);
        assert_eq!(ProblemStyle::of(true, set("")), ProblemStyle::Drawn);
        assert_eq!(ProblemStyle::of(true, set("1")), ProblemStyle::Plain);
        assert_eq!(ProblemStyle::of(false, None), ProblemStyle::Plain);
    }

    #[test]
    fn plain_problems_have_a_line_and_their_hints() {
        let text = "---\nproject: orchard\nmode: guted\n---\n# Objective\nx\n# Deliverables\ny\n# Constraints\nz\n";
        insta::assert_snapshot!(shown(text, ProblemStyle::Plain), @r"
          [warning] mode: there is no such mode, so the operator is asked for one (line 3, column 7)
            expected `gated` or `auto`, found `guted`
            hint: did you mean `gated`?
        ");
    }

    #[test]
    fn problems_come_in_the_order_of_the_text() {
        let told = shown("---\nmode: guted\nproject: Orchard\n---\n# Goal\n", ProblemStyle::Plain);
        let fields = ["mode: ", "project: ", "Objective: ", "Deliverables: ", "Constraints: "];
        let places: Vec<Option<usize>> = fields.iter().map(|field| told.find(&format!("] {field}"))).collect();
        assert!(places.is_sorted() && places[0].is_some(), "{told}");
    }

    #[test]
    fn drawn_problems_show_the_line_and_the_same_hints() {
        let drawn = shown("---\nproject: Orchard\n---\n", ProblemStyle::Drawn);
        for part in ["x.md", "project: Orchard", "can't name a project", "write `project: orchard`", "Deliverables"] {
            assert!(drawn.contains(part), "{part} in {drawn}");
        }
    }

    #[test]
    fn a_text_cannot_steer_the_terminal() {
        for look in [ProblemStyle::Plain, ProblemStyle::Drawn] {
            let shown = shown("---\nproject: \u{1b}]0;x\u{7}\nmode: \u{202e}\n\u{9b}: y\n---\n", look);
            assert!(!shown.contains(['\u{7}', '\u{9b}']) && !shown.contains("\u{1b}]"), "{shown:?}");
        }
    }

    #[test]
    fn whatever_is_wrong_can_be_drawn() {
        let texts =
            ["", "---", "---\n\t\t?\u{0}\n", "---\r\n???\r\n---\r\n", "\u{FEFF}---\né: ü\n果: [,\n---\n# 果", "---\n?"];
        for text in texts {
            let told = adjutant_core::brief::read(text).problems.len();
            let drawn = shown(text, ProblemStyle::Drawn);
            assert!(drawn.lines().count() >= told, "{text:?}: {drawn}");
        }
    }
}
