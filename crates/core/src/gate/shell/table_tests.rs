//! Rules that must hold of every row of the table: effects on files have targets, and twins say the same.

use serde_json::{Value, json};

use super::programs::{ProgramEntry, ProgramRule, WordList};
use super::{Dialect, Places, Programs, ShellContext, ShellReading, read};
use crate::gate::decide::decide;
use crate::gate::effect::{Act, Verdict};
use crate::words::category::{FILESYSTEM_DELETE, FILESYSTEM_WRITE};

fn places() -> Places {
    Places { home: "/home/op".to_owned(), workdir: "/home/op/w".to_owned(), ..Places::default() }
}

fn reading(line: &str) -> ShellReading {
    let places = places();
    let context = ShellContext { shell: Dialect::Bash, folder: ".", places: &places, programs: Programs::builtin() };
    read(line, &context)
}

/// Lines with `name` that a rule, or an option of an entry, applies to.
fn lines(entry: &ProgramEntry) -> Vec<String> {
    let name = entry.names.iter().next().unwrap_or_default().replace("git-", "git ");
    let words = |words: &WordList| {
        let firsts = words.iter().map(|word| word.split('|').next().unwrap_or_default().replace('*', "a"));
        firsts.collect::<Vec<_>>().join(" ")
    };
    let any = |rule: &ProgramRule| words(&rule.any);
    let mut lines = vec![format!("{name} a b"), format!("{name} b")];
    for rule in &entry.rules {
        let ProgramRule { words: wanted, with, and_with, .. } = rule;
        let options: Vec<&str> = if with.is_empty() { vec![""] } else { with.iter().collect() };
        let also = and_with.iter().next().unwrap_or_default();
        lines
            .extend(options.iter().map(|option| format!("{name} {option} {also} {} {} a b", words(wanted), any(rule))));
    }
    let lists = [&entry.writes, &entry.makes, &entry.empties, &entry.into];
    let options = lists.into_iter().flat_map(WordList::iter);
    lines.extend(options.map(|option| format!("{name} {option} a b c")));
    lines.extend(entry.examples.keys().cloned());
    lines
}

#[test]
fn whatever_changes_files_says_which_or_that_it_cant_be_known() {
    let of_table = Programs::builtin().entries().iter().flat_map(lines);
    let of_lines = include_str!("lines.txt").lines().filter_map(|line| Some(line.split_once(' ')?.1.to_owned()));
    for line in of_table.chain(of_lines) {
        for effect in reading(&line).effects {
            let is_on_files = [FILESYSTEM_WRITE, FILESYSTEM_DELETE].contains(&effect.category.as_str());
            assert!(!is_on_files || !matches!(effect.act, Act::Other), "{line}: {effect:?}");
        }
    }
}

#[test]
fn every_option_that_writes_names_its_file() {
    let mut wrong = Vec::new();
    for entry in Programs::builtin().entries() {
        let lists = [&entry.writes, &entry.makes, &entry.empties, &entry.into];
        for (name, option) in entry.names.iter().flat_map(|name| {
            lists.into_iter().flat_map(WordList::iter).map(move |option| (name.replace("git-", "git "), option))
        }) {
            // To a shell `time` is a word of its own.
            let name = if name == "time" { "env time".to_owned() } else { name };
            let line = format!("{name} {option} zz/file x y");
            let is_named = reading(&line).effects.iter().any(|effect| match &effect.act {
                Act::Write(target) | Act::Overwrite(target) | Act::Delete(target) => target.path == "zz/file",
                Act::Contact { .. } | Act::Denied { .. } | Act::Unreadable | Act::Other => false,
            });
            if !is_named {
                wrong.push(line);
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn rights_name_their_files() {
    for line in [
        "chmod 644 f",
        "chmod -x f",
        "chmod u+s f",
        "chmod -R 700 f",
        "chmod -Rv go-w f",
        "chmod --recursive 700 f",
        "chmod --reference=g f",
        "chown op f",
        "chown -R op:op f",
        "chown --from=a b f",
        "chgrp -h op f",
        "chattr +i f",
        "chattr -i f",
        "chattr -R -a f",
        "setfacl -m u:op:r f",
        "setfacl -Rb f",
        "setfattr -n user.a -v 1 f",
        "setfattr -x user.a f",
        "setcap cap_chown+ep f",
        "setcap -r f",
        "chcon -t bin_t f",
        "touch f",
        "touch -d yesterday f",
        "mkdir f",
        "mkdir -p -m 700 f",
        "mkfifo f",
        "ln -s a f",
        "ln -sf a f",
        "install -m 755 a f",
        "truncate -s 0 f",
        "cp -n a f",
        "dos2unix f",
        "gzip f",
        "black f",
        "eslint --fix f",
        "ruff check --fix f",
    ] {
        let names = reading(line).effects.iter().any(|effect| match &effect.act {
            Act::Write(target) | Act::Overwrite(target) | Act::Delete(target) => target.path == "f",
            Act::Contact { .. } | Act::Denied { .. } | Act::Unreadable | Act::Other => false,
        });
        assert!(names, "{line}: {:?}", reading(line).effects);
        let at = |path: &str| format!("{}{path}", line.strip_suffix('f').expect("a line that ends with its file"));
        let costs = json!(["shell_exec", "filesystem_write", "privilege"]);
        let decision = |line: &str, scope: Value, costs: &Value| {
            let input = json!({
                "tool": "shell_exec", "arguments": {"cmd": line}, "authorized_costs": costs, "scope": scope,
                "scope_locked": !scope.is_null(), "places": places(),
            });
            decide(&input).expect("it is decided")["decision"].clone()
        };
        assert_eq!(decision(&at(".git/hooks/pre-commit"), Value::Null, &json!(["*"])), "ask", "{line}");
        assert_eq!(decision(&at("docs/x"), json!(["src"]), &json!(["*"])), "refuse", "{line}");
        let inside = decision(&at("src/x"), json!(["src"]), &costs);
        // The other name of a link counts as changed too: what is written there goes through it.
        assert!(inside != "refuse" || line.starts_with("ln "), "{line}");
    }
}

/// Programs that are the same by another name.
const TWINS: [(&str, &str); 24] = [
    ("rake", "bin/rake"),
    ("rake", "bundle exec rake"),
    ("rails", "bin/rails"),
    ("rails", "bundle exec rails"),
    ("pip", "pip3"),
    ("pip", "python -m pip"),
    ("pip", "python3 -m pip"),
    ("pip", "uv pip"),
    ("npx", "bunx"),
    ("docker", "podman"),
    ("docker", "nerdctl"),
    ("docker compose", "docker-compose"),
    ("docker compose", "podman-compose"),
    ("kubectl", "oc"),
    ("terraform", "tofu"),
    ("python3", "pypy3"),
    ("python3", "python"),
    ("vim", "nvim"),
    ("vim", "vi"),
    ("make", "gmake"),
    ("tar", "bsdtar"),
    ("awk", "gawk"),
    ("gradle", "./gradlew"),
    ("mvn", "./mvnw"),
];

#[test]
fn twins_are_judged_alike_on_each_others_examples() {
    let (mut count, mut wrong) = (0, Vec::new());
    let lines = include_str!("lines.txt").lines().filter_map(|line| Some(line.split_once(' ')?.1));
    let examples = Programs::builtin().entries().iter().flat_map(|entry| entry.examples.keys().map(String::as_str));
    let all: Vec<&str> = examples.chain(lines).collect();
    for (one, other) in TWINS {
        for (from, to) in [(one, other), (other, one)] {
            let own = all.iter().filter_map(|line| line.strip_prefix(from).filter(|rest| rest.starts_with(' ')));
            for rest in own {
                let (line, twin) = (format!("{from}{rest}"), format!("{to}{rest}"));
                count += 1;
                let verdicts = (reading(&line).verdict(), reading(&twin).verdict());
                if verdicts.0 != verdicts.1 {
                    wrong.push(format!("{line} and {twin}: {verdicts:?}"));
                }
            }
        }
    }
    assert!(count > 200, "only {count} lines");
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn the_package_managers_of_javascript_judge_the_same_scripts_alike() {
    for rest in [
        "run build", "run deploy:prod", "run db:reset", "run test", "publish", "run clean", "install",
        "run dev --host", "audit", "add x", "remove x", "run release", "run lint --fix",
    ] {
        let of = |name: &str| reading(&format!("{name} {rest}")).verdict();
        for other in ["pnpm", "yarn", "bun"] {
            assert_eq!(of("npm"), of(other), "{other} {rest}");
        }
    }
}

#[test]
fn the_work_of_a_day_asks_nothing_with_shell_exec_alone() {
    let lines = include_str!("everyday.txt").lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let mut wrong = Vec::new();
    for line in lines {
        let input = json!({
            "tool": "shell_exec", "arguments": {"cmd": line}, "authorized_costs": ["shell_exec"], "places": places(),
        });
        let decided = decide(&input).expect("it is decided");
        if decided["decision"] != "allow" || reading(line).verdict() != Verdict::Safe {
            wrong.push(format!("{line}: {}", decided["reason"]));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn what_shell_exec_alone_does_not_cover_asks() {
    let lines = include_str!("asks.txt").lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let mut wrong = Vec::new();
    for line in lines {
        let (category, line) = line.split_once(' ').expect("a category and a line");
        let input = json!({
            "tool": "shell_exec", "arguments": {"cmd": line}, "authorized_costs": ["shell_exec"], "places": places(),
        });
        let decided = decide(&input).expect("it is decided");
        let missing = decided["missing"].as_array().cloned().unwrap_or_default();
        if decided["decision"] != "ask" || !missing.iter().any(|known| known == category) {
            wrong.push(format!("{line}: {category} is not in {missing:?}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_protected_place_is_asked_for_wherever_a_line_names_it() {
    let lines = include_str!("reaches.txt").lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let mut wrong = Vec::new();
    for line in lines {
        let (decision, line) = line.split_once(' ').expect("a decision and a line");
        let input = json!({
            "tool": "shell_exec", "arguments": {"cmd": line}, "authorized_costs": ["*"], "places": places(),
        });
        let decided = decide(&input).expect("it is decided");
        if decided["decision"] != decision {
            wrong.push(format!("{line}: {}", decided["reason"]));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
