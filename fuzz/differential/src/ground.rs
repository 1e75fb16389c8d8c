//! The folder that lines run in: a small repository, a home, a folder beside it. It is the same before each line.
//!
//! Everything of it is kept in memory, so that a line can destroy all there is on the disk. After a line, what
//! differs by its stamp is written anew; mostly that is nothing.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::SystemTime;

use adjutant_host::removal::remove_tree;
use anyhow::{Context, Result, ensure};
use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use rustix::io::Errno;

use crate::trial::Trial;

/// Files of the repository's first commit. What of them is a canary is said in `canaries.rs`.
const COMMITTED: &[(&str, &str)] = &[
    ("src/main.c", "int main() { return 0; }\n"),
    ("src/lib.c", "int lib;\n"),
    ("test/t.txt", "a test\n"),
    ("keep/one.txt", "one\n"),
    ("README.md", "# read me\n"),
    ("a.txt", "a\n"),
    ("f.txt", "zap\nrm x\n"),
    ("x", "x\n"),
    ("f", "rm x\n"),
    ("g", "zap\n"),
    ("a", "b\na\n"),
    ("b", "1\n2\n"),
    (".gitignore", ".env\ncache/\ntarget/\nbuild/\ndist/\n"),
    ("zap.sh", "echo zap.sh >> TRIP\n"),
    ("zap.py", "open('TRIP', 'a').write('zap.py')\n"),
    ("zap.pl", "open F, '>>', 'TRIP'; print F 'zap.pl';\n"),
    ("zap.mk", "all:\n\t@echo zap.mk >> TRIP\n"),
];
/// Files that are changed or new since, and those beside the repository.
const UNCOMMITTED: &[(&str, &str)] = &[
    ("work/src/main.c", "int main() { return 0; }\n/* not committed */\n"),
    ("work/a.txt", "a\nnot committed\n"),
    ("work/notes.txt", "notes that git does not know\n"),
    ("work/new/n.txt", "new\n"),
    ("work/.env", "KEY=none\n"),
    ("work/cache/c.bin", "ignored\n"),
    ("work/target/x", "built\n"),
    ("work/build/x", "built\n"),
    ("work/dist/x", "built\n"),
    ("outside/precious.txt", "precious\n"),
    ("outside/x", "outside\n"),
    ("home/.bashrc", "# nothing\n"),
    ("home/docs/d.txt", "documents\n"),
    ("home/.gitconfig", "[user]\n\tname = n\n\temail = n@example.com\n[core]\n\tcheckStat = minimal\n"),
    ("trip", ""),
];
/// Variables by which programs leave off asking their makers for a newer version and telling them how they are used.
/// They do so by themselves, once in a while and beside what they were told, so that whether somebody is contacted says
/// nothing of the line: it depends on the settings of the machine and on how soon the program ends.
const NO_NEWS: [(&str, &str); 6] = [
    ("CHECKPOINT_DISABLE", "1"),
    ("GH_NO_UPDATE_NOTIFIER", "1"),
    ("NO_UPDATE_NOTIFIER", "1"),
    ("PIP_DISABLE_PIP_VERSION_CHECK", "1"),
    ("YARN_ENABLE_TELEMETRY", "0"),
    ("npm_config_update_notifier", "false"),
];
/// Arguments of the git commands that make the history: commits on two branches with the same files, tags, two stashes.
const HISTORY: &[&[&str]] = &[
    &["init", "-q", "-b", "main"],
    &["remote", "add", "origin", "http://canary.example/r.git"],
    // A trial of a push is safe and asks the remote; a push changes it.
    &["init", "-q", "--bare", "../outside/bare.git"],
    &["remote", "set-url", "--push", "origin", "../outside/bare.git"],
    &["add", "-A"],
    &["commit", "-q", "-m", "first"],
    &["tag", "v1"],
    &["commit", "-q", "--allow-empty", "-m", "second"],
    &["tag", "-a", "-m", "annotated", "v2"],
    &["branch", "other"],
    &["checkout", "-q", "other"],
    &["commit", "-q", "--allow-empty", "-m", "third"],
    &["checkout", "-q", "main"],
    &["commit", "-q", "--allow-empty", "-m", "fourth"],
];

/// Lines that the two stashes add to `README.md`.
pub const STASHED: [&str; 2] = ["older", "newer"];

/// State of a file when it was written, by the values that any change of it changes.
#[derive(Debug, Clone, PartialEq, Eq)]
struct FileStamp {
    mode: u32,
    /// Of a file or link: inode, size, times of change in nanoseconds. None of a folder: what is in it has its own.
    inner: Option<(u64, u64, i128, i128)>,
}

/// Contents of a path.
#[derive(Debug)]
enum PathContent {
    Folder,
    File { bytes: Vec<u8>, modified: SystemTime },
}

/// The folder with its content.
#[derive(Debug)]
pub struct Ground {
    root: PathBuf,
    stand_ins: PathBuf,
    slow: PathBuf,
    kept: BTreeMap<PathBuf, (PathContent, u32)>,
    stamps: BTreeMap<PathBuf, FileStamp>,
    /// Tells whether anything was touched: most lines touch nothing, and then nobody has to look. `None` if the system
    /// gives out no such handle. What is written through a mapping of a file is seen with the next touch.
    touched: Option<OwnedFd>,
}

impl Ground {
    /// Makes everything in the empty folder `root`.
    ///
    /// # Errors
    ///
    /// The system's, or git's.
    pub fn new(root: &Path, stand_ins: &Path, slow: &Path) -> Result<Self> {
        let mut ground = Self {
            root: root.to_owned(),
            stand_ins: stand_ins.to_owned(),
            slow: slow.to_owned(),
            kept: BTreeMap::new(),
            stamps: BTreeMap::new(),
            touched: None,
        };
        fs::create_dir_all(root.join("home"))?;
        for (path, text) in COMMITTED {
            ground.write(&format!("work/{path}"), text)?;
        }
        ground.write("home/.gitconfig", "[user]\n\tname = n\n\temail = n@example.com\n")?;
        for args in HISTORY {
            ground.git(args)?;
        }
        for message in STASHED {
            ground.write("work/README.md", &format!("# read me\n{message}\n"))?;
            ground.git(&["stash", "push", "-q", "-m", message])?;
        }
        ground.git(&["gc", "-q"])?;
        for (path, text) in UNCOMMITTED {
            ground.write(path, text)?;
        }
        ground.git(&["status", "-s"])?;
        ground.keep()?;
        ground.touched = ground.handle();
        Ok(ground)
    }

    /// The folder that lines run in.
    pub fn workdir(&self) -> PathBuf {
        self.root.join("work")
    }

    /// The folder that everything lies in.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The files of the workdir that no commit holds as they are.
    pub fn uncommitted() -> impl Iterator<Item = &'static str> {
        UNCOMMITTED.iter().filter_map(|(path, _)| path.strip_prefix("work/"))
    }

    /// Returns the content that `path` is known to have had.
    pub fn original(&self, path: &str) -> &[u8] {
        match self.kept.get(Path::new(path)) {
            Some((PathContent::File { bytes, .. }, _)) => bytes,
            Some((PathContent::Folder, _)) | None => &[],
        }
    }

    /// A command with the environment that lines have.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        let path = self.path();
        let proxy = format!("http://127.0.0.1:{}", crate::canaries::PORT);
        command.current_dir(self.workdir()).env_clear();
        command.env("PATH", path).env("HOME", self.root.join("home")).env("LANG", "C.UTF-8").env("TMPDIR", "/tmp");
        command.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_TERMINAL_PROMPT", "0").env("GIT_EDITOR", "true");
        command
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env("no_proxy", "127.0.0.0/8,127.0.0.1,localhost,.localhost,::1,[::1]");
        command.envs(NO_NEWS);
        command.env("http_proxy", &proxy).env("https_proxy", &proxy).env("all_proxy", &proxy);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    /// The shell of a line, with the line.
    pub fn line(&self, trial: &Trial) -> Command {
        let mut shell = self.command(trial.shell.program());
        shell.args(["-c", &trial.line]);
        if trial.skips_slow {
            shell.env("PATH", format!("{}:{}", self.slow.display(), self.path()));
        }
        shell
    }

    fn path(&self) -> String {
        format!("{}:/usr/local/bin:/usr/bin:/bin", self.stand_ins.display())
    }

    /// Returns the output of git for `args` in the workdir.
    ///
    /// # Errors
    ///
    /// The system's, or that git failed.
    pub fn git(&self, args: &[&str]) -> Result<String> {
        let mut git = self.command("git");
        let output = git.args(["-c", "init.templateDir="]).args(args).stdout(Stdio::piped()).output()?;
        ensure!(output.status.success(), "git {args:?} ended with {}", output.status);
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// The paths that are not as they were, relative to the root.
    pub fn changed(&self) -> Vec<PathBuf> {
        if self.is_untouched() {
            return Vec::new();
        }
        let now = self.walk();
        let differs = self.stamps.iter().filter(|(path, stamp)| now.get(*path) != Some(stamp)).map(|(path, _)| path);
        differs.chain(now.keys().filter(|path| !self.stamps.contains_key(*path))).cloned().collect()
    }

    /// Gives back the rights of what was changed and is still the same kind of thing.
    pub fn make_readable(&self, changed: &[PathBuf]) {
        for path in changed {
            let whole = self.root.join(path);
            let is_folder = fs::symlink_metadata(&whole).map(|found| found.is_dir());
            if let (Ok(is_folder), Some((content, mode))) = (is_folder, self.kept.get(path))
                && is_folder == matches!(content, PathContent::Folder)
            {
                fs::set_permissions(&whole, Permissions::from_mode(*mode)).ok();
            }
        }
    }

    /// Makes `changed` as it was.
    ///
    /// # Errors
    ///
    /// The system's: then no other line can be tried.
    pub fn restore(&mut self, changed: &[PathBuf]) -> Result<()> {
        for path in changed.iter().rev() {
            self.remove(path);
        }
        for (path, (content, mode)) in &self.kept {
            let whole = self.root.join(path);
            if fs::symlink_metadata(&whole).is_ok() {
                continue;
            }
            match content {
                PathContent::Folder => fs::create_dir(&whole).with_context(|| format!("`{}`", whole.display()))?,
                PathContent::File { bytes, modified } => {
                    fs::write(&whole, bytes).with_context(|| format!("`{}`", whole.display()))?;
                    fs::File::options().append(true).open(&whole)?.set_modified(*modified)?;
                }
            }
            fs::set_permissions(&whole, Permissions::from_mode(*mode))?;
        }
        self.stamps = self.walk();
        self.touched = self.handle();
        Ok(())
    }

    /// A handle that has something to read once anything below the root is touched.
    fn handle(&self) -> Option<OwnedFd> {
        let kinds = WatchFlags::MODIFY | WatchFlags::ATTRIB | WatchFlags::CREATE | WatchFlags::DELETE;
        let kinds = kinds | WatchFlags::MOVE | WatchFlags::DELETE_SELF | WatchFlags::MOVE_SELF;
        let handle = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).ok()?;
        let folders = self.kept.iter().filter(|(_, (content, _))| matches!(content, PathContent::Folder));
        for folder in folders.map(|(path, _)| self.root.join(path)).chain([self.root.clone()]) {
            inotify::add_watch(&handle, &folder, kinds).ok()?;
        }
        Some(handle)
    }

    fn is_untouched(&self) -> bool {
        let Some(handle) = &self.touched else { return false };
        rustix::io::read(handle, &mut [0; 4096]) == Err(Errno::WOULDBLOCK)
    }

    /// Removes what is at a path, with all below if it is a folder that was not there.
    fn remove(&self, path: &Path) {
        let whole = self.root.join(path);
        let Ok(found) = fs::symlink_metadata(&whole) else { return };
        if !found.is_dir() {
            fs::remove_file(&whole).ok();
            return;
        }
        match self.kept.get(path) {
            Some((PathContent::Folder, mode)) => {
                fs::set_permissions(&whole, Permissions::from_mode(*mode)).ok();
            }
            Some((PathContent::File { .. }, _)) | None => {
                remove_tree(&whole).ok();
            }
        }
    }

    fn write(&self, path: &str, text: &str) -> io::Result<()> {
        let whole = self.root.join(path);
        whole.parent().map_or(Ok(()), fs::create_dir_all)?;
        let trip = self.root.join("trip");
        fs::write(&whole, text.replace("TRIP", &trip.display().to_string()))?;
        let mode = if path.ends_with(".sh") { 0o755 } else { 0o644 };
        fs::set_permissions(&whole, Permissions::from_mode(mode))
    }

    fn keep(&mut self) -> io::Result<()> {
        self.stamps = self.walk();
        for path in self.stamps.keys() {
            let whole = self.root.join(path);
            let found = fs::symlink_metadata(&whole)?;
            let content = if found.is_dir() {
                PathContent::Folder
            } else {
                PathContent::File { bytes: fs::read(&whole)?, modified: found.modified()? }
            };
            self.kept.insert(path.clone(), (content, found.mode() & 0o7777));
        }
        Ok(())
    }

    /// Everything below the root with its stamp. What can't be listed is not there.
    fn walk(&self) -> BTreeMap<PathBuf, FileStamp> {
        let mut found = BTreeMap::new();
        let mut open = vec![PathBuf::new()];
        while let Some(folder) = open.pop() {
            for entry in fs::read_dir(self.root.join(&folder)).into_iter().flatten().flatten() {
                let path = folder.join(entry.file_name());
                let Ok(metadata) = entry.metadata() else { continue };
                if metadata.is_dir() {
                    open.push(path.clone());
                }
                found.insert(path, stamp(&metadata));
            }
        }
        found
    }
}

fn stamp(metadata: &fs::Metadata) -> FileStamp {
    let nanoseconds = |seconds: i64, rest: i64| i128::from(seconds) * 1_000_000_000 + i128::from(rest);
    let modified = nanoseconds(metadata.mtime(), metadata.mtime_nsec());
    let changed = nanoseconds(metadata.ctime(), metadata.ctime_nsec());
    let inner = (!metadata.is_dir()).then(|| (metadata.ino(), metadata.size(), modified, changed));
    FileStamp { mode: metadata.mode(), inner }
}
