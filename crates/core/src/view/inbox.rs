//! The inbox: what waits for an operator, over all runs. Text from agents is shown spelled out.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde::Serialize;

use super::list::{RunState, cut_chars};
use crate::inbox::OpenQuestion;
use crate::inbox::mailbox::{Closing, First};
use crate::inbox::open::{question_id, short_names};
use crate::inbox::reply::{self, Reply};
use crate::words::id::RunId;
use crate::words::text::cut;
use crate::words::visible::{visible_line, visible_text};
use crate::words::{Choice, Offer, PhaseName, QuestionKind};

/// State of a run that nobody drives and that the operator told to stop, in words.
pub const STOP_PENDING: &str = "stop asked for; takes effect with resume or a worker";

/// A line of a question in the list, in UTF-16 units: the whole of it is `show`'s.
const LINE_UNITS_MAX: usize = 200;

/// The most lines of a question in the list.
const LINES_MAX: usize = 3;

/// One open question.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// Its name among all questions of all runs.
    pub id: String,
    /// A short name, by which it is known until it is answered.
    pub short: String,
    /// Its run.
    pub run_id: String,
    /// The run's project.
    pub project: Option<String>,
    /// The part of the run that asks; empty for the run itself.
    pub part: String,
    /// The slot that its answer will name.
    pub slot: String,
    /// The phase it came up in.
    pub phase: Option<String>,
    /// The kind of question.
    pub kind: String,
    /// The categories that a yes would be for, as far as they are known.
    pub categories: BTreeSet<String>,
    /// Since when.
    pub asked_at: String,
    /// For how long, in seconds; 0 if the clock went back since.
    pub age_seconds: u64,
    /// The time at which it gets its default.
    pub deadline: Option<String>,
    /// True if that has passed.
    pub is_due: bool,
    /// The default, as it would be typed; absent where only an operator's own words will do.
    pub default: Option<String>,
    /// True if a process drives the run now.
    pub is_driven: bool,
    /// Warning that the question may not be the one that was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
    /// True if the operator told the run to stop and nobody drives it: the question goes with it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_stopping: bool,
    /// The words of an agent that the question is about, if it is about such.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub said: Option<String>,
    /// The whole question.
    pub text: String,
    /// Its first line.
    pub first_line: String,
    /// The choices, and the changes that each would make.
    pub options: Vec<Offer>,
    /// The answer that is given already, but is not in the journal yet.
    pub answered: Option<AnsweredRow>,
}

/// The first entry in the mailbox for a question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AnsweredRow {
    /// The answer, as it would be typed; or the reason why the question takes no answer.
    pub what: String,
    /// The sender; absent if it is no answer.
    pub by: Option<String>,
    /// Whence.
    pub whence: Option<String>,
    /// Time of the entry.
    pub at: String,
}

impl AnsweredRow {
    /// Returns the row of the first entry for a question with these options.
    #[must_use]
    pub fn of(first: &First, options: &[Offer]) -> Self {
        match first {
            First::Answer(answer) => Self {
                what: as_typed(answer.choice, answer.text.as_deref(), options),
                by: Some(answer.by.clone()),
                whence: Some(answer.whence.clone()),
                at: crate::words::moment::timestamp(answer.at),
            },
            First::Closed { why, at, .. } => Self {
                what: Closing::said(*why).to_owned(),
                by: None,
                whence: None,
                at: crate::words::moment::timestamp(*at),
            },
        }
    }

    /// On one line: what, by whom, whence, when.
    #[must_use]
    pub fn said(&self) -> String {
        let by = self.by.as_deref().map(|by| format!(" by {by}")).unwrap_or_default();
        let whence = self.whence.as_deref().map(|whence| format!(", {whence}")).unwrap_or_default();
        visible_line(&format!("`{}`{by}{whence}, at {}", self.what, self.at)).into_owned()
    }
}

/// The sources of a row.
#[derive(Debug, Clone, Copy)]
pub struct RowSource<'a> {
    /// The run.
    pub run_id: &'a RunId,
    /// Its project.
    pub project: Option<&'a str>,
    /// True if a process drives it.
    pub is_driven: bool,
    /// True if its journal was changed after it was written.
    pub is_changed: bool,
    /// The question.
    pub open: &'a OpenQuestion,
    /// The first entry in the mailbox for it.
    pub first: Option<&'a First>,
}

/// The rows of the inbox at `now`, the oldest question first.
#[must_use]
pub fn of(asked: &[RowSource<'_>], now: Timestamp) -> Vec<Row> {
    let mut rows: Vec<Row> = asked.iter().map(|asked| row(asked, now)).collect();
    rows.sort_by(|a, b| a.asked_at.cmp(&b.asked_at).then_with(|| a.id.cmp(&b.id)));
    let names = short_names(rows.iter().map(|row| row.id.as_str()));
    for (row, short) in rows.iter_mut().zip(names) {
        row.short = short;
    }
    rows
}

fn row(asked: &RowSource<'_>, now: Timestamp) -> Row {
    let RowSource { run_id, project, is_driven, is_changed, open, first } = *asked;
    let question = &open.question;
    Row {
        id: question_id(run_id, &open.key),
        short: String::new(),
        run_id: run_id.to_string(),
        project: project.map(str::to_owned),
        part: open.key.part.to_string(),
        slot: open.key.slot.to_string(),
        phase: open.phase.map(|phase| phase.as_str().to_owned()),
        kind: question.kind.as_str().to_owned(),
        categories: open.categories.clone(),
        asked_at: crate::words::moment::timestamp(open.at),
        age_seconds: u64::try_from(now.duration_since(open.at).as_secs()).unwrap_or(0),
        deadline: open.deadline().map(crate::words::moment::timestamp),
        is_due: open.is_due(now),
        default: default_word(question.kind, question.default, &question.options),
        is_driven,
        warning: is_changed.then(|| changed(run_id)),
        is_stopping: false,
        said: open.said.clone(),
        text: question.text.clone(),
        first_line: open.first_line().to_owned(),
        options: question.options.clone(),
        answered: first.map(|first| AnsweredRow::of(first, &question.options)),
    }
}

/// Returns the warning for an answer to a run whose journal does not fit together.
fn changed(run_id: &RunId) -> String {
    format!(
        "the journal of this run was changed after it was written, so that this may not be what was asked; `adjutant \
         trace verify {run_id}` says where"
    )
}

/// The default as it would be typed; `None` where it is the operator's own words.
fn default_word(kind: QuestionKind, default: Choice, options: &[Offer]) -> Option<String> {
    match kind {
        QuestionKind::Blocker | QuestionKind::Limit => None,
        QuestionKind::Confirmation
        | QuestionKind::Step
        | QuestionKind::Destructive
        | QuestionKind::Deadline
        | QuestionKind::Failure
        | QuestionKind::Permission
        | QuestionKind::Scope
        | QuestionKind::Escalation
        | QuestionKind::Disagreement
        | QuestionKind::Stuck => Some(as_typed(default, None, options)),
    }
}

/// A choice as it would be typed, with the text that goes with it.
#[must_use]
pub fn as_typed(choice: Choice, text: Option<&str>, options: &[Offer]) -> String {
    let offered = options.iter().find(|offer| offer.choice == choice).map(|offer| offer.reply.as_str());
    let word = offered.map_or_else(|| choice.as_str().to_owned(), str::to_owned);
    match text {
        Some(text) if word.starts_with('<') => text.to_owned(),
        Some(text) => format!("{word}: {text}"),
        None => word,
    }
}

/// The reply that means `choice` with what was written beside it; `None` if the choice isn't among `options`, or the
/// words don't go with it. Free text that is a word for another choice doesn't: it would be typed for that one.
#[must_use]
pub fn reply_for(kind: QuestionKind, choice: Choice, text: Option<&str>, options: &[Offer]) -> Option<Reply> {
    let text = text.map(str::trim).filter(|text| !text.is_empty());
    let is_free_text = options.iter().find(|offer| offer.choice == choice)?.reply.starts_with('<');
    let fits = match text {
        None => !is_free_text,
        Some(text) if is_free_text => reply::read(kind, text).is_some_and(|read| read.choice == choice),
        Some(_) => reply::takes_words(choice),
    };
    (fits && reply::may_mean(kind, choice, text)).then(|| Reply { choice, text: text.map(str::to_owned) })
}

/// Questions that may be answered together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Group {
    /// Their kind.
    pub kind: String,
    /// The one category that each of them is for; absent for all of the kind.
    pub category: Option<String>,
    /// Their number.
    pub count: usize,
}

/// Returns the groups of two or more open questions among `rows`: of a kind, and of a kind about one category and
/// nothing else. A question that has an answer is in no group.
#[must_use]
pub fn groups(rows: &[Row]) -> Vec<Group> {
    let mut counts: BTreeMap<(&str, Option<&str>), usize> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.answered.is_none()) {
        *counts.entry((&row.kind, None)).or_default() += 1;
        if let (Some(category), 1) = (row.categories.first(), row.categories.len()) {
            *counts.entry((&row.kind, Some(category))).or_default() += 1;
        }
    }
    let several = counts.into_iter().filter(|(_, count)| *count > 1);
    let group = |((kind, category), count): ((&str, Option<&str>), usize)| Group {
        kind: kind.to_owned(),
        category: category.map(str::to_owned),
        count,
    };
    several.map(group).collect()
}

/// Returns the replies that fit all of `rows`, with the changes that each would make where those are the same.
#[must_use]
pub fn common_offers(rows: &[&Row]) -> Vec<Offer> {
    let Some((first, rest)) = rows.split_first() else { return Vec::new() };
    let same = |offer: &&Offer, other: &Offer| other.choice == offer.choice && other.reply == offer.reply;
    let in_all = |offer: &&Offer| rest.iter().all(|row| row.options.iter().any(|other| same(offer, other)));
    let changes = |offer: &Offer| {
        let is_alike = rest.iter().all(|row| row.options.iter().any(|other| other == offer));
        if is_alike { offer.changes.clone() } else { "as each of them says".to_owned() }
    };
    let all = first.options.iter().filter(in_all);
    all.map(|offer| Offer::new(offer.choice, &offer.reply, &changes(offer))).collect()
}

/// The list of `rows`, for lines of `width` characters, or of any length: for each what it is for, where and for how
/// long, and below that the beginning of the question, which has the act and the reason.
#[must_use]
pub fn list_text(rows: &[Row], width: Option<usize>) -> String {
    if rows.is_empty() {
        return "nothing waits for you\n".to_owned();
    }
    let indent = rows.iter().map(|row| row.short.len()).max().unwrap_or(0) + 2;
    let room = width.map(|width| width.saturating_sub(indent));
    let mut text = String::new();
    for row in rows {
        let lines = match &row.answered {
            None => beginning(row),
            Some(answered) => vec![format!("answered: {}", answered.said())],
        };
        let place = if row.part.is_empty() { row.run_id.clone() } else { format!("{} ({})", row.run_id, row.part) };
        let due = match (&row.deadline, &row.default) {
            (Some(_), Some(default)) => format!(", `{default}` at {}", deadline(row)),
            (Some(_), None) | (None, _) => String::new(),
        };
        let below = std::iter::once(format!("{place}, {} ago{due}", age(row.age_seconds))).chain(lines);
        push_fitted(&mut text, &format!("{:indent$}{}", row.short, lead(row)), width);
        for line in below {
            let line = visible_line(&line).into_owned();
            let line = room.map_or(line.clone(), |room| cut_chars(&line, room));
            text.push_str(&format!("{:indent$}{line}\n", ""));
        }
    }
    text
}

fn push_fitted(text: &mut String, line: &str, width: Option<usize>) {
    let line = visible_line(line).into_owned();
    text.push_str(&width.map_or(line.clone(), |width| cut_chars(&line, width)));
    text.push('\n');
}

/// Describes the thing that an operator is wanted for, with the acts of an approval.
fn lead(row: &Row) -> String {
    if row.is_stopping {
        return STOP_PENDING.to_owned();
    }
    match QuestionKind::named(&row.kind) {
        Some(kind) => RunState::Waits(kind).in_words(&row.categories),
        None => row.kind.clone(),
    }
}

/// The first lines of the question that say something.
fn beginning(row: &Row) -> Vec<String> {
    let lines = row.text.lines().map(str::trim_end).filter(|line| !line.trim().is_empty());
    lines.take(LINES_MAX).map(|line| cut(line, LINE_UNITS_MAX)).collect()
}

/// Returns one row on one line, for `inbox watch`.
#[must_use]
pub fn line_text(row: &Row) -> String {
    let cells = [row.short.as_str(), &lead(row), &row.run_id, &cut(&row.first_line, LINE_UNITS_MAX)];
    visible_line(&cells.join("  ")).into_owned() + "\n"
}

/// A question in whole, with what each answer would change.
#[must_use]
pub fn show_text(row: &Row) -> String {
    let mut text = String::new();
    let categories: Vec<&str> = row.categories.iter().map(String::as_str).collect();
    let since = format!("{} ({} ago)", row.asked_at, age(row.age_seconds));
    let default = row.default.clone().unwrap_or_else(|| "none: it waits for your words".to_owned());
    for (what, value) in [
        ("wanted", lead(row)),
        ("id", format!("{} ({})", row.id, row.short)),
        ("project", row.project.clone().unwrap_or_default()),
        ("doing", doing(row)),
        ("kind", row.kind.clone()),
        ("for", categories.join(", ")),
        ("asked", since),
        ("default", default),
        ("deadline", deadline(row)),
    ] {
        if !value.is_empty() && value != "-" {
            text.push_str(&format!("{what:9}{}\n", visible_line(&value)));
        }
    }
    if let Some(warning) = &row.warning {
        text.push_str(&format!("\nwarning: {warning}\n"));
    }
    if let Some(said) = &row.said {
        text.push_str(&format!("\n{}\n", visible_text(said.trim_end())));
    }
    text.push_str(&format!("\n{}\n", visible_text(&row.text)));
    let width = row.options.iter().map(|offer| offer.reply.chars().count()).max().unwrap_or(0);
    for offer in &row.options {
        let reply = visible_line(&offer.reply);
        text.push_str(&format!("    {reply:width$}  {}\n", visible_line(&offer.changes)));
    }
    if let Some(answered) = &row.answered {
        text.push_str(&format!("\nanswered: {}\n", answered.said()));
    }
    text
}

/// Returns the phase and the part of the run in which it came up.
#[must_use]
pub fn doing(row: &Row) -> String {
    let phase = row.phase.as_deref().map_or("-", PhaseName::said_of);
    if row.part.is_empty() { phase.to_owned() } else { format!("{phase}, {}", row.part) }
}

/// Returns the time at which it gets its default, and a word if that has passed; a dash if never.
#[must_use]
pub fn deadline(row: &Row) -> String {
    match &row.deadline {
        None => "-".to_owned(),
        Some(deadline) if row.is_due => format!("{deadline}, passed"),
        Some(deadline) => deadline.clone(),
    }
}

/// A length of time in its largest whole unit.
#[must_use]
pub fn age(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min", seconds / 60),
        3_600..172_800 => format!("{} h", seconds / 3_600),
        _ => format!("{} d", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inbox::mailbox::Answer;
    use crate::words::{Key, Part, Question, Slot, What};

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + second).expect("a time")
    }

    fn open(number: u32, second: i64, text: &str, deadline_ms: Option<u64>) -> OpenQuestion {
        let options = vec![Offer::new(Choice::Once, "y", "yes\u{1b}[2J"), Offer::new(Choice::Deny, "n", "no")];
        OpenQuestion {
            key: Key { part: Part::root().child("session"), slot: Slot::first(What::Ask, number) },
            at: at(second),
            question: Question {
                kind: QuestionKind::Destructive,
                text: text.to_owned(),
                options,
                default: Choice::Deny,
                deadline_ms,
                acts: 0,
            },
            phase: Some(PhaseName::Destructive),
            categories: BTreeSet::from(["filesystem_delete".to_owned()]),
            said: None,
        }
    }

    #[test]
    fn the_oldest_comes_first_and_nothing_drives_the_terminal() {
        let run_id: RunId = "a-r2".parse().expect("a name");
        let questions =
            [open(2, 50, "late\u{1b}]0;x\u{7}", None), open(1, 0, "\u{202e}early\nrm -r build", Some(60_000))];
        let first = First::Answer(Answer {
            key: questions[0].key.clone(),
            kind: QuestionKind::Destructive,
            choice: Choice::Deny,
            text: Some("no\u{9b}m".into()),
            by: "operator".into(),
            whence: "inbox".into(),
            at: at(70),
            id: "1".into(),
        });
        let asked: Vec<RowSource<'_>> = questions
            .iter()
            .map(|open| RowSource {
                is_changed: false,
                run_id: &run_id,
                project: Some("orchard"),
                is_driven: false,
                open,
                first: Some(&first).filter(|_| open.key.slot.number == 2),
            })
            .collect();
        let rows = of(&asked, at(61));
        assert_eq!(rows.iter().map(|row| row.slot.as_str()).collect::<Vec<_>>(), ["ask/1.1", "ask/2.1"]);
        assert_eq!((rows[0].is_due, rows[0].default.as_deref(), rows[0].age_seconds), (true, Some("n"), 61));
        let shown =
            [list_text(&rows, Some(80)), show_text(&rows[0]), show_text(&rows[1]), line_text(&rows[1])].concat();
        assert!(shown.chars().all(|c| c == '\n' || !c.is_control()), "{shown}");
        assert!(!shown.contains('\u{202e}'), "{shown}");
        insta::assert_snapshot!(shown);
        // A clock that went back makes nothing due and no age wrong.
        let rows = of(&asked, at(-100));
        assert_eq!((rows[0].is_due, rows[0].age_seconds), (false, 0));
    }

    fn offers(replies: &[(Choice, &str)]) -> Vec<Offer> {
        replies.iter().map(|(choice, reply)| Offer::new(*choice, reply, "x")).collect()
    }

    #[test]
    fn words_beside_a_choice_must_go_with_it() {
        use QuestionKind::{Blocker, Confirmation, Destructive, Escalation, Limit, Permission, Step};
        #[track_caller]
        fn check(kind: QuestionKind, choice: Choice, reply: &str, text: Option<&str>, typed: Option<&str>) {
            let found = reply_for(kind, choice, text, &offers(&[(choice, reply)]));
            assert_eq!(found.is_some(), typed.is_some(), "{kind:?} {choice:?} {text:?}");
            // Whoever types it means the same.
            assert_eq!(found, typed.and_then(|typed| reply::read(kind, typed)), "{kind:?} {choice:?} {text:?}");
        }
        check(Destructive, Choice::Once, "y", None, Some("y"));
        check(Destructive, Choice::ForRun, "category", Some("  "), Some("category"));
        check(Destructive, Choice::Again, "again", None, Some("again"));
        check(Destructive, Choice::Chosen, "<1,3>", Some("1, 3; no 2: why"), Some("1,3; 2: why"));
        check(Destructive, Choice::Chosen, "<1,3>", Some("all"), None);
        check(Destructive, Choice::Deny, "n", Some("keep it"), Some("n: keep it"));
        // A yes with conditions is none.
        check(Destructive, Choice::Once, "y", Some("but slowly"), None);
        check(Permission, Choice::Persistent, "p", Some("2026-05-01"), Some("p 2026-05-01"));
        check(Permission, Choice::Persistent, "p", Some("for ever"), None);
        check(Confirmation, Choice::Accept, "go", Some("and hurry"), None);
        check(Confirmation, Choice::Correct, "<anything else>", Some("two files"), Some("two files"));
        check(Confirmation, Choice::Correct, "<anything else>", Some("go"), None);
        check(Confirmation, Choice::Correct, "<anything else>", None, None);
        check(Step, Choice::Say, "<anything else>", Some("stop"), None);
        check(Blocker, Choice::Context, "<your answer>", Some("port 80"), Some("port 80"));
        check(Limit, Choice::Extend, "<a number>", Some("5"), Some("5"));
        check(Limit, Choice::Extend, "<a number>", Some("many"), None);
        check(Escalation, Choice::Retry, "retry", Some("with tests"), Some("retry: with tests"));
        check(Escalation, Choice::Retry, "retry", None, Some("retry"));
        check(Confirmation, Choice::Once, "y", None, None);
        assert_eq!(reply_for(Destructive, Choice::ForRun, None, &offers(&[(Choice::Once, "y")])), None, "not offered");
    }

    #[test]
    fn what_is_answered_together_is_of_one_kind_and_about_one_thing() {
        let run_id: RunId = "a".parse().expect("a name");
        let mut questions: Vec<OpenQuestion> = (1..=5).map(|number| open(number, 0, "?", None)).collect();
        questions[3].categories = BTreeSet::from(["git_push".to_owned()]);
        questions[4].categories.insert("git_push".to_owned());
        let asked = questions
            .iter()
            .map(|open| RowSource {
                run_id: &run_id,
                project: None,
                is_driven: false,
                is_changed: false,
                open,
                first: None,
            })
            .collect::<Vec<_>>();
        let mut rows = of(&asked, at(1));
        let found =
            |rows: &[Row]| groups(rows).into_iter().map(|group| (group.category, group.count)).collect::<Vec<_>>();
        assert_eq!(found(&rows), [(None, 5), (Some("filesystem_delete".to_owned()), 3)]);
        rows[0].options.remove(0);
        rows[1].options[1].changes = "no, and more".to_owned();
        let common = common_offers(&rows.iter().collect::<Vec<_>>());
        assert_eq!(common.iter().map(|offer| offer.reply.as_str()).collect::<Vec<_>>(), ["n"]);
        assert_eq!(common[0].changes, "as each of them says");
        rows[0].answered = Some(AnsweredRow { what: "n".into(), by: None, whence: None, at: String::new() });
        assert_eq!(found(&rows)[0].1, 4);
        assert!(common_offers(&[]).is_empty() && groups(&rows[..1]).is_empty());
    }
}
