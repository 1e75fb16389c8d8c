//! Reads a script file: YAML or JSON, told apart by content.
//!
//! In: the text of a script. Out: a [`Script`], or a [`ScriptError`] that names file, line and turn and
//! says what was expected. Nothing is guessed: an unknown key is an error.
//!
//! Begin with [`Script::parse`]; the format is described in `docs/scripted-agent.md`.

use std::fmt;
use std::io;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use adjutant_core::words::nearest::did_you_mean;
use adjutant_host::text_file;
use adjutant_ports::{FailureKind, Stop, Usage};
use regex::Regex;
use thiserror::Error;

use super::node::{ScriptNode, ScriptValue};
use super::script::{DELAY_MS_MAX, Fail, Repeat, Script, ScriptCall, ScriptTurn, TextPieces, ToolResult, When};

/// Reason why a script can't be played.
#[derive(Debug, Error)]
pub enum ScriptError {
    /// The file can't be read.
    #[error("can't read the script `{path}`", path = path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The text is neither YAML nor JSON.
    #[error("{at}: neither YAML nor JSON: {message}")]
    NotADocument {
        /// Place of the fault.
        at: Box<Spot>,
        /// The parser's message.
        message: String,
    },
    /// A value is not of the kind that its place needs.
    #[error("{at}: {field} must be {expected}, not {found}")]
    BadValue {
        /// Place of the fault.
        at: Box<Spot>,
        /// The value, such as `` `delay_ms` `` or "a turn".
        field: String,
        /// Description of a valid value.
        expected: String,
        /// The value that was found.
        found: String,
    },
    /// A key means nothing in its place.
    #[error("{at}: {holder} takes no `{key}`")]
    UnknownKey {
        /// Place of the fault.
        at: Box<Spot>,
        /// Holder of the key, such as "a turn".
        holder: &'static str,
        /// The key as it was given.
        key: String,
        /// The keys there are.
        known: &'static [&'static str],
    },
    /// A key is missing.
    #[error("{at}: {holder} needs {key}")]
    Missing {
        /// Place of the fault.
        at: Box<Spot>,
        /// Holder that lacks the key, such as "a call".
        holder: &'static str,
        /// The missing key or keys, in words.
        key: &'static str,
    },
    /// Two values contradict each other.
    #[error("{at}: {problem}")]
    Contradiction {
        /// Place of the fault.
        at: Box<Spot>,
        /// The contradiction, in words.
        problem: &'static str,
    },
}

/// Place in a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spot {
    /// The script's file, as it was named.
    pub file: String,
    /// The line, from 1, where it is known.
    pub line: Option<u64>,
    /// The turn, from 1; absent outside the turns.
    pub turn: Option<usize>,
}

impl fmt::Display for Spot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        self.turn.map_or(Ok(()), |turn| write!(f, ", turn {turn}"))
    }
}

/// Returns the name that a key of a call has here, and the list in which it is called as it was written.
fn other_name(key: &str, known: &[&str]) -> Option<(&'static str, &'static str)> {
    let names = CALL_NAMES.iter().find_map(|(own, peers)| match key {
        key if key == *peers => Some((*own, "`tool_calls`")),
        key if key == *own => Some((*peers, "`calls`")),
        _ => None,
    })?;
    known.contains(&names.0).then_some(names)
}

impl ScriptError {
    /// Returns advice on how to mend it, where there is any.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::UnknownKey { key, known, .. } if let Some((own, list)) = other_name(key, known) => {
                Some(format!("write `{own}`; `{key}` is for {list}"))
            }
            Self::UnknownKey { key, known, .. } => {
                did_you_mean(key, known).or_else(|| Some(format!("it may have {}", listed(known))))
            }
            Self::BadValue { expected, found, .. } if expected == TEXT && is_bare_scalar(found) => {
                Some("put it in quotes".to_owned())
            }
            Self::NotADocument { .. } => Some("text with `: ` or `#` in it goes in quotes or after `|`".to_owned()),
            Self::Unreadable { .. } | Self::BadValue { .. } | Self::Missing { .. } | Self::Contradiction { .. } => None,
        }
    }
}

const TEXT: &str = "text";
const TOP_KEYS: &[&str] = &["turns", "parts"];
const TURN_KEYS: &[&str] =
    &["text", "calls", "tool_calls", "when", "usage", "chunks", "chunk_chars", "delay_ms", "fail", "stop", "repeat"];
const CALL_KEYS: &[&str] = &["id", "tool", "args", "malformed"];
const PEER_CALL_KEYS: &[&str] = &["id", "name", "arguments"];
/// The keys of a call that have one name in `calls` and another in `tool_calls`.
const CALL_NAMES: [(&str, &str); 2] = [("tool", "name"), ("args", "arguments")];
const WHEN_KEYS: &[&str] = &["contains", "matches", "turn", "tool_result"];
const TOOL_RESULT_KEYS: &[&str] = &["tool", "success"];
const FAIL_KEYS: &[&str] = &["kind", "message", "times", "after_ms", "output_max"];
const USAGE_KEYS: &[&str] =
    &["input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens", "reasoning_tokens"];

/// The longest script that is read, in bytes: it may hold long replies.
const SCRIPT_BYTES_MAX: u64 = 256 << 20;

impl Script {
    /// Reads the script in the file `path`.
    ///
    /// # Errors
    ///
    /// [`ScriptError`]: the file can't be read, or is not a script.
    pub fn read(path: &Path) -> Result<Self, ScriptError> {
        let text = text_file::read(path, SCRIPT_BYTES_MAX)
            .map_err(|source| ScriptError::Unreadable { path: path.to_owned(), source })?;
        Self::parse(&text, &path.display().to_string())
    }

    /// Reads the script in `text`; `file` is its name in errors, and the last part of it the script's name.
    ///
    /// A document without anything in it is a script without turns, which answers everything with an empty
    /// reply.
    ///
    /// # Errors
    ///
    /// [`ScriptError`]: the text is not a script.
    pub fn parse(text: &str, file: &str) -> Result<Self, ScriptError> {
        let mut reader = ScriptReader { file, turn: None };
        let document = ScriptNode::parse(text).map_err(|error| ScriptError::NotADocument {
            at: Box::new(Spot { file: file.to_owned(), line: error.line, turn: None }),
            message: error.message,
        })?;
        let (turn_nodes, part_nodes) = reader.turn_nodes(&document)?;
        let turns = reader.turns(turn_nodes)?;
        let parts = part_nodes.into_iter().map(|(part, nodes)| Ok((part.to_owned(), reader.turns(nodes)?)));
        let parts = parts.collect::<Result<_, ScriptError>>()?;
        let name = Path::new(file).file_name().map_or_else(|| file.to_owned(), |name| name.to_string_lossy().into());
        Ok(Self { name, turns, parts })
    }
}

/// The turns of a script that are for the whole run, and those for single parts of it.
type Nodes<'n> = (&'n [ScriptNode], Vec<(&'n str, &'n [ScriptNode])>);

/// Reads values and knows where it stands, for errors.
struct ScriptReader<'a> {
    file: &'a str,
    turn: Option<usize>,
}

impl ScriptReader<'_> {
    /// Returns the turns of a list, each under its number.
    fn turns(&mut self, nodes: &[ScriptNode]) -> Result<Vec<ScriptTurn>, ScriptError> {
        let mut turns = Vec::new();
        for (index, node) in nodes.iter().enumerate() {
            self.turn = Some(index + 1);
            turns.push(self.turn(node)?);
        }
        self.turn = None;
        Ok(turns)
    }

    fn turn_nodes<'n>(&self, document: &'n ScriptNode) -> Result<Nodes<'n>, ScriptError> {
        match &document.kind {
            ScriptValue::Null => Ok((&[], Vec::new())),
            ScriptValue::List(turns) => Ok((turns, Vec::new())),
            ScriptValue::Map(_) => {
                let mut turns = None;
                let mut parts = Vec::new();
                self.each_entry(document, "a script", TOP_KEYS, |key, node| {
                    match (key, &node.kind) {
                        ("turns", _) => turns = Some(self.list("turns", node)?),
                        (_parts, ScriptValue::Map(entries)) => {
                            for (part, node) in entries {
                                parts.push((part.name.as_str(), self.list(&part.name, node)?));
                            }
                        }
                        (key, _) => {
                            return Err(self.bad(node, format!("`{key}`"), "a map from parts to lists of turns"));
                        }
                    }
                    Ok(())
                })?;
                match turns {
                    None if parts.is_empty() => Err(self.missing(document, "a script", "`turns` or `parts`")),
                    turns => Ok((turns.unwrap_or_default(), parts)),
                }
            }
            ScriptValue::Bool(_) | ScriptValue::Number(_) | ScriptValue::Text(_) => {
                Err(self.bad(document, "a script".to_owned(), "a list of turns, or a map with `turns`"))
            }
        }
    }

    fn turn(&self, node: &ScriptNode) -> Result<ScriptTurn, ScriptError> {
        if let ScriptValue::Text(text) = &node.kind {
            return Ok(ScriptTurn { text: text.clone(), ..ScriptTurn::default() });
        }
        if !matches!(node.kind, ScriptValue::Map(_)) {
            return Err(self.bad(node, "a turn".to_owned(), "text or a map"));
        }
        let mut turn = ScriptTurn::default();
        let mut text = None;
        let mut pieces = None;
        let mut chars = None;
        self.each_entry(node, "a turn", TURN_KEYS, |key, value| {
            match key {
                "text" => text = Some(self.text(key, value)?),
                "calls" => turn.calls.extend(self.calls(key, value, CALL_KEYS)?),
                "tool_calls" => turn.calls.extend(self.calls(key, value, PEER_CALL_KEYS)?),
                "when" => turn.when = Some(self.when(value)?),
                "usage" => turn.usage = Some(self.usage(value)?),
                "chunks" => pieces = Some(self.pieces(key, value)?),
                "chunk_chars" => chars = Some(self.whole(key, value, 1..=1_000_000)?),
                "delay_ms" => turn.delay_ms = self.whole(key, value, 0..=DELAY_MS_MAX)?,
                "fail" => turn.fail = Some(self.fail(value)?),
                "stop" => turn.stop = Some(self.one_of(key, value, STOPS)?),
                _repeat => turn.repeat = self.repeat(key, value)?,
            }
            Ok(())
        })?;
        turn.stream = match (pieces, chars) {
            (Some(_), Some(_)) => return Err(self.contradiction(node, "give `chunks` or `chunk_chars`, not both")),
            (Some(pieces), None) => TextPieces::Pieces(pieces),
            (None, Some(count)) => TextPieces::Chars(usize::try_from(count).unwrap_or(usize::MAX)),
            (None, None) => TextPieces::Words,
        };
        turn.text = match (text, &turn.stream) {
            (Some(text), TextPieces::Pieces(pieces)) if pieces.concat() != text => {
                return Err(self.contradiction(node, "`chunks` joined are not `text`; leave `text` out"));
            }
            (Some(text), _) => text,
            (None, TextPieces::Pieces(pieces)) => pieces.concat(),
            (None, TextPieces::Words | TextPieces::Chars(_)) => String::new(),
        };
        Ok(turn)
    }

    fn calls(
        &self,
        key: &str,
        node: &ScriptNode,
        known: &'static [&'static str],
    ) -> Result<Vec<ScriptCall>, ScriptError> {
        self.list(key, node)?.iter().map(|call| self.call(call, known)).collect()
    }

    fn call(&self, node: &ScriptNode, known: &'static [&'static str]) -> Result<ScriptCall, ScriptError> {
        let mut id = None;
        let mut tool = None;
        let mut args = None;
        let mut malformed = None;
        self.each_entry(node, "a call", known, |key, value| {
            match key {
                "id" => id = Some(self.text(key, value)?),
                "tool" | "name" => tool = Some(self.text(key, value)?),
                "malformed" => malformed = Some(self.text(key, value)?),
                _args_or_arguments => args = Some(value.value()),
            }
            Ok(())
        })?;
        let which = if known == CALL_KEYS { "`tool`" } else { "`name`" };
        let tool = tool.ok_or_else(|| self.missing(node, "a call", which))?;
        let args = match (args, &malformed) {
            (Some(_), Some(_)) => return Err(self.contradiction(node, "give `args` or `malformed`, not both")),
            (Some(args), None) => args,
            (None, Some(_)) => serde_json::Value::Null,
            (None, None) => serde_json::json!({}),
        };
        Ok(ScriptCall { id, tool, args, malformed })
    }

    fn when(&self, node: &ScriptNode) -> Result<When, ScriptError> {
        let mut when = When::default();
        let entries = self.each_entry(node, "`when`", WHEN_KEYS, |key, value| {
            match key {
                "contains" => when.contains = Some(self.text(key, value)?),
                "matches" => when.matches = Some(self.pattern(key, value)?),
                "turn" => {
                    when.turn = Some(usize::try_from(self.whole(key, value, 1..=u64::MAX)?).unwrap_or(usize::MAX))
                }
                _tool_result => when.tool_result = Some(self.tool_result(value)?),
            }
            Ok(())
        })?;
        if entries == 0 {
            return Err(self.missing(node, "`when`", "`contains`, `matches`, `turn` or `tool_result`"));
        }
        Ok(when)
    }

    fn tool_result(&self, node: &ScriptNode) -> Result<ToolResult, ScriptError> {
        let mut result = ToolResult::default();
        self.each_entry(node, "`tool_result`", TOOL_RESULT_KEYS, |key, value| {
            match (key, &value.kind) {
                ("tool", _) => result.tool = Some(self.text(key, value)?),
                (_, ScriptValue::Bool(success)) => result.success = Some(*success),
                (_, _) => return Err(self.bad(value, quoted(key), "true or false")),
            }
            Ok(())
        })?;
        Ok(result)
    }

    fn usage(&self, node: &ScriptNode) -> Result<Usage, ScriptError> {
        let mut usage = Usage::default();
        self.each_entry(node, "`usage`", USAGE_KEYS, |key, value| {
            let tokens = Some(self.whole(key, value, 0..=u64::MAX)?);
            match key {
                "input_tokens" => usage.input_tokens = tokens,
                "cache_read_tokens" => usage.cache_read_tokens = tokens,
                "cache_write_tokens" => usage.cache_write_tokens = tokens,
                "output_tokens" => usage.output_tokens = tokens,
                _reasoning_tokens => usage.reasoning_tokens = tokens,
            }
            Ok(())
        })?;
        Ok(usage)
    }

    fn fail(&self, node: &ScriptNode) -> Result<Fail, ScriptError> {
        let mut kind = None;
        let mut message = None;
        let mut times = None;
        let mut after_ms = 0;
        let mut output_max = None;
        self.each_entry(node, "`fail`", FAIL_KEYS, |key, value| {
            match key {
                "kind" => kind = Some(self.one_of(key, value, FAILURES)?),
                "message" => message = Some(self.text(key, value)?),
                "after_ms" => after_ms = self.whole(key, value, 0..=AFTER_MS_MAX)?,
                "output_max" => {
                    let most = self.whole(key, value, 1..=u64::from(u32::MAX))?;
                    output_max = Some(u32::try_from(most).unwrap_or(u32::MAX));
                }
                _times => {
                    let count = self.whole(key, value, 1..=u64::from(u32::MAX))?;
                    times = Some(u32::try_from(count).unwrap_or(u32::MAX));
                }
            }
            Ok(())
        })?;
        let kind = kind.ok_or_else(|| self.missing(node, "`fail`", "`kind`"))?;
        let message = message.ok_or_else(|| self.missing(node, "`fail`", "`message`"))?;
        Ok(Fail { kind, message, times, after_ms, output_max })
    }

    fn repeat(&self, key: &str, node: &ScriptNode) -> Result<Repeat, ScriptError> {
        if node.kind == ScriptValue::Text("forever".to_owned()) {
            return Ok(Repeat::Forever);
        }
        let times = whole_number(node).filter(|times| *times >= 1);
        let times = times.ok_or_else(|| self.bad(node, quoted(key), "a whole number from 1, or `forever`"))?;
        Ok(Repeat::Times(usize::try_from(times).unwrap_or(usize::MAX)))
    }

    fn pieces(&self, key: &str, node: &ScriptNode) -> Result<Vec<String>, ScriptError> {
        self.list(key, node)?.iter().map(|piece| self.text("chunks", piece)).collect()
    }

    fn pattern(&self, key: &str, node: &ScriptNode) -> Result<Regex, ScriptError> {
        let text = self.text(key, node)?;
        Regex::new(&text).map_err(|error| {
            let reason = error.to_string();
            let reason = reason.lines().last().unwrap_or_default().trim_start_matches("error: ");
            self.bad(node, quoted(key), &format!("a regular expression ({reason})"))
        })
    }

    fn text(&self, key: &str, node: &ScriptNode) -> Result<String, ScriptError> {
        match &node.kind {
            ScriptValue::Text(text) => Ok(text.clone()),
            ScriptValue::Null
            | ScriptValue::Bool(_)
            | ScriptValue::Number(_)
            | ScriptValue::List(_)
            | ScriptValue::Map(_) => Err(self.bad(node, quoted(key), TEXT)),
        }
    }

    fn list<'n>(&self, key: &str, node: &'n ScriptNode) -> Result<&'n [ScriptNode], ScriptError> {
        match &node.kind {
            ScriptValue::List(items) => Ok(items),
            ScriptValue::Null
            | ScriptValue::Bool(_)
            | ScriptValue::Number(_)
            | ScriptValue::Text(_)
            | ScriptValue::Map(_) => Err(self.bad(node, quoted(key), "a list")),
        }
    }

    fn whole(&self, key: &str, node: &ScriptNode, range: RangeInclusive<u64>) -> Result<u64, ScriptError> {
        whole_number(node).filter(|number| range.contains(number)).ok_or_else(|| {
            let expected = match *range.end() {
                u64::MAX => format!("a whole number from {}", range.start()),
                end => format!("a whole number from {} to {end}", range.start()),
            };
            self.bad(node, quoted(key), &expected)
        })
    }

    fn one_of<T: Copy>(&self, key: &str, node: &ScriptNode, words: &[(&str, T)]) -> Result<T, ScriptError> {
        let found = words.iter().find(|(word, _)| matches!(&node.kind, ScriptValue::Text(text) if text == word));
        found.map(|(_, value)| *value).ok_or_else(|| {
            let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            self.bad(node, quoted(key), &format!("one of {}", listed(&known)))
        })
    }

    /// Calls `take` with each entry of a map and returns how many there were.
    fn each_entry<'n>(
        &self,
        node: &'n ScriptNode,
        holder: &'static str,
        known: &'static [&'static str],
        mut take: impl FnMut(&'static str, &'n ScriptNode) -> Result<(), ScriptError>,
    ) -> Result<usize, ScriptError> {
        let ScriptValue::Map(entries) = &node.kind else {
            return Err(self.bad(node, holder.to_owned(), "a map"));
        };
        for (key, value) in entries {
            let known_key = known.iter().find(|known| **known == key.name).ok_or_else(|| ScriptError::UnknownKey {
                at: self.spot(key.line),
                holder,
                key: key.name.clone(),
                known,
            })?;
            take(known_key, value)?;
        }
        Ok(entries.len())
    }

    fn spot(&self, line: Option<u64>) -> Box<Spot> {
        Box::new(Spot { file: self.file.to_owned(), line, turn: self.turn })
    }

    fn bad(&self, node: &ScriptNode, field: String, expected: &str) -> ScriptError {
        let found = node.kind.to_string();
        ScriptError::BadValue { at: self.spot(node.line), field, expected: expected.to_owned(), found }
    }

    fn missing(&self, node: &ScriptNode, holder: &'static str, key: &'static str) -> ScriptError {
        ScriptError::Missing { at: self.spot(node.line), holder, key }
    }

    fn contradiction(&self, node: &ScriptNode, problem: &'static str) -> ScriptError {
        ScriptError::Contradiction { at: self.spot(node.line), problem }
    }
}

const STOPS: &[(&str, Stop)] = &[
    ("end_turn", Stop::EndTurn),
    ("tool_use", Stop::ToolUse),
    ("max_tokens", Stop::MaxTokens),
    ("refusal", Stop::Refusal),
];

const FAILURES: &[(&str, FailureKind)] = &[
    ("transient", FailureKind::Transient),
    ("unreadable", FailureKind::Unreadable),
    ("unreached", FailureKind::Unreached),
    ("busy", FailureKind::Busy),
    ("too_long", FailureKind::TooLong),
    ("reply_too_long", FailureKind::ReplyTooLong),
    ("rejected", FailureKind::Rejected),
    ("permanent", FailureKind::Permanent),
];

/// The longest wait that a script may ask for, in milliseconds: a day.
const AFTER_MS_MAX: u64 = 24 * 60 * 60 * 1000;

fn whole_number(node: &ScriptNode) -> Option<u64> {
    match &node.kind {
        ScriptValue::Number(number) => number.as_u64(),
        ScriptValue::Null
        | ScriptValue::Bool(_)
        | ScriptValue::Text(_)
        | ScriptValue::List(_)
        | ScriptValue::Map(_) => None,
    }
}

fn is_bare_scalar(found: &str) -> bool {
    found.starts_with('`')
}

fn quoted(key: &str) -> String {
    format!("`{key}`")
}

/// Returns the words in backquotes: "`a`, `b` or `c`".
fn listed(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| quoted(word)).collect();
    match quoted.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
        None => String::new(),
    }
}

#[cfg(test)]
#[path = "read_tests.rs"]
mod tests;
