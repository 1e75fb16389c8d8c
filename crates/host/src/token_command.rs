//! Asks an operator's command for a bearer token, such as `gcloud auth print-access-token`.
//!
//! In: a command and its environment. Out: the one line that it printed, or why there is none. What it prints, on
//! either stream, is in no error: it may be a secret.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use adjutant_ports::CancellationToken;
use rustix::fs::{Mode, OFlags};
use thiserror::Error;

use crate::custody::{self, Cause, Command, Confinement};

/// The longest the command may take. Those of the clouds take a few seconds when they ask for a new token.
pub const TOKEN_TIMEOUT: Duration = Duration::from_secs(30);

/// The longest token, in bytes: those with many claims have some thousand, and a header takes no more.
const TOKEN_BYTES_MAX: usize = 16 * 1024;

/// A command that prints a token. It runs outside any sandbox with the operator's own environment; there is no
/// `Debug`, since that may hold secrets.
#[derive(Clone)]
pub struct TokenCommand {
    /// The program and its arguments; never empty.
    pub command: Vec<String>,
    /// Its environment, whole.
    pub environment: Vec<(OsString, OsString)>,
}

/// The reason for which there is no token.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{why}")]
pub struct NoToken {
    /// The rest of a sentence that begins with the command.
    pub why: String,
    /// True if another attempt may help: the command ran, and may have had no network.
    pub may_pass: bool,
}

impl NoToken {
    fn lasting(why: String) -> Self {
        Self { why, may_pass: false }
    }

    fn passing(why: String) -> Self {
        Self { why, may_pass: true }
    }
}

impl TokenCommand {
    /// Runs the command, for [`TOKEN_TIMEOUT`] at most.
    ///
    /// # Errors
    ///
    /// [`NoToken`] if the command can't be started, fails, takes too long or prints something else.
    pub async fn token(&self) -> Result<String, NoToken> {
        let (program, args) = self.command.split_first().ok_or_else(|| NoToken::lasting("is empty".to_owned()))?;
        let folder =
            rustix::fs::open(Path::new("/"), OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
        let command = Command {
            program: program.into(),
            args: args.iter().map(OsString::from).collect(),
            folder: folder.map_err(|error| NoToken::lasting(format!("can't be started: {error}")))?,
            environment: self.environment.clone(),
            timeout: TOKEN_TIMEOUT,
            stream_bytes_max: TOKEN_BYTES_MAX,
            confinement: Confinement::None,
        };
        let ended = custody::run_with_input(command, Vec::new(), CancellationToken::new()).await.map_err(|error| {
            let why = std::error::Error::source(&error).map(|why| format!(": {why}")).unwrap_or_default();
            NoToken::lasting(format!("can't be started: {error}{why}"))
        })?;
        match (ended.cause, ended.exit_code) {
            (Cause::Timeout, _) => Err(NoToken::passing(format!("took longer than {} s", TOKEN_TIMEOUT.as_secs()))),
            (Cause::Cancelled, _) => Err(NoToken::passing("was cancelled".to_owned())),
            (Cause::Itself, Some(0)) => {
                let printed = String::from_utf8(ended.stdout.bytes()).unwrap_or_default();
                let token = printed.trim();
                let is_token = !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic());
                if is_token {
                    Ok(token.to_owned())
                } else {
                    Err(NoToken::lasting("printed no token: one line without spaces".to_owned()))
                }
            }
            (Cause::Itself, Some(code)) => Err(NoToken::passing(format!("ended with exit code {code}"))),
            (Cause::Itself, None) => Err(NoToken::passing("was ended by a signal".to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn token(script: &str) -> Result<String, NoToken> {
        let environment = std::env::vars_os().collect();
        let command = ["sh", "-c", script].map(str::to_owned).to_vec();
        TokenCommand { command, environment }.token().await
    }

    #[tokio::test]
    async fn a_token_is_one_line_and_nothing_else_of_the_output_is_told() {
        assert_eq!(token("echo ' tok-1.x '").await, Ok("tok-1.x".to_owned()));
        for script in ["echo canary one; echo two", "true", "printf 'can\\tary'"] {
            let none = NoToken::lasting("printed no token: one line without spaces".to_owned());
            assert_eq!(token(script).await, Err(none), "{script}");
        }
        let failed = token("echo canary; echo canary >&2; exit 3").await;
        assert_eq!(failed, Err(NoToken::passing("ended with exit code 3".to_owned())));
        let missing = TokenCommand { command: vec!["/no/such/program".to_owned()], environment: Vec::new() };
        let none = missing.token().await.unwrap_err();
        assert!(none.why.starts_with("can't be started") && !none.may_pass, "{none}");
    }
}
