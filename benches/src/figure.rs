//! A figure, its budget and its baseline; and how they are printed.

use std::fmt;
use std::time::Duration;

/// One thing that was measured.
pub struct Figure {
    /// Name of the thing measured.
    pub name: String,
    /// Its measured value.
    pub measured: Amount,
    /// Upper bound; `None` if only the ratio is of interest.
    pub budget: Option<Amount>,
    /// Description of the baseline.
    pub against: String,
    /// The baseline's measured value.
    pub baseline: Amount,
}

/// A measured quantity.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Amount {
    /// So long.
    Time(Duration),
    /// So many bytes.
    Bytes(u64),
}

impl Amount {
    fn value(self) -> f64 {
        match self {
            Self::Time(time) => time.as_secs_f64(),
            #[expect(clippy::cast_precision_loss, reason = "a number to look at")]
            Self::Bytes(bytes) => bytes as f64,
        }
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.value();
        let text = match self {
            Self::Time(time) if time.as_micros() < 1_000 => format!("{:.2} \u{b5}s", value * 1e6),
            Self::Time(time) if time.as_secs() < 1 => format!("{:.2} ms", value * 1e3),
            Self::Time(_) => format!("{value:.2} s"),
            Self::Bytes(0..1_000_000) => format!("{:.1} kB", value / 1e3),
            Self::Bytes(_) => format!("{:.1} MB", value / 1e6),
        };
        f.pad(&text)
    }
}

impl Figure {
    /// Returns a word that says if the budget is kept.
    fn verdict(&self) -> &'static str {
        match self.budget {
            None => "",
            Some(budget) if self.measured.value() <= budget.value() => "kept",
            Some(_) => "MISSED",
        }
    }
}

/// The middle one of `times`; zero if there are none.
pub fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

/// `time` divided by `count`.
pub fn each(time: Duration, count: usize) -> Duration {
    let nanoseconds = time.as_nanos() / count.max(1) as u128;
    Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or(u64::MAX))
}

/// The table of all figures, with its head.
pub fn table(figures: &[Figure]) -> String {
    let mut rows = vec![["figure", "measured", "budget", "", "ratio", "baseline"].map(str::to_owned)];
    rows.extend(figures.iter().map(|figure| {
        [
            figure.name.clone(),
            figure.measured.to_string(),
            figure.budget.map(|budget| budget.to_string()).unwrap_or_default(),
            figure.verdict().to_owned(),
            format!("{:.2}", figure.measured.value() / figure.baseline.value()),
            format!("{} ({})", figure.baseline, figure.against),
        ]
    }));
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths = [0, 1, 2, 3, 4, 5].map(width);
    let line = |row: &[String; 6]| {
        let [name, measured, budget, verdict, ratio, baseline] = row;
        let [w0, w1, w2, w3, w4, _] = widths;
        let line = format!("{name:<w0$}  {measured:>w1$}  {budget:>w2$}  {verdict:<w3$}  {ratio:>w4$}  {baseline}");
        format!("{}\n", line.trim_end())
    };
    rows.iter().map(line).collect()
}
