//! Runs to simulate: one session, or several side by side.

use std::sync::Arc;

use adjutant_core::detect::Sensitivities;
use adjutant_core::gate::checks::Checks;
use adjutant_core::gate::shell::Programs;
use adjutant_core::gate::{Places, Scope, Untrusted};
use adjutant_core::procedure::run::Run;
use adjutant_core::procedure::{Children, Next, Procedure};
use adjutant_core::run::RunFacts;
use adjutant_core::session::{AgentLimits, PATIENCE_ALONE_MS, Session, Setup, Task};
use adjutant_core::trace::{
    AgentOptions, Body, Entry, Event, PartEvent, RunEvent, RunOptions, RunStart, TRACE_VERSION, Versions,
};
use adjutant_core::words::id::WorkspaceId;
use adjutant_core::words::price::Prices;
use adjutant_core::words::tool::{ToolEffect, ToolSpec, ToolSpecs};
use adjutant_core::words::{Budget, Category, Mode, Outcome, Part, PartKind};

/// The prices of a simulated run, in nano-dollars a token.
pub const PRICES: Prices = Prices { input: Some(100), cache_read: None, cache_write: None, output: Some(50) };

/// Returns a tool that needs one category.
#[must_use]
pub fn tool(name: &str, category: &str, effect: ToolEffect) -> ToolSpec {
    ToolSpec {
        name: name.to_owned(),
        description: String::new(),
        categories: vec![Category::new(category)],
        schema: serde_json::json!({}),
        effect,
    }
}

/// Returns the tools of every simulated run: one of each effect.
pub(crate) fn tools() -> ToolSpecs {
    let permission = ToolSpec { categories: Vec::new(), ..tool("request_permission", "", ToolEffect::Reads) };
    vec![
        permission,
        tool("read_file", "filesystem_read", ToolEffect::Reads),
        tool("write_file", "filesystem_write", ToolEffect::WritesFiles),
        tool("shell_exec", "shell_exec", ToolEffect::Anything),
        tool("remember", "filesystem_read", ToolEffect::WritesOnce),
        ToolSpec { categories: Vec::new(), ..tool("wait_for", "", ToolEffect::Waits) },
    ]
    .into()
}

/// Returns a session's setup in which everything is authorized; tests change what they are about.
#[must_use]
pub fn setup() -> Setup {
    let agent = AgentLimits { place: 0, name: "first".to_owned(), window: None, output_max: 4_000 };
    Setup {
        standing_orders: "orders".to_owned(),
        brief: "brief".to_owned(),
        authorized: vec![Category::new("*")],
        places: Places::default(),
        scope: Scope::default(),
        scope_locked: false,
        deadline: None,
        mode: Some(Mode::Auto),
        max_steps: 30,
        sensitivities: Sensitivities::default(),
        shell_disabled: false,
        untrusted: Untrusted::default(),
        programs: Arc::clone(Programs::builtin()),
        hooks: Vec::new(),
        role: None,
        checks: None,
        end_checks: Checks::default(),
        task: Task::Brief,
        only_reads: false,
        tools: tools(),
        result_bytes_max: None,
        agents: vec![agent],
        answer_within_ms: None,
        patience_ms: PATIENCE_ALONE_MS,
        budget: Budget::default(),
        is_free_in_calls: false,
        role_budget: Budget::default(),
        learned: None,
    }
}

/// Returns the entries that a run begins with.
#[must_use]
pub fn beginning() -> [Entry; 2] {
    let header = Body::Run(RunEvent::TraceVersion {
        version: TRACE_VERSION,
        adjutant_version: "0.0.0".to_owned(),
        brief_id: "simulated".to_owned(),
    });
    let agent = AgentOptions { adapter: "staged".to_owned(), prices: Some(PRICES), ..AgentOptions::default() };
    let start = Body::Run(RunEvent::RunStart(Box::new(RunStart {
        run_id: "simulated".parse().expect("a name"),
        brief_id: "simulated".parse().expect("a name"),
        project: String::new(),
        brief_path: None,
        brief: String::new(),
        tools: Vec::new(),
        offered: None,
        options: RunOptions { agent, ..RunOptions::default() },
        versions: Versions {
            adjutant: "0.0.0".to_owned(),
            standing_orders: 1,
            rules: adjutant_core::trace::RULES_VERSION,
        },
    })));
    [header, start].map(|body| Entry { part: Part::root(), body })
}

/// Returns a run of one session.
#[must_use]
pub fn alone(setup: &Arc<Setup>) -> Run<Session> {
    let part = Part::root().child("session");
    Run::new(Session::new(setup.clone(), part.clone()), part)
}

/// Sessions side by side; the run is over when all have ended.
#[derive(Debug, Clone)]
pub struct SidePanel {
    part: Part,
    is_started: bool,
    ended: Option<Outcome>,
    sessions: Children<Session>,
    /// The sessions that are still to be given their workspaces.
    in_workspaces: Vec<(Part, WorkspaceId)>,
}

impl Procedure for SidePanel {
    type Facts = RunFacts;

    fn apply(&mut self, event: &Event) {
        match &event.body {
            Body::Part(PartEvent::PartStart { .. }) if event.part == self.part => self.is_started = true,
            Body::Part(PartEvent::PartEnd { outcome }) if event.part == self.part => self.ended = Some(*outcome),
            _ => {}
        }
        if let Body::Part(PartEvent::PartStart { .. }) = &event.body {
            self.in_workspaces.retain(|(part, _)| *part != event.part);
        }
        self.sessions.apply(event);
    }

    fn next(&self, facts: &RunFacts) -> Next {
        let record = |body| Next::Record(Entry { part: self.part.clone(), body });
        match self.ended {
            Some(outcome) => Next::Done(outcome),
            None if !self.is_started => record(part_start(PartKind::Council, None)),
            None if !self.in_workspaces.is_empty() => {
                let (part, workspace) = self.in_workspaces[0].clone();
                Next::Record(Entry { part, body: part_start(PartKind::Session, Some(workspace)) })
            }
            None if self.sessions.is_empty() => record(Body::Part(PartEvent::PartEnd { outcome: Outcome::Completed })),
            None => self.sessions.next(facts),
        }
    }
}

fn part_start(kind: PartKind, workspace: Option<WorkspaceId>) -> Body {
    Body::Part(PartEvent::PartStart { kind, contract: None, agent: 0, workspace })
}

/// Returns a run of sessions side by side, each in the workspace of this name.
#[must_use]
pub fn in_workspaces(setup: &Arc<Setup>, names: &[&str]) -> Run<SidePanel> {
    let part = Part::root().child("council");
    let mut panel = panel(setup, &part, names.len());
    let parts: Vec<Part> = panel.sessions.iter().map(|(part, _)| part.clone()).collect();
    let workspaces = names.iter().map(|name| name.parse().expect("a name"));
    panel.in_workspaces = parts.into_iter().zip(workspaces).collect();
    Run::new(panel, part)
}

fn panel(setup: &Arc<Setup>, part: &Part, sessions: usize) -> SidePanel {
    let mut children = Children::default();
    for number in 1..=sessions {
        let part = part.child(&number.to_string());
        children.call_in(part.clone(), Session::new(setup.clone(), part));
    }
    let in_workspaces = Vec::new();
    SidePanel { part: part.clone(), is_started: false, ended: None, sessions: children, in_workspaces }
}

/// Returns a run of so many sessions in the parts `council/1`, `council/2` and so on.
#[must_use]
pub fn side_by_side(setup: &Arc<Setup>, sessions: u32) -> Run<SidePanel> {
    let part = Part::root().child("council");
    Run::new(panel(setup, &part, sessions as usize), part)
}
