//! Interpreters that only look at a file: `php -l`, `ruby -c`, `node --check`.

use super::ProgramCall;
use crate::gate::shell::expand::ShellWord;
use crate::gate::shell::walk::ShellWalk;

impl ShellWalk<'_> {
    /// Returns whether a call of an interpreter runs nothing: it parses files, or tells about itself.
    pub(super) fn only_checks(&self, call: ProgramCall<'_>) -> bool {
        let Some(words) = call.words.iter().map(ShellWord::known).collect::<Option<Vec<&str>>>() else { return false };
        let Some((first, rest)) = words.split_first() else { return false };
        let are_files = |rest: &[&str]| rest.iter().all(|word| !word.starts_with('-'));
        match call.name {
            "node" | "nodejs" => matches!(*first, "--check" | "-c") && rest.len() == 1 && are_files(rest),
            "ruby" => {
                let is_check = |word: &str| {
                    word.strip_prefix('-').is_some_and(|letters| {
                        letters.contains('c') && letters.bytes().all(|letter| b"cw".contains(&letter))
                    })
                };
                is_check(first) && !rest.is_empty() && are_files(rest)
            }
            "php" => match *first {
                "-m" | "-i" | "--ini" | "--info" | "--modules" => rest.is_empty(),
                "-l" | "--syntax-check" => !rest.is_empty() && are_files(rest),
                _ => false,
            },
            _ => false,
        }
    }
}
