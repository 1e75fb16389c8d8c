//! The act that a question is about, as text that can be read: a command as it is typed, the content that a file gets.
//!
//! In: a call. Out: lines for a question. The question has the content in whole, so that it can be read wherever it is
//! answered; a screen that has shown it as a diff leaves it out ([`without_content`]).

use serde_json::{Map, Value};

use crate::words::category::SHELL_EXEC;
use crate::words::tool::ToolCall;
use crate::words::visible::{visible_line, visible_text};
use crate::words::wait::{self, WAIT_FOR};

/// Longest command or content that a question has in whole, in characters.
const CONTENT_CHARS_MAX: usize = 20_000;

/// Longest arguments of any other tool, in characters.
const ARGS_CHARS_MAX: usize = 1_500;

/// Number of files that are named.
const FILES_NAMED_MAX: usize = 5;

/// Indents of content: in a question about one act, and in one about several.
pub(super) const INDENTS: [&str; 2] = ["  ", "   "];

/// Describes what a call wants, behind the words `wants`: the act in whole, each further line behind `indent`.
pub(super) fn act(call: &ToolCall, wants: &str, indent: &str) -> String {
    let indented = |text: &str| text.lines().map(|line| format!("{indent}{line}\n")).collect::<String>();
    let name = visible_line(&call.name);
    if let (SHELL_EXEC, Some(command)) = (call.name.as_str(), text(call, "cmd")) {
        let others = others(call, &["cmd"]).map(|others| format!("{indent}with {others}\n")).unwrap_or_default();
        return format!("{wants}run\n{}{others}", indented(&visible_text(&cut(command, CONTENT_CHARS_MAX))));
    }
    if let (WAIT_FOR, Some(command)) = (call.name.as_str(), wait::command(&call.args)) {
        let others = others(call, &["command"]).map(|others| format!("{indent}with {others}\n")).unwrap_or_default();
        let command = indented(&visible_text(&cut(&command, CONTENT_CHARS_MAX)));
        return format!("{wants}wait, and to run again and again meanwhile\n{command}{others}");
    }
    if let Some(WrittenContent { files, fields, .. }) = WrittenContent::of(call) {
        let others = others(call, fields).map(|others| format!(" with {others}")).unwrap_or_default();
        let content = content(call, indent).unwrap_or_default();
        return format!("{wants}call `{name}` for {files}{others}\n{content}");
    }
    let args = visible_text(&cut(&call.args.to_string(), ARGS_CHARS_MAX)).into_owned();
    format!("{wants}call `{name}` with\n{}", indented(&args))
}

/// Returns `text`, which is a question, without the content of a call that is shown beside it.
#[must_use]
pub fn without_content(text: &str, call: &ToolCall) -> String {
    // What stands behind the longer indent holds what stands behind the shorter one.
    let mut contents = INDENTS.iter().rev().filter_map(|indent| content(call, indent));
    match contents.find(|content| text.contains(content.as_str())) {
        Some(content) => text.replacen(&content, "", 1),
        None => text.to_owned(),
    }
}

/// Content that a call writes.
struct WrittenContent<'c> {
    files: String,
    text: &'c str,
    /// The arguments that are shown so.
    fields: &'static [&'static str],
}

impl<'c> WrittenContent<'c> {
    /// Returns the content that a file tool writes; `None` for any other call.
    fn of(call: &'c ToolCall) -> Option<Self> {
        match call.name.as_str() {
            "write_file" => {
                let files = visible_line(text(call, "path")?).into_owned();
                Some(Self { files, text: text(call, "content")?, fields: &["path", "content"] })
            }
            "apply_patch" => {
                let diff = text(call, "diff")?;
                let paths = patched_files(diff);
                let named: Vec<_> = paths.iter().take(FILES_NAMED_MAX).map(|path| visible_line(path)).collect();
                let more = match paths.len().saturating_sub(FILES_NAMED_MAX) {
                    0 => String::new(),
                    more => format!(" and {more} more"),
                };
                let files = if named.is_empty() { "no file".to_owned() } else { named.join(", ") };
                Some(Self { files: format!("{files}{more}"), text: diff, fields: &["diff"] })
            }
            _ => None,
        }
    }
}

/// Returns the files that the heads of a patch name, each once.
fn patched_files(diff: &str) -> Vec<&str> {
    let mut files: Vec<&str> = Vec::new();
    let heads = diff.lines().zip(diff.lines().skip(1));
    for (old, new) in heads.filter(|(old, new)| old.starts_with("--- ") && new.starts_with("+++ ")) {
        let file = patched_file(old, new);
        if !files.contains(&file) {
            files.push(file);
        }
    }
    files
}

/// Returns the file that a `---` and a `+++` line of a patch name.
#[must_use]
pub fn patched_file<'p>(old: &'p str, new: &'p str) -> &'p str {
    let path = |head: &'p str, side: &str| {
        let path = head.get(4..).unwrap_or_default().split('\t').next().unwrap_or_default().trim();
        path.strip_prefix(side).unwrap_or(path)
    };
    match path(new, "b/") {
        "/dev/null" => path(old, "a/"),
        new => new,
    }
}

/// Returns the lines that a call writes, each marked, so that nobody takes them for ours.
fn content(call: &ToolCall, indent: &str) -> Option<String> {
    let content = WrittenContent::of(call)?.text;
    let shown = visible_text(&cut(content, CONTENT_CHARS_MAX)).into_owned();
    Some(shown.lines().map(|line| format!("{indent}| {line}\n")).collect())
}

fn text<'c>(call: &'c ToolCall, field: &str) -> Option<&'c str> {
    call.args.get(field)?.as_str()
}

/// Returns the arguments but those in `fields` as JSON; `None` if there are no others.
fn others(call: &ToolCall, fields: &[&str]) -> Option<String> {
    let others = call.args.as_object()?.iter().filter(|(name, _)| !fields.contains(&name.as_str()));
    let others: Map<String, Value> = others.map(|(name, value)| (name.clone(), value.clone())).collect();
    let text = Value::Object(others).to_string();
    (text != "{}").then(|| visible_line(&cut(&text, ARGS_CHARS_MAX)).into_owned())
}

fn cut(text: &str, chars_max: usize) -> String {
    match text.char_indices().nth(chars_max) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}... ({} bytes in all)", &text[..end], text.len()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn call(name: &str, args: Value) -> ToolCall {
        serde_json::from_value(json!({"call_id": "1", "name": name, "args": args})).expect("a call")
    }

    #[track_caller]
    fn check(name: &str, args: Value, said: &str, shown_beside: &str) {
        let call = call(name, args);
        let text = act(&call, "It wants to ", "  ");
        assert_eq!(text, said);
        let numbered = format!("{}   - why\nAllow this?", act(&call, "It wants to ", INDENTS[1]));
        assert!(!without_content(&numbered, &call).contains("| "), "{numbered}");
        assert!(without_content(&numbered, &call).ends_with("\n   - why\nAllow this?"), "{numbered}");
        let question = format!("{text}Allow this?");
        assert_eq!(without_content(&question, &call), format!("{shown_beside}Allow this?"));
    }

    #[test]
    fn an_act_is_text_and_what_a_diff_shows_is_left_out() {
        let command = "It wants to run\n  make test\n";
        check("shell_exec", json!({"cmd": "make test"}), command, command);
        let timed = "It wants to run\n  make\n  with {\"timeout_ms\":5}\n";
        check("shell_exec", json!({"cmd": "make", "timeout_ms": 5}), timed, timed);
        check(
            "write_file",
            json!({"path": "a.txt", "content": "one\n? Allow this?\n"}),
            "It wants to call `write_file` for a.txt\n  | one\n  | ? Allow this?\n",
            "It wants to call `write_file` for a.txt\n",
        );
        check(
            "write_file",
            json!({"path": "a\nb", "content": "\u{1b}[2J", "append": true}),
            "It wants to call `write_file` for a\\nb with {\"append\":true}\n  | \\u{1b}[2J\n",
            "It wants to call `write_file` for a\\nb with {\"append\":true}\n",
        );
        check(
            "apply_patch",
            json!({"diff": "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+new\n"}),
            "It wants to call `apply_patch` for x\n  | --- a/x\n  | +++ b/x\n  | @@ -1 +1 @@\n  | -old\n  | +new\n",
            "It wants to call `apply_patch` for x\n",
        );
        let waited =
            "It wants to wait, and to run again and again meanwhile\n  rm -r x\n  with {\"every_seconds\":5}\n";
        check("wait_for", json!({"command": "rm -r x", "every_seconds": 5}), waited, waited);
        let seconds = "It wants to call `wait_for` with\n  {\"seconds\":5}\n";
        check("wait_for", json!({"seconds": 5}), seconds, seconds);
        let other = "It wants to call `http_fetch` with\n  {\"url\":\"https://a\"}\n";
        check("http_fetch", json!({"url": "https://a"}), other, other);
        // What has not the arguments that it needs is shown as it came.
        let odd = "It wants to call `write_file` with\n  {\"path\":\"a\"}\n";
        check("write_file", json!({"path": "a"}), odd, odd);
    }

    #[test]
    fn a_long_command_is_whole() {
        let long = format!("echo {}; rm -rf ./build", "x".repeat(4_000));
        let text = act(&call("shell_exec", json!({"cmd": long})), "", "  ");
        assert!(text.contains("; rm -rf ./build"), "{text}");
    }
}
