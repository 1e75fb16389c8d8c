//! The scripts that are killed, and who answers them.

use serde_json::{Value, json};

use super::gate::Gate;
use crate::first_run;
use crate::home::{RUN, SUMMARY, TestHome};

/// One script and the operator who answers it.
pub struct Case {
    pub name: &'static str,
    pub run_id: &'static str,
    pub prepare: fn() -> TestHome,
    pub args: &'static [&'static str],
    /// Kind and answer, in the order in which they are needed.
    pub answers: &'static [(&'static str, &'static str)],
    /// Arguments to resume the run with when it stops with this exit code.
    pub go_on: &'static [(i32, &'static [&'static str])],
    /// Files that an interrupted call may or may not have changed.
    pub unsure: &'static [&'static str],
    /// End of the journal that a kill leaves.
    pub leaves: Leaves,
    /// True if the operator presses Ctrl-C, once, when a command waits at the gate.
    pub cancels: bool,
}

/// End of the journal that a kill leaves.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Leaves {
    /// The lines that were on record.
    WholeLines,
    /// Half a line more, as a power cut would.
    HalfALine,
    /// The last line with a byte that nobody wrote: it can't be read any more.
    DamagedLine,
}

const PLAIN: &[&str] = &["run", "../brief.md"];
pub const AUTHORIZED: &str = "mode: auto\nauthorized_costs:\n  - shell_exec\n  - filesystem_write";
pub const REPORT: &str = "## Phase 4\n\nDone.\n\n- Delivered: all of it.\n- Unresolved: nothing.\n- Open: nothing.\n";

/// Settings that most cases share: a run of its own brief that is agreed to and killed cleanly.
const USUAL: Case = Case {
    name: "",
    run_id: RUN,
    prepare: TestHome::new,
    args: PLAIN,
    answers: &[("confirmation", "go")],
    go_on: &[],
    unsure: &[],
    leaves: Leaves::WholeLines,
    cancels: false,
};

pub const FIRST_RUN: Case = Case {
    name: "first run",
    run_id: "2026-01-15-FIRST",
    prepare: TestHome::with_examples,
    args: first_run::ARGS,
    answers: &[("confirmation", "go"), ("destructive", "y"), ("destructive", "y")],
    unsure: &["build/VERSION", "build/orders.out"],
    ..USUAL
};

pub const LOOP: Case = Case {
    name: "loop",
    run_id: "2026-01-17-LOOP",
    prepare: || {
        let home = TestHome::with_examples();
        std::fs::remove_dir_all(home.path("work")).expect("removed");
        crate::home::copy(&home.path("examples/loop/project"), &home.path("work"));
        home
    },
    args: &["loop", "../examples/loop/brief.md"],
    answers: &[("confirmation", "go"), ("stuck", "do both: small letters, and squeezed spaces")],
    ..USUAL
};

pub const BLOCKER: Case = Case {
    name: "blocker",
    prepare: || {
        scripted(AUTHORIZED, |home| {
            json!([
                SUMMARY,
                {"text": "The first part.", "calls": [effect_call(home, "one")]},
                "## Phase 2\n\nBlocker: the colour is not in the brief.\nNeeded: its name.",
                {"text": "Now I know.", "calls": [effect_call(home, "two")]},
                {"repeat": 3, "text": REPORT},
            ])
        })
    },
    go_on: &[(3, &["--context", "the colour is blue"])],
    unsure: &["one", "two"],
    ..USUAL
};

pub const MEMORY: Case = Case {
    name: "memory",
    prepare: || {
        scripted(AUTHORIZED, |_| {
            let write = |content: &str| json!({"tool": "write_project_memory", "args": {"category": "knowledge", "entry": {"content": content}}});
            json!([
                SUMMARY,
                {"text": "Remembered.", "calls": [write("one"), write("two")]},
                {"text": "Looked at.", "calls": [{"tool": "list_project_memory", "args": {}}, write("three")]},
                {"repeat": 3, "text": REPORT},
            ])
        })
    },
    ..USUAL
};

pub const DENIAL: Case = Case {
    name: "denial",
    prepare: || {
        scripted(AUTHORIZED, |home| {
            json!([
                SUMMARY,
                "I'll delete the old build folder.",
                {"when": {"contains": "keep it"}, "text": "Then it stays.", "calls": [effect_call(home, "instead")]},
                {"repeat": 3, "text": REPORT},
            ])
        })
    },
    answers: &[("confirmation", "go"), ("destructive", "n: keep it")],
    unsure: &["instead"],
    ..USUAL
};

pub const SEVERAL_CALLS: Case = Case {
    name: "several calls in one turn",
    prepare: || {
        scripted(AUTHORIZED, |home| {
            json!([
                SUMMARY,
                {"text": "All at once.", "calls": [
                    effect_call(home, "one"),
                    {"tool": "write_file", "args": {"path": "written", "content": "by a tool\n"}},
                    {"tool": "read_file", "args": {"path": "start"}},
                    {"tool": "list_dir", "args": {"path": "."}},
                    effect_call(home, "two"),
                ]},
                {"repeat": 3, "text": REPORT},
            ])
        })
    },
    unsure: &["one", "two"],
    ..USUAL
};

pub const CANCEL: Case = Case {
    name: "cancel",
    prepare: || {
        let home = scripted(AUTHORIZED, |home| {
            let mut endless = effect_call(home, "one");
            let begun = endless["args"]["cmd"].as_str().expect("a command");
            endless["args"]["cmd"] = format!("{begun}; {}", Gate::of(home).command()).into();
            json!([
                SUMMARY,
                {"text": "This may take long.", "calls": [endless]},
                {"text": "Then something shorter.", "calls": [effect_call(home, "two")]},
                {"repeat": 3, "text": REPORT},
            ])
        });
        Gate::of(&home).close();
        home
    },
    unsure: &["one", "two"],
    cancels: true,
    ..USUAL
};

pub const APPROVAL_FOR_THE_RUN: Case = Case {
    name: "approval for the run",
    prepare: || {
        scripted("mode: auto", |home| {
            json!([
                SUMMARY,
                {"text": "The first command.", "calls": [effect_call(home, "one")]},
                {"text": "The second command.", "calls": [effect_call(home, "two")]},
                {"repeat": 3, "text": REPORT},
            ])
        })
    },
    answers: &[("confirmation", "go"), ("destructive", "category")],
    unsure: &["one", "two"],
    ..USUAL
};

pub const MAX_STEPS: Case = Case {
    name: "max steps",
    prepare: || {
        scripted(AUTHORIZED, |home| {
            json!([
                SUMMARY,
                {"text": "The first part.", "calls": [effect_call(home, "one")]},
                "More will follow.",
                {"text": "The second part.", "calls": [effect_call(home, "two")]},
                "Nearly there.",
                {"repeat": 3, "text": REPORT},
            ])
        })
    },
    args: &["run", "../brief.md", "--max-steps", "1"],
    go_on: &[(5, &["--extend", "5"])],
    unsure: &["one", "two"],
    ..USUAL
};

pub const LIMITS: Case = Case {
    name: "a busy provider, another agent, a full window and a limit",
    prepare: || {
        let fields = format!("{AUTHORIZED}\nfallback: [scripted]\nbudgets:\n  max_turns: 4");
        let home = scripted(&fields, |home| {
            let long = json!({"tool": "read_file", "args": {"path": "long"}});
            json!([
                SUMMARY,
                {
                    "fail": {"kind": "busy", "message": "no room", "times": 3, "after_ms": 5},
                    "text": "The first part.",
                    "calls": [effect_call(home, "one"), long.clone()],
                },
                {"text": "On with it.", "calls": [long.clone(), long]},
                {"text": "The second part.", "calls": [effect_call(home, "two")]},
                {"repeat": 3, "text": REPORT},
            ])
        });
        home.write("work/long", "a line of a long file\n".repeat(400));
        home.write("home/config.toml", "[adapters.scripted]\nwindow = 12000\noutput_tokens_max = 1000\n");
        home
    },
    go_on: &[(5, &["--extend", "20"])],
    unsure: &["one", "two"],
    ..USUAL
};

pub const HUGE_OUTPUT: Case = Case {
    name: "huge output",
    prepare: || {
        scripted(AUTHORIZED, |home| {
            let log = home.effects();
            let much = format!("echo much >> '{}'; seq 1 40000", log.display());
            json!([
                SUMMARY,
                {"text": "Much to read.", "calls": [{"tool": "shell_exec", "args": {"cmd": much}}]},
                {"text": "And a little.", "calls": [{"tool": "read_file", "args": {"path": "start"}}]},
                {"repeat": 3, "text": REPORT},
            ])
        })
    },
    ..USUAL
};

pub const MODE_SWITCH: Case = Case {
    name: "mode switch",
    prepare: || {
        scripted("mode: gated\nauthorized_costs:\n  - shell_exec\n  - filesystem_write", |home| {
            json!([
                SUMMARY,
                {"text": "The first part.", "calls": [effect_call(home, "one")]},
                "That was it.",
                "As you wish.",
                {"text": "The second part.", "calls": [effect_call(home, "two")]},
                {"repeat": 3, "text": REPORT},
            ])
        })
    },
    answers: &[("confirmation", "go"), ("step", "use tabs"), ("step", "auto")],
    unsure: &["one", "two"],
    ..USUAL
};

/// Has what a kill can interrupt: a write, a patch that does not apply, a command.
fn three_calls() -> TestHome {
    scripted(AUTHORIZED, |home| {
        json!([
            SUMMARY,
            {"text": "A file.", "calls": [{"tool": "write_file", "args": {"path": "written", "content": "x\n"}}]},
            {"text": "A bad patch.", "calls": [{"tool": "apply_patch", "args": {"diff": "nonsense"}}]},
            {"text": "A command.", "calls": [effect_call(home, "one")]},
            {"repeat": 3, "text": REPORT},
        ])
    })
}

pub const TORN_LINE: Case =
    Case { name: "torn line", prepare: three_calls, unsure: &["one"], leaves: Leaves::HalfALine, ..USUAL };

pub const DAMAGED_LINE: Case =
    Case { name: "damaged line", prepare: three_calls, unsure: &["one"], leaves: Leaves::DamagedLine, ..USUAL };

/// A command that leaves a file in the workdir and a line in the log of effects.
fn effect_call(home: &TestHome, name: &str) -> Value {
    let log = home.effects();
    json!({"tool": "shell_exec", "args": {"cmd": format!("echo {name} >> '{}'; echo {name} > {name}", log.display())}})
}

fn scripted(fields: &str, turns: fn(&TestHome) -> Value) -> TestHome {
    let home = TestHome::new();
    home.write("work/start", "as it was\n");
    home.scripted(fields, &turns(&home));
    home
}
