//! Whole runs, put together and driven without a terminal; in `driven` they are simulated, and killed anywhere.

mod assembly;
mod council;
mod driven;
