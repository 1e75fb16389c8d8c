//! The sandbox of a run, as the operator's configuration has it, and the self-test at its beginning.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use adjutant_core::trace::{Body, HostEvent};
use adjutant_core::words::nearest::did_you_mean;
use adjutant_core::words::visible::visible_line;
use adjutant_host::sandbox::{Layer, Limits, Mode, Places, Sandbox, SelfTest, Settings, self_test};
use adjutant_store::config::{Origin, SandboxConfig, Setting};
use thiserror::Error;

use super::remark::Remark;
use super::surroundings::Environment;

/// Our own program, also where its file was replaced meanwhile.
const OURSELVES: &str = "/proc/self/exe";

/// The plan of a sandbox: its configuration, and where things are.
pub struct SandboxPlan<'a> {
    /// Its configuration.
    pub config: &'a SandboxConfig,
    /// The folder that commands work in.
    pub workdir: &'a Path,
    /// The operator's home folder; empty if it is not known.
    pub home: &'a str,
    /// Our own home.
    pub runtime_home: &'a Path,
    /// Paths of the workdir that can't be read.
    pub deny_read: Vec<String>,
    /// The environment that commands get a part of.
    pub environment: &'a Environment,
}

/// A reason why a run has no sandbox that it may use.
#[derive(Debug, Error)]
pub enum SandboxError {
    /// Less is there than is required.
    #[error("the sandbox is not whole here: {lacks}")]
    NotWhole {
        /// The missing layers and walls.
        lacks: String,
    },
    /// A variable may not be given to commands.
    #[error("`sandbox.environment` in {from} can't have `{name}`")]
    OwnVariable {
        /// The variable.
        name: String,
        /// The configuration that names it.
        from: Origin,
    },
    /// The mode is unknown.
    #[error("`sandbox.mode` in {from} must be `off`, `best` or `required`, not `{found}`")]
    UnknownMode {
        /// The word that is there.
        found: String,
        /// The configuration that has it.
        from: Origin,
    },
    /// A layer that is left out is unknown.
    #[error("`sandbox.without` in {from} has no layer `{name}`")]
    UnknownLayer {
        /// The word that is there.
        name: String,
        /// The configuration that has it.
        from: Origin,
    },
    /// A path can't be shown or opened to commands.
    #[error("`sandbox.{key}` in {from} can't have `{text}`")]
    BadPath {
        /// The key of the configuration.
        key: &'static str,
        /// The word that is there.
        text: String,
        /// The configuration that has it.
        from: Origin,
    },
    /// It has no folder of its own.
    #[error("can't make a folder for the sandbox")]
    NoFolder(#[source] io::Error),
    /// It can't be tried.
    #[error("can't set up the self-test of the sandbox")]
    Untested(#[source] io::Error),
}

impl SandboxError {
    /// Returns the hint for the operator, if there is one.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NotWhole { .. } => Some(
                "`sandbox.mode` is `required`; `best` goes on with what this kernel has, `--no-shell` without commands"
                    .to_owned(),
            ),
            Self::OwnVariable { .. } => {
                Some("keys and settings of adjutant itself are never given to commands".to_owned())
            }
            Self::UnknownMode { found, .. } => did_you_mean(found, &Mode::ALL.map(Mode::as_str)),
            Self::UnknownLayer { .. } => Some(format!("the layers are {}", Layer::ALL.map(Layer::as_str).join(", "))),
            Self::BadPath { .. } => Some("name absolute paths, or such that begin with `~/`".to_owned()),
            Self::NoFolder(_) | Self::Untested(_) => None,
        }
    }

    /// True if the operator's configuration is at fault, not this machine.
    #[must_use]
    pub fn is_usage(&self) -> bool {
        match self {
            Self::NotWhole { .. } | Self::NoFolder(_) | Self::Untested(_) => false,
            Self::OwnVariable { .. } | Self::UnknownMode { .. } | Self::UnknownLayer { .. } | Self::BadPath { .. } => {
                true
            }
        }
    }
}

/// The sandbox of a run that was tried, and what was found.
pub(super) struct TriedSandbox {
    pub sandbox: Arc<Sandbox>,
    /// `None` where commands are switched off: there is nothing to try.
    pub found: Option<SelfTest>,
}

/// Sets the sandbox up and tries it, unless commands are switched off.
///
/// # Errors
///
/// If a setting can't be used, or less is there than is required.
pub(super) async fn tried(
    plan: &SandboxPlan<'_>,
    no_shell: bool,
    tell: &dyn Fn(Remark),
) -> Result<TriedSandbox, SandboxError> {
    let sandbox = sandbox(plan, tell)?;
    if no_shell {
        return Ok(TriedSandbox { sandbox: Arc::new(sandbox), found: None });
    }
    let found = self_test(&sandbox).await.map_err(SandboxError::Untested)?;
    if sandbox.settings().mode == Mode::Required && !found.is_whole() {
        return Err(SandboxError::NotWhole { lacks: lacks(&found) });
    }
    if !plan.deny_read.is_empty() && !found.layers.has(Layer::Mounts) {
        tell(Remark::warning(
            "`deny_read` holds for file tools only: commands can read what it names, because the sandbox has no layer \
             `mounts` here",
        ));
    }
    let missing: Vec<Layer> = found.layers.absent.iter().map(|absent| absent.layer).collect();
    Ok(TriedSandbox { sandbox: Arc::new(sandbox.without(missing)), found: Some(found) })
}

/// The sandbox as it was found here.
pub struct FoundSandbox {
    /// The result of the self-test.
    pub test: SelfTest,
    /// The paths of the operator's home that commands see.
    pub home: Vec<PathBuf>,
    /// The folder of commands' caches for this working folder; it may not be there yet.
    pub caches: Option<PathBuf>,
}

/// Returns what a self-test finds here, and what commands see of the operator's home.
///
/// # Errors
///
/// If a setting can't be used, or the test itself can't be set up.
pub async fn found(plan: &SandboxPlan<'_>, tell: &dyn Fn(Remark)) -> Result<FoundSandbox, SandboxError> {
    let sandbox = sandbox(plan, tell)?;
    let test = self_test(&sandbox).await.map_err(SandboxError::Untested)?;
    Ok(FoundSandbox { test, home: sandbox.shown_in_home(), caches: sandbox.caches_folder() })
}

/// Lists what is missing, in a line.
#[must_use]
pub fn lacks(found: &SelfTest) -> String {
    let layers = found.layers.absent.iter().map(|absent| format!("layer `{}` ({})", absent.layer, absent.why));
    let walls = found.missing.iter().map(|wall| format!("wall `{}`", wall.as_str()));
    layers.chain(walls).collect::<Vec<_>>().join(", ")
}

/// Makes the event of what was found.
pub(super) fn report(found: &SelfTest) -> Body {
    let words = |walls: &[adjutant_host::sandbox::Wall]| walls.iter().map(|wall| wall.as_str().to_owned()).collect();
    Body::Host(HostEvent::SandboxReport {
        mode: found.mode.as_str().to_owned(),
        held: words(&found.held),
        missing: words(&found.missing),
        layers: found.layers.held.iter().map(ToString::to_string).collect(),
        absent: found
            .layers
            .absent
            .iter()
            .map(|absent| (absent.layer.to_string(), absent.why.clone()))
            .collect::<BTreeMap<_, _>>(),
    })
}

/// Variables of the environment that commands get by configuration: never one that holds an adapter's key.
pub(super) fn variables(config: &SandboxConfig) -> Result<Vec<String>, SandboxError> {
    let Some(named) = &config.environment else { return Ok(Vec::new()) };
    let adapters = adjutant_agents::adapters();
    let is_key = |name: &String| adapters.iter().any(|adapter| adapter.key_variables.contains(&name.as_str()));
    match named.value.iter().find(|name| is_key(name) || name.starts_with("ADJUTANT_")) {
        Some(name) => Err(SandboxError::OwnVariable { name: name.clone(), from: named.from.clone() }),
        None => Ok(named.value.clone()),
    }
}

fn sandbox(plan: &SandboxPlan<'_>, tell: &dyn Fn(Remark)) -> Result<Sandbox, SandboxError> {
    let config = plan.config;
    let home = (!plan.home.is_empty()).then(|| PathBuf::from(plan.home));
    let environment: Vec<_> = plan.environment.all().collect();
    let places = Places {
        workdir: plan.workdir.to_owned(),
        runtime_home: std::path::absolute(plan.runtime_home).ok(),
        programs: Places::programs_of(&environment),
        read: paths("read", config.read.as_ref(), home.as_deref())?,
        write: paths("write", config.write.as_ref(), home.as_deref())?,
        home,
        deny_read: plan.deny_read.clone(),
    };
    let left_out = layers(config.without.as_ref())?;
    let memory_bytes = config.memory_mb.as_ref().map(|set| set.value << 20);
    let settings = Settings {
        mode: mode(config.mode.as_ref())?,
        layers: Layer::ALL.into_iter().filter(|layer| !left_out.contains(layer)).collect(),
        limits: Limits { memory_bytes, ..Limits::default() },
    };
    let sandbox = Sandbox::new(settings, places, Path::new(OURSELVES)).map_err(SandboxError::NoFolder)?;
    for finding in sandbox.found_at_start() {
        let finding = finding.to_string();
        let finding = visible_line(&finding);
        tell(Remark::warning(format!("a command of a run that was killed had changed a repository: {finding}")));
    }
    Ok(sandbox)
}

/// Reads how much of the sandbox must be there, as it is configured.
///
/// # Errors
///
/// If the configuration has another word for it.
pub fn mode(set: Option<&Setting<String>>) -> Result<Mode, SandboxError> {
    let Some(set) = set else { return Ok(Mode::default()) };
    let mode = Mode::ALL.into_iter().find(|mode| mode.as_str() == set.value);
    mode.ok_or_else(|| SandboxError::UnknownMode { found: set.value.clone(), from: set.from.clone() })
}

fn layers(set: Option<&Setting<Vec<String>>>) -> Result<Vec<Layer>, SandboxError> {
    let Some(set) = set else { return Ok(Vec::new()) };
    let layer = |name: &String| {
        let layer = Layer::ALL.into_iter().find(|layer| layer.as_str() == name);
        layer.ok_or_else(|| SandboxError::UnknownLayer { name: name.clone(), from: set.from.clone() })
    };
    set.value.iter().map(layer).collect()
}

/// Absolute paths; `~` is the operator's home.
fn paths(
    key: &'static str,
    set: Option<&Setting<Vec<String>>>,
    home: Option<&Path>,
) -> Result<Vec<PathBuf>, SandboxError> {
    let Some(set) = set else { return Ok(Vec::new()) };
    let paths = set.value.iter().map(|text| {
        let path = match (text.strip_prefix('~'), home) {
            (Some(""), Some(home)) => home.to_owned(),
            (Some(rest), Some(home)) if rest.starts_with('/') => home.join(rest.trim_start_matches('/')),
            _ => PathBuf::from(text),
        };
        if path.is_absolute() && path.parent().is_some() {
            return Ok(path);
        }
        Err(SandboxError::BadPath { key, text: text.clone(), from: set.from.clone() })
    });
    paths.collect()
}
