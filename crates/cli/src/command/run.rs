//! `adjutant run`: one agent, or a crew of them, on one brief.

use std::path::{Path, PathBuf};

use adjutant_core::words::effort::Effort;
use adjutant_core::words::role::{BadRoleName, RoleName};
use adjutant_core::words::{Mode, price};
use adjutant_runtime::assembly::{self, LoopOverrides, Overrides, RunExtent};
use clap_complete::ArgValueCandidates;

use crate::candidates;
use crate::exit::Ending;
use crate::folder::FolderArgs;
use crate::order::{Order, WorkFolder};
use crate::settings::Place;

/// Run an agent on a brief
///
/// The agent first restates the brief and waits for your word; then it works step by step, asking before
/// anything that the brief does not authorize. Everything is recorded in a journal, so that a run that is
/// interrupted or killed goes on with `adjutant resume`. Files are changed in the working folder only.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
                  adjutant run brief.md --adapter anthropic --mode auto\n  \
                  adjutant run brief.md --copy --max-dollars 2.50\n  \
                  adjutant run brief.md --script script.yaml --answers answers.yaml")]
pub struct RunArgs {
    /// The brief: a markdown file with YAML front matter, or `-` for stdin
    #[arg(required = true)]
    brief: Option<PathBuf>,
    /// The folder that tools work in [default: the brief's `workdir`, else the current folder]
    #[arg(long, value_name = "DIR")]
    workdir: Option<PathBuf>,
    /// Work on a fresh copy of the working folder and leave the original as it is
    #[arg(long)]
    copy: bool,
    /// How far the agent goes on its own: `gated` or `auto` [default: the brief's, else you are asked]
    #[arg(long, value_name = "MODE", value_parser = parse_mode)]
    mode: Option<Mode>,
    /// Switch `shell_exec` off, whatever the brief authorizes
    #[arg(long)]
    no_shell: bool,
    /// Keep no journal once the run is over; such a run can't be resumed
    #[arg(long)]
    ephemeral: bool,
    /// How many steps the agent may take before you are asked [default: 30]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_steps: Option<u32>,
    /// Who takes the turns: one of those that `adjutant adapters` lists [default: the brief's, else the configured one,
    /// else `scripted` if there is a script]
    #[arg(long, value_name = "ID", add = ArgValueCandidates::new(candidates::adapters))]
    adapter: Option<String>,
    /// The adapter's model
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// Where the adapter's API is [default: the configured address, else the provider's]
    #[arg(long, value_name = "URL")]
    base_url: Option<String>,
    /// Who takes the turns when the adapter can't: a list of adapters, each with or without `:model` [default: the
    /// brief's, else nobody]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    fallback: Option<Vec<String>>,
    /// How many tokens the run may use [default: the brief's, else no limit]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    max_tokens: Option<u64>,
    /// How many minutes the run may take [default: the brief's, else no limit]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    max_minutes: Option<u64>,
    /// What the run may cost, such as 2.50, by your prices or a list [default: the brief's, else no
    /// limit]
    #[arg(long, value_name = "DOLLARS", value_parser = parse_dollars)]
    max_dollars: Option<u64>,
    /// How many turns the run may take [default: the brief's, else no limit]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    max_turns: Option<u64>,
    /// How many minutes a provider that is out of reach, busy or breaks off is waited for before it is given up; 0
    /// gives it up at once [default: the brief's, else 30, or 2 where somebody sits at the terminal]
    #[arg(long, value_name = "N")]
    patience: Option<u64>,
    /// How hard the model is asked to think: `low`, `medium`, `high` or `max` [default: the brief's, else the model's]
    #[arg(long, value_name = "EFFORT")]
    effort: Option<Effort>,
    /// How many tokens the model may think for in one reply [default: the brief's, else the model's]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    thinking_tokens: Option<u32>,
    /// How many minutes a question waits before its default holds, which is never a yes [default: for ever]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    answer_within: Option<u64>,
    /// Work as a crew of these roles: a list of planner, executor, reviewer, critic, and those that are configured
    /// [default: the brief's]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = parse_role, conflicts_with = "single")]
    roles: Option<Vec<RoleName>>,
    /// Work with one agent alone, whatever roles the brief names
    #[arg(long)]
    single: bool,
    /// Who plays a role, as `reviewer=anthropic` or `reviewer=anthropic:MODEL` (may be given several times)
    #[arg(long, value_name = "ROLE=ADAPTER", value_parser = parse_role_adapter)]
    role_adapter: Vec<(RoleName, String)>,
    /// Have the critic judge without the executor's account of its work
    #[arg(long)]
    blind_critic: bool,
    /// The script that the scripted agent plays, or the recording that `recorded` plays
    #[arg(long, value_name = "FILE")]
    script: Option<PathBuf>,
    /// Record every exchange with the agent in a new file, for `--adapter recorded`; secrets are masked
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Take answers to questions from a file, in order
    #[arg(long, value_name = "FILE")]
    answers: Option<PathBuf>,
    #[command(flatten)]
    folder: FolderArgs,
    /// Start another run even if one of the same brief is unfinished
    #[arg(long)]
    new: bool,
    /// Print every event as a line of JSON
    #[arg(long)]
    json: bool,
}

fn parse_mode(text: &str) -> Result<Mode, String> {
    assembly::mode(text).ok_or_else(|| "a mode is `gated` or `auto`".to_owned())
}

fn parse_role(text: &str) -> Result<RoleName, String> {
    text.trim().parse().map_err(|bad: BadRoleName| bad.to_string())
}

pub fn parse_role_adapter(text: &str) -> Result<(RoleName, String), String> {
    let (role, adapter) = text.split_once('=').ok_or("write it as `reviewer=anthropic:MODEL`")?;
    Ok((parse_role(role)?, adapter.trim().to_owned()))
}

pub(super) fn parse_dollars(text: &str) -> Result<u64, String> {
    price::sum(text).ok_or_else(|| "dollars are a number above 0 with at most nine decimals, such as 2.50".to_owned())
}

/// Runs a brief.
pub fn run(args: &RunArgs, place: &Place) -> anyhow::Result<Ending> {
    Ok(args.order(None).carry_out(place)?.ending)
}

impl RunArgs {
    /// True if roles are named.
    pub(super) fn has_roles(&self) -> bool {
        self.roles.is_some() || !self.role_adapter.is_empty() || self.blind_critic
    }

    /// True if nothing of the run is to stay.
    pub(super) const fn is_ephemeral(&self) -> bool {
        self.ephemeral
    }

    /// True to print events as JSON.
    pub(super) const fn is_json(&self) -> bool {
        self.json
    }

    /// The run as it is ordered; a loop with `looped`.
    pub(super) fn order(&self, looped: Option<LoopOverrides>) -> Order<'_> {
        let args = self;
        let overrides = Overrides {
            mode: args.mode,
            workdir: args.workdir.clone(),
            no_shell: args.no_shell,
            max_steps: args.max_steps,
            adapter: args.adapter.clone(),
            model: args.model.clone(),
            script: args.script.clone(),
            base_url: args.base_url.clone(),
            fallback: args.fallback.clone(),
            max_tokens: args.max_tokens,
            max_minutes: args.max_minutes,
            max_nano_dollars: args.max_dollars,
            max_turns: args.max_turns,
            roles: args.roles.clone(),
            single: args.single,
            role_adapters: args.role_adapter.clone(),
            blind_critic: args.blind_critic,
            patience_minutes: args.patience,
            effort: args.effort,
            thinking_tokens: args.thinking_tokens,
            answer_within: args.answer_within,
            looped,
        };
        Order {
            // It is required but beside a subcommand, which begins no run.
            brief: args.brief.as_deref().unwrap_or(Path::new("")),
            overrides,
            extent: RunExtent::Whole,
            is_ephemeral: args.ephemeral,
            may_be_second: args.ephemeral || args.new,
            folder: Some(WorkFolder { args: &args.folder, is_copied: args.copy }),
            answers: args.answers.as_deref(),
            recording: args.record.as_deref(),
            json: args.json,
        }
    }
}
