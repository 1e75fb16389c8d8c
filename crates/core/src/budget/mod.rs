//! What a run may use, what it has used, and whether there is room for another request.
//!
//! In: events. Out: how much of each metric is used, and before a request whether it may be sent and how long
//! its reply may be. What a request may cost is reserved when it is asked for and settled when its reply is
//! there: so a limit holds before money is spent, and a run that is killed and resumed has spent what it
//! had spent. There is one [`Spending`] for a whole run.
//!
//! Begin with [`Spending`].

mod spending;

use serde::{Deserialize, Serialize};

pub use spending::{Room, Spending};

/// The least that a reply must have room for, in tokens: with less no step of work comes to an end.
pub const OUTPUT_TOKENS_MIN: u64 = 1_024;

/// The part of a limit at which the operator is warned, in per cent.
pub const WARN_PER_CENT: u64 = 80;

/// Nano-dollars in a micro-dollar.
const NANO_PER_MICRO: u64 = 1_000;

/// What a run may use; what is absent is not limited.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Budget {
    /// Tokens that are paid in full: input that no cache had, cache writes, output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// Minutes of work: while a turn, a call or a wait for the provider is in flight. An operator who thinks,
    /// and a run that nobody drives, cost nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_minutes: Option<u64>,
    /// Micro-dollars (a million is one US dollar), by the prices of the run's options.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_micro_dollars: Option<u64>,
    /// Turns of agents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_turns: Option<u64>,
}

impl Budget {
    /// Whether nothing is limited.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The limit of a metric, in its own unit.
    #[must_use]
    pub fn limit(&self, metric: Metric) -> Option<u64> {
        match metric {
            Metric::Turns => self.max_turns,
            Metric::WallClock => self.max_minutes.map(|minutes| minutes.saturating_mul(60_000)),
            Metric::Tokens => self.max_tokens,
            Metric::Money => self.max_micro_dollars,
        }
    }
}

/// What tokens cost, in nano-dollars each: dollars per million tokens, times a thousand. What is absent is not
/// known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prices {
    /// Input that no cache had.
    pub input: u64,
    /// Input read from a cache; as `input` if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_read: Option<u64>,
    /// Input written to a cache; as `input` if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<u64>,
    /// Output, thinking included.
    pub output: u64,
}

/// What is counted. The words on the wire are the peer's, where it has one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Metric {
    /// Turns of agents.
    Turns,
    /// Milliseconds of work.
    WallClock,
    /// Tokens that are paid in full.
    Tokens,
    /// Micro-dollars.
    Money,
}

impl Metric {
    /// All of them, in the order in which they are checked.
    pub const ALL: [Self; 4] = [Self::Turns, Self::WallClock, Self::Tokens, Self::Money];

    /// Its word on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Turns => "turns",
            Self::WallClock => "wall_clock_ms",
            Self::Tokens => "tokens",
            Self::Money => "micro_dollars",
        }
    }

    /// The metric of a word on the wire.
    #[must_use]
    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|metric| metric.as_str() == word)
    }

    /// What a person counts it in.
    #[must_use]
    pub const fn unit(self) -> &'static str {
        match self {
            Self::Turns => "turns",
            Self::WallClock => "minutes",
            Self::Tokens => "tokens",
            Self::Money => "dollars",
        }
    }

    /// How many of the metric's own unit one of a person's is.
    const fn scale(self) -> u64 {
        match self {
            Self::Turns | Self::Tokens => 1,
            Self::WallClock => 60_000,
            Self::Money => 1_000_000,
        }
    }

    /// An amount as a person reads it, such as `1.50 dollars`.
    #[must_use]
    pub fn shown(self, amount: u64) -> String {
        match self {
            Self::Turns | Self::Tokens => format!("{amount} {}", self.unit()),
            Self::WallClock => {
                let tenths = amount / (self.scale() / 10);
                format!("{}.{} minutes", tenths / 10, tenths % 10)
            }
            Self::Money => format!("{}.{:04} dollars", amount / self.scale(), amount % self.scale() / 100),
        }
    }

    /// What a person means by `typed`, a positive number of the person's unit, in the metric's own.
    #[must_use]
    pub fn amount(self, typed: &str) -> Option<u64> {
        let (whole, millis) = decimal(typed)?;
        let scale = self.scale();
        if millis > 0 && scale == 1 {
            return None;
        }
        let amount = whole.checked_mul(scale)?.checked_add(millis * scale / 1_000)?;
        (amount > 0).then_some(amount)
    }
}

/// A number of 0 or more with at most three decimals, as its whole part and its thousandths.
#[must_use]
pub fn decimal(typed: &str) -> Option<(u64, u64)> {
    let typed = typed.trim();
    let (whole, decimals) = typed.split_once('.').unwrap_or((typed, "0"));
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_digits(whole) || !is_digits(decimals) || decimals.len() > 3 {
        return None;
    }
    Some((whole.parse().ok()?, format!("{decimals:0<3}").parse().ok()?))
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
            (Metric::Money, "2", Some(2_000_000)),
            (Metric::Money, "0.125", Some(125_000)),
            (Metric::Money, "0.0001", None),
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
        assert_eq!(Metric::Money.shown(1_500_000), "1.5000 dollars");
        assert_eq!(Metric::Money.shown(1_230), "0.0012 dollars");
    }
}
