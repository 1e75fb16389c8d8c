//! Remarks to the operator while a run is put together.

use std::fmt;

/// Something that doesn't keep a run from going on, and that its operator should know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Remark {
    /// Something is not as it was meant.
    Warning(String),
    /// Something of a configuration is not as it was meant.
    OfConfiguration(String),
    /// Something is good to know.
    Note(String),
}

impl Remark {
    /// A warning that says `text`.
    pub fn warning(text: impl Into<String>) -> Self {
        Self::Warning(text.into())
    }
}

impl fmt::Display for Remark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Warning(text) | Self::OfConfiguration(text) => write!(f, "warning: {text}"),
            Self::Note(text) => write!(f, "note: {text}"),
        }
    }
}
