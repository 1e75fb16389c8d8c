//! Tests the content of the pages: everything that the journals say, as text.

use std::fs;

use adjutant_core::inbox::mailbox::{Answer, First};
use adjutant_core::trace::{Body, CallEvent, GateEvent, HostEvent, PartEvent, RunEvent, TurnEvent};
use adjutant_core::words::tool::ToolCall;
use adjutant_core::words::{
    Choice, GateAnswer, Key, Layer, MessageKind, MessageRole, Outcome, Part, PhaseName, QuestionKind, Slot, Stop, What,
};
use adjutant_store::Mailbox;
use serde_json::json;

use crate::world::{HOSTILE, World, may_delete, warning};

/// Events that say [`HOSTILE`] wherever a run can say anything.
fn hostile() -> Vec<Body> {
    let call = ToolCall {
        call_id: HOSTILE.into(),
        name: HOSTILE.into(),
        args: json!({"content": HOSTILE, HOSTILE: HOSTILE}),
        malformed: None,
        masked: false,
        resolved: Vec::new(),
    };
    let turn = Slot::first(What::Turn, 1);
    let slot = Slot::first(What::Call, 1);
    vec![
        Body::Part(PartEvent::PhaseEnter { phase: PhaseName::Execute, reason: Some(HOSTILE.into()) }),
        Body::Turn(TurnEvent::Message {
            role: MessageRole::User,
            kind: MessageKind::Steer,
            phase: PhaseName::Execute,
            step: 1,
            text: HOSTILE.into(),
        }),
        Body::Turn(TurnEvent::AgentReply {
            slot: turn,
            text: HOSTILE.into(),
            thinking: String::new(),
            provider_data: None,
            calls: vec![call],
            usage: None,
            stop: Stop::ToolUse,
            duration_ms: 1,
        }),
        Body::Turn(TurnEvent::DetectorFired {
            detector: HOSTILE.into(),
            payload: json!({ HOSTILE: HOSTILE }),
            turn: Some(1),
        }),
        Body::Gate(GateEvent::AuthCheckFired {
            layer: Layer::Default,
            tool: HOSTILE.into(),
            decision: "deny".into(),
            reason: HOSTILE.into(),
            answer: Some(GateAnswer::Refuse),
            call: Some(1),
            missing: vec![HOSTILE.into()],
            would_allow: Some(HOSTILE.into()),
            untrusted: false,
            after_untrusted: vec![HOSTILE.into()],
        }),
        Body::Call(CallEvent::ToolCall {
            slot,
            call_id: HOSTILE.into(),
            name: HOSTILE.into(),
            args: json!({"path": HOSTILE, "content": format!("{HOSTILE}\n")}),
            auth_decision: "allow".into(),
            changes: vec![adjutant_core::words::tool::FileChange {
                path: HOSTILE.into(),
                before: None,
                after: Some("0".into()),
            }],
            network: false,
            workspace: None,
        }),
        Body::Call(CallEvent::ToolResult {
            slot,
            call_id: HOSTILE.into(),
            success: false,
            duration_ms: 1,
            bytes: 1,
            content: Some(HOSTILE.into()),
            artifact: None,
            code: Some(HOSTILE.into()),
            exit_code: None,
            settled: false,
            seen: None,
        }),
        warning(HOSTILE),
        Body::Host(HostEvent::Error { error: HOSTILE.into(), phase: PhaseName::Execute }),
        may_delete(1, HOSTILE),
        may_delete(2, &format!("{HOSTILE}\nsecond line")),
    ]
}

#[tokio::test]
async fn what_is_hostile_is_text_on_every_page() {
    let world = World::open().await;
    drop(world.run("2026-01-01-A", HOSTILE, HOSTILE, hostile()));
    drop(world.run("2026-01-01-B", "orchard", HOSTILE, hostile()));
    let folder = world.home.project(&"orchard".parse().expect("a slug"));
    fs::create_dir_all(&folder).expect("a folder");
    for (file, entry) in [
        ("decisions", json!({"category": "decisions", "summary": HOSTILE, "rationale": HOSTILE})),
        ("knowledge", json!({"category": "knowledge", "content": HOSTILE})),
    ] {
        let mut line = entry;
        line["id"] = "mem-1".into();
        line["at"] = "2026-01-02T03:04:05.678Z".into();
        line["brief_id"] = HOSTILE.into();
        fs::write(folder.join(format!("{file}.jsonl")), format!("{line}\n{HOSTILE}\n")).expect("written");
    }
    fs::create_dir_all(world.home.projects().join("<script>")).expect("a folder");
    fs::write(world.home.sessions().join("<script>alert(3)<script>.trace.ndjson"), HOSTILE).expect("written");
    let session = json!({
        "schema_version": 3,
        "meta": {
            "brief_id": HOSTILE, "project": HOSTILE, "phase": HOSTILE, "mode": HOSTILE, "started_at": HOSTILE,
            "destructive_approvals": [{"at": HOSTILE, "action": HOSTILE, "approved": true}],
        },
        "messages": [{"role": "assistant", "timestamp": HOSTILE, "phase": HOSTILE, "content": HOSTILE}],
    });
    fs::write(world.home.sessions().join("PEER.json"), session.to_string()).expect("written");
    let traced =
        json!({"type": "tool_call", "call_id": HOSTILE, "name": HOSTILE, "args": {}, "auth_decision": HOSTILE});
    fs::write(world.home.sessions().join("PEER.trace.ndjson"), format!("{traced}\n{HOSTILE}\n")).expect("written");
    let query = "%3C%2Fscript%3E%22%3E%3Cscript%3Ealert(4)%3C%2Fscript%3E";
    let pages = [
        "/runs".to_owned(),
        format!("/runs?q={query}&project={query}&status={query}&page=2"),
        "/runs/2026-01-01-A?details=1".to_owned(),
        "/inbox".to_owned(),
        format!("/inbox?kind={query}&category={query}"),
        format!("/inbox/batch?kind=destructive&category={query}"),
        "/inbox/batch?kind=destructive".to_owned(),
        "/memory".to_owned(),
        "/memory/orchard?superseded=1".to_owned(),
        format!("/memory/orchard?q={query}&category={query}"),
        "/history".to_owned(),
        "/history/orchard".to_owned(),
        format!("/history/{query}"),
        "/profile".to_owned(),
        "/profile/orchard".to_owned(),
        format!("/profile/{query}"),
        format!("/{query}"),
        "/runs/PEER".to_owned(),
        "/runs/%3Cscript%3Ealert(3)%3Cscript%3E".to_owned(),
    ];
    for page in &pages {
        let got = world.get(page).await;
        let text = got.text;
        let scripts = text.matches("<script").count();
        let ours = text.matches(&format!("<script src=\"{}/script.js\" defer></script>", world.base)).count();
        assert_eq!(scripts, ours, "{page}");
        assert!(!text.contains("<img") && !text.contains("onerror=alert(2)>"), "{page}");
        let unfit = |c: char| (c.is_control() && !matches!(c, '\n' | '\t')) || c == '\u{202e}';
        assert!(!text.contains(unfit), "{page}");
        assert_eq!(text.matches("</pre>").count(), text.matches("<pre").count(), "{page}");
        assert!(!text.contains(" on\u{0}"), "{page}");
    }
    // It is there to be read, as often as the run says it.
    let run = world.get(&pages[2]).await.text;
    let spelled = "&#60;/pre&#62;&#60;script&#62;alert(1)";
    assert!(run.matches(spelled).count() > 25, "{}", run.matches(spelled).count());
    assert!(run.contains("\\u{202e}\\u{1b}[2J"), "control characters are spelled out");
    for page in [&pages[0], &pages[3], &pages[6], &pages[8], &pages[17]] {
        assert!(world.get(page).await.text.contains(spelled), "{page}");
    }
}

#[tokio::test]
async fn runs_are_found_by_name_project_and_status_a_page_at_a_time() {
    let world = World::open().await;
    for number in 0..120 {
        let end =
            Body::Run(RunEvent::RunEnd { outcome: if number % 2 == 0 { Outcome::Completed } else { Outcome::Failed } });
        let project = if number < 60 { "orchard" } else { "harbour" };
        drop(world.run(&format!("2026-01-01-N{number:03}"), project, "b", vec![end]));
    }
    let driven = world.run("2026-02-02-LIVE", "harbour", "b", vec![may_delete(1, "May it?")]);
    let names = |text: &str| -> Vec<String> {
        text.split("class=\"step\"")
            .skip(1)
            .filter_map(|rest| Some(rest.split(['>', '<']).nth(1)?.to_owned()))
            .collect()
    };
    let first = world.get("/runs").await.text;
    assert_eq!(names(&first).len(), 50);
    assert_eq!(names(&first)[..2], ["2026-02-02-LIVE", "2026-01-01-N119"]);
    assert!(first.contains("1–50 of 121") && first.contains("1 waits") && first.contains("rel=\"next\""), "{first}");
    let last = world.get("/runs?page=3").await.text;
    assert_eq!(names(&last).len(), 21);
    assert!(!last.contains("rel=\"next\"") && last.contains("rel=\"prev\""));
    // Beyond the last is the last.
    assert_eq!(names(&world.get("/runs?page=99").await.text), names(&last));
    for (query, count) in [
        ("q=n11", 10),
        ("q=ORCH", 50),
        ("project=orchard&status=failed", 30),
        // It waits, whether or not a process drives it.
        ("status=running", 0),
        ("status=waits", 1),
        ("q=nothing", 0),
    ] {
        assert_eq!(names(&world.get(&format!("/runs?{query}")).await.text).len(), count, "{query}");
    }
    drop(driven);
    assert_eq!(names(&world.get("/runs?status=waits").await.text), ["2026-02-02-LIVE"]);
}

#[tokio::test]
async fn a_long_journal_is_shown_a_window_at_a_time() {
    let world = World::open().await;
    let more = (0..1_000).map(|number| warning(&format!("w{number}"))).collect();
    drop(world.run("2026-01-01-A", "orchard", "b", more));
    let places = |text: &str| -> Vec<u64> {
        text.split("data-seq=\"").skip(1).filter_map(|rest| rest.split('"').next()?.parse().ok()).collect()
    };
    let last = world.get("/runs/2026-01-01-A").await.text;
    assert_eq!(places(&last), (802..1_002).collect::<Vec<u64>>());
    assert!(last.contains("data-after=\"1001\"") && last.contains("?before=802"));
    let before = world.get("/runs/2026-01-01-A?before=802").await.text;
    assert_eq!(places(&before), (602..802).collect::<Vec<u64>>());
    assert!(before.contains("?after=801") && !before.contains("data-follow"), "the past is not followed");
    let first = world.get("/runs/2026-01-01-A?before=50").await.text;
    assert_eq!(places(&first), (0..50).collect::<Vec<u64>>());
    let after = world.get("/runs/2026-01-01-A?after=900").await.text;
    assert_eq!(places(&after), (901..1_002).collect::<Vec<u64>>());
}

#[tokio::test]
async fn what_was_answered_is_said_and_can_not_be_answered_again() {
    let world = World::open().await;
    drop(world.run("2026-01-01-A", "orchard", "b", vec![may_delete(1, "May it?"), may_delete(2, "And this?")]));
    let answer = Answer {
        key: Key { part: Part::root(), slot: Slot::first(What::Ask, 1) },
        kind: QuestionKind::Destructive,
        choice: Choice::Deny,
        text: Some("keep it".into()),
        by: "operator".into(),
        whence: "terminal".into(),
        at: "2026-01-02T03:04:05.678Z".parse().expect("a time"),
        id: "1".into(),
    };
    let mailbox = Mailbox::of(&world.home, &"2026-01-01-A".parse().expect("a name"));
    drop(mailbox.claim(&First::Answer(answer)).expect("claimed"));
    for page in ["/inbox", "/runs/2026-01-01-A"] {
        let text = world.get(page).await.text;
        assert!(text.contains("`n: keep it` by operator, terminal"), "{text}");
        assert_eq!(text.matches("<form class=\"answer\"").count(), 1, "{page}");
    }
    assert!(!world.get("/inbox").await.text.contains("Several at once"), "one alone is no group");
}

#[tokio::test]
async fn a_session_of_the_peer_is_shown_and_nothing_can_be_said_to_it() {
    let world = World::open().await;
    drop(world.run("2026-01-01-OURS", "orchard", "b", vec![]));
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/vectors/openwar/inspect/input-inspect/sessions");
    for file in fs::read_dir(folder).expect("vectors") {
        let file = file.expect("an entry");
        fs::copy(file.path(), world.home.sessions().join(file.file_name())).expect("copied");
    }
    let list = world.get("/runs").await.text;
    assert!(list.contains(&format!("href=\"{}/runs/2024-04-05-ALL\"", world.base)), "{list}");

    let page = world.get("/runs/2024-04-05-ALL").await;
    assert_eq!(page.status, 200);
    for shown in ["another program&#39;s", "<dd>orchard</dd>", "<dd>done</dd>", "What was said", "What happened"] {
        assert!(page.text.contains(shown), "{shown}: {}", page.text);
    }
    assert!(page.text.contains("class=\"moment"), "its trace is there");
    for acts in ["<form", "data-follow", "id=\"stop\""] {
        assert!(!page.text.contains(acts), "{acts}");
    }
    let page = world.get("/runs/2025-04-06-NOTRACE").await.text;
    assert!(page.contains("No trace was recorded"), "{page}");
    for nobody in ["/runs/2024", "/runs/..%2Fsessions%2F2024-04-05-ALL"] {
        assert_eq!(world.get(nobody).await.status, 404, "{nobody}");
    }
}

#[tokio::test]
async fn a_journal_that_was_changed_is_shown_with_a_warning() {
    let world = World::open().await;
    drop(world.run("2026-05-01-RUN", "orchard", "b", vec![warning("as it was"), may_delete(1, "May it?")]));
    for page in ["/runs/2026-05-01-RUN", "/inbox"] {
        assert!(!world.get(page).await.text.contains("changed after it was written"), "{page}");
    }
    let path = world.home.journal(&"2026-05-01-RUN".parse().expect("a name"));
    let written = fs::read_to_string(&path).expect("read");
    fs::write(&path, written.replace("as it was", "otherwise")).expect("written");
    for page in ["/runs/2026-05-01-RUN", "/inbox"] {
        assert!(world.get(page).await.text.contains("changed after it was written"), "{page}");
    }
}

#[tokio::test]
async fn what_an_address_says_wrongly_is_as_good_as_not_said() {
    let world = World::open().await;
    drop(world.run("2026-05-01-RUN", "orchard", "b", vec![warning("a moment")]));
    for page in ["/runs/2026-05-01-RUN?before=abc", "/runs/2026-05-01-RUN?after=-1", "/runs?page=x"] {
        assert_eq!(world.get(page).await.status, 200, "{page}");
    }
    assert_eq!(world.get("/runs/").await.status, 303);
    let missing = world.get("/runs/nope").await;
    assert_eq!(missing.status, 404);
    assert!(missing.text.contains(&format!("href=\"{}/runs\"", world.base)), "{}", missing.text);
}
