//! Reading a brief: from a text to its typed form, or to everything that is wrong with it.

use indexmap::IndexMap;

use super::document::{BriefParts, Front, split};
use super::fields::FrontMatter;
use super::grammar::{FrontMatterNodes, read_front_matter};
use super::problem::{At, Problem, Problems};
use super::rules;
use super::sections::{Sections, read_sections};
use super::values::{Budgets, CliBridge, Deadline, McpServer, RoleAdapter, day};
use crate::detect::Sensitivities;
use crate::gate::Scope;
use crate::gate::custom_role::CustomRoles;
use crate::words::effort::Effort;
use crate::words::id::{BriefId, Slug};
use crate::words::role::RoleName;
use crate::words::{Category, Mode};

/// The longest text that is read as a brief, in bytes.
pub const BRIEF_BYTES_MAX: usize = 256 * 1024;

/// A brief whose fields were all checked.
#[derive(Debug, Clone, PartialEq)]
pub struct Brief {
    /// The project it belongs to.
    pub project: Slug,
    /// Its id; absent if one is to be made.
    pub brief_id: Option<BriefId>,
    /// The last day on which it is in time; absent if there is none.
    pub deadline: Option<Deadline>,
    /// The brief's scope; it holds nothing if the brief names none.
    pub scope: Scope,
    /// True if the agent is held to the brief's scope.
    pub scope_locked: bool,
    /// The mode: how far the agent goes before it asks; absent if the operator is to be asked.
    pub mode: Option<Mode>,
    /// The entries that authorize categories beforehand; may be patterns such as `*` and `mcp_tool:git:*`.
    pub authorized_costs: Vec<Category>,
    /// The folder to work in, as it is written.
    pub workdir: Option<String>,
    /// The adapter to use, one of [`ADAPTERS`](super::ADAPTERS).
    pub adapter: Option<String>,
    /// The model to use, as the adapter names it.
    pub model: Option<String>,
    /// The adapters that take the turns if the first can't: `adapter` or `adapter:model`, in this order.
    pub fallback: Vec<String>,
    /// The script of a scripted agent, as it is written.
    pub script: Option<String>,
    /// The most steps of a session; never 0.
    pub max_steps: Option<u32>,
    /// Number of minutes to wait for a provider that fails.
    pub patience_minutes: Option<u64>,
    /// The thinking effort asked of the agent.
    pub effort: Option<Effort>,
    /// The most tokens that it may think for in one reply; never 0.
    pub thinking_tokens: Option<u32>,
    /// The sensitivity of the detectors; the default for those that the brief does not name.
    pub detectors: Sensitivities,
    /// Tool servers to connect, in their order.
    pub mcp_servers: Vec<McpServer>,
    /// True if the project's memory is shown to the agent.
    pub inherit_memory: bool,
    /// The project whose learned profile applies.
    pub learned_profile: Option<Slug>,
    /// The bridge to a coding CLI.
    pub cli: CliBridge,
    /// The roles of a crew; empty for one agent alone.
    pub roles: Vec<RoleName>,
    /// The adapters of roles that don't use the run's own.
    pub role_adapters: IndexMap<RoleName, RoleAdapter>,
    /// The budgets of the run, as far as the brief names them.
    pub budgets: Budgets,
    /// The budgets of each role, within the run's.
    pub role_budgets: IndexMap<RoleName, Budgets>,
    /// The part of the authorized categories that a role is granted; all of it for a role that is not named.
    pub role_grants: IndexMap<RoleName, Vec<Category>>,
    /// The thinking effort of each role that differs from the others.
    pub role_effort: IndexMap<RoleName, Effort>,
    /// The command lines by which the work is checked: judges of a crew may run them, and no other.
    pub checks: Vec<String>,
    /// Files that must be there before the work counts as done.
    pub expected_files: Vec<String>,
    /// Patterns of the tests that must stay as they are; without any, tests may change, and none may go.
    pub protected_tests: Vec<String>,
    /// The sections.
    pub sections: Sections,
}

/// The result of reading a text as a brief.
#[derive(Debug, Clone, PartialEq)]
pub struct Reading {
    /// The brief; absent if there is an error among the problems.
    pub brief: Option<Brief>,
    /// Everything that is wrong, or may not be what was meant. At most 500 of each severity are told
    /// one by one.
    pub problems: Vec<Problem>,
    /// The fields as they are written.
    pub front_matter: FrontMatter,
    /// The sections as they are written.
    pub sections: Sections,
    /// Set if the front matter can't be read; then the fields are what could be read all the same.
    pub unreadable: Option<UnreadableFrontMatter>,
}

/// The place from which a front matter can't be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnreadableFrontMatter {
    /// The first line that can't be read, from 1, counted within the front matter; absent if it is not
    /// about a line.
    pub line: Option<u32>,
}

impl Reading {
    /// True if there is no error; warnings are allowed.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.brief.is_some()
    }
}

/// Reads a brief: markdown with a front matter between two lines `---`.
///
/// Tells all problems at once: behind a line or a field that is wrong, reading goes on. A byte order mark
/// and line endings of either kind are of no consequence. A text of more than [`BRIEF_BYTES_MAX`] bytes is
/// not read at all.
#[must_use]
pub fn read(text: &str) -> Reading {
    read_with(text, &CustomRoles::new())
}

/// The same where an operator defined roles: a brief may name them like those that every crew knows.
#[must_use]
pub fn read_with(text: &str, custom: &CustomRoles) -> Reading {
    if text.len() > BRIEF_BYTES_MAX {
        return too_long(text.len());
    }
    let mut problems = Problems::in_text(text);
    let parts = split(text);
    let (nodes, unclosed) = front_matter(&parts, &mut problems);
    if let Some(at) = parts.after_marker {
        let behind = Problem::warning("front_matter", "what stands behind the closing `---` belongs to the body")
            .found(problems.text_at(at))
            .fix("put it on a line of its own".to_owned());
        problems.push(behind, Some(at));
    }
    let front = FrontMatter::of(&nodes.map, &mut problems);
    let (sections, headings) = read_sections(parts.body, &mut problems);
    rules::check(&front, &nodes.map, &sections, &headings, custom, &mut problems);

    let unreadable = unclosed.or(nodes.first_bad_line.map(|line| UnreadableFrontMatter { line: Some(line) }));
    let brief = if problems.has_errors() { None } else { Brief::of(&front, &sections) };
    Reading { brief, problems: problems.into_told(), front_matter: front, sections, unreadable }
}

/// Returns the first line of a brief's objective, by which people know it, without the mark of a list; `None` if it has
/// none. Read from invalid briefs too.
#[must_use]
pub fn title(text: &str) -> Option<String> {
    let objective = read(text).sections.objective;
    let first = objective.lines().map(str::trim).find(|line| !line.is_empty())?;
    Some(first.strip_prefix("- ").or_else(|| first.strip_prefix("* ")).unwrap_or(first).to_owned())
}

fn front_matter(parts: &BriefParts, problems: &mut Problems<'_>) -> (FrontMatterNodes, Option<UnreadableFrontMatter>) {
    match parts.front {
        Front::None => (FrontMatterNodes::default(), None),
        Front::Closed(at) => (read_front_matter(at, problems), None),
        Front::Unclosed(at) => {
            let unclosed = Problem::error("front_matter", "the front matter is not closed")
                .expected("a line `---` behind the last field")
                .fix("add a line `---` before the first heading".to_owned());
            problems.push(unclosed, Some(At { start: at.end, end: at.end }));
            let nodes = read_front_matter(at, problems);
            (nodes, Some(UnreadableFrontMatter { line: None }))
        }
    }
}

fn too_long(bytes: usize) -> Reading {
    let mut problems = Problems::in_text("");
    let problem = Problem::error("brief", "the text is too long for a brief")
        .expected(format!("at most {BRIEF_BYTES_MAX} bytes"))
        .found(&format!("{bytes} bytes"))
        .fix("name large files in the brief instead of quoting them".to_owned());
    problems.push(problem, None);
    Reading {
        brief: None,
        problems: problems.into_told(),
        front_matter: FrontMatter::default(),
        sections: Sections::default(),
        unreadable: Some(UnreadableFrontMatter { line: None }),
    }
}

impl Brief {
    /// The typed form of what has passed the rules; absent if it has not.
    fn of(front: &FrontMatter, sections: &Sections) -> Option<Self> {
        let role = |id: &String| id.parse::<RoleName>().ok();
        let role_adapters = front.role_adapters.iter().map(|(id, adapter)| Some((role(id)?, adapter.clone())));
        let role_budgets = front.role_budgets.iter().map(|(id, budgets)| Some((role(id)?, *budgets)));
        let granted = |grant: &Vec<String>| grant.iter().map(Category::new).collect();
        let role_grants = front.role_grants.iter().map(|(id, grant)| Some((role(id)?, granted(grant))));
        let role_effort = front.role_effort.iter().map(|(id, effort)| Some((role(id)?, *effort)));
        Some(Self {
            project: front.project.as_ref()?.parse().ok()?,
            brief_id: front.brief_id.as_ref().map(|id| id.parse()).transpose().ok()?,
            deadline: front.deadline.as_deref().and_then(day).map(Deadline::on),
            scope: front.scope.as_ref().map(Scope::new).unwrap_or_default(),
            scope_locked: front.scope_locked,
            mode: front.mode,
            authorized_costs: front.authorized_costs.iter().map(Category::new).collect(),
            workdir: front.workdir.clone(),
            adapter: front.adapter.clone(),
            model: front.model.clone(),
            fallback: front.fallback.clone(),
            script: front.script.clone(),
            patience_minutes: front.patience,
            effort: front.effort,
            thinking_tokens: front.thinking_tokens.map(|tokens| u32::try_from(tokens).unwrap_or(u32::MAX)),
            max_steps: front.max_steps.map(|steps| u32::try_from(steps).unwrap_or(u32::MAX)),
            detectors: front.detectors.iter().map(|(detector, sensitivity)| (*detector, *sensitivity)).collect(),
            mcp_servers: front.mcp_servers.clone(),
            inherit_memory: front.inherit_memory,
            learned_profile: front.learned_profile.as_ref().map(|name| name.parse()).transpose().ok()?,
            cli: front.cli.clone().unwrap_or_default(),
            roles: front.roles.iter().flatten().map(role).collect::<Option<_>>()?,
            role_adapters: role_adapters.collect::<Option<_>>()?,
            budgets: front.budgets.unwrap_or_default(),
            role_budgets: role_budgets.collect::<Option<_>>()?,
            role_grants: role_grants.collect::<Option<_>>()?,
            role_effort: role_effort.collect::<Option<_>>()?,
            checks: front.checks.clone(),
            expected_files: front.expected_files.clone(),
            protected_tests: front.protected_tests.clone(),
            sections: sections.clone(),
        })
    }
}
