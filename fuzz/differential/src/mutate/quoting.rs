//! The ways to write the same text as one word.

use crate::random::Random;

/// `text` in single quotes.
pub fn single(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// `text` as it stands between double quotes.
pub fn double(text: &str) -> String {
    let mut quoted = String::new();
    for c in text.chars() {
        if matches!(c, '"' | '\\' | '$' | '`') {
            quoted.push('\\');
        }
        quoted.push(c);
    }
    quoted
}

/// `text` in `$'..'`, some of its characters as escapes.
fn ansi(text: &str, random: &mut Random) -> String {
    let mut quoted = "$'".to_owned();
    for c in text.chars() {
        match c {
            '\'' | '\\' => quoted.extend(['\\', c]),
            '\n' => quoted.push_str("\\n"),
            c if c.is_ascii_graphic() && random.once_in(3) => {
                let code = u32::from(c);
                quoted.push_str(&match random.below(4) {
                    0 => format!("\\x{code:x}"),
                    1 => format!("\\{code:03o}"),
                    2 => format!("\\u{code:04x}"),
                    _ => format!("\\U{code:08x}"),
                });
            }
            c => quoted.push(c),
        }
    }
    quoted.push('\'');
    quoted
}

/// A plain word in another style, or without the quotes that it has.
pub fn requoted(word: &str, random: &mut Random) -> String {
    let is_quoted = word.contains(['\'', '"', '\\']);
    if is_quoted && random.once_in(2) {
        return word.chars().filter(|c| !matches!(c, '\'' | '"' | '\\')).collect();
    }
    match random.below(8) {
        0 => single(word),
        1 => format!("\"{word}\""),
        2 => ansi(word, random),
        3 => format!("\\{word}"),
        4 => split(word, "''", random),
        5 => split(word, "\"\"", random),
        6 => split(word, "\\\n", random),
        _ => split(word, "$''", random),
    }
}

fn split(word: &str, with: &str, random: &mut Random) -> String {
    let mut chars: Vec<char> = word.chars().collect();
    let at = random.below(chars.len() + 1);
    let rest: String = chars.split_off(at).into_iter().collect();
    chars.into_iter().collect::<String>() + with + &rest
}
