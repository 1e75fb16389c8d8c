//! Crews to simulate, and what their roles hand off.

use std::collections::BTreeMap;
use std::sync::Arc;

use adjutant_core::crew::{Crew, CrewSetup};
use adjutant_core::gate::checks::Checks;
use adjutant_core::gate::custom_role::{CustomRoles, Member};
use adjutant_core::procedure::run::Run;
use adjutant_core::session::Setup;
use adjutant_core::words::Part;
use adjutant_core::words::role::Role;
use serde_json::{Value, json};

use crate::scene::StagedTurn;

/// Returns the setup of a crew of these roles.
#[must_use]
pub fn crew_setup(base: Setup, roles: &[Role]) -> CrewSetup {
    CrewSetup {
        base,
        roles: roles.iter().map(|role| Member::from(*role)).collect(),
        custom_roles: CustomRoles::new(),
        role_grants: BTreeMap::new(),
        agents: BTreeMap::new(),
        role_budgets: BTreeMap::new(),
        checks: Checks::default(),
        retries_max: 1,
        is_blind: false,
        plans_only: false,
        learned: None,
        limits_calls: false,
    }
}

/// Returns a run of a crew.
#[must_use]
pub fn crew(setup: &Arc<CrewSetup>) -> Run<Crew> {
    let part = Part::root().child("crew");
    Run::new(Crew::new(setup.clone(), part.clone()), part)
}

fn handing_off(handoff: &Value) -> StagedTurn {
    StagedTurn::says(&format!("Here.\n```json\n{handoff}\n```\n"))
}

/// Returns a turn that hands off a plan of these sub-tasks.
#[must_use]
pub fn planning(ids: &[&str]) -> StagedTurn {
    let subtask =
        |id: &&str| json!({"id": id, "title": id, "instruction": format!("do {id}"), "acceptance_criteria": ["ok"]});
    let subtasks: Vec<Value> = ids.iter().map(subtask).collect();
    handing_off(&json!({"kind": "plan", "subtasks": subtasks, "rationale": "r"}))
}

/// Returns a turn that hands off a sub-task that is done.
#[must_use]
pub fn executing(id: &str) -> StagedTurn {
    handing_off(&json!({"kind": "execution", "subtask_id": id, "output": id, "notes": "n"}))
}

/// Returns a turn that hands off a judge's verdict on a sub-task.
#[must_use]
pub fn reviewing(id: &str, verdict: &str) -> StagedTurn {
    handing_off(&json!({"kind": "review", "subtask_id": id, "verdict": verdict, "rationale": verdict}))
}
