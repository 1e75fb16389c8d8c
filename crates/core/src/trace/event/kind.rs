//! The types of events, by their names on the wire.

use super::Body;
use super::{
    AskEvent, BudgetEvent, CallEvent, CrewEvent, GateEvent, HandoffEvent, HostEvent, LearnedEvent, PartEvent, RunEvent,
    TurnEvent,
};

/// Makes the types from the families: each family with its events and their names.
macro_rules! kinds {
    ($($family:ident($events:ident) { $($kind:ident => $name:literal,)+ })+) => {
        /// The type of an event.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[expect(missing_docs, reason = "the events themselves say it")]
        pub enum Kind {
            $($($kind,)+)+
        }

        /// A family of events: those that belong together and are described in one file.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[expect(missing_docs, reason = "the files of the families say it")]
        pub enum Family {
            $($family,)+
        }

        impl Kind {
            /// All types, family by family.
            pub const ALL: &[Self] = &[$($(Self::$kind,)+)+];

            /// Its name on the wire.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $($(Self::$kind => $name,)+)+
                }
            }

            /// Returns the type of a name on the wire.
            #[must_use]
            pub fn named(name: &str) -> Option<Self> {
                Some(match name {
                    $($($name => Self::$kind,)+)+
                    _ => return None,
                })
            }

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
            pub const fn kind(&self) -> Kind {
                match self {
                    $($(Self::$family($events::$kind { .. }) => Kind::$kind,)+)+
                }
            }
        }
    };
}

kinds! {
    Run(RunEvent) {
        TraceVersion => "trace_version",
        RunStart => "run_start",
        RunResume => "run_resume",
        RunEnd => "run_end",
    }
    Part(PartEvent) {
        PartStart => "part_start",
        PartEnd => "part_end",
        PhaseEnter => "phase_enter",
        PhaseExit => "phase_exit",
        ModeSet => "mode_set",
        PhaseDrift => "phase_drift",
        DeadlinePassed => "deadline_passed",
    }
    Turn(TurnEvent) {
        Message => "message",
        AgentRequest => "agent_request",
        AgentReply => "agent_reply",
        AgentFailed => "agent_failed",
        AgentChanged => "agent_changed",
        ContextFolded => "context_folded",
        ContextCut => "context_cut",
        DetectorFired => "detector_fired",
        TurnRead => "turn_read",
    }
    Call(CallEvent) {
        ToolCall => "tool_call",
        RescueMade => "rescue_made",
        ToolResult => "tool_result",
        ToolCancelled => "tool_cancelled",
        ToolRejected => "tool_rejected",
        Interrupted => "interrupted",
    }
    Ask(AskEvent) {
        Question => "question",
        Answer => "answer",
        Expired => "expired",
        Withdrawn => "withdrawn",
        AnswerIgnored => "answer_ignored",
        OperatorMessage => "operator_message",
        Timer => "timer",
    }
    Gate(GateEvent) {
        AuthCheckFired => "auth_check_fired",
        AuthPrompt => "auth_prompt",
        GrantsLoaded => "grants_loaded",
        PermissionRequested => "permission_requested",
        PermissionGranted => "permission_granted",
        PermissionDenied => "permission_denied",
        PermissionGrantConsumed => "permission_grant_consumed",
        PermissionRevoked => "permission_revoked",
        HookCall => "hook_call",
        HookResult => "hook_result",
        TreeLook => "tree_look",
        TreeSeen => "tree_seen",
    }
    Budget(BudgetEvent) {
        BudgetWarn => "budget_warn",
        BudgetHalt => "budget_halt",
    }
    Crew(CrewEvent) {
        CoordinatorState => "coordinator_state",
        ScopeWarning => "scope_warning",
    }
    Handoff(HandoffEvent) {
        HandoffRead => "handoff_read",
    }
    Learned(LearnedEvent) {
        LearnedProfileApplied => "learned_profile_applied",
        LearnedBudgetConsulted => "learned_budget_consulted",
        LearnedSensitivityConsulted => "learned_sensitivity_consulted",
        MemoryInherited => "memory_inherited",
    }
    Host(HostEvent) {
        SandboxReport => "sandbox_report",
        FolderChanged => "folder_changed",
        Warning => "warning",
        Error => "error",
    }
}
