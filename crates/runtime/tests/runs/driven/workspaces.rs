//! Sessions that work in folders of their own.

use std::collections::BTreeMap;
use std::sync::Arc;

use adjutant_core::trace::{Body, CallEvent};
use adjutant_core::words::{Outcome, QuestionKind};
use adjutant_simulation::{LifeEnd, RunFate, Scene, StagedTurn, call, in_workspaces, setup};
use serde_json::json;

use super::{everywhere, run, talk};

/// A scene in which each of two sessions writes its own text to the same path.
fn two() -> Scene {
    let turns = |number: u32| {
        let args = json!({"path": "a.txt", "content": format!("by {number}")});
        talk(vec![StagedTurn::calls("writing", vec![call(&format!("w{number}"), "write_file", args)])])
    };
    let turns = (1..=2).map(|number| (format!("council/{number}"), turns(number))).collect();
    let workspaces = ["one", "two"].into();
    Scene { turns, workspaces, rescued: ["write_file"].into(), ..Scene::default() }
        .answering(QuestionKind::Confirmation, &["go"])
}

#[test]
fn each_session_works_in_its_workspace_and_a_kill_mixes_nothing_up() {
    let setup = Arc::new(setup());
    everywhere(&|| in_workspaces(&setup, &["one", "two"]), &two(), &|report| {
        let files = [("one/a.txt", "by 1"), ("two/a.txt", "by 2")];
        let files = BTreeMap::from(files.map(|(path, text)| (path.to_owned(), text.to_owned())));
        assert_eq!((report.outcome, &report.files), (Some(Outcome::Completed), &files));
        for event in &report.journal {
            if let Body::Call(CallEvent::ToolCall { call_id, workspace, .. }) = &event.body {
                let name = if call_id == "w1" { "one" } else { "two" };
                assert_eq!(workspace.as_ref().map(ToString::to_string).as_deref(), Some(name), "{call_id}");
            }
        }
    });
}

#[test]
fn a_workspace_that_is_not_there_stops_the_driver_and_nothing_is_done_elsewhere() {
    let setup = Arc::new(setup());
    let scene = Scene { stops_at_errors: true, ..two() };
    let report = run(&|| in_workspaces(&setup, &["one", "three"]), &scene, &RunFate::default());
    let Some(LifeEnd::Stopped(error)) = report.lives.last() else { panic!("{:?}", report.lives) };
    assert!(error.contains("`three`"), "{error}");
    assert!(report.files.is_empty() && report.outcome.is_none(), "{:?}", report.files);
}
