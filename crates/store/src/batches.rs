//! Reads a file of lines a few megabytes at a time.
//!
//! In: bytes, in whatever pieces they come. Out: batches of whole lines, of a line that is too long to be
//! kept only its hash and length, and what stands after the last line feed. Looks at no line.
//!
//! Begin with [`Batches::next`].

use std::io::{self, Read};

use crate::scan::LINE_BYTES_MAX;

/// Number of bytes read before the first lines are looked for; a small file needs no more.
const CHUNK_BYTES: usize = 256 * 1024;

/// Number of bytes of lines handed out at once, if there are as many: enough that handing them to another thread costs
/// nothing beside decoding them, and so few that all threads end at about the same time.
const BATCH_BYTES: usize = 1024 * 1024;

/// The next piece of a file of lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Batch<'a> {
    /// Whole lines, each with its line feed.
    Lines(&'a [u8]),
    /// A line that was not kept.
    TooLong(TooLong),
    /// The bytes after the last line feed; never empty.
    Rest(&'a [u8]),
}

/// A line that was read and not kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TooLong {
    /// The hash of its bytes, without its line feed.
    pub hash: blake3::Hash,
    /// Its number of bytes, without its line feed.
    pub bytes: u64,
    /// True if it ends with a line feed.
    pub is_terminated: bool,
}

/// A file of lines, read as far as it was asked for.
#[derive(Debug)]
pub(crate) struct Batches<R> {
    from: R,
    buffer: Vec<u8>,
    /// Number of bytes of the buffer that were handed out.
    given: usize,
    /// Number of bytes that the buffer holds.
    filled: usize,
    is_at_end: bool,
    batch_bytes: usize,
    line_bytes_max: usize,
}

impl<R: Read> Batches<R> {
    pub(crate) fn new(from: R) -> Self {
        Self::with_limits(from, CHUNK_BYTES, BATCH_BYTES, LINE_BYTES_MAX)
    }

    fn with_limits(from: R, chunk_bytes: usize, batch_bytes: usize, line_bytes_max: usize) -> Self {
        let buffer = vec![0; chunk_bytes];
        Self { from, buffer, given: 0, filled: 0, is_at_end: false, batch_bytes, line_bytes_max }
    }

    /// Returns what comes next; `None` at the end. Keeps at most one line of [`LINE_BYTES_MAX`], or a batch
    /// of shorter ones. A line that is not much longer than that may still be handed out among others.
    ///
    /// # Errors
    ///
    /// If the file can't be read.
    pub(crate) fn next(&mut self) -> io::Result<Option<Batch<'_>>> {
        self.buffer.copy_within(self.given..self.filled, 0);
        self.filled -= self.given;
        self.given = 0;
        loop {
            while !self.is_at_end && self.filled < self.buffer.len() {
                self.fill()?;
            }
            let last = memchr::memrchr(b'\n', &self.buffer[..self.filled]);
            match last {
                Some(last) if self.is_at_end || self.buffer.len() >= self.batch_bytes => {
                    self.given = last + 1;
                    return Ok(Some(Batch::Lines(&self.buffer[..self.given])));
                }
                None if self.filled > self.line_bytes_max => return self.pass_over().map(Batch::TooLong).map(Some),
                None if self.is_at_end => {
                    self.given = self.filled;
                    return Ok((self.filled > 0).then_some(Batch::Rest(&self.buffer[..self.filled])));
                }
                _ => {
                    let room = if last.is_some() { self.batch_bytes } else { self.line_bytes_max + 1 };
                    grow(&mut self.buffer, room);
                }
            }
        }
    }

    /// Returns the lines that [`Batches::next`] handed out last as bytes of their own. What comes next is read into `spare`.
    pub(crate) fn take_lines(&mut self, mut spare: Vec<u8>) -> Vec<u8> {
        let rest = &self.buffer[self.given..self.filled];
        spare.resize(self.buffer.len(), 0);
        spare[..rest.len()].copy_from_slice(rest);
        self.filled = rest.len();
        let mut lines = std::mem::replace(&mut self.buffer, spare);
        lines.truncate(self.given);
        self.given = 0;
        lines
    }

    /// Reads once into what is free of the buffer.
    fn fill(&mut self) -> io::Result<()> {
        match self.from.read(&mut self.buffer[self.filled..]) {
            Ok(0) => self.is_at_end = true,
            Ok(read) => self.filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Reads to the end of a line of which the buffer holds the beginning.
    fn pass_over(&mut self) -> io::Result<TooLong> {
        let mut hasher = blake3::Hasher::new();
        loop {
            let end = memchr::memchr(b'\n', &self.buffer[..self.filled]);
            hasher.update(&self.buffer[..end.unwrap_or(self.filled)]);
            self.given = end.map_or(self.filled, |end| end + 1);
            if end.is_some() || self.is_at_end {
                return Ok(TooLong { hash: hasher.finalize(), bytes: hasher.count(), is_terminated: end.is_some() });
            }
            self.filled = 0;
            self.fill()?;
        }
    }
}

/// Makes a buffer twice as long, or as long as `bytes_max`, and no longer: a buffer that grows as usual takes twice the room
/// that it needs, and what is in it stands in memory twice meanwhile.
pub(crate) fn grow(buffer: &mut Vec<u8>, bytes_max: usize) {
    let bytes = (buffer.len() * 2).min(bytes_max);
    buffer.reserve_exact(bytes.saturating_sub(buffer.len()));
    buffer.resize(bytes, 0);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::scan::tests::Trickle;

    const LINE_MAX: usize = 16;

    /// The lines of `bytes`, as hashes with lengths and whether they end, by way of batches.
    fn in_batches(bytes: &[u8], at_once: usize) -> Vec<TooLong> {
        let mut batches = Batches::with_limits(Trickle(bytes, at_once), 3, 8, LINE_MAX);
        let (mut found, mut spare) = (Vec::new(), Vec::new());
        while let Some(batch) = batches.next().expect("readable") {
            match batch {
                // Every other batch is taken away, into room that held something else.
                Batch::Lines(lines) if found.len().is_multiple_of(2) => {
                    let expected = lines.to_vec();
                    spare = batches.take_lines(spare);
                    assert_eq!(spare, expected);
                    found.extend(split(&spare));
                }
                Batch::Lines(lines) | Batch::Rest(lines) => found.extend(split(lines)),
                Batch::TooLong(line) => {
                    assert!(line.bytes > LINE_MAX as u64);
                    found.push(line);
                }
            }
            assert!(batches.buffer.len() <= LINE_MAX + 1);
        }
        found
    }

    fn split(bytes: &[u8]) -> Vec<TooLong> {
        let each = |line: &[u8]| {
            let text = line.strip_suffix(b"\n").unwrap_or(line);
            TooLong { hash: blake3::hash(text), bytes: text.len() as u64, is_terminated: text.len() < line.len() }
        };
        bytes.split_inclusive(|byte| *byte == b'\n').map(each).collect()
    }

    proptest! {
        #[test]
        fn whatever_pieces_it_comes_in_a_file_has_the_same_lines(
            bytes in proptest::collection::vec(prop_oneof![1 => Just(b'\n'), 12 => any::<u8>()], 0..200),
            at_once in 1usize..40,
        ) {
            prop_assert_eq!(in_batches(&bytes, at_once), split(&bytes));
        }
    }
}
