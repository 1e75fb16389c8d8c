//! All runs, newest first.
//!
//! Begin with [`of`]; `table` sets the rows for people, `peer_text` those of the peer alone as the peer does.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use jiff::Timestamp;
use serde::Serialize;

use super::columns::push_row;
use super::inbox::age;
use super::peer_session::PeerSession;
use super::summary::Summary;
use crate::words::category;
use crate::words::text::head;
use crate::words::visible::visible_line;
use crate::words::{Outcome, QuestionKind};

/// The widths of the columns over the peer's sessions (the peer's numbers); a project is cut to its column.
const WIDTHS: [usize; 4] = [28, 20, 12, 11];

/// The fewest characters of a title that is worth a column; with less room it gets a line of its own.
const TITLE_CHARS_MIN: usize = 20;

/// The width of the column of ages, the longest of which is `999 min`.
const AGE_CHARS: usize = 7;

/// The questions of a run, as far as they tell where it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Asks {
    /// None is open.
    #[default]
    Nothing,
    /// One waits for its answer.
    Waiting(QuestionKind),
    /// All that are open are answered already, and the run has not taken the answers up.
    Answered,
}

/// The state of a run, as a list has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunState {
    /// The operator is asked something, at the run's terminal or elsewhere.
    Waits(QuestionKind),
    /// No process drives it, and what it asked is answered.
    Answered,
    /// A process drives it.
    Running,
    /// No process drives it, and it waits for a provider until this time.
    Sleeps(Timestamp),
    /// No process drives it, and it has not ended.
    Unfinished,
    /// It has ended.
    Ended(Outcome),
}

impl RunState {
    /// Returns the state of a run with this outcome and these questions, that waits for a provider until `wakes_at` and
    /// is driven or not.
    #[must_use]
    pub fn of(outcome: Option<Outcome>, asks: Asks, wakes_at: Option<Timestamp>, is_driven: bool) -> Self {
        match (outcome, asks, is_driven, wakes_at) {
            (Some(outcome), ..) => Self::Ended(outcome),
            (None, Asks::Waiting(kind), ..) => Self::Waits(kind),
            (None, Asks::Nothing | Asks::Answered, true, _) => Self::Running,
            (None, Asks::Answered, false, _) => Self::Answered,
            (None, Asks::Nothing, false, Some(until)) => Self::Sleeps(until),
            (None, Asks::Nothing, false, None) => Self::Unfinished,
        }
    }

    /// Its word, by which runs may be looked for.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Waits(_) => "waits",
            Self::Answered => "answered",
            Self::Running => "running",
            Self::Sleeps(_) => "sleeps",
            Self::Unfinished => "unfinished",
            Self::Ended(outcome) => outcome.as_str(),
        }
    }

    /// All words, in the order in which they ask for attention.
    pub const WORDS: [&'static str; 9] =
        ["waits", "answered", "running", "sleeps", "unfinished", "failed", "stopped", "declined", "completed"];

    /// Its word, with what it waits for: what programs read.
    #[must_use]
    pub fn said(self) -> String {
        match self {
            Self::Waits(kind) => format!("waits: {}", kind.as_str()),
            Self::Sleeps(until) => format!("sleeps until {}", crate::words::moment::timestamp(until)),
            Self::Answered | Self::Running | Self::Unfinished | Self::Ended(_) => self.word().to_owned(),
        }
    }

    /// What it says to an operator: what is wanted of them first. `categories` are those that a yes would be for.
    #[must_use]
    pub fn in_words(self, categories: &BTreeSet<String>) -> String {
        match self {
            Self::Waits(kind) => {
                let acts: Vec<String> = categories.iter().map(|name| category::in_short(name)).collect();
                match (wanted(kind), acts.as_slice()) {
                    (wanted, []) => wanted.to_owned(),
                    (wanted, acts) if is_approval(kind) => format!("{wanted}: {}", acts.join(", ")),
                    (wanted, _) => wanted.to_owned(),
                }
            }
            Self::Answered => "answered, goes on with: resume or a worker".to_owned(),
            Self::Running | Self::Sleeps(_) | Self::Unfinished | Self::Ended(_) => self.said(),
        }
    }
}

/// Returns true if a yes to the question allows acts.
const fn is_approval(kind: QuestionKind) -> bool {
    matches!(kind, QuestionKind::Destructive | QuestionKind::Permission)
}

/// Describes the thing that an operator is wanted for by a question of this kind.
#[must_use]
pub const fn wanted(kind: QuestionKind) -> &'static str {
    match kind {
        QuestionKind::Confirmation => "needs a yes to its summary",
        QuestionKind::Step => "waits before its next step",
        QuestionKind::Destructive | QuestionKind::Permission => "needs approval",
        QuestionKind::Blocker => "blocked: needs to know something",
        QuestionKind::Limit => "at its limit: more?",
        QuestionKind::Deadline => "past its deadline: go on?",
        QuestionKind::Failure => "its model failed: try again?",
        QuestionKind::Scope => "changed what is out of scope: accept?",
        QuestionKind::Escalation => "its crew is stuck: decide",
        QuestionKind::Disagreement => "its judges disagree: decide",
        QuestionKind::Stuck => "gets nowhere: needs a hint",
    }
}

/// One run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ListRow {
    /// Its name; for a run of the peer, its brief's id.
    pub run_id: String,
    /// Its brief's project.
    pub project: Option<String>,
    /// The first line of its brief's objective.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The name that means it and no other run of its brief, if its own does not: `ID-r1` once there is `ID-r2`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub called: Option<String>,
    /// The phase it is in.
    pub phase: Option<String>,
    /// The last time that it was heard of, as it was written.
    pub updated_at: Option<String>,
    /// The question that it waits for, or its outcome; absent for a run of the peer.
    pub state: Option<String>,
    /// The same in an operator's words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub says: Option<String>,
    /// Its cost so far: dollars, or tokens where no price is known; absent if nothing was counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<String>,
}

impl From<&PeerSession> for ListRow {
    fn from(session: &PeerSession) -> Self {
        Self {
            run_id: session.brief_id.clone(),
            project: session.project.clone(),
            phase: session.phase.clone(),
            updated_at: session.updated_at.clone(),
            ..Self::default()
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
            ..Self::default()
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

/// Its text at `now`, for lines of `width` characters; of any length if that is `None`. Sessions of the peer alone are
/// set as the peer does.
#[must_use]
pub fn text(rows: &[ListRow], width: Option<usize>, now: Timestamp) -> String {
    match rows {
        [] => "no runs yet\n".to_owned(),
        rows if rows.iter().all(|row| row.state.is_none()) => peer_text(rows),
        rows => table(rows, width, now),
    }
}

/// The text of sessions of the peer, as the peer has it.
fn peer_text(rows: &[ListRow]) -> String {
    let mut text = String::new();
    push_row(&mut text, &["brief_id", "project", "phase", "updated_at"], &WIDTHS);
    push_row(&mut text, &WIDTHS.map(|width| "-".repeat(width)), &WIDTHS);
    for row in rows {
        let cell = |text: &Option<String>| visible_line(text.as_deref().unwrap_or("-")).into_owned();
        let project = head(&cell(&row.project), WIDTHS[1]).to_owned();
        let cells = [visible_line(&row.run_id).into_owned(), project, cell(&row.phase), cell(&row.updated_at)];
        push_row(&mut text, &cells, &WIDTHS);
    }
    text
}

/// Gives the first run of a brief that has others the name that means it: its own means the latest. `names` are those of
/// all runs, also of those that are not among the rows.
pub fn tell_apart<'n>(rows: &mut [ListRow], names: impl Iterator<Item = &'n str>) {
    let first = |name: &'n str| {
        let (first, number) = name.rsplit_once("-r")?;
        (!number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())).then_some(first)
    };
    let with_others: BTreeSet<&str> = names.filter_map(first).collect();
    for row in rows.iter_mut().filter(|row| with_others.contains(row.run_id.as_str())) {
        row.called = Some(format!("{}-r1", row.run_id));
    }
}

/// A line for each run: its name, age, cost and state, and its title behind them. Where one state leaves no room for a
/// title, all titles stand below.
fn table(rows: &[ListRow], width: Option<usize>, now: Timestamp) -> String {
    let cells: Vec<[String; 5]> = rows.iter().map(|row| cells(row, now)).collect();
    let names = ["run", "age", "cost", "state", "title"];
    let widest = |column: usize| cells.iter().map(|cells| chars(&cells[column])).fold(chars(names[column]), usize::max);
    let (id, cost, state) = (widest(0), widest(2), widest(3));
    let before_state = id + 2 + AGE_CHARS + 2 + cost + 2;
    let left = width.map(|width| width.saturating_sub(before_state));
    let is_beside = left.is_none_or(|left| state + 2 + TITLE_CHARS_MIN <= left);
    let fit = |text: &str, room: Option<usize>| room.map_or_else(|| text.to_owned(), |room| cut_chars(text, room));
    let mut text = String::new();
    let mut line = |[run, age, spent, said, title]: [&str; 5]| {
        let begin = format!("{run:id$}  {age:AGE_CHARS$}  {spent:cost$}  ");
        let said = fit(said, left);
        let room = left.map(|left| left.saturating_sub(state + 2));
        let whole = match (is_beside, title) {
            (_, "") => format!("{begin}{said}"),
            (true, title) => format!("{begin}{said:state$}  {}", fit(title, room)),
            (false, title) => {
                format!("{begin}{said}\n  {}", fit(title, width.map(|width| width.saturating_sub(2))))
            }
        };
        whole.lines().for_each(|line| text.push_str(&format!("{}\n", line.trim_end())));
    };
    let [run, age, spent, said, title] = names;
    line([run, age, spent, said, if is_beside { title } else { "" }]);
    for cells in &cells {
        line(cells.each_ref().map(String::as_str));
    }
    text
}

fn cells(row: &ListRow, now: Timestamp) -> [String; 5] {
    let shown = |text: &Option<String>, absent: &str| visible_line(text.as_deref().unwrap_or(absent)).into_owned();
    let at = row.updated_at.as_deref().and_then(|at| at.parse::<Timestamp>().ok());
    let since = at.map(|at| u64::try_from(now.duration_since(at).as_secs()).unwrap_or(0));
    let said = if row.says.is_some() { &row.says } else { &row.state };
    [
        visible_line(row.called.as_ref().unwrap_or(&row.run_id)).into_owned(),
        since.map_or_else(|| "-".to_owned(), age),
        shown(&row.cost, "-"),
        shown(said, "-"),
        shown(&row.title, ""),
    ]
}

fn chars(text: &str) -> usize {
    text.chars().count()
}

/// `text` in at most `room` characters, with an ellipsis where something was cut.
pub(super) fn cut_chars(text: &str, room: usize) -> String {
    if chars(text) <= room {
        return text.to_owned();
    }
    let kept: String = text.chars().take(room.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + second).expect("a time")
    }

    fn row(run_id: &str, says: &str, title: &str) -> ListRow {
        ListRow {
            run_id: run_id.to_owned(),
            title: Some(title.to_owned()),
            updated_at: Some(at(0).to_string()),
            state: Some("waits: destructive".to_owned()),
            says: Some(says.to_owned()),
            cost: Some("$0.42".to_owned()),
            ..ListRow::default()
        }
    }

    #[test]
    fn the_first_of_several_runs_is_listed_by_the_name_that_means_it() {
        let names = ["2026-01-15-ONE", "2026-01-15-ONE-r2", "2026-01-15-TWO", "a-r", "b-r2x", "b"];
        let mut rows: Vec<ListRow> = names.iter().map(|name| row(name, "", "")).collect();
        tell_apart(&mut rows, names.into_iter());
        let called: Vec<_> = rows.iter().filter_map(|row| row.called.as_deref()).collect();
        assert_eq!(called, ["2026-01-15-ONE-r1"]);
        assert!(text(&rows, None, at(0)).contains("2026-01-15-ONE-r1 "));
    }

    #[test]
    fn a_run_waits_only_for_what_is_not_answered_and_also_at_its_own_terminal() {
        use QuestionKind::Destructive;
        let until = at(9);
        for (outcome, asks, wakes_at, is_driven, expected) in [
            (None, Asks::Waiting(Destructive), None, false, RunState::Waits(Destructive)),
            (None, Asks::Waiting(Destructive), None, true, RunState::Waits(Destructive)),
            (None, Asks::Answered, None, true, RunState::Running),
            (None, Asks::Answered, Some(until), false, RunState::Answered),
            (None, Asks::Nothing, Some(until), false, RunState::Sleeps(until)),
            (None, Asks::Nothing, None, true, RunState::Running),
            (None, Asks::Nothing, None, false, RunState::Unfinished),
            (Some(Outcome::Stopped), Asks::Waiting(Destructive), None, true, RunState::Ended(Outcome::Stopped)),
        ] {
            assert_eq!(RunState::of(outcome, asks, wakes_at, is_driven), expected, "{outcome:?} {asks:?} {is_driven}");
            assert!(RunState::WORDS.contains(&expected.word()), "{expected:?}");
        }
    }

    #[test]
    fn an_approval_names_the_acts_and_no_other_question_does() {
        let categories = BTreeSet::from(["filesystem_delete".to_owned(), "mcp_tool:x".to_owned()]);
        let words = |kind| RunState::Waits(kind).in_words(&categories);
        assert_eq!(words(QuestionKind::Destructive), "needs approval: delete files, mcp tool:x");
        assert_eq!(words(QuestionKind::Confirmation), "needs a yes to its summary");
        assert_eq!(RunState::Waits(QuestionKind::Permission).in_words(&BTreeSet::new()), "needs approval");
        // Whatever it waits for, its row fits a terminal of 80 beside a name, an age and a cost.
        assert!(QuestionKind::ALL.iter().all(|kind| wanted(*kind).len() <= 42));
    }

    #[test]
    fn a_list_fits_the_terminal_and_is_whole_where_there_is_none() {
        let long = "Repair the invoice so that ten pieces are charged as ten, and remove what is left over";
        let rows = [
            row("2026-01-15-FIRST-r2", "needs approval: delete files", long),
            row("2026-01-15-CREW", "answered, goes on with: resume or a worker", "é\u{1b}[2Jnd"),
            row("2026-01-15-DONE", "completed", long),
        ];
        for width in [40, 80, 120] {
            let text = text(&rows, Some(width), at(200));
            assert!(text.lines().all(|line| chars(line) <= width), "{text}");
            assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{text}");
        }
        insta::assert_snapshot!(text(&rows, Some(80), at(200)));
        let whole = text(&rows, None, at(200));
        assert_eq!(whole.lines().count(), 4, "{whole}");
        assert!(whole.contains(long), "{whole}");
    }
}
