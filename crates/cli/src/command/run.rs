//! `adjutant run`: one agent, one brief.

use std::fs;
use std::io::IsTerminal;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use adjutant_agents::recorded::Existing;
use adjutant_core::brief::{self, Brief};
use adjutant_core::crew::Member;
use adjutant_core::effort::Effort;
use adjutant_core::id::BriefId;
use adjutant_core::price;
use adjutant_core::procedure::Part;
use adjutant_core::role::{BadRoleName, Role, RoleName};
use adjutant_core::session::detect::Detector;
use adjutant_core::session::{Mode, standing_orders};
use adjutant_core::trace::{Body, Entry, RunStart, TRACE_VERSION, Versions};
use adjutant_core::view::visible_text;
use adjutant_host::text_file;
use adjutant_runtime::Ended;
use adjutant_store::config::Notice;
use adjutant_store::folders::Claimant;
use adjutant_store::home::make_folder;
use adjutant_store::runs::{self, Listed};
use adjutant_store::{FileJournal, Home, Mailbox, Owner};
use anyhow::Context;
use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::answers::Answers;
use crate::console::confirm;
use crate::crew;
use crate::diagnostics::{self, Look, Source};
use crate::exit::Ending;
use crate::failure::Failure;
use crate::folder::{self, Asked, Entered, FolderArgs};
use crate::notices;
use crate::settings::{self, Learned, Place, Settings, Typed};
use crate::sitting::{self, Sitting};

/// Run an agent on a brief
///
/// The agent first restates the brief and waits for your word; then it works step by step, asking before
/// anything that the brief does not authorize. Everything is recorded in a journal, so that a run that is
/// interrupted or killed goes on with `adjutant resume`. Files are changed in the working folder only.
#[derive(Debug, Default, clap::Args)]
pub struct RunArgs {
    /// The brief: a markdown file with YAML front matter, or `-` for stdin
    pub(super) brief: PathBuf,
    /// The folder that tools work in [default: the brief's `workdir`, else the current folder]
    #[arg(long, value_name = "DIR")]
    pub(super) workdir: Option<PathBuf>,
    /// Work on a fresh copy of the working folder and leave the original as it is
    #[arg(long)]
    pub(super) copy: bool,
    /// How far the agent goes on its own: `gated` or `auto` [default: the brief's, else you are asked]
    #[arg(long, value_name = "MODE", value_parser = parse_mode)]
    pub(super) mode: Option<Mode>,
    /// Switch `shell_exec` off, whatever the brief authorizes
    #[arg(long)]
    pub(super) no_shell: bool,
    /// Keep no journal once the run is over; such a run can't be resumed
    #[arg(long)]
    pub(super) ephemeral: bool,
    /// How many steps the agent may take before you are asked [default: 30]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) max_steps: Option<u32>,
    /// Who takes the turns [default: the brief's, else `scripted`]
    #[arg(long, value_name = "ID")]
    pub(super) adapter: Option<String>,
    /// The adapter's model
    #[arg(long, value_name = "NAME")]
    pub(super) model: Option<String>,
    /// Where the adapter's API is [default: the configured address, else the provider's]
    #[arg(long, value_name = "URL")]
    pub(super) base_url: Option<String>,
    /// Who takes the turns when the adapter can't: a list of adapters, each with or without `:model` [default: the
    /// brief's, else nobody]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(super) fallback: Option<Vec<String>>,
    /// How many tokens the run may use [default: the brief's, else no limit]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) max_tokens: Option<u64>,
    /// How many minutes the run may take [default: the brief's, else no limit]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) max_minutes: Option<u64>,
    /// What the run may cost, such as 2.50, by your prices or a list [default: the brief's, else no
    /// limit]
    #[arg(long, value_name = "DOLLARS", value_parser = parse_dollars)]
    pub(super) max_dollars: Option<u64>,
    /// How many turns the run may take [default: the brief's, else no limit]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) max_turns: Option<u64>,
    /// How many minutes a provider that is out of reach, busy or breaks off is waited for before it is given up; 0
    /// gives it up at once [default: the brief's, else 30, or 2 where somebody sits at the terminal]
    #[arg(long, value_name = "N")]
    pub(super) patience: Option<u64>,
    /// How hard the model is asked to think: `low`, `medium`, `high` or `max` [default: the brief's, else the model's]
    #[arg(long, value_name = "EFFORT")]
    pub(super) effort: Option<Effort>,
    /// How many tokens the model may think for in one reply [default: the brief's, else the model's]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) thinking_tokens: Option<u32>,
    /// How many minutes a question waits before its default holds, which is never a yes [default: for ever]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) answer_within: Option<u64>,
    /// Work as a crew of these roles: a list of planner, executor, reviewer, critic, and those that are configured
    /// [default: the brief's]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = parse_role, conflicts_with = "single")]
    pub(super) roles: Option<Vec<RoleName>>,
    /// Work with one agent alone, whatever roles the brief names
    #[arg(long)]
    pub(super) single: bool,
    /// Who plays a role, as `reviewer=anthropic` or `reviewer=anthropic:MODEL` (may be given several times)
    #[arg(long, value_name = "ROLE=ADAPTER", value_parser = parse_role_adapter)]
    pub(super) role_adapter: Vec<(RoleName, String)>,
    /// Have the critic judge without the executor's account of its work
    #[arg(long)]
    pub(super) blind_critic: bool,
    /// The script that the scripted agent plays, or the recording that `recorded` plays
    #[arg(long, value_name = "FILE")]
    pub(super) script: Option<PathBuf>,
    /// Record every exchange with the agent in a new file, for `--adapter recorded`; secrets are masked
    #[arg(long, value_name = "FILE")]
    pub(super) record: Option<PathBuf>,
    /// Take answers to questions from a file, in order
    #[arg(long, value_name = "FILE")]
    pub(super) answers: Option<PathBuf>,
    #[command(flatten)]
    pub(super) folder: FolderArgs,
    /// Start another run even if one of the same brief is unfinished
    #[arg(long)]
    pub(super) new: bool,
    /// Print every event as a line of JSON
    #[arg(long)]
    pub(super) json: bool,
    /// Only plan: `adjutant plan`.
    #[arg(skip)]
    pub(super) plans_only: bool,
}

fn parse_mode(text: &str) -> Result<Mode, String> {
    settings::mode(text).ok_or_else(|| "a mode is `gated` or `auto`".to_owned())
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
    let home = place.home()?;
    let (text, brief) = match read_brief(args, &home)? {
        Some(read) => read,
        None => return Ok(Ending::Usage),
    };
    let typed = Typed {
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
    };
    let briefs_folder = args.brief.parent().map(Path::to_owned).unwrap_or_default();
    let mut settings = settings::resolve(&home, &typed, Some((&brief, &briefs_folder)))?;
    if settings.notices.iter().any(Notice::wants_trust) && super::trust::offer(&home, &settings.workdir.value)? {
        settings = settings::resolve(&home, &typed, Some((&brief, &briefs_folder)))?;
    }
    for notice in &settings.notices {
        tell!("warning: {}", visible_text(&notice.to_string()));
    }
    for field in without_effect(&brief) {
        tell!("warning: `{field}` has no effect yet in this version");
    }
    let answers = args.answers.as_deref().map(Answers::read).transpose()?;
    let brief_id = brief_id(&brief)?;
    if !args.ephemeral && !args.new {
        refuse_second(&home, &brief_id, args.answers.is_some())?;
    }
    let temporary = args.ephemeral.then(private_folder).transpose().context("can't make a temporary home")?;
    // What is kept goes to a place of its own; what the operator set, such as the list of hosts, still holds.
    let kept_in = temporary.as_ref().map_or_else(|| home.clone(), |folder| Home::new(folder.path(), None));

    let mut options = settings.options();
    options.unattended = !std::io::stdin().is_terminal();
    if args.plans_only {
        options.plans_only = true;
        let plans = |name: &&RoleName| {
            Member::of(name, &options.custom_roles).is_some_and(|member| member.base == Role::Planner)
        };
        let planner = options.roles.iter().find(plans).cloned().unwrap_or_else(|| Role::Planner.into());
        options.role_agents.retain(|role, _| *role == planner);
        options.role_budgets.retain(|role, _| *role == planner);
        options.roles = vec![planner, Role::Executor.into()];
    }
    let now = Timestamp::now();
    let copied = if args.copy { Some(copy_workdir(&kept_in, &brief_id, &settings.workdir.value, now)?) } else { None };
    if let Some(copy) = &copied {
        options.workdir = copy.display().to_string();
    }
    // A planner changes nothing, so it is in nobody's way.
    let mut folder = match args.plans_only {
        true => None,
        false => {
            let asked = if args.copy { Asked::WithoutCopy } else { Asked::WithCopy };
            Some(folder::enter(
                &home,
                Claimant::New(brief_id.as_str()),
                Path::new(&options.workdir),
                &args.folder,
                asked,
            )?)
        }
    };
    sitting::can_hold(&options)?;
    let (learned, taken) = (of_learned(&settings.learned), taken_lines(&settings));
    let mut sitting = Sitting::open(&home, brief, &brief_id, options, settings.adapters, &settings.sandbox)?;
    if args.ephemeral {
        sitting.keep_nothing();
    }
    if let Some(path) = &args.record {
        sitting.record(path, Existing::Refuse)?;
    }
    let (run_id, mut journal) =
        FileJournal::create_next(&kept_in, &brief_id, &Owner::current(), now).map_err(anyhow::Error::new)?;
    let path = journal.path().to_owned();
    if let Some(folder) = &mut folder {
        folder.name(run_id.as_str());
    }

    let runtime = sitting::runtime()?;
    let ended = runtime.block_on(async {
        let console = sitting.console(&format!("run {run_id}"), args.json, answers)?;
        if temporary.is_none() {
            console.use_mailbox(Mailbox::of(&home, &run_id));
        }
        console.with_renderer(|renderer| {
            renderer.note(&format!("workdir: {}", sitting.options.workdir));
            for line in sitting.crew() {
                renderer.note(&line);
            }
            for line in &taken {
                renderer.note(line);
            }
            if temporary.is_none() {
                renderer.note(&format!("journal: {}", sitting::shown(&path).display()));
            }
        });
        let mut driver = sitting.driver(Vec::new(), &mut journal, &console);
        let header = Body::TraceVersion {
            version: TRACE_VERSION,
            adjutant_version: env!("CARGO_PKG_VERSION").to_owned(),
            brief_id: brief_id.to_string(),
        };
        let start = Body::RunStart(Box::new(RunStart {
            run_id: run_id.clone(),
            brief_id: brief_id.clone(),
            project: sitting.brief.project.to_string(),
            brief_path: Some(args.brief.display().to_string()),
            brief: text,
            tools: adjutant_runtime::offered_tools(&sitting.brief, &sitting.options, adjutant_tools::catalog()),
            options: sitting.options.clone(),
            versions: Versions {
                adjutant: env!("CARGO_PKG_VERSION").to_owned(),
                standing_orders: standing_orders::VERSION,
            },
        }));
        for body in [header, start] {
            driver.append(Entry { part: Part::root(), body })?;
        }
        let beside = folder.iter().flat_map(Entered::beside).map(|text| Body::Warning { text });
        for body in learned.into_iter().chain(beside) {
            driver.append(Entry { part: Part::root(), body })?;
        }
        if let Some(report) = sitting.sandbox_report() {
            driver.append(report)?;
        }
        if let Some(loaded) = sitting.grants_loaded(&[]) {
            driver.append(loaded)?;
        }
        if let Some(inherited) = sitting.memory_inherited(&[]) {
            driver.append(inherited)?;
        }
        sitting::drive(&mut driver, &console, run_id.as_str(), temporary.is_none().then_some(path.as_path())).await
    })?;
    // Whatever still waits for a line at the terminal must not keep the process.
    runtime.shutdown_background();
    sitting.close_recording();
    journal.close().context("can't close the journal")?;
    if temporary.is_none() && matches!(ended, Ended::Waiting(_)) {
        notices::parked(&home)?;
    }
    Ok(sitting::ending(&ended))
}

/// A temporary folder that nobody else can look into.
fn private_folder() -> std::io::Result<tempfile::TempDir> {
    tempfile::Builder::new().permissions(fs::Permissions::from_mode(0o700)).tempdir()
}

/// How many bytes of a brief are read; that one of more than 256 KiB is too long is the reader's to say.
const TEXT_BYTES_MAX: u64 = 64 << 20;

/// Reads a brief and says what is wrong with it; nothing if it can't be run.
fn read_brief(args: &RunArgs, home: &Home) -> anyhow::Result<Option<(String, Brief)>> {
    let path = args.brief.as_path();
    let text = if path == Path::new("-") {
        text_file::read_from(std::io::stdin().lock(), TEXT_BYTES_MAX).context("can't read the brief from stdin")?
    } else {
        text_file::read(path, TEXT_BYTES_MAX).map_err(|source| {
            anyhow::Error::new(source).context(
                Failure::usage(format!("can't read the brief `{}`", path.display()))
                    .hint("`adjutant new` writes a template to begin with"),
            )
        })?
    };
    let reading = crew::read_brief(home, args.workdir.as_deref(), &text)?;
    if !reading.problems.is_empty() {
        let no_color = std::env::var_os("NO_COLOR");
        let name = path.display().to_string();
        let look = Look::of(std::io::stderr().is_terminal(), no_color.as_deref());
        eprint!("{}", diagnostics::render(&reading.problems, Source { name: &name, text: &text }, look));
    }
    let is_valid = reading.is_valid();
    Ok(reading.brief.filter(|_| is_valid).map(|brief| (text, brief)))
}

/// The fields of a brief that are read and checked, and that nothing acts on yet.
fn without_effect(brief: &Brief) -> Vec<&'static str> {
    if brief.mcp_servers.is_empty() { Vec::new() } else { vec!["mcp_servers"] }
}

/// What is put on record of the learned profile that the brief names.
fn of_learned(learned: &Learned) -> Vec<Body> {
    match learned {
        Learned::NotAsked => Vec::new(),
        Learned::Missing(slug) => {
            let text = format!(
                "there is no learned profile of {slug}: nothing of it applies; `adjutant learn {slug} --apply` makes one"
            );
            vec![Body::Warning { text }]
        }
        Learned::Taken(taken) => {
            let slug = taken.options.slug.clone();
            let left_out = (!taken.left_out.is_empty()).then(|| Body::Warning {
                text: format!("not applied of the learned profile {slug}: {}", taken.left_out.join("; ")),
            });
            let applied =
                Body::LearnedProfileApplied { slug, schema_version: taken.schema_version, applied: taken.applied };
            std::iter::once(applied).chain(left_out).collect()
        }
    }
}

/// What of a learned profile is in force, a line each, with where it came from.
fn taken_lines(settings: &Settings) -> Vec<String> {
    let Some(from) = settings.learned.source() else { return Vec::new() };
    let detectors = settings.detectors.iter().filter(|(_, set)| set.from == from);
    let detectors = detectors.map(|(name, set)| {
        let is_held = set.value == "disabled" && name.parse().is_ok_and(Detector::is_safety_critical);
        let value = if is_held { "default, since nothing disables it".to_owned() } else { set.value.clone() };
        (format!("detector {name}"), value)
    });
    let all = detectors.chain(settings.learned_limits());
    all.map(|(what, value)| format!("{what}: {value} (from {from})")).collect()
}

fn brief_id(brief: &Brief) -> anyhow::Result<BriefId> {
    match &brief.brief_id {
        Some(brief_id) => Ok(brief_id.clone()),
        None => {
            let today = TimeZone::UTC.to_datetime(Timestamp::now()).date();
            let random = uuid::Uuid::now_v7().simple().to_string();
            Ok(brief::generated_id(today, &random[random.len() - 6..])?)
        }
    }
}

/// An unfinished run of the same brief asks before a second starts.
fn refuse_second(home: &Home, brief_id: &BriefId, answered: bool) -> anyhow::Result<()> {
    let listed = runs::list(home, &Owner::current(), Timestamp::now()).context("can't read the folder of sessions")?;
    let unfinished = listed.into_iter().find_map(|listed| match listed {
        Listed::Run(run) if run.brief_id == brief_id.as_str() && run.outcome.is_none() => Some(run.run_id),
        Listed::Run(_) | Listed::Peer(_) | Listed::Unreadable { .. } => None,
    });
    let Some(run_id) = unfinished else { return Ok(()) };
    if !answered && confirm(&format!("The run {run_id} of this brief is unfinished. Start another?")) {
        return Ok(());
    }
    Err(Failure::ending(Ending::Waiting, format!("the run `{run_id}` of this brief is unfinished"))
        .hint(format!("`adjutant resume {run_id}` goes on with it; `--new` starts another"))
        .into())
}

/// Copies the working folder into the home, links as links; where the copy is.
fn copy_workdir(home: &Home, brief_id: &BriefId, from: &Path, now: Timestamp) -> anyhow::Result<PathBuf> {
    let stamp = now.strftime("%Y%m%dT%H%M%S%3f");
    let copies = home.root().join("workdirs");
    make_folder(&copies).with_context(|| format!("can't make `{}`", copies.display()))?;
    let to = copies.join(format!("{brief_id}-{stamp}"));
    copy_folder(from, &to).with_context(|| format!("can't copy `{}` to `{}`", from.display(), to.display()))?;
    Ok(to)
}

fn copy_folder(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        let kind = entry.file_type()?;
        if kind.is_dir() {
            copy_folder(&entry.path(), &target)?;
        } else if kind.is_symlink() {
            std::os::unix::fs::symlink(fs::read_link(entry.path())?, &target)?;
        } else if kind.is_file() {
            fs::copy(entry.path(), &target)?;
        }
    }
    Ok(())
}
