//! The commands that a text speaks of: the code in it, as far as it is a command.
//!
//! In: markdown. Out: the categories that its commands would need. A command is code that begins with a program which
//! the table knows, or with a path that is given arguments: names of files, types and tools stand in backticks too.
//! Plain words are not looked at.

use super::super::effect::Verdict;
use super::{ShellContext, read};
use crate::words::Category;
use crate::words::category::SHELL_EXEC;

/// The tags of fences that may hold commands.
const TAGS: [&str; 8] = ["", "sh", "bash", "zsh", "shell", "console", "terminal", "shell-session"];

/// The categories that the commands in a text would need, each once, in order.
#[must_use]
pub fn spoken(text: &str, context: &ShellContext<'_>) -> Vec<Category> {
    let mut needed: Vec<Category> = Vec::new();
    for code in code_of(text) {
        for category in needs(&code, context) {
            if !needed.contains(&category) {
                needed.push(category);
            }
        }
    }
    needed
}

/// A piece of code in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
struct CodePiece {
    text: String,
    /// True if it stands in a fence, on lines of its own.
    is_fenced: bool,
}

/// The lines of fences that may hold commands, continued ones joined, and the spans between backticks of a paragraph.
/// Quoted lines are lines; a fence may open behind other words, as agents write it.
fn code_of(text: &str) -> Vec<CodePiece> {
    let mut found = Vec::new();
    let mut fence: Option<(String, bool)> = None;
    let mut begun = String::new();
    let mut paragraph = String::new();
    for line in text.lines() {
        let trimmed = line.trim_start_matches([' ', '\t', '>']).trim_end();
        if let Some((mark, holds_commands)) = &fence {
            if trimmed.starts_with(mark.as_str()) {
                fence = None;
                begun.clear();
            } else if *holds_commands {
                let line = trimmed.strip_prefix("$ ").unwrap_or(trimmed);
                match line.strip_suffix('\\') {
                    Some(first) => begun.push_str(first),
                    None => found.push(CodePiece { text: std::mem::take(&mut begun) + line, is_fenced: true }),
                }
            }
            continue;
        }
        match opening(trimmed) {
            Some((before, mark, tag)) => {
                fence = Some((mark.to_owned(), TAGS.contains(&tag.to_lowercase().as_str())));
                paragraph.push_str(before);
                push_spans(&mut found, &mut paragraph);
            }
            None if trimmed.is_empty() => push_spans(&mut found, &mut paragraph),
            None => {
                paragraph.push_str(trimmed);
                paragraph.push(' ');
            }
        }
    }
    push_spans(&mut found, &mut paragraph);
    found
}

/// Adds the spans of a paragraph, which is at its end. A span may go over the ends of its lines.
fn push_spans(found: &mut Vec<CodePiece>, paragraph: &mut String) {
    found.extend(spans(paragraph).map(|text| CodePiece { text: text.to_owned(), is_fenced: false }));
    paragraph.clear();
}

/// Returns the text before the fence that a line opens, its mark and its tag; `None` if it opens none.
fn opening(line: &str) -> Option<(&str, &str, &str)> {
    // The last long run of backticks, if there is no later one to close it and no earlier one that it closes.
    let at = if line.starts_with("~~~") {
        0
    } else {
        line.rfind("```").map(|end| line[..end].trim_end_matches('`').len())?
    };
    let (before, fence) = line.split_at(at);
    let first = fence.chars().next()?;
    let (mark, tag) = fence.split_at(fence.chars().take_while(|c| *c == first).count());
    (!tag.contains('`') && before.matches("```").count() % 2 == 0).then(|| (before, mark, tag.trim()))
}

/// Returns the texts between two equally long runs of backticks of one line.
fn spans(line: &str) -> impl Iterator<Item = &str> {
    let mut rest = line;
    std::iter::from_fn(move || {
        loop {
            rest = &rest[rest.find('`')?..];
            let length = rest.len() - rest.trim_start_matches('`').len();
            let (mark, inside) = rest.split_at(length);
            let mut from = 0;
            let end = loop {
                let Some(at) = inside.get(from..).and_then(|inside| inside.find('`')) else { break None };
                let at = from + at;
                let run = inside[at..].len() - inside[at..].trim_start_matches('`').len();
                if run == mark.len() {
                    break Some(at);
                }
                from = at + run;
            };
            rest = match end {
                Some(end) => &inside[end + length..],
                None => inside,
            };
            if let Some(end) = end {
                return Some(inside[..end].trim());
            }
        }
    })
}

/// Returns the categories that a piece of code would need; none if it is no command.
fn needs(code: &CodePiece, context: &ShellContext<'_>) -> Vec<Category> {
    let mut words = code.text.split_whitespace();
    let (Some(first), is_one_word) = (words.next(), words.next().is_none()) else { return Vec::new() };
    if first.starts_with('#') {
        return Vec::new();
    }
    let reading = read(&code.text, context);
    let is_path = ["./", "../", "/", "~/"].iter().any(|begin| first.starts_with(begin));
    let is_script = is_path && (!is_one_word || first.ends_with(".sh"));
    if !is_script && !reading.runs.iter().any(|program| context.programs.knows(program)) {
        return Vec::new();
    }
    let is_bare = is_one_word && !code.is_fenced && !is_script;
    let itself = (!is_bare).then(|| Category::new(SHELL_EXEC));
    // The name of a language or an interpreter alone says nothing of what would be run.
    let effects = reading.effects.into_iter().filter(|effect| !is_bare || effect.verdict != Verdict::Opaque);
    itself.into_iter().chain(effects.map(|effect| effect.category)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::super::places::Places;
    use super::super::{Dialect, Programs};
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let places = Places { workdir: "/w".to_owned(), ..Places::default() };
        let context =
            ShellContext { shell: Dialect::Bash, folder: ".", places: &places, programs: Programs::builtin() };
        let found = spoken(text, &context);
        assert_eq!(found.iter().map(Category::as_str).collect::<Vec<_>>(), expected, "{text}");
    }

    #[test]
    fn commands_in_code_are_read_and_names_in_code_are_not() {
        check("I run `git push origin main`.", &["shell_exec", "git_push"]);
        check("I run ``git push origin main``.", &["shell_exec", "git_push"]);
        check("First `ls -l`, then `rm -r build`.", &["shell_exec", "filesystem_delete"]);
        check("I write `hello.txt` and `src/main.rs` with `write_file`.", &[]);
        check("It returns `Vec<u8> -> String` or `a > b`.", &[]);
        check("It is written in `python`.", &[]);
        check("I run `./release.sh` now.", &["shell_exec", "opaque_exec"]);
        check("I run `./release --now`.", &["shell_exec", "opaque_exec"]);
        check("It is `./hello.txt`.", &[]);
        check("I git push origin main.", &[]);
        check("An open ` tick and git push origin main", &[]);
        check("`` ` `` and `git push`", &["shell_exec", "git_push"]);
        check("```git push``` on one line", &["shell_exec", "git_push"]);
        check("I run `git\npush origin` and `rm -r\n> build`.", &["shell_exec", "git_push", "filesystem_delete"]);
        check("An open ` tick.\n\nAnother ` tick and git push", &[]);
        check("", &[]);
    }

    #[test]
    fn fences_of_commands_are_read_line_by_line() {
        check("So:\n```sh\nls\ngit push\n```\n`cat a`", &["shell_exec", "git_push"]);
        check("```\n$ git push\n```", &["shell_exec", "git_push"]);
        check("```console\n$ git \\\n  push\nEverything up-to-date\n```", &["shell_exec", "git_push"]);
        check("~~~\ngit push\n~~~", &["shell_exec", "git_push"]);
        check("```\nnever closed\ngit push", &["shell_exec", "git_push"]);
        check("```json\n{\"run\": \"git push\"}\ngit push\n```", &[]);
        check("```\n# git push\n\n```", &[]);
        check("````\n```\ngit push\n````", &["shell_exec", "git_push"]);
        check("> So:\n> ```sh\n> git push\n> ```", &["shell_exec", "git_push"]);
        check("I run ```\ngit push\n``` now, and `ls`.", &["shell_exec", "git_push"]);
        check("So: ```sh\ngit push\n```\nand `rm -r b`", &["shell_exec", "git_push", "filesystem_delete"]);
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read(text in "[`~ a\\-/.>$\\\\\\n\u{e4}]{0,40}") {
            let places = Places { workdir: "/w".to_owned(), ..Places::default() };
            let context =
                ShellContext { shell: Dialect::Bash, folder: ".", places: &places, programs: Programs::builtin() };
            let found = spoken(&text, &context);
            let once: std::collections::BTreeSet<&Category> = found.iter().collect();
            proptest::prop_assert_eq!(once.len(), found.len());
        }
    }
}
