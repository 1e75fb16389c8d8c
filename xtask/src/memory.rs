//! A file system in memory for the tests' temporary files.
//!
//! Tests make and remove some hundred thousand small files. Where these lie on a disk, a quarter of the time of the
//! tests that start the program is the file system's search for free inodes.

use std::env;

use rustix::fs::{StatVfsMountFlags, statfs, statvfs};

/// The folder in memory that everybody may write to on Linux.
const FOLDER: &str = "/dev/shm";
/// The free space that is needed, in bytes: many times what tests hold at once. Containers often have far less.
const FREE_BYTES_MIN: u64 = 4 << 30;
/// The kernel's number for a file system in memory.
const TMPFS: u64 = 0x0102_1994;

/// The folder in memory, if there is one with room and with leave to run programs; `None` also where the caller has
/// chosen a folder for temporary files.
pub fn for_temporary_files() -> Option<&'static str> {
    if env::var_os("TMPDIR").is_some() || u64::try_from(statfs(FOLDER).ok()?.f_type) != Ok(TMPFS) {
        return None;
    }
    let found = statvfs(FOLDER).ok()?;
    let free_bytes = found.f_bavail.saturating_mul(found.f_frsize);
    // The fakes of the tests are programs.
    let runs_programs = !found.f_flag.contains(StatVfsMountFlags::NOEXEC);
    (free_bytes >= FREE_BYTES_MIN && runs_programs).then_some(FOLDER)
}
