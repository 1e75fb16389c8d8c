//! The spending of one scope of a run: of the run itself, a role, or a part.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;

use super::{OUTPUT_TOKENS_MIN, WARN_PER_CENT};
use crate::trace::{Body, CallEvent, Event, OpenWaits, RunEvent, RunOptions, TurnEvent};
use crate::words::price::Prices;
use crate::words::{Budget, FailureKind, Key, Metric, Part, Slot, Usage, What};

/// The spending of one scope of a run, with what it has reserved, folded from its events.
#[derive(Debug, Clone, Default)]
pub struct Spending {
    /// The prices of the run's agents, by their place in its options.
    prices: Arc<[Option<Prices>]>,
    /// True if any of them is from a provider's list.
    is_estimate: bool,
    tokens: u64,
    /// Input that was read from a cache, which is no part of the tokens.
    cache_reads: u64,
    nano_dollars: u64,
    /// True if the dollars are the most that it may have been: not everything was counted, or has a price of its own.
    is_bound: bool,
    /// True if tokens of a turn were not counted but guessed from its text.
    has_guesses: bool,
    turns: u64,
    calls: u64,
    worked_ms: u64,
    reserved: BTreeMap<Key, Reserved>,
    /// Operations in flight besides questions; `since` is the time from which any is.
    in_flight: BTreeSet<Key>,
    since: Option<Timestamp>,
    last: Option<Timestamp>,
    waits: OpenWaits,
    added: BTreeMap<Metric, u64>,
    /// The metrics whose warning is on record.
    warned: Vec<Metric>,
    /// Input of the latest reply to each part that its agent's provider had, or now has, in its cache. Parts side by
    /// side share no prefix.
    cached: BTreeMap<(Part, u32), u64>,
}

/// Most that one request may cost.
#[derive(Debug, Clone, Copy)]
struct Reserved {
    /// Its place in the run's options.
    agent: u32,
    input: u64,
    output: u64,
    tokens: u64,
    nano_dollars: u64,
}

/// Answer to a request for room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Room {
    /// It may be sent, if its reply is held to so many tokens.
    For {
        /// The most tokens of the reply.
        output: u32,
    },
    /// A limit forbids it as long as others have reserved what they may use; some of that may come back.
    Later,
    /// A limit forbids it.
    Over(Metric),
}

impl Spending {
    /// Returns an account of the same run that has used nothing.
    #[must_use]
    pub fn beside(&self) -> Self {
        Self { prices: Arc::clone(&self.prices), is_estimate: self.is_estimate, ..Self::default() }
    }

    /// Takes note of an event.
    pub fn apply(&mut self, event: &Event) {
        let key = |slot| Key { part: event.part.clone(), slot };
        match &event.body {
            Body::Run(RunEvent::RunStart(start)) => self.price(&start.options),
            Body::Run(RunEvent::RunResume { options, .. }) => {
                // Whatever was in flight ended when its driver did; nobody knows when better than the journal.
                let last = self.last.unwrap_or(event.at);
                self.rest(last);
                self.in_flight.clear();
                // A wait counts to its end, also if the run was let go meanwhile.
                if let Some(ends) = self.waits.wakes_at().filter(|ends| *ends <= event.at) {
                    self.since = Some(last);
                    self.rest(ends);
                }
                if let Some(options) = options {
                    self.price(options);
                }
            }
            Body::Turn(TurnEvent::AgentRequest { slot, agent, input_tokens, output_max, .. }) => {
                let (agent, input, output) = (*agent, *input_tokens, u64::from(*output_max));
                let (tokens, nano_dollars) = self.cost_ahead(&event.part, agent, input, output);
                self.reserved.insert(key(*slot), Reserved { agent, input, output, tokens, nano_dollars });
            }
            Body::Turn(TurnEvent::AgentReply { slot, usage, text, thinking, .. }) => {
                self.turns += 1;
                self.settle(&key(*slot), *usage, (text.len() + thinking.len()) as u64 / 4);
            }
            Body::Turn(TurnEvent::AgentFailed { slot, kind, received, .. }) => match kind {
                // The provider did not begin with it.
                FailureKind::Unreached
                | FailureKind::Busy
                | FailureKind::TooLong
                | FailureKind::ReplyTooLong
                | FailureKind::Rejected
                | FailureKind::Permanent => {
                    self.reserved.remove(&key(*slot));
                }
                // It may have read all of it, and what had arrived was said.
                FailureKind::Transient | FailureKind::Unreadable | FailureKind::Cancelled => {
                    self.settle_broken(&key(*slot), *received / 4)
                }
            },
            // Nobody knows what had arrived.
            Body::Call(CallEvent::Interrupted { slot, .. }) => self.settle_broken(&key(*slot), 0),
            Body::Call(CallEvent::ToolCall { .. }) => self.calls += 1,
            _ => {}
        }
        self.waits.apply(event);
        self.work(event);
        self.last = Some(event.at);
    }

    /// Returns the tokens of input that providers read from a cache. No limit counts them.
    #[must_use]
    pub fn cache_reads(&self) -> u64 {
        self.cache_reads
    }

    /// Returns true if the dollars spent are a bound: a turn was not counted, or something in it has no price of its own and
    /// was taken at the dearer one.
    #[must_use]
    pub fn is_bound(&self) -> bool {
        self.is_bound
    }

    /// Returns true if tokens were guessed: a provider did not count those of a turn.
    #[must_use]
    pub fn has_guesses(&self) -> bool {
        self.has_guesses
    }

    /// Takes note that the warning about a metric is on record.
    pub fn note_warning(&mut self, metric: Metric) {
        self.warned.push(metric);
    }

    /// Takes note that the run's last event was at `last`, wherever it happened.
    pub fn note_last(&mut self, last: Timestamp) {
        self.last = self.last.max(Some(last));
    }

    /// Returns what is used of a metric, in its own unit, with what is reserved. A turn in flight counts as one.
    #[must_use]
    pub fn used(&self, metric: Metric) -> u64 {
        let held = self.reserved.values();
        let reserved = match metric {
            Metric::Turns => held.count() as u64,
            Metric::ToolCalls | Metric::WallClock => 0,
            Metric::Tokens => held.fold(0, |sum: u64, held| sum.saturating_add(held.tokens)),
            Metric::Money => held.fold(0, |sum: u64, held| sum.saturating_add(held.nano_dollars)),
        };
        self.spent(metric).saturating_add(reserved)
    }

    /// Returns what is used of a metric for good, in its own unit: what is reserved may come back.
    #[must_use]
    pub fn spent(&self, metric: Metric) -> u64 {
        match metric {
            Metric::Turns => self.turns,
            Metric::ToolCalls => self.calls,
            Metric::WallClock => self.worked_ms.saturating_add(self.working_ms()),
            Metric::Tokens => self.tokens,
            Metric::Money => self.nano_dollars,
        }
    }

    /// Returns the time for which anything has been in flight without a pause, up to the last event, in milliseconds.
    fn working_ms(&self) -> u64 {
        let (Some(since), Some(last)) = (self.since, self.last) else { return 0 };
        u64::try_from(last.as_millisecond().saturating_sub(since.as_millisecond())).unwrap_or(0)
    }

    /// Returns the limit of a metric with what the operator added to it.
    #[must_use]
    pub fn limit(&self, budget: &Budget, metric: Metric) -> Option<u64> {
        let added = self.added.get(&metric).copied().unwrap_or(0);
        budget.limit(metric).map(|limit| limit.saturating_add(added))
    }

    /// Adds to a limit.
    pub fn add(&mut self, metric: Metric, amount: u64) {
        let added = self.added.entry(metric).or_default();
        *added = added.saturating_add(amount);
        self.warned.retain(|warned| *warned != metric);
    }

    /// Begins to count calls anew: another sub-task.
    pub fn begin_subtask(&mut self) {
        self.calls = 0;
        self.added.remove(&Metric::ToolCalls);
        self.warned.retain(|warned| *warned != Metric::ToolCalls);
    }

    /// Returns whether `part` may send a request of `input` tokens to the agent at `agent`, its reply being at most
    /// `output` tokens long.
    #[must_use]
    pub fn room(&self, budget: &Budget, part: &Part, agent: u32, input: u64, output: u32) -> Room {
        let room = |used: &dyn Fn(Metric) -> u64| self.room_beside(used, budget, (part, agent), input, output);
        match room(&|metric| self.used(metric)) {
            // What others reserved is the worst case. A halt must rest on what is spent.
            Room::Over(_) => match room(&|metric| self.spent(metric)) {
                Room::For { .. } | Room::Later => Room::Later,
                over @ Room::Over(_) => over,
            },
            room => room,
        }
    }

    /// Returns the room that is left beside what is `used` of each metric.
    fn room_beside(
        &self,
        used: &dyn Fn(Metric) -> u64,
        budget: &Budget,
        (part, agent): (&Part, u32),
        input: u64,
        output: u32,
    ) -> Room {
        let mut output = u64::from(output);
        let least = OUTPUT_TOKENS_MIN.min(output);
        for metric in Metric::ALL {
            let Some(limit) = self.limit(budget, metric) else { continue };
            let left = limit.saturating_sub(used(metric));
            let (tokens, nano_dollars) = self.cost_ahead(part, agent, input, 0);
            let room = match metric {
                // They are counted when they are made: a turn may do without.
                Metric::ToolCalls => continue,
                Metric::Turns | Metric::WallClock => {
                    if left == 0 {
                        return Room::Over(metric);
                    }
                    continue;
                }
                Metric::Tokens => left.saturating_sub(tokens),
                // Whoever begins a run sees to it that what is limited has a price; free output has no end.
                Metric::Money => match self.prices(agent).and_then(|prices| prices.output) {
                    Some(price) => left.saturating_sub(nano_dollars).checked_div(price).unwrap_or(u64::MAX),
                    None => u64::MAX,
                },
            };
            if room < least {
                return Room::Over(metric);
            }
            output = output.min(room);
        }
        Room::For { output: u32::try_from(output).unwrap_or(u32::MAX) }
    }

    /// Returns the first metric that is close to its limit without a warning on record.
    #[must_use]
    pub fn warning(&self, budget: &Budget) -> Option<(Metric, u64, u64)> {
        Metric::ALL.into_iter().filter(|metric| !self.warned.contains(metric)).find_map(|metric| {
            let (used, limit) = (self.used(metric), self.limit(budget, metric)?);
            (used.saturating_mul(100) >= limit.saturating_mul(WARN_PER_CENT)).then_some((metric, used, limit))
        })
    }

    /// Returns true if what is used of `metric` is an estimate: dollars by a provider's list.
    #[must_use]
    pub fn is_estimate(&self, metric: Metric) -> bool {
        metric == Metric::Money && self.is_estimate
    }

    fn price(&mut self, options: &RunOptions) {
        let agents = options.agents();
        self.prices = agents.iter().map(|agent| agent.prices).collect();
        self.is_estimate = agents.iter().any(|agent| agent.prices.is_some() && agent.prices_listed.is_some());
    }

    fn prices(&self, agent: u32) -> Option<&Prices> {
        self.prices.get(agent as usize)?.as_ref()
    }

    /// Returns the most that a request may cost, in tokens and nano-dollars. It assumes that the provider's cache still
    /// holds the part of the last request that it held then.
    fn cost_ahead(&self, part: &Part, agent: u32, input: u64, output: u64) -> (u64, u64) {
        let read = self.cached.get(&(part.clone(), agent)).copied().unwrap_or(0).min(input);
        let fresh = input - read;
        let nano_dollars = self.prices(agent).map_or(0, |prices| {
            let write = prices.cache_write.max(prices.input);
            total(&[(fresh, write), (read, prices.cache_read.or(prices.input)), (output, prices.output)])
        });
        (fresh.saturating_add(output), nano_dollars)
    }

    /// Puts what a reply cost in place of what was reserved for it. What the provider did not count is as much
    /// as was reserved; of the output, as much as its text.
    fn settle(&mut self, key: &Key, usage: Option<Usage>, said: u64) {
        let Some(held) = self.reserved.remove(key) else { return };
        let counted = usage.filter(|usage| usage.input_tokens.is_some() || usage.output_tokens.is_some());
        let Some(usage) = counted else {
            let (tokens, nano_dollars) = self.cost_ahead(&key.part, held.agent, held.input, said.min(held.output));
            self.is_bound |= nano_dollars > 0;
            self.has_guesses = true;
            return self.spend(tokens, nano_dollars);
        };
        let (read, written) = (usage.cache_read_tokens.unwrap_or(0), usage.cache_write_tokens.unwrap_or(0));
        let fresh = usage.input_tokens.unwrap_or_else(|| held.input.saturating_sub(read.saturating_add(written)));
        let output = usage.output_tokens.unwrap_or(said);
        self.cached.insert((key.part.clone(), held.agent), read.saturating_add(written));
        self.cache_reads = self.cache_reads.saturating_add(read);
        let nano_dollars = self.prices(held.agent).map_or(0, |prices| {
            total(&[
                (fresh, prices.input),
                (read, prices.cache_read.or(prices.input)),
                (written, prices.cache_write.or(prices.input)),
                (output, prices.output),
            ])
        });
        self.has_guesses |= usage.input_tokens.is_none() || usage.output_tokens.is_none();
        self.is_bound |= self.prices(held.agent).is_some_and(|prices| prices.cost(&usage).is_none());
        self.spend(fresh.saturating_add(written).saturating_add(output), nano_dollars);
    }

    /// Puts what a turn without an end cost in place of what was reserved for it: all that was sent, and the tokens of
    /// the reply that had arrived. A provider may charge for what it wrote after that, which nobody here can know.
    fn settle_broken(&mut self, key: &Key, arrived: u64) {
        let Some(held) = self.reserved.remove(key) else { return };
        let (tokens, nano_dollars) = self.cost_ahead(&key.part, held.agent, held.input, arrived.min(held.output));
        self.is_bound |= nano_dollars > 0;
        self.has_guesses = true;
        self.spend(tokens, nano_dollars);
    }

    fn spend(&mut self, tokens: u64, nano_dollars: u64) {
        self.tokens = self.tokens.saturating_add(tokens);
        self.nano_dollars = self.nano_dollars.saturating_add(nano_dollars);
    }

    /// Counts the time in which anything but a question is in flight.
    fn work(&mut self, event: &Event) {
        let counts = |slot: &&Slot| slot.what != What::Ask;
        let key = |slot: &Slot| Key { part: event.part.clone(), slot: *slot };
        if let Some(slot) = event.body.intent().filter(counts) {
            self.in_flight.insert(key(slot));
            self.since.get_or_insert(event.at);
        }
        if let Some(slot) = event.body.outcome().filter(counts) {
            self.in_flight.remove(&key(slot));
            if self.in_flight.is_empty() {
                self.rest(event.at);
            }
        }
    }

    fn rest(&mut self, at: Timestamp) {
        if let Some(since) = self.since.take() {
            let worked = at.as_millisecond().saturating_sub(since.as_millisecond());
            self.worked_ms = self.worked_ms.saturating_add(u64::try_from(worked).unwrap_or(0));
        }
    }
}

/// Returns the sum of amounts times prices. What has no price counts as free.
fn total(parts: &[(u64, Option<u64>)]) -> u64 {
    parts.iter().fold(0, |sum: u64, (amount, price)| sum.saturating_add(amount.saturating_mul(price.unwrap_or(0))))
}

#[cfg(test)]
mod tests;
