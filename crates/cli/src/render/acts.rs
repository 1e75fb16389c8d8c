//! Acts as they are shown: what a call changes, before it is asked about and after it was done, and what a failed one put
//! out.

use std::collections::BTreeSet;

use adjutant_core::inbox::open::announced;
use adjutant_core::session::act_text;
use adjutant_core::trace::{Body, Event, GateEvent, TurnEvent};
use adjutant_core::view::list::RunState;
use adjutant_core::words::id::RunId;
use adjutant_core::words::text::count_of;
use adjutant_core::words::tool::{ResolvedPath, ToolCall};
use adjutant_core::words::visible::{visible_line, visible_text};
use adjutant_core::words::{GateAnswer, Key, Part, Question, QuestionKind};

use super::diff::{self, ShownDiff};
use super::wrap::{Styled, TextTone, head_of, wrapped};
use super::{Renderer, call};

/// The most lines of a diff where no screen has to hold it.
const DIFF_LINES_MAX: usize = 200;

/// The lines of a single diff that are shown however little room there is: a change of one line with what is around it.
const DIFF_LINES_MIN: usize = 8;

/// The most columns of a line of a tool's output.
const OUTPUT_COLUMNS_MAX: usize = 400;

/// The calls of a reply, as far as the gate has judged them.
#[derive(Debug, Default)]
pub(super) struct RepliedCalls {
    /// Those that are not judged, in order.
    pub(super) unjudged: Vec<ToolCall>,
    /// Those that the operator is asked about.
    pub(super) asked: Vec<ToolCall>,
    /// All of them.
    pub(super) all: Vec<ToolCall>,
    /// The categories that a yes would be for.
    pub(super) categories: BTreeSet<String>,
}

impl RepliedCalls {
    /// Takes note that a call of `tool` was judged. Calls are judged in order.
    pub(super) fn judge(&mut self, tool: &str, answer: GateAnswer) {
        let Some(at) = self.unjudged.iter().position(|call| call.name == tool) else { return };
        let call = self.unjudged.remove(at);
        if answer == GateAnswer::Ask {
            self.asked.push(call);
        }
    }

    /// Returns the next call of `tool` that is to be judged, by the name by which it is told from others.
    fn next_judged(&self, tool: &str) -> Option<String> {
        let call = self.unjudged.iter().find(|call| call.name == tool)?;
        Some(call::subject(&call.name, &call.args))
    }

    /// Returns the call that the agent gave this name, by the name by which it is told from others.
    fn named(&self, call_id: &str, tool: &str) -> Option<String> {
        let call = self.all.iter().find(|call| call.call_id == call_id && call.name == tool)?;
        Some(call::subject(&call.name, &call.args))
    }
}

/// A call that has begun.
#[derive(Debug)]
pub(super) struct CallShown {
    /// The name by which its result is told from others.
    pub(super) subject: String,
    pub(super) change: Option<ShownDiff>,
}

impl Renderer {
    /// Shows what calls of this sitting changed so far, compared with what is in the folder.
    pub fn show_changes(&mut self) {
        let changes = self.attended.as_ref().map_or_else(Vec::new, |(_, folder)| self.changed.diffs(folder));
        if changes.is_empty() {
            self.line(TextTone::Dim, "No file was changed by a file tool in this sitting.");
        }
        for change in &changes {
            self.diff(change, self.diff_lines_max(2));
        }
        self.flush();
    }

    /// Takes note of calls that the operator may be asked about.
    pub(super) fn note_calls(&mut self, event: &Event) {
        match &event.body {
            Body::Turn(TurnEvent::AgentReply { calls, .. }) => {
                let replied = RepliedCalls { unjudged: calls.clone(), all: calls.clone(), ..RepliedCalls::default() };
                self.replied.insert(event.part.clone(), replied);
                self.recalled.remove(&event.part);
            }
            Body::Turn(TurnEvent::DetectorFired { detector, payload, .. }) if detector == "destructive" => {
                if let Some(replied) = self.replied.get_mut(&event.part) {
                    replied.categories.extend(announced(payload));
                }
            }
            Body::Gate(GateEvent::AuthCheckFired { tool, answer: Some(answer), missing, .. }) => {
                if let Some(replied) = self.replied.get_mut(&event.part) {
                    replied.judge(tool, *answer);
                    if *answer == GateAnswer::Ask {
                        replied.categories.extend(missing.iter().cloned());
                    }
                }
            }
            _ => {}
        }
    }

    /// Returns the call that the gate judges now, by its tool and what it is about.
    pub(super) fn judged_subject(&self, part: &Part, tool: &str) -> String {
        let named = self.replied.get(part).and_then(|replied| replied.next_judged(tool));
        named.unwrap_or_else(|| visible_line(tool).into_owned())
    }

    /// Returns a call that was answered without being made, by its tool and what it is about.
    pub(super) fn rejected_subject(&self, part: &Part, call_id: &str, tool: &str) -> String {
        let named = self.replied.get(part).and_then(|replied| replied.named(call_id, tool));
        named.unwrap_or_else(|| visible_line(tool).into_owned())
    }

    /// Says what waits for the operator in phase 3, as the list does.
    pub(super) fn approval_needed(&self, part: &Part) -> String {
        let none = BTreeSet::new();
        let categories = self.replied.get(part).map_or(&none, |replied| &replied.categories);
        RunState::Waits(QuestionKind::Destructive).in_words(categories)
    }

    /// Returns the change that a call would make to files as they are now; `None` for a call that writes none, and where
    /// the folder is not known. `resolved` says where paths really are.
    pub(super) fn change(&self, name: &str, args: &serde_json::Value, resolved: &[ResolvedPath]) -> Option<ShownDiff> {
        let (_, folder) = self.attended.as_ref()?;
        match name {
            "apply_patch" => Some(diff::patched(args["diff"].as_str()?)),
            "write_file" => {
                let (path, content) = (args["path"].as_str()?, args["content"].as_str()?);
                let shown = visible_line(path);
                if args["append"].as_bool() == Some(true) {
                    return Some(diff::appended(&shown, content));
                }
                let place = resolved.iter().find(|found| found.path == path).map_or(path, |found| &found.place);
                Some(diff::written(&shown, &folder.read(place), content))
            }
            _ => None,
        }
    }

    /// Returns the number of lines that a diff may take: a part of the screen, so that what belongs to it is seen too.
    pub(super) fn diff_lines_max(&self, part: usize) -> usize {
        self.size().map_or(DIFF_LINES_MAX, |(lines, _)| (lines / part).clamp(8, DIFF_LINES_MAX))
    }

    /// Shows a change, and how to see what is left out of it.
    pub(super) fn diff(&mut self, change: &ShownDiff, lines_max: usize) {
        let lines = self.diff_lines(change, lines_max, &|run| format!("adjutant inspect {run} --transcript"));
        lines.iter().for_each(|line| self.styled_line(line));
        self.flush();
    }

    /// Returns the lines of a change, where this command shows all of it.
    fn diff_lines(&self, change: &ShownDiff, lines_max: usize, how: &dyn Fn(&RunId) -> String) -> Vec<Styled> {
        let title = format!("    {}  {}", change.title, change.counts());
        let mut shown = vec![wrapped(TextTone::Heading, &title, self.columns(), 2)];
        let (pieces, left) = change.cut(lines_max);
        for (number, piece) in pieces.iter().enumerate() {
            if number > 0 {
                shown.push(Styled::of(TextTone::Dim, "    \u{2026}"));
            }
            shown.extend(piece.iter().map(|(sign, text)| {
                let (tone, sign) = match sign {
                    '+' => (TextTone::Good, "+"),
                    '-' => (TextTone::Bad, "-"),
                    '@' => (TextTone::Dim, ""),
                    _ => (TextTone::Plain, " "),
                };
                Styled::of(tone, &format!("    {sign}{text}"))
            }));
        }
        shown.extend(self.left_out(left, how));
        shown
    }

    fn left_out(&self, lines: usize, how: &dyn Fn(&RunId) -> String) -> Option<Styled> {
        let how = self.attended.as_ref().map(|(run, _)| format!(": {}", how(run))).unwrap_or_default();
        let said = format!("    \u{2026} {}{how}", count_of(lines as u64, "more line", "more lines"));
        (lines > 0).then(|| wrapped(TextTone::Dim, &said, self.columns(), 2))
    }

    /// Shows the first and the last lines of what a failed call put out.
    pub(super) fn output(&mut self, content: &str) {
        let call::Ends { first, left_out, last } = call::ends(content);
        let shown = |line: &&str| {
            let line = visible_text(line);
            let head = head_of(&line, OUTPUT_COLUMNS_MAX);
            let more = if head.len() < line.len() { "\u{2026}" } else { "" };
            format!("    | {head}{more}")
        };
        for line in first.iter().map(shown) {
            self.raw_line(TextTone::Plain, &line);
        }
        let more = self.left_out(left_out, &|run| format!("adjutant inspect {run} --transcript"));
        more.iter().for_each(|line| self.styled_line(line));
        for line in last.iter().map(shown) {
            self.raw_line(TextTone::Plain, &line);
        }
    }

    /// Returns the text of a question without what is shown as a change, and the changes of the calls that it is about.
    pub(super) fn asked_about(&self, key: &Key, question: &Question) -> (String, Vec<ShownDiff>) {
        let asked = match self.replied.get(&key.part) {
            Some(replied) if question.kind == QuestionKind::Destructive => replied.asked.as_slice(),
            Some(_) | None => &[],
        };
        let mut text = question.text.clone();
        let mut changes = Vec::new();
        for call in asked {
            if let Some(change) = self.change(&call.name, &call.args, &call.resolved) {
                text = act_text::without_content(&text, call);
                changes.push(change);
            }
        }
        (text, changes)
    }

    /// Returns the lines of what the calls that a question is about would change, to stand above the question, which takes so
    /// many lines.
    pub(super) fn changes_asked_about(&self, changes: &[ShownDiff], lines_asked: usize) -> Vec<Styled> {
        // The question needs its own lines, one above it and one for the prompt.
        let room = self.size().map_or(DIFF_LINES_MAX, |(lines, _)| lines.saturating_sub(lines_asked + 2));
        // So does each change: an empty line and its title.
        let lines_max = (room / changes.len().max(1)).saturating_sub(2);
        let lines_min = (DIFF_LINES_MIN / changes.len().max(1)).max(4);
        let how = |run: &RunId| format!("adjutant inbox show {run}");
        let lines_of = |change: &ShownDiff| {
            let shown = self.diff_lines(change, lines_max.clamp(lines_min, DIFF_LINES_MAX), &how);
            std::iter::once(Styled::default()).chain(shown)
        };
        changes.iter().flat_map(lines_of).collect()
    }
}
