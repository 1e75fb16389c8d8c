//! A place where a command waits until the test lets it go on.

use std::fs::{File, remove_file};
use std::path::PathBuf;
use std::process::Command;

use crate::home::TestHome;

/// A pipe with a name, in the folder that commands may use beside the working folder.
pub struct Gate(PathBuf);

impl Gate {
    /// The one gate of a test, which may not be there yet, or not any more.
    pub fn of(home: &TestHome) -> Self {
        Self(home.path("shared/gate"))
    }

    /// Puts it there: from here on commands wait at it.
    pub fn close(&self) {
        let made = Command::new("mkfifo").arg(&self.0).status().expect("mkfifo");
        assert!(made.success());
    }

    /// Returns the shell command that waits at the gate; if the gate doesn't exist, it goes on.
    pub fn command(&self) -> String {
        format!("test ! -p '{0}' || cat '{0}'", self.0.display())
    }

    /// Waits until a command is at the gate. What is given holds it there.
    pub fn reached(&self) -> File {
        File::options().write(true).open(&self.0).expect("a command is at the gate")
    }

    /// Takes the gate away, if it is still there, and lets go whoever is at it.
    pub fn open(&self) {
        if !self.0.exists() {
            return;
        }
        // Open for both ends it waits for nobody, and whoever waits for a writer has one until it is closed.
        let both = File::options().read(true).write(true).open(&self.0).expect("it can be opened");
        remove_file(&self.0).expect("removed");
        drop(both);
    }
}
