//! Checks that an undo brings everything back, byte for byte, and that the repository is not affected.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Command;

use adjutant_core::gate::rescue::Extent;

use super::*;
use crate::workdir::Workdir;

struct RescueFixture {
    folder: tempfile::TempDir,
}

impl RescueFixture {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["w", "home"] {
            fs::create_dir(folder.path().join(name)).expect("a folder");
        }
        Self { folder }
    }

    fn repository() -> Self {
        let place = Self::new();
        place.git(&["init", "-q"]);
        place
    }

    fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join("w").join(path)
    }

    fn git(&self, args: &[&str]) -> String {
        let git = Command::new("git")
            .args(["-c", "user.name=t", "-c", "user.email=t@t"])
            .args(args)
            .current_dir(self.path(""))
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .output()
            .expect("git runs");
        assert!(git.status.success(), "{args:?}: {}", String::from_utf8_lossy(&git.stderr));
        String::from_utf8_lossy(&git.stdout).into_owned()
    }

    fn write(&self, path: &str, content: &[u8]) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
        fs::write(path, content).expect("written");
    }

    fn workdir(&self) -> Workdir {
        Workdir::open(&self.path("")).expect("the workdir")
    }

    fn rescues(&self) -> Rescues {
        Rescues::of(&self.folder.path().join("home"), "run.1")
    }

    fn keep(&self, extent: &Extent) -> Manifest {
        let occasion = Occasion { name: "call-1.1", before: "shell_exec", even_if_empty: false };
        self.rescues().keep(&self.workdir(), extent, occasion).expect("kept").expect("something").manifest
    }

    fn undo(&self, manifest: &Manifest, is_exact: bool) -> Plan {
        let reach = if is_exact { Reach::Exact } else { Reach::Call };
        let plan = self.rescues().plan(&self.workdir(), manifest, reach).expect("a plan");
        assert_eq!(self.rescues().restore(&self.workdir(), manifest, &plan), []);
        plan
    }

    /// Everything below the workdir but git's own: path, and content, link or mode.
    fn tree(&self) -> Vec<String> {
        let mut told = Vec::new();
        let mut open = vec![self.path("")];
        while let Some(folder) = open.pop() {
            for entry in fs::read_dir(&folder).expect("a folder").flatten() {
                let found = entry.metadata().expect("metadata");
                let path = entry.path();
                let name = path.strip_prefix(self.path("")).expect("below").display().to_string();
                let mode = found.permissions().mode() & 0o777;
                if name == ".git" {
                } else if found.is_dir() {
                    told.push(format!("{name}/"));
                    open.push(path);
                } else if found.is_symlink() {
                    told.push(format!("{name} -> {}", fs::read_link(&path).expect("a link").display()));
                } else {
                    told.push(format!("{name} {mode:o} {:?}", fs::read(&path).expect("content")));
                }
            }
        }
        told.sort();
        told
    }

    fn wipe(&self) {
        for entry in fs::read_dir(self.path("")).expect("a folder").flatten() {
            if entry.file_name() != ".git" {
                let path = entry.path();
                if path.is_dir() && !path.is_symlink() { fs::remove_dir_all(path) } else { fs::remove_file(path) }
                    .expect("removed");
            }
        }
    }

    /// Files of every kind, `x` executable, `z` readable by its owner alone.
    fn fill(&self) {
        self.write("a.txt", b"tracked\n");
        self.write("crlf.txt", b"one\r\ntwo\r\n");
        self.write("d/bin", &[0, 159, 146, 150, 255, 10]);
        self.write("d/na me\"\\ \u{e4}.txt", b"quoted");
        self.write("x", b"#!/bin/sh\n");
        self.write("z", b"");
        fs::set_permissions(self.path("x"), Permissions::from_mode(0o755)).expect("a mode");
        fs::set_permissions(self.path("z"), Permissions::from_mode(0o600)).expect("a mode");
        symlink("d/bin", self.path("link")).expect("a link");
        symlink("/nowhere", self.path("out")).expect("a link");
    }
}

#[test]
fn everything_is_as_it_was_after_a_wipe() {
    for place in [RescueFixture::new(), RescueFixture::repository()] {
        place.fill();
        fs::create_dir(place.path("empty")).expect("a folder");
        let before = place.tree();
        let manifest = place.keep(&Extent::Whole);
        place.wipe();
        let plan = place.undo(&manifest, false);
        let mut after = place.tree();
        if manifest.commit.is_some() {
            // Git knows no folder without a file.
            after.push("empty/".to_owned());
            after.sort();
        }
        assert_eq!(after, before, "{plan:?}");
        assert!(plan.differences.iter().all(|difference| difference.change == Change::Restore));
        assert_eq!(place.undo(&manifest, false).differences, [], "a second time changes nothing");
    }
}

#[test]
fn a_repository_keeps_untracked_and_changed_files_and_notices_nothing() {
    let place = RescueFixture::repository();
    place.fill();
    place.write(".gitignore", b"*.env\ntarget/\n");
    place.write(".gitattributes", b"*.txt text eol=crlf\n");
    place.git(&["add", "a.txt", "crlf.txt", ".gitignore", ".gitattributes"]);
    place.git(&["commit", "-qm", "first"]);
    place.write("a.txt", b"changed\nand not yet committed");
    place.write("staged", b"1");
    place.git(&["add", "staged"]);
    place.write("secret.env", b"KEY=1");
    place.write("target/big", &[7; 1000]);
    let (status, head, index) =
        (place.git(&["status", "--porcelain"]), place.git(&["rev-parse", "HEAD"]), fs::read(place.path(".git/index")));
    let before = place.tree();

    let manifest = place.keep(&Extent::Whole);
    assert_eq!(manifest.reference.as_deref(), Some("refs/adjutant/run.1/call-1.1"));
    assert_eq!(manifest.left_out, ["target/"]);
    assert_eq!(index.expect("an index"), fs::read(place.path(".git/index")).expect("an index"));
    assert_eq!((status, head), (place.git(&["status", "--porcelain"]), place.git(&["rev-parse", "HEAD"])));
    let store = format!("--git-dir={}", manifest.git_dir.as_deref().expect("a repository"));
    let in_git = place.git(&[&store, "ls-tree", "-r", "--name-only", "refs/adjutant/run.1/call-1.1"]);
    assert!(!in_git.contains("secret.env"), "what is ignored never gets into the repository: {in_git}");

    place.wipe();
    place.write("target/big", &[7; 1000]);
    place.undo(&manifest, true);
    assert_eq!(place.tree(), before);
}

#[test]
fn a_named_folder_is_kept_even_if_it_is_ignored_and_nothing_else_is() {
    let place = RescueFixture::repository();
    place.write(".gitignore", b"target/\n");
    place.write("target/deep/er", b"1");
    place.write("other", b"2");
    let manifest = place.keep(&Extent::Paths(vec!["target".to_owned(), "gone".to_owned()]));
    let paths: Vec<&str> = manifest.entries.iter().map(|entry| entry.path.as_str()).collect();
    assert_eq!(paths, ["target/deep/er", "target", "target/deep"]);
    place.wipe();
    place.undo(&manifest, false);
    assert_eq!(place.tree(), ["target/", "target/deep/", "target/deep/er 644 [49]"]);
}

#[test]
fn what_came_later_stays_unless_everything_is_to_be_as_it_was() {
    for place in [RescueFixture::new(), RescueFixture::repository()] {
        place.write("a", b"1");
        place.write("d/b", b"2");
        let before = place.tree();
        let manifest = place.keep(&Extent::Whole);
        place.write("a", b"other");
        place.write("new/x", b"3");
        fs::remove_dir_all(place.path("d")).expect("removed");
        place.write("d", b"a file where a folder was");
        let plan = place.undo(&manifest, false);
        assert_eq!(plan.paths(Change::Replace), ["a"]);
        assert_eq!(plan.paths(Change::Blocked), ["d/b", "d"]);
        assert_eq!(fs::read(place.path("new/x")).expect("there"), b"3");
        assert_eq!(fs::read(place.path("d")).expect("there"), b"a file where a folder was");
        let plan = place.undo(&manifest, true);
        assert_eq!(plan.paths(Change::Remove), ["d", "new/x"]);
        assert_eq!(place.tree(), before);
    }
}

#[test]
fn modes_and_links_are_put_back_and_nothing_is_written_through_a_link() {
    let place = RescueFixture::new();
    place.fill();
    let before = place.tree();
    let manifest = place.keep(&Extent::Whole);
    fs::set_permissions(place.path("x"), Permissions::from_mode(0o644)).expect("a mode");
    fs::remove_file(place.path("link")).expect("removed");
    symlink("a.txt", place.path("link")).expect("a link");
    fs::remove_file(place.path("z")).expect("removed");
    let outside = place.folder.path().join("outside");
    fs::write(&outside, "theirs").expect("written");
    symlink(&outside, place.path("z")).expect("a link");
    let plan = place.undo(&manifest, false);
    assert_eq!(plan.paths(Change::Mode), ["x"]);
    assert_eq!(plan.paths(Change::Replace), ["link", "z"]);
    assert_eq!(place.tree(), before);
    assert_eq!(fs::read(outside).expect("there"), b"theirs");
}

#[test]
fn nothing_of_the_repository_runs() {
    let place = RescueFixture::repository();
    let ran = place.folder.path().join("ran");
    let script = place.folder.path().join("run-me");
    fs::write(&script, format!("#!/bin/sh\ntouch {}\ncat\n", ran.display())).expect("written");
    fs::set_permissions(&script, Permissions::from_mode(0o755)).expect("a mode");
    let program = script.to_str().expect("a path");
    for hook in ["reference-transaction", "post-index-change", "post-commit", "pre-auto-gc"] {
        fs::create_dir_all(place.path(".git/hooks")).expect("a folder");
        fs::copy(&script, place.path(".git/hooks").join(hook)).expect("a hook");
    }
    let hooks = place.path(".git/hooks").display().to_string();
    for (key, value) in [
        ("core.hooksPath", hooks.as_str()),
        ("core.fsmonitor", program),
        ("core.pager", program),
        ("core.sshCommand", program),
        ("filter.f.clean", program),
        ("filter.f.smudge", program),
        ("filter.f.process", program),
        ("diff.external", program),
        ("gc.auto", "1"),
    ] {
        fs::write(
            place.path(".git/config"),
            [fs::read(place.path(".git/config")).expect("a file"), section(key, value).into_bytes()].concat(),
        )
        .expect("written");
    }
    place.write(".gitattributes", b"* filter=f\n");
    place.write("a", b"1");
    let manifest = place.keep(&Extent::Whole);
    assert!(manifest.commit.is_some(), "{manifest:?}");
    fs::remove_file(place.path("a")).expect("removed");
    place.undo(&manifest, true);
    assert_eq!(fs::read(place.path("a")).expect("there"), b"1");
    assert!(!ran.exists(), "the repository ran a program");
}

/// A setting as git writes it into its file.
fn section(key: &str, value: &str) -> String {
    let (section, name) = key.rsplit_once('.').expect("a key");
    let section = section.split_once('.').map_or(section.to_owned(), |(one, two)| format!("{one} \"{two}\""));
    format!("[{section}]\n\t{name} = {value}\n")
}

#[test]
fn what_exceeds_the_limit_is_named_and_stays_in_an_exact_restore() {
    let place = RescueFixture::new();
    place.write("big", &vec![1; usize::try_from(FILE_BYTES_MAX).expect("a size") + 1]);
    place.write("small", b"1");
    let manifest = place.keep(&Extent::Whole);
    assert_eq!(manifest.left_out, ["big"]);
    assert_eq!(manifest.size(), (1, 1));
    place.undo(&manifest, true);
    assert!(place.path("big").exists());
}

#[test]
fn a_home_within_the_workdir_is_not_kept_in_itself() {
    let place = RescueFixture::new();
    place.write("a", b"1");
    place.write(".adjutant/keys.toml", b"secret");
    let rescues = Rescues::of(&place.path(".adjutant"), "r");
    let occasion = Occasion { name: "call-1.1", before: "shell_exec", even_if_empty: false };
    for _ in 0..2 {
        let kept = rescues.keep(&place.workdir(), &Extent::Whole, occasion).expect("kept").expect("something");
        assert_eq!(kept.manifest.entries.iter().map(|entry| entry.path.as_str()).collect::<Vec<_>>(), ["a"]);
    }
    assert_eq!(rescues.list().len(), 1, "one of the same name is replaced");
}

#[test]
fn what_a_kill_left_unfinished_is_no_rescue_and_goes() {
    let place = RescueFixture::new();
    place.write("a", b"1");
    place.keep(&Extent::Whole);
    // As it stands just before it gets its name.
    let (whole, unfinished) = (place.rescues().folder().join("call-1.1"), place.rescues().folder().join(".call-1.1"));
    fs::rename(&whole, &unfinished).expect("renamed");
    assert_eq!(place.rescues().list(), []);
    place.keep(&Extent::Whole);
    assert_eq!(place.rescues().list().len(), 1);
    assert!(!unfinished.exists());
}

#[test]
fn where_nothing_is_there_is_nothing_to_keep() {
    for place in [RescueFixture::new(), RescueFixture::repository()] {
        let occasion = Occasion { name: "call-1.1", before: "shell_exec", even_if_empty: false };
        let gone = Extent::Paths(vec!["gone".to_owned()]);
        assert_eq!(place.rescues().keep(&place.workdir(), &gone, occasion).expect("no failure"), None);
        assert_eq!(place.rescues().list(), []);
    }
}

#[test]
fn a_repository_within_the_repository_is_copied_with_its_history() {
    let place = RescueFixture::repository();
    place.write("a", b"1");
    place.write("sub/b", b"2");
    let init = Command::new("git").args(["init", "-q"]).current_dir(place.path("sub")).status().expect("git runs");
    assert!(init.success());
    let manifest = place.keep(&Extent::Whole);
    fs::remove_dir_all(place.path("sub")).expect("removed");
    place.undo(&manifest, false);
    assert_eq!(fs::read(place.path("sub/b")).expect("there"), b"2");
    assert!(place.path("sub/.git/HEAD").exists());
}

#[test]
fn a_damaged_copy_is_not_put_back() {
    let place = RescueFixture::new();
    place.write("a", b"1");
    let manifest = place.keep(&Extent::Whole);
    fs::write(place.rescues().folder().join("call-1.1/1"), "2").expect("written");
    fs::remove_file(place.path("a")).expect("removed");
    place.write("b", b"1");
    let plan = place.rescues().plan(&place.workdir(), &manifest, Reach::Call).expect("a plan");
    let failed = place.rescues().restore(&place.workdir(), &manifest, &plan);
    assert!(failed.iter().any(|failed| failed.path == "a" && failed.why.contains("damaged")), "{failed:?}");
    assert!(!place.path("a").exists());
}

#[test]
fn what_is_kept_outlives_a_call_that_takes_the_repository_with_it() {
    for extent in [Extent::Whole, Extent::Paths(vec![".git".to_owned(), "src".to_owned()])] {
        let place = RescueFixture::repository();
        place.write("src/a.rs", b"1");
        place.write("src/b.rs", b"2");
        place.write("src/notes.env", b"3");
        place.write(".git/info/exclude", b"*.env\n");
        place.git(&["add", "src"]);
        place.git(&["commit", "-qm", "first"]);
        let before = place.tree();
        let manifest = place.keep(&extent);
        assert!(
            manifest.git_dir.as_deref().is_some_and(|dir| dir.ends_with("/rescue/run.1/store.git")),
            "{manifest:?}"
        );
        fs::remove_dir_all(place.path(".git")).expect("removed");
        place.wipe();
        place.undo(&manifest, false);
        assert_eq!(place.tree(), before);
        if extent != Extent::Whole {
            assert_eq!(place.git(&["status", "--porcelain"]), "", "the repository is back too");
        }
    }
}

#[test]
fn a_call_that_can_not_reach_the_repository_is_kept_in_it() {
    let place = RescueFixture::repository();
    place.write("a", b"1");
    let manifest = place.keep(&Extent::Paths(vec!["a".to_owned()]));
    assert!(manifest.git_dir.as_deref().is_some_and(|dir| dir.ends_with("/w/.git")), "{manifest:?}");
}

#[test]
fn one_thing_that_can_not_be_put_back_keeps_nothing_else() {
    let place = RescueFixture::new();
    for name in ["a", "b", "c"] {
        place.write(name, name.as_bytes());
    }
    let manifest = place.keep(&Extent::Whole);
    place.wipe();
    fs::remove_file(place.rescues().folder().join("call-1.1/2")).expect("removed");
    let plan = place.rescues().plan(&place.workdir(), &manifest, Reach::Call).expect("a plan");
    let failed = place.rescues().restore(&place.workdir(), &manifest, &plan);
    assert_eq!(failed.iter().map(|failed| failed.path.as_str()).collect::<Vec<_>>(), ["b"], "{failed:?}");
    assert_eq!(place.tree(), ["a 644 [97]", "c 644 [99]"]);
}

#[test]
fn names_that_are_no_text_are_kept_and_come_back() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    for place in [RescueFixture::new(), RescueFixture::repository()] {
        let folder = place.path("").join(OsStr::from_bytes(b"d\xff"));
        let file = folder.join(OsStr::from_bytes(b"\xe4\xf6\n\"x"));
        fs::create_dir(&folder).expect("a folder");
        fs::write(&file, "1").expect("written");
        symlink(OsStr::from_bytes(b"d\xff"), place.path("link")).expect("a link");
        let manifest = place.keep(&Extent::Whole);
        assert!(manifest.is_complete && manifest.left_out.is_empty(), "{manifest:?}");
        assert!(manifest.entries.iter().any(|entry| crate::workdir::shown(&entry.path).starts_with("d\\xff/")));
        place.wipe();
        place.undo(&manifest, false);
        assert_eq!(fs::read(&file).expect("there"), b"1");
        assert_eq!(fs::read_link(place.path("link")).expect("a link").as_os_str().as_bytes(), b"d\xff");
        place.undo(&manifest, true);
        assert_eq!(fs::read(&file).expect("there"), b"1", "it did not come later");
    }
}

#[test]
fn permissions_of_folders_set_id_bits_pipes_and_attributes_come_back() {
    for place in [RescueFixture::new(), RescueFixture::repository()] {
        place.write("locked/inner/f", b"1");
        place.write("tool", b"2");
        let named = Extent::Paths(vec!["locked".to_owned(), "pipe".to_owned(), "tool".to_owned()]);
        rustix::fs::mknodat(rustix::fs::CWD, place.path("pipe"), rustix::fs::FileType::Fifo, 0o640.into(), 0)
            .expect("a pipe");
        let mode = |path: &str| fs::symlink_metadata(place.path(path)).expect("there").permissions().mode() & 0o7777;
        let modes = [("locked/inner", 0o500), ("locked", 0o2750), ("tool", 0o4755), ("pipe", 0o640)];
        for (path, mode) in modes {
            fs::set_permissions(place.path(path), Permissions::from_mode(mode)).expect("a mode");
        }
        // Not every file system has attributes.
        let has_attributes =
            rustix::fs::setxattr(place.path("tool"), "user.origin", b"here\xff", rustix::fs::XattrFlags::empty())
                .is_ok();
        let manifest = place.keep(&named);
        assert_eq!(manifest.left_out, [""; 0]);
        fs::set_permissions(place.path("locked/inner"), Permissions::from_mode(0o700)).expect("a mode");
        place.wipe();
        place.undo(&manifest, false);
        for (path, expected) in modes {
            assert_eq!(mode(path), expected, "{path}");
        }
        fs::set_permissions(place.path("locked"), Permissions::from_mode(0o777)).expect("a mode");
        assert_eq!(place.undo(&manifest, false).paths(Change::Mode), ["locked"]);
        assert_eq!(mode("locked"), 0o2750);
        if has_attributes {
            let mut value = [0; 16];
            let length = rustix::fs::getxattr(place.path("tool"), "user.origin", &mut value[..]).expect("an attribute");
            assert_eq!(&value[..length], b"here\xff");
        }
        fs::set_permissions(place.path("locked/inner"), Permissions::from_mode(0o700)).expect("a mode");
    }
}

#[test]
fn a_file_that_had_a_second_name_comes_back_and_is_named() {
    let place = RescueFixture::new();
    place.write("a", b"1");
    fs::hard_link(place.path("a"), place.path("b")).expect("a link");
    let manifest = place.keep(&Extent::Paths(vec!["a".to_owned()]));
    fs::remove_file(place.path("a")).expect("removed");
    let plan = place.rescues().plan(&place.workdir(), &manifest, Reach::Call).expect("a plan");
    let told = place.rescues().restore(&place.workdir(), &manifest, &plan);
    assert!(told.first().is_some_and(|told| told.path == "a" && told.why.contains("other names")), "{told:?}");
    assert_eq!(fs::read(place.path("a")).expect("there"), b"1");
}

#[test]
fn what_the_call_left_as_it_was_and_somebody_changed_later_stays_unless_it_is_asked_for() {
    for place in [RescueFixture::new(), RescueFixture::repository()] {
        for name in ["by-call", "later", "both", "mode", "gone-later"] {
            place.write(name, b"1");
        }
        let manifest = place.keep(&Extent::Whole);
        fs::remove_file(place.path("by-call")).expect("removed");
        place.write("both", b"by the call");
        place.rescues().note_end(&place.workdir(), "call-1.1").expect("on record");
        place.write("later", b"mine");
        place.write("both", b"mine");
        fs::remove_file(place.path("gone-later")).expect("removed");
        fs::set_permissions(place.path("mode"), Permissions::from_mode(0o600)).expect("a mode");
        let plan = place.undo(&manifest, false);
        assert_eq!(plan.paths(Change::Later), ["gone-later", "later", "mode"]);
        assert_eq!(fs::read(place.path("later")).expect("there"), b"mine");
        assert_eq!(fs::read(place.path("both")).expect("there"), b"1", "the call had changed it");
        assert!(place.path("by-call").exists() && !place.path("gone-later").exists());
        let named = ["gone-later".to_owned()];
        let plan = place.rescues().plan(&place.workdir(), &manifest, Reach::Named(&named)).expect("a plan");
        assert_eq!(plan.touched(), named);
        place.undo(&manifest, true);
        assert_eq!(fs::read(place.path("later")).expect("there"), b"1");
    }
}
