//! The dashboard in a real browser: Debian's chromium, driven over WebDriver.
//!
//! Begin with `live.rs`, where a run is followed and answered. `access.rs` looks at every page as somebody does who
//! can't see, or has a phone; `elsewhere.rs` is what a page of another origin can't do. Where there is no browser these
//! tests say what to install and check nothing, unless `ADJUTANT_TEST_BROWSER` is set: `cargo xtask test` sets it.

mod access;
mod elsewhere;
#[allow(dead_code, reason = "shared with the tests from outside, which need more of it")]
#[path = "../e2e/home.rs"]
mod home;
mod live;
mod past;
mod plain;
mod webdriver;
mod world;
