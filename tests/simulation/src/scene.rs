//! What happens around a run: what agents say, what the operator answers and says, what the files are.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use adjutant_core::gate::Grant;
use adjutant_core::words::tool::ToolCall;
use adjutant_core::words::{Budget, FailureKind, Message, Part, QuestionKind, Usage};
use serde_json::Value;

/// Everything outside of the drivers, as it is before the run.
#[derive(Debug, Clone)]
pub struct Scene {
    /// The turns of each part's agent, in order; a part without any stays silent.
    pub turns: BTreeMap<String, Vec<StagedTurn>>,
    /// The answers to each kind of question of each part, by its name, in order.
    pub answers: BTreeMap<&'static str, Vec<StagedAnswer>>,
    /// What the operator says unasked.
    pub letters: Vec<StagedLetter>,
    /// Whether somebody sits at the terminal.
    pub presence: Presence,
    /// The grants that the project keeps before the run.
    pub grants: Vec<Grant>,
    /// Reason why the project can't keep any more, if it can't.
    pub grants_fault: Option<String>,
    /// The grants that the operator revokes at another terminal, each with its moment.
    pub revoked: Vec<(SceneMoment, String)>,
    /// The files of the workdir.
    pub files: BTreeMap<String, String>,
    /// The workspaces that there are besides the run's own: folders among the files.
    pub workspaces: BTreeSet<&'static str>,
    /// The number of agents that the run has.
    pub agents: u32,
    /// The usage that the provider counts for each reply.
    pub usage: Option<Usage>,
    /// The tools before whose calls something is kept.
    pub rescued: BTreeSet<&'static str>,
    /// Why nothing can be kept, if nothing can.
    pub rescue_fault: Option<String>,
    /// Secrets that the runtime holds.
    pub secrets: Vec<String>,
    /// The kind of question that the terminal of the first driver panics at.
    pub panics_at: Option<QuestionKind>,
    /// True if looking at the working tree panics.
    pub look_panics: bool,
    /// The limits that may not be overdrawn; nothing is added to them by an answer.
    pub limits: Budget,
    /// True if drivers let the run go where it has long to wait, as a worker's do.
    pub lets_sleep: bool,
    /// True if nobody goes on with a run whose driver stopped with an error.
    pub stops_at_errors: bool,
    /// True if somebody goes on with a run that its operator interrupted.
    pub resumes_interrupted: bool,
}

/// Whether somebody sits at the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// A question is open until it is answered.
    Attended,
    /// Nobody is asked: the run is let go, and answers come by its mailbox.
    Away,
}

/// A turn of an agent.
#[derive(Debug, Clone)]
pub enum StagedTurn {
    /// Says this and asks for these calls.
    Says(String, Vec<ToolCall>),
    /// Takes so long, in milliseconds, and says this, piece by piece.
    Slow(String, u64),
    /// Fails.
    Fails(FailureKind, Option<Duration>),
    /// Panics.
    Panics,
}

impl StagedTurn {
    /// Returns a turn without calls.
    #[must_use]
    pub fn says(text: &str) -> Self {
        Self::Says(text.to_owned(), Vec::new())
    }

    /// Returns a turn with calls.
    #[must_use]
    pub fn calls(text: &str, calls: Vec<ToolCall>) -> Self {
        Self::Says(text.to_owned(), calls)
    }
}

/// An answer of the operator.
#[derive(Debug, Clone)]
pub struct StagedAnswer {
    /// What is typed.
    pub typed: String,
    /// How long after its question was first put it comes, in milliseconds.
    pub after_ms: u64,
}

/// Something that the operator says unasked.
#[derive(Debug, Clone)]
pub struct StagedLetter {
    /// When.
    pub due: SceneMoment,
    /// What.
    pub message: Message,
    /// The part that it is for.
    pub to: Part,
}

/// A time in a scene.
#[derive(Debug, Clone, Copy)]
pub enum SceneMoment {
    /// So many milliseconds after the run began.
    AfterMs(u64),
    /// When the journal has so many events.
    AfterEvents(usize),
}

impl Default for Scene {
    fn default() -> Self {
        Self {
            turns: BTreeMap::new(),
            answers: BTreeMap::new(),
            letters: Vec::new(),
            grants: Vec::new(),
            grants_fault: None,
            revoked: Vec::new(),
            presence: Presence::Attended,
            files: BTreeMap::new(),
            workspaces: BTreeSet::new(),
            agents: 1,
            usage: None,
            rescued: BTreeSet::new(),
            rescue_fault: None,
            secrets: Vec::new(),
            panics_at: None,
            look_panics: false,
            limits: Budget::default(),
            lets_sleep: false,
            stops_at_errors: false,
            resumes_interrupted: false,
        }
    }
}

impl Scene {
    /// Returns a scene in which one session's agent takes these turns.
    #[must_use]
    pub fn of(turns: Vec<StagedTurn>) -> Self {
        Self { turns: BTreeMap::from([("session".to_owned(), turns)]), ..Self::default() }
    }

    /// Returns the scene with these answers to questions of a kind, each two seconds after its question.
    #[must_use]
    pub fn answering(self, kind: QuestionKind, typed: &[&str]) -> Self {
        self.answering_after(2_000, kind, typed)
    }

    /// Returns the scene with answers that come so many milliseconds after their questions.
    #[must_use]
    pub fn answering_after(mut self, after_ms: u64, kind: QuestionKind, typed: &[&str]) -> Self {
        let answers = typed.iter().map(|typed| StagedAnswer { typed: (*typed).to_owned(), after_ms });
        self.answers.entry(kind.as_str()).or_default().extend(answers);
        self
    }

    /// Returns the scene with something that the operator says to the whole run.
    #[must_use]
    pub fn saying(mut self, due: SceneMoment, message: Message) -> Self {
        self.letters.push(StagedLetter { due, message, to: Part::root() });
        self
    }

    /// Returns the scene with something that the operator says to one part.
    #[must_use]
    pub fn telling(mut self, due: SceneMoment, part: &str, message: Message) -> Self {
        self.letters.push(StagedLetter { due, message, to: part.parse().expect("a part") });
        self
    }
}

/// Panics without a word on stderr, where hundreds of staged panics would bury a real one.
pub(crate) fn staged_panic() -> ! {
    std::panic::resume_unwind(Box::new("it is staged to panic"))
}

/// Returns a call for a script; its id is found only once in a scene.
#[must_use]
pub fn call(id: &str, name: &str, args: Value) -> ToolCall {
    ToolCall {
        call_id: id.to_owned(),
        name: name.to_owned(),
        args,
        malformed: None,
        masked: false,
        resolved: Vec::new(),
    }
}
