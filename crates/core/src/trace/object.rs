//! Takes one line of JSON apart into its fields, fast: one pass, nothing built.
//!
//! In: a line. Out: the fields of the object as the text they were written in, or `None`: either it is no
//! object, or it is written in a way that this reader leaves to serde (escapes in a field's name, nesting
//! beyond [`DEPTH_MAX`]). It takes nothing that serde refuses, and serde has the last word on what it
//! leaves: so which lines count as damaged does not depend on it.

/// The deepest nesting of values. Each level is a bit of a word.
const DEPTH_MAX: u32 = 64;

/// A value as it is written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WrittenValue<'a> {
    /// Its text.
    pub(crate) json: &'a str,
    /// True if something in it is escaped.
    pub(crate) is_escaped: bool,
}

/// Hands every field of the object in `line` to `each`: its name and its value, as they are written. `None` if
/// another reader must decide; what was handed out before is void then.
pub(crate) fn fields<'a>(line: &'a str, mut each: impl FnMut(&'a str, WrittenValue<'a>)) -> Option<()> {
    let mut at = ObjectReader { text: line, bytes: line.as_bytes(), at: 0, is_escaped: false };
    at.space();
    at.byte(b'{')?;
    at.space();
    if at.byte(b'}').is_none() {
        loop {
            let name = at.string()?;
            // A name with an escape in it is another name.
            if at.is_escaped {
                return None;
            }
            at.space();
            at.byte(b':')?;
            at.space();
            let json = at.value()?;
            each(&name[1..name.len() - 1], WrittenValue { json, is_escaped: at.is_escaped });
            at.is_escaped = false;
            at.space();
            if at.byte(b',').is_some() {
                at.space();
                continue;
            }
            at.byte(b'}')?;
            break;
        }
    }
    at.space();
    (at.at == line.len()).then_some(())
}

struct ObjectReader<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    /// True if anything was escaped since this was last reset.
    is_escaped: bool,
}

impl<'a> ObjectReader<'a> {
    #[inline(always)]
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    #[inline(always)]
    fn byte(&mut self, wanted: u8) -> Option<()> {
        (self.peek() == Some(wanted)).then(|| self.at += 1)
    }

    /// Passes over white space, of which lines as programs write them have none.
    #[inline(always)]
    fn space(&mut self) {
        while let Some(0..=b' ') = self.peek() {
            if !matches!(self.peek(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
                return;
            }
            self.at += 1;
        }
    }

    /// The text from `begin` to here. Every value begins and ends with a byte below 128, so that this never cuts a
    /// character.
    fn since(&self, begin: usize) -> Option<&'a str> {
        self.text.get(begin..self.at)
    }

    fn value(&mut self) -> Option<&'a str> {
        let begin = self.at;
        match self.peek()? {
            b'{' | b'[' => self.nested()?,
            _ => self.scalar()?,
        }
        self.since(begin)
    }

    fn scalar(&mut self) -> Option<()> {
        match self.peek()? {
            b'"' => self.string().map(drop),
            b't' => self.word(b"true"),
            b'f' => self.word(b"false"),
            b'n' => self.word(b"null"),
            _ => self.number(),
        }
    }

    fn word(&mut self, word: &[u8]) -> Option<()> {
        self.bytes.get(self.at..)?.starts_with(word).then(|| self.at += word.len())
    }

    /// A string with its quotes.
    #[inline]
    fn string(&mut self) -> Option<&'a str> {
        let begin = self.at;
        self.byte(b'"')?;
        loop {
            self.at += plain_bytes(self.bytes.get(self.at..)?);
            match self.peek()? {
                b'"' => {
                    self.at += 1;
                    return self.since(begin);
                }
                b'\\' => self.escape()?,
                // A control character.
                _ => return None,
            }
        }
    }

    fn escape(&mut self) -> Option<()> {
        self.is_escaped = true;
        let length = match self.bytes.get(self.at + 1)? {
            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => 2,
            b'u' => {
                let digits = self.bytes.get(self.at + 2..self.at + 6)?;
                digits.iter().all(u8::is_ascii_hexdigit).then_some(6)?
            }
            _ => return None,
        };
        self.at += length;
        Some(())
    }

    fn digits(&mut self) -> Option<()> {
        let begin = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        (self.at > begin).then_some(())
    }

    fn number(&mut self) -> Option<()> {
        let _ = self.byte(b'-');
        if self.byte(b'0').is_none() {
            self.digits()?;
        }
        if self.byte(b'.').is_some() {
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        Some(())
    }

    /// An object or a list, whatever is in it. `open` has a bit for each level, set where it is an object.
    fn nested(&mut self) -> Option<()> {
        let (mut open, mut depth) = (0_u64, 0_u32);
        loop {
            // Here a value begins.
            match self.peek()? {
                bracket @ (b'{' | b'[') => {
                    if depth == DEPTH_MAX {
                        return None;
                    }
                    let is_object = bracket == b'{';
                    open = open << 1 | u64::from(is_object);
                    depth += 1;
                    self.at += 1;
                    self.space();
                    if self.byte(if is_object { b'}' } else { b']' }).is_none() {
                        if is_object {
                            self.name()?;
                        }
                        continue;
                    }
                    open >>= 1;
                    depth -= 1;
                }
                _ => self.scalar()?,
            }
            // Here one has ended: what is around it ends with it, or goes on.
            loop {
                if depth == 0 {
                    return Some(());
                }
                let is_object = open & 1 == 1;
                self.space();
                match self.peek()? {
                    b',' => {
                        self.at += 1;
                        self.space();
                        if is_object {
                            self.name()?;
                        }
                        break;
                    }
                    b'}' if is_object => {}
                    b']' if !is_object => {}
                    _ => return None,
                }
                self.at += 1;
                open >>= 1;
                depth -= 1;
            }
        }
    }

    fn name(&mut self) -> Option<()> {
        self.string()?;
        self.space();
        self.byte(b':')?;
        self.space();
        Some(())
    }
}

/// Returns the number of bytes at the beginning of `bytes` that may stand in a string as they are. It reads eight at a
/// time: a byte is a quote, a backslash or a control character if subtracting borrows, after a comparison by exclusive
/// or.
#[inline]
fn plain_bytes(bytes: &[u8]) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGHS: u64 = 0x8080_8080_8080_8080;
    let mut at = 0;
    while let Some(eight) = bytes.get(at..at + 8) {
        let word = u64::from_le_bytes(eight.try_into().unwrap_or_default());
        let quotes = word ^ (ONES * u64::from(b'"'));
        let slashes = word ^ (ONES * u64::from(b'\\'));
        let found = (quotes.wrapping_sub(ONES) & !quotes
            | slashes.wrapping_sub(ONES) & !slashes
            | word.wrapping_sub(ONES * 0x20) & !word)
            & HIGHS;
        if found != 0 {
            // The lowest bit found is never wrong: a borrow only reaches what is above it.
            return at + (found.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    let rest = bytes.get(at..).unwrap_or_default();
    at + rest.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..0x20)).unwrap_or(rest.len())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::value::RawValue;

    use super::*;

    fn fast(line: &str) -> Option<Vec<(String, String)>> {
        let mut found = Vec::new();
        fields(line, |name, value| {
            assert_eq!(value.is_escaped, value.json.contains('\\'), "{}", value.json);
            found.push((name.to_owned(), value.json.to_owned()));
        })?;
        Some(found)
    }

    /// Reads the same line with serde.
    fn slow(line: &str) -> Option<Vec<(String, String)>> {
        struct Pairs(Vec<(String, String)>);
        impl<'de> serde::Deserialize<'de> for Pairs {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                struct PairsVisitor;
                impl<'de> serde::de::Visitor<'de> for PairsVisitor {
                    type Value = Pairs;
                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str("an object")
                    }
                    fn visit_map<M: serde::de::MapAccess<'de>>(self, mut map: M) -> Result<Pairs, M::Error> {
                        let mut pairs = Vec::new();
                        while let Some((name, value)) = map.next_entry::<String, &RawValue>()? {
                            pairs.push((name, value.get().to_owned()));
                        }
                        Ok(Pairs(pairs))
                    }
                }
                from.deserialize_map(PairsVisitor)
            }
        }
        serde_json::from_str::<Pairs>(line).ok().map(|pairs| pairs.0)
    }

    /// Both readers agree, or the fast one leaves it to serde.
    #[track_caller]
    fn check(line: &str) {
        if let Some(fields) = fast(line) {
            assert_eq!(Some(fields), slow(line), "{line}");
        }
    }

    #[test]
    fn lines_as_they_are_written_are_taken_apart() {
        for line in [
            "{}",
            " { } ",
            r#"{"a":1}"#,
            r#"{"type":"x","at":"2026-01-02T03:04:05.678Z","n":-0.5e+3,"t":true,"f":false,"u":null}"#,
            r#"{ "a" : [ ] , "b" : { } , "c" : [ 1 , [ "x" , { "y" : [ { } ] } ] ] }"#,
            r#"{"text":"a \"quoted\" word, a \\ and \u00e9 é 😀"}"#,
            r#"{"a":1,"a":2}"#,
        ] {
            assert_eq!(fast(line), slow(line), "{line}");
            assert!(fast(line).is_some(), "{line}");
        }
    }

    #[test]
    fn what_is_no_object_is_left() {
        for line in [
            "", "null", "5", "[]", "{", "}", "{}x", "{} {}", r#"{"a"}"#, r#"{"a":}"#, r#"{"a":1,}"#, r#"{,"a":1}"#,
            r#"{"a":01}"#, r#"{"a":1.}"#, r#"{"a":.5}"#, r#"{"a":-}"#, r#"{"a":1e}"#, r#"{"a":+1}"#, r#"{"a":tru}"#,
            r#"{"a":truex}"#, r#"{"a":[1}"#, r#"{"a":{"b":1]}"#, r#"{"a":[1,]}"#, r#"{"a":{"b":}}"#, r#"{"a":{,}}"#,
            r#"{"a":"\x"}"#, r#"{"a":"\u12"}"#, "{\"a\":\"\t\"}", "{\"a\":\"x", "{'a':1}",
        ] {
            assert_eq!(fast(line), None, "{line}");
            assert_eq!(slow(line), None, "{line}");
        }
        for left_to_serde in [r#"{"\u0061":1}"#.to_owned(), format!("{{\"a\":{}{}}}", "[".repeat(65), "]".repeat(65))] {
            assert_eq!(fast(&left_to_serde), None);
            assert!(slow(&left_to_serde).is_some());
        }
        assert!(fast(&format!("{{\"a\":{}{}}}", "[".repeat(64), "]".repeat(64))).is_some());
    }

    #[test]
    fn every_byte_is_told_at_every_place() {
        for byte in 0..=255_u8 {
            for place in 0..20 {
                let mut bytes = [b'x'; 20];
                bytes[place] = byte;
                let expected = if matches!(byte, b'"' | b'\\' | 0..0x20) { place } else { 20 };
                assert_eq!(plain_bytes(&bytes), expected, "{byte} at {place}");
            }
        }
    }

    proptest! {
        #[test]
        fn nothing_is_taken_that_serde_refuses(line in r#"\{("[a\\"u0{}:,\t]{0,6}"|[0-9.eE+-]{1,3}|[{}\[\]:, ]|true|null|"a"){0,12}\}?"#) {
            check(&line);
        }

        #[test]
        fn damage_is_told_as_serde_tells_it(at in 0usize..110, byte in any::<u8>(), cut in any::<bool>()) {
            let line = r#"{"seq":3,"at":"2026-01-02T03:04:05.678Z","type":"tool_call","args":{"path":"a","n":[1,2.5,{"x":null}]},"ok":true}"#;
            let mut bytes = line.as_bytes().to_vec();
            if cut { bytes.truncate(at) } else { bytes[at] = byte }
            if let Ok(line) = std::str::from_utf8(&bytes) {
                prop_assert_eq!(fast(line), slow(line));
            }
        }
    }
}
