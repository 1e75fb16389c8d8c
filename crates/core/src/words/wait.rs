//! The command that a wait runs, as its arguments name it.
//!
//! A wait for a command, for checks of continuous integration or for a pull request runs a command line again and
//! again; any other wait only looks. The gate judges that line, the tool runs it, and what becomes of an interrupted
//! wait depends on it: all three read it here, so that it is one line.

use serde_json::Value;

/// The name of the tool.
pub const WAIT_FOR: &str = "wait_for";

/// The longest number or branch that a pull request is named by, in bytes.
const NAME_BYTES_MAX: usize = 200;

/// A pull request by its number or branch, as it may stand in a command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullRequestName(String);

impl PullRequestName {
    /// Reads a number or the name of a branch, also as `owner:branch`. `None` for what a shell or `gh` would read as
    /// something else.
    #[must_use]
    pub fn read(value: &Value) -> Option<Self> {
        let name = match value {
            Value::Number(number) => number.as_u64()?.to_string(),
            Value::String(name) => name.clone(),
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => return None,
        };
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '/' | '-' | ':');
        let begins = name.starts_with(|c: char| c.is_ascii_alphanumeric());
        (begins && name.len() <= NAME_BYTES_MAX && name.chars().all(is_plain)).then_some(Self(name))
    }

    /// The command that succeeds once all checks of it passed.
    #[must_use]
    pub fn checks(&self) -> String {
        format!("gh pr checks {}", self.0)
    }

    /// The command that says its state.
    #[must_use]
    pub fn state(&self) -> String {
        format!("gh pr view {} --json state -q .state", self.0)
    }
}

/// Returns the command line that a wait with these arguments runs; `None` if it runs none.
///
/// Of several conditions, which the tool refuses, it is the first of `command`, `ci` and `pull_request`.
#[must_use]
pub fn command(args: &Value) -> Option<String> {
    let given = |name: &str| args.get(name).filter(|value| !value.is_null());
    given("command")
        .and_then(Value::as_str)
        .map(str::to_owned)
        .or_else(|| given("ci").and_then(PullRequestName::read).map(|name| name.checks()))
        .or_else(|| given("pull_request").and_then(PullRequestName::read).map(|name| name.state()))
}

/// Returns true if a call to `tool` with these arguments is a wait that runs a command.
#[must_use]
pub fn runs_command(tool: &str, args: &Value) -> bool {
    tool == WAIT_FOR && command(args).is_some()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_wait_runs_one_command_or_none() {
        for (args, expected) in [
            (json!({"command": "make ready"}), Some("make ready")),
            (json!({"ci": 12}), Some("gh pr checks 12")),
            (json!({"ci": "fix/a_b-1.2"}), Some("gh pr checks fix/a_b-1.2")),
            (json!({"pull_request": "me:fix"}), Some("gh pr view me:fix --json state -q .state")),
            (json!({"command": null, "ci": 3}), Some("gh pr checks 3")),
            (json!({"seconds": 3}), None),
            (json!({"file": "a", "command": null}), None),
            (json!({"command": 7}), None),
            (json!(null), None),
        ] {
            assert_eq!(command(&args).as_deref(), expected, "{args}");
            assert_eq!(runs_command(WAIT_FOR, &args), expected.is_some());
            assert!(!runs_command("shell_exec", &args));
        }
    }

    #[test]
    fn no_name_becomes_more_than_a_name() {
        for name in [
            json!("1; rm -r ."),
            json!("$(x)"),
            json!("-R"),
            json!("--repo=x"),
            json!(""),
            json!("a b"),
            json!("#1"),
            json!("a\n"),
            json!("*"),
            json!("~"),
            json!("a'b"),
            json!("x".repeat(201)),
            json!(-1),
            json!(1.5),
            json!(true),
            json!(["a"]),
        ] {
            assert_eq!(PullRequestName::read(&name), None, "{name}");
        }
    }
}
