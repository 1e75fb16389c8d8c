//! Keeps the beginning and the end of a stream, however long it is.

use std::collections::VecDeque;

use adjutant_core::gate::secrets;

/// A stream's bytes, with the middle dropped beyond a limit.
///
/// The beginning says what was run, the end says how it ended; what is between them is most likely to be
/// repetition.
#[derive(Debug)]
pub struct CapturedOutput {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    bytes_max: usize,
    total: u64,
}

impl CapturedOutput {
    /// Keeps at most `bytes_max` bytes, half of them from the beginning.
    #[must_use]
    pub fn new(bytes_max: usize) -> Self {
        Self { head: Vec::new(), tail: VecDeque::new(), bytes_max, total: 0 }
    }

    /// Adds what came next.
    pub fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let head_max = self.bytes_max / 2;
        let (head, rest) = bytes.split_at(bytes.len().min(head_max.saturating_sub(self.head.len())));
        self.head.extend_from_slice(head);
        let tail_max = self.bytes_max - head_max;
        let rest = rest.get(rest.len().saturating_sub(tail_max)..).unwrap_or(rest);
        self.tail.extend(rest);
        let over = self.tail.len().saturating_sub(tail_max);
        self.tail.drain(..over);
    }

    /// Returns the number of bytes of the stream.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Returns the number of bytes that were dropped.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.total - self.head.len() as u64 - self.tail.len() as u64
    }

    /// The bytes that were kept.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        self.head.iter().chain(&self.tail).copied().collect()
    }

    /// The text, with a line of its own where bytes were dropped, and the words that this goes through; what is not
    /// UTF-8 becomes U+FFFD.
    #[must_use]
    pub fn text(&self) -> String {
        let tail: Vec<u8> = self.tail.iter().copied().collect();
        if self.dropped() == 0 {
            return String::from_utf8_lossy(&[self.head.as_slice(), &tail].concat()).into_owned();
        }
        let (head, tail) = (String::from_utf8_lossy(&self.head), String::from_utf8_lossy(&tail));
        // Half a secret is none that can be masked.
        let (head, tail) = (secrets::without_part_at_end(&head), secrets::without_part_at_start(&tail));
        format!("{head}\n[truncated: {} of {} bytes dropped here]\n{tail}", self.dropped(), self.total)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(bytes_max: usize, pieces: &[&str], expected: &str, dropped: u64) {
        let mut output = CapturedOutput::new(bytes_max);
        pieces.iter().for_each(|piece| output.push(piece.as_bytes()));
        assert_eq!((output.text().as_str(), output.dropped()), (expected, dropped));
    }

    #[test]
    fn beginning_and_end_are_kept() {
        check(10, &["abc", "def"], "abcdef", 0);
        check(4, &["ab", "cd"], "abcd", 0);
        check(4, &["abcdefgh"], "ab\n[truncated: 4 of 8 bytes dropped here]\ngh", 4);
        check(4, &["a", "b", "c", "d", "e"], "ab\n[truncated: 1 of 5 bytes dropped here]\nde", 1);
        check(10, &["héllo"], "héllo", 0);
        check(
            40,
            &["ok secret-0123456789", &"x".repeat(99), "9876543210-secret ok"],
            "ok \n[truncated: 99 of 139 bytes dropped here]\n ok",
            99,
        );
        check(0, &["ab"], "\n[truncated: 2 of 2 bytes dropped here]\n", 2);
    }
}
