//! Runs one step of a check, shows it, times it, and counts the test results it prints.

use std::env;
use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result, anyhow, bail};

use crate::tally::TestTally;

/// Arguments with which cargo builds tests that are all run. Nine tenths of their time are core's rules, which are
/// three times as fast then; while somebody works, core is built too often for it to pay.
pub const WITH_FAST_CORE: [&str; 2] = ["--config", "profile.dev.package.adjutant-core.opt-level=1"];

/// One run of a program, mostly of cargo.
pub struct CheckStep {
    name: &'static str,
    program: OsString,
    args: Vec<OsString>,
    env: Vec<(&'static str, OsString)>,
}

impl CheckStep {
    /// The step `name`: cargo with `args`.
    pub fn cargo(name: &'static str, args: &[&'static str]) -> Self {
        // Results are counted from the output, where colour codes would be in the way.
        let env = vec![("CARGO_TERM_COLOR", "never".into())];
        Self { name, program: cargo_name(), args: args.iter().map(OsString::from).collect(), env }
    }

    /// The step `name`: another program with `args`.
    pub fn program(name: &'static str, program: OsString, args: Vec<OsString>) -> Self {
        Self { name, program, args, env: Vec::new() }
    }

    /// The same step with one more argument.
    pub fn with_arg(self, arg: impl Into<OsString>) -> Self {
        self.with_args([arg])
    }

    /// The same step with more arguments.
    pub fn with_args(mut self, args: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// The same step with one more environment variable.
    pub fn with_env(mut self, name: &'static str, value: impl Into<OsString>) -> Self {
        self.env.push((name, value.into()));
        self
    }
}

/// Runs `step`, shows its output as it comes, and adds the test results in it to `tally`.
///
/// # Errors
///
/// The step can't be started, or does not end well.
pub fn run(step: &CheckStep, tally: &mut TestTally) -> Result<()> {
    timed(step.name, || {
        let shown = shown(step);
        let mut child = Command::new(&step.program)
            .args(&step.args)
            .envs(step.env.iter().map(|(name, value)| (name, value)))
            .current_dir(repo_root())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .with_context(|| format!("can't start {shown}"))?;
        let (out, err) = (child.stdout.take(), child.stderr.take());
        let (out_tally, err_tally) = thread::scope(|scope| {
            let errors =
                scope.spawn(|| err.map_or_else(|| Ok(TestTally::default()), |err| copy(err, &mut io::stderr())));
            let results = out.map_or_else(|| Ok(TestTally::default()), |out| copy(out, &mut io::stdout()));
            (results, errors.join().unwrap_or_else(|_| Err(io::Error::other("the reader of stderr failed"))))
        });
        tally.add(out_tally?);
        tally.add(err_tally?);
        let status = child.wait().with_context(|| format!("can't wait for {shown}"))?;
        if !status.success() {
            bail!("{shown} ended with {status}");
        }
        Ok(())
    })
}

/// A step's command line, for a person.
fn shown(step: &CheckStep) -> String {
    let program = Path::new(&step.program).file_name().unwrap_or(&step.program);
    let words = [program].into_iter().chain(step.args.iter().map(OsString::as_os_str));
    format!("`{}`", words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" "))
}

/// Runs `action` as the step `name`, and says how long it took.
///
/// # Errors
///
/// Those of `action`, with the step's name.
pub fn timed(name: &'static str, action: impl FnOnce() -> Result<()>) -> Result<()> {
    println!("==> {name}");
    let begin = Instant::now();
    let result = action();
    let ending = if result.is_ok() { "ok" } else { "failed" };
    println!("<== {name}: {ending} after {:.1} s", begin.elapsed().as_secs_f64());
    result.map_err(|error| anyhow!("{name}: {error:#}"))
}

/// Copies line by line, and counts the test results that go by.
fn copy(from: impl io::Read, to: &mut impl Write) -> io::Result<TestTally> {
    let mut tally = TestTally::default();
    let mut from = BufReader::new(from);
    let mut line = Vec::new();
    while from.read_until(b'\n', &mut line)? > 0 {
        to.write_all(&line)?;
        tally.add(TestTally::of_line(&String::from_utf8_lossy(&line)));
        line.clear();
    }
    to.flush()?;
    Ok(tally)
}

/// The cargo that runs us, or the one on the path.
pub fn cargo() -> Command {
    Command::new(cargo_name())
}

fn cargo_name() -> OsString {
    env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"))
}

/// Returns the folder where cargo puts what it builds.
pub fn target() -> PathBuf {
    let named = env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    repo_root().join(named.unwrap_or_else(|| PathBuf::from("target")))
}

/// Runs a command in the folder of the workspace.
///
/// # Errors
///
/// It can't be started, or does not end well.
pub fn succeed(command: &mut Command) -> Result<()> {
    let status = command.current_dir(repo_root()).status().with_context(|| format!("can't start {command:?}"))?;
    if !status.success() {
        bail!("{command:?} ended with {status}");
    }
    Ok(())
}

/// The folder of the workspace.
pub fn repo_root() -> PathBuf {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().unwrap_or(xtask).to_owned()
}
