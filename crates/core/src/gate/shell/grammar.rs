//! Reads a line by the grammar of bash or of POSIX sh.
//!
//! The grammar is brush's; what it gives is turned into our own tree. Its parser is recursive and has no limit of
//! its own, so nesting is counted on the tokens before it begins. `pitfalls.rs` knows the lines that it can't get through.

use std::panic::catch_unwind;
use std::rc::Rc;

use brush_parser::ast;
use brush_parser::{ParserOptions, Token, parse_tokens, uncached_tokenize_str};

use super::tree::{Assignment, Item, Join, Loop, Node, Redirect, RedirectKind, Simple};
use super::{Dialect, pitfalls};

/// How deep commands may lie in one another: the parser calls itself for each level, many times over.
const NESTING_MAX: usize = 12;
/// How many tokens a line may have.
const TOKENS_MAX: usize = 8_192;

/// Why a line can't be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unreadable {
    /// It follows no grammar.
    Malformed,
    /// It is longer or deeper than anybody writes.
    TooLarge,
}

/// Whether a panic in this source file is one that [`read`](super::read) catches: of some lines that follow no grammar
/// the parser panics. Nobody needs to be told of it, so that a program's panic hook may keep silent.
#[must_use]
pub fn catches_panics_of(file: &str) -> bool {
    file.contains("brush-parser")
}

/// The tree of `line`.
pub(super) fn parse(line: &str, dialect: Dialect) -> Result<Node, Unreadable> {
    // The tokenizer never ends a here-document whose word is a form feed or a carriage return.
    if line.contains(|c: char| c.is_control() && !matches!(c, '\n' | '\t')) {
        return Err(Unreadable::Malformed);
    }
    if pitfalls::is_too_nested(line) || pitfalls::has_long_number(line) {
        return Err(Unreadable::TooLarge);
    }
    if pitfalls::has_entangled_here_document(line) {
        return Err(Unreadable::Malformed);
    }
    let options = ParserOptions {
        posix_mode: dialect == Dialect::Sh,
        sh_mode: dialect == Dialect::Sh,
        ..ParserOptions::default()
    };
    // Nor one without a word, if the line ends behind it: a line feed means the same to a shell.
    let ended: String;
    let line = if line.contains("<<") && !line.ends_with('\n') {
        ended = format!("{line}\n");
        ended.as_str()
    } else {
        line
    };
    // Of some lines that follow no grammar the tokenizer panics: here-documents cut off inside a substitution.
    let tokens = catch_unwind(|| uncached_tokenize_str(line, &options.tokenizer_options()));
    let Ok(Ok(tokens)) = tokens else { return Err(Unreadable::Malformed) };
    let tokens = apart(tokens);
    if tokens.len() > TOKENS_MAX
        || nesting(&tokens) > NESTING_MAX
        || tokens.iter().any(|token| pitfalls::is_tangled_element(token.to_str()))
    {
        return Err(Unreadable::TooLarge);
    }
    let program = catch_unwind(|| parse_tokens(&tokens, &options));
    let Ok(Ok(program)) = program else { return Err(Unreadable::Malformed) };
    let lists = program.complete_commands.into_iter().flat_map(|list| list.0);
    sequence(lists.map(item).collect::<Result<_, _>>()?)
}

/// The tokens with a line feed between parentheses that stand apart: `( (ls) )` is two subshells and no arithmetic, but
/// the parser doesn't look at the space.
fn apart(tokens: Vec<Token>) -> Vec<Token> {
    let mut all: Vec<Token> = Vec::with_capacity(tokens.len());
    for token in tokens {
        let gap = match (all.last(), &token) {
            (Some(Token::Operator(before, at)), Token::Operator(text, next))
                if before == text && (text == "(" || text == ")") && at.end.index < next.start.index =>
            {
                Some(Token::Operator("\n".to_owned(), at.clone()))
            }
            _ => None,
        };
        all.extend(gap);
        all.push(token);
    }
    all
}

/// How deep the parser would go. Counts an opening word wherever it stands, and a closing one only where it
/// closes what was opened last, so that it is never too low.
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

fn sequence(mut nodes: Vec<Node>) -> Result<Node, Unreadable> {
    Ok(if nodes.len() == 1 { nodes.remove(0) } else { Node::Sequence(nodes) })
}

fn list(list: ast::CompoundList) -> Result<Node, Unreadable> {
    sequence(list.0.into_iter().map(item).collect::<Result<_, _>>()?)
}

/// One of a list; what runs at the same time has a shell of its own.
fn item(item: ast::CompoundListItem) -> Result<Node, Unreadable> {
    let node = and_or(item.0)?;
    Ok(match item.1 {
        ast::SeparatorOperator::Async => Node::Subshell(Box::new(node)),
        ast::SeparatorOperator::Sequence => node,
    })
}

fn boxed(given: ast::CompoundList) -> Result<Box<Node>, Unreadable> {
    list(given).map(Box::new)
}

fn and_or(list: ast::AndOrList) -> Result<Node, Unreadable> {
    let first = pipeline(list.first)?;
    if list.additional.is_empty() {
        return Ok(first);
    }
    let rest = list.additional.into_iter().map(|next| match next {
        ast::AndOr::And(next) => Ok((Join::And, pipeline(next)?)),
        ast::AndOr::Or(next) => Ok((Join::Or, pipeline(next)?)),
    });
    Ok(Node::AndOr(Box::new(first), rest.collect::<Result<_, _>>()?))
}

fn pipeline(pipeline: ast::Pipeline) -> Result<Node, Unreadable> {
    let mut stages: Vec<Node> = pipeline.seq.into_iter().map(command).collect::<Result<_, _>>()?;
    Ok(if stages.len() == 1 { stages.remove(0) } else { Node::Pipeline(stages) })
}

fn command(command: ast::Command) -> Result<Node, Unreadable> {
    match command {
        ast::Command::Simple(given) => simple(given).map(Node::Simple),
        ast::Command::Compound(given, redirects) => redirected(compound(given)?, redirects),
        ast::Command::Function(function) => {
            let body = redirected(compound(function.body.0)?, function.body.1)?;
            Ok(Node::Function(function.fname.value, Rc::new(body)))
        }
        ast::Command::ExtendedTest(test, redirects) => {
            let mut words = Vec::new();
            test_words(test.expr, &mut words);
            redirected(Node::Test(words), redirects)
        }
    }
}

fn redirected(node: Node, redirects: Option<ast::RedirectList>) -> Result<Node, Unreadable> {
    let Some(redirects) = redirects else { return Ok(node) };
    let redirects = redirects.0.into_iter().map(redirect).collect::<Result<_, _>>()?;
    Ok(Node::Redirected(Box::new(node), redirects))
}

fn compound(given: ast::CompoundCommand) -> Result<Node, Unreadable> {
    Ok(match given {
        ast::CompoundCommand::Arithmetic(given) => Node::Arithmetic(given.expr.value),
        ast::CompoundCommand::BraceGroup(given) => list(given.list)?,
        ast::CompoundCommand::Subshell(given) => Node::Subshell(boxed(given.list)?),
        ast::CompoundCommand::Coprocess(given) => {
            let body = Node::Subshell(Box::new(command(*given.body)?));
            let Some(name) = given.name else { return Ok(body) };
            // Its name is a list of two descriptors afterwards.
            let names = Assignment { name: name.value, values: Vec::new(), is_plain: false, is_list: false };
            Node::Sequence(vec![body, Node::Simple(Simple { assignments: vec![names], ..Simple::default() })])
        }
        ast::CompoundCommand::ForClause(given) => Node::Loop(Loop {
            variable: Some(given.variable_name),
            words: given.values.unwrap_or_default().into_iter().map(|word| word.value).collect(),
            condition: None,
            body: Some(boxed(given.body.list)?),
        }),
        ast::CompoundCommand::ArithmeticForClause(given) => Node::Loop(Loop {
            variable: None,
            words: [given.initializer, given.condition, given.updater]
                .into_iter()
                .flatten()
                .map(|part| part.value)
                .collect(),
            condition: None,
            body: Some(boxed(given.body.list)?),
        }),
        ast::CompoundCommand::WhileClause(given) | ast::CompoundCommand::UntilClause(given) => {
            Node::Loop(Loop { condition: Some(boxed(given.0)?), body: Some(boxed(given.1.list)?), ..Loop::default() })
        }
        ast::CompoundCommand::CaseClause(given) => {
            let mut words = vec![given.value.value];
            let mut arms = Vec::new();
            for case in given.cases {
                words.extend(case.patterns.into_iter().map(|word| word.value));
                arms.extend(case.cmd.map(list).transpose()?);
            }
            Node::Case(words, arms)
        }
        ast::CompoundCommand::IfClause(given) => {
            let mut parts = vec![list(given.condition)?, list(given.then)?];
            for other in given.elses.unwrap_or_default() {
                parts.extend(other.condition.map(list).transpose()?);
                parts.push(list(other.body)?);
            }
            Node::Choice(parts)
        }
    })
}

fn simple(given: ast::SimpleCommand) -> Result<Simple, Unreadable> {
    let mut simple = Simple::default();
    for item in given.prefix.into_iter().flat_map(|prefix| prefix.0) {
        match item {
            ast::CommandPrefixOrSuffixItem::AssignmentWord(given, _) => simple.assignments.push(assignment(given)),
            other => add(&mut simple, other)?,
        }
    }
    simple.words.extend(given.word_or_name.map(|word| Item::Word(word.value)));
    for item in given.suffix.into_iter().flat_map(|suffix| suffix.0) {
        add(&mut simple, item)?;
    }
    Ok(simple)
}

fn add(simple: &mut Simple, item: ast::CommandPrefixOrSuffixItem) -> Result<(), Unreadable> {
    match item {
        ast::CommandPrefixOrSuffixItem::IoRedirect(given) => simple.redirects.push(redirect(given)?),
        ast::CommandPrefixOrSuffixItem::Word(word) | ast::CommandPrefixOrSuffixItem::AssignmentWord(_, word) => {
            simple.words.push(Item::Word(word.value));
        }
        ast::CommandPrefixOrSuffixItem::ProcessSubstitution(_, given) => {
            simple.words.push(Item::Process(boxed(given.list)?));
        }
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
    let has_keys =
        matches!(&given.value, ast::AssignmentValue::Array(parts) if parts.iter().any(|(key, _)| key.is_some()));
    let is_list = index.is_none() && !is_scalar && !given.append && !has_keys;
    let mut values: Vec<String> = match given.value {
        ast::AssignmentValue::Scalar(word) => vec![word.value],
        ast::AssignmentValue::Array(parts) => {
            parts.into_iter().flat_map(|(key, word)| [key, Some(word)]).flatten().map(|word| word.value).collect()
        }
    };
    values.extend(index);
    Assignment { name, values, is_plain, is_list }
}

fn redirect(given: ast::IoRedirect) -> Result<Redirect, Unreadable> {
    Ok(match given {
        ast::IoRedirect::File(fd, kind, target) => Redirect { fd, kind: file_redirect(kind, target)? },
        ast::IoRedirect::HereDocument(fd, doc) => {
            Redirect { fd, kind: RedirectKind::HereDocument(doc.doc.value, doc.requires_expansion) }
        }
        ast::IoRedirect::HereString(fd, word) => Redirect { fd, kind: RedirectKind::HereString(word.value) },
        ast::IoRedirect::OutputAndError(word, true) => Redirect { fd: None, kind: RedirectKind::Append(word.value) },
        ast::IoRedirect::OutputAndError(word, false) => Redirect { fd: None, kind: RedirectKind::Write(word.value) },
    })
}

fn file_redirect(kind: ast::IoFileRedirectKind, target: ast::IoFileRedirectTarget) -> Result<RedirectKind, Unreadable> {
    let word = match target {
        ast::IoFileRedirectTarget::Filename(word) | ast::IoFileRedirectTarget::Duplicate(word) => word.value,
        ast::IoFileRedirectTarget::Fd(fd) => return Ok(RedirectKind::Duplicate(fd.to_string())),
        ast::IoFileRedirectTarget::ProcessSubstitution(_, given) => {
            return Ok(RedirectKind::Process(boxed(given.list)?));
        }
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
