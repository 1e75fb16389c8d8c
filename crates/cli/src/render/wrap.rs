//! Breaks text at spaces so that no line is wider than the terminal, as the text arrives.
//!
//! In: pieces of text, each with a tone, and the width. Out: the same text as [`StyledText`]s with line feeds where a line
//! would become too wide. A word that is wider than a line stays whole: the terminal breaks it. Knows nothing of a
//! terminal.

use unicode_width::UnicodeWidthChar as _;

/// The look of a piece of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextTone {
    Plain,
    Heading,
    Dim,
    Code,
    Good,
    Bad,
    Warning,
}

/// Text of one tone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StyledText {
    pub(super) tone: TextTone,
    pub(super) text: String,
}

/// Styled in order.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Styled(pub(super) Vec<StyledText>);

impl Styled {
    /// A text of one tone.
    pub(super) fn of(tone: TextTone, text: &str) -> Self {
        Self(vec![StyledText { tone, text: text.to_owned() }])
    }

    pub(super) fn push(&mut self, tone: TextTone, text: &str) {
        match self.0.last_mut() {
            Some(last) if last.tone == tone => last.text.push_str(text),
            _ if text.is_empty() => {}
            _ => self.0.push(StyledText { tone, text: text.to_owned() }),
        }
    }

    /// Returns its lines, each without its line feed.
    pub(super) fn lines(&self) -> Vec<Self> {
        let mut lines = vec![Self::default()];
        for StyledText { tone, text } in &self.0 {
            for (number, piece) in text.split('\n').enumerate() {
                if number > 0 {
                    lines.push(Self::default());
                }
                if let Some(line) = lines.last_mut() {
                    line.push(*tone, piece);
                }
            }
        }
        lines
    }

    /// Returns the number of lines that it takes on a screen with so many columns.
    pub(super) fn rows(&self, columns: usize) -> usize {
        let text: String = self.0.iter().map(|piece| piece.text.as_str()).collect();
        text.split('\n').map(|line| width_of(line).div_ceil(columns).max(1)).sum()
    }
}

/// Returns the number of columns that `text` takes.
pub(super) fn width_of(text: &str) -> usize {
    text.chars().map(|c| c.width().unwrap_or(0)).sum()
}

/// Returns the beginning of `text` that takes at most so many columns.
pub(super) fn head_of(text: &str, columns: usize) -> &str {
    let mut used = 0;
    let end = text.char_indices().find(|(_, c)| {
        used += c.width().unwrap_or(0);
        used > columns
    });
    end.map_or(text, |(end, _)| &text[..end])
}

/// A line that is being filled.
#[derive(Debug, Default)]
pub(super) struct Wrapper {
    /// Columns that are taken of the line.
    column: usize,
    /// Text before each line that goes on with this one.
    margin: &'static str,
    /// Columns behind it that such a line begins with.
    indent: usize,
    /// Spaces since the last word.
    spaces: usize,
    /// The word that may go on.
    word: Vec<(TextTone, String)>,
    word_width: usize,
}

impl Wrapper {
    /// A line that begins behind `margin`, which stands there already.
    pub(super) fn behind(margin: &'static str) -> Self {
        Self { column: width_of(margin), margin, ..Self::default() }
    }

    /// Sets the indent of the lines that go on with this one.
    pub(super) fn indent(&mut self, columns: usize) {
        self.indent = columns;
    }

    /// Takes text. Without a width nothing is broken.
    pub(super) fn push(&mut self, tone: TextTone, text: &str, width: Option<usize>, out: &mut Styled) {
        let Some(width) = width else { return out.push(tone, text) };
        for c in text.chars() {
            match c {
                '\n' => self.break_line(width, out),
                ' ' | '\t' => {
                    self.end_word(width, out);
                    self.spaces += 1;
                }
                c => {
                    self.word_width += c.width().unwrap_or(0);
                    match self.word.last_mut() {
                        Some((last, word)) if *last == tone => word.push(c),
                        _ => self.word.push((tone, c.to_string())),
                    }
                }
            }
        }
    }

    /// Gives what is held back: nothing of the word comes any more.
    pub(super) fn end_word(&mut self, width: usize, out: &mut Styled) {
        let Some((tone, _)) = self.word.first() else { return };
        // Spaces look like the word behind them, so that a text of one look is one piece.
        let tone = *tone;
        // A line of spaces alone is no better than one that is too wide.
        let begins_at = width_of(self.margin) + self.indent;
        if self.column > begins_at && self.column + self.spaces + self.word_width > width {
            out.push(TextTone::Plain, "\n");
            out.push(TextTone::Dim, self.margin);
            out.push(tone, &" ".repeat(self.indent));
            self.column = begins_at;
        } else {
            out.push(tone, &" ".repeat(self.spaces));
            self.column += self.spaces;
        }
        self.spaces = 0;
        self.column += std::mem::take(&mut self.word_width);
        for (tone, text) in self.word.drain(..) {
            out.push(tone, &text);
        }
    }

    fn break_line(&mut self, width: usize, out: &mut Styled) {
        self.end_word(width, out);
        out.push(TextTone::Plain, "\n");
        *self = Self::default();
    }
}

/// Returns whole lines of one tone, each broken at `width` with a hanging indent.
pub(super) fn wrapped(tone: TextTone, text: &str, width: Option<usize>, hanging: usize) -> Styled {
    let mut out = Styled::default();
    for (number, line) in text.split('\n').enumerate() {
        if number > 0 {
            out.push(TextTone::Plain, "\n");
        }
        let mut wrapper = Wrapper::default();
        let indent = line.len() - line.trim_start_matches(' ').len();
        wrapper.indent(indent + hanging);
        wrapper.push(tone, line, width, &mut out);
        width.into_iter().for_each(|width| wrapper.end_word(width, &mut out));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(spans: &Styled) -> String {
        spans.0.iter().map(|span| span.text.as_str()).collect()
    }

    #[track_caller]
    fn check(given: &str, width: usize, expected: &str) {
        assert_eq!(text(&wrapped(TextTone::Plain, given, Some(width), 0)), expected, "{given:?} at {width}");
        // What arrives in pieces of any size is broken at the same places.
        for size in 1..=4 {
            let (mut wrapper, mut out) = (Wrapper::default(), Styled::default());
            let pieces: Vec<char> = given.chars().collect();
            for piece in pieces.chunks(size) {
                let piece: String = piece.iter().collect();
                wrapper.push(TextTone::Plain, &piece, Some(width), &mut out);
            }
            wrapper.end_word(width, &mut out);
            if !given.starts_with(' ') {
                assert_eq!(text(&out), expected, "{given:?} at {width} in pieces of {size}");
            }
        }
    }

    #[test]
    fn lines_are_broken_at_spaces_only() {
        check("one two three", 80, "one two three");
        check("one two three", 7, "one two\nthree");
        check("one two three", 8, "one two\nthree");
        check("one  two", 8, "one  two");
        check("incomprehensibilities are long", 10, "incomprehensibilities\nare long");
        check("a\n\nb c", 3, "a\n\nb c");
        check("  indented text here", 12, "  indented\n  text here");
        check("", 10, "");
    }

    #[test]
    fn wide_characters_take_two_columns() {
        check("漢字 漢字", 8, "漢字\n漢字");
        assert_eq!((width_of("漢a"), head_of("漢字a", 3)), (3, "漢"));
    }

    #[test]
    fn without_a_width_text_is_as_it_was() {
        let long = "word ".repeat(100);
        assert_eq!(text(&wrapped(TextTone::Plain, &long, None, 4)), long);
    }
}
