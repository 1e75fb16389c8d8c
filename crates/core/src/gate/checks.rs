//! The commands by which a brief says that its work is checked, and the calls that run exactly one of them.
//!
//! Judges may run them, letter for letter, and no other command. That is no right of its own: the authorization of the
//! brief holds for judges as for an executor.

use serde_json::Value;

use crate::gate::RoleLimit;
use crate::words::Category;
use crate::words::category::SHELL_EXEC;
use crate::words::tool::ToolSpec;

/// The command lines that a brief declares as its checks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Checks(Vec<String>);

impl Checks {
    /// Checks of these lines.
    #[must_use]
    pub const fn new(lines: Vec<String>) -> Self {
        Self(lines)
    }

    /// Returns the lines, in the brief's order.
    #[must_use]
    pub fn lines(&self) -> &[String] {
        &self.0
    }

    /// Returns true if there is no check.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the place of the check that a call runs. Its line must be the same letter for letter, in the working
    /// directory and the usual shell. Only the time limit is the caller's.
    #[must_use]
    pub fn place_of(&self, tool: &str, args: &Value) -> Option<usize> {
        let args = args.as_object().filter(|_| tool == SHELL_EXEC)?;
        let is_usual = |(key, value): (&String, &Value)| match key.as_str() {
            "cmd" | "timeout_ms" => true,
            "cwd" => value.is_null() || value == ".",
            _ => value.is_null(),
        };
        let cmd = args.get("cmd")?.as_str()?;
        args.iter().all(is_usual).then(|| self.0.iter().position(|line| line == cmd))?
    }

    /// Returns the lines as a list, an item each.
    #[must_use]
    pub fn listed(&self) -> String {
        self.0.iter().map(|line| format!("- `{line}`")).collect::<Vec<_>>().join("\n")
    }
}

/// Rights of a judge beyond its role: to run the checks, by the authorization of the brief and its grant to the judge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChecksForJudge {
    /// The command lines.
    pub checks: Checks,
    /// Limit for a call that runs a check: the judge's own grant, but no limit of its role.
    pub role: RoleLimit,
}

impl ChecksForJudge {
    /// Returns the checks under a judge's limit; `None` if there are none, or if its grant leaves it no commands.
    pub(crate) fn of(checks: &Checks, limit: &RoleLimit) -> Option<Self> {
        if checks.is_empty() || !limit.beyond_grant(&[Category::new(SHELL_EXEC)]).is_empty() {
            return None;
        }
        let role = RoleLimit { may_hold: vec![Category::new("*")], ..limit.clone() };
        Some(Self { checks: checks.clone(), role })
    }

    /// Returns a tool as it is offered to the judge.
    pub(crate) fn narrowed(&self, tool: &ToolSpec) -> ToolSpec {
        let mut tool = tool.clone();
        if tool.name == SHELL_EXEC {
            tool.description = format!(
                "Run one of the brief's checks, letter for letter. No other command is run:\n{}",
                self.checks.listed()
            );
            if let Some(cmd) = tool.schema.pointer_mut("/properties/cmd").and_then(Value::as_object_mut) {
                cmd.insert("enum".to_owned(), Value::from(self.checks.lines()));
            }
        }
        tool
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_call_runs_a_check_only_letter_for_letter() {
        let checks = Checks::new(vec!["cargo test".to_owned(), "make lint".to_owned()]);
        for (tool, args, place) in [
            ("shell_exec", json!({"cmd": "cargo test"}), Some(0)),
            ("shell_exec", json!({"cmd": "make lint", "timeout_ms": 9, "cwd": ".", "shell": null}), Some(1)),
            ("shell_exec", json!({"cmd": "cargo test "}), None),
            ("shell_exec", json!({"cmd": "cargo  test"}), None),
            ("shell_exec", json!({"cmd": "cargo test; rm -r src"}), None),
            ("shell_exec", json!({"cmd": "cargo test\n"}), None),
            ("shell_exec", json!({"cmd": "cargo test", "cwd": "other"}), None),
            ("shell_exec", json!({"cmd": "cargo test", "shell": "python3"}), None),
            ("shell_exec", json!({"cmd": "cargo test", "env": {"RUSTC_WRAPPER": "x"}}), None),
            ("shell_exec", json!({"cmd": ["cargo test"]}), None),
            ("shell_exec", json!("cargo test"), None),
            ("write_file", json!({"cmd": "cargo test"}), None),
        ] {
            assert_eq!(checks.place_of(tool, &args), place, "{tool} {args}");
        }
        assert_eq!(Checks::default().place_of("shell_exec", &json!({"cmd": ""})), None);
    }
}
