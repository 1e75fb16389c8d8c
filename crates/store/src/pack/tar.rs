//! The one form of archive that a pack has: plain files with short names and nothing else, so that a reader can compare
//! each header with the only one that there can be. Links, folders, long names and devices are not refused one by one:
//! they are not that header. Any program that reads POSIX archives unpacks it.

use std::io::{self, Read};

/// The length of a header, and what lengths are filled up to, in bytes.
pub(super) const BLOCK: usize = 512;

/// The end of an archive: two blocks of zeros.
pub(super) const END: [u8; 2 * BLOCK] = [0; 2 * BLOCK];

/// The longest file that a header can name, in bytes: eleven octal digits.
const FILE_BYTES_MAX: u64 = 0o77_777_777_777;

/// The header of a plain file.
///
/// # Errors
///
/// If its name or length don't fit.
pub(super) fn header(name: &str, bytes: u64) -> io::Result<[u8; BLOCK]> {
    if name.len() > 100 || bytes > FILE_BYTES_MAX {
        return Err(io::Error::other(format!("`{name}` with {bytes} bytes is too large for a pack")));
    }
    let mut header = [0; BLOCK];
    let mut put = |at: usize, field: &[u8]| header[at..at + field.len()].copy_from_slice(field);
    put(0, name.as_bytes());
    put(100, b"0000644\0");
    put(108, b"0000000\0");
    put(116, b"0000000\0");
    put(124, format!("{bytes:011o}\0").as_bytes());
    put(136, b"00000000000\0");
    put(148, b"        ");
    put(156, b"0");
    put(257, b"ustar\x0000");
    put(329, b"0000000\0");
    put(337, b"0000000\0");
    let sum: u64 = header.iter().map(|byte| u64::from(*byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    Ok(header)
}

/// Returns the zeros that fill a file of this length up to whole blocks.
pub(super) fn padding(bytes: u64) -> Vec<u8> {
    vec![0; padding_bytes(bytes)]
}

fn padding_bytes(bytes: u64) -> usize {
    let over = usize::try_from(bytes % BLOCK as u64).unwrap_or(0);
    if over == 0 { 0 } else { BLOCK - over }
}

/// An archive that is read from its beginning to its end.
pub(super) struct Archive<R> {
    from: R,
    /// Number of bytes of the archive from here on.
    left: u64,
    /// Number of bytes of the current file that are not read yet.
    open: u64,
    /// Number of bytes that follow them up to a whole block.
    padding: usize,
}

impl<R: Read> Archive<R> {
    /// The archive `from`, which is so many bytes long.
    pub(super) fn new(from: R, bytes: u64) -> Self {
        Self { from, left: bytes, open: 0, padding: 0 }
    }

    /// Returns the name and length of the next file, whose content [`Read`] then gives; `None` at the end.
    ///
    /// # Errors
    ///
    /// If the archive is malformed, or can't be read.
    pub(super) fn next(&mut self) -> io::Result<Option<(String, u64)>> {
        io::copy(&mut *self, &mut io::sink())?;
        let mut block = [0; BLOCK];
        let padding = std::mem::take(&mut self.padding);
        self.block(&mut block[..padding])?;
        if block.iter().any(|byte| *byte != 0) {
            return Err(io::Error::other("there is something behind the end of a file"));
        }
        self.block(&mut block)?;
        if block == [0; BLOCK] {
            self.block(&mut block)?;
            if block != [0; BLOCK] || self.left > 0 {
                return Err(io::Error::other("there is something behind its end"));
            }
            return Ok(None);
        }
        let name = block[..100].split(|byte| *byte == 0).next().unwrap_or_default();
        let bytes = std::str::from_utf8(&block[124..135]).ok().and_then(|size| u64::from_str_radix(size, 8).ok());
        let named = std::str::from_utf8(name).ok().zip(bytes);
        let Some((name, bytes)) = named.filter(|(name, bytes)| header(name, *bytes).is_ok_and(|only| only == block))
        else {
            let name: String = String::from_utf8_lossy(name).chars().flat_map(char::escape_debug).collect();
            return Err(io::Error::other(format!("`{name}` is no plain file as a pack has them")));
        };
        if bytes > self.left {
            return Err(io::Error::other(format!("`{}` is cut off, or its length is not true", name.escape_debug())));
        }
        self.open = bytes;
        self.padding = padding_bytes(bytes);
        Ok(Some((name.to_owned(), bytes)))
    }

    fn block(&mut self, into: &mut [u8]) -> io::Result<()> {
        self.from.read_exact(into).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => io::Error::other("it is cut off"),
            _ => error,
        })?;
        self.left = self.left.saturating_sub(into.len() as u64);
        Ok(())
    }
}

/// The content of the file that was handed out last.
impl<R: Read> Read for Archive<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let room = into.len().min(usize::try_from(self.open).unwrap_or(usize::MAX));
        let read = self.from.read(&mut into[..room])?;
        if read == 0 && room > 0 {
            return Err(io::Error::other("it is cut off"));
        }
        self.open -= read as u64;
        self.left = self.left.saturating_sub(read as u64);
        Ok(read)
    }
}
