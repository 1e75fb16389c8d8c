//! Reads a patch and says what each file would become: every byte of every file, or a refusal.
//!
//! In: a unified diff as an agent writes it (git headers, wrong counts, a markdown fence, other line
//! endings) and a way to look files up. Out: a [`Plan`] for all files, or [`Rejected`] with what was
//! expected, what is there instead and what to do. Writes nothing and never does half of a patch. A
//! difference in white space alone is never papered over, and no byte changes that a hunk doesn't name.
//!
//! Begin with [`plan`]; `file_change.rs` goes the other way, from two states of a file to what changed; `parse.rs` reads the patch, `place.rs` and `fuzzy.rs` find where a hunk
//! belongs, `text.rs` puts the bytes together.

#![expect(clippy::result_large_err, reason = "a refusal ends the whole patch, so it is made and moved once")]

mod decide;
pub mod file_change;
mod fuzzy;
mod named;
mod parse;
mod path;
mod place;
mod plan;
mod reject;
mod text;

#[cfg(test)]
mod tests;

pub use decide::decide;
pub use named::{PatchPaths, named, possible_paths};
pub use place::Fit;
pub use plan::{FileMode, Lookup, Plan, PlannedFile, PlannedHunk, plan};
pub use reject::{Nearest, RejectCode, Rejected};

/// The longest patch that is read, in bytes: 10 MiB, far beyond what an agent writes by hand.
pub const PATCH_BYTES_MAX: usize = 10 << 20;
/// The most bytes that all files of a patch may have together afterwards: 64 MiB. Copies count in full, so
/// that a short patch can't fill a disk.
pub const RESULT_BYTES_MAX: usize = 64 << 20;
/// The most lines that a file to be patched may have: keeps the memory for placing hunks small.
pub const FILE_LINES_MAX: usize = 4_000_000;
/// The most files that one patch may name.
pub const FILES_MAX: usize = 10_000;
