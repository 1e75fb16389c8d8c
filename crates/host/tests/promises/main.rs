//! The promises of the host, tried on the real system: a temporary folder, real processes, the loopback
//! network.

mod custody;
mod hooks;
mod hostile_http;
mod http;
mod proxies;
mod workdir;
