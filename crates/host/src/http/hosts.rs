//! The list of hosts that may be reached.

use std::net::IpAddr;

use thiserror::Error;

/// The hosts that may be reached.
///
/// The file is a JSON array of strings, as the peer's `http-allow.json`: a host, or `*.base` for a host and
/// everything under it. Ours adds `private:` before a host (not before `*.`): it may then also resolve to a
/// private or local address.
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
        /// Its name or address, in lower case.
        host: String,
        /// Whether it may have a private address.
        private: bool,
    },
    /// A host and everything under it.
    Under(String),
}

/// Why a list of hosts can't be used.
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

    /// Whether `host` (lower case, without brackets and final dot) may be reached.
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

    /// Whether `host` is listed by its very name, which is what plain `http` needs.
    #[must_use]
    pub fn names(&self, host: &str) -> bool {
        self.exact(host).is_some()
    }

    /// Whether `host` may have a private or local address.
    #[must_use]
    pub fn allows_private(&self, host: &str) -> bool {
        self.exact(host) == Some(true)
    }

    fn exact(&self, wanted: &str) -> Option<bool> {
        let Self::Listed(rules) = self else {
            return None;
        };
        let mut found = rules.iter().filter_map(|rule| match rule {
            HostRule::Exact { host, private } if host == wanted => Some(*private),
            HostRule::Exact { .. } | HostRule::Under(_) => None,
        });
        let first = found.next()?;
        Some(first || found.any(|private| private))
    }

    /// What is wrong with the list, to be put behind a refusal; empty if nothing is.
    pub(super) fn trouble(&self) -> String {
        match self {
            Self::Any | Self::Listed(_) => String::new(),
            Self::Broken(bad) => format!(" ({bad}, so that no host is allowed)"),
        }
    }
}

fn rule(entry: &str) -> Result<HostRule, BadHosts> {
    let bad = || BadHosts(format!("`{entry}` is no host, `*.base` or `private:host`"));
    let is_host = |host: &str| {
        let is_name = host
            .split('.')
            .all(|label| !label.is_empty() && label.chars().all(|c| c.is_alphanumeric() || c == '-' || c == '_'));
        is_name || host.parse::<IpAddr>().is_ok()
    };
    let (private, host) = match entry.strip_prefix("private:") {
        Some(host) => (true, host.trim()),
        None => (false, entry),
    };
    match host.strip_prefix("*.") {
        Some(base) if !private && is_host(base) => Ok(HostRule::Under(base.to_owned())),
        None if is_host(host) => Ok(HostRule::Exact { host: host.to_owned(), private }),
        Some(_) | None => Err(bad()),
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
    }
}
