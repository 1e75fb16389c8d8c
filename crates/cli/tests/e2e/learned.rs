//! Tests the effects of a learned profile in a run, as an operator meets them.

use serde_json::{Value, json};

use crate::home::{RUN, SUMMARY, TestHome};

const REPORT: &str = "## Phase 4\n\nDone.\n";
const ARGS: &[&str] = &["run", "../brief.md", "--answers", "../answers.yaml"];
const PROFILE: &str = "home/projects/orchard/learned.json";

/// A home whose agent looks around three times, with these fields in its brief.
fn looking(fields: &str) -> TestHome {
    let home = TestHome::new();
    let look = json!({"text": "Looking, of course.", "calls": [{"tool": "list_dir", "args": {"path": "."}}]});
    home.scripted(
        &format!("mode: auto\nlearned_profile: orchard\n{fields}"),
        &json!([SUMMARY, look, look, look, {"repeat": 2, "text": REPORT}]),
    );
    home.write("answers.yaml", "- {kind: confirmation, answer: go}\n");
    home
}

fn profile(detectors: Value, phases: Value) -> String {
    let profile = json!({
        "schema_version": 1, "slug": "orchard", "generated_at": "2026-01-01T00:00:00.000Z", "source_runs": ["a"],
        "detector_overrides": detectors, "phase_budgets": phases, "tool_usage": {}, "notes": [],
    });
    profile.to_string()
}

fn detector(sensitivity: &str) -> Value {
    json!({"sensitivity": sensitivity, "reason": "", "fire_rate": 1, "sample_size": 20})
}

fn budget(calls: u64) -> Value {
    json!({"execute": {"tool_calls": calls, "observed_p50": 1, "observed_p90": 2, "sample_size": 20}})
}

fn events(home: &TestHome, kind: &str) -> Vec<Value> {
    home.journal(RUN).into_iter().filter(|event| event["type"] == kind).collect()
}

#[test]
fn a_profile_that_is_not_there_is_a_warning_on_record_and_the_run_goes_on() {
    let home = looking("");
    home.run(ARGS)
        .expect_code(0)
        .expect_text("there is no learned profile of orchard")
        .expect_text("adjutant learn orchard");
    let is_about = |event: &&Value| event["text"].as_str().unwrap_or_default().contains("learned profile of orchard");
    assert_eq!(events(&home, "warning").iter().filter(is_about).count(), 1);
    assert!(
        events(&home, "learned_profile_applied").is_empty() && events(&home, "learned_budget_consulted").is_empty()
    );
}

#[test]
fn a_profile_that_can_not_be_used_ends_it_with_2_before_anything_is_on_record() {
    for bad in ["{", "[]", r#"{"schema_version": 2}"#, r#"{"schema_version": 1}"#] {
        let home = looking("");
        home.write(PROFILE, bad);
        home.run(ARGS).expect_code(2).expect_text("learned.json").expect_text("adjutant learn orchard");
        assert!(!home.journal_path(RUN).exists(), "{bad}");
        // A run that does not ask for it does not mind.
        home.write("brief.md", home.read("brief.md").replace("learned_profile: orchard\n", ""));
        home.run(ARGS).expect_code(0);
    }
}

#[test]
fn calls_of_a_phase_end_the_sitting_with_5_and_a_changed_profile_changes_nothing_for_the_run() {
    let home = looking("");
    home.write(PROFILE, profile(json!({}), budget(2)));
    home.run(ARGS)
        .expect_code(5)
        .expect_text("phase execute: at most 2 tool calls (from learned profile orchard)")
        .expect_text("learned profile orchard: 0 detectors, 1 phase budgets, 0 dead tools")
        .expect_text("! limit reached: 2 tool calls of 2 tool calls in phase execute (learned profile orchard)")
        .expect_text("How many more tool calls?");
    home.write(PROFILE, profile(json!({}), budget(99)));
    home.run(&["resume", RUN]).expect_code(5);
    home.write(PROFILE, "{");
    home.run(&["resume", RUN, "--extend", "1"]).expect_code(0);
    assert_eq!(events(&home, "tool_call").len(), 3);
    home.run(&["replay", RUN]).expect_code(0);

    let applied = events(&home, "learned_profile_applied");
    assert_eq!(applied.len(), 1);
    assert_eq!(applied[0]["applied"], json!({"detectors": 0, "phase_budgets": 1, "tool_callouts": 0}));
    assert_eq!((&applied[0]["slug"], &applied[0]["schema_version"]), (&json!("orchard"), &json!(1)));
    let consulted = events(&home, "learned_budget_consulted");
    let said = |phase: &str| {
        let one = consulted.iter().find(|event| event["phase"] == phase).expect("each phase that was entered");
        (one["recommended"].clone(), one["active"].clone(), one["source"].clone())
    };
    assert_eq!(said("execute"), (json!(2), json!(2), json!("learned")));
    assert_eq!(said("intake"), (json!(0), json!(0), json!("default")));
    let tools = &events(&home, "run_start")[0]["tools"];
    let names: Vec<&str> = tools.as_array().expect("a list").iter().filter_map(Value::as_str).collect();
    assert!(names.contains(&"list_dir") && names.is_sorted(), "{names:?}");
}

#[test]
fn the_brief_wins_over_the_profile_and_the_profile_over_the_configuration() {
    for (fields, config, learned, holds, from_profile) in [
        ("", "", "loose", "loose", true),
        ("", "strict", "loose", "loose", true),
        ("", "strict", "default", "strict", false),
        ("detectors:\n  banned_phrases: strict", "disabled", "loose", "strict", false),
        ("", "", "disabled", "disabled", true),
    ] {
        let home = looking(fields);
        if !config.is_empty() {
            home.write("home/config.toml", format!("[detectors]\nbanned_phrases = \"{config}\"\n"));
        }
        home.write(PROFILE, profile(json!({"banned_phrases": detector(learned)}), json!({})));
        let said = home.run(ARGS).expect_code(0);
        let shown = said.stdout.contains(&format!("detector banned_phrases: {holds} (from learned profile orchard)"));
        assert_eq!(shown, from_profile, "{fields} {config} {learned}:\n{}", said.stdout);
        let consulted = events(&home, "learned_sensitivity_consulted");
        assert!(!consulted.is_empty());
        assert!(consulted.iter().all(|event| event["sensitivity"] == holds), "{fields} {config} {learned}");
        home.run(&["replay", RUN]).expect_code(0);
    }
}

#[test]
fn what_ten_runs_teach_holds_for_the_next_one() {
    let look = |calls: usize| {
        let look = json!({"text": "Looking.", "calls": [{"tool": "list_dir", "args": {"path": "."}}]});
        let looks = std::iter::repeat_n(look, calls);
        Value::from_iter(std::iter::once(json!(SUMMARY)).chain(looks).chain([json!({"repeat": 2, "text": REPORT})]))
    };
    let home = TestHome::new();
    home.write("answers.yaml", "- {kind: confirmation, answer: go}\n");
    home.scripted("mode: auto", &look(2));
    for _ in 0..10 {
        home.run(ARGS).expect_code(0);
    }
    let project = project(&home);
    home.run(&["learn", &project, "--apply"]).expect_code(0);
    // Nine of ten runs made two calls; the profile leaves five more.
    let before = home.run(&["learn", &project, "--what-if", "learned"]).expect_code(0);
    assert!(before.stdout.contains("beyond limits  0"), "{}", before.stdout);
    home.scripted(&format!("mode: auto\nlearned_profile: {project}"), &look(9));
    home.run(ARGS)
        .expect_code(5)
        .expect_text(&format!("phase execute: at most 7 tool calls (from learned profile {project})"))
        .expect_text(&format!("7 tool calls of 7 tool calls in phase execute (learned profile {project})"));
}

#[test]
fn doctor_shows_what_of_a_profile_would_be_in_force() {
    let home = looking("");
    home.write(PROFILE, profile(json!({"banned_phrases": detector("loose")}), budget(2)));
    let said = home.run(&["doctor", "--brief", "../brief.md", "--json"]);
    let report: Value = serde_json::from_str(&said.stdout).expect("JSON");
    let settings = report["settings"].as_array().expect("settings");
    let of_profile = settings.iter().filter(|row| row["from"] == "learned profile orchard");
    let of_profile: Vec<_> = of_profile.map(|row| (row["name"].clone(), row["value"].clone())).collect();
    let expected = [("detectors.banned_phrases", "loose"), ("phase execute", "at most 2 tool calls")];
    assert_eq!(of_profile, expected.map(|(name, value)| (json!(name), json!(value))));
    home.write("bad.md", "no brief");
    home.run(&["doctor", "--brief", "../bad.md"]).expect_code(2).expect_text("adjutant validate");
    home.run(&["doctor", "--brief", "../none.md"]).expect_code(2);
}

#[test]
fn a_brief_with_a_number_of_calls_of_its_own_has_that_one() {
    let home = looking("budgets:\n  max_tool_calls_per_subtask: 1");
    home.write(PROFILE, profile(json!({}), budget(2)));
    home.run(ARGS).expect_code(5).expect_text("! limit reached: 1 tool calls of 1 tool calls\n");
    let consulted = events(&home, "learned_budget_consulted");
    let last = consulted.last().expect("one at least");
    assert_eq!((&last["recommended"], &last["active"], &last["source"]), (&json!(2), &json!(1), &json!("brief")));
}

#[test]
fn what_a_session_needs_is_not_disabled_by_a_profile_and_what_expired_is_named() {
    let home = looking("");
    let mut old = detector("loose");
    old["evidence"] = json!({"runs": ["a"], "weighted_sample": 1, "expires_at": "2026-01-01T00:00:00.000Z"});
    home.write(PROFILE, profile(json!({"completion": detector("disabled"), "blocker": old}), json!({})));
    home.run(ARGS)
        .expect_code(0)
        .expect_text("not applied of the learned profile orchard: `detector blocker=loose` expired at 2026-01-01");
    let consulted = events(&home, "learned_sensitivity_consulted");
    assert!(consulted.iter().all(|event| event["detector"] == "completion" && event["sensitivity"] == "disabled"));
    assert!(consulted.iter().any(|event| event["fired"] == true), "{consulted:?}");
    home.run(&["inspect", RUN, "--learned"]).expect_code(0).expect_text("Consultation summary");
}

#[test]
fn a_crew_has_the_sensitivities_and_the_limits_of_its_roles() {
    let home = TestHome::with_examples();
    let run = "2026-01-15-CREW";
    let text = home.read("examples/crew/brief.md");
    let start = text.find("project:").expect("a project");
    home.write("examples/crew/brief.md", format!("{}learned_profile: orchard\n{}", &text[..start], &text[start..]));
    let mut learned: Value =
        serde_json::from_str(&profile(json!({"banned_phrases": detector("loose")}), budget(1))).expect("JSON");
    learned["role_budgets"] =
        json!({"executor": {"tool_calls": 90, "sample_size": 20}, "critic": {"tool_calls": 1, "sample_size": 20}});
    home.write(PROFILE, learned.to_string());
    let said = home.run_with(&["run", "../examples/crew/brief.md"], b"go\n").expect_code(0);
    let journal = home.journal(run);
    let of = |kind: &str, part: &str| {
        let is_of =
            |event: &&Value| event["type"] == kind && event["part"].as_str().unwrap_or_default().ends_with(part);
        journal.iter().filter(is_of).cloned().collect::<Vec<_>>()
    };
    assert!(!of("learned_sensitivity_consulted", "executor").is_empty(), "{}", said.stdout);
    let executor = of("learned_budget_consulted", "executor");
    let execute = executor.iter().find(|event| event["phase"] == "execute").expect("phase 1");
    let is_briefs = home.read("examples/crew/brief.md").contains("max_tool_calls_per_subtask");
    assert_eq!(execute["source"], if is_briefs { "brief" } else { "learned" });
    home.run(&["replay", run]).expect_code(0);
}

/// A home with one run of `orchard` whose write was asked about, and what its sessions folder held then.
fn with_a_run() -> (TestHome, Vec<u8>) {
    let home = TestHome::new();
    let write = json!({"tool": "write_file", "args": {"path": "a.txt", "content": "a"}});
    let writes = json!({"text": "Certainly! I'd be happy to help.", "calls": [write]});
    home.scripted("mode: auto", &json!([SUMMARY, writes, {"repeat": 2, "text": REPORT}]));
    home.write("answers.yaml", "- {kind: confirmation, answer: go}\n- {kind: destructive, answer: \"y\"}\n");
    home.run(ARGS).expect_code(0);
    let journal = std::fs::read(home.journal_path(RUN)).expect("a journal");
    (home, journal)
}

/// The project of the runs of these tests.
fn project(home: &TestHome) -> String {
    events(home, "run_start")[0]["project"].as_str().expect("a project").to_owned()
}

#[test]
fn what_if_tells_what_each_kind_of_change_would_have_changed_and_changes_nothing() {
    let (home, journal) = with_a_run();
    let project = project(&home);
    let grant = json!({
        "v": 1, "op": "grant", "grant_id": "g1", "action": "write", "category": "filesystem_write",
        "scope": "persistent", "granted_at": "2020-01-01T00:00:00Z",
    });
    home.write("grants.jsonl", format!("{grant}\n"));
    home.write("tried.json", profile(json!({"banned_phrases": detector("disabled")}), budget(1)));
    let asked = |changes: &[&str]| -> Value {
        let mut args = vec!["learn", project.as_str(), "--json"];
        args.extend(changes.iter().flat_map(|change| ["--what-if", change]));
        let said = home.run(&args).expect_code(0);
        assert_eq!(said.stdout, home.run(&args).stdout, "the same twice");
        serde_json::from_str(&said.stdout).expect("JSON")
    };
    for (change, kind, what, name) in [
        ("authorize=filesystem_write", "newly_allowed", "tools", "write_file"),
        ("grant=../grants.jsonl", "newly_allowed", "categories", "filesystem_write"),
        ("banned_phrases=disabled", "newly_silent", "detectors", "banned_phrases"),
        ("../tried.json", "newly_silent", "detectors", "banned_phrases"),
    ] {
        let answer = asked(&[change]);
        assert_eq!((&answer["runs"], &answer[kind]["count"]), (&json!(1), &json!(1)), "{change}: {answer:#}");
        assert_eq!(answer[kind][what], json!({ name: 1 }), "{change}: {answer:#}");
        assert_eq!((&answer["drift"]["turns"], &answer["drift"]["calls"]), (&json!(0), &json!(0)), "{change}");
    }
    let both = asked(&["authorize=filesystem_write", "banned_phrases=disabled"]);
    assert_eq!((&both["newly_allowed"]["count"], &both["newly_silent"]["count"]), (&json!(1), &json!(1)));
    let nothing = asked(&["withdraw=git_push"]);
    assert_eq!(nothing["newly_asked"]["count"], 0);
    home.run(&["learn", &project, "--what-if", "candidate"])
        .expect_code(0)
        .expect_text("Nothing would have been decided otherwise.");
    home.run(&["learn", &project, "--what-if", "authorize=filesystem_write"])
        .expect_code(0)
        .expect_text("newly allowed  1, in 1 run\n  by tool: write_file 1\n  by category: filesystem_write 1\n")
        .expect_text(&format!("  {RUN} call 1: write_file: a.txt ("));
    home.run(&["learn", &project, "--what-if", "authorize=filesystem_write", "--until", "2020-01-01"])
        .expect_code(0)
        .expect_text("Decided anew: 0 runs");
    assert_eq!(std::fs::read(home.journal_path(RUN)).expect("a journal"), journal);
    assert!(!home.path(&format!("home/projects/{project}/learned.json")).exists());
}

#[test]
fn what_if_takes_only_what_it_can_try() {
    let home = TestHome::new();
    home.write("tried.json", profile(json!({}), json!({})));
    home.write("bad.json", "{\"schema_version\": 9}");
    for (changes, said) in [
        (&["blokker=loose"][..], "did you mean `blocker`"),
        (&["blocker=deaf"], "is no sensitivity"),
        (&["authorize=gut_push"], "there is no category `gut_push`"),
        (&["learned"], "no profile of `orchard` is applied"),
        (&["../none.json"], "there is no profile `../none.json`"),
        (&["../bad.json"], "schema_version"),
        (&["grant=../none.jsonl"], "can't read the grants"),
        (&["../tried.json", "candidate"], "one profile can be tried at a time"),
    ] {
        let mut args = vec!["learn", "orchard"];
        args.extend(changes.iter().flat_map(|change| ["--what-if", change]));
        home.run(&args).expect_code(2).expect_text(said);
    }
    home.run(&["learn", "orchard", "--what-if", "blocker=loose", "--apply"]).expect_code(2);
    home.run(&["learn", "orchard", "--what-if", "blocker=loose"]).expect_code(0).expect_text("0 runs");
}

#[test]
fn what_if_reads_what_agents_of_the_peer_said_and_says_what_it_can_not_decide() {
    let home = TestHome::new();
    let said = |role: &str, content: &str| json!({"role": role, "content": content, "phase": "execute"});
    let session = json!({
        "meta": {"brief_id": "2024-06-01-R", "project": "orchard", "schema_version": 1, "phase": "done"},
        "brief": {"frontmatter": {"project": "orchard", "authorized_costs": []}},
        "messages": [said("assistant", "Certainly! I'd be happy to help."), said("user", "go on")],
    });
    home.write("home/sessions/2024-06-01-R.json", session.to_string());
    home.run(&["learn", "orchard", "--what-if", "banned_phrases=disabled", "--what-if", "authorize=git_push"])
        .expect_code(0)
        .expect_text("newly silent   1, in 1 run\n  by detector: banned_phrases 1\n")
        .expect_text("what its gate decided can't be decided anew");
}
