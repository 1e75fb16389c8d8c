//! Checks trees, checkpoints and the way back against real repositories.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::*;

struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn plain() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        fs::create_dir(folder.path().join("w")).expect("a folder");
        Self { folder }
    }

    fn empty_repository() -> Self {
        let place = Self::plain();
        place.git(&["init", "-q", "-b", "main"]);
        place
    }

    /// A repository with a commit of `a` and `b/c`.
    fn repository() -> Self {
        let place = Self::empty_repository();
        place.write("a", b"1\n");
        place.write("b/c", b"c\n");
        place.commit("first");
        place
    }

    fn dir(&self) -> PathBuf {
        self.folder.path().join("w")
    }

    fn path(&self, path: &str) -> PathBuf {
        self.dir().join(path)
    }

    fn git(&self, args: &[&str]) -> String {
        self.git_in("", args)
    }

    fn git_in(&self, folder: &str, args: &[&str]) -> String {
        let git = Command::new("git")
            .args(["-c", "user.name=t", "-c", "user.email=t@t", "-c", "protocol.file.allow=always"])
            .args(args)
            .current_dir(self.path(folder))
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.folder.path())
            .output()
            .expect("git runs");
        assert!(git.status.success(), "{args:?}: {}", String::from_utf8_lossy(&git.stderr));
        String::from_utf8_lossy(&git.stdout).into_owned()
    }

    fn commit(&self, message: &str) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", message]);
    }

    fn write(&self, path: &str, content: &[u8]) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
        fs::write(path, content).expect("written");
    }

    fn remove(&self, path: &str) {
        fs::remove_file(self.path(path)).expect("removed");
    }

    fn mode(&self, path: &str, mode: u32) {
        fs::set_permissions(self.path(path), Permissions::from_mode(mode)).expect("set");
    }

    fn look_within(&self, limits: &TreeLimits) -> TreeLook {
        look(&self.dir(), limits)
    }

    fn look(&self) -> TreeLook {
        self.look_within(&TreeLimits::default())
    }

    /// The id, which is the same whether files are read or the index is believed.
    fn id(&self) -> String {
        let read = id_of(&self.look());
        let believing = TreeLimits { read_bytes: 0, ..TreeLimits::default() };
        assert_eq!(id_of(&self.look_within(&believing)), read);
        read
    }

    fn keep(&self, iteration: u64) -> Checkpoint {
        keep(&self.dir(), "run.1", iteration, &TreeLimits::default()).expect("kept")
    }

    fn rewind(&self, name: CheckpointName) -> Rewound {
        rewind(&self.dir(), "run.1", name, &TreeLimits::default()).expect("rewound")
    }

    /// Every file below `folder` with its mode and content; links with where they lead.
    fn files(&self, folder: &str) -> BTreeMap<PathBuf, (u32, Vec<u8>)> {
        let mut files = BTreeMap::new();
        let mut folders = vec![self.path(folder)];
        while let Some(at) = folders.pop() {
            for entry in fs::read_dir(at).expect("listed") {
                let path = entry.expect("an entry").path();
                let found = path.symlink_metadata().expect("there");
                if found.is_dir() {
                    folders.push(path);
                } else if found.is_symlink() {
                    let target = fs::read_link(&path).expect("a link");
                    files.insert(path, (0o120_000, target.as_os_str().as_bytes().to_vec()));
                } else {
                    let content = fs::read(&path).expect("read");
                    files.insert(path, (found.permissions().mode(), content));
                }
            }
        }
        files
    }

    /// All but what Git has for itself.
    fn tree(&self) -> BTreeMap<PathBuf, (u32, Vec<u8>)> {
        let mut files = self.files("");
        files.retain(|path, _| !path.starts_with(self.path(".git")));
        files
    }
}

fn id_of(look: &TreeLook) -> String {
    match &look.tree {
        TreeIdentity::Known { id } => id.clone(),
        TreeIdentity::Unknown { why } => panic!("unknown: {why}"),
    }
}

fn why_unknown(look: &TreeLook) -> &str {
    match &look.tree {
        TreeIdentity::Known { id } => panic!("known: {id}"),
        TreeIdentity::Unknown { why } => why,
    }
}

#[test]
fn u7_a_revert_by_a_commit_brings_the_old_id_back() {
    let place = Place::repository();
    let first = place.id();
    place.write("a", b"2\n");
    place.commit("second");
    let second = place.id();
    place.git(&["revert", "--no-edit", "HEAD"]);
    assert_ne!(first, second);
    assert_eq!(place.id(), first);
}

#[test]
fn u8_untracked_files_count() {
    let place = Place::repository();
    let mut ids = vec![place.id()];
    for content in ["1", "2", "33"] {
        place.write("new/file", content.as_bytes());
        ids.push(place.id());
    }
    place.remove("new/file");
    assert_eq!(place.id(), ids[0]);
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 4);
}

#[test]
fn u9_neither_staging_nor_a_commit_nor_an_empty_one_changes_the_id() {
    let place = Place::repository();
    place.write("a", b"2\n");
    place.write("new", b"n\n");
    let (dirty, head) = (place.id(), place.look().head);
    place.git(&["add", "a"]);
    assert_eq!(place.id(), dirty);
    place.git(&["add", "-A"]);
    assert_eq!(place.id(), dirty);
    place.git(&["commit", "-qm", "all"]);
    assert_eq!(place.id(), dirty);
    place.git(&["commit", "-q", "--allow-empty", "-m", "none"]);
    assert_eq!(place.id(), dirty);
    assert_ne!(place.look().head, head);
    assert_eq!(place.look().head.as_deref(), Some(place.git(&["rev-parse", "HEAD"]).trim()));
}

#[test]
fn u10_edits_of_equal_length_and_equal_counts_count() {
    let place = Place::repository();
    place.write("binary", &[0, 159, 1, 2]);
    place.commit("binary");
    let mut ids = vec![place.id()];
    for last in [3, 4] {
        place.write("binary", &[0, 159, 1, last]);
        ids.push(place.id());
        place.write("a", format!("{last}\n").as_bytes());
        ids.push(place.id());
    }
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 5);
}

#[test]
fn u28_without_a_repository_the_files_themselves_are_hashed_up_to_a_limit() {
    let place = Place::plain();
    place.write("a", b"1");
    place.write("b/c", b"1");
    let first = place.look();
    assert!(id_of(&first).starts_with("files:") && first.head.is_none());
    assert_eq!(place.look(), first);
    place.write(".adjutant/state/x", b"ours");
    place.write("b/.git/index", b"git's");
    assert_eq!(place.look(), first);
    let mut ids = vec![id_of(&first)];
    let acts: [&dyn Fn(); 5] = [
        &|| place.write("a", b"2"),
        &|| place.mode("a", 0o755),
        &|| fs::rename(place.path("a"), place.path("d")).expect("renamed"),
        &|| symlink("d", place.path("link")).expect("linked"),
        &|| place.write("b/.adjutant/x", b"not ours"),
    ];
    for act in acts {
        act();
        ids.push(id_of(&place.look()));
    }
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 6);
    for limits in [
        TreeLimits { files: 2, ..TreeLimits::default() },
        TreeLimits { bytes: 1, ..TreeLimits::default() },
        TreeLimits { time: Duration::ZERO, ..TreeLimits::default() },
    ] {
        assert!(!why_unknown(&place.look_within(&limits)).is_empty());
    }
    for error in [
        keep(&place.dir(), "r", 1, &TreeLimits::default()).map(drop),
        rewind(&place.dir(), "r", CheckpointName::Iteration(1), &TreeLimits::default()).map(drop),
        list(&place.dir(), "r").map(drop),
    ] {
        assert!(matches!(error, Err(CheckpointError::NoRepository)), "{error:?}");
    }
}

#[test]
fn u29_what_the_loop_writes_for_itself_is_no_change_even_where_it_is_tracked() {
    let place = Place::repository();
    let before = place.id();
    place.write(".adjutant/state/x", b"1");
    assert_eq!(place.id(), before);
    place.git(&["add", "-f", ".adjutant"]);
    assert_eq!(place.id(), before);
    place.commit("tracked");
    assert_eq!(place.id(), before);
    place.write(".adjutant/state/x", b"2");
    place.write(".adjutant/PAUSE", b"");
    assert_eq!(place.id(), before);
    // Only the one of the workdir.
    place.write("b/.adjutant/x", b"1");
    assert_ne!(place.id(), before);
}

#[test]
fn a_repository_without_a_commit_has_an_id_and_no_head() {
    let place = Place::empty_repository();
    let empty = place.look();
    assert_eq!(empty.head, None);
    place.write("a", b"1");
    let first = place.id();
    assert_ne!(first, id_of(&empty));
    place.git(&["add", "a"]);
    assert_eq!(place.id(), first);
    place.remove("a");
    assert_eq!(place.look(), empty);
    let kept = place.keep(1);
    place.write("a", b"1");
    place.rewind(kept.name);
    assert!(!place.path("a").exists());
}

#[test]
fn modes_links_and_names_of_any_bytes_count_and_ignored_files_do_not() {
    let place = Place::repository();
    place.write(".gitignore", b"*.log\n/target\n");
    place.commit("ignore");
    let mut ids = vec![place.id()];
    let name = |bytes: &[u8]| place.dir().join(OsStr::from_bytes(bytes));
    let acts: [&dyn Fn(); 7] = [
        &|| place.mode("a", 0o755),
        &|| symlink("a", place.path("link")).expect("linked"),
        &|| {
            place.remove("link");
            symlink("b", place.path("link")).expect("linked");
        },
        &|| fs::write(name(b"with\nline"), "1").expect("written"),
        &|| fs::write(name(b"no\xfftext"), "1").expect("written"),
        &|| fs::write(name(b"no\xfetext"), "1").expect("written"),
        &|| place.write(":(top)*", b"magic"),
    ];
    for act in acts {
        act();
        ids.push(place.id());
    }
    for ignored in ["x.log", "target/deep/file"] {
        place.write(ignored, b"1");
        assert_eq!(Some(&place.id()), ids.last());
    }
    // A tracked file counts, whatever is said to be ignored since.
    place.git(&["add", "-f", "x.log"]);
    let tracked = place.id();
    place.write("x.log", b"2");
    assert_ne!(place.id(), tracked);
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 8);
}

#[test]
fn an_entry_marked_as_not_to_be_looked_at_hides_nothing() {
    for mark in ["--assume-unchanged", "--skip-worktree"] {
        let place = Place::repository();
        let before = place.id();
        place.git(&["update-index", mark, "a"]);
        assert_eq!(place.id(), before);
        place.write("a", b"2\n");
        assert_ne!(place.id(), before, "{mark}");
    }
}

#[test]
fn an_index_that_lies_about_a_file_hides_nothing_while_all_is_read() {
    let place = Place::repository();
    place.write("a", b"2\n");
    place.git(&["add", "a"]);
    let before = place.look();
    // The stamps of the file as it is now, beside the object of another content.
    let object = |content: &str| {
        place.write("other", content.as_bytes());
        let object = place.git(&["hash-object", "-w", "other"]).trim().to_owned();
        place.remove("other");
        object
    };
    let (old, new) = (object("2\n"), object("3\n"));
    place.write("a", b"3\n");
    place.git(&["add", "a"]);
    let bytes = |hex: &str| {
        (0..hex.len() / 2).map(|at| u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).expect("hex")).collect::<Vec<u8>>()
    };
    let mut index = fs::read(place.path(".git/index")).expect("read");
    let at = index.windows(20).position(|window| window == bytes(&new)).expect("the entry");
    index[at..at + 20].copy_from_slice(&bytes(&old));
    let end = index.len() - 20;
    index[end..].fill(0);
    fs::write(place.path(".git/index"), index).expect("written");
    assert_ne!(place.look(), before);
}

#[test]
fn line_endings_and_filters_of_the_repository_change_nothing_and_run_nothing() {
    let place = Place::repository();
    let ran = place.folder.path().join("ran");
    let run = format!("touch {} && cat", ran.display());
    for setting in [
        ["filter.evil.clean", run.as_str()],
        ["filter.evil.smudge", &run],
        ["filter.evil.required", "true"],
        ["core.fsmonitor", &run],
        ["core.sshCommand", &run],
        ["core.autocrlf", "true"],
        ["core.hooksPath", "hooks"],
        ["diff.external", &run],
        ["core.attributesFile", "more-attributes"],
        ["core.trustctime", "false"],
        ["commit.gpgSign", "true"],
        ["gpg.program", &run],
    ] {
        place.git(&["config", setting[0], setting[1]]);
    }
    place.write(".gitattributes", b"* filter=evil text=auto diff=evil\n");
    place.write(".git/info/attributes", b"* filter=evil\n");
    for hook in ["post-index-change", "reference-transaction", "pre-commit", "post-commit", "post-checkout"] {
        for folder in ["hooks", ".git/hooks"] {
            place.write(&format!("{folder}/{hook}"), format!("#!/bin/sh\ntouch {}\n", ran.display()).as_bytes());
            place.mode(&format!("{folder}/{hook}"), 0o755);
        }
    }
    place.write("crlf", b"one\r\ntwo\n");
    place.write("a", b"2\r\n");
    let first = place.id();
    let kept = place.keep(1);
    place.write("crlf", b"one\ntwo\n");
    assert_ne!(place.id(), first);
    let rewound = place.rewind(kept.name);
    assert_eq!((rewound.changed, rewound.not_restored), (vec!["crlf".to_owned()], vec![]));
    assert_eq!(fs::read(place.path("crlf")).expect("there"), b"one\r\ntwo\n");
    assert_eq!(place.id(), first);
    list(&place.dir(), "run.1").expect("listed");
    remove_old(&place.dir(), "run.1", 0).expect("removed");
    assert!(!ran.exists(), "something of the repository ran");
}

#[test]
fn an_id_writes_nothing_to_the_repository() {
    let place = Place::repository();
    place.write("a", b"changed\n");
    place.write("new", b"new\n");
    place.git(&["update-index", "--split-index"]);
    place.git(&["add", "a"]);
    let before = place.files(".git");
    let id = place.id();
    assert_eq!(place.files(".git"), before);
    place.git(&["commit", "-qam", "more"]);
    assert_eq!(place.id(), id);
}

#[test]
fn a_submodule_counts_by_its_commit_and_its_content_and_its_filters_do_not_run() {
    let place = Place::repository();
    let ran = place.folder.path().join("ran");
    let other = Place::repository();
    place.git(&["submodule", "--quiet", "add", &other.dir().display().to_string(), "sub"]);
    place.commit("sub");
    place.git_in("sub", &["config", "filter.evil.clean", &format!("touch {} && cat", ran.display())]);
    let mut ids = vec![place.id()];
    place.write("sub/a", b"dirty\n");
    ids.push(place.id());
    place.write("sub/.gitattributes", b"* filter=evil\n");
    place.write("sub/a", b"worse\n");
    ids.push(place.id());
    let kept = place.keep(1);
    place.remove("sub/.gitattributes");
    place.git_in("sub", &["commit", "-qam", "inside"]);
    ids.push(place.id());
    assert!(!ran.exists());
    assert!(place.git(&["ls-tree", &kept.commit, "sub"]).starts_with("160000 commit"));
    place.write("a", b"2\n");
    let rewound = place.rewind(kept.name);
    assert_eq!(rewound.submodules, ["sub"]);
    assert_eq!(rewound.changed, ["a"]);
    assert_eq!(fs::read(place.path("sub/a")).expect("there"), b"worse\n");
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 4);
}

#[test]
fn a_repository_within_is_no_obstacle_even_without_a_commit() {
    let place = Place::repository();
    place.git(&["init", "-q", "inner"]);
    let empty = place.id();
    place.write("inner/file", b"1");
    let first = place.id();
    assert_ne!(first, empty);
    let kept = place.keep(1);
    place.write("inner/file", b"2");
    assert_ne!(place.id(), first);
    place.rewind(kept.name);
    assert_eq!(fs::read(place.path("inner/file")).expect("there"), b"2");
}

#[test]
fn a_workdir_within_a_repository_is_about_its_own_files() {
    let place = Place::repository();
    place.write("b/ignored.log", b"1");
    place.write(".gitignore", b"*.log\n/out\n");
    let within = |limits: &TreeLimits| id_of(&look(&place.path("b"), limits));
    let all = TreeLimits::default();
    let first = within(&all);
    place.write("a", b"2\n");
    place.git(&["add", "a"]);
    place.write("b/.adjutant/x", b"1");
    assert_eq!(within(&all), first);
    assert_eq!(within(&TreeLimits { read_bytes: 0, ..all }), first);
    let kept = keep(&place.path("b"), "run.1", 1, &all).expect("kept");
    place.write("b/c", b"2\n");
    place.write("b/d", b"new\n");
    assert_ne!(within(&all), first);
    let rewound = rewind(&place.path("b"), "run.1", kept.name, &all).expect("rewound");
    assert_eq!(rewound.changed, ["c", "d"]);
    assert_eq!(within(&all), first);
    assert_eq!(fs::read(place.path("a")).expect("there"), b"2\n");
    fs::remove_dir_all(place.path("b")).expect("removed");
    fs::create_dir(place.path("b")).expect("made");
    assert_ne!(within(&all), first);
    // In a folder that is ignored as a whole, Git would see nothing.
    place.write("out/x", b"1");
    let ignored = id_of(&look(&place.path("out"), &all));
    place.write("out/x", b"2");
    assert!(ignored.starts_with("files:") && id_of(&look(&place.path("out"), &all)) != ignored);
}

#[test]
fn a_tree_over_the_limits_is_unknown_and_has_no_checkpoint() {
    let place = Place::repository();
    place.write("new", b"12345");
    for limits in [
        TreeLimits { files: 2, ..TreeLimits::default() },
        TreeLimits { bytes: 4, ..TreeLimits::default() },
        TreeLimits { time: Duration::ZERO, ..TreeLimits::default() },
    ] {
        assert!(!why_unknown(&place.look_within(&limits)).is_empty());
        assert!(keep(&place.dir(), "r", 1, &limits).is_err());
    }
    assert!(list(&place.dir(), "r").expect("listed").is_empty());
}

#[test]
fn what_can_not_be_read_makes_the_tree_unknown_with_a_reason() {
    let place = Place::repository();
    fs::write(place.path(".git/index"), "no index").expect("written");
    let look = place.look();
    assert!(look.head.is_some());
    assert!(why_unknown(&look).contains("index"), "{look:?}");
}

#[test]
fn a_conflict_and_a_second_working_tree_have_an_id() {
    let place = Place::repository();
    place.git(&["checkout", "-qb", "other"]);
    place.write("a", b"other\n");
    place.commit("other");
    place.git(&["checkout", "-q", "main"]);
    place.write("a", b"main\n");
    place.commit("main");
    let merge = Command::new("git").args(["merge", "-q", "other"]).current_dir(place.dir()).output().expect("git runs");
    assert!(!merge.status.success());
    let torn = place.id();
    place.git(&["add", "a"]);
    assert_eq!(place.id(), torn);
    place.git(&["merge", "--abort"]);
    place.git(&["worktree", "add", "-q", "../second", "other"]);
    let second = place.folder.path().join("second");
    let there = look(&second, &TreeLimits::default());
    assert_ne!(id_of(&there), torn);
    assert_ne!(there.head, place.look().head);
    let kept = keep(&second, "run.2", 1, &TreeLimits::default()).expect("kept");
    fs::write(second.join("a"), "more").expect("written");
    rewind(&second, "run.2", kept.name, &TreeLimits::default()).expect("rewound");
    assert_eq!(look(&second, &TreeLimits::default()), there);
}

#[test]
fn checkpoints_are_kept_once_listed_and_the_old_ones_removed() {
    let place = Place::repository();
    let head = place.git(&["rev-parse", "HEAD"]);
    let first = place.keep(1);
    place.write("a", b"2\n");
    place.write("new", b"1\n");
    assert_eq!(place.keep(1), first);
    let second = place.keep(2);
    assert_eq!(place.git(&["rev-parse", &format!("{}^", second.commit)]), head);
    let listed = list(&place.dir(), "run.1").expect("listed");
    let told: Vec<_> = listed.iter().map(|one| (one.name.to_string(), one.differing)).collect();
    assert_eq!(told, [("1".to_owned(), None), ("2".to_owned(), Some(2))]);
    assert!(listed[0].made_at_s > 1_600_000_000);
    let differ = differing_paths(&place.dir(), &first.commit, &second.commit).expect("told");
    assert_eq!(differ, DifferingPaths { paths: vec!["a".to_owned(), "new".to_owned()], more: 0 });
    assert!(differing_paths(&place.dir(), "--output=x", &second.commit).is_err());
    assert!(differing_paths(&place.dir(), &"0".repeat(40), &second.commit).is_err());
    place.keep(10);
    assert!(remove_old(&place.dir(), "run.1", 3).expect("none").is_empty());
    let removed = remove_old(&place.dir(), "run.1", 1).expect("removed");
    assert_eq!(removed, [CheckpointName::Iteration(1), CheckpointName::Iteration(2)]);
    assert_eq!(list(&place.dir(), "run.1").expect("listed").len(), 1);
    assert!(list(&place.dir(), "run.2").expect("listed").is_empty());
    let gone = rewind(&place.dir(), "run.1", CheckpointName::Iteration(2), &TreeLimits::default());
    assert!(matches!(gone, Err(CheckpointError::Gone { .. })), "{gone:?}");
    assert_eq!(list(&place.dir(), "run.1").expect("listed").len(), 1, "a refusal keeps nothing");
    assert!(matches!(list(&place.dir(), "../x"), Err(CheckpointError::RunName(_))));
}

#[test]
fn two_hundred_paths_are_named_and_the_rest_counted() {
    let place = Place::repository();
    let first = place.keep(1);
    for number in 0..230 {
        place.write(&format!("many/{number}"), b"x");
    }
    let second = place.keep(2);
    let differ = differing_paths(&place.dir(), &first.commit, &second.commit).expect("told");
    assert_eq!((differ.paths.len(), differ.more), (200, 30));
}

#[test]
fn a_rewind_brings_files_back_and_leaves_head_index_and_ignored_files() {
    let place = Place::repository();
    place.write(".gitignore", b"*.log\n");
    place.write("run.sh", b"#!/bin/sh\n");
    place.mode("run.sh", 0o755);
    symlink("a", place.path("link")).expect("linked");
    place.write("folder/file", b"1");
    place.write("binary", &[0, 255, 10, 13]);
    place.commit("all");
    place.write("dirty", b"untracked");
    let kept = place.keep(1);
    let (before, id) = (place.tree(), place.id());

    place.write("a", b"2\n");
    place.mode("run.sh", 0o644);
    place.remove("link");
    symlink("/etc/hosts", place.path("link")).expect("linked");
    place.remove("folder/file");
    fs::remove_dir(place.path("folder")).expect("removed");
    place.write("folder", b"a file now");
    place.remove("dirty");
    place.write("dirty/now/a/folder", b"1");
    place.remove("binary");
    symlink("..", place.path("binary")).expect("linked");
    fs::remove_dir_all(place.path("b")).expect("removed");
    symlink(place.folder.path(), place.path("b")).expect("linked");
    fs::write(place.folder.path().join("c"), "outside").expect("written");
    place.git(&["add", "-A"]);
    place.git(&["commit", "-qm", "later"]);
    place.write("a", b"3\n");
    place.git(&["add", "a"]);
    let (index, head) = (fs::read(place.path(".git/index")).expect("read"), fs::read(place.path(".git/HEAD")));
    let commit = place.git(&["rev-parse", "HEAD"]);
    let changed = place.tree();

    let rewound = place.rewind(kept.name);
    assert_eq!(rewound.not_restored, []);
    assert_eq!(rewound.before.name, CheckpointName::BeforeRewind(1));
    assert_eq!((place.tree(), place.id()), (before.clone(), id.clone()));
    assert_eq!(fs::read(place.folder.path().join("c")).expect("there"), b"outside");
    assert_eq!(fs::read(place.path(".git/index")).expect("read"), index);
    assert_eq!(fs::read(place.path(".git/HEAD")).expect("read"), head.expect("read"));
    assert_eq!(place.git(&["rev-parse", "HEAD"]), commit);
    // Again there is nothing to do, and the way back is open.
    assert!(place.rewind(kept.name).changed.is_empty());
    let back = place.rewind(CheckpointName::BeforeRewind(1));
    assert_eq!((back.not_restored.as_slice(), back.before.name), (&[][..], CheckpointName::BeforeRewind(3)));
    assert_eq!(place.tree(), changed);
}

#[test]
fn ignored_files_stay_and_what_they_block_is_named() {
    let place = Place::repository();
    place.write("data", b"kept");
    place.write("same", b"same");
    place.write("out/x", b"kept");
    let kept = place.keep(1);
    place.write(".gitignore", b"data\nsame\n*.log\n");
    place.write("data", b"ignored now");
    place.remove("out/x");
    place.write("out/y.log", b"ignored");
    place.write("new/z.log", b"ignored");
    place.write("new/file", b"new");
    let rewound = place.rewind(kept.name);
    assert_eq!(rewound.not_restored.iter().map(|one| one.path.as_str()).collect::<Vec<_>>(), ["data"]);
    assert_eq!(rewound.changed, [".gitignore", "new/file", "out/x"]);
    for (path, content) in
        [("data", &b"ignored now"[..]), ("same", b"same"), ("out/y.log", b"ignored"), ("new/z.log", b"ignored")]
    {
        assert_eq!(fs::read(place.path(path)).expect("there"), content, "{path}");
    }
}

#[test]
fn names_of_any_bytes_are_put_back() {
    let place = Place::repository();
    let names: Vec<PathBuf> = [&b"with\nline"[..], b"no\xfftext", b"\"quoted\"", b"-n", b"folder\n/\xfe"]
        .into_iter()
        .map(|name| place.dir().join(OsStr::from_bytes(name)))
        .collect();
    for name in &names {
        fs::create_dir_all(name.parent().expect("a folder")).expect("made");
        fs::write(name, "1").expect("written");
    }
    let kept = place.keep(1);
    let before = place.tree();
    for name in &names[..3] {
        fs::remove_file(name).expect("removed");
    }
    fs::write(&names[4], "2").expect("written");
    fs::write(place.dir().join(OsStr::from_bytes(b"new\xff")), "2").expect("written");
    let rewound = place.rewind(kept.name);
    assert_eq!((rewound.not_restored, rewound.changed.len()), (vec![], 5));
    assert_eq!(place.tree(), before);
}

#[test]
fn changes_of_any_kind_come_back() {
    // A small generator, so that each round is another mix of the same few names.
    let mut state: u64 = 7;
    let mut next = move |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let place = Place::repository();
    let mut kept = Vec::new();
    for round in 1..=12 {
        for _ in 0..6 {
            let path = place.path(["p", "p/q", "p/q/r", "s", "s/t", "u"][usize::try_from(next(6)).expect("small")]);
            let parent = path.parent().expect("a folder");
            for folder in [parent.parent().expect("a folder"), parent] {
                if folder.symlink_metadata().is_ok_and(|found| !found.is_dir()) {
                    fs::remove_file(folder).expect("removed");
                }
            }
            fs::create_dir_all(parent).expect("made");
            match path.symlink_metadata() {
                Ok(found) if found.is_dir() => fs::remove_dir_all(&path).expect("removed"),
                Ok(_) => fs::remove_file(&path).expect("removed"),
                Err(_) => {}
            }
            match next(4) {
                0 => {}
                1 => symlink(["a", "..", "/nowhere"][usize::try_from(next(3)).expect("small")], &path).expect("linked"),
                kind => {
                    fs::write(&path, next(3).to_string()).expect("written");
                    let mode = if kind == 2 { 0o755 } else { 0o644 };
                    fs::set_permissions(&path, Permissions::from_mode(mode)).expect("set");
                }
            }
        }
        kept.push((place.keep(round), place.tree(), place.id()));
    }
    for number in [3, 0, 11, 5, 7] {
        let (checkpoint, tree, id) = &kept[number];
        let rewound = place.rewind(checkpoint.name);
        assert_eq!(rewound.not_restored, [], "{number}");
        assert_eq!((&place.tree(), &place.id()), (tree, id), "{number}");
    }
}

#[test]
fn an_index_of_another_repository_format_is_read() {
    let place = Place::plain();
    place.git(&["init", "-q", "--object-format=sha256"]);
    place.write("a", b"1");
    place.commit("first");
    let first = place.id();
    assert_eq!(first.len(), "git:".len() + 64);
    let kept = place.keep(1);
    place.write("a", b"2");
    place.rewind(kept.name);
    assert_eq!(place.id(), first);
}

#[test]
fn what_is_no_folder_is_unknown() {
    assert!(!why_unknown(&look(Path::new("/nowhere/at/all"), &TreeLimits::default())).is_empty());
}
