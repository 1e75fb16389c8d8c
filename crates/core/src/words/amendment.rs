//! Changes of a brief while it is worked on.

use serde::{Deserialize, Serialize};

use super::{Budget, Category, Metric};

/// Changes of a brief from here on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Amendment {
    /// Categories that are authorized too.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub authorize: Vec<Category>,
    /// Categories that are authorized no more, as they stand in the list; an approval for the run goes with them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub withdraw: Vec<Category>,
    /// Paths that the brief is about too.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub scope: Vec<String>,
    /// Paths that it is about no more, as they stand in its scope.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unscope: Vec<String>,
    /// Limits that hold in place of those before, in whole.
    #[serde(skip_serializing_if = "Budget::is_empty")]
    pub budget: Budget,
}

impl Amendment {
    /// Returns true if it changes nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns its changes, in a sentence each, for agent and operator.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let listed = |categories: &[Category]| categories.iter().map(Category::as_str).collect::<Vec<_>>().join(", ");
        let mut lines = Vec::new();
        if !self.authorize.is_empty() {
            lines.push(format!("authorized from here on: {}", listed(&self.authorize)));
        }
        if !self.withdraw.is_empty() {
            lines.push(format!("authorized no more: {}", listed(&self.withdraw)));
        }
        if !self.scope.is_empty() {
            lines.push(format!("within the scope from here on: {}", self.scope.join(", ")));
        }
        if !self.unscope.is_empty() {
            lines.push(format!("outside the scope from here on: {}", self.unscope.join(", ")));
        }
        for metric in Metric::ALL {
            if let Some(limit) = self.budget.limit(metric) {
                lines.push(format!("limit from here on: {}", metric.shown(limit)));
            }
        }
        lines
    }
}
