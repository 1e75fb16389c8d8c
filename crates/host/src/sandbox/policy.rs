//! What a command is kept to, as plain data: it is made by us and read by ourselves, started anew.

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::caches::Cache;
use super::layer::Layer;
use super::settings_copy::SettingsCopy;

/// What a command is kept to. All paths are absolute.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy {
    /// The layers to set up; those that are not here are left out.
    pub layers: BTreeSet<Layer>,
    /// The layers without which the command is not run.
    pub required: BTreeSet<Layer>,
    /// What it may do on the network.
    pub network: Network,
    /// What it may read and run. What is not there is left out.
    pub read: Vec<PathBuf>,
    /// What it may change.
    pub write: Vec<PathBuf>,
    /// Caches that it may fill, each in the place where tools look for it.
    pub caches: Vec<Cache>,
    /// What it must not see, wherever that lies.
    pub hidden: Vec<PathBuf>,
    /// What of that is hidden because `deny_read` names it.
    #[serde(default)]
    pub unread: Vec<PathBuf>,
    /// Copies that it sees in the place of files which hold credentials beside settings.
    pub copies: Vec<SettingsCopy>,
    /// What it must not change, though it lies in what it may change.
    pub protected: Vec<PathBuf>,
    /// What it may change and must not move away or put something else in the place of.
    pub kept_in_place: Vec<PathBuf>,
    /// A folder of ours with the sub-folders that a sandbox needs; see `scratch.rs`.
    pub scratch: PathBuf,
    /// How much of the machine it may take.
    pub limits: Limits,
}

/// What a command may do on the network.
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
pub(super) enum Reach {
    /// No network and no namespace: no socket but local ones.
    LocalSockets,
    /// The loopback interface of a namespace without a way out.
    Loopback,
    /// Whatever the machine may.
    Everywhere,
}

/// How much of the machine a command may take. A limit above what we have ourselves is ours.
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
    /// What a large build needs with room to spare, and far from what brings a machine down.
    fn default() -> Self {
        Self { file_bytes: 16 << 30, descriptors: 16_384, processes: 4_096, memory_bytes: None }
    }
}

impl Network {
    /// What is within reach, with a namespace of its own or without.
    pub(super) fn reach(self, has_namespace: bool) -> Reach {
        match self {
            Self::On => Reach::Everywhere,
            Self::Off if has_namespace => Reach::Loopback,
            Self::Off => Reach::LocalSockets,
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
