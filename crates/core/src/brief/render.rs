//! Renders a brief for the agent.

use std::fmt::Write;

use super::reading::Brief;
use super::values::{OptionValue, RoleAdapter};
use super::whitespace::trim;
use crate::words::Category;

impl Brief {
    /// The brief as the agent sees it: a title, one line for each field that concerns it, and every section
    /// that is not empty, the known ones first. The same brief gives the same text.
    #[must_use]
    pub fn render(&self) -> String {
        let mut text = format!("# Brief: {}\n", self.project);
        let mut line = |key: &str, value: &dyn std::fmt::Display| {
            // Writing to a text can't fail.
            writeln!(text, "{key}: {value}").ok();
        };
        if let Some(id) = &self.brief_id {
            line("brief_id", id);
        }
        if let Some(deadline) = &self.deadline {
            line("deadline", deadline);
        }
        for (kind, list) in self.scope.words().lists() {
            let key = if kind == "paths" { "scope".to_owned() } else { format!("scope.{kind}") };
            line(&key, &if list.is_empty() { "nothing".to_owned() } else { list.join(", ") });
        }
        line("scope_locked", &self.scope_locked);
        if let Some(mode) = &self.mode {
            line("mode", mode);
        }
        if !self.authorized_costs.is_empty() {
            let entries: Vec<&str> = self.authorized_costs.iter().map(|category| category.as_str()).collect();
            line("authorized_costs", &entries.join(", "));
        }
        if !self.roles.is_empty() {
            let roles: Vec<&str> = self.roles.iter().map(|role| role.as_str()).collect();
            line("roles", &roles.join(", "));
            for (role, adapter) in &self.role_adapters {
                line(&format!("  {role}"), &played_by(adapter));
            }
            for (role, grant) in &self.role_grants {
                let entries: Vec<&str> = grant.iter().map(Category::as_str).collect();
                let held = if entries.is_empty() { "nothing".to_owned() } else { entries.join(", ") };
                line(&format!("  {role} is granted"), &held);
            }
            for (role, effort) in &self.role_effort {
                line(&format!("  {role} thinks with effort"), effort);
            }
        }
        if !self.checks.is_empty() {
            let checks: Vec<String> = self.checks.iter().map(|check| format!("`{check}`")).collect();
            line("checks", &checks.join(", "));
        }
        if !self.expected_files.is_empty() {
            line("expected_files", &self.expected_files.join(", "));
        }
        if !self.protected_tests.is_empty() {
            line("protected_tests", &self.protected_tests.join(", "));
        }
        for (heading, section) in self.shown_sections() {
            let section = trim(section);
            if !section.is_empty() {
                text.push_str(&format!("\n## {heading}\n\n{section}\n"));
            }
        }
        text
    }

    fn shown_sections(&self) -> impl Iterator<Item = (&str, &str)> {
        let known = [
            ("Objective", &self.sections.objective),
            ("Deliverables", &self.sections.deliverables),
            ("Constraints", &self.sections.constraints),
            ("Tools required", &self.sections.tools_required),
            ("Notes", &self.sections.notes),
        ];
        let known = known.into_iter().map(|(heading, text)| (heading, text.as_str()));
        known.chain(self.sections.extra.iter().map(|(heading, text)| (heading.as_str(), text.as_str())))
    }
}

fn played_by(adapter: &RoleAdapter) -> String {
    let model = adapter.model.iter().map(|model| format!("model={model}"));
    let options = adapter.options.iter().map(|(key, value)| format!("{key}={}", option(value)));
    std::iter::once(adapter.adapter.clone()).chain(model).chain(options).collect::<Vec<_>>().join(" ")
}

fn option(value: &OptionValue) -> String {
    match value {
        OptionValue::Bool(yes) => yes.to_string(),
        OptionValue::Integer(number) => number.to_string(),
        OptionValue::Text(text) => text.clone(),
        OptionValue::List(items) => items.join(","),
    }
}
