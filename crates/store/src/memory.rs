//! The memory of projects between runs: three files of lines for each project, which only grow.
//!
//! In: a home, entries and times. Out: what the files say. Any number of processes may write at once: each line is
//! one write at the end of its file, under the file's lock, and on the disk when it counts. Only an operator's
//! [`MemoryStore::remove`] makes a file shorter, by putting another in its place. What a line means is `core`'s
//! ([`Log`]).

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use adjutant_core::memory::{Draft, Log, MemoryCategory, Record, RecordId};
use adjutant_core::words::id::Slug;
use adjutant_ports::{Memory, NotWritten, Written};
use jiff::Timestamp;
use rustix::fs::{FlockOperation, OFlags};

use crate::artifacts::sync_folder;
use crate::home::{Home, make_folder};
use crate::plain_file;

/// The longest file that is read or written, in bytes: some ten thousand entries. A longer one is an error, not a
/// short list.
const FILE_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// Message about a file that is too long.
const TOO_LONG: &str = "it is longer than a memory can be: remove entries, or move the file away";

/// The memory of the projects of a home.
#[derive(Debug, Clone)]
pub struct MemoryStore {
    home: Home,
}

impl MemoryStore {
    /// Returns the memory of the projects of `home`.
    #[must_use]
    pub fn new(home: Home) -> Self {
        Self { home }
    }

    /// The projects that have a folder, in the order of their names. What is called as no project can be is passed
    /// over.
    ///
    /// # Errors
    ///
    /// If there is a folder of projects and it can't be read.
    pub fn projects(&self) -> io::Result<Vec<Slug>> {
        let entries = match fs::read_dir(self.home.projects()) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut projects = Vec::new();
        for entry in entries {
            let entry = entry?;
            if let Some(project) = entry.file_name().to_str().and_then(|name| name.parse().ok())
                && entry.file_type()?.is_dir()
            {
                projects.push(project);
            }
        }
        projects.sort_by(|a: &Slug, b: &Slug| a.as_str().cmp(b.as_str()));
        Ok(projects)
    }

    /// The file of a category, which need not exist.
    #[must_use]
    pub fn path(&self, project: &Slug, category: MemoryCategory) -> PathBuf {
        self.home.project(project).join(format!("{category}.jsonl"))
    }

    /// Reads the file of a category; empty if there is no file.
    ///
    /// # Errors
    ///
    /// If it can't be read, is no plain file, or is longer than a memory can be.
    pub fn log(&self, project: &Slug, category: MemoryCategory) -> io::Result<Log> {
        let file = plain_file::read(&self.path(project, category), FILE_BYTES_MAX, TOO_LONG)?;
        Ok(Log::read(category, &file.unwrap_or_default()))
    }

    /// Takes the entry of that id out of its file, for good; nothing if there is none. What it had superseded is live
    /// again. Lines that can't be read stay as they are.
    ///
    /// # Errors
    ///
    /// If the file can't be read or put in its place; then it is as it was.
    pub fn remove(&self, project: &Slug, category: MemoryCategory, id: &RecordId) -> io::Result<Option<Record>> {
        let path = self.path(project, category);
        if !path.exists() {
            return Ok(None);
        }
        let mut file = locked(&path)?;
        let content = content(&mut file)?;
        let Some(record) = Log::read(category, &content).get(id).cloned() else { return Ok(None) };
        let is_it = |line: &&[u8]| {
            let line = std::str::from_utf8(line).ok();
            line.and_then(|line| Record::read(line, category).ok()).is_some_and(|record| record.id == *id)
        };
        let kept = content.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty() && !is_it(line));
        let kept: Vec<u8> = kept.flat_map(|line| [line, b"\n"].concat()).collect();
        let folder = path.parent().unwrap_or(Path::new("."));
        let mut fresh = tempfile::NamedTempFile::new_in(folder)?;
        fresh.write_all(&kept)?;
        fresh.as_file().set_permissions(file.metadata()?.permissions())?;
        fresh.as_file().sync_all()?;
        fresh.persist(&path)?;
        sync_folder(folder)?;
        Ok(Some(record))
    }

    /// Writes an entry, unless it is there.
    fn write(&self, project: &Slug, draft: &Draft, at: Timestamp) -> Result<Written, Refused> {
        let category = draft.said.category();
        let path = self.path(project, category);
        make_folder(&self.home.project(project))?;
        let mut file = locked(&path)?;
        let content = content(&mut file)?;
        let log = Log::read(category, &content);
        // An operator who says again what was superseded wants it to hold again; an agent's call may be one that was
        // interrupted, whatever happened since.
        let counts = |record: &&Record| draft.brief_id.is_some() || log.superseded_by(&record.id).is_none();
        if let Some(record) = log.records().iter().filter(counts).find(|record| draft.is_written_as(record)) {
            let superseded_by = log.superseded_by(&record.id).cloned();
            return Ok(Written { record: Record { superseded_by, ..record.clone() }, was_there: true });
        }
        if let Some(older) = &draft.supersedes {
            may_supersede(&log, older, draft)?;
        }
        let record = fresh(&log, draft, at);
        // A line that was torn by a crash must not take this one with it.
        let is_torn = content.last().is_some_and(|byte| *byte != b'\n');
        let line = format!("{}{}\n", if is_torn { "\n" } else { "" }, record.line());
        if content.len() as u64 + line.len() as u64 > FILE_BYTES_MAX {
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, TOO_LONG).into());
        }
        append(&mut file, line.as_bytes())?;
        file.sync_data()?;
        if content.is_empty() {
            sync_folder(&self.home.project(project))?;
        }
        Ok(Written { record, was_there: false })
    }
}

impl Memory for MemoryStore {
    fn read(&self, project: &Slug, category: MemoryCategory) -> Result<Log, String> {
        let path = self.path(project, category);
        self.log(project, category).map_err(|error| format!("can't read `{}`: {error}", path.display()))
    }

    fn append(&self, project: &Slug, draft: &Draft, at: Timestamp) -> Result<Written, NotWritten> {
        self.write(project, draft, at).map_err(|refused| match refused {
            Refused::Entry(refused) => refused,
            Refused::Io(error) => {
                let path = self.path(project, draft.said.category());
                NotWritten::Failed(format!("can't write to `{}`: {error}", path.display()))
            }
        })
    }
}

/// Reason why nothing was written.
enum Refused {
    Entry(NotWritten),
    Io(io::Error),
}

impl From<io::Error> for Refused {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Checks that `draft` may take the place of `older`.
fn may_supersede(log: &Log, older: &RecordId, draft: &Draft) -> Result<(), Refused> {
    let refused = match (log.get(older), log.superseded_by(older)) {
        (None, _) => NotWritten::UnknownEntry(older.clone()),
        (Some(_), Some(by)) => NotWritten::Superseded { older: older.clone(), by: by.clone() },
        (Some(record), None) if record.brief_id.is_none() && draft.brief_id.is_some() => {
            NotWritten::OperatorsEntry(older.clone())
        }
        (Some(_), None) => return Ok(()),
    };
    Err(Refused::Entry(refused))
}

/// The entry with an id that its file does not have: two in one millisecond whose digests are the same are told apart
/// by a later time.
fn fresh(log: &Log, draft: &Draft, at: Timestamp) -> Record {
    let whole = Timestamp::from_millisecond(at.as_millisecond()).unwrap_or(at);
    let times = (0..).map_while(|ms| whole.checked_add(jiff::SignedDuration::from_millis(ms)).ok());
    let mut records = times.map(|at| draft.clone().written(at));
    records.find(|record| log.get(&record.id).is_none()).unwrap_or_else(|| draft.clone().written(whole))
}

/// The file at `path`, made if it is not there, under its lock. The lock ends with the file.
///
/// A link is not followed: an entry goes into this folder or nowhere.
fn locked(path: &Path) -> io::Result<File> {
    let flags = i32::try_from((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits()).unwrap_or(0);
    loop {
        let mut open = OpenOptions::new();
        let file = open.read(true).append(true).create(true).mode(0o600).custom_flags(flags).open(path)?;
        if !file.metadata()?.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a file"));
        }
        rustix::fs::flock(&file, FlockOperation::LockExclusive)?;
        // While this process waited, an entry may have been removed, and another file put in its place.
        let is_same = |there: &fs::Metadata| {
            file.metadata().is_ok_and(|ours| (ours.dev(), ours.ino()) == (there.dev(), there.ino()))
        };
        match fs::symlink_metadata(path) {
            Ok(there) if is_same(&there) => return Ok(file),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
}

fn content(file: &mut File) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    file.take(FILE_BYTES_MAX + 1).read_to_end(&mut content)?;
    if content.len() as u64 > FILE_BYTES_MAX {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, TOO_LONG));
    }
    Ok(content)
}

/// Writes a line in one go, so that a writer without our lock, such as the peer, can't come in between. A part of a
/// line is a torn one: it is named as damaged, and the next writer ends it.
fn append(file: &mut File, line: &[u8]) -> io::Result<()> {
    loop {
        return match file.write(line) {
            Ok(bytes) if bytes == line.len() => Ok(()),
            Ok(_) => Err(io::Error::new(io::ErrorKind::StorageFull, "only a part of the line could be written")),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => Err(error),
        };
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use adjutant_core::memory::RecordContent;
    use serde_json::Map;

    use super::*;

    const KNOWLEDGE: MemoryCategory = MemoryCategory::Knowledge;

    fn store() -> (tempfile::TempDir, MemoryStore, Slug) {
        let temp = tempfile::tempdir().expect("a folder");
        let store = MemoryStore::new(Home::new(temp.path(), None));
        (temp, store, "orchard".parse().expect("a slug"))
    }

    fn draft(content: &str) -> Draft {
        let said = RecordContent::Knowledge { content: content.to_owned() };
        Draft { said, brief_id: None, supersedes: None, rest: Map::new() }
    }

    fn of_a_run(content: &str) -> Draft {
        Draft { brief_id: Some("2024-05-05-P1".to_owned()), ..draft(content) }
    }

    fn written(store: &MemoryStore, project: &Slug, draft: &Draft) -> Written {
        store.append(project, draft, Timestamp::UNIX_EPOCH).expect("written")
    }

    fn texts(store: &MemoryStore, project: &Slug) -> Vec<String> {
        let log = store.log(project, KNOWLEDGE).expect("read");
        log.records().iter().map(|record| record.said.text().to_owned()).collect()
    }

    #[test]
    fn what_is_written_is_read_back_and_nothing_is_written_twice() {
        let (_temp, store, project) = store();
        assert_eq!(store.log(&project, KNOWLEDGE).expect("nothing is no error"), Log::default());
        let first = written(&store, &project, &of_a_run("a"));
        let again = store.append(&project, &of_a_run("a"), Timestamp::MAX).expect("recognised");
        assert_eq!((first.was_there, again.was_there), (false, true));
        assert_eq!(first.record, again.record);
        written(&store, &project, &draft("a"));
        written(&store, &project, &of_a_run("b"));
        assert_eq!(texts(&store, &project), ["a", "a", "b"]);
    }

    #[test]
    fn what_takes_the_place_of_another_is_checked() {
        let (_temp, store, project) = store();
        let operators = written(&store, &project, &draft("operator's")).record.id;
        let agents = written(&store, &project, &of_a_run("agent's")).record.id;
        let instead = |draft: Draft, older: &RecordId| Draft { supersedes: Some(older.clone()), ..draft };
        let append = |draft: &Draft| store.append(&project, draft, Timestamp::UNIX_EPOCH);

        let refused = append(&instead(of_a_run("x"), &operators));
        assert_eq!(refused, Err(NotWritten::OperatorsEntry(operators.clone())));
        let nobody: RecordId = "mem-0-000000".parse().expect("an id");
        assert_eq!(append(&instead(draft("x"), &nobody)), Err(NotWritten::UnknownEntry(nobody)));

        let newer = append(&instead(of_a_run("x"), &agents)).expect("written").record.id;
        assert!(append(&instead(of_a_run("x"), &agents)).expect("recognised").was_there);
        let refused = append(&instead(draft("y"), &agents));
        assert_eq!(refused, Err(NotWritten::Superseded { older: agents, by: newer.clone() }));
        let z = append(&instead(draft("z"), &operators)).expect("the operator may").record.id;
        let again = append(&of_a_run("agent's")).expect("recognised");
        assert_eq!((again.was_there, again.record.superseded_by), (true, Some(newer)));
        assert!(!append(&instead(draft("operator's"), &z)).expect("it holds again").was_there);
        assert_eq!(texts(&store, &project), ["operator's", "agent's", "x", "z", "operator's"]);
    }

    #[test]
    fn a_torn_line_takes_no_other_with_it() {
        let (_temp, store, project) = store();
        written(&store, &project, &draft("a"));
        let path = store.path(&project, KNOWLEDGE);
        let mut file = OpenOptions::new().append(true).open(&path).expect("there");
        file.write_all(b"{\"id\":\"mem-").expect("torn");
        written(&store, &project, &draft("b"));
        let log = store.log(&project, KNOWLEDGE).expect("read");
        assert_eq!(log.damaged().iter().map(|damaged| damaged.line).collect::<Vec<_>>(), [2]);
        assert_eq!(texts(&store, &project), ["a", "b"]);
    }

    #[test]
    fn what_is_removed_is_gone_and_damaged_lines_stay() {
        let (_temp, store, project) = store();
        let first = written(&store, &project, &draft("a")).record;
        let path = store.path(&project, KNOWLEDGE);
        let mut file = OpenOptions::new().append(true).open(&path).expect("there");
        file.write_all(b"\n{broken\n\xff\xfe").expect("damaged");
        let newer = Draft { supersedes: Some(first.id.clone()), ..draft("b") };
        let newer = written(&store, &project, &newer).record;

        assert_eq!(store.remove(&project, KNOWLEDGE, &newer.id).expect("removed"), Some(newer.clone()));
        assert_eq!(store.remove(&project, KNOWLEDGE, &newer.id).expect("gone"), None);
        assert_eq!(store.remove(&project, MemoryCategory::Decisions, &newer.id).expect("no file"), None);
        let expected = [format!("{}\n", first.line()).as_bytes(), b"{broken\n\xff\xfe\n"].concat();
        assert_eq!(fs::read(&path).expect("there"), expected);
        let log = store.log(&project, KNOWLEDGE).expect("read");
        assert_eq!(log.live().len(), 1, "what was superseded is live again");
        assert_eq!(fs::read_dir(path.parent().expect("a folder")).expect("there").count(), 1, "nothing is left behind");
    }

    #[test]
    fn only_a_plain_file_of_its_own_is_written() {
        let (temp, store, project) = store();
        written(&store, &project, &draft("a"));
        let elsewhere = temp.path().join("elsewhere");
        fs::write(&elsewhere, "").expect("written");
        let path = store.path(&project, MemoryCategory::Constraints);
        let constraint =
            Draft { said: RecordContent::Constraint { rule: "r".to_owned(), rationale: None }, ..draft("") };
        let append = || store.append(&project, &constraint, Timestamp::UNIX_EPOCH);

        std::os::unix::fs::symlink(&elsewhere, &path).expect("a link");
        let refused = append().expect_err("a link").to_string();
        assert!(refused.contains("constraints.jsonl"), "{refused}");
        assert_eq!(fs::read(&elsewhere).expect("there"), b"");
        fs::remove_file(&path).expect("gone");

        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, 0o600.into(), 0).expect("a pipe");
        assert!(append().is_err() && store.read(&project, MemoryCategory::Constraints).is_err());
        fs::remove_file(&path).expect("gone");

        fs::create_dir(&path).expect("a folder");
        assert!(append().is_err() && store.read(&project, MemoryCategory::Constraints).is_err());
    }

    #[test]
    fn a_file_that_is_too_long_is_an_error_and_no_short_list() {
        let (_temp, store, project) = store();
        written(&store, &project, &draft("a"));
        let file = OpenOptions::new().write(true).open(store.path(&project, KNOWLEDGE)).expect("there");
        file.set_len(FILE_BYTES_MAX + 1).expect("longer");
        assert!(store.read(&project, KNOWLEDGE).expect_err("too long").contains("longer than a memory can be"));
        assert!(store.append(&project, &draft("b"), Timestamp::UNIX_EPOCH).is_err());
        file.set_len(FILE_BYTES_MAX).expect("shorter");
        assert!(store.append(&project, &draft("b"), Timestamp::UNIX_EPOCH).is_err(), "it would be too long");
    }

    #[test]
    fn nothing_is_lost_or_torn_while_many_write_and_one_removes() {
        let (_temp, store, project) = store();
        let gate = Barrier::new(9);
        std::thread::scope(|threads| {
            for writer in 0..8 {
                let (store, project, gate) = (store.clone(), &project, &gate);
                threads.spawn(move || {
                    gate.wait();
                    for number in 0..25 {
                        let text = format!("{writer}/{number} {}", "x".repeat(3_000));
                        written(&store, project, &draft(&text));
                    }
                });
            }
            threads.spawn(|| {
                gate.wait();
                for number in 0..25 {
                    let passing = written(&store, &project, &draft(&format!("passing {number}"))).record.id;
                    let removed = store.remove(&project, KNOWLEDGE, &passing).expect("removed");
                    assert_eq!(removed.map(|record| record.id), Some(passing));
                }
            });
        });
        let log = store.log(&project, KNOWLEDGE).expect("read");
        assert_eq!((log.records().len(), log.damaged().len()), (200, 0));
        let mut ids: Vec<&RecordId> = log.records().iter().map(|record| &record.id).collect();
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), 200);
    }

    #[test]
    fn the_peers_folder_is_read_as_it_is() {
        let (_temp, store, project) = store();
        let peers = concat!(
            r#"{"id":"mem-lvuo8ow0-0a1b2c","at":"2024-05-06T08:00:00.000Z","category":"knowledge","content":"a","brief_id":"b","metadata":{"k":1}}"#,
            "\n\n{\"half\n",
            r#"{"id":"mem-lvuo8ow1-0a1b2c","at":"2024-05-06T08:00:00.001Z","category":"decisions","summary":"s","rationale":"r"}"#,
            "\n",
        );
        make_folder(&store.home.project(&project)).expect("made");
        fs::write(store.path(&project, KNOWLEDGE), peers).expect("written");
        let log = store.log(&project, KNOWLEDGE).expect("read");
        assert_eq!((log.records().len(), log.damaged().len()), (1, 2));
        written(&store, &project, &draft("b"));
        let file = fs::read_to_string(store.path(&project, KNOWLEDGE)).expect("there");
        assert!(file.starts_with(peers), "what is there stays as it is");
    }
}
