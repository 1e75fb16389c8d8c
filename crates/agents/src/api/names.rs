//! Names that every API takes.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use adjutant_core::words::tool::{ToolSpec, content_hash};

/// The most characters in a tool's name: the APIs take `^[a-zA-Z0-9_-]{1,64}$`.
const NAME_CHARS_MAX: usize = 64;

/// Number of hexadecimal digits of the original's hash that end a changed name: the chance that two of a run's few
/// dozen tools share eight is one in millions.
const HASH_CHARS: usize = 8;

/// Returns the tools' own names by the names that an API knows them by, where these differ.
#[must_use]
pub fn changed_names(tools: &[ToolSpec]) -> BTreeMap<String, String> {
    let changed = tools.iter().map(|tool| (wire_name(&tool.name), tool.name.clone()));
    changed.filter(|(wire, own)| wire != own).collect()
}

/// Returns a name that every API takes: the name itself if it can be, else what is left of it with a hash, so that two
/// names stay two. The ids of calls, which another adapter may have made, follow the same rule.
#[must_use]
pub fn wire_name(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if (1..=NAME_CHARS_MAX).contains(&name.len()) && name.chars().all(is_plain) {
        return name.to_owned();
    }
    let kept = name.chars().map(|c| if is_plain(c) { c } else { '_' }).take(NAME_CHARS_MAX - HASH_CHARS - 1);
    let hash = content_hash(name.as_bytes());
    kept.chain(['_']).chain(hash.chars().take(HASH_CHARS)).collect()
}

/// Returns the name of a model as it stands in a path: folders and versions, such as `@20250929`, stay as they are, and
/// what a path can't have is encoded.
pub(crate) fn path_name(name: &str) -> String {
    let mut path = String::new();
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/@".contains(&byte) {
            path.push(char::from(byte));
        } else {
            write!(path, "%{byte:02X}").expect("a String takes everything");
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use adjutant_core::words::tool::ToolEffect;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_name_in_a_path_can_not_leave_its_place() {
        for (name, expected) in [
            ("claude-sonnet-4-5@20250929", "claude-sonnet-4-5@20250929"),
            ("tunedModels/mine", "tunedModels/mine"),
            ("a?key=b#c:d", "a%3Fkey%3Db%23c%3Ad"),
            ("größe x", "gr%C3%B6%C3%9Fe%20x"),
        ] {
            assert_eq!(path_name(name), expected);
        }
    }

    #[test]
    fn names_that_the_api_refuses_are_changed_and_stay_apart() {
        let long = "x".repeat(65);
        let names = ["read_file", "mcp.server/read", "mcp_server.read", "größe", "", &long];
        let wire: Vec<String> = names.iter().map(|name| wire_name(name)).collect();
        assert_eq!(wire[0], "read_file");
        for (index, name) in wire.iter().enumerate() {
            assert!((1..=64).contains(&name.len()), "{name}");
            assert!(name.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c)), "{name}");
            assert!(!wire[..index].contains(name), "{name} twice");
        }
        let spec = |name: &&str| ToolSpec {
            name: (*name).to_owned(),
            description: "reads".to_owned(),
            categories: Vec::new(),
            schema: json!({ "type": "object" }),
            effect: ToolEffect::Reads,
        };
        let tools: Vec<ToolSpec> = names.iter().map(spec).collect();
        let changed = changed_names(&tools);
        let expected = names.iter().zip(&wire).skip(1).map(|(own, wire)| (wire.clone(), (*own).to_owned())).collect();
        assert_eq!(changed, expected);
    }
}
