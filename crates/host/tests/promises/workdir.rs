//! Nothing outside the workdir is touched, whatever the path.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use adjutant_host::workdir::{Kind, Workdir, resolve_below};

#[track_caller]
fn check_resolves(given: &str, expected: Result<&str, &str>) {
    let resolved =
        resolve_below(Path::new("/W"), given).map(|path| path.as_str().to_owned()).map_err(|error| error.code());
    assert_eq!(resolved, expected.map(str::to_owned), "{given:?}");
}

#[test]
fn paths_are_resolved_by_segments() {
    check_resolves("src/x", Ok("src/x"));
    check_resolves("/W/z", Ok("z"));
    check_resolves("", Ok("."));
    check_resolves(".", Ok("."));
    check_resolves("a/../b", Ok("b"));
    check_resolves("./a//b/.", Ok("a/b"));
    check_resolves("../W/x", Ok("x"));
    check_resolves("~", Ok("~"));
    check_resolves("~/x", Ok("~/x"));
    // A legal name, which the peer refuses.
    check_resolves("..bar", Ok("..bar"));
    check_resolves("...", Ok("..."));
    // Look-alikes are names like any other.
    check_resolves("‥/x", Ok("‥/x"));
    check_resolves("..∕x", Ok("..∕x"));
    check_resolves("..\\x", Ok("..\\x"));
}

#[test]
fn paths_that_leave_or_can_not_be_are_refused() {
    for given in ["..", "../y", "a/../../y", "/", "/etc/passwd", "/W2/x", "/W/../x", "/W/../../W2", "../W2"] {
        check_resolves(given, Err("PATH_ESCAPE"));
    }
    check_resolves("a\0b", Err("PATH_INVALID"));
    check_resolves(&"x".repeat(256), Err("ENAMETOOLONG"));
    check_resolves(&"x/".repeat(2500), Err("ENAMETOOLONG"));
}

struct Place {
    folder: tempfile::TempDir,
    workdir: Workdir,
}

/// A workdir with a neighbour that must stay as it is.
fn place() -> Place {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join("work/sub")).unwrap();
    fs::create_dir(folder.path().join("outside")).unwrap();
    fs::write(folder.path().join("outside/secret"), "untouched").unwrap();
    let workdir = Workdir::open(&folder.path().join("work")).unwrap();
    Place { folder, workdir }
}

impl Place {
    fn work(&self, path: &str) -> std::path::PathBuf {
        self.folder.path().join("work").join(path)
    }

    #[track_caller]
    fn check_outside_is_untouched(&self) {
        let names: Vec<_> =
            fs::read_dir(self.folder.path().join("outside")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["secret"]);
        assert_eq!(fs::read_to_string(self.folder.path().join("outside/secret")).unwrap(), "untouched");
    }
}

#[test]
fn no_link_in_any_component_leads_out() {
    let place = place();
    let outside = place.folder.path().join("outside");
    symlink(outside.join("secret"), place.work("file")).unwrap();
    symlink(&outside, place.work("folder")).unwrap();
    symlink("../../outside", place.work("sub/relative")).unwrap();
    symlink(outside.join("new"), place.work("dangling")).unwrap();
    symlink("loop", place.work("loop")).unwrap();
    symlink("sub/relative", place.work("twice")).unwrap();
    for given in [
        "file", "folder/secret", "folder/new", "folder/a/b", "sub/relative/secret", "dangling", "loop", "loop/x",
        "twice/secret", "twice/new",
    ] {
        let path = place.workdir.resolve(given).unwrap();
        assert!(place.workdir.read(&path, 100).is_err(), "read {given}");
        assert!(place.workdir.write(&path, b"x", None).is_err(), "write {given}");
        assert!(place.workdir.append(&path, b"x").is_err(), "append {given}");
        place.check_outside_is_untouched();
    }
    for given in ["folder", "sub/relative", "twice"] {
        let path = place.workdir.resolve(given).unwrap();
        assert!(place.workdir.entries(&path).is_err(), "list {given}");
        assert!(place.workdir.open_folder(&path).is_err(), "open {given}");
        assert!(place.workdir.remove_file(&path.join("secret").unwrap()).is_err(), "remove {given}");
        let inside = place.workdir.resolve("sub/mine").unwrap();
        place.workdir.write(&inside, b"x", None).unwrap();
        assert!(place.workdir.rename(&inside, &path.join("moved").unwrap()).is_err(), "rename {given}");
        place.check_outside_is_untouched();
    }
    for given in ["file", "folder/secret", "folder/new", "sub/relative", "twice/x"] {
        let place = place.workdir.real_place(&place.workdir.resolve(given).unwrap());
        assert_eq!(place.unwrap_err().code(), "PATH_ESCAPE", "{given}");
    }
}

/// Returns the real place of `path`, or the reason why there is none.
fn real(workdir: &Workdir, path: &str) -> Result<(String, Option<String>), String> {
    let place = workdir.real_place(&workdir.resolve(path).unwrap());
    place.map(|place| (place.path.to_string(), place.known_as)).map_err(|error| error.code().to_owned())
}

#[test]
fn a_path_has_one_real_place() {
    let place = place();
    fs::write(place.work("sub/real"), "old").unwrap();
    fs::create_dir_all(place.work("store/objects")).unwrap();
    fs::create_dir_all(place.work("store/refs")).unwrap();
    fs::write(place.work("store/HEAD"), "ref: refs/heads/main\n").unwrap();
    fs::create_dir(place.work("d")).unwrap();
    for (link, target) in [
        ("link", "sub/real"),
        ("s", "store"),
        ("d/up", "../sub/./"),
        ("d/root", ".."),
        ("chain", "d/up"),
        ("out-and-in", "../work/sub"),
        ("nothing", "sub/none"),
        ("one", "two"),
        ("two", "one"),
    ] {
        symlink(target, place.work(link)).unwrap();
    }
    let at = |path: &str, known_as: Option<&str>| Ok((path.to_owned(), known_as.map(str::to_owned)));
    let not = |code: &str| Err(code.to_owned());
    for (path, expected) in [
        (".", at(".", None)),
        ("sub/real", at("sub/real", None)),
        ("sub/new/x", at("sub/new/x", None)),
        ("link", at("sub/real", None)),
        ("chain/real", at("sub/real", None)),
        ("chain/new", at("sub/new", None)),
        ("d/root/d/root/d/up/real", at("sub/real", None)),
        ("d/root", at(".", None)),
        ("store", at("store", Some(".git"))),
        ("store/config", at("store/config", Some(".git/config"))),
        ("s/hooks/x", at("store/hooks/x", Some(".git/hooks/x"))),
        ("nothing", not("NOT_REGULAR")),
        ("nothing/x", not("NOT_REGULAR")),
        ("out-and-in/real", not("PATH_ESCAPE")),
        ("one", not("ELOOP")),
        ("sub/real/x", not("ENOTDIR")),
        ("link/x", not("ENOTDIR")),
    ] {
        assert_eq!(real(&place.workdir, path), expected, "{path}");
    }
}

#[test]
fn no_link_is_followed_without_a_look_at_where_it_leads() {
    let place = place();
    fs::write(place.work("sub/real"), "old").unwrap();
    symlink("sub/real", place.work("link")).unwrap();
    symlink("sub", place.work("folder")).unwrap();
    for given in ["link", "folder/real", "folder/new"] {
        let path = place.workdir.resolve(given).unwrap();
        assert!(place.workdir.read(&path, 100).is_err(), "read {given}");
        assert!(place.workdir.append(&path, b"x").is_err(), "append {given}");
        assert!(place.workdir.write(&path, b"x", None).is_err(), "write {given}");
        assert!(place.workdir.set_mode(&path, 0o777).is_err(), "mode {given}");
    }
    assert_eq!(fs::read_to_string(place.work("sub/real")).unwrap(), "old");
    assert_eq!(place.workdir.kind(&place.workdir.resolve("link").unwrap()).unwrap(), Some(Kind::Link));
}

#[test]
fn what_has_a_second_name_keeps_its_content_there() {
    let place = place();
    let outside = place.folder.path().join("outside/secret");
    for (name, append) in [("added", true), ("written", false)] {
        fs::hard_link(&outside, place.work(name)).unwrap();
        let path = place.workdir.resolve(name).unwrap();
        let done = if append { place.workdir.append(&path, b"+") } else { place.workdir.write(&path, b"+", None) };
        done.unwrap();
        place.check_outside_is_untouched();
    }
    assert_eq!(fs::read_to_string(place.work("added")).unwrap(), "untouched+");
    assert_eq!(fs::read_to_string(place.work("written")).unwrap(), "+");
}

#[test]
fn a_fifo_or_device_never_makes_us_wait() {
    let place = place();
    rustix::fs::mknodat(rustix::fs::CWD, place.work("fifo"), rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    let fifo = place.workdir.resolve("fifo").unwrap();
    assert_eq!(place.workdir.read(&fifo, 100).unwrap_err().code(), "NOT_REGULAR");
    assert_eq!(place.workdir.write(&fifo, b"x", None).unwrap_err().code(), "NOT_REGULAR");
    assert_eq!(place.workdir.append(&fifo, b"x").unwrap_err().code(), "NOT_REGULAR");
    let devices = Workdir::open(Path::new("/dev")).unwrap();
    assert_eq!(devices.read(&devices.resolve("zero").unwrap(), 100).unwrap_err().code(), "NOT_REGULAR");
}

#[test]
fn a_rewritten_file_keeps_its_permissions_and_leaves_no_temporary_file() {
    let place = place();
    fs::write(place.work("run.sh"), "old").unwrap();
    fs::set_permissions(place.work("run.sh"), fs::Permissions::from_mode(0o750)).unwrap();
    let path = place.workdir.resolve("run.sh").unwrap();
    place.workdir.write(&path, b"new", None).unwrap();
    assert_eq!(fs::metadata(place.work("run.sh")).unwrap().permissions().mode() & 0o777, 0o750);
    place.workdir.write(&path, b"new", Some(0o644)).unwrap();
    assert_eq!(fs::metadata(place.work("run.sh")).unwrap().permissions().mode() & 0o777, 0o644);
    // A folder is in the way of the last step.
    assert_eq!(place.workdir.write(&place.workdir.resolve("sub").unwrap(), b"x", None).unwrap_err().code(), "EISDIR");
    let names: Vec<String> = place
        .workdir
        .entries(&place.workdir.resolve(".").unwrap())
        .unwrap()
        .into_iter()
        .map(|entry| entry.name)
        .collect();
    assert_eq!(names, ["run.sh", "sub"]);
}

#[test]
fn missing_folders_are_created_and_named() {
    let place = place();
    let written = place.workdir.write(&place.workdir.resolve("sub/a/b/f").unwrap(), b"x", None).unwrap();
    let created: Vec<&str> = written.created_folders.iter().map(|folder| folder.as_str()).collect();
    assert_eq!(created, ["sub/a", "sub/a/b"]);
    assert_eq!(
        place.workdir.write(&place.workdir.resolve("sub/a/b/f/g").unwrap(), b"x", None).unwrap_err().code(),
        "ENOTDIR"
    );
}

#[test]
fn reading_is_bounded_and_says_how_much_there_is() {
    let place = place();
    let file = fs::File::create(place.work("big")).unwrap();
    file.set_len(100 << 20).unwrap();
    let contents = place.workdir.read(&place.workdir.resolve("big").unwrap(), 1000).unwrap();
    assert_eq!((contents.bytes.len(), contents.total), (1000, 100 << 20));
    assert!(contents.bytes.capacity() <= 2 << 20);
}

#[test]
fn a_file_swapped_for_a_link_is_not_followed_out() {
    let place = place();
    let outside = place.folder.path().join("outside/secret");
    let path = place.workdir.resolve("swapped").unwrap();
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let swapping = scope.spawn(|| {
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                fs::write(place.work("plain"), "inside").unwrap();
                fs::rename(place.work("plain"), place.work("swapped")).unwrap();
                symlink(&outside, place.work("link")).unwrap();
                fs::rename(place.work("link"), place.work("swapped")).unwrap();
            }
        });
        for _ in 0..300 {
            if let Ok(contents) = place.workdir.read(&path, 100) {
                assert_ne!(contents.bytes, b"untouched");
            }
            // Whether it works doesn't matter here, only where it goes.
            place.workdir.write(&path, b"inside", None).ok();
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        swapping.join().unwrap();
    });
    place.check_outside_is_untouched();
}
