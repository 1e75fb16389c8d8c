//! The content of the workdir as a whole, for whoever watches over a run: its identity, what of it is kept, which files
//! are tests, and the files that tell how the run stands.

use std::collections::BTreeMap;
use std::path::{Component, Path};

use adjutant_core::words::deed::{FileContent, StatusFile};
use adjutant_core::words::tool::content_hash;
use adjutant_host::checkpoint::{
    self, CHECKPOINTS_MAX, CheckpointError, CheckpointName, OWN_FOLDER, TreeIdentity, TreeLimits,
};
use adjutant_host::state_files::{self, StateFileChange};
use adjutant_ports::TreeSight;
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use ignore::WalkBuilder;

use super::NativeTools;

/// The most tests that are told one by one; with more of them nothing is said of any.
const TESTS_MAX: usize = 5_000;
/// The largest test that is read, in bytes.
const TEST_BYTES_MAX: u64 = 4 << 20;

/// Names of files that are tests where a brief doesn't say.
const USUAL_TESTS: [&str; 10] = [
    "**/test/**", "**/tests/**", "**/__tests__/**", "**/spec/**", "**/test_*", "**/*_test.*", "**/*.test.*",
    "**/*.spec.*", "**/*_spec.*", "**/tests.*",
];

/// A request to identify the content of a workdir, with texts of its own.
pub(super) struct OwnedTreeAsk {
    pub(super) run: String,
    pub(super) keep: Option<String>,
    pub(super) files: Vec<String>,
    pub(super) tests: Vec<String>,
}

impl NativeTools {
    /// See [`Tools::identify`](adjutant_ports::Tools::identify).
    pub(super) async fn identified(&self, ask: OwnedTreeAsk) -> TreeSight {
        self.looking(move |inner| sight(inner.workdir.root(), &ask)).await
    }

    /// See [`Tools::write_state`](adjutant_ports::Tools::write_state).
    pub(super) async fn state_written(&self, files: Vec<StatusFile>) -> Result<(), String> {
        self.looking(move |inner| write(inner.workdir.root(), files)).await
    }
}

fn sight(workdir: &Path, ask: &OwnedTreeAsk) -> TreeSight {
    let limits = TreeLimits::default();
    let look = checkpoint::look(workdir, &limits);
    let (tree, mut error) = match look.tree {
        TreeIdentity::Known { id } => (Some(id), None),
        TreeIdentity::Unknown { why } => (None, Some(why)),
    };
    let mut sight = TreeSight { tree, head: look.head, ..TreeSight::default() };
    if let Some(number) = ask.keep.as_deref().and_then(|name| name.parse::<u64>().ok()) {
        match kept(workdir, &ask.run, number, &limits) {
            Ok((kept, changed, more)) => (sight.kept, sight.changed, sight.more) = (Some(kept), changed, more),
            // Without a repository there are no checkpoints, and all else holds.
            Err(CheckpointError::NoRepository) => {}
            Err(failed) => error = error.or_else(|| Some(format!("the files can't be kept: {failed}"))),
        }
    }
    sight.absent = ask.files.iter().filter(|path| !is_there(workdir, path)).cloned().collect();
    match tests(workdir, &ask.tests) {
        Ok(tests) => sight.tests = tests,
        Err(why) => error = error.or(Some(why)),
    }
    sight.error = error;
    sight
}

/// Keeps the content; returns its ref, and what differs from the checkpoint before.
fn kept(
    workdir: &Path,
    run: &str,
    number: u64,
    limits: &TreeLimits,
) -> Result<(String, Vec<String>, u64), CheckpointError> {
    let made = checkpoint::keep(workdir, run, number, limits)?;
    let all = checkpoint::list(workdir, run)?;
    let before = all.iter().rfind(|one| matches!(one.name, CheckpointName::Iteration(other) if other < number));
    let differing = match before {
        Some(before) => checkpoint::differing_paths(workdir, &before.commit, &made.commit)?,
        None => checkpoint::DifferingPaths::default(),
    };
    checkpoint::remove_old(workdir, run, CHECKPOINTS_MAX)?;
    Ok((format!("refs/adjutant/loop/{run}/{number}"), differing.paths, differing.more))
}

/// Returns true if a file of this path is there, below the workdir and with content. Git's own files and ours are none of
/// its files.
fn is_there(workdir: &Path, path: &str) -> bool {
    let mut parts = Path::new(path).components();
    let is_below = parts.clone().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    let is_own = parts.any(|part| matches!(part.as_os_str().to_str(), Some(".git" | OWN_FOLDER)));
    let found = std::fs::metadata(workdir.join(path));
    is_below && !is_own && found.is_ok_and(|found| found.is_file() && found.len() > 0)
}

/// Returns the tests by path, each with a hash of its content.
fn tests(workdir: &Path, patterns: &[String]) -> Result<BTreeMap<String, String>, String> {
    let set = matcher(patterns)?;
    let mut found = BTreeMap::new();
    let mut walk = WalkBuilder::new(workdir);
    // What is named is protected whether it is ignored or not.
    let walk = walk.standard_filters(patterns.is_empty()).hidden(false).require_git(false).filter_entry(|entry| {
        let name = entry.file_name();
        entry.depth() != 1 || name != ".git" && name != OWN_FOLDER
    });
    for entry in walk.build().flatten() {
        let Ok(path) = entry.path().strip_prefix(workdir) else { continue };
        let is_file = entry.file_type().is_some_and(|kind| kind.is_file());
        // An empty test is none.
        if !is_file || !set.is_match(path) || entry.metadata().is_ok_and(|found| found.len() == 0) {
            continue;
        }
        if found.len() == TESTS_MAX {
            return Err(format!("there are more than {TESTS_MAX} tests: name fewer in `protected_tests`"));
        }
        found.insert(path.display().to_string(), hash(entry.path()));
    }
    Ok(found)
}

/// Returns a hash of a file's content; of its length alone if it is too large to read.
fn hash(path: &Path) -> String {
    let length = std::fs::metadata(path).map_or(0, |found| found.len());
    if length > TEST_BYTES_MAX {
        return format!("{length} bytes");
    }
    std::fs::read(path).map_or_else(|_| "unread".to_owned(), |content| content_hash(&content)[..16].to_owned())
}

fn matcher(patterns: &[String]) -> Result<GlobSet, String> {
    let mut set = GlobSetBuilder::new();
    let usual = USUAL_TESTS.map(str::to_owned);
    for pattern in if patterns.is_empty() { &usual[..] } else { patterns } {
        let glob = GlobBuilder::new(pattern).literal_separator(true).build();
        set.add(glob.map_err(|error| format!("`{pattern}` is no pattern of files: {error}"))?);
    }
    set.build().map_err(|error| format!("the patterns of tests can't be used: {error}"))
}

fn write(workdir: &Path, files: Vec<StatusFile>) -> Result<(), String> {
    let is_it = |file: &StatusFile| match &file.content {
        FileContent::Gone(Some(text)) => {
            state_files::read(workdir, &file.path).is_ok_and(|had| had.as_deref() == Some(text.as_bytes()))
        }
        FileContent::Gone(None) | FileContent::Text(_) | FileContent::Unless(_) => true,
    };
    let changes: Vec<state_files::StateFile> = files
        .into_iter()
        .filter(is_it)
        .map(|file| state_files::StateFile {
            path: file.path,
            change: match file.content {
                FileContent::Text(text) => StateFileChange::Replace(text.into_bytes()),
                FileContent::Unless(text) => StateFileChange::CreateNew(text.into_bytes()),
                FileContent::Gone(_) => StateFileChange::Remove,
            },
        })
        .collect();
    let failed = state_files::apply(workdir, &changes).into_iter().find_map(Result::err);
    failed.map_or(Ok(()), |failed| Err(format!("`.adjutant/{}` can't be written: {}", failed.path, failed.why)))
}
