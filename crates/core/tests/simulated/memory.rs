//! Tests that a session gives its agent the project's memory: once, after the standing orders, by its role.

use std::sync::Arc;

use adjutant_core::gate::RoleLimit;
use adjutant_core::memory::{Record, contradictions};
use adjutant_core::procedure::Next;
use adjutant_core::procedure::run::Run;
use adjutant_core::session::{Session, Setup};
use adjutant_core::trace::{Body, Event, LearnedEvent, TurnEvent};
use adjutant_core::words::role::Role;
use adjutant_core::words::{MessageKind, Part};
use jiff::Timestamp;

use crate::simulator;

fn setup(role: Option<Role>) -> Setup {
    Setup { standing_orders: "orders\n".to_owned(), mode: None, role: role.map(RoleLimit::of), ..simulator::setup() }
}

fn inherited() -> Body {
    let record = |json: &str| -> Record { serde_json::from_str(json).expect("a record") };
    let records = vec![
        record(
            r#"{"id":"d1","at":"2026-01-02T00:00:00Z","category":"decisions","summary":"Port: 80","rationale":"r"}"#,
        ),
        record(r#"{"id":"k1","at":"2026-01-02T00:00:00Z","category":"knowledge","content":"it is slow"}"#),
        record(r#"{"id":"c1","at":"2026-01-01T00:00:00Z","category":"constraints","rule":"Port: 443"}"#),
    ];
    let contradictions = contradictions(&records);
    Body::Learned(LearnedEvent::MemoryInherited { project: "orchard".to_owned(), records, left_out: 0, contradictions })
}

/// Returns the messages that a session says before its first turn.
fn said(role: Option<Role>, before: Option<Body>) -> Vec<(MessageKind, String)> {
    let part: Part = "session".parse().expect("a part");
    let mut run = Run::new(Session::new(Arc::new(setup(role)), part.clone()), part);
    let mut seq = 0;
    let mut event = |part: Part, body: Body| {
        seq += 1;
        Event { seq, at: Timestamp::UNIX_EPOCH, part, body }
    };
    if let Some(body) = before {
        run.apply(&event(Part::root(), body));
    }
    let mut said = Vec::new();
    while let Next::Record(entry) = run.next() {
        if let Body::Turn(TurnEvent::Message { kind, text, .. }) = &entry.body {
            said.push((*kind, text.clone()));
        }
        run.apply(&event(entry.part, entry.body));
    }
    said
}

#[test]
fn c22_each_role_sees_the_memory_once_and_an_executor_no_decisions() {
    let every = ["`d1` and `c1`", "- [d1]", "Port: 80", "- [k1]", "- [c1]"];
    for (role, shown) in [
        (None, &every[..]),
        (Some(Role::Planner), &every),
        (Some(Role::Reviewer), &every),
        (Some(Role::Critic), &every),
        (Some(Role::Executor), &["- [k1]", "- [c1]"]),
    ] {
        let said = said(role, Some(inherited()));
        let [(MessageKind::StandingOrders, orders), (MessageKind::Intake, intake)] = said.as_slice() else {
            panic!("{said:?}")
        };
        assert!(orders.starts_with("orders\n\n---\n\n## Project memory"), "{orders}");
        for text in every {
            assert_eq!(orders.matches(text).count(), usize::from(shown.contains(&text)), "{role:?} {text}\n{orders}");
            assert!(!intake.contains(text), "{intake}");
        }
    }
}

#[test]
fn without_a_memory_the_standing_orders_are_said_as_they_are() {
    for role in [None, Some(Role::Executor)] {
        assert_eq!(said(role, None)[0], (MessageKind::StandingOrders, "orders\n".to_owned()));
    }
}
