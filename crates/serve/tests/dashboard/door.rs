//! One browser is let in, once.

use axum::http::{Method, StatusCode};

use crate::world::{World, set};

#[tokio::test]
async fn the_address_lets_one_browser_in_and_is_void_then() {
    let world = World::closed().await;
    let first = world.send(world.request(Method::GET, &world.opening())).await;
    assert_eq!(first.status, StatusCode::SEE_OTHER);
    assert_eq!(first.headers["location"].to_str().expect("text"), format!("{}/runs", world.base));
    let cookie = first.headers["set-cookie"].to_str().expect("text");
    for part in ["; HttpOnly", "; SameSite=Strict", &format!("; Path={}", world.base)] {
        assert!(cookie.contains(part), "{cookie}");
    }
    assert!(!cookie.contains("Domain"), "{cookie}");
    let second = world.send(world.request(Method::GET, &world.opening())).await;
    assert_eq!(second.status, StatusCode::FORBIDDEN);
    assert!(second.text.contains("used already") && second.text.contains("adjutant dashboard"), "{}", second.text);
    assert!(!second.headers.contains_key("set-cookie"));
}

#[tokio::test]
async fn a_look_ahead_does_not_use_it_up() {
    let world = World::closed().await;
    let ahead = world.send(world.request(Method::HEAD, &world.opening())).await;
    assert!(!ahead.headers.contains_key("set-cookie"));
    let from_elsewhere = {
        let mut request = world.request(Method::GET, &world.opening());
        set(&mut request, "sec-fetch-site", "cross-site");
        world.send(request).await
    };
    assert_eq!(from_elsewhere.status, StatusCode::FORBIDDEN);
    for (header, value) in [
        ("sec-purpose", "prefetch"),
        ("sec-purpose", "prefetch;prerender"),
        ("sec-purpose", "prefetch;anonymous-client-ip"),
        ("purpose", "prefetch"),
        ("x-purpose", "preview"),
        ("x-moz", "prefetch"),
        ("x-moz", "Prefetch"),
    ] {
        let mut request = world.request(Method::GET, &world.opening());
        set(&mut request, header, value);
        let ahead = world.send(request).await;
        assert_eq!(ahead.status, StatusCode::NO_CONTENT, "{header}: {value}");
        assert!(!ahead.headers.contains_key("set-cookie"));
    }
    assert_eq!(world.send(world.request(Method::GET, &world.opening())).await.status, StatusCode::SEE_OTHER);
}

#[tokio::test]
async fn who_was_not_let_in_sees_nothing() {
    let mut world = World::open().await;
    drop(world.run("2026-01-01-SECRET", "orchard", "secret", Vec::new()));
    let cookie = world.cookie.take().expect("a cookie");
    for path in ["", "/", "/runs", "/runs/2026-01-01-SECRET", "/runs/2026-01-01-SECRET/events", "/inbox", "/memory"] {
        for wrong in ["", "adjutant=", "adjutant=x", &cookie[..cookie.len() - 1], &format!("other={cookie}")] {
            let mut request = world.request(Method::GET, &format!("{}{path}", world.base));
            set(&mut request, "cookie", wrong);
            let got = world.send(request).await;
            assert_eq!(got.status, StatusCode::UNAUTHORIZED, "{path} {wrong}");
            assert!(!got.text.contains("SECRET") && got.text.contains("adjutant dashboard"), "{path}: {}", got.text);
        }
    }
    // Whoever may set cookies for this name can't lock the operator out.
    let mut request = world.request(Method::GET, &format!("{}/runs", world.base));
    set(&mut request, "cookie", &format!("adjutant=tossed; {cookie}; x=y"));
    assert_eq!(world.send(request).await.status, StatusCode::OK);
}

#[tokio::test]
async fn a_wrong_token_is_none() {
    let world = World::closed().await;
    let right = world.opening();
    for wrong in [&right[..right.len() - 1], &format!("{right}0"), &format!("{}/open", world.base)] {
        let got = world.send(world.request(Method::GET, wrong)).await;
        assert_eq!(got.status, StatusCode::FORBIDDEN, "{wrong}");
    }
    assert_eq!(world.send(world.request(Method::GET, &right)).await.status, StatusCode::SEE_OTHER);
}
