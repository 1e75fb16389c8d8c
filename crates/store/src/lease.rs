//! The right to drive a run: a small file that says who has it, until when, and how far they wrote.
//!
//! In: who asks, and the time. Out: a [`Lease`], or who holds the run. A lease that is taken over is a
//! *new file* under the old name; whoever held the old one finds that the name no longer leads to its
//! file and is fenced off, however long it was asleep. What its holder changes (the expiry, the seal) it
//! changes in place, over the same bytes.
//!
//! Taking a lease must happen under the journal's lock, which [`crate::FileJournal`] holds; renewing and
//! letting go need none. Begin with [`Vacancy::look`].

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::fs::{FileExt as _, MetadataExt};
use std::path::{Path, PathBuf};

use adjutant_core::trace::wire;
use adjutant_ports::Holder;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::plain_file;

/// Lifetime of a lease without renewal, in seconds: long enough that a busy machine does not lose a run, short enough
/// to wait for when its driver has died.
pub const LEASE_SECONDS: i64 = 30;

/// Time between two renewals of a lease, in seconds: two renewals may fail before the third is too late.
pub const RENEW_SECONDS: i64 = 10;

/// The largest lease that is read, in bytes: far more than one has.
const LEASE_BYTES_MAX: u64 = 64 * 1024;

/// Beginning of the name of a lease that is being written.
pub(crate) const HALF_LEASE: &str = ".lease-";

/// A process, named so that no other process at any time has the same name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    /// Its number.
    pub pid: u32,
    /// The name of its machine.
    pub host: String,
    /// The time it began, in clock ticks since the machine did; 0 where the system does not say.
    pub started: u64,
    /// The machine's present life; empty where the system does not say.
    pub boot_id: String,
    /// The space in which its number is unique; 0 where the system does not say.
    pub pid_namespace: u64,
}

impl Owner {
    /// This process.
    #[must_use]
    pub fn current() -> Self {
        let line = |path| fs::read_to_string(path).map(|text| text.trim().to_owned()).unwrap_or_default();
        let pid = std::process::id();
        let mut host = line("/proc/sys/kernel/hostname");
        host.retain(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
        let mut boot_id = line("/proc/sys/kernel/random/boot_id");
        boot_id.retain(|c| c.is_ascii_hexdigit() || c == '-');
        Self {
            pid,
            host: if host.is_empty() { "unknown".to_owned() } else { host },
            started: start_of(pid).unwrap_or(0),
            boot_id,
            pid_namespace: fs::metadata("/proc/self/ns/pid").map_or(0, |metadata| metadata.ino()),
        }
    }

    /// Returns the part of it that others are told.
    #[must_use]
    pub fn holder(&self) -> Holder {
        Holder { pid: self.pid, host: self.host.clone() }
    }

    /// Returns true if this process can see the process of `other`: on the same machine since the same boot, in the
    /// same pid namespace.
    fn sees(&self, other: &Self) -> bool {
        !self.boot_id.is_empty()
            && self.host == other.host
            && self.boot_id == other.boot_id
            && self.pid_namespace == other.pid_namespace
    }

    /// Returns true if this process is known to be gone, as far as `seer` can tell.
    fn is_gone(&self, seer: &Self) -> bool {
        seer.sees(self) && self.started != 0 && start_of(self.pid) != Some(self.started)
    }
}

/// Returns the time a living process began; `None` if there is no process of that number, or it is dead and not yet
/// reaped.
fn start_of(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The second field is the program's name in parentheses, and may hold spaces and parentheses.
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace();
    let state = fields.next()?;
    if matches!(state, "Z" | "X") {
        return None;
    }
    fields.nth(18)?.parse().ok()
}

/// The end of what the holder of a lease wrote: the last line's number and hash. Without it a changed last line, or
/// lines missing after it, could not be told from a whole journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seal {
    /// The last line's sequence number.
    pub seq: u64,
    /// The last line's short hash.
    pub hash: String,
    /// True if the holder released the run after it, and the machine has been up since: then nothing follows.
    pub is_final: bool,
}

impl Seal {
    /// Its length as text: 20 digits, a space, the hash.
    const CHARS: usize = 21 + wire::PREV_CHARS;

    fn text(seal: Option<&Self>) -> String {
        match seal {
            Some(Self { seq, hash, .. }) => format!("{seq:020} {hash}"),
            None => " ".repeat(Self::CHARS),
        }
    }

    fn read(text: &str) -> Option<Self> {
        let (seq, hash) = text.trim().split_once(' ')?;
        Some(Self { seq: seq.parse().ok()?, hash: hash.to_owned(), is_final: false })
    }
}

/// The content of a lease's file.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct LeaseContent {
    /// Grows by one with each driver.
    pub token: u64,
    /// The process that holds the run.
    #[serde(flatten)]
    pub owner: Owner,
    /// Until when.
    pub expires_at: Timestamp,
    /// The text of the holder's seal.
    head: String,
}

impl LeaseContent {
    /// Reads the lease at `path`; `None` if there is no file, or it is empty or all zeros (a power cut leaves that).
    ///
    /// # Errors
    ///
    /// If it can't be read, or is not a lease.
    pub fn read(path: &Path) -> io::Result<Option<Self>> {
        let Some(bytes) = plain_file::read(path, LEASE_BYTES_MAX, "it is no lease")? else { return Ok(None) };
        if bytes.iter().all(|byte| *byte == 0) {
            return Ok(None);
        }
        Ok(Some(serde_json::from_slice(&bytes)?))
    }

    /// Returns true if the run is being driven, as far as `seer` can tell at `now`.
    #[must_use]
    pub fn is_alive(&self, seer: &Owner, now: Timestamp) -> bool {
        now < self.expires_at && !self.owner.is_gone(seer)
    }

    /// Returns true if the holder released the run itself, and was not killed.
    #[must_use]
    pub fn was_let_go(&self) -> bool {
        self.expires_at == Timestamp::UNIX_EPOCH
    }

    /// The number of the last line that the holder wrote.
    #[must_use]
    pub fn written_to(&self) -> Option<u64> {
        Seal::read(&self.head).map(|seal| seal.seq)
    }

    /// Returns the holder's seal, as `seer` can tell.
    #[must_use]
    pub fn seal(&self, seer: &Owner) -> Option<Seal> {
        let is_final = self.was_let_go() && self.is_same_boot(seer);
        Seal::read(&self.head).map(|seal| Seal { is_final, ..seal })
    }

    fn is_same_boot(&self, seer: &Owner) -> bool {
        !seer.boot_id.is_empty() && self.owner.boot_id == seer.boot_id
    }
}

/// Reason why a run can't be driven now.
#[derive(Debug, Error)]
pub enum LeaseError {
    /// Somebody drives it.
    #[error("the run is driven by {holder} until {until} at least")]
    Held {
        /// The process that drives it.
        holder: Holder,
        /// The time its right ends, if it does not renew it.
        until: Timestamp,
    },
    /// The lease's file can't be read or written.
    #[error("can't use the lease `{path}`", path = path.display())]
    Unusable {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

/// A run that nobody drives.
#[derive(Debug)]
#[must_use]
pub struct Vacancy {
    path: PathBuf,
    token: u64,
    /// The last driver's seal.
    pub seal: Option<Seal>,
    /// True if the machine has been up since: then nothing that was written can have been lost.
    pub same_boot: bool,
}

impl Vacancy {
    /// Checks that `owner` can take the lease at `path` at `now`. The caller holds the journal's lock.
    ///
    /// # Errors
    ///
    /// [`LeaseError::Held`] while another process drives the run.
    pub fn look(path: &Path, owner: &Owner, now: Timestamp) -> Result<Self, LeaseError> {
        let read = LeaseContent::read(path).map_err(|source| LeaseError::Unusable { path: path.to_owned(), source })?;
        match read {
            None => Ok(Self { path: path.to_owned(), token: 0, seal: None, same_boot: false }),
            Some(content) if content.is_alive(owner, now) => {
                Err(LeaseError::Held { holder: content.owner.holder(), until: content.expires_at })
            }
            Some(content) => Ok(Self {
                path: path.to_owned(),
                token: content.token,
                seal: content.seal(owner),
                same_boot: content.is_same_boot(owner),
            }),
        }
    }

    /// Takes the lease for `owner`, from `now` on, with the next token. The caller has held the journal's
    /// lock since it looked.
    ///
    /// # Errors
    ///
    /// [`LeaseError::Unusable`] if it can't be written.
    pub fn take(self, owner: &Owner, now: Timestamp, seal: Option<&Seal>) -> Result<Lease, LeaseError> {
        let path = self.path.clone();
        self.write(owner, now, seal).map_err(|source| LeaseError::Unusable { path, source })
    }

    fn write(self, owner: &Owner, now: Timestamp, seal: Option<&Seal>) -> io::Result<Lease> {
        let expires_at = expiry(now);
        let token = self.token.saturating_add(1);
        let owner = serde_json::to_string(owner)?;
        let mut text = format!(r#"{{"token":{token},{},"expires_at":""#, owner.trim_matches(['{', '}']));
        let expiry_at = text.len() as u64;
        text.push_str(&adjutant_core::words::moment::timestamp(expires_at));
        text.push_str(r#"","head":""#);
        let seal_at = text.len() as u64;
        text.push_str(&Seal::text(seal));
        text.push_str("\"}\n");

        let folder = self.path.parent().unwrap_or(Path::new("."));
        let mut file = tempfile::Builder::new().prefix(HALF_LEASE).tempfile_in(folder)?;
        file.write_all(text.as_bytes())?;
        let file = file.persist(&self.path)?;
        let metadata = file.metadata()?;
        let place = LeaseFile { path: self.path, inode: metadata.ino(), device: metadata.dev(), expiry_at };
        Ok(Lease { file, place, seal_at, token, expires_at, is_behind: false })
    }
}

/// Returns the time at which a lease that is renewed at `now` ends. Times before 1970 would not keep their length as
/// text.
fn expiry(now: Timestamp) -> Timestamp {
    let now = now.max(Timestamp::UNIX_EPOCH);
    now.saturating_add(SignedDuration::from_secs(LEASE_SECONDS)).unwrap_or(Timestamp::MAX)
}

/// The file of a lease, and the place of the expiry in it.
#[derive(Debug, Clone)]
struct LeaseFile {
    path: PathBuf,
    inode: u64,
    device: u64,
    expiry_at: u64,
}

impl LeaseFile {
    /// Returns true if the lease's name still leads to this file: no other process has taken it over.
    fn is_newest(&self) -> io::Result<bool> {
        match fs::metadata(&self.path) {
            // As long as this file is open no other can have its number.
            Ok(metadata) => Ok(metadata.ino() == self.inode && metadata.dev() == self.device),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn set_expiry(&self, file: &File, at: Timestamp) -> io::Result<()> {
        file.write_all_at(adjutant_core::words::moment::timestamp(at).as_bytes(), self.expiry_at)
    }
}

/// The right to drive a run. Let go when dropped, so that the next driver need not wait; not by a driver that panics,
/// which ends as one that was killed.
#[derive(Debug)]
#[must_use]
pub struct Lease {
    file: File,
    place: LeaseFile,
    seal_at: u64,
    token: u64,
    expires_at: Timestamp,
    /// True if the seal could not be written for the last line.
    is_behind: bool,
}

impl Lease {
    /// The number of this driver among all that the run had, from 1.
    #[must_use]
    pub fn token(&self) -> u64 {
        self.token
    }

    /// Until when, if it is not renewed.
    #[must_use]
    pub fn expires_at(&self) -> Timestamp {
        self.expires_at
    }

    /// Returns true if no other process has taken the run over.
    ///
    /// # Errors
    ///
    /// If the file system doesn't say.
    pub fn is_newest(&self) -> io::Result<bool> {
        self.place.is_newest()
    }

    /// Returns the process that has taken the run over, if the file names one.
    #[must_use]
    pub fn successor(&self) -> Option<Holder> {
        LeaseContent::read(&self.place.path).ok().flatten().map(|content| content.owner.holder())
    }

    /// Renews the lease at `now`, if [`RENEW_SECONDS`] have passed since it last was.
    ///
    /// # Errors
    ///
    /// If it can't be written; it then still lives until it expires.
    pub fn renew_if_due(&mut self, now: Timestamp) -> io::Result<()> {
        let due = SignedDuration::from_secs(LEASE_SECONDS - RENEW_SECONDS);
        if self.expires_at.duration_since(now) <= due {
            self.place.set_expiry(&self.file, expiry(now))?;
            self.expires_at = expiry(now);
        }
        Ok(())
    }

    /// Says how far this driver wrote.
    ///
    /// # Errors
    ///
    /// If it can't be written; the seal is then behind, which is no damage: the lease is not let go but expires.
    pub fn set_seal(&mut self, seal: &Seal) -> io::Result<()> {
        let written = self.file.write_all_at(Seal::text(Some(seal)).as_bytes(), self.seal_at);
        self.is_behind = written.is_err();
        written
    }

    /// Returns a handle that renews this lease while its driver is busy.
    ///
    /// # Errors
    ///
    /// If the process has too many files open.
    pub fn heartbeat(&self) -> io::Result<Heartbeat> {
        Ok(Heartbeat { file: self.file.try_clone()?, place: self.place.clone() })
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if std::thread::panicking() || self.is_behind {
            return;
        }
        // Over a file that nobody reads any more this changes nothing; if it fails the lease expires.
        self.place.set_expiry(&self.file, Timestamp::UNIX_EPOCH).ok();
    }
}

/// Renews a lease from another thread than its driver's.
#[derive(Debug)]
pub struct Heartbeat {
    file: File,
    place: LeaseFile,
}

/// The outcome of renewing a lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pulse {
    /// It is renewed.
    Alive,
    /// Its driver let it go.
    LetGo,
    /// Another driver has taken the run over.
    Lost,
}

impl Heartbeat {
    /// Renews the lease at `now`. To be called every [`RENEW_SECONDS`].
    ///
    /// # Errors
    ///
    /// If it can't be read or written; worth another try until the lease expires.
    pub fn renew(&self, now: Timestamp) -> io::Result<Pulse> {
        if !self.place.is_newest()? {
            return Ok(Pulse::Lost);
        }
        let epoch = adjutant_core::words::moment::timestamp(Timestamp::UNIX_EPOCH);
        let mut expires_at = vec![0; epoch.len()];
        self.file.read_exact_at(&mut expires_at, self.place.expiry_at)?;
        if expires_at == epoch.as_bytes() {
            return Ok(Pulse::LetGo);
        }
        self.place.set_expiry(&self.file, expiry(now))?;
        Ok(Pulse::Alive)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + second).expect("a time")
    }

    fn elsewhere() -> Owner {
        Owner { pid: 7, host: "elsewhere".into(), started: 9, boot_id: "b".into(), pid_namespace: 1 }
    }

    /// Checks that a lease which `first` took at second 0 can, or can't, be taken by this process at `second`.
    #[track_caller]
    fn check(first: &Owner, second: i64, expected: bool) {
        let temp = tempfile::tempdir().expect("a folder");
        let path = temp.path().join("a.lease");
        let held = Vacancy::look(&path, first, at(0)).expect("free").take(first, at(0), None).expect("taken");
        let vacancy = Vacancy::look(&path, &Owner::current(), at(second));
        assert_eq!(vacancy.is_ok(), expected, "{first:?} {second}: {vacancy:?}");
        assert!(held.is_newest().expect("readable"));
    }

    #[test]
    fn a_lease_is_held_until_it_expires() {
        for first in [Owner::current(), elsewhere()] {
            check(&first, 0, false);
            check(&first, LEASE_SECONDS - 1, false);
            check(&first, LEASE_SECONDS, true);
        }
    }

    #[test]
    fn a_lease_of_a_process_that_is_gone_is_free_at_once() {
        let me = Owner::current();
        check(&Owner { pid: u32::MAX - 1, ..me.clone() }, 0, true);
        // The number was given to another process since.
        check(&Owner { started: me.started + 1, ..me.clone() }, 0, true);
        // Nothing is known about a process that can't be seen from here.
        check(&Owner { pid: u32::MAX - 1, boot_id: "before".into(), ..me.clone() }, 0, false);
        check(&Owner { pid: u32::MAX - 1, pid_namespace: 1, ..me.clone() }, 0, false);
        check(&Owner { pid: u32::MAX - 1, started: 0, ..me }, 0, false);
    }

    #[test]
    fn whoever_is_taken_over_finds_out_and_changes_nothing() {
        let temp = tempfile::tempdir().expect("a folder");
        let path = temp.path().join("a.lease");
        let (first, second) = (elsewhere(), Owner::current());
        let mut a = Vacancy::look(&path, &first, at(0)).expect("free").take(&first, at(0), None).expect("taken");
        let beat = a.heartbeat().expect("a heartbeat");
        assert_eq!(beat.renew(at(5)).expect("renewed"), Pulse::Alive);
        assert!(Vacancy::look(&path, &second, at(34)).is_err());
        let seal = Seal { seq: 41, hash: "00112233445566ff".into(), is_final: false };
        a.set_seal(&seal).expect("sealed");

        let vacancy = Vacancy::look(&path, &second, at(40)).expect("expired");
        assert_eq!((vacancy.seal.as_ref(), vacancy.same_boot), (Some(&seal), false));
        let b = vacancy.take(&second, at(40), Some(&seal)).expect("taken over");
        assert_eq!((a.token(), b.token()), (1, 2));
        let before = fs::read(&path).expect("there");
        assert!(!a.is_newest().expect("readable"));
        assert_eq!(beat.renew(at(41)).expect("readable"), Pulse::Lost);
        assert_eq!(a.successor(), Some(second.holder()));
        a.renew_if_due(at(60)).expect("written into its own file");
        a.set_seal(&Seal { seq: 42, hash: "ffffffffffffffff".into(), is_final: false })
            .expect("written into its own file");
        drop(a);
        assert_eq!(fs::read(&path).expect("there"), before);
        assert!(b.is_newest().expect("readable"));
    }

    #[test]
    fn a_lease_that_was_let_go_is_free_and_its_token_still_grows() {
        let temp = tempfile::tempdir().expect("a folder");
        let path = temp.path().join("a.lease");
        let me = Owner::current();
        for token in 1..4 {
            let lease = Vacancy::look(&path, &me, at(0)).expect("free").take(&me, at(0), None).expect("taken");
            assert_eq!(lease.token(), token);
            let beat = lease.heartbeat().expect("a heartbeat");
            let was_let_go = || LeaseContent::read(&path).expect("readable").expect("there").was_let_go();
            assert!(!was_let_go());
            drop(lease);
            assert!(was_let_go());
            assert_eq!(beat.renew(at(1)).expect("readable"), Pulse::LetGo);
        }
    }

    #[test]
    fn a_driver_that_panics_has_let_nothing_go() {
        let temp = tempfile::tempdir().expect("a folder");
        let path = temp.path().join("a.lease");
        let lease = Vacancy::look(&path, &elsewhere(), at(0)).expect("free").take(&elsewhere(), at(0), None);
        let panicked = std::thread::spawn(move || {
            let _held = lease.expect("taken");
            std::panic::resume_unwind(Box::new("a fault"));
        });
        panicked.join().expect_err("it panics");
        let content = LeaseContent::read(&path).expect("readable").expect("there");
        assert!(!content.was_let_go() && content.is_alive(&Owner::current(), at(1)));
    }

    #[test]
    fn an_empty_lease_is_free_and_a_damaged_one_is_an_error() {
        let temp = tempfile::tempdir().expect("a folder");
        let path = temp.path().join("a.lease");
        for (bytes, free) in [(&b""[..], true), (&[0; 200], true), (b"{", false), (b"null", false), (b"\xff", false)] {
            fs::write(&path, bytes).expect("written");
            assert_eq!(Vacancy::look(&path, &Owner::current(), at(0)).is_ok(), free, "{bytes:?}");
        }
    }
}
