//! Reads the branch and commit that are checked out in a workdir from git's files: cheap enough to look before each
//! step.
//!
//! Nothing of the run is at work meanwhile. A repository that stores its references in another way counts as none.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

/// The most that is read of a file of git's: 16 MiB, a hundred thousand packed references.
const BYTES_MAX: u64 = 16 << 20;
/// Number of digits of a commit that are shown.
const COMMIT_LEN: usize = 12;

/// The branch and commit that are checked out in the repository of `workdir`; `None` if there is no repository, or if
/// that can't be read.
#[must_use]
pub fn checked_out(workdir: &Path) -> Option<String> {
    let pointer = workdir.ancestors().map(|folder| folder.join(".git")).find(|pointer| pointer.exists())?;
    let folder = crate::sandbox::led_to(&pointer)?;
    let head = text(&folder.join("HEAD"))?;
    let Some(reference) = head.strip_prefix("ref: ").map(str::trim) else {
        return Some(format!("no branch at {}", shortened(&head)?));
    };
    // Of other kinds of storage the file says nothing.
    if reference.ends_with("/.invalid") || reference.split('/').any(|part| part == "..") {
        return None;
    }
    let branch = reference.strip_prefix("refs/heads/").unwrap_or(reference);
    Some(match commit(&folder, reference) {
        Some(commit) => format!("{branch} at {commit}"),
        None => format!("{branch}, without a commit"),
    })
}

/// The commit that a reference names, in the repository that `folder` is a part of.
fn commit(folder: &Path, reference: &str) -> Option<String> {
    let common = text(&folder.join("commondir")).map_or_else(|| folder.to_owned(), |path| folder.join(path.trim()));
    let own = |at: PathBuf| text(&at.join(reference)).and_then(|text| shortened(&text));
    own(folder.to_owned()).or_else(|| own(common.clone())).or_else(|| {
        let packed = text(&common.join("packed-refs"))?;
        let line = packed.lines().find(|line| line.split_once(' ').is_some_and(|(_, name)| name == reference))?;
        shortened(line)
    })
}

fn shortened(text: &str) -> Option<String> {
    let commit: String = text.chars().take_while(char::is_ascii_hexdigit).take(COMMIT_LEN).collect();
    (commit.len() == COMMIT_LEN).then_some(commit)
}

/// Reads a plain file; a pipe in its place is not waited for.
fn text(path: &Path) -> Option<String> {
    if !fs::metadata(path).ok()?.is_file() {
        return None;
    }
    let mut text = String::new();
    File::open(path).ok()?.take(BYTES_MAX).read_to_string(&mut text).ok()?;
    Some(text)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    fn git(folder: &Path, args: &[&str]) {
        let who = ["-c", "user.name=n", "-c", "user.email=n@example.com", "-c", "init.defaultBranch=main"];
        let done = Command::new("git").current_dir(folder).args(who).args(args).output().unwrap();
        assert!(done.status.success(), "{args:?}: {}", String::from_utf8_lossy(&done.stderr));
    }

    #[test]
    fn it_is_what_git_says() {
        let temporary = tempfile::tempdir().unwrap();
        let folder = temporary.path().canonicalize().unwrap();
        assert_eq!(checked_out(&folder.join("nowhere")), None);
        let work = folder.join("work");
        fs::create_dir(&work).unwrap();
        git(&work, &["init", "-q", "-b", "main"]);
        let check = |at: &Path| assert_eq!(checked_out(at), crate::rescue::head(at), "{}", at.display());
        check(&work);
        assert_eq!(checked_out(&work).as_deref(), Some("main, without a commit"));
        git(&work, &["commit", "-q", "--allow-empty", "-m", "one"]);
        check(&work);
        git(&work, &["checkout", "-q", "-b", "a/b"]);
        check(&work);
        git(&work, &["pack-refs", "--all"]);
        check(&work);
        git(&work, &["worktree", "add", "-q", "../linked", "main"]);
        check(&folder.join("linked"));
        git(&work, &["checkout", "-q", "--detach"]);
        check(&work);
        fs::create_dir(work.join("below")).unwrap();
        check(&work.join("below"));
    }
}
