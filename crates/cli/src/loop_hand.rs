//! The human hand on a loop by files alone: `PAUSE`, `STOP` and `MESSAGE` in the folder `.adjutant` of its workdir. What
//! they say goes to the run's mailbox, as if it had been typed elsewhere, so it is on record like any other word.
//!
//! In: the folder, and the mailbox. Out: letters to the run, and when it is time to go on with one that stands still.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use adjutant_core::inbox::mailbox::First;
use adjutant_core::inbox::reply::Reply;
use adjutant_core::trace::RunOptions;
use adjutant_core::words::id::RunId;
use adjutant_core::words::{Choice, Key, Message, Part, Question, QuestionKind};
use adjutant_host::state_files;
use adjutant_runtime::Ended;
use adjutant_runtime::{mail, say};
use adjutant_store::{Home, Mailbox};
use jiff::Timestamp;
use tokio::signal::unix::{SignalKind, signal};

use crate::exit::Ending;
use crate::order::Began;
use crate::sitting;

/// Interval between looks at the files: soon for a person, nothing for a machine.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// The source of what they say, as the record has it.
const WHENCE: &str = "file";

/// The files of one loop.
#[derive(Debug, Clone)]
pub struct HandFiles {
    workdir: PathBuf,
    home: Home,
    run_id: RunId,
}

impl HandFiles {
    /// The files of the loop `run_id`, which works in `workdir`.
    fn of(home: &Home, run_id: &RunId, workdir: &Path) -> Self {
        Self { workdir: workdir.to_owned(), home: home.clone(), run_id: run_id.clone() }
    }

    /// The files of a run; `None` if it is no loop.
    pub fn of_loop(home: &Home, run_id: &RunId, options: &RunOptions) -> Option<Self> {
        options.work.looped().map(|_| Self::of(home, run_id, Path::new(&options.workdir)))
    }

    fn text_of(&self, name: &str) -> Option<String> {
        let bytes = state_files::read(&self.workdir, name).ok().flatten()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Returns true if somebody wants the loop to stand still. The loop's own file is none of that: its question says so.
    fn is_paused(&self) -> bool {
        self.text_of("PAUSE").is_some_and(|text| !is_own(&text))
    }

    fn say(&self, message: Message) {
        if let Err(error) = say::say(&self.home, &self.run_id, Part::root(), message, WHENCE) {
            tell!("warning: what a file in `.adjutant` says can't be told to the run: {error}");
        }
    }

    /// Takes what `STOP` and `MESSAGE` say to the mailbox, and puts the files away. Returns true if it is to stop.
    fn take(&self) -> bool {
        let is_stop = self.text_of("STOP").is_some();
        if is_stop {
            self.say(Message::Stop);
            self.put_away("STOP");
        }
        if let Some(text) = self.text_of("MESSAGE").filter(|text| !text.trim().is_empty()) {
            self.say(Message::Steer(text.trim().to_owned()));
            self.put_away("MESSAGE");
        }
        is_stop
    }

    fn put_away(&self, name: &str) {
        let at = u64::try_from(Timestamp::now().as_second()).unwrap_or_default();
        if let Err(error) = state_files::take_away(&self.workdir, name, at) {
            tell!("warning: `.adjutant/{name}` can't be moved away: {}", error.why);
        }
    }

    /// Answers the open question of a stuck loop if its own `PAUSE` was removed: both it and the marker are written at once,
    /// so that one without the other says that somebody wants it to go on.
    pub fn answer_by_removal(&self, open: &[(Key, Question)]) {
        let Some((key, question)) = open.iter().find(|(_, question)| question.kind == QuestionKind::Stuck) else {
            return;
        };
        if self.text_of("signals/UNCERTAINTY_ESCALATION").is_some() && self.text_of("PAUSE").is_none() {
            let answer = mail::answer(key, question.kind, Reply { choice: Choice::Continue, text: None }, WHENCE);
            if let Err(error) = mail::give(&Mailbox::of(&self.home, &self.run_id), answer) {
                tell!("warning: the removal of `.adjutant/PAUSE` can't be told to the run: {error}");
            }
        }
    }

    /// Looks at the files again and again while the loop is driven. Never ends.
    pub async fn watch(&self) -> std::convert::Infallible {
        let mut was_paused = false;
        let mut every = tokio::time::interval(LOOK_EVERY);
        loop {
            every.tick().await;
            let is_paused = self.is_paused();
            if is_paused && !was_paused {
                self.say(Message::Pause);
            }
            was_paused = is_paused;
            self.take();
        }
    }
}

/// Returns true if a loop wrote this `PAUSE` itself.
fn is_own(text: &str) -> bool {
    serde_json::from_str::<serde_json::Value>(text).is_ok_and(|value| value["by"] == "supervisor")
}

/// Stays with a loop that stands still: goes on once `PAUSE` is gone, a question is answered or the run is told to stop.
/// `go_on` drives it again.
pub fn stay(began: Began, home: &Home, go_on: impl Fn(&RunId) -> anyhow::Result<Began>) -> anyhow::Result<Ending> {
    let mut began = began;
    loop {
        let Some((run_id, workdir)) = began.stood_still() else { return Ok(began.ending) };
        let files = HandFiles::of(home, run_id, workdir);
        let waits_for = match &began.ended {
            Ended::Waiting(open) => sitting::runtime()?.block_on(wait_for_word(&files, open)),
            Ended::Interrupted if files.is_paused() => {
                tell!(
                    "paused: remove `.adjutant/PAUSE` to go on; Ctrl-C ends this process, and the run can be resumed"
                );
                sitting::runtime()?.block_on(wait_for_removal(&files))
            }
            Ended::Finished(_) | Ended::Interrupted | Ended::Sleeping(_) => false,
        };
        if !waits_for {
            return Ok(began.ending);
        }
        let run_id = run_id.clone();
        began = go_on(&run_id)?;
    }
}

/// Waits until `PAUSE` is gone, or something is said to the run. Returns true when the run goes on.
async fn wait_for_removal(files: &HandFiles) -> bool {
    let mailbox = Mailbox::of(&files.home, &files.run_id);
    let letters = letters_in(&mailbox);
    loop {
        if !files.is_paused() || files.take() || letters_in(&mailbox) > letters {
            return true;
        }
        if is_interrupted_within(LOOK_EVERY).await {
            return false;
        }
    }
}

/// Waits until one of the open questions is answered, something is said to the run, or the loop's own `PAUSE` is removed,
/// which answers it. Returns true when the run goes on.
async fn wait_for_word(files: &HandFiles, open: &[(Key, Question)]) -> bool {
    let mailbox = Mailbox::of(&files.home, &files.run_id);
    let letters = letters_in(&mailbox);
    tell!("the loop waits for you: `adjutant inbox` answers, Ctrl-C ends this process, and the run can be resumed");
    loop {
        files.answer_by_removal(open);
        let is_answered =
            |(key, question): &(Key, Question)| matches!(mailbox.first(key, question.kind), Ok(Some(First::Answer(_))));
        if files.take() || open.iter().any(is_answered) || letters_in(&mailbox) > letters {
            return true;
        }
        if is_interrupted_within(LOOK_EVERY).await {
            return false;
        }
    }
}

/// Number of messages in a mailbox.
fn letters_in(mailbox: &Mailbox) -> usize {
    mailbox.read().map_or(0, |letters| letters.messages.len())
}

/// Waits; returns true if the operator wants this process to end meanwhile.
async fn is_interrupted_within(length: Duration) -> bool {
    let Ok(mut ended) = signal(SignalKind::terminate()) else {
        tokio::time::sleep(length).await;
        return false;
    };
    tokio::select! {
        _ = tokio::signal::ctrl_c() => true,
        _ = ended.recv() => true,
        () = tokio::time::sleep(length) => false,
    }
}

/// Returns the reason why a loop can't begin: somebody has put a file there that says stop.
pub fn left_over(workdir: &Path) -> Option<String> {
    let stop = workdir.join(".adjutant").join("STOP");
    fs::symlink_metadata(&stop).is_ok().then(|| format!("`{}` says stop", stop.display()))
}
