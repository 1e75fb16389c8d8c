//! Gives a driver its journal: begins a new run, or takes over one that exists.
//!
//! In: a home, a name, the asking process, the time. Out: a [`FileJournal`] and the events it already holds, or an
//! error with a hint at what to do about it. Changes a journal only to make it end with a whole line.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use adjutant_core::trace::Event;
use adjutant_core::words::id::{BriefId, RunId};
use jiff::Timestamp;
use thiserror::Error;

use super::{FileJournal, JournalHealth, JournalPaths, ReservedRoom, lock};
use crate::artifacts::Artifacts;
use crate::disk::Disk;
use crate::home::{Home, make_folder};
use crate::lease::{LeaseError, Owner, Seal, Vacancy};
use crate::plain_file::{self, open_for_append};
use crate::recover::{self, DamagedLine, Foreign, JournalEnd, JournalReadError, JournalReading, Loss, UnknownLine};
use crate::runs::{self, unbegun};
use crate::shared;

impl FileJournal {
    /// Begins a run under the next free name for `brief_id`: the brief's own, then with `-r2`, `-r3`. The
    /// journal is empty: its header is the first entry to append.
    ///
    /// # Errors
    ///
    /// [`CreateError`]; another process that begins a run of the same brief at the same time is none.
    pub fn create_next(
        home: &Home,
        brief_id: &BriefId,
        owner: &Owner,
        now: Timestamp,
    ) -> Result<(RunId, Self), CreateError> {
        loop {
            let run_id = runs::next_run_id(home, brief_id, owner, now)
                .map_err(|source| CreateError::Unwritable { path: home.sessions().to_owned(), source })?
                .ok_or_else(|| CreateError::NoName { brief_id: brief_id.clone() })?;
            match Self::create(home, &run_id, owner, now) {
                Ok(journal) => return Ok((run_id, journal)),
                Err(CreateError::Exists { .. }) => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Begins the run `run_id`. The journal is empty: its header is the first entry to append. One that was left by
    /// somebody who was killed before that is used again.
    ///
    /// # Errors
    ///
    /// [`CreateError::Exists`] if there is a run or a session of the peer of that name, in whatever case.
    pub fn create(home: &Home, run_id: &RunId, owner: &Owner, now: Timestamp) -> Result<Self, CreateError> {
        let path = home.journal(run_id);
        let unwritable = |source| CreateError::Unwritable { path: path.clone(), source };
        // Names that differ only in case are different files, and a name is one run's in the whole home: the lock of the
        // home's own folder makes looking and making one act, wherever the journal lies.
        make_folder(&home.own_sessions()).map_err(unwritable)?;
        make_folder(home.sessions()).map_err(unwritable)?;
        let folder = File::open(home.own_sessions()).map_err(unwritable)?;
        lock(&folder).map_err(unwritable)?;
        if let Some(taken) = runs::taken_name(home, run_id, owner, now).map_err(unwritable)? {
            return Err(CreateError::Exists { run_id: taken });
        }
        shared::claim(home, run_id).map_err(|source| CreateError::Unwritable { path: home.elsewhere(), source })?;
        let lease_path = home.lease(run_id);
        drop(Vacancy::look(&lease_path, owner, now)?);
        let disk = match open_for_append(&path, true) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                open_for_append(&path, false).map_err(unwritable)?
            }
            Err(source) => return Err(unwritable(source)),
        };
        lock(&disk).map_err(unwritable)?;
        // Whoever has begun it since is not gone.
        if !unbegun::holds_nothing(&disk) {
            return Err(CreateError::Exists { run_id: run_id.to_string() });
        }
        // Between the two somebody may have taken over the empty journal.
        let lease = Vacancy::look(&lease_path, owner, now)?.take(owner, now, None)?;
        disk.set_len(0).map_err(unwritable)?;
        Disk::unlock(&disk).map_err(unwritable)?;
        let place = JournalPaths { path: path.clone(), artifacts: Artifacts::new(home.artifacts()), named: false };
        Ok(Self {
            disk,
            place,
            lease,
            next_seq: 0,
            last_hash: None,
            bytes: 0,
            room: ReservedRoom::Until(0),
            condition: JournalHealth::Sound,
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
        let mut events = Vec::new();
        let (journal, recovered) = Self::take_over_each(home, run_id, owner, now, damage, |event| events.push(event))?;
        Ok((journal, Recovered { events, ..recovered }))
    }

    /// The same, with each event handed to `each` as it is read, so that none is kept: there are none in what is returned.
    /// They may be those of a journal that is then refused.
    ///
    /// # Errors
    ///
    /// As [`FileJournal::take_over`].
    pub fn take_over_each(
        home: &Home,
        run_id: &RunId,
        owner: &Owner,
        now: Timestamp,
        damage: Damage,
        mut each: impl FnMut(Event),
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
        // Whoever pruned the run meanwhile held the lock until its files were gone.
        if !disk.status().map_err(unusable)?.linked {
            return Err(OpenError::NoSuchRun { run_id: run_id.clone() });
        }
        let vacancy = Vacancy::look(&home.lease(run_id), owner, now)?;
        shared::claim(home, run_id).map_err(unusable)?;
        let loss = if vacancy.same_boot { Loss::CantBe } else { Loss::MayBe };
        let mut file = plain_file::open(&path).map_err(unusable)?;
        let reading = recover::read_each(&file, vacancy.seal.as_ref(), loss, |_, event| each(event));
        let reading = reading.map_err(|error| OpenError::unread(&path, error))?;
        if damage == Damage::Refuse && !reading.damaged.is_empty() {
            return Err(OpenError::Damaged { path, damaged: reading.damaged });
        }
        // Until the acceptance is on record the old seal stands, so that a kill in between hides no damage.
        let seal = if reading.damaged.is_empty() { seal_of(&reading) } else { vacancy.seal.clone() };
        let lease = vacancy.take(owner, now, seal.as_ref())?;
        let torn_kept = mend(&mut disk, &path, &reading, &mut file).map_err(unusable)?;
        Disk::unlock(&disk).map_err(unusable)?;

        let whole = reading.whole_bytes + u64::from(reading.tail == JournalEnd::Unterminated);
        let place = JournalPaths { path: path.clone(), artifacts: Artifacts::new(home.artifacts()), named: false };
        let journal = Self {
            disk,
            place,
            lease,
            next_seq: reading.next_seq,
            last_hash: reading.last_hash,
            bytes: whole,
            room: ReservedRoom::Until(whole),
            condition: JournalHealth::Sound,
        };
        let torn_bytes = if let JournalEnd::Torn { bytes } = reading.tail { bytes } else { 0 };
        let JournalReading { unknown, damaged, accepted_before, .. } = reading;
        Ok((journal, Recovered { events: Vec::new(), unknown, damaged, accepted_before, torn_bytes, torn_kept }))
    }
}

/// Reads the journal of `run_id` without taking the run over. An unfinished last line is reported in the reading's tail
/// and left in place.
///
/// # Errors
///
/// [`OpenError`] if it is not there, can't be read, or is not one of ours.
pub fn read_only(home: &Home, run_id: &RunId) -> Result<JournalReading, OpenError> {
    let path = home.journal(run_id);
    let file = match plain_file::open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(OpenError::NoSuchRun { run_id: run_id.clone() });
        }
        Err(source) => return Err(OpenError::Unusable { path, source }),
    };
    // A driver may be at work: the lease's seal would be of another moment than the bytes.
    recover::read_file(&file, None, Loss::MayBe).map_err(|error| OpenError::unread(&path, error))
}

fn seal_of(reading: &JournalReading) -> Option<Seal> {
    let hash = reading.last_hash.clone()?;
    Some(Seal { seq: reading.next_seq.checked_sub(1)?, hash, is_final: false })
}

/// Makes the journal end with a whole line; returns where the torn bytes were put. They are read again
/// from `file`, the journal as it was read.
fn mend(disk: &mut File, path: &Path, reading: &JournalReading, file: &mut File) -> io::Result<Option<PathBuf>> {
    match reading.tail {
        JournalEnd::Clean => Ok(None),
        JournalEnd::Unterminated => io::Write::write_all(disk, b"\n").map(|()| None),
        JournalEnd::Torn { bytes } => {
            file.seek(SeekFrom::Start(reading.whole_bytes))?;
            let kept = keep_torn(path, reading.next_seq, &mut file.take(bytes))?;
            disk.set_len(reading.whole_bytes)?;
            Ok(Some(kept))
        }
    }
}

/// Puts `rest` beside the journal, under a name that was not used before.
fn keep_torn(path: &Path, seq: u64, rest: &mut impl io::Read) -> io::Result<PathBuf> {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let run_id = name.strip_suffix(crate::home::JOURNAL_ENDING).unwrap_or(name);
    let mut kept = path.with_file_name(format!("{run_id}.torn-{seq}"));
    for another in 2u32.. {
        match open_for_append(&kept, true) {
            Ok(mut file) => {
                io::copy(rest, &mut file)?;
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

/// The content of a journal when it was taken over.
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
    /// Number of bytes of an unfinished last line that were cut off.
    pub torn_bytes: u64,
    /// The file that those bytes were put into.
    pub torn_kept: Option<PathBuf>,
}

impl Recovered {
    /// The numbers of the lines whose damage was accepted now.
    #[must_use]
    pub fn accepted_damage(&self) -> Vec<u64> {
        self.damaged.iter().map(|damaged| damaged.line).collect()
    }
}

/// The rule for a damaged journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Damage {
    /// Don't go on.
    Refuse,
    /// Go on with what can be read: an operator has seen the damage and said so.
    Accept,
}

/// Reason why a run could not be begun.
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
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

/// Reason why a run could not be taken over.
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
        /// The file.
        path: PathBuf,
    },
    /// It is not what was written.
    #[error("the journal `{path}` is damaged: {first}{more}", path = path.display(), first = first_of(damaged), more = more_than_one(damaged))]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Every line that is not what it should be.
        damaged: Vec<DamagedLine>,
    },
    /// It is not one of ours.
    #[error("can't go on with `{path}`", path = path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: Foreign,
    },
    /// It can't be read, or what was torn can't be cut off.
    #[error("can't open the journal `{path}`", path = path.display())]
    Unusable {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

impl OpenError {
    /// Returns the error for a journal of `run_id` that could not be opened.
    pub(crate) fn unopened(run_id: &RunId, path: &Path, error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::NotFound {
            return Self::NoSuchRun { run_id: run_id.clone() };
        }
        Self::Unusable { path: path.to_owned(), source: error }
    }

    pub(crate) fn unread(path: &Path, error: JournalReadError) -> Self {
        let path = path.to_owned();
        match error {
            JournalReadError::Foreign(source) => Self::Foreign { path, source },
            JournalReadError::Unreadable(source) => Self::Unusable { path, source },
        }
    }

    /// Returns a hint at what to do about it.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Damaged { .. } => Some(
                "`adjutant trace verify RUN` says what is wrong; `--accept-damage` goes on with what can be read"
                    .into(),
            ),
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
