//! Every input of the corpus, and cut and changed forms of each, through the checks of its target.

use std::fs;
use std::path::Path;

use adjutant_fuzz::TARGETS;

/// The most that the corpus of all targets may take in the tree, in bytes.
const CORPUS_BYTES_MAX: usize = 200_000;

/// The inputs of the target `name`.
fn corpus(name: &str) -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(name);
    let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("can't list {}: {error}", folder.display()));
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.into_iter().map(|path| (path.display().to_string(), fs::read(&path).unwrap())).collect()
}

/// Bytes that mean something to one of the readers.
const MEANINGFUL: &[u8] = b"\0\n\r\t \"\\'/-+@#:[]{}0\xff";

#[test]
fn what_must_hold_holds_for_the_corpus_and_its_neighbours() {
    for target in TARGETS {
        let inputs = corpus(target.name);
        assert!(!inputs.is_empty(), "no corpus for {}", target.name);
        for (path, input) in inputs {
            let checked = |form: &[u8], what: &str| {
                let held = std::panic::catch_unwind(|| (target.check)(form));
                assert!(held.is_ok(), "{path}, {what}: {:?}", String::from_utf8_lossy(form));
            };
            checked(&input, "as it is");
            // At most sixteen places, evenly spread, so that this stays fast for long inputs.
            let step = input.len().div_ceil(16).max(1);
            for (turn, at) in (0..input.len()).step_by(step).enumerate() {
                checked(&input[..at], &format!("cut at {at}"));
                let mut changed = input.clone();
                changed[at] = MEANINGFUL[(turn + at) % MEANINGFUL.len()];
                checked(&changed, &format!("changed at {at}"));
                checked(&[&input[..at], &input[..], &input[at..]].concat(), &format!("repeated within at {at}"));
            }
        }
    }
}

#[test]
fn the_corpus_stays_small() {
    let bytes: usize = TARGETS.iter().flat_map(|target| corpus(target.name)).map(|(_, input)| input.len()).sum();
    assert!(bytes <= CORPUS_BYTES_MAX, "the corpus takes {bytes} bytes of {CORPUS_BYTES_MAX}");
}
