//! Counts test results from what `cargo test` and `cargo nextest` print.

use std::fmt;

/// Numbers of tests that passed and failed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TestTally {
    /// Tests that passed.
    pub passed: u64,
    /// Tests that failed; a step that failed without a failed test counts as one.
    pub failed: u64,
}

impl TestTally {
    /// The results that `line` sums up; none for a line that sums up nothing.
    ///
    /// `cargo test` prints `test result: ok. 3 passed; 1 failed; ...` for each program it runs, nextest one
    /// `Summary [ 0.1s] 4 tests run: 3 passed (1 slow), 1 failed, 2 skipped` for all.
    pub fn of_line(line: &str) -> Self {
        let line = line.trim();
        let counts = match (line.strip_prefix("test result: "), line.strip_prefix("Summary [")) {
            (Some(result), _) => result.split_once(". ").map(|(_, counts)| counts),
            (None, Some(summary)) => summary.split_once(" run: ").map(|(_, counts)| counts),
            (None, None) => None,
        };
        let mut tally = Self::default();
        let words: Vec<&str> =
            counts.unwrap_or_default().split([' ', ';', ',', '(']).filter(|w| !w.is_empty()).collect();
        for pair in words.windows(2) {
            let (Ok(count), word) = (pair[0].parse::<u64>(), pair[1]) else { continue };
            match word {
                "passed" => tally.passed += count,
                // "2 timed out", "1 exec failed": the number stands before the first word.
                "failed" | "timed" | "exec" => tally.failed += count,
                _ => {}
            }
        }
        tally
    }

    /// Adds `other`.
    pub fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
    }

    /// Takes note that a step failed: no sum may say that nothing did.
    pub fn step_failed(&mut self) {
        self.failed = self.failed.max(1);
    }
}

impl fmt::Display for TestTally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed", self.passed, self.failed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_read_from_both_runners() {
        #[track_caller]
        fn check(line: &str, passed: u64, failed: u64) {
            assert_eq!(TestTally::of_line(line), TestTally { passed, failed }, "{line}");
        }
        check(
            "test result: ok. 23 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.03s\n",
            23,
            0,
        );
        check("test result: FAILED. 3 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.2s", 3, 2);
        check("     Summary [   0.541s] 24 tests run: 24 passed, 0 skipped", 24, 0);
        check(
            "     Summary [   1.5s] 9/12 tests run: 5 passed (1 slow), 2 failed, 1 timed out, 1 exec failed, 3 skipped",
            5,
            4,
        );
        check("     Summary [   0.1s] 1 test run: 1 passed, 0 skipped", 1, 0);
        check("running 23 tests", 0, 0);
        check("test session::a_test_with_1_passed_in_its_name ... ok", 0, 0);
        check("", 0, 0);
    }

    #[test]
    fn a_failed_step_never_sums_up_to_nothing_failed() {
        let mut tally = TestTally { passed: 2, failed: 0 };
        tally.step_failed();
        assert_eq!(tally.to_string(), "2 passed, 1 failed");
        tally.add(TestTally { passed: 0, failed: 2 });
        tally.step_failed();
        assert_eq!(tally.to_string(), "2 passed, 3 failed");
    }
}
