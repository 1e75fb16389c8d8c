//! Has the linker keep one copy of functions that are the same: copies of generic code make a fiftieth of the program.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // Where the compiler brings LLD, which knows how. Others keep the copies.
    let is_lld = env::var("TARGET").is_ok_and(|target| target == "x86_64-unknown-linux-gnu");
    if is_lld && env::var("PROFILE").is_ok_and(|profile| profile == "release") {
        println!("cargo::rustc-link-arg-bin=adjutant=-Wl,--icf=all");
    }
}
