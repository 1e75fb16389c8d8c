//! Tests of the counts and of the recommendations from them: one for each place where the peer's answer misleads (`C3`
//! to `C11` of its faults), and the properties that hold for every trace.

use jiff::Timestamp;
use proptest::prelude::*;

use super::history::{History, HistoryFold, Window};
use super::profile::{BadProfile, DetectorOverride, Profile};
use super::*;

const SLUG: &str = "orchard";

fn now() -> Timestamp {
    "2026-03-01T00:00:00Z".parse().expect("a time")
}

/// The lines of one run of the peer: what happens, a second apart from `begin`.
fn lines(begin: &str, events: &[&str]) -> Vec<String> {
    let begin: Timestamp = begin.parse().expect("a time");
    let header = r#""type":"trace_version","version":5,"openwar_version":"0.13.0","brief_id":"b""#;
    let at = |place: usize| begin + jiff::SignedDuration::from_secs(i64::try_from(place).expect("a few"));
    std::iter::once(header)
        .chain(events.iter().copied())
        .enumerate()
        .map(|(place, event)| format!(r#"{{{event},"at":"{:.3}"}}"#, at(place)))
        .collect()
}

fn enter(phase: &str) -> String {
    format!(r#""type":"phase_enter","phase":"{phase}""#)
}

fn exit(phase: &str) -> String {
    format!(r#""type":"phase_exit","phase":"{phase}","duration_ms":1000"#)
}

fn fire(detector: &str) -> String {
    format!(r#""type":"detector_fired","detector":"{detector}","payload":{{}}"#)
}

fn call(tool: &str) -> String {
    format!(r#""type":"tool_call","call_id":"c","name":"{tool}","args":{{}},"auth_decision":"allow""#)
}

/// A run that goes through intake and execution, with `middle` in it, and ends in `end`.
fn run(middle: &[String], end: &[&str]) -> Vec<String> {
    let mut events = vec![enter("intake"), exit("intake"), enter("execute")];
    events.extend_from_slice(middle);
    for phase in end {
        events.push(exit("execute"));
        events.push(enter(phase));
    }
    events
}

fn walked(lines: &[String]) -> Walk {
    let mut walk = Walk::default();
    lines.iter().for_each(|line| walk.line(line));
    walk
}

/// One trace: its events from a time on.
fn trace(begin: &str, events: &[String]) -> Vec<RunRecord> {
    let events: Vec<&str> = events.iter().map(String::as_str).collect();
    walked(&lines(begin, &events)).into_runs()
}

fn history(traces: &[Vec<RunRecord>]) -> History {
    let mut fold = HistoryFold::default();
    for (number, runs) in traces.iter().enumerate() {
        runs.iter().for_each(|run| fold.add(&format!("r{number:03}"), run));
    }
    fold.report(SLUG, "now", 3)
}

fn learned(traces: &[Vec<RunRecord>], min_samples: u64) -> Profile {
    learned_at(now(), traces, min_samples)
}

fn learned_at(now: Timestamp, traces: &[Vec<RunRecord>], min_samples: u64) -> Profile {
    let mut fold = LearnFold::new(now);
    for (number, runs) in traces.iter().enumerate() {
        runs.iter().for_each(|run| fold.add(&format!("r{number:03}"), run));
    }
    fold.profile(SLUG, min_samples)
}

fn day(number: usize) -> String {
    format!("2026-02-{:02}T10:00:00Z", number % 28 + 1)
}

/// So many runs, each made by `events`.
fn many(count: usize, events: impl Fn(usize) -> Vec<String>) -> Vec<Vec<RunRecord>> {
    (0..count).map(|number| trace(&day(number), &events(number))).collect()
}

#[track_caller]
fn sensitivity<'p>(profile: &'p Profile, detector: &str) -> &'p DetectorOverride {
    profile.detector_overrides.get(detector).unwrap_or_else(|| panic!("{detector} is listed"))
}

#[test]
fn c3_what_a_healthy_run_fires_is_never_loosened() {
    let healthy = run(
        &[fire("confirmation"), fire("phase_marker"), fire("banned_phrases"), call("read_file"), fire("completion")],
        &["completion"],
    );
    let profile = learned(&many(40, |_| healthy.clone()), 10);
    for detector in ["confirmation", "phase_marker", "banned_phrases", "completion"] {
        let row = sensitivity(&profile, detector);
        assert_eq!((row.sensitivity.as_str(), row.fire_rate), ("default", 1.0), "{detector}: {}", row.reason);
    }
    // The peer's rule on the same runs: the next one could never end.
    let mut peer = compat::PeerFold::default();
    for (number, runs) in many(40, |_| healthy.clone()).iter().enumerate() {
        peer.add(&format!("r{number}"), runs, 0, None);
    }
    assert_eq!(sensitivity(&peer.profile(SLUG, "now"), "completion").sensitivity, "disabled");
}

#[test]
fn a_detector_is_loosened_when_its_fires_were_wrong() {
    // Every run fires the blocker detector, is resumed, and comes to its end.
    let resumed = run(&[fire("blocker"), exit("execute"), enter("blocker"), enter("execute")], &["done"]);
    let profile = learned(&many(12, |_| resumed.clone()), 10);
    let row = sensitivity(&profile, "blocker");
    assert_eq!(row.sensitivity, "loose", "{}", row.reason);
    let evidence = row.evidence.as_ref().expect("no recommendation without its evidence");
    assert_eq!((evidence.rate, evidence.decided, evidence.runs.len()), (Some(1.0), Some(12), 12));
    assert!(evidence.interval.is_some_and(|(low, high)| low > 0.7 && high <= 1.0));
    assert!(evidence.expires_at.as_str() > "2026-03-01", "{}", evidence.expires_at);

    // Half of them halt for good: too few were wrong.
    let halted = run(&[fire("blocker"), exit("execute"), enter("blocker")], &[]);
    let mixed = many(12, |number| if number % 2 == 0 { resumed.clone() } else { halted.clone() });
    let row = learned(&mixed, 10).detector_overrides["blocker"].clone();
    assert_eq!((row.sensitivity.as_str(), row.evidence), ("default", None), "{}", row.reason);
    // Nine runs are not enough, and an operator may want more than there are.
    assert_eq!(sensitivity(&learned(&many(9, |_| resumed.clone()), 5), "blocker").sensitivity, "default");
    assert_eq!(sensitivity(&learned(&many(12, |_| resumed.clone()), 13), "blocker").sensitivity, "default");
}

#[test]
fn a_yes_to_what_was_announced_is_a_false_positive_and_says_what_that_means() {
    let approved = |response: &str| {
        run(
            &[
                fire("destructive"),
                format!(r#""type":"auth_prompt","categories":[],"response":"{response}","acts":["filesystem_delete"]"#),
            ],
            &["completion"],
        )
    };
    let yes = learned(&many(12, |number| approved(if number % 2 == 0 { "y" } else { "Y" })), 10);
    let row = sensitivity(&yes, "destructive");
    assert_eq!(row.sensitivity, "loose");
    assert!(row.reason.contains(CALIBRATION_TRAP), "{}", row.reason);
    assert!(history(&many(3, |_| approved("y"))).notes.iter().any(|note| note.contains("it is doing its job")));
    assert_eq!(sensitivity(&learned(&many(12, |_| approved("n")), 10), "destructive").sensitivity, "default");
}

#[test]
fn a_resume_that_halted_again_counts_half() {
    let twice =
        run(&[fire("blocker"), exit("execute"), enter("blocker"), enter("execute"), fire("blocker")], &["blocker"]);
    let judged = history(&[trace(&day(1), &twice)]);
    let blocker = judged.detectors.iter().find(|row| row.detector == "blocker").expect("listed");
    // The first was half wrong; nobody resumed after the second, so that it was right.
    assert_eq!((blocker.false_positives.decided, blocker.false_positives.wrong), (2, 0.5));
    assert_eq!(blocker.false_positives.rate, Some(0.25));
}

#[test]
fn a_completion_that_nothing_came_of_is_a_false_positive() {
    for (end, wrong) in [(vec!["completion"], 0.0), (vec!["done"], 0.0), (vec!["blocker"], 1.0), (vec![], 1.0)] {
        let history = history(&[trace(&day(1), &run(&[fire("completion")], &end))]);
        let row = history.detectors.iter().find(|row| row.detector == "completion").expect("listed");
        assert_eq!((row.false_positives.decided, row.false_positives.wrong), (1, wrong), "{end:?}");
    }
}

#[test]
fn where_the_seed_defines_no_false_positive_none_is_computed() {
    let history =
        history(&[trace(&day(1), &run(&[fire("banned_phrases"), fire("phase_marker"), fire("confirmation")], &[]))]);
    for row in &history.detectors {
        let judged = &row.false_positives;
        assert!(!judged.defined && judged.rate.is_none() && judged.undefined_because.is_some(), "{}", row.detector);
    }
    assert_eq!(history.detectors.len(), 3);
}

#[test]
fn c5_a_phase_without_calls_is_a_sample() {
    let quiet = run(&[], &["completion"]);
    let busy = run(&[call("read_file"), call("read_file"), call("read_file"), call("read_file")], &["completion"]);
    let history = history(&many(4, |number| if number == 0 { busy.clone() } else { quiet.clone() }));
    let execute = history.phase_distribution.iter().find(|row| row.phase == "execute").expect("listed");
    assert_eq!((execute.samples, execute.p50, execute.p90, execute.max), (4, 0.0, 2.8, 4));
}

#[test]
fn c6_a_tool_that_was_offered_and_never_called_is_dead() {
    let offered = r#"{"schema_version":3,"meta":{"brief_id":"b","project":"orchard"},"brief":{"frontmatter":{"authorized_costs":["filesystem_write"]}}}"#;
    let facts = PeerFacts::read(offered).expect("a session");
    let runs = |count| {
        let mut traces = many(count, |_| run(&[call("read_file")], &["done"]));
        traces.iter_mut().for_each(|runs| facts.complete(runs));
        traces
    };
    let dead = |history: &History| -> Vec<String> {
        history.tool_usage.iter().filter(|tool| tool.dead).map(|tool| tool.tool.clone()).collect()
    };
    let three = history(&runs(3));
    assert!(dead(&three).contains(&"write_file".to_owned()), "{three:?}");
    assert!(!dead(&three).contains(&"read_file".to_owned()) && !dead(&three).contains(&"shell_exec".to_owned()));
    assert!(dead(&history(&runs(2))).is_empty(), "two runs are too few");
    assert!(!learned(&runs(9), 10).tool_usage["write_file"].dead);
    assert!(learned(&runs(10), 10).tool_usage["write_file"].dead);
    assert_eq!(learned(&runs(10), 10).counts().tool_callouts, 6);
    let evidence = learned(&runs(10), 10).tool_usage["write_file"].evidence.clone().expect("it says why");
    assert_eq!((evidence.runs.len(), evidence.rate, evidence.interval), (10, Some(0.0), Some((0.0, 0.2775))));
    assert!(learned(&runs(10), 10).tool_usage["read_file"].evidence.is_none());
}

#[test]
fn c7_a_budget_is_not_raised_by_noise_of_binary_fractions() {
    // The peer's ninetieth percentile of these is 10.000000000000004, and its budget 16.
    let calls = |count: usize| run(&vec![call("read_file"); count], &["done"]);
    let counts = [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 11, 11];
    let traces: Vec<_> = counts.iter().map(|count| trace(&day(1), &calls(*count))).collect();
    let budget = &learned(&traces, 10).phase_budgets["execute"];
    assert_eq!((budget.observed_p90, budget.tool_calls), (10.0, 15));
}

#[test]
fn c8_rates_are_compared_before_they_are_rounded() {
    // 118 fires in 139 runs are 0.8489: rounded to two places that would pass a bar of 0.85.
    let resumed = run(&[fire("blocker"), exit("execute"), enter("blocker"), enter("execute")], &["done"]);
    let quiet = run(&[], &["done"]);
    let share = |fires: usize, of: usize| {
        let traces = many(of, |number| if number < fires { resumed.clone() } else { quiet.clone() });
        sensitivity(&learned(&traces, 10), "blocker").clone()
    };
    assert_eq!((share(118, 139).sensitivity.as_str(), share(118, 139).fire_rate), ("default", 0.8489));
    assert_eq!(share(17, 20).sensitivity, "loose", "exactly the bar");
}

#[test]
fn c9_a_trace_of_the_peer_is_cut_into_its_runs() {
    let first = run(&[fire("blocker")], &["blocker"]);
    // Somebody resumes: a phase is entered although the one before was never left.
    let resumed: Vec<String> = first.iter().cloned().chain([enter("execute"), call("read_file")]).collect();
    assert_eq!(trace(&day(1), &resumed).len(), 2);
    // Somebody runs the brief again: phase 0 is entered again.
    let again: Vec<String> = run(&[], &["done"]).into_iter().chain(run(&[], &["done"])).collect();
    let runs = trace(&day(1), &again);
    assert_eq!(runs.iter().map(|run| run.number).collect::<Vec<_>>(), [1, 2]);
    // Going to and fro between phases begins nothing.
    let to_and_fro = run(&[exit("execute"), enter("destructive"), exit("destructive"), enter("execute")], &["done"]);
    assert_eq!(trace(&day(1), &to_and_fro).len(), 1);
    // A header begins one.
    let mut twice = lines(&day(1), &[&enter("intake")]);
    twice.extend(lines(&day(2), &[&enter("execute")]));
    assert_eq!(walked(&twice).into_runs().len(), 2);
    // An exit on a damaged line is no resume.
    let mut damaged = lines(&day(1), &[&enter("execute"), &exit("execute"), &enter("blocker")]);
    damaged[2] = "~~~".to_owned();
    assert_eq!(walked(&damaged).into_runs().len(), 1);
    // A resume is dated by itself, so that a window finds it.
    let runs = [lines(&day(1), &[&enter("execute")]), lines(&day(20), &[&enter("execute")])].concat();
    let runs = walked(&runs).into_runs();
    let window = Window { since: Some("2026-02-10T00:00:00Z".parse().expect("a time")), until: None };
    assert_eq!(runs.iter().filter(|run| window.holds(run)).count(), 1);
}

#[test]
fn c10_a_line_of_anything_else_is_counted_and_skipped() {
    let mut walk = walked(&lines(&day(1), &[&enter("execute"), &call("read_file")]));
    let before = walk.clone().into_runs();
    for line in [
        "null",
        "5",
        "\"x\"",
        "[]",
        "{}",
        "~~~",
        r#"{"type":5}"#,
        r#"{"type":"tool_call","name":7}"#,
        r#"{"type":"phase_exit"}"#,
    ] {
        walk.line(line);
    }
    walk.line("");
    walk.unreadable();
    assert_eq!(walk.damaged(), 10);
    assert_eq!(walk.into_runs(), before, "nothing of it was counted");
    assert!(PeerFacts::read("null").is_none() && PeerFacts::read(r#"{"meta":{"brief_id":5,"project":"x"}}"#).is_none());
}

#[test]
fn c11_every_list_has_the_order_of_code_units() {
    let names = ["b-M", "b-m", "b-_m", "b-12", "b-5", "\u{e000}", "😀"];
    let mut fold = HistoryFold::default();
    for name in names {
        for run in &trace(&day(1), &run(&[call(name), fire(name)], &[name])) {
            fold.add(name, run);
        }
    }
    let history = fold.report(SLUG, "now", 3);
    let expected = ["b-12", "b-5", "b-M", "b-_m", "b-m", "😀", "\u{e000}"];
    assert_eq!(history.source_runs, expected);
    assert_eq!(history.tool_usage.iter().map(|row| row.tool.as_str()).collect::<Vec<_>>(), expected);
    assert_eq!(history.detectors.iter().map(|row| row.detector.as_str()).collect::<Vec<_>>(), expected);
    let phases: Vec<&str> = history.phase_distribution.iter().map(|row| row.phase.as_str()).collect();
    assert_eq!(phases, ["b-12", "b-5", "b-M", "b-_m", "b-m", "execute", "intake", "😀", "\u{e000}"]);
}

#[test]
fn old_runs_count_less_and_then_not_at_all() {
    let resumed = run(&[fire("blocker"), exit("execute"), enter("blocker"), enter("execute")], &["done"]);
    let traces = many(12, |_| resumed.clone());
    let later = |days: i64| {
        let now = now() + jiff::SignedDuration::from_hours(24 * days);
        learned_at(now, &traces, 10)
    };
    assert_eq!(sensitivity(&later(0), "blocker").sensitivity, "loose");
    // After a half-life twelve runs count for six, and ten are wanted.
    assert_eq!(sensitivity(&later(95), "blocker").sensitivity, "default");
    assert_eq!(later(95).phase_budgets.len(), 0, "there were no calls");
    let gone = later(400);
    assert!(gone.source_runs.is_empty() && gone.detector_overrides.is_empty());
    assert!(gone.notes.iter().any(|note| note.contains("24 runs count for nothing")), "{:?}", gone.notes);

    // What expires says when, and is right about it.
    let expires: Timestamp =
        sensitivity(&later(0), "blocker").evidence.as_ref().expect("evidence").expires_at.parse().expect("a time");
    let day = jiff::SignedDuration::from_hours(24);
    assert_eq!(sensitivity(&learned_at(expires - day, &traces, 10), "blocker").sensitivity, "loose");
    assert_eq!(sensitivity(&learned_at(expires, &traces, 10), "blocker").sensitivity, "default");
}

#[test]
fn a_profile_is_read_whole_or_not_at_all() {
    let profile = learned(&many(12, |_| run(&[call("x")], &["done"])), 10);
    let text = sorted_json(&profile);
    assert_eq!(Profile::read(&text).expect("what we write"), profile);
    let read = |change: &dyn Fn(&mut serde_json::Value)| {
        let mut value: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        change(&mut value);
        Profile::read(&value.to_string())
    };
    assert!(
        matches!(read(&|value| value["schema_version"] = 2.into()), Err(BadProfile::Version { found }) if found == "2")
    );
    assert!(matches!(
        read(&|value| value["schema_version"] = serde_json::Value::Null),
        Err(BadProfile::Version { .. })
    ));
    for field in ["slug", "generated_at", "source_runs", "detector_overrides", "phase_budgets", "tool_usage", "notes"] {
        let without = read(&|value| drop(value.as_object_mut().expect("an object").remove(field)));
        assert!(matches!(without, Err(BadProfile::BadFields(_))), "{field}");
    }
    for (text, kind) in [("{", "NotJson"), ("[]", "NotAnObject"), ("null", "NotAnObject")] {
        let error = Profile::read(text).expect_err(text);
        assert!(format!("{error:?}").starts_with(kind), "{error:?}");
    }
}

#[test]
fn what_a_crew_uses_becomes_a_budget_of_its_roles() {
    let line =
        |seq: usize, rest: &str| format!(r#"{{"seq":{seq},"at":"2026-02-01T10:00:{:02}.000Z",{rest}}}"#, seq % 60);
    let mut fold = LearnFold::new(now());
    for number in 0..10 {
        let part = r#""part":"crew/subtask/1.1/executor""#;
        let journal: Vec<String> = [
            r#""type":"trace_version","version":6,"adjutant_version":"0.1.0","brief_id":"b""#.to_owned(),
            format!(r#""type":"phase_enter",{part},"phase":"execute""#),
            format!(r#""type":"tool_call",{part},"slot":"call/1.1","call_id":"c","name":"x","args":{{}},"auth_decision":"allow""#),
            format!(r#""type":"agent_reply",{part},"slot":"turn/1.1","text":"t","usage":{{"input_tokens":80,"output_tokens":20}},"stop":"end_turn","duration_ms":1"#),
            r#""type":"run_end","outcome":"completed""#.to_owned(),
        ]
        .iter()
        .enumerate()
        .map(|(seq, rest)| line(seq, rest))
        .collect();
        let walk = walked(&journal);
        assert_eq!((walk.damaged(), walk.is_ours()), (0, true), "{journal:?}");
        walk.into_runs().iter().for_each(|run| fold.add(&format!("r{number}"), run));
    }
    let budget = &fold.profile(SLUG, 10).role_budgets["executor"];
    assert_eq!((budget.tool_calls, budget.tokens, budget.sample_size), (6, Some(125), 10));
}

#[test]
fn what_nobody_counted_is_no_sample_of_tokens() {
    let invoke = |source: &str, tokens: u64| {
        format!(
            r#""type":"role_invoke","part":"crew/subtask/1.1/executor","role":"executor","tokens_in":{tokens},"tokens_out":0,"tokens_source":"{source}","duration_ms":1"#
        )
    };
    let tokens = |counted: usize| {
        let mut fold = LearnFold::new(now());
        for number in 0..12 {
            let more = if number < counted { invoke("reported", 100) } else { invoke("unknown", 0) };
            let lines =
                [r#"{"type":"trace_version","version":5,"brief_id":"b","at":"2026-02-01T10:00:00.000Z"}"#.to_owned()];
            let turns = [invoke("reported", 100), more];
            let turns = turns.iter().map(|turn| format!(r#"{{{turn},"at":"2026-02-01T10:00:01.000Z"}}"#));
            let lines: Vec<String> = lines.into_iter().chain(turns).collect();
            walked(&lines).into_runs().iter().for_each(|run| fold.add(&format!("r{number}"), run));
        }
        fold.profile(SLUG, 5).role_budgets["executor"].tokens
    };
    assert_eq!(tokens(12), Some(250));
    assert_eq!(tokens(10), Some(250), "ten were counted whole");
    assert_eq!(tokens(9), None, "nine are too few, and what nobody counted is not nothing");
}

/// Lines of every kind that a walk looks at, damage included.
fn any_line() -> impl Strategy<Value = String> {
    let phases = prop_oneof!["intake", "execute", "blocker", "destructive", "completion", "done"];
    let detectors = prop_oneof!["blocker", "destructive", "completion", "phase_marker"];
    let event = prop_oneof![
        phases.clone().prop_map(|phase| enter(&phase)),
        phases.prop_map(|phase| exit(&phase)),
        "[a-c]".prop_map(|tool| call(&tool)),
        detectors.prop_map(|detector| fire(&detector)),
        "[yYn]".prop_map(|answer| format!(r#""type":"auth_prompt","categories":["git_push"],"response":"{answer}""#)),
        Just(r#""type":"trace_version","version":5,"brief_id":"b""#.to_owned()),
    ];
    (event, 0u32..60, 0u32..60).prop_map(|(event, minute, second)| {
        if second == 13 {
            "~~~".to_owned()
        } else {
            format!(r#"{{{event},"at":"2026-02-01T10:{minute:02}:{second:02}.000Z"}}"#)
        }
    })
}

proptest! {
    /// A walk that was put away and taken up again is the walk that was never interrupted.
    #[test]
    fn pieces_do_not_matter(lines in proptest::collection::vec(any_line(), 0..60), cut in any::<prop::sample::Index>()) {
        let whole = walked(&lines);
        let (before, after) = lines.split_at(if lines.is_empty() { 0 } else { cut.index(lines.len()) });
        let kept = serde_json::to_string(&walked(before)).expect("JSON");
        let mut resumed: Walk = serde_json::from_str(&kept).expect("what was put away");
        after.iter().for_each(|line| resumed.line(line));
        prop_assert_eq!(resumed, whole);
    }

    /// Runs may be added in any order.
    #[test]
    fn order_does_not_matter(traces in proptest::collection::vec(proptest::collection::vec(any_line(), 0..30), 1..6), seed in any::<u64>()) {
        let traces: Vec<(String, Vec<RunRecord>)> =
            traces.iter().enumerate().map(|(number, lines)| (format!("r{number}"), walked(lines).into_runs())).collect();
        let mut other = traces.clone();
        other.rotate_left(usize::try_from(seed % traces.len() as u64).expect("small"));
        other.reverse();
        let made = |traces: &[(String, Vec<RunRecord>)]| {
            let (mut history, mut learned) = (HistoryFold::default(), LearnFold::new(now()));
            for (name, run) in traces.iter().flat_map(|(name, runs)| runs.iter().map(move |run| (name, run))) {
                history.add(name, run);
                learned.add(name, run);
            }
            (sorted_json(&history.report(SLUG, "now", 3)), sorted_json(&learned.profile(SLUG, 10)))
        };
        prop_assert_eq!(made(&traces), made(&other));
    }

    /// Whatever was recorded, nothing that a run can't do without is loosened beyond `loose`.
    #[test]
    fn nothing_safety_critical_is_disabled(lines in proptest::collection::vec(any_line(), 0..40), copies in 1usize..60) {
        let runs = walked(&lines).into_runs();
        let profile = learned(&vec![runs; copies], 5);
        for (name, row) in &profile.detector_overrides {
            prop_assert!(matches!(row.sensitivity.as_str(), "default" | "loose" | "strict"), "{name}: {row:?}");
            let is_changed = row.sensitivity != "default";
            prop_assert_eq!(is_changed, row.evidence.is_some(), "no recommendation without its evidence");
        }
    }
}
