//! The parts of the operator's home that a command may read: programs, toolchains, and what package managers fetched.
//!
//! The list names the parts to show. A home holds keys, sessions and histories under more names than any list has, so
//! everything that is not a tool's code stays out. Known stores of credentials that lie within what is shown are hidden
//! in turn (`credentials.rs`), and of files that hold settings beside credentials a copy is shown (`settings_copy.rs`).

use std::fs;
use std::path::{Path, PathBuf};

use adjutant_core::gate::secrets;

/// The largest file of settings that is looked into, in bytes.
const SETTINGS_BYTES_MAX: u64 = 1 << 20;
/// Words that mark a file of settings as one with credentials, in lower case.
const CREDENTIAL_WORDS: [&str; 9] =
    ["token", "password", "passwd", "secret", "_auth", "authorization", "api_key", "apikey", "private"];

/// Folders and files of tools' code and of what was fetched for them.
const TOOLS: &[&str] = &[
    // Programs of the user.
    ".local/bin",
    ".local/include",
    ".local/lib",
    ".local/libexec",
    ".local/share/bash-completion",
    ".local/share/fonts",
    ".local/share/man",
    ".local/share/zoneinfo",
    ".local/state/nix/profiles",
    ".nix-profile",
    ".fonts",
    ".cache/fontconfig",
    ".config/fontconfig",
    ".linuxbrew",
    // Rust.
    ".cargo/.crates.toml",
    ".cargo/.crates2.json",
    ".cargo/bin",
    ".cargo/env",
    ".cargo/git",
    ".cargo/registry",
    ".rustup",
    ".cache/sccache",
    ".cache/ccache",
    ".ccache",
    // JavaScript.
    ".bun/bin",
    ".bun/install",
    ".cache/bun",
    ".cache/Cypress",
    ".cache/deno",
    ".cache/electron",
    ".cache/ms-playwright",
    ".cache/node",
    ".cache/pnpm",
    ".cache/puppeteer",
    ".cache/yarn",
    ".deno/bin",
    ".fnm",
    ".local/share/fnm",
    ".local/share/pnpm",
    ".n",
    ".node-gyp",
    ".nodenv",
    ".npm/_cacache",
    ".npm-global",
    ".nvm",
    ".pnpm-store",
    ".volta",
    ".yarn/bin",
    ".yarn/berry/cache",
    ".yarn/releases",
    // Python.
    ".cache/huggingface/hub",
    ".cache/pip",
    ".cache/pre-commit",
    ".cache/pypoetry",
    ".cache/uv",
    ".conda/envs",
    ".conda/pkgs",
    ".local/pipx",
    ".local/share/hatch",
    ".local/share/pdm",
    ".local/share/pipx",
    ".local/share/pypoetry",
    ".local/share/uv/python",
    ".local/share/uv/tools",
    ".local/share/virtualenv",
    ".local/share/virtualenvs",
    ".pyenv",
    ".rye",
    ".virtualenvs",
    "anaconda3",
    "mambaforge",
    "miniconda3",
    "miniforge3",
    // Go.
    ".cache/go-build",
    ".cache/golangci-lint",
    "go/bin",
    "go/pkg",
    "go/src",
    // Java and its neighbours.
    ".cache/coursier",
    ".gradle/caches",
    ".gradle/jdks",
    ".gradle/native",
    ".gradle/wrapper",
    ".ivy2/cache",
    ".ivy2/local",
    ".jabba",
    ".jdks",
    ".jenv",
    ".konan",
    ".local/share/coursier",
    ".m2/repository",
    ".m2/wrapper",
    ".sbt/boot",
    ".sbt/launchers",
    ".sdkman/bin",
    ".sdkman/candidates",
    ".sdkman/libexec",
    ".sdkman/src",
    // Ruby, PHP, Perl.
    ".bundle/cache",
    ".bundle/plugin",
    ".cache/composer",
    ".composer/cache",
    ".composer/vendor",
    ".config/composer/vendor",
    ".gem/ruby",
    ".gem/specs",
    ".local/share/gem/ruby",
    ".local/share/gem/specs",
    ".phpenv",
    ".rbenv",
    ".rvm",
    "perl5",
    // .NET, C and C++, Swift, Dart, Android.
    ".cache/bazelisk",
    ".cache/vcpkg",
    ".conan2/p",
    ".dotnet",
    ".nuget/packages",
    ".pub-cache/bin",
    ".pub-cache/global_packages",
    ".pub-cache/hosted",
    ".swiftly",
    "Android/Sdk",
    // Haskell, OCaml, Erlang, Elixir, Julia, Nim, Lean, Zig, R.
    ".asdf",
    ".cabal/bin",
    ".cabal/packages",
    ".cabal/store",
    ".cache/rebar3",
    ".cache/zig",
    ".elan",
    ".ghcup",
    ".hex/packages",
    ".julia/artifacts",
    ".julia/compiled",
    ".julia/packages",
    ".julia/registries",
    ".juliaup",
    ".local/share/mise",
    ".local/share/rtx",
    ".local/share/zig",
    ".local/state/cabal/store",
    ".mix/archives",
    ".mix/elixir",
    ".nimble/bin",
    ".nimble/pkgs",
    ".nimble/pkgs2",
    ".opam",
    ".stack/pkgdb",
    ".stack/programs",
    ".stack/snapshots",
    "R",
    // Infrastructure and others.
    ".foundry/bin",
    ".krew/bin",
    ".krew/store",
    ".terraform.d/plugin-cache",
    ".terraform.d/plugins",
    ".tfenv",
    ".wasmtime/bin",
    // Settings that hold nothing but how text is to look and which version of a tool is meant.
    ".clang-format",
    ".clang-tidy",
    ".config/git/attributes",
    ".config/git/ignore",
    ".config/rustfmt",
    ".editorconfig",
    ".gitattributes",
    ".gitignore",
    ".gitignore_global",
    ".node-version",
    ".nvmrc",
    ".prettierrc",
    ".python-version",
    ".ruby-version",
    ".rustfmt.toml",
    ".tool-versions",
    "rust-toolchain",
    "rust-toolchain.toml",
];
/// Files of settings that are shown as long as nothing in them looks like a credential.
const SETTINGS: &[&str] = &[".cargo/config", ".cargo/config.toml", ".config/go/env"];

/// Returns the paths of `home` that are shown, in the home's own spelling. Paths that don't exist are left out.
pub(super) fn shown(home: &Path) -> Vec<PathBuf> {
    let settings = SETTINGS.iter().map(|name| home.join(name)).filter(|path| is_plain(path));
    let tools = TOOLS.iter().map(|name| home.join(name));
    let there = tools.chain(settings).filter(|path| fs::symlink_metadata(path).is_ok());
    let home = Around::of(home);
    there.filter(|path| !home.shows(path)).collect()
}

/// A home, and the folders that it lies in.
pub(super) struct Around<'a> {
    home: &'a Path,
    real: PathBuf,
}

impl<'a> Around<'a> {
    /// Takes the links out of the home's path once, for many questions.
    pub(super) fn of(home: &'a Path) -> Self {
        Self { home, real: real(home).unwrap_or_else(|| home.to_owned()) }
    }

    /// Returns whether `path` leads to the home itself or to a folder that it lies in: showing that shows the home.
    pub(super) fn shows(&self, path: &Path) -> bool {
        self.home.starts_with(path) || self.real.starts_with(real(path).as_deref().unwrap_or(path))
    }
}

/// The path without links; `None` if nothing is there. Of hundreds of known places few are there, which one look
/// tells; taking out the links needs one for each part of the path.
pub(super) fn real(path: &Path) -> Option<PathBuf> {
    fs::symlink_metadata(path).ok()?;
    fs::canonicalize(path).ok()
}

/// Returns true if a file of settings has nothing that looks like a credential.
pub(super) fn is_plain(path: &Path) -> bool {
    let is_small = fs::metadata(path).is_ok_and(|found| found.is_file() && found.len() <= SETTINGS_BYTES_MAX);
    is_small && fs::read_to_string(path).is_ok_and(|text| is_free_of_credentials(&text))
}

/// Returns true if nothing in `text` looks like a credential: no known shape, no telling word, no address with a user.
pub(super) fn is_free_of_credentials(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    CREDENTIAL_WORDS.iter().all(|word| !lower.contains(word)) && !names_user(text) && secrets::mask(text) == text
}

/// Returns true if an address in `text` names a user other than `git`, which is everybody's: the name may be a token,
/// and a password may follow it.
pub(super) fn names_user(text: &str) -> bool {
    text.split("://").skip(1).any(|rest| {
        let end = rest.find(|c: char| c == '/' || c == '"' || c == '\'' || c.is_whitespace()).unwrap_or(rest.len());
        rest[..end].rsplit_once('@').is_some_and(|(user, _)| user != "git")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_with_a_user_counts_as_a_credential() {
        for (text, expected) in [
            ("registry = \"https://host/index\"", false),
            ("url = ssh://git@host/a", false),
            ("proxy = http://me:word@host:8080/", true),
            ("url = \"https://ghtoken@host/a\"", true),
            ("a@b.example https://host/x@y", false),
            ("git@host:a/b", false),
        ] {
            assert_eq!(names_user(text), expected, "{text}");
        }
    }

    #[test]
    fn settings_are_shown_until_they_hold_a_credential() {
        let folder = tempfile::tempdir().expect("a folder");
        let home = folder.path();
        fs::create_dir_all(home.join(".cargo/bin")).expect("made");
        let config = home.join(".cargo/config.toml");
        fs::write(&config, "[build]\njobs = 2\n").expect("written");
        assert_eq!(shown(home), [home.join(".cargo/bin"), config.clone()]);
        fs::write(&config, "[registries.own]\ntoken = \"abc\"\n").expect("written");
        assert_eq!(shown(home), [home.join(".cargo/bin")]);
    }

    #[test]
    fn a_tools_folder_that_leads_to_the_home_shows_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let home = folder.path().join("home");
        fs::create_dir_all(home.join(".local")).expect("made");
        std::os::unix::fs::symlink("../..", home.join(".local/bin")).expect("linked");
        std::os::unix::fs::symlink("../..", home.join(".nvm")).expect("linked");
        assert_eq!(shown(&home), Vec::<PathBuf>::new());
    }
}
