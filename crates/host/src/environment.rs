//! Builds the environment of commands from the runtime's: the variables that programs need to be found and to speak the
//! user's language, and settings by which programs that would ask or open an editor fail at once.
//!
//! The list names the variables to keep, so a secret under an unexpected name stays out. The marks of a secret are
//! listed too: values of such variables are masked wherever they turn up.

use std::ffi::OsString;

use crate::http::percent_decoded;

/// Variables that a command keeps.
const KEPT: [&str; 58] = [
    "AR",
    "CARGO_BUILD_JOBS",
    "CARGO_HOME",
    "CARGO_NET_OFFLINE",
    "CARGO_TARGET_DIR",
    "CC",
    "CFLAGS",
    "CI",
    "COLUMNS",
    "CONDA_DEFAULT_ENV",
    "CONDA_PREFIX",
    "CPATH",
    "CXX",
    "CXXFLAGS",
    "GIT_AUTHOR_EMAIL",
    "GIT_AUTHOR_NAME",
    "GIT_COMMITTER_EMAIL",
    "GIT_COMMITTER_NAME",
    "GOCACHE",
    "GOFLAGS",
    "GOMODCACHE",
    "GOPATH",
    "GOROOT",
    "HOME",
    "JAVA_HOME",
    "LANG",
    "LANGUAGE",
    "LDFLAGS",
    "LIBRARY_PATH",
    "LINES",
    "LOGNAME",
    "MAKEFLAGS",
    "NODE_ENV",
    "NODE_PATH",
    "NO_COLOR",
    "NVM_DIR",
    "PATH",
    "PKG_CONFIG_PATH",
    "PYENV_ROOT",
    "PYENV_VERSION",
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONPATH",
    "PYTHONUNBUFFERED",
    "RBENV_ROOT",
    "RUSTFLAGS",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "RUST_BACKTRACE",
    "SDKMAN_DIR",
    "SHELL",
    "SOURCE_DATE_EPOCH",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "TZ",
    "USER",
    "VIRTUAL_ENV",
    "VOLTA_HOME",
    "XDG_DATA_DIRS",
];
/// Beginnings of such names.
const KEPT_BEGINNINGS: [&str; 1] = ["LC_"];

/// Parts of a variable's name (upper case) that mark it as a secret or as ours.
const SECRET_ENDINGS: [&str; 7] = ["_KEY", "_TOKEN", "_SECRET", "_PAT", "_CREDENTIALS", "_COOKIE", "_PASSPHRASE"];
const SECRET_PARTS: [&str; 4] = ["PASSWORD", "PASSWD", "API_KEY", "PRIVATE_KEY"];
const SECRET_BEGINNINGS: [&str; 4] = ["AWS_", "AZURE_", "GOOGLE_APPLICATION_", "ANTHROPIC_"];
const SECRET_NAMES: [&str; 9] = [
    "TOKEN", "SECRET", "API_KEY", "PGPASSFILE", "SSH_AUTH_SOCK", "SSH_AGENT_PID", "GPG_AGENT_INFO", "NETRC",
    "DATABASE_URL",
];
/// Variables that would run code of somebody's choice in every command.
const INJECTING_NAMES: [&str; 6] = ["BASH_ENV", "ENV", "LD_PRELOAD", "LD_AUDIT", "PROMPT_COMMAND", "GIT_EXTERNAL_DIFF"];
/// Beginning of the names of our own variables, which no setting gives to a command.
const OURS: &str = "ADJUTANT_";

/// Variables that are set for every command. An editor that fails makes `git commit` without `-m` an error to act on,
/// not a process that waits for a person.
const SETTINGS: [(&str, &str); 11] = [
    ("DEBIAN_FRONTEND", "noninteractive"),
    ("EDITOR", "false"),
    ("GIT_ASKPASS", "false"),
    ("GIT_EDITOR", "false"),
    ("GIT_PAGER", "cat"),
    ("GIT_SEQUENCE_EDITOR", "false"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("PAGER", "cat"),
    ("SSH_ASKPASS", "false"),
    ("TERM", "dumb"),
    ("VISUAL", "false"),
];

/// The environment of a command, made from the runtime's own: what is on the list, what the operator `named`
/// besides, and the settings that make askers fail.
///
/// A name that is not Unicode is dropped, since it can't be judged. What is our own stays out even if it is
/// named.
#[must_use]
pub fn for_commands(
    own: impl IntoIterator<Item = (OsString, OsString)>,
    named: &[String],
) -> Vec<(OsString, OsString)> {
    let mut kept: Vec<_> = own
        .into_iter()
        .filter(|(name, _)| {
            name.to_str().is_some_and(|name| is_kept(name, named) && SETTINGS.iter().all(|(set, _)| *set != name))
        })
        .collect();
    kept.extend(SETTINGS.iter().map(|(name, value)| (OsString::from(name), OsString::from(value))));
    kept
}

fn is_kept(name: &str, named: &[String]) -> bool {
    let is_listed = KEPT.contains(&name) || KEPT_BEGINNINGS.iter().any(|beginning| name.starts_with(beginning));
    let is_named = named.iter().any(|named| named == name) && !name.to_ascii_uppercase().starts_with(OURS);
    is_listed || is_named
}

/// Returns true if a variable of this name holds a secret, or is one of ours.
#[must_use]
pub fn is_withheld(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    SECRET_NAMES.contains(&name.as_str())
        || INJECTING_NAMES.contains(&name.as_str())
        || SECRET_ENDINGS.iter().any(|ending| name.ends_with(ending))
        || SECRET_PARTS.iter().any(|part| name.contains(part))
        || SECRET_BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
}

/// Ending of the names of variables that hold the address of an adapter's API: a resume needs the address as it is on
/// record.
const ADDRESS_ENDING: &str = "_BASE_URL";

/// The secrets in an environment: the values of variables whose name says so, and the passwords in addresses, as they
/// are written and as they are meant. Of an address with a password the rest is none: its user and host may be shown.
pub fn secrets(own: impl IntoIterator<Item = (String, String)>) -> Vec<String> {
    let mut secrets = Vec::new();
    for (name, value) in own {
        if let Some(password) = password_of_url(&value) {
            secrets.extend([password.to_owned(), percent_decoded(password)]);
        } else if is_withheld(&name) && !name.ends_with(ADDRESS_ENDING) {
            secrets.push(value);
        }
    }
    secrets
}

/// Returns the text between the user and the host of an address.
fn password_of_url(value: &str) -> Option<&str> {
    let (scheme, rest) = value.split_once("://")?;
    let is_scheme = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.' | ':');
    let authority = rest.split(['/', '?', '#']).next().unwrap_or(rest);
    // Outside of HTTP passwords are often written with what ends an authority.
    let raw = || rest.rsplit_once('@').filter(|_| !scheme.starts_with("http"));
    let (user, _) = authority.rsplit_once('@').or_else(raw)?;
    let (_, password) = user.split_once(':')?;
    (!scheme.is_empty() && scheme.chars().all(is_scheme) && !password.is_empty()).then_some(password)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_an_address_only_the_password_is_a_secret() {
        let given = [
            ("DATABASE_URL", "postgres://app:s3cret%2Fpass@db.example.org:5432/main?ssl=1"),
            ("REDIS_URL", "redis://:only-a-password@cache/0"),
            ("BROKER_URL", "amqp://me:raw/slash@mq.example.org"),
            ("HOMEPAGE", "https://example.org:8080/a@b:c"),
            ("API_TOKEN", "no-address-at-all"),
            ("HOOK_TOKEN", "https://hooks.example.org/abcdefgh"),
            ("ANTHROPIC_BASE_URL", "http://127.0.0.1:9"),
            ("OPENAI_BASE_URL", "https://me:in-the-address@proxy.example.org/v1"),
            ("PATH", "/bin:/usr/bin"),
        ];
        let found = secrets(given.map(|(name, value)| (name.to_owned(), value.to_owned())));
        let expected = [
            "s3cret%2Fpass",
            "s3cret/pass",
            "only-a-password",
            "only-a-password",
            "raw/slash",
            "raw/slash",
            "no-address-at-all",
            "https://hooks.example.org/abcdefgh",
            "in-the-address",
            "in-the-address",
        ];
        assert_eq!(found, expected);
    }

    fn made(own: &[(&str, &str)], named: &[&str]) -> Vec<(OsString, OsString)> {
        let own: Vec<_> = own.iter().map(|(name, value)| (OsString::from(name), OsString::from(value))).collect();
        let named: Vec<_> = named.iter().map(|name| (*name).to_owned()).collect();
        for_commands(own, &named)
    }

    fn value(made: &[(OsString, OsString)], wanted: &str) -> Vec<OsString> {
        made.iter().filter(|(name, _)| name == wanted).map(|(_, value)| value.clone()).collect()
    }

    #[test]
    fn secrets_are_known_by_their_names() {
        for name in [
            "OPENAI_API_KEY", "GITHUB_TOKEN", "x_secret", "PGPASSWORD", "AWS_REGION", "ADJUTANT_OWN_KEY",
            "SSH_AUTH_SOCK", "BASH_ENV",
        ] {
            assert!(is_withheld(name), "{name}");
        }
        for name in ["PATH", "HOME", "LANG", "CARGO_HOME", "KEYBOARD", "TOKENIZERS_PARALLELISM"] {
            assert!(!is_withheld(name), "{name}");
        }
    }

    #[test]
    fn nothing_that_is_kept_is_a_secret() {
        for name in KEPT {
            assert!(!is_withheld(name), "{name}");
        }
    }

    #[test]
    fn what_would_ask_fails_instead() {
        let made = made(&[("EDITOR", "vi"), ("PATH", "/bin")], &[]);
        assert_eq!(value(&made, "EDITOR"), ["false"]);
        assert_eq!(value(&made, "PATH"), ["/bin"]);
        assert_eq!(value(&made, "GIT_TERMINAL_PROMPT"), ["0"]);
    }

    #[test]
    fn a_command_gets_what_is_listed_or_named_and_never_what_is_ours() {
        let own = [("LC_ALL", "C"), ("WHATEVER", "1"), ("NPM_TOKEN", "2"), ("ADJUTANT_HOME", "3"), ("EDITOR", "vi")];
        let made = made(&own, &["NPM_TOKEN", "ADJUTANT_HOME", "EDITOR"]);
        assert_eq!(value(&made, "LC_ALL"), ["C"]);
        assert_eq!(value(&made, "NPM_TOKEN"), ["2"]);
        assert_eq!(value(&made, "EDITOR"), ["false"]);
        for absent in ["WHATEVER", "ADJUTANT_HOME"] {
            assert_eq!(value(&made, absent), [""; 0], "{absent}");
        }
    }
}
