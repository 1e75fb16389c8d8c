//! Every error of a script, word for word, and the shapes that are accepted.

use super::*;

#[track_caller]
fn check(script: &str, expected: &str) {
    let error = Script::parse(script, "play.yaml").expect_err(script);
    let hint = error.hint().map(|hint| format!(" | {hint}")).unwrap_or_default();
    assert_eq!(format!("{error}{hint}"), expected, "{script}");
}

#[test]
fn a_part_of_a_run_has_turns_of_its_own() {
    let text = "parts:\n  executor: [a, b]\n  subtask/2.1/executor: [c]\nturns: [d, e, f]\n";
    let script = Script::parse(text, "play.yaml").expect("a script");
    let first = |part: &str| script.of_part(part).map(|own| own.turns[0].text.clone());
    assert_eq!(first("crew/subtask/1.1/executor").as_deref(), Some("a"));
    assert_eq!(first("crew/subtask/2.1/executor").as_deref(), Some("c"));
    assert_eq!(first("executor").as_deref(), Some("a"));
    assert_eq!((first("crew/plan/1/planner"), first("crew/otherexecutor")), (None, None));
}

#[test]
fn every_mistake_says_where_it_is_and_what_was_expected() {
    check("just text", "play.yaml:1: a script must be a list of turns, or a map with `turns`, not `just text`");
    check("turn: []", "play.yaml:1: a script takes no `turn` | did you mean `turns`?");
    check("{}", "play.yaml:1: a script needs `turns` or `parts`");
    check("turns: 3", "play.yaml:1: `turns` must be a list, not `3`");
    check("- 42", "play.yaml:1, turn 1: a turn must be text or a map, not `42`");
    check("- one\n- - two", "play.yaml:2, turn 2: a turn must be text or a map, not a list");
    check("- one\n- txt: two", "play.yaml:2, turn 2: a turn takes no `txt` | did you mean `text`?");
    check(
        "- colour: red",
        "play.yaml:1, turn 1: a turn takes no `colour` | it may have `text`, `calls`, `tool_calls`, `when`, `usage`, \
         `chunks`, `chunk_chars`, `delay_ms`, `fail`, `stop` or `repeat`",
    );
    check("- text: 42", "play.yaml:1, turn 1: `text` must be text, not `42` | put it in quotes");
    check("- text: [a]", "play.yaml:1, turn 1: `text` must be text, not a list");
    check("- text:", "play.yaml:1, turn 1: `text` must be text, not nothing");
    check("- calls: read_file", "play.yaml:1, turn 1: `calls` must be a list, not `read_file`");
    check("- calls:\n    - read_file", "play.yaml:2, turn 1: a call must be a map, not `read_file`");
    check("- calls:\n    - args: {}", "play.yaml:2, turn 1: a call needs `tool`");
    check("- tool_calls:\n    - arguments: {}", "play.yaml:2, turn 1: a call needs `name`");
    check(
        "- calls:\n    - name: x",
        "play.yaml:2, turn 1: a call takes no `name` | write `tool`; `name` is for `tool_calls`",
    );
    check(
        "- tool_calls:\n    - args: {}",
        "play.yaml:2, turn 1: a call takes no `args` | write `arguments`; `args` is for `calls`",
    );
    check(
        "- tool_calls:\n    - argument: x",
        "play.yaml:2, turn 1: a call takes no `argument` | did you mean `arguments`?",
    );
    check(
        "- calls: [{tool: x, args: {}, malformed: '{'}]",
        "play.yaml:1, turn 1: give `args` or `malformed`, not both",
    );
    check("- when: {}", "play.yaml:1, turn 1: `when` needs `contains`, `matches`, `turn` or `tool_result`");
    check("- when: approved", "play.yaml:1, turn 1: `when` must be a map, not `approved`");
    check("- when: {contain: a}", "play.yaml:1, turn 1: `when` takes no `contain` | did you mean `contains`?");
    check("- when: {turn: 0}", "play.yaml:1, turn 1: `turn` must be a whole number from 1, not `0`");
    check(
        "- when:\n    matches: '(a'",
        "play.yaml:2, turn 1: `matches` must be a regular expression (unclosed group), not `(a`",
    );
    check(
        "- when: {tool_result: {success: maybe}}",
        "play.yaml:1, turn 1: `success` must be true or false, not `maybe`",
    );
    check("- usage: {input: 3}", "play.yaml:1, turn 1: `usage` takes no `input` | did you mean `input_tokens`?");
    check(
        "- usage: {words: 3}",
        &format!("play.yaml:1, turn 1: `usage` takes no `words` | it may have {}", listed(USAGE_KEYS)),
    );
    check("- usage: {input_tokens: -3}", "play.yaml:1, turn 1: `input_tokens` must be a whole number from 0, not `-3`");
    check("- delay_ms: soon", "play.yaml:1, turn 1: `delay_ms` must be a whole number from 0 to 600000, not `soon`");
    check(
        "- delay_ms: 600001",
        "play.yaml:1, turn 1: `delay_ms` must be a whole number from 0 to 600000, not `600001`",
    );
    check("- chunk_chars: 0", "play.yaml:1, turn 1: `chunk_chars` must be a whole number from 1 to 1000000, not `0`");
    check("- {chunks: [a], chunk_chars: 1}", "play.yaml:1, turn 1: give `chunks` or `chunk_chars`, not both");
    check("- {chunks: [a, b], text: abc}", "play.yaml:1, turn 1: `chunks` joined are not `text`; leave `text` out");
    check("- fail: {message: m}", "play.yaml:1, turn 1: `fail` needs `kind`");
    check("- fail: {kind: transient}", "play.yaml:1, turn 1: `fail` needs `message`");
    check(
        "- fail: {kind: cancelled, message: m}",
        "play.yaml:1, turn 1: `kind` must be one of `transient`, `unreadable`, `unreached`, `busy`, `too_long`, `reply_too_long`, `rejected` or `permanent`, not `cancelled`",
    );
    check(
        "- fail: {kind: transient, message: m, times: 0}",
        "play.yaml:1, turn 1: `times` must be a whole number from 1 to 4294967295, not `0`",
    );
    check(
        "- stop: now",
        "play.yaml:1, turn 1: `stop` must be one of `end_turn`, `tool_use`, `max_tokens` or `refusal`, not `now`",
    );
    check(
        "- repeat: always",
        "play.yaml:1, turn 1: `repeat` must be a whole number from 1, or `forever`, not `always`",
    );
    check("- repeat: 0", "play.yaml:1, turn 1: `repeat` must be a whole number from 1, or `forever`, not `0`");
    check("[\n  \"one\",\n  {\"txet\": 1}\n]", "play.yaml:3, turn 2: a turn takes no `txet` | did you mean `text`?");
}

#[test]
fn what_is_no_document_names_the_line() {
    let error = Script::parse("- one\n- text: \"two\n", "play.yaml").unwrap_err();
    let told = error.to_string();
    assert!(told.starts_with("play.yaml:") && told.contains("neither YAML nor JSON: "), "{told}");
    assert!(error.hint().is_some());
}

#[test]
fn a_missing_file_is_named_and_the_reason_kept() {
    let folder = tempfile::tempdir().unwrap();
    let error = Script::read(&folder.path().join("gone.yaml")).unwrap_err();
    assert!(error.to_string().ends_with("gone.yaml`"), "{error}");
    assert!(std::error::Error::source(&error).is_some());
}

#[test]
fn a_script_is_a_list_or_a_map_with_turns_and_may_be_empty() {
    #[track_caller]
    fn check(text: &str, turns: usize) {
        assert_eq!(Script::parse(text, "play.yaml").unwrap().len(), turns, "{text}");
    }
    check("", 0);
    check("# only a comment\n", 0);
    check("[]", 0);
    check("- one\n- two\n", 2);
    check("turns:\n  - one\n", 1);
    check(r#"["one", {"text": "two"}]"#, 2);
    check(r#"{"turns": ["one"]}"#, 1);
    check("\u{feff}- one\n", 1);
}

#[test]
fn a_script_is_named_after_its_file() {
    assert_eq!(Script::parse("[]", "some/folder/play.yaml").unwrap().name(), "play.yaml");
    assert_eq!(Script::parse("[]", "inline").unwrap().name(), "inline");
}
