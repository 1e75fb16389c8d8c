//! Splits a line into words and operators, as bash and dash do before their grammar begins.
//!
//! In: a line. Out: the parser's tokens. Comments and continued lines are gone, here-documents stand where the
//! parser wants them, and a word is kept as it was typed, with all that its quotes and substitutions hold. What ends
//! a substitution is told by reading what is in it, so that a `)` in a comment or a `case` closes nothing. Where two
//! shells, or the two passes of one, disagree about the end of something, the line counts as one that can't be read.
//!
//! Begin with [`tokens`]. [`word`](super::word) takes words apart with the same functions.

use std::cell::Cell;
use std::sync::Arc;

use brush_parser::{SourcePosition, SourceSpan, Token};

use super::Dialect;

/// The greatest depth to which quotes and substitutions may lie in one another.
const NESTING_MAX: u32 = 16;
/// Number of further steps for each byte of a text: text that may be arithmetic or commands is read twice.
const STEPS_PER_BYTE: usize = 8;
/// Number of steps that any text may take.
const STEPS_MIN: usize = 4_096;

/// Returns the number of steps that reading `text` may take, so that no text takes for ever.
fn steps(text: &str) -> Cell<u32> {
    Cell::new(u32::try_from(STEPS_MIN + STEPS_PER_BYTE * text.len()).unwrap_or(u32::MAX))
}

/// The reason why a line can't be read, and its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SyntaxFault {
    /// The mistake, as half a sentence: ``unexpected `fi` ``.
    pub what: String,
    /// The byte at which what is wrong begins.
    pub at: usize,
}

impl SyntaxFault {
    pub(super) fn new(what: impl Into<String>, at: usize) -> Self {
        Self { what: what.into(), at }
    }
}

/// The tokens of `text`, and what stopped the reading, if it was not the end.
pub(super) fn tokens(text: &str, dialect: Dialect) -> (Vec<Token>, Option<SyntaxFault>) {
    let left = steps(text);
    let mut lexer = Lexer::new(text, 0, dialect, 0, &left);
    let fault = lexer.commands(false).err();
    (lexer.tokens, fault)
}

/// Returns the place of the `)` that closes the commands which begin at `from`.
pub(super) fn commands_end(text: &str, from: usize, dialect: Dialect) -> Option<usize> {
    let left = steps(text);
    Lexer::new(text, from, dialect, 0, &left).commands_end(from).ok()
}

/// Returns the start of the `))` that closes the arithmetic which begins at `from`; `None` if it is no arithmetic.
pub(super) fn arithmetic_end(text: &str, from: usize, dialect: Dialect) -> Option<usize> {
    let left = steps(text);
    Lexer::new(text, from, dialect, 0, &left).arithmetic_end(from)
}

/// Returns the place of the `}` that closes the parameter which begins at `from`, within double quotes or not.
pub(super) fn parameter_end(text: &str, from: usize, dialect: Dialect, is_quoted: bool) -> Option<usize> {
    let left = steps(text);
    let mut lexer = Lexer::new(text, from, dialect, 0, &left);
    lexer.parameter(&mut String::new(), is_quoted).ok()?;
    lexer.at.checked_sub(1)
}

/// Returns the place of the bracket that closes the group which begins at `from`.
pub(super) fn group_end(text: &str, from: usize, open: char, close: char, dialect: Dialect) -> Option<usize> {
    let left = steps(text);
    Lexer::new(text, from, dialect, 0, &left).group_end(from, open, close).ok()
}

/// Returns the place of the `"` that closes the double quotes whose text begins at `from`.
pub(super) fn quotes_end(text: &str, from: usize, dialect: Dialect) -> Option<usize> {
    let left = steps(text);
    let mut lexer = Lexer::new(text, from, dialect, 0, &left);
    lexer.double_quoted(&mut String::new()).ok()?;
    lexer.at.checked_sub(1)
}

/// A here-document whose text is still to come.
struct Here {
    tag: String,
    is_quoted: bool,
    strips_tabs: bool,
    /// Index of the token that gets its text.
    token: usize,
}

/// The open constructs, as far as they decide what a `)` closes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OpenConstruct {
    Parenthesis,
    /// `case`: its word is next.
    CaseWord,
    /// `in` is next.
    CaseIn,
    /// A pattern is next; whether it has begun.
    CasePattern(bool),
    /// The commands of a pattern.
    CaseBody,
}

/// The kinds of word that may come next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NextWord {
    /// A reserved word, an assignment or a program.
    Command,
    /// An assignment or a program.
    Assignment,
    /// An argument.
    Argument,
    /// An argument of `declare` and the like: an assignment too.
    Declaration,
    /// The name after `function`, `coproc` or `for`.
    Name,
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
    dialect: Dialect,
    depth: u32,
    left: &'a Cell<u32>,
    tokens: Vec<Token>,
    here: Vec<Here>,
    frames: Vec<OpenConstruct>,
    next: NextWord,
    /// True if a redirection's target is next.
    names_target: bool,
    /// True within `[[ .. ]]`.
    is_test: bool,
}

impl<'a> Lexer<'a> {
    fn new(text: &'a str, at: usize, dialect: Dialect, depth: u32, left: &'a Cell<u32>) -> Self {
        Self {
            text,
            at,
            dialect,
            depth,
            left,
            tokens: Vec::new(),
            here: Vec::new(),
            frames: Vec::new(),
            next: NextWord::Command,
            names_target: false,
            is_test: false,
        }
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// The next character, past lines that are continued.
    fn peek(&mut self) -> Option<char> {
        while self.rest().starts_with("\\\n") {
            self.at += 2;
        }
        self.rest().chars().next()
    }

    /// The next character as it stands.
    fn take(&mut self) -> Option<char> {
        let c = self.rest().chars().next()?;
        self.at += c.len_utf8();
        Some(c)
    }

    /// Counts a step; a fault if there were too many.
    fn step(&self, from: usize) -> Result<(), SyntaxFault> {
        let left = self.left.get().checked_sub(1);
        self.left.set(left.unwrap_or(0));
        left.map(drop).ok_or_else(|| SyntaxFault::new("more in one another than is read", from))
    }

    /// Reads tokens up to the end, or up to the `)` that closes what was open before, which it leaves.
    fn commands(&mut self, is_closed: bool) -> Result<(), SyntaxFault> {
        let from = self.at;
        loop {
            self.step(from)?;
            let Some(c) = self.peek() else { break };
            match c {
                ' ' | '\t' => self.at += 1,
                '#' => self.at += self.rest().find('\n').unwrap_or(self.rest().len()),
                '\n' => {
                    self.operator("\n");
                    self.here_documents(is_closed)?;
                }
                '(' if self.begins_arithmetic() => self.arithmetic_command()?,
                ')' if is_closed && self.closes_all() => {
                    let is_whole = self.here.is_empty();
                    return is_whole
                        .then_some(())
                        .ok_or_else(|| SyntaxFault::new("a here-document without its text", from));
                }
                '<' | '>' if self.is_process() => self.word_token()?,
                '&' | '|' | ';' | '(' | ')' | '<' | '>' => self.any_operator()?,
                _ => self.word_token()?,
            }
        }
        if is_closed {
            return Err(SyntaxFault::new("`(` is never closed", from.saturating_sub(1)));
        }
        self.here_documents(false)
    }

    /// True if a `)` here closes something that was open before the first token.
    fn closes_all(&self) -> bool {
        !self.frames.iter().any(|frame| matches!(frame, OpenConstruct::Parenthesis))
            && !matches!(self.frames.last(), Some(OpenConstruct::CasePattern(_)))
    }

    /// True if `<(` or `>(` is next.
    fn is_process(&mut self) -> bool {
        let at = self.at;
        self.at += 1;
        let is_process = self.peek() == Some('(');
        self.at = at;
        is_process
    }

    fn push(&mut self, token: fn(String, SourceSpan) -> Token, text: String, from: usize) {
        let at = |index| Arc::new(SourcePosition { index, line: 1, column: 1 });
        self.tokens.push(token(text, SourceSpan { start: at(from), end: at(self.at) }));
    }

    fn operator(&mut self, text: &str) {
        let from = self.at;
        self.at += text.len();
        self.operator_from(text, from);
    }

    fn operator_from(&mut self, text: &str, from: usize) {
        // Two that stand apart are two subshells and no arithmetic, but the parser doesn't look at the space.
        if let Some(Token::Operator(before, span)) = self.tokens.last()
            && before == text
            && matches!(text, "(" | ")")
            && span.end.index < from
        {
            self.push(Token::Operator, "\n".to_owned(), from);
        }
        self.push(Token::Operator, text.to_owned(), from);
        self.names_target = text.starts_with(['<', '>']) || matches!(text, "&>" | "&>>");
        if self.names_target {
            return;
        }
        self.next = NextWord::Command;
        match (text, self.frames.last()) {
            ("(", Some(OpenConstruct::CasePattern(false))) => {}
            ("(", _) => self.frames.push(OpenConstruct::Parenthesis),
            (")", Some(OpenConstruct::Parenthesis)) => drop(self.frames.pop()),
            (")", Some(OpenConstruct::CasePattern(_))) => self.turn(OpenConstruct::CaseBody),
            (";;" | ";&" | ";;&", Some(OpenConstruct::CaseBody)) => self.turn(OpenConstruct::CasePattern(false)),
            _ => {}
        }
    }

    fn turn(&mut self, frame: OpenConstruct) {
        if let Some(last) = self.frames.last_mut() {
            *last = frame;
        }
    }

    /// The longest operator that is next.
    fn any_operator(&mut self) -> Result<(), SyntaxFault> {
        const OPERATORS: [&str; 16] =
            [";;", "&&", "||", "<<-", "<<", "<&", "<>", ">>", ">&", ">|", "&", "|", ";", "(", ")", "<"];
        const OF_BASH: [&str; 6] = [";;&", ";&", "&>>", "&>", "|&", "<<<"];
        let from = self.at;
        let of_bash: &[&str] = if self.dialect == Dialect::Sh { &[] } else { &OF_BASH };
        let found = of_bash.iter().chain(&OPERATORS).find_map(|operator| Some((operator, self.after(operator)?)));
        let (operator, end) = found.map_or((">", from + 1), |(operator, end)| (*operator, end));
        self.at = end;
        if !matches!(operator, "<<" | "<<-") {
            self.operator_from(operator, from);
            return Ok(());
        }
        self.push(Token::Operator, operator.to_owned(), from);
        while let Some(' ' | '\t') = self.peek() {
            self.at += 1;
        }
        let begins = self.at;
        let tag = self.word(false)?;
        if tag.is_empty() {
            return Err(SyntaxFault::new("`<<` without a word", from));
        }
        // Of `<<>('x')` the quotes are not the word's own.
        if tag.contains(['$', '`', '(']) {
            return Err(SyntaxFault::new("a here-document whose end is computed", from));
        }
        let is_quoted = tag.contains(['\'', '"', '\\']);
        self.push(Token::Word, tag.clone(), begins);
        self.push(Token::Word, String::new(), begins);
        self.push(Token::Word, tag.clone(), begins);
        let tag = if is_quoted { unquoted(&tag) } else { tag };
        let token = self.tokens.len() - 2;
        self.here.push(Here { tag, is_quoted, strips_tabs: operator == "<<-", token });
        Ok(())
    }

    /// Returns the end of `operator` if it is next. Its characters may stand on two lines.
    fn after(&mut self, operator: &str) -> Option<usize> {
        let from = self.at;
        let is_next = operator.chars().all(|c| {
            let is_next = self.peek() == Some(c);
            self.at += usize::from(is_next);
            is_next
        });
        let end = self.at;
        self.at = from;
        is_next.then_some(end)
    }

    /// The texts of the here-documents that began on the line which just ended.
    fn here_documents(&mut self, is_closed: bool) -> Result<(), SyntaxFault> {
        for here in std::mem::take(&mut self.here) {
            let from = self.at;
            let mut text = String::new();
            loop {
                if self.at >= self.text.len() {
                    // Without its last line a here-document ends with the code; in a substitution nobody knows where.
                    if is_closed {
                        return Err(SyntaxFault::new("a here-document that is never closed", from));
                    }
                    break;
                }
                let (line, is_continued) = self.here_line(here.is_quoted);
                let line = if here.strips_tabs { line.trim_start_matches('\t') } else { &line };
                if line.strip_suffix('\n').unwrap_or(line) == here.tag {
                    // bash puts the lines together before it looks for the end, dash looks at each.
                    if is_continued && self.dialect == Dialect::Sh {
                        return Err(SyntaxFault::new("a here-document whose last line is continued", from));
                    }
                    break;
                }
                text.push_str(line);
            }
            if let Some(Token::Word(body, _)) = self.tokens.get_mut(here.token) {
                *body = text;
            }
        }
        Ok(())
    }

    /// The next line with its line feed, and whether it was continued; one that is goes on, unless the end's word is
    /// quoted.
    fn here_line(&mut self, is_quoted: bool) -> (String, bool) {
        let mut line = String::new();
        let mut is_continued = false;
        loop {
            let rest = self.rest();
            let end = rest.find('\n').map_or(rest.len(), |end| end + 1);
            let part = &rest[..end];
            self.at += end;
            let continues = part.strip_suffix('\n').filter(|part| {
                let slashes = part.len() - part.trim_end_matches('\\').len();
                !is_quoted && slashes % 2 == 1
            });
            match continues {
                Some(part) => {
                    line.push_str(&part[..part.len() - 1]);
                    is_continued = true;
                }
                None => return (line + part, is_continued),
            }
        }
    }

    /// True if `((` is next in a place for arithmetic.
    fn begins_arithmetic(&mut self) -> bool {
        let follows_for = matches!(self.tokens.last(), Some(Token::Word(word, _)) if word == "for");
        self.dialect != Dialect::Sh
            && (self.next == NextWord::Command || (follows_for && self.next == NextWord::Name))
            && !matches!(self.frames.last(), Some(OpenConstruct::CasePattern(_)))
            && self.after("((").is_some_and(|end| self.arithmetic_end(end).is_some())
    }

    /// `(( .. ))`, also that of a `for`: its text is one word, or one for each part between `;`.
    fn arithmetic_command(&mut self) -> Result<(), SyntaxFault> {
        let from = self.at;
        let begin = self.after("((").ok_or_else(|| SyntaxFault::new("unexpected `(`", from))?;
        let end = self.arithmetic_end(begin).ok_or_else(|| SyntaxFault::new("`((` is never closed", from))?;
        let text = self.text[begin..end].replace("\\\n", "");
        let is_loop = matches!(self.tokens.last(), Some(Token::Word(word, _)) if word == "for");
        let operator = |lexer: &mut Self, text: &str| lexer.push(Token::Operator, text.to_owned(), lexer.at);
        operator(self, "(");
        operator(self, "(");
        let parts: Vec<&str> = if is_loop { text.split(';').collect() } else { vec![text.as_str()] };
        for (index, part) in parts.iter().enumerate() {
            if index > 0 {
                operator(self, ";");
            }
            if !part.trim().is_empty() {
                self.push(Token::Word, part.trim().to_owned(), begin);
            }
        }
        self.at = end + 2;
        operator(self, ")");
        operator(self, ")");
        self.next = NextWord::Command;
        Ok(())
    }

    /// The next word, with what it means for those behind it.
    fn word_token(&mut self) -> Result<(), SyntaxFault> {
        let from = self.at;
        let may_assign = !self.names_target && !matches!(self.next, NextWord::Argument | NextWord::Name);
        let word = self.word(may_assign)?;
        let is_long_number = word.len() > 9 && word.bytes().all(|byte| byte.is_ascii_digit());
        if is_long_number {
            // No descriptor has such a number: a word that happens to stand before `>`.
            let end = std::mem::replace(&mut self.at, usize::MAX);
            self.push(Token::Word, word, from);
            self.at = end;
            self.after_word("");
            return Ok(());
        }
        // `select` sets a variable and runs its body, as `for` does, which the parser knows.
        let is_select =
            word == "select" && self.next == NextWord::Command && !self.names_target && self.dialect != Dialect::Sh;
        let word = if is_select { "for".to_owned() } else { word };
        let is_list = self.dialect != Dialect::Sh && self.peek() == Some('(') && assigns_list(&word);
        self.push(Token::Word, word.clone(), from);
        if is_list {
            self.list(from)?;
        }
        if std::mem::take(&mut self.names_target) {
            return Ok(());
        }
        self.after_word(&word);
        Ok(())
    }

    /// The words of `name=( .. )`.
    fn list(&mut self, from: usize) -> Result<(), SyntaxFault> {
        self.push(Token::Operator, "(".to_owned(), self.at);
        self.at += 1;
        loop {
            self.step(from)?;
            match self.peek() {
                None => return Err(SyntaxFault::new("a list that is never closed", from)),
                Some(' ' | '\t') => self.at += 1,
                Some('\n') if self.here.is_empty() => self.at += 1,
                Some('#') => self.at += self.rest().find('\n').unwrap_or(self.rest().len()),
                Some(')') => break,
                Some('<' | '>') if self.is_process() => self.element()?,
                Some(c @ ('&' | '|' | ';' | '<' | '>' | '(' | '\n')) => {
                    return Err(SyntaxFault::new(format!("unexpected `{}`", c.escape_default()), self.at));
                }
                Some(_) => self.element()?,
            }
        }
        self.push(Token::Operator, ")".to_owned(), self.at);
        self.at += 1;
        // A word goes on behind the list, `#` with it.
        match self.peek() {
            None | Some(' ' | '\t' | '\n' | '&' | '|' | ';' | '<' | '>' | ')') => Ok(()),
            Some(_) => Err(SyntaxFault::new("a word that goes on behind a list", from)),
        }
    }

    fn element(&mut self) -> Result<(), SyntaxFault> {
        let from = self.at;
        let mut word = String::new();
        // `[key word]=value`
        if self.peek() == Some('[') {
            let end =
                self.group_end(from + 1, '[', ']').ok().filter(|end| self.text[end + 1..].starts_with(['=', '+']));
            if let Some(end) = end {
                word = self.text[from..=end].to_owned();
                self.at = end + 1;
            }
        }
        word += &self.word(false)?;
        self.push(Token::Word, word, from);
        Ok(())
    }

    /// Sets the kinds of word that may follow `word`.
    fn after_word(&mut self, word: &str) {
        match self.frames.last() {
            Some(OpenConstruct::CaseWord) => return self.turn(OpenConstruct::CaseIn),
            Some(OpenConstruct::CaseIn) if word == "in" => return self.turn(OpenConstruct::CasePattern(false)),
            Some(OpenConstruct::CaseIn) => return,
            Some(OpenConstruct::CasePattern(false)) if word == "esac" => {
                self.frames.pop();
                self.next = NextWord::Command;
                return;
            }
            Some(OpenConstruct::CasePattern(_)) => return self.turn(OpenConstruct::CasePattern(true)),
            Some(OpenConstruct::CaseBody | OpenConstruct::Parenthesis) | None => {}
        }
        if word == "]]" {
            self.is_test = false;
        }
        self.next = match (self.next, word) {
            (NextWord::Command, "if" | "then" | "else" | "elif" | "while" | "until" | "do" | "!" | "{" | "time") => {
                NextWord::Command
            }
            (NextWord::Command, "}" | "fi" | "done" | "]]") => NextWord::Command,
            (NextWord::Command, "esac") => {
                if self.frames.last() == Some(&OpenConstruct::CaseBody) {
                    self.frames.pop();
                }
                NextWord::Command
            }
            (NextWord::Command, "case") => {
                self.frames.push(OpenConstruct::CaseWord);
                NextWord::Argument
            }
            (NextWord::Command, "[[") => {
                self.is_test = true;
                NextWord::Argument
            }
            (NextWord::Command, "function" | "coproc" | "for") => NextWord::Name,
            // `coproc ls`, `for x in`: what follows a name is a command or can't be one.
            (NextWord::Name, _) => NextWord::Command,
            (NextWord::Command | NextWord::Assignment, "declare" | "typeset" | "local" | "export" | "readonly") => {
                NextWord::Declaration
            }
            (NextWord::Declaration, _) => NextWord::Declaration,
            (NextWord::Command | NextWord::Assignment, word) if assignment_name(word).is_some() => NextWord::Assignment,
            (NextWord::Command | NextWord::Assignment | NextWord::Argument, _) => NextWord::Argument,
        };
    }

    /// The next word as typed; `may_assign` where it may be an assignment, whose index may hold spaces.
    fn word(&mut self, may_assign: bool) -> Result<String, SyntaxFault> {
        let from = self.at;
        let mut word = String::new();
        // The last character, if it was not quoted.
        let mut last = None;
        loop {
            self.step(from)?;
            let Some(c) = self.peek() else { return Ok(word) };
            let before = last.take();
            match c {
                ' ' | '\t' | '\n' | '&' | '|' | ';' | ')' => return Ok(word),
                '<' | '>' if !self.is_process() => return Ok(word),
                '<' | '>' => {
                    self.at += 1;
                    self.peek();
                    self.at += 1;
                    word.extend([c, '(']);
                    self.substitution(&mut word)?;
                }
                '(' if self.begins_pattern(before, &word) => {
                    let end = self.group_end(self.at + 1, '(', ')')?;
                    word.push_str(&self.text[self.at..=end].replace("\\\n", ""));
                    self.at = end + 1;
                }
                '(' => return Ok(word),
                '[' if may_assign && is_name(&word) => self.index(&mut word)?,
                '\\' | '\'' | '"' | '`' | '$' => self.quoted_or_computed(&mut word, false)?,
                c => {
                    self.at += c.len_utf8();
                    word.push(c);
                    last = Some(c);
                }
            }
        }
    }

    /// True if a `(` behind `before` begins a pattern such as `@(a|b)`.
    fn begins_pattern(&self, before: Option<char>, word: &str) -> bool {
        match before {
            Some('?' | '*' | '+' | '@') => self.dialect != Dialect::Sh,
            // `!(rm x)` alone is a subshell, unless the shell was told otherwise.
            Some('!') => {
                let is_first = word == "!" && self.next == NextWord::Command && !self.names_target;
                self.dialect != Dialect::Sh && (self.is_test || (!is_first && self.text.contains("extglob")))
            }
            _ => false,
        }
    }

    /// `[ .. ]` behind a name that may be assigned to: spaces belong to it.
    fn index(&mut self, word: &mut String) -> Result<(), SyntaxFault> {
        let from = self.at;
        let end = self.group_end(from + 1, '[', ']').ok();
        let Some(end) = end.filter(|end| !self.text[from..*end].contains('\n') || self.here.is_empty()) else {
            self.at += 1;
            word.push('[');
            return Ok(());
        };
        let index = self.text[from..=end].replace("\\\n", "");
        if self.dialect == Dialect::Sh && index.contains([' ', '\t', '\n', ';', '&', '|', '<', '>', '(', ')']) {
            return Err(SyntaxFault::new("an index with spaces, which shells read in two ways", from));
        }
        word.push_str(&index);
        self.at = end + 1;
        Ok(())
    }

    /// Reads a part that begins with a backslash, a quote, a backquote or a dollar.
    fn quoted_or_computed(&mut self, word: &mut String, is_quoted: bool) -> Result<(), SyntaxFault> {
        let from = self.at;
        let Some(c) = self.take() else { return Ok(()) };
        word.push(c);
        match c {
            '\\' => {
                word.extend(self.take());
                Ok(())
            }
            '\'' => self.single_quoted(word, from),
            '"' => self.double_quoted(word),
            '`' => self.backquoted(word, from),
            _ => self.dollar(word, is_quoted),
        }
    }

    fn single_quoted(&mut self, word: &mut String, from: usize) -> Result<(), SyntaxFault> {
        let end = self.rest().find('\'').ok_or_else(|| SyntaxFault::new("`'` is never closed", from))?;
        let inside = &self.rest()[..end];
        // To one sh `$'` is a dollar and a quote, to another the beginning of text with escapes.
        if self.dialect == Dialect::Sh && inside.ends_with('\\') && word.ends_with("$'") {
            return Err(SyntaxFault::new("`$'` with an escaped quote, which shells read in two ways", from));
        }
        word.push_str(inside);
        word.push('\'');
        self.at += end + 1;
        Ok(())
    }

    fn backquoted(&mut self, word: &mut String, from: usize) -> Result<(), SyntaxFault> {
        loop {
            self.step(from)?;
            let c = self.take().ok_or_else(|| SyntaxFault::new("`` ` `` is never closed", from))?;
            word.push(c);
            match c {
                // Whether a line that goes on is put together before a here-document in it ends is another question.
                '`' if word.contains("\\\n") && word.contains("<<") => {
                    return Err(SyntaxFault::new("a here-document within `` ` `` with a line that goes on", from));
                }
                '`' => return Ok(()),
                '\\' => word.extend(self.take()),
                _ => {}
            }
        }
    }

    /// The text of double quotes, after the first.
    fn double_quoted(&mut self, word: &mut String) -> Result<(), SyntaxFault> {
        let from = self.at.saturating_sub(1);
        self.deeper(from, |lexer| {
            loop {
                lexer.step(from)?;
                match lexer.peek() {
                    None => return Err(SyntaxFault::new("`\"` is never closed", from)),
                    Some('"') => {
                        lexer.at += 1;
                        word.push('"');
                        return Ok(());
                    }
                    Some('\\' | '`' | '$') => lexer.quoted_or_computed(word, true)?,
                    Some(c) => {
                        lexer.at += c.len_utf8();
                        word.push(c);
                    }
                }
            }
        })
    }

    fn deeper<T>(
        &mut self,
        from: usize,
        act: impl FnOnce(&mut Self) -> Result<T, SyntaxFault>,
    ) -> Result<T, SyntaxFault> {
        if self.depth >= NESTING_MAX {
            return Err(SyntaxFault::new("more in one another than is read", from));
        }
        self.depth += 1;
        let given = act(self);
        self.depth -= 1;
        given
    }

    /// Reads the rest of an expansion, behind its dollar.
    fn dollar(&mut self, word: &mut String, is_quoted: bool) -> Result<(), SyntaxFault> {
        let from = self.at;
        match self.peek() {
            Some('(') => {
                self.at += 1;
                word.push('(');
                let second = self.after("(");
                if let Some((begin, end)) = second.and_then(|begin| Some((begin, self.arithmetic_end(begin)?))) {
                    word.push('(');
                    word.push_str(&self.text[begin..end].replace("\\\n", ""));
                    word.push_str("))");
                    self.at = end + 2;
                    return Ok(());
                }
                self.substitution(word)
            }
            Some('{') => {
                self.at += 1;
                word.push('{');
                self.parameter(word, is_quoted)
            }
            Some('[') if self.dialect == Dialect::Sh => {
                Err(SyntaxFault::new("`$[` is arithmetic to one sh and text to another", from))
            }
            Some('[') => {
                let end = self.group_end(self.at + 1, '[', ']')?;
                word.push_str(&self.text[self.at..=end].replace("\\\n", ""));
                self.at = end + 1;
                Ok(())
            }
            Some('\'') if !is_quoted && self.dialect != Dialect::Sh => {
                self.at += 1;
                word.push('\'');
                loop {
                    self.step(from)?;
                    let c = self.take().ok_or_else(|| SyntaxFault::new("`$'` is never closed", from))?;
                    word.push(c);
                    match c {
                        '\'' => return Ok(()),
                        '\\' => word.extend(self.take()),
                        _ => {}
                    }
                }
            }
            Some('$') => {
                self.at += 1;
                word.push('$');
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// The commands of a substitution, after its `(`.
    fn substitution(&mut self, word: &mut String) -> Result<(), SyntaxFault> {
        let from = self.at;
        let end = self.commands_end(from)?;
        let inside = &self.text[from..end];
        if !self.here.is_empty() && inside.contains('\n') {
            return Err(SyntaxFault::new("a here-document whose line goes on in a substitution", from));
        }
        word.push_str(inside);
        word.push(')');
        self.at = end + 1;
        Ok(())
    }

    fn commands_end(&mut self, from: usize) -> Result<usize, SyntaxFault> {
        self.deeper(from, |lexer| {
            let mut inner = Lexer::new(lexer.text, from, lexer.dialect, lexer.depth, lexer.left);
            inner.commands(true)?;
            Ok(inner.at)
        })
    }

    /// Returns the start of the `))` that closes the arithmetic which begins at `from`.
    fn arithmetic_end(&mut self, from: usize) -> Option<usize> {
        let end = self.group_end(from, '(', ')').ok()?;
        self.text[end..].starts_with("))").then_some(end)
    }

    /// `${ .. }`, after its brace.
    fn parameter(&mut self, word: &mut String, is_quoted: bool) -> Result<(), SyntaxFault> {
        let from = self.at.saturating_sub(2);
        self.deeper(from, |lexer| {
            loop {
                lexer.step(from)?;
                match lexer.peek() {
                    None => return Err(SyntaxFault::new("`${` is never closed", from)),
                    // Braces are not counted: the first that closes does.
                    Some('}') => {
                        lexer.at += 1;
                        word.push('}');
                        return Ok(());
                    }
                    Some('\'') if is_quoted => lexer.quote_in_quoted_parameter(word)?,
                    Some('\\' | '\'' | '"' | '`' | '$') => lexer.quoted_or_computed(word, is_quoted)?,
                    Some(c) => {
                        lexer.at += c.len_utf8();
                        word.push(c);
                    }
                }
            }
        })
    }

    /// `'` in `"${x:-'a'}"` is a quote to bash and text to others, and to bash when it expands: it is read only where
    /// that makes no difference.
    fn quote_in_quoted_parameter(&mut self, word: &mut String) -> Result<(), SyntaxFault> {
        let inside = self.rest()[1..].split('\'').next().unwrap_or_default();
        let is_closed = self.rest()[1 + inside.len()..].starts_with('\'');
        if !is_closed || inside.contains(['}', '"', '\\', '`', '$', '\n']) {
            return Err(SyntaxFault::new("a quote in `\"${ }\"`, which shells read in two ways", self.at));
        }
        word.push('\'');
        word.push_str(inside);
        word.push('\'');
        self.at += inside.len() + 2;
        Ok(())
    }

    /// Returns the place of the bracket that closes the group whose inside begins at `from`. Skips quotes and
    /// substitutions, and counts brackets.
    fn group_end(&mut self, from: usize, open: char, close: char) -> Result<usize, SyntaxFault> {
        let before = std::mem::replace(&mut self.at, from);
        let end = self.deeper(from, |lexer| {
            let mut level = 0_u32;
            let mut inside = String::new();
            loop {
                lexer.step(from)?;
                match lexer.peek() {
                    None => return Err(SyntaxFault::new(format!("`{open}` is never closed"), from.saturating_sub(1))),
                    Some('\\' | '\'' | '"' | '`' | '$') => lexer.quoted_or_computed(&mut inside, false)?,
                    Some(c) if c == close && level == 0 => return Ok(lexer.at),
                    Some(c) => {
                        level = if c == open { level + 1 } else { level - u32::from(c == close) };
                        lexer.at += c.len_utf8();
                    }
                }
                inside.clear();
            }
        });
        self.at = before;
        end
    }
}

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// The name that `name=value`, `name+=value` or `name[index]=value` assigns to.
fn assignment_name(word: &str) -> Option<&str> {
    let len = word.find(['=', '+', '['])?;
    let (name, rest) = word.split_at(len);
    let assigns = rest.starts_with('=')
        || rest.starts_with("+=")
        || (rest.starts_with('[') && rest.contains("]=") || rest.contains("]+="));
    (is_name(name) && assigns).then_some(name)
}

/// True if a word is an assignment up to its value: `name=`, `name+=`.
fn assigns_list(word: &str) -> bool {
    word.strip_suffix('=').is_some_and(|rest| {
        let name = rest.strip_suffix('+').unwrap_or(rest);
        is_name(name) || assignment_name(word).is_some_and(|_| rest.ends_with([']', '+']))
    })
}

/// A word without its quotes.
fn unquoted(word: &str) -> String {
    let mut text = String::new();
    let mut chars = word.chars();
    let mut quote = None;
    while let Some(c) = chars.next() {
        match (quote, c) {
            (None, '\'' | '"') => quote = Some(c),
            (Some(open), c) if c == open => quote = None,
            (None, '\\') => text.extend(chars.next()),
            (Some('"'), '\\') => match chars.next() {
                Some(c @ ('"' | '\\')) => text.push(c),
                other => {
                    text.push('\\');
                    text.extend(other);
                }
            },
            (_, c) => text.push(c),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(line: &str, dialect: Dialect) -> (Vec<String>, Option<String>) {
        let (tokens, fault) = tokens(line, dialect);
        (tokens.iter().map(|token| token.to_str().to_owned()).collect(), fault.map(|fault| fault.what))
    }

    #[test]
    fn words_and_operators_are_those_of_bash() {
        for (line, expected) in [
            ("ls -l; rm x", &["ls", "-l", ";", "rm", "x"][..]),
            ("a #b\nc", &["a", "\n", "c"]),
            ("a#b", &["a#b"]),
            ("(a)#b", &["(", "a", ")"]),
            ("echo \"${x:-{}\" b", &["echo", "\"${x:-{}\"", "b"]),
            ("echo ${x:-{}; y", &["echo", "${x:-{}", ";", "y"]),
            ("echo $(a; b \")\") c", &["echo", "$(a; b \")\")", "c"]),
            ("echo $(case x in x) y;; esac) z", &["echo", "$(case x in x) y;; esac)", "z"]),
            ("echo $((1 << (2))) z", &["echo", "$((1 << (2)))", "z"]),
            ("echo $((a); b) z", &["echo", "$((a); b)", "z"]),
            ("((1 << 2)); a", &["(", "(", "1 << 2", ")", ")", ";", "a"]),
            ("a <(b c)", &["a", "<(b c)"]),
            ("a 2>&1 >|f &>>g", &["a", "2", ">&", "1", ">|", "f", "&>>", "g"]),
            ("x=(a 'b c' # d\n e)", &["x=", "(", "a", "'b c'", "e", ")"]),
            ("a[1 2]=3 b", &["a[1 2]=3", "b"]),
            ("echo a[1 2]", &["echo", "a[1", "2]"]),
            ("e\\\ncho $\\\n(a)", &["echo", "$(a)"]),
            ("'a\\\nb'", &["'a\\\nb'"]),
            ("echo $$'\\' b", &["echo", "$$'\\'", "b"]),
            ("echo $'\\' b'", &["echo", "$'\\' b'"]),
            ("a <<E; b\n$x\nE\nc", &["a", "<<", "E", "$x\n", "E", ";", "b", "\n", "c"]),
            ("a <<'E'\n\\\nE\n", &["a", "<<", "'E'", "\\\n", "'E'", "\n"]),
            ("a <<-E\n\tx\\\n y\n\tE\n", &["a", "<<-", "E", "x y\n", "E", "\n"]),
            ("a <<E\nx", &["a", "<<", "E", "x", "E", "\n"]),
            ("[[ a == !(b|c) ]]", &["[[", "a", "==", "!(b|c)", "]]"]),
            ("!(a)", &["!", "(", "a", ")"]),
        ] {
            assert_eq!(
                texts(line, Dialect::Bash),
                (expected.iter().map(|text| (*text).to_owned()).collect(), None),
                "{line}"
            );
        }
        let of_sh = texts("a &> f $'x'", Dialect::Sh).0;
        assert_eq!(of_sh, ["a", "&", ">", "f", "$'x'"]);
    }

    #[test]
    fn what_is_open_or_read_in_two_ways_is_a_fault() {
        for (line, dialect, what) in [
            ("a 'b", Dialect::Bash, "`'` is never closed"),
            ("a \"b", Dialect::Bash, "`\"` is never closed"),
            ("a `b", Dialect::Bash, "`` ` `` is never closed"),
            ("a $(b", Dialect::Bash, "`(` is never closed"),
            ("a ${b", Dialect::Bash, "`${` is never closed"),
            ("x=(a", Dialect::Bash, "a list that is never closed"),
            ("x=()#", Dialect::Bash, "a word that goes on behind a list"),
            ("a <<", Dialect::Bash, "`<<` without a word"),
            ("a <<$x\n", Dialect::Bash, "a here-document whose end is computed"),
            ("a $(b <<E)\n", Dialect::Bash, "a here-document without its text"),
            ("a $(b <<E\nx)", Dialect::Bash, "a here-document that is never closed"),
            ("a <<E $(b\nc)\nE\n", Dialect::Bash, "a here-document whose line goes on in a substitution"),
            ("a \"${x:-'}'}\"", Dialect::Bash, "a quote in `\"${ }\"`, which shells read in two ways"),
            ("a <<E\nE\\\n\nb", Dialect::Sh, "a here-document whose last line is continued"),
            ("a[1 2]=3", Dialect::Sh, "an index with spaces, which shells read in two ways"),
            ("a $'\\'", Dialect::Sh, "`$'` with an escaped quote, which shells read in two ways"),
        ] {
            assert_eq!(texts(line, dialect).1.as_deref(), Some(what), "{line}");
        }
        let deep = "$(".repeat(1_000);
        assert_eq!(texts(&deep, Dialect::Bash).1.as_deref(), Some("more in one another than is read"));
    }
}
