//! Answers from a file: a list, used in order, each for any question or for questions of one kind.

use std::path::Path;

use adjutant_core::inbox::reply;
use adjutant_core::words::{Question, QuestionKind};
use adjutant_host::text_file;
use anyhow::Context;
use serde::Deserialize;
use serde_json::Value;

use crate::failure::Failure;

/// The kinds of questions, as an answers file names them.
const KINDS: [QuestionKind; 12] = [
    QuestionKind::Scope,
    QuestionKind::Permission,
    QuestionKind::Confirmation,
    QuestionKind::Step,
    QuestionKind::Destructive,
    QuestionKind::Blocker,
    QuestionKind::Limit,
    QuestionKind::Deadline,
    QuestionKind::Failure,
    QuestionKind::Escalation,
    QuestionKind::Disagreement,
    QuestionKind::Stuck,
];

/// The longest file of answers that is read, in bytes.
const ANSWERS_BYTES_MAX: u64 = 4 << 20;

/// Answers that were given beforehand.
#[derive(Debug, Default)]
pub struct Answers(Vec<PreparedAnswer>);

#[derive(Debug)]
struct PreparedAnswer {
    kind: Option<QuestionKind>,
    answer: String,
}

/// One entry of the file: the answer alone, or with the kind of question it is for.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct AnswerEntry {
    kind: Option<String>,
    answer: Value,
}

/// An answer as an operator would type it: a number is typed like any other text.
fn typed(answer: &Value) -> Option<String> {
    match answer {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(_) | Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

impl Answers {
    /// Reads an answers file: YAML or JSON, a list of strings or of `{kind, answer}`.
    ///
    /// # Errors
    ///
    /// If it can't be read, or an entry is neither.
    pub fn read(path: &Path) -> anyhow::Result<Self> {
        let text = text_file::read(path, ANSWERS_BYTES_MAX)
            .with_context(|| Failure::usage(format!("can't read the answers `{}`", path.display())))?;
        let bad = |why: String| {
            Failure::usage(format!("`{}` is not a list of answers: {why}", path.display()))
                .hint("write one line for each answer: `- go`, or `- {kind: destructive, answer: y}`")
        };
        // `y`, `no` and `on` are answers, not truth values.
        let options = serde_saphyr::options! { strict_booleans: true };
        let entries: Vec<Value> =
            serde_saphyr::from_str_with_options(&text, options).map_err(|error| bad(error.to_string()))?;
        let mut answers = Vec::new();
        for entry in entries {
            answers.push(match entry {
                Value::Object(map) => {
                    let entry: AnswerEntry =
                        serde_json::from_value(Value::Object(map)).map_err(|error| bad(error.to_string()))?;
                    PreparedAnswer {
                        kind: entry
                            .kind
                            .map(|kind| kind_of(&kind).ok_or_else(|| bad(format!("no question is of kind `{kind}`"))))
                            .transpose()?,
                        answer: typed(&entry.answer).ok_or_else(|| bad("an answer is one word or text".to_owned()))?,
                    }
                }
                scalar => PreparedAnswer {
                    kind: None,
                    answer: typed(&scalar).ok_or_else(|| bad("an answer is one word or text".to_owned()))?,
                },
            });
        }
        Ok(Self(answers))
    }

    /// Takes all answers that are left: no question came that they fit.
    pub fn take_rest(&mut self) -> Vec<String> {
        let named = |prepared: PreparedAnswer| match prepared.kind {
            Some(kind) => format!("{}: {}", kind.as_str(), prepared.answer),
            None => prepared.answer,
        };
        std::mem::take(&mut self.0).into_iter().map(named).collect()
    }

    /// Takes the next answer for a question. One for questions of any kind waits for a question that its
    /// word is an answer to, so that a `go` denies nothing.
    pub fn take(&mut self, question: &Question) -> Option<String> {
        let fits = |prepared: &PreparedAnswer| match prepared.kind {
            Some(meant) => meant == question.kind,
            None => reply::is_word_to(question, &prepared.answer),
        };
        let found = self.0.iter().position(fits)?;
        Some(self.0.remove(found).answer)
    }
}

fn kind_of(name: &str) -> Option<QuestionKind> {
    KINDS.into_iter().find(|kind| kind.as_str() == name)
}

#[cfg(test)]
mod tests {
    use adjutant_core::words::Choice;

    use super::*;

    /// Checks that a file with this content answers the questions of these kinds so.
    #[track_caller]
    fn check(content: &str, expected: &[(QuestionKind, &str)]) {
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), content).expect("written");
        let mut answers = Answers::read(file.path()).expect(content);
        for (kind, answer) in expected {
            let question = Question {
                kind: *kind,
                text: String::new(),
                options: Vec::new(),
                default: Choice::Deny,
                deadline_ms: None,
                acts: 0,
            };
            assert_eq!(answers.take(&question).as_deref(), Some(*answer), "{content}");
        }
    }

    #[test]
    fn answers_are_words_even_where_yaml_has_other_ideas() {
        for word in ["y", "Y", "n", "yes", "no", "on", "10", "go"] {
            check(&format!("- {word}\n"), &[(QuestionKind::Step, word)]);
            check(&format!("- {{kind: limit, answer: {word}}}\n"), &[(QuestionKind::Limit, word)]);
        }
        check(r#"["go", {"kind": "step", "answer": "y"}]"#, &[(QuestionKind::Step, "go"), (QuestionKind::Step, "y")]);
    }

    #[test]
    fn an_answer_waits_for_a_question_of_its_kind() {
        let file = "- {kind: destructive, answer: n}\n- go\n";
        check(file, &[(QuestionKind::Confirmation, "go"), (QuestionKind::Destructive, "n")]);
        let file = "- go\n- y\n- 'n: keep it'\n";
        let (destructive, permission) = (QuestionKind::Destructive, QuestionKind::Permission);
        check(file, &[(destructive, "y"), (permission, "n: keep it"), (QuestionKind::Confirmation, "go")]);
        // A number chooses among several acts, of which there are none here.
        check("- 10\n- y\n", &[(destructive, "y"), (QuestionKind::Limit, "10")]);
    }
}
