//! Compares what a killed run leaves with what is left of one that was not killed.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;

use super::cases::Case;
use super::play::{Left, Played, play};
use crate::home::TestHome;

/// Kills a case in each of the ways that `ways` gives for the number of its events, two at a time.
pub fn check_all(case: &Case, ways: impl Fn(u64) -> Vec<Vec<u64>>) {
    let Played { home, left: unkilled, .. } = play(case, &[]);
    assert_eq!(unkilled.code, 0, "{}: {unkilled:?}", case.name);
    assert_eq!(unkilled.cancelled, usize::from(case.cancels), "{}", case.name);
    let ways = ways(home.journal(case.run_id).len() as u64);
    let next = AtomicUsize::new(0);
    let work = || {
        let mut verdicts = Vec::new();
        while let Some(kills) = ways.get(next.fetch_add(1, Ordering::Relaxed)) {
            verdicts.push(check(case, kills, &unkilled));
        }
        verdicts
    };
    let verdicts: Vec<Verdict> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..2).map(|_| scope.spawn(work)).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("no check fails")).collect()
    });
    assert_eq!(verdicts.len(), ways.len());
    let mut places: Vec<&[u64]> = verdicts.iter().map(|verdict| &*verdict.killed_with).collect();
    places.sort_unstable();
    places.dedup();
    println!(
        "{}: killed in {} ways, with {} different lengths of the journal, {} with an unknown effect",
        case.name,
        ways.len(),
        places.len(),
        verdicts.iter().filter(|verdict| verdict.unsure).count()
    );
}

struct Verdict {
    killed_with: Vec<u64>,
    unsure: bool,
}

/// Kills a case and compares what is left with the run that was not killed.
fn check(case: &Case, kills: &[u64], unkilled: &Left) -> Verdict {
    let Played { home, left: mut found, killed_with, lost } = play(case, kills);
    let place = format!("{}, killed at {kills:?} with {killed_with:?} on record", case.name);
    // A call whose intent can't be read counts as never having begun, whatever came of it.
    if lost.iter().any(|event| event["type"] == "tool_call") {
        found.effects.dedup();
    }
    assert_at_most_once(&found.effects, &place);

    let unsure = has_unknown_effect(&home, case);
    let mut expected_files = unkilled.files.clone();
    if unsure {
        for name in case.unsure {
            expected_files.remove(*name);
            found.files.remove(*name);
        }
    } else {
        assert_eq!((&found.effects, found.cancelled), (&unkilled.effects, unkilled.cancelled), "{place}");
    }
    let interrupted =
        |journal: &[Value]| journal.iter().any(|event| event["type"] == "interrupted" && event["effect"] == "unknown");
    let journal = home.journal(case.run_id);
    assert_eq!(interrupted(&journal), unsure, "{place}: an unknown effect is told, and nothing else is");
    assert_eq!(
        (found.code, &found.outcome, &found.phases, &found.files),
        (unkilled.code, &unkilled.outcome, &unkilled.phases, &expected_files),
        "{place}"
    );
    Verdict { killed_with, unsure }
}

/// Fails if an effect is in the log twice.
fn assert_at_most_once(effects: &[String], place: &str) {
    let mut once = effects.to_vec();
    once.sort_unstable();
    once.dedup();
    assert_eq!(once.len(), effects.len(), "{place}: an effect happened twice: {effects:?}");
}

/// Whether the agent was told of a call whose effect nobody knows.
fn has_unknown_effect(home: &TestHome, case: &Case) -> bool {
    let journal = home.journal(case.run_id);
    journal.iter().any(|event| event["type"] == "tool_rejected" && event["rejection"] == "effect_unknown")
}
