//! Plans the contents of every file of a patch, all together or not at all.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use indexmap::IndexMap;

use super::RESULT_BYTES_MAX;
use super::parse::{FilePatch, Hunk, LineKind, Operation, parse};
use super::path::{checked, meanings};
use super::place::{ComparisonBudget, Fit, Misfit, Placer, old_lines};
use super::reject::{Nearest, RejectCode, Rejected, shown};
use super::text::{Text, created, rewritten};

/// The result of looking up a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lookup {
    /// Nothing.
    Absent,
    /// A plain file with this content.
    File(Arc<[u8]>),
    /// Something that can't be patched.
    Refused {
        /// A stable name for why, such as `EISDIR`; it becomes the refusal's code.
        code: String,
        /// The reason, for the agent.
        reason: String,
    },
}

/// The planned changes of all files. No path occurs twice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// One entry for each file that changes, in the order of the patch. A renamed file has two: the old
    /// path, which will be gone, and the new one.
    pub files: Vec<PlannedFile>,
}

/// The planned change of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedFile {
    /// Its path: relative, `/` between segments.
    pub path: String,
    /// The path it was renamed or copied from, whose mode bits it inherits.
    pub from: Option<String>,
    /// Its content before; absent if there is no such file.
    pub before: Option<Arc<[u8]>>,
    /// Its content after; absent if it will be gone.
    pub after: Option<Arc<[u8]>>,
    /// The mode it is given; absent if it keeps its own.
    pub mode: Option<FileMode>,
    /// The fit of each hunk, in the order of the patch.
    pub hunks: Vec<PlannedHunk>,
}

/// The fit of one hunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlannedHunk {
    /// Its number within the file's part of the patch, from 1.
    pub number: u32,
    /// The accuracy with which it fitted.
    pub fit: Fit,
}

/// The modes that a patch can give a file: what git tells apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileMode {
    /// Not executable.
    Plain,
    /// Executable.
    Executable,
}

/// Plans the contents of every file, if `patch` can be applied as a whole.
///
/// `files` is asked with checked paths only and at most once for each. Patches to the same file build on
/// each other. An unchanged plan is impossible: a patch without effect is refused.
///
/// # Errors
///
/// [`Rejected`], with the file, the hunk, what was expected and what is there: see [`RejectCode`].
pub fn plan(patch: &str, files: &dyn Fn(&str) -> Lookup) -> Result<Plan, Rejected> {
    let patches = parse(patch)?;
    let mut tree = PatchedTree {
        files,
        known: BTreeMap::new(),
        changed: IndexMap::new(),
        leaving: BTreeSet::new(),
        set_aside: BTreeMap::new(),
    };
    for part in &patches {
        if let Operation::Rename { from: gone, .. } | Operation::Delete { old: gone } = &part.operation {
            for path in meanings(gone, part.git) {
                tree.leaving.extend(checked(&path));
            }
        }
    }
    let mut effort = ComparisonBudget::new();
    for part in &patches {
        tree.apply(part, &mut effort)
            .map_err(|rejected| Rejected { patch_line: rejected.patch_line.or(Some(part.line)), ..rejected })?;
        tree.check_size()?;
    }
    let files =
        tree.changed.into_values().filter(|file| file.before != file.after || file.mode.is_some()).collect::<Vec<_>>();
    if files.is_empty() {
        return Err(Rejected::new(RejectCode::Parse, "the patch changes nothing"));
    }
    Ok(Plan { files })
}

/// A file that is there: its path and its content.
type Present = (String, Arc<[u8]>);

/// The files as the patch leaves them so far.
struct PatchedTree<'f> {
    files: &'f dyn Fn(&str) -> Lookup,
    known: BTreeMap<String, Lookup>,
    changed: IndexMap<String, PlannedFile>,
    /// Paths that some part of the patch renames away or deletes.
    leaving: BTreeSet<String>,
    /// Content that is still to leave a path which was taken over already: files that swap names.
    set_aside: BTreeMap<String, Arc<[u8]>>,
}

impl PatchedTree<'_> {
    fn look_up(&mut self, path: &str) -> Lookup {
        if let Some(known) = self.known.get(path) {
            return known.clone();
        }
        let found = (self.files)(path);
        self.known.insert(path.to_owned(), found.clone());
        found
    }

    /// Returns the content at `path` now.
    fn now(&mut self, path: &str) -> Result<Option<Arc<[u8]>>, Rejected> {
        if let Some(changed) = self.changed.get(path) {
            return Ok(changed.after.clone());
        }
        match self.look_up(path) {
            Lookup::Absent => Ok(None),
            Lookup::File(content) => Ok(Some(content)),
            Lookup::Refused { code, reason } => Err(Rejected::new(RejectCode::Lookup(code), reason).in_file(path)),
        }
    }

    fn entry(&mut self, path: &str) -> Result<&mut PlannedFile, Rejected> {
        let before = match self.look_up(path) {
            Lookup::File(content) => Some(content),
            Lookup::Absent | Lookup::Refused { .. } => None,
        };
        Ok(self.changed.entry(path.to_owned()).or_insert_with(|| PlannedFile {
            path: path.to_owned(),
            from: None,
            after: before.clone(),
            before,
            mode: None,
            hunks: Vec::new(),
        }))
    }

    /// Copies count in full, each file once.
    fn check_size(&self) -> Result<(), Rejected> {
        let total: usize = self.changed.values().filter_map(|file| file.after.as_ref()).map(|after| after.len()).sum();
        if total > RESULT_BYTES_MAX {
            return Err(Rejected::new(
                RejectCode::TooLarge,
                format!("the files would have {total} bytes together, more than {RESULT_BYTES_MAX}"),
            ));
        }
        Ok(())
    }

    fn apply(&mut self, part: &FilePatch<'_>, effort: &mut ComparisonBudget) -> Result<(), Rejected> {
        match &part.operation {
            Operation::Edit { old, new } => self.edit(part, old, new, effort),
            Operation::Create { new } => {
                let path = checked(&first(&meanings(new, part.git)))?;
                self.create(part, &path)
            }
            Operation::Delete { old } => self.delete(part, old, effort),
            Operation::Rename { from, to } => self.transfer(part, from, to, Transfer::Rename, effort),
            Operation::Copy { from, to } => self.transfer(part, from, to, Transfer::Copy, effort),
        }
    }

    /// The first meaning of a header's name at which there is a file.
    fn existing(&mut self, name: &str, git: bool) -> Result<Option<Present>, Rejected> {
        for meaning in meanings(name, git) {
            let path = checked(&meaning)?;
            if let Some(content) = self.now(&path)? {
                return Ok(Some((path, content)));
            }
        }
        Ok(None)
    }

    fn edit(
        &mut self,
        part: &FilePatch<'_>,
        old: &str,
        new: &str,
        effort: &mut ComparisonBudget,
    ) -> Result<(), Rejected> {
        let Some((path, content)) = self.existing(new, part.git)? else {
            let path = checked(&first(&meanings(new, part.git)))?;
            let only_adds = part.hunks.iter().flat_map(|hunk| &hunk.lines).all(|line| line.kind == LineKind::Add);
            let from_nothing =
                part.hunks.iter().all(|hunk| hunk.place.is_none_or(|place| place.start == 0 && place.count == 0));
            if only_adds && from_nothing && !part.hunks.is_empty() {
                return self.create(part, &path);
            }
            let renamed = first(&meanings(old, part.git)) != path;
            let hint = if renamed {
                "to rename a file, use `diff --git` with `rename from` and `rename to`"
            } else {
                "to create a file, write `--- /dev/null` above `+++ b/path`"
            };
            return Err(Rejected::new(RejectCode::NotFound, "there is no such file").in_file(&path).hint(hint));
        };
        let (after, hunks) = patched(&path, &content, &part.hunks, effort)?;
        let entry = self.entry(&path)?;
        entry.after = Some(after);
        entry.mode = part.mode.or(entry.mode);
        entry.hunks.extend(hunks);
        Ok(())
    }

    fn create(&mut self, part: &FilePatch<'_>, path: &str) -> Result<(), Rejected> {
        self.make_room(path)?;
        if let Some(hunk) = part.hunks.iter().find(|hunk| hunk.lines.iter().any(|line| line.kind != LineKind::Add)) {
            return Err(Rejected {
                hunk: Some(hunk.number),
                patch_line: Some(hunk.line),
                ..Rejected::new(RejectCode::HunkFailed, "a new file can't have unchanged or removed lines")
            }
            .in_file(path)
            .hint("begin every line of a new file with `+`"));
        }
        let after = created(&part.hunks).into();
        let entry = self.entry(path)?;
        entry.after = Some(after);
        entry.from = None;
        entry.mode = part.mode;
        entry.hunks.extend(part.hunks.iter().map(|hunk| PlannedHunk { number: hunk.number, fit: Fit::Exact }));
        Ok(())
    }

    fn delete(&mut self, part: &FilePatch<'_>, old: &str, effort: &mut ComparisonBudget) -> Result<(), Rejected> {
        let (path, content, is_aside) = self.source(old, part.git)?;
        let (after, hunks) = patched(&path, &content, &part.hunks, effort)?;
        if !after.is_empty() {
            return Err(Rejected::new(
                RejectCode::HunkFailed,
                "the patch deletes the file, but doesn't remove all of its lines",
            )
            .in_file(&path)
            .hint("read the file again and remove every line, or leave it in place"));
        }
        if !is_aside {
            let entry = self.entry(&path)?;
            entry.after = None;
            entry.from = None;
            entry.mode = None;
            entry.hunks.extend(hunks);
        }
        Ok(())
    }

    fn transfer(
        &mut self,
        part: &FilePatch<'_>,
        from: &str,
        to: &str,
        transfer: Transfer,
        effort: &mut ComparisonBudget,
    ) -> Result<(), Rejected> {
        let target = checked(to)?;
        let (source, content, is_aside) = self.source(from, false)?;
        let (after, hunks) = patched(&source, &content, &part.hunks, effort)?;
        if transfer == Transfer::Rename && !is_aside {
            self.entry(&source)?.after = None;
        }
        self.make_room(&target)?;
        let entry = self.entry(&target)?;
        entry.after = Some(after);
        entry.from = Some(source);
        entry.mode = part.mode;
        entry.hunks.extend(hunks);
        Ok(())
    }

    /// The file that leaves or is copied: its path, its content, and whether another has taken its path.
    fn source(&mut self, name: &str, git: bool) -> Result<(String, Arc<[u8]>, bool), Rejected> {
        for meaning in meanings(name, git) {
            let path = checked(&meaning)?;
            if let Some(content) = self.set_aside.remove(&path) {
                return Ok((path, content, true));
            }
        }
        let found = if git { self.existing(name, true)? } else { self.existing_as_written(name)? };
        match found {
            Some((path, content)) => Ok((path, content, false)),
            None => Err(Rejected::new(RejectCode::NotFound, "there is no such file").in_file(name)),
        }
    }

    fn existing_as_written(&mut self, name: &str) -> Result<Option<Present>, Rejected> {
        let path = checked(name)?;
        match self.now(&path)? {
            Some(content) => Ok(Some((path, content))),
            None => self.existing(name, false),
        }
    }

    /// Makes sure that a new file can be at `path`: nothing is there, and no file is where a folder must be.
    fn make_room(&mut self, path: &str) -> Result<(), Rejected> {
        if let Some(content) = self.now(path)? {
            let is_original = self
                .changed
                .get(path)
                .is_none_or(|file| file.before.is_some() && file.from.is_none() && file.after == file.before);
            if !(is_original && self.leaving.contains(path)) {
                return Err(Rejected::new(RejectCode::Exists, "the patch creates this file, but it is there already")
                    .in_file(path)
                    .hint("write a patch against the existing file, or choose another name"));
            }
            self.set_aside.insert(path.to_owned(), content);
        }
        for (at, _) in path.match_indices('/') {
            let folder = &path[..at];
            let is_file = match self.changed.get(folder) {
                Some(changed) => changed.after.is_some(),
                None => matches!(self.look_up(folder), Lookup::File(_)),
            };
            if is_file {
                return Err(Rejected::new(
                    RejectCode::Exists,
                    format!("`{folder}` is a file, so nothing can be below it"),
                )
                .in_file(path));
            }
        }
        let below = format!("{path}/");
        if self.changed.values().any(|file| file.after.is_some() && file.path.starts_with(&below)) {
            return Err(Rejected::new(RejectCode::Exists, "the patch puts another file below this one").in_file(path));
        }
        Ok(())
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Transfer {
    Rename,
    Copy,
}

fn first(meanings: &[String]) -> String {
    meanings.first().cloned().unwrap_or_default()
}

/// The content after all hunks, and how they fitted.
fn patched(
    path: &str,
    content: &Arc<[u8]>,
    hunks: &[Hunk<'_>],
    effort: &mut ComparisonBudget,
) -> Result<(Arc<[u8]>, Vec<PlannedHunk>), Rejected> {
    if hunks.is_empty() {
        return Ok((content.clone(), Vec::new()));
    }
    let text = Text::new(content, hunks).map_err(|rejected| rejected.in_file(path))?;
    let mut placer = Placer::new(&text, hunks, effort);
    let mut placements = Vec::with_capacity(hunks.len());
    for hunk in hunks {
        placements.push(placer.place(hunk).map_err(|misfit| refusal(path, &text, hunk, misfit))?);
    }
    let report = placements
        .iter()
        .zip(hunks)
        .map(|(placement, hunk)| PlannedHunk { number: hunk.number, fit: placement.fit })
        .collect();
    Ok((rewritten(&text, hunks, &placements).into(), report))
}

/// The refusal for a hunk without a place.
fn refusal(path: &str, text: &Text<'_>, hunk: &Hunk<'_>, misfit: Misfit) -> Rejected {
    let listed = |lines: &[usize]| {
        let mut out: Vec<String> = lines.iter().take(8).map(|line| (line + 1).to_string()).collect();
        if lines.len() > 8 {
            out.push(format!("{} more", lines.len() - 8));
        }
        out.join(", ")
    };
    let (reason, hint) = match &misfit {
        Misfit::NotFound => (
            "its lines are not in the file".to_owned(),
            "read the file again and copy the unchanged and removed lines from it exactly",
        ),
        Misfit::WhiteSpace(line) => (
            format!("its lines are at line {}, but differ in white space", line + 1),
            "read the file again and copy the lines with their tabs and spaces",
        ),
        Misfit::Ambiguous(lines) => (
            format!("it fits in more than one place: lines {}", listed(lines)),
            "add unchanged lines around the change, or correct the line numbers in its `@@` line",
        ),
        Misfit::Taken(line) => (
            format!("an earlier hunk changes its lines at line {} already", line + 1),
            "leave the hunk out, or make it one with the earlier one",
        ),
        Misfit::NoAnchor => (
            "it only adds lines, and nothing says where".to_owned(),
            "add an unchanged line before or after the new lines",
        ),
        Misfit::BeyondEnd => (
            format!("it adds lines beyond the end of the file, which has {} lines", text.len()),
            "read the file again and add an unchanged line before the new lines",
        ),
        Misfit::TooCostly => (
            "finding its place takes too long".to_owned(),
            "correct the line numbers in its `@@` line, or send fewer hunks at once",
        ),
    };
    let expected = hunk
        .lines
        .iter()
        .filter(|line| line.kind != LineKind::Add)
        .map(|line| line.text.trim_end_matches('\r').to_owned())
        .collect();
    let nearest = match misfit {
        Misfit::NotFound | Misfit::WhiteSpace(_) => nearest_lines(text, hunk),
        Misfit::Ambiguous(_) | Misfit::Taken(_) | Misfit::NoAnchor | Misfit::BeyondEnd | Misfit::TooCostly => {
            Vec::new()
        }
    };
    Rejected {
        hunk: Some(hunk.number),
        patch_line: Some(hunk.line),
        expected,
        nearest,
        ..Rejected::new(RejectCode::HunkFailed, reason).in_file(path).hint(hint)
    }
}

/// The most similar lines that a refusal shows.
const NEAREST_LINES_MAX: usize = 3;
/// The most lines of a file that are compared to find them: enough for source code, and quick.
const NEAREST_SEARCH_LINES_MAX: usize = 50_000;

/// The lines of the file most like the first line of the hunk that it doesn't have.
fn nearest_lines(text: &Text<'_>, hunk: &Hunk<'_>) -> Vec<Nearest> {
    let searched = text.len().min(NEAREST_SEARCH_LINES_MAX);
    let old = old_lines(hunk);
    let is_absent = |line: &[u8]| line.len() < 1000 && !(0..searched).any(|at| text.body(at) == line);
    let absent = old.iter().take(64).position(|line| is_absent(line.body));
    let Some(nth) = absent.or_else(|| old.iter().position(|line| line.deleted)) else {
        return Vec::new();
    };
    let Some(wanted) = old.get(nth).map(|line| line.body) else {
        return Vec::new();
    };
    let stated = hunk.place.map_or(0, |place| place.start);
    let mut scored: Vec<(usize, usize, usize)> = (0..searched)
        .filter_map(|at| Some((likeness(wanted, text.body(at))?, (at + 1).abs_diff(stated), at)))
        .collect();
    if scored.is_empty() {
        // Nothing is like it: show what follows the line before it.
        let before = nth.checked_sub(1).and_then(|before| old.get(before));
        let place = before.and_then(|before| (0..searched).find(|at| text.body(*at) == before.body));
        scored.extend(place.filter(|at| at + 1 < text.len()).map(|at| (0, 0, at + 1)));
    }
    scored.sort_by(|one, other| other.0.cmp(&one.0).then(one.1.cmp(&other.1)));
    scored
        .into_iter()
        .take(NEAREST_LINES_MAX)
        .map(|(_, _, at)| Nearest { line: at + 1, text: shown(text.body(at)) })
        .collect()
}

/// Returns the likeness of two lines: the percentage that they share at both ends; `None` below half.
fn likeness(one: &[u8], other: &[u8]) -> Option<usize> {
    let (one, other) = (one.trim_ascii(), other.trim_ascii());
    let longer = one.len().max(other.len());
    let head = one.iter().zip(other).take_while(|(a, b)| a == b).count();
    let (one, other) = (&one[head..], &other[head..]);
    let tail = one.iter().rev().zip(other.iter().rev()).take_while(|(a, b)| a == b).count();
    let percent = ((head + tail) * 100).checked_div(longer)?;
    (percent >= 50).then_some(percent)
}
