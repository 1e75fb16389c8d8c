//! Guard hooks that agree. One whose program is `panics` does.

use std::sync::Arc;

use adjutant_core::gate::{HookAnswer, HookCall};
use adjutant_ports::{CancellationToken, Hooks, Pending};

use crate::backdrop::Life;
use crate::scene::staged_panic;

pub(crate) struct StagedHooks(pub(crate) Arc<Life>);

impl Hooks for StagedHooks {
    fn ask<'a>(&'a self, call: &'a HookCall, cancel: CancellationToken) -> Pending<'a, Option<HookAnswer>> {
        Box::pin(async move {
            let Self(life) = self;
            life.lives().await;
            life.begins(format!("hook {}", call.hook.name()));
            life.step().await;
            if call.hook.name() == "panics" {
                staged_panic();
            }
            tokio::select! {
                biased;
                () = cancel.cancelled() => None,
                () = life.takes("hook", 50) => Some(HookAnswer::read(r#"{"decision":"allow"}"#)),
            }
        })
    }
}
