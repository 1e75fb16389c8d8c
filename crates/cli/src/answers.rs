//! Answers from a file: a list, used in order, each for any question or for questions of one kind.

use std::path::Path;

use adjutant_core::inbox::QuestionKind;
use anyhow::Context;
use serde::Deserialize;

use crate::failure::Failure;

/// The kinds of questions, as an answers file names them.
const KINDS: [QuestionKind; 7] = [
    QuestionKind::Confirmation,
    QuestionKind::Step,
    QuestionKind::Destructive,
    QuestionKind::Blocker,
    QuestionKind::Limit,
    QuestionKind::Deadline,
    QuestionKind::Failure,
];

/// Answers that were given beforehand.
#[derive(Debug, Default)]
pub struct Answers(Vec<Prepared>);

#[derive(Debug)]
struct Prepared {
    kind: Option<QuestionKind>,
    answer: String,
}

/// One entry of the file: the answer alone, or with the kind of question it is for.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    kind: Option<String>,
    answer: String,
}

impl Answers {
    /// Reads an answers file: YAML or JSON, a list of strings or of `{kind, answer}`.
    ///
    /// # Errors
    ///
    /// If it can't be read, or an entry is neither.
    pub fn read(path: &Path) -> anyhow::Result<Self> {
        let text =
            std::fs::read_to_string(path).with_context(|| format!("can't read the answers `{}`", path.display()))?;
        let bad = |why: String| {
            Failure::usage(format!("`{}` is not a list of answers: {why}", path.display()))
                .hint("write one line for each answer: `- go`, or `- {kind: destructive, answer: y}`")
        };
        let entries: Vec<serde_json::Value> = serde_saphyr::from_str(&text).map_err(|error| bad(error.to_string()))?;
        let mut answers = Vec::new();
        for entry in entries {
            answers.push(match entry {
                serde_json::Value::String(answer) => Prepared { kind: None, answer },
                other => {
                    let entry: Entry = serde_json::from_value(other).map_err(|error| bad(error.to_string()))?;
                    Prepared {
                        kind: entry
                            .kind
                            .map(|kind| kind_of(&kind).ok_or_else(|| bad(format!("no question is of kind `{kind}`"))))
                            .transpose()?,
                        answer: entry.answer,
                    }
                }
            });
        }
        Ok(Self(answers))
    }

    /// Takes the next answer for a question of `kind`.
    pub fn take(&mut self, kind: QuestionKind) -> Option<String> {
        let fits = |prepared: &Prepared| prepared.kind.is_none_or(|meant| meant == kind);
        let found = self.0.iter().position(fits)?;
        Some(self.0.remove(found).answer)
    }
}

fn kind_of(name: &str) -> Option<QuestionKind> {
    KINDS.into_iter().find(|kind| kind.as_str() == name)
}
