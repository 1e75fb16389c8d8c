//! Finds the paths that `deny_read` names in the working folder, to be hidden from a command.
//!
//! Looked for before each command, since files come and go. Entries without wildcards are looked up; for others the
//! folder is gone through. A link that is named hides what it leads to.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use adjutant_core::gate::deny_read::DenyRead;

/// The most files and folders that are looked at.
const LOOKED_AT_MAX: usize = 1_000_000;

/// The files and folders below `workdir` that `entries` name, without links.
///
/// # Errors
///
/// The system's, or that there is too much to look at: then nobody knows what should be hidden.
pub(super) fn unread(workdir: &Path, entries: &[String]) -> io::Result<Vec<PathBuf>> {
    let denied = DenyRead::recorded(entries);
    if denied.is_empty() {
        return Ok(Vec::new());
    }
    if let Some(paths) = denied.without_wildcards() {
        return Ok(paths.into_iter().filter_map(|path| place(&workdir.join(path))).collect());
    }
    let mut found = Vec::new();
    let mut open = vec![String::new()];
    let mut looked_at = 0;
    while let Some(folder) = open.pop() {
        let listed = match fs::read_dir(workdir.join(&folder)) {
            Ok(listed) => listed,
            // One that is gone, or that nobody can list, hides what is in it.
            Err(_) if !folder.is_empty() => continue,
            Err(error) => return Err(error),
        };
        for entry in listed.flatten() {
            looked_at += 1;
            if looked_at > LOOKED_AT_MAX {
                let why = format!("`deny_read`: the working folder has more than {LOOKED_AT_MAX} files");
                return Err(io::Error::other(why));
            }
            let name = entry.file_name();
            let name = name.to_string_lossy();
            let path = if folder.is_empty() { name.into_owned() } else { format!("{folder}/{name}") };
            if denied.entry(&path).is_some() {
                found.extend(place(&entry.path()));
            } else if entry.file_type().is_ok_and(|kind| kind.is_dir()) && entry.file_name() != ".git" {
                open.push(path);
            }
        }
    }
    Ok(found)
}

/// Returns the real path, if there is anything.
fn place(path: &Path) -> Option<PathBuf> {
    fs::canonicalize(path).ok()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn what_is_named_is_found_behind_links_too() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("conf/deep")).unwrap();
        fs::create_dir_all(root.join("secrets")).unwrap();
        for file in [".env", "conf/a.pem", "conf/deep/b.pem", "conf/real", "secrets/key", "src"] {
            fs::write(root.join(file), "x").unwrap();
        }
        symlink("conf/real", root.join("linked")).unwrap();
        symlink("nowhere", root.join("dangling")).unwrap();
        let names = |entries: &[&str]| {
            let entries: Vec<String> = entries.iter().map(|entry| (*entry).to_owned()).collect();
            let mut found = unread(&root, &entries).unwrap();
            found.sort();
            let below = |path: &PathBuf| path.strip_prefix(&root).unwrap().display().to_string();
            found.iter().map(below).collect::<Vec<_>>()
        };
        for (entries, expected) in [
            (&[][..], &[][..]),
            (&[".env", "absent", "dangling"], &[".env"]),
            (&["secrets/"], &["secrets"]),
            (&["linked"], &["conf/real"]),
            (&["**/*.pem"], &["conf/a.pem", "conf/deep/b.pem"]),
            (&["conf/*.pem", "secrets/**"], &["conf/a.pem", "secrets"]),
            (&["link*"], &["conf/real"]),
        ] {
            assert_eq!(names(entries), expected, "{entries:?}");
        }
    }
}
