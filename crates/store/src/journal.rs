//! A run's journal as a file: whoever holds the run's lease appends to it, one line per event.
//!
//! In: entries, and the time. Out: events that are recorded, or an error after which nothing was. Every
//! append takes the file's lock for a moment and checks that the lease is still the newest and the file
//! as this driver left it; what was written only in part is cut off again. Masks nothing and checks no
//! rule: an entry is written as it comes.
//!
//! Begin with [`FileJournal::create_next`] for a new run, [`FileJournal::take_over`] for one that exists.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use adjutant_core::id::{BriefId, RunId};
use adjutant_core::trace::{Entry, Event, wire};
use adjutant_ports::{AppendError, Durability, Holder, Journal};
use jiff::Timestamp;
use thiserror::Error;

use crate::artifacts::{Artifacts, sync_folder};
use crate::disk::Disk;
use crate::home::{Home, make_folder};
use crate::lease::{Heartbeat, Lease, LeaseError, Owner, Seal, Vacancy, open_for_append};
use crate::recover::{self, DamagedLine, Foreign, Loss, Reading, Tail, UnknownLine};
use crate::runs;

/// How many bytes are reserved beyond the end when something begins: room for a result of 64 KiB, every
/// byte of it escaped, and the lines around it.
pub const ROOM_BYTES_MIN: u64 = 128 * 1024;

/// How many bytes are reserved at once, so that most intents find their room already there.
pub const ROOM_BYTES_STEP: u64 = 1024 * 1024;

/// How often the lock is tried, a millisecond apart, before somebody is said to sit on it. An append
/// holds it for microseconds, a takeover as long as reading the journal takes.
const LOCK_TRIES: u32 = 2_000;

/// A journal that this process appends to.
#[derive(Debug)]
pub struct FileJournal<D = File> {
    disk: D,
    place: Place,
    lease: Lease,
    next_seq: u64,
    last_hash: Option<String>,
    bytes: u64,
    room: Room,
    condition: Condition,
}

/// Where a journal and what belongs to it lie.
#[derive(Debug, Clone)]
struct Place {
    path: PathBuf,
    artifacts: Artifacts,
    /// Whether the journal's name is on the disk.
    named: bool,
}

/// What is reserved for outcomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Room {
    /// Up to this length of the file.
    Until(u64),
    /// The file system can't reserve: a full disk is noticed when it is full.
    Unsupported,
}

/// Whether the journal may still be appended to.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Condition {
    Sound,
    /// A write ended in a way that leaves unknown what is on the disk.
    Spoiled {
        why: String,
    },
}

/// What a journal held when it was taken over.
#[derive(Debug, Clone, PartialEq)]
pub struct Recovered {
    /// Its events, in order.
    pub events: Vec<Event>,
    /// Lines of types that this version does not know.
    pub unknown: Vec<UnknownLine>,
    /// The damage that was accepted now: its line numbers belong into the `run_resume` event.
    pub damaged: Vec<DamagedLine>,
    /// The numbers of damaged lines that were accepted earlier.
    pub accepted_before: Vec<u64>,
    /// How many bytes of an unfinished last line were cut off.
    pub torn_bytes: u64,
    /// Where those bytes were put.
    pub torn_kept: Option<PathBuf>,
}

impl Recovered {
    /// The numbers of the lines whose damage was accepted now.
    #[must_use]
    pub fn accepted_damage(&self) -> Vec<u64> {
        self.damaged.iter().map(|damaged| damaged.line).collect()
    }
}

/// What to do about a damaged journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Damage {
    /// Don't go on.
    Refuse,
    /// Go on with what can be read: an operator has seen the damage and said so.
    Accept,
}

/// Why a run could not be begun.
#[derive(Debug, Error)]
pub enum CreateError {
    /// There is a run of that name, perhaps in other letters.
    #[error("there is a run `{run_id}` already")]
    Exists {
        /// The name that is taken.
        run_id: String,
    },
    /// No name is left for another run of the brief.
    #[error("there is no name left for another run of `{brief_id}`")]
    NoName {
        /// The brief.
        brief_id: BriefId,
    },
    /// Somebody drives a run of that name.
    #[error(transparent)]
    Lease(#[from] LeaseError),
    /// The file can't be made.
    #[error("can't make the journal `{path}`", path = path.display())]
    Unwritable {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// Why a run could not be taken over.
#[derive(Debug, Error)]
pub enum OpenError {
    /// There is no journal of that name.
    #[error("there is no run `{run_id}`")]
    NoSuchRun {
        /// The name.
        run_id: RunId,
    },
    /// Somebody drives it.
    #[error(transparent)]
    Lease(#[from] LeaseError),
    /// Somebody has held the journal's lock for longer than a write takes.
    #[error("the journal `{path}` is locked by a process that does not go on", path = path.display())]
    Busy {
        /// Which.
        path: PathBuf,
    },
    /// It is not what was written.
    #[error("the journal `{path}` is damaged: {first}{more}", path = path.display(), first = first_of(damaged), more = more_than_one(damaged))]
    Damaged {
        /// Which.
        path: PathBuf,
        /// Every line that is not what it should be.
        damaged: Vec<DamagedLine>,
    },
    /// It is not one of ours.
    #[error("can't go on with `{path}`", path = path.display())]
    Foreign {
        /// Which.
        path: PathBuf,
        /// Why.
        source: Foreign,
    },
    /// It can't be read, or what was torn can't be cut off.
    #[error("can't open the journal `{path}`", path = path.display())]
    Unusable {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl OpenError {
    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Damaged { .. } => Some("look at it with `adjutant trace`; `--accept-damage` goes on with what can be read".into()),
            Self::Lease(LeaseError::Held { holder, .. }) => Some(format!("wait for it, or end {holder}")),
            Self::Lease(LeaseError::Unusable { path, .. }) => {
                Some(format!("if nobody drives the run, delete `{}`", path.display()))
            }
            Self::Busy { .. } => Some("a stopped process may hold it: let it go on, or end it".into()),
            Self::NoSuchRun { .. } => Some("`adjutant list` shows all runs".into()),
            Self::Foreign { .. } | Self::Unusable { .. } => None,
        }
    }
}

fn first_of(damaged: &[DamagedLine]) -> String {
    damaged.first().map(ToString::to_string).unwrap_or_default()
}

fn more_than_one(damaged: &[DamagedLine]) -> String {
    match damaged.len() {
        0 | 1 => String::new(),
        lines => format!(" (and {} more)", lines - 1),
    }
}

impl FileJournal {
    /// Begins a run under the next free name for `brief_id`: the brief's own, then with `-r2`, `-r3`. The
    /// journal is empty: its header is the first entry to append.
    ///
    /// # Errors
    ///
    /// [`CreateError`]; another process that begins a run of the same brief at the same time is none.
    pub fn create_next(home: &Home, brief_id: &BriefId, owner: &Owner, now: Timestamp) -> Result<(RunId, Self), CreateError> {
        loop {
            let run_id = runs::next_run_id(home, brief_id)
                .map_err(|source| CreateError::Unwritable { path: home.sessions().to_owned(), source })?
                .ok_or_else(|| CreateError::NoName { brief_id: brief_id.clone() })?;
            match Self::create(home, &run_id, owner, now) {
                Ok(journal) => return Ok((run_id, journal)),
                Err(CreateError::Exists { .. }) => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Begins the run `run_id`. The journal is empty: its header is the first entry to append.
    ///
    /// # Errors
    ///
    /// [`CreateError::Exists`] if there is a run or a session of the peer of that name, in whatever case.
    pub fn create(home: &Home, run_id: &RunId, owner: &Owner, now: Timestamp) -> Result<Self, CreateError> {
        let path = home.journal(run_id);
        let unwritable = |source| CreateError::Unwritable { path: path.clone(), source };
        make_folder(home.sessions()).map_err(unwritable)?;
        // Names that differ only in case are different files: the folder's lock makes looking and making one act.
        let folder = File::open(home.sessions()).map_err(unwritable)?;
        lock(&folder).map_err(unwritable)?;
        if let Some(taken) = runs::taken_name(home, run_id).map_err(unwritable)? {
            return Err(CreateError::Exists { run_id: taken });
        }
        let lease_path = home.lease(run_id);
        drop(Vacancy::look(&lease_path, owner, now)?);
        let disk = match open_for_append(&path, true) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                return Err(CreateError::Exists { run_id: run_id.to_string() });
            }
            Err(source) => return Err(unwritable(source)),
        };
        lock(&disk).map_err(unwritable)?;
        // Between the two somebody may have taken over the empty journal.
        let lease = Vacancy::look(&lease_path, owner, now)?.take(owner, now, None)?;
        Disk::unlock(&disk).map_err(unwritable)?;
        let place = Place { path: path.clone(), artifacts: Artifacts::new(home.artifacts()), named: false };
        Ok(Self {
            disk,
            place,
            lease,
            next_seq: 0,
            last_hash: None,
            bytes: 0,
            room: Room::Until(0),
            condition: Condition::Sound,
        })
    }

    /// Takes over the run `run_id` where its journal stands, if nobody drives it. An unfinished last line
    /// is cut off and kept beside the journal.
    ///
    /// # Errors
    ///
    /// [`OpenError`]; the journal is then as it was.
    pub fn take_over(
        home: &Home,
        run_id: &RunId,
        owner: &Owner,
        now: Timestamp,
        damage: Damage,
    ) -> Result<(Self, Recovered), OpenError> {
        let path = home.journal(run_id);
        let unusable = |source| OpenError::Unusable { path: path.clone(), source };
        let mut disk = match open_for_append(&path, false) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(OpenError::NoSuchRun { run_id: run_id.clone() });
            }
            Err(source) => return Err(unusable(source)),
        };
        match lock(&disk) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::TimedOut => return Err(OpenError::Busy { path }),
            Err(source) => return Err(unusable(source)),
        }
        let vacancy = Vacancy::look(&home.lease(run_id), owner, now)?;
        let loss = if vacancy.same_boot { Loss::CantBe } else { Loss::MayBe };
        let bytes = fs::read(&path).map_err(unusable)?;
        let reading = recover::read(&bytes, vacancy.seal.as_ref(), loss)
            .map_err(|source| OpenError::Foreign { path: path.clone(), source })?;
        if damage == Damage::Refuse && !reading.damaged.is_empty() {
            return Err(OpenError::Damaged { path, damaged: reading.damaged });
        }
        // Until the acceptance is on record the old seal stands, so that a kill in between hides no damage.
        let seal = if reading.damaged.is_empty() { seal_of(&reading) } else { vacancy.seal.clone() };
        let lease = vacancy.take(owner, now, seal.as_ref())?;
        let rest = usize::try_from(reading.whole_bytes).ok().and_then(|whole| bytes.get(whole..)).unwrap_or_default();
        let torn_kept = mend(&mut disk, &path, &reading, rest).map_err(unusable)?;
        Disk::unlock(&disk).map_err(unusable)?;

        let whole = reading.whole_bytes + u64::from(reading.tail == Tail::Unterminated);
        let place = Place { path: path.clone(), artifacts: Artifacts::new(home.artifacts()), named: false };
        let journal = Self {
            disk,
            place,
            lease,
            next_seq: reading.next_seq,
            last_hash: reading.last_hash,
            bytes: whole,
            room: Room::Until(whole),
            condition: Condition::Sound,
        };
        let torn_bytes = if let Tail::Torn { bytes } = reading.tail { bytes } else { 0 };
        let Reading { events, unknown, damaged, accepted_before, .. } = reading;
        Ok((journal, Recovered { events, unknown, damaged, accepted_before, torn_bytes, torn_kept }))
    }
}

/// What the run `run_id` holds, without a right to it: for whoever only looks. An unfinished last line is
/// told in the reading's tail and left where it is.
///
/// # Errors
///
/// [`OpenError`] if it is not there, can't be read, or is not one of ours.
pub fn read_only(home: &Home, run_id: &RunId) -> Result<Reading, OpenError> {
    let path = home.journal(run_id);
    let bytes = match fs::read(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(OpenError::NoSuchRun { run_id: run_id.clone() });
        }
        Err(source) => return Err(OpenError::Unusable { path, source }),
    };
    // A driver may be at work: the lease's seal would be of another moment than the bytes.
    recover::read(&bytes, None, Loss::MayBe).map_err(|source| OpenError::Foreign { path, source })
}

fn seal_of(reading: &Reading) -> Option<Seal> {
    let hash = reading.last_hash.clone()?;
    Some(Seal { seq: reading.next_seq.checked_sub(1)?, hash })
}

/// Makes the journal end with a whole line; returns where the torn bytes were put.
fn mend(disk: &mut File, path: &Path, reading: &Reading, rest: &[u8]) -> io::Result<Option<PathBuf>> {
    match reading.tail {
        Tail::Clean => Ok(None),
        Tail::Unterminated => io::Write::write_all(disk, b"\n").map(|()| None),
        Tail::Torn { .. } => {
            let kept = keep_torn(path, reading.next_seq, rest)?;
            disk.set_len(reading.whole_bytes)?;
            Ok(Some(kept))
        }
    }
}

/// Puts `rest` beside the journal, under a name that was not used before.
fn keep_torn(path: &Path, seq: u64, rest: &[u8]) -> io::Result<PathBuf> {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let run_id = name.strip_suffix(crate::home::JOURNAL_ENDING).unwrap_or(name);
    let mut kept = path.with_file_name(format!("{run_id}.torn-{seq}"));
    for another in 2u32.. {
        match open_for_append(&kept, true) {
            Ok(mut file) => {
                file.write_all(rest)?;
                break;
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                kept = path.with_file_name(format!("{run_id}.torn-{seq}.{another}"));
            }
            Err(error) => return Err(error),
        }
    }
    Ok(kept)
}

/// Takes the lock of `disk`, waiting for whoever has it to finish a write.
///
/// # Errors
///
/// [`io::ErrorKind::TimedOut`] if they don't.
fn lock(disk: &impl Disk) -> io::Result<()> {
    for attempt in 0..LOCK_TRIES {
        if disk.try_lock()? {
            return Ok(());
        }
        // Most waits are over within microseconds.
        if attempt < 20 { thread::yield_now() } else { thread::sleep(Duration::from_millis(1)) }
    }
    Err(io::Error::new(io::ErrorKind::TimedOut, "its lock is held by a process that does not go on"))
}

/// What an append found wrong, before it is told with the journal's name.
enum Fault {
    Fenced(Option<Holder>),
    Changed,
    Io(io::Error),
}

impl From<io::Error> for Fault {
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

    /// What keeps the lease alive while the driver is busy; an append renews it too.
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

    fn append_locked(&mut self, line: &[u8], is_intent: bool, at: Timestamp, durability: Durability) -> Result<(), Fault> {
        if !self.lease.is_newest()? {
            return Err(Fault::Fenced(self.lease.successor()));
        }
        let status = self.disk.status()?;
        if status.bytes != self.bytes || !status.linked {
            return Err(Fault::Changed);
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
        let named = if self.place.named { Ok(()) } else { sync_folder(self.place.path.parent().unwrap_or(Path::new("."))) };
        if let Err(error) = named.and_then(|()| self.disk.sync()) {
            self.undo("");
            self.condition = Condition::Spoiled { why: format!("what was written could not be flushed ({error})") };
            return Err(error);
        }
        self.place.named = true;
        Ok(())
    }

    fn undo(&mut self, why: &str) {
        if self.disk.truncate(self.bytes).is_err() {
            self.condition = Condition::Spoiled { why: why.to_owned() };
        }
        if let Room::Until(until) = &mut self.room {
            *until = self.bytes;
        }
    }

    /// Makes sure that there is room beyond `after`, the length that the file is about to have.
    fn make_room(&mut self, after: u64) -> io::Result<()> {
        let Room::Until(until) = self.room else { return Ok(()) };
        if until >= after + ROOM_BYTES_MIN {
            return Ok(());
        }
        let reserved = self.reserve(after + ROOM_BYTES_STEP).or_else(|error| match error.kind() {
            io::ErrorKind::Unsupported => Err(error),
            // A disk that is nearly full may still have what is needed.
            _ => self.reserve(after + ROOM_BYTES_MIN),
        });
        match reserved {
            Ok(until) => self.room = Room::Until(until),
            Err(error) if error.kind() == io::ErrorKind::Unsupported => self.room = Room::Unsupported,
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

    fn told(&self, fault: Fault) -> AppendError {
        match fault {
            Fault::Fenced(Some(holder)) => AppendError::Fenced { holder },
            Fault::Fenced(None) => self.unwritable(io::Error::new(io::ErrorKind::NotFound, "the run's lease was removed")),
            Fault::Changed => AppendError::Changed { path: self.place.path.display().to_string() },
            Fault::Io(source) => self.unwritable(source),
        }
    }
}

impl<D: Disk> Journal for FileJournal<D> {
    fn append(&mut self, entry: Entry, at: Timestamp, durability: Durability) -> Result<Event, AppendError> {
        if let Condition::Spoiled { why } = &self.condition {
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
            self.lease.set_seal(&Seal { seq: event.seq, hash: hash.clone() }).ok();
        }
        let unlocked = self.disk.unlock();
        appended.map_err(|fault| self.told(fault))?;
        self.bytes += line.len() as u64;
        self.next_seq += 1;
        self.last_hash = Some(hash);
        if let Err(error) = unlocked {
            self.condition = Condition::Spoiled { why: format!("its lock could not be given back ({error})") };
        }
        Ok(event)
    }

    fn keep_alive(&mut self, at: Timestamp) -> Result<(), AppendError> {
        if !self.lease.is_newest().unwrap_or(false)
            && let Some(holder) = self.lease.successor()
        {
            return Err(AppendError::Fenced { holder });
        }
        // A lease that can't be renewed now is tried again long before it expires.
        self.lease.renew_if_due(at).ok();
        Ok(())
    }

    fn keep(&mut self, content: &[u8]) -> Result<String, AppendError> {
        self.place.artifacts.keep(content).map_err(|error| self.unwritable(error))
    }

    fn kept(&self, hash: &str) -> Option<Vec<u8>> {
        self.place.artifacts.kept(hash)
    }
}

#[cfg(test)]
#[path = "journal_tests.rs"]
mod tests;
