use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

const VECTORS: &str =
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/vectors/openwar/detectors/vectors.jsonl"));

fn reading(text: &str) -> TurnReading {
    read(text, &[], &Sensitivities::default())
}

fn reading_at(text: &str, detector: Detector, sensitivity: Sensitivity) -> TurnReading {
    read(text, &[], &Sensitivities::default().with(detector, sensitivity))
}

/// Takes out the rules' ids: they are ours, the peer's were never recorded.
fn without_rule_ids(mut reading: Value) -> Value {
    for payload in reading.as_object_mut().unwrap().values_mut() {
        if let Some(payload) = payload.as_object_mut() {
            payload.remove("matched_pattern");
        }
    }
    reading
}

#[test]
fn every_vector_of_the_peer_reads_the_same() {
    for line in VECTORS.lines() {
        let vector: Value = serde_json::from_str(line).unwrap();
        let mut decided = without_rule_ids(decide(&vector).unwrap());
        let consultations = decided.as_object_mut().unwrap().remove("consultations").unwrap();
        assert_eq!(decided, vector["expected"], "{line}");
        assert_eq!(consultations, vector["consultations"], "{line}");
    }
}

#[test]
fn a_detector_that_halts_looks_even_where_it_is_disabled() {
    let all = Detector::ALL.into_iter().map(|detector| (detector, Sensitivity::Disabled)).collect();
    let reading = read("# Phase 0\nBlocker: x\nI'll git push.\n## Phase 4\nCertainly", &[], &all);
    let bypassed = reading.consultations.iter().filter(|consultation| consultation.bypassed);
    let names: Vec<_> = bypassed.map(|consultation| consultation.detector.name()).collect();
    assert_eq!(names, ["confirmation", "banned_phrases", "phase_marker", "completion"]);
    let fired: Vec<_> = reading.fired().map(|(detector, _)| detector.name()).collect();
    assert_eq!(fired, ["blocker", "destructive"]);
}

#[test]
fn fired_detectors_come_in_one_order_with_their_payloads() {
    let reading = reading("## Phase 4\nOf course.\nBlocker: key");
    let fired: Vec<_> = reading.fired().collect();
    let names: Vec<_> = fired.iter().map(|(detector, _)| detector.name()).collect();
    assert_eq!(names, ["blocker", "banned_phrases", "phase_marker", "completion"]);
    assert_eq!(fired[1].1, json!({"count": 1, "phrases": ["of course"]}));
    assert_eq!(fired[3].1, json!({"complete": true, "matched_pattern": "phase_4_heading"}));
}

#[test]
fn what_is_missing_or_mistyped_is_the_callers_error() {
    for (input, part) in [
        (json!({"sensitivities": {}}), "`text`"),
        (json!({"text": null}), "string"),
        (json!({"text": 7}), "string"),
        (json!({"text": "x", "sensitivities": "loose"}), "map"),
        (json!("text"), "turn"),
    ] {
        let error = decide(&input).unwrap_err();
        assert!(error.contains(part), "{input}: {error}");
    }
}

#[test]
fn an_unknown_sensitivity_reads_as_the_default_and_is_on_record() {
    let text = "I'm blocked";
    let plain = decide(&json!({"text": text})).unwrap();
    let with = |sensitivities: Value| decide(&json!({"text": text, "sensitivities": sensitivities})).unwrap();
    let mut unknown = with(json!({"destructive": "loose", "blocker": "eager", "completion": 3, "mood": "loose"}));
    let expected = json!([
        {"detector": "blocker", "sensitivity": "eager", "fired": true, "bypassed": false},
        {"detector": "destructive", "sensitivity": "loose", "fired": false, "bypassed": false},
        {"detector": "completion", "sensitivity": 3, "fired": false, "bypassed": false},
    ]);
    assert_eq!(unknown["consultations"].take(), expected);
    unknown["consultations"] = json!([]);
    assert_eq!(unknown, plain);
    assert_eq!(with(json!({"blocker": null, "destructive": "default", "mood": 1})), plain);
    assert_eq!(decide(&json!({"text": text, "sensitivities": null, "authorized_costs": null})).unwrap(), plain);
}

/// Not timed: a reading that looks twice at the same megabyte for each line or verb would not end here.
#[test]
fn a_hostile_megabyte_is_read_once() {
    let megabyte = |piece: &str| piece.repeat((1 << 20) / piece.len());
    let half = |piece: &str| piece.repeat((1 << 19) / piece.len());
    let repeated = ["\n", "\r\n", " \u{a0}", "```\n", "``` ", "# \n", "phase 2 ", "not ", "I'll ", "I'll delete "];
    let mut texts: Vec<String> = repeated.into_iter().map(megabyte).collect();
    texts.extend(["not delete file ", "delete-"].into_iter().map(|piece| format!("I'll not {}", megabyte(piece))));
    texts.push(half(" ") + &half("``` "));
    texts.push(format!("I'll not {}{}", half(" "), half("delete ")));
    for text in texts {
        let _ = reading(&text);
    }
}

#[test]
fn names_are_read_back() {
    for detector in Detector::ALL {
        assert_eq!(detector.to_string().parse(), Ok(detector));
        assert_eq!(json!(detector), detector.name());
    }
    for sensitivity in Sensitivity::ALL {
        assert_eq!(sensitivity.to_string().parse(), Ok(sensitivity));
        assert_eq!(json!(sensitivity), sensitivity.name());
    }
}

mod confirmation {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: [bool; 3]) {
        let found = [Sensitivity::Default, Sensitivity::Loose, Sensitivity::Strict].map(|sensitivity| {
            reading_at(text, Detector::Confirmation, sensitivity).confirmation.expect("it looked").found
        });
        assert_eq!(found, expected, "default, loose, strict of {text:?}");
    }

    const FIVE: &str = "Objective: a\nDeliverables: b\nConstraints: c\nTools: d\nUnknowns: e\n";

    #[test]
    fn a_marker_or_the_sections_confirm() {
        check("## Phase 0", [true, true, false]);
        check("text\n\n  #### phase\t0: x", [true, true, false]);
        check("##### Phase 0", [false, false, false]);
        check("## Phase 01", [false, false, false]);
        check("Phase 0: x", [false, false, false]);
        check("# Confirmation  summary", [true, true, false]);
        check("Confirmation Summary — here", [true, true, false]);
        check("Confirmation Summary here", [false, false, false]);
        check("# Confirmationsummary", [false, false, false]);
        check("Goals: a\nDeliverable: b\nConstraint: c\nTool required: d", [true, false, false]);
        check("- Objective: a\n- Deliverables: b\n- Constraints: c\n- Tools: d", [false, false, false]);
    }

    #[test]
    fn strict_wants_all_five_and_the_mode() {
        check(FIVE, [true, false, false]);
        check(&format!("{FIVE}Per-step or auto-pilot?"), [true, false, true]);
        check(&format!("```\n{FIVE}Per-step or auto-pilot?\n```"), [true, false, false]);
    }

    #[test]
    fn sections_are_quoted_as_written() {
        let reading = reading("## Objective\nDon’t “break”\n\n## Notes / unknowns\n**x**\n### Tools required:\nnone");
        let sections = reading.confirmation.expect("it looked").sections;
        assert_eq!(sections.objective.as_deref(), Some("Don’t “break”"));
        assert_eq!(sections.unknowns.as_deref(), Some("**x**"));
        assert_eq!(sections.tools_required.as_deref(), Some("none"));
        assert_eq!(sections.constraints, None);
    }

    #[test]
    fn an_empty_section_does_not_swallow_the_next() {
        let sections = reading("## Objective\n\n## Deliverables\nb").confirmation.expect("it looked").sections;
        assert_eq!(sections.objective.as_deref(), Some(""));
        assert_eq!(sections.deliverables.as_deref(), Some("b"));
    }

    #[test]
    fn the_mode_is_asked_for_with_a_question_mark() {
        for (text, asked) in [
            ("per step?", true),
            ("perstep or what?", true),
            ("Auto‑pilot?", true),
            ("which execution mode do you want?", true),
            ("auto-pilot.", false),
            ("which way?", false),
        ] {
            assert_eq!(reading(text).confirmation.expect("it looked").asked_for_mode, asked, "{text}");
        }
    }
}

mod blocker {
    use super::*;

    #[track_caller]
    fn check(text: &str, rule: Option<&str>) {
        assert_eq!(reading(text).blocker.matched_pattern, rule, "{text:?}");
    }

    #[test]
    fn markers_and_phrases_halt() {
        check("## Phase 2", Some("phase_2_heading"));
        check("Phase 2 – no token", Some("phase_2_label"));
        check("Phase 2 is next", None);
        check("Blocker : x", Some("blocker_label"));
        check("# Blocker: x", None);
        check("I hit a wall.", Some("hit_a_wall"));
        check("I hit a wallet.", None);
        check("I can't  proceed", Some("cannot_proceed"));
        check("I can't continue", None);
        check("cannot resolve this", Some("cannot_resolve"));
        check("need the operator decisions", Some("need_operator"));
        check("kneed your help", None);
        check("stopping here", Some("stopping"));
        check("Waiting for operator", Some("waiting_for_operator"));
    }

    #[test]
    fn typographic_apostrophes_count_s12() {
        check("I’m blocked by lint", Some("i_am_blocked"));
        check("I can’t proceed", Some("cannot_proceed"));
        assert_eq!(reading("So: I’m blocked").blocker.reason.as_deref(), Some("I’m blocked"));
    }

    #[test]
    fn what_is_fenced_is_not_said_c32() {
        check("```\n## Phase 2\n```", None);
        check("```\nI'm blocked\n```\nBut no. I'm blocked", Some("i_am_blocked"));
        check("```\n## Phase 2\n```\n## Phase 2", Some("phase_2_heading"));
        check("```\nnever closed\nI'm blocked", None);
        check("```\nnever closed\n## Phase 2", Some("phase_2_heading"));
    }

    #[test]
    fn loose_takes_markers_and_strict_takes_hints() {
        let at = |text, sensitivity| reading_at(text, Detector::Blocker, sensitivity).blocker.blocked;
        assert!(!at("I'm blocked", Sensitivity::Loose));
        assert!(at("Blocker: x", Sensitivity::Loose));
        for hint in ["Unable to proceed.", "This is blocked on review", "we can't continue", "I’m stuck"] {
            assert!(at(hint, Sensitivity::Strict) && !at(hint, Sensitivity::Default), "{hint}");
        }
    }

    #[test]
    fn a_reason_is_eight_lines_and_600_units_at_most() {
        let lines: String = (1..=12).map(|number| format!("line {number}\n")).collect();
        let reason = reading(&format!("Blocker: x\n{lines}")).blocker.reason.unwrap();
        assert_eq!(reason.lines().count(), 8);
        let reason = reading(&format!("Blocker: {}", "😀".repeat(400))).blocker.reason.unwrap();
        assert_eq!(reason.encode_utf16().count(), 599);
    }
}

mod destructive {
    use super::*;

    #[track_caller]
    fn check(text: &str, actions: &[&str]) {
        let found: Vec<_> = reading(text).destructive.actions.iter().map(|act| act.action).collect();
        assert_eq!(found, actions, "{text:?}");
    }

    #[test]
    fn every_row_has_its_words() {
        check("I'll wipe the database", &["filesystem_delete"]);
        check("I’ll rm -rf the build directory", &["filesystem_delete"]);
        check("I'm going to force-push", &["git_history_rewrite"]);
        check("I plan to rebase --root", &["git_history_rewrite"]);
        check("Let me git reset --hard", &["git_history_rewrite"]);
        check("Next, I will git  push", &["git_push"]);
        check("I'll deploy production", &["deploy"]);
        check("I'll helm upgrade it", &["deploy"]);
        check("I'll comment on the PR", &["external_message"]);
        check("I'll generate it with Gemini", &["paid_api"]);
        check("I'll uninstall that library", &["package_change"]);
        check("I'll edit the workflow", &["ci_modify"]);
        check("I'll stop the daemon", &["process_kill"]);
        check("I'll deploy docs", &[]);
        check("We delete the folder", &[]);
    }

    #[test]
    fn verb_and_object_stand_in_one_sentence_near_each_other() {
        check(&format!("I'll delete {} file", "x".repeat(78)), &["filesystem_delete"]);
        check(&format!("I'll delete {} file", "x".repeat(79)), &[]);
        check("I'll delete v1.2 of the file", &[]);
        check("I'll delete\nthe file", &[]);
        check("I'll see. Delete the file", &[]);
    }

    #[test]
    fn a_negation_disarms_its_own_verb_only_s12() {
        check("I'll delete the file, not the folder", &["filesystem_delete"]);
        check("I can't wait, so I'll delete the folder", &["filesystem_delete"]);
        check("Don't worry: I'll delete the folder", &["filesystem_delete"]);
        check("I will not hesitate to delete the folder", &["filesystem_delete"]);
        check("I'll not only delete the file", &["filesystem_delete"]);
        check("I won't stop the server but I'll delete the file", &["filesystem_delete"]);
        check("I won't delete the folder", &[]);
        check("I won’t delete the folder", &[]);
        check("I will not delete the folder", &[]);
        check("I will not touch or delete the folder", &[]);
        check("I will never, and I mean it, delete", &[]);
        check("Instead of deleting the folder I'll move it", &[]);
        check("Let me edit it instead of remove the file", &[]);
        check("I don't think I'll delete the file", &[]);
        check("I'll make sure not to delete the folder", &[]);
    }

    #[test]
    fn every_unauthorized_category_is_reported_s12() {
        let authorized = [Category::new("Publish")];
        let text = "I'll git push. Then I’ll delete the branch.\nI'll git push again.";
        let reading = read(text, &authorized, &Sensitivities::default());
        let payload = reading.payload(Detector::Destructive);
        let expected = json!({
            "destructive": true, "action": "filesystem_delete", "authorized": false, "matched_pattern": "filesystem_delete",
            "actions": [
                {"action": "git_push", "authorized": true, "sentence": "I'll git push."},
                {"action": "filesystem_delete", "authorized": false, "sentence": "Then I’ll delete the branch."},
            ],
        });
        assert_eq!(payload, expected);
        check("I'll delete the folder and git push", &["filesystem_delete", "git_push"]);
        check("I'll remove the package from the repo", &["filesystem_delete"]);
    }

    #[test]
    fn only_the_rows_own_tokens_authorize() {
        for (token, authorized) in [
            ("git_push", true),
            ("PUSH", true),
            ("everything", true),
            ("*", true),
            ("git_write", false),
            ("shell_exec", false),
        ] {
            let reading = read("I'll git push", &[Category::new(token)], &Sensitivities::default());
            assert_eq!(reading.destructive.authorized, authorized, "{token}");
        }
    }

    #[test]
    fn a_fenced_sentence_does_not_hide_the_same_one_outside_c32() {
        check("```\nI'll git push\n```", &[]);
        check("```\nI'll git push\n```\nI'll git push", &["git_push"]);
    }

    #[test]
    fn loose_wants_imminence_and_strict_no_intent() {
        let at = |text, sensitivity| reading_at(text, Detector::Destructive, sensitivity).destructive.destructive;
        assert!(at("First thing I'll delete the folder", Sensitivity::Loose));
        assert!(!at("I'll delete the folder", Sensitivity::Loose));
        for text in
            ["Removing the old folder", "delete the folder", "Now `rm -rf build`", "Force-pushing", "Pushing to main"]
        {
            assert!(at(text, Sensitivity::Strict) && !at(text, Sensitivity::Default), "{text}");
        }
        assert!(!at("Moving it instead of deleting the folder", Sensitivity::Strict));
    }
}

mod voice_markers_and_completion {
    use super::*;

    #[test]
    fn banned_phrases_are_counted_in_the_order_of_the_rules() {
        let banned =
            reading("It’s important to note: I’d be happy to leverage it. Leverage! As an AI").banned_phrases.unwrap();
        assert_eq!(banned.count, 5);
        assert_eq!(banned.phrases, ["i'd be happy to", "as an ai", "it's important to note", "leverage"]);
    }

    #[test]
    fn code_is_not_voice() {
        let count =
            |text, sensitivity| reading_at(text, Detector::BannedPhrases, sensitivity).banned_phrases.unwrap().count;
        assert_eq!(count("```\ncertainly\n```\n`utilize` x", Sensitivity::Default), 0);
        assert_eq!(count("```\ncertainly\n```\n`utilize` x", Sensitivity::Strict), 1);
        assert_eq!(count("```\ncertainly", Sensitivity::Default), 1);
        assert_eq!(count("a ` certainly\n` x", Sensitivity::Default), 1);
        assert_eq!(count("certainly", Sensitivity::Loose), 0);
        assert_eq!(count("certainly, certainly", Sensitivity::Loose), 2);
        assert_eq!(count("uncertainly", Sensitivity::Default), 0);
    }

    #[test]
    fn declared_phases_are_line_heads_outside_fences() {
        let declared = |text, sensitivity| {
            let marker = reading_at(text, Detector::PhaseMarker, sensitivity).phase_marker.unwrap();
            marker.declared.iter().map(|phase| json!(phase).as_str().unwrap().to_owned()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(
            declared("# Phase 1 then phase 2\n phase3\n**Phase 4**\nPhase 10", Sensitivity::Default),
            "execute destructive"
        );
        assert_eq!(declared("#\nphase 1\n", Sensitivity::Default), "execute");
        assert_eq!(declared("```\n## Phase 2\n```\n## Phase 4", Sensitivity::Default), "completion");
        assert_eq!(declared("Phase 1\n## Phase 2", Sensitivity::Strict), "blocker");
    }

    #[track_caller]
    fn check_completion(text: &str, rule: Option<&str>) {
        assert_eq!(reading(text).completion.expect("it looked").matched_pattern, rule, "{text:?}");
    }

    #[test]
    fn a_run_completes_on_markers_and_phrases_that_mean_it() {
        check_completion("## Phase 4", Some("phase_4_heading"));
        check_completion("Phase 4: done", Some("phase_4_label"));
        check_completion("Phase 4 comes next", None);
        check_completion("#### Completion report", Some("completion_heading"));
        check_completion("All deliverables are shipped.", Some("all_deliverables"));
        check_completion("The brief is complete.", Some("brief_complete"));
        check_completion("The brief is completed.", None);
        check_completion("Not all deliverables are complete.", None);
        check_completion("```\n## Phase 4\n```", None);
        check_completion("```\nopen\n## Phase 4", Some("phase_4_heading"));
    }

    #[test]
    fn strict_completion_wants_a_marker_that_no_fence_could_hide() {
        let at =
            |text| reading_at(text, Detector::Completion, Sensitivity::Strict).completion.expect("it looked").complete;
        assert!(at("## Phase 4"));
        assert!(!at("All deliverables are shipped."));
        assert!(!at("```\nopen\n## Phase 4"));
    }
}

fn turn() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("```".to_owned()),
        Just("\n".to_owned()),
        Just("## Phase 2".to_owned()),
        Just("I’m blocked".to_owned()),
        Just("I'll delete the file".to_owned()),
        Just(" not ".to_owned()),
        Just("Objective:".to_owned()),
        Just("\u{FEFF}".to_owned()),
        Just("~~~".to_owned()),
        Just("# Completion".to_owned()),
        Just("`leverage`".to_owned()),
        Just(". ".to_owned()),
        Just("\r\n".to_owned()),
        "\\PC{0,6}",
    ];
    proptest::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn any_text_can_be_read(text in prop_oneof![any::<String>(), turn()], at in 0usize..4) {
        let sensitivity = Sensitivity::ALL[at];
        let all = Detector::ALL.into_iter().map(|detector| (detector, sensitivity)).collect();
        let reading = read(&text, &[], &all);
        let quoted = reading.blocker.reason.iter().chain(reading.destructive.actions.iter().map(|act| &act.sentence));
        for quote in quoted {
            prop_assert!(text.contains(quote.as_str()), "{quote:?} is not in {text:?}");
        }
    }

    #[test]
    fn a_fenced_block_before_a_turn_changes_no_blocker(text in turn()) {
        let fenced = format!("```\n## Phase 2\nI'm blocked\nBlocker: x\n```\n{text}");
        let (with, without) = (reading(&fenced).blocker, reading(&text).blocker);
        prop_assert_eq!(with.blocked, without.blocked);
        prop_assert_eq!(with.matched_pattern, without.matched_pattern);
    }
}
