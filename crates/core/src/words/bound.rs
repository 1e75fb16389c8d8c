//! The bounds of a permission.

use serde::{Deserialize, Serialize};

/// The bounds of a permission; an absent field binds nothing. The words are those of a grant.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bound {
    /// The tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The command line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The pattern of paths or hosts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// For how many calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uses: Option<u32>,
}
