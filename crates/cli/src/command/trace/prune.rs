//! `adjutant trace prune`: removes runs that are over and old.

use std::fmt::Write as _;
use std::path::Path;

use adjutant_core::trace::prune::{Goes, Limit, Prunable, select};
use adjutant_core::words::text::count_of;
use adjutant_core::words::visible::visible_line;
use adjutant_host::rescue::Rescues;
use adjutant_host::{standstill, working_tree};
use adjutant_store::lease::LeaseError;
use adjutant_store::prune::{Ended, Kept, PruneError, Pruning, Survey, Whose};
use adjutant_store::{OpenError, Owner};
use anyhow::Context as _;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::command::{print, print_json};
use crate::console::confirm;
use crate::exit::Ending;
use crate::failure::Failure;
use crate::settings::Place;

/// Remove runs that have ended, with all that is theirs
///
/// Journals, mailboxes, what was kept for `undo`, and contents that no other run names. What goes on, waits, was paused
/// or killed, or is damaged stays. What is removed is gone from `history` and `learn` too; its name stays taken. Shows
/// what goes and asks first. Exit code 4 if nobody is there to be asked, 1 if something could not be removed.
#[derive(Debug, clap::Args)]
pub(super) struct PruneArgs {
    /// Remove what last changed more than so many days ago
    #[arg(long, value_name = "DAYS", required_unless_present = "keep_bytes")]
    older_than: Option<u32>,
    /// Remove the oldest until no more than so many bytes are left, such as 500M or 2G
    #[arg(long, value_name = "SIZE", value_parser = parse_size, conflicts_with = "older_than")]
    keep_bytes: Option<u64>,
    /// Also sessions of the other program that are done
    #[arg(long)]
    peer: bool,
    /// Only show what would go
    #[arg(long)]
    dry_run: bool,
    /// Don't ask
    #[arg(long)]
    yes: bool,
    /// Print what went, and what did not, as JSON
    #[arg(long)]
    json: bool,
}

/// So many bytes: a number, or one with `K`, `M`, `G` or `T`, which count by 1024.
fn parse_size(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let unit = text[digits.len()..].trim().to_ascii_uppercase();
    let power = match unit.trim_end_matches("IB").trim_end_matches('B') {
        "" => 0,
        "K" => 1,
        "M" => 2,
        "G" => 3,
        "T" => 4,
        _ => return Err("write it as `500M`, with K, M, G or T".to_owned()),
    };
    let number: u64 = digits.parse().map_err(|_| "write it as `500M`: a whole number of bytes".to_owned())?;
    number.checked_mul(1024u64.pow(power)).ok_or_else(|| "that is more than there can be".to_owned())
}

/// Outcome of pruning one run that was to go.
struct Fate<'e> {
    ended: &'e Ended,
    /// Bytes and contents that its removal frees.
    goes: Goes,
    /// Number of its calls that could be undone, and the commands that remove the refs that stay in repositories.
    rescues: (usize, Vec<String>),
    /// True if it is a run no more.
    is_gone: bool,
    /// Reason why something of it is still there; absent if all is gone.
    why: Option<String>,
    /// True if that is a failure, and not a run that another process was faster to take.
    is_failure: bool,
}

pub(super) fn run(args: &PruneArgs, place: &Place) -> anyhow::Result<Ending> {
    let home = place.home()?;
    let root = std::path::absolute(home.root()).context("can't tell where the home is")?;
    let folders = [Rescues::of_all(&root), root.join(working_tree::KEPT_IN), root.join(standstill::KEPT_IN)];
    let (owner, now) = (Owner::current(), Timestamp::now());
    let (mut pruning, mut survey) = if args.dry_run {
        (None, Pruning::look(&home, &owner, now, &folders).map_err(unprunable)?)
    } else {
        let (pruning, survey) = Pruning::begin(&home, &owner, now, &folders).map_err(unprunable)?;
        pruning.sweep().context("can't remove what was left half written")?;
        (Some(pruning), survey)
    };
    let is_asked_for = |ended: &Ended| args.peer || matches!(ended.whose, Whose::Run(_));
    let left_alone = survey.prunable.iter().filter(|ended| !is_asked_for(ended)).map(|ended| ended.bytes).sum::<u64>();
    survey.other_bytes = survey.other_bytes.saturating_add(left_alone);
    survey.prunable.retain(is_asked_for);
    let limit = match (args.older_than, args.keep_bytes) {
        (Some(days), _) => {
            let age = SignedDuration::from_hours(24 * i64::from(days));
            Limit::OlderThan(now.saturating_sub(age).unwrap_or(Timestamp::MIN))
        }
        (None, bytes) => Limit::KeepBytes(bytes.unwrap_or(u64::MAX)),
    };
    let prunable =
        |ended: &Ended| Prunable { updated_at: ended.updated_at, bytes: ended.bytes, contents: ended.contents.clone() };
    let all: Vec<Prunable> = survey.prunable.iter().map(prunable).collect();
    let chosen = select(&all, &survey.contents, survey.other_bytes, limit);
    let mut fates: Vec<Fate<'_>> =
        chosen.into_iter().map(|goes| fate_of(&survey.prunable[goes.index], goes, &root)).collect();

    if !args.json {
        print(&text(&survey, &fates))?;
    }
    let nothing = fates.is_empty() && survey.unfinished.is_empty();
    let Some(pruning) = pruning.as_mut().filter(|_| !nothing) else {
        return said(args, &survey, &fates, false);
    };
    if !args.yes && !confirm("Remove them for good?") {
        return if std::io::IsTerminal::is_terminal(&std::io::stdin()) {
            Ok(Ending::Declined)
        } else {
            Err(Failure::ending(Ending::Waiting, "nothing was removed: nobody is there to be asked")
                .hint("look at what would go with --dry-run, then give --yes")
                .into())
        };
    }
    for fate in &mut fates {
        let removed = match &fate.ended.whose {
            Whose::Run(run_id) => pruning.remove(run_id, &owner, Timestamp::now()),
            Whose::Peer(_, files) => pruning.remove_peers(files),
        };
        fate.is_gone = match &fate.ended.whose {
            Whose::Run(run_id) => pruning.is_gone(run_id),
            Whose::Peer(..) => removed.is_ok(),
        };
        fate.is_failure = removed.as_ref().is_err_and(is_failure);
        fate.why = removed.err().map(|error| with_causes(&error));
    }
    for left in &survey.unfinished {
        pruning.finish(&left.run_id).with_context(|| format!("can't remove what is left of {}", left.run_id))?;
    }
    said(args, &survey, &fates, true)
}

fn fate_of<'e>(ended: &'e Ended, goes: Goes, root: &Path) -> Fate<'e> {
    Fate { ended, goes, rescues: kept_for_undo(ended, root), is_gone: false, why: None, is_failure: false }
}

/// Returns true if the error is a failure: the run stays although no other process wanted it.
fn is_failure(error: &PruneError) -> bool {
    !matches!(
        error,
        PruneError::NotEnded
            | PruneError::Open(OpenError::Lease(LeaseError::Held { .. }) | OpenError::NoSuchRun { .. })
    )
}

fn with_causes(error: &PruneError) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

fn unprunable(error: PruneError) -> anyhow::Error {
    let hint = match &error {
        PruneError::Busy => Some("wait for it".to_owned()),
        PruneError::Open(error) => OpenError::hint(error),
        PruneError::Io(_) => Some("the home must be yours to write to; `--dry-run` only looks".to_owned()),
        PruneError::NotEnded => None,
    };
    Failure::of(Ending::Failed, &error, hint).into()
}

fn said(args: &PruneArgs, survey: &Survey, fates: &[Fate<'_>], is_done: bool) -> anyhow::Result<Ending> {
    let ending = if fates.iter().any(|fate| fate.is_failure) { Ending::Failed } else { Ending::Done };
    let left = survey.unfinished.iter().map(|left| left.bytes).sum::<u64>();
    let gone = fates.iter().filter(|fate| (fate.is_gone && fate.why.is_none()) || !is_done);
    let (count, bytes) = gone.fold((0, left), |(count, bytes), fate| (count + 1, bytes + fate.goes.bytes));
    if args.json {
        let runs = fates.iter().map(|fate| row(fate, is_done)).collect::<Vec<_>>();
        let kept = survey.kept.iter().map(|(name, kept)| json!({ "name": name, "why": why(kept) })).collect::<Vec<_>>();
        let unfinished: Vec<&str> = survey.unfinished.iter().map(|left| left.run_id.as_str()).collect();
        print_json(&json!({
            "dry_run": args.dry_run,
            "bytes": bytes,
            "runs": runs,
            "finished": unfinished,
            "kept": kept,
        }))?;
    } else if is_done {
        let mut text = String::new();
        for fate in fates {
            if let Some(why) = &fate.why {
                let what = if fate.is_gone { "something is left of" } else { "stays:" };
                writeln!(text, "{what} {}: {}", visible_line(fate.ended.whose.name()), visible_line(why))
                    .unwrap_or_default();
            }
        }
        writeln!(text, "removed: {count}, {bytes} bytes").unwrap_or_default();
        print(&text)?;
    }
    Ok(ending)
}

fn row(fate: &Fate<'_>, is_done: bool) -> Value {
    let (rescues, references) = &fate.rescues;
    json!({
        "name": fate.ended.whose.name(),
        "is_peers": matches!(fate.ended.whose, Whose::Peer(..)),
        "updated_at": adjutant_core::words::moment::timestamp(fate.ended.updated_at),
        "bytes": fate.goes.bytes,
        "artifacts": fate.goes.contents,
        "rescues": rescues,
        "references": references,
        "removed": is_done && fate.is_gone,
        "why": fate.why,
    })
}

/// Returns the number of calls of a run that can be undone, and the commands that remove the refs that stay in
/// repositories then.
fn kept_for_undo(ended: &Ended, root: &Path) -> (usize, Vec<String>) {
    let Whose::Run(run_id) = &ended.whose else { return (0, Vec::new()) };
    if ended.undo_stays {
        return (0, Vec::new());
    }
    let manifests = Rescues::of(root, run_id.as_str()).list();
    let in_git = manifests.iter().filter_map(|manifest| {
        manifest.reference.as_ref().map(|reference| format!("git -C {} update-ref -d {reference}", manifest.workdir))
    });
    (manifests.len(), in_git.collect())
}

fn why(kept: &Kept) -> String {
    match kept {
        Kept::NotEnded => "it has not ended".to_owned(),
        Kept::Damaged => "it is not whole; `adjutant trace verify` says where".to_owned(),
        Kept::InUse => "a session that has not ended may write to its trace".to_owned(),
        Kept::Unreadable(why) => format!("it can't be read: {why}"),
        Kept::NoTime => "nothing says how old it is".to_owned(),
    }
}

fn text(survey: &Survey, fates: &[Fate<'_>]) -> String {
    let mut text = String::new();
    for Fate { ended, goes, rescues: (rescues, references), .. } in fates {
        let at = adjutant_core::words::moment::timestamp(ended.updated_at);
        let bytes = count_of(goes.bytes, "byte", "bytes");
        write!(text, "goes: {}  {at}  {bytes}", visible_line(ended.whose.name())).unwrap_or_default();
        if *rescues > 0 {
            let calls = count_of(*rescues as u64, "call", "calls");
            write!(text, ", {calls} can't be undone any more").unwrap_or_default();
        }
        if ended.undo_stays {
            text.push_str(", what is kept for undo stays: a run elsewhere has its name");
        }
        text.push('\n');
        for reference in references {
            writeln!(text, "  a ref stays in your repository: {}", visible_line(reference)).unwrap_or_default();
        }
    }
    for (name, kept) in
        survey.kept.iter().filter(|(_, kept)| matches!(kept, Kept::Damaged | Kept::InUse | Kept::Unreadable(_)))
    {
        writeln!(text, "stays: {}: {}", visible_line(name), visible_line(&why(kept))).unwrap_or_default();
    }
    if survey.contents_stay && !fates.is_empty() {
        text.push_str("stays: contents: journals that can't be relied on, or are not looked at, may name them\n");
    }
    for left in &survey.unfinished {
        writeln!(text, "goes: what an earlier pruning left of {}  {} bytes", left.run_id, left.bytes)
            .unwrap_or_default();
    }
    if fates.is_empty() && survey.unfinished.is_empty() {
        text.push_str("nothing to remove\n");
    } else {
        let left = survey.unfinished.iter().map(|left| left.bytes).sum::<u64>();
        let bytes = fates.iter().map(|fate| fate.goes.bytes).sum::<u64>() + left;
        let stay = survey.kept.len() + survey.prunable.len() - fates.len();
        writeln!(text, "{} to remove, {bytes} bytes; {stay} stay", fates.len()).unwrap_or_default();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::parse_size;

    #[test]
    fn a_size_is_a_number_with_or_without_a_unit() {
        for (text, bytes) in [("0", 0), ("10", 10), ("2K", 2048), ("3m", 3 << 20), ("1GiB", 1 << 30), ("1TB", 1 << 40)]
        {
            assert_eq!(parse_size(text), Ok(bytes), "{text}");
        }
        for text in ["", "M", "-1", "1.5G", "1X", "999999999999T", "1 K K"] {
            assert!(parse_size(text).is_err(), "{text}");
        }
    }
}
