//! A guard hook is asked in custody, and one that gives no answer asks.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use adjutant_core::gate::{GuardHook, HookAnswer, HookCall, HookFile};
use adjutant_core::words::tool::whole_hash;
use adjutant_core::words::{GateAnswer, HookFault};
use adjutant_host::hooks::HookRunner;
use adjutant_ports::{CancellationToken, Hooks};
use serde_json::json;

fn hook(command: &[&str], timeout_ms: u64) -> GuardHook {
    GuardHook { command: command.iter().map(|word| (*word).to_owned()).collect(), timeout_ms, ..GuardHook::default() }
}

async fn asked(hook: GuardHook) -> HookAnswer {
    let runner = HookRunner::new("/tmp".into(), std::env::vars_os());
    let input = json!({"tool": "shell_exec", "arguments": {"cmd": "x".repeat(1 << 20)}});
    let call = HookCall { hook, place: 0, call: 1, input };
    runner.ask(&call, CancellationToken::new()).await.expect("it was not cancelled")
}

/// Returns the answer of a shell script as a hook, within a time that is enough.
async fn says(script: &str) -> (GateAnswer, Option<HookFault>) {
    let answer = asked(hook(&["sh", "-c", script], 60_000)).await;
    (answer.answer, answer.fault)
}

#[tokio::test]
async fn a_hook_reads_the_call_and_answers() {
    let reads = r#"grep -q '"tool":"shell_exec"' && echo '{"decision":"refuse","reason":"no shell here"}'"#;
    let answer = asked(hook(&["sh", "-c", reads], 60_000)).await;
    assert_eq!(
        (answer.answer, answer.reason.as_deref(), answer.fault),
        (GateAnswer::Refuse, Some("no shell here"), None)
    );
    // An input that is longer than a pipe holds need not be read.
    assert_eq!(says(r#"echo '{"decision":"allow"}'"#).await, (GateAnswer::Allow, None));
}

#[tokio::test]
async fn fail_closed_hook_can_not_start() {
    let folder = tempfile::tempdir().unwrap();
    let plain = folder.path().join("plain");
    fs::write(&plain, "{\"decision\":\"allow\"}").unwrap();
    let plain = plain.display().to_string();
    for command in [&["/nonexistent/guard"][..], &[&plain], &["/tmp"], &[]] {
        let answer = asked(hook(command, 60_000)).await;
        assert_eq!((answer.answer, answer.fault), (GateAnswer::Ask, Some(HookFault::NotStarted)), "{command:?}");
    }
}

#[tokio::test]
async fn fail_closed_hook_takes_too_long() {
    // It answers at once, and then does not end: an answer counts when its hook has ended well.
    let answer = asked(hook(&["sh", "-c", r#"echo '{"decision":"allow"}'; exec sleep 600"#], 200)).await;
    assert_eq!((answer.answer, answer.fault), (GateAnswer::Ask, Some(HookFault::Timeout)));
}

#[tokio::test]
async fn fail_closed_hook_fails() {
    for (script, fault) in [
        (r#"echo '{"decision":"allow"}'; exit 1"#, HookFault::Exit),
        (r#"echo '{"decision":"allow"}'; kill -9 $$"#, HookFault::Exit),
        ("echo allow", HookFault::Nonsense),
        ("true", HookFault::Nonsense),
        (r#"printf '{"decision":"allow","x":"\377"}'"#, HookFault::Nonsense),
        (r#"echo '{"decision":"allow"}'; echo '{"decision":"allow"}'"#, HookFault::Nonsense),
        (r#"echo '{"decision":"allow"}'; yes | head -c 1000000"#, HookFault::Nonsense),
        (r#"echo '{"decision":"allow"}' >&2"#, HookFault::Nonsense),
    ] {
        assert_eq!(says(script).await, (GateAnswer::Ask, Some(fault)), "{script}");
    }
}

#[tokio::test]
async fn a_hook_leaves_nothing_running_and_sees_no_secret() {
    let folder = tempfile::tempdir().unwrap();
    let mark = folder.path().join("alive");
    let script = format!(
        r#"(setsid sh -c 'sleep 600; touch {0}' >/dev/null 2>&1 &) ; echo '{{"decision":"allow"}}'"#,
        mark.display()
    );
    assert_eq!(says(&script).await, (GateAnswer::Allow, None));
    let runner = HookRunner::new(
        "/tmp".into(),
        [("X_API_KEY".into(), "canary".into()), ("PATH".into(), "/usr/bin:/bin".into())],
    );
    let script = r#"env | grep -q canary && exit 1; echo '{"decision":"allow"}'"#;
    let call = HookCall { hook: hook(&["sh", "-c", script], 60_000), place: 0, call: 1, input: json!({}) };
    let answer = runner.ask(&call, CancellationToken::new()).await.unwrap();
    assert_eq!((answer.answer, answer.fault), (GateAnswer::Allow, None));
}

#[tokio::test]
async fn fail_closed_hook_is_not_what_was_trusted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("guard.sh");
    let write = |text: &str| {
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    };
    let said = "#!/bin/sh\necho '{\"decision\":\"refuse\"}'\n";
    let of = |path: &Path, hash: &str| {
        let path = path.display().to_string();
        GuardHook { files: vec![HookFile { path: path.clone(), hash: hash.to_owned() }], ..hook(&[&path], 60_000) }
    };
    write(said);
    let trusted = whole_hash(said.as_bytes());
    assert_eq!(asked(of(&path, &trusted)).await.answer, GateAnswer::Refuse);
    // Changed, gone, never trusted.
    write("#!/bin/sh\necho '{\"decision\":\"allow\"}'\n");
    for (path, hash) in [(path.as_path(), trusted.as_str()), (path.as_path(), ""), (Path::new("/nonexistent"), "")] {
        let answer = asked(of(path, hash)).await;
        assert_eq!((answer.answer, answer.fault), (GateAnswer::Ask, Some(HookFault::Untrusted)), "{path:?} {hash}");
    }
}

#[tokio::test]
async fn a_hook_that_is_cancelled_has_said_nothing() {
    let runner = HookRunner::new("/tmp".into(), std::env::vars_os());
    let call = HookCall { hook: hook(&["sleep", "600"], 60_000), place: 0, call: 1, input: json!({}) };
    let cancel = CancellationToken::new();
    cancel.cancel();
    assert_eq!(runner.ask(&call, cancel).await, None);
}
