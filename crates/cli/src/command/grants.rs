//! `adjutant grants`: the permissions that outlive a run.

use adjutant_core::gate::Grant;
use adjutant_core::words::id::Slug;
use adjutant_core::words::visible::visible_line;
use adjutant_store::grants::{self, GrantFile};
use anyhow::Context;
use jiff::Timestamp;
use serde::Serialize;

use crate::exit::Ending;
use crate::failure::Failure;
use crate::settings::Place;

/// List or revoke permissions that outlive a run
///
/// A grant is a yes that an agent asked for beforehand. Those that are persistent are kept for later runs of their
/// project, until their day or until they are revoked.
#[derive(Debug, clap::Args)]
pub struct GrantsArgs {
    #[command(subcommand)]
    action: GrantsCommand,
}

#[derive(Debug, clap::Subcommand)]
enum GrantsCommand {
    List(GrantListArgs),
    Revoke(RevokeArgs),
}

/// List the grants that hold
///
/// Of every project, oldest first within each. Lines of their files that are skipped are named on stderr.
#[derive(Debug, clap::Args)]
struct GrantListArgs {
    /// Only those of one project
    #[arg(long, value_name = "NAME")]
    project: Option<Slug>,
    /// Show those that are over too
    #[arg(long)]
    all: bool,
    /// Print the grants as JSON
    #[arg(long)]
    json: bool,
}

/// Take a grant back
///
/// No run begins with it any more, and a run that goes on does not use it for another call.
#[derive(Debug, clap::Args)]
struct RevokeArgs {
    /// The grant: its id, or a unique beginning of it
    grant: String,
    /// Only among those of one project
    #[arg(long, value_name = "NAME")]
    project: Option<Slug>,
    /// Print what was revoked as JSON
    #[arg(long)]
    json: bool,
}

/// A grant with the project that keeps it.
#[derive(Serialize)]
struct GrantRow {
    project: String,
    is_over: bool,
    #[serde(flatten)]
    grant: Grant,
    #[serde(skip)]
    file: GrantFile,
}

/// Lists or revokes grants.
pub fn run(args: &GrantsArgs, place: &Place) -> anyhow::Result<Ending> {
    match &args.action {
        GrantsCommand::List(args) => list(args, place),
        GrantsCommand::Revoke(args) => revoke(args, place),
    }
}

fn list(args: &GrantListArgs, place: &Place) -> anyhow::Result<Ending> {
    let rows: Vec<GrantRow> =
        rows(place, args.project.as_ref())?.into_iter().filter(|row| args.all || !row.is_over).collect();
    if args.json {
        super::print_json(&rows)?;
    } else if rows.is_empty() {
        super::print("no grant outlives its run\n")?;
    } else {
        super::print(&rows.iter().map(text).collect::<String>())?;
    }
    Ok(Ending::Done)
}

fn revoke(args: &RevokeArgs, place: &Place) -> anyhow::Result<Ending> {
    let rows = rows(place, args.project.as_ref())?;
    let of_id = |row: &&GrantRow| !args.grant.is_empty() && row.grant.grant_id.starts_with(&args.grant);
    let exact = rows.iter().find(|row| row.grant.grant_id == args.grant);
    let found: Vec<&GrantRow> = exact.map_or_else(|| rows.iter().filter(of_id).collect(), |row| vec![row]);
    match found.as_slice() {
        [row] => {
            row.file
                .revoke(&row.grant.grant_id, Timestamp::now())
                .with_context(|| format!("can't revoke the grant in `{}`", row.file.path().display()))?;
            if args.json {
                super::print_json(row)?;
            } else {
                super::print(&format!("revoked:\n{}", text(row)))?;
            }
            Ok(Ending::Done)
        }
        [] => Err(Failure::ending(Ending::Failed, format!("no grant `{}` holds", args.grant))
            .hint("`adjutant grants list` shows those that do")
            .into()),
        several => {
            let ids: Vec<&str> = several.iter().map(|row| row.grant.grant_id.as_str()).collect();
            Err(Failure::usage(format!("`{}` begins several grants: {}", args.grant, ids.join(", ")))
                .hint("give more of the id")
                .into())
        }
    }
}

fn rows(place: &Place, project: Option<&Slug>) -> anyhow::Result<Vec<GrantRow>> {
    let home = place.home()?;
    let now = Timestamp::now();
    let files = grants::all(home.root()).context("can't read the folder of projects")?;
    let mut rows = Vec::new();
    for (name, file) in files.into_iter().filter(|(name, _)| project.is_none_or(|project| project.as_str() == name)) {
        let kept = file.read().with_context(|| format!("can't read `{}`", file.path().display()))?;
        for (line, why) in &kept.skipped {
            tell!("warning: {}:{line} is skipped: {}", file.path().display(), visible_line(why));
        }
        rows.extend(kept.grants.into_iter().map(|grant| GrantRow {
            project: name.clone(),
            is_over: grant.is_over(now),
            grant,
            file: file.clone(),
        }));
    }
    Ok(rows)
}

fn text(row: &GrantRow) -> String {
    let grant = &row.grant;
    let categories: Vec<&str> = grant.categories.iter().map(|category| category.as_str()).collect();
    let mut text = format!(
        "{}  {}  {}\n  {}\n",
        visible_line(&grant.grant_id),
        visible_line(&row.project),
        visible_line(&categories.join(", ")),
        visible_line(&grant.action)
    );
    for (what, value) in [("tool", &grant.tool), ("command", &grant.command), ("paths and hosts", &grant.path)] {
        if let Some(value) = value {
            text.push_str(&format!("  {what}: {}\n", visible_line(value)));
        }
    }
    if let Some(uses) = grant.uses {
        text.push_str(&format!("  at most {uses} calls in a run\n"));
    }
    text.push_str(&match (grant.until, row.is_over) {
        (Some(until), true) => format!("  was over at {}\n", adjutant_core::words::moment::timestamp(until)),
        (Some(until), false) => format!("  until {}\n", adjutant_core::words::moment::timestamp(until)),
        (None, _) => "  until it is revoked\n".to_owned(),
    });
    text
}
