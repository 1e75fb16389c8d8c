//! Says what a failed exchange with a model API is, and so what may be done about it.
//!
//! In: how the exchange ended, as an [`ExchangeFailure`], and the time. Out: a [`FailureVerdict`]: ask again, have the
//! operator mend something, or neither. What words and sentences mean is one table for all providers (`table.rs`); an
//! answer is read (`said.rs`) from its innermost cause and its most exact word to the least, and the status decides
//! where no word does. How long it asks to wait is read in `wait.rs`. Nothing waits or asks again here.
//!
//! Begin with [`judge`].

mod said;
mod table;
mod wait;

use std::collections::BTreeMap;
use std::time::Duration;

use adjutant_core::gate::secrets;
use adjutant_ports::{AgentFailure, FailureKind};
use jiff::Timestamp;

use said::ErrorBody;
use table::{EXACT, GENERAL, by_status};

/// The most characters of a provider's own message that are passed on: enough for every sentence that one
/// sends, not for a page of HTML.
const MESSAGE_CHARS_MAX: usize = 500;

/// Failure of an exchange.
#[derive(Debug, Clone, Copy)]
pub enum ExchangeFailure<'a> {
    /// There was an answer, and its status is no success.
    Status {
        /// The status.
        status: u16,
        /// The headers, by their names in lower case.
        headers: &'a BTreeMap<String, String>,
        /// The body, or as much of it as was read.
        body: &'a str,
    },
    /// The stream began well and then carried an error.
    InStream {
        /// The error as the event has it.
        body: &'a str,
    },
    /// No answer came, or it ended before it was whole.
    Broken {
        /// True if a part of the reply had come.
        had_content: bool,
        /// Description of the failure.
        why: &'a str,
    },
    /// A reply came, and no session can go on from it.
    Unreadable {
        /// True if a part of it could be read.
        had_content: bool,
        /// Fault of the reply.
        why: &'a str,
    },
    /// The reply was whole, and the model declined in it.
    Declined {
        /// Its text, if it gave any.
        said: &'a str,
    },
    /// The reply ended at the limit of its length, and nothing was in it.
    Empty,
    /// The reply ended because the model's window is full, and nothing was in it.
    WindowFull,
}

/// Verdict on a failure: what may be done about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FailureVerdict {
    /// Another attempt may work.
    Retry {
        /// True if the provider was reached and had no room: a rate limit or overload, as opposed to a mishap.
        is_busy: bool,
        /// Wait that the server asks for; not limited here, so the caller limits it.
        after: Option<Duration>,
        /// Description of the failure.
        why: String,
    },
    /// A reply came and is thrown away: another one may be better, and costs as much.
    Unreadable {
        /// Description of the failure.
        why: String,
    },
    /// The request is longer than the model's window: a shorter one may work.
    TooLong {
        /// Description of the failure.
        why: String,
    },
    /// The request asks for a longer reply than the model gives: one that asks for less may work.
    ReplyTooLong {
        /// The most tokens that a reply may have, where the provider says so.
        most: Option<u32>,
        /// Description of the failure.
        why: String,
    },
    /// The provider refuses the request in words that say nothing known: if it is a long one, a shorter one may
    /// work.
    Unclear {
        /// Description of the failure.
        why: String,
    },
    /// Another attempt works only when the operator has mended this.
    Operator {
        /// Thing to mend.
        fix: Fix,
        /// Description of the failure.
        why: String,
    },
    /// Another attempt at the same request will not work, and it is nothing to mend outside of it.
    Refused {
        /// Description of the failure.
        why: String,
    },
}

/// Thing that an operator can mend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fix {
    /// The key is missing, wrong or no longer valid.
    Key,
    /// There is no credit, or the quota of a long period is used up.
    Quota,
    /// The key may not do this.
    Permission,
    /// The provider has no such model.
    Model,
}

impl FailureVerdict {
    /// Returns the failure as the runtime records it. `provider` is the name that a person knows, and `key_source` says
    /// where the key came from, such as the name of an environment variable.
    #[must_use]
    pub fn into_failure(self, provider: &str, key_source: &str) -> AgentFailure {
        let output_max = if let Self::ReplyTooLong { most, .. } = &self { *most } else { None };
        let (kind, retry_after, why) = match self {
            Self::Retry { is_busy, after, why } => {
                let kind = if is_busy { FailureKind::Busy } else { FailureKind::Transient };
                let wait = after.map(|after| format!("; it asks to wait {:.1} s", after.as_secs_f64()));
                (kind, after, why + &wait.unwrap_or_default())
            }
            Self::Unreadable { why } => (FailureKind::Unreadable, None, why),
            Self::TooLong { why } => (FailureKind::TooLong, None, why),
            Self::ReplyTooLong { why, .. } => (FailureKind::ReplyTooLong, None, why),
            Self::Unclear { why } => (FailureKind::Rejected, None, why),
            Self::Operator { fix, why } => {
                let hint = match fix {
                    Fix::Key => format!("check the key in {key_source}"),
                    Fix::Quota => format!("check the credit and the limits of the account of {key_source}"),
                    Fix::Permission => format!("check what the key in {key_source} may do"),
                    Fix::Model => "check the model's name, given with --model, and the base URL".to_owned(),
                };
                (FailureKind::Permanent, None, format!("{why}; {hint}"))
            }
            Self::Refused { why } => (FailureKind::Permanent, None, why),
        };
        AgentFailure { kind, message: format!("{provider}: {why}"), retry_after, output_max }
    }
}

/// Judges how an exchange failed. `now` is for a wait that is said as a date or a time of day.
#[must_use]
pub fn judge(failed: ExchangeFailure<'_>, now: Timestamp) -> FailureVerdict {
    match failed {
        ExchangeFailure::Status { status, headers, body } => {
            let said = ErrorBody::read(body);
            let why = match headers.get("location").filter(|_| (300..400).contains(&status)) {
                Some(to) => format!(
                    "the server redirects to `{}` (status {status}), which is not followed: check the base URL",
                    shortened(to)
                ),
                None => format!("{} (status {status})", said.message(body)),
            };
            let by_header = match headers.get("x-should-retry").map(String::as_str) {
                Some("true") if by_status(status) != Meaning::Busy => Some(Meaning::Mishap),
                Some("false") if matches!(by_status(status), Meaning::Busy | Meaning::Mishap) => Some(Meaning::Request),
                _ => None,
            };
            let meaning = said.meaning(EXACT).or(by_header).unwrap_or_else(|| by_status(status));
            meaning.verdict(why, wait::asked(headers, &said, status == 429, now))
        }
        ExchangeFailure::InStream { body } => {
            let said = ErrorBody::read(body);
            let why = format!("{} (in the middle of the stream)", said.message(body));
            let by_code = || said.status.map(by_status);
            let meaning = said.meaning(EXACT).or_else(|| said.meaning(GENERAL)).or_else(by_code);
            let meaning = meaning.unwrap_or(Meaning::Mishap);
            meaning.verdict(why, wait::asked(&BTreeMap::new(), &said, meaning == Meaning::Busy, now))
        }
        // What came of a reply that is not whole is thrown away, and no call in it is made: so both may be
        // asked for again.
        ExchangeFailure::Broken { had_content: false, why } => {
            FailureVerdict::Retry { is_busy: false, after: None, why: format!("no reply came: {why}") }
        }
        ExchangeFailure::Broken { had_content: true, why } => {
            FailureVerdict::Retry { is_busy: false, after: None, why: format!("the reply broke off: {why}") }
        }
        ExchangeFailure::Unreadable { had_content: false, why } => {
            FailureVerdict::Unreadable { why: format!("no reply came: {why}") }
        }
        ExchangeFailure::Unreadable { had_content: true, why } => {
            FailureVerdict::Unreadable { why: format!("the reply can't be used: {why}") }
        }
        ExchangeFailure::Declined { said } => {
            let said = said.trim();
            let why = if said.is_empty() { "no reason given".to_owned() } else { shortened(said) };
            FailureVerdict::Refused { why: format!("the model declined to answer: {why}") }
        }
        // A model that thought up to the limit will do so again.
        ExchangeFailure::Empty => FailureVerdict::Refused {
            why: "the reply reached its length limit before it said anything; allow longer replies with the \
                  adapter's `output_tokens_max`"
                .to_owned(),
        },
        // z.ai answers a request that is too long so, with 200.
        ExchangeFailure::WindowFull => {
            FailureVerdict::TooLong { why: "the request left no room for a reply in the model's window".to_owned() }
        }
    }
}

/// Meaning of an answer, before it is put in words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Meaning {
    /// The provider has no room for it now.
    Busy,
    /// Something broke on the way.
    Mishap,
    /// Something is to be mended.
    Mend(Fix),
    /// The request is longer than the model's window.
    TooLong,
    /// The reply may not be so long.
    ReplyTooLong { most: Option<u32> },
    /// The request is not acceptable, for a reason that nothing known is said of.
    Unclear,
    /// The request is not acceptable.
    Request,
}

impl Meaning {
    fn verdict(self, why: String, after: Option<Duration>) -> FailureVerdict {
        match self {
            Self::Busy => FailureVerdict::Retry { is_busy: true, after, why },
            Self::Mishap => FailureVerdict::Retry { is_busy: false, after, why },
            Self::TooLong => FailureVerdict::TooLong { why },
            Self::ReplyTooLong { most } => FailureVerdict::ReplyTooLong { most, why },
            Self::Unclear => FailureVerdict::Unclear { why },
            Self::Mend(fix) => FailureVerdict::Operator { fix, why },
            Self::Request => FailureVerdict::Refused { why },
        }
    }
}

/// Returns a text from outside, masked, since providers repeat keys, and cut to a length that can be passed on.
fn shortened(text: &str) -> String {
    secrets::cut_chars(text, MESSAGE_CHARS_MAX, "\u{2026}")
}

#[cfg(test)]
mod table_tests;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod wait_tests;
