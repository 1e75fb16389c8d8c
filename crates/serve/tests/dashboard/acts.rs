//! Tests that an act on a page is in the run's mailbox, as if it had been typed.

use adjutant_core::trace::{AskEvent, Body, RunEvent};
use adjutant_core::words::{Choice, Offer, Outcome, Question, QuestionKind, Slot, What};
use axum::http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::world::{Got, World, may_delete, set};

fn id(run: &str, number: u32) -> String {
    format!("{run}:ask/{number}.1")
}

fn said(got: &Got) -> Value {
    serde_json::from_str(&got.text).expect("JSON")
}

async fn answer(world: &World, body: Value) -> Got {
    world.send(world.act("/answer", &body)).await
}

#[tokio::test]
async fn an_answer_is_put_down_once_and_the_first_counts() {
    let world = World::open().await;
    let run = "2026-01-01-A";
    drop(world.run(run, "orchard", "b", vec![may_delete(1, "May it?")]));
    let got = answer(&world, json!({"ids": [id(run, 1)], "choice": "deny", "text": " keep it "})).await;
    assert_eq!(got.status, StatusCode::OK, "{}", got.text);
    assert_eq!(said(&got)[0]["is_ours"], true);
    assert!(said(&got)[0]["said"].as_str().is_some_and(|said| said.contains("adjutant resume 2026-01-01-A")));
    let letters = world.letters(run);
    assert_eq!(letters.len(), 1);
    for (field, expected) in
        [("choice", "deny"), ("text", "keep it"), ("by", "operator"), ("whence", "dashboard"), ("kind", "destructive")]
    {
        assert_eq!(letters[0][field], expected);
    }
    let second = answer(&world, json!({"ids": [id(run, 1)], "choice": "once"})).await;
    assert_eq!(said(&second)[0]["is_ours"], false);
    assert!(said(&second)[0]["said"].as_str().is_some_and(|said| said.contains("answered before: `n: keep it`")));
    assert_eq!(world.letters(run), letters);
}

#[tokio::test]
async fn of_two_questions_open_at_once_each_is_answered_by_its_own_form() {
    let world = World::open().await;
    for (run, order) in [("2026-01-01-A", [0, 1]), ("2026-01-01-B", [1, 0])] {
        let ids = world.run_of_two_voters(run);
        let page = format!("/runs/{run}");
        let form = |id: &str| format!("<form class=\"answer\" data-ids=\"{id}\">");
        for path in ["/inbox", &page] {
            let text = world.get(path).await.text;
            for id in &ids {
                assert_eq!(text.matches(&form(id)).count(), 1, "{path} {id}: {text}");
            }
        }
        let [first, second] = order.map(|index| ids[index].as_str());
        let got = answer(&world, json!({"ids": [first], "choice": "once"})).await;
        assert_eq!((got.status, &said(&got)[0]["is_ours"]), (StatusCode::OK, &json!(true)), "{}", got.text);
        for path in ["/inbox", &page] {
            let text = world.get(path).await.text;
            assert!(!text.contains(&form(first)) && text.contains(&form(second)), "{path}: {text}");
            assert!(text.contains("`y` by operator, dashboard"), "{path}: {text}");
        }
        // A page that was loaded before still has the form.
        let stale = answer(&world, json!({"ids": [first], "choice": "deny"})).await;
        assert_eq!(said(&stale)[0]["is_ours"], false);
        assert!(
            said(&stale)[0]["said"].as_str().is_some_and(|said| said.starts_with("answered before: `y` by operator"))
        );
        let got = answer(&world, json!({"ids": [second], "choice": "deny", "text": "not this"})).await;
        assert_eq!(said(&got)[0]["is_ours"], true, "{}", got.text);
        let letters = world.letters(run);
        let given: Vec<_> = letters.iter().map(|line| (line["part"].as_str(), line["choice"].as_str())).collect();
        let parts = order.map(|index| format!("council/{}", index + 1));
        assert_eq!(given, [(Some(parts[0].as_str()), Some("once")), (Some(parts[1].as_str()), Some("deny"))]);
    }
}

#[tokio::test]
async fn words_that_mean_something_else_answer_nothing() {
    let world = World::open().await;
    let run = "2026-01-01-A";
    let summary = Question {
        kind: QuestionKind::Confirmation,
        text: "Is it right?".into(),
        options: vec![
            Offer::new(Choice::Accept, "go", "it begins"),
            Offer::new(Choice::Correct, "<anything else>", "it is corrected"),
        ],
        default: Choice::Decline,
        deadline_ms: None,
        acts: 0,
    };
    let summary = Body::Ask(AskEvent::Question { slot: Slot::first(What::Ask, 2), question: summary });
    drop(world.run(run, "orchard", "b", vec![may_delete(1, "May it?"), summary]));
    for (number, choice, text) in [
        (1, "once", Some("if you must")),
        (1, "accept", None),
        (2, "correct", None),
        (2, "correct", Some("yes")),
        (2, "accept", Some("but")),
        // Meant by the kind, and not offered here.
        (2, "accept_auto", None),
    ] {
        let mut body = json!({"ids": [id(run, number)], "choice": choice});
        if let Some(text) = text {
            body["text"] = text.into();
        }
        let got = answer(&world, body).await;
        assert_eq!(got.status, StatusCode::UNPROCESSABLE_ENTITY, "{choice} {text:?}: {}", got.text);
        assert!(said(&got)["hint"].as_str().is_some_and(|hint| hint.contains("what may be said is")));
    }
    assert!(world.letters(run).is_empty());
    let gone = answer(&world, json!({"ids": [id(run, 9)], "choice": "once"})).await;
    assert_eq!(said(&gone)[0]["is_ours"], false);
    for nobody in ["nobody:ask/1.1", "", "../../x:ask/1.1"] {
        let got = answer(&world, json!({"ids": [nobody], "choice": "once"})).await;
        assert_eq!(got.status, StatusCode::NOT_FOUND, "{nobody}");
    }
}

#[tokio::test]
async fn several_are_answered_if_they_are_alike_and_no_others() {
    let world = World::open().await;
    for run in ["2026-01-01-A", "2026-01-01-B", "2026-01-01-C"] {
        drop(world.run(run, "orchard", "b", vec![may_delete(1, "May it?")]));
    }
    let step = Question {
        kind: QuestionKind::Step,
        text: "Go on?".into(),
        options: vec![Offer::new(Choice::Deny, "n", "no"), Offer::new(Choice::Continue, "ok", "on")],
        default: Choice::Continue,
        deadline_ms: None,
        acts: 0,
    };
    let step = Body::Ask(AskEvent::Question { slot: Slot::first(What::Ask, 1), question: step });
    drop(world.run("2026-01-01-D", "orchard", "b", vec![step]));
    let ids = |runs: &[&str]| runs.iter().map(|run| id(&format!("2026-01-01-{run}"), 1)).collect::<Vec<_>>();
    let mixed = answer(&world, json!({"ids": ids(&["A", "D"]), "choice": "deny"})).await;
    assert_eq!(mixed.status, StatusCode::UNPROCESSABLE_ENTITY, "{}", mixed.text);
    assert!(world.letters("2026-01-01-A").is_empty());
    let got = answer(&world, json!({"ids": ids(&["A", "B", "Z"]), "choice": "once"})).await;
    let came = said(&got);
    let ours: Vec<bool> = came.as_array().expect("a list").iter().map(|one| one["is_ours"] == true).collect();
    assert_eq!(ours.iter().filter(|is_ours| **is_ours).count(), 2, "{came}");
    assert_eq!((ours.len(), world.letters("2026-01-01-A").len(), world.letters("2026-01-01-C").len()), (3, 1, 0));
    let none = answer(&world, json!({"ids": [], "choice": "once"})).await;
    assert_eq!(none.status, StatusCode::UNPROCESSABLE_ENTITY);
}

#[tokio::test]
async fn a_run_is_told_what_it_can_be_told() {
    let world = World::open().await;
    let driven = world.run("2026-01-01-A", "orchard", "b", Vec::new());
    drop(world.run("2026-01-01-B", "orchard", "b", Vec::new()));
    drop(world.run("2026-01-01-C", "orchard", "b", vec![Body::Run(RunEvent::RunEnd { outcome: Outcome::Stopped })]));
    let say = async |run: &str, word: Value| world.send(world.act(&format!("/runs/2026-01-01-{run}/say"), &word)).await;
    for (run, word, status, expected) in [
        ("A", json!({"what": "pause"}), StatusCode::OK, "it stands still"),
        ("A", json!({"what": "steer", "text": "mind the gap"}), StatusCode::OK, "at its next turn"),
        ("A", json!({"what": "steer", "text": "  "}), StatusCode::UNPROCESSABLE_ENTITY, "nothing to tell"),
        (
            "B",
            json!({"what": "stop"}),
            StatusCode::OK,
            "it ends when a worker takes it up, or at once with: adjutant resume 2026-01-01-B",
        ),
        ("B", json!({"what": "pause"}), StatusCode::OK, "no worker goes on with it"),
        ("C", json!({"what": "stop"}), StatusCode::CONFLICT, "is over"),
        ("Z", json!({"what": "stop"}), StatusCode::NOT_FOUND, "no such run"),
        ("A", json!({"what": "amend"}), StatusCode::UNPROCESSABLE_ENTITY, ""),
        ("A", json!({"what": "pause", "x": 1}), StatusCode::UNPROCESSABLE_ENTITY, ""),
        ("A", json!({"what": "stop", "text": "now"}), StatusCode::UNPROCESSABLE_ENTITY, ""),
    ] {
        let got = say(run, word.clone()).await;
        assert_eq!(got.status, status, "{run} {word}: {}", got.text);
        assert!(got.text.contains(expected), "{run} {word}: {}", got.text);
    }
    let messages: Vec<Value> = world.letters("2026-01-01-A").into_iter().map(|line| line["message"].clone()).collect();
    assert_eq!(messages, [json!("pause"), json!({"steer": "mind the gap"})]);
    assert_eq!(world.letters("2026-01-01-B")[0]["whence"], "dashboard");
    assert!(world.letters("2026-01-01-C").is_empty());
    drop(driven);
}

#[tokio::test]
async fn what_never_began_is_no_run_and_nothing_is_put_down_for_it() {
    let world = World::open().await;
    let run = "2026-05-01-EMPTY";
    drop(world.run("2026-01-01-A", "orchard", "b", Vec::new()));
    for begun in ["", "{\"seq\":0,\"at\":\"2026"] {
        std::fs::write(world.home.sessions().join(format!("{run}.trace.ndjson")), begun).expect("written");
        assert_eq!(world.get(&format!("/runs/{run}")).await.status, StatusCode::NOT_FOUND);
        let mut follow = world.request(Method::GET, &format!("{}/runs/{run}/events", world.base));
        set(&mut follow, "sec-fetch-site", "same-origin");
        assert_eq!(world.send(follow).await.status, StatusCode::NOT_FOUND);
        for word in [json!({"what": "stop"}), json!({"what": "pause"}), json!({"what": "steer", "text": "on"})] {
            let got = world.send(world.act(&format!("/runs/{run}/say"), &word)).await;
            assert_eq!(got.status, StatusCode::NOT_FOUND, "{word}: {}", got.text);
        }
        assert_eq!(answer(&world, json!({"ids": [id(run, 1)], "choice": "deny"})).await.status, StatusCode::NOT_FOUND);
    }
    // A mailbox that is there would be that of the next run of this name.
    assert!(!world.home.mailbox(&run.parse().expect("a name")).exists());
}
