//! Says of a command that failed which wall it ran into, and what would allow what it tried.
//!
//! In: what the command printed, and the policy that it was kept to. A program says that something was refused and
//! mostly where; whether that lies outside of what the policy allows is looked up, so that nothing is said of a path
//! that the sandbox has nothing to do with. What a program prints may be wrong or forged: a note says what the sandbox
//! keeps commands from, which is true in any case, and only guesses that this is what happened.
//!
//! Begin with [`notes`].

use std::path::{Component, Path, PathBuf};

use super::layer::{Layer, Layers};
use super::policy::{Network, Policy};

/// The most notes about one command.
const NOTES_MAX: usize = 3;
/// The bytes at the end of each stream that are read: an error stands there.
const READ_BYTES_MAX: usize = 64 << 10;
/// The longest line and path that are looked at, in bytes.
const LINE_BYTES_MAX: usize = 4096;
const PATH_BYTES_MAX: usize = 256;

/// Words by which programs say that the system refused something, in lower case.
const REFUSALS: [(&str, Refusal); 20] = [
    ("read-only file system", Refusal::ReadOnly),
    ("erofs", Refusal::ReadOnly),
    ("errno 30]", Refusal::ReadOnly),
    ("os error 30)", Refusal::ReadOnly),
    ("readonlyfilesystem", Refusal::ReadOnly),
    ("device or resource busy", Refusal::Busy),
    ("resource busy or locked", Refusal::Busy),
    ("ebusy", Refusal::Busy),
    ("errno 16]", Refusal::Busy),
    ("os error 16)", Refusal::Busy),
    ("permission denied", Refusal::Denied),
    ("accessdenied", Refusal::Denied),
    ("eacces", Refusal::Denied),
    ("os error 13)", Refusal::Denied),
    ("operation not permitted", Refusal::NotPermitted),
    ("eperm", Refusal::NotPermitted),
    ("os error 1)", Refusal::NotPermitted),
    ("no such file or directory", Refusal::Absent),
    ("enoent", Refusal::Absent),
    ("os error 2)", Refusal::Absent),
];
/// Words by which programs say that a host can't be reached, in lower case.
const UNREACHABLE: [&str; 20] = [
    "network is unreachable",
    "enetunreach",
    "no route to host",
    "could not resolve host",
    "could not resolve proxy",
    "couldn't resolve host",
    "can't resolve host",
    "unable to resolve host",
    "temporary failure in name resolution",
    "temporary failure resolving",
    "name or service not known",
    "nodename nor servname",
    "failed to lookup address",
    "failure in name resolution",
    "getaddrinfo",
    "eai_again",
    "enotfound",
    "no such host",
    "unknownhostexception",
    "dns error",
];

/// The system's refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Refusal {
    ReadOnly,
    Busy,
    Denied,
    NotPermitted,
    Absent,
}

/// The surroundings in which a command ran.
#[derive(Debug, Clone, Copy)]
pub(super) struct RefusalContext<'a> {
    pub(super) policy: &'a Policy,
    /// The outcome of setting up the layers: a wall that did not hold refused nothing.
    pub(super) layers: &'a Layers,
    /// The folder that it began in.
    pub(super) folder: &'a Path,
    pub(super) home: Option<&'a Path>,
}

/// Returns the notes on a command that failed, a sentence or two each; empty if nothing it printed is about a wall.
pub(super) fn notes(around: RefusalContext<'_>, stdout: &str, stderr: &str) -> Vec<String> {
    let mut notes = Vec::new();
    let lines = end_of(stderr).lines().chain(end_of(stdout).lines());
    for line in lines.filter(|line| line.len() <= LINE_BYTES_MAX) {
        let lower = line.to_ascii_lowercase();
        let refusal = REFUSALS.iter().find(|(words, _)| lower.contains(words)).map(|(_, refusal)| *refusal);
        let note = match refusal {
            Some(refusal) => around.of_files(line, refusal),
            None => around.of_network(&lower),
        };
        if let Some(note) = note
            && !notes.contains(&note)
        {
            notes.push(note);
        }
        if notes.len() == NOTES_MAX {
            break;
        }
    }
    notes
}

fn end_of(text: &str) -> &str {
    let mut start = text.len().saturating_sub(READ_BYTES_MAX);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    &text[start..]
}

impl RefusalContext<'_> {
    fn of_files(self, line: &str, refusal: Refusal) -> Option<String> {
        if !self.layers.has(Layer::Mounts) && !self.layers.has(Layer::Landlock) {
            return None;
        }
        let paths = named_paths(line).into_iter().filter_map(|path| self.absolute(&path));
        if let Some(note) = paths.into_iter().find_map(|path| self.of_path(&path, refusal)) {
            return Some(note);
        }
        let lower = line.to_ascii_lowercase();
        let is_privileged = PRIVILEGED.iter().any(|word| lower.contains(word));
        match refusal {
            Refusal::ReadOnly => Some(
                "The sandbox may have refused this: commands can change only the working folder, a temporary folder \
                 of their own and what `sandbox.write` in the `config.toml` of adjutant's home names."
                    .to_owned(),
            ),
            Refusal::NotPermitted if is_privileged => Some(
                "The sandbox may have refused this: commands get no privileges, namespaces, mounts, owners of others \
                 or set-id bits, and can't trace. No setting allows that; the operator can run it."
                    .to_owned(),
            ),
            Refusal::NotPermitted | Refusal::Busy | Refusal::Denied | Refusal::Absent => None,
        }
    }

    /// Returns the note on `path`; `None` if the policy allows it, or doesn't forbid what was refused.
    fn of_path(self, path: &Path, refusal: Refusal) -> Option<String> {
        let shown = self.shown(path);
        let is_below = |folders: &[PathBuf]| folders.iter().any(|folder| path.starts_with(folder));
        let is_temporary = ["/tmp", "/var/tmp", "/dev", "/proc"].iter().any(|folder| path.starts_with(folder));
        let is_cache = self.policy.caches.iter().any(|cache| path.starts_with(&cache.at));
        let is_changeable = is_below(&self.policy.write) || is_temporary || is_cache;
        let is_held = |held: &[PathBuf]| held.iter().any(|held| path.starts_with(held) || held.starts_with(path));
        if is_below(&self.policy.unread) || (refusal == Refusal::Busy && is_held(&self.policy.unread)) {
            return Some(format!(
                "`deny_read` in the operator's configuration keeps {shown} from commands, or something in it: nobody \
                 may read it, and a command can't change or move it either."
            ));
        }
        if refusal != Refusal::Absent && is_below(&self.policy.write) {
            if is_below(&self.policy.protected) || (refusal == Refusal::Busy && is_held(&self.policy.protected)) {
                return Some(format!(
                    "The sandbox keeps {shown} as it is: it has hooks or settings of a git repository, which git would \
                     run or follow outside. No setting allows that; the operator can change it."
                ));
            }
            if refusal == Refusal::Busy && is_held(&self.policy.kept_in_place) {
                return Some(format!(
                    "The sandbox keeps {shown} in its place, because a git repository is in it. No setting allows \
                     moving or removing it; the operator can."
                ));
            }
        }
        if is_below(&self.policy.hidden) {
            return Some(format!(
                "The sandbox hides {shown} from commands: it is on the list of places that hold credentials. \
                 `sandbox.read` in the `config.toml` of adjutant's home would show it."
            ));
        }
        match refusal {
            Refusal::Absent => {
                let is_in_home = self.home.is_some_and(|home| path.starts_with(home) && path != home);
                let is_shown = is_below(&self.policy.read) || is_below(&self.policy.write) || is_cache;
                (is_in_home && !is_shown).then(|| {
                    format!(
                        "The sandbox shows commands only tools' code of the home, so that {shown} is not there for \
                         them whether it exists or not. `sandbox.read` in the `config.toml` of adjutant's home would \
                         show it."
                    )
                })
            }
            Refusal::ReadOnly | Refusal::Denied | Refusal::NotPermitted if !is_changeable => Some(format!(
                "The sandbox keeps commands from writing outside the working folder, which {shown} is. \
                 `sandbox.write` in the `config.toml` of adjutant's home would allow it."
            )),
            Refusal::ReadOnly | Refusal::Busy | Refusal::Denied | Refusal::NotPermitted => None,
        }
    }

    fn of_network(self, line: &str) -> Option<String> {
        let holds = [Layer::Network, Layer::Landlock, Layer::Seccomp].iter().any(|layer| self.layers.has(*layer));
        if self.policy.network == Network::On || !holds {
            return None;
        }
        if UNREACHABLE.iter().any(|words| line.contains(words)) {
            return Some(
                "The network is off for this command. A brief or approval with `http_fetch` turns it on, and so does a \
                 yes to a call that is asked about because it uses the network."
                    .to_owned(),
            );
        }
        let is_refused = line.contains("connection refused") || line.contains("econnrefused");
        let is_local = ["127.0.0.1", "localhost", "::1"].iter().any(|host| line.contains(host));
        (is_refused && is_local).then(|| {
            "The network is off for this command: it reaches only servers that it started itself, none of the \
             machine's. A brief or approval with `http_fetch` turns it on."
                .to_owned()
        })
    }

    fn absolute(self, path: &str) -> Option<PathBuf> {
        let path = match (path.strip_prefix("~/"), self.home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => self.folder.join(path),
        };
        let mut plain = PathBuf::new();
        for part in path.components() {
            match part {
                Component::ParentDir => {
                    plain.pop();
                }
                Component::CurDir => {}
                Component::Normal(_) | Component::RootDir | Component::Prefix(_) => plain.push(part),
            }
        }
        // The home may be named by way of a link.
        let real =
            self.home.and_then(|home| Some(std::fs::canonicalize(home).ok()?.join(plain.strip_prefix(home).ok()?)));
        Some(real.unwrap_or(plain)).filter(|path| path.parent().is_some())
    }

    /// A path for a person, with `~` for the home.
    fn shown(self, path: &Path) -> String {
        let real = self.home.and_then(|home| std::fs::canonicalize(home).ok());
        match real.and_then(|home| path.strip_prefix(home).ok().map(Path::to_owned)) {
            Some(rest) => format!("`~/{}`", rest.display()),
            None => format!("`{}`", path.display()),
        }
    }
}

/// Words of what needs a privilege.
const PRIVILEGED: [&str; 16] = [
    "chmod", "chown", "chgrp", "chroot", "mknod", "mount", "nice", "nsenter", "ping", "ptrace", "setuid", "strace",
    "sudo", "unshare", "sethostname", "changing",
];

/// Returns the parts of a line that look like paths: quoted text with a slash, and words with one.
fn named_paths(line: &str) -> Vec<String> {
    let mut paths = Vec::new();
    let mut rest = line;
    while let Some(start) = rest.find(['\'', '"', '`', '\u{2018}', '\u{201c}']) {
        let opening = rest[start..].chars().next().unwrap_or_default();
        let closing = match opening {
            '\u{2018}' => '\u{2019}',
            '\u{201c}' => '\u{201d}',
            other => other,
        };
        let inside = &rest[start + opening.len_utf8()..];
        let Some(end) = inside.find(closing) else { break };
        paths.push(inside[..end].to_owned());
        rest = &inside[end + closing.len_utf8()..];
    }
    let is_end = |c: char| c.is_whitespace() || "'\"`:,;()[]{}<>=\u{2018}\u{2019}\u{201c}\u{201d}".contains(c);
    paths.extend(line.split(is_end).map(str::to_owned));
    // What begins with two slashes is the rest of an address.
    let is_path = |path: &String| {
        path.contains('/') && !path.contains("://") && !path.starts_with("//") && path.len() <= PATH_BYTES_MAX
    };
    paths.retain(|path| is_path(path) && !path.chars().any(char::is_control));
    paths
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::policy::Limits;
    use super::*;

    fn policy(network: Network) -> Policy {
        let paths = |paths: &[&str]| paths.iter().map(PathBuf::from).collect();
        Policy {
            layers: Layer::all(),
            required: BTreeSet::new(),
            network,
            read: paths(&["/usr", "/home/ann/.cargo/bin"]),
            write: paths(&["/home/ann/work"]),
            hidden: paths(&["/home/ann/.ssh", "/home/ann/work/keys/a"]),
            unread: paths(&["/home/ann/work/keys/a"]),
            caches: Vec::new(),
            copies: Vec::new(),
            protected: paths(&["/home/ann/work/.git/hooks", "/home/ann/work/.git/config"]),
            kept_in_place: paths(&["/home/ann/work/.git/objects"]),
            scratch: "/tmp/s".into(),
            limits: Limits::default(),
        }
    }

    fn said(network: Network, line: &str) -> Vec<String> {
        let layers = Layers { held: Layer::ALL.into(), absent: Vec::new() };
        let (folder, home) = (Path::new("/home/ann/work"), Some(Path::new("/home/ann")));
        notes(RefusalContext { policy: &policy(network), layers: &layers, folder, home }, "", line)
    }

    /// Pairs each line with a part of the note that explains it, or with nothing.
    #[test]
    fn a_refusal_is_explained_where_the_policy_has_something_to_do_with_it() {
        for (line, expected) in [
            (
                "touch: cannot touch '/home/ann/x': Read-only file system",
                "outside the working folder, which `/home/ann/x`",
            ),
            ("touch: cannot touch \u{2018}/usr/x y\u{2019}: Read-only file system", "which `/usr/x y` is"),
            ("npm error code EROFS\n", "may have refused"),
            (
                "npm error syscall mkdir EROFS: read-only file system, mkdir '/home/ann/.npm/_cacache'",
                "`sandbox.write`",
            ),
            ("OSError: [Errno 30] Read-only file system: '/opt/a'", "`/opt/a`"),
            ("error: failed to open `/home/ann/.cargo/registry/x`: Permission denied (os error 13)", "`sandbox.write`"),
            ("bash: ~/x: Read-only file system", "`sandbox.write`"),
            ("bash: ../x: Read-only file system", "which `/home/ann/x` is"),
            ("cat: /home/ann/.ssh/id: Permission denied", "list of places that hold credentials"),
            ("bash: /home/ann/work/keys/a: Read-only file system", "`deny_read`"),
            ("mv: cannot move '/home/ann/work/keys' to 'k': Device or resource busy", "`deny_read`"),
            ("cat: /home/ann/letters: No such file or directory", "`sandbox.read`"),
            ("cat: /home/ann//letters: No such file or directory", "`sandbox.read`"),
            ("cat: /home/ann/work/a: No such file or directory", ""),
            ("cat: /home/ann/.cargo/bin/a: No such file or directory", ""),
            ("cat: /a: No such file or directory", ""),
            ("cat: src/secret: Permission denied", ""),
            ("cp: cannot create regular file '.git/hooks/x': Read-only file system", "hooks or settings"),
            ("error: could not write config file .git/config: Device or resource busy", "hooks or settings"),
            ("mv: cannot move '.git/objects' to 'o': Device or resource busy", "in its place"),
            ("rm: cannot remove './.git': Device or resource busy", "hooks or settings"),
            ("mv: cannot move 'src/a' to 'o': Device or resource busy", ""),
            ("chmod: changing permissions of 'f': Operation not permitted", "No setting allows that"),
            ("unshare: unshare failed: Operation not permitted", "No setting allows that"),
            ("kill: (1) - Operation not permitted", ""),
            ("curl: (6) Could not resolve host: example.org", "network is off"),
            ("connect: Network is unreachable", "network is off"),
            ("npm error code EAI_AGAIN", "network is off"),
            ("curl: (7) Failed to connect to localhost port 80: Connection refused", "none of the machine's"),
            ("curl: (7) Failed to connect to 10.0.0.1 port 80: Connection refused", ""),
            ("test failed: expected 1, found 2", ""),
            ("see https://example.org/a: Permission denied", ""),
        ] {
            let notes = said(Network::Off, line);
            match expected {
                "" => assert_eq!(notes, [""; 0], "{line}"),
                part => assert!(notes.len() == 1 && notes[0].contains(part), "{line}\n{notes:?}"),
            }
        }
    }

    #[test]
    fn what_did_not_hold_refused_nothing() {
        assert_eq!(said(Network::On, "curl: (6) Could not resolve host: example.org"), [""; 0]);
        let (policy, layers) = (policy(Network::Off), Layers::default());
        let around = RefusalContext { policy: &policy, layers: &layers, folder: Path::new("/"), home: None };
        assert_eq!(notes(around, "touch: cannot touch '/usr/x': Read-only file system", "getaddrinfo"), [""; 0]);
    }

    #[test]
    fn a_few_different_notes_are_enough() {
        let lines: String = (0..9).map(|n| format!("touch: '/usr/{n}': Read-only file system\n")).collect();
        assert_eq!(said(Network::Off, &(lines.clone() + &lines)).len(), NOTES_MAX);
        assert_eq!(said(Network::Off, &format!("'/{}': Read-only file system", "x".repeat(5000))), [""; 0]);
    }
}
