//! Asks the operator about commands that the sandbox can't fully hold.
//!
//! A brief that authorizes commands relies on the kernel for what they can reach. Where a wall is missing and
//! the agent goes on alone, nobody would see what gets out, so that each command is asked for first.

use super::authorization;
use super::decision::{Finding, GateRequest};
use crate::words::category::SHELL_EXEC;
use crate::words::{Category, GateAnswer, Layer};

/// Asks for a command while walls are missing, unless an operator's yes covers it.
pub(super) fn without_walls(request: &GateRequest<'_>, required: &[Category]) -> Option<Finding> {
    let runs_commands = required.iter().any(|category| category.as_str() == SHELL_EXEC);
    let command = [Category::new(SHELL_EXEC)];
    let is_approved = request.call_is_approved || authorization::check(&command, &[], request.approved_for_run).allowed;
    (runs_commands && !is_approved && !request.missing_walls.is_empty()).then(|| Finding {
        answer: GateAnswer::Ask,
        layer: Layer::Sandbox,
        matched: None,
        reason: format!("the sandbox is not whole here: {} missing", request.missing_walls.join(", ")),
        missing: command.to_vec(),
        would_allow: Some(
            "an operator's yes to this call or for the run, `gated` mode, or a kernel that has the sandbox".to_owned(),
        ),
    })
}
