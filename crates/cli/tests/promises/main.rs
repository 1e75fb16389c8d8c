//! What the program is held to: its own documents, the places where it keeps things, and the peer's recorded runs.

mod docs;
mod places;
mod scenarios;
