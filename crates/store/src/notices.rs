//! Records which questions an operator was told of, and over which channel: a file of lines in the home.
//!
//! A notice is recorded before it is sent, under the file's lock, so that several processes tell of a question once. If
//! sending fails, that is recorded too, and the question is told of again later.

use std::collections::BTreeSet;
use std::io;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::home::Home;
use crate::own_lines;

/// The longest file that is read, in bytes: hundreds of thousands of notices.
const FILE_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// The way an operator is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Channel {
    /// A program of theirs.
    Command,
    /// An address of theirs.
    Webhook,
}

#[derive(Serialize, Deserialize)]
struct NoticeLine {
    v: u64,
    id: String,
    channel: Channel,
    told: bool,
    at: Timestamp,
}

/// The questions that were told of over a channel. A line that can't be read says nothing.
fn told(bytes: &[u8], channel: Channel) -> BTreeSet<String> {
    let mut ids = BTreeSet::new();
    for line in bytes.split(|byte| *byte == b'\n') {
        match serde_json::from_slice::<NoticeLine>(line) {
            Ok(NoticeLine { v: 1, id, channel: of, told: true, .. }) if of == channel => {
                ids.insert(id);
            }
            Ok(NoticeLine { v: 1, id, channel: of, told: false, .. }) if of == channel => {
                ids.remove(&id);
            }
            Ok(_) | Err(_) => {}
        }
    }
    ids
}

/// Those of `ids` that were not told of over `channel`.
///
/// # Errors
///
/// If the file can't be read, or others could have written it.
pub fn untold(home: &Home, channel: Channel, ids: &[String]) -> io::Result<Vec<String>> {
    let bytes = own_lines::read(&home.notices(), FILE_BYTES_MAX)?.unwrap_or_default();
    let told = told(&bytes, channel);
    Ok(ids.iter().filter(|id| !told.contains(*id)).cloned().collect())
}

/// Puts down that `ids` are told of over `channel` now; returns those that nobody told of before, which are the
/// caller's to tell of.
///
/// # Errors
///
/// If it is not on the disk: nothing is to be told then.
pub fn claim(home: &Home, channel: Channel, ids: &[String], at: Timestamp) -> io::Result<Vec<String>> {
    let mut locked = own_lines::lock(&home.notices(), FILE_BYTES_MAX)?;
    let told = told(&locked.bytes, channel);
    let ours: Vec<String> = ids.iter().filter(|id| !told.contains(*id)).cloned().collect();
    if !ours.is_empty() {
        locked.append(&lines(&ours, channel, true, at)?)?;
    }
    Ok(ours)
}

/// Puts down that `ids` could not be told of after all.
///
/// # Errors
///
/// If it is not on the disk: they count as told of then.
pub fn give_back(home: &Home, channel: Channel, ids: &[String], at: Timestamp) -> io::Result<()> {
    own_lines::lock(&home.notices(), FILE_BYTES_MAX)?.append(&lines(ids, channel, false, at)?)
}

fn lines(ids: &[String], channel: Channel, told: bool, at: Timestamp) -> io::Result<Vec<String>> {
    let line = |id: &String| Ok(serde_json::to_string(&NoticeLine { v: 1, id: id.clone(), channel, told, at })?);
    ids.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_told_of_once_over_each_channel_unless_that_failed() {
        let temp = tempfile::tempdir().expect("a folder");
        let home = Home::new(temp.path(), None);
        let ids = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let at = Timestamp::from_second(1_800_000_000).expect("a time");
        let claimed = |channel, names: &[&str]| claim(&home, channel, &ids(names), at).expect("claimed");
        assert_eq!(claimed(Channel::Command, &["a", "b"]), ids(&["a", "b"]));
        assert_eq!(claimed(Channel::Command, &["b", "c"]), ids(&["c"]));
        assert_eq!(claimed(Channel::Webhook, &["b"]), ids(&["b"]));
        give_back(&home, Channel::Command, &ids(&["b"]), at).expect("given back");
        assert_eq!(untold(&home, Channel::Command, &ids(&["a", "b", "c"])).expect("read"), ids(&["b"]));
        assert_eq!(claimed(Channel::Command, &["a", "b"]), ids(&["b"]));
        std::fs::write(home.notices(), b"{\n\xff\n").expect("written");
        assert_eq!(claimed(Channel::Command, &["a"]), ids(&["a"]));
    }
}
