//! Folders and files of the workdir that are mounted elsewhere in it too: writing to the one writes to the other.

use std::fs;
use std::path::{Path, PathBuf};

/// The path in the workdir at `root` of what lies `below` the mount `mount`, if that shows a part of the workdir.
/// The workdir itself is on the mount `own`.
pub(super) fn place_in(root: &Path, own: u64, mount: u64, below: &str) -> Option<String> {
    let table = fs::read_to_string("/proc/self/mountinfo").ok()?;
    place_by(&table, root, own, mount, below)
}

fn place_by(table: &str, root: &Path, own: u64, mount: u64, below: &str) -> Option<String> {
    let (own, mount) = (Mount::find(table, own)?, Mount::find(table, mount)?);
    if own.device != mount.device {
        return None;
    }
    let workdir = own.root.join(root.strip_prefix(&own.point).ok()?);
    let shown = if below.is_empty() { mount.root } else { mount.root.join(below) };
    let inside = shown.strip_prefix(&workdir).ok()?.to_str()?.to_owned();
    (!inside.is_empty()).then_some(inside)
}

/// A line of the kernel's table of mounts.
struct Mount<'t> {
    device: &'t str,
    /// The part of its file system that it shows.
    root: PathBuf,
    /// The path it is mounted at.
    point: PathBuf,
}

impl<'t> Mount<'t> {
    fn find(table: &'t str, id: u64) -> Option<Self> {
        let id = id.to_string();
        table.lines().find_map(|line| {
            let mut words = line.split(' ');
            let is_meant = words.next() == Some(id.as_str());
            let device = words.nth(1)?;
            let (root, point) = (words.next()?, words.next()?);
            is_meant.then(|| Mount { device, root: unescaped(root).into(), point: unescaped(point).into() })
        })
    }
}

/// A path of the table, in which white space and backslashes are octal numbers.
fn unescaped(text: &str) -> String {
    [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")]
        .iter()
        .fold(text.to_owned(), |text, (escape, meant)| text.replace(escape, meant))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "\
21 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw
22 21 8:1 /home/op/my\\040w/.git /home/op/my\\040w/m rw - ext4 /dev/sda1 rw
23 21 8:1 /home/op/my\\040w/.git/hooks /home/op/my\\040w/h rw - ext4 /dev/sda1 rw
24 21 8:1 /srv /home/op/my\\040w/s rw - ext4 /dev/sda1 rw
25 21 0:40 / /home/op/my\\040w/t rw - tmpfs tmpfs rw
26 21 8:1 / /home/op/my\\040w/all rw - ext4 /dev/sda1 rw
27 21 8:2 /data /mnt rw - ext4 /dev/sdb1 rw
28 27 8:2 /data/w/src /mnt/w/copy rw - ext4 /dev/sdb1 rw
";

    #[test]
    fn what_is_mounted_twice_has_two_names() {
        let workdir = Path::new("/home/op/my w");
        for (mount, below, expected) in [
            (22, "config", Some(".git/config")),
            (22, "", Some(".git")),
            (23, "pre-commit", Some(".git/hooks/pre-commit")),
            (24, "x", None),
            (25, ".git/config", None),
            (26, "home/op/my w/a", Some("a")),
            (26, "etc/passwd", None),
            (99, "x", None),
        ] {
            assert_eq!(place_by(TABLE, workdir, 21, mount, below).as_deref(), expected, "{mount} {below}");
        }
        assert_eq!(place_by(TABLE, Path::new("/mnt/w"), 27, 28, "a").as_deref(), Some("src/a"));
    }
}
