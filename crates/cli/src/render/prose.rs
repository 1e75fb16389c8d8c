//! Shows the words and the thinking of an agent as they arrive: thinking dim and apart, markdown lightly read, words kept whole.
//!
//! In: pieces of text. Out: [`Styled`]. Without a terminal what it says stays as it is, and thinking is not shown.

use adjutant_core::words::visible::visible_prose;

use super::markdown::{Inline, Markdown};
use super::wrap::{Styled, TextTone, Wrapper};

/// Columns before each line of what an agent thinks, which tell it from what it says without colour too.
const THINKING_MARGIN: &str = "  \u{250a} ";

/// Form in which an agent's words are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProseForm {
    /// As they are: nobody says how wide a line may be.
    AsIs,
    /// Words are kept whole, and markers stay, since nothing else would say what they do.
    Wrapped { width: usize },
    /// Words are kept whole, and markers become looks.
    Rendered { width: usize },
}

impl ProseForm {
    const fn width(self) -> Option<usize> {
        match self {
            Self::AsIs => None,
            Self::Wrapped { width } | Self::Rendered { width } => Some(width),
        }
    }
}

/// A reply that is being shown.
#[derive(Debug, Default)]
pub(super) struct Prose {
    markdown: Markdown,
    line: Wrapper,
    is_mid_line: bool,
    is_thinking: bool,
}

impl Prose {
    /// Returns true if text stands on the last line.
    pub(super) const fn is_mid_line(&self) -> bool {
        self.is_mid_line
    }

    /// Takes what the agent says next.
    pub(super) fn say(&mut self, text: &str, form: ProseForm) -> Styled {
        let mut out = Styled::default();
        if std::mem::take(&mut self.is_thinking) {
            self.end_line(form, &mut out);
            out.push(TextTone::Plain, "\n");
        }
        let text = visible_prose(text);
        match form {
            ProseForm::Rendered { width } => {
                let read = self.markdown.push(&text);
                self.lay_out(read, width, &mut out);
            }
            ProseForm::AsIs | ProseForm::Wrapped { .. } => {
                self.line.push(TextTone::Plain, &text, form.width(), &mut out);
                if let Some(last) = text.chars().last() {
                    self.is_mid_line = last != '\n';
                }
            }
        }
        out
    }

    /// Takes what the agent thinks next. Without a terminal it is not shown: the journal has it.
    pub(super) fn think(&mut self, text: &str, form: ProseForm) -> Styled {
        let mut out = Styled::default();
        let Some(width) = form.width() else { return out };
        if text.is_empty() {
            return out;
        }
        if !std::mem::replace(&mut self.is_thinking, true) {
            self.end_line(form, &mut out);
        }
        for piece in visible_prose(text).split_inclusive('\n') {
            if !self.is_mid_line {
                out.push(TextTone::Dim, THINKING_MARGIN);
                self.line = Wrapper::behind(THINKING_MARGIN);
            }
            self.line.push(TextTone::Dim, piece, Some(width), &mut out);
            self.is_mid_line = !piece.ends_with('\n');
        }
        out
    }

    /// Ends the line that something stands on, with all that is held back.
    pub(super) fn end_line(&mut self, form: ProseForm, out: &mut Styled) {
        if let Some(width) = form.width() {
            let held = self.markdown.finish();
            self.lay_out(held, width, out);
            self.line.end_word(width, out);
        }
        if std::mem::take(&mut self.is_mid_line) {
            out.push(TextTone::Plain, "\n");
        }
        self.line = Wrapper::default();
    }

    fn lay_out(&mut self, read: Vec<Inline>, width: usize, out: &mut Styled) {
        for one in read {
            match one {
                Inline::Text(tone, text) => {
                    self.line.push(tone, &text, Some(width), out);
                    self.is_mid_line |= !text.is_empty();
                }
                Inline::Verbatim(tone, text) => {
                    out.push(tone, &text);
                    self.is_mid_line |= !text.is_empty();
                }
                Inline::Indent(columns) => self.line.indent(columns),
                Inline::LineEnd => {
                    self.line.push(TextTone::Plain, "\n", Some(width), out);
                    self.is_mid_line = false;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(spans: &[Styled]) -> String {
        spans.iter().flat_map(|spans| &spans.0).map(|span| span.text.as_str()).collect()
    }

    #[track_caller]
    fn check(form: ProseForm, thought: &[&str], said: &[&str], expected: &str) {
        let mut prose = Prose::default();
        let mut all: Vec<Styled> = thought.iter().map(|piece| prose.think(piece, form)).collect();
        all.extend(said.iter().map(|piece| prose.say(piece, form)));
        let mut end = Styled::default();
        prose.end_line(form, &mut end);
        all.push(end);
        assert_eq!(text(&all), expected);
    }

    const RENDERED: ProseForm = ProseForm::Rendered { width: 20 };

    #[test]
    fn thinking_stands_apart_with_its_last_word() {
        check(RENDERED, &["Is it th", "is?"], &["It", " is."], "  \u{250a} Is it this?\n\nIt is.\n");
        check(
            RENDERED,
            &["one two three four five\nsix"],
            &["Done."],
            "  \u{250a} one two three\n  \u{250a} four five\n  \u{250a} six\n\nDone.\n",
        );
        check(RENDERED, &["alone"], &[], "  \u{250a} alone\n");
    }

    #[test]
    fn what_is_piped_stays_as_it_was_said() {
        let said = "## A **long** line that is wider than any terminal\n- `b`\n";
        check(ProseForm::AsIs, &["not shown"], &[said], said);
    }

    #[test]
    fn without_colour_markers_stay_and_words_are_whole() {
        check(ProseForm::Wrapped { width: 12 }, &[], &["**one** two", " three"], "**one** two\nthree\n");
    }

    #[test]
    fn items_hang_behind_their_markers() {
        check(RENDERED, &[], &["- one two three four five"], "\u{2022} one two three four\n  five\n");
    }

    #[test]
    fn no_text_drives_the_terminal() {
        check(RENDERED, &["\u{1b}[2J"], &["**\u{1b}[31m**"], "  \u{250a} \\u{1b}[2J\n\n\\u{1b}[31m\n");
    }
}
