//! Finds where each hunk of a file belongs: first where its header says, then where its lines are.
//!
//! All hunks are placed against the file as it was, so that a hunk which adds lines moves no other.
//! `fuzzy.rs` is asked only where no exact place exists.

use std::collections::{BTreeMap, BTreeSet};

use super::fuzzy;
use super::parse::{Hunk, LineKind};
use super::text::{Text, without_cr};

/// The most line comparisons that one patch may cost before it is refused: under a second of work.
pub(super) const COMPARISONS_MAX: u64 = 60_000_000;

/// The accuracy with which a hunk fitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fit {
    /// Every line was where the header said.
    Exact,
    /// Every line was found, so many lines further down than the header said (further up if negative). A
    /// hunk without numbers counts as exact.
    Moved(i64),
    /// The removed lines were found, but some unchanged lines differ.
    Fuzzy {
        /// Number of lines further down than the header said.
        moved: i64,
        /// Number of unchanged lines that differ, are missing or were added in between.
        differing: u32,
    },
}

/// The place of a hunk in the file, and its edits there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Placement {
    pub(super) fit: Fit,
    pub(super) edits: Vec<LineEdit>,
    /// True if the added lines keep the line endings that the patch gives them.
    pub(super) as_written: bool,
    /// True if the hunk reaches the file's open end without mentioning it, so that the end stays open.
    pub(super) keeps_open_end: bool,
}

/// Takes `remove` lines out at `at` and puts lines of the hunk there, by index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LineEdit {
    pub(super) at: usize,
    pub(super) remove: usize,
    pub(super) insert: Vec<usize>,
}

/// The reason why a hunk has no place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Misfit {
    /// Its lines are not in the file.
    NotFound,
    /// Its lines are there, at this line (from 0), but for white space.
    WhiteSpace(usize),
    /// It fits at each of these lines (from 0).
    Ambiguous(Vec<usize>),
    /// An earlier hunk changes its only place, at this line (from 0), already.
    Taken(usize),
    /// It only adds lines, and nothing says where.
    NoAnchor,
    /// It adds lines after a line that the file doesn't have.
    BeyondEnd,
    /// Finding its place takes too many comparisons.
    TooCostly,
}

/// A line that a hunk expects in the file.
pub(super) struct OldLine<'a> {
    pub(super) raw: &'a [u8],
    pub(super) body: &'a [u8],
    pub(super) deleted: bool,
    pub(super) no_newline: bool,
}

/// Counts comparisons, so that a hostile patch can't keep us busy.
pub(super) struct ComparisonBudget(u64);

impl ComparisonBudget {
    pub(super) fn new() -> Self {
        Self(COMPARISONS_MAX)
    }

    pub(super) fn spend(&mut self, comparisons: usize) -> Result<(), Misfit> {
        self.0 = self.0.checked_sub(comparisons as u64).ok_or(Misfit::TooCostly)?;
        Ok(())
    }
}

/// One file's hunks being placed.
pub(super) struct Placer<'t, 'a> {
    pub(super) text: &'t Text<'a>,
    pub(super) effort: &'t mut ComparisonBudget,
    /// The lines that are replaced already: each first line, with their number.
    taken: BTreeMap<usize, usize>,
    /// Before which lines something is added already.
    added: BTreeSet<usize>,
    /// Distance of the last placed hunk from the line in its header.
    drift: i64,
    /// The line after the last placed hunk.
    after: usize,
    /// True if the patch minds carriage returns.
    minds_endings: bool,
}

impl<'t, 'a> Placer<'t, 'a> {
    pub(super) fn new(text: &'t Text<'a>, hunks: &[Hunk<'_>], effort: &'t mut ComparisonBudget) -> Self {
        let minds_endings = hunks.iter().flat_map(|hunk| &hunk.lines).any(|line| line.text.ends_with('\r'));
        Self { text, effort, taken: BTreeMap::new(), added: BTreeSet::new(), drift: 0, after: 0, minds_endings }
    }

    /// Finds the place of the next hunk in the order of the patch.
    pub(super) fn place(&mut self, hunk: &Hunk<'_>) -> Result<Placement, Misfit> {
        let old = old_lines(hunk);
        if old.is_empty() {
            return self.place_addition(hunk);
        }
        let stated = hunk.place.filter(|place| place.start > 0).map(|place| signed(place.start) - 1);
        let expected = stated.map(|stated| stated + self.drift);
        if let Some(start) = self.exact(hunk, &old, expected)? {
            let moved = stated.map_or(0, |stated| signed(start) - stated);
            let map: Vec<Option<usize>> = (start..start + old.len()).map(Some).collect();
            let fit = if moved == 0 { Fit::Exact } else { Fit::Moved(moved) };
            let edits = edits(hunk, &map).ok_or(Misfit::NotFound)?;
            return Ok(self.settle(&old, &map, fit, edits, moved));
        }
        let found = fuzzy::find(self, hunk, &old, expected)?;
        let moved = stated.map_or(0, |stated| found.start - stated);
        let fit = Fit::Fuzzy { moved, differing: found.differing };
        Ok(self.settle(&old, &found.map, fit, found.edits, moved))
    }

    /// Returns the line where the hunk's lines stand exactly, if they do.
    fn exact(&mut self, hunk: &Hunk<'_>, old: &[OldLine<'_>], expected: Option<i64>) -> Result<Option<usize>, Misfit> {
        if let Some(start) = expected.and_then(|expected| usize::try_from(expected).ok())
            && self.fits(old, start)?
            && self.is_free(hunk, start, old.len())
        {
            return Ok(Some(start));
        }
        let mut starts = Vec::new();
        let mut taken = None;
        // The longest line is likely the rarest.
        let Some((anchor, line)) = old.iter().enumerate().max_by_key(|(_, line)| line.body.len()) else {
            return Ok(None);
        };
        self.effort.spend(self.text.len())?;
        for at in anchor..self.text.len() {
            if self.text.body(at) == line.body && self.fits(old, at - anchor)? {
                if self.is_free(hunk, at - anchor, old.len()) {
                    starts.push(at - anchor);
                } else {
                    taken = Some(at - anchor);
                }
            }
        }
        match (expected, starts.as_slice()) {
            (_, []) => taken.map_or(Ok(None), |line| Err(Misfit::Taken(line))),
            (_, [only]) => Ok(Some(*only)),
            // Which of them is meant can't be told by how far they are: a wrong number is no hint.
            (Some(_), _) => Err(Misfit::Ambiguous(starts)),
            (None, _) => {
                let later: Vec<usize> = starts.iter().copied().filter(|start| *start >= self.after).collect();
                match later.as_slice() {
                    [only] if self.after > 0 => Ok(Some(*only)),
                    _ => Err(Misfit::Ambiguous(starts)),
                }
            }
        }
    }

    fn fits(&mut self, old: &[OldLine<'_>], start: usize) -> Result<bool, Misfit> {
        if start.checked_add(old.len()).is_none_or(|end| end > self.text.len()) {
            return Ok(false);
        }
        for (nth, line) in old.iter().enumerate() {
            self.effort.spend(1 + line.body.len() / 256)?;
            if !self.same(line, start + nth) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// True if the hunk's line is the file's line at `at`, line endings aside.
    pub(super) fn same(&self, line: &OldLine<'_>, at: usize) -> bool {
        let is_open_end = || at + 1 == self.text.len() && self.text.ends_open();
        self.text.body(at) == line.body && (!line.no_newline || is_open_end())
    }

    fn is_free(&self, hunk: &Hunk<'_>, start: usize, len: usize) -> bool {
        let map: Vec<Option<usize>> = (start..start + len).map(Some).collect();
        edits(hunk, &map).is_some_and(|edits| self.are_free(&edits, Some(start)))
    }

    /// True if no edit meets one that was placed before. `first` is the first line that the hunk knows.
    ///
    /// Hunks that touch don't meet: one adds what goes before the line that another replaces, or two that know
    /// different lines add something between them.
    pub(super) fn are_free(&self, edits: &[LineEdit], first: Option<usize>) -> bool {
        edits.iter().all(|edit| {
            let touches = self.after == edit.at && first == Some(edit.at);
            let meets_itself = match edit.remove {
                0 => self.added.contains(&edit.at) && !touches,
                _ => self.taken.contains_key(&edit.at),
            };
            let meets_earlier = self.taken.range(..edit.at).next_back().is_some_and(|(at, len)| at + len > edit.at);
            let inside = edit.at + 1..(edit.at + edit.remove).max(edit.at + 1);
            let meets_later =
                self.taken.range(inside.clone()).next().is_some() || self.added.range(inside).next().is_some();
            !meets_itself && !meets_earlier && !meets_later
        })
    }

    /// Places a hunk that only adds, without a line around it: by its header alone.
    fn place_addition(&mut self, hunk: &Hunk<'_>) -> Result<Placement, Misfit> {
        let (at, fit) = match hunk.place {
            _ if self.text.len() == 0 => (0, Fit::Exact),
            Some(place) if place.count == 0 && place.start == 0 => (0, Fit::Exact),
            Some(place) if place.count == 0 => {
                let at = usize::try_from(signed(place.start) + self.drift).map_err(|_| Misfit::BeyondEnd)?;
                (at, if self.drift == 0 { Fit::Exact } else { Fit::Moved(self.drift) })
            }
            _ => return Err(Misfit::NoAnchor),
        };
        if at > self.text.len() {
            return Err(Misfit::BeyondEnd);
        }
        let edits = vec![LineEdit { at, remove: 0, insert: (0..hunk.lines.len()).collect() }];
        if !self.are_free(&edits, None) {
            return Err(Misfit::Taken(at));
        }
        let drift = self.drift;
        let mut placement = self.settle(&[], &[], fit, edits, drift);
        placement.as_written = self.minds_endings;
        Ok(placement)
    }

    fn settle(
        &mut self,
        old: &[OldLine<'_>],
        map: &[Option<usize>],
        fit: Fit,
        edits: Vec<LineEdit>,
        moved: i64,
    ) -> Placement {
        for edit in &edits {
            match edit.remove {
                0 => drop(self.added.insert(edit.at)),
                lines => drop(self.taken.insert(edit.at, lines)),
            }
        }
        self.drift = moved;
        let end = map.iter().flatten().max().map(|last| last + 1);
        self.after = end.or_else(|| edits.last().map(|edit| edit.at)).unwrap_or(self.after);
        let exactly_written =
            || old.iter().zip(map).all(|(line, at)| at.is_some_and(|at| self.text.raw(at) == line.raw));
        let reaches_open_end = self.text.ends_open() && end == Some(self.text.len());
        let mentions_end = old.iter().any(|line| line.no_newline);
        Placement {
            fit,
            as_written: self.minds_endings && exactly_written(),
            keeps_open_end: reaches_open_end && !mentions_end,
            edits,
        }
    }
}

/// The lines a hunk expects in the file, in order.
pub(super) fn old_lines<'a>(hunk: &Hunk<'a>) -> Vec<OldLine<'a>> {
    let old = hunk.lines.iter().filter(|line| line.kind != LineKind::Add);
    old.map(|line| OldLine {
        raw: line.text.as_bytes(),
        body: without_cr(line.text.as_bytes()),
        deleted: line.kind == LineKind::Delete,
        no_newline: line.no_newline,
    })
    .collect()
}

/// The edits a hunk makes, given the file's line for each of its old lines; none where it can't be told
/// whether an added line goes before or after what the hunk doesn't mention.
pub(super) fn edits(hunk: &Hunk<'_>, map: &[Option<usize>]) -> Option<Vec<LineEdit>> {
    let mut edits = Vec::new();
    let mut run = ChangedLines::default();
    let mut before: Option<usize> = None;
    let mut old = map.iter();
    for (index, line) in hunk.lines.iter().enumerate() {
        match line.kind {
            LineKind::Add => run.added.push(index),
            LineKind::Delete => run.removed.push((*old.next()?)?),
            LineKind::Context => {
                let at = *old.next()?;
                edits.extend(run.finish(before, at)?);
                run = ChangedLines::default();
                before = at;
            }
        }
    }
    edits.extend(run.finish(before, None)?);
    Some(edits)
}

/// Neighbouring added and removed lines.
#[derive(Default)]
struct ChangedLines {
    removed: Vec<usize>,
    added: Vec<usize>,
}

impl ChangedLines {
    /// `before` and `after` are the unchanged lines around it, where known.
    fn finish(self, before: Option<usize>, after: Option<usize>) -> Option<Option<LineEdit>> {
        if let Some(at) = self.removed.first().copied() {
            let is_contiguous = self.removed.iter().enumerate().all(|(nth, line)| *line == at + nth);
            return is_contiguous.then_some(Some(LineEdit { at, remove: self.removed.len(), insert: self.added }));
        }
        if self.added.is_empty() {
            return Some(None);
        }
        let at = match (before, after) {
            (Some(before), Some(after)) => (before + 1 == after).then_some(after)?,
            (Some(before), None) => before + 1,
            (None, Some(after)) => after,
            (None, None) => return None,
        };
        Some(Some(LineEdit { at, remove: 0, insert: self.added }))
    }
}

pub(super) fn signed(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX / 4)
}
