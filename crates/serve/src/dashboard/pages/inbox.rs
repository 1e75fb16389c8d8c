//! The inbox: what waits for the operator in all runs, and several of it answered at once.

use std::collections::BTreeSet;
use std::sync::Arc;

use adjutant_core::view::inbox::{Group, Row, age, common_offers, deadline, doing, groups};
use adjutant_core::words::{Offer, QuestionKind};
use adjutant_runtime::waiting::Waiting;
use askama::Template;
use axum::Json;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::Html;
use serde::{Deserialize, Serialize};

use super::{PageShell, clock, render};
use crate::dashboard::Hall;
use crate::dashboard::fault::RequestFault;
use crate::dashboard::look::aside;

/// Most questions on the page: later ones wait until some of these are answered.
const QUESTIONS_MAX: usize = 200;

/// Filter of the questions.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(in crate::dashboard) struct InboxFilter {
    kind: String,
    category: String,
}

#[derive(Template)]
#[template(path = "inbox.html")]
struct InboxPage {
    shell: PageShell,
    kind: String,
    category: String,
    kinds: Vec<&'static str>,
    categories: BTreeSet<String>,
    questions: Vec<String>,
    /// Number of open questions.
    all: usize,
    /// Number of questions that fit the filter.
    total: usize,
    groups: Vec<Group>,
    /// Warnings about files that could not be read.
    warnings: Vec<String>,
    /// The questions that are shown, as the page later asks whether there are others.
    mark: String,
}

/// One question, with the form to answer it.
#[derive(Template)]
#[template(path = "question.html")]
pub(super) struct QuestionPart<'a> {
    base: &'a str,
    row: &'a Row,
    doing: String,
    age: String,
    deadline: String,
    asked: String,
    categories: String,
    answered: Option<String>,
    /// True if the run that asks is named.
    names_run: bool,
}

impl<'a> QuestionPart<'a> {
    pub(super) fn of(base: &'a str, row: &'a Row, names_run: bool) -> Self {
        let categories: Vec<&str> = row.categories.iter().map(String::as_str).collect();
        Self {
            base,
            row,
            doing: doing(row),
            age: age(row.age_seconds),
            deadline: deadline(row),
            asked: clock(&row.asked_at),
            categories: categories.join(", "),
            answered: row.answered.as_ref().map(|answered| answered.said()),
            names_run,
        }
    }
}

#[derive(Template)]
#[template(path = "batch.html")]
struct BatchPage<'a> {
    shell: PageShell,
    kind: &'static str,
    category: String,
    rows: Vec<&'a Row>,
    /// Number of further questions.
    more: usize,
    offers: Vec<Offer>,
    ids: String,
}

/// State that the page asks for, to learn if it is out of date.
#[derive(Serialize)]
pub(in crate::dashboard) struct Now {
    mark: String,
    open: usize,
}

pub(in crate::dashboard) async fn page(
    State(hall): State<Arc<Hall>>,
    Query(asked): Query<InboxFilter>,
) -> Result<Html<String>, RequestFault> {
    aside(move || render(&list(&hall, asked)?)).await
}

pub(in crate::dashboard) async fn state(State(hall): State<Arc<Hall>>) -> Result<Json<Now>, RequestFault> {
    aside(move || {
        let waiting = hall.look.waiting()?;
        let open = waiting.rows.iter().filter(|row| row.answered.is_none()).count();
        Ok(Json(Now { mark: mark(&waiting.rows), open }))
    })
    .await
}

pub(in crate::dashboard) async fn batch(
    State(hall): State<Arc<Hall>>,
    Query(asked): Query<InboxFilter>,
) -> Result<Html<String>, RequestFault> {
    aside(move || {
        let kind = QuestionKind::named(&asked.kind)
            .ok_or_else(|| RequestFault::new(StatusCode::NOT_FOUND, "There is no such kind of question"))?;
        let waiting = hall.look.waiting()?;
        let category = Some(asked.category.as_str()).filter(|category| !category.is_empty());
        let mut rows = waiting.of_kind(kind, category);
        rows.retain(|row| row.answered.is_none());
        let more = rows.len().saturating_sub(QUESTIONS_MAX);
        rows.truncate(QUESTIONS_MAX);
        let ids: Vec<&str> = rows.iter().map(|row| row.id.as_str()).collect();
        let page = BatchPage {
            shell: PageShell::around(&hall, "inbox"),
            kind: kind.as_str(),
            offers: common_offers(&rows),
            ids: ids.join("\n"),
            category: asked.category,
            rows,
            more,
        };
        render(&page)
    })
    .await
}

/// Returns a text that tells two states of the inbox apart.
fn mark(rows: &[Row]) -> String {
    let short = |row: &Row| format!("{}{}", row.id, if row.answered.is_some() { "!" } else { "" });
    let all: Vec<String> = rows.iter().map(short).collect();
    adjutant_core::words::tool::content_hash(all.join("\n").as_bytes())
}

fn list(hall: &Hall, asked: InboxFilter) -> Result<InboxPage, RequestFault> {
    let waiting = hall.look.waiting()?;
    let fits = |row: &&Row| {
        (asked.kind.is_empty() || row.kind == asked.kind)
            && (asked.category.is_empty() || row.categories.contains(&asked.category))
    };
    let fitting: Vec<&Row> = waiting.rows.iter().filter(fits).collect();
    let parts = fitting.iter().take(QUESTIONS_MAX).map(|row| QuestionPart::of(&hall.base, row, true).render());
    let questions = parts
        .collect::<Result<Vec<String>, askama::Error>>()
        .map_err(|error| RequestFault::failed(format!("This page can't be made: {error}")))?;
    Ok(InboxPage {
        shell: PageShell::around(hall, "inbox"),
        kinds: QuestionKind::ALL.iter().map(|kind| kind.as_str()).collect(),
        categories: waiting.rows.iter().flat_map(|row| row.categories.iter().cloned()).collect(),
        questions,
        all: waiting.rows.len(),
        total: fitting.len(),
        groups: groups(&waiting.rows),
        warnings: warnings(hall, &waiting),
        mark: mark(&waiting.rows),
        kind: asked.kind,
        category: asked.category,
    })
}

/// Returns the warnings about runs and mailboxes that could not be read.
fn warnings(hall: &Hall, waiting: &Waiting) -> Vec<String> {
    let unreadable = waiting.all.unreadable.iter().map(|(path, why)| format!("can't read {}: {why}", path.display()));
    let faults = waiting.all.runs.iter().filter_map(|run| run.mailbox_fault.as_ref()).map(ToString::to_string);
    let skipped = waiting.all.runs.iter().filter(|run| !run.skipped.is_empty()).map(|run| {
        let path = hall.look.home.mailbox(&run.run_id);
        format!("{} lines of {} are skipped", run.skipped.len(), path.display())
    });
    unreadable.chain(faults).chain(skipped).collect()
}
