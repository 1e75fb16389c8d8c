//! Drawing: lines, looks, and the last line of a screen, which is taken away before anything else is written.

use std::io::{IsTerminal, Write};
use std::time::Instant;

use super::footer::{self, FooterLine};
use super::prose::ProseForm;
use super::wrap::{Styled, StyledText, TextTone, width_of, wrapped};
use super::{RenderStyle, Renderer};

/// The size of a terminal that doesn't say its own.
const SIZE: (usize, usize) = (24, 80);

/// The narrowest terminal that text is broken for: at fewer columns the terminal does it.
const COLUMNS_MIN: usize = 20;

/// The last line of a screen, while it is shown.
#[derive(Debug, Clone, Copy)]
pub(super) struct Footer {
    /// Column at which the text above it goes on; `None` if that has ended.
    pub(super) text_column: Option<usize>,
}

/// Abilities of the place that is written to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Surface {
    /// A pipe or a file.
    Stream,
    /// A terminal that only knows lines: `TERM=dumb`.
    Lines,
    /// A terminal whose last line can be written anew.
    Screen,
}

impl Surface {
    pub(super) fn of_stdout() -> Self {
        let is_dumb = std::env::var_os("TERM").is_none_or(|name| name.is_empty() || name == "dumb");
        match (std::io::stdout().is_terminal(), is_dumb) {
            (false, _) => Self::Stream,
            (true, true) => Self::Lines,
            (true, false) => Self::Screen,
        }
    }
}

pub(super) fn size_of_stdout() -> Option<(usize, usize)> {
    let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok()?;
    (size.ws_row > 0 && size.ws_col > 0).then(|| (size.ws_row.into(), size.ws_col.into()))
}

/// Returns a text for stderr: broken between words at the width of the terminal, if it is one.
pub fn fitted_to_stderr(text: &str) -> String {
    let size = rustix::termios::tcgetwinsize(std::io::stderr()).ok();
    let columns = size.map(|size| usize::from(size.ws_col)).filter(|columns| *columns >= COLUMNS_MIN);
    fitted(text, columns)
}

pub(super) fn fitted(text: &str, columns: Option<usize>) -> String {
    let Styled(pieces) = wrapped(TextTone::Plain, text, columns, 2);
    pieces.into_iter().map(|piece| piece.text).collect()
}

impl Renderer {
    /// Brings the line that says what is in flight up to date, on a terminal that can. Below a reply it waits until
    /// nothing has come for a while, so that it doesn't flicker.
    pub fn tick(&mut self) {
        if self.surface != Surface::Screen || (std::mem::take(&mut self.has_text_come) && !self.is_typed_on()) {
            return;
        }
        let columns = self.columns().unwrap_or(COLUMNS_MIN);
        let status = self.status.line(Instant::now(), columns - 1);
        match footer::footer_line(self.prompt.as_deref(), &self.typed, status, columns) {
            Some(line) => self.draw_footer(&line, columns),
            None => self.erase_footer(),
        }
        self.out.flush().ok();
    }

    /// Returns true if the last line is the operator's: it is asked something, or types.
    pub(super) fn is_typed_on(&self) -> bool {
        self.prompt.is_some() || !self.typed.line.text.is_empty()
    }

    /// Draws the footer. What stands above it is left as it is, also in the middle of a line.
    pub(super) fn draw_footer(&mut self, FooterLine { text, cursor }: &FooterLine, columns: usize) {
        let is_mid_line = self.mid_line || self.reply.as_ref().is_some_and(|(_, reply)| reply.is_mid_line());
        // At the very end of a line nobody knows which line the terminal is on.
        if is_mid_line && (self.column == 0 || self.column >= columns) && self.footer.is_none() {
            return;
        }
        let begin = match (self.footer, is_mid_line) {
            (Some(_), _) | (None, false) => "\r\u{1b}[2K",
            (None, true) => "\r\n",
        };
        let text_column = if is_mid_line { Some(self.column) } else { None };
        self.footer = Some(self.footer.unwrap_or(Footer { text_column }));
        let is_dim = self.look == RenderStyle::Coloured && cursor.is_none();
        let (dim, plain) = if is_dim { ("\u{1b}[2m", "\u{1b}[0m") } else { ("", "") };
        let cursor = cursor.map(|column| format!("\u{1b}[{}G", column + 1)).unwrap_or_default();
        self.out.write_all(format!("{begin}{dim}{text}{plain}{cursor}").as_bytes()).ok();
    }

    /// Takes the footer away, and goes back to where the text goes on.
    pub(super) fn erase_footer(&mut self) {
        let back = match self.footer.take() {
            None => return,
            Some(Footer { text_column: None }) => String::new(),
            Some(Footer { text_column: Some(column) }) => format!("\u{1b}[1A\u{1b}[{}G", column + 1),
        };
        self.out.write_all(format!("\r\u{1b}[2K{back}").as_bytes()).ok();
    }

    pub(super) fn prose_form(&self) -> ProseForm {
        match (self.look, self.columns()) {
            (_, None) => ProseForm::AsIs,
            (RenderStyle::Coloured, Some(width)) => ProseForm::Rendered { width },
            (RenderStyle::Plain | RenderStyle::Json, Some(width)) => ProseForm::Wrapped { width },
        }
    }

    /// Returns the lines and columns of the terminal as it is now; `None` where there is no terminal.
    pub(super) fn size(&self) -> Option<(usize, usize)> {
        (self.surface != Surface::Stream).then(|| (self.measure)().unwrap_or(SIZE))
    }

    /// Returns the width that lines are broken at; `None` if nobody says how wide a line may be.
    pub(super) fn columns(&self) -> Option<usize> {
        self.size().map(|(_, columns)| columns).filter(|columns| *columns >= COLUMNS_MIN)
    }

    pub(super) fn fresh_line(&mut self) {
        if let Some((_, mut prose)) = self.reply.take() {
            let mut rest = Styled::default();
            prose.end_line(self.prose_form(), &mut rest);
            self.paint(&rest);
            for text in std::mem::take(&mut self.below_reply) {
                self.note(&text);
            }
        }
        self.is_prompted = false;
        if std::mem::take(&mut self.mid_line) {
            self.write("\n");
        }
    }

    /// Shows a text on lines of its own, broken between words at the width of the terminal.
    pub(super) fn line(&mut self, tone: TextTone, text: &str) {
        self.hanging_line(tone, text, 2);
    }

    /// The same with lines that go on so many columns further to the right.
    pub(super) fn hanging_line(&mut self, tone: TextTone, text: &str, hanging: usize) {
        let broken = wrapped(tone, text, self.columns(), hanging);
        self.styled_line(&broken);
        self.flush();
    }

    /// Shows a line as it is, whatever its width: code, output.
    pub(super) fn raw_line(&mut self, tone: TextTone, text: &str) {
        self.styled_line(&Styled::of(tone, text));
    }

    /// Shows a text that is laid out, on lines of its own.
    pub(super) fn styled_line(&mut self, styled: &Styled) {
        self.fresh_line();
        self.paint(styled);
        self.write("\n");
    }

    pub(super) fn paint(&mut self, styled: &Styled) {
        for StyledText { tone, text } in &styled.0 {
            let code = match tone {
                _ if self.look != RenderStyle::Coloured => "",
                TextTone::Plain => "",
                TextTone::Heading => "1",
                TextTone::Dim => "2",
                TextTone::Code => "36",
                TextTone::Good => "32",
                TextTone::Bad => "31",
                TextTone::Warning => "33",
            };
            if code.is_empty() {
                self.write(text);
            } else {
                self.erase_footer();
                self.out.write_all(format!("\u{1b}[{code}m").as_bytes()).ok();
                self.write(text);
                self.out.write_all(b"\x1b[0m").ok();
            }
        }
    }

    /// Writes to the output. Its reader may have gone away: the run goes on, and its journal says all of this too.
    pub(super) fn write(&mut self, text: &str) {
        self.erase_footer();
        self.out.write_all(text.as_bytes()).ok();
        let columns = self.columns().unwrap_or(usize::MAX);
        for piece in text.split_inclusive('\n') {
            let end = self.column + width_of(piece.trim_end_matches('\n'));
            // What is wider than the screen goes on in its next line.
            self.lines_ended += end.saturating_sub(1) / columns;
            self.column = if end > columns { end % columns } else { end };
            if piece.ends_with('\n') {
                self.lines_ended += 1;
                self.column = 0;
            }
        }
    }

    pub(super) fn flush(&mut self) {
        // The line that is typed on is there at once again.
        if self.has_screen() && self.footer.is_none() && self.is_typed_on() {
            self.tick();
        }
        self.out.flush().ok();
    }
}
