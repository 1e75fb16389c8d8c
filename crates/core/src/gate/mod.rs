//! The gate: allow, ask or refuse one tool call, with its reason.
//!
//! In: a call, and everything that was authorized, approved or forbidden. Out: a decision that names the
//! check that decided and what would allow the call. It carries out nothing and asks nobody; what an
//! operator answered comes in as an approval.
//!
//! The checks that follow the gate's own (`untrusted.rs`: text from outside came before; `guard_hook.rs`: an
//! operator's executable was asked) can only tighten (`tighten.rs`).
//!
//! Begin with [`judge`] in `decision.rs`. Words for effects are in `category.rs`, matching them in
//! `authorization.rs`, limits of roles in `role_limit.rs`; `native.rs` and `effects.rs` say what a call needs,
//! `resolved.rs` what it needs by where its paths really are; `deny_read.rs` has
//! the files that no agent may read; `walls.rs` asks where the sandbox is not whole.
//! [`shell`] reads command lines. [`secrets`] keeps secrets out of what agents and journals see.

pub mod again;
pub mod authorization;
pub mod checks;
pub mod custom_role;
pub mod custody;
mod decide;
mod decision;
pub mod deny_read;
pub mod effect;
mod effects;
pub mod grant;
pub mod grant_line;
pub mod guard_hook;
pub mod native;
pub mod permission;
mod places;
pub mod protected;
pub mod rescue;
mod resolved;
pub(crate) mod role_limit;
pub mod scope;
pub mod secrets;
pub mod shell;
mod tighten;
mod untrusted;
mod walls;

#[cfg(test)]
mod field_tests;
#[cfg(test)]
mod tests;

pub use decide::decide;
pub use decision::{Decision, Finding, GateAnswer, GateRequest, Layer, OneOrMore, judge, not_authorized, strictest};
pub use effect::{Act, Effect, Target, Verdict};
pub use effects::effects_of;
pub use grant::{Grant, Lasts};
pub use guard_hook::{GuardHook, HookAnswer, HookCall, HookFault, HookFile};
pub use places::Places;
pub use resolved::{effects_of_call, named_paths};
pub use role_limit::{RoleGrant, RoleLimit, RoleScope};
pub use scope::{Scope, ScopeWords};
pub use untrusted::{AfterUntrusted, SOURCES_MAX, Untrusted};
