//! A folder to run a command line in, thrown away afterwards, and what the line did in it.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

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
    let before = manifest(&work);
    // A process group and a time limit of its own: a mutant that hangs is a mutant that does nothing.
    let mut process = Command::new("timeout");
    process.args(["-k", "1", "10", "bash", "-c", line]).current_dir(&work).env_clear();
    process.env("PATH", format!("{}:/usr/bin:/bin", fakes.display())).env("HOME", &work).env("TMPDIR", &work);
    process.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    process.status().expect("timeout runs");
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
