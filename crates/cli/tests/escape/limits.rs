//! Tests that the resources which a command may take of the machine are limited.

use adjutant_host::sandbox::{Limits, Network};

use crate::world::{World, limited};

#[test]
fn a_file_has_a_largest_size() {
    let world = World::new();
    let limits = Limits { file_bytes: 1 << 20, ..Limits::default() };
    let ended = world.run(limited(limits), Network::Off, "head -c 5000000 /dev/zero > big");
    World::expect_whole(&ended);
    assert_eq!(std::fs::metadata(world.at("work/big")).unwrap().len(), 1 << 20);
}

#[test]
fn processes_have_a_largest_number() {
    let world = World::new();
    // More than the numbers that the kernel keeps for itself.
    let limits = Limits { processes: 400, ..Limits::default() };
    let line = "sh -c 'n=0; while [ $n -lt 2000 ]; do sleep 100 & n=$((n+1)); done'";
    let ended = world.run(limited(limits), Network::Off, line);
    // The shell gives up where it can start no more: it is enough that it ended, and how much was there.
    assert!(ended.layers.is_some_and(|layers| layers.absent.is_empty()));
    assert!((100..400).contains(&ended.left_behind), "{} processes", ended.left_behind);
}

#[test]
fn memory_has_a_largest_size() {
    let world = World::new();
    let limits = Limits { memory_bytes: Some(256 << 20), ..Limits::default() };
    let line = "head -c 1000000000 /dev/zero | tail -c 900000000 > /dev/null || echo refused";
    let ended = world.run(limited(limits), Network::Off, line);
    World::expect_whole(&ended);
    assert!(ended.stdout.text().contains("refused"), "{}", ended.stdout.text());
}

#[test]
fn nothing_dumps_its_core() {
    let world = World::new();
    let ended = world.run(limited(Limits::default()), Network::Off, "sh -c 'kill -SEGV $$'; ls core*");
    World::expect_whole(&ended);
    assert!(!ended.stderr.text().contains("core dumped"), "{}", ended.stderr.text());
}
