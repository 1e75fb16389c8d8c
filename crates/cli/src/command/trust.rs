//! `adjutant trust`: which files of projects may run something.

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};

use adjutant_core::words::visible::visible_text;
use adjutant_store::Home;
use adjutant_store::config::{self, Notice, PROJECT_CONFIG};
use adjutant_store::trust::{self, Standing, Trust, TrustError};
use anyhow::Context;
use serde::Serialize;

use crate::console::confirm;
use crate::exit::Ending;
use crate::failure::Failure;
use crate::settings::Place;

/// Files of a project that would run something, where they are.
const WANTING: [&str; 3] = [PROJECT_CONFIG, TOOL_SERVERS[0], TOOL_SERVERS[1]];
/// Lists of tool servers. No run connects one, so that none asks about them.
const TOOL_SERVERS: [&str; 2] = [".adjutant/mcp.json", ".mcp.json"];

/// Show or change which files of projects may run something
///
/// A project's configuration, the scripts of its guard hooks and its lists of tool servers come with the
/// project, and an agent can change them. Each counts only once you trusted its very content; any change
/// makes it untrusted again, and what changed is shown before you trust it anew.
#[derive(Debug, clap::Args)]
pub struct TrustArgs {
    #[command(subcommand)]
    what: TrustCommand,
}

#[derive(Debug, clap::Subcommand)]
enum TrustCommand {
    /// List what is trusted, and what of this project wants to be
    List {
        /// The folder of the project [default: the current folder]
        #[arg(long, value_name = "DIR")]
        workdir: Option<PathBuf>,
        /// Print the list as JSON
        #[arg(long)]
        json: bool,
    },
    /// Show what files say or what changed in them, ask, and trust them as they are now
    Add {
        /// Files of the project [default: all that want it]
        files: Vec<PathBuf>,
        /// The folder of the project [default: the current folder]
        #[arg(long, value_name = "DIR")]
        workdir: Option<PathBuf>,
        /// Don't ask: you have read them
        #[arg(long)]
        yes: bool,
        /// Print the files that are trusted from now on as JSON
        #[arg(long)]
        json: bool,
    },
    /// Trust files no more; a run that began with them keeps its hooks
    Remove {
        /// The files, as `list` shows them
        #[arg(required = true)]
        files: Vec<PathBuf>,
        /// Print the files that are trusted no more as JSON
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Serialize)]
struct TrustRow {
    path: String,
    name: String,
    /// `trusted`, `new` or `changed` for a file of this project, `absent` for one that is gone, `elsewhere` for
    /// another project's.
    standing: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    hash: Option<String>,
}

/// Shows or changes it.
pub fn run(args: &TrustArgs, place: &Place) -> anyhow::Result<Ending> {
    let home = place.home()?;
    match &args.what {
        TrustCommand::List { workdir, json } => list(&home, workdir.as_deref(), *json),
        TrustCommand::Add { files, workdir, yes, json } => {
            let added = add(&home, files, workdir.as_deref(), *yes)?;
            if *json {
                super::print_json(&serde_json::json!({ "trusted": added }))?;
            }
            Ok(Ending::Done)
        }
        TrustCommand::Remove { files, json } => {
            let removed = remove(&home, files)?;
            if *json {
                super::print_json(&serde_json::json!({ "removed": removed }))?;
            }
            Ok(Ending::Done)
        }
    }
}

fn list(home: &Home, workdir: Option<&Path>, json: bool) -> anyhow::Result<Ending> {
    let folder = project(workdir)?;
    let store = Trust::load(home).map_err(failure)?;
    let mut rows = Vec::new();
    for (path, name) in wanting(home, &folder)? {
        let Some(content) = trust::content(&path).map_err(failure)? else { continue };
        let standing = match store.standing(&path, &name, &content) {
            Standing::Trusted => "trusted",
            Standing::New => "new",
            Standing::Changed { .. } => "changed",
        };
        rows.push(TrustRow { path: shown(&path), name, standing, hash: Some(trust::hash_of(&content)) });
    }
    for file in store.files() {
        if rows.iter().any(|row| row.path == file.path) {
            continue;
        }
        let is_here = Path::new(&file.path).starts_with(&folder);
        let now = trust::content(Path::new(&file.path)).ok().flatten().map(|content| trust::hash_of(&content));
        let standing = match now {
            None => "absent",
            Some(_) if !is_here => "elsewhere",
            Some(now) if now == file.hash => "trusted",
            Some(_) => "changed",
        };
        rows.push(TrustRow {
            path: file.path.clone(),
            name: file.name.clone(),
            standing,
            hash: Some(file.hash.clone()),
        });
    }
    if store.skipped > 0 {
        tell!("warning: {}", Notice::DamagedTrust { lines: store.skipped });
    }
    if json {
        super::print_json(&rows)?;
    } else if rows.is_empty() {
        super::print("nothing is trusted, and nothing here wants to be\n")?;
    } else {
        let text: String = rows.iter().map(|row| format!("{:<10} {}\n", row.standing, row.path)).collect();
        super::print(&text)?;
    }
    Ok(Ending::Done)
}

/// Trusts files as they are now. Returns the paths of those that were not trusted before.
fn add(home: &Home, files: &[PathBuf], workdir: Option<&Path>, yes: bool) -> anyhow::Result<Vec<String>> {
    let folder = project(workdir)?;
    let wanted = if files.is_empty() {
        wanting(home, &folder)?
    } else {
        files.iter().map(|file| named(&folder, file)).collect::<anyhow::Result<_>>()?
    };
    let mut store = Trust::load(home).map_err(failure)?;
    let mut added = Vec::new();
    for (path, name) in wanted {
        let Some(content) = trust::content(&path).map_err(failure)? else {
            return Err(Failure::usage(format!("there is no `{}` to trust", path.display())).into());
        };
        let standing = store.standing(&path, &name, &content);
        if standing == Standing::Trusted {
            continue;
        }
        show(&path, &content, standing);
        if !yes && !confirm(&format!("Trust `{}` as it is now?", path.display())) {
            return Err(Failure::ending(Ending::Waiting, format!("`{}` is not trusted", path.display()))
                .hint("read it, then say yes at a terminal, or pass --yes")
                .into());
        }
        trust_as_shown(home, &mut store, &path, &name, &content)?;
        added.push(shown(&path));
    }
    // A configuration that is trusted from now on may name hooks whose files nobody has looked at.
    let rest = files.is_empty()
        && !added.is_empty()
        && wanting(home, &folder)?.iter().any(|(path, name)| {
            let content = trust::content(path).ok().flatten();
            content.is_some_and(|content| store.standing(path, name, &content) != Standing::Trusted)
        });
    if rest {
        added.extend(add(home, &[], workdir, yes)?);
        return Ok(added);
    }
    if added.is_empty() && files.is_empty() {
        tell!("nothing here wants to be trusted");
    }
    Ok(added)
}

/// Asks an operator at a terminal about each content that the project would run and that isn't trusted yet, once each.
/// Returns true if something was trusted.
pub fn offer(home: &Home, workdir: &Path) -> anyhow::Result<bool> {
    if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        return Ok(false);
    }
    let folder = project(Some(workdir))?;
    let mut store = Trust::load(home).map_err(failure)?;
    let mut is_trusted = false;
    // A configuration that is trusted may name files that nobody has looked at.
    while let Some((path, name, content)) = first_to_ask_about(home, &store, &folder)? {
        show(&path, &content, store.standing(&path, &name, &content));
        if confirm(&format!("Trust `{}` as it is now? It is not asked again.", path.display())) {
            trust_as_shown(home, &mut store, &path, &name, &content)?;
            is_trusted = true;
        } else {
            trust::decline(home, &content).map_err(failure)?;
        }
    }
    Ok(is_trusted)
}

fn first_to_ask_about(home: &Home, store: &Trust, folder: &Path) -> anyhow::Result<Option<(PathBuf, String, Vec<u8>)>> {
    for (path, name) in wanting(home, folder)?.into_iter().filter(|(_, name)| !TOOL_SERVERS.contains(&name.as_str())) {
        let Some(content) = trust::content(&path).map_err(failure)? else { continue };
        let is_open = store.standing(&path, &name, &content) != Standing::Trusted;
        if is_open && !trust::was_declined(home, &content).map_err(failure)? {
            return Ok(Some((path, name, content)));
        }
    }
    Ok(None)
}

/// Shows what a file says, or what changed in it since it was trusted.
fn show(path: &Path, content: &[u8], standing: Standing) {
    let text = String::from_utf8_lossy(content);
    let shown = match standing {
        Standing::Changed { before: Some(before) } => trust::change(&before, &text),
        Standing::Trusted | Standing::New | Standing::Changed { before: None } => text.into_owned(),
    };
    tell!("{}:\n{}", path.display(), visible_text(&shown));
}

/// Trusts what was shown, whatever the file says by now.
fn trust_as_shown(home: &Home, store: &mut Trust, path: &Path, name: &str, content: &[u8]) -> anyhow::Result<()> {
    if name == PROJECT_CONFIG {
        // A mistake in it is told now, not by the next run.
        config::check(path, &String::from_utf8_lossy(content)).map_err(|error| super::config_failure(&error))?;
    }
    store.add(home, path, name, content).map_err(failure)?;
    tell!("trusted: `{}` as it is now", path.display());
    Ok(())
}

/// Trusts files no more. Returns their paths.
fn remove(home: &Home, files: &[PathBuf]) -> anyhow::Result<Vec<String>> {
    let mut removed = Vec::new();
    let mut store = Trust::load(home).map_err(failure)?;
    for file in files {
        let path = std::path::absolute(file).with_context(|| format!("can't tell where `{}` is", file.display()))?;
        let real = path.canonicalize().unwrap_or_else(|_| path.clone());
        if !store.remove(home, &path).map_err(failure)? && !store.remove(home, &real).map_err(failure)? {
            return Err(Failure::usage(format!("`{}` is not trusted", path.display()))
                .hint("`adjutant trust list` shows what is")
                .into());
        }
        tell!("trusted no more: `{}`", path.display());
        removed.push(shown(&path));
    }
    Ok(removed)
}

/// The folder of the project, absolute and without links, so that its files are called the same each time.
fn project(workdir: Option<&Path>) -> anyhow::Result<PathBuf> {
    let folder = workdir.unwrap_or(Path::new("."));
    folder.canonicalize().map_err(|source| {
        anyhow::Error::new(source).context(
            Failure::usage(format!("can't look into `{}`", folder.display())).hint("name another with --workdir"),
        )
    })
}

/// The files of the project that are there and would run something: where they are, and their names.
fn wanting(home: &Home, folder: &Path) -> anyhow::Result<Vec<(PathBuf, String)>> {
    let mut wanting: Vec<(PathBuf, String)> = Vec::new();
    for name in WANTING {
        let path = folder.join(name);
        if trust::content(&path).map_err(failure)?.is_some() {
            wanting.push((path, name.to_owned()));
        }
    }
    let loaded = config::load(home, Some(folder)).map_err(|error| super::config_failure(&error))?;
    for file in loaded.config.hooks.iter().flat_map(|hook| &hook.value.files) {
        let (path, name) = named(folder, Path::new(&file.path))?;
        if !wanting.iter().any(|(known, _)| *known == path) {
            wanting.push((path, name));
        }
    }
    Ok(wanting)
}

/// A file of the project, and its name there.
fn named(folder: &Path, file: &Path) -> anyhow::Result<(PathBuf, String)> {
    let path = folder.join(file);
    // A file that is already in its place keeps its path: what is trusted there is found by it.
    let path = path.canonicalize().unwrap_or(path);
    let Ok(name) = path.strip_prefix(folder) else {
        return Err(Failure::usage(format!("`{}` is no file of the project `{}`", path.display(), folder.display()))
            .hint("name its project with --workdir")
            .into());
    };
    let name = shown(name);
    Ok((path, name))
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

fn failure(error: TrustError) -> anyhow::Error {
    Failure::of(Ending::Usage, &error, error.hint()).into()
}
