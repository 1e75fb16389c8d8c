//! The first process of a command's pid namespace: it takes orphans in, passes a request to end on, and when
//! the command ends, the kernel ends everything else with it.
//!
//! Three processes stand in a row. The one that custody started waits outside and ends as the command did;
//! init waits inside; its child becomes the command. Whichever dies takes along what comes after it.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus};

use super::report::ReportWriter;
use super::signals::{self, Awaited};

/// Puts init between this process and the command: returns in the process that becomes the command. The other
/// two never return from here.
///
/// # Errors
///
/// The system's, if there can be no other process; then this process goes on alone.
pub(super) fn become_child_of_init(channel: &mut ReportWriter) -> io::Result<()> {
    signals::block()?;
    let (from_init, to_outside) = pipe_with(PipeFlags::CLOEXEC)?;
    if let Some(init) = fork()? {
        drop(to_outside);
        wait_outside(init, File::from(from_init), channel)
    }
    drop(from_init);
    die_with_parent()?;
    // The process outside may have died before the line above: then nobody reads this pipe any more.
    let mut watched = [PollFd::new(&to_outside, PollFlags::OUT)];
    poll(&mut watched, Some(&Timespec::default()))?;
    if watched[0].revents().contains(PollFlags::ERR) {
        std::process::exit(1);
    }
    match fork() {
        Ok(None) => {
            die_with_parent()?;
            Ok(())
        }
        Ok(Some(command)) => wait_inside(command, File::from(to_outside)),
        Err(error) => Err(error),
    }
}

fn die_with_parent() -> io::Result<()> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    Ok(())
}

/// Starts a copy of this process; `None` in the copy.
fn fork() -> io::Result<Option<Pid>> {
    #[expect(unsafe_code, reason = "no crate of ours copies a process")]
    // SAFETY: a copy has only the thread that asked for it, which is trouble where another held a lock. This
    // process was started anew to get here and has one thread.
    let id = unsafe { libc::fork() };
    if id < 0 { Err(io::Error::last_os_error()) } else { Ok(Pid::from_raw(id)) }
}

/// Waits for init from outside and ends as the command did.
fn wait_outside(init: Pid, mut from_init: File, channel: &mut ReportWriter) -> ! {
    let mut said = [0; 8];
    let is_said = from_init.read_exact(&mut said).is_ok();
    while let Err(rustix::io::Errno::INTR) = rustix::process::waitpid(Some(init), WaitOptions::empty()) {}
    if !is_said {
        // Init was killed, and with it the command.
        signals::end_like(None);
    }
    let [a, b, c, d, e, f, g, h] = said;
    let left_behind = u32::from_ne_bytes([e, f, g, h]);
    if left_behind > 0 {
        channel.left_behind(left_behind as usize);
    }
    signals::end_like(Some(ExitStatus::from_raw(i32::from_ne_bytes([a, b, c, d]))))
}

/// Waits for the command as init, and ends with it.
fn wait_inside(command: Pid, mut to_outside: File) -> ! {
    close_all_but(&to_outside);
    // The command's user is ours too: nothing of this process is for it to read.
    rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable).ok();
    let status = loop {
        match signals::next() {
            Ok(Awaited::Child) => {
                if let Some(status) = ended(command) {
                    break status;
                }
            }
            Ok(Awaited::Terminate) => {
                // The command leads a group; what left it is ended with us.
                rustix::process::kill_process_group(command, Signal::TERM).ok();
            }
            // Without signals nothing can be waited for: end, and everything with us.
            Err(_) => std::process::exit(1),
        }
    };
    let mut said = [0; 8];
    said[..4].copy_from_slice(&status.as_raw().to_ne_bytes());
    said[4..].copy_from_slice(&end_all().to_ne_bytes());
    // If nobody is there to hear it, everything is over anyway.
    to_outside.write_all(&said).ok();
    std::process::exit(0)
}

/// Closes whatever somebody forgot to: this process is replaced by no other, which would close it.
fn close_all_but(kept: &File) {
    let kept = kept.as_raw_fd().cast_unsigned();
    for (first, last) in [(3, kept.saturating_sub(1)), (kept.saturating_add(1), libc::c_uint::MAX)] {
        if first <= last {
            #[expect(unsafe_code, reason = "no crate of ours has this call")]
            // SAFETY: the call takes no memory of ours. Nothing in this process uses a descriptor from here on
            // but the one that is kept and the first three, and it ends without running destructors.
            unsafe {
                libc::syscall(libc::SYS_close_range, first, last, 0);
            }
        }
    }
}

/// Takes note of all deaths there are; the command's own status, if it is among them.
fn ended(command: Pid) -> Option<WaitStatus> {
    let mut status = None;
    while let Ok(Some((dead, how))) = rustix::process::wait(WaitOptions::NOHANG) {
        if dead == command {
            status = Some(how);
        }
    }
    status
}

/// Kills everything else in the namespace; how many it was.
fn end_all() -> u32 {
    #[expect(unsafe_code, reason = "no crate of ours signals all processes")]
    // SAFETY: the call takes no memory of ours. It reaches every process that this one can see except itself:
    // as the first process of a namespace, that is what the command left behind.
    let reached = unsafe { libc::kill(-1, libc::SIGKILL) };
    if reached != 0 {
        return 0;
    }
    let mut count = 0;
    loop {
        match rustix::process::wait(WaitOptions::empty()) {
            Ok(Some(_)) => count += 1,
            Err(rustix::io::Errno::INTR) => {}
            Ok(None) | Err(_) => return count,
        }
    }
}
