//! A model's reply in one turn, before it is written in any format.

use serde_json::Value;

/// One turn of a model.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reply {
    /// Thinking before the reply.
    pub thoughts: Vec<Thought>,
    /// Text of the reply; may be empty.
    pub text: String,
    /// The calls it makes, side by side.
    pub calls: Vec<Call>,
    /// Phase of the text, `commentary` or `final_answer`; only the Responses API has it.
    pub phase: Option<String>,
}

/// A call of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// The provider's id; empty for a call without one, which only the Gemini API has.
    pub id: String,
    /// The tool's name, as the request gave it.
    pub name: String,
    /// The arguments, an object.
    pub args: Value,
}

/// A piece of thinking, with what the provider wants back of it unchanged.
#[derive(Debug, Clone, PartialEq)]
pub enum Thought {
    /// Thinking that can be read, and its signature.
    Open {
        /// The readable text.
        text: String,
        /// Proof that it is unchanged; the encrypted thinking where the format has no signatures.
        signature: String,
    },
    /// Thinking that only the provider can read.
    Sealed(String),
}

impl Thought {
    /// Returns the part that only the provider can read.
    #[must_use]
    pub fn opaque(&self) -> &str {
        match self {
            Self::Open { signature, .. } => signature,
            Self::Sealed(data) => data,
        }
    }

    /// Returns the part that anybody can read; empty if there is no such part.
    #[must_use]
    pub fn text(&self) -> &str {
        match self {
            Self::Open { text, .. } => text,
            Self::Sealed(_) => "",
        }
    }
}

impl Reply {
    /// A turn of words alone.
    #[must_use]
    pub fn says(text: &str) -> Self {
        Self { text: text.to_owned(), ..Self::default() }
    }

    /// A turn as a journal has it: its words, and its calls with `call_id`, `name` and `args`.
    #[must_use]
    pub fn of(text: &str, calls: &[Value]) -> Self {
        let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let call =
            |call: &Value| Call { id: word(&call["call_id"]), name: word(&call["name"]), args: call["args"].clone() };
        Self { calls: calls.iter().map(call).collect(), ..Self::says(text) }
    }

    /// Adds a call.
    #[must_use]
    pub fn calls(mut self, id: &str, name: &str, args: Value) -> Self {
        self.calls.push(Call { id: id.to_owned(), name: name.to_owned(), args });
        self
    }

    /// Adds thinking that can be read.
    #[must_use]
    pub fn thinks(mut self, text: &str, signature: &str) -> Self {
        self.thoughts.push(Thought::Open { text: text.to_owned(), signature: signature.to_owned() });
        self
    }

    /// Adds thinking that only the provider can read.
    #[must_use]
    pub fn seals(mut self, data: &str) -> Self {
        self.thoughts.push(Thought::Sealed(data.to_owned()));
        self
    }

    /// Sets the phase.
    #[must_use]
    pub fn in_phase(mut self, phase: &str) -> Self {
        self.phase = Some(phase.to_owned());
        self
    }
}
