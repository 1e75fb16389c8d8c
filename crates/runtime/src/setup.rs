//! What a session is made with, from a brief and the options of a run.

use std::str::FromStr;

use adjutant_core::brief::Brief;
use adjutant_core::gate::shell::Programs;
use adjutant_core::gate::{Places, Untrusted};
use adjutant_core::session::detect::{Detector, Sensitivities, Sensitivity};
use adjutant_core::session::{AgentLimits, OUTPUT_TOKENS_MAX, Setup, Task, standing_orders};
use adjutant_core::tool::ToolSpecs;
use adjutant_core::trace::{AgentOptions, RunOptions};

/// The setup of a session that works alone on `brief`.
///
/// Options come first: they already hold what flags, environment, brief and configuration say together.
/// A detector or sensitivity that this version does not know stays at its default, and so does one that is
/// critical to safety and was to be disabled.
#[must_use]
pub fn session_setup(brief: &Brief, options: &RunOptions, tools: ToolSpecs) -> Setup {
    let mut sensitivities = Sensitivities::default();
    for (detector, sensitivity) in &options.detectors {
        if let (Ok(detector), Ok(sensitivity)) = (Detector::from_str(detector), Sensitivity::from_str(sensitivity)) {
            // C3: a session whose completion is not read could never end.
            let left_out = sensitivity == Sensitivity::Disabled && detector.is_safety_critical();
            if !left_out {
                sensitivities = sensitivities.with(detector, sensitivity);
            }
        }
    }
    let places = Places {
        workdir: options.workdir.clone(),
        home: options.home.clone(),
        runtime_home: options.runtime_home.clone(),
    };
    Setup {
        standing_orders: standing_orders::text().to_owned(),
        brief: brief.render(),
        authorized: brief.authorized_costs.clone(),
        approved: Vec::new(),
        scope: brief.scope.placed(&places),
        places,
        scope_locked: brief.scope_locked,
        deadline: brief.deadline.map(|deadline| (deadline.to_string(), deadline.ends_at())),
        mode: options.mode,
        max_steps: options.max_steps,
        sensitivities,
        shell_disabled: options.no_shell,
        untrusted: Untrusted {
            after: options.after_untrusted.unwrap_or_default(),
            tools: options.untrusted_tools.clone(),
        },
        programs: Programs::recorded(&options.programs),
        hooks: options.hooks.clone(),
        role: None,
        task: Task::Brief,
        tools,
        agents: (0..).zip(&options.agents()).map(|(place, agent)| limits(place, agent)).collect(),
        budget: options.budget,
    }
}

/// What an agent can take, as the options have it.
fn limits(place: u32, agent: &AgentOptions) -> AgentLimits {
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
            assert_eq!(setup.sensitivities.of(detector), expected, "{detector}");
        }
    }
}
