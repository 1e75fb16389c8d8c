//! The shell reader from a shell: JSON in, JSON out.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};

use super::{Dialect, ProgramEntry, Programs, RuleTexts, ShellContext, read};
use crate::gate::effect::{Effect, Verdict, categories};
use crate::gate::places::Places;
use crate::words::Category;
use crate::words::category::SHELL_EXEC;

#[derive(Deserialize)]
// Error messages name the type: the name is pinned.
#[serde(rename = "Input")]
struct ShellInput {
    command: String,
    cwd: Option<String>,
    shell: Option<String>,
    places: Option<Places>,
    programs: Option<Vec<ProgramEntry>>,
    shell_allow: Option<Vec<String>>,
    shell_deny: Option<Vec<String>>,
}

/// Reads `{command, cwd?, shell?, places?, programs?, shell_allow?, shell_deny?}` and gives `{verdict, categories,
/// effects, findings, runs}`.
///
/// `shell` is bash if absent; `cwd` is the workdir if absent. `null` counts as absent for all but `command`.
///
/// # Errors
///
/// A sentence that names what is missing or mistyped in the input, or which of its `programs` can't be added.
pub fn decide(input: &Value) -> Result<Value, String> {
    let input = ShellInput::deserialize(input).map_err(|error| format!("can't read the command: {error}"))?;
    let places = input.places.unwrap_or_default();
    let folder = places.plain(".", input.cwd.as_deref().unwrap_or("."));
    let rules = RuleTexts {
        allow: input.shell_allow.as_deref().unwrap_or_default(),
        deny: input.shell_deny.as_deref().unwrap_or_default(),
        deny_read: &[],
    };
    let programs = table(input.programs.as_deref(), rules)?;
    let reading = read(
        &input.command,
        &ShellContext {
            shell: input.shell.as_deref().map_or(Dialect::Bash, Dialect::of),
            folder: &folder,
            places: &places,
            programs: &programs,
        },
    );
    let mut required = vec![Category::new(SHELL_EXEC)];
    required.extend(categories(&reading.effects));
    let findings: Vec<Value> =
        reading.effects.iter().filter(|effect| effect.verdict > Verdict::Safe).map(finding).collect();
    Ok(json!({
        "verdict": reading.verdict(),
        "categories": required,
        "effects": reading.effects,
        "findings": findings,
        "runs": reading.runs,
    }))
}

/// The table with what an input adds to it, under the rules that it names.
pub(in crate::gate) fn table(
    additions: Option<&[ProgramEntry]>,
    rules: RuleTexts<'_>,
) -> Result<Arc<Programs>, String> {
    let programs = match additions.unwrap_or_default() {
        [] => Arc::clone(Programs::builtin()),
        additions => Arc::new(Programs::builtin().with(additions).map_err(|error| error.to_string())?),
    };
    programs.under(rules).map_err(|error| error.to_string())
}

fn finding(effect: &Effect) -> Value {
    json!({
        "layer": "call",
        "category": effect.category,
        "matched": effect.matched,
        "reason": effect.reason,
        "would_allow": format!(
            "an operator's yes to this call, or `{}` in the brief's `authorized_costs`",
            effect.category
        ),
    })
}
