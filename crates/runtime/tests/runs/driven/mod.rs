//! The driver in a simulated world: killed anywhere, with a disk that fails, with siblings, as a crew, with an operator who
//! interferes, beside another driver.

mod crews;
mod faults;
mod grants;
mod kills;
mod letters;
mod panics;
mod siblings;
mod workspaces;

use adjutant_core::procedure::Procedure;
use adjutant_core::procedure::run::Run;
use adjutant_core::run::RunFacts;
use adjutant_core::trace::{AskEvent, Body, Event};
use adjutant_core::words::tool::ToolCall;
use adjutant_simulation::{Death, RunFate, Scene, SceneReport, StagedTurn, call, simulate};
use serde_json::json;

const SUMMARY: &str = "## Phase 0\n\n**Objective**: build\n**Deliverables**: one\n**Constraints**: two\n\
    **Tools required**: three\n**Unknowns**: none";
const DONE: &str = "## Phase 4\nEverything shipped.";

/// A summary, these turns, the end and the report.
fn talk(work: Vec<StagedTurn>) -> Vec<StagedTurn> {
    let end = [StagedTurn::says(DONE), StagedTurn::says("bye")];
    [StagedTurn::says(SUMMARY)].into_iter().chain(work).chain(end).collect()
}

fn read(id: &str) -> ToolCall {
    call(id, "read_file", json!({ "path": id }))
}

fn write(id: &str, content: &str) -> ToolCall {
    call(id, "write_file", json!({ "path": id, "content": content }))
}

fn shell(id: &str) -> ToolCall {
    call(id, "shell_exec", json!({ "cmd": format!("./{id}.sh") }))
}

#[track_caller]
fn run<P: Procedure<Facts = RunFacts>>(make: &dyn Fn() -> Run<P>, scene: &Scene, fate: &RunFate) -> SceneReport {
    simulate(make, scene, fate).unwrap_or_else(|violation| panic!("{fate:?}: {violation}"))
}

/// Runs a scene unharmed, then with a driver killed at each tick; at some of them its machine goes too, at some the next
/// driver is killed a few ticks later.
#[track_caller]
fn everywhere<P>(make: &dyn Fn() -> Run<P>, scene: &Scene, check: &dyn Fn(&SceneReport))
where
    P: Procedure<Facts = RunFacts>,
{
    let whole = run(make, scene, &RunFate::default());
    check(&whole);
    assert_eq!(run(make, scene, &RunFate::default()).lines, whole.lines, "the same run is the same journal");
    for first in 1..=whole.ticks {
        let mut fates = vec![RunFate::killed_at([first])];
        match first % 4 {
            1 => fates.push(RunFate { death: Death::Machine, ..RunFate::killed_at([first]) }),
            3 => fates.push(RunFate::killed_at([first, first + 1 + first / 4 % 9])),
            _ => {}
        }
        for fate in fates {
            let report = run(make, scene, &fate);
            let checked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| check(&report)));
            assert!(checked.is_ok(), "{fate:?}: {:?}\n{}", report.lives, report.lines.join("\n"));
        }
    }
}

fn count(report: &SceneReport, is_counted: impl Fn(&Body) -> bool) -> usize {
    report.journal.iter().filter(|event| is_counted(&event.body)).count()
}

fn asked(report: &SceneReport, kind: adjutant_core::words::QuestionKind) -> usize {
    count(report, |body| matches!(body, Body::Ask(AskEvent::Question { question, .. }) if question.kind == kind))
}

/// The place of the first event like that.
#[track_caller]
fn place(report: &SceneReport, is_it: impl Fn(&Event) -> bool) -> usize {
    report.journal.iter().position(is_it).unwrap_or_else(|| panic!("there is none in\n{}", report.lines.join("\n")))
}
