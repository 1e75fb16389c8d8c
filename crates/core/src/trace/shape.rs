//! What the lines of each type must have, as far as a viewer relies on it: one table for the peer's
//! events (its version 5, which names those of all earlier ones) and ours.
//!
//! A field that a view prints or adds up is needed; one that it can do without may be absent or `null`.
//! Either way a field that is there has the right type, or the line is damaged.

use serde::de::DeserializeOwned;

use super::read::{Fields, items_of, number_of, object_of, text_of};
use crate::gate::Grant;
use crate::inbox::{Choice, Message, Question};
use crate::memory::{Contradiction, Record};
use crate::procedure::Slot;
use crate::session::Mode;
use crate::words::{
    Bound, Effect, FailureKind, MessageKind, MessageRole, Outcome, PhaseName, Rejection, RescueKind, Stop,
};

/// One field of an event.
pub(super) struct Field {
    name: &'static str,
    shape: Shape,
    is_needed: bool,
}

enum Shape {
    Text,
    Number,
    Flag,
    Texts,
    Numbers,
    Object(&'static [Field]),
    Objects(&'static [Field]),
    /// The name of something asked for.
    Slot,
    /// What serde reads as one of our own types.
    Typed(fn(&str) -> bool),
}

impl Field {
    const fn needed(name: &'static str, shape: Shape) -> Self {
        Self { name, shape, is_needed: true }
    }

    const fn or_absent(self) -> Self {
        Self { name: self.name, shape: self.shape, is_needed: false }
    }
}

const fn text(name: &'static str) -> Field {
    Field::needed(name, Shape::Text)
}

const fn number(name: &'static str) -> Field {
    Field::needed(name, Shape::Number)
}

const fn flag(name: &'static str) -> Field {
    Field::needed(name, Shape::Flag)
}

const fn texts(name: &'static str) -> Field {
    Field::needed(name, Shape::Texts)
}

const fn numbers(name: &'static str) -> Field {
    Field::needed(name, Shape::Numbers)
}

const fn slot() -> Field {
    Field::needed("slot", Shape::Slot)
}

const fn typed<T: DeserializeOwned>(name: &'static str) -> Field {
    Field::needed(name, Shape::Typed(reads_as::<T>))
}

fn reads_as<T: DeserializeOwned>(json: &str) -> bool {
    serde_json::from_str::<T>(json).is_ok()
}

/// Whether `fields` are as `expected` says.
pub(super) fn hold(expected: &[Field], fields: &Fields<'_>) -> bool {
    expected.iter().all(|field| match fields.json(field.name) {
        None => !field.is_needed,
        Some(json) => field.shape.fits(json),
    })
}

impl Shape {
    fn fits(&self, json: &str) -> bool {
        match self {
            Self::Text => text_of(json).is_some(),
            Self::Number => number_of(json).is_some(),
            Self::Flag => matches!(json, "true" | "false"),
            Self::Texts => items_of(json).is_some_and(|items| items.into_iter().all(|item| text_of(item).is_some())),
            Self::Numbers => {
                items_of(json).is_some_and(|items| items.into_iter().all(|item| number_of(item).is_some()))
            }
            Self::Object(expected) => object_of(json).is_some_and(|fields| hold(expected, &fields)),
            Self::Objects(expected) => items_of(json).is_some_and(|items| {
                items.into_iter().all(|item| object_of(item).is_some_and(|fields| hold(expected, &fields)))
            }),
            Self::Slot => text_of(json).is_some_and(|text| text.parse::<Slot>().is_ok()),
            Self::Typed(reads) => reads(json),
        }
    }
}

/// What every line may have. The peer's `permission_revoked` has no `at`, so none is needed.
pub(super) const HEAD: &[Field] = &[
    text("type"),
    text("at").or_absent(),
    number("seq").or_absent(),
    text("part").or_absent(),
    text("prev").or_absent(),
];

const APPLIED: &[Field] = &[number("detectors"), number("phase_budgets"), number("tool_callouts")];
const OPTIONS: &[Field] = &[text("adapter"), text("model").or_absent(), typed::<Mode>("mode").or_absent()];
const USAGE: &[Field] = &[
    number("input_tokens").or_absent(),
    number("cache_read_tokens").or_absent(),
    number("cache_write_tokens").or_absent(),
    number("output_tokens").or_absent(),
    number("reasoning_tokens").or_absent(),
];
const SEEN: &[Field] = &[
    text("path"),
    text("hash"),
    number("replaced").or_absent(),
    Field::needed("part", Shape::Object(SEEN_PART)).or_absent(),
];

const SEEN_PART: &[Field] = &[number("first"), number("last"), number("lines")];
const RESOLVED: &[Field] = &[text("path"), text("place"), text("known_as").or_absent()];
const CALL: &[Field] = &[
    text("call_id"),
    text("name"),
    text("malformed").or_absent(),
    flag("masked").or_absent(),
    Field::needed("resolved", Shape::Objects(RESOLVED)).or_absent(),
];

/// The fields of an event of type `kind`; `None` if the type is unknown.
#[expect(clippy::too_many_lines, reason = "a flat table, one row per type of event")]
pub(super) fn fields_of(kind: &str) -> Option<&'static [Field]> {
    Some(match kind {
        // What both of us have; the fields that may be absent are ours.
        "trace_version" => {
            const {
                &[
                    number("version"),
                    text("brief_id"),
                    text("openwar_version").or_absent(),
                    text("adjutant_version").or_absent(),
                ]
            }
        }
        "phase_enter" => const { &[text("phase"), text("reason").or_absent()] },
        "phase_exit" => {
            const { &[text("phase"), number("duration_ms"), text("to").or_absent(), text("reason").or_absent()] }
        }
        "detector_fired" => const { &[text("detector"), number("turn").or_absent()] },
        "tool_call" => const { &[text("call_id"), text("name"), text("auth_decision"), slot().or_absent()] },
        "tool_result" => {
            const {
                &[
                    text("call_id"),
                    flag("success"),
                    number("duration_ms"),
                    number("bytes"),
                    slot().or_absent(),
                    text("content").or_absent(),
                    text("artifact").or_absent(),
                    text("code").or_absent(),
                    flag("settled").or_absent(),
                    Field::needed("seen", Shape::Object(SEEN)).or_absent(),
                ]
            }
        }
        "tool_cancelled" => {
            const {
                &[
                    text("call_id"),
                    text("tool_name"),
                    text("cancellation_source"),
                    text("partial_output"),
                    slot().or_absent(),
                ]
            }
        }
        "auth_check_fired" => {
            const {
                &[
                    text("layer"),
                    text("tool"),
                    text("decision"),
                    text("reason"),
                    text("answer").or_absent(),
                    number("call").or_absent(),
                    texts("missing").or_absent(),
                    text("would_allow").or_absent(),
                ]
            }
        }
        "auth_prompt" => {
            const { &[texts("categories"), text("response"), numbers("calls").or_absent(), texts("acts").or_absent()] }
        }
        "budget_halt" | "budget_warn" => {
            const {
                &[
                    text("metric"),
                    number("used"),
                    number("limit"),
                    text("role").or_absent(),
                    text("phase").or_absent(),
                    text("learned").or_absent(),
                ]
            }
        }
        "learned_sensitivity_consulted" => {
            const {
                &[
                    text("detector"),
                    text("sensitivity"),
                    flag("fired"),
                    flag("bypassed").or_absent(),
                    number("turn").or_absent(),
                ]
            }
        }
        "error" => const { &[text("error"), text("phase")] },
        // The peer's alone.
        "role_invoke" => {
            const { &[text("role"), number("tokens_in"), number("tokens_out"), text("tokens_source"), number("duration_ms")] }
        }
        "coordinator_state" => {
            const { &[text("state"), text("signal").or_absent(), text("subtask").or_absent(), text("reason").or_absent()] }
        }
        "subtask_status" => const { &[text("subtask_id"), text("status")] },
        "mcp_server_started" => const { &[text("transport"), number("tool_count")] },
        "mcp_server_shutdown" => const { &[text("reason")] },
        "mcp_call_dispatched" => const { &[text("call_id"), text("tool")] },
        "mcp_call_completed" => const { &[text("call_id"), text("tool"), number("duration_ms"), flag("success")] },
        "mcp_call_pending" => const { &[text("call_id"), text("tool"), number("elapsed_ms")] },
        "settings_merge_attempted" => const { &[text("binary"), text("settings_path")] },
        "settings_merge_outcome" => const { &[text("outcome"), text("details").or_absent()] },
        "learned_profile_applied" => {
            const { &[text("slug"), number("schema_version"), Field::needed("applied", Shape::Object(APPLIED))] }
        }
        "learned_budget_consulted" => {
            const { &[text("phase"), number("recommended"), number("active"), text("source")] }
        }
        "chat_session_compiled" => const { &[text("chat_id"), text("brief_id")] },
        "chat_session_resumed" => const { &[text("chat_id")] },
        "chat_brief_saved" => const { &[text("chat_id"), text("path")] },
        "permission_requested" => {
            const {
                &[
                    text("grant_id"),
                    text("action"),
                    text("category").or_absent(),
                    text("scope_requested"),
                    number("call").or_absent(),
                    texts("categories").or_absent(),
                    typed::<Bound>("bound").or_absent(),
                ]
            }
        }
        "permission_granted" => {
            const {
                &[
                    text("grant_id"),
                    text("scope_granted"),
                    text("operator_note").or_absent(),
                    number("call").or_absent(),
                    typed::<Grant>("grant").or_absent(),
                ]
            }
        }
        "permission_denied" => {
            const { &[text("grant_id"), text("operator_note").or_absent(), number("call").or_absent()] }
        }
        "permission_grant_consumed" => {
            const { &[text("grant_id"), text("consuming_tool_call_id"), number("call").or_absent()] }
        }
        "grants_loaded" => const { &[typed::<Vec<Grant>>("grants")] },
        "memory_inherited" => {
            const {
                &[
                    text("project"),
                    typed::<Vec<Record>>("records"),
                    number("left_out").or_absent(),
                    typed::<Vec<Contradiction>>("contradictions").or_absent(),
                ]
            }
        }
        "permission_revoked" => const { &[text("grant_id"), text("revoked_at")] },
        "bridged_tool_call" => const { &[text("call_id"), text("tool_name"), text("binary")] },
        "bridged_tool_result" => const { &[text("call_id"), flag("is_error"), text("binary")] },
        "bridged_thinking_delta" => const { &[text("delta"), text("binary")] },
        "bridged_usage" => {
            const {
                &[
                    text("binary"),
                    number("input_tokens").or_absent(),
                    number("output_tokens").or_absent(),
                    number("cache_read_tokens").or_absent(),
                    number("cache_write_tokens").or_absent(),
                ]
            }
        }
        "proxy_request" => {
            const {
                &[
                    text("request_id"),
                    text("client_addr"),
                    text("model"),
                    flag("stream"),
                    number("tool_count"),
                    text("model_substituted_from").or_absent(),
                ]
            }
        }
        "proxy_response" => {
            const {
                &[
                    text("request_id"),
                    number("status_code"),
                    number("duration_ms"),
                    number("bytes_written"),
                    flag("cancelled"),
                ]
            }
        }
        // Ours alone.
        "run_start" => {
            const {
                &[
                    text("run_id"),
                    text("brief_id"),
                    text("project"),
                    text("brief"),
                    texts("tools").or_absent(),
                    Field::needed("options", Shape::Object(OPTIONS)),
                ]
            }
        }
        "run_resume" => const { &[numbers("accepted_damage").or_absent()] },
        "run_end" | "part_end" => const { &[typed::<Outcome>("outcome")] },
        "part_start" => const { &[text("kind")] },
        "mode_set" => const { &[typed::<Mode>("mode")] },
        "message" => {
            const {
                &[
                    typed::<MessageRole>("role"),
                    typed::<MessageKind>("kind"),
                    typed::<PhaseName>("phase"),
                    number("step"),
                    text("text"),
                ]
            }
        }
        "agent_request" => {
            const {
                &[
                    slot(),
                    numbers("messages"),
                    number("tools"),
                    number("agent").or_absent(),
                    number("input_tokens").or_absent(),
                    number("output_max").or_absent(),
                ]
            }
        }
        "agent_reply" => {
            const {
                &[
                    slot(),
                    text("text"),
                    text("thinking").or_absent(),
                    Field::needed("calls", Shape::Objects(CALL)).or_absent(),
                    Field::needed("usage", Shape::Object(USAGE)).or_absent(),
                    typed::<Stop>("stop"),
                    number("duration_ms"),
                ]
            }
        }
        "agent_failed" => {
            const {
                &[
                    slot(),
                    typed::<FailureKind>("kind"),
                    text("message"),
                    number("retry_after_ms").or_absent(),
                    number("received").or_absent(),
                    number("output_max").or_absent(),
                ]
            }
        }
        "agent_changed" => const { &[number("agent"), text("name"), text("reason")] },
        "context_folded" => const { &[numbers("messages"), number("before"), number("after")] },
        "context_cut" => const { &[number("first"), number("before"), number("after")] },
        "turn_read" => const { &[number("turn"), texts("fired")] },
        "phase_drift" => const { &[number("turn"), typed::<PhaseName>("declared"), typed::<PhaseName>("phase")] },
        "question" => const { &[slot(), typed::<Question>("question")] },
        "answer" => {
            const { &[slot(), text("id"), typed::<Choice>("choice"), text("text").or_absent(), text("by"), text("whence")] }
        }
        "expired" | "withdrawn" => const { &[slot()] },
        "answer_ignored" => const { &[slot(), text("id")] },
        "tool_rejected" => {
            const { &[number("call"), text("call_id"), text("name"), typed::<Rejection>("rejection"), text("content")] }
        }
        "rescue_made" => {
            const {
                &[
                    slot(),
                    typed::<RescueKind>("kind"),
                    text("rescue").or_absent(),
                    text("reference").or_absent(),
                    text("path").or_absent(),
                    number("files"),
                    number("bytes"),
                    number("left_out").or_absent(),
                    text("error").or_absent(),
                ]
            }
        }
        "interrupted" => const { &[slot(), typed::<Effect>("effect")] },
        "timer" => const { &[slot(), number("length_ms")] },
        "operator_message" => const { &[text("id"), typed::<Message>("message"), text("by")] },
        "deadline_passed" => const { &[text("deadline")] },
        "folder_changed" => {
            const {
                &[
                    texts("paths").or_absent(),
                    number("more").or_absent(),
                    text("head_before").or_absent(),
                    text("head_now").or_absent(),
                ]
            }
        }
        "handoff_read" => const { &[number("turn"), text("expected"), texts("faults").or_absent()] },
        "scope_warning" => const { &[text("subtask"), text("category"), text("word")] },
        "sandbox_report" => const { &[text("mode"), texts("held"), texts("missing"), texts("layers")] },
        "warning" => const { &[text("text")] },
        _ => return None,
    })
}
