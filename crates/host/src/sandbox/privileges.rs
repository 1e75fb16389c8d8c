//! Rights that a command doesn't get, and none that it keeps.

use std::io;

use rustix::thread::{CapabilitySet, CapabilitySets};

/// The most capabilities that a kernel can have: the bits of a set.
const CAPABILITIES_MAX: u32 = 64;

/// Gives up every capability for good, also those that running a program as root or with a set-id bit would
/// give back.
pub(super) fn give_up() -> io::Result<()> {
    rustix::thread::set_no_new_privs(true)?;
    for number in 0..CAPABILITIES_MAX {
        let one = CapabilitySet::from_bits_retain(1 << number);
        match rustix::thread::remove_capability_from_bounding_set(one) {
            // The kernel knows no capability of this number.
            Ok(()) | Err(rustix::io::Errno::INVAL) => {}
            // Without the right to give up there is none to lose either: `no_new_privs` keeps it so.
            Err(rustix::io::Errno::PERM) if has_none()? => return Ok(()),
            Err(error) => return Err(error.into()),
        }
    }
    rustix::thread::clear_ambient_capability_set()?;
    let none = CapabilitySet::empty();
    rustix::thread::set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })?;
    Ok(())
}

fn has_none() -> io::Result<bool> {
    Ok(rustix::thread::capabilities(None)?.permitted.is_empty())
}
