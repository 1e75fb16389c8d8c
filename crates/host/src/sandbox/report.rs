//! Reports from the starting program to custody, through a pipe: a line of JSON for each fact.

use std::fs::File;
use std::io::{Read, Write};

use serde::{Deserialize, Serialize};

use super::layer::Layers;

/// The most that is read of a report: far more than any says.
const REPORT_BYTES_MAX: u64 = 64 << 10;

/// One line of a report.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ReportLine {
    /// The outcome of setting up the layers.
    Layers(Layers),
    /// Reason why the command was not started.
    Failed(LaunchFailure),
    /// Number of processes that were still running when it ended.
    LeftBehind(usize),
}

/// Reason why a command was not started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum LaunchFailure {
    /// The sandbox could not be set up as required.
    Sandbox(String),
    /// The program can't be run: the system's number for why.
    Program(i32),
}

/// The writing end.
#[derive(Debug)]
pub(crate) struct ReportWriter(File);

impl ReportWriter {
    #[cfg(target_os = "linux")]
    pub(super) fn new(file: File) -> Self {
        Self(file)
    }

    pub(super) fn layers(&mut self, layers: &Layers) -> std::io::Result<()> {
        self.line(&ReportLine::Layers(layers.clone()))
    }

    pub(super) fn failed(&mut self, failure: LaunchFailure) {
        // Nobody reads any more: the command is not run in any case.
        self.line(&ReportLine::Failed(failure)).ok();
    }

    pub(super) fn left_behind(&mut self, count: usize) {
        // The count is for a person; whoever is gone needs none.
        self.line(&ReportLine::LeftBehind(count)).ok();
    }

    fn line(&mut self, line: &ReportLine) -> std::io::Result<()> {
        let mut text = serde_json::to_string(line)?;
        text.push('\n');
        self.0.write_all(text.as_bytes())
    }
}

/// The whole report.
#[derive(Debug, Default)]
pub(crate) struct LaunchReport {
    /// The outcome of setting up the layers; `None` if it was not reported: then nothing was run.
    pub(crate) layers: Option<Layers>,
    /// Reason why the command was not started.
    pub(crate) failure: Option<LaunchFailure>,
    /// Number of processes that were still running when it ended.
    pub(crate) left_behind: usize,
}

impl LaunchReport {
    /// Reads what is there, and does not wait for more.
    pub(crate) fn read(from: File) -> Self {
        let mut bytes = Vec::new();
        // What stands in front of an error was said.
        from.take(REPORT_BYTES_MAX).read_to_end(&mut bytes).ok();
        let mut report = Self::default();
        for line in bytes.split(|byte| *byte == b'\n') {
            match serde_json::from_slice(line) {
                Ok(ReportLine::Layers(layers)) => report.layers = Some(layers),
                Ok(ReportLine::Failed(failure)) => report.failure = Some(failure),
                Ok(ReportLine::LeftBehind(count)) => report.left_behind = count,
                // The end of the last line, or half a line of one that was killed.
                Err(_) => {}
            }
        }
        report
    }
}
