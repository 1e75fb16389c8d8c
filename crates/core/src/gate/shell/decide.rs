//! The shell reader from a shell: JSON in, JSON out.

use serde::Deserialize;
use serde_json::{Value, json};

use super::{Dialect, Programs, ShellContext, read};
use crate::gate::category::{Category, SHELL_EXEC};
use crate::gate::effect::{Effect, Verdict, categories};
use crate::gate::places::Places;

#[derive(Deserialize)]
struct Input {
    command: String,
    cwd: Option<String>,
    shell: Option<String>,
    places: Option<Places>,
}

/// Reads `{command, cwd?, shell?, places?}` and gives `{verdict, categories, effects, findings, runs}`.
///
/// `shell` is bash if absent; `cwd` is the workdir if absent. `null` counts as absent for all but `command`.
///
/// # Errors
///
/// A sentence that names what is missing or mistyped in the input.
pub fn decide(input: &Value) -> Result<Value, String> {
    let input = Input::deserialize(input).map_err(|error| format!("can't read the command: {error}"))?;
    let places = input.places.unwrap_or_default();
    let folder = places.plain(".", input.cwd.as_deref().unwrap_or("."));
    let reading = read(
        &input.command,
        &ShellContext {
            shell: input.shell.as_deref().map_or(Dialect::Bash, Dialect::of),
            folder: &folder,
            places: &places,
            programs: Programs::builtin(),
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
