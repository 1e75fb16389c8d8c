//! The brief: what the operator wants, as markdown with a front matter.
//!
//! In: a text. Out: a [`Reading`]: the typed [`Brief`] if nothing is wrong with it, and every problem at
//! once, each with its place and the way out. What strict YAML refuses but operators write (`- *`, a
//! key given twice, tabs, `on`) is read by a small line grammar of our own, with a warning.
//!
//! Looks at nothing but the text: no path is opened, no adapter asked, and whether a deadline has passed
//! is for others to say.
//!
//! Begin with [`read`]; the grammar is in `grammar.rs`, what each field accepts in `fields.rs`, what
//! makes a brief invalid in `rules.rs`.

mod decide;
mod document;
mod fields;
mod grammar;
mod list_fields;
mod node;
mod problem;
mod reading;
mod render;
mod role_fields;
mod rules;
mod scalar;
mod scope_field;
mod sections;
mod template;
#[cfg(test)]
mod tests;
mod values;
mod whitespace;

pub use decide::{decide, summary};
pub use fields::FrontMatter;
pub use problem::{BriefSpan, Problem, Severity};
pub use reading::{BRIEF_BYTES_MAX, Brief, Reading, UnreadableFrontMatter, read, read_with, title};
pub use sections::Sections;
pub use template::{BadSuffix, generated_id, slug_like, template};
pub use values::{
    ADAPTERS, BUDGET_MAX_RETRIES_PER_SUBTASK, BUDGET_MAX_TOKENS, BUDGET_MAX_TOOL_CALLS_PER_SUBTASK,
    BUDGET_MAX_WALL_CLOCK_MINUTES, BudgetLimits, Budgets, CliBridge, Deadline, McpServer, OptionValue, RoleAdapter,
};
