//! Goes through all that a line runs, in order, and keeps what can be proven about variables and folders.

use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

use super::clues::{Clue, Clues, may_be_index};
use super::expand::ShellWord;
use super::grammar::{self, LinePart};
use super::paths::PathChange;
use super::programs::Programs;
use super::tree::{Assignment, Join, Loop, Redirect, RedirectKind, ShellNode, Simple};
use super::variables::{is_one_operand, variables_set};
use super::{Dialect, LINE_BYTES_MAX, ShellContext, ShellReading, plain, unread, word};
use crate::gate::effect::{Act, Effect, Target, UNKNOWN, Verdict};
use crate::gate::places::Places;
use crate::gate::secrets::cut_chars;
use crate::words::Category;
use crate::words::category::{FILESYSTEM_DELETE, FILESYSTEM_WRITE, OPAQUE_EXEC, PROCESS_KILL, SHELL_EXEC};

/// The greatest depth to which code may lie in code: substitutions, `sh -c`, functions.
const DEPTH_MAX: u32 = 12;
/// The greatest depth to which commands of all kinds may lie in one another, so that the way through them fits on any
/// stack.
const LEVELS_MAX: u32 = 48;
/// The most commands that one line may run in all, so that functions that call each other have an end.
const STEPS_MAX: u32 = 2_000;
/// The most times that a function may call itself with a changed state before the changed parts count as unknown.
const CALLS_APART_MAX: usize = 5;
/// The most pieces of code to run later that are kept.
const LATER_MAX: usize = 32;
/// The most other folders in which a command may be; beyond, its folder counts as unknown.
const OTHER_FOLDERS_MAX: usize = 3;
/// The most times that a loop is walked until it changes nothing any more.
const ROUNDS_MAX: usize = 6;
/// The most effects that are reported of one line; beyond, one more says that there are others.
const EFFECTS_MAX: usize = 500;
/// The most bytes that variables and outputs may put into words in all: `a=$a$a` doubles each time. Beyond, the word
/// counts as unknown.
const COMPUTED_BYTES_MAX: usize = 8 * LINE_BYTES_MAX;
/// The most bytes of a command that are shown as the matched part.
const MATCHED_BYTES_MAX: usize = 160;

/// The standard input of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum StandardInput {
    /// Nothing that the line gives it.
    None,
    /// This text.
    Text(String),
    /// Something that can't be known.
    Unknown,
}

/// The functions that a name may stand for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Defined {
    /// All bodies that it may have.
    bodies: Vec<Rc<ShellNode>>,
    /// True if it certainly has one of them.
    is_certain: bool,
}

/// The state of the shell while it runs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ShellState {
    /// Variables that the line sets; `None` if the value can't be known.
    pub(super) variables: HashMap<String, Option<String>>,
    /// Those of them that hold one plain word, whichever it is: what a loop goes through, or a name that was printed.
    pub(super) plain: BTreeSet<String>,
    /// Those that may be read-only: what they are given then, they don't take.
    pub(super) fixed: BTreeSet<String>,
    /// Those of them that programs certainly get.
    pub(super) exported: BTreeSet<String>,
    /// Lists that the line sets, as far as they are known.
    pub(super) lists: HashMap<String, Vec<ShellWord>>,
    /// `$1`, `$2` and so on, if they can be known.
    pub(super) positional: Option<Vec<ShellWord>>,
    /// Functions that the line defines.
    functions: HashMap<String, Defined>,
    /// True if the last stage of a pipeline may run in this very shell.
    runs_last_here: bool,
    /// The folder, in plain form; `None` if it can't be known.
    pub(super) folder: Option<String>,
    /// Other folders that may be the current one, in plain form: the commands after a `cd` run all the same if it
    /// fails.
    other_folders: Vec<String>,
}

/// A function that is being run.
struct OpenCall {
    name: String,
    body: Rc<ShellNode>,
    /// The shell's state when the call began, its arguments included.
    state: ShellState,
    /// Number of pipelines and subshells around it.
    forks: u32,
}

/// The way through a line.
pub(super) struct ShellWalk<'a> {
    pub dialect: Dialect,
    pub places: &'a Places,
    pub programs: &'a Programs,
    effects: Vec<Effect>,
    runs: BTreeSet<String>,
    pub(super) state: ShellState,
    depth: u32,
    /// Number of programs around this code that run it as their own; 0 for the line itself.
    pub(super) hidden: u32,
    steps: u32,
    /// Number of bytes that may still be put into words.
    computed_bytes_left: usize,
    /// Number of pipelines and subshells around this command.
    forks: u32,
    /// Number of parts of trees that are open, one within the other.
    levels: u32,
    /// The functions that are being run, one within the other.
    calls: Vec<OpenCall>,
    /// All functions that the line defines anywhere.
    defined: HashMap<String, Defined>,
    /// Code that runs later, when any of them may be defined.
    later: Vec<String>,
    /// Number of guesses around this code. The effects of a guess can only make things stricter, and an unreadable
    /// guess says nothing.
    guesses: u32,
    /// Facts that matter only together with something else of the line.
    pub(super) clues: Clues,
    /// Variables that are set for the program that is being read alone: `A=1 program`, `env A=1 program`.
    pub(super) given: Vec<String>,
    /// The roots of every `find` on the line: paths that `xargs` is fed may lie there.
    pub(super) found: Vec<ShellWord>,
    /// The raw command that is being read, for what is shown.
    command: String,
    /// The rule that allows the program which is being read, though nothing is known of it.
    pub(super) allowed_by: Option<String>,
}

/// Reads a line.
pub(super) fn read(line: &str, context: &ShellContext<'_>) -> ShellReading {
    let mut walk = ShellWalk {
        dialect: context.shell,
        places: context.places,
        programs: context.programs,
        effects: Vec::new(),
        runs: BTreeSet::new(),
        state: ShellState { folder: Some(context.folder.to_owned()), ..ShellState::default() },
        depth: 0,
        hidden: 0,
        steps: 0,
        computed_bytes_left: COMPUTED_BYTES_MAX,
        forks: 0,
        levels: 0,
        calls: Vec::new(),
        defined: HashMap::new(),
        later: Vec::new(),
        guesses: 0,
        clues: Clues::default(),
        given: Vec::new(),
        found: Vec::new(),
        command: String::new(),
        allowed_by: None,
    };
    if context.shell == Dialect::Other {
        // What it would do in a shell that is read is told all the same.
        walk.unreadable(line, "a line for a shell that is not read: only bash, sh and dash are");
        walk.dialect = Dialect::Bash;
    }
    if line.contains(char::REPLACEMENT_CHARACTER) {
        walk.unreadable(line, "this line holds a character in place of one that is no text");
    }
    walk.code(line, StandardInput::None);
    walk.run_later();
    walk.put_together(line);
    ShellReading { effects: walk.effects, runs: walk.runs.into_iter().collect() }
}

impl ShellWalk<'_> {
    /// Walks code in a shell of its own, as a substitution has it, and gives what it would print if that can be
    /// proven.
    pub(super) fn code(&mut self, code: &str, input: StandardInput) -> Option<String> {
        // A substitution has a shell of its own, and so has nearly everything that holds code.
        self.apart(|walk| walk.code_in_place(code, &input))
    }

    /// Walks code in this very shell: `eval`.
    pub(super) fn code_here(&mut self, code: &str, input: &StandardInput) -> Option<String> {
        self.hidden += 1;
        let output = self.code_in_place(code, input);
        self.hidden -= 1;
        output
    }

    fn code_in_place(&mut self, code: &str, input: &StandardInput) -> Option<String> {
        // A rule is about one command, not about those in code that it runs.
        let allowed_by = self.allowed_by.take();
        let output = self.code_now(code, input);
        self.allowed_by = allowed_by;
        output
    }

    fn code_now(&mut self, code: &str, input: &StandardInput) -> Option<String> {
        if self.depth >= DEPTH_MAX {
            self.unreadable(code, "commands too deep in one another to be read");
            return None;
        }
        self.depth += 1;
        let command = std::mem::take(&mut self.command);
        let parsed = plain::parse(code).map_or_else(|| grammar::parse(code, self.dialect), Ok);
        let output = match parsed {
            Ok(node) => self.node(&node, input),
            Err(_) => {
                self.parts(code, input);
                None
            }
        };
        self.command = command;
        self.depth -= 1;
        output
    }

    /// Walks what can be read of code that can't be read whole.
    fn parts(&mut self, code: &str, input: &StandardInput) {
        for part in grammar::parts(code, self.dialect) {
            match part {
                LinePart::Read(node) => drop(self.node(&node, input)),
                LinePart::Unread(text, fault) => {
                    if self.hidden == 0 {
                        self.runs.insert("ERR".to_owned());
                    }
                    let line = 1 + code.bytes().take(fault.at).filter(|byte| *byte == b'\n').count();
                    self.unreadable(text, &format!("this does not parse: {} on line {line}", fault.what));
                    self.guess(|walk| {
                        for guess in unread::commands(text) {
                            if let Ok(node) = grammar::parse(&guess, walk.dialect) {
                                walk.perhaps(|walk| walk.node(&node, &StandardInput::Unknown));
                            }
                        }
                    });
                }
            }
        }
    }

    /// Walks what may be commands of something that is opaque or unreadable anyway.
    pub(super) fn guess(&mut self, act: impl FnOnce(&mut Self)) {
        self.guesses += 1;
        self.hidden += 1;
        act(self);
        self.hidden -= 1;
        self.guesses -= 1;
    }

    /// Walks code that a program hands to `sh`, which may be bash or another: what it runs is not the line's own.
    pub(super) fn hidden_code(&mut self, code: &str, input: StandardInput) -> Option<String> {
        let output = self.foreign_code(self.dialect, code, None, input.clone());
        if self.dialect == Dialect::Bash {
            self.guess(|walk| drop(walk.foreign_code(Dialect::Sh, code, None, input)));
        }
        output
    }

    /// Walks code for a shell that starts anew. Which of our variables and functions it knows depends on what was
    /// exported, so that it is walked with them and without.
    ///
    /// `positional` is what it gets as `$1`, `$2` and so on, if that is known.
    pub(super) fn foreign_code(
        &mut self,
        dialect: Dialect,
        code: &str,
        positional: Option<Vec<ShellWord>>,
        input: StandardInput,
    ) -> Option<String> {
        let before = std::mem::replace(&mut self.dialect, dialect);
        let state = self.state.clone();
        self.forget_functions();
        self.state.lists.clear();
        self.state.positional = positional;
        if dialect == Dialect::Other {
            self.unreadable(code, "code for a shell that is not read");
            self.dialect = Dialect::Bash;
        }
        // What it is given for itself is not what the line holds under that name.
        for name in &self.given {
            if let Some(value) = self.state.variables.get_mut(name) {
                *value = None;
            }
            self.state.plain.remove(name);
        }
        self.hidden += 1;
        let mut output = self.code(code, input.clone()).filter(|_| dialect != Dialect::Other);
        if code.contains('$') && self.forget_values() {
            let without = self.code(code, input);
            output = output.filter(|output| without.as_ref() == Some(output));
        }
        self.hidden -= 1;
        self.state = state;
        self.dialect = before;
        output
    }

    /// Walks what runs later once more, with the functions that the line defines after it.
    fn run_later(&mut self) {
        let later = std::mem::take(&mut self.later);
        for (name, defined) in std::mem::take(&mut self.defined) {
            self.state.functions.insert(name, Defined { is_certain: false, ..defined });
        }
        for code in &later {
            self.later_code(code);
        }
    }

    /// Walks code that runs later, when the shell's state can't be known: `trap`.
    pub(super) fn later_code(&mut self, code: &str) {
        if self.later.len() < LATER_MAX && !self.later.iter().any(|known| known == code) {
            self.later.push(code.to_owned());
        }
        let before = self.state.clone();
        self.state.variables.values_mut().for_each(|value| *value = None);
        self.state.plain.clear();
        self.forget_functions();
        (self.state.lists, self.state.positional, self.state.folder) = (HashMap::new(), None, None);
        let variables = self.state.variables.clone();
        self.code_here(code, &StandardInput::Unknown);
        if self.state.variables != variables {
            self.opaque(code, "changes variables at a moment that can't be known");
        }
        self.state = before;
    }

    /// Does `act`, and undoes what it sets.
    pub(super) fn apart<T>(&mut self, act: impl FnOnce(&mut Self) -> T) -> T {
        let before = self.state.clone();
        let given = act(self);
        self.state = before;
        given
    }

    /// Does `act`, which may or may not happen: what it changes is unknown afterwards.
    fn perhaps<T>(&mut self, act: impl FnOnce(&mut Self) -> T) -> T {
        let before = self.state.clone();
        let given = act(self);
        self.merge(&before);
        given
    }

    /// Makes everything unknown that differs from `before`.
    fn merge(&mut self, before: &ShellState) {
        let ShellState {
            variables,
            plain,
            fixed,
            exported,
            lists,
            positional,
            functions,
            runs_last_here,
            folder,
            other_folders,
        } = before;
        self.state.plain.retain(|name| plain.contains(name));
        self.state.fixed.extend(fixed.iter().cloned());
        self.state.exported.retain(|name| exported.contains(name));
        self.state.runs_last_here |= runs_last_here;
        self.state.lists.retain(|name, list| lists.get(name) == Some(list));
        if self.state.positional != *positional {
            self.state.positional = None;
        }
        for (name, value) in &mut self.state.variables {
            if variables.get(name) != Some(value) {
                *value = None;
            }
        }
        for name in variables.keys() {
            self.state.variables.entry(name.clone()).or_insert(None);
        }
        for (name, defined) in &mut self.state.functions {
            let before = functions.get(name);
            defined.is_certain &= before.is_some_and(|before| before.is_certain);
            for body in before.into_iter().flat_map(|before| &before.bodies) {
                if !defined.bodies.contains(body) {
                    defined.bodies.push(Rc::clone(body));
                }
            }
        }
        for (name, before) in functions {
            let defined = || Defined { is_certain: false, ..before.clone() };
            self.state.functions.entry(name.clone()).or_insert_with(defined);
        }
        if self.state.folder != *folder {
            self.state.folder = None;
        }
        let others = other_folders.iter().filter(|other| !self.state.other_folders.contains(other));
        let others: Vec<String> = others.cloned().collect();
        self.state.other_folders.extend(others);
    }

    fn node(&mut self, node: &ShellNode, input: &StandardInput) -> Option<String> {
        self.deeper(|walk| walk.node_now(node, input))
    }

    /// True if a word may take another `size` bytes of what the shell computes; counts them.
    pub(super) fn may_hold(&mut self, size: usize) -> bool {
        let left = self.computed_bytes_left.checked_sub(size);
        self.computed_bytes_left = left.unwrap_or(0);
        left.is_some()
    }

    /// Does `act` one level deeper, unless that is too deep to be read.
    pub(super) fn deeper(&mut self, act: impl FnOnce(&mut Self) -> Option<String>) -> Option<String> {
        if self.levels >= LEVELS_MAX {
            self.unreadable("", "commands too deep in one another to be read");
            return None;
        }
        self.levels += 1;
        let output = act(self);
        self.levels -= 1;
        output
    }

    fn node_now(&mut self, node: &ShellNode, input: &StandardInput) -> Option<String> {
        match node {
            ShellNode::Simple(simple) => self.simple(simple, input),
            ShellNode::Pipeline(stages) => self.pipeline(stages, input),
            ShellNode::Sequence(nodes) => {
                let mut output = Some(String::new());
                for node in nodes {
                    let said = self.node(node, input);
                    output = output.zip(said).map(|(all, said)| all + &said);
                }
                output
            }
            ShellNode::AndOr(first, rest) => self.and_or(first, rest, input),
            ShellNode::Subshell(inner) => {
                self.forks += 1;
                let output = self.apart(|walk| walk.node(inner, input));
                self.forks -= 1;
                output
            }
            ShellNode::Choice(parts) => {
                for (index, part) in parts.iter().enumerate() {
                    if index == 0 {
                        self.node(part, input);
                    } else {
                        self.perhaps(|walk| walk.node(part, input));
                    }
                }
                None
            }
            ShellNode::Case(words, arms) => {
                for word in words {
                    self.value(word);
                }
                for arm in arms {
                    self.perhaps(|walk| walk.node(arm, input));
                }
                None
            }
            ShellNode::Loop(given) => {
                self.repeat(given, input);
                None
            }
            ShellNode::Function(name, body) => {
                let defined = Defined { bodies: vec![Rc::clone(body)], is_certain: true };
                self.state.functions.insert(name.clone(), defined);
                let all = self.defined.entry(name.clone()).or_insert(Defined { bodies: Vec::new(), is_certain: false });
                if !all.bodies.contains(body) {
                    all.bodies.push(Rc::clone(body));
                }
                // The shell calls it for any program that is not there.
                if name == "command_not_found_handle" {
                    self.call(name, body, &[ShellWord::unknown_operand()], &StandardInput::Unknown);
                }
                Some(String::new())
            }
            ShellNode::Test(words) => {
                // What is compared as a number is read as an expression.
                self.clues.note(Clue::Expression, true);
                if self.holds_code() {
                    self.opaque("", "a test over values that may hold commands");
                }
                for raw in words {
                    let word = self.value(raw);
                    self.tested(&word);
                }
                Some(String::new())
            }
            ShellNode::Arithmetic(text) => {
                self.arithmetic(text);
                Some(String::new())
            }
            ShellNode::Redirected(inner, redirects) => {
                let input = self.redirects(redirects, input, &[]);
                let output = self.node(inner, &input);
                output.filter(|_| !redirects.iter().any(Redirect::takes_output))
            }
        }
    }

    fn and_or(&mut self, first: &ShellNode, rest: &[(Join, ShellNode)], input: &StandardInput) -> Option<String> {
        let before = self.state.clone();
        self.node(first, input);
        let mut folder_is_sure = self.state.folder == before.folder;
        let mut last = first;
        let mut before_rest: Option<ShellState> = None;
        for (join, next) in rest {
            match join {
                // What comes after `&&` may rely on what came before it.
                Join::And => {
                    before_rest.get_or_insert_with(|| self.state.clone());
                    if is_cd(last) {
                        self.state.other_folders.clone_from(&before.other_folders);
                    }
                    self.node(next, input);
                }
                Join::Or => {
                    // It runs where something before it failed.
                    if !folder_is_sure {
                        self.state.folder = None;
                    }
                    before_rest.get_or_insert_with(|| self.state.clone());
                    self.perhaps(|walk| walk.node(next, input));
                }
            }
            folder_is_sure &= self.state.folder == before.folder;
            last = next;
        }
        if let Some(before_rest) = before_rest {
            self.merge(&before_rest);
        }
        // A `cd` may fail, and what follows this list runs all the same.
        if self.state.folder != before.folder {
            self.state.folder = None;
        }
        None
    }

    fn pipeline(&mut self, stages: &[ShellNode], input: &StandardInput) -> Option<String> {
        let mut input = input.clone();
        let mut output = None;
        self.forks += 1;
        for (index, stage) in stages.iter().enumerate() {
            // Each stage has a shell of its own, but for the last one if the shell was told so.
            output = if self.state.runs_last_here && index + 1 == stages.len() {
                self.perhaps(|walk| walk.node(stage, &input))
            } else {
                self.apart(|walk| walk.node(stage, &input))
            };
            input = output.clone().map_or(StandardInput::Unknown, StandardInput::Text);
        }
        self.forks -= 1;
        output
    }

    fn repeat(&mut self, given: &Loop, input: &StandardInput) {
        let mut are_plain = !given.words.is_empty();
        for word in &given.words {
            if given.variable.is_some() {
                are_plain &= self.words(word).iter().all(|word| is_one_operand(word) || word.is_name());
            } else {
                self.arithmetic(word);
            }
        }
        if let Some(variable) = &given.variable {
            // More than one value, in turn.
            self.set_unknown(variable);
        }
        // What the body sets may hold when it begins again.
        let mut set = Vec::new();
        for node in given.condition.iter().chain(&given.body) {
            variables_set(node, &mut set);
        }
        for name in set {
            self.forget(&name);
            are_plain &= given.variable.as_ref().is_none_or(|variable| *variable != name);
        }
        self.state.plain.extend(given.variable.clone().filter(|_| are_plain));
        // `shift` and `set` may stand anywhere in it.
        self.state.positional = None;
        // A loop may read its input more than once, so that nobody knows who gets which part.
        let input = if *input == StandardInput::None { StandardInput::None } else { StandardInput::Unknown };
        // Until what it begins with is what it leaves: what a function sets holds the next time too.
        for _ in 0..ROUNDS_MAX {
            let before = self.state.clone();
            for node in given.condition.iter().chain(&given.body) {
                self.perhaps(|walk| walk.node(node, &input));
            }
            if self.state == before {
                return;
            }
        }
        self.unreadable("", "a loop that changes what it runs each time");
    }

    fn simple(&mut self, simple: &Simple, input: &StandardInput) -> Option<String> {
        self.steps += 1;
        if self.steps > STEPS_MAX {
            if self.steps == STEPS_MAX + 1 {
                self.unreadable("", "more commands than are read");
            }
            return None;
        }
        let command = std::mem::replace(&mut self.command, raw(simple));
        let given = self.given.len();
        if !simple.words.is_empty() {
            self.given.extend(simple.assignments.iter().map(|assignment| assignment.name.clone()));
        }
        let output = self.simple_now(simple, input);
        self.given.truncate(given);
        self.command = command;
        output
    }

    fn simple_now(&mut self, simple: &Simple, input: &StandardInput) -> Option<String> {
        let mut words = Vec::with_capacity(simple.words.len());
        for raw in &simple.words {
            words.extend(self.words(raw));
            // `ls {name}> f` sets the variable to a number.
            if let Some(name) = raw.strip_prefix('{').and_then(|raw| raw.strip_suffix('}'))
                && !simple.redirects.is_empty()
            {
                let named = self.value(name);
                self.evaluated_index(&named);
                self.set_unknown(name);
            }
        }
        self.assignments(&simple.assignments, words.first());
        if self.hidden == 0
            && let Some(first) = words.first()
        {
            let is_known = first.known().is_some() && !first.is_computed();
            self.runs.insert(if is_known { first.text().to_owned() } else { "?".to_owned() });
        }
        let input = self.redirects(&simple.redirects, input, &words);
        // In a substitution `< f` alone prints the file.
        let prints_file =
            |redirect: &Redirect| matches!(redirect.kind, RedirectKind::Read(_) | RedirectKind::ReadWrite(_));
        let output = if !words.is_empty() {
            self.command(&words, &input)
        } else if simple.redirects.iter().any(prints_file) {
            None
        } else {
            Some(String::new())
        };
        output.filter(|_| !simple.redirects.iter().any(Redirect::takes_output))
    }

    fn assignments(&mut self, assignments: &[Assignment], program: Option<&ShellWord>) {
        let before = program.is_some().then(|| self.state.variables.clone());
        for assignment in assignments {
            if assignment.is_list && program.is_none() {
                let list: Vec<ShellWord> = assignment.values.iter().flat_map(|raw| self.words(raw)).collect();
                let raw = assignment.values.first().map_or("", String::as_str);
                self.assign(&assignment.name, raw, None, None);
                self.state.lists.insert(assignment.name.clone(), list);
                continue;
            }
            for index in &assignment.indexes {
                let word = self.value(index);
                self.evaluated(&word);
            }
            self.clues.note(Clue::Expression, !assignment.is_plain && !assignment.is_list);
            let values: Vec<ShellWord> = assignment.values.iter().map(|raw| self.value(raw)).collect();
            let value = values.first().filter(|_| assignment.is_plain);
            let raw = assignment.values.first().map_or("", String::as_str);
            self.assign(&assignment.name, raw, value, program.and_then(ShellWord::known));
        }
        // Before a program they hold for it alone, and its own words were expanded without them.
        if let Some(before) = before {
            self.state.variables = before;
        }
    }

    /// True if a function is being run.
    pub(super) fn is_in_function(&self) -> bool {
        !self.calls.is_empty()
    }

    pub(super) fn forget_functions(&mut self) {
        for defined in self.state.functions.values_mut() {
            defined.is_certain = false;
        }
    }

    /// From now on the last stage of a pipeline may run in this very shell.
    pub(super) fn run_last_here(&mut self) {
        self.state.runs_last_here = true;
    }

    /// The bodies that the function `name` may have, and whether it certainly is what runs under that name.
    pub(super) fn function(&self, name: &str) -> Option<(Vec<Rc<ShellNode>>, bool)> {
        let defined = self.state.functions.get(name)?;
        Some((defined.bodies.clone(), defined.is_certain))
    }

    /// Runs a function's body, with its arguments and with what the shell holds by then.
    pub(super) fn call(
        &mut self,
        name: &str,
        body: &Rc<ShellNode>,
        words: &[ShellWord],
        input: &StandardInput,
    ) -> Option<String> {
        if self.calls.iter().any(|open| open.name == name && self.forks > open.forks) {
            let reason = "a function that multiplies itself";
            self.effect(Verdict::Destructive, PROCESS_KILL, Act::Other, Some(name), reason);
        }
        let before = self.state.positional.replace(words.to_vec());
        self.widen(body);
        let state = self.state.clone();
        // The same once more does the same once more.
        if self.calls.iter().any(|open| Rc::ptr_eq(&open.body, body) && open.state == state) {
            self.state.positional = before;
            return None;
        }
        if self.depth >= DEPTH_MAX {
            self.state.positional = before;
            self.unreadable(name, "functions too deep in one another to be read");
            return None;
        }
        self.depth += 1;
        self.calls.push(OpenCall { name: name.to_owned(), body: Rc::clone(body), state, forks: self.forks });
        let output = self.perhaps(|walk| walk.node(body, input));
        self.state.positional = before;
        self.calls.pop();
        self.depth -= 1;
        output
    }

    /// Of a function that calls itself again and again, what differs each time can't be known: it has an end that way.
    fn widen(&mut self, body: &Rc<ShellNode>) {
        let mut open = self.calls.iter().filter(|open| Rc::ptr_eq(&open.body, body));
        let Some(last) =
            open.nth(CALLS_APART_MAX).and_then(|_| self.calls.iter().rfind(|open| Rc::ptr_eq(&open.body, body)))
        else {
            return;
        };
        if let (Some(words), Some(before)) = (&mut self.state.positional, &last.state.positional)
            && words.len() == before.len()
        {
            for (word, before) in words.iter_mut().zip(before).filter(|(word, before)| word != before) {
                *word = if before.is_pattern() { ShellWord::unknown() } else { ShellWord::unknown_operand() };
            }
        }
        for (name, value) in &mut self.state.variables {
            if last.state.variables.get(name) != Some(value) {
                *value = None;
            }
        }
        self.state.plain.retain(|name| last.state.plain.contains(name));
    }

    /// The folder, in plain form, if it can be known.
    pub(super) fn folder(&self) -> Option<&str> {
        self.state.folder.as_deref()
    }

    /// Returns the other folders that may be the current one.
    pub(super) fn other_folders(&self) -> &[String] {
        &self.state.other_folders
    }

    /// Goes to another folder that is certainly there; `None` if it can't be known.
    pub(super) fn go_certainly(&mut self, folder: Option<String>) {
        self.state.folder = folder;
        self.state.other_folders.clear();
    }

    /// Goes to another folder; `None` if it can't be known. It may fail.
    pub(super) fn go_to(&mut self, folder: Option<String>) {
        let before = std::mem::replace(&mut self.state.folder, folder);
        if before == self.state.folder {
            return;
        }
        let others = &mut self.state.other_folders;
        match before.filter(|_| others.len() < OTHER_FOLDERS_MAX) {
            Some(before) if others.contains(&before) => {}
            Some(before) => others.push(before),
            None => self.state.folder = None,
        }
    }

    /// Does `act` in another folder.
    pub(super) fn in_folder<T>(&mut self, folder: Option<String>, act: impl FnOnce(&mut Self) -> T) -> T {
        let before = std::mem::replace(&mut self.state.folder, folder);
        let is_same = self.state.folder == before;
        let others = if is_same { Vec::new() } else { std::mem::take(&mut self.state.other_folders) };
        let given = act(self);
        self.state.folder = before;
        if !is_same {
            self.state.other_folders = others;
        }
        given
    }

    /// Reads redirections of a command with `words`; gives what it reads then.
    fn redirects(&mut self, redirects: &[Redirect], input: &StandardInput, words: &[ShellWord]) -> StandardInput {
        let mut input = input.clone();
        let mut read: Vec<ShellWord> = Vec::new();
        let mut written: Vec<ShellWord> = Vec::new();
        for Redirect { fd, kind } in redirects {
            let is_input = matches!(fd, None | Some(0));
            match kind {
                RedirectKind::Read(raw) if word::process(raw, self.dialect).is_some() => {
                    let code = word::process(raw, self.dialect).unwrap_or_default();
                    let output = self.code(code, StandardInput::Unknown);
                    if is_input {
                        input = output.map_or(StandardInput::Unknown, StandardInput::Text);
                    }
                }
                RedirectKind::Read(raw) => {
                    let word = self.one(raw);
                    self.opened(&word);
                    let is_empty = word.known() == Some("/dev/null");
                    if is_input {
                        input = if is_empty { StandardInput::Text(String::new()) } else { StandardInput::Unknown };
                    }
                    read.push(word);
                }
                RedirectKind::Write(raw) => written.push(self.one(raw)),
                RedirectKind::Append(raw) => {
                    let word = self.one(raw);
                    self.appended(&word);
                }
                RedirectKind::ReadWrite(raw) => {
                    // It begins at the first byte of the file, and anything may write to it.
                    let word = self.one(raw);
                    self.change(&word, PathChange::Replace, None);
                    if is_input {
                        input = StandardInput::Unknown;
                    }
                }
                RedirectKind::Duplicate(raw) => {
                    let word = self.one(raw);
                    let is_descriptor =
                        word.known().is_some_and(|text| text.bytes().all(|b| b.is_ascii_digit() || b == b'-'));
                    if !is_descriptor {
                        written.push(word);
                    } else if *fd == Some(0) {
                        input = StandardInput::Unknown;
                    }
                }
                RedirectKind::HereDocument(text, is_expanded) => {
                    self.clues.note(Clue::Index, may_be_index(text));
                    let word = if *is_expanded { self.here_document(text) } else { ShellWord::plain(text.clone()) };
                    if is_input {
                        input =
                            word.known().map_or(StandardInput::Unknown, |text| StandardInput::Text(text.to_owned()));
                    }
                }
                RedirectKind::HereString(raw) => {
                    let word = self.value(raw);
                    if is_input {
                        input = word
                            .known()
                            .map_or(StandardInput::Unknown, |text| StandardInput::Text(format!("{text}\n")));
                    }
                }
            }
        }
        for word in written {
            let is_read = word.known().is_some_and(|path| {
                let same = |other: &ShellWord| other.known().is_some_and(|other| self.plain(other) == self.plain(path));
                read.iter().any(same) || words.iter().skip(1).any(same)
            });
            self.emptied(&word, words, is_read);
        }
        input
    }

    /// The word that a redirection names.
    fn one(&mut self, raw: &str) -> ShellWord {
        let mut words = self.words(raw);
        if words.len() == 1 { words.remove(0) } else { ShellWord::unknown() }
    }

    pub(super) fn note_truncation(&mut self) {
        if self.hidden == 0 {
            self.runs.insert(">".to_owned());
        }
    }

    /// Adds the effect of code that can't be read before it runs.
    pub(super) fn opaque(&mut self, matched: &str, reason: &str) {
        self.effect(Verdict::Opaque, OPAQUE_EXEC, Act::Other, Some(matched), reason);
    }

    /// Adds the effect of a text that can't be read. Its effects are hidden, so nothing authorizes it.
    pub(super) fn unreadable(&mut self, matched: &str, reason: &str) {
        self.effect(Verdict::Opaque, OPAQUE_EXEC, Act::Unreadable, Some(matched), reason);
    }

    /// One effect of the command that is being read, or of `matched`.
    pub(super) fn effect(&mut self, verdict: Verdict, category: &str, act: Act, matched: Option<&str>, reason: &str) {
        self.effect_of(verdict, &Category::new(category), act, matched, reason);
    }

    /// The same for a category at hand.
    pub(super) fn effect_of(
        &mut self,
        verdict: Verdict,
        category: &Category,
        act: Act,
        matched: Option<&str>,
        reason: &str,
    ) {
        // Of a guess only counts what it says for certain.
        if self.guesses > 0 && verdict == Verdict::Opaque {
            return;
        }
        let matched = shortened(matched.filter(|text| !text.is_empty()).unwrap_or(&self.command));
        let act = with_target(act, category);
        let is_only_unknown = category.as_str() == OPAQUE_EXEC && verdict <= Verdict::Opaque && act != Act::Unreadable;
        let (category, reason) = match &self.allowed_by {
            // It stays what can't be read, so that everything is kept beforehand.
            Some(rule) if is_only_unknown => {
                (Category::new(SHELL_EXEC), format!("{reason}; the rule `{rule}` in `shell_allow` allows it"))
            }
            Some(_) | None => (category.clone(), reason.to_owned()),
        };
        let effect = Effect { verdict, category, act, matched, reason };
        if self.effects.len() < EFFECTS_MAX {
            if !self.effects.contains(&effect) {
                self.effects.push(effect);
            }
        } else if self.effects.len() == EFFECTS_MAX || self.effects.iter().all(|known| known.verdict < verdict) {
            let reason = "more effects than are told".to_owned();
            self.effects.push(Effect { reason, ..effect });
        }
    }

    /// Returns the effects found so far.
    pub(super) fn effects(&self) -> &[Effect] {
        &self.effects
    }

    pub(super) fn command_text(&self) -> &str {
        &self.command
    }
}

impl Redirect {
    /// True if standard output goes elsewhere.
    fn takes_output(&self) -> bool {
        match &self.kind {
            RedirectKind::Write(_) | RedirectKind::Append(_) => !matches!(self.fd, Some(fd) if fd != 1),
            RedirectKind::Duplicate(_) | RedirectKind::ReadWrite(_) => matches!(self.fd, None | Some(1)),
            RedirectKind::Read(_) | RedirectKind::HereDocument(..) | RedirectKind::HereString(_) => false,
        }
    }
}

/// An effect on files has a target, be it one that can't be known, so that protected places and the scope are asked.
fn with_target(act: Act, category: &Category) -> Act {
    let unknown = || Target { path: UNKNOWN.to_owned(), is_pattern: false, is_recursive: false };
    match (act, category.as_str()) {
        (Act::Other, FILESYSTEM_WRITE) => Act::Write(unknown()),
        (Act::Other, FILESYSTEM_DELETE) => Act::Delete(unknown()),
        (act, _) => act,
    }
}

/// `text` up to what is shown of a command; if it is cut, secrets are masked first.
pub(super) fn shortened(text: &str) -> String {
    if text.len() <= MATCHED_BYTES_MAX {
        return text.to_owned();
    }
    cut_chars(text, MATCHED_BYTES_MAX, "...")
}

/// A command as it was typed, more or less.
fn raw(simple: &Simple) -> String {
    let mut text = String::new();
    let assignments = simple.assignments.iter().map(|given| format!("{}={}", given.name, given.values.join(" ")));
    let words = simple.words.iter().cloned();
    let redirects = simple.redirects.iter().filter_map(|redirect| match &redirect.kind {
        RedirectKind::Write(raw) => Some(format!("> {raw}")),
        RedirectKind::Append(raw) => Some(format!(">> {raw}")),
        RedirectKind::Read(raw) => Some(format!("< {raw}")),
        _ => None,
    });
    for part in assignments.chain(words).chain(redirects) {
        if text.len() > MATCHED_BYTES_MAX {
            break;
        }
        if !text.is_empty() {
            text.push(' ');
        }
        text.push_str(&part);
    }
    text
}

/// Returns whether a command is a plain `cd`, so that it worked where what follows relies on it.
fn is_cd(node: &ShellNode) -> bool {
    let ShellNode::Simple(simple) = node else { return false };
    matches!(simple.words.first().map(String::as_str), Some("cd" | "pushd"))
}
