//! Scripts, and the choice of the next turn.
//!
//! In: a script and the messages of a request. Out: the turn to play, or `None` when the script is exhausted.
//! [`Script::choose`] follows the conversation from its first message at every request, so the answer depends on the
//! request alone: a run that was killed and resumed by another process plays on as if nothing had happened.

use std::sync::Arc;

use adjutant_ports::{FailureKind, OutgoingMessage, OutgoingRole, Stop, Usage};
use regex::Regex;
use serde_json::Value;

/// The longest delay of a turn, in milliseconds: ten minutes, the peer's longest wait for one reply.
pub const DELAY_MS_MAX: u64 = 600_000;

/// A script: the turns an agent will take, in order.
#[derive(Debug, Clone, Default)]
pub struct Script {
    pub(super) name: String,
    pub(super) turns: Vec<ScriptTurn>,
    /// The turns of single parts of a run, by the end of the part's name.
    pub(super) parts: Vec<(String, Vec<ScriptTurn>)>,
}

/// One turn of a script.
#[derive(Debug, Clone, Default)]
pub(super) struct ScriptTurn {
    pub(super) text: String,
    pub(super) calls: Vec<ScriptCall>,
    pub(super) when: Option<When>,
    pub(super) usage: Option<Usage>,
    pub(super) stream: TextPieces,
    pub(super) delay_ms: u64,
    pub(super) fail: Option<Fail>,
    pub(super) stop: Option<Stop>,
    pub(super) repeat: Repeat,
}

/// A tool call of a turn.
#[derive(Debug, Clone)]
pub(super) struct ScriptCall {
    /// Absent: the call is named after its turn and its place in it.
    pub(super) id: Option<String>,
    pub(super) tool: String,
    pub(super) args: Value,
    pub(super) malformed: Option<String>,
}

/// Conditions for a turn to be taken. All that are given must hold.
#[derive(Debug, Clone, Default)]
pub(super) struct When {
    pub(super) contains: Option<String>,
    pub(super) matches: Option<Regex>,
    pub(super) turn: Option<usize>,
    pub(super) tool_result: Option<ToolResult>,
}

/// A tool's result that must be among the last messages.
#[derive(Debug, Clone, Default)]
pub(super) struct ToolResult {
    pub(super) tool: Option<String>,
    pub(super) success: Option<bool>,
}

/// Pieces in which the text of a turn arrives.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) enum TextPieces {
    /// Word by word: whatever is not space, with the space after it (the peer's way).
    #[default]
    Words,
    /// So many characters at a time; never zero.
    Chars(usize),
    /// These pieces, which together are the text.
    Pieces(Vec<String>),
}

/// A failure in place of a reply.
#[derive(Debug, Clone)]
pub(super) struct Fail {
    pub(super) kind: FailureKind,
    pub(super) message: String,
    /// Absent: every attempt fails.
    pub(super) times: Option<u32>,
    /// Wait before the next attempt that the failure asks for; a script has nothing to wait for by itself.
    pub(super) after_ms: u64,
    /// The most tokens that it says a reply may have.
    pub(super) output_max: Option<u32>,
}

/// Number of times that a turn is taken before the next one comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Repeat {
    Times(usize),
    Forever,
}

impl Default for Repeat {
    fn default() -> Self {
        Self::Times(1)
    }
}

/// Place of a conversation in its script.
#[derive(Debug, Clone, Copy, Default)]
struct ScriptPlace {
    turn: usize,
    taken: usize,
}

impl Script {
    /// Returns the script's name: its file's name without the folder.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the number of turns in the script, without repetitions.
    #[must_use]
    pub fn len(&self) -> usize {
        self.turns.len()
    }

    /// Returns true if the script has no turn: every reply will be empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.turns.is_empty()
    }

    /// Returns the script of a part of a run: that with the longest name that the part's ends with. A crew's part that
    /// none is for plays the turns of the whole run, each session where the one before it stopped.
    pub(super) fn of_part(&self, part: &str) -> Option<Self> {
        let is_for = |name: &str| part == name || part.ends_with(&format!("/{name}"));
        let found = self.parts.iter().filter(|(name, _)| is_for(name)).max_by_key(|(name, _)| name.len());
        found.map(|(_, turns)| Self { name: self.name.clone(), turns: turns.clone(), parts: Vec::new() })
    }

    /// Returns the turn that answers `messages`, with its number in the conversation (from 1); `None` when the script
    /// is exhausted.
    ///
    /// Each reply in `messages` is assigned to its turn first, by the same rule and from what had been said before it.
    /// A turn whose `when` does not hold is passed over for good.
    ///
    /// Turns that were left out of `messages` count as taken in order: what was said before them is not there to be
    /// looked at.
    pub(super) fn choose(&self, left_out: usize, messages: &[Arc<OutgoingMessage>]) -> (usize, Option<&ScriptTurn>) {
        let mut place = (0..left_out).fold(ScriptPlace::default(), |place, _| self.after(place));
        let mut number = left_out + 1;
        let mut heard = 0;
        for (index, message) in messages.iter().enumerate() {
            if message.role == OutgoingRole::Assistant {
                place = self.after(self.at(place, number, &messages[heard..index]));
                number += 1;
                heard = index + 1;
            }
        }
        (number, self.turns.get(self.at(place, number, &messages[heard..]).turn))
    }

    /// Returns the first place from `place` on whose turn may answer the messages `last`; the end if there is none.
    fn at(&self, place: ScriptPlace, number: usize, last: &[Arc<OutgoingMessage>]) -> ScriptPlace {
        let fits = |turn: &ScriptTurn| turn.when.as_ref().is_none_or(|when| when.holds(number, last));
        match self.turns.iter().skip(place.turn).position(fits) {
            Some(0) => place,
            Some(passed) => ScriptPlace { turn: place.turn + passed, taken: 0 },
            None => ScriptPlace { turn: self.turns.len(), taken: 0 },
        }
    }

    /// Returns the place after the turn at `place` was taken once more.
    fn after(&self, place: ScriptPlace) -> ScriptPlace {
        let taken = place.taken + 1;
        match self.turns.get(place.turn).map(|turn| turn.repeat) {
            Some(Repeat::Forever) => ScriptPlace { taken, ..place },
            Some(Repeat::Times(times)) if taken < times => ScriptPlace { taken, ..place },
            Some(Repeat::Times(_)) => ScriptPlace { turn: place.turn + 1, taken: 0 },
            None => place,
        }
    }
}

impl When {
    /// Returns true if every condition holds for turn `number` and for `last`, the messages since the agent's last
    /// reply.
    fn holds(&self, number: usize, last: &[Arc<OutgoingMessage>]) -> bool {
        let heard = |fits: &dyn Fn(&OutgoingMessage) -> bool| last.iter().any(|message| fits(message));
        self.turn.is_none_or(|turn| turn == number)
            && self.contains.as_ref().is_none_or(|text| heard(&|message| message.text.contains(text.as_str())))
            && self.matches.as_ref().is_none_or(|pattern| heard(&|message| pattern.is_match(&message.text)))
            && self.tool_result.as_ref().is_none_or(|result| heard(&|message| result.is(&message.role)))
    }
}

impl ToolResult {
    fn is(&self, role: &OutgoingRole) -> bool {
        match role {
            OutgoingRole::Tool { name, is_error, .. } => {
                self.tool.as_ref().is_none_or(|tool| tool == name)
                    && self.success.is_none_or(|success| success != *is_error)
            }
            OutgoingRole::User | OutgoingRole::Assistant => false,
        }
    }
}

impl TextPieces {
    /// `text` in the pieces in which it arrives; joined they are `text`, and none of them is empty.
    pub(super) fn pieces<'a>(&'a self, text: &'a str) -> Vec<&'a str> {
        match self {
            Self::Words => words(text),
            Self::Chars(count) => chars(text, *count),
            Self::Pieces(pieces) => pieces.iter().map(String::as_str).filter(|piece| !piece.is_empty()).collect(),
        }
    }
}

/// Words with the space after them; space at the beginning is a piece of its own.
fn words(text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut start = 0;
    let mut after_space = false;
    for (index, c) in text.char_indices() {
        if after_space && !c.is_whitespace() {
            pieces.push(&text[start..index]);
            start = index;
        }
        after_space = c.is_whitespace();
    }
    if start < text.len() {
        pieces.push(&text[start..]);
    }
    pieces
}

/// Pieces of `count` characters (at least one), the last one perhaps shorter.
fn chars(text: &str, count: usize) -> Vec<&str> {
    let mut bounds: Vec<usize> = text.char_indices().map(|(index, _)| index).step_by(count.max(1)).collect();
    bounds.push(text.len());
    bounds.windows(2).map(|bound| &text[bound[0]..bound[1]]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_whole_characters_and_together_the_text() {
        #[track_caller]
        fn check(stream: TextPieces, text: &str, expected: &[&str]) {
            assert_eq!(stream.pieces(text), expected);
            assert_eq!(stream.pieces(text).concat(), text);
        }
        check(TextPieces::Words, "", &[]);
        check(TextPieces::Words, "one", &["one"]);
        check(TextPieces::Words, "one two  three\n\nfour ", &["one ", "two  ", "three\n\n", "four "]);
        check(TextPieces::Words, "  indented", &["  ", "indented"]);
        check(TextPieces::Words, "größe ☃\u{3000}東京 x", &["größe ", "☃\u{3000}", "東京 ", "x"]);
        check(TextPieces::Chars(2), "größe", &["gr", "öß", "e"]);
        check(TextPieces::Chars(1), "☃é", &["☃", "é"]);
        check(TextPieces::Chars(10), "short", &["short"]);
        check(TextPieces::Chars(3), "", &[]);
        check(TextPieces::Pieces(vec!["a".into(), String::new(), "b c".into()]), "ab c", &["a", "b c"]);
    }
}
