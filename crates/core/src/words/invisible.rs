//! Invisible characters, and spaces that look like others.
//!
//! In an act that is shown they make one name look like another; in a text that is masked they break a secret in two.

/// Returns true if `c` shows nothing of itself: zero-width characters, fillers, tags, variation selectors, and marks
/// that change the direction of writing. Control characters and spaces don't count.
#[must_use]
pub const fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d159}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}'
    )
}

/// Returns true if `c` is a space other than the keyboard's: it looks the same, but doesn't end a word for a shell.
#[must_use]
pub const fn is_odd_space(c: char) -> bool {
    matches!(c, '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}')
}

#[cfg(test)]
mod tests {
    use super::{is_invisible, is_odd_space};

    #[test]
    fn what_can_be_seen_is_neither() {
        for c in ('\0'..='\u{2ff}').filter(|c| !matches!(c, '\u{ad}' | '\u{a0}')).chain("漢字é’“”→…─✓✗😀가한".chars())
        {
            assert!(!is_invisible(c) && !is_odd_space(c), "{c:?}");
        }
        for c in "\u{200b}\u{200d}\u{2060}\u{feff}\u{3164}\u{115f}\u{e0041}\u{e0100}\u{fe0f}\u{ad}\u{202e}".chars() {
            assert!(is_invisible(c), "{c:?}");
        }
        for c in "\u{a0}\u{2009}\u{202f}\u{3000}".chars() {
            assert!(is_odd_space(c), "{c:?}");
        }
    }
}
