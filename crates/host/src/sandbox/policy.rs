//! The policy that a command runs under, as plain data: it is made by us and read by ourselves, started anew.

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::caches::WorkdirCache;
use super::layer::Layer;
use super::settings_copy::SettingsCopy;

/// The policy that a command runs under. All paths are absolute.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy {
    /// The layers to set up; those that are not here are left out.
    pub layers: BTreeSet<Layer>,
    /// The layers without which the command is not run.
    pub required: BTreeSet<Layer>,
    /// Its network access.
    pub network: Network,
    /// Paths that it may read and run. Paths that don't exist are left out.
    pub read: Vec<PathBuf>,
    /// Paths that it may change.
    pub write: Vec<PathBuf>,
    /// Caches that it may fill, each in the place where tools look for it.
    pub caches: Vec<WorkdirCache>,
    /// Paths that it must not see, in any folder.
    pub hidden: Vec<PathBuf>,
    /// Those of the hidden paths that `deny_read` names.
    #[serde(default)]
    pub unread: Vec<PathBuf>,
    /// Copies that it sees in the place of files which hold credentials beside settings.
    pub copies: Vec<SettingsCopy>,
    /// Paths that it must not change, though they lie in paths that it may change.
    pub protected: Vec<PathBuf>,
    /// Paths that it may change, and must not move away or replace.
    pub kept_in_place: Vec<PathBuf>,
    /// A folder of ours with the sub-folders that a sandbox needs; see `scratch.rs`.
    pub scratch: PathBuf,
    /// Limits on its use of the machine.
    pub limits: Limits,
}

/// The network access of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Network {
    /// Nothing: only what it starts itself can be reached.
    Off,
    /// Whatever the machine may: the gate authorized it.
    On,
}

/// The network that a command finds, once it is known whether a namespace of its own could be had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NetworkReach {
    /// No network and no namespace: no socket but local ones.
    LocalSockets,
    /// The loopback interface of a namespace without a way out.
    Loopback,
    /// Whatever the machine may.
    Everywhere,
}

/// Limits on a command's use of the machine. A limit above our own has no effect: ours holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// The bytes of one file that it writes.
    pub file_bytes: u64,
    /// The descriptors of one process.
    pub descriptors: u64,
    /// The processes and threads of the whole command; needs the layer `processes`.
    pub processes: u64,
    /// The bytes of memory that one process may write to; `None` for no limit.
    pub memory_bytes: Option<u64>,
}

impl Default for Limits {
    /// Returns limits that leave a large build room to spare, and are far from bringing a machine down.
    fn default() -> Self {
        Self { file_bytes: 16 << 30, descriptors: 16_384, processes: 4_096, memory_bytes: None }
    }
}

impl Network {
    /// Returns the network within reach, with a namespace of its own or without.
    pub(super) fn reach(self, has_namespace: bool) -> NetworkReach {
        match self {
            Self::On => NetworkReach::Everywhere,
            Self::Off if has_namespace => NetworkReach::Loopback,
            Self::Off => NetworkReach::LocalSockets,
        }
    }
}

impl Policy {
    /// The folder that commands have as `/tmp`.
    #[must_use]
    pub fn temp(&self) -> PathBuf {
        self.scratch.join("tmp")
    }

    /// The empty folder on which a root is put together.
    pub(super) fn stage(&self) -> PathBuf {
        self.scratch.join("root")
    }

    /// The empty folder that stands for hidden folders.
    pub(super) fn no_folder(&self) -> PathBuf {
        self.scratch.join("none")
    }

    /// The empty file that stands for hidden files.
    pub(super) fn no_file(&self) -> PathBuf {
        self.scratch.join("nothing")
    }
}
