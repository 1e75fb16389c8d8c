//! One program with its arguments: what the table and the readers say of it.

use super::args::{Args, Value, is_one_of};
use super::expand::Word;
use super::paths::Change;
use super::programs::{Does, Operands, ProgramEntry, Rule};
use super::walk::{Input, Walk};
use crate::gate::category::{Category, OPAQUE_EXEC};
use crate::gate::effect::{Act, UNKNOWN, Verdict};

/// Folders of programs whose names mean what everybody means by them.
const PROGRAM_FOLDERS: [&str; 9] = [
    "/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin", "/usr/games", "/opt/homebrew/bin",
    "/usr/lib/git-core",
];

/// Programs that say what one of their subcommands does: `docker rm --help`.
const ASKED_BY_VERB: [&str; 12] =
    ["kubectl", "docker", "podman", "helm", "gh", "cargo", "npm", "terraform", "aws", "gcloud", "pip", "systemctl"];

impl Walk<'_> {
    /// Runs a command with its words, and gives what it would print if that can be proven.
    pub(super) fn command(&mut self, words: &[Word], input: &Input) -> Option<String> {
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

    /// Runs a program past functions of the same name.
    pub(super) fn program(&mut self, name: &str, rest: &[Word], input: &Input) -> Option<String> {
        let table = self.programs;
        let base = match name.rsplit_once('/') {
            None => name,
            Some((folder, base)) if PROGRAM_FOLDERS.contains(&folder) => base,
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
            && matches!(only.known(), Some("--help" | "--version"))
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
        let asks = |word: &Word| matches!(word.known(), Some("-v" | "-V" | "-pv" | "-pV"));
        if base == "command" && rest.first().is_some_and(asks) {
            return None;
        }
        // `jobs -x command`.
        if base == "jobs"
            && let [option, command @ ..] = rest
            && option.text().starts_with("-x")
        {
            return self.inner(command, input);
        }
        self.names_of_variables(base, rest);
        let mut output = None;
        for entry in table.get(base) {
            output = output.or(self.deeper(|walk| walk.entry(entry, base, rest, input)));
        }
        output
    }

    fn entry(&mut self, entry: &ProgramEntry, name: &str, rest: &[Word], input: &Input) -> Option<String> {
        let args = Args::of(entry, rest);
        self.rules(entry, &args);
        for (option, value) in args.options.iter().filter_map(|(option, value)| Some((option, (*value)?))) {
            if is_one_of(option, &entry.code) || is_one_of(option, &entry.runs) {
                self.code_of(value);
            }
            if is_one_of(option, &entry.writes) {
                self.written(&word_of(value), Change::Replace);
            } else if is_one_of(option, &entry.makes) {
                self.written(&word_of(value), Change::Make);
            }
        }
        if let Some(at) = args.command_at {
            let command = rest.get(at..).unwrap_or_default();
            return self.inner(command, input);
        }
        self.read_as(entry.reader, name, rest, &args, input)
    }

    /// A command that a program runs.
    pub(super) fn inner(&mut self, command: &[Word], input: &Input) -> Option<String> {
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
    fn written(&mut self, word: &Word, change: Change) {
        match word.text().strip_prefix(['|', '!']) {
            Some(_) if word.known().is_none() => self.opaque("", "runs commands that can't be known"),
            Some(code) => drop(self.hidden_code(code, Input::Unknown)),
            None => self.change(word, change, None),
        }
    }

    /// Code in an option's value.
    pub(super) fn code_of(&mut self, value: Value<'_>) {
        match value.text() {
            Some(code) => drop(self.hidden_code(code, Input::Unknown)),
            None => self.opaque("", "runs commands that can't be known"),
        }
    }

    fn rules(&mut self, entry: &ProgramEntry, args: &Args<'_>) {
        let mut applied = false;
        for rule in &entry.rules {
            if let Some(operands) = applies(rule, args) {
                applied = true;
                self.does(rule.does(), operands);
            }
        }
        if !applied {
            self.does(entry.does(), &args.operands);
        }
        let is_option = |rule: &Rule| !rule.with.is_empty() && rule.verdict > Verdict::Safe;
        let options = [&entry.code, &entry.runs, &entry.writes, &entry.makes];
        let may_run = options.iter().any(|options| !options.is_empty());
        if args.is_unsure && (may_run || entry.rules.iter().any(is_option)) {
            self.opaque("", "its options can't be known");
        }
    }

    fn does(&mut self, does: Does<'_>, operands: &[&Word]) {
        let reason = Some(does.reason).filter(|reason| !reason.is_empty());
        let change = |walk: &mut Self, words: &[&Word], change| {
            for word in words {
                walk.change(word, change, reason);
            }
        };
        match does.operands {
            Operands::Write => change(self, operands, Change::Add),
            Operands::Overwrite => change(self, operands, Change::Empty),
            Operands::Delete => change(self, operands, Change::Delete),
            Operands::DeleteAll => change(self, operands, Change::DeleteAll),
            Operands::WriteLast => {
                if let Some((last, _)) = operands.split_last() {
                    self.change(last, Change::Replace, reason);
                }
            }
            Operands::WriteFirst => change(self, operands.get(..1).unwrap_or_default(), Change::Replace),
            Operands::WriteSecond => change(self, operands.get(1..2).unwrap_or_default(), Change::Replace),
            Operands::Replace => change(self, operands, Change::Replace),
            Operands::Move => {
                if let Some((last, moved)) = operands.split_last() {
                    self.change(last, Change::Replace, reason);
                    for word in moved {
                        if last.known() == Some("/dev/null") {
                            self.change(word, Change::Delete, None);
                        } else {
                            self.moved(word);
                        }
                    }
                }
            }
            Operands::Contact => {
                for host in operands.iter().filter_map(|word| host(word)) {
                    let category = does.categories.first().cloned().unwrap_or_else(|| Category::new(OPAQUE_EXEC));
                    self.effect_of(does.verdict, &category, Act::Contact { host }, None, does.reason);
                }
            }
            Operands::Read => {}
        }
        // What is said of the operands says it already, unless there are none.
        let is_said = match does.operands {
            Operands::Read | Operands::Contact => false,
            Operands::Write | Operands::WriteFirst | Operands::WriteLast | Operands::Move => true,
            Operands::WriteSecond => operands.len() > 1,
            Operands::Overwrite | Operands::Replace | Operands::Delete | Operands::DeleteAll => !operands.is_empty(),
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

/// The operands after the rule's words, if it applies.
fn applies<'a, 'b>(rule: &Rule, args: &'b Args<'a>) -> Option<&'b [&'a Word]> {
    let mut count = 0;
    for wanted in rule.words.iter() {
        let given = args.operands.get(count)?.known()?;
        let fits = |wanted: &str| match wanted.strip_suffix('*') {
            Some(beginning) => given.starts_with(beginning),
            None => match wanted.strip_prefix('*') {
                Some(end) => given.ends_with(end),
                None => given == wanted,
            },
        };
        if !wanted.split('|').any(fits) {
            return None;
        }
        count += 1;
    }
    let is_milder = rule.verdict == Verdict::Safe;
    let with = rule.with.is_empty() || args.has(&rule.with, is_milder);
    let and_with = rule.and_with.is_empty() || args.has(&rule.and_with, is_milder);
    (with && and_with && !args.has_exactly(&rule.without)).then(|| &args.operands[count..])
}

/// An option's value as a word.
pub(super) fn word_of(value: Value<'_>) -> Word {
    match value {
        Value::Word(word) => word.clone(),
        Value::Attached(text) => Word::plain(text),
        Value::Unknown => Word::unknown_operand(),
    }
}

/// The host that an operand names: `https://host/..`, `user@host:path`, `host`.
pub(super) fn host(word: &Word) -> Option<String> {
    let Some(text) = word.known() else { return Some(UNKNOWN.to_owned()) };
    let rest = text.split_once("://").map_or(text, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let host = if host.starts_with('[') { host } else { host.split(':').next().unwrap_or_default() };
    (!host.is_empty()).then(|| host.to_owned())
}

/// Whether a value of `PATH` keeps what names stood for: nothing new stands before the old one but folders of
/// programs.
pub(super) fn only_adds(raw: &str) -> bool {
    let text: String = raw.chars().filter(|c| !"\"'{}".contains(*c)).collect();
    let mut segments = text.split(':');
    let own = ["$HOME/.cargo/bin", "~/.cargo/bin", "$HOME/.local/bin", "~/.local/bin", "/usr/local/go/bin"];
    let mut before = segments.by_ref().take_while(|segment| *segment != "$PATH");
    before.all(|segment| PROGRAM_FOLDERS.contains(&segment) || own.contains(&segment))
        && (text.contains("$PATH") || text.split(':').any(|segment| segment == "/usr/bin"))
}
