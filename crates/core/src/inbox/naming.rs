//! Decides which of several open questions a line answers: the one whose number it begins with.
//!
//! In: a line, where it came from, and the numbers of the questions that are open at that place. Out: a number with the
//! answer, or the reason why the line answers nothing. The answer itself is read by [`reply`].
//!
//! Begin with [`read`].

use super::reply;
use crate::words::QuestionKind;

/// Most forms that a hint spells out.
const FORMS_MAX: usize = 3;

/// One open question: its number at this place, and its kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NumberedQuestion {
    /// Number that the operator saw, or would see.
    pub number: u32,
    /// Kind of the question.
    pub kind: QuestionKind,
}

/// Numbers on the screen that the questions open now are shown on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NumbersShown {
    /// None: one question was open at a time.
    Never,
    /// Those of all open questions; `max` is the highest since none was open.
    All {
        /// The highest number.
        max: u32,
    },
    /// None any more: one question is left of several, and it was shown again without its number.
    Before {
        /// The highest number.
        max: u32,
    },
}

/// Source of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineSource {
    /// Typed at a terminal.
    Typed,
    /// Pasted into a terminal.
    Pasted,
    /// Read from a pipe or a file.
    Piped,
}

/// Meaning of a line while questions are open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NamedLine<'l> {
    /// An answer to the question with this number.
    Answer {
        /// Number of the question.
        number: u32,
        /// The answer, without the number.
        text: &'l str,
    },
    /// No answer: several questions are open, and it names none of them.
    Unnamed,
    /// No answer: it names a question that is not open.
    NotOpen {
        /// The number.
        number: u32,
    },
}

/// Finds the question that `line` answers among those in `open`, which are in the order of their numbers.
///
/// While one question is open and none was numbered, the whole line is for it. While several are open, a line answers
/// the question whose number it begins with (`2 y`, `2: y`, `2. y`); a piped line without a number answers the oldest.
/// The last of several that is left may be answered with its number or without.
#[must_use]
pub fn read<'l>(line: &'l str, source: LineSource, open: &[NumberedQuestion], numbers: NumbersShown) -> NamedLine<'l> {
    let Some(oldest) = open.first() else { return NamedLine::Unnamed };
    let whole = NamedLine::Answer { number: oldest.number, text: line };
    let is_open = |number| open.iter().any(|one| one.number == number);
    match (numbers, split(line, source)) {
        (NumbersShown::Never, _) | (NumbersShown::Before { .. }, None) => whole,
        (NumbersShown::All { .. }, Some(Named { number, text, .. })) if is_open(number) => {
            NamedLine::Answer { number, text }
        }
        (NumbersShown::All { .. }, Some(Named { number, .. })) => NamedLine::NotOpen { number },
        (NumbersShown::All { .. }, None) if source == LineSource::Piped => whole,
        (NumbersShown::All { .. }, None) => NamedLine::Unnamed,
        (NumbersShown::Before { .. }, Some(Named { number, text, is_marked })) if number == oldest.number => {
            let text = if is_marked { text } else { without_number(oldest.kind, line, text) };
            NamedLine::Answer { number, text }
        }
        (NumbersShown::Before { max }, Some(Named { number, .. })) if number <= max => NamedLine::NotOpen { number },
        (NumbersShown::Before { .. }, Some(_)) => whole,
    }
}

/// Returns the forms of an answer to these questions: "`1 y`, `2 n`".
#[must_use]
pub fn forms(open: &[NumberedQuestion]) -> String {
    let form = |(index, one): (usize, &NumberedQuestion)| {
        format!("`{} {}`", one.number, if index % 2 == 0 { "y" } else { "n" })
    };
    let forms: Vec<String> = open.iter().take(FORMS_MAX).enumerate().map(form).collect();
    forms.join(", ")
}

/// Returns the reason why a line answers nothing, with what to type instead; `None` if it does.
#[must_use]
pub fn refusal(line: NamedLine<'_>, open: &[NumberedQuestion]) -> Option<String> {
    let numbers: Vec<String> = open.iter().map(|one| one.number.to_string()).collect();
    match line {
        NamedLine::Answer { .. } => None,
        NamedLine::Unnamed => Some(format!("Begin with the number of the question: {}.", forms(open))),
        NamedLine::NotOpen { number } => Some(format!("Question {number} is not open. Open: {}.", numbers.join(", "))),
    }
}

/// The beginning of a line, read as the number of a question.
struct Named<'l> {
    number: u32,
    text: &'l str,
    /// True if a colon or a full stop follows the number, so that it can't be part of the answer.
    is_marked: bool,
}

/// Splits the number off a line; `None` if it has none, or nothing after it. `2.50` and `2:30` are no numbers of
/// questions, and in a pasted text neither is `2. `, with which the items of a list begin.
fn split(line: &str, source: LineSource) -> Option<Named<'_>> {
    let line = line.trim();
    let end = line.find(|c: char| !c.is_ascii_digit())?;
    let (digits, rest) = line.split_at(end);
    let number = digits.parse().ok().filter(|_| !digits.starts_with('0'))?;
    let is_mark = |c: char| c == ':' || (c == '.' && source != LineSource::Pasted);
    if let Some(text) = rest.strip_prefix(is_mark) {
        let is_number = text.starts_with(|c: char| c.is_ascii_digit());
        return (!is_number).then(|| Named { number, text: text.trim_start(), is_marked: true });
    }
    rest.starts_with(char::is_whitespace).then(|| Named { number, text: rest.trim_start(), is_marked: false })
}

/// Returns the answer in `line` to the last question of several, which may be named or not: `text`, which is the line
/// without the number, unless it is free text. Then the number may be part of it (`2 files are enough`) and stays.
fn without_number<'l>(kind: QuestionKind, line: &'l str, text: &'l str) -> &'l str {
    let is_free = reply::read(kind, text).is_some_and(|reply| reply.text.as_deref() == Some(text));
    if is_free && reply::read(kind, line).is_some() { line } else { text }
}

#[cfg(test)]
mod tests {
    use super::LineSource::{Pasted, Piped, Typed};
    use super::NumbersShown::{All, Before, Never};
    use super::*;
    use crate::words::QuestionKind::{Blocker, Confirmation, Destructive, Limit, Permission, Step};

    const NOT_OPEN: &str = "not open";
    const UNNAMED: &str = "unnamed";

    /// Checks the meaning of lines, as `NUMBER|TEXT`, `NUMBER not open` or `unnamed`.
    #[track_caller]
    fn check(open: &[(u32, QuestionKind)], numbers: NumbersShown, source: LineSource, lines: &[(&str, &str)]) {
        let open: Vec<_> =
            open.iter().map(|(number, kind)| NumberedQuestion { number: *number, kind: *kind }).collect();
        for (line, expected) in lines {
            let read = match read(line, source, &open, numbers) {
                NamedLine::Answer { number, text } => format!("{number}|{text}"),
                NamedLine::Unnamed => UNNAMED.to_owned(),
                NamedLine::NotOpen { number } => format!("{number} {NOT_OPEN}"),
            };
            assert_eq!(read, *expected, "{line:?} {source:?} {open:?}");
        }
    }

    #[test]
    fn one_question_that_was_never_numbered_takes_the_whole_line() {
        for source in [Typed, Pasted, Piped] {
            let lines =
                [("y", "1|y"), ("2 y", "1|2 y"), ("1 y", "1|1 y"), ("1: y", "1|1: y"), ("", "1|"), (" 10", "1| 10")];
            check(&[(1, Confirmation)], Never, source, &lines);
        }
    }

    #[test]
    fn of_several_a_line_answers_the_one_it_names() {
        let open = [(1, Destructive), (2, Step), (4, Limit)];
        for source in [Typed, Pasted, Piped] {
            check(
                &open,
                All { max: 4 },
                source,
                &[
                    ("1 y", "1|y"),
                    ("  2\tuse tabs, 4 wide ", "2|use tabs, 4 wide"),
                    ("2: y", "2|y"),
                    ("2:y", "2|y"),
                    ("2:", "2|"),
                    ("4 10", "4|10"),
                    ("4 2.50", "4|2.50"),
                    ("2 1 y", "2|1 y"),
                    ("3 y", "3 not open"),
                    ("7: y", "7 not open"),
                ],
            );
        }
        check(&open, All { max: 4 }, Typed, &[("1. y", "1|y"), ("1.y", "1|y"), ("2 a\nb", "2|a\nb")]);
    }

    #[test]
    fn of_several_a_typed_line_without_a_number_answers_none_and_a_piped_one_the_oldest() {
        let open = [(2, Destructive), (3, Confirmation)];
        for line in
            ["y", "", "go", "2", " 3 ", "2y", "2.50", "2:30", "02 y", "0 y", "-2 y", "#2 y", "99999999999 y", "n: 2 y"]
        {
            check(&open, All { max: 3 }, Typed, &[(line, UNNAMED)]);
            check(&open, All { max: 3 }, Pasted, &[(line, UNNAMED)]);
            check(&open, All { max: 3 }, Piped, &[(line, &format!("2|{line}"))]);
        }
        // A list that was copied from elsewhere names nothing.
        check(&open, All { max: 3 }, Pasted, &[("2. first\n3. second", UNNAMED)]);
    }

    #[test]
    fn the_last_of_several_takes_lines_with_its_number_and_without() {
        for source in [Typed, Piped] {
            check(
                &[(2, Destructive)],
                Before { max: 3 },
                source,
                &[
                    ("y", "2|y"),
                    ("2 y", "2|y"),
                    ("2 n: keep it", "2|n: keep it"),
                    ("2. y", "2|y"),
                    ("2", "2|2"),
                    // Meant for one that was answered meanwhile.
                    ("1 y", "1 not open"),
                    ("3: y", "3 not open"),
                    ("4 y", "2|4 y"),
                ],
            );
            check(
                &[(2, Confirmation)],
                Before { max: 2 },
                source,
                &[
                    ("2 go", "2|go"),
                    ("2 files are enough", "2|2 files are enough"),
                    ("2: files are enough", "2|files are enough"),
                    ("1 go", "1 not open"),
                ],
            );
            check(
                &[(2, Limit)],
                Before { max: 2 },
                source,
                &[("10", "2|10"), ("2 10", "2|10"), ("2", "2|2"), ("2: 2", "2|2")],
            );
            check(
                &[(2, Blocker)],
                Before { max: 2 },
                source,
                &[("2 ports: 80", "2|2 ports: 80"), ("2: port 80", "2|port 80")],
            );
            check(
                &[(2, Permission)],
                Before { max: 2 },
                source,
                &[("2 p 2024-02-29", "2|p 2024-02-29"), ("2 y", "2|y")],
            );
        }
    }

    #[test]
    fn a_line_typed_before_the_last_of_several_was_shown_again_must_name_it() {
        let lines = [("y", UNNAMED), ("2 y", "2|y"), ("1 y", "1 not open"), ("2 files", "2|files")];
        check(&[(2, Confirmation)], All { max: 2 }, Typed, &lines);
        check(&[(2, Confirmation)], All { max: 2 }, Piped, &[("y", "2|y"), ("2 y", "2|y")]);
        for numbers in [Never, All { max: 2 }, Before { max: 2 }] {
            check(&[], numbers, Typed, &[("y", UNNAMED), ("1 y", UNNAMED)]);
        }
    }

    #[test]
    fn a_line_that_answers_nothing_is_refused_with_the_form_to_use() {
        let open = [1, 2, 3, 4].map(|number| NumberedQuestion { number, kind: Step });
        let said = |line, open| refusal(line, open).expect("refused");
        assert_eq!(said(NamedLine::Unnamed, &open), "Begin with the number of the question: `1 y`, `2 n`, `3 y`.");
        assert_eq!(said(NamedLine::NotOpen { number: 5 }, &open[1..3]), "Question 5 is not open. Open: 2, 3.");
        assert_eq!(refusal(NamedLine::Answer { number: 1, text: "" }, &open), None);
    }
}
