//! Where things are on this machine, and what of it a command may see and change.
//!
//! Readable are the system's folders, the folders of programs, and the operator's home without its secrets;
//! writable is the workdir, with the folders of its repository. Links are followed once, here.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};

use super::repository::Repository;

/// Folders of the system: programs, libraries, settings. What is not there is left out.
const SYSTEM: [&str; 17] = [
    "/bin", "/etc", "/gnu/store", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/nix/var/nix/profiles", "/opt",
    "/run/current-system", "/sbin", "/snap", "/usr", "/var/cache/fontconfig", "/var/lib/dpkg", "/var/lib/pacman",
];
/// Files of the system that only root reads, and keys.
const SYSTEM_SECRETS: [&str; 14] = [
    "/etc/NetworkManager/system-connections",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/kubernetes",
    "/etc/letsencrypt",
    "/etc/rancher",
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/ssh/ssh_host_dsa_key",
    "/etc/ssh/ssh_host_ecdsa_key",
    "/etc/ssh/ssh_host_ed25519_key",
    "/etc/ssh/ssh_host_rsa_key",
    "/etc/ssl/private",
    "/etc/wireguard",
];
/// Places in a home that hold keys, passwords, sessions and what was typed.
pub(super) const HOME_SECRETS: &[&str] = &[
    ".android",
    ".anthropic",
    ".aws",
    ".azure",
    ".bash_history",
    ".boto",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".claude",
    ".claude.json",
    ".codex",
    ".composer/auth.json",
    ".config/chromium",
    ".config/composer/auth.json",
    ".config/containers/auth.json",
    ".config/doctl",
    ".config/fish/fish_variables",
    ".config/gcloud",
    ".config/gh",
    ".config/git/credentials",
    ".config/github-copilot",
    ".config/glab-cli",
    ".config/google-chrome",
    ".config/heroku",
    ".config/hub",
    ".config/op",
    ".config/openai",
    ".config/rclone",
    ".colima",
    ".config/sops",
    ".docker/config.json",
    ".docker/desktop",
    ".docker/run",
    ".electrum",
    ".gem/credentials",
    ".gemini",
    ".git-credentials",
    ".gnupg",
    ".gradle/gradle.properties",
    ".kaggle",
    ".kube",
    ".local/share/fish/fish_history",
    ".local/share/keyrings",
    ".m2/settings-security.xml",
    ".m2/settings.xml",
    ".mozilla",
    ".my.cnf",
    ".mysql_history",
    ".netlify",
    ".netrc",
    ".node_repl_history",
    ".npmrc",
    ".nuget/NuGet/NuGet.Config",
    ".oci",
    ".orbstack",
    ".password-store",
    ".pgpass",
    ".pki",
    ".psql_history",
    ".rd",
    ".pypirc",
    ".python_history",
    ".s3cfg",
    ".ssh",
    ".subversion/auth",
    ".terraform.d/credentials.tfrc.json",
    ".terraformrc",
    ".thunderbird",
    ".vault-token",
    ".yarnrc.yml",
    ".zsh_history",
];
/// Variables that name folders of toolchains.
const TOOLCHAINS: [&str; 12] = [
    "CARGO_HOME", "GOPATH", "GOROOT", "JAVA_HOME", "NVM_DIR", "PYENV_ROOT", "RBENV_ROOT", "RUSTUP_HOME", "SDKMAN_DIR",
    "VIRTUAL_ENV", "VOLTA_HOME", "CONDA_PREFIX",
];
/// Where the names of hosts are looked up: a link to it leads where nothing else is shown.
const RESOLVER: &str = "/etc/resolv.conf";

/// Where things are, as far as a sandbox has to know.
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
    /// What else may be read: the operator's setting.
    pub read: Vec<PathBuf>,
    /// What else may be changed: the operator's setting.
    pub write: Vec<PathBuf>,
}

impl Places {
    /// Folders of programs and toolchains, as an environment names them.
    #[must_use]
    pub fn programs_of(environment: &[(OsString, OsString)]) -> Vec<PathBuf> {
        let value = |wanted: &str| environment.iter().find(|(name, _)| name == wanted).map(|(_, value)| value);
        let paths = value("PATH").into_iter().flat_map(|path| std::env::split_paths(path).collect::<Vec<_>>());
        let folders = TOOLCHAINS.iter().filter_map(|name| value(name)).map(PathBuf::from);
        paths.chain(folders).filter(|path| path.is_absolute() && path.parent().is_some()).collect()
    }

    /// What may be read.
    pub(super) fn readable(&self) -> Vec<PathBuf> {
        let system = SYSTEM.iter().map(PathBuf::from);
        let resolver = fs::canonicalize(RESOLVER).ok().filter(|path| path.starts_with("/run"));
        let named = self.home.iter().chain(&self.programs).chain(&self.read).cloned();
        let mut readable: Vec<PathBuf> = system.chain(resolver).chain(named).collect();
        let real: Vec<PathBuf> = readable.iter().filter_map(|path| fs::canonicalize(path).ok()).collect();
        readable.extend(real);
        tidy(readable)
    }

    /// What may be changed.
    pub(super) fn writable(&self, repository: &Repository) -> Vec<PathBuf> {
        let named = std::iter::once(&self.workdir).chain(&self.write).chain(&repository.outside);
        tidy(named.filter_map(|path| fs::canonicalize(path).ok()).collect())
    }

    /// What must not be seen: of the system, of the home, and our own home. What the operator named is shown, and
    /// so is what the workdir lies in.
    pub(super) fn hidden(&self) -> Vec<PathBuf> {
        let in_home = self.home.iter().flat_map(|home| HOME_SECRETS.iter().map(move |secret| home.join(secret)));
        let in_toolchains =
            self.programs.iter().flat_map(|folder| ["credentials", "credentials.toml"].map(|name| folder.join(name)));
        let named = SYSTEM_SECRETS.iter().map(PathBuf::from).chain(in_home).chain(in_toolchains);
        let named = named.chain(self.runtime_home.clone());
        // What is not there needs no covering, and what is a link is covered where it leads to.
        let real = named.filter_map(|path| fs::canonicalize(path).ok());
        let shown: Vec<PathBuf> =
            self.read.iter().chain(&self.write).filter_map(|p| fs::canonicalize(p).ok()).collect();
        let workdir = fs::canonicalize(&self.workdir).unwrap_or_else(|_| self.workdir.clone());
        let mut hidden = Vec::new();
        for path in real.filter(|path| !shown.contains(path)) {
            around(&path, &workdir, &mut hidden);
        }
        tidy(hidden)
    }
}

/// Hides `path`, or if the workdir lies in it, everything else in it.
fn around(path: &Path, workdir: &Path, hidden: &mut Vec<PathBuf>) {
    if !workdir.starts_with(path) {
        hidden.push(path.to_owned());
        return;
    }
    if workdir == path {
        return;
    }
    for entry in fs::read_dir(path).into_iter().flatten().flatten() {
        around(&entry.path(), workdir, hidden);
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
        let mut places = Places { workdir: home.join("work"), home: Some(home.clone()), ..Places::default() };
        let own =
            |places: &Places| places.hidden().into_iter().filter(|path| path.starts_with(&home)).collect::<Vec<_>>();
        assert_eq!(own(&places), [home.join(".aws"), home.join(".ssh")]);
        places.read = vec![home.join(".aws")];
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
        let environment = [("PATH", "/a/bin:relative:/:/b"), ("CARGO_HOME", "/c"), ("OTHER", "/d")];
        let environment = environment.map(|(name, value)| (name.into(), value.into()));
        assert_eq!(Places::programs_of(&environment), ["/a/bin", "/b", "/c"].map(PathBuf::from));
    }
}
