//! The fields that are lists: what is authorized, and which tool servers to connect.

use super::fields::dropped;
use super::node::{BriefNode, Map};
use super::problem::{Problem, Problems};
use super::values::McpServer;
use super::whitespace::trim;
use crate::gate::authorization::covers_something;
use crate::gate::native;
use crate::words::category::{MCP_TOOL, STATIC};
use crate::words::nearest::did_you_mean;

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
        } else if !covers_something(entry) {
            let (why, fix) = useless(entry, &categories);
            problems.push(Problem::warning("authorized_costs", why).found(entry).fix(fix), Some(node.at));
        }
    }
    entries.into_iter().map(|(entry, _)| entry).collect()
}

/// Returns the reason why an entry covers nothing, and what was probably meant.
fn useless(entry: &str, categories: &[&str]) -> (&'static str, String) {
    let server = entry.strip_prefix("mcp_tool:").map(|rest| rest.trim_end_matches(':'));
    if let Some(server) = server.filter(|name| !name.is_empty() && !name.contains(['*', ':'])) {
        let fix = format!("write `mcp_tool:{server}:*` for every tool of the server, or name one tool");
        return ("a server alone covers none of its tools, so this authorizes nothing", fix);
    }
    if entry == MCP_TOOL || entry.starts_with("mcp_tool:") {
        let fix = "write `mcp_tool:SERVER:TOOL`, `mcp_tool:SERVER:*` or `mcp_tool:*`".to_owned();
        return ("this names no tool of a tool server, so it authorizes nothing", fix);
    }
    if let Ok(needed) = native::categories(entry)
        && needed.iter().all(|category| covers_something(category.as_str()))
    {
        let needed: Vec<String> = needed.iter().map(|category| format!("`{category}`")).collect();
        let fix = match needed.as_slice() {
            [] => "leave it out: it needs no authorization".to_owned(),
            needed => format!("write {}", needed.join(" and ")),
        };
        return ("this is a tool, not a category, so it authorizes nothing", fix);
    }
    let fix = did_you_mean(entry, categories).unwrap_or_else(|| format!("one of {}", categories.join(", ")));
    let why = if entry.contains('*') {
        "`*` stands alone or for the tools of tool servers, so this authorizes nothing"
    } else {
        "there is no such category, so this authorizes nothing"
    };
    (why, fix)
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
pub(super) fn texts<'a>(map: &'a Map, field: &str, problems: &mut Problems<'_>) -> Vec<(String, &'a BriefNode)> {
    let node = map.get(field).map(|field| &field.node);
    node.map(|node| texts_of(node, field, problems)).unwrap_or_default()
}

/// The items of the list `node` that are text and not blank, trimmed, with a warning for each other one.
pub(super) fn texts_of<'a>(
    node: &'a BriefNode,
    field: &str,
    problems: &mut Problems<'_>,
) -> Vec<(String, &'a BriefNode)> {
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
