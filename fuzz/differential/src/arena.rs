//! The sandbox that lines run in. There is no way to run one elsewhere: what a line does is not known, and tried
//! outside of a sandbox one of them set the clock of a machine.

use std::fs::{self, File, Permissions};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use adjutant_host::custody::{self, Cause, Command};
use adjutant_host::removal::remove_tree;
use adjutant_host::sandbox::{Limits, Mode, Network, Places, Sandbox, Settings, self_test};
use anyhow::{Context, Result, bail, ensure};
use tempfile::TempDir;
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

use crate::trial::{Trial, TrialOrders, TrialReport};

/// The word by which this program is started in the sandbox.
pub const DRIVE_WORD: &str = "__drive";
/// Limits on what lines may take of the machine.
const LIMITS: Limits = Limits { file_bytes: 4 << 20, descriptors: 256, processes: 160, memory_bytes: Some(1 << 30) };
/// Longest time that a sandbox may take beside its lines.
const OVERHEAD: Duration = Duration::from_secs(30);
/// The bytes of what the process in the sandbox says.
const SAID_BYTES_MAX: usize = 8 << 20;

/// Stand-ins for programs whose acts a wall of the sandbox would hide: what would be lost is written down instead.
const STAND_INS: &[(&str, &str)] = &[
    ("zap", "echo zap >> TRIP"),
    ("date", "exec 3>&1; /bin/date \"$@\" 2>&1 >&3 | grep -q 'cannot set date' && echo date >> TRIP"),
    ("ssh", "case $1 in -V | -G | -Q | -* | '') ;; *) echo ssh >> TRIP ;; esac"),
    ("scp", "case $1 in -* | '') ;; *) echo scp >> TRIP ;; esac"),
];

/// Programs that take from 40 to 300 ms to start.
const SLOW: &[&str] = &[
    "cargo", "docker", "go", "gradle", "helm", "java", "jq", "kubectl", "mvn", "node", "npm", "npx", "php", "pip",
    "pnpm", "psql", "ruby", "terraform", "tofu", "yarn", "yq",
];

/// Outcome of the lines of one sandbox.
#[derive(Debug, Default)]
pub struct Round {
    /// The lines that took canaries, by number, and which.
    pub lost: Vec<(usize, Vec<String>)>,
    /// The line that ended everything in its sandbox, if one did.
    pub ended_by: Option<usize>,
    /// Number of lines that began.
    pub begun: usize,
}

/// Makes sandboxes, one after another, all in folders of the same name.
#[derive(Debug)]
pub struct Arena {
    place: TempDir,
    runtime: Runtime,
    program: PathBuf,
}

impl Arena {
    /// One that was tested: every wall stands.
    ///
    /// # Errors
    ///
    /// The system's, or the walls that are missing.
    pub fn new() -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let arena = Self { place: folder()?, runtime, program: std::env::current_exe()? };
        let sandbox = arena.sandbox()?;
        let tested = arena.runtime.block_on(self_test(&sandbox)).context("can't test the sandbox")?;
        let missing: Vec<&str> = tested.missing.iter().map(|wall| wall.without()).collect();
        ensure!(
            tested.is_whole(),
            "no line is run here, since the sandbox is not whole: {missing:?} {:?}",
            tested.layers.absent
        );
        let trip = arena.root().join("trip").display().to_string();
        let scripts = STAND_INS.iter().map(|(name, script)| (*name, script.replace("TRIP", &trip)));
        programs(&arena.stand_ins(), scripts)?;
        programs(&arena.slow(), SLOW.iter().map(|name| (*name, "exit 0".to_owned())))?;
        Ok(arena)
    }

    /// The folder that lines find everything in.
    pub fn root(&self) -> PathBuf {
        self.place.path().join("root")
    }

    fn stand_ins(&self) -> PathBuf {
        self.place.path().join("stand-ins")
    }

    fn slow(&self) -> PathBuf {
        self.place.path().join("slow")
    }

    fn sandbox(&self) -> Result<Sandbox> {
        let programs = vec![self.stand_ins(), self.slow(), self.program.clone()];
        let places = Places { workdir: self.root(), programs, ..Places::default() };
        let settings = Settings { mode: Mode::Required, limits: LIMITS, ..Settings::default() };
        Sandbox::new(settings, places, &self.program).context("can't make a folder for the sandbox")
    }

    /// Runs lines in a sandbox of their own, each for `limit_ms` at most.
    ///
    /// # Errors
    ///
    /// The sandbox could not be set up, with all its walls, or what is said in it can't be read.
    pub fn run(&self, trials: &[Trial], limit_ms: u64) -> Result<Round> {
        fs::create_dir_all(self.root())?;
        let (root, stand_ins, slow) = (self.root(), self.stand_ins(), self.slow());
        let orders = TrialOrders { root, stand_ins, slow, limit_ms, trials: trials.to_vec() };
        let sandbox = self.sandbox()?;
        let lines = u32::try_from(trials.len()).unwrap_or(u32::MAX);
        let command = Command {
            program: self.program.clone().into(),
            args: vec![DRIVE_WORD.into()],
            folder: OwnedFd::from(File::open(self.root())?),
            environment: vec![("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())],
            timeout: OVERHEAD + Duration::from_millis(limit_ms * 2) * lines,
            stream_bytes_max: SAID_BYTES_MAX,
            confinement: sandbox.confinement(Network::Off)?,
        };
        let input = serde_json::to_vec(&orders)?;
        let ended = self.runtime.block_on(custody::run_with_input(command, input, CancellationToken::new()));
        let ended = ended.map_err(|error| anyhow::anyhow!("{error}: {}", error.source))?;
        remove_tree(&self.root()).context("can't remove what lines have left")?;
        let mut round = Round::default();
        let mut is_done = false;
        for line in ended.stdout.text().lines() {
            match serde_json::from_str(line).with_context(|| format!("the sandbox says {line:?}"))? {
                TrialReport::Begun(number) => round.begun = number + 1,
                TrialReport::Lost(number, canaries) => round.lost.push((number, canaries)),
                TrialReport::Done => is_done = true,
                TrialReport::Failed(why) if round.begun == 0 => bail!("no line was run: {why}"),
                TrialReport::Failed(why) => round.lost.push((round.begun - 1, vec![why])),
            }
        }
        if !is_done {
            ensure!(round.begun > 0, "no line was run: {}", ended.stderr.text());
            let is_stuck = ended.cause == Cause::Timeout;
            let how = if is_stuck { "the process that runs the lines stands still" } else { "it was ended" };
            round.lost.push((round.begun - 1, vec![format!("another process: {how}")]));
            round.ended_by = Some(round.begun - 1);
        }
        Ok(round)
    }
}

/// Makes a folder of scripts.
fn programs(folder: &Path, scripts: impl Iterator<Item = (&'static str, String)>) -> Result<()> {
    fs::create_dir(folder)?;
    for (name, script) in scripts {
        let path = folder.join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n"))?;
        fs::set_permissions(&path, Permissions::from_mode(0o755))?;
    }
    Ok(())
}

/// A folder in memory where there is one.
fn folder() -> Result<TempDir> {
    let mut builder = tempfile::Builder::new();
    builder.prefix("adjutant-differential-");
    let made = builder.tempdir_in("/dev/shm").or_else(|_| builder.tempdir()).context("can't make a folder")?;
    Ok(made)
}
