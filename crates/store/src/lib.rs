//! Remembers: the journals of runs, the right to drive one, contents too large for a line, configuration,
//! keys.
//!
//! In: a [`Home`] and the time, both as arguments; nothing here reads the environment or a clock. Out:
//! files that survive the death of the process that wrote them. Decides nothing about a run: what an event
//! means is `core`'s.
//!
//! Begin with [`FileJournal`], which implements the journal port. [`lease`] says who may write, [`recover`] what a
//! journal still holds after a crash or a fault, [`chain`] whether its lines fit, [`verify`] whether it is what was
//! written, [`pack`] puts it up for a third party, [`prune`] removes what is old, [`runs`] says which runs there are,
//! [`scan`] reads any file of lines in bounded memory, [`history`] walks over all traces of a project, [`config`] reads
//! what an operator set, [`keys`] the keys of model APIs, [`grants`] the grants that outlive a run, [`memory`] what
//! projects remember, [`mailbox`] what is answered to the questions of a run from anywhere, [`trust`] which files of
//! projects may run something, [`folders`] which runs are at work in which folder.

pub mod home;
pub mod journal;
pub mod recover;
pub mod verify;
pub mod pack;
mod batches;
mod decoders;
pub mod chain;
pub mod lease;
pub mod disk;
pub mod folders;
pub mod artifacts;
pub mod runs;
pub mod prune;
mod shared;
pub mod scan;
pub mod history;
pub mod config;
pub mod keys;
mod fresh;
pub mod grants;
pub mod memory;
pub mod mailbox;
pub mod notices;
pub mod profiles;
mod own_lines;
pub mod plain_file;
pub mod trust;

pub use artifacts::Artifacts;
pub use grants::GrantFile;
pub use home::Home;
pub use journal::{CreateError, Damage, FileJournal, OpenError, Recovered};
pub use lease::{Heartbeat, Owner};
pub use mailbox::Mailbox;
pub use memory::MemoryStore;
