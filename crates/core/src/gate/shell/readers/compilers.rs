//! Compilers, assemblers and linkers: what they write, and options that name a program or load code.

use super::ProgramCall;
use crate::gate::shell::expand::ShellWord;
use crate::gate::shell::paths::PathChange;
use crate::gate::shell::walk::ShellWalk;

/// Beginnings of options that run a program, load code or take further options from a file.
const RUNNING: [&str; 20] = [
    "-wrapper", "-fplugin", "-B", "-specs", "--specs", "-fuse-ld", "--ld-path", "-plugin", "--plugin", "@", "-load",
    "-Clinker", "-Zcodegen-backend", "-processor", "-Xplugin", "-pgm", "--compiler-bindir", "-ccbin", "-J-", "-ppx",
];

/// Values of `-C`, `-Z`, `-Wl,` or `-Xlinker` that have the same effect.
const PASSED_ON: [&str; 7] =
    ["linker=", "codegen-backend=", "-plugin", "--plugin", "-load", "link-arg=-fuse-ld", "link-arg=-B"];

/// Options whose value is a file that is written.
const OUTPUTS: [&str; 21] = [
    "-o",
    "-MF",
    "-MJ",
    "-Map",
    "--Map",
    "--output",
    "--outFile",
    "-outFile",
    "--dependency-file",
    "--emit",
    "--outDir",
    "-outDir",
    "--declarationDir",
    "--tsBuildInfoFile",
    "--out",
    "-emit-module-path",
    "-index-store-path",
    "--serialize-diagnostics",
    "-serialize-diagnostics",
    "--generateTrace",
    "--generateCpuProfile",
];

/// Options whose value is a folder, or the beginning of paths, that files are written to.
const FOLDERS: [&str; 11] = [
    "--out-dir", "-dumpdir", "-dumpbase", "-outputdir", "-odir", "-hidir", "-stubdir", "--output-directory",
    "-module-cache-path", "-fprofile-dir", "-aux-info",
];

impl ShellWalk<'_> {
    /// `gcc -o a a.c`, `rustc -C linker=x a.rs`.
    pub(super) fn compiler(&mut self, call: ProgramCall<'_>) {
        // A linker's or assembler's output is a name that a build gives; typed by hand it may be any file.
        let change = if matches!(call.name, "ld" | "as" | "lld" | "gold" | "mold") {
            PathChange::Replace
        } else {
            PathChange::Make
        };
        let mut words = call.words.iter();
        while let Some(word) = words.next() {
            let text = word.text();
            if word.splits() {
                self.opaque("", "its options can't be known");
            }
            if RUNNING.iter().any(|option| text.starts_with(option)) {
                self.opaque("", "runs a program or loads code of the caller's choice");
            } else if matches!(text, "-C" | "-Z" | "-Xlinker" | "--codegen" | "-Xclang" | "-Xcompiler") {
                let passed = words.next();
                if let Some((at, file)) =
                    passed.and_then(|word| written_when_passed_on(word.text()).map(|at| (at, word)))
                {
                    self.change(&file.after(at), change, None);
                }
                if passed.is_none_or(|word| word.known().is_none_or(runs_when_passed_on)) {
                    self.opaque("", "runs a program or loads code of the caller's choice");
                }
            } else if text.starts_with("-Wl,") || text.starts_with("-C") || text.starts_with("--codegen=") {
                let passed = text.split([',']).chain(text.strip_prefix("-C")).chain(text.strip_prefix("--codegen="));
                let mut parts = passed.peekable();
                while let Some(part) = parts.next() {
                    if let Some(at) = written_when_passed_on(part) {
                        self.change(&ShellWord::plain(&part[at..]), change, None);
                    }
                    if runs_when_passed_on(part) {
                        self.opaque("", "runs a program or loads code of the caller's choice");
                    } else if matches!(part, "-Map" | "-o")
                        && let Some(file) = parts.peek()
                    {
                        self.change(&ShellWord::plain(*file), change, None);
                    }
                }
            } else if evaluates(call.name, text) {
                self.opaque("", "runs code that is given on the line, or a script");
            } else if OUTPUTS.contains(&text) && text != "--emit" {
                if let Some(file) = words.next() {
                    self.change(file, change, None);
                }
            } else if let Some((option, file)) = text.split_once('=').filter(|(option, _)| OUTPUTS.contains(option)) {
                // `--emit=asm=x.s`
                let file = file.rsplit('=').next().unwrap_or_default();
                if option != "--emit" || text.matches('=').count() > 1 {
                    self.change(&word.after(text.len() - file.len()), change, None);
                }
            } else if FOLDERS.contains(&text)
                || matches!((call.name, text), ("javac", "-d" | "-s" | "-h") | ("kotlinc", "-d"))
            {
                if let Some(folder) = words.next() {
                    self.change(folder, PathChange::Into, None);
                }
            } else if let Some((_, folder)) = text.split_once('=').filter(|(option, _)| FOLDERS.contains(option)) {
                self.change(&word.after(text.len() - folder.len()), PathChange::Into, None);
            } else if matches!(call.name, "tsc" | "vue-tsc") && matches!(text, "-p" | "--project") {
                if let Some(project) = words.next() {
                    self.comes_from(project);
                }
            } else if let Some(at) = clustered_output(call.name, text) {
                let file = if at < text.len() { Some(word.after(at)) } else { words.next().cloned() };
                if let Some(file) = file {
                    self.change(&file, change, None);
                }
            }
        }
    }
}

/// Returns the place of the output in an option that has it: `-of`, and `-sof` or `-so` of those that take several
/// letters behind one dash.
fn clustered_output(name: &str, option: &str) -> Option<usize> {
    let flags = match name {
        "as" => "DGJKLMRXZfghnqsvw",
        "ld" => "EFMNSVXdginqrsvx",
        "rustc" => "OVghv",
        _ => "",
    };
    let letters = option.strip_prefix('-')?;
    let place = letters.find(|letter: char| !flags.contains(letter))?;
    letters[place..].starts_with('o').then_some("-".len() + place + "o".len())
}

/// Compilers that run what they are given: `ghc -e code`, `kotlinc -script x.kts`.
fn evaluates(name: &str, option: &str) -> bool {
    match name {
        "ghc" => {
            let is_other = option.starts_with("-eventlog") || option.starts_with("-exclude");
            (option.starts_with("-e") && !is_other) || matches!(option, "--interactive" | "--run")
        }
        "kotlinc" => matches!(option, "-script" | "-e" | "-expression" | "-Xrepl"),
        _ => false,
    }
}

/// Returns the start of the written path in `incremental=folder` and its kind.
fn written_when_passed_on(part: &str) -> Option<usize> {
    let written = ["incremental=", "profile-generate=", "dump-mir-dir=", "self-profile="];
    written.iter().find(|beginning| part.starts_with(*beginning)).map(|beginning| beginning.len())
}

/// Returns whether flags of a compiler write a file of another name than the build's own.
pub(in crate::gate::shell) fn writes_elsewhere<'a>(mut words: impl Iterator<Item = &'a str>) -> bool {
    words.any(|word| {
        matches!(word, "-o" | "--out-dir" | "--artifact-dir")
            || word.starts_with("--out-dir=")
            || (word.starts_with("--emit") && word.matches('=').count() > 1)
            || written_when_passed_on(word.strip_prefix("-C").unwrap_or(word)).is_some()
    })
}

fn runs_when_passed_on(part: &str) -> bool {
    PASSED_ON.iter().any(|beginning| part.starts_with(beginning))
}

/// True if flags of a compiler run a program or load code.
pub(in crate::gate::shell) fn runs_programs<'a>(words: impl Iterator<Item = &'a str>) -> bool {
    let mut passed_on = false;
    for word in words {
        let beginning = ["-Wl,", "-C", "-Z", "--codegen="].iter().find_map(|beginning| word.strip_prefix(beginning));
        if RUNNING.iter().any(|option| word.starts_with(option))
            || (passed_on && runs_when_passed_on(word))
            || beginning.is_some_and(|rest| rest.split(',').any(runs_when_passed_on))
        {
            return true;
        }
        passed_on = matches!(word, "-C" | "-Z" | "-Xlinker" | "--codegen" | "-Xclang");
    }
    false
}
