//! Runs a command in a sandbox: the kernel keeps it from files outside its folders, secrets, the network, other
//! processes.
//!
//! In: a [`Policy`], which is plain data, made from [`Places`] and the operator's settings. Our own program is started
//! anew with it, puts one [`Layer`] after another around itself, says which of them held, and becomes the command. Each
//! layer can be left out by data, so that a kernel without it can be simulated. The gate decides whether a command may
//! be run at all; custody decides what becomes of its processes.
//!
//! Begin with [`Policy`]; `launch.rs` has the order of the layers, `self_test.rs` tests whether the walls hold.

mod layer;
mod policy;
mod places;
mod repository;
mod watch;
mod caches;
mod credentials;
mod embedded;
mod folders;
mod home;
mod lost;
mod nested;
mod orders;
mod refusals;
mod report;
mod settings;
mod settings_copy;
mod scratch;
mod self_test;
mod unread;
#[cfg(target_os = "linux")]
mod launch;
#[cfg(target_os = "linux")]
mod init;
#[cfg(target_os = "linux")]
mod limits;
#[cfg(target_os = "linux")]
mod namespaces;
#[cfg(target_os = "linux")]
mod loopback;
#[cfg(target_os = "linux")]
mod root;
#[cfg(target_os = "linux")]
mod privileges;
#[cfg(target_os = "linux")]
mod paths;
#[cfg(target_os = "linux")]
mod syscalls;
#[cfg(target_os = "linux")]
mod signals;
#[cfg(target_os = "linux")]
mod probe;
#[cfg(not(target_os = "linux"))]
mod other;

#[cfg(target_os = "linux")]
pub use launch::launched;
#[cfg(not(target_os = "linux"))]
pub use other::launched;

pub use caches::{Layered, WorkdirCache};
pub use layer::{Absent, Layer, Layers};
pub(crate) use orders::{LaunchOrders, Probe};
pub use places::Places;
pub use policy::{Limits, Network, Policy};
pub(crate) use report::{LaunchFailure, LaunchReport};
pub(crate) use repository::led_to;
pub use self_test::{SelfTest, Wall, self_test};
pub use settings::{Mode, Sandbox, Settings};
pub use settings_copy::SettingsCopy;
pub use watch::RepositoryFinding;
pub(crate) use watch::Watch;

/// The word by which our program is started anew to become a command.
pub const LAUNCH_WORD: &str = "__sandbox";
