//! The gate's word on one tool call: allow, ask or refuse, and why.
//!
//! In: a [`Request`] with everything that bears on the call. Out: a [`Decision`] with what was required,
//! what is missing, and what would allow it. All checks are made; their findings combine by strictness
//! and never by order, so that adding a check can't loosen another. Approvals answer an *ask*; nothing
//! here lifts a *refuse*.
//!
//! Begin with [`judge`].

use serde::Serialize;

use super::authorization;
use super::category::{Category, SHELL_EXEC};
use super::effect::Effect;
use super::role_limit::RoleLimit;

/// What the gate says to one tool call, from mild to strict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// The call may be made.
    Allow,
    /// An operator is asked first.
    Ask,
    /// The call is not made, whatever an operator says.
    Refuse,
}

impl Answer {
    /// Its name, as on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Refuse => "refuse",
        }
    }
}

/// Which check a finding comes from: where to repair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Layer {
    /// What a role may ever hold.
    Role,
    /// What this call would do, and whether that kind of call is possible in this run at all.
    Call,
    /// The brief's `authorized_costs`.
    Brief,
    /// An operator's yes, to this call or for the run.
    Approval,
    /// A yes that was asked for beforehand.
    Grant,
    /// What holds when nobody said anything.
    Default,
}

impl Layer {
    /// Its name, as on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Role => "role",
            Self::Call => "call",
            Self::Brief => "brief",
            Self::Approval => "approval",
            Self::Grant => "grant",
            Self::Default => "default",
        }
    }
}

/// What one check found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// What the check says.
    pub answer: Answer,
    /// Which check it is.
    pub layer: Layer,
    /// Why, as a sentence for the operator and the agent.
    pub reason: String,
    /// The categories that this check found missing.
    pub missing: Vec<Category>,
    /// What would allow the call; absent where it is allowed.
    pub would_allow: Option<String>,
}

/// A list that is never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OneOrMore<T> {
    /// The first one.
    pub first: T,
    /// All others.
    pub rest: Vec<T>,
}

/// The strictest finding. On a tie the earlier one speaks: its layer is the one to repair first.
#[must_use]
pub fn strictest(findings: OneOrMore<Finding>) -> Finding {
    findings
        .rest
        .into_iter()
        .fold(findings.first, |strictest, other| if strictest.answer < other.answer { other } else { strictest })
}

/// Everything that bears on one call.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// The tool's name.
    pub tool: &'a str,
    /// The categories that every call to it needs.
    pub categories: &'a [Category],
    /// What the call would do, read from its arguments: what [`effects_of`](super::effects_of) says, and
    /// whatever else the caller knows of the call.
    pub effects: &'a [Effect],
    /// The limit of the role that calls; none in a session without roles.
    pub role: Option<&'a RoleLimit>,
    /// The brief's `authorized_costs`.
    pub authorized: &'a [Category],
    /// What an operator approved for the rest of the run.
    pub approved_for_run: &'a [Category],
    /// Whether an operator approved this very call.
    pub call_is_approved: bool,
    /// Whether commands are switched off for the run.
    pub shell_is_disabled: bool,
}

/// The gate's word on one call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Decision {
    /// What happens.
    #[serde(rename = "decision")]
    pub answer: Answer,
    /// The categories the call requires: its tool's own, then those read from its arguments, each once.
    pub required: Vec<Category>,
    /// Those that the deciding check found missing.
    pub missing: Vec<Category>,
    /// The check that decided.
    pub layer: Layer,
    /// Why, as a sentence.
    pub reason: String,
    /// What would allow the call; absent where it is allowed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub would_allow: Option<String>,
}

impl Decision {
    /// Whether the run must stop: a role was given work that it may never do.
    #[must_use]
    pub fn is_fatal(&self) -> bool {
        self.answer == Answer::Refuse && self.layer == Layer::Role
    }
}

/// Judges one call.
///
/// Refuses what lies beyond the role's limit and commands where they are switched off; asks for what is
/// covered neither by default, nor by the brief, nor by an approval; allows the rest. Every required
/// category must be covered, one that is does not speak for the others.
#[must_use]
pub fn judge(request: &Request<'_>) -> Decision {
    let required = required(request);
    let mut rest: Vec<Finding> = request.role.and_then(|role| beyond_role(role, &required)).into_iter().collect();
    rest.extend(without_shell(request, &required));
    let finding = strictest(OneOrMore { first: coverage(request, &required), rest });
    Decision {
        answer: finding.answer,
        required,
        missing: finding.missing,
        layer: finding.layer,
        reason: finding.reason,
        would_allow: finding.would_allow,
    }
}

fn required(request: &Request<'_>) -> Vec<Category> {
    let mut required: Vec<Category> = Vec::new();
    for category in request.categories.iter().chain(request.effects.iter().map(|effect| &effect.category)) {
        if !required.contains(category) {
            required.push(category.clone());
        }
    }
    required
}

fn beyond_role(role: &RoleLimit, required: &[Category]) -> Option<Finding> {
    let scope = role.scope_of(required);
    let what =
        if scope.missing.is_empty() { "call tools".to_owned() } else { format!("hold {}", list(&scope.missing)) };
    (!scope.in_scope).then(|| Finding {
        answer: Answer::Refuse,
        layer: Layer::Role,
        reason: format!("the role `{}` may never {what}", role.name),
        missing: scope.missing,
        would_allow: Some("give the call to a role whose limit includes it, such as `executor`".to_owned()),
    })
}

fn without_shell(request: &Request<'_>, required: &[Category]) -> Option<Finding> {
    let runs_commands = required.iter().any(|category| category.as_str() == SHELL_EXEC);
    (request.shell_is_disabled && runs_commands).then(|| Finding {
        answer: Answer::Refuse,
        layer: Layer::Call,
        reason: "SHELL_DISABLED: commands are switched off for this run".to_owned(),
        missing: Vec::new(),
        would_allow: Some("start the run with commands switched on".to_owned()),
    })
}

/// Who covers what the call requires; of several that were needed, the one that says least is named.
fn coverage(request: &Request<'_>, required: &[Category]) -> Finding {
    let allow =
        |layer, reason| Finding { answer: Answer::Allow, layer, reason, missing: Vec::new(), would_allow: None };
    let by_brief = authorization::check(required, request.authorized, &[]);
    if required.iter().all(Category::is_default_allowed) {
        return allow(Layer::Default, "the call needs no authorization".to_owned());
    }
    if by_brief.allowed {
        return allow(Layer::Brief, format!("the brief authorizes {}", list(required)));
    }
    let by_run = authorization::check(required, request.authorized, request.approved_for_run);
    if by_run.allowed {
        return allow(Layer::Approval, format!("{} approved for the run", is_or_are(&by_brief.missing)));
    }
    if request.call_is_approved {
        return allow(Layer::Approval, "this call was approved".to_owned());
    }
    Finding {
        answer: Answer::Ask,
        layer: Layer::Brief,
        reason: format!("{} not authorized by the brief or approved for the run", is_or_are(&by_run.missing)),
        would_allow: Some(format!(
            "an operator's yes to this call or for the run, or {} in the brief's `authorized_costs`",
            list(&by_run.missing)
        )),
        missing: by_run.missing,
    }
}

fn list(categories: &[Category]) -> String {
    categories.iter().map(|category| format!("`{category}`")).collect::<Vec<_>>().join(", ")
}

fn is_or_are(categories: &[Category]) -> String {
    format!("{} {}", list(categories), if categories.len() == 1 { "is" } else { "are" })
}
