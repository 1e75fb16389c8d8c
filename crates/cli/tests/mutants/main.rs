//! Destructive and external commands, written in every way that we could think of: none turns safe.
//!
//! Each command of the vectors is written otherwise by each mutator. Every mutant is *run* in a throw-away folder,
//! with fakes for the programs that are not there, and counts only if it does what the command did; then the
//! shell reader must not call it safe. Its harmless twin, written the same way, must pass.

mod mutators;
mod throw_away;

use std::collections::BTreeMap;
use std::sync::Mutex;

use mutators::Twin;
use serde_json::{Value, json};
use throw_away::{Done, ThrowAway};

const VECTORS: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/vectors/shell-commands.jsonl"));
/// Number of mutants of each command that have to do what it did.
const MUTANTS_MIN: usize = 50;
/// Commands that only read, however they are written.
const TWINS: [&str; 8] = [
    "ls -la dist",
    "cat data.txt",
    "grep -rn TODO src",
    "git status --short",
    "find src -name '*.rs'",
    "echo 'rm -rf dist'",
    "wc -l data.txt | tail -n 1",
    "test -d dist && echo \"it is there\"",
];

/// Returns the shell reader's verdict on a line.
fn verdict(line: &str) -> String {
    let read = adjutant_core::gate::shell::decide(&json!({ "command": line })).expect("a command is read");
    read["verdict"].as_str().expect("a verdict").to_owned()
}

fn dangerous() -> Vec<(String, String)> {
    let vectors = VECTORS.lines().map(|line| serde_json::from_str::<Value>(line).expect("a vector"));
    let text = |vector: &Value, name: &str| vector[name].as_str().expect("text").to_owned();
    vectors
        .filter(|vector| vector["strength"] == "must" && vector["label"] != "safe" && vector["shell"] == "bash")
        .map(|vector| (text(&vector, "id"), text(&vector, "command")))
        .collect()
}

/// Returns true if `mutant` did everything that `command` did.
fn does_the_same(command: &Done, mutant: &Done) -> bool {
    let is_same_on_disk =
        command.changed.iter().all(|(path, state)| mutant.changed.get(path).is_some_and(|other| other == state));
    is_same_on_disk && command.called.iter().all(|call| mutant.called.contains(call))
}

/// Calls `work` with every item, on as many threads as there are processors.
fn in_parallel<T: Sync>(items: &[T], work: impl Fn(&T) + Sync) {
    let next = std::sync::atomic::AtomicUsize::new(0);
    let threads = std::thread::available_parallelism().map_or(2, std::num::NonZeroUsize::get);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(item) = items.get(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed)) {
                    work(item);
                }
            });
        }
    });
}

#[test]
fn no_mutant_of_a_destructive_or_external_command_turns_safe() {
    let commands = dangerous();
    assert!(commands.len() >= 45, "only {} commands", commands.len());
    let mutators = mutators::all();
    let proven: Mutex<BTreeMap<usize, Vec<&'static str>>> = Mutex::default();
    let turned: Mutex<Vec<String>> = Mutex::default();
    let places: Vec<usize> = (0..commands.len()).collect();
    in_parallel(&places, |place| {
        let (id, command) = &commands[*place];
        let mut folder = ThrowAway::new();
        let done = folder.run(command);
        assert!(!done.changed.is_empty() || !done.called.is_empty(), "{id} does nothing here: {command}");
        for mutator in &mutators {
            let Some(mutant) = mutator.apply(command) else { continue };
            if !does_the_same(&done, &folder.run(&mutant)) {
                continue;
            }
            proven.lock().unwrap().entry(*place).or_default().push(mutator.name);
            if verdict(&mutant) == "safe" {
                turned.lock().unwrap().push(format!("{id}, {}: {mutant}", mutator.name));
            }
        }
    });
    let (proven, turned) = (proven.into_inner().unwrap(), turned.into_inner().unwrap());
    let total: usize = proven.values().map(Vec::len).sum();
    println!("{} commands, {} mutators, {total} mutants that do the act", commands.len(), mutators.len());
    for (place, (id, command)) in commands.iter().enumerate() {
        let count = proven.get(&place).map_or(0, Vec::len);
        assert!(count >= MUTANTS_MIN, "only {count} mutants of {id} do what it does: {command}");
    }
    for mutator in &mutators {
        let works = proven.values().any(|names| names.contains(&mutator.name));
        assert!(works, "`{}` works for no command: it proves nothing", mutator.name);
    }
    assert!(turned.is_empty(), "{} mutants turned safe:\n{}", turned.len(), turned.join("\n"));
}

#[test]
fn the_harmless_twins_pass() {
    let mut stopped = Vec::new();
    for twin in TWINS {
        assert_eq!(verdict(twin), "safe", "{twin}");
        for mutator in mutators::all().iter().filter(|mutator| mutator.twin == Twin::Passes) {
            if let Some(mutant) = mutator.apply(twin)
                && verdict(&mutant) != "safe"
            {
                stopped.push(format!("{}: {mutant} ({})", mutator.name, verdict(&mutant)));
            }
        }
    }
    assert!(stopped.is_empty(), "{} harmless mutants were stopped:\n{}", stopped.len(), stopped.join("\n"));
}
