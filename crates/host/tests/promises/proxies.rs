//! Requests to an API go through the operator's proxy, and nowhere else. The proxies are a few lines on the
//! loopback network; hosts have names of the reserved domain `.invalid`, which resolve nowhere, so that only
//! a proxy can have answered for them.

use adjutant_host::http::{FetchError, Hosts, HttpClient, Proxies, Response};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::http::{answer, request, server};

fn proxies(variables: &[(&str, String)]) -> Proxies {
    Proxies::from_variables(|name| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.clone()))
        .unwrap()
}

async fn fetch(url: &str, variables: &[(&str, String)]) -> Result<Response, FetchError> {
    let client = HttpClient::for_api(Hosts::only(url).unwrap(), proxies(variables)).unwrap();
    client.fetch(&request(url), &CancellationToken::new()).await
}

/// An answer of a proxy that opens no tunnel.
fn refusal(status: &str) -> String {
    format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
}

#[tokio::test]
async fn plain_http_is_asked_of_the_proxy_by_its_whole_address() {
    let (port, asked) = server(vec![answer("from the proxy")]).await;
    // `localhost` must be resolved for the proxy, although it is not the host of the API.
    let proxy = format!("http://me:p%40ss'%7Bw@localhost:{port}");
    let response = fetch("http://api.invalid/v1?x=1", &[("http_proxy", proxy)]).await.unwrap();
    assert_eq!(response.body, b"from the proxy");
    let asked = asked.await.unwrap().concat();
    assert!(asked.starts_with("GET http://api.invalid/v1?x=1 HTTP/1.1\r\n"), "{asked}");
    // The base64 of `me:p@ss'{w`.
    assert!(asked.to_lowercase().contains("\r\nproxy-authorization: basic bwu6cebzcyd7dw==\r\n"), "{asked}");
}

#[tokio::test]
async fn https_goes_through_a_tunnel_that_is_asked_for_with_the_password() {
    let (port, asked) = server(vec![refusal("407 Proxy Authentication Required")]).await;
    let proxy = format!("127.0.0.1:{port}");
    let error = fetch("https://api.invalid/v1", &[("HTTPS_PROXY", format!("me:pw-canary@{proxy}"))]).await.unwrap_err();
    let asked = asked.await.unwrap().concat();
    assert!(asked.starts_with("CONNECT api.invalid:443 HTTP/1.1\r\n"), "{asked}");
    // The base64 of `me:pw-canary`.
    assert!(asked.to_lowercase().contains("\r\nproxy-authorization: basic bwu6chcty2fuyxj5\r\n"), "{asked}");
    assert!(!asked.contains("/v1"), "{asked}");
    let said = format!("{error} {error:?}");
    assert!(said.contains("proxy authorization required (`HTTPS_PROXY` is http://127.0.0.1:"), "{said}");
    assert!(!said.contains("canary"), "{said}");
}

#[tokio::test]
async fn a_scheme_without_a_proxy_and_an_excepted_host_are_reached_straight() {
    // Bound, and never accepts: whoever goes there gets no answer.
    let never = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let proxy = format!("http://{}", never.local_addr().unwrap());
    for (host, variables) in [
        ("127.0.0.1", vec![("https_proxy", proxy.clone())]),
        ("127.0.0.1", vec![("http_proxy", proxy.clone()), ("no_proxy", "127.0.0.0/8".to_owned())]),
        ("localhost", vec![("http_proxy", proxy.clone()), ("NO_PROXY", "a.dev,localhost".to_owned())]),
        ("127.0.0.1", vec![("all_proxy", proxy.clone()), ("no_proxy", "*".to_owned())]),
    ] {
        let (port, _) = server(vec![answer("straight")]).await;
        let response = fetch(&format!("http://{host}:{port}/"), &variables).await.unwrap();
        assert_eq!(response.body, b"straight", "{host} {variables:?}");
    }
}

#[tokio::test]
async fn the_own_machine_is_no_exception_unless_it_is_listed() {
    let (port, _) = server(vec![answer("from the proxy")]).await;
    let response = fetch("http://127.0.0.1:9/", &[("all_proxy", format!("http://127.0.0.1:{port}"))]).await.unwrap();
    assert_eq!(response.body, b"from the proxy");
}

#[tokio::test]
async fn a_proxy_that_does_not_answer_is_named() {
    for scheme in ["http", "https"] {
        let (port, _) = server(vec![String::new()]).await;
        let proxy = format!("http://me:pw-canary@127.0.0.1:{port}");
        let error = fetch(&format!("{scheme}://api.invalid/"), &[("all_proxy", proxy)]).await.unwrap_err();
        let said = format!("{error} {error:?}");
        assert!(said.contains(&format!("(`all_proxy` is http://127.0.0.1:{port})")), "{said}");
        assert!(said.contains("the exchange with `api.invalid` failed") && !said.contains("canary"), "{said}");
    }
}

#[tokio::test]
async fn a_proxy_is_no_host_that_may_be_asked_for() {
    let (port, _) = server(Vec::new()).await;
    let client = HttpClient::for_api(
        Hosts::only("https://api.invalid").unwrap(),
        proxies(&[("all_proxy", format!("http://localhost:{port}"))]),
    );
    let asked = request(&format!("http://localhost:{port}/"));
    let error = client.unwrap().fetch(&asked, &CancellationToken::new()).await.unwrap_err();
    assert_eq!(error.code(), "BAD_SCHEME");
    let asked = request(&format!("https://localhost:{port}/"));
    let client = HttpClient::for_api(Hosts::only("https://api.invalid").unwrap(), Proxies::default()).unwrap();
    let error = client.fetch(&asked, &CancellationToken::new()).await.unwrap_err();
    assert_eq!(error.code(), "HOST_NOT_ALLOWED");
}
