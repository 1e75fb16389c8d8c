//! The council: who votes on completion, what a vote is worth, and how many are needed.
//!
//! In: the seats of a council, and what each voter handed off. Out: the verdict. Voters are sessions side by side that
//! don't see each other; where all of them approve, a contrarian is asked once more.

use super::state::Voted;
use crate::trace::{LoopEvent, VoteCast};

/// A seat in a council.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Seat {
    /// Name of the role.
    pub(super) name: String,
    /// Instruction for it.
    pub(super) instruction: &'static str,
    /// Place in the council, from 0.
    pub(super) place: usize,
}

/// Roles of a council, which are given out in turn.
const ROLES: [(&str, &str); 3] = [
    (
        "requirements-verifier",
        "You vote on whether the goal of the brief is reached. You hold each deliverable and each constraint of the brief \
         against what is there, one after another, and approve only if you have seen every one of them met. You can \
         read and change nothing. What the agents say of their work is no evidence.",
    ),
    (
        "test-auditor",
        "You vote on whether the goal of the brief is reached, and look at how that is tested. Tests that were removed, \
         skipped, emptied or bent until they pass mean that it isn't. A check that passes without checking anything is \
         none. You can read and change nothing.",
    ),
    (
        "devils-advocate",
        "You vote on whether the goal of the brief is reached, and look for the reason why it isn't: what works in the \
         shown case only, what broke on the way, what nobody asked for, what was left half done. Approve if you have \
         looked and found none. You can read and change nothing.",
    ),
];

/// The role of whoever votes once more where all approve.
const CONTRARIAN: (&str, &str) = (
    "contrarian",
    "All others approve. You are asked because agreement is cheap. Take it that something is missing, and look for it \
     with your own eyes. Approve only if you looked where it was most likely and found the goal reached. You can read \
     and change nothing.",
);

/// Returns the seats of a council of `size`, and that of its contrarian if `with_contrarian`.
pub(super) fn seats(size: u32, with_contrarian: bool) -> Vec<Seat> {
    let seat =
        |place: usize, (name, instruction): (&str, &'static str)| Seat { name: name.to_owned(), instruction, place };
    let mut seats: Vec<Seat> = (0..size as usize).map(|place| seat(place, ROLES[place % ROLES.len()])).collect();
    if with_contrarian {
        seats.push(seat(seats.len(), CONTRARIAN));
    }
    seats
}

/// Number of votes that a council of `size` needs: two thirds of them, rounded up.
#[must_use]
pub const fn votes_needed(size: u32) -> u32 {
    size.saturating_mul(2).saturating_add(2) / 3
}

/// Returns true if the contrarian is to be asked: all have voted, several are they, and all approve.
pub(super) fn wants_contrarian(size: u32, votes: &[Voted]) -> bool {
    size >= 2
        && votes.len() >= size as usize
        && votes.iter().take(size as usize).all(|vote| vote.approves == Some(true))
}

/// Returns the verdict on completion after an iteration. Whoever gave no judgement counts as against it, and a contrarian
/// who doesn't approve takes away what the others were short of.
pub(super) fn verdict(iteration: u32, size: u32, votes: &[Voted]) -> LoopEvent {
    let threshold = votes_needed(size);
    let (members, contrarian) = votes.split_at(votes.len().min(size as usize));
    let count = |approves: bool| members.iter().filter(|vote| (vote.approves == Some(true)) == approves).count();
    let mut approve = u32::try_from(count(true)).unwrap_or(u32::MAX);
    let mut reject = u32::try_from(count(false)).unwrap_or(u32::MAX);
    if contrarian.iter().any(|vote| vote.approves != Some(true)) {
        let kept = approve.min(threshold.saturating_sub(1));
        reject += approve - kept;
        approve = kept;
    }
    let votes = votes.iter().map(|vote| VoteCast {
        voter: vote.voter.clone(),
        approves: vote.approves,
        reason: vote.reason.clone(),
    });
    LoopEvent::CouncilVerdict {
        iteration,
        approve,
        reject,
        threshold,
        is_approved: approve >= threshold,
        votes: votes.collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict_of(size: u32, votes: &str) -> (u32, u32, bool) {
        let votes: Vec<Voted> = votes
            .chars()
            .enumerate()
            .map(|(place, vote)| Voted {
                place,
                voter: String::new(),
                approves: match vote {
                    '+' => Some(true),
                    '-' => Some(false),
                    _ => None,
                },
                reason: String::new(),
            })
            .collect();
        match verdict(1, size, &votes) {
            LoopEvent::CouncilVerdict { approve, reject, is_approved, .. } => (approve, reject, is_approved),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn two_thirds_rounded_up_are_needed() {
        let needed: Vec<u32> = (0..=7).map(votes_needed).collect();
        assert_eq!(needed, [0, 1, 2, 2, 3, 4, 4, 5]);
    }

    #[test]
    fn who_gives_no_judgement_is_against_it_and_a_contrarian_can_take_the_majority_away() {
        for (size, votes, expected) in [
            (3, "+++", (3, 0, true)),
            (3, "++-", (2, 1, true)),
            (3, "++?", (2, 1, true)),
            (3, "+--", (1, 2, false)),
            (3, "+??", (1, 2, false)),
            (3, "++++", (3, 0, true)),
            (3, "+++-", (1, 2, false)),
            (3, "+++?", (1, 2, false)),
            (5, "+++++-", (3, 2, false)),
            (2, "++-", (1, 1, false)),
            (1, "+", (1, 0, true)),
            (1, "?", (0, 1, false)),
        ] {
            assert_eq!(verdict_of(size, votes), expected, "{size} {votes}");
        }
    }

    #[test]
    fn roles_are_given_out_in_turn_and_a_lone_voter_has_no_contrarian() {
        let names: Vec<String> = seats(4, true).into_iter().map(|seat| seat.name).collect();
        assert_eq!(
            names,
            ["requirements-verifier", "test-auditor", "devils-advocate", "requirements-verifier", "contrarian"]
        );
        let yes =
            |voter: &str| Voted { place: 0, voter: voter.to_owned(), approves: Some(true), reason: String::new() };
        assert!(!wants_contrarian(1, &[yes("a")]));
        assert!(wants_contrarian(2, &[yes("a"), yes("b")]));
    }
}
