//! Fills the temporary index with the content of the working tree.
//!
//! An index says of each file when it was last looked at, and Git believes that an unchanged file has unchanged
//! content. The user's index is the agent's to write, so it isn't believed while reading every file is cheap: up to a
//! limit of bytes the index begins with no such stamps. It begins as a copy of the user's above that limit, and
//! where no entry is marked as one not to be looked at, and no file is converted on its way into the repository.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::unix::fs::MetadataExt;

use super::shadow::Shadow;
use super::{OWN_FOLDER, TreeLimits};

/// The mode by which Git marks a submodule.
pub(super) const SUBMODULE_MODE: &str = "160000";

/// The paths below the workdir that make its tree, by their full names in the repository.
#[derive(Debug, Default)]
struct Listing {
    /// Mode and object of each tracked file.
    tracked: BTreeMap<Vec<u8>, (String, String)>,
    /// Tracked files that a sparse checkout leaves out.
    left_out: BTreeSet<Vec<u8>>,
    own: Vec<Vec<u8>>,
    submodules: BTreeSet<Vec<u8>>,
    others: Vec<Vec<u8>>,
    nested: BTreeSet<Vec<u8>>,
    /// True if an entry is marked as one that is not to be looked at.
    is_marked: bool,
}

/// The tree of a workdir.
#[derive(Debug)]
pub(super) struct WorkTree {
    /// The object that Git made of it. Submodules are not in it.
    pub(super) object: String,
    /// The submodules that are tracked, by their full names.
    pub(super) submodules: BTreeSet<Vec<u8>>,
    /// Repositories within that are not tracked, by their full names.
    pub(super) nested: BTreeSet<Vec<u8>>,
}

/// Why there is no tree.
#[derive(Debug)]
pub(super) enum NoTree {
    /// The workdir is ignored as a whole, so that Git would take nothing of it.
    Ignored,
    TooLarge(String),
    Failed(io::Error),
}

impl From<io::Error> for NoTree {
    fn from(error: io::Error) -> Self {
        Self::Failed(error)
    }
}

/// Writes the tree of the files below the workdir, as they are.
pub(super) fn write_tree(shadow: &Shadow, limits: &TreeLimits) -> Result<WorkTree, NoTree> {
    shadow.copy_index()?;
    let listing = list(shadow)?;
    let count = listing.tracked.len() + listing.others.len();
    if count > limits.files {
        return Err(NoTree::TooLarge(format!("it has {count} files, more than {}", limits.files)));
    }
    if count == 0 && listing.submodules.is_empty() && listing.nested.is_empty() && !shadow.prefix.is_empty() {
        return Err(NoTree::Ignored);
    }
    let bytes = |paths: &mut dyn Iterator<Item = &Vec<u8>>| -> u64 {
        let found = paths.filter_map(|path| shadow.at(path).symlink_metadata().ok());
        found.filter(std::fs::Metadata::is_file).map(|found| found.size()).sum()
    };
    let new = bytes(&mut listing.others.iter());
    if new > limits.bytes {
        return Err(NoTree::TooLarge(format!("{new} bytes are untracked, more than {}", limits.bytes)));
    }
    let all = new.saturating_add(bytes(&mut listing.tracked.keys()));
    let has_attributes = || listing.tracked.keys().chain(&listing.others).any(|path| path.ends_with(b".gitattributes"));
    if all <= limits.read_bytes || listing.is_marked || has_attributes() || shadow.converts()? {
        begin_anew(shadow, &listing)?;
    } else {
        let out = listing.own.iter().chain(&listing.submodules);
        let out: Vec<u8> = out.flat_map(|path| path.iter().copied().chain([0])).collect();
        shadow.run(shadow.command().args(["update-index", "--force-remove", "-z", "--stdin"]), &out)?;
    }
    if count > 0 {
        add_all(shadow, &listing)?;
    }
    let object = tree_of_index(shadow)?;
    Ok(WorkTree { object, submodules: listing.submodules, nested: listing.nested })
}

fn list(shadow: &Shadow) -> io::Result<Listing> {
    let mut listing = Listing::default();
    let own = [shadow.prefix.as_slice(), OWN_FOLDER.as_bytes()].concat();
    let is_own = |path: &[u8]| path.strip_prefix(own.as_slice()).is_some_and(|rest| matches!(rest, [] | [b'/', ..]));
    let below = if shadow.prefix.is_empty() { b"." } else { shadow.prefix.as_slice() };
    let listed = |words: &[&str]| {
        let mut git = shadow.command();
        git.args(["ls-files", "-z", "--full-name"]).args(words).arg("--").arg(super::shadow::path_of(below));
        shadow.run(&mut git, &[])
    };
    // A tag, the mode, the object, the stage, and behind a tab the path.
    for entry in listed(&["-v", "--stage"])?.split(|byte| *byte == 0).filter(|entry| !entry.is_empty()) {
        let tab = entry.iter().position(|byte| *byte == b'\t');
        let (facts, path) = tab.map_or((entry, &b""[..]), |tab| (&entry[..tab], &entry[tab + 1..]));
        let facts = String::from_utf8_lossy(facts).into_owned();
        let [tag, mode, object, ..] = facts.split(' ').collect::<Vec<_>>()[..] else {
            return Err(io::Error::other("git listed its index in a way that is not known"));
        };
        if path.is_empty() {
            return Err(io::Error::other("git listed a file without a name"));
        }
        let path = path.to_vec();
        if is_own(&path) {
            listing.own.push(path);
        } else if mode == SUBMODULE_MODE {
            listing.submodules.insert(path);
        } else {
            listing.is_marked |= tag.eq_ignore_ascii_case("s") || tag.chars().all(|c| c.is_ascii_lowercase());
            if tag.eq_ignore_ascii_case("s") {
                listing.left_out.insert(path.clone());
            }
            listing.tracked.insert(path, (mode.to_owned(), object.to_owned()));
        }
    }
    for path in listed(&["--others", "--exclude-standard"])?.split(|byte| *byte == 0) {
        match path.strip_suffix(b"/") {
            _ if path.is_empty() || is_own(path) => {}
            // Such a path ends so only if a repository is there.
            Some(path) => drop(listing.nested.insert(path.to_vec())),
            None => listing.others.push(path.to_vec()),
        }
    }
    Ok(listing)
}

/// Begins the index with the tracked files, none of which counts as looked at.
fn begin_anew(shadow: &Shadow, listing: &Listing) -> io::Result<()> {
    match std::fs::remove_file(shadow.index()) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let mut entries = Vec::new();
    for (path, (mode, object)) in &listing.tracked {
        entries.extend_from_slice(format!("{mode} {object} 0\t").as_bytes());
        entries.extend_from_slice(path);
        entries.push(0);
    }
    shadow.run(shadow.command().args(["update-index", "-z", "--index-info"]), &entries)?;
    let absent = listing.left_out.iter().filter(|path| shadow.at(path).symlink_metadata().is_err());
    let absent: Vec<u8> = absent.flat_map(|path| path.iter().copied().chain([0])).collect();
    if !absent.is_empty() {
        shadow.run(shadow.command().args(["update-index", "--skip-worktree", "-z", "--stdin"]), &absent)?;
    }
    Ok(())
}

fn add_all(shadow: &Shadow, listing: &Listing) -> io::Result<()> {
    let mut paths = Vec::new();
    let mut say = |magic: &str, path: &[u8]| {
        paths.extend_from_slice(magic.as_bytes());
        paths.extend_from_slice(path);
        paths.push(0);
    };
    say(":(top,literal)", &shadow.prefix);
    say(":(top,exclude,literal)", &[shadow.prefix.as_slice(), OWN_FOLDER.as_bytes()].concat());
    // Git would run in a submodule, by the settings of that.
    for path in listing.submodules.iter().chain(&listing.nested) {
        say(":(top,exclude,literal)", path);
    }
    let mut git = shadow.command();
    git.env_remove("GIT_LITERAL_PATHSPECS");
    git.args(["add", "--all", "--pathspec-from-file=-", "--pathspec-file-nul"]);
    shadow.run(&mut git, &paths).map(drop)
}

/// Writes the tree of the index, as far as it is the workdir's.
fn tree_of_index(shadow: &Shadow) -> io::Result<String> {
    let mut git = shadow.command();
    git.args(["write-tree", "--missing-ok"]);
    if !shadow.prefix.is_empty() {
        let mut below = std::ffi::OsString::from("--prefix=");
        below.push(super::shadow::path_of(&shadow.prefix));
        git.arg(below);
    }
    match shadow.object(&mut git, &[]) {
        // Nothing is left below the workdir.
        Err(error) if !shadow.prefix.is_empty() && error.to_string().contains("not found") => {
            shadow.object(shadow.command().arg("mktree"), &[])
        }
        written => written,
    }
}

/// Adds submodules to a tree, each with the commit that is checked out in it.
pub(super) fn with_submodules(shadow: &Shadow, heads: &BTreeMap<Vec<u8>, String>) -> io::Result<String> {
    let mut entries = Vec::new();
    for (path, head) in heads {
        entries.extend_from_slice(format!("{SUBMODULE_MODE} {head} 0\t").as_bytes());
        entries.extend_from_slice(path);
        entries.push(0);
    }
    shadow.run(shadow.command().args(["update-index", "-z", "--index-info"]), &entries)?;
    tree_of_index(shadow)
}
