//! Reasons why a run can't be put together.

use std::error::Error as StdError;
use std::io;

use adjutant_agents::recorded;
use adjutant_store::keys::KeysError;
use adjutant_store::{CreateError, OpenError};
use thiserror::Error;

use super::agents::{AgentError, Unpriced};
use super::sandbox::SandboxError;
use super::settings::SettingsError;

/// A reason why a run can't be put together. Nothing of it was recorded, and everything is as it was.
#[derive(Debug, Error)]
pub enum Unready {
    /// It can't be said what holds for it.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The key file can't be relied on.
    #[error("{}", with_cause(.0))]
    Keys(KeysError),
    /// An agent can't be asked for turns.
    #[error(transparent)]
    Agent(#[from] AgentError),
    /// Its costs can't be held to their limit.
    #[error(transparent)]
    Unpriced(#[from] Unpriced),
    /// There is no sandbox that it may use.
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    /// The folder that tools work in can't be opened.
    #[error("can't work in the folder `{workdir}`")]
    Workdir {
        /// The folder.
        workdir: String,
        /// The cause.
        source: io::Error,
    },
    /// Its exchanges can't be recorded.
    #[error("{0}")]
    Recording(recorded::OpenError),
    /// It gets no journal.
    #[error(transparent)]
    Create(#[from] CreateError),
    /// Its journal can't be taken over.
    #[error("{}", with_cause(.0))]
    Open(OpenError),
    /// Its journal has no beginning.
    #[error("the run was killed before its beginning was on record")]
    NotBegun,
    /// The line of its journal that has its beginning can't be read.
    #[error("the line of the journal with the run's beginning (`run_start`) can't be read")]
    UnreadableStart,
    /// Its brief can't be read any more.
    #[error("the brief in the journal can't be read by this version")]
    UnreadableBrief,
}

impl Unready {
    /// Returns the hint for the operator, if there is one.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Settings(error) => error.hint(),
            Self::Keys(error) => error.hint(),
            Self::Agent(error) => error.hint(),
            Self::Unpriced(error) => Some(error.hint()),
            Self::Sandbox(error) => error.hint(),
            Self::Workdir { .. } => Some("name a folder that is there with --workdir".to_owned()),
            Self::Recording(_) => Some("name another file with --record".to_owned()),
            Self::Open(error) => error.hint(),
            Self::NotBegun => Some("start it anew with `adjutant run --new`".to_owned()),
            Self::UnreadableStart => {
                Some("`adjutant trace verify RUN` says what is wrong; without that line the run can't go on".to_owned())
            }
            Self::Create(_) | Self::UnreadableBrief => None,
        }
    }

    /// True if the operator said something that can't be, rather than this machine or this version being at fault.
    #[must_use]
    pub fn is_usage(&self) -> bool {
        match self {
            Self::Agent(error) => !matches!(error, AgentError::NotMade(_)),
            Self::Sandbox(error) => error.is_usage(),
            Self::Settings(_) | Self::Keys(_) | Self::Unpriced(_) | Self::Workdir { .. } | Self::Recording(_) => true,
            Self::Create(_) | Self::Open(_) | Self::NotBegun | Self::UnreadableStart | Self::UnreadableBrief => false,
        }
    }
}

// By hand: derived, the error would be its own cause, and be told twice.
impl From<KeysError> for Unready {
    fn from(error: KeysError) -> Self {
        Self::Keys(error)
    }
}

/// An error and its cause in one line.
pub(super) fn with_cause(error: &dyn StdError) -> String {
    match error.source() {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use adjutant_store::config::ConfigError;

    use super::*;

    #[track_caller]
    fn check(unready: &Unready, text: &str, cause: Option<&str>) {
        assert_eq!(unready.to_string(), text);
        assert_eq!(unready.source().map(ToString::to_string).as_deref(), cause, "{text}");
    }

    #[test]
    fn a_cause_is_told_once_in_the_line_or_below_it() {
        let path = || PathBuf::from("/h/x");
        let denied = || io::Error::other("denied");
        let keys = KeysError::Unreadable { path: path(), source: denied() };
        check(&keys.into(), "can't read the key file `/h/x`: denied", None);
        let config = SettingsError::from(ConfigError::Unusable { path: path(), source: denied() });
        check(&config.into(), "can't use `/h/x`: denied", None);
        let workdir = Unready::Workdir { workdir: "/w".to_owned(), source: denied() };
        check(&workdir, "can't work in the folder `/w`", Some("denied"));
        check(&SandboxError::NoFolder(denied()).into(), "can't make a folder for the sandbox", Some("denied"));
    }
}
