//! The effects of lines, by the vectors, by tables, and for all lines there are.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::gate::effect::Verdict;

fn reading(line: &str) -> ShellReading {
    let places = Places { home: "/home/op".to_owned(), workdir: "/home/op/w".to_owned(), ..Places::default() };
    let context = ShellContext { shell: Dialect::Bash, folder: ".", places: &places, programs: Programs::builtin() };
    read(line, &context)
}

fn vectors(text: &str) -> impl Iterator<Item = Value> + '_ {
    text.lines().map(|line| serde_json::from_str(line).expect("a vector"))
}

fn text<'a>(vector: &'a Value, field: &str) -> &'a str {
    vector[field].as_str().expect("text")
}

#[test]
fn every_binding_vector_is_as_labelled() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for vector in vectors(include_str!("../../../../../tests/vectors/shell-commands.jsonl")) {
        if text(&vector, "strength") != "must" {
            continue;
        }
        count += 1;
        let command = text(&vector, "command");
        let verdict = reading(command).verdict();
        let is_right = match text(&vector, "label") {
            "safe" => verdict == Verdict::Safe,
            "externally-visible" => verdict == Verdict::External,
            "destructive" if text(&vector, "category") == "opaque_exec" => {
                matches!(verdict, Verdict::Opaque | Verdict::Destructive)
            }
            _ => verdict == Verdict::Destructive,
        };
        if !is_right {
            wrong.push(format!("{} {command}: {verdict:?}", text(&vector, "id")));
        }
    }
    assert_eq!(count, 62);
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn the_words_that_run_are_those_of_the_vectors() {
    let mut wrong = Vec::new();
    for vector in vectors(include_str!("../../../../../tests/vectors/shell-words.jsonl")) {
        let runs = Value::from(reading(text(&vector, "command")).runs);
        if runs != vector["runs"] {
            wrong.push(format!("{} gives {runs}", vector));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn the_examples_of_the_table_hold() {
    let broken = Programs::builtin().broken_examples();
    assert!(broken.is_empty(), "{broken:#?}");
    for entry in Programs::builtin().entries() {
        assert!(!entry.examples.is_empty(), "{:?} has no example", entry.names);
    }
}

fn verdict_of(word: &str) -> Verdict {
    serde_json::from_value(Value::from(word)).expect("a verdict")
}

#[test]
fn every_line_of_the_table_is_as_it_says() {
    let lines = include_str!("lines.txt").lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    let mut wrong = Vec::new();
    let mut count = 0;
    for line in lines {
        let (expected, command) = line.split_once(' ').expect("a verdict and a line");
        let command = &command.replace('⏎', "\n");
        let reading = reading(command);
        count += 1;
        if reading.verdict() != verdict_of(expected) {
            let reasons: Vec<&str> = reading.effects.iter().map(|effect| effect.reason.as_str()).collect();
            wrong.push(format!("{command}: {expected}, not {:?}: {reasons:?}", reading.verdict()));
        }
    }
    assert!(count > 300, "only {count} lines");
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn no_here_document_is_read_for_ever() {
    // Without a word it ends with the line, and nothing is run.
    assert_eq!(decide(&json!({ "command": "<<'' " })).expect("it is read")["verdict"], "safe");
    for (line, verdict, runs) in [
        ("<<\r ", "safe", json!([])),
        ("a <<-\u{c} b", "opaque", json!(["a"])),
        ("cat <<x\r\ny\r\nx\r\n", "safe", json!(["cat"])),
    ] {
        let read = decide(&json!({ "command": line })).expect("it is read");
        assert_eq!((&read["verdict"], &read["runs"]), (&json!(verdict), &runs), "{line:?}");
    }
}

#[test]
fn a_line_of_any_depth_and_length_is_read() {
    let opening = [
        ("(", ")"),
        ("{ ", "; }"),
        ("if ", "; then a; fi"),
        ("while ", "; do a; done"),
        ("$(", ")"),
        ("\"$(", ")\""),
        ("`", "`"),
        ("((", "))"),
        ("$((", "))"),
        ("case x in a) ", ";; esac"),
        ("! ", ""),
        ("[[ ( ", " ) ]]"),
        ("f() { ", "; }"),
        ("${x:-", "}"),
        ("a[$(", ")]=1"),
        ("time ", ""),
        ("coproc ", ""),
        ("cat <(", ")"),
        ("for ((", "))"),
        ("echo @(", ")"),
        ("eval ", ""),
        ("sudo ", ""),
        ("{a,", "}"),
        ("env -S ", ""),
        ("<<E\n$(", ")\nE\n"),
        ("x=(", ")"),
        ("fi ", ""),
        ("! time ", ""),
        ("function f { ", "; }"),
        ("if if ", "fi fi"),
        ("git -c alias.x=", " x"),
    ];
    for (open, close) in opening {
        for count in [1, 5, 12, 16, 17, 24, 60, 500, 20_000] {
            for line in [
                format!("{}rm x{}", open.repeat(count), close.repeat(count)),
                format!("{}rm x", open.repeat(count)),
                format!("rm x; {}", open.repeat(count)),
                format!("{} (((((((((((( $(rm x) )))))))))))) {}", open.repeat(count), close.repeat(count)),
            ] {
                let verdict = reading(&line).verdict();
                let is_code = !matches!(
                    open,
                    "$((" | "((" | "{a," | "${x:-" | "x=(" | "fi " | "for ((" | "echo @(" | "f() { " | "function f { "
                );
                assert!(!is_code || verdict >= Verdict::Opaque, "{count} of {open}: {verdict:?}");
            }
        }
    }
    assert_eq!(reading(&"rm x;".repeat(20_000)).verdict(), Verdict::Destructive);
    assert_eq!(reading(&format!("echo {}", "a".repeat(80_000))).verdict(), Verdict::Opaque);
    assert!(reading(&"rm x;".repeat(3_000)).effects.len() < 1_000);
}

fn fragments() -> impl Strategy<Value = String> {
    let fragment = prop::sample::select(vec![
        "rm",
        "x",
        "'",
        "\"",
        "$(",
        ")",
        "`",
        "{",
        "}",
        "((",
        "))",
        "<<E\n",
        "\nE\n",
        "|",
        "&&",
        ";",
        "if",
        "then",
        "fi",
        "for",
        "in",
        "do",
        "done",
        "case",
        "esac",
        "[[",
        "]]",
        "$x",
        "${",
        "\\",
        "\n",
        ">",
        "<(",
        "#",
        "!",
        "a=",
        "=",
        "function",
        "coproc",
        "time",
        "$'",
        "$((",
        ">&",
        "&>",
        "1",
        "99999999999>",
        "~+99999999999999999999",
        "&",
        "{1..99999999999999999999}",
        "{a..z..0}",
        "$[",
        "\u{e9}",
        "\0",
        "\r",
        "\t",
        " ",
        " ",
        " ",
        " ",
        "-rf",
        "*",
        "?",
        "<<<",
        "||",
        "sh",
        "-c",
        "eval",
        "xargs",
        "find",
        "-exec",
        "sed",
        "s/a/b/",
        "awk",
        "python3",
        "-e",
        "git",
        "push",
        "env",
        "-S",
    ]);
    prop::collection::vec(fragment, 0..24).prop_map(|parts| parts.concat())
}

fn plain_lines() -> impl Strategy<Value = String> {
    let fragment = prop::sample::select(vec![
        "ls", "echo", "rm", "-rf", "x", "a=b", "A=", "'q r'", "\"q $x\"", "$x", "a\\ b", "*.c", "{a,b}", "~", "2>&1",
        ">", ">>", "<", "f", "&&", "||", "|", ";", "=", "a=b=c", "--o=v", "%", "@", "\"a'b\"", "'a\"b'", "1", "2>",
        "if", "[", "]", "-", "\"\"", "in", "done", "time", "export", "^", ",", "a+b", "x[1]", "$1", "\"$@\"", "\\$x",
        "a#b", "+=", "function", "12>", "1x>",
    ]);
    let space = prop::sample::select(vec![" ", " ", " ", "  ", "\t", ""]);
    prop::collection::vec((fragment, space), 0..14)
        .prop_map(|parts| parts.into_iter().flat_map(|(part, space)| [part, space]).collect())
}

/// Names whose very call deletes, in the places where a command begins in these lines.
fn begins_with_deletion(line: &str) -> bool {
    line.split(['|', '&', ';', '\n']).any(|part| {
        let word = part.split_whitespace().find(|word| !word.contains('='));
        matches!(word, Some("rm" | "\\rm"))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_text_is_read(line in any::<String>()) {
        let _ = reading(&line);
    }

    #[test]
    fn anything_that_looks_like_shell_is_read(line in fragments()) {
        let _ = reading(&line);
    }

    #[test]
    fn the_short_way_and_the_grammar_agree(line in plain_lines()) {
        if let Some(tree) = plain::parse(&line) {
            for dialect in [Dialect::Bash, Dialect::Sh] {
                let whole = grammar::parse(&line, dialect);
                prop_assert_eq!(Ok(&tree), whole.as_ref(), "{}", line);
            }
        }
    }

    #[test]
    fn what_is_safe_begins_no_command_with_a_deletion(line in plain_lines()) {
        if reading(&line).verdict() == Verdict::Safe && !line.contains(['\'', '"', '(']) {
            prop_assert!(!begins_with_deletion(&line), "{}", line);
        }
    }
}

#[test]
fn lines_that_are_a_matter_of_policy_are_judged_as_recorded() {
    let judged: Vec<(String, Verdict)> = vectors(include_str!("../../../../../tests/vectors/shell-commands.jsonl"))
        .filter(|vector| text(vector, "strength") == "judgement")
        .map(|vector| (text(&vector, "id").to_owned(), reading(text(&vector, "command")).verdict()))
        .collect();
    assert_eq!(judged, [("sv-060".to_owned(), Verdict::Safe)]);
}

fn entry(json: Value) -> ProgramEntry {
    serde_json::from_value(json).expect("an entry")
}

#[test]
fn an_addition_makes_programs_stricter_and_never_milder() {
    let builtin = Programs::builtin();
    let places = Places::default();
    let verdict = |programs: &Programs, line: &str| {
        read(line, &ShellContext { shell: Dialect::Bash, folder: ".", places: &places, programs }).verdict()
    };
    let known = entry(serde_json::json!({"names": "frob", "verdict": "safe", "examples": {"frob a": "safe"}}));
    let with = builtin.with(&[known]).expect("it holds");
    assert_eq!((verdict(builtin, "frob a"), verdict(&with, "frob a")), (Verdict::Opaque, Verdict::Safe));
    let strict = entry(serde_json::json!({
        "names": "ls", "verdict": "external", "category": "deploy", "reason": "x", "examples": {"ls": "external"}
    }));
    assert_eq!(verdict(&builtin.with(&[strict]).expect("it holds"), "ls"), Verdict::External);
    let mild = entry(serde_json::json!({"names": "rm", "verdict": "safe", "examples": {"rm x": "safe"}}));
    let refused = builtin.with(&[mild]).expect_err("it does not hold");
    assert!(refused.to_string().contains("`rm x` of `rm`"), "{refused}");
    let silent = entry(serde_json::json!({"names": "frob", "verdict": "safe"}));
    assert_eq!(builtin.with(&[silent]).expect_err("no example"), BadProgram::NoExample("frob".to_owned()));
    for bad in [
        serde_json::json!({"names": "frob", "verdict": "safe", "oprands": "delete"}),
        serde_json::json!({"names": "frob", "verdict": "safe", "category": "no_such_category"}),
    ] {
        assert!(serde_json::from_value::<ProgramEntry>(bad).is_err());
    }
}

#[test]
fn a_decision_says_what_is_done_to_what() {
    let decided =
        decide(&serde_json::json!({"command": "cd sub && rm -r ../build *.o", "cwd": null})).expect("decided");
    assert_eq!(decided["verdict"], "destructive");
    assert_eq!(decided["categories"], serde_json::json!(["shell_exec", "filesystem_delete"]));
    let paths: Vec<&Value> =
        decided["effects"].as_array().expect("effects").iter().map(|effect| &effect["path"]).collect();
    assert_eq!(paths, ["build", "sub/*.o"]);
    assert_eq!(decided["findings"][0]["layer"], "call");
    let other = decide(&serde_json::json!({"command": "ls", "shell": "fish"})).expect("decided");
    assert_eq!(other["verdict"], "opaque");
    assert!(decide(&serde_json::json!({"cwd": "."})).is_err());
}

/// The places that a line deletes or pushes, and what is said of what can't be read.
fn found(line: &str) -> (Vec<String>, Vec<String>) {
    use crate::gate::effect::Act;
    let mut acts = Vec::new();
    let mut unread = Vec::new();
    for effect in reading(line).effects {
        match effect.act {
            Act::Delete(target) => acts.push(format!("delete {}", target.path)),
            Act::Unreadable => unread.push(effect.reason),
            _ if effect.category.as_str() == "git_push" => acts.push("push".to_owned()),
            _ => {}
        }
    }
    (acts, unread)
}

#[test]
fn what_can_be_read_of_a_line_keeps_its_effects_and_the_rest_has_a_place() {
    for (line, acts, unread) in [
        ("rm -r build\nfi", &["delete build"][..], &["unexpected `fi` on line 2"][..]),
        ("rm -r a\nfi\nrm -r b", &["delete a", "delete b"], &["unexpected `fi` on line 2"]),
        ("git push --force origin main\necho \"x", &["push"], &["`\"` is never closed on line 2"]),
        ("rm -r build; fi", &["delete build"], &["unexpected `fi` on line 1"]),
        ("rm -r build && echo 'x", &["delete build"], &["`'` is never closed on line 1"]),
        ("while true\ndone", &[], &["unexpected `done` on line 2", "unexpected `done` on line 2"]),
        ("ls }\n}", &[], &["unexpected `}` on line 2"]),
        ("if true; then\nrm -r a\nfi\n)", &["delete a"], &["unexpected `)` on line 4"]),
        ("if true; then\nrm -r a", &["delete a"], &["it ends before a command is complete on line 2"]),
        ("f() {\nrm -r a\n", &["delete a"], &["it ends before a command is complete on line 2"]),
        ("echo $(rm -r a", &["delete a"], &["`(` is never closed on line 1"]),
        ("echo ${x", &[], &["`${` is never closed on line 1"]),
        ("rm -rf a # \u{7}", &["delete a"], &[]),
        ("rm -rf a\r\n", &["delete a\r"], &[]),
        ("git push origin main # \u{7}\u{1b}[0m", &["push"], &[]),
        ("sh -c 'rm -r a\nfi'", &["delete a"], &["unexpected `fi` on line 2"]),
        ("ls # it's fine\nrm -r a", &["delete a"], &[]),
    ] {
        let found = found(line);
        assert_eq!(found.0, acts, "{line}");
        let endings: Vec<bool> = found.1.iter().zip(unread).map(|(found, wanted)| found.ends_with(wanted)).collect();
        assert!(found.1.len() == unread.len() && endings.iter().all(|ends| *ends), "{line}: {:?}", found.1);
    }
}

#[test]
fn comments_and_texts_of_any_length_hide_nothing() {
    let comment = format!("# {}\n", "x".repeat(70 * 1024));
    assert_eq!(
        found(&format!("{comment}rm -r a {comment}git push")),
        (vec!["delete a".to_owned(), "push".to_owned()], vec![])
    );
    let (acts, unread) = found(&format!("rm -r a\necho {}\ngit push", "y".repeat(80 * 1024)));
    assert_eq!((acts.as_slice(), unread.len()), (&["delete a".to_owned(), "push".to_owned()][..], 1));
    let (acts, unread) = found(&format!("cat > f <<'E'\n{}E\nrm -r a", "line\n".repeat(2_000)));
    assert_eq!((acts.as_slice(), unread.len()), (&["delete a".to_owned()][..], 0));
    let many = "ls\n".repeat(9_000);
    let (acts, unread) = found(&format!("rm -r a\n{many}"));
    assert_eq!((acts.as_slice(), unread.is_empty()), (&["delete a".to_owned()][..], false));
}

#[test]
fn a_line_for_another_shell_is_read_as_bash_would_and_is_unreadable_besides() {
    let read = decide(&json!({"command": "rm -r build", "shell": "/usr/bin/fish"})).expect("it is read");
    let acts: Vec<&Value> = read["effects"].as_array().expect("a list").iter().map(|effect| &effect["act"]).collect();
    assert_eq!(acts, [&json!("unreadable"), &json!("delete")]);
    let (acts, unread) = found("zsh -c 'rm -r build'");
    assert_eq!((acts.as_slice(), unread.len()), (&["delete build".to_owned()][..], 1));
}

#[test]
fn braces_are_text_to_sh_and_what_they_hold_runs_all_the_same() {
    for line in ["echo {a,b}$(rm -rf src)", "echo {1..3}`rm -rf src`", "echo $'\\'; rm -rf src; echo '"] {
        let read = decide(&json!({"command": line, "shell": "sh"})).expect("it is read");
        assert_eq!(read["verdict"], "destructive", "{line}");
    }
}
