//! `adjutant doctor`: what holds here, where it came from, and what is not there yet.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use adjutant_core::brief::Brief;
use adjutant_core::session::transcript::RESULT_BYTES_MAX_DEFAULT;
use adjutant_core::words::price;
use adjutant_core::words::visible::visible_text;
use adjutant_host::sandbox::Mode;
use adjutant_host::text_file;
use adjutant_runtime::assembly::option_table::{self, OptionRow};
use adjutant_runtime::assembly::sandbox::{self, FoundSandbox, SandboxPlan};
use adjutant_runtime::assembly::{
    Equipment, Overrides, RunSettings, Sourced, Supplies, Surroundings, Unready, adapter_named,
};
use adjutant_store::Home;
use adjutant_store::config::{self, AdapterConfig};
use serde::Serialize;

use crate::exit::Ending;
use crate::failure::{self, Failure};
use crate::settings::{self, Place, remark};
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
    /// The brief to look at: what it sets counts too, and the learned profile that it names
    #[arg(long, value_name = "FILE")]
    brief: Option<PathBuf>,
    /// Trust the project's configuration as it is now
    #[arg(long)]
    trust: bool,
    /// Print the report as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Serialize)]
struct DoctorReport {
    version: &'static str,
    home: String,
    checks: Vec<DoctorCheck>,
    settings: Vec<SettingRow>,
    /// Parts of the operator's home that commands can read.
    home_readable: Vec<String>,
    /// Cache of what commands fetched and built for this working folder, kept apart from the operator's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    cache: Option<CacheUsage>,
    not_yet: Vec<&'static str>,
    notices: Vec<String>,
}

#[derive(Debug, Serialize)]
struct CacheUsage {
    folder: String,
    bytes: u64,
}

#[derive(Debug, Serialize)]
struct DoctorCheck {
    what: &'static str,
    ok: bool,
    detail: String,
}

#[derive(Debug, Serialize)]
struct SettingRow {
    name: String,
    value: String,
    from: String,
}

/// The largest brief that is read, in bytes.
const BRIEF_BYTES_MAX: u64 = 64 << 20;

/// Limits of this version: parts of the design that it doesn't have.
const NOT_YET: &[&str] = &[
    "scripts are not read: a command line is, but not the files, builds and tests that it starts",
    "adapters: `cli-bridge` and `acp` may be named in a brief and are not there",
];

/// Checks and reports.
pub fn run(args: &DoctorArgs, place: &Place) -> anyhow::Result<Ending> {
    let home = place.home()?;
    let typed = Overrides { workdir: args.workdir.clone(), ..Overrides::default() };
    if args.trust {
        let folder = args.workdir.clone().unwrap_or_else(|| PathBuf::from("."));
        let trusted = config::trust(&home, &folder).map_err(|error| super::config_failure(&error))?;
        tell!("trusted: `{}` as it is now", trusted.path.display());
    }
    let brief = match &args.brief {
        Some(path) => Some((of_file(&home, args.workdir.as_deref(), path)?, path)),
        None => None,
    };
    let folder = |path: &Path| path.parent().map(Path::to_owned).unwrap_or_default();
    let brief = brief.map(|(brief, path)| (brief, folder(path)));
    let settings = settings::resolve(&home, &typed, brief.as_ref().map(|(brief, folder)| (brief, folder.as_path())))?;
    let surroundings = settings::surroundings()?;
    let (key_file, supplies) = key_file(&home, &settings, &surroundings);
    let chosen = settings.adapter.as_ref();
    let equipment = chosen
        .and_then(|adapter| adapter_named(&adapter.value))
        .map(|adapter| supplies.equip(adapter, settings.model.clone(), None));
    let mut notices: Vec<String> = settings.notices.iter().map(ToString::to_string).collect();
    notices.extend(supplies.strangers());
    let (sandbox_check, home_readable, cache) = sandboxed(&settings, &surroundings)?;
    let report = DoctorReport {
        version: env!("CARGO_PKG_VERSION"),
        home: home.root().display().to_string(),
        checks: vec![
            writable(home.root()),
            writable_workdir(&settings.workdir.value),
            key_file,
            adapter(chosen.map(|adapter| adapter.value.as_str()), equipment.as_ref()),
            program("git"),
            program("bash"),
            sandbox_check,
        ],
        settings: rows(&settings, equipment.as_ref()),
        home_readable,
        cache,
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

/// A brief that can be run.
fn of_file(home: &Home, workdir: Option<&Path>, path: &Path) -> anyhow::Result<Brief> {
    let cant = || Failure::usage(format!("can't look at the brief `{}`", path.display()));
    let text = text_file::read(path, BRIEF_BYTES_MAX).map_err(|source| anyhow::Error::new(source).context(cant()))?;
    let reading = settings::read_brief(home, workdir, &text)?;
    let is_valid = reading.is_valid();
    let brief = reading.brief.filter(|_| is_valid);
    brief.ok_or_else(|| cant().hint(format!("`adjutant validate {}` says what is wrong", path.display())).into())
}

/// Every setting, with where it came from.
fn rows(settings: &RunSettings, equipment: Option<&Equipment>) -> Vec<SettingRow> {
    let mut rows = vec![
        match &settings.adapter {
            Some(adapter) => setting(option_table::ADAPTER.name, &adapter.value, &adapter.from),
            None => setting(option_table::ADAPTER.name, "none", "the default"),
        },
        setting(option_table::WORKDIR.name, &settings.workdir.value.display().to_string(), &settings.workdir.from),
        setting(option_table::MAX_STEPS.name, &settings.max_steps.value.to_string(), &settings.max_steps.from),
        setting(option_table::NO_SHELL.name, &settings.no_shell.value.to_string(), &settings.no_shell.from),
    ];
    if let Some(mode) = &settings.sandbox.mode {
        rows.push(setting("sandbox.mode", &mode.value, &mode.from.to_string()));
    }
    rows.push(match &settings.mode {
        Some(mode) => setting(option_table::MODE.name, mode.value.as_str(), &mode.from),
        None => setting(option_table::MODE.name, "asked for", "the default"),
    });
    if let Some(model) = equipment.and_then(|equipment| equipment.model.as_ref()).or(settings.model.as_ref()) {
        rows.push(setting(option_table::MODEL.name, &model.value, &model.from));
    }
    if let Some(fallback) = &settings.fallback {
        rows.push(setting(option_table::FALLBACK.name, &fallback.value.join(", "), &fallback.from));
    }
    let whole = |row: &OptionRow, set: &Option<Sourced<u64>>| {
        set.as_ref().map(|set| setting(row.name, &set.value.to_string(), &set.from))
    };
    rows.extend(whole(&option_table::MAX_TOKENS, &settings.max_tokens));
    rows.extend(whole(&option_table::MAX_MINUTES, &settings.max_minutes));
    rows.extend(whole(&option_table::PATIENCE, &settings.patience_minutes));
    let none = AdapterConfig::default();
    let config = equipment.and_then(|equipment| settings.adapters.get(equipment.adapter.id));
    let config = config.map_or(&none, |config| &config.value);
    if let Some(effort) = settings.effort_of(config) {
        rows.push(setting(option_table::EFFORT.name, effort.value.as_str(), &effort.from));
    }
    if let Some(tokens) = settings.thinking_tokens_of(config) {
        rows.push(setting(option_table::THINKING_TOKENS.name, &tokens.value.to_string(), &tokens.from));
    }
    rows.extend(whole(&option_table::MAX_TURNS, &settings.max_turns));
    if let Some(most) = &settings.max_nano_dollars {
        rows.push(setting(option_table::MAX_DOLLARS.name, &price::sum_text(most.value), &most.from));
    }
    let after = &settings.after_untrusted;
    rows.push(setting(option_table::AFTER_UNTRUSTED.name, after.value.as_str(), &after.from));
    if let Some(tools) = &settings.untrusted_tools {
        rows.push(setting(option_table::UNTRUSTED_TOOLS.name, &tools.value.join(", "), &tools.from));
    }
    if settings.plain_results.value {
        rows.push(setting(option_table::PLAIN_RESULTS.name, "true", &settings.plain_results.from));
    }
    let bytes = &settings.result_bytes_max;
    if bytes.value != RESULT_BYTES_MAX_DEFAULT {
        rows.push(setting(option_table::RESULT_BYTES_MAX.name, &bytes.value.to_string(), &bytes.from));
    }
    for (number, hook) in (1..).zip(&settings.hooks) {
        rows.push(setting(
            &format!("{}.{number}", option_table::HOOKS.name),
            &hook.value.command.join(" "),
            &hook.from.to_string(),
        ));
    }
    for (number, program) in (1..).zip(&settings.programs) {
        let names: Vec<&str> = program.value.names.iter().collect();
        rows.push(setting(
            &format!("{}.{number}", option_table::PROGRAMS.name),
            &names.join(" "),
            &program.from.to_string(),
        ));
    }
    let rules = [
        (option_table::SHELL_ALLOW.name, &settings.shell_allow),
        (option_table::SHELL_DENY.name, &settings.shell_deny),
        (option_table::DENY_READ.name, &settings.deny_read),
    ];
    for (key, rules) in rules {
        let numbered = (1..).zip(rules);
        rows.extend(
            numbered.map(|(number, rule)| setting(&format!("{key}.{number}"), &rule.value, &rule.from.to_string())),
        );
    }
    for (name, value) in &settings.detectors {
        rows.push(setting(&format!("{}.{name}", option_table::DETECTORS.name), &value.value, &value.from));
    }
    let from = settings.learned.source().unwrap_or_default();
    rows.extend(settings.learned_limits().iter().map(|(what, value)| setting(what, value, &from)));
    rows.extend(equipment.into_iter().flat_map(of_adapter));
    for (id, config) in &settings.adapters {
        let is_above = equipment.is_some_and(|equipment| equipment.adapter.id == id);
        rows.extend(configured(id, &config.value).into_iter().filter(|row| !is_above || row.name.contains(".price_")));
    }
    rows
}

/// Returns the settings of the adapter that a run here would use.
fn of_adapter(equipment: &Equipment) -> Vec<SettingRow> {
    let Some(base_url) = &equipment.base_url else { return Vec::new() };
    let name = |key: &str| format!("adapters.{}.{key}", equipment.adapter.id);
    let (output, idle) = (&equipment.output_tokens_max, &equipment.idle_seconds);
    vec![
        setting(&name("base_url"), &base_url.value, &base_url.from),
        match &equipment.window {
            Some(window) => setting(&name("window"), &window.value.to_string(), &window.from),
            None => setting(&name("window"), "unknown", "the default"),
        },
        setting(&name("output_tokens_max"), &output.value.to_string(), &output.from),
        setting(&name("idle_seconds"), &idle.value.to_string(), &idle.from),
        setting(&name("tier"), equipment.tier.value.as_str(), &equipment.tier.from),
    ]
}

/// Returns the configured settings of an adapter.
fn configured(id: &str, config: &AdapterConfig) -> Vec<SettingRow> {
    fn row<T>(
        id: &str,
        key: &str,
        set: &Option<config::Setting<T>>,
        shown: impl Fn(&T) -> String,
    ) -> Option<SettingRow> {
        let set = set.as_ref()?;
        Some(setting(&format!("adapters.{id}.{key}"), &shown(&set.value), &set.from.to_string()))
    }
    let price = |price: &u64| price::price_text(*price);
    let rows = [
        row(id, "model", &config.model, String::clone),
        row(id, "base_url", &config.base_url, String::clone),
        row(id, "window", &config.window, u64::to_string),
        row(id, "output_tokens_max", &config.output_tokens_max, u32::to_string),
        row(id, "effort", &config.effort, ToString::to_string),
        row(id, "thinking_tokens", &config.thinking_tokens, u32::to_string),
        row(id, "tier", &config.tier, ToString::to_string),
        row(id, "idle_seconds", &config.idle_seconds, u64::to_string),
        row(id, "price_input", &config.price_input, price),
        row(id, "price_cache_read", &config.price_cache_read, price),
        row(id, "price_cache_write", &config.price_cache_write, price),
        row(id, "price_output", &config.price_output, price),
    ];
    let names = |kind: &str, table: &BTreeMap<String, config::Setting<config::Added>>| {
        let row = |(name, added): (&String, &config::Setting<config::Added>)| {
            let shown = if let config::Added::Variable(name) = &added.value {
                format!("from {name}")
            } else {
                "set".to_owned()
            };
            setting(&format!("adapters.{id}.{kind}.{name}"), &shown, &added.from.to_string())
        };
        table.iter().map(row).collect::<Vec<_>>()
    };
    let added = [
        row(id, "token_command", &config.token_command, |command| command.first().cloned().unwrap_or_default()),
        row(id, "prompt_cache_key", &config.prompt_cache_key, bool::to_string),
        row(id, "cache", &config.cache, |cache| cache.as_str().to_owned()),
    ];
    let tables = names("headers", &config.headers).into_iter().chain(names("body", &config.body));
    rows.into_iter().chain(added).flatten().chain(tables).collect()
}

fn setting(name: &str, value: &str, from: &str) -> SettingRow {
    SettingRow { name: name.to_owned(), value: value.to_owned(), from: from.to_owned() }
}

fn text(report: &DoctorReport) -> String {
    let mut text = format!("adjutant {}\nhome: {}\n\n", report.version, report.home);
    for check in &report.checks {
        text.push_str(&format!("{} {}: {}\n", if check.ok { "ok  " } else { "FAIL" }, check.what, check.detail));
    }
    text.push_str("\nsettings\n");
    let width = report.settings.iter().map(|row| row.name.len()).fold(12, usize::max);
    for row in &report.settings {
        text.push_str(&format!("  {:<width$} {}  (from {})\n", row.name, row.value, row.from));
    }
    text.push_str("\ncommands can read of your home\n");
    for path in &report.home_readable {
        text.push_str(&format!("  {}\n", visible_text(path)));
    }
    if report.home_readable.is_empty() {
        text.push_str("  nothing\n");
    }
    if let Some(cache) = &report.cache {
        let folder = visible_text(&cache.folder);
        text.push_str(&format!("\ncaches of commands here\n  {folder}  ({} KiB; may be removed)\n", cache.bytes >> 10));
    }
    text.push_str("\nnot there yet\n");
    for gap in &report.not_yet {
        text.push_str(&format!("  - {gap}\n"));
    }
    for notice in &report.notices {
        text.push_str(&format!("\nnotice: {}\n", visible_text(notice)));
    }
    text
}

/// Checks that the home can be written or made, by the nearest folder that exists.
fn writable(home: &Path) -> DoctorCheck {
    let nearest = home.ancestors().find(|folder| folder.is_dir()).unwrap_or(Path::new("/"));
    let ok = can_write(nearest);
    let detail = if ok { "can be written".to_owned() } else { format!("`{}` can't be written", nearest.display()) };
    DoctorCheck { what: "home", ok, detail }
}

/// Checks that the key file can be relied on. Also returns the supplies for adapters, with or without it.
fn key_file(home: &Home, settings: &RunSettings, surroundings: &Surroundings) -> (DoctorCheck, Supplies) {
    let shown = surroundings.shown(&home.keys());
    let (supplies, refused) = Supplies::as_far_as(home, settings.adapters.clone(), surroundings);
    let (ok, detail) = match refused {
        Some(refused) => (false, failure::text(&Failure::unready(Unready::from(refused)))),
        None if supplies.keys.values().next().is_none() => (true, format!("no key is in `{}`", shown.display())),
        None => (true, format!("`{}` is its owner's alone", shown.display())),
    };
    (DoctorCheck { what: "key file", ok, detail }, supplies)
}

/// Checks that the adapter that a run here would use could take a turn. None is no fault: each run may name its own.
fn adapter(named: Option<&str>, equipment: Option<&Equipment>) -> DoctorCheck {
    let Some(named) = named else {
        let detail = "none is chosen: a run needs `--adapter` or `--script`, or an `adapter` in its brief".to_owned();
        return DoctorCheck { what: "adapter", ok: true, detail };
    };
    let (ok, detail) = match equipment {
        None => (false, format!("there is no `{named}` in this version")),
        Some(equipment) => match (equipment.lack(), &equipment.key) {
            (Some(lack), _) => (false, lack.sentence),
            (None, Some(key)) => (true, format!("`{named}` has its key from {}", key.source)),
            (None, None) => (true, format!("`{named}` needs no key")),
        },
    };
    DoctorCheck { what: "adapter", ok, detail }
}

fn writable_workdir(workdir: &Path) -> DoctorCheck {
    let ok = workdir.is_dir() && can_write(workdir);
    let detail = match (workdir.is_dir(), ok) {
        (false, _) => format!("`{}` is not a folder", workdir.display()),
        (true, true) => "can be written".to_owned(),
        (true, false) => format!("`{}` can't be written", workdir.display()),
    };
    DoctorCheck { what: "workdir", ok, detail }
}

/// Checks, by trying now, which walls the kernel puts around commands, and lists what they can read of the home. A
/// missing wall fails where it is required.
fn sandboxed(
    settings: &RunSettings,
    surroundings: &Surroundings,
) -> anyhow::Result<(DoctorCheck, Vec<String>, Option<CacheUsage>)> {
    let mode = sandbox::mode(settings.sandbox.mode.as_ref()).map_err(Failure::unready)?;
    let plan = SandboxPlan {
        config: &settings.sandbox,
        workdir: &settings.workdir.value,
        home: &settings.home,
        runtime_home: Path::new(&settings.runtime_home),
        deny_read: settings.deny_read.iter().map(|entry| entry.value.clone()).collect(),
        environment: &surroundings.environment,
    };
    let found = sitting::runtime()?.block_on(sandbox::found(&plan, &remark));
    let FoundSandbox { test: found, home, caches } = found.map_err(Failure::unready)?;
    let detail = match mode {
        Mode::Off => "switched off: commands can do what you can".to_owned(),
        Mode::Best | Mode::Required if found.is_whole() => {
            let layers: Vec<&str> = found.layers.held.iter().map(|layer| layer.as_str()).collect();
            format!("fully active ({})", layers.join(", "))
        }
        Mode::Best | Mode::Required => format!("missing: {}", sandbox::lacks(&found)),
    };
    let check = DoctorCheck { what: "sandbox", ok: mode != Mode::Required || found.is_whole(), detail };
    let caches = caches.filter(|folder| folder.is_dir());
    let cache = caches.map(|folder| CacheUsage { folder: folder.display().to_string(), bytes: bytes_below(&folder) });
    Ok((check, home.iter().map(|path| path.display().to_string()).collect(), cache))
}

/// Returns the total size in bytes of the files below `folder`.
fn bytes_below(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let sizes = entries.map(|entry| match entry.metadata() {
        Ok(found) if found.is_dir() => bytes_below(&entry.path()),
        Ok(found) => found.len(),
        Err(_) => 0,
    });
    sizes.sum()
}

fn can_write(folder: &Path) -> bool {
    rustix::fs::access(folder, rustix::fs::Access::WRITE_OK).is_ok()
}

fn program(name: &'static str) -> DoctorCheck {
    let found = Command::new(name).arg("--version").stdin(Stdio::null()).output();
    match found {
        Ok(output) if output.status.success() => {
            let first = String::from_utf8_lossy(&output.stdout).lines().next().unwrap_or_default().to_owned();
            DoctorCheck { what: name, ok: true, detail: first }
        }
        Ok(_) => DoctorCheck { what: name, ok: false, detail: "does not tell its version".to_owned() },
        Err(error) => DoctorCheck { what: name, ok: false, detail: error.to_string() },
    }
}
