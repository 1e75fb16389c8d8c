//! Programs that run others: the command that they run, and where.

use super::Call;
use crate::gate::category::{EXTERNAL_MESSAGE, PERSISTENCE, PROCESS_KILL};
use crate::gate::effect::{Act, UNKNOWN, Verdict};
use crate::gate::shell::Dialect;
use crate::gate::shell::expand::Word;
use crate::gate::shell::paths::Change;
use crate::gate::shell::program::host;
use crate::gate::shell::walk::{Input, Walk};

/// How many places are tried at which a command in a container may begin.
const INSIDE_PLACES_MAX: usize = 12;

impl Walk<'_> {
    /// `env`: assignments, then a command.
    pub(super) fn env(&mut self, call: Call<'_>) -> Option<String> {
        let mut at = 0;
        let mut folder = self.folder().map(str::to_owned);
        while let Some(word) = call.words.get(at) {
            let Some(text) = word.known() else {
                if let Some((name, _)) = word.text().split_once('=') {
                    let name = name.to_owned();
                    self.runner(&name, "?", None, None);
                    self.given.push(name);
                    at += 1;
                    continue;
                }
                break;
            };
            match text {
                "-u" | "--unset" => at += 1,
                "-C" | "--chdir" => {
                    at += 1;
                    folder = call.words.get(at).and_then(Word::known).map(|path| self.plain(path));
                }
                "-S" | "--split-string" | "-vS" => {
                    let code = call.words.get(at + 1);
                    return self.split_string(code.and_then(Word::known), call, at + 2);
                }
                _ if text.starts_with("-S") || text.starts_with("--split-string=") => {
                    let code = text.strip_prefix("--split-string=").or(text.strip_prefix("-S"));
                    return self.split_string(code, call, at + 1);
                }
                _ if text.starts_with("--chdir=") => folder = Some(self.plain(&text["--chdir=".len()..])),
                _ if text.starts_with('-') => {}
                _ => match text.split_once('=') {
                    Some((name, value)) => {
                        self.runner(name, value, Some(value), None);
                        self.given.push(name.to_owned());
                    }
                    None => break,
                },
            }
            at += 1;
        }
        let command = call.words.get(at..).unwrap_or_default();
        let folder = folder.filter(|folder| folder != UNKNOWN);
        self.in_folder(folder, |walk| walk.inner(command, call.input))
    }

    fn split_string(&mut self, code: Option<&str>, call: Call<'_>, from: usize) -> Option<String> {
        let Some(parts) = code.and_then(shlex::split) else {
            self.opaque("", "runs a command that can't be known");
            return None;
        };
        let mut words: Vec<Word> = parts
            .into_iter()
            .map(|part| if part.contains('$') { Word::unknown_operand() } else { Word::plain(part) })
            .collect();
        words.extend(call.words.get(from..).unwrap_or_default().iter().cloned());
        self.program("env", &words, call.input)
    }

    /// `xargs`: a command whose last operands are read.
    pub(super) fn xargs(&mut self, call: Call<'_>) {
        let at = command_after_options(
            call.words,
            &[
                "-I", "-i", "-n", "-L", "-P", "-s", "-d", "-E", "-a", "--arg-file", "--max-args", "--max-procs",
                "--max-lines", "--delimiter", "--replace", "--max-chars", "--eof", "--process-slot-var",
            ],
        );
        let Some(command) = at.and_then(|at| call.words.get(at..)) else {
            self.opaque("", "runs a program whose options can't be known");
            return;
        };
        let replaced = replaced_text(call.words.get(..at.unwrap_or_default()).unwrap_or_default());
        let mut words: Vec<Word> = command.to_vec();
        match replaced {
            Some(mark) => {
                for (index, word) in words.iter_mut().enumerate() {
                    if word.known().is_some_and(|text| text.contains(&mark)) {
                        // As the program or in code, what is read decides what runs.
                        *word = if index == 0 { Word::unknown() } else { Word::unknown_operand() };
                    }
                }
            }
            None => match read_words(call.input).filter(|_| at == Some(0)) {
                Some(read) => words.extend(read),
                None => {
                    if words.first().is_some_and(|word| matches!(word.known(), Some("find" | "gfind"))) {
                        self.opaque("", "what is read may be an action that deletes or runs");
                    }
                    // Two, so that what takes an operand before its command has a command.
                    words.extend([Word::unknown_operand(), Word::unknown_operand()]);
                }
            },
        }
        if command.is_empty() {
            return;
        }
        self.inner(&words, &Input::Unknown);
    }

    /// `parallel`: a command as code, with operands from elsewhere.
    pub(super) fn parallel(&mut self, call: Call<'_>) {
        let Some(at) = command_after_options(
            call.words,
            &["-j", "--jobs", "-n", "-N", "-a", "--arg-file", "-I", "-P", "--colsep", "-L", "--joblog"],
        ) else {
            self.opaque("", "runs a program whose options can't be known");
            return;
        };
        let words: Vec<&Word> = call.words.iter().skip(at).take_while(|word| !word.text().starts_with(":::")).collect();
        let has_sources = call.words.len() > at + words.len();
        let known: Option<Vec<&str>> = words.iter().map(|word| word.known()).collect();
        match known {
            Some(words) if !words.is_empty() && words.first().is_some_and(|first| !first.contains('{')) => {
                let code = words.join(" ");
                self.hidden_code(&code, Input::Unknown);
                // What `{}` stands for is put into the code quoted; without it, it is added at the end.
                if let Some(mut parts) = shlex::split(&code).filter(|parts| parts.len() > 1 || has_sources) {
                    parts.push(UNKNOWN.to_owned());
                    let mut inner: Vec<Word> = parts.into_iter().map(Word::plain).collect();
                    inner.pop();
                    inner.push(Word::unknown_operand());
                    self.inner(&inner, &Input::Unknown);
                }
            }
            _ => self.opaque("", "runs commands that can't be known"),
        }
    }

    /// `watch`: its operands are code when they are put together.
    pub(super) fn joined(&mut self, call: Call<'_>) {
        let words: Option<Vec<&str>> = call.args.operands.iter().map(|word| word.known()).collect();
        match words {
            Some(words) => drop(self.foreign_code(Dialect::Bash, &words.join(" "), None, Input::None)),
            None => self.unseen_code("runs shell code that can't be known"),
        }
    }

    /// `ssh host command`.
    pub(super) fn ssh(&mut self, call: Call<'_>) {
        let Some((first, command)) = call.args.operands.split_first() else { return };
        let host = host(first).unwrap_or_else(|| UNKNOWN.to_owned());
        self.effect(Verdict::External, EXTERNAL_MESSAGE, Act::Contact { host }, None, "works on another machine");
        for option in call.args.values(&["-o"]) {
            if option.text().is_none_or(|text| text.to_ascii_lowercase().contains("command")) {
                self.opaque("", "an option that runs a command");
            }
        }
        if command.is_empty() {
            self.opaque("", "a shell on another machine runs what it is fed");
            return;
        }
        let known: Option<Vec<&str>> = command.iter().map(|word| word.known()).collect();
        match known {
            // Its paths are those of the other machine.
            Some(words) => {
                drop(self.in_folder(None, |walk| {
                    walk.foreign_code(Dialect::Bash, &words.join(" "), None, call.input.clone())
                }))
            }
            None => self.opaque("", "runs commands on another machine that can't be known"),
        }
    }

    /// `docker exec c command`, `kubectl exec pod -- command`: opaque by the table, stricter by the command.
    pub(super) fn inside(&mut self, call: Call<'_>) {
        let is_verb = |word: &Word| matches!(word.known(), Some("exec" | "run" | "debug"));
        let Some(at) = call.words.iter().position(is_verb) else { return };
        let rest = &call.words[at + 1..];
        let dashes = rest.iter().position(|word| word.known() == Some("--")).map(|at| at + 1);
        // Options that take a word hide where the command begins, so each place where it may begin is read.
        let first = dashes.unwrap_or(0);
        let last = if dashes.is_some() { first } else { first + INSIDE_PLACES_MAX };
        for command in (first..=last).filter_map(|at| rest.get(at..)) {
            let is_program =
                |name: &str| !name.starts_with('-') && self.programs.knows(name.rsplit('/').next().unwrap_or(name));
            if command.first().and_then(Word::known).is_some_and(is_program) {
                self.hidden += 1;
                self.in_folder(None, |walk| walk.inner(command, &Input::Unknown));
                self.hidden -= 1;
            }
        }
    }

    /// `npx tool`, `poetry run tool`: what the project's environment runs, which is judged like the tool itself.
    pub(super) fn project(&mut self, call: Call<'_>) {
        let is_direct = matches!(call.name, "npx" | "bunx" | "uvx" | "pipx" | "uv-run");
        let words = match call.words {
            words if is_direct => words,
            [verb, rest @ ..] if matches!(verb.known(), Some("run" | "exec" | "x")) => rest,
            _ => return,
        };
        let harmless = |word: &&Word| matches!(word.known(), Some("-y" | "--yes" | "--no-install" | "--no" | "--"));
        let at = words.iter().take_while(harmless).count();
        let command = words.get(at..).unwrap_or_default();
        let is_pipx =
            matches!(command.first().and_then(Word::known), Some("list" | "install" | "uninstall" | "upgrade"));
        match command.first().and_then(Word::known) {
            Some(_) if is_direct && is_pipx => {}
            Some(name) if !name.starts_with('-') && !name.contains('/') => drop(self.inner(command, call.input)),
            _ => self.opaque("", "runs something in the project's environment"),
        }
    }

    /// `tee file`.
    pub(super) fn tee(&mut self, call: Call<'_>) {
        let adds = call.args.any(&["-a", "--append"]);
        for file in &call.args.operands {
            let change = match (adds, call.input) {
                (true, _) => Change::Add,
                (false, Input::Text(text)) if text.is_empty() => Change::Empty,
                (false, _) => Change::Replace,
            };
            self.change(file, change, None);
        }
    }

    /// `dd if=.. of=..`.
    pub(super) fn dd(&mut self, call: Call<'_>) {
        for word in call.words {
            if word.known().is_none() && !word.text().contains('=') {
                self.opaque("", "its operands can't be known");
            } else if word.text().starts_with("of=") {
                self.change(&word.after("of=".len()), Change::Empty, None);
            }
        }
    }

    /// `crontab`: anything but a look at it changes what runs later.
    pub(super) fn crontab(&mut self, call: Call<'_>) {
        if !matches!(call.words, [only] if only.known() == Some("-l")) {
            self.effect(Verdict::Destructive, PERSISTENCE, Act::Other, None, "replaces what runs by schedule");
        }
    }

    /// `kill`: signal 0 and lists only ask; jobs of the line itself are its own.
    pub(super) fn kill(&mut self, call: Call<'_>) {
        let known = |word: &Word, wanted: &[&str]| word.known().is_some_and(|text| wanted.contains(&text));
        let only_asks = call.words.first().is_some_and(|first| known(first, &["-l", "-L", "-0"]))
            || matches!(call.words, [s, zero, ..] if known(s, &["-s"]) && known(zero, &["0"]));
        let own = call.words.iter().filter(|word| !word.text().starts_with('-') || word.known().is_none());
        let own: Vec<&Word> = own.collect();
        let are_jobs = !own.is_empty() && own.iter().all(|word| word.text().starts_with('%'));
        let are_last = self
            .command_text()
            .split_whitespace()
            .skip(1)
            .all(|word| word.starts_with('-') || matches!(word, "$!" | "\"$!\"" | "${!}"))
            && self.command_text().contains('!');
        if !only_asks && !are_jobs && !are_last {
            self.effect(Verdict::Destructive, PROCESS_KILL, Act::Other, None, "ends processes");
        }
    }
}

/// Where the command begins after options, of which `valued` take a word; nothing if an option can't be known.
fn command_after_options(words: &[Word], valued: &[&str]) -> Option<usize> {
    let mut at = 0;
    while let Some(word) = words.get(at) {
        if word.splits() {
            return None;
        }
        let text = word.text();
        if word.known() == Some("--") {
            return Some(at + 1);
        }
        if !text.starts_with('-') {
            break;
        }
        at += 1 + usize::from(valued.contains(&text));
    }
    Some(at.min(words.len()))
}

/// The words that `xargs` without options makes of what it reads, if that is known.
fn read_words(input: &Input) -> Option<Vec<Word>> {
    let Input::Text(text) = input else { return None };
    let is_plain = !text.contains(['\'', '"', '\\']);
    is_plain.then(|| text.split_whitespace().map(Word::plain).collect())
}

/// What `xargs` replaces by what it reads, if it is told to.
fn replaced_text(options: &[Word]) -> Option<String> {
    let mut options = options.iter();
    while let Some(option) = options.next() {
        match option.text() {
            "-I" => return options.next().and_then(Word::known).map(str::to_owned),
            "-i" | "--replace" => return Some("{}".to_owned()),
            text => {
                let attached = text.strip_prefix("-I").or(text.strip_prefix("--replace=")).or(text.strip_prefix("-i"));
                if let Some(mark) = attached {
                    return Some(mark.to_owned());
                }
            }
        }
    }
    None
}
