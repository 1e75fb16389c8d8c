//! Names of functions. The API takes dots and more than other APIs do, but no name that begins with a digit
//! or a dash.

use std::collections::BTreeMap;

use adjutant_core::words::tool::ToolSpec;

use crate::api::wire_name;

/// Returns the tools' own names by the names that the API knows them by, where these differ.
pub(super) fn changed(tools: &[ToolSpec]) -> BTreeMap<String, String> {
    let changed = tools.iter().map(|tool| (of(&tool.name), tool.name.clone()));
    changed.filter(|(wire, own)| wire != own).collect()
}

/// Returns the name that the API knows a tool by; two names stay two.
pub(super) fn of(name: &str) -> String {
    let wire = wire_name(name);
    if wire.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_') {
        return wire;
    }
    // The space makes it a changed name, with a hash of its own.
    wire_name(&format!("tool {name}"))
}

/// Returns the id of a call as the provider gave it; `None` for one that was made here.
pub(super) fn given_id(call_id: &str) -> Option<&str> {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let made = call_id.strip_prefix("call_").and_then(|numbers| numbers.split_once('_'));
    match made {
        Some((turn, number)) if is_number(turn) && is_number(number) => None,
        _ => Some(call_id),
    }
}

/// Returns the id of a call that came without one: the same whenever the same reply is read.
pub(super) fn made_id(turn: u32, number: usize) -> String {
    format!("call_{turn}_{number}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_begins_as_the_api_wants_it_and_stays_apart() {
        let names = ["read_file", "1x", "tool_1x", "-x", "_x", "a.b", "größe", ""];
        let wire: Vec<String> = names.iter().map(|name| of(name)).collect();
        assert_eq!((wire[0].as_str(), wire[4].as_str()), ("read_file", "_x"));
        for (index, name) in wire.iter().enumerate() {
            assert!(name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') && name.len() <= 64, "{name}");
            assert!(!wire[..index].contains(name), "{name} twice");
        }
    }

    #[test]
    fn an_id_that_was_made_here_is_known_as_such() {
        assert_eq!(given_id(&made_id(3, 2)), None);
        for given in ["call_x_1", "call_1", "call__", "toolu_1", "", "call_1_2x"] {
            assert_eq!(given_id(given), Some(given));
        }
    }
}
