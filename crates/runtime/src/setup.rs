//! What a session is made with, from a brief and the options of a run.

use std::str::FromStr;

use adjutant_core::brief::Brief;
use adjutant_core::session::detect::{Detector, Sensitivities, Sensitivity};
use adjutant_core::session::{Setup, standing_orders};
use adjutant_core::tool::ToolSpecs;
use adjutant_core::trace::RunOptions;

/// The setup of a session that works alone on `brief`.
///
/// Options come first: they already hold what flags, environment, brief and configuration say together.
/// A detector or sensitivity that this version does not know stays at its default.
#[must_use]
pub fn session_setup(brief: &Brief, options: &RunOptions, tools: ToolSpecs) -> Setup {
    let mut sensitivities = Sensitivities::default();
    for (detector, sensitivity) in &options.detectors {
        if let (Ok(detector), Ok(sensitivity)) = (Detector::from_str(detector), Sensitivity::from_str(sensitivity)) {
            sensitivities = sensitivities.with(detector, sensitivity);
        }
    }
    Setup {
        standing_orders: standing_orders::text().to_owned(),
        brief: brief.render(),
        authorized: brief.authorized_costs.clone(),
        scope_locked: brief.scope_locked,
        deadline: brief.deadline.map(|deadline| (deadline.to_string(), deadline.ends_at())),
        mode: options.mode,
        max_steps: options.max_steps,
        sensitivities,
        shell_disabled: options.no_shell,
        role: None,
        tools,
    }
}
