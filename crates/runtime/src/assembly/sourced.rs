//! A setting with the place that it comes from, and the choice of the first of several.

use adjutant_store::config::Setting;

/// A value and where it came from.
#[derive(Debug, Clone)]
pub struct Sourced<T> {
    /// The value.
    pub value: T,
    /// Its source, for the operator: `--mode`, `ADJUTANT_MODE`, `the brief`, a file, `the default`.
    pub from: String,
}

/// A value that may be the one, with where it came from.
pub(super) type SourcedCandidate<T> = Option<(T, String)>;

/// Returns the first of several values that is there, with where it came from.
pub(super) fn first<T>(candidates: impl IntoIterator<Item = SourcedCandidate<T>>) -> Option<Sourced<T>> {
    candidates.into_iter().flatten().next().map(|(value, from)| Sourced { value, from })
}

/// A candidate that somebody may have set.
pub(super) fn set<T>(value: Option<T>, from: &str) -> SourcedCandidate<T> {
    value.map(|value| (value, from.to_owned()))
}

/// A candidate that a configuration may have.
pub(super) fn configured<T: Clone>(setting: Option<&Setting<T>>) -> SourcedCandidate<T> {
    setting.map(|setting| (setting.value.clone(), setting.from.to_string()))
}
