//! The tools for the project's memory: read, list, write.
//!
//! The gate decides which project's memory may be read, from the call's arguments; here a project is only a name that
//! can't lead out of a folder. Writing goes to the run's own project. Secrets in written entries are masked: an entry
//! outlives the run and is shown to others.

use std::fmt;
use std::sync::Arc;

use adjutant_core::gate::secrets::{SecretSet, mask_value_with};
use adjutant_core::memory::{self, Draft, LIMIT_MAX, Log, MemoryCategory, Query, QueryResult, Record, RecordId};
use adjutant_core::words::id::Slug;
use adjutant_core::words::moment;
use adjutant_core::words::tool::ToolOutput;
use adjutant_ports::{Clock, Memory, NotWritten, Written};
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::args::{self, ListMemory, ReadMemory, WriteMemory};

/// Number of entries that are read by default (the peer's number).
const READ_DEFAULT: usize = 50;
/// Number of entries of a category that are listed by default (the peer's number).
const LIST_DEFAULT: usize = 100;
/// The most characters of an entry in a list, `...` included (the peer's number).
const EXCERPT_CHARS_MAX: usize = 200;
/// The most bytes of entries in one result: a quarter of a large window.
const RESULT_BYTES_MAX: usize = 256 * 1024;

/// Project whose memory the tools use, with its store and the secrets to mask.
#[derive(Clone)]
pub struct ProjectMemory {
    /// Store of the memory.
    pub memory: Arc<dyn Memory>,
    /// Tells when an entry is written.
    pub clock: Arc<dyn Clock>,
    /// The run's project.
    pub project: Slug,
    /// The brief of the run, recorded with each entry.
    pub brief_id: String,
    /// Secrets to mask besides those of known shapes.
    pub secrets: SecretSet,
}

impl fmt::Debug for ProjectMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProjectMemory").field("project", &self.project).finish_non_exhaustive()
    }
}

impl ProjectMemory {
    /// Entries of one category, whole.
    pub(super) fn read(&self, tool: &str, args: &ReadMemory) -> Result<ToolOutput, ToolOutput> {
        let project = self.project(args.project.as_deref())?;
        let category = args.category.0;
        let log = self.log(&project, category)?;
        let query = Query {
            id: filter(args.id.as_deref()).map(str::parse).transpose().map_err(|error| {
                let error: memory::BadRecordId = error;
                args::invalid(tool, &error.to_string())
            })?,
            text: filter(args.query.as_deref()).map(str::to_owned),
            words: filter(args.words.as_deref()).map(str::to_owned),
            since: since(tool, args.since.as_deref())?,
            live_only: false,
            limit: Some(limit(args.limit, READ_DEFAULT)),
        };
        let QueryResult { records, total } = query.find(&[&log]);
        let mut room = RESULT_BYTES_MAX;
        let fits = |record: &&&Record| {
            room = room.saturating_sub(record.line().len());
            room > 0
        };
        let entries: Vec<Value> = records.iter().take_while(fits).map(|record| whole(&log, record)).collect();
        let mut content = json!({"project": project, "category": category});
        for (name, given) in [("id", &args.id), ("query", &args.query), ("words", &args.words), ("since", &args.since)]
        {
            if let Some(given) = filter(given.as_deref()) {
                content[name] = given.into();
            }
        }
        content["count"] = entries.len().into();
        content["total"] = total.into();
        content["entries"] = entries.into();
        Ok(result(with_damaged(content, &log)))
    }

    /// Lists the entries of each category, in short.
    pub(super) fn list(&self, tool: &str, args: &ListMemory) -> Result<ToolOutput, ToolOutput> {
        let project = self.project(args.project.as_deref())?;
        let query = Query {
            since: since(tool, args.since.as_deref())?,
            limit: Some(limit(args.limit, LIST_DEFAULT)),
            ..Query::default()
        };
        let asked = args.category.as_ref().map(|category| category.0);
        let mut categories = Vec::new();
        for category in MemoryCategory::ALL.into_iter().filter(|one| asked.is_none_or(|asked| asked == *one)) {
            let log = self.log(&project, category)?;
            let QueryResult { records, total } = query.find(&[&log]);
            let entries: Vec<Value> = records.iter().map(|record| short(&log, record)).collect();
            let listed = json!({"category": category, "count": entries.len(), "total": total, "entries": entries});
            categories.push(with_damaged(listed, &log));
        }
        let mut content = json!({"project": project});
        if let Some(since) = filter(args.since.as_deref()) {
            content["since"] = since.into();
        }
        if let Some(category) = asked {
            content["category"] = json!(category);
        }
        content["categories"] = categories.into();
        Ok(result(content))
    }

    /// Writes an entry for later runs.
    pub(super) fn write(&self, args: &WriteMemory) -> Result<ToolOutput, ToolOutput> {
        let category = args.category.0;
        let (entry, _) = mask_value_with(&Value::Object(args.entry.0.clone()), &self.secrets);
        let entry: Map<String, Value> = entry.as_object().cloned().unwrap_or_default();
        let invalid = |error: memory::BadDraft| ToolOutput::failed("INVALID_ENTRY", error.to_string());
        let draft = Draft::read(category, entry).map_err(invalid)?;
        let draft = Draft { brief_id: Some(self.brief_id.clone()), ..draft }.checked().map_err(invalid)?;
        let Written { record, was_there } =
            self.memory.append(&self.project, &draft, self.clock.now()).map_err(|refused| {
                let code = match refused {
                    NotWritten::UnknownEntry(_) => "UNKNOWN_ENTRY",
                    NotWritten::Superseded { .. } => "SUPERSEDED",
                    NotWritten::OperatorsEntry(_) => "OPERATORS_ENTRY",
                    NotWritten::Failed(_) => "MEMORY_ERROR",
                };
                ToolOutput::failed(code, refused.to_string())
            })?;
        let mut content = json!({"project": self.project, "category": category, "written": record});
        if was_there {
            content["was_there"] = true.into();
        }
        Ok(result(content))
    }

    /// Returns the project that is asked about: the run's own if none is named.
    fn project(&self, named: Option<&str>) -> Result<Slug, ToolOutput> {
        match filter(named) {
            None => Ok(self.project.clone()),
            Some(named) => named.parse().map_err(|error: adjutant_core::words::id::BadSlug| {
                ToolOutput::failed("BAD_PROJECT", error.to_string())
            }),
        }
    }

    fn log(&self, project: &Slug, category: MemoryCategory) -> Result<Log, ToolOutput> {
        self.memory.read(project, category).map_err(|error| ToolOutput::failed("MEMORY_ERROR", error))
    }
}

/// Returns an argument unless it is empty: agents give an empty text for no argument.
fn filter(given: Option<&str>) -> Option<&str> {
    given.filter(|text| !text.is_empty())
}

fn since(tool: &str, given: Option<&str>) -> Result<Option<Timestamp>, ToolOutput> {
    let Some(given) = filter(given) else { return Ok(None) };
    let wrong =
        || args::invalid(tool, "`since` must be a day such as 2026-01-31, or a time such as 2026-01-31T08:00:00Z");
    moment::since(given).map(Some).ok_or_else(wrong)
}

/// 0 means as many as there may be (the peer's meaning).
fn limit(given: Option<args::Size>, default: usize) -> usize {
    match given.map(|size| usize::try_from(size.0).unwrap_or(LIMIT_MAX)) {
        None => default,
        Some(0) => LIMIT_MAX,
        Some(limit) => limit.min(LIMIT_MAX),
    }
}

/// Returns an entry with all that it holds, and what took its place.
fn whole(log: &Log, record: &Record) -> Value {
    let mut value = Value::from(record.clone());
    if let Some(by) = log.superseded_by(&record.id) {
        value["superseded_by"] = by.as_str().into();
    }
    value
}

/// Returns an entry in short.
fn short(log: &Log, record: &Record) -> Value {
    let mut value = json!({
        "id": record.id,
        "at": adjutant_core::words::moment::timestamp(record.at),
        "category": record.said.category(),
        "summary_or_excerpt": excerpt(record.said.text()),
    });
    if let Some(brief_id) = &record.brief_id {
        value["brief_id"] = brief_id.as_str().into();
    }
    if let Some(by) = log.superseded_by(&record.id).map(RecordId::as_str) {
        value["superseded_by"] = by.into();
    }
    value
}

fn excerpt(text: &str) -> String {
    match text.char_indices().nth(EXCERPT_CHARS_MAX) {
        None => text.to_owned(),
        Some(_) => text.chars().take(EXCERPT_CHARS_MAX - 3).chain("...".chars()).collect(),
    }
}

/// Returns the same with the numbers of the lines that can't be read.
fn with_damaged(mut content: Value, log: &Log) -> Value {
    if !log.damaged().is_empty() {
        content["corrupted_lines"] = log.damaged().iter().map(|damaged| damaged.line).collect();
    }
    content
}

fn result(content: Value) -> ToolOutput {
    let text = serde_json::to_string_pretty(&content).unwrap_or_default();
    let mut output = ToolOutput::worked(text);
    output.meta.bytes = Some(output.content.len() as u64);
    output
}
