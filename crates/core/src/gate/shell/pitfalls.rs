//! Words that the grammar's own code can't get through: it would never end. They are recognised before it begins, by a
//! look at the text that errs on the safe side; no one writes them in earnest.

/// The most parentheses that may open in an array's index.
const SUBSTITUTIONS_MAX: usize = 200;
/// The most other brackets, quotes and expansions that may open in an array's index: each doubles the parser's time.
const INDEX_DOUBLES_MAX: usize = 10;

/// True if a word looks like an array's element, `a[..]=`, with so much in its index that the parser would take for
/// ever: it reads whatever opens there in two ways, one within the other.
pub(super) fn is_tangled_element(word: &str) -> bool {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let Some((name, rest)) = word.split_once('[') else { return false };
    if name.is_empty() || !name.chars().all(is_name) {
        return false;
    }
    // Without an end it may all be the index.
    let index = rest.rsplit_once(']').map_or(rest, |(index, _)| index);
    let mut before = '[';
    let (mut doubles, mut deepens) = (0_usize, 0_usize);
    for c in index.chars() {
        doubles += usize::from(matches!(c, '$' | '`' | '"') || c == '[' && is_name(before));
        deepens += usize::from(c == '(');
        before = c;
    }
    doubles > INDEX_DOUBLES_MAX || deepens > SUBSTITUTIONS_MAX
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_may_hold_what_people_write() {
        for (word, is_tangled) in [
            ("a[$((i+1))]=x".to_owned(), false),
            ("IMG_[0-9][0-9][0-9][0-9][0-9][0-9][0-9][0-9][0-9].jpg".to_owned(), false),
            ("a[0]=".to_owned() + &"$x".repeat(50), false),
            ("a[".repeat(20), true),
            ("a[".to_owned() + &"(".repeat(30_000), true),
        ] {
            assert_eq!(is_tangled_element(&word), is_tangled, "{word}");
        }
    }
}
