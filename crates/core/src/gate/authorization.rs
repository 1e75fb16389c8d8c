//! Does what was authorized cover what a call requires?
//!
//! An entry covers a category by name, or as one of the wildcards `*`, `mcp_tool:*` and
//! `mcp_tool:<server>:*`; there is no other globbing, and case counts. `mcp_tool:<server>` alone covers
//! only itself and not the server's tools: so OpenWar decides (its documents say otherwise, which is
//! kept as an open difference), and so an operator who wants the tools writes `mcp_tool:<server>:*`.

use serde::Serialize;

use crate::words::Category;
use crate::words::category::{MCP_TOOL, STATIC};

/// The entries that are no category of their own, or that stand for one that an operator must fill in, with
/// their meaning.
pub const PATTERNS: [(&str, &str); 4] = [
    ("mcp_tool:SERVER:TOOL", "call one tool of a tool server"),
    ("mcp_tool:SERVER:*", "call any tool of that server"),
    ("mcp_tool:*", "call any tool of any server"),
    ("*", "everything"),
];

/// True if the list entry `entry` covers the category `required`.
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

/// True if `entry` covers at least one category. An entry that covers none is a mistake in its list.
#[must_use]
pub fn covers_something(entry: &str) -> bool {
    if entry == "*" || STATIC.iter().any(|(name, _)| *name == entry) {
        return true;
    }
    let Some(rest) = entry.strip_prefix(MCP_TOOL).and_then(|rest| rest.strip_prefix(':')) else { return false };
    let named = |text: &str| !text.is_empty() && !text.contains('*');
    match rest.split_once(':') {
        Some((server, tool)) => named(server) && (tool == "*" || named(tool)),
        None => rest == "*",
    }
}

/// The result of checking a call's required categories against what is authorized.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Authorization {
    /// True if nothing is missing.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::native;

    #[test]
    fn an_entry_that_covers_something_is_told_from_one_that_never_can() {
        for (name, _) in STATIC {
            assert!(covers_something(name), "{name}");
        }
        for entry in ["*", "mcp_tool:*", "mcp_tool:git:*", "mcp_tool:git:commit", "mcp_tool:git:a:b"] {
            assert!(covers_something(entry), "{entry}");
            let required = if entry.ends_with('*') { Category::mcp_tool("git", "x") } else { Category::new(entry) };
            assert!(covers(&Category::new(entry), &required), "{entry}");
        }
        let useless = [
            "", "mcp_tool", "mcp_tool:", "mcp_tool:git", "mcp_tool::", "mcp_tool:git:", "mcp_tool::x", "mcp_tool:*:x",
            "mcp_tool:git:com*", "mcp_tool:g*:*", "git_*", "git:commit", "write_file", "Shell_exec", "mcp_toolbox:x",
        ];
        let tools = native::NATIVE.iter().flat_map(|(tool, _)| native::categories(tool).expect("a native tool"));
        let required: Vec<Category> = tools.chain([Category::mcp_tool("git", "commit")]).collect();
        for entry in useless {
            assert!(!covers_something(entry), "{entry}");
            assert!(!required.iter().any(|category| covers(&Category::new(entry), category)), "{entry}");
        }
    }
}
