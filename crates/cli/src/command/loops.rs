//! `adjutant loop`: iterations on one brief until its goal is verified.

use std::path::PathBuf;

use adjutant_core::supervise::receipt_hash;
use adjutant_core::trace::{Body, Event, LoopEvent, OnStuck};
use adjutant_core::words::id::RunId;
use adjutant_core::words::nearest::did_you_mean;
use adjutant_core::words::visible::visible_line;
use adjutant_core::words::{Message, Part};
use adjutant_host::checkpoint::{self, CheckpointName, TreeIdentity, TreeLimits};
use adjutant_runtime::assembly::LoopOverrides;
use adjutant_runtime::say;
use adjutant_store::runs::{self, Found};
use adjutant_store::{Home, journal};
use clap_complete::ArgValueCandidates;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::run::RunArgs;
use crate::candidates;
use crate::exit::Ending;
use crate::failure::Failure;
use crate::loop_hand;
use crate::settings::Place;
use crate::sitting;

/// Iterate on a brief until its goal is verified
///
/// One session after another works on the goal of the brief, each with a fresh mind and what the one before handed off.
/// When an agent says that the goal is reached, the brief's `checks` are run and a council votes; only then is the run
/// completed. A loop that gets nowhere asks you. Files in `.adjutant/` let you act with a shell alone: `touch PAUSE` and
/// remove it to go on, `touch STOP`, and `MESSAGE` with words for the agent.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
#[command(after_help = "Examples:\n  \
                  adjutant loop brief.md --adapter anthropic\n  \
                  adjutant loop brief.md --iterations 10 --council 0 --max-dollars 20\n  \
                  adjutant loop brief.md --council-agent openai --council-agent gemini\n  \
                  adjutant loop rewind RUN 3")]
pub struct LoopArgs {
    #[command(subcommand)]
    command: Option<LoopCommand>,
    #[command(flatten)]
    run: RunArgs,
    #[command(flatten)]
    flags: LoopFlags,
}

/// What can be done with a loop that has begun.
#[derive(Debug, clap::Subcommand)]
enum LoopCommand {
    /// List the checkpoints of a loop: the files after each iteration
    Checkpoints(LoopRun),
    /// Bring the files back to how they were after an iteration; HEAD and what is staged stay
    Rewind {
        #[command(flatten)]
        run: LoopRun,
        /// The iteration, 0 for before the first, or `before-rewind-1`
        to: CheckpointName,
    },
    /// Check the receipt of a loop that completed: that it is as it was written, and whether the files still are
    Verify(LoopRun),
}

/// A loop that has begun.
#[derive(Debug, clap::Args)]
struct LoopRun {
    /// The run: its name, a unique beginning of it, or its brief's id for the latest
    #[arg(add = ArgValueCandidates::new(candidates::runs))]
    run: String,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

/// Flags of a loop that is to begin.
#[derive(Debug, clap::Args)]
struct LoopFlags {
    /// How many iterations the loop may take before you are asked [default: 25]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = "The loop")]
    iterations: Option<u32>,
    /// How many voters judge completion; 0 for none: then the brief's checks alone do [default: 3]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(..=15), help_heading = "The loop")]
    council: Option<u32>,
    /// Who votes, in turn: an adapter with or without `:model` (may be given several times) [default: the run's own]
    #[arg(long, value_name = "ADAPTER", help_heading = "The loop")]
    council_agent: Vec<String>,
    /// Never judge completion: go on until a limit is reached or you stop it
    #[arg(long, help_heading = "The loop")]
    perpetual: bool,
    /// What a stuck loop does until you answer: `halt`, `notify` (go on), or `auto`: halt, unless it is perpetual
    /// [default: auto]
    #[arg(long, value_name = "WORD", value_parser = parse_on_stuck, help_heading = "The loop")]
    on_stuck: Option<OnStuck>,
    /// End with exit code 4 where the loop would wait for you, instead of waiting
    #[arg(long, help_heading = "The loop")]
    no_wait: bool,
}

fn parse_on_stuck(text: &str) -> Result<OnStuck, String> {
    match text {
        "auto" => Ok(OnStuck::Auto),
        "halt" => Ok(OnStuck::Halt),
        "notify" => Ok(OnStuck::Notify),
        other => {
            let guess = did_you_mean(other, &["auto", "halt", "notify"]).map(|guess| format!("; {guess}"));
            Err(format!("it is `auto`, `halt` or `notify`{}", guess.unwrap_or_default()))
        }
    }
}

/// Begins a loop, or does something with one that has begun.
pub fn run(args: &LoopArgs, place: &Place) -> anyhow::Result<Ending> {
    match &args.command {
        Some(LoopCommand::Checkpoints(run)) => checkpoints(run, place),
        Some(LoopCommand::Rewind { run, to }) => rewind(run, *to, place),
        Some(LoopCommand::Verify(run)) => verify(run, place),
        None => args.flags.begin(&args.run, place),
    }
}

impl LoopFlags {
    /// Begins a loop, and stays with it while it waits for a file to go or for an answer.
    fn begin(&self, run: &RunArgs, place: &Place) -> anyhow::Result<Ending> {
        if run.has_roles() {
            return Err(Failure::usage("a loop has no roles: one agent after another works on its goal")
                .hint("leave `--roles` and `--role-adapter` out; `--council-agent` says who votes")
                .into());
        }
        if run.is_ephemeral() {
            return Err(Failure::usage("a loop keeps its journal: what it waits for must be found again")
                .hint("leave `--ephemeral` out; `--copy` leaves your folder as it is")
                .into());
        }
        let looped = LoopOverrides {
            iterations: self.iterations,
            council: self.council,
            is_perpetual: self.perpetual,
            on_stuck: self.on_stuck,
            voters: self.council_agent.clone(),
        };
        let began = run.order(Some(looped)).carry_out(place)?;
        if self.no_wait {
            return Ok(began.ending);
        }
        loop_hand::stay(began, &place.home()?, |run_id| super::resume::go_on(run_id, run.is_json(), place))
    }
}

impl LoopRun {
    /// Finds the loop and its workdir, with the events of its journal.
    fn find(&self, home: &Home) -> anyhow::Result<(RunId, PathBuf, Vec<Event>)> {
        let run_id = match runs::find(home, &self.run).map_err(super::not_found)? {
            Found::Run(run_id) => run_id,
            Found::Peer(name) => return Err(Failure::usage(format!("`{name}` is a session of another program")).into()),
        };
        let events = journal::read_only(home, &run_id)?.events;
        let start = sitting::run_start(&events)?;
        if start.options.work.looped().is_none() {
            return Err(Failure::usage(format!("the run `{run_id}` is no loop"))
                .hint(format!("`adjutant undo {run_id}` brings files back that a call changed"))
                .into());
        }
        let workdir = PathBuf::from(&start.options.workdir);
        Ok((run_id, workdir, events))
    }
}

fn checkpoints(args: &LoopRun, place: &Place) -> anyhow::Result<Ending> {
    let (run_id, workdir, _) = args.find(&place.home()?)?;
    let all = checkpoint::list(&workdir, run_id.as_str())?;
    if args.json {
        let lines: Vec<Value> = all
            .iter()
            .map(|one| {
                json!({"name": one.name.to_string(), "commit": one.commit, "at_s": one.made_at_s, "differing": one.differing})
            })
            .collect();
        println!("{}", json!({"run": run_id, "checkpoints": lines}));
        return Ok(Ending::Done);
    }
    for one in &all {
        let at = i64::try_from(one.made_at_s).ok().and_then(|at| Timestamp::from_second(at).ok());
        let at = at.map(adjutant_core::words::moment::timestamp).unwrap_or_default();
        let differing = one
            .differing
            .map(|count| {
                if count == 1 {
                    "1 file differs from the one before".to_owned()
                } else {
                    format!("{count} files differ from the one before")
                }
            })
            .unwrap_or_default();
        println!("{:16} {at}  {}  {differing}", one.name.to_string(), one.commit.get(..12).unwrap_or_default());
    }
    println!("back to one: adjutant loop rewind {} NAME", runs::called(&place.home()?, &run_id));
    Ok(Ending::Done)
}

fn rewind(args: &LoopRun, to: CheckpointName, place: &Place) -> anyhow::Result<Ending> {
    let home = place.home()?;
    let (run_id, workdir, events) = args.find(&home)?;
    if say::is_driven(&home, &run_id) {
        return Err(Failure::usage(format!(
            "the run `{run_id}` is at work: its files can't be brought back meanwhile"
        ))
        .hint(format!("`adjutant pause {run_id}` has it stand still"))
        .into());
    }
    let rewound = checkpoint::rewind(&workdir, run_id.as_str(), to, &TreeLimits::default())?;
    if say::outcome(&events).is_none() {
        // The next iteration is told, and what was counted begins anew.
        let text = format!("I brought the files back to how they were after iteration {to}.");
        say::say(&home, &run_id, Part::root(), Message::Steer(text), "rewind")?;
    }
    let failed: Vec<String> = rewound
        .not_restored
        .iter()
        .map(|one| visible_line(&format!("{}: {}", one.path, one.why)).into_owned())
        .collect();
    if args.json {
        let told = json!({
            "run": run_id, "to": to.to_string(), "before": rewound.before.name.to_string(), "changed": rewound.changed,
            "not_restored": failed, "submodules": rewound.submodules,
        });
        println!("{told}");
    } else {
        let count = rewound.changed.len();
        let files = if count == 1 { "1 file is".to_owned() } else { format!("{count} files are") };
        println!("{files} as after iteration {to} again");
        rewound.changed.iter().for_each(|path| println!("  {}", visible_line(path)));
        failed.iter().for_each(|why| println!("not restored: {why}"));
        rewound.submodules.iter().for_each(|path| println!("left alone, a submodule: {}", visible_line(path)));
        let called = runs::called(&home, &run_id);
        println!("undo it: adjutant loop rewind {called} {}", rewound.before.name);
    }
    Ok(if failed.is_empty() { Ending::Done } else { Ending::Failed })
}

fn verify(args: &LoopRun, place: &Place) -> anyhow::Result<Ending> {
    let home = place.home()?;
    let (run_id, workdir, events) = args.find(&home)?;
    let receipt = events.iter().rev().find_map(|event| match &event.body {
        Body::Loop(LoopEvent::EvidenceReceipt { iteration, tree, head, kept, checks, approve, hash }) => {
            let computed = receipt_hash(*iteration, tree, head.as_deref(), kept.as_deref(), checks, *approve);
            Some((*iteration, tree.clone(), kept.clone(), checks.clone(), *approve, *hash == computed))
        }
        _ => None,
    });
    let Some((iteration, tree, kept, checks, approve, is_whole)) = receipt else {
        return Err(Failure::ending(
            Ending::Failed,
            format!("the run `{run_id}` has no receipt: its goal was not verified"),
        )
        .into());
    };
    let now = match checkpoint::look(&workdir, &TreeLimits::default()).tree {
        TreeIdentity::Known { id } => Some(id),
        TreeIdentity::Unknown { .. } => None,
    };
    let is_same = now.as_ref() == Some(&tree);
    if args.json {
        let told = json!({
            "run": run_id, "iteration": iteration, "tree": tree, "kept": kept, "checks": checks, "approve": approve,
            "is_whole": is_whole, "files_are_the_same": is_same,
        });
        println!("{told}");
    } else {
        println!("receipt of round {iteration}: {}", if is_whole { "as it was written" } else { "was changed" });
        checks.iter().for_each(|check| println!("  passed: {}", visible_line(check)));
        if let Some(approve) = approve {
            println!("  votes for completion: {approve}");
        }
        println!("  files then: {}", visible_line(&tree));
        println!("  files now: {}", if is_same { "the same" } else { "others; the receipt says nothing of them" });
        println!("the journal as a whole: adjutant trace verify {}", runs::called(&home, &run_id));
    }
    Ok(if is_whole { Ending::Done } else { Ending::Failed })
}
