use crate::trace::{AgentOptions, AskEvent, HostEvent, RunStart, Versions};
use crate::words::{InterruptedEffect, Slot, Stop};

use super::*;

const PRICES: Prices =
    Prices { input: Some(3_000), cache_read: Some(300), cache_write: Some(3_750), output: Some(15_000) };

/// A run whose first agent has prices and whose second has none.
fn begun() -> Spending {
    begun_with(None)
}

/// The same, with the day of the list that the prices are from.
fn begun_with(prices_listed: Option<&str>) -> Spending {
    let mut spending = Spending::default();
    let prices_listed = prices_listed.map(str::to_owned);
    let options = RunOptions {
        agent: AgentOptions { prices: Some(PRICES), prices_listed, ..AgentOptions::default() },
        fallback: vec![AgentOptions { adapter: "other".to_owned(), ..AgentOptions::default() }],
        ..RunOptions::default()
    };
    let start = RunStart {
        run_id: "r".parse().unwrap(),
        brief_id: "b".parse().unwrap(),
        project: "p".to_owned(),
        brief_path: None,
        brief: String::new(),
        tools: Vec::new(),
        offered: None,
        options,
        versions: Versions { adjutant: String::new(), standing_orders: 1, rules: 0 },
    };
    happen(&mut spending, 0, Body::Run(RunEvent::RunStart(Box::new(start))));
    spending
}

#[test]
fn a_wait_counts_to_its_end_also_where_the_run_was_let_go() {
    for (resumed, waited_ms) in [(100, 60_000), (70, 60_000), (30, 0)] {
        let mut spending = begun();
        happen(&mut spending, 10, Body::Ask(AskEvent::Timer { slot: Slot::first(What::Wait, 1), length_ms: 60_000 }));
        happen(
            &mut spending,
            resumed,
            Body::Run(RunEvent::RunResume { options: None, accepted_damage: Vec::new(), offered: None }),
        );
        assert_eq!(spending.used(Metric::WallClock), waited_ms, "resumed after {resumed} s");
    }
}

#[test]
fn dollars_by_a_providers_list_are_an_estimate_and_nothing_else_is() {
    let estimates = |listed| Metric::ALL.into_iter().filter(move |metric| begun_with(listed).is_estimate(*metric));
    assert_eq!(estimates(Some("2026-11-29")).collect::<Vec<_>>(), [Metric::Money]);
    assert_eq!(estimates(None).next(), None);
}

fn happen(spending: &mut Spending, second: i64, body: Body) {
    let at = Timestamp::from_second(second).unwrap();
    spending.apply(&Event { seq: 0, at, part: crate::words::Part::root(), body });
}

fn slot(number: u32) -> Slot {
    Slot::first(What::Turn, number)
}

fn request(number: u32, agent: u32, input_tokens: u64, output_max: u32) -> Body {
    let (messages, no_calls) = ((0, 0), false);
    Body::Turn(TurnEvent::AgentRequest {
        slot: slot(number),
        messages,
        tools: 0,
        no_calls,
        agent,
        input_tokens,
        output_max,
        hash: None,
    })
}

fn reply(number: u32, usage: Option<Usage>) -> Body {
    let text = "x".repeat(400);
    Body::Turn(TurnEvent::AgentReply {
        slot: slot(number),
        text,
        thinking: String::new(),
        calls: Vec::new(),
        provider_data: None,
        usage,
        stop: Stop::EndTurn,
        duration_ms: 0,
    })
}

fn failed(number: u32, kind: FailureKind) -> Body {
    let (message, retry_after_ms, output_max) = (String::new(), None, None);
    Body::Turn(TurnEvent::AgentFailed { slot: slot(number), kind, message, retry_after_ms, output_max, received: 0 })
}

fn used(spending: &Spending) -> (u64, u64) {
    (spending.used(Metric::Tokens), spending.used(Metric::Money))
}

#[test]
fn what_was_reserved_gives_way_to_what_was_counted() {
    let mut spending = begun();
    happen(&mut spending, 1, request(1, 0, 1_000, 200));
    // A provider may charge for writing its cache, so that is what a request may cost.
    assert_eq!(used(&spending), (1_200, 1_000 * 3_750 + 200 * 15_000));
    let usage = Usage {
        input_tokens: Some(100),
        cache_read_tokens: Some(500),
        cache_write_tokens: Some(300),
        output_tokens: Some(50),
        reasoning_tokens: Some(20),
    };
    happen(&mut spending, 2, reply(1, Some(usage)));
    let cost = 100 * 3_000 + 500 * 300 + 300 * 3_750 + 50 * 15_000;
    assert_eq!(used(&spending), (450, cost));
    // What the cache has now is not paid in full again.
    happen(&mut spending, 3, request(2, 0, 1_000, 0));
    assert_eq!(used(&spending), (450 + 200, cost + 200 * 3_750 + 800 * 300));
}

#[test]
fn what_nobody_counted_is_as_much_as_was_sent_and_said() {
    let mut spending = begun();
    happen(&mut spending, 1, request(1, 0, 1_000, 5_000));
    happen(&mut spending, 2, reply(1, None));
    assert_eq!(spending.used(Metric::Tokens), 1_100);
    happen(&mut spending, 3, request(2, 1, 1_000, 5_000));
    happen(&mut spending, 4, reply(2, Some(Usage { output_tokens: Some(7), ..Usage::default() })));
    assert_eq!(spending.used(Metric::Tokens), 1_100 + 1_007);
    assert_eq!(spending.used(Metric::Turns), 2);
}

#[test]
fn dollars_are_a_bound_where_not_all_was_counted_or_has_a_price() {
    let counted = Usage { input_tokens: Some(10), output_tokens: Some(5), ..Usage::default() };
    let cached = Usage { cache_read_tokens: Some(100), ..counted };
    let after = |agent, usage| {
        let mut spending = begun();
        happen(&mut spending, 1, request(1, agent, 100, 10));
        happen(&mut spending, 2, reply(1, usage));
        spending
    };
    assert!(!after(0, Some(counted)).is_bound() && !after(0, Some(cached)).is_bound());
    assert!(after(0, None).is_bound());
    assert!(after(0, None).has_guesses() && after(1, None).has_guesses() && !after(0, Some(cached)).has_guesses());
    assert!(!after(1, None).is_bound(), "without a price there are no dollars");
    let mut unpriced = begun();
    unpriced.prices = vec![Some(Prices { cache_read: None, ..PRICES })].into();
    happen(&mut unpriced, 1, request(1, 0, 100, 10));
    happen(&mut unpriced, 2, reply(1, Some(cached)));
    assert!(unpriced.is_bound());
    assert_eq!(unpriced.cache_reads(), 100);
}

#[test]
fn a_failure_costs_what_it_may_have_cost() {
    for (kind, tokens) in [
        (FailureKind::Unreached, 0),
        (FailureKind::Busy, 0),
        (FailureKind::TooLong, 0),
        (FailureKind::ReplyTooLong, 0),
        (FailureKind::Rejected, 0),
        (FailureKind::Permanent, 0),
        (FailureKind::Transient, 1_000),
        (FailureKind::Cancelled, 1_000),
    ] {
        let mut spending = begun();
        happen(&mut spending, 1, request(1, 0, 1_000, 200));
        happen(&mut spending, 2, failed(1, kind));
        assert_eq!(spending.used(Metric::Tokens), tokens, "{kind:?}");
    }
    let mut spending = begun();
    happen(&mut spending, 1, request(1, 0, 1_000, 200));
    happen(&mut spending, 2, Body::Call(CallEvent::Interrupted { slot: slot(1), effect: InterruptedEffect::None }));
    assert_eq!(spending.used(Metric::Tokens), 1_000, "what was sent stays spent, and not the whole allowance");
    // What had arrived of a reply was said, up to the allowance.
    for (bytes, tokens) in [(400, 1_100), (u64::MAX, 1_200)] {
        let mut spending = begun();
        happen(&mut spending, 1, request(1, 0, 1_000, 200));
        let mut cancelled = failed(1, FailureKind::Cancelled);
        if let Body::Turn(TurnEvent::AgentFailed { received, .. }) = &mut cancelled {
            *received = bytes;
        }
        happen(&mut spending, 2, cancelled);
        assert_eq!(spending.used(Metric::Tokens), tokens, "{bytes}");
    }
}

#[test]
fn only_work_takes_time() {
    let mut spending = begun();
    let ask = Slot::first(What::Ask, 1);
    happen(&mut spending, 10, request(1, 0, 0, 0));
    happen(&mut spending, 15, reply(1, None));
    happen(&mut spending, 1_000, Body::Ask(AskEvent::Expired { slot: ask }));
    assert_eq!(spending.used(Metric::WallClock), 5_000, "an operator who thinks costs nothing");
    happen(&mut spending, 2_000, request(2, 0, 0, 0));
    happen(&mut spending, 2_003, Body::Host(HostEvent::Warning { text: String::new() }));
    happen(
        &mut spending,
        9_000,
        Body::Run(RunEvent::RunResume { options: None, accepted_damage: Vec::new(), offered: None }),
    );
    happen(&mut spending, 9_001, Body::Call(CallEvent::Interrupted { slot: slot(2), effect: InterruptedEffect::None }));
    assert_eq!(spending.used(Metric::WallClock), 8_000, "a run that nobody drives costs nothing");
}

#[test]
fn a_request_is_sent_only_if_a_reply_fits_behind_it() {
    let spending = begun();
    let tokens = |max| Budget { max_tokens: Some(max), ..Budget::default() };
    let dollars = |max| Budget { max_nano_dollars: Some(max), ..Budget::default() };
    for (budget, agent, expected) in [
        (Budget::default(), 0, Room::For { output: 4_000 }),
        (tokens(10_000), 0, Room::For { output: 4_000 }),
        (tokens(4_500), 0, Room::For { output: 3_500 }),
        (tokens(2_024), 0, Room::For { output: 1_024 }),
        (tokens(2_023), 0, Room::Over(Metric::Tokens)),
        (tokens(0), 0, Room::Over(Metric::Tokens)),
        (dollars(1_000_000_000), 0, Room::For { output: 4_000 }),
        (dollars(3_750_000 + 30_000_000), 0, Room::For { output: 2_000 }),
        (dollars(3_750_000 + 15_000_000), 0, Room::Over(Metric::Money)),
        (dollars(1), 1, Room::For { output: 4_000 }),
        (Budget { max_turns: Some(0), ..Budget::default() }, 0, Room::Over(Metric::Turns)),
        (Budget { max_minutes: Some(0), ..Budget::default() }, 0, Room::Over(Metric::WallClock)),
    ] {
        assert_eq!(spending.room(&budget, &Part::root(), agent, 1_000, 4_000), expected, "{budget:?}");
    }
    assert_eq!(
        spending.room(&tokens(1_100), &Part::root(), 0, 1_000, 100),
        Room::For { output: 100 },
        "short replies are enough"
    );
}

#[test]
fn what_is_added_is_warned_about_anew() {
    let mut spending = begun();
    let budget = Budget { max_tokens: Some(1_000), ..Budget::default() };
    happen(&mut spending, 1, request(1, 0, 700, 0));
    assert_eq!(spending.warning(&budget), None);
    happen(&mut spending, 2, request(2, 0, 100, 0));
    assert_eq!(spending.warning(&budget), Some((Metric::Tokens, 800, 1_000)));
    spending.note_warning(Metric::Tokens);
    assert_eq!(spending.warning(&budget), None);
    spending.add(Metric::Tokens, 100);
    assert_eq!(spending.limit(&budget, Metric::Tokens), Some(1_100));
    assert_eq!(spending.warning(&budget), None, "800 of 1,100 is less than most of it");
    happen(&mut spending, 4, request(3, 0, 100, 0));
    assert_eq!(spending.warning(&budget), Some((Metric::Tokens, 900, 1_100)));
}

#[test]
fn numbers_beyond_all_bounds_are_no_panic() {
    let mut spending = begun();
    happen(&mut spending, 1, request(1, 0, u64::MAX, u32::MAX));
    happen(&mut spending, 2, request(2, 9, u64::MAX, u32::MAX));
    let most = Some(u64::MAX);
    let usage = Usage {
        input_tokens: most,
        cache_read_tokens: most,
        cache_write_tokens: most,
        output_tokens: most,
        reasoning_tokens: most,
    };
    happen(&mut spending, 3, reply(1, Some(usage)));
    assert_eq!(spending.used(Metric::Tokens), u64::MAX);
    spending.add(Metric::Tokens, u64::MAX);
    let budget =
        Budget { max_tokens: most, max_minutes: most, max_nano_dollars: most, max_turns: most, max_tool_calls: None };
    let room = spending.room(&budget, &Part::root(), 0, u64::MAX, u32::MAX);
    assert!(matches!(room, Room::Over(_)), "{room:?}");
    assert!(spending.warning(&budget).is_some());
}

#[test]
fn a_limit_that_only_reservations_reach_is_waited_for() {
    let mut spending = begun();
    let budget = Budget { max_tokens: Some(4_000), ..Budget::default() };
    happen(&mut spending, 1, request(1, 0, 1_000, 2_000));
    assert_eq!(spending.room(&budget, &Part::root(), 0, 1_000, 2_000), Room::Later);
    happen(&mut spending, 2, reply(1, None));
    assert_eq!(spending.room(&budget, &Part::root(), 0, 1_000, 2_000), Room::For { output: 1_900 });
    let turns = Budget { max_turns: Some(2), ..Budget::default() };
    happen(&mut spending, 3, request(2, 0, 1_000, 2_000));
    assert_eq!(spending.room(&turns, &Part::root(), 0, 1_000, 2_000), Room::Later, "a turn in flight is one");
    happen(&mut spending, 4, reply(2, None));
    assert_eq!(spending.room(&turns, &Part::root(), 0, 1_000, 2_000), Room::Over(Metric::Turns));
}

#[test]
fn time_goes_on_while_anything_is_in_flight() {
    let mut spending = begun();
    happen(&mut spending, 10, request(1, 0, 0, 0));
    happen(&mut spending, 14, request(2, 0, 0, 0));
    happen(&mut spending, 15, reply(1, None));
    assert_eq!(spending.used(Metric::WallClock), 5_000, "the second overlaps the first, and the third the second");
    happen(&mut spending, 19, request(3, 0, 0, 0));
    happen(&mut spending, 20, reply(2, None));
    assert_eq!(spending.used(Metric::WallClock), 10_000);
    // An end that comes twice, as of a wait that was reattached, ends nothing else.
    happen(&mut spending, 21, Body::Ask(AskEvent::Expired { slot: Slot::first(What::Wait, 1) }));
    happen(&mut spending, 30, Body::Host(HostEvent::Warning { text: String::new() }));
    assert_eq!(spending.used(Metric::WallClock), 20_000);
}

#[test]
fn what_a_provider_has_in_its_cache_is_of_one_part_and_agent() {
    let mut spending = begun();
    happen(&mut spending, 1, request(1, 0, 1_000, 0));
    let usage = Usage { input_tokens: Some(100), cache_read_tokens: Some(900), ..Usage::default() };
    happen(&mut spending, 2, reply(1, Some(usage)));
    let (limit, sibling) = (Budget { max_tokens: Some(2_300), ..Budget::default() }, Part::root().child("voter"));
    let room = |part: &Part, agent| spending.room(&limit, part, agent, 1_000, 4_000);
    let left = 2_300 - spending.used(Metric::Tokens);
    assert_eq!(room(&Part::root(), 0), Room::For { output: u32::try_from(left - 100).unwrap() });
    assert_eq!(room(&sibling, 0), Room::For { output: u32::try_from(left - 1_000).unwrap() });
    assert_eq!(room(&Part::root(), 1), Room::For { output: u32::try_from(left - 1_000).unwrap() });
}
