//! A run that is followed: what its journal gains, as events from the server. Each moment has its place in the journal
//! as id, so that a browser which lost the connection goes on behind the last one that it has.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Instant;

use adjutant_core::trace::read::read_lines;
use adjutant_core::view::timeline::{Timeline, place};
use adjutant_core::words::id::RunId;
use adjutant_runtime::mail::LOOK_EVERY;
use adjutant_runtime::say;
use adjutant_store::Mailbox;
use adjutant_store::runs::{Gained, Tail};
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::sse::{Event, KeepAlive, Sse};
use futures_util::Stream;
use futures_util::stream::poll_fn;
use serde::Deserialize;
use serde_json::json;
use tokio::sync::mpsc;

use super::Hall;
use super::fault::RequestFault;
use super::guard::check_stream;
use super::look::aside;
use super::pages::run::{head, moment, question};

/// Most events that wait for a slow browser; then the journal waits, not the memory.
const WAITING_MAX: usize = 256;

/// Growth of a journal between two looks, in bytes, above which the browser is catching up and the state is shown
/// later.
const CATCHING_UP_BYTES: usize = 1024 * 1024;

/// Time without showing a run's state after it was shown, as a multiple of the time that took: the whole journal is
/// read for it.
const RESTS_PER_HEAD: u32 = 4;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct From {
    /// The last moment that the page has.
    after: Option<u64>,
}

pub(super) async fn follow(
    State(hall): State<Arc<Hall>>,
    Path(name): Path<String>,
    Query(from): Query<From>,
    headers: HeaderMap,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, RequestFault> {
    check_stream(&headers)?;
    let place = hall.follows.clone().try_acquire_owned().map_err(|_| {
        RequestFault::new(StatusCode::SERVICE_UNAVAILABLE, "Too many runs are followed at once")
            .hint("close some windows")
    })?;
    // A browser that comes back says what it has in a header of its own.
    let last = headers.get("last-event-id").and_then(|id| id.to_str().ok()).and_then(|id| id.parse().ok());
    let mut following = {
        let hall = hall.clone();
        let after = last.or(from.after);
        aside(move || {
            let run_id = hall.look.run(&name)?;
            Following::begin(hall, run_id, after)
        })
        .await?
    };
    let (sender, mut receiver) = mpsc::channel(WAITING_MAX);
    tokio::spawn(async move {
        let _place = place;
        loop {
            let Ok((back, found)) = tokio::task::spawn_blocking(move || {
                let found = following.look();
                (following, found)
            })
            .await
            else {
                return;
            };
            following = back;
            for event in found.events {
                if sender.send(Ok(event)).await.is_err() {
                    return;
                }
            }
            match found.then {
                Then::End => return,
                Then::Again => {}
                Then::Wait => tokio::select! {
                    () = hall.stop.cancelled() => return,
                    () = sender.closed() => return,
                    () = tokio::time::sleep(LOOK_EVERY) => {}
                },
            }
        }
    });
    Ok(Sse::new(poll_fn(move |context| receiver.poll_recv(context))).keep_alive(KeepAlive::default()))
}

/// Result of one look.
struct LookResult {
    events: Vec<Event>,
    then: Then,
}

enum Then {
    /// There may be more.
    Again,
    /// There is no more for now.
    Wait,
    /// There will be no more.
    End,
}

struct Following {
    hall: Arc<Hall>,
    run_id: RunId,
    tail: Tail,
    timeline: Timeline,
    after: Option<u64>,
    /// The number of the last line that was read.
    line: u64,
    mailbox: Mailbox,
    /// The part of the state shown last that the journal doesn't record.
    shown: Option<(u64, bool)>,
    /// True if the journal says more than was shown.
    has_more: bool,
    /// Time before which the state is not shown again.
    rest_until: Option<Instant>,
}

impl Following {
    fn begin(hall: Arc<Hall>, run_id: RunId, after: Option<u64>) -> Result<Self, RequestFault> {
        let tail = Tail::open(&hall.look.home.journal(&run_id))
            .map_err(|_| RequestFault::new(StatusCode::NOT_FOUND, "There is no such run"))?;
        let mailbox = Mailbox::of(&hall.look.home, &run_id);
        Ok(Self {
            hall,
            run_id,
            tail,
            timeline: Timeline::default(),
            after,
            line: 0,
            mailbox,
            shown: None,
            has_more: true,
            rest_until: None,
        })
    }

    fn look(&mut self) -> LookResult {
        let mut events = Vec::new();
        match self.tail.gained() {
            Ok(Gained::Lines(lines)) => {
                self.has_more = true;
                events = self.moments(&lines);
                if lines.len() > CATCHING_UP_BYTES {
                    return LookResult { events, then: Then::Again };
                }
            }
            Ok(Gained::Nothing) => {}
            // The page is loaded again, and says what is wrong.
            Ok(Gained::Replaced) | Err(_) => {
                return LookResult { events: vec![Event::default().event("replaced").data("{}")], then: Then::End };
            }
        }
        let state = (self.mailbox.bytes(), say::is_driven(&self.hall.look.home, &self.run_id));
        let is_news = self.has_more || self.shown != Some(state);
        if !is_news || self.rest_until.is_some_and(|until| Instant::now() < until) {
            return LookResult { events, then: Then::Wait };
        }
        self.shown = Some(state);
        let begun = Instant::now();
        let (head, is_over) = self.head();
        self.rest_until = Some(Instant::now() + begun.elapsed() * RESTS_PER_HEAD);
        events.extend(head);
        if is_over {
            events.push(Event::default().event("over").data("{}"));
        }
        LookResult { events, then: if is_over { Then::End } else { Then::Wait } }
    }

    fn moments(&mut self, lines: &[u8]) -> Vec<Event> {
        let mut events = Vec::new();
        for line in lines.split_inclusive(|byte| *byte == b'\n') {
            self.line += 1;
            // A damaged line is told of by the state.
            let Ok(text) = std::str::from_utf8(line) else { continue };
            let trace = read_lines([(self.line, text.trim_end_matches(['\n', '\r']))]);
            let Some(line) = trace.lines.first() else { continue };
            let at = place(line);
            if self.after.is_some_and(|after| at <= after) {
                self.timeline.pass(line);
                continue;
            }
            self.after = Some(at);
            let Ok(html) = moment(&self.timeline.take(line)) else { continue };
            events.push(Event::default().event("moment").id(at.to_string()).data(json!({ "html": html }).to_string()));
        }
        events
    }

    /// Returns the run's state now, and true if it is over.
    fn head(&mut self) -> (Option<Event>, bool) {
        self.has_more = false;
        let hall = &self.hall;
        let read = || -> Result<(String, bool), RequestFault> {
            let lines = hall.look.journal(&self.run_id)?;
            let head = head(hall, &self.run_id, &lines, &lines.trace())?;
            let mut questions = Vec::new();
            for row in &head.questions {
                let answered = row.answered.is_some();
                let html = question(&hall.base, row)?;
                questions.push(json!({ "id": row.short, "answered": answered, "html": html }));
            }
            let data =
                json!({ "status": head.status, "counted": head.counted, "questions": questions, "over": head.is_over });
            Ok((data.to_string(), head.is_over))
        };
        match read() {
            Ok((data, is_over)) => (Some(Event::default().event("head").data(data)), is_over),
            Err(_) => (None, false),
        }
    }
}
