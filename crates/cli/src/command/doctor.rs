//! `adjutant doctor`: what holds here, where it came from, and what is not there yet.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use adjutant_store::Home;
use adjutant_store::config;
use adjutant_store::keys::Keys;
use serde::Serialize;

use crate::exit::Ending;
use crate::failure::{self, Failure};
use crate::settings::{self, Place, Typed};
use crate::sitting;

/// Check what a run here would find, and where each setting comes from
///
/// With --trust it also records that the present content of the project's `.adjutant/config.toml` is
/// trusted; otherwise it changes nothing.
#[derive(Debug, clap::Args)]
pub struct DoctorArgs {
    /// The working folder to look at [default: the current folder]
    #[arg(long, value_name = "DIR")]
    workdir: Option<PathBuf>,
    /// Trust the project's configuration as it is now
    #[arg(long)]
    trust: bool,
    /// Print the report as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Serialize)]
struct Report {
    version: &'static str,
    home: String,
    checks: Vec<Check>,
    settings: Vec<Setting>,
    not_yet: Vec<&'static str>,
    notices: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Check {
    what: &'static str,
    ok: bool,
    detail: String,
}

#[derive(Debug, Serialize)]
struct Setting {
    name: String,
    value: String,
    from: String,
}

/// What a reader of the design may look for in vain.
const NOT_YET: &[&str] = &[
    "command lines are not read: authorizing `shell_exec` authorizes whatever a command does",
    "commands are not confined by the kernel: they can write outside the working folder and use the network",
    "model adapters: `anthropic` is the only one; `scripted` plays a file",
];

/// Checks and reports.
pub fn run(args: &DoctorArgs, place: &Place) -> anyhow::Result<Ending> {
    let home = place.home()?;
    let typed = Typed { workdir: args.workdir.clone(), ..Typed::default() };
    if args.trust {
        let folder = args.workdir.clone().unwrap_or_else(|| PathBuf::from("."));
        let trusted = config::trust(&home, &folder).map_err(|error| {
            let hint = error.hint();
            let failure = Failure::usage(error.to_string());
            hint.map_or_else(|| Failure::usage(error.to_string()), |hint| failure.hint(hint))
        })?;
        eprintln!("trusted: `{}` as it is now", trusted.path.display());
    }
    let settings = settings::resolve(&home, &typed, None)?;
    let mut rows = vec![
        setting("adapter", &settings.adapter.value, &settings.adapter.from),
        setting("workdir", &settings.workdir.value.display().to_string(), &settings.workdir.from),
        setting("max_steps", &settings.max_steps.value.to_string(), &settings.max_steps.from),
        setting("no_shell", &settings.no_shell.value.to_string(), &settings.no_shell.from),
    ];
    rows.push(match &settings.mode {
        Some(mode) => setting("mode", mode.value.as_str(), &mode.from),
        None => setting("mode", "asked for", "the default"),
    });
    if let Some(model) = &settings.model {
        rows.push(setting("model", &model.value, &model.from));
    }
    for (name, value) in &settings.detectors {
        rows.push(setting(&format!("detectors.{name}"), &value.value, &value.from));
    }
    let (key_file, keys) = key_file(&home);
    let mut notices: Vec<String> = settings.notices.iter().map(ToString::to_string).collect();
    notices.extend(settings::strangers(&keys));
    let report = Report {
        version: env!("CARGO_PKG_VERSION"),
        home: home.root().display().to_string(),
        checks: vec![
            writable(home.root()),
            writable_workdir(&settings.workdir.value),
            key_file,
            adapter(&settings.adapter.value, &home, &keys),
            program("git"),
            program("bash"),
        ],
        settings: rows,
        not_yet: NOT_YET.to_vec(),
        notices,
    };
    let is_fine = report.checks.iter().all(|check| check.ok);
    if args.json {
        super::print_json(&report)?;
    } else {
        super::print(&text(&report))?;
    }
    Ok(if is_fine { Ending::Done } else { Ending::Failed })
}

fn setting(name: &str, value: &str, from: &str) -> Setting {
    Setting { name: name.to_owned(), value: value.to_owned(), from: from.to_owned() }
}

fn text(report: &Report) -> String {
    let mut text = format!("adjutant {}\nhome: {}\n\n", report.version, report.home);
    for check in &report.checks {
        text.push_str(&format!("{} {}: {}\n", if check.ok { "ok  " } else { "FAIL" }, check.what, check.detail));
    }
    text.push_str("\nsettings\n");
    for row in &report.settings {
        text.push_str(&format!("  {:<12} {}  (from {})\n", row.name, row.value, row.from));
    }
    text.push_str("\nnot there yet\n");
    for gap in &report.not_yet {
        text.push_str(&format!("  - {gap}\n"));
    }
    for notice in &report.notices {
        text.push_str(&format!("\nnotice: {notice}\n"));
    }
    text
}

/// Whether the home can be written, or made: the nearest folder that is there decides.
fn writable(home: &Path) -> Check {
    let nearest = home.ancestors().find(|folder| folder.is_dir()).unwrap_or(Path::new("/"));
    let ok = can_write(nearest);
    let detail = if ok { "can be written".to_owned() } else { format!("`{}` can't be written", nearest.display()) };
    Check { what: "home", ok, detail }
}

/// Whether the key file can be relied on, and what it has.
fn key_file(home: &Home) -> (Check, Keys) {
    let (ok, detail, keys) = match settings::keys(home) {
        Ok(keys) if keys.values().next().is_none() => (true, "there is none, or it is empty".to_owned(), keys),
        Ok(keys) => (true, format!("`{}` is its owner's alone", sitting::shown(&home.keys()).display()), keys),
        Err(error) => (false, failure::text(&error), Keys::default()),
    };
    (Check { what: "key file", ok, detail }, keys)
}

/// Whether the adapter that a run here would use could take a turn.
fn adapter(named: &str, home: &Home, keys: &Keys) -> Check {
    let (ok, detail) = match sitting::adapter(named) {
        None => (false, format!("there is no `{named}` in this version")),
        Some(adapter) if adapter.key_variables.is_empty() => (true, format!("`{named}` needs no key")),
        Some(adapter) => match settings::key_of(&adapter, home, keys) {
            Some(key) => (true, format!("`{named}` has its key from {}", key.source)),
            None => {
                (false, format!("`{named}` needs a key, and `{}` is not set", adapter.key_variables.join("` or `")))
            }
        },
    };
    Check { what: "adapter", ok, detail }
}

fn writable_workdir(workdir: &Path) -> Check {
    let ok = workdir.is_dir() && can_write(workdir);
    let detail = match (workdir.is_dir(), ok) {
        (false, _) => format!("`{}` is not a folder", workdir.display()),
        (true, true) => "can be written".to_owned(),
        (true, false) => format!("`{}` can't be written", workdir.display()),
    };
    Check { what: "workdir", ok, detail }
}

fn can_write(folder: &Path) -> bool {
    rustix::fs::access(folder, rustix::fs::Access::WRITE_OK).is_ok()
}

fn program(name: &'static str) -> Check {
    let found = Command::new(name).arg("--version").stdin(Stdio::null()).output();
    match found {
        Ok(output) if output.status.success() => {
            let first = String::from_utf8_lossy(&output.stdout).lines().next().unwrap_or_default().to_owned();
            Check { what: name, ok: true, detail: first }
        }
        Ok(_) => Check { what: name, ok: false, detail: "does not tell its version".to_owned() },
        Err(error) => Check { what: name, ok: false, detail: error.to_string() },
    }
}
