//! The endings of a command, and the exit codes that tell scripts of them.

/// Ending of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// Everything asked for was done.
    Done,
    /// Something failed: ours, the agent's, the provider's; or `replay` found drift.
    Failed,
    /// Wrong usage, or an invalid brief.
    Usage,
    /// The run stands in phase 2 and goes on with new context.
    Blocked,
    /// The run waits for an operator, and no operator is there to ask.
    Waiting,
    /// A limit was reached: steps, money, tokens, time.
    LimitReached,
    /// The operator said no to the confirmation summary, or stopped the run.
    Declined,
    /// Ctrl-C, twice.
    Interrupted,
}

/// The exit code of `ending`: a promise to scripts (design section 7).
#[must_use]
pub const fn exit_code(ending: Ending) -> u8 {
    match ending {
        Ending::Done => 0,
        Ending::Failed => 1,
        Ending::Usage => 2,
        Ending::Blocked => 3,
        Ending::Waiting => 4,
        Ending::LimitReached => 5,
        Ending::Declined => 6,
        Ending::Interrupted => 130,
    }
}
