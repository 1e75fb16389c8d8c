//! Quantiles, rates and their intervals. What can be whole numbers is whole numbers, so that no order of adding
//! changes a digit.

use std::collections::BTreeMap;

/// Number of times that each value occurred, in ascending order. Merging two of them loses nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ValueCounts(BTreeMap<u64, u64>);

impl ValueCounts {
    pub(super) fn add(&mut self, value: u64) {
        *self.0.entry(value).or_default() += 1;
    }

    pub(super) fn len(&self) -> u64 {
        self.0.values().sum()
    }

    pub(super) fn max(&self) -> u64 {
        self.0.keys().next_back().copied().unwrap_or(0)
    }

    pub(super) fn sum(&self) -> u64 {
        self.0.iter().fold(0, |sum: u64, (value, times)| sum.saturating_add(value.saturating_mul(*times)))
    }

    /// Returns the value at a place of the sorted row, from 0.
    fn at(&self, place: u64) -> u64 {
        let mut before = 0;
        for (value, times) in &self.0 {
            before += times;
            if place < before {
                return *value;
            }
        }
        self.max()
    }

    /// Returns the quantile `tenths`/10, interpolated between the two values around it, as a count of tenths: exact,
    /// with no noise of binary fractions in it. 0 of nothing.
    pub(super) fn quantile_tenths(&self, tenths: u64) -> u128 {
        let place = self.len().saturating_sub(1) * tenths;
        let (lower, upper) = (self.at(place / 10), self.at((place / 10 + 1).min(self.len().saturating_sub(1))));
        u128::from(lower) * 10 + u128::from(upper - lower) * u128::from(place % 10)
    }

    /// Returns the same quantile as a number.
    pub(super) fn quantile(&self, tenths: u64) -> f64 {
        ratio(self.quantile_tenths(tenths), 10)
    }

    /// Returns the same quantile, rounded up.
    pub(super) fn quantile_ceil(&self, tenths: u64) -> u64 {
        u64::try_from(self.quantile_tenths(tenths).div_ceil(10)).unwrap_or(u64::MAX)
    }

    /// Returns two values of the row that bound the 90th percentile of the whole that it samples, with 95 percent
    /// confidence: those at the places that the binomial distribution, taken as normal, gives. With few values they are
    /// far apart.
    pub(super) fn ninth_tenth_interval(&self) -> (f64, f64) {
        let n = as_float(self.len());
        let (middle, reach) = (n * 0.9, Z * (n * 0.09).sqrt());
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and the row's length")]
        let place = |place: f64| place.clamp(0.0, (n - 1.0).max(0.0)) as u64;
        (as_float(self.at(place((middle - reach).floor()))), as_float(self.at(place((middle + reach).ceil()))))
    }

    /// Returns the quantile as the peer computes it, in doubles, noise included.
    pub(super) fn peer_quantile(&self, q: f64) -> f64 {
        if self.0.is_empty() {
            return 0.0;
        }
        let position = as_float(self.len() - 1) * q;
        let (lower, fraction) = (position.floor(), position - position.floor());
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a place in a row that exists")]
        let place = lower as u64;
        let low = as_float(self.at(place));
        if fraction == 0.0 {
            return low;
        }
        low * (1.0 - fraction) + as_float(self.at(place + 1)) * fraction
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
pub(super) fn as_float(number: u64) -> f64 {
    number as f64
}

#[expect(clippy::cast_precision_loss, reason = "what is lost is beyond the sixteenth digit")]
pub(super) fn ratio(number: u128, of: u128) -> f64 {
    if of == 0 { 0.0 } else { number as f64 / of as f64 }
}

/// `number`/`of` to four places, half up: what is shown of a rate. Rules compare the whole numbers.
pub(super) fn rate(number: u64, of: u64) -> f64 {
    if of == 0 {
        return 0.0;
    }
    let (number, of) = (u128::from(number), u128::from(of));
    ratio((number * 20_000 + of) / (of * 2), 10_000)
}

/// Returns the interval that holds a rate of `halves`/2 of `of` with 95 percent confidence, by Wilson's score, to four
/// places.
///
/// Of nothing it is everything: 0 to 1.
pub(super) fn interval(halves: u64, of: u64) -> (f64, f64) {
    wilson(as_float(halves) / 2.0 / as_float(of), as_float(of))
}

/// Returns the same for the share `count`/`of` of cases that weigh `weight` together, where a case of today weighs
/// `full`: old ones make the interval wider.
pub(super) fn share_interval((count, of): (u128, u128), weight: u128, full: u64) -> (f64, f64) {
    wilson(ratio(count, of), ratio(weight, full.into()))
}

/// The quantile of the normal distribution for 95 percent.
const Z: f64 = 1.96;

fn wilson(p: f64, n: f64) -> (f64, f64) {
    if n <= 0.0 || !p.is_finite() {
        return (0.0, 1.0);
    }
    let (square, whole) = (Z * Z / n, 1.0 + Z * Z / n);
    let middle = p + square / 2.0;
    let reach = Z * (p * (1.0 - p) / n + square / (4.0 * n)).sqrt();
    let place = |value: f64| (value.clamp(0.0, 1.0) * 10_000.0).round() / 10_000.0;
    (place((middle - reach) / whole), place((middle + reach) / whole))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn counts(values: &[u64]) -> ValueCounts {
        let mut counts = ValueCounts::default();
        for value in values {
            counts.add(*value);
        }
        counts
    }

    #[test]
    fn quantiles_carry_no_noise_of_binary_fractions() {
        let noisy = counts(&[1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 11, 11]);
        assert_eq!((noisy.quantile(9), noisy.quantile_ceil(9)), (10.0, 10));
        assert!(noisy.peer_quantile(0.9) > 10.0, "the peer's has it: {}", noisy.peer_quantile(0.9));
    }

    #[test]
    fn the_interval_of_a_percentile_is_between_values_that_were_seen() {
        for (values, expected) in [
            (vec![], (0.0, 0.0)),
            (vec![7], (7.0, 7.0)),
            ((1..=10).collect(), (8.0, 10.0)),
            ((1..=100).collect(), (85.0, 97.0)),
            (vec![3; 50], (3.0, 3.0)),
        ] {
            assert_eq!(counts(&values).ninth_tenth_interval(), expected, "{values:?}");
        }
    }

    #[test]
    fn a_rate_is_rounded_half_up_to_four_places() {
        for (number, of, expected) in [(0, 0, 0.0), (1, 3, 0.3333), (2, 3, 0.6667), (118, 139, 0.8489), (5, 4, 1.25)] {
            assert_eq!(rate(number, of), expected, "{number} of {of}");
        }
    }

    #[test]
    fn the_interval_is_wilsons() {
        // Figures of the published formula with z = 1.96.
        for (halves, of, expected) in
            [(20, 10, (0.7225, 1.0)), (10, 10, (0.2366, 0.7634)), (0, 10, (0.0, 0.2775)), (0, 0, (0.0, 1.0))]
        {
            assert_eq!(interval(halves, of), expected, "{halves}/2 of {of}");
        }
    }

    proptest! {
        #[test]
        fn a_quantile_is_that_of_the_sorted_row(mut values in proptest::collection::vec(0u64..50, 1..40), tenths in 0u64..=10) {
            let quantile = counts(&values).quantile_tenths(tenths);
            values.sort_unstable();
            let place = (values.len() as u64 - 1) * tenths;
            let lower = values[usize::try_from(place / 10).unwrap()];
            let upper = values[usize::try_from((place / 10 + 1).min(values.len() as u64 - 1)).unwrap()];
            prop_assert_eq!(quantile, u128::from(lower * (10 - place % 10) + upper * (place % 10)));
        }
    }
}
