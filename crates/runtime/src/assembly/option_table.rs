//! The options of a run, a row each: every place where one can be set, and where it shows.
//!
//! Core's rules for redaction, which name every field, say which of them are content.

use super::settings::SettingsError;
use super::sourced::{SourcedCandidate, set};
use super::surroundings::Environment;

/// An option of a run. A place where it can't be set is absent.
#[derive(Debug, Clone, Copy)]
pub struct OptionRow {
    /// The name of its line in `doctor`.
    pub name: &'static str,
    /// The flag of `adjutant run`.
    pub flag: Option<&'static str>,
    /// The variable of the environment.
    pub variable: Option<VariableRow>,
    /// The field of a brief, or of its `budgets`.
    pub field: Option<&'static str>,
    /// The key of a configuration.
    pub key: Option<&'static str>,
    /// The field of the run's options in its journal.
    pub recorded: &'static str,
}

/// A variable of the environment that sets an option.
#[derive(Debug, Clone, Copy)]
pub struct VariableRow {
    /// The variable.
    pub name: &'static str,
    /// The values that it may have, for an operator whose value is none of them.
    pub expected: &'static str,
}

/// Everything that can be set for a run, in the order of [`RunSettings`](super::RunSettings).
pub const RUN_OPTIONS: [&OptionRow; 30] = [
    &MODE, &WORKDIR, &NO_SHELL, &MAX_STEPS, &ADAPTER, &MODEL, &SCRIPT, &DETECTORS, &BASE_URL, &FALLBACK, &MAX_TOKENS,
    &MAX_MINUTES, &MAX_DOLLARS, &MAX_TURNS, &PATIENCE, &EFFORT, &THINKING_TOKENS, &ANSWER_WITHIN, &ROLES,
    &ROLE_ADAPTERS, &BLIND_CRITIC, &AFTER_UNTRUSTED, &UNTRUSTED_TOOLS, &PLAIN_RESULTS, &RESULT_BYTES_MAX, &HOOKS,
    &PROGRAMS, &SHELL_ALLOW, &SHELL_DENY, &DENY_READ,
];

const NUMBER: &str = "a number from 1";

/// A row of an option with one name everywhere, which can't be set anywhere yet.
const fn row(name: &'static str) -> OptionRow {
    OptionRow { name, flag: None, variable: None, field: None, key: None, recorded: name }
}

const fn variable(name: &'static str, expected: &'static str) -> Option<VariableRow> {
    Some(VariableRow { name, expected })
}

/// The mode: how far the agent goes on its own.
pub const MODE: OptionRow = OptionRow {
    flag: Some("--mode"),
    variable: variable("ADJUTANT_MODE", "`gated` or `auto`"),
    field: Some("mode"),
    key: Some("mode"),
    ..row("mode")
};

/// The folder that tools work in.
pub const WORKDIR: OptionRow = OptionRow { flag: Some("--workdir"), field: Some("workdir"), ..row("workdir") };

/// True if `shell_exec` is switched off.
pub const NO_SHELL: OptionRow = OptionRow { flag: Some("--no-shell"), key: Some("no_shell"), ..row("no_shell") };

/// The steps that a session may take before a person is asked.
pub const MAX_STEPS: OptionRow = OptionRow {
    flag: Some("--max-steps"),
    variable: variable("ADJUTANT_MAX_STEPS", NUMBER),
    field: Some("max_steps"),
    key: Some("max_steps"),
    ..row("max_steps")
};

/// The adapter that takes the turns.
pub const ADAPTER: OptionRow = OptionRow {
    flag: Some("--adapter"),
    variable: variable("ADJUTANT_ADAPTER", "an adapter"),
    field: Some("adapter"),
    key: Some("adapter"),
    ..row("adapter")
};

/// The adapter's model.
pub const MODEL: OptionRow = OptionRow {
    flag: Some("--model"),
    variable: variable("ADJUTANT_MODEL", "a model"),
    field: Some("model"),
    key: Some("model"),
    ..row("model")
};

/// The script of a scripted agent, or the recording that is played.
pub const SCRIPT: OptionRow = OptionRow { flag: Some("--script"), field: Some("script"), ..row("script") };

/// Detectors that are not at their default.
pub const DETECTORS: OptionRow = OptionRow { field: Some("detectors"), key: Some("detectors"), ..row("detectors") };

/// The address of the adapter's API. A configuration has it for each adapter.
pub const BASE_URL: OptionRow = OptionRow { flag: Some("--base-url"), ..row("base_url") };

/// The adapters that take the turns when the first can't.
pub const FALLBACK: OptionRow = OptionRow {
    flag: Some("--fallback"),
    variable: variable("ADJUTANT_FALLBACK", "a list of adapters"),
    field: Some("fallback"),
    key: Some("fallback"),
    ..row("fallback")
};

/// The most tokens of the run.
pub const MAX_TOKENS: OptionRow = OptionRow {
    flag: Some("--max-tokens"),
    variable: variable("ADJUTANT_MAX_TOKENS", NUMBER),
    field: Some("max_tokens"),
    key: Some("max_tokens"),
    recorded: "budget",
    ..row("max_tokens")
};

/// The most minutes of the run.
pub const MAX_MINUTES: OptionRow = OptionRow {
    flag: Some("--max-minutes"),
    variable: variable("ADJUTANT_MAX_MINUTES", NUMBER),
    field: Some("max_wall_clock_minutes"),
    key: Some("max_minutes"),
    recorded: "budget",
    ..row("max_minutes")
};

/// The most that the run may cost.
pub const MAX_DOLLARS: OptionRow = OptionRow {
    flag: Some("--max-dollars"),
    variable: variable("ADJUTANT_MAX_DOLLARS", "dollars such as 2.50"),
    field: Some("max_dollars"),
    key: Some("max_dollars"),
    recorded: "budget",
    ..row("max_dollars")
};

/// The most turns of the run.
pub const MAX_TURNS: OptionRow = OptionRow {
    flag: Some("--max-turns"),
    variable: variable("ADJUTANT_MAX_TURNS", NUMBER),
    field: Some("max_turns"),
    key: Some("max_turns"),
    recorded: "budget",
    ..row("max_turns")
};

/// The minutes that a provider that fails is waited for.
pub const PATIENCE: OptionRow = OptionRow {
    flag: Some("--patience"),
    variable: variable("ADJUTANT_PATIENCE", "a number of minutes"),
    field: Some("patience"),
    key: Some("patience"),
    recorded: "patience_ms",
    ..row("patience")
};

/// The effort that the model is asked for.
pub const EFFORT: OptionRow = OptionRow {
    flag: Some("--effort"),
    variable: variable("ADJUTANT_EFFORT", "`low`, `medium`, `high` or `max`"),
    field: Some("effort"),
    key: Some("effort"),
    ..row("effort")
};

/// The tokens that it may think for in one reply.
pub const THINKING_TOKENS: OptionRow = OptionRow {
    flag: Some("--thinking-tokens"),
    variable: variable("ADJUTANT_THINKING_TOKENS", NUMBER),
    field: Some("thinking_tokens"),
    key: Some("thinking_tokens"),
    ..row("thinking_tokens")
};

/// The minutes that a question waits before its default holds.
pub const ANSWER_WITHIN: OptionRow =
    OptionRow { flag: Some("--answer-within"), recorded: "answer_within_ms", ..row("answer_within") };

/// The roles of a crew.
pub const ROLES: OptionRow = OptionRow { flag: Some("--roles"), field: Some("roles"), ..row("roles") };

/// The adapters that play single roles.
pub const ROLE_ADAPTERS: OptionRow = OptionRow {
    flag: Some("--role-adapter"),
    field: Some("role_adapters"),
    recorded: "role_agents",
    ..row("role_adapters")
};

/// True if the critic judges without the executor's account.
pub const BLIND_CRITIC: OptionRow = OptionRow { flag: Some("--blind-critic"), ..row("blind_critic") };

/// The rule for a call that follows text from outside.
pub const AFTER_UNTRUSTED: OptionRow = OptionRow { key: Some("after_untrusted"), ..row("after_untrusted") };

/// Tools whose results count as text from outside.
pub const UNTRUSTED_TOOLS: OptionRow = OptionRow { key: Some("untrusted_tools"), ..row("untrusted_tools") };

/// True if results are sent to agents without a fence.
pub const PLAIN_RESULTS: OptionRow = OptionRow { key: Some("plain_results"), ..row("plain_results") };

/// The bytes of a tool's result that are sent to an agent.
pub const RESULT_BYTES_MAX: OptionRow = OptionRow { key: Some("result_bytes_max"), ..row("result_bytes_max") };

/// The guard hooks.
pub const HOOKS: OptionRow = OptionRow { key: Some("hooks"), ..row("hooks") };

/// The operator's entries about programs and what they do.
pub const PROGRAMS: OptionRow = OptionRow { key: Some("programs"), ..row("programs") };

/// Rules about single commands that allow what isn't known.
pub const SHELL_ALLOW: OptionRow = OptionRow { key: Some("shell_allow"), ..row("shell_allow") };

/// Rules about single commands that deny.
pub const SHELL_DENY: OptionRow = OptionRow { key: Some("shell_deny"), ..row("shell_deny") };

/// Paths that no agent may read.
pub const DENY_READ: OptionRow = OptionRow { key: Some("deny_read"), ..row("deny_read") };

impl OptionRow {
    /// A candidate that was given for this run, by the flag.
    pub(super) fn of_flag<T>(&self, value: Option<T>) -> SourcedCandidate<T> {
        set(value, self.flag.unwrap_or(self.name))
    }

    /// A candidate from the variable of the environment, as `read` reads it.
    ///
    /// # Errors
    ///
    /// [`SettingsError::Variable`] if it can't be read: that is the operator's to mend.
    pub(super) fn of_variable<T>(
        &self,
        environment: &Environment,
        read: impl Fn(&str) -> Option<T>,
    ) -> Result<SourcedCandidate<T>, SettingsError> {
        let Some(VariableRow { name, expected }) = self.variable else { return Ok(None) };
        let Some(found) = environment.variable(name) else { return Ok(None) };
        match read(&found) {
            Some(value) => Ok(Some((value, name.to_owned()))),
            None => Err(SettingsError::Variable { name, expected, found }),
        }
    }
}
