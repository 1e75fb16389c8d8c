//! `read_file` and `write_file`.

use adjutant_core::tool::{ContentHasher, FileChange, ToolMeta, ToolOutput};
use adjutant_host::workdir::Kind;
use adjutant_ports::Prepared;

use super::{Inner, check_unchanged, refused};
use crate::args::{ReadFile, WriteFile};

/// The bytes returned of a file unless asked otherwise: the peer's limit.
const READ_BYTES_DEFAULT: u64 = 1_000_000;
/// The most that can be asked for.
const READ_BYTES_MAX: u64 = 16_000_000;

impl Inner {
    /// Reads a file's first bytes. A cut by our own limits is marked in the content; one that the agent asked
    /// for is exactly what it asked for, and only `meta.truncated` says so.
    pub(super) fn read_file(&self, args: &ReadFile) -> Result<ToolOutput, ToolOutput> {
        let path = self.workdir.resolve(&args.path).map_err(|error| refused(&error))?;
        let asked = args.max_bytes.map(|size| size.0);
        let bytes_max = asked.unwrap_or(READ_BYTES_DEFAULT).min(READ_BYTES_MAX);
        let contents = self.workdir.read(&path, bytes_max).map_err(|error| refused(&error))?;
        let read = contents.bytes.len() as u64;
        let truncated = read < contents.total;
        let mut content = String::from_utf8_lossy(&contents.bytes).into_owned();
        if truncated && asked.is_none_or(|asked| asked > READ_BYTES_MAX) {
            content.push_str(&format!("\n[truncated: {read} of {} bytes]", contents.total));
        }
        let meta = ToolMeta { bytes: Some(read), truncated: Some(truncated), ..ToolMeta::default() };
        Ok(ToolOutput { meta, ..ToolOutput::worked(content) })
    }

    /// What a `write_file` would make of its file.
    pub(super) fn planned_write(&self, args: &WriteFile) -> Result<Vec<FileChange>, ToolOutput> {
        let path = self.workdir.resolve(&args.path).map_err(|error| refused(&error))?;
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

    pub(super) fn write_file(&self, args: &WriteFile, prepared: &Prepared) -> Result<ToolOutput, ToolOutput> {
        let path = self.workdir.resolve(&args.path).map_err(|error| refused(&error))?;
        if !prepared.changes.is_empty() {
            check_unchanged(prepared, &self.planned_write(args)?)?;
        }
        let content = args.content.as_bytes();
        let is_append = args.append == Some(true);
        let written =
            if is_append { self.workdir.append(&path, content) } else { self.workdir.write(&path, content, None) };
        let written = written.map_err(|error| refused(&error))?;
        let verb = if is_append { "Appended" } else { "Wrote" };
        let folders = if written.created_folders.is_empty() { "" } else { " (created its folders)" };
        let meta = ToolMeta { bytes: Some(content.len() as u64), ..ToolMeta::default() };
        Ok(ToolOutput {
            meta,
            ..ToolOutput::worked(format!("{verb} {} bytes to {}{folders}.", content.len(), path.name()))
        })
    }
}
