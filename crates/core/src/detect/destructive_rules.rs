//! The acts that count as destructive, in words: one row per category, in the order in which they decide.
//!
//! The categories, their words and the tokens that authorize them are the peer's (its vocabulary of intents differs
//! from that of tool calls: `paid_api_call` authorizes a call, not the words). The gerunds, which only `strict` reads,
//! are ours.

use std::sync::LazyLock;

use regex::Regex;

use super::words::ws;

/// One category of what may be announced.
pub(super) struct DestructiveRule {
    /// The category, as it is reported.
    pub(super) action: &'static str,
    /// Tokens in `authorized_costs` that authorize it, besides [`WILDCARDS`].
    pub(super) tokens: &'static [&'static str],
    /// The verb, or the whole command where there is no object.
    pub(super) verbs: Regex,
    /// The same with gerunds.
    pub(super) strict_verbs: Regex,
    /// Objects of which one must follow the verb within [`OBJECT_UNITS_MAX`], if any.
    pub(super) objects: Option<Regex>,
}

/// Entries of `authorized_costs` that authorize every category (the peer's rule).
pub(super) const WILDCARDS: [&str; 4] = ["*", "all", "any", "everything"];

/// Number of UTF-16 units that may stand between verb and object (the peer's rule).
pub(super) const OBJECT_UNITS_MAX: usize = 80;

impl DestructiveRule {
    fn new(
        action: &'static str,
        tokens: &'static [&'static str],
        verbs: &str,
        gerunds: &str,
        objects: Option<&str>,
    ) -> Self {
        let words = |words: &str| {
            Regex::new(&format!(r"(?-u:\b)(?:{words})(?-u:\b)"))
                .expect("the pattern is a constant that a test compiles")
        };
        Self {
            action,
            tokens,
            verbs: words(verbs),
            strict_verbs: words(&format!("{verbs}|{gerunds}")),
            objects: objects.map(words),
        }
    }
}

pub(super) static RULES: LazyLock<[DestructiveRule; 9]> = LazyLock::new(|| {
    [
        DestructiveRule::new(
            "filesystem_delete",
            &["filesystem_delete", "delete", "destructive_fs"],
            "rm -rf|delete|remove|wipe|purge",
            "deleting|removing|wiping|purging",
            Some("file|folder|directory|repo|repository|database|table|branch|tag|commit|history|all"),
        ),
        DestructiveRule::new(
            "git_history_rewrite",
            &["git_history_rewrite", "git", "destructive_git"],
            concat!(
                "force(?:-|",
                ws!(),
                ")?push|rebase",
                ws!(),
                "+(?:--root|onto)|git reset --hard|amend",
                ws!(),
                "+(?:published|pushed)|filter(?:-|",
                ws!(),
                ")?(?:repo|branch)"
            ),
            concat!("force(?:-|", ws!(), ")?pushing|rebasing", ws!(), "+onto|amending", ws!(), "+(?:published|pushed)"),
            None,
        ),
        DestructiveRule::new(
            "git_push",
            &["git_push", "push", "publish"],
            concat!("git", ws!(), "+push"),
            "pushing (?:it )?to",
            None,
        ),
        DestructiveRule::new(
            "deploy",
            &["deploy", "deploy_prod", "infra"],
            concat!(
                "deploy(?:",
                ws!(),
                "+to)?",
                ws!(),
                "+(?:prod|production|staging|live)|kubectl apply|helm (?:install|upgrade)",
                "|terraform apply|vercel deploy|wrangler deploy"
            ),
            concat!("deploying(?:", ws!(), "+to)?", ws!(), "+(?:prod|production|staging|live)"),
            None,
        ),
        DestructiveRule::new(
            "external_message",
            &["external_message", "messaging", "comms"],
            "send|post|comment|publish|tweet|dm",
            "sending|posting|commenting|publishing|tweeting",
            Some("slack|discord|email|tweet|x|linkedin|threads|bluesky|sms|whatsapp|telegram|pr|issue"),
        ),
        DestructiveRule::new(
            "paid_api",
            &["paid_api", "api_calls", "generation_credits", "tokens"],
            "call|invoke|hit|generate|render|charge|spend|burn",
            "calling|invoking|hitting|generating|rendering|charging|spending|burning",
            Some("gpt|claude|gemini|openai|anthropic|kling|higgsfield|elevenlabs|fal|replicate|stripe|api"),
        ),
        DestructiveRule::new(
            "package_change",
            &["package_change", "deps"],
            "downgrade|uninstall|remove",
            "downgrading|uninstalling|removing",
            Some("dependency|package|library"),
        ),
        DestructiveRule::new(
            "ci_modify",
            &["ci_modify", "infra"],
            "modify|change|edit|disable|skip",
            "modifying|changing|editing|disabling|skipping",
            Some("ci|cd|github actions|workflow|pipeline"),
        ),
        DestructiveRule::new(
            "process_kill",
            &["process_kill"],
            "kill|terminate|stop",
            "killing|terminating|stopping",
            Some("process|server|container|pm2|service|daemon"),
        ),
    ]
});
