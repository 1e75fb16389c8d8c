//! The gate from the shell: JSON in, JSON out.

use serde::Deserialize;
use serde_json::Value;

use super::category::Category;
use super::decision::{Request, judge};
use super::effects::effects_of;
use super::native;
use super::places::Places;
use super::role_limit::RoleLimit;
use crate::role::Role;

#[derive(Deserialize)]
struct Input {
    tool: String,
    #[serde(default)]
    arguments: Value,
    authorized_costs: Option<Vec<Category>>,
    session_approved: Option<Vec<Category>>,
    #[serde(default)]
    approved_call: bool,
    #[serde(default)]
    shell_disabled: bool,
    #[serde(default)]
    role: Value,
    places: Option<Places>,
}

/// Judges `{tool, arguments, authorized_costs, session_approved?, approved_call?, shell_disabled?,
/// role?, places?}` and gives `{decision, required, missing, layer, reason, would_allow}`.
///
/// `role` is one of [`Role::WORDS`], or a role `{name, may_hold, may_read}`.
/// `null` counts as absent for all but `tool` and the two flags.
///
/// # Errors
///
/// A sentence that names what is missing, mistyped or unknown in the input.
pub fn decide(input: &Value) -> Result<Value, String> {
    let input = Input::deserialize(input).map_err(|error| format!("can't read the call: {error}"))?;
    let role = role(&input.role)?;
    let categories = native::categories(&input.tool).map_err(|error| error.to_string())?;
    let decision = judge(&Request {
        tool: &input.tool,
        categories: &categories,
        effects: &effects_of(&input.tool, &input.arguments, &input.places.unwrap_or_default()),
        role: role.as_ref(),
        authorized: &input.authorized_costs.unwrap_or_default(),
        approved_for_run: &input.session_approved.unwrap_or_default(),
        call_is_approved: input.approved_call,
        shell_is_disabled: input.shell_disabled,
    });
    serde_json::to_value(decision).map_err(|error| format!("can't write the decision: {error}"))
}

fn role(given: &Value) -> Result<Option<RoleLimit>, String> {
    match given {
        Value::Null => Ok(None),
        Value::String(name) => Role::from_word(name).map(|role| Some(RoleLimit::of(role))).ok_or_else(|| {
            format!("`{name}` is no role that needs no definition: there are {}", Role::WORDS.join(", "))
        }),
        defined => RoleLimit::deserialize(defined).map(Some).map_err(|error| format!("can't read the role: {error}")),
    }
}
