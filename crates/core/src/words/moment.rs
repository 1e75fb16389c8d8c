//! Moments as people write them: a time with its zone, or a day, which is one of UTC.
//!
//! A time without a zone could be anybody's, and is none.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

/// Length of a day as it is written, `2026-01-31`. The parser would take a time for its day, and ignore faults in the
/// time.
const DAY_LENGTH: usize = 10;

/// Returns the moment that a text means; a day means its beginning.
#[must_use]
pub fn since(text: &str) -> Option<Timestamp> {
    match day(text) {
        Some(day) => midnight(day),
        None => text.parse().ok(),
    }
}

/// Returns the last moment that a text means, to the millisecond; a day means its end.
#[must_use]
pub fn until(text: &str) -> Option<Timestamp> {
    match day_end(text) {
        Some(end) => end.checked_sub(SignedDuration::from_millis(1)).ok(),
        None => text.parse().ok(),
    }
}

/// Returns the end of a day, which is the beginning of the next; `None` if there is no such day.
#[must_use]
pub fn day_end(text: &str) -> Option<Timestamp> {
    midnight(day(text)?.tomorrow().ok()?)
}

/// A moment in a file: always to the millisecond, so that lines of one kind have one form.
pub mod milliseconds {
    use jiff::Timestamp;
    use serde::{Deserialize, Deserializer, Serializer};

    /// Writes a moment in UTC, with three digits behind the seconds.
    ///
    /// # Errors
    ///
    /// The serializer's.
    pub fn serialize<S: Serializer>(at: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{at:.3}"))
    }

    /// Reads a moment, whatever digits it has behind the seconds.
    ///
    /// # Errors
    ///
    /// The deserializer's; also for what is no moment.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Timestamp, D::Error> {
        Timestamp::deserialize(deserializer)
    }
}

/// The same for a moment that may be absent.
pub mod optional_milliseconds {
    use jiff::Timestamp;
    use serde::{Deserialize, Deserializer, Serializer};

    /// Writes a moment in UTC, with three digits behind the seconds.
    ///
    /// # Errors
    ///
    /// The serializer's.
    pub fn serialize<S: Serializer>(at: &Option<Timestamp>, serializer: S) -> Result<S::Ok, S::Error> {
        match at {
            Some(at) => super::milliseconds::serialize(at, serializer),
            None => serializer.serialize_none(),
        }
    }

    /// Reads a moment, whatever digits it has behind the seconds.
    ///
    /// # Errors
    ///
    /// The deserializer's; also for what is no moment.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Timestamp>, D::Error> {
        Option::deserialize(deserializer)
    }
}

fn day(text: &str) -> Option<Date> {
    (text.len() == DAY_LENGTH).then(|| text.parse().ok()).flatten()
}

fn midnight(day: Date) -> Option<Timestamp> {
    TimeZone::UTC.to_timestamp(day.at(0, 0, 0, 0)).ok()
}

/// `at` as it is written: UTC, to the millisecond.
#[must_use]
pub fn timestamp(at: Timestamp) -> String {
    format!("{at:.3}")
}

/// Returns `at` plus a length in milliseconds; the end of time if it lies beyond.
#[must_use]
pub fn after(at: Timestamp, length_ms: u64) -> Timestamp {
    let length = SignedDuration::from_millis(i64::try_from(length_ms).unwrap_or(i64::MAX));
    at.saturating_add(length).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_or_a_day_is_a_moment() {
        for (text, from, to) in [
            ("2024-05-06", Some("2024-05-06T00:00:00Z"), Some("2024-05-06T23:59:59.999Z")),
            ("2024-05-06T01:00:00+01:00", Some("2024-05-06T00:00:00Z"), Some("2024-05-06T00:00:00Z")),
            ("yesterday", None, None),
            ("", None, None),
            ("2024-13-01", None, None),
            ("2024-05-06T01:00:00", None, None),
            ("2024-05-06 01:00", None, None),
        ] {
            let at = |at: Option<&str>| at.map(|at| at.parse::<Timestamp>().expect("a time"));
            assert_eq!((since(text), until(text)), (at(from), at(to)), "{text}");
        }
        assert_eq!(day_end("2024-05-06"), since("2024-05-07"));
        assert_eq!(day_end("2024-05-06T01:00:00Z"), None, "a time is no day");
    }
}
