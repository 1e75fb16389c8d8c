//! `adjutant inbox answer`: one question, or all of a kind.

use std::io::IsTerminal;

use adjutant_core::inbox::reply;
use adjutant_core::view::inbox::{self, Row};
use adjutant_core::words::{Category, QuestionKind};
use adjutant_runtime::waiting::{self, AnswerResult, GivenAnswer, NotAnswered, Waiting};
use adjutant_store::{Home, runs};
use clap_complete::ArgValueCandidates;

use crate::candidates;
use crate::console::confirm;
use crate::exit::Ending;
use crate::failure::Failure;
use crate::settings::Place;

/// Answer a question, or all of one kind
///
/// The words are those that can be typed at the run's terminal. With `--kind` all open questions of that kind get the
/// same answer: each is shown with the exact acts that a yes would be for, and you are asked once. A run that
/// waits without a terminal goes on with `adjutant resume` or `adjutant work`. Ends with 4 if somebody else answered
/// first.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
                  adjutant inbox answer ID y\n  \
                  adjutant inbox answer ID n: keep the old one\n  \
                  adjutant inbox answer --kind step \"\"")]
pub(super) struct AnswerArgs {
    /// The question (its id, its short one, or its run), then your answer; with `--kind` your answer alone
    #[arg(required = true, value_name = "ID|WORD")]
    words: Vec<String>,
    /// Answer all open questions of one kind, such as `step`
    #[arg(long, value_name = "KIND", value_parser = super::kind, add = ArgValueCandidates::new(candidates::kinds))]
    kind: Option<QuestionKind>,
    /// Of that kind only those about this category and nothing else, such as `filesystem_delete`
    #[arg(long, value_name = "NAME", requires = "kind", add = ArgValueCandidates::new(candidates::categories))]
    category: Option<String>,
    /// Don't ask whether all that was shown is meant
    #[arg(long, requires = "kind")]
    yes: bool,
    /// Print what came of each question as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &AnswerArgs, place: &Place) -> anyhow::Result<Ending> {
    let home = place.home()?;
    let waiting = super::read(&home)?;
    let rows = match args.kind {
        None => {
            let Some((id, words)) = args.words.split_first().filter(|(_, words)| !words.is_empty()) else {
                return Err(Failure::usage("an answer needs a question and a word")
                    .hint("`adjutant inbox show ID` has what may be answered")
                    .into());
            };
            vec![(super::find(&waiting, id)?, words.join(" "))]
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
        let result = waiting.give(&home, row, GivenAnswer::Typed(&word), "inbox").map_err(not_answered)?;
        let kind = QuestionKind::named(&row.kind);
        let reply = kind.and_then(|kind| Some((kind, reply::read(kind, &word)?))).filter(|_| result.is_ours);
        if let Some(how) = reply.and_then(|(kind, reply)| reply::taken_as(kind, &row.options, &reply)) {
            tell!("{how}");
        }
        came.push(result);
    }
    tell(&home, args, &waiting, &came)?;
    // Of many some are won; of one, or where none was, the other answers are the result.
    Ok(if came.iter().any(|came| came.is_ours) { Ending::Done } else { Ending::Waiting })
}

/// The open questions of a kind, and of a category where one is named.
fn of_kind<'w>(waiting: &'w Waiting, kind: QuestionKind, category: Option<&str>) -> anyhow::Result<Vec<&'w Row>> {
    let rows = waiting.of_kind(kind, category);
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
    waiting::check_word_for_many(kind, word, rows.first().copied()).map_err(not_answered)?;
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

fn not_answered(error: NotAnswered) -> anyhow::Error {
    let hint = error.hint();
    let failure = match error {
        NotAnswered::Gone { .. } | NotAnswered::Unusable { .. } => Failure::ending(Ending::Failed, error.to_string()),
        NotAnswered::Unreadable { .. } | NotAnswered::Slip { .. } => Failure::usage(error.to_string()),
        NotAnswered::Mailbox(error) => return Failure::of(Ending::Failed, &error, error.hint()).into(),
    };
    match hint {
        Some(hint) => failure.hint(hint).into(),
        None => failure.into(),
    }
}

fn tell(home: &Home, args: &AnswerArgs, waiting: &Waiting, came: &[AnswerResult]) -> anyhow::Result<()> {
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
        [run] => {
            let called = run.parse().map_or_else(|_| (*run).to_owned(), |run_id| runs::called(home, &run_id));
            tell!("go on: adjutant resume {called}, or let `adjutant work` do it");
        }
        several => tell!("{} runs go on with `adjutant work`", several.len()),
    }
    Ok(())
}
