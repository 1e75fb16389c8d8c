//! The places of this machine that matter to a sandbox, and which of them a command may see and change.
//!
//! Readable are the system's folders, the folders of programs, and the tools in the operator's home; writable is the
//! workdir, with the folders of its repository. Links are followed once, here. `home.rs` says which parts of a home are
//! tools, `credentials.rs` what is hidden wherever it lies.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::caches::Caches;
use super::home::{self, Around, real};
use super::repository::Repository;
use super::{credentials, settings_copy};

/// Folders of the system: programs, libraries, settings. What is not there is left out.
const SYSTEM: [&str; 17] = [
    "/bin", "/etc", "/gnu/store", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/nix/var/nix/profiles", "/opt",
    "/run/current-system", "/sbin", "/snap", "/usr", "/var/cache/fontconfig", "/var/lib/dpkg", "/var/lib/pacman",
];
/// Variables that name folders of toolchains, and what of such a folder is shown; nothing for all of it.
const TOOLCHAINS: [(&str, &[&str]); 20] = [
    ("CARGO_HOME", &["bin", "env", "git", "registry"]),
    ("CONDA_PREFIX", &[]),
    ("CPATH", &[]),
    ("GOMODCACHE", &[]),
    ("GOPATH", &["bin", "pkg", "src"]),
    ("GOROOT", &[]),
    ("JAVA_HOME", &[]),
    ("LIBRARY_PATH", &[]),
    ("NODE_PATH", &[]),
    ("NVM_DIR", &[]),
    ("PKG_CONFIG_PATH", &[]),
    ("PYENV_ROOT", &[]),
    ("PYTHONPATH", &[]),
    ("RBENV_ROOT", &[]),
    ("RUSTUP_HOME", &[]),
    ("SDKMAN_DIR", &["bin", "candidates", "libexec", "src"]),
    ("SSL_CERT_DIR", &[]),
    ("SSL_CERT_FILE", &[]),
    ("VIRTUAL_ENV", &[]),
    ("VOLTA_HOME", &[]),
];
/// The folders of a toolchain that are caches.
const CACHES_OF_TOOLCHAINS: [&str; 4] = ["git", "pkg", "registry", "mod"];
/// Folders beside a folder of programs that hold what these load.
const BESIDE_PROGRAMS: [&str; 4] = ["include", "lib", "lib64", "libexec"];
/// The configuration of the look-up of host names: a link to it leads where nothing else is shown.
const RESOLVER: &str = "/etc/resolv.conf";

/// The places of this machine, as far as a sandbox has to know them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Places {
    /// The folder that commands work in.
    pub workdir: PathBuf,
    /// The operator's home folder, if it is known.
    pub home: Option<PathBuf>,
    /// Our own home, with journals and keys.
    pub runtime_home: Option<PathBuf>,
    /// Folders of programs and toolchains.
    pub programs: Vec<PathBuf>,
    /// More paths that may be read: the operator's setting.
    pub read: Vec<PathBuf>,
    /// More paths that may be changed: the operator's setting.
    pub write: Vec<PathBuf>,
    /// Paths of the workdir that may not be read: the entries of `deny_read`.
    pub deny_read: Vec<String>,
}

impl Places {
    /// Folders of programs and toolchains, as an environment names them.
    #[must_use]
    pub fn programs_of(environment: &[(OsString, OsString)]) -> Vec<PathBuf> {
        let value = |wanted: &str| environment.iter().find(|(name, _)| name == wanted).map(|(_, value)| value);
        let listed = |value: &OsString| std::env::split_paths(value).collect::<Vec<_>>();
        let home = value("HOME").map(Path::new);
        let paths = value("PATH").into_iter().flat_map(listed).flat_map(|folder| with_neighbours(&folder, home));
        let toolchains = TOOLCHAINS.iter().filter_map(|(name, parts)| Some((value(name)?, *parts)));
        let toolchains = toolchains.flat_map(|(value, parts)| listed(value).into_iter().map(move |at| (at, parts)));
        let folders = toolchains.flat_map(|(at, parts)| match parts {
            [] => vec![at],
            parts => parts.iter().map(|part| at.join(part)).collect(),
        });
        let settings =
            value("CARGO_HOME").map(|at| Path::new(at).join("config.toml")).filter(|file| home::is_plain(file));
        paths.chain(folders).chain(settings).filter(|path| path.is_absolute() && path.parent().is_some()).collect()
    }

    /// Returns the paths that may be read.
    pub(super) fn readable(&self) -> Vec<PathBuf> {
        let system = SYSTEM.iter().map(PathBuf::from);
        let resolver = real(Path::new(RESOLVER)).filter(|path| path.starts_with("/run"));
        let tools = self.in_home().into_iter().chain(self.programs_beside_home());
        let mut readable: Vec<PathBuf> = system.chain(resolver).chain(tools).chain(self.read.iter().cloned()).collect();
        let without_links: Vec<PathBuf> = readable.iter().filter_map(|path| real(path)).collect();
        readable.extend(without_links);
        tidy(readable)
    }

    /// Returns the paths of the home that may be read without the operator having named them.
    fn in_home(&self) -> Vec<PathBuf> {
        self.home.as_deref().map(home::shown).unwrap_or_default()
    }

    /// Folders of programs, without those by which the whole home would be shown.
    fn programs_beside_home(&self) -> impl Iterator<Item = PathBuf> {
        let home = self.home.as_deref().map(Around::of);
        self.programs.iter().filter(move |path| !home.as_ref().is_some_and(|home| home.shows(path))).cloned()
    }

    /// Returns the paths of the operator's home that a command sees: those that are there, as the home spells them.
    #[must_use]
    pub fn shown_in_home(&self) -> Vec<PathBuf> {
        let Some(home) = &self.home else { return Vec::new() };
        let copies = settings_copy::originals(home);
        let named = self.read.iter().chain(&self.write).cloned();
        let all = self.in_home().into_iter().chain(self.programs_beside_home()).chain(copies).chain(named);
        let there = all.filter(|path| path.starts_with(home) && path.exists());
        let all = tidy(there.collect());
        let is_outermost = |path: &&PathBuf| !all.iter().any(|other| other != *path && path.starts_with(other));
        all.iter().filter(is_outermost).cloned().collect()
    }

    /// The caches of package managers that commands of `workdir` fill; what doesn't last is in `passing`.
    ///
    /// # Errors
    ///
    /// The system's, if a folder for them can't be made.
    pub(super) fn caches(&self, workdir: &Path, home: &Path, passing: &Path) -> io::Result<Caches> {
        let shown: Vec<PathBuf> = self.in_home().into_iter().chain(self.programs_beside_home()).collect();
        let is_cache = |path: &&PathBuf| CACHES_OF_TOOLCHAINS.iter().any(|name| path.ends_with(name));
        let folders: Vec<PathBuf> = shown.iter().filter(is_cache).cloned().collect();
        Caches::make(workdir, home, self.runtime_home.as_deref(), (&shown, &folders), passing)
    }

    /// Returns the paths that may be changed.
    pub(super) fn writable(&self, repository: &Repository) -> Vec<PathBuf> {
        let named = std::iter::once(&self.workdir).chain(&self.write).chain(&repository.outside);
        tidy(named.filter_map(|path| real(path)).collect())
    }

    /// Returns the paths that must not be seen: of the system, of the home, and our own home. Paths that the operator
    /// named are shown, and so are those that the workdir lies in.
    pub(super) fn hidden(&self) -> Vec<PathBuf> {
        let workdir = real(&self.workdir).unwrap_or_else(|| self.workdir.clone());
        let in_home = self.home.iter().flat_map(|home| {
            let known = credentials::HOME.iter().map(move |secret| home.join(secret));
            // A link may lead into the workdir, whose files are the project's.
            let is_elsewhere = |path: &PathBuf| !real(path).is_some_and(|real| real.starts_with(&workdir));
            known.chain(settings_copy::originals(home).filter(is_elsewhere))
        });
        // Many folders of programs lie beside each other, and many are named that are not there.
        let around_programs: BTreeSet<&Path> =
            self.programs.iter().flat_map(|folder| [Some(folder.as_path()), folder.parent()]).flatten().collect();
        let in_toolchains = around_programs
            .into_iter()
            .filter(|folder| folder.is_dir())
            .flat_map(|folder| credentials::IN_TOOLCHAINS.map(|name| folder.join(name)));
        let named = credentials::SYSTEM.iter().map(PathBuf::from).chain(in_home).chain(in_toolchains);
        let named = named.chain(self.runtime_home.clone());
        // What is not there needs no covering, and what is a link is covered where it leads to.
        let there = named.filter_map(|path| real(&path));
        let shown: Vec<PathBuf> = self.read.iter().chain(&self.write).filter_map(|path| real(path)).collect();
        let mut hidden = Vec::new();
        for path in there.filter(|path| !shown.contains(path)) {
            around(&path, std::slice::from_ref(&workdir), &mut hidden);
        }
        hidden.extend(self.home_in_the_system(&shown, workdir.clone()));
        tidy(hidden)
    }

    /// Returns the paths of the home that must be covered if it lies in a folder of the system, which is shown as a
    /// whole.
    fn home_in_the_system(&self, named: &[PathBuf], workdir: PathBuf) -> Vec<PathBuf> {
        let Some(home) = self.home.as_deref().and_then(real) else { return Vec::new() };
        let in_system = |path: &Path| {
            SYSTEM.iter().any(|system| real(Path::new(system)).is_some_and(|system| path.starts_with(system)))
        };
        // Nobody lives in a folder of the system itself: it only stands for having no home.
        if !in_system(&home) || SYSTEM.iter().any(|system| Path::new(system) == home) {
            return Vec::new();
        }
        let tools = self.in_home().into_iter().chain(self.programs_beside_home());
        let mut shown: Vec<PathBuf> = tools.filter_map(|path| real(&path)).collect();
        shown.extend(named.iter().cloned());
        shown.push(workdir);
        let mut hidden = Vec::new();
        around(&home, &shown, &mut hidden);
        hidden
    }
}

/// A folder of programs and what these load from beside it; beside one in the `home` itself lies everything else.
fn with_neighbours(folder: &Path, home: Option<&Path>) -> Vec<PathBuf> {
    let mut folders = vec![folder.to_owned()];
    match (folder.file_name().and_then(OsStr::to_str), folder.parent().filter(|above| Some(*above) != home)) {
        // What is in there are links into the folder above.
        (Some(".bin"), Some(above)) => folders.push(above.to_owned()),
        (Some("bin"), Some(above)) => folders.extend(BESIDE_PROGRAMS.map(|name| above.join(name))),
        _ => {}
    }
    folders
}

/// Hides `path`, or if some of `shown` lies in it, everything else in it.
fn around(path: &Path, shown: &[PathBuf], hidden: &mut Vec<PathBuf>) {
    if shown.iter().any(|shown| path == shown) {
        return;
    }
    if !shown.iter().any(|shown| shown.starts_with(path)) {
        hidden.push(path.to_owned());
        return;
    }
    for entry in fs::read_dir(path).into_iter().flatten().flatten() {
        around(&entry.path(), shown, hidden);
    }
}

/// Sorted, each once, and never the root of all.
fn tidy(mut paths: Vec<PathBuf>) -> Vec<PathBuf> {
    paths.retain(|path| path.is_absolute() && path.as_os_str() != OsStr::new("/"));
    paths.sort();
    paths.dedup();
    paths
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(folder: &Path, paths: &[&str]) {
        for path in paths {
            fs::create_dir_all(folder.join(path)).expect("made");
        }
    }

    #[test]
    fn secrets_are_hidden_unless_they_are_named() {
        let folder = tempfile::tempdir().expect("a folder");
        let home = fs::canonicalize(folder.path()).expect("there");
        made(&home, &[".ssh", ".aws", ".config/git", "work"]);
        let workdir = home.join("work");
        let mut places = Places { workdir, home: Some(home.clone()), read: vec![home.clone()], ..Places::default() };
        let own =
            |places: &Places| places.hidden().into_iter().filter(|path| path.starts_with(&home)).collect::<Vec<_>>();
        assert_eq!(own(&places), [home.join(".aws"), home.join(".ssh")]);
        places.read.push(home.join(".aws"));
        assert_eq!(own(&places), [home.join(".ssh")]);
    }

    #[test]
    fn a_workdir_in_our_home_is_shown_and_its_neighbours_are_not() {
        let folder = tempfile::tempdir().expect("a folder");
        let home = fs::canonicalize(folder.path()).expect("there");
        made(&home, &["sessions", "workdirs/a", "workdirs/b"]);
        let places = Places { workdir: home.join("workdirs/a"), runtime_home: Some(home.clone()), ..Places::default() };
        let own: Vec<_> = places.hidden().into_iter().filter(|path| path.starts_with(&home)).collect();
        assert_eq!(own, [home.join("sessions"), home.join("workdirs/b")]);
    }

    #[test]
    fn programs_are_where_the_environment_says() {
        let environment = [
            ("PATH", "/a/bin:relative:/:/b:/h/bin:/n/node_modules/.bin"),
            ("GOPATH", "/c:/d"),
            ("NVM_DIR", "/e"),
            ("HOME", "/h"),
            ("OTHER", "/f"),
        ];
        let environment = environment.map(|(name, value)| (name.into(), value.into()));
        let expected = [
            "/a/bin", "/a/include", "/a/lib", "/a/lib64", "/a/libexec", "/b", "/h/bin", "/n/node_modules/.bin",
            "/n/node_modules", "/c/bin", "/c/pkg", "/c/src", "/d/bin", "/d/pkg", "/d/src", "/e",
        ];
        assert_eq!(Places::programs_of(&environment), expected.map(PathBuf::from));
    }

    #[test]
    fn of_a_home_only_tools_are_shown() {
        let folder = tempfile::tempdir().expect("a folder");
        let home = fs::canonicalize(folder.path()).expect("there");
        made(&home, &[".cargo/bin", ".ssh", "go/pkg", "letters", "own/bin", "own/lib", "work"]);
        let programs = vec![home.join("own/bin"), home.join("own/lib"), home.clone(), home.join("work/..")];
        let mut places = Places { workdir: home.join("work"), home: Some(home.clone()), programs, ..Places::default() };
        let own = |places: &Places| {
            let shown = places.readable().into_iter().filter(|path| path.starts_with(&home));
            shown.collect::<Vec<_>>()
        };
        let tools = [".cargo/bin", "go/pkg", "own/bin", "own/lib"].map(|name| home.join(name));
        assert_eq!(own(&places), tools);
        assert_eq!(places.shown_in_home(), tools);
        places.read = vec![home.join("letters")];
        assert!(own(&places).contains(&home.join("letters")));
    }
}
