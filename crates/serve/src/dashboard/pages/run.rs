//! One run: where it stands, what it asks, what happened.

use std::sync::Arc;

use adjutant_core::trace::read::Trace;
use adjutant_core::view::cost::Cost;
use adjutant_core::view::detectors::{self, DetectorCount};
use adjutant_core::view::inbox::Row;
use adjutant_core::view::list::{Asks, RunState};
use adjutant_core::view::summary::{self, Summary};
use adjutant_core::view::timeline::{Block, Moment, Timeline, Weight, place};
use adjutant_core::words::id::RunId;
use adjutant_runtime::say;
use adjutant_store::runs::Found;
use askama::Template;
use axum::extract::{Path, Query, State};
use axum::response::Html;
use jiff::Timestamp;
use serde::Deserialize;

use super::inbox::QuestionPart;
use super::{PageShell, clock, render};
use crate::dashboard::Hall;
use crate::dashboard::fault::RequestFault;
use crate::dashboard::look::{JournalLines, aside};

/// Number of moments on a page: a journal may have a hundred thousand.
const MOMENTS_PER_PAGE: usize = 200;

/// The moments to show; by default the last ones.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(in crate::dashboard) struct MomentWindow {
    /// Those before this one. What is no number is none, here and below.
    before: String,
    /// Those after this one.
    after: String,
    /// Set if internal events are shown too.
    details: Option<String>,
}

#[derive(Template)]
#[template(path = "run.html")]
struct RunPage {
    shell: PageShell,
    run_id: String,
    status: String,
    is_over: bool,
    questions: Vec<String>,
    /// The last that is shown, where what follows is to be followed.
    follow_after: Option<u64>,
    moments: Moments,
    counted: String,
}

/// Cost and counts of a run: replaced as it goes on.
#[derive(Template)]
#[template(path = "counted.html")]
pub(super) struct CountedPart {
    cost: Cost,
    detectors: Vec<DetectorCount>,
}

impl CountedPart {
    pub(super) fn of(hall: &Hall, trace: &Trace<'_>) -> Result<String, RequestFault> {
        let part = Self { cost: hall.look.cost(trace), detectors: detectors::of(trace).detectors };
        part.render().map_err(|error| RequestFault::failed(format!("This page can't be made: {error}")))
    }
}

/// The moments on a page.
pub(super) struct Moments {
    /// Each as a part of the page.
    pub(super) shown: Vec<String>,
    pub(super) has_older: bool,
    pub(super) has_newer: bool,
    /// The places of the first and the last that are shown.
    pub(super) first: u64,
    pub(super) last: u64,
    /// Number of moments in all.
    pub(super) total: usize,
    /// True if internal events are shown.
    pub(super) details: bool,
}

/// Status of a run: replaced as it goes on.
#[derive(Template)]
#[template(path = "status.html")]
struct StatusPart<'a> {
    run_id: &'a RunId,
    /// Number of lines that don't carry the hash of the line before.
    breaks: u64,
    summary: &'a Summary,
    state: RunState,
    cost: String,
    started: String,
    updated: String,
    is_driven: bool,
}

/// One moment: appended as it comes.
#[derive(Template)]
#[template(path = "moment.html")]
struct MomentPart<'a> {
    moment: &'a Moment,
    class: &'static str,
    clock: String,
}

/// Parts of a run's page that change while it is followed.
pub(in crate::dashboard) struct RunHead {
    /// The run's status, as a part of the page.
    pub(in crate::dashboard) status: String,
    /// The run's cost and the detectors that fired, as a part of the page.
    pub(in crate::dashboard) counted: String,
    /// The run's questions.
    pub(in crate::dashboard) questions: Vec<Row>,
    /// True if the run is over.
    pub(in crate::dashboard) is_over: bool,
}

pub(in crate::dashboard) async fn page(
    State(hall): State<Arc<Hall>>,
    Path(name): Path<String>,
    Query(window): Query<MomentWindow>,
) -> Result<Html<String>, RequestFault> {
    aside(move || match hall.look.named(&name)? {
        Found::Run(run_id) => render(&run(&hall, &run_id, &window)?),
        Found::Peer(name) => render(&super::peer::page(&hall, &name, &window)?),
    })
    .await
}

fn run(hall: &Hall, run_id: &RunId, window: &MomentWindow) -> Result<RunPage, RequestFault> {
    let lines = hall.look.journal(run_id)?;
    let trace = lines.trace();
    let head = head(hall, run_id, &lines, &trace)?;
    let moments = Moments::of(&trace, window)?;
    Ok(RunPage {
        shell: PageShell::around(hall, "runs"),
        run_id: run_id.to_string(),
        status: head.status,
        is_over: head.is_over,
        questions: head.questions.iter().map(|row| question(&hall.base, row)).collect::<Result<_, RequestFault>>()?,
        follow_after: (!moments.has_newer && !head.is_over).then_some(moments.last),
        moments,
        counted: head.counted,
    })
}

impl Moments {
    /// Those of a trace that are asked for.
    pub(super) fn of(trace: &Trace<'_>, window: &MomentWindow) -> Result<Self, RequestFault> {
        let total = trace.lines.len();
        // Places grow from line to line, but for damage.
        let number = |text: &str| text.parse::<u64>().ok();
        let (begin, end) = match (number(&window.before), number(&window.after)) {
            (Some(before), _) => {
                let end = trace.lines.partition_point(|line| place(line) < before);
                (end.saturating_sub(MOMENTS_PER_PAGE), end)
            }
            (None, Some(after)) => {
                let begin = trace.lines.partition_point(|line| place(line) <= after);
                (begin, (begin + MOMENTS_PER_PAGE).min(total))
            }
            (None, None) => (total.saturating_sub(MOMENTS_PER_PAGE), total),
        };
        let mut timeline = Timeline::default();
        trace.lines[..begin].iter().for_each(|line| timeline.pass(line));
        let shown = trace.lines[begin..end].iter().map(|line| moment(&timeline.take(line)));
        let shown = shown.collect::<Result<Vec<String>, RequestFault>>()?;
        let at = |index: Option<usize>| index.and_then(|index| trace.lines.get(index)).map_or(0, place);
        Ok(Self {
            shown,
            has_older: begin > 0,
            has_newer: end < total,
            first: at(Some(begin)),
            last: at(end.checked_sub(1)),
            total,
            details: window.details.is_some(),
        })
    }
}

/// Builds the parts of a run's page that change: its status, counts and questions.
pub(in crate::dashboard) fn head(
    hall: &Hall,
    run_id: &RunId,
    lines: &JournalLines,
    trace: &Trace<'_>,
) -> Result<RunHead, RequestFault> {
    let waiting = hall.look.waiting_of(run_id)?;
    let summary = summary::of(trace);
    let is_driven = say::is_driven(&hall.look.home, run_id);
    let questions: Vec<_> = waiting.all.runs.iter().flat_map(|run| &run.questions).collect();
    let unanswered = questions.iter().find(|(_, first)| first.is_none());
    let asked = match unanswered {
        Some((open, _)) => Asks::Waiting(open.question.kind),
        None if questions.is_empty() => Asks::Nothing,
        None => Asks::Answered,
    };
    let outcome = summary.outcome.as_deref().and_then(adjutant_core::words::Outcome::named);
    let wakes_at = summary.unfinished.iter().filter_map(|begun| begun.until.as_deref()?.parse().ok()).min();
    let wakes_at = wakes_at.filter(|until| *until > Timestamp::now());
    let state = RunState::of(outcome, asked, wakes_at, is_driven);
    let cost = hall.look.cost(trace).in_short();
    let at = |at: &Option<String>| at.as_deref().map_or_else(|| "-".to_owned(), clock);
    let (started, updated) = (at(&summary.started_at), at(&summary.updated_at));
    let breaks = if trace.is_ours() { lines.breaks() } else { 0 };
    let status = StatusPart { run_id, breaks, summary: &summary, state, cost, started, updated, is_driven };
    let status = status.render().map_err(|error| RequestFault::failed(format!("This page can't be made: {error}")))?;
    let counted = CountedPart::of(hall, trace)?;
    Ok(RunHead { status, counted, questions: waiting.rows, is_over: summary.outcome.is_some() })
}

/// One moment as a part of the page.
pub(in crate::dashboard) fn moment(moment: &Moment) -> Result<String, RequestFault> {
    let class = match moment.weight {
        Weight::Turning => "turning",
        Weight::Main => "main",
        Weight::Detail => "detail",
    };
    let clock = moment.at.as_deref().map(clock).unwrap_or_default();
    let part = MomentPart { moment, class, clock };
    part.render().map_err(|error| RequestFault::failed(format!("This page can't be made: {error}")))
}

/// One question as a part of the page.
pub(in crate::dashboard) fn question(base: &str, row: &Row) -> Result<String, RequestFault> {
    let part = QuestionPart::of(base, row, false);
    part.render().map_err(|error| RequestFault::failed(format!("This page can't be made: {error}")))
}
