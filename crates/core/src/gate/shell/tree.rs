//! A command line as a tree: what the grammar makes of it, and nothing that it doesn't need to know.
//!
//! Words are kept raw, as they were typed; [`word`](super::word) reads them. The grammar and the short way for
//! plain lines build the same tree, and a test holds them to it.

use std::rc::Rc;

/// Something that runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ShellNode {
    /// A program with its words.
    Simple(Simple),
    /// Stages, each fed by the one before.
    Pipeline(Vec<ShellNode>),
    /// One after the other (or at the same time), whatever the one before said.
    Sequence(Vec<ShellNode>),
    /// The first always; each other one depending on what came before.
    AndOr(Box<ShellNode>, Vec<(Join, ShellNode)>),
    /// In a shell of its own: what it sets is gone afterwards.
    Subshell(Box<ShellNode>),
    /// Parts of an `if`, in order: the first always runs, each other one may.
    Choice(Vec<ShellNode>),
    /// `case`: a word, patterns, and what may run.
    Case(Vec<String>, Vec<ShellNode>),
    /// `for`, `while`, `until`.
    Loop(Loop),
    /// `f() { .. }`: runs when called.
    Function(String, Rc<ShellNode>),
    /// `[[ .. ]]`: its words.
    Test(Vec<String>),
    /// `(( .. ))`: its text.
    Arithmetic(String),
    /// Anything with redirections of its own.
    Redirected(Box<ShellNode>, Vec<Redirect>),
}

/// The operator that joins a command to the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Join {
    /// `&&`
    And,
    /// `||`
    Or,
}

/// A loop.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Loop {
    /// The variable that `for` sets.
    pub variable: Option<String>,
    /// The words that it takes, or the arithmetic of its head.
    pub words: Vec<String>,
    /// The condition of `while` and `until`.
    pub condition: Option<Box<ShellNode>>,
    /// The body of the loop; absent only while it is being built.
    pub body: Option<Box<ShellNode>>,
}

/// A simple command.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Simple {
    /// `NAME=value` before the program, or alone.
    pub assignments: Vec<Assignment>,
    /// The program and its arguments.
    pub words: Vec<String>,
    /// The redirections of its streams.
    pub redirects: Vec<Redirect>,
}

/// `NAME=value`, `NAME+=value`, `NAME=(..)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Assignment {
    /// The variable, without its index.
    pub name: String,
    /// The value as typed; several for an array.
    pub values: Vec<String>,
    /// The index as typed, as in `NAME[index]=value`; the keys of an array.
    pub indexes: Vec<String>,
    /// True if the variable has just this value afterwards: no `+=`, no array, no index.
    pub is_plain: bool,
    /// True if it has just these words, as a list: no `+=`, no index, no key.
    pub is_list: bool,
}

/// One redirection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Redirect {
    /// The descriptor, if one was written.
    pub fd: Option<i32>,
    /// The kind of redirection.
    pub kind: RedirectKind,
}

/// The kinds of redirection, with their targets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RedirectKind {
    /// `< file`
    Read(String),
    /// `> file`, `>| file`, `&> file`
    Write(String),
    /// `>> file`, `&>> file`
    Append(String),
    /// `<> file`
    ReadWrite(String),
    /// `>&2`, `<&3`, `>&file`
    Duplicate(String),
    /// `<< END`: the text, and whether it is expanded.
    HereDocument(String, bool),
    /// `<<< word`
    HereString(String),
}
