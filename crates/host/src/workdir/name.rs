//! Names that are no text, as text: files may be called by any bytes.
//!
//! Paths are text everywhere else. A byte that is not UTF-8 becomes a character of a range that no standard gives a
//! meaning, and such a character in a name becomes its bytes in the same way, so that no two names are one text.
//! Whatever a person sees has `\xff` for it ([`shown`]).

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// The characters that stand for the bytes from 0x80 to 0xff.
const FIRST: u32 = 0x10_fe80;
const LAST: u32 = FIRST + 0x7f;

const fn is_stand_in(c: char) -> bool {
    FIRST <= c as u32 && c as u32 <= LAST
}

fn stand_in(byte: u8) -> char {
    let code = FIRST + u32::from(byte) - 0x80;
    char::from_u32(code).expect("the range lies in the last plane, which has no gaps")
}

fn byte(c: char) -> Option<u8> {
    is_stand_in(c).then(|| u8::try_from(c as u32 - FIRST + 0x80).ok()).flatten()
}

/// The text for a name.
pub(crate) fn text_of(name: &OsStr) -> String {
    if let Some(text) = name.to_str()
        && is_text(text)
    {
        return text.to_owned();
    }
    let mut text = String::new();
    for chunk in name.as_bytes().utf8_chunks() {
        for c in chunk.valid().chars() {
            if is_stand_in(c) {
                text.extend(c.encode_utf8(&mut [0; 4]).bytes().map(stand_in));
            } else {
                text.push(c);
            }
        }
        text.extend(chunk.invalid().iter().copied().map(stand_in));
    }
    text
}

/// The name that a text stands for: the way back of [`text_of`].
pub(crate) fn name_of(text: &str) -> Cow<'_, OsStr> {
    if is_text(text) {
        return Cow::Borrowed(OsStr::new(text));
    }
    let mut bytes = Vec::with_capacity(text.len());
    for c in text.chars() {
        match byte(c) {
            Some(byte) => bytes.push(byte),
            None => bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    Cow::Owned(OsString::from_vec(bytes))
}

/// Returns true if a path or name stands for itself, and so for one that is UTF-8.
#[must_use]
pub fn is_text(text: &str) -> bool {
    !text.contains(is_stand_in)
}

/// A path as a person is shown it: `\xff` for a byte that is no text.
#[must_use]
pub fn shown(text: &str) -> Cow<'_, str> {
    if is_text(text) {
        return Cow::Borrowed(text);
    }
    let one = |c: char| byte(c).map_or_else(|| c.to_string(), |byte| format!("\\x{byte:02x}"));
    Cow::Owned(text.chars().map(one).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_has_a_text_of_its_own_and_comes_back() {
        let names: [&[u8]; 8] = [
            b"a",
            b"\xff",
            b"a\xffb",
            b"\xe2\x82",
            "ä".as_bytes(),
            "\u{10fe80}".as_bytes(),
            "\u{10feff}x".as_bytes(),
            b"\xf4\x8f\xba\x80\xff",
        ];
        let mut texts = Vec::new();
        for name in names {
            let text = text_of(OsStr::from_bytes(name));
            assert_eq!(name_of(&text).as_bytes(), name, "{text:?}");
            texts.push(text);
        }
        texts.sort();
        texts.dedup();
        assert_eq!(texts.len(), names.len());
        assert_eq!(shown(&text_of(OsStr::from_bytes(b"a\xffb"))), "a\\xffb");
        assert_eq!(text_of(OsStr::from_bytes("ä".as_bytes())), "ä");
    }
}
