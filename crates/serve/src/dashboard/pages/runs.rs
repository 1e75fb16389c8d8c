//! The list of runs.

use std::collections::BTreeSet;
use std::sync::Arc;

use adjutant_core::view::inbox::age;
use adjutant_core::view::list::RunState;
use adjutant_core::words::PhaseName;
use adjutant_store::runs::{Catalogued, Listed};
use askama::Template;
use axum::extract::{Query, State};
use axum::response::Html;
use jiff::Timestamp;
use serde::Deserialize;

use super::{PageShell, clock, render};
use crate::dashboard::Hall;
use crate::dashboard::fault::RequestFault;
use crate::dashboard::look::aside;

/// Number of runs on a page.
const RUNS_PER_PAGE: usize = 50;

/// The word for sessions that are not runs of ours.
const OTHER: &str = "other";

/// Filter of the runs.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(in crate::dashboard) struct RunsFilter {
    q: String,
    project: String,
    status: String,
    page: String,
}

#[derive(Template)]
#[template(path = "runs.html")]
struct RunsPage {
    shell: PageShell,
    q: String,
    project: String,
    status: String,
    projects: BTreeSet<String>,
    words: Vec<&'static str>,
    rows: Vec<RunRow>,
    /// Number of runs.
    all: usize,
    /// Number of runs that fit the filter.
    total: usize,
    /// The first and last of them on this page, from 1.
    first: usize,
    last: usize,
    page: usize,
    has_more: bool,
    /// Number of runs that wait for the operator.
    waits: usize,
}

/// One run on the page.
struct RunRow {
    name: String,
    /// True if the run has a page of its own.
    has_page: bool,
    project: String,
    word: &'static str,
    said: String,
    phase: String,
    cost: String,
    /// Kind of its open question, if it has one.
    asks: Option<&'static str>,
    at: String,
    clock: String,
    age: String,
}

pub(in crate::dashboard) async fn page(
    State(hall): State<Arc<Hall>>,
    Query(asked): Query<RunsFilter>,
) -> Result<Html<String>, RequestFault> {
    aside(move || render(&list(&hall, asked)?)).await
}

fn word(listed: &Listed) -> &'static str {
    listed.state().map_or(OTHER, RunState::word)
}

/// Returns the kind of the question that a run waits for. It doesn't matter if a process drives the run.
fn asks(listed: &Listed) -> Option<&'static str> {
    match listed.state()? {
        RunState::Waits(kind) => Some(kind.as_str()),
        RunState::Answered | RunState::Running | RunState::Sleeps(_) | RunState::Unfinished | RunState::Ended(_) => {
            None
        }
    }
}

fn project(listed: &Listed) -> Option<&str> {
    match listed {
        Listed::Run(run) => run.project.as_deref(),
        Listed::Peer(peer) => peer.project.as_deref(),
        Listed::Unreadable { .. } => None,
    }
}

fn list(hall: &Hall, asked: RunsFilter) -> Result<RunsPage, RequestFault> {
    let runs = hall.look.runs()?;
    let text = asked.q.trim().to_lowercase();
    let holds = |name: &str| name.to_lowercase().contains(&text);
    let fits = |run: &&Catalogued| {
        let listed = run.listed.as_ref();
        (asked.project.is_empty() || project(listed) == Some(asked.project.as_str()))
            && (asked.status.is_empty() || word(listed) == asked.status)
            && (text.is_empty() || holds(listed.name()) || project(listed).is_some_and(holds))
    };
    let fitting: Vec<&Catalogued> = runs.iter().filter(fits).collect();
    let pages = fitting.len().div_ceil(RUNS_PER_PAGE).max(1);
    let page = asked.page.parse().unwrap_or(1).clamp(1, pages);
    let before = (page - 1) * RUNS_PER_PAGE;
    let shown = fitting.iter().skip(before).take(RUNS_PER_PAGE);
    let now = Timestamp::now();
    let rows: Vec<RunRow> = shown.map(|run| row(hall, run, now)).collect();
    Ok(RunsPage {
        shell: PageShell::around(hall, "runs"),
        projects: runs.iter().filter_map(|run| project(&run.listed)).map(str::to_owned).collect(),
        words: RunState::WORDS.into_iter().chain([OTHER]).collect(),
        all: runs.len(),
        total: fitting.len(),
        first: if rows.is_empty() { 0 } else { before + 1 },
        last: before + rows.len(),
        page,
        has_more: page < pages,
        waits: runs.iter().filter(|run| asks(&run.listed).is_some()).count(),
        rows,
        q: asked.q,
        project: asked.project,
        status: asked.status,
    })
}

fn row(hall: &Hall, run: &Catalogued, now: Timestamp) -> RunRow {
    let listed = run.listed.as_ref();
    let row = listed.row();
    let at = row.updated_at.unwrap_or_default();
    let since = at.parse::<Timestamp>().ok().map(|at| u64::try_from(now.duration_since(at).as_secs()).unwrap_or(0));
    RunRow {
        has_page: !matches!(listed, Listed::Unreadable { .. }),
        name: row.run_id,
        project: row.project.unwrap_or_default(),
        word: word(listed),
        said: row.state.unwrap_or_else(|| super::peer::STATE.to_owned()),
        phase: row.phase.as_deref().map_or("-", PhaseName::said_of).to_owned(),
        cost: hall.look.cost_in_short(run),
        asks: asks(listed),
        clock: clock(&at),
        age: since.map(age).unwrap_or_default(),
        at,
    }
}
