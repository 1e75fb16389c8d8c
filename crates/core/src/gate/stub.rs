use super::Category;
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Answer {
    Allow,
    Ask,
    Refuse,
}
impl Answer {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Refuse => "refuse",
        }
    }
}
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layer {
    Role,
    Call,
    Brief,
    Default,
}
impl Layer {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Role => "role",
            Self::Call => "call",
            Self::Brief => "brief",
            Self::Default => "default",
        }
    }
}
#[derive(Debug, Clone)]
pub struct Role;
pub struct Request<'a> {
    pub tool: &'a str,
    pub categories: &'a [Category],
    pub effects: &'a [Category],
    pub role: Option<&'a Role>,
    pub authorized: &'a [Category],
    pub approved_for_run: &'a [Category],
    pub call_is_approved: bool,
    pub shell_is_disabled: bool,
}
pub struct Decision {
    pub answer: Answer,
    pub layer: Layer,
    pub reason: String,
    pub missing: Vec<Category>,
    pub would_allow: Option<String>,
}
pub fn effects_of(_: &str, _: &serde_json::Value) -> Vec<Category> {
    Vec::new()
}
pub fn judge(r: &Request) -> Decision {
    if r.tool == "shell_exec" && r.shell_is_disabled {
        return Decision {
            answer: Answer::Refuse,
            layer: Layer::Call,
            reason: "off".into(),
            missing: vec![],
            would_allow: None,
        };
    }
    let missing: Vec<Category> = r
        .categories
        .iter()
        .chain(r.effects)
        .filter(|c| {
            c.as_str() != "filesystem_read"
                && !r.authorized.iter().chain(r.approved_for_run).any(|a| a.as_str() == "*" || a == *c)
        })
        .cloned()
        .collect();
    if missing.is_empty() {
        Decision { answer: Answer::Allow, layer: Layer::Brief, reason: "ok".into(), missing, would_allow: None }
    } else {
        Decision { answer: Answer::Ask, layer: Layer::Default, reason: "missing".into(), missing, would_allow: None }
    }
}
