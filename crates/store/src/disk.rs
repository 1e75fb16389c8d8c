//! The operations that a journal needs of its file, so that tests can put a failing disk in its place.
//!
//! In: bytes and lengths. Out: the operating system's answers, uninterpreted. [`File`] is the real one.

use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;

use rustix::fs::{FallocateFlags, FlockOperation};

/// A file that is appended to, under a lock that ends with the process.
pub trait Disk: Send {
    /// Takes the file's lock if it is free, and says whether it was.
    ///
    /// # Errors
    ///
    /// If the file system has no locks.
    fn try_lock(&self) -> io::Result<bool>;

    /// Gives the lock back.
    ///
    /// # Errors
    ///
    /// If the file system has no locks.
    fn unlock(&self) -> io::Result<()>;

    /// Returns the present state of the file.
    ///
    /// # Errors
    ///
    /// If the file system doesn't say.
    fn status(&self) -> io::Result<FileStatus>;

    /// Writes at the end of the file; returns how many bytes it took, which may be fewer than given.
    ///
    /// # Errors
    ///
    /// If it took none.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize>;

    /// Cuts the file at `bytes`, and gives back what was reserved beyond.
    ///
    /// # Errors
    ///
    /// If it is as long as it was.
    fn truncate(&mut self, bytes: u64) -> io::Result<()>;

    /// Reserves room from `from` on without making the file longer.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::Unsupported`] if the file system can't; else that there is no room.
    fn reserve(&mut self, from: u64, bytes: u64) -> io::Result<()>;

    /// Returns when all that was written is on the disk.
    ///
    /// # Errors
    ///
    /// If it isn't: what reached the disk is then unknown, and asking again proves nothing.
    fn sync(&mut self) -> io::Result<()>;
}

/// The state of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileStatus {
    /// Its length.
    pub bytes: u64,
    /// True if it still has a name.
    pub linked: bool,
}

impl Disk for File {
    fn try_lock(&self) -> io::Result<bool> {
        match rustix::fs::flock(self, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(true),
            Err(rustix::io::Errno::WOULDBLOCK | rustix::io::Errno::INTR) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    fn unlock(&self) -> io::Result<()> {
        Ok(rustix::fs::flock(self, FlockOperation::Unlock)?)
    }

    fn status(&self) -> io::Result<FileStatus> {
        let metadata = self.metadata()?;
        Ok(FileStatus { bytes: metadata.len(), linked: metadata.nlink() > 0 })
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        io::Write::write(&mut &*self, bytes)
    }

    fn truncate(&mut self, bytes: u64) -> io::Result<()> {
        self.set_len(bytes)
    }

    fn reserve(&mut self, from: u64, bytes: u64) -> io::Result<()> {
        use rustix::io::Errno;

        loop {
            match rustix::fs::fallocate(&*self, FallocateFlags::KEEP_SIZE, from, bytes) {
                Ok(()) => return Ok(()),
                Err(Errno::INTR) => {}
                Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => {
                    return Err(io::ErrorKind::Unsupported.into());
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn sync(&mut self) -> io::Result<()> {
        self.sync_data()
    }
}
