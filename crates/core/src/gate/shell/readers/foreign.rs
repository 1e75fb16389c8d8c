//! The names in code of another language that stand where code stands, not in a text or a comment.
//!
//! Nothing here parses a language. The code is gone through from the left, as long as it is certain what is text and
//! what is code; from the first place on where it is not, every word counts as a name.
//!
//! Begin with [`names`].

use std::collections::HashSet;

use super::interpreters::is_harmful;
use crate::gate::shell::programs::Reader;

/// Every name in the code, without variables that the code sets itself; nothing if the code runs commands in its own
/// syntax.
pub(super) fn names(code: &str, reader: Reader) -> Option<Vec<String>> {
    let mut scan = CodeScan { code, reader, at: 0, before: '\n', word: "", names: Vec::new(), own: HashSet::new() };
    while let Some(c) = scan.rest().chars().next() {
        match scan.step(c) {
            Advance::On => {}
            Advance::Unsure => {
                let rest = scan.rest();
                scan.names.extend(words_of(rest).map(str::to_owned));
                break;
            }
            Advance::Runs => return None,
        }
    }
    let CodeScan { mut names, own, .. } = scan;
    // A variable of the code's own may hold anything that it names elsewhere, but its name says nothing.
    names.retain(|name| !own.contains(name.as_str()) || is_harmful(name));
    Some(names)
}

/// The place after a step.
enum Advance {
    /// It is certain what is text.
    On,
    /// From here on it is not certain what is text.
    Unsure,
    /// Here the code runs a command.
    Runs,
}

/// The way through code, as far as it is certain what is text.
struct CodeScan<'a> {
    code: &'a str,
    reader: Reader,
    at: usize,
    /// The last character that was no space.
    before: char,
    /// The last word, if nothing but spaces stands behind it.
    word: &'a str,
    names: Vec<String>,
    own: HashSet<&'a str>,
}

impl<'a> CodeScan<'a> {
    fn rest(&self) -> &'a str {
        &self.code[self.at..]
    }

    /// Goes on behind `length` bytes, which end with something like `last`.
    fn pass(&mut self, length: usize, last: char) -> Advance {
        self.at += length;
        self.before = last;
        self.word = "";
        Advance::On
    }

    fn step(&mut self, c: char) -> Advance {
        let rest = self.rest();
        let next = rest[c.len_utf8()..].chars().next().unwrap_or('\n');
        let is = |readers: &[Reader]| readers.contains(&self.reader);
        match c {
            '\'' | '"' => self.text(c),
            '`' if is(&[Reader::Node]) => self.text(c),
            '`' => Advance::Runs,
            // `$'`, `$"`, `$/`: variables; `$#x`: the number of the last element.
            '$' if is(&[Reader::Perl, Reader::Ruby]) && "'\"`/#;,|<>~".contains(next) => self.pass(2, 'a'),
            '#' => self.hash(next),
            '/' if is(&[Reader::Node, Reader::Perl, Reader::Ruby, Reader::Php]) => self.slash(next),
            '?' if is(&[Reader::Ruby, Reader::Perl]) && "'\"/#`".contains(next) => Advance::Unsure,
            '?' if is(&[Reader::Php]) && next == '>' => Advance::Unsure,
            '<' => self.less(next),
            '-' if is(&[Reader::Node]) && rest.starts_with("-->") => Advance::Unsure,
            '-' if is(&[Reader::Lua]) && next == '-' => Advance::Unsure,
            '[' if is(&[Reader::Lua]) && "[=".contains(next) => Advance::Unsure,
            '%' if is(&[Reader::Ruby]) => {
                let is_operator = self.before.is_alphanumeric() || "_)]}\"'".contains(self.before);
                if is_operator && next.is_whitespace() { self.pass(1, c) } else { Advance::Unsure }
            }
            // What is called has no name.
            '(' if matches!(self.before, ')' | ']' | '}' | '"' | '\'') => Advance::Runs,
            c if c.is_alphabetic() || c == '_' => self.name(),
            c if c.is_whitespace() => {
                self.at += c.len_utf8();
                if c == '\n' {
                    (self.before, self.word) = (c, "");
                }
                Advance::On
            }
            c => self.pass(c.len_utf8(), c),
        }
    }

    /// A text in quotes.
    fn text(&mut self, quote: char) -> Advance {
        let rest = self.rest();
        let triple = [quote; 3].iter().collect::<String>();
        let mark = if self.reader == Reader::Python && rest.starts_with(&triple) { 3 } else { 1 };
        let Some(length) = up_to(&rest[mark..], &rest[..mark]) else { return Advance::Unsure };
        let inside = &rest[mark..mark + length];
        let prefix = self.code[..self.at].rsplit(|c: char| !(c.is_alphanumeric() || c == '_')).next();
        let is_formatted = prefix.is_some_and(|prefix| prefix.len() <= 2 && prefix.contains(['f', 'F', 't', 'T']));
        let holds_code = match self.reader {
            Reader::Python => is_formatted && inside.contains('{'),
            Reader::Ruby => quote == '"' && inside.contains("#{"),
            Reader::Perl | Reader::Php => quote == '"' && ["@{", "${", "{$"].iter().any(|mark| inside.contains(mark)),
            Reader::Node => quote == '`' && inside.contains("${"),
            _ => false,
        };
        if holds_code {
            // Where a brace is open a quote may be one of the code's within.
            if inside.matches('{').count() != inside.matches('}').count() {
                return Advance::Unsure;
            }
            self.names.extend(words_of(inside).map(str::to_owned));
        }
        self.pass(mark + length + mark, quote)
    }

    /// `#`: a comment, in most languages.
    fn hash(&mut self, next: char) -> Advance {
        let stands_apart =
            self.at == 0 || self.code[..self.at].ends_with(|c: char| c.is_whitespace() || ";{}()".contains(c));
        match self.reader {
            // The length of something.
            Reader::Lua => self.pass(1, '#'),
            Reader::Node => Advance::Unsure,
            Reader::Php if next == '[' => self.pass(1, '#'),
            Reader::Perl if !stands_apart => Advance::Unsure,
            _ => self.comment(),
        }
    }

    fn comment(&mut self) -> Advance {
        let line = self.rest().split('\n').next().unwrap_or_default();
        if self.reader == Reader::Php && line.contains("?>") {
            return Advance::Unsure;
        }
        self.at += line.len();
        Advance::On
    }

    /// `/`: a comment, a regular expression or a division.
    fn slash(&mut self, next: char) -> Advance {
        let rest = self.rest();
        match (self.reader, next) {
            (Reader::Node | Reader::Php, '/') => return self.comment(),
            (Reader::Node | Reader::Php, '*') => {
                let Some(length) = rest[2..].find("*/") else { return Advance::Unsure };
                self.at += 2 + length + 2;
                return Advance::On;
            }
            (Reader::Php, _) => return self.pass(1, '/'),
            _ => {}
        }
        let words = [
            "if", "unless", "and", "or", "not", "split", "grep", "return", "while", "until", "when", "elsif", "typeof",
            "in", "of", "case",
        ];
        let is_regex = match self.word {
            "" => "(,=~{;:[!&|".contains(self.before) || self.names.is_empty() && self.before == '\n',
            word => words.contains(&word),
        };
        if !is_regex {
            let is_division = !rest[1..].contains('/');
            return if is_division { self.pass(1, '/') } else { Advance::Unsure };
        }
        let length = match self.reader {
            Reader::Node => up_to_slash(&rest[1..]),
            _ => up_to(&rest[1..], "/"),
        };
        let Some(length) = length.filter(|length| !rest[1..=*length].contains('\n')) else { return Advance::Unsure };
        if holds_code(&rest[1..=length]) {
            return Advance::Unsure;
        }
        let flags = rest[length + 2..].chars().take_while(char::is_ascii_alphabetic).count();
        self.pass(length + 2 + flags, ')')
    }

    /// `<`: a file that is read, or the beginning of a text of several lines.
    fn less(&mut self, next: char) -> Advance {
        let rest = self.rest();
        let begins_text = |from: usize| rest[from..].starts_with(|c: char| c.is_alphabetic() || "_\"'~-`".contains(c));
        match self.reader {
            Reader::Perl if !"=<".contains(next) => {
                match ["<>", "<STDIN>", "< "].iter().any(|known| rest.starts_with(known)) {
                    true => self.pass(1, '<'),
                    false => Advance::Runs,
                }
            }
            Reader::Perl | Reader::Ruby if next == '<' && begins_text(2) => Advance::Unsure,
            Reader::Php if rest.starts_with("<<<") => Advance::Unsure,
            Reader::Node if rest.starts_with("<!--") => Advance::Unsure,
            _ => self.pass(1, '<'),
        }
    }

    fn name(&mut self) -> Advance {
        let rest = self.rest();
        let length = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').map(char::len_utf8).sum();
        let (name, behind) = rest.split_at(length);
        let after = behind.trim_start();
        let has_sigil = "$@%".contains(self.before);
        let is_variable = matches!(self.reader, Reader::Perl | Reader::Php) && has_sigil;
        let is_prefix = self.reader == Reader::Python && length <= 2 && behind.starts_with(['"', '\'']);
        if self.reader == Reader::Perl {
            // `a'b` is an old way to write `a::b`.
            if behind.starts_with('\'') && behind[1..].starts_with(|c: char| c.is_alphabetic() || c == '_') {
                return Advance::Unsure;
            }
            let is_key = self.before == '{' && after.starts_with('}') || after.starts_with("=>");
            if !has_sigil
                && !is_key
                && self.before != '>'
                && let Some(step) = self.quoting(name, behind)
            {
                return step;
            }
            // A block is run; anything else is a file.
            if name == "do" && !after.starts_with('{') || name == "require" {
                self.names.push("require()".to_owned());
            }
        }
        if loads_by_value(self.reader, name, after) {
            self.names.push(format!("{name}()"));
        }
        self.at += length;
        if is_prefix || (is_variable && !after.starts_with('(') && !after.starts_with("->")) {
            (self.before, self.word) = ('a', "");
            return Advance::On;
        }
        let sets = after.starts_with('=') && !after.starts_with("==") && self.before != '.';
        let declares = ["for", "def", "function", "const", "let", "var", "as", "lambda", "local"];
        if sets || declares.contains(&self.word) {
            self.own.insert(name);
        }
        self.names.push(name.to_owned());
        (self.before, self.word) = ('a', name);
        Advance::On
    }

    /// `q`, `m`, `s` and their kind in Perl: texts and expressions between characters of one's choice.
    fn quoting(&mut self, operator: &str, behind: &str) -> Option<Advance> {
        let parts = match operator {
            "q" | "qq" | "qw" | "m" | "qr" => 1,
            "s" | "tr" | "y" => 2,
            "qx" => {
                self.names.push("qx()".to_owned());
                return Some(Advance::Unsure);
            }
            _ => return None,
        };
        let gap = behind.len() - behind.trim_start().len();
        let mut rest = behind.trim_start();
        let opening = rest.chars().next()?;
        if ",;)=".contains(opening) || opening.is_alphanumeric() || (opening == '#' && gap > 0) {
            return Some(Advance::Unsure);
        }
        let mark = opening.to_string();
        let mut sections = Vec::new();
        for part in 0..parts {
            let (inside, behind) = match closing(opening) {
                Some(_) => {
                    rest = rest.trim_start();
                    let opening = rest.chars().next()?;
                    let Some(length) = closing(opening).and_then(|closing| nested(&rest[1..], opening, closing)) else {
                        return Some(Advance::Unsure);
                    };
                    (&rest[1..=length], &rest[length + 2..])
                }
                None => {
                    let text = if part == 0 { &rest[mark.len()..] } else { rest };
                    let Some(length) = up_to(text, &mark) else { return Some(Advance::Unsure) };
                    (&text[..length], &text[length + mark.len()..])
                }
            };
            sections.push(inside);
            rest = behind;
        }
        let flags: String = rest.chars().take_while(char::is_ascii_alphabetic).collect();
        let is_text = matches!(operator, "q" | "qw");
        for (number, section) in sections.into_iter().enumerate() {
            let is_run = operator == "s" && number == 1 && flags.contains('e');
            // What the replacement gives is run in turn, or runs something itself.
            if is_run && (flags.matches('e').count() > 1 || section.contains('`')) {
                self.names.push("eval()".to_owned());
            }
            if is_run || (!is_text && holds_code(section)) {
                self.names.extend(words_of(section).map(str::to_owned));
            }
        }
        let flags = if matches!(operator, "q" | "qq" | "qw") { 0 } else { flags.len() };
        self.at = self.code.len() - rest.len() + flags;
        (self.before, self.word) = (')', "");
        Some(Advance::On)
    }
}

/// Returns whether a name loads a file that is named by more than a text as it stands.
fn loads_by_value(reader: Reader, name: &str, after: &str) -> bool {
    let argument = after.strip_prefix('(').map_or(after, str::trim_start);
    let is_text = argument.starts_with(['"', '\'']);
    match (reader, name) {
        (Reader::Node, "require") => !(after.starts_with('(') && is_text),
        (Reader::Ruby, "require" | "require_relative") => !is_text,
        (Reader::Ruby, "load") | (Reader::Php, "require" | "require_once" | "include" | "include_once") => true,
        // The function itself, handed on; or its arguments, spread.
        (Reader::Python, "open") => !after.starts_with('(') || argument.starts_with('*'),
        _ => false,
    }
}

/// Returns whether a text or an expression has code in it that is run.
fn holds_code(text: &str) -> bool {
    ["@{", "${", "#{", "(?{", "(??{"].iter().any(|mark| text.contains(mark))
}

/// Returns the distance to `mark`, which no backslash stands before.
fn up_to(text: &str, mark: &str) -> Option<usize> {
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        if text[at..].starts_with(mark) {
            return Some(at);
        }
        at += c.len_utf8();
        if c == '\\' {
            at += text[at..].chars().next()?.len_utf8();
        }
    }
    None
}

/// Returns the distance to the end of a regular expression of JavaScript: within a set a slash ends nothing.
fn up_to_slash(text: &str) -> Option<usize> {
    let mut in_set = false;
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => drop(chars.next()),
            '[' => in_set = true,
            ']' => in_set = false,
            '/' if !in_set => return Some(at),
            _ => {}
        }
    }
    None
}

fn closing(opening: char) -> Option<char> {
    Some(match opening {
        '(' => ')',
        '[' => ']',
        '{' => '}',
        '<' => '>',
        _ => return None,
    })
}

/// Returns the distance to `closing`, with pairs of both within.
fn nested(text: &str, opening: char, closing: char) -> Option<usize> {
    let mut depth = 0;
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => drop(chars.next()),
            c if c == opening => depth += 1,
            c if c == closing && depth == 0 => return Some(at),
            c if c == closing => depth -= 1,
            _ => {}
        }
    }
    None
}

/// The words of a text.
pub(super) fn words_of(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_alphanumeric() || c == '_'))
        .filter(|word| word.starts_with(|c: char| c.is_alphabetic() || c == '_'))
}
