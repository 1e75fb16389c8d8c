//! The names that a misspelt one may have meant.

/// How many names are offered at most: more than a glance holds is no help.
pub const OFFERED_MAX: usize = 3;

/// The names among `known` that `given` may have meant, the nearest first, at most [`OFFERED_MAX`]: those
/// that begin with it, or differ from it by at most a third of its letters (and at least two).
#[must_use]
pub fn nearest<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let given: String = given.to_ascii_lowercase().chars().take(128).collect();
    let far = (given.chars().count() / 3).max(2);
    let mut near: Vec<(usize, &str)> = known
        .into_iter()
        .map(|name| {
            let lower = name.to_ascii_lowercase();
            let begins = given.len() >= 3 && lower.starts_with(&given);
            (if begins { 1 } else { edits(&given, &lower) }, name)
        })
        .filter(|(edits, name)| *edits <= far && *edits < name.chars().count())
        .collect();
    near.sort();
    near.truncate(OFFERED_MAX);
    near.into_iter().map(|(_, name)| name.to_owned()).collect()
}

/// How many letters must be added, taken away or replaced to make `a` of `b`.
fn edits(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, a) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(a != *b);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(given: &str, expected: &[&str]) {
        let known = ["adapter", "model", "mode", "max_steps", "detectors", "no_shell"];
        assert_eq!(nearest(given, known), expected, "{given}");
    }

    #[test]
    fn a_slip_of_the_finger_finds_the_name() {
        check("adaptor", &["adapter"]);
        check("modle", &["mode", "model"]);
        check("max-steps", &["max_steps"]);
        check("detect", &["detectors"]);
        check("MODE", &["mode", "model"]);
    }

    #[test]
    fn what_is_far_from_all_finds_none() {
        check("colour", &[]);
        check("", &[]);
    }
}
