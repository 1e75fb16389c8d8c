//! A home that journals in several folders of sessions share: its contents, what is kept for undo, how trees were.
//!
//! Things that belong to one run are found by the run's name, so a name means one run in the whole home. A run whose
//! journal lies elsewhere leaves its name in the home; its folder is unknown once it is not looked at. So a caller that
//! gives a name, or removes something that may belong to others, asks here first.

use std::fs::{self, File};
use std::io;

use adjutant_core::words::id::RunId;

use crate::home::{Home, make_folder};
use crate::runs;

/// Leaves the name of `run_id` in the home, if its journal lies elsewhere.
///
/// # Errors
///
/// If it can't be written.
pub(crate) fn claim(home: &Home, run_id: &RunId) -> io::Result<()> {
    if home.has_sessions_elsewhere() {
        make_folder(&home.elsewhere())?;
        File::options().create(true).append(true).open(home.elsewhere().join(run_id.as_str()))?;
    }
    Ok(())
}

/// Returns true if the files in `home` beside its journals may belong to journals that are not looked at.
pub(crate) fn is(home: &Home) -> bool {
    home.has_sessions_elsewhere() || home.elsewhere().try_exists().unwrap_or(true)
}

/// The names of runs whose journals are not in the folder that `home` looks at, as far as is known.
///
/// # Errors
///
/// If a folder is there and can't be read.
pub(crate) fn names_of_others(home: &Home) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    if home.has_sessions_elsewhere() {
        let own = Home::new(home.root(), None);
        names.extend(runs::names(&own)?.into_keys());
        names.extend(runs::pruned(&own)?);
    }
    match fs::read_dir(home.elsewhere()) {
        Ok(entries) => {
            for entry in entries {
                names.extend(entry?.file_name().into_string());
            }
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    Ok(names)
}

/// Returns true if files found by the name of `run_id` may be those of a run elsewhere: only where the two were begun
/// before names were kept here.
pub(crate) fn has_namesake(home: &Home, run_id: &RunId) -> bool {
    if home.has_sessions_elsewhere() {
        Home::new(home.root(), None).journal(run_id).symlink_metadata().is_ok() && !home.own_sessions().is_symlink()
    } else {
        home.elsewhere().join(run_id.as_str()).symlink_metadata().is_ok()
    }
}
