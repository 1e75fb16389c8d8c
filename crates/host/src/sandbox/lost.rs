//! Finds the losses of a repository by a command: refs that went otherwise than git deletes them, and objects.
//!
//! Git itself deletes both: a branch with its log, loose objects into a pack. So a ref counts as lost if its log is
//! still there, if it is the one that HEAD names, if the file with all packed refs went with it, or if it is back at
//! what it was packed as. Objects count as lost if there are fewer and no pack came. Lost things can't be put back
//! here. They are reported, so that the run doesn't go on as if they were there.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// The most refs that are looked at one by one; of a repository with more, only objects are.
const REFS_MAX: usize = 5_000;
/// The file with refs that have none of their own.
const PACKED: &str = "packed-refs";

/// The refs and objects of a repository before a command.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Holdings {
    at: PathBuf,
    refs: BTreeMap<String, Ref>,
    packed: bool,
    /// The ref that HEAD names.
    head: Option<String>,
    loose: usize,
    packs: BTreeSet<String>,
}

/// A ref as a repository has it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Ref {
    /// The target in a file of its own.
    loose: Option<String>,
    /// The target in the file with all packed refs, which holds only if it has no file of its own.
    packed: Option<String>,
    has_log: bool,
}

impl Holdings {
    /// Lists the refs and objects of the repository at `at` as they are now.
    pub(super) fn of(at: &Path) -> Self {
        let refs = refs(at).unwrap_or_default();
        Self {
            at: at.to_owned(),
            packed: at.join(PACKED).is_file(),
            head: head(at).filter(|head| refs.contains_key(head)),
            loose: loose(at),
            packs: packs(at),
            refs,
        }
    }

    /// The paths of what it lost since; a folder stands for what was in it.
    pub(super) fn lost(&self) -> Vec<PathBuf> {
        let now = refs(&self.at);
        let packed_is_gone = self.packed && !self.at.join(PACKED).is_file();
        let is_head = |name: &String| self.head.as_ref() == Some(name) && head(&self.at).as_ref() == Some(name);
        let is_lost = |(name, was): &(&String, &Ref)| match now.as_ref().map(|now| now.get(*name)) {
            None => false,
            Some(None) => {
                let log_is_left = was.has_log && self.at.join("logs").join(name).is_file();
                log_is_left || is_head(name) || packed_is_gone
            }
            Some(Some(now)) => {
                let is_back = now.packed.is_some() && now.packed == was.packed;
                now.loose.is_none() && is_back && was.loose.as_ref().is_some_and(|was| Some(was) != now.packed.as_ref())
            }
        };
        let mut lost: Vec<PathBuf> = self.refs.iter().filter(is_lost).map(|(name, _)| self.at.join(name)).collect();
        let packs = packs(&self.at);
        let came = packs.difference(&self.packs).next().is_some();
        let gone = self.packs.difference(&packs).next().is_some() || loose(&self.at) < self.loose;
        if gone && !came {
            lost.push(self.at.join("objects"));
        }
        lost
    }
}

/// All refs by their names; none if there are too many to look at.
fn refs(at: &Path) -> Option<BTreeMap<String, Ref>> {
    let mut all: BTreeMap<String, Ref> = BTreeMap::new();
    let packed = fs::read_to_string(at.join(PACKED)).unwrap_or_default();
    let named = packed.lines().filter(|line| !line.starts_with(['#', '^'])).filter_map(|line| line.split_once(' '));
    for (value, name) in named {
        all.entry(name.to_owned()).or_default().packed = Some(value.to_owned());
    }
    let mut open = vec!["refs".to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(at.join(&folder)).into_iter().flatten().flatten() {
            let Ok(name) = entry.file_name().into_string() else { continue };
            let path = format!("{folder}/{name}");
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => open.push(path),
                Ok(kind) if kind.is_file() && !name.ends_with(".lock") => {
                    let value = fs::read_to_string(entry.path()).unwrap_or_default();
                    all.entry(path).or_default().loose = Some(value.trim().to_owned());
                }
                Ok(_) | Err(_) => {}
            }
        }
        if all.len() + open.len() > REFS_MAX {
            return None;
        }
    }
    for (name, found) in &mut all {
        found.has_log = at.join("logs").join(name).is_file();
    }
    Some(all)
}

fn head(at: &Path) -> Option<String> {
    let head = fs::read_to_string(at.join("HEAD")).ok()?;
    Some(head.strip_prefix("ref:")?.trim().to_owned())
}

fn names_in(folder: &Path) -> impl Iterator<Item = String> {
    fs::read_dir(folder).into_iter().flatten().flatten().filter_map(|entry| entry.file_name().into_string().ok())
}

fn packs(at: &Path) -> BTreeSet<String> {
    names_in(&at.join("objects/pack")).filter(|name| name.ends_with(".pack")).collect()
}

/// Returns the number of objects that have a file of their own.
fn loose(at: &Path) -> usize {
    let objects = at.join("objects");
    let folders =
        names_in(&objects).filter(|name| name.len() == 2 && name.bytes().all(|byte| byte.is_ascii_hexdigit()));
    folders.map(|folder| names_in(&objects.join(folder)).filter(|name| name.len() >= 38).count()).sum()
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    struct LossFixture(tempfile::TempDir);

    impl LossFixture {
        fn new() -> Self {
            let place = Self(tempfile::tempdir().expect("a folder"));
            place.shell(
                "git init -q -b main && echo 1 > f && git add f && git commit -qm one && git branch old && git tag v1 \
                 && git tag v2 && git pack-refs --all && git branch new && echo 2 > f && git commit -qam two",
            );
            place
        }

        fn shell(&self, line: &str) {
            let mut shell = Command::new("sh");
            shell.args(["-c", line]).current_dir(self.0.path()).env_clear().envs([
                ("GIT_AUTHOR_NAME", "a"),
                ("GIT_AUTHOR_EMAIL", "a@b"),
                ("GIT_COMMITTER_NAME", "a"),
                ("GIT_COMMITTER_EMAIL", "a@b"),
                ("GIT_CONFIG_GLOBAL", "/dev/null"),
            ]);
            shell.env("PATH", std::env::var_os("PATH").unwrap_or_default());
            let done = shell.output().expect("a shell");
            assert!(done.status.success(), "{line}: {}", String::from_utf8_lossy(&done.stderr));
        }
    }

    #[track_caller]
    fn check(line: &str, expected: &[&str]) {
        let place = LossFixture::new();
        let git = place.0.path().join(".git");
        let before = Holdings::of(&git);
        assert_eq!(before.lost(), [""; 0].map(PathBuf::from));
        place.shell(line);
        let lost: Vec<String> =
            before.lost().iter().map(|path| path.strip_prefix(&git).expect("below").display().to_string()).collect();
        assert_eq!(lost, expected, "{line}");
    }

    #[test]
    fn what_was_taken_from_a_repository_is_told() {
        check("rm .git/refs/heads/new", &["refs/heads/new"]);
        check("rm .git/refs/heads/main", &["refs/heads/main"]);
        check("rm -r .git/refs/heads .git/logs; mkdir .git/refs/heads", &["refs/heads/main"]);
        check("rm .git/packed-refs", &["refs/heads/old", "refs/tags/v1", "refs/tags/v2"]);
        check("rm -rf .git/objects/??", &["objects"]);
        check("f=$(find .git/objects -type f | head -1); rm -f $f", &["objects"]);
    }

    #[test]
    fn what_git_deletes_itself_is_no_loss() {
        for line in [
            "git branch -D old",
            "git branch -D new",
            "git tag -d v1",
            "git branch -m new newer",
            "git gc -q --prune=now",
            "git pack-refs --all --prune",
            "git repack -adq",
            "echo 3 > f; git commit -qam three",
            "git checkout -q -b other && git branch -D main",
            "git stash -q; echo 4 > f; git stash -q; git stash drop -q",
            "git update-ref -d refs/tags/v2",
            "echo 3 > f; git commit -qam three; git gc -q",
            "git reset -q --hard old",
        ] {
            check(line, &[]);
        }
    }
}
