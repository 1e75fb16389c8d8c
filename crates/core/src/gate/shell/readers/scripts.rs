//! Package managers of JavaScript, and runners of many packages at once: `npm run x`, `yarn x`, `lerna exec -- x`.
//!
//! They run a script of the project's, a tool that the project installed, or a command that the line names.

use super::ProgramCall;
use crate::gate::effect::{Act, Verdict};
use crate::gate::shell::Dialect;
use crate::gate::shell::expand::ShellWord;
use crate::gate::shell::paths::PathChange;
use crate::gate::shell::programs::{Reader, WordList};
use crate::gate::shell::walk::{ShellWalk, StandardInput};
use crate::words::category::{DEPLOY, GIT_PUSH, OPAQUE_EXEC, PACKAGE_CHANGE};

/// Names that are usual for scripts, and programs of another kind.
const USUAL_SCRIPTS: [&str; 34] = [
    "test", "start", "stop", "watch", "build", "install", "link", "env", "set", "kill", "time", "open", "format",
    "check", "serve", "dev", "lint", "release", "deploy", "publish", "fix", "clean", "log", "update", "split", "host",
    "make", "docker", "go", "help", "script", "screen", "sort", "clear",
];

impl ShellWalk<'_> {
    /// `npm`, `pnpm`, `yarn`, `bun`: what is run beyond the table's subcommands.
    pub(super) fn scripts(&mut self, call: ProgramCall<'_>) {
        // Code on the line is read where `bun` is a runtime.
        let is_code = |word: &ShellWord| matches!(word.text(), "-e" | "--eval" | "-p" | "--print");
        if call.name == "bun" && call.words.first().is_some_and(is_code) {
            return;
        }
        let asks = |word: &ShellWord| matches!(word.text(), "-v" | "-h" | "--help" | "--version");
        let only_options = call.words.iter().all(|word| word.text().starts_with('-'));
        if call.name == "yarn" && only_options && !call.words.iter().any(asks) {
            self.effect(Verdict::Ask, PACKAGE_CHANGE, Act::Other, None, "changes packages");
        }
        // To pnpm it is no workspace's name, but the root of all, and the next word is the subcommand.
        let is_root = |word: &ShellWord| call.name == "pnpm" && word.text() == "-w";
        let options = call.words.iter().take_while(|word| word.text().starts_with('-'));
        if let Some(at) = options.enumerate().find_map(|(at, word)| is_root(word).then_some(at)) {
            let rest: Vec<ShellWord> = [&call.words[..at], &call.words[at + 1..]].concat();
            self.program(call.name, &rest, call.input);
            return;
        }
        self.script_verb(call, call.words);
    }

    /// The words from a subcommand on.
    fn script_verb(&mut self, call: ProgramCall<'_>, words: &[ShellWord]) {
        let valued = ["--prefix", "-C", "--dir", "--cwd", "-w", "--workspace", "--filter", "-F", "--loglevel"];
        let Some((verb, rest)) = after_options(words, &valued).and_then(<[ShellWord]>::split_first) else { return };
        let Some(name) = verb.known() else {
            self.opaque("", "a subcommand that can't be known");
            return;
        };
        match name {
            "run" | "run-script" | "rum" | "urn" | "task" => {
                let valued = ["-w", "--workspace", "--filter", "--prefix", "-C", "--cwd"];
                if let Some((script, given)) = after_options(rest, &valued).and_then(<[ShellWord]>::split_first) {
                    self.script(call, script, given);
                }
            }
            "exec" | "x" => self.executed(call, rest),
            "node" if call.name != "npm" => drop(self.program("node", rest, call.input)),
            "dlx" | "create" => {
                let command = after_options(rest, &["-p", "--package"]).unwrap_or_default();
                if name == "dlx"
                    && command.first().and_then(ShellWord::known).is_some_and(|name| self.programs.knows(name))
                {
                    self.inner(command, call.input);
                }
            }
            "start" | "stop" | "restart" | "test" | "t" | "tst" => self.passed_on(rest),
            "workspace" if call.name == "yarn" => {
                self.program("yarn", rest.get(1..).unwrap_or_default(), call.input);
            }
            "workspaces" if call.name == "yarn" => {
                let rest = rest.strip_prefix(&[ShellWord::plain("foreach")]).unwrap_or(rest);
                let valued = ["--from", "--include", "--exclude", "--jobs", "-j", "--since"];
                if let Some(rest) = after_options(rest, &valued).filter(|rest| !rest.is_empty()) {
                    self.program("yarn", rest, call.input);
                }
            }
            _ if self.is_subcommand(call.name, name) => {}
            // `yarn jest`, `pnpm build`: a script of the project's, or a tool that it installed.
            _ if call.name != "npm" => {
                if !self.script(call, verb, rest) {
                    self.opaque("", "a subcommand that is not known");
                }
            }
            _ => self.opaque("", "a subcommand that is not known"),
        }
    }

    /// A script by its name; says whether anything is known of it. All but npm take a tool's name for the tool.
    fn script(&mut self, call: ProgramCall<'_>, script: &ShellWord, given: &[ShellWord]) -> bool {
        self.task(script);
        self.passed_on(given);
        self.passed_tasks(call, script, given);
        let is_file = |name: &str| {
            name.rsplit_once('.').is_some_and(|(_, ending)| {
                matches!(ending, "js" | "ts" | "mjs" | "cjs" | "mts" | "cts" | "jsx" | "tsx" | "sh")
            })
        };
        if call.name == "bun" && script.known().is_none_or(is_file) {
            self.opaque("", "runs a file whose content is not known");
            return true;
        }
        if let Some(name) = script.known()
            && call.name != "npm"
            && !USUAL_SCRIPTS.contains(&name)
            && self.programs.knows(name)
            && !name.contains('/')
        {
            self.program(name, given, call.input);
            return true;
        }
        script.known().is_some_and(|name| USUAL_SCRIPTS.contains(&name))
    }

    /// Words that are passed on to a script: an address to listen on, or a place to write.
    fn passed_on(&mut self, given: &[ShellWord]) {
        self.passes_address(given);
        for (at, word) in given.iter().enumerate() {
            let text = word.text();
            let (option, place) = match text.split_once('=') {
                Some((option, _)) => (option, Some(word.after(option.len() + 1))),
                None => (text, given.get(at + 1).filter(|next| !next.text().starts_with('-')).cloned()),
            };
            let change = match option {
                // A folder that bundlers empty.
                "--outDir" | "--emptyOutDir" => PathChange::Clear,
                "--outdir"
                | "--out-dir"
                | "--output-dir"
                | "--output-path"
                | "--outFile"
                | "--outfile"
                | "--output"
                | "--out"
                | "--outputFile"
                | "--coverageDirectory"
                | "--dist-dir"
                | "--dest"
                | "-o" => PathChange::Make,
                _ => continue,
            };
            if let Some(place) = place.filter(|place| !matches!(place.known(), Some("true" | "false"))) {
                self.change(&place, change, None);
            }
        }
    }

    /// `npm run cdk deploy`: to a script that is a tool with subcommands, a word says what it does. To one that
    /// tests, checks or builds, it rather says what with.
    fn passed_tasks(&mut self, call: ProgramCall<'_>, script: &ShellWord, given: &[ShellWord]) {
        let about_files = [
            "test", "lint", "check", "format", "build", "e2e", "spec", "unit", "type", "cover", "watch", "jest",
            "mocha", "prettier", "tsc", "cypress", "playwright", "start", "dev",
        ];
        let is_about_files = script.known().is_none_or(|name| {
            let name = name.to_ascii_lowercase();
            about_files.iter().any(|part| name.contains(part)) || (call.name != "npm" && self.programs.knows(&name))
        });
        if is_about_files {
            return;
        }
        let mut is_value = false;
        for word in given {
            let is_option = word.text().starts_with('-');
            if !is_option && !is_value && word.known().is_some() {
                self.task(word);
            }
            is_value = is_option && word.text().len() > 2 && !word.text().contains('=');
        }
    }

    /// `npm exec -- jest`, `npm exec -c 'jest'`, `pnpm exec jest`.
    fn executed(&mut self, call: ProgramCall<'_>, words: &[ShellWord]) {
        let takes_code = |word: &ShellWord| matches!(word.text(), "-c" | "--call" | "--shell-mode");
        let valued = ["-p", "--package", "-w", "--workspace", "--filter"];
        if let Some(at) = words.iter().take_while(|word| word.text().starts_with('-')).position(takes_code) {
            self.joined_code(&words[at + 1..]);
            return;
        }
        let fetches = |word: &ShellWord| matches!(word.text(), "-p") || word.text().starts_with("--package");
        if words.iter().take_while(|word| word.text().starts_with('-')).any(fetches) {
            self.opaque("", "fetches a program and runs it");
        }
        let command = after_options(words, &valued).unwrap_or_default();
        match command.first().and_then(ShellWord::known) {
            Some(name) if !name.contains('/') => drop(self.inner(command, call.input)),
            Some(_) | None => self.opaque("", "fetches a program and runs it"),
        }
    }

    /// Words that a shell gets as one line of code.
    fn joined_code(&mut self, words: &[ShellWord]) {
        let known: Option<Vec<&str>> = words.iter().map(ShellWord::known).collect();
        match known {
            Some(words) => drop(self.foreign_code(Dialect::Sh, &words.join(" "), None, StandardInput::Unknown)),
            None => self.opaque("", "runs commands that can't be known"),
        }
    }

    /// True if the table has `verb` as a subcommand of `name`.
    fn is_subcommand(&self, name: &str, verb: &str) -> bool {
        self.programs.get(name).any(|entry| {
            let first =
                |words: &WordList| words.iter().next().is_some_and(|words| words.split('|').any(|word| word == verb));
            entry.rules.iter().any(|rule| first(&rule.words))
        })
    }

    /// `deno`, `bun`: subcommands of a package manager, or a script that is run.
    pub(super) fn runtime(&mut self, call: ProgramCall<'_>) {
        let is_code = |word: &ShellWord| matches!(word.text(), "-e" | "--eval" | "-p" | "--print");
        if call.words.first().is_some_and(is_code) {
            self.interpreter(Reader::Node, call);
            return;
        }
        let first = call.words.iter().find(|word| !word.text().starts_with('-'));
        let Some(verb) = first.and_then(|word| word.known()) else {
            self.interpreter(Reader::Node, call);
            return;
        };
        let rest = call.words.iter().skip_while(|word| word.known() != Some(verb)).skip(1);
        let rest: Vec<ShellWord> = rest.cloned().collect();
        let is_elsewhere = |word: &ShellWord| {
            word.known().is_some_and(|text| {
                text.contains("://") || text.starts_with("npm:") || text.starts_with("jsr:") || self.is_outside(text)
            })
        };
        let elsewhere = rest.iter().filter(|word| !word.text().starts_with('-')).any(is_elsewhere);
        match verb {
            "eval" if call.name == "deno" => match rest.iter().find(|word| !word.text().starts_with('-')) {
                Some(code) => {
                    let fetches = ["://", "npm:", "jsr:"].iter().any(|address| code.text().contains(address));
                    if fetches && code.text().contains("import") {
                        self.opaque("", "runs code from elsewhere");
                    }
                    let words = [ShellWord::plain("-e"), code.clone()];
                    self.program("node", &words, call.input);
                }
                None => self.opaque("", "runs code that can't be known"),
            },
            "task" => {
                let valued = ["-c", "--config", "--cwd"];
                if rest.iter().any(|word| matches!(word.text(), "--eval" | "--evaluate")) {
                    self.joined_code(after_options(&rest, &valued).unwrap_or_default());
                } else if let Some(task) = after_options(&rest, &valued).and_then(<[ShellWord]>::first) {
                    self.task(task);
                }
            }
            "test" | "bench" | "lint" | "fmt" | "check" if elsewhere => {
                self.opaque("", "runs code from elsewhere");
            }
            _ if self.is_subcommand(call.name, verb) => {}
            _ => self.opaque("", "runs a file whose content is not known"),
        }
    }

    /// `lerna`, `nx`, `turbo`: one task or command in many packages.
    pub(super) fn workspace(&mut self, call: ProgramCall<'_>) {
        let valued = [
            "--scope", "--ignore", "--since", "--filter", "-F", "--concurrency", "-p", "--projects", "-t", "--target",
            "--targets", "--parallel", "--base", "--head", "--cwd", "--exclude", "-c", "--configuration",
        ];
        let Some((verb, rest)) = after_options(call.words, &valued).and_then(<[ShellWord]>::split_first) else {
            return;
        };
        match (call.name, verb.known()) {
            ("lerna" | "nx", Some("exec")) => {
                let command = after_options(rest, &valued).unwrap_or_default();
                match command {
                    [only] => self.joined_code(std::slice::from_ref(only)),
                    command => drop(self.inner(command, call.input)),
                }
            }
            ("lerna", Some("version")) => {
                if !rest.iter().any(|word| word.text() == "--no-push") {
                    self.effect(Verdict::External, GIT_PUSH, Act::Other, None, "tags and pushes what it versions");
                }
            }
            ("nx", Some("release")) => {
                let is = |word: &ShellWord, option: &str| word.text().starts_with(option);
                let is_tried = rest.iter().any(|word| matches!(word.text(), "--dry-run" | "-d"));
                if !is_tried || rest.iter().any(|word| is(word, "--no-d") || is(word, "--dry-run=")) {
                    self.effect(Verdict::External, DEPLOY, Act::Other, None, "publishes a release");
                }
            }
            ("nx", Some("watch")) => {
                let at = rest.iter().position(|word| word.known() == Some("--")).map_or(rest.len(), |at| at + 1);
                match &rest[at..] {
                    [] => self.opaque("", "runs a command that is not seen"),
                    command => self.joined_code(command),
                }
            }
            ("lerna" | "nx" | "turbo" | "moon" | "rush", Some("run" | "run-many" | "affected" | "run-one")) => {
                rest.iter().filter(|word| !word.text().starts_with('-')).for_each(|word| self.task(word));
            }
            ("nx" | "turbo", Some(_)) => {
                self.task(verb);
                if call.name == "turbo" {
                    rest.iter().filter(|word| !word.text().starts_with('-')).for_each(|word| self.task(word));
                }
            }
            (_, Some(_)) => {}
            (_, None) => {
                self.effect(Verdict::Opaque, OPAQUE_EXEC, Act::Other, None, "runs a task that can't be known");
            }
        }
    }
}

/// `words` without the options before the first that is none; nothing if an option can't be known.
pub(super) fn after_options<'a>(words: &'a [ShellWord], valued: &[&str]) -> Option<&'a [ShellWord]> {
    let mut at = 0;
    while let Some(word) = words.get(at) {
        if word.known() == Some("--") {
            return words.get(at + 1..);
        }
        if !word.text().starts_with('-') {
            break;
        }
        at += 1 + usize::from(valued.contains(&word.text()));
    }
    words.get(at..)
}
