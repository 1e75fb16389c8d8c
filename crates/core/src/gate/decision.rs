//! The gate's word on one tool call: allow, ask or refuse, and why.
//!
//! In: a [`GateRequest`] with everything that bears on the call. Out: a [`Decision`] with what was required,
//! what is missing, and what would allow it. All checks are made; their findings combine by strictness
//! and never by order, so that adding a check can't loosen another. Approvals answer an *ask*; nothing
//! here lifts a *refuse*.
//!
//! Begin with [`judge`].

pub use crate::words::{GateAnswer, Layer};
use serde::Serialize;

use super::authorization;
use super::effect::{Act, Effect, UNKNOWN, Verdict};
use super::grant::Grant;
use super::places::Places;
use super::protected::{Protected, protected};
use super::role_limit::RoleLimit;
use super::scope::Scope;
use super::walls::without_walls;
use crate::words::category::{FILESYSTEM_READ, GIT_WRITE, MCP_TOOL, SHELL_EXEC};
use crate::words::{Category, Lasts};

/// The result of one check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The check's answer.
    pub answer: GateAnswer,
    /// The check that it comes from.
    pub layer: Layer,
    /// The part of the call that it is about, as written; absent where it is about the call as a whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub matched: Option<String>,
    /// The reason, as a sentence for the operator and the agent.
    pub reason: String,
    /// The categories that this check found missing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<Category>,
    /// The change that would allow the call; absent if it is allowed.
    #[serde(skip_serializing_if = "Option::is_none")]
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

impl<T> OneOrMore<T> {
    /// All of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        std::iter::once(&self.first).chain(&self.rest)
    }
}

/// The strictest finding. On a tie the earlier one speaks: its layer is the one to repair first.
#[must_use]
pub fn strictest(findings: &OneOrMore<Finding>) -> &Finding {
    findings
        .rest
        .iter()
        .fold(&findings.first, |strictest, other| if strictest.answer < other.answer { other } else { strictest })
}

/// Everything that bears on one call.
#[derive(Debug, Clone, Copy)]
pub struct GateRequest<'a> {
    /// The tool's name.
    pub tool: &'a str,
    /// The categories that every call to it needs.
    pub categories: &'a [Category],
    /// The call's effects: those read from its arguments ([`effects_of`](super::effects_of)), and any others that the
    /// caller knows of.
    pub effects: &'a [Effect],
    /// The limit of the role that calls; none in a session without roles.
    pub role: Option<&'a RoleLimit>,
    /// The brief's `authorized_costs`.
    pub authorized: &'a [Category],
    /// The categories that an operator approved for the rest of the run.
    pub approved_for_run: &'a [Category],
    /// The grants that hold for calls such as this one, in the order in which they are used.
    pub grants: &'a [&'a Grant],
    /// True if an operator approved this very call.
    pub call_is_approved: bool,
    /// The paths that the gate has to know.
    pub places: &'a Places,
    /// The brief's scope, its paths in plain form.
    pub scope: &'a Scope,
    /// True if a call outside the scope is refused instead of asked about.
    pub scope_locked: bool,
    /// True if commands are switched off for the run.
    pub shell_is_disabled: bool,
    /// The walls of the sandbox that are missing, where that has to be asked about: in a session that goes on
    /// alone.
    pub missing_walls: &'a [String],
}

/// The gate's word on one call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Decision {
    /// The gate's answer.
    #[serde(rename = "decision")]
    pub answer: GateAnswer,
    /// The categories the call requires: its tool's own, then those read from its arguments, each once.
    pub required: Vec<Category>,
    /// Those that the deciding check found missing.
    pub missing: Vec<Category>,
    /// The check that decided.
    pub layer: Layer,
    /// The reason, as a sentence.
    pub reason: String,
    /// The change that would allow the call; absent if it is allowed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub would_allow: Option<String>,
    /// The grants that the call would use up a use of; empty where none was needed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub grants: Vec<String>,
    /// The results of all checks, the deciding one among them.
    pub findings: Vec<Finding>,
}

impl Decision {
    /// True if the run must stop: a role was given work that it may never do.
    #[must_use]
    pub fn is_fatal(&self) -> bool {
        self.answer == GateAnswer::Refuse && self.layer == Layer::Role
    }
}

/// Judges one call.
///
/// Refuses what lies beyond the role's limit or its own grant, commands where they are switched off, and what lies
/// outside a locked scope; asks for what can't be read, for what reaches a protected place or leaves the scope, for
/// commands that the sandbox doesn't hold, and for what is covered neither by default, nor by the brief, nor by an
/// approval, nor by a grant; allows the rest. Every required category must be covered, one that is does not speak for
/// the others.
#[must_use]
pub fn judge(request: &GateRequest<'_>) -> Decision {
    let required = required(request);
    let (coverage, grants) = coverage(request, &required);
    let by_limits = request.role.and_then(|role| beyond_role(role, &required)).into_iter();
    let by_limits = by_limits.chain(request.role.and_then(|role| beyond_grant(role, &required)));
    let by_limits = by_limits.chain(without_shell(request, &required)).chain(without_walls(request, &required));
    let by_limits = by_limits.chain(request.effects.iter().filter_map(by_rule));
    let by_place = request.effects.iter().filter_map(|effect| on_protected(effect, request));
    let by_text = request.effects.iter().filter_map(|effect| unreadable(effect, request));
    let by_scope = request.effects.iter().filter_map(|effect| outside_scope(effect, request));
    let by_service = required.iter().filter_map(|category| outside_services(category, request));
    // What the operator approved is told behind what the call as a whole rests on.
    let (approved, mut findings): (Vec<_>, Vec<_>) = by_limits
        .chain(by_text)
        .chain(by_place)
        .chain(by_scope)
        .chain(by_service)
        .partition(|finding| finding.answer == GateAnswer::Allow);
    findings.push(coverage);
    findings.extend(approved);
    findings.extend(request.effects.iter().filter_map(|effect| of_effect(effect, request)));
    let mut findings = each_once(findings);
    let all = OneOrMore { first: findings.remove(0), rest: findings };
    let decided = strictest(&all).clone();
    let mut missing: Vec<Category> = Vec::new();
    for category in all.iter().filter(|finding| finding.answer == decided.answer).flat_map(|finding| &finding.missing) {
        if !missing.contains(category) {
            missing.push(category.clone());
        }
    }
    Decision {
        answer: decided.answer,
        required,
        missing,
        layer: decided.layer,
        reason: decided.reason,
        would_allow: decided.would_allow,
        grants: if decided.answer == GateAnswer::Allow { grants } else { Vec::new() },
        findings: all.iter().cloned().collect(),
    }
}

/// The findings without those that say what an earlier one said: several effects may be about one file.
fn each_once(findings: Vec<Finding>) -> Vec<Finding> {
    let mut once: Vec<Finding> = Vec::new();
    for finding in findings {
        if !once.contains(&finding) {
            once.push(finding);
        }
    }
    once
}

fn required(request: &GateRequest<'_>) -> Vec<Category> {
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
        answer: GateAnswer::Refuse,
        layer: Layer::Role,
        matched: None,
        reason: format!("the role `{}` may never {what}", role.name),
        missing: scope.missing,
        would_allow: Some("give the call to a role whose limit includes it, such as `executor`".to_owned()),
    })
}

fn beyond_grant(role: &RoleLimit, required: &[Category]) -> Option<Finding> {
    let missing = role.beyond_grant(required);
    let granted = role.granted.as_ref().filter(|_| !missing.is_empty())?;
    let held = if granted.holds.is_empty() { "nothing".to_owned() } else { list(&granted.holds) };
    Some(Finding {
        answer: GateAnswer::Refuse,
        layer: Layer::RoleGrant,
        matched: None,
        reason: format!("the role `{}` was not granted {}: {} grants it {held}", role.name, list(&missing), granted.by),
        missing,
        would_allow: Some(format!("a run whose role `{}` is granted it", role.name)),
    })
}

fn without_shell(request: &GateRequest<'_>, required: &[Category]) -> Option<Finding> {
    let runs_commands = required.iter().any(|category| category.as_str() == SHELL_EXEC);
    (request.shell_is_disabled && runs_commands).then(|| Finding {
        answer: GateAnswer::Refuse,
        layer: Layer::Call,
        matched: None,
        reason: "SHELL_DISABLED: commands are switched off for this run".to_owned(),
        missing: Vec::new(),
        would_allow: Some("start the run with commands switched on".to_owned()),
    })
}

/// A command that a rule of the operator's denies, in whatever part of the call, or a file that nobody may read.
fn by_rule(effect: &Effect) -> Option<Finding> {
    let Act::Denied { rule } = &effect.act else { return None };
    let reads = effect.category.as_str() == FILESYSTEM_READ;
    Some(Finding {
        answer: GateAnswer::Refuse,
        layer: Layer::Call,
        matched: matched(effect),
        reason: if reads {
            format!("`{rule}` in `deny_read` keeps this from being read")
        } else {
            format!("the rule `{rule}` in `shell_deny` denies this command")
        },
        missing: Vec::new(),
        would_allow: Some("a configuration without that rule".to_owned()),
    })
}

/// An answer that asks, unless this very call was approved.
fn ask(request: &GateRequest<'_>, finding: Finding) -> Finding {
    if !request.call_is_approved {
        return finding;
    }
    Finding { answer: GateAnswer::Allow, missing: Vec::new(), would_allow: None, ..finding }
}

/// Asks about an effect on a protected place. Only a yes to this very call allows it, whatever else covers the call.
fn on_protected(effect: &Effect, request: &GateRequest<'_>) -> Option<Finding> {
    let Protected { path, what } = protected(effect, request.places)?;
    let finding = Finding {
        answer: GateAnswer::Ask,
        layer: Layer::Protected,
        matched: matched(effect),
        reason: format!("{} {what} (`{path}`), which is protected", acts_on(effect)),
        missing: Vec::new(),
        would_allow: Some(
            "an operator's yes to this very call; no authorization, approval for the run or grant covers it".to_owned(),
        ),
    };
    Some(ask(request, finding))
}

/// Asks about a part of the call that can't be read. It hides its effects, so only a yes to this very call covers it.
fn unreadable(effect: &Effect, request: &GateRequest<'_>) -> Option<Finding> {
    let finding = Finding {
        answer: GateAnswer::Ask,
        layer: Layer::Call,
        matched: matched(effect),
        reason: effect.reason.clone(),
        missing: Vec::new(),
        would_allow: Some(
            "a command that can be read, or an operator's yes to this very call; no authorization, approval for the \
             run or grant covers what can't be read"
                .to_owned(),
        ),
    };
    (effect.act == Act::Unreadable).then(|| ask(request, finding))
}

fn acts_on(effect: &Effect) -> &'static str {
    match &effect.act {
        Act::Delete(_) => "this would delete",
        Act::Overwrite(_) => "this would overwrite",
        Act::Write(_) => "this would change",
        Act::Contact { .. } => "this would contact",
        Act::Denied { .. } => "this would run",
        Act::Unreadable | Act::Other => "this would touch",
    }
}

fn outside_scope(effect: &Effect, request: &GateRequest<'_>) -> Option<Finding> {
    // `git checkout main`: a branch's name, which only might be a file's. The look at the working tree tells.
    if effect.verdict == Verdict::Safe && effect.category.as_str() == GIT_WRITE {
        return None;
    }
    let (what, is_known) = match &effect.act {
        Act::Write(target) | Act::Overwrite(target) | Act::Delete(target) => {
            if request.scope.covers_target(target) {
                return None;
            }
            (target.path.as_str(), target.path != UNKNOWN)
        }
        Act::Contact { host } if !request.scope.covers_host(host) => (host.as_str(), host != UNKNOWN),
        Act::Contact { .. } | Act::Denied { .. } | Act::Unreadable | Act::Other => return None,
    };
    let outside = if is_known {
        format!("{} `{what}`, which lies outside the brief's scope", acts_on(effect))
    } else {
        format!("{} something that can't be known, so it may lie outside the brief's scope", acts_on(effect))
    };
    Some(beyond_scope(request, outside, matched(effect), is_known))
}

fn outside_services(category: &Category, request: &GateRequest<'_>) -> Option<Finding> {
    let server = category.as_str().strip_prefix(MCP_TOOL)?.strip_prefix(':')?.split(':').next()?;
    let outside = format!("this would use the tool server `{server}`, which lies outside the brief's scope");
    (!request.scope.covers_service(server)).then(|| beyond_scope(request, outside, None, true))
}

/// A locked scope refuses what is known to lie outside; what can't be known is asked for all the same.
fn beyond_scope(request: &GateRequest<'_>, reason: String, matched: Option<String>, is_known: bool) -> Finding {
    let is_refused = request.scope_locked && is_known;
    let way_out = if is_refused {
        "a brief whose `scope` names it"
    } else {
        "an operator's yes to this very call, or a brief whose `scope` names it"
    };
    let finding = Finding {
        answer: if is_refused { GateAnswer::Refuse } else { GateAnswer::Ask },
        layer: Layer::Scope,
        matched,
        reason,
        missing: Vec::new(),
        would_allow: Some(way_out.to_owned()),
    };
    if is_refused { finding } else { ask(request, finding) }
}

fn matched(effect: &Effect) -> Option<String> {
    (!effect.matched.is_empty()).then(|| effect.matched.clone())
}

fn allowed(layer: Layer, reason: String) -> Finding {
    Finding { answer: GateAnswer::Allow, layer, matched: None, reason, missing: Vec::new(), would_allow: None }
}

/// Finds the authorization, approval or grants that cover what the call requires, and returns the grants that it uses.
/// If several are needed, the finding names the weakest.
fn coverage(request: &GateRequest<'_>, required: &[Category]) -> (Finding, Vec<String>) {
    let without = |finding| (finding, Vec::new());
    let by_brief = authorization::check(required, request.authorized, &[]);
    if required.iter().all(Category::is_default_allowed) {
        return without(allowed(Layer::Default, "the call needs no authorization".to_owned()));
    }
    if by_brief.allowed {
        return without(allowed(Layer::Brief, format!("the brief authorizes {}", list(required))));
    }
    let by_run = authorization::check(required, request.authorized, request.approved_for_run);
    if by_run.allowed {
        return without(allowed(Layer::Approval, format!("{} approved for the run", is_or_are(&by_brief.missing))));
    }
    if request.call_is_approved {
        return without(allowed(Layer::Approval, "this call was approved".to_owned()));
    }
    let (missing, grants) = by_grants(request, &by_run.missing);
    if missing.is_empty() {
        let reason = format!("{} granted: {}", is_or_are(&by_run.missing), ids(&grants));
        return (allowed(Layer::Grant, reason), grants);
    }
    without(not_covered(missing, None))
}

/// Splits `missing` into the categories that no grant covers and the grants that cover the rest, each once. If several
/// grants cover a category, the first is used, but one for this call only is used before others.
fn by_grants(request: &GateRequest<'_>, missing: &[Category]) -> (Vec<Category>, Vec<String>) {
    let mut used: Vec<String> = Vec::new();
    let mut left = Vec::new();
    for category in missing {
        let covering = || request.grants.iter().filter(|grant| grant.covers(category));
        let grant = covering().find(|grant| grant.lasts == Lasts::ThisCall).or_else(|| covering().next());
        match grant {
            Some(grant) if used.contains(&grant.grant_id) => {}
            Some(grant) => used.push(grant.grant_id.clone()),
            None => left.push(category.clone()),
        }
    }
    (left, used)
}

fn not_covered(missing: Vec<Category>, matched: Option<(String, &str)>) -> Finding {
    let (matched, does) = matched.map_or((None, String::new()), |(matched, does)| (Some(matched), format!("{does}: ")));
    Finding {
        answer: GateAnswer::Ask,
        layer: Layer::Brief,
        matched,
        reason: format!("{does}{}", not_authorized(&missing)),
        would_allow: Some(format!(
            "an operator's yes to this call or for the run, or {} in the brief's `authorized_costs`",
            list(&missing)
        )),
        missing,
    }
}

/// Says that nothing authorizes `missing`.
#[must_use]
pub fn not_authorized(missing: &[Category]) -> String {
    format!("{} not authorized by the brief or approved for the run", is_or_are(missing))
}

/// Judges one effect. If one of the tool's own categories speaks for it, only a missing authorization is reported.
fn of_effect(effect: &Effect, request: &GateRequest<'_>) -> Option<Finding> {
    if effect.category.is_default_allowed() {
        return None;
    }
    let needed = std::slice::from_ref(&effect.category);
    let by = |layer, reason: &str| {
        let reason = format!("{}: `{}` {reason}", effect.reason, effect.category);
        let is_told = request.categories.contains(&effect.category);
        (!is_told).then(|| Finding { matched: matched(effect), ..allowed(layer, reason) })
    };
    if authorization::check(needed, request.authorized, &[]).allowed {
        return by(Layer::Brief, "is authorized by the brief");
    }
    if authorization::check(needed, &[], request.approved_for_run).allowed {
        return by(Layer::Approval, "is approved for the run");
    }
    if request.call_is_approved {
        return by(Layer::Approval, "is approved for this call");
    }
    let (missing, grants) = by_grants(request, needed);
    if missing.is_empty() {
        return by(Layer::Grant, &format!("is granted: {}", ids(&grants)));
    }
    Some(not_covered(missing, Some((effect.matched.clone(), &effect.reason))))
}

fn ids(grants: &[String]) -> String {
    grants.iter().map(|id| format!("`{id}`")).collect::<Vec<_>>().join(", ")
}

fn list(categories: &[Category]) -> String {
    categories.iter().map(|category| format!("`{category}`")).collect::<Vec<_>>().join(", ")
}

fn is_or_are(categories: &[Category]) -> String {
    format!("{} {}", list(categories), if categories.len() == 1 { "is" } else { "are" })
}
