//! The typed artifact that one role leaves for the next: the last fenced JSON of a reply, held to a schema that is
//! made from these types.
//!
//! Limits and kinds are the peer's. A plan beyond them is refused, since work that is cut is work that nobody does; a
//! long text of another kind is cut and says so. What is unknown is dropped, except in an escalation, of which nothing
//! may be lost on its way to a person. What is missing or wrong is told with its place, so that the agent can mend it.

mod schema_check;

use std::sync::LazyLock;

use crate::words::HandoffKind;
use schemars::{JsonSchema, generate::SchemaSettings};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The longest text of a handoff, in characters.
pub const TEXT_CHARS_MAX: usize = 16_000;
/// The longest id, title, criterion or name, in characters.
pub const NAME_CHARS_MAX: usize = 1_024;
/// The longest list of a handoff.
pub const LIST_MAX: usize = 64;
/// The longest list of calls.
pub const CALLS_MAX: usize = 256;
/// Number of faults that are told at once.
const FAULTS_MAX: usize = 12;

/// What one role leaves for the next.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Handoff {
    /// The planner's.
    Plan(WorkPlan),
    /// The executor's.
    Execution(Execution),
    /// A reviewer's or a critic's.
    Review(Review),
    /// An iteration's of a loop.
    Iteration(Iteration),
    /// Anybody's who can't do it.
    Escalation(Escalation),
}

/// How the work is divided.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Plan")]
pub struct WorkPlan {
    /// The sub-tasks, in the order in which they are done.
    #[schemars(length(min = 1, max = 64))]
    pub subtasks: Vec<SubTask>,
    /// Why it is divided so.
    #[serde(default)]
    pub rationale: String,
}

/// One piece of the work.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SubTask {
    /// Its name in the plan, unique there.
    #[schemars(regex(pattern = r"\S"))]
    pub id: String,
    /// What it is, in a few words.
    #[schemars(regex(pattern = r"\S"))]
    pub title: String,
    /// What to do.
    #[schemars(regex(pattern = r"\S"))]
    pub instruction: String,
    /// How to tell that it is done.
    #[schemars(length(min = 1), inner(regex(pattern = r"\S")))]
    pub acceptance_criteria: Vec<String>,
    /// Its place; its place in the list if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<f64>")]
    pub order: Option<u64>,
    /// The sub-task right before it, if it builds on that.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 1))]
    pub depends_on: Vec<String>,
}

/// What was done for a sub-task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Execution {
    /// Which sub-task.
    #[schemars(regex(pattern = r"\S"))]
    pub subtask_id: String,
    /// What came of it.
    #[serde(default)]
    pub output: String,
    /// The calls that the agent says it made. What it made is in the journal.
    #[serde(default)]
    #[schemars(with = "Vec<Value>")]
    pub tool_calls: Vec<Value>,
    /// What the next role should know.
    #[serde(default)]
    pub notes: String,
}

/// A judgement of what was done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Review {
    /// Which sub-task.
    #[schemars(regex(pattern = r"\S"))]
    pub subtask_id: String,
    /// The judgement.
    pub verdict: ReviewVerdict,
    /// What it rests on.
    #[schemars(regex(pattern = r"\S"))]
    pub rationale: String,
    /// What to do otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suggested_revision: Option<String>,
}

/// A judgement in a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Verdict")]
#[serde(rename_all = "snake_case")]
pub enum ReviewVerdict {
    /// The criteria are met.
    Pass,
    /// They can't be met this way.
    Fail,
    /// They could be, with another attempt.
    NeedsRetry,
}

impl ReviewVerdict {
    /// Its word on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::NeedsRetry => "needs_retry",
        }
    }
}

/// What one iteration of a loop leaves for the next.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Iteration {
    /// Whether the goal is reached.
    pub status: IterationStatus,
    /// What was done, and where things stand.
    #[schemars(regex(pattern = r"\S"))]
    pub summary: String,
    /// What is left to do, the next thing first.
    #[serde(default)]
    pub next_steps: Vec<String>,
    /// What nobody but a person can answer.
    #[serde(default)]
    pub open_questions: Vec<String>,
}

/// Whether the goal of a loop is reached, as an agent says. What is so is verified.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum IterationStatus {
    /// There is more to do.
    Continue,
    /// Everything is done.
    Complete,
}

/// Why a role can't do what it is for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
pub struct Escalation {
    /// How bad it is.
    pub severity: EscalationSeverity,
    /// Who says so.
    #[serde(default)]
    pub role: String,
    /// Why.
    #[schemars(regex(pattern = r"\S"))]
    pub reason: String,
    /// What else there is to know.
    #[serde(default)]
    pub context: String,
    /// The limit that was reached, if it is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget_metric: Option<BudgetMetric>,
}

/// How bad an escalation is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Severity")]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the words say it")]
pub enum EscalationSeverity {
    Info,
    Warn,
    Error,
}

/// A limit that an escalation is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the words say it")]
pub enum BudgetMetric {
    Tokens,
    WallClockMs,
    ToolCalls,
}

impl Handoff {
    /// Its word on the wire.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Plan(_) => "plan",
            Self::Execution(_) => "execution",
            Self::Review(_) => "review",
            Self::Iteration(_) => "iteration",
            Self::Escalation(_) => "escalation",
        }
    }
}

/// Reason that a reply holds no handoff.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BadHandoff {
    /// It has no fenced block tagged `json`.
    NoFence,
    /// The block holds no JSON.
    BadJson(String),
    /// The JSON is no handoff.
    Invalid(Vec<Fault>),
}

/// One thing that is wrong with a handoff, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Path to the faulty value, such as `$.subtasks[0].title`; `None` for the whole.
    pub path: Option<String>,
    /// The fault, in words.
    pub what: String,
}

impl BadHandoff {
    /// Returns the faults, a line each, for the agent.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        match self {
            Self::NoFence => vec!["there is no fenced block tagged `json`".to_owned()],
            Self::BadJson(why) => vec![format!("the fenced block is no JSON: {why}")],
            Self::Invalid(faults) => faults
                .iter()
                .map(|fault| match &fault.path {
                    Some(path) => format!("{path}: {}", fault.what),
                    None => fault.what.clone(),
                })
                .collect(),
        }
    }

    /// Returns the peer's word for it.
    #[must_use]
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::NoFence => "no_fence",
            Self::BadJson(_) => "bad_json",
            Self::Invalid(_) => "validation",
        }
    }
}

/// Reads the handoff of a reply: its last fenced block tagged `json`.
///
/// # Errors
///
/// [`BadHandoff`] says what is wrong with it.
pub fn read(reply: &str) -> Result<Handoff, BadHandoff> {
    let blocks = blocks(reply);
    let (block, before) = blocks.split_last().ok_or(BadHandoff::NoFence)?;
    let handoff = of_block(block)?;
    // What is quoted at the end of a judgement is not to overrule it.
    if let Handoff::Review(review) = &handoff {
        let other =
            |block: &&str| matches!(of_block(block), Ok(Handoff::Review(other)) if other.verdict != review.verdict);
        if before.iter().any(other) {
            let what = "another verdict stands further up: hand off one review".to_owned();
            return Err(BadHandoff::Invalid(vec![Fault { path: Some("$.verdict".to_owned()), what }]));
        }
    }
    Ok(handoff)
}

fn of_block(block: &str) -> Result<Handoff, BadHandoff> {
    let value: Value = serde_json::from_str(block).map_err(|error| BadHandoff::BadJson(error.to_string()))?;
    let kind = value.get("kind").and_then(Value::as_str).unwrap_or_default().to_owned();
    let beyond = if kind == "plan" { beyond_limits(&value) } else { Vec::new() };
    if !beyond.is_empty() {
        return Err(BadHandoff::Invalid(beyond));
    }
    let mut value = clean(value, TEXT_CHARS_MAX);
    let Some((_, schema)) = SCHEMAS.iter().find(|(name, _)| *name == kind) else {
        let what = "`kind` must be `plan`, `execution`, `review` or `escalation`".to_owned();
        return Err(BadHandoff::Invalid(vec![Fault { path: None, what }]));
    };
    in_order(&mut value);
    let faults = schema_check::faults(schema, &value);
    if !faults.is_empty() {
        return Err(BadHandoff::Invalid(faults));
    }
    let handoff: Handoff = serde_json::from_value(value)
        .map_err(|error| BadHandoff::Invalid(vec![Fault { path: None, what: error.to_string() }]))?;
    let faults = match &handoff {
        Handoff::Plan(plan) => plan.faults(),
        Handoff::Execution(_) | Handoff::Review(_) | Handoff::Iteration(_) | Handoff::Escalation(_) => Vec::new(),
    };
    if faults.is_empty() { Ok(handoff) } else { Err(BadHandoff::Invalid(faults)) }
}

/// Returns the schema of a kind of handoff, for those who have to write one.
#[must_use]
pub fn schema(kind: HandoffKind) -> &'static Value {
    let found = SCHEMAS.iter().find(|(name, _)| *name == kind.as_str());
    &found.expect("every kind has a schema").1
}

/// Kinds, each with its schema.
static SCHEMAS: LazyLock<Vec<(&'static str, Value)>> = LazyLock::new(|| {
    vec![
        of::<WorkPlan>("plan"),
        of::<Execution>("execution"),
        of::<Review>("review"),
        of::<Iteration>("iteration"),
        of::<Escalation>("escalation"),
    ]
});

fn of<T: JsonSchema>(kind: &'static str) -> (&'static str, Value) {
    let settings = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    let mut properties = Map::new();
    properties.insert("kind".to_owned(), serde_json::json!({ "const": kind }));
    if let Some(Value::Object(own)) = schema.remove("properties") {
        properties.extend(own);
    }
    schema.insert("properties".to_owned(), Value::Object(properties));
    (kind, schema.to_value())
}

/// Returns the contents of the fenced blocks whose tag is `json`, with a line feed behind it.
fn blocks(reply: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = reply;
    while let Some(at) = rest.find("```") {
        let after = &rest[at + 3..];
        let tag = after.lines().next().unwrap_or_default().trim_end_matches('\r');
        let Some(content) = after.get(tag.len()..).map(|text| text.trim_start_matches('\r')) else { break };
        let Some(content) = content.strip_prefix('\n') else {
            rest = after;
            continue;
        };
        // A fence closes at the beginning of a line: what stands in a text of the JSON closes nothing.
        let end = if content.starts_with("```") { Some(0) } else { content.find("\n```").map(|end| end + 1) };
        let Some(end) = end else { break };
        if matches!(tag.trim_end(), "json" | "JSON") {
            found.push(&content[..end]);
        }
        rest = &content[end + 3..];
    }
    found
}

/// Returns a fault for each part of a plan that is longer than allowed.
fn beyond_limits(plan: &Value) -> Vec<Fault> {
    let mut faults = Vec::new();
    let mut check = |path: String, count: usize, most: usize, of: &str| {
        if count > most && faults.len() < FAULTS_MAX {
            faults
                .push(Fault { path: Some(path), what: format!("has {count} {of}, and {most} are allowed: divide it") });
        }
    };
    let list = |value: &Value| value.as_array().map_or(0, Vec::len);
    let chars = |value: &Value| value.as_str().map_or(0, |text| text.chars().count());
    check("$.subtasks".to_owned(), list(&plan["subtasks"]), LIST_MAX, "sub-tasks");
    check("$.rationale".to_owned(), chars(&plan["rationale"]), TEXT_CHARS_MAX, "characters");
    for (index, subtask) in plan["subtasks"].as_array().into_iter().flatten().enumerate() {
        let at = |name: &str| format!("$.subtasks[{index}].{name}");
        check(at("acceptance_criteria"), list(&subtask["acceptance_criteria"]), LIST_MAX, "criteria");
        check(at("instruction"), chars(&subtask["instruction"]), TEXT_CHARS_MAX, "characters");
        for name in ["id", "title"] {
            check(at(name), chars(&subtask[name]), NAME_CHARS_MAX, "characters");
        }
        for (number, criterion) in subtask["acceptance_criteria"].as_array().into_iter().flatten().enumerate() {
            check(at(&format!("acceptance_criteria[{number}]")), chars(criterion), NAME_CHARS_MAX, "characters");
        }
    }
    faults
}

/// Cuts a text to at most so many characters, and says at its end how much of it is left out.
fn cut(text: String, chars_max: usize) -> String {
    let count = text.chars().count();
    if count <= chars_max {
        return text;
    }
    let mark = |left_out: usize| format!("\n[cut: {left_out} characters are left out]");
    // The mark takes room from the text, and with it the number may grow.
    let kept = chars_max.saturating_sub(mark(count).chars().count());
    let kept: String = text.chars().take(kept).collect();
    let mark = mark(count - kept.chars().count());
    format!("{kept}{mark}").chars().take(chars_max).collect()
}

/// Removes control characters and cuts the texts to the longest that a handoff may have.
fn clean(value: Value, chars_max: usize) -> Value {
    match value {
        Value::String(text) => {
            let is_kept = |c: &char| matches!(c, '\t' | '\n' | '\r') || !(c.is_ascii_control());
            Value::String(cut(text.chars().filter(is_kept).collect(), chars_max))
        }
        Value::Array(items) => {
            Value::Array(items.into_iter().take(CALLS_MAX).map(|item| clean(item, chars_max)).collect())
        }
        Value::Object(fields) => Value::Object(
            fields
                .into_iter()
                .map(|(name, value)| {
                    let is_name = matches!(
                        name.as_str(),
                        "id" | "title"
                            | "acceptance_criteria"
                            | "depends_on"
                            | "subtask_id"
                            | "name"
                            | "call_id"
                            | "role"
                    );
                    let mut value = clean(value, if is_name { NAME_CHARS_MAX } else { chars_max });
                    if let (Value::Array(items), true) = (&mut value, name != "tool_calls") {
                        items.truncate(LIST_MAX);
                    }
                    (name, value)
                })
                .collect(),
        ),
        Value::Null | Value::Bool(_) | Value::Number(_) => value,
    }
}

/// Puts sub-tasks in their order, numbered anew from 0. If an order is no number, the place in the list counts.
fn in_order(value: &mut Value) {
    let Some(Value::Array(subtasks)) = value.get_mut("subtasks") else { return };
    if !subtasks.iter().all(Value::is_object) {
        return;
    }
    let mut ordered: Vec<(f64, Value)> = std::mem::take(subtasks)
        .into_iter()
        .enumerate()
        .map(|(index, subtask)| {
            #[expect(clippy::cast_precision_loss, reason = "a place in a list of at most 256")]
            let place = subtask.get("order").and_then(Value::as_f64).unwrap_or(index as f64);
            (place, subtask)
        })
        .collect();
    ordered.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    *subtasks = ordered
        .into_iter()
        .enumerate()
        .map(|(index, (_, mut subtask))| {
            if let Value::Object(fields) = &mut subtask {
                fields.insert("order".to_owned(), Value::from(index));
            }
            subtask
        })
        .collect();
}

impl WorkPlan {
    /// Returns the faults that the schema can't express: ids must be unique, and a sub-task builds on the one right
    /// before it or on none.
    fn faults(&self) -> Vec<Fault> {
        let mut faults = Vec::new();
        for (index, subtask) in self.subtasks.iter().enumerate() {
            let before = index.checked_sub(1).and_then(|before| self.subtasks.get(before));
            if self.subtasks[..index].iter().any(|other| other.id == subtask.id) {
                let what = format!("`{}` is the id of another sub-task", subtask.id);
                faults.push(Fault { path: Some(format!("$.subtasks[{index}].id")), what });
            }
            if let Some(needed) = subtask.depends_on.first()
                && before.is_none_or(|before| before.id != *needed)
            {
                let what = format!("`{needed}` is not the sub-task right before this one");
                faults.push(Fault { path: Some(format!("$.subtasks[{index}].depends_on")), what });
            }
        }
        faults
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const VECTORS: &str =
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/vectors/openwar/aux/vectors.jsonl"));

    fn fenced(value: &Value) -> String {
        format!("Here.\n```json\n{value}\n```\n")
    }

    #[test]
    fn handoffs_are_read_as_the_vectors_say() {
        let mut checked = 0;
        for line in VECTORS.lines() {
            let vector: Value = serde_json::from_str(line).expect("a vector");
            if vector["fn"] != "handoff" {
                continue;
            }
            checked += 1;
            let expected = &vector["output"];
            match read(vector["input"].as_str().expect("text")) {
                Ok(handoff) => {
                    assert_eq!(expected["ok"], true, "{line}");
                    assert_eq!(expected["handoff"], serde_json::to_value(&handoff).expect("json"), "{line}");
                }
                Err(bad) => {
                    assert_eq!((&expected["ok"], &expected["reason"]), (&json!(false), &json!(bad.reason())), "{line}");
                    let path = match &bad {
                        BadHandoff::Invalid(faults) => faults[0].path.clone().map_or(Value::Null, Value::String),
                        BadHandoff::NoFence | BadHandoff::BadJson(_) => Value::Null,
                    };
                    assert_eq!(expected.get("path").unwrap_or(&Value::Null), &path, "{line}");
                }
            }
        }
        assert_eq!(checked, 7);
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        let subtask = |id: &str, needs: &[&str]| json!({"id": id, "title": "t", "instruction": "i", "acceptance_criteria": ["a"], "depends_on": needs});
        for (value, expected) in [
            (json!({"kind": "plan", "subtasks": []}), "$.subtasks: "),
            (json!({"kind": "plan", "subtasks": [subtask("a", &[]), subtask("a", &[])]}), "$.subtasks[1].id: "),
            (
                json!({"kind": "plan", "subtasks": [subtask("a", &[]), subtask("b", &["c"])]}),
                "$.subtasks[1].depends_on",
            ),
            (json!({"kind": "plan", "subtasks": [subtask("a", &["a"])]}), "$.subtasks[0].depends_on"),
            (json!({"kind": "plan", "subtasks": [subtask(" ", &[])]}), "$.subtasks[0].id: must not be blank"),
            (json!({"kind": "review", "subtask_id": "a", "verdict": "maybe", "rationale": "r"}), "$.verdict: "),
            (json!({"kind": "review", "subtask_id": "a", "verdict": "pass"}), "\"rationale\" is a required property"),
            (json!({"kind": "execution", "output": 5, "subtask_id": "a"}), "$.output: "),
            (json!({"kind": "escalation", "severity": "error", "reason": ""}), "$.reason: must not be blank"),
            (json!([1]), "`kind` must be"),
        ] {
            let lines = read(&fenced(&value)).expect_err(&value.to_string()).lines();
            assert!(lines.iter().any(|line| line.contains(expected)), "{value}: {lines:?}");
        }
    }

    #[test]
    fn the_last_json_block_counts_and_what_is_beyond_limits_is_cut() {
        let long = "x".repeat(TEXT_CHARS_MAX + 5);
        let reply = format!(
            "```json\n{{\"kind\":\"review\"}}\n```\n```text\n```\n{}",
            fenced(&json!({"kind": "execution", "subtask_id": "a\u{1b}[1m", "output": long, "more": [1]}))
        );
        let Ok(Handoff::Execution(execution)) = read(&reply) else { panic!("an execution") };
        assert_eq!(execution.subtask_id, "a[1m");
        assert!(execution.output.len() <= TEXT_CHARS_MAX && execution.output.len() > TEXT_CHARS_MAX - 60);
        assert!(execution.output.ends_with("characters are left out]"), "{}", &execution.output[15_900..]);
    }

    #[test]
    fn a_plan_beyond_the_limits_is_refused_and_not_cut() {
        let subtask =
            |id: usize| json!({"id": id.to_string(), "title": "t", "instruction": "i", "acceptance_criteria": ["a"]});
        let plan = |subtasks: Vec<Value>| fenced(&json!({"kind": "plan", "subtasks": subtasks}));
        let Ok(Handoff::Plan(whole)) = read(&plan((0..LIST_MAX).map(subtask).collect())) else { panic!("a plan") };
        assert_eq!(whole.subtasks.len(), LIST_MAX);
        for count in [LIST_MAX + 1, 300] {
            let lines = read(&plan((0..count).map(subtask).collect())).expect_err("too many").lines();
            assert_eq!(lines, [format!("$.subtasks: has {count} sub-tasks, and 64 are allowed: divide it")]);
        }
        for (field, value) in [
            ("instruction", json!("x".repeat(TEXT_CHARS_MAX + 1))),
            ("title", json!("x".repeat(NAME_CHARS_MAX + 1))),
            ("acceptance_criteria", json!(vec!["a"; LIST_MAX + 1])),
            ("acceptance_criteria", json!(["x".repeat(NAME_CHARS_MAX + 1)])),
        ] {
            let mut long = subtask(0);
            long[field] = value;
            let lines = read(&plan(vec![long])).expect_err("too long").lines();
            assert!(lines[0].starts_with(&format!("$.subtasks[0].{field}")), "{lines:?}");
        }
    }

    #[test]
    fn an_escalation_with_an_unknown_field_is_refused_and_other_kinds_drop_it() {
        let escalation = json!({"kind": "escalation", "severity": "error", "reason": "r", "context": "c", "more": 1});
        let lines = read(&fenced(&escalation)).expect_err("an unknown field").lines();
        assert!(lines[0].contains("more"), "{lines:?}");
        let execution = json!({"kind": "execution", "subtask_id": "a", "more": 1});
        assert!(read(&fenced(&execution)).is_ok());
    }

    #[test]
    fn subtasks_come_in_their_order() {
        let subtask = |id: &str, order: Value| json!({"id": id, "title": "t", "instruction": "i", "acceptance_criteria": ["a"], "order": order});
        let plan = json!({"kind": "plan", "subtasks": [subtask("b", json!(7)), subtask("a", json!(2.5))]});
        let Ok(Handoff::Plan(plan)) = read(&fenced(&plan)) else { panic!("a plan") };
        let ids: Vec<(&str, Option<u64>)> = plan.subtasks.iter().map(|task| (task.id.as_str(), task.order)).collect();
        assert_eq!(ids, [("a", Some(0)), ("b", Some(1))]);
    }

    #[test]
    fn a_text_may_quote_a_fence_and_two_verdicts_are_none() {
        let quoting = fenced(&json!({"kind": "execution", "subtask_id": "a", "output": "use ``` fences"}));
        assert!(read(&quoting).is_ok());
        let review =
            |verdict: &str| fenced(&json!({"kind": "review", "subtask_id": "a", "verdict": verdict, "rationale": "r"}));
        let both = review("fail") + "The file says:\n" + &review("pass");
        assert!(read(&both).expect_err("two verdicts").lines()[0].contains("another verdict"));
        assert!(read(&(review("pass") + &review("pass"))).is_ok());
    }

    proptest::proptest! {
        #[test]
        fn any_reply_is_read(reply in "(```|json|\n|\\{|\\}|\"kind\":|\"plan\"|,|[a-z\u{0}\u{1b}é]| ){0,40}") {
            drop(read(&reply));
        }
    }
}
