//! Parts that the pages of history and profile share: the projects that have a past, and tables.

use std::collections::BTreeMap;
use std::sync::Arc;

use adjutant_core::view::Sheet;
use adjutant_core::words::id::Slug;
use adjutant_core::words::visible::visible_line;
use adjutant_store::history::Coverage;
use adjutant_store::profiles;
use adjutant_store::runs::Listed;
use askama::Template;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Html;

use super::{PageShell, render};
use crate::dashboard::Hall;
use crate::dashboard::fault::RequestFault;
use crate::dashboard::look::aside;

#[derive(Template)]
#[template(path = "past.html")]
struct ProjectsPage {
    shell: PageShell,
    title: &'static str,
    projects: Vec<ProjectRow>,
}

struct ProjectRow {
    name: String,
    runs: u64,
    /// State of the applied profile, in a word.
    profile: &'static str,
}

/// A table as a page has it: stacked on a phone, so that each cell says its column.
pub(super) struct Table {
    pub(super) title: &'static str,
    pub(super) head: Vec<String>,
    pub(super) rows: Vec<TableRow>,
    pub(super) below: Vec<String>,
}

/// One row: what it is about, and the other cells, each with the name of its column.
pub(super) struct TableRow {
    pub(super) name: String,
    pub(super) cells: Vec<(String, String)>,
}

impl Table {
    pub(super) fn of(sheet: Sheet) -> Self {
        let head: Vec<String> = sheet.head.iter().map(|name| name.replace('_', " ")).collect();
        let rows = sheet.rows.into_iter().map(|row| {
            let mut cells = row.into_iter();
            let name = cells.next().unwrap_or_default();
            TableRow { name, cells: head.iter().skip(1).cloned().zip(cells).collect() }
        });
        Self { title: sheet.title, rows: rows.collect(), head, below: sheet.below }
    }
}

pub(in crate::dashboard) async fn histories(State(hall): State<Arc<Hall>>) -> Result<Html<String>, RequestFault> {
    aside(move || projects(&hall, "history", "History")).await
}

pub(in crate::dashboard) async fn profiles(State(hall): State<Arc<Hall>>) -> Result<Html<String>, RequestFault> {
    aside(move || projects(&hall, "profile", "Profiles")).await
}

fn projects(hall: &Hall, here: &'static str, title: &'static str) -> Result<Html<String>, RequestFault> {
    let mut runs: BTreeMap<String, u64> = BTreeMap::new();
    for run in hall.look.runs()? {
        let project = match run.listed.as_ref() {
            Listed::Run(run) => run.project.clone(),
            Listed::Peer(peer) => peer.project.clone(),
            Listed::Unreadable { .. } => None,
        };
        if let Some(project) = project {
            *runs.entry(project).or_default() += 1;
        }
    }
    let known = hall
        .look
        .memory()
        .projects()
        .map_err(|error| RequestFault::failed(format!("can't read the folder of projects: {error}")))?;
    for project in known {
        runs.entry(project.to_string()).or_default();
    }
    let rows = runs.into_iter().filter_map(|(name, runs)| {
        // What is no name of a project has no page.
        let project: Slug = name.parse().ok()?;
        let profile = match profiles::read(&hall.look.home, &project) {
            Ok(Some(_)) => "applied",
            Ok(None) => "none",
            Err(_) => "can't be used",
        };
        Some(ProjectRow { name, runs, profile })
    });
    render(&ProjectsPage { shell: PageShell::around(hall, here), title, projects: rows.collect() })
}

/// The project of that name, as an address has it.
pub(in crate::dashboard) fn project_named(name: &str) -> Result<Slug, RequestFault> {
    name.parse().map_err(|_| RequestFault::new(StatusCode::NOT_FOUND, "There is no such project"))
}

/// Returns what could not be read, a line each.
pub(super) fn left_out(coverage: &Coverage) -> Vec<String> {
    let said = |(path, error): &(std::path::PathBuf, std::io::Error)| {
        format!("{} is left out: {error}", visible_line(&path.display().to_string()))
    };
    coverage.unreadable.iter().map(said).collect()
}
