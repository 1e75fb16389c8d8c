use proptest::prelude::*;
use serde_json::{Value, json};

use super::category::{CI_MODIFY, FILESYSTEM_READ, HTTP_FETCH, SHELL_EXEC, STATIC};
use super::*;
use crate::role::Role;

const VECTORS: &str =
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/vectors/openwar/aux/vectors.jsonl"));

fn categories(value: &Value) -> Vec<Category> {
    serde_json::from_value(value.clone()).unwrap()
}

#[test]
fn authorization_and_roles_decide_as_the_peers() {
    let mut seen = 0;
    for line in VECTORS.lines() {
        let vector: Value = serde_json::from_str(line).unwrap();
        let input = &vector["input"];
        let output = match vector["fn"].as_str().unwrap() {
            "auth_match" => {
                let entry = Category::new(input["entry"].as_str().unwrap());
                let required = Category::new(input["required"].as_str().unwrap());
                json!(authorization::covers(&entry, &required))
            }
            "auth_check" => {
                let [required, costs, approved] =
                    ["required", "authorized_costs", "session_approved"].map(|name| categories(&input[name]));
                json!(authorization::check(&required, &costs, &approved))
            }
            "role_scope" => {
                let role = RoleLimit::of(Role::from_word(input["role"].as_str().unwrap()).unwrap());
                json!(role.scope_of(&categories(&input["required"])))
            }
            _ => continue,
        };
        assert_eq!(output, vector["output"], "{line}");
        seen += 1;
    }
    assert!(seen >= 17, "only {seen} vectors were found");
}

#[test]
fn an_entry_covers_by_name_or_wildcard() {
    for (entry, required, covered) in [
        ("git_push", "git_push", true),
        ("Git_push", "git_push", false),
        ("git_*", "git_push", false),
        ("*", "mcp_tool:git:log", true),
        ("mcp_tool:*", "mcp_tool:git:log", true),
        ("mcp_tool:*", "mcp_tool", false),
        ("mcp_tool:*", "shell_exec", false),
        ("mcp_tool:git:*", "mcp_tool:git", true),
        ("mcp_tool:git:*", "mcp_tool:gitlab:log", false),
        ("mcp_tool:git", "mcp_tool:git:log", false),
        ("mcp_toolbox:*", "mcp_tool:git", false),
        ("", "git_push", false),
    ] {
        assert_eq!(
            authorization::covers(&Category::new(entry), &Category::new(required)),
            covered,
            "{entry} {required}"
        );
    }
}

#[track_caller]
fn check(input: Value, expected: Value) {
    let decision = decide(&input).unwrap();
    for (field, value) in expected.as_object().unwrap() {
        assert_eq!(&decision[field], value, "{field} of {input}: {decision}");
    }
    let is_allowed = decision["decision"] == "allow";
    assert_eq!(decision["would_allow"].is_null(), is_allowed, "{decision}");
    assert_ne!(decision["reason"], "", "{decision}");
}

#[test]
fn null_counts_as_absent() {
    let absent = decide(&json!({"tool": "shell_exec"})).unwrap();
    let null = json!({
        "tool": "shell_exec", "arguments": null, "authorized_costs": null, "session_approved": null, "role": null,
    });
    assert_eq!(decide(&null).unwrap(), absent);
    for flag in ["tool", "approved_call", "shell_disabled"] {
        let mut input = json!({"tool": "shell_exec"});
        input[flag] = Value::Null;
        assert!(decide(&input).is_err(), "{flag}");
    }
}

#[test]
fn what_nobody_authorized_is_asked_for() {
    let args = json!({"path": "a", "content": "b"});
    check(
        json!({"tool": "write_file", "arguments": args}),
        json!({"decision": "ask", "layer": "brief", "required": ["filesystem_write"], "missing": ["filesystem_write"]}),
    );
    check(
        json!({"tool": "write_file", "arguments": args, "authorized_costs": ["filesystem_write"]}),
        json!({"decision": "allow", "layer": "brief", "missing": []}),
    );
    check(
        json!({"tool": "write_file", "arguments": args, "authorized_costs": [], "session_approved": ["filesystem_write"]}),
        json!({"decision": "allow", "layer": "approval"}),
    );
    check(
        json!({"tool": "write_file", "arguments": args, "approved_call": true}),
        json!({"decision": "allow", "layer": "approval"}),
    );
    check(json!({"tool": "read_file", "arguments": {"path": "a"}}), json!({"decision": "allow", "layer": "default"}));
    check(json!({"tool": "request_permission"}), json!({"decision": "allow", "required": []}));
    check(
        json!({"tool": "git:log", "authorized_costs": ["mcp_tool:git:*"]}),
        json!({"decision": "allow", "required": ["mcp_tool:git:log"]}),
    );
}

#[test]
fn every_missing_category_must_be_covered_s5() {
    let args = json!({"diff": "--- a/.travis.yml\n+++ /dev/null\n"});
    check(
        json!({"tool": "apply_patch", "arguments": args, "authorized_costs": ["filesystem_write"], "session_approved": ["ci_modify"]}),
        json!({
            "decision": "ask", "missing": ["filesystem_delete"],
            "required": ["filesystem_write", "filesystem_delete", "ci_modify"],
        }),
    );
}

#[test]
fn a_roles_limit_is_refused_and_fatal() {
    check(
        json!({"tool": "shell_exec", "arguments": {"cmd": "ls"}, "authorized_costs": ["*"], "role": "reviewer"}),
        json!({"decision": "refuse", "layer": "role", "missing": ["shell_exec"]}),
    );
    check(
        json!({"tool": "request_permission", "role": "planner"}),
        json!({"decision": "refuse", "layer": "role", "missing": []}),
    );
    check(json!({"tool": "read_file", "role": "critic"}), json!({"decision": "allow"}));
    check(
        json!({"tool": "http_fetch", "role": {"name": "scout", "may_hold": ["http_fetch"]}}),
        json!({"decision": "ask", "layer": "brief"}),
    );
    check(
        json!({"tool": "read_file", "role": {"name": "scout", "may_hold": ["http_fetch"]}}),
        json!({"decision": "refuse"}),
    );
}

#[test]
fn commands_that_are_switched_off_stay_off() {
    check(
        json!({"tool": "shell_exec", "arguments": {"cmd": "ls"}, "authorized_costs": ["*"], "approved_call": true, "shell_disabled": true}),
        json!({"decision": "refuse", "layer": "call", "reason": "SHELL_DISABLED: commands are switched off for this run"}),
    );
    check(json!({"tool": "read_file", "shell_disabled": true}), json!({"decision": "allow"}));
}

#[test]
fn of_two_refusals_the_role_speaks_first() {
    let categories = [Category::new(SHELL_EXEC)];
    let planner = RoleLimit::of(Role::Planner);
    let request = Request {
        tool: "shell_exec",
        categories: &categories,
        effects: &[],
        role: Some(&planner),
        authorized: &[],
        approved_for_run: &[],
        call_is_approved: false,
        shell_is_disabled: true,
    };
    assert!(judge(&request).is_fatal());
    let decision = judge(&Request { role: None, ..request });
    assert_eq!((decision.answer, decision.layer, decision.is_fatal()), (Answer::Refuse, Layer::Call, false));
}

#[test]
fn the_strictest_finding_speaks_and_of_equals_the_first() {
    let finding = |answer, layer| Finding { answer, layer, reason: String::new(), missing: vec![], would_allow: None };
    let speaks = |first, rest| strictest(OneOrMore { first, rest }).layer;
    let allow = finding(Answer::Allow, Layer::Default);
    let ask = finding(Answer::Ask, Layer::Brief);
    let refuse = finding(Answer::Refuse, Layer::Call);
    assert_eq!(speaks(allow.clone(), vec![refuse.clone(), ask.clone()]), Layer::Call);
    assert_eq!(speaks(ask.clone(), vec![allow, finding(Answer::Ask, Layer::Grant)]), Layer::Brief);
    assert_eq!(speaks(refuse, vec![finding(Answer::Refuse, Layer::Role)]), Layer::Call);
}

#[test]
fn an_unknown_tool_or_role_is_an_error_that_names_the_known() {
    for (input, part) in [
        (json!({"tool": "no_such_tool"}), "`write_file`"),
        (json!({"tool": "git:"}), "`git:`"),
        (json!({"tool": "read_file", "role": "boss"}), "planner, executor, reviewer, critic"),
        (json!({"tool": "read_file", "role": {"nam": "x"}}), "role"),
        (json!({"arguments": {}}), "`tool`"),
        (json!({"tool": "read_file", "authorized_costs": "x"}), "call"),
    ] {
        let error = decide(&input).unwrap_err();
        assert!(error.contains(part), "{input}: {error}");
    }
}

fn some_categories() -> impl Strategy<Value = Vec<Category>> {
    let names: Vec<String> = STATIC
        .iter()
        .map(|(name, _)| (*name).to_owned())
        .chain(["*", "mcp_tool:git:log", "mcp_tool:git:*", "mcp_tool:*"].map(str::to_owned))
        .collect();
    proptest::collection::vec(proptest::sample::select(names).prop_map(Category::new), 0..5)
}

fn some_role() -> impl Strategy<Value = Option<RoleLimit>> {
    let built_in = proptest::sample::select(Role::ALL.to_vec()).prop_map(|role| Some(RoleLimit::of(role)));
    let defined = (some_categories(), any::<bool>())
        .prop_map(|(may_hold, may_read)| Some(RoleLimit { name: "scout".to_owned(), may_hold, may_read }));
    prop_oneof![Just(None), built_in, defined]
}

fn some_effect(category: Category) -> Effect {
    Effect { verdict: Verdict::Ask, category, act: Act::Other, matched: String::new(), reason: "acts".to_owned() }
}

proptest! {
    #[test]
    fn more_authority_never_makes_an_answer_stricter_and_never_lifts_a_refusal(
        needed in some_categories(), effects in some_categories(), role in some_role(), shell_is_disabled in any::<bool>(),
        authorized in some_categories(), approved in some_categories(), call_is_approved in any::<bool>(),
        more in some_categories(), to_brief in any::<bool>(),
    ) {
        let effects: Vec<Effect> = effects.into_iter().map(some_effect).collect();
        let before = Request {
            tool: "apply_patch",
            categories: &needed,
            effects: &effects,
            role: role.as_ref(),
            authorized: &authorized,
            approved_for_run: &approved,
            call_is_approved,
            shell_is_disabled,
        };
        let authorized_after: Vec<_> = authorized.iter().chain(more.iter().filter(|_| to_brief)).cloned().collect();
        let approved_after: Vec<_> = approved.iter().chain(more.iter().filter(|_| !to_brief)).cloned().collect();
        let after = Request { authorized: &authorized_after, approved_for_run: &approved_after, ..before };
        let (before, after, yes) = (judge(&before), judge(&after), judge(&Request { call_is_approved: true, ..before }));
        prop_assert!(after.answer <= before.answer);
        prop_assert_ne!(yes.answer, Answer::Ask);
        if before.answer == Answer::Refuse {
            prop_assert_eq!(&after, &before);
            prop_assert_eq!(&yes, &before);
        }
        prop_assert_eq!(before.answer == Answer::Allow, before.would_allow.is_none());
    }
}

#[test]
fn an_ordinary_call_needs_only_what_its_tool_needs() {
    for (tool, needed) in [("read_file", FILESYSTEM_READ), ("http_fetch", HTTP_FETCH), ("shell_exec", SHELL_EXEC)] {
        check(json!({"tool": tool, "arguments": {}}), json!({"required": [needed]}));
    }
    check(
        json!({"tool": "write_file", "arguments": {"path": ".github/workflows/ci.yml"}}),
        json!({"missing": ["filesystem_write", CI_MODIFY]}),
    );
}
