//! Each case, killed once, at every event.

use super::cases::{self, Case};
use super::compare::check_all;

fn check_everywhere(case: &Case) {
    check_all(case, &[None]);
}

#[test]
fn a_run_that_waits_changes_its_agent_makes_room_and_reaches_a_limit() {
    check_everywhere(&cases::LIMITS);
}

#[test]
fn the_first_run_survives_a_kill_after_every_event() {
    check_everywhere(&cases::FIRST_RUN);
}

#[test]
fn a_loop_survives_a_kill_after_every_event_and_escalates_once() {
    check_everywhere(&cases::LOOP);
}

#[test]
fn a_blocked_run_survives_a_kill_after_every_event() {
    check_everywhere(&cases::BLOCKER);
}

#[test]
fn what_is_remembered_in_a_run_that_is_killed_after_every_event_is_remembered_once() {
    check_everywhere(&cases::MEMORY);
}

#[test]
fn a_denied_run_survives_a_kill_after_every_event() {
    check_everywhere(&cases::DENIAL);
}

#[test]
fn several_calls_in_one_turn_survive_a_kill_after_every_event() {
    check_everywhere(&cases::SEVERAL_CALLS);
}

#[test]
fn a_cancelled_call_survives_a_kill_after_every_event() {
    check_everywhere(&cases::CANCEL);
}

#[test]
fn an_approval_for_the_run_survives_a_kill_after_every_event() {
    check_everywhere(&cases::APPROVAL_FOR_THE_RUN);
}

#[test]
fn a_run_at_its_limit_survives_a_kill_after_every_event() {
    check_everywhere(&cases::MAX_STEPS);
}

#[test]
fn a_run_with_huge_output_survives_a_kill_after_every_event() {
    check_everywhere(&cases::HUGE_OUTPUT);
}

#[test]
fn a_run_whose_mode_changes_survives_a_kill_after_every_event() {
    check_everywhere(&cases::MODE_SWITCH);
}

#[test]
fn a_torn_line_after_a_kill_at_every_event_changes_nothing() {
    check_everywhere(&cases::TORN_LINE);
}

#[test]
fn a_damaged_line_after_a_kill_at_every_event_stops_a_resume_until_it_is_accepted() {
    check_everywhere(&cases::DAMAGED_LINE);
}
