//! Keeps the parts of a reply that its provider wants back, with their places in it.
//!
//! In: the parts of a reply in the order in which they came. Out: a value for the journal, which names what the reply
//! has anyway (its text, its calls) by its place and holds the rest as it came; and later, from that value and the
//! message as it is sent, the same parts in the same order. A reply that holds nothing of a provider's own has none.

use std::ops::Range;

use adjutant_core::words::tool::ToolCall;
use adjutant_ports::OutgoingMessage;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Fields of a provider's own at a text or a call, such as its signature.
pub(crate) type PartMarks = Map<String, Value>;

/// The parts of a reply, as they are kept.
#[derive(Debug, Default)]
pub(crate) struct ReplyParts(Vec<KeptPart>);

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum KeptPart {
    /// A piece of the reply's text, in bytes.
    Text {
        from: usize,
        to: usize,
        #[serde(default, skip_serializing_if = "Map::is_empty")]
        marks: PartMarks,
    },
    /// The call at this place among those of the reply.
    Call {
        place: usize,
        #[serde(default, skip_serializing_if = "Map::is_empty")]
        marks: PartMarks,
    },
    /// Something that only the provider has a use for.
    Whole(Value),
}

/// A part as it is sent.
#[derive(Debug, PartialEq)]
pub(crate) enum ReplyPiece<'a> {
    /// Text, and what belongs to it.
    Text(&'a str, PartMarks),
    /// A call, and what belongs to it.
    Call(&'a ToolCall, PartMarks),
    /// A part to send as it came.
    Whole(Value),
}

impl ReplyParts {
    pub(crate) fn text(&mut self, Range { start: from, end: to }: Range<usize>, marks: PartMarks) {
        self.0.push(KeptPart::Text { from, to, marks });
    }

    pub(crate) fn call(&mut self, place: usize, marks: PartMarks) {
        self.0.push(KeptPart::Call { place, marks });
    }

    pub(crate) fn whole(&mut self, value: Value) {
        self.0.push(KeptPart::Whole(value));
    }

    /// Returns the value to keep; `None` if text and calls say it all.
    pub(crate) fn kept(self) -> Option<Value> {
        let is_own = |part: &KeptPart| match part {
            KeptPart::Text { marks, .. } | KeptPart::Call { marks, .. } => !marks.is_empty(),
            KeptPart::Whole(_) => true,
        };
        // Names, numbers and JSON: there is nothing that JSON can't hold.
        self.0.iter().any(is_own).then(|| serde_json::to_value(&self.0).ok()).flatten()
    }
}

/// Returns the parts of an agent's message in the order in which they are sent. Without anything of the provider's own,
/// or where that can't be of this message: its text, and then its calls.
pub(crate) fn pieces(message: &OutgoingMessage) -> Vec<ReplyPiece<'_>> {
    let kept = message.provider_data.as_ref().and_then(|kept| marked(message, kept));
    kept.unwrap_or_else(|| {
        let calls = message.calls.iter().map(|call| ReplyPiece::Call(call, PartMarks::new()));
        std::iter::once(ReplyPiece::Text(&message.text, PartMarks::new())).chain(calls).collect()
    })
}

/// Returns the parts that `kept` names; `None` if the message doesn't have them, or has more.
fn marked<'a>(message: &'a OutgoingMessage, kept: &Value) -> Option<Vec<ReplyPiece<'a>>> {
    let parts = Vec::<KeptPart>::deserialize(kept).ok()?;
    let mut calls = 0;
    let mut pieces = Vec::with_capacity(parts.len());
    for part in parts {
        pieces.push(match part {
            KeptPart::Text { from, to, marks } => ReplyPiece::Text(message.text.get(from..to)?, marks),
            KeptPart::Call { place, marks } => {
                calls += 1;
                ReplyPiece::Call(message.calls.get(place)?, marks)
            }
            KeptPart::Whole(value) => ReplyPiece::Whole(value),
        });
    }
    (calls == message.calls.len()).then_some(pieces)
}

/// Returns the kept value, with every place in the text moved.
pub(crate) fn moved(kept: Value, place: impl Fn(usize) -> usize) -> Value {
    let Ok(mut parts) = Vec::<KeptPart>::deserialize(&kept) else { return kept };
    for part in &mut parts {
        if let KeptPart::Text { from, to, .. } = part {
            (*from, *to) = (place(*from), place(*to));
        }
    }
    serde_json::to_value(parts).unwrap_or(kept)
}

/// Leaves out what the provider wants back but what nothing of the reply follows: thinking at the end of a message is
/// refused where it must lead to something.
pub(crate) fn without_loose_end(mut pieces: Vec<ReplyPiece<'_>>) -> Vec<ReplyPiece<'_>> {
    let is_loose = |piece: &ReplyPiece<'_>| match piece {
        ReplyPiece::Text(text, marks) => text.trim().is_empty() && marks.is_empty(),
        ReplyPiece::Call(..) => false,
        ReplyPiece::Whole(_) => true,
    };
    while pieces.last().is_some_and(is_loose) {
        pieces.pop();
    }
    pieces
}

#[cfg(test)]
mod tests {
    use adjutant_ports::OutgoingRole;
    use serde_json::json;

    use super::*;

    fn message(text: &str, calls: usize, kept: Option<Value>) -> OutgoingMessage {
        let call = |place: usize| ToolCall {
            call_id: format!("c{place}"),
            name: "t".to_owned(),
            args: Value::Null,
            malformed: None,
            masked: false,
            resolved: Vec::new(),
        };
        let calls = (0..calls).map(call).collect();
        OutgoingMessage { role: OutgoingRole::Assistant, text: text.into(), calls, provider_data: kept }
    }

    fn marks(value: &str) -> PartMarks {
        PartMarks::from_iter([("signature".to_owned(), json!(value))])
    }

    #[test]
    fn what_was_kept_comes_back_in_its_order() {
        let mut parts = ReplyParts::default();
        parts.whole(json!({ "thinking": "one" }));
        parts.text(0..4, PartMarks::new());
        parts.call(0, marks("s"));
        parts.whole(json!({ "thinking": "two" }));
        parts.text(4..7, marks("t"));
        let message = message("größe", 1, parts.kept());
        let expected = vec![
            ReplyPiece::Whole(json!({ "thinking": "one" })),
            ReplyPiece::Text("grö", PartMarks::new()),
            ReplyPiece::Call(&message.calls[0], marks("s")),
            ReplyPiece::Whole(json!({ "thinking": "two" })),
            ReplyPiece::Text("ße", marks("t")),
        ];
        // `ß` begins at byte 4.
        assert_eq!(pieces(&message), expected);
    }

    #[test]
    fn a_reply_without_anything_of_the_provider_keeps_nothing() {
        let mut parts = ReplyParts::default();
        parts.text(0..4, PartMarks::new());
        parts.call(0, PartMarks::new());
        assert_eq!(parts.kept(), None);
    }

    #[test]
    fn what_is_not_of_this_message_is_not_sent_with_it() {
        let mut kept = Vec::new();
        for (range, calls) in [(0..9, 1), (0..3, 1), (0..2, 2), (0..2, 0)] {
            let mut parts = ReplyParts::default();
            parts.whole(json!(1));
            parts.text(range, PartMarks::new());
            (0..calls).for_each(|place| parts.call(place, PartMarks::new()));
            kept.extend(parts.kept());
        }
        kept.extend([json!({}), json!([{ "other": 1 }]), json!("text"), json!([{ "text": { "from": 1, "to": 0 } }])]);
        for kept in kept {
            let message = message("größe", 1, Some(kept.clone()));
            let plain =
                [ReplyPiece::Text("größe", PartMarks::new()), ReplyPiece::Call(&message.calls[0], PartMarks::new())];
            assert_eq!(pieces(&message), plain, "{kept}");
        }
    }

    #[test]
    fn places_in_a_text_that_changed_are_moved() {
        let mut parts = ReplyParts::default();
        parts.text(2..4, marks("s"));
        let kept = moved(parts.kept().expect("marks"), |at| at + 1);
        assert_eq!(kept[0]["text"]["from"], 3);
        assert_eq!(kept[0]["text"]["to"], 5);
        assert_eq!(moved(json!("other"), |at| at), json!("other"));
    }

    #[test]
    fn nothing_of_the_provider_is_left_at_the_end() {
        let whole = || ReplyPiece::Whole(json!(1));
        let text = |text| ReplyPiece::Text(text, PartMarks::new());
        assert_eq!(without_loose_end(vec![whole(), text("a"), whole(), text(" ")]), [whole(), text("a")]);
        assert_eq!(without_loose_end(vec![whole(), text("")]), []);
    }
}
