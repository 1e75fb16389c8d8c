//! A program's arguments, split into options and operands as its table entry says.

use std::sync::LazyLock;

use super::expand::ShellWord;
use super::programs::{ProgramEntry, WordList};

/// Number of bytes that must be written of an option which makes a call milder.
const MILDER_BYTES_MIN: usize = 4;

/// Stands for what may follow from a word that may be several.
static MORE: LazyLock<ShellWord> = LazyLock::new(ShellWord::unknown);

/// The arguments of a program.
#[derive(Debug, Default)]
pub(super) struct ProgramArgs<'a> {
    /// Options with their values: `-o`, `--output`. Those written in one, as in `-xdf`, stand apart. A program that
    /// takes whole names behind one dash takes them behind two as well, so that they stand in both spellings.
    pub options: Vec<(String, Option<ArgValue<'a>>)>,
    /// All that are no options. Where a word may be several, wherever it stands, one that isn't known follows it here.
    pub operands: Vec<&'a ShellWord>,
    /// True if a word may be any option, or several.
    pub is_unsure: bool,
    /// True if a word begins with a dash and isn't known to its end, or may begin with one before its known part.
    pub is_half_known: bool,
    /// Index of the command that the program runs, among all arguments; absent if it runs none.
    pub command_at: Option<usize>,
}

/// An option's value.
#[derive(Debug, Clone, Copy)]
pub(super) enum ArgValue<'a> {
    /// A word of its own.
    Word(&'a ShellWord),
    /// The end of the word that the option is in.
    Attached(&'a str),
    /// It can't be known.
    Unknown,
}

impl<'a> ArgValue<'a> {
    /// The text, if it is known.
    pub(super) fn text(self) -> Option<&'a str> {
        match self {
            Self::Word(word) => word.known(),
            Self::Attached(text) => Some(text),
            Self::Unknown => None,
        }
    }
}

impl<'a> ProgramArgs<'a> {
    /// Splits `words`, without the program's name.
    pub(super) fn of(entry: &ProgramEntry, words: &'a [ShellWord]) -> Self {
        let mut args = Self::default();
        let takes_value = |option: &str| {
            let acting = [
                &entry.code, &entry.runs, &entry.writes, &entry.makes, &entry.empties, &entry.into, &entry.from,
                &entry.tasks,
            ];
            // A wrapper's own options are read as it reads them, so that what it runs is found.
            let is_valued =
                if entry.runs_after.is_some() { is_one_of(option, &entry.valued) } else { entry.valued.has(option) };
            !entry.flags.has(option) && (is_valued || acting.iter().any(|acting| is_one_of(option, acting)))
        };
        let spellings = |name: &str| {
            let other = if entry.single_dash { other_dashes(name) } else { None };
            std::iter::once(name.to_owned()).chain(other)
        };
        let takes_value = |option: &str| spellings(option).any(|spelling| takes_value(&spelling));
        let mut at = 0;
        let mut noted = 0;
        while let Some(word) = words.get(at) {
            args.note_splits(entry, &words[noted..at]);
            noted = at;
            at += 1;
            let text = word.text();
            if entry.runs_after == Some(args.operands.len()) && (!text.starts_with('-') || text.len() < 2) {
                args.command_at = Some(at - 1);
                return args;
            }
            if text == "--" && word.known().is_some() {
                args.command_at = entry.runs_after.map(|wanted| at + wanted.saturating_sub(args.operands.len()));
                let before = args.command_at.unwrap_or(at);
                args.is_unsure |= words.get(at..before).unwrap_or_default().iter().any(ShellWord::splits);
                args.operands_only(&words[at..]);
                return args;
            }
            if !text.starts_with('-') || text.len() < 2 {
                // What follows the dash may be any option.
                args.note_half_known(word.is_half_an_option());
                args.operands.push(word);
                if entry.operands_end_options && entry.runs_after.is_none() {
                    args.note_splits(entry, &words[noted..at]);
                    args.operands_only(&words[at..]);
                    return args;
                }
                continue;
            }
            let next = words.get(at).map(ArgValue::Word);
            // `vite --host` may stand alone.
            let may_take = |option: &str| {
                let is_value = words.get(at).is_some_and(|next| !next.text().starts_with('-'));
                takes_value(option) || (is_value && entry.serves.has(option))
            };
            let is_known = word.known().is_some();
            let ending = |text: &'a str| if is_known { ArgValue::Attached(text) } else { ArgValue::Unknown };
            if let Some((name, value)) =
                text.split_once('=').filter(|(name, _)| name.starts_with("--") || entry.single_dash)
            {
                args.options.extend(spellings(name).map(|name| (name, Some(ending(value)))));
            } else if text.starts_with("--") || entry.single_dash || takes_value(text) || entry.flags.has(text) {
                args.note_half_known(!is_known);
                // What can't be known is attached to it, so that the next word is not its value.
                let value = match (may_take(text), is_known) {
                    (true, true) => next,
                    (true, false) => Some(ArgValue::Unknown),
                    (false, _) => None,
                };
                at += usize::from(value.is_some() && is_known);
                args.options.extend(spellings(text).map(|name| (name, value)));
            } else {
                args.note_half_known(!is_known);
                for (index, letter) in text[1..].char_indices() {
                    let option = format!("-{letter}");
                    let is_last = text.len() == 1 + index + letter.len_utf8();
                    let takes = takes_value(&option) || (is_last && may_take(&option));
                    if !takes {
                        args.options.push((option, None));
                        continue;
                    }
                    let rest = &text[1 + index + letter.len_utf8()..];
                    let value = if rest.is_empty() { next } else { Some(ending(rest)) };
                    at += usize::from(rest.is_empty() && value.is_some());
                    args.options.push((option, value));
                    break;
                }
            }
        }
        args.note_splits(entry, &words[noted..]);
        args
    }

    fn note_half_known(&mut self, is_half_known: bool) {
        self.is_half_known |= is_half_known;
        self.is_unsure |= is_half_known;
    }

    /// Takes note of what may follow from `words`, an option or an operand with all that it takes.
    fn note_splits(&mut self, entry: &ProgramEntry, words: &[ShellWord]) {
        if words.iter().any(ShellWord::splits) {
            self.is_unsure = true;
            // A wrapper's command is read where it seems to be all the same.
            self.operands.extend(entry.runs_after.is_none().then_some(&*MORE));
        }
    }

    /// Takes `words`, none of which is an option any more.
    fn operands_only(&mut self, words: &'a [ShellWord]) {
        for word in words {
            self.operands.push(word);
            self.operands.extend(word.splits().then_some(&*MORE));
        }
    }

    /// True if one of `wanted` is there, or a shortened long option of them. An option that makes a call milder
    /// (`is_milder`) counts only if most of it is written.
    pub(super) fn has(&self, wanted: &WordList, is_milder: bool) -> bool {
        if is_milder && self.is_taken_back(wanted.iter()) {
            return false;
        }
        let least = if is_milder { MILDER_BYTES_MIN } else { 0 };
        let is_there =
            |given: &str, wanted: &str| given == wanted || (given.len() >= least && is_short_for(given, wanted));
        wanted.iter().any(|wanted| self.options.iter().any(|(given, _)| is_there(given, wanted)))
    }

    /// Returns whether one of `wanted` is there, written in full, and holds.
    pub(super) fn has_exactly(&self, wanted: &WordList) -> bool {
        self.options.iter().any(|(given, _)| wanted.has(given)) && !self.is_taken_back(wanted.iter())
    }

    /// Returns whether nothing is done but tried, by one of the options `wanted`.
    pub(super) fn only_tries(&self, wanted: &[&str]) -> bool {
        let is_there = self.options.iter().any(|(given, _)| wanted.contains(&given.as_str()));
        is_there && !self.is_taken_back(wanted.iter().copied())
    }

    /// Returns whether one of `options` is given and taken back: `--dry-run=none`, `--no-dry-run`. Programs differ in
    /// which of several counts.
    fn is_taken_back<'w>(&self, mut options: impl Iterator<Item = &'w str>) -> bool {
        let is_no =
            |text: &str| matches!(text.to_ascii_lowercase().as_str(), "" | "false" | "none" | "no" | "off" | "0" | "f");
        options.any(|option| {
            let name = option.trim_start_matches('-');
            self.options.iter().any(|(given, value)| {
                let denies = matches!(value, Some(ArgValue::Attached(text)) if is_no(text))
                    || matches!(value, Some(ArgValue::Unknown));
                let denied =
                    given.strip_prefix("--no-").is_some_and(|denied| !denied.is_empty() && name.starts_with(denied));
                denied || (denies && (given == option || is_short_for(given, option)))
            })
        })
    }

    /// The value of each of the options `wanted`, or of a long option that is short for one.
    pub(super) fn values<'w>(&'w self, wanted: &'w [&'w str]) -> impl Iterator<Item = ArgValue<'a>> + 'w {
        let is_wanted = move |given: &str| wanted.iter().any(|wanted| is_short_for(given, wanted));
        self.options.iter().filter(move |(given, _)| is_wanted(given)).filter_map(|(_, value)| *value)
    }

    /// True if one of `wanted` is there.
    pub(super) fn any(&self, wanted: &[&str]) -> bool {
        self.options.iter().any(|(given, _)| wanted.iter().any(|wanted| is_short_for(given, wanted)))
    }
}

/// Returns an option of several letters with two dashes for one, or one for two. Go's `flag`, OpenSSL and LLVM take
/// either.
fn other_dashes(option: &str) -> Option<String> {
    let name = option.trim_start_matches('-');
    let is_double = option.starts_with("--");
    let is_name = name.len() > 1 || (is_double && !name.is_empty());
    is_name.then(|| if is_double { format!("-{name}") } else { format!("--{name}") })
}

/// True if the option `given` is one of `wanted`, or a shortened long option of them.
pub(super) fn is_one_of(given: &str, wanted: &WordList) -> bool {
    wanted.iter().any(|wanted| is_short_for(given, wanted))
}

/// True if the option `given` is `wanted`, or a beginning of it that programs take for the whole: `--i` for
/// `--in-place`. It may be the beginning of another option too, which is not known here.
pub(super) fn is_short_for(given: &str, wanted: &str) -> bool {
    given == wanted || (given.len() > 2 && given.starts_with("--") && wanted.starts_with(given))
}

/// The options before a command, read as `getopt` reads them: clusters of letters, values attached or apart, long
/// options shortened. Ends at the first operand.
#[derive(Debug, Default)]
pub(super) struct Leading<'a> {
    /// Each option, with its value.
    pub options: Vec<Leader<'a>>,
    /// Start of the operands.
    pub at: usize,
    /// True if a word may be any option, or several.
    pub is_unsure: bool,
}

/// One of them.
#[derive(Debug)]
pub(super) struct Leader<'a> {
    /// Its name: `-o`, `--output`, as written.
    pub name: String,
    /// Its value, if one is attached or taken.
    pub value: Option<ArgValue<'a>>,
    /// The word behind it and its value.
    pub next: usize,
}

impl Leader<'_> {
    /// True if it is one of `wanted`, or short for one.
    pub(super) fn is(&self, wanted: &[&str]) -> bool {
        wanted.iter().any(|wanted| is_short_for(&self.name, wanted))
    }
}

/// The options that `words` begin with. `valued` take a value, `attached` only one in the same word.
pub(super) fn leading<'a>(words: &'a [ShellWord], valued: &[&str], attached: &[&str]) -> Leading<'a> {
    let mut leading = Leading::default();
    let takes = |name: &str| valued.iter().any(|valued| is_short_for(name, valued));
    while let Some(word) = words.get(leading.at) {
        let text = word.text();
        if word.known() == Some("--") {
            leading.at += 1;
            break;
        }
        if word.splits() {
            leading.is_unsure = true;
            break;
        }
        if !text.starts_with('-') || text.len() < 2 {
            leading.is_unsure |= word.is_half_an_option();
            break;
        }
        leading.at += 1;
        let value_at = leading.at;
        let is_known = word.known().is_some();
        let ending = |text: &'a str| if is_known { ArgValue::Attached(text) } else { ArgValue::Unknown };
        let next = words.get(leading.at).map(ArgValue::Word);
        if text.starts_with("--") {
            let (name, value) = match text.split_once('=') {
                Some((name, value)) => (name, Some(ending(value))),
                None if takes(text) => {
                    leading.at += usize::from(next.is_some());
                    (text, next)
                }
                None => (text, None),
            };
            leading.is_unsure |= !is_known && value.is_none();
            leading.is_unsure |= words[value_at..leading.at].iter().any(ShellWord::splits);
            leading.options.push(Leader { name: name.to_owned(), value, next: leading.at });
            continue;
        }
        for (index, letter) in text[1..].char_indices() {
            let name = format!("-{letter}");
            let rest = &text[1 + index + letter.len_utf8()..];
            let value = match (takes(&name), rest.is_empty() && is_known) {
                (true, true) => {
                    leading.at += usize::from(next.is_some());
                    next
                }
                (true, false) => Some(ending(rest)),
                (false, _) if attached.contains(&name.as_str()) && !(rest.is_empty() && is_known) => Some(ending(rest)),
                (false, _) => None,
            };
            let is_last = value.is_some();
            leading.options.push(Leader { name, value, next: leading.at });
            if is_last {
                break;
            }
        }
        leading.is_unsure |= !is_known && leading.options.last().is_none_or(|last| last.value.is_none());
        leading.is_unsure |= words[value_at..leading.at].iter().any(ShellWord::splits);
    }
    leading
}
