//! The history page of a project's runs: plots and tables.

use std::sync::Arc;

use adjutant_core::learn::CALIBRATION_TRAP;
use adjutant_core::learn::history::{MIN_SAMPLES, Window};
use adjutant_core::view::history;
use adjutant_core::view::history_page::{self, Plot};
use adjutant_runtime::past;
use askama::Template;
use axum::extract::{Path, State};
use axum::response::Html;
use jiff::Timestamp;

use super::past::{Table, left_out, project_named};
use super::{PageShell, clock, render};
use crate::dashboard::Hall;
use crate::dashboard::fault::RequestFault;
use crate::dashboard::look::aside;

#[derive(Template)]
#[template(path = "history.html")]
struct HistoryPage {
    shell: PageShell,
    project: String,
    runs: u64,
    from: String,
    to: String,
    /// Number of runs by outcome.
    outcomes: Vec<(String, u64)>,
    plots: Vec<Plot>,
    tables: Vec<Table>,
    trouble: Vec<(String, u64)>,
    notes: Vec<String>,
    trap: Option<&'static str>,
    traceless: Vec<String>,
    left_out: Vec<String>,
}

pub(in crate::dashboard) async fn page(
    State(hall): State<Arc<Hall>>,
    Path(project): Path<String>,
) -> Result<Html<String>, RequestFault> {
    let project = project_named(&project)?;
    aside(move || {
        let (fold, coverage) = past::history(&hall.look.home, project.as_str(), Window::default())
            .map_err(|error| RequestFault::failed(format!("can't read the folder of sessions: {error}")))?;
        let report =
            fold.report(project.as_str(), &adjutant_core::words::moment::timestamp(Timestamp::now()), MIN_SAMPLES);
        let at = |time: &Option<String>| time.as_deref().map_or_else(|| "-".to_owned(), clock);
        let has_destructive = report.detectors.iter().any(|row| row.detector == "destructive");
        let is_said = report.notes.iter().any(|note| note.to_lowercase().contains(CALIBRATION_TRAP));
        let mut trouble = vec![
            ("failed turns".to_owned(), report.retries.failed_turns),
            ("sub-tasks again".to_owned(), report.retries.subtasks),
        ];
        trouble.extend(report.stuck.iter().map(|(symptom, times)| (symptom.replace('_', " "), *times)));
        trouble.push(("damaged lines".to_owned(), report.corrupted_lines_total));
        render(&HistoryPage {
            shell: PageShell::around(&hall, "history"),
            runs: report.sample_size,
            from: at(&report.window_start),
            to: at(&report.window_end),
            outcomes: report.outcomes.clone().into_iter().collect(),
            plots: history_page::plots(&report),
            tables: history::sheets(&report).into_iter().map(Table::of).collect(),
            trouble,
            trap: (has_destructive && !is_said).then_some(CALIBRATION_TRAP),
            notes: report.notes,
            traceless: report.traceless,
            left_out: left_out(&coverage),
            project: project.to_string(),
        })
    })
    .await
}
