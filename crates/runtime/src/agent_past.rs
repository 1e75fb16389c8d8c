//! The past of a run as its agents know it: what was said in each part, and the files as they last saw them.
//!
//! In: the events of the run that count. Out: the transcripts that requests are made from, and the state of files. No
//! decision rests on it, so it can be folded beside what decisions are made from.
//!
//! Begin with [`AgentPast::apply`].

use std::collections::BTreeMap;

use adjutant_core::session::transcript::Transcript;
use adjutant_core::trace::{Body, Event, RunEvent};
use adjutant_core::words::Part;

use crate::driver::Results;
use crate::known_files::KnownFiles;

/// The transcripts of all parts of a run, and its files as agents know them.
pub(crate) struct AgentPast {
    /// The state of files as agents know it.
    pub(crate) files: KnownFiles,
    transcripts: BTreeMap<Part, Transcript>,
    results: Results,
    /// The most bytes of a result that are sent, as the run began; all if absent.
    result_bytes_max: Option<u64>,
}

impl AgentPast {
    pub(crate) fn new(results: Results) -> Self {
        Self { files: KnownFiles::default(), transcripts: BTreeMap::new(), results, result_bytes_max: None }
    }

    /// Takes note of an event that counts.
    pub(crate) fn apply(&mut self, event: Event) {
        if let Body::Run(RunEvent::RunStart(start)) = &event.body {
            self.result_bytes_max = start.options.result_bytes_max;
        }
        self.files.apply(&event);
        match self.transcripts.get_mut(&event.part) {
            Some(transcript) => transcript.apply(event),
            None => {
                let transcript = match self.results {
                    Results::Fenced => Transcript::fenced(),
                    Results::Plain => Transcript::default(),
                };
                let transcript = transcript.with_results_up_to(self.result_bytes_max);
                self.transcripts.entry(event.part.clone()).or_insert(transcript).apply(event);
            }
        }
    }

    /// Returns what was said in a part; `None` if nothing was.
    pub(crate) fn transcript(&self, part: &Part) -> Option<&Transcript> {
        self.transcripts.get(part)
    }

    /// Returns the short hash of what a request of `part` sends.
    pub(crate) fn hash(&mut self, part: &Part) -> Option<String> {
        self.transcripts.get_mut(part).map(Transcript::hash)
    }
}
