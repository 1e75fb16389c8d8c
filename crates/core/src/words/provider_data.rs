//! The data that a provider wants to be given back with a turn that its model took: thinking with its signature, encrypted
//! reasoning, marks on text and calls.
//!
//! In: what an adapter kept of a reply. Out: the same, byte for byte, with every later request to the same model, also
//! after a resume; that is why it is in the journal. Nothing here reads it: what the parts mean is known to the
//! adapter that made them.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The data of one reply, and the model that it may be given back to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProviderData {
    /// The adapter that took the turn.
    pub adapter: String,
    /// The model that the turn was asked of: another one can't read what is here.
    pub model: String,
    /// The data, as the adapter wrote it.
    pub parts: Value,
}

impl ProviderData {
    /// The parts, if they are for this model of this adapter.
    #[must_use]
    pub fn parts_for(&self, adapter: &str, model: &str) -> Option<&Value> {
        (self.adapter == adapter && self.model == model).then_some(&self.parts)
    }
}
