//! Evidence packs: a run's journal with what it names, in one file or folder, for whoever has no home of ours.
//!
//! In: a run. Out: a pack, the same bytes each time as long as the journal is the same. Or in: a pack of unknown
//! origin. Out: what is wrong with it; nothing of it is written to the disk, and nothing is believed before it was
//! checked. What belongs into a pack is core's.
//!
//! Begin with [`Packing::of`] and [`verify_pack`]. `tar.rs` knows the one form of archive that is written and read.

mod check;
mod tar;
#[cfg(test)]
mod tests;

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, BufWriter, Read, Seek as _, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;

use adjutant_core::trace::pack::{
    ARTIFACTS, FORMAT, FileFacts, HASHES, JOURNAL, JournalFacts, LeftOut, MANIFEST, Manifest, PAGE, PAGE_TEXT, PROGRAM,
    PROGRAM_TEXT, VERSION,
};
use adjutant_core::trace::redact::redact_line;
use adjutant_core::trace::verify::{Artifact, Verifier};
use adjutant_core::words::id::RunId;
use jiff::Timestamp;
use sha2::{Digest as _, Sha256};

pub use check::{PackReport, verify_pack};

use crate::artifacts::Artifacts;
use crate::home::Home;
use crate::journal::OpenError;
use crate::lease::Owner;
use crate::recover::{self, JournalEnd, Loss};
use crate::verify::{self, Sealed};

/// The amount of content that a pack shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PackContent {
    /// Everything.
    Whole,
    /// Not what anybody said, wrote or read.
    Redacted,
}

/// A pack that is about to be written.
#[derive(Debug)]
pub struct Packing {
    manifest: Manifest,
    content: PackContent,
    journal: File,
    whole_bytes: u64,
    artifacts: Artifacts,
}

/// Facts about a pack that was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packed {
    /// The SHA-256 of its manifest: whoever has it from us knows the pack for ours.
    pub manifest_sha256: String,
    /// Its number of files.
    pub files: u64,
}

impl Packing {
    /// A pack of `run_id` as its journal stands. `seer` and `now` are for telling whether its driver is alive.
    ///
    /// # Errors
    ///
    /// [`OpenError`] if the journal is not there, can't be read, or is not one of ours.
    pub fn of(
        home: &Home,
        run_id: &RunId,
        content: PackContent,
        seer: &Owner,
        now: Timestamp,
    ) -> Result<Self, OpenError> {
        verify::by_its_lease(home, run_id, seer, now, |sealed| Self::as_sealed(home, run_id, content, sealed))
    }

    /// The same by what its lease says, and whether lines were added behind those that it names.
    fn as_sealed(
        home: &Home,
        run_id: &RunId,
        content: PackContent,
        sealed: &Sealed,
    ) -> Result<(Self, bool), OpenError> {
        let path = home.journal(run_id);
        let unusable = |source| OpenError::Unusable { path: path.clone(), source };
        let mut journal = crate::plain_file::open(&path).map_err(|error| OpenError::unopened(run_id, &path, error))?;
        // A driver may append meanwhile: what is there now is packed.
        let length = journal.metadata().map_err(unusable)?.len();
        let mut verifier = Verifier::default();
        let seal = sealed.seal.as_ref();
        let reading = recover::read_each((&mut journal).take(length), seal, Loss::CantBe, |line, event| {
            verifier.event(line, &event);
        })
        .map_err(|error| OpenError::unread(&path, error))?;

        let artifacts = Artifacts::new(home.artifacts());
        let mut files = std::collections::BTreeMap::new();
        let mut left_out = Vec::new();
        for (hash, _) in verifier.artifacts() {
            let missing = match content {
                PackContent::Redacted => "it is content",
                PackContent::Whole => {
                    if let Some(kept) = artifacts.kept(hash) {
                        let facts = facts_of(&mut &kept[..]).map_err(unusable)?;
                        files.insert(format!("{ARTIFACTS}{hash}"), facts);
                        continue;
                    }
                    "it was gone or changed when the pack was made"
                }
            };
            left_out.push(LeftOut { what: "artifact".into(), hash: Some(hash.to_owned()), why: missing.into() });
        }
        if content == PackContent::Redacted {
            left_out.push(LeftOut {
                what: "what anybody said, wrote or read".into(),
                hash: None,
                why: "the journal was redacted".into(),
            });
        }
        if let JournalEnd::Torn { bytes } = reading.tail {
            left_out.push(LeftOut {
                what: format!("{bytes} bytes behind the last line"),
                hash: None,
                why: "they are no whole line".into(),
            });
        }
        let whole_bytes = reading.whole_bytes;
        let state = |hash: &str| match content {
            // That it is left out is no fault; that it is gone is one.
            PackContent::Redacted => match artifacts.state(hash) {
                Artifact::Whole => Artifact::LeftOut,
                lost => lost,
            },
            PackContent::Whole if files.contains_key(&format!("{ARTIFACTS}{hash}")) => Artifact::Whole,
            PackContent::Whole => Artifact::Missing,
        };
        let report = verifier.report(run_id.as_str(), verify::facts(reading, sealed), state);
        let is_added = verify::has_lines_added(&report);
        let faults = report.findings.iter().filter(|finding| finding.is_fault).count() as u64;
        let mut packing = Self {
            manifest: Manifest {
                format: FORMAT.to_owned(),
                version: VERSION,
                run: run_id.to_string(),
                adjutant_version: env!("CARGO_PKG_VERSION").to_owned(),
                journal: JournalFacts {
                    redacted: content == PackContent::Redacted,
                    lines: report.lines,
                    last_seq: report.last_seq,
                    last_hash: report.last_hash,
                    faults,
                },
                files,
                left_out,
            },
            content,
            journal,
            whole_bytes,
            artifacts,
        };
        let mut made =
            vec![(PAGE, facts_of(&mut PAGE_TEXT.as_bytes())), (PROGRAM, facts_of(&mut PROGRAM_TEXT.as_bytes()))];
        made.push((JOURNAL, packing.facts(JOURNAL)));
        if content == PackContent::Redacted {
            made.push((HASHES, packing.facts(HASHES)));
        }
        for (name, facts) in made {
            packing.manifest.files.insert(name.to_owned(), facts.map_err(unusable)?);
        }
        Ok((packing, is_added))
    }

    /// The manifest.
    #[must_use]
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Writes the pack as one file into `to`.
    ///
    /// # Errors
    ///
    /// If it can't be written, or what it is of has changed meanwhile.
    pub fn write_tar(mut self, to: impl Write) -> io::Result<Packed> {
        let mut to = BufWriter::new(to);
        self.write_each(|packing, name, bytes| {
            to.write_all(&tar::header(name, bytes)?)?;
            packing.write(name, &mut to)?;
            to.write_all(&tar::padding(bytes))
        })?;
        to.write_all(&tar::END)?;
        to.flush()?;
        Ok(self.packed())
    }

    /// Writes the pack as a folder, which is made and must not be there. What could not be written whole is removed
    /// again.
    ///
    /// # Errors
    ///
    /// As [`Self::write_tar`].
    pub fn write_folder(mut self, folder: &Path) -> io::Result<Packed> {
        let make = |folder: &Path| fs::DirBuilder::new().mode(0o700).create(folder);
        make(folder)?;
        let has_contents = self.manifest.files.keys().any(|name| name.starts_with(ARTIFACTS));
        let made = if has_contents { make(&folder.join(ARTIFACTS)) } else { Ok(()) };
        let written = made.and_then(|()| {
            self.write_each(|packing, name, _| {
                let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(folder.join(name))?;
                let mut file = BufWriter::new(file);
                packing.write(name, &mut file)?;
                file.flush()
            })
        });
        if let Err(error) = written {
            fs::remove_dir_all(folder).ok();
            return Err(error);
        }
        Ok(self.packed())
    }

    fn packed(&self) -> Packed {
        Packed {
            manifest_sha256: hex(&Sha256::digest(self.manifest.text())),
            files: self.manifest.files.len() as u64 + 1,
        }
    }

    fn write_each(&mut self, mut each: impl FnMut(&mut Self, &str, u64) -> io::Result<()>) -> io::Result<()> {
        let bytes = self.manifest.text().len() as u64;
        let files = self.manifest.files.iter().map(|(name, facts)| (name.clone(), facts.bytes));
        for (name, bytes) in std::iter::once((MANIFEST.to_owned(), bytes)).chain(files.collect::<Vec<_>>()) {
            each(self, &name, bytes)?;
        }
        Ok(())
    }

    /// Writes one file, and makes sure that it is what the manifest says.
    fn write(&mut self, name: &str, to: &mut impl Write) -> io::Result<()> {
        let mut hashing = Hashing::new(to);
        self.produce(name, &mut hashing)?;
        let found = hashing.facts();
        match self.manifest.files.get(name) {
            Some(expected) if *expected != found => {
                Err(io::Error::other(format!("`{name}` changed while the pack was made: try again")))
            }
            _ => Ok(()),
        }
    }

    fn facts(&mut self, name: &str) -> io::Result<FileFacts> {
        let mut hashing = Hashing::new(io::sink());
        self.produce(name, &mut hashing)?;
        Ok(hashing.facts())
    }

    fn produce(&mut self, name: &str, to: &mut impl Write) -> io::Result<()> {
        match name {
            MANIFEST => to.write_all(self.manifest.text().as_bytes()),
            PAGE => to.write_all(PAGE_TEXT.as_bytes()),
            PROGRAM => to.write_all(PROGRAM_TEXT.as_bytes()),
            JOURNAL if self.content == PackContent::Whole => {
                self.journal.seek(SeekFrom::Start(0))?;
                io::copy(&mut (&mut self.journal).take(self.whole_bytes), to).map(drop)
            }
            JOURNAL => self.each_line(|line| redact_bytes(line, to)),
            HASHES => self.each_line(|line| writeln!(to, "{}", blake3::hash(line).to_hex())),
            other => {
                let hash = other.strip_prefix(ARTIFACTS).unwrap_or(other);
                let gone = || io::Error::other(format!("the content {hash} is gone: try again"));
                to.write_all(&self.artifacts.kept(hash).ok_or_else(gone)?)
            }
        }
    }

    fn each_line(&mut self, each: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
        self.journal.seek(SeekFrom::Start(0))?;
        each_line((&mut self.journal).take(self.whole_bytes), each)
    }
}

/// Writes the redacted form of `line`, with a line feed.
///
/// # Errors
///
/// If it can't be written.
pub fn redact_bytes(line: &[u8], to: &mut (impl Write + ?Sized)) -> io::Result<()> {
    // What is no text can't be read as an event, and says how long it was.
    let text = String::from_utf8_lossy(line);
    to.write_all(redact_line(&text).as_bytes())?;
    to.write_all(b"\n")
}

/// Hands each line of `from` to `each`, without its line feed.
///
/// # Errors
///
/// Those of `from` and `each`.
pub fn each_line(from: impl Read, mut each: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
    let mut from = BufReader::with_capacity(256 * 1024, from);
    let mut line = Vec::new();
    loop {
        line.clear();
        if from.read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        each(line.strip_suffix(b"\n").unwrap_or(&line))?;
    }
}

fn facts_of(from: &mut impl Read) -> io::Result<FileFacts> {
    let mut hashing = Hashing::new(io::sink());
    io::copy(from, &mut hashing)?;
    Ok(hashing.facts())
}

/// Passes bytes on, and knows what they were.
struct Hashing<I> {
    inner: I,
    bytes: u64,
    blake3: blake3::Hasher,
    sha256: Sha256,
}

impl<I> Hashing<I> {
    fn new(inner: I) -> Self {
        Self { inner, bytes: 0, blake3: blake3::Hasher::new(), sha256: Sha256::new() }
    }

    fn facts(self) -> FileFacts {
        FileFacts {
            bytes: self.bytes,
            blake3: self.blake3.finalize().to_hex().to_string(),
            sha256: hex(&self.sha256.finalize()),
        }
    }

    fn passed(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        self.blake3.update(bytes);
        self.sha256.update(bytes);
    }
}

impl<W: Write> Write for Hashing<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.passed(bytes.get(..written).unwrap_or_default());
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

impl<R: Read> Read for Hashing<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(into)?;
        self.passed(into.get(..read).unwrap_or_default());
        Ok(read)
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
