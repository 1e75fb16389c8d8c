//! The orders for our program when it is started anew.

use std::net::SocketAddr;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::policy::Policy;

/// The command to become, as custody says it in an argument.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LaunchOrders {
    /// The policy that the command runs under.
    pub(crate) policy: Policy,
    /// Attempts of a self-test, made instead of running a program.
    pub(crate) probe: Option<Probe>,
}

/// The targets of a self-test's attempts from inside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Probe {
    /// A folder that must not be changed.
    pub(crate) outside: PathBuf,
    /// A file that must not be read.
    pub(crate) secret: PathBuf,
    /// A TCP listener that must not be reached.
    pub(crate) tcp: SocketAddr,
    /// A UDP socket that must not be reached.
    pub(crate) udp: SocketAddr,
    /// A repository's own folder, whose hooks and settings must not be changed.
    pub(crate) repository: PathBuf,
    /// A file that a process keeps locked which tries to live on.
    pub(crate) survivor: PathBuf,
}
