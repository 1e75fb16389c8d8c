//! The same decision as the program makes that the rule comes from, by its three inputs and its state file.
//!
//! In: a line of rounds, as the vectors in `tests/vectors/supervision` are. Out: for each round whether it escalates, and
//! the state file after it. Every peculiarity of that program is kept (a text that reads as a number is one, a state file
//! of another shape is filled up), so that what it does can be compared; no loop of ours decides by it. [`super::stuck`]
//! says what we do instead.
//!
//! Begin with [`decide`].

use std::iter;

use serde_json::{Map, Value, json};

use super::knobs::StuckKnobs;
use super::stuck::{Round, StuckState};

/// Number of hashes that the state file keeps.
const RING_LEN: usize = 6;

/// The beginnings of the knobs' names: ours, and that of the program that the vectors are of.
const PREFIXES: [&str; 2] = ["ADJUTANT_", "LOKI_"];

/// Answers a line: `{knobs?, initial_uncertainty?, rounds}` gives `{rounds: [{escalate, state}]}`. With `"machine": "ours"`
/// the rounds are those of [`Round`], and the answers those of [`StuckState::close`].
///
/// # Errors
///
/// If the line is no such object.
pub fn decide(line: &Value) -> Result<Value, String> {
    let rounds = line.get("rounds").and_then(Value::as_array).ok_or("`rounds` must be a list")?;
    let knob = |name: &str| {
        let knobs = line.get("knobs").and_then(Value::as_object)?;
        let named = PREFIXES.iter().find_map(|prefix| knobs.get(&format!("{prefix}{name}")))?;
        Some(named.as_str().map_or_else(|| named.to_string(), str::to_owned))
    };
    let answers: Vec<Value> = match line.get("machine").and_then(Value::as_str) {
        None | Some("upstream") => {
            let initial = line.get("initial_uncertainty").and_then(Value::as_str).map(str::to_owned);
            let mut place = StatePlace { file: initial, is_writable: true };
            let knobs = UpstreamKnobs::read(&knob);
            rounds.iter().map(|round| place.round(&knobs, round)).collect::<Result<_, _>>()?
        }
        Some("ours") => ours(rounds, &knob)?,
        Some(other) => return Err(format!("`machine` must be `ours` or `upstream`, not `{other}`")),
    };
    Ok(json!({ "rounds": answers }))
}

fn ours(rounds: &[Value], knob: &impl Fn(&str) -> Option<String>) -> Result<Vec<Value>, String> {
    let named = |name: &str| {
        let of = if matches!(name, "stagnation_limit") { "COUNCIL" } else { "UNCERTAINTY" };
        knob(&format!("{of}_{}", name.to_uppercase()))
    };
    let (knobs, faults) = StuckKnobs::read(named);
    if let Some(fault) = faults.first() {
        return Err(format!("the knob `{}` must be {}, not `{}`", fault.name, fault.allowed, fault.given));
    }
    let mut state = StuckState::default();
    let answer = |round: &Value| {
        let round: Round = serde_json::from_value(round.clone()).map_err(|error| format!("a round: {error}"))?;
        let answer = state.close(&round, &knobs);
        Ok(json!({ "answer": answer, "state": state }))
    };
    rounds.iter().map(answer).collect()
}

/// The knobs as that program reads them.
enum UpstreamKnobs {
    /// Nothing is read or written.
    Off,
    /// One is no number: every answer is no, and nothing is written.
    Unreadable,
    /// The thresholds, which may be anything.
    On { rounds: i64, nochange_min: i64, split_rounds: i64 },
}

impl UpstreamKnobs {
    fn read(knob: &impl Fn(&str) -> Option<String>) -> Self {
        if knob("UNCERTAINTY_ESCALATION").as_deref() == Some("0") {
            return Self::Off;
        }
        let number = |name: &str, default: i64| match knob(name).filter(|value| !value.is_empty()) {
            None => Some(default),
            Some(value) => whole(&value),
        };
        let read = || {
            let limit = number("COUNCIL_STAGNATION_LIMIT", i64::from(StuckKnobs::default().stagnation_limit))?;
            Some(Self::On {
                rounds: number("UNCERTAINTY_ROUNDS", 2)?,
                nochange_min: number("UNCERTAINTY_NOCHANGE_MIN", (limit - 1).max(1))?,
                split_rounds: number("UNCERTAINTY_SPLIT_ROUNDS", 2)?,
            })
        };
        read().unwrap_or(Self::Unreadable)
    }
}

/// The state file of that program, and the folder that it is in.
struct StatePlace {
    file: Option<String>,
    is_writable: bool,
}

impl StatePlace {
    fn round(&mut self, knobs: &UpstreamKnobs, round: &Value) -> Result<Value, String> {
        let iteration =
            round.get("iteration").and_then(Value::as_i64).ok_or("a round: `iteration` must be a number")?;
        let before = round.get("before");
        match before.and_then(|before| before.get("uncertainty_file")) {
            None => {}
            Some(file) => self.file = file.get("raw").and_then(Value::as_str).map(str::to_owned),
        }
        match before.and_then(|before| before.get("state_dir")).and_then(Value::as_str) {
            None => {}
            Some(dir) => (self.file, self.is_writable) = (None, dir == "restore"),
        }
        let mut escalates = false;
        if let UpstreamKnobs::On { rounds, nochange_min, split_rounds } = knobs {
            let thresholds = (*rounds, *nochange_min, *split_rounds);
            let decided = decided(thresholds, iteration, &council(round), self.file.as_deref());
            if let Some((answer, state)) = decided.filter(|_| self.is_writable) {
                escalates = answer;
                self.file = Some(Value::Object(state).to_string());
            }
        }
        Ok(match &self.file {
            None => json!({ "escalate": escalates, "state": null }),
            Some(text) => match read_json(text) {
                Some(state) => json!({ "escalate": escalates, "state": state }),
                None => json!({ "escalate": escalates, "state_raw": text }),
            },
        })
    }
}

/// The council's state that a round gives; an empty one if it can't be read.
fn council(round: &Value) -> Map<String, Value> {
    let raw = round.get("council_state_raw").or_else(|| round.get("inputs")?.get("council_state_raw"));
    let read = match raw.and_then(Value::as_str) {
        Some(raw) => read_json(raw),
        None => round.get("inputs").cloned(),
    };
    match read {
        Some(Value::Object(council)) => council,
        _ => Map::new(),
    }
}

/// The answer and the state after a round; `None` if that program fails in the middle of it.
fn decided(
    (rounds, nochange_min, split_rounds): (i64, i64, i64),
    iteration: i64,
    council: &Map<String, Value>,
    file: Option<&str>,
) -> Option<(bool, Map<String, Value>)> {
    let mut state = match file.and_then(read_json) {
        Some(Value::Object(state)) => state,
        _ => Map::new(),
    };
    let defaults = json!({
        "schema_version": "1.0.0", "consecutive_co_occur": 0, "escalated_episode": false, "escalated_at_iteration": 0,
        "diff_hash_ring": [], "last_round_iteration": -1, "last_proxies": { "p1": false, "p2": false, "p3": false },
    });
    for (key, value) in defaults.as_object().into_iter().flatten() {
        state.entry(key).or_insert_with(|| value.clone());
    }
    let mut ring = state["diff_hash_ring"].as_array().cloned().unwrap_or_default();
    let hash = council.get("last_diff_hash").filter(|hash| is_truthy(hash));
    let p1 = coerced(council.get("consecutive_no_change"))? >= nochange_min;
    let p2 = hash.is_some_and(|hash| {
        let (last, others) = ring.split_last().map_or((None, &[][..]), |(last, others)| (Some(last), others));
        !last.is_some_and(|last| is_same(last, hash)) && others.iter().any(|known| is_same(known, hash))
    });
    let p3 = splits(council.get("verdicts"))? >= split_rounds;
    let proxies = json!({ "p1": p1, "p2": p2, "p3": p3 });
    let is_repeat = state["last_round_iteration"].as_f64() == Some(iteration as f64);
    let mut escalates = false;
    if !is_repeat {
        if let Some(hash) = hash {
            ring.push(hash.clone());
            ring.drain(..ring.len().saturating_sub(RING_LEN));
        }
        let co_occur = u8::from(p1) + u8::from(p2) + u8::from(p3) >= 2;
        let mut streak = coerced(state.get("consecutive_co_occur"))?;
        let mut is_episode = is_truthy(&state["escalated_episode"]);
        if co_occur {
            streak = streak.saturating_add(1);
        } else {
            (streak, is_episode) = (0, false);
        }
        if co_occur && streak >= rounds && !is_episode {
            (escalates, is_episode) = (true, true);
            state["escalated_at_iteration"] = iteration.into();
        }
        state["consecutive_co_occur"] = streak.into();
        state["escalated_episode"] = is_episode.into();
        state["last_round_iteration"] = iteration.into();
    }
    state["diff_hash_ring"] = ring.into();
    state["last_proxies"] = proxies;
    Some((escalates, state))
}

/// Returns the number of rejections in a row, up to the last vote, that somebody was against; `None` if that program
/// fails at one.
fn splits(verdicts: Option<&Value>) -> Option<i64> {
    let mut count = 0;
    for verdict in verdicts.and_then(Value::as_array).into_iter().flatten().rev() {
        let is_rejected = verdict.get("result").and_then(Value::as_str) == Some("REJECTED");
        if !is_rejected || coerced(verdict.get("approve"))? < 1 {
            break;
        }
        count += 1;
    }
    Some(count)
}

/// The text that stands for a number that JSON has no word for, in what [`read_json`] reads.
const NAN: &str = "\0NaN";
const INFINITY: &str = "\0Infinity";

/// Returns a value as a whole number, as Python's `int` reads it; 0 for what is none, `None` for what is too large.
fn coerced(value: Option<&Value>) -> Option<i64> {
    Some(match value {
        Some(Value::Bool(value)) => i64::from(*value),
        Some(Value::Number(number)) => number.as_i64().unwrap_or_else(|| number.as_f64().unwrap_or_default() as i64),
        Some(Value::String(text)) if text == INFINITY => return None,
        Some(Value::String(text)) => whole(text).unwrap_or_default(),
        _ => 0,
    })
}

/// Returns a text as a whole number, as Python's `int` reads it; `None` if it is none.
fn whole(text: &str) -> Option<i64> {
    let text = text.trim();
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let is_number = digits.split('_').all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()));
    if !is_number {
        return None;
    }
    let digits = text.replace('_', "");
    let beyond = if digits.starts_with('-') { i64::MIN } else { i64::MAX };
    Some(digits.parse().unwrap_or(beyond))
}

/// Returns true for what Python takes as true.
fn is_truthy(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(value) => *value,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
    }
}

/// Returns true for what Python takes as equal: 1, 1.0 and true are the same.
fn is_same(one: &Value, other: &Value) -> bool {
    let number = |value: &Value| match value {
        Value::Bool(value) => Some(f64::from(u8::from(*value))),
        Value::Number(number) => number.as_f64(),
        _ => None,
    };
    match (number(one), number(other)) {
        (Some(one), Some(other)) => one == other,
        _ => one == other && one.as_str() != Some(NAN),
    }
}

/// Reads JSON as Python does, which knows `NaN` and `Infinity`: each becomes a text that no file has. `None` for what is
/// no JSON.
fn read_json(text: &str) -> Option<Value> {
    let mut fixed = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let len = match first {
            '"' => {
                let len = string_len(rest)?;
                fixed.push_str(&rest[..len]);
                len
            }
            '-' | 'N' | 'I' | '0'..='9' => {
                let len = rest.find([',', ']', '}', ' ', '\n', '\r', '\t', ':', '"']).unwrap_or(rest.len());
                let word = &rest[..len];
                let is_too_large = word.starts_with(['-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9'])
                    && word.parse::<f64>().is_ok_and(f64::is_infinite);
                match word {
                    "NaN" => fixed.push_str(r#""\u0000NaN""#),
                    _ if is_too_large => fixed.push_str(r#""\u0000Infinity""#),
                    "Infinity" => fixed.push_str(r#""\u0000Infinity""#),
                    _ => fixed.push_str(word),
                }
                len
            }
            _ => {
                fixed.push(first);
                first.len_utf8()
            }
        };
        rest = &rest[len..];
    }
    serde_json::from_str(&fixed).ok()
}

/// Returns the length of the string that a text begins with, its quotes included; `None` if it has no end.
fn string_len(text: &str) -> Option<usize> {
    let mut is_escaped = false;
    let ends = |(_, byte): &(usize, u8)| match byte {
        _ if is_escaped => {
            is_escaped = false;
            false
        }
        b'\\' => {
            is_escaped = true;
            false
        }
        byte => *byte == b'"',
    };
    let mut bytes = iter::zip(1.., text.bytes().skip(1)).map(|(at, byte): (usize, u8)| (at, byte));
    bytes.find(ends).map(|(at, _)| at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_vector_is_answered_as_the_program_answered_that_it_is_of() {
        let vectors = include_str!("../../../../tests/vectors/supervision/decisions.jsonl");
        let mut count = 0;
        for line in vectors.lines() {
            let line: Value = serde_json::from_str(line).expect("a vector");
            let answers = decide(&line).expect("answered");
            let rounds = line["rounds"].as_array().expect("rounds");
            assert_eq!(answers["rounds"].as_array().map(Vec::len), Some(rounds.len()));
            for (answer, round) in iter::zip(answers["rounds"].as_array().expect("answers"), rounds) {
                assert_eq!(*answer, round["upstream"], "{} in iteration {}", line["id"], round["iteration"]);
                count += 1;
            }
        }
        assert_eq!(count, 463);
    }

    #[test]
    fn what_python_reads_is_read_and_what_it_fails_at_changes_nothing() {
        let answers = |council: &str, knobs: Value| {
            let line = json!({ "knobs": knobs, "rounds": [{ "iteration": 1, "council_state_raw": council }] });
            decide(&line).expect("answered")["rounds"][0].clone()
        };
        let p1 = |council: &str| answers(council, json!({}))["state"]["last_proxies"]["p1"].clone();
        for (no_change, expected) in
            [("4.9", true), ("\" 4 \"", true), ("\"4.9\"", false), ("[]", false), ("NaN", false), ("3.99", false)]
        {
            assert_eq!(p1(&format!(r#"{{"consecutive_no_change":{no_change}}}"#)), json!(expected), "{no_change}");
        }
        for no_change in ["Infinity", "-Infinity", "1e999"] {
            let council = format!(r#"{{"consecutive_no_change":{no_change}}}"#);
            assert_eq!(answers(&council, json!({})), json!({ "escalate": false, "state": null }), "{no_change}");
        }
        for knobs in [json!({ "LOKI_UNCERTAINTY_ROUNDS": "abc" }), json!({ "ADJUTANT_UNCERTAINTY_ESCALATION": "0" })] {
            assert_eq!(answers("{}", knobs), json!({ "escalate": false, "state": null }));
        }
        // A text that only looks like one of those words is a text.
        assert_eq!(read_json(r#"{"a": "x\" NaN, \\"}"#), Some(json!({ "a": "x\" NaN, \\" })));
        assert_eq!(read_json(r#"{"a": "#), None);
    }

    #[test]
    fn our_own_machine_is_asked_by_name_and_says_which_round_it_cannot_read() {
        let round = |number: u32| json!({ "run": "r", "number": number, "has_worked": true, "tree": "A" });
        let line = json!({ "machine": "ours", "rounds": [round(1), round(2)] });
        let answers = decide(&line).expect("answered");
        assert_eq!(answers["rounds"][1]["answer"], "no");
        assert_eq!(answers["rounds"][1]["state"]["no_change"], 1);
        for line in [
            json!({}),
            json!({ "rounds": [{}] }),
            json!({ "machine": "ours", "rounds": [{ "run": 7 }] }),
            json!({ "machine": "theirs", "rounds": [] }),
            json!({ "machine": "ours", "knobs": { "ADJUTANT_UNCERTAINTY_ROUNDS": "0" }, "rounds": [] }),
        ] {
            assert!(decide(&line).is_err(), "{line}");
        }
    }
}
