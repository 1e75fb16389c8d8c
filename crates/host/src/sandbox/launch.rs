//! Our own program, started anew to become a command: it puts the layers around itself and is replaced.
//!
//! The order matters. Limits come first, since they need nothing; namespaces give the rights that a root of
//! our own needs, and those rights are given up before anything that the command could use them against is
//! done; Landlock needs paths as the command will see them; the filter of system calls is last, since it
//! forbids what the others need.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use rustix::fs::{FileType, Stat};

use super::layer::{Layer, Layers};
use super::orders::LaunchOrders;
use super::policy::Policy;
use super::report::{LaunchFailure, ReportWriter};
use super::{LAUNCH_WORD, init, limits, namespaces, paths, privileges, root, signals, syscalls};

/// The exit code of a start that failed; custody reads why from the report.
const NOT_STARTED: u8 = 125;

/// Becomes a command, if the arguments of this process say so; `None` if they don't.
///
/// To be called before anything else, while there is one thread. Returns an exit code only if the command
/// could not be started.
pub fn launched(args: impl IntoIterator<Item = OsString>) -> Option<u8> {
    let mut args = args.into_iter().skip(1);
    if args.next().is_none_or(|word| word != LAUNCH_WORD) {
        return None;
    }
    let started = channel(args.next()).and_then(|channel| Some((channel, orders(args.next())?)));
    let Some((mut channel, orders)) = started else {
        eprintln!("adjutant: `{LAUNCH_WORD}` is for adjutant itself: it starts its commands with it");
        return Some(NOT_STARTED);
    };
    let failure = launch(&orders, args.collect(), &mut channel);
    channel.failed(failure);
    Some(NOT_STARTED)
}

/// The report that custody reads: the descriptor with this number.
fn channel(number: Option<OsString>) -> Option<ReportWriter> {
    let number: u32 = number?.to_str()?.parse().ok()?;
    // Opened anew, so that no number is taken for a descriptor that may not be ours.
    let file = OpenOptions::new().write(true).open(format!("/proc/self/fd/{number}")).ok()?;
    let is_pipe = rustix::fs::fstat(&file).is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Fifo);
    is_pipe.then(|| ReportWriter::new(file))
}

fn orders(text: Option<OsString>) -> Option<LaunchOrders> {
    serde_json::from_str(text?.to_str()?).ok()
}

/// Sets up the layers and becomes the command; returns only with a reason why not.
fn launch(orders: &LaunchOrders, argv: Vec<OsString>, channel: &mut ReportWriter) -> LaunchFailure {
    let policy = &orders.policy;
    let mut layers = Layers::default();
    for layer in Layer::ALL.into_iter().filter(|layer| !policy.layers.contains(layer)) {
        layers.note(layer, Err("left out by the settings"));
    }
    let failed = |what: &str, error: &dyn std::fmt::Display| LaunchFailure::Sandbox(format!("{what}: {error}"));
    if let Err(error) = close_inherited() {
        return failed("can't close inherited descriptors", &error);
    }
    let place = match StartFolder::current() {
        Ok(place) => place,
        Err(error) => return failed("can't tell the working folder", &error),
    };
    if policy.layers.contains(&Layer::Limits) {
        layers.note(Layer::Limits, limits::set(&policy.limits));
    }
    namespaces::enter(policy, &mut layers);
    if layers.has(Layer::Processes) {
        match init::become_child_of_init(channel) {
            Ok(()) => {}
            Err(error) => return failed("can't start a process of its own namespace", &error),
        }
    }
    // From here on this is the command's own process. Its session is its own too, so that groups and sessions
    // have numbers that it can see.
    if layers.has(Layer::Processes) {
        rustix::process::setsid().ok();
    }
    if let Err(failure) = confine(policy, &place, &mut layers).and_then(|()| report(policy, &layers, channel)) {
        return failure;
    }
    match &orders.probe {
        Some(probe) => probe.run(),
        None => exec(policy, &layers, argv),
    }
}

/// The layers that are the process's own.
fn confine(policy: &Policy, place: &StartFolder, layers: &mut Layers) -> Result<(), LaunchFailure> {
    if namespaces::has_mounts(policy, layers) {
        let built = root::build(policy, layers.has(Layer::Processes));
        let is_built = built.is_ok();
        layers.note(Layer::Mounts, built);
        if is_built {
            place
                .find_again()
                .map_err(|why| LaunchFailure::Sandbox(format!("the working folder is not there: {why}")))?;
        }
    }
    if policy.layers.contains(&Layer::Privileges) {
        layers.note(Layer::Privileges, privileges::give_up());
    }
    let reach = policy.network.reach(layers.has(Layer::Network));
    if policy.layers.contains(&Layer::Landlock) {
        layers.note(Layer::Landlock, paths::restrict(policy, reach, layers.has(Layer::Mounts)));
    }
    if policy.layers.contains(&Layer::Seccomp) {
        layers.note(Layer::Seccomp, syscalls::filter(reach));
    }
    signals::unblock();
    Ok(())
}

/// Says what held, and stops here if something is missing that must not be.
fn report(policy: &Policy, layers: &Layers, channel: &mut ReportWriter) -> Result<(), LaunchFailure> {
    channel.layers(layers).map_err(|error| LaunchFailure::Sandbox(format!("nobody hears what held: {error}")))?;
    let missing: Vec<String> = policy
        .required
        .iter()
        .filter(|layer| !layers.has(**layer))
        .map(|layer| match layers.absent.iter().find(|absent| absent.layer == *layer) {
            Some(absent) => format!("`{layer}` ({})", absent.why),
            None => format!("`{layer}`"),
        })
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(LaunchFailure::Sandbox(format!("what is required of the sandbox is missing here: {}", missing.join(", "))))
}

fn exec(policy: &Policy, layers: &Layers, argv: Vec<OsString>) -> LaunchFailure {
    let mut argv = argv.into_iter();
    let program = argv.next().unwrap_or_default();
    let has_mounts = layers.has(Layer::Mounts);
    let temp = if has_mounts { PathBuf::from("/tmp") } else { policy.temp() };
    let mut command = Command::new(program);
    command.args(argv).env("TMPDIR", temp);
    if !has_mounts {
        // Where two files are copied for one variable, the first is the usual one.
        command.envs(policy.copies.iter().rev().map(|copy| (&copy.variable, &copy.copy)));
    }
    let error = command.exec();
    LaunchFailure::Program(error.raw_os_error().unwrap_or(libc::EINVAL))
}

/// Whatever was open in the process that started us is closed when the command begins.
fn close_inherited() -> std::io::Result<()> {
    #[expect(unsafe_code, reason = "no crate of ours has this call")]
    // SAFETY: the call reads no memory of ours, and with this flag closes nothing now: every descriptor that
    // somebody here owns stays valid until the process is replaced.
    let done = unsafe { libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC) };
    if done == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}

/// The folder that the command begins in.
struct StartFolder {
    path: PathBuf,
    folder: OwnedFd,
}

impl StartFolder {
    fn current() -> std::io::Result<Self> {
        Ok(Self { path: std::env::current_dir()?, folder: OwnedFd::from(File::open(".")?) })
    }

    /// Goes to the same folder by its path in the root that is there now.
    fn find_again(&self) -> std::io::Result<()> {
        std::env::set_current_dir(&self.path)?;
        let identity = |stat: Stat| (stat.st_dev, stat.st_ino);
        if identity(rustix::fs::stat(".")?) != identity(rustix::fs::fstat(&self.folder)?) {
            return Err(std::io::Error::other("another folder is in its place"));
        }
        Ok(())
    }
}
