//! The crew of the example, as an operator runs it: planned, done, judged, done again; killed and resumed; by three
//! adapters at once.

use std::fs;

use adjutant_loopback::{Format, Provider, Reply};
use serde_json::{Value, json};

use crate::home::TestHome;

const RUN: &str = "2026-01-15-CREW";
const ARGS: &[&str] = &["run", "../examples/crew/brief.md"];

fn events(home: &TestHome, kind: &str) -> Vec<Value> {
    home.journal(RUN).into_iter().filter(|event| event["type"] == kind).collect()
}

fn states(home: &TestHome) -> Vec<String> {
    events(home, "coordinator_state").iter().map(|event| event["state"].as_str().expect("a state").to_owned()).collect()
}

#[track_caller]
fn is_done(home: &TestHome) {
    assert_eq!(home.read("work/hello.txt"), "Hello there!\n");
    assert_eq!(home.read("work/bye.txt"), "Good-bye.\n");
    assert_eq!(
        states(home),
        [
            "plan", "dispatch", "execute", "review_step", "retry", "execute", "review_step", "next_subtask",
            "dispatch", "execute", "review_step", "next_subtask", "complete"
        ]
    );
}

#[test]
fn the_example_is_planned_done_judged_and_done_again() {
    let home = TestHome::with_examples();
    home.run_with(ARGS, b"go\n")
        .expect_code(0)
        .expect_text("planner: scripted")
        .expect_text("1. Write the greeting")
        .expect_text("needs_retry: The line has no exclamation mark.")
        .expect_text("completed");
    is_done(&home);
    // One question in all: the operator's word on the run covers its sub-tasks.
    assert_eq!(events(&home, "question").len(), 1);
    home.run(&["replay", RUN]).expect_code(0);
    home.run(&["inspect", RUN, "--cost"]).expect_code(0).expect_text("reviewer");
    home.run(&["explain", RUN, "3"]).expect_code(0).expect_text("write_file");
    home.run(&["explain", RUN, "--authority"])
        .expect_code(0)
        .expect_text("the brief authorizes: filesystem_write")
        .expect_text("reviewer   may read; may ever hold: filesystem_read; holds here: nothing");
}

#[test]
fn a_crew_is_done_once_the_checks_of_its_brief_pass_or_its_operator_lets_it_pass() {
    for (check, input, code) in
        [("test -f bye.txt", "go\n", 0), ("test -f other.txt", "go\n", 4), ("test -f other.txt", "go\npass\n", 0)]
    {
        let home = TestHome::with_examples();
        let brief = home.read("examples/crew/brief.md");
        home.write("examples/crew/brief.md", brief.replacen("---\n", &format!("---\nchecks: [\"{check}\"]\n"), 1));
        let said = home.run_with(ARGS, input.as_bytes()).expect_code(code);
        let ran = events(&home, "check_run");
        assert_eq!(ran.len(), 1, "{check}: {}", said.stdout);
        assert_eq!(ran[0]["passed"], check == "test -f bye.txt");
        let asked = said.stdout.contains("Every sub-task passed, and checks of the brief fail");
        assert_eq!(asked, check == "test -f other.txt");
        home.run(&["replay", RUN]).expect_code(0);
    }
}

#[test]
fn a_role_thinks_with_an_effort_of_its_own() {
    let home = TestHome::with_examples();
    let brief = home.read("examples/crew/brief.md");
    home.write("examples/crew/brief.md", brief.replacen("---\n", "---\nrole_effort: {reviewer: high}\n", 1));
    home.run_with(&[ARGS, &["--effort", "low"]].concat(), b"go\n").expect_code(0).expect_text("completed");
    is_done(&home);
    let options = &home.journal(RUN)[1]["options"];
    assert_eq!((&options["effort"], &options["role_agents"]["reviewer"]["effort"]), (&json!("low"), &json!("high")));
    assert_eq!(options["role_agents"].as_object().expect("a map").len(), 1);
}

#[test]
fn a_role_of_ones_own_says_how_hard_it_thinks_and_the_brief_says_it_last() {
    for (front, effort) in [("", "max"), ("role_effort: {careful: low}\n", "low")] {
        let home = TestHome::with_examples();
        let careful = "[roles.careful]\nbase = 'reviewer'\ninstruction = 'Look twice.'\neffort = 'max'\n";
        home.write("home/config.toml", careful);
        let brief = home.read("examples/crew/brief.md").replace("reviewer", "careful");
        home.write("examples/crew/brief.md", brief.replacen("---\n", &format!("---\n{front}"), 1));
        home.run_with(ARGS, b"").expect_code(4);
        let options = &home.journal(RUN)[1]["options"];
        assert_eq!(options["role_agents"]["careful"]["effort"], effort);
        home.run(&["roles"]).expect_code(0).expect_text("effort max; from ");
    }
}

#[test]
fn a_crew_that_nobody_confirms_waits_and_goes_on_with_the_answer() {
    let home = TestHome::with_examples();
    home.run_with(ARGS, b"").expect_code(4);
    assert!(!home.path("work/hello.txt").exists());
    home.run_with(&["resume", RUN], b"go\n").expect_code(0);
    is_done(&home);
}

#[test]
fn one_agent_alone_does_what_the_operator_says_alone() {
    let home = TestHome::with_examples();
    let script = json!([crate::home::SUMMARY, "## Phase 4\nAll deliverables are complete.", "Delivered."]);
    home.write("alone.json", script.to_string());
    home.run_with(&[ARGS, &["--single", "--script", "../alone.json"]].concat(), b"go\n").expect_code(0);
    assert_eq!(states(&home), [""; 0]);
}

#[test]
fn what_is_wrong_with_a_crew_is_said_before_phase_0() {
    let home = TestHome::with_examples();
    for (more, said) in [
        (&["--roles", "planner"][..], "a crew needs a planner and an executor"),
        (&["--roles", "planner,executer"], "there is no role `executer`"),
        (&["--roles", "planner,executer"], "planner, executor, reviewer, critic; did you mean `executor`?"),
        (&["--roles", "planner,Executor"], "can't name a role"),
        (&["--role-adapter", "reviewer=nobody"], "there is no adapter `nobody`"),
        (&["--role-adapter", "reviewer=anthropic"], "ANTHROPIC_API_KEY"),
        (&["--roles", "planner,executor", "--single"], "cannot be used with"),
    ] {
        home.run_with(&[ARGS, more].concat(), b"go\n").expect_code(2).expect_text(said);
        assert!(!home.journal_path(RUN).exists(), "{more:?}");
    }
}

#[test]
fn a_planner_alone_plans_and_leaves_nothing() {
    let home = TestHome::with_examples();
    home.run(&["plan", "../examples/crew/brief.md"])
        .expect_code(0)
        .expect_text("1. Write the greeting")
        .expect_text("2. Write the farewell");
    assert!(!home.journal_path(RUN).exists() && fs::read_dir(home.path("work")).expect("listed").next().is_none());
    home.run(&["roles"]).expect_code(0).expect_text("reviewer   reads, and changes nothing");
    home.run(&["roles", "--json"]).expect_code(0).expect_text("\"may_read\"");
}

/// The crew of the example, its reviewer a role that is defined in a configuration.
fn with_security(home: &TestHome) {
    for (file, from, to) in [
        ("brief.md", "executor, reviewer]", "executor, security]\nrole_grants:\n  executor: [filesystem_write]"),
        ("script.yaml", "/reviewer:", "/security:"),
    ] {
        let text = home.read(&format!("examples/crew/{file}"));
        assert!(text.contains(from), "{file}");
        home.write(&format!("examples/crew/{file}"), text.replace(from, to));
    }
}

const SECURITY: &str = "[roles.security]\nbase = 'reviewer'\ninstruction = 'Look for keys.'\n";

#[test]
fn a_role_that_is_configured_judges_and_a_resume_has_the_same() {
    let home = TestHome::with_examples();
    with_security(&home);
    home.run_with(ARGS, b"go\n").expect_code(2).expect_text("there is no such role");
    home.run(&["validate", "../examples/crew/brief.md"]).expect_code(2);

    home.write("home/config.toml", SECURITY);
    home.run(&["validate", "../examples/crew/brief.md"]).expect_code(0);
    home.run(&["plan", "../examples/crew/brief.md"]).expect_code(0).expect_text("1. Write the greeting");
    home.run(&["roles"])
        .expect_code(0)
        .expect_text("security   as reviewer: reads, and changes nothing; from ")
        .expect_text("config.toml:1:8\n           Look for keys.");
    let listed: Value = serde_json::from_str(&home.run(&["roles", "--json"]).expect_code(0).stdout).expect("json");
    let security = listed.as_array().and_then(|roles| roles.last()).expect("a role");
    assert_eq!((security["role"].as_str(), security["base"].as_str()), (Some("security"), Some("reviewer")));
    assert!(security["orders"].as_str().is_some_and(|orders| orders.ends_with("Look for keys.")));

    home.run_with(ARGS, b"").expect_code(4).expect_text("security (as reviewer): scripted");
    // What the run took from the configuration is in its journal.
    fs::remove_file(home.path("home/config.toml")).expect("removed");
    home.run_with(&["resume", RUN], b"go\n").expect_code(0).expect_text("== security (crew/subtask/1.1/security) ==");
    is_done(&home);
    home.run(&["replay", RUN]).expect_code(0);
    home.run(&["inspect", RUN, "--cost"]).expect_code(0).expect_text("security");
    home.run(&["explain", RUN, "--authority"])
        .expect_code(0)
        .expect_text("executor   may read; may ever hold: *; the brief grants it: filesystem_write; holds here: filesystem_write")
        .expect_text("security   as reviewer; may read; may ever hold: filesystem_read; holds here: nothing");
}

#[test]
fn a_role_that_a_project_defines_counts_once_it_is_trusted_and_speaks_in_a_fence() {
    let home = TestHome::with_examples();
    with_security(&home);
    home.write("work/.adjutant/config.toml", SECURITY);
    home.run(&["validate", "../examples/crew/brief.md"]).expect_code(2).expect_text("adjutant trust add");
    home.run_with(ARGS, b"go\n").expect_code(2);
    home.run(&["trust", "add", "--yes"]).expect_code(0);
    home.run_with(ARGS, b"go\n").expect_code(0);
    let orders = events(&home, "message").into_iter().find(|event| {
        event["part"].as_str().is_some_and(|part| part.ends_with("/security")) && event["kind"] == "standing_orders"
    });
    let orders = orders.expect("orders")["text"].as_str().expect("a text").to_owned();
    assert!(orders.contains("Data from the project's definition of the role security."), "{orders}");
    assert!(orders.contains("````data\nLook for keys.\n````"), "{orders}");
}

#[test]
fn what_is_wrong_with_a_defined_role_is_said_before_phase_0() {
    let home = TestHome::with_examples();
    let crew = "planner,executor,security";
    for (defined, more, said) in [
        ("[roles.security]\nbase = 'boss'\n", &[][..], "`roles.security.base`"),
        ("[roles.critic]\nbase = 'critic'\ninstruction = 'x'\n", &[], "no other can have its name"),
        (SECURITY, &["--roles", "planner,executor,securty"], "did you mean `security`?"),
        ("[roles.security]\nbase = 'executor'\ninstruction = 'x'\n", &["--roles", crew], "are both `executor`"),
        (
            "[roles.security]\nbase = 'critic'\ninstruction = 'x'\nadapter = 'nobody'\n",
            &["--roles", crew],
            "no adapter `nobody`",
        ),
        (
            "[roles.security]\nbase = 'critic'\ninstruction = 'x'\nadapter = 'anthropic'\n",
            &["--roles", crew],
            "ANTHROPIC_API_KEY",
        ),
    ] {
        home.write("home/config.toml", defined);
        home.run_with(&[ARGS, more].concat(), b"go\n").expect_code(2).expect_text(said);
        assert!(!home.journal_path(RUN).exists(), "{defined}");
    }
}

/// Replaces something in the script of the example.
fn rescripted(home: &TestHome, from: &str, to: &str) {
    let script = home.read("examples/crew/script.yaml");
    assert!(script.contains(from), "{from}");
    home.write("examples/crew/script.yaml", script.replace(from, to));
}

#[test]
fn a_plan_that_speaks_of_what_nothing_authorizes_is_warned_of() {
    let home = TestHome::with_examples();
    rescripted(&home, "Write bye.txt.", "Write bye.txt, then git push it.");
    let plan = &["plan", "../examples/crew/brief.md"];
    home.run(plan)
        .expect_code(0)
        .expect_text("! sub-task `bye` speaks of `git push`, and `git_push` is not authorized: it will be asked about");
    let said = home.run(&[&plan[..], &["--json"]].concat()).expect_code(0);
    let events: Vec<Value> = said.stdout.lines().map(|line| serde_json::from_str(line).expect("json")).collect();
    let warned: Vec<&Value> = events.iter().filter(|event| event["type"] == "scope_warning").collect();
    let [warning] = warned.as_slice() else { panic!("{warned:?}") };
    assert_eq!(
        (&warning["subtask"], &warning["category"], &warning["word"]),
        (&json!("bye"), &json!("git_push"), &json!("git push"))
    );
    // Between steps it stands in the question about the plan.
    home.run_with(&[ARGS, &["--mode", "gated"]].concat(), b"gated\n")
        .expect_code(4)
        .expect_text("2. Write the farewell")
        .expect_text("! sub-task `bye` speaks of `git push`");
    home.run(&["inspect", RUN, "--trace", "--full"]).expect_code(0).expect_text("scope_warn");
}

#[test]
fn a_long_id_is_cut_in_a_line_and_whole_in_json() {
    let home = TestHome::with_examples();
    let id = format!("bye-{}-end", "x".repeat(200));
    rescripted(&home, "\"bye\"", &format!("\"{id}\""));
    let said = home.run_with(ARGS, b"go\n").expect_code(0).expect_text("crew: execute `bye-xxxx");
    let lines: Vec<&str> = said.stdout.lines().filter(|line| line.starts_with("  crew:")).collect();
    assert!(lines.iter().all(|line| line.chars().count() < 200 && !line.contains("-end`")), "{lines:?}");
    assert!(lines.iter().any(|line| line.contains("x\u{2026}`")), "{lines:?}");
    is_done(&home);
    assert!(events(&home, "coordinator_state").iter().any(|event| event["subtask"] == id));
    let json = home.run_with(&[ARGS, &["--new", "--json"]].concat(), b"go\n");
    assert!(json.stdout.contains(&format!("\"subtask\":\"{id}\"")), "{}", json.stdout);
}

#[test]
fn a_roles_limit_of_dollars_needs_prices_before_the_run() {
    let home = TestHome::with_examples();
    let brief = home.read("examples/crew/brief.md");
    let limited = brief.replace("budgets:", "role_budgets:\n  reviewer:\n    max_dollars: 1\nbudgets:");
    home.write("examples/crew/brief.md", limited);
    home.run_with(&[ARGS, &["--role-adapter", "reviewer=openai-compat"]].concat(), b"go\n")
        .expect_code(2)
        .expect_text("a limit of dollars of the reviewer can't be held: what `openai-compat` costs is not known");
    // What the list knows is estimated, and so the next thing is missing.
    let paid = ["--role-adapter", "reviewer=anthropic"];
    home.run_with(&[ARGS, &paid].concat(), b"go\n").expect_code(2).expect_text("ANTHROPIC_API_KEY");
    assert!(!home.journal_path(RUN).exists());
    // Somebody else who costs something is not limited, and with prices the next thing is missing.
    home.run_with(&[ARGS, &["--role-adapter", "executor=anthropic"]].concat(), b"go\n")
        .expect_text("ANTHROPIC_API_KEY");
    home.write("home/config.toml", "[adapters.anthropic]\nprice_input = 3\nprice_output = 15\n");
    home.run_with(&[ARGS, &paid].concat(), b"go\n").expect_code(2).expect_text("ANTHROPIC_API_KEY");
    // The script costs nothing.
    home.run_with(ARGS, b"go\n").expect_code(0);
}

#[test]
fn three_adapters_play_one_crew() {
    let home = TestHome::with_examples();
    let plan = "```json\n{\"kind\": \"plan\", \"subtasks\": [{\"id\": \"hello\", \"title\": \"Greet\", \"instruction\": \"Write hello.txt.\", \"acceptance_criteria\": [\"it is there\"]}]}\n```";
    let review = "```json\n{\"kind\": \"review\", \"subtask_id\": \"hello\", \"verdict\": \"pass\", \"rationale\": \"It is there.\"}\n```";
    let planner = Provider::new(Format::Messages, vec![Reply::says(plan)]);
    let looks = Reply::says("I look.").calls("c1", "read_file", json!({"path": "hello.txt"}));
    let reviewer = Provider::new(Format::Responses, vec![looks, Reply::says(review)]);
    let variables = [
        ("ANTHROPIC_API_KEY", "sk-ant-test"),
        ("ANTHROPIC_BASE_URL", planner.url()),
        ("OPENAI_API_KEY", "sk-test"),
        ("OPENAI_BASE_URL", reviewer.url()),
    ];
    let more = ["--role-adapter", "planner=anthropic:m1", "--role-adapter", "reviewer=openai:m2"];
    let mut running = home.start_with(&[ARGS, &more[..]].concat(), &variables);
    for line in
        ["planner: anthropic:m1", "executor: scripted", "reviewer: openai:m2", "? Is this summary what you want?"]
    {
        running.until(line);
    }
    running.type_line("go");
    running.finish().expect_code(0);
    assert_eq!(home.read("work/hello.txt"), "Hello there\n");
    let asked: Vec<(String, u64)> = events(&home, "agent_request")
        .iter()
        .map(|event| (event["part"].as_str().expect("a part").to_owned(), event["agent"].as_u64().unwrap_or(0)))
        .collect();
    let of = |part: &str| {
        asked.iter().filter(|(other, _)| other.ends_with(part)).map(|(_, agent)| *agent).collect::<Vec<_>>()
    };
    assert_eq!((of("planner"), of("reviewer")), (vec![1], vec![2, 2]));
    assert!(of("executor").iter().all(|agent| *agent == 0));
    assert_eq!([planner.refusals(), reviewer.refusals()].concat(), [""; 0]);
}

#[test]
fn a_reviewer_gets_the_diff_and_runs_the_checks_of_the_brief() {
    let home = TestHome::with_examples();
    let brief = home.read("examples/crew/brief.md");
    let checked =
        brief.replace("[filesystem_write]", "[filesystem_write, shell_exec]\nchecks: [\"grep -n Hello hello.txt\"]");
    home.write("examples/crew/brief.md", checked);
    rescripted(
        &home,
        "calls: [{tool: read_file, args: {path: hello.txt}}]",
        "calls: [{tool: shell_exec, args: {cmd: grep -n Hello hello.txt}}, {tool: shell_exec, args: {cmd: rm hello.txt}}]",
    );
    home.run_with(ARGS, b"go\n").expect_code(0);
    is_done(&home);
    let of_reviewer = |kind: &str, field: &str| -> Vec<String> {
        let here = events(&home, kind).into_iter().filter(|event| event["part"] == "crew/subtask/1.1/reviewer");
        here.filter_map(|event| event[field].as_str().map(str::to_owned)).collect()
    };
    let [result] = of_reviewer("tool_result", "content").try_into().expect("one command was run");
    assert!(result.contains("1:Hello there"), "{result}");
    let [refused] = of_reviewer("tool_rejected", "content").try_into().expect("one was refused");
    assert!(refused.contains("- `grep -n Hello hello.txt`"), "{refused}");
    let told = of_reviewer("message", "text").concat();
    assert!(told.contains("--- /dev/null\n+++ b/hello.txt\n+Hello there\n"), "{told}");
    assert!(told.contains("did not run: `grep -n Hello hello.txt`"), "{told}");
    home.run(&["replay", RUN]).expect_code(0);
    home.run(&["explain", RUN, "--authority"]).expect_code(0).expect_text("judges may run: grep -n Hello hello.txt");
}

#[test]
fn a_plan_of_ten_ordinary_subtasks_ends_within_the_default_limits() {
    const SUBTASKS: usize = 10;
    const CALLS: usize = 6;
    let home = TestHome::with_examples();
    let usage = json!({"input_tokens": 15_000, "output_tokens": 800});
    let said = |text: &str, calls: Value| json!({"text": text, "calls": calls, "usage": usage});
    let handoff = |value: Value| said(&format!("```json\n{value}\n```"), json!([]));
    let summary = said(
        "## Confirmation Summary\nObjective: a\nDeliverables: b\nConstraints: c\nTools required: write_file\nUnknowns: none\n",
        json!([]),
    );
    let reads = |path: String| said("I look.", json!([{"tool": "read_file", "args": {"path": path}}]));
    let subtask = |number: usize| {
        json!({"id": format!("s{number}"), "title": format!("Part {number}"), "instruction": format!("Write {number}.txt."),
               "acceptance_criteria": ["it is there"]})
    };
    let mut parts = serde_json::Map::new();
    parts.insert("intake".to_owned(), json!([summary]));
    let subtasks: Vec<Value> = (1..=SUBTASKS).map(subtask).collect();
    let planned = handoff(json!({"kind": "plan", "subtasks": subtasks}));
    let looks = said("I look.", json!([{"tool": "list_dir", "args": {"path": "."}}]));
    parts.insert("planner".to_owned(), json!([looks, planned]));
    for number in 1..=SUBTASKS {
        let path = format!("{number}.txt");
        let mut turns = vec![summary.clone()];
        turns.push(said("I write.", json!([{"tool": "write_file", "args": {"path": path, "content": "x\n"}}])));
        turns.extend((1..CALLS).map(|_| reads(path.clone())));
        turns.push(handoff(json!({"kind": "execution", "subtask_id": format!("s{number}"), "output": "done"})));
        parts.insert(format!("subtask/{number}.1/executor"), json!(turns));
        let review = json!({"kind": "review", "subtask_id": format!("s{number}"), "verdict": "pass", "rationale": "r"});
        parts.insert(format!("subtask/{number}.1/reviewer"), json!([reads(path), handoff(review)]));
    }
    home.write("examples/crew/script.yaml", json!({"parts": parts}).to_string());
    let brief = home.read("examples/crew/brief.md");
    let (front, rest) = brief.split_once("budgets:").expect("limits");
    let (_, body) = rest.split_once("\n---").expect("the end of the front matter");
    home.write("examples/crew/brief.md", format!("{front}---{body}"));
    home.run_with(ARGS, b"go\n").expect_code(0).expect_text("completed");
    assert!((1..=SUBTASKS).all(|number| home.path(&format!("work/{number}.txt")).exists()));
    let options = &events(&home, "run_start")[0]["options"];
    assert_eq!(options["budget"]["max_tokens"], 2_000_000, "{options}");
    let replies = events(&home, "agent_reply");
    let tokens = |field: &str| replies.iter().filter_map(|reply| reply["usage"][field].as_u64()).sum::<u64>();
    assert_eq!(replies.len(), 3 + SUBTASKS * (CALLS + 4));
    assert_eq!(tokens("input_tokens") + tokens("output_tokens"), 15_800 * replies.len() as u64);
    assert_eq!(events(&home, "question").len(), 1, "nobody was asked for more");
    assert!(events(&home, "budget_halt").is_empty());
}
