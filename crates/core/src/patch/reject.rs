//! The refusal of a patch, in words that an agent can act on.

use std::fmt;

use thiserror::Error;

/// The longest piece of a line that a refusal shows, in characters.
const SHOWN_CHARS_MAX: usize = 160;
/// The most lines of a hunk that a refusal shows.
const SHOWN_LINES_MAX: usize = 12;

/// The refusal of a patch. Nothing of the patch was applied.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub struct Rejected {
    /// The kind of refusal.
    pub code: RejectCode,
    /// The file it is about, as the patch names it; absent if it is about the whole patch.
    pub file: Option<String>,
    /// The number of the hunk within its file, from 1.
    pub hunk: Option<u32>,
    /// The line of the patch, from 1.
    pub patch_line: Option<usize>,
    /// The reason, in one sentence without a full stop.
    pub reason: String,
    /// The lines that the hunk expects in the file.
    pub expected: Vec<String>,
    /// The most similar lines of the file, best first.
    pub nearest: Vec<Nearest>,
    /// Advice to the agent.
    pub hint: Option<String>,
}

/// A line of the file that resembles what a hunk expects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nearest {
    /// Its number, from 1.
    pub line: usize,
    /// Its text, cut to a length that can be shown.
    pub text: String,
}

/// The kind of refusal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RejectCode {
    /// The text is no patch that can be read.
    Parse,
    /// A hunk has no place, or more than one.
    HunkFailed,
    /// A path leaves the workdir or names what no patch may touch.
    PathEscape,
    /// A file to be changed isn't there.
    NotFound,
    /// A file to be created is there already.
    Exists,
    /// The patch holds binary data, a link or a submodule.
    Unsupported,
    /// The patch or its result is too large.
    TooLarge,
    /// The look-up of the file was refused; the name is the caller's.
    Lookup(String),
}

impl RejectCode {
    /// The stable name of the code, as a tool result carries it (`HUNK_FAILED` and `PARSE_ERROR` are
    /// OpenWar's names).
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Parse => "PARSE_ERROR",
            Self::HunkFailed => "HUNK_FAILED",
            Self::PathEscape => "PATH_ESCAPE",
            Self::NotFound => "ENOENT",
            Self::Exists => "EEXIST",
            Self::Unsupported => "UNSUPPORTED",
            Self::TooLarge => "TOO_LARGE",
            Self::Lookup(name) => name,
        }
    }
}

impl Rejected {
    pub(super) fn new(code: RejectCode, reason: impl Into<String>) -> Self {
        Self {
            code,
            file: None,
            hunk: None,
            patch_line: None,
            reason: reason.into(),
            expected: Vec::new(),
            nearest: Vec::new(),
            hint: None,
        }
    }

    pub(super) fn parse(patch_line: usize, reason: impl Into<String>) -> Self {
        Self { patch_line: Some(patch_line), ..Self::new(RejectCode::Parse, reason) }
    }

    pub(super) fn in_file(self, file: &str) -> Self {
        Self { file: Some(shown(file.as_bytes())), ..self }
    }

    pub(super) fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }
}

impl fmt::Display for Rejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.file {
            write!(f, "{file}: ")?;
        }
        if let Some(hunk) = self.hunk {
            write!(f, "hunk {hunk}")?;
            match self.patch_line {
                Some(line) => write!(f, " (line {line} of the patch): ")?,
                None => f.write_str(": ")?,
            }
        } else if let Some(line) = self.patch_line {
            write!(f, "line {line} of the patch: ")?;
        }
        f.write_str(&self.reason)?;
        if !self.expected.is_empty() {
            f.write_str("\nexpected:")?;
            for line in self.expected.iter().take(SHOWN_LINES_MAX) {
                write!(f, "\n  | {}", shown(line.as_bytes()))?;
            }
            if self.expected.len() > SHOWN_LINES_MAX {
                write!(f, "\n  | ... {} more lines", self.expected.len() - SHOWN_LINES_MAX)?;
            }
        }
        if !self.nearest.is_empty() {
            f.write_str("\nnearest in the file:")?;
            for near in &self.nearest {
                write!(f, "\n  {}: {}", near.line, near.text)?;
            }
        }
        if let Some(hint) = &self.hint {
            write!(f, "\nhint: {hint}")?;
        }
        Ok(())
    }
}

/// Text as it may be shown: decoded, without control characters, cut.
pub(super) fn shown(text: &[u8]) -> String {
    let cut = &text[..text.len().min(SHOWN_CHARS_MAX * 4)];
    let decoded = String::from_utf8_lossy(cut);
    let mut out: String = decoded
        .chars()
        .take(SHOWN_CHARS_MAX)
        .map(|c| if c.is_control() && c != '\t' { '\u{fffd}' } else { c })
        .collect();
    if decoded.chars().nth(SHOWN_CHARS_MAX).is_some() || cut.len() < text.len() {
        out.push_str("...");
    }
    out
}
