//! "Did you mean": the known name that is nearest to one that is not known.

/// The longest name that is compared, in characters; a longer one is no slip of the keyboard.
const COMPARED_CHARS_MAX: usize = 40;

/// The name among `known` that `given` was most likely meant to be; the first one on a tie.
///
/// Case and the difference between `-`, `_` and a space do not count. Up to one edit is forgiven in a
/// name of four characters or less, up to two in a longer one.
pub(super) fn nearest<'a>(given: &str, known: &[&'a str]) -> Option<&'a str> {
    let given = folded(given);
    if given.is_empty() || given.len() > COMPARED_CHARS_MAX {
        return None;
    }
    let edits_max = if given.len() <= 4 { 1 } else { 2 };
    known
        .iter()
        // Most names differ too much in length to be worth a comparison.
        .filter(|name| name.len().abs_diff(given.len()) <= edits_max)
        .map(|name| (distance(&given, &folded(name)), *name))
        .filter(|(edits, _)| *edits <= edits_max)
        .min_by_key(|(edits, _)| *edits)
        .map(|(_, name)| name)
}

/// The sentence that proposes the nearest name, if there is one.
pub(super) fn did_you_mean(given: &str, known: &[&str]) -> Option<String> {
    nearest(given, known).map(|name| format!("did you mean `{name}`?"))
}

fn folded(name: &str) -> Vec<char> {
    let mut folded = Vec::new();
    for c in name.chars().take(COMPARED_CHARS_MAX + 1) {
        folded.push(if matches!(c, '-' | ' ') { '_' } else { c.to_ascii_lowercase() });
    }
    folded
}

/// The number of insertions, deletions, replacements and swaps of neighbours between two names.
fn distance(left: &[char], right: &[char]) -> usize {
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=right.len()).collect();
    for (i, l) in left.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, r) in right.iter().enumerate() {
            let mut best = (last[j] + usize::from(l != r)).min(last[j + 1] + 1).min(row[j] + 1);
            let swapped = i > 0 && j > 0 && left[i - 1] == *r && right[j - 1] == *l;
            if swapped {
                best = best.min(before_last[j - 1] + 1);
            }
            row.push(best);
        }
        before_last = std::mem::replace(&mut last, row);
    }
    last[right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(given: &str, expected: Option<&str>) {
        let known = ["project", "brief_id", "deadline", "mode", "roles", "budgets"];
        assert_eq!(nearest(given, &known), expected, "{given}");
    }

    #[test]
    fn a_slip_of_the_keyboard_finds_its_name() {
        check("projcet", Some("project"));
        check("Brief-ID", Some("brief_id"));
        check("mdoe", Some("mode"));
        check("role", Some("roles"));
        check("dead_line", Some("deadline"));
    }

    #[test]
    fn another_word_finds_none() {
        check("owner", None);
        check("", None);
        check("id", None);
        check(&"project".repeat(1000), None);
    }
}
