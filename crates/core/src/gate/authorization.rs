//! Does what was authorized cover what a call requires?
//!
//! An entry covers a category by name, or as one of the wildcards `*`, `mcp_tool:*` and
//! `mcp_tool:<server>:*`; there is no other globbing, and case counts. `mcp_tool:<server>` alone covers
//! only itself and not the server's tools: so the peer decides (its documents say otherwise, which is
//! kept as an open difference), and so an operator who wants the tools writes `mcp_tool:<server>:*`.

use serde::Serialize;

use super::category::{Category, MCP_TOOL};

/// The entries that are no category of their own, or that stand for one that an operator must fill in, with
/// their meaning.
pub const PATTERNS: [(&str, &str); 4] = [
    ("mcp_tool:SERVER:TOOL", "call one tool of a tool server"),
    ("mcp_tool:SERVER:*", "call any tool of that server"),
    ("mcp_tool:*", "call any tool of any server"),
    ("*", "everything"),
];

/// Whether the entry `entry` of a list covers the category `required`.
#[must_use]
pub fn covers(entry: &Category, required: &Category) -> bool {
    if entry == required || entry.as_str() == "*" {
        return true;
    }
    let Some(required) = required.as_str().strip_prefix(MCP_TOOL) else { return false };
    let Some(stem) = entry.as_str().strip_prefix(MCP_TOOL).and_then(|entry| entry.strip_suffix(":*")) else {
        return false;
    };
    // What is left of `mcp_tool:*` is empty, of `mcp_tool:git:*` it is `:git`.
    required.strip_prefix(stem).is_some_and(|tool| tool.starts_with(':') || (tool.is_empty() && !stem.is_empty()))
}

/// Whether a call may be made as far as authorization goes, and what it lacks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Authorization {
    /// Whether nothing is missing.
    pub allowed: bool,
    /// The required categories that nothing covers, in the order required, each once.
    pub missing: Vec<Category>,
}

/// Checks that every category of `required` is allowed by default or covered by an entry of one of the
/// lists: what the brief authorizes, or what was approved for the run.
#[must_use]
pub fn check(required: &[Category], authorized: &[Category], approved_for_run: &[Category]) -> Authorization {
    let is_covered = |category: &Category| {
        category.is_default_allowed() || authorized.iter().chain(approved_for_run).any(|entry| covers(entry, category))
    };
    let mut missing: Vec<Category> = Vec::new();
    for category in required {
        if !is_covered(category) && !missing.contains(category) {
            missing.push(category.clone());
        }
    }
    Authorization { allowed: missing.is_empty(), missing }
}
