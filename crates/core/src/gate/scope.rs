//! What a brief is about: files, folders, hosts and services. What lies outside is asked for.
//!
//! In: the entries of a brief's `scope:`. Out: whether a path, a target, a host or a service lies inside.
//! Each kind is held by itself: a scope that names no hosts says nothing of hosts. Paths are compared by their
//! text in plain form ([`Places::plain`]); links are the business of whoever opens the file.
//!
//! Begin with [`Scope::covers_path`]; what the gate makes of it is in `decision.rs`.

use globset::{GlobBuilder, GlobMatcher};
use serde::Deserialize;

use super::effect::{Target, UNKNOWN};
use super::places::Places;

/// What a brief is about. The default holds nothing.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Scope {
    words: ScopeWords,
    paths: Option<Vec<PathEntry>>,
    hosts: Option<Vec<String>>,
    services: Option<Vec<String>>,
}

/// The words of a scope as a brief has them. A list that is there and empty lets nothing in.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ScopeWords {
    /// Paths, each with all that lies below: what stands in a plain list.
    pub paths: Option<Vec<String>>,
    /// Files.
    pub files: Option<Vec<String>>,
    /// Folders, each with all that lies below.
    pub folders: Option<Vec<String>>,
    /// Hosts; `*.example.org` stands for every host below that one.
    pub hosts: Option<Vec<String>>,
    /// Tool servers.
    pub services: Option<Vec<String>>,
}

impl ScopeWords {
    /// The lists that are there, each with its name.
    pub fn lists(&self) -> impl Iterator<Item = (&'static str, &[String])> {
        let lists = [
            ("paths", &self.paths),
            ("files", &self.files),
            ("folders", &self.folders),
            ("hosts", &self.hosts),
            ("services", &self.services),
        ];
        lists.into_iter().filter_map(|(name, list)| Some((name, list.as_deref()?)))
    }
}

/// A path or a pattern of paths.
#[derive(Debug, Clone)]
struct PathEntry {
    text: String,
    matcher: GlobMatcher,
    /// Whether all that lies below is inside too.
    with_below: bool,
}

impl PartialEq for PathEntry {
    fn eq(&self, other: &Self) -> bool {
        (&self.text, self.with_below) == (&other.text, other.with_below)
    }
}

/// Whether `entry` can be read as a path or a pattern of paths.
#[must_use]
pub fn is_pattern_of_paths(entry: &str) -> bool {
    PathEntry::new(entry, false).is_some()
}

/// Files that are no files of anybody: writing to them changes nothing.
const NOBODYS: [&str; 4] = ["/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty"];

impl PathEntry {
    /// `a/` and `a/**` are the folder `a` with all that lies below.
    fn new(entry: &str, with_below: bool) -> Option<Self> {
        let bare = entry.trim_end_matches('/');
        let (text, below) = match bare.strip_suffix("/**") {
            Some(folder) => (folder, true),
            None if bare == "**" => (".", true),
            None if bare.is_empty() => ("/", true),
            None => (bare, bare.len() < entry.len()),
        };
        let glob = GlobBuilder::new(text).literal_separator(true).backslash_escape(true).build().ok()?;
        Some(Self { text: text.to_owned(), matcher: glob.compile_matcher(), with_below: with_below || below })
    }

    /// Whether it lets in the path itself.
    fn covers(&self, path: &str) -> bool {
        self.matcher.is_match(path) || self.covers_below(path)
    }

    /// Whether the path and all that lies below it are let in.
    fn covers_below(&self, path: &str) -> bool {
        if !self.with_below {
            return false;
        }
        let is_workdir = self.text == "." && !path.starts_with(['/', '~']);
        is_workdir || self.text == "/" || ancestors(path).any(|folder| self.matcher.is_match(folder))
    }
}

/// The path itself and every folder that it lies in.
fn ancestors(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(path), |path| path.rsplit_once('/').map(|(folder, _)| folder))
        .take_while(|path| !path.is_empty())
}

impl Scope {
    /// The scope that `words` describe. An entry that is no pattern of paths lets nothing in.
    #[must_use]
    pub fn new(words: &ScopeWords) -> Self {
        let entries = |texts: &Option<Vec<String>>, with_below: bool| {
            texts.iter().flatten().filter_map(move |text| PathEntry::new(text, with_below)).collect::<Vec<_>>()
        };
        let names_paths = words.paths.is_some() || words.files.is_some() || words.folders.is_some();
        let lower = |texts: &Vec<String>| texts.iter().map(|text| text.to_ascii_lowercase()).collect();
        Self {
            words: words.clone(),
            paths: names_paths.then(|| {
                [entries(&words.paths, true), entries(&words.files, false), entries(&words.folders, true)].concat()
            }),
            hosts: words.hosts.as_ref().map(lower),
            services: words.services.clone(),
        }
    }

    /// The same scope with its paths in plain form, as they lie from `places`.
    #[must_use]
    pub fn placed(&self, places: &Places) -> Self {
        let place = |entry: &PathEntry| PathEntry::new(&places.plain(".", &entry.text), entry.with_below);
        let paths = self.paths.as_ref().map(|entries| entries.iter().filter_map(place).collect());
        Self { paths, ..self.clone() }
    }

    /// The same scope with what `targets` stand for besides; nothing is added to one that names no paths.
    #[must_use]
    pub fn with_targets<'a>(&self, targets: impl IntoIterator<Item = &'a Target>) -> Self {
        let entry = |target: &Target| {
            if target.path == "." {
                return PathEntry::new(".", target.is_recursive);
            }
            let literal = || globset::escape(&target.path);
            let text = if target.is_pattern { target.path.clone() } else { literal() };
            PathEntry::new(&text, target.is_recursive)
        };
        let mut paths = self.paths.clone();
        if let Some(entries) = &mut paths {
            entries.extend(targets.into_iter().filter_map(entry));
        }
        Self { paths, ..self.clone() }
    }

    /// The words that it was read from.
    #[must_use]
    pub fn words(&self) -> &ScopeWords {
        &self.words
    }

    /// Whether it holds nothing at all.
    #[must_use]
    pub fn is_open(&self) -> bool {
        *self == Self::default()
    }

    /// Whether the scope names paths, so that a path can lie outside.
    #[must_use]
    pub fn names_paths(&self) -> bool {
        self.paths.is_some()
    }

    /// Whether a path in plain form lies inside; each does if the scope names no paths.
    #[must_use]
    pub fn covers_path(&self, path: &str) -> bool {
        let Some(entries) = &self.paths else { return true };
        if leads_up(path) {
            return false;
        }
        NOBODYS.contains(&path) || entries.iter().any(|entry| entry.covers(path))
    }

    /// Whether all files that `target` stands for lie inside. A pattern does if the folder that it begins in
    /// does with all that lies below, or if the scope has it word for word.
    #[must_use]
    pub fn covers_target(&self, target: &Target) -> bool {
        let Some(entries) = &self.paths else { return true };
        if target.path == UNKNOWN || leads_up(&target.path) {
            return false;
        }
        if target.is_pattern {
            let folder = fixed_folder(&target.path);
            let has_dots = target.path.split('/').any(|segment| segment.starts_with('.') && is_wild(segment));
            let word_for_word = |entry: &PathEntry| entry.text == target.path && !target.is_recursive;
            return entries.iter().any(|entry| (!has_dots && entry.covers_below(folder)) || word_for_word(entry));
        }
        if target.is_recursive {
            return entries.iter().any(|entry| entry.covers_below(&target.path));
        }
        self.covers_path(&target.path)
    }

    /// Whether a host lies inside; each does if the scope names neither hosts nor services.
    ///
    /// `host` may have a port, which does not count, nor does case.
    #[must_use]
    pub fn covers_host(&self, host: &str) -> bool {
        if self.hosts.is_none() && self.services.is_none() {
            return true;
        }
        let host = without_port(host).trim_end_matches('.').to_ascii_lowercase();
        let is_named = |entry: &String| match entry.strip_prefix("*.") {
            Some(parent) => host.strip_suffix(parent).is_some_and(|below| below.len() > 1 && below.ends_with('.')),
            None => *entry == host,
        };
        self.hosts.iter().flatten().any(is_named)
    }

    /// Whether a tool server lies inside; each does if the scope names no services.
    #[must_use]
    pub fn covers_service(&self, server: &str) -> bool {
        self.services.as_ref().is_none_or(|services| services.iter().any(|name| name == server))
    }
}

/// Whether a path is not in plain form after all: of a home that is not known, or written by somebody else.
fn leads_up(path: &str) -> bool {
    path.split('/').any(|segment| segment == "..")
}

/// A host without its port: `[::1]:80` is `[::1]`, an address of version 6 without brackets stays as it is.
fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, _)) if name.ends_with(']') || !name.contains(':') => name,
        Some(_) | None => host,
    }
}

/// The folder in which a pattern begins: everything before the first segment with a wildcard.
fn fixed_folder(pattern: &str) -> &str {
    let mut end = 0;
    for segment in pattern.split('/') {
        if is_wild(segment) {
            break;
        }
        end += segment.len() + 1;
    }
    match end {
        0 => ".",
        1 if pattern.starts_with('/') => "/",
        _ => &pattern[..(end - 1).min(pattern.len())],
    }
}

fn is_wild(segment: &str) -> bool {
    segment.contains(['*', '?', '['])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(paths: &[&str], files: &[&str], folders: &[&str]) -> Scope {
        let some = |texts: &[&str]| (!texts.is_empty()).then(|| texts.iter().map(|&text| text.to_owned()).collect());
        let words = ScopeWords { paths: some(paths), files: some(files), folders: some(folders), ..Default::default() };
        Scope::new(&words).placed(&Places {
            workdir: "/home/op/w".to_owned(),
            home: "/home/op".to_owned(),
            ..Places::default()
        })
    }

    #[test]
    fn a_path_lies_inside_by_its_text() {
        let scope =
            words(&["docs", "./a//b"], &["*.toml", "src/**/*.{rs,md}", "~/notes"], &["crates/*/src", "/srv/x/"]);
        for (path, inside) in [
            ("docs", true),
            ("docs/a/b", true),
            ("docsx", false),
            ("a/b", true),
            ("Cargo.toml", true),
            ("x/Cargo.toml", false),
            ("src/a/b.rs", true),
            ("src/b.md", true),
            ("src/b.c", false),
            ("crates/core/src/lib.rs", true),
            ("crates/core/src", true),
            ("crates/core", false),
            ("crates/a/b/src/x", false),
            ("/srv/x/y", true),
            ("/srv/y", false),
            ("/home/op/notes", true),
            ("/home/op/notes/x", false),
            ("/dev/null", true),
            (".", false),
            ("", false),
            ("?", false),
            ("docs/../x", false),
        ] {
            assert_eq!(scope.covers_path(path), inside, "{path}");
        }
        assert!(words(&["/home/op/w"], &[], &[]).covers_path("any/thing"));
        assert!(words(&["**"], &[], &[]).covers_path("any/thing"));
        assert!(!words(&["**"], &[], &[]).covers_path("/etc/passwd"));
        assert!(Scope::default().covers_path("/etc/passwd"));
    }

    #[test]
    fn a_target_lies_inside_only_with_all_that_it_stands_for() {
        let scope = words(&[], &["one", "*.o"], &["src"]);
        for (path, is_pattern, is_recursive, inside) in [
            ("one", false, false, true),
            ("one", false, true, false),
            ("src", false, true, true),
            ("src/x", false, true, true),
            (".", false, true, false),
            ("src/*.rs", true, true, true),
            ("src/.*", true, true, false),
            ("src/../*", true, false, false),
            ("*", true, false, false),
            ("*.o", true, false, true),
            ("*.o", true, true, false),
            ("sr*/x", true, false, false),
            ("/*", true, false, false),
            ("?", false, false, false),
        ] {
            let target = Target { path: path.to_owned(), is_pattern, is_recursive };
            assert_eq!(scope.covers_target(&target), inside, "{target:?}");
        }
    }

    #[test]
    fn each_kind_is_held_by_itself() {
        let hosts = Some(["Example.org", "*.example.com"].map(str::to_owned).to_vec());
        let scope = Scope::new(&ScopeWords { hosts, ..Default::default() });
        assert!(scope.covers_path("anything") && scope.covers_service("git"));
        for (host, inside) in [
            ("example.org", true),
            ("EXAMPLE.ORG:443", true),
            ("example.org.", true),
            ("a.example.org", false),
            ("a.example.com", true),
            ("a.b.example.com:8", true),
            ("example.com", false),
            ("badexample.com", false),
            ("example.org.evil.net", false),
            (UNKNOWN, false),
        ] {
            assert_eq!(scope.covers_host(host), inside, "{host}");
        }
        let none = Scope::new(&ScopeWords { services: Some(vec![]), ..Default::default() });
        assert!(!none.covers_service("git") && !none.covers_host("example.org") && none.covers_path("a"));
        assert_eq!(without_port("[::1]:80"), "[::1]");
        assert_eq!(without_port("::1"), "::1");
    }
}
