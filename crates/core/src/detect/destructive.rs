//! Does the agent announce something destructive, and was it authorized?
//!
//! The text is read sentence by sentence: a sentence that announces an intent (`I'll`, `let me` ...) and
//! names a verb with its object matches a row of `destructive_rules.rs`. Where the peer falls short
//! (S12) this reads on purpose otherwise: typographic apostrophes count; a negation disarms only the
//! verb it governs, so that "I'll delete the file, not the folder" fires; and every sentence and every
//! row is looked at, so that an authorized first action doesn't hide an unauthorized second one. One
//! verb is one act: the first row in table order that takes a verb keeps it. What is fenced is shown,
//! not announced, each occurrence by its own place (C32).
//!
//! | sensitivity | fires on a sentence with |
//! | --- | --- |
//! | default | an intent, a verb and its object |
//! | loose | also a word of imminence, such as `now` |
//! | strict | a verb and its object: gerunds and bare imperatives count, and `rm -rf` needs no object |

use std::cell::LazyCell;
use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;
use serde::Serialize;

use super::Sensitivity;
use super::destructive_rules::{DestructiveRule, OBJECT_UNITS_MAX, RULES, WILDCARDS};
use super::page::Page;
use super::words::{cut_to_units, is_ws};
use crate::words::Category;

/// Destructive acts that a turn announces.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Destructive {
    /// True if it announces anything.
    pub destructive: bool,
    /// The category of the first act that is not authorized; if all are, of the first.
    pub action: Option<&'static str>,
    /// True if that act is authorized: if it is, all are.
    pub authorized: bool,
    /// The id of the rule that matched: its category.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub matched_pattern: Option<&'static str>,
    /// One act for each category, in the order of the text; on the wire only where there are several.
    #[serde(skip_serializing_if = "are_few")]
    pub actions: Vec<DestructiveAct>,
}

/// One announced act.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DestructiveAct {
    /// Its category.
    pub action: &'static str,
    /// True if `authorized_costs` has it.
    pub authorized: bool,
    /// The sentence, as written.
    pub sentence: String,
}

fn are_few(actions: &[DestructiveAct]) -> bool {
    actions.len() < 2
}

fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the pattern is a constant that a test compiles")
}

static INTENT: LazyLock<Regex> =
    LazyLock::new(|| regex(r"(?-u:\b)(?:i'll|i will|i am going to|i'm going to|i plan to|let me)(?-u:\b)"));

static IMMINENCE: LazyLock<Regex> = LazyLock::new(|| regex(r"(?-u:\b)(?:now|immediately|next|first thing)(?-u:\b)"));

static NEGATION: LazyLock<Regex> = LazyLock::new(|| {
    regex(concat!(
        r"(?-u:\b)(?:not|won't|don't|cannot|can't|never|no longer|no need to|instead of|rather than|avoid|refuse to",
        r"|refrain from|without|nor|wouldn't|shouldn't|mustn't|needn't)(?-u:\b)"
    ))
});

/// End of the reach of a negation: punctuation, another clause, or a word that turns it round ("not only", "won't
/// hesitate to").
static CLAUSE_END: LazyLock<Regex> = LazyLock::new(|| {
    regex(concat!(
        r"[,;:.!?()\[\]]| - |--|(?-u:\b)(?:but|and|then|so|because|since|before|after|until|while|if|unless|when",
        r"|only|just|merely|hesitate|fail|forget|wait)(?-u:\b)"
    ))
});

/// A doubt that carries its negation over to the clause behind it: "I don't think I'll delete it".
static DOUBT: LazyLock<Regex> = LazyLock::new(|| regex(r"^ (?:think|believe|expect)(?-u:\b)"));

/// Number of words that may stand between a negation and the verb it governs. "I won't under any circumstances delete"
/// has three; with more the sentence has moved on.
const NEGATION_WORDS_MAX: usize = 5;

/// Number of UTF-16 units these words may take. Real ones stay far below; without it every verb of a turn that has a
/// million would be read back to the same negation.
const NEGATION_UNITS_MAX: usize = 200;

/// Number of UTF-16 units behind a verb that are searched for its object: beyond [`OBJECT_UNITS_MAX`] only as far as
/// the longest object and the character that ends it reach.
const OBJECT_SEARCH_UNITS_MAX: usize = OBJECT_UNITS_MAX + 32;

pub(super) fn read(page: &Page<'_>, authorized: &[Category], sensitivity: Sensitivity) -> Destructive {
    let strict = sensitivity == Sensitivity::Strict;
    let mut actions: Vec<DestructiveAct> = Vec::new();
    if strict || INTENT.is_match(&page.lower) {
        for sentence in sentences(&page.lower) {
            let text = &page.lower[sentence.clone()];
            if !announces(text, sensitivity) {
                continue;
            }
            for (rule, at) in acts(text, strict) {
                if page.fences.hide(sentence.start + at) || actions.iter().any(|act| act.action == rule.action) {
                    continue;
                }
                actions.push(DestructiveAct {
                    action: rule.action,
                    authorized: is_authorized(rule, authorized),
                    sentence: page.original(sentence.start, sentence.end).to_owned(),
                });
            }
        }
    }
    let Some(told) = actions.iter().find(|act| !act.authorized).or(actions.first()) else {
        return Destructive::default();
    };
    Destructive {
        destructive: true,
        action: Some(told.action),
        authorized: told.authorized,
        matched_pattern: Some(told.action),
        actions,
    }
}

fn announces(sentence: &str, sensitivity: Sensitivity) -> bool {
    match sensitivity {
        Sensitivity::Default | Sensitivity::Disabled => INTENT.is_match(sentence),
        Sensitivity::Loose => INTENT.is_match(sentence) && IMMINENCE.is_match(sentence),
        Sensitivity::Strict => true,
    }
}

/// Returns the sentences of a text: cut at newlines, and at whitespace behind `.`, `!` or `?`; trimmed, none empty.
fn sentences(text: &str) -> impl Iterator<Item = Range<usize>> + '_ {
    let mut from = 0;
    std::iter::from_fn(move || {
        loop {
            let rest = text.get(from..).filter(|rest| !rest.is_empty())?;
            let trimmed = rest.trim_start_matches(is_ws);
            let start = from + rest.len() - trimmed.len();
            let end = start + sentence_length(trimmed);
            from = (end + 1).min(text.len());
            while !text.is_char_boundary(from) {
                from += 1;
            }
            let kept = text[start..end].trim_end_matches(is_ws).len();
            if kept > 0 {
                return Some(start..start + kept);
            }
        }
    })
}

/// Returns the length of the sentence at the start of `text`.
fn sentence_length(text: &str) -> usize {
    let mut from = 0;
    let bytes = text.as_bytes();
    while let Some(found) = bytes[from..].iter().position(|byte| matches!(byte, b'\n' | b'.' | b'!' | b'?')) {
        let at = from + found;
        if bytes[at] == b'\n' {
            return at;
        }
        if text[at + 1..].starts_with(|c| is_ws(c) && c != '\r') {
            return at + 1;
        }
        from = at + 1;
    }
    text.len()
}

/// Returns the rows that a sentence matches, each with the place of its verb.
fn acts(sentence: &str, strict: bool) -> Vec<(&'static DestructiveRule, usize)> {
    let mut acts = Vec::new();
    let mut taken: Vec<Range<usize>> = Vec::new();
    let negation_ends: LazyCell<Vec<usize>, _> =
        LazyCell::new(|| NEGATION.find_iter(sentence).map(|negation| negation.end()).collect());
    for rule in RULES.iter() {
        let verbs = if strict { &rule.strict_verbs } else { &rule.verbs };
        let act = verbs.find_iter(sentence).map(|verb| verb.range()).find(|verb| {
            taken.iter().all(|other| verb.end <= other.start || other.end <= verb.start)
                && has_object(sentence, verb, rule, strict)
                && !is_negated(sentence, verb.start, &negation_ends)
        });
        if let Some(verb) = act {
            acts.push((rule, verb.start));
            taken.push(verb);
        }
    }
    acts
}

fn has_object(sentence: &str, verb: &Range<usize>, rule: &DestructiveRule, strict: bool) -> bool {
    let Some(objects) = &rule.objects else { return true };
    if strict && &sentence[verb.clone()] == "rm -rf" {
        return true;
    }
    let searched = verb.end + cut_to_units(&sentence[verb.end..], OBJECT_SEARCH_UNITS_MAX).len();
    let Some(object) = objects.find_at(&sentence[..searched], verb.end) else { return false };
    let between = &sentence[verb.end..object.start()];
    !between.contains(['.', '\n']) && between.chars().map(char::len_utf16).sum::<usize>() <= OBJECT_UNITS_MAX
}

/// Returns true if the verb at `verb` is governed by a negation before it; `negation_ends` are those of the sentence.
fn is_negated(sentence: &str, verb: usize, negation_ends: &[usize]) -> bool {
    let before = negation_ends.partition_point(|end| *end <= verb);
    let Some(last) = before.checked_sub(1).and_then(|last| negation_ends.get(last)) else { return false };
    let between = &sentence[*last..verb];
    cut_to_units(between, NEGATION_UNITS_MAX).len() == between.len()
        && between.split_ascii_whitespace().count() <= NEGATION_WORDS_MAX
        && !CLAUSE_END.is_match(between)
        && (!INTENT.is_match(between) || DOUBT.is_match(between))
}

fn is_authorized(rule: &DestructiveRule, authorized: &[Category]) -> bool {
    let mut tokens = rule.tokens.iter().chain(&WILDCARDS);
    tokens.any(|token| authorized.iter().any(|entry| entry.as_str().eq_ignore_ascii_case(token)))
}
