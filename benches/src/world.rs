//! The world that sessions are measured in: a script, tools that touch nothing, an operator who agrees, and
//! disks and journals of several kinds.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

use adjutant_agents::ScriptedAgent;
use adjutant_agents::scripted::Script;
use adjutant_core::brief;
use adjutant_core::gate::{Grant, HookAnswer, HookCall};
use adjutant_core::inbox::mailbox::Closing;
use adjutant_core::procedure::run::Run;
use adjutant_core::session::Session;
use adjutant_core::trace::{AgentOptions, Body, Entry, Event, RunEvent, RunOptions, RunStart, TRACE_VERSION, Versions};
use adjutant_core::words::tool::{FileChange, ToolCall, ToolOutput, ToolSpecs};
use adjutant_core::words::{Choice, Key, Mode, Outcome, Part, Question, QuestionKind};
use adjutant_ports::{
    Agent, Answered, AppendError, CancellationToken, Clock, Durability, GrantStore, Heard, Hooks, Journal,
    NoOtherWorkspaces, Operator, Pending, Prepared, Progress, Settled, Tools,
};
use adjutant_runtime::{Driver, Ended, Masks, Ports, Results, session_setup};
use adjutant_store::disk::{Disk, FileStatus};
use anyhow::{Context, ensure};
use jiff::Timestamp;

/// A confirmation summary with its five parts.
pub const SUMMARY: &str = "## Confirmation Summary\n\n**Objective**: orders of ten pieces get the discount.\n\
    **Deliverables**: the fix and a test for it.\n**Constraints**: no other file is changed.\n\
    **Tools required**: read_file, write_file.\n**Unknowns**: none.\n\nThe mode is auto-pilot. Is this what you want?";

/// Text that an agent writes while it works.
pub const WORK: &str = "I read the module and compared it with what the header promises. The condition takes \
    the wrong branch at the boundary: the comment says ten pieces or more, the code asks for more than ten. I'll \
    write the corrected function now, keep the signature as it is, and add one case for exactly ten pieces beside \
    those that are there. After that I look at the callers, which pass the number through unchanged.";

const BRIEF_ID: &str = "2026-01-15-BENCH";

const BRIEF: &str = "---\nproject: bench\nbrief_id: 2026-01-15-BENCH\nmode: auto\nauthorized_costs:\n  - filesystem_write\n---\n\n\
    # Objective\n\nOrders of ten pieces get the discount.\n\n# Deliverables\n\n- The fix.\n\n# Constraints\n\n- None.\n\n\
    # Tools required\n\n- write_file\n";

/// A tool's output.
pub const OUTPUT: &str = "fn price(pieces: u32, each: u32) -> u32 {\n    let whole = pieces * each;\n    \
    if pieces >= 10 { whole - whole / 10 } else { whole }\n}\n\n#[test]\nfn ten_pieces_get_the_discount() {\n    \
    assert_eq!(price(10, 100), 900);\n}\n";

/// The options of a run that works in `workdir` in `mode`.
pub fn options(workdir: &Path, mode: Mode) -> RunOptions {
    RunOptions {
        mode: Some(mode),
        workdir: workdir.display().to_string(),
        max_steps: u32::MAX,
        agent: AgentOptions { adapter: "scripted".to_owned(), ..AgentOptions::default() },
        ..RunOptions::default()
    }
}

/// The procedure of a run with `options`.
pub fn procedure(options: &RunOptions) -> anyhow::Result<Run<Session>> {
    let brief = brief::read(BRIEF).brief.context("the brief of the benchmark can't be read")?;
    let part = Part::root().child("session");
    let setup = session_setup(&brief, options, adjutant_tools::catalog());
    Ok(Run::new(Session::new(Arc::new(setup), part.clone()), part))
}

/// Returns the first two entries of a run's journal.
pub fn beginning(options: &RunOptions) -> anyhow::Result<[Entry; 2]> {
    beginning_of(BRIEF, options)
}

/// Returns the first two entries of the journal of a run whose brief is the text `brief`.
pub fn beginning_of(brief: &str, options: &RunOptions) -> anyhow::Result<[Entry; 2]> {
    let header = Body::Run(RunEvent::TraceVersion {
        version: TRACE_VERSION,
        adjutant_version: env!("CARGO_PKG_VERSION").to_owned(),
        brief_id: BRIEF_ID.to_owned(),
    });
    let start = Body::Run(RunEvent::RunStart(Box::new(RunStart {
        run_id: "bench".parse()?,
        brief_id: BRIEF_ID.parse()?,
        project: "bench".to_owned(),
        brief_path: None,
        brief: brief.to_owned(),
        options: options.clone(),
        tools: Vec::new(),
        offered: None,
        versions: Versions {
            adjutant: env!("CARGO_PKG_VERSION").to_owned(),
            standing_orders: 1,
            rules: adjutant_core::trace::RULES_VERSION,
        },
    })));
    Ok([header, start].map(|body| Entry { part: Part::root(), body }))
}

/// An agent that works for `turns` turns, each with one write, and reports.
pub fn agent(turns: u32) -> anyhow::Result<ScriptedAgent> {
    let content = OUTPUT.replace('\n', "\\n");
    let (summary, work) = (json_text(SUMMARY), json_text(WORK));
    let script = format!(
        "turns:\n  - {summary}\n  - repeat: {turns}\n    text: {work}\n    calls:\n      \
         - {{tool: write_file, args: {{path: price.rs, content: \"{content}\"}}}}\n  \
         - \"## Phase 4\\n\\nDelivered: the fix and its test.\"\n  - \"## Phase 4\\n\\nReport: all is delivered.\"\n"
    );
    Ok(ScriptedAgent::new(Script::parse(&script, "bench.yaml")?))
}

fn json_text(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Tools that answer at once and touch nothing.
struct Still;

impl Tools for Still {
    fn specs(&self) -> ToolSpecs {
        adjutant_tools::catalog()
    }

    fn prepare<'a>(&'a self, _: &'a ToolCall) -> Pending<'a, Prepared> {
        Box::pin(std::future::ready(Prepared {
            changes: vec![FileChange { path: "price.rs".to_owned(), before: None, after: None }],
            ..Prepared::default()
        }))
    }

    fn call<'a>(&'a self, _: &'a ToolCall, _: &'a Prepared, _: CancellationToken) -> Pending<'a, ToolOutput> {
        Box::pin(async { ToolOutput::worked(OUTPUT) })
    }

    fn settle<'a>(&'a self, _: &'a [FileChange]) -> Pending<'a, Settled> {
        Box::pin(std::future::ready(Settled::NotMade))
    }
}

/// An operator who agrees.
struct Agreeing;

/// Returns the choice of an operator who agrees to everything.
pub fn agreed(question: &Question) -> Option<Choice> {
    match question.kind {
        QuestionKind::Confirmation => Some(Choice::Accept),
        QuestionKind::Step | QuestionKind::Stuck => Some(Choice::Continue),
        QuestionKind::Destructive
        | QuestionKind::Blocker
        | QuestionKind::Limit
        | QuestionKind::Deadline
        | QuestionKind::Permission
        | QuestionKind::Scope
        | QuestionKind::Failure
        | QuestionKind::Escalation
        | QuestionKind::Disagreement => None,
    }
}

impl Operator for Agreeing {
    fn show(&self, _: Progress<'_>) {}

    fn ask<'a>(&'a self, _: &'a Key, question: &'a Question, _: CancellationToken) -> Pending<'a, Option<Answered>> {
        let answered = agreed(question).map(|choice| Answered {
            id: "agreed".to_owned(),
            choice,
            text: None,
            by: "bench".to_owned(),
            whence: "answers".to_owned(),
        });
        Box::pin(async move { answered })
    }

    fn close(&self, _: &Key, _: QuestionKind, _: Closing) -> Option<Answered> {
        None
    }

    fn message(&self) -> Pending<'_, Heard> {
        Box::pin(std::future::pending())
    }

    fn name(&self) -> String {
        "bench".to_owned()
    }
}

struct BenchClock;

impl Clock for BenchClock {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }
}

/// A store without grants, and a runner of hooks that is never asked.
struct Nothing;

impl GrantStore for Nothing {
    fn revoked(&self, _: &[&str]) -> Vec<String> {
        Vec::new()
    }

    fn keep(&self, _: &Grant) -> Result<(), String> {
        Ok(())
    }
}

impl Hooks for Nothing {
    fn ask<'a>(&'a self, _: &'a HookCall, _: CancellationToken) -> Pending<'a, Option<HookAnswer>> {
        Box::pin(std::future::ready(None))
    }
}

/// The world around `agent`.
pub fn ports(agent: Arc<dyn Agent>) -> Ports {
    Ports {
        agents: vec![agent],
        tools: Arc::new(Still),
        workspaces: Arc::new(NoOtherWorkspaces),
        operator: Arc::new(Agreeing),
        clock: Arc::new(BenchClock),
        grants: Arc::new(Nothing),
        hooks: Arc::new(Nothing),
        results: Results::Fenced,
    }
}

/// Drives a new run on `journal` to its end.
pub async fn whole_run(journal: &mut dyn Journal, ports: Ports) -> anyhow::Result<()> {
    let options = options(Path::new("/"), Mode::Auto);
    let mut driver = Driver::new(procedure(&options)?, Vec::new(), journal, ports, Masks::default());
    for entry in beginning(&options)? {
        driver.append(entry)?;
    }
    let ended = driver.run().await?;
    ensure!(ended == Ended::Finished(Outcome::Completed), "the session ended with {ended:?}");
    Ok(())
}

/// A journal that remembers only its length.
#[derive(Default)]
pub struct MemoryJournal {
    next_seq: u64,
}

impl Journal for MemoryJournal {
    fn append(&mut self, entry: Entry, at: Timestamp, _: Durability) -> Result<Event, AppendError> {
        let event = entry.at(self.next_seq, at);
        self.next_seq += 1;
        Ok(event)
    }

    fn keep_alive(&mut self, _: Timestamp) -> Result<(), AppendError> {
        Ok(())
    }

    fn keep(&mut self, _: &[u8]) -> Result<String, AppendError> {
        Ok(String::new())
    }

    fn kept(&self, _: &str) -> Option<Vec<u8>> {
        None
    }
}

/// A journal that notes which of its lines had to be on the disk.
pub struct Noting<J> {
    pub journal: J,
    /// One for each line.
    pub durabilities: Vec<Durability>,
}

impl<J: Journal> Journal for Noting<J> {
    fn append(&mut self, entry: Entry, at: Timestamp, durability: Durability) -> Result<Event, AppendError> {
        self.durabilities.push(durability);
        self.journal.append(entry, at, durability)
    }

    fn keep_alive(&mut self, at: Timestamp) -> Result<(), AppendError> {
        self.journal.keep_alive(at)
    }

    fn keep(&mut self, content: &[u8]) -> Result<String, AppendError> {
        self.journal.keep(content)
    }

    fn kept(&self, hash: &str) -> Option<Vec<u8>> {
        self.journal.kept(hash)
    }
}

/// A disk that says it has flushed.
pub struct Unflushed(pub File);

impl Disk for Unflushed {
    fn try_lock(&self) -> io::Result<bool> {
        Disk::try_lock(&self.0)
    }

    fn unlock(&self) -> io::Result<()> {
        Disk::unlock(&self.0)
    }

    fn status(&self) -> io::Result<FileStatus> {
        self.0.status()
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Disk::write(&mut self.0, bytes)
    }

    fn truncate(&mut self, bytes: u64) -> io::Result<()> {
        Disk::truncate(&mut self.0, bytes)
    }

    fn reserve(&mut self, from: u64, bytes: u64) -> io::Result<()> {
        self.0.reserve(from, bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
}
