//! Five sessions of one run are at work at once: the server has five requests open before it answers the first.

use std::io::Write as _;
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use adjutant_agents::ApiAgent;
use adjutant_agents::anthropic::Messages;
use adjutant_agents::api::{Extras, IDLE_MAX, OUTPUT_TOKENS_MAX, Proxies, Settings, Thinking};
use adjutant_core::brief;
use adjutant_core::gate::{Grant, HookAnswer, HookCall};
use adjutant_core::inbox::mailbox::Closing;
use adjutant_core::procedure::run::Run;
use adjutant_core::procedure::{Children, Next, Procedure};
use adjutant_core::run::RunFacts;
use adjutant_core::session::Session;
use adjutant_core::trace::{
    AgentOptions, Body, Entry, Event, PartEvent, RunEvent, RunOptions, RunStart, TRACE_VERSION, TurnEvent, Versions,
};
use adjutant_core::words::tool::{FileChange, ToolCall, ToolOutput, ToolSpecs};
use adjutant_core::words::{Choice, Key, Mode, Outcome, Part, PartKind, Question, QuestionKind};
use adjutant_loopback::{Format, Reply, Rules, read_request};
use adjutant_ports::{
    Answered, CancellationToken, Clock, GrantStore, Heard, Hooks, NoOtherWorkspaces, Operator, Pending, Prepared,
    Progress, Settled, Tools,
};
use adjutant_runtime::{Driver, Ended, Masks, Ports, Results, session_setup};
use adjutant_store::{FileJournal, Home, Owner, journal};
use jiff::Timestamp;
use serde_json::Value;

const VOTERS: usize = 5;
/// Nobody waits so long unless the sessions are not at work at once: then the test fails instead of hanging.
const GIVEN_UP_AFTER: Duration = Duration::from_secs(60);
const BRIEF: &str = "---\nproject: p\nbrief_id: 2026-01-15-COUNCIL\n---\n# Objective\na\n# Deliverables\nb\n";
const SUMMARY: &str = "## Confirmation Summary\n\n**Objective**: a.\n**Deliverables**: b.\n**Constraints**: none.\n\
    **Tools required**: none.\n**Unknowns**: none.";
const DONE: &str = "## Phase 4\n\nDelivered: b.";

/// Sessions side by side; the run is over when all have ended.
#[derive(Debug)]
struct Council {
    part: Part,
    started: bool,
    ended: Option<Outcome>,
    voters: Children<Session>,
}

impl Procedure for Council {
    type Facts = RunFacts;

    fn apply(&mut self, event: &Event) {
        match &event.body {
            Body::Part(PartEvent::PartStart { .. }) if event.part == self.part => self.started = true,
            Body::Part(PartEvent::PartEnd { outcome }) if event.part == self.part => self.ended = Some(*outcome),
            _ => {}
        }
        self.voters.apply(event);
    }

    fn next(&self, facts: &RunFacts) -> Next {
        let record = |body| Next::Record(Entry { part: self.part.clone(), body });
        match self.ended {
            Some(outcome) => Next::Done(outcome),
            None if !self.started => record(Body::Part(PartEvent::PartStart {
                kind: PartKind::Council,
                contract: None,
                agent: 0,
                workspace: None,
            })),
            None if self.voters.is_empty() => record(Body::Part(PartEvent::PartEnd { outcome: Outcome::Completed })),
            None => self.voters.next(facts),
        }
    }
}

fn council(options: &RunOptions) -> Run<Council> {
    let brief = brief::read(BRIEF).brief.expect("a valid brief");
    let setup = Arc::new(session_setup(&brief, options, Vec::new().into()));
    let part = Part::root().child("council");
    let mut voters = Children::default();
    for voter in 1..=VOTERS {
        let part = part.child(&voter.to_string());
        voters.call_in(part.clone(), Session::new(Arc::clone(&setup), part));
    }
    Run::new(Council { part: part.clone(), started: false, ended: None, voters }, part)
}

/// A model provider that answers no first turn before it has so many of them.
struct Provider {
    first_turns: Mutex<usize>,
    all_are_here: Condvar,
    rules: Mutex<Rules>,
}

impl Provider {
    /// Starts it, and gives its address.
    fn start() -> String {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let rules = Mutex::new(Format::Messages.rules());
        let provider = Arc::new(Self { first_turns: Mutex::default(), all_are_here: Condvar::new(), rules });
        std::thread::spawn(move || {
            for stream in listener.incoming().filter_map(Result::ok) {
                let provider = Arc::clone(&provider);
                std::thread::spawn(move || provider.answer(&stream));
            }
        });
        url
    }

    fn answer(&self, mut stream: &TcpStream) {
        let Ok((head, body)) = read_request(stream) else { return };
        let refused = self.rules.lock().expect("no panic").findings(&head, &body).into_iter().next();
        let response = match refused {
            Some(refusal) => refusal.response(),
            None => {
                let text = match replies(&body) {
                    0 if self.wait_for_all() => SUMMARY,
                    0 => "not all are here",
                    _ => DONE,
                };
                let events = self.rules.lock().expect("no panic").give(&Reply::says(text), &body);
                Format::Messages.response(&events)
            }
        };
        stream.write_all(response.as_bytes()).ok();
    }

    /// Waits until every voter's first turn has arrived; false if they don't come.
    fn wait_for_all(&self) -> bool {
        let mut here = self.first_turns.lock().expect("no panic");
        *here += 1;
        self.all_are_here.notify_all();
        let missing = |here: &mut usize| *here < VOTERS;
        let (_here, waited) = self.all_are_here.wait_timeout_while(here, GIVEN_UP_AFTER, missing).expect("no panic");
        !waited.timed_out()
    }
}

/// Counts the replies in a request's history.
fn replies(body: &Value) -> usize {
    let messages = body["messages"].as_array().expect("messages");
    messages.iter().filter(|message| message["role"] == "assistant").count()
}

/// An operator who accepts, tools that are not there, and the rest of a world in which nothing else happens.
struct World;

impl Operator for World {
    fn show(&self, _: Progress<'_>) {}

    fn ask<'a>(&'a self, key: &'a Key, question: &'a Question, _: CancellationToken) -> Pending<'a, Option<Answered>> {
        let answered = (question.kind == QuestionKind::Confirmation).then(|| Answered {
            id: format!("answer-{key}"),
            choice: Choice::Accept,
            text: None,
            by: "operator".to_owned(),
            whence: "test".to_owned(),
        });
        Box::pin(std::future::ready(answered))
    }

    fn close(&self, _: &Key, _: QuestionKind, _: Closing) -> Option<Answered> {
        None
    }

    fn message(&self) -> Pending<'_, Heard> {
        Box::pin(std::future::pending())
    }

    fn name(&self) -> String {
        "operator".to_owned()
    }
}

impl Tools for World {
    fn specs(&self) -> ToolSpecs {
        Vec::new().into()
    }

    fn prepare<'a>(&'a self, _: &'a ToolCall) -> Pending<'a, Prepared> {
        Box::pin(std::future::ready(Prepared::default()))
    }

    fn call<'a>(&'a self, call: &'a ToolCall, _: &'a Prepared, _: CancellationToken) -> Pending<'a, ToolOutput> {
        unreachable!("nothing is called: {call:?}")
    }

    fn settle<'a>(&'a self, _: &'a [FileChange]) -> Pending<'a, Settled> {
        Box::pin(std::future::ready(Settled::NotMade))
    }
}

impl Clock for World {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }
}

impl GrantStore for World {
    fn revoked(&self, _: &[&str]) -> Vec<String> {
        Vec::new()
    }

    fn keep(&self, _: &Grant) -> Result<(), String> {
        Ok(())
    }
}

impl Hooks for World {
    fn ask<'a>(&'a self, _: &'a HookCall, _: CancellationToken) -> Pending<'a, Option<HookAnswer>> {
        Box::pin(std::future::ready(None))
    }
}

fn agent(base_url: String) -> ApiAgent {
    let settings = Settings {
        model: "m".to_owned(),
        key: "a-key-of-the-test".to_owned(),
        key_source: "the test".to_owned(),
        base_url,
        output_tokens_max: OUTPUT_TOKENS_MAX,
        thinking: Thinking::default(),
        extras: Extras::default(),
        idle_max: IDLE_MAX,
        proxies: Proxies::default(),
    };
    ApiAgent::new(Messages, settings).expect("an agent")
}

fn beginning(options: &RunOptions) -> [Entry; 2] {
    let brief_id = "2026-01-15-COUNCIL";
    let version = env!("CARGO_PKG_VERSION").to_owned();
    let header = Body::Run(RunEvent::TraceVersion {
        version: TRACE_VERSION,
        adjutant_version: version.clone(),
        brief_id: brief_id.to_owned(),
    });
    let start = Body::Run(RunEvent::RunStart(Box::new(RunStart {
        run_id: brief_id.parse().expect("a name"),
        brief_id: brief_id.parse().expect("a name"),
        project: "p".to_owned(),
        brief_path: None,
        brief: BRIEF.to_owned(),
        options: options.clone(),
        tools: Vec::new(),
        offered: None,
        versions: Versions { adjutant: version, standing_orders: 1, rules: adjutant_core::trace::RULES_VERSION },
    })));
    [header, start].map(|body| Entry { part: Part::root(), body })
}

#[tokio::test]
async fn five_sessions_of_one_run_are_at_work_at_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let home = Home::new(folder.path().join("home"), None);
    let options = RunOptions {
        mode: Some(Mode::Auto),
        workdir: folder.path().display().to_string(),
        max_steps: 30,
        agent: AgentOptions { adapter: "anthropic".to_owned(), ..AgentOptions::default() },
        ..RunOptions::default()
    };
    let world = Arc::new(World);
    let ports = Ports {
        agents: vec![Arc::new(agent(Provider::start()))],
        tools: world.clone(),
        workspaces: Arc::new(NoOtherWorkspaces),
        operator: world.clone(),
        clock: world.clone(),
        grants: world.clone(),
        hooks: world,
        results: Results::Fenced,
    };
    let run_id = "2026-01-15-COUNCIL".parse().expect("a name");
    let mut file = FileJournal::create(&home, &run_id, &Owner::current(), Timestamp::now()).expect("a journal");
    let mut driver = Driver::new(council(&options), Vec::new(), &mut file, ports, Masks::default());
    for entry in beginning(&options) {
        driver.append(entry).expect("appended");
    }
    assert_eq!(driver.run().await.expect("driven"), Ended::Finished(Outcome::Completed));
    drop(driver);
    drop(file);
    let events = journal::read_only(&home, &run_id).expect("a journal").events;
    let first_reply = events
        .iter()
        .position(|event| matches!(event.body, Body::Turn(TurnEvent::AgentReply { .. })))
        .expect("a reply");
    let asked = |event: &&Event| matches!(event.body, Body::Turn(TurnEvent::AgentRequest { .. }));
    assert_eq!(events[..first_reply].iter().filter(asked).count(), VOTERS);
    let said =
        |event: &&Event| matches!(&event.body, Body::Turn(TurnEvent::AgentReply { text, .. }) if text == SUMMARY);
    assert_eq!(events.iter().filter(said).count(), VOTERS, "nobody was answered before all had asked");
}
