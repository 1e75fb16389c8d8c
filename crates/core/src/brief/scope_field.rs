//! The field `scope`: a list of paths, or a map of lists for files, folders, hosts and services.

use super::fields::warn_of_unknown;
use super::list_fields::texts_of;
use super::node::{BriefNode, Map};
use super::problem::{Problem, Problems};
use crate::gate::ScopeWords;
use crate::gate::scope::{PATTERNS_MAX, is_pattern_of_paths, patterns};

/// The keys of a scope, in the order in which the help lists them.
const KEYS: [&str; 4] = ["files", "folders", "hosts", "services"];

/// Reads the brief's scope; `None` if it names none.
///
/// A part that can't be read lets nothing in: a slip must not open what was meant to be closed.
pub(super) fn scope(map: &Map, problems: &mut Problems<'_>) -> Option<ScopeWords> {
    let node = &map.get("scope")?.node;
    if node.is_blank() {
        return None;
    }
    let closed = ScopeWords { paths: Some(Vec::new()), ..ScopeWords::default() };
    let Some(keys) = node.map() else {
        let words = ScopeWords { paths: Some(paths(node, "scope", problems)), ..closed };
        refuse_too_many(&words, node, problems);
        return Some(words);
    };
    warn_of_unknown(keys, "scope", &KEYS, problems);
    let [files, folders, hosts, services] = KEYS.map(|key| keys.get(key).map(|field| &field.node));
    let words = ScopeWords {
        paths: None,
        files: files.map(|node| paths(node, "scope.files", problems)),
        folders: folders.map(|node| paths(node, "scope.folders", problems)),
        hosts: hosts.map(|node| self::hosts(node, "scope.hosts", problems)),
        services: services
            .map(|node| entries(node, "scope.services", problems).into_iter().map(|(text, _)| text).collect()),
    };
    if words == ScopeWords::default() {
        let warning = Problem::warning("scope", "this scope names nothing, so no path lies inside")
            .expected(format!("lists under {}", KEYS.map(|key| format!("`{key}`")).join(", ")));
        problems.push(warning, Some(node.at));
        return Some(closed);
    }
    refuse_too_many(&words, node, problems);
    Some(words)
}

/// A scope of which a part would count for nothing is no scope.
fn refuse_too_many(words: &ScopeWords, node: &BriefNode, problems: &mut Problems<'_>) {
    let count = patterns(words);
    if count > PATTERNS_MAX {
        let what = format!("this has {count} patterns with wildcards, and {PATTERNS_MAX} are allowed");
        problems.push(
            Problem::error("scope", what)
                .fix("name folders instead: any number of plain paths may be listed".to_owned()),
            Some(node.at),
        );
    }
}

/// The items of a list; a text alone is taken as a list of one, with a warning, anything else lets nothing in.
fn entries<'a>(node: &'a BriefNode, field: &str, problems: &mut Problems<'_>) -> Vec<(String, &'a BriefNode)> {
    if node.items().is_some() {
        return texts_of(node, field, problems);
    }
    let written = super::problem::shown(problems.text_at(node.at));
    let key = field.strip_prefix("scope.").unwrap_or(field);
    let warning = match node.text() {
        Some("") => {
            Problem::warning(field, "this list is empty, so it lets nothing in").fix(format!("write `{key}: []`"))
        }
        Some(_) => Problem::warning(field, "this is text, so it counts as a list of one")
            .expected("a list")
            .found(&written)
            .fix(format!("write `{key}: [{written}]`")),
        None => Problem::warning(field, format!("this is {}, so it lets nothing in", node.kind()))
            .expected("a list")
            .found(&written),
    };
    problems.push(warning, Some(node.at));
    node.text().filter(|text| !text.is_empty()).map(|text| (text.to_owned(), node)).into_iter().collect()
}

/// The entries that can be read as patterns of paths, with a warning for each other one.
fn paths(node: &BriefNode, field: &str, problems: &mut Problems<'_>) -> Vec<String> {
    let mut paths = Vec::new();
    for (text, node) in entries(node, field, problems) {
        if is_pattern_of_paths(&text) {
            paths.push(text);
        } else {
            let warning = Problem::warning(field, "this is no pattern of paths, so it lets nothing in")
                .expected("a path, or a pattern such as `src/**` or `*.md`")
                .found(&text);
            problems.push(warning, Some(node.at));
        }
    }
    paths
}

/// The entries, with a warning for each that can't be the name of a host; it lets nothing in.
fn hosts(node: &BriefNode, field: &str, problems: &mut Problems<'_>) -> Vec<String> {
    let mut hosts = Vec::new();
    for (text, node) in entries(node, field, problems) {
        let name = text.strip_prefix("*.").unwrap_or(&text);
        if name.contains(['/', '*', '@', ' ']) {
            let bare = name.split_once("://").map_or(name, |(_, rest)| rest);
            let bare = bare.split('/').next().unwrap_or_default();
            let fix = (!bare.is_empty() && !bare.contains(['*', '@', ' '])).then(|| format!("write `{bare}`"));
            let warning = Problem::warning(field, "this is no host, so it lets nothing in")
                .expected("a host such as `example.org`, or `*.example.org` for every host below it")
                .found(&text)
                .fix(fix);
            problems.push(warning, Some(node.at));
        } else {
            hosts.push(text);
        }
    }
    hosts
}
