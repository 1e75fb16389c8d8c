//! The files that the peer keeps of a session beside its trace.

use std::io::{self, Read as _};
use std::path::Path;

use crate::home::Home;
use crate::plain_file;

/// The files of a session of the peer, as they are; what is no UTF-8 in them is replaced.
#[derive(Debug, Default)]
pub struct PeerFiles {
    /// Its session file.
    pub session: Option<String>,
    /// The conversation, if it was kept.
    pub transcript: Option<String>,
}

impl PeerFiles {
    /// Those of `name`, as [`super::find`] gives it.
    ///
    /// # Errors
    ///
    /// If one is there and can't be read, or is no plain file; the message names it.
    pub fn read(home: &Home, name: &str) -> io::Result<Self> {
        let transcript = read_if_there(&home.sessions().join(format!("{name}.transcript.jsonl")))?;
        Ok(Self { session: Self::session(home, name)?, transcript })
    }

    /// The session file alone.
    ///
    /// # Errors
    ///
    /// As above.
    pub fn session(home: &Home, name: &str) -> io::Result<Option<String>> {
        read_if_there(&home.sessions().join(format!("{name}.json")))
    }
}

fn read_if_there(path: &Path) -> io::Result<Option<String>> {
    let read = plain_file::open(path).and_then(|mut file| {
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    });
    match read {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(io::Error::new(error.kind(), format!("can't read `{}`: {error}", path.display()))),
    }
}
