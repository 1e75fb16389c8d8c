//! Commands that print a name, a number or a place: a word, or several, of which none is an option.
//!
//! In: the text of a substitution, such as `git rev-parse HEAD`. Out: whether what it prints can be put into a command
//! outside of quotes without adding an option to it.

/// Returns true if all that a command prints are such words, whatever its variables hold.
pub(super) fn prints_names(command: &str) -> bool {
    let is_simple = |byte: u8| byte.is_ascii_alphanumeric() || b" -_./~^@:%+$\"'={}".contains(&byte);
    if !command.bytes().all(is_simple) {
        return false;
    }
    let Some(words) = command.split_whitespace().map(unquoted).collect::<Option<Vec<&str>>>() else { return false };
    match words.as_slice() {
        ["pwd" | "nproc" | "whoami" | "id" | "uname" | "hostname", options @ ..] => options.iter().all(is_flag),
        ["date", args @ ..] => args.iter().all(is_dates),
        ["mktemp", args @ ..] => args.iter().all(|arg| is_flag(arg) || is_revision(arg)),
        ["git", "branch", "--show-current"] => true,
        // It names commits, whatever it is asked about.
        ["git", "merge-base", ..] => true,
        ["git", "rev-parse", args @ ..] => {
            // One revision is printed as its hash, and nothing else is printed at all.
            let is_one = args.iter().any(|arg| *arg == "--verify" || *arg == "--short" || arg.starts_with("--short="));
            let asks = |arg: &&str| REV_PARSE.contains(arg) || arg.starts_with("--short=");
            args.iter().all(|arg| asks(arg) || is_revision(arg) || (is_one && !arg.starts_with('-')))
        }
        ["git", "rev-list", args @ ..] => args.iter().all(|arg| {
            REV_LIST.contains(arg) || is_count(arg) || is_revision(arg) || arg.bytes().all(|byte| byte.is_ascii_digit())
        }),
        ["git", "describe", args @ ..] => {
            args.iter().all(|arg| DESCRIBE.contains(arg) || arg.starts_with("--abbrev=") || is_revision(arg))
        }
        ["git", "symbolic-ref", args @ ..] => {
            args.iter().all(|arg| ["--short", "-q", "--quiet"].contains(arg) || is_revision(arg))
        }
        _ => false,
    }
}

/// Options of `git rev-parse` of which none is printed as it is.
const REV_PARSE: [&str; 13] = [
    "--verify", "--quiet", "-q", "--short", "--abbrev-ref", "--symbolic-full-name", "--show-toplevel", "--show-prefix",
    "--show-cdup", "--git-dir", "--absolute-git-dir", "--git-common-dir", "--is-inside-work-tree",
];

/// The same of `git rev-list`, which prints commits and a count.
const REV_LIST: [&str; 10] = [
    "--count", "--all", "--reverse", "--first-parent", "--merges", "--no-merges", "--branches", "--tags",
    "--max-parents=0", "-n",
];

/// The same of `git describe`: names of tags begin with no dash.
const DESCRIBE: [&str; 7] = ["--tags", "--all", "--always", "--long", "--dirty", "--exact-match", "--contains"];

/// A word without quotes around the whole of it; none if there are others.
fn unquoted(word: &str) -> Option<&str> {
    let within = |quote: char| word.strip_prefix(quote).and_then(|word| word.strip_suffix(quote));
    let word = within('"').or_else(|| within('\'')).unwrap_or(word);
    (!word.contains(['"', '\''])).then_some(word)
}

/// `-s`, `--ignore=1`: an option without anything that can't be known.
fn is_flag(word: &&str) -> bool {
    word.len() > 1 && word.starts_with('-') && *word != "--" && !word.contains('$')
}

/// `-5`, `-n5`, `--max-count=5`.
fn is_count(word: &str) -> bool {
    let number = word.strip_prefix("--max-count=").or_else(|| word.strip_prefix("-n")).or(word.strip_prefix('-'));
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// An option of `date`, or a format in one word that begins with a part of the time.
fn is_dates(word: &&str) -> bool {
    match word.strip_prefix('+') {
        Some(format) => format.starts_with('%') && !["$", "%n", "%t"].iter().any(|part| format.contains(part)),
        None => is_flag(word),
    }
}

/// The name of a revision, a range of them or a path, as it stands.
fn is_revision(word: &&str) -> bool {
    !word.starts_with('-') && !word.contains('$')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_prints_names_is_told_from_what_may_print_an_option() {
        for command in [
            "pwd",
            "pwd -P",
            "nproc --ignore=1",
            "id -u",
            "uname -s",
            "date",
            "date +%s",
            "date -u +%Y-%m-%d",
            "mktemp",
            "mktemp -d",
            "mktemp /tmp/x.XXXXXX",
            "git branch --show-current",
            "git merge-base main HEAD",
            "git merge-base origin/main \"$branch\"",
            "git rev-parse HEAD",
            "git rev-parse --short HEAD~3",
            "git rev-parse --short \"$sha\"",
            "git rev-parse --verify $sha",
            "git rev-parse --show-toplevel",
            "git rev-parse --abbrev-ref HEAD",
            "git rev-list --count HEAD",
            "git rev-list -5 HEAD",
            "git rev-list -n 1 main",
            "git rev-list main..HEAD",
            "git describe --tags --always",
            "git symbolic-ref --short HEAD",
        ] {
            assert!(prints_names(command), "{command}");
        }
        for command in [
            "",
            "cat f",
            "pwd; cat f",
            "date +-o",
            "date +'-o a'",
            "date \"+%Y -o a\"",
            "date +%Y%n-o",
            "date +$x",
            "mktemp -- -oXXXXXX",
            "mktemp $x",
            "git rev-parse -o a",
            "git rev-parse -- -o",
            "git rev-parse --sq-quote x",
            "git rev-parse $x",
            "git rev-parse --branches=x $y",
            "git rev-list --format=-o HEAD",
            "git rev-list $x",
            "git describe --dirty=-o",
            "git describe \"$x\"",
            "git branch",
            "git log --format=%h",
            "hostname $x",
            "git rev-parse \"a",
            "git rev-parse 'a b'",
        ] {
            assert!(!prints_names(command), "{command}");
        }
    }
}
