//! Reads a file of lines without changing it: any size, any damage, bounded memory.
//!
//! In: bytes. Out: each line that may be a JSON object, with its number, and the numbers of all others. The meaning of
//! a line is the caller's; a line that it can't use it reports back as damaged. Only a disk that can't be read is
//! fatal.
//!
//! Begin with [`scan`].

use std::io::{self, Read};
use std::path::Path;

use serde::de::IgnoredAny;

use crate::batches::grow;
use crate::plain_file;

/// The longest line that is looked at, in bytes; a longer one is damaged. Ours are far shorter: contents
/// over 64 KiB lie elsewhere, and a model's reply has a few hundred KiB at most.
pub const LINE_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Number of damaged lines whose numbers are kept; beyond that they are only counted.
pub const DAMAGED_KEPT_MAX: usize = 1000;

/// Number of bytes read at once.
const CHUNK_BYTES: usize = 64 * 1024;

/// The result of scanning a file of lines.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LineScan {
    /// Number of lines, empty ones included.
    pub lines: u64,
    /// The lines that can't be used, by number from 1, at most [`DAMAGED_KEPT_MAX`] of them.
    pub damaged: Vec<(u64, LineFault)>,
    /// Number of lines that can't be used.
    pub damaged_lines: u64,
    /// Number of lines with nothing but white space. They don't count as damaged here; the peer calls them damaged.
    pub white_lines: u64,
    /// Number of the unusable lines that are lists in JSON. The peer passes over them.
    pub list_lines: u64,
    /// True if the last line has no line feed: it is being written, or it was torn.
    pub is_unterminated: bool,
}

/// Reason why a line can't be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineFault {
    /// It is longer than [`LINE_BYTES_MAX`].
    TooLong,
    /// It is not UTF-8.
    NotUtf8,
    /// It is no JSON object: `null`, a number, a string, a list, no JSON at all.
    NotAnObject,
    /// Whoever asked for the lines could not use it.
    Refused,
}

/// The caller's verdict on a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use {
    /// It is fine.
    Taken,
    /// It can't be used: count it as damaged.
    Damaged,
    /// It is fine, and the last that is wanted.
    Enough,
}

/// Hands every line of the file at `path` to `each`, as [`scan`] does.
///
/// # Errors
///
/// If the file can't be opened or read, or is no plain one.
pub fn scan_file(path: &Path, each: impl FnMut(u64, &str) -> Use) -> io::Result<LineScan> {
    scan(plain_file::open(path)?, each)
}

/// Hands every line of `from` to `each`, with its number from 1 and without its line feed, or carriage
/// return and line feed. Empty lines are passed over. Never needs more memory than two of the longest
/// lines that it accepts.
///
/// # Errors
///
/// If `from` can't be read; what was handed out before stays handed out.
pub fn scan(mut from: impl Read, mut each: impl FnMut(u64, &str) -> Use) -> io::Result<LineScan> {
    let mut scan = LineScan::default();
    let mut buffer: Vec<u8> = vec![0; CHUNK_BYTES];
    let mut filled = 0;
    let mut too_long = false;
    loop {
        if filled == buffer.len() {
            if buffer.len() > LINE_BYTES_MAX {
                // The line is given up: what is here of it is thrown away, and the rest as it comes.
                too_long = true;
                filled = 0;
            } else {
                grow(&mut buffer, LINE_BYTES_MAX + CHUNK_BYTES);
            }
        }
        let read = match from.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let whole = filled + read;
        // What was read before holds no line feed.
        let mut begin = 0;
        for end in memchr::memchr_iter(b'\n', &buffer[filled..whole]).map(|end| filled + end) {
            scan.lines += 1;
            let line = &buffer[begin..end];
            begin = end + 1;
            if std::mem::take(&mut too_long) {
                scan.fault(LineFault::TooLong);
            } else if scan.line(line, &mut each) == Use::Enough {
                return Ok(scan);
            }
        }
        buffer.copy_within(begin..whole, 0);
        filled = whole - begin;
    }
    if too_long || filled > 0 {
        scan.lines += 1;
        scan.is_unterminated = true;
        if too_long {
            scan.fault(LineFault::TooLong);
        } else {
            scan.line(&buffer[..filled], &mut each);
        }
    }
    Ok(scan)
}

impl LineScan {
    fn line(&mut self, line: &[u8], each: &mut impl FnMut(u64, &str) -> Use) -> Use {
        let whole = line.strip_suffix(b"\r").unwrap_or(line);
        let line = whole.trim_ascii();
        if line.is_empty() {
            self.white_lines += u64::from(!whole.is_empty());
            return Use::Taken;
        }
        let fault = if line.len() > LINE_BYTES_MAX {
            LineFault::TooLong
        } else {
            match std::str::from_utf8(line) {
                Err(_) => LineFault::NotUtf8,
                Ok(line) if !line.starts_with('{') => {
                    let is_list = line.starts_with('[') && serde_json::from_str::<IgnoredAny>(line).is_ok();
                    self.list_lines += u64::from(is_list);
                    LineFault::NotAnObject
                }
                Ok(line) => match each(self.lines, line) {
                    Use::Damaged => LineFault::Refused,
                    made => return made,
                },
            }
        };
        self.fault(fault);
        Use::Damaged
    }

    fn fault(&mut self, fault: LineFault) {
        self.damaged_lines += 1;
        if self.damaged.len() < DAMAGED_KEPT_MAX {
            self.damaged.push((self.lines, fault));
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Gives its bytes a few at a time.
    pub(crate) struct Trickle<'a>(pub(crate) &'a [u8], pub(crate) usize);

    impl Read for Trickle<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let taken = self.0.len().min(self.1).min(into.len());
            into[..taken].copy_from_slice(&self.0[..taken]);
            self.0 = &self.0[taken..];
            Ok(taken)
        }
    }

    #[track_caller]
    fn check(bytes: &[u8], lines: &[(u64, &str)], damaged: &[(u64, LineFault)]) {
        for at_once in [1, 2, 7, usize::MAX] {
            let mut found = Vec::new();
            let scan = scan(Trickle(bytes, at_once), |number, line| {
                found.push((number, line.to_owned()));
                if serde_json::from_str::<serde_json::Value>(line).is_ok() { Use::Taken } else { Use::Damaged }
            })
            .expect("readable");
            let lines: Vec<_> = lines.iter().map(|(number, line)| (*number, (*line).to_owned())).collect();
            assert_eq!((found, scan.damaged.as_slice()), (lines, damaged), "{at_once} at once");
            assert_eq!(scan.damaged_lines, damaged.len() as u64);
        }
    }

    #[test]
    fn lines_are_numbered_from_one_whatever_ends_them() {
        check(b"", &[], &[]);
        check(b"\n\n", &[], &[]);
        check(b"{}\r\n\r\n{\"a\":1}\n{\"b\":2}", &[(1, "{}"), (3, "{\"a\":1}"), (4, "{\"b\":2}")], &[]);
    }

    #[test]
    fn what_is_no_object_is_damaged_and_not_fatal() {
        check(
            b"null\n5\n\"x\"\n[]\n{}\n\xff{}\n{\"a\n",
            &[(5, "{}"), (7, "{\"a")],
            &[
                (1, LineFault::NotAnObject),
                (2, LineFault::NotAnObject),
                (3, LineFault::NotAnObject),
                (4, LineFault::NotAnObject),
                (6, LineFault::NotUtf8),
                (7, LineFault::Refused),
            ],
        );
    }

    #[test]
    fn damaged_lines_without_number_are_counted_but_not_all_kept() {
        let scan = scan("null\n".repeat(DAMAGED_KEPT_MAX + 5).as_bytes(), |_, _| Use::Taken).expect("readable");
        assert_eq!((scan.damaged.len(), scan.damaged_lines), (DAMAGED_KEPT_MAX, DAMAGED_KEPT_MAX as u64 + 5));
    }

    #[test]
    fn reading_ends_when_the_caller_has_enough() {
        let scan = scan(&b"{}\n{}\n{}\n"[..], |number, _| if number == 2 { Use::Enough } else { Use::Taken })
            .expect("readable");
        assert_eq!(scan.lines, 2);
    }

    #[test]
    fn a_last_line_without_line_feed_is_told() {
        assert!(scan(&b"{}\n{\"a"[..], |_, _| Use::Taken).expect("readable").is_unterminated);
        assert!(!scan(&b"{}\n"[..], |_, _| Use::Taken).expect("readable").is_unterminated);
    }

    proptest! {
        #[test]
        fn chunks_do_not_matter(bytes in proptest::collection::vec(prop_oneof![Just(b'\n'), Just(b'{'), any::<u8>()], 0..200), at_once in 1usize..9) {
            let run = |at_once| {
                let mut found = Vec::new();
                let scan = scan(Trickle(&bytes, at_once), |number, line| { found.push((number, line.to_owned())); Use::Taken });
                (found, scan.expect("readable"))
            };
            prop_assert_eq!(run(at_once), run(usize::MAX));
        }
    }
}
