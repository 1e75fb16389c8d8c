use proptest::prelude::*;

use super::*;

const RUN: &str = "run-1";

/// A loop that is watched, round by round.
#[derive(Clone, Default)]
struct Watched {
    state: StuckState,
    knobs: StuckKnobs,
    round: u32,
    /// The rounds whose answer was to escalate.
    escalated: Vec<u32>,
}

impl Watched {
    fn close(&mut self, round: Round) -> StuckAnswer {
        let answer = self.state.close(&round, &self.knobs);
        if answer == StuckAnswer::Escalate {
            self.escalated.push(round.number);
        }
        answer
    }

    /// The next round, with the files in this state.
    fn next(&mut self, tree: &str, evaluation: Option<Evaluation>) -> StuckAnswer {
        self.round += 1;
        self.close(Round { evaluation, ..self.at(self.round, tree) })
    }

    fn at(&self, number: u32, tree: &str) -> Round {
        Round {
            run: RUN.to_owned(),
            number,
            has_worked: true,
            tree: Some(tree.to_owned()),
            evaluation: None,
            by_human: false,
        }
    }

    /// Rounds with the files in these states, a letter each; `evaluation` gives that of a round by its number.
    fn rounds(&mut self, trees: &str, evaluation: impl Fn(u32) -> Option<Evaluation>) -> &mut Self {
        for tree in trees.chars() {
            let of_round = evaluation(self.round + 1);
            self.next(&tree.to_string(), of_round);
        }
        self
    }
}

fn none(_: u32) -> Option<Evaluation> {
    None
}

fn split() -> Option<Evaluation> {
    Some(Evaluation::Vote { approve: 1, is_approved: false })
}

fn blocked(reason: &str) -> Option<Evaluation> {
    Some(Evaluation::Blocked { gate: "checks".to_owned(), reason: reason.to_owned() })
}

fn blocked_from(first: u32) -> impl Fn(u32) -> Option<Evaluation> {
    move |round| blocked("tests fail").filter(|_| round >= first)
}

#[test]
fn u1_files_that_stay_as_they_are_never_escalate_alone_and_end_the_loop_in_round_11() {
    let mut watched = Watched::default();
    watched.rounds(&"A".repeat(10), none);
    assert!(!watched.state.is_stalled(&watched.knobs));
    watched.rounds("A", none);
    assert!(watched.state.is_stalled(&watched.knobs));
    assert!(watched.escalated.is_empty());
}

#[test]
fn u2_u3_files_that_stay_and_completion_that_is_refused_escalate_once() {
    let mut watched = Watched::default();
    assert_eq!(watched.rounds(&"A".repeat(10), blocked_from(6)).escalated, [8]);
    let mut watched = Watched::default();
    assert_eq!(watched.rounds(&"A".repeat(10), |round| split().filter(|_| round >= 6)).escalated, [8]);
}

#[test]
fn u4_u5_u6_files_that_come_back_count_until_something_new_comes() {
    let mut watched = Watched::default();
    watched.rounds("AB", |_| split());
    assert!(!watched.state.signals.revisit);
    watched.rounds("A", |_| split());
    assert!(watched.state.signals.revisit);
    assert_eq!(watched.rounds("BABAB", |_| split()).escalated, [4]);

    let mut watched = Watched::default();
    assert_eq!(watched.rounds("ABAAAAAAA", none).escalated, [8]);

    let mut watched = Watched::default();
    assert!(watched.rounds("ABACCCCC", none).escalated.is_empty());
    assert!(!watched.state.signals.revisit);
}

#[test]
fn u11_rounds_without_work_move_no_signal() {
    let mut watched = Watched::default();
    watched.next("A", None);
    for _ in 0..6 {
        watched.round += 1;
        let limited = Round { has_worked: false, ..watched.at(watched.round, "A") };
        assert_eq!(watched.close(limited), StuckAnswer::Skipped);
    }
    watched.round += 1;
    let unknown = Round { tree: None, ..watched.at(watched.round, "A") };
    assert_eq!(watched.close(unknown), StuckAnswer::Skipped);
    assert_eq!(watched.next("A", None), StuckAnswer::No);
    assert_eq!(watched.state.no_change, 1);
}

#[test]
fn u12_u13_a_state_is_known_until_six_others_came() {
    for (trees, is_back) in [("ABBBBBBBA", true), ("ABCDEFA", true), ("ABCDEFGA", false)] {
        let mut watched = Watched::default();
        watched.rounds(trees, none);
        assert_eq!(watched.state.signals.revisit, is_back, "{trees}");
    }
}

#[test]
fn u14_refusals_are_forgotten_when_they_are_old() {
    let mut watched = Watched::default();
    watched.rounds("XYABAB", |round| split().filter(|_| round <= 2));
    assert_eq!(watched.escalated, [6]);
    watched.rounds("A", none);
    assert!(watched.state.signals.refused);
    watched.rounds("B", none);
    assert!(!watched.state.signals.refused);
}

#[test]
fn u15_refusals_for_other_reasons_each_time_are_no_signal() {
    let mut watched = Watched::default();
    let alternating = |round: u32| blocked(if round.is_multiple_of(2) { "tests fail" } else { "nothing changed" });
    assert!(watched.rounds(&"A".repeat(9), alternating).escalated.is_empty());
}

#[test]
fn u16_what_a_person_does_begins_anew() {
    let mut watched = Watched::default();
    watched.rounds(&"A".repeat(8), blocked_from(6));
    assert_eq!(watched.escalated, [8]);
    watched.round += 1;
    let after_word = Round { by_human: true, evaluation: blocked("tests fail"), ..watched.at(watched.round, "A") };
    watched.close(after_word);
    assert_eq!(watched.state.no_change, 1);
    assert_eq!(watched.rounds("AAAAA", blocked_from(1)).escalated, [8, 13]);
}

#[test]
fn u17_something_new_arms_it_again() {
    let mut watched = Watched::default();
    watched.rounds(&"A".repeat(8), blocked_from(6));
    watched.rounds("N", none);
    assert!(!watched.state.is_escalated);
    assert_eq!(watched.rounds("NNNNNNN", blocked_from(14)).escalated, [8, 14]);
}

#[test]
fn u18_another_run_begins_afresh() {
    let mut watched = Watched::default();
    watched.rounds("ABABABA", |_| split());
    assert!(!watched.escalated.is_empty());
    let first = Round { run: "run-2".to_owned(), ..watched.at(7, "A") };
    assert_eq!(watched.close(first), StuckAnswer::No);
    assert_eq!(watched.state.signals, StuckSignals::default());
    assert_eq!((watched.state.last_round, watched.state.streak), (7, 0));
}

#[test]
fn u19_a_round_that_is_closed_twice_is_answered_twice_and_counts_once() {
    let mut watched = Watched::default();
    watched.rounds(&"A".repeat(8), blocked_from(6));
    let before = watched.state.clone();
    let again = Round { tree: Some("B".to_owned()), ..watched.at(8, "B") };
    assert_eq!(watched.state.close(&again, &watched.knobs), StuckAnswer::Escalate);
    let earlier = watched.at(3, "C");
    assert_eq!(watched.state.close(&earlier, &watched.knobs), StuckAnswer::Escalate);
    assert_eq!(watched.state, before);
}

#[test]
fn u30_the_nine_cases_of_the_first_design_hold_with_trees_and_evaluations() {
    // 1, 2, 3 and 5: one signal alone, however long.
    for (trees, evaluation) in [("AAAAAAAAAA", None), ("ABABABABAB", None), ("ABCDEFGHIJ", split())] {
        let mut watched = Watched::default();
        watched.rounds(trees, |_| evaluation.clone());
        assert_eq!(watched.state.signals.count(), 1, "{trees}");
        assert!(watched.escalated.is_empty(), "{trees}");
        assert_eq!((watched.state.streak, watched.state.is_escalated), (0, false));
    }
    // 2b and 2c: the same state again is no return.
    for trees in ["AA", "AAA"] {
        let mut watched = Watched::default();
        watched.rounds(trees, none);
        assert!(!watched.state.signals.revisit);
    }
    // 3: one split, splits that nobody approved, and an approval are none.
    let vote = |approve, is_approved| Some(Evaluation::Vote { approve, is_approved });
    for votes in [[vote(0, false), vote(1, false)], [vote(0, false), vote(0, false)], [vote(1, false), vote(2, true)]] {
        let mut watched = Watched::default();
        watched.rounds("AB", |round| votes[round as usize - 1].clone());
        assert!(!watched.state.signals.refused, "{votes:?}");
    }
    // 4, with as many rounds as the knob says; 6: not again.
    for rounds in [1, 2, 3] {
        let mut watched = Watched { knobs: StuckKnobs { rounds, ..StuckKnobs::default() }, ..Watched::default() };
        watched.rounds("AAAAAAAAAAAA", |_| split());
        assert_eq!(watched.escalated, [4 + rounds]);
        assert_eq!((watched.state.is_escalated, watched.state.escalated_at), (true, 4 + rounds));
        // 7: a round with one signal, then two again.
        watched.rounds("BBBBBBBB", |_| split());
        assert_eq!(watched.escalated, [4 + rounds, 16 + rounds]);
    }
    // 8: off, nothing is kept.
    let mut watched =
        Watched { knobs: StuckKnobs { is_enabled: false, ..StuckKnobs::default() }, ..Watched::default() };
    watched.rounds("AAAAAAAAAAAA", |_| split());
    assert_eq!((&watched.state, watched.escalated.len()), (&StuckState::default(), 0));
}

#[test]
fn a_cooldown_keeps_a_signal_that_comes_and_goes_from_asking_each_time() {
    let trees = "AAAAAABAAAAAABAAAAAABAAAAAA";
    let mut plain = Watched::default();
    plain.rounds(trees, |_| split());
    let mut cooled = Watched { knobs: StuckKnobs { cooldown: 100, ..StuckKnobs::default() }, ..Watched::default() };
    cooled.rounds(trees, |_| split());
    assert!(plain.escalated.len() > 1);
    assert_eq!(cooled.escalated, plain.escalated[..1]);
}

proptest! {
    /// Whatever comes: the state stays small, it survives being written down, and no episode asks twice.
    #[test]
    fn any_rounds_leave_a_state_of_bounded_size(
        rounds in proptest::collection::vec((0u8..5, 0u8..5, any::<bool>(), 0u8..20), 0..200),
    ) {
        let mut watched = Watched::default();
        let mut was_escalated = false;
        for (tree, evaluation, has_worked, human) in rounds {
            watched.round += 1;
            let evaluation = match evaluation { 0 => split(), 1 => blocked("one"), 2 => blocked("two"), _ => None };
            let round = Round { has_worked, evaluation, by_human: human == 0, ..watched.at(watched.round, &tree.to_string()) };
            let answer = watched.close(round);
            if answer == StuckAnswer::Escalate {
                prop_assert!(watched.state.signals.count() >= 2 && watched.state.is_escalated);
                prop_assert!(!was_escalated || human == 0);
            }
            was_escalated = watched.state.is_escalated;
            prop_assert!(watched.state.ring.len() <= RING_LEN && watched.state.evaluations.len() <= EVALUATIONS_LEN);
            let written = serde_json::to_string(&watched.state).expect("written");
            prop_assert_eq!(&serde_json::from_str::<StuckState>(&written).expect("read"), &watched.state);
        }
    }
}
