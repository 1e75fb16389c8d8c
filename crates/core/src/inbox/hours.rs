//! Hours of a day, by the clock on the operator's wall.

use jiff::civil::Time;

/// From when to when; over midnight if they end before they begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hours {
    /// From when on.
    pub from: Time,
    /// Until when, itself not included.
    pub to: Time,
}

impl Hours {
    /// Returns true if `local` is within these hours.
    #[must_use]
    pub fn covers(self, local: Time) -> bool {
        if self.from <= self.to { self.from <= local && local < self.to } else { self.from <= local || local < self.to }
    }

    /// Parses hours that are written `09:00-18:00`; `None` if these are none, or of no length.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let (from, to) = text.split_once('-')?;
        Some(Self { from: time(from.trim())?, to: time(to.trim())? }).filter(|hours| hours.from != hours.to)
    }
}

/// Parses a time of day that is written `09:00`; `None` if there is no such time.
#[must_use]
pub fn time(text: &str) -> Option<Time> {
    let (hour, minute) = text.split_once(':')?;
    let is_written = |part: &str| part.len() == 2 && part.bytes().all(|byte| byte.is_ascii_digit());
    if !is_written(hour) || !is_written(minute) {
        return None;
    }
    Time::new(hour.parse().ok()?, minute.parse().ok()?, 0, 0).ok()
}
