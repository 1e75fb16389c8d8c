//! The fields that are lists: what is authorized, and which tool servers to connect.

use super::fields::dropped;
use super::node::{Map, Node};
use super::problem::{Problem, Problems};
use super::values::McpServer;
use super::whitespace::trim;
use crate::gate::category::STATIC;
use crate::nearest::did_you_mean;

/// The entries of `authorized_costs`, trimmed; those that are blank or no text are dropped.
///
/// An entry that names no category stays: it authorizes nothing, and its author should see it.
pub(super) fn authorized_costs(map: &Map, problems: &mut Problems<'_>) -> Vec<String> {
    let categories = STATIC.map(|(name, _)| name);
    let entries = texts(map, "authorized_costs", problems);
    for (entry, node) in &entries {
        if entry == "*" {
            let everything =
                Problem::warning("authorized_costs", "`*` authorizes everything: deletion, pushing, paying, deploying")
                    .fix("name the categories that are needed".to_owned());
            problems.push(everything, Some(node.at));
        } else if !categories.contains(&entry.as_str()) && !names_tool_server(entry) {
            let unknown = Problem::warning("authorized_costs", "there is no such category, so this authorizes nothing")
                .found(entry)
                .fix(did_you_mean(entry, &categories).or_else(|| Some(format!("one of {}", categories.join(", ")))));
            problems.push(unknown, Some(node.at));
        }
    }
    entries.into_iter().map(|(entry, _)| entry).collect()
}

/// Whether an entry is `mcp_tool:` with a server, and a tool or not.
fn names_tool_server(entry: &str) -> bool {
    entry.strip_prefix("mcp_tool:").is_some_and(|rest| rest.split(':').all(|part| !part.is_empty()))
}

/// The servers of `mcp_servers`, divided at the first `=`; an entry with an empty side is dropped.
pub(super) fn mcp_servers(map: &Map, problems: &mut Problems<'_>) -> Vec<McpServer> {
    let mut servers = Vec::new();
    for (entry, node) in texts(map, "mcp_servers", problems) {
        let sides = entry.split_once('=').map(|(name, command)| (trim(name), trim(command)));
        match sides {
            Some((name, command)) if !name.is_empty() && !command.is_empty() => {
                servers.push(McpServer { name: name.to_owned(), command: command.to_owned() });
            }
            Some(_) | None => {
                let warning = Problem::warning("mcp_servers", "this is not `name=command`, so no server is connected")
                    .expected("`name=command`")
                    .found(&entry);
                problems.push(warning, Some(node.at));
            }
        }
    }
    servers
}

/// The items of a list that are text and not blank, trimmed, with a warning for each other one.
pub(super) fn texts<'a>(map: &'a Map, field: &str, problems: &mut Problems<'_>) -> Vec<(String, &'a Node)> {
    let Some(node) = map.get(field).map(|field| &field.node) else {
        return Vec::new();
    };
    let Some(items) = node.items() else {
        if !node.is_blank() {
            let written = problems.text_at(node.at);
            let fix = node.text().map(|_| format!("write `{field}: [{}]`", super::problem::shown(written)));
            let warning = dropped(field, node, "a list", problems).fix(fix);
            problems.push(warning, Some(node.at));
        }
        return Vec::new();
    };
    let mut texts = Vec::new();
    for item in items {
        match item.text().map(trim) {
            Some("") => problems.push(Problem::warning(field, "a blank item is ignored"), Some(item.at)),
            Some(text) => texts.push((text.to_owned(), item)),
            None => {
                let quoted = format!("put it in quotes: `\"{}\"`", problems.text_at(item.at));
                let warning = dropped(field, item, "text", problems).fix(quoted);
                problems.push(warning, Some(item.at));
            }
        }
    }
    texts
}
