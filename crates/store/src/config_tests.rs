use std::fs;

use adjutant_core::words::price::Prices;

use super::*;

/// A home and a project, with these configurations.
fn folders(own: Option<&str>, projects: Option<&str>) -> (tempfile::TempDir, Home, PathBuf) {
    let temp = tempfile::tempdir().expect("a folder");
    let (home, project) = (Home::new(temp.path().join("home"), None), temp.path().join("project"));
    fs::create_dir_all(home.root()).expect("made");
    fs::create_dir_all(project.join(".adjutant")).expect("made");
    if let Some(own) = own {
        fs::write(home.config(), own).expect("written");
    }
    if let Some(projects) = projects {
        fs::write(project_config(&project), projects).expect("written");
    }
    (temp, home, project)
}

/// The message and the hint for a home's configuration `text`.
#[track_caller]
fn check(text: &str, message: &str, hint: Option<&str>) {
    let (_temp, home, _) = folders(Some(text), None);
    let error = load(&home, None).expect_err(text);
    let told = error.to_string().replace(&home.root().display().to_string(), "~");
    assert_eq!((told.as_str(), error.hint().as_deref()), (message, hint));
}

#[test]
fn a_mistake_is_told_with_its_place() {
    check(
        "adapter = \"a\"\nmodle = \"b\"",
        "unknown key `modle` in ~/config.toml:2:1",
        Some("did you mean `mode` or `model`?"),
    );
    check(
        "colour = 1",
        "unknown key `colour` in ~/config.toml:1:1",
        Some(
            "known are adapter, model, mode, max_steps, no_shell, fallback, max_tokens, max_minutes, max_dollars, \
             max_turns, patience, effort, thinking_tokens, after_untrusted, untrusted_tools, plain_results, \
             result_bytes_max, hooks, programs, shell_allow, shell_deny, deny_read, detectors, adapters, sandbox, notify, roles, loop",
        ),
    );
    check("mode = 'fast'", "`mode` in ~/config.toml:1:8 must be `gated` or `auto`, not `'fast'`", None);
    check("max_steps = 0", "`max_steps` in ~/config.toml:1:13 must be a number from 1 on, not `0`", None);
    check("max_steps = -3", "`max_steps` in ~/config.toml:1:13 must be a number from 1 on, not `-3`", None);
    check("adapter = ''", "`adapter` in ~/config.toml:1:11 must be the name of an adapter, not `''`", None);
    check("model = []", "`model` in ~/config.toml:1:9 must be the name of a model, not a list", None);
    check("no_shell = 1", "`no_shell` in ~/config.toml:1:12 must be `true` or `false`, not `1`", None);
    check(
        "[detectors]\nbloker = 'loose'",
        "unknown key `detectors.bloker` in ~/config.toml:2:1",
        Some("did you mean `blocker`?"),
    );
    check(
        "[detectors]\nblocker = 'off'",
        "`detectors.blocker` in ~/config.toml:2:11 must be `default`, `strict`, `loose` or `disabled`, not `'off'`",
        None,
    );
    check(
        "detectors = 1",
        "`detectors` in ~/config.toml:1:13 must be a table of detectors and sensitivities, not `1`",
        None,
    );
}

#[test]
fn a_mistake_about_an_adapter_or_a_budget_is_told_with_its_place() {
    for (text, at, key, expected, found) in [
        ("fallback = 'a'", "1:12", "fallback", "a list of adapters, each with or without `:model`", "`'a'`"),
        ("fallback = ['a', 1]", "1:18", "fallback", "a list of adapters, each with or without `:model`", "`1`"),
        ("max_tokens = 0", "1:14", "max_tokens", "a number from 1 on", "`0`"),
        ("max_turns = 1.5", "1:13", "max_turns", "a number from 1 on", "`1.5`"),
        ("adapters = 1", "1:12", "adapters", "a table for each adapter, such as `[adapters.anthropic]`", "`1`"),
        ("[adapters]\nx = 1", "2:5", "adapters.x", "a table", "`1`"),
        ("[adapters.x]\ntier = 'gold'", "2:8", "adapters.x.tier", "`free` or `paid`", "`'gold'`"),
        ("[adapters.x]\nwindow = '1'", "2:10", "adapters.x.window", "a number of tokens from 1 on", "`'1'`"),
        (
            "[adapters.x]\noutput_tokens_max = 4294967296",
            "2:21",
            "adapters.x.output_tokens_max",
            "a number of tokens from 1 on",
            "`4294967296`",
        ),
        (
            "[adapters.x]\nidle_seconds = 86401",
            "2:16",
            "adapters.x.idle_seconds",
            "a number of seconds from 1 to 86400",
            "`86401`",
        ),
    ] {
        check(text, &format!("`{key}` in ~/config.toml:{at} must be {expected}, not {found}"), None);
    }
    for given in ["0", "-1", "1e3", "inf", "0.0000000001", "'2'", "0x10"] {
        let expected = "dollars above 0 with at most nine decimals, such as `2.50`";
        check(
            &format!("max_dollars = {given}"),
            &format!("`max_dollars` in ~/config.toml:1:15 must be {expected}, not `{given}`"),
            None,
        );
    }
    for given in ["-0.5", "0.0001", "1e2", "1000000.001", "nan", "'3'"] {
        let expected = "dollars for a million tokens, from 0 to 1000000 with at most three decimals, such as `0.25`";
        check(
            &format!("[adapters.x]\nprice_output = {given}"),
            &format!("`adapters.x.price_output` in ~/config.toml:2:16 must be {expected}, not `{given}`"),
            None,
        );
    }
    check(
        "[adapters.x]\nwindov = 1",
        "unknown key `adapters.x.windov` in ~/config.toml:2:1",
        Some("did you mean `window`?"),
    );
}

#[test]
fn what_is_set_for_an_adapter_is_kept_exactly() {
    let text = "fallback = ['openai:gpt-x', ' scripted ']\nmax_tokens = 1_000\nmax_minutes = 5\nmax_turns = 0x10\n\
                max_dollars = 2.50\n[adapters.anthropic]\nmodel = 'm'\nbase_url = 'https://h'\nwindow = 200_000\n\
                output_tokens_max = 8192\ntier = 'free'\nidle_seconds = 30\nprice_input = 3\n\
                price_cache_read = 0.3\nprice_cache_write = 3.750\nprice_output = 1_5.0\n";
    let (_temp, home, _) = folders(Some(text), None);
    let config = load(&home, None).expect("loaded").config;
    assert_eq!(config.fallback.expect("set").value, ["openai:gpt-x", "scripted"]);
    let value = |setting: Option<Setting<u64>>| setting.expect("set").value;
    let budgets = [config.max_tokens, config.max_minutes, config.max_turns, config.max_nano_dollars].map(value);
    assert_eq!(budgets, [1000, 5, 16, 2_500_000_000]);
    let adapter = &config.adapters["anthropic"].value;
    assert_eq!(adapter.model.as_ref().expect("set").from.line, 7);
    assert_eq!(adapter.base_url.as_ref().expect("set").value, "https://h");
    assert_eq!(adapter.window.as_ref().expect("set").value, 200_000);
    assert_eq!(adapter.output_tokens_max.as_ref().expect("set").value, 8192);
    assert_eq!(adapter.tier.as_ref().expect("set").value, Tier::Free);
    assert_eq!(adapter.idle_seconds.as_ref().expect("set").value, 30);
    let prices = Prices { input: Some(3000), cache_read: Some(300), cache_write: Some(3750), output: Some(15_000) };
    assert_eq!(adapter.prices(), prices);
}

#[test]
fn a_project_adds_to_an_adapter_and_never_says_where_its_key_goes() {
    let own = "[adapters.a]\nmodel = 'mine'\nbase_url = 'https://mine'\n[adapters.b]\nwindow = 1";
    let (_temp, home, project) = folders(Some(own), Some("[adapters.a]\nmodel = 'theirs'\nwindow = 2"));
    trust(&home, &project).expect("trusted");
    let adapters = load(&home, Some(&project)).expect("loaded").config.adapters;
    assert_eq!(adapters["a"].value.model.as_ref().expect("set").value, "theirs");
    assert_eq!(adapters["a"].value.base_url.as_ref().expect("set").value, "https://mine");
    assert_eq!(adapters["a"].value.window.as_ref().expect("set").value, 2);
    assert_eq!(adapters["b"].value.window.as_ref().expect("set").value, 1);

    fs::write(project_config(&project), "[adapters.a]\nbase_url = 'https://theirs'").expect("changed");
    let error = trust(&home, &project).expect_err("no key may go there");
    let told = error.to_string().replace(&project.display().to_string(), "p");
    assert_eq!(
        told,
        "`adapters.a.base_url` in p/.adjutant/config.toml:2:1 is not taken from a project: it decides which host a \
         key goes to"
    );
    assert!(error.hint().expect("a hint").contains("of the home"), "{error:?}");
}

#[test]
fn a_project_says_nothing_about_the_sandbox() {
    let own = "[sandbox]\nmode = 'required'\nread = ['~/data']\nmemory_mb = 512";
    let (_temp, home, project) = folders(Some(own), Some("mode = 'auto'"));
    trust(&home, &project).expect("trusted");
    let sandbox = load(&home, Some(&project)).expect("loaded").config.sandbox;
    assert_eq!(sandbox.mode.expect("set").value, "required");
    assert_eq!(sandbox.read.expect("set").value, ["~/data"]);
    assert_eq!(sandbox.memory_mb.expect("set").value, 512);

    fs::write(project_config(&project), "[sandbox]\nmode = 'off'").expect("changed");
    let error = trust(&home, &project).expect_err("not a project's to say");
    assert!(matches!(&error, ConfigError::NotOfAProject { key, .. } if key == "sandbox"), "{error}");
    check("[sandbox]\nmod = 'off'", "unknown key `sandbox.mod` in ~/config.toml:2:1", Some("did you mean `mode`?"));
}

#[test]
fn how_an_operator_is_told_is_checked_and_is_never_a_projects_to_say() {
    let quiet = "quiet = {from = '22:00', to = '07:00', zone = 'UTC', critical = ['destructive', 'blocker']}";
    let text = format!("[notify]\ncommand = ['say', '-v']\nwebhook = 'https://a.dev/x'\nformat = 'slack'\n{quiet}\n");
    let (_temp, home, _) = folders(Some(&text), None);
    let notify = load(&home, None).expect("loaded").config.notify;
    assert_eq!(notify.command.expect("set").value, ["say", "-v"]);
    assert_eq!(notify.format.expect("set").value, adjutant_core::inbox::notice::Format::Slack);
    let hours = notify.quiet.expect("set").value;
    assert_eq!((hours.quiet.hours.from.hour(), hours.quiet.hours.to.hour(), hours.quiet.critical.len()), (22, 7, 2));

    for (line, message) in [
        (
            "command = []",
            "`notify.command` in ~/config.toml:2:11 must be a list: the program, then its first arguments, not a list",
        ),
        (
            "command = 'say x'",
            "`notify.command` in ~/config.toml:2:11 must be a list: the program, then its first arguments, not `'say x'`",
        ),
        (
            "format = 'mail'",
            "`notify.format` in ~/config.toml:2:10 must be `generic`, `slack` or `teams`, not `'mail'`",
        ),
        (
            "quiet = {from = '22:00'}",
            "`notify.quiet` in ~/config.toml:2:9 must be a table with `from`, `to` and `zone`, not a table",
        ),
        (
            "quiet = {from = '7:00', to = '08:00', zone = 'UTC'}",
            "`notify.quiet.from` in ~/config.toml:2:17 must be a time of day such as \"22:00\", not `'7:00'`",
        ),
        (
            "quiet = {from = '24:00', to = '08:00', zone = 'UTC'}",
            "`notify.quiet.from` in ~/config.toml:2:17 must be a time of day such as \"22:00\", not `'24:00'`",
        ),
        (
            "quiet = {from = '07:00', to = '07:00', zone = 'UTC'}",
            "`notify.quiet` in ~/config.toml:2:9 must be a table whose `from` and `to` differ, not a table",
        ),
        (
            "quiet = {zone = 'Europe/Nowhere'}",
            "`notify.quiet.zone` in ~/config.toml:2:17 must be a time zone that this machine knows, such as \
             \"Europe/Berlin\", not `'Europe/Nowhere'`",
        ),
        (
            "quiet = {critical = ['all']}",
            "`notify.quiet.critical` in ~/config.toml:2:21 must be a list of kinds of questions, such as \
             `destructive`, not a list",
        ),
    ] {
        check(&format!("[notify]\n{line}"), message, None);
    }
    check("[notify]\nweb = 'x'", "unknown key `notify.web` in ~/config.toml:2:1", Some("did you mean `webhook`?"));

    let (_temp, home, project) = folders(None, Some("[notify]\ncommand = ['./evil']\n"));
    let error = trust(&home, &project).expect_err("refused");
    assert!(matches!(error, ConfigError::NotOfAProject { .. }), "{error}");
}

#[test]
fn what_is_no_toml_is_told_with_its_place() {
    let (_temp, home, _) = folders(Some("mode = 'auto'\nmodel = = 1"), None);
    let error = load(&home, None).expect_err("no TOML");
    assert!(matches!(&error, ConfigError::NotToml { at, .. } if at.line == 2), "{error}");
}

#[test]
fn nothing_set_is_nothing_wrong() {
    let (_temp, home, project) = folders(None, None);
    assert_eq!(load(&home, Some(&project)).expect("loaded"), Loaded::default());
    assert_eq!(load(&home, Some(Path::new("/nonexistent"))).expect("loaded"), Loaded::default());
}

#[test]
fn a_project_is_read_once_its_content_is_trusted_and_until_it_changes() {
    let own = "model = 'mine'\nadapter = 'scripted'\n[detectors]\nblocker = 'loose'\ncompletion = 'strict'";
    let (_temp, home, project) = folders(Some(own), Some("model = 'theirs'\n[detectors]\nblocker = 'strict'"));
    let path = project_config(&project);

    let loaded = load(&home, Some(&project)).expect("loaded");
    assert_eq!(loaded.config.model.map(|model| model.value).as_deref(), Some("mine"));
    assert_eq!(loaded.notices, [Notice::Untrusted { path: path.clone(), change: None }]);
    assert!(loaded.notices[0].to_string().contains("adjutant trust add"));

    let trusted = trust(&home, &project).expect("trusted");
    assert_eq!(trust(&home, &project).expect("trusted again"), trusted);
    assert_eq!(fs::read_to_string(home.trust()).expect("the list").lines().count(), 1);
    let Loaded { config, notices } = load(&home, Some(&project)).expect("loaded");
    assert_eq!(notices, []);
    let model = config.model.expect("set");
    assert_eq!((model.value.as_str(), model.from), ("theirs", Origin { path: path.clone(), line: 1, column: 9 }));
    assert_eq!(config.adapter.expect("set").from.path, home.config());
    let detectors: Vec<_> =
        config.detectors.iter().map(|(detector, set)| (detector.name(), set.value.name())).collect();
    assert_eq!(detectors, [("blocker", "strict"), ("completion", "strict")]);

    fs::write(&path, "mode = 'auto'").expect("changed");
    let loaded = load(&home, Some(&project)).expect("loaded");
    assert_eq!((loaded.config.mode, loaded.notices.len()), (None, 1));
}

#[test]
fn a_mistake_in_an_untrusted_project_matters_only_when_it_is_to_be_trusted() {
    let (_temp, home, project) = folders(None, Some("nonsense"));
    assert_eq!(load(&home, Some(&project)).expect("loaded").notices.len(), 1);
    assert!(matches!(trust(&home, &project), Err(ConfigError::NotToml { .. })));
    fs::remove_file(project_config(&project)).expect("removed");
    assert!(matches!(trust(&home, &project), Err(ConfigError::Absent { .. })));
}

#[test]
fn what_is_no_file_is_an_error() {
    let (_temp, home, project) = folders(None, None);
    fs::create_dir(project_config(&project)).expect("made");
    assert!(matches!(load(&home, Some(&project)), Err(ConfigError::Unusable { .. })));
}

/// A hook's command, and of each file of the project that it names whether it is trusted.
type Tied = (Vec<String>, Vec<bool>);

/// The hooks that a home and a project have together, as commands with paths shortened and the hashes that were
/// trusted, and the notices.
fn hooks_of(home: &Home, project: &Path) -> (Vec<Tied>, usize) {
    let loaded = load(home, Some(project)).expect("loaded");
    let folder = project.canonicalize().expect("there").display().to_string();
    let hook = |hook: &Setting<GuardHook>| {
        let command = hook.value.command.iter().map(|word| word.replace(&folder, "~")).collect();
        (command, hook.value.files.iter().map(|file| !file.hash.is_empty()).collect())
    };
    (loaded.config.hooks.iter().map(hook).collect(), loaded.notices.len())
}

#[test]
fn a_hook_that_runs_a_projects_file_needs_trust_in_that_file_too() {
    let own = "[[hooks]]\ncommand = ['/usr/bin/guard', 'guard.sh']\ntools = ['shell_exec']\ntimeout_ms = 100";
    let theirs = "[[hooks]]\ncommand = ['sh', './guard.sh', '--strict']";
    let (_temp, home, project) = folders(Some(own), Some(theirs));
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let mine = (words(&["/usr/bin/guard", "guard.sh"]), vec![]);
    fs::write(project.join("guard.sh"), "echo").expect("written");

    assert_eq!(hooks_of(&home, &project), (vec![mine.clone()], 1), "the project is not trusted at all");
    trust(&home, &project).expect("trusted");
    let guard = |trusted| (words(&["sh", "~/guard.sh", "--strict"]), vec![trusted]);
    assert_eq!(hooks_of(&home, &project), (vec![mine.clone(), guard(false)], 1), "its script is not");
    let script = project.join("guard.sh").canonicalize().expect("there");
    let mut store = Trust::load(&home).expect("loaded");
    store.add(&home, &script, "guard.sh", b"echo").expect("added");
    assert_eq!(hooks_of(&home, &project), (vec![mine.clone(), guard(true)], 0));
    fs::write(&script, "evil").expect("changed");
    assert_eq!(hooks_of(&home, &project), (vec![mine.clone(), guard(false)], 1));
    // A link out of the project leads wherever its writer wants.
    fs::remove_file(&script).expect("removed");
    std::os::unix::fs::symlink("/bin/sh", &script).expect("linked");
    let link = (words(&["sh", "./guard.sh", "--strict"]), vec![false]);
    assert_eq!(hooks_of(&home, &project), (vec![mine, link], 1));
}

#[test]
fn an_operators_hook_in_the_project_needs_trust_as_well() {
    let (_temp, home, project) = folders(None, None);
    let script = project.canonicalize().expect("there").join("guard.sh");
    fs::write(&script, "echo").expect("written");
    fs::write(home.config(), format!("[[hooks]]\ncommand = ['{}']", script.display())).expect("written");
    assert_eq!(hooks_of(&home, &project), (vec![(vec!["~/guard.sh".to_owned()], vec![false])], 1));
}

#[test]
fn a_mistake_in_a_hook_is_told() {
    let expected =
        "`hooks` in ~/config.toml:1:9 must be a list of hooks, each as `[[hooks]]` with its `command`, not `'x'`";
    check("hooks = 'x'", expected, None);
    let expected = "`hooks` in ~/config.toml:1:1 must be a table with the `command` of a hook, not a table";
    check("[[hooks]]\ntools = ['x']", expected, None);
    check(
        "[[hooks]]\ncommand = ['x']\ntimeout_ms = 0",
        "`hooks.timeout_ms` in ~/config.toml:3:14 must be a number of milliseconds from 1 to 60000, not `0`",
        None,
    );
    check(
        "[[hooks]]\ncommand = ['x']\ntool = 'x'",
        "unknown key `hooks.tool` in ~/config.toml:3:1",
        Some("did you mean `tools`?"),
    );
    check(
        "after_untrusted = 'x'",
        "`after_untrusted` in ~/config.toml:1:19 must be `record`, `named` or `ask`, not `'x'`",
        None,
    );
}

#[test]
fn fail_closed_configuration() {
    // Whatever is wrong with the operator's own file or a trusted one, there are no settings at all.
    for text in ["nonsense", "max_steps = 'x'", "[[hooks]]\n", "hooks = 1", "no_shell = 'yes'", "unknown = 1", "\u{0}"]
    {
        let (_temp, home, _) = folders(Some(text), None);
        assert!(load(&home, None).is_err(), "{text}");
    }
    for key in ["after_untrusted = 'record'", "plain_results = true", "untrusted_tools = []", "programs = []"] {
        let (_temp, home, project) = folders(None, Some(key));
        let error = trust(&home, &project).expect_err(key);
        assert!(matches!(error, ConfigError::NotOfAProject { .. }), "{key}: {error}");
    }
}

#[test]
fn what_programs_do_is_taken_from_the_home_with_its_examples() {
    let good = "[[programs]]\nnames = 'shipit'\nverdict = 'external'\ncategory = 'deploy'\nreason = 'releases'\n\
        rules = [{ words = 'status', verdict = 'safe' }]\n[programs.examples]\n'shipit now' = 'external'\n\
        'shipit status' = 'safe'\n";
    let (_temp, home, _) = folders(Some(good), None);
    let loaded = load(&home, None).expect("loaded");
    let [program] = loaded.config.programs.as_slice() else { panic!("{:?}", loaded.config.programs) };
    assert_eq!((program.value.names.iter().collect::<Vec<_>>(), program.from.line), (vec!["shipit"], 1));
    // What is recorded says the same.
    let recorded = serde_json::to_string(&program.value).expect("written");
    let read: ProgramEntry = serde_json::from_str(&recorded).expect("read");
    assert_eq!(read, program.value);

    for (text, why, line) in [
        ("[[programs]]\nnames = 'x'\nverdict = 'safe'\n", "no `examples`", 1),
        ("[[programs]]\nverdict = 'safe'\n", "names", 1),
        ("[[programs]]\nnames = 'x'\nverdict = 'good'\n", "good", 3),
        ("[[programs]]\nnames = 'x'\nverdict = 'ask'\ncategory = 'x'\n", "`x` is no category", 4),
        ("[[programs]]\nnames = 'x'\nverdict = 'ask'\noprands = 'x'\n", "oprands", 4),
        ("[[programs]]\nnames = 'rm'\nverdict = 'safe'\nexamples = { 'rm x' = 'safe' }\n", "`rm x` of `rm`", 1),
        ("\n[[programs]]\nnames = 'a'\nverdict = 'safe'\nexamples = { 'b' = 'safe' }\n", "`b` of `a`", 2),
        ("programs = 1\n", "a list of programs", 1),
    ] {
        let (_temp, home, _) = folders(Some(text), None);
        let error = load(&home, None).expect_err(text).to_string();
        assert!(error.contains(why) && error.contains(&format!("config.toml:{line}:")), "{text}: {error}");
    }
}

#[test]
fn rules_about_commands_add_up_with_their_places() {
    let own = "shell_allow = ['./check.sh **']\nshell_deny = ['git push **', 'npm publish **']\ndeny_read = ['.env']\n";
    let projects = "shell_allow = ['python tools/gen.py']\nshell_deny = ['make deploy']\ndeny_read = ['keys/']\n";
    let (_temp, home, project) = folders(Some(own), Some(projects));
    let told = |rules: &[Setting<String>]| -> Vec<(String, usize)> {
        rules.iter().map(|rule| (rule.value.clone(), rule.from.line)).collect()
    };
    let untrusted = load(&home, Some(&project)).expect("loaded").config;
    assert_eq!(told(&untrusted.shell_allow), [("./check.sh **".to_owned(), 1)]);
    trust(&home, &project).expect("trusted");
    let config = load(&home, Some(&project)).expect("loaded").config;
    assert_eq!(told(&config.shell_allow), [("./check.sh **".to_owned(), 1), ("python tools/gen.py".to_owned(), 1)]);
    let denied = [("git push **".to_owned(), 2), ("npm publish **".to_owned(), 2), ("make deploy".to_owned(), 2)];
    assert_eq!(told(&config.shell_deny), denied);
    assert_eq!(told(&config.deny_read), [(".env".to_owned(), 3), ("keys/".to_owned(), 3)]);

    for (text, why) in [
        ("shell_allow = 'make'\n", "a list of commands"),
        ("shell_deny = [1]\n", "a list of commands"),
        ("shell_deny = ['']\n", "a list of commands"),
        ("shell_allow = ['**']\n", "begins with a wildcard"),
        ("shell_deny = ['git ** push']\n", "`**` before its end"),
        ("shell_deny = ['git \\'push']\n", "config.toml:1:"),
        ("deny_read = '.env'\n", "a list of paths and patterns"),
        ("deny_read = ['/etc/passwd']\n", "no path or pattern of paths in the working folder"),
        ("deny_read = ['**']\n", "no path or pattern of paths in the working folder"),
    ] {
        let (_temp, home, _) = folders(Some(text), None);
        let error = load(&home, None).expect_err(text).to_string();
        assert!(error.contains(why) && error.contains("config.toml:1:"), "{text}: {error}");
    }
}

#[test]
fn roles_are_defined_as_data_and_a_mistake_is_told_with_its_place() {
    let own = "[roles.security]\nbase = 'reviewer'\ninstruction = \"\"\"\nLook for keys.\n\"\"\"\nadapter = 'openai:gpt-5'\neffort = 'high'\n\
        [roles.migrator]\nbase = 'executor'\ninstruction = 'Migrate.'\nmay_hold = ['filesystem_write']\n";
    let projects = "[roles.security]\nbase = 'critic'\ninstruction = 'Look for logs.'\n";
    let (_temp, home, project) = folders(Some(own), Some(projects));
    let roles = |loaded: Loaded| -> Vec<String> {
        let told = |(name, role): (&RoleName, &Setting<CustomRole>)| {
            let role = &role.value;
            let (adapter, effort) = (&role.adapter, role.effort.map(|effort| effort.as_str()));
            format!("{name} {} {:?} {adapter:?} {effort:?} {}", role.base, role.instruction, role.is_projects)
        };
        loaded.config.roles.iter().map(told).collect()
    };
    let migrator = "migrator executor \"Migrate.\" None None false";
    let untrusted = roles(load(&home, Some(&project)).expect("loaded"));
    assert_eq!(
        untrusted,
        [migrator, "security reviewer \"Look for keys.\" Some(\"openai:gpt-5\") Some(\"high\") false"]
    );
    trust(&home, &project).expect("trusted");
    // One definition: nothing of the home's is mixed into the project's.
    let trusted = roles(load(&home, Some(&project)).expect("loaded"));
    assert_eq!(trusted, [migrator, "security critic \"Look for logs.\" None None true"]);

    for (text, message, hint) in [
        ("roles = 1", "`roles` in ~:1:9 must be a table for each role", None),
        ("[roles.a]\ninstruction = 'x'", "must be a table with `base`, which says whose place", None),
        ("[roles.a]\nbase = 'boss'\ninstruction = 'x'", "`roles.a.base` in ~:2:8 must be `planner`, `executor`", None),
        (
            "[roles.a]\nbase = 'critic'\neffort = 'hard'",
            "`roles.a.effort` in ~:3:10 must be `low`, `medium`, `high` or `max`",
            None,
        ),
        (
            "[roles.a]\nbase = 'critic'",
            "can't use the role in ~:1:8: the role `a` has no instruction",
            Some("say in `instruction`"),
        ),
        ("[roles.a]\nbase = 'critic'\ninstruction = ' '", "has no instruction", None),
        ("[roles.critic]\nbase = 'critic'\ninstruction = 'x'", "no other can have its name", Some("another name")),
        ("[roles.Boss]\nbase = 'critic'\ninstruction = 'x'", "`roles` in ~:1:8 must be named with 1 to 32", None),
        (
            "[roles.a]\nbase = 'critic'\ninstruction = 'x'\nmay_hold = ['git_push']",
            "its base, `critic`, may never hold",
            Some("leave it out"),
        ),
        (
            "[roles.a]\nbase = 'executor'\ninstruction = 'x'\nmay_hold = ['git_psuh']",
            "`git_psuh`, which is no category",
            None,
        ),
        (
            "[roles.a]\nbase = 'critic'\ninstruction = 'x'\nadapter = ':x'",
            "neither `adapter` nor `adapter:model`",
            None,
        ),
        ("[roles.a]\nbsae = 'critic'", "unknown key `roles.a.bsae`", Some("did you mean `base`?")),
    ] {
        let (_temp, home, _) = folders(Some(text), None);
        let error = load(&home, None).expect_err(text);
        let told = error.to_string().replace(&home.config().display().to_string(), "~");
        assert!(told.contains(message), "{text}: {told}");
        assert!(
            hint.is_none_or(|hint| error.hint().is_some_and(|told| told.contains(hint))),
            "{text}: {:?}",
            error.hint()
        );
    }
}

#[test]
fn what_is_added_to_requests_is_read_with_its_variables() {
    let text = "[adapters.a]\ntoken_command = ['gcloud', 'auth']\nprompt_cache_key = false\ncache = '1h'\n\
                [adapters.a.headers]\nX-Team = 'one'\nauthorization = { variable = 'GATE' }\n\
                [adapters.a.body]\ntemperature = 0.5\nuser = { id = { variable = 'ID' }, n = [1, true] }\n";
    let (_temp, home, project) = folders(Some(text), Some("[adapters.a]\nmodel = 'm'"));
    trust(&home, &project).expect("trusted");
    let config = load(&home, Some(&project)).expect("loaded").config.adapters["a"].value.clone();
    let value = |added: &BTreeMap<String, Setting<Added>>, name: &str| added[name].value.clone();
    let plain = |value: serde_json::Value| Added::Plain(value);
    assert_eq!(value(&config.headers, "x-team"), plain("one".into()));
    assert_eq!(value(&config.headers, "authorization"), Added::Variable("GATE".to_owned()));
    assert_eq!(value(&config.body, "temperature"), plain(serde_json::json!(0.5)));
    let user = BTreeMap::from([
        ("id".to_owned(), Added::Variable("ID".to_owned())),
        ("n".to_owned(), Added::List(vec![plain(1.into()), plain(true.into())])),
    ]);
    assert_eq!(value(&config.body, "user"), Added::Table(user));
    let command = config.token_command.map(|command| command.value);
    assert_eq!(command, Some(vec!["gcloud".to_owned(), "auth".to_owned()]));
    let rest = (config.prompt_cache_key.map(|key| key.value), config.cache.map(|cache| cache.value));
    assert_eq!(rest, (Some(false), Some(CacheTime::Hour)));
}

#[test]
fn headers_and_fields_that_are_adjutants_own_and_those_of_a_project_are_refused() {
    for refused in [
        "headers]\nContent-Length = '1'",
        "headers]\nhost = 'x'",
        "headers]\n'a b' = 'x'",
        "headers]\nx = 1",
        "headers]\nx = \"a\\nb\"",
        "headers]\nx = { variable = '' }",
        "body]\nmessages = []",
        "body]\nstream = false",
        "body]\nday = 2026-01-01",
    ] {
        let (_temp, home, _) = folders(Some(&format!("[adapters.a.{refused}")), None);
        assert!(matches!(load(&home, None), Err(ConfigError::BadValue { .. })), "{refused}");
    }
    for theirs in
        ["headers.x = 'y'", "body.x = 'y'", "token_command = ['x']", "cache = '1h'", "prompt_cache_key = true"]
    {
        let (_temp, home, project) = folders(None, Some(&format!("[adapters.a]\n{theirs}")));
        // What can't hold is not trusted either.
        let refused = trust(&home, &project);
        assert!(matches!(refused, Err(ConfigError::NotOfAProject { .. })), "{theirs}");
    }
}
