//! A run that an operator orders at this terminal: its brief is read, what holds is settled, and the run is begun and
//! driven. `run` and `plan` order one.

use std::fs;
use std::io::IsTerminal;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use adjutant_core::brief::Brief;
use adjutant_core::detect::Detector;
use adjutant_core::gate::rescue::Extent;
use adjutant_core::words::id::{BriefId, RunId};
use adjutant_core::words::visible::visible_text;
use adjutant_host::rescue::{Occasion, RUN, Rescues, START};
use adjutant_host::text_file;
use adjutant_host::workdir::Workdir;
use adjutant_runtime::Ended;
use adjutant_runtime::assembly::{self, BeginRun, Keeping, Overrides, RunExtent, RunSettings};
use adjutant_store::config::Notice;
use adjutant_store::folders::Claimant;
use adjutant_store::home::make_folder;
use adjutant_store::runs::{self, Found, Listed};
use adjutant_store::{Home, Mailbox, Owner};
use anyhow::Context;
use jiff::Timestamp;

use crate::answers::Answers;
use crate::command::trust;
use crate::console::{Console, confirm};
use crate::diagnostics::{self, ProblemStyle, SourceText};
use crate::exit::Ending;
use crate::failure::Failure;
use crate::folder::{self, FolderArgs, FolderPrompt};
use crate::loop_hand::{self, HandFiles};
use crate::notices;
use crate::render::Renderer;
use crate::screen::Screen;
use crate::settings::{self, Place, remark};
use crate::sitting::{self, SittingPlace};

/// A run that is to begin, as its operator orders it.
pub struct Order<'a> {
    /// The brief's file; `-` is standard input.
    pub brief: &'a Path,
    /// The settings that were given for this run alone.
    pub overrides: Overrides,
    /// Its extent.
    pub extent: RunExtent,
    /// True if nothing of the run stays.
    pub is_ephemeral: bool,
    /// True if another run of the brief may be unfinished.
    pub may_be_second: bool,
    /// The way into its working folder; `None` for a run that changes nothing, and so can't disturb another.
    pub folder: Option<WorkFolder<'a>>,
    /// A file of answers.
    pub answers: Option<&'a Path>,
    /// A new file in which exchanges are recorded.
    pub recording: Option<&'a Path>,
    /// True to print events as JSON.
    pub json: bool,
}

/// A way into the working folder.
pub struct WorkFolder<'a> {
    /// The flags for a folder that another run is in.
    pub args: &'a FolderArgs,
    /// True to work on a fresh copy.
    pub is_copied: bool,
}

/// A run that was begun or went on, at the end of its sitting.
pub struct Began {
    /// The exit code.
    pub ending: Ending,
    /// How the sitting ended.
    pub ended: Ended,
    /// The loop with its workdir; `None` for another run, or one that leaves nothing.
    pub run: Option<(RunId, PathBuf)>,
}

impl Began {
    /// The end of a command that began no run.
    pub const fn not(ending: Ending) -> Self {
        Self { ending, ended: Ended::Interrupted, run: None }
    }

    /// Returns the loop that stands still and nobody sits before; `None` if it is over, or at a terminal.
    pub fn stood_still(&self) -> Option<(&RunId, &Path)> {
        let run = self.run.as_ref().filter(|_| !matches!(self.ended, Ended::Finished(_)))?;
        let is_paused_or_alone = matches!(self.ended, Ended::Interrupted) || !std::io::stdin().is_terminal();
        is_paused_or_alone.then_some((&run.0, run.1.as_path()))
    }
}

impl Order<'_> {
    /// Begins the run and drives it to its end, or to a question that no operator is there to answer.
    pub fn carry_out(&self, place: &Place) -> anyhow::Result<Began> {
        let home = place.home()?;
        let Some((text, brief)) = read_brief(self, &home)? else { return Ok(Began::not(Ending::Usage)) };
        let settings = self.settings(&home, &brief)?;
        if let Some(looped) = &settings.looped {
            looped.faults.iter().for_each(|fault| tell!("warning: {fault}"));
            if let Some(why) = loop_hand::left_over(&settings.workdir.value) {
                return Err(Failure::usage(why).hint("remove the file, then begin the loop").into());
            }
            if brief.checks.is_empty() {
                tell!(
                    "warning: the brief declares no `checks`: that the goal is reached rests on {}",
                    if looped.options.council > 0 {
                        "the votes of the council alone"
                    } else {
                        "the agent's word, once files have changed"
                    }
                );
            }
        }
        for field in without_effect(&brief) {
            tell!("warning: `{field}` has no effect yet in this version");
        }
        let answers = self.answers.map(Answers::read).transpose()?;
        let brief_id = assembly::brief_id(&brief)?;
        let first_id = brief_id.as_str().to_owned();
        if !self.may_be_second {
            refuse_second(&home, &brief_id, answers.is_some())?;
        }
        let temporary = self.is_ephemeral.then(private_folder).transpose().context("can't make a temporary home")?;
        // What is kept goes to a place of its own; what the operator set, such as the list of hosts, still holds.
        let temporary_home = temporary.as_ref().map(|folder| Home::new(folder.path(), None));
        let surroundings = settings::surroundings()?;
        let is_copied = self.folder.as_ref().is_some_and(|folder| folder.is_copied);
        let kept_in = temporary_home.as_ref().unwrap_or(&home);
        let copy = is_copied.then(|| copy_workdir(kept_in, &brief_id, &settings.workdir.value)).transpose()?;
        let workdir = copy.as_ref().unwrap_or(&settings.workdir.value);
        let folder = self.folder.as_ref().map(|folder| {
            let asked = if folder.is_copied { FolderPrompt::WithoutCopy } else { FolderPrompt::WithCopy };
            folder::enter(&home, &surroundings, Claimant::New(brief_id.as_str()), workdir, folder.args, asked)
        });
        let taken = taken_lines(&settings);
        let copied = copy.clone();
        let run = BeginRun {
            home: &home,
            keeping: temporary_home.as_ref().map_or(Keeping::InHome, Keeping::Nowhere),
            surroundings: &surroundings,
            brief,
            text,
            brief_path: Some(self.brief.display().to_string()),
            brief_id,
            settings,
            extent: self.extent,
            copy,
            folder: folder.transpose()?,
            is_attended: std::io::stdin().is_terminal(),
            recording: self.recording,
        };
        let runtime = sitting::runtime()?;
        let mut sitting = runtime.block_on(assembly::begin(run, &remark)).map_err(Failure::unready)?;
        let run_id = sitting.run_id().clone();
        let journal = temporary.is_none().then(|| sitting.journal_path().to_owned());
        if let (Some(copy), None) = (&copied, &temporary) {
            keep_start(&home, &run_id, copy);
        }
        let workdir = PathBuf::from(&sitting.options().workdir);
        let hand = HandFiles::of_loop(&home, &run_id, sitting.options()).filter(|_| temporary.is_none());
        let ended = runtime.block_on(async {
            let screen = Screen::new(Renderer::on_stdout(self.json));
            screen.attend(&sitting);
            let mailbox = temporary.is_none().then(|| Mailbox::of(&home, &run_id));
            let console = Arc::new(Console::new(screen.clone(), answers, mailbox)?);
            screen.note(&sitting::first_line(&sitting, &format!("run {run_id}")));
            console.correspondence().show_skipped();
            if let Some(first) = renamed_first(kept_in, &run_id, &first_id) {
                screen.note(&first);
            }
            screen.note(&format!("workdir: {}", sitting.options().workdir));
            for line in sitting::crew(sitting.options()).iter().chain(&taken) {
                screen.note(line);
            }
            if let Some(journal) = &journal {
                screen.note(&format!("journal: {}", surroundings.shown(journal).display()));
            }
            let at = SittingPlace::of(&sitting, kept_in, journal.is_some());
            let (mut driver, opening) = sitting.driver(console.clone(), &remark);
            opening.record(&mut driver, Vec::new(), Vec::new())?;
            let ended = sitting::drive(&mut driver, &screen, &at, hand.as_ref()).await?;
            console.say_unused().await;
            anyhow::Ok(ended)
        })?;
        // Whatever still waits for a line at the terminal must not keep the process.
        runtime.shutdown_background();
        sitting::close(sitting)?;
        if temporary.is_none() && matches!(ended, Ended::Waiting(_)) {
            notices::parked(&home)?;
        }
        Ok(Began { ending: sitting::ending(&ended), ended, run: hand.map(|_| (run_id, workdir)) })
    }

    /// Resolves the run's settings. Asks the operator about a configuration that wants to be trusted.
    fn settings(&self, home: &Home, brief: &Brief) -> anyhow::Result<RunSettings> {
        let folder = self.brief.parent().map(Path::to_owned).unwrap_or_default();
        let resolve = || settings::resolve(home, &self.overrides, Some((brief, &folder)));
        let mut settings = resolve()?;
        if settings.notices.iter().any(Notice::wants_trust) && trust::offer(home, &settings.workdir.value)? {
            settings = resolve()?;
        }
        for notice in &settings.notices {
            tell!("warning: {}", visible_text(&notice.to_string()));
        }
        Ok(settings)
    }
}

/// Creates a temporary folder that only its owner can look into.
fn private_folder() -> std::io::Result<tempfile::TempDir> {
    tempfile::Builder::new().permissions(fs::Permissions::from_mode(0o700)).tempdir()
}

/// The most bytes that are read of a brief: more than its reader takes, which says that one is too long.
const TEXT_BYTES_MAX: u64 = 64 << 20;

/// Reads a brief and says what is wrong with it; nothing if it can't be run.
fn read_brief(order: &Order<'_>, home: &Home) -> anyhow::Result<Option<(String, Brief)>> {
    let path = order.brief;
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
    let reading = settings::read_brief(home, order.overrides.workdir.as_deref(), &text)?;
    if !reading.problems.is_empty() {
        let no_color = std::env::var_os("NO_COLOR");
        let name = path.display().to_string();
        let look = ProblemStyle::of(std::io::stderr().is_terminal(), no_color.as_deref());
        eprint!("{}", diagnostics::render(&reading.problems, SourceText { name: &name, text: &text }, look));
    }
    let is_valid = reading.is_valid();
    Ok(reading.brief.filter(|_| is_valid).map(|brief| (text, brief)))
}

/// The fields of a brief that are read and checked, and that nothing acts on yet.
fn without_effect(brief: &Brief) -> Vec<&'static str> {
    if brief.mcp_servers.is_empty() { Vec::new() } else { vec!["mcp_servers"] }
}

/// Lists what of a learned profile is in force, a line each, with where it came from.
fn taken_lines(settings: &RunSettings) -> Vec<String> {
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
        .hint(format!("`adjutant resume {}` goes on with it; `--new` starts another", runs::called(home, &run_id)))
        .into())
}

/// Says what the first run of a brief is called from now on: its name alone means the latest.
fn renamed_first(home: &Home, run_id: &RunId, brief_id: &str) -> Option<String> {
    let called = format!("{brief_id}-r1");
    let is_there = run_id.as_str() != brief_id && matches!(runs::find(home, &called), Ok(Found::Run(_)));
    is_there
        .then(|| format!("`{brief_id}` means this run, the latest of its brief; the first is `{called}` from now on"))
}

/// Copies the working folder into the home, links as links; where the copy is.
fn copy_workdir(home: &Home, brief_id: &BriefId, from: &Path) -> anyhow::Result<PathBuf> {
    let stamp = Timestamp::now().strftime("%Y%m%dT%H%M%S%3f");
    let copies = home.root().join("workdirs");
    make_folder(&copies).with_context(|| format!("can't make `{}`", copies.display()))?;
    let to = copies.join(format!("{brief_id}-{stamp}"));
    copy_folder(from, &to).with_context(|| format!("can't copy `{}` to `{}`", from.display(), to.display()))?;
    Ok(to)
}

/// Keeps a copy as it is before anything is done in it: by that `diff` and `apply` tell what the run changed. Without it
/// the run goes on, and they know less.
fn keep_start(home: &Home, run_id: &RunId, copy: &Path) {
    let kept = std::path::absolute(home.root()).and_then(|root| {
        let occasion = Occasion { name: START, before: RUN, even_if_empty: true };
        Rescues::of(&root, run_id.as_str()).keep(&Workdir::open(copy)?, &Extent::Whole, occasion)
    });
    if let Err(error) = kept {
        tell!("warning: the copy's beginning can't be kept, so `adjutant apply {run_id}` won't work: {error}");
    }
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
