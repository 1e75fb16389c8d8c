//! Stdout for one of several runs that a worker drives at once: whole lines, each with the run's name in front.

use std::io::{self, Write};

/// Stdout with a label before each line.
pub(super) struct LabelledStdout {
    label: String,
    /// Text since the last line feed.
    line: Vec<u8>,
}

impl LabelledStdout {
    pub(super) fn new(label: String) -> Self {
        Self { label, line: Vec::new() }
    }

    fn say(&mut self) -> io::Result<()> {
        let mut line = std::mem::take(&mut self.line);
        line.splice(..0, self.label.bytes());
        let kept = line.trim_ascii_end().len();
        line.truncate(kept);
        line.push(b'\n');
        io::stdout().lock().write_all(&line)
    }
}

impl Write for LabelledStdout {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        for byte in text {
            if *byte != b'\n' {
                self.line.push(*byte);
                continue;
            }
            self.say()?;
        }
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stdout().flush()
    }
}

impl Drop for LabelledStdout {
    fn drop(&mut self) {
        if !self.line.is_empty() {
            self.say().ok();
        }
    }
}
