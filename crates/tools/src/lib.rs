//! Touches the world for an agent: the native tools.
//!
//! Begin with [`NativeTools`], which carries out calls below one workdir, or with [`catalog`], which lists
//! the tools without one. What a call may do is decided by the gate before it gets here; what a path or an
//! address can reach is kept by the host. Here is what each tool takes, does and says.

mod args;
mod catalog;
mod native;

pub use catalog::{catalog, catalog_before_records};
pub use native::{NativeTools, Options, ProjectMemory, Shell};
