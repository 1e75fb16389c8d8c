//! The words that everything else uses: names on the wire, as types of their own. Depends on nothing of ours.

mod bound;
mod call;
mod limit;
mod outcome;
mod phase;
pub mod text;
mod turn;

pub use bound::Bound;
pub use call::{Rejection, RescueKind};
pub use limit::LimitSource;
pub use outcome::{Effect, Outcome};
pub use phase::PhaseName;
pub use turn::{FailureKind, MessageKind, MessageRole, Stop, Usage};
