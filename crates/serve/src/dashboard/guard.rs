//! Lets through only the requests of this machine's own browser, to this port, from our own pages.
//!
//! A page of another origin can make a browser send requests here; a name that somebody points at this machine makes
//! it believe that they are of one origin (DNS rebinding). So a request must name us as its host, and whatever says
//! that it came from elsewhere is refused, reading included.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::header::{
    ALLOW, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HOST, HeaderName, HeaderValue, ORIGIN,
    REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::Hall;
use super::fault::{self, RequestFault};

/// Longest time for a request, the reading of its body included; a stream's beginning counts, its length does not.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

/// Permissions of a page: load our own style, script and icon, and talk to us.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
                      form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

/// Headers of every response.
const HEADERS: [(HeaderName, &str); 9] = [
    (CONTENT_SECURITY_POLICY, POLICY),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (X_FRAME_OPTIONS, "DENY"),
    (REFERRER_POLICY, "no-referrer"),
    (CACHE_CONTROL, "no-store"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (HeaderName::from_static("permissions-policy"), "camera=(), geolocation=(), microphone=()"),
    (HeaderName::from_static("x-dns-prefetch-control"), "off"),
];

const FETCH_SITE: &str = "sec-fetch-site";

/// Checks what holds for every request, and says in every response what holds for all of them.
pub(super) async fn guard(State(hall): State<Arc<Hall>>, request: Request, next: Next) -> Response {
    let is_page = request.method() != Method::POST;
    // Who doesn't know the path is not told it: the cookie is safe from other servers as long as they don't know it.
    let knows_path =
        request.uri().path().strip_prefix(&hall.base).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    let base = if knows_path { hall.base.as_str() } else { "" };
    let allowed = check(&hall, &request);
    let response = match allowed {
        Ok(()) => match tokio::time::timeout(REQUEST_TIMEOUT, next.run(request)).await {
            Ok(response) => response,
            Err(_) => RequestFault::new(StatusCode::REQUEST_TIMEOUT, "This took too long").into_response(),
        },
        Err(fault) => fault.into_response(),
    };
    let mut response = fault::shown(response, base, is_page);
    for (name, value) in HEADERS {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

fn check(hall: &Hall, request: &Request) -> Result<(), RequestFault> {
    let headers = request.headers();
    let Some(host) = host(hall, request) else {
        return Err(RequestFault::new(StatusCode::MISDIRECTED_REQUEST, "This address is not ours")
            .hint("use the one that `adjutant dashboard` printed"));
    };
    // No browser says `same-site` of a request that one of our pages made.
    if one(headers, FETCH_SITE).is_some_and(|site| !matches!(site, "same-origin" | "none")) {
        return Err(from_elsewhere());
    }
    // Old browsers say nothing of sites, and most say the origin only where a page asks another one.
    if headers.contains_key(ORIGIN) && one(headers, "origin").is_none_or(|origin| !is_origin(origin, host)) {
        return Err(from_elsewhere());
    }
    match *request.method() {
        Method::GET | Method::HEAD => Ok(()),
        Method::POST => {
            if one(headers, "origin").is_none_or(|origin| !is_origin(origin, host)) {
                return Err(from_elsewhere());
            }
            // A form can't send this, and no page of another origin without asking first.
            let kind = one(headers, "content-type").unwrap_or_default();
            let kind = kind.split(';').next().unwrap_or_default().trim();
            if headers.get_all(CONTENT_TYPE).iter().count() != 1 || !kind.eq_ignore_ascii_case("application/json") {
                return Err(RequestFault::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "Only JSON is taken here"));
            }
            if !hall.door.knows(headers) {
                return Err(no_session());
            }
            if !hall.door.is_ours(headers) {
                return Err(RequestFault::new(
                    StatusCode::FORBIDDEN,
                    "This did not come from a page of this dashboard",
                )
                .hint("load the page again"));
            }
            Ok(())
        }
        _ => Err(RequestFault::new(StatusCode::METHOD_NOT_ALLOWED, "This can't be asked for in that way")),
    }
}

/// Lets through who was let in.
pub(super) async fn only_with_session(State(hall): State<Arc<Hall>>, request: Request, next: Next) -> Response {
    if hall.door.knows(request.headers()) { next.run(request).await } else { no_session().into_response() }
}

/// Checks that a stream of events may begin: unlike a page, it is never asked for by typing an address.
pub(super) fn check_stream(headers: &HeaderMap) -> Result<(), RequestFault> {
    let host = one(headers, "host").unwrap_or_default();
    let is_ours = match one(headers, FETCH_SITE) {
        Some(site) => site == "same-origin",
        None => one(headers, "origin").is_some_and(|origin| is_origin(origin, host)),
    };
    let says_otherwise = headers.contains_key(ORIGIN) && one(headers, "origin").is_none_or(|o| !is_origin(o, host));
    if is_ours && !says_otherwise { Ok(()) } else { Err(from_elsewhere()) }
}

/// The host that is asked for, if that is us: named by a loopback name, with our port.
fn host<'r>(hall: &Hall, request: &'r Request) -> Option<&'r str> {
    let host = one(request.headers(), "host")?;
    let is_us = |host: &str| {
        let ours = ["127.0.0.1", "localhost"].iter().any(|name| {
            host.strip_prefix(name).and_then(|rest| rest.strip_prefix(':')) == Some(hall.port.to_string().as_str())
        });
        ours || (hall.port == 80 && matches!(host, "127.0.0.1" | "localhost"))
    };
    let is_authority = request.uri().authority().is_none_or(|named| is_us(named.as_str()));
    (is_us(host) && is_authority && request.headers().get_all(HOST).iter().count() == 1).then_some(host)
}

fn is_origin(origin: &str, host: &str) -> bool {
    origin.strip_prefix("http://") == Some(host)
}

/// The one value of a header; none if there are several, or it is no text.
fn one<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    let mut all = headers.get_all(name).iter();
    let first = all.next()?;
    if all.next().is_some() { Some("") } else { Some(first.to_str().unwrap_or_default()) }
}

fn from_elsewhere() -> RequestFault {
    RequestFault::new(StatusCode::FORBIDDEN, "This was asked for by a page from elsewhere")
        .hint("nothing was shown or done; type the address yourself if you meant it")
}

fn no_session() -> RequestFault {
    RequestFault::new(StatusCode::UNAUTHORIZED, "This browser was not let in")
        .hint("open the address that `adjutant dashboard` printed; if it was used before, start it anew")
}

/// The methods that a path takes, for a response that says so.
pub(super) const ALLOWED: (HeaderName, &str) = (ALLOW, "GET, HEAD, POST");
