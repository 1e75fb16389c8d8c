//! Reads what an operator typed as a choice. The words are the peer's, so that a habit or a script
//! written for it keeps its meaning; what adds to them is named below.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::words::budget::is_amount;
use crate::words::moment::day_end;
use crate::words::selection::Selection;
use crate::words::{Choice, Offer, Question, QuestionKind};

/// The phrases that accept a confirmation summary: those of the peer's list, and what people type beside them. A reply that
/// is nothing but such phrases accepts.
pub const ACCEPTING: &[&str] = &[
    "go", "ok", "okay", "yes", "y", "approved", "approve", "confirmed", "confirm", "ship it", "run it", "do it",
    "sounds good", "looks good", "lgtm", "go ahead", "continue", "proceed", "yes please", "yep", "yeah", "sure",
    "all good", "perfect", "great", "fine",
];

/// The phrases that decline a run at its confirmation. Ours: the peer ends the process on anything
/// that does not accept, so it needs no word for it.
pub const DECLINING: &[&str] = &["no", "n", "decline", "abort", "cancel", "stop", "quit", "q", "exit"];

/// The whole replies that go on to the next step (the peer's list).
pub const CONTINUING: &[&str] = &["", "ok", "go", "continue", "next", "proceed", "y", "yes"];

/// The whole replies that end a gated session (the peer's list).
pub const ENDING: &[&str] = &["done", "stop", "halt"];

/// Meaning of a reply, with the text that goes with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// The choice.
    pub choice: Choice,
    /// Text with the choice.
    pub text: Option<String>,
}

impl Reply {
    fn plain(choice: Choice) -> Self {
        Self { choice, text: None }
    }

    fn with(choice: Choice, text: &str) -> Self {
        Self { choice, text: Some(text.to_owned()) }
    }
}

/// Reads `typed` as the answer to this question, by what it offers; `None` if it is no answer: then the question stands.
#[must_use]
pub fn read_to(question: &Question, typed: &str) -> Option<Reply> {
    if question.kind == QuestionKind::Destructive && question.acts > 0 && is_all_again(typed) {
        let each: Vec<String> = (1..=question.acts).map(|act| format!("{act} again")).collect();
        return Some(Reply::with(Choice::Chosen, &each.join(", ")));
    }
    read(question.kind, typed).filter(|reply| is_offered(question, typed, reply))
}

fn is_all_again(typed: &str) -> bool {
    typed.split_whitespace().map(str::to_lowercase).eq(["all", "again"])
}

/// Returns true if a question about acts takes this reply: one yes is none to several acts, and nobody can choose what there
/// is not.
fn is_offered(question: &Question, typed: &str, reply: &Reply) -> bool {
    let is_among = || question.options.iter().any(|offer| offer.choice == reply.choice);
    match (question.kind, reply.choice) {
        (QuestionKind::Destructive, Choice::Once) => question.acts == 0 || typed.trim().eq_ignore_ascii_case("all"),
        (QuestionKind::Destructive, Choice::Again | Choice::ForRun) => is_among(),
        (QuestionKind::Destructive, Choice::Chosen) => {
            reply.text.as_deref().and_then(Selection::read).is_some_and(|chosen| chosen.max() <= question.acts)
        }
        _ => true,
    }
}

/// What is said to a question of the operator's own, which would reach the agent as an answer.
const ASKED_BACK: &str = "A question is no answer, and was not sent. To have the agent get it, write a sentence (`Tell me what \
                          is left.`); `?` shows what may be typed.";

/// Returns true if any words are told to the agent as an answer to a question of this kind.
const fn tells_any_words(kind: QuestionKind) -> bool {
    match kind {
        QuestionKind::Confirmation
        | QuestionKind::Step
        | QuestionKind::Blocker
        | QuestionKind::Scope
        | QuestionKind::Stuck => true,
        QuestionKind::Destructive
        | QuestionKind::Permission
        | QuestionKind::Limit
        | QuestionKind::Deadline
        | QuestionKind::Failure
        | QuestionKind::Escalation
        | QuestionKind::Disagreement => false,
    }
}

/// Says why `typed` must not be taken for the answer that it would be read as, with what to type instead; `None` if nothing
/// speaks against it. A day that nobody could mean is a slip: it is neither a yes that is over at once nor a final no. So is a
/// question where any words are told to the agent.
#[must_use]
pub fn slip(kind: QuestionKind, typed: &str, now: Timestamp) -> Option<String> {
    let typed = typed.trim();
    if tells_any_words(kind) && typed.ends_with('?') && !is_help(typed) {
        return Some(ASKED_BACK.to_owned());
    }
    if kind != QuestionKind::Permission {
        return None;
    }
    let day =
        typed.get(..2).filter(|begin| begin.eq_ignore_ascii_case("p ")).map(|begin| typed[begin.len()..].trim())?;
    day_slip(day, now)
}

/// Says why a permission can't end with `day`; `None` if it can, or it is no day at all.
#[must_use]
pub fn day_slip(day: &str, now: Timestamp) -> Option<String> {
    let looks_like_day = day.len() == 10 && day.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    let today = TimeZone::UTC.to_datetime(now).date();
    let why = match day_end(day) {
        Some(end) if end > now => return None,
        Some(_) => "is over",
        None if looks_like_day => "is no day that a permission can end with",
        None => return None,
    };
    Some(format!("{day} {why}: name a day from {today} to 9999-12-29, or `p` alone"))
}

/// Says how a reply to `question` was taken, where its words don't say that themselves; `None` where they do.
#[must_use]
pub fn taken_as(kind: QuestionKind, options: &[Offer], reply: &Reply) -> Option<&'static str> {
    let is_offered = |choice| options.iter().any(|offer| offer.choice == choice);
    match (kind, reply.choice) {
        (QuestionKind::Confirmation, Choice::AcceptAuto) if !is_offered(Choice::AcceptAuto) => Some(
            "the brief says `mode: gated`, and so it stays: the work begins, and you are asked between steps (`/auto` \
             or `auto` there changes it)",
        ),
        (QuestionKind::Confirmation, Choice::Correct) => Some("taken as a correction, and told to the agent"),
        (QuestionKind::Step | QuestionKind::Scope, Choice::Say) => Some("taken as a message, and told to the agent"),
        (QuestionKind::Stuck, Choice::Say) => Some("taken as a hint, and told to the next iteration"),
        (QuestionKind::Blocker, Choice::Context) => Some("told to the agent"),
        (QuestionKind::Destructive | QuestionKind::Permission, Choice::Deny) if reply.text.is_some() => {
            Some("taken as a no, and told to the agent")
        }
        (QuestionKind::Escalation | QuestionKind::Disagreement, Choice::Retry) if reply.text.is_some() => {
            Some("taken as another attempt, with these words")
        }
        _ => None,
    }
}

/// Returns true if a reply asks what can be typed. It is never an answer.
#[must_use]
pub fn is_help(typed: &str) -> bool {
    matches!(typed.trim().to_lowercase().as_str(), "?" | "help" | "/help")
}

/// Reads `typed` as the answer to a question of `kind`; `None` if it is no answer: then the question stands.
///
/// A reply to a phase 3 question that is not a yes is a no or no answer: silence and doubt refuse.
#[must_use]
pub fn read(kind: QuestionKind, typed: &str) -> Option<Reply> {
    let typed = typed.trim();
    if is_help(typed) {
        return None;
    }
    let word = typed.to_lowercase();
    let is_in = |words: &[&str]| words.contains(&word.as_str());
    match kind {
        QuestionKind::Confirmation => confirmation(typed),
        QuestionKind::Step => match word.as_str() {
            "auto" => Some(Reply::plain(Choice::ContinueAuto)),
            _ if is_in(ENDING) => Some(Reply::plain(Choice::Done)),
            _ if is_in(CONTINUING) => Some(Reply::plain(Choice::Continue)),
            _ => Some(Reply::with(Choice::Say, typed)),
        },
        QuestionKind::Destructive => act(typed, &word),
        QuestionKind::Blocker => (!typed.is_empty()).then(|| Reply::with(Choice::Context, typed)),
        QuestionKind::Limit => is_amount(typed).then(|| Reply::with(Choice::Extend, typed)),
        QuestionKind::Deadline => match word.as_str() {
            "" => None,
            _ if is_in(ENDING) || word == "n" || word == "no" => Some(Reply::plain(Choice::Done)),
            _ if is_in(CONTINUING) => Some(Reply::plain(Choice::Continue)),
            _ => None,
        },
        // A bare yes, which other questions accept, is none here: the answer must name the act.
        QuestionKind::Scope => match word.as_str() {
            "" => None,
            "accept" => Some(Reply::plain(Choice::Accept)),
            "n" | "no" => Some(Reply::plain(Choice::Deny)),
            _ if is_in(ENDING) => Some(Reply::plain(Choice::Deny)),
            _ => Some(Reply::with(Choice::Say, typed)),
        },
        QuestionKind::Escalation | QuestionKind::Disagreement => match word.as_str() {
            "" => None,
            "pass" | "accept" => Some(Reply::plain(Choice::Accept)),
            "retry" | "again" => Some(Reply::plain(Choice::Retry)),
            "n" | "no" => Some(Reply::plain(Choice::Decline)),
            _ if is_in(ENDING) => Some(Reply::plain(Choice::Decline)),
            _ => Some(Reply::with(Choice::Retry, typed.strip_prefix("retry:").unwrap_or(typed).trim())),
        },
        QuestionKind::Stuck => match word.as_str() {
            "" => None,
            "done" => Some(Reply::plain(Choice::Done)),
            "n" | "no" => Some(Reply::plain(Choice::Decline)),
            _ if is_in(ENDING) => Some(Reply::plain(Choice::Decline)),
            _ if is_in(CONTINUING) => Some(Reply::plain(Choice::Continue)),
            _ => Some(Reply::with(Choice::Say, typed)),
        },
        QuestionKind::Permission => Some(permission(typed, &word)),
        QuestionKind::Failure => match word.as_str() {
            "retry" | "again" | "y" | "yes" => Some(Reply::plain(Choice::Retry)),
            _ => None,
        },
    }
}

/// Reads a reply to a confirmation summary: a yes or a no in whatever of their phrases, else a correction.
fn confirmation(typed: &str) -> Option<Reply> {
    let phrases: Vec<String> = phrases(typed).collect();
    let (modes, words): (Vec<&str>, Vec<&str>) = phrases
        .iter()
        .map(|phrase| phrase.strip_prefix("go ").filter(|mode| is_mode(mode)).unwrap_or(phrase))
        .partition(|phrase| is_mode(phrase));
    let all_in = |list: &[&str]| words.iter().all(|word| list.contains(word));
    Some(match modes.as_slice() {
        _ if typed.is_empty() => return None,
        ["auto"] if all_in(ACCEPTING) => Reply::plain(Choice::AcceptAuto),
        ["gated"] if all_in(ACCEPTING) => Reply::plain(Choice::AcceptGated),
        [] if !words.is_empty() && all_in(ACCEPTING) => Reply::plain(Choice::Accept),
        [] if !words.is_empty() && all_in(DECLINING) => Reply::plain(Choice::Decline),
        _ => Reply::with(Choice::Correct, typed),
    })
}

fn is_mode(word: &str) -> bool {
    matches!(word, "auto" | "gated")
}

/// The phrases of a reply between its commas and full stops, in lower case.
fn phrases(typed: &str) -> impl Iterator<Item = String> {
    let phrases = typed.split([',', '.', ';', '!']).map(|phrase| phrase.trim().to_lowercase());
    phrases.filter(|phrase| !phrase.is_empty())
}

/// First words of a reply that sounds like a yes to acts.
const LIKE_YES: &[&str] =
    &["y", "yes", "yeah", "yep", "ok", "okay", "sure", "all", "both", "only", "just", "again", "category"];

/// Reads a reply to a question about acts. Only a word that is offered is a yes. What reads like a yes and is none of these
/// words, what asks something back, and a single word that nobody knows are no answer; anything else is a no, and the agent
/// is told what was said.
fn act(typed: &str, word: &str) -> Option<Reply> {
    match word {
        "y" | "yes" | "all" => return Some(Reply::plain(Choice::Once)),
        "again" => return Some(Reply::plain(Choice::Again)),
        "category" => return Some(Reply::plain(Choice::ForRun)),
        "" | "n" | "no" | "none" => return Some(Reply::plain(Choice::Deny)),
        _ => {}
    }
    if let Some(chosen) = Selection::read(typed) {
        return Some(Reply::with(Choice::Chosen, &chosen.to_string()));
    }
    if typed.ends_with('?') || phrases(typed).all(|phrase| ACCEPTING.contains(&phrase.as_str())) {
        return None;
    }
    if let Some(note) = refusal_note(typed) {
        return Some(match note {
            "" => Reply::plain(Choice::Deny),
            note => Reply::with(Choice::Deny, note),
        });
    }
    // What begins as a yes and is none that is known may be meant as one: it is asked again, and never a no to all.
    let first: String = word.chars().take_while(|c| c.is_alphanumeric()).collect();
    let is_like_yes = first.starts_with(|c: char| c.is_ascii_digit()) || LIKE_YES.contains(&first.as_str());
    (typed.contains(char::is_whitespace) && !is_like_yes).then(|| Reply::with(Choice::Deny, typed))
}

/// Returns the words behind a no at the beginning of a reply: `no, move it`, `n: move it`, `no move it`.
fn refusal_note(typed: &str) -> Option<&str> {
    ["none", "no", "n"].iter().find_map(|no| {
        let begin = typed.get(..no.len()).filter(|begin| begin.eq_ignore_ascii_case(no))?;
        let rest = &typed[begin.len()..];
        let is_apart = rest.starts_with(|c: char| c.is_whitespace() || [':', ',', '.', ';', '!'].contains(&c));
        is_apart.then(|| rest.trim_start_matches([':', ',', '.', ';', '!']).trim())
    })
}

/// Returns true if `typed` is a word of its own for this question ([`is_word_for`]).
#[must_use]
pub fn is_word_to(question: &Question, typed: &str) -> bool {
    let is_about_acts = question.kind == QuestionKind::Destructive;
    is_word_for(question.kind, typed) && (!is_about_acts || read_to(question, typed).is_some())
}

/// Returns true if `typed` is a word of its own for questions of `kind`. For a question to which anything but a yes is
/// a no, a word that was meant for another question would count as a no too.
#[must_use]
pub fn is_word_for(kind: QuestionKind, typed: &str) -> bool {
    match kind {
        QuestionKind::Destructive | QuestionKind::Permission => {
            let word = typed.trim().to_lowercase();
            let is_no =
                matches!(word.as_str(), "n" | "no" | "none") || word.starts_with("n:") || word.starts_with("no:");
            is_no || read(kind, typed).is_some_and(|reply| reply.choice != Choice::Deny)
        }
        QuestionKind::Confirmation
        | QuestionKind::Step
        | QuestionKind::Blocker
        | QuestionKind::Limit
        | QuestionKind::Deadline
        | QuestionKind::Failure
        | QuestionKind::Escalation
        | QuestionKind::Disagreement
        | QuestionKind::Stuck
        | QuestionKind::Scope => true,
    }
}

/// Returns true if a choice with this text is a possible answer to a question of `kind`. A result of [`read`] always
/// is; a choice from elsewhere is checked with this.
#[must_use]
pub fn may_mean(kind: QuestionKind, choice: Choice, text: Option<&str>) -> bool {
    use Choice::{
        Accept, AcceptAuto, AcceptGated, Again, AsAsked, Chosen, Context, Continue, ContinueAuto, Correct, Decline,
        Deny, Done, Extend, ForRun, Once, Persistent, Retry, Say,
    };
    let says = text.is_some_and(|text| !text.trim().is_empty());
    match (kind, choice) {
        (QuestionKind::Confirmation, Accept | AcceptAuto | AcceptGated | Decline)
        | (QuestionKind::Step, Continue | ContinueAuto | Done)
        | (QuestionKind::Destructive, Once | Again | ForRun | Deny)
        | (QuestionKind::Deadline, Continue | Done)
        | (QuestionKind::Failure, Retry)
        | (QuestionKind::Scope, Accept | Deny)
        | (QuestionKind::Permission, AsAsked | Once | ForRun | Deny)
        | (QuestionKind::Escalation | QuestionKind::Disagreement, Accept | Retry | Decline)
        | (QuestionKind::Stuck, Continue | Done | Decline) => true,
        (QuestionKind::Confirmation, Correct)
        | (QuestionKind::Step | QuestionKind::Scope | QuestionKind::Stuck, Say)
        | (QuestionKind::Blocker, Context) => says,
        (QuestionKind::Destructive, Chosen) => text.is_some_and(|text| Selection::read(text).is_some()),
        (QuestionKind::Limit, Extend) => text.is_some_and(is_amount),
        (QuestionKind::Permission, Persistent) => text.is_none_or(|day| day_end(day).is_some()),
        _ => false,
    }
}

/// Returns true if words beside a choice that is no free text may be a part of the answer: a reason, a day, another
/// thing to do. A yes with conditions is no answer.
#[must_use]
pub fn takes_words(choice: Choice) -> bool {
    match choice {
        Choice::Deny | Choice::Persistent | Choice::Retry => true,
        Choice::Accept
        | Choice::AcceptAuto
        | Choice::AcceptGated
        | Choice::Again
        | Choice::AsAsked
        | Choice::Chosen
        | Choice::Context
        | Choice::Continue
        | Choice::ContinueAuto
        | Choice::Correct
        | Choice::Decline
        | Choice::Done
        | Choice::Extend
        | Choice::ForRun
        | Choice::Once
        | Choice::Say => false,
    }
}

/// Reads a reply to a request for a permission: whatever is not a yes in so many words is a no, an empty line too.
fn permission(typed: &str, word: &str) -> Reply {
    match word {
        "y" | "yes" => return Reply::plain(Choice::AsAsked),
        "o" | "once" => return Reply::plain(Choice::Once),
        "s" => return Reply::plain(Choice::ForRun),
        "p" => return Reply::plain(Choice::Persistent),
        "" | "n" | "no" => return Reply::plain(Choice::Deny),
        _ => {}
    }
    if let Some(day) = word.strip_prefix("p ").map(str::trim).filter(|day| day_end(day).is_some()) {
        return Reply::with(Choice::Persistent, day);
    }
    let note = typed.strip_prefix("n:").or_else(|| typed.strip_prefix("no:")).map(str::trim);
    match note {
        Some("") => Reply::plain(Choice::Deny),
        Some(note) => Reply::with(Choice::Deny, note),
        // What was said instead may help the agent; it is no yes.
        None => Reply::with(Choice::Deny, typed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(kind: QuestionKind, typed: &str, choice: Option<Choice>, text: Option<&str>) {
        let reply = read(kind, typed);
        assert_eq!(reply.as_ref().map(|reply| reply.choice), choice, "{kind:?} {typed:?}");
        assert_eq!(reply.and_then(|reply| reply.text).as_deref(), text, "{kind:?} {typed:?}");
    }

    #[test]
    fn replies_to_a_permission_are_those_of_the_vectors() {
        let vectors =
            include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/vectors/openwar/aux/vectors.jsonl"));
        let mut checked = 0;
        for line in vectors.lines() {
            let vector: serde_json::Value = serde_json::from_str(line).expect("a vector");
            if vector["fn"] != "permission_reply" {
                continue;
            }
            checked += 1;
            let (typed, expected) = (vector["input"]["reply"].as_str().expect("text"), &vector["output"]);
            let reply = read(QuestionKind::Permission, typed).expect("every reply is one");
            let lasts = match reply.choice {
                Choice::AsAsked => vector["input"]["requested"].as_str(),
                Choice::Once => Some("this_call"),
                Choice::ForRun => Some("this_session"),
                Choice::Persistent => Some("persistent"),
                _ => None,
            };
            assert_eq!(expected["granted"], lasts.is_some(), "{line}");
            assert_eq!(expected["scope_granted"].as_str(), lasts, "{line}");
            let note = reply.text.unwrap_or_default();
            match expected["operator_note"].as_str() {
                Some(quoted) if quoted.starts_with('<') => assert!(note.contains(typed), "{line}"),
                expected => assert_eq!(expected, Some(note.as_str()), "{line}"),
            }
        }
        assert_eq!(checked, 4);
    }

    #[test]
    fn what_was_read_may_be_meant_and_what_no_reply_gives_may_not() {
        let kinds = QuestionKind::ALL;
        let words = [
            "", "go", "auto", "gated", "no", "y", "again", "category", "1; 2: why", "n", "n: why", "once", "s", "p",
            "p 2024-02-29", "accept", "stop", "done", "10", "retry", "retry: more", "pass", "continue",
            "anything at all",
        ];
        let choices: Vec<Choice> =
            kinds.iter().flat_map(|kind| words.iter().filter_map(|word| read(*kind, word))).map(|r| r.choice).collect();
        for kind in kinds {
            let given: Vec<Reply> = words.iter().filter_map(|word| read(kind, word)).collect();
            for reply in &given {
                assert!(may_mean(kind, reply.choice, reply.text.as_deref()), "{kind:?} {reply:?}");
            }
            for choice in choices.iter().filter(|choice| !given.iter().any(|reply| reply.choice == **choice)) {
                assert!(!may_mean(kind, *choice, Some("10")), "{kind:?} {choice:?}");
            }
        }
        assert!(!may_mean(QuestionKind::Limit, Choice::Extend, Some("-3")));
        assert!(!may_mean(QuestionKind::Blocker, Choice::Context, Some("  ")));
        assert!(!may_mean(QuestionKind::Permission, Choice::Persistent, Some("2024-02-30")));
    }

    #[test]
    fn only_whole_replies_accept_a_summary() {
        for typed in ACCEPTING {
            check(QuestionKind::Confirmation, &format!("  {} ", typed.to_uppercase()), Some(Choice::Accept), None);
        }
        for typed in ["Yes.", "go!", "lgtm", "looks good, go ahead", "continue", "Yes please", "ok, ship it!"] {
            check(QuestionKind::Confirmation, typed, Some(Choice::Accept), None);
        }
        for typed in ["no, stop", "q", "exit", "No."] {
            check(QuestionKind::Confirmation, typed, Some(Choice::Decline), None);
        }
        for typed in ["yes, but use tabs", "no, use tabs", "go on then", "auto, gated", "no auto", "...", "yes, no"] {
            check(QuestionKind::Confirmation, typed, Some(Choice::Correct), Some(typed));
        }
        for typed in ["  ", "?", "help", " Help "] {
            check(QuestionKind::Confirmation, typed, None, None);
        }
        for typed in ["auto", "go auto", "Yes, auto."] {
            check(QuestionKind::Confirmation, typed, Some(Choice::AcceptAuto), None);
        }
        check(QuestionKind::Confirmation, "gated", Some(Choice::AcceptGated), None);
        check(QuestionKind::Confirmation, "No", Some(Choice::Decline), None);
    }

    #[test]
    fn only_a_word_that_is_offered_is_a_yes_in_phase_3() {
        for typed in ["y", "YES", "Y"] {
            check(QuestionKind::Destructive, typed, Some(Choice::Once), None);
        }
        check(QuestionKind::Destructive, "again", Some(Choice::Again), None);
        check(QuestionKind::Destructive, "category", Some(Choice::ForRun), None);
        for typed in ["", "n", "no", "N", "none", "no.", "n:"] {
            check(QuestionKind::Destructive, typed, Some(Choice::Deny), None);
        }
        for (typed, note) in [
            ("n: keep the folder", "keep the folder"),
            ("no, move it to old/ instead", "move it to old/ instead"),
            ("No move it to old/", "move it to old/"),
            ("use git mv instead", "use git mv instead"),
            ("not yet, first show me the list", "not yet, first show me the list"),
        ] {
            check(QuestionKind::Destructive, typed, Some(Choice::Deny), Some(note));
        }
        // Neither a yes nor a no: it is asked again, and no model hears of it.
        for typed in
            ["sure", "yy", "ok", "approve", "looks good, go ahead", "lgtm", "what is left?", "?", "help", "yes!"]
                .into_iter()
                .chain([
                    "yes, both", "yes please do", "only the first", "both of them", "1 2 again", "2 but not 1",
                    "all but 2",
                ])
        {
            check(QuestionKind::Destructive, typed, None, None);
        }
        check(QuestionKind::Destructive, "1,3; 2: why", Some(Choice::Chosen), Some("1, 3; no 2: why"));
    }

    #[test]
    fn one_yes_is_none_to_several_acts() {
        let offers = [Choice::Again, Choice::ForRun].map(|choice| crate::words::Offer::new(choice, "", "")).to_vec();
        let question = |acts: u32, options: &[crate::words::Offer]| Question {
            kind: QuestionKind::Destructive,
            text: String::new(),
            options: options.to_vec(),
            default: Choice::Deny,
            deadline_ms: None,
            acts,
        };
        let read = |acts: u32, options: &[crate::words::Offer], typed: &str| {
            read_to(&question(acts, options), typed).map(|reply| reply.choice)
        };
        for (acts, typed, expected) in [
            (0, "y", Some(Choice::Once)),
            (0, "1", None),
            (3, "y", None),
            (3, "yes", None),
            (3, "all", Some(Choice::Once)),
            (3, "1,3", Some(Choice::Chosen)),
            (3, "4", None),
            (3, "1 and 2", Some(Choice::Chosen)),
            (3, "yes 1", Some(Choice::Chosen)),
            (3, "all again", Some(Choice::Chosen)),
            (0, "all again", None),
            (0, "yes 1", None),
            (3, "none", Some(Choice::Deny)),
            (3, "no, move them", Some(Choice::Deny)),
            (3, "category", Some(Choice::ForRun)),
        ] {
            assert_eq!(read(acts, &offers, typed), expected, "{typed} of {acts}");
        }
        for typed in ["again", "category"] {
            assert_eq!(read(0, &[], typed), None, "{typed} is not offered");
        }
    }

    #[test]
    fn s4_an_empty_line_grants_nothing() {
        let kind = QuestionKind::Permission;
        for typed in ["", "  ", "n", "No", "n:"] {
            check(kind, typed, Some(Choice::Deny), None);
        }
        check(kind, "n: use git", Some(Choice::Deny), Some("use git"));
        for typed in ["sure", "ok", "yy", "p tomorrow", "p 2024-02-30", "persistent please"] {
            check(kind, typed, Some(Choice::Deny), Some(typed));
        }
        check(kind, "Y", Some(Choice::AsAsked), None);
        check(kind, "yes", Some(Choice::AsAsked), None);
        check(kind, "once", Some(Choice::Once), None);
        check(kind, "s", Some(Choice::ForRun), None);
        check(kind, "p", Some(Choice::Persistent), None);
        check(kind, "P  2024-02-29", Some(Choice::Persistent), Some("2024-02-29"));
        assert_eq!(day_end("2024-02-29").map(|end| end.to_string()).as_deref(), Some("2024-03-01T00:00:00Z"));
    }

    #[test]
    fn a_question_of_the_operators_is_a_slip_where_any_words_are_an_answer() {
        let now: Timestamp = "2026-05-01T12:00:00Z".parse().expect("a time");
        for kind in [QuestionKind::Confirmation, QuestionKind::Step, QuestionKind::Blocker, QuestionKind::Scope] {
            for typed in ["what is left?", "  Which file do you mean?  "] {
                assert_eq!(slip(kind, typed, now).as_deref(), Some(ASKED_BACK), "{kind:?} {typed}");
            }
            for typed in ["Tell me what is left.", "is it a? then b", "go", "", "?", "help"] {
                assert_eq!(slip(kind, typed, now), None, "{kind:?} {typed}");
            }
        }
        // Elsewhere it is no answer already, or one that was written for the agent.
        for kind in [QuestionKind::Destructive, QuestionKind::Limit, QuestionKind::Escalation] {
            assert_eq!(slip(kind, "what is left?", now), None, "{kind:?}");
        }
    }

    #[test]
    fn a_day_that_nobody_could_mean_is_a_slip() {
        let now: Timestamp = "2026-05-01T12:00:00Z".parse().expect("a time");
        for (typed, said) in [
            ("p 2026-05-01", None),
            ("P  9999-12-29", None),
            ("p", None),
            ("p tomorrow", None),
            ("n: not p 2020-01-01", None),
            ("p 2020-01-01", Some("2020-01-01 is over: name a day from 2026-05-01 to 9999-12-29, or `p` alone")),
            ("p 2026-04-30", Some("2026-04-30 is over: name a day from 2026-05-01 to 9999-12-29, or `p` alone")),
            (
                "p 9999-12-31",
                Some(
                    "9999-12-31 is no day that a permission can end with: name a day from 2026-05-01 to 9999-12-29, or \
                     `p` alone",
                ),
            ),
        ] {
            assert_eq!(slip(QuestionKind::Permission, typed, now).as_deref(), said, "{typed}");
            assert_eq!(slip(QuestionKind::Step, typed, now), None, "{typed}");
        }
        assert!(slip(QuestionKind::Permission, "p 2027-02-30", now).is_some());
    }

    #[test]
    fn what_words_were_taken_as_is_said() {
        let gated = [Offer::new(Choice::Accept, "go", "x")];
        let free = [Offer::new(Choice::Accept, "go", "x"), Offer::new(Choice::AcceptAuto, "auto", "x")];
        for (kind, options, typed, begins) in [
            (QuestionKind::Confirmation, &gated[..], "auto", Some("the brief says `mode: gated`")),
            (QuestionKind::Confirmation, &free, "auto", None),
            (QuestionKind::Confirmation, &free, "two files", Some("taken as a correction")),
            (QuestionKind::Confirmation, &free, "go", None),
            (QuestionKind::Step, &[], "use tabs", Some("taken as a message")),
            (QuestionKind::Step, &[], "ok", None),
            (QuestionKind::Destructive, &[], "no, move it", Some("taken as a no")),
            (QuestionKind::Destructive, &[], "n", None),
        ] {
            let reply = read(kind, typed).expect("an answer");
            let said = taken_as(kind, options, &reply);
            assert_eq!(said.is_some(), begins.is_some(), "{typed}: {said:?}");
            assert!(said.unwrap_or_default().starts_with(begins.unwrap_or_default()), "{typed}: {said:?}");
        }
    }

    #[test]
    fn between_steps_anything_unknown_is_said_to_the_agent() {
        check(QuestionKind::Step, "", Some(Choice::Continue), None);
        check(QuestionKind::Step, "Stop", Some(Choice::Done), None);
        check(QuestionKind::Step, "auto", Some(Choice::ContinueAuto), None);
        check(QuestionKind::Step, "use tabs", Some(Choice::Say), Some("use tabs"));
    }

    #[test]
    fn only_the_word_accepts_what_lies_outside() {
        check(QuestionKind::Scope, " Accept ", Some(Choice::Accept), None);
        for typed in ["stop", "No", "n"] {
            check(QuestionKind::Scope, typed, Some(Choice::Deny), None);
        }
        for typed in ["y", "yes", "ok", "go", "accept it", "put it back"] {
            check(QuestionKind::Scope, typed, Some(Choice::Say), Some(typed));
        }
        check(QuestionKind::Scope, "  ", None, None);
        for kind in [QuestionKind::Escalation, QuestionKind::Disagreement] {
            for (typed, choice, text) in [
                (" Pass ", Some(Choice::Accept), None),
                ("retry", Some(Choice::Retry), None),
                ("retry: use 8080", Some(Choice::Retry), Some("use 8080")),
                ("use 8080", Some(Choice::Retry), Some("use 8080")),
                ("no", Some(Choice::Decline), None),
                ("stop", Some(Choice::Decline), None),
                ("", None, None),
            ] {
                check(kind, typed, choice, text);
            }
        }
    }

    #[test]
    fn a_limit_is_extended_by_a_number() {
        check(QuestionKind::Limit, "10", Some(Choice::Extend), Some("10"));
        check(QuestionKind::Limit, "2.50", Some(Choice::Extend), Some("2.50"));
        for typed in ["", "0", "-1", "more"] {
            check(QuestionKind::Limit, typed, None, None);
        }
    }
}
