//! Loops of the labelled set: loops that get nowhere in four ways, and loops that look like it and don't.
//!
//! Begin with [`all`].

use std::collections::BTreeMap;

use adjutant_core::gate::custom_role::CustomRoles;
use adjutant_core::trace::WorkOptions;
use adjutant_core::words::{Choice, FailureKind, QuestionKind};
use adjutant_runtime::assembly::{Environment, LoopOverrides, LoopSettings};
use adjutant_store::config::Config;
use serde_json::json;

use super::script::{ScriptedCall, ScriptedEnd, ScriptedFiles, ScriptedRun, ScriptedTurn};
use super::{LabelledRun, LabelledSignal, ScenarioClass};
use crate::world;

/// Number of rounds of a loop that gets nowhere: as many as it may take without asking.
const ROUNDS: usize = 25;

/// All loops of the set.
pub fn all() -> Vec<LabelledRun> {
    [stands_still(), cycles(), split(), same_check(), fine(), waiting(), infrastructure()].concat()
}

/// A loop as a text: a letter for each round.
#[derive(Debug, Clone, Default)]
struct LoopText {
    /// The state of the files after each round, in small letters: only `z` passes the check. A capital is the same state
    /// with a claim that the goal is reached; `!` is a round whose session fails, `?` one whose files can't be identified,
    /// `~` one in which the provider is out of reach for a while and the files stay as they are.
    rounds: String,
    /// True if the check passes on every state.
    passes: bool,
    /// Votes of the rounds: `+` and `-` for each voter, the contrarian last. The last ones hold for all further rounds.
    votes: &'static [&'static str],
    /// Rounds after whose second turn the operator says something.
    hints: &'static [usize],
    /// True if the operator answers the first question with a hint.
    is_answered: bool,
}

impl LoopText {
    fn of(rounds: impl Into<String>) -> Self {
        Self { rounds: rounds.into(), votes: &["++++"], ..Self::default() }
    }

    fn run(&self) -> ScriptedRun {
        let options = LoopSettings::of(&LoopOverrides::default(), &Environment::default(), &Config::default()).options;
        let says = |text: String| vec![ScriptedTurn::Says(text)];
        let mut turns = BTreeMap::from([("loop/intake".to_owned(), says(world::SUMMARY.to_owned()))]);
        let mut tree = "before".to_owned();
        for (number, letter) in (1..).zip(self.rounds.chars()) {
            if letter.is_alphabetic() {
                tree = letter.to_lowercase().to_string();
            }
            turns.insert(format!("loop/iteration/{number}"), self.iteration(letter, &tree));
            let votes = self.votes.get(number - 1).or(self.votes.last()).copied().unwrap_or_default();
            for (voter, vote) in (1..).zip(votes.chars()) {
                let verdict = if vote == '+' { "pass" } else { "fail" };
                let handoff =
                    json!({"kind": "review", "subtask_id": "goal", "verdict": verdict, "rationale": "I looked"});
                turns.insert(format!("loop/iteration/{number}/voter/{voter}"), says(fence(&handoff)));
            }
        }
        let hint = "both must hold: write them together";
        let message = |round: &usize| (format!("loop/iteration/{round}"), 2, hint);
        ScriptedRun {
            work: WorkOptions::Loop { options: Box::new(options), defined: CustomRoles::default() },
            turns,
            answers: self.is_answered.then_some((QuestionKind::Stuck, Choice::Say, hint)).into_iter().collect(),
            messages: self.hints.iter().map(message).collect(),
            files: ScriptedFiles { tree: Some("before".to_owned()), passes: false },
        }
    }

    /// Returns the turns of a round that leaves the files in the state `tree`.
    fn iteration(&self, letter: char, tree: &str) -> Vec<ScriptedTurn> {
        let says = |text: &str| ScriptedTurn::Says(text.to_owned());
        let failed = "I have it.\n\n```json\n{\"kind\": \"iteration\"\n```";
        if letter == '!' {
            return vec![says(world::SUMMARY), says(failed), says(failed), says(failed)];
        }
        let status = if letter.is_uppercase() { "complete" } else { "continue" };
        let files =
            ScriptedFiles { tree: (letter != '?').then(|| tree.to_owned()), passes: self.passes || tree == "z" };
        let work = ScriptedCall {
            tool: "write_file",
            args: json!({"path": "price.rs", "content": tree}),
            end: ScriptedEnd::Works("Replaced price.rs.".to_owned()),
            leaves: Some(files),
        };
        let away = if letter == '~' { 4 } else { 0 };
        let mut script = vec![says(world::SUMMARY)];
        script.extend((0..away).map(|_| ScriptedTurn::Fails(FailureKind::Unreached, None)));
        script.push(ScriptedTurn::Calls(vec![work]));
        script.push(ScriptedTurn::Says(fence(
            &json!({"kind": "iteration", "status": status, "summary": "as far as it got"}),
        )));
        script
    }
}

fn fence(handoff: &serde_json::Value) -> String {
    format!("As far as it got.\n\n```json\n{handoff}\n```")
}

/// Returns a text and then another again and again, so many rounds in all.
fn then_again(first: &str, again: &str) -> LoopText {
    LoopText::of(first.chars().chain(again.chars().cycle()).take(ROUNDS).collect::<String>())
}

fn labelled(
    class: ScenarioClass,
    way: &'static str,
    name: impl Into<String>,
    shows: &[LabelledSignal],
    text: LoopText,
) -> LabelledRun {
    LabelledRun { class, way, name: name.into(), shows: shows.to_vec(), run: text.run() }
}

/// Letters of which no two are equal: every round brings other files.
const ALL_NEW: &str = "abcdefghijklmnopqrstuvwxy";

fn stands_still() -> Vec<LabelledRun> {
    use LabelledSignal::{NoChange, Refused};
    let stuck = |name: &str, text| {
        let way = "no change, completion refused";
        labelled(ScenarioClass::Stuck, way, name, &[NoChange, Refused], text)
    };
    let split: &[&str] = &["+--"];
    vec![
        stuck("claims from the first round", then_again("", "A")),
        stuck("claims after three rounds of work", then_again("bcd", "A")),
        stuck("claims after six rounds of work", then_again("bcdefg", "A")),
        stuck("claims every second round", then_again("b", "aA")),
        stuck("never claims", then_again("", "a")),
        stuck("never claims, after four rounds of work", then_again("bcde", "a")),
        stuck("a hint in round 2", LoopText { hints: &[2], ..then_again("", "A") }),
        stuck("a hint in round 5", LoopText { hints: &[5], ..then_again("", "A") }),
        stuck("a hint at the question", LoopText { is_answered: true, ..then_again("", "A") }),
        stuck("the council is split", LoopText { passes: true, votes: split, ..then_again("", "A") }),
        stuck("the whole council refuses", LoopText { passes: true, votes: &["---"], ..then_again("", "A") }),
    ]
}

fn cycles() -> Vec<LabelledRun> {
    use LabelledSignal::{Refused, Revisit};
    let stuck = |name: String, text| {
        let way = "a loop: A B A B";
        labelled(ScenarioClass::Stuck, way, name, &[Revisit, Refused], text)
    };
    let mut set = Vec::new();
    for period in 2..=5 {
        let letters = &ALL_NEW[..period];
        set.push(stuck(format!("{period} states, claimed"), then_again("", &letters.to_uppercase())));
        set.push(stuck(format!("{period} states, not claimed"), then_again("", letters)));
    }
    set.push(stuck("after four rounds of work".to_owned(), then_again("mnop", "AB")));
    set.push(stuck("a hint in round 3".to_owned(), LoopText { hints: &[3], ..then_again("", "AB") }));
    set.push(stuck("a hint at the question".to_owned(), LoopText { is_answered: true, ..then_again("", "AB") }));
    set
}

fn split() -> Vec<LabelledRun> {
    use LabelledSignal::{NoChange, Refused, Revisit};
    let stuck = |name: &str, votes, shows: &[LabelledSignal], text| {
        let text = LoopText { passes: true, votes, ..text };
        labelled(ScenarioClass::Stuck, "a council that stays split", name, shows, text)
    };
    vec![
        stuck("nothing changes", &["+--"], &[NoChange, Refused], then_again("bc", "A")),
        stuck("nothing changes, not claimed", &["-+-"], &[NoChange, Refused], then_again("bc", "a")),
        stuck("another voter each time", &["+--", "-+-", "--+"], &[NoChange, Refused], then_again("b", "A")),
        stuck("the contrarian refuses", &["+++-"], &[NoChange, Refused], then_again("b", "A")),
        stuck("two states in turn", &["+--"], &[Revisit, Refused], then_again("", "AB")),
        stuck("three states in turn", &["-+-"], &[Revisit, Refused], then_again("", "ABC")),
        stuck("other files each round", &["+--"], &[Refused], LoopText::of(ALL_NEW.to_uppercase())),
        stuck("other files each round, not claimed", &["+--"], &[Refused], LoopText::of(ALL_NEW)),
    ]
}

fn same_check() -> Vec<LabelledRun> {
    use LabelledSignal::{NoChange, Refused, Revisit};
    let stuck = |name: &str, shows: &[LabelledSignal], text| {
        labelled(ScenarioClass::Stuck, "claims that the same check refuses", name, shows, text)
    };
    vec![
        stuck("nothing changes after two rounds", &[NoChange, Refused], then_again("BC", "A")),
        stuck("nothing changes after five rounds", &[NoChange, Refused], then_again("BCDEF", "A")),
        stuck("every third round claims, nothing changes", &[NoChange, Refused], then_again("b", "aaA")),
        stuck("two states, each twice", &[Revisit, Refused], then_again("", "AABB")),
        stuck("three states in turn", &[Revisit, Refused], then_again("d", "ABC")),
        stuck("a hint in round 4", &[NoChange, Refused], LoopText { hints: &[4], ..then_again("b", "A") }),
        stuck("other files each round", &[Refused], LoopText::of(ALL_NEW.to_uppercase())),
        stuck("other files each round, a claim every second", &[Refused], LoopText::of(in_turns(ALL_NEW))),
    ]
}

/// Returns the letters with every second as a capital.
fn in_turns(letters: &str) -> String {
    let each = |(place, letter): (usize, char)| if place % 2 == 1 { letter.to_ascii_uppercase() } else { letter };
    letters.chars().enumerate().map(each).collect()
}

fn fine() -> Vec<LabelledRun> {
    let fine = |way, name: &str, text| labelled(ScenarioClass::Fine, way, name, &[], text);
    let fails_once: &[&str] = &["", "", "+--", "++++"];
    let fails_twice: &[&str] = &["", "", "++-", "-+-", "+--", "++++"];
    vec![
        fine("small steps", "8 rounds", LoopText::of("abcdefgZ")),
        fine("small steps", "16 rounds", LoopText::of("abcdefghijklmnoZ")),
        fine("small steps", "24 rounds", LoopText::of("abcdefghijklmnopqrstuvwZ")),
        fine("small steps", "one claim too early", LoopText::of("abCdefZ")),
        fine("small steps", "three claims too early", LoopText::of("aBCDefZ")),
        fine("small steps", "four claims too early, after each a step", LoopText::of("ABCDeZ")),
        fine("small steps", "one step taken back", LoopText::of("abacdefZ")),
        fine("small steps", "one step taken back, each claimed", LoopText::of("ABACDZ")),
        fine("stands still for three rounds", "from the start", LoopText::of("aaaabcdZ")),
        fine("stands still for three rounds", "in the middle", LoopText::of("abcdddefgZ")),
        fine("stands still for three rounds", "late", LoopText::of("abcdefghhhhiZ")),
        fine("stands still for three rounds", "with a claim each", LoopText::of("abCCCCdeZ")),
        fine("stands still for three rounds", "twice", LoopText::of("aaaabbbbcZ")),
        fine("stands still for three rounds", "over a judgement", LoopText::of("abcddddeZ")),
        fine(
            "votes that fail once",
            "then mended",
            LoopText { votes: fails_once, passes: true, ..LoopText::of("abCD") },
        ),
        fine(
            "votes that fail once",
            "of the contrarian",
            LoopText { votes: &["", "+++-", "++++"], passes: true, ..LoopText::of("aBcD") },
        ),
        fine(
            "votes that fail once",
            "then a round of reading",
            LoopText { votes: &["", "", "+--", "", "++++"], passes: true, ..LoopText::of("abCcD") },
        ),
        fine(
            "votes that fail once",
            "three times, mended each time",
            LoopText { votes: fails_twice, passes: true, ..LoopText::of("abCDEF") },
        ),
    ]
}

fn waiting() -> Vec<LabelledRun> {
    let waiting = |name: &str, text| {
        let way = "loop rounds without work";
        labelled(ScenarioClass::Waiting, way, name, &[], text)
    };
    vec![
        waiting("two at the start", LoopText::of("!!abcZ")),
        waiting("two between two", LoopText::of("ab!!cd!!Z")),
        waiting("every second", LoopText::of("a!b!c!d!Z")),
        waiting("while the files stay as they are", LoopText::of("aA!!A!!bZ")),
        waiting("after refused claims", LoopText::of("AA!!AA!!bZ")),
    ]
}

fn infrastructure() -> Vec<LabelledRun> {
    let down = |way, name: &str, text| labelled(ScenarioClass::Infrastructure, way, name, &[], text);
    vec![
        down("provider down", "in each round", LoopText::of("a~b~c~Z")),
        down("provider down", "three rounds in a row", LoopText::of("ab~~~cZ")),
        down("files can't be identified", "six rounds", LoopText::of("ab??????cZ")),
        down("files can't be identified", "after refused claims", LoopText::of("AA????bZ")),
    ]
}
