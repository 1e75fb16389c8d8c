//! A run is followed without a gap and without a repetition, from wherever the browser was.

use std::time::Duration;

use adjutant_core::trace::{Body, Entry, RunEvent};
use adjutant_core::words::{Outcome, Part};
use adjutant_ports::{Durability, Journal as _};
use adjutant_store::FileJournal;
use axum::body::BodyDataStream;
use axum::http::{Method, StatusCode};
use futures_util::StreamExt as _;
use jiff::Timestamp;
use serde_json::Value;

use crate::world::{HOSTILE, World, may_delete, set, warning};

const RUN: &str = "2026-01-01-A";

/// Longest wait for an event. Only a failed test waits that long.
const PATIENCE: Duration = Duration::from_secs(60);

/// A stream of events, read one by one.
struct Events {
    body: BodyDataStream,
    held: String,
}

/// One event: its name, its id, its data.
type One = (String, Option<u64>, Value);

impl Events {
    async fn of(world: &World, query: &str, last: Option<u64>) -> Self {
        let mut request = world.request(Method::GET, &format!("{}/runs/{RUN}/events{query}", world.base));
        set(&mut request, "sec-fetch-site", "same-origin");
        if let Some(last) = last {
            set(&mut request, "last-event-id", &last.to_string());
        }
        let response = world.raw(request).await;
        assert_eq!(response.status(), StatusCode::OK);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Self { body: response.into_body().into_data_stream(), held: String::new() }
    }

    /// The next event; `None` at the end of the stream.
    async fn next(&mut self) -> Option<One> {
        loop {
            if let Some((event, rest)) = self.held.split_once("\n\n") {
                let field = |name: &str| event.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
                let one = field("event:").map(|name| {
                    let data = serde_json::from_str(field("data:").expect("data")).expect("JSON");
                    (name.to_owned(), field("id:").map(|id| id.parse().expect("a place")), data)
                });
                self.held = rest.to_owned();
                if one.is_some() {
                    return one;
                }
                continue;
            }
            let piece = tokio::time::timeout(PATIENCE, self.body.next()).await.expect("nothing came");
            let piece = piece?.expect("readable");
            self.held.push_str(std::str::from_utf8(&piece).expect("text"));
        }
    }

    /// The places of the moments up to the next state of the run, and that state.
    async fn moments(&mut self) -> (Vec<u64>, Value) {
        let mut places = Vec::new();
        loop {
            let (name, id, data) = self.next().await.expect("more");
            match name.as_str() {
                "moment" => {
                    let id = id.expect("a place");
                    assert!(data["html"].as_str().is_some_and(|html| html.contains(&format!("data-seq=\"{id}\""))));
                    places.push(id);
                }
                "head" => return (places, data),
                other => panic!("{other}"),
            }
        }
    }
}

fn append(journal: &mut FileJournal, body: Body) {
    let entry = Entry { part: Part::root(), body };
    journal.append(entry, Timestamp::now(), Durability::Written).expect("appended");
}

#[tokio::test]
async fn what_the_journal_gains_comes_once_and_a_browser_that_comes_back_goes_on() {
    let world = World::open().await;
    let mut journal = world.run(RUN, "orchard", "b", vec![warning("one")]);
    let mut events = Events::of(&world, "?after=1", None).await;
    let (places, head) = events.moments().await;
    assert_eq!(places, [2]);
    assert!(head["status"].as_str().is_some_and(|status| status.contains("running")));
    append(&mut journal, may_delete(1, HOSTILE));
    append(&mut journal, warning("two"));
    let mut seen = Vec::new();
    let head = loop {
        let (places, head) = events.moments().await;
        seen.extend(places);
        if seen.len() == 2 {
            break head;
        }
    };
    assert_eq!(seen, [3, 4]);
    let question = &head["questions"][0];
    let html = question["html"].as_str().expect("markup");
    assert!(html.contains("&#60;script&#62;") && !html.contains("<script"), "{html}");
    drop(events);
    // While it was away two more came. What the address says is older than what the browser has.
    append(&mut journal, warning("three"));
    append(&mut journal, warning("four"));
    let mut events = Events::of(&world, "?after=1", Some(4)).await;
    assert_eq!(events.moments().await.0, [5, 6]);
    append(&mut journal, Body::Run(RunEvent::RunEnd { outcome: Outcome::Completed }));
    drop(journal);
    let mut seen = Vec::new();
    let mut names = Vec::new();
    while let Some((name, id, _)) = events.next().await {
        seen.extend(id);
        names.push(name);
    }
    assert_eq!(seen, [7]);
    assert_eq!(names.last().map(String::as_str), Some("over"), "it ends when the run has");
}

#[tokio::test]
async fn from_any_place_every_later_moment_comes_once() {
    let world = World::open().await;
    let more = (0..300).map(|number| warning(&format!("{number} {}", "x".repeat(9_000)))).collect();
    let journal = world.run(RUN, "orchard", "b", more);
    for after in [None, Some(0), Some(150), Some(300), Some(301), Some(9_999)] {
        let query = after.map(|after| format!("?after={after}")).unwrap_or_default();
        let expected: Vec<u64> = (0..302).filter(|seq| after.is_none_or(|after| *seq > after)).collect();
        assert_eq!(Events::of(&world, &query, None).await.moments().await.0, expected, "{after:?}");
    }
    drop(journal);
}

#[tokio::test]
async fn what_others_do_is_seen_though_the_journal_is_silent() {
    let world = World::open().await;
    let journal = world.run(RUN, "orchard", "b", vec![may_delete(1, "May it?")]);
    let mut events = Events::of(&world, "?after=2", None).await;
    let (_, head) = events.moments().await;
    assert_eq!(head["questions"][0]["answered"], false);
    let body = serde_json::json!({"ids": [format!("{RUN}:ask/1.1")], "choice": "deny"});
    assert_eq!(world.send(world.act("/answer", &body)).await.status, StatusCode::OK);
    let (places, head) = events.moments().await;
    assert_eq!((places.len(), &head["questions"][0]["answered"]), (0, &Value::Bool(true)));
    drop(journal);
    let (_, head) = events.moments().await;
    assert!(head["status"].as_str().is_some_and(|status| status.contains("Not running.")));
}

#[tokio::test]
async fn a_journal_that_was_put_in_place_of_another_is_said() {
    let world = World::open().await;
    drop(world.run(RUN, "orchard", "b", vec![warning("one")]));
    let mut events = Events::of(&world, "", None).await;
    events.moments().await;
    let path = world.home.journal(&RUN.parse().expect("a name"));
    let aside = world.folder.path().join("aside");
    std::fs::copy(&path, &aside).expect("copied");
    std::fs::rename(&aside, &path).expect("moved");
    assert_eq!(events.next().await.expect("more").0, "replaced");
    assert!(events.next().await.is_none());
}

#[tokio::test]
async fn only_so_many_are_followed_at_once() {
    let world = World::open().await;
    drop(world.run(RUN, "orchard", "b", vec![warning("one")]));
    let mut open = Vec::new();
    for _ in 0..24 {
        open.push(Events::of(&world, "", None).await);
    }
    let mut request = world.request(Method::GET, &format!("{}/runs/{RUN}/events", world.base));
    set(&mut request, "sec-fetch-site", "same-origin");
    assert_eq!(world.send(request).await.status, StatusCode::SERVICE_UNAVAILABLE);
}
