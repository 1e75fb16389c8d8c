//! Measures the time for the list of ten thousand runs: printed, not asserted. Run with `--run-ignored all
//! --no-capture`.

use std::fs;
use std::time::Instant;

use crate::world::{World, may_delete, warning};

const RUNS: usize = 10_000;

#[tokio::test]
#[ignore = "a measurement: it makes ten thousand journals"]
async fn how_long_ten_thousand_runs_take() {
    let world = World::open().await;
    // A journal of some twenty kilobytes, as a short run has it.
    let more = (0..40).map(|_| warning(&"x".repeat(500))).chain([may_delete(1, "May it?")]).collect();
    drop(world.run("2026-01-01-MODEL", "orchard", "b", more));
    let model = fs::read_to_string(world.home.journal(&"2026-01-01-MODEL".parse().expect("a name"))).expect("read");
    for number in 0..RUNS - 1 {
        let name = format!("2026-01-01-N{number:05}");
        let path = world.home.journal(&name.parse().expect("a name"));
        fs::write(path, model.replace("2026-01-01-MODEL", &name)).expect("written");
    }
    for what in ["first", "second", "third"] {
        let begun = Instant::now();
        let got = world.get("/runs").await;
        println!("{RUNS} runs of {} bytes, {what} time: {:?}", model.len(), begun.elapsed());
        assert!(got.text.contains("1–50 of 10000"), "{}", &got.text[..2_000]);
    }
    let begun = Instant::now();
    world.get("/runs?q=N0999&status=waits").await;
    println!("filtered: {:?}", begun.elapsed());
    let begun = Instant::now();
    world.get("/inbox").await;
    println!("the inbox, all of them asking: {:?}", begun.elapsed());
}
