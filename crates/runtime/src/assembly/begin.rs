//! Begins a run: from a brief and its settings to a sitting, whose journal is made and empty.

use std::path::{Path, PathBuf};

use adjutant_agents::recorded::Existing;
use adjutant_core::brief::{self, BadSuffix, Brief};
use adjutant_core::gate::custom_role::Member;
use adjutant_core::session::standing_orders;
use adjutant_core::trace::{
    Body, CrewOptions, HostEvent, LearnedEvent, RULES_VERSION, RunEvent, RunStart, TRACE_VERSION, Versions, WorkOptions,
};
use adjutant_core::words::id::BriefId;
use adjutant_core::words::role::{Role, RoleName};
use adjutant_core::words::tool::OfferedTools;
use adjutant_store::{FileJournal, Home, Owner};
use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::agents::can_hold;
use super::folder::EnteredFolder;
use super::remark::Remark;
use super::settings::{LearnedSetting, RunSettings};
use super::sitting::{Equipped, Needs, Opened, Sitting};
use super::surroundings::Surroundings;
use super::unready::Unready;

/// A run that is to begin.
pub struct BeginRun<'a> {
    /// The home whose keys, hosts, grants and memory count.
    pub home: &'a Home,
    /// The place where the run is kept.
    pub keeping: Keeping<'a>,
    /// The process that puts it together.
    pub surroundings: &'a Surroundings,
    /// The brief.
    pub brief: Brief,
    /// The same, as it was written.
    pub text: String,
    /// The path that it came from, as it was given.
    pub brief_path: Option<String>,
    /// Its id.
    pub brief_id: BriefId,
    /// The settings of the run.
    pub settings: RunSettings,
    /// The extent of the run.
    pub extent: RunExtent,
    /// A copy of the folder of the settings in which tools work instead.
    pub copy: Option<PathBuf>,
    /// The claim on that folder; `None` for a run that changes nothing.
    pub folder: Option<EnteredFolder>,
    /// True if somebody sits at a terminal who can be asked.
    pub is_attended: bool,
    /// A new file in which every exchange with the agents is recorded.
    pub recording: Option<&'a Path>,
}

/// A place where a run is kept.
#[derive(Debug, Clone, Copy)]
pub enum Keeping<'a> {
    /// In the home.
    InHome,
    /// In another home, which is removed once the run is over: nothing of the run stays, rescues neither.
    Nowhere(&'a Home),
}

/// The extent of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunExtent {
    /// To the end of its brief.
    Whole,
    /// To a planner's plan, and nothing is done.
    PlanOnly,
}

/// Puts a run together that is to begin, and makes its journal.
///
/// # Errors
///
/// [`Unready`] if anything is missing: there is no journal then.
pub async fn begin(run: BeginRun<'_>, tell: &dyn Fn(Remark)) -> Result<Sitting, Unready> {
    let BeginRun { home, surroundings, brief, brief_id, settings, .. } = run;
    let mut options = settings.options()?;
    options.unattended = !run.is_attended;
    if run.extent == RunExtent::PlanOnly {
        options.work = plan_only(options.work);
    }
    if let Some(copy) = run.copy {
        options.copied_from = Some(std::mem::replace(&mut options.workdir, copy.display().to_string()));
    }
    can_hold(&options, tell)?;
    let learned = of_learned(&settings.learned);
    let needs = Needs { home, surroundings, brief, brief_id: &brief_id, options, settings };
    let mut equipped = Equipped::with(needs, tell).await?;
    let kept_in = match run.keeping {
        Keeping::InHome => home,
        Keeping::Nowhere(temporary) => {
            equipped.keep_nothing();
            temporary
        }
    };
    if let Some(path) = run.recording {
        equipped.record(path, Existing::Refuse)?;
    }
    let (run_id, journal) = FileJournal::create_next(kept_in, &brief_id, &Owner::current(), Timestamp::now())?;
    let mut folder = run.folder;
    if let Some(folder) = &mut folder {
        folder.name(run_id.as_str(), tell);
    }
    let header = Body::Run(RunEvent::TraceVersion {
        version: TRACE_VERSION,
        adjutant_version: env!("CARGO_PKG_VERSION").to_owned(),
        brief_id: brief_id.to_string(),
    });
    let (brief, options) = (equipped.brief(), equipped.options());
    let start = Body::Run(RunEvent::RunStart(Box::new(RunStart {
        run_id: run_id.clone(),
        brief_id,
        project: brief.project.to_string(),
        brief_path: run.brief_path,
        brief: run.text,
        tools: crate::offered_tools(brief, options, equipped.tools()),
        offered: Some(Box::new(OfferedTools::of(&equipped.tools()))),
        options: options.clone(),
        versions: Versions {
            adjutant: env!("CARGO_PKG_VERSION").to_owned(),
            standing_orders: standing_orders::VERSION,
            rules: RULES_VERSION,
        },
    })));
    let first = [header, start].into_iter().chain(learned).collect();
    let opened = Opened { run_id, journal, events: Vec::new(), folded: None, torn_bytes: 0 };
    Ok(Sitting::of(opened, equipped, folder, first))
}

/// The id of a brief: its own, else one made of the day and a few letters and digits.
///
/// # Errors
///
/// If no id can be made of the day.
pub fn brief_id(brief: &Brief) -> Result<BriefId, BadSuffix> {
    match &brief.brief_id {
        Some(brief_id) => Ok(brief_id.clone()),
        None => {
            let today = TimeZone::UTC.to_datetime(Timestamp::now()).date();
            let random = uuid::Uuid::now_v7().simple().to_string();
            brief::generated_id(today, &random[random.len() - 6..])
        }
    }
}

/// Makes of a run a crew that is at its end once there is a plan.
fn plan_only(work: WorkOptions) -> WorkOptions {
    let mut crew = match work {
        WorkOptions::Session { defined } => CrewOptions { custom_roles: defined, ..CrewOptions::default() },
        WorkOptions::Crew(crew) => crew,
        WorkOptions::Loop { defined, .. } => CrewOptions { custom_roles: defined, ..CrewOptions::default() },
    };
    let plans =
        |name: &&RoleName| Member::of(name, &crew.custom_roles).is_some_and(|member| member.base == Role::Planner);
    let planner = crew.roles.iter().find(plans).cloned().unwrap_or_else(|| Role::Planner.into());
    crew.role_agents.retain(|role, _| *role == planner);
    crew.role_budgets.retain(|role, _| *role == planner);
    WorkOptions::Crew(CrewOptions { roles: vec![planner, Role::Executor.into()], plans_only: true, ..crew })
}

/// Returns the events about the learned profile that the brief names.
fn of_learned(learned: &LearnedSetting) -> Vec<Body> {
    match learned {
        LearnedSetting::NotAsked => Vec::new(),
        LearnedSetting::Missing(slug) => {
            let text = format!(
                "there is no learned profile of {slug}: nothing of it applies; `adjutant learn {slug} --apply` makes one"
            );
            vec![Body::Host(HostEvent::Warning { text })]
        }
        LearnedSetting::Taken(taken) => {
            let slug = taken.options.slug.clone();
            let left_out = (!taken.left_out.is_empty()).then(|| {
                Body::Host(HostEvent::Warning {
                    text: format!("not applied of the learned profile {slug}: {}", taken.left_out.join("; ")),
                })
            });
            let applied = Body::Learned(LearnedEvent::LearnedProfileApplied {
                slug,
                schema_version: taken.schema_version,
                applied: taken.applied,
            });
            std::iter::once(applied).chain(left_out).collect()
        }
    }
}
