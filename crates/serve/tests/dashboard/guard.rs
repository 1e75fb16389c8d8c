//! Tests which requests get an answer at all.

use axum::body::Body as Content;
use axum::http::{Method, StatusCode};
use serde_json::json;

use crate::world::{World, may_delete, set};

const ID: &str = "2026-01-01-A:ask/1.1";

/// A dashboard over a run that asks something.
async fn asking() -> World {
    let world = World::open().await;
    drop(world.run("2026-01-01-A", "orchard", "brief", vec![may_delete(1, "May it?")]));
    world
}

#[tokio::test]
async fn only_our_own_name_and_port_are_us() {
    let world = asking().await;
    let (_, port) = world.host.split_once(':').expect("a port");
    let path = format!("{}/runs", world.base);
    for (host, expected) in [
        (world.host.clone(), StatusCode::OK),
        (format!("localhost:{port}"), StatusCode::OK),
        ("127.0.0.1".to_owned(), StatusCode::MISDIRECTED_REQUEST),
        (format!("127.0.0.1:{}", port.parse::<u16>().expect("a port") ^ 1), StatusCode::MISDIRECTED_REQUEST),
        (format!("evil.example:{port}"), StatusCode::MISDIRECTED_REQUEST),
        (format!("127.0.0.1.evil.example:{port}"), StatusCode::MISDIRECTED_REQUEST),
        (format!("localhost.evil.example:{port}"), StatusCode::MISDIRECTED_REQUEST),
        (format!("user@127.0.0.1:{port}"), StatusCode::MISDIRECTED_REQUEST),
        (format!("127.0.0.1:{port}:{port}"), StatusCode::MISDIRECTED_REQUEST),
        (String::new(), StatusCode::MISDIRECTED_REQUEST),
    ] {
        let mut request = world.request(Method::GET, &path);
        set(&mut request, "host", &host);
        assert_eq!(world.send(request).await.status, expected, "{host}");
    }
    let mut none = world.request(Method::GET, &path);
    none.headers_mut().remove("host");
    assert_eq!(world.send(none).await.status, StatusCode::MISDIRECTED_REQUEST);
    let mut two = world.request(Method::GET, &path);
    two.headers_mut().append("host", "evil.example".parse().expect("a value"));
    assert_eq!(world.send(two).await.status, StatusCode::MISDIRECTED_REQUEST);
    // The whole address in the first line counts as much as the header.
    let whole = world.request(Method::GET, &format!("http://evil.example:{port}{path}"));
    assert_eq!(world.send(whole).await.status, StatusCode::MISDIRECTED_REQUEST);
}

#[tokio::test]
async fn what_comes_from_elsewhere_is_neither_shown_nor_done() {
    let world = asking().await;
    for site in ["cross-site", "same-site", "", "nonsense"] {
        for path in ["/inbox", "/runs/2026-01-01-A/events", "/style.css", "/script.js"] {
            let mut request = world.request(Method::GET, &format!("{}{path}", world.base));
            set(&mut request, "sec-fetch-site", site);
            let got = world.send(request).await;
            assert_eq!(got.status, StatusCode::FORBIDDEN, "{site} {path}");
            assert!(!got.text.contains("May it?"));
        }
        let mut request = world.act("/answer", &json!({"ids": [ID], "choice": "once"}));
        set(&mut request, "sec-fetch-site", site);
        assert_eq!(world.send(request).await.status, StatusCode::FORBIDDEN, "{site}");
    }
    // A browser that says nothing of sites says the origin at least where a page asks for something.
    for origin in ["http://evil.example", "null", "https://127.0.0.1", ""] {
        for (method, path) in [(Method::GET, "/runs"), (Method::GET, "/style.css"), (Method::HEAD, "/inbox")] {
            let mut request = world.request(method, &format!("{}{path}", world.base));
            request.headers_mut().remove("sec-fetch-site");
            set(&mut request, "origin", origin);
            assert_eq!(world.send(request).await.status, StatusCode::FORBIDDEN, "{origin} {path}");
        }
    }
    // No address is typed for a stream; and a browser that doesn't say whence must say its origin.
    for (site, origin, expected) in [
        (Some("none"), None, StatusCode::FORBIDDEN),
        (None, None, StatusCode::FORBIDDEN),
        (None, Some("http://evil.example"), StatusCode::FORBIDDEN),
        (Some("same-origin"), Some("http://evil.example"), StatusCode::FORBIDDEN),
        (Some("same-origin"), None, StatusCode::OK),
        (None, Some("ours"), StatusCode::OK),
    ] {
        let mut request = world.request(Method::GET, &format!("{}/runs/2026-01-01-A/events", world.base));
        request.headers_mut().remove("sec-fetch-site");
        if let Some(site) = site {
            set(&mut request, "sec-fetch-site", site);
        }
        if let Some(origin) = origin {
            set(&mut request, "origin", &origin.replace("ours", &format!("http://{}", world.host)));
        }
        assert_eq!(world.raw(request).await.status(), expected, "{site:?} {origin:?}");
    }
    assert!(world.letters("2026-01-01-A").is_empty());
}

#[tokio::test]
async fn an_act_needs_everything_that_only_our_pages_can_send() {
    let world = asking().await;
    let body = json!({"ids": [ID], "choice": "once"});
    let evil = "http://evil.example".to_owned();
    let https = format!("https://{}", world.host);
    let other_port = "http://127.0.0.1:1".to_owned();
    for (header, value, expected) in [
        ("origin", None, StatusCode::FORBIDDEN),
        ("origin", Some(evil.as_str()), StatusCode::FORBIDDEN),
        ("origin", Some("null"), StatusCode::FORBIDDEN),
        ("origin", Some(https.as_str()), StatusCode::FORBIDDEN),
        ("origin", Some(other_port.as_str()), StatusCode::FORBIDDEN),
        ("content-type", None, StatusCode::UNSUPPORTED_MEDIA_TYPE),
        ("content-type", Some("text/plain"), StatusCode::UNSUPPORTED_MEDIA_TYPE),
        ("content-type", Some("application/x-www-form-urlencoded"), StatusCode::UNSUPPORTED_MEDIA_TYPE),
        ("content-type", Some("multipart/form-data"), StatusCode::UNSUPPORTED_MEDIA_TYPE),
        ("content-type", Some("text/plain; application/json"), StatusCode::UNSUPPORTED_MEDIA_TYPE),
        ("x-adjutant-csrf", None, StatusCode::FORBIDDEN),
        ("x-adjutant-csrf", Some(""), StatusCode::FORBIDDEN),
        ("x-adjutant-csrf", Some("00"), StatusCode::FORBIDDEN),
        ("cookie", None, StatusCode::UNAUTHORIZED),
        ("cookie", Some("adjutant=x"), StatusCode::UNAUTHORIZED),
    ] {
        let mut request = world.act("/answer", &body);
        match value {
            Some(value) => set(&mut request, header, value),
            None => drop(request.headers_mut().remove(header)),
        }
        let got = world.send(request).await;
        assert_eq!(got.status, expected, "{header}: {value:?}");
        let said: serde_json::Value = serde_json::from_str(&got.text).expect("JSON");
        assert!(said["error"].as_str().is_some_and(|error| !error.is_empty()), "{}", got.text);
    }
    assert!(world.letters("2026-01-01-A").is_empty(), "nothing was done");
    assert_eq!(world.send(world.act("/answer", &body)).await.status, StatusCode::OK);
    assert_eq!(world.letters("2026-01-01-A").len(), 1);
}

#[tokio::test]
async fn nothing_else_is_there_and_every_response_is_guarded() {
    let world = asking().await;
    let at = |path: &str| format!("{}{path}", world.base);
    let acts = [Method::PUT, Method::DELETE, Method::PATCH, Method::OPTIONS, Method::TRACE, Method::CONNECT];
    let mut asked = vec![
        (Method::GET, at("/nothing"), StatusCode::NOT_FOUND),
        (Method::GET, "/".to_owned(), StatusCode::NOT_FOUND),
        (Method::GET, "/runs".to_owned(), StatusCode::NOT_FOUND),
        (Method::GET, "/favicon.ico".to_owned(), StatusCode::NOT_FOUND),
        (Method::GET, at("/runs/../../etc/passwd"), StatusCode::NOT_FOUND),
        (Method::GET, at("/runs/..%2f..%2fkeys.toml"), StatusCode::NOT_FOUND),
        (Method::GET, at("/runs/nobody"), StatusCode::NOT_FOUND),
        (Method::GET, at("/memory/..%2f..%2fsessions"), StatusCode::NOT_FOUND),
        (Method::GET, at("/inbox/batch?kind=nonsense"), StatusCode::NOT_FOUND),
        (Method::GET, at("/runs/2026-01-01-A?before=nonsense"), StatusCode::OK),
        (Method::GET, at("/answer"), StatusCode::METHOD_NOT_ALLOWED),
        (Method::GET, at("/runs"), StatusCode::OK),
        (Method::HEAD, at("/runs"), StatusCode::OK),
        (Method::GET, at("/style.css"), StatusCode::OK),
        (Method::GET, at("/script.js"), StatusCode::OK),
        (Method::GET, at("/icon.svg"), StatusCode::OK),
    ];
    asked.extend(acts.map(|method| (method, at("/runs"), StatusCode::METHOD_NOT_ALLOWED)));
    for (method, path, expected) in asked {
        let got = world.send(world.request(method.clone(), &path)).await;
        assert_eq!(got.status, expected, "{method} {path}");
        let policy = got.headers["content-security-policy"].to_str().expect("text");
        for part in ["default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'self'"] {
            assert!(policy.contains(part), "{path}: {policy}");
        }
        assert!(!policy.contains("unsafe") && !policy.contains('*'), "{policy}");
        for (name, value) in [
            ("x-content-type-options", "nosniff"),
            ("referrer-policy", "no-referrer"),
            ("cache-control", "no-store"),
            ("cross-origin-opener-policy", "same-origin"),
            ("cross-origin-resource-policy", "same-origin"),
        ] {
            assert_eq!(got.headers[name], value, "{path}");
        }
        assert!(got.headers.keys().all(|name| !name.as_str().starts_with("access-control")), "{path}");
    }
    // What is read by GET is not written by POST, and the other way round.
    let got = world.send(world.act("/runs", &json!({}))).await;
    assert_eq!(got.status, StatusCode::METHOD_NOT_ALLOWED);
}

#[tokio::test]
async fn who_does_not_know_the_path_is_not_told_it() {
    let world = asking().await;
    let key = world.base.trim_start_matches('/');
    let ways =
        [("host", "evil.example".to_owned()), ("sec-fetch-site", "same-site".into()), ("host", world.host.clone())];
    let longer = format!("{}0/runs", world.base);
    let shorter = format!("{}/runs", &world.base[..world.base.len() - 1]);
    for path in ["/", "/runs", "/style.css", "/open", longer.as_str(), shorter.as_str()] {
        for (header, value) in &ways {
            for method in [Method::GET, Method::POST, Method::PUT] {
                let mut request = world.request(method, path);
                set(&mut request, header, value);
                let got = world.send(request).await;
                assert!(got.status.is_client_error(), "{path}: {}", got.status);
                let said = format!("{:?} {}", got.headers, got.text);
                assert!(!said.contains(key), "{path}: {said}");
            }
        }
    }
}

#[tokio::test]
async fn a_body_has_a_bound_and_must_be_what_it_says() {
    let world = asking().await;
    let mut long = world.act("/answer", &json!({}));
    let text = "x".repeat(600 * 1024);
    *long.body_mut() = Content::from(json!({"ids": [ID], "choice": "deny", "text": text}).to_string());
    assert_eq!(world.send(long).await.status, StatusCode::PAYLOAD_TOO_LARGE);
    for bad in ["", "null", "[]", "{", r#"{"ids":["x"],"choice":"once","more":1}"#, r#"{"ids":["x"],"choice":"maybe"}"#]
    {
        let mut request = world.act("/answer", &json!({}));
        *request.body_mut() = Content::from(bad);
        let got = world.send(request).await;
        assert!(got.status.is_client_error(), "{bad}: {}", got.status);
    }
    assert!(world.letters("2026-01-01-A").is_empty());
}
