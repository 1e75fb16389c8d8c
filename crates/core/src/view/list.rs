//! All runs, newest first.

use std::cmp::Reverse;

use jiff::Timestamp;
use serde::Serialize;

use super::columns::push_row;
use super::peer_session::PeerSession;
use super::summary::Summary;
use crate::words::text::{head, units};
use crate::words::visible::visible_line;
use crate::words::{Outcome, QuestionKind};

/// The widths of the columns (the peer's numbers); a project is cut to its column.
const WIDTHS: [usize; 4] = [28, 20, 12, 11];

/// The state of a run, as a list has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunState {
    /// A process drives it.
    Running,
    /// No process drives it, and the operator is asked something.
    Waits(QuestionKind),
    /// No process drives it, and it waits for a provider until this time.
    Sleeps(Timestamp),
    /// No process drives it, and it has not ended.
    Unfinished,
    /// It has ended.
    Ended(Outcome),
}

impl RunState {
    /// Returns the state of a run with this outcome and open question, that waits for a provider until `wakes_at` and
    /// is driven or not.
    #[must_use]
    pub fn of(
        outcome: Option<Outcome>,
        waiting: Option<QuestionKind>,
        wakes_at: Option<Timestamp>,
        is_driven: bool,
    ) -> Self {
        match (outcome, is_driven, waiting, wakes_at) {
            (Some(outcome), ..) => Self::Ended(outcome),
            (None, true, ..) => Self::Running,
            (None, false, Some(kind), _) => Self::Waits(kind),
            (None, false, None, Some(until)) => Self::Sleeps(until),
            (None, false, None, None) => Self::Unfinished,
        }
    }

    /// Its word, by which runs may be looked for.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Waits(_) => "waits",
            Self::Sleeps(_) => "sleeps",
            Self::Unfinished => "unfinished",
            Self::Ended(outcome) => outcome.as_str(),
        }
    }

    /// All words, in the order in which they ask for attention.
    pub const WORDS: [&'static str; 8] =
        ["waits", "running", "sleeps", "unfinished", "failed", "stopped", "declined", "completed"];

    /// In words, with what it waits for.
    #[must_use]
    pub fn said(self) -> String {
        match self {
            Self::Waits(kind) => format!("waits: {}", kind.as_str()),
            Self::Sleeps(until) => format!("sleeps until {}", crate::words::moment::timestamp(until)),
            Self::Running | Self::Unfinished | Self::Ended(_) => self.word().to_owned(),
        }
    }
}

/// One run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ListRow {
    /// Its name; for a run of the peer, its brief's id.
    pub run_id: String,
    /// Its brief's project.
    pub project: Option<String>,
    /// The phase it is in.
    pub phase: Option<String>,
    /// The last time that it was heard of, as it was written.
    pub updated_at: Option<String>,
    /// The question that it waits for, or its outcome; absent for a run of the peer.
    pub state: Option<String>,
}

impl From<&PeerSession> for ListRow {
    fn from(session: &PeerSession) -> Self {
        Self {
            run_id: session.brief_id.clone(),
            project: session.project.clone(),
            phase: session.phase.clone(),
            updated_at: session.updated_at.clone(),
            state: None,
        }
    }
}

impl From<&Summary> for ListRow {
    fn from(summary: &Summary) -> Self {
        let waits = summary.waiting.first().map(|question| format!("waits: {}", question.kind));
        Self {
            run_id: summary.run_id.clone().or_else(|| summary.brief_id.clone()).unwrap_or_default(),
            project: summary.project.clone(),
            phase: summary.phase.as_ref().map(|phase| phase.name.clone()),
            updated_at: summary.updated_at.clone(),
            state: Some(summary.outcome.clone().or(waits).unwrap_or_else(|| "open".to_owned())),
        }
    }
}

/// `rows` with the newest first. A run of unknown time comes last, two of one time in the order of their
/// names.
#[must_use]
pub fn of(mut rows: Vec<ListRow>) -> Vec<ListRow> {
    let time = |row: &ListRow| row.updated_at.as_deref().and_then(|at| at.parse::<Timestamp>().ok());
    rows.sort_by_cached_key(|row| (Reverse(time(row)), row.run_id.clone()));
    rows
}

/// Its text: one line if there are no runs.
#[must_use]
pub fn text(rows: &[ListRow]) -> String {
    if rows.is_empty() {
        return "no sessions yet\n".to_owned();
    }
    let mut text = String::new();
    let [id, project, phase, updated] = WIDTHS;
    let dashes = WIDTHS.map(|width| "-".repeat(width));
    let names = ["brief_id", "project", "phase", "updated_at"];
    if rows.iter().all(|row| row.state.is_none()) {
        push_row(&mut text, &names, &WIDTHS);
        push_row(&mut text, &dashes, &WIDTHS);
    } else {
        let updated = rows.iter().map(|row| units(row.updated_at.as_deref().unwrap_or("-"))).fold(updated, usize::max);
        let widths = [id, project, phase, updated, 0];
        let [id, project, phase, updated] = names;
        push_row(&mut text, &[id, project, phase, updated, "state"], &widths);
        let [id, project, phase, updated] = dashes;
        push_row(&mut text, &[id, project, phase, updated, "-".repeat(5)], &widths);
    }
    // Times of all rows have one length, but for damage; the state follows them at one place.
    for row in rows {
        let cell = |text: &Option<String>| visible_line(text.as_deref().unwrap_or("-")).into_owned();
        let cells = [
            visible_line(&row.run_id).into_owned(),
            head(&cell(&row.project), project).to_owned(),
            cell(&row.phase),
            cell(&row.updated_at),
            row.state.as_deref().map(|state| visible_line(state).into_owned()).unwrap_or_default(),
        ];
        push_row(&mut text, &cells, &[id, project, phase, updated, 0]);
    }
    text
}
