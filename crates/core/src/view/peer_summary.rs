//! The summary of a run of the peer, from its session file.

use super::peer_session::PeerSession;
use super::summary::MESSAGES_HINT;
use crate::words::visible::visible_line;

/// Its text.
#[must_use]
pub fn text(session: &PeerSession) -> String {
    let messages = session.messages.len();
    format!("{}\nMessages: {messages} {MESSAGES_HINT}\n", head(session))
}

/// The part of the text that also stands before a transcript.
#[must_use]
pub fn head(session: &PeerSession) -> String {
    let or_dash = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
    let mut text = String::new();
    let mut push = |line: String| {
        text.push_str(visible_line(&line).trim_end());
        text.push('\n');
    };
    push(format!("Brief:      {}", session.brief_id));
    push(format!("Project:    {}", or_dash(&session.project)));
    push(format!("Started:    {}", or_dash(&session.started_at)));
    push(format!("Updated:    {}", or_dash(&session.updated_at)));
    push(format!("Phase:      {}", or_dash(&session.phase)));
    push(format!("Mode:       {}", or_dash(&session.mode)));
    push(format!("Approvals:  {}", session.approvals.len()));
    for approval in &session.approvals {
        let word = if approval.approved { "APPROVED" } else { "DENIED" };
        push(format!("  {}  {word}  {}", or_dash(&approval.at), approval.action));
    }
    push("Transitions:".to_owned());
    for change in &session.transitions {
        let reason = change.reason.as_deref().map(|reason| format!("  ({reason})"));
        let (at, from, to) = (or_dash(&change.at), &change.from, &change.to);
        push(format!("  {at}  {from} -> {to}{}", reason.unwrap_or_default()));
    }
    text
}
