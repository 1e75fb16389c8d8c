//! Reads the past of a project: its history, the profile that it would teach, and the one that is applied. Applies and
//! removes profiles at the operator's word.
//!
//! In: a home, a project, which runs, the time. Out: what `core` makes of them, with what could not be read. Nothing is
//! applied but the candidate that was shown ([`ProfileReview::mark`]).

use std::io;
use std::path::PathBuf;

use adjutant_core::learn::history::{HistoryFold, Window};
use adjutant_core::learn::profile::Profile;
use adjutant_core::learn::{LearnFold, sorted_json};
use adjutant_core::words::id::Slug;
use adjutant_core::words::tool::whole_hash;
use adjutant_store::Home;
use adjutant_store::history::{self as store, Counting, Coverage};
use adjutant_store::profiles::{self, ProfileError};
use jiff::Timestamp;
use thiserror::Error;

/// Adds up the runs of a project that lie in `window`.
///
/// # Errors
///
/// If there is a folder of sessions and it can't be read. What else can't be read is named in the coverage.
pub fn history(home: &Home, project: &str, window: Window) -> io::Result<(HistoryFold, Coverage)> {
    let mut fold = HistoryFold::default();
    let coverage = store::read(home, project, Counting::Once, |trace| {
        if trace.runs.is_empty() && trace.damaged == 0 {
            fold.add_traceless(&trace.name);
            return;
        }
        fold.add_damage(trace.damaged);
        for run in trace.runs.iter().filter(|run| window.holds(run)) {
            fold.add(&trace.name, run);
        }
    })?;
    Ok((fold, coverage))
}

/// The profile that the runs of a project in `window` teach, as of `now`; every recommendation of it rests on at least
/// `min_samples` runs.
///
/// # Errors
///
/// As [`history`].
pub fn candidate(
    home: &Home,
    project: &str,
    window: Window,
    now: Timestamp,
    min_samples: u64,
) -> io::Result<(Profile, Coverage)> {
    let mut fold = LearnFold::new(now);
    let coverage = store::read(home, project, Counting::Once, |trace| {
        for run in trace.runs.iter().filter(|run| window.holds(run)) {
            fold.add(&trace.name, run);
        }
    })?;
    Ok((fold.profile(project, min_samples), coverage))
}

/// The profiles that an operator is shown before they apply a candidate.
#[derive(Debug)]
pub struct ProfileReview {
    /// The applied profile; `None` if no profile is applied.
    pub applied: Result<Option<Profile>, ProfileError>,
    /// The profile that would be applied.
    pub candidate: Profile,
    /// Time as of which the candidate is made.
    pub as_of: Timestamp,
    /// Coverage of what was read for it.
    pub coverage: Coverage,
}

/// Reason why a profile was not applied or removed.
#[derive(Debug, Error)]
pub enum NotApplied {
    /// It is not what was shown any more.
    #[error("the profile of `{project}` is not what was shown any more: nothing was changed")]
    Changed {
        /// The project.
        project: Slug,
    },
    /// The runs can't be read.
    #[error("can't read the folder of sessions")]
    Unread(#[from] io::Error),
    /// The profile can't be used or changed.
    #[error(transparent)]
    Profile(#[from] ProfileError),
}

impl NotApplied {
    /// Returns what to do about it.
    #[must_use]
    pub fn hint(&self, project: &Slug) -> Option<String> {
        match self {
            Self::Changed { .. } => Some("look at it again, then decide".to_owned()),
            Self::Unread(_) => None,
            Self::Profile(error) => error.hint(project),
        }
    }
}

impl ProfileReview {
    /// Reads the profile applied to a project, and makes the candidate that its runs teach as of `as_of`.
    ///
    /// # Errors
    ///
    /// As [`history`]. A profile that can't be used is no error here: it can be removed.
    pub fn read(home: &Home, project: &Slug, as_of: Timestamp, min_samples: u64) -> io::Result<Self> {
        let applied = profiles::read(home, project);
        let (candidate, coverage) = candidate(home, project.as_str(), Window::default(), as_of, min_samples)?;
        Ok(Self { applied, candidate, as_of, coverage })
    }

    /// Returns a hash of the applied profile and of the candidate, which tells this from everything else that could be
    /// shown.
    #[must_use]
    pub fn mark(&self) -> String {
        whole_hash(format!("{}\n{}", mark_of(&self.applied), sorted_json(&self.candidate)).as_bytes())
    }

    /// Returns a hash of the applied profile, which tells it from every other.
    #[must_use]
    pub fn applied_mark(&self) -> String {
        mark_of(&self.applied)
    }

    /// Applies the candidate, if it has `mark`. It is `self` that was read anew, as of the time that was shown: old runs
    /// count less each day, so that another time would teach something else.
    ///
    /// # Errors
    ///
    /// [`NotApplied`]: then nothing was changed. Nothing is put over a profile that can't be used.
    pub fn apply(self, home: &Home, project: &Slug, mark: &str) -> Result<PathBuf, NotApplied> {
        let has_changed = self.mark() != mark;
        self.applied?;
        if has_changed {
            return Err(NotApplied::Changed { project: project.clone() });
        }
        Ok(profiles::write(home, project, &self.candidate)?)
    }
}

/// Removes the applied profile if it has `mark`; whether there was one.
///
/// # Errors
///
/// [`NotApplied`]: then nothing was changed.
pub fn reset(home: &Home, project: &Slug, mark: &str) -> Result<bool, NotApplied> {
    if mark_of(&profiles::read(home, project)) != mark {
        return Err(NotApplied::Changed { project: project.clone() });
    }
    Ok(profiles::remove(home, project)?)
}

fn mark_of(applied: &Result<Option<Profile>, ProfileError>) -> String {
    let text = match applied {
        Ok(Some(profile)) => sorted_json(profile),
        Ok(None) => String::new(),
        Err(error) => format!("unusable: {error}"),
    };
    whole_hash(text.as_bytes())
}
