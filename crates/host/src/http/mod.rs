//! An HTTP client that goes only where it may.
//!
//! Every hop, redirects included, is checked: the scheme, the host list ([`Hosts`]), and the address that is
//! connected to, as resolved for that very connection. One deadline covers everything, and the body is read
//! only as far as allowed. Proxies are used by [`HttpClient::for_api`] alone, and only those it is given.

mod address;
mod content;
mod hosts;
mod incoming;
mod proxies;

use std::collections::BTreeMap;
use std::error::Error as _;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue, LOCATION};
use reqwest::redirect::Policy;
use reqwest::{Method, StatusCode, Url};
use thiserror::Error;
use tokio_util::sync::CancellationToken;

pub use address::{is_local, is_public};
pub use hosts::{BadHosts, HostRule, Hosts};
pub use incoming::Incoming;
pub(crate) use proxies::percent_decoded;
pub use proxies::{BadProxy, Proxies};

/// The most redirects that are followed: what the peer documents and doesn't enforce.
pub const REDIRECTS_MAX: usize = 5;

/// The first port that is nobody's by its number: below it stand mail, shells and name servers, which would take
/// an agent's words for their own protocol.
const FREE_PORT_FIRST: u16 = 1024;

/// Headers that say where a request goes, or where it ends: they are the connection's, not an agent's. Another
/// `host` would reach a server that shares its address with one that is listed.
const RESERVED_HEADERS: [&str; 12] = [
    "host", "connection", "content-length", "transfer-encoding", "te", "trailer", "upgrade", "expect", "keep-alive",
    "proxy-connection", "proxy-authorization", "accept-encoding",
];

/// One request.
#[derive(Debug, Clone)]
pub struct Request {
    /// The address, as an agent wrote it.
    pub url: String,
    /// The method; any token.
    pub method: String,
    /// Headers, by name.
    pub headers: BTreeMap<String, String>,
    /// The body.
    pub body: Option<String>,
    /// The longest the whole exchange may take.
    pub timeout: Duration,
    /// The most bytes of the answer's body that are read, after decompression.
    pub bytes_max: usize,
    /// The kind of body that is accepted.
    pub body_kind: BodyKind,
}

/// The kind of body that is accepted. A body of another kind is not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyKind {
    /// Anything.
    Any,
    /// Text, as its content type says; without one, as its first bytes say.
    Text,
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    /// The status.
    pub status: u16,
    /// The headers; several of one name are joined with `, `.
    pub headers: BTreeMap<String, String>,
    /// The body's first bytes.
    pub body: Vec<u8>,
    /// True if there were more.
    pub truncated: bool,
}

/// Reason why there is no answer.
#[derive(Debug, Error)]
pub enum FetchError {
    /// The address can't be read.
    #[error("`{url}` is not a web address")]
    InvalidUrl {
        /// The address.
        url: String,
    },
    /// The method or a header can't be sent.
    #[error("{what} can't be sent")]
    InvalidRequest {
        /// The part that can't be sent.
        what: String,
    },
    /// Not `https`, and not `http` to a host that is listed for it.
    #[error(
        "`{scheme}` is not allowed for `{host}`: only https is, and http for hosts that are listed as `http://{host}`"
    )]
    Scheme {
        /// The scheme.
        scheme: String,
        /// The host.
        host: String,
    },
    /// It holds a user or a password.
    #[error("the address of `{host}` holds a user or a password: send what identifies you in a header")]
    UserInfo {
        /// The host.
        host: String,
    },
    /// A port of something that is not the web.
    #[error(
        "port {port} of `{host}` is not allowed: only 80, 443 and those from 1024 on are, and any of a host that is \
         listed by name"
    )]
    Port {
        /// The host.
        host: String,
        /// The port.
        port: u16,
    },
    /// The answer is no text.
    #[error("`{host}` answers with status {status} and {what}, and only text is read")]
    NotText {
        /// The host.
        host: String,
        /// The status.
        status: u16,
        /// The kind of body it is instead, with its content type.
        what: String,
    },
    /// The host list doesn't have it.
    #[error("the host `{host}` is not on the list of allowed hosts{why}")]
    HostNotAllowed {
        /// The host.
        host: String,
        /// More about the list, where that helps.
        why: String,
    },
    /// It resolves to an address inside.
    #[error("`{host}` has a private or local address; to allow it, list it as `private:{host}`")]
    PrivateAddress {
        /// The host.
        host: String,
    },
    /// Too many redirects, or one without a place to go.
    #[error("{0}")]
    Redirects(String),
    /// The deadline passed.
    #[error("there was no complete answer within {} ms", .0.as_millis())]
    Timeout(Duration),
    /// It was cancelled.
    #[error("the request was cancelled")]
    Cancelled {
        /// The bytes of the body that had been read.
        partial: Vec<u8>,
    },
    /// The exchange failed.
    #[error("the exchange with `{host}` failed: {why}")]
    Failed {
        /// The host.
        host: String,
        /// The error, with its causes.
        why: String,
    },
}

impl FetchError {
    /// The stable name that a tool result carries: the peer's, where it has one.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::InvalidUrl { .. } | Self::UserInfo { .. } => "INVALID_URL",
            Self::InvalidRequest { .. } => "INVALID_ARGS",
            Self::Scheme { .. } => "BAD_SCHEME",
            Self::HostNotAllowed { .. } | Self::PrivateAddress { .. } | Self::Port { .. } => "HOST_NOT_ALLOWED",
            Self::NotText { .. } => "CONTENT_TYPE",
            Self::Timeout(_) => "TIMEOUT",
            Self::Cancelled { .. } => "CANCELLED",
            Self::Redirects(_) | Self::Failed { .. } => "FETCH_ERROR",
        }
    }
}

/// The client. Cheap to clone; connections are shared.
#[derive(Debug, Clone)]
pub struct HttpClient {
    client: reqwest::Client,
    hosts: Arc<Hosts>,
    proxies: Proxies,
    follows: bool,
}

/// The client could not be made; says why, with causes.
#[derive(Debug, Error)]
#[error("can't set up the HTTP client: {0}")]
pub struct NoClient(String);

impl From<reqwest::Error> for NoClient {
    fn from(error: reqwest::Error) -> Self {
        Self(causes(&error))
    }
}

impl HttpClient {
    /// A client that goes where `hosts` allows, straight: it uses no proxy.
    ///
    /// # Errors
    ///
    /// [`NoClient`] if the system's certificates can't be used.
    pub fn new(hosts: Hosts) -> Result<Self, NoClient> {
        Self::for_api(hosts, Proxies::default())
    }

    /// A client that goes where `hosts` allows, through the operator's `proxies` where they are for the
    /// scheme and don't except the host.
    ///
    /// The address that a proxy connects to can't be checked here: names are resolved at the proxy. So this is for
    /// hosts that the operator chose, not for those that an agent names. A proxy may have a private address.
    ///
    /// # Errors
    ///
    /// [`NoClient`] if the system's certificates can't be used.
    pub fn for_api(hosts: Hosts, proxies: Proxies) -> Result<Self, NoClient> {
        Self::with_lookup(hosts, proxies, system_lookup())
    }

    /// The same, with names looked up by `lookup` and not by the system. Every connection to a name is one
    /// look-up, and goes to an address that this look-up gave.
    ///
    /// # Errors
    ///
    /// [`NoClient`] if the system's certificates can't be used.
    pub fn with_lookup(hosts: Hosts, proxies: Proxies, lookup: HostLookup) -> Result<Self, NoClient> {
        Self::built(hosts, proxies, lookup, |building| building)
    }

    /// A client that goes where `hosts` allows, straight, and speaks HTTP/2 from the first byte, without TLS too.
    ///
    /// # Errors
    ///
    /// [`NoClient`] if the system's certificates can't be used.
    pub fn http2(hosts: Hosts) -> Result<Self, NoClient> {
        Self::built(hosts, Proxies::default(), system_lookup(), reqwest::ClientBuilder::http2_prior_knowledge)
    }

    fn built(
        hosts: Hosts,
        proxies: Proxies,
        lookup: HostLookup,
        spoken: impl FnOnce(reqwest::ClientBuilder) -> reqwest::ClientBuilder,
    ) -> Result<Self, NoClient> {
        install_provider();
        let hosts = Arc::new(hosts);
        let resolver = GuardedResolver { hosts: hosts.clone(), proxies: proxies.hosts(), lookup };
        // `no_proxy` comes first: without it, the environment's proxies would be used.
        let mut building = reqwest::Client::builder()
            .redirect(Policy::none())
            .no_proxy()
            .referer(false)
            .dns_resolver(Arc::new(resolver))
            .user_agent(concat!("adjutant/", env!("CARGO_PKG_VERSION")));
        for proxy in proxies.for_client()? {
            building = building.proxy(proxy);
        }
        Ok(Self { client: spoken(building).build()?, hosts, proxies, follows: true })
    }

    /// The same, to which a redirect is an answer like any other: what is sent goes to nobody else.
    #[must_use]
    pub fn without_redirects(self) -> Self {
        Self { follows: false, ..self }
    }

    /// Sends bytes to `url`, under the same guards; follows no redirect. Returns the host with an answer of which the
    /// head has arrived.
    pub(crate) async fn send_bytes(
        &self,
        method: Method,
        url: &Url,
        headers: &[(&str, &str)],
        body: Vec<u8>,
    ) -> Result<(String, reqwest::Response), FetchError> {
        let host = self.check(url)?;
        let mut sending = self.client.request(method, url.clone()).body(body);
        for (name, value) in headers {
            sending = sending.header(*name, *value);
        }
        let response = sending.send().await.map_err(|error| failed(&host, &error))?;
        Ok((host, response))
    }

    /// Sends a request and reads the answer, following redirects.
    ///
    /// # Errors
    ///
    /// [`FetchError`]; a status that is no success is an answer, not an error.
    pub async fn fetch(&self, request: &Request, cancel: &CancellationToken) -> Result<Response, FetchError> {
        let mut body = Vec::new();
        let exchange = tokio::time::timeout(request.timeout, self.exchange(request, &mut body));
        let ended = tokio::select! {
            biased;
            () = cancel.cancelled() => None,
            ended = exchange => Some(ended),
        };
        match ended {
            None => Err(FetchError::Cancelled { partial: body }),
            Some(Err(_)) => Err(FetchError::Timeout(request.timeout)),
            Some(Ok(Err(error))) => Err(error),
            Some(Ok(Ok(head))) => {
                Ok(Response { status: head.status.as_u16(), headers: head.headers, body, truncated: head.truncated })
            }
        }
    }

    async fn exchange(&self, request: &Request, body: &mut Vec<u8>) -> Result<ResponseHead, FetchError> {
        let mut hop = Hop::first(request)?;
        for _ in 0..=REDIRECTS_MAX {
            let (host, mut response) = self.send(&hop).await?;
            let location = redirect(response.status(), response.headers()).filter(|_| self.follows);
            if let Some(location) = location {
                let next = hop.url.join(&location).map_err(|_| {
                    FetchError::Redirects(format!("a redirect to `{location}`, which is no web address"))
                })?;
                hop.follow(next, response.status());
                continue;
            }
            if request.body_kind == BodyKind::Text {
                content::check(&host, response.status(), response.headers())?;
            }
            let mut truncated = false;
            while let Some(chunk) = response.chunk().await.map_err(|error| failed(&host, &error))? {
                let room = request.bytes_max.saturating_sub(body.len());
                body.extend_from_slice(chunk.get(..room.min(chunk.len())).unwrap_or(&[]));
                if chunk.len() > room {
                    truncated = true;
                    break;
                }
            }
            if request.body_kind == BodyKind::Text {
                content::check_body(&host, response.status(), body)?;
            }
            return Ok(ResponseHead { status: response.status(), headers: listed(response.headers()), truncated });
        }
        Err(FetchError::Redirects(format!("more than {REDIRECTS_MAX} redirects")))
    }

    /// Sends one hop, and returns its host with an answer of which the head has arrived.
    async fn send(&self, hop: &Hop) -> Result<(String, reqwest::Response), FetchError> {
        let host = self.check(&hop.url)?;
        let mut sending = self.client.request(hop.method.clone(), hop.url.clone()).headers(hop.headers.clone());
        if let Some(content) = &hop.body {
            sending = sending.body(content.clone());
        }
        let response = sending.send().await.map_err(|error| match failed(&host, &error) {
            FetchError::Failed { host, why } => {
                FetchError::Failed { host, why: why + &self.proxies.said(hop.url.scheme()) }
            }
            error => error,
        })?;
        Ok((host, response))
    }

    /// Checks one hop before anything is sent, and returns its host. Addresses written as numbers are
    /// checked here, names when they are resolved.
    fn check(&self, url: &Url) -> Result<String, FetchError> {
        let invalid = || FetchError::InvalidUrl { url: url.to_string() };
        let host = plain_host(url).ok_or_else(invalid)?;
        // What stands before an `@` is read as a host by people, and would be sent to whoever comes after it.
        if !url.username().is_empty() || url.password().is_some() {
            return Err(FetchError::UserInfo { host });
        }
        match url.scheme() {
            "https" => {}
            "http" if self.hosts.allows_plain(&host) => {}
            scheme => {
                return Err(FetchError::Scheme { scheme: scheme.to_owned(), host });
            }
        }
        if !self.hosts.allows(&host) {
            return Err(FetchError::HostNotAllowed { why: self.hosts.trouble(), host });
        }
        if let Some(port) = url.port()
            && !(matches!(port, 80 | 443) || port >= FREE_PORT_FIRST || self.hosts.names(&host))
        {
            return Err(FetchError::Port { host, port });
        }
        if host.parse::<IpAddr>().is_ok_and(|address| !is_public(address)) && !self.hosts.allows_private(&host) {
            return Err(FetchError::PrivateAddress { host });
        }
        Ok(host)
    }
}

struct ResponseHead {
    status: StatusCode,
    headers: BTreeMap<String, String>,
    truncated: bool,
}

/// One request on the way, changed by redirects.
struct Hop {
    url: Url,
    method: Method,
    headers: HeaderMap,
    body: Option<String>,
}

impl Hop {
    fn first(request: &Request) -> Result<Self, FetchError> {
        let url = Url::parse(request.url.trim())
            .map_err(|_| FetchError::InvalidUrl { url: request.url.chars().take(200).collect() })?;
        let invalid = |what: &str| FetchError::InvalidRequest { what: what.chars().take(200).collect() };
        let method = Method::from_bytes(request.method.as_bytes())
            .ok()
            // One makes a tunnel, the other has the server repeat what it got, keys included.
            .filter(|method| !matches!(*method, Method::CONNECT | Method::TRACE))
            .ok_or_else(|| invalid(&format!("the method `{}`", request.method)))?;
        let mut headers = HeaderMap::new();
        for (name, value) in &request.headers {
            let said = || invalid(&format!("the header `{name}`"));
            if RESERVED_HEADERS.iter().any(|reserved| name.eq_ignore_ascii_case(reserved)) {
                return Err(said());
            }
            headers.insert(
                HeaderName::from_bytes(name.as_bytes()).map_err(|_| said())?,
                HeaderValue::from_str(value).map_err(|_| said())?,
            );
        }
        Ok(Self { url, method, headers, body: request.body.clone() })
    }

    /// Goes to `next` as browsers do: 303, and 301 and 302 after a POST, become GET; what identifies the
    /// sender doesn't go to another origin.
    fn follow(&mut self, next: Url, status: StatusCode) {
        let becomes_get = status == StatusCode::SEE_OTHER && self.method != Method::HEAD
            || matches!(status, StatusCode::MOVED_PERMANENTLY | StatusCode::FOUND) && self.method == Method::POST;
        if becomes_get {
            self.method = Method::GET;
            self.body = None;
            for name in ["content-type", "content-length", "content-encoding"] {
                self.headers.remove(name);
            }
        }
        if next.origin() != self.url.origin() {
            // What else may hold a secret can't be told by its name, so only harmless headers go along.
            let kept = ["accept", "accept-language", "content-type", "user-agent"];
            let foreign: Vec<HeaderName> =
                self.headers.keys().filter(|name| !kept.contains(&name.as_str())).cloned().collect();
            for name in foreign {
                self.headers.remove(name);
            }
        }
        self.url = next;
    }
}

/// The host of an address as it is compared: without brackets and the dot of the root, in lower case.
fn plain_host(url: &Url) -> Option<String> {
    let host = url.host_str()?.trim_start_matches('[').trim_end_matches(']').trim_end_matches('.');
    (!host.is_empty()).then(|| host.to_ascii_lowercase())
}

fn redirect(status: StatusCode, headers: &HeaderMap) -> Option<String> {
    let redirects = [301, 302, 303, 307, 308];
    let location = headers.get(LOCATION).filter(|_| redirects.contains(&status.as_u16()))?;
    Some(String::from_utf8_lossy(location.as_bytes()).into_owned())
}

fn listed(headers: &HeaderMap) -> BTreeMap<String, String> {
    let mut listed: BTreeMap<String, String> = BTreeMap::new();
    for (name, value) in headers {
        let value = String::from_utf8_lossy(value.as_bytes());
        listed
            .entry(name.as_str().to_owned())
            .and_modify(|known| *known = format!("{known}, {value}"))
            .or_insert_with(|| value.into_owned());
    }
    listed
}

fn failed(host: &str, error: &reqwest::Error) -> FetchError {
    if sources(error).any(|source| source.is::<OnlyPrivate>()) {
        return FetchError::PrivateAddress { host: host.to_owned() };
    }
    FetchError::Failed { host: host.to_owned(), why: causes(error) }
}

/// All that caused an error, since the outermost one says only that something failed.
fn causes(error: &reqwest::Error) -> String {
    let why: Vec<String> = sources(error).map(ToString::to_string).collect();
    if why.is_empty() { error.to_string() } else { why.join(": ") }
}

fn sources<'e>(error: &'e reqwest::Error) -> impl Iterator<Item = &'e (dyn std::error::Error + 'static)> {
    std::iter::successors(error.source(), |cause: &&'e (dyn std::error::Error + 'static)| (**cause).source())
}

/// Resolves the names that are allowed and those of proxies, and no other; names that may not be private to
/// public addresses only, so that what was checked is what is connected to.
struct GuardedResolver {
    hosts: Arc<Hosts>,
    proxies: Vec<String>,
    lookup: HostLookup,
}

/// Asks for the addresses of a name.
pub type HostLookup = Arc<dyn Fn(String) -> Looking + Send + Sync>;

/// The answer to a [`HostLookup`].
pub type Looking = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send>>;

/// The system's own look-up.
fn system_lookup() -> HostLookup {
    Arc::new(|host| {
        Box::pin(async move { Ok(tokio::net::lookup_host((host, 0)).await?.map(|address| address.ip()).collect()) })
    })
}

/// A name that nothing should ask for.
#[derive(Debug, Error)]
#[error("the name is neither allowed nor a proxy's")]
struct Unlisted;

/// A name that has no public address.
#[derive(Debug, Error)]
#[error("the name has only private or local addresses")]
struct OnlyPrivate;

impl Resolve for GuardedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let host = name.as_str().trim_end_matches('.').to_ascii_lowercase();
        let is_proxy = self.proxies.contains(&host);
        let may_be_private = is_proxy || self.hosts.allows_private(&host);
        let is_allowed = is_proxy || self.hosts.allows(&host);
        let looking = (self.lookup)(host);
        Box::pin(async move {
            if !is_allowed {
                return Err(Unlisted.into());
            }
            let found = looking.await?;
            let allowed: Vec<SocketAddr> = found
                .into_iter()
                .filter(|address| may_be_private || is_public(*address))
                .map(|address| SocketAddr::new(address, 0))
                .collect();
            if allowed.is_empty() {
                return Err(OnlyPrivate.into());
            }
            Ok(Box::new(allowed.into_iter()) as Addrs)
        })
    }
}

/// Installs the one TLS provider of the process. Another one that is there already is as good.
fn install_provider() {
    rustls::crypto::ring::default_provider().install_default().ok();
}
