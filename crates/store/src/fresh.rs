//! A file that is written whole before it takes the place of another.

use std::fs;
use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime};

use tempfile::NamedTempFile;

/// The least age at which a temporary file counts as left behind: writing one takes moments.
const LEFT_BEHIND_AFTER: Duration = Duration::from_secs(60 * 60);

/// A new file in the folder of `path`, to be put in its place. Those that a killed process left there are removed.
///
/// # Errors
///
/// If the folder can't be read or written.
pub(crate) fn beside(path: &Path) -> io::Result<NamedTempFile> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let prefix = format!(".{}.", path.file_name().unwrap_or_default().to_string_lossy());
    let fresh = tempfile::Builder::new().prefix(&prefix).tempfile_in(folder)?;
    let now = fresh.as_file().metadata()?.modified()?;
    for entry in fs::read_dir(folder)?.flatten() {
        let is_ours = entry.file_name().to_str().is_some_and(|name| name.starts_with(&prefix));
        if is_ours && is_left_behind(&entry, now) {
            // Best effort: another may be at it, too.
            let _ = fs::remove_file(entry.path());
        }
    }
    Ok(fresh)
}

/// Returns true if the file is so old at `now`, by the clock of the disk, that its writer must be gone.
fn is_left_behind(entry: &fs::DirEntry, now: SystemTime) -> bool {
    let changed = entry.metadata().and_then(|found| found.modified());
    changed.is_ok_and(|at| now.duration_since(at).unwrap_or_default() > LEFT_BEHIND_AFTER)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_killed_process_left_is_removed_and_nothing_else() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("learned.json");
        let old = SystemTime::now() - 2 * LEFT_BEHIND_AFTER;
        for (name, is_old) in
            [(".learned.json.a", true), (".learned.json.b", false), (".other.a", true), ("learned.json", true)]
        {
            let file = fs::File::create(folder.path().join(name)).expect("made");
            if is_old {
                file.set_modified(old).expect("set back");
            }
        }
        let fresh = beside(&path).expect("made");
        let fresh_name = fresh.path().file_name().expect("a name").to_owned();
        let names = fs::read_dir(folder.path()).expect("read").map(|entry| entry.expect("an entry").file_name());
        let mut names: Vec<_> = names.filter(|name| *name != fresh_name).collect();
        names.sort();
        assert_eq!(names, [".learned.json.b", ".other.a", "learned.json"]);
    }
}
