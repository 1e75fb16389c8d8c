//! Runs one fuzzing target under libFuzzer: the one that `FUZZ_TARGET` names. `cargo xtask fuzz` builds and
//! starts it.

#![no_main]

use std::sync::OnceLock;

use adjutant_fuzz::{FuzzTarget, target};
use libfuzzer_sys::fuzz_target;

/// libFuzzer calls back without an argument of ours.
static TARGET: OnceLock<FuzzTarget> = OnceLock::new();

fn chosen() -> FuzzTarget {
    // libFuzzer ends the run in its own panic hook, also at a panic that is caught.
    let ends = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !panic.location().is_some_and(|place| adjutant_fuzz::catches_panics_of(place.file())) {
            ends(panic);
        }
    }));
    let name = std::env::var("FUZZ_TARGET").unwrap_or_default();
    target(&name).unwrap_or_else(|| {
        eprintln!("FUZZ_TARGET names no target: `{name}`");
        std::process::exit(2)
    })
}

fuzz_target!(|bytes: &[u8]| (TARGET.get_or_init(chosen).check)(bytes));
