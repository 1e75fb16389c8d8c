//! Decodes the lines of a journal on all processors, and gives them back in their order.
//!
//! In: batches of whole lines. Out: each line's event or why it can't be read, its hash, and the hash of the line
//! before that it carries. Compares nothing: a thread knows only its own batch.
//!
//! Begin with [`Decoders::put`]. Threads are started for a journal that is worth it, and work on the next batches while
//! the caller reads the file and takes what is decoded.

use std::collections::VecDeque;
use std::num::NonZero;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, Scope, ScopedJoinHandle};

use adjutant_core::trace::Line;
use adjutant_core::trace::wire::{self, LineReader, ShortHash};

use crate::chain;
use crate::scan::LINE_BYTES_MAX;

/// Below how many bytes a batch is decoded by the caller: starting threads takes longer.
pub(crate) const PARALLEL_BYTES_MIN: usize = 256 * 1024;

/// Number of batches that each thread has at once: one in work and one to go on with.
const BATCHES_PER_THREAD: usize = 2;

/// A line as one thread reads it, knowing nothing of the others.
pub(crate) struct Decoded {
    /// Its hash.
    pub(crate) hash: ShortHash,
    /// The hash of the line before that it carries.
    pub(crate) prev: Option<ShortHash>,
    /// Its content.
    pub(crate) line: Result<Line, UnreadableLine>,
}

/// A line that can't be read.
pub(crate) struct UnreadableLine {
    /// The reason.
    pub(crate) why: String,
    /// Its number, if that much can be read.
    pub(crate) seq: Option<u64>,
}

/// Threads that decode lines.
pub(crate) struct Decoders<'scope, 'env> {
    scope: &'scope Scope<'scope, 'env>,
    /// Empty until the first batch that is worth it.
    threads: Vec<DecoderThread<'scope>>,
    /// The batches that were put and not taken, with the place of the thread that has each; `None` if no thread has it.
    batches: VecDeque<(Arc<Vec<u8>>, Option<usize>)>,
    next_thread: usize,
    /// A batch of which only the room is of use.
    spare: Vec<u8>,
}

struct DecoderThread<'scope> {
    batches: SyncSender<Arc<Vec<u8>>>,
    decoded: Receiver<Vec<Decoded>>,
    handle: ScopedJoinHandle<'scope, ()>,
}

impl<'scope, 'env> Decoders<'scope, 'env> {
    pub(crate) fn new(scope: &'scope Scope<'scope, 'env>) -> Self {
        Self { scope, threads: Vec::new(), batches: VecDeque::new(), next_thread: 0, spare: Vec::new() }
    }

    /// Returns room for a batch, perhaps with the bytes of an old one.
    pub(crate) fn spare(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.spare)
    }

    /// Has the lines of a batch decoded. Take first what was put before, if [`Decoders::take_if_full`] gives any.
    pub(crate) fn put(&mut self, batch: Vec<u8>) {
        if self.threads.is_empty() && batch.len() >= PARALLEL_BYTES_MIN {
            let threads = thread::available_parallelism().map_or(1, NonZero::get);
            self.threads.extend((0..threads).filter(|_| threads > 1).filter_map(|_| DecoderThread::start(self.scope)));
        }
        let batch = Arc::new(batch);
        // A thread that is gone leaves its batches to whoever takes them.
        let has_sent = |thread: &DecoderThread<'_>| thread.batches.send(Arc::clone(&batch)).is_ok();
        let thread = self.threads.get(self.next_thread).is_some_and(has_sent).then_some(self.next_thread);
        self.batches.push_back((batch, thread));
        self.next_thread = (self.next_thread + 1) % self.threads.len().max(1);
    }

    /// Returns the oldest batch, decoded, if the threads have as many as they should.
    pub(crate) fn take_if_full(&mut self) -> Option<Vec<Decoded>> {
        let is_full = self.batches.len() >= self.threads.len() * BATCHES_PER_THREAD;
        if is_full { self.take() } else { None }
    }

    /// Returns the oldest batch, decoded; `None` if there is none left.
    pub(crate) fn take(&mut self) -> Option<Vec<Decoded>> {
        let (batch, thread) = self.batches.pop_front()?;
        let decoded = thread.and_then(|thread| self.threads.get(thread)?.decoded.recv().ok());
        let decoded = decoded.unwrap_or_else(|| decode_batch(&batch));
        if let Ok(batch) = Arc::try_unwrap(batch) {
            self.spare = batch;
        }
        Some(decoded)
    }

    /// Ends the threads. One that could not finish is no harm: its batches were decoded by the caller.
    pub(crate) fn end(self) {
        for DecoderThread { batches, decoded, handle } in self.threads {
            drop((batches, decoded));
            handle.join().ok();
        }
    }
}

impl<'scope> DecoderThread<'scope> {
    /// Starts a thread; `None` if the system has none left.
    fn start<'env>(scope: &'scope Scope<'scope, 'env>) -> Option<Self> {
        let (batches, taken) = sync_channel::<Arc<Vec<u8>>>(BATCHES_PER_THREAD);
        let (done, decoded) = sync_channel(BATCHES_PER_THREAD);
        let work = move || {
            for batch in taken {
                let decoded = decode_batch(&batch);
                drop(batch);
                if done.send(decoded).is_err() {
                    return;
                }
            }
        };
        let handle = thread::Builder::new().spawn_scoped(scope, work).ok()?;
        Some(Self { batches, decoded, handle })
    }
}

/// Decodes the lines of `bytes`, which ends with a line feed.
fn decode_batch(bytes: &[u8]) -> Vec<Decoded> {
    let mut reader = LineReader::default();
    let mut lines = Vec::with_capacity(bytes.len() / 256);
    let mut begin = 0;
    for end in memchr::memchr_iter(b'\n', bytes) {
        lines.push(decode(&mut reader, &bytes[begin..end]));
        begin = end + 1;
    }
    lines
}

/// Decodes one line without its line feed.
pub(crate) fn decode(reader: &mut LineReader, line: &[u8]) -> Decoded {
    let prev = chain::prev(line).and_then(|prev| prev.try_into().ok()).map(ShortHash::from_digits);
    Decoded { hash: ShortHash::of_line(line), prev, line: decode_text(reader, line) }
}

/// Returns the fault of a line that is longer than [`LINE_BYTES_MAX`].
pub(crate) fn too_long() -> UnreadableLine {
    UnreadableLine { why: format!("it is longer than {} MiB", LINE_BYTES_MAX / (1024 * 1024)), seq: None }
}

fn decode_text(reader: &mut LineReader, line: &[u8]) -> Result<Line, UnreadableLine> {
    if line.len() > LINE_BYTES_MAX {
        return Err(too_long());
    }
    let text = std::str::from_utf8(line).map_err(|error| UnreadableLine {
        why: format!("it is not UTF-8 after {} bytes", error.valid_up_to()),
        seq: None,
    })?;
    reader.decode(text).map_err(|error| {
        let source = std::error::Error::source(&error).map(|source| format!(": {source}")).unwrap_or_default();
        UnreadableLine { why: format!("{error}{source}"), seq: wire::head(text).ok().and_then(|head| head.seq) }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_come_back_in_their_order_whatever_they_hold() {
        let line = |number: usize, bytes: usize| {
            let text = "x".repeat(bytes);
            format!(r#"{{"seq":{number},"at":"2026-01-02T03:04:05.678Z","type":"warning","text":"{text}"}}"#) + "\n"
        };
        // Each batch takes another time, some are small, and one has a line that can't be read.
        let batches: Vec<String> = (0..40)
            .map(|batch| match batch % 4 {
                0 => line(batch, PARALLEL_BYTES_MIN),
                1 => line(batch, 1),
                2 => (0..50).map(|more| line(batch * 1000 + more, 3000)).collect(),
                _ => line(batch, 10) + "no JSON\n" + &line(batch, 20),
            })
            .collect();
        let facts = |decoded: Vec<Decoded>| -> Vec<_> {
            decoded.into_iter().map(|line| (line.hash, line.prev, line.line.map_err(|fault| fault.why))).collect()
        };
        let expected: Vec<_> = batches.iter().map(|batch| facts(decode_batch(batch.as_bytes()))).collect();
        let mut found = Vec::new();
        thread::scope(|scope| {
            let mut decoders = Decoders::new(scope);
            for batch in &batches {
                decoders.put(batch.clone().into_bytes());
                while let Some(decoded) = decoders.take_if_full() {
                    found.push(facts(decoded));
                }
            }
            while let Some(decoded) = decoders.take() {
                found.push(facts(decoded));
            }
            decoders.end();
        });
        assert_eq!(found, expected);
    }
}
