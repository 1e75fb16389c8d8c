//! Runs the real driver in a world of fakes: virtual time, and a kill wherever it is told to.
//!
//! In: a way to make a run, a [`Scene`] and a [`RunFate`]. Out: how the run ended with its journal and effects, or the
//! [`BrokenInvariant`] of an invariant. The scene survives a kill, the driver and all that is in flight do not. Nothing sleeps
//! in real time and nothing is random: a seed repeats a run to the byte.
//!
//! Begin with [`simulate`]; what is checked is listed in `invariants.rs`. One file for each fake of a port.

mod agent;
mod crews;
mod disk;
mod fate;
mod grants;
mod hooks;
mod invariants;
mod operator;
mod backdrop;
mod scene;
mod sessions;
mod simulate;
mod tools;

pub use backdrop::{HadEffect, ShownQuestion};
pub use crews::{crew, crew_setup, executing, planning, reviewing};
pub use fate::{Death, PlantedFault, RunFate};
pub use invariants::{BrokenInvariant, Invariant};
pub use scene::{Presence, Scene, SceneMoment, StagedAnswer, StagedLetter, StagedTurn, call};
pub use sessions::{PRICES, SidePanel, alone, beginning, in_workspaces, setup, side_by_side, tool};
pub use simulate::{LifeEnd, SceneReport, simulate};
