//! Verifies a pack of unknown origin where it lies, without unpacking it.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use adjutant_core::trace::EventKind;
use adjutant_core::trace::pack::{
    ARTIFACTS, Check, HASHES, JOURNAL, MANIFEST, MANIFEST_BYTES_MAX, Manifest, PROGRAM, PROGRAM_TEXT, RedactedChain,
};
use adjutant_core::trace::read::read_bytes;
use adjutant_core::trace::verify::{Artifact, JournalFinding, JournalReport, JournalVerdict};
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use super::{Hashing, each_line, hex};
use crate::lease::Seal;
use crate::pack::tar::Archive;
use crate::verify::{Sealed, verify_bytes};

/// The findings about a pack.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PackReport {
    /// The run, as the manifest says; absent if that can't be read.
    pub run: Option<String>,
    /// The answer in a word.
    pub verdict: JournalVerdict,
    /// The SHA-256 of the manifest, to compare with what was told when the pack was made.
    pub manifest_sha256: Option<String>,
    /// True if content was left out of the journal.
    pub redacted: bool,
    /// Number of lines of the journal.
    pub lines: u64,
    /// Number of those lines that are byte for byte as they were written.
    pub unchanged_lines: u64,
    /// Number of things that belong to the run and are not in the pack.
    pub left_out: u64,
    /// The faults of the pack.
    pub faults: Vec<String>,
    /// The findings about the journal, by line.
    pub findings: Vec<JournalFinding>,
    /// Notes for the person who verifies.
    pub notes: Vec<String>,
}

/// Verifies the pack at `path`, a file or a folder. Writes nothing.
///
/// # Errors
///
/// If there is nothing at `path`, or it can't be read. The faults of a pack are in the report.
pub fn verify_pack(path: &Path) -> io::Result<PackReport> {
    let mut report = PackReport {
        run: None,
        verdict: JournalVerdict::NotWhole,
        manifest_sha256: None,
        redacted: false,
        lines: 0,
        unchanged_lines: 0,
        left_out: 0,
        faults: Vec::new(),
        findings: Vec::new(),
        notes: Vec::new(),
    };
    let found = fs::metadata(path)?;
    let checked = if found.is_dir() {
        check(&mut Folder::list(path)?, &mut report)
    } else if !found.is_file() {
        // A pipe would be waited for.
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is neither a file nor a folder"));
    } else {
        let file = File::open(path)?;
        let bytes = file.metadata()?.len();
        check(&mut Archive::new(io::BufReader::new(file), bytes), &mut report)
    };
    if let Err(error) = checked {
        report.faults.push(error.to_string());
    }
    let is_whole = report.faults.is_empty() && report.findings.iter().all(|finding| !finding.is_fault);
    if is_whole {
        report.verdict = JournalVerdict::Whole;
    }
    Ok(report)
}

/// Files in their order; the content of the one that was named last is what [`Read`] gives.
trait PackFiles: Read {
    fn next(&mut self) -> io::Result<Option<(String, u64)>>;
}

impl<R: Read> PackFiles for Archive<R> {
    fn next(&mut self) -> io::Result<Option<(String, u64)>> {
        Archive::next(self)
    }
}

/// Goes on to the end of the pack, or to the first thing after which nothing more can be believed.
fn check(files: &mut impl PackFiles, report: &mut PackReport) -> io::Result<()> {
    let (name, bytes) = files.next()?.ok_or_else(|| io::Error::other("it is empty"))?;
    if name != MANIFEST || bytes > MANIFEST_BYTES_MAX {
        return Err(io::Error::other(format!("it does not begin with a `{MANIFEST}`: it is no evidence pack")));
    }
    let mut text = Vec::new();
    files.take(bytes).read_to_end(&mut text)?;
    report.manifest_sha256 = Some(hex(&Sha256::digest(&text)));
    let manifest = Manifest::read(&text).map_err(|why| io::Error::other(format!("`{MANIFEST}`: {why}")))?;
    report.run = Some(manifest.run.clone());
    report.redacted = manifest.journal.redacted;
    report.left_out = manifest.left_out.len() as u64;
    if manifest.journal.faults > 0 {
        let faults = manifest.journal.faults;
        report.faults.push(format!("the journal was not whole when the pack was made: {faults} faults"));
    }

    let mut check = Check::new(&manifest);
    let mut hashes = String::new();
    while let Some((name, bytes)) = files.next()? {
        check.admit(&name, bytes).map_err(io::Error::other)?;
        let mut content = Hashing::new(&mut *files);
        match name.as_str() {
            HASHES => {
                let mut read = Vec::new();
                content.read_to_end(&mut read)?;
                hashes = String::from_utf8(read).map_err(|_| io::Error::other(format!("`{HASHES}` is no text")))?;
            }
            JOURNAL if manifest.journal.redacted => redacted(&mut content, &hashes, &manifest, report)?,
            JOURNAL => journal(&mut content, &manifest, report)?,
            _ => {}
        }
        io::copy(&mut content, &mut io::sink())?;
        let facts = content.facts();
        if name == PROGRAM && facts.blake3 != blake3::hash(PROGRAM_TEXT.as_bytes()).to_hex().as_str() {
            report
                .notes
                .push(format!("`{PROGRAM}` is not the one that this version writes: read it before you run it"));
        }
        check.file(&name, &facts);
    }
    report.faults.extend(check.finish());
    Ok(())
}

fn journal(from: &mut impl Read, manifest: &Manifest, report: &mut PackReport) -> io::Result<()> {
    let facts = &manifest.journal;
    let seal = facts.last_seq.zip(facts.last_hash.clone()).map(|(seq, hash)| Seal { seq, hash, is_final: true });
    let artifact = |hash: &str| {
        if manifest.files.contains_key(&format!("{ARTIFACTS}{hash}")) {
            Artifact::Whole
        } else if manifest.left_out.iter().any(|left_out| left_out.hash.as_deref() == Some(hash)) {
            Artifact::LeftOut
        } else {
            Artifact::Missing
        }
    };
    let sealed = Sealed { seal, ..Sealed::default() };
    let found = verify_bytes(&manifest.run, from, &sealed, artifact).map_err(io::Error::other)?;
    report.unchanged_lines = found.lines;
    let JournalReport { lines, last_seq, last_hash, findings, .. } = found;
    // There is no run here to go on with.
    report.findings = findings.into_iter().map(|finding| JournalFinding { next: None, ..finding }).collect();
    compare(report, manifest, lines, last_seq, last_hash);
    Ok(())
}

fn redacted(from: &mut impl Read, hashes: &str, manifest: &Manifest, report: &mut PackReport) -> io::Result<()> {
    let mut chain = RedactedChain::new(hashes).map_err(io::Error::other)?;
    let (mut other, mut lost) = (None, None);
    let is_told =
        |hash: &String| manifest.left_out.iter().any(|left_out| left_out.hash.as_deref() == Some(hash.as_str()));
    each_line(from, |line| {
        chain.line(line);
        other =
            other.take().or_else(|| named_in(line, EventKind::RunStart, "run_id")).filter(|run| *run != manifest.run);
        lost = lost.take().or_else(|| named_in(line, EventKind::ToolResult, "artifact").filter(|hash| !is_told(hash)));
        Ok(())
    })?;
    let found = chain.finish();
    report.faults.extend(other.map(|run| format!("the journal is of the run `{}`", run.escape_debug())));
    report.faults.extend(lost.map(|hash| {
        format!("the journal names the content {}, which is not said to be left out", hash.escape_debug())
    }));
    report.unchanged_lines = found.unchanged;
    report.findings = found.findings;
    report.notes.push(
        "content was left out: of the lines that lack some, place and number are proven, and nothing else".to_owned(),
    );
    compare(report, manifest, found.lines, found.last_seq, found.last_hash);
    Ok(())
}

/// Returns the field `field` of a line, if the line has the type `kind`.
fn named_in(line: &[u8], kind: EventKind, field: &str) -> Option<String> {
    memchr::memmem::find(line, format!(r#""type":"{}""#, kind.as_str()).as_bytes())?;
    let trace = read_bytes(line);
    let found = trace.lines.first().filter(|line| line.kind == kind)?;
    found.fields.text(field).map(std::borrow::Cow::into_owned)
}

fn compare(report: &mut PackReport, manifest: &Manifest, lines: u64, last_seq: Option<u64>, last_hash: Option<String>) {
    let facts = &manifest.journal;
    report.lines = lines;
    if (lines, last_seq, &last_hash) != (facts.lines, facts.last_seq, &facts.last_hash) {
        let (seq, said) = (last_seq.unwrap_or_default(), facts.last_seq.unwrap_or_default());
        report.faults.push(format!(
            "the journal has {lines} lines up to `seq` {seq}, where the manifest says {} up to {said}, or its last line \
             is another",
            facts.lines
        ));
    }
}

/// A pack that was unpacked, or written as a folder.
struct Folder {
    root: PathBuf,
    names: std::vec::IntoIter<String>,
    open: Option<File>,
}

impl Folder {
    /// The names of what is there, in ascending order.
    fn list(root: &Path) -> io::Result<Self> {
        let mut names = Vec::new();
        for prefix in ["", ARTIFACTS] {
            let folder = root.join(prefix);
            if !prefix.is_empty() && !folder.symlink_metadata().is_ok_and(|found| found.is_dir()) {
                continue;
            }
            for entry in fs::read_dir(folder)? {
                let name = format!("{prefix}{}", entry?.file_name().to_string_lossy());
                if name != ARTIFACTS.trim_end_matches('/') || !root.join(&name).symlink_metadata()?.is_dir() {
                    names.push(name);
                }
            }
        }
        names.sort_unstable();
        Ok(Self { root: root.to_owned(), names: names.into_iter(), open: None })
    }
}

impl PackFiles for Folder {
    fn next(&mut self) -> io::Result<Option<(String, u64)>> {
        let Some(name) = self.names.next() else { return Ok(None) };
        let no_link = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
        let flags = i32::try_from(no_link.bits()).unwrap_or_default();
        let file = File::options().read(true).custom_flags(flags).open(self.root.join(&name));
        let plain = file.and_then(|file| Ok((file.metadata()?, file))).ok().filter(|(found, _)| found.is_file());
        let Some((found, file)) = plain else {
            return Err(io::Error::other(format!("`{}` is no plain file that can be read", name.escape_debug())));
        };
        self.open = Some(file);
        Ok(Some((name, found.len())))
    }
}

impl Read for Folder {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.open.as_mut().map_or(Ok(0), |file| file.read(into))
    }
}
