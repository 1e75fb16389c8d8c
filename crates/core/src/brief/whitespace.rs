//! Whitespace in a brief: OpenWar's set, which is neither Unicode's nor ASCII's.

/// True if OpenWar takes `c` for whitespace: Unicode's spaces and the byte order mark, but not U+0085.
pub(super) fn is_space(c: char) -> bool {
    matches!(
        c,
        '\t' | '\n' | '\u{0B}' | '\u{0C}' | '\r' | ' ' | '\u{A0}' | '\u{1680}' | '\u{2000}'
            ..='\u{200A}' | '\u{2028}' | '\u{2029}' | '\u{202F}' | '\u{205F}' | '\u{3000}' | '\u{FEFF}'
    )
}

/// `text` without whitespace at either end.
pub(super) fn trim(text: &str) -> &str {
    text.trim_matches(is_space)
}

/// `text` without whitespace at its end.
pub(super) fn trim_end(text: &str) -> &str {
    text.trim_end_matches(is_space)
}
