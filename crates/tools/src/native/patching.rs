//! `apply_patch`: what core planned, done to the disk as a whole or undone.

use std::cell::Cell;
use std::collections::BTreeSet;

use adjutant_core::patch::{FileMode, Fit, Lookup, Plan, PlannedFile, RESULT_BYTES_MAX, plan};
use adjutant_core::words::tool::{FileChange, ResolvedPath, ToolMeta, ToolOutput, content_hash};
use adjutant_host::workdir::{Kind, WorkPath, Workdir, WorkdirError};
use adjutant_ports::{CancellationToken, Prepared};

use super::{Inner, check_unchanged};
use crate::args::{ApplyPatch, invalid};

/// The most bytes of files that one patch may make us read.
const READ_BYTES_MAX: u64 = 4 * RESULT_BYTES_MAX as u64;

impl Inner {
    /// Returns the changes that an `apply_patch` would make to its files.
    pub(super) fn planned_patch(
        &self,
        args: &ApplyPatch,
        resolved: &[ResolvedPath],
    ) -> Result<Vec<FileChange>, ToolOutput> {
        Ok(changes(&self.plan(args, resolved)?))
    }

    /// Returns the plan with each file's real place for its path.
    fn plan(&self, args: &ApplyPatch, resolved: &[ResolvedPath]) -> Result<Plan, ToolOutput> {
        if args.diff.trim().is_empty() {
            return Err(invalid("apply_patch", "`diff` must be a unified diff, not blank"));
        }
        let budget = Cell::new(READ_BYTES_MAX);
        let mut plan = plan(&args.diff, &|path| self.look_up(path, resolved, &budget)).map_err(|rejected| {
            ToolOutput::failed(rejected.code.as_str(), format!("{rejected}\nNothing was changed."))
        })?;
        let mut once = BTreeSet::new();
        for file in &mut plan.files {
            for path in [Some(&mut file.path), file.from.as_mut()].into_iter().flatten() {
                *path = self.judged_place(path, resolved).map_err(|error| error.result())?.to_string();
            }
            if !once.insert(file.path.clone()) {
                let told = format!("the patch names `{}` twice, once through a link\nNothing was changed.", file.path);
                return Err(ToolOutput::failed("EEXIST", told));
            }
        }
        Ok(plan)
    }

    pub(super) fn apply_patch(
        &self,
        args: &ApplyPatch,
        resolved: &[ResolvedPath],
        prepared: &Prepared,
        cancel: &CancellationToken,
    ) -> Result<ToolOutput, ToolOutput> {
        let plan = self.plan(args, resolved)?;
        check_unchanged(prepared, &changes(&plan))?;
        let mut done = Done { workdir: &self.workdir, undo: Vec::new() };
        let before = Originals::look(&self.workdir, &plan).map_err(|error| failed(&error, &Undone::default()))?;
        for file in &plan.files {
            if cancel.is_cancelled() {
                let undone = done.undo();
                return Err(ToolOutput::failed(
                    "CANCELLED",
                    format!("The call was cancelled before it was done; {undone}"),
                ));
            }
            if let Err(error) = done.make(file, &before) {
                return Err(failed(&error, &done.undo()));
            }
        }
        Ok(ToolOutput { meta: ToolMeta::default(), ..ToolOutput::worked(report(&plan)) })
    }
}

impl Inner {
    /// Looks up the file at a path of the patch. A link is no file here: its target has a path of its own.
    fn look_up(&self, path: &str, resolved: &[ResolvedPath], budget: &Cell<u64>) -> Lookup {
        if self.is_link(path) {
            return Lookup::Refused {
                code: "ELOOP".to_owned(),
                reason: "it is a symbolic link; name the file it points to".to_owned(),
            };
        }
        match self.judged_place(path, resolved) {
            Ok(place) => read_whole(&self.workdir, &place, budget),
            // A file is where a folder should be; the planner says which.
            Err(error) if error.code() == "ENOTDIR" => Lookup::Absent,
            Err(error) => Lookup::Refused { code: error.code().to_owned(), reason: error.explained() },
        }
    }

    fn is_link(&self, path: &str) -> bool {
        let Ok(path) = self.workdir.resolve(path) else { return false };
        let folder = path.as_str().rsplit_once('/').map_or(".", |(folder, _)| folder);
        let folder = self.workdir.resolve(folder).and_then(|folder| self.workdir.real_place(&folder));
        let at = folder.ok().and_then(|folder| folder.path.join(path.name()));
        at.is_some_and(|at| matches!(self.workdir.kind(&at), Ok(Some(Kind::Link))))
    }
}

fn read_whole(workdir: &Workdir, path: &WorkPath, budget: &Cell<u64>) -> Lookup {
    let refused = |error: &WorkdirError| Lookup::Refused { code: error.code().to_owned(), reason: error.explained() };
    match workdir.kind(path) {
        Ok(None) => Lookup::Absent,
        Err(error) => refused(&error),
        Ok(Some(Kind::File { bytes, .. })) if bytes > (RESULT_BYTES_MAX as u64).min(budget.get()) => Lookup::Refused {
            code: "TOO_LARGE".to_owned(),
            reason: format!("it has {bytes} bytes, too many to be patched"),
        },
        Ok(Some(Kind::File { .. } | Kind::Folder | Kind::Link | Kind::Special)) => {
            match workdir.read(path, RESULT_BYTES_MAX as u64 + 1) {
                Ok(contents) => {
                    budget.set(budget.get().saturating_sub(contents.bytes.len() as u64));
                    Lookup::File(contents.bytes.into())
                }
                Err(error) => refused(&error),
            }
        }
    }
}

fn failed(error: &WorkdirError, undone: &Undone) -> ToolOutput {
    let code = match error {
        WorkdirError::Escapes { .. } => "PATH_ESCAPE",
        _ => "WRITE_FAILED",
    };
    ToolOutput::failed(code, format!("{}; {undone}", error.explained()))
}

fn changes(plan: &Plan) -> Vec<FileChange> {
    let hash = |content: &Option<std::sync::Arc<[u8]>>| content.as_deref().map(content_hash);
    plan.files
        .iter()
        .map(|file| FileChange { path: file.path.clone(), before: hash(&file.before), after: hash(&file.after) })
        .collect()
}

/// The permission bits of all files before anything is done, since files may swap names.
struct Originals(Vec<(String, Option<u32>)>);

impl Originals {
    fn look(workdir: &Workdir, plan: &Plan) -> Result<Self, WorkdirError> {
        let mut modes = Vec::new();
        for path in plan.files.iter().flat_map(|file| [Some(&file.path), file.from.as_ref()]).flatten() {
            let mode = match workdir.kind(&workdir.resolve(path)?) {
                Ok(Some(Kind::File { mode, .. })) => Some(mode),
                _ => None,
            };
            modes.push((path.clone(), mode));
        }
        Ok(Self(modes))
    }

    fn mode(&self, path: &str) -> Option<u32> {
        self.0.iter().find(|(known, _)| known == path).and_then(|(_, mode)| *mode)
    }

    /// Returns the permission bits a file shall have; `None` for those the system gives a new file.
    fn mode_after(&self, file: &PlannedFile) -> Option<u32> {
        let own = self.mode(file.from.as_deref().unwrap_or(&file.path));
        match file.mode {
            None => own,
            Some(FileMode::Plain) => own.map(|own| own & !0o111),
            // Whoever may read may execute.
            Some(FileMode::Executable) => {
                let own = own.unwrap_or(0o644);
                Some(own | (own & 0o444) >> 2)
            }
        }
    }
}

/// Changes made so far, with the data to undo them.
struct Done<'a> {
    workdir: &'a Workdir,
    undo: Vec<Undo>,
}

struct Undo {
    path: WorkPath,
    before: Option<std::sync::Arc<[u8]>>,
    mode: Option<u32>,
    created_folders: Vec<WorkPath>,
}

impl Done<'_> {
    fn make(&mut self, file: &PlannedFile, originals: &Originals) -> Result<(), WorkdirError> {
        let path = self.workdir.resolve(&file.path)?;
        let mut created_folders = Vec::new();
        match &file.after {
            Some(after) => {
                created_folders = self.workdir.write(&path, after, originals.mode_after(file))?.created_folders
            }
            None => self.workdir.remove_file(&path)?,
        }
        self.undo.push(Undo { path, before: file.before.clone(), mode: originals.mode(&file.path), created_folders });
        Ok(())
    }

    /// Puts every file back, last first.
    fn undo(&mut self) -> Undone {
        let mut undone = Undone::default();
        while let Some(step) = self.undo.pop() {
            let restored = match &step.before {
                Some(before) => self.workdir.write(&step.path, before, step.mode).map(|_| ()),
                None => self.workdir.remove_file(&step.path),
            };
            for folder in step.created_folders.iter().rev() {
                // Something else may be in it by now, which is not ours to remove.
                self.workdir.remove_empty_folder(folder).ok();
            }
            match restored {
                Ok(()) => undone.restored += 1,
                Err(error) => undone.failed.push(error.explained()),
            }
        }
        undone
    }
}

/// Outcome of undoing.
#[derive(Default)]
struct Undone {
    restored: usize,
    failed: Vec<String>,
}

impl std::fmt::Display for Undone {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.restored {
            0 => f.write_str("nothing was changed.")?,
            restored => write!(f, "{restored} file(s) that were already written were put back.")?,
        }
        for failure in &self.failed {
            write!(f, " NOT put back: {failure}.")?;
        }
        Ok(())
    }
}

/// One line for the whole, one for each file.
fn report(plan: &Plan) -> String {
    let hunks: usize = plan.files.iter().map(|file| file.hunks.len()).sum();
    let moved_away = |file: &PlannedFile| {
        file.after.is_none() && plan.files.iter().any(|other| other.from.as_ref() == Some(&file.path))
    };
    let named: Vec<&PlannedFile> = plan.files.iter().filter(|file| !moved_away(file)).collect();
    let mut report = format!("Applied {hunks} hunk(s) to {} file(s).", named.len());
    for file in named {
        let what = match (&file.from, &file.before, &file.after) {
            (Some(from), ..) => format!("from {from}"),
            (None, None, _) => "created".to_owned(),
            (None, Some(_), None) => "deleted".to_owned(),
            (None, Some(_), Some(_)) => "changed".to_owned(),
        };
        report.push_str(&format!("\n{}: {what}", file.path));
        for hunk in &file.hunks {
            match hunk.fit {
                Fit::Exact => {}
                Fit::Moved(lines) => report.push_str(&format!("; hunk {} moved by {lines} lines", hunk.number)),
                Fit::Fuzzy { moved, differing } => {
                    report.push_str(&format!(
                        "; hunk {} fuzzy (moved by {moved}, {differing} unchanged line(s) differ: check the result)",
                        hunk.number
                    ));
                }
            }
        }
        match file.mode {
            Some(FileMode::Executable) => report.push_str("; executable"),
            Some(FileMode::Plain) | None => {}
        }
    }
    report
}
