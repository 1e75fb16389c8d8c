//! `adjutant memory`: what projects remember between runs.

use adjutant_core::memory::{Draft, Log, MemoryCategory, Query, Record, RecordContent, RecordId};
use adjutant_core::words::id::Slug;
use adjutant_core::words::visible::{visible_line, visible_text};
use adjutant_ports::{Memory as _, NotWritten, Written};
use adjutant_store::MemoryStore;
use anyhow::Context;
use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::exit::Ending;
use crate::failure::Failure;
use crate::settings::Place;

/// Look at and change what projects remember between runs
///
/// A project remembers decisions, knowledge and constraints: what agents wrote in its runs, and what you add here. A
/// brief with `inherit_memory: true` shows the newest of it to its agent.
#[derive(Debug, clap::Args)]
pub struct MemoryArgs {
    #[command(subcommand)]
    action: MemoryCommand,
}

#[derive(Debug, clap::Subcommand)]
enum MemoryCommand {
    List(MemoryListArgs),
    Show(MemoryShowArgs),
    Add(AddArgs),
    Remove(RemoveArgs),
    Search(SearchArgs),
}

/// List what a project remembers
///
/// Newest first within each category. Lines of its files that can't be read are named on stderr.
#[derive(Debug, clap::Args)]
struct MemoryListArgs {
    /// The project
    project: Slug,
    #[command(flatten)]
    only: Only,
    /// Print the entries as JSON
    #[arg(long)]
    json: bool,
}

/// Filter of the entries.
#[derive(Debug, clap::Args)]
struct Only {
    /// Only one category: `decisions`, `knowledge` or `constraints`
    #[arg(long, value_name = "CATEGORY")]
    category: Option<MemoryCategory>,
    /// Only entries from a day or a time on, such as 2026-01-31
    #[arg(long, value_name = "TIME", value_parser = super::parse_time)]
    since: Option<Timestamp>,
}

/// Show one entry, whole
#[derive(Debug, clap::Args)]
struct MemoryShowArgs {
    /// The project
    project: Slug,
    /// The entry: its id, or a unique beginning of it
    id: String,
    /// Print the entry as JSON
    #[arg(long)]
    json: bool,
}

/// Add an entry of your own
///
/// No agent can take its place with another; you can, with `--supersedes`.
#[derive(Debug, clap::Args)]
struct AddArgs {
    /// The project
    project: Slug,
    /// `decisions`, `knowledge` or `constraints`
    category: MemoryCategory,
    /// What was decided, what is known, or what must hold
    text: String,
    /// Why; a decision needs it, knowledge has none
    #[arg(long, value_name = "TEXT")]
    rationale: Option<String>,
    /// The entry of the same category that this one takes the place of: its id
    #[arg(long, value_name = "ID")]
    supersedes: Option<RecordId>,
    /// Print the entry as JSON
    #[arg(long)]
    json: bool,
}

/// Remove an entry for good
///
/// Its line is taken out of its file; lines that can't be read stay. To keep what was thought before, add an entry
/// that supersedes it instead.
#[derive(Debug, clap::Args)]
struct RemoveArgs {
    /// The project
    project: Slug,
    /// The entry: its id, or a unique beginning of it
    id: String,
    /// Print what was removed as JSON
    #[arg(long)]
    json: bool,
}

/// Search what a project remembers, best fit first
///
/// Entries that others took the place of are left out.
#[derive(Debug, clap::Args)]
struct SearchArgs {
    /// The project
    project: Slug,
    /// Words that an entry should hold
    #[arg(required = true)]
    words: Vec<String>,
    #[command(flatten)]
    only: Only,
    /// Print the entries as JSON
    #[arg(long)]
    json: bool,
}

/// Looks at a memory or changes it.
pub fn run(args: &MemoryArgs, place: &Place) -> anyhow::Result<Ending> {
    let store = MemoryStore::new(place.home()?);
    match &args.action {
        MemoryCommand::List(args) => list(args, &store),
        MemoryCommand::Show(args) => show(args, &store),
        MemoryCommand::Add(args) => add(args, &store),
        MemoryCommand::Remove(args) => remove(args, &store),
        MemoryCommand::Search(args) => search(args, &store),
    }
}

/// The memory of a project, category by category.
struct Remembered(Vec<(MemoryCategory, Log)>);

impl Remembered {
    /// Reads what is asked for, and names on stderr what can't be read of it.
    fn read(store: &MemoryStore, project: &Slug, only: Option<MemoryCategory>) -> anyhow::Result<Self> {
        let mut logs = Vec::new();
        for category in MemoryCategory::ALL.into_iter().filter(|one| only.is_none_or(|only| only == *one)) {
            let path = store.path(project, category);
            let log = store.log(project, category).with_context(|| format!("can't read `{}`", path.display()))?;
            for damaged in log.damaged() {
                let why = visible_line(&damaged.why).into_owned();
                tell!("warning: {}:{} can't be read: {why}", path.display(), damaged.line);
            }
            logs.push((category, log));
        }
        Ok(Self(logs))
    }

    fn logs(&self) -> Vec<&Log> {
        self.0.iter().map(|(_, log)| log).collect()
    }

    /// Returns the id of the entry that superseded `id`.
    fn superseded_by(&self, id: &RecordId) -> Option<&RecordId> {
        self.0.iter().find_map(|(_, log)| log.superseded_by(id))
    }

    /// The one entry of that id, or whose id alone begins so.
    fn one(&self, project: &Slug, id: &str) -> anyhow::Result<&Record> {
        let records = || self.0.iter().flat_map(|(_, log)| log.records());
        if let Some(record) = records().find(|record| record.id.as_str() == id) {
            return Ok(record);
        }
        let found: Vec<&Record> =
            records().filter(|record| !id.is_empty() && record.id.as_str().starts_with(id)).collect();
        match found.as_slice() {
            [record] => Ok(record),
            [] => Err(Failure::ending(Ending::Failed, format!("the project {project} has no entry `{id}`"))
                .hint(format!("`adjutant memory list {project}` shows those that it has"))
                .into()),
            several => {
                let ids: Vec<&str> = several.iter().map(|record| record.id.as_str()).collect();
                Err(Failure::usage(format!("`{id}` begins several ids: {}", ids.join(", ")))
                    .hint("give more of the id")
                    .into())
            }
        }
    }

    /// An entry as JSON, with what took its place.
    fn json(&self, record: &Record) -> Value {
        let mut value = Value::from(record.clone());
        if let Some(by) = self.superseded_by(&record.id) {
            value["superseded_by"] = by.as_str().into();
        }
        value
    }
}

fn list(args: &MemoryListArgs, store: &MemoryStore) -> anyhow::Result<Ending> {
    let remembered = Remembered::read(store, &args.project, args.only.category)?;
    let query = Query { since: args.only.since, ..Query::default() };
    if args.json {
        let found = query.find(&remembered.logs());
        return print_json(found.records.iter().map(|record| remembered.json(record)).collect::<Vec<_>>());
    }
    let mut text = String::new();
    for (category, log) in &remembered.0 {
        let records = query.find(&[log]).records;
        let damaged = match log.damaged().len() {
            0 => String::new(),
            count => format!(", {count} damaged"),
        };
        text.push_str(&format!("{category} ({}{damaged})\n", records.len()));
        text.push_str(&records.iter().map(|record| row(&remembered, record)).collect::<String>());
    }
    super::print(&text)?;
    Ok(Ending::Done)
}

fn show(args: &MemoryShowArgs, store: &MemoryStore) -> anyhow::Result<Ending> {
    let remembered = Remembered::read(store, &args.project, None)?;
    let record = remembered.one(&args.project, &args.id)?;
    if args.json {
        return print_json(remembered.json(record));
    }
    super::print(&whole(&remembered, record))?;
    Ok(Ending::Done)
}

fn add(args: &AddArgs, store: &MemoryStore) -> anyhow::Result<Ending> {
    let draft = draft(args)?;
    let written = store.append(&args.project, &draft, Timestamp::now());
    let Written { record, was_there } = written.map_err(|refused| {
        let said = refused.to_string();
        match refused {
            NotWritten::UnknownEntry(_) | NotWritten::Superseded { .. } | NotWritten::OperatorsEntry(_) => {
                Failure::usage(said).hint(format!("`adjutant memory list {}` shows its entries", args.project))
            }
            NotWritten::Failed(_) => Failure::ending(Ending::Failed, said),
        }
    })?;
    if args.json {
        return print_json(Value::from(record));
    }
    let said = if was_there { "was there already" } else { "remembered" };
    super::print(&format!("{said}: {}\n", record.id))?;
    Ok(Ending::Done)
}

/// The entry that was typed.
fn draft(args: &AddArgs) -> anyhow::Result<Draft> {
    let (text, rationale) = (args.text.clone(), args.rationale.clone());
    let said = match (args.category, rationale) {
        (MemoryCategory::Decisions, Some(rationale)) => RecordContent::Decision { summary: text, rationale },
        (MemoryCategory::Decisions, None) => {
            return Err(Failure::usage("a decision needs a rationale").hint("say why with --rationale").into());
        }
        (MemoryCategory::Knowledge, None) => RecordContent::Knowledge { content: text },
        (MemoryCategory::Knowledge, Some(_)) => {
            return Err(Failure::usage("knowledge has no rationale").hint("leave --rationale out").into());
        }
        (MemoryCategory::Constraints, rationale) => RecordContent::Constraint { rule: text, rationale },
    };
    let draft = Draft { said, brief_id: None, supersedes: args.supersedes.clone(), rest: Map::new() };
    Ok(draft.checked().map_err(|error| Failure::usage(error.to_string()))?)
}

fn remove(args: &RemoveArgs, store: &MemoryStore) -> anyhow::Result<Ending> {
    let remembered = Remembered::read(store, &args.project, None)?;
    let record = remembered.one(&args.project, &args.id)?;
    let category = record.said.category();
    let path = store.path(&args.project, category);
    let removed = store.remove(&args.project, category, &record.id);
    let removed = removed.with_context(|| format!("can't remove the entry from `{}`", path.display()))?;
    let Some(removed) = removed else {
        return Err(Failure::ending(Ending::Failed, format!("the entry `{}` is gone already", record.id)).into());
    };
    if args.json {
        return print_json(Value::from(removed));
    }
    super::print(&format!("removed:\n{}", whole(&remembered, &removed)))?;
    Ok(Ending::Done)
}

fn search(args: &SearchArgs, store: &MemoryStore) -> anyhow::Result<Ending> {
    let remembered = Remembered::read(store, &args.project, args.only.category)?;
    let words = Some(args.words.join(" "));
    let query = Query { words, since: args.only.since, live_only: true, ..Query::default() };
    let found = query.find(&remembered.logs());
    if args.json {
        return print_json(found.records.iter().map(|record| remembered.json(record)).collect::<Vec<_>>());
    }
    if found.records.is_empty() {
        super::print("no entry holds any of these words\n")?;
        return Ok(Ending::Done);
    }
    let line = |record: &&Record| format!("{}{}", record.said.category(), row(&remembered, record));
    super::print(&found.records.iter().map(line).collect::<String>())?;
    Ok(Ending::Done)
}

fn print_json(value: impl Serialize) -> anyhow::Result<Ending> {
    super::print_json(&json!(value))?;
    Ok(Ending::Done)
}

/// The most characters of an entry on a line.
const ROW_CHARS_MAX: usize = 80;

/// An entry on a line.
fn row(remembered: &Remembered, record: &Record) -> String {
    let text = record.said.text().split_whitespace().collect::<Vec<_>>().join(" ");
    let cut = match text.char_indices().nth(ROW_CHARS_MAX) {
        Some((cut, _)) => format!("{}\u{2026}", &text[..cut]),
        None => text,
    };
    let superseded = match remembered.superseded_by(&record.id) {
        Some(by) => format!("  (superseded by {by})"),
        None => String::new(),
    };
    format!(
        "  {}  {}  {}{superseded}\n",
        record.id,
        adjutant_core::words::moment::timestamp(record.at),
        visible_line(&cut)
    )
}

/// An entry, whole.
fn whole(remembered: &Remembered, record: &Record) -> String {
    let mut text =
        format!("{}  {}  {}\n", record.id, record.said.category(), adjutant_core::words::moment::timestamp(record.at));
    for (name, value) in record.said.fields() {
        let value = visible_text(value).replace('\n', "\n    ");
        text.push_str(&format!("  {name}: {value}\n"));
    }
    let by = record.brief_id.as_deref().unwrap_or("the operator");
    text.push_str(&format!("  written by: {}\n", visible_line(by)));
    if let Some(older) = &record.supersedes {
        text.push_str(&format!("  supersedes: {older}\n"));
    }
    if let Some(by) = remembered.superseded_by(&record.id) {
        text.push_str(&format!("  superseded by: {by}\n"));
    }
    for (name, value) in &record.rest {
        text.push_str(&format!("  {}: {}\n", visible_line(name), visible_line(&value.to_string())));
    }
    text
}
