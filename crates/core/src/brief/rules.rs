//! The rules that make a brief invalid: OpenWar's, in the order in which it reports them.
//!
//! Three rules are ours, because a run would otherwise begin with something else than was meant: a top-level
//! `adapter` must exist, `max_steps` must not be 0, and the words of our template must be replaced.

use std::collections::HashSet;

use super::fields::FrontMatter;
use super::node::{Map, find};
use super::problem::{At, Problem, Problems};
use super::role_fields::{place, role_places};
use super::sections::{Headings, KnownSection, Sections};
use super::template::TO_FILL_IN;
use super::values::{ADAPTERS, RoleAdapter, day, has_date_shape, has_id_shape};
use super::whitespace::trim;
use crate::gate::RoleLimit;
use crate::gate::authorization::{covers, covers_something};
use crate::gate::custom_role::{BadCrew, CustomRoles, Member, check_crew};
use crate::words::Category;
use crate::words::category::SHELL_EXEC;
use crate::words::id::{BRIEF_ID_CHARS_MAX, BriefId, Slug};
use crate::words::nearest::did_you_mean;
use crate::words::role::{Role, RoleName};

/// The entries that authorize more than reading: a bridged CLI that a role starts has these rights without being asked.
const SIDE_EFFECTS: [&str; 10] = [
    "*", "filesystem_write", "filesystem_delete", "shell_exec", "http_fetch", "git_write", "git_push", "deploy",
    "external_message", "paid_api_call",
];

/// Checks everything there is to check about a brief.
pub(super) fn check(
    front: &FrontMatter,
    map: &Map,
    sections: &Sections,
    headings: &Headings,
    custom: &CustomRoles,
    problems: &mut Problems<'_>,
) {
    project(front, map, problems);
    brief_id(front, map, problems);
    deadline(front, map, problems);
    required_sections(sections, headings, problems);
    filled_in(sections, headings, problems);
    run_adapter(front, map, problems);
    roles(front, map, custom, problems);
    role_adapters(front, map, custom, problems);
    budgets(front, map, problems);
    role_grants(front, map, custom, problems);
    checks(front, map, custom, problems);
}

fn value_at(map: &Map, path: &[&str]) -> Option<At> {
    find(map, path).map(|node| node.at)
}

fn project(front: &FrontMatter, map: &Map, problems: &mut Problems<'_>) {
    const EXPECTED: &str = "1 to 64 lower-case letters, digits and hyphens, beginning with a letter or digit";
    let at = value_at(map, &["project"]);
    let problem = match (&front.project, at) {
        (Some(name), _) if name.parse::<Slug>().is_ok() => return,
        (Some(name), _) if !trim(name).is_empty() => {
            let slug = super::template::slug_like(name);
            Problem::error("project", "this can't name a project")
                .found(name)
                .fix(slug.map(|slug| format!("write `project: {slug}`")))
        }
        (None, Some(at)) => {
            let written = problems.text_at(at);
            Problem::error("project", "a project's name must be text")
                .found(written)
                .fix(format!("put it in quotes: `project: \"{}\"`", super::problem::shown(written)))
        }
        (Some(_) | None, _) => Problem::error("project", "the brief names no project")
            .fix("begin the brief with `---`, `project: NAME`, `---`, each on a line of its own".to_owned()),
    };
    problems.push(problem.expected(EXPECTED), at);
}

fn brief_id(front: &FrontMatter, map: &Map, problems: &mut Problems<'_>) {
    let Some(id) = &front.brief_id else { return };
    let problem = if !has_id_shape(id) {
        Problem::error("brief_id", "this is not the id of a brief")
    } else if id.parse::<BriefId>().is_err() {
        Problem::error("brief_id", format!("a brief's id has at most {BRIEF_ID_CHARS_MAX} characters"))
    } else {
        return;
    };
    let problem = problem
        .expected("`YYYY-MM-DD-` and letters or digits, such as `2024-05-06-A1`")
        .found(id)
        .fix("leave the line out to have an id made".to_owned());
    problems.push(problem, value_at(map, &["brief_id"]));
}

fn deadline(front: &FrontMatter, map: &Map, problems: &mut Problems<'_>) {
    let Some(written) = &front.deadline else {
        return;
    };
    let problem = if !has_date_shape(written) {
        Problem::error("deadline", "this is not a day")
    } else if day(written).is_none() {
        Problem::warning("deadline", "there is no such day, so there is no deadline")
    } else {
        return;
    };
    problems.push(problem.expected("a day, `YYYY-MM-DD`").found(written), value_at(map, &["deadline"]));
}

fn required_sections(sections: &Sections, headings: &Headings, problems: &mut Problems<'_>) {
    let required = [
        ("Objective", KnownSection::Objective, &sections.objective),
        ("Deliverables", KnownSection::Deliverables, &sections.deliverables),
        ("Constraints", KnownSection::Constraints, &sections.constraints),
    ];
    for (name, known, text) in required {
        if !trim(text).is_empty() {
            continue;
        }
        let heading = headings.get(&known).copied();
        let message = match heading {
            Some(_) => format!("the section `{name}` is empty"),
            None => format!("the section `{name}` is missing"),
        };
        let problem = match known {
            KnownSection::Objective | KnownSection::Deliverables => Problem::error(name, message),
            KnownSection::Constraints | KnownSection::ToolsRequired | KnownSection::Notes => {
                Problem::warning(name, message)
            }
        };
        let fix = match heading {
            Some(_) => "write below its heading what it should say".to_owned(),
            None => format!("add a line `# {name}` with its text below"),
        };
        problems.push(problem.fix(fix), heading);
    }
}

const REPLACE: &str = "write your own in its place";
const REPLACE_OR_REMOVE: &str = "write your own in its place, or remove the section";

/// Checks that no section still has the words of the template: they would be sent to an agent as what is wanted.
fn filled_in(sections: &Sections, headings: &Headings, problems: &mut Problems<'_>) {
    for (known, words) in TO_FILL_IN {
        let (name, text, fix) = match known {
            KnownSection::Objective => ("Objective", &sections.objective, REPLACE),
            KnownSection::Deliverables => ("Deliverables", &sections.deliverables, REPLACE),
            KnownSection::Constraints => ("Constraints", &sections.constraints, REPLACE),
            KnownSection::ToolsRequired => ("Tools required", &sections.tools_required, REPLACE_OR_REMOVE),
            KnownSection::Notes => ("Notes", &sections.notes, REPLACE_OR_REMOVE),
        };
        if text.contains(words) {
            let untouched = Problem::error(name, format!("the section `{name}` is still the template's"));
            problems.push(untouched.found(words).fix(fix.to_owned()), headings.get(&known).copied());
        }
    }
}

fn run_adapter(front: &FrontMatter, map: &Map, problems: &mut Problems<'_>) {
    if let Some(adapter) = &front.adapter {
        check_adapter("adapter", adapter, value_at(map, &["adapter"]), front, problems);
    }
}

/// Checks that an adapter exists, and that a bridge to a coding CLI is authorized.
fn check_adapter(field: &str, adapter: &str, at: Option<At>, front: &FrontMatter, problems: &mut Problems<'_>) {
    if adapter.is_empty() {
        let empty = Problem::error(field, "no adapter is named").expected(format!("one of {}", ADAPTERS.join(", ")));
        problems.push(empty, at);
    } else if !ADAPTERS.contains(&adapter) {
        let unknown = Problem::error(field, "there is no such adapter")
            .expected(format!("one of {}", ADAPTERS.join(", ")))
            .found(adapter)
            .fix(did_you_mean(adapter, &ADAPTERS));
        problems.push(unknown, at);
    } else if adapter == "cli-bridge" && !authorizes(front, &["*", "shell_exec"]) {
        let unauthorized = Problem::error(field, "a coding CLI runs commands, which this brief does not authorize")
            .found(adapter)
            .fix("add `shell_exec` to `authorized_costs`".to_owned());
        problems.push(unauthorized, at);
    }
}

fn authorizes(front: &FrontMatter, any_of: &[&str]) -> bool {
    front.authorized_costs.iter().any(|entry| any_of.contains(&entry.as_str()))
}

/// All roles that there are, by name.
fn known_roles(custom: &CustomRoles) -> Vec<&str> {
    Role::WORDS.into_iter().chain(custom.keys().map(RoleName::as_str)).collect()
}

fn member(id: &str, custom: &CustomRoles) -> Option<Member> {
    Member::of(&id.parse().ok()?, custom)
}

fn roles(front: &FrontMatter, map: &Map, custom: &CustomRoles, problems: &mut Problems<'_>) {
    let Some(ids) = front.roles.as_deref().filter(|ids| !ids.is_empty()) else {
        return;
    };
    let places = role_places(map);
    let field_at = map.get("roles").map(|field| field.key_at);
    let known = known_roles(custom);
    for id in ids.iter().filter(|id| member(id, custom).is_none()) {
        let unknown = Problem::error("roles", "there is no such role")
            .expected(format!("some of {}", known.join(", ")))
            .found(id)
            .fix(did_you_mean(id, &known));
        problems.push(unknown, places.get(id.as_str()).copied().or(field_at));
    }
    let members: Vec<Member> = ids.iter().filter_map(|id| member(id, custom)).collect();
    if let Err(two @ BadCrew::Two { .. }) = check_crew(&members) {
        problems.push(Problem::error("roles", two.to_string()).fix("leave one of them out".to_owned()), field_at);
    }
    for needed in [Role::Planner, Role::Executor] {
        if !members.iter().any(|member| member.base == needed) {
            let missing = Problem::error("roles", format!("a crew needs the role `{needed}`"))
                .fix(format!("add `{needed}`, or leave `roles` out to work with one agent"));
            problems.push(missing, field_at);
        }
    }
}

fn role_adapters(front: &FrontMatter, map: &Map, custom: &CustomRoles, problems: &mut Problems<'_>) {
    let bridged = |adapter: &&RoleAdapter| adapter.adapter == "cli-bridge";
    if front.role_adapters.values().any(|adapter| bridged(&adapter)) && authorizes(front, &SIDE_EFFECTS) {
        let warning = Problem::warning(
            "role_adapters",
            "a role is played by a coding CLI, which does what is authorized without asking for each call",
        )
        .fix("authorize only what that role needs".to_owned());
        let role = front.role_adapters.iter().find(|(_, adapter)| bridged(adapter)).map(|(role, _)| role);
        problems.push(warning, role.and_then(|role| place(map, role, Some("adapter"))));
    }
    let roles: HashSet<&String> = front.roles.iter().flatten().collect();
    for (role, adapter) in &front.role_adapters {
        if !roles.contains(role) {
            let idle =
                Problem::error(format!("role_adapters.{role}"), "this role is not among `roles`").found(role).fix(
                    did_you_mean(role, &known_roles(custom))
                        .unwrap_or_else(|| format!("add `{role}` to `roles`, or leave the entry out")),
                );
            problems.push(idle, place(map, role, None));
        }
        let field = format!("role_adapters.{role}.adapter");
        check_adapter(&field, &adapter.adapter, place(map, role, Some("adapter")), front, problems);
    }
}

fn budgets(front: &FrontMatter, map: &Map, problems: &mut Problems<'_>) {
    let zero = |field: String| {
        Problem::error(field, "0 would stop the run before it begins")
            .expected("a whole number of 1 or more")
            .found("0")
            .fix("leave the line out to take the default".to_owned())
    };
    for field in front
        .budgets
        .iter()
        .flat_map(|budgets| budgets.given())
        .filter(|(_, value)| *value == 0)
        .map(|(field, _)| field)
    {
        problems.push(zero(format!("budgets.{field}")), value_at(map, &["budgets", field]));
    }
    let known = front.roles.iter().flatten();
    for (role, budgets) in &front.role_budgets {
        if !known.clone().any(|known| known == role) {
            let idle = Problem::error(format!("role_budgets.{role}"), "this is no role of the crew")
                .fix(format!("add `{role}` to `roles`, or leave the entry out"));
            problems.push(idle, value_at(map, &["role_budgets", role]));
        }
        for (field, _) in budgets.given().filter(|(_, value)| *value == 0) {
            problems.push(zero(format!("role_budgets.{role}.{field}")), value_at(map, &["role_budgets", role, field]));
        }
    }
    for role in front.role_effort.keys().filter(|role| !known.clone().any(|known| known == *role)) {
        let idle = Problem::error(format!("role_effort.{role}"), "this is no role of the crew")
            .fix(format!("add `{role}` to `roles`, or leave the entry out"));
        problems.push(idle, value_at(map, &["role_effort", role]));
    }
    if front.thinking_tokens == Some(0) {
        problems.push(zero("thinking_tokens".to_owned()), value_at(map, &["thinking_tokens"]));
    }
    if front.max_steps == Some(0) {
        problems.push(zero("max_steps".to_owned()), value_at(map, &["max_steps"]));
    }
}

/// A role can be granted what the brief authorizes, and nothing else: whatever is delegated can only lose by it.
fn role_grants(front: &FrontMatter, map: &Map, custom: &CustomRoles, problems: &mut Problems<'_>) {
    for (role, entries) in &front.role_grants {
        let field = format!("role_grants.{role}");
        let key_at = map.get("role_grants").and_then(|field| Some(field.node.map()?.get(role)?.key_at));
        if !front.roles.iter().flatten().any(|known| known == role) {
            let idle = Problem::error(&field, "this is no role of the crew").found(role).fix(
                did_you_mean(role, &known_roles(custom))
                    .unwrap_or_else(|| format!("add `{role}` to `roles`, or leave the entry out")),
            );
            problems.push(idle, key_at);
            continue;
        }
        let limit = member(role, custom).map(|member| RoleLimit::of(member.base));
        for entry in entries {
            let category = Category::new(entry);
            let is_authorized = category.is_default_allowed()
                || front.authorized_costs.iter().any(|authorized| covers(&Category::new(authorized), &category));
            let problem = if !covers_something(entry) {
                Problem::error(&field, "there is no such category, so it can't be granted")
            } else if !is_authorized {
                Problem::error(&field, "the brief does not authorize this, so no role can be granted it")
                    .fix(format!("add `{entry}` to `authorized_costs`, or leave it out here"))
            } else if limit.as_ref().is_some_and(|limit| {
                // A judge holds no commands, but without the grant it could not run the checks.
                let is_for_checks =
                    entry == SHELL_EXEC && limit.name != Role::Planner.as_str() && !front.checks.is_empty();
                // `*` for a role that may not hold everything grants what it may hold.
                !is_for_checks && !limit.may_hold.iter().any(|held| covers(held, &category) || covers(&category, held))
            }) {
                Problem::warning(&field, "this role may never hold that, so nothing is granted by it")
            } else {
                continue;
            };
            problems.push(problem.found(entry), value_at(map, &["role_grants", role]).or(key_at));
        }
    }
}

/// Checks are run by the program, and by judges as far as the brief authorizes them.
fn checks(front: &FrontMatter, map: &Map, custom: &CustomRoles, problems: &mut Problems<'_>) {
    if front.checks.is_empty() {
        return;
    }
    let at = map.get("checks").map(|field| field.key_at);
    let is_judge = |id: &String| member(id, custom).is_some_and(|member| member.base.is_judge());
    let has_judge = front.roles.iter().flatten().any(is_judge);
    let may_run = |entry: &String| covers(&Category::new(entry), &Category::new(SHELL_EXEC));
    if has_judge && !front.authorized_costs.iter().any(may_run) {
        let asked =
            Problem::warning("checks", "the brief authorizes no commands, so you are asked about each run of one")
                .fix(format!("add `{SHELL_EXEC}` to `authorized_costs`"));
        problems.push(asked, at);
    }
}
