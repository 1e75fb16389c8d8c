//! Carries out the acts that change something: an answer, a message to a run, a profile. Each does what the command of
//! its name does, with `dashboard` as whence.

use std::sync::Arc;

use adjutant_core::inbox::reply::Reply;
use adjutant_core::learn::thresholds;
use adjutant_core::view::inbox::{Row, reply_for};
use adjutant_core::words::id::{RunId, Slug};
use adjutant_core::words::{Choice, Message, Part, QuestionKind};
use adjutant_runtime::past::{self, NotApplied, ProfileReview};
use adjutant_runtime::say::{self, NotTold};
use adjutant_runtime::waiting::{AnswerResult, GivenAnswer, NotAnswered, Waiting};
use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::Hall;
use super::fault::RequestFault;
use super::look::aside;
use super::pages::past::project_named;

/// Whence, as it is put on record.
const WHENCE: &str = "dashboard";

/// Most questions answered at once: as many as a page shows.
const ANSWERED_MAX: usize = 200;

/// An answer to the questions that were shown, and to no others.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AnswerRequest {
    ids: Vec<String>,
    choice: Choice,
    #[serde(default)]
    text: Option<String>,
}

/// Outcome of an answer.
#[derive(Debug, Serialize)]
pub(super) struct AnswerOutcome {
    id: String,
    is_ours: bool,
    /// In a sentence.
    said: String,
}

/// A message to a run.
#[derive(Debug, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum RunMessage {
    // With braces, since what has none takes any field besides.
    Pause {},
    Stop {},
    Steer { text: String },
}

/// Outcome of a message.
#[derive(Debug, Serialize)]
pub(super) struct MessageOutcome {
    said: String,
}

/// Answers one question, or several alike.
pub(super) async fn answer(
    State(hall): State<Arc<Hall>>,
    Json(answer): Json<AnswerRequest>,
) -> Result<Json<Vec<AnswerOutcome>>, RequestFault> {
    aside(move || give(&hall, &answer).map(Json)).await
}

fn give(hall: &Hall, answer: &AnswerRequest) -> Result<Vec<AnswerOutcome>, RequestFault> {
    if answer.ids.is_empty() || answer.ids.len() > ANSWERED_MAX {
        return Err(RequestFault::new(StatusCode::UNPROCESSABLE_ENTITY, "Name the questions that are answered"));
    }
    let waiting = match answer.ids.as_slice() {
        [id] => hall.look.waiting_of(&hall.look.run(run_of(id))?)?,
        _ => hall.look.waiting()?,
    };
    let row = |id: &String| waiting.rows.iter().find(|row| row.id == *id);
    // All of them are read before the first is answered.
    let mut meant: Vec<(&Row, Reply)> = Vec::new();
    let mut came: Vec<AnswerOutcome> = Vec::new();
    for id in &answer.ids {
        match row(id) {
            Some(row) => meant.push((row, chosen(row, answer)?)),
            None => {
                came.push(AnswerOutcome { id: id.clone(), is_ours: false, said: "it is not open any more".to_owned() })
            }
        }
    }
    if answer.ids.len() > 1 {
        check_many(&meant)?;
    }
    for (row, reply) in meant {
        came.push(match waiting.give(&hall.look.home, row, GivenAnswer::Chosen(reply), WHENCE) {
            Ok(answered) => said(&waiting, &answered),
            Err(NotAnswered::Gone { id }) => {
                AnswerOutcome { id, is_ours: false, said: "it is not open any more".to_owned() }
            }
            Err(error) => {
                let fault = RequestFault::new(StatusCode::CONFLICT, error.to_string());
                // What was put down before it counts: it is on record, and the page shows it when it is loaded.
                return Err(fault.hint(error.hint().unwrap_or_else(|| "load the page again".to_owned())));
            }
        });
    }
    Ok(came)
}

/// The run that a question's name begins with.
fn run_of(id: &str) -> &str {
    id.split(':').next().unwrap_or_default()
}

/// The choice with its words, if a question offers it.
fn chosen(row: &Row, answer: &AnswerRequest) -> Result<Reply, RequestFault> {
    let kind = kind_of(row)?;
    reply_for(kind, answer.choice, answer.text.as_deref(), &row.options).ok_or_else(|| {
        let replies: Vec<&str> = row.options.iter().map(|offer| offer.reply.as_str()).collect();
        RequestFault::new(StatusCode::UNPROCESSABLE_ENTITY, "These words don't go with this answer")
            .hint(format!("what may be said is: {}", replies.join(", ")))
    })
}

fn kind_of(row: &Row) -> Result<QuestionKind, RequestFault> {
    QuestionKind::named(&row.kind).ok_or_else(|| RequestFault::failed("This kind of question is not known"))
}

/// Several are of one kind. That they get one answer is in the request.
fn check_many(meant: &[(&Row, Reply)]) -> Result<(), RequestFault> {
    let Some((first, _)) = meant.first() else { return Ok(()) };
    if meant.iter().any(|(row, _)| row.kind != first.kind) {
        return Err(RequestFault::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            "Only questions of one kind are answered together",
        ));
    }
    Ok(())
}

fn said(waiting: &Waiting, came: &AnswerResult) -> AnswerOutcome {
    let how = if came.is_ours { "answered" } else { "answered before" };
    let parked = waiting.rows.iter().find(|row| row.id == came.id && !row.is_driven && came.is_ours);
    let then = parked.map(|row| format!("; go on: adjutant resume {}, or let `adjutant work` do it", row.run_id));
    let said = format!("{how}: {}{}", came.answer.said(), then.unwrap_or_default());
    AnswerOutcome { id: came.id.clone(), is_ours: came.is_ours, said }
}

/// Says something to a run.
pub(super) async fn say(
    State(hall): State<Arc<Hall>>,
    Path(name): Path<String>,
    Json(word): Json<RunMessage>,
) -> Result<Json<MessageOutcome>, RequestFault> {
    aside(move || tell(&hall, &hall.look.run(&name)?, word).map(Json)).await
}

fn tell(hall: &Hall, run_id: &RunId, word: RunMessage) -> Result<MessageOutcome, RequestFault> {
    let home = &hall.look.home;
    say::unfinished(home, run_id).map_err(not_told)?;
    let (message, now, later) = match word {
        // Whoever drives it hears of it; of what nobody drives a worker keeps its hands.
        RunMessage::Pause {} => (
            Message::Pause,
            "it stands still once what is in flight has ended",
            "it stands still, and no worker goes on with it until",
        ),
        RunMessage::Stop {} => (Message::Stop, "it stops now", "it ends when a worker takes it up, or at once with"),
        RunMessage::Steer { text } => {
            let text = text.trim().to_owned();
            if text.is_empty() {
                let fault = RequestFault::new(StatusCode::UNPROCESSABLE_ENTITY, "There is nothing to tell the agent");
                return Err(fault.hint("write it first"));
            }
            (Message::Steer(text), "the agent is told at its next turn", "the agent is told when the run goes on")
        }
    };
    say::say(home, run_id, Part::root(), message, WHENCE).map_err(not_told)?;
    let driven = say::is_driven(home, run_id);
    let said = if driven { now.to_owned() } else { format!("not running; {later}: adjutant resume {run_id}") };
    Ok(MessageOutcome { said })
}

fn not_told(error: NotTold) -> RequestFault {
    match &error {
        NotTold::Over { .. } => RequestFault::new(StatusCode::CONFLICT, error.to_string()),
        NotTold::Unread(_) => RequestFault::new(StatusCode::NOT_FOUND, error.to_string()),
        NotTold::Mailbox(cause) => RequestFault::failed(error.to_string()).hint(cause.hint().unwrap_or_default()),
    }
}

/// The candidate that was shown, and no other.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ApplyRequest {
    mark: String,
    /// Time as of which it was made.
    as_of: Timestamp,
}

/// The applied profile that was shown.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RemoveRequest {
    mark: String,
}

/// Applies the candidate that was shown.
pub(super) async fn apply(
    State(hall): State<Arc<Hall>>,
    Path(project): Path<String>,
    Json(candidate): Json<ApplyRequest>,
) -> Result<Json<MessageOutcome>, RequestFault> {
    let project = project_named(&project)?;
    aside(move || {
        let home = &hall.look.home;
        let shown = ProfileReview::read(home, &project, candidate.as_of, thresholds::SMALLEST_MIN_SAMPLES)
            .map_err(|error| not_applied(&error.into(), &project))?;
        shown.apply(home, &project, &candidate.mark).map_err(|error| not_applied(&error, &project))?;
        Ok(Json(MessageOutcome {
            said: "applied: runs that begin from now on use it, if their brief names it".to_owned(),
        }))
    })
    .await
}

/// Removes the profile that was shown.
pub(super) async fn reset(
    State(hall): State<Arc<Hall>>,
    Path(project): Path<String>,
    Json(applied): Json<RemoveRequest>,
) -> Result<Json<MessageOutcome>, RequestFault> {
    let project = project_named(&project)?;
    aside(move || {
        let removed =
            past::reset(&hall.look.home, &project, &applied.mark).map_err(|error| not_applied(&error, &project))?;
        let said = if removed { "removed: runs are as without a profile" } else { "there was no profile" };
        Ok(Json(MessageOutcome { said: said.to_owned() }))
    })
    .await
}

fn not_applied(error: &NotApplied, project: &Slug) -> RequestFault {
    let fault = match error {
        NotApplied::Changed { .. } => RequestFault::new(StatusCode::CONFLICT, error.to_string()),
        NotApplied::Unread(cause) => RequestFault::failed(format!("{error}: {cause}")),
        NotApplied::Profile(_) => RequestFault::failed(error.to_string()),
    };
    fault.hint(error.hint(project).unwrap_or_default())
}
