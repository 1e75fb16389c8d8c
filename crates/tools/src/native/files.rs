//! `read_file` and `write_file`.

use adjutant_core::words::tool::{
    ContentHasher, FileChange, FileSeen, ResolvedPath, SeenPart, ToolMeta, ToolOutput, content_hash,
};
use adjutant_host::workdir::{Contents, Kind, WorkPath};
use adjutant_ports::Prepared;

use super::{Inner, check_unchanged, refused};
use crate::args::{ReadFile, WriteFile};

/// The bytes returned of a file unless asked otherwise: the peer's limit.
const READ_BYTES_DEFAULT: u64 = 1_000_000;
/// The most that can be asked for.
const READ_BYTES_MAX: u64 = 16_000_000;
/// The largest file whose whole is hashed although only a part was asked for: 256 MiB, about a second's work.
const HASHED_BYTES_MAX: u64 = 256 << 20;

impl Inner {
    /// Reads a file, or lines of it. A cut by our own limits is marked in the content, and so are bytes that are no
    /// text; a cut in bytes that the agent asked for is exactly what it asked for, and only `meta.truncated` says so.
    /// If it asked for lines, a last line says which these are, of how many, and how to go on.
    pub(super) fn read_file(&self, args: &ReadFile, resolved: &[ResolvedPath]) -> Result<ToolOutput, ToolOutput> {
        let path = self.judged_place(&args.path, resolved).map_err(|error| error.result())?;
        let asked = args.max_bytes.map(|size| size.0);
        let bytes_max = asked.unwrap_or(READ_BYTES_DEFAULT).min(READ_BYTES_MAX);
        if args.offset.is_some() || args.limit.is_some() {
            let first = args.offset.map_or(1, |offset| offset.0);
            let last = args.limit.map_or(u64::MAX, |limit| first.saturating_add(limit.0 - 1));
            return self.read_lines(&path, LineExcerpt::new(first, last, bytes_max));
        }
        let contents = self.workdir.read(&path, bytes_max).map_err(|error| refused(&error))?;
        let read = contents.bytes.len() as u64;
        let truncated = read < contents.total;
        let whole = self.whole(&path, &contents);
        let shown = contents.bytes.iter().filter(|byte| **byte == b'\n').count() as u64;
        let mut content = String::from_utf8_lossy(&contents.bytes).into_owned();
        if truncated && asked.is_none_or(|asked| asked > READ_BYTES_MAX) {
            let lines = match &whole {
                Some((_, lines)) if shown > 0 => format!("; go on with offset {} of {lines} lines", shown + 1),
                Some(_) | None => String::new(),
            };
            content.push_str(&format!("\n[truncated: {read} of {} bytes{lines}]", contents.total));
        }
        let replaced = replaced(&contents.bytes, truncated);
        content.push_str(&replaced_note(replaced));
        let seen = whole.map(|(hash, lines)| FileSeen {
            path: path.to_string(),
            hash,
            replaced,
            part: truncated.then_some(SeenPart { first: 1, last: shown, lines }),
        });
        let seen = seen.map(Box::new);
        let meta = ToolMeta { bytes: Some(read), truncated: Some(truncated), seen, ..ToolMeta::default() };
        Ok(ToolOutput { meta, ..ToolOutput::worked(content) })
    }

    /// Reads lines of a file, all of which is looked at: it is told how many lines there are.
    fn read_lines(&self, path: &WorkPath, mut lines: LineExcerpt) -> Result<ToolOutput, ToolOutput> {
        let total = self.workdir.read(path, 0).map_err(|error| refused(&error))?.total;
        if total > HASHED_BYTES_MAX {
            return Err(ToolOutput::failed(
                "TOO_LARGE",
                format!(
                    "`{path}` has {total} bytes, and lines are counted up to {HASHED_BYTES_MAX}: read it without \
                     `offset` and `limit`, or take a part of it with a command"
                ),
            ));
        }
        let mut hasher = ContentHasher::default();
        let mut take = |piece: &[u8]| {
            hasher.update(piece);
            lines.take(piece);
        };
        self.workdir.read_through(path, &mut take).map_err(|error| refused(&error))?;
        let count = lines.count();
        let LineExcerpt { first, shown, bytes, is_cut, .. } = lines;
        let last = shown.min(count);
        let replaced = replaced(&bytes, is_cut);
        let mut content = String::from_utf8_lossy(&bytes).into_owned();
        content.push_str(&replaced_note(replaced));
        if !content.is_empty() && !content.ends_with('\n') {
            content.push('\n');
        }
        let on = if last < count { format!("; go on with offset {}", last + 1) } else { String::new() };
        content.push_str(&match (is_cut, last < first) {
            (true, true) => format!("[truncated: {} bytes of line {first}, of {count} lines]", bytes.len()),
            (true, false) => format!("[truncated: lines {first}-{last} of {count}{on}]"),
            (false, true) => format!("[no such line: the file has {count} lines]"),
            (false, false) => format!("[lines {first}-{last} of {count}{on}]"),
        });
        let is_whole = first == 1 && last == count && !is_cut;
        let part = (!is_whole).then_some(SeenPart { first, last, lines: count });
        let seen = FileSeen { path: path.to_string(), hash: hasher.finish(), replaced, part };
        let meta = ToolMeta {
            bytes: Some(bytes.len() as u64),
            truncated: Some(is_cut),
            seen: Some(Box::new(seen)),
            ..ToolMeta::default()
        };
        Ok(ToolOutput { meta, ..ToolOutput::worked(content) })
    }

    /// Returns the hash of the whole file of which `contents` were read, and how many lines it has; `None` if it can't
    /// be read through or is very large.
    fn whole(&self, path: &WorkPath, contents: &Contents) -> Option<(String, u64)> {
        let mut lines = LineExcerpt::new(u64::MAX, u64::MAX, 0);
        if contents.bytes.len() as u64 == contents.total {
            lines.take(&contents.bytes);
            return Some((content_hash(&contents.bytes), lines.count()));
        }
        if contents.total > HASHED_BYTES_MAX {
            return None;
        }
        let mut hasher = ContentHasher::default();
        let mut take = |piece: &[u8]| {
            hasher.update(piece);
            lines.take(piece);
        };
        self.workdir.read_through(path, &mut take).ok()?;
        Some((hasher.finish(), lines.count()))
    }

    /// Returns the change that a `write_file` would make to its file.
    pub(super) fn planned_write(
        &self,
        args: &WriteFile,
        resolved: &[ResolvedPath],
    ) -> Result<Vec<FileChange>, ToolOutput> {
        let path = self.judged_place(&args.path, resolved).map_err(|error| error.result())?;
        let mut hasher = ContentHasher::default();
        let before = match self.workdir.kind(&path).map_err(|error| refused(&error))? {
            None => None,
            Some(Kind::File { .. } | Kind::Link | Kind::Special | Kind::Folder) => {
                self.workdir.read_through(&path, &mut |piece| hasher.update(piece)).map_err(|error| refused(&error))?;
                Some(hasher.finish())
            }
        };
        let mut after = if args.append == Some(true) { hasher } else { ContentHasher::default() };
        after.update(args.content.as_bytes());
        Ok(vec![FileChange { path: path.as_str().to_owned(), before, after: Some(after.finish()) }])
    }

    pub(super) fn write_file(
        &self,
        args: &WriteFile,
        resolved: &[ResolvedPath],
        prepared: &Prepared,
    ) -> Result<ToolOutput, ToolOutput> {
        let path = self.judged_place(&args.path, resolved).map_err(|error| error.result())?;
        if !prepared.changes.is_empty() {
            check_unchanged(prepared, &self.planned_write(args, resolved)?)?;
        }
        let content = args.content.as_bytes();
        let is_append = args.append == Some(true);
        if !is_append {
            check_known(prepared)?;
        }
        let written =
            if is_append { self.workdir.append(&path, content) } else { self.workdir.write(&path, content, None) };
        let written = written.map_err(|error| refused(&error))?;
        let verb = if is_append { "Appended" } else { "Wrote" };
        let folders = if written.created_folders.is_empty() { "" } else { " (created its folders)" };
        let meta = ToolMeta { bytes: Some(content.len() as u64), ..ToolMeta::default() };
        let through = resolved.first().map_or(String::new(), |_| format!(", which is {path}"));
        let named = args.path.trim_end_matches('/').rsplit('/').next().unwrap_or(path.name());
        Ok(ToolOutput {
            meta,
            ..ToolOutput::worked(format!("{verb} {} bytes to {named}{through}{folders}.", content.len()))
        })
    }
}

/// Takes lines out of a file that comes in pieces, and counts all of them.
struct LineExcerpt {
    first: u64,
    last: u64,
    bytes_max: usize,
    /// The bytes of the lines that were asked for, whole lines unless one alone is too long.
    bytes: Vec<u8>,
    /// The last line of them that is there as a whole; before the first, none.
    shown: u64,
    /// True if lines that were asked for, or a part of one, are not there.
    is_cut: bool,
    /// Number of lines that have ended.
    ended: u64,
    /// True if something follows the end of the last.
    is_open: bool,
    /// Beginning of the unended line, as an index into `bytes`.
    begun: usize,
}

impl LineExcerpt {
    fn new(first: u64, last: u64, bytes_max: u64) -> Self {
        Self {
            first,
            last,
            bytes_max: usize::try_from(bytes_max).unwrap_or(usize::MAX),
            bytes: Vec::new(),
            shown: first.saturating_sub(1),
            is_cut: false,
            ended: 0,
            is_open: false,
            begun: 0,
        }
    }

    fn take(&mut self, piece: &[u8]) {
        for part in piece.split_inclusive(|byte| *byte == b'\n') {
            let number = self.ended + 1;
            if (self.first..=self.last).contains(&number) && !self.is_cut {
                self.keep(part);
            }
            self.is_open = !part.ends_with(b"\n");
            if !self.is_open {
                self.ended += 1;
                if number >= self.first && number <= self.last && !self.is_cut {
                    self.shown = number;
                    self.begun = self.bytes.len();
                }
            }
        }
    }

    fn keep(&mut self, part: &[u8]) {
        let room = self.bytes_max - self.bytes.len().min(self.bytes_max);
        if part.len() <= room {
            self.bytes.extend_from_slice(part);
            return;
        }
        self.is_cut = true;
        if self.begun > 0 {
            self.bytes.truncate(self.begun);
        } else {
            self.bytes.extend_from_slice(&part[..room]);
        }
    }

    /// Returns the number of lines. The last may lack its end; it is shown as a whole then, too.
    fn count(&mut self) -> u64 {
        let count = self.ended + u64::from(self.is_open);
        if self.is_open && (self.first..=self.last).contains(&count) && !self.is_cut {
            self.shown = count;
        }
        count
    }
}

/// Returns the note behind content with bytes that are no text.
fn replaced_note(replaced: u64) -> String {
    if replaced == 0 {
        return String::new();
    }
    let bytes = if replaced == 1 { "byte of the file is" } else { "bytes of the file are" };
    format!(
        "\n[{replaced} {bytes} not UTF-8, shown as \u{fffd}: change the file with apply_patch, which keeps what it \
         doesn't touch; write_file won't replace it as a whole]"
    )
}

/// Returns the number of bytes that are not UTF-8. A character that the end of the read part cuts in two doesn't count.
fn replaced(bytes: &[u8], is_cut: bool) -> u64 {
    let mut chunks = bytes.utf8_chunks().peekable();
    let mut replaced = 0;
    while let Some(chunk) = chunks.next() {
        let ends = chunks.peek().is_none();
        let is_halved =
            is_cut && ends && std::str::from_utf8(chunk.invalid()).is_err_and(|error| error.error_len().is_none());
        replaced += if is_halved { 0 } else { chunk.invalid().len() as u64 };
    }
    replaced
}

/// Refuses to replace a file as a whole by what an agent made of another content than it has now, or of one that it
/// never saw as it is. A file that the agent doesn't know is replaced: nothing it wrote rests on it.
fn check_known(prepared: &Prepared) -> Result<(), ToolOutput> {
    for FileChange { path, before, after } in &prepared.changes {
        let Some(seen) = prepared.seen.iter().find(|seen| seen.path == *path) else { continue };
        let Some(before) = before.as_ref().filter(|before| Some(*before) != after.as_ref()) else { continue };
        if *before != seen.hash {
            return Err(ToolOutput::failed(
                "CHANGED_SINCE_READ",
                format!(
                    "`{path}` is not what it was when you last read or wrote it: something else changed it. Nothing was \
                     written. Read it again, then write it."
                ),
            ));
        }
        if let Some(part) = seen.part {
            let lines = match part {
                SeenPart { first, last, lines } if first <= last => format!("lines {first} to {last} of {lines}"),
                SeenPart { .. } => "its two ends".to_owned(),
            };
            return Err(ToolOutput::failed(
                "NOT_SEEN",
                format!(
                    "you did not see all of `{path}`, only a part ({lines}). Writing it as a whole would lose the rest. \
                     Nothing was written. Read the rest with `offset` and `limit`, change the file with apply_patch, or \
                     delete it first if its content is not needed."
                ),
            ));
        }
        if seen.replaced > 0 {
            return Err(ToolOutput::failed(
                "NOT_SEEN",
                format!(
                    "you did not see all of `{path}` as it is: bytes that are not UTF-8 were shown as \u{fffd}, secrets as \
                     [masked:...]. Writing it as a whole would lose them. Nothing was written. Change it with \
                     apply_patch, or delete it first if its content is not needed."
                ),
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_are_no_text_are_counted_and_a_cut_is_no_such_byte() {
        for (bytes, is_cut, expected) in [
            (&b"abc"[..], false, 0),
            (b"a\xffb", false, 1),
            (b"a\xff\xfe", false, 2),
            (b"\xe2\x82\xac", false, 0),
            (b"a\xe2\x82", false, 2),
            (b"a\xe2\x82", true, 0),
            (b"a\xff", true, 1),
            (b"\xffa\xe2", true, 1),
            (b"", true, 0),
        ] {
            assert_eq!(replaced(bytes, is_cut), expected, "{bytes:?} {is_cut}");
        }
    }
}
