//! The types of events, by their names on the wire.

use super::Body;
use super::{
    AskEvent, BudgetEvent, CallEvent, CrewEvent, DeedEvent, GateEvent, HandoffEvent, HostEvent, LearnedEvent,
    LoopEvent, PartEvent, RunEvent, TurnEvent,
};
use super::{ask, budget, call, crew, deed, gate, handoff, host, learned, part, rounds, run, turn};
use crate::trace::spec::Spec;

/// Makes an enum of the types of events, with their names on the wire and what is said of them.
macro_rules! named_types {
    ($(#[$doc:meta])* $types:ident { $($kind:ident => $name:literal in $spec:path,)+ }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[expect(missing_docs, reason = "the events themselves say it")]
        pub enum $types {
            $($kind,)+
        }

        impl $types {
            /// All of them, in the order of their declaration.
            pub const ALL: &[Self] = &[$(Self::$kind,)+];

            /// Returns its name on the wire.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$kind => $name,)+
                }
            }

            /// Returns the type of a name on the wire.
            #[must_use]
            pub fn named(name: &str) -> Option<Self> {
                Some(match name {
                    $($name => Self::$kind,)+
                    _ => return None,
                })
            }

            /// Returns what is said of such events.
            #[must_use]
            pub fn spec(self) -> &'static Spec {
                match self {
                    $(Self::$kind => &$spec,)+
                }
            }
        }
    };
}
pub(in crate::trace) use named_types;

/// Makes the types from the families: each family with its events, their names on the wire, and what is said of them.
macro_rules! families {
    ($($family:ident($events:ident) { $($kind:ident => $name:literal in $spec:path,)+ })+) => {
        named_types! {
            /// The type of an event.
            EventKind { $($($kind => $name in $spec,)+)+ }
        }

        /// A family of events: those that belong together and are described in one file.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[expect(missing_docs, reason = "the files of the families say it")]
        pub enum Family {
            $($family,)+
        }

        impl EventKind {
            /// Returns the family that it belongs to.
            #[must_use]
            pub const fn family(self) -> Family {
                match self {
                    $($(Self::$kind)|+ => Family::$family,)+
                }
            }
        }

        impl Body {
            /// Returns the type of the event.
            #[must_use]
            pub const fn kind(&self) -> EventKind {
                match self {
                    $($(Self::$family($events::$kind { .. }) => EventKind::$kind,)+)+
                }
            }
        }
    };
}

families! {
    Run(RunEvent) {
        TraceVersion => "trace_version" in run::TRACE_VERSION,
        RunStart => "run_start" in run::RUN_START,
        RunResume => "run_resume" in run::RUN_RESUME,
        RunEnd => "run_end" in run::RUN_END,
    }
    Part(PartEvent) {
        PartStart => "part_start" in part::PART_START,
        PartEnd => "part_end" in part::PART_END,
        PhaseEnter => "phase_enter" in part::PHASE_ENTER,
        PhaseExit => "phase_exit" in part::PHASE_EXIT,
        ModeSet => "mode_set" in part::MODE_SET,
        PhaseDrift => "phase_drift" in part::PHASE_DRIFT,
        DeadlinePassed => "deadline_passed" in part::DEADLINE_PASSED,
    }
    Turn(TurnEvent) {
        Message => "message" in turn::MESSAGE,
        AgentRequest => "agent_request" in turn::AGENT_REQUEST,
        AgentReply => "agent_reply" in turn::AGENT_REPLY,
        AgentFailed => "agent_failed" in turn::AGENT_FAILED,
        AgentChanged => "agent_changed" in turn::AGENT_CHANGED,
        ContextFolded => "context_folded" in turn::CONTEXT_FOLDED,
        ContextCut => "context_cut" in turn::CONTEXT_CUT,
        DetectorFired => "detector_fired" in turn::DETECTOR_FIRED,
        TurnRead => "turn_read" in turn::TURN_READ,
    }
    Call(CallEvent) {
        ToolCall => "tool_call" in call::TOOL_CALL,
        RescueMade => "rescue_made" in call::RESCUE_MADE,
        ToolResult => "tool_result" in call::TOOL_RESULT,
        ToolCancelled => "tool_cancelled" in call::TOOL_CANCELLED,
        ToolRejected => "tool_rejected" in call::TOOL_REJECTED,
        Interrupted => "interrupted" in call::INTERRUPTED,
    }
    Ask(AskEvent) {
        Question => "question" in ask::QUESTION,
        Answer => "answer" in ask::ANSWER,
        Expired => "expired" in ask::EXPIRED,
        Withdrawn => "withdrawn" in ask::WITHDRAWN,
        AnswerIgnored => "answer_ignored" in ask::ANSWER_IGNORED,
        OperatorMessage => "operator_message" in ask::OPERATOR_MESSAGE,
        Timer => "timer" in ask::TIMER,
    }
    Gate(GateEvent) {
        AuthCheckFired => "auth_check_fired" in gate::AUTH_CHECK_FIRED,
        AuthPrompt => "auth_prompt" in gate::AUTH_PROMPT,
        GrantsLoaded => "grants_loaded" in gate::GRANTS_LOADED,
        PermissionRequested => "permission_requested" in gate::PERMISSION_REQUESTED,
        PermissionGranted => "permission_granted" in gate::PERMISSION_GRANTED,
        PermissionDenied => "permission_denied" in gate::PERMISSION_DENIED,
        PermissionGrantConsumed => "permission_grant_consumed" in gate::PERMISSION_GRANT_CONSUMED,
        PermissionRevoked => "permission_revoked" in gate::PERMISSION_REVOKED,
        HookCall => "hook_call" in gate::HOOK_CALL,
        HookResult => "hook_result" in gate::HOOK_RESULT,
        TreeLook => "tree_look" in gate::TREE_LOOK,
        TreeSeen => "tree_seen" in gate::TREE_SEEN,
        GrantKeep => "grant_keep" in gate::GRANT_KEEP,
        GrantKept => "grant_kept" in gate::GRANT_KEPT,
    }
    Budget(BudgetEvent) {
        BudgetWarn => "budget_warn" in budget::BUDGET_WARN,
        BudgetHalt => "budget_halt" in budget::BUDGET_HALT,
    }
    Crew(CrewEvent) {
        CoordinatorState => "coordinator_state" in crew::COORDINATOR_STATE,
        ScopeWarning => "scope_warning" in crew::SCOPE_WARNING,
    }
    Deed(DeedEvent) {
        DeedBegin => "deed_begin" in deed::DEED_BEGIN,
        TreeKept => "tree_kept" in deed::TREE_KEPT,
        CheckRun => "check_run" in deed::CHECK_RUN,
        FilesWritten => "files_written" in deed::FILES_WRITTEN,
    }
    Loop(LoopEvent) {
        Evidence => "evidence" in rounds::EVIDENCE,
        CouncilVerdict => "council_verdict" in rounds::COUNCIL_VERDICT,
        RoundClosed => "round_closed" in rounds::ROUND_CLOSED,
        EvidenceReceipt => "evidence_receipt" in rounds::EVIDENCE_RECEIPT,
    }
    Handoff(HandoffEvent) {
        HandoffRead => "handoff_read" in handoff::HANDOFF_READ,
    }
    Learned(LearnedEvent) {
        LearnedProfileApplied => "learned_profile_applied" in learned::LEARNED_PROFILE_APPLIED,
        LearnedBudgetConsulted => "learned_budget_consulted" in learned::LEARNED_BUDGET_CONSULTED,
        LearnedSensitivityConsulted => "learned_sensitivity_consulted" in learned::LEARNED_SENSITIVITY_CONSULTED,
        MemoryInherited => "memory_inherited" in learned::MEMORY_INHERITED,
    }
    Host(HostEvent) {
        SandboxReport => "sandbox_report" in host::SANDBOX_REPORT,
        FolderChanged => "folder_changed" in host::FOLDER_CHANGED,
        Warning => "warning" in host::WARNING,
        Error => "error" in host::ERROR,
    }
}
