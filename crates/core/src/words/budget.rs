//! Limits, and the metrics that they are set for.

use serde::{Deserialize, Serialize};

use super::PhaseName;
use super::price::{sum, sum_rounded};

/// Limits of a run; an absent one doesn't limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Budget {
    /// Tokens that are paid in full: input that no cache had, cache writes, output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// Minutes of work: while a turn, a call or a wait for the provider is in flight. An operator who thinks,
    /// and a run that nobody drives, cost nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_minutes: Option<u64>,
    /// Nano-dollars (10^9 are one US dollar), by the prices of the run's options.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_nano_dollars: Option<u64>,
    /// Turns of agents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_turns: Option<u64>,
    /// Calls of tools, counted anew for each sub-task of a crew.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tool_calls: Option<u64>,
}

impl Budget {
    /// Returns true if nothing is limited.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the limit of a metric, in its own unit.
    #[must_use]
    pub fn limit(&self, metric: Metric) -> Option<u64> {
        match metric {
            Metric::Turns => self.max_turns,
            Metric::WallClock => self.max_minutes.map(|minutes| minutes.saturating_mul(MINUTE_MS)),
            Metric::Tokens => self.max_tokens,
            Metric::Money => self.max_nano_dollars,
            Metric::ToolCalls => self.max_tool_calls,
        }
    }
}

/// Owner of a limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Whose {
    /// The run's.
    #[default]
    Run,
    /// A role's, over all its sessions.
    Role,
    /// One session's, as a learned profile has it for its role.
    Session,
    /// One phase's of a session, as a learned profile has it.
    Phase(PhaseName),
}

impl Whose {
    /// Returns the owner of the limit in an event that names a role, a phase, a profile, or none of them.
    #[must_use]
    pub fn on_record(role: Option<&str>, phase: Option<PhaseName>, learned: Option<&str>) -> Self {
        match (phase, role, learned) {
            (Some(phase), _, _) => Self::Phase(phase),
            (None, Some(_), Some(_)) => Self::Session,
            (None, Some(_), None) => Self::Role,
            (None, None, _) => Self::Run,
        }
    }
}

/// Quantity that is counted. The words on the wire are the peer's, where it has one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// Turns of agents.
    Turns,
    /// Milliseconds of work.
    #[serde(rename = "wall_clock_ms")]
    WallClock,
    /// Tokens that are paid in full.
    Tokens,
    /// Nano-dollars.
    #[serde(rename = "nano_dollars")]
    Money,
    /// Calls of tools that were begun.
    ToolCalls,
}

impl Metric {
    /// All of them, in the order in which they are checked.
    pub const ALL: [Self; 5] = [Self::Turns, Self::WallClock, Self::Tokens, Self::Money, Self::ToolCalls];

    /// Its word on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Turns => "turns",
            Self::WallClock => "wall_clock_ms",
            Self::Tokens => "tokens",
            Self::Money => "nano_dollars",
            Self::ToolCalls => "tool_calls",
        }
    }

    /// Returns the metric of a word on the wire.
    #[must_use]
    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|metric| metric.as_str() == word)
    }

    /// Returns the unit that a person counts it in.
    #[must_use]
    pub const fn unit(self) -> &'static str {
        match self {
            Self::Turns => "turns",
            Self::WallClock => "minutes",
            Self::Tokens => "tokens",
            Self::Money => "dollars",
            Self::ToolCalls => "tool calls",
        }
    }

    /// Returns an amount as a person reads it, such as `1.50 dollars`.
    #[must_use]
    pub fn shown(self, amount: u64) -> String {
        let number = match self {
            Self::Turns | Self::Tokens | Self::ToolCalls => amount.to_string(),
            Self::WallClock => format!("{}.{}", amount / MINUTE_MS, amount % MINUTE_MS * 10 / MINUTE_MS),
            Self::Money => sum_rounded(amount),
        };
        format!("{number} {}", self.unit())
    }

    /// Converts `typed`, a positive number in the person's unit, to the metric's own. Minutes may have one decimal,
    /// dollars nine.
    #[must_use]
    pub fn amount(self, typed: &str) -> Option<u64> {
        let typed = typed.trim();
        match self {
            Self::Turns | Self::Tokens | Self::ToolCalls => typed.parse().ok().filter(|amount| *amount > 0),
            Self::WallClock => {
                let (minutes, tenths) = typed.split_once('.').unwrap_or((typed, "0"));
                let tenths = tenths.parse::<u64>().ok().filter(|tenths| *tenths < 10)?;
                let amount =
                    minutes.parse::<u64>().ok()?.checked_mul(MINUTE_MS)?.checked_add(tenths * MINUTE_MS / 10)?;
                (amount > 0).then_some(amount)
            }
            Self::Money => sum(typed),
        }
    }
}

/// The metric of a limit, as it is on record: the steps of a session are counted by nobody else.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LimitMetric {
    /// Steps of a session.
    Steps,
    /// A metric that accounts count.
    #[serde(untagged)]
    Counted(Metric),
}

impl LimitMetric {
    /// Returns its name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Steps => "steps",
            Self::Counted(metric) => metric.as_str(),
        }
    }

    /// Returns the metric that accounts count; `None` for steps.
    #[must_use]
    pub const fn counted(self) -> Option<Metric> {
        match self {
            Self::Steps => None,
            Self::Counted(metric) => Some(metric),
        }
    }
}

/// Milliseconds in a minute.
const MINUTE_MS: u64 = 60_000;

/// Returns true if `typed` is a positive number that some metric takes.
#[must_use]
pub fn is_amount(typed: &str) -> bool {
    Metric::ALL.into_iter().any(|metric| metric.amount(typed).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_amount_is_read_in_a_persons_unit() {
        for (metric, typed, expected) in [
            (Metric::Tokens, "50000", Some(50_000)),
            (Metric::Tokens, "1.5", None),
            (Metric::Turns, " 3 ", Some(3)),
            (Metric::WallClock, "1.5", Some(90_000)),
            (Metric::Money, "2", Some(2_000_000_000)),
            (Metric::Money, "0.125", Some(125_000_000)),
            (Metric::Money, "0.0000000001", None),
            (Metric::Money, "0", None),
            (Metric::Money, "-1", None),
            (Metric::Money, "1e3", None),
            (Metric::Money, ".5", None),
            (Metric::Money, "5.", None),
            (Metric::Tokens, "99999999999999999999", None),
            (Metric::WallClock, "18446744073709551615", None),
        ] {
            assert_eq!(metric.amount(typed), expected, "{metric:?} {typed}");
        }
    }

    #[test]
    fn an_amount_is_shown_as_it_is_typed() {
        assert_eq!(Metric::Tokens.shown(12), "12 tokens");
        assert_eq!(Metric::WallClock.shown(90_000), "1.5 minutes");
        assert_eq!(Metric::Money.shown(1_500_000_000), "1.5000 dollars");
        assert_eq!(Metric::Money.shown(1_230_000), "0.0012 dollars");
    }
}
