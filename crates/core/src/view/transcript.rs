//! All that was said in a run, by whom and when.

use serde::Serialize;

use super::peer_session::{PeerMessage, PeerSession, read_transcript};
use super::{peer_summary, summary};
use crate::trace::EventKind;
use crate::trace::read::{Fields, Trace};
use crate::words::visible::{visible_line, visible_text};

/// All that was said in a run, oldest first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct RunTranscript {
    /// The lines that can't be read: of the journal, or of the peer's transcript file.
    pub damaged: Vec<u64>,
    /// The messages, turns and results, in order.
    pub entries: Vec<TranscriptEntry>,
}

/// One thing that was said.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct TranscriptEntry {
    /// The speaker: `system`, `user`, `agent`, `tool`; the peer calls an agent `assistant`.
    pub speaker: String,
    /// Time of the entry.
    pub at: Option<String>,
    /// The subject: a message's purpose, a turn's slot, a tool's name and call. Empty for the peer.
    pub about: String,
    /// The part of the run; empty for the run itself and for the peer.
    pub part: String,
    /// The thinking before it, as far as the provider shows it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub thinking: String,
    /// The text.
    pub text: String,
    /// The calls that a turn asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<AskedCall>,
}

/// A call that a turn asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AskedCall {
    /// Its number among the calls of the run, as `inspect --tools` and `explain` have it; absent for another program's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub number: Option<u32>,
    /// The agent's own name for it.
    pub call_id: String,
    /// The tool.
    pub name: String,
    /// The arguments, as the JSON they were recorded in.
    pub args: String,
}

/// Returns the transcript of a run of ours.
#[must_use]
pub fn of(trace: &Trace<'_>) -> RunTranscript {
    let mut tools = std::collections::HashMap::new();
    let mut entries = Vec::new();
    let mut number = 0;
    for line in &trace.lines {
        let f = &line.fields;
        let call_id = || f.word("call_id").into_owned();
        let (speaker, about, text) = match line.kind.known() {
            Some(EventKind::Message) => (f.word("role").into_owned(), f.word("kind").into_owned(), f.word("text")),
            Some(EventKind::AgentReply) => ("agent".to_owned(), f.word("slot").into_owned(), f.word("text")),
            Some(EventKind::ToolCall) => {
                tools.insert((line.part.to_string(), call_id()), f.word("name"));
                continue;
            }
            Some(EventKind::ToolResult | EventKind::ToolCancelled | EventKind::ToolRejected) => {
                let begun = tools.get(&(line.part.to_string(), call_id()));
                let name = f.text("name").or_else(|| begun.cloned()).unwrap_or_default();
                let text = f.text("content").or_else(|| f.text("partial_output"));
                let text = text.unwrap_or_else(|| match f.text("artifact") {
                    Some(hash) => format!("(kept as artifact {hash})").into(),
                    None => "".into(),
                });
                let about = format!("{name} {}", call_id());
                ("tool".to_owned(), about.trim_start().to_owned(), text)
            }
            _ => continue,
        };
        let calls = if line.kind == EventKind::AgentReply {
            let numbered = f.objects("calls").into_iter().map(|call| {
                number += 1;
                asked(&call, Some(number))
            });
            numbered.collect()
        } else {
            Vec::new()
        };
        entries.push(TranscriptEntry {
            speaker,
            at: line.at.as_deref().map(str::to_owned),
            about,
            part: line.part.to_string(),
            thinking: f.text("thinking").unwrap_or_default().into_owned(),
            text: text.into_owned(),
            calls,
        });
    }
    RunTranscript { damaged: trace.damaged.clone(), entries }
}

fn asked(call: &Fields<'_>, number: Option<u32>) -> AskedCall {
    AskedCall {
        number,
        call_id: call.word("call_id").into_owned(),
        name: call.word("name").into_owned(),
        args: call.json("args").unwrap_or("{}").to_owned(),
    }
}

/// Returns the transcript of a run of the peer: its transcript file, if that has any message, or else its session.
#[must_use]
pub fn of_peer(session: &PeerSession, transcript_file: Option<&str>) -> RunTranscript {
    let (messages, damaged) = transcript_file.map(read_transcript).unwrap_or_default();
    let messages = if messages.is_empty() { &session.messages } else { &messages };
    let entry = |message: &PeerMessage| TranscriptEntry {
        speaker: message.role.clone(),
        at: message.at.clone(),
        text: message.content.clone(),
        ..TranscriptEntry::default()
    };
    RunTranscript { damaged, entries: messages.iter().map(entry).collect() }
}

/// The text of a run of ours: the head of its summary, then all that was said.
#[must_use]
pub fn text(head: &summary::Summary, transcript: &RunTranscript) -> String {
    summary::head(head) + &entries_text(transcript)
}

/// The text of a run of the peer: the head of its summary, then all that was said.
///
/// Damage in the transcript file is not announced here, as the peer doesn't; the model has the numbers.
#[must_use]
pub fn peer_text(session: &PeerSession, transcript: &RunTranscript) -> String {
    peer_summary::head(session) + &entries_text(transcript)
}

fn entries_text(transcript: &RunTranscript) -> String {
    let first = transcript.entries.first().map(|entry| entry.part.as_str());
    let names_parts = transcript.entries.iter().any(|entry| Some(entry.part.as_str()) != first);
    let mut text = "\nTranscript:\n".to_owned();
    for entry in &transcript.entries {
        let mut head = format!("[{}] {}", entry.speaker, entry.at.as_deref().unwrap_or("-"));
        if !entry.about.is_empty() {
            head += &format!("  {}", entry.about);
        }
        if names_parts && !entry.part.is_empty() {
            head += &format!("  @{}", entry.part);
        }
        text += &format!("\n{}\n", visible_line(&head));
        let thinking = visible_text(&entry.thinking);
        for line in thinking.trim().lines() {
            text += format!("  (thinks) {line}").trim_end();
            text.push('\n');
        }
        let said = visible_text(&entry.text);
        let said = said.trim();
        if !said.is_empty() || entry.calls.is_empty() {
            text += said;
            text.push('\n');
        }
        for call in &entry.calls {
            let number = call.number.map(|number| format!("#{number} ")).unwrap_or_default();
            let call = format!("-> {number}{} {} {}", call.name, call.call_id, call.args);
            text += &visible_line(&call);
            text.push('\n');
        }
    }
    text
}
