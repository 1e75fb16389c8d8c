//! The dashboard over HTTP: who may come in, what is refused, what is on the pages, how a run is followed.
//!
//! Begin with `world.rs`: a home with runs, and requests as a browser or somebody else makes them.

mod acts;
mod door;
mod follow;
mod guard;
mod pages;
mod past;
mod speed;
mod world;
