//! Checks what must hold of every input that core reads, whatever its bytes.
//!
//! One file per reader, each with one function: it takes bytes, reads them, and panics if something does
//! not hold. `tests/corpus.rs` runs them over the corpus in every test run; `coverage/` is a package of its
//! own that runs them under a fuzzer, by `cargo xtask fuzz`. An input that a fuzzer found is kept in
//! `corpus/` once its cause is gone.
//!
//! Begin with [`TARGETS`].

mod brief;
mod memory;
mod patch;
mod shell;
mod trace;

pub use adjutant_core::gate::shell::catches_panics_of;

/// One reader with what must hold of it.
#[derive(Debug, Clone, Copy)]
pub struct FuzzTarget {
    /// Its name, which is its corpus folder's too.
    pub name: &'static str,
    /// Reads the bytes; panics if something does not hold.
    pub check: fn(&[u8]),
}

/// All of them.
pub const TARGETS: &[FuzzTarget] = &[
    FuzzTarget { name: "patch", check: patch::check },
    FuzzTarget { name: "brief", check: brief::check },
    FuzzTarget { name: "shell", check: shell::check },
    FuzzTarget { name: "trace", check: trace::check },
    FuzzTarget { name: "memory", check: memory::check },
];

/// The target of that name.
#[must_use]
pub fn target(name: &str) -> Option<FuzzTarget> {
    TARGETS.iter().copied().find(|target| target.name == name)
}
