//! The list of hosts that may be reached.

use std::net::IpAddr;
use std::path::Path;
use std::{fs, io};

use reqwest::Url;
use thiserror::Error;

use super::plain_host;

/// The longest list that is read, in bytes: anything longer is something else.
const LIST_BYTES_MAX: u64 = 1024 * 1024;

/// The hosts that may be reached.
///
/// The file is a JSON array of strings, as the peer's `http-allow.json`: a host, or `*.base` for a host and
/// everything under it. Ours adds two words before a host (not before `*.`): `http://`, so that it may be spoken
/// to without TLS, and `private:`, so that it may also resolve to a private or local address. What is private
/// seldom has a certificate, so `private:` includes `http`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hosts {
    /// Every public host: there is no list.
    Any,
    /// These and no others.
    Listed(Vec<HostRule>),
    /// None, because the list can't be read: a broken fence is closed, not opened.
    Broken(BadHosts),
}

/// One entry of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostRule {
    /// This host.
    Exact {
        /// Its name or address as addresses are compared: in lower case, a name beyond ASCII in its ASCII form.
        host: String,
        /// True if it may have a private address.
        private: bool,
        /// True if it may be spoken to by plain `http`.
        plain: bool,
    },
    /// A host and everything under it.
    Under(String),
}

/// Reason why a list of hosts can't be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct BadHosts(pub String);

impl Hosts {
    /// Reads the list; no text means there is no list.
    #[must_use]
    pub fn parse(text: Option<&str>) -> Self {
        let Some(text) = text else { return Self::Any };
        let entries: Result<Vec<String>, _> = serde_json::from_str(text);
        match entries {
            Err(error) => Self::Broken(BadHosts(format!("the list is not a JSON array of strings: {error}"))),
            Ok(entries) => Self::of(entries.iter().map(String::as_str)),
        }
    }

    /// The list with these entries; blank ones are skipped.
    #[must_use]
    pub fn of<'a>(entries: impl IntoIterator<Item = &'a str>) -> Self {
        let entries =
            entries.into_iter().map(|entry| entry.trim().to_ascii_lowercase()).filter(|entry| !entry.is_empty());
        match entries.map(|entry| rule(&entry)).collect() {
            Ok(rules) => Self::Listed(rules),
            Err(bad) => Self::Broken(bad),
        }
    }

    /// Returns true if `host` (lower case, without brackets and final dot) may be reached.
    #[must_use]
    pub fn allows(&self, host: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Listed(rules) => rules.iter().any(|rule| match rule {
                HostRule::Exact { host: listed, .. } => listed == host,
                HostRule::Under(base) => {
                    host.strip_suffix(base.as_str()).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
                }
            }),
            Self::Broken(_) => false,
        }
    }

    /// The list in the file at `path`. No file means no list; one that is there and can't be read allows nothing.
    #[must_use]
    pub fn load(path: &Path) -> Self {
        let broken = |why: &dyn std::fmt::Display| {
            Self::Broken(BadHosts(format!("the list `{}` can't be read: {why}", path.display())))
        };
        match fs::symlink_metadata(path) {
            // A link to nowhere is there: whoever made it meant a list.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Self::Any,
            Err(error) => broken(&error),
            Ok(_) => match fs::metadata(path) {
                Ok(found) if !found.is_file() => broken(&"it is not a file"),
                Ok(found) if found.len() > LIST_BYTES_MAX => broken(&"it is too long"),
                Ok(_) => fs::read_to_string(path).map_or_else(|error| broken(&error), |text| Self::parse(Some(&text))),
                Err(error) => broken(&error),
            },
        }
    }

    /// The list for an address that an operator chose: its host alone, which need not be listed to be reached. Whether
    /// it may have a private address, or be spoken to without TLS, is what this list says of it.
    #[must_use]
    pub fn chosen(&self, url: &str) -> Self {
        match Url::parse(url.trim()).ok().as_ref().and_then(plain_host) {
            None => Self::Listed(Vec::new()),
            Some(host) => {
                let (private, plain) = (self.allows_private(&host), self.allows_plain(&host));
                Self::Listed(vec![HostRule::Exact { host, private, plain }])
            }
        }
    }

    /// Returns true if `host` is listed by its exact name, so that any of its ports may be spoken to.
    #[must_use]
    pub fn names(&self, host: &str) -> bool {
        self.exact(host, |_, _| true)
    }

    /// Returns true if `host` may be spoken to by plain `http`.
    #[must_use]
    pub fn allows_plain(&self, host: &str) -> bool {
        self.exact(host, |_, plain| plain)
    }

    /// Returns true if `host` may have a private or local address.
    #[must_use]
    pub fn allows_private(&self, host: &str) -> bool {
        self.exact(host, |private, _| private)
    }

    /// Returns true if an entry is exactly this host, and `wanted` accepts its `private` and `plain`.
    fn exact(&self, wanted_host: &str, wanted: impl Fn(bool, bool) -> bool) -> bool {
        let Self::Listed(rules) = self else { return false };
        rules.iter().any(|rule| match rule {
            HostRule::Exact { host, private, plain } => host == wanted_host && wanted(*private, *plain),
            HostRule::Under(_) => false,
        })
    }

    /// Returns the fault of the list, to be put behind a refusal; empty if the list can be used.
    pub(super) fn trouble(&self) -> String {
        match self {
            Self::Any | Self::Listed(_) => String::new(),
            Self::Broken(bad) => format!(" ({bad}, so that no host is allowed)"),
        }
    }
}

fn rule(entry: &str) -> Result<HostRule, BadHosts> {
    let bad = || BadHosts(format!("`{entry}` is no host, `*.base`, `http://host` or `private:host`"));
    let (private, rest) = match entry.strip_prefix("private:") {
        Some(rest) => (true, rest.trim()),
        None => (false, entry),
    };
    let (plain, host) = match rest.strip_prefix("http://") {
        Some(host) => (true, host),
        None => (private, rest),
    };
    match host.strip_prefix("*.") {
        Some(base) if !plain => Ok(HostRule::Under(compared(base).ok_or_else(bad)?)),
        None => Ok(HostRule::Exact { host: compared(host).ok_or_else(bad)?, private, plain }),
        Some(_) => Err(bad()),
    }
}

/// A listed host as those of addresses are compared with it; none if it is no name and no number.
fn compared(host: &str) -> Option<String> {
    let is_name = |label: &str| !label.is_empty() && label.chars().all(|c| c.is_alphanumeric() || c == '-' || c == '_');
    match host.parse::<IpAddr>() {
        Ok(address) => Some(address.to_string()),
        Err(_) if host.split('.').all(is_name) => plain_host(&Url::parse(&format!("https://{host}/")).ok()?),
        Err(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(list: &str, host: &str, allowed: bool) {
        assert_eq!(Hosts::parse(Some(list)).allows(host), allowed, "{list} {host}");
    }

    #[test]
    fn a_host_is_allowed_by_name_or_under_a_base() {
        check(r#"["api.dev"]"#, "api.dev", true);
        check(r#"[" API.dev ", ""]"#, "api.dev", true);
        check(r#"["api.dev"]"#, "x.api.dev", false);
        check(r#"["*.dev"]"#, "x.dev", true);
        check(r#"["*.dev"]"#, "dev", true);
        check(r#"["*.dev"]"#, "a.b.dev", true);
        check(r#"["*.dev"]"#, "xdev", false);
        check("[]", "api.dev", false);
        assert!(Hosts::parse(None).allows("api.dev"));
    }

    #[test]
    fn a_broken_list_allows_nothing() {
        for list in [
            "",
            "{",
            "{}",
            r#"["api.dev", 1]"#,
            r#"["*", "api.dev"]"#,
            r#"["*.", "api.dev"]"#,
            r#"["https://api.dev", "api.dev"]"#,
            r#"["private:*.dev", "api.dev"]"#,
            r#"["http://*.dev", "api.dev"]"#,
            r#"["api.dev/", "api.dev"]"#,
            r#"["api.dev:443", "api.dev"]"#,
        ] {
            check(list, "api.dev", false);
        }
    }

    #[test]
    fn private_addresses_and_plain_http_need_the_very_name() {
        let hosts = Hosts::of(["private:localhost", "api.dev", "*.lan", "private:127.0.0.1", "private:::1"]);
        assert!(hosts.allows_private("localhost") && hosts.allows_private("127.0.0.1") && hosts.allows_private("::1"));
        assert!(
            !hosts.allows_private("api.dev")
                && !hosts.allows_private("x.lan")
                && !Hosts::Any.allows_private("localhost")
        );
        assert!(hosts.names("api.dev") && !hosts.names("x.lan") && !Hosts::Any.names("api.dev"));
        assert!(hosts.allows_plain("localhost") && !hosts.allows_plain("api.dev") && !hosts.allows_plain("x.lan"));
        let hosts = Hosts::of(["http://old.dev", "old.dev", "private:http://10.0.0.1"]);
        assert!(hosts.allows_plain("old.dev") && !hosts.allows_private("old.dev") && hosts.allows_private("10.0.0.1"));
    }

    #[test]
    fn a_listed_host_is_compared_in_the_form_that_addresses_have() {
        check(r#"["b\u00fccher.dev"]"#, "xn--bcher-kva.dev", true);
        check(r#"["*.b\u00fccher.dev"]"#, "a.xn--bcher-kva.dev", true);
        check(r#"["0:0:0:0:0:0:0:1"]"#, "::1", true);
        check(r#"["0x7f.1"]"#, "127.0.0.1", true);
    }

    #[test]
    fn fail_closed_allow_list() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        assert_eq!(Hosts::load(&path("absent")), Hosts::Any);
        fs::write(path("good"), r#"["api.dev"]"#).unwrap();
        assert!(Hosts::load(&path("good")).allows("api.dev"));
        fs::write(path("empty"), "").unwrap();
        fs::write(path("torn"), r#"["api.dev", "#).unwrap();
        fs::write(path("binary"), [0xff, 0xfe]).unwrap();
        fs::create_dir(path("folder")).unwrap();
        std::os::unix::fs::symlink(path("nowhere"), path("link")).unwrap();
        fs::write(path("long"), " ".repeat(LIST_BYTES_MAX as usize + 1)).unwrap();
        for name in ["empty", "torn", "binary", "folder", "link", "long"] {
            let hosts = Hosts::load(&path(name));
            assert!(matches!(hosts, Hosts::Broken(_)) && !hosts.allows("api.dev"), "{name}: {hosts:?}");
        }
    }
}
