//! Asks the reader for its verdict on a line, for each shell whose grammar it knows.

use std::path::Path;

use adjutant_core::gate::rescue::{Extent, extent};
use adjutant_core::gate::shell::{Dialect, Programs, ShellContext, ShellReading, read};
use adjutant_core::gate::{Places, Verdict};
use adjutant_core::words::category::HTTP_FETCH;

use crate::trial::{Trial, TrialShell, UndoScope};

/// The shells, as the reader knows them.
pub const SHELLS: [(TrialShell, Dialect); 2] = [(TrialShell::Bash, Dialect::Bash), (TrialShell::Dash, Dialect::Sh)];

/// Reads lines as the gate would in the folder below `root`.
#[derive(Debug)]
pub struct Judge {
    places: Places,
}

impl Judge {
    /// One for lines that run below `root`.
    pub fn new(root: &Path) -> Self {
        let at = |name: &str| root.join(name).display().to_string();
        Self { places: Places { workdir: at("work"), home: at("home"), ..Places::default() } }
    }

    /// The reading of a line.
    pub fn reading(&self, line: &str, dialect: Dialect) -> ShellReading {
        let context = ShellContext { shell: dialect, folder: ".", places: &self.places, programs: Programs::builtin() };
        read(line, &context)
    }

    /// The line as a trial in `shell`, if it is called safe there and isn't known to contact others: the gate asks
    /// about that by its category, however harmless the rest is.
    pub fn trial(&self, line: &str, (shell, dialect): (TrialShell, Dialect)) -> Option<Trial> {
        let reading = self.reading(line, dialect);
        let contacts = reading.effects.iter().any(|effect| effect.category.as_str() == HTTP_FETCH);
        if reading.verdict() != Verdict::Safe || contacts {
            return None;
        }
        let kept = match extent(&reading.effects, &[]) {
            None => UndoScope::Nothing,
            Some(Extent::Paths(paths)) => UndoScope::Paths(paths),
            Some(Extent::Whole) => UndoScope::Everything,
        };
        Some(Trial { shell, line: line.to_owned(), kept, skips_slow: false })
    }
}
