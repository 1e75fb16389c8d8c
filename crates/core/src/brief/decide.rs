//! A brief's verdict as JSON, and in six lines.

use serde_json::{Map, Value, json};

use super::fields::FrontMatter;
use super::problem::Problem;
use super::reading::{Reading, read};
use super::sections::Sections;
use super::values::{CliBridge, OptionValue, RoleAdapter};
use crate::gate::ScopeWords;
use crate::words::effort::Effort;

/// Judges a brief: `{text}` in, its verdict out.
///
/// The verdict is `{valid, issues, frontmatter, sections}`, with only those fields that are given; an issue
/// is `{severity, field, message, line?, column?, expected?, found?, fix?}`. If the front matter can't be
/// read, it is `{valid: false, parse_error: true, parse_error_line, issues}`, with the line counted within
/// the front matter.
///
/// # Errors
///
/// Says what is wrong with `input`, if it is no object with a text `text`.
pub fn decide(input: &Value) -> Result<Value, String> {
    let text = input.get("text").and_then(Value::as_str).ok_or("`text` must be the text of a brief")?;
    Ok(read(text).verdict())
}

impl Reading {
    /// The verdict as [`decide`] gives it.
    #[must_use]
    pub fn verdict(&self) -> Value {
        let issues: Vec<Value> = self.problems.iter().map(issue).collect();
        match self.unreadable {
            Some(unreadable) => json!({
                "valid": false,
                "parse_error": true,
                "parse_error_line": unreadable.line,
                "issues": issues,
            }),
            None => json!({
                "valid": self.is_valid(),
                "issues": issues,
                "frontmatter": front_matter(&self.front_matter),
                "sections": sections(&self.sections),
            }),
        }
    }
}

/// The six lines about a brief, without a line feed at the end; absent if its front matter can't be read.
///
/// Labels and columns are OpenWar's. No id is made for a brief that has none: a run will have another.
#[must_use]
pub fn summary(reading: &Reading) -> Option<String> {
    if reading.unreadable.is_some() {
        return None;
    }
    let front = &reading.front_matter;
    let project = front.project.as_deref().filter(|project| !project.is_empty()).unwrap_or("(missing)");
    let id = front.brief_id.as_deref().filter(|id| !id.is_empty()).unwrap_or("(auto-generate: DATE-RANDOM)");
    let mode = front.mode.map_or("(prompted)", |mode| mode.as_str());
    let costs = match front.authorized_costs.as_slice() {
        [] => "(none authorized)".to_owned(),
        entries => entries.join(", "),
    };
    let rows = [
        ("Project:", project),
        ("Brief id:", id),
        ("Mode:", mode),
        ("Locked:", if front.scope_locked { "true" } else { "false" }),
        ("Costs:", &costs),
        ("Valid:", if reading.is_valid() { "true" } else { "false" }),
    ];
    let lines: Vec<String> = rows.iter().map(|(label, value)| format!("{label:<11}{}", printable(value))).collect();
    Some(lines.join("\n"))
}

/// `text` with control characters escaped, so that a brief can't write to the terminal.
fn printable(text: &str) -> String {
    let mut printable = String::new();
    for c in text.chars() {
        if c.is_control() {
            printable.extend(c.escape_default());
        } else {
            printable.push(c);
        }
    }
    printable
}

fn issue(problem: &Problem) -> Value {
    let mut issue = Map::new();
    issue.insert("severity".to_owned(), json!(problem.severity.as_str()));
    issue.insert("field".to_owned(), json!(problem.field));
    issue.insert("message".to_owned(), json!(problem.message));
    put(&mut issue, "line", problem.span.map(|span| span.line));
    put(&mut issue, "column", problem.span.map(|span| span.column));
    put(&mut issue, "expected", problem.expected.as_deref());
    put(&mut issue, "found", problem.found.as_deref());
    put(&mut issue, "fix", problem.fix.as_deref());
    Value::Object(issue)
}

/// Puts a value under a key, if there is one.
fn put(object: &mut Map<String, Value>, key: &str, value: Option<impl Into<Value>>) {
    if let Some(value) = value {
        object.insert(key.to_owned(), value.into());
    }
}

fn front_matter(front: &FrontMatter) -> Value {
    let mut object = Map::new();
    object.insert("project".to_owned(), json!(front.project.as_deref().unwrap_or_default()));
    put(&mut object, "brief_id", front.brief_id.as_deref());
    put(&mut object, "deadline", front.deadline.as_deref());
    put(&mut object, "scope", front.scope.as_ref().map(scope));
    object.insert("scope_locked".to_owned(), json!(front.scope_locked));
    put(&mut object, "mode", front.mode.map(|mode| mode.as_str()));
    object.insert("authorized_costs".to_owned(), json!(front.authorized_costs));
    put(&mut object, "workdir", front.workdir.as_deref());
    put(&mut object, "adapter", front.adapter.as_deref());
    put(&mut object, "model", front.model.as_deref());
    put(&mut object, "fallback", (!front.fallback.is_empty()).then(|| front.fallback.clone()));
    put(&mut object, "script", front.script.as_deref());
    put(&mut object, "max_steps", front.max_steps);
    put(&mut object, "patience", front.patience);
    put(&mut object, "effort", front.effort.map(Effort::as_str));
    put(&mut object, "thinking_tokens", front.thinking_tokens);
    if !front.detectors.is_empty() {
        let detectors = front
            .detectors
            .iter()
            .map(|(detector, sensitivity)| (detector.name().to_owned(), json!(sensitivity.name())));
        object.insert("detectors".to_owned(), Value::Object(detectors.collect()));
    }
    if !front.mcp_servers.is_empty() {
        let servers = front.mcp_servers.iter().map(|server| json!({"name": server.name, "command": server.command}));
        object.insert("mcp_servers".to_owned(), servers.collect());
    }
    put(&mut object, "inherit_memory", front.inherit_memory.then_some(true));
    put(&mut object, "learned_profile", front.learned_profile.as_deref());
    put(&mut object, "cli", front.cli.as_ref().map(cli));
    put(&mut object, "roles", front.roles.clone());
    if !front.role_adapters.is_empty() {
        let adapters = front.role_adapters.iter().map(|(role, adapter)| (role.clone(), role_adapter(adapter)));
        object.insert("role_adapters".to_owned(), Value::Object(adapters.collect()));
    }
    let budgets = front.budgets.map(|budgets| {
        budgets.given().map(|(field, value)| (field.to_owned(), json!(value))).collect::<Map<String, Value>>()
    });
    for (name, texts) in [
        ("checks", &front.checks),
        ("expected_files", &front.expected_files),
        ("protected_tests", &front.protected_tests),
    ] {
        put(&mut object, name, (!texts.is_empty()).then(|| texts.clone()));
    }
    put(&mut object, "budgets", budgets.filter(|budgets| !budgets.is_empty()));
    Value::Object(object)
}

fn scope(words: &ScopeWords) -> Value {
    if let Some(paths) = &words.paths {
        return json!(paths);
    }
    let lists = words.lists().map(|(kind, list)| (kind.to_owned(), json!(list)));
    Value::Object(lists.collect())
}

fn cli(cli: &CliBridge) -> Value {
    let mut object = Map::new();
    put(&mut object, "mcp_forward", cli.mcp_forward);
    put(&mut object, "skip_permission_setup", cli.skip_permission_setup);
    put(&mut object, "binary", cli.binary.as_deref());
    put(&mut object, "args", (!cli.args.is_empty()).then(|| cli.args.clone()));
    Value::Object(object)
}

fn role_adapter(adapter: &RoleAdapter) -> Value {
    let mut object = Map::new();
    object.insert("adapter".to_owned(), json!(adapter.adapter));
    put(&mut object, "model", adapter.model.as_deref());
    for (key, value) in &adapter.options {
        let value = match value {
            OptionValue::Bool(yes) => json!(yes),
            OptionValue::Integer(number) => json!(number),
            OptionValue::Text(text) => json!(text),
            OptionValue::List(items) => json!(items),
        };
        object.insert(key.clone(), value);
    }
    Value::Object(object)
}

fn sections(sections: &Sections) -> Value {
    json!({
        "objective": sections.objective,
        "deliverables": sections.deliverables,
        "constraints": sections.constraints,
        "tools_required": sections.tools_required,
        "notes": sections.notes,
        "extra": sections.extra,
    })
}
