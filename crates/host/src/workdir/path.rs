//! A path below the workdir, as text: what an agent means by what it wrote.

use std::fmt;
use std::path::{Component, Path};

use super::WorkdirError;

/// The longest path and the longest name in one, in bytes: what Linux allows.
const PATH_BYTES_MAX: usize = 4096;
const NAME_BYTES_MAX: usize = 255;
/// A path below the workdir: relative, without `.` and `..`; empty for the workdir itself.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorkPath(pub(super) String);

impl WorkPath {
    /// The path as text with `/` between its segments; `.` for the workdir itself.
    #[must_use]
    pub fn as_str(&self) -> &str {
        if self.0.is_empty() { "." } else { &self.0 }
    }

    /// The last segment; `.` for the workdir itself.
    #[must_use]
    pub fn name(&self) -> &str {
        self.as_str().rsplit('/').next().unwrap_or(".")
    }

    /// The path of `name` in this folder, or none if `name` is no single plain name.
    #[must_use]
    pub fn join(&self, name: &str) -> Option<Self> {
        let is_plain = !matches!(name, "" | "." | "..") && !name.contains(['/', '\0']);
        is_plain.then(|| Self(if self.0.is_empty() { name.to_owned() } else { format!("{}/{name}", self.0) }))
    }

    pub(super) fn split(&self) -> (&str, &str) {
        self.0.rsplit_once('/').unwrap_or(("", &self.0))
    }
}

impl fmt::Display for WorkPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The path below `root` that `given` means as text: the rule of [`Workdir::resolve`](super::Workdir::resolve).
///
/// # Errors
///
/// As there.
pub fn resolve_below(root: &Path, given: &str) -> Result<WorkPath, WorkdirError> {
    let shown = || given.chars().take(200).collect::<String>();
    if given.contains('\0') {
        return Err(WorkdirError::Unusable {
            path: shown().replace('\0', "\u{fffd}"),
            why: "it holds a NUL",
            code: "PATH_INVALID",
        });
    }
    if given.len() > PATH_BYTES_MAX || given.split('/').any(|name| name.len() > NAME_BYTES_MAX) {
        return Err(WorkdirError::Unusable { path: shown(), why: "it is too long", code: "ENAMETOOLONG" });
    }
    let mut segments: Vec<&str> = Vec::new();
    let base: Vec<&str> = if given.starts_with('/') { Vec::new() } else { named_components(root) };
    segments.extend(&base);
    for segment in given.split('/') {
        match segment {
            "" | "." => {}
            ".." => {
                segments.pop();
            }
            name => segments.push(name),
        }
    }
    // By whole segments, not by text: `/work-2` is not below `/work`, and `..foo` is a name.
    match segments.strip_prefix(named_components(root).as_slice()) {
        Some(below) => Ok(WorkPath(below.join("/"))),
        None => Err(WorkdirError::Escapes { path: shown() }),
    }
}

fn named_components(path: &Path) -> Vec<&str> {
    path.components()
        .filter_map(|component| if let Component::Normal(name) = component { name.to_str() } else { None })
        .collect()
}
