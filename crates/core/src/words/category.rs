//! The kinds of effect that a call can have, as words: `filesystem_write`, `shell_exec`, `mcp_tool:<server>:<tool>`.
//!
//! The static words and what each of them means are a table here; whatever is not in it is either an
//! `mcp_tool:` word or one that nothing requires. Matching is in `authorization.rs`.

use std::fmt;

use serde::{Deserialize, Serialize};

/// One category of effect.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Category(String);

impl Category {
    /// The category named `name`.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self(name.into())
    }

    /// The category of one tool of an MCP server.
    #[must_use]
    pub fn mcp_tool(server: &str, tool: &str) -> Self {
        Self(format!("{MCP_TOOL}:{server}:{tool}"))
    }

    /// Its name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// True if it needs no authorization: only reading files is such a category (OpenWar's rule).
    #[must_use]
    pub fn is_default_allowed(&self) -> bool {
        self.0 == FILESYSTEM_READ
    }
}

impl fmt::Display for Category {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Read files and folders of the workdir.
pub const FILESYSTEM_READ: &str = "filesystem_read";
/// Create and change files.
pub const FILESYSTEM_WRITE: &str = "filesystem_write";
/// Delete files and folders.
pub const FILESYSTEM_DELETE: &str = "filesystem_delete";
/// Run commands.
pub const SHELL_EXEC: &str = "shell_exec";
/// Fetch from the network.
pub const HTTP_FETCH: &str = "http_fetch";
/// Call something that costs money.
pub const PAID_API_CALL: &str = "paid_api_call";
/// Change a git repository without publishing it.
pub const GIT_WRITE: &str = "git_write";
/// Publish commits, branches or tags.
pub const GIT_PUSH: &str = "git_push";
/// Rewrite commits that exist.
pub const GIT_HISTORY_REWRITE: &str = "git_history_rewrite";
/// Add, remove or change packages.
pub const PACKAGE_CHANGE: &str = "package_change";
/// Change what runs in continuous integration.
pub const CI_MODIFY: &str = "ci_modify";
/// End processes that are not the call's own.
pub const PROCESS_KILL: &str = "process_kill";
/// Bring something into an environment that others use.
pub const DEPLOY: &str = "deploy";
/// Change a database.
pub const DATABASE_WRITE: &str = "database_write";
/// Say or send something to the outside.
pub const EXTERNAL_MESSAGE: &str = "external_message";
/// Act with another user's rights.
pub const PRIVILEGE: &str = "privilege";

/// Run what can't be read beforehand.
pub const OPAQUE_EXEC: &str = "opaque_exec";
/// Arrange that something runs later, or at every start.
pub const PERSISTENCE: &str = "persistence";
/// Read what other projects remember.
pub const OTHER_MEMORY_READ: &str = "other_memory_read";

/// Returns what a call of the category does, in a few words, such as `delete files`: for a line that has no room for the
/// meaning. A name that is not in the table is shown as it is, with spaces.
#[must_use]
pub fn in_short(name: &str) -> String {
    let known = IN_SHORT.iter().find(|(known, _)| *known == name);
    known.map_or_else(|| name.replace('_', " "), |(_, words)| (*words).to_owned())
}

/// The categories whose names say it less well.
const IN_SHORT: [(&str, &str); 15] = [
    (FILESYSTEM_READ, "read files"),
    (FILESYSTEM_WRITE, "write files"),
    (FILESYSTEM_DELETE, "delete files"),
    (SHELL_EXEC, "run commands"),
    (HTTP_FETCH, "use the network"),
    (PAID_API_CALL, "spend money"),
    (GIT_WRITE, "change the git repository"),
    (GIT_PUSH, "git push"),
    (GIT_HISTORY_REWRITE, "rewrite git history"),
    (PACKAGE_CHANGE, "change packages"),
    (CI_MODIFY, "change CI"),
    (PROCESS_KILL, "end processes"),
    (DATABASE_WRITE, "change a database"),
    (EXTERNAL_MESSAGE, "send a message"),
    (OPAQUE_EXEC, "run unknown code"),
];

/// The beginning of every MCP tool's category: `mcp_tool:<server>:<tool>`.
pub const MCP_TOOL: &str = "mcp_tool";

/// Every static category with its meaning, in the order in which they are shown.
pub const STATIC: [(&str, &str); 19] = [
    (FILESYSTEM_READ, "read files and folders of the workdir; always allowed"),
    (FILESYSTEM_WRITE, "create and change files"),
    (FILESYSTEM_DELETE, "delete files and folders"),
    (SHELL_EXEC, "run commands; what they delete, push or publish is asked for by its own category"),
    (HTTP_FETCH, "fetch from the network"),
    (PAID_API_CALL, "call something that costs money"),
    (GIT_WRITE, "change a git repository without publishing it"),
    (GIT_PUSH, "publish commits, branches or tags"),
    (GIT_HISTORY_REWRITE, "rewrite commits that exist"),
    (PACKAGE_CHANGE, "add, remove or change packages"),
    (CI_MODIFY, "change what runs in continuous integration"),
    (PROCESS_KILL, "end processes that are not the call's own"),
    (DEPLOY, "bring something into an environment that others use"),
    (DATABASE_WRITE, "change a database"),
    (EXTERNAL_MESSAGE, "say or send something to the outside"),
    (PRIVILEGE, "act with another user's rights"),
    (OPAQUE_EXEC, "run what can't be read beforehand: scripts, unknown programs, fetched code"),
    (PERSISTENCE, "arrange that something runs later, or at every start"),
    (OTHER_MEMORY_READ, "read what other projects remember"),
];
