//! Makes lines out of lines by the grammar of shells: words are moved, quoted otherwise, planted with acts; lines are
//! wrapped, joined and cut; what opens and closes is put in odd places.
//!
//! In: the corpus, a seed and a number. Out: one line, the same for the same three. Nothing here judges or runs it.
//!
//! Begin with [`Mutator::line`]; what is planted is in `forms.rs`.

mod forms;
mod quoting;
mod tokens;

use std::collections::BTreeMap;

use anyhow::Result;
use forms::{ACTS, AROUND, BEFORE, BEHIND, DATA, NAMES, NOISE, RUN, WORD_DATA, WORD_RUN};
use quoting::{double, requoted, single};
use tokens::{is_word, tokens};

use crate::corpus;
use crate::random::Random;

/// The longest line that is made, in characters.
const CHARS_MAX: usize = 700;
/// Operators that join two lines.
const JOINTS: [&str; 10] = ["; ", " && ", " || ", " | ", " & ", "\n", " |& ", ";", "&", " "];

/// Everything that is planted, each once.
pub fn acts() -> impl Iterator<Item = &'static str> {
    ACTS.iter().copied().collect::<std::collections::BTreeSet<_>>().into_iter()
}

/// Material that lines are made of.
#[derive(Debug)]
pub struct Mutator {
    corpus: Vec<String>,
    options: BTreeMap<String, Vec<String>>,
}

impl Mutator {
    /// One that begins with the lines of this repository.
    ///
    /// # Errors
    ///
    /// A file that they are in can't be read.
    pub fn new() -> Result<Self> {
        Ok(Self { corpus: corpus::lines()?, options: corpus::options()? })
    }

    /// The line with the number `index` of a seed.
    pub fn line(&self, seed: u64, index: u64) -> String {
        let mut maker = Maker { mutator: self, random: Random::new(seed, index), act: "" };
        maker.act = *maker.random.pick(ACTS);
        let mut line = maker.begin();
        for _ in 0..=maker.random.below(4) {
            line = maker.step(&line);
        }
        line.chars().take(CHARS_MAX).filter(|c| *c != '\0').collect()
    }
}

/// The making of one line.
struct Maker<'a> {
    mutator: &'a Mutator,
    random: Random,
    /// The act planted in it.
    act: &'static str,
}

impl Maker<'_> {
    fn stated(&mut self) -> String {
        self.random.pick(&self.mutator.corpus).clone()
    }

    /// A whole line, not mutated yet.
    fn begin(&mut self) -> String {
        match self.random.below(10) {
            0..=3 => self.stated(),
            4 | 5 => self.form(RUN),
            6..=8 => self.form(DATA),
            _ => {
                let line = self.stated();
                self.with_word(&line, |maker, word| maker.in_word(WORD_DATA, word))
            }
        }
    }

    /// One change.
    fn step(&mut self, line: &str) -> String {
        match self.random.below(24) {
            0 => self.swapped(line),
            1 => self.with_word(line, |_, _| String::new()),
            2 => self.with_word(line, |_, word| format!("{word} {word}")),
            3 | 4 => self.with_word(line, |maker, word| requoted(word, &mut maker.random)),
            5 => self.with_word(line, |maker, word| maker.in_word(WORD_RUN, word)),
            6 | 7 => self.with_word(line, |maker, word| maker.in_word(WORD_DATA, word)),
            8 => self.with_word(line, |maker, _| (*maker.random.pick(NAMES)).to_owned()),
            9..=12 => self.noisy(line),
            13 | 14 => self.form(BEFORE) + line,
            15 | 16 => line.to_owned() + &self.form(BEHIND),
            17 | 18 => self.around(line),
            19 => self.joined(line),
            20 => self.spliced(line),
            21 => self.with_word(line, |maker, word| maker.option(word)),
            22 => self.with_option(line),
            _ => self.shortened(line),
        }
    }

    fn form(&mut self, forms: &[&str]) -> String {
        let form = *self.random.pick(forms);
        self.filled(form, "", "")
    }

    fn in_word(&mut self, forms: &[&str], word: &str) -> String {
        let form = *self.random.pick(forms);
        let planted = self.filled(form, "", word);
        // Now and then beside the word, not in its place.
        if self.random.once_in(3) { format!("{word} {planted}") } else { planted }
    }

    fn around(&mut self, line: &str) -> String {
        let form = *self.random.pick(AROUND);
        let quoted = form.replace("%Q", &single(line)).replace("%D", &double(line));
        quoted.replace("%L", line)
    }

    fn filled(&mut self, form: &str, line: &str, word: &str) -> String {
        let act = self.act;
        let quoted = form.replace("%Q", &single(act)).replace("%D", &double(act));
        quoted.replace("%T", act).replace("%L", line).replace("%W", word)
    }

    /// The line with one of its words changed.
    fn with_word(&mut self, line: &str, change: impl FnOnce(&mut Self, &str) -> String) -> String {
        let mut pieces = tokens(line);
        let words: Vec<usize> = (0..pieces.len()).filter(|at| is_word(&pieces[*at])).collect();
        if words.is_empty() {
            return line.to_owned();
        }
        let at = *self.random.pick(&words);
        pieces[at] = change(self, &pieces[at]);
        pieces.concat()
    }

    fn swapped(&mut self, line: &str) -> String {
        let mut pieces = tokens(line);
        if pieces.len() < 2 {
            return line.to_owned();
        }
        let (one, other) = (self.random.below(pieces.len()), self.random.below(pieces.len()));
        pieces.swap(one, other);
        pieces.concat()
    }

    /// The line with something in an odd place: between pieces, or anywhere.
    fn noisy(&mut self, line: &str) -> String {
        let noise = *self.random.pick(NOISE);
        if self.random.once_in(2) {
            let mut pieces = tokens(line);
            let at = self.random.below(pieces.len() + 1);
            pieces.insert(at, noise.to_owned());
            return pieces.concat();
        }
        let mut chars: Vec<char> = line.chars().collect();
        let at = self.random.below(chars.len() + 1);
        let rest: String = chars.split_off(at).into_iter().skip(self.random.below(2)).collect();
        chars.into_iter().collect::<String>() + noise + &rest
    }

    fn joined(&mut self, line: &str) -> String {
        let other = self.begin();
        let joint = *self.random.pick(&JOINTS);
        if self.random.once_in(2) { format!("{line}{joint}{other}") } else { format!("{other}{joint}{line}") }
    }

    /// The beginning of the line and the end of another.
    fn spliced(&mut self, line: &str) -> String {
        let (mut ours, others) = (tokens(line), self.begin());
        let others = tokens(&others);
        ours.truncate(self.random.below(ours.len() + 1));
        ours.extend_from_slice(&others[self.random.below(others.len() + 1)..]);
        ours.concat()
    }

    /// An option written otherwise: shortened, clustered, with its value joined or apart.
    fn option(&mut self, word: &str) -> String {
        let Some(long) = word.strip_prefix("--") else { return self.short_option(word) };
        let (name, value) = long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
        let kept = name.chars().take(1 + self.random.below(name.chars().count().max(1))).collect::<String>();
        match (value, self.random.below(4)) {
            (Some(value), 0) => format!("--{name} {value}"),
            (Some(value), _) => format!("--{kept}={value}"),
            (None, 0) => format!("--{name}=x"),
            (None, _) => format!("--{kept}"),
        }
    }

    fn short_option(&mut self, word: &str) -> String {
        let Some(letters) = word.strip_prefix('-').filter(|letters| !letters.is_empty()) else {
            return format!("-{word}");
        };
        let first: String = letters.chars().take(1).collect();
        let rest: String = letters.chars().skip(1).collect();
        let other = *self.random.pick(&["a", "e", "f", "i", "n", "q", "r", "s", "u", "v", "w", "z", "0"]);
        match self.random.below(5) {
            0 => format!("-{other}{letters}"),
            1 => format!("-{first}{other}{rest}"),
            2 => format!("-{first} {rest}"),
            3 => format!("-{letters} {}", single(self.act)),
            _ => format!("-{letters}{}", single(self.act)),
        }
    }

    /// The line with an option behind one of its programs that the table knows, its value the act or a file.
    fn with_option(&mut self, line: &str) -> String {
        let mutator = self.mutator;
        let known = tokens(line).into_iter().find(|word| mutator.options.contains_key(word));
        let is_known = known.is_some();
        let program = known.unwrap_or_else(|| {
            let names: Vec<&String> = mutator.options.keys().collect();
            (*self.random.pick(&names)).clone()
        });
        let Some(own) = mutator.options.get(&program).filter(|own| !own.is_empty()) else { return line.to_owned() };
        let option = self.random.pick(own).clone();
        let value = if self.random.once_in(2) { "x".to_owned() } else { single(self.act) };
        let joined = match self.random.below(4) {
            0 => option,
            1 => format!("{option}={value}"),
            2 => format!("{option}{value}"),
            _ => format!("{option} {value}"),
        };
        if !is_known {
            return format!("{program} {joined}; {line}");
        }
        line.replacen(&program, &format!("{program} {joined}"), 1)
    }

    /// The line without one of its characters, or without its end.
    fn shortened(&mut self, line: &str) -> String {
        let chars: Vec<char> = line.chars().collect();
        let at = self.random.below(chars.len().max(1));
        if self.random.once_in(4) {
            return chars[..at].iter().collect();
        }
        chars.iter().enumerate().filter(|(place, _)| *place != at).map(|(_, c)| *c).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_the_same_for_the_same_seed_and_number() {
        let make = || Mutator::new().unwrap();
        let (one, other) = (make(), make());
        for index in 0..2000 {
            assert_eq!(one.line(7, index), other.line(7, index));
        }
        let distinct: std::collections::BTreeSet<String> = (0..2000).map(|index| one.line(7, index)).collect();
        assert!(distinct.len() > 1900, "only {} of 2000 lines are distinct", distinct.len());
    }
}
