//! Tokens, time and dollars, by role and by session.
//!
//! The peer's roles are those of its `role_invoke`; ours are the last segment of the part that a turn belongs to,
//! without its attempt. A number that a provider doesn't give is unknown, never zero: a turn whose tokens or price are
//! unknown is in no sum of dollars, and the sum says so.
//!
//! Begin with [`of`].

use std::collections::BTreeMap;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use super::columns::table_of;
use super::damage;
use crate::trace::read::{Fields, Trace, TraceLine};
use crate::trace::{EventKind, PeerKind, TraceLineKind};
use crate::words::price::Prices;
use crate::words::{Usage, doer_of, price};

/// The price of a token.
#[derive(Debug, Clone, Copy)]
pub enum Pricing<'a> {
    /// No price is known.
    Unknown,
    /// Every token the same: so many dollars for a thousand of them.
    PerThousand(f64),
    /// The prices that were configured when the run began, else those of now, by the id of an adapter.
    Configured(&'a BTreeMap<String, Prices>),
}

/// The tokens, time and money of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Cost {
    /// The lines that can't be read.
    pub damaged: Vec<u64>,
    /// The price that was given, in dollars per thousand tokens.
    pub dollar_per_1k: Option<f64>,
    /// One row per role, in the order in which they were first seen.
    pub roles: Vec<RoleCost>,
    /// One row per session, in the same order. The peer's traces have one alone.
    pub sessions: Vec<SessionCost>,
    /// All of it by prices of the operator's or a list; absent where none of them fits a turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<Spent>,
}

/// One role.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RoleCost {
    /// Its name.
    pub role: String,
    /// Its tokens, time and money.
    #[serde(flatten)]
    pub spent: Spent,
}

/// One session.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SessionCost {
    /// The part of the run that it lives in; empty for the run itself.
    pub part: String,
    /// Its tokens, time and money.
    #[serde(flatten)]
    pub spent: Spent,
}

/// The tokens, time and money of some turns.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Spent {
    /// Number of turns.
    pub invocations: u64,
    /// The tokens that went in, those of a cache included.
    pub tokens_in: u64,
    /// The tokens that came out.
    pub tokens_out: u64,
    /// Source of the numbers of tokens.
    pub source: TokenSource,
    /// Duration of the turns, in milliseconds.
    pub duration_ms: u64,
    /// Cost of the tokens, in dollars; absent if that is known of no turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub estimated_dollars: Option<f64>,
    /// The same by these prices, in nano-dollars.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nano_dollars: Option<u64>,
    /// The day of the list that prices of them are from, the latest if there are several; absent where all are the
    /// operator's own. What rests on a list is an estimate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prices_listed: Option<String>,
    /// Number of turns that are in no sum of dollars, since their tokens or their price are not known; absent if there
    /// is no such turn, or no such sum.
    #[serde(skip_serializing_if = "is_zero")]
    pub turns_without_cost: u64,
    /// The tokens of the turns whose tokens are known.
    #[serde(skip)]
    counted: u64,
    #[serde(skip)]
    has_estimates: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks with a reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// The source of a number of tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TokenSource {
    /// The provider said so.
    Reported,
    /// Counted from the length of the text.
    Estimated,
    /// Several of these.
    Mixed,
    /// Not known: the number counts nothing.
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

impl Cost {
    /// Returns all of it in short: dollars, or tokens where no price is known, or a dash if nothing was counted.
    #[must_use]
    pub fn in_short(&self) -> String {
        if let Some(total) = &self.total {
            return total.dollars();
        }
        let sum =
            |count: fn(&Spent) -> u64| self.roles.iter().map(|role| count(&role.spent)).fold(0, u64::saturating_add);
        match sum(|spent| spent.tokens_in).saturating_add(sum(|spent| spent.tokens_out)) {
            0 => "-".to_owned(),
            tokens => format!("{tokens} tokens"),
        }
    }
}

/// Returns the tokens, time and money of each role and each session in `trace`, priced as `pricing` says.
#[must_use]
pub fn of(trace: &Trace<'_>, pricing: Pricing<'_>) -> Cost {
    let mut roles: IndexMap<String, Spent> = IndexMap::new();
    let mut sessions: IndexMap<String, Spent> = IndexMap::new();
    let mut total: Option<Spent> = None;
    let mut asked = Askers::default();
    for line in &trace.lines {
        asked.see(line);
        let Some(turn) = turn_of(line) else { continue };
        let spent = turn.spent(pricing, asked.agent(line));
        for (rows, name) in [(&mut roles, turn.role), (&mut sessions, turn.part)] {
            match rows.get_mut(&name) {
                Some(row) => row.add(&spent),
                None => {
                    rows.insert(name, spent.clone());
                }
            }
        }
        match &mut total {
            Some(total) => total.add(&spent),
            None => total = Some(spent),
        }
    }
    // Configured prices that fit no turn are as good as none.
    let pricing = match pricing {
        Pricing::Configured(_) if total.as_ref().is_none_or(|total| total.nano_dollars.is_none()) => Pricing::Unknown,
        pricing => pricing,
    };
    let finish = |mut spent: Spent| {
        spent.price(pricing);
        spent
    };
    let total = total.map(finish).filter(|total| total.nano_dollars.is_some());
    Cost {
        damaged: trace.damaged.clone(),
        dollar_per_1k: match pricing {
            Pricing::PerThousand(dollars) => Some(dollars),
            Pricing::Unknown | Pricing::Configured(_) => None,
        },
        roles: roles.into_iter().map(|(role, spent)| RoleCost { role, spent: finish(spent) }).collect(),
        sessions: sessions.into_iter().map(|(part, spent)| SessionCost { part, spent: finish(spent) }).collect(),
        total,
    }
}

/// One turn.
struct TurnUsage {
    role: String,
    part: String,
    tokens_in: u64,
    tokens_out: u64,
    source: TokenSource,
    duration_ms: u64,
    /// Tokens as our own journals have them; absent in the peer's, and where the provider said nothing.
    usage: Option<Usage>,
    /// True if both numbers of tokens are known.
    is_counted: bool,
}

impl TurnUsage {
    fn spent(&self, pricing: Pricing<'_>, agent: Option<&AskedAgent>) -> Spent {
        let mut prices_listed = None;
        let nano_dollars = match pricing {
            Pricing::Configured(today) => agent.and_then(|agent| {
                // The operator's prices of today say more than a list of then.
                let own = agent.prices.as_ref().filter(|_| agent.listed.is_none());
                let today = || today.get(&agent.adapter);
                let listed = || agent.prices.as_ref().inspect(|_| prices_listed.clone_from(&agent.listed));
                own.or_else(today).or_else(listed)?.cost(self.usage.as_ref()?)
            }),
            Pricing::Unknown | Pricing::PerThousand(_) => None,
        };
        let prices_listed = prices_listed.filter(|_| nano_dollars.is_some());
        let has_cost = match pricing {
            Pricing::Unknown => true,
            Pricing::PerThousand(_) => self.is_counted,
            Pricing::Configured(_) => nano_dollars.is_some(),
        };
        Spent {
            invocations: 1,
            tokens_in: self.tokens_in,
            tokens_out: self.tokens_out,
            source: self.source,
            duration_ms: self.duration_ms,
            estimated_dollars: None,
            nano_dollars,
            prices_listed,
            turns_without_cost: u64::from(!has_cost),
            counted: if self.is_counted { self.tokens_in.saturating_add(self.tokens_out) } else { 0 },
            has_estimates: self.source == TokenSource::Estimated,
        }
    }
}

impl Spent {
    fn add(&mut self, other: &Self) {
        self.invocations += other.invocations;
        self.tokens_in = self.tokens_in.saturating_add(other.tokens_in);
        self.tokens_out = self.tokens_out.saturating_add(other.tokens_out);
        self.duration_ms = self.duration_ms.saturating_add(other.duration_ms);
        self.counted = self.counted.saturating_add(other.counted);
        self.turns_without_cost += other.turns_without_cost;
        self.has_estimates |= other.has_estimates;
        // Days in this form are in their order.
        self.prices_listed = self.prices_listed.take().max(other.prices_listed.clone());
        self.nano_dollars = match (self.nano_dollars, other.nano_dollars) {
            (Some(one), Some(two)) => Some(one.saturating_add(two)),
            (one, two) => one.or(two),
        };
        if self.source != other.source {
            self.source = TokenSource::Mixed;
        }
    }

    /// Says what all of it cost, once everything is added.
    #[expect(clippy::cast_precision_loss, reason = "what is shown in dollars is rounded anyway")]
    fn price(&mut self, pricing: Pricing<'_>) {
        let is_known = self.turns_without_cost < self.invocations;
        self.estimated_dollars = match pricing {
            Pricing::Unknown => {
                self.turns_without_cost = 0;
                None
            }
            Pricing::PerThousand(dollars) => is_known.then_some(self.counted as f64 / 1000.0 * dollars),
            Pricing::Configured(_) => self.nano_dollars.map(|nano| nano as f64 / 1e9),
        };
    }

    fn has_dollars(&self) -> bool {
        self.estimated_dollars.is_some()
    }

    /// The dollars, with `~` where they rest on list prices, `*` where they rest on estimated tokens, and `+` where
    /// turns are missing; a dash if they are not known.
    #[must_use]
    pub fn dollars(&self) -> String {
        let dollars = match (self.nano_dollars, self.estimated_dollars) {
            (Some(nano), _) => price::sum_rounded(nano),
            (None, Some(dollars)) => format!("{dollars:.4}"),
            (None, None) => return "-".to_owned(),
        };
        let star = if self.has_estimates { "*" } else { "" };
        let plus = if self.turns_without_cost > 0 { "+" } else { "" };
        let list = if self.prices_listed.is_some() { "~" } else { "" };
        format!("{list}${dollars}{star}{plus}")
    }
}

/// One turn, priced as it was when it was taken, for sums over many runs.
pub(crate) struct PricedTurn {
    /// The tokens that went in, those of a cache included.
    pub(crate) tokens_in: u64,
    /// The tokens that came out.
    pub(crate) tokens_out: u64,
    /// Its cost in nano-dollars, if tokens and prices are on record.
    pub(crate) nano_dollars: Option<u64>,
    /// True if that rests on a list of prices.
    pub(crate) is_by_list: bool,
    /// True if its tokens were counted.
    pub(crate) is_counted: bool,
}

/// Returns the turn on a line, priced by the options that the run began with; `None` if the line is no turn.
pub(crate) fn turn(line: &TraceLine<'_>, askers: &Askers) -> Option<PricedTurn> {
    let turn = turn_of(line)?;
    let is_counted = turn.is_counted;
    let spent = turn.spent(Pricing::Configured(&BTreeMap::new()), askers.agent(line));
    let Spent { tokens_in, tokens_out, nano_dollars, prices_listed, .. } = spent;
    Some(PricedTurn { tokens_in, tokens_out, nano_dollars, is_by_list: prices_listed.is_some(), is_counted })
}

/// The agents that were asked for turns, as far as the lines so far say.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Askers {
    /// The agents of the run, by their place in its options.
    agents: Vec<AskedAgent>,
    /// The place of the agent that was asked last, by part.
    last: BTreeMap<String, usize>,
}

/// One agent of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct AskedAgent {
    adapter: String,
    /// Its prices when the run was begun.
    prices: Option<Prices>,
    /// The day of the list that they are from.
    #[serde(default)]
    listed: Option<String>,
}

impl Askers {
    pub(crate) fn see(&mut self, line: &TraceLine<'_>) {
        match &line.kind {
            TraceLineKind::Known(EventKind::RunStart | EventKind::RunResume) => {
                let options = line.fields.object("options");
                if options.text("adapter").is_some() {
                    // In the order in which a request names them: the run's, those to fall back on, those of roles.
                    let others = options.objects("fallback").into_iter().chain(options.object("role_agents").values());
                    self.agents = std::iter::once(&options).chain(&others.collect::<Vec<_>>()).map(agent_of).collect();
                }
            }
            TraceLineKind::Known(EventKind::AgentRequest) => {
                let place = usize::try_from(line.fields.count("agent")).unwrap_or(usize::MAX);
                self.last.insert(line.part.to_string(), place);
            }
            _ => {}
        }
    }

    /// Returns the agent that was asked for the turn of this line.
    fn agent(&self, line: &TraceLine<'_>) -> Option<&AskedAgent> {
        let part: &str = &line.part;
        self.agents.get(self.last.get(part).copied().unwrap_or(0))
    }
}

fn agent_of(options: &Fields<'_>) -> AskedAgent {
    let prices = options.object("prices");
    let prices = Prices {
        input: prices.number("input"),
        cache_read: prices.number("cache_read"),
        cache_write: prices.number("cache_write"),
        output: prices.number("output"),
    };
    AskedAgent {
        adapter: options.word("adapter").into_owned(),
        prices: Some(prices).filter(|prices| !prices.is_empty()),
        listed: options.text("prices_listed").map(|day| day.into_owned()),
    }
}

/// Returns the turn on a line; `None` if the line is no turn.
fn turn_of(line: &TraceLine<'_>) -> Option<TurnUsage> {
    let fields = &line.fields;
    let duration_ms = fields.count("duration_ms");
    match &line.kind {
        TraceLineKind::Peer(PeerKind::RoleInvoke) => {
            let source = match fields.word("tokens_source").as_ref() {
                "reported" => TokenSource::Reported,
                "estimated" => TokenSource::Estimated,
                _ => TokenSource::Unknown,
            };
            Some(TurnUsage {
                role: fields.word("role").into_owned(),
                part: line.part.to_string(),
                tokens_in: fields.count("tokens_in"),
                tokens_out: fields.count("tokens_out"),
                source,
                duration_ms,
                usage: None,
                is_counted: source != TokenSource::Unknown,
            })
        }
        TraceLineKind::Known(EventKind::AgentReply) => {
            let usage = usage_of(&fields.object("usage"));
            let input = [usage.input_tokens, usage.cache_read_tokens, usage.cache_write_tokens];
            let is_reported = usage.input_tokens.is_some() || usage.output_tokens.is_some();
            Some(TurnUsage {
                role: doer_of(&line.part).to_owned(),
                part: line.part.to_string(),
                tokens_in: input.into_iter().flatten().fold(0, u64::saturating_add),
                tokens_out: usage.output_tokens.unwrap_or(0),
                source: if is_reported { TokenSource::Reported } else { TokenSource::Unknown },
                duration_ms,
                usage: Some(usage),
                is_counted: usage.input_tokens.is_some() && usage.output_tokens.is_some(),
            })
        }
        _ => None,
    }
}

fn usage_of(fields: &Fields<'_>) -> Usage {
    Usage {
        input_tokens: fields.number("input_tokens"),
        cache_read_tokens: fields.number("cache_read_tokens"),
        cache_write_tokens: fields.number("cache_write_tokens"),
        output_tokens: fields.number("output_tokens"),
        reasoning_tokens: fields.number("reasoning_tokens"),
    }
}

/// Its text: a table of roles, one of sessions where a run has several, and the total where prices are
/// configured.
#[must_use]
pub fn text(cost: &Cost) -> String {
    let mut text = damage::announced(&cost.damaged);
    if cost.roles.is_empty() {
        return text + "no turn was recorded\n";
    }
    let has_dollars = cost.dollar_per_1k.is_some() || cost.total.is_some();
    let roles = cost.roles.iter().map(|row| (row.role.as_str(), &row.spent));
    text += &table_by("role", roles, has_dollars);
    if cost.sessions.len() > 1 {
        text.push('\n');
        let sessions = cost.sessions.iter().map(|row| (row.part.as_str(), &row.spent));
        text += &table_by("session", sessions, has_dollars);
    }
    if let Some(total) = &cost.total {
        text += &format!("\ntotal: {}\n", total.dollars());
    }
    let shown = || cost.roles.iter().map(|row| &row.spent).chain(&cost.total).filter(|spent| spent.has_dollars());
    if let Some(day) = shown().filter_map(|spent| spent.prices_listed.as_deref()).max() {
        text += &format!(
            "\n~ tilde marks estimates by the providers' list prices of {day}; prices of your own are exact.\n"
        );
    }
    if shown().any(|spent| spent.has_estimates) {
        text += "\n* asterisk marks rows whose token counts were estimated (chars/4 heuristic).\n";
    }
    if shown().any(|spent| spent.turns_without_cost > 0) {
        text += "\n+ plus marks rows with turns whose tokens or price nobody said: they are in no sum.\n";
    }
    text
}

/// The rows under a head that begins with `first`.
fn table_by<'a>(first: &str, rows: impl Iterator<Item = (&'a str, &'a Spent)>, has_dollars: bool) -> String {
    let mut head = vec![first, "invocations", "tokens_in", "tokens_out", "source", "duration_ms"];
    if has_dollars {
        head.push("est_$");
    }
    let rows: Vec<Vec<String>> = rows
        .map(|(name, spent)| {
            let tokens =
                |count: u64| if spent.source == TokenSource::Unknown { "-".to_owned() } else { count.to_string() };
            let mut cells = vec![
                name.to_owned(),
                spent.invocations.to_string(),
                tokens(spent.tokens_in),
                tokens(spent.tokens_out),
                spent.source.as_str().to_owned(),
                spent.duration_ms.to_string(),
            ];
            if has_dollars {
                cells.push(spent.dollars());
            }
            cells
        })
        .collect();
    table_of(&head, &rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::read::read_bytes;

    const DAY: &str = "2026-01-02T03:04:05.000Z";

    /// A journal of a run with `adapter`: replies with these parts and usages.
    fn journal(adapter: &str, replies: &[(&str, &str)]) -> String {
        let options = format!(r#"{{"workdir":"/w","max_steps":1,"adapter":"{adapter}"}}"#);
        let start = format!(
            r#"{{"type":"run_start","at":"{DAY}","run_id":"r","brief_id":"b","project":"p","brief":"","options":{options}}}"#
        );
        let reply = |(part, usage): &(&str, &str)| {
            let said = r#""slot":"turn/1.1","text":"","stop":"end_turn","duration_ms":5"#;
            format!(r#"{{"type":"agent_reply","at":"{DAY}","part":"{part}",{said}{usage}}}"#)
        };
        std::iter::once(start).chain(replies.iter().map(reply)).map(|line| line + "\n").collect()
    }

    const KNOWN: &str = r#","usage":{"input_tokens":1000,"cache_read_tokens":10000,"output_tokens":200}"#;
    const HALF: &str = r#","usage":{"input_tokens":1000}"#;

    fn prices() -> BTreeMap<String, Prices> {
        let prices = Prices { input: Some(3000), cache_read: Some(300), cache_write: None, output: Some(15_000) };
        BTreeMap::from([("a".to_owned(), prices)])
    }

    #[track_caller]
    fn check(journal: &str, pricing: Pricing<'_>, expected: &str) {
        assert_eq!(text(&of(&read_bytes(journal.as_bytes()), pricing)), expected);
    }

    #[test]
    fn configured_prices_give_exact_sums_by_role_and_by_session() {
        let journal = journal("a", &[("subtask/1/executor", KNOWN), ("subtask/2/executor", KNOWN), ("planner", HALF)]);
        check(
            &journal,
            Pricing::Configured(&prices()),
            "role      invocations  tokens_in  tokens_out  source    duration_ms  est_$\n\
             --------  -----------  ---------  ----------  --------  -----------  -------\n\
             executor  2            22000      400         reported  10           $0.0180\n\
             planner   1            1000       0           reported  5            -\n\
             \n\
             session             invocations  tokens_in  tokens_out  source    duration_ms  est_$\n\
             ------------------  -----------  ---------  ----------  --------  -----------  -------\n\
             subtask/1/executor  1            11000      200         reported  5            $0.0090\n\
             subtask/2/executor  1            11000      200         reported  5            $0.0090\n\
             planner             1            1000       0           reported  5            -\n\
             \n\
             total: $0.0180+\n\
             \n\
             + plus marks rows with turns whose tokens or price nobody said: they are in no sum.\n",
        );
        let cost = of(&read_bytes(journal.as_bytes()), Pricing::Configured(&prices()));
        assert_eq!(cost.roles[0].spent.nano_dollars, Some(18_000_000));
        let json = serde_json::to_value(&cost).expect("JSON");
        assert_eq!(json["roles"][1].get("estimated_dollars"), None, "{json}");
        assert_eq!(
            (&json["total"]["estimated_dollars"], &json["total"]["turns_without_cost"]),
            (&0.018.into(), &1.into())
        );
    }

    #[test]
    fn what_nobody_counted_is_no_part_of_a_sum_and_never_zero() {
        check(
            &journal("a", &[("session", KNOWN), ("session", "")]),
            Pricing::PerThousand(2.0),
            "role     invocations  tokens_in  tokens_out  source  duration_ms  est_$\n\
             -------  -----------  ---------  ----------  ------  -----------  ---------\n\
             session  2            11000      200         mixed   10           $22.4000+\n\
             \n\
             + plus marks rows with turns whose tokens or price nobody said: they are in no sum.\n",
        );
        let nothing = "role     invocations  tokens_in  tokens_out  source   duration_ms  est_$\n\
                       -------  -----------  ---------  ----------  -------  -----------  -----\n\
                       session  1            -          -           unknown  5            -\n";
        check(&journal("a", &[("session", "")]), Pricing::PerThousand(2.0), nothing);
        let cost = of(&read_bytes(journal("a", &[("session", "")]).as_bytes()), Pricing::PerThousand(2.0));
        assert_eq!(cost.roles[0].spent.estimated_dollars, None);
    }

    #[test]
    fn without_a_price_that_fits_there_is_no_column_of_dollars() {
        let plain = "role     invocations  tokens_in  tokens_out  source    duration_ms\n\
                     -------  -----------  ---------  ----------  --------  -----------\n\
                     session  1            11000      200         reported  5\n";
        let journal = journal("b", &[("session", KNOWN)]);
        check(&journal, Pricing::Configured(&prices()), plain);
        check(&journal, Pricing::Unknown, plain);
    }

    #[test]
    fn prices_on_record_win_and_each_agent_has_its_own() {
        let recorded = r#""adapter":"b","prices":{"input":1,"output":1},"fallback":[{"adapter":"a"}]"#;
        let request = |agent: u32| {
            let said = r#""slot":"turn/1.1","messages":[0,1],"tools":0"#;
            format!(r#"{{"type":"agent_request","at":"{DAY}","part":"session",{said},"agent":{agent}}}"#) + "\n"
        };
        let whole = journal("b", &[("session", KNOWN)]).replace(r#""adapter":"b""#, recorded);
        let (start, reply) = whole.split_once('\n').expect("two lines");
        let journal = format!("{start}\n{}{reply}{}{reply}", request(0), request(1));
        let mut today = prices();
        today.insert("b".to_owned(), Prices { input: Some(7), ..Prices::default() });
        let cost = of(&read_bytes(journal.as_bytes()), Pricing::Configured(&today));
        let spent = &cost.total.expect("a total");
        // The first turn has tokens of a cache, for which nothing on record has a price.
        assert_eq!((spent.nano_dollars, spent.turns_without_cost), (Some(9_000_000), 1));
        let cheap = journal.replace(r#""output":1}"#, r#""output":1,"cache_read":1}"#);
        let cost = of(&read_bytes(cheap.as_bytes()), Pricing::Configured(&today));
        assert_eq!(cost.total.expect("a total").nano_dollars, Some(9_000_000 + 11_200));
    }

    #[test]
    fn what_rests_on_a_list_is_marked_and_prices_of_ones_own_win() {
        let listed =
            r#""adapter":"b","prices":{"input":1000,"cache_read":100,"output":2000},"prices_listed":"2026-11-29""#;
        let journal = journal("b", &[("session", KNOWN)]).replace(r#""adapter":"b""#, listed);
        check(
            &journal,
            Pricing::Configured(&prices()),
            "role     invocations  tokens_in  tokens_out  source    duration_ms  est_$\n\
             -------  -----------  ---------  ----------  --------  -----------  --------\n\
             session  1            11000      200         reported  5            ~$0.0024\n\
             \n\
             total: ~$0.0024\n\
             \n\
             ~ tilde marks estimates by the providers' list prices of 2026-11-29; prices of your own are exact.\n",
        );
        let trace = read_bytes(journal.as_bytes());
        let cost = serde_json::to_value(of(&trace, Pricing::Configured(&prices()))).expect("JSON");
        assert_eq!(cost["total"]["prices_listed"], "2026-11-29");
        let own = BTreeMap::from([("b".to_owned(), Prices { input: Some(1), ..prices()["a"] })]);
        let cost = of(&trace, Pricing::Configured(&own));
        assert_eq!(cost.in_short(), "$0.0060");
    }

    #[test]
    fn the_adapter_of_a_resumed_run_is_the_one_it_was_resumed_with() {
        let journal = journal("b", &[("session", KNOWN)])
            + &journal("a", &[("session", KNOWN)]).replace("run_start", "run_resume");
        let cost = of(&read_bytes(journal.as_bytes()), Pricing::Configured(&prices()));
        let spent = &cost.total.expect("a total");
        assert_eq!((spent.nano_dollars, spent.turns_without_cost), (Some(9_000_000), 1));
    }
}
