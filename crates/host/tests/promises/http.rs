//! Every hop is checked, and everything ends at the deadline. The servers are a few lines on the loopback
//! network, which has to be allowed for them.

use std::collections::BTreeMap;
use std::time::Duration;

use adjutant_host::http::{BodyKind, FetchError, Hosts, HttpClient, Request, Response};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

pub fn request(url: &str) -> Request {
    Request {
        url: url.to_owned(),
        method: "GET".to_owned(),
        headers: BTreeMap::new(),
        body: None,
        timeout: Duration::from_secs(60),
        bytes_max: 1000,
        body_kind: BodyKind::Any,
    }
}

pub async fn fetch(hosts: Hosts, request: &Request) -> Result<Response, FetchError> {
    HttpClient::new(hosts).unwrap().fetch(request, &CancellationToken::new()).await
}

/// Answers each connection with the next of `answers`, and hands back what was asked.
pub async fn server(answers: Vec<String>) -> (u16, tokio::task::JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let serving = tokio::spawn(async move {
        let mut asked = Vec::new();
        for answer in answers {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut buffer = vec![0; 10_000];
            let read = stream.read(&mut buffer).await.unwrap();
            asked.push(String::from_utf8_lossy(&buffer[..read]).into_owned());
            stream.write_all(answer.as_bytes()).await.unwrap();
        }
        asked
    });
    (port, serving)
}

pub fn loopback() -> Hosts {
    Hosts::of(["private:127.0.0.1", "private:localhost"])
}

pub fn answer(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\nx-a: 1\r\nx-a: 2\r\n\r\n{body}", body.len())
}

pub fn moved(to: &str) -> String {
    format!("HTTP/1.1 302 Found\r\nlocation: {to}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
}

#[tokio::test]
async fn an_answer_has_status_headers_and_a_bounded_body() {
    let (port, _) = server(vec![answer("hello"), answer(&"x".repeat(5000))]).await;
    let response = fetch(loopback(), &request(&format!("http://localhost:{port}/"))).await.unwrap();
    assert_eq!((response.status, response.body.as_slice(), response.truncated), (200, &b"hello"[..], false));
    assert_eq!(response.headers.get("x-a").map(String::as_str), Some("1, 2"));
    let response = fetch(loopback(), &request(&format!("http://127.0.0.1:{port}/"))).await.unwrap();
    assert_eq!((response.body.len(), response.truncated), (1000, true));
}

#[tokio::test]
async fn what_must_not_be_reached_is_refused_before_it_is_asked() {
    let cases = [
        (Hosts::Any, "not a url", "INVALID_URL"),
        (Hosts::Any, "file:///etc/passwd", "INVALID_URL"),
        (Hosts::Any, "ftp://a.dev/", "BAD_SCHEME"),
        (Hosts::Any, "http://a.dev/", "BAD_SCHEME"),
        (Hosts::of(["*.dev"]), "http://a.dev/", "BAD_SCHEME"),
        (Hosts::of(["b.dev"]), "https://a.dev/", "HOST_NOT_ALLOWED"),
        (Hosts::parse(Some("{")), "https://a.dev/", "HOST_NOT_ALLOWED"),
        (Hosts::Any, "https://127.0.0.1/", "HOST_NOT_ALLOWED"),
        (Hosts::Any, "https://2130706433/", "HOST_NOT_ALLOWED"),
        (Hosts::Any, "https://0x7f.1/", "HOST_NOT_ALLOWED"),
        (Hosts::Any, "https://[::1]/", "HOST_NOT_ALLOWED"),
        (Hosts::Any, "https://[::ffff:169.254.169.254]/", "HOST_NOT_ALLOWED"),
        (Hosts::Any, "https://user:pw@169.254.169.254/latest", "INVALID_URL"),
        (Hosts::Any, "https://localhost/", "HOST_NOT_ALLOWED"),
        (Hosts::of(["localhost"]), "http://localhost/", "BAD_SCHEME"),
        (Hosts::of(["http://localhost"]), "http://localhost/", "HOST_NOT_ALLOWED"),
    ];
    for (hosts, url, code) in cases {
        let error = fetch(hosts, &request(url)).await.unwrap_err();
        assert_eq!(error.code(), code, "{url}: {error}");
    }
}

#[tokio::test]
async fn every_redirect_is_checked_again() {
    for (to, code) in [
        ("https://10.0.0.1/", "HOST_NOT_ALLOWED"),
        ("file:///etc/passwd", "INVALID_URL"),
        ("https://a.dev/", "HOST_NOT_ALLOWED"),
    ] {
        let (port, _) = server(vec![moved(to)]).await;
        let error = fetch(loopback(), &request(&format!("http://127.0.0.1:{port}/"))).await.unwrap_err();
        assert_eq!(error.code(), code, "{to}: {error}");
    }
}

#[tokio::test]
async fn redirects_end_after_five() {
    let (port, serving) =
        server(vec![moved("/1"), moved("/2"), moved("/3"), moved("/4"), moved("/5"), answer("there")]).await;
    assert_eq!(fetch(loopback(), &request(&format!("http://127.0.0.1:{port}/"))).await.unwrap().body, b"there");
    assert!(serving.await.unwrap()[5].starts_with("GET /5 "));
    let (port, _) = server((0..6).map(|hop| moved(&format!("/{hop}"))).collect()).await;
    let error = fetch(loopback(), &request(&format!("http://127.0.0.1:{port}/"))).await.unwrap_err();
    assert_eq!(error.to_string(), "more than 5 redirects");
}

#[tokio::test]
async fn a_redirect_elsewhere_carries_no_secrets_and_no_body() {
    let (there, arrived) = server(vec![answer("")]).await;
    let (here, _) = server(vec![moved(&format!("http://127.0.0.1:{there}/x"))]).await;
    let mut asked = request(&format!("http://127.0.0.1:{here}/"));
    asked.method = "POST".to_owned();
    asked.body = Some("body".to_owned());
    asked.headers = [("Authorization", "secret"), ("X-Api-Key", "secret"), ("Accept", "text/plain")]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into();
    fetch(loopback(), &asked).await.unwrap();
    let arrived = arrived.await.unwrap().concat().to_lowercase();
    assert!(
        arrived.starts_with("get /x ")
            && arrived.contains("accept: text/plain")
            && !arrived.contains("secret")
            && !arrived.contains("body"),
        "{arrived}"
    );
}

#[tokio::test]
async fn the_deadline_covers_the_body() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let serving = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        assert!(stream.read(&mut [0; 10_000]).await.unwrap() > 0);
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nstart").await.unwrap();
        // The end comes from the other side, which gives up.
        let mut rest = Vec::new();
        stream.read_to_end(&mut rest).await.ok();
    };
    let mut asked = request(&format!("http://127.0.0.1:{port}/"));
    asked.timeout = Duration::from_millis(200);
    let (error, ()) = tokio::join!(async { fetch(loopback(), &asked).await.unwrap_err() }, serving);
    assert_eq!(error.code(), "TIMEOUT");
}

#[tokio::test]
async fn a_cancel_keeps_what_was_read() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let cancel = CancellationToken::new();
    let serving = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        assert!(stream.read(&mut [0; 10_000]).await.unwrap() > 0);
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n").await.unwrap();
        cancel.cancel();
    };
    let client = HttpClient::new(loopback()).unwrap();
    let asked = request(&format!("http://127.0.0.1:{port}/"));
    let (ended, ()) = tokio::join!(client.fetch(&asked, &cancel), serving);
    assert!(matches!(ended, Err(FetchError::Cancelled { .. })), "{ended:?}");
}

#[tokio::test]
async fn a_webhook_is_signed_and_tried_again_only_where_that_may_help() {
    use adjutant_host::webhook::{Post, post, signature};

    let status = |line: &str| format!("HTTP/1.1 {line}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
    let waits = [Duration::ZERO, Duration::ZERO];
    let client = HttpClient::new(loopback()).unwrap();
    let (port, asked) = server(vec![status("503 Busy"), status("429 Slow"), status("204 Done")]).await;
    let url = format!("http://127.0.0.1:{port}/hook");
    let it = Post { url: &url, id: "n-1", body: r#"{"a":1}"#, secret: Some("s") };
    post(&client, &it, &waits, || 1_700_000_000).await.unwrap();
    let asked = asked.await.unwrap();
    let expected = signature("s", 1_700_000_000, r#"{"a":1}"#).unwrap();
    for asked in &asked {
        assert!(asked.contains(&format!("x-adjutant-signature: {expected}\r\n")), "{asked}");
        assert!(asked.contains("x-adjutant-timestamp: 1700000000\r\n") && asked.contains("x-adjutant-id: n-1\r\n"));
        assert!(asked.ends_with(r#"{"a":1}"#), "{asked}");
    }

    let (port, asked) = server(vec![status("403 No")]).await;
    let url = format!("http://127.0.0.1:{port}/secret-path");
    let refused = post(&client, &Post { url: &url, secret: None, ..it.clone() }, &waits, || 0).await.unwrap_err();
    assert_eq!(refused, "it answers with status 403");
    assert!(!asked.await.unwrap()[0].contains("x-adjutant-signature"));
    let guarded = HttpClient::new(Hosts::Any).unwrap();
    let refused = post(&guarded, &Post { url: &url, ..it }, &waits, || 0).await.unwrap_err();
    assert!(refused.contains("only https") && !refused.contains("secret-path"), "{refused}");
}
