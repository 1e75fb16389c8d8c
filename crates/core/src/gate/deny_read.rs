//! Files that no agent may read: the operator's `deny_read`.
//!
//! In: paths and patterns of the workdir, each with all that lies below, as in a brief's scope. Out: the entry that
//! names a path. The gate holds it against where a call really gets; the sandbox hides the same files from commands.

use thiserror::Error;

use super::scope::{PATTERNS_MAX, Scope, ScopeWords, is_literal, is_pattern_of_paths};

/// The entries of a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DenyRead {
    entries: Vec<(String, Scope)>,
}

/// A fault of the entries.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum BadEntry {
    /// One names nothing.
    #[error("`{0}` is no path or pattern of paths in the working folder")]
    NoPattern(String),
    /// There are too many.
    #[error("there are {0} entries, and {PATTERNS_MAX} are allowed")]
    TooMany(usize),
}

impl DenyRead {
    /// Reads entries such as `.env`, `**/*.pem` and `secrets/`.
    ///
    /// # Errors
    ///
    /// The first that names nothing in a workdir, or that there are more than [`PATTERNS_MAX`].
    pub fn parse(texts: &[String]) -> Result<Self, BadEntry> {
        if texts.len() > PATTERNS_MAX {
            return Err(BadEntry::TooMany(texts.len()));
        }
        match texts.iter().find(|text| !names_something(text)) {
            Some(text) => Err(BadEntry::NoPattern(text.clone())),
            None => Ok(Self::recorded(texts)),
        }
    }

    /// The entries that a run has on record. They could be used when it began.
    #[must_use]
    pub fn recorded(texts: &[String]) -> Self {
        let scope = |text: &String| {
            Scope::new(&ScopeWords { paths: Some(vec![bare(text).to_owned()]), ..ScopeWords::default() })
        };
        Self { entries: texts.iter().map(|text| (text.clone(), scope(text))).collect() }
    }

    /// Returns whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// All entries as paths, if none has a wildcard.
    #[must_use]
    pub fn without_wildcards(&self) -> Option<Vec<String>> {
        let path = |text: &str| is_literal(text).then(|| bare(text).trim_end_matches('/').to_owned());
        self.entries.iter().map(|(text, _)| path(text)).collect()
    }

    /// The entry that names `path`, which is in plain form and relative to the workdir.
    #[must_use]
    pub fn entry(&self, path: &str) -> Option<&str> {
        // What lies outside is nobody's to read here anyway.
        let mut entries = self.entries.iter().filter(|_| !path.starts_with(['/', '~']));
        entries.find(|(_, scope)| scope.covers_path(path)).map(|(text, _)| text.as_str())
    }
}

/// Returns an entry without the sign for the workdir.
fn bare(text: &str) -> &str {
    text.trim_start_matches("./")
}

fn names_something(text: &str) -> bool {
    let path = bare(text);
    let leads_out = path.starts_with(['/', '~']) || path.split('/').any(|part| part == "..");
    let is_all = matches!(path.trim_matches('/'), "" | "." | "*" | "**");
    !leads_out && !is_all && !path.contains('\0') && is_pattern_of_paths(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(texts: &[&str]) -> Result<DenyRead, BadEntry> {
        DenyRead::parse(&texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn an_entry_names_a_path_with_all_below() {
        let entries = of(&[".env", "./secrets/", "**/*.pem", "conf/*.key"]).unwrap();
        for (path, expected) in [
            (".env", Some(".env")),
            ("secrets", Some("./secrets/")),
            ("secrets/a/b", Some("./secrets/")),
            ("a.pem", Some("**/*.pem")),
            ("x/y/a.pem", Some("**/*.pem")),
            ("conf/a.key", Some("conf/*.key")),
            ("conf/x/a.key", None),
            ("src/.env", None),
            (".envrc", None),
            ("secrets2", None),
            (".", None),
            ("/dev/null", None),
        ] {
            assert_eq!(entries.entry(path), expected, "{path}");
        }
    }

    #[test]
    fn what_names_nothing_or_everything_is_refused() {
        for text in ["", ".", "./", "*", "**", "/etc/passwd", "~/.ssh", "../x", "a/../../x", "a[", "a\0b"] {
            assert_eq!(of(&[".env", text]), Err(BadEntry::NoPattern(text.to_owned())), "{text}");
        }
        let many = vec!["a"; PATTERNS_MAX + 1];
        assert_eq!(of(&many), Err(BadEntry::TooMany(PATTERNS_MAX + 1)));
    }
}
