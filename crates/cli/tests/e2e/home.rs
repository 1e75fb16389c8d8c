//! A folder for one test: home, working folder, and the binary run in a cleared environment.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::sync::LazyLock;

use regex::Regex;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

/// The root of the repository.
pub const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// A turn that has everything a confirmation summary needs.
pub const SUMMARY: &str = "## Confirmation Summary\n\n**Objective**: one thing.\n**Deliverables**: a file.\n\
                           **Constraints**: none.\n**Tools required**: shell_exec.\n**Unknowns**: none.\n";

/// A secret that the environment of every command in these tests holds, and that nothing may say or keep.
const CANARY: &str = "canary-d5f0c2b9a7e14386fe";

/// The largest file that is searched for the canary: journals are far smaller.
const SEARCHED_BYTES_MAX: u64 = 8 * 1024 * 1024;

/// Everything that one test has of the world.
pub struct TestHome {
    folder: TempDir,
}

/// Output of a command, and its exit code.
#[derive(Debug)]
pub struct Said {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Said {
    pub fn of(output: &Output) -> Self {
        let said = [&output.stdout[..], &output.stderr].concat();
        assert!(!holds_canary(&said), "a secret of the environment was said:\n{}", String::from_utf8_lossy(&said));
        Self {
            // A death by signal is no exit code; nothing here expects one from a command it waits for.
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout.clone()).expect("stdout is UTF-8"),
            stderr: String::from_utf8(output.stderr.clone()).expect("stderr is UTF-8"),
        }
    }

    /// Fails unless the command ended with `code`.
    #[track_caller]
    pub fn expect_code(self, code: i32) -> Self {
        assert_eq!(self.code, code, "stdout:\n{}\nstderr:\n{}", self.stdout, self.stderr);
        self
    }

    /// Fails unless `text` was said on stdout or stderr.
    #[track_caller]
    pub fn expect_text(self, text: &str) -> Self {
        let said = format!("{}\n{}", self.stdout, self.stderr);
        assert!(said.contains(text), "`{text}` is not in:\n{said}");
        self
    }
}

/// Checks that the files which a test left behind hold no secret of the environment.
impl Drop for TestHome {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            check_no_canary(self.folder.path());
        }
    }
}

fn check_no_canary(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let (path, kind) = (entry.path(), entry.file_type());
        if kind.as_ref().is_ok_and(fs::FileType::is_dir) {
            check_no_canary(&path);
        } else if kind.is_ok_and(|kind| kind.is_file())
            && entry.metadata().is_ok_and(|metadata| metadata.len() <= SEARCHED_BYTES_MAX)
        {
            let holds = fs::read(&path).is_ok_and(|content| holds_canary(&content));
            assert!(!holds, "{} holds a secret of the environment", path.display());
        }
    }
}

fn holds_canary(bytes: &[u8]) -> bool {
    static CANARY_BYTES: LazyLock<regex::bytes::Regex> =
        LazyLock::new(|| regex::bytes::Regex::new(CANARY).expect("a plain text is a pattern"));
    CANARY_BYTES.is_match(bytes)
}

impl TestHome {
    /// A fresh one, with an empty working folder `work`.
    pub fn new() -> Self {
        let folder = tempfile::Builder::new().prefix("adjutant-e2e-").tempdir().expect("a temporary folder");
        fs::create_dir(folder.path().join("work")).expect("a working folder");
        Self { folder }
    }

    /// A fresh one that has the repository's examples.
    pub fn with_examples() -> Self {
        let home = Self::new();
        copy(&Path::new(ROOT).join("examples"), &home.path("examples"));
        home
    }

    /// Fails if something that was left behind so far holds a secret of the environment.
    pub fn check_no_canary(&self) {
        check_no_canary(self.folder.path());
    }

    /// Returns the path of `relative` in this test's folder.
    pub fn path(&self, relative: &str) -> PathBuf {
        self.folder.path().join(relative)
    }

    /// Returns a folder for a log of commands outside the working folder: the configuration lets the sandbox write
    /// there.
    pub fn effects(&self) -> PathBuf {
        fs::create_dir_all(self.path("shared")).expect("a folder");
        self.write("home/config.toml", format!("[sandbox]\nwrite = ['{}']\n", self.path("shared").display()));
        self.path("shared/effects")
    }

    /// Writes a file, with the folders above it.
    pub fn write(&self, relative: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(relative);
        fs::create_dir_all(path.parent().expect("it is below the folder")).expect("folders");
        fs::write(&path, content).expect("written");
        path
    }

    /// The content of a file; nothing if it is not there.
    pub fn read(&self, relative: &str) -> String {
        let bytes = there(fs::read(self.path(relative))).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Writes `brief.md` and `script.json`: a run of one script, with `fields` in the brief's front matter.
    pub fn scripted(&self, fields: &str, turns: &Value) {
        self.write("brief.md", brief(fields));
        self.write("script.json", turns.to_string());
    }

    /// Returns the environment that every command of this test gets.
    pub fn environment(&self) -> BTreeMap<&'static str, PathBuf> {
        let path = std::env::var_os("PATH").expect("a PATH");
        BTreeMap::from([
            ("PATH", path.into()),
            ("HOME", self.path("")),
            ("ADJUTANT_HOME", self.path("home")),
            ("LANG", "C.UTF-8".into()),
            ("CANARY_API_KEY", CANARY.into()),
        ])
    }

    /// The binary, in the working folder `work`.
    pub fn adjutant(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_adjutant"));
        command.args(args).env_clear().envs(self.environment()).current_dir(self.path("work")).stdin(Stdio::null());
        command
    }

    /// Runs the binary to its end, with nobody at its stdin.
    pub fn run(&self, args: &[&str]) -> Said {
        Said::of(&self.adjutant(args).output().expect("it starts"))
    }

    /// Runs the binary to its end with `input` at its stdin.
    pub fn run_with(&self, args: &[&str], input: &[u8]) -> Said {
        Self::feed(self.adjutant(args), input)
    }

    /// Runs a script of the shell in the folder `checkout`; the binary's name is in `ADJUTANT`.
    pub fn shell(&self, script: &str, input: &str) -> Said {
        let mut command = Command::new("sh");
        command.args(["-c", script]).env_clear().envs(self.environment());
        command.env("ADJUTANT", env!("CARGO_BIN_EXE_adjutant")).current_dir(self.path("checkout"));
        Self::feed(command, input.as_bytes())
    }

    fn feed(mut command: Command, input: &[u8]) -> Said {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        let mut stdin = child.stdin.take().expect("a pipe");
        let input = input.to_owned();
        let writer = std::thread::spawn(move || {
            // It may end without reading all of it.
            stdin.write_all(&input).ok();
        });
        let output = child.wait_with_output().expect("it ends");
        writer.join().expect("the writer does not panic");
        Said::of(&output)
    }

    /// Starts the binary with its stdin and stdout piped.
    pub fn start(&self, args: &[&str]) -> Running {
        self.start_with(args, &[])
    }

    /// Starts the binary with its stdin and stdout piped and these variables in its environment.
    pub fn start_with(&self, args: &[&str], variables: &[(&str, &str)]) -> Running {
        let mut command = self.adjutant(args);
        command.envs(variables.iter().copied());
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
        let stdout = BufReader::new(child.stdout.take().expect("a pipe"));
        Running { child, stdout }
    }

    /// Returns the path of a run's journal.
    pub fn journal_path(&self, run_id: &str) -> PathBuf {
        self.path(&format!("home/sessions/{run_id}.trace.ndjson"))
    }

    /// The events of a run's journal; a line that can't be read is left out.
    pub fn journal(&self, run_id: &str) -> Vec<Value> {
        let bytes = there(fs::read(self.journal_path(run_id))).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// `text` with what differs from run to run replaced.
    pub fn settled(&self, text: &str) -> String {
        let mut text = text.replace(&*self.path("").to_string_lossy(), "[TEMP]/");
        for (pattern, with) in [
            (r"\d+ ms", "[N] ms"),
            (r"(\d+ m )?\d+(\.\d)? s( at work| in all| \u{b7})", "[N] s${3}"),
            // Estimates count the paths of this test's folder.
            (r"\u{b7} [\d,]+ tokens", "\u{b7} [N] tokens"),
            (r"\d+ s( +[\d,]+ tokens  )", "[N] s${1}"),
            (r"took     \d+(\.\d)? s", "took     [N] s"),
            (r"\d{8}T\d{9}", "[STAMP]"),
            (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "[TIME]"),
            (r"adjutant \d+\.\d+\.\d+", "adjutant [VERSION]"),
        ] {
            text = Regex::new(pattern).expect("a pattern").replace_all(&text, with).into_owned();
        }
        text
    }
}

/// A valid brief with `fields` in its front matter.
pub fn brief(fields: &str) -> String {
    format!(
        "---\nproject: e2e\nbrief_id: 2026-02-03-E2E\nadapter: scripted\nscript: script.json\n{fields}\n---\n\n\
         # Objective\n\nOne thing.\n\n# Deliverables\n\n- A file.\n\n# Constraints\n\n- None.\n"
    )
}

/// The run that [`brief`] gives.
pub const RUN: &str = "2026-02-03-E2E";

/// The binary while it runs.
pub struct Running {
    pub child: Child,
    stdout: BufReader<ChildStdout>,
}

impl Running {
    /// The next line of stdout without its end; `None` at the end of the output.
    pub fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        let read = self.stdout.read_line(&mut line).expect("readable");
        (read > 0).then(|| line.trim_end_matches('\n').to_owned())
    }

    /// Reads lines up to one that holds `text`, and gives it.
    #[track_caller]
    pub fn until(&mut self, text: &str) -> String {
        let mut seen = String::new();
        while let Some(line) = self.line() {
            if line.contains(text) {
                return line;
            }
            seen.push_str(&line);
            seen.push('\n');
        }
        let mut stderr = String::new();
        self.child.stderr.take().expect("a pipe").read_to_string(&mut stderr).expect("readable");
        panic!("`{text}` never came:\n{seen}\nstderr:\n{stderr}");
    }

    pub fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(i32::try_from(self.child.id()).expect("a pid")).expect("a pid");
        kill_process(pid, signal).expect("it is there");
    }

    pub fn type_line(&mut self, line: &str) {
        let stdin = self.child.stdin.as_mut().expect("a pipe");
        writeln!(stdin, "{line}").and_then(|()| stdin.flush()).expect("it reads");
    }

    /// Kills it, so that it can't do anything more, and waits until it is gone.
    pub fn kill(mut self) {
        self.signal(Signal::STOP);
        self.child.kill().expect("it is there");
        self.child.wait().expect("it ends");
    }

    /// Reads the rest and waits for the end.
    pub fn finish(mut self) -> Said {
        drop(self.child.stdin.take());
        let mut stdout = String::new();
        let mut stderr = String::new();
        let mut errors = self.child.stderr.take().expect("a pipe");
        let reader = std::thread::spawn(move || {
            errors.read_to_string(&mut stderr).expect("readable");
            stderr
        });
        self.stdout.read_to_string(&mut stdout).expect("readable");
        let stderr = reader.join().expect("the reader does not panic");
        let status = self.child.wait().expect("it ends");
        Said { code: status.code().unwrap_or(-1), stdout, stderr }
    }
}

/// Copies a folder.
pub fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder") {
        let entry = entry.expect("an entry");
        let target = to.join(entry.file_name());
        if entry.file_type().expect("a type").is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), &target).expect("copied");
        }
    }
}

/// All files below a folder, by their path in it. What is deleted meanwhile, as by a command that
/// outlived its driver, is not there.
pub fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in there(fs::read_dir(&next)).into_iter().flatten() {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if let Some(bytes) = there(fs::read(&path)) {
                let name = path.strip_prefix(folder).expect("below it").to_string_lossy().into_owned();
                found.insert(name, bytes);
            }
        }
    }
    found
}

/// Returns the content that was read; `None` if the file is not there.
fn there<T>(read: std::io::Result<T>) -> Option<T> {
    match read {
        Ok(read) => Some(read),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => panic!("{error}"),
    }
}
