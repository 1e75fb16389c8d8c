//! The history of a project as one HTML page with plots, which needs nothing else: no script, no font, no network.

use std::fmt::Write as _;

use super::history;
use super::plot::{self, escaped};
use crate::learn::history::History;

/// A plot with the line above it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plot {
    /// Its title.
    pub title: &'static str,
    /// The plot.
    pub svg: String,
}

/// The plots of a history; those that would show nothing are left out.
#[must_use]
pub fn plots(history: &History) -> Vec<Plot> {
    let mut plots = Vec::new();
    let days: Vec<&str> = history.days.iter().map(|day| day.day.as_str()).collect();
    let mut by_day = |title: &'static str, values: Vec<(u64, u64)>| {
        if values.iter().any(|(value, _)| *value > 0) {
            plots.push(Plot { title, svg: plot::columns(title, &days, &values) });
        }
    };
    by_day(
        "Runs each day, the completed ones filled",
        history.days.iter().map(|day| (day.runs, day.completed)).collect(),
    );
    by_day("Questions each day", history.days.iter().map(|day| (day.questions, 0)).collect());
    by_day("Tokens each day", history.days.iter().map(|day| (day.tokens, 0)).collect());
    by_day("Tool calls each day", history.days.iter().map(|day| (day.calls, 0)).collect());
    #[expect(clippy::cast_precision_loss, reason = "a place in a plot")]
    let phases: Vec<(&str, f64, f64, f64)> = (history.phase_distribution.iter())
        .filter(|row| row.total_calls > 0)
        .map(|row| (row.phase.as_str(), row.p50, row.p90, row.max as f64))
        .collect();
    if !phases.is_empty() {
        let title = "Tool calls of a session, by phase: a mark at the median, a bar to nine of ten, a line to the most";
        let say = |p50, p90, max| format!("median {p50}, nine of ten {p90}, most {max}");
        plots.push(Plot { title, svg: plot::spreads(title, &phases, say) });
    }
    let detectors: Vec<(&str, f64, f64, f64)> = (history.detectors.iter())
        .filter_map(|row| {
            let (low, high) = row.false_positives.interval?;
            Some((row.detector.as_str(), low, row.false_positives.rate?, high))
        })
        .collect();
    if !detectors.is_empty() {
        let title =
            "False positives by detector: a bar to the rate, which lies between the mark and the end of the line";
        let say = |low, rate, high| format!("rate {rate}, between {low} and {high}");
        plots.push(Plot { title, svg: plot::spreads(title, &detectors, say) });
    }
    plots
}

/// The colours of plots, light and dark.
pub const STYLE: &str = "\
:root{color-scheme:light dark;--ink:#1a1a1a;--paper:#fff;--soft:#5c5c5c;--bar:#8fa8c8;--good:#2f5d8c;--line:#c8c8c8}\
@media(prefers-color-scheme:dark){:root{--ink:#e8e8e8;--paper:#151515;--soft:#a8a8a8;--bar:#4a6585;--good:#8fb8e0;--line:#444}}\
body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);max-width:60rem;margin:2rem auto;padding:0 1rem}\
pre{overflow-x:auto;font:13px/1.45 ui-monospace,monospace}\
figure{margin:1.5rem 0}figcaption{color:var(--soft)}\
.plot{width:100%;height:auto}.plot text{font:12px system-ui,sans-serif;fill:var(--soft)}\
@media(max-width:44rem){.plot text{font-size:18px}}\
.bar{fill:var(--bar)}.good,.mark{fill:var(--good)}.reach{fill:var(--soft)}.axis{stroke:var(--line)}";

/// The page.
#[must_use]
pub fn page(history: &History) -> String {
    let title = format!("History of {}", escaped(&history.slug));
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n<h1>{title}</h1>\n"
    );
    for plot in plots(history) {
        let _ = write!(page, "<figure>\n<figcaption>{}</figcaption>\n{}\n</figure>\n", escaped(plot.title), plot.svg);
    }
    page.push_str("<h2>Figures</h2>\n<pre>");
    for line in history::text(history, false).lines() {
        page.push_str(&escaped(line));
        page.push('\n');
    }
    page.push_str("</pre>\n</main>\n</body>\n</html>\n");
    page
}
