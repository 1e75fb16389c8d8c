//! Thresholds that must be met before anything is recommended. Every number here is pinned by a test: a change is a
//! decision, and belongs in the changelog together with the evidence that justifies it.
//!
//! The seed's bars are minima. They concern the number of times that a detector fires, and a healthy run fires some of
//! them once, so no bar of ours rests on that alone.

/// The fires per run from which `loose` may be thought of. The seed's. A detector that fires less than that is not
/// what stands in the operator's way, however often it is wrong. Lower it only if runs are seen to suffer from a
/// detector that fires in fewer of them.
pub const DETECTOR_LOOSE_FIRE_RATE_BAR: f64 = 0.85;

/// The same as a fraction, so that it is compared exactly: 17/20.
pub(super) const DETECTOR_LOOSE_FIRE_RATE: (u128, u128) = (17, 20);

/// The runs that `loose` wants. The seed's: below it one odd week looks like a habit. Lower it once recommendations
/// made at the bar were kept by operators for a quarter.
pub const DETECTOR_LOOSE_MIN_SAMPLES: u64 = 10;

/// The false positives from which `loose` is recommended: the lower end of the interval, so that a detector must be
/// wrong more often than right beyond what chance explains. Ours; the seed wants this evidence and names no number.
/// Lower it only if a detector below it is seen to be overridden as a matter of course.
pub const DETECTOR_LOOSE_FALSE_POSITIVE_BAR: f64 = 0.5;

/// The fires per run from which the peer recommends `disabled`. The seed's. We recommend it of no detector: the two
/// that may be disabled have no false positives to count.
pub const DETECTOR_DISABLED_FIRE_RATE_BAR: f64 = 0.95;

/// The runs that `disabled` wants. The seed's, and the peer's alone, as above.
pub const DETECTOR_DISABLED_MIN_SAMPLES: u64 = 20;

/// The runs that `strict` wants. Ours, the same as for `loose`: to hear more is as much of a change as to hear less.
pub const DETECTOR_STRICT_MIN_SAMPLES: u64 = 10;

/// The share of misses among misses and fires from which `strict` is recommended: the lower end of the interval.
/// Ours. Lower it if agents are seen to get around a detector that hears most of them.
pub const DETECTOR_STRICT_MISS_BAR: f64 = 0.5;

/// The sessions that a phase's budget wants. The seed's: a ninetieth percentile of fewer is just the longest one.
pub const PHASE_BUDGET_MIN_SAMPLES: u64 = 10;

/// Number of calls that a budget leaves above the 90th percentile. The seed's `p90+5`: the calls that nine of ten
/// sessions stay within, and room for one more look around.
pub const PHASE_BUDGET_ABOVE_P90: u64 = 5;

/// The sessions that a role's budget wants. Ours, as for a phase.
pub const ROLE_BUDGET_MIN_SAMPLES: u64 = 10;

/// Percentage that a role's budget of tokens leaves above the 90th percentile. Ours: replies differ in length more than
/// work differs in calls.
pub const ROLE_TOKENS_PERCENT_ABOVE_P90: u64 = 25;

/// The runs that must have been offered a tool, and none have called it. The seed's.
pub const DEAD_TOOL_MIN_SAMPLES: u64 = 10;

/// The fewest runs that an operator may ask for with `--min-samples`. The seed's. The bars above stay minima.
pub const MIN_SAMPLES_FLOOR: u64 = 5;

/// The least of all bars: with fewer runs nothing is recommended.
pub const SMALLEST_MIN_SAMPLES: u64 = 10;

/// After so many days a run counts half. Ours: projects, models and prompts change within a quarter.
pub const AGE_HALF_LIFE_DAYS: i64 = 90;

/// After so many days a run counts for nothing, and what rested on it expires. Ours: a year, four half-lives.
pub const AGE_OUT_DAYS: i64 = 365;

/// Weight of a run of today; halving it four times leaves a whole number.
pub const WEIGHT_FULL: u64 = 1024;

/// Returns the weight of a run that is so many days old.
#[must_use]
pub fn weight(age_days: i64) -> u64 {
    if age_days > AGE_OUT_DAYS { 0 } else { WEIGHT_FULL >> (age_days.max(0) / AGE_HALF_LIFE_DAYS) }
}

/// Returns the bars, as a profile of ours says which were in force.
#[must_use]
pub fn ours() -> String {
    format!(
        "Bars: loose from {DETECTOR_LOOSE_FIRE_RATE_BAR} fires a run in {DETECTOR_LOOSE_MIN_SAMPLES} runs and \
         {DETECTOR_LOOSE_FALSE_POSITIVE_BAR} of them wrong, strict from {DETECTOR_STRICT_MISS_BAR} missed, budgets of \
         p90+{PHASE_BUDGET_ABOVE_P90} from {PHASE_BUDGET_MIN_SAMPLES}, dead tools from {DEAD_TOOL_MIN_SAMPLES}."
    )
}

/// Returns the same, as the peer has them.
#[must_use]
pub fn in_force() -> String {
    format!(
        "Bars: loose from {DETECTOR_LOOSE_FIRE_RATE_BAR} fires a run in {DETECTOR_LOOSE_MIN_SAMPLES} runs, disabled from \
         {DETECTOR_DISABLED_FIRE_RATE_BAR} in {DETECTOR_DISABLED_MIN_SAMPLES}, budgets of p90+{PHASE_BUDGET_ABOVE_P90} \
         from {PHASE_BUDGET_MIN_SAMPLES}, dead tools from {DEAD_TOOL_MIN_SAMPLES}."
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bars_are_what_was_decided() {
        assert_eq!(
            (
                DETECTOR_LOOSE_FIRE_RATE_BAR,
                DETECTOR_LOOSE_MIN_SAMPLES,
                DETECTOR_DISABLED_FIRE_RATE_BAR,
                DETECTOR_DISABLED_MIN_SAMPLES,
                PHASE_BUDGET_MIN_SAMPLES,
                PHASE_BUDGET_ABOVE_P90,
                DEAD_TOOL_MIN_SAMPLES,
            ),
            (0.85, 10, 0.95, 20, 10, 5, 10),
            "the seed's"
        );
        assert_eq!(
            (
                DETECTOR_LOOSE_FALSE_POSITIVE_BAR,
                DETECTOR_STRICT_MIN_SAMPLES,
                DETECTOR_STRICT_MISS_BAR,
                ROLE_BUDGET_MIN_SAMPLES,
                ROLE_TOKENS_PERCENT_ABOVE_P90,
                MIN_SAMPLES_FLOOR,
                AGE_HALF_LIFE_DAYS,
                AGE_OUT_DAYS,
            ),
            (0.5, 10, 0.5, 10, 25, 5, 90, 365),
            "ours"
        );
        let (over, under) = DETECTOR_LOOSE_FIRE_RATE;
        assert_eq!(super::super::numbers::ratio(over, under), DETECTOR_LOOSE_FIRE_RATE_BAR);
    }

    #[test]
    fn a_run_counts_half_after_a_quarter_and_nothing_after_a_year() {
        for (days, expected) in [
            (-3, 1024),
            (0, 1024),
            (89, 1024),
            (90, 512),
            (180, 256),
            (270, 128),
            (360, 64),
            (365, 64),
            (366, 0),
            (i64::MAX, 0),
        ] {
            assert_eq!(weight(days), expected, "{days} days");
        }
    }
}
