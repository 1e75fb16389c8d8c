//! The fields about a crew: which roles, and who plays them.

use std::collections::HashMap;

use indexmap::IndexMap;

use super::fields::{dropped, item_text, text_in, unreadable};
use super::list_fields::{texts, texts_of};
use super::node::{BriefNode, Map, NodeValue};
use super::problem::{At, Problem, Problems};
use super::values::{OptionValue, RoleAdapter};
use super::whitespace::trim;

/// The contents of the field `roles`.
pub(super) struct RolesField {
    /// The roles in their order; absent if the brief does not say, empty for an explicit `[]`.
    pub(super) ids: Option<Vec<String>>,
    /// The adapters of the roles, if `roles` is a map.
    pub(super) adapters: IndexMap<String, RoleAdapter>,
}

/// Reads `roles`: a list, a map from role to adapter, or a text with commas.
pub(super) fn roles(map: &Map, problems: &mut Problems<'_>) -> RolesField {
    let mut adapters = IndexMap::new();
    let ids = map.get("roles").map(|field| &field.node).and_then(|node| match &node.value {
        NodeValue::List(_) | NodeValue::Inline(..) => {
            Some(texts(map, "roles", problems).into_iter().map(|(id, _)| id).collect())
        }
        NodeValue::Map(roles) | NodeValue::InlineMap(roles, _) => {
            adapters = adapters_of(roles, "roles", problems);
            Some(roles.keys().cloned().collect())
        }
        NodeValue::Text(text) => {
            let ids: Vec<String> = text.split(',').map(trim).filter(|id| !id.is_empty()).map(str::to_owned).collect();
            (!ids.is_empty()).then_some(ids)
        }
        NodeValue::Bool(_) | NodeValue::Number(_) => {
            let warning = dropped("roles", node, "a list of roles", problems);
            problems.push(warning, Some(node.at));
            None
        }
    });
    RolesField { ids, adapters }
}

/// Reads `role_adapters` on top of what `roles` said: an entry replaces the whole entry of its role.
pub(super) fn role_adapters(
    map: &Map,
    mut adapters: IndexMap<String, RoleAdapter>,
    problems: &mut Problems<'_>,
) -> IndexMap<String, RoleAdapter> {
    let Some(node) = map.get("role_adapters").map(|field| &field.node) else {
        return adapters;
    };
    match node.map() {
        Some(entries) => adapters.extend(adapters_of(entries, "role_adapters", problems)),
        None if node.is_blank() => {}
        None => {
            let unread = unreadable("role_adapters", node, "a map from role to adapter", problems);
            problems.push(
                unread.fix("write `ROLE: {adapter: NAME}` on a line for each role, indented".to_owned()),
                Some(node.at),
            );
        }
    }
    adapters
}

/// Reads `role_grants`: a map from role to the categories that it holds. What can't be read is an error: left out, it
/// would grant everything.
pub(super) fn role_grants(map: &Map, problems: &mut Problems<'_>) -> IndexMap<String, Vec<String>> {
    let mut grants = IndexMap::new();
    let Some(field) = map.get("role_grants").filter(|field| !field.node.is_blank()) else { return grants };
    let Some(entries) = field.node.map() else {
        let wrong = Problem::error("role_grants", "what roles are granted is not a map from role to a list")
            .expected("a line such as `executor: [shell_exec]` for each role, indented");
        problems.push(wrong, Some(field.key_at));
        return grants;
    };
    for (role, field) in entries {
        let path = format!("role_grants.{role}");
        if field.node.items().is_some() {
            let entries = texts_of(&field.node, &path, problems);
            grants.insert(role.clone(), entries.into_iter().map(|(entry, _)| entry).collect());
        } else {
            let wrong = Problem::error(path, "what a role is granted is not a list")
                .expected("a list such as `[shell_exec]`; `[]` grants nothing")
                .fix("leave the line out to grant the role all that the brief authorizes".to_owned());
            problems.push(wrong, Some(field.key_at));
        }
    }
    grants
}

fn adapters_of(entries: &Map, parent: &str, problems: &mut Problems<'_>) -> IndexMap<String, RoleAdapter> {
    let mut adapters = IndexMap::new();
    for (role, field) in entries {
        let path = format!("{parent}.{role}");
        match field.node.map() {
            Some(entry) => {
                adapters.insert(role.clone(), adapter(entry, &path, problems));
            }
            None => {
                let fix = format!("write `{role}: {{adapter: {}}}`", item_text(&field.node, problems));
                let unread = unreadable(&path, &field.node, "a map that holds `adapter`", problems).fix(fix);
                problems.push(unread, Some(field.node.at));
            }
        }
    }
    adapters
}

fn adapter(entry: &Map, path: &str, problems: &mut Problems<'_>) -> RoleAdapter {
    let options = entry
        .iter()
        .filter(|(key, _)| !matches!(key.as_str(), "adapter" | "model"))
        .filter_map(|(key, field)| Some((key.clone(), option(&field.node, problems)?)))
        .collect();
    RoleAdapter {
        // An adapter that is no text is an error of its own, told by the rule for adapters.
        adapter: entry.get("adapter").and_then(|field| field.node.text()).map(trim).unwrap_or_default().to_owned(),
        model: text_in(entry, path, "model", problems).filter(|model| !trim(model).is_empty()),
        options,
    }
}

fn option(node: &BriefNode, problems: &Problems<'_>) -> Option<OptionValue> {
    match &node.value {
        NodeValue::Bool(yes) => Some(OptionValue::Bool(*yes)),
        NodeValue::Number(number) => Some(OptionValue::Integer(*number)),
        NodeValue::Text(text) | NodeValue::InlineMap(_, text) => Some(OptionValue::Text(text.clone())),
        NodeValue::List(items) | NodeValue::Inline(items, _) => {
            Some(OptionValue::List(items.iter().map(|item| item_text(item, problems)).collect()))
        }
        NodeValue::Map(_) => None,
    }
}

/// Returns the place of a role's entry, or of a key in it: in `role_adapters`, else in `roles`.
pub(super) fn place(map: &Map, role: &str, key: Option<&str>) -> Option<At> {
    ["role_adapters", "roles"].into_iter().find_map(|parent| {
        let entry = map.get(parent)?.node.map()?.get(role)?;
        let value = key.and_then(|key| Some(entry.node.map()?.get(key)?.node.at)).filter(|at| at.start < at.end);
        Some(value.unwrap_or(entry.key_at))
    })
}

/// Returns the place of each id that is written in `roles` as an item or a key.
pub(super) fn role_places(map: &Map) -> HashMap<&str, At> {
    let Some(node) = map.get("roles").map(|field| &field.node) else {
        return HashMap::new();
    };
    let keys = node.map().into_iter().flatten().map(|(role, field)| (role.as_str(), field.key_at));
    let items = node.items().into_iter().flatten().filter_map(|item| Some((trim(item.text()?), item.at)));
    keys.chain(items).collect()
}
