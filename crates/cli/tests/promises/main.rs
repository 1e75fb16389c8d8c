//! Holds the program to its promises: its own documents, the places where it keeps things, and the peer's recorded
//! runs.

mod docs;
mod places;
mod scenarios;
