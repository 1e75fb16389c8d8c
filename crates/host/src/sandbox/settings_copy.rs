//! Copies of files in the home that hold settings beside credentials, without the credentials.
//!
//! Git needs a name and an address for a commit, package managers the address of their registry; tokens stand in the
//! same files. A command sees a copy in the file's place, made when the run begins, that has only settings which are
//! on a list and don't look like a credential.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::home::is_free_of_credentials;
use crate::rescue::git;

/// The largest file of which a copy is made, in bytes.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// A copy that stands in a file's place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SettingsCopy {
    /// The file, as programs name it.
    pub path: PathBuf,
    /// The same without links.
    pub at: PathBuf,
    /// Its copy.
    pub copy: PathBuf,
    /// The variable by which its program is led to the copy where nothing can be put in the file's place.
    pub variable: String,
}

/// The format of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SettingsFormat {
    /// As git's settings; what it includes is copied too.
    Git,
    /// A setting a line, `name = value`, within sections or not.
    Lines(&'static [&'static str]),
}

/// Files that are copied: in the home, how they are read, and the variable that leads to another.
const FILES: [(&str, SettingsFormat, &str); 5] = [
    (".gitconfig", SettingsFormat::Git, "GIT_CONFIG_GLOBAL"),
    (".config/git/config", SettingsFormat::Git, "GIT_CONFIG_GLOBAL"),
    (".npmrc", SettingsFormat::Lines(NPM), "NPM_CONFIG_USERCONFIG"),
    (".config/pip/pip.conf", SettingsFormat::Lines(PIP), "PIP_CONFIG_FILE"),
    (".pip/pip.conf", SettingsFormat::Lines(PIP), "PIP_CONFIG_FILE"),
];
/// Settings of npm and pnpm that are copied; a star stands for any text.
const NPM: &[&str] = &[
    "*:registry",
    "audit",
    "auto-install-peers",
    "engine-strict",
    "fund",
    "https-proxy",
    "legacy-peer-deps",
    "node-linker",
    "noproxy",
    "prefer-offline",
    "proxy",
    "registry",
    "save-exact",
    "save-prefix",
    "shamefully-hoist",
    "strict-peer-dependencies",
    "strict-ssl",
];
/// Settings of pip that are copied.
const PIP: &[&str] = &[
    "break-system-packages",
    "disable-pip-version-check",
    "extra-index-url",
    "find-links",
    "index-url",
    "no-index",
    "only-binary",
    "prefer-binary",
    "proxy",
    "require-virtualenv",
    "retries",
    "timeout",
    "trusted-host",
];
/// Settings of git that are copied. Those that name a program to ask or to send with are not among them.
const GIT: &[&str] = &[
    "advice.*", "author.email", "author.name", "blame.*", "branch.*", "color.*", "column.*", "commit.*",
    "committer.email", "committer.name", "core.abbrev", "core.attributesfile", "core.autocrlf", "core.commentchar",
    "core.compression", "core.eol", "core.excludesfile", "core.filemode", "core.ignorecase", "core.precomposeunicode",
    "core.quotepath", "core.safecrlf", "core.symlinks", "core.whitespace", "diff.*", "feature.*", "fetch.*",
    "filter.lfs.*", "format.pretty", "gc.*", "grep.*", "http.proxy", "http.sslverify", "i18n.*", "index.*",
    "init.defaultbranch", "log.*", "merge.*", "pack.*", "protocol.*", "pull.*", "push.*", "rebase.*", "rerere.*",
    "safe.*", "stash.*", "status.*", "submodule.*", "tag.*", "transfer.*", "url.*.insteadof", "url.*.pushinsteadof",
    "user.email", "user.name", "user.useconfigonly", "versionsort.*", "worktree.*",
];

/// The files of a home of which copies are shown, whether they are there or not.
pub(super) fn originals(home: &Path) -> impl Iterator<Item = PathBuf> {
    FILES.iter().map(|(name, _, _)| home.join(name))
}

/// Makes the copies of a home's files in `folder`. What can't be read has none, and stays hidden.
///
/// # Errors
///
/// The system's, if a copy can't be written.
pub(super) fn make(home: &Path, workdir: &Path, folder: &Path) -> io::Result<Vec<SettingsCopy>> {
    let mut copies = Vec::new();
    for (number, (name, format, variable)) in FILES.iter().enumerate() {
        let path = home.join(name);
        let Ok(at) = fs::canonicalize(&path) else { continue };
        let text = match format {
            SettingsFormat::Git => git_settings(&at, home, workdir),
            SettingsFormat::Lines(names) => lines(&at, names),
        };
        let Ok(text) = text else { continue };
        let copy = folder.join(number.to_string());
        fs::write(&copy, text)?;
        copies.push(SettingsCopy { path, at, copy, variable: (*variable).to_owned() });
    }
    Ok(copies)
}

fn git_settings(file: &Path, home: &Path, workdir: &Path) -> io::Result<String> {
    let mut text = String::new();
    for (name, value) in git::settings_with_values(file, home, workdir)? {
        let whole = format!("{name}={}", value.as_deref().unwrap_or_default());
        if is_listed(GIT, &name) && is_free_of_credentials(&whole) {
            text.push_str(&git_setting(&name, value.as_deref()).unwrap_or_default());
        }
    }
    Ok(text)
}

/// One setting with its section, as git reads it.
fn git_setting(name: &str, value: Option<&str>) -> Option<String> {
    let (section, rest) = name.split_once('.')?;
    let (part, key) = rest.rsplit_once('.').map_or((None, rest), |(part, key)| (Some(part), key));
    let escaped = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    let part = part.map(|part| format!(" \"{}\"", part.replace('\\', "\\\\").replace('"', "\\\"")));
    let value = value.map(|value| format!(" = \"{}\"", escaped(value)));
    Some(format!("[{section}{}]\n\t{key}{}\n", part.unwrap_or_default(), value.unwrap_or_default()))
}

fn lines(file: &Path, names: &[&str]) -> io::Result<String> {
    if fs::metadata(file)?.len() > FILE_BYTES_MAX {
        return Err(io::Error::from(io::ErrorKind::FileTooLarge));
    }
    let text = fs::read_to_string(file)?;
    let is_kept = |line: &&str| {
        let line = line.trim();
        let is_section = line.starts_with('[') && line.ends_with(']');
        let is_setting = line.split_once('=').is_some_and(|(name, _)| is_listed(names, name.trim()));
        (is_section || is_setting) && is_free_of_credentials(line)
    };
    Ok(text.lines().filter(is_kept).flat_map(|line| [line, "\n"]).collect())
}

fn is_listed(names: &[&str], name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    names.iter().any(|listed| match listed.split_once('*') {
        Some((first, last)) => name.len() > first.len() + last.len() && name.starts_with(first) && name.ends_with(last),
        None => *listed == name,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn copied(name: &str, text: &str) -> String {
        let folder = tempfile::tempdir().expect("a folder");
        let home = fs::canonicalize(folder.path()).expect("there");
        let file = home.join(name);
        fs::create_dir_all(file.parent().expect("a folder")).expect("made");
        fs::write(&file, text).expect("written");
        fs::write(home.join("more"), "[user]\n\temail = a@b.example\n").expect("written");
        let made = home.join("copies");
        fs::create_dir(&made).expect("made");
        let copies = make(&home, &home, &made).expect("copied");
        assert_eq!(copies.iter().map(|copy| copy.at.clone()).collect::<Vec<_>>(), [file]);
        fs::read_to_string(&copies[0].copy).expect("there")
    }

    #[test]
    fn a_name_is_copied_and_a_token_is_not() {
        let text = copied(
            ".gitconfig",
            "[user]\n\tname = \"A \\\"b\\\" C\"\n[include]\n\tpath = ~/more\n[credential]\n\thelper = store --file x
[http \"https://host/\"]\n\textraHeader = Authorization: Basic abcdef\n[alias]\n\tx = !curl -u a:b h
[url \"https://me:word@host/\"]\n\tinsteadOf = host:\n[url \"ssh://git@host/\"]\n\tinsteadOf = https://host/
[http]\n\tproxy = http://a:b@proxy:1\n[github]\n\toauth-token = abc\n[commit]\n\tverbose\n[sendemail]\n\tsmtppass = x\n",
        );
        let expected =
            "[user]\n\tname = \"A \\\"b\\\" C\"\n[user]\n\temail = \"a@b.example\"\n[url \"ssh://git@host/\"]
\tinsteadof = \"https://host/\"\n[commit]\n\tverbose\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn the_address_of_a_registry_is_copied_and_what_logs_in_there_is_not() {
        let npm = "registry=https://host/npm/\n@own:registry = https://host/own/\n//host/npm/:_authToken=abc\n_auth=x
email=a@b\nproxy=http://a:b@c\n; registry=x\n";
        assert_eq!(copied(".npmrc", npm), "registry=https://host/npm/\n@own:registry = https://host/own/\n");
        let pip = "[global]\nindex-url = https://host/simple\nextra-index-url = https://u:p@host/simple\n    https://u:p@b/\nclient-cert=/x\n";
        assert_eq!(copied(".config/pip/pip.conf", pip), "[global]\nindex-url = https://host/simple\n");
    }
}
