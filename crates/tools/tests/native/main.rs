//! The native tools in a temporary workdir: the recorded cases, what each tool promises, and what a hostile
//! agent or folder may try.

mod hostile;
mod memory;
mod patching;
mod place;
mod recorded;
mod tools;
mod waiting;
