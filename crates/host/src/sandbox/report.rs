//! What the starting program tells custody through a pipe: a line of JSON for each thing.

use std::fs::File;
use std::io::{Read, Write};

use serde::{Deserialize, Serialize};

use super::layer::Layers;

/// The most that is read of a report: far more than any says.
const REPORT_BYTES_MAX: u64 = 64 << 10;

/// One line of a report.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    /// What came of the layers.
    Layers(Layers),
    /// Why the command was not started.
    Failed(Failure),
    /// How many processes were still running when it ended.
    LeftBehind(usize),
}

/// Why a command was not started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Failure {
    /// The sandbox could not be set up as required.
    Sandbox(String),
    /// The program can't be run: the system's number for why.
    Program(i32),
}

/// The writing end.
#[derive(Debug)]
pub(crate) struct Channel(File);

impl Channel {
    #[cfg(target_os = "linux")]
    pub(super) fn new(file: File) -> Self {
        Self(file)
    }

    pub(super) fn layers(&mut self, layers: &Layers) -> std::io::Result<()> {
        self.line(&Line::Layers(layers.clone()))
    }

    pub(super) fn failed(&mut self, failure: Failure) {
        // Nobody reads any more: the command is not run in any case.
        self.line(&Line::Failed(failure)).ok();
    }

    pub(super) fn left_behind(&mut self, count: usize) {
        // The count is for a person; whoever is gone needs none.
        self.line(&Line::LeftBehind(count)).ok();
    }

    fn line(&mut self, line: &Line) -> std::io::Result<()> {
        let mut text = serde_json::to_string(line)?;
        text.push('\n');
        self.0.write_all(text.as_bytes())
    }
}

/// What a report said in the end.
#[derive(Debug, Default)]
pub(crate) struct Report {
    /// What came of the layers; `None` if nothing was said: then nothing is known, and nothing was run.
    pub(crate) layers: Option<Layers>,
    /// Why the command was not started.
    pub(crate) failure: Option<Failure>,
    /// How many processes were still running when it ended.
    pub(crate) left_behind: usize,
}

impl Report {
    /// Reads what is there, and does not wait for more.
    pub(crate) fn read(from: File) -> Self {
        let mut bytes = Vec::new();
        // What stands in front of an error was said.
        from.take(REPORT_BYTES_MAX).read_to_end(&mut bytes).ok();
        let mut report = Self::default();
        for line in bytes.split(|byte| *byte == b'\n') {
            match serde_json::from_slice(line) {
                Ok(Line::Layers(layers)) => report.layers = Some(layers),
                Ok(Line::Failed(failure)) => report.failure = Some(failure),
                Ok(Line::LeftBehind(count)) => report.left_behind = count,
                // The end of the last line, or half a line of one that was killed.
                Err(_) => {}
            }
        }
        report
    }
}
