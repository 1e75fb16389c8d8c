//! Attempts to get out of the sandbox, made for real: by the program that users run, on this machine's kernel.
//!
//! Every attack runs in a small world of its own (`world.rs`), and after each of them the same is looked for:
//! nothing outside has changed, no secret was read, nobody was reached, nothing lives on. Those that can do no
//! harm here are made without a sandbox as well, where they must succeed: an attack that never works proves
//! nothing. On a system other than Linux there is nothing to try.

#![cfg(target_os = "linux")]

mod attacks;
mod caches;
mod credentials;
mod layers;
mod limits;
mod repository;
mod work;
mod world;
