//! The shell reader: total, the same for the same line, and nothing destructive in command position is safe.

use adjutant_core::gate::shell::{Dialect, Programs, ShellContext, read};
use adjutant_core::gate::{Places, Verdict};

/// Programs that do nothing but destroy.
const DESTRUCTIVE: [&str; 5] = ["rm", "shred", "wipefs", "mkfs", "unlink"];

/// The first byte says which shell reads the rest.
pub(crate) fn check(bytes: &[u8]) {
    let Some((first, line)) = bytes.split_first() else { return };
    let line = String::from_utf8_lossy(line);
    let shell = match first % 3 {
        0 => Dialect::Bash,
        1 => Dialect::Sh,
        _ => Dialect::Other,
    };
    let places = Places::default();
    let context = ShellContext { shell, folder: ".", places: &places, programs: Programs::builtin() };
    let reading = read(&line, &context);
    assert_eq!(reading, read(&line, &context), "read twice, it is another");
    let strictest = reading.effects.iter().map(|effect| effect.verdict).max().unwrap_or(Verdict::Safe);
    // What asks for help does nothing else.
    let asks = ["--help", "--version"].iter().any(|flag| line.contains(flag));
    let destroys = reading.runs.iter().find(|name| DESTRUCTIVE.contains(&name.as_str()));
    assert!(strictest > Verdict::Safe || destroys.is_none() || asks, "safe with {destroys:?}: {line:?}");
}
