//! Recorded sessions: what stands on the screen of a terminal, at two sizes, while somebody types at it.
//!
//! Each file is about one thing that the operator does there. Snapshots hold the screens as they are; the tests ask for
//! short texts. Whatever is answered in a session is checked when it ends: see [`Transcript`](crate::transcript::Transcript).

mod answers;
mod docs;
mod ending;
mod line;
mod several_acts;
mod status;
mod stopping;
mod work;

use serde_json::{Value, json};

use crate::home::{RUN, SUMMARY, TestHome};
use crate::terminal::{REPORT, Size, Terminal};

/// Lines and columns: what most terminals begin with, and a wide one.
const SIZES: [Size; 2] = [(24, 80), (40, 120)];
const ARGS: &[&str] = &["run", "../brief.md"];

/// The prompt with the cursor behind it, as it is drawn when an answer may be typed.
const PROMPT: &str = "> \u{1b}[3G";
const CTRL_D: &str = "\u{4}";
const ESCAPE: &str = "\u{1b}";

fn start(home: &TestHome, size: Size) -> Terminal {
    Terminal::start_sized(home, ARGS, &[], "", size)
}

/// Compares what stands on the screen with the snapshot of this name and size.
#[track_caller]
fn snapshot(name: &str, home: &TestHome, terminal: &Terminal) {
    let (lines, columns) = terminal.size();
    insta::assert_snapshot!(format!("{name}_{columns}x{lines}"), home.settled(&terminal.screen()));
}

/// A run in auto mode of these turns between a summary and a report. `fields` are the brief's.
fn playing(fields: &str, turns: &[Value]) -> TestHome {
    let home = TestHome::new();
    let turns = [&[json!(SUMMARY)], turns, &[json!({"repeat": 3, "text": REPORT})]].concat();
    home.scripted(&format!("mode: auto\n{fields}"), &turns.into());
    home
}

/// A turn that makes calls.
fn turn(text: &str, calls: &[Value]) -> Value {
    json!({"text": text, "calls": calls})
}

fn shell(cmd: &str) -> Value {
    json!({"tool": "shell_exec", "args": {"cmd": cmd}})
}

fn write(path: &str, content: &str) -> Value {
    json!({"tool": "write_file", "args": {"path": path, "content": content}})
}

/// Starts a run and says yes to its summary.
fn begun(home: &TestHome, size: Size) -> Terminal {
    let mut terminal = start(home, size);
    terminal.expect("? Is this summary what you want?");
    terminal.expect(PROMPT);
    terminal.type_text("go\n");
    terminal
}

/// Starts a run whose first command ends once the file `on` is there.
fn at_work(home: &TestHome, size: Size) -> Terminal {
    let wait = json!({"tool": "shell_exec", "args": {"cmd": "while [ ! -e on ]; do sleep 0.05; done"}});
    home.scripted(
        "mode: auto\nauthorized_costs:\n  - shell_exec",
        &json!([SUMMARY, {"text": "I wait.", "calls": [wait]}, {"repeat": 3, "text": REPORT}]),
    );
    let mut terminal = begun(home, size);
    terminal.expect("\u{2192} shell_exec while");
    terminal
}

/// Shows a question that is longer than the screen to its end.
fn page_to_end(terminal: &mut Terminal) {
    while terminal.screen().lines().rev().take(2).any(|line| line.ends_with(": press Enter --")) {
        terminal.type_text("\n");
        terminal.expect(PROMPT);
    }
}

/// The operator's messages and answers, by the journal.
fn said(home: &TestHome) -> Vec<Value> {
    let is_said = |event: &Value| event["type"] == "operator_message" || event["type"] == "answer";
    let events = home.journal(RUN).into_iter().filter(is_said);
    events
        .map(|event| if event["type"] == "answer" { event["choice"].clone() } else { event["message"].clone() })
        .collect()
}

/// The calls that were made, by the journal: the command or the path of each.
fn made(home: &TestHome) -> Vec<String> {
    let calls = home.journal(RUN).into_iter().filter(|event| event["type"] == "tool_call");
    let subject =
        |event: Value| ["cmd", "path"].iter().find_map(|field| event["args"][*field].as_str().map(str::to_owned));
    calls.filter_map(subject).collect()
}

/// Returns true if the agent was sent this text.
fn is_told(home: &TestHome, text: &str) -> bool {
    home.journal(RUN).iter().any(|event| {
        let sent = event["type"] == "message" || event["type"] == "tool_rejected" || event["type"] == "auth_prompt";
        sent && event.to_string().contains(text)
    })
}

/// Number of turns that were asked for, by the journal.
fn turns(home: &TestHome) -> usize {
    home.journal(RUN).iter().filter(|event| event["type"] == "agent_request").count()
}
