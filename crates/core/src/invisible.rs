//! Characters that nobody sees, and spaces that look like others.
//!
//! In an act that is shown they make one name look like another; in a text that is masked they break a secret in two.

/// Whether `c` shows nothing of itself: of no width, a filler, a tag, a selector of variants, or one that turns the
/// direction of writing around. Control characters and spaces are others.
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

/// Whether `c` is a space other than the one of the keyboard: it looks the same and is no end of a word to a shell.
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
