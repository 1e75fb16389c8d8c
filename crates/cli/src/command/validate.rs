//! `adjutant validate`: reads briefs and says what is wrong with them.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};

use adjutant_core::brief::{self, BRIEF_BYTES_MAX, Reading};
use adjutant_core::words::visible::visible_text;
use adjutant_store::Home;
use serde_json::{Value, json};

use crate::diagnostics::{self, ProblemStyle, SourceText};
use crate::exit::Ending;
use crate::settings::{self, Place};

/// Check briefs and show everything that is wrong with them
///
/// Reads the files, and the configuration if one names a role that not every crew knows; no agent is asked and
/// no file is changed. The exit code is 0 if
/// every brief can be run, warnings allowed, and 2 if one can't be run or read.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  adjutant validate brief.md\n  cat brief.md | adjutant validate - --json")]
pub struct ValidateArgs {
    /// The briefs to check; `-` reads one from standard input
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,

    /// Print one JSON object per file, each on a line
    ///
    /// An object holds `file`, `valid`, `issues`, `frontmatter` and `sections`; or `error` if the file
    /// can't be read.
    #[arg(long)]
    pub json: bool,
}

/// Checks each file and prints what was found: the result to stdout, what can't be read to stderr.
///
/// # Errors
///
/// If nothing can be printed. A file that can't be read is no error of the command: the others are
/// still checked.
pub fn run(args: &ValidateArgs, place: &Place) -> anyhow::Result<Ending> {
    let home = place.home()?;
    let no_color = std::env::var_os("NO_COLOR");
    let look = |is_terminal| ProblemStyle::of(is_terminal, no_color.as_deref());
    let mut output = ValidateOutput {
        out: &mut io::stdout().lock(),
        err: &mut io::stderr().lock(),
        look: look(io::stdout().is_terminal()),
        look_err: look(io::stderr().is_terminal()),
        read: &|text| read(&home, text),
    };
    Ok(validate(args, &mut io::stdin().lock(), &mut output)?)
}

/// Streams to print to, and the format.
struct ValidateOutput<'a> {
    out: &'a mut dyn Write,
    err: &'a mut dyn Write,
    look: ProblemStyle,
    look_err: ProblemStyle,
    read: &'a dyn Fn(&str) -> Reading,
}

/// Reads a brief. A configuration that can't be read is told, and the roles that it defines are not known.
fn read(home: &Home, text: &str) -> Reading {
    settings::read_brief(home, None, text).unwrap_or_else(|error| {
        tell!("warning: {}", visible_text(&format!("{error:#}")));
        brief::read(text)
    })
}

fn validate(args: &ValidateArgs, stdin: &mut dyn Read, output: &mut ValidateOutput<'_>) -> io::Result<Ending> {
    let mut ending = Ending::Done;
    for (number, file) in args.files.iter().enumerate() {
        let name = if is_stdin(file) { "standard input".to_owned() } else { file.display().to_string() };
        let is_valid = match read_text(file, stdin) {
            Ok(text) if args.json => report_json(file, &text, output)?,
            Ok(text) => {
                if args.files.len() > 1 {
                    writeln!(output.out, "{}{name}", if number > 0 { "\n" } else { "" })?;
                }
                report(&name, &text, output)?
            }
            Err(why) => {
                if args.json {
                    let unread = json!({"file": file.display().to_string(), "valid": false, "error": why.to_string()});
                    writeln!(output.out, "{unread}")?;
                }
                writeln!(output.err, "can't read {name}: {why}")?;
                false
            }
        };
        if !is_valid {
            ending = Ending::Usage;
        }
    }
    output.out.flush()?;
    Ok(ending)
}

fn is_stdin(file: &Path) -> bool {
    file.as_os_str() == OsStr::new("-")
}

/// The text of a brief; no more of it than shows that it is too long.
fn read_text(file: &Path, stdin: &mut dyn Read) -> io::Result<String> {
    let mut bytes = Vec::new();
    let mut limited: Box<dyn Read> = if is_stdin(file) { Box::new(stdin) } else { Box::new(File::open(file)?) };
    limited.by_ref().take(BRIEF_BYTES_MAX as u64 + 1).read_to_end(&mut bytes)?;
    match String::from_utf8(bytes) {
        Ok(text) => Ok(text),
        // A text that is too long may have been cut within a character.
        Err(cut) if cut.as_bytes().len() > BRIEF_BYTES_MAX => Ok(String::from_utf8_lossy(cut.as_bytes()).into_owned()),
        Err(_) => Err(io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8 text")),
    }
}

fn report_json(file: &Path, text: &str, output: &mut ValidateOutput<'_>) -> io::Result<bool> {
    let reading = (output.read)(text);
    let mut object = serde_json::Map::new();
    object.insert("file".to_owned(), Value::String(file.display().to_string()));
    if let Value::Object(verdict) = reading.verdict() {
        object.extend(verdict);
    }
    writeln!(output.out, "{}", Value::Object(object))?;
    Ok(reading.is_valid())
}

/// Prints the six lines and the problems. Of a front matter that can't be read there is nothing to sum
/// up: then the problems alone are printed, to stderr.
fn report(name: &str, text: &str, output: &mut ValidateOutput<'_>) -> io::Result<bool> {
    let reading = (output.read)(text);
    let source = SourceText { name, text };
    match brief::summary(&reading) {
        Some(summary) => {
            writeln!(output.out, "{}", visible_text(&summary.to_string()))?;
            write!(output.out, "{}", diagnostics::render(&reading.problems, source, output.look))?;
        }
        None => {
            writeln!(output.err, "can't read the front matter of {name}")?;
            write!(output.err, "{}", diagnostics::render(&reading.problems, source, output.look_err))?;
        }
    }
    Ok(reading.is_valid())
}

#[cfg(test)]
mod tests {
    use super::*;

    const VALID: &str = "---\nproject: orchard\n---\n# Objective\nx\n# Deliverables\ny\n# Constraints\nz\n";

    /// Output of a command, and its ending.
    struct Printed {
        ending: Ending,
        out: String,
        err: String,
    }

    fn validated(files: &[&Path], json: bool, stdin: &str) -> Printed {
        let args = ValidateArgs { files: files.iter().map(|file| file.to_path_buf()).collect(), json };
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let mut output = ValidateOutput {
            out: &mut out,
            err: &mut err,
            look: ProblemStyle::Plain,
            look_err: ProblemStyle::Plain,
            read: &brief::read,
        };
        let ending = validate(&args, &mut stdin.as_bytes(), &mut output).unwrap();
        Printed { ending, out: String::from_utf8(out).unwrap(), err: String::from_utf8(err).unwrap() }
    }

    #[test]
    fn a_valid_brief_is_summed_up_in_six_lines() {
        let printed = validated(&[Path::new("-")], false, VALID);
        assert_eq!((printed.ending, printed.err.as_str()), (Ending::Done, ""));
        insta::assert_snapshot!(printed.out, @r"
        Project:   orchard
        Brief id:  (auto-generate: DATE-RANDOM)
        Mode:      (prompted)
        Locked:    false
        Costs:     (none authorized)
        Valid:     true
        ");
    }

    #[test]
    fn an_invalid_brief_is_wrong_usage_and_tells_all_its_problems() {
        let printed = validated(&[Path::new("-")], false, "---\nproject: orchard\ndeadline: soon\n---\n");
        assert_eq!((printed.ending, printed.err.as_str()), (Ending::Usage, ""));
        let errors = printed.out.lines().filter(|line| line.starts_with("  [error]")).count();
        assert_eq!(errors, 3, "{}", printed.out);
        assert!(printed.out.contains("Valid:     false\n  [error] deadline: "), "{}", printed.out);
    }

    #[test]
    fn a_front_matter_that_cannot_be_read_leaves_stdout_empty() {
        let printed = validated(&[Path::new("-")], false, "---\nproject: orchard\n???\n---\n");
        assert_eq!((printed.ending, printed.out.as_str()), (Ending::Usage, ""));
        assert!(printed.err.contains("(line 3, column 1)"), "{}", printed.err);
    }

    #[test]
    fn a_file_that_is_not_there_does_not_keep_the_others_from_being_checked() {
        let folder = tempfile::tempdir().unwrap();
        let (there, missing) = (folder.path().join("there.md"), folder.path().join("missing.md"));
        std::fs::write(&there, VALID).unwrap();
        let printed = validated(&[&missing, folder.path(), &there], false, "");
        assert_eq!(printed.ending, Ending::Usage);
        assert!(printed.err.contains("missing.md: No such file"), "{}", printed.err);
        assert_eq!(printed.err.lines().count(), 2, "{}", printed.err);
        assert!(printed.out.contains("Valid:     true"), "{}", printed.out);
    }

    #[test]
    fn text_in_another_encoding_and_endless_text_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let latin = folder.path().join("latin.md");
        std::fs::write(&latin, b"---\nproject: orchard\n---\n# \xe9\n").unwrap();
        assert!(validated(&[&latin], false, "").err.contains("not UTF-8"));
        let printed = validated(&[Path::new("-")], false, &"é".repeat(BRIEF_BYTES_MAX));
        assert!(printed.err.contains("too long"), "{}", printed.err);
    }

    #[test]
    fn json_is_one_object_per_file() {
        let printed = validated(&[Path::new("-"), Path::new("/nowhere/x.md")], true, VALID);
        assert_eq!(printed.ending, Ending::Usage);
        let objects: Vec<Value> = printed.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(objects[0]["file"], "-");
        assert_eq!(objects[0]["valid"], true);
        assert_eq!(objects[0]["frontmatter"]["project"], "orchard");
        assert_eq!(objects[1]["file"], "/nowhere/x.md");
        assert_eq!(objects[1]["valid"], false);
        assert!(objects[1]["error"].is_string());
    }
}
