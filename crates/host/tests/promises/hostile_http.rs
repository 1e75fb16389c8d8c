//! The tricks by which a hostile page, name server or agent makes a request go where it must not, or bring unreadable
//! bytes. Addresses are refused without a packet; tests that need a server have one on the loopback network.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use adjutant_host::http::{BodyKind, FetchError, HostLookup, Hosts, HttpClient, Proxies, Response};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::http::{answer, fetch, loopback, moved, request, server};

const INVALID: &str = "INVALID_URL";
const SCHEME: &str = "BAD_SCHEME";
const HOST: &str = "HOST_NOT_ALLOWED";

/// Addresses that reach the own machine or network, or hide where they go, with how each is refused. No name in
/// them is ever looked up.
const HOSTILE: &[(&str, &str)] = &[
    // Schemes.
    ("file:///etc/passwd", INVALID),
    ("file://localhost/etc/passwd", INVALID),
    ("gopher://example.org:25/_HELO", SCHEME),
    ("ftp://example.org/", SCHEME),
    ("ws://example.org/", SCHEME),
    ("data:text/plain,hi", INVALID),
    ("javascript:alert(1)", INVALID),
    ("jar:https://example.org!/a", INVALID),
    ("unix:///var/run/docker.sock", INVALID),
    ("http://example.org/", SCHEME),
    ("HTTP://EXAMPLE.ORG/", SCHEME),
    ("//example.org/", INVALID),
    ("example.org", INVALID),
    ("https://", INVALID),
    ("https:///", INVALID),
    ("", INVALID),
    // Loopback, in every spelling.
    ("https://127.0.0.1/", HOST),
    ("https://127.1/", HOST),
    ("https://127.0.1/", HOST),
    ("https://127.255.255.254/", HOST),
    ("https://2130706433/", HOST),
    ("https://017700000001/", HOST),
    ("https://0177.0.0.1/", HOST),
    ("https://0x7f000001/", HOST),
    ("https://0x7f.0x0.0x0.0x1/", HOST),
    ("https://0x7F.1/", HOST),
    ("https://0177.0x0.0.1/", HOST),
    ("https://127.0.0.1./", HOST),
    ("https://%31%32%37.0.0.1/", HOST),
    ("https://127%2e0%2e0%2e1/", HOST),
    ("https://\u{ff11}\u{ff12}\u{ff17}.\u{ff10}.\u{ff10}.\u{ff11}/", HOST),
    ("https://\u{2460}\u{2461}\u{2466}.\u{24ea}.\u{24ea}.\u{2460}/", HOST),
    ("https://127\u{3002}0\u{3002}0\u{3002}1/", HOST),
    ("https:127.0.0.1", HOST),
    ("https:\\\\127.0.0.1\\", HOST),
    (" \thttps://127.0.0.1/ ", HOST),
    ("ht\ntps://127.0.\t0.1/", HOST),
    ("https://0/", HOST),
    ("https://0.0.0.0/", HOST),
    ("https://[::1]/", HOST),
    ("https://[::]/", HOST),
    ("https://[0000:0:0:0:0:0:0:0001]/", HOST),
    ("https://[::ffff:127.0.0.1]/", HOST),
    ("https://[::ffff:7f00:1]/", HOST),
    ("https://[::127.0.0.1]/", HOST),
    ("https://[64:ff9b::127.0.0.1]/", HOST),
    ("https://[64:ff9b:1::1]/", HOST),
    ("https://[2002:7f00:1::]/", HOST),
    ("https://[2002:808:808::1]/", HOST),
    ("https://[2001:0:4136:e378:8000:63bf:3fff:fdd2]/", HOST),
    // Networks of one's own, and services of the machine's host.
    ("https://10.0.0.1/", HOST),
    ("https://10.1/", HOST),
    ("https://172.16.0.1/", HOST),
    ("https://172.31.255.255/", HOST),
    ("https://192.168.1.1/", HOST),
    ("https://3232235777/", HOST),
    ("https://169.254.169.254/latest/meta-data/", HOST),
    ("https://2852039166/", HOST),
    ("https://0xa9fea9fe/", HOST),
    ("https://0251.0376.0251.0376/", HOST),
    ("https://[::ffff:a9fe:a9fe]/", HOST),
    ("https://[fd00:ec2::254]/", HOST),
    ("https://[fe80::1]/", HOST),
    ("https://[fe80::1%25eth0]/", INVALID),
    ("https://100.64.0.1/", HOST),
    ("https://224.0.0.1/", HOST),
    ("https://255.255.255.255/", HOST),
    ("https://240.0.0.1/", HOST),
    ("https://198.18.0.1/", HOST),
    ("https://[ff02::1]/", HOST),
    // Numbers that are none.
    ("https://256.0.0.1/", INVALID),
    ("https://1.2.3.4.5/", INVALID),
    ("https://4294967296/", INVALID),
    ("https://0x7f.0.0.0x1ffffffff/", INVALID),
    // Who is the host?
    ("https://user@127.0.0.1/", INVALID),
    ("https://user:pw@example.org/", INVALID),
    ("https://example.org@10.0.0.1/", INVALID),
    ("https://example.org%40@10.0.0.1/", INVALID),
    ("https://example.org:443@10.0.0.1/", INVALID),
    ("https://example.org\\@10.0.0.1/", "listed"),
    ("https://10.0.0.1#@example.org/", HOST),
    ("https://10.0.0.1?@example.org/", HOST),
    ("https://10.0.0.1\\@example.org/", HOST),
    ("https://exa mple.org/", INVALID),
    ("https://example.org%00.evil.dev/", INVALID),
    ("https://example.org%0d%0ahost:evil/", INVALID),
    ("https://ex[ample.org/", INVALID),
    // Ports.
    ("https://example.org:25/", HOST),
    ("https://example.org:22/", HOST),
    ("https://example.org:0/", HOST),
    ("https://example.org:99999/", INVALID),
    ("https://example.org:-1/", INVALID),
];

/// A look-up that answers with the next of `answers`, the last one again and again; and how often it was asked.
fn lookup(answers: &[&[IpAddr]]) -> (HostLookup, Arc<AtomicUsize>) {
    let answers: Vec<Vec<IpAddr>> = answers.iter().map(|addresses| addresses.to_vec()).collect();
    let asked = Arc::new(AtomicUsize::new(0));
    let counting = asked.clone();
    let lookup: HostLookup = Arc::new(move |_| {
        let place = counting.fetch_add(1, Ordering::SeqCst).min(answers.len() - 1);
        let found = answers[place].clone();
        Box::pin(async move { Ok(found) })
    });
    (lookup, asked)
}

const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

fn client(hosts: Hosts, answers: &[&[IpAddr]]) -> (HttpClient, Arc<AtomicUsize>) {
    let (lookup, asked) = lookup(answers);
    (HttpClient::with_lookup(hosts, Proxies::default(), lookup).unwrap(), asked)
}

#[tokio::test]
async fn no_hostile_address_is_reached_or_even_looked_up() {
    assert!(HOSTILE.len() >= 60);
    // Nothing is on a list: every public host might be reached.
    let (client, asked) = client(Hosts::Any, &[&[LOOPBACK]]);
    let mut wrong = Vec::new();
    for (url, code) in HOSTILE.iter().filter(|(_, code)| *code != "listed") {
        let error = client.fetch(&request(url), &CancellationToken::new()).await.unwrap_err();
        let looked_up = asked.swap(0, Ordering::SeqCst);
        if error.code() != *code || looked_up > 0 {
            wrong.push(format!("{url:?}: {code} expected, looked up {looked_up} times, {} {error}", error.code()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn the_host_that_is_checked_is_the_one_that_is_asked() {
    // Readers disagree about these: what is checked here is what would be connected to.
    for url in ["https://example.org\\@10.0.0.1/", "https://example.org/@10.0.0.1/", "https://EXAMPLE.org./"] {
        let names = Arc::new(Mutex::new(Vec::new()));
        let kept = names.clone();
        let lookup: HostLookup = Arc::new(move |name| {
            kept.lock().unwrap().push(name);
            Box::pin(async { Ok(vec![LOOPBACK]) })
        });
        let client = HttpClient::with_lookup(Hosts::of(["example.org"]), Proxies::default(), lookup).unwrap();
        let error = client.fetch(&request(url), &CancellationToken::new()).await.unwrap_err();
        assert_eq!((error.code(), names.lock().unwrap().as_slice()), (HOST, &["example.org".to_owned()][..]), "{url}");
    }
}

#[tokio::test]
async fn a_list_is_no_way_around_the_address() {
    let hosts = || Hosts::of(["http://rebind.dev", "*.rebind.dev", "http://10.0.0.1"]);
    for url in ["http://rebind.dev/", "https://rebind.dev/", "https://a.rebind.dev/", "http://10.0.0.1/"] {
        for inside in ["127.0.0.1", "10.0.0.1", "169.254.169.254", "100.64.0.1", "::1", "fd00::1", "::ffff:127.0.0.1"] {
            let (client, _) = client(hosts(), &[&[inside.parse().unwrap()]]);
            let error = client.fetch(&request(url), &CancellationToken::new()).await.unwrap_err();
            assert!(matches!(error, FetchError::PrivateAddress { .. }), "{url} {inside}: {error}");
        }
    }
}

#[tokio::test]
async fn a_name_that_changes_its_address_is_judged_by_each_answer_it_gives() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let url = format!("http://rebind.dev:{port}/");
    // Mixed answers: what is inside is not tried, although something outside was named too.
    let unreachable: IpAddr = "203.0.113.7".parse().unwrap();
    let (client, asked) = client(Hosts::of(["http://rebind.dev"]), &[&[unreachable, LOOPBACK], &[LOOPBACK]]);
    for attempt in 1..=2 {
        let error = client.fetch(&request(&url), &CancellationToken::new()).await.unwrap_err();
        assert!(matches!(error, FetchError::PrivateAddress { .. }), "{error}");
        assert_eq!(asked.load(Ordering::SeqCst), attempt, "one look-up for a connection: none to check, then another");
    }
    tokio::select! {
        biased;
        came = listener.accept() => panic!("something connected: {came:?}"),
        () = std::future::ready(()) => {}
    }
}

#[tokio::test]
async fn the_address_that_was_looked_up_is_the_one_that_is_connected_to() {
    let (port, _) = server(vec![answer("here")]).await;
    let hosts = Hosts::of(["private:rebind.dev"]);
    let (client, asked) = client(hosts, &[&[LOOPBACK], &["192.0.2.1".parse().unwrap()]]);
    let url = format!("http://rebind.dev:{port}/");
    let response = client.fetch(&request(&url), &CancellationToken::new()).await.unwrap();
    assert_eq!((response.body.as_slice(), asked.load(Ordering::SeqCst)), (&b"here"[..], 1));
}

#[tokio::test]
async fn no_redirect_leads_inside() {
    for to in HOSTILE.iter().map(|(url, _)| *url).filter(|url| url.is_ascii() && !url.contains(['\n', '\t'])) {
        // What is no address on its own is a path on the server that redirects.
        if !to.trim().contains(':') || to.starts_with("//") || to.contains("example.org\\") {
            continue;
        }
        let (port, _) = server(vec![moved(to)]).await;
        let ended = fetch(loopback(), &request(&format!("http://127.0.0.1:{port}/"))).await;
        let error = ended.expect_err(to);
        let is_refused = ["INVALID_URL", "BAD_SCHEME", "HOST_NOT_ALLOWED"].contains(&error.code())
            || matches!(error, FetchError::Redirects(_))
            // The server's own address, which is on the list here; nobody listens at its port for https.
            || matches!(&error, FetchError::Failed { host, .. } if host == "127.0.0.1");
        assert!(is_refused, "{to}: {error}");
    }
}

#[tokio::test]
async fn a_redirect_can_go_from_https_to_http_only_where_the_list_says_so() {
    let (there, arrived) = server(vec![answer("")]).await;
    let (here, _) = server(vec![moved(&format!("http://localhost:{there}/"))]).await;
    let hosts = Hosts::of(["private:127.0.0.1", "localhost"]);
    let error = fetch(hosts, &request(&format!("http://127.0.0.1:{here}/"))).await.unwrap_err();
    assert_eq!(error.code(), SCHEME, "{error}");
    arrived.abort();
}

#[tokio::test]
async fn nobody_chooses_the_host_or_the_end_of_a_request_by_a_header() {
    for (name, value) in [
        ("Host", "internal.dev"),
        ("transfer-encoding", "chunked"),
        ("Content-Length", "0"),
        ("Connection", "upgrade"),
        ("Upgrade", "h2c"),
        ("Expect", "100-continue"),
        ("Proxy-Authorization", "x"),
        ("Accept-Encoding", "br"),
        ("a b", "x"),
        ("x", "a\r\nHost: internal.dev"),
    ] {
        let mut asked = request("https://example.org/");
        asked.headers = [(name.to_owned(), value.to_owned())].into();
        let (client, looked_up) = client(Hosts::Any, &[&[LOOPBACK]]);
        let error = client.fetch(&asked, &CancellationToken::new()).await.unwrap_err();
        assert_eq!((error.code(), looked_up.load(Ordering::SeqCst)), ("INVALID_ARGS", 0), "{name}: {error}");
    }
    for method in ["CONNECT", "TRACE", "GET /x HTTP/1.1\r\nHost: internal.dev\r\n\r\n", ""] {
        let mut asked = request("https://example.org/");
        asked.method = method.to_owned();
        let error = fetch(Hosts::Any, &asked).await.unwrap_err();
        assert_eq!(error.code(), "INVALID_ARGS", "{method:?}: {error}");
    }
}

/// Answers one connection with these bytes, which say themselves where they end.
async fn raw_server(bytes: Vec<u8>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut buffer = vec![0; 10_000];
        assert!(stream.read(&mut buffer).await.unwrap() > 0);
        // The other side may hang up in the middle, which is what some tests are about.
        stream.write_all(&bytes).await.ok();
    });
    port
}

async fn text(bytes: Vec<u8>, bytes_max: usize) -> Result<Response, FetchError> {
    let port = raw_server(bytes).await;
    let mut asked = request(&format!("http://127.0.0.1:{port}/"));
    asked.body_kind = BodyKind::Text;
    asked.bytes_max = bytes_max;
    asked.timeout = Duration::from_secs(60);
    fetch(loopback(), &asked).await
}

fn with_head(head: &str, body: &[u8]) -> Vec<u8> {
    let length = body.len();
    let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\nconnection: close\r\n{head}\r\n");
    [head.as_bytes(), body].concat()
}

#[tokio::test]
async fn only_text_is_read() {
    for (head, body) in [
        ("content-type: text/html; charset=utf-8\r\n", &b"<p>"[..]),
        ("content-type: application/problem+json\r\n", b"{}"),
        ("", b"plain"),
        ("content-encoding: identity\r\n", b"plain"),
    ] {
        let response = text(with_head(head, body), 1000).await.unwrap();
        assert_eq!(response.body, body, "{head}");
    }
    for (head, body, said) in [
        ("content-type: image/png\r\n", &b"\x89PNG"[..], "image/png"),
        ("content-type: application/octet-stream\r\n", b"text", "application/octet-stream"),
        ("content-type: text/plain\r\n", b"ELF\0\0", "zero byte"),
        ("", b"\0", "zero byte"),
        ("content-encoding: br\r\n", b"text", "packed as `br`"),
    ] {
        let error = text(with_head(head, body), 1000).await.unwrap_err();
        assert_eq!(error.code(), "CONTENT_TYPE", "{head}");
        assert!(error.to_string().contains(said) && error.to_string().contains("status 200"), "{error}");
    }
}

/// About `bytes` times `a`, gzipped by hand (RFC 1951): one block with fixed codes, a literal and then repetitions
/// of 258 bytes.
fn bomb(bytes: u64) -> Vec<u8> {
    let mut packed = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
    let (mut bits, mut count) = (0u64, 0u32);
    let mut put = |value: u64, length: u32, packed: &mut Vec<u8>| {
        bits |= value << count;
        count += length;
        while count >= 8 {
            packed.push((bits & 0xff) as u8);
            bits >>= 8;
            count -= 8;
        }
    };
    let reversed =
        |value: u64, length: u32| (0..length).fold(0, |sum, bit| sum | ((value >> bit & 1) << (length - 1 - bit)));
    // The last block, with fixed codes; one `a`; then the length 258 (code 285, 8 bits) at the distance 1 (5 bits).
    put(1, 1, &mut packed);
    put(1, 2, &mut packed);
    put(reversed(0x30 + u64::from(b'a'), 8), 8, &mut packed);
    for _ in 0..bytes / 258 {
        put(reversed(0b1100_0101, 8), 8, &mut packed);
        put(0, 5, &mut packed);
    }
    put(0, 7, &mut packed);
    put(0, 8, &mut packed);
    packed
}

#[tokio::test]
async fn a_body_that_unpacks_without_end_is_read_up_to_the_limit() {
    let packed = bomb(512 << 20);
    assert!(packed.len() < 5 << 20);
    let head = "content-type: text/plain\r\ncontent-encoding: gzip\r\n";
    let response = text(with_head(head, &packed), 100_000).await.unwrap();
    assert!(response.truncated && response.body.len() == 100_000);
    assert!(response.body.iter().all(|byte| *byte == b'a'));
}
