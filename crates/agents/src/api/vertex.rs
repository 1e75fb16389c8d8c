//! Addresses of Google's Vertex AI, where the models of several publishers are.
//!
//! In: a base URL. Out: the [`PublisherBase`] that it names, if it is one of a publisher's. The path counts and not the
//! host, so that a gateway in front of it is spoken to in the same way.

/// Anthropic's word in a path.
pub(crate) const ANTHROPIC: &str = "anthropic";

/// Google's word in a path.
pub(crate) const GOOGLE: &str = "google";

/// The address of a publisher's models.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct PublisherBase {
    /// The base URL up to the publisher, with its query; `/models/...` follows.
    pub(crate) base_url: String,
    /// False for the express mode, whose path names no project and which is reached by a key.
    pub(crate) has_project: bool,
}

/// Returns the place that a base URL names, if its path ends with that of the publisher, with or without `/models`
/// behind it.
pub(crate) fn place(base_url: &str, publisher: &str) -> Option<PublisherBase> {
    let (address, query) = base_url.split_once('?').unwrap_or((base_url, ""));
    let address = address.trim_end_matches('/');
    let address = address.strip_suffix("/models").unwrap_or(address).trim_end_matches('/');
    let before = address.strip_suffix(publisher)?.strip_suffix("/publishers/")?;
    let mark = if query.is_empty() { "" } else { "?" };
    Some(PublisherBase { base_url: format!("{address}{mark}{query}"), has_project: before.contains("/projects/") })
}

/// Returns true if a base URL is one of Vertex AI that takes bearer tokens and no keys.
#[must_use]
pub fn wants_token(base_url: &str) -> bool {
    place(base_url, ANTHROPIC).is_some() || place(base_url, GOOGLE).is_some_and(|place| place.has_project)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_known_by_the_end_of_its_path() {
        let project = "https://europe-west1-aiplatform.googleapis.com/v1/projects/p/locations/europe-west1";
        let claude = format!("{project}/publishers/anthropic");
        let claude = claude.as_str();
        for (base_url, publisher, expected) in [
            (claude.to_owned(), ANTHROPIC, Some((claude, true))),
            (format!("{claude}/"), ANTHROPIC, Some((claude, true))),
            (format!("{claude}/models"), ANTHROPIC, Some((claude, true))),
            (format!("{claude}/models/"), ANTHROPIC, Some((claude, true))),
            ("http://x:1/publishers/anthropic".to_owned(), ANTHROPIC, Some(("http://x:1/publishers/anthropic", false))),
            (
                "https://x/publishers/google/models?a=1".to_owned(),
                GOOGLE,
                Some(("https://x/publishers/google?a=1", false)),
            ),
            (claude.to_owned(), GOOGLE, None),
            (format!("{project}/publishers/mistralai"), ANTHROPIC, None),
            (format!("{project}/publishers/not-anthropic"), ANTHROPIC, None),
            (format!("{claude}/models/claude-x"), ANTHROPIC, None),
            ("https://api.anthropic.com".to_owned(), ANTHROPIC, None),
            ("https://gate.example/anthropic".to_owned(), ANTHROPIC, None),
            (String::new(), GOOGLE, None),
        ] {
            let found = place(&base_url, publisher);
            let found = found.as_ref().map(|place| (place.base_url.as_str(), place.has_project));
            assert_eq!(found, expected, "{base_url} {publisher}");
        }
    }

    #[test]
    fn only_the_express_mode_takes_keys() {
        for (base_url, expected) in [
            ("https://x/v1/projects/p/locations/global/publishers/anthropic", true),
            ("https://x/v1/projects/p/locations/global/publishers/google", true),
            ("https://x/v1/publishers/google", false),
            ("https://api.anthropic.com", false),
        ] {
            assert_eq!(wants_token(base_url), expected, "{base_url}");
        }
    }
}
