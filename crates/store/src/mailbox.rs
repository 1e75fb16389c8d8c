//! A run's mailbox: a file beside its journal, to which whoever answers a question of the run appends, whether they
//! drive it or not. The first answer wins, across processes.
//!
//! In: answers and messages. Out: whether an answer was the first, or who was. Each line is written under the file's
//! lock after reading what is there, and is on the disk when it counts. What a line means is `core`'s
//! ([`Letters`]). A mailbox that others could have written is not used at all.
//!
//! Begin with [`Mailbox::claim`].

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use adjutant_core::inbox::mailbox::{First, Letters, Said, first_line, message_line};
use adjutant_core::words::id::RunId;
use adjutant_core::words::{Key, QuestionKind};
use thiserror::Error;

use crate::home::Home;
use crate::own_lines::{self, NotOurs};

/// The longest mailbox that is read, in bytes: a run has hundreds of questions, hardly ever a long answer.
const MAILBOX_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// The mailbox of one run, which need not exist yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mailbox {
    path: PathBuf,
}

/// The outcome of answering a question: the first answer counts.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum AnswerClaim {
    /// They were: what they said is in the mailbox.
    First,
    /// This was there before.
    After(First),
}

/// Error about a mailbox that can't be used.
#[derive(Debug, Error)]
#[error("can't use the mailbox `{path}`: {why}", path = path.display())]
pub struct MailboxError {
    /// The file.
    pub path: PathBuf,
    /// The reason. It is part of the message, and so not a source.
    pub why: io::Error,
}

impl MailboxError {
    /// Returns a hint at what to do about it.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        let path = self.path.display();
        match NotOurs::of(&self.why) {
            Some(NotOurs::Writable { .. }) => {
                return Some(format!("look at what it says, then `chmod 600 {path}` or move it away"));
            }
            Some(NotOurs::Link | NotOurs::NotPlain | NotOurs::Owner { .. } | NotOurs::OtherName) => {
                return Some(
                    "look at how it came there, then move it away: a new one is made when it is needed".into(),
                );
            }
            None => {}
        }
        match self.why.kind() {
            io::ErrorKind::PermissionDenied => Some(format!("`chmod 600 {path}`")),
            io::ErrorKind::TimedOut => Some("a stopped process may hold it: let it go on, or end it".to_owned()),
            _ => None,
        }
    }
}

impl Mailbox {
    /// The mailbox of a run.
    #[must_use]
    pub fn of(home: &Home, run_id: &RunId) -> Self {
        Self { path: home.mailbox(run_id) }
    }

    /// Its file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns its length in bytes; 0 if there is no file. It only grows, so an unchanged length means that nothing
    /// came.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        fs::symlink_metadata(&self.path).map_or(0, |found| found.len())
    }

    /// Reads its letters; empty if there is no file.
    ///
    /// # Errors
    ///
    /// [`MailboxError`] if it can't be read, or others could have written it.
    pub fn read(&self) -> Result<Letters, MailboxError> {
        let bytes = own_lines::read(&self.path, MAILBOX_BYTES_MAX).map_err(|why| self.unusable(why))?;
        Ok(Letters::read(&bytes.unwrap_or_default()))
    }

    /// Returns the first answer to a question, or its closing, if there is one.
    ///
    /// # Errors
    ///
    /// As [`Self::read`].
    pub fn first(&self, key: &Key, kind: QuestionKind) -> Result<Option<First>, MailboxError> {
        Ok(self.read()?.first(key, kind).cloned())
    }

    /// Puts `first` down for its question, unless something was there before.
    ///
    /// # Errors
    ///
    /// [`MailboxError`] if it is not on the disk.
    pub fn claim(&self, first: &First) -> Result<AnswerClaim, MailboxError> {
        let (key, kind) = match first {
            First::Answer(answer) => (&answer.key, answer.kind),
            First::Closed { key, kind, .. } => (key, *kind),
        };
        // Most who come second need no lock to see it.
        if let Some(before) = self.first(key, kind)? {
            return Ok(AnswerClaim::After(before));
        }
        let claimed = || -> io::Result<AnswerClaim> {
            let mut locked = own_lines::lock(&self.path, MAILBOX_BYTES_MAX)?;
            if let Some(before) = Letters::read(&locked.bytes).first(key, kind) {
                return Ok(AnswerClaim::After(before.clone()));
            }
            locked.append(&[first_line(first)])?;
            Ok(AnswerClaim::First)
        };
        claimed().map_err(|why| self.unusable(why))
    }

    /// Says something to the run. A message whose id is there already changes nothing.
    ///
    /// # Errors
    ///
    /// [`MailboxError`] if it is not on the disk.
    pub fn say(&self, said: &Said) -> Result<(), MailboxError> {
        let written = || -> io::Result<()> {
            let mut locked = own_lines::lock(&self.path, MAILBOX_BYTES_MAX)?;
            if Letters::read(&locked.bytes).messages.iter().any(|known| known.id == said.id) {
                return Ok(());
            }
            locked.append(&[message_line(said)])
        };
        written().map_err(|why| self.unusable(why))
    }

    fn unusable(&self, why: io::Error) -> MailboxError {
        MailboxError { path: self.path.clone(), why }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use adjutant_core::inbox::mailbox::{Answer, Closing};
    use adjutant_core::words::{Choice, Message, Part, Slot, What};
    use jiff::Timestamp;

    use super::*;

    fn mailbox() -> (tempfile::TempDir, Mailbox) {
        let temp = tempfile::tempdir().expect("a folder");
        let mailbox = Mailbox::of(&Home::new(temp.path(), None), &"a".parse().expect("a name"));
        (temp, mailbox)
    }

    fn at() -> Timestamp {
        Timestamp::from_second(1_800_000_000).expect("a time")
    }

    fn answer(number: u32, by: &str) -> First {
        First::Answer(Answer {
            key: Key { part: Part::root(), slot: Slot::first(What::Ask, number) },
            kind: QuestionKind::Step,
            choice: Choice::Continue,
            text: None,
            by: by.to_owned(),
            whence: "inbox".to_owned(),
            at: at(),
            id: by.to_owned(),
        })
    }

    #[test]
    fn the_first_answer_wins_and_the_second_is_told_who_was() {
        let (_temp, mailbox) = mailbox();
        assert_eq!(mailbox.bytes(), 0);
        assert_eq!(mailbox.claim(&answer(1, "a")).expect("claimed"), AnswerClaim::First);
        assert_eq!(mailbox.claim(&answer(1, "b")).expect("claimed"), AnswerClaim::After(answer(1, "a")));
        let bytes = mailbox.bytes();
        assert_eq!(mailbox.claim(&answer(1, "a")).expect("claimed"), AnswerClaim::After(answer(1, "a")));
        assert_eq!(mailbox.bytes(), bytes);
        let mode = fs::metadata(mailbox.path()).expect("there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn a_question_that_is_closed_takes_no_answer() {
        let (_temp, mailbox) = mailbox();
        let key = Key { part: Part::root(), slot: Slot::first(What::Ask, 1) };
        let closed = First::Closed { key, kind: QuestionKind::Step, why: Closing::Expired, at: at() };
        assert_eq!(mailbox.claim(&closed).expect("claimed"), AnswerClaim::First);
        assert_eq!(mailbox.claim(&answer(1, "a")).expect("claimed"), AnswerClaim::After(closed));
    }

    #[test]
    fn many_at_once_answer_each_question_once() {
        let (_temp, mailbox) = mailbox();
        let won: usize = std::thread::scope(|scope| {
            let each = (0..8).map(|who| {
                let mailbox = &mailbox;
                scope.spawn(move || {
                    let claim = |number| mailbox.claim(&answer(number, &format!("p{who}"))).expect("claimed");
                    (1..=20).filter(|number| claim(*number) == AnswerClaim::First).count()
                })
            });
            each.collect::<Vec<_>>().into_iter().map(|thread| thread.join().expect("no panic")).sum()
        });
        assert_eq!(won, 20);
        assert_eq!(mailbox.read().expect("read").skipped, []);
    }

    #[test]
    fn a_torn_line_is_closed_and_takes_none_with_it() {
        let (_temp, mailbox) = mailbox();
        assert_eq!(mailbox.claim(&answer(1, "a")).expect("claimed"), AnswerClaim::First);
        let whole = fs::read(mailbox.path()).expect("read");
        for cut in 1..whole.len() - 1 {
            fs::write(mailbox.path(), [&whole[..], &whole[..cut]].concat()).expect("written");
            assert_eq!(mailbox.claim(&answer(2, "b")).expect("claimed"), AnswerClaim::First, "{cut}");
            let letters = mailbox.read().expect("read");
            assert_eq!(letters.skipped.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [2], "{cut}");
            let key = Key { part: Part::root(), slot: Slot::first(What::Ask, 2) };
            assert_eq!(letters.first(&key, QuestionKind::Step), Some(&answer(2, "b")), "{cut}");
        }
    }

    #[test]
    fn fail_closed_mailbox_that_others_can_write() {
        let (_temp, mailbox) = mailbox();
        assert_eq!(mailbox.claim(&answer(1, "a")).expect("claimed"), AnswerClaim::First);
        let bytes = fs::read(mailbox.path()).expect("read");
        for mode in [0o620, 0o602, 0o666] {
            fs::set_permissions(mailbox.path(), fs::Permissions::from_mode(mode)).expect("set");
            assert!(mailbox.read().is_err() && mailbox.claim(&answer(2, "b")).is_err(), "{mode:o}");
            assert!(mailbox.read().expect_err("refused").hint().expect("a hint").contains("chmod 600"));
        }
        assert_eq!(fs::read(mailbox.path()).expect("read"), bytes, "nothing was written to it");
        let elsewhere = mailbox.path().with_extension("elsewhere");
        fs::rename(mailbox.path(), &elsewhere).expect("moved");
        fs::set_permissions(&elsewhere, fs::Permissions::from_mode(0o600)).expect("set");
        std::os::unix::fs::symlink(&elsewhere, mailbox.path()).expect("linked");
        assert!(mailbox.read().is_err() && mailbox.claim(&answer(2, "b")).is_err(), "a link");
        fs::remove_file(mailbox.path()).expect("removed");
        fs::hard_link(&elsewhere, mailbox.path()).expect("linked");
        assert!(mailbox.read().is_err() && mailbox.claim(&answer(2, "b")).is_err(), "a second name");
        fs::remove_file(mailbox.path()).expect("removed");
        fs::create_dir(mailbox.path()).expect("made");
        assert!(mailbox.read().is_err() && mailbox.claim(&answer(2, "b")).is_err(), "a folder");
    }

    #[test]
    fn what_is_wrong_with_a_mailbox_is_said_once_with_what_to_do() {
        let (_temp, mailbox) = mailbox();
        let path = mailbox.path().to_owned();
        let said = Said {
            id: "m1".into(),
            by: "operator".into(),
            whence: "inbox".into(),
            at: at(),
            to: Part::root(),
            message: Message::Stop,
        };
        let check = |why: &str, hint: &str| {
            let errors = [
                mailbox.read().expect_err(why),
                mailbox.claim(&answer(1, "a")).map(|_| ()).expect_err(why),
                mailbox.say(&said).expect_err(why),
            ];
            for error in errors {
                assert_eq!(error.to_string(), format!("can't use the mailbox `{}`: {why}", path.display()));
                assert!(std::error::Error::source(&error).is_none(), "whoever says the source too says it twice");
                assert!(error.hint().expect("a hint").contains(hint), "{why}: {:?}", error.hint());
            }
        };
        let plain = || {
            fs::remove_file(&path).ok();
            assert_eq!(mailbox.claim(&answer(9, "a")).expect("claimed"), AnswerClaim::First);
        };
        let away = "move it away: a new one";
        plain();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o620)).expect("set");
        check("it can be written by others than you (mode 620)", "chmod 600");
        plain();
        fs::hard_link(&path, path.with_extension("other")).expect("linked");
        check("it has another name elsewhere", away);
        fs::remove_file(&path).expect("removed");
        std::os::unix::fs::symlink(path.with_extension("other"), &path).expect("linked");
        check("it is a link, not a file itself", away);
        fs::remove_file(&path).expect("removed");
        fs::create_dir(&path).expect("made");
        check("it is not a plain file", away);
        fs::remove_dir(&path).expect("removed");
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, mode, 0).expect("a pipe");
        check("it is not a plain file", away);
        plain();
        // Only who may give files away can try it.
        let user = rustix::process::geteuid().as_raw();
        if std::os::unix::fs::chown(&path, Some(user + 1), None).is_ok() {
            check(&format!("it belongs to the user {}, not to you (user {user})", user + 1), away);
        }
    }

    #[test]
    fn a_message_is_kept_once() {
        let (_temp, mailbox) = mailbox();
        let said = Said {
            id: "m1".into(),
            by: "operator".into(),
            whence: "inbox".into(),
            at: at(),
            to: Part::root(),
            message: Message::Stop,
        };
        mailbox.say(&said).expect("said");
        mailbox.say(&said).expect("said again");
        assert_eq!(mailbox.read().expect("read").messages, [said]);
    }
}
