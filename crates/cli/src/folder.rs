//! The folder that a run works in, and its operator's word where another run is in it.
//!
//! The second run is told of the first: it waits, works on a copy, or goes on by its operator's word. Begin with
//! [`enter`].

use std::path::Path;
use std::thread;
use std::time::Duration;

use adjutant_core::words::id::RunId;
use adjutant_runtime::assembly::{self, EnteredFolder, Surroundings};
use adjutant_store::Home;
use adjutant_store::folders::{Claimant, Sharing};

use crate::console::confirm;
use crate::exit::Ending;
use crate::failure::Failure;
use crate::settings::remark;

/// Interval at which a waiting run checks if the folder is free.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// Ways to deal with another run that works in the folder.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct FolderArgs {
    /// If another run works in the folder, wait until it leaves
    #[arg(long, conflicts_with = "share")]
    wait: bool,
    /// Work in the folder even if another run does
    #[arg(long)]
    share: bool,
}

/// Way in which the operator is asked about a folder that is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FolderPrompt {
    /// The operator, if one is at the terminal. `--copy` is a way out.
    WithCopy,
    /// The operator, if one is at the terminal.
    WithoutCopy,
    /// Nobody.
    Nobody,
}

/// Claims the folder for a run: at once, after waiting, or by the operator's word.
///
/// # Errors
///
/// [`HeldUp`](assembly::HeldUp) if [`FolderPrompt::Nobody`]; a failure with the ways out if the operator doesn't want
/// to wait or is not there.
pub fn enter(
    home: &Home,
    surroundings: &Surroundings,
    run: Claimant<'_>,
    workdir: &Path,
    args: &FolderArgs,
    asked: FolderPrompt,
) -> anyhow::Result<EnteredFolder> {
    let sharing = if args.share { Sharing::Beside } else { Sharing::Alone };
    let mut waits = false;
    loop {
        let held_up = match assembly::enter(home, surroundings, run, workdir, sharing, &remark) {
            Ok(entered) => return Ok(entered),
            Err(held_up) => held_up,
        };
        if asked == FolderPrompt::Nobody {
            return Err(held_up.into());
        }
        if !waits {
            waits = args.wait || confirm(&format!("{held_up}. Wait until it leaves?"));
            if !waits {
                return Err(taken(held_up.to_string(), asked));
            }
            tell!("waiting: {held_up}");
        }
        thread::sleep(LOOK_EVERY);
    }
}

/// Claims the folder that a run works in, which is `workdir` if it is named and else the one that is on record; nothing
/// for a run that is over, or whose folder is not on record.
///
/// # Errors
///
/// As [`enter`].
pub fn enter_again(
    home: &Home,
    surroundings: &Surroundings,
    run_id: &RunId,
    recorded: Option<&str>,
    workdir: Option<&Path>,
    args: &FolderArgs,
    asked: FolderPrompt,
) -> anyhow::Result<Option<EnteredFolder>> {
    let Some(recorded) = recorded else { return Ok(None) };
    let workdir = workdir.unwrap_or(Path::new(recorded));
    enter(home, surroundings, Claimant::Run(run_id.as_str()), workdir, args, asked).map(Some)
}

fn taken(who: String, asked: FolderPrompt) -> anyhow::Error {
    let copy = if asked == FolderPrompt::WithCopy { "`--copy` works on a copy, " } else { "" };
    Failure::ending(Ending::Waiting, who)
        .hint(format!("`--wait` waits until it leaves, {copy}`--share` works there all the same"))
        .into()
}
