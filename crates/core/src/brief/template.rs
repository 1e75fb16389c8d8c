//! A brief to begin with, and ids for briefs that have none.

use jiff::civil::Date;
use thiserror::Error;

use super::sections::KnownSection;
use super::values::{ADAPTERS, is_id_suffix};
use crate::detect::{Detector, Sensitivity};
use crate::gate::authorization::PATTERNS;
use crate::words::category::STATIC;
use crate::words::id::{BRIEF_ID_CHARS_MAX, BriefId, Slug};
use crate::words::role::Role;

/// The words that stand in each section of the template until they are replaced. A brief that still has them is invalid.
pub(super) const TO_FILL_IN: [(KnownSection, &str); 5] = [
    (KnownSection::Objective, "<what is to be reached, and why>"),
    (KnownSection::Deliverables, "<what exists afterwards that can be looked at>"),
    (KnownSection::Constraints, "<what must not change>"),
    (KnownSection::ToolsRequired, "<what is needed to do it>"),
    (KnownSection::Notes, "<what else is worth knowing, and what is not known>"),
];

/// The fields that the template names without explaining them: what few briefs need.
pub(super) const NAMED_ONLY: [&str; 5] = ["thinking_tokens", "learned_profile", "role_adapters", "role_effort", "cli"];

/// The text of a new brief for `project`, with the fields that most briefs need explained and the others named. It is valid once the words of its sections are
/// replaced.
#[must_use]
pub fn template(project: &Slug, today: Date) -> String {
    let suffix: String = project.as_str().chars().filter(|c| *c != '-').take(SUFFIX_CHARS_MAX).collect();
    // A slug begins with a letter or digit, so a suffix is never empty.
    let width = names().map(|(name, _)| name.len()).max().unwrap_or_default();
    let categories: Vec<String> = names().map(|(name, meaning)| format!("#   {name:width$}  {meaning}")).collect();
    let [objective, deliverables, constraints, tools, notes] = TO_FILL_IN.map(|(_, words)| words);
    format!(
        r#"---
# The project: lower-case letters, digits and hyphens.
project: {project}
# The name of this brief and of its first run; change the last part for a second brief on the same day.
brief_id: {today}-{suffix}
# How far the agent goes before it asks: gated (after every step) or auto. Leave it out to be asked.
mode: gated
# What this brief is about, as paths or as a map of files, folders, hosts and services: what lies outside is
# asked for, or refused if the scope is locked.
# scope: [src, docs/*.md]
# Refuse what lies outside of it, instead of asking; with it no approval holds for the rest of the run.
# scope_locked: true

# What the agent may do without asking; whatever is not listed is asked for when it comes up. It may always read.
{categories}
# For edits and tests, take the `#` off the next line.
# authorized_costs: [filesystem_write, shell_exec]

# The last day on which this is in time (UTC).
# deadline: {today}
# The folder to work in; the current one if left out.
# workdir: .

# Who does it: {adapters}
# adapter: anthropic
# The script of `scripted`, which needs no model.
# script: demo.script
# Who takes the turns if the adapter can't, in this order.
# fallback: [gemini, "openai:gpt-4.1"]
# model: NAME
# The most steps of a session.
# max_steps: 30
# patience: 30   # minutes to wait for a provider that is out of reach or busy
# How hard the model is asked to think: low, medium, high or max.
# effort: high

# How eager each detector is: {sensitivities}
# The detectors: {detectors}
# detectors:
#   banned_phrases: loose

# A crew instead of one agent. The roles: {roles}
# roles: [planner, executor, reviewer]
# What the run may use.
# budgets:
#   max_turns: 100
#   max_dollars: 2.50
#   max_tokens: {tokens}
#   max_wall_clock_minutes: {minutes}
#   max_tool_calls_per_subtask: {calls}
#   max_retries_per_subtask: {retries}
# What single roles of a crew may use of it.
# role_budgets:
#   reviewer:
#     max_turns: 20

# Commands by which the work is checked: a loop runs them, and judges may, letter for letter and no others; with
# shell_exec authorized judges need no question: as in checks: ["cargo test"]
# Files that must be there before the goal of a loop counts as reached: as in expected_files: ["CHANGES.md"]
# Tests that must stay as they are, else a loop refuses completion: as in protected_tests: ["tests/**"]
# What single roles of a crew hold of what is authorized, where that is not all of it.
# role_grants:
#   executor: []

# Tool servers to connect.
# mcp_servers:
#   - git=mcp-server-git
# Whether the agent sees what earlier runs of the project left in its memory.
# inherit_memory: true
# More fields, which docs/briefs.md explains: {others}
---

# Objective

{objective}

# Deliverables

- {deliverables}

# Constraints

- {constraints}

# Tools required

- {tools}

# Notes

{notes}
"#,
        categories = categories.join("\n"),
        adapters = ADAPTERS.join(", "),
        sensitivities = Sensitivity::ALL.map(Sensitivity::name).join(", "),
        detectors = Detector::ALL.map(Detector::name).join(", "),
        roles = Role::WORDS.join(", "),
        others = NAMED_ONLY.join(", "),
        tokens = super::values::BUDGET_MAX_TOKENS,
        minutes = super::values::BUDGET_MAX_WALL_CLOCK_MINUTES,
        calls = super::values::BUDGET_MAX_TOOL_CALLS_PER_SUBTASK,
        retries = super::values::BUDGET_MAX_RETRIES_PER_SUBTASK,
    )
}

/// Returns everything that can be authorized, with its meaning: all categories, and the patterns for tool servers.
fn names() -> impl Iterator<Item = (&'static str, &'static str)> {
    STATIC.into_iter().chain(PATTERNS)
}

/// The most characters that a suffix can have: what a date and a dash leave of an id.
const SUFFIX_CHARS_MAX: usize = BRIEF_ID_CHARS_MAX - "YYYY-MM-DD-".len();

/// The refusal of a suffix that can't end a brief's id.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{given}` can't end a brief's id: it takes 1 to {SUFFIX_CHARS_MAX} ASCII letters or digits")]
pub struct BadSuffix {
    /// The suffix as it was given, cut to a length that can be shown.
    pub given: String,
}

/// The id of a brief that has none: a day and what makes it unique, for which OpenWar takes six random
/// characters of `a` to `z` and `0` to `9`.
///
/// # Errors
///
/// [`BadSuffix`] if the suffix is empty, too long, or holds anything but ASCII letters and digits; or if
/// the year is not one of four digits.
pub fn generated_id(date: Date, suffix: &str) -> Result<BriefId, BadSuffix> {
    let bad = || BadSuffix { given: super::problem::shown(suffix) };
    if !is_id_suffix(suffix) {
        return Err(bad());
    }
    let id = format!("{date}-{suffix}");
    if !super::values::has_id_shape(&id) {
        return Err(bad());
    }
    id.parse().map_err(|_| bad())
}

/// The slug that is nearest to a name: lower-case, with a hyphen for each run of anything else, cut at 64
/// characters. Absent if the name holds no ASCII letter or digit.
#[must_use]
pub fn slug_like(name: &str) -> Option<Slug> {
    let mut slug = String::new();
    for c in name.chars() {
        if slug.len() == 64 {
            break;
        }
        if c.is_ascii_alphanumeric() {
            slug.push(c.to_ascii_lowercase());
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    slug.trim_end_matches('-').parse().ok()
}
