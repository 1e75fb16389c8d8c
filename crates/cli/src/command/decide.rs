//! `adjutant decide`: the pure core from the shell, JSON lines in, JSON lines out.

use std::borrow::Cow;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};

use adjutant_core::{brief, detect, gate, patch, supervise};
use serde_json::{Value, json};

use crate::exit::Ending;

/// The longest line that is read, in bytes; a longer one is answered with an error.
const LINE_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Make a pure decision for every JSON line on stdin
///
/// Writes one JSON line for each, in order; a line that can't be read gets `{"error": ...}` in its place
/// and the rest goes on. Nothing is read or written but stdin and stdout.
#[derive(Debug, clap::Args)]
pub struct DecideArgs {
    /// What is decided
    #[command(subcommand)]
    what: DecisionKind,
}

#[derive(Debug, Clone, Copy, clap::Subcommand)]
enum DecisionKind {
    /// Read a brief: `{text}` gives `{valid, issues, frontmatter, sections}`
    Brief,
    /// Read a turn with all detectors: `{text, authorized_costs?, sensitivities?}`
    Detect,
    /// Judge a tool call: `{tool, arguments, authorized_costs?, session_approved?, approved_call?, shell_disabled?, role?}`
    Gate,
    /// Read a command line: `{command, cwd?, shell?}` gives `{verdict, categories, effects, findings, runs}`
    Shell,
    /// Apply a patch to files: `{files, patch}` gives `{files}` or `{rejected}`
    Patch,
    /// Say of each round of a loop if a person is to be asked: `{rounds, knobs?, initial_uncertainty?, machine?}`
    Stuck,
}

impl DecisionKind {
    fn decide(self, input: &Value) -> Result<Value, String> {
        match self {
            Self::Brief => brief::decide(input),
            Self::Detect => detect::decide(input),
            Self::Gate => gate::decide(input),
            Self::Shell => gate::shell::decide(input),
            Self::Patch => Ok(patch::decide(input)),
            Self::Stuck => supervise::decide(input),
        }
    }

    fn answer(self, line: &[u8]) -> Value {
        let decided = serde_json::from_slice(&without_lone_surrogates(line))
            .map_err(|error| format!("not a JSON value: {error}"))
            .and_then(|input: Value| self.decide(&input));
        decided.unwrap_or_else(|error| json!({ "error": error }))
    }
}

/// The line with U+FFFD in place of each escape of half a character: no text has such a half, but what writes JSON may
/// let it through, and an answer about it is worth more than a refusal.
fn without_lone_surrogates(line: &[u8]) -> Cow<'_, [u8]> {
    let code = |at: usize| {
        let digits = line.get(at..at + 6).and_then(|escape| escape.strip_prefix(b"\\u"))?;
        let digits = std::str::from_utf8(digits).ok().filter(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()))?;
        u16::from_str_radix(digits, 16).ok()
    };
    let mut fixed = Cow::Borrowed(line);
    let mut at = 0;
    while let Some(byte) = line.get(at) {
        at += match (byte, code(at)) {
            (b'\\', Some(0xd800..=0xdbff)) if matches!(code(at + 6), Some(0xdc00..=0xdfff)) => 12,
            (b'\\', Some(0xd800..=0xdfff)) => {
                fixed.to_mut()[at..at + 6].copy_from_slice(b"\\ufffd");
                6
            }
            (b'\\', _) => 2,
            _ => 1,
        };
    }
    fixed
}

/// Decides line by line.
pub fn run(args: &DecideArgs) -> anyhow::Result<Ending> {
    let mut input = BufReader::with_capacity(256 * 1024, io::stdin().lock());
    let mut output = BufWriter::with_capacity(256 * 1024, io::stdout().lock());
    let mut line = Vec::new();
    loop {
        line.clear();
        let answer = match next_line(&mut input, &mut line)? {
            LineRead::End => break,
            LineRead::TooLong => json!({ "error": format!("the line is longer than {LINE_BYTES_MAX} bytes") }),
            LineRead::Whole if line.trim_ascii().is_empty() => continue,
            LineRead::Whole => args.what.answer(&line),
        };
        serde_json::to_writer(&mut output, &answer)?;
        output.write_all(b"\n")?;
        // Whoever writes one line and waits for its answer gets it now; a stream stays fast.
        if input.buffer().is_empty() {
            output.flush()?;
        }
    }
    output.flush()?;
    Ok(Ending::Done)
}

enum LineRead {
    Whole,
    TooLong,
    End,
}

/// Reads the next line into `line`, without its line feed and without keeping more than a line may have. A long one is read
/// in two pieces, so that it gets just that room: grown as usual it would get twice as much.
fn next_line(input: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<LineRead> {
    const PIECE: usize = LINE_BYTES_MAX / 2;
    if input.by_ref().take(PIECE as u64).read_until(b'\n', line)? == 0 {
        return Ok(LineRead::End);
    }
    if line.len() == PIECE && line.last() != Some(&b'\n') {
        let rest = LINE_BYTES_MAX + 1 - PIECE;
        line.reserve_exact(rest);
        input.by_ref().take(rest as u64).read_until(b'\n', line)?;
    }
    if line.last() == Some(&b'\n') {
        line.pop();
        return Ok(LineRead::Whole);
    }
    if line.len() <= LINE_BYTES_MAX {
        return Ok(LineRead::Whole);
    }
    loop {
        let chunk = input.fill_buf()?;
        let (used, ended) = match chunk.iter().position(|byte| *byte == b'\n') {
            Some(at) => (at + 1, true),
            None => (chunk.len(), chunk.is_empty()),
        };
        input.consume(used);
        if ended {
            *line = Vec::new();
            return Ok(LineRead::TooLong);
        }
    }
}
