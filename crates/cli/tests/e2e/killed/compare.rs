//! Compares what a killed run leaves with what is left of one that was not killed.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;

use super::cases::Case;
use super::kept::KeptHome;
use super::play::{Left, Play, Played};
use crate::home::TestHome;

/// Kills a case at each of its events, two places at a time, and from there lets it go on in each way of `then`: to its
/// end, or killed once more, at the event that comes so many after those on record.
pub fn check_all(case: &Case, then: &[Option<u64>]) {
    let home = (case.prepare)();
    let unkilled = Play::of(case).finish(&home).left;
    assert_eq!(unkilled.code, 0, "{}: {unkilled:?}", case.name);
    assert_eq!(unkilled.cancelled, usize::from(case.cancels), "{}", case.name);
    let events = home.journal(case.run_id).len();
    let next = AtomicUsize::new(0);
    let work = || {
        let mut verdicts = Vec::new();
        loop {
            let first = next.fetch_add(1, Ordering::Relaxed);
            if first >= events {
                return verdicts;
            }
            verdicts.extend(check_from(case, first as u64, then, &unkilled));
        }
    };
    let verdicts: Vec<Verdict> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..2).map(|_| scope.spawn(work)).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("no check fails")).collect()
    });
    assert_eq!(verdicts.len(), events * then.len());
    let mut places: Vec<&[u64]> = verdicts.iter().map(|verdict| &*verdict.killed_with).collect();
    places.sort_unstable();
    places.dedup();
    println!(
        "{}: killed in {} ways, with {} different lengths of the journal, {} with an unknown effect",
        case.name,
        verdicts.len(),
        places.len(),
        verdicts.iter().filter(|verdict| verdict.unsure).count()
    );
}

struct Verdict {
    killed_with: Vec<u64>,
    unsure: bool,
}

/// Kills a case once, at event `first`, and compares what each way to go on leaves with the run that was not killed.
///
/// The first way goes on in the very folder of the kill, the others in copies of it at the same place.
fn check_from(case: &Case, first: u64, then: &[Option<u64>], unkilled: &Left) -> Vec<Verdict> {
    let home = (case.prepare)();
    let mut killed = Play::of(case);
    killed.kill_after(&home, first);
    let kept = (then.len() > 1).then(|| KeptHome::of(&home));
    let mut verdicts = Vec::new();
    for (nth, second) in then.iter().enumerate() {
        if let Some(kept) = kept.as_ref().filter(|_| nth > 0) {
            kept.put_back(&home);
        }
        let mut play = killed.clone();
        if let Some(second) = second {
            play.kill_after(&home, *second);
        }
        verdicts.push(check(case, &home, play.finish(&home), unkilled));
    }
    verdicts
}

/// Compares what a killed run left with the run that was not killed.
fn check(case: &Case, home: &TestHome, played: Played, unkilled: &Left) -> Verdict {
    let Played { left: mut found, killed_with, lost } = played;
    let place = format!("{}, killed with {killed_with:?} on record", case.name);
    // A call whose intent can't be read counts as never having begun, whatever came of it.
    if lost.iter().any(|event| event["type"] == "tool_call") {
        found.effects.dedup();
    }
    assert_at_most_once(&found.effects, &place);

    let unsure = has_unknown_effect(home, case);
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

/// Returns true if the agent was told of a call whose effect is not known.
fn has_unknown_effect(home: &TestHome, case: &Case) -> bool {
    let journal = home.journal(case.run_id);
    journal.iter().any(|event| event["type"] == "tool_rejected" && event["rejection"] == "effect_unknown")
}
