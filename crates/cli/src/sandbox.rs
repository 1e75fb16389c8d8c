//! The sandbox of a run, as the operator's configuration has it, and the self-test at its beginning.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use adjutant_core::nearest::did_you_mean;
use adjutant_core::trace::Body;
use adjutant_core::view::visible_line;
use adjutant_host::sandbox::{Layer, Limits, Mode, Places, Sandbox, SelfTest, Settings, self_test};
use adjutant_store::config::{SandboxConfig, Setting};
use anyhow::Context;

use crate::exit::Ending;
use crate::failure::Failure;

/// Our own program, also where its file was replaced meanwhile.
const OURSELVES: &str = "/proc/self/exe";

/// What a sandbox is set up with: the configuration, and where things are.
pub struct Plan<'a> {
    pub config: &'a SandboxConfig,
    /// The folder that commands work in.
    pub workdir: &'a Path,
    /// The operator's home folder; empty if it is not known.
    pub home: &'a str,
    /// Our own home.
    pub runtime_home: &'a Path,
    /// Paths of the workdir that nobody may read.
    pub deny_read: Vec<String>,
}

/// The sandbox of a run that was tried, and what was found.
pub struct Tried {
    pub sandbox: Arc<Sandbox>,
    /// `None` where commands are switched off: there is nothing to try.
    pub found: Option<SelfTest>,
}

/// Sets the sandbox up and tries it, unless commands are switched off.
///
/// # Errors
///
/// If a setting can't be used, or less is there than is required.
pub fn tried(plan: &Plan<'_>, no_shell: bool) -> anyhow::Result<Tried> {
    let sandbox = sandbox(plan)?;
    if no_shell {
        return Ok(Tried { sandbox: Arc::new(sandbox), found: None });
    }
    let found = find(&sandbox)?;
    if sandbox.settings().mode == Mode::Required && !found.is_whole() {
        return Err(Failure::ending(Ending::Failed, format!("the sandbox is not whole here: {}", lacks(&found)))
            .hint(
                "`sandbox.mode` is `required`; `best` goes on with what this kernel has, `--no-shell` without commands",
            )
            .into());
    }
    if !plan.deny_read.is_empty() && !found.layers.has(Layer::Mounts) {
        tell!(
            "warning: `deny_read` holds for file tools only: commands can read what it names, because the sandbox has no \
             layer `mounts` here"
        );
    }
    let missing: Vec<Layer> = found.layers.absent.iter().map(|absent| absent.layer).collect();
    Ok(Tried { sandbox: Arc::new(sandbox.without(missing)), found: Some(found) })
}

/// What there is of a sandbox here.
pub struct Found {
    pub test: SelfTest,
    /// What commands see of the operator's home.
    pub home: Vec<PathBuf>,
    /// Where the caches of commands are kept for this working folder; the folder may not be there yet.
    pub caches: Option<PathBuf>,
}

/// Returns what a self-test finds here, and what commands see of the operator's home.
///
/// # Errors
///
/// If a setting can't be used, or the test itself can't be set up.
pub fn found(plan: &Plan<'_>) -> anyhow::Result<Found> {
    let sandbox = sandbox(plan)?;
    Ok(Found { test: find(&sandbox)?, home: sandbox.shown_in_home(), caches: sandbox.caches_folder() })
}

fn find(sandbox: &Sandbox) -> anyhow::Result<SelfTest> {
    crate::sitting::runtime()?.block_on(self_test(sandbox)).context("can't set up the self-test of the sandbox")
}

/// What is missing, in a line.
pub fn lacks(found: &SelfTest) -> String {
    let layers = found.layers.absent.iter().map(|absent| format!("layer `{}` ({})", absent.layer, absent.why));
    let walls = found.missing.iter().map(|wall| format!("wall `{}`", wall.as_str()));
    layers.chain(walls).collect::<Vec<_>>().join(", ")
}

/// What was found, as it is put on record.
pub fn report(found: &SelfTest) -> Body {
    let words = |walls: &[adjutant_host::sandbox::Wall]| walls.iter().map(|wall| wall.as_str().to_owned()).collect();
    Body::SandboxReport {
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
    }
}

/// Variables of the environment that commands get by configuration: never one that holds an adapter's key.
pub fn variables(config: &SandboxConfig) -> anyhow::Result<Vec<String>> {
    let Some(named) = &config.environment else { return Ok(Vec::new()) };
    let adapters = adjutant_agents::adapters();
    let is_key = |name: &String| adapters.iter().any(|adapter| adapter.key_variables.contains(&name.as_str()));
    match named.value.iter().find(|name| is_key(name) || name.starts_with("ADJUTANT_")) {
        Some(name) => Err(Failure::usage(format!("`sandbox.environment` in {} can't have `{name}`", named.from))
            .hint("keys and settings of adjutant itself are never given to commands")
            .into()),
        None => Ok(named.value.clone()),
    }
}

fn sandbox(plan: &Plan<'_>) -> anyhow::Result<Sandbox> {
    let config = plan.config;
    let home = (!plan.home.is_empty()).then(|| PathBuf::from(plan.home));
    let environment: Vec<_> = std::env::vars_os().collect();
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
    let sandbox =
        Sandbox::new(settings, places, Path::new(OURSELVES)).context("can't make a folder for the sandbox")?;
    for finding in sandbox.found_at_start() {
        let finding = finding.to_string();
        tell!("warning: a command of a run that was killed had changed a repository: {}", visible_line(&finding));
    }
    Ok(sandbox)
}

/// How much of the sandbox must be there, as it is configured.
pub fn mode(set: Option<&Setting<String>>) -> anyhow::Result<Mode> {
    let Some(set) = set else { return Ok(Mode::default()) };
    Mode::ALL.into_iter().find(|mode| mode.as_str() == set.value).ok_or_else(|| {
        let words = Mode::ALL.map(Mode::as_str);
        let problem =
            format!("`sandbox.mode` in {} must be `off`, `best` or `required`, not `{}`", set.from, set.value);
        match did_you_mean(&set.value, &words) {
            Some(hint) => Failure::usage(problem).hint(hint).into(),
            None => Failure::usage(problem).into(),
        }
    })
}

fn layers(set: Option<&Setting<Vec<String>>>) -> anyhow::Result<Vec<Layer>> {
    let Some(set) = set else { return Ok(Vec::new()) };
    let known = Layer::ALL.map(Layer::as_str);
    let layers = set.value.iter().map(|name| {
        Layer::ALL.into_iter().find(|layer| layer.as_str() == name).ok_or_else(|| {
            Failure::usage(format!("`sandbox.without` in {} has no layer `{name}`", set.from))
                .hint(format!("the layers are {}", known.join(", ")))
                .into()
        })
    });
    layers.collect()
}

/// Absolute paths; `~` is the operator's home.
fn paths(key: &str, set: Option<&Setting<Vec<String>>>, home: Option<&Path>) -> anyhow::Result<Vec<PathBuf>> {
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
        Err(Failure::usage(format!("`sandbox.{key}` in {} can't have `{text}`", set.from))
            .hint("name absolute paths, or such that begin with `~/`")
            .into())
    });
    paths.collect()
}
