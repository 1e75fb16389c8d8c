//! Computes the cost of tokens, in whole numbers.
//!
//! In: prices as an operator writes them, and tokens. Out: nano-dollars, of which a dollar has 10^9. A price in dollars
//! for a million tokens has three decimals at most, so that one token costs a whole number of nano-dollars and no sum
//! is ever rounded.
//!
//! Begin with [`Prices`].

use serde::{Deserialize, Serialize};

use crate::words::Usage;

/// The highest price that is taken, in dollars for a million tokens: more than a thousand times what the dearest model
/// of today takes. A higher one is a slip, such as a price for a single token.
pub const PRICE_DOLLARS_MAX: u64 = 1_000_000;

/// The highest sum that is taken, in dollars.
pub const SUM_DOLLARS_MAX: u64 = 1_000_000_000;

const DECIMALS_OF_A_PRICE: u32 = 3;
const DECIMALS_OF_A_SUM: u32 = 9;

/// Price of one token, in nano-dollars: dollars for a million tokens, times a thousand. A price that the operator did
/// not give is unknown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prices {
    /// Input that is not from a cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<u64>,
    /// Input read from a cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_read: Option<u64>,
    /// Input written to a cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<u64>,
    /// Output, thinking included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<u64>,
}

impl Prices {
    /// Returns true if no price is known.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.input.is_none() && self.cache_read.is_none() && self.cache_write.is_none() && self.output.is_none()
    }

    /// Returns the cost of `usage`, in nano-dollars; unknown if a number of tokens or the price of any of them is. A
    /// provider that says nothing of a cache has none, or counts it as other input.
    #[must_use]
    pub fn cost(&self, usage: &Usage) -> Option<u64> {
        let parts = [
            (usage.input_tokens?, self.input),
            (usage.cache_read_tokens.unwrap_or(0), self.cache_read),
            (usage.cache_write_tokens.unwrap_or(0), self.cache_write),
            (usage.output_tokens?, self.output),
        ];
        parts.into_iter().try_fold(0_u64, |sum, (tokens, price)| match (tokens, price) {
            (0, _) => Some(sum),
            (tokens, price) => Some(sum.saturating_add(tokens.saturating_mul(price?))),
        })
    }
}

/// Reads a price in dollars for a million tokens, such as `3`, `0.25` or `15.00`: nano-dollars for one token.
///
/// `None` if it is no plain decimal number, has more than three decimals that count, or is above
/// [`PRICE_DOLLARS_MAX`].
#[must_use]
pub fn price(text: &str) -> Option<u64> {
    let price = fixed(text, DECIMALS_OF_A_PRICE)?;
    (price <= PRICE_DOLLARS_MAX * 10_u64.pow(DECIMALS_OF_A_PRICE)).then_some(price)
}

/// Reads a sum in dollars, such as `2.50`: nano-dollars.
///
/// `None` if it is no plain decimal number above zero, has more than nine decimals that count, or is above
/// [`SUM_DOLLARS_MAX`].
#[must_use]
pub fn sum(text: &str) -> Option<u64> {
    let sum = fixed(text, DECIMALS_OF_A_SUM)?;
    (sum > 0 && sum <= SUM_DOLLARS_MAX * 10_u64.pow(DECIMALS_OF_A_SUM)).then_some(sum)
}

/// Returns a price in nano-dollars for one token as the operator writes it: dollars for a million.
#[must_use]
pub fn price_text(price: u64) -> String {
    decimal(price, DECIMALS_OF_A_PRICE, 0)
}

/// Returns a sum in nano-dollars as dollars, with at least two decimals and every one that counts.
#[must_use]
pub fn sum_text(sum: u64) -> String {
    decimal(sum, DECIMALS_OF_A_SUM, 2)
}

/// Returns a sum in nano-dollars as dollars with four decimals, rounded to the nearest.
#[must_use]
pub fn sum_rounded(sum: u64) -> String {
    let rounded = sum / 100_000 + u64::from(sum % 100_000 >= 50_000);
    format!("{}.{:04}", rounded / 10_000, rounded % 10_000)
}

/// `text` times 10 to the power of `decimals`, if that is whole and `text` nothing but digits and a point.
fn fixed(text: &str, decimals: u32) -> Option<u64> {
    let (whole, rest) = text.split_once('.').unwrap_or((text, "0"));
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_digits(whole) || !is_digits(rest) {
        return None;
    }
    let rest = rest.trim_end_matches('0');
    let missing = decimals.checked_sub(u32::try_from(rest.len()).ok()?)?;
    let rest = if rest.is_empty() { 0 } else { rest.parse::<u64>().ok()? * 10_u64.pow(missing) };
    whole.parse::<u64>().ok()?.checked_mul(10_u64.pow(decimals))?.checked_add(rest)
}

/// Does the opposite of [`fixed`], with at least `shown` decimals and no zeros behind them.
fn decimal(number: u64, decimals: u32, shown: usize) -> String {
    let scale = 10_u64.pow(decimals);
    let mut rest = format!("{:0width$}", number % scale, width = usize::try_from(decimals).unwrap_or(0));
    while rest.len() > shown && rest.ends_with('0') {
        rest.pop();
    }
    if rest.is_empty() { (number / scale).to_string() } else { format!("{}.{rest}", number / scale) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_price_is_read_exactly_or_not_at_all() {
        for (text, expected) in [
            ("3", Some(3000)),
            ("0.3", Some(300)),
            ("15.00", Some(15_000)),
            ("0.075", Some(75)),
            ("0.0750", Some(75)),
            ("0.0", Some(0)),
            ("007.5", Some(7500)),
            ("1000000", Some(1_000_000_000)),
            ("1000000.001", None),
            ("0.0755", None),
            ("-1", None),
            ("+1", None),
            ("1e3", None),
            ("inf", None),
            ("nan", None),
            ("", None),
            (".5", None),
            ("5.", None),
            ("1.2.3", None),
            ("1_000", None),
            ("99999999999999999999999", None),
            ("0.00000000000000000000000000000001", None),
        ] {
            assert_eq!(price(text), expected, "{text}");
        }
    }

    #[test]
    fn a_sum_has_nine_decimals_and_is_above_zero() {
        for (text, expected) in [
            ("2.5", Some(2_500_000_000)),
            ("0.000000001", Some(1)),
            ("0.0000000001", None),
            ("0", None),
            ("0.00", None),
            ("1000000000", Some(1_000_000_000_000_000_000)),
            ("1000000000.1", None),
        ] {
            assert_eq!(sum(text), expected, "{text}");
        }
    }

    #[test]
    fn what_was_read_is_written_the_same() {
        for text in ["3", "0.075", "15.5", "0", "1000000"] {
            assert_eq!(price_text(price(text).expect(text)), text);
        }
        for text in ["2.50", "0.000000001", "7.00", "12.345"] {
            assert_eq!(sum_text(sum(text).expect(text)), text);
        }
        for (nano, text) in [(0, "0.0000"), (49_999, "0.0000"), (50_000, "0.0001"), (1_999_950_000, "2.0000")] {
            assert_eq!(sum_rounded(nano), text);
        }
    }

    #[test]
    fn what_is_not_known_makes_the_cost_unknown() {
        let prices = Prices { input: Some(3000), cache_read: Some(300), cache_write: None, output: Some(15_000) };
        let usage = |input, read, write, output| Usage {
            input_tokens: input,
            cache_read_tokens: read,
            cache_write_tokens: write,
            output_tokens: output,
            reasoning_tokens: None,
        };
        for (usage, expected) in [
            (usage(Some(10), Some(100), Some(0), Some(2)), Some(90_000)),
            (usage(Some(10), None, None, Some(2)), Some(60_000)),
            (usage(Some(0), None, None, Some(0)), Some(0)),
            (usage(Some(10), None, Some(1), Some(2)), None),
            (usage(None, Some(1), None, Some(2)), None),
            (usage(Some(10), None, None, None), None),
            (usage(Some(u64::MAX), None, None, Some(1)), Some(u64::MAX)),
        ] {
            assert_eq!(prices.cost(&usage), expected, "{usage:?}");
        }
        assert_eq!(Prices::default().cost(&usage(Some(1), None, None, Some(1))), None);
        assert!(Prices::default().is_empty() && !prices.is_empty());
    }
}
