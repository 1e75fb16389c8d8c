//! Permissions that an agent asks for beforehand, with `request_permission`: read from the call's arguments, and made a
//! grant by the operator's answer.
//!
//! In: the arguments of a call. Out: a [`PermissionRequest`], or a sentence for the agent that says what is
//! missing. A request that names no category is sent back: a yes to it would cover nothing, or anything.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::authorization::covers_something;
use super::grant::{Grant, default_end, may_persist, normalised};
use super::native;
use super::places::Places;
use crate::words::{Category, Lasts};

/// The tool that asks.
pub const REQUEST_PERMISSION: &str = "request_permission";

/// Arguments of `request_permission`.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct RequestPermission {
    /// What you want to do, in a sentence.
    pub action: String,
    /// Why it is needed.
    pub reasoning: String,
    /// The category that it needs, such as `filesystem_delete`.
    #[serde(default)]
    pub category: Option<String>,
    /// The categories that it needs, if there are several.
    #[serde(default)]
    pub categories: Option<Vec<String>>,
    /// The tool that you will call.
    #[serde(default)]
    pub tool: Option<String>,
    /// The exact command line, if the tool is `shell_exec`.
    #[serde(default)]
    pub command: Option<String>,
    /// A pattern that every path or host of the call matches, such as `docs/*.md`.
    #[serde(default)]
    pub path: Option<String>,
    /// For how long: `this_call`, `this_session` or `persistent`; `this_call` if absent.
    #[serde(default)]
    pub scope: Option<String>,
    /// For how many calls, at most; any number if absent.
    #[serde(default)]
    pub uses: Option<u32>,
    /// What you will do if the answer is no.
    #[serde(default)]
    pub fallback: Option<String>,
}

/// A request that can be put to the operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PermissionRequest {
    /// The action that is to be done.
    pub action: String,
    /// The reason for it.
    pub reasoning: String,
    /// The consequence of a no.
    pub fallback: Option<String>,
    /// The categories that it needs; never empty.
    pub categories: Vec<Category>,
    /// The tool.
    pub tool: Option<String>,
    /// The command line, normalised.
    pub command: Option<String>,
    /// The pattern of paths or hosts, in plain form.
    pub path: Option<String>,
    /// The time for which it is asked.
    pub lasts: Lasts,
    /// For how many calls.
    pub uses: Option<u32>,
}

impl PermissionRequest {
    /// Reads the arguments of a call.
    ///
    /// # Errors
    ///
    /// A sentence for the agent that says what to give.
    pub fn read(args: &Value, places: &Places) -> Result<Self, String> {
        let given =
            RequestPermission::deserialize(args).map_err(|error| format!("the arguments don't fit: {error}"))?;
        for (name, text) in [("action", &given.action), ("reasoning", &given.reasoning)] {
            if text.trim().is_empty() {
                return Err(format!("`{name}` is blank"));
            }
        }
        let mut categories: Vec<Category> = Vec::new();
        for name in given.category.into_iter().chain(given.categories.into_iter().flatten()) {
            if !covers_something(&name) {
                return Err(format!("`{name}` is no category"));
            }
            if name.contains('*') {
                return Err(format!("`{name}` stands for too much: name the categories that the act needs"));
            }
            let category = Category::new(name);
            if !categories.contains(&category) {
                categories.push(category);
            }
        }
        if categories.is_empty() {
            return Err("name the `category` that the act needs, or several as `categories`".to_owned());
        }
        if let Some(tool) = &given.tool {
            native::categories(tool).map_err(|error| error.to_string())?;
        }
        if given.command.is_some() && given.tool.as_deref().is_some_and(|tool| tool != "shell_exec") {
            return Err("a `command` goes with the tool `shell_exec`".to_owned());
        }
        if given.uses == Some(0) {
            return Err("`uses` is a number of 1 or more".to_owned());
        }
        let lasts = match given.scope.as_deref() {
            None | Some("this_call") => Lasts::ThisCall,
            Some("this_session") => Lasts::ThisRun,
            Some("persistent") => Lasts::Persistent,
            Some(other) => return Err(format!("`{other}` is no scope: there are {}", Lasts::WORDS.join(", "))),
        };
        let is_host = given.tool.as_deref() == Some("http_fetch");
        Ok(Self {
            action: given.action,
            reasoning: given.reasoning,
            fallback: given.fallback.filter(|text| !text.trim().is_empty()),
            tool: given.tool.or_else(|| given.command.is_some().then(|| "shell_exec".to_owned())),
            command: given.command.as_deref().map(normalised),
            path: given.path.map(|path| if is_host { path } else { places.plain(".", &path) }),
            categories,
            lasts,
            uses: given.uses,
        })
    }

    /// The longest that a yes may last: not beyond the run for what destroys or reaches others, and for one call
    /// only where nothing may be added to the brief.
    #[must_use]
    pub fn longest(&self, scope_locked: bool) -> Lasts {
        if scope_locked {
            Lasts::ThisCall
        } else if may_persist(&self.categories) {
            Lasts::Persistent
        } else {
            Lasts::ThisRun
        }
    }

    /// The grant that the operator's yes makes of it. `until` is the day's end for one that outlives the run.
    #[must_use]
    pub fn granted(self, grant_id: String, lasts: Lasts, until: Option<Timestamp>, now: Timestamp) -> Grant {
        Grant {
            grant_id,
            action: self.action,
            reasoning: self.reasoning,
            categories: self.categories,
            tool: self.tool,
            command: self.command,
            path: self.path,
            act: None,
            lasts,
            until: (lasts == Lasts::Persistent).then(|| until.unwrap_or_else(|| default_end(now))),
            uses: if lasts == Lasts::ThisCall { Some(1) } else { self.uses },
            granted_at: now,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_request_says_what_it_is_for_or_is_sent_back() {
        for (args, part) in [
            (json!({}), "action"),
            (json!({"action": " ", "reasoning": "r", "category": "git_push"}), "`action` is blank"),
            (json!({"action": "a", "reasoning": "r"}), "name the `category`"),
            (json!({"action": "a", "reasoning": "r", "category": "everything"}), "`everything` is no category"),
            (json!({"action": "a", "reasoning": "r", "category": "*"}), "too much"),
            (json!({"action": "a", "reasoning": "r", "category": "mcp_tool:*"}), "too much"),
            (json!({"action": "a", "reasoning": "r", "category": "git_push", "scope": "always"}), "`always`"),
            (json!({"action": "a", "reasoning": "r", "category": "git_push", "tool": "x"}), "`x` is no tool"),
            (json!({"action": "a", "reasoning": "r", "category": "git_push", "uses": 0}), "`uses`"),
            (
                json!({"action": "a", "reasoning": "r", "category": "git_push", "tool": "read_file", "command": "x"}),
                "`shell_exec`",
            ),
        ] {
            let error = PermissionRequest::read(&args, &Places::default()).unwrap_err();
            assert!(error.contains(part), "{args}: {error}");
        }
        let args = json!({
            "action": "a", "reasoning": "r", "category": "git_push", "categories": ["shell_exec", "git_push"],
            "command": " git  push ", "path": "./x", "scope": "persistent", "fallback": " ",
        });
        let request = PermissionRequest::read(&args, &Places::default()).unwrap();
        assert_eq!(request.categories, ["git_push", "shell_exec"].map(Category::new));
        assert_eq!((request.tool.as_deref(), request.command.as_deref()), (Some("shell_exec"), Some("git push")));
        assert_eq!(
            (request.path.as_deref(), request.lasts, request.fallback.clone()),
            (Some("x"), Lasts::Persistent, None)
        );
        assert_eq!(request.longest(false), Lasts::ThisRun);
        assert_eq!(request.longest(true), Lasts::ThisCall);
    }
}
