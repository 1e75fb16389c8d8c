//! A command ends, is bounded, and leaves nothing running. What the tests wait for is the end of a pipe that
//! a process holds open, never a length of time.

use std::fs;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::Duration;

use adjutant_host::custody::{Cause, Command, Confinement, Ended, run};
use tokio_util::sync::CancellationToken;

const LONG: Duration = Duration::from_secs(600);

fn command(folder: &Path, line: &str, timeout: Duration) -> Command {
    let path = std::env::var_os("PATH").unwrap_or_default();
    Command {
        program: "bash".into(),
        args: vec!["-c".into(), line.into()],
        folder: OwnedFd::from(fs::File::open(folder).unwrap()),
        environment: vec![("PATH".into(), path), ("GREETING".into(), "hello".into())],
        timeout,
        stream_bytes_max: 1000,
        confinement: Confinement::None,
    }
}

async fn ran(line: &str) -> Ended {
    let folder = tempfile::tempdir().unwrap();
    run(command(folder.path(), line, LONG), CancellationToken::new()).await.unwrap()
}

/// A fifo in `folder`; a process that holds its writing end is alive as long as the reader sees no end.
fn fifo(folder: &Path, name: &str) {
    rustix::fs::mknodat(rustix::fs::CWD, folder.join(name), rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
}

/// Everything written to the fifo, once nobody holds it open any more.
async fn until_nobody_holds(folder: &Path, name: &str) -> String {
    let path = folder.join(name);
    tokio::task::spawn_blocking(move || {
        let mut text = String::new();
        fs::File::open(path).unwrap().read_to_string(&mut text).unwrap();
        text
    })
    .await
    .unwrap()
}

#[tokio::test]
async fn a_command_says_how_it_ended() {
    let ended = ran("echo out; echo err >&2; exit 3").await;
    assert_eq!((ended.cause, ended.exit_code, ended.signal.as_deref()), (Cause::Itself, Some(3), None));
    assert_eq!((ended.stdout.text().as_str(), ended.stderr.text().as_str()), ("out\n", "err\n"));
    let ended = ran("kill -KILL $$").await;
    assert_eq!((ended.exit_code, ended.signal.as_deref()), (None, Some("SIGKILL")));
}

#[tokio::test]
async fn a_command_has_its_own_session_no_stdin_and_only_the_given_environment() {
    let ended = ran("cat; echo \"$GREETING\"; env | cut -d= -f1 | sort | tr '\\n' ' '; (: < /dev/tty) 2>/dev/null || echo no terminal").await;
    let text = ended.stdout.text();
    assert!(text.starts_with("hello\n"), "{text}");
    assert!(text.contains("CUSTODY_TAG GREETING PATH"), "{text}");
    assert!(!text.contains("CARGO"), "{text}");
    assert!(text.contains("no terminal"), "{text}");
}

#[tokio::test]
async fn huge_output_is_kept_at_both_ends_and_counted() {
    let ended = ran("echo first; head -c 50000000 /dev/zero | tr '\\0' ,; echo; echo last").await;
    assert_eq!((ended.exit_code, ended.stdout.total()), (Some(0), 50_000_012));
    let text = ended.stdout.text();
    assert!(text.starts_with("first\n,,,") && text.ends_with(",,,\nlast\n"), "{text}");
    assert!(text.contains("[truncated: 49999012 of 50000012 bytes dropped here]"), "{text}");
}

#[tokio::test]
async fn a_timeout_kills_what_left_the_session_too() {
    let folder = tempfile::tempdir().unwrap();
    fifo(folder.path(), "held");
    // The grandchild ignores SIGTERM, has a session of its own, and loses its parent.
    let line = "(setsid bash -c 'trap \"\" TERM; exec 3>held; echo started >&3; exec sleep 1000' &); exec sleep 1000";
    let watched = until_nobody_holds(folder.path(), "held");
    let running = run(command(folder.path(), line, Duration::from_secs(3)), CancellationToken::new());
    let (ended, held) = tokio::join!(running, watched);
    assert_eq!(ended.unwrap().cause, Cause::Timeout);
    assert_eq!(held, "started\n");
}

#[tokio::test]
async fn a_cancel_keeps_what_was_said_until_then() {
    let folder = tempfile::tempdir().unwrap();
    fifo(folder.path(), "said");
    let cancel = CancellationToken::new();
    let said = async {
        until_nobody_holds(folder.path(), "said").await;
        cancel.cancel();
    };
    let line = "echo before; echo ready; echo > said; exec sleep 1000";
    let (ended, ()) = tokio::join!(run(command(folder.path(), line, LONG), cancel.clone()), said);
    let ended = ended.unwrap();
    assert_eq!((ended.cause, ended.signal.as_deref()), (Cause::Cancelled, Some("SIGTERM")));
    assert_eq!(ended.stdout.text(), "before\nready\n");
}

#[tokio::test]
async fn what_is_left_running_ends_with_the_command() {
    let folder = tempfile::tempdir().unwrap();
    fifo(folder.path(), "held");
    let line = "setsid bash -c 'exec 3>held; echo up >&3; exec sleep 1000' & read line < held; echo \"$line\"";
    let ended = run(command(folder.path(), line, LONG), CancellationToken::new()).await.unwrap();
    assert_eq!(ended.stdout.text(), "up\n");
    assert!(ended.left_behind >= 1, "{}", ended.left_behind);
}

#[tokio::test]
async fn what_replaces_itself_all_the_time_is_found_too() {
    for _ in 0..20 {
        let folder = tempfile::tempdir().unwrap();
        fifo(folder.path(), "held");
        // While a program is being replaced it shows no environment, and so no mark.
        fs::write(folder.path().join("again.sh"), "exec sh again.sh\n").unwrap();
        let line = "(setsid sh -c 'exec 3>held; echo up >&3; exec sh again.sh' &); read line < up; echo \"$line\"";
        fifo(folder.path(), "up");
        let path = folder.path().to_owned();
        let passing = tokio::task::spawn_blocking(move || {
            let mut held = fs::File::open(path.join("held")).unwrap();
            held.read_exact(&mut [0; 3]).unwrap();
            fs::write(path.join("up"), "up\n").unwrap();
            // Ends only when nobody holds the fifo open any more.
            held.read_to_end(&mut Vec::new()).unwrap();
        });
        let ended = run(command(folder.path(), line, LONG), CancellationToken::new()).await.unwrap();
        assert_eq!(ended.stdout.text(), "up\n");
        passing.await.unwrap();
    }
}

#[tokio::test]
async fn dropping_the_future_kills_the_command() {
    let folder = tempfile::tempdir().unwrap();
    fifo(folder.path(), "held");
    fifo(folder.path(), "up");
    let watched = until_nobody_holds(folder.path(), "held");
    let dropped = async {
        let line = "exec 3>held; echo > up; exec sleep 1000";
        tokio::select! {
            _ = run(command(folder.path(), line, LONG), CancellationToken::new()) => panic!("it ended"),
            _ = until_nobody_holds(folder.path(), "up") => {}
        }
    };
    tokio::join!(dropped, watched);
}

#[tokio::test]
async fn a_program_that_is_not_there_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let mut missing = command(folder.path(), "", LONG);
    missing.program = "no-such-program".into();
    let error = run(missing, CancellationToken::new()).await.unwrap_err();
    assert_eq!(error.to_string(), "can't start `no-such-program`");
}

#[tokio::test]
async fn commands_that_run_together_leave_each_other_alone() {
    let folder = tempfile::tempdir().unwrap();
    fifo(folder.path(), "go");
    // The first ends while the second still waits for it; its sweep must not take the second along.
    let one = run(command(folder.path(), "(setsid sleep 1000 &); exit 0", LONG), CancellationToken::new());
    let two = run(
        command(folder.path(), "setsid bash -c 'read line < go; echo \"$line\"' & wait", LONG),
        CancellationToken::new(),
    );
    let path = folder.path().join("go");
    let first = async {
        let ended = one.await.unwrap();
        tokio::task::spawn_blocking(move || fs::write(path, "go on\n").unwrap()).await.unwrap();
        ended
    };
    let (one, two) = tokio::join!(first, two);
    assert_eq!(one.exit_code, Some(0));
    assert_eq!(two.unwrap().stdout.text(), "go on\n");
}
