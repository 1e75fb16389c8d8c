//! The loopback interface of a new network namespace: it is there, but down.

use std::io;
use std::os::fd::AsRawFd;

use rustix::net::{AddressFamily, SocketType, socket};

/// Brings it up, so that what runs in this namespace can talk to itself.
///
/// # Errors
///
/// The system's, where there is no right to.
pub(super) fn bring_up() -> io::Result<()> {
    let any = socket(AddressFamily::INET, SocketType::DGRAM, None)?;
    let mut request = libc::ifreq {
        ifr_name: [0; libc::IFNAMSIZ],
        ifr_ifru: libc::__c_anonymous_ifr_ifru { ifru_flags: libc::IFF_UP as libc::c_short },
    };
    for (place, byte) in request.ifr_name.iter_mut().zip(b"lo") {
        *place = byte.cast_signed();
    }
    #[expect(unsafe_code, reason = "no crate of ours sets the flags of an interface")]
    // SAFETY: the call reads one `ifreq`, which is whole and outlives it, and the descriptor is open.
    let done = unsafe { libc::ioctl(any.as_raw_fd(), libc::SIOCSIFFLAGS as _, &raw const request) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
