use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use adjutant_core::gate::secrets::SecretSet;
use adjutant_core::words::tool::ToolCall;
use adjutant_ports::{
    Agent, AgentFailure, CancellationToken, Delta, FailureKind, OutgoingMessage, OutgoingRole, Pending, Reply, Stop,
    TurnRequest, Usage,
};
use serde_json::json;

use super::{Existing, OpenError, ReadError, RecordedAgent, Recorder, Recording};

const OWN: &str = "canary-own-secret-12345";

/// Answers as the turn asks for in its last message.
struct Echo;

impl Agent for Echo {
    fn id(&self) -> &str {
        "echo"
    }

    fn model(&self) -> &str {
        "echo-1"
    }

    fn turn<'a>(
        &'a self,
        request: &'a TurnRequest,
        deltas: &'a (dyn Fn(Delta) + Send + Sync),
        _cancel: CancellationToken,
    ) -> Pending<'a, Result<Reply, AgentFailure>> {
        Box::pin(async move {
            let asked = request.messages.last().map(|message| message.text.clone()).unwrap_or_default();
            let failure = |kind| {
                let retry_after = Some(Duration::from_millis(7));
                Err(AgentFailure { kind, message: OWN.to_owned(), retry_after, output_max: Some(9) })
            };
            match &*asked {
                "fail" => return failure(FailureKind::Busy),
                "cancel" => return failure(FailureKind::Cancelled),
                _ => {}
            }
            deltas(Delta::Thinking("h".to_owned()));
            deltas(Delta::Thinking("m".to_owned()));
            for piece in asked.split_inclusive('-') {
                deltas(Delta::Text(piece.to_owned()));
            }
            let call = ToolCall {
                call_id: "c1".to_owned(),
                name: "read".to_owned(),
                args: json!({ "path": asked }),
                malformed: None,
                masked: false,
                resolved: Vec::new(),
            };
            let usage = Some(Usage { input_tokens: Some(3), ..Usage::default() });
            Ok(Reply::plain(asked.to_string(), vec![call], usage, Stop::ToolUse))
        })
    }
}

fn request(turn: u32, attempt: u32, said: &[&str]) -> TurnRequest {
    let message = |text: &&str| OutgoingMessage {
        role: OutgoingRole::User,
        text: (*text).into(),
        calls: Vec::new(),
        provider_data: None,
    };
    TurnRequest {
        part: String::new(),
        turns_before: 0,
        turn,
        attempt,
        turns_left_out: 0,
        system: "orders".to_owned(),
        messages: said.iter().map(message).map(Arc::new).collect(),
        tools: [].into(),
        may_call: true,
        output_max: None,
    }
}

fn own() -> SecretSet {
    [OWN].into_iter().collect()
}

fn recorder(path: &Path, existing: Existing) -> Result<Recorder, OpenError> {
    Recording::open(&Echo, path, existing, own()).map(|recording| recording.of(Arc::new(Echo)))
}

/// Takes a turn: what was shown, with what is of one kind joined, and what came of it.
async fn take(agent: &dyn Agent, request: &TurnRequest) -> (String, Result<Reply, AgentFailure>) {
    let shown = Mutex::new(String::new());
    let show = |delta: Delta| match delta {
        Delta::Text(text) | Delta::Thinking(text) => shown.lock().unwrap().push_str(&text),
    };
    let result = agent.turn(request, &show, CancellationToken::new()).await;
    (shown.into_inner().unwrap(), result)
}

/// The turns of a run, the second of which fails at first.
fn turns() -> [TurnRequest; 4] {
    [
        request(1, 1, &["one"]),
        request(2, 1, &["one", "fail"]),
        request(2, 2, &["one", "two"]),
        request(3, 1, &["one", "two", "größe-🦀"]),
    ]
}

async fn recorded(folder: &Path) -> std::path::PathBuf {
    let path = folder.join("run.jsonl");
    let recording = Recording::open(&Echo, &path, Existing::Refuse, own()).unwrap();
    let recorder = recording.of(Arc::new(Echo));
    for request in turns() {
        take(&recorder, &request).await.1.ok();
    }
    assert_eq!(recording.fault(), None);
    path
}

#[tokio::test]
async fn what_is_played_is_what_was_recorded() {
    let folder = tempfile::tempdir().unwrap();
    let path = recorded(folder.path()).await;
    let player = RecordedAgent::read(&path, own()).unwrap();
    assert_eq!((player.id(), player.model()), ("recorded", "echo-1"));
    for request in turns() {
        let (shown, result) = take(&Echo, &request).await;
        let expected =
            result.map_err(|failure| AgentFailure { message: own().mask(&failure.message).into_owned(), ..failure });
        assert_eq!(take(&player, &request).await, (shown, expected), "turn {}", request.turn);
    }
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
}

#[tokio::test]
async fn each_message_is_written_once() {
    let folder = tempfile::tempdir().unwrap();
    let text = fs::read_to_string(recorded(folder.path()).await).unwrap();
    for said in ["orders", r#""text":"one"}],"shown"#] {
        assert_eq!(text.matches(said).count(), 1, "{text}");
    }
    let version = env!("CARGO_PKG_VERSION");
    let head = format!(r#"{{"recording":1,"adjutant":"{version}","adapter":"echo","model":"echo-1"}}"#);
    assert_eq!(text.lines().next(), Some(head.as_str()));
}

#[tokio::test]
async fn secrets_are_masked_wherever_they_are_and_a_call_with_one_is_marked() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.jsonl");
    let recorder = recorder(&path, Existing::Refuse).unwrap();
    let request = TurnRequest { system: format!("orders {OWN}"), ..request(1, 1, &[OWN]) };
    take(&recorder, &request).await.1.unwrap();
    let failing = TurnRequest { turn: 2, ..self::request(2, 1, &["fail"]) };
    take(&recorder, &failing).await.1.unwrap_err();
    let text = fs::read_to_string(&path).unwrap();
    assert!(!text.contains(OWN), "{text}");
    // It is found by whoever has the secret, and not made from what is left of it.
    let reply = take(&RecordedAgent::read(&path, own()).unwrap(), &request).await.1.unwrap();
    assert!(reply.calls[0].masked);
}

#[tokio::test]
async fn a_cancelled_turn_is_not_recorded() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.jsonl");
    take(&recorder(&path, Existing::Refuse).unwrap(), &request(1, 1, &["cancel"])).await.1.unwrap_err();
    assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), 1);
}

#[tokio::test]
async fn a_turn_is_found_whatever_attempts_a_kill_cost() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.jsonl");
    take(&recorder(&path, Existing::Refuse).unwrap(), &request(1, 2, &["one"])).await.1.unwrap();
    let player = RecordedAgent::read(&path, own()).unwrap();
    for attempt in 1..=3 {
        assert_eq!(take(&player, &request(1, attempt, &["one"])).await.1.unwrap().text, "one", "attempt {attempt}");
    }
}

#[tokio::test]
async fn a_run_that_parts_from_the_recording_is_told_where() {
    let folder = tempfile::tempdir().unwrap();
    let path = recorded(folder.path()).await;
    let player = RecordedAgent::read(&path, own()).unwrap();
    let other_orders = TurnRequest { system: "other".to_owned(), ..request(1, 1, &["one"]) };
    for (request, said) in [
        (request(4, 1, &["one"]), "has no turn 4; its last is turn 3"),
        (other_orders, "message 0 is `…stem\",\"text\":\"orders\"}` on record and `…stem"),
        (
            request(3, 1, &["one", "2", "größe-🦀"]),
            "in turn 3 message 2 is `…\"user\",\"text\":\"two\"}` on record and ",
        ),
        (
            request(3, 1, &["one", "two"]),
            "it has a message 3 that this run has not: `{\"role\":\"user\",\"text\":\"grö",
        ),
        (request(1, 1, &["one", "two"]), "this run has a message 2 that it has not: "),
    ] {
        let failure = take(&player, &request).await.1.unwrap_err();
        assert_eq!(failure.kind, FailureKind::Permanent);
        assert!(failure.message.contains(said), "{said}: {failure}");
    }
}

#[tokio::test]
async fn a_recording_goes_on_behind_what_was_written_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = recorded(folder.path()).await;
    let whole = fs::read_to_string(&path).unwrap();
    fs::write(&path, format!("{whole}{{\"turn\":4,\"att")).unwrap();
    // Whoever plays it meanwhile doesn't see the torn line either.
    assert!(RecordedAgent::read(&path, own()).is_ok());
    let recorder = recorder(&path, Existing::Append).unwrap();
    take(&recorder, &request(4, 2, &["four"])).await.1.unwrap();
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.starts_with(&whole) && text.lines().count() == whole.lines().count() + 1, "{text}");
    let player = RecordedAgent::read(&path, own()).unwrap();
    assert_eq!(take(&player, &request(4, 1, &["four"])).await.1.unwrap().text, "four");
}

#[test]
fn nothing_is_overwritten_and_nothing_else_is_taken_for_a_recording() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notes.txt");
    fs::write(&path, "my notes\n").unwrap();
    assert!(matches!(recorder(&path, Existing::Refuse), Err(OpenError::Exists(_))));
    assert!(matches!(recorder(&path, Existing::Append), Err(OpenError::Other { source: ReadError::NoRecording, .. })));
    assert_eq!(fs::read_to_string(&path).unwrap(), "my notes\n");
    let nowhere = folder.path().join("no/such/folder");
    assert!(matches!(recorder(&nowhere, Existing::Append), Err(OpenError::Unwritable { .. })));
}

#[test]
fn a_file_that_is_no_recording_is_refused_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.jsonl");
    let head = r#"{"recording":1,"adjutant":"0.1.0","adapter":"echo","model":"m"}"#;
    let line = r#"{"turn":1,"attempt":1,"hash":"x","same":1,"messages":[],"reply":{"text":"a","stop":"end_turn"}}"#;
    for (text, said) in [
        (String::new(), "this is no recording"),
        ("turns:\n".to_owned(), "this is no recording"),
        (head.replace(":1,", ":2,") + "\n", "has the format 2; this version reads 1"),
        (format!("{head}\n{{}}\n"), "line 2 of the recording can't be read: missing field `turn`"),
        (format!("{head}\n{line}\n"), "line 2 of the recording can't be read: it begins with 1 messages"),
    ] {
        fs::write(&path, &text).unwrap();
        let Err(error) = RecordedAgent::read(&path, own()) else { panic!("read: {text}") };
        assert!(error.to_string().contains(said), "{error}");
    }
    let missing = RecordedAgent::read(&folder.path().join("missing"), own());
    assert!(matches!(missing, Err(ReadError::Unreadable(_))));
}
