//! The page of what projects remember: live entries, the entries they superseded, and contradictions.

use std::sync::Arc;

use adjutant_core::memory::{Contradiction, Log, MemoryCategory, Query as Search, Record, contradictions};
use adjutant_core::words::id::Slug;
use askama::Template;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::Html;
use serde::Deserialize;

use super::{PageShell, clock, render};
use crate::dashboard::Hall;
use crate::dashboard::fault::RequestFault;
use crate::dashboard::look::aside;

/// Most entries on a page: a search finds the others.
const ENTRIES_MAX: usize = 300;

/// Filter of the entries.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(in crate::dashboard) struct MemoryFilter {
    q: String,
    category: String,
    superseded: Option<String>,
}

#[derive(Template)]
#[template(path = "memories.html")]
struct MemoryProjectsPage {
    shell: PageShell,
    projects: Vec<MemoryProjectRow>,
}

struct MemoryProjectRow {
    name: String,
    /// Number of live entries in each category.
    live: Vec<(&'static str, usize)>,
    damaged: usize,
}

#[derive(Template)]
#[template(path = "memory.html")]
struct MemoryPage {
    shell: PageShell,
    project: String,
    q: String,
    category: String,
    superseded: bool,
    categories: Vec<&'static str>,
    entries: Vec<EntryCard>,
    total: usize,
    contradictions: Vec<Contradicting>,
    /// Lines that can't be read, with why.
    damaged: Vec<String>,
}

struct EntryCard {
    id: String,
    category: &'static str,
    at: String,
    clock: String,
    fields: Vec<(&'static str, String)>,
    by: String,
    supersedes: Option<String>,
    superseded_by: Option<String>,
}

struct Contradicting {
    newer: EntryCard,
    older: EntryCard,
    rule: &'static str,
}

pub(in crate::dashboard) async fn projects(State(hall): State<Arc<Hall>>) -> Result<Html<String>, RequestFault> {
    aside(move || {
        let memory = hall.look.memory();
        let projects = memory
            .projects()
            .map_err(|error| RequestFault::failed(format!("can't read the folder of projects: {error}")))?;
        let mut rows = Vec::new();
        for project in projects {
            let logs = logs(&hall, &project)?;
            rows.push(MemoryProjectRow {
                name: project.to_string(),
                live: logs.iter().map(|(category, log)| (category.as_str(), log.live().len())).collect(),
                damaged: logs.iter().map(|(_, log)| log.damaged().len()).sum(),
            });
        }
        render(&MemoryProjectsPage { shell: PageShell::around(&hall, "memory"), projects: rows })
    })
    .await
}

pub(in crate::dashboard) async fn page(
    State(hall): State<Arc<Hall>>,
    Path(name): Path<String>,
    Query(asked): Query<MemoryFilter>,
) -> Result<Html<String>, RequestFault> {
    aside(move || {
        let project: Slug =
            name.parse().map_err(|_| RequestFault::new(StatusCode::NOT_FOUND, "No project can be called so"))?;
        render(&memory(&hall, &project, asked)?)
    })
    .await
}

type Logs = Vec<(MemoryCategory, Log)>;

fn logs(hall: &Hall, project: &Slug) -> Result<Logs, RequestFault> {
    let memory = hall.look.memory();
    let read = |category: MemoryCategory| {
        let log = memory.log(project, category);
        let path = memory.path(project, category);
        log.map(|log| (category, log))
            .map_err(|error| RequestFault::failed(format!("can't read {}: {error}", path.display())))
    };
    MemoryCategory::ALL.into_iter().map(read).collect()
}

fn memory(hall: &Hall, project: &Slug, asked: MemoryFilter) -> Result<MemoryPage, RequestFault> {
    let logs = logs(hall, project)?;
    let meant = logs.iter().filter(|(category, _)| asked.category.is_empty() || category.as_str() == asked.category);
    let meant: Vec<&Log> = meant.map(|(_, log)| log).collect();
    let words = Some(asked.q.trim()).filter(|words| !words.is_empty()).map(str::to_owned);
    let live_only = asked.superseded.is_none();
    let found = Search { words, live_only, limit: Some(ENTRIES_MAX), ..Search::default() }.find(&meant);
    let live: Vec<Record> = logs.iter().flat_map(|(_, log)| log.live()).cloned().collect();
    let damaged = logs.iter().flat_map(|(category, log)| {
        log.damaged().iter().map(move |damaged| format!("{category}, line {}: {}", damaged.line, damaged.why))
    });
    Ok(MemoryPage {
        shell: PageShell::around(hall, "memory"),
        project: project.to_string(),
        categories: MemoryCategory::ALL.iter().map(|category| category.as_str()).collect(),
        entries: found.records.iter().map(|record| entry(&logs, record)).collect(),
        total: found.total,
        contradictions: contradictions(&live).iter().filter_map(|pair| contradicting(&logs, pair)).collect(),
        damaged: damaged.collect(),
        superseded: !live_only,
        q: asked.q,
        category: asked.category,
    })
}

fn entry(logs: &Logs, record: &Record) -> EntryCard {
    let at = adjutant_core::words::moment::timestamp(record.at);
    EntryCard {
        id: record.id.to_string(),
        category: record.said.category().as_str(),
        clock: clock(&at),
        at,
        fields: record.said.fields().into_iter().map(|(name, value)| (name, value.to_owned())).collect(),
        by: record.brief_id.clone().unwrap_or_else(|| "the operator".to_owned()),
        supersedes: record.supersedes.as_ref().map(ToString::to_string),
        superseded_by: logs.iter().find_map(|(_, log)| log.superseded_by(&record.id)).map(ToString::to_string),
    }
}

fn contradicting(logs: &Logs, pair: &Contradiction) -> Option<Contradicting> {
    let find = |id| logs.iter().find_map(|(_, log)| log.get(id)).map(|record| entry(logs, record));
    Some(Contradicting { newer: find(&pair.newer)?, older: find(&pair.older)?, rule: pair.rule.said() })
}
