//! The lines of a run's mailbox: answers to its questions from anywhere, and messages to it.
//!
//! In: lines. Out: for each question the first answer or closing, the messages in their order, and the lines that were
//! skipped. A line that is damaged, of another version, or no answer to a question of its kind is skipped, and the rest
//! counts. This module doesn't check the sender, and nothing here tells the time.
//!
//! Begin with [`Letters::read`].

use std::collections::HashMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::reply;
use crate::words::{Choice, Key, Message, Part, QuestionKind, Slot};

/// The version of the lines.
const VERSION: u64 = 1;

/// The longest id, name or origin on a line, in bytes.
const NAME_BYTES_MAX: usize = 128;

/// The longest text that can be said with an answer, in bytes: as much as a large file of context.
pub const TEXT_BYTES_MAX: usize = 4 << 20;

/// An answer to a question, as it lies in the mailbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The question.
    pub key: Key,
    /// Kind of the question.
    pub kind: QuestionKind,
    /// The choice.
    pub choice: Choice,
    /// Text with the choice.
    pub text: Option<String>,
    /// Name of the sender.
    pub by: String,
    /// Whence: `terminal`, `answers`, `resume`, `inbox`, `dashboard`.
    pub whence: String,
    /// Time of the answer.
    pub at: Timestamp,
    /// The answer's own id.
    pub id: String,
}

/// Reason that a question takes no answer any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Closing {
    /// Its deadline passed, and it has its default.
    Expired,
    /// The run does not want to know any more.
    Withdrawn,
}

impl Closing {
    /// Returns the reason as the end of a sentence.
    #[must_use]
    pub const fn said(self) -> &'static str {
        match self {
            Self::Expired => "its deadline passed",
            Self::Withdrawn => "the run took it back",
        }
    }
}

/// First line about a question: its answer, or its closing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum First {
    /// An answer.
    Answer(Answer),
    /// Its end without one.
    Closed {
        /// The question.
        key: Key,
        /// Kind of the question.
        kind: QuestionKind,
        /// Reason for it.
        why: Closing,
        /// Time of the closing.
        at: Timestamp,
    },
}

impl First {
    /// Returns the question, as the mailbox knows questions: by their key and kind.
    fn about(&self) -> (Key, QuestionKind) {
        match self {
            Self::Answer(answer) => (answer.key.clone(), answer.kind),
            Self::Closed { key, kind, .. } => (key.clone(), *kind),
        }
    }
}

/// Something said to a run without being asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// Its own id.
    pub id: String,
    /// Name of the sender.
    pub by: String,
    /// Whence.
    pub whence: String,
    /// Time of the message.
    pub at: Timestamp,
    /// The part that it is for; the root stands for the whole run.
    pub to: Part,
    /// The message.
    pub message: Message,
}

/// Contents of a mailbox.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Letters {
    first: HashMap<(Key, QuestionKind), First>,
    /// Messages to the run, in order.
    pub messages: Vec<Said>,
    /// The lines that were skipped, from 1, each with why.
    pub skipped: Vec<(u64, String)>,
}

#[derive(Serialize, Deserialize)]
// An operator reads this in the reason that a line was skipped.
#[serde(expecting = "struct Line")]
struct MailboxLine {
    v: u64,
    #[serde(flatten)]
    letter: Letter,
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Letter {
    Answer {
        part: String,
        slot: Slot,
        kind: QuestionKind,
        choice: Choice,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
        by: String,
        whence: String,
        at: Timestamp,
        id: String,
    },
    Closed {
        part: String,
        slot: Slot,
        kind: QuestionKind,
        why: Closing,
        at: Timestamp,
    },
    Message {
        id: String,
        by: String,
        whence: String,
        at: Timestamp,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        part: Option<String>,
        message: Message,
    },
}

impl Letters {
    /// Reads a whole mailbox. Blank lines are nothing; a second answer to a question counts for nothing, nor does
    /// a message whose id was used before.
    #[must_use]
    pub fn read(bytes: &[u8]) -> Self {
        let mut letters = Self::default();
        for (number, line) in (1..).zip(bytes.split(|byte| *byte == b'\n')) {
            if !line.iter().all(u8::is_ascii_whitespace)
                && let Err(why) = letters.take(line)
            {
                letters.skipped.push((number, why));
            }
        }
        letters
    }

    /// Returns the first line about the question `key`, which is of `kind`.
    #[must_use]
    pub fn first(&self, key: &Key, kind: QuestionKind) -> Option<&First> {
        self.first.get(&(key.clone(), kind))
    }

    fn take(&mut self, line: &[u8]) -> Result<(), String> {
        let line: MailboxLine = serde_json::from_slice(line).map_err(|error| format!("it can't be read: {error}"))?;
        if line.v != VERSION {
            return Err(format!("it is of version {}, not {VERSION}", line.v));
        }
        let first = match line.letter {
            Letter::Message { id, by, whence, at, part, message } => {
                named(&[&id, &by, &whence])?;
                let to = part.map_or_else(|| Ok(Part::root()), |part| named_part(&part))?;
                if !self.messages.iter().any(|said| said.id == id) {
                    self.messages.push(Said { id, by, whence, at, to, message });
                }
                return Ok(());
            }
            Letter::Answer { part, slot, kind, choice, text, by, whence, at, id } => {
                named(&[&id, &by, &whence])?;
                if !reply::may_mean(kind, choice, text.as_deref()) {
                    return Err(format!("it is no answer to a question of the kind `{}`", kind.as_str()));
                }
                if text.as_ref().is_some_and(|text| text.len() > TEXT_BYTES_MAX) {
                    return Err("its text is too long".to_owned());
                }
                First::Answer(Answer { key: key(&part, slot)?, kind, choice, text, by, whence, at, id })
            }
            Letter::Closed { part, slot, kind, why, at } => First::Closed { key: key(&part, slot)?, kind, why, at },
        };
        self.first.entry(first.about()).or_insert(first);
        Ok(())
    }
}

fn key(part: &str, slot: Slot) -> Result<Key, String> {
    Ok(Key { part: named_part(part)?, slot })
}

fn named_part(part: &str) -> Result<Part, String> {
    part.parse().map_err(|error| format!("{error}"))
}

/// Checks that each of `names` is one: printable ASCII, not empty, not long.
fn named(names: &[&str]) -> Result<(), String> {
    let is_name =
        |name: &&str| (1..=NAME_BYTES_MAX).contains(&name.len()) && name.bytes().all(|b| b.is_ascii_graphic());
    if names.iter().all(is_name) { Ok(()) } else { Err("its id, who or whence is no name".to_owned()) }
}

/// Returns the line for an answer or a closing, without a line feed.
#[must_use]
pub fn first_line(first: &First) -> String {
    line(match first.clone() {
        First::Answer(Answer { key, kind, choice, text, by, whence, at, id }) => Letter::Answer {
            part: key.part.to_string(),
            slot: key.slot,
            kind,
            choice,
            text,
            by,
            whence,
            at: to_ms(at),
            id,
        },
        First::Closed { key, kind, why, at } => {
            Letter::Closed { part: key.part.to_string(), slot: key.slot, kind, why, at: to_ms(at) }
        }
    })
}

/// Returns the line for a message, without a line feed.
#[must_use]
pub fn message_line(said: &Said) -> String {
    let Said { id, by, whence, at, to, message } = said.clone();
    let part = (!to.is_root()).then(|| to.to_string());
    line(Letter::Message { id, by, whence, at: to_ms(at), part, message })
}

fn line(letter: Letter) -> String {
    serde_json::to_string(&MailboxLine { v: VERSION, letter })
        .expect("a letter has string keys and no number that is none")
}

/// Rounds a time to the precision of the journal.
fn to_ms(at: Timestamp) -> Timestamp {
    crate::words::moment::timestamp(at).parse().unwrap_or(at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::What;

    fn answer(number: u32, by: &str) -> Answer {
        Answer {
            key: Key { part: "session".parse().expect("a part"), slot: Slot::first(What::Ask, number) },
            kind: QuestionKind::Destructive,
            choice: Choice::Deny,
            text: Some("keep\nit".to_owned()),
            by: by.to_owned(),
            whence: "inbox".to_owned(),
            at: "2026-01-02T03:04:05.678Z".parse().expect("a time"),
            id: format!("id-{number}-{by}"),
        }
    }

    fn first(number: u32, by: &str) -> String {
        first_line(&First::Answer(answer(number, by)))
    }

    #[test]
    fn a_line_is_what_the_page_says() {
        assert_eq!(
            first(2, "operator"),
            r#"{"v":1,"type":"answer","part":"session","slot":"ask/2.1","kind":"destructive","choice":"deny","text":"keep\nit","by":"operator","whence":"inbox","at":"2026-01-02T03:04:05.678Z","id":"id-2-operator"}"#
        );
        let said = Said {
            id: "m".into(),
            by: "operator".into(),
            whence: "inbox".into(),
            at: answer(1, "a").at,
            to: Part::root(),
            message: Message::Stop,
        };
        let line = message_line(&said);
        assert_eq!(
            line,
            r#"{"v":1,"type":"message","id":"m","by":"operator","whence":"inbox","at":"2026-01-02T03:04:05.678Z","message":"stop"}"#
        );
        assert_eq!(Letters::read(format!("{line}\n{line}\n").as_bytes()).messages, [said]);
    }

    #[test]
    fn the_first_that_can_be_read_counts_and_nothing_after_it() {
        let closed = First::Closed {
            key: answer(2, "a").key,
            kind: QuestionKind::Destructive,
            why: Closing::Expired,
            at: answer(2, "a").at,
        };
        let lines = [first(1, "a"), first(1, "b"), first_line(&closed), first(2, "c"), String::new(), first(3, "d")];
        let letters = Letters::read(lines.join("\n").as_bytes());
        let at = |number| letters.first(&answer(number, "").key, QuestionKind::Destructive);
        assert_eq!(at(1), Some(&First::Answer(answer(1, "a"))));
        assert_eq!(at(2), Some(&closed));
        assert_eq!(at(3), Some(&First::Answer(answer(3, "d"))));
        assert_eq!((at(4), letters.skipped.len()), (None, 0));
        // The same slot, asked about something else, is another question.
        assert_eq!(letters.first(&answer(1, "").key, QuestionKind::Step), None);
    }

    #[test]
    fn what_is_no_letter_is_skipped_with_its_number_and_the_rest_counts() {
        let good = first(1, "a");
        for bad in [
            "{".to_owned(),
            "null".to_owned(),
            good.replace(r#""v":1"#, r#""v":2"#),
            good.replace(r#""type":"answer""#, r#""type":"order""#),
            good.replace(r#""choice":"deny""#, r#""choice":"accept""#),
            good.replace(r#""kind":"destructive""#, r#""kind":"limit""#),
            good.replace("ask/1.1", "ask/1"),
            good.replace(r#""part":"session""#, r#""part":"../x y""#),
            good.replace(r#""by":"a""#, r#""by":"\u001b[2J""#),
            good.replace(r#""whence":"inbox""#, r#""whence":"""#),
            good.replace("2026-01-02T03:04:05.678Z", "yesterday"),
            good[..good.len() / 2].to_owned(),
        ] {
            let letters = Letters::read(format!("{bad}\n{}\n", first(2, "b")).as_bytes());
            assert_eq!(letters.skipped.len(), 1, "{bad}");
            assert_eq!(letters.skipped[0].0, 1, "{bad}");
            assert_eq!(letters.first(&answer(1, "").key, QuestionKind::Destructive), None, "{bad}");
            assert!(letters.first(&answer(2, "").key, QuestionKind::Destructive).is_some(), "{bad}");
        }
        assert_eq!(Letters::read(&[0xff, b'\n', 0]).skipped.len(), 2);
    }
}
