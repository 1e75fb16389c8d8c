//! The documents say what the program does: what can be compared is compared, what can be run is run.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use adjutant_core::detect::{Detector, Sensitivity};
use adjutant_core::words::category;
use adjutant_host::sandbox::{Layer, Wall};
use adjutant_runtime::assembly::option_table::RUN_OPTIONS;
use adjutant_store::config;

/// Commands that a reader of the README types to build the program, which a test has already.
const BUILDING: [&str; 3] = ["cargo build --release", r#"export PATH="$PWD/target/release:$PATH""#, "cargo xtask test"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("can't read {path}: {error}"))
}

/// The pages in `docs/` and those named.
fn pages(named: &[&str]) -> Vec<PathBuf> {
    let pages = fs::read_dir(root().join("docs")).expect("docs is there").map(|entry| entry.expect("an entry").path());
    let pages = pages.filter(|path| path.extension().is_some_and(|ending| ending == "md"));
    pages.chain(named.iter().map(|page| root().join(page))).collect()
}

/// A place of its own to run in: a home, and what the README's commands need of the repository.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        let place = tempfile::tempdir().expect("a folder");
        let copied =
            Command::new("cp").args(["-r", "examples", "tests"]).arg(place.path()).current_dir(root()).status();
        assert!(copied.expect("cp runs").success());
        fs::create_dir_all(place.path().join("target")).expect("a folder");
        Self(place)
    }

    fn sh(&self, line: &str) -> Output {
        let program = Path::new(env!("CARGO_BIN_EXE_adjutant"));
        let path = format!("{}:/usr/local/bin:/usr/bin:/bin", program.parent().expect("a folder").display());
        Command::new("bash")
            .args(["-o", "pipefail", "-c", line])
            .current_dir(self.0.path())
            .env_clear()
            .env("PATH", path)
            .env("HOME", self.0.path())
            .env("ADJUTANT_HOME", self.0.path().join("home"))
            .stdin(Stdio::null())
            .output()
            .expect("bash runs")
    }

    fn out(&self, line: &str) -> String {
        let output = self.sh(line);
        assert!(output.status.success(), "{line}\n{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("text")
    }
}

/// The lines of all `sh` blocks of a page, each with the exit code it says.
fn commands(page: &str) -> Vec<(String, i32)> {
    let mut found = Vec::new();
    let mut inside = false;
    for line in page.lines() {
        match line {
            "```sh" => inside = true,
            "```" => inside = false,
            line if inside && !line.is_empty() => {
                let (command, code) = line.split_once("# exits ").unwrap_or((line, "0"));
                found.push((command.trim().to_owned(), code.trim().parse().expect("an exit code")));
            }
            _ => {}
        }
    }
    found
}

#[test]
fn every_command_of_the_readme_works_in_order() {
    let place = Place::new();
    let commands = commands(&read("README.md"));
    for built in BUILDING {
        assert!(commands.iter().any(|(command, _)| command == built), "the README has no `{built}`");
    }
    let mut ran = 0;
    for (command, code) in commands.iter().filter(|(command, _)| !BUILDING.contains(&command.as_str())) {
        let line = command.replace("cargo run --release -- ", "adjutant ");
        assert!(line.contains("adjutant "), "{line} runs something else");
        let output = place.sh(&line);
        let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(*code), "{command}\n{said}");
        ran += 1;
    }
    assert!(ran > 20, "only {ran} commands were found");
}

#[test]
fn the_excerpt_of_the_readme_is_from_a_real_run() {
    let place = Place::new();
    let readme = read("README.md");
    let first = commands(&readme).remove(0).0.replace("cargo run --release -- ", "adjutant ");
    let real = place.out(&first);
    let excerpt = readme.split("```text\n").nth(1).and_then(|rest| rest.split("```").next()).expect("an excerpt");
    for line in excerpt.lines().filter(|line| *line != "...") {
        // What is left out at the end is marked, and how long something took differs from run to run.
        let line = line.strip_suffix("...").unwrap_or(line).trim_end();
        let line = if line.contains(" ms") { line.split(", ").next().expect("a part") } else { line };
        assert!(real.contains(line), "no such line in a real run: {line}\n{real}");
    }
    assert!(real.contains("/home/sessions/2026-01-15-FIRST.trace.ndjson"), "{real}");
}

/// Every long flag that a help text defines.
fn flags(help: &str) -> BTreeSet<&str> {
    let lines = help.lines().map(str::trim_start).filter(|line| line.starts_with('-'));
    lines.filter_map(|line| line.split([' ', ',', '=']).find(|word| word.starts_with("--"))).collect()
}

/// The commands that a help text lists.
fn subcommands(help: &str) -> Vec<&str> {
    // Those of the program stand in groups, the first of which is this.
    let is_head = |line: &&str| *line == "Commands:" || *line == "Begin:";
    let listed = help
        .lines()
        .skip_while(|line| !is_head(line))
        .skip(1)
        .take_while(|line| !matches!(*line, "Options:" | "Arguments:"));
    // What is indented further goes on with the line before.
    let named = listed.filter_map(|line| line.strip_prefix("  ").filter(|rest| !rest.starts_with(' ')));
    named.filter_map(|rest| rest.split_whitespace().next()).filter(|name| *name != "help").collect()
}

#[test]
fn every_command_and_every_flag_is_on_some_page() {
    let place = Place::new();
    let pages: String = pages(&["README.md"])
        .iter()
        .map(|path| fs::read_to_string(path).expect("a page"))
        .collect::<Vec<_>>()
        .join("\n");
    let help = place.out("adjutant --help");
    assert!(subcommands(&help).len() > 10, "{help}");
    for command in subcommands(&help) {
        assert!(pages.contains(&format!("adjutant {command}")), "no page has `adjutant {command}`");
        let help = place.out(&format!("adjutant {command} --help"));
        for what in subcommands(&help) {
            assert!(pages.contains(&format!("adjutant {command} {what}")), "no page has `adjutant {command} {what}`");
        }
        for flag in flags(&help).into_iter().filter(|flag| *flag != "--help") {
            let is_said = pages.split(|c: char| !c.is_ascii_alphanumeric() && c != '-').any(|word| word == flag);
            assert!(is_said, "no page has `{flag}` of `adjutant {command}`");
        }
    }
}

/// The lines below the one that begins with `head`, to the closing brace in the first column.
fn block<'s>(source: &'s str, head: &str) -> impl Iterator<Item = &'s str> {
    let start = source.find(head).unwrap_or_else(|| panic!("no `{head}`"));
    source[start..].lines().skip(1).take_while(|line| *line != "}")
}

fn snake(name: &str) -> String {
    let mut snake = String::new();
    for c in name.chars() {
        if c.is_ascii_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.push(c.to_ascii_lowercase());
    }
    snake
}

/// The name of the field that a line defines behind `indent`.
fn field<'s>(line: &'s str, indent: &str) -> Option<&'s str> {
    let rest = line.strip_prefix(indent)?;
    let (name, _) = rest.strip_prefix("pub ").unwrap_or(rest).split_once(": ")?;
    name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_').then_some(name)
}

/// Every event with its fields, from the source of the vocabulary.
fn events() -> Vec<(String, Vec<String>)> {
    let mut events: Vec<(String, Vec<String>)> = Vec::new();
    let families = fs::read_dir(root().join("crates/core/src/trace/event")).expect("the families of events");
    let sources: Vec<String> =
        families.map(|file| fs::read_to_string(file.expect("a file").path()).expect("text")).collect();
    let families = sources.iter().filter_map(|source| {
        let enum_of_events = source.lines().find(|line| line.starts_with("pub enum ") && line.ends_with("Event {"))?;
        Some(block(source, enum_of_events))
    });
    for line in families.flatten() {
        let variant = line.strip_prefix("    ").filter(|rest| rest.starts_with(|c: char| c.is_ascii_uppercase()));
        if let Some(variant) = variant {
            let name: String = variant.chars().take_while(char::is_ascii_alphanumeric).collect();
            events.push((snake(&name), Vec::new()));
        } else if let (Some(field), Some((_, fields))) = (field(line, "        "), events.last_mut()) {
            fields.push(field.to_owned());
        }
    }
    let start = events.iter_mut().find(|(name, _)| name == "run_start").expect("a run starts");
    let options = read("crates/core/src/trace/options.rs");
    start.1.extend(block(&options, "pub struct RunStart {").filter_map(|line| field(line, "    ")).map(str::to_owned));
    events
}

#[test]
fn the_page_of_the_journal_has_every_event_with_every_field_and_no_other() {
    let page = read("docs/journal.md");
    let events = events();
    assert!(events.len() > 30, "{events:?}");
    for (event, fields) in &events {
        let row = page.lines().find(|line| line.starts_with(&format!("| `{event}` |")));
        let row = row.unwrap_or_else(|| panic!("docs/journal.md has no row for `{event}`"));
        for field in fields {
            assert!(row.contains(&format!("`{field}`")), "the row of `{event}` lacks `{field}`");
        }
    }
    let table = page.split("## Events").nth(1).and_then(|rest| rest.split("\n## ").next()).expect("a table of events");
    for row in table.lines().filter_map(|line| line.strip_prefix("| `")) {
        let name = row.split('`').next().expect("a name");
        assert!(events.iter().any(|(event, _)| event == name), "there is no event `{name}`");
    }
}

/// The strings of the constant list that begins with `head`.
fn strings(path: &str, head: &str) -> Vec<String> {
    let source = read(path);
    let start = source.find(head).unwrap_or_else(|| panic!("{path} has no `{head}`"));
    let list = source[start..].split("];").next().expect("a list");
    list.split('"').skip(1).step_by(2).map(str::to_owned).collect()
}

#[track_caller]
fn has_rows(path: &str, names: impl IntoIterator<Item = impl AsRef<str>>) {
    let page = read(path);
    let mut count = 0;
    for name in names {
        let name = name.as_ref();
        assert!(page.contains(&format!("\n| `{name}` | ")), "{path} has no row for `{name}`");
        count += 1;
    }
    assert!(count > 3, "{path}: only {count} names were found");
}

#[test]
fn the_pages_name_what_the_program_knows() {
    has_rows("docs/gate.md", category::STATIC.iter().map(|(name, _)| name));
    has_rows("docs/detectors.md", Detector::ALL.map(Detector::name));
    has_rows("docs/detectors.md", Sensitivity::ALL.map(Sensitivity::name));
    has_rows("docs/running.md", config::KEYS);
    has_rows("docs/adapters.md", config::ADAPTER_KEYS);
    has_rows("docs/sandbox.md", config::SANDBOX_KEYS.iter().map(|key| format!("sandbox.{key}")));
    has_rows("docs/inbox.md", config::NOTIFY_KEYS.iter().map(|key| format!("notify.{key}")));
    has_rows("docs/crew.md", config::ROLE_KEYS);
    has_rows("docs/loop.md", config::LOOP_KEYS);
    has_rows("docs/sandbox.md", Layer::ALL.map(Layer::as_str));
    has_rows("docs/sandbox.md", Wall::ALL.map(Wall::as_str));
    has_rows("docs/briefs.md", strings("crates/core/src/brief/fields.rs", "const FIELDS: "));
    let questions = read("crates/core/src/words/question.rs");
    let kinds = block(&questions, "pub enum QuestionKind {");
    has_rows("docs/running.md", kinds.filter_map(|line| Some(snake(line.strip_prefix("    ")?.strip_suffix(',')?))));
}

#[test]
fn every_exit_code_is_in_the_tables() {
    let source = read("crates/cli/src/exit.rs");
    let codes =
        block(&source, "pub const fn exit_code").filter_map(|line| line.split_once(" => ")?.1.strip_suffix(','));
    let codes: Vec<&str> = codes.collect();
    assert_eq!(codes.len(), 8, "{codes:?}");
    for page in ["README.md", "docs/running.md"] {
        let text = read(page);
        for code in &codes {
            assert!(text.contains(&format!("\n| {code} | ")), "{page} lacks the exit code {code}");
        }
    }
}

#[test]
fn every_tool_has_a_section_with_every_argument() {
    let place = Place::new();
    let tools: serde_json::Value = serde_json::from_str(&place.out("adjutant tools --json")).expect("JSON");
    let page = read("docs/tools.md");
    let tools = tools.as_array().expect("a list");
    assert_eq!(tools.len(), 11);
    for tool in tools {
        let name = tool["name"].as_str().expect("a name");
        let section = page.split(&format!("## `{name}`")).nth(1).and_then(|rest| rest.split("\n## ").next());
        let section = section.unwrap_or_else(|| panic!("docs/tools.md has no section `{name}`"));
        for argument in tool["schema"]["properties"].as_object().expect("arguments").keys() {
            assert!(section.contains(&format!("| `{argument}` |")), "`{name}` lacks `{argument}`");
        }
        for needed in tool["categories"].as_array().expect("categories") {
            assert!(section.contains(needed.as_str().expect("a name")), "`{name}` lacks {needed}");
        }
    }
}

#[test]
fn every_variable_of_the_environment_is_on_the_page_about_running() {
    let page = read("docs/running.md");
    let of_options = RUN_OPTIONS.iter().filter_map(|row| Some(row.variable?.name));
    let source = read("crates/cli/src/settings.rs");
    let of_places = source.split('"').filter(|text| text.starts_with("ADJUTANT_"));
    let variables: BTreeSet<&str> = of_options.chain(of_places).collect();
    assert!(variables.len() > 4, "{variables:?}");
    for variable in variables {
        assert!(page.contains(variable), "docs/running.md lacks {variable}");
    }
}

#[test]
fn the_table_of_options_names_what_is_there() {
    let fields = strings("crates/core/src/brief/fields.rs", "const FIELDS: ");
    let budgets = strings("crates/core/src/brief/values.rs", "const BUDGET_FIELDS: ");
    let source = read("crates/core/src/trace/options.rs");
    let structs = ["pub struct RunOptions {", "pub struct AgentOptions {", "pub struct CrewOptions {"];
    let recorded: BTreeSet<&str> =
        structs.iter().flat_map(|head| block(&source, head).filter_map(|line| field(line, "    "))).collect();
    for row in RUN_OPTIONS {
        let name = row.name;
        assert!(recorded.contains(row.recorded), "{name}: a journal has no option `{}`", row.recorded);
        let in_brief = |field: &&str| fields.iter().chain(&budgets).any(|other| other == field);
        assert!(row.field.iter().all(in_brief), "{name}: a brief has no field {:?}", row.field);
        assert!(row.key.is_none_or(|key| config::KEYS.contains(&key)), "{name}: no key {:?}", row.key);
    }
    let known: Vec<&str> = RUN_OPTIONS.iter().filter_map(|row| row.key).collect();
    // Tables of their own: what they set has rows of `doctor`, and is no option of a run.
    let of_tables = ["adapters", "sandbox", "roles", "notify", "loop"];
    for key in config::KEYS.iter().filter(|key| !of_tables.contains(key)) {
        assert!(known.contains(key), "the key `{key}` of a configuration has no row in the table of options");
    }
}

#[test]
fn the_page_of_the_adapters_has_a_page_for_each() {
    let page = read("docs/adapters.md");
    for adapter in adjutant_agents::adapters() {
        assert!(page.contains(&format!("\n| `{}` | [", adapter.id)), "docs/adapters.md lacks `{}`", adapter.id);
        for variable in adapter.key_variables.iter().chain(&adapter.base_url_variable) {
            let pages: Vec<String> = pages(&[]).iter().map(|path| fs::read_to_string(path).expect("a page")).collect();
            assert!(pages.iter().any(|page| page.contains(variable)), "no page has {variable}");
        }
    }
}

/// Every function below `folder` whose source is in a `.rs` file.
fn functions(folder: &Path, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()) {
        if entry.is_dir() {
            functions(&entry, found);
        } else if entry.extension().is_some_and(|ending| ending == "rs") {
            let text = fs::read_to_string(&entry).expect("a source");
            let names = text.lines().filter_map(|line| {
                let line = line.trim_start();
                let rest = line.strip_prefix("fn ").or_else(|| line.strip_prefix("async fn "))?;
                rest.split_once('(').map(|(name, _)| name.to_owned())
            });
            found.extend(names);
        }
    }
}

#[test]
fn every_row_is_shown_by_tests_that_are_there() {
    let mut known = BTreeSet::new();
    functions(&root().join("crates"), &mut known);
    let page = read("docs/security.md");
    let (_, promised) = page.split_once("## What is promised").expect("the promises");
    let (promised, _) = promised.split_once("\n## ").expect("their end");
    let (_, table) = page.split_once("## When something fails").expect("the table");
    for (table, at_least) in [(promised, 6), (table, 12)] {
        let rows: Vec<&str> = table.lines().filter(|line| line.starts_with("| ")).skip(2).collect();
        assert!(rows.len() > at_least, "{rows:?}");
        for row in rows {
            let tests: Vec<&str> = row.rsplit(" | ").next().unwrap_or_default().split('`').skip(1).step_by(2).collect();
            assert!(!tests.is_empty(), "no test shows {row}");
            for test in tests {
                assert!(known.contains(test), "there is no test `{test}` for {row}");
            }
        }
    }
    for test in known.iter().filter(|name| name.starts_with("fail_closed_")) {
        assert!(table.contains(&format!("`{test}`")), "docs/security.md has no row for `{test}`");
    }
}

#[test]
fn links_between_pages_lead_somewhere() {
    let mut followed = 0;
    for page in pages(&["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"]) {
        let text = fs::read_to_string(&page).expect("a page");
        let folder = page.parent().expect("a folder");
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let file = link.split('#').next().expect("a part");
            if !file.is_empty() && !file.contains("://") {
                assert!(folder.join(file).exists(), "{} links to {file}", page.display());
                followed += 1;
            }
        }
    }
    assert!(followed > 10, "only {followed} links were found");
}

/// The blocks of a page that are in one of these languages, each with its language.
fn blocks<'p>(page: &'p str, languages: &[&str]) -> Vec<(&'p str, &'p str)> {
    let blocks = page.split("\n```").skip(1).step_by(2).filter_map(|block| block.split_once('\n'));
    blocks.filter(|(language, _)| languages.contains(language)).collect()
}

#[test]
fn every_example_of_a_brief_or_a_configuration_works_as_it_is_shown() {
    const BODY: &str = "# Objective\nx\n# Deliverables\ny\n# Constraints\nz\n";
    let place = Place::new();
    let (mut briefs, mut configurations) = (0, 0);
    for path in pages(&["README.md"]) {
        let page = fs::read_to_string(&path).expect("text");
        for (language, example) in blocks(&page, &["markdown", "yaml", "toml"]) {
            let example = example.to_owned() + "\n";
            let shown = format!("{}\n{example}", path.display());
            match language {
                // Answers to questions, the script of an agent, and the file of keys are something else.
                "yaml" if example.starts_with("- ") || example.starts_with("turns:") => {}
                "toml" if example.starts_with("anthropic = ") => {}
                "toml" => {
                    fs::create_dir_all(place.0.path().join("home")).expect("a folder");
                    fs::write(place.0.path().join("home/config.toml"), &example).expect("written");
                    let output = place.sh("adjutant roles");
                    assert!(output.status.success(), "{shown}{}", String::from_utf8_lossy(&output.stderr));
                    configurations += 1;
                }
                _ => {
                    let project = if example.contains("project:") { "" } else { "project: orchard\n" };
                    let brief = match language {
                        "markdown" => example,
                        _ => format!("---\n{project}{example}---\n{BODY}"),
                    };
                    fs::write(place.0.path().join("brief.md"), &brief).expect("written");
                    let found = place.sh("adjutant validate --json brief.md").stdout;
                    let found: serde_json::Value = serde_json::from_slice(&found).expect("JSON");
                    assert_eq!((&found["valid"], &found["issues"]), (&true.into(), &serde_json::json!([])), "{shown}");
                    briefs += 1;
                }
            }
        }
    }
    assert!(briefs >= 7 && configurations >= 8, "{briefs} briefs, {configurations} configurations");
}

#[test]
fn the_lines_on_the_page_about_decide_are_what_the_program_answers() {
    let place = Place::new();
    let page = read("docs/decide.md");
    let blocks: Vec<&str> = page.split("```json\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    let whats = ["brief", "detect", "gate", "shell", "patch", "stuck", "stuck"];
    assert_eq!(blocks.len(), whats.len());
    for (block, what) in blocks.into_iter().zip(whats) {
        let (asked, answered) = block.trim().split_once('\n').expect("a line and its answer");
        fs::write(place.0.path().join("line"), asked).expect("written");
        assert_eq!(place.out(&format!("adjutant decide {what} < line")).trim(), answered.trim(), "decide {what}");
    }
}
