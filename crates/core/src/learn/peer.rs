//! Reads the facts that a session file of the peer adds to its trace: its project, the tools it was offered, and the
//! operator's answers to announced acts.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::judged::{FireVerdict, Judged};
use super::record::{RunRecord, entry};
use crate::gate::authorization;
use crate::trace::read::object_of;
use crate::words::Category;

/// The peer's native tools, with the category that each needs (reference, section 5).
const TOOLS: [(&str, &str); 9] = [
    ("read_file", "filesystem_read"),
    ("write_file", "filesystem_write"),
    ("list_dir", "filesystem_read"),
    ("shell_exec", "shell_exec"),
    ("http_fetch", "http_fetch"),
    ("apply_patch", "filesystem_write"),
    ("read_project_memory", "filesystem_read"),
    ("write_project_memory", "filesystem_write"),
    ("list_project_memory", "filesystem_read"),
];

/// Facts of a session file that learning needs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PeerFacts {
    /// The brief's id, which names the trace.
    pub brief_id: String,
    /// The project.
    pub project: String,
    /// Categories that the brief authorized.
    authorized: Vec<String>,
    /// The operator's answers to announced acts: when, and whether it was a yes.
    answers: Vec<(String, bool)>,
}

impl PeerFacts {
    /// Reads a session file; `None` if it can't be used, in which case the peer skips it, too.
    ///
    /// Fields that aren't needed may hold any JSON, however deep or large: only their end is searched for. Half a
    /// surrogate pair, which the peer's cuts can leave, is no damage.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let file = object_of(text.trim_ascii())?;
        let (meta, brief) = (file.object("meta"), file.object("brief").object("frontmatter"));
        let answers = meta.objects("destructive_approvals").into_iter().filter_map(|answer| {
            // A question about a tool call is in the trace; one about an announced act is only here.
            let is_announced = !answer.text("action")?.starts_with("tool:");
            let is_yes = answer.json("approved").filter(|json| matches!(*json, "true" | "false"))? == "true";
            is_announced.then(|| Some((answer.text("at")?.into_owned(), is_yes))).flatten()
        });
        Some(Self {
            brief_id: meta.text("brief_id")?.into_owned(),
            project: meta.text("project")?.into_owned(),
            authorized: brief.texts("authorized_costs").into_iter().map(Cow::into_owned).collect(),
            answers: answers.collect(),
        })
    }

    /// Returns the name of its trace, without its ending: what may not stand in a file's name is `_`.
    #[must_use]
    pub fn trace_name(&self) -> String {
        let allowed =
            |unit: u16| u8::try_from(unit).ok().filter(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(byte));
        self.brief_id.encode_utf16().map(|unit| allowed(unit).map_or('_', char::from)).collect()
    }

    /// Puts into the runs of its trace what the trace does not say.
    pub fn complete(&self, runs: &mut [RunRecord]) {
        let authorized: Vec<Category> = self.authorized.iter().map(Category::new).collect();
        let is_offered = |needed: &str| {
            let needed = Category::new(needed);
            needed.is_default_allowed() || authorized.iter().any(|entry| authorization::covers(entry, &needed))
        };
        for run in &mut *runs {
            run.offered
                .extend(TOOLS.iter().filter(|(_, needed)| is_offered(needed)).map(|(tool, _)| (*tool).to_owned()));
        }
        for (at, is_yes) in &self.answers {
            // Times of one form, so that they compare as text.
            let holds = |run: &&mut RunRecord| run.started_at.as_ref().is_none_or(|started| started <= at);
            let Some(run) = runs.iter_mut().rev().find(holds) else { continue };
            let judged: &mut Judged = entry(&mut run.judged, "destructive");
            judged.undecided = judged.undecided.saturating_sub(1);
            judged.add(if *is_yes { FireVerdict::Wrong } else { FireVerdict::Right });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(more: &str) -> String {
        format!(r#"{{"meta":{{"brief_id":"r1","project":"orchard"}},"brief":{{"raw":"x"}},"messages":[]{more}}}"#)
    }

    #[test]
    fn what_is_not_asked_for_may_be_anything() {
        let nested = format!(r#","x":{}{}"#, "[".repeat(10_000), "]".repeat(10_000));
        for more in ["", r#","x":"cut \ud83d""#, r#","x":1e400"#, r#","brief":{}"#, &nested] {
            let facts = PeerFacts::read(&session(more)).expect(more);
            assert_eq!((facts.brief_id.as_str(), facts.project.as_str()), ("r1", "orchard"));
        }
        let twice = session(r#","meta":{"brief_id":"r2","project":"orchard"}"#);
        assert_eq!(PeerFacts::read(&twice).expect("the last counts").brief_id, "r2");
    }

    #[test]
    fn what_is_no_session_is_none() {
        for text in [
            "",
            "5",
            "{",
            "[]",
            r#"[{"brief_id":"r1","project":"orchard"},{}]"#,
            r#"{"meta":[],"x":1}"#,
            r#"{"meta":{"brief_id":1,"project":"orchard"}}"#,
            r#"{"meta":{"brief_id":"r1"}}"#,
        ] {
            assert_eq!(PeerFacts::read(text), None, "{text}");
        }
    }
}
