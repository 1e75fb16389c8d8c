//! The rules by which the next thing after a reply is found: for each phase that has turns a list, of which the first rule
//! that has something to say decides.
//!
//! The order is part of the design: a turn is read before it is judged, a call is judged before any is made, and what the
//! operator is asked comes after all that the agent may do without.

use super::machine::Decider;
use super::state::ReadTurn;
use crate::procedure::Next;

/// One rule, by name.
pub(super) struct DueRule {
    /// Name for a reader: the snapshot shows the names in their order.
    #[cfg_attr(not(test), expect(dead_code, reason = "only the snapshot reads it"))]
    pub(super) name: &'static str,
    /// Returns what is due by this rule; `None` if nothing is.
    pub(super) due: for<'a> fn(&Decider<'a>, &ReadTurn) -> Option<Next>,
}

/// The rules of phase 0.
pub(super) const INTAKE: &[DueRule] = &[
    DueRule { name: "put on record what the detectors see", due: |session, taken| session.read(taken) },
    DueRule {
        name: "answer calls: nothing is done before the summary is accepted",
        due: |session, taken| session.reject_in_this_phase(taken),
    },
    DueRule {
        name: "put on record that another phase was announced",
        due: |session, taken| session.drift_from_intake(taken),
    },
    DueRule { name: "take a handoff that needs no work", due: |session, taken| session.handed_off_at_once(taken) },
    DueRule { name: "ask the agent for the summary", due: |session, taken| session.nudge(taken) },
    DueRule { name: "put the summary to the operator", due: |session, taken| session.summary_answered(taken) },
];

/// The rules of phase 1.
pub(super) const EXECUTE: &[DueRule] = &[
    DueRule { name: "put on record what the detectors see", due: |session, taken| session.read(taken) },
    DueRule {
        name: "put on record phases and phrases that are none of this phase",
        due: |session, taken| session.report_oddities(taken),
    },
    DueRule { name: "leave for phase 2: the agent is blocked", due: |session, taken| session.blocked(taken) },
    DueRule { name: "judge a call, or answer one that will not be made", due: |session, taken| session.judge(taken) },
    DueRule { name: "leave for phase 3: acts wait for the operator", due: |session, taken| session.hold(taken) },
    DueRule {
        name: "tell the agent the operator's word on what it announced",
        due: |session, taken| session.after_the_word(taken),
    },
    DueRule { name: "make the calls that were allowed", due: |session, taken| session.run_calls(taken) },
    DueRule {
        name: "tell the agent that what it announced beside its calls was denied",
        due: |session, taken| session.denied_beside_calls(taken),
    },
    DueRule {
        name: "tell the agent what came for it, unless the operator is asked between steps first",
        due: |session, taken| session.steered_before_stop(taken),
    },
    DueRule {
        name: "tell an agent that it repeats itself, then ask the operator",
        due: |session, taken| session.repeats(taken),
    },
    DueRule { name: "ask for the next turn of the step", due: |session, taken| session.next_round(taken) },
    DueRule { name: "tell an agent that said nothing to go on", due: |session, taken| session.break_silence(taken) },
    DueRule { name: "read the handoff", due: |session, taken| session.hand_off(taken) },
    DueRule { name: "leave for phase 4: the work is complete", due: |session, taken| session.completed(taken) },
    DueRule { name: "end the step", due: |session, _| Some(session.step_over()) },
];

/// The rules of phase 4.
pub(super) const COMPLETION: &[DueRule] = &[
    DueRule { name: "put on record what the detectors see", due: |session, taken| session.read(taken) },
    DueRule {
        name: "answer calls: nothing is done any more",
        due: |session, taken| session.reject_in_this_phase(taken),
    },
    DueRule {
        name: "ask an agent that said nothing for the report again",
        due: |session, taken| session.report_again(taken),
    },
    DueRule { name: "end the session", due: |session, _| Some(session.delivered()) },
];

impl Decider<'_> {
    /// Returns what is due after a reply by the first of `rules` that has something to say.
    pub(super) fn due(&self, rules: &[DueRule], taken: &ReadTurn) -> Next {
        // The last rule of each list always has.
        rules.iter().find_map(|rule| (rule.due)(self, taken)).unwrap_or_else(|| Next::Want(Vec::new()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_asked_in_this_order() {
        let list = |name: &str, rules: &[DueRule]| {
            let lines: String = (1..).zip(rules).map(|(place, rule)| format!("\n{place:>4}. {}", rule.name)).collect();
            format!("{name}{lines}\n")
        };
        let shown = [list("phase 0", INTAKE), list("phase 1", EXECUTE), list("phase 4", COMPLETION)].concat();
        insta::assert_snapshot!(shown);
    }
}
