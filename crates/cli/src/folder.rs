//! The folder that a run works in, claimed before anything of the run is on record.
//!
//! Two runs that change the same files would spoil each other's work, so the second is told of the first: it waits,
//! works on a copy, or goes on by its operator's word. Begin with [`enter`].

use std::error::Error;
use std::fmt;
use std::path::Path;
use std::thread;
use std::time::Duration;

use adjutant_core::view::visible_line;
use adjutant_store::Home;
use adjutant_store::folders::{self, Claimant, Claimed, FolderClaim, Occupant, Sharing};
use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::console::confirm;
use crate::exit::Ending;
use crate::failure::Failure;
use crate::sitting::shown;

/// How often a run that waits looks whether the folder is free.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// What to do where another run is at work in the folder.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct FolderArgs {
    /// If another run works in the folder, wait until it leaves
    #[arg(long, conflicts_with = "share")]
    wait: bool,
    /// Work in the folder even if another run does
    #[arg(long)]
    share: bool,
}

/// Who is asked what to do about a folder that is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// The operator, if one is at the terminal. `--copy` is a way out.
    WithCopy,
    /// The operator, if one is at the terminal.
    WithoutCopy,
    /// Nobody.
    Nobody,
}

/// The folder, with who else is in it.
#[derive(Debug)]
pub struct Entered {
    claim: Option<FolderClaim>,
    beside: Vec<Occupant>,
}

/// Another run works in the folder, and nobody is there to ask.
#[derive(Debug)]
pub struct HeldUp(String);

impl fmt::Display for HeldUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for HeldUp {}

impl Entered {
    /// Says which run it is, once it has a name. Others are told its brief's id otherwise.
    pub fn name(&mut self, run: &str) {
        if let Some(Err(error)) = self.claim.as_mut().map(|claim| claim.name(run)) {
            tell!("warning: other runs don't see which run works here: {error}");
        }
    }

    /// What the run's journal says of those who work there too, a sentence each.
    pub fn beside(&self) -> impl Iterator<Item = String> {
        self.beside.iter().map(|other| format!("{}; what it changes may get in this run's way", at_work(other)))
    }
}

/// Claims the folder for a run: at once, after waiting, or by the operator's word.
///
/// # Errors
///
/// [`HeldUp`] if [`Asked::Nobody`]; a failure with the ways out if the operator doesn't want to wait or is not there.
pub fn enter(
    home: &Home,
    run: Claimant<'_>,
    workdir: &Path,
    args: &FolderArgs,
    asked: Asked,
) -> anyhow::Result<Entered> {
    let sharing = if args.share { Sharing::Beside } else { Sharing::Alone };
    let mut waits = false;
    loop {
        let others = match folders::claim(home, run, workdir, sharing, Timestamp::now()) {
            Ok(Claimed::Held { claim, beside }) => return Ok(Entered { claim: Some(claim), beside }),
            Ok(Claimed::Occupied(others)) => others,
            // That the folder is not there is told where it is opened.
            Err(_) if !workdir.exists() => return Ok(Entered { claim: None, beside: Vec::new() }),
            Err(error) => {
                tell!("warning: can't tell whether another run works in the folder: {error}");
                return Ok(Entered { claim: None, beside: Vec::new() });
            }
        };
        let Some(first) = others.first() else { continue };
        let who = at_work(first);
        if asked == Asked::Nobody {
            return Err(HeldUp(who).into());
        }
        if !waits {
            waits = args.wait || confirm(&format!("{who}. Wait until it leaves?"));
            if !waits {
                return Err(taken(who, asked));
            }
            tell!("waiting: {who}");
        }
        thread::sleep(LOOK_EVERY);
    }
}

fn taken(who: String, asked: Asked) -> anyhow::Error {
    let copy = if asked == Asked::WithCopy { "`--copy` works on a copy, " } else { "" };
    Failure::ending(Ending::Waiting, who)
        .hint(format!("`--wait` waits until it leaves, {copy}`--share` works there all the same"))
        .into()
}

/// Who works where, as half a sentence for an operator.
pub fn at_work(other: &Occupant) -> String {
    let since = TimeZone::system().to_datetime(other.since).strftime("%H:%M");
    let folder = shown(&other.workdir);
    let who = format!("run {} is at work in {} since {since} (process {})", other.run, folder.display(), other.pid);
    visible_line(&who).into_owned()
}
