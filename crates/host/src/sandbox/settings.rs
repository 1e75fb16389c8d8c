//! The sandbox of a run: the operator's settings, the places of this machine, and a folder of its own.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use super::embedded::Links;
use super::layer::Layer;
use super::places::Places;
use super::policy::{Limits, Network, Policy};
use super::repository::{MODULES_MAX, Repository};
use super::scratch::Scratch;
use super::watch::{Finding, Watch};
use crate::custody::{Confined, Confinement};

/// The folder in our home for what commands left in repositories.
const ASIDE: &str = "aside";

/// How much of the sandbox must be there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Mode {
    /// None: commands may do what the user may.
    Off,
    /// What this kernel can give; what is missing is said.
    #[default]
    Best,
    /// All of it, or no command is run.
    Required,
}

impl Mode {
    /// All of them, from loose to strict.
    pub const ALL: [Self; 3] = [Self::Off, Self::Best, Self::Required];

    /// Its name in settings.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Best => "best",
            Self::Required => "required",
        }
    }
}

/// What the operator settled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// How much must be there.
    pub mode: Mode,
    /// The layers that are tried; leaving one out shows what a kernel without it would do.
    pub layers: BTreeSet<Layer>,
    /// How much of the machine a command may take.
    pub limits: Limits,
}

impl Default for Settings {
    fn default() -> Self {
        Self { mode: Mode::default(), layers: Layer::all(), limits: Limits::default() }
    }
}

/// The sandbox of one run, from which each command gets its policy.
#[derive(Debug)]
pub struct Sandbox {
    settings: Settings,
    places: Places,
    scratch: Scratch,
    launcher: PathBuf,
    /// Layers that are known to be missing, and that commands are run without.
    accepted: BTreeSet<Layer>,
    links: Links,
    /// Numbers the commands, for the files in which their watches are.
    commands: AtomicU64,
}

impl Sandbox {
    /// Makes the run's own folder, and removes what killed runs left of theirs. `launcher` is our program, which is started anew for each command.
    ///
    /// # Errors
    ///
    /// The system's, if the folder can't be made.
    pub fn new(settings: Settings, places: Places, launcher: &Path) -> io::Result<Self> {
        Ok(Self {
            settings,
            places,
            scratch: Scratch::new()?,
            launcher: launcher.to_owned(),
            accepted: BTreeSet::new(),
            links: Links::default(),
            commands: AtomicU64::new(0),
        })
    }

    /// What the operator settled.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// What commands of killed runs had left in repositories, and was put aside just now.
    #[must_use]
    pub fn found_at_start(&self) -> &[Finding] {
        self.scratch.findings()
    }

    /// Has commands run without these layers from here on: the operator was told that they are missing.
    #[must_use]
    pub fn without(mut self, missing: impl IntoIterator<Item = Layer>) -> Self {
        self.accepted.extend(missing);
        self
    }

    /// Where a command finds its temporary folder, if it is not confined.
    #[must_use]
    pub fn temp(&self) -> PathBuf {
        self.scratch.path().join("tmp")
    }

    /// What a command is kept to that may, or may not, use the network. Looks at the disk: a repository may have
    /// come since.
    ///
    /// # Errors
    ///
    /// The system's, if our own folder is gone.
    pub fn policy(&self, network: Network) -> io::Result<Policy> {
        self.policy_for(&self.places, network)
    }

    pub(super) fn policy_for(&self, places: &Places, network: Network) -> io::Result<Policy> {
        let workdir = fs::canonicalize(&places.workdir)?;
        let repository = self.repository(&workdir);
        Ok(self.policy_of(places, &repository, network, fs::canonicalize(self.scratch.path())?))
    }

    /// The repository of `workdir` with the submodules that have their folder in it.
    fn repository(&self, workdir: &Path) -> Repository {
        let mut repository = Repository::of(workdir);
        let mut next = 0;
        while let Some(folder) = repository.folders.get(next).filter(|_| next < MODULES_MAX).cloned() {
            next += 1;
            let Some(tree) = folder.tree else { continue };
            for (folder, tree) in self.links.tree(&folder.at, &tree).embedded() {
                repository.embedded(&folder, &tree);
            }
        }
        repository
    }

    fn policy_of(&self, places: &Places, repository: &Repository, network: Network, scratch: PathBuf) -> Policy {
        let wanted = self.settings.layers.iter().copied();
        Policy {
            layers: self.settings.layers.clone(),
            required: match self.settings.mode {
                Mode::Off => BTreeSet::new(),
                Mode::Best => wanted
                    .filter(|layer| !self.accepted.contains(layer))
                    .filter(|layer| *layer != Layer::Network || network == Network::Off)
                    .collect(),
                Mode::Required => {
                    Layer::ALL.into_iter().filter(|layer| *layer != Layer::Network || network == Network::Off).collect()
                }
            },
            network,
            read: places.readable(),
            write: places.writable(repository),
            hidden: places.hidden(),
            protected: repository.protected.clone(),
            kept_in_place: repository.kept_in_place.clone(),
            scratch,
            limits: self.settings.limits,
        }
    }

    /// What custody keeps a command to, and how the repository is now, to be looked at when it has ended. That is on
    /// the disk before the command begins: if this process is killed, the next run looks.
    ///
    /// # Errors
    ///
    /// The system's, if the workdir or our own folder is gone, or how the repository is can't be kept.
    pub fn confinement(&self, network: Network) -> io::Result<Confinement> {
        Ok(match self.settings.mode {
            Mode::Off => Confinement::None,
            Mode::Best | Mode::Required => {
                let scratch = fs::canonicalize(self.scratch.path())?;
                let workdir = fs::canonicalize(&self.places.workdir)?;
                let repository = self.repository(&workdir);
                let aside = self.places.runtime_home.as_ref().map(|home| home.join(ASIDE));
                let number = self.commands.fetch_add(1, Ordering::Relaxed);
                let watch = Watch::of(&workdir, &repository, &self.links, aside);
                let watch = watch.kept(&scratch, number)?;
                let policy = self.policy_of(&self.places, &repository, network, scratch);
                Confinement::Sandbox(Box::new(Confined { watch, ..self.confined(policy) }))
            }
        })
    }

    pub(super) fn confined(&self, policy: Policy) -> Confined {
        Confined { launcher: self.launcher.clone(), policy, probe: None, watch: Watch::default() }
    }
}
