//! Whole runs, put together and driven without a terminal.

mod assembly;
mod council;
