//! Records which runs are at work in which folder, so that two that change the same files know of each other.
//!
//! In: a home, a workdir and a run that is about to be driven there. Out: a [`FolderClaim`], which holds until it
//! is dropped or its process is gone, or the [`Occupant`]s whose folder is the same, above or below.
//!
//! A claim is a small file in `folders/` of the home with an exclusive lock on it. The kernel gives the lock back when
//! the process dies, so a killed run blocks no other; the next run that looks removes its file. Runs of different homes
//! don't see each other.
//!
//! Begin with [`claim`].

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use jiff::Timestamp;
use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::home::{Home, make_folder};
use crate::lease::Owner;

/// The largest claim that is read, in bytes: its two paths have at most 4096 each.
const CLAIM_BYTES_MAX: u64 = 64 << 10;

/// Makes names of claims unique within the process.
static CLAIMS: AtomicU64 = AtomicU64::new(0);

/// A run that is at work in a folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Occupant {
    /// The run's name, or its brief's id as long as it has none.
    pub run: String,
    /// The folder, without links.
    pub workdir: PathBuf,
    /// Since when its process works there.
    pub since: Timestamp,
    /// The number of its process.
    pub pid: u32,
    /// The machine of its process.
    pub host: String,
}

/// The word of a run that it works in a folder; given back when this is dropped.
#[derive(Debug)]
#[must_use = "dropping it lets the folder go"]
pub struct FolderClaim {
    path: PathBuf,
    file: File,
    occupant: Occupant,
}

/// A run's willingness to work in a folder beside others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sharing {
    /// Only if nobody else is there.
    Alone,
    /// Also beside others.
    Beside,
}

/// The run that claims a folder.
#[derive(Debug, Clone, Copy)]
pub enum Claimant<'a> {
    /// A run that has no name yet, by the id of its brief.
    New(&'a str),
    /// A run by its name. An older process of its own is nobody else: its lease says who drives it.
    Run(&'a str),
}

/// The outcome of claiming a folder.
#[derive(Debug)]
pub enum FolderClaimOutcome {
    /// The run may work there.
    Held {
        /// As long as this is kept.
        claim: FolderClaim,
        /// The other runs that work there; empty unless the folder is shared.
        beside: Vec<Occupant>,
    },
    /// These work there, and the run may not.
    Occupied(Vec<Occupant>),
}

/// Claims `workdir` for a run.
///
/// # Errors
///
/// If the workdir is not there, or the home can't be written.
pub fn claim(
    home: &Home,
    claimant: Claimant<'_>,
    workdir: &Path,
    sharing: Sharing,
    now: Timestamp,
) -> io::Result<FolderClaimOutcome> {
    let folder = home.folders();
    let workdir = workdir.canonicalize()?;
    let _looking = loop {
        make_folder(&folder)?;
        if let Some(looking) = look(&folder)? {
            break looking;
        }
    };
    let mut others = overlapping(&folder, &workdir)?;
    let run = match claimant {
        Claimant::New(brief) => brief,
        Claimant::Run(run) => {
            others.retain(|other| other.run != run);
            run
        }
    };
    if sharing == Sharing::Alone && !others.is_empty() {
        return Ok(FolderClaimOutcome::Occupied(others));
    }
    let holder = Owner::current().holder();
    let path = folder.join(format!("{}-{}", holder.pid, CLAIMS.fetch_add(1, Ordering::Relaxed)));
    let occupant = Occupant { run: run.to_owned(), workdir, since: now, pid: holder.pid, host: holder.host };
    // What a dead process of the same number left is not ours to write into.
    match fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
    flock(&file, FlockOperation::NonBlockingLockExclusive)?;
    // Before there is a claim to let go, which takes the lock that is held here.
    file.write_all(&serde_json::to_vec(&occupant)?)?;
    Ok(FolderClaimOutcome::Held { claim: FolderClaim { path, file, occupant }, beside: others })
}

/// The runs at work in `workdir`, or in a folder above or below it. Empty where the workdir is not there.
///
/// # Errors
///
/// If the folder of claims can't be read.
pub fn occupants(home: &Home, workdir: &Path) -> io::Result<Vec<Occupant>> {
    let folder = home.folders();
    let Ok(workdir) = workdir.canonicalize() else { return Ok(Vec::new()) };
    match look(&folder)? {
        Some(_looking) => overlapping(&folder, &workdir),
        None => Ok(Vec::new()),
    }
}

impl FolderClaim {
    /// Says which run it is, once it has a name.
    ///
    /// # Errors
    ///
    /// If it can't be written; then it goes by the name before.
    pub fn name(&mut self, run: &str) -> io::Result<()> {
        run.clone_into(&mut self.occupant.run);
        self.write()
    }

    fn write(&mut self) -> io::Result<()> {
        let text = serde_json::to_vec(&self.occupant)?;
        self.file.set_len(0)?;
        io::Seek::rewind(&mut self.file)?;
        self.file.write_all(&text)
    }
}

impl Drop for FolderClaim {
    fn drop(&mut self) {
        // The lock ends with the file in any case: one that stays is removed by whoever looks next.
        if let Some(folder) = self.path.parent() {
            let _looking = look(folder);
            fs::remove_file(&self.path).ok();
            // Nobody who looks is here, and what others claim keeps it: a home is left as it was found.
            fs::remove_dir(folder).ok();
        }
    }
}

/// The lock of whoever looks at claims or makes one, on the folder itself: held for as long as a few small files take.
/// `None` if the folder is not there, or was removed by the last claim in it while this one waited.
fn look(folder: &Path) -> io::Result<Option<File>> {
    let file = match File::open(folder) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    loop {
        match flock(&file, FlockOperation::LockExclusive) {
            Ok(()) => break,
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let is_there = fs::metadata(folder).is_ok_and(|now| file.metadata().is_ok_and(|held| held.ino() == now.ino()));
    Ok(is_there.then_some(file))
}

/// Opens a plain file, and waits for no pipe in its place.
fn open(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = options.mode(0o600).custom_flags(flags.bits().cast_signed()).open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("it is not a plain file")) }
}

/// The claims that live and overlap with `workdir`, oldest first; removes those that are dead.
fn overlapping(folder: &Path, workdir: &Path) -> io::Result<Vec<Occupant>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        // What is gone meanwhile claims nothing, and what is no file of ours never did.
        let Ok(file) = open(&entry.path(), OpenOptions::new().read(true)) else { continue };
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) => found.extend(read(&file)),
            Ok(()) | Err(_) => drop(fs::remove_file(entry.path())),
        }
    }
    found.retain(|other| other.workdir.starts_with(workdir) || workdir.starts_with(&other.workdir));
    found.sort_by(|one, other| (one.since, &one.run).cmp(&(other.since, &other.run)));
    Ok(found)
}

/// Reads a claim; `None` if its process was killed while it wrote.
fn read(file: &File) -> Option<Occupant> {
    let mut text = Vec::new();
    file.take(CLAIM_BYTES_MAX).read_to_end(&mut text).ok()?;
    serde_json::from_slice(&text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct ClaimFixture {
        temp: tempfile::TempDir,
        home: Home,
    }

    impl ClaimFixture {
        fn new() -> Self {
            let temp = tempfile::tempdir().expect("a folder");
            for folder in ["w/sub", "other"] {
                fs::create_dir_all(temp.path().join(folder)).expect("a folder");
            }
            std::os::unix::fs::symlink("w", temp.path().join("link")).expect("a link");
            Self { home: Home::new(temp.path().join("home"), None), temp }
        }

        fn claim(&self, run: &str, workdir: &str, sharing: Sharing) -> FolderClaimOutcome {
            let now = Timestamp::from_second(1_800_000_000).expect("a time");
            claim(&self.home, Claimant::New(run), &self.temp.path().join(workdir), sharing, now).expect("claimed")
        }

        fn held(&self, run: &str, workdir: &str, sharing: Sharing) -> (FolderClaim, Vec<String>) {
            match self.claim(run, workdir, sharing) {
                FolderClaimOutcome::Held { claim, beside } => (claim, names(&beside)),
                FolderClaimOutcome::Occupied(others) => panic!("{run} is held up by {others:?}"),
            }
        }
    }

    fn names(occupants: &[Occupant]) -> Vec<String> {
        occupants.iter().map(|other| other.run.clone()).collect()
    }

    #[test]
    fn the_same_folder_one_above_and_one_below_are_taken_and_another_is_free() {
        let place = ClaimFixture::new();
        let (_held, _) = place.held("a", "w", Sharing::Alone);
        for (workdir, is_taken) in [("w", true), ("link", true), ("w/sub", true), (".", true), ("other", false)] {
            let claimed = place.claim("b", workdir, Sharing::Alone);
            let is_occupied = matches!(&claimed, FolderClaimOutcome::Occupied(by) if names(by) == ["a"]);
            assert_eq!(is_occupied, is_taken, "{workdir}: {claimed:?}");
        }
    }

    #[test]
    fn who_shares_a_folder_is_told_who_is_there() {
        let place = ClaimFixture::new();
        let (mut first, beside) = place.held("a", "w", Sharing::Alone);
        assert_eq!(beside, [""; 0]);
        first.name("a-r2").expect("written");
        let (_second, beside) = place.held("b", "w/sub", Sharing::Beside);
        assert_eq!(beside, ["a-r2"]);
        let there = occupants(&place.home, &place.temp.path().join("w")).expect("read");
        assert_eq!(names(&there), ["a-r2", "b"]);
    }

    #[test]
    fn an_older_process_of_the_run_itself_is_nobody_else() {
        let place = ClaimFixture::new();
        let (_held, _) = place.held("a", "w", Sharing::Alone);
        let claim_as = |claimant| {
            let workdir = place.temp.path().join("w");
            claim(&place.home, claimant, &workdir, Sharing::Alone, Timestamp::UNIX_EPOCH).expect("claimed")
        };
        assert!(matches!(claim_as(Claimant::Run("a")), FolderClaimOutcome::Held { .. }));
        // The first run of a brief has the brief's id for a name: a second is somebody else all the same.
        assert!(matches!(claim_as(Claimant::New("a")), FolderClaimOutcome::Occupied(_)));
    }

    #[test]
    fn a_claim_ends_with_its_holder_and_what_it_left_is_swept() {
        let place = ClaimFixture::new();
        let (held, _) = place.held("a", "w", Sharing::Alone);
        drop(held);
        assert!(!place.home.folders().exists(), "the last one leaves nothing");
        make_folder(&place.home.folders()).expect("made");
        let left = place.home.folders().join("1-7");
        fs::write(&left, r#"{"run":"dead","workdir":"/","since":"2027-01-01T00:00:00Z","pid":1,"host":"h"}"#)
            .expect("written");
        let (_held, beside) = place.held("b", "w", Sharing::Alone);
        assert_eq!(beside, [""; 0]);
        assert!(!left.exists());
    }

    #[test]
    fn what_is_no_claim_is_nobody() {
        let place = ClaimFixture::new();
        make_folder(&place.home.folders()).expect("made");
        let pipe = place.home.folders().join("pipe");
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0)
            .expect("a pipe");
        fs::create_dir(place.home.folders().join("folder")).expect("a folder");
        let (_held, beside) = place.held("a", "w", Sharing::Alone);
        assert_eq!(beside, [""; 0]);
    }
}
