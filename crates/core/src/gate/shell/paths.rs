//! Files that a command writes, empties or deletes, and how much that matters by where they are.

use super::clues::Clue;
use super::expand::ShellWord;
use super::walk::ShellWalk;
use crate::gate::effect::{Act, Target, UNKNOWN, Verdict};
use crate::gate::effects::{is_ci_file, is_gits_own};
use crate::words::category::{
    CI_MODIFY, EXTERNAL_MESSAGE, FILESYSTEM_DELETE, FILESYSTEM_WRITE, GIT_WRITE, PERSISTENCE, SHELL_EXEC,
};

/// Devices that nothing happens to.
const HARMLESS_DEVICES: [&str; 7] =
    ["/dev/null", "/dev/stdout", "/dev/stderr", "/dev/stdin", "/dev/tty", "/dev/zero", "/dev/full"];

/// The path of a process substitution: a pipe, which no other word can name.
pub(super) const PROCESS: &str = "/dev/fd/pipe";

/// Folders whose content is made anew when it is needed.
const SCRATCH: [&str; 10] =
    ["/tmp/", "/var/tmp/", "target/", "build/", "dist/", "out/", "coverage/", ".cache/", "__pycache__/", "tmp/"];

/// Names of folders that builds and tests empty and fill.
const OUTPUTS: [&str; 12] = [
    "target", "build", "dist", "out", "coverage", "tmp", "htmlcov", "_site", "_build", ".cache", "storybook-static",
    "test-results",
];

/// Files that say what runs at every login or start.
const STARTS: [&str; 20] = [
    "/.bashrc", "/.bash_profile", "/.bash_login", "/.bash_logout", "/.bash_aliases", "/.profile", "/.zshrc",
    "/.zshenv", "/.zprofile", "/.zlogin", "/.inputrc", "/.gitconfig", "/.vimrc", "/.npmrc", "/.pam_environment",
    "/.xprofile", "/.xinitrc", "/.ssh/authorized_keys", "/.ssh/rc", "/.ssh/config",
];

/// Folders of such files.
const START_FOLDERS: [&str; 10] = [
    "/etc/cron", "/etc/init", "/etc/profile", "/etc/rc", "/etc/systemd/", "/var/spool/cron", "/.config/autostart/",
    "/.config/systemd/", "/.config/fish/", "/Library/Launch",
];

/// A change to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PathChange {
    /// It is made, or something is added.
    Add,
    /// It is made from other files and easily made anew, in place of what it held.
    Make,
    /// It is made where nothing is of its name; what is there stays.
    New,
    /// A tool made for it changes it: a formatter. What it held is kept beforehand.
    Edit,
    /// The same by the project's own formatter, which is part of running commands.
    Format,
    /// A folder that files are written into, whose names can't be known.
    Into,
    /// The same by a build of the project's own, which is part of running commands.
    Build,
    /// It is emptied, with all below, and made anew.
    Clear,
    /// It may lose what it had.
    Replace,
    /// It loses what it had, for certain.
    Empty,
    /// It is deleted.
    Delete,
    /// It is deleted with all below.
    DeleteAll,
}

impl ShellWalk<'_> {
    /// `path` in plain form; [`UNKNOWN`] if it begins in a folder that can't be known.
    pub(super) fn plain(&self, path: &str) -> String {
        match self.folder() {
            Some(folder) => self.places.plain(folder, path),
            None if path.starts_with(['/', '~']) => self.places.plain(".", path),
            None => UNKNOWN.to_owned(),
        }
    }

    pub(super) fn target(&self, word: &ShellWord, is_recursive: bool) -> Target {
        let path = word.known().map_or_else(|| UNKNOWN.to_owned(), |path| self.plain(path));
        Target { is_pattern: word.is_pattern() && path != UNKNOWN, path, is_recursive }
    }

    /// A redirection that empties the file before the command with `words` begins; `is_read` if it reads it too.
    pub(super) fn emptied(&mut self, word: &ShellWord, words: &[ShellWord], is_read: bool) {
        self.clues.note(Clue::Descriptor, is_descriptor(word));
        if is_harmless(word) {
            return;
        }
        self.note_truncation();
        let program = words.first().and_then(ShellWord::known);
        let prints_nothing = match program {
            None => words.is_empty(),
            Some(":" | "true") => true,
            Some("echo" | "printf") => {
                words.len() == 1 || words.iter().skip(1).all(|word| matches!(word.known(), Some("" | "-n")))
            }
            Some("cat") => words.len() == 2 && words[1].known() == Some("/dev/null"),
            Some(_) => false,
        };
        let is_read = is_read && !matches!(program, Some("echo" | "printf"));
        let change = if prints_nothing || is_read { PathChange::Empty } else { PathChange::Replace };
        self.change(word, change, None);
    }

    /// A redirection that adds to a file.
    pub(super) fn appended(&mut self, word: &ShellWord) {
        self.clues.note(Clue::Opened, !is_harmless(word));
        self.change(word, PathChange::Add, None);
    }

    /// A file that is read; only a connection in the guise of a file matters.
    pub(super) fn opened(&mut self, word: &ShellWord) {
        self.clues.note(Clue::Opened, !is_harmless(word) || is_descriptor(word));
        self.network_file(word);
    }

    /// `/dev/tcp/host/port`, which bash opens as a connection.
    fn network_file(&mut self, word: &ShellWord) -> bool {
        let rest = ["/dev/tcp/", "/dev/udp/"].iter().find_map(|start| word.text().strip_prefix(start));
        let Some(rest) = rest else { return false };
        let host = rest.split('/').next().filter(|host| !host.is_empty() && word.known().is_some());
        let act = Act::Contact { host: host.unwrap_or(UNKNOWN).to_owned() };
        self.effect(Verdict::External, EXTERNAL_MESSAGE, act, None, "opens a connection");
        true
    }

    /// A file that is elsewhere afterwards.
    pub(super) fn moved(&mut self, word: &ShellWord) {
        let target = self.target(word, false);
        self.effect(Verdict::Ask, FILESYSTEM_WRITE, Act::Delete(target), None, "moves a file away");
    }

    /// A file that is changed; `reason` if the table says one. After a `cd` that may have failed, that is one in each
    /// folder that it may be in.
    pub(super) fn change(&mut self, word: &ShellWord, change: PathChange, reason: Option<&str>) {
        self.change_here(word, change, reason);
        if word.text().starts_with(['/', '~']) {
            return;
        }
        for folder in self.other_folders().to_vec() {
            self.in_folder(Some(folder), |walk| walk.change_here(word, change, reason));
        }
    }

    fn change_here(&mut self, word: &ShellWord, change: PathChange, reason: Option<&str>) {
        let modules = [".py", ".pyc", ".pth", ".so", ".zip", ".egg-link"];
        self.clues.note(Clue::Module, modules.iter().any(|ending| word.text().ends_with(ending)));
        let deletes = matches!(change, PathChange::Delete | PathChange::DeleteAll | PathChange::Clear);
        self.clues.note(Clue::Descriptor, is_descriptor(word));
        // Writing to `-` or `/dev/null` loses nothing; deleting them does, and `-` is then a file's name.
        if (is_harmless(word) && !deletes) || self.network_file(word) {
            // By then it may be open for a file that the program reads: `uniq a /dev/stdin`.
            if matches!(word.known(), Some("/dev/stdin" | "/dev/fd/0")) {
                self.change_here(&ShellWord::unknown_operand(), change, reason);
            }
            return;
        }
        let target = self.target(word, matches!(change, PathChange::DeleteAll | PathChange::Clear));
        let path = target.path.clone();
        if is_device(&path) {
            let reason = "writes to a device or to the kernel";
            self.effect(Verdict::Destructive, FILESYSTEM_DELETE, Act::Overwrite(target), None, reason);
            return;
        }
        let is_inside = path != UNKNOWN && !path.starts_with(['/', '~']);
        let is_scratch = !target.is_pattern
            && SCRATCH.iter().any(|folder| path.len() > folder.len() && path.starts_with(folder))
            && !path.contains("/.git");
        // A place that is emptied is kept beforehand, so the whole folder of a build may be one.
        let is_scratch = is_scratch
            || (change == PathChange::Clear && is_inside && path.split('/').any(|segment| OUTPUTS.contains(&segment)))
            || (matches!(change, PathChange::Into | PathChange::Build) && matches!(path.as_str(), "/tmp" | "/var/tmp"));
        let (verdict, category, usual) = match change {
            PathChange::New if is_inside || is_scratch => {
                (Verdict::Safe, SHELL_EXEC, "makes a file where there is none")
            }
            PathChange::New => (Verdict::Ask, FILESYSTEM_WRITE, "writes a file outside of the working folder"),
            PathChange::Format if is_inside => (Verdict::Safe, SHELL_EXEC, "changes files of the project"),
            PathChange::Edit if is_inside => (Verdict::Safe, FILESYSTEM_WRITE, "changes files of the project"),
            PathChange::Edit | PathChange::Format => {
                (Verdict::Ask, FILESYSTEM_WRITE, "changes files outside of the working folder")
            }
            PathChange::Build if is_inside || is_scratch || path == UNKNOWN => {
                (Verdict::Safe, SHELL_EXEC, "writes what a build makes")
            }
            PathChange::Into if is_inside || is_scratch => {
                (Verdict::Safe, FILESYSTEM_WRITE, "writes files into a folder")
            }
            PathChange::Into | PathChange::Build => {
                (Verdict::Ask, FILESYSTEM_WRITE, "writes files into a folder outside of the working folder")
            }
            PathChange::Clear if is_scratch => (Verdict::Safe, FILESYSTEM_WRITE, "makes a folder anew"),
            PathChange::Clear => (Verdict::Destructive, FILESYSTEM_DELETE, "empties a folder"),
            PathChange::Add | PathChange::Make if is_inside || is_scratch => {
                (Verdict::Safe, FILESYSTEM_WRITE, "writes a file")
            }
            PathChange::Add | PathChange::Make => {
                (Verdict::Ask, FILESYSTEM_WRITE, "writes a file outside of the working folder")
            }
            PathChange::Replace if is_scratch => (Verdict::Safe, FILESYSTEM_WRITE, "writes a file"),
            PathChange::Replace => (Verdict::Ask, FILESYSTEM_WRITE, "writes a file, in place of what it held"),
            PathChange::Empty => (Verdict::Destructive, FILESYSTEM_DELETE, "empties a file"),
            PathChange::Delete | PathChange::DeleteAll => (Verdict::Destructive, FILESYSTEM_DELETE, "deletes files"),
        };
        let act = match change {
            PathChange::Add | PathChange::New => Act::Write(target.clone()),
            // Which files they are can't be known; outside of the workdir any of those that are there.
            PathChange::Into | PathChange::Build if is_inside || is_scratch || path == UNKNOWN => {
                Act::Write(target.clone())
            }
            PathChange::Into | PathChange::Build => Act::Overwrite(target.clone()),
            // To a tool that knows which files are its own, the workdir is no more than where they lie.
            PathChange::Edit | PathChange::Format if path == "." => Act::Write(target.clone()),
            PathChange::Make | PathChange::Replace | PathChange::Empty | PathChange::Edit | PathChange::Format => {
                Act::Overwrite(target.clone())
            }
            PathChange::Clear if is_scratch => Act::Overwrite(Target { is_recursive: false, ..target.clone() }),
            PathChange::Delete | PathChange::DeleteAll | PathChange::Clear => Act::Delete(target.clone()),
        };
        if matches!(change, PathChange::Edit | PathChange::Format) && path == "." {
            let files = Target { path: UNKNOWN.to_owned(), is_pattern: false, is_recursive: false };
            self.effect(verdict, category, Act::Overwrite(files), None, reason.unwrap_or(usual));
        }
        self.effect(verdict, category, act, None, reason.unwrap_or(usual));
        self.changes_ci(&target);
        if is_gits_own(&path) {
            self.effect(Verdict::Ask, GIT_WRITE, Act::Write(target.clone()), None, "changes git's own folder");
        }
        if !is_inside && says_what_starts(&path) {
            let reason = "changes what runs at every start";
            self.effect(Verdict::Destructive, PERSISTENCE, Act::Write(target), None, reason);
        }
    }
}

impl ShellWalk<'_> {
    /// Says so if `target` is a file by which continuous integration runs things, or a folder of such files.
    pub(super) fn changes_ci(&mut self, target: &Target) {
        if is_ci_file(&target.path) || is_ci_file(&format!("{}/x", target.path)) {
            let reason = "changes what continuous integration runs";
            self.effect(Verdict::Ask, CI_MODIFY, Act::Write(target.clone()), None, reason);
        }
    }
}

fn is_harmless(word: &ShellWord) -> bool {
    let is_one = |path| HARMLESS_DEVICES.contains(&path) || path == "/dev/shm" || path == "-" || path == PROCESS;
    word.known().is_some_and(is_one) || is_descriptor(word)
}

/// Returns whether a path stands for what a descriptor is open for.
fn is_descriptor(word: &ShellWord) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    word.known().is_some_and(|path| {
        ["/dev/stdin", "/dev/stdout", "/dev/stderr"].contains(&path)
            || path.strip_prefix("/dev/fd/").is_some_and(is_number)
    })
}

fn is_device(path: &str) -> bool {
    let inside = |folder: &str| path.starts_with(folder);
    (inside("/dev/") && !inside("/dev/shm/")) || inside("/proc/") || inside("/sys/")
}

fn says_what_starts(path: &str) -> bool {
    STARTS.iter().any(|file| path.ends_with(file)) || START_FOLDERS.iter().any(|folder| path.contains(folder))
}
