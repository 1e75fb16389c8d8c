//! A kill at the one moment that no event marks: between a command's effect and its end.

use serde_json::json;

use super::cases::{AUTHORIZED, REPORT};
use super::gate::Gate;
use crate::home::{RUN, SUMMARY, TestHome};

#[test]
fn a_command_that_had_its_effect_before_the_kill_is_not_run_again() {
    let home = TestHome::new();
    let gate = Gate::of(&home);
    let command = format!("echo one >> '{}'; {}", home.effects().display(), gate.command());
    home.scripted(
        AUTHORIZED,
        &json!([
            SUMMARY,
            {"text": "Once.", "calls": [{"tool": "shell_exec", "args": {"cmd": command}}]},
            {"when": {"contains": "unknown"}, "text": "Then I look first.", "calls": [
                {"tool": "list_dir", "args": {"path": "."}},
            ]},
            {"repeat": 3, "text": REPORT},
        ]),
    );
    home.write("go.json", json!(["go"]).to_string());
    gate.close();

    let mut running = home.start(&["run", "../brief.md", "--json", "--answers", "../go.json"]);
    running.until("\"type\":\"tool_call\"");
    let held = gate.reached();
    assert_eq!(home.read("shared/effects"), "one\n");
    running.kill();
    gate.open();
    drop(held);

    let resumed = home.run(&["resume", RUN, "--answers", "../go.json"]).expect_code(0);
    assert_eq!(home.read("shared/effects"), "one\n");
    assert!(resumed.stdout.contains("Then I look first."), "the agent was told: {}", resumed.stdout);
    let journal = home.journal(RUN);
    let told = journal.iter().find(|event| event["type"] == "tool_rejected").expect("a word to the agent");
    assert_eq!(told["rejection"], "effect_unknown");
}
