//! The lines of the file that keeps what outlives a run: `projects/<slug>/permission_grants.jsonl` of the home.
//!
//! In: lines. Out: the grants that hold, and what was skipped. The lines are OpenWar's, so that its file is read
//! by ours and ours by it; what binds a grant to its act is added to them. A line that is damaged, of another
//! version, or for something that may not be kept is skipped, and the rest holds.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::grant::{Grant, may_persist};
use crate::words::{Category, Lasts};

/// The contents of a file of grants.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Kept {
    /// The grants that were not revoked, in the order in which they were given.
    pub grants: Vec<Grant>,
    /// The ids of the revoked grants.
    pub revoked: BTreeSet<String>,
    /// The lines that were skipped, from 1, each with why.
    pub skipped: Vec<(u64, String)>,
}

#[derive(Deserialize)]
// Error messages name the type: the name is pinned.
#[serde(rename = "Line")]
struct GrantLine {
    v: u64,
    op: String,
    grant_id: String,
    action: Option<String>,
    category: Option<Category>,
    categories: Option<Vec<Category>>,
    scope: Option<Lasts>,
    reasoning: Option<String>,
    granted_at: Option<Timestamp>,
    tool: Option<String>,
    command: Option<String>,
    path: Option<String>,
    until: Option<Timestamp>,
    uses: Option<u32>,
}

/// The version of the lines.
const VERSION: u64 = 1;

impl Kept {
    /// Reads a whole file. Blank lines are nothing.
    #[must_use]
    pub fn read(text: &str) -> Self {
        let mut kept = Self::default();
        for (number, line) in (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty()) {
            if let Err(why) = kept.take(line) {
                kept.skipped.push((number, why));
            }
        }
        let revoked = &kept.revoked;
        kept.grants.retain(|grant| !revoked.contains(&grant.grant_id));
        kept
    }

    fn take(&mut self, line: &str) -> Result<(), String> {
        let line: GrantLine = serde_json::from_str(line).map_err(|error| format!("it can't be read: {error}"))?;
        if line.v != VERSION {
            return Err(format!("it is of version {}, not {VERSION}", line.v));
        }
        match line.op.as_str() {
            "revoke" => {
                self.revoked.insert(line.grant_id);
                Ok(())
            }
            "grant" => {
                let grant = line.grant()?;
                if self.grants.iter().any(|known| known.grant_id == grant.grant_id) {
                    return Err("its id was used before".to_owned());
                }
                self.grants.push(grant);
                Ok(())
            }
            other => Err(format!("`{other}` is nothing that a line can do")),
        }
    }

    /// True if the file mentions the grant.
    #[must_use]
    pub fn knows(&self, grant_id: &str) -> bool {
        self.revoked.contains(grant_id) || self.grants.iter().any(|grant| grant.grant_id == grant_id)
    }
}

impl GrantLine {
    fn grant(self) -> Result<Grant, String> {
        if self.scope != Some(Lasts::Persistent) {
            return Err("only what is `persistent` is kept".to_owned());
        }
        let categories = self.categories.unwrap_or_else(|| self.category.into_iter().collect());
        if categories.is_empty() {
            return Err("it names no category, so it covers nothing".to_owned());
        }
        if !may_persist(&categories) {
            let names: Vec<String> = categories.iter().map(ToString::to_string).collect();
            return Err(format!("{} may not be granted beyond a run", names.join(", ")));
        }
        Ok(Grant {
            grant_id: self.grant_id,
            action: self.action.unwrap_or_default(),
            reasoning: self.reasoning.unwrap_or_default(),
            categories,
            tool: self.tool,
            command: self.command,
            path: self.path,
            act: None,
            lasts: Lasts::Persistent,
            until: self.until,
            uses: self.uses,
            granted_at: self.granted_at.ok_or("it does not say when it was granted")?,
        })
    }
}

/// The line that keeps `grant`, without its end.
#[must_use]
pub fn granted(grant: &Grant) -> String {
    #[derive(Serialize)]
    struct Out<'a> {
        v: u64,
        op: &'a str,
        category: Option<&'a Category>,
        #[serde(flatten)]
        grant: &'a Grant,
    }
    let line = Out { v: VERSION, op: "grant", category: grant.categories.first(), grant };
    serde_json::to_value(line).unwrap_or(Value::Null).to_string()
}

/// The line that takes a grant back, without its end.
#[must_use]
pub fn revoked(grant_id: &str, at: Timestamp) -> String {
    json!({"v": VERSION, "op": "revoke", "grant_id": grant_id, "revoked_at": crate::words::moment::timestamp(at)})
        .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grant(id: &str) -> Grant {
        Grant {
            grant_id: id.to_owned(),
            action: "run the tests".to_owned(),
            reasoning: "often".to_owned(),
            categories: vec![Category::new("shell_exec"), Category::new("package_change")],
            tool: Some("shell_exec".to_owned()),
            command: Some("make test".to_owned()),
            path: None,
            act: None,
            lasts: Lasts::Persistent,
            until: Some("2030-01-01T00:00:00Z".parse().unwrap()),
            uses: Some(3),
            granted_at: Timestamp::UNIX_EPOCH,
        }
    }

    #[test]
    fn what_is_kept_is_read_back_until_it_is_revoked() {
        let text = format!("{}\n\n{}\n", granted(&grant("a")), granted(&grant("b")));
        assert_eq!(Kept::read(&text).grants, [grant("a"), grant("b")]);
        let text = format!("{}\n{text}", revoked("a", Timestamp::UNIX_EPOCH));
        let kept = Kept::read(&text);
        assert_eq!((kept.grants.as_slice(), kept.skipped.len()), (&[grant("b")][..], 0));
        assert!(kept.knows("a") && kept.knows("b") && !kept.knows("c"));
    }

    #[test]
    fn the_peers_lines_hold_as_far_as_they_may() {
        let line = |category: &str| {
            format!(
                r#"{{"v":1,"op":"grant","grant_id":"{category}","action":"a","category":{category:?},"scope":"persistent","reasoning":"r","granted_at":"2024-05-06T08:00:00.000Z"}}"#
            )
        };
        let null = line("x").replace("\"x\",\"scope", "null,\"scope");
        let text = [
            line("filesystem_write"),
            line("filesystem_delete"),
            line("*"),
            null,
            line("shell_exec").replace("\"v\":1", "\"v\":2"),
            line("shell_exec").replace("persistent", "this_session"),
            line("filesystem_write"),
            "{".to_owned(),
            r#"{"v":1,"op":"forget","grant_id":"a"}"#.to_owned(),
        ]
        .join("\n");
        let kept = Kept::read(&text);
        assert_eq!(kept.grants.iter().map(|grant| grant.grant_id.as_str()).collect::<Vec<_>>(), ["filesystem_write"]);
        assert_eq!(kept.skipped.iter().map(|(number, _)| *number).collect::<Vec<_>>(), (2..=9).collect::<Vec<_>>());
    }
}
