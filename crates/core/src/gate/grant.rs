//! A yes that was asked for beforehand, bound to the act: which tool, which command or path, which categories,
//! how long, how often.
//!
//! In: grants, a call and a moment. Out: which grants hold for the call. A grant covers only the categories that
//! it names, so several may be needed for one call. It never covers what lies outside a locked scope, nor a
//! protected place.
//!
//! Begin with [`Grant::holds_for`]. Where grants come from is in `session/permission.rs`; the lines of the file
//! that keeps those that outlive a run are in `grant_line.rs`.

pub use crate::words::Lasts;
use globset::GlobBuilder;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::again::ActBound;
use super::authorization;
use super::effect::{Act, Effect};
use crate::words::category::{
    DATABASE_WRITE, DEPLOY, EXTERNAL_MESSAGE, FILESYSTEM_DELETE, GIT_HISTORY_REWRITE, GIT_PUSH, PAID_API_CALL,
    PRIVILEGE, PROCESS_KILL,
};
use crate::words::{Category, moment};

/// Categories that no grant covers beyond a run: what they do destroys or reaches others.
pub const NEVER_PERSISTENT: [&str; 9] = [
    FILESYSTEM_DELETE, GIT_HISTORY_REWRITE, PROCESS_KILL, DATABASE_WRITE, GIT_PUSH, DEPLOY, EXTERNAL_MESSAGE,
    PAID_API_CALL, PRIVILEGE,
];

/// Number of days that a persistent grant lasts if the operator names no day.
pub const GRANT_DAYS_DEFAULT: i64 = 30;

/// One grant. What it does not name it does not bind: without a tool it holds for every tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// Its id: that of the request it answers.
    pub grant_id: String,
    /// The action it is for, in the requester's words.
    pub action: String,
    /// The reason, in the requester's words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reasoning: String,
    /// The categories that it covers; never empty.
    pub categories: Vec<Category>,
    /// The tool it holds for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The command line it holds for, normalised; of `shell_exec` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The pattern that every path or host of the call must match, in plain form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The act that it holds for, where it was given by a yes to the same act again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub act: Option<Box<ActBound>>,
    /// The time for which it holds.
    #[serde(rename = "scope")]
    pub lasts: Lasts,
    /// The moment at which it ends; absent if it ends with the run.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "moment::optional_milliseconds")]
    pub until: Option<Timestamp>,
    /// For how many calls of a run it holds; absent for any number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uses: Option<u32>,
    /// The moment at which it was given.
    #[serde(with = "moment::milliseconds")]
    pub granted_at: Timestamp,
}

/// A call as the gate sees it, to compare with a grant.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    /// The tool.
    pub tool: &'a str,
    /// Its arguments.
    pub args: &'a Value,
    /// The effects of the call.
    pub effects: &'a [Effect],
}

impl Grant {
    /// True if the grant has ended by `now`.
    #[must_use]
    pub fn is_over(&self, now: Timestamp) -> bool {
        self.until.is_some_and(|until| until <= now)
    }

    /// True if the grant is for calls such as `subject`. The categories that the call needs are not compared.
    ///
    /// A command is compared whole, without regard to white space outside of quotes: a pattern of commands would cover
    /// what is appended to one. It holds for the workdir and the shell that are taken by default only. A path must
    /// match for each path and host that the call touches, and a call that touches none does not match.
    #[must_use]
    pub fn holds_for(&self, subject: &Subject<'_>) -> bool {
        if self.tool.as_ref().is_some_and(|tool| tool != subject.tool) {
            return false;
        }
        if let Some(command) = &self.command {
            let given = subject.args.get("cmd").and_then(Value::as_str);
            let elsewhere =
                ["cwd", "shell"].iter().any(|name| subject.args.get(name).is_some_and(|value| !value.is_null()));
            if elsewhere || given.is_none_or(|given| normalised(given) != *command) {
                return false;
            }
        }
        let is_the_act = self.act.as_ref().is_none_or(|act| act.holds_for(subject));
        is_the_act && self.path.as_ref().is_none_or(|pattern| matches_all(pattern, subject.effects))
    }

    /// True if it covers `category`.
    #[must_use]
    pub fn covers(&self, category: &Category) -> bool {
        self.categories.iter().any(|entry| authorization::covers(entry, category))
    }
}

/// True if a grant for these categories may outlive a run: none of them destroys or reaches others, and none is a
/// wildcard.
#[must_use]
pub fn may_persist(categories: &[Category]) -> bool {
    !categories.is_empty()
        && categories.iter().all(|category| {
            let name = category.as_str();
            !NEVER_PERSISTENT.contains(&name) && !name.contains('*')
        })
}

/// Returns the end of a persistent grant that is given at `now` without a day.
#[must_use]
pub fn default_end(now: Timestamp) -> Timestamp {
    now.checked_add(SignedDuration::from_hours(24 * GRANT_DAYS_DEFAULT)).unwrap_or(Timestamp::MAX)
}

/// True if `effects` name at least one path or host, and `pattern` matches each of them.
fn matches_all(pattern: &str, effects: &[Effect]) -> bool {
    let Ok(glob) = GlobBuilder::new(pattern).literal_separator(true).build() else { return false };
    let glob = glob.compile_matcher();
    let mut touched = effects.iter().filter_map(|effect| match &effect.act {
        // Of what a pattern or a whole tree stands for no single text can be compared but itself.
        Act::Write(target) | Act::Overwrite(target) | Act::Delete(target) => {
            let is_one = !target.is_pattern && !target.is_recursive && !target.path.contains("..");
            Some(target.path == *pattern || (is_one && glob.is_match(&target.path)))
        }
        Act::Contact { host } => Some(host == pattern || glob.is_match(host)),
        // Nobody knows what it touches.
        Act::Unreadable => Some(false),
        Act::Denied { .. } | Act::Other => None,
    });
    touched.next().is_some_and(|first| first && touched.all(|matches| matches))
}

/// A command line without white space at its ends, and with one space for several outside of quotes.
#[must_use]
pub fn normalised(command: &str) -> String {
    let mut text = String::new();
    let mut quote = None;
    let mut chars = command.trim_matches([' ', '\t', '\n', '\r']).chars();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (None, ' ' | '\t') if text.ends_with(' ') => {}
            (None, '\t') => text.push(' '),
            (None | Some('"'), '\\') => {
                text.push(c);
                text.extend(chars.next());
                // What is escaped is no space between words: the next one stays.
                if text.ends_with(' ') {
                    text.extend(chars.next());
                }
            }
            (None, '\'' | '"') => {
                quote = Some(c);
                text.push(c);
            }
            (Some(open), c) if c == open => {
                quote = None;
                text.push(c);
            }
            (_, c) => text.push(c),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::gate::shell::Programs;
    use crate::gate::{Places, effects_of};

    fn grant(tool: Option<&str>, command: Option<&str>, path: Option<&str>) -> Grant {
        Grant {
            grant_id: "g".to_owned(),
            action: "a".to_owned(),
            reasoning: String::new(),
            categories: vec![Category::new("filesystem_write")],
            tool: tool.map(str::to_owned),
            command: command.map(normalised),
            path: path.map(str::to_owned),
            act: None,
            lasts: Lasts::ThisRun,
            until: None,
            uses: None,
            granted_at: Timestamp::UNIX_EPOCH,
        }
    }

    #[test]
    fn a_grant_holds_for_the_act_that_it_was_given_for() {
        let call = |tool: &str, args: Value, grant: &Grant| {
            let effects = effects_of(tool, &args, &Places::default(), Programs::builtin());
            grant.holds_for(&Subject { tool, args: &args, effects: &effects })
        };
        let any = grant(None, None, None);
        assert!(call("write_file", json!({"path": "a"}), &any));
        let tool = grant(Some("write_file"), None, None);
        assert!(call("write_file", json!({"path": "a"}), &tool) && !call("apply_patch", json!({}), &tool));
        let path = grant(None, None, Some("src/*.rs"));
        for (args, holds) in [
            (json!({"path": "src/a.rs"}), true),
            (json!({"path": "./src//a.rs"}), true),
            (json!({"path": "src/b/a.rs"}), false),
            (json!({"path": "src/../a.rs"}), false),
            (json!({}), false),
        ] {
            assert_eq!(call("write_file", args.clone(), &path), holds, "{args}");
        }
        let both = json!({"diff": "--- a/src/a.rs\n+++ b/src/a.rs\n--- a/x\n+++ b/x\n"});
        assert!(!call("apply_patch", both, &path));
        assert!(!call("read_file", json!({"path": "src/a.rs"}), &path), "a call without effects touches no path");
        let host = grant(Some("http_fetch"), None, Some("example.org"));
        assert!(call("http_fetch", json!({"url": "https://example.org/x"}), &host));
        assert!(!call("http_fetch", json!({"url": "https://example.org.evil.net/"}), &host));
        let command = grant(Some("shell_exec"), Some("make  test"), None);
        for (cmd, holds) in [
            ("make test", true),
            (" make\ttest\n", true),
            ("make test; rm -rf x", false),
            ("make 'test'", false),
            ("make\ntest", false),
            ("make", false),
        ] {
            assert_eq!(call("shell_exec", json!({"cmd": cmd}), &command), holds, "{cmd:?}");
        }
        assert!(!call("shell_exec", json!({"cmd": 7}), &command));
        assert!(!call("shell_exec", json!({"cmd": "make test", "cwd": "/etc"}), &command));
        assert!(!call("shell_exec", json!({"cmd": "make test", "shell": "x"}), &command));
        assert!(call("shell_exec", json!({"cmd": "make test", "cwd": null, "timeout_ms": 5}), &command));
    }

    #[test]
    fn white_space_within_quotes_stays() {
        for (command, expected) in [
            ("  a   b ", "a b"),
            ("a 'b  c'  d", "a 'b  c' d"),
            ("a \"b  \\\"  c\"  d", "a \"b  \\\"  c\" d"),
            ("a\\   b", "a\\  b"),
            ("a \\\\  b", "a \\\\ b"),
            ("a\n\n b", "a\n\n b"),
            ("'open  ", "'open"),
        ] {
            assert_eq!(normalised(command), expected, "{command:?}");
        }
    }

    #[test]
    fn what_destroys_or_reaches_others_is_never_granted_beyond_a_run() {
        let of = |names: &[&str]| may_persist(&names.iter().map(|name| Category::new(*name)).collect::<Vec<_>>());
        assert!(of(&["filesystem_write", "shell_exec", "http_fetch", "mcp_tool:git:log"]));
        for names in [&[][..], &["*"], &["mcp_tool:*"], &["filesystem_write", "filesystem_delete"], &["git_push"]] {
            assert!(!of(names), "{names:?}");
        }
    }

    proptest! {
        #[test]
        fn normalising_twice_changes_nothing_more(command in "[ab '\"\\\\\t\n]{0,24}") {
            let once = normalised(&command);
            prop_assert_eq!(normalised(&once), once);
        }
    }
}
