//! Finds the decisions that a change would have made otherwise in the past: a policy simulator over recorded runs.
//!
//! In: the events of one run after another, each with two procedures: one as the run was made, one with the change.
//! Out: a [`WhatIfReport`] of the differences between the two. Both decide by today's rules, so that a difference is due to
//! the change alone; a difference from the record even without the change is drift, and is listed separately. Each
//! event is applied as it stands to both, because nobody knows how a run would have gone on after another decision.
//!
//! Of the peer's runs only the agents' texts can be read again: its traces don't hold what its gate knew.
//!
//! Begin with [`WhatIf`].

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::Value;

use super::applying::Taken;
use crate::detect;
use crate::detect::{Detector, Sensitivities, Sensitivity, Spoken, TurnReading};
use crate::gate::{Decision, Grant};
use crate::procedure::run::Run;
use crate::session::Decider;
use crate::trace::{Body, CallEvent, Event, GateEvent, RunEvent, TurnEvent};
use crate::words::budget::Whose;
use crate::words::tool::ToolCall;
use crate::words::visible::visible_line;
use crate::words::{Category, GateAnswer, Part, doer_of};
use crate::work::Work;

/// Number of examples kept for each detector, and for each tool.
const EXAMPLES_MAX: usize = 3;

/// Longest text of an example, in characters.
const TEXT_CHARS_MAX: usize = 120;

/// Changes to try, all at once.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Changes {
    /// Detectors, whatever a brief says of them.
    pub detectors: BTreeMap<Detector, Sensitivity>,
    /// A profile, as if every run had named it. A brief's own settings win, as they would have.
    pub profile: Option<Taken>,
    /// Categories that every brief authorizes too.
    pub authorize: Vec<Category>,
    /// Categories that no brief authorizes, as they stand in it.
    pub withdraw: Vec<Category>,
    /// Grants that every run has.
    pub grants: Vec<Grant>,
}

impl Changes {
    /// Returns the sensitivities of a run that had `recorded`, and whose brief says `by_brief` itself.
    #[must_use]
    pub fn sensitivities(&self, recorded: &Sensitivities, by_brief: &Sensitivities) -> Sensitivities {
        let mut changed = recorded.clone();
        for (detector, sensitivity) in self.profile.iter().flat_map(|taken| &taken.detectors) {
            if by_brief.of(*detector) == Sensitivity::Default {
                changed = changed.with(*detector, *sensitivity);
            }
        }
        self.detectors.iter().fold(changed, |changed, (detector, sensitivity)| changed.with(*detector, *sensitivity))
    }

    /// Returns the categories authorized in a run whose brief authorizes `recorded`.
    #[must_use]
    pub fn authorized(&self, recorded: &[Category]) -> Vec<Category> {
        let mut changed: Vec<Category> =
            recorded.iter().filter(|category| !self.withdraw.contains(category)).cloned().collect();
        for category in &self.authorize {
            if !changed.contains(category) {
                changed.push(category.clone());
            }
        }
        changed
    }

    /// Lists the changes that are not tried, each with the reason, in a sentence.
    #[must_use]
    pub fn not_tried(&self) -> Vec<String> {
        let disabled = |(detector, sensitivity): &(&Detector, &Sensitivity)| {
            **sensitivity == Sensitivity::Disabled && detector.is_safety_critical()
        };
        let of_profile = self.profile.iter().flat_map(|taken| &taken.detectors);
        let held = self.detectors.iter().chain(of_profile).filter(disabled);
        let held = held.map(|(detector, _)| {
            format!("{} is safety-critical: nothing disables it, and it is read as by default", detector.name())
        });
        let tokens = self
            .profile
            .iter()
            .flat_map(|taken| &taken.options.roles)
            .filter(|(_, budget)| budget.max_tokens.is_some());
        let tokens = tokens.map(|(role, _)| {
            format!("the limit on the tokens of the {role}: a run that is asked for more would have gone on otherwise")
        });
        held.chain(tokens).collect()
    }

    /// Returns true if a change concerns the gate's decisions.
    #[must_use]
    pub fn is_about_the_gate(&self) -> bool {
        !(self.authorize.is_empty() && self.withdraw.is_empty() && self.grants.is_empty())
    }
}

/// Differences that the changes make.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct WhatIfReport {
    /// Runs of ours that were decided anew.
    pub runs: u64,
    /// Sessions of the peer whose turns were read anew.
    pub peer_sessions: u64,
    /// Turns that were read anew.
    pub turns: u64,
    /// Judgements of the gate that were made anew.
    pub calls: u64,
    /// Detectors that fire with the change and not without it.
    pub newly_fired: Tally,
    /// Detectors that fire without the change and not with it.
    pub newly_silent: Tally,
    /// Calls, and announced acts, about which an operator is asked with the change alone.
    pub newly_asked: Tally,
    /// Calls, and announced acts, about which an operator is no longer asked.
    pub newly_allowed: Tally,
    /// Calls that no operator could allow with the change.
    pub newly_refused: Tally,
    /// Calls that were made and lie beyond a limit which the change brings.
    pub beyond_limits: Tally,
    /// Differences from the record without the change.
    pub drift: RuleDrift,
}

/// Count of one kind of difference.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// Number of cases.
    pub count: u64,
    /// In how many runs.
    pub runs: u64,
    /// By detector.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub detectors: BTreeMap<String, u64>,
    /// By tool; `(announced)` is an act that an agent announced.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub tools: BTreeMap<String, u64>,
    /// By category; one call may be of several.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub categories: BTreeMap<String, u64>,
    /// The first few of each detector or tool.
    pub examples: Vec<Example>,
    #[serde(skip)]
    last_run: String,
}

/// One case.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Example {
    /// The run.
    pub run: String,
    /// The part of the run.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub part: String,
    /// The turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn: Option<u32>,
    /// The call's number in its part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<u32>,
    /// The detector or tool.
    pub what: String,
    /// The text that fired, or the subject of the call; control characters are spelled out.
    pub text: String,
    /// Reason for the decision with the change; absent for detectors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// Differences from the record that today's rules alone make.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct RuleDrift {
    /// Turns.
    pub turns: u64,
    /// Judgements.
    pub calls: u64,
    /// The runs in which there is any.
    pub runs: BTreeSet<String>,
}

/// Adds up what differs, a run at a time.
#[derive(Debug, Clone, Default)]
pub struct WhatIf {
    report: WhatIfReport,
}

impl WhatIf {
    /// Decides a run of ours anew. Both runs must be fresh; `grants` are those of the change.
    pub fn run(&mut self, name: &str, events: &[Event], mut before: Run<Work>, mut after: Run<Work>, grants: &[Grant]) {
        self.report.runs += 1;
        for event in events {
            if let (Some(then), Some(now)) = (before.session_at(&event.part), after.session_at(&event.part)) {
                match &event.body {
                    Body::Turn(TurnEvent::TurnRead { turn, .. }) => self.turn(name, *turn, then, now),
                    Body::Gate(GateEvent::AuthCheckFired { call: Some(number), answer, decision, .. }) => {
                        let recorded = GateAnswer::on_record(*answer, decision).as_str();
                        let used = self.judgement(name, event, *number, recorded, (then, now), grants);
                        for grant_id in used {
                            after.apply(&Event { body: consumed(grant_id, *number), ..event.clone() });
                        }
                    }
                    Body::Call(CallEvent::ToolCall { slot, name: tool, args, .. }) => {
                        self.limit(name, &event.part, slot.number, (tool, args), (then, now));
                    }
                    _ => {}
                }
            }
            before.apply(event);
            match &event.body {
                Body::Gate(GateEvent::GrantsLoaded { grants: kept }) if !grants.is_empty() => {
                    after.apply(&loaded(event, kept.iter().chain(grants).cloned().collect()));
                }
                Body::Run(RunEvent::RunStart(_)) if !grants.is_empty() => {
                    after.apply(event);
                    after.apply(&loaded(event, grants.to_vec()));
                }
                _ => after.apply(event),
            }
        }
    }

    /// Reads what an agent of the peer said anew: turns by number.
    pub fn peer_session<'t>(
        &mut self,
        name: &str,
        turns: impl Iterator<Item = (u32, &'t str)>,
        authorized: &[Category],
        changes: &Changes,
    ) {
        self.report.peer_sessions += 1;
        let none = Sensitivities::default();
        let changed = changes.sensitivities(&none, &none);
        for (turn, text) in turns {
            self.report.turns += 1;
            let spoken = Spoken::of(text, "", false);
            let before = detect::read_in_session(spoken, authorized, &none);
            let after = detect::read_in_session(spoken, authorized, &changed);
            self.readings(
                &Example { run: name.to_owned(), turn: Some(turn), ..Example::default() },
                text,
                &before,
                &after,
            );
        }
    }

    /// Returns the differences.
    #[must_use]
    pub fn report(self) -> WhatIfReport {
        self.report
    }

    fn turn(&mut self, run: &str, turn: u32, then: Decider<'_>, now: Decider<'_>) {
        let (Some((text, fired)), Some(before), Some(after)) =
            (then.turn_on_record(), then.read_again(), now.read_again())
        else {
            return;
        };
        self.report.turns += 1;
        let today = before.fired().map(|(detector, payload)| (detector.name().to_owned(), payload));
        if !today.eq(fired.iter().cloned()) {
            self.report.drift.turns += 1;
            self.report.drift.runs.insert(run.to_owned());
        }
        let part = then.part().to_string();
        let example = Example { run: run.to_owned(), part, turn: Some(turn), ..Example::default() };
        self.readings(&example, text, &before, &after);
        if before.destructive.destructive && after.destructive.destructive {
            self.announcements(&example, &before, &after);
        }
    }

    fn readings(&mut self, example: &Example, text: &str, before: &TurnReading, after: &TurnReading) {
        for detector in Detector::ALL {
            let (tally, seen) = match (before.has_fired(detector), after.has_fired(detector)) {
                (false, true) => (&mut self.report.newly_fired, after),
                (true, false) => (&mut self.report.newly_silent, before),
                _ => continue,
            };
            let what = detector.name();
            *tally.detectors.entry(what.to_owned()).or_default() += 1;
            tally.add(Example {
                what: what.to_owned(),
                text: shown(&fragment(detector, seen, text)),
                ..example.clone()
            });
        }
    }

    /// An announcement that is heard either way may be asked about either way.
    fn announcements(&mut self, example: &Example, before: &TurnReading, after: &TurnReading) {
        let open = |reading: &TurnReading| -> BTreeMap<&'static str, String> {
            let acts = reading.destructive.actions.iter().filter(|act| !act.authorized);
            acts.map(|act| (act.action, act.sentence.clone())).collect()
        };
        let (before, after) = (open(before), open(after));
        let allowed = before.iter().filter(|(act, _)| !after.contains_key(*act)).map(|act| (false, act));
        let asked = after.iter().filter(|(act, _)| !before.contains_key(*act)).map(|act| (true, act));
        for (is_asked, (act, sentence)) in allowed.chain(asked) {
            let tally = if is_asked { &mut self.report.newly_asked } else { &mut self.report.newly_allowed };
            let what = "(announced)".to_owned();
            *tally.tools.entry(what.clone()).or_default() += 1;
            *tally.categories.entry((*act).to_owned()).or_default() += 1;
            tally.add(Example { what, text: shown(sentence), ..example.clone() });
        }
    }

    /// Judges a call anew; the grants of the change that it uses up a use of.
    fn judgement(
        &mut self,
        run: &str,
        event: &Event,
        number: u32,
        recorded: &str,
        (then, now): (Decider<'_>, Decider<'_>),
        grants: &[Grant],
    ) -> Vec<String> {
        let (Some(before), Some(after)) = (then.judge_again(number, event.at), now.judge_again(number, event.at))
        else {
            return Vec::new();
        };
        self.report.calls += 1;
        if before.answer.as_str() != recorded {
            self.report.drift.calls += 1;
            self.report.drift.runs.insert(run.to_owned());
        }
        let used = after.grants.iter().filter(|id| grants.iter().any(|grant| grant.grant_id == **id));
        let used = used.cloned().collect();
        if before.answer == after.answer {
            return used;
        }
        let (tally, missing) = match after.answer {
            GateAnswer::Allow => (&mut self.report.newly_allowed, missing(&before)),
            GateAnswer::Ask => (&mut self.report.newly_asked, missing(&after)),
            GateAnswer::Refuse => (&mut self.report.newly_refused, missing(&after)),
        };
        let Some(ToolCall { name, args, .. }) = then.call_on_record(number) else { return used };
        *tally.tools.entry(name.clone()).or_default() += 1;
        for category in missing {
            *tally.categories.entry(category.to_string()).or_default() += 1;
        }
        tally.add(Example {
            run: run.to_owned(),
            part: event.part.to_string(),
            turn: None,
            call: Some(number),
            what: name.clone(),
            text: shown(&about(args)),
            why: Some(shown(&after.reason)),
        });
        used
    }

    fn limit(
        &mut self,
        run: &str,
        part: &Part,
        number: u32,
        (tool, args): (&String, &Value),
        (then, now): (Decider<'_>, Decider<'_>),
    ) {
        let Some(whose) = now.limit_of_calls().filter(|_| then.limit_of_calls().is_none()) else { return };
        let why = match whose {
            Whose::Phase(phase) => format!("beyond the calls of phase {}", phase.as_str()),
            Whose::Session | Whose::Role => format!("beyond the calls of the {}", doer_of(part.as_str())),
            Whose::Run => "beyond the calls of the run".to_owned(),
        };
        let tally = &mut self.report.beyond_limits;
        *tally.tools.entry(tool.clone()).or_default() += 1;
        tally.add(Example {
            run: run.to_owned(),
            part: part.to_string(),
            turn: None,
            call: Some(number),
            what: tool.clone(),
            text: shown(&about(args)),
            why: Some(why),
        });
    }
}

impl Tally {
    fn add(&mut self, example: Example) {
        self.count += 1;
        if self.last_run != example.run {
            self.last_run.clone_from(&example.run);
            self.runs += 1;
        }
        if self.examples.iter().filter(|other| other.what == example.what).count() < EXAMPLES_MAX {
            self.examples.push(example);
        }
    }
}

fn loaded(event: &Event, grants: Vec<Grant>) -> Event {
    Event { seq: event.seq, at: event.at, part: Part::root(), body: Body::Gate(GateEvent::GrantsLoaded { grants }) }
}

fn consumed(grant_id: String, call: u32) -> Body {
    Body::Gate(GateEvent::PermissionGrantConsumed { grant_id, consuming_tool_call_id: String::new(), call })
}

/// Returns the categories that a decision concerns: those that were missing, else all that the call needs.
fn missing(decision: &Decision) -> &[Category] {
    if decision.missing.is_empty() { &decision.required } else { &decision.missing }
}

/// Returns the text that a detector fired on, as far as its reading has it; else the beginning of the turn.
fn fragment(detector: Detector, reading: &TurnReading, text: &str) -> String {
    let said = match detector {
        Detector::Blocker => reading.blocker.reason.clone(),
        Detector::Destructive => reading.destructive.actions.first().map(|act| act.sentence.clone()),
        Detector::BannedPhrases => reading.banned_phrases.as_ref().map(|banned| banned.phrases.join(", ")),
        Detector::Confirmation | Detector::PhaseMarker | Detector::Completion => None,
    };
    let first = || text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default().to_owned();
    said.filter(|said| !said.trim().is_empty()).unwrap_or_else(first)
}

/// Returns the subject of a call, in a few words: its command, path or address, else all its arguments.
fn about(args: &Value) -> String {
    let named = ["cmd", "path", "url"].into_iter().find_map(|name| args.get(name)?.as_str());
    named.map_or_else(|| args.to_string(), str::to_owned)
}

/// Returns the text on one line, cut, and with nothing in it that a terminal would obey.
fn shown(text: &str) -> String {
    let mut kept: String = text.trim().chars().take(TEXT_CHARS_MAX).collect();
    if kept.len() < text.trim().len() {
        kept.push('…');
    }
    visible_line(&kept).into_owned()
}
