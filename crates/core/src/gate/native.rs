//! The categories that a call needs by its tool alone.
//!
//! The native tools are a table; a name with a colon, `server:tool`, is a tool of an MCP server.
//! Needs that follow from a call's arguments are read in `effects.rs`.

use thiserror::Error;

use crate::words::Category;
use crate::words::category::{FILESYSTEM_READ, FILESYSTEM_WRITE, HTTP_FETCH, SHELL_EXEC};
use crate::words::wait::WAIT_FOR;

/// The native tools with the categories that every call to them needs (OpenWar's table).
pub const NATIVE: [(&str, &[&str]); 11] = [
    ("read_file", &[FILESYSTEM_READ]),
    ("write_file", &[FILESYSTEM_WRITE]),
    ("list_dir", &[FILESYSTEM_READ]),
    ("shell_exec", &[SHELL_EXEC]),
    ("http_fetch", &[HTTP_FETCH]),
    ("apply_patch", &[FILESYSTEM_WRITE]),
    ("read_project_memory", &[FILESYSTEM_READ]),
    ("write_project_memory", &[FILESYSTEM_WRITE]),
    ("list_project_memory", &[FILESYSTEM_READ]),
    ("request_permission", &[]),
    // Ours. What it needs depends on what it waits for.
    (WAIT_FOR, &[]),
];

/// The reason why a tool's categories are not known.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{given}` is no tool: there are {known}, and `server:tool` for a tool of an MCP server")]
pub struct UnknownTool {
    /// The name as given.
    pub given: String,
    known: String,
}

/// The categories that every call to `tool` needs.
///
/// # Errors
///
/// [`UnknownTool`] for a name that is neither native nor of the form `server:tool`.
pub fn categories(tool: &str) -> Result<Vec<Category>, UnknownTool> {
    if let Some((_, categories)) = NATIVE.iter().find(|(name, _)| *name == tool) {
        return Ok(categories.iter().map(|category| Category::new(*category)).collect());
    }
    match tool.split_once(':') {
        Some((server, name)) if !server.is_empty() && !name.is_empty() => Ok(vec![Category::mcp_tool(server, name)]),
        Some(_) | None => {
            let known = NATIVE.map(|(name, _)| format!("`{name}`")).join(", ");
            Err(UnknownTool { given: tool.to_owned(), known })
        }
    }
}
