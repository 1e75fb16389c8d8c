//! `list_dir`: a folder as JSON, without ignored files.

use adjutant_core::words::tool::{ResolvedPath, ToolMeta, ToolOutput};
use adjutant_host::workdir::{Kind, WorkPath, is_text};
use adjutant_ports::CancellationToken;
use globset::{GlobBuilder, GlobMatcher};
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use serde::Serialize;

use super::{Inner, cancelled, refused};
use crate::args::{ListDir, invalid};

/// Names left out anywhere: the peer's list.
const SKIPPED: [&str; 7] = [".git", "node_modules", ".next", "dist", ".turbo", ".cache", "build"];
/// The files in the workdir that name more: ours, and the peer's.
const IGNORE_FILES: [&str; 2] = [".adjutantignore", ".openwarignore"];
/// The most bytes of an ignore file that are read.
const IGNORE_BYTES_MAX: u64 = 1_000_000;
/// The most entries listed, and the most looked at to find them.
const ENTRIES_MAX: usize = 10_000;
const LOOKED_AT_MAX: usize = 1_000_000;

#[derive(Serialize)]
struct ListedEntry {
    name: String,
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u64>,
}

struct FolderListing<'a> {
    inner: &'a Inner,
    ignored: Gitignore,
    glob: Option<GlobMatcher>,
    depth: u64,
    cancel: &'a CancellationToken,
    entries: Vec<ListedEntry>,
    looked_at: usize,
    is_cut: bool,
}

impl Inner {
    pub(super) fn list_dir(
        &self,
        args: &ListDir,
        resolved: &[ResolvedPath],
        cancel: &CancellationToken,
    ) -> Result<ToolOutput, ToolOutput> {
        let path = self.judged_place(&args.path, resolved).map_err(|error| error.result())?;
        let glob = match args.glob.as_deref() {
            None => None,
            Some(pattern) => {
                Some(glob(pattern).map_err(|error| invalid("list_dir", &format!("`glob` can't be read: {error}")))?)
            }
        };
        let depth = args.depth.map_or(1, |depth| depth.0);
        let mut listing = FolderListing {
            inner: self,
            ignored: self.ignored(),
            glob,
            depth,
            cancel,
            entries: Vec::new(),
            looked_at: 0,
            is_cut: false,
        };
        listing.folder(&path, "", 1)?;
        let count = listing.entries.len();
        let mut content = serde_json::to_string_pretty(&listing.entries)
            .map_err(|error| ToolOutput::failed("INTERNAL", error.to_string()))?;
        if listing.is_cut {
            content.push_str(&format!("\n[truncated: only {count} entries are listed; list a folder further down]"));
        }
        let meta =
            ToolMeta { bytes: Some(count as u64), truncated: listing.is_cut.then_some(true), ..ToolMeta::default() };
        Ok(ToolOutput { meta, ..ToolOutput::worked(content) })
    }

    /// Reads the names in the ignore files, in git's syntax, of which the peer's is a part. A file or line that can't
    /// be read ignores nothing.
    fn ignored(&self) -> Gitignore {
        let mut builder = GitignoreBuilder::new("");
        for name in IGNORE_FILES {
            let place = self.workdir.resolve(name).and_then(|path| self.workdir.real_place(&path));
            let contents = place.and_then(|place| self.workdir.read(&place.path, IGNORE_BYTES_MAX));
            let Ok(contents) = contents else { continue };
            for line in String::from_utf8_lossy(&contents.bytes).lines() {
                builder.add_line(None, line).ok();
            }
        }
        builder.build().unwrap_or_else(|_| Gitignore::empty())
    }
}

impl FolderListing<'_> {
    /// Lists one folder: each subfolder right before its contents.
    fn folder(&mut self, path: &WorkPath, shown: &str, level: u64) -> Result<(), ToolOutput> {
        if self.cancel.is_cancelled() {
            return Err(cancelled(None));
        }
        let entries = match self.inner.workdir.entries(path) {
            Ok(entries) => entries,
            // One folder that can't be read is no reason to say nothing of the others.
            Err(_) if level > 1 => return Ok(()),
            Err(error) => return Err(refused(&error)),
        };
        for entry in entries {
            self.looked_at += 1;
            let Some(below) = path.join(&entry.name) else {
                continue;
            };
            // A name that is no text can't be named in a call.
            if !is_text(&entry.name) {
                continue;
            }
            let is_folder = entry.kind == Kind::Folder;
            if SKIPPED.contains(&entry.name.as_str()) || self.ignored.matched(below.as_str(), is_folder).is_ignore() {
                continue;
            }
            let (kind, size) = match entry.kind {
                Kind::File { bytes, .. } => ("file", Some(bytes)),
                Kind::Folder => ("directory", None),
                Kind::Link | Kind::Special => continue,
            };
            let name = if shown.is_empty() { entry.name.clone() } else { format!("{shown}/{}", entry.name) };
            if self.glob.as_ref().is_none_or(|glob| glob.is_match(&entry.name) || glob.is_match(&name)) {
                if self.entries.len() == ENTRIES_MAX {
                    self.is_cut = true;
                    return Ok(());
                }
                self.entries.push(ListedEntry { name: name.clone(), kind, size });
            }
            if self.looked_at > LOOKED_AT_MAX {
                self.is_cut = true;
                return Ok(());
            }
            if is_folder && level < self.depth && !self.is_cut {
                self.folder(&below, &name, level + 1)?;
            }
        }
        Ok(())
    }
}

fn glob(pattern: &str) -> Result<GlobMatcher, globset::Error> {
    Ok(GlobBuilder::new(pattern).literal_separator(true).build()?.compile_matcher())
}
