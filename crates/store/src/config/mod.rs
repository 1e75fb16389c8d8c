//! Reads an operator's settings: `config.toml` in the home, and `.adjutant/config.toml` in a project.
//!
//! In: a home and a project's folder. Out: settings, each with the place it came from, and notices. A mistake is an
//! error with its place; nothing is skipped in silence. A project's file comes with the project, so it is read only
//! once the operator trusts its exact content.
//!
//! Begin with [`load`]. `keys.rs` has every key there is, `adapters.rs` those of an adapter, `sandbox.rs` those of the
//! sandbox, `hooks.rs` those of a guard hook, `notify.rs` those of notices, `programs.rs` the entries about programs,
//! `roles.rs` the roles, and `trust.rs` says which configurations are trusted.

mod adapters;
mod hooks;
mod keys;
mod notify;
mod programs;
mod roles;
mod looped;
mod sandbox;
mod trust;

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use adjutant_core::detect::{Detector, Sensitivity};
use adjutant_core::gate::custom_role::{BadCustomRole, CustomRole};
use adjutant_core::gate::shell::ProgramEntry;
use adjutant_core::gate::{AfterUntrusted, GuardHook};
use adjutant_core::words::Mode;
use adjutant_core::words::effort::Effort;
use adjutant_core::words::nearest::question;
use adjutant_core::words::role::RoleName;
use thiserror::Error;

pub use adapters::{ADAPTER_KEYS, AdapterConfig, Added, CacheTime, IDLE_SECONDS_MAX, Tier};
pub use hooks::HOOK_KEYS;
pub use keys::KEYS;
pub use looped::{LOOP_KEYS, LoopConfig};
pub use notify::{NOTIFY_KEYS, NotifyConfig, QuietHours};
pub use roles::ROLE_KEYS;
pub use sandbox::{SANDBOX_KEYS, SandboxConfig};
pub use trust::{Trusted, check, trust};

use crate::home::Home;
use crate::plain_file;
use crate::trust::{Standing, Trust, TrustError};

/// The longest configuration that is read, in bytes: anything longer is something else.
pub const CONFIG_BYTES_MAX: u64 = 1024 * 1024;

/// The operator's settings. All are optional.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Config {
    /// The adapter.
    pub adapter: Option<Setting<String>>,
    /// The model.
    pub model: Option<Setting<String>>,
    /// Autonomy of sessions.
    pub mode: Option<Setting<Mode>>,
    /// Number of steps that a session may take before the operator is asked, from 1.
    pub max_steps: Option<Setting<u32>>,
    /// True if `shell_exec` is switched off.
    pub no_shell: Option<Setting<bool>>,
    /// Sensitivity of the detectors for which it is set.
    pub detectors: BTreeMap<Detector, Setting<Sensitivity>>,
    /// Adapters that take over when one fails, in order: an adapter, or `adapter:model`. Not checked here, since this
    /// crate doesn't know the adapters.
    pub fallback: Option<Setting<Vec<String>>>,
    /// Number of tokens that a run may use, from 1.
    pub max_tokens: Option<Setting<u64>>,
    /// Number of minutes that a run may take, from 1.
    pub max_minutes: Option<Setting<u64>>,
    /// Number of minutes to wait for a provider that fails.
    pub patience_minutes: Option<Setting<u64>>,
    /// Reasoning effort of models.
    pub effort: Option<Setting<Effort>>,
    /// The most tokens that a model may think for in one reply, from 1.
    pub thinking_tokens: Option<Setting<u32>>,
    /// The most a run may cost, in nano-dollars, from 1.
    pub max_nano_dollars: Option<Setting<u64>>,
    /// Number of turns that a run may take, from 1.
    pub max_turns: Option<Setting<u64>>,
    /// Rule for a call that follows text from outside.
    pub after_untrusted: Option<Setting<AfterUntrusted>>,
    /// Tools whose results count as text from outside.
    pub untrusted_tools: Option<Setting<Vec<String>>>,
    /// True if results are sent to agents without a fence.
    pub plain_results: Option<Setting<bool>>,
    /// Number of bytes of a tool's result that are sent to an agent, from 1.
    pub result_bytes_max: Option<Setting<u64>>,
    /// Guard hooks: the home's, then the project's.
    pub hooks: Vec<Setting<GuardHook>>,
    /// Entries about programs, in addition to the builtin table: from the home only, with examples that hold.
    pub programs: Vec<Setting<ProgramEntry>>,
    /// Rules about single commands that allow what isn't known: the home's, then the project's.
    pub shell_allow: Vec<Setting<String>>,
    /// Rules about single commands that deny: the home's, then the project's.
    pub shell_deny: Vec<Setting<String>>,
    /// Paths that no agent may read: the home's, then the project's.
    pub deny_read: Vec<Setting<String>>,
    /// The settings of single adapters, by their ids, which are not checked here either.
    pub adapters: BTreeMap<String, Setting<AdapterConfig>>,
    /// The settings of the sandbox of commands.
    pub sandbox: SandboxConfig,
    /// The settings of notices to the operator: from the home only.
    pub notify: NotifyConfig,
    /// The settings of loops: the project's before the home's.
    pub looped: LoopConfig,
    /// The roles that were defined: the project's before the home's, each as a whole.
    pub roles: BTreeMap<RoleName, Setting<CustomRole>>,
}

/// A value, and where it was set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting<T> {
    /// The value.
    pub value: T,
    /// The place that set it.
    pub from: Origin,
}

/// A place in a configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// The file.
    pub path: PathBuf,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
}

impl Origin {
    /// The place of the byte `offset` of `text`, which was read from `path`.
    pub(crate) fn of(path: &Path, text: &str, offset: usize) -> Self {
        let before = text.get(..offset).unwrap_or(text);
        let line_begin = before.rfind('\n').map_or(0, |end| end + 1);
        Self {
            path: path.to_owned(),
            line: before.matches('\n').count() + 1,
            column: before[line_begin..].chars().count() + 1,
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.path.display(), self.line, self.column)
    }
}

impl Config {
    /// This configuration, with what it lacks taken from `other`.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        // Hooks only tighten: none of them takes another's place.
        let hooks = other.hooks.into_iter().chain(self.hooks).collect();
        // Rules are each about other commands.
        let shell_allow = other.shell_allow.into_iter().chain(self.shell_allow).collect();
        let shell_deny = other.shell_deny.into_iter().chain(self.shell_deny).collect();
        let deny_read = other.deny_read.into_iter().chain(self.deny_read).collect();
        let mut detectors = other.detectors;
        detectors.extend(self.detectors);
        // A role is one definition: nothing of another is mixed into it.
        let mut roles = other.roles;
        roles.extend(self.roles);
        let mut looped = other.looped;
        looped.extend(self.looped);
        let mut adapters = other.adapters;
        for (id, own) in self.adapters {
            let whole = match adapters.remove(&id) {
                Some(of_other) => Setting { value: own.value.or(of_other.value), from: own.from },
                None => own,
            };
            adapters.insert(id, whole);
        }
        Self {
            adapter: self.adapter.or(other.adapter),
            model: self.model.or(other.model),
            mode: self.mode.or(other.mode),
            max_steps: self.max_steps.or(other.max_steps),
            no_shell: self.no_shell.or(other.no_shell),
            detectors,
            fallback: self.fallback.or(other.fallback),
            max_tokens: self.max_tokens.or(other.max_tokens),
            max_minutes: self.max_minutes.or(other.max_minutes),
            patience_minutes: self.patience_minutes.or(other.patience_minutes),
            effort: self.effort.or(other.effort),
            thinking_tokens: self.thinking_tokens.or(other.thinking_tokens),
            max_nano_dollars: self.max_nano_dollars.or(other.max_nano_dollars),
            max_turns: self.max_turns.or(other.max_turns),
            after_untrusted: self.after_untrusted.or(other.after_untrusted),
            untrusted_tools: self.untrusted_tools.or(other.untrusted_tools),
            plain_results: self.plain_results.or(other.plain_results),
            result_bytes_max: self.result_bytes_max.or(other.result_bytes_max),
            hooks,
            shell_allow,
            shell_deny,
            deny_read,
            adapters,
            looped,
            roles,
            // Only the home's has these.
            programs: other.programs,
            sandbox: other.sandbox,
            notify: other.notify,
        }
    }
}

/// The result of loading the configuration.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Loaded {
    /// The settings: the project's before the home's.
    pub config: Config,
    /// Notices for the operator.
    pub notices: Vec<Notice>,
}

/// Something about a configuration that the operator should know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// A project's configuration is not trusted, and was not read.
    Untrusted {
        /// The file.
        path: PathBuf,
        /// The change since it was trusted, as a unified diff.
        change: Option<String>,
    },
    /// A file of the project that a guard hook runs is not trusted: calls that the hook guards are asked about.
    UntrustedHook {
        /// The file.
        path: PathBuf,
    },
    /// Lines of the trust store can't be read.
    DamagedTrust {
        /// Number of those lines.
        lines: usize,
    },
}

impl Notice {
    /// Returns true if the notice would go away once the operator trusted a file.
    #[must_use]
    pub fn wants_trust(&self) -> bool {
        match self {
            Self::Untrusted { .. } | Self::UntrustedHook { .. } => true,
            Self::DamagedTrust { .. } => false,
        }
    }
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Untrusted { path, change } => {
                write!(
                    f,
                    "`{}` is ignored: nobody has trusted what it says now. Read it, then trust it with `adjutant trust add`",
                    path.display()
                )?;
                match change {
                    Some(change) => write!(f, "\n{}", change.trim_end()),
                    None => Ok(()),
                }
            }
            Self::UntrustedHook { path } => write!(
                f,
                "the guard hook in `{}` is not run, and every call that it guards is asked about: nobody has trusted \
                 what the file says now. Read it, then trust it with `adjutant trust add`",
                path.display()
            ),
            Self::DamagedTrust { lines } => {
                write!(f, "{lines} lines of the trust store can't be read: what they said is not trusted any more")
            }
        }
    }
}

/// Reason why a configuration can't be used.
#[derive(Debug, Error)]
pub enum ConfigError {
    /// It can't be read, or the list of trusted ones can't be read or written.
    #[error("can't use `{path}`", path = path.display())]
    Unusable {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// There is none to trust.
    #[error("there is no `{path}` to trust", path = path.display())]
    Absent {
        /// The path that was looked at.
        path: PathBuf,
    },
    /// It is not TOML.
    #[error("can't read {at}: {why}")]
    NotToml {
        /// The place of the mistake.
        at: Origin,
        /// The parser's message.
        why: String,
    },
    /// There is no such key.
    #[error("unknown key `{key}` in {at}")]
    UnknownKey {
        /// The place of the key.
        at: Origin,
        /// The key.
        key: String,
        /// Keys that may have been meant.
        nearest: Vec<&'static str>,
        /// All that could stand there.
        known: Vec<&'static str>,
    },
    /// A value is not what its key takes.
    #[error("`{key}` in {at} must be {expected}, not {found}")]
    BadValue {
        /// The place of the value.
        at: Origin,
        /// The key.
        key: String,
        /// The values that the key takes.
        expected: &'static str,
        /// The value that was found.
        found: String,
    },
    /// An entry about a program can't be used.
    #[error("can't use the program in {at}: {why}")]
    BadProgram {
        /// The place of the entry.
        at: Origin,
        /// The mistake in it.
        why: String,
    },
    /// A rule about single commands can't be used.
    #[error("can't use the rule of `{key}` in {at}: {why}")]
    BadRule {
        /// The place of the rule.
        at: Origin,
        /// The key that lists it.
        key: String,
        /// The mistake in it.
        why: String,
    },
    /// A role can't be defined like this.
    #[error("can't use the role in {at}: {why}")]
    BadRole {
        /// The place of the role.
        at: Origin,
        /// The mistake in it.
        why: BadCustomRole,
    },
    /// A project says what only the operator may.
    #[error("`{key}` in {at} is not taken from a project: it decides {what}")]
    NotOfAProject {
        /// The place of the key.
        at: Origin,
        /// The key.
        key: String,
        /// The thing that the key decides.
        what: &'static str,
    },
    /// The trust store can't be read.
    #[error(transparent)]
    Trust(#[from] TrustError),
}

/// The owner of a configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ConfigOwner {
    /// The operator's, in the home.
    Own,
    /// The project's.
    Projects,
}

impl ConfigError {
    /// Returns a hint at what to do about it.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::UnknownKey { nearest, known, .. } => {
                question(nearest).or_else(|| Some(format!("known are {}", known.join(", "))))
            }
            Self::NotOfAProject { key, .. } if key.ends_with("base_url") => {
                Some("set it in the `config.toml` of the home, or with --base-url".to_owned())
            }
            Self::NotOfAProject { .. } => Some("set it in the `config.toml` of the home".to_owned()),
            Self::Trust(error) => error.hint(),
            Self::BadProgram { .. } => {
                Some("`adjutant decide shell` shows what a line does; the fields are in docs/gate-shell.md".to_owned())
            }
            Self::BadRule { key, .. } if key == "deny_read" => {
                Some("what an entry may be is in docs/tools.md, under \"What nobody may read\"".to_owned())
            }
            Self::BadRule { .. } => {
                Some("what a rule may be is in docs/gate-shell.md, under \"Rules of your own\"".to_owned())
            }
            Self::BadRole { why, .. } => Some(match why {
                BadCustomRole::NameTaken(_) => "give it another name, and name the known role as its `base`".to_owned(),
                BadCustomRole::NoInstruction(_) => "say in `instruction` what the role looks at or does".to_owned(),
                BadCustomRole::LongInstruction(_) => "say less: it is sent with every request of the role".to_owned(),
                BadCustomRole::NoAdapter(..) => "`adjutant adapters` lists them".to_owned(),
                BadCustomRole::NoCategory(..) => "the categories are in docs/gate.md".to_owned(),
                BadCustomRole::Wider { .. } => {
                    "leave it out of `may_hold`, or take another `base`: `adjutant roles` lists what each may hold"
                        .to_owned()
                }
            }),
            Self::Unusable { .. } | Self::Absent { .. } | Self::NotToml { .. } | Self::BadValue { .. } => None,
        }
    }
}

/// The name of a project's configuration, below its folder.
pub const PROJECT_CONFIG: &str = ".adjutant/config.toml";

/// Returns the path of the configuration of the project in `folder`.
#[must_use]
pub fn project_config(folder: &Path) -> PathBuf {
    folder.join(PROJECT_CONFIG)
}

/// Loads the settings of the home, and those of the project's folder if there is one and its content is trusted.
///
/// # Errors
///
/// [`ConfigError`] about the first mistake in a file that is read.
pub fn load(home: &Home, project_folder: Option<&Path>) -> Result<Loaded, ConfigError> {
    let own = match content(&home.config())? {
        Some(text) => keys::read(&home.config(), &text, ConfigOwner::Own)?,
        None => Config::default(),
    };
    let Some(folder) = project_folder else {
        return Ok(Loaded { config: own, notices: Vec::new() });
    };
    let path = project_config(folder);
    let mut notices = Vec::new();
    let mut projects = match content(&path)? {
        None => Config::default(),
        Some(text) => match trust::standing(home, &path, &text)? {
            Standing::Trusted => keys::read(&path, &text, ConfigOwner::Projects)?,
            Standing::New => {
                notices.push(Notice::Untrusted { path, change: None });
                Config::default()
            }
            Standing::Changed { before } => {
                let change = before.map(|before| crate::trust::change(&before, &text));
                notices.push(Notice::Untrusted { path, change });
                Config::default()
            }
        },
    };
    let mut own = own;
    if !own.hooks.is_empty() || !projects.hooks.is_empty() {
        let trusted = Trust::load(home)?;
        if trusted.skipped > 0 {
            notices.push(Notice::DamagedTrust { lines: trusted.skipped });
        }
        for (hooks, is_own) in [(&mut own.hooks, false), (&mut projects.hooks, true)] {
            for hook in hooks {
                let untrusted = hooks::tie(&mut hook.value, hooks::Project { folder, is_own }, &trusted)?;
                notices.extend(untrusted.into_iter().map(|path| Notice::UntrustedHook { path }));
            }
        }
    }
    Ok(Loaded { config: projects.or(own), notices })
}

/// Reads the file at `path`; `None` if it doesn't exist.
fn content(path: &Path) -> Result<Option<String>, ConfigError> {
    let unusable = |source| ConfigError::Unusable { path: path.to_owned(), source };
    let content = plain_file::read(path, CONFIG_BYTES_MAX, "it is longer than a configuration can be");
    let Some(content) = content.map_err(unusable)? else { return Ok(None) };
    let text = String::from_utf8(content)
        .map_err(|_bytes| unusable(io::Error::new(io::ErrorKind::InvalidData, "stream did not contain valid UTF-8")))?;
    Ok(Some(text))
}

#[cfg(test)]
#[path = "../config_tests.rs"]
mod tests;
