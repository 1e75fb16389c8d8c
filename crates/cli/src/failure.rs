//! Errors as an operator reads them when a command fails: what, why, and what to do.

use std::error::Error;
use std::fmt;

use adjutant_core::words::visible::visible_text;
use adjutant_runtime::assembly::Unready;

use crate::exit::Ending;
use crate::render::fitted_to_stderr;

/// A failure with a way out and an exit code of its own.
#[derive(Debug)]
pub struct Failure {
    what: String,
    hint: Option<String>,
    ending: Ending,
    /// The failure below, if its causes are said too.
    below: Option<Box<dyn Error + Send + Sync>>,
}

impl Failure {
    /// Wrong usage: the operator typed something that can't be.
    pub fn usage(what: impl Into<String>) -> Self {
        Self { what: what.into(), hint: None, ending: Ending::Usage, below: None }
    }

    /// Something that ends with `ending`.
    pub fn ending(ending: Ending, what: impl Into<String>) -> Self {
        Self { what: what.into(), hint: None, ending, below: None }
    }

    /// Builds a failure from `error` with its cause, and the hint on what to do, if there is one.
    pub fn of(ending: Ending, error: &dyn Error, hint: Option<String>) -> Self {
        let what = match error.source() {
            Some(source) => format!("{error}: {source}"),
            None => error.to_string(),
        };
        Self { what, hint, ending, below: None }
    }

    /// Makes a failure of a reason why a run can't be put together.
    pub fn unready(error: impl Into<Unready>) -> anyhow::Error {
        let error = error.into();
        let ending = if error.is_usage() { Ending::Usage } else { Ending::Failed };
        Self { what: error.to_string(), hint: error.hint(), ending, below: Some(Box::new(error)) }.into()
    }

    /// The same, with what to do about it.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl Error for Failure {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.below.as_ref()?.source()
    }
}

/// Returns in one line what failed and what to do about it: for a report that goes on.
pub fn text(error: &anyhow::Error) -> String {
    match error.downcast_ref::<Failure>().and_then(|failure| failure.hint.as_deref()) {
        Some(hint) => format!("{error}; {hint}"),
        None => error.to_string(),
    }
}

/// Prints a line of a report, broken between words where stderr is a terminal.
fn say(label: &str, text: &str) {
    tell!("{}", fitted_to_stderr(&format!("{label}: {}", visible_text(text))));
}

/// Keeps silent of panics that are caught where they happen: those of the shell reader's grammar.
pub fn keep_silent_of_caught_panics() {
    let told = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !panic.location().is_some_and(|place| adjutant_core::gate::shell::catches_panics_of(place.file())) {
            told(panic);
        }
    }));
}

/// Says on stderr what failed, why, and what to do; the exit code it ends with.
pub fn report(error: &anyhow::Error) -> Ending {
    // A reader that went away (`adjutant list | head`) is no failure of ours.
    let pipe = |cause: &(dyn Error + 'static)| {
        cause.downcast_ref::<std::io::Error>().is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
    };
    if error.chain().any(pipe) {
        return Ending::Done;
    }
    say("error", &error.to_string());
    for cause in error.chain().skip(1) {
        say("  because", &cause.to_string());
    }
    let failure = error.downcast_ref::<Failure>();
    if let Some(hint) = failure.and_then(|failure| failure.hint.as_deref()) {
        say("hint", hint);
    }
    failure.map_or(Ending::Failed, |failure| failure.ending)
}
