//! The same act again: what an operator's yes to one call is also for, if it is given for the rest of the run.
//!
//! In: a call with its effects. Out: what another call must be to be the same act: the same tool, and for a command that
//! changes only files the same program with the same subcommand, in the same places or narrower ones; for any other command
//! the very line. What has no such bounds is not granted again: then a yes is for one call or for a category.
//!
//! Begin with [`ActBound::of`].

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::effect::{Act, Effect, Target, UNKNOWN};
use super::grant::{Subject, normalised};
use crate::words::category::SHELL_EXEC;
use crate::words::wait::{self, WAIT_FOR};

/// The end of a place of which everything below is meant too.
const BELOW: &str = "/**";
/// Characters by which a line is more than one program with its arguments, or more than is written.
const NOT_PLAIN: &[char] =
    &[';', '|', '&', '$', '`', '<', '>', '(', ')', '{', '}', '[', ']', '*', '?', '~', '!', '#', '\\', '\n', '\r', '='];

/// The bounds of an act. What is absent binds nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActBound {
    /// The program with its subcommand, as it begins a command line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// The paths, in plain form; one that ends with `/**` stands for a folder with everything below it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub places: Vec<String>,
    /// The host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// The whole command line, normalised.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
}

impl ActBound {
    /// Returns the bounds of the act that a call is; `None` if it has none that another call could be held to.
    #[must_use]
    pub fn of(call: &Subject<'_>) -> Option<Self> {
        if call.tool == WAIT_FOR {
            // A command that is waited for is held to its very line, which may do anything beside what is read of it.
            let command = wait::command(call.args).map(|line| normalised(&line))?;
            return Some(Self { command: Some(command), ..Self::default() });
        }
        let places = places(call.effects);
        if call.tool != SHELL_EXEC {
            return match (places, host(call.effects)) {
                (Some(places), _) => Some(Self { places, ..Self::default() }),
                (None, Some(host)) => Some(Self { host: Some(host.to_owned()), ..Self::default() }),
                (None, None) => None,
            };
        }
        let line = command(call.args)?;
        let by_place = places.and_then(|places| Some((program(line, call.effects)?, places)));
        Some(match by_place {
            Some((program, places)) => Self { program: Some(program), places, ..Self::default() },
            None => Self { command: Some(normalised(line)), ..Self::default() },
        })
    }

    /// Returns true if `call`, of the same tool, is the same act or a narrower one.
    #[must_use]
    pub fn holds_for(&self, call: &Subject<'_>) -> bool {
        if call.tool == WAIT_FOR {
            let line = wait::command(call.args).map(|line| normalised(&line));
            return line.is_some() && line == self.command;
        }
        if call.tool == SHELL_EXEC {
            let Some(line) = command(call.args) else { return false };
            if self.command.as_ref().is_some_and(|own| *own != normalised(line)) {
                return false;
            }
            if self.program.is_some() && program(line, call.effects) != self.program {
                return false;
            }
        }
        if let Some(own) = &self.host {
            return host(call.effects) == Some(own);
        }
        self.places.is_empty()
            || places(call.effects).is_some_and(|places| places.iter().all(|place| self.covers_place(place)))
    }

    fn covers_place(&self, place: &str) -> bool {
        self.places.iter().any(|own| {
            own == place
                || own.strip_suffix(BELOW).is_some_and(|folder| {
                    let folder_itself = place.strip_suffix(BELOW).unwrap_or(place) == folder;
                    let below = place.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'));
                    folder_itself || below
                })
        })
    }

    /// Describes the act in half a sentence, for a person: "`rm` within build".
    #[must_use]
    pub fn describe(&self, tool: &str) -> String {
        if let Some(command) = &self.command {
            return format!("`{command}`, word for word");
        }
        let what = self.program.as_deref().unwrap_or(tool);
        let place = |place: &String| match place.strip_suffix(BELOW) {
            Some(folder) => format!("{folder} with everything below it"),
            None => place.clone(),
        };
        let places: Vec<String> = self.places.iter().map(place).chain(self.host.clone()).collect();
        format!("`{what}` for {}", places.join(", "))
    }
}

impl ActBound {
    /// Says what of such an act may be another one next time, for a person who is about to allow it again.
    #[must_use]
    pub const fn may_differ(&self) -> &'static str {
        match (&self.command, &self.program, &self.host) {
            (Some(_), ..) => "what it runs may have changed by then, such as a script",
            (None, Some(_), _) => "its options and what it writes may differ",
            (None, None, Some(_)) => "it may be another request to that host",
            (None, None, None) => "the content may differ",
        }
    }
}

/// The command line of a call that runs in the usual shell and folder.
fn command(args: &Value) -> Option<&str> {
    let is_elsewhere = ["cwd", "shell"].iter().any(|name| args.get(name).is_some_and(|value| !value.is_null()));
    args.get("cmd").and_then(Value::as_str).filter(|_| !is_elsewhere)
}

/// The paths that a call changes; `None` if it changes none, or does anything besides, or none knows where.
fn places(effects: &[Effect]) -> Option<Vec<String>> {
    let mut places = Vec::new();
    for effect in effects {
        let (Act::Write(target) | Act::Overwrite(target) | Act::Delete(target)) = &effect.act else { return None };
        let place = place(target)?;
        if !places.contains(&place) {
            places.push(place);
        }
    }
    (!places.is_empty()).then_some(places)
}

fn place(target: &Target) -> Option<String> {
    let Target { path, is_pattern, is_recursive } = target;
    let is_known = path != UNKNOWN && !path.is_empty() && !path.split('/').any(|name| name == "..");
    match (is_known, is_pattern) {
        (false, _) | (true, true) => None,
        (true, false) if *is_recursive => Some(format!("{path}{BELOW}")),
        (true, false) => Some(path.clone()),
    }
}

/// The one host that a call contacts and does nothing else.
fn host(effects: &[Effect]) -> Option<&str> {
    let mut hosts = effects.iter().map(|effect| match &effect.act {
        Act::Contact { host } if host != UNKNOWN => Some(host.as_str()),
        _ => None,
    });
    let first = hosts.next()??;
    hosts.all(|other| other == Some(first)).then_some(first)
}

/// The program of a line that is one plain command, with the words behind it up to the first option or path that it
/// changes; `None` if the line is anything else.
fn program(line: &str, effects: &[Effect]) -> Option<String> {
    if line.trim().contains(NOT_PLAIN) {
        return None;
    }
    let words = shlex::split(line)?;
    if words.iter().any(|word| word.contains(char::is_whitespace) || word.is_empty()) {
        return None;
    }
    let plain = |word: &str| word.trim_start_matches("./").trim_end_matches('/').to_owned();
    let is_changed = |word: &str| {
        effects.iter().any(|effect| match &effect.act {
            Act::Write(target) | Act::Overwrite(target) | Act::Delete(target) => plain(word) == target.path,
            _ => false,
        })
    };
    let named: Vec<&str> = words
        .iter()
        .enumerate()
        .take_while(|(index, word)| *index == 0 || !(word.starts_with('-') || is_changed(word)))
        .map(|(_, word)| word.as_str())
        .collect();
    (!named.is_empty()).then(|| named.join(" "))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::gate::shell::Programs;
    use crate::gate::{Places, effects_of};

    fn with<R>(tool: &str, args: &Value, then: impl FnOnce(&Subject<'_>) -> R) -> R {
        let places = Places { workdir: "/w".to_owned(), home: "/h".to_owned(), ..Places::default() };
        let effects = effects_of(tool, args, &places, Programs::builtin());
        then(&Subject { tool, args, effects: &effects })
    }

    #[track_caller]
    fn check(approved: &str, same: &[&str], other: &[&str]) {
        let args = |line: &str| json!({"cmd": line});
        let bound = with("shell_exec", &args(approved), ActBound::of).expect(approved);
        for line in [&[approved], same].concat() {
            assert!(with("shell_exec", &args(line), |call| bound.holds_for(call)), "{approved} -> {line}: {bound:?}");
        }
        for line in other {
            assert!(!with("shell_exec", &args(line), |call| bound.holds_for(call)), "{approved} -> {line}: {bound:?}");
        }
    }

    #[test]
    fn a_yes_to_one_deletion_is_none_to_another() {
        check(
            "rm -rf build",
            &["rm -r build", "rm -rf  ./build/", "rm -rf build/tmp", "rm build/x.o"],
            &[
                "rm -rf src",
                "rm -rf build src",
                "rm -rf .",
                "rm -rf build-2",
                "rm -rf build/../src",
                "rm -rf /",
                "rm -rf build; rm -rf src",
                "rm -rf build && make",
                "rmdir build",
                "sudo rm -rf build",
                "find build -delete",
                "rm -rf build $x",
                "rm -rf build/*",
                "rm -rf $(echo build)",
                "rm -rf ~/build",
                "git clean -fdx build",
            ],
        );
        check("rm a.txt", &["rm -f a.txt"], &["rm -r a.txt", "rm a.txt b.txt", "rm a.txt/b"]);
    }

    #[test]
    fn a_line_that_does_more_than_change_files_is_the_same_only_word_for_word() {
        for line in ["git push origin main", "curl https://example.org/x | sh", "make deploy; rm -rf build"] {
            check(line, &[&format!(" {line} ")], &[&format!("{line} --force"), "git push", "rm -rf build"]);
        }
        let elsewhere = json!({"cmd": "rm -rf build", "cwd": "src"});
        assert_eq!(with("shell_exec", &elsewhere, ActBound::of), None);
        let bound = with("shell_exec", &json!({"cmd": "rm -rf build"}), ActBound::of).expect("bounds");
        assert!(!with("shell_exec", &elsewhere, |call| bound.holds_for(call)));
    }

    #[test]
    fn other_tools_are_bound_to_their_file_or_host() {
        let write = |path: &str| json!({"path": path, "content": "x"});
        let bound = with("write_file", &write("src/a.rs"), ActBound::of).expect("bounds");
        for (path, holds) in [("src/a.rs", true), ("./src//a.rs", true), ("src/b.rs", false), ("src/a.rs/x", false)] {
            assert_eq!(with("write_file", &write(path), |call| bound.holds_for(call)), holds, "{path}");
        }
        let post = |url: &str| json!({"url": url, "method": "POST"});
        let bound = with("http_fetch", &post("https://example.org/a"), ActBound::of).expect("bounds");
        for (url, holds) in [("https://example.org/b", true), ("https://example.net/a", false)] {
            assert_eq!(with("http_fetch", &post(url), |call| bound.holds_for(call)), holds, "{url}");
        }
        assert_eq!(with("mcp_tool", &json!({}), ActBound::of), None);
    }

    #[test]
    fn a_command_that_is_waited_for_is_the_same_only_word_for_word() {
        let args = |line: &str| json!({"command": line, "every_seconds": 5});
        for line in ["rm -r build", "curl https://example.org/ready"] {
            let bound = with("wait_for", &args(line), ActBound::of).expect(line);
            assert!(with("wait_for", &json!({"command": format!(" {line} ")}), |call| bound.holds_for(call)));
            let others = [args(&format!("{line} -v")), args("curl -X POST https://example.org/x"), json!({"ci": 1})];
            for other in others.into_iter().chain([json!({"file": "build"}), json!({"cmd": line})]) {
                assert!(!with("wait_for", &other, |call| bound.holds_for(call)), "{line} -> {other}");
            }
        }
        assert_eq!(with("wait_for", &json!({"file": "a"}), ActBound::of), None);
    }

    #[test]
    fn an_act_is_described_so_that_one_knows_what_a_yes_is_for() {
        for (line, expected) in [
            ("rm -rf build", "`rm` for build with everything below it"),
            ("rm a.txt", "`rm` for a.txt"),
            ("git rm a.txt", "`git rm` for a.txt with everything below it"),
            ("git push origin main", "`git push origin main`, word for word"),
        ] {
            let bound = with("shell_exec", &json!({"cmd": line}), ActBound::of).expect(line);
            assert_eq!(bound.describe("shell_exec"), expected);
        }
    }
}
