//! Plain tables, and the widths and cuts they are made with. Lengths are in UTF-16 units, as the peer
//! counts them.

use crate::words::text::{cut, units};
use crate::words::visible::visible_line;

/// The longest cell of a table, in UTF-16 units. Ours: the peer has no limit, but one long name would
/// pad every row of its table to that length. Longer than any value that it is made for.
const CELL_UNITS_MAX: usize = 200;

/// A table with its title and notes, to be set as text or on a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sheet {
    /// Its title.
    pub title: &'static str,
    /// The names of its columns.
    pub head: Vec<&'static str>,
    /// Its rows, each with a cell for every column.
    pub rows: Vec<Vec<String>>,
    /// The notes below it, one line each.
    pub below: Vec<String>,
}

impl Sheet {
    pub(super) fn new<const N: usize>(
        title: &'static str,
        head: [&'static str; N],
        rows: impl IntoIterator<Item = [String; N]>,
    ) -> Self {
        Self { title, head: head.to_vec(), rows: rows.into_iter().map(Vec::from).collect(), below: Vec::new() }
    }

    /// It as [`table`] sets one.
    pub(super) fn text(&self) -> String {
        table_of(&self.head, &self.rows)
    }
}

/// A table: columns as wide as their widest cell, two spaces between them, dashes under the head, no
/// spaces at the end of a line.
#[must_use]
pub(super) fn table<const N: usize>(head: [&str; N], rows: &[[String; N]]) -> String {
    table_of(&head, rows)
}

/// The same, where the number of columns is found out; every row has as many cells as the head.
#[must_use]
pub(super) fn table_of(head: &[&str], rows: &[impl AsRef<[String]>]) -> String {
    let rows: Vec<Vec<String>> = rows
        .iter()
        .map(|row| row.as_ref().iter().map(|cell| visible_line(&cut(cell, CELL_UNITS_MAX)).into_owned()).collect())
        .collect();
    let mut widths: Vec<usize> = head.iter().map(|cell| units(cell)).collect();
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(units(cell));
        }
    }
    let mut text = String::new();
    push_row(&mut text, head, &widths);
    push_row(&mut text, &widths.iter().map(|width| "-".repeat(*width)).collect::<Vec<_>>(), &widths);
    for row in &rows {
        push_row(&mut text, row, &widths);
    }
    text
}

/// One line of a table whose columns have these `widths`; a cell that is longer takes the room it needs.
pub(super) fn push_row(text: &mut String, cells: &[impl AsRef<str>], widths: &[usize]) {
    let start = text.len();
    for (cell, width) in cells.iter().zip(widths) {
        if text.len() > start {
            text.push_str("  ");
        }
        let cell = cell.as_ref();
        text.push_str(cell);
        text.extend(std::iter::repeat_n(' ', width.saturating_sub(units(cell))));
    }
    text.truncate(text.trim_end_matches(' ').len().max(start));
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [["é".to_owned(), String::new()], ["long".to_owned(), "x\ny".to_owned()]];
        assert_eq!(table(["a", "bb"], &rows), "a     bb\n----  ----\né\nlong  x\\ny\n");
        assert_eq!(table(["a", "bb"], &[]), "a  bb\n-  --\n");
    }

    #[test]
    fn one_long_cell_does_not_widen_a_table_without_end() {
        let text = table(["a", "b"], &[["x".repeat(1 << 20), "y".to_owned()], ["x".to_owned(), "y".to_owned()]]);
        assert!(text.lines().all(|line| units(line) <= CELL_UNITS_MAX + 3));
    }
}
