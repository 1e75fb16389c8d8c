//! Builds and tests whose options say more than the table can: settings on the line, words that are passed on, and
//! options whose value is a list.

use super::ProgramCall;
use super::compilers::runs_programs;
use super::scripts::after_options;
use crate::gate::effect::{Act, Verdict};
use crate::gate::shell::expand::ShellWord;
use crate::gate::shell::paths::PathChange;
use crate::gate::shell::program::is_program_folder;
use crate::gate::shell::walk::{ShellWalk, StandardInput};
use crate::words::category::DEPLOY;

/// Switches of `msbuild` that may be written with a slash, so that they are no paths.
const SWITCHES: [&str; 30] = [
    "t",
    "target",
    "p",
    "property",
    "m",
    "maxcpucount",
    "r",
    "restore",
    "nologo",
    "v",
    "verbosity",
    "bl",
    "binarylogger",
    "fl",
    "flp",
    "clp",
    "consoleloggerparameters",
    "nr",
    "nodereuse",
    "noautorsp",
    "noconlog",
    "graph",
    "isolate",
    "low",
    "tl",
    "warnaserror",
    "nowarn",
    "l",
    "logger",
    "ds",
];

/// Properties of `msbuild` that name a file or folder to write.
const MADE: [&str; 18] = [
    "outputpath",
    "outdir",
    "baseoutputpath",
    "intermediateoutputpath",
    "baseintermediateoutputpath",
    "publishdir",
    "publishurl",
    "packageoutputpath",
    "artifactspath",
    "documentationfile",
    "restorepackagespath",
    "nugetpackageroot",
    "compilergeneratedfilesoutputpath",
    "errorlog",
    "vstestresultsdirectory",
    "coverletoutput",
    "msbuildprojectextensionspath",
    "nugetlockfilepath",
];

impl ShellWalk<'_> {
    /// Reads a build's own words beyond the table's rules.
    pub(super) fn build(&mut self, call: ProgramCall<'_>) {
        match call.name {
            "dotnet" | "msbuild" => self.dotnet(call),
            "cmake" => self.cmake_project(call),
            "meson" => self.meson(call),
            "cargo" => self.cargo(call),
            "coverage" => self.measured(call),
            "tox" | "nox" => self.sessions(call),
            "make" | "gmake" | "bmake" | "remake" => call.words.iter().for_each(|word| self.make_variable(word)),
            "bazel" | "bazelisk" | "buck2" => {
                let options = call.words.iter().filter_map(|word| word.text().strip_prefix("--host_jvm_args="));
                if options.filter(|option| !option.starts_with("-X")).count() > 0 {
                    self.opaque("", "names code that is loaded or run");
                }
            }
            "phpcs" | "phpcbf" => self.reports(call),
            "node" | "nodejs" => {
                let loads = ["--test-global-setup", "--experimental-config-file", "--build-sea", "--build-snapshot"];
                let name = |word: &ShellWord| word.text().split('=').next().unwrap_or_default().to_owned();
                if call.words.iter().any(|word| loads.contains(&name(word).as_str())) {
                    self.opaque("", "loads code of the caller's choice");
                }
            }
            _ => {
                for operand in &call.args.operands {
                    self.tests_at(operand);
                }
            }
        }
    }

    /// Tests of another project are somebody else's code.
    pub(super) fn tests_at(&mut self, operand: &ShellWord) {
        if operand.known().is_some_and(|path| self.is_outside(path.split("::").next().unwrap_or(path))) {
            self.opaque("", "runs code from outside of the working folder");
        }
    }

    /// `make X:=y`: a variable's value may hold what make or the recipe's shell runs.
    fn make_variable(&mut self, word: &ShellWord) {
        let text = word.text();
        // `${:!command!}` of bmake.
        if let Some((_, rest)) = text.split_once(":!")
            && text.contains("${")
        {
            self.hidden_code(rest.split('!').next().unwrap_or(rest), StandardInput::Unknown);
            self.opaque("", "runs a command within a variable");
        }
        let Some((name, value)) = text.split_once('=').filter(|_| !text.starts_with('-')) else { return };
        if word.known().is_none() {
            // What is given with a plain `=` is rather a version or a path.
            if name.ends_with([':', '!']) {
                self.opaque("", "sets a variable that may run commands");
            }
            return;
        }
        if name.ends_with('!') {
            self.hidden_code(value, StandardInput::Unknown);
            self.opaque("", "sets a variable to what a command prints");
            return;
        }
        for opening in ["$(shell", "${shell"] {
            for (at, _) in value.match_indices(opening) {
                let code = value[at + opening.len()..].trim_start();
                let end = code.rfind([')', '}']).unwrap_or(code.len());
                self.hidden_code(&code[..end], StandardInput::Unknown);
            }
        }
        let functions = ["shell", "eval", "file", "guile"];
        let calls =
            functions.iter().any(|name| value.contains(&format!("$({name}")) || value.contains(&format!("${{{name}")));
        let name = name.trim_end_matches([':', '+', '?']);
        let is_tool = matches!(
            name,
            "CC" | "CXX" | "CPP" | "LD" | "AS" | "AR" | "NM" | "RANLIB" | "STRIP" | "MAKE" | "FC" | "RUSTC" | "CARGO"
        ) && value.contains(['/', ' ']);
        if calls
            || value.contains("$$(")
            || value.contains([';', '`', '\n'])
            || value.contains("&&")
            || value.contains(":sh}")
        {
            self.opaque("", "sets a variable that may run commands");
        } else if matches!(name, "SHELL" | ".SHELLFLAGS" | "MAKEFLAGS" | "GNUMAKEFLAGS") {
            self.opaque("", "changes what runs the recipes");
        } else if is_tool {
            self.hidden_code(value, StandardInput::Unknown);
        }
    }

    /// `dotnet build -t:Publish -p:OutputPath=x -bl:x`.
    fn dotnet(&mut self, call: ProgramCall<'_>) {
        let verb = call.args.operands.first().and_then(|word| word.known()).unwrap_or_default();
        let is_test = matches!(verb, "test" | "vstest");
        let mut words = call.words.iter().skip_while(|word| word.known() != Some(verb)).skip(1).peekable();
        while let Some(word) = words.next() {
            let text = word.text();
            if word.known() == Some("--") {
                return;
            }
            if text.starts_with('@') {
                self.opaque("", "takes options from a file");
                continue;
            }
            let Some(switch) = text.strip_prefix("--").or_else(|| text.strip_prefix(['-', '/'])) else {
                continue;
            };
            let (name, value) = match switch.split_once([':', '=']) {
                Some((name, _)) => (name, Some(word.after(text.len() - switch.len() + name.len() + 1))),
                None => (switch, None),
            };
            let name = name.to_ascii_lowercase();
            if text.starts_with('/') && !SWITCHES.contains(&name.trim_end_matches(|c: char| c.is_ascii_digit())) {
                continue;
            }
            let takes = match name.as_str() {
                "s" | "d" | "l" => is_test,
                "logger" | "p" | "property" => true,
                _ => false,
            };
            let is_value = |next: &&&ShellWord| !next.text().starts_with('-');
            let value = match value {
                None if takes => words.peek().filter(is_value).map(|word| (*word).clone()),
                value => value,
            };
            let Some(value) = value else { continue };
            match name.as_str() {
                "t" | "target" | "targets" => self.targets(&value),
                "p" | "property" if value.text().contains('=') => self.properties(&value),
                "bl"
                | "binarylogger"
                | "pp"
                | "preprocess"
                | "ts"
                | "profileevaluation"
                | "getresultoutputfile"
                | "orc"
                | "outputresultscache" => self.made_of(&value, &["logfile"], true),
                "d" | "s" if is_test => {
                    if name == "d" {
                        self.change(&value, PathChange::Make, None);
                    } else {
                        self.comes_from(&value);
                    }
                }
                "l" | "logger" if is_test => self.made_of(&value, &["logfilename", "logfilepath"], false),
                "l" | "logger" | "dl" | "distributedlogger" => self.opaque("", "loads code of the caller's choice"),
                _ if name.starts_with("flp") || name.starts_with("fileloggerparameters") => {
                    self.made_of(&value, &["logfile"], false);
                }
                _ => {}
            }
        }
        let takes_projects = matches!(
            verb,
            "build" | "test" | "publish" | "pack" | "clean" | "restore" | "msbuild" | "format" | "vstest" | "run-api"
        );
        if takes_projects {
            let is_switch = |word: &&&ShellWord| {
                let switch = word.text().strip_prefix('/').unwrap_or_default();
                let name = switch.split([':', '=']).next().unwrap_or_default().to_ascii_lowercase();
                SWITCHES.contains(&name.trim_end_matches(|c: char| c.is_ascii_digit()))
            };
            for project in call.args.operands.iter().skip(1).filter(|word| !is_switch(word)) {
                self.tests_at(project);
            }
        }
    }

    /// `Clean;Publish`.
    fn targets(&mut self, value: &ShellWord) {
        match value.known() {
            Some(names) => names.split([';', ',']).for_each(|name| self.task(&ShellWord::plain(name.trim()))),
            None => self.opaque("", "runs a task that can't be known"),
        }
    }

    /// A list of settings, of which those with one of these `names` are files to write; so is a part without a name
    /// if it `may_be_bare`.
    fn made_of(&mut self, value: &ShellWord, names: &[&str], may_be_bare: bool) {
        let Some(text) = value.known() else {
            self.change(&ShellWord::unknown_operand(), PathChange::Make, None);
            return;
        };
        for part in text.split(';') {
            match part.split_once('=') {
                Some((name, file)) if names.contains(&name.trim().to_ascii_lowercase().as_str()) => {
                    self.change(&ShellWord::plain(file), PathChange::Make, None);
                }
                None if may_be_bare && !part.is_empty() => self.change(&ShellWord::plain(part), PathChange::Make, None),
                _ => {}
            }
        }
    }

    /// `Configuration=Release;OutputPath=x`.
    fn properties(&mut self, value: &ShellWord) {
        let Some(text) = value.known() else {
            // `-p:Version="$V"`: only of the name is anything known.
            let name = value.text().split('=').next().unwrap_or_default().to_ascii_lowercase();
            if MADE.contains(&name.as_str()) || brings_code(&name) {
                self.opaque("", "sets a property that can't be known");
            }
            return;
        };
        for (name, set) in text.split([';', ',']).filter_map(|part| part.split_once('=')) {
            let name = name.trim().to_ascii_lowercase();
            if MADE.contains(&name.as_str()) {
                self.change(&ShellWord::plain(set), PathChange::Make, None);
            } else if name.ends_with("buildevent") {
                self.hidden_code(set, StandardInput::Unknown);
                self.opaque("", "runs a command of the caller's choice");
            } else if brings_code(&name) {
                self.comes_from(&ShellWord::plain(set));
            } else if (name == "deployonbuild" && set.eq_ignore_ascii_case("true")) || name == "publishprofile" {
                self.effect(Verdict::External, DEPLOY, Act::Other, None, "publishes or deploys");
            }
        }
    }

    /// `cmake -B build -DX=y`, `cmake --build build -- clean`.
    fn cmake_project(&mut self, call: ProgramCall<'_>) {
        let has = |wanted: &str| call.words.iter().any(|word| word.text() == wanted);
        if ["-E", "-P", "--install", "--open", "--find-package", "--help", "--version"].iter().any(|other| has(other)) {
            return;
        }
        let builds = has("--build");
        let mut words = call.words.iter().enumerate();
        while let Some((at, word)) = words.next() {
            let text = word.text();
            let next = call.words.get(at + 1);
            match text {
                "--build" => {
                    if let Some((_, folder)) = words.next() {
                        self.comes_from(folder);
                    }
                }
                "--" if builds => {
                    self.program("make", &call.words[at + 1..], call.input);
                    return;
                }
                "-t" | "--target" if builds => {
                    let targets = call.words[at + 1..].iter().take_while(|word| !word.text().starts_with('-'));
                    targets.for_each(|target| self.task(target));
                    return;
                }
                "-B" => {
                    if let Some(folder) = next {
                        self.build_folder(folder);
                        words.next();
                    }
                }
                "-D" => {
                    if let Some(setting) = next {
                        self.cmake_setting(setting);
                        words.next();
                    }
                }
                "-S"
                | "-G"
                | "-A"
                | "-T"
                | "-C"
                | "-U"
                | "-j"
                | "--parallel"
                | "--preset"
                | "--config"
                | "--toolchain"
                | "--install-prefix"
                | "--log-level"
                | "--resolve-package-references" => {
                    words.next();
                }
                _ if text.starts_with("-B") => self.build_folder(&word.after("-B".len())),
                _ if text.starts_with("-H") && text.len() > 2 => self.comes_from(&word.after("-H".len())),
                _ if text.starts_with("-D") => self.cmake_setting(&word.after("-D".len())),
                _ if !text.starts_with('-') && !builds => self.comes_from(word),
                _ => {}
            }
        }
    }

    /// A folder that is built in: of the usual names it is made anew at will.
    fn build_folder(&mut self, folder: &ShellWord) {
        let is_usual = folder.known().is_some_and(|path| {
            let last = path.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
            let names = ["build", "builddir", "_build", "cmake-build", "out", "target", "dist", "obj"];
            let is_named = last.ends_with("-build")
                || last.ends_with("_build")
                || names.iter().any(|name| {
                    last.strip_prefix(name).is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_alphabetic()))
                });
            is_named && (!self.is_outside(path) || self.plain(path).starts_with("/tmp/"))
        });
        if !is_usual {
            self.change(folder, PathChange::Make, None);
        }
    }

    /// `-DNAME:TYPE=value`.
    fn cmake_setting(&mut self, setting: &ShellWord) {
        let Some((name, value)) = setting.text().split_once('=') else { return };
        let name = name.split(':').next().unwrap_or_default();
        let is_known = setting.known().is_some();
        let is_own_program =
            ["_LAUNCHER", "_COMPILER", "_CLANG_TIDY", "_CPPCHECK", "_CPPLINT", "_EMULATOR", "_WHAT_YOU_USE"]
                .iter()
                .any(|ending| name.ends_with(ending))
                || ["CMAKE_MAKE_PROGRAM", "CMAKE_LINKER", "CMAKE_AR", "CMAKE_RANLIB", "CMAKE_NM"].contains(&name)
                || name.starts_with("RULE_LAUNCH");
        let brings_code =
            ["_TOOLCHAIN_FILE", "_INCLUDE", "_INCLUDE_BEFORE", "_INCLUDES", "_RULES_OVERRIDE", "_MODULE_PATH"]
                .iter()
                .any(|ending| name.ends_with(ending))
                && name.starts_with("CMAKE_")
                || name.starts_with("FETCHCONTENT_SOURCE_DIR");
        if is_own_program {
            let is_installed = |program: &str| match program.rsplit_once('/') {
                Some((folder, _)) => is_program_folder(folder),
                None => !program.contains(char::is_whitespace),
            };
            let mut parts = value.split(';');
            let first = parts.next().unwrap_or_default();
            let runs_more = parts.next().is_some();
            if runs_more && is_known {
                self.hidden_code(&value.replace(';', " "), StandardInput::Unknown);
            }
            let is_checker = name.ends_with("_TIDY") || name.ends_with("_CPPCHECK") || name.ends_with("_CPPLINT");
            if !is_known || !is_installed(first) || (runs_more && !is_checker) {
                self.opaque("", "names a program to run");
            }
        } else if name.ends_with("_EXECUTABLE") && value.starts_with('.') {
            self.opaque("", "names a program to run");
        } else if brings_code {
            for part in if is_known { value.split(';').collect() } else { Vec::new() } {
                self.comes_from(&ShellWord::plain(part));
            }
            if !is_known {
                self.opaque("", "takes settings or code from a place that can't be known");
            }
        } else if name.ends_with("_OUTPUT_DIRECTORY") || name.ends_with("_OUTPUT_PATH") {
            self.change(&setting.after(setting.text().len() - value.len()), PathChange::Make, None);
        } else if name.contains("_FLAGS") && runs_programs(value.split_whitespace()) {
            self.opaque("", "passes options that may run a program");
        }
    }

    /// `meson compile -C build deploy`.
    fn meson(&mut self, call: ProgramCall<'_>) {
        let known: Vec<&str> = call.args.operands.iter().map(|word| word.known().unwrap_or("?")).collect();
        let operands = &call.args.operands;
        match known.as_slice() {
            ["subprojects", "foreach", ..] => {
                let at = call.words.iter().position(|word| word.known() == Some("foreach")).unwrap_or_default();
                let valued = ["--types", "--num-processes", "--sourcedir"];
                self.inner(after_options(&call.words[at + 1..], &valued).unwrap_or_default(), call.input);
            }
            ["compile", ..] => operands[1..].iter().for_each(|target| self.task(target)),
            ["setup", _] => self.build_folder(operands[1]),
            ["setup", _, _, ..] => operands[1..].iter().for_each(|folder| self.tests_at(folder)),
            _ => {}
        }
        for word in call.words {
            let text = word.text();
            if let Some(("--ninja-args" | "--make-args", _)) = text.split_once('=') {
                let value = word.after(text.find('=').unwrap_or_default() + 1);
                self.options_of("ninja", value.known().map(|value| value.replace(['[', ']', ','], " ")).as_deref());
            } else if let Some((name, flags)) = text.strip_prefix("-D").and_then(|set| set.split_once('='))
                && name.ends_with("_args")
                && runs_programs(flags.split([' ', ',', '[', ']', '\'']))
            {
                self.opaque("", "passes options that may run a program");
            }
        }
    }

    /// `cargo make -l error deploy`, `cargo run -p xtask -- deploy`, `cargo watch -- command`.
    fn cargo(&mut self, call: ProgramCall<'_>) {
        let Some((verb, operands)) = call.args.operands.split_first() else { return };
        let after = |wanted: &str| {
            let at = call.words.iter().position(|word| word.known() == Some(wanted));
            at.and_then(|at| call.words.get(at + 1..)).unwrap_or_default()
        };
        match verb.known() {
            Some("make") => {
                let valued = [
                    "-l", "--loglevel", "-p", "--profile", "-e", "--env", "--env-file", "--makefile", "--cwd", "-t",
                    "--time-summary", "--output-format", "--output-file", "--skip-tasks", "--skip-tasks-pattern",
                ];
                if let Some(task) = after_options(after("make"), &valued).and_then(<[ShellWord]>::first) {
                    self.task(task);
                }
            }
            Some("run" | "r") => {
                let is_runner = call.args.options.iter().any(|(option, value)| {
                    let names =
                        matches!(option.as_str(), "-p" | "--package" | "--bin" | "--example" | "--manifest-path");
                    names
                        && value
                            .and_then(|value| value.text())
                            .is_some_and(|name| name.contains("xtask") || name == "tasks")
                });
                if is_runner && let Some(task) = operands.first() {
                    self.task(task);
                }
            }
            Some("watch" | "msrv") => drop(self.inner(after("--"), call.input)),
            Some("test" | "t" | "bench") => {
                let given = after("--");
                for (at, word) in given.iter().enumerate() {
                    match word.text().split_once('=') {
                        Some(("--logfile", _)) => self.change(&word.after("--logfile=".len()), PathChange::Make, None),
                        None if word.text() == "--logfile" => {
                            if let Some(file) = given.get(at + 1) {
                                self.change(file, PathChange::Make, None);
                            }
                        }
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }

    /// `coverage run -m pytest`, `coverage run x.py`: what is measured is run as by `python`.
    fn measured(&mut self, call: ProgramCall<'_>) {
        let at = call.words.iter().position(|word| word.known() == Some("run"));
        let Some(words) = at.and_then(|at| call.words.get(at + 1..)) else { return };
        let valued = ["--rcfile", "--source", "--omit", "--include", "--concurrency", "--context", "--data-file"];
        let mut at = 0;
        let mut is_module = false;
        while let Some(word) = words.get(at).filter(|word| word.text().starts_with('-')) {
            is_module |= matches!(word.text(), "-m" | "--module");
            at += 1 + usize::from(valued.contains(&word.text()));
        }
        let Some(command) = words.get(at..).filter(|words| !words.is_empty()) else { return };
        let module = is_module.then(|| ShellWord::plain("-m"));
        let command: Vec<ShellWord> = module.into_iter().chain(command.iter().cloned()).collect();
        self.program("python3", &command, call.input);
    }

    /// `tox exec -- command`, `nox -s lint deploy`; what follows dashes is rather for pytest.
    fn sessions(&mut self, call: ProgramCall<'_>) {
        let dashes = call.words.iter().position(|word| word.known() == Some("--"));
        let given = dashes.and_then(|at| call.words.get(at + 1..)).unwrap_or_default();
        let verb = call.args.operands.first().and_then(|word| word.known());
        if call.name == "tox" && matches!(verb, Some("exec" | "e")) {
            self.inner(given, call.input);
            return;
        }
        if !given.is_empty() {
            self.program("pytest", given, call.input);
        }
        if call.name == "nox" {
            let own = call.args.operands.len().saturating_sub(given.len());
            call.args.operands[..own].iter().for_each(|session| self.task(session));
        }
    }

    /// `phpcs --report-full=file`.
    fn reports(&mut self, call: ProgramCall<'_>) {
        for word in call.words {
            if let Some((name, file)) = word.text().split_once('=')
                && name.starts_with("--report-")
                && name != "--report-width"
            {
                self.change(&word.after(word.text().len() - file.len()), PathChange::Make, None);
            }
        }
    }
}

/// Returns whether a property of `msbuild` names code or settings that are taken in.
fn brings_code(name: &str) -> bool {
    let named = [
        "runsettingsfilepath",
        "restoreconfigfile",
        "nugetconfigfile",
        "restoresources",
        "restoreadditionalprojectsources",
        "directorybuildpropspath",
        "csctoolpath",
        "csctoolexe",
        "vbctoolpath",
        "msbuildextensionspath",
        "vstesttestadapterpath",
        "codeanalysisruleset",
        "msbuildsdkspath",
        "dotnethostpath",
    ];
    named.contains(&name) || ((name.contains("targets") || name.contains("props")) && !name.ends_with("enabled"))
}
