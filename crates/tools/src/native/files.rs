//! `read_file` and `write_file`.

use adjutant_core::tool::{ContentHasher, FileChange, FileSeen, ResolvedPath, ToolMeta, ToolOutput, content_hash};
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
    /// Reads a file's first bytes. A cut by our own limits is marked in the content, and so are bytes that are no text;
    /// a cut that the agent asked for is exactly what it asked for, and only `meta.truncated` says so.
    pub(super) fn read_file(&self, args: &ReadFile, resolved: &[ResolvedPath]) -> Result<ToolOutput, ToolOutput> {
        let path = self.judged_place(&args.path, resolved).map_err(|error| error.result())?;
        let asked = args.max_bytes.map(|size| size.0);
        let bytes_max = asked.unwrap_or(READ_BYTES_DEFAULT).min(READ_BYTES_MAX);
        let contents = self.workdir.read(&path, bytes_max).map_err(|error| refused(&error))?;
        let read = contents.bytes.len() as u64;
        let truncated = read < contents.total;
        let mut content = String::from_utf8_lossy(&contents.bytes).into_owned();
        if truncated && asked.is_none_or(|asked| asked > READ_BYTES_MAX) {
            content.push_str(&format!("\n[truncated: {read} of {} bytes]", contents.total));
        }
        let replaced = replaced(&contents.bytes, truncated);
        if replaced > 0 {
            let bytes = if replaced == 1 { "byte of the file is" } else { "bytes of the file are" };
            content.push_str(&format!(
                "\n[{replaced} {bytes} not UTF-8, shown as \u{fffd}: change the file with apply_patch, which keeps what \
                 it doesn't touch; write_file won't replace it as a whole]"
            ));
        }
        let seen = self.whole_hash(&path, &contents).map(|hash| FileSeen { path: path.to_string(), hash, replaced });
        let seen = seen.map(Box::new);
        let meta = ToolMeta { bytes: Some(read), truncated: Some(truncated), seen, ..ToolMeta::default() };
        Ok(ToolOutput { meta, ..ToolOutput::worked(content) })
    }

    /// The hash of the whole file of which `contents` were read; none if it can't be read through or is very large.
    fn whole_hash(&self, path: &WorkPath, contents: &Contents) -> Option<String> {
        if contents.bytes.len() as u64 == contents.total {
            return Some(content_hash(&contents.bytes));
        }
        if contents.total > HASHED_BYTES_MAX {
            return None;
        }
        let mut hasher = ContentHasher::default();
        self.workdir.read_through(path, &mut |piece| hasher.update(piece)).ok()?;
        Some(hasher.finish())
    }

    /// What a `write_file` would make of its file.
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

/// How many bytes are not UTF-8. A character that the end of what was read cuts in two is none of them.
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
