//! One program with its arguments: what the table and the readers say of it.

use super::args::{ArgValue, ProgramArgs, is_one_of};
use super::expand::ShellWord;
use super::option_variables::after_scheme;
use super::paths::PathChange;
use super::programs::{Does, Operands, ProgramEntry, ProgramRule, Reader, WordList};
use super::walk::{ShellWalk, StandardInput};
use crate::gate::effect::{Act, UNKNOWN, Verdict};
use crate::gate::effects::is_gits_own;
use crate::words::Category;
use crate::words::category::{EXTERNAL_MESSAGE, OPAQUE_EXEC, SHELL_EXEC};

/// Folders of programs whose names mean what everybody means by them.
const PROGRAM_FOLDERS: [&str; 9] = [
    "/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin", "/usr/games", "/opt/homebrew/bin",
    "/usr/lib/git-core",
];

/// Wrappers whose command the shell itself runs: `command cd x` goes there, `nohup cd x` goes nowhere.
const RUN_HERE: [&str; 5] = ["command", "builtin", "exec", "noglob", "nocorrect"];

/// Programs that tell their version by `-version`.
const ASKED_BY_ONE_DASH: [&str; 10] =
    ["java", "javac", "javap", "scala", "vault", "consul", "nomad", "terraform", "packer", "ant"];

/// Programs that say what one of their subcommands does: `docker rm --help`.
const ASKED_BY_VERB: [&str; 19] = [
    "kubectl", "oc", "docker", "podman", "nerdctl", "helm", "gh", "cargo", "npm", "pnpm", "yarn", "bun", "terraform",
    "tofu", "aws", "gcloud", "pip", "pip3", "systemctl",
];

/// Returns whether `word` alone asks a program for its version: `java -version`.
fn asks_version(name: &str, word: &ShellWord) -> bool {
    match word.known() {
        Some("-version") => ASKED_BY_ONE_DASH.contains(&name),
        Some("-v" | "-V") => matches!(name, "gem" | "php" | "ruby" | "vault" | "node" | "gradle" | "mvn"),
        _ => false,
    }
}

/// True if programs in `folder` are those that everybody means by their names.
pub(super) fn is_program_folder(folder: &str) -> bool {
    PROGRAM_FOLDERS.contains(&folder)
}

impl ShellWalk<'_> {
    /// Runs a command with its words, and gives what it would print if that can be proven.
    pub(super) fn command(&mut self, words: &[ShellWord], input: &StandardInput) -> Option<String> {
        let (first, rest) = words.split_first()?;
        let Some(name) = first.known().filter(|_| !first.is_pattern()) else {
            self.opaque("", "runs a program whose name can't be known");
            return None;
        };
        let mut output = None;
        if let Some((bodies, is_certain)) = self.function(name) {
            for body in &bodies {
                output = self.call(name, body, rest, input);
            }
            if is_certain {
                return output.filter(|_| bodies.len() == 1);
            }
        }
        let said = self.program(name, rest, input);
        if output.is_some() { None } else { said }
    }

    /// Runs a program past functions of the same name, under the rules of the run.
    pub(super) fn program(&mut self, name: &str, rest: &[ShellWord], input: &StandardInput) -> Option<String> {
        let rule = self.rule_of(name, rest);
        let before = std::mem::replace(&mut self.allowed_by, rule);
        let output = self.program_now(name, rest, input);
        self.allowed_by = before;
        output
    }

    fn program_now(&mut self, name: &str, rest: &[ShellWord], input: &StandardInput) -> Option<String> {
        let table = self.programs;
        let base = match name.rsplit_once('/') {
            None => name,
            Some((folder, base)) if PROGRAM_FOLDERS.contains(&folder) => base,
            Some((_, base)) if self.is_own_tool(name) => base,
            Some((_, base)) => {
                self.opaque("", "runs a file whose content is not known");
                // It may well be what it is called, as in `node_modules/.bin`.
                for entry in table.get(base) {
                    self.deeper(|walk| walk.entry(entry, base, rest, input));
                }
                return None;
            }
        };
        if !table.knows(base) {
            self.opaque("", "runs a program that is not in the table");
            return None;
        }
        // Asking a program about itself does nothing, unless what comes before the question runs something.
        if let [only] = rest
            && (matches!(only.known(), Some("--help" | "--version")) || asks_version(base, only))
        {
            return None;
        }
        if let [verb, last] = rest
            && ASKED_BY_VERB.contains(&base)
            && last.known() == Some("--help")
            && verb.known().is_some_and(|verb| verb.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-'))
            && !verb.text().starts_with('-')
        {
            return None;
        }
        // `command -v rm` only asks what the name stands for.
        let asks = |word: &ShellWord| matches!(word.known(), Some("-v" | "-V" | "-pv" | "-pV"));
        if base == "command" && rest.first().is_some_and(asks) {
            return None;
        }
        // `jobs -x command`.
        if base == "jobs" {
            if rest.iter().any(|word| word.known().is_none()) {
                self.opaque("", "its options can't be known");
            }
            let option = rest.iter().position(|word| word.text().starts_with('-') && word.text().contains('x'));
            // As the shell runs it that was typed: a function under that name comes first.
            if let Some(command) = option.map(|option| &rest[option + 1..]).filter(|command| !command.is_empty()) {
                return self.command(command, input);
            }
        }
        self.names_of_variables(base, rest);
        let rest = without_toolchain(base, rest);
        let mut output = None;
        for entry in table.get(base) {
            output = output.or(self.deeper(|walk| walk.entry(entry, base, rest, input)));
        }
        output
    }

    fn entry(&mut self, entry: &ProgramEntry, name: &str, rest: &[ShellWord], input: &StandardInput) -> Option<String> {
        let args = ProgramArgs::of(entry, rest);
        self.rules(entry, name, &args);
        for (option, value) in &args.options {
            self.option(entry, option, *value);
        }
        let is_elsewhere = |folder: &str| folder.starts_with(['/', '~']);
        if !entry.from.is_empty() && self.folder().is_some_and(is_elsewhere) {
            self.opaque("", "works on a project outside of the working folder");
        }
        if entry.leaves && rest.iter().any(|word| word.known().is_none()) {
            self.sends_unknown();
        }
        if let Some(at) = args.command_at {
            // One word more, and another program is run.
            if args.is_unsure {
                self.opaque("", "runs a program whose options can't be known");
            }
            let command = rest.get(at..).unwrap_or_default();
            return if RUN_HERE.contains(&name) { self.inner_here(command, input) } else { self.inner(command, input) };
        }
        self.read_as(entry.reader, name, rest, &args, input)
    }

    /// Adds the effects that an option has by the lists of its entry.
    fn option(&mut self, entry: &ProgramEntry, option: &str, value: Option<ArgValue<'_>>) {
        // What is an option of its own is no short form of another.
        let is_whole = entry.valued.has(option) || entry.flags.has(option);
        let is = |words: &WordList| if is_whole { words.has(option) } else { is_one_of(option, words) };
        if is(&entry.serves) {
            self.serves(value);
        }
        let Some(value) = value else { return };
        if is(&entry.code) || is(&entry.runs) {
            self.code_of(value);
        }
        if is(&entry.writes) {
            self.written(&word_of(value), PathChange::Replace);
        } else if is(&entry.makes) {
            self.written(&word_of(value), PathChange::Make);
        } else if is(&entry.empties) {
            self.written(&word_of(value), PathChange::Clear);
        } else if is(&entry.into) {
            let is_own = entry.categories.iter().any(|category| category.as_str() == SHELL_EXEC);
            self.written(&word_of(value), if is_own { PathChange::Build } else { PathChange::Into });
        }
        if is(&entry.from) {
            self.comes_from(&word_of(value));
        }
        if is(&entry.tasks) {
            self.task(&word_of(value));
        }
    }

    /// Adds the effect of sending something unknown to others.
    pub(super) fn sends_unknown(&mut self) {
        let act = Act::Contact { host: UNKNOWN.to_owned() };
        self.effect(Verdict::External, EXTERNAL_MESSAGE, act, None, "sends something that can't be known");
    }

    /// A project, settings or code at `place`: outside of the working folder it is somebody else's.
    pub(super) fn comes_from(&mut self, place: &ShellWord) {
        let is_outside = match place.known() {
            Some(address) if address.contains("://") || address.starts_with("git+") => true,
            Some(path) => self.is_outside(path),
            None => true,
        };
        if is_outside {
            self.opaque("", "takes settings or code from outside of the working folder");
        } else if place.known().is_some_and(|path| is_gits_own(&self.plain(path))) {
            self.change(place, PathChange::Into, Some("works in git's own folder"));
        }
    }

    /// True if a path lies outside of the working folder, as far as that can be known.
    pub(super) fn is_outside(&self, path: &str) -> bool {
        let plain = self.plain(path);
        let is_scratch = plain.starts_with("/dev/") || plain == UNKNOWN && !path.contains("..");
        plain.starts_with(['/', '~']) && !is_scratch || (plain == UNKNOWN && path.contains(".."))
    }

    /// An address to listen on: every address of the machine is open to others.
    fn serves(&mut self, value: Option<ArgValue<'_>>) {
        let is_open = match value {
            // `vite --host`
            None => true,
            Some(value) => value.text().is_some_and(is_every_address),
        };
        if is_open {
            self.serves_others();
        }
    }

    /// Words that are passed on to a server: `npm run dev -- --host 0.0.0.0`.
    pub(super) fn passes_address(&mut self, words: &[ShellWord]) {
        let is_open = |word: &ShellWord| {
            let text = word.text();
            let address = text.split_once('=').filter(|_| text.starts_with("--")).map_or(text, |(_, value)| value);
            address.contains(['.', ':']) && is_every_address(address)
        };
        // `vite --host` listens everywhere.
        let is_bare = |(at, word): (usize, &ShellWord)| {
            word.text() == "--host" && words.get(at + 1).is_none_or(|next| next.text().starts_with('-'))
        };
        if words.iter().any(is_open) || words.iter().enumerate().any(is_bare) {
            self.serves_others();
        }
    }

    /// Everybody who reaches the machine can connect.
    pub(super) fn serves_others(&mut self) {
        let act = Act::Contact { host: UNKNOWN.to_owned() };
        self.effect(Verdict::External, EXTERNAL_MESSAGE, act, None, "serves to whoever reaches this machine");
    }

    /// A command that a program runs: what it sets and where it goes is its own.
    pub(super) fn inner(&mut self, command: &[ShellWord], input: &StandardInput) -> Option<String> {
        self.apart(|walk| walk.inner_here(command, input))
    }

    /// A command that the shell itself runs.
    fn inner_here(&mut self, command: &[ShellWord], input: &StandardInput) -> Option<String> {
        let (first, rest) = command.split_first()?;
        match first.known().filter(|_| !first.is_pattern()) {
            Some(name) => self.program(name, rest, input),
            None => {
                self.opaque("", "runs a program whose name can't be known");
                None
            }
        }
    }

    /// A file that an option names; some programs take `|command` for it.
    fn written(&mut self, word: &ShellWord, change: PathChange) {
        match word.text().strip_prefix(['|', '!']) {
            Some(_) if word.known().is_none() => self.opaque("", "runs commands that can't be known"),
            Some(code) => drop(self.hidden_code(code, StandardInput::Unknown)),
            None => self.change(word, change, None),
        }
    }

    /// Code in an option's value.
    pub(super) fn code_of(&mut self, value: ArgValue<'_>) {
        match value.text() {
            Some(code) => drop(self.hidden_code(code, StandardInput::Unknown)),
            None => self.opaque("", "runs commands that can't be known"),
        }
    }

    fn rules(&mut self, entry: &ProgramEntry, name: &str, args: &ProgramArgs<'_>) {
        let mut applied = false;
        for rule in &entry.rules {
            if let Some(operands) = applies(rule, args) {
                applied = true;
                self.does(rule.does(), operands, name, args);
            }
        }
        if !applied {
            self.does(entry.does(), &args.operands, name, args);
        }
        let is_option = |rule: &ProgramRule| !rule.with.is_empty() && rule.verdict > Verdict::Safe;
        let options = [&entry.code, &entry.runs, &entry.writes, &entry.makes, &entry.empties, &entry.into];
        let may_run = options.iter().any(|options| !options.is_empty());
        // A reader of its own takes a word that isn't known for an operand.
        let may_be_more = match entry.reader {
            Reader::Rules
            | Reader::Echo
            | Reader::Print
            | Reader::Printf
            | Reader::Decode
            | Reader::Cd
            | Reader::Lookup => false,
            // More processes or variables are nothing else.
            Reader::Kill | Reader::Variables => args.is_half_known,
            _ => args.is_unsure,
        };
        if may_be_more || (args.is_unsure && (may_run || entry.rules.iter().any(is_option))) {
            self.opaque("", "its options can't be known");
        }
    }

    fn does(&mut self, does: Does<'_>, operands: &[&ShellWord], name: &str, args: &ProgramArgs<'_>) {
        let reason = Some(does.reason).filter(|reason| !reason.is_empty());
        let change = |walk: &mut Self, words: &[&ShellWord], change| {
            for word in words {
                walk.change(word, change, reason);
            }
        };
        match does.operands {
            Operands::Write => change(self, operands, PathChange::Add),
            Operands::Overwrite => change(self, operands, PathChange::Empty),
            Operands::Delete => change(self, operands, PathChange::Delete),
            Operands::DeleteAll => change(self, operands, PathChange::DeleteAll),
            Operands::WriteLast => {
                if let Some((last, _)) = operands.split_last() {
                    self.change(last, PathChange::Replace, reason);
                }
            }
            Operands::WriteFirst => change(self, operands.get(..1).unwrap_or_default(), PathChange::Replace),
            Operands::WriteSecond => {
                change(self, operands.get(1..2).unwrap_or_default(), PathChange::Replace);
                // Another word may be the second one, and a pattern stands for several.
                if args.is_unsure || operands.iter().any(|word| word.is_pattern()) {
                    self.change(&ShellWord::unknown_operand(), PathChange::Replace, reason);
                }
            }
            Operands::Replace => change(self, operands, PathChange::Replace),
            Operands::Into => {
                let is_own = does.categories.iter().any(|category| category.as_str() == SHELL_EXEC);
                let change_of = if is_own { PathChange::Build } else { PathChange::Into };
                change(self, operands.get(..1).unwrap_or_default(), change_of);
            }
            Operands::Edit => {
                let is_own = does.categories.iter().all(|category| category.as_str() == SHELL_EXEC);
                let edits = if is_own { PathChange::Format } else { PathChange::Edit };
                let here = ShellWord::plain(".");
                let all = [&here];
                // `cargo fmt -- --check`: what follows is for the formatter, and this says that it only looks.
                let only_looks = is_own && operands.iter().any(|word| word.known() == Some("--check"))
                    || (name == "dart" && prints_only(args));
                if !only_looks {
                    change(self, if is_own || operands.is_empty() { &all } else { operands }, edits);
                }
            }
            Operands::MakeLast => {
                if let Some((last, _)) = operands.split_last() {
                    self.change(last, PathChange::New, reason);
                }
            }
            Operands::Rights => self.rights(does, name, args),
            Operands::Move => {
                if let Some((last, moved)) = operands.split_last() {
                    self.change(last, PathChange::Replace, reason);
                    for word in moved {
                        if last.known() == Some("/dev/null") {
                            self.change(word, PathChange::Delete, None);
                        } else {
                            self.moved(word);
                        }
                    }
                }
            }
            Operands::Contact if probes_here(name, args) => return,
            Operands::Contact => {
                for host in operands.iter().filter_map(|word| host(word)) {
                    let category = does.categories.first().cloned().unwrap_or_else(|| Category::new(OPAQUE_EXEC));
                    self.effect_of(does.verdict, &category, Act::Contact { host }, None, does.reason);
                }
            }
            Operands::Send => {
                if operands.iter().any(|word| word.known().is_none()) {
                    self.sends_unknown();
                }
            }
            Operands::Tests => {
                if operands.iter().any(|word| word.known().is_some_and(is_no_test)) {
                    self.opaque("", "runs a file that is no test by its name");
                }
            }
            Operands::Read => {}
        }
        // What is said of the operands says it already, unless there are none.
        let is_said = match does.operands {
            Operands::Read | Operands::Contact | Operands::Send | Operands::Tests => false,
            Operands::Write
            | Operands::WriteLast
            | Operands::MakeLast
            | Operands::Move
            | Operands::Rights
            | Operands::Edit => true,
            Operands::WriteSecond => operands.len() > 1,
            Operands::Overwrite
            | Operands::Replace
            | Operands::Delete
            | Operands::DeleteAll
            | Operands::WriteFirst
            | Operands::Into => !operands.is_empty(),
        };
        for category in does.categories.iter().filter(|_| !is_said) {
            self.effect_of(does.verdict, category, Act::Other, None, does.reason);
        }
        if does.categories.is_empty() && does.verdict > Verdict::Safe && !is_said {
            let category = Category::new(OPAQUE_EXEC);
            self.effect_of(does.verdict, &category, Act::Other, None, does.reason);
        }
    }
}

/// Returns whether `path` is a file, and none of tests by its name or folder.
pub(super) fn is_no_test(path: &str) -> bool {
    let path = path.to_ascii_lowercase();
    let is_file = path.rsplit('/').next().is_some_and(|last| last.trim_matches('.').contains('.'));
    let names = ["test", "spec", "t/", "features/", "cypress/", "e2e"];
    is_file && !names.iter().any(|name| path.contains(name))
}

/// The operands after the rule's words, if it applies.
fn applies<'a, 'b>(rule: &ProgramRule, args: &'b ProgramArgs<'a>) -> Option<&'b [&'a ShellWord]> {
    let mut count = 0;
    let mut is_certain = true;
    for wanted in rule.words.iter() {
        let fits = match args.operands.get(count)?.known() {
            Some(given) => {
                is_certain &= wanted.split('|').any(|wanted| wanted != "*" && fits(wanted, given));
                wanted.split('|').any(|wanted| fits(wanted, given))
            }
            // It may be that one.
            None => wanted == "*" || (is_certain && rule.verdict > Verdict::Safe),
        };
        if !fits {
            return None;
        }
        count += 1;
    }
    let is_any = |word: &&ShellWord| {
        let mut any = rule.any.iter().flat_map(|any| any.split('|'));
        match word.known() {
            Some(given) => any.any(|any| fits(any, given)),
            // What it begins with is known, and it may go on so.
            None => {
                rule.verdict > Verdict::Safe && !word.text().is_empty() && any.any(|any| any.starts_with(word.text()))
            }
        }
    };
    if !rule.any.is_empty() && !args.operands[count..].iter().any(is_any) {
        return None;
    }
    let is_milder = rule.verdict == Verdict::Safe;
    let with = rule.with.is_empty() || args.has(&rule.with, is_milder);
    let and_with = rule.and_with.is_empty() || args.has(&rule.and_with, is_milder);
    (with && and_with && !args.has_exactly(&rule.without)).then(|| &args.operands[count..])
}

/// True if the word `given` matches the rule's word `wanted`.
fn fits(wanted: &str, given: &str) -> bool {
    match (wanted.strip_prefix('*'), wanted.strip_suffix('*')) {
        (Some(end), None) => given.ends_with(end),
        (None, Some(beginning)) => given.starts_with(beginning),
        (Some(end), Some(_)) => given.contains(end.strip_suffix('*').unwrap_or_default()),
        (None, None) => given == wanted,
    }
}

/// `nc -z localhost 5432` only asks whether something of this machine listens.
fn probes_here(name: &str, args: &ProgramArgs<'_>) -> bool {
    let only_probes = args.options.iter().any(|(option, _)| option == "-z")
        && args.options.iter().all(|(option, _)| matches!(option.as_str(), "-z" | "-v" | "-n" | "-w" | "-4" | "-6"));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    let is_here = |word: &&ShellWord| {
        word.known().is_some_and(|text| is_number(text) || matches!(text, "localhost" | "127.0.0.1" | "::1"))
    };
    matches!(name, "nc" | "ncat" | "netcat")
        && only_probes
        && args.operands.iter().any(|word| word.known().is_some_and(|text| !is_number(text)))
        && args.operands.iter().all(is_here)
}

/// `dart format --output=none`.
fn prints_only(args: &ProgramArgs<'_>) -> bool {
    let mut outputs = args.values(&["-o", "--output"]).peekable();
    outputs.peek().is_some() && outputs.all(|value| matches!(value.text(), Some("none" | "show" | "json")))
}

/// An option's value as a word.
pub(super) fn word_of(value: ArgValue<'_>) -> ShellWord {
    match value {
        ArgValue::Word(word) => word.clone(),
        ArgValue::Attached(text) => ShellWord::plain(text),
        ArgValue::Unknown => ShellWord::unknown_operand(),
    }
}

/// The host that an operand names: `https://host/..`, `user@host:path`, `host`.
pub(super) fn host(word: &ShellWord) -> Option<String> {
    let Some(text) = word.known() else { return Some(UNKNOWN.to_owned()) };
    let rest = after_scheme(text);
    let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let host = if host.starts_with('[') { host } else { host.split(':').next().unwrap_or_default() };
    (!host.is_empty()).then(|| host.to_owned())
}

/// `cargo +nightly test`: the name of a toolchain stands before everything else.
fn without_toolchain<'a>(name: &str, words: &'a [ShellWord]) -> &'a [ShellWord] {
    let is_toolchain = |word: &ShellWord| {
        word.known().and_then(|text| text.strip_prefix('+')).is_some_and(|toolchain| {
            toolchain.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
        })
    };
    match words {
        [first, rest @ ..]
            if matches!(name, "cargo" | "rustc" | "rustdoc" | "rustfmt" | "cargo-clippy") && is_toolchain(first) =>
        {
            rest
        }
        words => words,
    }
}

/// True if `address`, with or without a port, stands for every address of the machine.
pub(super) fn is_every_address(address: &str) -> bool {
    let address = address.rsplit_once("://").map_or(address, |(_, rest)| rest);
    let host = match address.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) && host != ":" => host,
        _ => address,
    };
    matches!(host, "0.0.0.0" | "::" | "[::]" | "*" | "true" | "0")
}

/// True if names stand for the same programs after a change of `PATH`: only folders of programs stand before the old
/// value.
pub(super) fn only_adds(raw: &str) -> bool {
    let text: String = raw.chars().filter(|c| !"\"'{}".contains(*c)).collect();
    let mut segments = text.split(':');
    let own = ["$HOME/.cargo/bin", "~/.cargo/bin", "$HOME/.local/bin", "~/.local/bin", "/usr/local/go/bin"];
    let mut before = segments.by_ref().take_while(|segment| *segment != "$PATH");
    before.all(|segment| PROGRAM_FOLDERS.contains(&segment) || own.contains(&segment))
        && (text.contains("$PATH") || text.split(':').any(|segment| segment == "/usr/bin"))
}
