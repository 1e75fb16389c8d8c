//! Package managers at work: each finds its cache where it looks for it, and none changes the operator's.

use std::fs;

use adjutant_host::sandbox::{Layer, Mode, Network};

use crate::world::{World, settings, without};

/// Folders where the most used tools keep what they fetch.
const PLACES: &[&str] = &[
    ".npm/_cacache",
    ".cache/yarn",
    ".local/share/pnpm/store",
    ".cargo/registry",
    ".cargo/git",
    "go/pkg/mod",
    ".cache/go-build",
    ".m2/repository",
    ".gradle/caches",
    ".cache/pip",
    ".cache/uv",
    ".nuget/packages",
];

#[test]
fn a_cache_can_be_filled_and_is_there_for_the_next_command_and_not_for_the_operator() {
    let world = World::new();
    let mut fill = String::from("set -e; cd $HOME\n");
    let mut look = fill.clone();
    for place in PLACES {
        fill += &format!("mkdir -p {place}; echo fetched > {place}/new\n");
        look += &format!("cat {place}/new\n");
    }
    for _ in 0..2 {
        World::expect_whole(&world.run(settings(Mode::Best), Network::Off, &fill));
    }
    let ended = world.run(settings(Mode::Best), Network::Off, &look);
    assert_eq!(ended.stdout.text().matches("fetched").count(), PLACES.len(), "{}", ended.stderr.text());
    assert_eq!(world.damage(&ended), [""; 0]);
}

#[test]
fn what_the_operator_fetched_is_read_and_never_changed() {
    let world = World::new();
    for place in PLACES {
        let folder = world.at("home").join(place);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("own"), "the operator's\n").unwrap();
    }
    let mut line = String::from("cd $HOME\n");
    for place in PLACES {
        line += &format!(
            "cat {place}/own; echo x > {place}/own; rm {place}/own; echo 2 > {place}/own; touch {place}/new\n"
        );
    }
    let ended = world.run(settings(Mode::Best), Network::Off, &line);
    assert_eq!(ended.stdout.text().matches("the operator's").count(), PLACES.len(), "{}", ended.stderr.text());
    for place in PLACES {
        let folder = world.at("home").join(place);
        assert_eq!(fs::read_to_string(folder.join("own")).unwrap(), "the operator's\n", "{place}");
        assert_eq!(fs::read_dir(folder).unwrap().count(), 1, "{place}");
    }
    let again = world.run(settings(Mode::Best), Network::Off, "cd $HOME; cat .npm/_cacache/own; ls .npm/_cacache");
    assert_eq!(again.stdout.text(), "2\nnew\nown\nTRIED\n");
    // By Landlock alone nothing can be layered: they are as they are.
    let alone =
        world.run(without(&[Layer::Mounts]), Network::Off, "cat $HOME/.npm/_cacache/own; echo x > $HOME/.npm/x");
    assert!(alone.stdout.text().contains("the operator's"));
    assert!(!world.at("home/.npm/x").exists());
}

/// Runs a line if the machine has the program that it is about; says what was said.
fn with(program: &str, line: &str) -> Option<String> {
    let world = World::new();
    let has = world.run(
        settings(Mode::Best),
        Network::Off,
        &format!("command -v {program} >/dev/null && {program} --version"),
    );
    if !has.stderr.text().is_empty() || has.stdout.text().starts_with("TRIED") {
        eprintln!("not tried: there is no `{program}` here");
        return None;
    }
    let ended = world.run(settings(Mode::Best), Network::Off, &format!("set -e\n{line}"));
    World::expect_whole(&ended);
    assert_eq!(world.damage(&ended), [""; 0], "{program}");
    Some(ended.stdout.text())
}

#[test]
fn package_managers_work_without_a_network() {
    let npm = "mkdir -p lib app; printf '{\"name\":\"lib\",\"version\":\"1.0.0\"}' > lib/package.json
        printf '{\"name\":\"app\",\"version\":\"1.0.0\"}' > app/package.json
        touch \"$(npm config get cache)/x\"; (cd lib && npm pack --silent)
        cd app; npm install --offline --no-audit --no-fund ../lib/lib-1.0.0.tgz; ls node_modules";
    if let Some(said) = with("npm", npm) {
        assert!(said.contains("lib\n"), "{said}");
    }
    let cargo = "mkdir -p lib/src app/src; echo 'pub fn f() -> u8 { 42 }' > lib/src/lib.rs
        printf '[package]\nname = \"lib\"\nversion = \"1.0.0\"\n' > lib/Cargo.toml
        printf '[package]\nname = \"app\"\nversion = \"1.0.0\"\n[dependencies]\nlib = { path = \"../lib\" }\n[workspace]\n' > app/Cargo.toml
        echo 'fn main() { println!(\"said {}\", lib::f()) }' > app/src/main.rs; cd app; cargo run --offline -q";
    if let Some(said) = with("cargo", cargo) {
        assert!(said.contains("said 42"), "{said}");
    }
    let pip = "mkdir -p p; cat > p/pyproject.toml <<'E'
[project]
name = \"mod\"
version = \"1\"
[build-system]
requires = []
build-backend = \"b\"
backend-path = [\".\"]
E
cat > p/b.py <<'E'
import zipfile
def build_wheel(d, c=None, m=None):
    lines = lambda *lines: chr(10).join(lines) + chr(10)
    z = zipfile.ZipFile(d + \"/mod-1-py3-none-any.whl\", \"w\")
    z.writestr(\"mod/__init__.py\", \"\")
    z.writestr(\"mod-1.dist-info/METADATA\", lines(\"Metadata-Version: 2.1\", \"Name: mod\", \"Version: 1\"))
    z.writestr(\"mod-1.dist-info/WHEEL\", lines(\"Wheel-Version: 1.0\", \"Generator: b\", \"Root-Is-Purelib: true\", \"Tag: py3-none-any\"))
    z.writestr(\"mod-1.dist-info/RECORD\", \"\")
    z.close()
    return \"mod-1-py3-none-any.whl\"
E
pip install --quiet --no-index ./p --target t; ls t; mkdir -p $(pip cache dir); touch $(pip cache dir)/x";
    if let Some(said) = with("pip", pip) {
        assert!(said.contains("mod\n"), "{said}");
    }
}

#[test]
fn no_file_runs_with_the_rights_of_its_owner() {
    let world = World::new();
    let line = "umask 0; touch f g; mkdir d; chmod u+s f; chmod g+s f; chmod 6755 f; chmod 2755 d; install -m 4755 f h; cp -p /usr/bin/su s
        python3 -c '
import ctypes, os, platform
c = ctypes.CDLL(None, use_errno=True)
fd = os.open(\"f\", os.O_RDWR)
is_here = platform.machine() == \"x86_64\"
for n, call in enumerate([(452, -100, b\"f\", 0o4755, 0), (452, fd, b\"\", 0o4755, 0x1000)]
    + ([(90, b\"f\", 0o4755), (91, fd, 0o2755), (268, -100, b\"f\", 0o4755), (85, b\"c\", 0o4755), (2, b\"o\", 0o101, 0o4755),
        (257, -100, b\"a\", 0o101, 0o4755), (257, -100, b\".\", 0o20200001, 0o4755), (133, b\"m\", 0o104755, 0), (259, -100, b\"n\", 0o104755, 0),
        (0x40000000 | 90, b\"f\", 0o4755)] if is_here else [])):
    r = c.syscall(*call)
    if r >= 0: print(\"ESCAPED\", call)
how = (ctypes.c_uint64 * 3)(0o101, 0o4755, 0)
if c.syscall(437, -100, b\"p\", how, 24) >= 0: print(\"ESCAPED openat2\")
'
        find . -perm /6000 -printf 'ESCAPED %p\\n'; touch e; chmod 755 e; chmod 1777 d; install -m 755 e i; [ -x i ] && echo still works";
    let ended = world.run(settings(Mode::Best), Network::Off, line);
    World::expect_whole(&ended);
    assert_eq!(world.damage(&ended), [""; 0], "{}", ended.stdout.text());
    assert!(ended.stdout.text().contains("still works"), "{}", ended.stderr.text());
}
