//! Measures the size of the program.

use std::path::Path;

use crate::figure::{Amount, Figure};

const BUDGET: Amount = Amount::Bytes(20_000_000);

/// The program's size; the baseline is the budget itself.
pub fn measure(adjutant: &Path, _: &Path) -> anyhow::Result<Vec<Figure>> {
    Ok(vec![Figure {
        name: "binary".to_owned(),
        measured: Amount::Bytes(adjutant.metadata()?.len()),
        budget: Some(BUDGET),
        against: "the budget".to_owned(),
        baseline: BUDGET,
    }])
}
