//! The words that everything else uses: ids, parts, slots, categories, choices, modes, the names on the wire as types
//! of their own, text made visible, what a turn costs. Depends on nothing of ours.

mod amendment;
mod bound;
pub mod budget;
mod call;
pub mod category;
mod crew;
pub mod effort;
pub mod fence;
mod gate;
pub mod id;
pub mod invisible;
mod key;
mod learned;
mod limit;
mod mode;
pub mod moment;
pub mod nearest;
mod outcome;
mod part_kind;
mod phase;
pub mod price;
pub mod provider_data;
mod question;
pub mod role;
pub mod text;
pub mod tool;
mod turn;
pub mod visible;

pub use amendment::Amendment;
pub use bound::Bound;
pub use budget::{Budget, LimitMetric, Metric};
pub use call::{CancelledBy, Rejection, RescueKind};
pub use category::Category;
pub use crew::{CrewState, Signal};
pub use gate::{GateAnswer, HookFault, Lasts, Layer, Look, OperatorWord};
pub use key::{BadPart, BadSlot, Key, Part, PartSegment, Slot, What, doer_of};
pub use learned::Applied;
pub use limit::LimitSource;
pub use mode::Mode;
pub use outcome::{InterruptedEffect, Outcome};
pub use part_kind::PartKind;
pub use phase::PhaseName;
pub use question::{Choice, Message, Offer, Question, QuestionKind};
pub use turn::{FailureKind, MessageKind, MessageRole, Stop, Usage};
