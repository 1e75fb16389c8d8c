//! Shells, and what changes the shell that runs the line.

use super::ProgramCall;
use crate::gate::effect::{Act, Verdict};
use crate::gate::shell::Dialect;
use crate::gate::shell::args::leading;
use crate::gate::shell::clues::Clue;
use crate::gate::shell::expand::ShellWord;
use crate::gate::shell::walk::{ShellWalk, StandardInput};
use crate::words::category::OPAQUE_EXEC;

impl ShellWalk<'_> {
    /// `bash -c code`, `sh file`, `bash` fed with code.
    pub(super) fn shell(&mut self, call: ProgramCall<'_>) {
        let dialect = Dialect::of(call.name);
        let mut at = 0;
        let mut takes_code = false;
        while let Some(word) = call.words.get(at) {
            let Some(text) = word.known() else {
                // It is the code, or it could be anything.
                if !takes_code {
                    self.unseen_code("runs a shell whose options can't be known");
                    return;
                }
                break;
            };
            // A dash ends the options, as two do: `sh - file` runs the file.
            if !text.starts_with(['-', '+']) || text == "-" || text == "--" {
                at += usize::from(text == "--" || text == "-");
                break;
            }
            let is_long = text.starts_with("--");
            match text {
                "--rcfile" | "--init-file" => {
                    self.opaque("", "runs a shell with a start file whose content is not known");
                    at += 1;
                }
                _ if !is_long && text.contains(['o', 'O']) => {
                    at += 1;
                    let option = call.words.get(at).and_then(ShellWord::known);
                    if option.is_none_or(|option| !HARMLESS_OPTIONS.contains(&option) && !is_set_option(option)) {
                        self.run_last_here();
                        self.opaque("", "changes how the shell reads what follows");
                    }
                }
                _ => {}
            }
            if !is_long && text.contains('i') && self.is_set_or_given("ENV") {
                self.opaque("", "runs a shell that reads a file of the line's choice first");
            }
            takes_code |= !is_long && text.starts_with('-') && text.contains('c');
            if !is_long && text.contains(['i', 'l']) && !takes_code {
                self.opaque("", "runs a shell that reads files of its own first");
            }
            at += 1;
        }
        let operand = call.words.get(at);
        // `-n` reads code and runs nothing.
        let is_option = |word: &ShellWord| word.known().is_none_or(|text| text.starts_with(['-', '+']));
        if matches!(call.words, [first, rest @ ..] if first.known() == Some("-n") && !rest.iter().any(is_option))
            && dialect != Dialect::Other
        {
            return;
        }
        // With both options it runs the code, and then what it is fed.
        if takes_code && reads_input(call.words, at) {
            match call.input {
                StandardInput::Text(code) => drop(self.foreign_code(dialect, code, None, StandardInput::Unknown)),
                StandardInput::None => {}
                StandardInput::Unknown => self.unseen_code("a shell runs what it is fed, which can't be known"),
            }
        }
        match (takes_code, operand) {
            (true, Some(code)) => match code.as_code() {
                Some(code) => {
                    let words = call.words.get(at + 2..).unwrap_or_default();
                    drop(self.foreign_code(dialect, code, known_words(words), call.input.clone()));
                }
                None => self.unseen_code("runs shell code that can't be known"),
            },
            (true, None) => {}
            (false, Some(file)) if is_substitution(file) => self.unseen_code("runs what another command prints"),
            (false, Some(file)) if file.known() != Some("/dev/stdin") && !reads_input(call.words, at) => {
                self.opaque("", "runs a file whose content is not known");
            }
            (false, _) => match call.input {
                StandardInput::Text(code) => drop(self.foreign_code(dialect, code, None, StandardInput::Unknown)),
                StandardInput::None => self.opaque("", "a shell runs what it is fed, which can't be known"),
                StandardInput::Unknown => self.unseen_code("a shell runs what it is fed, which can't be known"),
            },
        }
    }

    /// `eval`.
    pub(super) fn eval(&mut self, call: ProgramCall<'_>) -> Option<String> {
        let words: Option<Vec<&str>> = call.words.iter().map(ShellWord::as_code).collect();
        match words {
            Some(words) => {
                let words = words.strip_prefix(&["--"]).unwrap_or(&words);
                self.code_here(&words.join(" "), call.input)
            }
            None => {
                self.unseen_code("runs shell code that can't be known");
                None
            }
        }
    }

    /// Code that comes from elsewhere and is run unseen: fetched, decoded, read from a file. It counts as the worst
    /// that it could be, whatever else the line does.
    pub(super) fn unseen_code(&mut self, reason: &str) {
        self.effect(Verdict::Destructive, OPAQUE_EXEC, Act::Other, None, reason);
    }

    /// `source file`, `. file`.
    pub(super) fn source(&mut self, call: ProgramCall<'_>) {
        match (call.words.first().and_then(ShellWord::known), call.input) {
            (Some("/dev/stdin"), StandardInput::Text(code)) => drop(self.code_here(code, &StandardInput::Unknown)),
            (Some(_), _) if call.words.first().is_some_and(is_substitution) => {
                self.unseen_code("runs what another command prints");
            }
            (Some(file), _) if self.is_own_environment(file) => {}
            _ => self.opaque("", "runs a file whose content is not known"),
        }
    }

    /// `cd`, `pushd`, `popd`.
    pub(super) fn cd(&mut self, call: ProgramCall<'_>) {
        let mut operands = call.words.iter().filter(|word| !matches!(word.known(), Some("-P" | "-L" | "--" | "-e")));
        let folder = match (call.name, operands.next()) {
            ("cd", None) => Some("~".to_owned()),
            ("popd", _) | (_, None) => None,
            (_, Some(word)) => word
                .known()
                .filter(|path| !word.is_pattern() && *path != "-" && !path.starts_with('+'))
                .map(|path| self.plain(path)),
        };
        // With `CDPATH` it could be anywhere.
        let folder = folder.filter(|folder| folder != "?" && !self.is_set("CDPATH"));
        match call.words {
            // They are always there.
            [only] if matches!(only.known(), Some("/" | "/tmp")) => self.go_certainly(folder),
            _ => self.go_to(folder),
        }
    }

    /// `export`, `declare`, `local`, `readonly`, `read`, `unset` and all that names variables.
    pub(super) fn variables(&mut self, call: ProgramCall<'_>) {
        let is_reading = matches!(call.name, "read" | "mapfile" | "readarray" | "getopts" | "let" | "unset" | "select");
        let is_unset_function = call.name == "unset";
        if is_unset_function {
            self.forget_functions();
        }
        let letters =
            |letter| call.words.iter().any(|word| word.text().starts_with('-') && word.text().contains(letter));
        let is_export = call.name == "export" || (!is_reading && !is_unset_function && letters('x'));
        let is_taken_back = call.words.iter().any(|word| word.text().starts_with("+x"));
        if is_export || is_unset_function || is_taken_back {
            for word in call.words {
                let name = word.text().split('=').next().unwrap_or_default();
                self.export(name, is_export && !letters('n') && !is_taken_back);
            }
        }
        let is_fixed = call.name == "readonly" || (!is_reading && letters('r') && call.name != "export");
        let is_expression = call.name == "let" || call.words.iter().any(|word| word.known().is_some_and(is_integer));
        for word in call.words {
            let Some(text) = word.known() else {
                let is_named = word.text().contains('=') && !word.text().starts_with('=');
                // `let $x++` changes a number, `let P$x=1` what may be any variable.
                let may_be_any = !matches!(call.name, "getopts" | "let") || !word.text().is_empty();
                if !is_named && call.name != "unset" && may_be_any {
                    self.opaque("", "sets variables that can't be known");
                }
                if let Some((name, value)) = word.text().split_once('=') {
                    // A list, whose keys are expressions.
                    self.clues.note(Clue::Expression, value.starts_with('('));
                    let raw = self.typed_value(name);
                    self.assign(name.trim_end_matches('+'), &raw, None, None);
                }
                continue;
            };
            if matches!(text, "-f" | "-n") && matches!(call.name, "declare" | "typeset" | "local") {
                self.forget_functions();
            }
            // `export -f ls`: whatever runs next has another `ls`.
            let exports = text.starts_with('-') && text.contains('f') && (call.name == "export" || text.contains('x'));
            if exports && call.words.iter().any(|word| word.known().is_none_or(|name| self.programs.knows(name))) {
                self.opaque("", "gives a name another meaning");
            }
            let letters = text.strip_prefix('-').filter(|_| matches!(call.name, "declare" | "typeset" | "local"));
            if letters.is_some_and(|letters| letters.contains('n')) {
                self.opaque("", "gives a variable another name");
            }
            match text.split_once('=') {
                Some((name, value)) if !is_reading && !name.starts_with('-') => {
                    // `declare -a a='(..)'`: a list, whose words are expanded.
                    if value.starts_with('(') && value.contains(['$', '`']) {
                        self.expanded(value);
                        self.opaque("", "a list whose words may run commands");
                    }
                    let is_plain = !name.ends_with('+') && !name.contains('[') && !value.starts_with('(');
                    // Elsewhere it fails, and the variable holds what it held.
                    let is_plain = is_plain && (call.name != "local" || self.is_in_function());
                    let value_word = ShellWord::plain(value);
                    let name = name.trim_end_matches('+');
                    self.assign(name, value, Some(&value_word).filter(|_| is_plain), None);
                    if is_fixed {
                        self.fix(name);
                    }
                }
                _ if is_fixed && !text.starts_with('-') => self.fix(text),
                _ if call.name == "unset" => {
                    if text == "PATH" {
                        self.opaque("", "programs of the working folder are run without it");
                    }
                    self.forget(text);
                }
                _ if is_reading => self.set_unknown(text),
                _ => {}
            }
            if is_expression {
                self.arithmetic(text);
            }
            if is_expression && text.contains("$(") {
                self.opaque("", "an arithmetic expression with commands in it");
            }
        }
        if matches!(call.name, "mapfile" | "readarray") && call.args.any(&["-C"]) {
            self.opaque("", "runs a command for each line");
        }
    }

    /// Reads words that name variables for a program: an index may run commands, and a variable of `make` is run.
    pub(in crate::gate::shell) fn names_of_variables(&mut self, name: &str, words: &[ShellWord]) {
        let takes_names = [
            "read", "printf", "unset", "test", "[", "let", "wait", "mapfile", "readarray", "declare", "typeset",
            "local", "export", "readonly", "getopts",
        ];
        if takes_names.contains(&name) {
            let is_expression = |word: &ShellWord| match name {
                // `-v a[k]`
                "test" | "[" => matches!(word.known(), None | Some("-v" | "-R")),
                "declare" | "typeset" | "local" | "export" | "readonly" => {
                    word.text().starts_with('-') && word.text().contains('i')
                }
                "let" => true,
                _ => word.text().contains('[') || word.known().is_none(),
            };
            self.clues.note(Clue::Expression, words.iter().any(is_expression));
            let runs = |word: &&ShellWord| word.text().contains('[') && word.text().contains(['$', '`']);
            for word in words.iter().filter(runs) {
                self.evaluated_index(word);
                self.opaque("", "an index that may run commands");
            }
        }
        if matches!(name, "compgen" | "complete") {
            self.completions(words);
        }
        if matches!(name, "shopt" | "enable" | "bind") {
            self.shell_options(name, words);
        }
        if name == "wait" {
            words.iter().for_each(|word| self.set_unknown(word.text()));
            // `wait -p NAME` sets a variable.
            let takes_name = words.iter().any(|word| word.text().starts_with('-') && word.text().contains('p'));
            if takes_name && words.iter().any(|word| word.known().is_none() && !word.text().is_empty()) {
                self.opaque("", "sets variables that can't be known");
            }
        }
        if matches!(name, "make" | "gmake") {
            for word in words {
                match word.text().split_once('=') {
                    Some(("SHELL" | ".SHELLFLAGS", _)) => self.opaque("", "names the shell of every recipe"),
                    Some((variable, value)) if !variable.starts_with('-') => {
                        let value = word.known().map(|_| value);
                        self.runner(variable, value.unwrap_or("?"), value, None);
                    }
                    _ => {}
                }
            }
        }
    }

    /// `compgen`, `complete`: texts that are expanded, commands and functions that are run.
    fn completions(&mut self, words: &[ShellWord]) {
        let options = leading(words, &["-A", "-G", "-W", "-F", "-C", "-X", "-P", "-S", "-o"], &[]);
        for option in &options.options {
            match (option.name.as_str(), option.value) {
                ("-C", Some(value)) => self.code_of(value),
                ("-F", Some(value)) => match value.text() {
                    Some(name) => drop(self.command(&[ShellWord::plain(name)], &StandardInput::Unknown)),
                    None => self.opaque("", "runs commands that can't be known"),
                },
                ("-W" | "-X" | "-P" | "-S", Some(value)) => match value.text() {
                    Some(text) => self.expanded(text),
                    None => self.opaque("", "expands a text that may hold commands"),
                },
                _ => {}
            }
        }
        let expands = |word: &ShellWord| {
            word.known().is_none() || ["$", "`", "<(", ">("].iter().any(|start| word.text().contains(start))
        };
        if words.iter().any(expands) {
            self.opaque("", "expands a text that may hold commands");
        }
    }

    /// `shopt`, `enable`, `bind`: what changes how the shell reads or runs what follows.
    fn shell_options(&mut self, name: &str, words: &[ShellWord]) {
        if name != "shopt" {
            // `enable -f x.so`, `bind -x`
            if words
                .iter()
                .any(|word| word.known().is_none_or(|text| text.starts_with('-') && text.contains(['f', 'x'])))
            {
                self.opaque("", "loads code, or runs it at a key");
            }
            return;
        }
        for word in words {
            match word.known() {
                Some("lastpipe") => self.run_last_here(),
                Some(text) if text.starts_with('-') || HARMLESS_OPTIONS.contains(&text) => {}
                _ => {
                    self.run_last_here();
                    self.opaque("", "changes how the shell reads what follows");
                }
            }
        }
    }

    /// The value that a word of this command gives to `name`, as typed.
    fn typed_value(&self, name: &str) -> String {
        let words = self.command_text().split_whitespace();
        let mut values = words.filter_map(|word| word.trim_start_matches('"').strip_prefix(name)?.strip_prefix('='));
        values.next().unwrap_or("?").to_owned()
    }

    /// `alias`.
    pub(super) fn alias(&mut self, call: ProgramCall<'_>) {
        for word in call.words {
            let code = word.text().split_once('=').map(|(_, code)| code);
            if let Some(code) = code.filter(|_| word.known().is_some()) {
                self.guess(|walk| drop(walk.code(code, StandardInput::Unknown)));
            }
            if code.is_some() || word.known().is_none() {
                self.opaque("", "gives a name another meaning");
            }
        }
    }

    /// `trap`.
    pub(super) fn trap(&mut self, call: ProgramCall<'_>) {
        let code = call.words.iter().find(|word| word.known() != Some("--"));
        match code.map(ShellWord::known) {
            None | Some(Some("" | "-" | "-l" | "-p")) => {}
            Some(Some(code)) => self.later_code(code),
            Some(None) => self.opaque("", "runs shell code that can't be known"),
        }
    }

    /// `set`, `shift`: what `$1`, `$2` and so on are.
    pub(super) fn positional(&mut self, call: ProgramCall<'_>) {
        let names_option = |word: &ShellWord| word.known().is_some_and(|text| matches!(text, "-o" | "+o"));
        let is_hidden = call.words.first().is_some_and(names_option) && call.words.iter().any(|w| w.known().is_none());
        let is_unusual = call.words.iter().any(|word| word.known().is_some_and(is_unusual_option));
        if call.name == "set" && (is_hidden || is_unusual) {
            self.opaque("", "changes how the shell reads what follows");
        }
        let words = match call.words {
            [first, rest @ ..] if call.name == "set" && first.known() == Some("--") => known_words(rest),
            [] if call.name == "shift" => self.shifted(1),
            [count] if call.name == "shift" => {
                count.known().and_then(|count| count.parse().ok()).and_then(|count| self.shifted(count))
            }
            // Options alone change nothing of them.
            words if call.name == "set" && words.iter().all(|word| word.known().is_some_and(is_set_option)) => return,
            _ => None,
        };
        self.set_positional(words);
    }
}

/// Options that `shopt` may change without changing what runs.
const HARMLESS_OPTIONS: [&str; 19] = [
    "extglob", "globstar", "nullglob", "dotglob", "failglob", "nocaseglob", "nocasematch", "inherit_errexit",
    "checkwinsize", "histappend", "cmdhist", "lithist", "huponexit", "checkjobs", "expand_aliases", "globasciiranges",
    "autocd", "progcomp", "promptvars",
];

/// The words, unless one may be several or stand for files.
fn known_words(words: &[ShellWord]) -> Option<Vec<ShellWord>> {
    words.iter().all(|word| !word.splits() && !word.is_pattern()).then(|| words.to_vec())
}

/// `-e`, `+x`, `-euo`, or the name that follows `-o`.
fn is_set_option(text: &str) -> bool {
    (text.len() > 1 && text.starts_with(['-', '+']) && text != "--")
        || matches!(
            text,
            "pipefail"
                | "errexit"
                | "nounset"
                | "xtrace"
                | "verbose"
                | "noglob"
                | "noclobber"
                | "allexport"
                | "errtrace"
                | "functrace"
                | "monitor"
        )
}

/// `set -k` takes assignments anywhere, `set -H` runs what was typed before.
fn is_unusual_option(text: &str) -> bool {
    let letters = text.strip_prefix(['-', '+']).filter(|rest| !rest.starts_with('-'));
    letters.is_some_and(|letters| letters.contains(['k', 'H'])) || matches!(text, "keyword" | "histexpand" | "history")
}

/// True if a word is a process substitution, or another open descriptor.
fn is_substitution(word: &ShellWord) -> bool {
    word.known().is_some_and(|path| path.starts_with("/dev/fd/") || path.starts_with("/proc/"))
}

fn is_integer(option: &str) -> bool {
    option.starts_with('-') && option.len() < 4 && option.contains('i')
}

/// True if `-s` stands before the operand: the operand is an argument then, and the code comes from standard input.
fn reads_input(words: &[ShellWord], operand: usize) -> bool {
    words
        .iter()
        .take(operand)
        .filter_map(ShellWord::known)
        .any(|word| word.starts_with('-') && !word.starts_with("--") && word.contains('s'))
}
