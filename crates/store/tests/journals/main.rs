//! Journals on a real disk: several processes that want one run, and lines that are longer than memory should be.

mod drivers;
mod long_journal;
mod long_line;
