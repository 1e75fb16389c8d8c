//! What of the runtime's environment a command may see: no secrets, and settings by which programs that
//! would ask or open an editor fail at once instead of waiting.

use std::ffi::OsString;

/// Parts of a variable's name (upper case) that mark it as a secret or as ours.
const SECRET_ENDINGS: [&str; 7] = ["_KEY", "_TOKEN", "_SECRET", "_PAT", "_CREDENTIALS", "_COOKIE", "_PASSPHRASE"];
const SECRET_PARTS: [&str; 4] = ["PASSWORD", "PASSWD", "API_KEY", "PRIVATE_KEY"];
const SECRET_BEGINNINGS: [&str; 5] = ["AWS_", "ADJUTANT_", "AZURE_", "GOOGLE_APPLICATION_", "ANTHROPIC_"];
const SECRET_NAMES: [&str; 9] = [
    "TOKEN", "SECRET", "API_KEY", "PGPASSFILE", "SSH_AUTH_SOCK", "SSH_AGENT_PID", "GPG_AGENT_INFO", "NETRC",
    "DATABASE_URL",
];
/// Variables that would run code of somebody's choice in every command.
const INJECTING_NAMES: [&str; 6] = ["BASH_ENV", "ENV", "LD_PRELOAD", "LD_AUDIT", "PROMPT_COMMAND", "GIT_EXTERNAL_DIFF"];

/// What is set for every command. An editor that fails makes `git commit` without `-m` an error to act on,
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

/// The environment of a command, made from the runtime's own: without secrets, with the settings that make
/// askers fail.
///
/// A name that is not Unicode is dropped, since it can't be judged.
#[must_use]
pub fn for_commands(own: impl IntoIterator<Item = (OsString, OsString)>) -> Vec<(OsString, OsString)> {
    let mut kept: Vec<_> = own
        .into_iter()
        .filter(|(name, _)| {
            name.to_str().is_some_and(|name| !is_withheld(name) && SETTINGS.iter().all(|(set, _)| *set != name))
        })
        .collect();
    kept.extend(SETTINGS.iter().map(|(name, value)| (OsString::from(name), OsString::from(value))));
    kept
}

/// Whether a variable of this name is kept from commands.
#[must_use]
pub fn is_withheld(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    SECRET_NAMES.contains(&name.as_str())
        || INJECTING_NAMES.contains(&name.as_str())
        || SECRET_ENDINGS.iter().any(|ending| name.ends_with(ending))
        || SECRET_PARTS.iter().any(|part| name.contains(part))
        || SECRET_BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_withheld_and_the_rest_is_kept() {
        for name in [
            "OPENAI_API_KEY", "GITHUB_TOKEN", "x_secret", "PGPASSWORD", "AWS_REGION", "ADJUTANT_HOME", "SSH_AUTH_SOCK",
            "BASH_ENV",
        ] {
            assert!(is_withheld(name), "{name}");
        }
        for name in ["PATH", "HOME", "LANG", "CARGO_HOME", "KEYBOARD", "TOKENIZERS_PARALLELISM"] {
            assert!(!is_withheld(name), "{name}");
        }
    }

    #[test]
    fn what_would_ask_fails_instead() {
        let own =
            [("EDITOR", "vi"), ("PATH", "/bin")].map(|(name, value)| (OsString::from(name), OsString::from(value)));
        let made = for_commands(own);
        let value = |wanted: &str| {
            made.iter().filter(|(name, _)| name == wanted).map(|(_, value)| value.clone()).collect::<Vec<_>>()
        };
        assert_eq!(value("EDITOR"), ["false"]);
        assert_eq!(value("PATH"), ["/bin"]);
        assert_eq!(value("GIT_TERMINAL_PROMPT"), ["0"]);
    }
}
