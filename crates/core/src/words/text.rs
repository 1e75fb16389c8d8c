//! Texts cut to a length. Lengths are in UTF-16 units, as the peer counts them.

/// The longest name that an agent gave something which is shown whole within a line, in UTF-16 units.
const NAME_UNITS_MAX: usize = 60;

/// A name that an agent gave something, as it is shown within a line: a longer one ends with an ellipsis. JSON always
/// has the whole.
#[must_use]
pub fn short_name(name: &str) -> String {
    cut(name, NAME_UNITS_MAX)
}

/// `text` cut to `units_max`, the last of them an ellipsis if anything is missing.
#[must_use]
pub fn cut(text: &str, units_max: usize) -> String {
    if units(text) <= units_max {
        return text.to_owned();
    }
    let mut kept = head(text, units_max.saturating_sub(1)).to_owned();
    kept.push('…');
    kept
}

/// The first `units_max` units of `text`; half a character is left out.
#[must_use]
pub fn head(text: &str, units_max: usize) -> &str {
    let mut used = 0;
    let end = text.char_indices().find(|(_, c)| {
        used += c.len_utf16();
        used > units_max
    });
    end.map_or(text, |(end, _)| &text[..end])
}

/// The length of `text` in UTF-16 units.
#[must_use]
pub fn units(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.chars().map(char::len_utf16).sum() }
}

/// Returns a number with what it counts: `1 file`, `2 files`.
#[must_use]
pub fn count_of(number: u64, one: &str, several: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { several })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_never_splits_a_character() {
        assert_eq!(cut("abc", 3), "abc");
        assert_eq!(cut("abcd", 3), "ab…");
        assert_eq!(cut("🌲🌲", 3), "🌲…");
        assert_eq!(cut("🌲🌲", 2), "…");
        assert_eq!(cut("ab", 0), "…");
    }
}
