//! The folder that a run works in, claimed before anything of the run is on record.
//!
//! Two runs that change the same files would spoil each other's work, so the second is told of the first. Whether it
//! then waits, works on a copy, or works there all the same is its operator's word.

use std::error::Error;
use std::fmt;
use std::path::Path;

use adjutant_core::words::visible::visible_line;
use adjutant_store::Home;
use adjutant_store::folders::{self, Claimant, FolderClaim, FolderClaimOutcome, Occupant, Sharing};
use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::remark::Remark;
use super::surroundings::Surroundings;

/// The folder, with who else is in it.
#[derive(Debug)]
pub struct EnteredFolder {
    claim: Option<FolderClaim>,
    beside: Vec<String>,
}

/// Another run works in the folder.
#[derive(Debug)]
pub struct HeldUp(String);

impl fmt::Display for HeldUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for HeldUp {}

impl EnteredFolder {
    /// Says which run it is, once it has a name. Others are told its brief's id otherwise.
    pub(super) fn name(&mut self, run: &str, tell: &dyn Fn(Remark)) {
        if let Some(Err(error)) = self.claim.as_mut().map(|claim| claim.name(run)) {
            tell(Remark::Warning(format!("other runs don't see which run works here: {error}")));
        }
    }

    /// Describes those who work there too, for the run's journal, in a sentence each.
    pub(super) fn beside(&self) -> impl Iterator<Item = String> {
        self.beside.iter().map(|other| format!("{other}; what it changes may get in this run's way"))
    }
}

/// Claims the folder for a run.
///
/// # Errors
///
/// [`HeldUp`] if another run works there and the folder isn't shared.
pub fn enter(
    home: &Home,
    surroundings: &Surroundings,
    run: Claimant<'_>,
    workdir: &Path,
    sharing: Sharing,
    tell: &dyn Fn(Remark),
) -> Result<EnteredFolder, HeldUp> {
    let who = |other: &Occupant| at_work(other, surroundings);
    loop {
        match folders::claim(home, run, workdir, sharing, Timestamp::now()) {
            Ok(FolderClaimOutcome::Held { claim, beside }) => {
                return Ok(EnteredFolder { claim: Some(claim), beside: beside.iter().map(who).collect() });
            }
            Ok(FolderClaimOutcome::Occupied(others)) => match others.first() {
                Some(first) => return Err(HeldUp(who(first))),
                None => continue,
            },
            // That the folder is not there is told where it is opened.
            Err(_) if !workdir.exists() => {}
            Err(error) => {
                tell(Remark::Warning(format!("can't tell whether another run works in the folder: {error}")));
            }
        }
        return Ok(EnteredFolder { claim: None, beside: Vec::new() });
    }
}

/// Says which run works where, as half a sentence for an operator.
#[must_use]
pub fn at_work(other: &Occupant, surroundings: &Surroundings) -> String {
    let since = TimeZone::system().to_datetime(other.since).strftime("%H:%M");
    let folder = surroundings.shown(&other.workdir);
    let who = format!("run {} is at work in {} since {since} (process {})", other.run, folder.display(), other.pid);
    visible_line(&who).into_owned()
}
