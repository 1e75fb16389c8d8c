//! A session of the peer: to look at only.

use adjutant_core::trace::read::Trace;
use adjutant_core::view::peer_session::{self, Approval, PeerMessage, PeerSession};
use adjutant_core::view::summary;
use adjutant_store::runs::PeerFiles;
use askama::Template;

use super::run::{CountedPart, MomentWindow, Moments};
use super::{PageShell, clock};
use crate::dashboard::Hall;
use crate::dashboard::fault::RequestFault;

/// Text in place of a status: the outcome of the peer's session is not ours to say.
pub(super) const STATE: &str = "another program's";

/// Number of messages on the page, from the last back.
const MESSAGES_SHOWN_MAX: usize = 200;

#[derive(Template)]
#[template(path = "peer.html")]
pub(super) struct PeerPage {
    shell: PageShell,
    run_id: String,
    state: &'static str,
    phase: String,
    mode: String,
    project: String,
    started: String,
    updated: String,
    /// Messages about what can't be read.
    problems: Vec<String>,
    approvals: Vec<Approval>,
    said: Vec<PeerMessage>,
    shown: Vec<PeerMessage>,
    moments: Moments,
    /// Nobody follows it.
    follow_after: Option<u64>,
    counted: String,
}

/// The page of the session `name`: its session file, its transcript and its trace, whichever there are.
pub(super) fn page(hall: &Hall, name: &str, window: &MomentWindow) -> Result<PeerPage, RequestFault> {
    let lines = hall.look.trace_of_peer(name)?;
    let trace = lines.trace();
    let files = PeerFiles::read(&hall.look.home, name).map_err(|error| RequestFault::failed(error.to_string()))?;
    let mut problems = Vec::new();
    let session = match files.session.as_deref().map(peer_session::read).transpose() {
        Ok(session) => session,
        Err(error) => {
            problems.push(format!("{error}: only its trace is shown."));
            None
        }
    };
    if !trace.damaged.is_empty() {
        problems.push(left_out(trace.damaged.len(), "trace"));
    }
    let facts = SessionFacts::of(session.as_ref(), &trace);
    let session = session.unwrap_or_default();
    let (kept, unreadable) = files.transcript.as_deref().map(peer_session::read_transcript).unwrap_or_default();
    if !unreadable.is_empty() {
        problems.push(left_out(unreadable.len(), "transcript"));
    }
    let said = if kept.is_empty() { session.messages } else { kept };
    let shown = said[said.len().saturating_sub(MESSAGES_SHOWN_MAX)..].to_vec();
    Ok(PeerPage {
        shell: PageShell::around(hall, "runs"),
        run_id: name.to_owned(),
        state: STATE,
        phase: or_dash(facts.phase),
        mode: or_dash(session.mode),
        project: or_dash(facts.project),
        started: or_dash(facts.started_at.as_deref().map(clock)),
        updated: or_dash(facts.updated_at.as_deref().map(clock)),
        problems,
        approvals: session.approvals,
        said,
        shown,
        moments: Moments::of(&trace, window)?,
        follow_after: None,
        counted: CountedPart::of(hall, &trace)?,
    })
}

/// Facts of a session from its session file, or without one from its trace.
struct SessionFacts {
    phase: Option<String>,
    project: Option<String>,
    started_at: Option<String>,
    updated_at: Option<String>,
}

impl SessionFacts {
    fn of(session: Option<&PeerSession>, trace: &Trace<'_>) -> Self {
        if let Some(PeerSession { phase, project, started_at, updated_at, .. }) = session.cloned() {
            return Self { phase, project, started_at, updated_at };
        }
        let summary = summary::of(trace);
        Self {
            phase: summary.phase.map(|phase| phase.to_string()),
            project: summary.project,
            started_at: summary.started_at,
            updated_at: summary.updated_at,
        }
    }
}

fn left_out(lines: usize, of: &str) -> String {
    let lines = if lines == 1 { "1 line".to_owned() } else { format!("{lines} lines") };
    format!("Without {lines} of the {of} that can't be read.")
}

fn or_dash(text: Option<String>) -> String {
    text.filter(|text| !text.is_empty()).unwrap_or_else(|| "-".to_owned())
}
