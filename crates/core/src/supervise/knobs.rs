//! The thresholds of an escalation, and how an operator's words for them are read.

/// The thresholds. The defaults are those of the rule's first publication.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StuckKnobs {
    /// False if nothing is ever escalated: then nothing is kept, either.
    pub is_enabled: bool,
    /// Number of rounds in a row in which two signals must hold.
    pub rounds: u32,
    /// Number of rounds without a change from which that is a signal.
    pub nochange_min: u32,
    /// Number of refused evaluations in a row from which that is a signal.
    pub split_rounds: u32,
    /// Number of rounds without a change at which a council is asked; twice as many end a loop.
    pub stagnation_limit: u32,
    /// Number of rounds for which an evaluation counts.
    pub evaluation_age: u32,
    /// Number of rounds after an escalation in which there is no other.
    pub cooldown: u32,
}

impl Default for StuckKnobs {
    fn default() -> Self {
        Self {
            is_enabled: true,
            rounds: 2,
            nochange_min: 4,
            split_rounds: 2,
            stagnation_limit: 5,
            evaluation_age: 5,
            cooldown: 0,
        }
    }
}

/// A knob with a value that can't be read: the default holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnobFault {
    /// The knob's name, such as `rounds`.
    pub name: &'static str,
    /// The value, as it was given.
    pub given: String,
    /// The values that are allowed.
    pub allowed: &'static str,
    /// The value that holds.
    pub used: String,
}

/// Words that switch the escalation on and off, in small letters.
const ON: [&str; 4] = ["1", "true", "on", "yes"];
const OFF: [&str; 4] = ["0", "false", "off", "no"];

impl StuckKnobs {
    /// Reads the knobs; `given` returns the value of one by its name, in small letters (`escalation`, `rounds`,
    /// `nochange_min`, `split_rounds`, `stagnation_limit`, `evaluation_age`, `cooldown`). What can't be read is told, once
    /// for each, and the default holds. An empty value counts as none.
    pub fn read(given: impl Fn(&str) -> Option<String>) -> (Self, Vec<KnobFault>) {
        let mut faults = Vec::new();
        let default = Self::default();
        let given = |name: &str| given(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty());
        let mut number = |name: &'static str, least: u32, default: u32| {
            let Some(value) = given(name) else { return default };
            match value.parse() {
                Ok(number) if number >= least => number,
                _ => {
                    let allowed = if least == 0 { "a whole number" } else { "a whole number above 0" };
                    faults.push(KnobFault { name, given: value, allowed, used: default.to_string() });
                    default
                }
            }
        };
        let stagnation_limit = number("stagnation_limit", 1, default.stagnation_limit);
        // A round before a council is asked.
        let nochange_min = number("nochange_min", 1, (stagnation_limit - 1).max(1));
        let rounds = number("rounds", 1, default.rounds);
        let split_rounds = number("split_rounds", 1, default.split_rounds);
        let evaluation_age = number("evaluation_age", 1, default.evaluation_age);
        let cooldown = number("cooldown", 0, default.cooldown);
        let is_enabled = match given("escalation") {
            None => true,
            Some(value) => {
                let word = value.to_lowercase();
                let is_known = ON.contains(&word.as_str()) || OFF.contains(&word.as_str());
                if !is_known {
                    let (allowed, used) = ("`on` or `off`", "on".to_owned());
                    faults.push(KnobFault { name: "escalation", given: value, allowed, used });
                }
                !OFF.contains(&word.as_str())
            }
        };
        let knobs = Self { is_enabled, rounds, nochange_min, split_rounds, stagnation_limit, evaluation_age, cooldown };
        (knobs, faults)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(given: &[(&str, &str)]) -> (StuckKnobs, Vec<&'static str>) {
        let value = |name: &str| given.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
        let (knobs, faults) = StuckKnobs::read(value);
        (knobs, faults.iter().map(|fault| fault.name).collect())
    }

    #[test]
    fn u25_what_is_no_number_is_told_and_the_default_holds() {
        let default = StuckKnobs::default();
        assert_eq!(read(&[]), (default, vec![]));
        assert_eq!(read(&[("rounds", "abc")]), (default, vec!["rounds"]));
        assert_eq!(read(&[("nochange_min", "0")]), (default, vec!["nochange_min"]));
        assert_eq!(read(&[("split_rounds", "-1")]), (default, vec!["split_rounds"]));
        assert_eq!(read(&[("rounds", "2.5"), ("cooldown", "x")]), (default, vec!["rounds", "cooldown"]));
        for off in ["false", "0", "off", "NO", " no "] {
            assert_eq!(read(&[("escalation", off)]), (StuckKnobs { is_enabled: false, ..default }, vec![]), "{off}");
        }
        for on in ["", "1", "true", "On"] {
            assert_eq!(read(&[("escalation", on)]), (default, vec![]), "{on}");
        }
        assert_eq!(read(&[("escalation", "fasle")]), (default, vec!["escalation"]));
    }

    #[test]
    fn stagnation_is_a_signal_a_round_before_a_council_is_asked() {
        for (limit, expected) in [("1", 1), ("2", 1), ("3", 2), ("9", 8)] {
            assert_eq!(read(&[("stagnation_limit", limit)]).0.nochange_min, expected);
        }
        assert_eq!(read(&[("stagnation_limit", "9"), ("nochange_min", "3")]).0.nochange_min, 3);
    }
}
