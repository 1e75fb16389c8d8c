//! What each event is called on one line, and what is said of it: the peer's words for the events that it
//! has, ours in the same manner for the rest.
//!
//! An event that both have says for us what it says for the peer, then what only ours know.

use std::borrow::Cow;
use std::fmt::Display;

use super::columns::{cut, short_name, units};
use crate::inbox::Message;
use crate::trace::read::{Fields, TraceLine};

/// An action of a permission on one line, in UTF-16 units (the peer's number).
const ACTION_UNITS_MAX: usize = 60;
/// An operator's note on one line, in UTF-16 units (the peer's number).
const NOTE_UNITS_MAX: usize = 40;
/// What is asked or said, on one line. Ours, and the same as for an action.
const SAID_UNITS_MAX: usize = ACTION_UNITS_MAX;

/// What an event is called, and what is said of it.
///
/// The detail is as it was recorded: whoever prints it makes it visible first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Labelled {
    /// Its label, of at most 13 characters.
    pub label: &'static str,
    /// The detail; may be empty.
    pub detail: String,
}

/// What the event on `line` is called. One of a type that is not known is an `unknown_event`.
#[must_use]
pub fn labelled(line: &TraceLine<'_>) -> Labelled {
    let is_ours = line.is_ours();
    let known = match peers(line) {
        Some(said) if is_ours => Some(with_ours(line, said)),
        Some(said) => Some(said),
        None => ours(line),
    };
    let unknown = || ("unknown_event", if is_ours { line.kind.to_string() } else { String::new() });
    let (label, detail) = known.unwrap_or_else(unknown);
    Labelled { label, detail }
}

type Said = (&'static str, String);

/// The events that the peer has, in its words.
#[expect(clippy::too_many_lines, reason = "a flat table, one row per type of event")]
fn peers(line: &TraceLine<'_>) -> Option<Said> {
    let f = &line.fields;
    let w = |name: &str| f.word(name);
    let n = |name: &str| f.count(name);
    Some(match line.kind.as_ref() {
        "trace_version" => {
            let program = match (f.text("adjutant_version"), f.text("openwar_version")) {
                (Some(version), _) => format!("adjutant={version}"),
                (None, version) => format!("openwar={}", version.unwrap_or(Cow::Borrowed("-"))),
            };
            ("trace_version", format!("{}  {program}  brief={}", n("version"), w("brief_id")))
        }
        "phase_enter" => ("phase_enter", w("phase").into_owned()),
        "phase_exit" => ("phase_exit", format!("{}  ({}ms)", w("phase"), n("duration_ms"))),
        "detector_fired" => ("detector", w("detector").into_owned()),
        "tool_call" => ("tool_call", format!("{}  ({})", w("name"), w("auth_decision"))),
        "tool_result" => {
            let (call, word) = (w("call_id"), ok(f.flag("success")));
            ("tool_result", format!("call={call}  {word}  {}ms  {}B", n("duration_ms"), n("bytes")))
        }
        "tool_cancelled" => {
            let (tool, call, source) = (w("tool_name"), w("call_id"), w("cancellation_source"));
            let bytes = bytes(line, "partial_output");
            ("tool_cancel", format!("{tool}  call={call}  source={source}  partial_bytes={bytes}"))
        }
        "auth_check_fired" => {
            // Ours asks where the peer denies; its word is the better one to read.
            let decision = f.text("answer").unwrap_or_else(|| w("decision"));
            ("auth_check", format!("{}/{}  {decision}  ({})", w("layer"), w("tool"), w("reason")))
        }
        "auth_prompt" => ("auth_prompt", format!("[{}]  response={}", f.texts("categories").join(","), w("response"))),
        "role_invoke" => {
            let (role, source) = (w("role"), w("tokens_source"));
            ("role_invoke", format!("{role}  in={} out={} ({source})", n("tokens_in"), n("tokens_out")))
        }
        "budget_warn" | "budget_halt" => {
            let label = if line.kind == "budget_warn" { "budget_warn" } else { "budget_halt" };
            let role = f.text("role").map(|role| format!("  role={role}")).unwrap_or_default();
            let phase = f.text("phase").map(|phase| format!("  phase={phase}")).unwrap_or_default();
            let learned = f.text("learned").map(|slug| format!("  learned={slug}")).unwrap_or_default();
            (label, format!("{}={}/{}{role}{phase}{learned}", w("metric"), n("used"), n("limit")))
        }
        "subtask_status" => ("subtask", format!("{}  {}", w("subtask_id"), w("status"))),
        "coordinator_state" => ("coord_state", joined(&[&w("state"), &short_name(&w("subtask")), &w("reason")])),
        "mcp_server_started" => ("mcp_start", format!("transport={}  tools={}", w("transport"), n("tool_count"))),
        "mcp_server_shutdown" => ("mcp_stop", format!("reason={}", w("reason"))),
        "mcp_call_dispatched" => ("mcp_dispatch", format!("{}  call={}", w("tool"), w("call_id"))),
        "mcp_call_pending" => ("mcp_pending", format!("{}  elapsed={}ms", w("tool"), n("elapsed_ms"))),
        "mcp_call_completed" => {
            ("mcp_done", format!("{}  {}  {}ms", w("tool"), ok(f.flag("success")), n("duration_ms")))
        }
        "settings_merge_attempted" => ("settings_try", format!("{}  path={}", w("binary"), w("settings_path"))),
        "settings_merge_outcome" => ("settings_end", joined(&[&w("outcome"), &w("details")])),
        "learned_profile_applied" => {
            let applied = f.object("applied");
            let counts = format!(
                "detectors={} budgets={} dead={}",
                applied.count("detectors"),
                applied.count("phase_budgets"),
                applied.count("tool_callouts")
            );
            ("learn_apply", format!("slug={}  schema={}  {counts}", w("slug"), n("schema_version")))
        }
        "learned_sensitivity_consulted" => {
            ("learn_sens", format!("{}={}  fired={}", w("detector"), w("sensitivity"), f.flag("fired")))
        }
        "learned_budget_consulted" => {
            let (phase, source) = (w("phase"), w("source"));
            ("learn_budg", format!("{phase}  recommended={} active={} ({source})", n("recommended"), n("active")))
        }
        "chat_session_compiled" => ("chat_compile", format!("chat={}  brief={}", w("chat_id"), w("brief_id"))),
        "chat_session_resumed" => ("chat_resume", format!("chat={}", w("chat_id"))),
        "chat_brief_saved" => ("chat_saved", format!("chat={}  path={}", w("chat_id"), w("path"))),
        "grants_loaded" => ("grants", format!("{} kept by the project", f.objects("grants").len())),
        "permission_requested" => {
            let category = f.text("category").unwrap_or(Cow::Borrowed("-"));
            let (grant, scope, action) = (w("grant_id"), w("scope_requested"), cut(&w("action"), ACTION_UNITS_MAX));
            ("perm_req", format!("grant={grant}  scope={scope}  cat={category}  action={action}"))
        }
        "permission_granted" => {
            ("perm_grant", format!("grant={}  scope={}{}", w("grant_id"), w("scope_granted"), note(f)))
        }
        "permission_denied" => ("perm_deny", format!("grant={}{}", w("grant_id"), note(f))),
        "permission_grant_consumed" => {
            ("perm_use", format!("grant={}  by_call={}", w("grant_id"), w("consuming_tool_call_id")))
        }
        "permission_revoked" => ("perm_revoke", format!("grant={}", w("grant_id"))),
        "bridged_tool_call" => ("br_tool_call", format!("{}::{}  call={}", w("binary"), w("tool_name"), w("call_id"))),
        "bridged_tool_result" => {
            ("br_tool_res", format!("{}  call={}  {}", w("binary"), w("call_id"), ok(!f.flag("is_error"))))
        }
        "bridged_thinking_delta" => ("br_thinking", format!("{}  bytes={}", w("binary"), bytes(line, "delta"))),
        "bridged_usage" => {
            let (input, output) = (n("input_tokens"), n("output_tokens"));
            let (read, written) = (n("cache_read_tokens"), n("cache_write_tokens"));
            ("br_usage", format!("{}  in={input} out={output} cache_r={read} cache_w={written}", w("binary")))
        }
        "proxy_request" => {
            let (request, client, model) = (w("request_id"), w("client_addr"), w("model"));
            let instead = f.text("model_substituted_from").map(|model| format!("subbed_from={model}"));
            let detail = format!("req={request}  {client}  model={model}  stream={}", f.flag("stream"));
            let tools = format!("tools={}", n("tool_count"));
            ("proxy_req", joined(&[&detail, &tools, &instead.unwrap_or_default()]))
        }
        "proxy_response" => {
            let detail = format!("req={}  {}  {}ms", w("request_id"), n("status_code"), n("duration_ms"));
            let bytes = format!("bytes={}", n("bytes_written"));
            ("proxy_res", joined(&[&detail, &bytes, if f.flag("cancelled") { "cancelled" } else { "" }]))
        }
        "hook_call" => ("hook_call", format!("{}  call={}", w("hook"), n("call"))),
        "hook_result" => {
            let detail = format!("{}  {}ms", w("decision"), n("duration_ms"));
            let fault = f.text("fault").map(|fault| format!("fault={fault}")).unwrap_or_default();
            ("hook_result", joined(&[&detail, &fault, &w("reason")]))
        }
        "error" => ("ERROR", format!("phase={}  {}", w("phase"), w("error"))),
        _ => return None,
    })
}

/// What only our journals know of an event that the peer has too.
fn with_ours(line: &TraceLine<'_>, (label, said): Said) -> Said {
    let f = &line.fields;
    let tagged = |name: &str| f.number(name).map(|number| format!("{name}={number}")).unwrap_or_default();
    let reason = || f.text("reason").map(|reason| format!("({reason})")).unwrap_or_default();
    let detail = match line.kind.as_ref() {
        "phase_enter" => joined(&[&said, &reason()]),
        "phase_exit" => {
            let to = f.text("to").map(|to| format!("-> {to}")).unwrap_or_default();
            joined(&[&said, &to, &reason()])
        }
        "detector_fired" => joined(&[&said, &tagged("turn")]),
        "learned_sensitivity_consulted" => {
            joined(&[&said, if f.flag("bypassed") { "bypassed" } else { "" }, &tagged("turn")])
        }
        "auth_check_fired" => {
            let would_allow = f.text("would_allow").map(|way| format!("would_allow={way}")).unwrap_or_default();
            joined(&[&said, &tagged("call"), &would_allow])
        }
        "auth_prompt" => {
            let calls: Vec<String> = f.numbers("calls").iter().map(u64::to_string).collect();
            let calls = if calls.is_empty() { String::new() } else { format!("calls={}", calls.join(",")) };
            let acts = f.texts("acts").join(",");
            let acts = if acts.is_empty() { String::new() } else { format!("acts={acts}") };
            joined(&[&said, &calls, &acts])
        }
        "tool_call" => joined(&[&said, &f.word("slot"), &format!("call={}", f.word("call_id"))]),
        "tool_result" => {
            let settled = if f.flag("settled") { "settled" } else { "" };
            joined(&[&said, &f.word("slot"), &f.word("code"), settled])
        }
        "tool_cancelled" => joined(&[&said, &f.word("slot")]),
        _ => said,
    };
    (label, detail)
}

/// The events that only our journals have.
fn ours(line: &TraceLine<'_>) -> Option<Said> {
    let f = &line.fields;
    let w = |name: &str| f.word(name);
    let n = |name: &str| f.count(name);
    Some(match line.kind.as_ref() {
        "run_start" => {
            let options = f.object("options");
            let model = options.text("model").map(|model| format!("model={model}")).unwrap_or_default();
            let (run, brief, project) = (w("run_id"), w("brief_id"), w("project"));
            let detail = format!("run={run}  brief={brief}  project={project}");
            ("run_start", joined(&[&detail, &format!("adapter={}", options.word("adapter")), &model]))
        }
        "run_resume" => {
            let accepted: Vec<String> = f.numbers("accepted_damage").iter().map(u64::to_string).collect();
            let accepted =
                if accepted.is_empty() { String::new() } else { format!("accepted_damage={}", accepted.join(",")) };
            ("run_resume", accepted)
        }
        "rescue_made" => {
            let left_out = f.number("left_out").map(|count| format!("left_out={count}")).unwrap_or_default();
            let detail = format!("{}  {}  files={} {}B", w("slot"), w("kind"), n("files"), n("bytes"));
            ("rescue", joined(&[&detail, &w("rescue"), &left_out, &w("error")]))
        }
        "run_end" => ("run_end", w("outcome").into_owned()),
        "tree_look" => ("tree_look", format!("{}  {}", w("slot"), w("look"))),
        "tree_seen" => {
            let more = f.number("more").map(|count| format!("more={count}")).unwrap_or_default();
            let detail = format!("{}  {}  {}ms", w("slot"), w("look"), n("duration_ms"));
            let outside = format!("outside=[{}]", cut(&f.texts("outside").join(","), SAID_UNITS_MAX));
            ("tree_seen", joined(&[&detail, &outside, &more, &w("error")]))
        }
        "part_start" => ("part_start", w("kind").into_owned()),
        "part_end" => ("part_end", w("outcome").into_owned()),
        "mode_set" => ("mode_set", w("mode").into_owned()),
        "message" => {
            let (role, kind, step) = (w("role"), w("kind"), n("step"));
            ("message", format!("{role}/{kind}  step={step}  {}B", bytes(line, "text")))
        }
        "agent_request" => {
            let numbers = f.numbers("messages");
            let (first, last) = (numbers.first().unwrap_or(&0), numbers.last().unwrap_or(&0));
            let agent = f.number("agent").map(|agent| format!("agent={agent}")).unwrap_or_default();
            let input = f.number("input_tokens").map(|tokens| format!("in~{tokens}")).unwrap_or_default();
            let detail = format!("{}  messages={first}-{last}  tools={}", w("slot"), n("tools"));
            ("agent_req", joined(&[&detail, &agent, &input]))
        }
        "agent_reply" => {
            let usage = f.object("usage");
            let tokens =
                |name: &str, word: &str| usage.number(name).map(|count| format!("{word}={count}")).unwrap_or_default();
            let calls = f.objects("calls").len();
            let (slot, stop, text) = (w("slot"), w("stop"), bytes(line, "text"));
            let detail = format!("{slot}  {stop}  {}ms  {text}B  calls={calls}", n("duration_ms"));
            ("agent_reply", joined(&[&detail, &tokens("input_tokens", "in"), &tokens("output_tokens", "out")]))
        }
        "agent_failed" => {
            let after = f.number("retry_after_ms").map(|wait| format!("retry_after={wait}ms")).unwrap_or_default();
            let most = f.number("output_max").map(|most| format!("output_max={most}")).unwrap_or_default();
            ("agent_fail", joined(&[&w("slot"), &w("kind"), &after, &most, &w("message")]))
        }
        "agent_changed" => ("agent_change", format!("{}  {}  ({})", n("agent"), w("name"), w("reason"))),
        "context_folded" => {
            let folded = f.numbers("messages").len();
            ("ctx_fold", format!("results={folded}  tokens={}->{}", n("before"), n("after")))
        }
        "context_cut" => ("ctx_cut", format!("from={}  tokens={}->{}", n("first"), n("before"), n("after"))),
        "turn_read" => ("turn_read", format!("turn={}  fired=[{}]", n("turn"), f.texts("fired").join(","))),
        "phase_drift" => {
            ("phase_drift", format!("turn={}  declared={}  phase={}", n("turn"), w("declared"), w("phase")))
        }
        "question" => {
            let question = f.object("question");
            let text = cut(&question.word("text"), SAID_UNITS_MAX);
            ("question", format!("{}  {}  {text}", w("slot"), question.word("kind")))
        }
        "answer" => {
            let detail = format!("{}  {}  by={}  from={}", w("slot"), w("choice"), w("by"), w("whence"));
            let said = f.text("text").map(|text| format!("\"{}\"", cut(&text, NOTE_UNITS_MAX)));
            ("answer", joined(&[&detail, &said.unwrap_or_default()]))
        }
        "expired" => ("expired", w("slot").into_owned()),
        "withdrawn" => ("withdrawn", w("slot").into_owned()),
        "answer_ignored" => ("ans_ignored", format!("{}  id={}", w("slot"), w("id"))),
        "tool_rejected" => {
            let (name, call, rejection) = (w("name"), w("call_id"), w("rejection"));
            ("tool_reject", format!("{name}  {rejection}  call/{}  call={call}", n("call")))
        }
        "interrupted" => ("interrupted", format!("{}  effect={}", w("slot"), w("effect"))),
        "timer" => ("timer", format!("{}  length={}ms", w("slot"), n("length_ms"))),
        "operator_message" => {
            let message = f.json("message").and_then(|json| serde_json::from_str::<Message>(json).ok());
            let said = message.map_or_else(String::new, |message| message.said());
            ("operator", joined(&[&said, &format!("by={}", w("by"))]))
        }
        "scope_warning" => {
            ("scope_warn", format!("{}  {}  word={}", short_name(&w("subtask")), w("category"), w("word")))
        }
        "handoff_read" => ("handoff", joined(&[&w("expected"), &f.texts("faults").join("; ")])),
        "memory_inherited" => {
            let (records, found) = (f.objects("records").len(), f.objects("contradictions").len());
            let detail = format!("{}  entries={records}  left_out={}", w("project"), n("left_out"));
            ("memory", format!("{detail}  contradictions={found}"))
        }
        "deadline_passed" => ("deadline", w("deadline").into_owned()),
        "folder_changed" => {
            let more = f.number("more").map(|count| format!("more={count}")).unwrap_or_default();
            let head = match (f.text("head_before"), f.text("head_now")) {
                (None, None) => String::new(),
                (before, now) => format!("{} -> {}", before.unwrap_or_default(), now.unwrap_or_default()),
            };
            let paths = format!("changed=[{}]", cut(&f.texts("paths").join(","), SAID_UNITS_MAX));
            ("changed", joined(&[&head, &paths, &more]))
        }
        "sandbox_report" => {
            let listed = |name: &str| f.texts(name).join(",");
            let detail = format!("{}  held=[{}]  missing=[{}]", w("mode"), listed("held"), listed("missing"));
            ("sandbox", format!("{detail}  layers=[{}]", listed("layers")))
        }
        "warning" => ("warning", w("text").into_owned()),
        _ => return None,
    })
}

const fn ok(is_ok: bool) -> &'static str {
    if is_ok { "ok" } else { "err" }
}

fn note(fields: &Fields<'_>) -> String {
    let note = fields.word("operator_note");
    if note.is_empty() { String::new() } else { format!("  note=\"{}\"", cut(&note, NOTE_UNITS_MAX)) }
}

/// The length of a text: in bytes for us; the peer says bytes and counts UTF-16 units.
fn bytes(line: &TraceLine<'_>, name: &str) -> impl Display {
    let text = line.fields.word(name);
    if line.is_ours() { text.len() } else { units(&text) }
}

/// What is not empty, with two spaces between.
fn joined(said: &[&str]) -> String {
    let said: Vec<&str> = said.iter().copied().filter(|said| !said.is_empty()).collect();
    said.join("  ")
}
