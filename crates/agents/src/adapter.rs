//! Adapters by name, and the agent behind each that speaks to a model API.

use crate::api::vertex::{self, PublisherBase};
use crate::api::{ApiAgent, Settings, Unusable};
use crate::openai::{self, Chat, Responses};
use crate::{anthropic, gemini, recorded};

/// One kind of agent that can be spoken to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Adapter {
    /// The word for it in a brief, such as `scripted`.
    pub id: &'static str,
    /// Name for people.
    pub name: &'static str,
    /// Description, in one line.
    pub about: &'static str,
    /// The variables of the environment that its key comes from, the first that is set; none if it needs no key.
    pub key_variables: &'static [&'static str],
    /// The variable of the environment that its base URL comes from, if it speaks to an API.
    pub base_url_variable: Option<&'static str>,
    /// Default URL of its API.
    pub base_url: Option<&'static str>,
    /// The model if none is named; `None` where there is none to fall back on.
    pub model: Option<&'static str>,
    /// True if its turns cost money.
    pub is_paid: bool,
}

/// Returns the adapters of this build, in the order they are shown. An adapter that is not built is not listed.
#[must_use]
pub fn adapters() -> Vec<Adapter> {
    vec![
        Adapter {
            id: crate::scripted::ADAPTER_ID,
            name: "Scripted agent",
            about: "plays the turns of a script file; no model, no key, no cost",
            key_variables: &[],
            base_url_variable: None,
            base_url: None,
            model: None,
            is_paid: false,
        },
        Adapter {
            id: recorded::ADAPTER_ID,
            name: "Recording",
            about: "plays back what was recorded with --record; no model, no key, no cost",
            key_variables: &[],
            base_url_variable: None,
            base_url: None,
            model: None,
            is_paid: false,
        },
        Adapter {
            id: anthropic::ADAPTER_ID,
            name: "Anthropic",
            about: "models of Anthropic over the Messages API; every turn is charged to the key",
            key_variables: &[anthropic::KEY_VARIABLE],
            base_url_variable: Some(anthropic::BASE_URL_VARIABLE),
            base_url: Some(anthropic::BASE_URL),
            model: Some(anthropic::MODEL_DEFAULT),
            is_paid: true,
        },
        Adapter {
            id: openai::ADAPTER_ID,
            name: "OpenAI",
            about: "models of OpenAI over the Responses API; every turn is charged to the key",
            key_variables: &[openai::KEY_VARIABLE],
            base_url_variable: Some(openai::BASE_URL_VARIABLE),
            base_url: Some(openai::BASE_URL),
            model: Some(openai::MODEL_DEFAULT),
            is_paid: true,
        },
        Adapter {
            id: openai::CHAT_ADAPTER_ID,
            name: "OpenAI, Chat Completions",
            about: "models of OpenAI over the older API; every turn is charged to the key",
            key_variables: &[openai::KEY_VARIABLE],
            base_url_variable: Some(openai::BASE_URL_VARIABLE),
            base_url: Some(openai::BASE_URL),
            // The present default takes no tools over this API unless it is kept from thinking.
            model: None,
            is_paid: true,
        },
        Adapter {
            id: openai::COMPAT_ADAPTER_ID,
            name: "OpenAI-compatible",
            about: "any server that speaks Chat Completions, such as Ollama, vLLM, llama.cpp, OpenRouter or Groq",
            key_variables: &[openai::COMPAT_KEY_VARIABLE],
            base_url_variable: Some(openai::COMPAT_BASE_URL_VARIABLE),
            base_url: None,
            model: None,
            is_paid: true,
        },
        Adapter {
            id: openai::GROK_ADAPTER_ID,
            name: "Grok",
            about: "models of xAI over Chat Completions; every turn is charged to the key",
            key_variables: &[openai::GROK_KEY_VARIABLE],
            base_url_variable: Some(openai::GROK_BASE_URL_VARIABLE),
            base_url: Some(openai::GROK_BASE_URL),
            model: Some(openai::GROK_MODEL_DEFAULT),
            is_paid: true,
        },
        Adapter {
            id: gemini::ADAPTER_ID,
            name: "Gemini",
            about: "models of Google over the Gemini API; every turn is charged to the key",
            key_variables: &gemini::KEY_VARIABLES,
            base_url_variable: Some(gemini::BASE_URL_VARIABLE),
            base_url: Some(gemini::BASE_URL),
            model: Some(gemini::MODEL_DEFAULT),
            is_paid: true,
        },
    ]
}

/// Returns the agent of the adapter `id`, if that speaks to a model API. Nothing is sent yet.
///
/// # Errors
///
/// [`Unusable`] if the base URL is no web address or names no known kind of server, or the system's certificates can't
/// be used.
pub fn api_agent(id: &str, settings: Settings) -> Result<Option<ApiAgent>, Unusable> {
    match id {
        anthropic::ADAPTER_ID => match vertex::place(&settings.base_url, vertex::ANTHROPIC) {
            Some(PublisherBase { base_url, .. }) => {
                ApiAgent::new(anthropic::VertexMessages, Settings { base_url, ..settings }).map(Some)
            }
            None => ApiAgent::new(anthropic::Messages, settings).map(Some),
        },
        openai::ADAPTER_ID => ApiAgent::new(Responses, settings).map(Some),
        openai::CHAT_ADAPTER_ID => ApiAgent::new(Chat::openai(), settings).map(Some),
        openai::GROK_ADAPTER_ID => ApiAgent::new(Chat::grok(), settings).map(Some),
        openai::COMPAT_ADAPTER_ID => {
            let picked = openai::pick(&settings.base_url)
                .map_err(|unknown| Unusable::new(&settings.base_url, unknown.to_string(), "change what follows `#`"))?;
            ApiAgent::new(Chat::compat(picked.server), Settings { base_url: picked.base_url, ..settings }).map(Some)
        }
        gemini::ADAPTER_ID => match vertex::place(&settings.base_url, vertex::GOOGLE) {
            Some(place) => {
                let wire = gemini::VertexGemini::at(&place);
                ApiAgent::new(wire, Settings { base_url: place.base_url, ..settings }).map(Some)
            }
            None => ApiAgent::new(gemini::Gemini, settings).map(Some),
        },
        _ => Ok(None),
    }
}
