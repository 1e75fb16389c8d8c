//! Reads a line by the grammar of bash or of POSIX sh.
//!
//! The words and operators are our own (`lexer.rs`), the grammar is brush's; what it gives is turned into our own
//! tree. Its parser is recursive and has no limit of its own, so nesting is counted on the tokens before it begins.
//! A line that follows no grammar is read as far as it does: see [`parts`].

use std::panic::catch_unwind;
use std::rc::Rc;

use brush_parser::ast;
use brush_parser::{ParseError, ParserOptions, Token, parse_tokens};

use super::lexer::{self, SyntaxFault};
use super::tree::{Assignment, Join, Loop, Redirect, RedirectKind, ShellNode, Simple};
use super::{Dialect, LINE_BYTES_MAX, pitfalls};

/// The greatest depth to which commands may lie in one another. The parser calls itself for each level, many times
/// over.
const NESTING_MAX: usize = 12;
/// The most tokens that a line may have.
const TOKENS_MAX: usize = 8_192;
/// The most unreadable parts of a text that are told apart; everything behind the last is one part. The shell itself
/// reads nothing behind the first.
const UNREAD_PARTS_MAX: usize = 32;
/// The most tokens that are given to the parser in all to find out which lines of a text can be read.
const TOKENS_TRIED_MAX: usize = 4 * TOKENS_MAX;

/// True if a panic in this source file is one that [`read`](super::read) catches: the parser panics on some lines that
/// follow no grammar. Such a panic needs no report, so a program's panic hook may keep silent.
#[must_use]
pub fn catches_panics_of(file: &str) -> bool {
    file.contains("brush-parser")
}

/// A part of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum LinePart<'a> {
    /// Commands that follow the grammar.
    Read(ShellNode),
    /// A text that doesn't, and why.
    Unread(&'a str, SyntaxFault),
}

/// The tree of `line`.
pub(super) fn parse(line: &str, dialect: Dialect) -> Result<ShellNode, SyntaxFault> {
    let (tokens, fault) = lexer::tokens(line, dialect);
    if let Some(fault) = fault {
        return Err(fault);
    }
    program(&tokens, dialect).map_err(|stop| stop.fault(line, &tokens))
}

/// Returns the parts of `line` that can be read, command by command, as a shell reads it: the lines before a mistake
/// have run by the time it is found. The text behind the mistake is read too, in case a shell can read what we can't.
pub(super) fn parts(line: &str, dialect: Dialect) -> Vec<LinePart<'_>> {
    let (tokens, fault) = lexer::tokens(line, dialect);
    let mut parts = Vec::new();
    let mut tried = 0;
    let mut from = 0;
    let mut unread = 0;
    let ends: Vec<usize> = line_ends(&tokens, fault.is_some());
    let mut first = 0;
    while first < ends.len() {
        if ends[first] <= from {
            first += 1;
            continue;
        }
        if unread == UNREAD_PARTS_MAX {
            let fault = ParseStop::TooLarge.fault(line, &tokens[from..]);
            parts.push(LinePart::Unread(text_of(line, &tokens, from, tokens.len()), fault));
            return parts;
        }
        let mut read = None;
        let mut stopped = None;
        for end in &ends[first..] {
            tried += end - from;
            if tried > TOKENS_TRIED_MAX {
                stopped = stopped.or(Some(ParseStop::TooLarge));
                break;
            }
            match program(&tokens[from..*end], dialect) {
                Ok(node) => {
                    read = Some((node, *end));
                    break;
                }
                Err(stop) => {
                    let is_open = matches!(stop, ParseStop::AtEnd);
                    stopped = Some(stop);
                    if !is_open {
                        break;
                    }
                }
            }
        }
        from = match (read, stopped) {
            (Some((node, end)), _) => {
                parts.push(LinePart::Read(node));
                end
            }
            (None, stopped) => {
                let end = ends[first];
                let fault = stopped.unwrap_or(ParseStop::AtEnd).fault(line, &tokens[from..]);
                parts.push(LinePart::Unread(text_of(line, &tokens, from, end), fault));
                unread += 1;
                end
            }
        };
    }
    if let Some(fault) = fault {
        let begins = tokens.get(from).map_or(fault.at, |token| token.location().start.index);
        parts.push(LinePart::Unread(line.get(begins.min(fault.at)..).unwrap_or(line), fault));
    }
    parts
}

/// Behind which tokens a line ends; the last line is left out if it `is_cut` off.
fn line_ends(tokens: &[Token], is_cut: bool) -> Vec<usize> {
    let is_end = |token: &Token| matches!(token, Token::Operator(text, _) if text == "\n");
    let ends = tokens.iter().enumerate().filter(|(_, token)| is_end(token)).map(|(index, _)| index + 1);
    let mut ends: Vec<usize> = ends.collect();
    if !is_cut && ends.last().is_none_or(|end| *end < tokens.len()) {
        ends.push(tokens.len());
    }
    ends
}

/// The text in which the tokens from one to another stand.
fn text_of<'a>(line: &'a str, tokens: &[Token], from: usize, end: usize) -> &'a str {
    let begins = |index: usize| tokens.get(index).map_or(line.len(), |token| token.location().start.index);
    line.get(begins(from)..begins(end)).unwrap_or(line)
}

/// The reason why tokens can't be read.
enum ParseStop {
    /// They are not complete.
    AtEnd,
    /// Something is wrong at this byte.
    Near(usize),
    /// They are more, or deeper in one another, than anybody writes.
    TooLarge,
}

impl ParseStop {
    fn fault(self, line: &str, tokens: &[Token]) -> SyntaxFault {
        let begin = tokens.first().map_or(0, |token| token.location().start.index);
        // The parser takes a word that closes nothing for a word, and stops behind it.
        let stopped = if let Self::TooLarge = self { None } else { stray(tokens) };
        match stopped.map_or(self, Self::Near) {
            Self::AtEnd => SyntaxFault::new("it ends before a command is complete", line.trim_end().len().max(begin)),
            Self::TooLarge => SyntaxFault::new("longer, or deeper in one another, than is read", begin),
            Self::Near(at) => {
                let token = tokens.iter().find(|token| token.location().start.index == at);
                let text = token.map_or("?", Token::to_str);
                let text = if text == "\n" { "end of the line".to_owned() } else { format!("`{text}`") };
                SyntaxFault::new(format!("unexpected {text}"), at)
            }
        }
    }
}

/// Returns the place of the first word that closes or continues something that is not open.
fn stray(tokens: &[Token]) -> Option<usize> {
    let mut open: Vec<&str> = Vec::new();
    let mut begins = true;
    for token in tokens {
        let text = token.to_str();
        let is_word = matches!(token, Token::Word(..));
        // What each needs to be open, and what is open then.
        let (needed, then): (&[&str], Option<&str>) = match text {
            "if" | "while" | "until" | "for" | "case" | "{" => (&[], Some(text)),
            "then" => (&["if"], Some("then")),
            "elif" => (&["then"], Some("if")),
            "else" => (&["then"], Some("else")),
            "fi" => (&["then", "else"], None),
            "do" => (&["while", "until", "for"], Some("do")),
            "done" => (&["do"], None),
            "esac" => (&["case"], None),
            "}" => (&["{"], None),
            _ => {
                begins = !is_word;
                continue;
            }
        };
        if is_word && begins {
            if !needed.is_empty() && !open.pop().is_some_and(|top| needed.contains(&top)) {
                return Some(token.location().start.index);
            }
            open.extend(then);
            begins = !matches!(text, "for" | "case");
        } else {
            begins = !is_word;
        }
    }
    None
}

/// The tree of tokens.
fn program(tokens: &[Token], dialect: Dialect) -> Result<ShellNode, ParseStop> {
    let bytes: usize = tokens.iter().map(|token| token.to_str().len()).sum();
    if tokens.len() > TOKENS_MAX
        || bytes > LINE_BYTES_MAX
        || nesting(tokens) > NESTING_MAX
        || tokens.iter().any(|token| pitfalls::is_tangled_element(token.to_str()))
    {
        return Err(ParseStop::TooLarge);
    }
    let options = ParserOptions {
        posix_mode: dialect == Dialect::Sh,
        sh_mode: dialect == Dialect::Sh,
        ..ParserOptions::default()
    };
    let program = match catch_unwind(|| parse_tokens(tokens, &options)) {
        Ok(Ok(program)) => program,
        Ok(Err(ParseError::ParsingNear(position))) => return Err(ParseStop::Near(position.index)),
        Ok(Err(_)) => return Err(ParseStop::AtEnd),
        Err(_) => return Err(ParseStop::Near(tokens.first().map_or(0, |token| token.location().start.index))),
    };
    let lists = program.complete_commands.into_iter().flat_map(|list| list.0);
    let nodes: Result<Vec<ShellNode>, UnreadableSyntax> = lists.map(item).collect();
    nodes
        .and_then(sequence)
        .map_err(|UnreadableSyntax| ParseStop::Near(tokens.first().map_or(0, |token| token.location().start.index)))
}

/// Something that the lexer never gives to the parser, or a name that the shell computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct UnreadableSyntax;

/// Returns the depth to which the parser would go. Counts every opening word, and a closing one only if it closes the
/// last opened, so the depth is never too low.
fn nesting(tokens: &[Token]) -> usize {
    let mut open: Vec<&str> = Vec::new();
    let mut deepest = 0;
    let mut begins = true;
    for token in tokens {
        let text = token.to_str();
        let closes = match text {
            ")" => Some("("),
            "}" if begins => Some("{"),
            "fi" if begins => Some("if"),
            "done" if begins => Some("do"),
            "esac" if begins => Some("case"),
            _ => None,
        };
        match (closes, text) {
            (Some(opener), _) if open.last() == Some(&opener) => {
                open.pop();
                if opener == "do" && matches!(open.last(), Some(&("while" | "until"))) {
                    open.pop();
                }
            }
            (Some(_), _) => {}
            (None, "(" | "{" | "if" | "while" | "until" | "do" | "case" | "[[" | "coproc" | "function") => {
                open.push(text)
            }
            (None, _) => {}
        }
        // The parser tries each arm of a `case` twice, so that its time doubles with each one around it.
        let cases = open.iter().filter(|word| **word == "case").count();
        deepest = deepest.max(open.len() + cases);
        begins = matches!(token, Token::Operator(..))
            || matches!(text, "then" | "do" | "else" | "elif" | "{" | "}" | "fi" | "done" | "esac" | "if" | "while");
    }
    deepest
}

fn sequence(mut nodes: Vec<ShellNode>) -> Result<ShellNode, UnreadableSyntax> {
    Ok(if nodes.len() == 1 { nodes.remove(0) } else { ShellNode::Sequence(nodes) })
}

fn list(list: ast::CompoundList) -> Result<ShellNode, UnreadableSyntax> {
    sequence(list.0.into_iter().map(item).collect::<Result<_, _>>()?)
}

/// One of a list; what runs at the same time has a shell of its own.
fn item(item: ast::CompoundListItem) -> Result<ShellNode, UnreadableSyntax> {
    let node = and_or(item.0)?;
    Ok(match item.1 {
        ast::SeparatorOperator::Async => ShellNode::Subshell(Box::new(node)),
        ast::SeparatorOperator::Sequence => node,
    })
}

fn boxed(given: ast::CompoundList) -> Result<Box<ShellNode>, UnreadableSyntax> {
    list(given).map(Box::new)
}

fn and_or(list: ast::AndOrList) -> Result<ShellNode, UnreadableSyntax> {
    let first = pipeline(list.first)?;
    if list.additional.is_empty() {
        return Ok(first);
    }
    let rest = list.additional.into_iter().map(|next| match next {
        ast::AndOr::And(next) => Ok((Join::And, pipeline(next)?)),
        ast::AndOr::Or(next) => Ok((Join::Or, pipeline(next)?)),
    });
    Ok(ShellNode::AndOr(Box::new(first), rest.collect::<Result<_, _>>()?))
}

fn pipeline(pipeline: ast::Pipeline) -> Result<ShellNode, UnreadableSyntax> {
    let mut stages: Vec<ShellNode> = pipeline.seq.into_iter().map(command).collect::<Result<_, _>>()?;
    let node = if stages.len() == 1 { stages.remove(0) } else { ShellNode::Pipeline(stages) };
    // What `!` turns around is not told: what follows may rely on either.
    Ok(if pipeline.bang { ShellNode::Choice(vec![node]) } else { node })
}

fn command(command: ast::Command) -> Result<ShellNode, UnreadableSyntax> {
    match command {
        ast::Command::Simple(given) => simple(given).map(ShellNode::Simple),
        ast::Command::Compound(given, redirects) => redirected(compound(given)?, redirects),
        ast::Command::Function(function) => {
            let body = redirected(compound(function.body.0)?, function.body.1)?;
            Ok(ShellNode::Function(function.fname.value, Rc::new(body)))
        }
        ast::Command::ExtendedTest(test, redirects) => {
            let mut words = Vec::new();
            test_words(test.expr, &mut words);
            redirected(ShellNode::Test(words), redirects)
        }
    }
}

fn redirected(node: ShellNode, redirects: Option<ast::RedirectList>) -> Result<ShellNode, UnreadableSyntax> {
    let Some(redirects) = redirects else { return Ok(node) };
    let redirects = redirects.0.into_iter().map(redirect).collect::<Result<_, _>>()?;
    Ok(ShellNode::Redirected(Box::new(node), redirects))
}

fn compound(given: ast::CompoundCommand) -> Result<ShellNode, UnreadableSyntax> {
    Ok(match given {
        ast::CompoundCommand::Arithmetic(given) => ShellNode::Arithmetic(given.expr.value),
        ast::CompoundCommand::BraceGroup(given) => list(given.list)?,
        ast::CompoundCommand::Subshell(given) => ShellNode::Subshell(boxed(given.list)?),
        ast::CompoundCommand::Coprocess(given) => {
            let body = ShellNode::Subshell(Box::new(command(*given.body)?));
            let Some(name) = given.name else { return Ok(body) };
            if !names_variable(&name.value) {
                return Err(UnreadableSyntax);
            }
            // Its name is a list of two descriptors afterwards.
            ShellNode::Sequence(vec![
                body,
                ShellNode::Simple(Simple { assignments: vec![named(&name.value)], ..Simple::default() }),
            ])
        }
        ast::CompoundCommand::ForClause(given) => ShellNode::Loop(Loop {
            variable: Some(given.variable_name),
            words: given.values.unwrap_or_default().into_iter().map(|word| word.value).collect(),
            condition: None,
            body: Some(boxed(given.body.list)?),
        }),
        ast::CompoundCommand::ArithmeticForClause(given) => ShellNode::Loop(Loop {
            variable: None,
            words: [given.initializer, given.condition, given.updater]
                .into_iter()
                .flatten()
                .map(|part| part.value)
                .collect(),
            condition: None,
            body: Some(boxed(given.body.list)?),
        }),
        ast::CompoundCommand::WhileClause(given) | ast::CompoundCommand::UntilClause(given) => ShellNode::Loop(Loop {
            condition: Some(boxed(given.0)?),
            body: Some(boxed(given.1.list)?),
            ..Loop::default()
        }),
        ast::CompoundCommand::CaseClause(given) => {
            let mut words = vec![given.value.value];
            let mut arms = Vec::new();
            for case in given.cases {
                words.extend(case.patterns.into_iter().map(|word| word.value));
                arms.extend(case.cmd.map(list).transpose()?);
            }
            ShellNode::Case(words, arms)
        }
        ast::CompoundCommand::IfClause(given) => {
            let mut parts = vec![list(given.condition)?, list(given.then)?];
            for other in given.elses.unwrap_or_default() {
                parts.extend(other.condition.map(list).transpose()?);
                parts.push(list(other.body)?);
            }
            ShellNode::Choice(parts)
        }
    })
}

/// True if a word is a variable's name, or that of an element, as it stands.
fn names_variable(word: &str) -> bool {
    let name = word.split('[').next().unwrap_or_default();
    let is_letter = |c: char| c.is_ascii_alphabetic() || c == '_';
    name.starts_with(is_letter) && name.chars().all(|c| is_letter(c) || c.is_ascii_digit())
}

/// The list that a name stands for afterwards, which may be an element: `a[k]`.
fn named(word: &str) -> Assignment {
    let (name, index) = word.split_once('[').map_or((word, None), |(name, index)| (name, Some(index)));
    let indexes = index.map(|index| index.strip_suffix(']').unwrap_or(index).to_owned()).into_iter().collect();
    Assignment { name: name.to_owned(), values: Vec::new(), indexes, is_plain: false, is_list: false }
}

fn simple(given: ast::SimpleCommand) -> Result<Simple, UnreadableSyntax> {
    let mut simple = Simple::default();
    for item in given.prefix.into_iter().flat_map(|prefix| prefix.0) {
        match item {
            ast::CommandPrefixOrSuffixItem::AssignmentWord(given, _) => simple.assignments.push(assignment(given)),
            other => add(&mut simple, other)?,
        }
    }
    simple.words.extend(given.word_or_name.map(|word| word.value));
    for item in given.suffix.into_iter().flat_map(|suffix| suffix.0) {
        add(&mut simple, item)?;
    }
    Ok(simple)
}

fn add(simple: &mut Simple, item: ast::CommandPrefixOrSuffixItem) -> Result<(), UnreadableSyntax> {
    match item {
        ast::CommandPrefixOrSuffixItem::IoRedirect(given) => simple.redirects.push(redirect(given)?),
        ast::CommandPrefixOrSuffixItem::Word(word) | ast::CommandPrefixOrSuffixItem::AssignmentWord(_, word) => {
            simple.words.push(word.value);
        }
        // The lexer leaves it in its word.
        ast::CommandPrefixOrSuffixItem::ProcessSubstitution(..) => return Err(UnreadableSyntax),
    }
    Ok(())
}

fn assignment(given: ast::Assignment) -> Assignment {
    let (name, index) = match given.name {
        ast::AssignmentName::VariableName(name) => (name, None),
        ast::AssignmentName::ArrayElementName(name, index) => (name, Some(index)),
    };
    let is_scalar = matches!(given.value, ast::AssignmentValue::Scalar(_));
    let is_plain = index.is_none() && is_scalar && !given.append;
    let is_indexed = index.is_some();
    let mut indexes: Vec<String> = index.into_iter().collect();
    let before = indexes.len();
    let mut values = Vec::new();
    match given.value {
        ast::AssignmentValue::Scalar(word) => values.push(word.value),
        ast::AssignmentValue::Array(parts) => {
            for (key, word) in parts {
                indexes.extend(list_key(key.map(|key| key.value), &word.value));
                values.push(word.value);
            }
        }
    }
    let is_list = !is_indexed && !is_scalar && !given.append && indexes.len() == before;
    Assignment { name, values, indexes, is_plain, is_list }
}

/// The key of a part of a list. The parser ends it at the first `]`, shells at the one that closes it, so all that may
/// belong to it is taken.
fn list_key(key: Option<String>, value: &str) -> Option<String> {
    let goes_on = value.contains("]=") || value.contains("]+=");
    match key {
        Some(key) if goes_on => Some(format!("{key}]={value}")),
        Some(key) => Some(key),
        None => value.strip_prefix('[').filter(|_| goes_on).map(str::to_owned),
    }
}

fn redirect(given: ast::IoRedirect) -> Result<Redirect, UnreadableSyntax> {
    Ok(match given {
        ast::IoRedirect::File(fd, kind, target) => {
            let is_input = matches!(kind, ast::IoFileRedirectKind::DuplicateInput);
            Redirect { fd: fd.or(is_input.then_some(0)), kind: file_redirect(kind, target)? }
        }
        ast::IoRedirect::HereDocument(fd, doc) => {
            Redirect { fd, kind: RedirectKind::HereDocument(doc.doc.value, doc.requires_expansion) }
        }
        ast::IoRedirect::HereString(fd, word) => Redirect { fd, kind: RedirectKind::HereString(word.value) },
        ast::IoRedirect::OutputAndError(word, true) => Redirect { fd: None, kind: RedirectKind::Append(word.value) },
        ast::IoRedirect::OutputAndError(word, false) => Redirect { fd: None, kind: RedirectKind::Write(word.value) },
    })
}

fn file_redirect(
    kind: ast::IoFileRedirectKind,
    target: ast::IoFileRedirectTarget,
) -> Result<RedirectKind, UnreadableSyntax> {
    let word = match target {
        ast::IoFileRedirectTarget::Filename(word) | ast::IoFileRedirectTarget::Duplicate(word) => word.value,
        ast::IoFileRedirectTarget::Fd(fd) => return Ok(RedirectKind::Duplicate(fd.to_string())),
        ast::IoFileRedirectTarget::ProcessSubstitution(..) => return Err(UnreadableSyntax),
    };
    Ok(match kind {
        ast::IoFileRedirectKind::Read => RedirectKind::Read(word),
        ast::IoFileRedirectKind::Write | ast::IoFileRedirectKind::Clobber => RedirectKind::Write(word),
        ast::IoFileRedirectKind::Append => RedirectKind::Append(word),
        ast::IoFileRedirectKind::ReadAndWrite => RedirectKind::ReadWrite(word),
        ast::IoFileRedirectKind::DuplicateInput | ast::IoFileRedirectKind::DuplicateOutput => {
            RedirectKind::Duplicate(word)
        }
    })
}

fn test_words(expr: ast::ExtendedTestExpr, words: &mut Vec<String>) {
    match expr {
        ast::ExtendedTestExpr::And(left, right) | ast::ExtendedTestExpr::Or(left, right) => {
            test_words(*left, words);
            test_words(*right, words);
        }
        ast::ExtendedTestExpr::Not(inner) | ast::ExtendedTestExpr::Parenthesized(inner) => test_words(*inner, words),
        ast::ExtendedTestExpr::UnaryTest(_, word) => words.push(word.value),
        ast::ExtendedTestExpr::BinaryTest(_, left, right) => words.extend([left.value, right.value]),
    }
}
