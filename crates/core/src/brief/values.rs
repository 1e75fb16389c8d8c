//! The values a brief can hold.

use std::fmt;
use std::str::FromStr;

use indexmap::IndexMap;
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

/// The adapters that exist, by id; `openai-chat` speaks the older API of OpenAI, `openai-compat` to any server of
/// that kind.
pub const ADAPTERS: [&str; 10] =
    ["scripted", "anthropic", "openai", "openai-chat", "openai-compat", "gemini", "grok", "cli-bridge", "acp", "mock"];

/// The last day on which a brief is in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Deadline(Date);

impl Deadline {
    /// The deadline that is `day`.
    #[must_use]
    pub const fn on(day: Date) -> Self {
        Self(day)
    }

    /// The day.
    #[must_use]
    pub const fn day(self) -> Date {
        self.0
    }

    /// The moment from which on the brief is late: the end of the day in UTC, which is the first moment of
    /// the next; the last moment there is for the last day there is.
    #[must_use]
    pub fn ends_at(self) -> Timestamp {
        let next = self.0.tomorrow().and_then(|day| TimeZone::UTC.to_timestamp(day.at(0, 0, 0, 0)));
        next.unwrap_or(Timestamp::MAX)
    }
}

impl fmt::Display for Deadline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// True if `text` has the shape of a date, `YYYY-MM-DD`; the numbers are not looked at.
pub(super) fn has_date_shape(text: &str) -> bool {
    let shape = text.bytes().map(|byte| if byte.is_ascii_digit() { b'9' } else { byte });
    shape.eq(*b"9999-99-99")
}

/// True if `text` has the shape of a brief's id: a date, a dash, one or more letters or digits.
pub(super) fn has_id_shape(text: &str) -> bool {
    let Some((date, rest)) = text.split_at_checked("YYYY-MM-DD".len()) else {
        return false;
    };
    let Some(suffix) = rest.strip_prefix('-') else {
        return false;
    };
    has_date_shape(date) && is_id_suffix(suffix)
}

/// True if `suffix` can end a brief's id.
pub(super) fn is_id_suffix(suffix: &str) -> bool {
    !suffix.is_empty() && suffix.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// The day that `text` names, if it has the shape of one and exists.
pub(super) fn day(text: &str) -> Option<Date> {
    if has_date_shape(text) { Date::from_str(text).ok() } else { None }
}

/// A tool server that the brief brings along.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpServer {
    /// Its name, which is part of its tools' categories.
    pub name: String,
    /// The command line that starts it.
    pub command: String,
}

/// The bridge to a coding CLI; fields that the brief doesn't name are absent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CliBridge {
    /// True if our tools are offered to the CLI.
    pub mcp_forward: Option<bool>,
    /// True if the CLI's own permission file is left alone.
    pub skip_permission_setup: Option<bool>,
    /// The program to start. OpenWar documents the field and does not read it.
    pub binary: Option<String>,
    /// The program's arguments. OpenWar documents the field and does not read it.
    pub args: Vec<String>,
}

impl CliBridge {
    /// True if our tools are offered to the CLI: they are unless the brief says no.
    #[must_use]
    pub fn forwards_mcp(&self) -> bool {
        self.mcp_forward.unwrap_or(true)
    }

    /// True if the CLI's own permission file is left alone: only if the brief says so.
    #[must_use]
    pub fn skips_permission_setup(&self) -> bool {
        self.skip_permission_setup.unwrap_or(false)
    }
}

/// The adapter of a role that doesn't use the run's own.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RoleAdapter {
    /// The adapter's id; in a valid brief one of [`ADAPTERS`].
    pub adapter: String,
    /// The model, as the adapter names it.
    pub model: Option<String>,
    /// Everything else that is given, for the adapter to read.
    pub options: IndexMap<String, OptionValue>,
}

/// A value that is passed on to an adapter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OptionValue {
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Integer(i64),
    /// A text.
    Text(String),
    /// A list, its items as text. OpenWar has none.
    List(Vec<String>),
}

/// The tokens a crew may use if the brief does not say. Ten ordinary sub-tasks take a plan, and for each some ten turns
/// of executor and judges; without a provider's cache a turn pays for some 15,000 tokens of input, which makes a
/// million and a half. OpenWar's number, 50,000, ends a crew within its first sub-tasks.
pub const BUDGET_MAX_TOKENS: u64 = 2_000_000;
/// The minutes a crew may take if the brief does not say: twenty for each of ten ordinary sub-tasks, and some for the
/// plan. OpenWar's number is 20 for all of it.
pub const BUDGET_MAX_WALL_CLOCK_MINUTES: u64 = 240;
/// The tool calls one sub-task may make over all its attempts if the brief does not say: reading around, some edits and
/// the checks after each. OpenWar's number is 15.
pub const BUDGET_MAX_TOOL_CALLS_PER_SUBTASK: u64 = 60;
/// Number of times that one sub-task may be tried again if the brief does not say (OpenWar's number).
pub const BUDGET_MAX_RETRIES_PER_SUBTASK: u64 = 3;

/// The budgets of a run, as far as the brief names them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Budgets {
    /// Tokens of the whole run.
    pub max_tokens: Option<u64>,
    /// Minutes from the run's start.
    pub max_wall_clock_minutes: Option<u64>,
    /// Tool calls of one sub-task.
    pub max_tool_calls_per_subtask: Option<u64>,
    /// Further attempts at one sub-task.
    pub max_retries_per_subtask: Option<u64>,
    /// Turns of agents in the whole run. Ours.
    pub max_turns: Option<u64>,
    /// Nano-dollars of the whole run; written in dollars. Ours.
    pub max_dollars: Option<u64>,
}

/// The budgets of a run, with the defaults filled in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BudgetLimits {
    /// Tokens of the whole run.
    pub tokens: u64,
    /// Minutes from the run's start.
    pub wall_clock_minutes: u64,
    /// Tool calls of one sub-task.
    pub tool_calls_per_subtask: u64,
    /// Further attempts at one sub-task.
    pub retries_per_subtask: u64,
}

impl Budgets {
    /// The limits that hold: what the brief says, and the defaults for the rest.
    #[must_use]
    pub fn limits(&self) -> BudgetLimits {
        BudgetLimits {
            tokens: self.max_tokens.unwrap_or(BUDGET_MAX_TOKENS),
            wall_clock_minutes: self.max_wall_clock_minutes.unwrap_or(BUDGET_MAX_WALL_CLOCK_MINUTES),
            tool_calls_per_subtask: self.max_tool_calls_per_subtask.unwrap_or(BUDGET_MAX_TOOL_CALLS_PER_SUBTASK),
            retries_per_subtask: self.max_retries_per_subtask.unwrap_or(BUDGET_MAX_RETRIES_PER_SUBTASK),
        }
    }

    /// The budgets that are given, by the name of their field.
    pub(super) fn given(&self) -> impl Iterator<Item = (&'static str, u64)> {
        BUDGET_FIELDS.into_iter().zip(self.values()).filter_map(|(field, value)| Some((field, value?)))
    }

    fn values(&self) -> [Option<u64>; 6] {
        [
            self.max_tokens,
            self.max_wall_clock_minutes,
            self.max_tool_calls_per_subtask,
            self.max_retries_per_subtask,
            self.max_turns,
            self.max_dollars,
        ]
    }
}

/// The fields under `budgets`, in the order of [`Budgets`].
pub(super) const BUDGET_FIELDS: [&str; 6] = [
    "max_tokens",
    "max_wall_clock_minutes",
    "max_tool_calls_per_subtask",
    "max_retries_per_subtask",
    "max_turns",
    "max_dollars",
];

/// Those that a role may have of its own.
pub(super) const ROLE_BUDGET_FIELDS: [&str; 4] = ["max_tokens", "max_wall_clock_minutes", "max_turns", "max_dollars"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deadline_ends_with_its_day_in_utc() {
        let deadline = Deadline::on(jiff::civil::date(2024, 2, 29));
        assert_eq!(deadline.ends_at().to_string(), "2024-03-01T00:00:00Z");
        assert_eq!(deadline.to_string(), "2024-02-29");
    }

    #[test]
    fn the_last_day_there_is_ends_with_time() {
        assert_eq!(Deadline::on(Date::MAX).ends_at(), Timestamp::MAX);
    }

    #[test]
    fn an_id_is_a_date_and_a_word() {
        let cases = [
            ("2024-05-06-X1", true),
            ("2024-99-99-x", true),
            ("2024-05-06-", false),
            ("2024-05-06", false),
            ("2024-05-06-a-b", false),
            ("2024-05-06-é", false),
            ("24-05-06-x", false),
            (" 2024-05-06-x", false),
            ("２０２４-05-06-x", false),
        ];
        for (given, expected) in cases {
            assert_eq!(has_id_shape(given), expected, "{given}");
        }
    }
}
