//! `adjutant inbox answer`: one question, or all of a kind.

use std::io::IsTerminal;

use adjutant_core::gate::Category;
use adjutant_core::inbox::QuestionKind;
use adjutant_core::inbox::mailbox::First;
use adjutant_core::inbox::reply::{self, Reply};
use adjutant_core::view::inbox::{self, AnsweredRow, Row};
use adjutant_store::{Home, Mailbox};
use jiff::Timestamp;
use serde::Serialize;

use super::Waiting;
use crate::console::confirm;
use crate::exit::Ending;
use crate::failure::Failure;
use crate::mail::{self, Given};
use crate::settings::Place;

/// Answer a question, or all of one kind
///
/// The words are those that can be typed at the run's terminal. With `--kind` all open questions of that kind get the
/// same answer: each is shown with the exact acts that a yes would be for, and you are asked once. A run that
/// waits without a terminal goes on with `adjutant resume` or `adjutant work`. Ends with 4 if somebody else answered
/// first.
#[derive(Debug, clap::Args)]
pub(super) struct AnswerArgs {
    /// The question (its id, its short one, or its run), then your answer; with `--kind` your answer alone
    #[arg(required = true, value_name = "ID|WORD")]
    words: Vec<String>,
    /// Answer all open questions of one kind, such as `step`
    #[arg(long, value_name = "KIND", value_parser = super::kind)]
    kind: Option<QuestionKind>,
    /// Of that kind only those about this category and nothing else, such as `filesystem_delete`
    #[arg(long, value_name = "NAME", requires = "kind")]
    category: Option<String>,
    /// Don't ask whether all that was shown is meant
    #[arg(long, requires = "kind")]
    yes: bool,
    /// Print what came of each question as JSON
    #[arg(long)]
    json: bool,
}

/// What came of one question.
#[derive(Serialize)]
struct Came {
    id: String,
    /// Whether this answer is the one.
    is_ours: bool,
    /// What the question's answer is now.
    answer: AnsweredRow,
}

pub(super) fn run(args: &AnswerArgs, place: &Place) -> anyhow::Result<Ending> {
    let home = place.home()?;
    let waiting = Waiting::read(&home)?;
    let rows = match args.kind {
        None => {
            let Some((id, words)) = args.words.split_first().filter(|(_, words)| !words.is_empty()) else {
                return Err(Failure::usage("an answer needs a question and a word")
                    .hint("`adjutant inbox show ID` has what may be answered")
                    .into());
            };
            vec![(waiting.find(id)?, words.join(" "))]
        }
        Some(kind) => {
            let word = args.words.join(" ");
            let rows = of_kind(&waiting, kind, args.category.as_deref())?;
            agreed(args, &rows, kind, &word)?;
            rows.into_iter().map(|row| (row, word.clone())).collect()
        }
    };
    let mut came = Vec::new();
    for (row, word) in rows {
        came.push(give(&home, &waiting, row, &word)?);
    }
    tell(args, &waiting, &came)?;
    // Of many some are won; of one, or where none was, the other answers are the result.
    Ok(if came.iter().any(|came| came.is_ours) { Ending::Done } else { Ending::Waiting })
}

/// The open questions of a kind, and of a category where one is named.
fn of_kind<'w>(waiting: &'w Waiting, kind: QuestionKind, category: Option<&str>) -> anyhow::Result<Vec<&'w Row>> {
    // What a yes would cover besides the category is not what was meant.
    let is_about =
        |row: &&Row| category.is_none_or(|category| row.categories.len() == 1 && row.categories.contains(category));
    let rows: Vec<&Row> = waiting.rows.iter().filter(|row| row.kind == kind.as_str()).filter(is_about).collect();
    if rows.is_empty() {
        let what = category.map(|category| format!(" about {} alone", Category::new(category))).unwrap_or_default();
        return Err(Failure::ending(
            Ending::Failed,
            format!("no question of the kind `{}`{what} is open", kind.as_str()),
        )
        .hint("`adjutant inbox` lists those that are open")
        .into());
    }
    Ok(rows)
}

/// Shows each of many questions in whole, and asks once whether they are meant.
fn agreed(args: &AnswerArgs, rows: &[&Row], kind: QuestionKind, word: &str) -> anyhow::Result<()> {
    if reply::read(kind, word).is_none() || !reply::is_word_for(kind, word) {
        return Err(unreadable(word, rows.first().copied()));
    }
    for row in rows {
        // On stderr: what came of it is the result.
        tell!("{}", inbox::show_text(row));
    }
    if args.yes {
        return Ok(());
    }
    if !std::io::stdin().is_terminal() {
        return Err(Failure::usage("nobody is at this terminal to agree to all of them")
            .hint("look at what is shown, then say it with --yes")
            .into());
    }
    if confirm(&format!("Answer {} of them with `{word}`?", rows.len())) {
        return Ok(());
    }
    Err(Failure::ending(Ending::Declined, "nothing was answered").into())
}

fn unreadable(word: &str, row: Option<&Row>) -> anyhow::Error {
    let replies: Vec<&str> = row.into_iter().flat_map(|row| &row.options).map(|offer| offer.reply.as_str()).collect();
    Failure::usage(format!("`{word}` can't be read as an answer"))
        .hint(format!("what may be said is: {}", replies.join(", ")))
        .into()
}

/// Puts one answer into its run's mailbox, unless something is there.
fn give(home: &Home, waiting: &Waiting, row: &Row, word: &str) -> anyhow::Result<Came> {
    let Some((run, open, first)) = waiting.question(row) else {
        return Err(Failure::ending(Ending::Failed, format!("`{}` is not open any more", row.id)).into());
    };
    let options = &open.question.options;
    let late = |first: &First| Came { id: row.id.clone(), is_ours: false, answer: AnsweredRow::of(first, options) };
    if let Some(first) = first {
        return Ok(late(first));
    }
    // Why was said when all mailboxes were read.
    if let Some(fault) = &run.mailbox_fault {
        let failure = Failure::ending(Ending::Failed, format!("`{}` is not answered", row.id));
        return Err(match fault.hint() {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
        .into());
    }
    let kind = open.question.kind;
    let reply: Reply = reply::read(kind, word).ok_or_else(|| unreadable(word, Some(row)))?;
    let now = Timestamp::now();
    if open.is_due(now) {
        let what = "its deadline passed; it gets its default".to_owned();
        let at = row.deadline.clone().unwrap_or_default();
        return Ok(Came {
            id: row.id.clone(),
            is_ours: false,
            answer: AnsweredRow { what, by: None, whence: None, at },
        });
    }
    let ours = mail::answer(&open.key, kind, reply, "inbox");
    let said = AnsweredRow::of(&First::Answer(ours.clone()), options);
    let mailbox = Mailbox::of(home, &run.run_id);
    match mail::give(&mailbox, ours) {
        Ok(Given::Ours(_)) => Ok(Came { id: row.id.clone(), is_ours: true, answer: said }),
        Ok(Given::Theirs(theirs)) => Ok(late(&First::Answer(theirs))),
        Err(error) => Err(Failure::of(Ending::Failed, &error, error.hint()).into()),
    }
}

fn tell(args: &AnswerArgs, waiting: &Waiting, came: &[Came]) -> anyhow::Result<()> {
    if args.json {
        return super::super::print_json(&came);
    }
    let mut text = String::new();
    let mut parked: Vec<&str> = Vec::new();
    for came in came {
        let how = if came.is_ours { "answered" } else { "answered before" };
        text.push_str(&format!("{how}: {}  {}\n", came.id, came.answer.said()));
        let run = waiting.rows.iter().find(|row| row.id == came.id).filter(|row| !row.is_driven);
        if let Some(row) = run.filter(|row| came.is_ours && !parked.contains(&row.run_id.as_str())) {
            parked.push(&row.run_id);
        }
    }
    super::super::print(&text)?;
    match parked.as_slice() {
        [] => {}
        [run] => tell!("go on: adjutant resume {run}, or let `adjutant work` do it"),
        several => tell!("{} runs go on with `adjutant work`", several.len()),
    }
    Ok(())
}
