//! The places of things, and the environment: read here, and given to everything below as values.
//!
//! The settings of a run are worked out in the runtime's `assembly`; the functions here say what is wrong with a
//! [`Failure`].

use std::path::{Path, PathBuf};

use adjutant_core::brief::{Brief, Reading};
use adjutant_host::http::Proxies;
use adjutant_runtime::assembly::{self, Environment, Overrides, Remark, RunSettings, Surroundings, Unready};
use adjutant_store::Home;
use adjutant_store::keys::{self, Keys};
use anyhow::Context;

use crate::command;
use crate::failure::Failure;

/// Place where everything is kept.
#[derive(Debug, Default, clap::Args)]
pub struct Place {
    /// The folder of journals, configuration and artifacts [env: ADJUTANT_HOME] [default: ~/.adjutant]
    #[arg(long, global = true, value_name = "DIR", display_order = 900)]
    home: Option<PathBuf>,
    /// The folder of journals alone [env: ADJUTANT_SESSIONS_DIR] [default: sessions in the home]
    #[arg(long, global = true, value_name = "DIR", display_order = 901)]
    sessions_dir: Option<PathBuf>,
}

/// The folder that a variable of the environment names. Not by the parser: what it takes from the environment stands in
/// each usage line, as if it had been typed.
fn named_by(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).filter(|folder| !folder.is_empty()).map(PathBuf::from)
}

impl Place {
    /// The home.
    ///
    /// # Errors
    ///
    /// If none was given and the environment has no `HOME`.
    pub fn home(&self) -> anyhow::Result<Home> {
        let root = match self.home.clone().or_else(|| named_by("ADJUTANT_HOME")) {
            Some(home) => home,
            None => std::env::home_dir()
                .filter(|home| !home.as_os_str().is_empty())
                .map(|home| home.join(".adjutant"))
                .ok_or_else(|| {
                    Failure::usage("there is no home folder to keep journals in")
                        .hint("set ADJUTANT_HOME, or pass --home")
                })?,
        };
        Ok(Home::new(root, self.sessions_dir.clone().or_else(|| named_by("ADJUTANT_SESSIONS_DIR"))))
    }
}

/// The environment of this process.
pub fn environment() -> Environment {
    Environment::new(std::env::vars_os())
}

/// The environment and the folders of this process.
///
/// # Errors
///
/// If the current folder is gone.
pub fn surroundings() -> anyhow::Result<Surroundings> {
    let folder = std::env::current_dir().context("can't tell the current folder")?;
    Ok(Surroundings { environment: environment(), folder, home_folder: std::env::home_dir() })
}

/// Combines flags, environment, brief and configuration. `brief` comes with the folder that paths in it are relative to.
///
/// # Errors
///
/// If a configuration or a variable can't be read, or there is no working folder.
pub fn resolve(home: &Home, typed: &Overrides, brief: Option<(&Brief, &Path)>) -> anyhow::Result<RunSettings> {
    assembly::resolve(home, &surroundings()?, typed, brief).map_err(Failure::unready)
}

/// Reads a brief, with the roles that are configured where it names them.
///
/// # Errors
///
/// If the configuration can't be read.
pub fn read_brief(home: &Home, workdir: Option<&Path>, text: &str) -> anyhow::Result<Reading> {
    // Without a current folder there may be no need of one: few briefs name roles that are configured.
    let folder = std::env::current_dir().unwrap_or_default();
    let reading = assembly::read_brief(home, &folder, workdir, text, &remark);
    Ok(reading.map_err(|error| command::config_failure(&error))?)
}

/// Says on stderr what the operator should know.
pub fn remark(remark: Remark) {
    tell!("{remark}");
}

/// The keys of the key file in the home.
///
/// # Errors
///
/// If the file can't be read, or others could read or write it.
pub fn keys(home: &Home) -> anyhow::Result<Keys> {
    keys::load(home).map_err(|error| Failure::unready(Unready::from(error)))
}

/// The proxies that the environment names, for the APIs of models.
///
/// # Errors
///
/// If one of them can't be used.
pub fn proxies() -> anyhow::Result<Proxies> {
    environment().proxies().map_err(|error| Failure::unready(assembly::AgentError::from(error)))
}
