//! The words that everything else uses: names on the wire, as types of their own. Depends on nothing of ours.

mod bound;
mod call;
mod gate;
mod limit;
mod outcome;
mod part_kind;
mod phase;
pub mod text;
mod turn;

pub use bound::Bound;
pub use call::{CancelledBy, Rejection, RescueKind};
pub use gate::{GateAnswer, HookFault, Lasts, Layer, Look, OperatorWord};
pub use limit::LimitSource;
pub use outcome::{Effect, Outcome};
pub use part_kind::PartKind;
pub use phase::PhaseName;
pub use turn::{FailureKind, MessageKind, MessageRole, Stop, Usage};
