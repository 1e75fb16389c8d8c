//! A phase as people say it: its number and its word.

use std::fmt;

use serde::Serialize;
use serde::de::IntoDeserializer;
use serde::de::value::{Error, StrDeserializer};

use crate::words::PhaseName;

/// A phase by its number and its word: `1 execute`. On the wire phase 3 has another word than the one that people read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Phase {
    /// Its number, from 0 to 4; absent for `done` and for a word that is no phase.
    pub number: Option<u8>,
    /// Its word on the wire.
    pub name: String,
}

impl Phase {
    /// The phase called `name`.
    #[must_use]
    pub fn named(name: &str) -> Self {
        let name_reader: StrDeserializer<'_, Error> = name.into_deserializer();
        let known: Option<PhaseName> = serde::Deserialize::deserialize(name_reader).ok();
        Self { number: known.and_then(PhaseName::number), name: name.to_owned() }
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(number) = self.number {
            write!(f, "{number} ")?;
        }
        f.write_str(PhaseName::said_of(&self.name))
    }
}
