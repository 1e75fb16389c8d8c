//! What is content, field by field: a table of all events of ours. A test compares it with the vocabulary, so that a
//! new event or field is decided about before it is built.

/// What becomes of a field.
#[derive(Debug)]
pub(super) enum Rule {
    /// Numbers, flags and words stay: names, hashes, times, words of ours. A text that is no word is content.
    Plain,
    /// A text, or several: each says how long it was.
    Text,
    /// A value of any form: it says how long it was.
    Whole,
    /// It is left out with its name.
    Gone,
    /// An object with these fields.
    Object(&'static [(&'static str, Rule)]),
    /// A list of such objects.
    Objects(&'static [(&'static str, Rule)]),
    /// An object whose names are words, and whose values are of one kind.
    MapOf(&'static Rule),
    /// Nobody has decided: numbers and flags stay.
    Unknown,
}

use Rule::{Gone, MapOf, Object, Objects, Plain, Text, Whole};

/// What every line has.
pub(super) const HEAD: &[(&str, Rule)] =
    &[("seq", Plain), ("at", Plain), ("type", Plain), ("part", Plain), ("prev", Plain)];

const AGENT: &[(&str, Rule)] = &[
    ("adapter", Plain),
    ("model", Plain),
    ("base_url", Text),
    ("window", Plain),
    ("output_tokens_max", Plain),
    ("effort", Plain),
    ("thinking_tokens", Plain),
    ("prices", MapOf(&Plain)),
    ("prices_listed", Plain),
];

/// The options of a run: who, how much and how strictly stays; where, and what the operator wrote, goes.
const OPTIONS: &[(&str, Rule)] = &[
    ("adapter", Plain),
    ("model", Plain),
    ("base_url", Text),
    ("window", Plain),
    ("output_tokens_max", Plain),
    ("effort", Plain),
    ("thinking_tokens", Plain),
    ("prices", MapOf(&Plain)),
    ("prices_listed", Plain),
    ("mode", Plain),
    ("workdir", Text),
    ("home", Text),
    ("runtime_home", Text),
    ("no_shell", Plain),
    ("max_steps", Plain),
    ("fallback", Objects(AGENT)),
    ("roles", Plain),
    ("custom_roles", Gone),
    ("role_agents", MapOf(&Object(AGENT))),
    ("role_budgets", MapOf(&MapOf(&Plain))),
    ("retries_max", Plain),
    ("blind_critic", Plain),
    ("plans_only", Plain),
    ("answer_within_ms", Plain),
    ("patience_ms", Plain),
    ("unattended", Plain),
    ("budget", MapOf(&Plain)),
    ("script", Text),
    ("after_untrusted", Plain),
    ("untrusted_tools", Plain),
    ("plain_results", Plain),
    ("result_bytes_max", Plain),
    ("hooks", Gone),
    ("programs", Gone),
    ("shell_allow", Gone),
    ("shell_deny", Gone),
    ("deny_read", Gone),
    ("detectors", MapOf(&Plain)),
    ("learned", Object(LEARNED)),
];

const LEARNED: &[(&str, Rule)] = &[("slug", Plain), ("phase_calls", MapOf(&Plain)), ("roles", MapOf(&MapOf(&Plain)))];

const CALL: &[(&str, Rule)] = &[
    ("call_id", Plain),
    ("name", Plain),
    ("args", Whole),
    ("malformed", Text),
    ("masked", Plain),
    ("resolved", Objects(&[("path", Text), ("place", Text), ("known_as", Text)])),
];

const GRANT: &[(&str, Rule)] = &[
    ("grant_id", Plain),
    ("action", Text),
    ("reasoning", Text),
    ("categories", Plain),
    ("tool", Plain),
    ("command", Text),
    ("path", Text),
    ("scope", Plain),
    ("until", Plain),
    ("uses", Plain),
    ("granted_at", Plain),
];

const BOUND: &[(&str, Rule)] = &[("tool", Plain), ("command", Text), ("path", Text), ("uses", Plain)];

const RECORD: &[(&str, Rule)] = &[
    ("id", Plain),
    ("at", Plain),
    ("category", Plain),
    ("brief_id", Plain),
    ("supersedes", Plain),
    ("superseded_by", Plain),
    ("summary", Text),
    ("rationale", Text),
    ("content", Text),
    ("rule", Text),
];

const CONTRADICTION: &[(&str, Rule)] = &[("newer", Plain), ("older", Plain), ("rule", Plain)];

const OFFER: &[(&str, Rule)] = &[("choice", Plain), ("reply", Plain), ("changes", Text)];

const QUESTION: &[(&str, Rule)] =
    &[("kind", Plain), ("text", Text), ("options", Objects(OFFER)), ("default", Plain), ("deadline_ms", Plain)];

const AMENDMENT: &[(&str, Rule)] =
    &[("authorize", Plain), ("withdraw", Plain), ("scope", Text), ("unscope", Text), ("budget", MapOf(&Plain))];

/// A word, or an object with what was said.
const MESSAGE: &[(&str, Rule)] = &[("mode", Plain), ("steer", Text), ("amend", Object(AMENDMENT))];

/// The hashes of whole files go too: whoever guesses a short file could check the guess.
const CHANGE: &[(&str, Rule)] = &[("path", Text), ("before", Text), ("after", Text)];

/// The fields of an event of type `kind`, those of every line left out; `None` if there is no such event of ours.
#[expect(clippy::too_many_lines, reason = "a flat table, one row per type of event")]
pub(super) fn rules_of(kind: &str) -> Option<&'static [(&'static str, Rule)]> {
    Some(match kind {
        "trace_version" => &[("version", Plain), ("adjutant_version", Plain), ("brief_id", Plain)],
        "run_start" => &[
            ("run_id", Plain),
            ("brief_id", Plain),
            ("project", Plain),
            ("brief_path", Text),
            ("brief", Text),
            ("options", Object(OPTIONS)),
            ("tools", Plain),
            ("versions", MapOf(&Plain)),
        ],
        "run_resume" => &[("options", Object(OPTIONS)), ("accepted_damage", Plain)],
        "run_end" | "part_end" => &[("outcome", Plain)],
        "part_start" => &[("kind", Plain)],
        "phase_enter" => &[("phase", Plain), ("reason", Text)],
        "phase_exit" => &[("phase", Plain), ("duration_ms", Plain), ("to", Plain), ("reason", Text)],
        "mode_set" => &[("mode", Plain)],
        "message" => &[("role", Plain), ("kind", Plain), ("phase", Plain), ("step", Plain), ("text", Text)],
        "agent_request" => &[
            ("slot", Plain),
            ("messages", Plain),
            ("tools", Plain),
            ("no_calls", Plain),
            ("agent", Plain),
            ("input_tokens", Plain),
            ("output_max", Plain),
            ("hash", Plain),
        ],
        "agent_reply" => &[
            ("slot", Plain),
            ("text", Text),
            ("thinking", Text),
            ("calls", Objects(CALL)),
            ("provider_data", Gone),
            ("usage", MapOf(&Plain)),
            ("stop", Plain),
            ("duration_ms", Plain),
        ],
        "agent_failed" => {
            const {
                &[
                    ("slot", Plain),
                    ("kind", Plain),
                    ("message", Text),
                    ("retry_after_ms", Plain),
                    ("received", Plain),
                    ("output_max", Plain),
                ]
            }
        }
        "agent_changed" => &[("agent", Plain), ("name", Plain), ("reason", Text)],
        "context_folded" => &[("messages", Plain), ("before", Plain), ("after", Plain)],
        "context_cut" => &[("first", Plain), ("before", Plain), ("after", Plain)],
        "learned_profile_applied" => &[("slug", Plain), ("schema_version", Plain), ("applied", MapOf(&Plain))],
        "learned_budget_consulted" => &[("phase", Plain), ("recommended", Plain), ("active", Plain), ("source", Plain)],
        "learned_sensitivity_consulted" => {
            &[("detector", Plain), ("sensitivity", Plain), ("fired", Plain), ("bypassed", Plain), ("turn", Plain)]
        }
        "detector_fired" => &[("detector", Plain), ("payload", Whole), ("turn", Plain)],
        "turn_read" => &[("turn", Plain), ("fired", Plain)],
        "phase_drift" => &[("turn", Plain), ("declared", Plain), ("phase", Plain)],
        "auth_check_fired" => &[
            ("layer", Plain),
            ("tool", Plain),
            ("decision", Plain),
            ("reason", Text),
            ("answer", Plain),
            ("call", Plain),
            ("missing", Plain),
            ("would_allow", Text),
            ("untrusted", Plain),
            ("after_untrusted", Text),
        ],
        "grants_loaded" => &[("grants", Objects(GRANT))],
        "memory_inherited" => &[
            ("project", Plain),
            ("records", Objects(RECORD)),
            ("left_out", Plain),
            ("contradictions", Objects(CONTRADICTION)),
        ],
        "permission_requested" => &[
            ("grant_id", Plain),
            ("action", Text),
            ("category", Plain),
            ("scope_requested", Plain),
            ("reasoning", Text),
            ("fallback", Text),
            ("call", Plain),
            ("categories", Plain),
            ("bound", Object(BOUND)),
        ],
        "permission_granted" => &[
            ("grant_id", Plain),
            ("scope_granted", Plain),
            ("operator_note", Text),
            ("call", Plain),
            ("grant", Object(GRANT)),
        ],
        "permission_denied" => &[("grant_id", Plain), ("operator_note", Text), ("call", Plain)],
        "permission_grant_consumed" => &[("grant_id", Plain), ("consuming_tool_call_id", Plain), ("call", Plain)],
        "permission_revoked" => &[("grant_id", Plain), ("revoked_at", Plain)],
        "hook_call" => &[("slot", Plain), ("hook", Plain), ("place", Plain), ("call", Plain)],
        "hook_result" => {
            &[("slot", Plain), ("decision", Plain), ("reason", Text), ("fault", Plain), ("duration_ms", Plain)]
        }
        "tree_look" => &[("slot", Plain), ("look", Plain)],
        "tree_seen" => &[
            ("slot", Plain),
            ("look", Plain),
            ("outside", Text),
            ("more", Plain),
            ("error", Text),
            ("duration_ms", Plain),
        ],
        "folder_changed" => &[("paths", Text), ("more", Plain), ("head_before", Text), ("head_now", Text)],
        "question" => &[("slot", Plain), ("question", Object(QUESTION))],
        "answer" => {
            &[("slot", Plain), ("id", Plain), ("choice", Plain), ("text", Text), ("by", Plain), ("whence", Plain)]
        }
        "expired" | "withdrawn" => &[("slot", Plain)],
        "answer_ignored" => &[("slot", Plain), ("id", Plain)],
        "auth_prompt" => &[("categories", Plain), ("response", Plain), ("calls", Plain), ("acts", Plain)],
        "tool_call" => &[
            ("slot", Plain),
            ("call_id", Plain),
            ("name", Plain),
            ("args", Whole),
            ("auth_decision", Plain),
            ("changes", Objects(CHANGE)),
            ("network", Plain),
        ],
        "rescue_made" => &[
            ("slot", Plain),
            ("kind", Plain),
            ("rescue", Plain),
            ("reference", Plain),
            ("path", Text),
            ("files", Plain),
            ("bytes", Plain),
            ("left_out", Plain),
            ("error", Text),
        ],
        "tool_result" => &[
            ("slot", Plain),
            ("call_id", Plain),
            ("success", Plain),
            ("duration_ms", Plain),
            ("bytes", Plain),
            ("content", Text),
            ("artifact", Plain),
            ("code", Plain),
            ("exit_code", Plain),
            ("settled", Plain),
            ("seen", Object(&[("path", Text), ("hash", Plain), ("replaced", Plain), ("part", MapOf(&Plain))])),
        ],
        "tool_cancelled" => &[
            ("slot", Plain),
            ("call_id", Plain),
            ("tool_name", Plain),
            ("cancellation_source", Plain),
            ("partial_output", Text),
        ],
        "tool_rejected" => {
            &[("call", Plain), ("call_id", Plain), ("name", Plain), ("rejection", Plain), ("content", Text)]
        }
        "interrupted" => &[("slot", Plain), ("effect", Plain)],
        "timer" => &[("slot", Plain), ("length_ms", Plain)],
        "operator_message" => &[("id", Plain), ("message", Object(MESSAGE)), ("by", Plain)],
        "sandbox_report" => {
            &[("mode", Plain), ("held", Plain), ("missing", Plain), ("layers", Plain), ("absent", MapOf(&Text))]
        }
        "budget_warn" | "budget_halt" => &[
            ("metric", Plain),
            ("used", Plain),
            ("limit", Plain),
            ("role", Plain),
            ("phase", Plain),
            ("learned", Plain),
        ],
        "handoff_read" => &[("turn", Plain), ("expected", Plain), ("handoff", Whole), ("faults", Text)],
        "scope_warning" => &[("subtask", Plain), ("category", Plain), ("word", Text)],
        "coordinator_state" => &[("state", Plain), ("signal", Plain), ("subtask", Plain), ("reason", Text)],
        "deadline_passed" => &[("deadline", Plain)],
        "warning" => &[("text", Text)],
        "error" => &[("error", Text), ("phase", Plain)],
        _ => return None,
    })
}
