//! The working folder, read to show what a call would change in it. Follows no link out of it and waits for no pipe.

use std::io::Read as _;
use std::path::PathBuf;

use adjutant_core::gate::secrets::SecretSet;
use rustix::fs::{Mode, OFlags, ResolveFlags, open, openat2};
use rustix::io::Errno;

use super::diff::Before;

/// The longest file that is read to be compared, in bytes.
const FILE_BYTES_MAX: u64 = 1024 * 1024;

/// A working folder.
#[derive(Debug)]
pub struct FolderView {
    workdir: PathBuf,
    /// Values that are shown nowhere.
    secrets: SecretSet,
}

impl FolderView {
    /// The folder of a run that holds these secrets.
    pub fn new(workdir: PathBuf, secrets: SecretSet) -> Self {
        Self { workdir, secrets }
    }

    /// Reads the file at a path in the folder, with secrets masked as in the arguments of a call.
    pub(super) fn read(&self, path: &str) -> Before {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let Ok(folder) = open(&self.workdir, flags | OFlags::DIRECTORY, Mode::empty()) else {
            return Before::Unknown("the folder can't be read");
        };
        let opened = openat2(&folder, path, flags | OFlags::NONBLOCK, Mode::empty(), ResolveFlags::BENEATH);
        let file = match opened {
            Ok(file) => std::fs::File::from(file),
            Err(Errno::NOENT | Errno::NOTDIR) => return Before::Absent,
            Err(_) => return Before::Unknown("what is there can't be read"),
        };
        if !file.metadata().is_ok_and(|found| found.is_file()) {
            return Before::Unknown("what is there is no file");
        }
        let mut bytes = Vec::new();
        match file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes) {
            Err(_) => Before::Unknown("what is there can't be read"),
            Ok(read) if read as u64 > FILE_BYTES_MAX => Before::Unknown("what is there is too long to compare"),
            Ok(_) => match String::from_utf8(bytes) {
                Ok(text) => Before::Text(self.secrets.mask(&text).into_owned()),
                Err(_) => Before::Unknown("what is there is no text"),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_within_the_folder_only_and_nothing_is_waited_for() {
        let place = tempfile::tempdir().expect("a folder");
        let at = |name: &str| place.path().join(name);
        std::fs::create_dir(at("work")).expect("a folder");
        std::fs::write(at("outside"), "secret").expect("written");
        std::fs::write(at("work/a"), "one\nmellow-quartz-canary\n").expect("written");
        std::fs::write(at("work/bytes"), b"\xff").expect("written");
        std::os::unix::fs::symlink(at("outside"), at("work/link")).expect("a link");
        rustix::fs::mknodat(rustix::fs::CWD, at("work/pipe"), rustix::fs::FileType::Fifo, Mode::RUSR, 0)
            .expect("a pipe");
        let folder = FolderView::new(at("work"), ["mellow-quartz-canary"].into_iter().collect());
        assert_eq!(folder.read("a"), Before::Text("one\n[masked:known_value]\n".to_owned()));
        assert_eq!(folder.read("b"), Before::Absent);
        for path in ["bytes", "link", "pipe", "../outside", "."] {
            assert!(matches!(folder.read(path), Before::Unknown(_)), "{path}");
        }
    }
}
