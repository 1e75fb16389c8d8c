//! The scope of a brief: files, folders, hosts and services. A call outside it is asked about.
//!
//! In: the entries of a brief's `scope:`. Out: whether a path, a target, a host or a service lies inside.
//! Each kind is held by itself: a scope that names no hosts says nothing of hosts. Paths are compared by their
//! text in plain form ([`Places::plain`]); links are resolved where the file is opened.
//!
//! Begin with [`Scope::covers_path`]; what the gate makes of it is in `decision.rs`.

use std::collections::BTreeMap;
use std::sync::Arc;

use globset::{GlobBuilder, GlobMatcher};
use serde::Deserialize;

use super::effect::{Target, UNKNOWN};
use super::places::Places;

/// The scope of a brief. The default holds nothing.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Scope {
    words: ScopeWords,
    paths: Option<Paths>,
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

/// The most patterns with wildcards that a scope may have: each is compiled, which takes about 20 KB.
pub const PATTERNS_MAX: usize = 2_000;

/// The paths of a scope. Those without wildcards are looked up, so there may be any number of them.
#[derive(Debug, Clone, Default, PartialEq)]
struct Paths {
    /// Each with whether all that lies below is inside too.
    literals: BTreeMap<String, bool>,
    patterns: Vec<Arc<Pattern>>,
}

/// A pattern of paths.
#[derive(Debug)]
struct Pattern {
    text: String,
    matcher: GlobMatcher,
    /// True if everything below is inside too.
    with_below: bool,
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        (&self.text, self.with_below) == (&other.text, other.with_below)
    }
}

/// True if `entry` can be read as a path or a pattern of paths.
#[must_use]
pub fn is_pattern_of_paths(entry: &str) -> bool {
    let (text, _) = read(entry);
    is_literal(text) || matcher(text).is_some()
}

/// Returns the number of entries of `words` with wildcards. More than [`PATTERNS_MAX`] are refused as they are read.
#[must_use]
pub fn patterns(words: &ScopeWords) -> usize {
    let entries = [&words.paths, &words.files, &words.folders].into_iter().flatten().flatten();
    entries.filter(|entry| !is_literal(read(entry).0)).count()
}

/// Files that are no files of anybody: writing to them changes nothing.
const NOBODYS: [&str; 4] = ["/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty"];

/// The path or pattern of an entry, and whether the entry says that all below is meant: `a/` and `a/**` are the folder
/// `a` with all that lies below.
fn read(entry: &str) -> (&str, bool) {
    let bare = entry.trim_end_matches('/');
    match bare.strip_suffix("/**") {
        Some(folder) => (folder, true),
        None if bare == "**" => (".", true),
        None if bare.is_empty() => ("/", true),
        None => (bare, bare.len() < entry.len()),
    }
}

/// True if a pattern matches only itself.
pub(super) fn is_literal(text: &str) -> bool {
    !text.contains(['*', '?', '[', ']', '{', '}', '\\'])
}

fn matcher(text: &str) -> Option<GlobMatcher> {
    let glob = GlobBuilder::new(text).literal_separator(true).backslash_escape(true).build().ok()?;
    Some(glob.compile_matcher())
}

impl Paths {
    /// Adds an entry; one that is no pattern of paths, or one too many, lets nothing in.
    fn add(&mut self, entry: &str, with_below: bool) {
        let (text, says_below) = read(entry);
        let with_below = with_below || says_below;
        if is_literal(text) {
            self.add_literal(text, with_below);
        } else if self.patterns.len() < PATTERNS_MAX {
            let pattern = matcher(text).map(|matcher| Pattern { text: text.to_owned(), matcher, with_below });
            self.patterns.extend(pattern.map(Arc::new));
        }
    }

    fn add_literal(&mut self, path: &str, with_below: bool) {
        *self.literals.entry(path.to_owned()).or_default() |= with_below;
    }

    /// True if the path itself is let in.
    fn covers(&self, path: &str) -> bool {
        self.literals.contains_key(path)
            || self.patterns.iter().any(|pattern| pattern.matcher.is_match(path))
            || self.covers_below(path)
    }

    /// True if the path and everything below it are let in.
    fn covers_below(&self, path: &str) -> bool {
        let has_below = |folder: &str| self.literals.get(folder).copied().unwrap_or_default();
        let is_workdir = !path.starts_with(['/', '~']) && has_below(".");
        is_workdir
            || has_below("/")
            || ancestors(path).any(|folder| {
                has_below(folder)
                    || self.patterns.iter().any(|pattern| pattern.with_below && pattern.matcher.is_match(folder))
            })
    }

    /// True if the pattern is one of the entries, word for word.
    fn names(&self, pattern: &str) -> bool {
        self.literals.contains_key(pattern) || self.patterns.iter().any(|known| known.text == pattern)
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
        let names_paths = words.paths.is_some() || words.files.is_some() || words.folders.is_some();
        let lower = |texts: &Vec<String>| texts.iter().map(|text| text.to_ascii_lowercase()).collect();
        Self {
            words: words.clone(),
            paths: names_paths.then(|| {
                let mut paths = Paths::default();
                for (entries, with_below) in [(&words.paths, true), (&words.files, false), (&words.folders, true)] {
                    entries.iter().flatten().for_each(|entry| paths.add(entry, with_below));
                }
                paths
            }),
            hosts: words.hosts.as_ref().map(lower),
            services: words.services.clone(),
        }
    }

    /// The same scope with its paths in plain form, as they lie from `places`.
    #[must_use]
    pub fn placed(&self, places: &Places) -> Self {
        let paths = self.paths.as_ref().map(|paths| {
            let mut placed = Paths::default();
            paths.literals.iter().for_each(|(text, below)| placed.add(&places.plain(".", text), *below));
            paths.patterns.iter().for_each(|pattern| {
                let text = places.plain(".", &pattern.text);
                if text == pattern.text {
                    placed.patterns.push(pattern.clone());
                } else {
                    placed.add(&text, pattern.with_below);
                }
            });
            placed
        });
        Self { paths, ..self.clone() }
    }

    /// The same scope with what `targets` stand for besides; nothing is added to one that names no paths.
    #[must_use]
    pub fn with_targets<'a>(&self, targets: impl IntoIterator<Item = &'a Target>) -> Self {
        let mut paths = self.paths.clone();
        if let Some(paths) = &mut paths {
            for target in targets {
                if target.is_pattern {
                    paths.add(&target.path, target.is_recursive);
                } else {
                    paths.add_literal(&target.path, target.is_recursive);
                }
            }
        }
        Self { paths, ..self.clone() }
    }

    /// The words that it was read from.
    #[must_use]
    pub fn words(&self) -> &ScopeWords {
        &self.words
    }

    /// True if it holds nothing at all.
    #[must_use]
    pub fn is_open(&self) -> bool {
        *self == Self::default()
    }

    /// True if the scope names paths, so that a path can lie outside.
    #[must_use]
    pub fn names_paths(&self) -> bool {
        self.paths.is_some()
    }

    /// True if a path in plain form lies inside; always true if the scope names no paths.
    #[must_use]
    pub fn covers_path(&self, path: &str) -> bool {
        let Some(paths) = &self.paths else { return true };
        if leads_up(path) {
            return false;
        }
        NOBODYS.contains(&path) || paths.covers(path)
    }

    /// True if all files that `target` stands for lie inside. A pattern lies inside if the folder that it begins in
    /// does with everything below, or if the scope has the pattern word for word.
    #[must_use]
    pub fn covers_target(&self, target: &Target) -> bool {
        let Some(paths) = &self.paths else { return true };
        if target.path == UNKNOWN || leads_up(&target.path) {
            return false;
        }
        if target.is_pattern {
            let folder = fixed_folder(&target.path);
            let has_dots = target.path.split('/').any(|segment| segment.starts_with('.') && is_wild(segment));
            return (!has_dots && paths.covers_below(folder)) || (paths.names(&target.path) && !target.is_recursive);
        }
        if target.is_recursive {
            return paths.covers_below(&target.path);
        }
        self.covers_path(&target.path)
    }

    /// True if a host lies inside; always true if the scope names neither hosts nor services.
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

    /// True if a tool server lies inside; always true if the scope names no services.
    #[must_use]
    pub fn covers_service(&self, server: &str) -> bool {
        self.services.as_ref().is_none_or(|services| services.iter().any(|name| name == server))
    }
}

/// True if a path still has `..` in it: one below a home that is not known, or one that was written by somebody else.
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
    fn many_paths_are_looked_up_and_patterns_are_bounded() {
        let many: Vec<String> = (0..50_000).map(|number| format!("src/part{number}/**")).collect();
        let listed = ScopeWords { paths: Some(many), ..Default::default() };
        assert_eq!(patterns(&listed), 0);
        let scope = Scope::new(&listed).placed(&Places::default());
        assert!(scope.covers_path("src/part49999/a/b.rs") && !scope.covers_path("src/part50000/a"));
        let wild: Vec<String> = (0..PATTERNS_MAX + 1).map(|number| format!("src/*{number}.rs")).collect();
        let listed = ScopeWords { files: Some(wild), ..Default::default() };
        assert_eq!(patterns(&listed), PATTERNS_MAX + 1);
    }

    #[test]
    fn a_name_with_the_characters_of_patterns_stands_for_itself_as_a_target() {
        let target = Target { path: "a[1]{b}*".to_owned(), is_pattern: false, is_recursive: false };
        let scope = words(&["docs"], &[], &[]).with_targets([&target]);
        assert!(scope.covers_path("a[1]{b}*") && !scope.covers_path("a1b"));
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
