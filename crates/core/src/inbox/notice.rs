//! Builds the notices that tell an operator of waiting questions: their time, their words, their form.
//!
//! In: questions that no notice has named yet, the quiet hours, the time on the wall. Out: one notice for all of them,
//! or that it is not time yet. Of an agent's text a notice has no more than the first line of its question.

use jiff::Timestamp;
use jiff::civil::Time;
use serde::Serialize;
use serde_json::{Value, json};

use super::hours::Hours;
use crate::gate::secrets;
use crate::words::QuestionKind;
use crate::words::visible::visible_line;

/// Time for which questions are gathered after the last one came, in milliseconds, so that ten are one notice.
pub const GATHER_MS: i64 = 3_000;

/// Longest time for which the first of them is kept back, in milliseconds, however fast others follow.
pub const GATHER_MS_MAX: i64 = 15_000;

/// Number of questions that a notice names; the rest is counted.
const NAMED_MAX: usize = 10;

/// Longest part of a question's first line that is told, in characters.
const LINE_CHARS_MAX: usize = 120;

/// A question that waits, as far as a notice tells of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waits {
    /// Its id.
    pub id: String,
    /// Its run.
    pub run_id: String,
    /// Kind of the question.
    pub kind: QuestionKind,
    /// The first line of what is asked, as it is.
    pub first_line: String,
    /// Since when.
    pub at: Timestamp,
}

/// Time in which an operator wants no notices, by the clock on their wall.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quiet {
    /// The quiet hours.
    pub hours: Hours,
    /// The kinds of questions that are told of all the same.
    pub critical: Vec<QuestionKind>,
}

/// A notice: what it says, and of which questions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// A line.
    pub title: String,
    /// A line for each question, and how to go on.
    pub text: String,
    /// The questions.
    pub waits: Vec<Waits>,
}

/// Next thing to do about notices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Due {
    /// There is nothing to tell, or it is quiet.
    Nothing,
    /// Others may follow: look again in so many milliseconds.
    Gathering(i64),
    /// This.
    Now(Notice),
}

/// Returns the notice that is due for the questions that no notice has named yet. `quiet` comes with the time on the
/// operator's wall.
#[must_use]
pub fn due(waits: &[Waits], quiet: Option<(&Quiet, Time)>, now: Timestamp) -> Due {
    let is_told = |one: &&Waits| {
        quiet.is_none_or(|(quiet, local)| !quiet.hours.covers(local) || quiet.critical.contains(&one.kind))
    };
    let told: Vec<Waits> = waits.iter().filter(is_told).cloned().collect();
    // A question from the future is one of before the clock went back.
    let ages = || told.iter().map(|one| now.duration_since(one.at).as_millis()).filter(|age| *age >= 0);
    let (Some(youngest), Some(oldest)) = (ages().min(), ages().max()) else {
        return if told.is_empty() { Due::Nothing } else { Due::Now(notice(told)) };
    };
    let left = (i128::from(GATHER_MS) - youngest).min(i128::from(GATHER_MS_MAX) - oldest);
    match i64::try_from(left) {
        Ok(left) if left > 0 => Due::Gathering(left),
        Ok(_) | Err(_) => Due::Now(notice(told)),
    }
}

fn notice(waits: Vec<Waits>) -> Notice {
    let title = match waits.as_slice() {
        [one] => format!("Adjutant waits for you: {}", one.kind.as_str()),
        several => format!("Adjutant waits for you: {} questions", several.len()),
    };
    let mut text: String = waits.iter().take(NAMED_MAX).map(|one| line(one) + "\n").collect();
    if waits.len() > NAMED_MAX {
        text.push_str(&format!("and {} more\n", waits.len() - NAMED_MAX));
    }
    text.push_str("Answer with: adjutant inbox");
    Notice { title, text, waits }
}

fn line(one: &Waits) -> String {
    format!("{} ({}): {}", one.run_id, one.kind.as_str(), told_line(one))
}

/// Returns the first line without secrets, control characters and length.
fn told_line(one: &Waits) -> String {
    let masked = secrets::mask(&one.first_line);
    let visible = visible_line(&masked);
    let mut cut: String = visible.chars().take(LINE_CHARS_MAX).collect();
    if cut.len() < visible.len() {
        cut.push('\u{2026}');
    }
    cut
}

/// Format of the message that a webhook takes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Format {
    /// Ours, as `docs/inbox.md` says.
    #[default]
    Generic,
    /// An incoming webhook of Slack.
    Slack,
    /// A workflow of Teams that posts what it gets.
    Teams,
}

impl Format {
    /// Returns the format of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "generic" => Some(Self::Generic),
            "slack" => Some(Self::Slack),
            "teams" => Some(Self::Teams),
            _ => None,
        }
    }
}

#[derive(Serialize)]
struct Told<'a> {
    id: &'a str,
    run_id: &'a str,
    kind: &'a str,
    first_line: String,
    asked_at: String,
}

impl<'a> Told<'a> {
    fn of(one: &'a Waits) -> Self {
        let Waits { id, run_id, kind, at, .. } = one;
        Self {
            id,
            run_id,
            kind: kind.as_str(),
            first_line: told_line(one),
            asked_at: crate::words::moment::timestamp(*at),
        }
    }
}

/// Returns the body that tells a webhook of `notice`; `id` names the notice, so that a second delivery is known as one.
#[must_use]
pub fn body(notice: &Notice, format: Format, id: &str, now: Timestamp) -> String {
    let Notice { title, text, waits } = notice;
    let value: Value = match format {
        Format::Generic => {
            let questions: Vec<Told<'_>> = waits.iter().map(Told::of).collect();
            json!({
                "version": 1, "id": id, "sent_at": crate::words::moment::timestamp(now), "title": title, "text": text,
                "questions": questions,
            })
        }
        // In these three a text would be a link, a mention or a mark.
        Format::Slack => {
            let escaped = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
            json!({"text": format!("{title}\n{escaped}"), "mrkdwn": false})
        }
        Format::Teams => json!({
            "type": "message",
            "attachments": [{
                "contentType": "application/vnd.microsoft.card.adaptive",
                "content": {
                    "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
                    "type": "AdaptiveCard",
                    "version": "1.2",
                    "body": [
                        {"type": "TextBlock", "weight": "Bolder", "text": title},
                        {"type": "RichTextBlock", "inlines": [{"type": "TextRun", "text": text}]},
                    ],
                },
            }],
        }),
    };
    value.to_string()
}

#[cfg(test)]
mod tests {
    use jiff::civil::time;

    use super::*;

    fn at(ms: i64) -> Timestamp {
        Timestamp::from_millisecond(1_800_000_000_000 + ms).expect("a time")
    }

    fn waits(number: usize, kind: QuestionKind, ms: i64) -> Waits {
        Waits {
            id: format!("a:session:ask/{number}.1"),
            run_id: "a".to_owned(),
            kind,
            first_line: format!("May <it> & {number}?\u{1b}[2J"),
            at: at(ms),
        }
    }

    #[track_caller]
    fn is_quiet(from: i8, to: i8, hour: i8, expected: bool) {
        let hours = Hours { from: time(from, 0, 0, 0), to: time(to, 0, 0, 0) };
        assert_eq!(hours.covers(time(hour, 0, 0, 0)), expected, "{from} to {to} at {hour}");
    }

    #[test]
    fn quiet_hours_may_have_the_night_between_them() {
        for (hour, expected) in [(21, false), (22, true), (0, true), (6, true), (7, false), (12, false)] {
            is_quiet(22, 7, hour, expected);
        }
        for (hour, expected) in [(8, false), (9, true), (16, true), (17, false)] {
            is_quiet(9, 17, hour, expected);
        }
    }

    #[test]
    fn ten_questions_within_seconds_are_one_notice() {
        let ten: Vec<Waits> = (0..12).map(|number| waits(number, QuestionKind::Step, number as i64 * 500)).collect();
        assert_eq!(due(&ten, None, at(5_500)), Due::Gathering(GATHER_MS));
        let Due::Now(notice) = due(&ten, None, at(8_500)) else { panic!("it is time") };
        assert_eq!((notice.title.as_str(), notice.waits.len()), ("Adjutant waits for you: 12 questions", 12));
        assert_eq!(notice.text.lines().count(), 12, "{}", notice.text);
        assert!(notice.text.contains("and 2 more"), "{}", notice.text);
        // However fast they come, the first does not wait for ever.
        let endless: Vec<Waits> =
            (0..40).map(|number| waits(number, QuestionKind::Step, number as i64 * 500)).collect();
        assert!(matches!(due(&endless, None, at(19_500)), Due::Now(_)));
        assert_eq!(due(&[], None, at(0)), Due::Nothing);
        // After the clock went back nothing waits for it to come round again.
        assert!(matches!(due(&ten[5..], None, at(-100_000)), Due::Now(_)));
    }

    #[test]
    fn in_quiet_hours_only_the_critical_is_told() {
        let quiet = Quiet {
            hours: Hours { from: time(22, 0, 0, 0), to: time(7, 0, 0, 0) },
            critical: vec![QuestionKind::Destructive],
        };
        let both = [waits(1, QuestionKind::Step, 0), waits(2, QuestionKind::Destructive, 0)];
        let night = Some((&quiet, time(23, 30, 0, 0)));
        let Due::Now(notice) = due(&both, night, at(10_000)) else { panic!("one is critical") };
        assert_eq!(notice.waits, [both[1].clone()]);
        assert_eq!(due(&both[..1], night, at(10_000)), Due::Nothing);
        let Due::Now(notice) = due(&both, Some((&quiet, time(7, 0, 0, 0))), at(10_000)) else { panic!("it is day") };
        assert_eq!(notice.waits.len(), 2);
    }

    #[test]
    fn what_is_told_is_a_line_without_secrets_or_control_characters() {
        let mut one = waits(1, QuestionKind::Blocker, 0);
        one.first_line = format!("use AKIAIOSFODNN7EXAMPLE \u{202e}\u{7} {}", "x".repeat(500));
        let Due::Now(notice) = due(&[one], None, at(10_000)) else { panic!("it is time") };
        let body = body(&notice, Format::Generic, "n", at(10_000));
        for told in [&notice.text, &body] {
            assert!(!told.contains("AKIAIOSFODNN7EXAMPLE") && !told.contains('\u{202e}') && !told.contains('\u{7}'));
            assert!(told.len() < 700, "{told}");
        }
    }

    #[test]
    fn each_service_gets_its_own_form() {
        let Due::Now(notice) = due(&[waits(1, QuestionKind::Step, 0)], None, at(10_000)) else { panic!("it is time") };
        let shown = |format| {
            let value: Value = serde_json::from_str(&body(&notice, format, "n-1", at(10_000))).expect("JSON");
            serde_json::to_string_pretty(&value).expect("JSON") + "\n"
        };
        insta::assert_snapshot!([shown(Format::Generic), shown(Format::Slack), shown(Format::Teams)].concat());
    }
}
