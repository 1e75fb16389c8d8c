//! The hooks port: an operator's executable is asked about a call.

use adjutant_core::gate::{HookAnswer, HookCall};

use crate::{CancellationToken, Pending};

/// Whatever asks guard hooks.
pub trait Hooks: Send + Sync {
    /// Asks one hook. Never fails: a hook that can't be started, takes too long or says nothing that can be read
    /// gives an answer that says so, and that asks.
    ///
    /// `None` if `cancel` fired before there was an answer; nothing of the hook is left running then either.
    fn ask<'a>(&'a self, call: &'a HookCall, cancel: CancellationToken) -> Pending<'a, Option<HookAnswer>>;
}
