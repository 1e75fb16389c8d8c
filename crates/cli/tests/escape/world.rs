//! The world of an attack: a home with a secret, a folder outside, a repository to work in, and a listener.

use std::fs::{self, File};
use std::io;
use std::net::{TcpListener, UdpSocket};
use std::os::fd::OwnedFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::{Path, PathBuf};
use std::process::Command as Program;
use std::time::Duration;

use adjutant_host::custody::{self, Command, Confinement, Ended};
use adjutant_host::sandbox::{Layer, Limits, Mode, Network, Places, Sandbox, Settings};
use rustix::fs::{FlockOperation, flock};
use tokio_util::sync::CancellationToken;

/// Text that no attack may print.
const SECRET: &str = "the-secret-of-the-operator";
/// Text that an attack prints when it did what it must not.
pub const ESCAPED: &str = "ESCAPED";
/// Text that an attack prints at its end, so that one which was cut short is not taken for one that was held.
const TRIED: &str = "TRIED";
const KEPT: &str = "as it was\n";
const TIMEOUT: Duration = Duration::from_secs(120);

pub struct World {
    _folder: tempfile::TempDir,
    root: PathBuf,
    tcp: TcpListener,
    udp: UdpSocket,
    path: UnixListener,
    abstract_name: UnixListener,
    config: String,
}

/// The folder of cargo and the compiler.
fn toolchain() -> PathBuf {
    Path::new(env!("CARGO")).parent().unwrap().to_owned()
}

/// A sandbox to try, or none.
pub fn settings(mode: Mode) -> Settings {
    Settings { mode, ..Settings::default() }
}

pub fn without(layers: &[Layer]) -> Settings {
    let mut settings = settings(Mode::Best);
    settings.layers.retain(|layer| !layers.contains(layer));
    settings
}

pub fn limited(limits: Limits) -> Settings {
    Settings { limits, ..settings(Mode::Best) }
}

impl World {
    pub fn new() -> Self {
        let folder = tempfile::Builder::new().prefix("adjutant-escape-").tempdir().unwrap();
        let root = fs::canonicalize(folder.path()).unwrap();
        for made in ["home/.ssh", "outside", "work"] {
            fs::create_dir_all(root.join(made)).unwrap();
        }
        for (path, text) in [("home/.ssh/id", SECRET), ("home/notes", KEPT), ("outside/file", KEPT)] {
            fs::write(root.join(path), text).unwrap();
        }
        fs::set_permissions(root.join("home/notes"), fs::Permissions::from_mode(0o644)).unwrap();
        let made = Program::new("git").args(["init", "--quiet"]).arg(root.join("work")).env("HOME", &root).status();
        assert!(made.unwrap().success());
        let config = fs::read_to_string(root.join("work/.git/config")).unwrap();
        let name = SocketAddr::from_abstract_name(root.file_name().unwrap().as_encoded_bytes()).unwrap();
        let world = Self {
            _folder: folder,
            tcp: TcpListener::bind("127.0.0.1:0").unwrap(),
            udp: UdpSocket::bind("127.0.0.1:0").unwrap(),
            path: UnixListener::bind(root.join("outside/socket")).unwrap(),
            abstract_name: UnixListener::bind_addr(&name).unwrap(),
            config,
            root,
        };
        world.tcp.set_nonblocking(true).unwrap();
        world.udp.set_nonblocking(true).unwrap();
        world.path.set_nonblocking(true).unwrap();
        world.abstract_name.set_nonblocking(true).unwrap();
        world
    }

    pub fn at(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    fn places(&self) -> Places {
        let runtime_home = Some(self.at("runtime"));
        let programs = Places::programs_of(&[("PATH".into(), toolchain().into_os_string())]);
        Places { workdir: self.at("work"), home: Some(self.at("home")), runtime_home, programs, ..Places::default() }
    }

    /// Runs a line as the operator in the folder `folder` of the world, without a sandbox, and returns the output.
    #[track_caller]
    pub fn operator(&self, folder: &str, line: &str) -> String {
        let mut shell = Program::new("bash");
        shell
            .args(["-ec", line])
            .current_dir(self.at(folder))
            .env("HOME", &self.root)
            .env("OUTSIDE", self.at("outside"));
        let said = shell.envs([("GIT_CONFIG_NOSYSTEM", "1")]).output().unwrap();
        let text = String::from_utf8_lossy(&said.stdout).into_owned() + &String::from_utf8_lossy(&said.stderr);
        assert!(said.status.success(), "{line}\n{text}");
        text
    }

    /// Runs a command line in the workdir, in the sandbox or without one.
    pub fn run(&self, settings: Settings, network: Network, line: &str) -> Ended {
        let sandbox = Sandbox::new(settings, self.places(), Path::new(env!("CARGO_BIN_EXE_adjutant"))).unwrap();
        self.run_as(sandbox.confinement(network).unwrap(), line)
    }

    fn run_as(&self, confinement: Confinement, line: &str) -> Ended {
        let name = self.root.file_name().unwrap().to_owned();
        let variables = [
            ("PATH", format!("/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin:{}", toolchain().display()).into()),
            ("HOME", self.at("home").into_os_string()),
            ("OUTSIDE", self.at("outside").into()),
            ("WORK", self.at("work").into()),
            ("NAME", name),
            ("TCP", self.tcp.local_addr().unwrap().port().to_string().into()),
            ("UDP", self.udp.local_addr().unwrap().port().to_string().into()),
            ("GIT_CONFIG_NOSYSTEM", "1".into()),
        ];
        let command = Command {
            program: "bash".into(),
            args: vec!["-c".into(), format!("{line}\necho {TRIED}").into()],
            folder: OwnedFd::from(File::open(self.at("work")).unwrap()),
            environment: variables.into_iter().map(|(name, value)| (name.into(), value)).collect(),
            timeout: TIMEOUT,
            stream_bytes_max: 100_000,
            confinement,
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(custody::run(command, CancellationToken::new())).unwrap()
    }

    /// The file that an attack makes in everybody's `/tmp`, wherever temporary files of tests are.
    fn shared(&self) -> PathBuf {
        Path::new("/tmp").join(format!("{}.tmp", self.root.file_name().unwrap().display()))
    }

    /// Describes what the attack got, in words; empty if it got nothing.
    pub fn damage(&self, ended: &Ended) -> Vec<String> {
        let said = format!("{}{}", ended.stdout.text(), ended.stderr.text());
        let changed = |path: &str| fs::read_to_string(self.at(path)).ok().as_deref() != Some(KEPT);
        let notes = fs::metadata(self.at("home/notes")).unwrap();
        let outside: Vec<_> =
            fs::read_dir(self.at("outside")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        let home: Vec<_> = fs::read_dir(self.at("home")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        let hooks = fs::read_dir(self.at("work/.git/hooks")).map(|entries| {
            entries.filter(|entry| !entry.as_ref().unwrap().file_name().to_string_lossy().ends_with(".sample")).count()
        });
        let config = fs::read_to_string(self.at("work/.git/config")).unwrap_or_default();
        [
            (said.contains(SECRET), "a secret was read"),
            (said.contains(ESCAPED), "it says so"),
            (changed("outside/file") || outside.len() != 2, "something changed outside"),
            (changed("home/notes") || home.len() != 2, "something changed in the home"),
            (notes.permissions().mode() & 0o7777 != 0o644, "rights changed in the home"),
            (notes.modified().unwrap().elapsed().is_ok_and(|age| age > TIMEOUT * 10), "times changed in the home"),
            (hooks.is_ok_and(|count| count > 0) || config != self.config, "the repository's hooks or settings changed"),
            (came(self.tcp.accept()) || came(self.path.accept()) || came(self.abstract_name.accept()), "a connection"),
            (came(self.udp.recv(&mut [0; 16])), "a datagram"),
            (self.lives_on(), "a process lives on"),
            (self.shared().exists(), "a shared temporary file"),
        ]
        .into_iter()
        .filter(|(is_so, _)| *is_so)
        .map(|(_, what)| what.to_owned())
        .collect()
    }

    /// Returns true if a process still holds the lock that an attack took to be found by, and ends that process.
    fn lives_on(&self) -> bool {
        let Ok(lock) = File::open(self.at("work/held")) else { return false };
        let is_held = flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err();
        if is_held {
            let id = fs::read_to_string(self.at("work/held")).unwrap().trim().parse().unwrap();
            rustix::process::kill_process(rustix::process::Pid::from_raw(id).unwrap(), rustix::process::Signal::KILL)
                .ok();
        }
        is_held
    }

    #[track_caller]
    pub fn expect_whole(ended: &Ended) {
        assert!(ended.stdout.text().contains(TRIED), "{}\n{}", ended.stdout.text(), ended.stderr.text());
        let layers = ended.layers.as_ref().expect("a sandbox");
        assert!(layers.absent.is_empty(), "{layers:?}");
    }
}

impl Drop for World {
    fn drop(&mut self) {
        fs::remove_file(self.shared()).ok();
    }
}

fn came<T>(from: io::Result<T>) -> bool {
    from.is_ok()
}
