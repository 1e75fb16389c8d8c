//! Reads the fields of the front matter.
//!
//! In: nodes. Out: a [`FrontMatter`], in which a value of the wrong kind is as good as absent, as with OpenWar. A value
//! that is dropped gets a warning that says how to write it. A limit that can't be read is an error: without it the run
//! would go on for longer than was meant. `rules.rs` decides if the rest makes a valid brief.

use indexmap::IndexMap;

use super::list_fields::{authorized_costs, mcp_servers, texts};
use super::node::{BriefField, BriefNode, Map, NodeValue};
use super::problem::{Problem, Problems};
use super::role_fields;
use super::scope_field::scope;
use super::values::{BUDGET_FIELDS, Budgets, CliBridge, McpServer, ROLE_BUDGET_FIELDS, RoleAdapter};
use super::whitespace::trim;
use crate::detect::{Detector, Sensitivity};
use crate::gate::ScopeWords;
use crate::words::Mode;
use crate::words::effort::Effort;
use crate::words::nearest::{did_you_mean, nearest};

/// The fields of a brief as they are written, before anything is checked.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FrontMatter {
    /// The project's name, which need not be a slug.
    pub project: Option<String>,
    /// The brief's id, which need not have the shape of one.
    pub brief_id: Option<String>,
    /// The last day, which need not be one.
    pub deadline: Option<String>,
    /// The brief's scope; absent if it names none. Ours.
    pub scope: Option<ScopeWords>,
    /// True if the agent is held to the brief's scope.
    pub scope_locked: bool,
    /// The mode: how far the agent goes before it asks.
    pub mode: Option<Mode>,
    /// The entries that authorize categories beforehand, as they are written.
    pub authorized_costs: Vec<String>,
    /// The folder to work in.
    pub workdir: Option<String>,
    /// The adapter to use. Ours; OpenWar takes it from the command line only.
    pub adapter: Option<String>,
    /// The model to use. Ours.
    pub model: Option<String>,
    /// The adapters that take the turns if the first can't: `adapter` or `adapter:model`, in this order. Ours.
    pub fallback: Vec<String>,
    /// The script of a scripted agent. Ours.
    pub script: Option<String>,
    /// The most steps of a session. Ours.
    pub max_steps: Option<u64>,
    /// Number of minutes to wait for a provider that fails. Ours.
    pub patience: Option<u64>,
    /// The thinking effort asked of the agent. Ours.
    pub effort: Option<Effort>,
    /// The most tokens that it may think for in one reply. Ours.
    pub thinking_tokens: Option<u64>,
    /// The sensitivity of detectors, as far as the brief says so. Ours.
    pub detectors: IndexMap<Detector, Sensitivity>,
    /// Tool servers to connect.
    pub mcp_servers: Vec<McpServer>,
    /// True if the project's memory is shown to the agent.
    pub inherit_memory: bool,
    /// The project whose learned profile applies.
    pub learned_profile: Option<String>,
    /// The bridge to a coding CLI.
    pub cli: Option<CliBridge>,
    /// The roles of a crew, which need not exist; absent if the brief does not say.
    pub roles: Option<Vec<String>>,
    /// The adapters of roles.
    pub role_adapters: IndexMap<String, RoleAdapter>,
    /// The budgets of the run; absent if the brief names none.
    pub budgets: Option<Budgets>,
    /// The budgets of each role, within the run's. Ours.
    pub role_budgets: IndexMap<String, Budgets>,
    /// The command lines by which the work is checked. Ours.
    pub checks: Vec<String>,
    /// The files that must be there at the end. Ours.
    pub expected_files: Vec<String>,
    /// Patterns of the tests that must stay as they are. Ours.
    pub protected_tests: Vec<String>,
    /// The part of the authorized categories that each role is granted. Ours.
    pub role_grants: IndexMap<String, Vec<String>>,
    /// The thinking effort of each role that differs from the others. Ours.
    pub role_effort: IndexMap<String, Effort>,
}

/// The fields that mean something, in the order in which the help lists them.
pub(super) const FIELDS: [&str; 30] = [
    "project", "brief_id", "deadline", "scope", "scope_locked", "mode", "authorized_costs", "workdir", "adapter",
    "model", "fallback", "script", "max_steps", "patience", "effort", "thinking_tokens", "detectors", "mcp_servers",
    "inherit_memory", "learned_profile", "cli", "roles", "role_adapters", "budgets", "role_budgets", "role_grants",
    "role_effort", "checks", "expected_files", "protected_tests",
];

impl FrontMatter {
    /// Reads the fields, with a warning for each value that is dropped.
    pub(super) fn of(map: &Map, problems: &mut Problems<'_>) -> Self {
        unknown_fields(map, problems);
        let roles = role_fields::roles(map, problems);
        Self {
            // A project that is no text is an error of its own, told by the rule for projects.
            project: map.get("project").and_then(|field| field.node.text()).map(str::to_owned),
            brief_id: text(map, "brief_id", problems),
            deadline: text(map, "deadline", problems),
            scope: scope(map, problems),
            scope_locked: only_true(map, "scope_locked", problems),
            mode: mode(map, problems),
            authorized_costs: authorized_costs(map, problems),
            workdir: trimmed_text(map, "workdir", problems),
            adapter: trimmed_text(map, "adapter", problems),
            model: trimmed_text(map, "model", problems),
            fallback: texts(map, "fallback", problems).into_iter().map(|(entry, _)| entry).collect(),
            script: trimmed_text(map, "script", problems),
            max_steps: limit(map, "", "max_steps", problems),
            patience: limit(map, "", "patience", problems),
            effort: map.get("effort").and_then(|field| effort("effort", &field.node, problems)),
            thinking_tokens: limit(map, "", "thinking_tokens", problems),
            detectors: detectors(map, problems),
            mcp_servers: mcp_servers(map, problems),
            inherit_memory: only_true(map, "inherit_memory", problems),
            learned_profile: learned_profile(map, problems),
            cli: cli(map, problems),
            role_adapters: role_fields::role_adapters(map, roles.adapters, problems),
            roles: roles.ids,
            budgets: budgets(map, problems),
            role_budgets: role_budgets(map, problems),
            checks: texts(map, "checks", problems).into_iter().map(|(line, _)| line).collect(),
            expected_files: texts(map, "expected_files", problems).into_iter().map(|(path, _)| path).collect(),
            protected_tests: texts(map, "protected_tests", problems).into_iter().map(|(pattern, _)| pattern).collect(),
            role_grants: role_fields::role_grants(map, problems),
            role_effort: role_effort(map, problems),
        }
    }
}

/// A warning that a value is as good as absent.
pub(super) fn dropped(field: &str, node: &BriefNode, expected: &str, problems: &mut Problems<'_>) -> Problem {
    Problem::warning(field, format!("this is {}, so it counts as not given", node.kind()))
        .expected(expected)
        .found(problems.text_at(node.at))
}

/// An error: a value of another kind, without which the run would not be the one that was meant.
pub(super) fn unreadable(field: &str, node: &BriefNode, expected: &str, problems: &Problems<'_>) -> Problem {
    Problem::error(field, format!("this is {}, so it can't be read", node.kind()))
        .expected(expected)
        .found(problems.text_at(node.at))
}

/// The fields that limit a run or say who is in it.
const BINDING: [&str; 4] = ["max_steps", "role_adapters", "budgets", "role_budgets"];

/// A warning for each field that doesn't exist; an error where a limit was meant.
fn unknown_fields(map: &Map, problems: &mut Problems<'_>) {
    for (key, field) in map.iter().filter(|(key, _)| !FIELDS.contains(&key.as_str())) {
        let unknown = if BUDGET_FIELDS.contains(&key.as_str()) {
            Problem::error(key, "there is no such field: a limit stands under `budgets`")
                .fix(format!("write `budgets: {{{key}: {}}}`", super::problem::shown(problems.text_at(field.node.at))))
        } else if nearest(key, FIELDS).first().is_some_and(|nearest| BINDING.contains(nearest)) {
            Problem::error(key, "there is no such field, so what it says would not hold")
                .fix(did_you_mean(key, &FIELDS))
        } else if !nearest(key, BUDGET_FIELDS).is_empty() && key.starts_with("max") {
            Problem::error(key, "there is no such field: a limit stands under `budgets`")
                .fix(did_you_mean(key, &BUDGET_FIELDS))
        } else {
            Problem::warning(key, "there is no such field, so it is ignored").fix(did_you_mean(key, &FIELDS))
        };
        problems.push(unknown, Some(field.key_at));
    }
}

/// An error for each limit that doesn't exist.
fn unknown_limits(map: &Map, parent: &str, known: &[&str], problems: &mut Problems<'_>) {
    for (key, field) in map.iter().filter(|(key, _)| !known.contains(&key.as_str())) {
        let unknown = Problem::error(format!("{parent}.{key}"), "there is no such limit")
            .expected(format!("some of {}", known.join(", ")))
            .fix(did_you_mean(key, known));
        problems.push(unknown, Some(field.key_at));
    }
}

pub(super) fn warn_of_unknown(map: &Map, parent: &str, known: &[&str], problems: &mut Problems<'_>) {
    for (key, field) in map {
        if !known.contains(&key.as_str()) {
            let unknown = Problem::warning(format!("{parent}.{key}"), "there is no such field, so it is ignored")
                .fix(did_you_mean(key, known));
            problems.push(unknown, Some(field.key_at));
        }
    }
}

/// The keys under `field`; a warning if it is given and is no map.
fn map_at<'a>(map: &'a Map, field: &str, problems: &mut Problems<'_>) -> Option<&'a Map> {
    let node = &map.get(field)?.node;
    if node.map().is_none() && !node.is_blank() {
        let warning = dropped(field, node, "a map", problems)
            .fix("put each key on a line of its own, indented by two spaces".to_owned());
        problems.push(warning, Some(node.at));
    }
    node.map()
}

fn text(map: &Map, field: &str, problems: &mut Problems<'_>) -> Option<String> {
    text_in(map, "", field, problems)
}

pub(super) fn text_in(map: &Map, parent: &str, key: &str, problems: &mut Problems<'_>) -> Option<String> {
    let node = &map.get(key)?.node;
    let Some(text) = node.text() else {
        let field = if parent.is_empty() { key.to_owned() } else { format!("{parent}.{key}") };
        let warning = match node.value {
            NodeValue::Bool(_) | NodeValue::Number(_) => dropped(&field, node, "text", problems)
                .fix(format!("put it in quotes: `{key}: \"{}\"`", problems.text_at(node.at))),
            NodeValue::Text(_)
            | NodeValue::Inline(..)
            | NodeValue::List(_)
            | NodeValue::Map(_)
            | NodeValue::InlineMap(..) => dropped(&field, node, "text", problems),
        };
        problems.push(warning, Some(node.at));
        return None;
    };
    Some(text.to_owned())
}

fn trimmed_text(map: &Map, field: &str, problems: &mut Problems<'_>) -> Option<String> {
    text(map, field, problems).map(|text| trim(&text).to_owned()).filter(|text| !text.is_empty())
}

/// True if a field is `true`; anything else counts as `false`.
fn only_true(map: &Map, field: &str, problems: &mut Problems<'_>) -> bool {
    let Some(node) = map.get(field).map(|field| &field.node) else {
        return false;
    };
    if let NodeValue::Bool(yes) = node.value {
        return yes;
    }
    if !node.is_blank() {
        let written = problems.text_at(node.at);
        let warning = Problem::warning(field, "only `true` without quotes means true; this counts as `false`")
            .expected("`true` or `false`")
            .found(written)
            .fix(format!("write `{field}: true` or `{field}: false`"));
        problems.push(warning, Some(node.at));
    }
    false
}

/// The modes a brief can name.
const MODES: [Mode; 2] = [Mode::Gated, Mode::Auto];

fn mode_named(word: &str) -> Option<Mode> {
    MODES.into_iter().find(|mode| mode.as_str() == word)
}

fn mode(map: &Map, problems: &mut Problems<'_>) -> Option<Mode> {
    let node = &map.get("mode")?.node;
    if node.is_blank() {
        return None;
    }
    let written = node.text().unwrap_or_default();
    let mode = mode_named(written);
    if mode.is_none() {
        let warning = Problem::warning("mode", "there is no such mode, so the operator is asked for one")
            .expected("`gated` or `auto`")
            .found(problems.text_at(node.at))
            .fix(did_you_mean(written, &MODES.map(Mode::as_str)));
        problems.push(warning, Some(node.at));
    }
    mode
}

/// An effort; an error for anything else, since without it the run would cost more, or think less, than was meant.
fn effort(field: &str, node: &BriefNode, problems: &mut Problems<'_>) -> Option<Effort> {
    if node.is_blank() {
        return None;
    }
    let written = node.text().unwrap_or_default();
    let effort = written.parse().ok();
    if effort.is_none() {
        let error = Problem::error(field, "there is no such effort")
            .expected("`low`, `medium`, `high` or `max`")
            .found(problems.text_at(node.at))
            .fix(did_you_mean(written, &Effort::ALL.map(Effort::as_str)));
        problems.push(error, Some(node.at));
    }
    effort
}

/// A map from role to effort.
fn role_effort(map: &Map, problems: &mut Problems<'_>) -> IndexMap<String, Effort> {
    let mut efforts = IndexMap::new();
    let roles = limits_at(map, "role_effort", "a map such as `{critic: high}`", problems);
    for (role, field) in roles.into_iter().flatten() {
        if let Some(effort) = effort(&format!("role_effort.{role}"), &field.node, problems) {
            efforts.insert(role.clone(), effort);
        }
    }
    efforts
}

fn detectors(map: &Map, problems: &mut Problems<'_>) -> IndexMap<Detector, Sensitivity> {
    let mut found = IndexMap::new();
    let Some(detectors) = map_at(map, "detectors", problems) else { return found };
    warn_of_unknown(detectors, "detectors", &Detector::ALL.map(Detector::name), problems);
    for (name, field) in detectors {
        let Ok(detector) = name.parse::<Detector>() else { continue };
        let written = field.node.text().unwrap_or_default();
        let path = format!("detectors.{name}");
        let Ok(sensitivity) = written.parse::<Sensitivity>() else {
            let warning = Problem::warning(path, "there is no such sensitivity, so the detector runs as it is made")
                .expected("`default`, `loose`, `strict` or `disabled`")
                .found(problems.text_at(field.node.at))
                .fix(did_you_mean(written, &Sensitivity::ALL.map(Sensitivity::name)));
            problems.push(warning, Some(field.node.at));
            continue;
        };
        if sensitivity == Sensitivity::Disabled && detector.is_safety_critical() {
            let warning = Problem::warning(path, "safety rests on this detector, so it runs all the same")
                .expected("`default`, `loose` or `strict`");
            problems.push(warning, Some(field.node.at));
        }
        found.insert(detector, sensitivity);
    }
    found
}

fn learned_profile(map: &Map, problems: &mut Problems<'_>) -> Option<String> {
    let written = text(map, "learned_profile", problems)?;
    let name = trim(&written);
    if name.is_empty() {
        return None;
    }
    if name.parse::<crate::words::id::Slug>().is_err() {
        let warning = Problem::warning("learned_profile", "this can't name a project, so no profile applies")
            .expected("lower-case letters, digits and hyphens, beginning with a letter or digit")
            .found(name);
        problems.push(warning, map.get("learned_profile").map(|field| field.node.at));
        return None;
    }
    Some(name.to_owned())
}

fn cli(map: &Map, problems: &mut Problems<'_>) -> Option<CliBridge> {
    let cli = map_at(map, "cli", problems)?;
    warn_of_unknown(cli, "cli", &["mcp_forward", "skip_permission_setup", "binary", "args"], problems);
    Some(CliBridge {
        mcp_forward: flag(cli, "cli", "mcp_forward", problems),
        skip_permission_setup: flag(cli, "cli", "skip_permission_setup", problems),
        binary: text_in(cli, "cli", "binary", problems).filter(|text| !trim(text).is_empty()),
        args: cli.get("args").map(|field| arguments(&field.node, problems)).unwrap_or_default(),
    })
}

/// A list of arguments, each as it is written; a warning if it is no list.
fn arguments(node: &BriefNode, problems: &mut Problems<'_>) -> Vec<String> {
    match node.items() {
        Some(items) => items.iter().map(|item| item_text(item, problems)).collect(),
        None => {
            let warning = dropped("cli.args", node, "a list", problems).fix("write `[a, b]`".to_owned());
            problems.push(warning, Some(node.at));
            Vec::new()
        }
    }
}

/// An item as text: a number or `true` as it is written.
pub(super) fn item_text(item: &BriefNode, problems: &Problems<'_>) -> String {
    item.text().unwrap_or_else(|| problems.text_at(item.at)).to_owned()
}

fn flag(map: &Map, parent: &str, key: &str, problems: &mut Problems<'_>) -> Option<bool> {
    let node = &map.get(key)?.node;
    if let NodeValue::Bool(flag) = node.value {
        return Some(flag);
    }
    let field = format!("{parent}.{key}");
    let warning = dropped(&field, node, "`true` or `false`", problems);
    problems.push(warning, Some(node.at));
    None
}

fn budgets(map: &Map, problems: &mut Problems<'_>) -> Option<Budgets> {
    let budgets = limits_at(map, "budgets", "a map such as `{max_turns: 10}`", problems)?;
    unknown_limits(budgets, "budgets", &BUDGET_FIELDS, problems);
    Some(budgets_in(budgets, "budgets", problems))
}

/// The keys under `field`; an error if it is given and is no map.
fn limits_at<'a>(map: &'a Map, field: &str, expected: &str, problems: &mut Problems<'_>) -> Option<&'a Map> {
    let node = &map.get(field)?.node;
    if node.map().is_none() && !node.is_blank() {
        problems.push(unreadable(field, node, expected, problems), Some(node.at));
    }
    node.map()
}

fn budgets_in(map: &Map, parent: &str, problems: &mut Problems<'_>) -> Budgets {
    let [max_tokens, max_wall_clock_minutes, max_tool_calls_per_subtask, max_retries_per_subtask, max_turns, _] =
        BUDGET_FIELDS.map(|key| if key == "max_dollars" { None } else { limit(map, parent, key, problems) });
    Budgets {
        max_tokens,
        max_wall_clock_minutes,
        max_tool_calls_per_subtask,
        max_retries_per_subtask,
        max_turns,
        max_dollars: dollars(map, parent, problems),
    }
}

/// A map from role to what it may use; what concerns sub-tasks is no role's.
fn role_budgets(map: &Map, problems: &mut Problems<'_>) -> IndexMap<String, Budgets> {
    let mut budgets = IndexMap::new();
    let roles = limits_at(map, "role_budgets", "a map such as `{executor: {max_turns: 10}}`", problems);
    for (role, field) in roles.into_iter().flatten() {
        let path = format!("role_budgets.{role}");
        match field.node.map() {
            Some(entry) => {
                unknown_limits(entry, &path, &ROLE_BUDGET_FIELDS, problems);
                budgets.insert(role.clone(), budgets_in(entry, &path, problems));
            }
            None => {
                let unread = unreadable(&path, &field.node, "a map such as `{max_turns: 10}`", problems);
                problems.push(unread, Some(field.node.at));
            }
        }
    }
    budgets
}

/// A sum in dollars, as nano-dollars; 0 is for the rules to refuse, anything else that is none is an error.
fn dollars(map: &Map, parent: &str, problems: &mut Problems<'_>) -> Option<u64> {
    let field = map.get("max_dollars")?;
    let written = match &field.node.value {
        NodeValue::Number(number) => number.to_string(),
        NodeValue::Text(text) => text.clone(),
        NodeValue::Bool(_)
        | NodeValue::List(_)
        | NodeValue::Inline(..)
        | NodeValue::Map(_)
        | NodeValue::InlineMap(..) => String::new(),
    };
    let is_nothing = !written.is_empty() && written.bytes().all(|byte| matches!(byte, b'0' | b'.'));
    let sum = if is_nothing { Some(0) } else { crate::words::price::sum(&written) };
    if sum.is_none() {
        let expected = "a number above 0, such as `2.50`";
        bad_limit(format!("{parent}.max_dollars"), field, "this is no sum of dollars", expected, problems);
    }
    sum
}

/// A whole number of 0 or more, quoted or not; 0 is for the rules to refuse, anything else is an error.
fn limit(map: &Map, parent: &str, key: &str, problems: &mut Problems<'_>) -> Option<u64> {
    let field = map.get(key)?;
    let number = match &field.node.value {
        NodeValue::Number(number) => u64::try_from(*number).ok(),
        NodeValue::Text(text) if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) => {
            Some(text.parse().unwrap_or(u64::MAX))
        }
        NodeValue::Bool(_)
        | NodeValue::Text(_)
        | NodeValue::List(_)
        | NodeValue::Inline(..)
        | NodeValue::Map(_)
        | NodeValue::InlineMap(..) => None,
    };
    if number.is_none() {
        let name = if parent.is_empty() { key.to_owned() } else { format!("{parent}.{key}") };
        let expected = "a whole number of 1 or more";
        bad_limit(name, field, "this is not a whole number of 1 or more", expected, problems);
    }
    number
}

/// An error for a limit that can't be read, also for one behind whose colon nothing stands.
fn bad_limit(name: String, field: &BriefField, message: &str, expected: &str, problems: &mut Problems<'_>) {
    let written = problems.text_at(field.node.at);
    let (message, at) = match written {
        "" => ("nothing stands behind this limit", field.key_at),
        _ => (message, field.node.at),
    };
    let bad = Problem::error(name, message)
        .expected(expected)
        .found(written)
        .fix("leave the line out to take the default".to_owned());
    problems.push(bad, Some(at));
}
