//! History and profiles: what is shown, and that only what was shown is applied.

use adjutant_core::learn::CALIBRATION_TRAP;
use adjutant_core::trace::{Body, CallEvent, PartEvent, RunEvent, TurnEvent};
use adjutant_core::words::{Outcome, PhaseName, Slot, What};
use adjutant_store::profiles;
use axum::http::StatusCode;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::world::{HOSTILE, World};

/// Runs of the project `orchard` that are over now, each with two calls of tools and a fire of `destructive`.
fn teach(world: &World, numbers: std::ops::Range<u32>) {
    for number in numbers {
        let call = |call: u32| {
            Body::Call(CallEvent::ToolCall {
                slot: Slot::first(What::Call, call),
                call_id: call.to_string(),
                name: if number == 0 { HOSTILE.into() } else { "list_dir".into() },
                args: json!({}),
                auth_decision: "allow".into(),
                changes: Vec::new(),
                network: false,
                workspace: None,
            })
        };
        let events = vec![
            Body::Part(PartEvent::PhaseEnter { phase: PhaseName::Execute, reason: None }),
            call(1),
            Body::Turn(TurnEvent::DetectorFired { detector: "destructive".into(), payload: json!({}), turn: Some(1) }),
            call(2),
            Body::Run(RunEvent::RunEnd { outcome: Outcome::Completed }),
        ];
        drop(world.run_at(&format!("2026-01-01-P{number:02}"), "orchard", "b", Timestamp::now(), events));
    }
}

/// A value that the page has for its script.
fn data(page: &str, name: &str) -> String {
    let value = page.split(&format!("data-{name}=\"")).nth(1).and_then(|rest| rest.split('"').next());
    value.unwrap_or_else(|| panic!("no {name}: {page}")).to_owned()
}

async fn shown(world: &World) -> (String, Value, Value) {
    let page = world.get("/profile/orchard").await;
    assert_eq!(page.status, StatusCode::OK, "{}", page.text);
    let candidate = json!({"mark": data(&page.text, "mark"), "as_of": data(&page.text, "as-of")});
    let applied = json!({"mark": data(&page.text, "applied")});
    (page.text, candidate, applied)
}

#[tokio::test]
async fn a_project_is_chosen_and_its_history_is_plots_and_tables() {
    let world = World::open().await;
    teach(&world, 0..12);
    drop(world.run("2026-01-01-ODD", HOSTILE, "b", Vec::new()));
    for list in ["history", "profile"] {
        let page = world.get(&format!("/{list}")).await.text;
        let link = format!("{}/{list}/orchard\">orchard</a></th><td class=\"number\">12</td><td>none</td>", world.base);
        assert!(page.contains(&link), "{page}");
        assert_eq!(page.matches("class=\"step\"").count(), 1, "what is no project has no page");
    }
    let page = world.get("/history/orchard").await.text;
    assert_eq!(page.matches("<svg class=\"plot\"").count(), 3, "runs, calls, and calls by phase: {page}");
    for part in ["Runs each day", "Tool calls by phase", "data-name=\"total calls\">24<", "list_dir", "completed"] {
        assert!(page.contains(part), "no {part}: {page}");
    }
    let trap = CALIBRATION_TRAP.split(": ").last().expect("a part");
    assert!(page.contains(trap), "what a rate of `destructive` does not say: {page}");
    assert!(page.contains("&#60;script&#62;alert(1)") && !page.contains("<script>alert"), "{page}");
    assert!(!page.contains("style="), "nothing is inline");
    let other = world.get("/history/harbour").await;
    assert!(other.text.contains("no run of this project"), "{}", other.text);
    assert_eq!(world.get("/history/..%2F..").await.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn the_candidate_that_was_shown_is_applied_and_no_other() {
    let world = World::open().await;
    let project = "orchard".parse().expect("a slug");
    let applied = || profiles::read(&world.home, &project).expect("readable");
    teach(&world, 1..13);
    let (page, first, _) = shown(&world).await;
    for part in ["no profile is applied", "budget execute", "12 runs: budget execute", "2026-01-01-P12", "expires"] {
        assert!(page.contains(part), "no {part}: {page}");
    }
    let apply = async |body: &Value| world.send(world.act("/profile/orchard/apply", body)).await;
    let reset = async |body: &Value| world.send(world.act("/profile/orchard/reset", body)).await;
    // Another run is over: the candidate is another.
    teach(&world, 13..14);
    let late = apply(&first).await;
    assert_eq!(late.status, StatusCode::CONFLICT, "{}", late.text);
    assert!(late.text.contains("not what was shown any more"), "{}", late.text);
    for wrong in [json!({"mark": "", "as_of": first["as_of"]}), json!({"mark": first["mark"]}), json!({})] {
        assert!(apply(&wrong).await.status.is_client_error(), "{wrong}");
    }
    assert_eq!(applied(), None);

    let (_, second, nothing) = shown(&world).await;
    // The same, as of another time, is not what was shown.
    let earlier = json!({"mark": second["mark"], "as_of": "2026-01-01T00:00:00.000Z"});
    assert_eq!(apply(&earlier).await.status, StatusCode::CONFLICT);
    let done = apply(&second).await;
    assert_eq!(done.status, StatusCode::OK, "{}", done.text);
    let profile = applied().expect("applied");
    assert_eq!((profile.source_runs.len(), profile.phase_budgets["execute"].tool_calls), (13, 7));
    assert_eq!(json!(profile.generated_at), second["as_of"]);
    // What is applied now is not what was shown then.
    assert_eq!(apply(&second).await.status, StatusCode::CONFLICT);

    let (page, _, mark) = shown(&world).await;
    assert!(page.contains("the candidate is as what is applied") && page.contains("Remove what is applied"), "{page}");
    assert_eq!(reset(&nothing).await.status, StatusCode::CONFLICT);
    assert!(applied().is_some());
    let done = reset(&mark).await;
    assert_eq!(done.status, StatusCode::OK, "{}", done.text);
    assert_eq!(applied(), None);
}

#[tokio::test]
async fn a_profile_that_can_not_be_used_is_shown_as_such_and_can_only_be_removed() {
    let world = World::open().await;
    teach(&world, 1..13);
    let project = "orchard".parse().expect("a slug");
    std::fs::create_dir_all(world.home.project(&project)).expect("a folder");
    let path = profiles::path(&world.home, &project);
    std::fs::write(&path, "{\"schema_version\": 9}").expect("written");
    let (page, candidate, mark) = shown(&world).await;
    assert!(page.contains("can&#39;t be used") && !page.contains("Apply the candidate"), "{page}");
    let over = world.send(world.act("/profile/orchard/apply", &candidate)).await;
    assert_eq!(over.status, StatusCode::INTERNAL_SERVER_ERROR, "{}", over.text);
    assert!(path.exists());
    assert_eq!(world.send(world.act("/profile/orchard/reset", &mark)).await.status, StatusCode::OK);
    assert!(!path.exists());
}

#[tokio::test]
async fn a_profile_is_changed_by_our_own_pages_alone() {
    let world = World::open().await;
    teach(&world, 1..13);
    let (_, candidate, _) = shown(&world).await;
    for (header, expected) in [
        ("origin", StatusCode::FORBIDDEN),
        ("content-type", StatusCode::UNSUPPORTED_MEDIA_TYPE),
        ("x-adjutant-csrf", StatusCode::FORBIDDEN),
        ("cookie", StatusCode::UNAUTHORIZED),
    ] {
        for act in ["apply", "reset"] {
            let mut request = world.act(&format!("/profile/orchard/{act}"), &candidate);
            request.headers_mut().remove(header);
            assert_eq!(world.send(request).await.status, expected, "{act} without {header}");
        }
    }
    assert!(!profiles::path(&world.home, &"orchard".parse().expect("a slug")).exists());
}
