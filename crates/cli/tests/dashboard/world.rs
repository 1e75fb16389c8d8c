//! A home with runs of every kind, and the dashboard over it.

use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Child, Stdio};

use serde_json::{Value, json};

use crate::home::{SUMMARY, TestHome};

/// Text put in every place that a page shows: markup, an event handler, and a character that turns writing around.
pub const HOSTILE: &str = "<img src=x onerror=document.title='owned'><script>document.title='owned'</script>\u{202e}";

/// The dashboard of a home, while it runs.
pub struct Served {
    child: Child,
    /// The address that lets one browser in.
    pub url: String,
}

impl Served {
    pub fn over(home: &TestHome) -> Self {
        let mut child =
            home.adjutant(&["dashboard"]).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it starts");
        let mut url = String::new();
        BufReader::new(child.stdout.as_mut().expect("a pipe")).read_line(&mut url).expect("an address");
        Self { child, url: url.trim().to_owned() }
    }

    /// The address of a page.
    pub fn page(&self, path: &str) -> String {
        let (base, _) = self.url.split_once("/open?").expect("an address");
        format!("{base}/{path}")
    }

    /// Ends it as Ctrl-C does; its exit code.
    pub fn interrupt(mut self) -> Option<i32> {
        let pid = i32::try_from(self.child.id()).ok().and_then(rustix::process::Pid::from_raw).expect("a pid");
        rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("it is there");
        self.child.wait().expect("it ends").code()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// Writes a brief of its own with its script, and gives the brief's path as the working folder sees it.
pub fn written(home: &TestHome, id: &str, project: &str, fields: &str, objective: &str, turns: &Value) -> String {
    home.write(&format!("{id}.json"), turns.to_string());
    let brief = format!(
        "---\nproject: {project}\nbrief_id: {id}\nadapter: scripted\nscript: {id}.json\n{fields}\n---\n\n\
         # Objective\n\n{objective}\n\n# Deliverables\n\n- A file.\n\n# Constraints\n\n- None.\n"
    );
    home.write(&format!("{id}.md"), brief);
    format!("../{id}.md")
}

/// The turns of an agent that writes, changes and patches a file, says something hostile, and wants to delete.
fn eventful() -> Value {
    json!([
        SUMMARY,
        {"text": format!("I write the notes first. {HOSTILE}"), "calls": [
            {"tool": "write_file", "args": {"path": "notes.txt", "content": "one\ntwo\nthree\nfour\n"}},
            {"tool": "write_file", "args": {"path": "page.html", "content": HOSTILE}}],
         "usage": {"input_tokens": 1200, "output_tokens": 340}},
        {"text": "Two of them change.", "calls": [
            {"tool": "write_file", "args": {"path": "notes.txt", "content": "one\n2\nthree\n4\n"}}],
         "usage": {"input_tokens": 1900, "output_tokens": 120}},
        {"text": "And one more, as a patch.", "calls": [{"tool": "apply_patch", "args": {"diff":
            "--- a/notes.txt\n+++ b/notes.txt\n@@ -2,3 +2,4 @@\n 2\n three\n 4\n+five\n"}}],
         "usage": {"input_tokens": 2100, "output_tokens": 90}},
        {"text": "Now the folder of the build goes.", "calls": [
            {"tool": "shell_exec", "args": {"cmd": format!("rm -r build # {HOSTILE}")}}],
         "usage": {"input_tokens": 2300, "output_tokens": 60}},
        {"repeat": 2, "text": "## Phase 4\n\nDone.\n\n- Delivered: all of it.\n- Unresolved: nothing.\n"},
    ])
}

/// A run that asks whether it may delete something; it is parked.
pub fn deleting(home: &TestHome, id: &str) -> String {
    let fields = "mode: auto\nauthorized_costs: [filesystem_write, shell_exec]";
    let brief = written(home, id, "orchard", fields, &format!("Tidy up. {HOSTILE}"), &eventful());
    home.write("work/build/a.o", "x");
    home.run_with(&["run", &brief], b"go\n").expect_code(4).expect_text("destructive");
    id.to_owned()
}

/// A profile with a detector, a budget and a tool that nobody calls, each with what it rests on.
pub fn profile() -> Value {
    let runs: Vec<String> = (1..=12).map(|number| format!("2025-12-{number:02}-EARLIER")).collect();
    let evidence = json!({"runs": runs, "weighted_sample": 11.5, "rate": 0.9, "interval": [0.62, 0.98], "decided": 12,
        "expires_at": "2026-06-01T00:00:00.000Z"});
    let reason = format!("90% of 12 judged fires were wrong, between 62% and 98% {HOSTILE}");
    json!({
        "schema_version": 1, "slug": "orchard", "generated_at": "2026-01-01T00:00:00.000Z", "source_runs": runs,
        "detector_overrides": {"destructive": {"sensitivity": "loose", "reason": reason, "fire_rate": 1.25,
            "sample_size": 12, "evidence": evidence}},
        "phase_budgets": {"execute": {"tool_calls": 9, "observed_p50": 2, "observed_p90": 4, "sample_size": 12,
            "evidence": {"runs": runs, "weighted_sample": 11.5, "expires_at": "2026-06-01T00:00:00.000Z"}}},
        "tool_usage": {"http_fetch": {"calls": 0, "last_used": null, "dead": true, "offered_in": 12}},
        "notes": [HOSTILE],
    })
}

/// A home with runs that wait, that are over, that failed, with memories and with what is hostile in all of them.
pub fn populated() -> TestHome {
    let home = TestHome::new();
    for number in 1..=3 {
        deleting(&home, &format!("2026-02-0{number}-TIDY"));
    }
    let done =
        json!([SUMMARY, {"repeat": 2, "text": "## Phase 4\n\nDone.\n\n- Delivered: all.\n- Unresolved: nothing.\n"}]);
    for number in 1..=4 {
        let brief = written(&home, &format!("2026-01-1{number}-DONE"), "harbour", "mode: auto", "One thing.", &done);
        home.run_with(&["run", &brief], b"go\n").expect_code(0);
    }
    let brief = written(&home, "2026-01-20-DECLINED", "harbour", "mode: auto", "One thing.", &done);
    home.run_with(&["run", &brief], b"no\n").expect_code(6);
    let brief = written(&home, "2026-01-21-SUMMARY", "harbour", "mode: auto", "One thing.", &done);
    home.run(&["run", &brief]).expect_code(4);
    let blocked = json!([SUMMARY, "## Phase 2\n\nI am blocked: which port does the service use?"]);
    let brief = written(&home, "2026-01-22-BLOCKED", "orchard", "mode: auto", "One thing.", &blocked);
    home.run_with(&["run", &brief], b"go\n").expect_code(3);
    home.write("home/sessions/torn.trace.ndjson", "{\"seq\":0,\n");
    let add = |args: &[&str]| {
        home.run(&[&["memory", "add", "orchard"], args].concat()).expect_code(0);
    };
    add(&["constraints", "Deployments must happen on Tuesdays."]);
    add(&["decisions", "Deployments must never happen on Tuesdays.", "--rationale", HOSTILE]);
    add(&["knowledge", &format!("The cache is cold after a restart. {HOSTILE}")]);
    home.write("home/projects/orchard/learned.json", profile().to_string());
    home
}

/// Returns the folder for pictures: below the build's own folder for temporary files, to be looked at afterwards.
pub fn pictures() -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("dashboard");
    std::fs::create_dir_all(&folder).expect("a folder");
    folder
}
