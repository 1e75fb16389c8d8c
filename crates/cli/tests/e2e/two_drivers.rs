//! One run has one driver: the second is refused while the first lives, and the first writes nothing
//! more once it was taken over.

use std::fs;
use std::os::unix::fs::FileExt;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::home::{RUN, Running, SUMMARY, TestHome};

const REPORT: &str = "## Phase 4\n\nDone.\n\n- Delivered: all of it.\n- Unresolved: nothing.\n";

/// A driver that has asked its first question, and then stands still.
fn stopped() -> (TestHome, Running) {
    let home = TestHome::new();
    home.scripted("mode: auto", &json!([SUMMARY, {"repeat": 2, "text": REPORT}]));
    home.write("go.json", json!(["go"]).to_string());
    let mut a = home.start(&["run", "../brief.md"]);
    a.until("<anything else>");
    a.until("no ");
    a.signal(Signal::STOP);
    (home, a)
}

fn resume(home: &TestHome) -> crate::home::Said {
    home.run(&["resume", RUN, "--answers", "../go.json"])
}

#[test]
fn a_second_driver_is_refused_while_the_first_lives_and_takes_over_when_it_is_dead() {
    let (home, a) = stopped();
    let before = home.journal(RUN);
    let refused = resume(&home).expect_code(1);
    let pid = a.child.id().to_string();
    assert!(refused.stderr.contains("the run is driven by"), "{}", refused.stderr);
    assert!(refused.stderr.contains(&pid), "{}", refused.stderr);
    assert!(refused.stderr.contains("hint: "), "{}", refused.stderr);
    assert_eq!(home.journal(RUN), before);
    a.kill();
    resume(&home).expect_code(0).expect_text("completed");
}

#[test]
fn a_driver_that_slept_through_its_lease_writes_nothing_after_the_next_one() {
    let (home, mut a) = stopped();
    let before = home.journal(RUN);
    // The lease ends, as if A had slept for long: its expiry is changed where it stands in the file.
    let path = home.path(&format!("home/sessions/{RUN}.lease"));
    let text = fs::read_to_string(&path).expect("a lease");
    let lease: Value = serde_json::from_str(&text).expect("a lease");
    let expiry = lease["expires_at"].as_str().expect("a time");
    let past = "2001-02-03T04:05:06.789Z";
    assert_eq!(past.len(), expiry.len());
    let at = text.find(expiry).expect("it stands there");
    let file = fs::OpenOptions::new().write(true).open(&path).expect("writable");
    file.write_all_at(past.as_bytes(), at as u64).expect("written");

    resume(&home).expect_code(0).expect_text("completed");
    let finished = home.journal(RUN);
    assert_eq!(finished[..before.len()], before);
    assert_eq!(finished.last().expect("events")["type"], "run_end");

    a.type_line("go");
    a.signal(Signal::CONT);
    let woken = a.finish().expect_code(1);
    assert!(woken.stderr.contains("another driver has taken over the run (it is process "), "{}", woken.stderr);
    assert_eq!(home.journal(RUN), finished);
    home.run(&["replay", RUN]).expect_code(0);
}
