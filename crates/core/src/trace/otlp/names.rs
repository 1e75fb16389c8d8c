//! Every name that a convention gave. Those for generative AI are still called unstable by their makers: which ones
//! these are is said with each trace, and a change is made here.

/// The conventions that the names are from, as the resource says.
pub(super) const SCHEMA_URL: &str = "https://opentelemetry.io/schemas/1.42.0";

pub(super) const SERVICE_NAME: &str = "service.name";
pub(super) const SERVICE_VERSION: &str = "service.version";

pub(super) const OPERATION: &str = "gen_ai.operation.name";
pub(super) const PROVIDER: &str = "gen_ai.provider.name";
pub(super) const REQUEST_MODEL: &str = "gen_ai.request.model";
pub(super) const REQUEST_MAX_TOKENS: &str = "gen_ai.request.max_tokens";
pub(super) const CONVERSATION_ID: &str = "gen_ai.conversation.id";
pub(super) const AGENT_NAME: &str = "gen_ai.agent.name";
pub(super) const TOOL_NAME: &str = "gen_ai.tool.name";
pub(super) const TOOL_TYPE: &str = "gen_ai.tool.type";
pub(super) const TOOL_CALL_ID: &str = "gen_ai.tool.call.id";
pub(super) const INPUT_TOKENS: &str = "gen_ai.usage.input_tokens";
pub(super) const OUTPUT_TOKENS: &str = "gen_ai.usage.output_tokens";
pub(super) const CACHE_READ_TOKENS: &str = "gen_ai.usage.cache_read.input_tokens";
pub(super) const CACHE_WRITE_TOKENS: &str = "gen_ai.usage.cache_creation.input_tokens";
pub(super) const FINISH_REASONS: &str = "gen_ai.response.finish_reasons";
pub(super) const ERROR_TYPE: &str = "error.type";

// With content only.
pub(super) const SYSTEM_INSTRUCTIONS: &str = "gen_ai.system_instructions";
pub(super) const INPUT_MESSAGES: &str = "gen_ai.input.messages";
pub(super) const OUTPUT_MESSAGES: &str = "gen_ai.output.messages";
pub(super) const TOOL_ARGUMENTS: &str = "gen_ai.tool.call.arguments";
pub(super) const TOOL_RESULT: &str = "gen_ai.tool.call.result";

/// The values of [`OPERATION`].
pub(super) const INVOKE_AGENT: &str = "invoke_agent";
pub(super) const CHAT: &str = "chat";
pub(super) const EXECUTE_TOOL: &str = "execute_tool";

/// The value of [`PROVIDER`] for one of our adapters: the convention's own word, where it has one.
pub(super) fn provider(adapter: &str) -> &str {
    match adapter {
        "openai" | "openai-chat" | "openai-compat" => "openai",
        "gemini" => "gcp.gemini",
        "grok" => "x_ai",
        other => other,
    }
}
