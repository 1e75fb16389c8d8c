//! A folder to run a command line in, thrown away afterwards, and what the line did in it. The line runs in the
//! kernel's sandbox: a mutant that does more than its command changes nothing else.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use adjutant_host::custody::{self, Command};
use adjutant_host::sandbox::{Mode, Network, Places, Sandbox, Settings};
use tokio_util::sync::CancellationToken;

/// A mutant that hangs is one that does nothing.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Programs that write down that they were called; all but `rm` do nothing else.
const FAKES: [&str; 19] = [
    "rm", "git", "psql", "redis-cli", "kubectl", "terraform", "docker", "pkill", "crontab", "dd", "curl", "gh", "npm",
    "scp", "cargo", "killall", "kill", "sudo", "ssh",
];

/// What a line did.
#[derive(Debug)]
pub struct Done {
    /// The files that are not as they were, and what they are now: none if they are gone.
    pub changed: BTreeMap<String, Option<String>>,
    /// The calls of fakes, with their words.
    pub called: Vec<String>,
}

/// Runs `line` in bash, in a folder made for it.
pub fn run(line: &str) -> Done {
    let place = tempfile::tempdir().expect("a folder");
    let (work, fakes, log) = (place.path().join("work"), place.path().join("fakes"), place.path().join("log"));
    lay_out(&work);
    fs::create_dir(&fakes).expect("a folder");
    for name in FAKES {
        let fake = fakes.join(name);
        fs::write(&fake, fake_program(name, &log)).expect("a file");
        fs::set_permissions(&fake, fs::Permissions::from_mode(0o755)).expect("a mode");
    }
    fs::write(&log, "").expect("a file");
    let before = manifest(&work);
    in_sandbox(line, place.path(), &work, &fakes);
    let mut changed: BTreeMap<String, Option<String>> = BTreeMap::new();
    let after = manifest(&work);
    for (path, state) in &before {
        if after.get(path) != Some(state) {
            changed.insert(path.clone(), after.get(path).cloned());
        }
    }
    for (path, state) in after {
        if !before.contains_key(&path) {
            changed.insert(path, Some(state));
        }
    }
    let called = fs::read_to_string(&log).unwrap_or_default().lines().map(str::to_owned).collect();
    Done { changed, called }
}

/// Runs `line` in `work`, where nothing but `place` can be changed, nobody be reached, and nothing lives on.
fn in_sandbox(line: &str, place: &Path, work: &Path, fakes: &Path) {
    let places = Places { workdir: place.to_owned(), ..Places::default() };
    let settings = Settings { mode: Mode::Required, ..Settings::default() };
    let sandbox = Sandbox::new(settings, places, Path::new(env!("CARGO_BIN_EXE_adjutant"))).expect("a sandbox");
    let variables = [("PATH", format!("{}:/usr/bin:/bin", fakes.display())), ("HOME", work.display().to_string())];
    let command = Command {
        program: "bash".into(),
        args: vec!["-c".into(), line.into()],
        folder: OwnedFd::from(File::open(work).expect("a folder")),
        environment: variables.into_iter().map(|(name, value)| (name.into(), value.into())).collect(),
        timeout: TIMEOUT,
        stream_bytes_max: 100_000,
        confinement: sandbox.confinement(Network::Off).expect("a policy"),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(custody::run(command, CancellationToken::new())).expect("bash runs in its sandbox");
}

/// A script that writes down its name and words, and prints what a caller needs to go on.
fn fake_program(name: &str, log: &Path) -> String {
    let prints = match name {
        "git" => "[ \"$1\" = ls-files ] && echo f1",
        // The real one too: only what it says of `.` would else leave no trace.
        "rm" => "exec /bin/rm \"$@\"",
        "curl" => "echo touch fetched-and-run",
        _ => ":",
    };
    format!("#!/bin/sh\n{{ printf '%s' '{name}'; printf ' <%s>' \"$@\"; echo; }} >> '{}'\n{prints}\n:\n", log.display())
}

/// The files that the commands of the vectors are about.
fn lay_out(work: &Path) {
    for folder in ["dist", "target", "src", "tmp", "scripts", "a", "b"] {
        fs::create_dir_all(work.join(folder)).expect("a folder");
    }
    for (path, content) in [
        ("dist/app", "built"),
        ("src/lib.rs", "// TODO"),
        ("old_notes.txt", "notes"),
        ("tmp/old", "old"),
        ("change.orig", "orig"),
        ("f1", "1"),
        ("one.tmp", "1"),
        ("two.tmp", "2"),
        ("a.db", "rows"),
        // `touch decoded-and-run`
        ("payload.txt", "dG91Y2ggZGVjb2RlZC1hbmQtcnVu"),
        ("step.txt", "touch read-and-run"),
        ("server.log", "lines"),
        ("data.txt", "b\na\n"),
        ("new.cron", "* * * * * true"),
        ("build.tar", "tar"),
    ] {
        fs::write(work.join(path), content).expect("a file");
    }
    let old = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
    fs::File::options().write(true).open(work.join("tmp/old")).and_then(|file| file.set_modified(old)).expect("a time");
}

/// Every file and folder with its mode and content.
fn manifest(folder: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut open = vec![folder.to_owned()];
    while let Some(next) = open.pop() {
        for entry in fs::read_dir(&next).into_iter().flatten().flatten() {
            let path = entry.path();
            let Ok(metadata) = fs::symlink_metadata(&path) else { continue };
            let content = if metadata.is_dir() {
                open.push(path.clone());
                String::new()
            } else {
                fs::read(&path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
            };
            let name = path.strip_prefix(folder).expect("below").display().to_string();
            found.insert(name, format!("{:o} {content}", metadata.permissions().mode()));
        }
    }
    found
}
