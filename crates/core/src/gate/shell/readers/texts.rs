//! Programs that print what they are given: what they would print, where that can be proven.

use super::ProgramCall;
use crate::gate::shell::Dialect;
use crate::gate::shell::expand::ShellWord;
use crate::gate::shell::walk::{ShellWalk, StandardInput};
use crate::gate::shell::word::escapes;

/// The longest text that is followed.
const TEXT_BYTES_MAX: usize = 64 * 1024;

impl ShellWalk<'_> {
    /// `echo`.
    pub(super) fn echo(&mut self, call: ProgramCall<'_>) -> Option<String> {
        let mut words = call.words;
        let (mut newline, mut decodes) = (true, false);
        while let Some((first, rest)) = words.split_first()
            && let Some(letters) = first.known()?.strip_prefix('-')
            && !letters.is_empty()
            && letters.bytes().all(|letter| b"neE".contains(&letter))
        {
            newline &= !letters.contains('n');
            decodes = letters.contains('e') || (decodes && !letters.contains('E'));
            words = rest;
        }
        let texts = known(words)?;
        let mut text = texts.join(" ");
        if text.contains('\\') {
            match (decodes, self.dialect) {
                // `echo -e` reads `\0162` and not `\162`, and other programs of that name otherwise.
                (true, _) if has_number(&text) => return None,
                (true, _) => text = escapes(&text)?,
                (false, Dialect::Bash) => {}
                (false, Dialect::Sh | Dialect::Other) => return None,
            }
        }
        if newline {
            text.push('\n');
        }
        Some(text)
    }

    /// `printf`.
    pub(super) fn printf(&mut self, call: ProgramCall<'_>) -> Option<String> {
        let (format, arguments) = call.words.split_first()?;
        // One that may be no word at all leaves its place to the next.
        if format.is_half_an_option() || (format.splits() && format.text().is_empty()) {
            self.opaque("", "sets variables that can't be known");
        }
        // `${z=-v}` is an option where `z` is not set: any variable of the line may have another value then.
        if format.known().is_none() {
            self.forget_all();
        }
        if format.known() == Some("-v") {
            match arguments.first().and_then(ShellWord::known) {
                Some(name) => self.set_unknown(name),
                None => self.opaque("", "sets variables that can't be known"),
            }
            return Some(String::new());
        }
        if let Some(name) = format.known()?.strip_prefix("-v").filter(|name| !name.is_empty()) {
            self.set_unknown(name);
            return Some(String::new());
        }
        let (format, arguments) = match format.known()? {
            "--" => arguments.split_first()?,
            _ => (format, arguments),
        };
        let arguments = known(arguments)?;
        let format = escapes(format.known()?)?;
        let mut text = String::new();
        let mut arguments = arguments.into_iter();
        loop {
            let before = arguments.len();
            let mut rest = format.as_str();
            while let Some(at) = rest.find('%') {
                text.push_str(&rest[..at]);
                match rest[at + 1..].chars().next()? {
                    '%' => text.push('%'),
                    's' => text.push_str(arguments.next().unwrap_or_default()),
                    'b' => text.push_str(&escapes(arguments.next().unwrap_or_default())?),
                    _ => return None,
                }
                rest = &rest[at + 2..];
            }
            text.push_str(rest);
            if arguments.len() == 0 || arguments.len() == before || text.len() > TEXT_BYTES_MAX {
                break;
            }
        }
        (text.len() <= TEXT_BYTES_MAX).then_some(text)
    }

    /// `cat` and others that pass on what they read.
    pub(super) fn print(&mut self, call: ProgramCall<'_>) -> Option<String> {
        let from_input = call.words.is_empty() || matches!(call.words, [only] if only.known() == Some("-"));
        match call.input {
            StandardInput::Text(text) if from_input => Some(text.clone()),
            _ => None,
        }
    }

    /// `base64 -d`, `xxd -r -p`, `rev`: text that becomes other text.
    pub(super) fn decode(&mut self, call: ProgramCall<'_>) -> Option<String> {
        // `-name` with anything behind it takes the next word all the same.
        let long = ["-name", "-cols", "-len", "-seek", "-groupsize", "-offset"];
        let is_longer = |word: &ShellWord| {
            long.iter().any(|name| word.text().strip_prefix(name).is_some_and(|rest| !rest.is_empty()))
        };
        if call.name == "xxd" && call.words.iter().any(|word| is_longer(word) || word.is_half_an_option()) {
            self.opaque("", "its options can't be known");
        }
        let StandardInput::Text(text) = call.input else { return None };
        let options: Vec<&str> = call.words.iter().map(ShellWord::known).collect::<Option<_>>()?;
        match (call.name, options.as_slice()) {
            ("base64", ["-d" | "-D" | "--decode" | "-di"]) => from_base64(text),
            ("xxd", ["-r", "-p"] | ["-p", "-r"] | ["-rp" | "-pr"] | ["-r", "-ps"]) => from_hex(text),
            ("rev", []) => {
                let lines = text.split('\n').map(|line| line.chars().rev().collect::<String>());
                Some(lines.collect::<Vec<_>>().join("\n"))
            }
            _ => None,
        }
    }
}

fn known(words: &[ShellWord]) -> Option<Vec<&str>> {
    words.iter().map(|word| word.known().filter(|_| !word.is_pattern())).collect()
}

/// True if an escape is a number that begins with no zero.
fn has_number(text: &str) -> bool {
    text.split('\\').skip(1).any(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

fn from_base64(text: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let (mut bits, mut count) = (0_u32, 0);
    for c in text.bytes().filter(|byte| !byte.is_ascii_whitespace()) {
        let value = match c {
            b'A'..=b'Z' => c - b'A',
            b'a'..=b'z' => c - b'a' + 26,
            b'0'..=b'9' => c - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            b'=' => continue,
            _ => return None,
        };
        bits = (bits << 6 | u32::from(value)) & 0xfff;
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push(u8::try_from(bits >> count & 0xff).ok()?);
        }
    }
    String::from_utf8(bytes).ok()
}

fn from_hex(text: &str) -> Option<String> {
    let digits: Vec<u32> =
        text.chars().filter(|c| !c.is_whitespace()).map(|c| c.to_digit(16)).collect::<Option<_>>()?;
    let bytes = digits.chunks(2).map(|pair| match pair {
        [high, low] => u8::try_from(high * 16 + low).ok(),
        _ => None,
    });
    String::from_utf8(bytes.collect::<Option<Vec<u8>>>()?).ok()
}
