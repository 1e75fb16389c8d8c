//! `git`: its global options, then a subcommand that the table knows as `git-<name>`.

use super::ProgramCall;
use crate::gate::effect::{Act, Target, UNKNOWN, Verdict};
use crate::gate::shell::args::is_short_for;
use crate::gate::shell::expand::ShellWord;
use crate::gate::shell::paths::PathChange;
use crate::gate::shell::program::{host, word_of};
use crate::gate::shell::walk::{ShellWalk, StandardInput};
use crate::words::category::{FILESYSTEM_DELETE, GIT_HISTORY_REWRITE, GIT_PUSH, GIT_WRITE, HTTP_FETCH};

/// Settings that run nothing, by how they begin; all in lower case.
const HARMLESS_SETTINGS: [&str; 36] = [
    "user.", "author.", "committer.", "color.", "core.quotepath", "core.autocrlf", "core.abbrev", "core.filemode",
    "core.ignorecase", "core.longpaths", "core.eol", "core.safecrlf", "core.bare", "advice.", "init.defaultbranch",
    "commit.gpgsign", "commit.verbose", "log.", "push.default", "push.autosetupremote", "pull.", "rebase.autosquash",
    "rebase.autostash", "http.postbuffer", "http.version", "status.", "diff.renames", "diff.algorithm", "diff.context",
    "merge.conflictstyle", "fetch.", "tag.gpgsign", "gc.auto", "column.", "blame.", "branch.",
];

/// Subcommands that write into the working tree.
const WRITES_TREE: [&str; 14] = [
    "checkout", "read-tree", "reset", "restore", "switch", "stash", "merge", "pull", "apply", "am", "rebase",
    "cherry-pick", "revert", "checkout-index",
];

impl ShellWalk<'_> {
    /// `git`.
    pub(super) fn git(&mut self, call: ProgramCall<'_>) {
        let mut folder = self.folder().map(str::to_owned);
        let mut aliases: Vec<(String, Option<String>)> = Vec::new();
        let mut at = 0;
        while let Some(word) = call.words.get(at) {
            let text = word.text();
            if !text.starts_with('-') {
                break;
            }
            let next = call.words.get(at + 1);
            let tree = text.strip_prefix("--work-tree=").map(ShellWord::plain);
            let tree = tree.or_else(|| next.filter(|_| text == "--work-tree").cloned());
            if let Some(tree) = tree
                && call.words.iter().any(|word| WRITES_TREE.contains(&word.text()))
            {
                self.change(&tree, PathChange::Into, None);
            }
            match text {
                "-C" => {
                    folder =
                        next.and_then(ShellWord::known).map(|path| self.plain(path)).filter(|path| path != UNKNOWN);
                    at += 1;
                }
                "-c" => {
                    self.setting(next, &mut aliases);
                    at += 1;
                }
                "--git-dir" | "--work-tree" | "--namespace" | "--super-prefix" => {
                    folder = None;
                    at += 1;
                }
                _ if text.starts_with("--git-dir=") || text.starts_with("--work-tree=") => folder = None,
                _ if text.starts_with("--config-env") || text.starts_with("--exec-path=") => {
                    self.opaque("", "changes what git runs");
                }
                _ if text.starts_with("-c") && text.len() > 2 => self.setting(Some(&word.after(2)), &mut aliases),
                _ => {}
            }
            at += 1;
        }
        let Some((verb, rest)) = call.words.get(at..).and_then(<[ShellWord]>::split_first) else { return };
        let Some(name) = verb.known() else {
            self.opaque("", "runs git with a subcommand that can't be known");
            return;
        };
        if call.words[..at].iter().any(ShellWord::splits) {
            self.opaque("", "runs git with a subcommand that can't be known");
        }
        self.git_output(rest);
        let program = format!("git-{name}");
        if self.programs.knows(&program) {
            self.in_folder(folder, |walk| walk.program(&program, rest, call.input));
        } else if let Some((_, Some(code))) = aliases.iter().find(|(alias, _)| alias.eq_ignore_ascii_case(name)) {
            let given = rest.iter().map(|word| word.known().unwrap_or("\"$x\"")).collect::<Vec<_>>().join(" ");
            let code = match code.strip_prefix('!') {
                Some(code) => format!("{code} {given}"),
                None => format!("git {code} {given}"),
            };
            self.hidden_code(&code, StandardInput::Unknown);
        } else {
            self.opaque("", "runs a git subcommand that is not known, or an alias");
        }
    }

    /// `--output`, which every subcommand knows that lists commits or changes, and some that nobody would think of.
    fn git_output(&mut self, words: &[ShellWord]) {
        let options = words.iter().enumerate().take_while(|(_, word)| word.known() != Some("--"));
        for (at, word) in options {
            let (name, value) = word.text().split_once('=').map_or((word.text(), None), |(a, b)| (a, Some(b)));
            if name.len() <= "--o".len() || !is_short_for(name, "--output") {
                continue;
            }
            match (value, words.get(at + 1)) {
                (Some(value), _) => {
                    self.change(&word.after(word.text().len() - value.len()), PathChange::Replace, None)
                }
                (None, Some(file)) => self.change(file, PathChange::Replace, None),
                (None, None) => {}
            }
        }
    }

    /// `name=value` of `-c`.
    fn setting(&mut self, setting: Option<&ShellWord>, aliases: &mut Vec<(String, Option<String>)>) {
        let Some(word) = setting else { return };
        let Some((name, value)) = word.known().map(|text| text.split_once('=').unwrap_or((text, "true"))) else {
            self.opaque("", "changes a setting of git that can't be known");
            return;
        };
        if let Some(alias) = name.to_ascii_lowercase().strip_prefix("alias.") {
            aliases.push((alias.to_owned(), Some(value.to_owned())));
            return;
        }
        let is_on = !matches!(value, "" | "false" | "no" | "off" | "0");
        let name = name.to_ascii_lowercase();
        if is_on && (matches!(name.as_str(), "fetch.prune" | "fetch.prunetags") || name.ends_with(".prune")) {
            let reason = "takes branches away or back";
            self.effect(Verdict::Ask, GIT_HISTORY_REWRITE, Act::Other, None, reason);
        } else if is_on && (name == "pull.rebase" || (name.starts_with("branch.") && name.ends_with(".rebase"))) {
            self.effect(Verdict::Ask, GIT_HISTORY_REWRITE, Act::Other, None, "rewrites commits");
        }
        self.setting_runs(&name, value);
    }

    /// A setting that may name a program.
    fn setting_runs(&mut self, name: &str, value: &str) {
        let name = name.to_ascii_lowercase();
        if HARMLESS_SETTINGS.iter().any(|harmless| name.starts_with(harmless)) {
            return;
        }
        if matches!(name.as_str(), "core.pager" | "core.editor" | "sequence.editor") || name.starts_with("pager.") {
            if !matches!(value, "" | "true" | "false") {
                self.hidden_code(value, StandardInput::Unknown);
            }
            return;
        }
        if !matches!(value, "" | "true" | "false") {
            self.guess(|walk| drop(walk.code(value.strip_prefix('!').unwrap_or(value), StandardInput::Unknown)));
        }
        self.opaque("", "changes a setting of git that may name a program");
    }

    /// `git config`.
    pub(super) fn git_config(&mut self, call: ProgramCall<'_>) {
        let args = call.args;
        let operands: Vec<&&ShellWord> = args
            .operands
            .iter()
            .filter(|word| {
                !matches!(
                    word.known(),
                    Some("set" | "get" | "list" | "unset" | "edit" | "rename-section" | "remove-section")
                )
            })
            .collect();
        let first = args.operands.first().and_then(|word| word.known());
        let takes_away = |first: Option<&str>| matches!(first, Some("unset" | "remove-section"));
        // Behind the name nothing is an option any more, `--list` neither.
        let name = args.operands.first().and_then(|first| call.words.iter().position(|word| word == *first));
        let behind = name.and_then(|name| call.words.get(name + 1..)).unwrap_or_default();
        let is_value = behind.iter().any(|word| word.text().starts_with('-'));
        let asks = args.any(&["--get", "--get-all", "--get-regexp", "--list", "-l", "--get-urlmatch", "--show-origin"]);
        if (asks && !is_value)
            || matches!(first, Some("get" | "list"))
            || (operands.len() == 1
                && !is_value
                && !takes_away(first)
                && args.options.iter().all(|(name, _)| is_known_to_config(name))
                && !args.any(&["--unset", "--unset-all", "--remove-section"]))
        {
            return;
        }
        for file in args.values(&["-f", "--file"]) {
            self.change(&word_of(file), PathChange::Add, None);
        }
        let is_global = args.any(&["--global", "--system"]);
        let verdict = if is_global { Verdict::Ask } else { Verdict::Safe };
        self.effect(verdict, GIT_WRITE, Act::Other, None, "changes a setting of git");
        match operands.as_slice() {
            [name, value, ..] => match (name.known(), value.known()) {
                (Some(name), Some(value)) if name.to_ascii_lowercase().starts_with("alias.") => {
                    let code = value.strip_prefix('!').map_or_else(|| format!("git {value}"), str::to_owned);
                    self.hidden_code(&code, StandardInput::Unknown);
                }
                (Some(name), Some(value)) => self.setting_runs(name, value),
                _ => self.opaque("", "changes a setting of git that can't be known"),
            },
            _ if args.any(&["-e", "--edit"]) => {}
            _ => {}
        }
    }

    /// `git push`.
    pub(super) fn git_push(&mut self, call: ProgramCall<'_>) {
        let args = call.args;
        if args.only_tries(&["-n", "--dry-run"]) {
            // The remote is asked all the same, and what can't be known of its address is told to whoever that is.
            let address = |word: &ShellWord| word.text().contains([':', '/']).then(|| host(word)).flatten();
            match args.operands.first().map(|remote| (remote.known(), address(remote))) {
                Some((None, _)) => self.sends_unknown(),
                Some((Some(_), Some(host))) => {
                    self.effect(Verdict::Ask, HTTP_FETCH, Act::Contact { host }, None, "asks a remote");
                }
                Some((Some(_), None)) | None => {}
            }
            return;
        }
        let refs = args.operands.get(1..).unwrap_or_default();
        let deletes = args.any(&["--delete", "-d", "--prune", "--mirror"])
            || refs.iter().any(|word| word.text().starts_with(':') && word.text() != ":");
        let replaces = args.any(&["--force", "-f", "--force-with-lease", "--force-if-includes", "--mirror"])
            || refs.iter().any(|word| word.text().starts_with('+'));
        let remote = args.operands.first().filter(|word| word.text().contains([':', '/']));
        let act = match remote.and_then(|word| host(word)) {
            Some(host) => Act::Contact { host },
            None => Act::Other,
        };
        self.effect(Verdict::External, GIT_PUSH, act, None, "publishes commits");
        if deletes {
            self.effect(Verdict::Destructive, GIT_PUSH, Act::Other, None, "deletes branches or tags of a remote");
        }
        if replaces {
            let reason = "replaces the history of a remote";
            self.effect(Verdict::Destructive, GIT_HISTORY_REWRITE, Act::Other, None, reason);
        }
        if refs.iter().any(|word| word.known().is_none()) && !deletes {
            self.opaque("", "what is pushed can't be known");
        }
    }

    /// `git checkout`, `git switch`: a branch is one thing, files another.
    pub(super) fn git_checkout(&mut self, call: ProgramCall<'_>) {
        let args = call.args;
        let makes_branch = args.any(&["-b", "--track", "-t", "--orphan", "--detach", "-c", "--create"]);
        let is_switch = call.name == "git-switch";
        let dashes = call.words.iter().position(|word| word.known() == Some("--"));
        let files: Vec<&ShellWord> = match dashes {
            Some(at) => call.words.iter().skip(at + 1).collect(),
            None if is_switch || makes_branch => Vec::new(),
            None if args.operands.len() > 1 => {
                let may_be_several = |word: &&&ShellWord| word.known().is_none() && !word.names_revision();
                let first = args.operands.iter().take(1).filter(may_be_several);
                first.chain(args.operands.iter().skip(1)).copied().collect()
            }
            // What is computed may be a file's name as well as a branch's.
            None => {
                let may_be_file =
                    |word: &&&ShellWord| looks_like_file(word) || (word.known().is_none() && !word.names_revision());
                args.operands.iter().filter(may_be_file).copied().collect()
            }
        };
        // A bare word is rather a branch's name. If it is a file's, that file should be kept beforehand.
        if files.is_empty() && !is_switch && !makes_branch && dashes.is_none() {
            for word in args.operands.iter().filter(|word| word.known().is_some_and(|name| name != "-")) {
                let target = Target { path: self.plain(word.text()), is_pattern: false, is_recursive: false };
                self.effect(Verdict::Safe, GIT_WRITE, Act::Overwrite(target), None, "changes to a branch");
            }
        }
        for file in &files {
            self.discarded(file);
        }
        if args.any(&["-f", "--force", "--discard-changes", "--ours", "--theirs", "--pathspec-from-file"])
            || (args.any(&["-p", "--patch"]) && !is_switch)
        {
            self.discarded(&ShellWord::plain("."));
        }
        if args.any(&["-B", "-C", "--force-create"]) {
            let reason = "moves a branch away from its commits";
            self.effect(Verdict::Destructive, GIT_HISTORY_REWRITE, Act::Other, None, reason);
        }
        if files.is_empty() {
            self.effect(Verdict::Safe, GIT_WRITE, Act::Other, None, "changes a git repository");
        }
    }

    /// `git restore`.
    pub(super) fn git_restore(&mut self, call: ProgramCall<'_>) {
        let staged = call.args.any(&["--staged", "-S"]);
        if staged && !call.args.any(&["--worktree", "-W"]) {
            self.effect(Verdict::Safe, GIT_WRITE, Act::Other, None, "takes changes out of the next commit");
            return;
        }
        for file in &call.args.operands {
            self.discarded(file);
        }
        if call.args.operands.is_empty() {
            self.discarded(&ShellWord::unknown_operand());
        }
    }

    fn discarded(&mut self, word: &ShellWord) {
        let path = word.known().map_or_else(|| UNKNOWN.to_owned(), |path| self.plain(path));
        let target = Target { path, is_pattern: word.is_pattern(), is_recursive: true };
        let reason = "discards changes that are in no commit";
        self.effect(Verdict::Destructive, FILESYSTEM_DELETE, Act::Overwrite(target.clone()), None, reason);
        self.changes_ci(&target);
    }

    /// Subcommands that list without operands, or with a word or an option that says so, and change something else.
    pub(super) fn git_lists(&mut self, call: ProgramCall<'_>) {
        let ProgramCall { name, args, .. } = call;
        let first = args.operands.first().map(|word| word.known().unwrap_or_default());
        let has = |wanted: &[&str]| args.options.iter().any(|(option, _)| wanted.contains(&option.as_str()));
        let filters =
            ["--list", "-l", "--contains", "--no-contains", "--merged", "--no-merged", "--points-at", "--show-current"];
        let only_looks = match name {
            "git-branch" => {
                let sets = ["-u", "--set-upstream-to", "--unset-upstream", "--edit-description"];
                (first.is_none() || has(&filters)) && !args.any(&sets)
            }
            "git-tag" => first.is_none() || has(&filters) || has(&["-n", "-v", "--verify"]),
            "git-remote" => matches!(first, None | Some("show" | "get-url")),
            "git-submodule" => matches!(first, None | Some("status" | "summary" | "foreach")),
            "git-notes" => matches!(first, None | Some("list" | "show" | "get-ref")),
            "git-worktree" => first == Some("list"),
            "git-reflog" => !matches!(first, Some("expire" | "delete" | "drop" | "write")),
            "git-bisect" => matches!(first, Some("log" | "view" | "visualize" | "terms" | "help")),
            "git-maintenance" => matches!(first, None | Some("is-needed")),
            "git-replace" => first.is_none() || has(&["-l", "--list"]),
            "git-symbolic-ref" => args.operands.len() < 2 && !args.any(&["-d", "--delete"]),
            "git-rerere" => matches!(first, Some("status" | "diff" | "remaining")),
            "git-commit-graph" | "git-multi-pack-index" => first == Some("verify"),
            "git-hook" => first == Some("list"),
            _ => false,
        };
        if !only_looks {
            self.effect(Verdict::Safe, GIT_WRITE, Act::Other, None, "changes a git repository");
        }
    }

    /// `git bisect run`, `git submodule foreach`: the words after the second are a command.
    pub(super) fn git_run(&mut self, call: ProgramCall<'_>) {
        let marks: &[&str] = if call.name == "git-bisect" { &["run"] } else { &["foreach"] };
        let at = call.words.iter().position(|word| word.known().is_some_and(|text| marks.contains(&text)));
        let Some(at) = at else { return };
        let command: Vec<ShellWord> = call
            .words
            .iter()
            .skip(at + 1)
            .skip_while(|word| matches!(word.known(), Some("--recursive" | "--quiet" | "-q")))
            .cloned()
            .collect();
        match command.as_slice() {
            [code] => match code.known() {
                Some(code) => drop(self.hidden_code(code, StandardInput::Unknown)),
                None => self.opaque("", "runs commands that can't be known"),
            },
            words => drop(self.inner(words, &StandardInput::Unknown)),
        }
    }
}

/// Files that have no ending.
const FILES: [&str; 24] = [
    "Makefile", "GNUmakefile", "makefile", "Dockerfile", "Containerfile", "LICENSE", "LICENCE", "COPYING", "NOTICE",
    "README", "CHANGELOG", "CHANGES", "AUTHORS", "TODO", "VERSION", "Gemfile", "Rakefile", "Vagrantfile", "Procfile",
    "Pipfile", "Jenkinsfile", "Justfile", "justfile", "CODEOWNERS",
];

/// True if a name is rather a file's than a branch's.
fn looks_like_file(word: &ShellWord) -> bool {
    let name = word.text();
    let last = name.rsplit('/').next().unwrap_or_default();
    // `:(top)f` and `:/f` are files, and git allows none of these in a branch's name.
    let is_no_branch = name.starts_with([':', '/', '.', '~'])
        || name.ends_with('/')
        || name.contains("/.")
        || name.contains(['*', '?', '[', '\\', ' ']);
    word.is_pattern() || is_no_branch || FILES.contains(&last) || {
        let ending = last.rsplit_once('.').map_or("", |(_, ending)| ending);
        (1..=10).contains(&ending.len()) && ending.starts_with(|c: char| c.is_ascii_alphabetic())
    }
}

/// Returns whether an option of `git config` says where or how to look; another one may make the last word a value.
fn is_known_to_config(option: &str) -> bool {
    const KNOWN: [&str; 17] = [
        "-f", "--file", "--blob", "--global", "--system", "--local", "--worktree", "--type", "--bool", "--int",
        "--bool-or-int", "--path", "--default", "-z", "--null", "--name-only", "--includes",
    ];
    KNOWN.contains(&option) || ["--unset", "--unset-all", "--remove-section"].contains(&option)
}
