//! A question about acts that is longer than the screen, a page at a time: each act has stood on the screen before a yes to
//! it is taken.
//!
//! In: the lines of a question. Out: as many of them as there is room for, and the rest when Enter is typed. Whoever reads
//! what is typed asks [`Renderer::has_more`] first.

use std::collections::{BTreeMap, VecDeque};

use adjutant_core::words::text::count_of;
use adjutant_core::words::{Key, QuestionKind};

use super::Renderer;
use super::wrap::{Styled, TextTone};

/// The lines of a screen that a page leaves free: one says how to go on, one is typed on.
const LINES_FREE: usize = 2;

/// The fewest lines of a page, however low the screen is.
const LINES_MIN: usize = 3;

/// Questions that are shown in part.
#[derive(Debug, Default)]
pub(super) struct Pages {
    /// True if Enter can be typed for more.
    is_read: bool,
    /// The lines of each that are still to be shown; never empty.
    rest: BTreeMap<Key, VecDeque<Styled>>,
}

/// Returns true if a yes to such a question is one to acts.
const fn is_about_acts(kind: QuestionKind) -> bool {
    matches!(kind, QuestionKind::Destructive | QuestionKind::Permission)
}

impl Renderer {
    /// From here on long questions about acts are shown in pages: somebody reads what is typed, and gives Enter to
    /// [`Renderer::next_page`].
    pub fn show_in_pages(&mut self) {
        self.pages.is_read = true;
    }

    /// Returns true if a part of the question was not shown yet.
    pub fn has_more(&self, key: &Key) -> bool {
        self.pages.rest.contains_key(key)
    }

    /// Shows the next page of a question that was shown in part.
    pub fn next_page(&mut self, key: &Key) {
        let Some((lines, columns)) = self.size() else { return self.show_rest(key) };
        let Some(mut rest) = self.pages.rest.remove(key) else { return };
        let room = lines.saturating_sub(LINES_FREE).max(LINES_MIN);
        let mut used = 0;
        while let Some(line) = rest.front() {
            let rows = line.rows(columns);
            if used > 0 && used + rows > room {
                break;
            }
            used += rows;
            rest.pop_front().iter().for_each(|line| self.styled_line(line));
        }
        if rest.is_empty() {
            return;
        }
        let left = rest.iter().map(|line| line.rows(columns) as u64).sum();
        self.line(TextTone::Warning, &format!("-- {}: press Enter --", count_of(left, "more line", "more lines")));
        self.pages.rest.insert(key.clone(), rest);
    }

    /// Shows all of a question that was not shown yet.
    pub fn show_rest(&mut self, key: &Key) {
        for line in self.pages.rest.remove(key).into_iter().flatten() {
            self.styled_line(&line);
        }
    }

    /// Forgets a question that is asked no more.
    pub fn forget_pages(&mut self, key: &Key) {
        self.pages.rest.remove(key);
    }

    /// Shows the first page of a question of these lines, if it has to be shown in pages. Returns true if it was.
    pub(super) fn first_page(&mut self, key: &Key, kind: QuestionKind, lines: &[Styled]) -> bool {
        self.pages.rest.remove(key);
        let Some((lines_max, columns)) = self.size().filter(|_| self.pages.is_read && is_about_acts(kind)) else {
            return false;
        };
        // The prompt needs a line too.
        if lines.iter().map(|line| line.rows(columns)).sum::<usize>() < lines_max {
            return false;
        }
        self.pages.rest.insert(key.clone(), lines.iter().flat_map(Styled::lines).collect());
        self.next_page(key);
        true
    }
}
