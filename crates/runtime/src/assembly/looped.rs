//! The settings of a loop, from flags, environment and configuration together.

use adjutant_core::supervise::knobs::{KnobFault, StuckKnobs};
use adjutant_core::trace::{LoopOptions, OnStuck, StuckOptions};
use adjutant_store::config::Config;

use super::surroundings::Environment;

/// Number of iterations that a loop may take if nothing else is said.
pub const ITERATIONS_DEFAULT: u32 = 25;
/// Number of iterations from one judgement of completion to the next if nobody claims it.
pub const CHECK_INTERVAL_DEFAULT: u32 = 5;
/// The first iteration after which completion may be judged.
pub const MIN_ITERATIONS_DEFAULT: u32 = 1;
/// Number of voters in a council.
pub const COUNCIL_DEFAULT: u32 = 3;
/// The most voters of a council.
pub const COUNCIL_MAX: u32 = 15;
/// Number of times that completion may be claimed.
pub const DONE_SIGNAL_LIMIT_DEFAULT: u32 = 10;

/// Variables of the environment for the thresholds of escalation begin so.
pub const UNCERTAINTY_VARIABLES: &str = "ADJUTANT_UNCERTAINTY_";
/// Variables of the environment for everything else of a loop begin so.
pub const LOOP_VARIABLES: &str = "ADJUTANT_LOOP_";

/// The settings whose variables have the names of the rule's first publication.
const OF_ESCALATION: [&str; 6] = ["escalation", "rounds", "nochange_min", "split_rounds", "evaluation_age", "cooldown"];

/// Settings of a loop that were given for it alone.
#[derive(Debug, Default, Clone)]
pub struct LoopOverrides {
    /// Number of iterations that it may take.
    pub iterations: Option<u32>,
    /// Number of voters in the council.
    pub council: Option<u32>,
    /// True if completion is never judged.
    pub is_perpetual: bool,
    /// What it does while it is stuck.
    pub on_stuck: Option<OnStuck>,
    /// The adapters of the voters, in turn, each with or without `:model`.
    pub voters: Vec<String>,
}

/// The settings of a loop.
#[derive(Debug, Clone)]
pub struct LoopSettings {
    /// Its options, without the agents of its voters.
    pub options: LoopOptions,
    /// The adapters of its voters.
    pub voters: Vec<String>,
    /// Values that could not be read, so that their defaults hold: a sentence each.
    pub faults: Vec<String>,
}

impl LoopSettings {
    /// Combines everything: what was given for the loop, then the environment, then the configuration, then defaults.
    #[must_use]
    pub fn of(typed: &LoopOverrides, environment: &Environment, config: &Config) -> Self {
        let given = |name: &str| {
            let prefix = if OF_ESCALATION.contains(&name) { UNCERTAINTY_VARIABLES } else { LOOP_VARIABLES };
            let variable = format!("{prefix}{}", name.to_uppercase());
            let of_environment = environment.variable(&variable).filter(|value| !value.trim().is_empty());
            of_environment
                .map(|value| (value, variable))
                .or_else(|| config.looped.get(name).map(|set| (set.value.clone(), set.from.to_string())))
        };
        let mut faults = Vec::new();
        let told = |faults: &mut Vec<String>, fault: &KnobFault| {
            let from = given(fault.name).map(|(_, from)| from).unwrap_or_default();
            faults.push(format!(
                "`{}` must be {}, not `{}` (from {from}): {} holds",
                fault.name, fault.allowed, fault.given, fault.used
            ));
        };
        let (knobs, found) = StuckKnobs::read(|name| given(name).map(|(value, _)| value));
        found.iter().for_each(|fault| told(&mut faults, fault));
        let mut number = |name: &'static str, least: u32, most: u32, default: u32| {
            let Some((value, _)) = given(name) else { return default };
            match value.trim().parse() {
                Ok(number) if (least..=most).contains(&number) => number,
                _ => {
                    let allowed = if least == 0 { "a whole number up to 15" } else { "a whole number above 0" };
                    let used = default.to_string();
                    told(&mut faults, &KnobFault { name, given: value, allowed, used });
                    default
                }
            }
        };
        let iterations = number("iterations", 1, u32::MAX, ITERATIONS_DEFAULT);
        let check_interval = number("check_interval", 1, u32::MAX, CHECK_INTERVAL_DEFAULT);
        let min_iterations = number("min_iterations", 1, u32::MAX, MIN_ITERATIONS_DEFAULT);
        let council = number("council", 0, COUNCIL_MAX, COUNCIL_DEFAULT);
        let done_signal_limit = number("done_signal_limit", 1, u32::MAX, DONE_SIGNAL_LIMIT_DEFAULT);
        let on_stuck =
            word(&given, &mut faults, "on_stuck", OnStuck::Auto, "`auto`, `halt` or `notify`", |word| match word {
                "auto" => Some(OnStuck::Auto),
                "halt" => Some(OnStuck::Halt),
                "notify" => Some(OnStuck::Notify),
                _ => None,
            });
        let checkpoints = word(&given, &mut faults, "checkpoints", true, "`on` or `off`", |word| match word {
            "on" | "true" | "1" | "yes" => Some(true),
            "off" | "false" | "0" | "no" => Some(false),
            _ => None,
        });
        let options = LoopOptions {
            iterations_max: typed.iterations.unwrap_or(iterations),
            check_interval,
            min_iterations,
            council: typed.council.unwrap_or(council),
            stagnation_limit: knobs.stagnation_limit,
            done_signal_limit,
            stuck: knobs.is_enabled.then_some(StuckOptions {
                rounds: knobs.rounds,
                nochange_min: knobs.nochange_min,
                split_rounds: knobs.split_rounds,
                evaluation_age: knobs.evaluation_age,
                cooldown: knobs.cooldown,
            }),
            on_stuck: typed.on_stuck.unwrap_or(on_stuck),
            is_perpetual: typed.is_perpetual,
            checkpoints,
            voters: Vec::new(),
        };
        Self { options, voters: typed.voters.clone(), faults }
    }
}

/// Reads a word; what can't be read is told, and the default holds.
fn word<T>(
    given: &dyn Fn(&str) -> Option<(String, String)>,
    faults: &mut Vec<String>,
    name: &str,
    default: T,
    allowed: &str,
    read: fn(&str) -> Option<T>,
) -> T {
    let Some((value, from)) = given(name) else { return default };
    read(value.trim().to_lowercase().as_str()).unwrap_or_else(|| {
        faults.push(format!("`{name}` must be {allowed}, not `{value}` (from {from}): the default holds"));
        default
    })
}
