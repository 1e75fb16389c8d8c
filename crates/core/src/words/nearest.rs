//! "Did you mean": the known names that are nearest to one that is not known.

/// Most names that are offered: more than a glance takes in is no help.
pub const OFFERED_MAX: usize = 3;

/// The longest name that is compared, in characters: no name of ours is longer, so what is, is no slip of
/// the keyboard.
const COMPARED_CHARS_MAX: usize = 64;

/// Number of characters of a name that count as its beginning.
const BEGINNING_CHARS_MIN: usize = 3;

/// Returns the names among `known` that `given` may have meant, at most [`OFFERED_MAX`], the nearest first and equal
/// ones by the alphabet: those that begin with it, and those that few edits make of it. An edit adds, takes away or
/// replaces a character, or swaps two neighbours.
///
/// Case and the difference between `-`, `_` and a space do not count. A name of four characters or less is forgiven one
/// edit, a longer one a third of its characters, and at least two.
#[must_use]
pub fn nearest<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let written = given;
    let given = folded(given);
    if given.is_empty() || given.len() > COMPARED_CHARS_MAX {
        return Vec::new();
    }
    let edits_max = if given.len() <= 4 { 1 } else { (given.len() / 3).max(2) };
    let mut near: Vec<(usize, &str)> = known
        .into_iter()
        // Whoever wrote the very name did not misspell it.
        .filter(|name| *name != written)
        .filter_map(|name| {
            let known = folded(name);
            let edits = if given.len() >= BEGINNING_CHARS_MIN && known.starts_with(&given) {
                known.len().abs_diff(given.len()).min(1)
            } else if known.len().abs_diff(given.len()) <= edits_max {
                // Most names differ too much in length to be worth a comparison.
                distance(&given, &known)
            } else {
                return None;
            };
            (edits <= edits_max && edits < known.len()).then_some((edits, name))
        })
        .collect();
    near.sort_unstable();
    near.truncate(OFFERED_MAX);
    near.into_iter().map(|(_, name)| name).collect()
}

/// Returns a sentence that proposes the names nearest to `given`; `None` if no name is near.
#[must_use]
pub fn did_you_mean(given: &str, known: &[&str]) -> Option<String> {
    question(&nearest(given, known.iter().copied()))
}

/// Returns the sentence that proposes `names`; absent if there are none.
#[must_use]
pub fn question(names: &[impl AsRef<str>]) -> Option<String> {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{}`", name.as_ref())).collect();
    (!quoted.is_empty()).then(|| format!("did you mean {}?", quoted.join(" or ")))
}

fn folded(name: &str) -> Vec<char> {
    let fold = |c: char| if matches!(c, '-' | ' ') { '_' } else { c.to_ascii_lowercase() };
    name.chars().take(COMPARED_CHARS_MAX + 1).map(fold).collect()
}

/// Returns the number of insertions, deletions, replacements and swaps of neighbours between two names.
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
    fn check(given: &str, expected: &[&str]) {
        let known = ["project", "brief_id", "deadline", "adapter", "model", "mode", "max_steps", "roles", "detectors"];
        assert_eq!(nearest(given, known), expected, "{given}");
    }

    #[test]
    fn a_slip_of_the_keyboard_finds_its_name() {
        check("projcet", &["project"]);
        check("Brief-ID", &["brief_id"]);
        check("mdoe", &["mode"]);
        check("modle", &["mode", "model"]);
        check("MODE", &["mode", "model"]);
        check("role", &["roles"]);
        check("dead_line", &["deadline"]);
        check("max steps", &["max_steps"]);
        check("adaptor", &["adapter"]);
    }

    #[test]
    fn a_beginning_finds_its_name_and_a_letter_or_two_do_not() {
        check("detect", &["detectors"]);
        check("mod", &["mode", "model"]);
        check("de", &[]);
    }

    #[test]
    fn another_word_finds_none() {
        check("owner", &[]);
        check("colour", &[]);
        check("", &[]);
        check("id", &[]);
        check(&"project".repeat(1000), &[]);
        assert_eq!(nearest("b", ["a"]), Vec::<&str>::new());
    }

    #[test]
    fn an_edit_is_one_character_whatever_its_bytes() {
        let edits = |left, right| distance(&folded(left), &folded(right));
        assert_eq!(
            (edits("", "abc"), edits("abc", "abc"), edits("größe", "grösse"), edits("text", "txet")),
            (3, 0, 2, 1)
        );
    }

    #[test]
    fn no_more_names_are_offered_than_a_glance_holds() {
        assert_eq!(nearest("run-1", ["run-5", "run-4", "run-3", "run-2"]), ["run-2", "run-3", "run-4"]);
        assert_eq!(did_you_mean("rum", &["run", "ram"]).as_deref(), Some("did you mean `ram` or `run`?"));
        assert_eq!(did_you_mean("rum", &["deploy"]), None);
    }
}
