//! The past of a run as its agents know it: what was said in each part, and the files as they last saw them.
//!
//! In: the events of the run that count. Out: the transcripts that requests are made from, and the state of files. No
//! decision rests on it, so it can be folded beside what decisions are made from.
//!
//! Begin with [`AgentPast::beside`] for a journal, [`AgentPast::apply`] for what comes then.

use std::collections::BTreeMap;

use adjutant_core::session::transcript::Transcript;
use adjutant_core::trace::{Body, Event, RunEvent};
use adjutant_core::words::Part;
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;

use crate::driver::Results;
use crate::known_files::KnownFiles;

/// Number of events that are handed to another thread at once.
const PIECE: usize = 256;

/// Number of such pieces that may wait for it: few, so that their room is soon used again.
const PIECES_MAX: usize = 8;

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

    /// Takes note of all events that `go` hands over, while `go` is carried out on another thread; returns what it
    /// returns, too. What is kept of a long journal is allocated here and not there: on the main thread the allocator
    /// takes room in large steps, on any other page by page.
    pub(crate) async fn beside<R: Send + 'static>(
        mut self,
        go: impl FnOnce(&mut dyn FnMut(Event)) -> R + Send + 'static,
    ) -> (Self, R) {
        let (pieces, mut taken) = mpsc::channel::<Vec<Event>>(PIECES_MAX);
        let gone = spawn_blocking(move || {
            let mut piece = Vec::with_capacity(PIECE);
            let came = go(&mut |event| {
                piece.push(event);
                if piece.len() == PIECE {
                    // Nobody takes a piece only if nobody waits for the end any more.
                    pieces.blocking_send(std::mem::replace(&mut piece, Vec::with_capacity(PIECE))).ok();
                }
            });
            pieces.blocking_send(piece).ok();
            came
        });
        while let Some(piece) = taken.recv().await {
            piece.into_iter().for_each(|event| self.apply(event));
        }
        // Nobody cancels it: either it has ended or it panicked.
        (self, gone.await.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic())))
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

    /// Returns the parts in which something was said.
    pub(crate) fn parts(&self) -> impl Iterator<Item = &Part> {
        self.transcripts.keys()
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

    #[tokio::test]
    async fn a_past_that_is_folded_beside_another_thread_is_the_same() {
        for count in [0, 1, PIECE - 1, PIECE, PIECE + 1, 7 * PIECE, 100 * PIECE + 3] {
            let mut here = AgentPast::new(Results::Fenced);
            messages(count as u64).for_each(|event| here.apply(event));
            let beside = AgentPast::new(Results::Fenced).beside(move |take| {
                messages(count as u64).for_each(take);
                count
            });
            let (mut aside, came) = beside.await;
            assert_eq!(came, count);
            for part in ["one", "two"].map(|part| Part::root().child(part)) {
                let said = |past: &AgentPast| past.transcript(&part).map(|heard| heard.messages().to_vec());
                assert_eq!(said(&aside), said(&here), "{count}");
                assert_eq!(aside.hash(&part), here.hash(&part), "{count}");
            }
        }
    }
}
