//! The line editor: makes entries of keys, as `entries.rs` makes them of what a terminal edits by itself.
//!
//! In: bytes as a terminal sends them that gives each key at once. Out: [`KeyOutcome`]s. Arrows,
//! the keys that shells have for words and lines, earlier entries, and line feeds within an entry (Alt-Enter). A paste is
//! taken as it is, whatever keys it would be. Knows no terminal and draws nothing; [`LineView`] is to be drawn.

use super::entries::TypedEntry;

const PASTE_BEGINS: &[u8] = b"\x1b[200~";
const PASTE_ENDS: &[u8] = b"\x1b[201~";

/// The most entries that the arrows go back to.
const HISTORY_MAX: usize = 100;

/// The longest sequence of a key; what is longer is none.
const SEQUENCE_BYTES_MAX: usize = 16;

const ESCAPE: u8 = 0x1b;

/// Outcome of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyOutcome {
    /// An entry was given.
    Entry(TypedEntry),
    /// Tab.
    Tab,
    /// Esc.
    Escape,
}

/// The line as it is to be drawn.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LineView {
    /// Its text.
    pub text: String,
    /// Place of the cursor in it, in bytes.
    pub cursor: usize,
}

/// The entry that is being typed, and those before it.
#[derive(Debug, Default)]
pub struct Editor {
    text: String,
    cursor: usize,
    /// Bytes of a character or of a key's sequence that has begun.
    begun: Vec<u8>,
    /// The paste that is open.
    paste: Option<Vec<u8>>,
    has_paste: bool,
    is_cut: bool,
    is_early: bool,
    history: Vec<String>,
    /// Place in the history that is shown.
    place: Option<usize>,
    /// The text that was typed before the history was gone through.
    draft: String,
}

impl Editor {
    /// Returns the line as it is to be drawn.
    pub fn view(&self) -> LineView {
        LineView { text: self.text.clone(), cursor: self.cursor }
    }

    /// Returns true if a paste has begun and not ended.
    pub const fn is_in_paste(&self) -> bool {
        self.paste.is_some()
    }

    /// Returns true if what came last may be the key Esc, or the beginning of another one.
    pub fn may_be_escape(&self) -> bool {
        self.begun.first() == Some(&ESCAPE)
    }

    /// Takes note that nothing followed for a while: what was begun is the key Esc.
    pub fn give_up_sequence(&mut self) -> Option<KeyOutcome> {
        let begun = std::mem::take(&mut self.begun);
        self.is_early = false;
        (begun == [ESCAPE]).then_some(KeyOutcome::Escape)
    }

    /// Gives up waiting for the end of the open paste. If Enter was the last that came, the entry ends.
    pub fn give_up_paste(&mut self) -> Option<TypedEntry> {
        let paste = self.paste.take()?;
        self.is_cut = true;
        let has_ended = paste.ends_with(b"\n");
        self.insert_paste(&paste);
        has_ended.then(|| self.end())
    }

    /// Takes what was begun so far, if anything. The rest of a paste that is still coming is [`TypedEntry::Early`].
    pub fn take_begun(&mut self) -> Option<String> {
        if let Some(paste) = self.paste.take() {
            self.insert_paste(&paste);
            self.paste = Some(Vec::new());
        }
        // So is a paste of whose beginning a part has come.
        let begins_paste = !self.begun.is_empty() && PASTE_BEGINS.starts_with(&self.begun);
        if !begins_paste {
            self.begun.clear();
        }
        (self.is_early, self.is_cut) = (self.is_in_paste() || begins_paste, false);
        self.has_paste = self.is_in_paste();
        let begun = std::mem::take(&mut self.text);
        (self.cursor, self.place) = (0, None);
        (!begun.is_empty()).then_some(begun)
    }

    /// Replaces the line.
    pub fn set(&mut self, text: String) {
        self.cursor = text.len();
        self.text = text;
    }

    /// Takes the next byte, and gives what came of it.
    pub fn push(&mut self, byte: u8) -> Option<KeyOutcome> {
        if let Some(paste) = &mut self.paste {
            paste.push(byte);
            if paste.ends_with(PASTE_ENDS) {
                paste.truncate(paste.len() - PASTE_ENDS.len());
                let paste = self.paste.take().unwrap_or_default();
                self.insert_paste(&paste);
            }
            return None;
        }
        self.begun.push(byte);
        if self.may_be_escape() {
            return self.sequence();
        }
        if self.begun.len() == 1 && (byte < b' ' || byte == 0x7f) {
            self.begun.clear();
            return self.control(byte);
        }
        match std::str::from_utf8(&self.begun) {
            Ok(typed) => {
                let typed = typed.to_owned();
                self.begun.clear();
                self.insert(&typed);
            }
            // The rest of the character is to come.
            Err(error) if error.error_len().is_none() => {}
            Err(_) => {
                self.begun.clear();
                self.insert("\u{fffd}");
            }
        }
        None
    }

    fn control(&mut self, byte: u8) -> Option<KeyOutcome> {
        match byte {
            b'\r' | b'\n' => return Some(KeyOutcome::Entry(self.end())),
            b'\t' => return Some(KeyOutcome::Tab),
            // Ctrl-A, Ctrl-E.
            0x01 => self.cursor = self.line_start(),
            0x05 => self.cursor = self.line_end(),
            // Ctrl-B, Ctrl-F.
            0x02 => self.cursor = self.before(),
            0x06 => self.cursor = self.after(),
            // Ctrl-D: the end of the input where nothing is typed, else it deletes.
            0x04 if self.text.is_empty() => return Some(KeyOutcome::Entry(TypedEntry::End)),
            0x04 => self.remove(self.cursor, self.after()),
            // Ctrl-H, Backspace.
            0x08 | 0x7f => self.remove(self.before(), self.cursor),
            // Ctrl-K, Ctrl-U, Ctrl-W.
            0x0b => self.remove(self.cursor, self.line_end()),
            0x15 => self.remove(self.line_start(), self.cursor),
            0x17 => self.remove(self.word_start(), self.cursor),
            // Ctrl-P, Ctrl-N.
            0x10 => self.go_back(),
            0x0e => self.go_on(),
            _ => {}
        }
        None
    }

    /// Reads a key that sends several bytes, once all of them are there.
    fn sequence(&mut self) -> Option<KeyOutcome> {
        let is_whole = match self.begun.as_slice() {
            [_] => return None,
            [_, b'[' | b'O'] => return None,
            // The last byte of such a sequence is a letter or `~`.
            [_, b'[' | b'O', .., last] => (0x40..=0x7e).contains(last),
            _ => true,
        };
        if !is_whole && self.begun.len() < SEQUENCE_BYTES_MAX {
            return None;
        }
        let sequence = std::mem::take(&mut self.begun);
        match &sequence[1..] {
            // Alt-Enter.
            b"\r" | b"\n" => self.insert("\n"),
            b"[A" | b"OA" => self.go_back(),
            b"[B" | b"OB" => self.go_on(),
            b"[C" | b"OC" => self.cursor = self.after(),
            b"[D" | b"OD" => self.cursor = self.before(),
            b"[H" | b"OH" | b"[1~" | b"[7~" => self.cursor = self.line_start(),
            b"[F" | b"OF" | b"[4~" | b"[8~" => self.cursor = self.line_end(),
            b"[3~" => self.remove(self.cursor, self.after()),
            b"[1;5D" | b"[1;3D" | b"b" => self.cursor = self.word_start(),
            b"[1;5C" | b"[1;3C" | b"f" => self.cursor = self.word_end(),
            b"[200~" => self.paste = Some(Vec::new()),
            // The end of a paste whose beginning nobody saw.
            b"[201~" => self.is_cut = true,
            [ESCAPE] => return Some(KeyOutcome::Escape),
            _ => {}
        }
        None
    }

    fn end(&mut self) -> TypedEntry {
        let text = std::mem::take(&mut self.text);
        let text = text.trim_end_matches('\n').to_owned();
        (self.cursor, self.place) = (0, None);
        let (is_early, is_cut, has_paste) =
            (std::mem::take(&mut self.is_early), std::mem::take(&mut self.is_cut), std::mem::take(&mut self.has_paste));
        if !text.trim().is_empty() && self.history.last() != Some(&text) {
            self.history.push(text.clone());
            let more = self.history.len().saturating_sub(HISTORY_MAX);
            self.history.drain(..more);
        }
        match (is_early, is_cut, has_paste) {
            (true, ..) => TypedEntry::Early(text),
            (false, true, _) => TypedEntry::Cut(text),
            (false, false, true) => TypedEntry::Paste(text),
            (false, false, false) => TypedEntry::Line(text),
        }
    }

    fn insert(&mut self, text: &str) {
        self.text.insert_str(self.cursor, text);
        self.cursor += text.len();
    }

    fn insert_paste(&mut self, paste: &[u8]) {
        self.has_paste = true;
        let text = String::from_utf8_lossy(paste).replace("\r\n", "\n").replace('\r', "\n");
        self.insert(&text);
    }

    fn remove(&mut self, from: usize, to: usize) {
        self.text.drain(from..to);
        self.cursor = from;
    }

    fn before(&self) -> usize {
        self.text[..self.cursor].char_indices().last().map_or(0, |(at, _)| at)
    }

    fn after(&self) -> usize {
        self.text[self.cursor..].chars().next().map_or(self.cursor, |c| self.cursor + c.len_utf8())
    }

    fn line_start(&self) -> usize {
        self.text[..self.cursor].rfind('\n').map_or(0, |at| at + 1)
    }

    fn line_end(&self) -> usize {
        self.text[self.cursor..].find('\n').map_or(self.text.len(), |at| self.cursor + at)
    }

    fn word_start(&self) -> usize {
        let text = self.text[..self.cursor].trim_end();
        text.rfind(char::is_whitespace).map_or(0, |at| self.text[at..].chars().next().map_or(at, |c| at + c.len_utf8()))
    }

    fn word_end(&self) -> usize {
        let rest = &self.text[self.cursor..];
        let begin = rest.len() - rest.trim_start().len();
        rest[begin..].find(char::is_whitespace).map_or(self.text.len(), |at| self.cursor + begin + at)
    }

    fn go_back(&mut self) {
        let place = self.place.unwrap_or(self.history.len());
        let Some(place) = place.checked_sub(1) else { return };
        if self.place.is_none() {
            self.draft = std::mem::take(&mut self.text);
        }
        self.place = Some(place);
        self.set(self.history[place].clone());
    }

    fn go_on(&mut self) {
        let Some(place) = self.place.map(|place| place + 1) else { return };
        let next = self.history.get(place).cloned();
        self.place = next.is_some().then_some(place);
        let text = next.unwrap_or_else(|| std::mem::take(&mut self.draft));
        self.set(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> KeyOutcome {
        KeyOutcome::Entry(TypedEntry::Line(text.to_owned()))
    }

    fn paste(text: &str) -> KeyOutcome {
        KeyOutcome::Entry(TypedEntry::Paste(text.to_owned()))
    }

    fn push(editor: &mut Editor, read: &[u8]) -> Vec<KeyOutcome> {
        read.iter().filter_map(|byte| editor.push(*byte)).collect()
    }

    #[track_caller]
    fn check(read: &str, expected: &[KeyOutcome]) {
        assert_eq!(push(&mut Editor::default(), read.as_bytes()), expected, "{read:?}");
    }

    #[test]
    fn a_line_is_an_entry_and_so_is_a_paste() {
        check("go\n", &[line("go")]);
        check("go\r\ny\n", &[line("go"), line(""), line("y")]);
        check("y", &[]);
        check("\x1b[200~y\x1b[201~\n", &[paste("y")]);
        check("\x1b[200~a\nb\nc\x1b[201~\ny\n", &[paste("a\nb\nc"), line("y")]);
        check("\x1b[200~a\rb\r\n\x1b[201~\n", &[paste("a\nb")]);
        check("n: \x1b[200~a\nb\x1b[201~ and\x1b[200~c\nd\x1b[201~.\n", &[paste("n: a\nb andc\nd.")]);
        check("y\x1b[201~\n", &[KeyOutcome::Entry(TypedEntry::Cut("y".to_owned()))]);
        // In a paste no byte is a key.
        check("\x1b[200~a\tb\x04\x1b[A\x7f\x1b[201~\n", &[paste("a\tb\x04\x1b[A\x7f")]);
    }

    #[test]
    fn keys_edit_the_line() {
        for (typed, expected) in [
            ("helo\x1b[Dl\n", "hello"),
            ("ab\x7f\x7f\x7fc\n", "c"),
            ("world\x01hello \x05!\n", "hello world!"),
            ("one two three\x17\x17four\n", "one four"),
            ("abc\x02\x02\x0b\n", "a"),
            ("abc\x1b[D\x15\n", "c"),
            ("abc\x1b[H\x1b[3~\n", "bc"),
            ("one two\x1b[1;5DX\x1b[1;5CY\n", "one XtwoY"),
            ("caf\u{e9}\x1b[D\x7f\n", "ca\u{e9}"),
            ("\u{6f22}\u{5b57}\x7f\n", "\u{6f22}"),
            ("one\x1b\ntwo\n", "one\ntwo"),
            ("one\x1b\rtwo\x01>\n", "one\n>two"),
            ("a\x1b[15~b\x1b[99;99zc\n", "abc"),
        ] {
            check(typed, &[line(expected)]);
        }
    }

    #[test]
    fn arrows_go_through_earlier_entries_and_back_to_what_was_begun() {
        check("one\ntwo\n\x1b[A\x1b[A\n", &[line("one"), line("two"), line("one")]);
        check("one\ndraft\x1b[A\x1b[B!\n", &[line("one"), line("draft!")]);
        check("one\none\n\x1b[A\x1b[A\x1b[A\n", &[line("one"), line("one"), line("one")]);
        check("\x1b[A\x1b[B\n", &[line("")]);
    }

    #[test]
    fn the_end_of_the_input_is_one_on_an_empty_line_only() {
        check("\x04", &[KeyOutcome::Entry(TypedEntry::End)]);
        check("ab\x02\x04\n", &[line("a")]);
    }

    #[test]
    fn escape_is_a_key_if_nothing_follows_it() {
        let mut editor = Editor::default();
        assert_eq!(push(&mut editor, b"y\x1b"), []);
        assert!(editor.may_be_escape());
        assert_eq!(editor.give_up_sequence(), Some(KeyOutcome::Escape));
        assert_eq!(push(&mut editor, b"\x1b["), []);
        assert_eq!(editor.give_up_sequence(), None);
        assert_eq!(push(&mut editor, b"A\t\n"), [KeyOutcome::Tab, line("yA")]);
        check("\x1b\x1b", &[KeyOutcome::Escape]);
    }

    #[test]
    fn a_paste_without_an_end_is_given_up_and_takes_nothing_with_it() {
        let cut = |text: &str| TypedEntry::Cut(text.to_owned());
        let mut editor = Editor::default();
        assert_eq!(push(&mut editor, b"\x1b[200~go\x1b[201\n"), []);
        assert_eq!(editor.give_up_paste(), Some(cut("go\x1b[201")));
        assert_eq!(editor.give_up_paste(), None);
        assert_eq!(push(&mut editor, b"n\n"), [line("n")]);
        assert_eq!(push(&mut editor, b"\x1b[200~go\nn"), []);
        assert_eq!(editor.give_up_paste(), None);
        assert_eq!(push(&mut editor, b"\n"), [KeyOutcome::Entry(cut("go\nn"))]);
    }

    #[test]
    fn what_was_begun_early_is_taken_and_so_is_the_rest_of_a_paste() {
        let mut editor = Editor::default();
        assert_eq!(editor.take_begun(), None);
        push(&mut editor, b"ye");
        assert_eq!(editor.take_begun().as_deref(), Some("ye"));
        assert_eq!(push(&mut editor, b"s\n"), [line("s")]);
        push(&mut editor, b"\x1b[200~a\ny");
        assert_eq!(editor.take_begun().as_deref(), Some("a\ny"));
        let early = |text: &str| KeyOutcome::Entry(TypedEntry::Early(text.to_owned()));
        assert_eq!(push(&mut editor, b"\ny\x1b[201~\ny\n"), [early("\ny"), line("y")]);
        push(&mut editor, b"\x1b[20");
        assert_eq!(editor.take_begun(), None);
        assert_eq!(push(&mut editor, b"0~a\ny\x1b[201~\ny\n"), [early("a\ny"), line("y")]);
        push(&mut editor, "\u{e9}".as_bytes().split_at(1).0);
        assert_eq!(editor.take_begun(), None);
        assert_eq!(push(&mut editor, b"y\n"), [line("y")]);
    }
}
