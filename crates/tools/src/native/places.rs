//! Real places of a call's paths: looked up before the call is judged, and compared before it is made.

use adjutant_core::gate::named_paths;
use adjutant_core::words::tool::{ResolvedPath, ToolCall, ToolOutput};
use adjutant_host::workdir::{RealPlace, WorkPath, WorkdirError, is_text};

use super::{Inner, refused};

impl Inner {
    /// Returns the paths of `call` that are not where their text says. One that can't be looked up is left out: the
    /// call fails on it, or its place will be another by then, which fails too.
    pub(super) fn resolved_paths(&self, call: &ToolCall) -> Vec<ResolvedPath> {
        let resolve = |given: String| {
            let path = self.workdir.resolve(&given).ok()?;
            let place = self.workdir.real_place(&path).ok()?;
            is_elsewhere(&path, &place).then(|| recorded(&path, place))
        };
        let mut resolved: Vec<_> = named_paths(&call.name, &call.args).into_iter().filter_map(resolve).collect();
        resolved.dedup();
        resolved
    }

    /// Returns the place that `given` was judged as, to be opened without another look at links. `resolved` is what was
    /// on record when the call was judged.
    pub(super) fn judged_place(&self, given: &str, resolved: &[ResolvedPath]) -> Result<WorkPath, NotJudged> {
        if given.starts_with("~/") {
            return Err(NotJudged::HomeSign);
        }
        if !is_text(given) {
            return Err(NotJudged::NoText);
        }
        let path = self.workdir.resolve(given).map_err(NotJudged::Unusable)?;
        let place = self.workdir.real_place(&path).map_err(NotJudged::Unusable)?;
        let judged = resolved.iter().find(|resolved| resolved.path == path.as_str());
        let is_same = match judged {
            Some(judged) => *judged == recorded(&path, place.clone()),
            None => !is_elsewhere(&path, &place),
        };
        if is_same { Ok(place.path) } else { Err(NotJudged::Moved(path)) }
    }
}

fn is_elsewhere(path: &WorkPath, place: &RealPlace) -> bool {
    place.path != *path || place.known_as.is_some()
}

fn recorded(path: &WorkPath, place: RealPlace) -> ResolvedPath {
    let RealPlace { path: place, known_as } = place;
    ResolvedPath { path: path.to_string(), place: place.to_string(), known_as }
}

/// Reason why a path of a call is not used.
pub(super) enum NotJudged {
    /// It begins with the sign for a home, which nothing here expands.
    HomeSign,
    /// It has characters that stand for bytes that are no text.
    NoText,
    /// The path can't be used at all.
    Unusable(WorkdirError),
    /// It leads to another place than when the call was judged.
    Moved(WorkPath),
}

impl NotJudged {
    pub(super) fn code(&self) -> &'static str {
        match self {
            Self::HomeSign | Self::NoText => "PATH_INVALID",
            Self::Unusable(error) => error.code(),
            Self::Moved(_) => "LINK_CHANGED",
        }
    }

    pub(super) fn explained(&self) -> String {
        match self {
            Self::HomeSign => "`~` is not expanded here: paths are relative to the working directory. Write `./~/...` \
                               for a folder that is called `~`."
                .to_owned(),
            Self::NoText => "The path has characters that have no meaning; a file can't be named by them.".to_owned(),
            Self::Unusable(error) => error.explained(),
            Self::Moved(path) => format!(
                "A link in `{path}` changed after the decision about this call, so that it leads elsewhere now. Nothing \
                 was read or written. Make the call again: it is decided by where the path leads then."
            ),
        }
    }

    pub(super) fn result(&self) -> ToolOutput {
        match self {
            Self::Unusable(error) => refused(error),
            Self::HomeSign | Self::NoText | Self::Moved(_) => ToolOutput::failed(self.code(), self.explained()),
        }
    }
}
