//! The past of a run as its agents know it: what was said in each part, and the files as they last saw them.
//!
//! In: the events of the run that count. Out: the transcripts that requests are made from, and the state of files. No
//! decision rests on it, so it can be folded beside what decisions are made from.
//!
//! Begin with [`AgentPast::after`] for a journal, [`AgentPast::apply`] for what comes then.

use std::collections::BTreeMap;
use std::sync::mpsc::sync_channel;
use std::thread;

use adjutant_core::session::transcript::Transcript;
use adjutant_core::trace::{Body, Event, RunEvent};
use adjutant_core::words::Part;

use crate::driver::Results;
use crate::known_files::KnownFiles;

/// Number of events that are handed to another thread at once. A journal with fewer isn't worth its start.
const PIECE: usize = 512;

/// Number of such pieces that may wait for it.
const PIECES_MAX: usize = 32;

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

    /// Takes note of all events that count, on another thread if they are many: `events` is gone through on this one,
    /// so whatever else is folded from them is folded at the same time.
    pub(crate) fn after(mut self, mut events: impl Iterator<Item = Event>) -> Self {
        let mut piece: Vec<Event> = events.by_ref().take(PIECE).collect();
        if piece.len() < PIECE {
            piece.into_iter().for_each(|event| self.apply(event));
            return self;
        }
        thread::scope(|scope| {
            let (pieces, taken) = sync_channel::<Vec<Event>>(PIECES_MAX);
            let aside = scope.spawn(move || {
                taken.into_iter().flatten().for_each(|event| self.apply(event));
                self
            });
            // Nobody takes a piece only if the thread panicked, which is passed on below.
            while !piece.is_empty() && pieces.send(piece).is_ok() {
                piece = events.by_ref().take(PIECE).collect();
            }
            drop(pieces);
            aside.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
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

#[cfg(test)]
mod tests {
    use adjutant_core::trace::{Entry, TurnEvent};
    use adjutant_core::words::{MessageKind, MessageRole, PhaseName};
    use jiff::Timestamp;

    use super::*;

    /// Messages to two parts in turn.
    fn messages(count: u64) -> impl Iterator<Item = Event> {
        (0..count).map(|seq| {
            let (role, kind, phase) = (MessageRole::User, MessageKind::Context, PhaseName::Execute);
            let body = Body::Turn(TurnEvent::Message { role, kind, phase, step: 1, text: format!("message {seq}") });
            let part = Part::root().child(["one", "two"][seq as usize % 2]);
            Entry { part, body }.at(seq, Timestamp::UNIX_EPOCH)
        })
    }

    #[test]
    fn a_past_that_is_folded_on_another_thread_is_the_same() {
        for count in [0, 1, PIECE - 1, PIECE, PIECE + 1, 7 * PIECE, 100 * PIECE + 3] {
            let mut here = AgentPast::new(Results::Fenced);
            messages(count as u64).for_each(|event| here.apply(event));
            let mut aside = AgentPast::new(Results::Fenced).after(messages(count as u64));
            for part in ["one", "two"].map(|part| Part::root().child(part)) {
                let said = |past: &AgentPast| past.transcript(&part).map(|heard| heard.messages().to_vec());
                assert_eq!(said(&aside), said(&here), "{count}");
                assert_eq!(aside.hash(&part), here.hash(&part), "{count}");
            }
        }
    }
}
