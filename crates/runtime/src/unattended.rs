//! The operator's side of a run without an operator at a terminal: events may be shown, and answers and messages come
//! by mailbox alone.

use std::sync::atomic::{AtomicBool, Ordering};

use adjutant_core::inbox::mailbox::Closing;
use adjutant_core::inbox::worker::WORKER;
use adjutant_core::words::{Key, Message, Question, QuestionKind};
use adjutant_ports::{Answered, CancellationToken, Heard, Operator, Pending, Progress};
use adjutant_store::Mailbox;
use jiff::Timestamp;

use crate::correspondence::{Correspondence, DisplayFn, DisplayItem};

/// The operator of a run that goes on by what its mailbox says. A question that is not answered there waits.
pub struct Unattended {
    correspondence: Correspondence,
    /// Cancelled when the worker that drives several runs ends them all.
    stop: CancellationToken,
    is_stopped: AtomicBool,
    show: DisplayFn,
}

impl Unattended {
    /// An operator over `mailbox`. `stop` interrupts the run. A word to stand still holds if it was said at `since` or
    /// later: that is when the sitting before began.
    #[must_use]
    pub fn new(mailbox: Mailbox, stop: CancellationToken, since: Timestamp, show: DisplayFn) -> Self {
        let correspondence = Correspondence::new(Some(mailbox), since, show.clone());
        Self { correspondence, stop, is_stopped: AtomicBool::new(false), show }
    }

    /// Its correspondence.
    #[must_use]
    pub fn correspondence(&self) -> &Correspondence {
        &self.correspondence
    }
}

impl Operator for Unattended {
    fn show(&self, progress: Progress<'_>) {
        (self.show)(DisplayItem::Progress(&progress));
    }

    fn ask<'a>(
        &'a self,
        key: &'a Key,
        question: &'a Question,
        _cancel: CancellationToken,
    ) -> Pending<'a, Option<Answered>> {
        Box::pin(async move { self.correspondence.found(key, question) })
    }

    fn close(&self, key: &Key, kind: QuestionKind, why: Closing) -> Option<Answered> {
        self.correspondence.close(key, kind, why)
    }

    fn message(&self) -> Pending<'_, Heard> {
        Box::pin(async move {
            tokio::select! {
                () = self.stop.cancelled(), if !self.is_stopped.load(Ordering::Relaxed) => {
                    self.is_stopped.store(true, Ordering::Relaxed);
                    Message::Interrupt.into()
                }
                heard = self.correspondence.letter() => heard,
            }
        })
    }

    fn name(&self) -> String {
        WORKER.to_owned()
    }
}
