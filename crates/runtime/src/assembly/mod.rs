//! A run is put together: from what is wanted, the configuration and the environment to a sitting that a driver carries
//! out.
//!
//! In: a brief and [`RunSettings`] for [`begin()`], or the name of a run for [`take_over()`]; the process that does it as a
//! value, [`Surroundings`]. Out: a [`Sitting`], which gives a driver as soon as an operator is there. Asks nobody: what an
//! operator is to know is a [`Remark`], and what keeps a run from going on is [`Unready`], before anything is on record.
//!
//! Begin with `begin.rs`. What can be set for a run is a table, `option_table.rs`; what holds is worked
//! out in `settings.rs`, what its adapters have to work with in
//! `equipment.rs`; `agents.rs` makes the agents, `sandbox.rs` what commands are kept from, and `folder.rs` claims the
//! folder.

mod begin;
mod take_over;
mod sitting;
mod folder;
mod settings;
pub mod option_table;
mod run_options;
mod crew;
mod looped;
mod agents;
mod equipment;
pub mod sandbox;
mod surroundings;
mod sourced;
mod remark;
mod unready;

pub use agents::{AgentError, Unpriced, adapter_named, known_adapter};
pub use begin::{BeginRun, Keeping, RunExtent, begin, brief_id};
pub use crew::{CrewError, CrewSettings, custom_roles, read_brief};
pub use equipment::{ApiKey, Equipment, Lack, NOTIFY_KEY, Supplies};
pub use folder::{EnteredFolder, HeldUp, at_work, enter};
pub use looped::{LOOP_VARIABLES, LoopOverrides, LoopSettings, UNCERTAINTY_VARIABLES};
pub use remark::Remark;
pub use settings::{LearnedSetting, Overrides, RunSettings, SettingsError, mode, resolve};
pub use sitting::{Opening, Sitting, SystemClock, procedure, recorded_brief};
pub use sourced::Sourced;
pub use surroundings::{Environment, Surroundings};
pub use take_over::{ResumeChanges, TakeOver, TakenOver, latest_options, run_start, take_over};
pub use unready::Unready;
