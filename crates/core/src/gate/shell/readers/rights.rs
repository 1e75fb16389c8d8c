//! Programs that change what may be done with files: which of their words are files.

use crate::gate::effect::{Act, Target, UNKNOWN, Verdict};
use crate::gate::shell::args::ProgramArgs;
use crate::gate::shell::expand::ShellWord;
use crate::gate::shell::programs::Does;
use crate::gate::shell::walk::ShellWalk;
use crate::words::category::FILESYSTEM_WRITE;

impl ShellWalk<'_> {
    /// `chmod`, `chown`, `setfacl` and their kind: each file, and all below it where they say so.
    pub(in crate::gate::shell) fn rights(&mut self, does: Does<'_>, name: &str, args: &ProgramArgs<'_>) {
        let is_recursive = args.any(&["-R", "--recursive"]);
        let files = files(name, args);
        let targets: Vec<Target> = match files.as_slice() {
            // Those that a file lists, or that are read.
            [] => vec![Target { path: UNKNOWN.to_owned(), is_pattern: false, is_recursive }],
            files => files.iter().map(|file| self.target(file, is_recursive)).collect(),
        };
        for target in targets {
            let is_outside = target.path.starts_with(['/', '~']);
            let verdict = if is_outside { does.verdict.max(Verdict::Ask) } else { does.verdict };
            // How it was is gone afterwards, and is kept beforehand.
            let act = Act::Overwrite(target);
            for category in does.categories {
                self.effect_of(verdict, category, act.clone(), None, does.reason);
            }
            if does.categories.is_empty() {
                self.effect(verdict, FILESYSTEM_WRITE, act, None, does.reason);
            }
        }
    }
}

/// The operands that are files.
fn files<'a>(name: &str, args: &ProgramArgs<'a>) -> Vec<&'a ShellWord> {
    let operands = args.operands.as_slice();
    let has_model = args.any(&["--reference"]);
    // `chmod -x f`: the mode looks like options.
    let is_mode = |option: &str| option.strip_prefix('-').is_some_and(|letters| "rwxXstugoa=".contains(letters));
    let after = match name {
        "chmod" => usize::from(!has_model && !args.options.iter().any(|(option, _)| is_mode(option))),
        "chown" | "chgrp" | "lchown" | "chflags" => usize::from(!has_model),
        "chcon" => usize::from(!has_model && !args.any(&["-u", "-r", "-t", "-l", "--user", "--role", "--type"])),
        "setcap" => usize::from(!args.any(&["-r"])),
        // `chattr +i f`: the modes begin with a sign.
        _ => 0,
    };
    let is_sign = |word: &ShellWord| name == "chattr" && word.text().starts_with(['+', '=']);
    operands.iter().skip(after).copied().filter(|word| !is_sign(word)).collect()
}
