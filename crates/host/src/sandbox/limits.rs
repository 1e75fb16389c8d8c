//! Limits a command's use of the machine, as limits of the process.

use std::io;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::policy::Limits;

/// Sets the limits that hold for a process alone.
pub(super) fn set(limits: &Limits) -> io::Result<()> {
    limit(Resource::Core, 0)?;
    limit(Resource::Fsize, limits.file_bytes)?;
    limit(Resource::Nofile, limits.descriptors)?;
    if let Some(bytes) = limits.memory_bytes {
        limit(Resource::Data, bytes)?;
    }
    Ok(())
}

/// Sets the limit of processes. It counts those of a user in a user namespace, so it needs one of its own:
/// otherwise it would count what the user runs elsewhere.
pub(super) fn set_processes(limits: &Limits) -> io::Result<()> {
    limit(Resource::Nproc, limits.processes)
}

fn limit(resource: Resource, most: u64) -> io::Result<()> {
    let most = getrlimit(resource).maximum.map_or(most, |own| own.min(most));
    setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) })?;
    Ok(())
}
