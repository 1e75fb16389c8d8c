//! Waits: each condition, the limit, and cancelling. Time is virtual but where a command is run.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::symlink;
use std::time::Duration;

use adjutant_core::words::tool::ToolOutput;
use adjutant_ports::{CancellationToken, Prepared, Tools};
use adjutant_tools::Shell;
use serde_json::{Value, json};

use crate::place::{Place, call};

/// Runs a wait in virtual time; `meanwhile` has its own time.
fn waited(place: &Place, args: Value, meanwhile: impl Future<Output = ()>) -> ToolOutput {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let mut call = call("wait_for", args);
        call.resolved = place.tools.resolve(&call).await;
        let prepared = Prepared::default();
        let (output, ()) = tokio::join!(place.tools.call(&call, &prepared, CancellationToken::new()), meanwhile);
        output
    })
}

async fn after(seconds: u64, act: impl FnOnce()) {
    tokio::time::sleep(Duration::from_secs(seconds)).await;
    act();
}

#[track_caller]
fn check(place: &Place, args: Value, expected: Result<&str, &str>) {
    let output = waited(place, args.clone(), async {});
    let said = match expected {
        Ok(said) => {
            assert!(output.success && output.code.is_none(), "{args}: {output:?}");
            said
        }
        Err(said) => {
            assert_eq!((output.success, output.code.as_deref()), (false, Some("WAIT_OVER")), "{args}: {output:?}");
            said
        }
    };
    assert_eq!(output.content, said, "{args}");
}

#[test]
fn a_wait_ends_when_its_time_is_over() {
    let place = Place::with(&[]);
    check(&place, json!({"seconds": 1}), Ok("The time is over, after 1 s."));
    check(&place, json!({"seconds": 7_325}), Ok("The time is over, after 2 h 2 min 5 s."));
    check(
        &place,
        json!({"seconds": 60, "limit_seconds": 50}),
        Err("The limit of 50 s was over before 1 min were over."),
    );
}

#[test]
fn a_wait_for_a_file_ends_when_it_is_there_or_gone() {
    let place = Place::with(&[("here", ""), ("sub/x", "")]);
    check(&place, json!({"file": "here"}), Ok("`here` is there, after less than a second."));
    check(&place, json!({"file": "sub"}), Ok("`sub` is there, after less than a second."));
    check(&place, json!({"gone": "none/x"}), Ok("`none/x` is gone, after less than a second."));
    check(&place, json!({"gone": "here/x"}), Ok("`here/x` is gone, after less than a second."));
    check(&place, json!({"file": "new"}), Err("The limit of 1 h was over before `new` was there."));
    check(
        &place,
        json!({"gone": "here", "limit_seconds": 5}),
        Err("The limit of 5 s was over before `here` was gone."),
    );
    let path = place.path("made/new");
    let made = after(90, move || {
        fs::create_dir(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
    });
    let output = waited(&place, json!({"file": "made/new", "every_seconds": 20}), made);
    assert_eq!(output.content, "`made/new` is there, after 1 min 40 s.");
    let path = place.path("here");
    let output = waited(&place, json!({"gone": "here"}), after(3, move || fs::remove_file(path).unwrap()));
    assert!(output.success && output.content.starts_with("`here` is gone, after "), "{output:?}");
}

#[test]
fn a_link_within_the_folder_is_there_and_one_that_leads_out_is_refused() {
    let place = Place::with(&[("real", "")]);
    let link = place.path("latest");
    let output = waited(&place, json!({"file": "latest"}), after(3, move || symlink("real", link).unwrap()));
    assert!(output.success, "{output:?}");
    check(&place, json!({"file": "latest"}), Ok("`latest` is there, after less than a second."));
    let link = place.path("to-nothing");
    let output = waited(
        &place,
        json!({"file": "to-nothing", "limit_seconds": 9}),
        after(3, move || symlink("none", link).unwrap()),
    );
    assert_eq!(output.code.as_deref(), Some("WAIT_OVER"), "{output:?}");
    for (target, path) in [("outside", "folder/secret"), ("outside/secret", "file")] {
        let (target, link) = (place.folder.path().join(target), place.path(path.split('/').next().unwrap()));
        let output =
            waited(&place, json!({"file": path, "every_seconds": 2}), after(3, move || symlink(target, link).unwrap()));
        assert_eq!(output.code.as_deref(), Some("PATH_ESCAPE"), "{output:?}");
    }
}

#[test]
fn a_wait_for_a_port_ends_when_it_accepts() {
    let place = Place::with(&[]);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let output = waited(&place, json!({"port": port}), async {});
    assert!(output.success && output.content.starts_with(&format!("Port {port} accepts connections, after ")));
    drop(listener);
    let output = waited(&place, json!({"port": port, "limit_seconds": 3}), async {});
    assert_eq!(output.content, format!("The limit of 3 s was over before port {port} accepted connections."));
}

#[test]
fn a_command_is_run_until_it_exits_with_0() {
    let place = Place::with(&[]);
    let output =
        place.call("wait_for", json!({"command": "echo x >> runs; [ $(wc -l < runs) = 2 ]", "every_seconds": 1}));
    assert!(output.success && output.content.starts_with("The command exited with 0, after 1 s"), "{output:?}");
    assert_eq!(output.meta.exit_code, Some(0));
    assert_eq!(fs::read_to_string(place.path("runs")).unwrap(), "x\nx\n");
    let output = place.call("wait_for", json!({"command": "echo out; echo why >&2; exit 3", "limit_seconds": 1}));
    assert_eq!((output.code.as_deref(), output.meta.exit_code), (Some("WAIT_OVER"), Some(3)));
    assert_eq!(
        output.content,
        "The limit of 1 s was over before the command exited with 0. The command was run 1 times; the last time it \
         exited with code 3: why"
    );
    let output = place.call("wait_for", json!({"command": "sleep 60", "limit_seconds": 1}));
    assert!(output.content.contains("it took too long and was ended"), "{output:?}");
}

/// A place with a `gh` that says `said` and exits with `code`.
fn forge(said: &str, code: u32) -> Place {
    let place = Place::with_path(
        &[("bin/gh", &format!("#!/bin/sh\necho \"$@\" > asked\nprintf '{said}'\nexit {code}\n"))],
        "bin",
    );
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(place.path("bin/gh"), mode).unwrap();
    place
}

#[test]
fn a_wait_for_a_pull_request_asks_the_forge() {
    for (args, said, code, asked, success, answer, result) in [
        (json!({"ci": 12}), "a\\tpass\\n", 0, "pr checks 12", true, None, "All checks have passed, after "),
        (
            json!({"ci": "fix/a"}),
            "a\\tpending\\nb\\tfail\\n",
            8,
            "pr checks fix/a",
            false,
            Some("WAIT_OVER"),
            "The limit of ",
        ),
        (
            json!({"ci": 12}),
            "a\\tpass\\nb\\tfail\\t1m\\n",
            1,
            "pr checks 12",
            false,
            Some("CHECKS_FAILED"),
            "A check has failed, and none is going on: b\tfail\t1m",
        ),
        (
            json!({"pull_request": 3}),
            "MERGED\\n",
            0,
            "pr view 3 --json state -q .state",
            true,
            None,
            "The pull request is merged, after ",
        ),
        (
            json!({"pull_request": 3}),
            "CLOSED\\n",
            0,
            "pr view 3 --json state -q .state",
            true,
            None,
            "The pull request is closed",
        ),
        (
            json!({"pull_request": 3}),
            "OPEN\\n",
            0,
            "pr view 3 --json state -q .state",
            false,
            Some("WAIT_OVER"),
            "The limit",
        ),
    ] {
        let place = forge(said, code);
        let mut args = args;
        args["limit_seconds"] = json!(1);
        let output = place.call("wait_for", args.clone());
        assert_eq!((output.success, output.code.as_deref()), (success, answer), "{args}: {output:?}");
        assert!(output.content.starts_with(result), "{args}: {output:?}");
        assert_eq!(fs::read_to_string(place.path("asked")).unwrap().trim(), asked);
    }
}

#[test]
fn a_wait_for_a_message_lasts_until_it_is_cancelled_or_over() {
    let place = Place::with(&[]);
    check(
        &place,
        json!({"message": true, "limit_seconds": 100_000}),
        Err("The limit of 24 h was over before the operator said something."),
    );
}

#[test]
fn a_cancelled_wait_ends_soon_whatever_it_is_for() {
    for args in [
        json!({"seconds": 5000}),
        json!({"file": "none"}),
        json!({"message": true}),
        json!({"command": "touch begun; sleep 500"}),
        json!({"command": "false", "every_seconds": 500}),
    ] {
        let place = Place::with(&[]);
        let begun = std::time::Instant::now();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let output = runtime.block_on(async {
            let (call, cancel) = (call("wait_for", args.clone()), CancellationToken::new());
            let prepared = Prepared::default();
            let cancelling = async {
                tokio::time::sleep(Duration::from_millis(100)).await;
                cancel.cancel();
            };
            tokio::join!(place.tools.call(&call, &prepared, cancel.clone()), cancelling).0
        });
        assert_eq!((output.success, output.code.as_deref()), (false, Some("CANCELLED")), "{args}: {output:?}");
        assert!(begun.elapsed() < Duration::from_secs(60), "{args}");
    }
}

#[test]
fn arguments_that_name_no_one_condition_are_refused() {
    let place = Place::with(&[]);
    for args in [
        json!({}),
        json!({"limit_seconds": 5}),
        json!({"message": false}),
        json!({"seconds": 1, "file": "a"}),
        json!({"file": "a", "gone": "a"}),
        json!({"seconds": 0}),
        json!({"seconds": 86_401}),
        json!({"port": 0}),
        json!({"port": 65_536}),
        json!({"port": "http"}),
        json!({"command": "  "}),
        json!({"command": "a\0b"}),
        json!({"ci": "1; rm x"}),
        json!({"ci": -1}),
        json!({"pull_request": "--web"}),
        json!({"seconds": 1, "every_seconds": 0}),
    ] {
        let output = waited(&place, args.clone(), async {});
        assert_eq!(output.code.as_deref(), Some("INVALID_ARGS"), "{args}: {output:?}");
    }
    let disabled = Place::with_shell(&[], Shell::Disabled);
    let output = disabled.call("wait_for", json!({"command": "touch x"}));
    assert_eq!(output.code.as_deref(), Some("SHELL_DISABLED"));
    let output = place.call("wait_for", json!({"command": "fi"}));
    assert_eq!(output.code.as_deref(), Some("SYNTAX_ERROR"), "{output:?}");
}
