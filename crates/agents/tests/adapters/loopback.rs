//! Servers on loopback for the tests of the adapters: what they answer is written by the test, byte by byte.

use std::sync::Arc;

use std::sync::Mutex;

use adjutant_agents::ApiAgent;
use adjutant_ports::{
    Agent, AgentFailure, CancellationToken, Delta, FailureKind, OutgoingMessage, OutgoingRole, Reply, TurnRequest,
};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// A head that announces a stream up to the end of the connection, and one that announces more than comes.
pub const HEADS: [&str; 2] = [
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n",
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 1000000\r\n\r\n",
];

/// An answer that is no stream.
pub fn answer(status: &str, headers: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\n{headers}content-length: {}\r\nconnection: close\r\n\r\n{body}", body.len())
}

/// Reads one request: its head in lower case, and its body as JSON.
pub async fn request(stream: &mut TcpStream) -> (String, Value) {
    let mut read = Vec::new();
    loop {
        assert_ne!(stream.read_buf(&mut read).await.unwrap(), 0, "the request broke off");
        let Some(end) = read.windows(4).position(|bytes| bytes == b"\r\n\r\n") else { continue };
        let head = String::from_utf8(read[..end].to_vec()).unwrap().to_ascii_lowercase();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
        let body = &read[end + 4..];
        if body.len() == length.parse::<usize>().unwrap() {
            return (head, serde_json::from_slice(body).unwrap());
        }
    }
}

/// A port of one's own, and the URL that it is reached by.
pub async fn bind() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    (listener, url)
}

/// A server that gives one answer to each connection, in order; ends with the requests that it got.
pub async fn serve(answers: Vec<String>) -> (String, JoinHandle<Vec<(String, Value)>>) {
    let (listener, url) = bind().await;
    let serving = tokio::spawn(async move {
        let mut requests = Vec::new();
        for answer in answers {
            let (mut stream, _) = listener.accept().await.unwrap();
            requests.push(request(&mut stream).await);
            stream.write_all(answer.as_bytes()).await.unwrap();
        }
        requests
    });
    (url, serving)
}

/// A server that sends this much and then nothing; says when the client has gone.
pub async fn stall(sent: String) -> (String, mpsc::Receiver<()>) {
    let (listener, url) = bind().await;
    let (gone, is_gone) = mpsc::channel(1);
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        request(&mut stream).await;
        stream.write_all(sent.as_bytes()).await.unwrap();
        let mut rest = Vec::new();
        // A connection that is reset has ended, too.
        stream.read_to_end(&mut rest).await.ok();
        gone.send(()).await.unwrap();
    });
    (url, is_gone)
}

/// The first turn of a run.
pub fn turn() -> TurnRequest {
    let brief =
        OutgoingMessage { role: OutgoingRole::User, text: "the brief".into(), calls: Vec::new(), provider_data: None };
    TurnRequest {
        part: String::new(),
        turns_before: 0,
        turn: 1,
        attempt: 1,
        turns_left_out: 0,
        system: "orders".to_owned(),
        messages: vec![Arc::new(brief)],
        tools: [].into(),
        may_call: true,
        output_max: None,
    }
}

/// Takes a turn: what text was shown, and what came of it. No failure ever holds `key`.
pub async fn take(agent: &ApiAgent, key: &str) -> (String, Result<Reply, AgentFailure>) {
    let shown = Mutex::new(String::new());
    let show = |delta: Delta| match delta {
        Delta::Text(text) => shown.lock().unwrap().push_str(&text),
        Delta::Thinking(_) => {}
    };
    let reply = agent.turn(&turn(), &show, CancellationToken::new()).await;
    if let Err(failure) = &reply {
        assert!(!failure.message.contains(key), "{failure}");
    }
    (shown.into_inner().unwrap(), reply)
}

#[track_caller]
pub fn check_failure(reply: Result<Reply, AgentFailure>, kind: FailureKind, said: &str) {
    let failure = reply.unwrap_err();
    assert_eq!(failure.kind, kind, "{failure}");
    assert!(failure.message.contains(said), "{failure}");
}
