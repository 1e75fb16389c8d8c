//! The ports through which the runtime reaches the outside world: traits and their data, nothing else.
//!
//! One file per port. A crate that implements a port depends on this crate and on `core`, never on the runtime that
//! uses it.

mod agent;
mod grants;
mod hooks;
mod journal;
mod memory;
mod operator;
mod tools;
mod workspaces;

use std::future::Future;
use std::pin::Pin;

pub use agent::{
    Agent, AgentFailure, Delta, FailureKind, OutgoingMessage, OutgoingRole, Reply, Stop, TurnRequest, Usage,
};
pub use grants::GrantStore;
pub use hooks::Hooks;
pub use journal::{AppendError, Durability, Holder, Journal};
pub use memory::{Memory, NotWritten, Written};
pub use operator::{Answered, Clock, Heard, Operator, Progress};
pub use tokio_util::sync::CancellationToken;
pub use tools::{Prepared, RescueName, Rescued, Settled, Tools, TreeAsk, TreeSight};
pub use workspaces::{NoOtherWorkspaces, Workspaces};

/// A future that a port returns: boxed, so that ports can be trait objects.
pub type Pending<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;
