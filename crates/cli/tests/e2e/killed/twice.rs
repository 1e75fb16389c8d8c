//! Killed at any event, and the run that goes on from there killed again soon after.
//!
//! The resumed process is killed at each of the first events that it adds: these take the run over, settle
//! what was interrupted and tell of it. Behind them it does what a first process does, of which `once.rs`
//! has the kills.

use super::cases::{self, Case};
use super::compare::check_all;

/// The places of the second kill: the first events of the resumed process.
const SECOND_KILLS: [Option<u64>; 3] = [Some(0), Some(1), Some(2)];

fn check_everywhere(case: &Case) {
    check_all(case, &SECOND_KILLS);
}

#[test]
fn the_first_run_survives_two_kills() {
    check_everywhere(&cases::FIRST_RUN);
}

#[test]
fn several_calls_in_one_turn_survive_two_kills() {
    check_everywhere(&cases::SEVERAL_CALLS);
}

#[test]
fn a_cancelled_call_survives_two_kills() {
    check_everywhere(&cases::CANCEL);
}
