//! The rules of the Gemini API.
//!
//! From its reference, its pages on function calls and on thought signatures, and the types of the Google Gen AI
//! clients; and from the sentences that people quote in issues of gemini-cli, LiteLLM, langchain and others.

use serde_json::{Value, json};

use crate::memory::Memory;
use crate::refusal::{self, Refusal, header, items, repeated, text, unknown};
use crate::{Reply, Thought};

const FIELDS: &[&str] = &[
    "contents", "systemInstruction", "tools", "toolConfig", "safetySettings", "generationConfig", "cachedContent",
    "model", "labels", "store", "serviceTier",
];
const PART_FIELDS: &[&str] = &[
    "text", "thought", "thoughtSignature", "inlineData", "fileData", "functionCall", "functionResponse",
    "executableCode", "codeExecutionResult", "videoMetadata", "mediaResolution", "partMetadata",
];
/// The fields of a part of which one has to be there.
const DATA_FIELDS: &[&str] =
    &["text", "inlineData", "fileData", "functionCall", "functionResponse", "executableCode", "codeExecutionResult"];
const DECLARATION_FIELDS: &[&str] =
    &["name", "description", "parameters", "parametersJsonSchema", "response", "responseJsonSchema", "behavior"];
const GENERATION_FIELDS: &[&str] = &[
    "stopSequences", "responseMimeType", "responseSchema", "responseJsonSchema", "responseModalities",
    "candidateCount", "maxOutputTokens", "temperature", "topP", "topK", "seed", "presencePenalty", "frequencyPenalty",
    "responseLogprobs", "logprobs", "speechConfig", "thinkingConfig", "imageConfig", "mediaResolution",
];
const MODES: &[&str] = &["MODE_UNSPECIFIED", "AUTO", "ANY", "NONE", "VALIDATED"];
const LEVELS: &[&str] = &["MINIMAL", "LOW", "MEDIUM", "HIGH"];

/// Signatures that the page on thought signatures has for calls that the model didn't make.
const UNSIGNED: &[&str] = &["skip_thought_signature_validator", "context_engineering_is_the_way_to_go"];

/// The most characters of a function's name, by the reference.
const NAME_CHARS_MAX: usize = 64;

/// The rules, with the parts that the server signed.
#[derive(Debug, Clone, Default)]
pub struct Rules {
    memory: Memory,
    /// Parts with their signatures.
    signed: Vec<Value>,
}

/// Faults of a request, as sentences.
#[derive(Default)]
struct Found(Vec<String>);

impl Found {
    fn when(&mut self, is_wrong: bool, sentence: impl FnOnce() -> String) {
        if is_wrong {
            self.0.push(sentence());
        }
    }

    fn unknown(&mut self, place: &str, value: &Value, known: &[&str]) {
        for name in unknown(value, known) {
            let at = if place.is_empty() { String::new() } else { format!(" at '{place}'") };
            self.0.push(format!("Invalid JSON payload received. Unknown name \"{name}\"{at}: Cannot find field."));
        }
    }
}

fn refusal(status: u16, word: &str, message: &str) -> Refusal {
    Refusal { status, body: json!({ "error": { "code": status, "message": message, "status": word } }) }
}

/// Returns true if a model refuses calls without a signature: all from Gemini 3 on. A name that isn't known is taken
/// for a newer one.
pub(crate) fn insists_on_signatures(model: &str) -> bool {
    !["gemini-1", "gemini-2", "gemma", "learnlm"].iter().any(|family| model.starts_with(family))
}

/// The refusal of a call without a signature, which is in the content with this index.
pub(crate) fn missing_signature(name: &str, index: usize) -> String {
    format!(
        "Function call is missing a thought_signature in functionCall parts. This is required for tools to work \
         correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call \
         `default_api:{name}` , position {}. Please refer to https://ai.google.dev/gemini-api/docs/thought-signatures \
         for more details.",
        index + 1
    )
}

/// The model that a path names, if the path is that of a stream.
fn model(head: &str) -> Option<&str> {
    let (_, model) = refusal::path(head).rsplit_once("models/").or(refusal::path(head).rsplit_once("tunedModels/"))?;
    model.strip_suffix(":streamGenerateContent")
}

impl Rules {
    /// All that is wrong with a request.
    #[must_use]
    pub fn findings(&self, head: &str, body: &Value) -> Vec<Refusal> {
        let Some(model) = model(head) else {
            return vec![refusal(404, "NOT_FOUND", "models/unknown is not found for API version v1beta")];
        };
        let path = refusal::path(head);
        let is_vertex = path.contains("/publishers/google/models/");
        let mut findings = Vec::new();
        if is_vertex && path.contains("/projects/") {
            if header(head, "authorization").is_none_or(|value| !value.starts_with("Bearer ")) {
                findings.push(refusal(
                    401,
                    "UNAUTHENTICATED",
                    "Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or \
                     other valid authentication credential.",
                ));
            }
        } else if header(head, "x-goog-api-key").is_none() && header(head, "authorization").is_none() {
            findings.push(refusal(
                403,
                "PERMISSION_DENIED",
                "Method doesn't allow unregistered callers (callers without established identity). Please use API Key \
                 or other form of API consumer identity to call this API.",
            ));
        }
        let mut found = Found::default();
        found.unknown("", body, FIELDS);
        generation(&body["generationConfig"], model, &mut found);
        tools(body, &mut found);
        if !body["systemInstruction"].is_null() {
            parts("system_instruction", &body["systemInstruction"], &mut found);
        }
        let contents = items(&body["contents"]);
        found.when(contents.is_empty(), || "* GenerateContentRequest.contents: contents is not specified\n".to_owned());
        for (index, content) in contents.iter().enumerate() {
            found.when(!matches!(text(&content["role"]), "user" | "model"), || {
                "Please use a valid role: user, model.".to_owned()
            });
            parts(&format!("contents[{index}]"), content, &mut found);
        }
        turns(contents, &mut found);
        if is_vertex && !insists_on_signatures(model) {
            ids(contents, &mut found);
        }
        if insists_on_signatures(model) {
            self.signatures(contents, &mut found);
        }
        findings.extend(found.0.iter().map(|sentence| refusal(400, "INVALID_ARGUMENT", sentence)));
        findings
    }

    /// See [`crate::Rules::lost`].
    #[must_use]
    pub fn lost(&self, body: &Value) -> Vec<String> {
        self.memory.lost(body)
    }

    /// Writes a reply as the events of a stream, and remembers what it signed: the first of its calls, or the last of
    /// its words.
    pub fn give(&mut self, reply: &Reply) -> Vec<Value> {
        let mut sent: Vec<Value> = Vec::new();
        for thought in &reply.thoughts {
            if let Thought::Open { text, .. } = thought {
                sent.push(json!({ "text": text, "thought": true }));
            }
        }
        if !reply.text.is_empty() {
            sent.push(json!({ "text": reply.text }));
        }
        let calls = sent.len();
        for call in &reply.calls {
            let mut made = json!({ "name": call.name, "args": call.args });
            // Not every model gives its calls ids.
            if !call.id.is_empty() {
                made["id"] = json!(call.id);
            }
            sent.push(json!({ "functionCall": made }));
        }
        let signature = reply.thoughts.last().map(Thought::opaque);
        if let (Some(signature), false) = (signature, reply.text.is_empty() && reply.calls.is_empty()) {
            let place = if reply.calls.is_empty() { calls - 1 } else { calls };
            sent[place]["thoughtSignature"] = json!(signature);
            self.signed.push(sent[place].clone());
            self.memory.keep(reply, vec![signature.to_owned()]);
        }
        let event =
            |part: Value| json!({ "candidates": [{ "content": { "role": "model", "parts": [part] }, "index": 0 }] });
        let mut events: Vec<Value> = sent.into_iter().map(event).collect();
        let usage = json!({ "promptTokenCount": 50, "cachedContentTokenCount": 45, "candidatesTokenCount": 9 });
        events.push(json!({ "candidates": [{ "finishReason": "STOP", "index": 0 }], "usageMetadata": usage }));
        events
    }

    /// The page on thought signatures: in the current turn, which begins with the last words of the user, the first call
    /// of each step has the signature that it came with. Earlier turns aren't looked at.
    fn signatures(&self, contents: &[Value], found: &mut Found) {
        let is_said = |content: &Value| {
            content["role"] == "user" && items(&content["parts"]).iter().any(|part| part["functionResponse"].is_null())
        };
        let begin = contents.iter().rposition(is_said).unwrap_or(0);
        for (index, content) in contents.iter().enumerate().skip(begin) {
            let parts = items(&content["parts"]);
            let first = parts.iter().position(|part| !part["functionCall"].is_null());
            for (place, part) in parts.iter().enumerate() {
                match part["thoughtSignature"].as_str() {
                    None => found
                        .when(first == Some(place), || missing_signature(text(&part["functionCall"]["name"]), index)),
                    Some(signature) => {
                        let is_known = self.signed.iter().any(|signed| is_same(signed, part));
                        found.when(!is_known && !UNSIGNED.contains(&signature), || {
                            "Corrupted thought signature.".to_owned()
                        });
                    }
                }
            }
        }
    }
}

/// Returns true if a part is the one that was signed. The words of a reply may come back in one piece with others.
fn is_same(signed: &Value, part: &Value) -> bool {
    let is_call = signed["functionCall"]["name"] == part["functionCall"]["name"]
        && signed["functionCall"]["args"] == part["functionCall"]["args"];
    signed["thoughtSignature"] == part["thoughtSignature"] && is_call
}

/// The reference of `GenerationConfig` and the page on thinking.
fn generation(config: &Value, model: &str, found: &mut Found) {
    found.unknown("generation_config", config, GENERATION_FIELDS);
    let limit = &config["maxOutputTokens"];
    found.when(!limit.is_null() && limit.as_u64().is_none_or(|limit| limit == 0), || {
        "* GenerateContentRequest.generation_config.max_output_tokens: max_output_tokens must be positive.\n".to_owned()
    });
    let thinking = &config["thinkingConfig"];
    let place = "generation_config.thinking_config";
    found.unknown(place, thinking, &["includeThoughts", "thinkingBudget", "thinkingLevel"]);
    let level = &thinking["thinkingLevel"];
    if level.is_null() {
        return;
    }
    found.when(!LEVELS.contains(&text(level).to_ascii_uppercase().as_str()), || {
        format!(
            "Invalid value at '{place}.thinking_level' \
             (type.googleapis.com/google.ai.generativelanguage.v1beta.ThinkingConfig.ThinkingLevel), {level}"
        )
    });
    found.when(!thinking["thinkingBudget"].is_null(), || {
        "You can only set only one of thinking budget and thinking level.".to_owned()
    });
    found.when(!insists_on_signatures(model), || "Thinking level is not supported for this model.".to_owned());
}

fn tools(body: &Value, found: &mut Found) {
    let mut names = Vec::new();
    for (index, tool) in items(&body["tools"]).iter().enumerate() {
        let known = ["functionDeclarations", "googleSearch", "codeExecution", "urlContext", "googleMaps", "fileSearch"];
        found.unknown(&format!("tools[{index}]"), tool, &known);
        for (number, declared) in items(&tool["functionDeclarations"]).iter().enumerate() {
            let place = format!("tools[{index}].function_declarations[{number}]");
            found.unknown(&place, declared, DECLARATION_FIELDS);
            name(&place, &declared["name"], found);
            names.push(text(&declared["name"]));
        }
    }
    if let Some(name) = repeated(names.iter().copied()) {
        found.0.push(format!("Duplicate function declaration found: {name}"));
    }
    let config = &body["toolConfig"];
    found.unknown("tool_config", config, &["functionCallingConfig", "retrievalConfig"]);
    let calling = &config["functionCallingConfig"];
    found.unknown("tool_config.function_calling_config", calling, &["mode", "allowedFunctionNames"]);
    if calling.is_null() {
        return;
    }
    let mode = &calling["mode"];
    found.when(!mode.is_null() && !MODES.contains(&text(mode)), || {
        format!(
            "Invalid value at 'tool_config.function_calling_config.mode' \
             (type.googleapis.com/google.ai.generativelanguage.v1beta.FunctionCallingConfig.Mode), {mode}"
        )
    });
    found.when(names.is_empty(), || "Function calling config is set without function_declarations.".to_owned());
    let allowed = items(&calling["allowedFunctionNames"]);
    found.when(!allowed.is_empty() && !matches!(text(mode), "ANY" | "VALIDATED"), || {
        "Please set allowed_function_names only when function calling mode is ANY.".to_owned()
    });
}

fn name(place: &str, name: &Value, found: &mut Found) {
    let name = text(name);
    let is_begin = |c: char| c.is_ascii_alphabetic() || c == '_';
    let is_inside = |c: char| c.is_ascii_alphanumeric() || "_.:-".contains(c);
    let is_good = name.starts_with(is_begin) && name.chars().all(is_inside) && name.len() <= NAME_CHARS_MAX;
    found.when(!is_good, || {
        format!(
            "* GenerateContentRequest.{place}.name: Invalid function name. Must start with a letter or an underscore. \
             Must be alphameric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes (-), with a maximum \
             length of 64.\n"
        )
    });
}

/// The reference of `Content` and `Part`. A part without a word is one without anything, unless it brings a signature.
fn parts(place: &str, content: &Value, found: &mut Found) {
    found.unknown(place, content, &["role", "parts"]);
    let parts = items(&content["parts"]);
    found.when(parts.is_empty(), || {
        format!("* GenerateContentRequest.{place}.parts: contents.parts must not be empty.\n")
    });
    for (index, part) in parts.iter().enumerate() {
        let place = format!("{place}.parts[{index}]");
        found.unknown(&place, part, PART_FIELDS);
        let has = |name: &&&str| !part[**name].is_null() && (part[**name] != "" || !part["thoughtSignature"].is_null());
        let count = DATA_FIELDS.iter().filter(has).count();
        found.when(count == 0, || {
            format!(
                "* GenerateContentRequest.{place}.data: required oneof field 'data' must have one initialized field\n"
            )
        });
        found.when(count > 1, || {
            format!("Invalid value at '{place}' (oneof), oneof field 'data' is already set. Cannot set another.")
        });
        let call = &part["functionCall"];
        if !call.is_null() {
            found.unknown(&format!("{place}.function_call"), call, &["id", "name", "args"]);
            name(&format!("{place}.function_call"), &call["name"], found);
            found.when(!call["args"].is_object(), || {
                format!("Invalid value at '{place}.function_call.args' (type.googleapis.com/google.protobuf.Struct)")
            });
        }
        let result = &part["functionResponse"];
        if !result.is_null() {
            let known = ["id", "name", "response", "parts", "willContinue", "scheduling"];
            found.unknown(&format!("{place}.function_response"), result, &known);
            name(&format!("{place}.function_response"), &result["name"], found);
            found.when(!result["response"].is_object(), || {
                format!(
                    "Invalid value at '{place}.function_response.response' (type.googleapis.com/google.protobuf.Struct)"
                )
            });
        }
    }
}

/// Vertex AI knows no ids of calls with models before Gemini 3, as issues of the Vercel AI SDK and of LiteLLM report.
fn ids(contents: &[Value], found: &mut Found) {
    for (index, content) in contents.iter().enumerate() {
        for (place, part) in items(&content["parts"]).iter().enumerate() {
            for (name, kind) in [("functionCall", "function_call"), ("functionResponse", "function_response")] {
                found.when(!part[name]["id"].is_null(), || {
                    format!(
                        "Invalid JSON payload received. Unknown name \"id\" at 'contents[{index}].parts[{place}].{kind}': \
                         Cannot find field."
                    )
                });
            }
        }
    }
}

/// Sides take turns, and a turn of calls is answered by as many results. (Newer models take two turns of one side in a
/// row; older ones have this refusal.)
fn turns(contents: &[Value], found: &mut Found) {
    let count =
        |content: &Value, kind: &str| items(&content["parts"]).iter().filter(|part| !part[kind].is_null()).count();
    for (index, content) in contents.iter().enumerate() {
        let before = index.checked_sub(1).map(|before| &contents[before]);
        let (calls, results) = (count(content, "functionCall"), count(content, "functionResponse"));
        let asked = before.map_or(0, |before| count(before, "functionCall"));
        let is_out_of_turn = match before {
            None => content["role"] == "model",
            Some(before) => before["role"] == content["role"],
        };
        if calls > 0 && is_out_of_turn {
            found.0.push(
                "Please ensure that function call turn comes immediately after a user turn or after a function response \
                 turn."
                    .to_owned(),
            );
        } else if results > 0 && asked == 0 {
            found.0.push(
                "Please ensure that function response turn comes immediately after a function call turn.".to_owned(),
            );
        } else if is_out_of_turn {
            found.0.push("Please ensure that multiturn requests alternate between user and model.".to_owned());
        } else if results != asked {
            found.0.push(
                "Please ensure that the number of function response parts is equal to the number of function call parts \
                 of the function call turn."
                    .to_owned(),
            );
        }
    }
    let last = contents.last();
    found.when(last.is_some_and(|last| last["role"] == "model"), || {
        "Please ensure that multiturn requests ends with a user role or a function response.".to_owned()
    });
}

#[cfg(test)]
mod tests;
