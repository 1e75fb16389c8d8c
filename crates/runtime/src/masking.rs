//! Secrets are masked before anything that left a tool or an agent is recorded, sent on or shown.

use adjutant_core::gate::secrets::{self, Masker, SecretSet};
use adjutant_core::trace::{AgentOptions, Body, Entry, RunEvent, RunOptions, WorkOptions};
use adjutant_core::words::tool::{OfferedTools, ResolvedPath, ToolCall, ToolOutput};
use serde_json::Value;

/// The secrets to mask in one run: known shapes, and the values of the runtime's own keys.
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

    /// Returns true if anything in a value would be masked.
    pub(crate) fn changes(&self, value: &Value) -> bool {
        secrets::mask_value_with(value, &self.own).1
    }

    /// Returns a tool's output, masked; where it was cut, a secret that is only begun is left out as well.
    pub(crate) fn mask_output(&self, output: &ToolOutput) -> String {
        let content = &output.content;
        if output.meta.truncated != Some(true) {
            return self.mask(content);
        }
        // Some tools say on a last line that they cut.
        let is_last_line = |at: &usize| !content[at + 1..].contains('\n');
        let end = content.rfind("\n[truncated: ").filter(is_last_line).unwrap_or(content.len());
        self.mask(self.own.without_secret_begun(&content[..end])) + &content[end..]
    }

    /// An entry with every text in it masked, whatever it is and wherever it came from. Of a run's options what is
    /// needed to begin the run again stays: the folders, the script, the names of adapters and models.
    pub(crate) fn mask_entry(&self, mut entry: Entry) -> Entry {
        match &mut entry.body {
            Body::Run(RunEvent::RunStart(start)) => {
                start.brief = self.mask(&start.brief);
                start.brief_path = start.brief_path.as_deref().map(|path| self.mask(path));
                self.mask_options(&mut start.options);
                self.mask_offered(start.offered.as_deref_mut());
            }
            Body::Run(RunEvent::RunResume { options: Some(options), offered, .. }) => {
                self.mask_options(options);
                self.mask_offered(offered.as_deref_mut());
            }
            body => self.mask_body(body),
        }
        entry
    }

    /// Masks each text of `body` by way of its wire format, so that no field is forgotten.
    fn mask_body(&self, body: &mut Body) {
        let Ok(value) = serde_json::to_value(&*body) else { return };
        let (mut masked, changed) = secrets::mask_value_with(&value, &self.own);
        if !changed {
            return;
        }
        // Words of our own vocabulary are no secrets, so what was masked reads as the same event. An entry's id takes
        // no other text; without it the rest is masked all the same.
        let kind = body.kind();
        let read = Body::of_kind(kind, masked.clone()).or_else(|_| {
            keep_ids(&value, &mut masked);
            Body::of_kind(kind, masked)
        });
        if let Ok(masked) = read {
            *body = masked;
        }
    }

    fn mask_options(&self, options: &mut RunOptions) {
        let RunOptions { agent, fallback, work, hooks: _, programs: _, .. } = options;
        let (custom_roles, others): (_, Vec<&mut AgentOptions>) = match work {
            WorkOptions::Session { defined } => (defined, Vec::new()),
            WorkOptions::Crew(crew) => (&mut crew.custom_roles, crew.role_agents.values_mut().collect()),
            WorkOptions::Loop { options, defined } => (defined, options.voters.iter_mut().collect()),
        };
        for agent in std::iter::once(agent).chain(fallback).chain(others) {
            agent.base_url = agent.base_url.as_deref().map(|url| self.mask(url));
        }
        let Ok(value) = serde_json::to_value(&*custom_roles) else { return };
        let (masked, changed) = secrets::mask_value_with(&value, &self.own);
        if let Some(masked) = changed.then(|| serde_json::from_value(masked).ok()).flatten() {
            *custom_roles = masked;
        }
    }

    /// Masks what tools say of themselves: it may come from elsewhere. The hash stays that of the tools as they are.
    fn mask_offered(&self, offered: Option<&mut OfferedTools>) {
        let Some(offered) = offered else { return };
        let Ok(value) = serde_json::to_value(&offered.tools) else { return };
        let (masked, changed) = secrets::mask_value_with(&value, &self.own);
        if let Some(masked) = changed.then(|| serde_json::from_value(masked).ok()).flatten() {
            offered.tools = masked;
        }
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

/// The fields that hold the id of an entry of a project's memory, or the name of a workspace.
const IDS: [&str; 6] = ["id", "newer", "older", "supersedes", "superseded_by", "workspace"];

/// Puts the ids of `before` back into `masked`, which has the same fields in the same order.
fn keep_ids(before: &Value, masked: &mut Value) {
    match (before, masked) {
        (Value::Object(before), Value::Object(masked)) => {
            for ((name, before), masked) in before.iter().zip(masked.values_mut()) {
                if IDS.contains(&name.as_str()) && before.is_string() {
                    masked.clone_from(before);
                } else {
                    keep_ids(before, masked);
                }
            }
        }
        (Value::Array(before), Value::Array(masked)) => {
            before.iter().zip(masked).for_each(|(before, masked)| keep_ids(before, masked));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use adjutant_core::trace::{Line, wire};
    use adjutant_core::words::tool::{ToolMeta, ToolOutput};
    use serde_json::Value;

    use super::{Entry, Masks};

    /// One line of each type of event, each with all its fields.
    const SAMPLES: &str = include_str!("../../core/src/trace/redact/samples.ndjson");

    /// Fields that a run is begun with again, and those that our own code makes: the journal's head, names that were
    /// checked, folders, and programs and hooks of the operator's configuration.
    const KEPT: &[&str] = &[
        "/adjutant_version",
        "/records/0/id",
        "/contradictions/0/newer",
        "/contradictions/0/older",
        "/brief_id",
        "/run_id",
        "/project",
        "/tools/",
        "/offered/hash",
        "/versions/",
        "/options/workdir",
        "/options/copied_from",
        "/options/home",
        "/options/runtime_home",
        "/options/script",
        "/options/adapter",
        "/options/model",
        "/options/fallback/0/adapter",
        "/options/fallback/0/model",
        "/options/role_agents/",
        "/options/roles/",
        "/options/untrusted_tools/",
        "/options/detectors/",
        "/options/learned/",
        "/options/hooks/",
        "/options/programs/",
        "/options/mode",
        "/part",
        "/workspace",
        "/prev",
        "/at",
        "/type",
    ];

    /// Collects the places of the texts in a line.
    fn places(value: &Value, at: &str, found: &mut Vec<String>) {
        match value {
            Value::String(_) => found.push(at.to_owned()),
            Value::Array(items) => {
                items.iter().enumerate().for_each(|(index, item)| places(item, &format!("{at}/{index}"), found));
            }
            Value::Object(fields) => {
                fields.iter().for_each(|(name, field)| places(field, &format!("{at}/{name}"), found));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    #[test]
    fn where_a_tool_cut_its_output_no_part_of_a_secret_is_left() {
        let masks = Masks::new(["an own value"].into_iter().collect());
        let key = format!("gh{}_{}", "p", "aB3dE6gH9jK2mN5pQ8sT1vW4xY7zA0cD3fG6");
        let text = format!("the key is {key}\nPASSWORD=aB3dE6gH9jK2mN5p\nan own value, and more");
        for end in 0..text.len() {
            for mark in ["", "\n[truncated: 9 of 99 bytes]"] {
                let meta = ToolMeta { truncated: Some(true), ..ToolMeta::default() };
                let output = ToolOutput { meta, ..ToolOutput::worked(format!("{}{mark}", &text[..end])) };
                let masked = masks.mask_output(&output);
                for part in [&key[..8], &key[20..28], "aB3dE6gH", "an own v"] {
                    assert!(!masked.contains(part), "cut at {end}: {masked}");
                }
                assert!(masked.ends_with(mark), "{masked}");
            }
        }
    }

    #[test]
    fn a_secret_in_any_text_of_any_event_is_masked() {
        let secrets = [format!("gh{}_{}", "p", "aB3dE6gH9jK2mN5pQ8sT1vW4xY7zA0cD3fG6"), "an own value".to_owned()];
        let masks = Masks::new([&secrets[1]].into_iter().collect());
        let (mut planted, mut wrong) = (0, Vec::new());
        for (line, secret) in SAMPLES.lines().flat_map(|line| secrets.iter().map(move |secret| (line, secret))) {
            let sample: Value = serde_json::from_str(line).expect("a sample is JSON");
            let mut found = Vec::new();
            places(&sample, "", &mut found);
            for place in found.iter().filter(|place| !KEPT.iter().any(|kept| place.starts_with(kept))) {
                let mut with_secret = sample.clone();
                *with_secret.pointer_mut(place).expect("it was just there") = secret.as_str().into();
                // A word of the vocabulary takes no other text.
                let Ok(Line::Event(event)) = wire::decode(&with_secret.to_string()) else { continue };
                planted += 1;
                let masked = masks.mask_entry(Entry { part: event.part, body: event.body });
                let written = wire::encode(&masked.at(event.seq, event.at), None);
                if written.contains(secret.as_str()) || !written.contains("[masked:") {
                    wrong.push(format!("{} {place}", sample["type"]));
                }
            }
        }
        assert!(planted > 200, "only {planted}");
        assert_eq!(wrong, [""; 0]);
    }
}
