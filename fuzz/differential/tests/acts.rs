//! Tests that the hunt would find something: every act that it plants takes a canary, in both shells.

use std::process::Command;

#[test]
fn every_act_that_is_planted_takes_a_canary() {
    let output = Command::new(env!("CARGO_BIN_EXE_adjutant-differential"))
        // Also on a machine that does much else.
        .args(["--acts", "--limit-ms", "5000"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
}
