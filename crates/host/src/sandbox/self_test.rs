//! Tries whether the walls hold, from inside and for real: what a command could do is looked for outside.
//!
//! It has a home, a secret, a repository, and listeners of its own, so that nothing of the operator's is
//! touched, whichever wall is missing.

use std::fs::{self, File};
use std::io;
use std::net::{TcpListener, UdpSocket};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use rustix::process::{Pid, Signal, kill_process};
use tokio_util::sync::CancellationToken;

use super::layer::{Absent, Layer, Layers};
use super::orders::Probe;
use super::places::Places;
use super::policy::Network;
use super::scratch::PRIVATE;
use super::settings::{Mode, Sandbox};
use crate::custody::{Command, Confined, Confinement, run};

/// The content of the file that must not be readable.
const SECRET: &str = "a secret of nobody";
/// The settings of the test's repository.
const CONFIG: &str = "[core]\n\tbare = false\n";
/// The longest the attempts may take, all together. They take milliseconds.
const TIMEOUT: Duration = Duration::from_secs(10);

/// An act that a command is kept from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wall {
    /// Changing files outside its folders.
    OutsideWrite,
    /// Reading a secret in the home.
    SecretRead,
    /// Connecting by TCP.
    Tcp,
    /// Sending by UDP.
    Udp,
    /// Living on when the command has ended.
    Survivor,
    /// Leaving hooks or settings in the repository.
    GitHooks,
}

impl Wall {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::OutsideWrite, Self::SecretRead, Self::Tcp, Self::Udp, Self::Survivor, Self::GitHooks];

    /// Its name in a journal.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::OutsideWrite => "outside_write",
            Self::SecretRead => "secret_read",
            Self::Tcp => "tcp",
            Self::Udp => "udp",
            Self::Survivor => "survivor",
            Self::GitHooks => "git_hooks",
        }
    }

    /// Describes what a command can do if the wall is missing, for a person.
    #[must_use]
    pub fn without(self) -> &'static str {
        match self {
            Self::OutsideWrite => "commands can change files outside the working folder",
            Self::SecretRead => "commands can read keys and passwords in the home",
            Self::Tcp => "commands can connect to the network",
            Self::Udp => "commands can send to the network by UDP",
            Self::Survivor => "a process can live on when its command has ended",
            Self::GitHooks => "commands can leave hooks and settings in the repository",
        }
    }
}

/// The result of a self-test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SelfTest {
    /// The strictness that was asked for.
    pub mode: Mode,
    /// The outcome of setting up the layers.
    pub layers: Layers,
    /// The walls that held.
    pub held: Vec<Wall>,
    /// The walls that didn't.
    pub missing: Vec<Wall>,
}

impl SelfTest {
    /// Returns the result without trying, since nothing is set up.
    fn nothing(mode: Mode, why: &str) -> Self {
        let absent = Layer::ALL.into_iter().map(|layer| Absent { layer, why: why.to_owned() });
        let layers = Layers { held: Vec::new(), absent: absent.collect() };
        Self { mode, layers, held: Vec::new(), missing: Wall::ALL.into() }
    }

    /// Returns true if nothing that was wanted is missing.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.missing.is_empty() && self.layers.absent.is_empty()
    }
}

/// Tries whether the walls of `sandbox` hold on this machine now.
///
/// # Errors
///
/// The system's, if the test itself can't be set up.
pub async fn self_test(sandbox: &Sandbox) -> io::Result<SelfTest> {
    let mode = sandbox.settings().mode;
    if mode == Mode::Off {
        return Ok(SelfTest::nothing(mode, "switched off"));
    }
    if !cfg!(target_os = "linux") {
        return Ok(SelfTest::nothing(mode, "only Linux has it"));
    }
    let ground = TestGround::new()?;
    let mut policy = sandbox.policy_for(&ground.places(), Network::Off)?;
    policy.required.clear();
    let confined = Confined { probe: Some(ground.probe()?), ..sandbox.confined(policy) };
    let command = Command {
        program: "".into(),
        args: Vec::new(),
        folder: OwnedFd::from(File::open(ground.at("work"))?),
        environment: Vec::new(),
        timeout: TIMEOUT,
        stream_bytes_max: 4096,
        confinement: Confinement::Sandbox(Box::new(confined)),
    };
    let ended = match run(command, CancellationToken::new()).await {
        Ok(ended) => ended,
        Err(error) => return Ok(SelfTest::nothing(mode, &format!("{error}: {}", error.source))),
    };
    let (held, missing) = Wall::ALL.into_iter().partition(|wall| ground.held(*wall, &ended.stdout.text()));
    Ok(SelfTest { mode, layers: ended.layers.unwrap_or_default(), held, missing })
}

/// The place of the attempts.
struct TestGround {
    folder: tempfile::TempDir,
    root: PathBuf,
    tcp: TcpListener,
    udp: UdpSocket,
}

impl TestGround {
    fn new() -> io::Result<Self> {
        let folder = tempfile::Builder::new()
            .prefix("adjutant-test-")
            .permissions(fs::Permissions::from_mode(PRIVATE))
            .tempdir()?;
        let root = fs::canonicalize(folder.path())?;
        let ground =
            Self { folder, root, tcp: TcpListener::bind("127.0.0.1:0")?, udp: UdpSocket::bind("127.0.0.1:0")? };
        ground.tcp.set_nonblocking(true)?;
        ground.udp.set_nonblocking(true)?;
        for folder in ["home/.ssh", "work/.git/hooks"] {
            fs::create_dir_all(ground.at(folder))?;
        }
        for (path, text) in [("home/.ssh/id", SECRET), ("work/.git/HEAD", ""), ("work/.git/config", CONFIG)] {
            fs::write(ground.at(path), text)?;
        }
        Ok(ground)
    }

    fn at(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    fn places(&self) -> Places {
        Places { workdir: self.at("work"), home: Some(self.at("home")), ..Places::default() }
    }

    fn probe(&self) -> io::Result<Probe> {
        Ok(Probe {
            outside: self.at("home"),
            secret: self.at("home/.ssh/id"),
            tcp: self.tcp.local_addr()?,
            udp: self.udp.local_addr()?,
            repository: self.at("work/.git"),
            survivor: self.at("work/survivor"),
        })
    }

    /// Returns true if a wall held. A wall that can't be judged counts as missing.
    fn held(&self, wall: Wall, stdout: &str) -> bool {
        // Made by the attempts: without it there were none.
        let was_tried = self.at("work/survivor").exists();
        was_tried
            && match wall {
                Wall::OutsideWrite => !self.at("home/written").exists(),
                Wall::SecretRead => !stdout.contains(SECRET),
                Wall::Tcp => is_quiet(self.tcp.accept()),
                Wall::Udp => is_quiet(self.udp.recv(&mut [0; 16])),
                Wall::Survivor => !ended_survivor(&self.at("work/survivor")),
                Wall::GitHooks => {
                    let is_unhooked = !self.at("work/.git/hooks/pre-commit").exists();
                    let is_there = fs::read_to_string(self.at("work/.git/config")).is_ok_and(|text| text == CONFIG);
                    is_unhooked && is_there && self.folder.path().exists()
                }
            }
    }
}

/// Returns true if nothing arrived.
fn is_quiet<T>(came: io::Result<T>) -> bool {
    came.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
}

/// Returns true if a process still holds the file locked, and kills it.
fn ended_survivor(path: &Path) -> bool {
    let Ok(file) = File::open(path) else { return true };
    if flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok() {
        return false;
    }
    let own = fs::read_to_string(path).ok().and_then(|text| Pid::from_raw(text.trim().parse().ok()?));
    if let Some(survivor) = own {
        // The number is what the process saw of itself: in a namespace of its own it would not have lived on.
        kill_process(survivor, Signal::KILL).ok();
    }
    true
}
