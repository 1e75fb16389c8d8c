//! An answer whose body is read as it arrives.

use std::collections::BTreeMap;

use reqwest::Url;

use super::{BadHosts, FetchError, Hop, HostRule, Hosts, HttpClient, Request, failed, listed, plain_host};

/// An answer of which the head has arrived. Dropping it ends the exchange.
#[derive(Debug)]
pub struct Incoming {
    /// The status.
    pub status: u16,
    /// The headers by their names in lower case; several of one name are joined with `, `.
    pub headers: BTreeMap<String, String>,
    host: String,
    response: reqwest::Response,
}

impl HttpClient {
    /// Sends a request and returns as soon as the answer's head is there, within the request's time limit;
    /// its limit of bytes is not used. A redirect is an answer like any other and not followed: whoever
    /// streams has sent a key, which goes to no other host.
    ///
    /// # Errors
    ///
    /// [`FetchError`]; a status that is no success is an answer, not an error.
    pub async fn open(&self, request: &Request) -> Result<Incoming, FetchError> {
        let hop = Hop::first(request)?;
        let (host, response) = tokio::time::timeout(request.timeout, self.send(&hop))
            .await
            .map_err(|_| FetchError::Timeout(request.timeout))??;
        Ok(Incoming { status: response.status().as_u16(), headers: listed(response.headers()), host, response })
    }
}

impl Incoming {
    /// The next bytes of the body, decompressed; `None` at its end. Waits for them as long as it takes.
    ///
    /// # Errors
    ///
    /// [`FetchError::Failed`] if the connection broke before the body was whole.
    pub async fn chunk(&mut self) -> Result<Option<Vec<u8>>, FetchError> {
        let chunk = self.response.chunk().await.map_err(|error| failed(&self.host, &error))?;
        Ok(chunk.map(Vec::from))
    }
}

impl Hosts {
    /// The list with nothing but the host of `url`, which the operator chose: so it may be a private address,
    /// and may be spoken to by plain `http`.
    ///
    /// # Errors
    ///
    /// [`BadHosts`] if `url` is no web address, or holds a user or password: it goes on record.
    pub fn only(url: &str) -> Result<Self, BadHosts> {
        let bad = || BadHosts(format!("`{url}` is not a web address"));
        let parsed = Url::parse(url).map_err(|_| bad())?;
        if !parsed.username().is_empty() || parsed.password().is_some() {
            let host = parsed.host_str().unwrap_or_default();
            return Err(BadHosts(format!(
                "the address of `{host}` holds a user or a password, which is no place for a key"
            )));
        }
        let is_web = matches!(parsed.scheme(), "http" | "https");
        let host = plain_host(&parsed).filter(|_| is_web).ok_or_else(bad)?;
        Ok(Self::Listed(vec![HostRule::Exact { host, private: true, plain: true }]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_host_of_an_address_is_allowed() {
        for (url, host) in [
            ("https://api.example.com", "api.example.com"),
            ("https://API.example.com./v1?x", "api.example.com"),
            ("http://127.0.0.1:8080/", "127.0.0.1"),
            ("http://[::1]:8080", "::1"),
        ] {
            let hosts = Hosts::only(url).unwrap();
            assert!(hosts.allows(host) && hosts.allows_private(host), "{url}");
            assert!(!hosts.allows("example.com") && !hosts.allows("x.api.example.com"), "{url}");
        }
        for url in ["http://user:secret@example.com/v1", "https://user@example.com"] {
            let said = Hosts::only(url).unwrap_err().to_string();
            assert!(said.contains("example.com") && !said.contains("secret"), "{said}");
        }
        for url in ["", "api.example.com", "file:///etc/passwd", "https://"] {
            assert_eq!(Hosts::only(url), Err(BadHosts(format!("`{url}` is not a web address"))));
        }
    }
}
