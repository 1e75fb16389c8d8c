//! Programs that run others: the command that they run, and where.

use super::ProgramCall;
use super::scripts::after_options;
use crate::gate::effect::{Act, UNKNOWN, Verdict};
use crate::gate::shell::Dialect;
use crate::gate::shell::args::{ArgValue, Leading, leading};
use crate::gate::shell::expand::ShellWord;
use crate::gate::shell::paths::PathChange;
use crate::gate::shell::program::{host, word_of};
use crate::gate::shell::walk::{ShellWalk, StandardInput};
use crate::words::category::{EXTERNAL_MESSAGE, PERSISTENCE, PROCESS_KILL};

/// The most places that are tried for the beginning of a command in a container.
const INSIDE_PLACES_MAX: usize = 12;

/// Options that take a value, of what runs commands in a project's environment, before its subcommand.
const BEFORE_RUN: [&str; 14] = [
    "-C", "--directory", "--project", "-P", "-p", "-e", "--env", "--cwd", "--working-dir", "--python", "--config-file",
    "--cache-dir", "--config", "--allow-insecure-host",
];

impl ShellWalk<'_> {
    /// `env`: options, assignments, then a command.
    pub(super) fn env(&mut self, call: ProgramCall<'_>) -> Option<String> {
        const VALUED: [&str; 8] = ["-u", "--unset", "-C", "--chdir", "-S", "--split-string", "-a", "--argv0"];
        let options = leading(call.words, &VALUED, &[]);
        let mut folder = self.folder().map(str::to_owned);
        for option in &options.options {
            if option.is(&["-S", "--split-string"]) {
                let code = option.value.and_then(ArgValue::text).map(str::to_owned);
                return self.split_string(code.as_deref(), call, option.next);
            }
            if option.is(&["-C", "--chdir"]) {
                folder = option.value.and_then(ArgValue::text).map(|path| self.plain(path));
            }
        }
        if options.is_unsure {
            self.opaque("", "runs a program whose options can't be known");
        }
        let mut at = options.at;
        // `env - A=1 ls`: the same as `-i`.
        at += usize::from(call.words.get(at).and_then(ShellWord::known) == Some("-"));
        while let Some((name, value)) = call.words.get(at).and_then(|word| word.text().split_once('=')) {
            let value = call.words.get(at).and_then(ShellWord::known).map(|_| value);
            self.runner(name, value.unwrap_or("?"), value, None);
            self.given.push(name.to_owned());
            at += 1;
        }
        let command = call.words.get(at..).unwrap_or_default();
        let folder = folder.filter(|folder| folder != UNKNOWN);
        self.in_folder(folder, |walk| walk.inner(command, call.input))
    }

    fn split_string(&mut self, code: Option<&str>, call: ProgramCall<'_>, from: usize) -> Option<String> {
        // `\_` and the like stand for spaces.
        let spaced = code.map(|code| {
            ["\\_", "\\t", "\\n", "\\v", "\\f", "\\r"]
                .iter()
                .fold(code.to_owned(), |code, space| code.replace(space, " "))
        });
        let Some(parts) = spaced.as_deref().and_then(shlex::split) else {
            self.opaque("", "runs a command that can't be known");
            return None;
        };
        // It puts variables in itself, and what begins with one may become an option.
        let may_be_option = |part: &String| part.contains('$') && part.starts_with(['$', '-']);
        if parts.iter().any(may_be_option) {
            self.opaque("", "runs a program whose options can't be known");
        }
        let word = |part: String| match part.contains('$') {
            false => ShellWord::plain(part),
            true if may_be_option(&part) => ShellWord::unknown(),
            true => ShellWord::unknown_operand(),
        };
        let mut words: Vec<ShellWord> = parts.into_iter().map(word).collect();
        words.extend(call.words.get(from..).unwrap_or_default().iter().cloned());
        self.program("env", &words, call.input)
    }

    /// `xargs`: a command whose last operands are read.
    pub(super) fn xargs(&mut self, call: ProgramCall<'_>) {
        const VALUED: [&str; 14] = [
            "-I", "-n", "-L", "-P", "-s", "-d", "-E", "-a", "--arg-file", "--max-args", "--max-procs", "--delimiter",
            "--max-chars", "--process-slot-var",
        ];
        let options = leading(call.words, &VALUED, &["-i", "-e", "-l"]);
        if options.is_unsure {
            self.opaque("", "runs a program whose options can't be known");
        }
        let at = options.at;
        let command = call.words.get(at..).unwrap_or_default();
        let replaced = replaced_text(&options);
        let mut words: Vec<ShellWord> = command.to_vec();
        match replaced {
            Some(mark) => {
                for (index, word) in words.iter_mut().enumerate() {
                    if word.known().is_some_and(|text| text.contains(&mark)) {
                        // As the program or in code, what is read decides what runs.
                        *word = if index == 0 { ShellWord::unknown() } else { ShellWord::unknown_operand() };
                    }
                }
            }
            None => match read_words(call.input).filter(|_| at == 0) {
                Some(read) => words.extend(read),
                None => {
                    if words.first().is_some_and(|word| matches!(word.known(), Some("find" | "gfind"))) {
                        self.opaque("", "what is read may be an action that deletes or runs");
                    }
                    // Two, so that what takes an operand before its command has a command.
                    words.extend([ShellWord::unknown_operand(), ShellWord::unknown_operand()]);
                }
            },
        }
        if command.is_empty() {
            return;
        }
        let before = self.effects().len();
        self.inner(&words, &StandardInput::Unknown);
        let found = self.found.clone();
        self.reaches(&found.iter().collect::<Vec<_>>(), before);
    }

    /// `parallel`: a command as code, with operands from elsewhere.
    pub(super) fn parallel(&mut self, call: ProgramCall<'_>) {
        const VALUED: [&str; 18] = [
            "-j", "--jobs", "-n", "--max-args", "-N", "--max-replace-args", "-a", "--arg-file", "-I", "-P",
            "--max-procs", "--colsep", "-L", "--joblog", "-S", "--sshlogin", "--results", "--timeout",
        ];
        let options = leading(call.words, &VALUED, &["-i", "-l", "-e"]);
        if options.options.iter().any(|option| option.is(&["-S", "--sshlogin", "--slf", "--sshloginfile"])) {
            let act = Act::Contact { host: UNKNOWN.to_owned() };
            self.effect(Verdict::External, EXTERNAL_MESSAGE, act, None, "works on other machines");
        }
        if options.is_unsure {
            self.opaque("", "runs a program whose options can't be known");
        }
        let at = options.at;
        let words: Vec<&ShellWord> =
            call.words.iter().skip(at).take_while(|word| !word.text().starts_with(":::")).collect();
        let has_sources = call.words.len() > at + words.len();
        let known: Option<Vec<&str>> = words.iter().map(|word| word.known()).collect();
        match known {
            Some(words) if !words.is_empty() && words.first().is_some_and(|first| !first.contains('{')) => {
                let code = words.join(" ");
                self.hidden_code(&code, StandardInput::Unknown);
                // What `{}` stands for is put into the code quoted; without it, it is added at the end.
                if let Some(mut parts) = shlex::split(&code).filter(|parts| parts.len() > 1 || has_sources) {
                    parts.push(UNKNOWN.to_owned());
                    let mut inner: Vec<ShellWord> = parts.into_iter().map(ShellWord::plain).collect();
                    inner.pop();
                    inner.push(ShellWord::unknown_operand());
                    self.inner(&inner, &StandardInput::Unknown);
                }
            }
            _ => self.opaque("", "runs commands that can't be known"),
        }
    }

    /// `watch`: its operands are code when they are put together.
    pub(super) fn joined(&mut self, call: ProgramCall<'_>) {
        let words: Option<Vec<&str>> = call.args.operands.iter().map(|word| word.known()).collect();
        match words {
            Some(words) => drop(self.foreign_code(Dialect::Bash, &words.join(" "), None, StandardInput::None)),
            None => self.unseen_code("runs shell code that can't be known"),
        }
    }

    /// `ssh host command`.
    pub(super) fn ssh(&mut self, call: ProgramCall<'_>) {
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
    pub(super) fn inside(&mut self, call: ProgramCall<'_>) {
        if matches!(call.name, "kubectl" | "oc" | "k3s-kubectl") {
            self.of_cluster(call);
        }
        let is_verb = |word: &ShellWord| matches!(word.known(), Some("exec" | "run" | "debug"));
        let has_verb = !matches!(call.name, "bwrap" | "firejail" | "systemd-nspawn");
        let at = if has_verb { call.words.iter().position(is_verb).map(|at| at + 1) } else { Some(0) };
        let Some(rest) = at.and_then(|at| call.words.get(at..)) else { return };
        let dashes = rest.iter().position(|word| word.known() == Some("--")).map(|at| at + 1);
        // Options that take a word hide where the command begins, so each place where it may begin is read.
        let first = dashes.unwrap_or(0);
        let places = if has_verb { INSIDE_PLACES_MAX } else { 8 * INSIDE_PLACES_MAX };
        let last = if dashes.is_some() { first } else { first + places };
        for command in (first..=last).filter_map(|at| rest.get(at..)) {
            let is_program =
                |name: &str| !name.starts_with('-') && self.programs.knows(name.rsplit('/').next().unwrap_or(name));
            if command.first().and_then(ShellWord::known).is_some_and(is_program) {
                self.hidden += 1;
                self.in_folder(None, |walk| walk.inner(command, &StandardInput::Unknown));
                self.hidden -= 1;
            }
        }
    }

    /// Reads `kubectl`: the places that it writes to, and the network that even a dry run uses.
    fn of_cluster(&mut self, call: ProgramCall<'_>) {
        // `kustomize -o folder`, while `-o` is how things are shown elsewhere.
        if call.args.operands.first().is_some_and(|verb| verb.known() == Some("kustomize")) {
            for folder in call.args.values(&["-o", "--output"]).map(word_of).collect::<Vec<_>>() {
                self.change(&folder, PathChange::Into, None);
            }
        }
        if call.args.values(&["--dry-run"]).any(|value| value.text().is_none_or(|text| text == "server")) {
            self.asks_host(UNKNOWN);
        }
        self.opens(call);
    }

    /// `npx tool`, `poetry run tool`: what the project's environment runs, which is judged like the tool itself.
    pub(super) fn project(&mut self, call: ProgramCall<'_>) {
        let is_direct = matches!(call.name, "npx" | "bunx" | "uvx" | "pipx" | "uv-run");
        let words = match after_options(call.words, &BEFORE_RUN).unwrap_or_default() {
            _ if is_direct => call.words,
            [env, verb, rest @ ..] if env.known() == Some("env") && verb.known() == Some("run") => {
                after_options(rest, &BEFORE_RUN).unwrap_or_default()
            }
            [verb, rest @ ..] if matches!(verb.known(), Some("run" | "exec" | "x")) => rest,
            _ => return,
        };
        if call.name == "hatch" {
            self.in_environment(words, call.input);
            return;
        }
        let harmless = |word: &&ShellWord| {
            let uvs =
                ["--frozen", "--locked", "--no-sync", "--offline", "--all-extras", "--all-groups", "-q", "--quiet"];
            matches!(word.known(), Some("-y" | "--yes" | "--no-install" | "--no" | "--"))
                || (matches!(call.name, "uv" | "rye") && word.known().is_some_and(|word| uvs.contains(&word)))
        };
        let mut at = words.iter().take_while(harmless).count();
        // `conda run -n base pytest`
        if matches!(call.name, "conda" | "mamba" | "micromamba")
            && words.get(at).is_some_and(|word| matches!(word.known(), Some("-n" | "--name")))
        {
            at += 2;
        }
        let command = words.get(at..).unwrap_or_default();
        let is_pipx =
            matches!(command.first().and_then(ShellWord::known), Some("list" | "install" | "uninstall" | "upgrade"));
        match command.first().and_then(ShellWord::known) {
            Some(_) if is_direct && is_pipx => {}
            Some(name) if !name.starts_with('-') && !name.contains('/') => drop(self.inner(command, call.input)),
            _ => self.opaque("", "runs something in the project's environment"),
        }
    }

    /// `hatch run lint:check`, `hatch run python -m x`: a script of the project's, or a command.
    fn in_environment(&mut self, words: &[ShellWord], input: &StandardInput) {
        let Some((first, rest)) = words.split_first() else { return };
        let Some(name) = first.known() else {
            self.opaque("", "runs something in the project's environment");
            return;
        };
        let name = name.rsplit_once(':').map_or(name, |(_, name)| name);
        if name.contains('/') || self.programs.knows(name) {
            let command: Vec<ShellWord> = std::iter::once(ShellWord::plain(name)).chain(rest.iter().cloned()).collect();
            self.inner(&command, input);
        } else {
            self.task(first);
        }
    }

    /// `tee file`.
    pub(super) fn tee(&mut self, call: ProgramCall<'_>) {
        let adds = call.args.any(&["-a", "--append"]);
        for file in &call.args.operands {
            let change = match (adds, call.input) {
                (true, _) => PathChange::Add,
                (false, StandardInput::Text(text)) if text.is_empty() => PathChange::Empty,
                (false, _) => PathChange::Replace,
            };
            self.change(file, change, None);
        }
    }

    /// `dd if=.. of=..`.
    pub(super) fn dd(&mut self, call: ProgramCall<'_>) {
        for word in call.words {
            if word.known().is_none() && !word.text().contains('=') {
                self.opaque("", "its operands can't be known");
            } else if word.text().starts_with("of=") {
                self.change(&word.after("of=".len()), PathChange::Empty, None);
            }
        }
    }

    /// `crontab`: anything but a look at it changes what runs later.
    pub(super) fn crontab(&mut self, call: ProgramCall<'_>) {
        if !matches!(call.words, [only] if only.known() == Some("-l")) {
            self.effect(Verdict::Destructive, PERSISTENCE, Act::Other, None, "replaces what runs by schedule");
        }
    }

    /// `kill`: signal 0 and lists only ask; jobs of the line itself are its own.
    pub(super) fn kill(&mut self, call: ProgramCall<'_>) {
        let known = |word: &ShellWord, wanted: &[&str]| word.known().is_some_and(|text| wanted.contains(&text));
        let only_asks = call.words.first().is_some_and(|first| known(first, &["-l", "-L", "-0"]))
            || matches!(call.words, [s, zero, ..] if known(s, &["-s"]) && known(zero, &["0"]));
        let own = call.words.iter().filter(|word| !word.text().starts_with('-') || word.known().is_none());
        let own: Vec<&ShellWord> = own.collect();
        let are_jobs = !own.is_empty() && own.iter().all(|word| word.text().starts_with('%'));
        let are_last = self
            .command_text()
            .split_whitespace()
            .skip(1)
            .all(|word| word.starts_with('-') || matches!(word, "$!" | "\"$!\"" | "${!}"))
            && self.command_text().contains('!');
        // Behind the signal `-1` is every process there is, and `-5` a group.
        let is_group = |word: &ShellWord| {
            word.text().strip_prefix('-').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
        };
        let are_groups = call.words.iter().skip(1).any(is_group);
        if !only_asks && (are_groups || !are_jobs && !are_last) {
            self.effect(Verdict::Destructive, PROCESS_KILL, Act::Other, None, "ends processes");
        }
    }
}

/// The words that `xargs` without options makes of what it reads, if that is known.
fn read_words(input: &StandardInput) -> Option<Vec<ShellWord>> {
    let StandardInput::Text(text) = input else { return None };
    let is_plain = !text.contains(['\'', '"', '\\']);
    is_plain.then(|| text.split_whitespace().map(ShellWord::plain).collect())
}

/// Returns the text that `xargs` replaces with its input; `None` if it replaces none.
fn replaced_text(options: &Leading<'_>) -> Option<String> {
    let replacing = options.options.iter().rev().find(|option| option.is(&["-I", "-i", "--replace"]))?;
    match replacing.value {
        Some(value) => value.text().map(str::to_owned),
        None => Some("{}".to_owned()),
    }
}
