//! The layers of the sandbox, and which of them held.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

/// One thing that the kernel does for us, in the order in which it is set up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Layer {
    /// Limits on core dumps, file size, descriptors, processes and memory.
    Limits,
    /// A user, pid and ipc namespace: the command sees no process but its own, and all of them end with it.
    Processes,
    /// A network namespace with loopback and no way out; only where the network is off.
    Network,
    /// A mount namespace with a root of its own: what is not on a list is not there.
    Mounts,
    /// No privilege is gained by running a program, and none is left.
    Privileges,
    /// Landlock: reads and writes by path, abstract sockets, signals; TCP, where it is off and has no namespace.
    Landlock,
    /// A filter of system calls: sockets other than local ones, and what a way out begins with.
    Seccomp,
}

impl Layer {
    /// All of them, in order.
    pub const ALL: [Self; 7] =
        [Self::Limits, Self::Processes, Self::Network, Self::Mounts, Self::Privileges, Self::Landlock, Self::Seccomp];

    /// Its name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Limits => "limits",
            Self::Processes => "processes",
            Self::Network => "network",
            Self::Mounts => "mounts",
            Self::Privileges => "privileges",
            Self::Landlock => "landlock",
            Self::Seccomp => "seccomp",
        }
    }

    /// All of them as a set.
    #[must_use]
    pub fn all() -> BTreeSet<Self> {
        Self::ALL.into()
    }
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A layer that was wanted and did not hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Absent {
    /// The layer.
    pub layer: Layer,
    /// The kernel's reason.
    pub why: String,
}

/// The outcome of setting up the layers that were wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layers {
    /// Those that hold.
    pub held: Vec<Layer>,
    /// Those that don't.
    pub absent: Vec<Absent>,
}

impl Layers {
    /// Records the outcome of one layer.
    pub fn note<E: fmt::Display>(&mut self, layer: Layer, set_up: Result<(), E>) {
        match set_up {
            Ok(()) => self.held.push(layer),
            Err(why) => self.absent.push(Absent { layer, why: why.to_string() }),
        }
    }

    /// Returns true if `layer` holds.
    #[must_use]
    pub fn has(&self, layer: Layer) -> bool {
        self.held.contains(&layer)
    }
}
