//! Texts that run only where another part of the line reads them: each of the two says nothing by itself.

use super::walk::ShellWalk;

/// One half.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Clue {
    /// A text that looks like an index with a command in it: `a[$(rm x)]`.
    Index,
    /// A value that is read as an expression, where such an index would run.
    Expression,
    /// A text that perl takes for a command instead of a file's name: `rm x|`.
    Pipe,
    /// Files that perl opens and whose names can't be known.
    UnknownFile,
    /// A file that is written and that Python could import.
    Module,
    /// Python code that may import a file of the working folder.
    Import,
    /// A file that a redirection opens without emptying it.
    Opened,
    /// Something that is written to the place of a descriptor: `/dev/stdin`, `/dev/fd/3`.
    Descriptor,
}

/// Halves that run together, and what that is.
const PAIRS: [(Clue, Clue, &str); 4] = [
    (Clue::Index, Clue::Expression, "an expression over values that may hold commands"),
    (Clue::Pipe, Clue::UnknownFile, "opens what may be a command instead of a file"),
    (Clue::Module, Clue::Import, "runs code that may import a file that the line writes"),
    (Clue::Opened, Clue::Descriptor, "writes to a descriptor, and so to a file that the line opens"),
];

/// All that were found, in no order: which text comes to which reader, and when, can't be told.
#[derive(Debug, Default)]
pub(super) struct Clues(u8);

impl Clues {
    /// Notes `clue` if `found`.
    pub(super) fn note(&mut self, clue: Clue, found: bool) {
        self.0 |= u8::from(found) << (clue as u8);
    }

    fn has(&self, clue: Clue) -> bool {
        (self.0 >> (clue as u8)) & 1 == 1
    }
}

impl ShellWalk<'_> {
    /// Says what the halves of a whole line come to.
    pub(super) fn put_together(&mut self, line: &str) {
        for (text, reader, reason) in PAIRS {
            if self.clues.has(text) && self.clues.has(reader) {
                self.opaque(line, reason);
            }
        }
    }
}

/// True if perl takes a text, where it should be a file's name, for a command or for a file to write.
pub(super) fn is_pipe(text: &str) -> bool {
    let text = text.trim();
    let begins = ["|", ">", "+>", "+<"].iter().any(|start| text.starts_with(start));
    begins || (text.ends_with('|') && !text.starts_with('-'))
}

/// True if a text looks like an index with a command in it, which runs if the text is read as an expression.
pub(super) fn may_be_index(text: &str) -> bool {
    let Some(at) = text.find('[') else { return false };
    let inside = &text[at..];
    inside.contains('`') || ["$(", "${", "<("].iter().any(|start| inside.contains(start))
}
