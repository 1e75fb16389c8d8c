//! Reads an agent's markdown lightly, as it arrives: headings, lists, bold, code. Whatever else there is stays as it is.
//!
//! In: text in pieces of any size. Out: [`Inline`]s: text with its tone, and where a line may be broken. Only markers
//! that pair up on their line are taken away, so that `src/**/*.rs` and `2**3` keep theirs. Knows nothing of a terminal.

use super::wrap::TextTone;

/// The longest text that is held back for the end of a pair, in bytes.
const HELD_BYTES_MAX: usize = 2_000;

/// Something of a text.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Inline {
    /// Text that may be broken at spaces; without line feeds.
    Text(TextTone, String),
    /// Text whose lines stay as they are: code, a table.
    Verbatim(TextTone, String),
    /// Further lines of this one begin behind so many columns.
    Indent(usize),
    /// The line ends.
    LineEnd,
}

/// Kind of the line that is being read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum MarkdownLine {
    /// Its beginning does not say yet.
    #[default]
    Unknown,
    Prose,
    Heading,
    Verbatim(TextTone),
}

/// The text so far.
#[derive(Debug, Default)]
pub(super) struct Markdown {
    /// The part that is not decided yet, all of one line.
    held: String,
    kind: MarkdownLine,
    /// The character before `held`, for what may stand before a marker.
    before: Option<char>,
    /// The fence of the block of code that is open.
    fence: Option<char>,
}

impl Markdown {
    /// Takes the next piece.
    pub(super) fn push(&mut self, text: &str) -> Vec<Inline> {
        let mut out = Vec::new();
        for line in text.split_inclusive('\n') {
            match line.strip_suffix('\n') {
                Some(line) => {
                    self.held.push_str(line);
                    self.read(true, &mut out);
                    self.end_line(&mut out);
                }
                None => {
                    self.held.push_str(line);
                    self.read(false, &mut out);
                }
            }
        }
        out
    }

    /// Gives what is held back: the text is over, or somebody else wants the line.
    pub(super) fn finish(&mut self) -> Vec<Inline> {
        let mut out = Vec::new();
        self.read(true, &mut out);
        (self.kind, self.before) = (MarkdownLine::Unknown, None);
        out
    }

    fn end_line(&mut self, out: &mut Vec<Inline>) {
        out.push(Inline::LineEnd);
        (self.kind, self.before) = (MarkdownLine::Unknown, None);
    }

    /// Reads what is held as far as it is decided; all of it if the line is whole.
    fn read(&mut self, is_whole: bool, out: &mut Vec<Inline>) {
        if self.kind == MarkdownLine::Unknown && !self.begin(is_whole, out) {
            return;
        }
        match self.kind {
            MarkdownLine::Unknown => {}
            MarkdownLine::Verbatim(tone) => {
                let text = std::mem::take(&mut self.held);
                out.push(Inline::Verbatim(tone, text));
            }
            MarkdownLine::Prose => self.inline(TextTone::Plain, is_whole, out),
            MarkdownLine::Heading => self.inline(TextTone::Heading, is_whole, out),
        }
    }

    /// Reads the beginning of a line. Returns false as long as more is needed.
    fn begin(&mut self, is_whole: bool, out: &mut Vec<Inline>) -> bool {
        let text = self.held.trim_start_matches(' ');
        let margin = self.held.len() - text.len();
        if !is_whole && is_undecided(text) {
            return false;
        }
        let fence = ['`', '~'].into_iter().find(|fence| text.chars().take_while(|c| c == fence).count() >= 3);
        if let Some(open) = self.fence {
            self.kind = MarkdownLine::Verbatim(TextTone::Code);
            if fence == Some(open) && text.trim_end().chars().all(|c| c == open) {
                (self.fence, self.kind) = (None, MarkdownLine::Verbatim(TextTone::Dim));
            }
            return true;
        }
        if fence.is_some() {
            (self.fence, self.kind) = (fence, MarkdownLine::Verbatim(TextTone::Dim));
            return true;
        }
        if text.starts_with('|') {
            self.kind = MarkdownLine::Verbatim(TextTone::Plain);
            return true;
        }
        self.kind = MarkdownLine::Prose;
        if let Some(heading) = heading(text) {
            (self.held, self.kind) = (heading.to_owned(), MarkdownLine::Heading);
            return true;
        }
        let marker = list_marker(text);
        out.push(Inline::Indent(margin + marker));
        if marker > 0 && !text.starts_with(|c: char| c.is_ascii_digit()) {
            out.push(Inline::Text(TextTone::Plain, format!("{}\u{2022} ", " ".repeat(margin))));
            self.held = text[marker..].to_owned();
        }
        true
    }

    fn inline(&mut self, tone: TextTone, is_whole: bool, out: &mut Vec<Inline>) {
        let held = std::mem::take(&mut self.held);
        let mut rest = held.as_str();
        loop {
            let Some(at) = rest.find(['`', '*']) else {
                self.give(tone, rest, out);
                return;
            };
            self.give(tone, &rest[..at], out);
            rest = &rest[at..];
            let sign = if rest.starts_with('`') { '`' } else { '*' };
            let run = rest.chars().take_while(|c| *c == sign).count();
            // The run itself may go on.
            if run == rest.len() && !is_whole && run < HELD_BYTES_MAX {
                rest.clone_into(&mut self.held);
                return;
            }
            let may_open = sign == '`' || (run == 2 && self.opens_bold(&rest[run..]));
            match may_open.then(|| closing(sign, run, &rest[run..])).flatten() {
                Some(inner) => {
                    let styled = if sign == '`' { TextTone::Code } else { TextTone::Heading };
                    self.give(styled, &rest[run..run + inner], out);
                    rest = &rest[run + inner + run..];
                    self.before = Some(sign);
                }
                None if may_open && !is_whole && rest.len() < HELD_BYTES_MAX => {
                    rest.clone_into(&mut self.held);
                    return;
                }
                None => {
                    self.give(tone, &rest[..run], out);
                    rest = &rest[run..];
                }
            }
        }
    }

    fn opens_bold(&self, behind: &str) -> bool {
        let is_free = self.before.is_none_or(|before| before.is_whitespace() || "([{\"'\u{2014}`*:".contains(before));
        is_free && behind.starts_with(|c: char| !c.is_whitespace())
    }

    fn give(&mut self, tone: TextTone, text: &str, out: &mut Vec<Inline>) {
        if let Some(last) = text.chars().last() {
            self.before = Some(last);
            out.push(Inline::Text(tone, text.to_owned()));
        }
    }
}

/// Returns true if more of a line must come before it is known what it is.
fn is_undecided(text: &str) -> bool {
    let is_all = |wanted: fn(char) -> bool| text.chars().all(wanted);
    text.is_empty()
        || (text.len() < 3 && (is_all(|c| c == '`') || is_all(|c| c == '~')))
        || is_all(|c| c == '#')
        || matches!(text, "-" | "*" | "+")
        || (text.len() <= 4 && text.starts_with(|c: char| c.is_ascii_digit()) && !text.contains(' '))
}

fn heading(text: &str) -> Option<&str> {
    let level = text.chars().take_while(|c| *c == '#').count();
    let rest = text[level..].strip_prefix(' ')?;
    (1..=6).contains(&level).then(|| rest.trim_start())
}

/// Returns the length of the marker that begins an item of a list, in bytes; 0 without one.
fn list_marker(text: &str) -> usize {
    if ["- ", "* ", "+ "].iter().any(|marker| text.starts_with(marker)) {
        return 2;
    }
    let digits = text.chars().take_while(char::is_ascii_digit).count();
    let is_number = (1..=3).contains(&digits) && (text[digits..].starts_with(". ") || text[digits..].starts_with(") "));
    if is_number { digits + 2 } else { 0 }
}

/// Returns the length of what stands before the marker that closes a pair.
fn closing(sign: char, run: usize, text: &str) -> Option<usize> {
    let mut from = 0;
    while let Some(at) = text[from..].find(sign).map(|at| at + from) {
        let found = text[at..].chars().take_while(|c| *c == sign).count();
        let is_end = found == run && at > 0 && (sign == '`' || !text[..at].ends_with(char::is_whitespace));
        if is_end {
            return Some(at);
        }
        from = at + found;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A line for each line: bold as `<b>`, code as `<c>`, dim as `<d>`, verbatim text behind `|`.
    fn shown(all: Vec<Inline>) -> String {
        let styled = |tone: TextTone, text: &str| match tone {
            TextTone::Heading => format!("<b>{text}</b>"),
            TextTone::Code => format!("<c>{text}</c>"),
            TextTone::Dim => format!("<d>{text}</d>"),
            TextTone::Plain | TextTone::Good | TextTone::Bad | TextTone::Warning => text.to_owned(),
        };
        let said = all.into_iter().map(|one| match one {
            Inline::Text(tone, text) => styled(tone, &text),
            Inline::Verbatim(tone, text) => format!("|{}", styled(tone, &text)),
            Inline::Indent(_) => String::new(),
            Inline::LineEnd => "\n".to_owned(),
        });
        said.collect::<String>()
            .replace("</b><b>", "")
            .replace("</c><c>", "")
            .replace("</c>|<c>", "")
            .replace("</d>|<d>", "")
    }

    #[track_caller]
    fn check(text: &str, expected: &str) {
        for size in 1..=text.chars().count() {
            let mut markdown = Markdown::default();
            let chars: Vec<char> = text.chars().collect();
            let mut all = Vec::new();
            for piece in chars.chunks(size) {
                all.extend(markdown.push(&piece.iter().collect::<String>()));
            }
            all.extend(markdown.finish());
            assert_eq!(shown(all), expected, "{text:?} in pieces of {size}");
        }
    }

    #[test]
    fn headings_lists_bold_and_code_are_read() {
        check("## Phase 4\n\nDone.", "<b>Phase 4</b>\n\nDone.");
        check("**Objective**: one `thing`.", "<b>Objective</b>: one <c>thing</c>.");
        check("- **a** b\n  * c\n1. d", "\u{2022} <b>a</b> b\n  \u{2022} c\n1. d");
        check("``a ` b``", "<c>a ` b</c>");
    }

    #[test]
    fn markers_that_mark_nothing_stay() {
        for text in [
            "src/**/*.rs and b/**/c",
            "2**3 or 2 ** 3 **",
            "f(**kwargs)",
            "an open `tick",
            "a **bold that never ends",
            "#hashtag",
            "#######  seven",
            "-not a list",
            "__init__ and *emphasis*",
            "***",
            "3.14 is no list",
        ] {
            check(text, text);
        }
    }

    #[test]
    fn code_and_tables_keep_their_lines() {
        check(
            "```sh\nrm **x** `y`\n# no heading\n```\n**b**",
            "|<d>```sh</d>\n|<c>rm **x** `y`</c>\n|<c># no heading</c>\n|<d>```</d>\n<b>b</b>",
        );
        assert_eq!(
            Markdown::default().push("| **a** | b |\n")[0],
            Inline::Verbatim(TextTone::Plain, "| **a** | b |".to_owned())
        );
    }

    #[test]
    fn a_pair_that_never_ends_is_held_back_only_so_far() {
        let mut markdown = Markdown::default();
        let said = shown(markdown.push(&format!("`{}", "x".repeat(HELD_BYTES_MAX))));
        assert_eq!(said.len(), HELD_BYTES_MAX + 1);
    }
}
