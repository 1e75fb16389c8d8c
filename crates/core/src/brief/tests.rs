//! The behaviour of a whole reading: tables for every rule, OpenWar's verdicts, and hostile texts.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::template::{NAMED_ONLY, TO_FILL_IN};
use super::*;
use crate::detect::{Detector, Sensitivity};
use crate::gate::custom_role::{CustomRole, CustomRoles};
use crate::words::Mode;
use crate::words::role::{Role, RoleName};

const BODY: &str = "\n# Objective\nx\n# Deliverables\ny\n# Constraints\nz\n";

/// Reads a brief that has all sections and these lines between its markers.
fn with_fields(fields: &str) -> Reading {
    read(&format!("---\nproject: orchard\n{fields}\n---{BODY}"))
}

/// The problems in short: `E` or `W`, line, column and field.
fn short(reading: &Reading) -> Vec<String> {
    reading
        .problems
        .iter()
        .map(|problem| {
            let mark = match problem.severity {
                Severity::Error => 'E',
                Severity::Warning => 'W',
            };
            let place = problem.span.map_or_else(|| "-".to_owned(), |span| format!("{}:{}", span.line, span.column));
            format!("{mark} {place} {}", problem.field)
        })
        .collect()
}

/// Checks the problems of a brief with these fields; its first field is on line 3.
#[track_caller]
fn check(fields: &str, expected: &[&str]) {
    assert_eq!(short(&with_fields(fields)), expected, "{fields}");
}

/// Checks what a brief with these fields is read as, without regard to warnings.
#[track_caller]
fn check_value<T: PartialEq + std::fmt::Debug>(fields: &str, value: impl Fn(&Brief) -> T, expected: T) {
    let reading = with_fields(fields);
    assert_eq!(reading.brief.as_ref().map(value), Some(expected), "{fields}: {:?}", short(&reading));
}

fn costs(brief: &Brief) -> Vec<String> {
    brief.authorized_costs.iter().map(ToString::to_string).collect()
}

#[test]
fn the_peers_verdicts_are_ours() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/vectors/openwar/briefs/");
    let verdicts = std::fs::read_to_string(format!("{folder}verdicts.jsonl")).unwrap();
    for line in verdicts.lines() {
        let expected: Value = serde_json::from_str(line).unwrap();
        let file = expected["file"].as_str().unwrap();
        let text = std::fs::read_to_string(format!("{folder}{file}")).unwrap();
        check_verdict(file, &text, &expected);
        // Line endings are of no consequence, which OpenWar gets wrong.
        check_verdict(file, &text.replace('\n', "\r\n"), &expected);
        check_verdict(file, &format!("\u{FEFF}{text}"), &expected);
    }
}

#[track_caller]
fn check_verdict(file: &str, text: &str, expected: &Value) {
    let found = decide(&json!({"text": text})).unwrap();
    let of_severity = |issues: &Value, severity: &str| -> Vec<String> {
        let issues = issues.as_array().into_iter().flatten();
        let fields = issues.filter(|issue| issue["severity"] == severity).map(|issue| issue["field"].to_string());
        fields.collect()
    };
    if expected["parse_error"] == true {
        assert_eq!(found["valid"], false, "{file}");
        assert_eq!(found["parse_error"], true, "{file}");
        assert_eq!(found["parse_error_line"], expected["parse_error_line"], "{file}");
        assert!(!of_severity(&found["issues"], "error").is_empty(), "{file}");
        assert_eq!(summary(&read(text)), None, "{file}");
        return;
    }
    for key in ["valid", "frontmatter", "sections"] {
        assert_eq!(found[key], expected[key], "{file}: {key}");
    }
    assert_eq!(of_severity(&found["issues"], "error"), of_severity(&expected["issues"], "error"), "{file}");
    let warnings = of_severity(&found["issues"], "warning");
    for warning in of_severity(&expected["issues"], "warning") {
        assert!(warnings.contains(&warning), "{file}: {warning}");
    }
    let head: Vec<&str> =
        expected["stdout_head"].as_array().unwrap().iter().map(|line| line.as_str().unwrap()).collect();
    let summary = summary(&read(text)).unwrap().replace("DATE-RANDOM", "<id>");
    assert_eq!(summary.lines().collect::<Vec<_>>(), head, "{file}");
}

#[test]
fn a_brief_without_a_slip_has_no_problems() {
    check("", &[]);
    check("brief_id: 2024-05-06-A1\ndeadline: 2024-02-29\nmode: auto\nscope_locked: true", &[]);
    check("authorized_costs:\n  - shell_exec # why\n\n  # and\n  - mcp_tool:git:*\n  - 'git_push'", &[]);
    check("roles: [planner, executor]\nbudgets:\n  max_tokens: 100\n  max_retries_per_subtask: \"2\"", &[]);
    check("cli:\n  mcp_forward: false\n  binary: codex\n  args: [--print, x]", &[]);
    check("adapter: scripted\nscript: demo.script\nmodel: m\nmax_steps: 5\npatience: 0", &[]);
    check("effort: max\nthinking_tokens: 4096\nroles: [planner, executor]\nrole_effort: {planner: low}", &[]);
    check("detectors:\n  banned_phrases: disabled\n  blocker: loose", &[]);
    check("scope: [src, 'docs/*.md']", &[]);
    check("scope:\n  files: [a]\n  folders:\n    - src\n  hosts: ['*.example.org']\n  services: []", &[]);
    check("mcp_servers:\n  - git=mcp-git --root=/x\ninherit_memory: true\nlearned_profile: orchard", &[]);
}

#[test]
fn all_problems_are_told_at_once_with_their_places() {
    let text =
        "---\nproject: Orchard\nbrief_id: x\n???\ndeadline: soon\nbudgets:\n  max_tokens: 0\n---\n# Deliverables\n";
    assert_eq!(
        short(&read(text)),
        [
            "E 4:1 front_matter",
            "E 2:10 project",
            "E 3:11 brief_id",
            "E 5:11 deadline",
            "E - Objective",
            "E 9:1 Deliverables",
            "W - Constraints",
            "E 7:15 budgets.max_tokens",
        ]
    );
}

#[test]
fn a_front_matter_that_is_not_closed_does_not_hide_the_rest() {
    let reading = read("---\nproject: orchard\nbrief_id: x\n# note\n# Goal\nx\n");
    assert_eq!(short(&reading), ["E 5:1 front_matter", "E 3:11 brief_id", "E - Deliverables", "W - Constraints"]);
    assert_eq!(reading.unreadable, Some(UnreadableFrontMatter { line: None }));
    assert_eq!(reading.sections.objective, "x");
}

#[test]
fn each_line_that_cannot_be_read_is_told_once() {
    check("project : orchard", &["E 3:1 front_matter"]);
    check("- shell_exec", &["E 3:1 front_matter"]);
    check("mode: auto\n  more: of it\n  and: more", &["E 4:3 front_matter"]);
    check("just words\n  under: them\n1st: x", &["E 3:1 front_matter", "E 5:1 front_matter"]);
    check("roles:\n  - planner\n  oops\n  - executor", &["E 5:3 front_matter"]);
    check("budgets:\n  max_tokens: 5\n  -oops\n  max_retries_per_subtask: 1", &["E 5:3 front_matter"]);
    check("roles:\n- planner\n- executor", &["E 4:1 front_matter"]);
    check("roles:\n  - planner\n    executor: x\n  - executor", &["E 5:5 front_matter"]);
}

#[test]
fn the_number_of_a_bad_line_counts_from_the_front_matter() {
    assert_eq!(with_fields("mode: auto\n???").unreadable, Some(UnreadableFrontMatter { line: Some(3) }));
    assert_eq!(with_fields("roles:\n- planner\n- executor").unreadable, Some(UnreadableFrontMatter { line: Some(3) }));
}

#[test]
fn a_project_is_a_slug() {
    for (line, expected) in [
        ("project: orchard-2-", vec![]),
        ("project: \"123\"", vec![]),
        ("project: Orchard", vec!["E 2:10 project"]),
        ("project: -x", vec!["E 2:10 project"]),
        ("project: 果樹園", vec!["E 2:10 project"]),
        ("project: 123", vec!["E 2:10 project"]),
        ("project: true", vec!["E 2:10 project"]),
        ("project: [orchard]", vec!["E 2:10 project"]),
        ("project:", vec!["E 2:9 project"]),
        ("project: # none", vec!["E 2:10 project"]),
        ("", vec!["E - project"]),
    ] {
        assert_eq!(short(&read(&format!("---\n{line}\n---{BODY}"))), expected, "{line}");
    }
    let reading = read(&format!("---\nproject: Old Orchard_1\n---{BODY}"));
    assert_eq!(reading.problems[0].fix.as_deref(), Some("write `project: old-orchard-1`"));
}

#[test]
fn an_id_is_dropped_if_it_is_a_number_and_wrong_if_it_has_another_shape() {
    check("brief_id: 20240506", &["W 3:11 brief_id"]);
    check("brief_id: 2024-05-06", &["E 3:11 brief_id"]);
    check("brief_id: 2024-05-06-a-b", &["E 3:11 brief_id"]);
    check("brief_id: ../2024-05-06-a", &["E 3:11 brief_id"]);
    check(&format!("brief_id: 2024-05-06-{}", "a".repeat(46)), &["E 3:11 brief_id"]);
    check(&format!("brief_id: 2024-05-06-{}", "a".repeat(45)), &[]);
}

#[test]
fn a_deadline_has_the_shape_of_a_day_and_should_be_one() {
    check("deadline: soon", &["E 3:11 deadline"]);
    check("deadline: 2024-5-6", &["E 3:11 deadline"]);
    check("deadline: 2024-02-30", &["W 3:11 deadline"]);
    check("deadline: 20240506", &["W 3:11 deadline"]);
    check_value("deadline: 2024-02-30", |brief| brief.deadline, None);
    check_value(
        "deadline: 2024-02-28",
        |brief| brief.deadline.map(|day| day.to_string()),
        Some("2024-02-28".to_owned()),
    );
}

#[test]
fn what_the_peer_drops_silently_is_dropped_with_a_warning() {
    check("mode: fast", &["W 3:7 mode"]);
    check("mode: Auto", &["W 3:7 mode"]);
    check("scope_locked: yes", &["W 3:15 scope_locked"]);
    check("inherit_memory: \"true\"", &["W 3:17 inherit_memory"]);
    check("authorized_costs: shell_exec", &["W 3:19 authorized_costs"]);
    check(
        "authorized_costs: [1, true, , shell_exec]",
        &["W 3:20 authorized_costs", "W 3:23 authorized_costs", "W 3:29 authorized_costs"],
    );
    check("authorized_costs:\n  -\n  - ' '", &["W 4:4 authorized_costs", "W 5:5 authorized_costs"]);
    check("workdir: 7", &["W 3:10 workdir"]);
    check("mcp_servers:\n  - git\n  - =x\n  - y=", &["W 4:5 mcp_servers", "W 5:5 mcp_servers", "W 6:5 mcp_servers"]);
    check("learned_profile: ../x", &["W 3:18 learned_profile"]);
    check("cli:\n  mcp_forward: on\n  args: --print", &["W 4:16 cli.mcp_forward", "W 5:9 cli.args"]);
    check("cli: codex", &["W 3:6 cli"]);
    check(
        "detectors:\n  blocker: off\n  completion: Loose",
        &["W 4:12 detectors.blocker", "W 5:15 detectors.completion"],
    );
    check(
        "detectors:\n  blocker: disabled\n  confirmation: disabled",
        &["W 4:12 detectors.blocker", "W 5:17 detectors.confirmation"],
    );
    check_value(
        "detectors:\n  completion: loose",
        |brief| brief.detectors.of(Detector::Completion),
        Sensitivity::Loose,
    );
    check("roles: 5", &["W 3:8 roles"]);
}

#[test]
fn a_scope_that_cannot_be_read_lets_nothing_in() {
    let inside = |brief: &Brief| ["src/a", "b"].map(|path| brief.scope.covers_path(path));
    check_value("", inside, [true, true]);
    check_value("scope:", inside, [true, true]);
    check_value("scope:\n  - src", inside, [true, false]);
    check_value("scope:\n  hosts: [x]", inside, [true, true]);
    for (written, expected, problem) in [
        ("scope: src", [true, false], "W 3:8 scope"),
        ("scope: 7", [false, false], "W 3:8 scope"),
        ("scope:\n  files: b", [false, true], "W 4:10 scope.files"),
        ("scope:\n  folders: true", [false, false], "W 4:12 scope.folders"),
        ("scope: [src, '[']", [true, false], "W 3:14 scope"),
        ("scope:\n  files: [b]\n  hosts: [https://x.org/y]", [false, true], "W 5:11 scope.hosts"),
    ] {
        check(written, &[problem]);
        check_value(written, inside, expected);
    }
    check("scope:\n  file: [src]", &["W 4:3 scope.file", "W 4:3 scope"]);
    check_value("scope:\n  file: [src]", inside, [false, false]);
}

#[test]
fn a_value_that_is_dropped_counts_as_not_given() {
    check_value("scope_locked: yes", |brief| brief.scope_locked, false);
    check_value("scope_locked: true", |brief| brief.scope_locked, true);
    check_value("mode: fast", |brief| brief.mode, None);
    check_value("authorized_costs: shell_exec", costs, vec![]);
    check_value(
        "authorized_costs: [1, ' git_push ', , shell_exec]",
        costs,
        vec!["git_push".into(), "shell_exec".into()],
    );
    for (written, nano_dollars) in [("2.50", 2_500_000_000), ("'3'", 3_000_000_000), ("4", 4_000_000_000)] {
        check_value(
            &format!("budgets:\n  max_dollars: {written}"),
            |brief| brief.budgets.max_dollars,
            Some(nano_dollars),
        );
    }
    check_value("budgets:\n  max_turns: 12", |brief| brief.budgets.max_turns, Some(12));
    check_value(
        "fallback: [anthropic, 'scripted']",
        |brief| brief.fallback.clone(),
        vec!["anthropic".to_owned(), "scripted".to_owned()],
    );
    check_value("budgets:\n  max_tokens: '7'", |brief| brief.budgets.limits().tokens, 7);
    check_value("budgets:\n  max_tokens: 99999999999999999999", |brief| brief.budgets.limits().tokens, i64::MAX as u64);
    check_value("cli:\n  mcp_forward: on", |brief| brief.cli.forwards_mcp(), true);
    check_value("cli:\n  mcp_forward: false", |brief| brief.cli.forwards_mcp(), false);
}

#[test]
fn what_strict_yaml_refuses_is_read_with_a_warning() {
    check("authorized_costs:\n  - *", &["W 4:5 authorized_costs", "W 4:5 authorized_costs"]);
    check_value("authorized_costs:\n  - *", costs, vec!["*".into()]);
    check("mode: gated\nmode: auto", &["W 4:1 mode"]);
    check_value("mode: gated\nmode: auto", |brief| brief.mode, Some(Mode::Auto));
    check("authorized_costs:\n\t- shell_exec\n\t- git_push", &["W 4:1 front_matter"]);
    check_value("authorized_costs:\n\t- shell_exec\n\t- git_push", costs, vec!["shell_exec".into(), "git_push".into()]);
    check("authorized_costs:\n  - shell_exec\n    - git_push", &["W 5:5 front_matter"]);
    check("workdir:x # no space needed", &[]);
}

#[test]
fn a_wildcard_is_shown_to_authorize_everything() {
    check("authorized_costs: [\"*\"]", &["W 3:20 authorized_costs"]);
    check("authorized_costs: [mcp_tool:*]", &[]);
    for (category, _) in crate::words::category::STATIC {
        check(&format!("authorized_costs: [{category}]"), &[]);
    }
}

#[test]
fn an_entry_that_covers_nothing_says_what_to_write() {
    let of_a_server = "write `mcp_tool:SERVER:TOOL`, `mcp_tool:SERVER:*` or `mcp_tool:*`";
    let of_git = "write `mcp_tool:git:*` for every tool of the server, or name one tool";
    for (entry, fix) in [
        ("mcp_tool:git", of_git),
        ("\"mcp_tool:git:\"", of_git),
        ("mcp_tool", of_a_server),
        ("mcp_tool:git:com*", of_a_server),
        ("mcp_tool:*:commit", of_a_server),
        ("git:commit", "write `mcp_tool:git:commit`"),
        ("write_file", "write `filesystem_write`"),
        ("request_permission", "leave it out: it needs no authorization"),
        ("git_pusch", "did you mean `git_push`?"),
    ] {
        let reading = with_fields(&format!("authorized_costs: [{entry}]"));
        let fixes: Vec<_> = reading.problems.iter().map(|problem| problem.fix.as_deref()).collect();
        assert_eq!(fixes, [Some(fix)], "{entry}");
    }
    for entry in ["git_*", "deploy*"] {
        let reading = with_fields(&format!("authorized_costs: [{entry}]"));
        assert!(reading.problems[0].message.contains("`*` stands alone"), "{entry}: {:?}", reading.problems);
    }
}

#[test]
fn unknown_names_are_told_with_the_nearest_known_one() {
    for (fields, field, fix) in [
        ("brief-id: x", "front_matter", None),
        ("breif_id: x", "breif_id", Some("did you mean `brief_id`?")),
        ("owner: x", "owner", None),
        ("budgets:\n  max_token: 5", "budgets.max_token", Some("did you mean `max_tokens`?")),
        ("authorized_costs: [shell_exce]", "authorized_costs", Some("did you mean `shell_exec`?")),
        ("mode: guted", "mode", Some("did you mean `gated`?")),
        ("adapter: antropic", "adapter", Some("did you mean `anthropic`?")),
        ("roles: [planner, executor, reviwer]", "roles", Some("did you mean `reviewer`?")),
        ("detectors:\n  bloker: loose", "detectors.bloker", Some("did you mean `blocker`?")),
    ] {
        let reading = with_fields(fields);
        assert_eq!(reading.problems.len(), 1, "{fields}: {:?}", reading.problems);
        assert_eq!(reading.problems[0].field, field, "{fields}");
        if field != "front_matter" {
            assert_eq!(reading.problems[0].fix.as_deref(), fix, "{fields}");
        }
    }
}

#[test]
fn values_are_read_by_the_peers_grammar() {
    let workdir = |fields: &str, expected: Option<&str>| {
        check_value(fields, |brief| brief.workdir.clone(), expected.map(str::to_owned));
    };
    workdir("workdir: a b  ", Some("a b"));
    workdir("workdir: 'a # b'", Some("'a"));
    workdir("workdir: a#b # c", Some("a#b # c"));
    workdir("workdir: a # b", Some("a"));
    workdir("workdir: # b", None);
    workdir("workdir: \"true\"", Some("true"));
    workdir("workdir: \"a'", Some("\"a'"));
    workdir("workdir: a: b", Some("a: b"));
    workdir("workdir: [a] b", Some("[a] b"));
    workdir("workdir: [a, b]", Some("[a, b]"));
    workdir("workdir: 1.5", Some("1.5"));
    workdir("workdir: -", Some("-"));
    workdir("workdir: été/果", Some("été/果"));
    workdir("workdir:\u{3000}x\u{A0}", Some("x"));
}

#[test]
fn inline_lists_are_lists() {
    check_value(
        "authorized_costs: [shell_exec, \"git_push\", 'deploy',]",
        costs,
        vec!["shell_exec".into(), "git_push".into(), "deploy".into()],
    );
    check_value("authorized_costs: []", costs, vec![]);
    check_value("mcp_servers: ['a=x, y', b=z]", |brief| brief.mcp_servers.len(), 2);
    check_value("roles: []", |brief| brief.roles.len(), 0);
}

#[test]
fn a_role_is_granted_what_the_brief_authorizes_and_nothing_else() {
    let crew = "roles: [planner, executor, reviewer]\nauthorized_costs: [shell_exec, mcp_tool:git:*]\nrole_grants:\n  ";
    for (grant, expected) in [
        ("executor: [shell_exec]", &[][..]),
        ("executor: [shell_exec, filesystem_read, mcp_tool:git:push]", &[]),
        ("executor: []", &[]),
        ("executor:", &["E 6:3 role_grants.executor"]),
        ("executor: [git_push]", &["E 6:13 role_grants.executor"]),
        ("executor: ['*']", &["E 6:13 role_grants.executor"]),
        ("executor: [shell_exce]", &["E 6:13 role_grants.executor"]),
        ("reviewer: [shell_exec]", &["W 6:13 role_grants.reviewer"]),
        ("critic: [shell_exec]", &["E 6:3 role_grants.critic"]),
        ("executor: shell_exec", &["E 6:3 role_grants.executor"]),
        ("executor: {shell_exec: yes}", &["E 6:3 role_grants.executor"]),
    ] {
        check(&format!("{crew}{grant}"), expected);
    }
    let granted = |brief: &Brief| -> Vec<(String, usize)> {
        brief.role_grants.iter().map(|(role, grant)| (role.to_string(), grant.len())).collect()
    };
    check_value(
        &format!("{crew}executor: [shell_exec]\n  reviewer: []"),
        granted,
        vec![("executor".to_owned(), 1), ("reviewer".to_owned(), 0)],
    );
    // A grant that can't be read must not read as everything.
    check("role_grants: executor", &["E 3:1 role_grants"]);
    check("role_grants:", &[]);
}

#[test]
fn checks_are_lines_that_judges_may_run_and_warn_where_they_would_be_asked_about() {
    let crew = "roles: [planner, executor, reviewer]\nauthorized_costs: [shell_exec]\n";
    for (fields, expected) in [
        (format!("{crew}checks: [\"cargo test\", 'npm run lint, fast']"), &[][..]),
        (format!("{crew}checks:\n  - cargo test --locked"), &[]),
        (format!("{crew}checks: []"), &[]),
        (format!("{crew}checks: cargo test"), &["W 5:9 checks"]),
        (format!("{crew}checks: [1, cargo test]"), &["W 5:10 checks"]),
        (format!("{crew}check: [cargo test]"), &["W 5:1 check"]),
        // A grant of commands is what a judge with a grant needs for them.
        (format!("{crew}checks: [make]\nrole_grants:\n  reviewer: [shell_exec]"), &[]),
        (format!("{crew}checks: [make]\nrole_grants:\n  planner: [shell_exec]"), &["W 7:12 role_grants.planner"]),
        // The program runs them itself, whoever judges.
        ("checks: [make]".to_owned(), &[]),
        ("roles: [planner, executor]\nauthorized_costs: [shell_exec]\nchecks: [make]".to_owned(), &[]),
        ("roles: [planner, executor, critic]\nchecks: [make]".to_owned(), &["W 4:1 checks"]),
    ] {
        check(&fields, expected);
    }
    let checks = format!("{crew}checks: [\" cargo test \", 'npm run lint, fast']");
    let lines = |brief: &Brief| brief.checks.clone();
    check_value(&checks, lines, vec!["cargo test".to_owned(), "npm run lint, fast".to_owned()]);
    let is_shown = |brief: &Brief| brief.render().contains("checks: `cargo test`, `npm run lint, fast`\n");
    check_value(&checks, is_shown, true);
}

#[test]
fn a_brief_may_name_the_roles_that_an_operator_defined() {
    let defined = |base| CustomRole {
        base,
        instruction: "i".to_owned(),
        may_hold: None,
        adapter: None,
        effort: None,
        from: "f".to_owned(),
        is_projects: false,
    };
    let name = |text: &str| text.parse::<RoleName>().unwrap();
    let custom =
        CustomRoles::from([(name("security"), defined(Role::Reviewer)), (name("migrator"), defined(Role::Executor))]);
    for (fields, expected) in [
        ("roles: [planner, executor, security]", &[][..]),
        ("roles: [planner, migrator, security]\nrole_adapters:\n  security:\n    adapter: mock", &[]),
        ("roles: [planner, executor, migrator]", &["E 3:1 roles"]),
        ("roles: [planner, security]", &["E 3:1 roles"]),
        ("roles: [planner, executor, securty]", &["E 3:28 roles"]),
    ] {
        let text = format!("---\nproject: p\n{fields}\n---\n# Objective\na\n# Deliverables\nb\n# Constraints\nc\n");
        let reading = super::read_with(&text, &custom);
        assert_eq!(short(&reading), expected, "{fields}");
        if fields.contains("securty") {
            assert_eq!(reading.problems[0].fix.as_deref(), Some("did you mean `security`?"));
        }
    }
    check("roles: [planner, executor, security]", &["E 3:28 roles"]);
}

#[test]
fn roles_may_be_a_list_a_map_or_a_text() {
    let expected = || vec![RoleName::from(Role::Executor), Role::Planner.into()];
    check_value("roles:\n  - executor\n  - planner", |brief| brief.roles.clone(), expected());
    check_value("roles: executor, planner", |brief| brief.roles.clone(), expected());
    check_value(
        "roles:\n  executor:\n    adapter: mock\n  planner:\n    adapter: mock",
        |brief| brief.roles.clone(),
        expected(),
    );
    check_value("roles:", |brief| brief.roles.clone(), vec![]);
}

#[test]
fn a_crew_needs_a_planner_and_an_executor() {
    check("roles: [planner]", &["E 3:1 roles"]);
    check("roles: [planner, executor, planner]", &[]);
    check("roles: reviewer", &["E 3:1 roles", "E 3:1 roles"]);
    check("roles:\n  - planner\n  - executor\n  - ghost", &["E 6:5 roles"]);
}

#[test]
fn who_plays_a_role_must_exist_and_be_allowed_to() {
    let roles = "roles: [planner, executor]\nrole_adapters:\n  executor:\n    ";
    check(&format!("{roles}adapter: mock\n    model: m\n    tier: paid"), &[]);
    check(&format!("{roles}adapter: nobody"), &["E 6:14 role_adapters.executor.adapter"]);
    check(&format!("{roles}adapter:"), &["E 5:3 role_adapters.executor.adapter"]);
    check(&format!("{roles}adapter: 5"), &["E 6:14 role_adapters.executor.adapter"]);
    check(&format!("{roles}model: m"), &["E 5:3 role_adapters.executor.adapter"]);
    check(&format!("{roles}adapter: cli-bridge"), &["E 6:14 role_adapters.executor.adapter"]);
    check(&format!("authorized_costs: [shell_exec]\n{roles}adapter: cli-bridge"), &["W 7:14 role_adapters"]);
    check("roles: [planner, executor]\nrole_adapters:\n  critic:\n    adapter: mock", &["E 5:3 role_adapters.critic"]);
    check("role_adapters:\n  executor:\n    adapter: mock", &["E 4:3 role_adapters.executor"]);
    check("roles: [planner, executor]\nrole_adapters:\n  executor: mock", &["E 5:13 role_adapters.executor"]);
    check("roles: [planner, executor]\nrole_adapters: mock", &["E 4:16 role_adapters"]);
    check("roles: [planner, executor]\nrole_adapters: {executor: mock}", &["E 4:27 role_adapters.executor"]);
    check("roles: [planner, executor]\nrole_adapter:\n  executor:\n    adapter: mock", &["E 4:1 role_adapter"]);
    check("roles:\n  planner: mock\n  executor:\n    adapter: mock", &["E 4:12 roles.planner"]);
    check("adapter: cli-bridge", &["E 3:10 adapter"]);
    check("adapter: cli-bridge\nauthorized_costs: [shell_exec]", &[]);
}

#[test]
fn role_adapters_replace_the_whole_entry_of_a_role() {
    let fields = "roles:\n  planner:\n    adapter: mock\n    model: a\n  executor:\n    adapter: mock\n\
                  role_adapters:\n  planner:\n    adapter: grok\n    tier: free\n    n: 5\n    args: [x, y]\n    list:\n      - z";
    check_value(
        fields,
        |brief| brief.role_adapters[&RoleName::from(Role::Planner)].clone(),
        RoleAdapter {
            adapter: "grok".into(),
            model: None,
            options: [
                ("tier".into(), OptionValue::Text("free".into())),
                ("n".into(), OptionValue::Integer(5)),
                ("args".into(), OptionValue::List(vec!["x".into(), "y".into()])),
                ("list".into(), OptionValue::List(vec!["z".into()])),
            ]
            .into_iter()
            .collect(),
        },
    );
}

#[test]
fn a_third_level_is_read_one_level_further_up() {
    check(
        "roles: [planner, executor]\nrole_adapters:\n  executor:\n    adapter: mock\n    env:\n      key: x",
        &[
            "W 7:5 role_adapters.executor.env",
            "W 7:5 front_matter",
            "E 7:5 role_adapters.env",
            "E 7:5 role_adapters.env.adapter",
        ],
    );
}

#[test]
fn a_limit_that_cannot_be_read_is_an_error_wherever_it_stands() {
    check(
        "budgets:\n  max_tokens: -1\n  max_wall_clock_minutes: 1.5\n  max_retries_per_subtask: many\n  max_turns:",
        &[
            "E 4:15 budgets.max_tokens",
            "E 5:27 budgets.max_wall_clock_minutes",
            "E 6:28 budgets.max_retries_per_subtask",
            "E 7:3 budgets.max_turns",
        ],
    );
    for written in ["-1", "$5", "1e3", "[1]", "true"] {
        check(&format!("budgets:\n  max_dollars: {written}"), &["E 4:16 budgets.max_dollars"]);
    }
    for written in ["many", "1.5", "-1", "[1]", "{a: 1}"] {
        check(&format!("max_steps: {written}"), &["E 3:12 max_steps"]);
    }
    check("max_steps:", &["E 3:1 max_steps"]);
    for written in ["max_turns 1", "[max_turns: 1]", "5", "{max_turns 1}", "{max_turns: 1", "{max turns: 1}"] {
        check(&format!("budgets: {written}"), &["E 3:10 budgets"]);
    }
    check("budgets: {max_turns: soon, max_dollars: -1}", &["E 3:22 budgets.max_turns", "E 3:41 budgets.max_dollars"]);
    check("budgets: {max_turns: 0}", &["E 3:22 budgets.max_turns"]);
    let roles = "roles: [planner, executor]\nrole_budgets:";
    check(&format!("{roles} 5"), &["E 4:15 role_budgets"]);
    check(&format!("{roles}\n  executor: 5"), &["E 5:13 role_budgets.executor"]);
    check(&format!("{roles}\n  executor: {{max_turn: 5}}"), &["E 5:14 role_budgets.executor.max_turn"]);
    check(&format!("{roles} {{executor: {{max_turns: x}}}}"), &["E 4:38 role_budgets.executor.max_turns"]);
    check(
        &format!("{roles}\n  executor:\n    max_retries_per_subtask: 1"),
        &["E 6:5 role_budgets.executor.max_retries_per_subtask"],
    );
}

#[test]
fn a_limit_that_is_misspelt_is_refused_with_the_right_name() {
    for (fields, field, fix) in [
        ("budgets:\n  max_turn: 5", "budgets.max_turn", "did you mean `max_turns`?"),
        (
            "budgets: {max_wallclock_minutes: 5}",
            "budgets.max_wallclock_minutes",
            "did you mean `max_wall_clock_minutes`?",
        ),
        ("budget: {max_turns: 5}", "budget", "did you mean `budgets`?"),
        ("max_step: 5", "max_step", "did you mean `max_steps`?"),
        ("max_turns: 5", "max_turns", "write `budgets: {max_turns: 5}`"),
        ("max_dollar: 5", "max_dollar", "did you mean `max_dollars`?"),
        ("role_budget: {executor: {max_turns: 5}}", "role_budget", "did you mean `role_budgets`?"),
    ] {
        let reading = with_fields(fields);
        assert_eq!(reading.problems.len(), 1, "{fields}: {:?}", reading.problems);
        let problem = &reading.problems[0];
        assert_eq!((problem.severity, problem.field.as_str()), (Severity::Error, field), "{fields}");
        assert!(problem.fix.as_deref().is_some_and(|found| found.starts_with(fix)), "{fields}: {:?}", problem.fix);
    }
}

#[test]
fn an_inline_map_is_a_map_where_one_is_meant_and_text_elsewhere() {
    let turns = |brief: &Brief| brief.budgets.max_turns;
    for written in
        ["{max_turns: 1}", "{ max_turns : 1 , }", "{\"max_turns\": \"1\"}  # a note", "{max_tokens: 5,max_turns:1}"]
    {
        check(&format!("budgets: {written}"), &[]);
        check_value(&format!("budgets: {written}"), turns, Some(1));
    }
    check("budgets: {}", &[]);
    check("budgets: {max_turns: 1, max_turns: 2}", &["W 3:25 budgets.max_turns"]);
    check_value("budgets: {max_turns: 1, max_turns: 2}", turns, Some(2));
    check_value("budgets: {max_dollars: 2.50}", |brief| brief.budgets.max_dollars, Some(2_500_000_000));
    let crew = "roles: {planner: {adapter: grok, args: [x, 'y, z']}, executor: {adapter: mock}}";
    check(crew, &[]);
    check_value(
        crew,
        |brief| brief.role_adapters[&RoleName::from(Role::Planner)].options.clone(),
        [("args".to_owned(), OptionValue::List(vec!["x".to_owned(), "y, z".to_owned()]))].into(),
    );
    check_value("scope: {files: [a], folders: [src]}", |brief| brief.scope.covers_path("src/x"), true);
    check_value("model: '{a: 1}'", |brief| brief.model.clone(), Some("{a: 1}".to_owned()));
    check_value("model: {a: 1}", |brief| brief.model.clone(), Some("{a: 1}".to_owned()));
    // Deeper than any field goes.
    check("budgets: {a: {b: {c: 1}}}", &["E 3:11 budgets.a"]);
}

#[test]
fn a_budget_of_0_is_an_error() {
    check(
        "budgets:\n  max_tokens: 0\n  max_tool_calls_per_subtask: 00",
        &["E 4:15 budgets.max_tokens", "E 5:31 budgets.max_tool_calls_per_subtask"],
    );
    check("max_steps: 0", &["E 3:12 max_steps"]);
    check("budgets:\n  max_dollars: 0.00", &["E 4:16 budgets.max_dollars"]);
    check("budgets:\n  max_dollars: 0", &["E 4:16 budgets.max_dollars"]);
}

/// Reads a body with a front matter that has nothing wrong, and shows problems and objective.
#[track_caller]
fn check_body(body: &str, objective: &str, expected: &[&str]) {
    let reading = read(&format!("---\nproject: orchard\n---\n{body}"));
    assert_eq!(reading.sections.objective, objective, "{body}");
    assert_eq!(short(&reading), expected, "{body}");
}

#[test]
fn sections_are_found_by_their_headings() {
    let rest = "# Deliverables\ny\n# Constraints\nz\n";
    check_body(&format!("# Goals\n\nx  \n\n{rest}"), "\nx", &[]);
    check_body(&format!("##  OBJECTIVE \nx\n{rest}"), "x", &[]);
    check_body(&format!("# Objective\r\nx\r\ny\r\n{rest}"), "x\ny", &[]);
    check_body(&format!("# Objective\nx\n# Goal\n{rest}"), "", &["W 6:1 body", "E 6:1 Objective"]);
    check_body(&format!("# Objective:\nx\n{rest}"), "", &["W 4:1 body", "E - Objective"]);
    check_body(&format!("# Objectve\nx\n{rest}"), "", &["W 4:1 body", "E - Objective"]);
    check_body(&format!("#### Objective\nx\n{rest}"), "", &["W 4:1 body", "E - Objective"]);
    check_body(&format!("#Objective\nx\n{rest}"), "", &["W 4:1 body", "E - Objective"]);
    check_body(&format!("# \n#\n## \u{A0}\n# Objective\n#\n# \nx\n{rest}"), "#\n# \nx", &["W 4:1 body"]);
    check_body(&format!("hello\nthere\n# Objective\nx\n{rest}"), "x", &["W 4:1 body"]);
    check_body(&format!("# Objective\nx\n```sh\n# goal\ny\n```\n{rest}"), "y\n```", &["W 7:1 body", "W 7:1 body"]);
}

#[test]
fn other_sections_keep_their_heading_and_their_order() {
    let reading = with_fields("mode: auto\n---\n# Zeta\n1\n# Alpha\n2\n# Tools\nt\n# Unknowns\nu\n# zeta\n3");
    let extra: Vec<(&str, &str)> = reading.sections.extra.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
    assert_eq!(extra, [("Zeta", "1"), ("Alpha", "2"), ("zeta", "3\n---")]);
    assert_eq!((reading.sections.tools_required.as_str(), reading.sections.notes.as_str()), ("t", "u"));
}

#[test]
fn a_brief_is_shown_the_same_way_every_time() {
    let text = "---\nproject: orchard\nbrief_id: 2024-05-06-A1\ndeadline: 2024-06-01\nmode: gated\n\
                authorized_costs: [shell_exec, git_push]\nroles: [planner, executor]\nrole_adapters:\n  executor:\n    \
                adapter: cli-bridge\n    binary: codex\n---\n# Background\nb\n# Notes\n\n# Constraints\nc\n# Deliverables\nd\n\
                # Objective\n\n  o\n";
    let brief = read(text).brief.unwrap();
    insta::assert_snapshot!(brief.render(), @r"
    # Brief: orchard
    brief_id: 2024-05-06-A1
    deadline: 2024-06-01
    scope_locked: false
    mode: gated
    authorized_costs: shell_exec, git_push
    roles: planner, executor
      executor: cli-bridge binary=codex

    ## Objective

    o

    ## Deliverables

    d

    ## Constraints

    c

    ## Background

    b
    ");
}

/// The template with something of one's own in each section.
fn filled_in(project: &str) -> String {
    let text = template(&project.parse().unwrap(), jiff::civil::date(2024, 5, 6));
    TO_FILL_IN.into_iter().fold(text, |text, (_, words)| text.replace(words, "pears"))
}

#[test]
fn the_template_is_a_valid_brief_once_it_is_filled_in() {
    for project in ["orchard", "a-b-c", &"x-".repeat(32)] {
        let reading = read(&filled_in(project));
        assert_eq!(short(&reading), Vec::<String>::new(), "{project}");
        let brief = reading.brief.unwrap();
        assert_eq!(brief.project.as_str(), project);
        assert!(!brief.scope_locked && brief.authorized_costs.is_empty(), "nothing holds that nobody chose");
    }
}

#[test]
fn an_untouched_template_is_invalid_and_each_section_to_fill_in_is_named() {
    let text = template(&"orchard".parse().unwrap(), jiff::civil::date(2024, 5, 6));
    let reading = read(&text);
    assert!(!reading.is_valid());
    let fields: Vec<&str> = reading.problems.iter().map(|problem| problem.field.as_str()).collect();
    assert_eq!(fields, ["Objective", "Deliverables", "Constraints", "Tools required", "Notes"]);
    // One that is left over is enough.
    let (_, objective) = TO_FILL_IN[0];
    let reading = read(&filled_in("orchard").replacen("pears", objective, 1));
    assert_eq!(reading.problems.len(), 1);
    assert_eq!(reading.problems[0].found.as_deref(), Some(objective));
}

#[test]
fn one_line_of_the_template_allows_edits_and_tests() {
    let text = filled_in("orchard").replace("# authorized_costs:", "authorized_costs:");
    let authorized: Vec<String> =
        read(&text).brief.unwrap().authorized_costs.iter().map(|category| category.as_str().to_owned()).collect();
    assert_eq!(authorized, ["filesystem_write", "shell_exec"]);
}

#[test]
fn everything_the_template_proposes_is_readable() {
    let text = filled_in("orchard");
    let proposal = |line: &str| {
        let begins = |word: &str| word.ends_with(':') && !word.contains(' ');
        line.split_whitespace().nth(1).is_some_and(|word| begins(word) || word == "-")
    };
    let proposed: Vec<&str> =
        text.lines().map(|line| line.strip_prefix("# ").filter(|_| proposal(line)).unwrap_or(line)).collect();
    assert_eq!(short(&read(&proposed.join("\n"))), Vec::<String>::new(), "{}", proposed.join("\n"));
}

#[test]
fn the_template_explains_or_names_every_field_of_a_brief() {
    let text = template(&"orchard".parse().unwrap(), jiff::civil::date(2024, 5, 6));
    let front: Vec<&str> = text.split("---\n").nth(1).unwrap().lines().collect();
    for field in super::fields::FIELDS {
        let key = format!("{field}: ");
        let is_key = |line: &&str| {
            let line = line.trim_start_matches("# ");
            line.starts_with(&key) || line.trim_end() == key.trim_end() || line.contains(&format!(" in {key}"))
        };
        assert_eq!(front.iter().any(is_key), !NAMED_ONLY.contains(&field), "{field}");
        assert!(text.contains(field), "{field}");
    }
}

#[test]
fn the_template_names_every_adapter_category_role_and_detector() {
    let text = template(&"orchard".parse().unwrap(), jiff::civil::date(2024, 5, 6));
    let comments: Vec<&str> = text.lines().filter(|line| line.starts_with('#')).collect();
    let said: Vec<&str> = comments.iter().flat_map(|line| line.split([' ', ','])).collect();
    let categories = crate::words::category::STATIC.map(|(name, _)| name);
    let detectors = Detector::ALL.map(Detector::name);
    for name in ADAPTERS.iter().chain(&categories).chain(&Role::WORDS).chain(&detectors) {
        assert!(said.contains(name), "{name}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 120), "{text}");
}

#[test]
fn an_id_is_made_of_a_day_and_a_suffix() {
    let day = jiff::civil::date(2024, 5, 6);
    assert_eq!(generated_id(day, "a1b2c3").unwrap().as_str(), "2024-05-06-a1b2c3");
    for suffix in ["", "a-b", "é", "../x", &"a".repeat(46)] {
        assert!(generated_id(day, suffix).is_err(), "{suffix}");
    }
}

#[test]
fn a_verdict_needs_a_text() {
    for input in [json!(null), json!({}), json!({"text": 5}), json!("text")] {
        assert!(decide(&input).is_err(), "{input}");
    }
}

#[test]
fn control_characters_are_not_repeated() {
    let reading = with_fields("mode: \u{1b}[31mred\nproject: \u{7}x");
    let told = format!("{:?}{}", reading.verdict()["issues"], summary(&reading).unwrap());
    assert!(!told.contains(['\u{1b}', '\u{7}']), "{told}");
}

#[test]
fn hostile_texts_are_read_in_bounded_time_and_memory() {
    let nested: String = (0..600).map(|depth| format!("{}a:\n", " ".repeat(depth))).collect();
    let many_roles: String = (0..20_000).map(|n| format!("  r{n}:\n")).collect();
    let texts = [
        format!("---\n{}", "x".repeat(300 * 1024)),
        "---\n\0\0: \0\n---\n# \0\n\0".to_owned(),
        format!("---\nroles: {}{}\n---\n", "[".repeat(10_000), "]".repeat(10_000)),
        format!("---\n{}\n---\n", nested),
        format!("---\nroles:\n{}---\n", " a:\n  b:\n   c:\n".repeat(10_000)),
        format!("---\nroles:\n{many_roles}role_adapters:\n{}---\n", &many_roles[..60_000]),
        format!("---\nroles: [{}]\n---\n", ",".repeat(200_000)),
        format!("---\nauthorized_costs: [{}x]\n---\n", "y,".repeat(100_000)),
        format!("---\n{}---\n", "?\n".repeat(100_000)),
        format!("---\n---\n{}", "# x\n".repeat(50_000)),
        format!("---\n---\n{}", "#".repeat(200_000)),
        format!("---\n---\n# {}", "y".repeat(200_000)),
        format!("---\n{}: x\n---", "k".repeat(200_000)),
        "---\n".repeat(50_000),
        "\u{FEFF}\u{FEFF}---\n---".to_owned(),
    ];
    for text in texts {
        let reading = read(&text);
        assert!(!reading.is_valid());
        assert!(reading.problems.len() <= 1002, "{}", reading.problems.len());
        check_spans(&text, &reading);
    }
}

#[test]
fn an_error_is_told_even_behind_a_thousand_warnings() {
    let reading = with_fields(&format!("authorized_costs: [{}x]\ndeadline: soon", "y,".repeat(1_000)));
    assert!(short(&reading).contains(&"E 4:11 deadline".to_owned()));
    let last = reading.problems.last().unwrap();
    assert_eq!(last.message, "501 more of severity warning are not shown");
}

#[track_caller]
fn check_spans(text: &str, reading: &Reading) {
    for problem in &reading.problems {
        let Some(span) = problem.span else { continue };
        assert!(text.get(span.start..span.start + span.len).is_some(), "{problem:?} in {text:?}");
        let line = text.split('\n').nth(span.line as usize - 1).unwrap();
        assert!((span.column as usize) <= line.chars().count() + 1, "{problem:?} in {text:?}");
    }
}

/// Lines as operators and adversaries write them.
fn line() -> impl Strategy<Value = String> {
    let words = [
        "---",
        "project: orchard",
        "project:",
        "roles:",
        "  - planner",
        "  - executor",
        "\t- x # y",
        "  planner:",
        "    adapter: mock",
        "    adapter: cli-bridge",
        "      deep: er",
        "- *",
        "budgets:",
        "budgets: {max_turns: 1, a: {b: [c, 'd}",
        "budgets: {max_turns: {x: {y: 1}}}",
        "  max_tokens: 0",
        "  max_tokens: \"5\"",
        "role_adapters:",
        "authorized_costs: [a, 'b, c', \"d]",
        "authorized_costs:",
        "mode: fast",
        "mode: 'é",
        "# Objective",
        "## Deliverables",
        "# Goal:",
        "```",
        "?",
        "",
        "\r",
        "cli:",
        "  args:",
        "detectors:",
        "  blocker: disabled",
        "deadline: 2024-02-30",
        "\u{FEFF}",
        "\0",
    ];
    prop_oneof![4 => prop::sample::select(words.to_vec()).prop_map(str::to_owned), 1 => ".{0,12}"]
}

proptest! {
    #[test]
    fn any_text_is_read_and_every_place_is_inside_it(
        lines in prop::collection::vec(line(), 0..25),
        begun in any::<bool>(),
        ending in prop::sample::select(vec!["\n", "\r\n", "\r"]),
    ) {
        let begin = if begun { format!("---{ending}") } else { String::new() };
        let text = format!("{begin}{}", lines.join(ending));
        let reading = read(&text);
        check_spans(&text, &reading);
        prop_assert_eq!(reading.is_valid(), reading.problems.iter().all(|problem| problem.severity == Severity::Warning));
        prop_assert_eq!(&read(&text), &reading);
    }

    #[test]
    fn any_characters_are_read(text in any::<String>()) {
        check_spans(&text, &read(&text));
    }

    #[test]
    fn line_endings_change_no_verdict(lines in prop::collection::vec(line(), 0..25)) {
        let lines: Vec<String> = lines.into_iter().map(|line| line.replace(['\r', '\n'], "")).collect();
        let unix = read(&format!("---\n{}", lines.join("\n")));
        let dos = read(&format!("---\r\n{}", lines.join("\r\n")));
        prop_assert_eq!(short(&unix), short(&dos));
        prop_assert_eq!(unix.sections, dos.sections);
        prop_assert_eq!(unix.front_matter, dos.front_matter);
    }
}

#[test]
fn the_peers_slugs_are_ours() {
    let vectors = include_str!("../../../../tests/vectors/openwar/aux/vectors.jsonl");
    let mut compared = 0;
    for line in vectors.lines() {
        let vector: Value = serde_json::from_str(line).unwrap();
        let (input, output) = (vector["input"].as_str().unwrap_or_default(), vector["output"].as_str());
        let ours = match vector["fn"].as_str() {
            Some("slugify") => slug_like(input),
            Some("infer_slug") => slug_like(input.rsplit('/').next().unwrap_or_default()),
            _ => continue,
        };
        // Where a name suggests nothing, each caller has a word of its own; OpenWar's chat says `chat-brief`.
        let ours = ours.map_or_else(|| "chat-brief".to_owned(), |slug| slug.to_string());
        assert_eq!(Some(ours.as_str()), output, "{input}");
        compared += 1;
    }
    assert_eq!(compared, 3);
}
