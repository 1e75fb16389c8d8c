//! Namespaces: what a command can't see, it can't touch.

use std::io;

use rustix::thread::UnshareFlags;

use super::layer::{Layer, Layers};
use super::policy::{Network, Policy};
use super::{limits, loopback};

/// Enters the namespaces that the policy wants. What `mounts` needs is entered here too, and reported by
/// whoever builds the root.
pub(super) fn enter(policy: &Policy, layers: &mut Layers) {
    let wants = |layer| policy.layers.contains(&layer);
    let wants_network = wants(Layer::Network) && policy.network == Network::Off;
    if !(wants(Layer::Processes) || wants_network || wants(Layer::Mounts)) {
        return;
    }
    if let Err(error) = enter_user(policy) {
        // Root may do the rest without one.
        if !rustix::process::geteuid().is_root() {
            for layer in [Layer::Processes, Layer::Network, Layer::Mounts] {
                if wants(layer) && (layer != Layer::Network || wants_network) {
                    layers.note(layer, Err(format!("no user namespace: {error}")));
                }
            }
            return;
        }
    }
    if wants(Layer::Processes) {
        let entered = unshare(UnshareFlags::NEWPID).and_then(|()| unshare(UnshareFlags::NEWIPC));
        layers.note(Layer::Processes, entered);
    }
    if wants_network {
        let entered = unshare(UnshareFlags::NEWNET);
        if entered.is_ok() {
            // Without it tests that listen on loopback fail; it opens no way out.
            loopback::bring_up().ok();
        }
        layers.note(Layer::Network, entered);
    }
}

/// Enters a mount namespace. Returns true if a root of its own can then be tried: the process may have no right to it.
pub(super) fn has_mounts(policy: &Policy, layers: &mut Layers) -> bool {
    if !policy.layers.contains(&Layer::Mounts) || layers.absent.iter().any(|absent| absent.layer == Layer::Mounts) {
        return false;
    }
    match unshare(UnshareFlags::NEWNS) {
        Ok(()) => true,
        Err(error) => {
            layers.note(Layer::Mounts, Err(error));
            false
        }
    }
}

/// Enters a user namespace in which the user is who they are outside, and nobody else is known.
fn enter_user(policy: &Policy) -> io::Result<()> {
    let (user, group) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    unshare(UnshareFlags::NEWUSER)?;
    // The kernel wants this before a group is mapped by somebody without rights outside.
    std::fs::write("/proc/self/setgroups", "deny")?;
    std::fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
    std::fs::write("/proc/self/gid_map", format!("{group} {group} 1"))?;
    if policy.layers.contains(&Layer::Limits) {
        limits::set_processes(&policy.limits)?;
    }
    Ok(())
}

fn unshare(what: UnshareFlags) -> io::Result<()> {
    #[expect(unsafe_code, reason = "the call is unsafe for the table of descriptors")]
    // SAFETY: none of our flags unshares the table of descriptors or memory, and there is one thread.
    unsafe {
        rustix::thread::unshare_unsafe(what)?;
    }
    Ok(())
}
