//! The part of the workdir that has to be kept before a call is carried out, because the call may lose it.
//!
//! In: what the call would do, and what it will make of files as far as that was looked up. Out: an [`Extent`]
//! of the workdir, or nothing. Whatever lies outside the workdir is not kept; there the gate asks instead.
//!
//! In doubt more is kept than needed: a path that can't be known and a line that can't be read may each lose
//! anything.

use super::effect::{Act, Effect, Target, UNKNOWN, Verdict};
use crate::words::category::{DEPLOY, EXTERNAL_MESSAGE, GIT_PUSH, HTTP_FETCH, PAID_API_CALL, PROCESS_KILL};
use crate::words::tool::FileChange;

/// The part of the workdir that has to be kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Extent {
    /// These files and folders, with all that lies below them; in plain form, sorted.
    Paths(Vec<String>),
    /// All of it.
    Whole,
}

/// Returns the part that has to be kept before a call; `None` if the call loses nothing in the workdir.
///
/// `effects` is what was read of the call, `changes` what it will make of files by their hashes.
#[must_use]
pub fn extent(effects: &[Effect], changes: &[FileChange]) -> Option<Extent> {
    let mut paths: Vec<String> =
        changes.iter().filter(|change| change.before.is_some()).map(|change| change.path.clone()).collect();
    // What a native tool will make of files is known better than what its arguments say.
    let is_settled = !changes.is_empty();
    for effect in effects.iter().filter(|_| !is_settled) {
        match lost_by(effect) {
            Lost::Nothing => {}
            Lost::Path(path) => paths.push(path),
            Lost::Anything => return Some(Extent::Whole),
        }
    }
    paths.sort_unstable();
    paths.dedup();
    // What lies below a folder that is kept is kept with it.
    let kept: Vec<String> =
        paths.iter().filter(|path| !paths.iter().any(|above| is_below(path, above))).cloned().collect();
    (!kept.is_empty()).then_some(Extent::Paths(kept))
}

/// True if `path` lies below the folder `above`.
fn is_below(path: &str, above: &str) -> bool {
    path.strip_prefix(above).is_some_and(|rest| rest.starts_with('/'))
}

/// The part of the workdir that one effect may lose.
enum Lost {
    Nothing,
    Path(String),
    Anything,
}

/// Effects of these categories lose nothing in the workdir, however much they matter.
const ELSEWHERE: [&str; 6] = [PROCESS_KILL, GIT_PUSH, EXTERNAL_MESSAGE, DEPLOY, PAID_API_CALL, HTTP_FETCH];

fn lost_by(effect: &Effect) -> Lost {
    let matters = matches!(effect.verdict, Verdict::Destructive | Verdict::Opaque);
    match &effect.act {
        Act::Delete(target) | Act::Overwrite(target) => lost_at(target),
        Act::Write(target) if matters => lost_at(target),
        // What is denied is not carried out.
        Act::Write(_) | Act::Contact { .. } | Act::Denied { .. } => Lost::Nothing,
        Act::Unreadable => Lost::Anything,
        Act::Other if matters && !ELSEWHERE.contains(&effect.category.as_str()) => Lost::Anything,
        Act::Other => Lost::Nothing,
    }
}

fn lost_at(target: &Target) -> Lost {
    if target.path == UNKNOWN || target.path.is_empty() {
        return Lost::Anything;
    }
    // A pattern stands for anything in the last folder that is named without one.
    let named = if target.is_pattern {
        let segments = target.path.split('/').take_while(|segment| !segment.contains(['*', '?', '[', '{']));
        segments.collect::<Vec<_>>().join("/")
    } else {
        target.path.clone()
    };
    match named.as_str() {
        // A pattern that begins at the root, such as `/*`, is joined to nothing.
        "" if target.path.starts_with('/') => Lost::Anything,
        "" | "." => Lost::Anything,
        // What contains the workdir can't be told by the text alone, so a folder outside counts if all below is meant.
        outside if outside.starts_with(['/', '~']) => {
            if target.is_recursive || target.is_pattern {
                Lost::Anything
            } else {
                Lost::Nothing
            }
        }
        inside => Lost::Path(inside.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::Category;
    use crate::words::category::{FILESYSTEM_DELETE, FILESYSTEM_WRITE, GIT_WRITE, SHELL_EXEC};

    fn effect(verdict: Verdict, category: &str, act: Act) -> Effect {
        Effect { verdict, category: Category::new(category), act, matched: String::new(), reason: String::new() }
    }

    fn target(path: &str) -> Target {
        Target { path: path.to_owned(), is_pattern: path.contains('*'), is_recursive: false }
    }

    fn delete(path: &str) -> Effect {
        effect(Verdict::Destructive, FILESYSTEM_DELETE, Act::Delete(target(path)))
    }

    #[track_caller]
    fn check(effects: &[Effect], expected: Option<&[&str]>) {
        let expected = expected.map(|paths| match paths {
            [] => Extent::Whole,
            paths => Extent::Paths(paths.iter().map(|path| (*path).to_owned()).collect()),
        });
        assert_eq!(extent(effects, &[]), expected, "{effects:?}");
    }

    const WHOLE: Option<&[&str]> = Some(&[]);

    #[test]
    fn what_is_named_is_kept_and_what_is_not_known_keeps_all() {
        check(&[delete("a"), delete("b/c"), delete("b"), delete("a")], Some(&["a", "b"]));
        check(&[delete("build/*.o")], Some(&["build"]));
        check(&[delete("b"), delete("bc"), delete("b-c/d")], Some(&["b", "b-c/d", "bc"]));
        for all in ["?", ".", "*", "*/x", "/*", ""] {
            check(&[delete(all), delete("a")], WHOLE);
        }
        check(&[effect(Verdict::Destructive, GIT_WRITE, Act::Other)], WHOLE);
        check(&[effect(Verdict::Opaque, SHELL_EXEC, Act::Other)], WHOLE);
        check(&[effect(Verdict::Ask, FILESYSTEM_WRITE, Act::Overwrite(target("x")))], Some(&["x"]));
    }

    #[test]
    fn what_loses_nothing_in_the_workdir_keeps_nothing() {
        check(&[], None);
        for harmless in [
            effect(Verdict::Safe, SHELL_EXEC, Act::Other),
            effect(Verdict::Safe, FILESYSTEM_WRITE, Act::Write(target("x"))),
            effect(Verdict::Destructive, PROCESS_KILL, Act::Other),
            effect(Verdict::External, GIT_PUSH, Act::Other),
            effect(Verdict::Ask, HTTP_FETCH, Act::Contact { host: "x".to_owned() }),
            delete("/etc/passwd"),
        ] {
            check(&[harmless], None);
        }
    }

    #[test]
    fn a_folder_outside_may_hold_the_workdir() {
        let all_below = Target { is_recursive: true, ..target("/home") };
        check(&[effect(Verdict::Destructive, FILESYSTEM_DELETE, Act::Delete(all_below))], WHOLE);
    }

    #[test]
    fn of_a_write_by_hashes_only_what_was_there_is_kept() {
        let change = |path: &str, before: Option<&str>| FileChange {
            path: path.to_owned(),
            before: before.map(str::to_owned),
            after: Some("1".to_owned()),
        };
        let effects = [effect(Verdict::Destructive, FILESYSTEM_DELETE, Act::Other)];
        let made = extent(&effects, &[change("new", None), change("old", Some("0"))]);
        assert_eq!(made, Some(Extent::Paths(vec!["old".to_owned()])));
        assert_eq!(extent(&[], &[change("new", None)]), None);
    }
}
