//! A run as a person follows it: every line of its journal as one moment, with what was said, what was called, why
//! the gate let it or did not, and what a call makes of files.
//!
//! In: the lines of a trace, in order, once each. Out: a [`Moment`] for each. What a file was before is known where
//! the journal has its content: it is recognised by the hash that was recorded with the call.
//!
//! Begin with [`Timeline::take`].

use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};

use serde::Serialize;

use super::label::{Labelled, labelled};
use crate::trace::EventKind;
use crate::trace::read::{Fields, TraceLine};
pub use crate::trace::{Tone, Weight};
use crate::words::line_diff;
use crate::words::tool::content_hash;

/// The longest text of a moment, in bytes: a screen or two. The whole of it is the journal's.
const TEXT_BYTES_MAX: usize = 16 * 1024;
/// The most lines of a diff that are shown.
const DIFF_LINES_MAX: usize = 400;
/// The longest content of which a diff is made, in lines: it costs their product at worst.
const COMPARED_LINES_MAX: usize = 2_000;
/// The most contents of files that are kept to compare with, in bytes.
const KEPT_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Number of unchanged lines around a change.
const CONTEXT_LINES: usize = 3;

/// One line of a journal, as it is followed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Moment {
    /// Its place: the sequence number, or for the peer's traces the number of the line, from 0.
    pub seq: u64,
    /// Time of the event, as it was written.
    pub at: Option<String>,
    /// The part of the run that it belongs to; empty for the run itself.
    pub part: String,
    /// The type of the event.
    pub kind: String,
    /// Its label.
    pub label: &'static str,
    /// Its details, on one line.
    pub detail: String,
    /// Its weight for a person who follows the run.
    pub weight: Weight,
    /// Its tone: good or bad news.
    pub tone: Tone,
    /// Further blocks to see.
    pub blocks: Vec<Block>,
}

/// Something to see of a moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Block {
    /// A text.
    Text {
        /// Its title.
        title: String,
        /// The text, or its beginning.
        text: String,
        /// True if the text is cut.
        is_cut: bool,
        /// True if it is shown at once: messages are, a text that was seen before is not.
        is_open: bool,
    },
    /// Named values.
    Facts(Vec<(&'static str, String)>),
    /// The change to a file.
    Diff(FileDiff),
}

/// The change to one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FileDiff {
    /// The file, or the files that a patch names.
    pub path: String,
    /// The kind of change.
    pub what: &'static str,
    /// The lines.
    pub lines: Vec<DiffLine>,
    /// Number of lines that are left out at the end.
    pub more: usize,
}

/// A line of a diff.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DiffLine {
    /// `+`, `-`, a space, or `@` for what stands between.
    pub sign: char,
    /// Its text.
    pub text: String,
}

/// The state that moments need from earlier lines of the run.
#[derive(Debug, Default)]
pub struct Timeline {
    /// The tool of each call that began, by part and the agent's own name for the call.
    tools: HashMap<(String, String), String>,
    kept: KeptContents,
}

/// Contents of files, by their hash; the oldest goes first.
#[derive(Debug, Default)]
struct KeptContents {
    contents: HashMap<String, String>,
    order: VecDeque<String>,
    bytes: usize,
}

impl KeptContents {
    fn keep(&mut self, hash: String, content: &str) {
        if content.len() > KEPT_BYTES_MAX || self.contents.contains_key(&hash) {
            return;
        }
        self.bytes += content.len();
        self.contents.insert(hash.clone(), content.to_owned());
        self.order.push_back(hash);
        while self.bytes > KEPT_BYTES_MAX {
            let Some(gone) = self.order.pop_front().and_then(|oldest| self.contents.remove(&oldest)) else { return };
            self.bytes -= gone.len();
        }
    }
}

impl Timeline {
    /// The moment that `line` is, once it is taken note of.
    pub fn take(&mut self, line: &TraceLine<'_>) -> Moment {
        let Labelled { label, detail } = labelled(line);
        let blocks = self.blocks(line);
        self.pass(line);
        let spec = line.kind.spec();
        Moment {
            seq: place(line),
            at: line.at.as_deref().map(str::to_owned),
            part: line.part.to_string(),
            kind: line.kind.to_string(),
            label,
            detail: if line.kind == EventKind::Question { question_detail(line) } else { detail },
            weight: spec.map_or(Weight::Detail, |spec| spec.weight),
            tone: spec.map_or(Tone::Plain, |spec| (spec.tone)(&line.fields)),
            blocks,
        }
    }

    /// Takes note of `line`, of which nothing is to be seen.
    pub fn pass(&mut self, line: &TraceLine<'_>) {
        let f = &line.fields;
        match line.kind.known() {
            Some(EventKind::ToolCall) => {
                let call = (line.part.to_string(), f.word("call_id").into_owned());
                self.tools.insert(call, f.word("name").into_owned());
                let after = f.objects("changes").first().map(|change| change.word("after").into_owned());
                if let (Some(after), Some(content)) = (after, f.object("args").text("content"))
                    && content_hash(content.as_bytes()) == after
                {
                    self.kept.keep(after, &content);
                }
            }
            Some(EventKind::ToolResult) if f.flag("success") && self.tool(line) == "read_file" => {
                if let Some(content) = f.text("content") {
                    self.kept.keep(content_hash(content.as_bytes()), &content);
                }
            }
            _ => {}
        }
    }

    fn tool(&self, line: &TraceLine<'_>) -> &str {
        let call = (line.part.to_string(), line.fields.word("call_id").into_owned());
        self.tools.get(&call).map(String::as_str).unwrap_or_default()
    }

    fn blocks(&self, line: &TraceLine<'_>) -> Vec<Block> {
        let f = &line.fields;
        let mut blocks = Vec::new();
        match line.kind.known() {
            Some(EventKind::RunStart) => text(&mut blocks, "brief", f.text("brief"), false),
            Some(EventKind::Message) => {
                let is_new = !matches!(f.word("kind").as_ref(), "standing_orders" | "intake" | "runtime_state");
                text(&mut blocks, &f.word("kind"), f.text("text"), is_new);
            }
            Some(EventKind::AgentReply) => {
                text(&mut blocks, "thought", f.text("thinking"), false);
                text(&mut blocks, "said", f.text("text"), true);
                for call in f.objects("calls") {
                    let title = format!("asks for {}", call.word("name"));
                    text(&mut blocks, &title, call.json("args").map(Cow::Borrowed), false);
                }
            }
            // What was allowed is told by its line.
            Some(EventKind::AuthCheckFired) if f.text("answer").unwrap_or_else(|| f.word("decision")) != "allow" => {
                let list = |name: &str| f.texts(name).join(", ");
                let all = [
                    ("reason", f.word("reason").into_owned()),
                    ("missing", list("missing")),
                    ("would allow it", f.word("would_allow").into_owned()),
                    ("after text from outside", list("after_untrusted")),
                ];
                facts(&mut blocks, &all);
            }
            Some(EventKind::HookResult) => facts(&mut blocks, &[("reason", f.word("reason").into_owned())]),
            Some(EventKind::ToolCall) => self.call(&mut blocks, f),
            Some(EventKind::ToolResult) => {
                facts(
                    &mut blocks,
                    &[("tool", self.tool(line).to_owned()), ("kept as", f.word("artifact").into_owned())],
                );
                text(&mut blocks, "result", f.text("content"), false);
            }
            Some(EventKind::ToolCancelled) => text(&mut blocks, "said until then", f.text("partial_output"), false),
            Some(EventKind::ToolRejected) => text(&mut blocks, "the agent is told", f.text("content"), true),
            Some(EventKind::DetectorFired) => text(&mut blocks, "saw", f.json("payload").map(Cow::Borrowed), false),
            Some(EventKind::Question) => {
                let question = f.object("question");
                text(&mut blocks, "asked", question.text("text"), true);
                let offers = question.objects("options");
                let offers = offers.iter().map(|offer| format!("{}  {}", offer.word("reply"), offer.word("changes")));
                text(&mut blocks, "may be answered", Some(offers.collect::<Vec<_>>().join("\n").into()), false);
            }
            Some(EventKind::Answer) => text(&mut blocks, "said with it", f.text("text"), true),
            Some(EventKind::AgentFailed) => text(&mut blocks, "message", f.text("message"), true),
            Some(EventKind::PermissionRequested) => facts(
                &mut blocks,
                &[
                    ("to do", f.word("action").into_owned()),
                    ("why", f.word("reasoning").into_owned()),
                    ("without it", f.word("fallback").into_owned()),
                    ("categories", f.texts("categories").join(", ")),
                ],
            ),
            Some(EventKind::HandoffRead) => {
                text(&mut blocks, "handoff", f.json("handoff").map(Cow::Borrowed), false);
                text(&mut blocks, "faults", Some(f.texts("faults").join("\n").into()), true);
            }
            Some(EventKind::TreeSeen) => text(&mut blocks, "changed", Some(f.texts("outside").join("\n").into()), true),
            Some(EventKind::FolderChanged) => {
                text(&mut blocks, "changed", Some(f.texts("paths").join("\n").into()), true)
            }
            _ => {}
        }
        blocks
    }

    fn call(&self, blocks: &mut Vec<Block>, f: &Fields<'_>) {
        let args = f.object("args");
        let changes = f.objects("changes");
        if let Some(patch) = args.text("diff") {
            let paths: Vec<Cow<'_, str>> = changes.iter().map(|change| change.word("path")).collect();
            blocks.push(Block::Diff(patched(paths.join(", "), &patch)));
        } else if let (Some(content), [change]) = (args.text("content"), changes.as_slice()) {
            blocks.push(Block::Diff(self.written(change, &content)));
        } else {
            text(blocks, "arguments", f.json("args").map(Cow::Borrowed), true);
            for change in &changes {
                let (path, what) = (change.word("path").into_owned(), what_becomes(change));
                blocks.push(Block::Diff(FileDiff { path, what, lines: Vec::new(), more: 0 }));
            }
        }
    }

    /// Returns the change to a file whose content is written.
    fn written(&self, change: &Fields<'_>, content: &str) -> FileDiff {
        let (path, what) = (change.word("path").into_owned(), what_becomes(change));
        let before = match change.text("before") {
            None => Some(""),
            Some(before) => self.kept.contents.get(before.as_ref()).map(String::as_str),
        };
        let lines = match before {
            Some(before) if is_comparable(before) && is_comparable(content) => compared(before, content),
            Some(_) | None => content.lines().map(|line| DiffLine { sign: '+', text: line.to_owned() }).collect(),
        };
        let what = if before.is_none() { "rewritten; what it held before is not in the journal" } else { what };
        FileDiff { path, what, ..shortened(lines) }
    }
}

/// The place of a line: its number in the sequence, or in the file from 0.
#[must_use]
pub fn place(line: &TraceLine<'_>) -> u64 {
    line.seq.unwrap_or(line.number.saturating_sub(1))
}

/// The whole question is in a block of its own.
fn question_detail(line: &TraceLine<'_>) -> String {
    format!("{}  {}", line.fields.word("slot"), line.fields.object("question").word("kind"))
}

fn text(blocks: &mut Vec<Block>, title: &str, said: Option<Cow<'_, str>>, is_open: bool) {
    let Some(said) = said.filter(|said| !said.trim().is_empty()) else { return };
    let end = said.floor_char_boundary(TEXT_BYTES_MAX);
    let is_cut = end < said.len();
    blocks.push(Block::Text { title: title.to_owned(), text: said[..end].to_owned(), is_cut, is_open });
}

fn facts(blocks: &mut Vec<Block>, all: &[(&'static str, String)]) {
    let known: Vec<_> = all.iter().filter(|(_, value)| !value.is_empty()).cloned().collect();
    if !known.is_empty() {
        blocks.push(Block::Facts(known));
    }
}

fn what_becomes(change: &Fields<'_>) -> &'static str {
    match (change.text("before"), change.text("after")) {
        (None, Some(_)) => "created",
        (Some(_), None) => "deleted",
        (Some(before), Some(after)) if before == after => "unchanged",
        _ => "changed",
    }
}

fn is_comparable(content: &str) -> bool {
    content.lines().take(COMPARED_LINES_MAX + 1).count() <= COMPARED_LINES_MAX
}

fn compared(before: &str, after: &str) -> Vec<DiffLine> {
    let mut lines = Vec::new();
    for (number, hunk) in line_diff::hunks(before, after, CONTEXT_LINES).iter().enumerate() {
        if number > 0 {
            lines.push(DiffLine { sign: '@', text: String::new() });
        }
        let shown = |(sign, line): &(char, &str)| DiffLine {
            sign: *sign,
            text: line.trim_end_matches(['\n', '\r']).to_owned(),
        };
        lines.extend(hunk.lines.iter().map(shown));
    }
    lines
}

/// A patch as the agent wrote it.
fn patched(path: String, patch: &str) -> FileDiff {
    let lines = patch.lines().map(|line| {
        let is_head = ["+++ ", "--- ", "@@", "diff ", "index "].iter().any(|head| line.starts_with(head));
        match line.chars().next() {
            Some(sign @ ('+' | '-')) if !is_head => DiffLine { sign, text: line[1..].to_owned() },
            Some(' ') => DiffLine { sign: ' ', text: line[1..].to_owned() },
            _ => DiffLine { sign: '@', text: line.to_owned() },
        }
    });
    FileDiff { path, what: "patched", ..shortened(lines.collect()) }
}

fn shortened(mut lines: Vec<DiffLine>) -> FileDiff {
    let more = lines.len().saturating_sub(DIFF_LINES_MAX);
    lines.truncate(DIFF_LINES_MAX);
    FileDiff { path: String::new(), what: "", lines, more }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::read::read_lines;

    fn moments(lines: &[String]) -> Vec<Moment> {
        let trace = read_lines((1..).zip(lines.iter().map(String::as_str)));
        assert_eq!(trace.damaged, Vec::<u64>::new());
        let mut timeline = Timeline::default();
        trace.lines.iter().map(|line| timeline.take(line)).collect()
    }

    fn line(seq: u64, rest: &str) -> String {
        format!(r#"{{"seq":{seq},"at":"2026-01-02T03:04:05.678Z",{rest}}}"#)
    }

    fn write(seq: u64, before: Option<&str>, content: &str) -> String {
        let before = before.map(|text| format!(r#""before":"{}","#, content_hash(text.as_bytes()))).unwrap_or_default();
        let after = content_hash(content.as_bytes());
        let content = serde_json::to_string(content).expect("text");
        line(
            seq,
            &format!(
                r#""type":"tool_call","part":"session","slot":"call/{seq}.1","call_id":"c{seq}","name":"write_file","args":{{"path":"a","content":{content}}},"auth_decision":"allow","changes":[{{"path":"a",{before}"after":"{after}"}}]"#
            ),
        )
    }

    fn signs(moment: &Moment) -> (String, &'static str, String) {
        let Some(Block::Diff(diff)) = moment.blocks.first() else { panic!("{moment:?}") };
        let texts = diff.lines.iter().map(|line| line.text.as_str()).collect::<Vec<_>>().join("|");
        (diff.lines.iter().map(|line| line.sign).collect(), diff.what, texts)
    }

    #[test]
    fn what_a_file_was_before_is_known_where_the_journal_has_it() {
        let found = moments(&[
            write(0, None, "one\ntwo\n"),
            write(1, Some("one\ntwo\n"), "one\n2\n"),
            write(2, Some("from elsewhere\n"), "x\n"),
        ]);
        assert_eq!(signs(&found[0]), ("++".into(), "created", "one|two".into()));
        assert_eq!(signs(&found[1]), (" -+".into(), "changed", "one|two|2".into()));
        let (sign, what, _) = signs(&found[2]);
        assert_eq!(sign, "+");
        assert!(what.contains("not in the journal"), "{what}");
    }

    #[test]
    fn a_content_that_was_masked_is_no_content_of_the_file() {
        let masked = write(0, None, "key = [masked]\n").replace(&content_hash(b"key = [masked]\n"), "0000");
        let found = moments(&[masked, write(1, Some("key = [masked]\n"), "x\n")]);
        assert!(signs(&found[1]).1.contains("not in the journal"));
    }

    #[test]
    fn a_patch_is_shown_as_it_was_written() {
        let patch = r#""type":"tool_call","slot":"call/1.1","call_id":"c","name":"apply_patch","args":{"diff":"--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+new\n same"},"auth_decision":"allow","changes":[{"path":"x","before":"1","after":"2"}]"#;
        let (sign, what, texts) = signs(&moments(&[line(0, patch)])[0]);
        assert_eq!((sign.as_str(), what), ("@@@-+ ", "patched"));
        assert!(texts.ends_with("old|new|same"), "{texts}");
    }

    #[test]
    fn the_gate_says_why_and_long_texts_are_cut() {
        let gate = r#""type":"auth_check_fired","layer":"brief","tool":"shell_exec","decision":"deny","reason":"not authorized","answer":"ask","missing":["git_push"],"would_allow":"authorize git_push""#;
        let long = format!(
            r#""type":"tool_result","slot":"call/1.1","call_id":"c","success":false,"duration_ms":1,"bytes":9,"content":"{}""#,
            "é".repeat(TEXT_BYTES_MAX)
        );
        let found = moments(&[line(0, gate), line(1, &long), line(2, r#""type":"of_tomorrow","x":1"#)]);
        assert_eq!((found[0].tone, found[0].weight), (Tone::Warn, Weight::Main));
        let Block::Facts(facts) = &found[0].blocks[0] else { panic!("{found:?}") };
        assert!(
            facts.contains(&("missing", "git_push".into())) && facts.contains(&("reason", "not authorized".into()))
        );
        let Some(Block::Text { text, is_cut: true, .. }) = found[1].blocks.last() else { panic!("{found:?}") };
        assert!(text.len() <= TEXT_BYTES_MAX && text.len() > TEXT_BYTES_MAX - 2);
        assert_eq!((found[2].label, found[2].weight), ("unknown_event", Weight::Detail));
    }

    #[test]
    fn what_is_kept_to_compare_with_has_a_bound() {
        let mut kept = KeptContents::default();
        for number in 0..100 {
            kept.keep(number.to_string(), &"x".repeat(KEPT_BYTES_MAX / 10));
        }
        assert!(kept.bytes <= KEPT_BYTES_MAX && kept.contents.contains_key("99") && !kept.contents.contains_key("0"));
    }
}
