//! The `adjutant` binary, from outside: what an operator types, sees and finds on disk afterwards.
//!
//! Begin with `home.rs`: a folder of its own for every test, with a cleared environment. Each module is
//! one promise.

mod adapters;
mod anthropic;
mod at_a_terminal;
mod asked;
mod attacks;
mod calls;
mod changes;
mod crew;
mod crew_over_apis;
mod decide;
mod deny_read;
mod ending;
mod example_over_apis;
mod exit_codes;
mod first_run;
mod folders;
mod gemini;
mod golden;
mod grants;
mod guard;
mod help;
mod history;
mod home;
mod hostile;
mod inbox;
mod keys;
mod known_files;
mod killed;
mod learned;
mod limits;
mod list;
mod link_attacks;
mod loopback;
mod looped;
mod memory;
mod models;
mod newcomer;
mod openai;
mod readme;
mod recorded;
mod refused;
mod requests;
mod sandbox;
mod screens;
mod say;
mod terminal;
mod trace;
mod transcript;
mod two_drivers;
mod typed_ahead;
mod undo;
mod views;
mod work;
