//! Cuts what a terminal sends into entries: a line is one, and a paste is one whatever lines it has.
//!
//! In: bytes as they are read. Out: [`TypedEntry`]. A terminal in bracketed paste mode puts
//! `ESC [ 200 ~` before a paste and `ESC [ 201 ~` behind it; the entry ends with the Enter that follows.

const PASTE_BEGINS: &[u8] = b"\x1b[200~";
const PASTE_ENDS: &[u8] = b"\x1b[201~";

/// The longest line that a terminal takes, in bytes: Linux drops what is typed behind it.
const LINE_BYTES_MAX: usize = 4095;

/// One thing that was given with Enter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TypedEntry {
    /// A line that was typed.
    Line(String),
    /// An entry with a paste in it; its line feeds are part of it.
    Paste(String),
    /// A paste whose end never came, or a line that the terminal cut: not all of what was meant.
    Cut(String),
    /// The rest of an entry that was begun before it was asked for.
    Early(String),
    /// The input ended.
    End,
}

impl TypedEntry {
    /// Returns its text; `None` for the end of the input.
    pub fn text(&self) -> Option<String> {
        self.clone().into_text()
    }

    /// Returns its text; `None` for the end of the input.
    pub fn into_text(self) -> Option<String> {
        match self {
            Self::Line(text) | Self::Paste(text) | Self::Cut(text) | Self::Early(text) => Some(text),
            Self::End => None,
        }
    }
}

/// The entry that is being typed.
#[derive(Debug, Default)]
pub struct Entries {
    bytes: Vec<u8>,
    is_in_paste: bool,
    has_paste: bool,
    is_cut: bool,
    is_early: bool,
}

impl Entries {
    /// Returns true if a paste has begun and not ended.
    pub const fn is_in_paste(&self) -> bool {
        self.is_in_paste
    }

    /// Takes the next byte, and gives the entry that it ends.
    pub fn push(&mut self, byte: u8) -> Option<TypedEntry> {
        if byte == b'\n' && !self.is_in_paste {
            return Some(self.end());
        }
        self.bytes.push(byte);
        if self.bytes.ends_with(PASTE_BEGINS) && !self.is_in_paste {
            self.forget_last(PASTE_BEGINS.len());
            (self.is_in_paste, self.has_paste) = (true, true);
        } else if self.bytes.ends_with(PASTE_ENDS) {
            self.forget_last(PASTE_ENDS.len());
            // The end of a paste whose beginning nobody saw.
            self.is_cut |= !self.is_in_paste;
            self.is_in_paste = false;
        }
        None
    }

    fn forget_last(&mut self, count: usize) {
        self.bytes.truncate(self.bytes.len() - count);
    }

    fn end(&mut self) -> TypedEntry {
        let Self { bytes, is_in_paste: _, has_paste, is_cut, is_early } = std::mem::take(self);
        let is_cut = is_cut || bytes.split(|byte| *byte == b'\n').any(|line| line.len() >= LINE_BYTES_MAX);
        let text = text(&bytes);
        match (is_early, is_cut, has_paste) {
            (true, ..) => TypedEntry::Early(text),
            (false, true, _) => TypedEntry::Cut(text),
            (false, false, true) => TypedEntry::Paste(text),
            (false, false, false) => TypedEntry::Line(text),
        }
    }

    /// Gives up waiting for the end of the open paste. If Enter was the last that came, the entry ends.
    pub fn give_up_paste(&mut self) -> Option<TypedEntry> {
        if !std::mem::take(&mut self.is_in_paste) {
            return None;
        }
        self.is_cut = true;
        self.bytes.ends_with(b"\n").then(|| self.end())
    }

    /// Takes what was begun so far, if anything. The rest of a paste that is still coming is [`TypedEntry::Early`].
    pub fn take_begun(&mut self) -> Option<String> {
        let begun = std::mem::take(self);
        (self.is_in_paste, self.is_early) = (begun.is_in_paste, begun.is_in_paste);
        (!begun.bytes.is_empty()).then(|| text(&begun.bytes))
    }
}

/// Returns typed bytes as text: without the line ends behind it, and with line feeds alone within.
fn text(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes).replace("\r\n", "\n");
    text.trim_end_matches(['\n', '\r']).replace('\r', "\n")
}

#[cfg(test)]
mod tests {
    use super::{Entries, LINE_BYTES_MAX, TypedEntry};

    fn line(text: &str) -> TypedEntry {
        TypedEntry::Line(text.to_owned())
    }

    fn paste(text: &str) -> TypedEntry {
        TypedEntry::Paste(text.to_owned())
    }

    fn push(entries: &mut Entries, read: &[u8]) -> Vec<TypedEntry> {
        read.iter().filter_map(|byte| entries.push(*byte)).collect()
    }

    #[track_caller]
    fn check(read: &str, expected: &[TypedEntry]) {
        assert_eq!(push(&mut Entries::default(), read.as_bytes()), expected, "{read:?}");
    }

    #[test]
    fn a_line_is_an_entry_and_so_is_a_paste() {
        check("go\n", &[line("go")]);
        check("go\r\n\ny\n", &[line("go"), line(""), line("y")]);
        check("y", &[]);
        check("\x1b[200~y\x1b[201~\n", &[paste("y")]);
        check("\x1b[200~a\nb\nc\x1b[201~\ny\n", &[paste("a\nb\nc"), line("y")]);
        check("\x1b[200~a\rb\r\n\x1b[201~\n", &[paste("a\nb")]);
        check("n: \x1b[200~a\nb\x1b[201~ and\x1b[200~c\nd\x1b[201~.\n", &[paste("n: a\nb andc\nd.")]);
        // A beginning within a paste is a part of it; an end alone shows that something is missing.
        check("\x1b[200~a\x1b[200~\ny\x1b[201~\n", &[paste("a\x1b[200~\ny")]);
        check("y\x1b[201~\n", &[TypedEntry::Cut("y".to_owned())]);
    }

    #[test]
    fn a_line_as_long_as_a_terminal_takes_may_lack_its_end() {
        let long = "x".repeat(LINE_BYTES_MAX);
        let given = push(&mut Entries::default(), format!("{long}\n").as_bytes());
        assert_eq!(given, [TypedEntry::Cut(long.clone())]);
        let given = push(&mut Entries::default(), format!("\x1b[200~{long}\nb\x1b[201~\n").as_bytes());
        assert!(matches!(&given[..], [TypedEntry::Cut(_)]));
    }

    #[test]
    fn a_paste_without_an_end_is_given_up_and_takes_nothing_with_it() {
        let mut entries = Entries::default();
        assert_eq!(push(&mut entries, b"\x1b[200~go\x1b[201\n"), []);
        assert_eq!(entries.give_up_paste(), Some(TypedEntry::Cut("go\x1b[201".to_owned())));
        assert_eq!(entries.give_up_paste(), None);
        assert_eq!(push(&mut entries, b"n\n"), [line("n")]);
        assert_eq!(push(&mut entries, b"\x1b[200~go\nn"), []);
        assert_eq!(entries.give_up_paste(), None);
        assert_eq!(push(&mut entries, b"\n"), [TypedEntry::Cut("go\nn".to_owned())]);
    }

    #[test]
    fn what_was_begun_early_is_taken_and_so_is_the_rest_of_a_paste() {
        let mut entries = Entries::default();
        assert_eq!(entries.take_begun(), None);
        push(&mut entries, b"ye");
        assert_eq!(entries.take_begun().as_deref(), Some("ye"));
        assert_eq!(push(&mut entries, b"s\n"), [line("s")]);
        push(&mut entries, b"\x1b[200~a\ny");
        assert_eq!(entries.take_begun().as_deref(), Some("a\ny"));
        assert_eq!(push(&mut entries, b"\ny\x1b[201~\ny\n"), [TypedEntry::Early("\ny".to_owned()), line("y")]);
    }
}
