//! The `adjutant` command: parses what was typed, resolves it with the environment, acts, and answers
//! with an exit code.
//!
//! Begin with [`Cli`]: one variant for each command, one file for each in `command/`. What a command
//! needs of flags, environment and configuration together is in `settings.rs`, what an adapter has to work with in
//! `equipment.rs`; what commands are
//! kept from in `sandbox.rs`; who answers questions is
//! in `console.rs`; what a run looks like on a terminal is in `render.rs`.

/// Writes a message to stderr; if that can't be read, the work goes on.
macro_rules! tell {
    ($($text:tt)*) => {{
        use std::io::Write as _;
        writeln!(std::io::stderr(), $($text)*).ok();
    }};
}

mod answers;
mod candidates;
mod command;
mod console;
mod diagnostics;
mod exit;
mod failure;
mod folder;
mod help;
mod keyboard;
mod loop_hand;
mod notices;
mod order;
mod questions_here;
mod render;
mod screen;
mod sitting;
mod totals;
mod settings;

use std::process::ExitCode;

use clap::{FromArgMatches, Parser};
use clap_complete::CompleteEnv;

use crate::exit::Ending;

/// Hand real work to coding agents and walk away
///
/// Adjutant holds an agent to a brief: it confirms before it acts, asks before anything that was not
/// authorized, stops at blockers, and keeps everything on record, so that a run that was killed goes on
/// where it stood.
///
/// Exit codes: 0 done; 1 failed, or `replay` found drift; 2 wrong usage or an invalid brief; 3 blocked,
/// goes on with new context; 4 waiting for an operator; 5 a limit was reached; 6 declined or stopped by
/// the operator; 130 interrupted.
#[derive(Debug, Parser)]
#[command(name = "adjutant", version, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: CliCommand,
    #[command(flatten)]
    place: settings::Place,
}

#[derive(Debug, clap::Subcommand)]
enum CliCommand {
    New(command::new::NewArgs),
    Validate(command::validate::ValidateArgs),
    Run(command::run::RunArgs),
    Resume(command::resume::ResumeArgs),
    Loop(command::loops::LoopArgs),
    Plan(command::plan::PlanArgs),
    Inbox(command::inbox::InboxArgs),
    Work(command::work::WorkArgs),
    Pause(command::say::PauseArgs),
    Stop(command::say::StopArgs),
    Steer(command::say::SteerArgs),
    Amend(command::say::AmendArgs),
    List(command::list::ListArgs),
    Show(command::show::ShowArgs),
    Diff(command::diff::DiffArgs),
    Apply(command::apply::ApplyArgs),
    Inspect(command::inspect::InspectArgs),
    Dashboard(command::dashboard::DashboardArgs),
    Replay(command::replay::ReplayArgs),
    History(command::history::HistoryArgs),
    Learn(command::learn::LearnArgs),
    Trace(command::trace::TraceArgs),
    Undo(command::undo::UndoArgs),
    Decide(command::decide::DecideArgs),
    Explain(command::explain::ExplainArgs),
    Grants(command::grants::GrantsArgs),
    Memory(command::memory::MemoryArgs),
    Framework(command::framework::FrameworkArgs),
    Tools(command::tools::ToolsArgs),
    Roles(command::roles::RolesArgs),
    Adapters(command::adapters::AdaptersArgs),
    Trust(command::trust::TrustArgs),
    Doctor(command::doctor::DoctorArgs),
    Completions(command::completions::CompletionsArgs),
    Man(command::man::ManArgs),
    Version(command::version::VersionArgs),
}

/// Journals are decoded on several threads and kept by another, which the allocator of the C library is slow at.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // First of all: what becomes a command must have one thread and nothing open.
    if let Some(code) = adjutant_host::sandbox::launched(std::env::args_os()) {
        return ExitCode::from(code);
    }
    // What an agent runs is a child of this process: without this it could read our environment, keys
    // included, from /proc. It can't fail for this value, and nothing depends on it where it is unknown.
    rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable).ok();
    failure::keep_silent_of_caught_panics();
    // Asked by a shell what may stand here: answers and ends.
    CompleteEnv::with_factory(help::command).var(command::completions::ASKED_BY).complete();
    let typed = help::command().try_get_matches().and_then(|typed| Cli::from_arg_matches(&typed));
    let cli = match typed {
        Ok(cli) => cli,
        Err(refused) => {
            // Help and version are results, everything else is wrong usage.
            let ending = if refused.use_stderr() { Ending::Usage } else { Ending::Done };
            return match refused.print() {
                Ok(()) => ExitCode::from(exit::exit_code(ending)),
                Err(_) => ExitCode::from(exit::exit_code(Ending::Failed)),
            };
        }
    };
    let place = &cli.place;
    let ended = match &cli.command {
        CliCommand::New(args) => command::new::run(args),
        CliCommand::Validate(args) => command::validate::run(args, place),
        CliCommand::Run(args) => command::run::run(args, place),
        CliCommand::Resume(args) => command::resume::run(args, place),
        CliCommand::Loop(args) => command::loops::run(args, place),
        CliCommand::Plan(args) => command::plan::run(args, place),
        CliCommand::Inbox(args) => command::inbox::run(args, place),
        CliCommand::Work(args) => command::work::run(args, place),
        CliCommand::Pause(args) => command::say::pause(args, place),
        CliCommand::Stop(args) => command::say::stop(args, place),
        CliCommand::Steer(args) => command::say::steer(args, place),
        CliCommand::Amend(args) => command::say::amend(args, place),
        CliCommand::List(args) => command::list::run(args, place),
        CliCommand::Show(args) => command::show::run(args, place),
        CliCommand::Diff(args) => command::diff::run(args, place),
        CliCommand::Apply(args) => command::apply::run(args, place),
        CliCommand::Inspect(args) => command::inspect::run(args, place),
        CliCommand::Dashboard(args) => command::dashboard::run(args, place),
        CliCommand::Replay(args) => command::replay::run(args, place),
        CliCommand::History(args) => command::history::run(args, place),
        CliCommand::Learn(args) => command::learn::run(args, place),
        CliCommand::Trace(args) => command::trace::run(args, place),
        CliCommand::Undo(args) => command::undo::run(args, place),
        CliCommand::Decide(args) => command::decide::run(args),
        CliCommand::Explain(args) => command::explain::run(args, place),
        CliCommand::Grants(args) => command::grants::run(args, place),
        CliCommand::Memory(args) => command::memory::run(args, place),
        CliCommand::Framework(args) => command::framework::run(args),
        CliCommand::Tools(args) => command::tools::run(args),
        CliCommand::Roles(args) => command::roles::run(args, place),
        CliCommand::Adapters(args) => command::adapters::run(args, place),
        CliCommand::Trust(args) => command::trust::run(args, place),
        CliCommand::Doctor(args) => command::doctor::run(args, place),
        CliCommand::Completions(args) => command::completions::run(args),
        CliCommand::Man(args) => command::man::run(args),
        CliCommand::Version(args) => command::version::run(args),
    };
    ExitCode::from(exit::exit_code(ended.unwrap_or_else(|error| failure::report(&error))))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use adjutant_runtime::assembly::option_table::RUN_OPTIONS;
    use clap::CommandFactory;

    use super::Cli;

    #[test]
    fn every_command_and_flag_is_well_formed_and_says_what_it_does() {
        let cli = Cli::command();
        cli.clone().debug_assert();
        for command in cli.get_subcommands() {
            let about = command.get_about().map(ToString::to_string).unwrap_or_default();
            assert!(!about.is_empty() && about.len() < 70 && !about.ends_with('.'), "{}: {about}", command.get_name());
            for flag in command.get_arguments().filter(|flag| flag.get_id() != "help") {
                assert!(flag.get_help().is_some(), "{} {}", command.get_name(), flag.get_id());
            }
        }
    }
    /// Flags of `run` that say how it is carried out, and set no option.
    const NO_OPTIONS: [&str; 9] = ["answers", "copy", "ephemeral", "help", "json", "new", "record", "share", "wait"];

    #[test]
    fn every_flag_of_a_run_that_sets_an_option_is_in_the_table_of_options() {
        let cli = Cli::command();
        let run = cli.find_subcommand("run").expect("a command");
        let flags: BTreeSet<&str> =
            run.get_arguments().filter_map(clap::Arg::get_long).filter(|flag| !NO_OPTIONS.contains(flag)).collect();
        let mut rows: BTreeSet<&str> =
            RUN_OPTIONS.iter().filter_map(|row| row.flag).map(|flag| flag.trim_start_matches('-')).collect();
        // The other side of `--roles`.
        rows.insert("single");
        assert_eq!(flags, rows);
    }
}
