//! `git fetch` and its kind: what is sent to whom while something is fetched.

use super::ProgramCall;
use crate::gate::effect::{Act, Verdict};
use crate::gate::shell::expand::ShellWord;
use crate::gate::shell::program::word_of;
use crate::gate::shell::walk::ShellWalk;
use crate::words::category::{GIT_HISTORY_REWRITE, GIT_WRITE, HTTP_FETCH};

impl ShellWalk<'_> {
    /// `git fetch`, `git clone`, `git ls-remote`: an address that can't be known takes whatever it holds to its host.
    /// To a remote that is named, a reference that can't be known says little; to an address it may say anything.
    pub(super) fn git_remote(&mut self, call: ProgramCall<'_>) {
        if call.name == "git-fetch" {
            let only_shows = call.args.options.iter().any(|(option, _)| option == "--dry-run");
            let is_here = matches!(call.args.operands.as_slice(), [only] if only.known() == Some("."));
            let categories = [(HTTP_FETCH, only_shows && is_here), (GIT_WRITE, only_shows)];
            for (category, _) in categories.into_iter().filter(|(_, is_spared)| !is_spared) {
                self.effect(Verdict::Ask, category, Act::Other, None, "fetches from a remote");
            }
        }
        let options: &[&str] = if call.name == "git-clone" { &["--server-option"] } else { &["-o", "--server-option"] };
        let says_unknown = call.args.values(options).any(|value| word_of(value).known().is_none());
        let Some((address, references)) = call.args.operands.split_first() else {
            if says_unknown {
                self.sends_unknown();
            }
            return;
        };
        if references.iter().any(|word| overwrites_branch(word)) {
            let reason = "takes branches away or back";
            self.effect(Verdict::Ask, GIT_HISTORY_REWRITE, Act::Other, None, reason);
        }
        let sends = match address.known() {
            None => true,
            Some(address) => {
                let is_name = !address.contains([':', '/']);
                !is_name && references.iter().any(|word| word.known().is_none()) && call.name != "git-clone"
            }
        };
        if sends || says_unknown {
            self.sends_unknown();
        }
    }

    /// `cmake -E rm`: commands that cmake has itself, read as the programs that they are.
    pub(super) fn cmake(&mut self, call: ProgramCall<'_>) {
        let Some(at) = call.words.iter().position(|word| word.text() == "-E") else { return };
        let Some((verb, rest)) = call.words.get(at + 1..).and_then(<[ShellWord]>::split_first) else { return };
        let program = match verb.known() {
            Some("rm" | "remove" | "remove_directory") => "rm",
            Some("copy" | "copy_directory" | "copy_if_different" | "copy_directory_if_different") => "cp",
            Some("rename") => "mv",
            Some("make_directory") => "mkdir",
            Some("touch" | "touch_nocreate") => "touch",
            Some("create_symlink" | "create_hardlink") => "ln",
            Some("env") => "env",
            Some("time") => "time",
            Some("chdir") => {
                self.in_folder(None, |walk| walk.inner(rest.get(1..).unwrap_or_default(), call.input));
                return;
            }
            Some("tar") => "tar",
            Some(
                "echo" | "echo_append" | "cat" | "compare_files" | "sleep" | "true" | "false" | "capabilities"
                | "environment",
            ) => return,
            Some("md5sum" | "sha1sum" | "sha224sum" | "sha256sum" | "sha384sum" | "sha512sum") => return,
            Some(_) | None => {
                self.opaque("", "runs what is given on the line");
                return;
            }
        };
        self.program(program, rest, call.input);
    }

    /// `uv pip install x` is `pip install x`.
    pub(super) fn uv_pip(&mut self, call: ProgramCall<'_>) {
        if let [verb, rest @ ..] = call.words
            && verb.known() == Some("pip")
        {
            self.program("pip", rest, call.input);
        }
    }
}

/// Returns whether a fetched reference replaces a local branch or tag. A remote-tracking one may be replaced.
fn overwrites_branch(reference: &ShellWord) -> bool {
    let target = reference.text().strip_prefix('+').and_then(|text| text.split_once(':'));
    target.is_some_and(|(_, to)| !to.is_empty() && !to.starts_with("refs/remotes/"))
}
