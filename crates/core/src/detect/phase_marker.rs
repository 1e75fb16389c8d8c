//! Finds the phases that a turn declares: an observation, it moves nothing.
//!
//! A line that begins with `Phase` and a number from 0 to 4, behind up to four hashes or none. Markers inside closed
//! fences are shown, not declared (C32).
//!
//! | sensitivity | counts |
//! | --- | --- |
//! | default, loose | every such line |
//! | strict | headings only |

use serde::Serialize;

use super::Sensitivity;
use super::page::Page;

/// The phases that a turn declares.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct PhaseMarker {
    /// All of them, in order.
    pub declared: Vec<DeclaredPhase>,
    /// The last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last: Option<DeclaredPhase>,
}

/// A phase by the name it has on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DeclaredPhase {
    /// Phase 0.
    Intake,
    /// Phase 1.
    Execute,
    /// Phase 2.
    Blocker,
    /// Phase 3.
    Destructive,
    /// Phase 4.
    Completion,
}

impl DeclaredPhase {
    fn numbered(number: u8) -> Option<Self> {
        match number {
            0 => Some(Self::Intake),
            1 => Some(Self::Execute),
            2 => Some(Self::Blocker),
            3 => Some(Self::Destructive),
            4 => Some(Self::Completion),
            _ => None,
        }
    }
}

pub(super) fn read(page: &Page<'_>, sensitivity: Sensitivity) -> PhaseMarker {
    let mut declared = Vec::new();
    // A marker may run over a line's end (`#`, newline, `phase 1`); the next one starts behind it.
    let mut read_to = 0;
    for head in &page.heads {
        let counts = match sensitivity {
            Sensitivity::Strict => head.is_heading(),
            Sensitivity::Default | Sensitivity::Loose | Sensitivity::Disabled => head.is_heading() || head.is_bare(),
        };
        if !counts || head.word < read_to || page.fences.hide_marker(head.word) {
            continue;
        }
        if let Some((number, end)) = head.whole_phase(&page.lower) {
            declared.extend(DeclaredPhase::numbered(number));
            read_to = end;
        }
    }
    let last = declared.last().copied();
    PhaseMarker { declared, last }
}
