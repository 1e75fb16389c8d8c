//! A run as one wants to see it first: what it is for, where it stands, what it waits for, what its agent said last,
//! what it changed, what it used, and what to type next.
//!
//! In: the lines of its trace, with what the shell knows besides: its state, its cost, its change. Begin with [`of`].

use serde::Serialize;

use super::cost::Cost;
use super::list::RunState;
use super::summary::Summary;
use crate::brief;
use crate::trace::EventKind;
use crate::trace::read::Trace;
use crate::words::text::cut;
use crate::words::visible::{visible_line, visible_text};

/// The most lines of the objective, of a question, and of the agent's last words.
const LINES_MAX: usize = 12;

/// The most rounds of a loop that are shown.
const ROUNDS_MAX: usize = 6;

/// The most files that are named.
const FILES_MAX: usize = 20;

/// A run at first sight.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunCard {
    /// Its name.
    pub run_id: String,
    /// The name that means it and no other run of its brief, if its own does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub called: Option<String>,
    /// Its brief's project.
    pub project: Option<String>,
    /// The objective of its brief.
    pub objective: String,
    /// Its state, as a program reads it.
    pub state: String,
    /// The same in an operator's words.
    pub says: String,
    /// The questions that wait, or are answered and not taken up.
    pub waits_for: Vec<String>,
    /// The last rounds of a loop, a line each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rounds: Vec<String>,
    /// The last words of an agent.
    pub last_words: Option<String>,
    /// The files that it changed; absent where that can't be told.
    pub files: Option<Vec<ChangedFile>>,
    /// Which part of the change can't be told, or why none of it can.
    pub not_shown: Vec<String>,
    /// Time of its first event.
    pub started_at: Option<String>,
    /// Time of its last event.
    pub updated_at: Option<String>,
    /// The seconds between the two.
    pub seconds: Option<u64>,
    /// Number of turns.
    pub turns: u64,
    /// The tokens that went in, those of a cache included.
    pub tokens_in: u64,
    /// The tokens that came out.
    pub tokens_out: u64,
    /// Its cost in dollars, or tokens where no price is known.
    pub cost: String,
    /// The folder that it works in.
    pub workdir: Option<String>,
    /// The folder that this is a copy of.
    pub copied_from: Option<String>,
    /// Commands to type next, each with what it does.
    pub next: Vec<(String, &'static str)>,
}

/// The way in which a file was changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    /// It was made.
    Added,
    /// It was deleted.
    Deleted,
    /// It is another.
    Changed,
}

/// A file that a run changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ChangedFile {
    /// Its path.
    pub path: String,
    /// The way in which it was changed.
    pub kind: ChangeKind,
    /// Number of lines that were added.
    pub added: u64,
    /// Number of lines that were removed.
    pub removed: u64,
    /// Reason why its lines are not counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hidden: Option<&'static str>,
}

/// Facts of a run that are not in its trace.
#[derive(Debug, Clone)]
pub struct Besides<'a> {
    /// The name by which it is meant and no other run of its brief.
    pub called: String,
    /// Where it stands.
    pub state: RunState,
    /// The same in an operator's words.
    pub says: String,
    /// Its cost.
    pub cost: &'a Cost,
    /// The files that it changed; `None` where that can't be told.
    pub files: Option<Vec<ChangedFile>>,
    /// Which part of the change can't be told.
    pub not_shown: Vec<String>,
    /// The folder that it works in now, and what that is a copy of.
    pub workdir: Option<(String, Option<String>)>,
}

/// The run that `trace` tells of, whose summary is `summary`.
#[must_use]
pub fn of(trace: &Trace<'_>, summary: &Summary, besides: Besides<'_>) -> RunCard {
    let Besides { called, state, says, cost, files, not_shown, workdir } = besides;
    let run_id = summary.run_id.clone().unwrap_or_default();
    let start = trace.lines.iter().find(|line| line.kind.known() == Some(EventKind::RunStart));
    let brief = start.map(|line| line.fields.word("brief").into_owned()).unwrap_or_default();
    let replies = trace.lines.iter().rev().filter(|line| line.kind.known() == Some(EventKind::AgentReply));
    let last_words = replies.map(|line| line.fields.word("text").trim().to_owned()).find(|text| !text.is_empty());
    let time = |at: &Option<String>| at.as_deref().and_then(|at| at.parse::<jiff::Timestamp>().ok());
    let lasted = time(&summary.started_at).zip(time(&summary.updated_at));
    let sum = |count: fn(&super::cost::Spent) -> u64| cost.roles.iter().map(|role| count(&role.spent)).sum();
    let (workdir, copied_from) = workdir.map_or((None, None), |(workdir, from)| (Some(workdir), from));
    RunCard {
        objective: brief::read(&brief).sections.objective.trim().to_owned(),
        project: summary.project.clone(),
        state: state.said(),
        says,
        waits_for: summary.waiting.iter().map(|question| question.text.clone()).collect(),
        rounds: rounds(trace),
        last_words,
        next: next(
            &run_id,
            &called,
            state,
            copied_from.is_some(),
            files.as_ref().is_some_and(|files| !files.is_empty()),
        ),
        files,
        not_shown,
        started_at: summary.started_at.clone(),
        updated_at: summary.updated_at.clone(),
        seconds: lasted.map(|(from, to)| u64::try_from(to.duration_since(from).as_secs()).unwrap_or(0)),
        turns: summary.turns,
        tokens_in: sum(|spent| spent.tokens_in),
        tokens_out: sum(|spent| spent.tokens_out),
        cost: cost.in_short(),
        workdir,
        copied_from,
        called: Some(called).filter(|called| *called != run_id),
        run_id,
    }
}

/// The commands to type next, the likeliest first. The inbox knows a run by its exact name; elsewhere `called` is what
/// means no other run of its brief.
fn next(run_id: &str, called: &str, state: RunState, is_copy: bool, has_changes: bool) -> Vec<(String, &'static str)> {
    let command = |what: &str| format!("adjutant {what} {called}");
    let mut next = match state {
        RunState::Waits(_) => vec![
            (format!("adjutant inbox show {run_id}"), "the whole question, and what may be answered"),
            (command("resume"), "go on here, and be asked"),
        ],
        RunState::Answered => vec![(command("resume"), "go on with what was answered")],
        RunState::Running => vec![
            (format!("adjutant steer {called} \"WORDS\""), "tell the agent something"),
            (command("pause"), "let it stand still"),
        ],
        RunState::Sleeps(_) | RunState::Unfinished => vec![(command("resume"), "go on")],
        RunState::Ended(_) => Vec::new(),
    };
    if has_changes {
        next.push((command("diff"), "what it changed, line by line"));
        if is_copy && matches!(state, RunState::Ended(_)) {
            next.push((command("apply"), "bring its change home"));
        }
    }
    next.push((command("inspect"), "what happened, step by step"));
    next
}

/// The last rounds of a loop, each with what it came to.
fn rounds(trace: &Trace<'_>) -> Vec<String> {
    let mut refused = None;
    let mut rounds: Vec<String> = Vec::new();
    for line in &trace.lines {
        match line.kind.known() {
            Some(EventKind::Evidence) => refused = line.fields.text("refused_by").map(|gate| gate.into_owned()),
            Some(EventKind::CouncilVerdict) if !line.fields.flag("is_approved") => {
                refused = Some("the council".to_owned());
            }
            Some(EventKind::RoundClosed) => {
                let what = match line.fields.word("answer").as_ref() {
                    "completed" => "the goal is verified",
                    "escalate" => "it gets nowhere: you are asked",
                    "stalled" => "it has stalled",
                    "skipped" => "no agent came to a handoff",
                    _ => "it goes on",
                };
                let why = refused.take().map(|gate| format!("; completion refused by {gate}")).unwrap_or_default();
                rounds.push(format!("{} {what}{why}", line.fields.count("round")));
            }
            _ => {}
        }
    }
    let skipped = rounds.len().saturating_sub(ROUNDS_MAX);
    rounds.split_off(skipped)
}

/// Its text.
#[must_use]
pub fn text(card: &RunCard) -> String {
    let mut text = String::new();
    let mut line = |line: &str| text.push_str(&format!("{}\n", line.trim_end()));
    let project = card.project.as_deref().map(|project| format!("  ({project})")).unwrap_or_default();
    let called = card.called.as_ref().unwrap_or(&card.run_id);
    line(&visible_line(&format!("{called}{project}")));
    line(&format!("state    {}", visible_line(&card.says)));
    block(&mut line, "goal", &card.objective);
    for question in &card.waits_for {
        block(&mut line, "asks", question);
    }
    card.rounds.iter().enumerate().for_each(|(number, round)| {
        line(&format!("{}{}", if number == 0 { "rounds   " } else { "         " }, visible_line(round)));
    });
    if let Some(words) = &card.last_words {
        block(&mut line, "said", words);
    }
    match &card.files {
        Some(files) if files.is_empty() => line("changed  nothing"),
        Some(files) => files_text(files).lines().enumerate().for_each(|(number, file)| {
            line(&format!("{}{file}", if number == 0 { "changed  " } else { "         " }));
        }),
        None => {}
    }
    for note in &card.not_shown {
        line(&format!("         note: {}", visible_line(note)));
    }
    let lasted = card.seconds.map(|seconds| format!("{}, ", super::inbox::age(seconds))).unwrap_or_default();
    let turns = if card.turns == 1 { "1 turn".to_owned() } else { format!("{} turns", card.turns) };
    let tokens = match (card.tokens_in, card.tokens_out) {
        (0, 0) => String::new(),
        (tokens_in, tokens_out) => format!(", {tokens_in} tokens in, {tokens_out} out"),
    };
    let cost = if card.cost.contains('$') { format!(", {}", card.cost) } else { String::new() };
    line(&format!("took     {lasted}{turns}{tokens}{cost}"));
    match (&card.workdir, &card.copied_from) {
        (Some(workdir), Some(from)) => {
            line(&visible_line(&format!("copy     {workdir}")));
            line(&visible_line(&format!("of       {from}")));
        }
        (Some(workdir), None) => line(&visible_line(&format!("folder   {workdir}"))),
        (None, _) => {}
    }
    line("");
    let width = card.next.iter().map(|(command, _)| command.chars().count()).max().unwrap_or(0);
    for (command, what) in &card.next {
        line(&format!("  {:width$}  {what}", visible_line(command)));
    }
    text
}

/// Writes a text of several lines, its first beside a name.
fn block(line: &mut impl FnMut(&str), name: &str, text: &str) {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    for (number, said) in lines.iter().take(LINES_MAX).enumerate() {
        let name = if number == 0 { name } else { "" };
        line(&format!("{name:9}{}", visible_text(&cut(said, 200))));
    }
    if lines.len() > LINES_MAX {
        line(&format!("{:9}... and {} more lines", "", lines.len() - LINES_MAX));
    }
}

/// The text of changed files: a line for each, and one for all.
#[must_use]
pub fn files_text(files: &[ChangedFile]) -> String {
    let mut text = String::new();
    let width = files.iter().take(FILES_MAX).map(|file| file.path.chars().count()).max().unwrap_or(0);
    for file in files.iter().take(FILES_MAX) {
        let kind = match file.kind {
            ChangeKind::Added => "  new",
            ChangeKind::Deleted => "  deleted",
            ChangeKind::Changed => "",
        };
        let counts = match file.hidden {
            Some(why) => format!("({why})"),
            None => format!("+{} -{}", file.added, file.removed),
        };
        text.push_str(&format!("{:width$}  {counts}{kind}\n", visible_line(&file.path)));
    }
    if files.len() > FILES_MAX {
        text.push_str(&format!("... and {} more\n", files.len() - FILES_MAX));
    }
    if files.len() > 1 {
        let sum = |count: fn(&ChangedFile) -> u64| files.iter().map(count).sum::<u64>();
        let (added, removed) = (sum(|file| file.added), sum(|file| file.removed));
        text.push_str(&format!("{} files, +{added} -{removed}\n", files.len()));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::{Outcome, QuestionKind};

    fn card(state: RunState) -> RunCard {
        RunCard {
            run_id: "2026-01-15-FIRST".into(),
            called: None,
            project: Some("orchard".into()),
            objective: "Repair the invoice.\n\nTen pieces are charged as ten.".into(),
            state: state.said(),
            says: state.in_words(&["filesystem_delete".to_owned()].into()),
            waits_for: vec!["Allow this?\n  rm -r build\u{1b}[2J".into()],
            rounds: Vec::new(),
            last_words: Some("I'll delete the build folder.".into()),
            files: Some(vec![
                ChangedFile { path: "a.awk".into(), kind: ChangeKind::Changed, added: 2, removed: 1, hidden: None },
                ChangedFile {
                    path: "pear.png".into(),
                    kind: ChangeKind::Added,
                    added: 0,
                    removed: 0,
                    hidden: Some("no text"),
                },
            ]),
            not_shown: vec!["target/ was not kept".into()],
            started_at: None,
            updated_at: None,
            seconds: Some(200),
            turns: 7,
            tokens_in: 1_000,
            tokens_out: 200,
            cost: "~$0.42".into(),
            workdir: Some("/copy".into()),
            copied_from: Some("/home".into()),
            next: next("2026-01-15-FIRST", "2026-01-15-FIRST-r1", state, true, true),
        }
    }

    #[test]
    fn what_one_wants_first_stands_first_and_drives_no_terminal() {
        let waiting = text(&card(RunState::Waits(QuestionKind::Destructive)));
        assert!(waiting.chars().all(|c| c == '\n' || !c.is_control()), "{waiting}");
        insta::assert_snapshot!(waiting);
    }

    #[test]
    fn a_change_is_brought_home_once_the_run_is_over() {
        let commands = |state| -> Vec<String> {
            let words = |(command, _): (String, &str)| command.split(' ').nth(1).unwrap_or_default().to_owned();
            next("r", "r", state, true, true).into_iter().map(words).collect()
        };
        assert_eq!(commands(RunState::Ended(Outcome::Completed)), ["diff", "apply", "inspect"]);
        assert_eq!(commands(RunState::Running), ["steer", "pause", "diff", "inspect"]);
        let unchanged = next("r", "r", RunState::Ended(Outcome::Failed), true, false);
        assert_eq!(unchanged.len(), 1, "there is nothing to bring home");
    }
}
