//! Remembers the counts of traces between two readings: one file of lines, thrown away whenever it doesn't fit.
//!
//! It only saves time. If a line can't be read, another version of the program wrote it, or other users can write the
//! file, the trace is read again.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::{Names, SessionSeen, TraceRollup};
use crate::fresh;
use crate::home::{self, Home};

/// The version of the file. To be raised whenever a walk counts something else than before.
const VERSION: u32 = 2;

/// One line of the file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum RollupLine {
    /// The first line.
    Rollups {
        version: u32,
        program: String,
    },
    Session {
        name: String,
        seen: SessionSeen,
    },
    Trace {
        name: String,
        kept: TraceRollup,
    },
}

/// Number of digits of its hash before a line, so that a damaged line is not believed.
const HASH_DIGITS: usize = 16;

fn hash(json: &[u8]) -> String {
    blake3::hash(json).to_hex()[..HASH_DIGITS].to_owned()
}

/// A line as it was written; `None` if it is not that any more.
fn read(line: &[u8]) -> Option<RollupLine> {
    let (written, json) = line.split_at_checked(HASH_DIGITS)?;
    (written == hash(json).as_bytes()).then(|| serde_json::from_slice(json).ok()).flatten()
}

/// The remembered counts.
#[derive(Debug, Default)]
pub(super) struct Rollups {
    path: PathBuf,
    sessions: BTreeMap<String, SessionSeen>,
    traces: BTreeMap<String, TraceRollup>,
}

impl Rollups {
    pub(super) fn open(home: &Home) -> Self {
        let path = home.rollups();
        let (mut sessions, mut traces) = (BTreeMap::new(), BTreeMap::new());
        let is_ours = |metadata: &fs::Metadata| {
            metadata.is_file() && metadata.uid() == rustix::process::getuid().as_raw() && metadata.mode() & 0o022 == 0
        };
        let text = match fs::symlink_metadata(&path) {
            Ok(metadata) if is_ours(&metadata) => fs::read(&path).unwrap_or_default(),
            _ => Vec::new(),
        };
        let mut lines = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        let header = lines.next().and_then(read);
        if matches!(header, Some(RollupLine::Rollups { version: VERSION, program }) if program == env!("CARGO_PKG_VERSION"))
        {
            let lines: Vec<&[u8]> = lines.collect();
            let lines: Vec<Option<RollupLine>> = lines.par_iter().map(|line| read(line)).collect();
            for line in lines.into_iter().flatten() {
                match line {
                    RollupLine::Session { name, seen } => drop(sessions.insert(name, seen)),
                    RollupLine::Trace { name, kept } => drop(traces.insert(name, kept)),
                    RollupLine::Rollups { .. } => {}
                }
            }
        }
        Self { path, sessions, traces }
    }

    pub(super) fn session(&self, name: &str) -> Option<&SessionSeen> {
        self.sessions.get(name)
    }

    pub(super) fn trace(&self, name: &str) -> Option<&TraceRollup> {
        self.traces.get(name)
    }

    /// Remembers what was seen, if it is not what was remembered. Traces of other projects stay as they were, if they
    /// are still there.
    pub(super) fn keep(
        mut self,
        sessions: Vec<(String, SessionSeen)>,
        traces: Vec<(String, TraceRollup)>,
        names: &Names,
        has_read: bool,
    ) {
        let is_same = !has_read
            && self.traces.keys().all(|name| names.traces.contains_key(name))
            && sessions.len() == self.sessions.len()
            && sessions.iter().all(|(name, seen)| self.sessions.get(name) == Some(seen));
        if is_same {
            return;
        }
        self.sessions = sessions.into_iter().collect();
        self.traces.extend(traces);
        self.traces.retain(|name, _| names.traces.contains_key(name));
        // Best effort: whatever is in the way, the next look reads the traces themselves.
        let _ = self.write();
    }

    fn write(&self) -> std::io::Result<()> {
        let folder = self.path.parent().unwrap_or(&self.path);
        home::make_folder(folder)?;
        let mut file = fresh::beside(&self.path)?;
        let header = RollupLine::Rollups { version: VERSION, program: env!("CARGO_PKG_VERSION").to_owned() };
        let mut writer = std::io::BufWriter::new(file.as_file_mut());
        let mut put = |line: &RollupLine| -> std::io::Result<()> {
            let json = serde_json::to_vec(line)?;
            writer.write_all(hash(&json).as_bytes())?;
            writer.write_all(&json)?;
            writer.write_all(b"\n")
        };
        put(&header)?;
        for (name, seen) in &self.sessions {
            put(&RollupLine::Session { name: name.clone(), seen: seen.clone() })?;
        }
        for (name, kept) in &self.traces {
            put(&RollupLine::Trace { name: name.clone(), kept: kept.clone() })?;
        }
        writer.flush()?;
        drop(writer);
        file.persist(&self.path)?;
        Ok(())
    }
}
