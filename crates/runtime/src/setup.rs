//! Builds a session's setup from a brief and the options of a run.

use std::collections::BTreeSet;
use std::str::FromStr;
use std::sync::Arc;

use adjutant_core::brief::{BUDGET_MAX_RETRIES_PER_SUBTASK, Brief};
use adjutant_core::crew::{Crew, CrewSetup};
use adjutant_core::detect::{Detector, Sensitivities, Sensitivity};
use adjutant_core::gate::checks::Checks;
use adjutant_core::gate::custom_role::Member;
use adjutant_core::gate::shell::Programs;
use adjutant_core::gate::{Places, Untrusted};
use adjutant_core::procedure::run::Run;
use adjutant_core::session::{AgentLimits, LearnedLimits, OUTPUT_TOKENS_MAX, Session, Setup, Task, standing_orders};
use adjutant_core::session::{PATIENCE_ALONE_MS, PATIENCE_ATTENDED_MS};
use adjutant_core::supervise::{GoalLoop, LoopSetup};
use adjutant_core::trace::{AgentOptions, CrewOptions, LoopOptions, RunOptions, WorkOptions};
use adjutant_core::words::role::RoleName;
use adjutant_core::words::tool::ToolSpecs;
use adjutant_core::words::{Budget, Part};
use adjutant_core::work::Work;

/// The setup of a session that works alone on `brief`.
///
/// Options come first: they already hold what flags, environment, brief and configuration say together.
/// A detector or sensitivity that this version does not know stays at its default.
#[must_use]
pub fn session_setup(brief: &Brief, options: &RunOptions, tools: ToolSpecs) -> Setup {
    let places = Places {
        workdir: options.workdir.clone(),
        home: options.home.clone(),
        runtime_home: options.runtime_home.clone(),
        project: brief.project.to_string(),
    };
    Setup {
        standing_orders: standing_orders::text().to_owned(),
        brief: brief.render(),
        authorized: brief.authorized_costs.clone(),
        scope: brief.scope.placed(&places),
        places,
        scope_locked: brief.scope_locked,
        deadline: brief.deadline.map(|deadline| (deadline.to_string(), deadline.ends_at())),
        mode: options.mode,
        max_steps: options.max_steps,
        sensitivities: sensitivities(options),
        shell_disabled: options.no_shell,
        untrusted: Untrusted {
            after: options.after_untrusted.unwrap_or_default(),
            tools: options.untrusted_tools.clone(),
        },
        programs: Programs::recorded(&options.programs, options.command_rules()),
        hooks: options.hooks.clone(),
        role: None,
        checks: None,
        end_checks: Checks::new(brief.checks.clone()),
        task: Task::Brief,
        only_reads: false,
        tools,
        result_bytes_max: options.result_bytes_max,
        agents: (0..).zip(&options.agents()).take(1 + options.fallback.len()).map(limits).collect(),
        answer_within_ms: options.answer_within_ms,
        patience_ms: options.patience_ms.unwrap_or(if options.unattended {
            PATIENCE_ALONE_MS
        } else {
            PATIENCE_ATTENDED_MS
        }),
        budget: options.budget,
        is_free_in_calls: false,
        role_budget: Budget::default(),
        learned: options.learned.as_ref().map(|learned| LearnedLimits {
            slug: learned.slug.clone(),
            phase_calls: learned.phase_calls.clone(),
            session: Budget::default(),
            is_overruled: brief.budgets.max_tool_calls_per_subtask.is_some(),
            is_overruled_for_calls: false,
        }),
    }
}

/// The names of the tools that the agents of a run are offered, in order.
#[must_use]
pub fn offered_tools(brief: &Brief, options: &RunOptions, tools: ToolSpecs) -> Vec<String> {
    let offered: BTreeSet<String> = match &options.work {
        WorkOptions::Session { .. } => tools.iter().map(|tool| tool.name.clone()).collect(),
        WorkOptions::Crew(crew) => crew_setup(brief, options, crew, tools).offered(),
        WorkOptions::Loop { .. } => tools.iter().map(|tool| tool.name.clone()).collect(),
    };
    offered.into_iter().collect()
}

/// Returns the sensitivity of the detectors that the options ask for. The session may raise it: no session runs without
/// a detector that it needs.
#[must_use]
pub fn sensitivities(options: &RunOptions) -> Sensitivities {
    let mut sensitivities = Sensitivities::default();
    for (detector, sensitivity) in &options.detectors {
        if let (Ok(detector), Ok(sensitivity)) = (Detector::from_str(detector), Sensitivity::from_str(sensitivity)) {
            sensitivities = sensitivities.with(detector, sensitivity);
        }
    }
    sensitivities
}

/// Returns the setup of the crew that works on `brief`. An undefined role is not played.
#[must_use]
pub fn crew_setup(brief: &Brief, options: &RunOptions, crew: &CrewOptions, tools: ToolSpecs) -> CrewSetup {
    let all = options.agents();
    let own = |role: &RoleName| {
        let place = options.place_of(role)?;
        let agent = all.get(place)?;
        // One that thinks harder for the role, and is otherwise the run's own, has whom that falls back on.
        let is_runs_own = AgentOptions { effort: options.agent.effort, ..agent.clone() } == options.agent;
        let fallback = (1..).zip(&options.fallback).filter(|_| is_runs_own);
        let agents = std::iter::once((u32::try_from(place).ok()?, agent)).chain(fallback);
        Some((role.clone(), agents.map(limits).collect()))
    };
    CrewSetup {
        base: session_setup(brief, options, tools),
        roles: crew.roles.iter().filter_map(|role| Member::of(role, &crew.custom_roles)).collect(),
        custom_roles: crew.custom_roles.clone(),
        role_grants: brief.role_grants.iter().map(|(role, grant)| (role.clone(), grant.clone())).collect(),
        agents: crew.role_agents.keys().filter_map(own).collect(),
        role_budgets: crew.role_budgets.clone(),
        checks: Checks::new(brief.checks.clone()),
        retries_max: crew.retries_max.unwrap_or(BUDGET_MAX_RETRIES_PER_SUBTASK),
        is_blind: crew.blind_critic,
        plans_only: crew.plans_only,
        learned: options.learned.clone(),
        limits_calls: brief.budgets.max_tool_calls_per_subtask.is_some(),
    }
}

/// Returns the setup of the loop that works on `brief`.
#[must_use]
pub fn loop_setup(brief: &Brief, options: &RunOptions, looped: &LoopOptions, tools: ToolSpecs) -> LoopSetup {
    let first_voter = 1 + options.fallback.len();
    LoopSetup {
        base: session_setup(brief, options, tools),
        options: looped.clone(),
        checks: Checks::new(brief.checks.clone()),
        expected_files: brief.expected_files.clone(),
        protected_tests: brief.protected_tests.clone(),
        voters: (0..).zip(&options.agents()).skip(first_voter).map(limits).collect(),
    }
}

/// The work of a run, as its options say what it is.
#[must_use]
pub fn work(brief: &Brief, options: &RunOptions, tools: ToolSpecs) -> Run<Work> {
    let root = Part::root();
    match &options.work {
        WorkOptions::Session { .. } => {
            let part = root.child("session");
            let session = Session::new(Arc::new(session_setup(brief, options, tools)), part.clone());
            Run::new(Work::Alone(Box::new(session)), part)
        }
        WorkOptions::Crew(crew) => {
            let part = root.child("crew");
            let crew = Crew::new(Arc::new(crew_setup(brief, options, crew, tools)), part.clone());
            Run::new(Work::Crew(Box::new(crew)), part)
        }
        WorkOptions::Loop { options: looped, .. } => {
            let part = root.child("loop");
            let work = GoalLoop::new(Arc::new(loop_setup(brief, options, looped, tools)), part.clone());
            Run::new(Work::Loop(Box::new(work)), part)
        }
    }
}

/// Returns the limits of an agent that the options give.
fn limits((place, agent): (u32, &AgentOptions)) -> AgentLimits {
    AgentLimits {
        place,
        name: agent.name(),
        window: agent.window,
        output_max: agent.output_tokens_max.unwrap_or(OUTPUT_TOKENS_MAX),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c3_a_session_never_runs_without_a_detector_that_it_needs_to_end_or_halt() {
        let text = "---\nproject: p\n---\n# Objective\na\n# Deliverables\nb\n";
        let brief = adjutant_core::brief::read(text).brief.expect("a valid brief");
        let disabled = Detector::ALL.map(|detector| (detector.name().to_owned(), "disabled".to_owned()));
        let options = RunOptions { detectors: disabled.into(), ..RunOptions::default() };
        let setup = session_setup(&brief, &options, Vec::new().into());
        for detector in Detector::ALL {
            let expected = if detector.is_safety_critical() { Sensitivity::Default } else { Sensitivity::Disabled };
            assert_eq!(setup.sensitivities.in_session().of(detector), expected, "{detector}");
            assert_eq!(setup.sensitivities.of(detector), Sensitivity::Disabled, "what was asked for is on record");
        }
    }
}
