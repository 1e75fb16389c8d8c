//! The short way for plain lines: words, simple quotes, `&&`, `||`, `;`, `|` and the commonest redirections.
//!
//! It builds the tree that the grammar would, in a fraction of the time, and gives up at the first thing that it
//! doesn't know. A test holds the two together.

use super::tree::{Assignment, Join, Redirect, RedirectKind, ShellNode, Simple};

/// Words that mean something to the shell where a command begins.
const RESERVED: [&str; 23] = [
    "if", "then", "else", "elif", "fi", "do", "done", "case", "esac", "while", "until", "for", "in", "select",
    "function", "time", "coproc", "{", "}", "!", "[[", "]]", "declare",
];

/// Words that take assignments as operands, which the grammar reads in its own way.
const DECLARING: [&str; 5] = ["declare", "typeset", "local", "export", "readonly"];

/// The tree of a plain line; nothing for any other.
pub(super) fn parse(line: &str) -> Option<ShellNode> {
    if line.len() > 1_024 {
        return None;
    }
    let mut lexer = PlainLexer { text: line, bytes: line.as_bytes(), at: 0 };
    let mut sequence: Vec<ShellNode> = Vec::new();
    let mut chain: Option<(ShellNode, Vec<(Join, ShellNode)>)> = None;
    let mut join: Option<Join> = None;
    let mut stages: Vec<ShellNode> = Vec::new();
    loop {
        let (simple, operator) = lexer.command()?;
        if simple == Simple::default() {
            // Nothing may follow the last `;`, and nothing else may be empty.
            return match (operator, join, stages.is_empty(), chain) {
                (ListOperator::End, None, true, None) if !sequence.is_empty() => {
                    Some(one_or(sequence, ShellNode::Sequence))
                }
                _ => None,
            };
        }
        stages.push(ShellNode::Simple(simple));
        if operator == ListOperator::Pipe {
            continue;
        }
        let pipeline = one_or(std::mem::take(&mut stages), ShellNode::Pipeline);
        match (&mut chain, join.take()) {
            (Some((_, rest)), Some(join)) => rest.push((join, pipeline)),
            (Some(_), None) => return None,
            (None, _) => chain = Some((pipeline, Vec::new())),
        }
        match operator {
            ListOperator::And => join = Some(Join::And),
            ListOperator::Or => join = Some(Join::Or),
            ListOperator::Then | ListOperator::End => {
                let (first, rest) = chain.take()?;
                sequence.push(if rest.is_empty() { first } else { ShellNode::AndOr(Box::new(first), rest) });
                if operator == ListOperator::End {
                    return Some(one_or(sequence, ShellNode::Sequence));
                }
            }
            ListOperator::Pipe => {}
        }
    }
}

fn one_or(mut nodes: Vec<ShellNode>, several: fn(Vec<ShellNode>) -> ShellNode) -> ShellNode {
    if nodes.len() == 1 { nodes.remove(0) } else { several(nodes) }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ListOperator {
    And,
    Or,
    Pipe,
    Then,
    End,
}

struct PlainLexer<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
}

impl<'a> PlainLexer<'a> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn skip_blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t')) {
            self.at += 1;
        }
    }

    /// True if `text` is next; goes past it if so.
    fn takes(&mut self, text: &str) -> bool {
        let is_next = self.bytes[self.at..].starts_with(text.as_bytes());
        if is_next {
            self.at += text.len();
        }
        is_next
    }

    fn command(&mut self) -> Option<(Simple, ListOperator)> {
        let mut simple = Simple::default();
        loop {
            self.skip_blanks();
            let Some(byte) = self.peek() else { return Some((simple, ListOperator::End)) };
            match byte {
                b'&' => return self.takes("&&").then_some((simple, ListOperator::And)),
                b'|' if self.takes("||") => return Some((simple, ListOperator::Or)),
                b'|' => {
                    self.at += 1;
                    return (self.peek() != Some(b'&')).then_some((simple, ListOperator::Pipe));
                }
                b';' => {
                    self.at += 1;
                    return (!matches!(self.peek(), Some(b';' | b'&'))).then_some((simple, ListOperator::Then));
                }
                b'<' | b'>' => {
                    let redirect = self.redirect(None)?;
                    simple.redirects.push(redirect);
                }
                b'#' => return None,
                _ => {
                    let word = self.word()?;
                    if word.bytes().all(|byte| byte.is_ascii_digit()) && matches!(self.peek(), Some(b'<' | b'>')) {
                        let fd = if word.len() == 1 { word.parse().ok()? } else { return None };
                        let redirect = self.redirect(Some(fd))?;
                        simple.redirects.push(redirect);
                    } else {
                        add(&mut simple, word)?;
                    }
                }
            }
        }
    }

    fn redirect(&mut self, fd: Option<i32>) -> Option<Redirect> {
        let kind = if self.takes(">>") {
            RedirectKind::Append
        } else if self.takes(">&") {
            RedirectKind::Duplicate
        } else if self.takes(">") {
            RedirectKind::Write
        } else if self.takes("<") {
            RedirectKind::Read
        } else {
            return None;
        };
        if matches!(self.peek(), Some(b'<' | b'>' | b'&' | b'|' | b'(' | b'-')) {
            return None;
        }
        self.skip_blanks();
        let word = self.word()?;
        (!word.is_empty()).then(|| Redirect { fd, kind: kind(word.to_owned()) })
    }

    /// The next word as typed; empty if something else is next.
    fn word(&mut self) -> Option<&'a str> {
        let begin = self.at;
        while let Some(byte) = self.peek() {
            match byte {
                b' ' | b'\t' | b'&' | b'|' | b';' | b'<' | b'>' => break,
                b'\'' => {
                    self.at += 1 + self.text[self.at + 1..].find('\'')?;
                }
                b'"' => self.double_quoted()?,
                b'$' => self.dollar()?,
                b'\\' => {
                    let next = *self.bytes.get(self.at + 1)?;
                    if !next.is_ascii_graphic() {
                        return None;
                    }
                    self.at += 1;
                }
                b'(' | b')' | b'`' | b'\n' | b'\r' | b'!' | 0..=31 | 127.. => return None,
                _ => {}
            }
            self.at += 1;
        }
        Some(&self.text[begin..self.at])
    }

    /// Goes to the quote that ends this one.
    fn double_quoted(&mut self) -> Option<()> {
        self.at += 1;
        loop {
            match self.peek()? {
                b'"' => return Some(()),
                b'\\' => {
                    if !self.bytes.get(self.at + 1)?.is_ascii_graphic() {
                        return None;
                    }
                    self.at += 1;
                }
                b'$' => self.dollar()?,
                b'`' | b'\n' | b'\r' | 0..=8 | 127.. => return None,
                _ => {}
            }
            self.at += 1;
        }
    }

    /// A name may follow, or nothing that could be one.
    fn dollar(&self) -> Option<()> {
        let next = self.bytes.get(self.at + 1).copied().unwrap_or(b' ');
        (next.is_ascii_alphanumeric() || b"_@?#$ .,:/".contains(&next)).then_some(())
    }
}

fn add(simple: &mut Simple, word: &str) -> Option<()> {
    let begins = simple.words.is_empty();
    // An index may hold spaces.
    if begins && (RESERVED.contains(&word) || (word.contains('[') && word != "[")) {
        return None;
    }
    let name = word.split('=').next().filter(|name| name.len() < word.len());
    let is_name = |name: &str| {
        name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
            && name.starts_with(|c: char| !c.is_ascii_digit())
    };
    match name {
        Some(name) if begins && is_name(name) => {
            let values = vec![word[name.len() + 1..].to_owned()];
            simple.assignments.push(Assignment {
                name: name.to_owned(),
                values,
                indexes: Vec::new(),
                is_plain: true,
                is_list: false,
            });
            return Some(());
        }
        // `a+=1`, `a[0]=1`: the grammar knows.
        Some(name) if begins && name.contains(['[', '+']) => return None,
        _ => {}
    }
    if begins && DECLARING.contains(&word) {
        return None;
    }
    simple.words.push(word.to_owned());
    Some(())
}
