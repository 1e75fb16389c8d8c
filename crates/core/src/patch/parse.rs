//! Reads the text of a patch into file changes and hunks, forgiving what agents get wrong.
//!
//! Forgiven: prose and markdown fences around the patch, CRLF throughout, counts that don't add up, bare
//! `@@` lines, blank context lines without their space. Not forgiven, because it would lose or invent a
//! change: lines in a hunk without a prefix, changed lines outside a hunk, binary data.

use super::path::{Side, git_pair, side, unquote};
use super::plan::FileMode;
use super::reject::{RejectCode, Rejected, shown};
use super::{FILES_MAX, PATCH_BYTES_MAX};

/// The part of a patch about one file.
#[derive(Debug)]
pub(super) struct FilePatch<'a> {
    /// The line of the patch where it begins, from 1.
    pub(super) line: usize,
    pub(super) operation: Operation,
    /// True if a `diff --git` line stood above it.
    pub(super) git: bool,
    pub(super) mode: Option<FileMode>,
    pub(super) hunks: Vec<Hunk<'a>>,
}

/// The change of the file as a whole. Names are as written; those of git's rename and copy lines have no prefix.
#[derive(Debug)]
pub(super) enum Operation {
    Edit { old: String, new: String },
    Create { new: String },
    Delete { old: String },
    Rename { from: String, to: String },
    Copy { from: String, to: String },
}

/// One hunk.
#[derive(Debug)]
pub(super) struct Hunk<'a> {
    /// Its number within the file, from 1.
    pub(super) number: u32,
    /// The line of the patch where it begins, from 1.
    pub(super) line: usize,
    /// The header's old side; absent if it has no usable numbers.
    pub(super) place: Option<HeaderPlace>,
    pub(super) lines: Vec<HunkLine<'a>>,
}

/// The old side of a hunk's header.
#[derive(Debug, Clone, Copy)]
pub(super) struct HeaderPlace {
    pub(super) start: usize,
    pub(super) count: usize,
}

/// One line of a hunk, without prefix and line feed.
#[derive(Debug)]
pub(super) struct HunkLine<'a> {
    pub(super) kind: LineKind,
    pub(super) text: &'a str,
    /// True if `\ No newline at end of file` follows it.
    pub(super) no_newline: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineKind {
    Context,
    Delete,
    Add,
}

/// Reads the whole patch: at least one file, each with something to do.
pub(super) fn parse(patch: &str) -> Result<Vec<FilePatch<'_>>, Rejected> {
    if patch.len() > PATCH_BYTES_MAX {
        return Err(Rejected::new(
            RejectCode::TooLarge,
            format!("the patch has {} bytes, more than {PATCH_BYTES_MAX}", patch.len()),
        ));
    }
    let patch = patch.strip_prefix('\u{feff}').unwrap_or(patch);
    let mut lines: Vec<&str> = patch.split('\n').collect();
    if lines.last() == Some(&"") {
        lines.pop();
    }
    // A patch whose own headers end in CR went through something that translated every line, so that its
    // line endings say nothing about the file's.
    let is_header = |line: &&str| line.starts_with("--- ") || line.starts_with("diff --git ") || line.starts_with("@@");
    if lines.iter().find(|line| is_header(line)).is_some_and(|line| line.ends_with('\r')) {
        for line in &mut lines {
            *line = line.strip_suffix('\r').unwrap_or(line);
        }
    }
    let mut parser = Parser { lines, at: 0, fence: FenceState::None };
    let files = parser.files()?;
    if files.is_empty() {
        return Err(Rejected::new(RejectCode::Parse, "there is no file header in the patch").hint(
            "send a unified diff: `--- a/path`, `+++ b/path`, then hunks that begin with `@@ -line,count +line,count @@`",
        ));
    }
    Ok(files)
}

/// The parser's position relative to markdown fences.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FenceState {
    None,
    Open,
    Closed,
}

struct Parser<'a> {
    lines: Vec<&'a str>,
    at: usize,
    fence: FenceState,
}

impl<'a> Parser<'a> {
    fn peek(&self, ahead: usize) -> Option<&'a str> {
        self.lines.get(self.at + ahead).copied()
    }

    fn files(&mut self) -> Result<Vec<FilePatch<'a>>, Rejected> {
        let mut files = Vec::new();
        while let Some(line) = self.peek(0) {
            if files.len() > FILES_MAX {
                return Err(Rejected::new(
                    RejectCode::TooLarge,
                    format!("the patch names more than {FILES_MAX} files"),
                ));
            }
            let here = self.at + 1;
            if let Some(rest) = line.strip_prefix("diff --git ") {
                files.push(self.git_file(rest)?);
            } else if line.starts_with("--- ") && self.peek(1).is_some_and(|next| next.starts_with("+++ ")) {
                files.push(self.plain_file()?);
            } else if is_fence(line) {
                self.fence = if self.fence == FenceState::Open { FenceState::Closed } else { FenceState::Open };
                self.at += 1;
            } else {
                self.refuse_lost_change(line, here, !files.is_empty())?;
                self.at += 1;
            }
        }
        Ok(files)
    }

    /// Text between files is ignored, unless it looks like a change that would get lost.
    fn refuse_lost_change(&self, line: &str, here: usize, after_a_file: bool) -> Result<(), Rejected> {
        if line.starts_with("*** Begin Patch") || line.starts_with("*** Update File") {
            return Err(Rejected::parse(here, "this is not a unified diff")
                .hint("send `--- a/path`, `+++ b/path` and `@@` hunks instead of `*** Begin Patch`"));
        }
        if self.fence == FenceState::Closed {
            return Ok(());
        }
        refuse_binary(line, here)?;
        if line.starts_with("@@")
            || (line.starts_with("--- ") && self.peek(1).is_some_and(|next| next.starts_with("@@")))
        {
            return Err(Rejected::parse(here, "a hunk without the two file header lines above it")
                .hint("put `--- a/path` and `+++ b/path` before the first hunk of each file"));
        }
        if line.starts_with("rename from ") || line.starts_with("copy from ") {
            return Err(Rejected::parse(here, "a rename or copy without a `diff --git` line above it")
                .hint("begin it with `diff --git a/old b/new`"));
        }
        let is_change = line.starts_with('+') || line.starts_with('-');
        if after_a_file && is_change && !self.is_signature() {
            return Err(Rejected::parse(here, format!("a changed line outside any hunk: `{}`", shown(line.as_bytes())))
                .hint("a blank line ended the hunk: write blank context lines as a single space, and correct the counts in the `@@` line"));
        }
        Ok(())
    }

    /// True if the next line is the `-- ` line that git puts under a mailed patch, with the version after it.
    fn is_signature(&self) -> bool {
        self.peek(0).is_some_and(|line| line.trim_end_matches('\r') == "-- ")
            && self.peek(1).is_none_or(|next| next.is_empty() || next.starts_with(|c: char| c.is_ascii_digit()))
    }

    fn plain_file(&mut self) -> Result<FilePatch<'a>, Rejected> {
        let line = self.at + 1;
        let (old, new) = self.header_pair()?;
        let hunks = self.hunks()?;
        let operation = match (old, new) {
            (Side::Name(old), Side::Name(new)) => Operation::Edit { old, new },
            (Side::Nothing, Side::Name(new)) => Operation::Create { new },
            (Side::Name(old), Side::Nothing) => Operation::Delete { old },
            (Side::Nothing, Side::Nothing) => {
                return Err(Rejected::parse(line, "both sides are `/dev/null`"));
            }
        };
        if hunks.is_empty() {
            return Err(
                Rejected::parse(line, "a file header without hunks").hint("add the hunks, or leave the file out")
            );
        }
        Ok(FilePatch { line, operation, git: false, mode: None, hunks })
    }

    fn header_pair(&mut self) -> Result<(Side, Side), Rejected> {
        let here = self.at + 1;
        let old = side(self.peek(0).and_then(|line| line.strip_prefix("--- ")).unwrap_or(""), here)?;
        let new = side(self.peek(1).and_then(|line| line.strip_prefix("+++ ")).unwrap_or(""), here + 1)?;
        self.at += 2;
        Ok((old, new))
    }

    fn git_file(&mut self, rest: &str) -> Result<FilePatch<'a>, Rejected> {
        let line = self.at + 1;
        let named = git_pair(rest, line)?;
        self.at += 1;
        let mut headers = GitHeaders::default();
        while let Some(text) = self.peek(0) {
            if !headers.take(text, self.at + 1)? {
                break;
            }
            self.at += 1;
        }
        let mut sides = None;
        if self.peek(0).is_some_and(|text| text.starts_with("--- "))
            && self.peek(1).is_some_and(|text| text.starts_with("+++ "))
        {
            sides = Some(self.header_pair()?);
        }
        let hunks = self.hunks()?;
        if let (Some(from), Some(to)) = (&headers.rename_from, &headers.rename_to) {
            return Ok(FilePatch {
                line,
                operation: Operation::Rename { from: from.clone(), to: to.clone() },
                git: true,
                mode: headers.mode,
                hunks,
            });
        }
        if let (Some(from), Some(to)) = (&headers.copy_from, &headers.copy_to) {
            return Ok(FilePatch {
                line,
                operation: Operation::Copy { from: from.clone(), to: to.clone() },
                git: true,
                mode: headers.mode,
                hunks,
            });
        }
        if headers.has_half_a_move() {
            return Err(Rejected::parse(line, "a rename or copy with only one of its two lines"));
        }
        let (old, new) = match (sides, named) {
            (Some((old, new)), _) => (old, new),
            (None, Some((old, new))) => (Side::Name(old), Side::Name(new)),
            (None, None) => {
                return Err(Rejected::parse(line, "can't tell the two names on this line apart"));
            }
        };
        let operation = match (old, new, headers.created, headers.deleted) {
            (_, Side::Name(new), true, false) | (Side::Nothing, Side::Name(new), false, false) => {
                Operation::Create { new }
            }
            (Side::Name(old), _, false, true) | (Side::Name(old), Side::Nothing, false, false) => {
                Operation::Delete { old }
            }
            (Side::Name(old), Side::Name(new), false, false) => Operation::Edit { old, new },
            _ => return Err(Rejected::parse(line, "headers that contradict each other")),
        };
        if hunks.is_empty() && headers.mode.is_none() && matches!(operation, Operation::Edit { .. }) {
            return Err(
                Rejected::parse(line, "a file header without hunks").hint("add the hunks, or leave the file out")
            );
        }
        Ok(FilePatch { line, operation, git: true, mode: headers.mode, hunks })
    }

    fn hunks(&mut self) -> Result<Vec<Hunk<'a>>, Rejected> {
        let mut hunks = Vec::new();
        loop {
            // Blank lines between hunks are an agent's layout, nothing more.
            let blank = (0..).take_while(|ahead| self.peek(*ahead) == Some("")).count();
            match self.peek(blank) {
                Some(line) if line.starts_with("@@") => self.at += blank,
                _ => return Ok(hunks),
            }
            let number = u32::try_from(hunks.len() + 1).unwrap_or(u32::MAX);
            hunks.push(self.hunk(number)?);
        }
    }

    fn hunk(&mut self, number: u32) -> Result<Hunk<'a>, Rejected> {
        let start = self.at + 1;
        let header = header_numbers(self.peek(0).unwrap_or(""));
        self.at += 1;
        let mut left = header.map(|(old, new)| PromisedLines { old: old.count, new: new.count, overrun: false });
        let mut lines: Vec<HunkLine<'a>> = Vec::new();
        while let Some(line) = self.peek(0) {
            if (self.fence == FenceState::Open && is_fence(line)) || self.is_section(0, left) {
                break;
            }
            let done = left.is_some_and(PromisedLines::is_done);
            let kind = match line.as_bytes().first() {
                Some(b'\\') => {
                    if let Some(last) = lines.last_mut() {
                        last.no_newline = true;
                    }
                    self.at += 1;
                    continue;
                }
                Some(b'-' | b'+') if done && (self.is_signature() || line.starts_with("+++ ")) => {
                    break;
                }
                Some(b' ') => LineKind::Context,
                Some(b'+') => LineKind::Add,
                Some(b'-') => LineKind::Delete,
                None => {
                    if self.blank_ends_hunk(left) {
                        break;
                    }
                    LineKind::Context
                }
                Some(b'\r') if line == "\r" && !done => LineKind::Context,
                Some(_) if done => break,
                Some(_) => {
                    refuse_binary(line, self.at + 1)?;
                    return Err(Rejected {
                        hunk: Some(number),
                        ..Rejected::parse(
                            self.at + 1,
                            format!("a line in a hunk without its prefix: `{}`", shown(line.as_bytes())),
                        )
                    }
                    .hint("begin every line of a hunk with a space (unchanged), `-` (removed) or `+` (added)"));
                }
            };
            if let Some(counts) = &mut left {
                counts.take(kind);
            }
            let text = if line == "\r" { line } else { line.get(1..).unwrap_or("") };
            lines.push(HunkLine { kind, text, no_newline: false });
            self.at += 1;
        }
        if !lines.iter().any(|line| line.kind != LineKind::Context) {
            return Err(Rejected { hunk: Some(number), ..Rejected::parse(start, "a hunk that changes nothing") }
                .hint("leave the hunk out, or add its `-` and `+` lines"));
        }
        Ok(Hunk { number, line: start, place: header.map(|(old, _)| old), lines })
    }

    /// True if another hunk or file begins `ahead` lines further on, given the lines that the counts still promise.
    fn is_section(&self, ahead: usize, left: Option<PromisedLines>) -> bool {
        let Some(line) = self.peek(ahead) else {
            return true;
        };
        if line.starts_with("diff --git ") || line.starts_with("@@") {
            return true;
        }
        if !line.starts_with("--- ") || !self.peek(ahead + 1).is_some_and(|next| next.starts_with("+++ ")) {
            return false;
        }
        match left {
            // A removed line `-- x` and an added line `++ y` look the same as a file header.
            Some(counts) if counts.old == 1 && counts.new == 1 => false,
            Some(counts) if counts.is_done() => true,
            _ => self.peek(ahead + 2).is_some_and(|next| next.starts_with("@@")),
        }
    }

    /// True if the blank line here ends the hunk; false if it is a context line that lost its space.
    fn blank_ends_hunk(&self, left: Option<PromisedLines>) -> bool {
        match left {
            Some(counts) if counts.is_done() && !counts.overrun => true,
            _ => {
                let blank = (0..).take_while(|ahead| self.peek(*ahead) == Some("")).count();
                let promised = left.filter(|counts| counts.old > 0 && counts.new > 0);
                // At the end of a hunk, as many blank lines belong to it as the counts promise.
                if promised.is_some_and(|counts| counts.old <= blank && counts.new <= blank) {
                    return false;
                }
                match self.peek(blank) {
                    Some(next) => {
                        !next.starts_with([' ', '+', '-', '\\']) || self.is_section(blank, left) || next == "-- "
                    }
                    None => true,
                }
            }
        }
    }
}

/// The lines that a hunk's header still promises.
#[derive(Clone, Copy)]
struct PromisedLines {
    old: usize,
    new: usize,
    /// True if lines came after the promised ones.
    overrun: bool,
}

impl PromisedLines {
    fn is_done(self) -> bool {
        self.old == 0 && self.new == 0
    }

    fn take(&mut self, kind: LineKind) {
        self.overrun |= self.is_done();
        if kind != LineKind::Add {
            self.old = self.old.saturating_sub(1);
        }
        if kind != LineKind::Delete {
            self.new = self.new.saturating_sub(1);
        }
    }
}

/// Reads `@@ -l[,c] +l[,c] @@`; anything else that begins with `@@` has no numbers.
fn header_numbers(line: &str) -> Option<(HeaderPlace, HeaderPlace)> {
    let mut words = line.strip_prefix("@@ ")?.split_ascii_whitespace();
    let numbers = |word: &str| {
        let (start, count) = word.split_once(',').unwrap_or((word, "1"));
        Some(HeaderPlace { start: start.parse().ok()?, count: count.parse().ok()? })
    };
    let old = numbers(words.next()?.strip_prefix('-')?)?;
    let new = numbers(words.next()?.strip_prefix('+')?)?;
    // Zeros everywhere are what an agent writes that doesn't know the numbers.
    let unknown = old.start == 0 && new.start == 0;
    (!unknown).then_some((old, new))
}

fn is_fence(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("```") || line.starts_with("~~~")
}

fn refuse_binary(line: &str, here: usize) -> Result<(), Rejected> {
    let line = line.trim_end_matches('\r');
    if line == "GIT binary patch" || (line.starts_with("Binary files ") && line.ends_with(" differ")) {
        return Err(Rejected {
            patch_line: Some(here),
            ..Rejected::new(RejectCode::Unsupported, "binary data can't be patched")
        }
        .hint("leave the binary file out of the patch"));
    }
    Ok(())
}

/// git's lines between `diff --git` and the hunks.
#[derive(Default)]
struct GitHeaders {
    created: bool,
    deleted: bool,
    mode: Option<FileMode>,
    rename_from: Option<String>,
    rename_to: Option<String>,
    copy_from: Option<String>,
    copy_to: Option<String>,
}

impl GitHeaders {
    /// Takes one line if it is such a header; says whether it was.
    fn take(&mut self, line: &str, here: usize) -> Result<bool, Rejected> {
        refuse_binary(line, here)?;
        let name = |rest: &str| {
            if rest.starts_with('"') { unquote(rest, here).map(|(name, _)| name) } else { Ok(rest.to_owned()) }
        };
        let known = ["similarity index ", "dissimilarity index ", "index "];
        if let Some(rest) = line.strip_prefix("old mode ") {
            mode(rest, here)?;
        } else if let Some(rest) = line.strip_prefix("new mode ") {
            self.mode = Some(mode(rest, here)?);
        } else if let Some(rest) = line.strip_prefix("new file mode ") {
            self.mode = Some(mode(rest, here)?);
            self.created = true;
        } else if let Some(rest) = line.strip_prefix("deleted file mode ") {
            mode(rest, here)?;
            self.deleted = true;
        } else if let Some(rest) = line.strip_prefix("rename from ") {
            self.rename_from = Some(name(rest)?);
        } else if let Some(rest) = line.strip_prefix("rename to ") {
            self.rename_to = Some(name(rest)?);
        } else if let Some(rest) = line.strip_prefix("copy from ") {
            self.copy_from = Some(name(rest)?);
        } else if let Some(rest) = line.strip_prefix("copy to ") {
            self.copy_to = Some(name(rest)?);
        } else {
            return Ok(known.iter().any(|known| line.starts_with(known)));
        }
        Ok(true)
    }

    fn has_half_a_move(&self) -> bool {
        self.rename_from.is_some() || self.rename_to.is_some() || self.copy_from.is_some() || self.copy_to.is_some()
    }
}

/// Reads a file mode; only plain files can be patched.
fn mode(text: &str, here: usize) -> Result<FileMode, Rejected> {
    match text.trim() {
        "100644" | "100664" => Ok(FileMode::Plain),
        "100755" | "100775" => Ok(FileMode::Executable),
        other => Err(Rejected {
            patch_line: Some(here),
            ..Rejected::new(
                RejectCode::Unsupported,
                format!("a file of mode `{}` can't be patched", shown(other.as_bytes())),
            )
        }
        .hint("only plain files (100644) and executables (100755) can be patched, no links and no submodules")),
    }
}
