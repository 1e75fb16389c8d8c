//! The text that explains the decision about one call.

use crate::gate::Finding;
use crate::session::explain::{CallAuthority, Explanation, Judgement};
use crate::words::visible::visible_line;
use crate::words::{Category, GateAnswer};

/// Arguments in the text, in characters.
const ARGS_CHARS_MAX: usize = 400;

/// Its text, as that of the call `call` of the run.
#[must_use]
pub fn text(call: u32, explanation: &Explanation) -> String {
    let args = explanation.args.to_string();
    let cut = args.char_indices().nth(ARGS_CHARS_MAX).map_or(args.as_str(), |(cut, _)| &args[..cut]);
    let more = if cut.len() < args.len() { " ..." } else { "" };
    let mut text = format!("call {call}: {} {}{more}\n", visible_line(&explanation.tool), visible_line(cut));
    text.push_str("\nwhat it would do:\n");
    if explanation.effects.is_empty() {
        text.push_str("  nothing beyond what its tool does\n");
    }
    for effect in &explanation.effects {
        let verdict = serde_json::to_value(effect.verdict).unwrap_or_default();
        text.push_str(&format!(
            "  {} [{}, {}]: `{}`\n",
            effect.reason,
            effect.category,
            verdict.as_str().unwrap_or_default(),
            visible_line(&effect.matched)
        ));
    }
    for judgement in &explanation.judgements {
        text.push_str(&judged(judgement));
    }
    if explanation.judgements.is_empty() {
        text.push_str("\nit was never judged\n");
    }
    text.push_str(&authority(&explanation.authority));
    text.push_str("\nwhat happened:\n");
    for happened in &explanation.history {
        text.push_str(&format!("  event {}: {}\n", happened.seq, visible_line(&happened.what)));
    }
    text
}

fn judged(judgement: &Judgement) -> String {
    let recorded = &judgement.recorded;
    let mut text = format!(
        "\njudged at event {}: {} ({})\n  {}\n",
        judgement.seq,
        recorded.answer.as_str(),
        recorded.layer.as_str(),
        visible_line(&recorded.reason)
    );
    if let Some(way) = &recorded.would_allow {
        text.push_str(&format!("  what would have allowed it: {}\n", visible_line(way)));
    }
    let Some(today) = &judgement.today else {
        text.push_str("  today: there is no such tool any more\n");
        return text;
    };
    text.push_str("  findings, by today's rules:\n");
    for finding in &today.findings {
        text.push_str(&found(finding));
    }
    if judgement.differs {
        text.push_str(&format!(
            "  today's rules differ: {} ({}): {}\n",
            today.answer.as_str(),
            today.layer.as_str(),
            visible_line(&today.reason)
        ));
    } else {
        text.push_str("  today's rules decide the same\n");
    }
    text
}

fn found(finding: &Finding) -> String {
    let matched = finding.matched.as_ref().map(|part| format!(" `{}`", visible_line(part))).unwrap_or_default();
    let (answer, layer, reason) = (finding.answer.as_str(), finding.layer.as_str(), visible_line(&finding.reason));
    let mut text = format!("    {answer:<6} {layer}{matched}: {reason}\n");
    if let Some(way) = finding.would_allow.as_ref().filter(|_| finding.answer != GateAnswer::Allow) {
        text.push_str(&format!("           allowed by: {}\n", visible_line(way)));
    }
    text
}

fn authority(authority: &CallAuthority) -> String {
    let list = |categories: &[Category]| match categories {
        [] => "nothing".to_owned(),
        some => some.iter().map(|category| visible_line(category.as_str()).into_owned()).collect::<Vec<_>>().join(", "),
    };
    let mut text = format!(
        "\nwho had said yes:\n  the brief authorizes: {}\n  approved for the run: {}\n",
        list(&authority.authorized_costs),
        list(&authority.approved_for_run)
    );
    if let Some(role) = &authority.role {
        text.push_str(&format!("  role: {}\n", visible_line(role)));
    }
    for (kind, entries) in &authority.scope {
        let locked = if authority.scope_locked { " (locked)" } else { "" };
        text.push_str(&format!("  scope, {kind}{locked}: {}\n", visible_line(&entries.join(", "))));
    }
    if authority.shell_disabled {
        text.push_str("  commands are switched off\n");
    }
    if authority.grants.is_empty() {
        text.push_str("  grants for such a call: none\n");
    }
    for grant in &authority.grants {
        text.push_str(&format!(
            "  grant {} ({}): {} for {}\n",
            visible_line(&grant.grant_id),
            grant.lasts.as_str(),
            list(&grant.categories),
            visible_line(&grant.action)
        ));
    }
    text
}
