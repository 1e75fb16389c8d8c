//! The sandbox of a run: the operator's settings, the places of this machine, and a folder of its own.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use super::caches::{self, Caches};
use super::embedded::Links;
use super::folders::Folders;
use super::layer::{Layer, Layers};
use super::places::Places;
use super::policy::{Limits, Network, Policy};
use super::refusals::{self, RefusalContext};
use super::repository::{MODULES_MAX, Repository};
use super::scratch::Scratch;
use super::settings_copy::{self, SettingsCopy};
use super::unread::unread;
use super::watch::{RepositoryFinding, Watch};
use crate::custody::{Confined, Confinement};
use crate::state_files;

/// The folder in a run's own for copies of the home's settings.
const COPIES: &str = "settings";
/// The folder in our home for what commands left in repositories.
const ASIDE: &str = "aside";

/// The strictness: how much of the sandbox must be there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Mode {
    /// None: commands may do what the user may.
    Off,
    /// As much as this kernel can give; missing layers are reported.
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

/// The operator's settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The strictness.
    pub mode: Mode,
    /// The layers that are tried; leaving one out shows what a kernel without it would do.
    pub layers: BTreeSet<Layer>,
    /// Limits on a command's use of the machine.
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
    /// The contents of the folders below the workdir, remembered.
    walked: Folders,
    /// Copies of the home's settings, made once.
    copies: Vec<SettingsCopy>,
    /// Made for the first command.
    caches: OnceLock<Caches>,
    /// Numbers the commands, for the files in which their watches are.
    commands: AtomicU64,
}

impl Sandbox {
    /// Makes the run's own folder, and removes what killed runs left of theirs. `launcher` is our program, which is
    /// started anew for each command.
    ///
    /// # Errors
    ///
    /// The system's, if the folder can't be made.
    pub fn new(settings: Settings, places: Places, launcher: &Path) -> io::Result<Self> {
        let scratch = Scratch::new()?;
        let copies = match &places.home {
            Some(home) if settings.mode != Mode::Off => {
                settings_copy::make(home, &places.workdir, &fs::canonicalize(scratch.path())?.join(COPIES))?
            }
            Some(_) | None => Vec::new(),
        };
        Ok(Self {
            settings,
            places,
            scratch,
            launcher: launcher.to_owned(),
            accepted: BTreeSet::new(),
            links: Links::default(),
            walked: Folders::default(),
            copies,
            caches: OnceLock::new(),
            commands: AtomicU64::new(0),
        })
    }

    /// Returns the operator's settings.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Returns the things that commands of killed runs had left in repositories, and that were put aside just now.
    #[must_use]
    pub fn found_at_start(&self) -> &[RepositoryFinding] {
        self.scratch.findings()
    }

    /// Returns the paths of the operator's home that a command sees, as far as they are there.
    #[must_use]
    pub fn shown_in_home(&self) -> Vec<PathBuf> {
        match self.settings.mode {
            Mode::Off => self.places.home.iter().cloned().collect(),
            Mode::Best | Mode::Required => self.places.shown_in_home(),
        }
    }

    /// The caches that commands fill. Without a place for them tools have the operator's, as far as those may be read.
    fn caches(&self) -> &Caches {
        self.caches.get_or_init(|| {
            let workdir = fs::canonicalize(&self.places.workdir);
            let made = match (&self.places.home, workdir, fs::canonicalize(self.scratch.path())) {
                (Some(home), Ok(workdir), Ok(passing)) => self.places.caches(&workdir, home, &passing).ok(),
                _ => None,
            };
            made.unwrap_or_default()
        })
    }

    /// Returns the folder for the caches of this working folder that commands fill; it may not be there yet.
    #[must_use]
    pub fn caches_folder(&self) -> Option<PathBuf> {
        let workdir = fs::canonicalize(&self.places.workdir).ok()?;
        self.places.home.as_ref()?;
        Some(caches::folder_of(self.places.runtime_home.as_deref()?, &workdir))
    }

    /// Has commands run without these layers from here on: the operator was told that they are missing.
    #[must_use]
    pub fn without(mut self, missing: impl IntoIterator<Item = Layer>) -> Self {
        self.accepted.extend(missing);
        self
    }

    /// Returns a command's temporary folder, if the command is not confined.
    #[must_use]
    pub fn temp(&self) -> PathBuf {
        self.scratch.path().join("tmp")
    }

    /// Makes the policy of a command that may, or may not, use the network. Looks at the disk: a repository may have
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
        let unread = unread(&workdir, &places.deny_read)?;
        Ok(self.policy_of(places, (&repository, unread), network, fs::canonicalize(self.scratch.path())?))
    }

    /// The repository of `workdir` with the submodules that have their folder in it.
    fn repository(&self, workdir: &Path) -> Repository {
        let mut repository = Repository::of(workdir, self.places.home.as_deref());
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

    fn policy_of(
        &self,
        places: &Places,
        (repository, unread): (&Repository, Vec<PathBuf>),
        network: Network,
        scratch: PathBuf,
    ) -> Policy {
        let wanted = self.settings.layers.iter().copied();
        let mut hidden = places.hidden();
        hidden.extend(unread.iter().cloned());
        // A folder that was moved would have another name, under which nothing is hidden.
        let folders = unread.iter().filter_map(|path| path.parent()).map(Path::to_owned);
        let kept_in_place = repository.kept_in_place.iter().cloned().chain(folders).collect();
        // What the operator named is shown as it is.
        let copies = self.copies.iter().filter(|copy| hidden.contains(&copy.at)).cloned().collect();
        let write = places.writable(repository);
        let caches = if *places == self.places { self.caches().besides(&write) } else { Vec::new() };
        let read = places.readable().into_iter().chain(repository.tree.clone()).collect();
        // What is in it says how a run stands, or speaks for its operator.
        let own = fs::canonicalize(&places.workdir).map(|workdir| workdir.join(state_files::FOLDER));
        let protected = repository.protected.iter().cloned().chain(own).collect();
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
            read,
            write,
            caches,
            hidden,
            unread,
            copies,
            protected,
            kept_in_place,
            scratch,
            limits: self.settings.limits,
        }
    }

    /// Makes the confinement of a command, with the present state of the repository, to compare with when the command
    /// has ended. That state is on the disk before the command begins: if this process is killed, the next run
    /// compares.
    ///
    /// # Errors
    ///
    /// The system's, if the workdir or our own folder is gone, or the state of the repository can't be written.
    pub fn confinement(&self, network: Network) -> io::Result<Confinement> {
        Ok(match self.settings.mode {
            Mode::Off => Confinement::None,
            Mode::Best | Mode::Required => {
                let scratch = fs::canonicalize(self.scratch.path())?;
                let workdir = fs::canonicalize(&self.places.workdir)?;
                let repository = self.repository(&workdir);
                let aside = self.places.runtime_home.as_ref().map(|home| home.join(ASIDE));
                let number = self.commands.fetch_add(1, Ordering::Relaxed);
                let watch = Watch::of(&workdir, &repository, (&self.links, &self.walked), aside);
                let watch = watch.kept(&scratch, number)?;
                let unread = unread(&workdir, &self.places.deny_read)?;
                let policy = self.policy_of(&self.places, (&repository, unread), network, scratch);
                Confinement::Sandbox(Box::new(Confined { watch, ..self.confined(policy) }))
            }
        })
    }

    /// Says which wall a command that failed may have run into, and what would allow what it tried; empty if what it
    /// printed is about none. `layers` is what held, `folder` where it began.
    #[must_use]
    pub fn explain(
        &self,
        network: Network,
        layers: &Layers,
        folder: &Path,
        (stdout, stderr): (&str, &str),
    ) -> Vec<String> {
        let Ok(policy) = self.policy(network) else { return Vec::new() };
        let around = RefusalContext { policy: &policy, layers, folder, home: self.places.home.as_deref() };
        refusals::notes(around, stdout, stderr)
    }

    pub(super) fn confined(&self, policy: Policy) -> Confined {
        Confined { launcher: self.launcher.clone(), policy, probe: None, watch: Watch::default() }
    }
}
