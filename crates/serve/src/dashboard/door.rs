//! Lets one browser in: it shows the one-time token and keeps a session's cookie from then on.
//!
//! The cookie is bound to a path that can't be guessed. Cookies know no ports: without that path, a browser would send
//! the cookie to every other server that it visits on this machine.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::extract::{Query, State};
use axum::http::header::{LOCATION, SET_COOKIE};
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use subtle::{Choice, ConstantTimeEq};

use super::Hall;
use super::fault::RequestFault;

/// Number of random bytes in a secret.
const SECRET_BYTES: usize = 32;

/// Number of random bytes in the path. The path alone lets no browser in.
const PATH_BYTES: usize = 12;

/// The name of the cookie.
const COOKIE: &str = "adjutant";

/// The header that a page of ours shows with everything that changes something; no form and no page of another origin
/// can send it.
pub(super) const CSRF_HEADER: &str = "x-adjutant-csrf";

/// The secrets of a dashboard: the one that opens the door, once, and those shown from then on.
pub(super) struct Door {
    path: String,
    token: String,
    session: String,
    csrf: String,
    is_used: AtomicBool,
}

impl Door {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self {
            path: random::<PATH_BYTES>()?,
            token: random::<SECRET_BYTES>()?,
            session: random::<SECRET_BYTES>()?,
            csrf: random::<SECRET_BYTES>()?,
            is_used: AtomicBool::new(false),
        })
    }

    pub(super) fn path(&self) -> &str {
        &self.path
    }

    pub(super) fn token(&self) -> &str {
        &self.token
    }

    /// Returns the token that pages show with their requests.
    pub(super) fn csrf(&self) -> &str {
        &self.csrf
    }

    /// Returns true if the request is of the browser that was let in.
    pub(super) fn knows(&self, headers: &HeaderMap) -> bool {
        if !self.is_used.load(Ordering::Acquire) {
            return false;
        }
        let lines = headers.get_all(header::COOKIE).iter().filter_map(|line| line.to_str().ok());
        let pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
        // Whoever may set cookies may add one of the name before ours: any that is ours will do.
        let any = pairs
            .filter(|(name, _)| *name == COOKIE)
            .fold(Choice::from(0), |any, (_, value)| any | value.as_bytes().ct_eq(self.session.as_bytes()));
        any.into()
    }

    /// Returns true if the request shows the token that only pages of ours have.
    pub(super) fn is_ours(&self, headers: &HeaderMap) -> bool {
        let shown = headers.get(CSRF_HEADER).map(|shown| shown.as_bytes()).unwrap_or_default();
        shown.ct_eq(self.csrf.as_bytes()).into()
    }
}

/// So many random bytes, in hexadecimal digits.
fn random<const BYTES: usize>() -> io::Result<String> {
    let mut bytes = [0; BYTES];
    getrandom::fill(&mut bytes).map_err(|error| io::Error::other(format!("no random numbers: {error}")))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// The one-time token, as the printed address has it.
#[derive(Deserialize)]
pub(super) struct TokenQuery {
    #[serde(default)]
    token: String,
}

/// Returns true if a browser fetches the address before the operator opens it, by the headers that old and new browsers
/// send then.
fn is_look_ahead(headers: &HeaderMap) -> bool {
    const PURPOSES: [&str; 4] = ["sec-purpose", "purpose", "x-purpose", "x-moz"];
    let says = |name: &str| headers.get_all(name).iter().filter_map(|value| value.to_str().ok()).any(is_ahead);
    fn is_ahead(purpose: &str) -> bool {
        let purpose = purpose.to_ascii_lowercase();
        ["prefetch", "prerender", "preview"].iter().any(|ahead| purpose.contains(ahead))
    }
    PURPOSES.into_iter().any(says)
}

/// Takes the token for a session, once.
pub(super) async fn open(
    State(hall): State<Arc<Hall>>,
    method: Method,
    headers: HeaderMap,
    Query(shown): Query<TokenQuery>,
) -> Result<Response, RequestFault> {
    let door = &hall.door;
    let is_it: bool = shown.token.as_bytes().ct_eq(door.token.as_bytes()).into();
    if !is_it {
        return Err(RequestFault::new(StatusCode::FORBIDDEN, "This is not the address that was printed")
            .hint("copy the whole line that `adjutant dashboard` printed"));
    }
    // A look ahead must not use it up.
    if method != Method::GET || is_look_ahead(&headers) {
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    if door.is_used.swap(true, Ordering::AcqRel) {
        return Err(RequestFault::new(
            StatusCode::FORBIDDEN,
            "This address was used already: it lets one browser in, once",
        )
        .hint("if that was not you, end the dashboard now; to come in again, start `adjutant dashboard` anew"));
    }
    let cookie = format!("{COOKIE}={}; Path={}; HttpOnly; SameSite=Strict", door.session, hall.base);
    let there = format!("{}/runs", hall.base);
    Ok((StatusCode::SEE_OTHER, [(SET_COOKIE, cookie), (LOCATION, there)]).into_response())
}
