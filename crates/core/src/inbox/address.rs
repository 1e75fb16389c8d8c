//! Whom a message of an operator's is for: the whole run, or one of the parts at work.

use std::collections::BTreeSet;

use thiserror::Error;

use crate::trace::{Body, Event, PartEvent};
use crate::words::{Part, PartKind};

/// Reason that a message can't be sent to a part.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum NoAddress {
    /// No session at work is called so.
    #[error("no part called `{given}` is at work")]
    Unknown {
        /// The name as it was given.
        given: String,
        /// The parts in which a session is at work.
        at_work: Vec<Part>,
    },
    /// Several are.
    #[error("`{given}` may be any of several parts at work")]
    Ambiguous {
        /// The name as it was given.
        given: String,
        /// Those that it may be.
        may_be: Vec<Part>,
    },
}

/// Finds the session at work that an operator calls `given`: by its part, or by some of its segments, such as
/// `subtask/2.1` or `critic`.
///
/// # Errors
///
/// [`NoAddress`] if there is none, or more than one.
pub fn find_part(events: &[Event], given: &str) -> Result<Part, NoAddress> {
    let mut at_work: BTreeSet<&Part> = BTreeSet::new();
    for event in events {
        match &event.body {
            Body::Part(PartEvent::PartStart { kind: PartKind::Session, .. }) => drop(at_work.insert(&event.part)),
            Body::Part(PartEvent::PartEnd { .. }) => at_work.retain(|part| !part.is_within(&event.part)),
            _ => {}
        }
    }
    let wanted = format!("/{}/", given.trim_matches('/'));
    let is_meant = |part: &&&Part| format!("/{part}/").contains(&wanted);
    let mut may_be: Vec<Part> = at_work.iter().filter(is_meant).map(|part| (*part).clone()).collect();
    let given = given.to_owned();
    if let Some(exactly) = may_be.iter().find(|part| part.as_str() == given) {
        return Ok(exactly.clone());
    }
    match (may_be.pop(), may_be.is_empty()) {
        (Some(part), true) => Ok(part),
        (Some(part), false) => {
            may_be.push(part);
            Err(NoAddress::Ambiguous { given, may_be })
        }
        (None, _) => Err(NoAddress::Unknown { given, at_work: at_work.into_iter().cloned().collect() }),
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;
    use crate::words::Outcome;

    fn event(part: &str, body: Body) -> Event {
        Event { seq: 0, at: Timestamp::UNIX_EPOCH, part: part.parse().expect("a part"), body }
    }

    #[test]
    fn a_part_is_found_by_its_segments_while_it_is_at_work() {
        let began = |part| {
            event(
                part,
                Body::Part(PartEvent::PartStart { kind: PartKind::Session, contract: None, agent: 0, workspace: None }),
            )
        };
        let mut events = vec![
            event(
                "crew",
                Body::Part(PartEvent::PartStart { kind: PartKind::Crew, contract: None, agent: 0, workspace: None }),
            ),
            began("crew/intake"),
            event("crew/intake", Body::Part(PartEvent::PartEnd { outcome: Outcome::Completed })),
            began("crew/subtask/1.1/executor"),
            began("crew/subtask/1.1/critic"),
        ];
        for (given, expected) in [
            ("crew/subtask/1.1/executor", Some("crew/subtask/1.1/executor")),
            ("executor", Some("crew/subtask/1.1/executor")),
            ("1.1/critic", Some("crew/subtask/1.1/critic")),
            ("subtask/1.1", None),
            ("1", None),
            ("intake", None),
            ("", None),
        ] {
            let found = find_part(&events, given).ok();
            assert_eq!(found.as_ref().map(Part::as_str), expected, "{given}");
        }
        assert!(
            matches!(find_part(&events, "subtask/1.1"), Err(NoAddress::Ambiguous { may_be, .. }) if may_be.len() == 2)
        );
        events.push(event("crew", Body::Part(PartEvent::PartEnd { outcome: Outcome::Stopped })));
        assert!(matches!(find_part(&events, "critic"), Err(NoAddress::Unknown { at_work, .. }) if at_work.is_empty()));
    }
}
