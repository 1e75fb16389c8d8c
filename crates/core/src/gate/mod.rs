//! The gate: allow, ask or refuse one tool call, with its reason.

mod category;

pub use category::Category;
mod stub;
pub use stub::*;
