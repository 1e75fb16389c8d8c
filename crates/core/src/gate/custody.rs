//! Scope custody over the working tree: which of the paths that changed lie outside the scope.
//!
//! A script can change what no gate saw. So the tree is looked at before the first call and at the end of each
//! step; in goes every path that differs, out come those that nobody answered for, to be put on record.
//!
//! Begin with [`Custody::outside`]; what a session makes of it is in `session/custody.rs`.

pub use crate::words::Look;
use std::collections::BTreeSet;

use super::effect::{Act, Effect, UNKNOWN};
use super::scope::Scope;

/// The most paths that one look names; the rest is counted. About what an operator may read before an answer.
pub const OUTSIDE_MAX: usize = 200;

/// Changes that somebody else made in the folder while the run stood still: it waited for an operator, or no process
/// drove it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FolderChange {
    /// The paths that were added, changed or removed, in plain form, sorted; at most [`OUTSIDE_MAX`].
    pub paths: Vec<String>,
    /// Number of further paths.
    pub more: u64,
    /// The branch and commit checked out when the run stopped, such as `main at 1a2b3c4d5e6f`; `None` if still the
    /// same.
    pub head_before: Option<String>,
    /// The branch and commit checked out now; `None` if still the same.
    pub head_now: Option<String>,
}

impl FolderChange {
    /// The change of these paths, and of what is checked out from `head_before` to `head_now`; `None` if nothing
    /// changed.
    #[must_use]
    pub fn of(paths: Vec<String>, head_before: Option<String>, head_now: Option<String>) -> Option<Self> {
        let (head_before, head_now) = if head_before == head_now { (None, None) } else { (head_before, head_now) };
        let more = paths.len().saturating_sub(OUTSIDE_MAX) as u64;
        let paths = paths.into_iter().take(OUTSIDE_MAX).collect();
        Some(Self { paths, more, head_before, head_now }).filter(|change| *change != Self::default())
    }
}

/// The paths that may change: those in the brief's scope, and those that an operator accepted besides.
#[derive(Debug, Clone, PartialEq)]
pub struct Custody {
    scope: Scope,
    accepted: BTreeSet<String>,
}

/// The changed paths that lie outside the scope.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outside {
    /// The paths in plain form, sorted; at most [`OUTSIDE_MAX`].
    pub paths: Vec<String>,
    /// Number of further paths.
    pub more: u64,
}

impl Custody {
    /// `scope` has its paths in plain form, as have those that were `accepted`.
    #[must_use]
    pub fn new(scope: Scope, accepted: BTreeSet<String>) -> Self {
        Self { scope, accepted }
    }

    /// The same, and what an operator's yes to a call with these `effects` was for. A path that can't be known
    /// answers for nothing.
    #[must_use]
    pub fn with_approved(self, effects: &[Effect]) -> Self {
        let targets = effects.iter().filter_map(|effect| match &effect.act {
            Act::Write(target) | Act::Overwrite(target) | Act::Delete(target) => Some(target),
            Act::Contact { .. } | Act::Denied { .. } | Act::Unreadable | Act::Other => None,
        });
        let known = targets.filter(|target| target.path != UNKNOWN);
        Self { scope: self.scope.with_targets(known), ..self }
    }

    /// Those of the `changed` paths that nobody answered for.
    #[must_use]
    pub fn outside(&self, changed: impl IntoIterator<Item = String>) -> Outside {
        let is_outside = |path: &String| !self.accepted.contains(path) && !self.scope.covers_path(path);
        let all: BTreeSet<String> = changed.into_iter().filter(is_outside).collect();
        let more = all.len().saturating_sub(OUTSIDE_MAX) as u64;
        Outside { paths: all.into_iter().take(OUTSIDE_MAX).collect(), more }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Places, ScopeWords, Target, Verdict};
    use super::*;
    use crate::words::Category;

    fn custody(accepted: &[&str]) -> Custody {
        let paths = Some(vec!["src".to_owned(), "*.toml".to_owned()]);
        let scope = Scope::new(&ScopeWords { paths, ..ScopeWords::default() }).placed(&Places::default());
        Custody::new(scope, accepted.iter().map(|&path| path.to_owned()).collect())
    }

    fn outside(custody: &Custody, changed: &[&str]) -> Vec<String> {
        custody.outside(changed.iter().map(|&path| path.to_owned())).paths
    }

    fn delete(path: &str, is_pattern: bool, is_recursive: bool) -> Effect {
        Effect {
            verdict: Verdict::Destructive,
            category: Category::new("filesystem_delete"),
            act: Act::Delete(Target { path: path.to_owned(), is_pattern, is_recursive }),
            matched: String::new(),
            reason: String::new(),
        }
    }

    #[test]
    fn only_what_nobody_answered_for_lies_outside() {
        assert_eq!(outside(&custody(&["b[1]"]), &["src/x", "b[1]", "b1", "a", "a.toml"]), ["a", "b1"]);
    }

    #[test]
    fn a_yes_to_a_call_answers_for_its_targets_and_no_more() {
        let changed = ["a", "a/x", "b", "b/x", "c1", "[d]", "d", "?"];
        for (path, is_pattern, is_recursive, left) in [
            ("a", false, false, &["?", "[d]", "a/x", "b", "b/x", "c1", "d"][..]),
            ("a", false, true, &["?", "[d]", "b", "b/x", "c1", "d"]),
            ("c*", true, false, &["?", "[d]", "a", "a/x", "b", "b/x", "d"]),
            ("*", true, true, &[]),
            ("[d]", false, false, &["?", "a", "a/x", "b", "b/x", "c1", "d"]),
            ("?", false, false, &["?", "[d]", "a", "a/x", "b", "b/x", "c1", "d"]),
        ] {
            let custody = custody(&[]).with_approved(&[delete(path, is_pattern, is_recursive)]);
            assert_eq!(outside(&custody, &changed), left, "{path}");
        }
        let whole = custody(&[]).with_approved(&[delete(".", false, true)]);
        assert_eq!(outside(&whole, &["a", "a/x"]), [""; 0]);
    }

    #[test]
    fn a_folder_that_nobody_changed_is_no_change() {
        let head = |name: &str| Some(name.to_owned());
        assert_eq!(FolderChange::of(Vec::new(), head("main at 1"), head("main at 1")), None);
        assert_eq!(FolderChange::of(Vec::new(), None, None), None);
        let moved = FolderChange::of(Vec::new(), head("main at 1"), head("main at 2")).expect("a change");
        assert_eq!((moved.head_before, moved.head_now), (head("main at 1"), head("main at 2")));
        let removed = FolderChange::of(Vec::new(), head("main at 1"), None).expect("a change");
        assert_eq!((removed.head_before, removed.head_now), (head("main at 1"), None));
        let many = (0..OUTSIDE_MAX + 3).map(|number| format!("f{number}")).collect();
        let many = FolderChange::of(many, head("main at 1"), head("main at 1")).expect("a change");
        assert_eq!((many.paths.len(), many.more, many.head_before), (OUTSIDE_MAX, 3, None));
    }

    #[test]
    fn what_is_too_much_to_name_is_counted() {
        let found = custody(&[]).outside((0..OUTSIDE_MAX + 3).map(|number| format!("f{number}")));
        assert_eq!((found.paths.len(), found.more), (OUTSIDE_MAX, 3));
    }
}
