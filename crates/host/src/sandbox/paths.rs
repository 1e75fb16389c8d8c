//! Landlock: what may be read and written, by path, and what Landlock knows of the network and of processes.
//!
//! A rule for a folder holds for all that lies below, and nothing takes away what a rule gives. So where
//! something below a readable folder is hidden, its neighbours are named one by one; what is protected inside
//! a folder that may be changed is left to the mounts.

use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, Ruleset, RulesetAttr, RulesetCreatedAttr,
    RulesetStatus, Scope, path_beneath_rules,
};

use super::policy::{NetworkReach, Policy};

/// The version of Landlock that has all that we ask for: signals and abstract sockets came last.
const KNOWN: ABI = ABI::V6;
/// The most entries that are named in place of one folder: beyond that the rest is left out.
const ENTRIES_MAX: usize = 4096;
/// Devices that are no way out.
const DEVICES: [&str; 7] =
    ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx"];

/// Restricts this process and all that it starts.
///
/// # Errors
///
/// Reason why it is not, or not wholly, restricted. Restrictions that the kernel knows are set up in any case.
pub(super) fn restrict(policy: &Policy, reach: NetworkReach, has_mounts: bool) -> Result<(), String> {
    let status = rules(policy, reach, has_mounts).map_err(|error| error.to_string())?;
    match status {
        RulesetStatus::FullyEnforced => Ok(()),
        RulesetStatus::PartiallyEnforced => Err("this kernel's Landlock knows only a part of it".to_owned()),
        RulesetStatus::NotEnforced => Err("this kernel has no Landlock".to_owned()),
    }
}

fn rules(policy: &Policy, reach: NetworkReach, has_mounts: bool) -> Result<RulesetStatus, landlock::RulesetError> {
    let mut ruleset = Ruleset::default().set_compatibility(CompatLevel::BestEffort);
    ruleset = ruleset.handle_access(AccessFs::from_all(KNOWN))?;
    if reach == NetworkReach::LocalSockets {
        ruleset = ruleset.handle_access(AccessNet::from_all(KNOWN))?;
    }
    ruleset = ruleset.scope(Scope::from_all(KNOWN))?;
    let read: BitFlags<AccessFs> = AccessFs::Execute | AccessFs::ReadFile | AccessFs::ReadDir;
    let write = AccessFs::from_all(KNOWN) & !(AccessFs::MakeChar | AccessFs::MakeBlock);
    let device = AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::IoctlDev;
    let ours: &[&str] =
        if has_mounts { &["/tmp", "/var/tmp", "/dev/shm", "/dev/pts", "/dev/mqueue"] } else { &["/dev/pts"] };
    let temp = (!has_mounts).then(|| policy.temp());
    let caches = policy.caches.iter().filter(|_| has_mounts).map(|cache| &cache.at);
    let readable: Vec<PathBuf> = if has_mounts {
        // Hidden places are covered already, and what is on no list is not there to be listed.
        policy.read.iter().cloned().chain(policy.copies.iter().map(|copy| copy.at.clone())).collect()
    } else {
        let copies = policy.copies.iter().map(|copy| copy.copy.clone());
        readable(&policy.read, &policy.hidden).into_iter().chain(copies).collect()
    };
    let mut created = ruleset
        .create()?
        .add_rules(path_beneath_rules(readable, read))?
        .add_rules(path_beneath_rules(["/proc", "/sys"], read))?
        .add_rules(path_beneath_rules(policy.write.iter().chain(&temp).chain(caches), write))?
        .add_rules(path_beneath_rules(ours, write))?
        .add_rules(path_beneath_rules(DEVICES, device))?;
    if has_mounts {
        created = created.add_rules(path_beneath_rules(["/"], AccessFs::ReadDir))?;
    }
    Ok(created.restrict_self()?.ruleset)
}

/// The paths that together are `read` without what is `hidden`.
fn readable(read: &[PathBuf], hidden: &[PathBuf]) -> Vec<PathBuf> {
    let mut readable = Vec::new();
    for path in read {
        without(path, hidden, &mut readable);
    }
    readable
}

fn without(path: &Path, hidden: &[PathBuf], readable: &mut Vec<PathBuf>) {
    if hidden.iter().any(|hidden| path.starts_with(hidden)) {
        return;
    }
    if !hidden.iter().any(|hidden| hidden.starts_with(path)) {
        readable.push(path.to_owned());
        return;
    }
    // A link among the entries leads to where a rule of its own must hold.
    let entries = std::fs::read_dir(path).into_iter().flatten().flatten().take(ENTRIES_MAX);
    for entry in entries.filter(|entry| entry.file_type().is_ok_and(|kind| !kind.is_symlink())) {
        without(&entry.path(), hidden, readable);
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn what_is_hidden_is_left_out_and_its_neighbours_are_not() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |path: &str| folder.path().join(path);
        for path in ["open", ".ssh", ".config/gcloud", ".config/git"] {
            fs::create_dir_all(at(path)).expect("made");
        }
        fs::write(at(".netrc"), "").expect("written");
        std::os::unix::fs::symlink(at(".ssh"), at("link")).expect("linked");
        let hidden = [at(".ssh"), at(".netrc"), at(".config/gcloud"), at("absent")];
        let mut found = readable(&[folder.path().to_owned(), "/usr".into()], &hidden);
        found.sort();
        let mut expected = vec![at(".config/git"), at("open"), "/usr".into()];
        expected.sort();
        assert_eq!(found, expected);
        assert_eq!(readable(&[at(".ssh/keys")], &hidden), Vec::<PathBuf>::new());
    }
}
