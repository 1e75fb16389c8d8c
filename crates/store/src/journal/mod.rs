//! A run's journal as a file: whoever holds the run's lease appends to it, one line per event.
//!
//! In: entries, and the time. Out: events that are recorded, or an error after which nothing was. Every
//! append takes the file's lock for a moment and checks that the lease is still the newest and the file
//! as this driver left it; what was written only in part is cut off again. Masks nothing and checks no
//! rule: an entry is written as it comes.
//!
//! Begin with [`FileJournal::create_next`] for a new run, [`FileJournal::take_over`] for one that exists: both
//! are in `open.rs`.

mod open;

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use adjutant_core::trace::{Entry, Event, wire};
use adjutant_ports::{AppendError, Durability, Holder, Journal};
use jiff::Timestamp;
pub use open::{CreateError, Damage, OpenError, Recovered, read_only};

use crate::artifacts::{Artifacts, sync_folder};
use crate::disk::Disk;
use crate::lease::{Heartbeat, Lease, Seal};

/// Number of bytes reserved beyond the end when something begins: room for a result of 64 KiB, every byte of it
/// escaped, and the lines around it.
pub const ROOM_BYTES_MIN: u64 = 128 * 1024;

/// Number of bytes reserved at once, so that most intents find their room already there.
pub const ROOM_BYTES_STEP: u64 = 1024 * 1024;

/// Number of tries for the lock, a millisecond apart, before its holder counts as stuck. An append holds it for
/// microseconds, a takeover as long as reading the journal takes.
const LOCK_TRIES: u32 = 2_000;

/// A journal that this process appends to.
#[derive(Debug)]
pub struct FileJournal<D = File> {
    disk: D,
    place: JournalPaths,
    lease: Lease,
    next_seq: u64,
    last_hash: Option<String>,
    bytes: u64,
    room: ReservedRoom,
    condition: JournalHealth,
}

/// The paths of a journal and of its contents.
#[derive(Debug, Clone)]
struct JournalPaths {
    path: PathBuf,
    artifacts: Artifacts,
    /// True if the journal's name is on the disk.
    named: bool,
}

/// The space that is reserved for outcomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReservedRoom {
    /// Up to this length of the file.
    Until(u64),
    /// The file system can't reserve: a full disk is noticed when it is full.
    Unsupported,
}

/// The state of a journal: it may be appended to or not.
#[derive(Debug, Clone, PartialEq, Eq)]
enum JournalHealth {
    Sound,
    /// A write ended in a way that leaves unknown what is on the disk.
    Spoiled {
        why: String,
    },
}

/// Takes the lock of `disk`, waiting for whoever has it to finish a write.
///
/// # Errors
///
/// [`io::ErrorKind::TimedOut`] if they don't.
pub(crate) fn lock(disk: &impl Disk) -> io::Result<()> {
    for attempt in 0..LOCK_TRIES {
        if disk.try_lock()? {
            return Ok(());
        }
        // Most waits are over within microseconds.
        if attempt < 20 { thread::yield_now() } else { thread::sleep(Duration::from_millis(1)) }
    }
    Err(io::Error::new(io::ErrorKind::TimedOut, "its lock is held by a process that does not go on"))
}

/// The fault that an append found, before the journal's name is added to it.
enum AppendFault {
    Fenced(Option<Holder>),
    Changed,
    Io(io::Error),
}

impl From<io::Error> for AppendFault {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl<D: Disk> FileJournal<D> {
    /// The same journal on a disk made of this one: how tests put a failing disk under it.
    pub fn on<E: Disk>(self, disk: impl FnOnce(D) -> E) -> FileJournal<E> {
        let Self { disk: old, place, lease, next_seq, last_hash, bytes, room, condition } = self;
        FileJournal { disk: disk(old), place, lease, next_seq, last_hash, bytes, room, condition }
    }

    /// The journal's file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.place.path
    }

    /// The lease under which it is written.
    pub fn lease(&self) -> &Lease {
        &self.lease
    }

    /// Returns a handle that keeps the lease alive while the driver is busy. An append renews the lease too.
    ///
    /// # Errors
    ///
    /// If the process has too many files open.
    pub fn heartbeat(&self) -> io::Result<Heartbeat> {
        self.lease.heartbeat()
    }

    /// The number that the next event will have.
    #[must_use]
    pub fn next_seq(&self) -> u64 {
        self.next_seq
    }

    /// Gives back the room that was reserved, and the lease. To be called at the end or when a run is
    /// parked; a journal that is merely dropped gives back only the lease.
    ///
    /// # Errors
    ///
    /// If the room can't be given back: it then stays taken until the run is taken over and closed.
    pub fn close(mut self) -> io::Result<()> {
        lock(&self.disk)?;
        let is_ours = self.lease.is_newest()? && self.disk.status()?.bytes == self.bytes;
        let done = if is_ours { self.disk.truncate(self.bytes) } else { Ok(()) };
        done.and(self.disk.unlock())
    }

    fn append_locked(
        &mut self,
        line: &[u8],
        is_intent: bool,
        at: Timestamp,
        durability: Durability,
    ) -> Result<(), AppendFault> {
        if !self.lease.is_newest()? {
            return Err(AppendFault::Fenced(self.lease.successor()));
        }
        let status = self.disk.status()?;
        if status.bytes != self.bytes || !status.linked {
            return Err(AppendFault::Changed);
        }
        let after = self.bytes + line.len() as u64;
        if is_intent {
            self.make_room(after)?;
        }
        self.write_whole(line)?;
        if durability == Durability::Synced {
            self.sync()?;
        }
        // The lease says the same a little later: an append that succeeded is not undone for it.
        self.lease.renew_if_due(at).ok();
        Ok(())
    }

    /// Writes `line`, or leaves the file as it was.
    fn write_whole(&mut self, line: &[u8]) -> io::Result<()> {
        let mut rest = line;
        while !rest.is_empty() {
            // One call takes a whole line; a second is made only to learn why the first did not.
            let error = match self.disk.write(rest) {
                Ok(0) => io::ErrorKind::WriteZero.into(),
                Ok(written) => {
                    rest = rest.get(written..).unwrap_or_default();
                    continue;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => error,
            };
            if rest.len() < line.len() {
                self.undo("a line was written in part and could not be cut off again");
            }
            return Err(error);
        }
        Ok(())
    }

    /// Flushes. After a failure nobody knows what is on the disk, and a second flush that succeeds would
    /// prove nothing: the kernel tells of lost pages once.
    fn sync(&mut self) -> io::Result<()> {
        let named =
            if self.place.named { Ok(()) } else { sync_folder(self.place.path.parent().unwrap_or(Path::new("."))) };
        if let Err(error) = named.and_then(|()| self.disk.sync()) {
            self.undo("");
            self.condition = JournalHealth::Spoiled { why: format!("what was written could not be flushed ({error})") };
            return Err(error);
        }
        self.place.named = true;
        Ok(())
    }

    fn undo(&mut self, why: &str) {
        if self.disk.truncate(self.bytes).is_err() {
            self.condition = JournalHealth::Spoiled { why: why.to_owned() };
        }
        if let ReservedRoom::Until(until) = &mut self.room {
            *until = self.bytes;
        }
    }

    /// Makes sure that there is room beyond `after`, the length that the file is about to have.
    fn make_room(&mut self, after: u64) -> io::Result<()> {
        let ReservedRoom::Until(until) = self.room else { return Ok(()) };
        if until >= after + ROOM_BYTES_MIN {
            return Ok(());
        }
        let reserved = self.reserve(after + ROOM_BYTES_STEP).or_else(|error| match error.kind() {
            io::ErrorKind::Unsupported => Err(error),
            // A disk that is nearly full may still have what is needed.
            _ => self.reserve(after + ROOM_BYTES_MIN),
        });
        match reserved {
            Ok(until) => self.room = ReservedRoom::Until(until),
            Err(error) if error.kind() == io::ErrorKind::Unsupported => self.room = ReservedRoom::Unsupported,
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn reserve(&mut self, until: u64) -> io::Result<u64> {
        self.disk.reserve(self.bytes, until - self.bytes).map(|()| until)
    }

    fn unwritable(&self, source: io::Error) -> AppendError {
        AppendError::Unwritable { path: self.place.path.display().to_string(), source }
    }

    fn told(&self, fault: AppendFault) -> AppendError {
        match fault {
            AppendFault::Fenced(Some(holder)) => AppendError::Fenced { holder },
            AppendFault::Fenced(None) => {
                self.unwritable(io::Error::new(io::ErrorKind::NotFound, "the run's lease was removed"))
            }
            AppendFault::Changed => AppendError::Changed { path: self.place.path.display().to_string() },
            AppendFault::Io(source) => self.unwritable(source),
        }
    }
}

impl<D: Disk> Journal for FileJournal<D> {
    fn append(&mut self, entry: Entry, at: Timestamp, durability: Durability) -> Result<Event, AppendError> {
        if let JournalHealth::Spoiled { why } = &self.condition {
            return Err(self.unwritable(io::Error::other(why.clone())));
        }
        // What is returned is what will be read back: to the millisecond.
        let at = Timestamp::from_millisecond(at.as_millisecond()).unwrap_or(at);
        let event = entry.at(self.next_seq, at);
        let mut line = wire::encode(&event, self.last_hash.as_deref()).into_bytes();
        let hash = wire::line_hash(&line);
        line.push(b'\n');

        lock(&self.disk).map_err(|error| self.unwritable(error))?;
        let is_intent = event.body.intent().is_some();
        let appended = self.append_locked(&line, is_intent, at, durability);
        if appended.is_ok() {
            // If it can't be written the seal is behind, which is no damage.
            self.lease.set_seal(&Seal { seq: event.seq, hash: hash.clone(), is_final: false }).ok();
        }
        let unlocked = self.disk.unlock();
        appended.map_err(|fault| self.told(fault))?;
        self.bytes += line.len() as u64;
        self.next_seq += 1;
        self.last_hash = Some(hash);
        if let Err(error) = unlocked {
            self.condition = JournalHealth::Spoiled { why: format!("its lock could not be given back ({error})") };
        }
        Ok(event)
    }

    fn keep_alive(&mut self, at: Timestamp) -> Result<(), AppendError> {
        match self.lease.is_newest() {
            Ok(true) => self.lease.renew_if_due(at).map_err(|error| self.unwritable(error)),
            Ok(false) => Err(self.told(AppendFault::Fenced(self.lease.successor()))),
            Err(error) => Err(self.unwritable(error)),
        }
    }

    fn keep(&mut self, content: &[u8]) -> Result<String, AppendError> {
        self.place.artifacts.keep(content).map_err(|error| self.unwritable(error))
    }

    fn kept(&self, hash: &str) -> Option<Vec<u8>> {
        self.place.artifacts.kept(hash)
    }
}

#[cfg(test)]
#[path = "../journal_tests.rs"]
mod tests;
