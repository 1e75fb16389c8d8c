//! The signals that whoever waits for a command waits for too.

use std::io;
use std::mem::MaybeUninit;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

/// A signal that is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Awaited {
    /// A child changed its state.
    Child,
    /// The command should end.
    Terminate,
}

fn awaited() -> libc::sigset_t {
    let mut set = MaybeUninit::<libc::sigset_t>::uninit();
    #[expect(unsafe_code, reason = "no crate of ours has sets of signals")]
    // SAFETY: `sigemptyset` initialises the whole set that it is given, and the others change one that is
    // initialised; the numbers are signals, so that none of them fails.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        libc::sigaddset(set.as_mut_ptr(), libc::SIGCHLD);
        libc::sigaddset(set.as_mut_ptr(), libc::SIGTERM);
        set.assume_init()
    }
}

/// Holds the awaited signals back until they are waited for. A child inherits that.
pub(super) fn block() -> io::Result<()> {
    change(libc::SIG_BLOCK)
}

/// Lets them come again.
pub(super) fn unblock() {
    // It can't fail for a set that could be blocked.
    change(libc::SIG_UNBLOCK).ok();
}

fn change(how: libc::c_int) -> io::Result<()> {
    let set = awaited();
    #[expect(unsafe_code, reason = "no crate of ours changes the signal mask")]
    // SAFETY: the set is initialised and outlives the call; no old mask is asked for.
    let failed = unsafe { libc::sigprocmask(how, &set, std::ptr::null_mut()) };
    if failed == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Waits for the next of them.
pub(super) fn next() -> io::Result<Awaited> {
    let set = awaited();
    loop {
        #[expect(unsafe_code, reason = "no crate of ours waits for a signal")]
        // SAFETY: the set is initialised and outlives the call; no details are asked for.
        let signal = unsafe { libc::sigwaitinfo(&set, std::ptr::null_mut()) };
        match signal {
            libc::SIGCHLD => return Ok(Awaited::Child),
            libc::SIGTERM => return Ok(Awaited::Terminate),
            _ => {
                let error = io::Error::last_os_error();
                if error.kind() != io::ErrorKind::Interrupted {
                    return Err(error);
                }
            }
        }
    }
}

/// Ends this process as another one ended: with its exit code, or by its signal; `None` is a kill.
pub(super) fn end_like(status: Option<ExitStatus>) -> ! {
    if let Some(code) = status.and_then(|status| status.code()) {
        std::process::exit(code);
    }
    let signal = status.and_then(|status| status.signal()).unwrap_or(libc::SIGKILL);
    #[expect(unsafe_code, reason = "no crate of ours gives a signal its first meaning back")]
    // SAFETY: neither call takes memory of ours, and the default meaning runs no code of ours.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
        unblock();
        libc::raise(signal);
    }
    // A signal whose meaning is not to end: nothing that a process can die by.
    std::process::exit(128 + signal)
}
