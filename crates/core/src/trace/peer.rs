//! The events that only OpenWar's traces have, by their names there, and what is said of each.
//!
//! Events that both programs record are described with our own, in the families.

use super::event::named_types;
use super::spec::{Spec, Weight, flag, joined, number, ok, plain, text};

named_types! {
    /// The type of an event that only OpenWar records.
    PeerKind {
        RoleInvoke => "role_invoke" in ROLE_INVOKE,
        SubtaskStatus => "subtask_status" in SUBTASK_STATUS,
        McpServerStarted => "mcp_server_started" in MCP_SERVER_STARTED,
        McpServerShutdown => "mcp_server_shutdown" in MCP_SERVER_SHUTDOWN,
        McpCallDispatched => "mcp_call_dispatched" in MCP_CALL_DISPATCHED,
        McpCallCompleted => "mcp_call_completed" in MCP_CALL_COMPLETED,
        McpCallPending => "mcp_call_pending" in MCP_CALL_PENDING,
        SettingsMergeAttempted => "settings_merge_attempted" in SETTINGS_MERGE_ATTEMPTED,
        SettingsMergeOutcome => "settings_merge_outcome" in SETTINGS_MERGE_OUTCOME,
        ChatSessionCompiled => "chat_session_compiled" in CHAT_SESSION_COMPILED,
        ChatSessionResumed => "chat_session_resumed" in CHAT_SESSION_RESUMED,
        ChatBriefSaved => "chat_brief_saved" in CHAT_BRIEF_SAVED,
        BridgedToolCall => "bridged_tool_call" in BRIDGED_TOOL_CALL,
        BridgedToolResult => "bridged_tool_result" in BRIDGED_TOOL_RESULT,
        BridgedThinkingDelta => "bridged_thinking_delta" in BRIDGED_THINKING_DELTA,
        BridgedUsage => "bridged_usage" in BRIDGED_USAGE,
        ProxyRequest => "proxy_request" in PROXY_REQUEST,
        ProxyResponse => "proxy_response" in PROXY_RESPONSE,
    }
}

impl PeerKind {
    /// True if the event is about bridged tools, or about the set-up that lets a coding CLI reach them.
    #[must_use]
    pub const fn is_of_mcp(self) -> bool {
        matches!(
            self,
            Self::McpServerStarted
                | Self::McpServerShutdown
                | Self::McpCallDispatched
                | Self::McpCallCompleted
                | Self::McpCallPending
                | Self::SettingsMergeAttempted
                | Self::SettingsMergeOutcome
        )
    }
}

static ROLE_INVOKE: Spec = Spec {
    label: "role_invoke",
    weight: Weight::Main,
    tone: plain,
    fields: &[
        text("role").undecided(),
        number("tokens_in").undecided(),
        number("tokens_out").undecided(),
        text("tokens_source").undecided(),
        number("duration_ms").undecided(),
    ],
    detail: |line| {
        let (role, source) = (line.word("role"), line.word("tokens_source"));
        format!("{role}  in={} out={} ({source})", line.count("tokens_in"), line.count("tokens_out"))
    },
};

static SUBTASK_STATUS: Spec = Spec {
    label: "subtask",
    weight: Weight::Main,
    tone: plain,
    fields: &[text("subtask_id").undecided(), text("status").undecided()],
    detail: |line| format!("{}  {}", line.word("subtask_id"), line.word("status")),
};

static MCP_SERVER_STARTED: Spec = Spec {
    label: "mcp_start",
    weight: Weight::Detail,
    tone: plain,
    fields: &[text("transport").undecided(), number("tool_count").undecided()],
    detail: |line| format!("transport={}  tools={}", line.word("transport"), line.count("tool_count")),
};

static MCP_SERVER_SHUTDOWN: Spec = Spec {
    label: "mcp_stop",
    weight: Weight::Detail,
    tone: plain,
    fields: &[text("reason").undecided()],
    detail: |line| format!("reason={}", line.word("reason")),
};

static MCP_CALL_DISPATCHED: Spec = Spec {
    label: "mcp_dispatch",
    weight: Weight::Detail,
    tone: plain,
    fields: &[text("call_id").undecided(), text("tool").undecided()],
    detail: |line| format!("{}  call={}", line.word("tool"), line.word("call_id")),
};

static MCP_CALL_COMPLETED: Spec = Spec {
    label: "mcp_done",
    weight: Weight::Detail,
    tone: plain,
    fields: &[
        text("call_id").undecided(),
        text("tool").undecided(),
        number("duration_ms").undecided(),
        flag("success").undecided(),
    ],
    detail: |line| format!("{}  {}  {}ms", line.word("tool"), ok(line.flag("success")), line.count("duration_ms")),
};

static MCP_CALL_PENDING: Spec = Spec {
    label: "mcp_pending",
    weight: Weight::Detail,
    tone: plain,
    fields: &[text("call_id").undecided(), text("tool").undecided(), number("elapsed_ms").undecided()],
    detail: |line| format!("{}  elapsed={}ms", line.word("tool"), line.count("elapsed_ms")),
};

static SETTINGS_MERGE_ATTEMPTED: Spec = Spec {
    label: "settings_try",
    weight: Weight::Detail,
    tone: plain,
    fields: &[text("binary").undecided(), text("settings_path").undecided()],
    detail: |line| format!("{}  path={}", line.word("binary"), line.word("settings_path")),
};

static SETTINGS_MERGE_OUTCOME: Spec = Spec {
    label: "settings_end",
    weight: Weight::Detail,
    tone: plain,
    fields: &[text("outcome").undecided(), text("details").or_absent().undecided()],
    detail: |line| joined(&[&line.word("outcome"), &line.word("details")]),
};

static CHAT_SESSION_COMPILED: Spec = Spec {
    label: "chat_compile",
    weight: Weight::Detail,
    tone: plain,
    fields: &[text("chat_id").undecided(), text("brief_id").undecided()],
    detail: |line| format!("chat={}  brief={}", line.word("chat_id"), line.word("brief_id")),
};

static CHAT_SESSION_RESUMED: Spec = Spec {
    label: "chat_resume",
    weight: Weight::Detail,
    tone: plain,
    fields: &[text("chat_id").undecided()],
    detail: |line| format!("chat={}", line.word("chat_id")),
};

static CHAT_BRIEF_SAVED: Spec = Spec {
    label: "chat_saved",
    weight: Weight::Detail,
    tone: plain,
    fields: &[text("chat_id").undecided(), text("path").undecided()],
    detail: |line| format!("chat={}  path={}", line.word("chat_id"), line.word("path")),
};

static BRIDGED_TOOL_CALL: Spec = Spec {
    label: "br_tool_call",
    weight: Weight::Detail,
    tone: plain,
    fields: &[text("call_id").undecided(), text("tool_name").undecided(), text("binary").undecided()],
    detail: |line| format!("{}::{}  call={}", line.word("binary"), line.word("tool_name"), line.word("call_id")),
};

static BRIDGED_TOOL_RESULT: Spec = Spec {
    label: "br_tool_res",
    weight: Weight::Detail,
    tone: plain,
    fields: &[text("call_id").undecided(), flag("is_error").undecided(), text("binary").undecided()],
    detail: |line| format!("{}  call={}  {}", line.word("binary"), line.word("call_id"), ok(!line.flag("is_error"))),
};

static BRIDGED_THINKING_DELTA: Spec = Spec {
    label: "br_thinking",
    weight: Weight::Detail,
    tone: plain,
    fields: &[text("delta").undecided(), text("binary").undecided()],
    detail: |line| format!("{}  bytes={}", line.word("binary"), line.bytes("delta")),
};

static BRIDGED_USAGE: Spec = Spec {
    label: "br_usage",
    weight: Weight::Detail,
    tone: plain,
    fields: &[
        text("binary").undecided(),
        number("input_tokens").or_absent().undecided(),
        number("output_tokens").or_absent().undecided(),
        number("cache_read_tokens").or_absent().undecided(),
        number("cache_write_tokens").or_absent().undecided(),
    ],
    detail: |line| {
        let (input, output) = (line.count("input_tokens"), line.count("output_tokens"));
        let (read, written) = (line.count("cache_read_tokens"), line.count("cache_write_tokens"));
        format!("{}  in={input} out={output} cache_r={read} cache_w={written}", line.word("binary"))
    },
};

static PROXY_REQUEST: Spec = Spec {
    label: "proxy_req",
    weight: Weight::Detail,
    tone: plain,
    fields: &[
        text("request_id").undecided(),
        text("client_addr").undecided(),
        text("model").undecided(),
        flag("stream").undecided(),
        number("tool_count").undecided(),
        text("model_substituted_from").or_absent().undecided(),
    ],
    detail: |line| {
        let (request, client, model) = (line.word("request_id"), line.word("client_addr"), line.word("model"));
        let instead = line.text("model_substituted_from").map(|model| format!("subbed_from={model}"));
        let detail = format!("req={request}  {client}  model={model}  stream={}", line.flag("stream"));
        let tools = format!("tools={}", line.count("tool_count"));
        joined(&[&detail, &tools, &instead.unwrap_or_default()])
    },
};

static PROXY_RESPONSE: Spec = Spec {
    label: "proxy_res",
    weight: Weight::Detail,
    tone: plain,
    fields: &[
        text("request_id").undecided(),
        number("status_code").undecided(),
        number("duration_ms").undecided(),
        number("bytes_written").undecided(),
        flag("cancelled").undecided(),
    ],
    detail: |line| {
        let detail =
            format!("req={}  {}  {}ms", line.word("request_id"), line.count("status_code"), line.count("duration_ms"));
        let bytes = format!("bytes={}", line.count("bytes_written"));
        joined(&[&detail, &bytes, if line.flag("cancelled") { "cancelled" } else { "" }])
    },
};
