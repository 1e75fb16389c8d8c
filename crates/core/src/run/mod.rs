//! The facts that all parts of a run share, folded once from all of its events.
//!
//! In: events. Out: the facts that a session or a crew decides by and that belong to none of them. A part never keeps
//! a copy: it is lent the facts at each decision, so that parts that work side by side see the same.
//!
//! Begin with [`RunFacts`].

mod accounts;
mod amended;
mod asking;
mod grants;
mod halts;
mod mode;
mod once;
mod untold;
mod workspaces;

use jiff::Timestamp;

use crate::memory::Inherited;
use crate::procedure::SharedFacts;
use crate::trace::{AskEvent, Body, Event, GateEvent, HostEvent, LearnedEvent, RunEvent};
use crate::words::id::WorkspaceId;
use crate::words::tool::ToolSpecs;
use crate::words::{Amendment, Category, Message, Metric, Mode, OperatorWord, Part};

pub use accounts::{AccountName, Accounts};
pub use grants::Grants;
pub use untold::ToTell;

/// The facts of a whole run, as its events say them.
#[derive(Debug, Clone, Default)]
pub struct RunFacts {
    accounts: Accounts,
    halts: halts::Halts,
    asking: asking::ActsAsked,
    deadline: once::PassedDeadline,
    failures: once::Failures,
    grants: Grants,
    approved: Vec<Category>,
    amended: amended::Amended,
    modes: mode::Modes,
    untold: untold::Untold,
    workspaces: workspaces::PartWorkspaces,
    offered: Option<ToolSpecs>,
    memory: Inherited,
    missing_walls: Vec<String>,
    rules: u32,
}

impl RunFacts {
    /// Returns true if a message to the agent doesn't put off the question between gated steps. In runs of earlier versions
    /// it gave the step three more turns.
    #[must_use]
    pub fn asks_before_messages(&self) -> bool {
        self.rules >= 1
    }

    /// Returns true if the brief's checks must pass before work counts as done, and an agent that repeats itself is told so.
    /// In runs of earlier versions neither was.
    #[must_use]
    pub fn checks_work(&self) -> bool {
        self.rules >= 2
    }

    /// Returns what each scope of the run has used.
    #[must_use]
    pub fn accounts(&self) -> &Accounts {
        &self.accounts
    }

    /// Returns the part that asks for more of a limit that was reached, while its question is open.
    #[must_use]
    pub fn halted(&self, scope: &AccountName, metric: Metric) -> Option<&Part> {
        self.halts.owner(scope, metric)
    }

    /// Returns another part that asks the operator about one of these categories.
    #[must_use]
    pub fn asks_about(&self, part: &Part, categories: &[Category]) -> Option<&Part> {
        self.asking.about(part, categories)
    }

    /// Returns true if the operator said that the work goes on after the deadline.
    #[must_use]
    pub fn is_deadline_waived(&self) -> bool {
        self.deadline.is_waived()
    }

    /// Returns the part that asks whether the work goes on after the deadline.
    #[must_use]
    pub fn asks_about_deadline(&self) -> Option<&Part> {
        self.deadline.asks()
    }

    /// Returns another part that asks what to do about the agent at this place, which failed.
    #[must_use]
    pub fn asks_about_agent(&self, part: &Part, agent: u32) -> Option<&Part> {
        self.failures.about(part, agent)
    }

    /// Returns true if the operator had the agent at this place tried again after it failed, whichever part asked.
    #[must_use]
    pub fn is_retried_since(&self, agent: u32, failed_at: Timestamp) -> bool {
        self.failures.is_retried_since(agent, failed_at)
    }

    /// Returns the grants of the run.
    #[must_use]
    pub fn grants(&self) -> &Grants {
        &self.grants
    }

    /// Returns what the operator approved for the run, each category once. A role may hold less of it: it takes what
    /// its own limit leaves.
    #[must_use]
    pub fn approved(&self) -> &[Category] {
        &self.approved
    }

    /// Returns what the operator amended of the brief since the run began, in order.
    #[must_use]
    pub fn amendments(&self) -> &[Amendment] {
        self.amended.in_order()
    }

    /// Returns the operator's word on who decides between the steps of `part`; `None` before the first.
    #[must_use]
    pub fn mode(&self, part: &Part) -> Option<Mode> {
        self.modes.of(part)
    }

    /// Returns the next thing that the session in `part` is to tell its agent.
    #[must_use]
    pub fn to_tell(&self, part: &Part) -> Option<&ToTell> {
        self.untold.next(part)
    }

    /// Returns the workspace in which `part` works; `None` for the run's own.
    #[must_use]
    pub fn workspace(&self, part: &Part) -> Option<&WorkspaceId> {
        self.workspaces.of(part)
    }

    /// Returns all tools of the run as they are offered since it was taken over by a version that has others; `None` while
    /// they are those that it began with.
    #[must_use]
    pub fn offered(&self) -> Option<&ToolSpecs> {
        self.offered.as_ref()
    }

    /// Returns what the run took from its project's memory.
    #[must_use]
    pub fn memory(&self) -> &Inherited {
        &self.memory
    }

    /// Returns the walls of the sandbox that are missing on this machine.
    #[must_use]
    pub fn missing_walls(&self) -> &[String] {
        &self.missing_walls
    }

    fn approve(&mut self, categories: &[String]) {
        for category in categories.iter().map(Category::new) {
            if !self.approved.contains(&category) {
                self.approved.push(category);
            }
        }
    }
}

impl SharedFacts for RunFacts {
    fn apply(&mut self, event: &Event) {
        self.accounts.apply(event);
        self.halts.apply(event, &mut self.accounts);
        self.asking.apply(event);
        self.deadline.apply(event);
        self.failures.apply(event);
        self.grants.apply(event);
        self.amended.apply(event);
        self.modes.apply(event);
        self.untold.apply(event, self.amended.in_order());
        self.workspaces.apply(event);
        match &event.body {
            Body::Ask(AskEvent::OperatorMessage { message: Message::Amend(amendment), .. }) => {
                self.approved.retain(|category| !amendment.withdraw.contains(category));
            }
            Body::Gate(GateEvent::AuthPrompt { categories, response: OperatorWord::ForRun, .. }) => {
                self.approve(categories)
            }
            Body::Learned(LearnedEvent::MemoryInherited { project, records, left_out, contradictions }) => {
                self.memory = Inherited {
                    project: project.clone(),
                    records: records.clone(),
                    left_out: *left_out,
                    contradictions: contradictions.clone(),
                };
            }
            Body::Run(RunEvent::RunStart(start)) => self.rules = start.versions.rules,
            Body::Run(RunEvent::RunResume { offered: Some(offered), .. }) => self.offered = Some(offered.specs()),
            Body::Host(HostEvent::SandboxReport { missing, .. }) => self.missing_walls.clone_from(missing),
            _ => {}
        }
    }

    fn kept_grants(&self) -> Vec<&str> {
        self.grants.kept()
    }
}
