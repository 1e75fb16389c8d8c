//! Runs the command lines that the shell reader calls safe in real shells, and looks for what they destroyed.
//!
//! In: a seed and a number of lines. Out: each line that was called safe and took a canary, made shorter, with what
//! repeats it; exit code 1 if there is one. Lines run in the project's own sandbox only, and none runs where a wall
//! of it is missing.
//!
//! Begin with `hunt.rs`: lines are made in `mutate/`, judged in `judge.rs`, run by `drive.rs` in what `arena.rs` sets
//! up; `ground.rs` is the folder that they run in, `canaries.rs` what must survive them.

mod hunt;
mod random;
mod corpus;
mod mutate;
mod judge;
mod trial;
mod arena;
mod drive;
mod ground;
mod canaries;
mod shrink;
mod survivors;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Parser;

/// Look for lines that are called safe and destroy something
#[derive(Parser)]
#[command(name = "adjutant-differential")]
struct HuntArgs {
    /// Seed that the lines are made from
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Number of lines made; each is judged for bash and for sh
    #[arg(long, default_value_t = 50_000)]
    lines: u64,
    /// The number of the first line
    #[arg(long, default_value_t = 0)]
    from: u64,
    /// Number of sandboxes that run at the same time
    #[arg(long, default_value_t = 1)]
    jobs: u64,
    /// Longest time that a line may run, in milliseconds
    #[arg(long, default_value_t = 300)]
    limit_ms: u64,
    /// Try the lines of this file instead, each a JSON string on a line of its own
    #[arg(long, value_name = "FILE")]
    given: Option<PathBuf>,
    /// Keep in this file what was run and took nothing, and don't run it again: after a change of the reader, only
    /// what it calls safe now and did not before is left to be tried
    #[arg(long, value_name = "FILE")]
    survivors: Option<PathBuf>,
    /// Print the lines, what the reader says of them and what would be kept before those that would run, and run none
    #[arg(long)]
    print: bool,
    /// Try whether every act that is planted takes a canary; otherwise nothing would be found
    #[arg(long)]
    acts: bool,
}

fn main() -> ExitCode {
    let mut args = std::env::args_os();
    if let Some(code) = adjutant_host::sandbox::launched(args.by_ref()) {
        return ExitCode::from(code);
    }
    if std::env::args_os().nth(1).is_some_and(|word| word == arena::DRIVE_WORD) {
        return ended(drive::run().map(|()| true));
    }
    let args = HuntArgs::parse();
    ended(match (args.print, args.acts) {
        (true, _) => print(&args),
        (false, true) => acts(&args),
        (false, false) => hunt(&args),
    })
}

/// Returns the exit code of a process: 0 if all is well.
fn ended(well: Result<bool>) -> ExitCode {
    match well {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn hunt(args: &HuntArgs) -> Result<bool> {
    let HuntArgs { seed, from, lines, jobs, limit_ms, .. } = *args;
    let given = args.given.as_deref().map(given).transpose()?;
    let lines = given.as_ref().map_or(lines, |given| given.len() as u64);
    let survivors = args.survivors.clone();
    let tally = hunt::Hunt { seed, from, lines, jobs, limit_ms, given, survivors }.run()?;
    let hunt::HuntTally { judged, run, survived, found, unrepeated } = tally;
    let before = if survived == 0 { String::new() } else { format!(" and {survived} run before") };
    println!(
        "seed {seed}: {judged} lines judged for bash and sh, {run} runs of safe ones{before}, {found} found, {unrepeated} unrepeated"
    );
    Ok(found == 0)
}

/// The lines of a file.
fn given(path: &Path) -> Result<Vec<String>> {
    let text = std::fs::read_to_string(path).with_context(|| format!("can't read `{}`", path.display()))?;
    text.lines().map(|line| serde_json::from_str(line).with_context(|| format!("no JSON string: {line}"))).collect()
}

fn print(args: &HuntArgs) -> Result<bool> {
    let given = args.given.as_deref().map(given).transpose()?;
    let mutator = mutate::Mutator::new()?;
    let judge = judge::Judge::new(Path::new("/place"));
    let lines = given.as_ref().map_or(args.lines, |given| given.len() as u64);
    for index in args.from..args.from + lines {
        let line = match &given {
            None => mutator.line(args.seed, index),
            Some(given) => given[usize::try_from(index - args.from)?].clone(),
        };
        for (shell, dialect) in judge::SHELLS {
            let (verdict, program) = (judge.reading(&line, dialect).verdict(), shell.program());
            let kept = judge.trial(&line, (shell, dialect)).map(|trial| trial.kept);
            println!("{index} {program} {verdict:?} {kept:?} {line:?}");
        }
    }
    Ok(true)
}

fn acts(args: &HuntArgs) -> Result<bool> {
    let arena = arena::Arena::new()?;
    let trials = judge::SHELLS.iter().flat_map(|(shell, _)| {
        mutate::acts().map(|act| trial::Trial {
            shell: *shell,
            line: act.to_owned(),
            kept: trial::UndoScope::Nothing,
            skips_slow: false,
        })
    });
    let mut open: Vec<trial::Trial> = trials.collect();
    let mut survived = Vec::new();
    while !open.is_empty() {
        let round = arena.run(&open, args.limit_ms)?;
        let rest = open.split_off(round.begun.clamp(1, open.len()));
        let is_lost = |number: usize| round.lost.iter().any(|(lost, _)| *lost == number);
        survived.extend(open.into_iter().enumerate().filter(|(number, _)| !is_lost(*number)).map(|(_, trial)| trial));
        open = rest;
    }
    // A process that was ended may be seen alive for a moment, and is missed by the line that follows.
    let nothing = |trial: &trial::Trial| trial::Trial { line: ":".to_owned(), ..trial.clone() };
    let mut certain = Vec::new();
    for trial in survived {
        if arena.run(&[trial.clone(), nothing(&trial)], args.limit_ms)?.lost.is_empty() {
            certain.push(trial);
        }
    }
    for trial in &certain {
        println!("takes no canary: {} -c {:?}", trial.shell.program(), trial.line);
    }
    Ok(certain.is_empty())
}
