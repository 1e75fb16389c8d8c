//! The files that calls of this sitting change, as they were before the first of them.

use std::collections::BTreeMap;

use adjutant_core::words::tool::FileChange;
use adjutant_core::words::visible::visible_line;

use super::diff::{Before, ShownDiff, net_counts, written};
use super::folder_view::FolderView;
use crate::totals::{FileFate, FileTotal};

/// The most text that is kept to be compared at the end, in bytes: what is longer counts as changed, without lines.
const KEPT_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Files as they were.
#[derive(Debug, Default)]
pub(super) struct ChangedFiles {
    files: BTreeMap<String, (Option<String>, Before)>,
    kept_bytes: usize,
}

impl ChangedFiles {
    /// Takes note of the changes that a call is about to make.
    pub(super) fn note(&mut self, changes: &[FileChange], folder: &FolderView) {
        for change in changes {
            if self.files.contains_key(&change.path) {
                continue;
            }
            let before = match &change.before {
                None => Before::Absent,
                Some(_) if self.kept_bytes > KEPT_BYTES_MAX => Before::Unknown("too much to keep"),
                Some(_) => folder.read(&change.path),
            };
            if let Before::Text(text) = &before {
                self.kept_bytes += text.len();
            }
            self.files.insert(change.path.clone(), (change.before.clone(), before));
        }
    }

    /// Compares files with how they were before the run: `first_hashes` has the hash that each had then, or none. A file
    /// that is as it was is left out.
    pub(super) fn totals(
        &self,
        first_hashes: &BTreeMap<String, Option<String>>,
        folder: &FolderView,
    ) -> Vec<FileTotal> {
        let total = |(path, hash): (&String, &Option<String>)| {
            let (before, now) = (self.before(path, hash.as_deref()), folder.read(path));
            let change = match (&before, &now) {
                (Before::Absent, Before::Absent) => return None,
                (Before::Absent, _) => FileFate::Created,
                (_, Before::Absent) => FileFate::Deleted,
                (before, now) if before == now && matches!(now, Before::Text(_)) => return None,
                _ => FileFate::Changed,
            };
            let counts = match (&before, &now) {
                (Before::Unknown(_), _) | (_, Before::Unknown(_)) => None,
                (before, now) => net_counts(before.text(), now.text()),
            };
            let (added, removed) = counts.unzip();
            Some(FileTotal { path: path.clone(), change, added, removed })
        };
        first_hashes.iter().filter_map(total).collect()
    }

    /// Returns what became of the files since, of each that is not as it was.
    pub(super) fn diffs(&self, folder: &FolderView) -> Vec<ShownDiff> {
        let diff = |(path, (_, before)): (&String, &(Option<String>, Before))| {
            let now = folder.read(path);
            let path = visible_line(path);
            match (before, &now) {
                (before, now) if before == now => None,
                (before, Before::Absent) => Some(written(&format!("{path} (deleted)"), before, "")),
                (before, now) => Some(written(&path, before, now.text())),
            }
        };
        self.files.iter().filter_map(diff).collect()
    }

    /// Returns a file as it was when its content had this hash; absent if it had none.
    fn before(&self, path: &str, hash: Option<&str>) -> Before {
        match (hash, self.files.get(path)) {
            (None, _) => Before::Absent,
            (Some(hash), Some((Some(found), before))) if found == hash => before.clone(),
            (Some(_), _) => Before::Unknown("changed in an earlier sitting"),
        }
    }
}

#[cfg(test)]
mod tests {
    use adjutant_core::gate::secrets::SecretSet;
    use adjutant_core::words::tool::content_hash;

    use super::*;

    #[test]
    fn files_are_compared_with_how_they_were_before_the_run() {
        let place = tempfile::tempdir().expect("a folder");
        let write = |name: &str, text: &str| std::fs::write(place.path().join(name), text).expect("written");
        let folder = FolderView::new(place.path().to_owned(), SecretSet::default());
        let hash = |text: &str| Some(content_hash(text.as_bytes()));
        let change = |path: &str, before: Option<String>| FileChange { path: path.to_owned(), before, after: None };
        for name in ["changed", "gone", "back", "earlier"] {
            write(name, "one\ntwo\n");
        }
        let first = hash("one\ntwo\n");
        let mut files = ChangedFiles::default();
        files.note(&["changed", "gone", "back", "earlier"].map(|path| change(path, first.clone())), &folder);
        files.note(&[change("new", None)], &folder);
        write("changed", "one\n2\n3\n");
        write("new", "a\n");
        std::fs::remove_file(place.path().join("gone")).expect("removed");
        // A second change is no other beginning.
        files.note(&[change("changed", hash("one\n2\n3\n"))], &folder);
        let mut hashes: BTreeMap<String, Option<String>> =
            ["changed", "gone", "back"].map(|path| (path.to_owned(), first.clone())).into();
        hashes.insert("new".to_owned(), None);
        // It was changed by an earlier sitting first.
        hashes.insert("earlier".to_owned(), hash("before"));
        let total = |path: &str, change, counts: Option<(usize, usize)>| {
            let (added, removed) = counts.unzip();
            FileTotal { path: path.to_owned(), change, added, removed }
        };
        assert_eq!(
            files.totals(&hashes, &folder),
            [
                total("changed", FileFate::Changed, Some((2, 1))),
                total("earlier", FileFate::Changed, None),
                total("gone", FileFate::Deleted, Some((0, 2))),
                total("new", FileFate::Created, Some((1, 0))),
            ]
        );
    }
}
