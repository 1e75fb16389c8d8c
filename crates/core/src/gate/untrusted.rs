//! Calls that follow text from outside: a page, another server's answer, anything that a stranger may have written.
//!
//! Such a text may ask an agent for something, and an agent may do it. What it asks for can't be told from what
//! the brief asks for; that a call came after it can. So it is on record, and what can't be taken back is held
//! to a stricter rule. Begin with [`Untrusted`].

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::decision::Finding;
use super::effect::{Act, Effect, Verdict};
use crate::words::{Category, GateAnswer, Layer};

/// The most sources that are named for a call: the latest.
pub const SOURCES_MAX: usize = 3;

/// The rule for a call that follows text from outside, from mild to strict.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AfterUntrusted {
    /// It is put on record.
    Record,
    /// A call that destroys, reaches others or can't be read beforehand needs its category by name: a wildcard does not
    /// cover it.
    #[default]
    Named,
    /// The same, and whatever contacts a host, is asked about each time.
    Ask,
}

impl AfterUntrusted {
    /// Its name in a configuration.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Record => "record",
            Self::Named => "named",
            Self::Ask => "ask",
        }
    }
}

impl fmt::Display for AfterUntrusted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for AfterUntrusted {
    type Err = ();

    fn from_str(given: &str) -> Result<Self, ()> {
        [Self::Record, Self::Named, Self::Ask].into_iter().find(|known| known.as_str() == given).ok_or(())
    }
}

/// The sources that count as text from outside, and the rule after them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Untrusted {
    /// The rule for a call that follows it.
    pub after: AfterUntrusted,
    /// Tools whose results count too, such as `read_file` in a workdir of a stranger's.
    pub tools: Vec<String>,
}

impl Untrusted {
    /// True if the result of a call is text from outside: the call contacts a host, or a connected server.
    #[must_use]
    pub fn is_brought_by(&self, tool: &str, categories: &[Category], effects: &[Effect]) -> bool {
        effects.iter().any(|effect| matches!(effect.act, Act::Contact { .. }))
            || categories.iter().any(is_of_server)
            || self.tools.iter().any(|listed| listed == tool)
    }

    /// Returns the finding for a call that follows `sources`; `None` if there are none, or if the rule doesn't apply to
    /// the call.
    ///
    /// `named` is what the brief authorizes and an operator approved for the run.
    #[must_use]
    pub fn finding<'a>(
        &self,
        sources: &[String],
        categories: &[Category],
        effects: &[Effect],
        named: impl Iterator<Item = &'a Category> + Clone,
    ) -> Option<Finding> {
        if sources.is_empty() || self.after == AfterUntrusted::Record {
            return None;
        }
        let matters = |effect: &&Effect| {
            effect.verdict >= Verdict::Opaque
                || (self.after == AfterUntrusted::Ask && matches!(effect.act, Act::Contact { .. }))
        };
        let of_effects = effects.iter().filter(matters).map(|effect| &effect.category);
        let mut missing: Vec<Category> = Vec::new();
        for category in of_effects.chain(categories.iter().filter(|category| is_of_server(category))) {
            let is_named = self.after == AfterUntrusted::Named && named.clone().any(|known| known == category);
            if !is_named && !missing.contains(category) {
                missing.push(category.clone());
            }
        }
        if missing.is_empty() {
            return None;
        }
        let list = missing.iter().map(|category| format!("`{category}`")).collect::<Vec<_>>().join(", ");
        let named = match self.after {
            AfterUntrusted::Named => format!(", or {list} by name in the brief's `authorized_costs`"),
            AfterUntrusted::Record | AfterUntrusted::Ask => String::new(),
        };
        Some(Finding {
            answer: GateAnswer::Ask,
            layer: Layer::Untrusted,
            matched: None,
            reason: format!("the call follows text from outside ({}) and needs {list}", sources.join(", ")),
            missing,
            would_allow: Some(format!("an operator's yes to this call{named}")),
        })
    }
}

fn is_of_server(category: &Category) -> bool {
    category.as_str().starts_with("mcp_tool:")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::category::{EXTERNAL_MESSAGE, FILESYSTEM_DELETE, FILESYSTEM_WRITE, HTTP_FETCH};

    fn effect(verdict: Verdict, category: &str, act: Act) -> Effect {
        Effect { verdict, category: Category::new(category), act, matched: String::new(), reason: String::new() }
    }

    #[test]
    fn what_can_not_be_taken_back_needs_a_name_after_text_from_outside() {
        use AfterUntrusted::{Ask, Named, Record};
        let contact = || Act::Contact { host: "a.dev".to_owned() };
        let deletes = [effect(Verdict::Destructive, FILESYSTEM_DELETE, Act::Other)];
        let sends = [effect(Verdict::External, EXTERNAL_MESSAGE, contact())];
        let fetches = [effect(Verdict::Ask, HTTP_FETCH, contact())];
        let writes = [effect(Verdict::Safe, FILESYSTEM_WRITE, Act::Other)];
        let opaque = [effect(Verdict::Opaque, "shell_exec", Act::Other)];
        for (after, effects, named, asks) in [
            (Record, &deletes, "*", false),
            (Named, &deletes, "*", true),
            (Named, &deletes, FILESYSTEM_DELETE, false),
            (Named, &deletes, HTTP_FETCH, true),
            (Named, &sends, "*", true),
            (Named, &opaque, "*", true),
            (Named, &fetches, "*", false),
            (Named, &writes, "*", false),
            (Ask, &deletes, FILESYSTEM_DELETE, true),
            (Ask, &fetches, HTTP_FETCH, true),
            (Ask, &writes, "*", false),
        ] {
            let untrusted = Untrusted { after, tools: Vec::new() };
            let named = [Category::new(named)];
            let sources = ["http_fetch call 1".to_owned()];
            let found = untrusted.finding(&sources, &[], effects, named.iter());
            assert_eq!(found.is_some(), asks, "{after} {effects:?} {named:?}");
            assert!(
                found.is_none_or(|found| found.answer == GateAnswer::Ask && found.reason.contains("http_fetch call 1"))
            );
            assert_eq!(untrusted.finding(&[], &[], effects, named.iter()), None, "nothing came before it");
        }
    }

    #[test]
    fn text_from_outside_is_what_another_host_or_server_says() {
        let untrusted = Untrusted { tools: vec!["read_file".to_owned()], ..Untrusted::default() };
        let contacts = [effect(Verdict::Ask, HTTP_FETCH, Act::Contact { host: "a.dev".to_owned() })];
        let of_server = [Category::new("mcp_tool:wiki:read")];
        assert!(untrusted.is_brought_by("shell_exec", &[], &contacts));
        assert!(untrusted.is_brought_by("wiki_read", &of_server, &[]));
        assert!(untrusted.is_brought_by("read_file", &[], &[]));
        assert!(!untrusted.is_brought_by("list_dir", &[Category::new("filesystem_read")], &[]));
        let found = untrusted.finding(&["x call 1".to_owned()], &of_server, &[], [Category::new("*")].iter());
        assert_eq!(found.map(|found| found.missing), Some(of_server.to_vec()));
    }
}
