//! The history of a project's runs: the text of a [`History`].

use std::fmt::Write as _;

use super::columns::Sheet;
use crate::learn::history::{AskedRow, CostRow, History};
use crate::words::price;
use crate::words::text::cut;
use crate::words::visible::visible_line;

/// Number of days that a row of bars shows, the latest.
const DAYS_SHOWN: usize = 60;

/// Its text. `has_bars` adds rows of little bars, which not every reader can show.
#[must_use]
pub fn text(history: &History, has_bars: bool) -> String {
    let mut text = String::new();
    let _ = writeln!(text, "History of {}", visible_line(&history.slug));
    let _ = writeln!(text, "  runs:            {}", history.sample_size);
    let start = history.window_start.clone().unwrap_or_else(dash);
    let end = history.window_end.clone().unwrap_or_else(dash);
    let _ = writeln!(text, "  window:          {} to {}", visible_line(&start), visible_line(&end));
    let _ = writeln!(text, "  generated_at:    {}", history.generated_at);
    let _ = writeln!(text, "  schema_version:  {}", history.schema_version);
    if history.sample_size == 0 {
        let _ = writeln!(text, "\nThere is no run of this project to count yet.");
        list(&mut text, "Without a trace", &history.traceless);
        return text;
    }
    let outcomes: Vec<String> = history.outcomes.iter().map(|(fate, runs)| format!("{fate} {runs}")).collect();
    let _ = writeln!(text, "  ended:           {}", visible_line(&outcomes.join(", ")));
    if has_bars {
        bars(&mut text, history);
    }
    list(&mut text, "Runs", &history.source_runs);
    list(&mut text, "Without a trace", &history.traceless);

    for sheet in sheets(history) {
        section(&mut text, sheet.title, &sheet.text(), sheet.rows.is_empty());
        for line in &sheet.below {
            let _ = writeln!(text, "  {}", visible_line(line));
        }
    }

    let _ = writeln!(text, "\nTrouble");
    let _ = writeln!(text, "  failed turns:      {}", history.retries.failed_turns);
    let _ = writeln!(text, "  sub-tasks again:   {}", history.retries.subtasks);
    for (symptom, times) in &history.stuck {
        let _ = writeln!(text, "  {:<18} {times}", format!("{}:", visible_line(&symptom.replace('_', " "))));
    }
    let _ = writeln!(text, "  damaged lines:     {}", history.corrupted_lines_total);
    list(&mut text, "Notes", &history.notes);
    text
}

/// Its tables: tools, phases, detectors, roles, questions.
#[must_use]
pub fn sheets(history: &History) -> Vec<Sheet> {
    vec![tools(history), phases(history), detectors(history), roles(history), questions(history)]
}

fn tools(history: &History) -> Sheet {
    let rows = history.tool_usage.iter().map(|tool| {
        let flag = if tool.dead { "DEAD" } else { "" };
        [tool.tool.clone(), tool.calls.to_string(), tool.last_used.clone().unwrap_or_else(dash), flag.to_owned()]
    });
    Sheet::new("Tool usage", ["tool", "calls", "last_used", "flag"], rows)
}

fn phases(history: &History) -> Sheet {
    let rows = history.phase_distribution.iter().map(|row| {
        [
            row.phase.clone(),
            row.samples.to_string(),
            row.total_calls.to_string(),
            short(row.p50),
            short(row.p90),
            row.max.to_string(),
            format!("{}ms", row.total_duration_ms),
            format!("{}ms", row.avg_duration_ms),
        ]
    });
    let head = ["phase", "samples", "total_calls", "p50", "p90", "max", "total_dur", "avg_dur"];
    Sheet::new("Tool calls by phase", head, rows)
}

fn detectors(history: &History) -> Sheet {
    let rows = history.detectors.iter().map(|row| {
        let judged = &row.false_positives;
        let wrong = match (judged.defined, judged.rate) {
            (false, _) => "undefined".to_owned(),
            (true, None) => "none judged".to_owned(),
            (true, Some(rate)) => {
                let (low, high) = judged.interval.unwrap_or((0.0, 1.0));
                format!("{} of {} ({} to {})", percent(rate), judged.decided, percent(low), percent(high))
            }
        };
        let missed = row.missed.map_or_else(dash, |missed| missed.to_string());
        [
            row.detector.clone(),
            row.total_fires.to_string(),
            row.runs_with_fire.to_string(),
            format!("{:.2}", row.fires_per_run),
            wrong,
            missed,
        ]
    });
    let head = ["detector", "total_fires", "runs_w_fire", "fires_per_run", "false_positives", "missed"];
    let undefined = history.detectors.iter().filter_map(|row| {
        let because = row.false_positives.undefined_because?;
        Some(format!("{}: undefined, {because}", row.detector))
    });
    Sheet { below: undefined.collect(), ..Sheet::new("Detectors", head, rows) }
}

fn roles(history: &History) -> Sheet {
    let rows = history.roles.iter().map(|row| {
        [
            row.role.clone(),
            row.sessions.to_string(),
            short(row.calls_p50),
            short(row.calls_p90),
            short(row.tokens_p50),
            short(row.tokens_p90),
            row.cost.turns.to_string(),
            dollars(&row.cost),
        ]
    });
    let head = ["role", "sessions", "calls_p50", "calls_p90", "tokens_p50", "tokens_p90", "turns", "cost"];
    let cost = &history.cost;
    let all = format!(
        "in all: {} turns, {} tokens in, {} tokens out{}, {}",
        cost.turns,
        cost.tokens_in,
        cost.tokens_out,
        match cost.turns_without_tokens {
            0 => String::new(),
            1 => " without those of 1 turn that nobody counted".to_owned(),
            turns => format!(" without those of {turns} turns that nobody counted"),
        },
        dollars(cost)
    );
    let list = (cost.turns_by_list > 0).then(|| "~ estimated by the providers' list prices".to_owned());
    Sheet { below: [Some(all), list].into_iter().flatten().collect(), ..Sheet::new("Sessions by role", head, rows) }
}

fn questions(history: &History) -> Sheet {
    let mut rows: Vec<[String; 8]> = history.questions.iter().map(|row| question(&row.kind, &row.asked)).collect();
    if rows.len() > 1 {
        rows.push(question("all", &history.attention.asked));
    }
    let head = ["question", "asked", "answered", "expired", "withdrawn", "open", "waited", "longest"];
    let in_all = format!(
        "{} questions a run; {} of {} runs asked nothing",
        short(history.attention.per_run),
        history.attention.runs_without,
        history.sample_size
    );
    Sheet { below: vec![in_all], ..Sheet::new("The operator's attention", head, rows) }
}

fn dash() -> String {
    "-".to_owned()
}

fn section(text: &mut String, title: &str, table: &str, is_empty: bool) {
    let _ = writeln!(text, "\n{title}");
    if is_empty {
        text.push_str("  none\n");
        return;
    }
    for line in table.lines() {
        let _ = writeln!(text, "  {line}");
    }
}

fn list(text: &mut String, title: &str, items: &[String]) {
    if items.is_empty() {
        return;
    }
    let _ = writeln!(text, "\n{title}");
    for item in items {
        let _ = writeln!(text, "  {}", visible_line(&cut(item, 300)));
    }
}

fn question(kind: &str, asked: &AskedRow) -> [String; 8] {
    [
        kind.to_owned(),
        asked.asked.to_string(),
        asked.answered.to_string(),
        asked.expired.to_string(),
        asked.withdrawn.to_string(),
        asked.open.to_string(),
        span(asked.waiting_ms),
        span(asked.longest_ms),
    ]
}

fn dollars(cost: &CostRow) -> String {
    match (cost.turns, cost.nano_dollars) {
        (0, _) => "-".to_owned(),
        (turns, 0) if cost.turns_without_cost == turns => "unknown".to_owned(),
        (_, nano) => {
            let plus = if cost.turns_without_cost > 0 { "+" } else { "" };
            let list = if cost.turns_by_list > 0 { "~" } else { "" };
            format!("{list}${}{plus}", price::sum_rounded(nano))
        }
    }
}

/// A number without a fraction it doesn't have.
pub(crate) fn short(number: f64) -> String {
    if number.fract() == 0.0 { format!("{number:.0}") } else { format!("{number:.1}") }
}

pub(crate) fn percent(rate: f64) -> String {
    format!("{:.0}%", rate * 100.0)
}

/// A length of time as a person says it: the two largest units.
#[must_use]
pub fn span(ms: u64) -> String {
    let seconds = ms / 1000;
    match seconds {
        0 => format!("{ms}ms"),
        1..60 => format!("{seconds}s"),
        60..3600 => format!("{}m {}s", seconds / 60, seconds % 60),
        3600..86_400 => format!("{}h {}m", seconds / 3600, seconds % 3600 / 60),
        _ => format!("{}d {}h", seconds / 86_400, seconds % 86_400 / 3600),
    }
}

fn bars(text: &mut String, history: &History) {
    let days = &history.days[history.days.len().saturating_sub(DAYS_SHOWN)..];
    let [first, .., last] = days else { return };
    let _ = writeln!(text, "\nDay by day, {} to {}", visible_line(&first.day), visible_line(&last.day));
    type Value = fn(&crate::learn::history::DayRow) -> u64;
    let rows: [(&str, Value); 5] = [
        ("runs", |day| day.runs),
        ("completed", |day| day.completed),
        ("calls", |day| day.calls),
        ("tokens", |day| day.tokens),
        ("questions", |day| day.questions),
    ];
    for (name, value) in rows {
        let values: Vec<u64> = days.iter().map(value).collect();
        let most = values.iter().copied().max().unwrap_or(0);
        let _ = writeln!(text, "  {name:<10} {}  most {most}", sparkline(&values));
    }
}

/// One little bar for each value, the highest as high as can be. A value of 0 has the lowest.
#[must_use]
pub fn sparkline(values: &[u64]) -> String {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let most = values.iter().copied().max().unwrap_or(0).max(1);
    let bar = |value: &u64| {
        let height = u128::from(*value) * 7 / u128::from(most);
        BARS[usize::try_from(height).unwrap_or(7).min(7)]
    };
    values.iter().map(bar).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_as_high_as_their_values() {
        assert_eq!(sparkline(&[0, 1, 7, 14]), "▁▁▄█");
        assert_eq!(sparkline(&[0, 0]), "▁▁");
        assert_eq!(sparkline(&[u64::MAX]), "█");
    }

    #[test]
    fn times_are_said_in_two_units() {
        for (ms, said) in [(7, "7ms"), (59_999, "59s"), (61_000, "1m 1s"), (3_660_000, "1h 1m"), (90_000_000, "1d 1h")]
        {
            assert_eq!(span(ms), said);
        }
    }
}
