//! A line that is longer than the memory that scanning past it may take.
//!
//! The peak is that of the whole process. Under `cargo test` the other tests of this executable add to it, and all
//! together stay below the bound.

use std::io::{self, Read as _};

use adjutant_store::scan::{LineFault, Use, scan};

#[test]
fn a_line_of_a_hundred_megabytes_is_passed_over_in_bounded_memory() {
    let long = io::repeat(b'x').take(100 * 1024 * 1024);
    let bytes = b"{}\n{".chain(long).chain(&b"\n{\"a\":1}\n"[..]);
    let mut found = Vec::new();
    let scan = scan(bytes, |number, _| {
        found.push(number);
        Use::Taken
    })
    .expect("readable");
    assert_eq!((found, scan.damaged), (vec![1, 3], vec![(2, LineFault::TooLong)]));
    if let Some(peak_kib) = peak_kib() {
        assert!(peak_kib < 64 * 1024, "{peak_kib} KiB");
    }
}

/// The most memory that this process ever had at once, where the system says so.
fn peak_kib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_ascii_whitespace().nth(1)?.parse().ok()
}
