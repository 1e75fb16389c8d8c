//! The tools for what the project remembers, over a memory that is kept in a map.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use adjutant_core::memory::{Draft, Log, MemoryCategory};
use adjutant_core::words::id::Slug;
use adjutant_core::words::tool::ToolOutput;
use adjutant_ports::{Clock, Memory, NotWritten, Tools as _, Written};
use adjutant_tools::ProjectMemory;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::place::Place;

#[derive(Default)]
struct InMap(Mutex<BTreeMap<(Slug, MemoryCategory), String>>);

impl InMap {
    fn put(&self, project: &str, category: MemoryCategory, text: &str) {
        self.0.lock().unwrap().entry((project.parse().unwrap(), category)).or_default().push_str(text);
    }
}

impl Memory for InMap {
    fn read(&self, project: &Slug, category: MemoryCategory) -> Result<Log, String> {
        if project.as_str() == "broken" {
            return Err("can't read it".to_owned());
        }
        let files = self.0.lock().unwrap();
        let file = files.get(&(project.clone(), category)).map(String::as_bytes).unwrap_or_default();
        Ok(Log::read(category, file))
    }

    fn append(&self, project: &Slug, draft: &Draft, at: Timestamp) -> Result<Written, NotWritten> {
        let log = self.read(project, draft.said.category()).map_err(NotWritten::Failed)?;
        if let Some(older) = draft.supersedes.as_ref().filter(|older| log.get(older).is_none()) {
            return Err(NotWritten::UnknownEntry(older.clone()));
        }
        if let Some(record) = log.records().iter().find(|record| draft.is_written_as(record)) {
            return Ok(Written { record: record.clone(), was_there: true });
        }
        let record = draft.clone().written(at);
        self.put(project.as_str(), draft.said.category(), &format!("{}\n", record.line()));
        Ok(Written { record, was_there: false })
    }
}

struct Noon;

impl Clock for Noon {
    fn now(&self) -> Timestamp {
        "2026-05-06T12:00:00Z".parse().unwrap()
    }
}

fn remembering() -> (Place, Arc<InMap>) {
    let memory = Arc::new(InMap::default());
    let mut place = Place::with(&[]);
    place.tools = place.tools.with_memory(ProjectMemory {
        memory: memory.clone(),
        clock: Arc::new(Noon),
        project: "orchard".parse().unwrap(),
        brief_id: "2026-05-06-P1".to_owned(),
        secrets: ["hunter2hunter2"].map(str::to_owned).into_iter().collect(),
    });
    (place, memory)
}

fn knowledge(number: u32, content: &str) -> String {
    let line = json!({"id": format!("k{number}"), "at": format!("2026-01-{number:02}T08:00:00.000Z"), "category": "knowledge", "content": content});
    format!("{line}\n")
}

#[track_caller]
fn said(output: &ToolOutput) -> Value {
    assert!(output.success, "{}", output.content);
    serde_json::from_str(&output.content).unwrap()
}

#[track_caller]
fn check_ids(place: &Place, args: Value, expected: &[&str], total: u64) {
    let content = said(&place.call("read_project_memory", args.clone()));
    let ids: Vec<&str> =
        content["entries"].as_array().unwrap().iter().map(|entry| entry["id"].as_str().unwrap()).collect();
    assert_eq!(ids, expected, "{args}");
    assert_eq!((&content["count"], &content["total"]), (&json!(expected.len()), &json!(total)), "{args}");
}

#[test]
fn entries_are_filtered_before_they_are_limited() {
    let (place, memory) = remembering();
    for (number, content) in [(1, "the cache is cold"), (2, "deploys"), (3, "cold starts"), (4, "x")] {
        memory.put("orchard", MemoryCategory::Knowledge, &knowledge(number, content));
    }
    memory.put("orchard", MemoryCategory::Knowledge, "{torn\n");
    let read = |more: Value| {
        let mut args = json!({"category": "knowledge"});
        args.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        args
    };
    check_ids(&place, read(json!({})), &["k4", "k3", "k2", "k1"], 4);
    check_ids(&place, read(json!({"limit": 1, "query": "COLD"})), &["k3"], 2);
    check_ids(&place, read(json!({"limit": 1, "id": "k1"})), &["k1"], 1);
    check_ids(&place, read(json!({"limit": 0})), &["k4", "k3", "k2", "k1"], 4);
    check_ids(&place, read(json!({"words": "cold cache"})), &["k1", "k3"], 2);
    check_ids(&place, read(json!({"since": "2026-01-03", "limit": 1})), &["k4"], 2);
    check_ids(&place, read(json!({"project": "", "query": "", "id": ""})), &["k4", "k3", "k2", "k1"], 4);
    check_ids(&place, read(json!({"project": "other"})), &[], 0);
    let content = said(&place.call("read_project_memory", read(json!({"query": "x"}))));
    assert_eq!(content["corrupted_lines"], json!([5]));
    assert_eq!(content["query"], "x");

    let listed = said(&place.call("list_project_memory", json!({"since": "2026-01-02", "limit": 2})));
    assert_eq!(listed["since"], "2026-01-02");
    let categories = listed["categories"].as_array().unwrap();
    assert_eq!(
        categories.iter().map(|one| &one["category"]).collect::<Vec<_>>(),
        MemoryCategory::ALL.map(|c| json!(c)).iter().collect::<Vec<_>>()
    );
    assert_eq!((&categories[1]["count"], &categories[1]["total"]), (&json!(2), &json!(3)));
    assert_eq!(categories[1]["entries"][0]["summary_or_excerpt"], "x");
}

#[test]
fn a_list_is_short_and_a_reading_whole() {
    let (place, memory) = remembering();
    memory.put("orchard", MemoryCategory::Knowledge, &knowledge(1, &"\u{e9}".repeat(201)));
    memory.put("orchard", MemoryCategory::Knowledge, &knowledge(2, &"y".repeat(200)));
    let listed = said(&place.call("list_project_memory", json!({"category": "knowledge"})));
    let entries = &listed["categories"][0]["entries"];
    assert_eq!(entries[0]["summary_or_excerpt"], "y".repeat(200));
    assert_eq!(entries[1]["summary_or_excerpt"], format!("{}...", "\u{e9}".repeat(197)));
    assert_eq!(listed["categories"].as_array().unwrap().len(), 1);

    let large: String = (1..=30).map(|number| knowledge(number, &"z".repeat(15_000))).collect();
    memory.put("large", MemoryCategory::Knowledge, &large);
    let content = said(&place.call("read_project_memory", json!({"category": "knowledge", "project": "large"})));
    assert_eq!((&content["count"], &content["total"]), (&json!(17), &json!(30)));
}

#[test]
fn what_is_written_is_the_stores_and_the_runs_own() {
    let (place, memory) = remembering();
    let entry = json!({
        "summary": "s", "rationale": "the key is hunter2hunter2", "id": "mine", "at": "x", "brief_id": "other",
        "project": "other", "metadata": {"n": 1},
    });
    let args = json!({"category": "decisions", "entry": entry});
    let first = said(&place.call("write_project_memory", args.clone()));
    let written = &first["written"];
    assert_eq!((&first["project"], &first["category"]), (&json!("orchard"), &json!("decisions")));
    assert_eq!((&written["at"], &written["brief_id"]), (&json!("2026-05-06T12:00:00.000Z"), &json!("2026-05-06-P1")));
    assert!(written["id"].as_str().unwrap().starts_with("mem-"), "{written}");
    assert_eq!((&written["metadata"], &written["project"]), (&json!({"n": 1}), &json!("other")));
    assert!(!first.to_string().contains("hunter2hunter2"), "{first}");
    let files = memory.0.lock().unwrap().clone();
    assert!(files.values().all(|file| !file.contains("hunter2hunter2")));

    // As after a kill between the writing and its record.
    let again = said(&place.call("write_project_memory", args));
    assert_eq!((&again["written"], &again["was_there"]), (written, &json!(true)));
    assert_eq!(*memory.0.lock().unwrap(), files);
}

#[test]
fn failures_of_memory_have_stable_codes() {
    let (place, _) = remembering();
    let check = |name: &str, args: Value, code: &str| {
        let output = place.call(name, args.clone());
        assert_eq!((output.success, output.code.as_deref()), (false, Some(code)), "{name} {args}: {}", output.content);
    };
    let (read, list, write) = ("read_project_memory", "list_project_memory", "write_project_memory");
    check(read, json!({}), "INVALID_ARGS");
    check(read, json!({"category": "secrets"}), "INVALID_ARGS");
    check(read, json!({"category": "knowledge", "limit": -1}), "INVALID_ARGS");
    check(read, json!({"category": "knowledge", "since": "yesterday"}), "INVALID_ARGS");
    check(read, json!({"category": "knowledge", "id": "../x"}), "INVALID_ARGS");
    check(read, json!({"category": "knowledge", "project": "broken"}), "MEMORY_ERROR");
    for project in ["..", "a/b", "../orchard", "Orchard", "."] {
        check(read, json!({"category": "knowledge", "project": project}), "BAD_PROJECT");
        check(list, json!({"project": project}), "BAD_PROJECT");
    }
    check(write, json!({"category": "knowledge"}), "INVALID_ARGS");
    check(write, json!({"category": "knowledge", "entry": "x"}), "INVALID_ARGS");
    check(write, json!({"category": "knowledge", "entry": {"content": "  "}}), "INVALID_ENTRY");
    check(write, json!({"category": "decisions", "entry": {"summary": "s"}}), "INVALID_ENTRY");
    check(write, json!({"category": "knowledge", "entry": {"content": "x".repeat(20_000)}}), "INVALID_ENTRY");
    check(write, json!({"category": "knowledge", "entry": {"content": "c", "supersedes": "mem-0-0"}}), "UNKNOWN_ENTRY");
}

#[test]
fn a_run_without_a_project_is_offered_no_memory() {
    let place = Place::with(&[]);
    assert!(place.tools.specs().iter().all(|spec| !spec.name.contains("memory")));
    let output = place.call("read_project_memory", json!({"category": "knowledge"}));
    assert_eq!(output.code.as_deref(), Some("NO_PROJECT"));
    assert_eq!(remembering().0.tools.specs().len(), 11);
}
