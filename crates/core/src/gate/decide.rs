//! The gate from the shell: JSON in, JSON out.

use serde::Deserialize;
use serde_json::Value;

use super::decision::{GateRequest, judge};
use super::grant::{Grant, Subject};
use super::native;
use super::places::Places;
use super::resolved::effects_of_call;
use super::role_limit::RoleLimit;
use super::scope::{self, Scope, ScopeWords};
use super::shell;
use crate::words::Category;
use crate::words::role::Role;
use crate::words::tool::{ResolvedPath, ToolCall};

#[derive(Deserialize)]
// Error messages name the type: the name is pinned.
#[serde(rename = "Input")]
struct GateInput {
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
    missing_walls: Vec<String>,
    resolved: Option<Vec<ResolvedPath>>,
    #[serde(default)]
    role: Value,
    places: Option<Places>,
    grants: Option<Vec<Grant>>,
    programs: Option<Vec<shell::ProgramEntry>>,
    shell_allow: Option<Vec<String>>,
    shell_deny: Option<Vec<String>>,
    deny_read: Option<Vec<String>>,
    #[serde(default)]
    scope: Value,
    #[serde(default)]
    scope_locked: bool,
}

/// Judges `{tool, arguments, authorized_costs, session_approved?, approved_call?, shell_disabled?,
/// missing_walls?, resolved?, role?, places?, grants?, programs?, shell_allow?, shell_deny?, deny_read?, scope?,
/// scope_locked?}` and gives `{decision, required, missing, layer, reason, would_allow, grants, findings}`.
///
/// `resolved` lists the paths of the call that really are elsewhere, `{path, place, known_as?}`.
/// `scope` is a list of paths or `{files, folders, hosts, services}`; grants count as not over.
///
/// `role` is one of [`Role::WORDS`], or a role `{name, may_hold, may_read}`.
/// `null` counts as absent for all but `tool` and the two flags.
///
/// # Errors
///
/// A sentence that names what is missing, mistyped or unknown in the input.
pub fn decide(input: &Value) -> Result<Value, String> {
    let input = GateInput::deserialize(input).map_err(|error| format!("can't read the call: {error}"))?;
    let role = role(&input.role)?;
    let categories = native::categories(&input.tool).map_err(|error| error.to_string())?;
    let places = input.places.unwrap_or_default();
    let rules = shell::RuleTexts {
        allow: input.shell_allow.as_deref().unwrap_or_default(),
        deny: input.shell_deny.as_deref().unwrap_or_default(),
        deny_read: input.deny_read.as_deref().unwrap_or_default(),
    };
    let programs = shell::decide::table(input.programs.as_deref(), rules)?;
    let call = ToolCall {
        call_id: String::new(),
        name: input.tool,
        args: input.arguments,
        malformed: None,
        masked: false,
        resolved: input.resolved.unwrap_or_default(),
    };
    let effects = effects_of_call(&call, &places, &programs);
    let subject = Subject { tool: &call.name, args: &call.args, effects: &effects };
    let grants = input.grants.unwrap_or_default();
    let decision = judge(&GateRequest {
        tool: &call.name,
        categories: &categories,
        effects: &effects,
        role: role.as_ref(),
        authorized: &input.authorized_costs.unwrap_or_default(),
        approved_for_run: &input.session_approved.unwrap_or_default(),
        grants: &grants.iter().filter(|grant| grant.holds_for(&subject)).collect::<Vec<_>>(),
        call_is_approved: input.approved_call,
        shell_is_disabled: input.shell_disabled,
        places: &places,
        scope: &scope(&input.scope)?.placed(&places),
        scope_locked: input.scope_locked,
        missing_walls: &input.missing_walls,
    });
    serde_json::to_value(decision).map_err(|error| format!("can't write the decision: {error}"))
}

fn scope(given: &Value) -> Result<Scope, String> {
    let cant = |error| format!("can't read the scope: {error}");
    let words = match given {
        Value::Null => ScopeWords::default(),
        Value::Array(_) => ScopeWords { paths: Some(Vec::deserialize(given).map_err(cant)?), ..ScopeWords::default() },
        named => ScopeWords::deserialize(named).map_err(cant)?,
    };
    let count = scope::patterns(&words);
    if count > scope::PATTERNS_MAX {
        return Err(format!("the scope has {count} patterns with wildcards, and {} are allowed", scope::PATTERNS_MAX));
    }
    Ok(Scope::new(&words))
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
