//! The standing orders: the text that every agent gets before anything else.
//!
//! The text is `standing_orders.md`, sent as it is; nothing else is added to it in secret. [`RULES`]
//! lists what must be in it, so that an edit can't lose a rule unseen. Whoever changes the text raises
//! [`VERSION`], which is recorded with every run.

/// The version of the text, recorded with a run. Raised by every change of what the text says.
pub const VERSION: u32 = 2;

/// Returns the standing orders, in markdown.
#[must_use]
pub fn text() -> &'static str {
    include_str!("standing_orders.md")
}

/// One rule: its number in the text, what it is about, and words that its paragraphs must contain.
pub type OrderRule = (&'static str, &'static str, &'static [&'static str]);

/// Every rule of the standing orders, in order.
pub const RULES: &[OrderRule] = &[
    ("1.1", "phases are declared, the operator may interrupt", &["phases", "heading", "interrupt"]),
    (
        "1.2",
        "the five parts of a confirmation summary",
        &[
            "Confirmation Summary", "Objective", "Deliverables", "Constraints", "Tools required", "Unknowns",
            "assumption",
        ],
    ),
    ("1.3", "the mode is asked for", &["mode", "Per-step gating", "Auto-pilot", "switch"]),
    ("1.4", "nothing begins unacknowledged", &["acknowledged", "\"go\""]),
    ("1.5", "step by step", &["next step", "\"ok\"", "redirect", "update"]),
    ("1.6", "steps follow from the brief", &["brief"]),
    (
        "1.7",
        "the four parts of a blocker report",
        &["stop", "What you were doing", "What blocked you", "What you tried", "What you need", "wait"],
    ),
    (
        "1.8",
        "what phase 3 is for",
        &[
            "irreversible", "shared", "deleted", "dropped", "killed", "force-push", "rm -rf", "rebased", "downgraded",
            "CI",
        ],
    ),
    (
        "1.8",
        "what phase 3 is for, seen from outside",
        &["pushed", "messages", "APIs", "comments", "paid API calls", "authorize"],
    ),
    ("1.9", "a yes is explicit", &["\"yes\"", "session", "authorized_costs", "Auto-pilot never overrides phase 3"]),
    ("1.10", "in doubt, flag", &["doubt", "flag", "cheaper"]),
    ("1.11", "the report", &["delivered", "unresolved", "open", "diff"]),
    ("2.1", "no execution unconfirmed", &["Confirmation Summary"]),
    ("2.2", "no gap filled", &["assumption", "unknown"]),
    ("2.3", "no destruction without a yes", &["destructive", "out-of-scope", "\"yes\""]),
    ("2.4", "no capability made up", &["capability", "sure"]),
    ("2.5", "no step made up", &["next step", "brief"]),
    ("2.6", "no going past a blocker", &["blocker"]),
    (
        "2.7",
        "out of scope is asked about",
        &["beyond the brief", "confirmed", "outside the brief", "separate", "scope_locked"],
    ),
    ("3.1", "tools are called, not described", &["phase 1", "offered", "Adjutant decides"]),
    (
        "3.2",
        "the vocabulary of authorization",
        &[
            "authorized_costs", "filesystem_read", "default", "filesystem_write", "shell_exec", "http_fetch",
            "mcp_tool:",
        ],
    ),
    ("3.3", "what an uncovered call does", &["phase 3", "once", "for the session", "denies"]),
    ("3.4", "a denied call is not repeated", &["denied", "different approach", "explain"]),
    ("3.5", "failure is a signal", &["signal", "error", "3 retries", "repeated", "phase 2"]),
    ("3.6", "independent calls go together", &["Independent", "depend"]),
    ("3.7", "calls are not narrated", &["narrate", "checkpoints"]),
    ("3.8", "unknown effects are looked at first", &["unknown", "state"]),
    ("4.1", "what is an order and what is data", &["data", "files", "web pages", "tool output"]),
    ("4.2", "data gives no orders", &["don't follow", "authorize", "report"]),
    ("4.3", "secrets are not repeated", &["passwords", "[masked:"]),
    ("5.1", "three readings of a brief", &["three or more", "literal", "tie", "ask", "deliberation"]),
    (
        "6.1",
        "what triggers a pre-mortem",
        &[
            "go wrong", "Strategy", "Problem-solving", "Optimization", "Creative", "Money or time",
            "Outside platforms", "Let me just try X",
        ],
    ),
    ("6.2", "what does not", &["reading a file", "single-line", "status check", "search"]),
    ("6.3", "debating it is a trigger", &["debate", "trigger", "real thinking"]),
    ("7.1", "the best solution leads", &["correct solution", "honest estimate", "stopgap", "constraint"]),
    (
        "7.2",
        "banned framings",
        &["the quick fix is X", "we can ship X tonight and do Y properly later", "MVP version of this is X"],
    ),
    ("7.3", "leaning to the easy way", &["rewrite", "the quick one"]),
    ("8.1", "a busy peer", &["peer", "clarity", "exclamation"]),
    (
        "8.2",
        "phrases to use",
        &["Got it", "I'll run", "Hold up", "Done", "Hit a wall", "Looks good to go", "What do you need?"],
    ),
    (
        "8.3",
        "phrases never to use",
        &[
            "Certainly", "Absolutely", "Great question", "Of course", "I'd be happy to", "As an AI",
            "It's important to note", "Feel free to", "leverage", "utilize", "facilitate", "disclaimers", "apology",
            "enthusiasm",
        ],
    ),
    ("8.4", "prose and reports", &["prose", "bullets", "phase"]),
    ("8.5", "declarations are meant", &["declarations", "code fence"]),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::detect::{Sensitivities, read};
    use crate::words::category;

    /// Returns the text under a rule's number: up to the next one.
    fn paragraphs(id: &str) -> &'static str {
        let from = text().find(&format!("**[{id}]**")).unwrap_or_else(|| panic!("there is no rule {id}"));
        let rest = &text()[from + 2..];
        rest.find("**[").map_or(rest, |end| &rest[..end])
    }

    #[test]
    fn every_rule_is_there_with_its_key_words() {
        for (id, what, must_contain) in RULES {
            for words in *must_contain {
                assert!(paragraphs(id).contains(words), "rule {id} ({what}) lost `{words}`");
            }
        }
    }

    #[test]
    fn the_text_and_the_list_have_the_same_rules_in_the_same_order() {
        let numbered: Vec<&str> =
            text().split("**[").skip(1).filter_map(|rest| rest.split_once("]**")).map(|(id, _)| id).collect();
        let mut listed: Vec<&str> = RULES.iter().map(|(id, _, _)| *id).collect();
        listed.dedup();
        assert_eq!(numbered, listed);
    }

    #[test]
    fn the_text_is_short_enough_to_be_read() {
        assert!((9_000..=12_000).contains(&text().len()), "{} bytes", text().len());
    }

    #[test]
    fn every_category_an_agent_may_need_is_named() {
        for (name, _) in category::STATIC {
            assert!(paragraphs("3.2").contains(name), "{name}");
        }
    }

    #[test]
    fn the_phrases_that_are_banned_are_those_that_the_detector_reads() {
        let never = paragraphs("8.3").split_once("Never use:").map_or("", |(_, list)| list);
        let listed = never.split('.').next().unwrap_or_default().split(" · ").count();
        let reading = read(&format!("{never} it is important to note"), &[], &Sensitivities::default());
        assert_eq!(reading.banned_phrases.map(|banned| banned.phrases.len()), Some(listed + 1));
    }
}
