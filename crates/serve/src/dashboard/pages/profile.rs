//! The page of what past runs of a project teach: the applied profile, the candidate, and the difference.

use std::sync::Arc;

use adjutant_core::learn::profile::{Change, Profile};
use adjutant_core::learn::{CALIBRATION_TRAP, thresholds};
use adjutant_core::view::learned::{self, Rests};
use adjutant_runtime::past::ProfileReview;
use askama::Template;
use axum::extract::{Path, State};
use axum::response::Html;
use jiff::Timestamp;

use super::past::{Table, left_out, project_named};
use super::{PageShell, clock, render};
use crate::dashboard::Hall;
use crate::dashboard::fault::RequestFault;
use crate::dashboard::look::aside;

#[derive(Template)]
#[template(path = "profile.html")]
struct ProfilePage {
    shell: PageShell,
    project: String,
    /// Problem with a file in the place of the profile that can't be used, and what to do.
    unusable: Option<(String, String)>,
    applied: Option<ProfileContents>,
    candidate: ProfileContents,
    /// Changes by the candidate; absent if there was no profile before.
    changes: Option<Vec<Change>>,
    /// True if the candidate is more than the applied profile, made anew.
    has_changes: bool,
    is_idle: bool,
    /// Tell this from everything else that could be shown, for who acts on it.
    mark: String,
    applied_mark: String,
    as_of: String,
    left_out: Vec<String>,
}

/// A profile as it is shown.
struct ProfileContents {
    /// Tells what of it is named from what is named of the other.
    id: &'static str,
    generated_at: String,
    source_runs: Vec<String>,
    tables: Vec<Table>,
    evidence: Vec<Rests>,
    trap: Option<&'static str>,
    notes: Vec<String>,
}

impl ProfileContents {
    fn of(id: &'static str, profile: &Profile) -> Self {
        Self {
            id,
            generated_at: clock(&profile.generated_at),
            source_runs: profile.source_runs.clone(),
            tables: learned::sheets(profile).into_iter().map(Table::of).collect(),
            evidence: learned::evidence(profile),
            trap: profile.detector_overrides.contains_key("destructive").then_some(CALIBRATION_TRAP),
            notes: profile.notes.clone(),
        }
    }
}

pub(in crate::dashboard) async fn page(
    State(hall): State<Arc<Hall>>,
    Path(project): Path<String>,
) -> Result<Html<String>, RequestFault> {
    let project = project_named(&project)?;
    aside(move || {
        let shown = ProfileReview::read(&hall.look.home, &project, now(), thresholds::SMALLEST_MIN_SAMPLES)
            .map_err(|error| RequestFault::failed(format!("can't read the folder of sessions: {error}")))?;
        let applied = shown.applied.as_ref().ok().and_then(Option::as_ref);
        let unusable = shown.applied.as_ref().err();
        let changes = applied.map(|before| before.changes(&shown.candidate));
        render(&ProfilePage {
            shell: PageShell::around(&hall, "profile"),
            project: project.to_string(),
            unusable: unusable.map(|error| (why(error), error.hint(&project).unwrap_or_default())),
            applied: applied.map(|profile| ProfileContents::of("applied", profile)),
            candidate: ProfileContents::of("candidate", &shown.candidate),
            has_changes: changes.as_ref().is_none_or(|changes| !changes.is_empty()),
            changes,
            is_idle: shown.candidate.is_idle(),
            mark: shown.mark(),
            applied_mark: shown.applied_mark(),
            as_of: adjutant_core::words::moment::timestamp(shown.as_of),
            left_out: left_out(&shown.coverage),
        })
    })
    .await
}

/// Returns an error's text with its causes.
fn why(error: &(dyn std::error::Error + 'static)) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

/// Now, to what a page can say of it: it comes back with what is applied.
fn now() -> Timestamp {
    let now = Timestamp::now();
    adjutant_core::words::moment::timestamp(now).parse().unwrap_or(now)
}
