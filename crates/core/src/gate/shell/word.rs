//! Reads a raw word: which parts are text, and which are put in by the shell when it runs.
//!
//! In: a word as typed. Out: its [`WordPiece`]s, in order; nothing if it can't be read. Nothing is looked up and
//! nothing runs: that is `expand.rs`'s.

use super::{Dialect, lexer};

/// The greatest depth to which quotes and substitutions may lie in one another.
const NESTING_MAX: u32 = 12;
/// The most words that one brace expansion may give; beyond, the word counts as one that can't be known.
const BRACES_MAX: usize = 64;
/// The longest word whose braces are expanded, in bytes.
const BRACED_BYTES_MAX: usize = 2_048;

/// A part of a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum WordPiece {
    /// Text as it stands, and whether it was quoted.
    Text(String, Quoted),
    /// A character that matches file names.
    Glob(char),
    /// `~` or `~user` at the beginning: the user.
    Tilde(String),
    /// `$name`, `${name...}`: the name, what follows it in the braces, and whether it is quoted.
    Parameter { name: String, rest: String, quoted: Quoted },
    /// `$( .. )` and backticks: the command.
    Command(String, Quoted),
    /// `$(( .. ))`: the expression.
    Arithmetic(String),
    /// `<( .. )` and `>( .. )` within a word.
    Process(String),
}

/// The quoting of a part: a quoted part is never split and never a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Quoted {
    /// It does.
    Yes,
    /// It does not.
    No,
}

/// The surroundings of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Within {
    Nothing,
    DoubleQuotes,
    HereDocument,
}

/// The pieces of a word.
pub(super) fn pieces(raw: &str, dialect: Dialect) -> Option<Vec<WordPiece>> {
    let mut scan = WordScanner::new(raw, dialect);
    scan.tilde();
    scan.all(Within::Nothing, 0)?;
    Some(scan.pieces)
}

/// The pieces of a here-document's text, in which quotes are text.
pub(super) fn here_pieces(raw: &str, dialect: Dialect) -> Option<Vec<WordPiece>> {
    let mut scan = WordScanner::new(raw, dialect);
    scan.all(Within::HereDocument, 0)?;
    Some(scan.pieces)
}

/// The commands of a word that is a process substitution and nothing else.
pub(super) fn process(raw: &str, dialect: Dialect) -> Option<&str> {
    let inside = raw.strip_prefix("<(").or(raw.strip_prefix(">("))?;
    let end = lexer::commands_end(inside, 0, dialect)?;
    (end + 1 == inside.len()).then_some(&inside[..end])
}

/// True if a word is nothing but text that the shell leaves alone.
pub(super) fn is_plain(raw: &str) -> bool {
    !raw.is_empty() && raw.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-./=:,+@%^".contains(&byte))
}

struct WordScanner<'a> {
    text: &'a str,
    at: usize,
    dialect: Dialect,
    pieces: Vec<WordPiece>,
}

impl<'a> WordScanner<'a> {
    fn new(text: &'a str, dialect: Dialect) -> Self {
        Self { text, at: 0, dialect, pieces: Vec::new() }
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn next(&mut self) -> Option<char> {
        let next = self.rest().chars().next()?;
        self.at += next.len_utf8();
        Some(next)
    }

    fn push(&mut self, text: &str, quoted: Quoted) {
        match self.pieces.last_mut() {
            Some(WordPiece::Text(last, before)) if *before == quoted => last.push_str(text),
            _ => self.pieces.push(WordPiece::Text(text.to_owned(), quoted)),
        }
    }

    fn tilde(&mut self) {
        if let Some(rest) = self.text.strip_prefix('~') {
            let user: String = rest.chars().take_while(|c| c.is_ascii_alphanumeric() || "._-+".contains(*c)).collect();
            let after = rest[user.len()..].chars().next();
            if matches!(after, None | Some('/')) {
                self.at = 1 + user.len();
                self.pieces.push(WordPiece::Tilde(user));
            }
        }
    }

    /// Reads on to the end of the text, or of the double quotes that it began in.
    fn all(&mut self, within: Within, depth: u32) -> Option<()> {
        if depth > NESTING_MAX {
            return None;
        }
        let quoted = if within == Within::Nothing { Quoted::No } else { Quoted::Yes };
        while let Some(c) = self.next() {
            match (c, within) {
                ('"', Within::DoubleQuotes) => return Some(()),
                ('\\', _) => self.escape(within),
                ('$', _) => self.dollar(within, depth)?,
                ('`', _) => {
                    let command = self.backquoted(within)?;
                    self.pieces.push(WordPiece::Command(command, quoted));
                }
                ('\'', Within::Nothing) => {
                    let end = self.rest().find('\'')?;
                    let text = &self.rest()[..end];
                    self.at += end + 1;
                    self.push(text, Quoted::Yes);
                }
                ('"', Within::Nothing) => {
                    self.push("", Quoted::Yes);
                    self.all(Within::DoubleQuotes, depth + 1)?;
                }
                ('<' | '>', Within::Nothing) if self.rest().starts_with('(') => {
                    self.at += 1;
                    let end = lexer::commands_end(self.text, self.at, self.dialect)?;
                    let command = self.text[self.at..end].to_owned();
                    self.at = end + 1;
                    self.pieces.push(WordPiece::Process(command));
                }
                ('*' | '?' | '[', Within::Nothing) => self.pieces.push(WordPiece::Glob(c)),
                _ => self.push(c.encode_utf8(&mut [0; 4]), quoted),
            }
        }
        // Open quotes never end here: the line could not have been read.
        (within != Within::DoubleQuotes).then_some(())
    }

    fn escape(&mut self, within: Within) {
        let Some(next) = self.next() else {
            self.push("\\", Quoted::Yes);
            return;
        };
        let is_special = match within {
            Within::Nothing => true,
            Within::DoubleQuotes => "$`\"\\\n".contains(next),
            Within::HereDocument => "$`\\\n".contains(next),
        };
        match (next, is_special) {
            ('\n', true) => {}
            (next, true) => self.push(next.encode_utf8(&mut [0; 4]), Quoted::Yes),
            (next, false) => {
                self.push("\\", Quoted::Yes);
                self.push(next.encode_utf8(&mut [0; 4]), Quoted::Yes);
            }
        }
    }

    fn backquoted(&mut self, within: Within) -> Option<String> {
        let mut command = String::new();
        loop {
            match self.next()? {
                '`' => return Some(command),
                '\\' => match self.next()? {
                    c @ ('`' | '\\' | '$') => command.push(c),
                    '"' if within == Within::DoubleQuotes => command.push('"'),
                    c => command.extend(['\\', c]),
                },
                c => command.push(c),
            }
        }
    }

    fn dollar(&mut self, within: Within, depth: u32) -> Option<()> {
        let quoted = if within == Within::Nothing { Quoted::No } else { Quoted::Yes };
        let rest = self.rest();
        let first = rest.chars().next();
        if rest.starts_with("((")
            && let Some(end) = lexer::arithmetic_end(self.text, self.at + 2, self.dialect)
        {
            self.pieces.push(WordPiece::Arithmetic(self.text[self.at + 2..end].to_owned()));
            self.at = end + 2;
            return Some(());
        }
        match first {
            Some('(') => {
                let end = lexer::commands_end(self.text, self.at + 1, self.dialect)?;
                self.pieces.push(WordPiece::Command(self.text[self.at + 1..end].to_owned(), quoted));
                self.at = end + 1;
            }
            Some('{') => {
                let end = lexer::parameter_end(self.text, self.at + 1, self.dialect, quoted == Quoted::Yes)?;
                self.pieces.push(parameter(&self.text[self.at + 1..end], quoted));
                self.at = end + 1;
            }
            Some('[') => {
                let end = lexer::group_end(self.text, self.at + 1, '[', ']', self.dialect)?;
                self.pieces.push(WordPiece::Arithmetic(self.text[self.at + 1..end].to_owned()));
                self.at = end + 1;
            }
            Some('\'') if within == Within::Nothing && self.dialect == Dialect::Bash => {
                self.at += 1;
                let text = self.ansi_c()?;
                self.push(&text, Quoted::Yes);
            }
            Some('"') if within == Within::Nothing && self.dialect == Dialect::Bash => {
                self.at += 1;
                self.push("", Quoted::Yes);
                self.all(Within::DoubleQuotes, depth + 1)?;
            }
            // What `$'` is in sh differs from one sh to the next.
            Some('\'' | '"') if within == Within::Nothing => self.unknown(quoted),
            Some(c) if c.is_ascii_alphabetic() || c == '_' => {
                let len = rest.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count();
                self.at += len;
                self.pieces.push(WordPiece::Parameter { name: rest[..len].to_owned(), rest: String::new(), quoted });
            }
            Some(c) if c.is_ascii_digit() || "@*#?-$!".contains(c) => {
                self.at += 1;
                self.pieces.push(WordPiece::Parameter { name: c.to_string(), rest: String::new(), quoted });
            }
            _ => self.push("$", quoted),
        }
        Some(())
    }

    fn unknown(&mut self, quoted: Quoted) {
        self.pieces.push(WordPiece::Parameter { name: String::new(), rest: String::new(), quoted });
    }

    /// The text of `$'..'`, after its first quote.
    fn ansi_c(&mut self) -> Option<String> {
        let end = {
            let mut bytes = self.rest().bytes().enumerate();
            loop {
                match bytes.next()? {
                    (_, b'\\') => drop(bytes.next()?),
                    (at, b'\'') => break at,
                    _ => {}
                }
            }
        };
        let text = escapes(&self.rest()[..end])?;
        self.at += end + 1;
        Some(text)
    }
}

/// A text with the escapes of `$'..'`, `printf` and `echo -e` decoded; nothing if it is no text afterwards.
pub(super) fn escapes(given: &str) -> Option<String> {
    let mut bytes: Vec<u8> = Vec::with_capacity(given.len());
    let mut rest = given;
    while let Some(at) = rest.find('\\') {
        bytes.extend(&rest.as_bytes()[..at]);
        rest = &rest[at + 1..];
        let Some(kind) = rest.chars().next() else {
            bytes.push(b'\\');
            break;
        };
        let number = |from: usize, most: usize, radix: u32| {
            let digits = rest.as_bytes()[from..].iter().take(most).take_while(|b| char::from(**b).is_digit(radix));
            let len = digits.count();
            (u32::from_str_radix(&rest[from..from + len], radix).ok(), from + len)
        };
        let (byte, used) = match kind {
            'a' => (Some(7), 1),
            'b' => (Some(8), 1),
            'e' | 'E' => (Some(27), 1),
            'f' => (Some(12), 1),
            'n' => (Some(10), 1),
            'r' => (Some(13), 1),
            't' => (Some(9), 1),
            'v' => (Some(11), 1),
            '\\' | '\'' | '"' | '?' => (u32::from(kind).into(), 1),
            'x' => number(1, 2, 16),
            // `echo -e` wants a zero and three digits, `$'..'` and `printf` take it for one of three: where they
            // disagree, nobody knows.
            '0'..='7' => number(0, if kind == '0' { 4 } else { 3 }, 8),
            'u' | 'U' => {
                let (code, used) = number(1, if kind == 'u' { 4 } else { 8 }, 16);
                // A zero ends the text in `$'..'`.
                let c = code.and_then(char::from_u32).filter(|c| *c != '\0')?;
                bytes.extend(c.encode_utf8(&mut [0; 4]).as_bytes());
                rest = &rest[used..];
                continue;
            }
            // Control characters and the end of output: nobody needs them.
            'c' => return None,
            other => {
                bytes.push(b'\\');
                bytes.extend(other.encode_utf8(&mut [0; 4]).as_bytes());
                rest = &rest[other.len_utf8()..];
                continue;
            }
        };
        let byte = byte? & 0xff;
        if byte == 0 || kind == '0' && used > 3 {
            return None;
        }
        bytes.push(u8::try_from(byte).ok()?);
        rest = &rest[used..];
    }
    bytes.extend(rest.as_bytes());
    String::from_utf8(bytes).ok()
}

fn parameter(inside: &str, quoted: Quoted) -> WordPiece {
    let head = inside.strip_prefix(['#', '!']).filter(|rest| !rest.is_empty());
    if let Some(rest) = head {
        // A length, an indirection or a list of names: never known.
        return WordPiece::Parameter { name: String::new(), rest: rest.to_owned(), quoted };
    }
    let len = inside.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count();
    let len = if len == 0 { inside.chars().next().map_or(0, char::len_utf8) } else { len };
    WordPiece::Parameter { name: inside[..len].to_owned(), rest: inside[len..].to_owned(), quoted }
}

/// The words that `{a,b}` and `{1..3}` make of a word; nothing if they are too many. A word without braces is itself.
pub(super) fn braces(raw: &str) -> Option<Vec<String>> {
    if !raw.contains('{') {
        return Some(vec![raw.to_owned()]);
    }
    if raw.len() > BRACED_BYTES_MAX {
        return None;
    }
    let mut done = Vec::new();
    let mut open = vec![raw.to_owned()];
    let mut steps = 0;
    while let Some(word) = open.pop() {
        steps += 1;
        if steps > 4 * BRACES_MAX || open.len() + done.len() > BRACES_MAX {
            return None;
        }
        match first_braces(&word)? {
            None => done.push(word),
            Some((before, parts, after)) => {
                open.extend(parts.iter().rev().map(|part| format!("{before}{part}{after}")));
            }
        }
    }
    Some(done)
}

type Braces<'a> = (&'a str, Vec<String>, &'a str);

/// The last byte of the quotes or the substitution that begin at `at`.
fn past(word: &str, at: usize) -> Option<usize> {
    let bytes = word.as_bytes();
    match (bytes[at], bytes.get(at + 1)) {
        (b'"', _) => lexer::quotes_end(word, at + 1, Dialect::Bash),
        (b'`', _) => closing_backquote(word, at + 1),
        (b'$', Some(b'{')) => lexer::parameter_end(word, at + 2, Dialect::Bash, false),
        (b'$', Some(b'(')) => (bytes.get(at + 2) == Some(&b'('))
            .then(|| lexer::arithmetic_end(word, at + 3, Dialect::Bash))
            .flatten()
            .map(|end| end + 1)
            .or_else(|| lexer::commands_end(word, at + 2, Dialect::Bash)),
        (b'$', Some(b'\'')) => {
            let mut end = at + 2;
            while *bytes.get(end)? != b'\'' {
                end += if bytes[end] == b'\\' { 2 } else { 1 };
            }
            Some(end)
        }
        _ => Some(at),
    }
}

fn closing_backquote(text: &str, from: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = from;
    loop {
        match *bytes.get(at)? {
            b'`' => return Some(at),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

/// The first braces of a word that expand: what stands before, the parts, what stands after. The outer nothing: a
/// word that can't be read.
fn first_braces(word: &str) -> Option<Option<Braces<'_>>> {
    let bytes = word.as_bytes();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'\\' => at += 1,
            b'\'' => at += word.get(at + 1..)?.find('\'')? + 1,
            b'"' | b'`' | b'$' => at = past(word, at)?,
            b'{' => {
                if let Some((parts, end)) = brace_parts(word, at + 1) {
                    return Some(Some((&word[..at], parts, &word[end + 1..])));
                }
            }
            _ => {}
        }
        at += 1;
    }
    Some(None)
}

/// The parts of the braces that open before `from`, and where they close.
fn brace_parts(word: &str, from: usize) -> Option<(Vec<String>, usize)> {
    let bytes = word.as_bytes();
    let mut commas = Vec::new();
    let mut open = 0;
    let mut at = from;
    let end = loop {
        match bytes.get(at)? {
            b'\\' => at += 1,
            b'\'' => at += word.get(at + 1..)?.find('\'')? + 1,
            b'"' | b'`' | b'$' => at = past(word, at)?,
            b'{' => open += 1,
            b'}' if open == 0 => break at,
            b'}' => open -= 1,
            b',' if open == 0 => commas.push(at),
            _ => {}
        }
        at += 1;
    };
    if commas.is_empty() {
        return sequence_parts(&word[from..end]).map(|parts| (parts, end));
    }
    let mut parts = Vec::new();
    let mut begin = from;
    for comma in commas.into_iter().chain([end]) {
        parts.push(word[begin..comma].to_owned());
        begin = comma + 1;
    }
    Some((parts, end))
}

fn sequence_parts(inside: &str) -> Option<Vec<String>> {
    let (first, rest) = inside.split_once("..")?;
    let (last, step) = rest.split_once("..").unwrap_or((rest, "1"));
    let step = step.parse::<i64>().ok()?.unsigned_abs().max(1);
    let count_from = |first: i64, last: i64| {
        let step = i64::try_from(step).ok()?;
        let count = (first.abs_diff(last) / step.unsigned_abs()).min(2 * BRACES_MAX as u64);
        let signed = if first <= last { step } else { -step };
        (0..=i64::try_from(count).ok()?).map(|n| first.checked_add(signed.checked_mul(n)?)).collect::<Option<Vec<_>>>()
    };
    if let (Ok(first), Ok(last)) = (first.parse::<i64>(), last.parse::<i64>()) {
        return Some(count_from(first, last)?.into_iter().map(|number| number.to_string()).collect());
    }
    let letter = |text: &str| {
        let mut chars = text.chars();
        chars.next().filter(|c| chars.next().is_none() && c.is_ascii_alphabetic())
    };
    let (first, last) = (letter(first)?, letter(last)?);
    let codes = count_from(i64::from(u32::from(first)), i64::from(u32::from(last)))?;
    Some(codes.into_iter().filter_map(|code| u8::try_from(code).ok()).map(|b| char::from(b).to_string()).collect())
}
