//! Base64 as far as finding secrets in it needs: how a text looks inside encoded data, and back.

/// The two alphabets' last characters: standard and for URLs.
const LAST: [[u8; 2]; 2] = [*b"+/", *b"-_"];

/// Returns the characters of `bytes` in base64 that depend on nothing else, when `before` (0, 1 or 2) bytes stand
/// before them in their group of three: once for each alphabet if those differ.
pub(super) fn encoded(bytes: &[u8], before: usize) -> Vec<String> {
    let bits = bytes.len() * 8;
    let skipped = before * 8;
    let first = skipped.div_ceil(6);
    let last = (skipped + bits) / 6;
    let digit = |at: usize| {
        let bit = at * 6 - skipped;
        let high = u16::from(bytes.get(bit / 8).copied().unwrap_or(0));
        let low = u16::from(bytes.get(bit / 8 + 1).copied().unwrap_or(0));
        (((high << 8) | low) >> (10 - bit % 8)) & 63
    };
    let mut all: Vec<String> = Vec::new();
    for alphabet in LAST {
        let text: String = (first..last).map(|at| character(digit(at), alphabet)).collect();
        if !all.contains(&text) {
            all.push(text);
        }
    }
    all
}

fn character(digit: u16, last: [u8; 2]) -> char {
    let digit = u8::try_from(digit).unwrap_or(0);
    char::from(match digit {
        0..=25 => b'A' + digit,
        26..=51 => b'a' + (digit - 26),
        52..=61 => b'0' + (digit - 52),
        62 => last[0],
        _ => last[1],
    })
}

/// Decodes `text`, in either alphabet, and makes a space of every byte that is not ASCII. Stops at the first character
/// that is in neither alphabet.
pub(super) fn decoded(text: &[u8]) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut bits: u32 = 0;
    let mut count = 0;
    for byte in text {
        let Some(digit) = digit(*byte) else { break };
        bits = (bits << 6) | u32::from(digit);
        count += 6;
        if count >= 8 {
            count -= 8;
            let byte = ((bits >> count) & 0xFF) as u8;
            plain.push(if byte.is_ascii() { char::from(byte) } else { ' ' });
        }
    }
    plain
}

fn digit(byte: u8) -> Option<u8> {
    match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' | b'-' => Some(62),
        b'/' | b'_' => Some(63),
        _ => None,
    }
}

/// True if `byte` may stand in base64 data of either alphabet, padding aside.
pub(super) fn is_base64(byte: u8) -> bool {
    digit(byte).is_some()
}
