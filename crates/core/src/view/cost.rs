//! Tokens and time by role.
//!
//! The peer's roles are those of its `role_invoke`; ours are the last segment of the part that a turn
//! belongs to, without its attempt. What a provider does not say is unknown, never zero.

use indexmap::IndexMap;
use serde::Serialize;

use super::columns::table;
use super::damage;
use crate::trace::read::{Trace, TraceLine};

/// What each role took, in the order in which they were first seen.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Cost {
    /// The lines that can't be read.
    pub damaged: Vec<u64>,
    /// The price that was given, in dollars per thousand tokens.
    pub dollar_per_1k: Option<f64>,
    /// One row per role.
    pub roles: Vec<RoleCost>,
}

/// One role.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RoleCost {
    /// Its name.
    pub role: String,
    /// How many turns it took.
    pub invocations: u64,
    /// The tokens that went in, those of a cache included.
    pub tokens_in: u64,
    /// The tokens that came out.
    pub tokens_out: u64,
    /// Where the numbers of tokens come from.
    pub source: TokenSource,
    /// How long its turns took, in milliseconds.
    pub duration_ms: u64,
    /// What the tokens cost at the given price, in dollars.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub estimated_dollars: Option<f64>,
}

/// Where a number of tokens comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TokenSource {
    /// The provider said so.
    Reported,
    /// Counted from the length of the text.
    Estimated,
    /// Several of these.
    Mixed,
    /// Nobody said: the number counts nothing.
    Unknown,
}

impl TokenSource {
    /// Its name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Reported => "reported",
            Self::Estimated => "estimated",
            Self::Mixed => "mixed",
            Self::Unknown => "unknown",
        }
    }
}

/// What each role took in `trace`, priced if `dollar_per_1k` says what a thousand tokens cost.
#[must_use]
pub fn of(trace: &Trace<'_>, dollar_per_1k: Option<f64>) -> Cost {
    let mut roles: IndexMap<String, RoleCost> = IndexMap::new();
    for turn in trace.lines.iter().filter_map(turn_cost) {
        match roles.get_mut(&turn.role) {
            None => {
                roles.insert(turn.role.clone(), turn);
            }
            Some(row) => {
                row.invocations += 1;
                row.tokens_in = row.tokens_in.saturating_add(turn.tokens_in);
                row.tokens_out = row.tokens_out.saturating_add(turn.tokens_out);
                row.duration_ms = row.duration_ms.saturating_add(turn.duration_ms);
                if row.source != turn.source {
                    row.source = TokenSource::Mixed;
                }
            }
        }
    }
    let mut roles: Vec<RoleCost> = roles.into_values().collect();
    for row in &mut roles {
        #[expect(clippy::cast_precision_loss, reason = "a price is an estimate anyway")]
        let thousands = row.tokens_in.saturating_add(row.tokens_out) as f64 / 1000.0;
        row.estimated_dollars = dollar_per_1k.map(|price| thousands * price);
    }
    Cost { damaged: trace.damaged.clone(), dollar_per_1k, roles }
}

/// What one turn took; `None` if the line is none.
fn turn_cost(line: &TraceLine<'_>) -> Option<RoleCost> {
    let fields = &line.fields;
    let (role, tokens_in, tokens_out, source) = match line.kind.as_ref() {
        "role_invoke" => {
            let source = match fields.word("tokens_source").as_ref() {
                "reported" => TokenSource::Reported,
                "estimated" => TokenSource::Estimated,
                _ => TokenSource::Unknown,
            };
            (fields.word("role").into_owned(), fields.count("tokens_in"), fields.count("tokens_out"), source)
        }
        "agent_reply" => {
            let usage = fields.object("usage");
            let input = ["input_tokens", "cache_read_tokens", "cache_write_tokens"]
                .iter()
                .fold(0, |sum: u64, name| sum.saturating_add(usage.count(name)));
            let is_reported = usage.number("input_tokens").is_some() || usage.number("output_tokens").is_some();
            let source = if is_reported { TokenSource::Reported } else { TokenSource::Unknown };
            (role_of(&line.part).to_owned(), input, usage.count("output_tokens"), source)
        }
        _ => return None,
    };
    let duration_ms = fields.count("duration_ms");
    Some(RoleCost { role, invocations: 1, tokens_in, tokens_out, source, duration_ms, estimated_dollars: None })
}

/// The last segment of a part without its attempt: the `executor` of `subtask/2.1/executor`, the `coding`
/// of `stage/coding.1`.
fn role_of(part: &str) -> &str {
    let last = part.rsplit('/').next().unwrap_or(part);
    let role = last.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    if role.is_empty() { if part.is_empty() { "run" } else { part } } else { role }
}

/// Its text.
#[must_use]
pub fn text(cost: &Cost) -> String {
    let mut text = damage::announced(&cost.damaged);
    if cost.roles.is_empty() {
        return text + "no turn was recorded\n";
    }
    let cells = |row: &RoleCost| {
        let tokens = |count: u64| if row.source == TokenSource::Unknown { "-".to_owned() } else { count.to_string() };
        [
            row.role.clone(),
            row.invocations.to_string(),
            tokens(row.tokens_in),
            tokens(row.tokens_out),
            row.source.as_str().to_owned(),
            row.duration_ms.to_string(),
        ]
    };
    let head = ["role", "invocations", "tokens_in", "tokens_out", "source", "duration_ms"];
    if cost.dollar_per_1k.is_none() {
        return text + &table(head, &cost.roles.iter().map(cells).collect::<Vec<_>>());
    }
    let is_exact = |row: &RoleCost| row.source == TokenSource::Reported;
    let priced = |row: &RoleCost| {
        let [role, invocations, tokens_in, tokens_out, source, duration] = cells(row);
        let star = if is_exact(row) { "" } else { "*" };
        let dollars = match (row.source, row.estimated_dollars) {
            (TokenSource::Unknown, _) | (_, None) => "-".to_owned(),
            (_, Some(dollars)) => format!("${dollars:.4}{star}"),
        };
        [role, invocations, tokens_in, tokens_out, source, duration, dollars]
    };
    let [role, invocations, tokens_in, tokens_out, source, duration] = head;
    let head = [role, invocations, tokens_in, tokens_out, source, duration, "est_$"];
    text += &table(head, &cost.roles.iter().map(priced).collect::<Vec<_>>());
    if !cost.roles.iter().all(is_exact) {
        text += "\n* asterisk marks rows whose token counts were estimated (chars/4 heuristic).\n";
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_role_is_the_last_word_of_a_part() {
        for (part, role) in [
            ("", "run"),
            ("session", "session"),
            ("subtask/2.1/executor", "executor"),
            ("stage/coding.1", "coding"),
            ("iteration/7", "iteration/7"),
        ] {
            assert_eq!(role_of(part), role, "{part}");
        }
    }
}
