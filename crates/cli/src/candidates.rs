//! Candidates for an argument that a shell completes: whatever is in the home that the environment names.
//!
//! A shell asks at each key, so nothing here is thorough: what can't be read completes nothing.

use adjutant_core::words::QuestionKind;
use adjutant_core::words::category::STATIC;
use adjutant_store::Home;
use adjutant_store::runs::{self, Listed};
use clap_complete::CompletionCandidate;

use crate::settings::Place;

/// The most runs that are offered: the newest.
const RUNS_MAX: usize = 50;

/// The runs, each with its state and what it is for.
pub fn runs() -> Vec<CompletionCandidate> {
    let Ok(home) = home() else { return Vec::new() };
    let listed = runs::list(&home, &adjutant_store::Owner::current(), jiff::Timestamp::now()).unwrap_or_default();
    let candidate = |listed: &Listed| {
        let row = listed.row();
        let about = [row.says.or(row.state), row.title].into_iter().flatten().collect::<Vec<_>>().join(": ");
        CompletionCandidate::new(row.run_id).help(Some(about.into()))
    };
    listed.iter().take(RUNS_MAX).map(candidate).collect()
}

/// The adapters of this version.
pub fn adapters() -> Vec<CompletionCandidate> {
    let candidate =
        |adapter: adjutant_agents::Adapter| CompletionCandidate::new(adapter.id).help(Some(adapter.about.into()));
    adjutant_agents::adapters().into_iter().map(candidate).collect()
}

/// The kinds of questions.
pub fn kinds() -> Vec<CompletionCandidate> {
    QuestionKind::ALL.iter().map(|kind| CompletionCandidate::new(kind.as_str())).collect()
}

/// The categories of effects.
pub fn categories() -> Vec<CompletionCandidate> {
    STATIC.iter().map(|(name, meaning)| CompletionCandidate::new(*name).help(Some((*meaning).into()))).collect()
}

fn home() -> anyhow::Result<Home> {
    Place::default().home()
}
