//! The change that a run made, gathered from its journal, what was kept before its calls, and the files as they are.
//!
//! `diff`, `show` and `apply` rest on it. What of it can't be told is said in words, never left out in silence.

use std::path::Path;

use adjutant_core::patch::file_change::{self, ShownChange};
use adjutant_core::trace::{Body, CallEvent, Event, RunOptions};
use adjutant_core::view::show::{ChangeKind, ChangedFile};
use adjutant_core::words::id::RunId;
use adjutant_core::words::visible::visible_line;
use adjutant_host::rescue::{MadeFile, PathChange, Rescues, WholeChange};
use adjutant_host::workdir::{self, Workdir};
use adjutant_runtime::assembly::{latest_options, run_start};
use adjutant_store::Home;
use adjutant_store::journal;
use adjutant_store::runs::{self, Found};
use anyhow::Context;

use crate::exit::Ending;
use crate::failure::Failure;

/// The most paths that are named where something can't be shown.
const NAMED_MAX: usize = 8;

/// A run, and what it changed.
pub struct RunChanges {
    /// The run.
    pub run_id: RunId,
    /// The name that means it and no other run of its brief.
    pub called: String,
    /// The options that hold for it.
    pub options: RunOptions,
    /// Its rescues.
    pub rescues: Rescues,
    /// Its whole change.
    pub change: WholeChange,
    /// Number of commands that its agents ran.
    pub commands: u64,
}

/// A file that the run changed, with the diff.
pub struct FileDiff<'c> {
    /// Its two states.
    pub change: &'c PathChange,
    /// The diff.
    pub shown: ShownChange,
}

impl<'c> FileDiff<'c> {
    fn of(change: &'c PathChange) -> Self {
        let path = workdir::shown(&change.path);
        Self { change, shown: file_change::shown(&path, change.before.as_ref(), change.after.as_ref()) }
    }
}

/// The run that was asked for; the peer keeps nothing by which a change could be told.
pub fn named_run(home: &Home, given: &str) -> anyhow::Result<RunId> {
    match runs::find(home, given).map_err(super::not_found)? {
        Found::Run(run_id) => Ok(run_id),
        Found::Peer(name) => {
            let what = format!("`{name}` is a session of another program: what it changed is not on record");
            Err(Failure::usage(what).hint(format!("`adjutant inspect {name}` shows what is")).into())
        }
    }
}

impl RunChanges {
    /// Gathers the change of a run.
    ///
    /// # Errors
    ///
    /// If its journal can't be read, or the folder that it worked in is gone.
    pub fn of(home: &Home, run_id: RunId) -> anyhow::Result<Self> {
        let events = journal::read_only(home, &run_id)?.events;
        let start = run_start(&events).map_err(Failure::unready)?;
        let options = latest_options(&events, &start.options).clone();
        let workdir = open(Path::new(&options.workdir))?;
        let root = std::path::absolute(home.root()).context("can't tell where the home is")?;
        let rescues = Rescues::of(&root, run_id.as_str());
        let (made, commands) = made_by(&events);
        let change = rescues
            .whole_change(&workdir, &made)
            .with_context(|| format!("can't compare `{}` with what was kept", options.workdir))?;
        let called = runs::called(home, &run_id);
        Ok(Self { run_id, called, options, rescues, change, commands })
    }

    /// Returns the diffs of the files, or of those at or below `paths`.
    pub fn diffs(&self, paths: &[String]) -> Vec<FileDiff<'_>> {
        let is_at = |path: &str, named: &String| {
            let named = named.trim_start_matches("./").trim_end_matches('/');
            named == "." || path.strip_prefix(named).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let is_meant = |change: &&PathChange| paths.is_empty() || paths.iter().any(|named| is_at(&change.path, named));
        let known = self.change.paths.iter().filter(is_meant).filter(|change| change.unknown.is_none());
        known.map(FileDiff::of).collect()
    }

    /// Says which part of the change can't be shown, a line each.
    pub fn not_shown(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for change in &self.change.paths {
            if let Some(why) = &change.unknown {
                lines.push(format!("{} changed, and can't be shown: {why}", shown(&change.path)));
            }
        }
        if !self.change.not_kept.is_empty() {
            let named: Vec<String> = self.change.not_kept.iter().take(NAMED_MAX).map(|path| shown(path)).collect();
            let more = self.change.not_kept.len().saturating_sub(NAMED_MAX);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            lines.push(format!(
                "changes of these can't be shown, for they were not kept before: {}{more}",
                named.join(", ")
            ));
        }
        if !self.change.is_from_start && self.commands > 0 {
            let commands =
                if self.commands == 1 { "1 command".to_owned() } else { format!("{} commands", self.commands) };
            lines.push(format!(
                "{commands} ran in the folder itself: what they changed without its being known beforehand may be \
                 missing (a run with --copy shows everything)"
            ));
        }
        lines
    }
}

/// Opens a folder of a run.
pub fn open(folder: &Path) -> anyhow::Result<Workdir> {
    Workdir::open(folder).map_err(|source| {
        let what = format!("the folder `{}` of the run is not there", folder.display());
        anyhow::Error::new(source).context(Failure::ending(Ending::Failed, what))
    })
}

/// A path on a line of its own: what is no text is spelled out.
pub fn shown(path: &str) -> String {
    visible_line(&workdir::shown(path)).into_owned()
}

/// Returns the files that calls made where there was none, and the number of commands.
fn made_by(events: &[Event]) -> (Vec<MadeFile>, u64) {
    let (mut made, mut commands) = (Vec::new(), 0);
    for event in events {
        let Body::Call(CallEvent::ToolCall { args, changes, workspace: None, .. }) = &event.body else { continue };
        commands += u64::from(args.get("cmd").is_some());
        let at_ms = u64::try_from(event.at.as_millisecond()).unwrap_or(0);
        let new = changes.iter().filter(|change| change.before.is_none());
        made.extend(new.map(|change| MadeFile { path: change.path.clone(), at_ms }));
    }
    (made, commands)
}

/// Returns what is shown of a diff in a list.
pub fn listed(diff: &FileDiff<'_>) -> ChangedFile {
    let kind = match (&diff.change.before, &diff.change.after) {
        (None, _) => ChangeKind::Added,
        (_, None) => ChangeKind::Deleted,
        (Some(_), Some(_)) => ChangeKind::Changed,
    };
    let path = shown(&diff.change.path);
    ChangedFile { path, kind, added: diff.shown.added, removed: diff.shown.removed, hidden: diff.shown.hidden }
}
