//! The paths that the gate has to know: the workdir, the operator's home and our own home, and the project whose memory
//! is the run's own.
//!
//! Core looks at no disk: these paths come in as data, and paths are put into plain form by their text alone.
//! Links are resolved where the file is opened (the workdir's handle, the sandbox).

use serde::{Deserialize, Serialize};

/// Absolute paths that the gate judges by.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Places {
    /// The folder that tools work in.
    pub workdir: String,
    /// The operator's home folder; empty if it is not known.
    pub home: String,
    /// Our own home, with journals, keys and profiles; empty if it is not known.
    pub runtime_home: String,
    /// The run's project, whose memory is its own; empty if none is known.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub project: String,
}

impl Default for Places {
    /// A workdir that does not exist, for when none is known: relative paths are judged the same in each.
    fn default() -> Self {
        Self {
            workdir: "/workdir".to_owned(),
            home: String::new(),
            runtime_home: String::new(),
            project: String::new(),
        }
    }
}

impl Places {
    /// The path in plain form, without `.`, `..` and repeated slashes: relative to the workdir if it lies inside
    /// (`.` is the workdir itself), absolute otherwise.
    ///
    /// `folder` is where a relative path begins, in plain form itself. `~` alone or before a slash is the home;
    /// of a home that is not known it stays.
    #[must_use]
    pub fn plain(&self, folder: &str, path: &str) -> String {
        let in_home = path.strip_prefix('~').filter(|rest| rest.is_empty() || rest.starts_with('/'));
        let whole = match in_home {
            Some(rest) if self.home.is_empty() => return plain_text(&format!("~{rest}")),
            Some(rest) => plain_text(&format!("{}{rest}", self.home)),
            None if path.starts_with('/') => plain_text(path),
            None if folder.starts_with(['/', '~']) => plain_text(&format!("{folder}/{path}")),
            None => plain_text(&format!("{}/{folder}/{path}", self.workdir)),
        };
        let workdir = plain_text(&self.workdir);
        match whole.strip_prefix(workdir.as_str()) {
            Some("") => ".".to_owned(),
            Some(inside) if workdir == "/" => inside.to_owned(),
            Some(inside) if inside.starts_with('/') => inside.trim_start_matches('/').to_owned(),
            Some(_) | None => whole,
        }
    }
}

/// An absolute path (or one that begins with `~`) without `.`, `..` and repeated slashes.
fn plain_text(path: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    for segment in path.split('/') {
        match segment {
            "" | "." => {}
            ".." if kept.last().is_some_and(|last| *last != "~") => drop(kept.pop()),
            ".." if kept.is_empty() => {}
            name => kept.push(name),
        }
    }
    let joined = kept.join("/");
    if path.starts_with('~') { joined } else { format!("/{joined}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_has_one_plain_form() {
        let known = Places { home: "/home/op".to_owned(), workdir: "/home/op/w".to_owned(), ..Places::default() };
        for (folder, path, plain) in [
            (".", "a/b", "a/b"),
            (".", "./a//b/../c/", "a/c"),
            ("sub", "..", "."),
            ("sub", "../..", "/home/op"),
            (".", "/home/op/w", "."),
            (".", "/home/op/w/x", "x"),
            (".", "/home/op/work", "/home/op/work"),
            (".", "~/w/x", "x"),
            (".", "~", "/home/op"),
            (".", "~other/x", "~other/x"),
            ("/tmp", "x", "/tmp/x"),
            (".", "../../../../../etc", "/etc"),
            (".", "/", "/"),
            (".", "", "."),
        ] {
            assert_eq!(known.plain(folder, path), plain, "{folder} {path}");
        }
        assert_eq!(Places::default().plain(".", "~/x"), "~/x");
        assert_eq!(Places::default().plain(".", "~/../x"), "~/../x");
        let root = Places { workdir: "/".to_owned(), ..Places::default() };
        assert_eq!(root.plain(".", "/etc"), "etc");
        assert_eq!(root.plain(".", "/"), ".");
    }
}
