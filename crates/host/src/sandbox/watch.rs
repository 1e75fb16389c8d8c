//! Watches the parts of a repository that no mount can protect. When a command has ended, things that it added or
//! changed there and that would have the operator's git run something are put aside, and what was there is put back.
//!
//! A name that does not exist can't be mounted on, and git has to write in the folder that it would be in. No process
//! of a command is left when it has ended, so there is no race; while it runs, the operator's git may still meet what
//! it made. Nothing is deleted: it is moved to our home, or to a folder in the repository that git doesn't read where
//! our home is on another disk.
//!
//! Begin with [`Watch::of`] and [`Watch::settle`]; `embedded.rs` looks at the repositories in a repository.

use std::collections::BTreeSet;
use std::fmt;
use std::fs::{self, File, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::embedded::{CheckedOutTree, Links};
use super::folders::Folders;
use super::lost::Holdings;
use super::nested::{Nested, Wrong};
use super::repository::{GitFolder, GitFolderKind, Repository};
use super::scratch::PRIVATE;

/// The largest file that is put back, in bytes: far more than any setting has.
const FILE_BYTES_MAX: u64 = 1 << 20;
/// The permissions of a folder that its owner needs for git to find a repository in it.
const USABLE: u32 = 0o700;
/// Beginning of the names of the files in a run's own folder that record the state of a repository.
const FILE: &str = "watch-";
/// The folder in a git folder for what can't be moved to our home.
const ASIDE: &str = "adjutant-aside";

/// The state of a repository before a command.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Watch {
    /// The git folder of the workdir.
    own: Option<PathBuf>,
    /// The folder that findings are put into.
    aside: Option<PathBuf>,
    /// In the order in which they are looked at: what makes the others readable comes first.
    places: Vec<WatchedPath>,
    /// The trees that are checked out from the repository and its submodules.
    trees: Vec<CheckedOutTree>,
    /// The refs and objects that there are.
    #[serde(default)]
    held: Vec<Holdings>,
    /// The repositories below the workdir that are not its own.
    #[serde(default)]
    nested: Nested,
    /// The contents of the folders below the workdir, remembered.
    #[serde(skip)]
    walked: Folders,
    /// The file that it is in.
    #[serde(skip)]
    kept: Option<PathBuf>,
}

/// Something that git reads, and how it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct WatchedPath {
    path: PathBuf,
    was: PathState,
    rule: AllowedChange,
}

/// The changes that are accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum AllowedChange {
    /// Nothing.
    Same,
    /// It may be gone.
    SameOrGone,
    /// It is another, as long as it names a branch or a commit.
    Head,
    /// If it is a folder, its owner can use it.
    Usable,
    /// The same kind of thing, and a folder is one that its owner can use.
    Needed,
}

/// The thing at a path, as far as it matters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum PathState {
    Absent,
    /// A file and what it has; `None` for one that is too large or can't be read.
    File(Option<Vec<u8>>),
    Link(PathBuf),
    Folder,
    Other,
}

/// Something that a command left, changed or took.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RepositoryFinding {
    /// The path of the thing that came, was changed or is gone.
    pub path: PathBuf,
    /// Its place now; `None` if it could not be moved, or there was nothing to move.
    pub aside: Option<PathBuf>,
    /// The thing that is left at the path.
    #[serde(default)]
    pub left: Left,
}

/// The thing that is left of what a command changed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Left {
    /// The command's version, put aside if that was possible.
    #[default]
    Made,
    /// The earlier version: it was gone, and was put back.
    Restored,
    /// Nothing: it is gone.
    Nothing,
}

impl fmt::Display for RepositoryFinding {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        match &self.aside {
            None if self.left == Left::Restored => write!(out, "`{path}` was gone and was put back"),
            None if self.left == Left::Nothing => write!(out, "`{path}` is gone, or some of it"),
            Some(aside) => write!(out, "`{path}` was put aside as `{}`", aside.display()),
            None => write!(out, "`{path}` could not be put right: look at it before you run git there"),
        }
    }
}

impl Watch {
    /// Records the present state of `repository`. Later findings are put into the folder `aside`.
    pub(super) fn of(
        workdir: &Path,
        repository: &Repository,
        (links, walked): (&Links, &Folders),
        aside: Option<PathBuf>,
    ) -> Self {
        let own = repository.folders.first().map(|folder| folder.at.clone());
        let folders = repository.folders.iter().map(|folder| folder.at.clone());
        let known: BTreeSet<PathBuf> = folders.chain(repository.pointers.iter().cloned()).collect();
        let nested = Nested::of(workdir, &known, walked);
        let (places, trees) = (Vec::new(), Vec::new());
        let mut watch =
            Self { own, aside, places, trees, held: Vec::new(), nested, walked: walked.clone(), kept: None };
        let mut seen = BTreeSet::new();
        let roots: Vec<&Path> =
            repository.outside.iter().map(PathBuf::as_path).chain(std::iter::once(workdir)).collect();
        let folders = repository.folders.iter().map(|folder| folder.at.as_path());
        let pointed = repository.pointers.iter().filter_map(|pointer| pointer.parent());
        for path in folders.chain(pointed) {
            let above: Vec<&Path> =
                path.ancestors().filter(|above| roots.iter().any(|root| above.starts_with(root))).collect();
            for folder in above.into_iter().rev() {
                watch.place(folder.to_owned(), AllowedChange::Usable, &mut seen);
            }
        }
        for pointer in &repository.pointers {
            // The workdir's own leads to the repository; a submodule that is gone leads nowhere.
            let rule = if pointer.parent() == Some(workdir) { AllowedChange::Same } else { AllowedChange::SameOrGone };
            watch.place(pointer.clone(), rule, &mut seen);
        }
        for folder in &repository.folders {
            watch.folder(folder, &mut seen);
            if folder.kind == GitFolderKind::Whole {
                watch.held.push(Holdings::of(&folder.at));
            }
            watch.trees.extend(folder.tree.as_ref().map(|tree| links.tree(&folder.at, tree)));
        }
        watch
    }

    fn folder(&mut self, folder: &GitFolder, seen: &mut BTreeSet<PathBuf>) {
        let at = |name: &str| folder.at.join(name);
        match folder.kind {
            GitFolderKind::Whole => {
                for name in ["objects", "refs"] {
                    self.place(at(name), AllowedChange::Needed, seen);
                }
                for name in ["commondir", "config.worktree", "config", "hooks"] {
                    self.place(at(name), AllowedChange::Same, seen);
                }
                self.place(at("HEAD"), AllowedChange::Head, seen);
            }
            GitFolderKind::Own => {
                for name in ["commondir", "config.worktree", "gitdir"] {
                    self.place(at(name), AllowedChange::Same, seen);
                }
            }
            GitFolderKind::Other => {
                for name in ["commondir", "config.worktree"] {
                    self.place(at(name), AllowedChange::SameOrGone, seen);
                }
            }
        }
    }

    fn place(&mut self, path: PathBuf, rule: AllowedChange, seen: &mut BTreeSet<PathBuf>) {
        if seen.insert(path.clone()) {
            let was = PathState::of(&path);
            self.places.push(WatchedPath { path, was, rule });
        }
    }

    /// The same, on the disk in the folder `scratch` when this returns, until the command has ended.
    pub(super) fn kept(mut self, scratch: &Path, number: u64) -> io::Result<Self> {
        let path = scratch.join(format!("{FILE}{number}"));
        let mut file = File::create_new(&path)?;
        file.write_all(&serde_json::to_vec(&self)?)?;
        self.kept = Some(path);
        Ok(self)
    }

    /// Those of commands that nobody waits for any more.
    pub(super) fn left_in(scratch: &Path) -> Vec<Self> {
        let entries = fs::read_dir(scratch).into_iter().flatten().flatten();
        let ours = entries.filter(|entry| entry.file_name().as_encoded_bytes().starts_with(FILE.as_bytes()));
        // One that is not whole was written for a command that never began.
        ours.filter_map(|entry| serde_json::from_slice(&fs::read(entry.path()).ok()?).ok()).collect()
    }

    /// The end of the command: as [`Watch::settle`], and nothing is left to do for another run.
    pub(crate) fn end(&self) -> Vec<RepositoryFinding> {
        let findings = self.settle();
        if let Some(path) = &self.kept {
            fs::remove_file(path).ok();
        }
        findings
    }

    /// Puts aside what the command left, and puts back what was there.
    pub(super) fn settle(&self) -> Vec<RepositoryFinding> {
        let mut findings = Vec::new();
        for place in &self.places {
            if !place.is_right() {
                findings.extend(self.put_right(place));
            }
        }
        let known: BTreeSet<PathBuf> = self.places.iter().map(|place| place.path.clone()).collect();
        for Wrong { path, was } in self.nested.wrong(&known, &self.walked) {
            findings.extend(self.put_right(&WatchedPath { path, was, rule: AllowedChange::Same }));
        }
        let known: BTreeSet<&Path> = known.iter().map(PathBuf::as_path).chain(self.nested.folders()).collect();
        let mut left = super::repository::MODULES_MAX;
        for tree in &self.trees {
            for path in tree.strangers(&known, &mut left) {
                findings.push(self.put_aside(&path));
            }
        }
        for path in self.held.iter().flat_map(Holdings::lost) {
            if findings.iter().all(|finding| finding.path != path) {
                findings.push(RepositoryFinding { path, aside: None, left: Left::Nothing });
            }
        }
        findings
    }

    fn put_right(&self, place: &WatchedPath) -> Option<RepositoryFinding> {
        // A folder above may be a link now, which git would follow.
        if let Some(link) = link_above(&place.path) {
            return Some(self.put_aside(&link));
        }
        let is_folder = PathState::of(&place.path) == PathState::Folder;
        if is_folder
            && (place.rule == AllowedChange::Usable
                || (place.rule == AllowedChange::Needed && place.was == PathState::Folder))
        {
            return (!make_usable(&place.path)).then(|| RepositoryFinding::of(&place.path));
        }
        let was_there = PathState::of(&place.path) != PathState::Absent;
        let mut finding = match was_there {
            true => self.put_aside(&place.path),
            false => RepositoryFinding::of(&place.path),
        };
        let is_back = match &place.was {
            PathState::Absent => Ok(()),
            PathState::File(Some(content)) => put_back(&place.path, content),
            PathState::Link(to) => symlink(to, &place.path),
            PathState::File(None) | PathState::Folder | PathState::Other => {
                Err(io::Error::from(io::ErrorKind::Unsupported))
            }
        };
        match is_back {
            // It was only taken away, and is there again.
            Ok(()) if !was_there && place.was == PathState::Absent => None,
            Ok(()) if !was_there => Some(RepositoryFinding { left: Left::Restored, ..finding }),
            Ok(()) => Some(finding),
            Err(_) => {
                finding.aside = None;
                Some(finding)
            }
        }
    }

    /// Moves what is at `path` where git doesn't read it.
    fn put_aside(&self, path: &Path) -> RepositoryFinding {
        let within = self.own.as_ref().map(|own| own.join(ASIDE));
        let aside = self.aside.iter().chain(&within).find_map(|folder| moved(path, folder).ok());
        RepositoryFinding { aside, ..RepositoryFinding::of(path) }
    }
}

impl RepositoryFinding {
    /// One that nothing could be done about.
    fn of(path: &Path) -> Self {
        Self { path: path.to_owned(), aside: None, left: Left::Made }
    }
}

impl WatchedPath {
    fn is_right(&self) -> bool {
        if link_above(&self.path).is_some() {
            // Whose folder is gone has no settings; whose folder is a link now may have any.
            return false;
        }
        let now = PathState::of(&self.path);
        match self.rule {
            AllowedChange::Same => now == self.was,
            AllowedChange::SameOrGone => now == PathState::Absent || now == self.was,
            AllowedChange::Head => !names_something(&self.was) || names_something(&now),
            AllowedChange::Usable => now != PathState::Folder || is_usable(&self.path),
            AllowedChange::Needed => now == self.was && (now != PathState::Folder || is_usable(&self.path)),
        }
    }
}

impl PathState {
    pub(super) fn of(path: &Path) -> Self {
        let Ok(found) = fs::symlink_metadata(path) else { return Self::Absent };
        if found.is_dir() {
            Self::Folder
        } else if found.is_symlink() {
            fs::read_link(path).map_or(Self::Other, Self::Link)
        } else if found.is_file() {
            Self::File(read(path, &found).ok().flatten())
        } else {
            Self::Other
        }
    }
}

fn read(path: &Path, found: &fs::Metadata) -> io::Result<Option<Vec<u8>>> {
    if found.len() > FILE_BYTES_MAX {
        return Ok(None);
    }
    let mut content = Vec::new();
    File::open(path)?.take(FILE_BYTES_MAX + 1).read_to_end(&mut content)?;
    Ok(Some(content))
}

/// Returns true if git takes the folder of such a HEAD for a repository.
fn names_something(head: &PathState) -> bool {
    match head {
        PathState::File(Some(content)) => {
            // No other white space counts for git.
            let is_space = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
            let branch = content.strip_prefix(b"ref:").map(|rest| {
                let spaces = rest.iter().take_while(|byte| is_space(byte)).count();
                rest.get(spaces..).unwrap_or_default()
            });
            let commit = content.get(..40).is_some_and(|name| name.iter().all(u8::is_ascii_hexdigit));
            commit || branch.is_some_and(|branch| branch.starts_with(b"refs/"))
        }
        PathState::Link(to) => to.as_os_str().as_bytes().starts_with(b"refs/"),
        PathState::Absent | PathState::File(None) | PathState::Folder | PathState::Other => false,
    }
}

fn is_usable(folder: &Path) -> bool {
    fs::metadata(folder).is_ok_and(|found| found.mode() & USABLE == USABLE)
}

/// Gives the owner what is needed of a folder; whether that is so now. What is no folder stays as it is.
pub(super) fn make_usable(path: &Path) -> bool {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() && found.mode() & USABLE != USABLE => {
            fs::set_permissions(path, Permissions::from_mode(found.mode() & 0o7777 | USABLE)).is_ok()
        }
        Ok(_) | Err(_) => true,
    }
}

/// The first folder above `path` that is a link, from the root on.
pub(super) fn link_above(path: &Path) -> Option<PathBuf> {
    let mut above: Vec<&Path> = path.ancestors().skip(1).collect();
    above.reverse();
    let is_link = |path: &&Path| fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink());
    above.into_iter().find(is_link).map(Path::to_owned)
}

/// Moves what is at `path` into `folder` under a name that nothing has; says where it is.
fn moved(path: &Path, folder: &Path) -> io::Result<PathBuf> {
    fs::DirBuilder::new().recursive(true).mode(PRIVATE).create(folder)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy().trim_start_matches('.').to_owned();
    let place = tempfile::Builder::new()
        .prefix(&format!("{name}-"))
        .permissions(Permissions::from_mode(PRIVATE))
        .tempdir_in(folder)?;
    let to = place.path().join(&name);
    // Moving a folder changes it: `..` in it is another.
    make_usable(path);
    fs::rename(path, &to)?;
    // From here on the folder holds something.
    let kept = place.keep();
    Ok(kept.join(name))
}

/// Writes a file as it was.
fn put_back(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = File::create_new(path)?;
    file.write_all(content)?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_counts_as_git_reads_it() {
        let file = |text: &str| PathState::File(Some(text.as_bytes().to_vec()));
        for (head, expected) in [
            (file("ref: refs/heads/main\n"), true),
            (file("ref:refs/x"), true),
            (file(&format!("{}\n", "a1".repeat(20))), true),
            (file("ref: heads/main\n"), false),
            (file(""), false),
            (file(&"z".repeat(40)), false),
            (PathState::Link("refs/heads/main".into()), true),
            (PathState::Link("../refs".into()), false),
            (PathState::Link("refs".into()), false),
            (file("ref:\u{c}refs/x"), false),
            (PathState::Absent, false),
        ] {
            assert_eq!(names_something(&head), expected, "{head:?}");
        }
    }

    #[test]
    fn what_a_killed_command_left_is_put_aside_by_whoever_finds_the_watch() {
        let place = tempfile::tempdir().expect("a folder");
        let root = fs::canonicalize(place.path()).expect("there");
        let git = root.join("work/.git");
        for folder in ["objects", "refs"] {
            fs::create_dir_all(git.join(folder)).expect("made");
        }
        fs::write(git.join("HEAD"), "ref: refs/heads/main\n").expect("written");
        let workdir = root.join("work");
        let repository = Repository::of(&workdir, None);
        let watch =
            Watch::of(&workdir, &repository, (&Links::default(), &Folders::default()), Some(root.join("home/aside")));
        let watch = watch.kept(&root, 1).expect("kept");
        assert_eq!(watch.settle(), []);

        fs::write(git.join("commondir"), "e\n").expect("written");
        fs::write(git.join("HEAD"), "nothing").expect("written");
        fs::write(root.join("watch-2"), "{\"own\":").expect("written");
        let left = Watch::left_in(&root);
        assert_eq!(left.len(), 1, "half a watch counts for nothing");
        let found: Vec<PathBuf> = left[0].settle().into_iter().map(|finding| finding.path).collect();
        assert_eq!(found, [git.join("commondir"), git.join("HEAD")]);
        assert!(!git.join("commondir").exists());
        assert_eq!(fs::read_to_string(git.join("HEAD")).expect("there"), "ref: refs/heads/main\n");

        assert_eq!(watch.end(), []);
        assert_eq!(Watch::left_in(&root), [], "the command has ended");
    }

    #[test]
    fn a_folder_that_its_owner_can_not_use_is_made_usable() {
        let place = tempfile::tempdir().expect("a folder");
        let workdir = fs::canonicalize(place.path()).expect("there");
        let objects = workdir.join(".git/objects");
        fs::create_dir_all(&objects).expect("made");
        let watch =
            Watch::of(&workdir, &Repository::of(&workdir, None), (&Links::default(), &Folders::default()), None);
        fs::set_permissions(&objects, Permissions::from_mode(0o0)).expect("set");
        assert_eq!(watch.settle(), []);
        assert_eq!(fs::metadata(&objects).expect("there").mode() & 0o7777, USABLE);
        // Without a home of ours it is kept in the repository, where git doesn't read it.
        fs::write(workdir.join(".git/commondir"), "e").expect("written");
        let aside = watch.settle()[0].aside.clone().expect("put aside");
        assert!(aside.starts_with(workdir.join(".git").join(ASIDE)) && aside.exists());
    }
}
