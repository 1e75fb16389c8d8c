//! Places a hunk some of whose unchanged lines differ from the file.
//!
//! Strict on purpose: every removed line must be there as it is, at most [`DIFFERING_MAX`] unchanged lines
//! may differ, be missing or stand in between, more lines must agree than differ, and one place must be
//! better than all others. A difference in white space alone is refused: that is a question of meaning in
//! some languages, and an agent that sends the lines again gets it right.

use super::parse::Hunk;
use super::place::{LineEdit, Misfit, OldLine, Placer, edits, signed};

/// The most lines that may differ: the fuzz that `patch` allows by default.
const DIFFERING_MAX: u8 = 2;
/// Number of diagonals that an alignment may lie on: its own, and one to each side for each line that differs.
const OFFSETS: usize = 2 * DIFFERING_MAX as usize + 1;

/// A place found.
pub(super) struct FuzzyPlace {
    pub(super) start: i64,
    pub(super) differing: u32,
    pub(super) map: Vec<Option<usize>>,
    pub(super) edits: Vec<LineEdit>,
}

/// The one best place of a hunk that fits nowhere exactly.
pub(super) fn find(
    placer: &mut Placer<'_, '_>,
    hunk: &Hunk<'_>,
    old: &[OldLine<'_>],
    expected: Option<i64>,
) -> Result<FuzzyPlace, Misfit> {
    let mut best: Vec<FuzzyPlace> = Vec::new();
    let mut white_space = None;
    for start in starts(placer, old)? {
        placer.effort.spend(old.len() * OFFSETS)?;
        let Some(aligned) = align(placer, old, start) else {
            continue;
        };
        if differs_in_white_space(placer, old, start, &aligned.map) {
            white_space = white_space.or(usize::try_from(start).ok());
            continue;
        }
        let first = aligned.map.first().copied().flatten();
        let Some(edits) = edits(hunk, &aligned.map).filter(|edits| placer.are_free(edits, first)) else {
            continue;
        };
        let found = FuzzyPlace { start, differing: u32::from(aligned.differing), map: aligned.map, edits };
        match best.first().map(|best| best.differing) {
            Some(least) if least < found.differing => {}
            Some(least) if least > found.differing => best = vec![found],
            // Two alignments that change the same lines are one place.
            _ if best.iter().any(|other| other.edits == found.edits) => {}
            _ => best.push(found),
        }
    }
    if best.len() > 1 {
        let starts = best.iter().map(|found| usize::try_from(found.start).unwrap_or(0)).collect();
        best.retain(|found| expected == Some(found.start));
        if best.len() != 1 {
            return Err(Misfit::Ambiguous(starts));
        }
    }
    match (best.pop(), white_space.or_else(|| same_but_for_white_space(placer, old))) {
        (Some(found), _) => Ok(found),
        (None, Some(line)) => Err(Misfit::WhiteSpace(line)),
        (None, None) => Err(Misfit::NotFound),
    }
}

/// Every start from which an alignment might succeed, in order.
fn starts(placer: &mut Placer<'_, '_>, old: &[OldLine<'_>]) -> Result<Vec<i64>, Misfit> {
    // A removed line must agree. Without one, of any three lines one agrees, since at most two may differ.
    let longest_removed =
        old.iter().enumerate().filter(|(_, line)| line.deleted).max_by_key(|(_, line)| line.body.len());
    let anchors: Vec<usize> = match longest_removed {
        Some((anchor, _)) => vec![anchor],
        None => {
            let mut by_length: Vec<usize> = (0..old.len()).collect();
            by_length.sort_by_key(|nth| std::cmp::Reverse(old.get(*nth).map_or(0, |line| line.body.len())));
            by_length.into_iter().take(usize::from(DIFFERING_MAX) + 1).collect()
        }
    };
    let mut starts = std::collections::BTreeSet::new();
    let reach = i64::from(DIFFERING_MAX);
    for (anchor, line) in anchors.iter().filter_map(|anchor| Some((*anchor, old.get(*anchor)?))) {
        placer.effort.spend(placer.text.len())?;
        for at in 0..placer.text.len() {
            if placer.text.body(at) == line.body {
                placer.effort.spend(OFFSETS)?;
                let middle = signed(at) - signed(anchor);
                starts.extend(middle - reach..=middle + reach);
            }
        }
    }
    Ok(starts.into_iter().collect())
}

/// An alignment: the file's line for each of the hunk's, where it has one.
struct Aligned {
    map: Vec<Option<usize>>,
    differing: u8,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum AlignmentStep {
    Begin,
    Same,
    Other,
    Missing,
    Extra,
}

/// The cheapest alignment that begins at `start`, if it costs at most [`DIFFERING_MAX`] and enough agrees.
fn align(placer: &Placer<'_, '_>, old: &[OldLine<'_>], start: i64) -> Option<Aligned> {
    const NEVER: u8 = u8::MAX;
    let middle = OFFSETS / 2;
    let at = |nth: usize, offset: usize| {
        usize::try_from(start + signed(nth) + signed(offset) - signed(middle)).ok().filter(|at| *at < placer.text.len())
    };
    let mut cost = vec![[NEVER; OFFSETS]; old.len() + 1];
    let mut step = vec![[AlignmentStep::Begin; OFFSETS]; old.len() + 1];
    cost[0][middle] = 0;
    for nth in 0..old.len() {
        let line = &old[nth];
        let mut any = false;
        for offset in 0..OFFSETS {
            let so_far = cost[nth][offset];
            if so_far > DIFFERING_MAX {
                continue;
            }
            any = true;
            let mut offer = |to: usize, offset: usize, price: u8, by: AlignmentStep| {
                if let Some(known) = cost[to].get_mut(offset).filter(|known| so_far + price < **known) {
                    *known = so_far + price;
                    step[to][offset] = by;
                }
            };
            match at(nth, offset) {
                Some(here) if placer.same(line, here) => offer(nth + 1, offset, 0, AlignmentStep::Same),
                Some(_) if !line.deleted => offer(nth + 1, offset, 1, AlignmentStep::Other),
                _ => {}
            }
            if !line.deleted && offset > 0 {
                offer(nth + 1, offset - 1, 1, AlignmentStep::Missing);
            }
            if nth > 0 && at(nth, offset).is_some() {
                offer(nth, offset + 1, 1, AlignmentStep::Extra);
            }
        }
        if !any {
            return None;
        }
    }
    let (mut offset, differing) = cost[old.len()].iter().copied().enumerate().min_by_key(|(_, cost)| *cost)?;
    if differing > DIFFERING_MAX {
        return None;
    }
    let mut map = vec![None; old.len()];
    let mut agreeing = 0;
    let mut nth = old.len();
    let mut has_substance = false;
    while (nth, offset) != (0, middle) || step[nth][offset] != AlignmentStep::Begin {
        match step[nth][offset] {
            AlignmentStep::Begin => break,
            AlignmentStep::Extra => offset -= 1,
            by => {
                nth -= 1;
                if by == AlignmentStep::Missing {
                    offset += 1;
                } else {
                    map[nth] = at(nth, offset);
                }
                if by == AlignmentStep::Same {
                    agreeing += 1;
                    has_substance |=
                        old[nth].body.iter().filter(|byte| byte.is_ascii_alphanumeric() || **byte >= 0x80).count() >= 3;
                }
            }
        }
    }
    let enough = agreeing > usize::from(differing) && agreeing * 2 >= old.len() && has_substance;
    enough.then_some(Aligned { map, differing })
}

/// True if a line that doesn't agree has a counterpart nearby that differs in white space alone.
fn differs_in_white_space(placer: &Placer<'_, '_>, old: &[OldLine<'_>], start: i64, map: &[Option<usize>]) -> bool {
    let reach = i64::from(DIFFERING_MAX) * 2;
    old.iter().zip(map).enumerate().any(|(nth, (line, at))| {
        let agrees = at.is_some_and(|at| placer.same(line, at));
        let middle = start + signed(nth);
        !agrees
            && (middle - reach..=middle + reach)
                .filter_map(|near| usize::try_from(near).ok().filter(|near| *near < placer.text.len()))
                .any(|near| placer.text.body(near) != line.body && same_words(placer.text.body(near), line.body))
    })
}

/// Returns the line where the hunk would fit if white space didn't count.
fn same_but_for_white_space(placer: &mut Placer<'_, '_>, old: &[OldLine<'_>]) -> Option<usize> {
    let (anchor, line) = old.iter().enumerate().max_by_key(|(_, line)| line.body.len())?;
    placer.effort.spend(placer.text.len() * 4).ok()?;
    let text = placer.text;
    let mut starts = (anchor..text.len()).filter(|at| same_words(text.body(*at), line.body)).map(|at| at - anchor);
    starts.find(|start| {
        start + old.len() <= text.len()
            && placer.effort.spend(old.len()).is_ok()
            && old.iter().enumerate().all(|(nth, line)| same_words(text.body(start + nth), line.body))
            && old.iter().enumerate().any(|(nth, line)| text.body(start + nth) != line.body)
    })
}

/// True if two lines are the same without their white space.
pub(super) fn same_words(one: &[u8], other: &[u8]) -> bool {
    let words = |line: &[u8]| line.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect::<Vec<u8>>();
    one == other || (one.len().abs_diff(other.len()) < 4096 && words(one) == words(other))
}
