//! Keeps the runs that took nothing in a file, so that they needn't run again when only the reader has changed.
//!
//! The file is a row of hashes of eight bytes, little-endian. They are those of the standard library, which may change
//! with the compiler: then everything runs again.

use std::collections::HashSet;
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result};

use crate::trial::Trial;

/// Number of bytes that a hash takes in the file.
const WIDTH: usize = size_of::<u64>();

/// The runs that took nothing: those of earlier hunts are known, those of this one are added to the file.
#[derive(Debug)]
pub struct Survivors {
    before: HashSet<u64>,
    file: Mutex<File>,
}

impl Survivors {
    /// Reads those of the file at `path`, which is made if it doesn't exist.
    ///
    /// # Errors
    ///
    /// The file can't be read or written.
    pub fn open(path: &Path) -> Result<Self> {
        let told = || format!("can't keep what survives in `{}`", path.display());
        let file = File::options().create(true).append(true).open(path).with_context(told)?;
        let bytes = std::fs::read(path).with_context(told)?;
        let (hashes, rest) = bytes.as_chunks::<WIDTH>();
        // A hash that a kill cut short would shift all that follow.
        file.set_len((bytes.len() - rest.len()) as u64).with_context(told)?;
        let before = hashes.iter().map(|hash| u64::from_le_bytes(*hash)).collect();
        Ok(Self { before, file: Mutex::new(file) })
    }

    /// Returns true if the trial was run by an earlier hunt.
    pub fn has(&self, trial: &Trial) -> bool {
        self.before.contains(&hash(trial))
    }

    /// Adds trials that took nothing.
    ///
    /// # Errors
    ///
    /// The file can't be written.
    pub fn add<'a>(&self, trials: impl Iterator<Item = &'a Trial>) -> Result<()> {
        let bytes: Vec<u8> = trials.flat_map(|trial| hash(trial).to_le_bytes()).collect();
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(file.write_all(&bytes)?)
    }
}

/// Hashes what makes a run the same: the shell, the line, and the files whose loss doesn't count.
fn hash(trial: &Trial) -> u64 {
    let Trial { shell, line, kept, skips_slow: _ } = trial;
    let mut hasher = DefaultHasher::new();
    (shell.program(), line, kept).hash(&mut hasher);
    hasher.finish()
}
