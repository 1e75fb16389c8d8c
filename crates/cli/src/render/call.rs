//! A tool call in the words of a screen: what is called, and what came of it.

use std::borrow::Cow;

use adjutant_core::words::category::SHELL_EXEC;
use adjutant_core::words::visible::{visible_line, visible_text};
use serde_json::Value;

use super::diff;
use super::wrap::head_of;

/// The most columns of a call's subject on the line of its result.
const SUBJECT_COLUMNS_MAX: usize = 60;

/// The longest arguments that are shown whole, in bytes. A command has no limit here: it is what happens.
const ARGS_BYTES_MAX: usize = 2_000;

/// Lines of a failed call's output that are shown: the first, and the last, where a failure is most often told.
const FIRST_LINES: usize = 4;
const LAST_LINES: usize = 12;

/// Returns what is called, whole: a command as it is typed, the arguments of any other tool. Files that are written are
/// shown as a diff, so their content is left out here.
pub(super) fn called(name: &str, args: &Value) -> String {
    let name_shown = visible_line(name);
    if let (SHELL_EXEC, Some(command)) = (name, args["cmd"].as_str()) {
        let others = without(args, &["cmd"]);
        let others = if others.is_empty() { others } else { format!("\n    {others}") };
        return format!("{name_shown} {}{others}", below(&visible_text(command)));
    }
    let args = match (name, args["path"].as_str(), args["diff"].as_str()) {
        ("write_file", Some(path), _) => format!("{path} {}", without(args, &["path", "content"])),
        ("apply_patch", _, Some(patch)) => format!("{} {}", diff::patched(patch).title, without(args, &["diff"])),
        _ => args.to_string(),
    };
    let end = args.floor_char_boundary(ARGS_BYTES_MAX);
    let more = args.len() - end;
    let more = if more == 0 { String::new() } else { format!("\u{2026} and {more} more bytes") };
    format!("{name_shown} {}{more}", visible_line(&args[..end])).trim_end().to_owned()
}

/// Returns the arguments but those named as JSON; nothing if there are no others.
fn without(args: &Value, names: &[&str]) -> String {
    let Some(fields) = args.as_object() else { return String::new() };
    let others = fields.iter().filter(|(field, _)| !names.contains(&field.as_str()));
    let rest: serde_json::Map<String, Value> = others.map(|(name, value)| (name.clone(), value.clone())).collect();
    if rest.is_empty() { String::new() } else { visible_line(&Value::Object(rest).to_string()).into_owned() }
}

/// Returns a text of which no further line begins where our own lines do.
fn below(text: &str) -> String {
    text.replace('\n', "\n    ")
}

/// Returns the name by which the result of a call is told from others: its tool, and what it is about.
pub(super) fn subject(name: &str, args: &Value) -> String {
    let about =
        ["cmd", "path", "url", "query", "command", "file", "gone"].iter().find_map(|field| args[*field].as_str());
    let about: Cow<'_, str> = match (about, args["diff"].as_str()) {
        (Some(about), _) => about.into(),
        (None, Some(patch)) => diff::patched(patch).title.into(),
        (None, None) => "".into(),
    };
    let about = visible_line(about.lines().next().unwrap_or_default()).into_owned();
    let short = head_of(&about, SUBJECT_COLUMNS_MAX);
    let more = if short.len() < about.len() { "\u{2026}" } else { "" };
    format!("{} {short}{more}", visible_line(name)).trim_end().to_owned()
}

/// The ends of a failed call's output.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Ends<'t> {
    pub(super) first: Vec<&'t str>,
    /// Number of lines between them that are left out.
    pub(super) left_out: usize,
    pub(super) last: Vec<&'t str>,
}

/// Returns the first and the last lines of a failed call's output, its first line left out: that is told with the
/// failure. Empty lines at its ends, and heads of streams that hold nothing, are none.
pub(super) fn ends(content: &str) -> Ends<'_> {
    let mut lines: Vec<&str> = content.lines().skip(1).collect();
    let is_said = |line: &&str| !line.trim().is_empty();
    // `shell_exec` names both streams.
    while let Some(last) = lines.last() {
        if is_said(last) && *last != "stderr:" && *last != "stdout:" {
            break;
        }
        lines.pop();
    }
    let begin = lines.iter().position(is_said).unwrap_or(lines.len());
    let mut lines = lines.split_off(begin);
    // An empty line between streams is enough.
    lines.dedup_by(|line, before| !is_said(line) && !is_said(before));
    // One line is not worth the line that says it is left out.
    if lines.len() <= FIRST_LINES + LAST_LINES + 1 {
        return Ends { first: lines.to_vec(), left_out: 0, last: Vec::new() };
    }
    let last = lines.len() - LAST_LINES;
    Ends { first: lines[..FIRST_LINES].to_vec(), left_out: last - FIRST_LINES, last: lines[last..].to_vec() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_command_is_shown_whole_and_none_of_its_lines_looks_like_ours() {
        let long = format!("echo {}; rm -rf ./build", "x".repeat(400));
        assert_eq!(called(SHELL_EXEC, &json!({"cmd": long})), format!("shell_exec {long}"));
        let forged = "true\n  \u{2713} ok\u{1b}[2J";
        assert_eq!(called(SHELL_EXEC, &json!({"cmd": forged})), "shell_exec true\n      \u{2713} ok\\u{1b}[2J");
        let timed = json!({"cmd": "make", "timeout_ms": 5});
        assert_eq!(called(SHELL_EXEC, &timed), "shell_exec make\n    {\"timeout_ms\":5}");
    }

    #[test]
    fn what_is_written_is_left_to_the_diff() {
        let args = json!({"path": "a.txt", "content": "much"});
        assert_eq!(called("write_file", &args), "write_file a.txt");
        let args = json!({"path": "a.txt", "content": "much", "append": true});
        assert_eq!(called("write_file", &args), "write_file a.txt {\"append\":true}");
        assert_eq!(called("apply_patch", &json!({"diff": "--- a/x\n+++ b/x\n"})), "apply_patch x");
        assert_eq!(called("read_file", &json!({"path": "a"})), "read_file {\"path\":\"a\"}");
    }

    #[test]
    fn a_result_names_what_it_is_about() {
        for (name, args, expected) in [
            ("read_file", json!({"path": "a.txt"}), "read_file a.txt"),
            ("shell_exec", json!({"cmd": "make\nmake test"}), "shell_exec make"),
            ("apply_patch", json!({"diff": "--- a/x\n+++ b/x\n@@\n--- a/y\n+++ b/y\n"}), "apply_patch x, y"),
            ("memory_list", json!({}), "memory_list"),
        ] {
            assert_eq!(subject(name, &args), expected);
        }
        assert!(subject("read_file", &json!({"path": "long/".repeat(40)})).ends_with("long/\u{2026}"));
    }

    #[test]
    fn of_a_failed_command_both_ends_are_shown() {
        let output = |lines: usize| {
            let lines: Vec<String> = (1..=lines).map(|line| format!("line {line}")).collect();
            format!("Exited with code 1.\n\nstdout:\n{}\n\nstderr:\n", lines.join("\n"))
        };
        assert_eq!(ends(&output(2)), Ends { first: vec!["stdout:", "line 1", "line 2"], left_out: 0, last: vec![] });
        let many = output(100);
        let Ends { first, left_out, last } = ends(&many);
        assert_eq!((first.len() + left_out + last.len(), last.last()), (101, Some(&"line 100")));
        assert_eq!(first[..2], ["stdout:", "line 1"]);
        assert_eq!(ends("only this").first, [""; 0]);
        let apart = ends("Exited with code 1.\n\nstdout:\none\n\n\n\nstderr:\ntwo\n");
        assert_eq!(apart.first, ["stdout:", "one", "", "stderr:", "two"]);
    }
}
