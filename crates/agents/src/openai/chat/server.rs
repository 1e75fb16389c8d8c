//! Differences between the servers that speak Chat Completions.
//!
//! In: the address of a server. Out: its row of a table. Only differences in requests are here. Differences in answers
//! are read from all servers the same way, in `stream.rs`: the forms of errors, calls without index or id, arguments
//! that are no text, thinking under two names, counts in three places, and the end, which is `[DONE]` or the end of the
//! stream behind a reason to stop. All take `system` as the name of the system's word, and nothing of ours asks for a
//! certain tool, so neither has a column. The address decides if a key is needed, not the kind of server.
//!
//! Begin with [`pick`].

use adjutant_host::http::{HostRule, Hosts, is_local};
use thiserror::Error;

use super::effort::EffortField;

/// One kind of server.
#[derive(Debug, PartialEq, Eq)]
pub struct Server {
    /// The word for it, behind a base URL.
    pub id: &'static str,
    /// Name for people.
    pub name: &'static str,
    /// Default base URL.
    pub base_url: Option<&'static str>,
    /// The hosts that are this server; what is under them, too.
    pub(super) hosts: &'static [&'static str],
    /// The port by which it is known on a private host.
    pub(super) port: Option<u16>,
    /// The field that limits a reply.
    pub(super) limit: &'static str,
    /// True if counts must be asked for, and may be.
    pub(super) asks_usage: bool,
    /// True if several calls in one turn must be asked for.
    pub(super) asks_parallel: bool,
    pub(super) silence: Silence,
    pub(super) ids: Ids,
    /// True if a message of the agent must stand between a result and a message of the operator.
    pub(super) parts_results: bool,
    pub(super) effort: EffortField,
    /// True if it passes marks for the cache on to Claude models, which cache nothing without marks.
    pub(super) passes_marks: bool,
}

/// Stand-in for the text of a turn that only has calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Silence {
    /// `null`, as the reference of OpenAI has it.
    Null,
    /// An empty text.
    Empty,
}

/// Ids of calls that a server takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ids {
    /// All.
    Any,
    /// Nine letters and digits.
    Nine,
}

/// OpenAI's reference, as its Python client has it: `max_tokens` is deprecated and refused by models that think;
/// `content` may be null beside calls.
pub(super) const OPENAI: Server = Server {
    id: "openai",
    name: "OpenAI",
    base_url: Some(super::super::BASE_URL),
    hosts: &["api.openai.com"],
    port: None,
    limit: "max_completion_tokens",
    asks_usage: true,
    asks_parallel: false,
    silence: Silence::Null,
    ids: Ids::Any,
    parts_results: false,
    effort: EffortField::OpenAi,
    passes_marks: false,
};

/// xAI's API reference; an empty text beside calls is refused by its gateways (vercel/ai, pull request 14888). Its
/// counts are read in `usage.rs`, its errors, of which the text is the error itself, in `failure/`.
pub(super) const XAI: Server = Server {
    id: "xai",
    name: "xAI",
    base_url: Some(super::super::GROK_BASE_URL),
    hosts: &["api.x.ai"],
    effort: EffortField::Xai,
    ..OPENAI
};

/// Settings for an unknown server: the names that all servers take, as the oldest know them.
const GENERIC: Server = Server {
    id: "generic",
    name: "the server",
    base_url: None,
    hosts: &[],
    port: None,
    limit: "max_tokens",
    asks_usage: true,
    asks_parallel: false,
    silence: Silence::Null,
    ids: Ids::Any,
    parts_results: false,
    effort: EffortField::Plain,
    passes_marks: false,
};

const SERVERS: &[Server] = &[
    // Ollama, docs/openai.md and openai/openai.go: `max_tokens` and no other limit, `stream_options`, no choice of
    // parallel calls. Whole calls in one chunk, before its issue 7881 all with index 0. An empty text beside calls
    // has some models write calls as text (issue 14181). A prompt over `num_ctx` is cut without a word.
    Server { id: "ollama", name: "Ollama", base_url: Some("http://127.0.0.1:11434/v1"), port: Some(11434), ..GENERIC },
    // vLLM, features/tool_calling and entrypoints/openai: tools need `--enable-auto-tool-choice`. An error in the
    // stream is `data: {"error": ...}`, before that `{"object": "error", ...}`, with a number as its code, and
    // `[DONE]` behind it. `max_tokens` is deprecated and taken by all versions.
    Server { id: "vllm", name: "vLLM", base_url: Some("http://127.0.0.1:8000/v1"), port: Some(8000), ..GENERIC },
    // llama.cpp, docs/function-calling.md: parallel calls are off unless asked for. A null beside calls was refused
    // (issue 13471). Errors were sent in a field `error:` that no reader of events sees (pull request 16109), so
    // that only a missing reason to stop tells of them.
    Server {
        id: "llama.cpp",
        name: "llama.cpp",
        base_url: Some("http://127.0.0.1:8080/v1"),
        port: Some(8080),
        asks_parallel: true,
        silence: Silence::Empty,
        effort: EffortField::Template,
        ..GENERIC
    },
    // LM Studio, its page on tool use: the address. A null beside calls was refused (bug tracker, issue 261). A
    // request that it can't serve is answered with 200 and an event `error` (bug tracker, issue 2322).
    Server {
        id: "lmstudio",
        name: "LM Studio",
        base_url: Some("http://127.0.0.1:1234/v1"),
        port: Some(1234),
        silence: Silence::Empty,
        ..GENERIC
    },
    // LiteLLM, its page on prompt caching: marks in parts of messages reach the provider; an effort is translated.
    Server {
        id: "litellm",
        name: "LiteLLM",
        base_url: Some("http://127.0.0.1:4000/v1"),
        port: Some(4000),
        passes_marks: true,
        ..GENERIC
    },
    // OpenRouter, its pages on streaming, errors and usage accounting: comments keep the connection alive, an error
    // comes as `data: {"error": ...}` with the status as a number and `error` as the reason to stop, and counts
    // come unasked; asking has no effect. Its page on prompt caching has marks in parts of text alone.
    Server {
        id: "openrouter",
        name: "OpenRouter",
        base_url: Some("https://openrouter.ai/api/v1"),
        hosts: &["openrouter.ai"],
        effort: EffortField::OpenRouter,
        passes_marks: true,
        asks_usage: false,
        ..GENERIC
    },
    // Groq, its page on compatibility and its Python client: `max_tokens` is deprecated. A call that its model wrote
    // badly is an error `tool_use_failed` in the stream (langchain4j, issue 2585). Counts also in `x_groq`.
    Server {
        id: "groq",
        name: "Groq",
        base_url: Some("https://api.groq.com/openai/v1"),
        hosts: &["api.groq.com"],
        effort: EffortField::Groq,
        limit: "max_completion_tokens",
        ..GENERIC
    },
    // Mistral refuses what it doesn't know, `stream_options` (openai-agents-python, issue 442) and
    // `max_completion_tokens` (eca, issue 231) among it; counts come unasked. An id of a call has nine letters
    // or digits, as its own have (mistral-common's validator), which also lets no user speak right behind a result.
    Server {
        id: "mistral",
        name: "Mistral",
        base_url: Some("https://api.mistral.ai/v1"),
        hosts: &["api.mistral.ai"],
        effort: EffortField::Mistral,
        asks_usage: false,
        ids: Ids::Nine,
        parts_results: true,
        ..GENERIC
    },
    OPENAI,
    XAI,
    GENERIC,
];

/// A server and where it is.
#[derive(Debug, PartialEq, Eq)]
pub struct Picked {
    /// Its kind.
    pub server: &'static Server,
    /// Its base URL.
    pub base_url: String,
}

/// There is no such kind of server.
#[derive(Debug, PartialEq, Eq, Error)]
#[error("there is no kind of server `{named}`; those that are known are {known}", known = known())]
pub struct UnknownServer {
    named: String,
}

fn known() -> String {
    SERVERS.iter().map(|server| server.id).collect::<Vec<_>>().join(", ")
}

/// Returns the server at a base URL. A fragment names its kind, as in `http://gpu:9000/v1#vllm`, and is no part of the
/// address; without one it is known by its host, or on one's own machine or network by its port.
///
/// # Errors
///
/// [`UnknownServer`] if the fragment names none.
pub fn pick(base_url: &str) -> Result<Picked, UnknownServer> {
    let (base_url, named) = match base_url.split_once('#') {
        Some((base_url, named)) => (base_url, named),
        None => (base_url, ""),
    };
    let base_url = base_url.to_owned();
    if !named.is_empty() {
        let unknown = || UnknownServer { named: named.to_owned() };
        let server = SERVERS.iter().find(|server| server.id == named).ok_or_else(unknown)?;
        return Ok(Picked { server, base_url });
    }
    let (host, port) = (host(&base_url).unwrap_or_default(), port(&base_url));
    let is_local = is_local(&base_url);
    let is_its = |server: &&Server| {
        let is_under =
            |known: &&str| host.strip_suffix(*known).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
        server.hosts.iter().any(is_under) || (server.port.is_some() && server.port == port && is_local)
    };
    Ok(Picked { server: SERVERS.iter().find(is_its).unwrap_or(&GENERIC), base_url })
}

/// Returns the host of a web address, in lower case and without brackets.
fn host(url: &str) -> Option<String> {
    let Ok(Hosts::Listed(rules)) = Hosts::only(url) else { return None };
    rules.into_iter().find_map(|rule| match rule {
        HostRule::Exact { host, .. } => Some(host),
        HostRule::Under(_) => None,
    })
}

/// Returns the port of a web address, if it names one.
fn port(url: &str) -> Option<u16> {
    let authority = url.split_once("://")?.1.split(['/', '?', '#']).next()?;
    authority.rsplit_once(':')?.1.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(named: &str, id: &str, base_url: &str) {
        let picked = pick(named).unwrap();
        assert_eq!((picked.server.id, picked.base_url.as_str()), (id, base_url), "{named}");
    }

    #[test]
    fn a_server_is_known_by_its_word_its_host_or_its_port() {
        for server in SERVERS {
            check(&format!("http://gpu:9000/v1#{}", server.id), server.id, "http://gpu:9000/v1");
            if let Some(base_url) = server.base_url {
                check(base_url, server.id, base_url);
                check(&format!("{base_url}/"), server.id, &format!("{base_url}/"));
            }
        }
        check("http://localhost:11434/v1", "ollama", "http://localhost:11434/v1");
        check("http://[::1]:8000/v1", "vllm", "http://[::1]:8000/v1");
        check("http://192.168.1.7:1234/v1", "lmstudio", "http://192.168.1.7:1234/v1");
        check("https://eu.openrouter.ai/api/v1", "openrouter", "https://eu.openrouter.ai/api/v1");
        check("http://localhost:11434/v1#generic", "generic", "http://localhost:11434/v1");
    }

    #[test]
    fn whoever_is_not_known_is_generic() {
        check("https://models.example.com:8000/v1", "generic", "https://models.example.com:8000/v1");
        check("https://notopenrouter.ai/v1", "generic", "https://notopenrouter.ai/v1");
        check("http://gpu:9000/v1#", "generic", "http://gpu:9000/v1");
        check("", "generic", "");
    }

    #[test]
    fn a_word_that_nobody_has_is_said_with_those_that_there_are() {
        let error = pick("http://localhost:11434/v1#olama").unwrap_err();
        assert!(
            error.to_string().starts_with("there is no kind of server `olama`; those that are known are ollama, vllm,")
        );
    }

    #[test]
    fn the_page_has_the_row_of_each_server() {
        let page =
            std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/openai-compat.md")).unwrap();
        for server in SERVERS {
            let known_by = match (server.port, server.hosts) {
                (Some(port), _) => format!("port {port}"),
                (None, [host, ..]) => format!("`{host}`"),
                (None, []) => "all others".to_owned(),
            };
            let base_url = server.base_url.map(|url| format!(" `{url}`")).unwrap_or_default();
            let counts = if server.asks_usage { "asked for" } else { "come unasked" };
            let parallel = if server.asks_parallel { "asked for" } else { "not asked for" };
            let silence = match server.silence {
                Silence::Null => "`null`",
                Silence::Empty => "`\"\"`",
            };
            let (id, limit) = (server.id, server.limit);
            let row =
                format!("\n| `{id}` | {known_by} |{base_url} | `{limit}` | {counts} | {parallel} | {silence} |\n");
            assert!(page.contains(&row), "docs/openai-compat.md lacks {row}");
        }
    }
}
