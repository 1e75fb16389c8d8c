use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::words::Category;
use crate::words::category::{CI_MODIFY, FILESYSTEM_READ, HTTP_FETCH, SHELL_EXEC, STATIC};
use crate::words::role::Role;

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
                let role = Role::from_word(input["role"].as_str().unwrap()).unwrap();
                let required = categories(&input["required"]);
                // Ours may look before it plans; OpenWar's may not.
                if role == Role::Planner && required == [Category::new(FILESYSTEM_READ)] {
                    assert!(RoleLimit::of(role).scope_of(&required).in_scope);
                    seen += 1;
                    continue;
                }
                let role = RoleLimit::of(role);
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
        json!({"tool": "request_permission", "role": {"name": "mute"}}),
        json!({"decision": "refuse", "layer": "role", "missing": []}),
    );
    check(json!({"tool": "read_file", "role": "critic"}), json!({"decision": "allow"}));
    check(json!({"tool": "read_file", "role": "planner"}), json!({"decision": "allow"}));
    check(json!({"tool": "write_file", "role": "planner"}), json!({"layer": "role", "missing": ["filesystem_write"]}));
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
fn what_a_role_was_not_granted_is_refused_and_the_reason_names_the_grant() {
    let migrator = |holds: Value| {
        json!({"name": "migrator", "may_hold": ["*"], "may_read": true,
            "granted": {"holds": holds, "by": "`role_grants` in the brief"}})
    };
    let push = json!({"cmd": "git push"});
    for (holds, tool, arguments, decision, layer) in [
        (json!(["shell_exec", "git_push", "http_fetch"]), "shell_exec", &push, "allow", "brief"),
        (json!(["*"]), "shell_exec", &push, "allow", "brief"),
        (json!(["shell_exec"]), "shell_exec", &push, "refuse", "role_grant"),
        (json!([]), "write_file", &json!({"path": "a", "content": "b"}), "refuse", "role_grant"),
        (json!([]), "read_file", &json!({"path": "a"}), "allow", "default"),
    ] {
        let given = json!({"tool": tool, "arguments": arguments, "authorized_costs": ["*"], "role": migrator(holds)});
        check(given.clone(), json!({"decision": decision, "layer": layer}));
        // Nothing that an operator says for the run or the call reaches beyond it.
        let mut approved = given;
        approved["session_approved"] = json!(["*"]);
        approved["approved_call"] = json!(true);
        check(approved, json!({"decision": decision}));
    }
    check(
        json!({"tool": "shell_exec", "arguments": {"cmd": "git push"}, "authorized_costs": ["*"], "role": migrator(json!(["shell_exec"]))}),
        json!({"missing": ["git_push"], "reason": "the role `migrator` was not granted `git_push`: `role_grants` in the brief grants it `shell_exec`"}),
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
    let request = GateRequest {
        tool: "shell_exec",
        categories: &categories,
        effects: &[],
        role: Some(&planner),
        authorized: &[],
        approved_for_run: &[],
        grants: &[],
        call_is_approved: false,
        shell_is_disabled: true,
        places: &Places::default(),
        scope: &Scope::default(),
        scope_locked: false,
        missing_walls: &[],
    };
    assert!(judge(&request).is_fatal());
    let decision = judge(&GateRequest { role: None, ..request });
    assert_eq!((decision.answer, decision.layer, decision.is_fatal()), (GateAnswer::Refuse, Layer::Call, false));
}

#[test]
fn a_command_that_is_waited_for_is_decided_as_in_a_shell() {
    let decided = |tool: &str, args: &Value, costs: &Value, more: &str| {
        let mut input = json!({"tool": tool, "arguments": args, "authorized_costs": costs});
        if !more.is_empty() {
            input[more] = json!(true);
        }
        let decided = decide(&input).unwrap();
        (decided["decision"].clone(), decided["layer"].clone(), decided["required"].clone())
    };
    for line in ["test -f x", "rm -r build", "git push", "./ready.sh", "curl https://x.dev", "if", "rm -r .git"] {
        for costs in [json!([]), json!(["shell_exec"]), json!(["*"])] {
            for more in ["", "approved_call", "shell_disabled"] {
                let waited = decided("wait_for", &json!({"command": line}), &costs, more);
                let run = decided("shell_exec", &json!({"cmd": line}), &costs, more);
                assert_eq!(waited, run, "{line} {costs} {more}");
            }
        }
    }
    let (none, shell) = (json!([]), json!(["shell_exec"]));
    for (args, costs, decision) in [
        (json!({"seconds": 9}), &none, "allow"),
        (json!({"message": true}), &none, "allow"),
        (json!({"file": "a"}), &none, "allow"),
        (json!({"port": 80}), &none, "allow"),
        (json!({"ci": 1}), &none, "ask"),
        (json!({"ci": 1}), &shell, "ask"),
        (json!({"pull_request": 1}), &json!(["shell_exec", "http_fetch"]), "allow"),
    ] {
        assert_eq!(decided("wait_for", &args, costs, "").0, decision, "{args} {costs}");
    }
}

#[test]
fn the_strictest_finding_speaks_and_of_equals_the_first() {
    let finding = |answer, layer| Finding {
        answer,
        layer,
        matched: None,
        reason: String::new(),
        missing: vec![],
        would_allow: None,
    };
    let speaks = |first, rest| strictest(&OneOrMore { first, rest }).layer;
    let allow = finding(GateAnswer::Allow, Layer::Default);
    let ask = finding(GateAnswer::Ask, Layer::Brief);
    let refuse = finding(GateAnswer::Refuse, Layer::Call);
    assert_eq!(speaks(allow.clone(), vec![refuse.clone(), ask.clone()]), Layer::Call);
    assert_eq!(speaks(ask.clone(), vec![allow, finding(GateAnswer::Ask, Layer::Grant)]), Layer::Brief);
    assert_eq!(speaks(refuse, vec![finding(GateAnswer::Refuse, Layer::Role)]), Layer::Call);
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
    let defined = (some_categories(), any::<bool>()).prop_map(|(may_hold, may_read)| {
        Some(RoleLimit { name: "scout".to_owned(), may_hold, may_read, granted: None })
    });
    prop_oneof![Just(None), built_in, defined]
}

#[test]
fn a_missing_wall_asks_for_commands_that_no_operator_approved() {
    let categories = native::categories("shell_exec").unwrap();
    let walls = ["secret_read".to_owned()];
    let request = GateRequest {
        tool: "shell_exec",
        categories: &categories,
        effects: &[],
        role: None,
        authorized: &categories,
        approved_for_run: &[],
        grants: &[],
        places: &Places::default(),
        scope: &Scope::default(),
        scope_locked: false,
        call_is_approved: false,
        shell_is_disabled: false,
        missing_walls: &walls,
    };
    let decision = judge(&request);
    assert_eq!((decision.answer, decision.layer), (GateAnswer::Ask, Layer::Sandbox));
    assert_eq!(decision.missing, categories);
    assert!(decision.reason.contains("secret_read"), "{}", decision.reason);
    for allowed in [
        GateRequest { missing_walls: &[], ..request },
        GateRequest { call_is_approved: true, ..request },
        GateRequest { approved_for_run: &categories, ..request },
    ] {
        assert_eq!(judge(&allowed).answer, GateAnswer::Allow, "{allowed:?}");
    }
    let reads = native::categories("read_file").unwrap();
    assert_eq!(judge(&GateRequest { tool: "read_file", categories: &reads, ..request }).answer, GateAnswer::Allow);
    assert_eq!(judge(&GateRequest { shell_is_disabled: true, ..request }).answer, GateAnswer::Refuse);
}

fn some_target() -> impl Strategy<Value = Target> {
    let paths = ["?", ".", "*", ".git/config", "src/a", "src/*", "/", "/etc", "/home/bob/x", "..", "~", "/tmp/x"];
    (proptest::sample::select(paths.to_vec()), any::<bool>()).prop_map(|(path, is_recursive)| Target {
        path: path.to_owned(),
        is_pattern: path != "?" && path.contains('*'),
        is_recursive,
    })
}

fn some_act() -> impl Strategy<Value = Act> {
    let hosts = proptest::sample::select(vec!["example.org", "evil.net", "?"]);
    prop_oneof![
        Just(Act::Other),
        Just(Act::Unreadable),
        hosts.prop_map(|host| Act::Contact { host: host.to_owned() }),
        some_target().prop_map(Act::Write),
        some_target().prop_map(Act::Overwrite),
        some_target().prop_map(Act::Delete),
    ]
}

fn some_effects() -> impl Strategy<Value = Vec<Effect>> {
    let names: Vec<&str> = STATIC.iter().map(|(name, _)| *name).collect();
    let effect = (proptest::sample::select(names), some_act()).prop_map(|(category, act)| Effect {
        verdict: Verdict::Ask,
        category: Category::new(category),
        act,
        matched: "x".to_owned(),
        reason: "acts".to_owned(),
    });
    proptest::collection::vec(effect, 0..4)
}

fn some_scope() -> impl Strategy<Value = Scope> {
    let some = |texts: &[&str]| Some(texts.iter().map(|&text| text.to_owned()).collect());
    let scopes = [
        ScopeWords::default(),
        ScopeWords { paths: some(&["src"]), ..ScopeWords::default() },
        ScopeWords { paths: some(&[]), hosts: some(&["example.org"]), ..ScopeWords::default() },
        ScopeWords { services: some(&["git"]), ..ScopeWords::default() },
    ];
    proptest::sample::select(scopes.map(|words| Scope::new(&words)).to_vec())
}

fn some_grants() -> impl Strategy<Value = Vec<Grant>> {
    let lasts = proptest::sample::select(vec![Lasts::ThisCall, Lasts::ThisRun, Lasts::Persistent]);
    let grant = (some_categories(), lasts, 0u8..4).prop_map(|(categories, lasts, id)| Grant {
        grant_id: id.to_string(),
        action: "a".to_owned(),
        reasoning: String::new(),
        categories,
        tool: None,
        command: None,
        path: None,
        act: None,
        lasts,
        until: None,
        uses: None,
        granted_at: jiff::Timestamp::UNIX_EPOCH,
    });
    proptest::collection::vec(grant, 0..3)
}

/// A request that owns what it is about.
#[derive(Debug, Clone)]
struct Case {
    needed: Vec<Category>,
    effects: Vec<Effect>,
    role: Option<RoleLimit>,
    authorized: Vec<Category>,
    approved: Vec<Category>,
    grants: Vec<Grant>,
    call_is_approved: bool,
    shell_is_disabled: bool,
    walls: Vec<String>,
    scope: Scope,
    scope_locked: bool,
}

impl Case {
    fn judged(&self) -> Decision {
        judge(&GateRequest {
            tool: "apply_patch",
            categories: &self.needed,
            effects: &self.effects,
            role: self.role.as_ref(),
            authorized: &self.authorized,
            approved_for_run: &self.approved,
            grants: &self.grants.iter().collect::<Vec<_>>(),
            call_is_approved: self.call_is_approved,
            shell_is_disabled: self.shell_is_disabled,
            missing_walls: &self.walls,
            places: &Places { workdir: "/home/op/w".to_owned(), home: "/home/op".to_owned(), ..Places::default() },
            scope: &self.scope,
            scope_locked: self.scope_locked,
        })
    }
}

fn some_case() -> impl Strategy<Value = Case> {
    let lists = (some_categories(), some_categories(), some_categories(), some_grants());
    let flags = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    (lists, some_effects(), some_role(), some_scope(), flags).prop_map(
        |((needed, authorized, approved, grants), effects, role, scope, flags)| Case {
            needed,
            effects,
            role,
            authorized,
            approved,
            grants,
            call_is_approved: flags.0,
            shell_is_disabled: flags.1,
            walls: if flags.3 { vec!["tcp".to_owned()] } else { Vec::new() },
            scope,
            scope_locked: flags.2,
        },
    )
}

proptest! {
    #[test]
    fn more_authority_never_makes_an_answer_stricter_and_never_lifts_a_refusal(
        case in some_case(), more in some_categories(), more_grants in some_grants(),
    ) {
        let before = case.judged();
        let extended = |list: &[Category]| list.iter().chain(&more).cloned().collect();
        let grants = case.grants.iter().chain(&more_grants).cloned().collect();
        let richer = [
            Case { authorized: extended(&case.authorized), ..case.clone() },
            Case { approved: extended(&case.approved), ..case.clone() },
            Case { grants, ..case.clone() },
            Case { scope: Scope::default(), ..case.clone() },
            Case { scope_locked: false, ..case.clone() },
        ];
        for after in richer.iter().map(Case::judged) {
            prop_assert!(after.answer <= before.answer);
        }
        for after in richer[..3].iter().map(Case::judged) {
            prop_assert!(before.answer != GateAnswer::Refuse || after.answer == GateAnswer::Refuse);
        }
        let yes = Case { call_is_approved: true, ..case.clone() }.judged();
        prop_assert_ne!(yes.answer, GateAnswer::Ask);
        prop_assert_eq!(before.answer == GateAnswer::Refuse, yes.answer == GateAnswer::Refuse);
        prop_assert_eq!(before.answer == GateAnswer::Allow, before.would_allow.is_none());
    }

    #[test]
    fn one_more_effect_never_loosens(case in some_case(), more in some_effects(), at in 0usize..4) {
        let mut effects = case.effects.clone();
        effects.splice(at.min(effects.len())..at.min(effects.len()), more);
        let with_more = Case { effects, ..case.clone() }.judged();
        prop_assert!(with_more.answer >= case.judged().answer);
    }

    #[test]
    fn no_wildcard_covers_a_protected_place(case in some_case()) {
        let everything = vec![Category::new("*")];
        let grants = [Lasts::ThisCall, Lasts::ThisRun, Lasts::Persistent].map(|lasts| Grant {
            grant_id: "all".to_owned(), action: "all".to_owned(), reasoning: String::new(), categories: everything.clone(), tool: None,
            command: None, path: None, act: None, lasts, until: None, uses: None, granted_at: jiff::Timestamp::UNIX_EPOCH,
        });
        let all = Case {
            authorized: everything.clone(), approved: everything, grants: grants.to_vec(), role: None,
            call_is_approved: false, shell_is_disabled: false, walls: Vec::new(), scope: Scope::default(), ..case
        };
        let places = Places { workdir: "/home/op/w".to_owned(), home: "/home/op".to_owned(), ..Places::default() };
        let reached = all.effects.iter().filter_map(|effect| protected::protected(effect, &places)).collect::<Vec<_>>();
        let decision = all.judged();
        let hides = all.effects.iter().any(|effect| effect.act == Act::Unreadable);
        let right = if reached.is_empty() && !hides { GateAnswer::Allow } else { GateAnswer::Ask };
        prop_assert_eq!(decision.answer, right);
        // Each place is named, so that a yes is a yes to it.
        for place in reached {
            let named = |finding: &Finding| finding.layer == Layer::Protected && finding.reason.contains(&place.path);
            prop_assert!(decision.findings.iter().any(named));
        }
    }

    #[test]
    fn the_decision_is_its_strictest_finding(case in some_case()) {
        let decision = case.judged();
        prop_assert_eq!(decision.findings.iter().map(|finding| finding.answer).max(), Some(decision.answer));
        let speaks = |finding: &Finding| finding.answer == decision.answer && finding.reason == decision.reason;
        prop_assert!(decision.findings.iter().any(speaks));
    }
}

#[test]
fn each_effect_that_nothing_covers_has_a_finding_with_its_place() {
    let args = json!({"diff": "--- a/.travis.yml\n+++ /dev/null\n"});
    let decision = decide(&json!({"tool": "apply_patch", "arguments": args, "authorized_costs": ["filesystem_write"]}));
    let found: Vec<(Value, Value)> = decision.unwrap()["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|finding| (finding["matched"].clone(), finding["missing"].clone()))
        .collect();
    assert_eq!(
        found,
        [
            (Value::Null, json!(["filesystem_delete", "ci_modify"])),
            (json!("+++ /dev/null"), json!(["filesystem_delete"])),
            (json!(".travis.yml"), json!(["ci_modify"])),
        ]
    );
}

#[test]
fn what_lies_outside_the_scope_asks_or_is_refused_if_it_is_locked() {
    let write = |path: &str, more: Value| {
        let mut input = json!({
            "tool": "write_file", "arguments": {"path": path}, "authorized_costs": ["*"], "scope": ["src"],
        });
        input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        input
    };
    check(write("src/a", json!({"scope_locked": true})), json!({"decision": "allow", "layer": "brief"}));
    check(write("b", json!({})), json!({"decision": "ask", "layer": "scope"}));
    check(write("src/../b", json!({"session_approved": ["*"]})), json!({"decision": "ask", "layer": "scope"}));
    check(write("b", json!({"approved_call": true})), json!({"decision": "allow", "layer": "brief"}));
    check(
        write("b", json!({"scope_locked": true, "approved_call": true})),
        json!({"decision": "refuse", "layer": "scope", "would_allow": "a brief whose `scope` names it"}),
    );
    let fetch = json!({"tool": "http_fetch", "arguments": {"url": "https://evil.net"}, "authorized_costs": ["*"], "scope": {"hosts": ["example.org"]}});
    check(fetch, json!({"decision": "ask", "layer": "scope"}));
    let git =
        json!({"tool": "git:log", "authorized_costs": ["*"], "scope": {"services": ["other"]}, "scope_locked": true});
    check(git, json!({"decision": "refuse", "layer": "scope"}));
}

#[test]
fn a_grant_covers_only_what_it_was_given_for() {
    let call = |grants: Value| json!({"tool": "apply_patch", "arguments": {"diff": "--- a/x\n+++ /dev/null\n"}, "grants": grants});
    let grant = |id: &str, categories: &[&str], more: Value| {
        let mut grant = json!({
            "grant_id": id, "action": "a", "categories": categories, "scope": "this_session",
            "granted_at": "2024-05-06T08:00:00Z",
        });
        grant.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        grant
    };
    let both = [grant("w", &["filesystem_write"], json!({})), grant("d", &["filesystem_delete"], json!({}))];
    check(call(json!(both)), json!({"decision": "allow", "layer": "grant", "grants": ["w", "d"]}));
    // S5: one that covers one of two missing categories lets nothing through.
    check(call(json!([both[1]])), json!({"decision": "ask", "missing": ["filesystem_write"], "grants": null}));
    check(
        call(json!([grant("o", &["filesystem_write", "filesystem_delete"], json!({"tool": "write_file"}))])),
        json!({"decision": "ask", "missing": ["filesystem_write", "filesystem_delete"]}),
    );
    let once = grant("once", &["filesystem_write"], json!({"scope": "this_call"}));
    check(call(json!([both[0], both[1], once])), json!({"grants": ["once", "d"]}));
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

#[test]
fn what_cannot_be_read_is_asked_about_whatever_is_authorized() {
    let grant = json!([{"grant_id": "g", "action": "a", "reasoning": "r", "categories": ["*"], "scope": "this_call",
        "granted_at": "2026-01-01T00:00:00Z"}]);
    for cmd in ["ls\nfi", "echo \"x", "rm -r build; fi", "sh -c 'fi'", "ls \u{fffd}", "f() {"] {
        let call = json!({"tool": "shell_exec", "arguments": {"cmd": cmd}, "authorized_costs": ["*"]});
        let with = |field: &str, value: Value| {
            let mut call = call.clone();
            call[field] = value;
            call
        };
        let asked = json!({"decision": "ask", "layer": "call"});
        check(call.clone(), asked.clone());
        check(with("session_approved", json!(["*"])), asked.clone());
        check(with("grants", grant.clone()), asked);
        check(with("approved_call", json!(true)), json!({"decision": "allow"}));
    }
    let script = json!({"tool": "shell_exec", "arguments": {"cmd": "./x.sh"}, "authorized_costs": ["shell_exec", "opaque_exec"]});
    check(script, json!({"decision": "allow"}));
    let zsh =
        json!({"tool": "shell_exec", "arguments": {"cmd": "git push", "shell": "zsh"}, "authorized_costs": ["*"]});
    check(zsh, json!({"decision": "ask", "layer": "call", "required": ["shell_exec", "opaque_exec", "git_push"]}));
}
