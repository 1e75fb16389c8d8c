//! Text from outside, made safe for a terminal: what would drive it is shown instead.

use std::borrow::Cow;

/// `text` with every control character but line feed and tab shown as `\u{..}`, so that no agent, file or
/// tool can move the cursor, colour a line or answer for the operator.
#[must_use]
pub fn plain(text: &str) -> Cow<'_, str> {
    let drives = |c: char| (c.is_control() && c != '\n' && c != '\t') || is_bidi(c);
    if !text.contains(drives) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 16);
    for c in text.replace("\r\n", "\n").chars() {
        if drives(c) { safe.extend(c.escape_unicode()) } else { safe.push(c) }
    }
    Cow::Owned(safe)
}

/// Whether `c` reorders the text around it: what is read would not be what is there.
fn is_bidi(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn what_would_drive_a_terminal_is_shown() {
        assert_eq!(plain("a\tb\r\nc"), "a\tb\r\nc".replace("\r\n", "\n"));
        assert_eq!(plain("\u{1b}[2Jx"), "\\u{1b}[2Jx");
        assert_eq!(plain("\u{202e}evil"), "\\u{202e}evil");
        assert_eq!(plain("gr\u{fc}n"), "grün");
    }
}
