//! `pytest`: settings that its options set, and reports with a place of their own.

use super::ProgramCall;
use crate::gate::shell::args::ArgValue;
use crate::gate::shell::expand::ShellWord;
use crate::gate::shell::paths::PathChange;
use crate::gate::shell::program::{is_no_test, word_of};
use crate::gate::shell::walk::ShellWalk;

/// Plugins that are usual enough to be known by name.
const PLUGINS: [&str; 8] = [
    "xdist", "pytest_cov", "pytest_mock", "pytest_asyncio", "pytest_django", "pytest_timeout", "pytest_randomly",
    "pytester",
];

impl ShellWalk<'_> {
    /// `pytest`.
    pub(super) fn pytest(&mut self, call: ProgramCall<'_>) {
        for (option, value) in &call.args.options {
            let Some(value) = *value else { continue };
            match option.as_str() {
                "-o" | "--override-ini" => self.pytest_setting(value),
                "--cov-report" => self.report(value),
                // Where `unittest` looks for tests.
                "-s" | "--start-directory" | "-t" | "--top-level-directory" => self.tests_at(&word_of(value)),
                "-p" => {
                    let is_known = |name: &str| name.starts_with("no:") || PLUGINS.contains(&name);
                    if !value.text().is_some_and(is_known) {
                        self.opaque("", "loads code by its name");
                    }
                }
                _ => {}
            }
        }
        for operand in &call.args.operands {
            self.tests_at(operand);
            let is_module = |name: &str| call.name == "unittest" && name != "discover" && !name.contains("est");
            if operand.known().is_some_and(|name| is_no_test(name) || is_module(name)) {
                self.opaque("", "runs a file that is no test by its name");
            }
        }
    }

    /// `-o name=value`.
    fn pytest_setting(&mut self, value: ArgValue<'_>) {
        let Some((name, set)) = value.text().and_then(|text| text.split_once('=')) else {
            self.opaque("", "changes a setting that can't be known");
            return;
        };
        match name.trim() {
            "cache_dir" | "log_file" | "junit_file" | "report_log" => {
                self.change(&ShellWord::plain(set), PathChange::Make, None);
            }
            "addopts" => self.options_of("pytest", Some(set)),
            "pythonpath" => self.comes_from(&ShellWord::plain(set)),
            _ => {}
        }
    }

    /// `--cov-report=html:folder`.
    fn report(&mut self, value: ArgValue<'_>) {
        let place = match value.text() {
            Some(text) => text.split_once(':').map(|(_, place)| ShellWord::plain(place)),
            None => Some(word_of(value)),
        };
        if let Some(place) = place {
            self.change(&place, PathChange::Make, None);
        }
    }
}
