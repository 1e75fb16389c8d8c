//! `adjutant trace export`: a run's record for others.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufReader, BufWriter, IsTerminal as _, Read as _, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use adjutant_core::trace::otlp::{Content, Projection, Traces, to_json};
use adjutant_core::trace::verify::JournalVerdict;
use adjutant_core::words::id::RunId;
use adjutant_core::words::text::count_of;
use adjutant_core::words::visible::visible_json;
use adjutant_store::home::JOURNAL_ENDING;
use adjutant_store::pack::{self, Packed, Packing};
use adjutant_store::plain_file;
use adjutant_store::recover::{self, Loss};
use adjutant_store::runs::{self, Found};
use adjutant_store::{Home, OpenError, Owner, verify};
use anyhow::Context as _;
use clap_complete::ArgValueCandidates;
use jiff::Timestamp;

use super::send;
use crate::candidates;
use crate::command::not_found;
use crate::exit::Ending;
use crate::failure::Failure;
use crate::settings::Place;
/// Write the record of a run for others
///
/// As it is (`ndjson`), as OpenTelemetry traces (`otlp-json`, `otlp-grpc`), or as an evidence pack that a third party
/// verifies without a home (`pack`). Nothing is sent anywhere but to the endpoint that you give. Traces hold no
/// prompts, replies, arguments or results unless you ask for them; lines and packs do unless you say `--redact`.
#[derive(Debug, clap::Args)]
pub(super) struct ExportArgs {
    /// The run: its name, a unique beginning of it, or its brief's id for the latest (`ID-r1`: the first)
    #[arg(add = ArgValueCandidates::new(candidates::runs))]
    run: String,
    /// What is written
    #[arg(long, value_enum, default_value_t = ExportFormat::Ndjson)]
    format: ExportFormat,
    /// Leave out what anybody said, wrote or read: structure, numbers and hashes stay
    #[arg(long)]
    redact: bool,
    /// Put prompts, replies, arguments and results into the traces
    #[arg(long)]
    with_content: bool,
    /// Where to, instead of stdout (`-`): a new file; for a pack also a new folder, with a `/` at the end
    #[arg(long, value_name = "FILE", conflicts_with = "endpoint")]
    output: Option<PathBuf>,
    /// Send the traces to the collector at this address, such as http://localhost:4318, or :4317 for `otlp-grpc`
    #[arg(long, value_name = "URL")]
    endpoint: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum ExportFormat {
    /// The journal's lines
    Ndjson,
    /// OpenTelemetry traces as JSON
    OtlpJson,
    /// OpenTelemetry traces over gRPC
    OtlpGrpc,
    /// An evidence pack
    Pack,
}

pub(super) fn run(args: &ExportArgs, place: &Place) -> anyhow::Result<Ending> {
    check(args)?;
    let home = place.home()?;
    let found = runs::find(&home, &args.run).map_err(not_found)?;
    match (args.format, found) {
        (ExportFormat::Ndjson, Found::Run(run_id)) => {
            lines(args, &home.journal(&run_id))?;
            warn(&home, &run_id);
            Ok(())
        }
        (ExportFormat::Ndjson, Found::Peer(name)) => {
            lines(args, &home.sessions().join(format!("{name}{JOURNAL_ENDING}")))
        }
        (_, Found::Peer(name)) => {
            return Err(Failure::usage(format!(
                "`{name}` is a session of another program: its lines can be written only"
            ))
            .hint("give `--format ndjson`")
            .into());
        }
        (ExportFormat::Pack, Found::Run(run_id)) => packed(args, &home, &run_id),
        (ExportFormat::OtlpJson | ExportFormat::OtlpGrpc, Found::Run(run_id)) => traces(args, &home, &run_id),
    }?;
    Ok(Ending::Done)
}

impl ExportArgs {
    /// The file; none for stdout, which is `-` too.
    fn output(&self) -> Option<&Path> {
        self.output.as_deref().filter(|path| path.as_os_str() != "-")
    }
}

/// Says that a run's journal is not whole, if it is not: of what is exported that can't be seen.
fn warn(home: &Home, run_id: &RunId) {
    let report = verify::verify(home, run_id, &Owner::current(), Timestamp::now());
    if report.is_ok_and(|report| report.verdict == JournalVerdict::NotWhole) {
        let called = runs::called(home, run_id);
        tell!("warning: the journal is not whole; `adjutant trace verify {called}` says what is wrong");
    }
}

/// Refuses options that don't go together, before anything is read.
fn check(args: &ExportArgs) -> anyhow::Result<()> {
    let is_otlp = matches!(args.format, ExportFormat::OtlpJson | ExportFormat::OtlpGrpc);
    let wrong = if args.redact && is_otlp {
        Some(("`--redact` is for lines and packs", "traces have no content unless you give `--with-content`"))
    } else if args.with_content && !is_otlp {
        Some(("`--with-content` is for traces", "lines and packs have content unless you give `--redact`"))
    } else if args.endpoint.is_some() && !is_otlp {
        Some(("`--endpoint` is for traces", "give `--format otlp-json` or `otlp-grpc`"))
    } else if args.format == ExportFormat::OtlpGrpc && args.endpoint.is_none() {
        Some(("`otlp-grpc` needs an `--endpoint`", "collectors listen for it at http://localhost:4317"))
    } else if args.format == ExportFormat::Pack && args.output().is_none() {
        Some(("a pack needs an `--output`", "give a file, such as run.tar, or a folder with `/` at the end"))
    } else {
        None
    };
    wrong.map_or(Ok(()), |(what, hint)| Err(Failure::usage(what).hint(hint).into()))
}

fn lines(args: &ExportArgs, path: &Path) -> anyhow::Result<()> {
    let unreadable = || format!("can't read `{}`", path.display());
    let file = plain_file::open(path).with_context(unreadable)?;
    // A driver may append meanwhile: what is there now is written.
    let length = file.metadata().with_context(unreadable)?.len();
    let mut from = BufReader::with_capacity(256 * 1024, file).take(length);
    write(args.output(), |to| {
        if args.redact {
            pack::each_line(&mut from, |line| if line.is_empty() { Ok(()) } else { pack::redact_bytes(line, to) })
        } else {
            io::copy(&mut from, to).map(drop)
        }
    })
}

/// Writes to a new file, or to stdout. What could not be written whole is removed again.
fn write(output: Option<&Path>, content: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> anyhow::Result<()> {
    let Some(path) = output else {
        if io::stdout().is_terminal() {
            let mut out = EscapedStdout { line: Vec::new() };
            content(&mut out)?;
            out.say()?;
            return Ok(());
        }
        let mut out = BufWriter::with_capacity(256 * 1024, io::stdout().lock());
        content(&mut out)?;
        out.flush()?;
        return Ok(());
    };
    let mut file = BufWriter::with_capacity(256 * 1024, new_file(path)?);
    if let Err(error) = content(&mut file).and_then(|()| file.flush()) {
        fs::remove_file(path).ok();
        return Err(anyhow::Error::new(error).context(format!("can't write `{}`", path.display())));
    }
    Ok(())
}

/// A terminal that is shown lines of JSON: what would drive it is escaped, and they stay the same JSON.
struct EscapedStdout {
    /// Text since the last line feed.
    line: Vec<u8>,
}

impl EscapedStdout {
    fn say(&mut self) -> io::Result<()> {
        let line = std::mem::take(&mut self.line);
        io::stdout().lock().write_all(visible_json(&String::from_utf8_lossy(&line)).as_bytes())
    }
}

impl Write for EscapedStdout {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        self.line.extend_from_slice(text);
        if let Some(end) = self.line.iter().rposition(|byte| *byte == b'\n') {
            let rest = self.line.split_off(end + 1);
            self.say()?;
            self.line = rest;
        }
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stdout().flush()
    }
}

fn new_file(path: &Path) -> anyhow::Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).map_err(|error| taken(path, error))
}

fn taken(path: &Path, error: io::Error) -> anyhow::Error {
    if error.kind() == io::ErrorKind::AlreadyExists {
        return Failure::usage(format!("`{}` is there already", path.display())).hint("give another name").into();
    }
    Failure::ending(Ending::Failed, format!("can't make `{}`: {error}", path.display()))
        .hint("give a name in a folder that you may write to")
        .into()
}

fn packed(args: &ExportArgs, home: &Home, run_id: &RunId) -> anyhow::Result<()> {
    let Some(path) = args.output() else { return Ok(()) };
    let content = if args.redact { pack::PackContent::Redacted } else { pack::PackContent::Whole };
    let packing = Packing::of(home, run_id, content, &Owner::current(), Timestamp::now()).map_err(unopened)?;
    if packing.manifest().journal.faults > 0 {
        let called = runs::called(home, run_id);
        tell!(
            "warning: the journal is not whole, and the pack says so; `adjutant trace verify {called}` says what is wrong"
        );
    }
    let is_folder = path.as_os_str().as_encoded_bytes().ends_with(b"/");
    let Packed { manifest_sha256, files } = if is_folder {
        packing.write_folder(path).map_err(|error| taken(path, error))?
    } else {
        let file = new_file(path)?;
        packing.write_tar(file).map_err(|error| {
            fs::remove_file(path).ok();
            anyhow::Error::new(error).context(format!("can't write `{}`", path.display()))
        })?
    };
    tell!("{} in `{}`", count_of(files, "file", "files"), path.display());
    tell!("SHA-256 of its manifest: {manifest_sha256}");
    tell!("keep this hash where nobody can change it: only with it a pack is known for the one that was made");
    Ok(())
}

fn unopened(error: OpenError) -> anyhow::Error {
    Failure::of(Ending::Failed, &error, error.hint()).into()
}

fn traces(args: &ExportArgs, home: &Home, run_id: &RunId) -> anyhow::Result<()> {
    let traces = projected(args, home, run_id)?;
    match (&args.endpoint, args.format) {
        (Some(endpoint), ExportFormat::OtlpGrpc) => send::over_grpc(&traces, endpoint),
        (Some(endpoint), _) => send::over_http(&traces, endpoint),
        (None, _) => write(args.output(), |to| {
            to.write_all(to_json(&traces, &traces.spans).as_bytes())?;
            to.write_all(b"\n")
        }),
    }
}

fn projected(args: &ExportArgs, home: &Home, run_id: &RunId) -> anyhow::Result<Traces> {
    let path = home.journal(run_id);
    let file = plain_file::open(&path).with_context(|| format!("can't read `{}`", path.display()))?;
    let content = if args.with_content { Content::Included } else { Content::LeftOut };
    let mut projection = Projection::new(run_id.as_str(), content);
    recover::read_each(file, None, Loss::MayBe, |_, event| projection.event(&event))
        .with_context(|| format!("can't export `{}`", path.display()))?;
    warn(home, run_id);
    Ok(projection.finish())
}
