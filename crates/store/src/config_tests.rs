use std::fs;

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
        Some("known are adapter, model, mode, max_steps, no_shell, detectors"),
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
    assert_eq!(loaded.notices, [Notice::Untrusted { path: path.clone() }]);
    assert!(loaded.notices[0].to_string().contains("adjutant doctor --trust"));

    let trusted = trust(&home, &project).expect("trusted");
    assert_eq!(trust(&home, &project).expect("trusted again"), trusted);
    assert_eq!(fs::read_to_string(home.trusted_projects()).expect("the list").lines().count(), 1);
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
