//! Secrets are masked before anything that left a tool or an agent is recorded, sent on or shown.

use adjutant_core::gate::secrets::{self, Masker, SecretSet};
use adjutant_core::tool::{ResolvedPath, ToolCall};
use adjutant_core::trace::{Body, Entry};

/// What is masked in one run: known shapes, and the values of the runtime's own keys.
#[derive(Debug, Default)]
pub struct Masks {
    own: SecretSet,
}

impl Masks {
    /// Masks for a runtime that holds these secrets itself.
    #[must_use]
    pub fn new(own: SecretSet) -> Self {
        Self { own }
    }

    pub(crate) fn mask(&self, text: &str) -> String {
        self.own.mask(text).into_owned()
    }

    /// An entry with whatever a person or a brief put into it masked; what comes from agents and tools
    /// was masked before it got here.
    pub(crate) fn mask_entry(&self, mut entry: Entry) -> Entry {
        match &mut entry.body {
            Body::Message { text, .. } | Body::Answer { text: Some(text), .. } => *text = self.mask(text),
            // What is remembered may have been written by anybody: the peer, an editor.
            Body::MemoryInherited { records, .. } => {
                for record in records {
                    record.said = record.said.map(|text| self.mask(text));
                }
            }
            Body::RunStart(start) => start.brief = self.mask(&start.brief),
            _ => {}
        }
        entry
    }

    /// The call with its names and arguments masked; `None` if there was nothing to mask.
    pub(crate) fn mask_call(&self, call: &ToolCall) -> Option<ToolCall> {
        let (args, changed) = secrets::mask_value_with(&call.args, &self.own);
        let malformed = call.malformed.as_deref().map(|text| self.mask(text));
        let (name, call_id) = (self.mask(&call.name), self.mask(&call.call_id));
        let resolved: Vec<ResolvedPath> = call.resolved.iter().map(|path| self.mask_path(path)).collect();
        if !changed
            && malformed == call.malformed
            && name == call.name
            && call_id == call.call_id
            && resolved == call.resolved
        {
            return None;
        }
        Some(ToolCall { call_id, name, args, malformed, masked: true, resolved })
    }

    fn mask_path(&self, ResolvedPath { path, place, known_as }: &ResolvedPath) -> ResolvedPath {
        ResolvedPath {
            path: self.mask(path),
            place: self.mask(place),
            known_as: known_as.as_deref().map(|name| self.mask(name)),
        }
    }

    /// Masks for text that arrives in pieces.
    pub(crate) fn stream(&self) -> Masker {
        Masker::new(self.own.clone())
    }
}
