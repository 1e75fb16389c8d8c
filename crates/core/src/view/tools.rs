//! The tool calls of a run: its own, and those that a coding CLI made within it.

use std::borrow::Cow;
use std::collections::HashMap;

use serde::Serialize;

use super::columns::table;
use super::damage;
use crate::trace::read::{Fields, Trace, TraceLine};
use crate::trace::{EventKind, PeerKind, TraceLineKind};
use crate::words::text::cut;

/// The tool calls of a run, in the order in which they were asked for; in that of their beginnings in the peer's traces.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ToolCallList {
    /// The lines that can't be read.
    pub damaged: Vec<u64>,
    /// True if the calls are from one of our journals.
    #[serde(skip)]
    pub is_ours: bool,
    /// The calls that the runtime carried out.
    pub native: Vec<NativeCall>,
    /// The calls that a coding CLI carried out by itself.
    pub bridged: Vec<BridgedCall>,
}

/// A call that an agent asked the runtime for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NativeCall {
    /// The call's number in the run, by which `explain` knows it; absent in the peer's traces, and where the reply that
    /// asked for it can't be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<u32>,
    /// What was called, in short: a command, a path, an address, or else the arguments; absent where that is not on
    /// record.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub what: Option<String>,
    /// Time of its beginning.
    pub at: Option<String>,
    /// The agent's own name for it.
    pub call_id: String,
    /// The tool.
    pub tool: String,
    /// The gate's answer; `allow` for a call that began, a dash for one that neither began nor was answered.
    pub auth: String,
    /// Its result.
    pub result: CallResult,
    /// Its duration in milliseconds; absent until it has ended.
    pub duration_ms: Option<u64>,
    /// The bytes of its result; absent until it has ended.
    pub bytes: Option<u64>,
}

/// A call that a coding CLI carried out by itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BridgedCall {
    /// Time of its beginning.
    pub at: Option<String>,
    /// The CLI's own name for it.
    pub call_id: String,
    /// The CLI.
    pub binary: String,
    /// The tool.
    pub tool: String,
    /// Its result.
    pub result: CallResult,
}

/// The result of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CallResult {
    /// It did what it was asked to.
    Ok,
    /// It failed.
    Err,
    /// Nothing is known of its end.
    Pending,
    /// It was cancelled.
    Cancelled,
    /// Its driver died while it was going on.
    Interrupted,
    /// It got its answer without being carried out.
    Rejected,
}

impl CallResult {
    const fn of(is_ok: bool) -> Self {
        if is_ok { Self::Ok } else { Self::Err }
    }

    /// Its name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Err => "err",
            Self::Pending => "pending",
            Self::Cancelled => "cancelled",
            Self::Interrupted => "interrupted",
            Self::Rejected => "rejected",
        }
    }
}

/// The tool calls in `trace`.
#[must_use]
pub fn of(trace: &Trace<'_>) -> ToolCallList {
    let mut tools =
        ToolCallList { damaged: trace.damaged.clone(), is_ours: trace.is_ours(), ..ToolCallList::default() };
    // The calls that have begun and not ended, by name. Names come back, so a name is taken out when its
    // call ends.
    let mut native = HashMap::new();
    // Our journals have what an agent asked for before it begins: the rows of its calls, by part and number in it.
    let mut asked: HashMap<(String, u64), usize> = HashMap::new();
    let mut counts: HashMap<String, u64> = HashMap::new();
    let mut bridged = HashMap::new();
    for line in &trace.lines {
        let fields = &line.fields;
        match &line.kind {
            TraceLineKind::Known(EventKind::AgentReply) => {
                let own = counts.entry(line.part.to_string()).or_default();
                for call in fields.objects("calls") {
                    *own += 1;
                    asked.insert((line.part.to_string(), *own), tools.native.len());
                    let number = u32::try_from(asked.len()).ok();
                    tools.native.push(NativeCall { call: number, what: called(&call), ..row(None, &call) });
                }
            }
            TraceLineKind::Known(EventKind::ToolCall) => {
                let index = asked.get(&(line.part.to_string(), number_of(&fields.word("slot")))).copied();
                let index = index.unwrap_or_else(|| push(&mut tools.native, line));
                native.insert(name_of(line), index);
                if let Some(call) = tools.native.get_mut(index) {
                    call.at = line.at.as_deref().map(str::to_owned);
                    call.auth = fields.word("auth_decision").into_owned();
                }
            }
            TraceLineKind::Known(EventKind::ToolResult | EventKind::ToolCancelled | EventKind::Interrupted) => {
                let Some(call) = native.remove(&name_of(line)).and_then(|index| tools.native.get_mut(index)) else {
                    continue;
                };
                call.duration_ms = fields.number("duration_ms");
                call.bytes = fields.number("bytes");
                call.result = match &line.kind {
                    TraceLineKind::Known(EventKind::ToolResult) => CallResult::of(fields.flag("success")),
                    TraceLineKind::Known(EventKind::ToolCancelled) => CallResult::Cancelled,
                    _ => CallResult::Interrupted,
                };
            }
            TraceLineKind::Known(EventKind::ToolRejected) => {
                let index = asked.get(&(line.part.to_string(), fields.count("call"))).copied();
                let index = index.unwrap_or_else(|| push(&mut tools.native, line));
                // One that began and whose driver died gets its answer too: what became of it is said already.
                if let Some(call) = tools.native.get_mut(index).filter(|call| call.result == CallResult::Pending) {
                    call.at = line.at.as_deref().map(str::to_owned);
                    call.auth = fields.word("rejection").into_owned();
                    call.result = CallResult::Rejected;
                }
            }
            TraceLineKind::Peer(PeerKind::BridgedToolCall) => {
                bridged.insert(fields.word("call_id"), tools.bridged.len());
                tools.bridged.push(BridgedCall {
                    at: line.at.as_deref().map(str::to_owned),
                    call_id: fields.word("call_id").into_owned(),
                    binary: fields.word("binary").into_owned(),
                    tool: fields.word("tool_name").into_owned(),
                    result: CallResult::Pending,
                });
            }
            TraceLineKind::Peer(PeerKind::BridgedToolResult) => {
                let index = bridged.remove(&fields.word("call_id"));
                if let Some(call) = index.and_then(|index| tools.bridged.get_mut(index)) {
                    call.result = CallResult::of(!fields.flag("is_error"));
                }
            }
            _ => {}
        }
    }
    tools
}

/// A row for a call of which nothing is known but what these fields say.
fn row(at: Option<String>, fields: &Fields<'_>) -> NativeCall {
    NativeCall {
        call: None,
        what: None,
        at,
        call_id: fields.word("call_id").into_owned(),
        tool: fields.word("name").into_owned(),
        auth: "-".to_owned(),
        result: CallResult::Pending,
        duration_ms: None,
        bytes: None,
    }
}

/// Adds a row for a call that no reply on record asked for. Returns its place.
fn push(native: &mut Vec<NativeCall>, line: &TraceLine<'_>) -> usize {
    let what = called(&line.fields).filter(|_| line.is_ours());
    native.push(NativeCall { what, ..row(line.at.as_deref().map(str::to_owned), &line.fields) });
    native.len() - 1
}

/// The number of a call in its part, by its slot: 3 for `call/3.1`.
fn number_of(slot: &str) -> u64 {
    slot.rsplit('/').next().and_then(|number| number.split('.').next()?.parse().ok()).unwrap_or(0)
}

/// Describes in short the thing that a call is about.
fn called(fields: &Fields<'_>) -> Option<String> {
    let args = fields.object("args");
    let named = ["cmd", "path", "url", "query"].into_iter().find_map(|name| args.text(name));
    let said = named.or_else(|| fields.json("args").map(Cow::Borrowed)).filter(|said| !said.is_empty());
    said.map(|said| cut(&said, CALLED_UNITS_MAX))
}

/// The longest that is shown of what was called, in UTF-16 units.
const CALLED_UNITS_MAX: usize = 60;

/// Returns the name that a call and its end have in common: the part and the slot, or else the agent's own name for it.
fn name_of(line: &TraceLine<'_>) -> (String, String) {
    let name = line.fields.text("slot").unwrap_or_else(|| line.fields.word("call_id"));
    (line.part.to_string(), name.into_owned())
}

/// Its text.
///
/// Over the peer's traces a cancelled call reads `pending`, as the peer has it; the model knows better.
#[must_use]
pub fn text(tools: &ToolCallList) -> String {
    let mut text = damage::announced(&tools.damaged);
    if tools.native.is_empty() && tools.bridged.is_empty() {
        return text + "no tool was called\n";
    }
    if !tools.native.is_empty() {
        let runtime = if tools.is_ours { "Adjutant" } else { "OpenWar" };
        text += &format!("Native tool calls ({runtime} runtime):\n\n");
        let rows: Vec<_> = tools.native.iter().map(|call| native_cells(call, tools.is_ours)).collect();
        if tools.is_ours {
            let own = |(call, [at, tool, auth, result, duration, bytes]): (&NativeCall, [String; 6])| {
                let number = call.call.map_or_else(|| "-".to_owned(), |number| number.to_string());
                [number, at, tool, auth, result, duration, bytes, call.what.clone().unwrap_or_default()]
            };
            let rows: Vec<_> = tools.native.iter().zip(rows).map(own).collect();
            text += &table(["call", "at", "tool", "auth", "result", "duration", "bytes", "what"], &rows);
        } else {
            text += &table(["at", "tool", "auth", "result", "duration", "bytes"], &rows);
        }
    }
    if !tools.bridged.is_empty() {
        if !tools.native.is_empty() {
            text.push('\n');
        }
        text += "Bridged CLI tool calls (from inside the bridged CLI's run):\n\n";
        let rows: Vec<_> = (tools.bridged.iter())
            .map(|call| [at(&call.at), call.binary.clone(), call.tool.clone(), call.result.as_str().to_owned()])
            .collect();
        text += &table(["at", "binary", "tool", "result"], &rows);
    }
    text
}

fn native_cells(call: &NativeCall, is_ours: bool) -> [String; 6] {
    let result = match call.result {
        CallResult::Cancelled if !is_ours => CallResult::Pending,
        result => result,
    };
    let measured =
        |number: Option<u64>, unit| number.map_or_else(|| "-".to_owned(), |number| format!("{number}{unit}"));
    [
        at(&call.at),
        call.tool.clone(),
        call.auth.clone(),
        result.as_str().to_owned(),
        measured(call.duration_ms, "ms"),
        measured(call.bytes, "B"),
    ]
}

fn at(at: &Option<String>) -> String {
    at.clone().unwrap_or_default()
}
