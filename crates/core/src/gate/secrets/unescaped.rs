//! Text as its reader would see it: escapes decoded, what can't be seen left out, and the way back.
//!
//! In: any text. Out: the same with `\u0041`, `\x41`, `&#65;`, `%41` and the like as the characters they stand for,
//! and without colours, zero-width characters, and line ends that are to be ignored (`\` or `=` before them). Only
//! looked at, never given on: what is found in it is masked in the text itself, by [`Unescaped::original`].
//!
//! Begin with [`Unescaped::of`]; what one escape is, is in [`element`].

use std::ops::Range;

use crate::words::invisible::is_invisible;

/// The longest escape sequence of a terminal that is one; what is longer is text.
const SEQUENCE_BYTES_MAX: usize = 1024;
/// The longest of all other escapes.
pub(super) const ESCAPE_BYTES_MAX: usize = 64;

/// The character that a byte which is not ASCII is decoded to: no secret we know has one.
const OTHER: char = '\u{fffd}';

/// The named character references that a secret may be written with.
const NAMED: [(&str, char); 23] = [
    ("lowbar", '_'),
    ("UnderBar", '_'),
    ("hyphen", '-'),
    ("dash", '-'),
    ("period", '.'),
    ("sol", '/'),
    ("plus", '+'),
    ("equals", '='),
    ("colon", ':'),
    ("commat", '@'),
    ("quot", '"'),
    ("apos", '\''),
    ("NewLine", '\n'),
    ("Tab", '\t'),
    ("nbsp", '\u{a0}'),
    ("shy", '\u{ad}'),
    ("ZeroWidthSpace", '\u{200b}'),
    ("zwnj", '\u{200c}'),
    ("zwj", '\u{200d}'),
    ("lrm", '\u{200e}'),
    ("rlm", '\u{200f}'),
    ("NoBreak", '\u{2060}'),
    ("InvisibleTimes", '\u{2062}'),
];

/// The names by which Python and Perl know what a secret may be written with.
const CHARACTERS: [(&str, char); 8] = [
    ("LOW LINE}", '_'),
    ("HYPHEN-MINUS}", '-'),
    ("FULL STOP}", '.'),
    ("SOLIDUS}", '/'),
    ("PLUS SIGN}", '+'),
    ("EQUALS SIGN}", '='),
    ("COLON}", ':'),
    ("COMMERCIAL AT}", '@'),
];

/// A text as it is read, piece by piece of what it is made from.
#[derive(Debug, Default)]
pub(super) struct Unescaped {
    /// The text as it is read.
    pub(super) text: String,
    /// End of the decided part of the original: an escape that has not ended yet is not decided.
    pub(super) read_to: usize,
    pieces: Vec<DecodedPiece>,
}

/// A piece of the text: as it stands in the original, or what an escape stands for.
#[derive(Debug)]
struct DecodedPiece {
    at: usize,
    original: Range<usize>,
    is_escape: bool,
}

/// The element that begins at a byte.
#[derive(Debug, PartialEq, Eq)]
enum Element {
    /// Nothing but the byte itself.
    Text,
    /// Not enough text to tell.
    Undecided,
    /// So many bytes that are not read at all.
    Nothing(usize),
    /// So many bytes that are read as one character.
    Character(usize, char),
}

/// True for each byte that may begin an escape: few in most texts.
static BEGINS: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        let c = byte as u8;
        table[byte] = (c < b' ' && !matches!(c, b'\t' | b'\n' | b'\r'))
            || matches!(
                c,
                0x7f | b'\\' | b'&' | b'%' | b'=' | b'^' | 0xc2 | 0xcd | 0xd8 | 0xe1..=0xe3 | 0xef | 0xf0 | 0xf3
            );
        byte += 1;
    }
    table
};

/// True if `text` has escapes, so that it reads otherwise than it stands.
pub(super) fn has_escapes(text: &str) -> bool {
    let bytes = text.as_bytes();
    let is_escape = |at: usize| !matches!(element(text, at, true), Element::Text);
    let mut at = 0;
    while let Some(found) = bytes[at..].iter().position(|byte| BEGINS[usize::from(*byte)]) {
        if is_escape(at + found) {
            return true;
        }
        at += found + 1;
    }
    false
}

impl Unescaped {
    /// Reads `text`; all of it if this is the `last` of it.
    pub(super) fn of(text: &str, last: bool) -> Self {
        let bytes = text.as_bytes();
        let mut read = Self { text: String::with_capacity(text.len()), ..Self::default() };
        let (mut from, mut at) = (0, 0);
        while at < bytes.len() {
            if !BEGINS[usize::from(bytes[at])] {
                at += 1;
                continue;
            }
            let (length, character) = match element(text, at, last) {
                Element::Text => {
                    at += 1;
                    continue;
                }
                Element::Undecided => break,
                Element::Nothing(length) => (length, None),
                Element::Character(length, character) => (length, Some(character)),
            };
            read.add_text(text, from..at);
            read.pieces.push(DecodedPiece { at: read.text.len(), original: at..at + length, is_escape: true });
            read.text.extend(character);
            at += length;
            from = at;
        }
        read.add_text(text, from..at);
        read.read_to = at;
        read
    }

    fn add_text(&mut self, text: &str, original: Range<usize>) {
        if !original.is_empty() {
            self.pieces.push(DecodedPiece { at: self.text.len(), original: original.clone(), is_escape: false });
            self.text.push_str(&text[original]);
        }
    }

    /// Returns the original's range for a range of the text, escapes within it included.
    pub(super) fn original(&self, range: &Range<usize>) -> Range<usize> {
        self.start(range.start)..self.end(range.end)
    }

    /// Returns the start, in the original, of the element read at `at`.
    pub(super) fn start(&self, at: usize) -> usize {
        match self.piece(at) {
            Some(piece) if at < self.text.len() && piece.is_escape => piece.original.start,
            Some(piece) if at < self.text.len() => piece.original.start + (at - piece.at),
            Some(_) | None => self.read_to,
        }
    }

    /// Returns the end, in the original, of the element that ends at `at`.
    pub(super) fn end(&self, at: usize) -> usize {
        match at.checked_sub(1).and_then(|last| self.piece(last)) {
            Some(piece) if piece.is_escape => piece.original.end,
            Some(piece) => piece.original.start + (at - piece.at),
            None => 0,
        }
    }

    /// Returns the place in the text at which the original's byte at `original` is read.
    pub(super) fn read_at(&self, original: usize) -> usize {
        let after = self.pieces.partition_point(|piece| piece.original.end <= original);
        match self.pieces.get(after) {
            Some(piece) if piece.is_escape => piece.at,
            Some(piece) => piece.at + original.saturating_sub(piece.original.start),
            None => self.text.len(),
        }
    }

    /// The piece that has what is read at `at`: of several that begin there the last, since the others are empty.
    fn piece(&self, at: usize) -> Option<&DecodedPiece> {
        let after = self.pieces.partition_point(|piece| piece.at <= at);
        after.checked_sub(1).and_then(|index| self.pieces.get(index))
    }
}

fn element(text: &str, at: usize, last: bool) -> Element {
    let rest = &text.as_bytes()[at..];
    let short = &rest[..rest.len().min(ESCAPE_BYTES_MAX)];
    // What ends the text may go on, unless it is longer than any escape already.
    let may_go_on = !last && rest.len() < ESCAPE_BYTES_MAX;
    match rest[0] {
        b'\\' => backslash(short, rest, may_go_on),
        b'%' => percent(short, may_go_on),
        b'&' => reference(short, may_go_on),
        b'=' => match line_end(&rest[1..], may_go_on) {
            Some(0) => quoted_printable(short, may_go_on),
            Some(length) => Element::Nothing(1 + length),
            None => Element::Undecided,
        },
        b'^' => caret(short, may_go_on),
        0x1b => sequence(rest, 1, last),
        byte if byte.is_ascii() => Element::Nothing(1),
        _ => match text[at..].chars().next() {
            Some('\u{9b}') => sequence(rest, '\u{9b}'.len_utf8(), last),
            Some(c) if is_invisible(c) => Element::Nothing(c.len_utf8()),
            Some(_) | None => Element::Text,
        },
    }
}

/// The length of the line end that `rest` begins with; `None` if that can't be told yet.
fn line_end(rest: &[u8], may_go_on: bool) -> Option<usize> {
    match rest {
        [] | [b'\r'] if may_go_on => None,
        [b'\n', ..] => Some(1),
        [b'\r', b'\n', ..] => Some(2),
        _ => Some(0),
    }
}

/// A byte as mail writes it: `=5F`.
fn quoted_printable(short: &[u8], may_go_on: bool) -> Element {
    let digits = short.iter().skip(1).take(2).take_while(|byte| matches!(byte, b'0'..=b'9' | b'A'..=b'F')).count();
    if digits < 2 && short.len() == 1 + digits && may_go_on {
        return Element::Undecided;
    }
    match number(&short[1..], 2..=2, 16, false) {
        Ok((2, code @ 0x20..=0x7e)) if digits == 2 => decoded(3, code),
        Ok(_) | Err(_) => Element::Text,
    }
}

/// Control characters as `cat -v` and terminals write them: colours, zero bytes and the first half of a line end.
fn caret(short: &[u8], may_go_on: bool) -> Element {
    match short.get(1) {
        None if may_go_on => Element::Undecided,
        Some(b'@') => Element::Nothing(2),
        Some(b'M') => match short.get(2) {
            None if may_go_on => Element::Undecided,
            Some(b'\n' | b'\r') => Element::Nothing(2),
            Some(_) | None => Element::Text,
        },
        Some(b'[') => {
            let body = short.get(2..).unwrap_or_default();
            let is_part = |byte: &u8| matches!(byte, b'0'..=b'9' | b';' | b'?');
            let length = body.iter().skip(1).take_while(|byte| is_part(byte)).count();
            match (body.first(), body.get(1 + length)) {
                (None, _) | (Some(b'['), None) if may_go_on => Element::Undecided,
                (Some(b'['), Some(b'm' | b'K' | b'J' | b'H' | b'h' | b'l')) => Element::Nothing(4 + length),
                _ => Element::Text,
            }
        }
        Some(_) | None => Element::Text,
    }
}

/// A character as style sheets write it: `\\5f ` or `\\00005f`. `digits` are behind the backslashes.
fn css(digits: &[u8], may_go_on: bool) -> Result<(usize, u32), Element> {
    let (length, code) = number(digits, 2..=6, 16, may_go_on)?;
    match digits.get(length) {
        _ if !matches!(code, 0x20..=0x7e) => Err(Element::Text),
        // Three digits are octal.
        _ if length == 3 => Err(Element::Text),
        _ if length == 6 => Ok((length, code)),
        None if may_go_on => Err(Element::Undecided),
        Some(b' ') => Ok((length + 1, code)),
        Some(_) | None => Err(Element::Text),
    }
}

/// Escapes of JSON, of programming languages, of shells and of Markdown, written once or several times over.
fn backslash(short: &[u8], rest: &[u8], may_go_on: bool) -> Element {
    let slashes = short.iter().take_while(|byte| **byte == b'\\').count();
    let Some(letter) = short.get(slashes) else {
        return if may_go_on { Element::Undecided } else { Element::Text };
    };
    let after = &short[slashes + 1..];
    let hexadecimal = |digits: usize| number(after, digits..=digits, 16, may_go_on);
    let (length, code) = match letter {
        b'u' | b'x' if after.first() == Some(&b'{') => match number(&after[1..], 1..=6, 16, may_go_on) {
            Ok((length, code)) if after.get(1 + length) == Some(&b'}') => (length + 2, code),
            Ok((length, _)) if after.len() == 1 + length && may_go_on => return Element::Undecided,
            Ok(_) => return Element::Text,
            Err(element) => return element,
        },
        b'u' | b'U' | b'x' => match hexadecimal(match letter {
            b'u' => 4,
            b'U' => 8,
            _ => 2,
        }) {
            Ok(found) => found,
            Err(element) => return element,
        },
        b'0'..=b'9' => match (css(&short[slashes..], may_go_on), number(&short[slashes..], 3..=3, 8, may_go_on)) {
            (Err(Element::Undecided), _) => return Element::Undecided,
            (Ok((length, code)), _) => (length - 1, code),
            (Err(_), Ok((length, code))) if *letter <= b'3' => (length - 1, code),
            (Err(_), Err(Element::Undecided)) if *letter <= b'3' => return Element::Undecided,
            (Err(_), _) => return Element::Text,
        },
        b'N' => {
            let name = after.strip_prefix(b"{").unwrap_or_default();
            let is_begun = |known: &str| after.is_empty() || (after[0] == b'{' && known.as_bytes().starts_with(name));
            match CHARACTERS.iter().find(|(known, _)| name.starts_with(known.as_bytes())) {
                Some((known, character)) => (1 + known.len(), u32::from(*character)),
                None if may_go_on && CHARACTERS.iter().any(|(known, _)| is_begun(known)) => return Element::Undecided,
                None => return Element::Text,
            }
        }
        b'e' | b'E' => (0, 0x1b),
        b'n' => (0, u32::from(b'\n')),
        b'r' => (0, u32::from(b'\r')),
        b't' => (0, u32::from(b'\t')),
        b'\n' | b'\r' if slashes == 1 => {
            return match line_end(&short[1..], may_go_on) {
                Some(0) => Element::Text,
                Some(length) => Element::Nothing(1 + length),
                None => Element::Undecided,
            };
        }
        b'/' | b'"' | b'\'' | b'`' | b'_' | b'-' | b'.' | b'+' | b'=' | b'~' | b'!' | b'@' | b'#' | b'$' | b'^'
        | b'*' | b':' => (0, u32::from(*letter)),
        _ => return Element::Text,
    };
    let length = slashes + 1 + length;
    match code {
        // The escape of a colour, as text: `\u001b[31m`.
        0x1b => match sequence(rest, length, !may_go_on) {
            Element::Text => Element::Nothing(length),
            decided => decided,
        },
        code => decoded(length, code),
    }
}

/// Bytes of an address, written once or several times over.
fn percent(short: &[u8], may_go_on: bool) -> Element {
    let mut at = 1;
    while short[at..].starts_with(b"25") {
        at += 2;
    }
    if short.get(at) == Some(&b'u') {
        return match number(&short[at + 1..], 4..=4, 16, may_go_on) {
            Ok((length, code)) => decoded(at + 1 + length, code),
            Err(Element::Text) if at > 1 => Element::Character(3, '%'),
            Err(element) => element,
        };
    }
    match number(&short[at..], 2..=2, 16, may_go_on) {
        Ok((length, code)) => decoded(at + length, code),
        // It is a percent sign itself that was written so.
        Err(Element::Text) if at > 1 => Element::Character(3, '%'),
        Err(element) => element,
    }
}

/// Characters of HTML and XML by number or name, the ampersand itself written so or not.
fn reference(short: &[u8], may_go_on: bool) -> Element {
    let mut at = 1;
    while short[at..].starts_with(b"amp;") {
        at += 4;
    }
    let rest = &short[at..];
    if rest.is_empty() && may_go_on {
        return Element::Undecided;
    }
    if let Some(rest) = rest.strip_prefix(b"#") {
        let (mark, base) =
            if rest.first().is_some_and(|byte| byte.eq_ignore_ascii_case(&b'x')) { (2, 16) } else { (1, 10) };
        return match number(&rest[mark - 1..], 1..=8, base, may_go_on) {
            Ok((length, code)) => {
                let end = at + mark + length;
                match short.get(end) {
                    Some(b';') => decoded(end + 1, code),
                    None if may_go_on => Element::Undecided,
                    Some(_) | None => decoded(end, code),
                }
            }
            Err(element) => element,
        };
    }
    let name = rest.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
    if name == rest.len() && may_go_on {
        return Element::Undecided;
    }
    let named = NAMED.iter().find(|(known, _)| known.as_bytes() == &rest[..name] && rest.get(name) == Some(&b';'));
    match named {
        Some((_, '\u{a0}')) => Element::Character(at + name + 1, '\u{a0}'),
        Some((_, character)) => decoded(at + name + 1, u32::from(*character)),
        None if at > 1 => Element::Character(5, '&'),
        None => Element::Text,
    }
}

/// Reads an escape sequence of terminals: CSI, OSC and the short ones. `at` is behind the escape character.
fn sequence(rest: &[u8], at: usize, last: bool) -> Element {
    let rest_len = rest.len().min(SEQUENCE_BYTES_MAX);
    let undecided = || if !last && rest.len() < SEQUENCE_BYTES_MAX { Element::Undecided } else { Element::Nothing(at) };
    let is_two_bytes = rest[0] == 0xc2;
    let (kind, from) = match rest.get(at) {
        _ if is_two_bytes => (b'[', at),
        Some(kind) => (*kind, at + 1),
        None => return undecided(),
    };
    let body = &rest[from.min(rest_len)..rest_len];
    match kind {
        b'[' => {
            let length = body.iter().take_while(|byte| matches!(byte, 0x20..=0x3f)).count();
            match body.get(length) {
                Some(0x40..=0x7e) => Element::Nothing(from + length + 1),
                Some(_) => Element::Nothing(at),
                None => undecided(),
            }
        }
        b']' | b'P' | b'X' | b'^' | b'_' => match body.iter().position(|byte| matches!(byte, 0x07 | 0x1b | b'\n')) {
            Some(end) if body[end] == 0x07 => Element::Nothing(from + end + 1),
            Some(end) if body[end] == 0x1b && body.get(end + 1) == Some(&b'\\') => Element::Nothing(from + end + 2),
            Some(end) if body[end] == 0x1b && body.len() == end + 1 => undecided(),
            Some(_) => Element::Nothing(at),
            None => undecided(),
        },
        0x20..=0x2f => match body.first() {
            Some(0x30..=0x7e) => Element::Nothing(from + 1),
            Some(_) => Element::Nothing(at),
            None => undecided(),
        },
        _ => Element::Nothing(at),
    }
}

/// The number that `bytes` begin with, of so many digits, and its length.
fn number(
    bytes: &[u8],
    digits: std::ops::RangeInclusive<usize>,
    base: u32,
    may_go_on: bool,
) -> Result<(usize, u32), Element> {
    let most = bytes.len().min(*digits.end());
    let length = bytes[..most].iter().take_while(|byte| char::from(**byte).is_digit(base)).count();
    if length == bytes.len() && length < *digits.end() && may_go_on {
        return Err(Element::Undecided);
    }
    let text = str::from_utf8(&bytes[..length]).unwrap_or_default();
    match u32::from_str_radix(text, base) {
        Ok(code) if length >= *digits.start() => Ok((length, code)),
        Ok(_) | Err(_) => Err(Element::Text),
    }
}

fn decoded(length: usize, code: u32) -> Element {
    match code {
        0xad => Element::Nothing(length),
        0x80..=0xff => Element::Character(length, OTHER),
        _ => match char::from_u32(code).unwrap_or(OTHER) {
            '\t' => Element::Character(length, '\t'),
            '\n' => Element::Character(length, '\n'),
            '\r' => Element::Character(length, '\r'),
            c if c.is_control() || is_invisible(c) => Element::Nothing(length),
            c => Element::Character(length, c),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::{Unescaped, has_escapes};

    #[track_caller]
    fn check(text: &str, read: &str) {
        let unescaped = Unescaped::of(text, true);
        assert_eq!((unescaped.text.as_str(), unescaped.read_to), (read, text.len()), "{text:?}");
        assert_eq!(has_escapes(text), text != read, "{text:?}");
        // However it is cut, what is decided reads the same.
        for cut in (0..text.len()).filter(|cut| text.is_char_boundary(*cut)) {
            let first = Unescaped::of(&text[..cut], false);
            let rest = Unescaped::of(&text[first.read_to..], true);
            assert_eq!(format!("{}{}", first.text, rest.text), read, "{text:?} cut at {cut}");
        }
    }

    #[test]
    fn escapes_read_as_what_they_stand_for() {
        for (text, read) in [
            ("", ""),
            ("plain = text & 100% \\ more\n", "plain = text & 100% \\ more\n"),
            (r"\u0041b\U00000041\x41\101", "AbAAA"),
            (r"\\u0041\\\\x41", "AA"),
            (r"\u{41}\x{0041}\u{}", r"AA\u{}"),
            (r"a\nb\tc\rd", "a\nb\tc\rd"),
            (r"a\/b\_c\-d\.e", "a/b_c-d.e"),
            ("a\\\nb\\\r\nc", "abc"),
            ("a=\nb=\r\nc=d", "abc=d"),
            ("%41%2f%2525%252F%25", "A/%25/%"),
            ("100%25", "100%"),
            ("&#65;&#x41;&#X41;&#0065&lowbar;&amp;#65;&amp;&nbsp;", "AAAA_A&\u{a0}"),
            ("g&shy;h&ZeroWidthSpace;p&amp;shy;_&nothing;", "ghp_&nothing;"),
            ("%u0067h%25u0070%u %u00 %25up", "ghp%u %u00 %up"),
            ("=67=68=70=5F x==2 y=5f z=10 =3D", "ghp_ x==2 y=5f z=10 ="),
            (r"\67 \68 p\00005fx \1 \12 \8 \ff \67", r"ghp_x \1 \12 \8 \ff \67"),
            (r"a\N{LOW LINE}b\\N{HYPHEN-MINUS}c\N{LATIN}", r"a_b-c\N{LATIN}"),
            ("g^[[31mh^[[0m^@p^M\n_ x^[y ^[[ x^M 2^8", "ghp\n_ x^[y ^[[ x^M 2^8"),
            ("a\u{1b}[1;31mb\u{1b}[0mc", "abc"),
            ("\u{9b}31mb\u{1b}(Bc\u{1b}]8;;http://x\u{7}d\u{1b}]0;t\u{1b}\\e", "bcde"),
            (r"a\u001b[31mb\x1b[0mc\e[1md\033[0me", "abcde"),
            ("g\0h\0p\u{8}", "ghp"),
            ("a\u{200b}b\u{ad}c\u{feff}d\u{e0041}e\u{3164}f\u{fe0f}", "abcdef"),
            (r"\ud83d\ude00é%C3%A9", "\u{fffd}\u{fffd}é\u{fffd}\u{fffd}"),
            (r"C:\projects\game", r"C:\projects\game"),
        ] {
            check(text, read);
        }
    }

    #[test]
    fn a_range_is_found_in_the_original_with_the_escapes_in_it() {
        let text = "x \u{1b}[1mg\u{1b}[0mh\\u0070_\u{1b}[m y";
        let read = Unescaped::of(text, true);
        let at = read.text.find("ghp_").expect("it is read");
        let range = read.original(&(at..at + 4));
        assert_eq!(&text[range.clone()], "g\u{1b}[0mh\\u0070_");
        assert_eq!(read.read_at(range.start), at);
        assert_eq!(read.start(read.text.len()), text.len());
    }
}
