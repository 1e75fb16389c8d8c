//! The proxies that an operator has, for requests to model APIs.
//!
//! In: a look-up of variables, since nothing here reads the environment. Out: a client's settings. The hosts that
//! bypass a proxy are matched by reqwest, not here.

use std::fmt;

use reqwest::{NoProxy, Proxy, Url};
use thiserror::Error;

use super::plain_host;

/// The proxies that requests go through, by the scheme of the requested address. The default is no proxy.
///
/// `Debug` and every error leave out the user and the password of a proxy.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Proxies {
    http: Option<Via>,
    https: Option<Via>,
    excepted: String,
}

/// One proxy, and the variable that names it.
#[derive(Clone, PartialEq, Eq)]
struct Via {
    url: Url,
    variable: &'static str,
}

/// Reason why a variable's proxy can't be used. Names only the scheme of its value, since the rest may hold a password.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum BadProxy {
    /// It is no web address.
    #[error("`{variable}` must be a proxy's address, such as `http://proxy.example:3128`")]
    NotAnAddress {
        /// The variable.
        variable: &'static str,
    },
    /// It asks for a protocol that isn't spoken.
    #[error("`{variable}` names a proxy that speaks `{scheme}`; only proxies that speak `http` or `https` can be used")]
    Scheme {
        /// The variable.
        variable: &'static str,
        /// The protocol.
        scheme: String,
    },
}

impl Proxies {
    /// The proxies that variables name, as curl and most programs read them: `https_proxy` and `http_proxy`
    /// for the two schemes, `all_proxy` for a scheme without its own, and `no_proxy` with the hosts that are
    /// reached without. Names in upper case count where the one in lower case has no value; an empty value is
    /// none. An address without a scheme means `http://`.
    ///
    /// An entry of `no_proxy` is a host (and everything under it), an address, a network such as
    /// `10.0.0.0/8`, or `*` for everything. The own machine is no exception unless it is in the list.
    ///
    /// # Errors
    ///
    /// [`BadProxy`] about the first variable that can't be used.
    pub fn from_variables(value_of: impl Fn(&str) -> Option<String>) -> Result<Self, BadProxy> {
        let first = |names: [&'static str; 2]| {
            names.into_iter().find_map(|name| {
                let value = value_of(name)?;
                let value = value.trim();
                (!value.is_empty()).then(|| (name, value.to_owned()))
            })
        };
        let via = |names| first(names).map(|(variable, value)| via(variable, &value)).transpose();
        let excepted = first(["no_proxy", "NO_PROXY"]).map(|(_, value)| value).unwrap_or_default();
        let all = via(["all_proxy", "ALL_PROXY"])?;
        let (http, https) = (via(["http_proxy", "HTTP_PROXY"])?, via(["https_proxy", "HTTPS_PROXY"])?);
        // The matcher takes `*` for names only, not for hosts that are written as addresses.
        if excepted.split(',').any(|entry| entry.trim() == "*") {
            return Ok(Self::default());
        }
        Ok(Self { http: http.or_else(|| all.clone()), https: https.or(all), excepted })
    }

    /// The passwords in the proxies' addresses, as they are written and as they are meant: what must not be
    /// shown or kept anywhere.
    #[must_use]
    pub fn passwords(&self) -> Vec<String> {
        let mut passwords = Vec::new();
        for written in self.all().filter_map(|via| via.url.password()) {
            passwords.push(written.to_owned());
            passwords.push(percent_decoded(written));
        }
        passwords.sort_unstable();
        passwords.dedup();
        passwords
    }

    /// Returns the note about the proxy behind a failed exchange by `scheme`; empty if it has no proxy.
    pub(super) fn said(&self, scheme: &str) -> String {
        let via = match scheme {
            "http" => self.http.as_ref(),
            "https" => self.https.as_ref(),
            _ => None,
        };
        via.map(|via| format!(" (`{}` is {})", via.variable, bare(&via.url))).unwrap_or_default()
    }

    /// The hosts of the proxies, as [`plain_host`] writes them.
    pub(super) fn hosts(&self) -> Vec<String> {
        self.all().filter_map(|via| plain_host(&via.url)).collect()
    }

    /// The proxies as reqwest takes them.
    pub(super) fn for_client(&self) -> Result<Vec<Proxy>, reqwest::Error> {
        let excepted = NoProxy::from_string(&self.excepted);
        let http = self.http.iter().map(|via| Proxy::http(via.url.clone()));
        let https = self.https.iter().map(|via| Proxy::https(via.url.clone()));
        http.chain(https).map(|proxy| Ok(proxy?.no_proxy(excepted.clone()))).collect()
    }

    fn all(&self) -> impl Iterator<Item = &Via> {
        self.http.iter().chain(&self.https)
    }
}

impl fmt::Debug for Proxies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |via: &Option<Via>| via.as_ref().map(|via| bare(&via.url));
        f.debug_struct("Proxies")
            .field("http", &shown(&self.http))
            .field("https", &shown(&self.https))
            .field("excepted", &self.excepted)
            .finish()
    }
}

fn via(variable: &'static str, value: &str) -> Result<Via, BadProxy> {
    let with_scheme = if value.contains("://") { value.to_owned() } else { format!("http://{value}") };
    let bad = || BadProxy::NotAnAddress { variable };
    let url = Url::parse(&with_scheme).map_err(|_| bad())?;
    match url.scheme() {
        "http" | "https" => {}
        scheme => return Err(BadProxy::Scheme { variable, scheme: scheme.to_owned() }),
    }
    plain_host(&url).ok_or_else(bad)?;
    Ok(Via { url, variable })
}

/// Returns the place of a proxy, and nothing else of its address.
fn bare(url: &Url) -> String {
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    format!("{}://{}{port}", url.scheme(), url.host_str().unwrap_or_default())
}

/// `text` with `%41` as `A`; what is no such escape stays.
pub(crate) fn percent_decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let escaped = bytes.get(at + 1..at + 3).filter(|_| bytes[at] == b'%');
        let byte = escaped
            .filter(|digits| digits.iter().all(u8::is_ascii_hexdigit))
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        decoded.push(byte.unwrap_or(bytes[at]));
        at += if byte.is_some() { 3 } else { 1 };
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> Result<Proxies, BadProxy> {
        Proxies::from_variables(|name| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        })
    }

    /// Checks which proxies are used for `http` and `https`.
    #[track_caller]
    fn check(variables: &[(&str, &str)], http: Option<&str>, https: Option<&str>) {
        let proxies = read(variables).unwrap();
        let shown = |via: &Option<Via>| via.as_ref().map(|via| bare(&via.url));
        assert_eq!((shown(&proxies.http).as_deref(), shown(&proxies.https).as_deref()), (http, https), "{variables:?}");
    }

    #[test]
    fn each_scheme_has_its_variable_and_lower_case_wins() {
        let (a, b) = (Some("http://a:1"), Some("http://b:2"));
        check(&[], None, None);
        check(&[("https_proxy", "http://a:1")], None, a);
        check(&[("HTTPS_PROXY", "http://a:1"), ("https_proxy", "http://b:2")], None, b);
        check(&[("HTTPS_PROXY", "http://a:1"), ("https_proxy", " ")], None, a);
        check(&[("HTTP_PROXY", "http://a:1")], a, None);
        check(&[("all_proxy", "http://a:1")], a, a);
        check(&[("ALL_PROXY", "http://a:1"), ("https_proxy", "http://b:2")], a, b);
        check(&[("https_proxy", "a:1")], None, a);
        check(&[("https_proxy", "localhost:1")], None, Some("http://localhost:1"));
        check(&[("https_proxy", "https://user:pw@a:1/x?y")], None, Some("https://a:1"));
        check(&[("https_proxy", "[::1]:1")], None, Some("http://[::1]:1"));
        check(&[("all_proxy", "http://a:1"), ("NO_PROXY", "x.dev, *")], None, None);
    }

    #[test]
    fn what_is_no_proxy_is_refused_without_its_password() {
        for value in ["http://", "http://:pw-canary@", "a b:pw-canary", "http://user:pw-canary@a:port"] {
            let error = read(&[("HTTPS_PROXY", value)]).unwrap_err();
            assert_eq!(error, BadProxy::NotAnAddress { variable: "HTTPS_PROXY" }, "{value}");
        }
        for (value, scheme) in
            [("socks5://user:pw-canary@a:1", "socks5"), ("socks5h://a", "socks5h"), ("ftp://a", "ftp")]
        {
            let error = read(&[("all_proxy", value), ("https_proxy", "http://a:1")]).unwrap_err();
            assert_eq!(error, BadProxy::Scheme { variable: "all_proxy", scheme: scheme.to_owned() }, "{value}");
        }
    }

    #[test]
    fn a_password_is_told_to_whoever_masks_and_to_nobody_else() {
        let proxies = read(&[("all_proxy", "http://me:pw%2Fcanary@a:1"), ("http_proxy", "http://b:2")]).unwrap();
        assert_eq!(proxies.passwords(), ["pw%2Fcanary", "pw/canary"]);
        let shown = format!("{proxies:?}{}{}", proxies.said("http"), proxies.said("https"));
        assert!(!shown.contains("canary") && shown.contains("(`all_proxy` is http://a:1)"), "{shown}");
        assert_eq!(
            (percent_decoded("%"), percent_decoded("%4"), percent_decoded("%zz%41")),
            ("%".into(), "%4".into(), "%zzA".into())
        );
    }
}
