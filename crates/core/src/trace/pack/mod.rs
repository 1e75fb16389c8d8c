//! Checks the contents of an evidence pack against its manifest: files that a third party checks without our home.
//!
//! In: a manifest, and the name and hashes of each file as it was found. Out: the faults. A pack has a fixed set of
//! names in ascending order, each with its hashes in the manifest, so that nothing can be added, removed, changed or
//! put elsewhere. A manifest can't show that it is itself the one that was made: its hash is printed when the pack is
//! made, for a later comparison. Reads and writes no file.
//!
//! Begin with [`Manifest`] and [`Check`]; [`RedactedChain`] checks a journal from which content was left out.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::redact::is_marked;
use super::verify::{FindingKind, JournalFinding};
use super::wire::{self, PREV_CHARS};

/// The format that a manifest names.
pub const FORMAT: &str = "adjutant-evidence-pack";

/// The version of packs that is written, and the newest that is read.
pub const VERSION: u32 = 1;

/// The manifest: the first file of a pack.
pub const MANIFEST: &str = "MANIFEST.json";
/// The page that explains how to verify the pack.
pub const PAGE: &str = "VERIFY.md";
/// The journal.
pub const JOURNAL: &str = "journal.ndjson";
/// The hashes of the lines of a redacted journal, as they were: 64 digits for each.
pub const HASHES: &str = "hashes.txt";
/// The program that verifies the pack with nothing but Python.
pub const PROGRAM: &str = "verify.py";
/// The folder of contents, each named by its hash.
pub const ARTIFACTS: &str = "artifacts/";

/// The text of [`PAGE`].
pub const PAGE_TEXT: &str = include_str!("VERIFY.md");
/// The text of [`PROGRAM`].
pub const PROGRAM_TEXT: &str = include_str!("verify.py");

/// The largest manifest that is read, in bytes: a line for each of a hundred thousand contents.
pub const MANIFEST_BYTES_MAX: u64 = 32 * 1024 * 1024;

/// The run of a pack, and its files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// [`FORMAT`].
    pub format: String,
    /// [`VERSION`].
    pub version: u32,
    /// The run.
    pub run: String,
    /// The version of the program that made the pack.
    pub adjutant_version: String,
    /// Facts about the journal.
    pub journal: JournalFacts,
    /// Every file but the manifest.
    pub files: BTreeMap<String, FileFacts>,
    /// Things that belong to the run and are not in the pack.
    pub left_out: Vec<LeftOut>,
}

/// Facts about the journal in a pack, from the time of packing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JournalFacts {
    /// True if content was left out of it.
    pub redacted: bool,
    /// Number of whole lines.
    pub lines: u64,
    /// The number of the last line.
    pub last_seq: Option<u64>,
    /// The short hash of the last line, as it was written.
    pub last_hash: Option<String>,
    /// Number of faults found in it at the time of packing.
    pub faults: u64,
}

/// Length and hashes of one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileFacts {
    /// Its length.
    pub bytes: u64,
    /// Its BLAKE3, 64 hexadecimal digits.
    pub blake3: String,
    /// Its SHA-256, for those who have no BLAKE3.
    pub sha256: String,
}

/// Something that belongs to the run and is not in the pack.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// Name of the thing.
    pub what: String,
    /// Its hash, if it is a content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
    /// Reason for leaving it out.
    pub why: String,
}

impl Manifest {
    /// The manifest in `text`.
    ///
    /// # Errors
    ///
    /// Describes its fault, as half a sentence.
    pub fn read(text: &[u8]) -> Result<Self, String> {
        let manifest: Self = serde_json::from_slice(text).map_err(|error| format!("it can't be read: {error}"))?;
        if manifest.format != FORMAT {
            return Err("it is not the manifest of an evidence pack".to_owned());
        }
        if manifest.version > VERSION {
            return Err(format!("it has version {}, and this program knows up to {VERSION}", manifest.version));
        }
        let named = |name: &str| manifest.files.contains_key(name);
        if let Some(name) = manifest.files.keys().find(|name| !is_name(name)) {
            return Err(format!("it names `{}`, which no pack holds", shown(name)));
        }
        if let Some(name) = [PAGE, JOURNAL, PROGRAM].into_iter().find(|name| !named(name)) {
            return Err(format!("it does not name `{name}`, which every pack holds"));
        }
        if named(HASHES) != manifest.journal.redacted {
            return Err(format!("`{HASHES}` belongs to a redacted journal, and to no other"));
        }
        Ok(manifest)
    }

    /// Its text.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).expect("a manifest has string keys and no floats");
        text.push('\n');
        text
    }
}

/// Returns true if a file of this name can be in a pack besides the manifest.
#[must_use]
pub fn is_name(name: &str) -> bool {
    matches!(name, PAGE | JOURNAL | HASHES | PROGRAM) || name.strip_prefix(ARTIFACTS).is_some_and(is_hash)
}

fn is_hash(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// A name as it may be shown.
fn shown(name: &str) -> String {
    name.chars().take(80).flat_map(char::escape_debug).collect()
}

/// Compares files with a manifest, in the order in which they are found.
#[derive(Debug)]
pub struct Check<'m> {
    manifest: &'m Manifest,
    last: Option<String>,
    found: u64,
    faults: Vec<String>,
}

impl<'m> Check<'m> {
    /// Against this manifest.
    #[must_use]
    pub fn new(manifest: &'m Manifest) -> Self {
        Self { manifest, last: None, found: 0, faults: Vec::new() }
    }

    /// Checks that a file of this name and length belongs there, before anything of it is read.
    ///
    /// # Errors
    ///
    /// Describes the fault; then the file need not be read.
    pub fn admit(&mut self, name: &str, bytes: u64) -> Result<&'m FileFacts, String> {
        let Some(facts) = self.manifest.files.get(name) else {
            return Err(format!("`{}` is not in the manifest: it was added", shown(name)));
        };
        if self.last.as_deref().is_some_and(|last| last >= name) {
            return Err(format!("`{}` is not in its place: files come in ascending order, each once", shown(name)));
        }
        self.last = Some(name.to_owned());
        self.found += 1;
        if facts.bytes != bytes {
            return Err(format!("`{name}` has {bytes} bytes where the manifest says {}: it was changed", facts.bytes));
        }
        Ok(facts)
    }

    /// Takes note of what was read of a file that was admitted.
    pub fn file(&mut self, name: &str, found: &FileFacts) {
        let is_same = self.manifest.files.get(name) == Some(found);
        let is_named_so = name.strip_prefix(ARTIFACTS).is_none_or(|hash| hash == found.blake3);
        if !is_same {
            self.faults.push(format!("`{}` is not what the manifest says: it was changed", shown(name)));
        } else if !is_named_so {
            self.faults.push(format!("`{}` is not what its name says", shown(name)));
        }
    }

    /// All that is wrong, missing files included.
    #[must_use]
    pub fn finish(mut self) -> Vec<String> {
        let missing = (self.manifest.files.len() as u64).saturating_sub(self.found);
        if missing > 0 {
            self.faults.push(format!("{missing} files that the manifest names are not there: they were removed"));
        }
        self.faults
    }
}

/// Checks a journal from which content was left out against the hashes of its lines as they were.
#[derive(Debug)]
pub struct RedactedChain<'h> {
    hashes: Vec<&'h str>,
    lines: u64,
    unchanged: u64,
    last_seq: Option<u64>,
    findings: Vec<JournalFinding>,
}

/// Findings about a redacted journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RedactedReading {
    /// Number of lines.
    pub lines: u64,
    /// Number of lines that are byte for byte as they were written.
    pub unchanged: u64,
    /// The number of the last line.
    pub last_seq: Option<u64>,
    /// The short hash of the last line, as it was written.
    pub last_hash: Option<String>,
    /// The findings, by line.
    pub findings: Vec<JournalFinding>,
}

impl<'h> RedactedChain<'h> {
    /// With the hashes as [`HASHES`] has them: one on each line.
    ///
    /// # Errors
    ///
    /// The first line that is no hash.
    pub fn new(hashes: &'h str) -> Result<Self, String> {
        let hashes: Vec<&str> = hashes.lines().collect();
        match hashes.iter().position(|hash| !is_hash(hash)) {
            Some(at) => Err(format!("line {} of `{HASHES}` is no hash", at + 1)),
            None => Ok(Self { hashes, lines: 0, unchanged: 0, last_seq: None, findings: Vec::new() }),
        }
    }

    /// Takes the next line, without its line feed.
    pub fn line(&mut self, line: &[u8]) {
        let index = usize::try_from(self.lines).unwrap_or(usize::MAX);
        self.lines += 1;
        let Some(hash) = self.hashes.get(index) else {
            return self.fault(FindingKind::LastLineChanged, "there is no hash for it: it was added");
        };
        let is_unchanged = blake3::hash(line).to_hex().as_str() == *hash;
        self.unchanged += u64::from(is_unchanged);
        let text = std::str::from_utf8(line).unwrap_or_default();
        if !is_unchanged && !is_marked(text) {
            return self.fault(FindingKind::BrokenLink, "it is neither what was written nor redacted: it was changed");
        }
        let Some((seq, prev)) = wire::head(text).ok().and_then(|head| Some((head.seq?, head.prev))) else {
            return self.fault(FindingKind::Unreadable, "it could not be read when it was packed");
        };
        let expected = self.last_seq.map_or(0, |last| last.saturating_add(1));
        self.last_seq = Some(seq);
        if seq != expected {
            return self.fault(FindingKind::Gap, &format!("its `seq` is {seq} where {expected} should follow"));
        }
        let before = index.checked_sub(1).and_then(|before| self.hashes.get(before));
        if prev.as_deref() != before.map(|hash| &hash[..PREV_CHARS]) {
            self.fault(FindingKind::BrokenLink, "its `prev` is not the hash of the line before, as that was written");
        }
    }

    /// Returns the findings.
    #[must_use]
    pub fn finish(mut self) -> RedactedReading {
        let hashes = self.hashes.len() as u64;
        if self.lines < hashes {
            self.lines += 1;
            self.fault(FindingKind::LinesMissing, &format!("there are hashes of {hashes} lines: lines were removed"));
            self.lines -= 1;
        }
        RedactedReading {
            lines: self.lines,
            unchanged: self.unchanged,
            last_seq: self.last_seq,
            last_hash: self.hashes.last().map(|hash| hash[..PREV_CHARS].to_owned()),
            findings: self.findings,
        }
    }

    fn fault(&mut self, kind: FindingKind, what: &str) {
        let what = what.to_owned();
        self.findings.push(JournalFinding { line: Some(self.lines), kind, is_fault: true, what, next: None });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::redact::redact_line;

    fn facts(content: &[u8]) -> FileFacts {
        FileFacts {
            bytes: content.len() as u64,
            blake3: blake3::hash(content).to_hex().to_string(),
            sha256: "0".repeat(64),
        }
    }

    fn manifest() -> Manifest {
        let artifact = format!("{ARTIFACTS}{}", blake3::hash(b"content").to_hex());
        let files = [(PAGE, &b"page"[..]), (JOURNAL, b"journal"), (PROGRAM, b"program"), (&artifact, b"content")];
        Manifest {
            format: FORMAT.to_owned(),
            version: VERSION,
            run: "r".to_owned(),
            adjutant_version: "0".to_owned(),
            journal: JournalFacts { redacted: false, lines: 1, last_seq: Some(0), last_hash: None, faults: 0 },
            files: files.into_iter().map(|(name, content)| (name.to_owned(), facts(content))).collect(),
            left_out: Vec::new(),
        }
    }

    #[test]
    fn a_manifest_names_what_a_pack_holds_and_nothing_else() {
        let good = manifest();
        assert_eq!(Manifest::read(good.text().as_bytes()), Ok(good.clone()));
        let hash = "a".repeat(64);
        for (name, is_there) in [
            ("../x", true),
            ("/etc/passwd", true),
            ("artifacts/../x", true),
            (&*format!("artifacts/{}", hash.to_uppercase()), true),
            ("artifacts/", true),
            ("MANIFEST.json", true),
            (HASHES, true),
            (JOURNAL, false),
            (PROGRAM, false),
        ] {
            let mut bad = good.clone();
            if is_there {
                bad.files.insert(name.to_owned(), facts(b""));
            } else {
                bad.files.remove(name);
            }
            assert!(Manifest::read(bad.text().as_bytes()).is_err(), "{name}");
        }
        for change in [
            |bad: &mut Manifest| bad.version += 1,
            |bad: &mut Manifest| bad.format.push('x'),
            |bad: &mut Manifest| bad.journal.redacted = true,
        ] {
            let mut bad = good.clone();
            change(&mut bad);
            assert!(Manifest::read(bad.text().as_bytes()).is_err());
        }
        for text in ["", "null", "{}", "[]"] {
            assert!(Manifest::read(text.as_bytes()).is_err());
        }
    }

    #[test]
    fn each_file_is_there_once_in_its_place_and_unchanged() {
        let manifest = manifest();
        let artifact = manifest.files.keys().nth(1).expect("a content").clone();
        let all: [(&str, &[u8]); 4] =
            [(PAGE, b"page"), (&artifact, b"content"), (JOURNAL, b"journal"), (PROGRAM, b"program")];
        let faults = |files: &[(&str, &[u8])]| {
            let mut check = Check::new(&manifest);
            for (name, content) in files {
                match check.admit(name, content.len() as u64) {
                    Ok(_) => check.file(name, &facts(content)),
                    Err(why) => return vec![why],
                }
            }
            check.finish()
        };
        assert_eq!(faults(&all), Vec::<String>::new());
        for index in 0..all.len() {
            let mut changed = all;
            let other = vec![b'x'; all[index].1.len()];
            changed[index].1 = &other;
            assert!(faults(&changed)[0].contains("was changed"), "{index}");
            changed[index].1 = b"of another length";
            assert!(faults(&changed)[0].contains("bytes where"), "{index}");
            let removed: Vec<_> =
                all.iter().copied().enumerate().filter(|(at, _)| *at != index).map(|(_, f)| f).collect();
            assert!(faults(&removed)[0].contains("were removed"), "{index}");
            let mut swapped = all;
            swapped.swap(index, (index + 1) % all.len());
            assert!(faults(&swapped)[0].contains("not in its place"), "{index}");
            let twice: Vec<_> = all[..=index].iter().chain(&all[index..]).copied().collect();
            assert!(faults(&twice)[0].contains("not in its place"), "{index}");
        }
        assert!(faults(&[(PAGE, b"page"), ("../x", b"")])[0].contains("was added"));
    }

    /// A journal of three lines, the second with content.
    fn lines() -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        let rest = [
            r#""type":"expired","slot":"ask/1.1""#,
            r#""type":"warning","text":"a secret""#,
            r#""type":"warning","text":"""#,
        ];
        for (seq, rest) in rest.iter().enumerate() {
            let prev = lines.last().map(|line| format!(r#","prev":"{}""#, wire::line_hash(line.as_bytes())));
            let prev = prev.unwrap_or_default();
            lines.push(format!(r#"{{"seq":{seq},"at":"2026-01-02T03:04:05.678Z",{rest}{prev}}}"#));
        }
        lines
    }

    fn read(lines: &[String], hashes: &str) -> RedactedReading {
        let mut chain = RedactedChain::new(hashes).expect("hashes");
        lines.iter().for_each(|line| chain.line(line.as_bytes()));
        chain.finish()
    }

    #[test]
    fn a_redacted_journal_is_checked_by_the_hashes_of_its_lines() {
        let original = lines();
        let hashes: String =
            original.iter().map(|line| format!("{}\n", blake3::hash(line.as_bytes()).to_hex())).collect();
        let redacted: Vec<String> = original.iter().map(|line| redact_line(line).into_owned()).collect();
        let good = read(&redacted, &hashes);
        assert_eq!((good.lines, good.unchanged, good.findings.len()), (3, 2, 0), "{good:?}");
        assert_eq!(good.last_hash, Some(wire::line_hash(original[2].as_bytes())));

        let faulty = |lines: &[String]| read(lines, &hashes).findings.first().map(|finding| finding.line.unwrap_or(0));
        for index in 0..3 {
            let mut removed = redacted.clone();
            removed.remove(index);
            assert!(faulty(&removed).is_some(), "{index} removed");
            let mut twice = redacted.clone();
            twice.insert(index, redacted[index].clone());
            assert!(faulty(&twice).is_some(), "{index} twice");
            let mut swapped = redacted.clone();
            swapped.swap(index, (index + 1) % 3);
            assert!(faulty(&swapped).is_some(), "{index} swapped");
        }
        let mut changed = redacted.clone();
        changed[2] = changed[2].replace("05.678Z", "06.678Z");
        assert_eq!(faulty(&changed), Some(3), "a line without content can't be changed");
        let mut other = hashes.clone();
        other.replace_range(0..1, if hashes.starts_with('0') { "1" } else { "0" });
        assert_eq!(read(&redacted, &other).findings[0].line, Some(1));
        assert!(RedactedChain::new("short\n").is_err());
    }

    #[test]
    fn what_a_redacted_line_says_is_not_proven() {
        let original = lines();
        let hashes: String =
            original.iter().map(|line| format!("{}\n", blake3::hash(line.as_bytes()).to_hex())).collect();
        let mut redacted: Vec<String> = original.iter().map(|line| redact_line(line).into_owned()).collect();
        redacted[1] = redacted[1].replace("05.678Z", "06.678Z");
        let reading = read(&redacted, &hashes);
        assert!(reading.findings.is_empty() && reading.unchanged == 2, "as docs/observability.md says: {reading:?}");
    }
}
