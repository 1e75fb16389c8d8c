//! The operating system and the network, once: files below a workdir, processes in custody, HTTP behind
//! guards.
//!
//! Each keeps its promise by itself, whatever it is asked for: a [`workdir::Workdir`] never touches
//! anything outside, a command in [`custody`] leaves nothing running, an [`http::HttpClient`] never
//! connects to a private address it wasn't allowed. What should be done is decided elsewhere.

pub mod checkpoint;
pub mod custody;
pub mod environment;
pub mod grpc;
pub mod hooks;
pub mod http;
pub mod sandbox;
pub mod removal;
pub mod rescue;
pub mod standstill;
pub mod state_files;
pub mod text_file;
pub mod token_command;
pub mod webhook;
pub mod workdir;
pub mod working_tree;
