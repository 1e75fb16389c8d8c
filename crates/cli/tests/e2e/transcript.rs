//! The record of a terminal, and the check that no act follows a question which was not on the screen before its answer was
//! typed.
//!
//! In: what a terminal showed, what was typed at it and when, and the events of the run's journal. Out: a fault for each
//! answer from the terminal that nobody could have meant. Every session of [`Terminal`](crate::terminal::Terminal) is
//! checked when it ends.
//!
//! The screen is emulated with as many lines as the session needs, so that nothing scrolls away, and texts are compared
//! without white space: it doesn't matter where a line was broken.

use std::num::NonZero;

use serde_json::Value;

/// Output of one session at a terminal, and what was typed at it.
#[derive(Debug)]
pub struct Transcript<'t> {
    /// Everything that was shown.
    pub shown: &'t str,
    /// The most columns that the terminal had.
    pub columns: u16,
    /// Everything that was typed, in order.
    pub typed: &'t [TypedText],
}

/// A text that was typed.
#[derive(Debug, Clone)]
pub struct TypedText {
    /// The keys.
    pub text: String,
    /// Bytes that the terminal had shown by then.
    pub shown_bytes: usize,
}

/// The screen when something was typed: its rows, and the one that the cursor was in.
struct ScreenThen {
    rows: Vec<String>,
    cursor_row: usize,
}

/// Result of a check.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Checked {
    /// Number of answers that were looked at.
    pub answers: usize,
    /// Number of acts that followed from them.
    pub acts: usize,
    /// Faults that were found.
    pub faults: Vec<String>,
}

impl Transcript<'_> {
    /// Checks the answers from this terminal in the journal `events` of one run. The first `events_before` events were there
    /// before the session.
    pub fn check(&self, events: &[Value], events_before: usize) -> Checked {
        let screens = self.screens();
        let mut checked = Checked::default();
        // The text that held the last answer, and the place of that answer in the journal.
        let (mut last_typed, mut last_answer) = (0, 0);
        for (at, answer) in events.iter().enumerate().skip(events_before) {
            if answer["type"] != "answer" || answer["whence"] != "terminal" {
                continue;
            }
            let acts = acts(events, at);
            checked.answers += 1;
            checked.acts += acts.len();
            let Some(asked_at) = events[..at].iter().rposition(|event| is_question_of(event, answer)) else {
                checked.faults.push(format!("no question is before the answer {answer}"));
                continue;
            };
            let text = events[asked_at]["question"]["text"].as_str().unwrap_or_default();
            let needed: Vec<String> = text.lines().take(1).map(str::to_owned).chain(acts).collect();
            // A question that was put after the last answer is not what was shown before that answer.
            let first_row = match screens.get(last_typed) {
                Some(screen) if asked_at > last_answer => screen.cursor_row,
                _ => 0,
            };
            let is_shown = |screen: &ScreenThen| {
                let rows: String = screen.rows.iter().skip(first_row).map(|row| squeezed(row)).collect();
                needed.iter().all(|text| rows.contains(&squeezed(text)))
            };
            let first = (last_typed..screens.len()).find(|typed| is_shown(&screens[*typed]));
            let mut typed_since = String::new();
            let found = (first.unwrap_or(screens.len())..screens.len()).find(|typed| {
                typed_since.push_str(&self.typed[*typed].text);
                may_be(&answer["choice"], &typed_since)
            });
            match found {
                Some(typed) => (last_typed, last_answer) = (typed, at),
                None => checked.faults.push(format!(
                    "the answer {} to {needed:?} was typed before all of that was on the screen",
                    answer["choice"]
                )),
            }
        }
        checked
    }

    /// Returns the screen as it was at each text that was typed.
    fn screens(&self) -> Vec<ScreenThen> {
        let columns = usize::from(self.columns.max(1));
        let lines = self.shown.matches('\n').count() + self.shown.len() / columns + 2;
        let some = |number: usize| NonZero::new(u16::try_from(number).unwrap_or(u16::MAX)).expect("more than nothing");
        let mut terminal = vt100::Parser::new(some(lines), some(columns), 0);
        let mut from = 0;
        let mut screens = Vec::new();
        for typed in self.typed {
            terminal.process(&self.shown.as_bytes()[from..typed.shown_bytes]);
            from = typed.shown_bytes;
            let screen = terminal.screen();
            let cursor_row = usize::from(screen.cursor_position().0);
            let rows = screen.rows(0, some(columns).get()).take(cursor_row + 1).collect();
            screens.push(ScreenThen { rows, cursor_row });
        }
        screens
    }
}

fn squeezed(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}

fn is_question_of(event: &Value, answer: &Value) -> bool {
    event["type"] == "question" && event["part"] == answer["part"] && event["slot"] == answer["slot"]
}

/// Returns what has to be readable of each act that was made by the answer at `at`: each line of a command, a path, an
/// address.
fn acts(events: &[Value], at: usize) -> Vec<String> {
    let of_part = |event: &&Value| event["part"] == events[at]["part"];
    let behind = || events[at + 1..].iter().filter(of_part);
    let decided = behind().take_while(|event| event["type"] != "answer").find(|event| event["type"] == "auth_prompt");
    let Some(decided) = decided.filter(|decided| decided["response"] != "n") else { return Vec::new() };
    let numbers = decided["calls"].as_array().cloned().unwrap_or_default();
    let is_approved = |event: &&Value| {
        let slot = event["slot"].as_str().and_then(|slot| slot.strip_prefix("call/"));
        let number = slot.and_then(|slot| slot.split('.').next()?.parse::<u64>().ok());
        event["type"] == "tool_call" && numbers.iter().any(|approved| approved.as_u64() == number)
    };
    behind().filter(is_approved).flat_map(|call| substance(&call["args"])).collect()
}

fn substance(args: &Value) -> Vec<String> {
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    if let Some(field) = ["cmd", "path", "url"].iter().find_map(|field| args[*field].as_str()) {
        return lines(field);
    }
    let patch = args["diff"].as_str().unwrap_or_default();
    let targets = patch.lines().filter_map(|line| line.strip_prefix("+++ b/"));
    targets.map(str::to_owned).collect()
}

/// Returns true if the keys may have been this choice. A choice that lets nothing happen may be any.
fn may_be(choice: &Value, typed: &str) -> bool {
    let lower = typed.to_lowercase();
    let has = |words: &[&str]| lower.split(|c: char| !c.is_alphanumeric()).any(|word| words.contains(&word));
    match choice.as_str().unwrap_or_default() {
        "once" => has(&["y", "yes", "all", "o", "once"]),
        "as_asked" => has(&["y", "yes"]),
        "again" => has(&["again"]),
        "for_run" => has(&["category", "s"]),
        "chosen" => lower.contains(|c: char| c.is_ascii_digit()),
        "accept" | "accept_auto" | "accept_gated" | "continue" | "continue_auto" => !lower.is_empty(),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const QUESTION: &str = "The agent wants to run\n  rm -r build\nAllow this?";
    const AT_REST: &str = "Phase 0\r\n? Go?\r\n> ";
    const AT_ACT: &str = "go\r\n? The agent wants to run\r\n  rm -r\r\n  build\r\nAllow this?\r\n> ";

    /// The journal of a summary that was accepted, and of a command that was approved.
    fn journal() -> Vec<Value> {
        let question = |slot: &str, text: &str| json!({"type": "question", "part": "session", "slot": slot, "question": {"text": text}});
        let answer = |slot: &str, choice: &str| json!({"type": "answer", "part": "session", "slot": slot, "choice": choice, "whence": "terminal"});
        vec![
            question("ask/1.1", "Go?"),
            answer("ask/1.1", "accept"),
            question("ask/2.1", QUESTION),
            answer("ask/2.1", "once"),
            json!({"type": "auth_prompt", "part": "session", "response": "y", "calls": [1]}),
            json!({"type": "tool_call", "part": "session", "slot": "call/1.1", "args": {"cmd": "rm -r build"}}),
        ]
    }

    /// Checks a session in which each text was shown before the keys beside it were typed.
    #[track_caller]
    fn check(session: &[(&str, &str)], events: &[Value], faults: usize) {
        let (mut shown, mut typed) = (String::new(), Vec::new());
        for (text, keys) in session {
            shown.push_str(text);
            typed.push(TypedText { text: (*keys).to_owned(), shown_bytes: shown.len() });
        }
        let checked = Transcript { shown: &shown, columns: 40, typed: &typed }.check(events, 0);
        assert_eq!((checked.answers, checked.faults.len()), (2, faults), "{session:?}: {checked:?}");
    }

    #[test]
    fn an_answer_to_what_was_on_the_screen_is_none_of_the_faults() {
        check(&[(AT_REST, "go\n"), (AT_ACT, "y\n")], &journal(), 0);
        // The keys of one answer may come one by one.
        check(&[(AT_REST, "go\n"), (AT_ACT, "ye"), ("", "s\n")], &journal(), 0);
        // What was typed too early and dropped is no fault, if the yes was typed anew.
        check(&[(AT_REST, "go\n"), ("go\r\n", "y\n"), (&AT_ACT[4..], "y\n")], &journal(), 0);
    }

    #[test]
    fn a_yes_that_was_typed_before_its_question_was_there_is_a_fault() {
        check(&[(AT_REST, "go\ny\n"), (AT_ACT, "")], &journal(), 1);
        check(&[(AT_REST, "go\n"), ("go\r\n", "y\n"), (&AT_ACT[4..], "")], &journal(), 1);
        // Only Enter was typed at the question itself.
        check(&[(AT_REST, "go\n"), ("go\r\n", "y"), (&AT_ACT[4..], "\n")], &journal(), 1);
        check(&[("Phase 0\r\n", "go\n"), ("? Go?\r\n> ", ""), (AT_ACT, "y\n")], &journal(), 1);
    }

    #[test]
    fn an_act_that_the_question_did_not_show_is_a_fault() {
        let mut events = journal();
        events[5]["args"]["cmd"] = json!("rm -r build src");
        check(&[(AT_REST, "go\n"), (AT_ACT, "y\n")], &events, 1);
        // What was shown at an earlier question was shown for that one.
        let early = format!("{}{AT_REST}", &AT_ACT[4..]);
        check(&[(&early, "go\n"), ("? The agent wants to run\r\n> ", "y\n")], &journal(), 1);
        // The agent's words about an act are not the act.
        let said = "go\r\nI'll clean up.\r\n? The agent wants to run\r\n  make\r\nAllow this?\r\n> ";
        check(&[(AT_REST, "go\n"), (said, "y\n")], &journal(), 1);
    }

    #[test]
    fn answers_from_elsewhere_and_from_earlier_sessions_were_not_typed_here() {
        let mut events = journal();
        events[1]["whence"] = json!("inbox");
        let transcript = Transcript { shown: "", columns: 40, typed: &[] };
        assert_eq!(transcript.check(&events, 0).answers, 1);
        assert_eq!(transcript.check(&events, 4), Checked::default());
    }
}
